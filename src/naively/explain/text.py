"""What the terms of a document add to its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from naively.core.exact import Float64, Int64
from naively.explain.compared import (
    ClassPair,
    Explanations,
    SingleExplanation,
    Summand,
    largest_first,
)
from naively.explain.markup import (
    PALE,
    Line,
    Mark,
    brief,
    cut_note,
    html_table,
    html_text,
    left_out,
    legend,
    lined,
    paragraph,
    shown,
    total_odds,
)
from naively.text.analysis import Analysis, Span

MARKED = 100_000
"""Characters from the start of a document in which terms are located: nobody reads more."""
BEYOND = 1_000
"""Characters after these that are looked at too, so that no term is cut in two."""


@dataclass(frozen=True, eq=False, repr=False)
class ExplainedTerms:
    """What the terms of one document add to the score of each class, in nats.

    Attributes
    ----------
    text : the document.
    terms : its distinct terms that the model knows, in the order in which they are met.
    counts : (T,) how often.
    contributions : (T, C) what each of them adds to the score of each class.
    rest : (C,) what is added besides.
    rest_is : because all other terms are absent; because the document may be of a kind that was
        never learned; or because it is missing.
    unknown : its terms that the model does not know.
    cuts : each (how the document becomes terms, the position in `terms` of each of them; those
        that are hashed together share one). There are several where models are pooled.
    """

    text: str
    terms: list[str]
    counts: Int64
    contributions: Float64
    rest: Float64
    rest_is: Literal["absent terms", "doubt", "missing"]
    unknown: list[str]
    cuts: list[tuple[Analysis, dict[str, int]]]

    @property
    def marked(self) -> str:
        """The part of the document in which terms are located: all of it, unless it is long."""
        return self.text[:MARKED]

    @cached_property
    def spans(self) -> list[list[list[Span]]]:
        """For each term the (start, end) of its words, each time it is met in `marked`."""
        found: list[list[list[Span]]] = [[] for _ in self.terms]
        for analysis, places in self.cuts:
            for term, spans in analysis.spans(self.text[: MARKED + BEYOND]):
                place = places.get(term)
                if place is not None and all(end <= MARKED for _, end in spans):
                    found[place].append(spans)
        return found


# ---- text explanation ----------------------------------------------------------------------------


LISTED = 20
"""Terms that are listed, those with the largest log-odds."""
WIDE = 24
"""Characters of the name of a column in a list."""
SHARED = "in the text, words share what the terms of several words add"
"""A remark below a text in which phrases are marked."""


@dataclass(frozen=True, eq=False, repr=False)
class TextExplanation(ExplainedTerms, SingleExplanation):
    """Why a document has the joint log-likelihoods that it has; all in nats.

    ``print`` shows the terms that move it most from one class to another, and so does a notebook,
    with the words marked in the text. Of a document of more than 100,000 characters the terms are
    explained in full, but only those in its beginning are marked.

    Attributes
    ----------
    classes, prior, proba, code : as `SingleExplanation` has them.
    text, terms, counts, contributions, spans, rest, rest_is, unknown : as `ExplainedTerms` has
        them.
    column : what the text is called among the columns of a table.
    """

    column: str = "text"

    @property
    def _scores(self) -> tuple[Float64, ...]:
        return self.prior, self.contributions.T, self.rest

    def lines(self, label: Any = None, against: Any = None) -> list[tuple[str, int, float]]:
        """(term, how often it is met, its log-odds) of each, the largest first.

        Among them are, in brackets, the prior, and if any, what the absence of other terms adds,
        the doubt whether documents like it were ever learned, or that it is missing. What both
        classes rule out speaks for neither.
        """
        prior, odds, rest = (part.tolist() for part in self.known_log_odds(label, against))
        found = list(zip(self.terms, self.counts.tolist(), odds, strict=True))
        found += [("(prior)", 0, prior)] * bool(self.prior.any())
        found += [(f"({self.rest_is})", 0, rest)] * bool(self.rest.any())
        return largest_first(found)

    def parts(self, label: Any = None, against: Any = None) -> list[Summand]:
        """All parts of the log-odds, the largest first; what both classes rule out is 0."""
        found: list[Summand] = [
            ("(prior)", None, None, odds)
            if term == "(prior)" and not count
            else (self.column, term, str(count) if count else None, odds)
            for term, count, odds in self.lines(label, against)
        ]
        return found or [(self.column, None, None, 0.0)]

    def to_dict(self, label: Any = None, against: Any = None) -> dict[str, Any]:
        """What the terms add, as JSON takes it, in nats."""
        _, odds, rest = self.log_odds(label, against)
        columns = (self.counts.tolist(), odds.tolist(), self.contributions.tolist())
        terms = [
            {"term": term, "count": count, "log_odds": own, "contributions": each}
            for term, count, own, each in zip(self.terms, *columns, strict=True)
        ]
        kinds = {"absent": "absent terms", "doubt": "doubt", "missing": "missing"}
        besides = {key: rest if kind == self.rest_is else 0.0 for key, kind in kinds.items()}
        return {"terms": terms, **besides, "unknown": self.unknown}

    def marks(self, label: Any = None, against: Any = None) -> list[Mark]:
        """(start, end, log-odds) of the parts of the text that move it, in their order.

        The log-odds of a term are shared among its words, wherever they are met, equally: so the
        marks add up to the terms. Words that tell more together than each of them does, as a pair,
        are marked as one. Terms of characters that overlap mark a word together. Of a long text,
        those in its beginning (`marked`) are marked.
        """
        odds = np.nan_to_num(self.log_odds(label, against)[1], posinf=np.inf, neginf=-np.inf)
        solid = np.array([not character.isspace() for character in self.marked], bool)
        before = np.append(0, np.cumsum(solid))
        found = [
            (k, *span)
            for k, met in enumerate(self.spans)
            for places in met
            for span in places
            if before[span[1]] > before[span[0]]
        ]
        term, start, end = np.array(found, np.int64).reshape(-1, 3).T
        here = np.array([len(met) for met in self.spans], np.int64) / np.maximum(self.counts, 1)
        own = odds[term] * here[term] / np.bincount(term)[term] / (before[end] - before[start])
        lengths, n = end - start, len(solid)
        at = np.arange(lengths.sum()) + np.repeat(start - np.cumsum(lengths) + lengths, lengths)
        kept = solid[at]
        share = np.bincount(at[kept], np.repeat(own, lengths)[kept], n)
        known = np.bincount(at[kept], minlength=n) > 0
        inside = np.bincount(start + 1, minlength=n + 1) - np.bincount(end, minlength=n + 1)
        joined = (np.cumsum(inside)[:-1] > 0) & known & np.append(False, known[:-1])
        starts = np.flatnonzero(known & ~joined)
        ends = np.flatnonzero(known & ~np.append(joined[1:], False)) + 1
        if len(starts) == 0:
            return []
        with np.errstate(invalid="ignore"):  # what speaks for both as strongly as can be
            sums = np.nan_to_num(np.add.reduceat(share, starts), posinf=np.inf, neginf=-np.inf)
        marks = list(zip(starts.tolist(), ends.tolist(), sums.tolist(), strict=True))
        return self._joined(marks, odds / np.maximum(self.counts, 1)) if self.has_phrases else marks

    @property
    def has_phrases(self) -> bool:
        """Whether any term is of several words."""
        return any(len(places) > 1 for met in self.spans for places in met)

    def _joined(self, marks: list[Mark], odds: Float64) -> list[Mark]:
        """The marks of words, those of a phrase as one that tells more than each of its words.

        Parameters
        ----------
        odds : (T,) log-odds of a term each time that it is met.
        """
        at = {start: i for i, (start, _, _) in enumerate(marks)}
        found = [
            (float(abs(odds[k])), places)
            for k, met in enumerate(self.spans)
            for places in met
            if places
        ]
        alone = {places[0]: own for own, places in found if len(places) == 1}
        last = {}  # the last mark of each phrase, by its first
        taken: set[int] = set()
        for own, places in sorted(found, key=lambda one: (-one[0], one[1])):
            first = at.get(places[0][0])
            if first is None or len(places) == 1 or own <= max(alone.get(p, 0.0) for p in places):
                continue
            phrase = range(first, first + len(places))
            same = [mark[:2] for mark in marks[first : phrase.stop]] == places
            if same and taken.isdisjoint(phrase):
                last[first] = phrase[-1]
                taken.update(phrase)
        joined = []
        i = 0
        while i < len(marks):
            j = last.get(i, i)
            with np.errstate(invalid="ignore"):  # what speaks for both as strongly as can be
                total = np.nan_to_num(np.sum([mark[2] for mark in marks[i : j + 1]]),
                                      posinf=np.inf, neginf=-np.inf)  # fmt: skip
            joined.append((marks[i][0], marks[j][1], float(total)))
            i = j + 1
        return joined

    # ---- for people --------------------------------------------------------------------------

    def list_of(self, pair: ClassPair) -> list[str]:
        """The most telling terms, a line each, and a line of what is left out."""
        rows, rest = self.listed(*pair)
        return [*lined(rows), rest]

    def listed(self, label: Any = None, against: Any = None) -> tuple[list[Line], str]:
        """(the most telling terms, the largest first; what the others are and add up to)."""
        lines, doubt = self.lines(label, against), ""
        if self.rest_is == "doubt":  # said in words: as a bar it would hide those of all terms
            _, _, rest = self.known_log_odds(label, against)
            doubt = f"{rest:+.3f} of doubt: what was learned allows no more certainty" * bool(rest)
            lines = [line for line in lines if line[:2] != ("(doubt)", 0)]
        rows = [
            (shown(term), f"× {count}" if count > 1 else "", odds)
            for term, count, odds in lines[:LISTED]
        ]
        more = left_out(lines[LISTED:], self.unknown)
        return rows, "; ".join(filter(None, [more, doubt]))

    def caption(self, label: Any = None, against: Any = None) -> str:
        """A line that says what the words add up to."""
        total = total_odds(self.total(label, against))
        return f"The words of {brief(self.column, WIDE)}, {total} together"

    def _html(self, pair: ClassPair, head: str, strongest: float | None) -> str:
        rows, rest = self.listed(*pair)
        text = html_text(self.marked, self.marks(*pair), strongest)
        cut = cut_note(len(self.marked), len(self.text))
        box = (
            "white-space:pre-wrap;overflow-wrap:anywhere;margin:.8em 0;padding:.6em 1em;"
            "border:1px solid rgba(128,128,128,.4);border-radius:.4em"
        )
        return (
            f'<div style="max-width:52em;line-height:1.6">{head}{legend(*pair)}'
            f'<div dir="auto" style="{box}">{text}{"…" * bool(cut)}</div>'
            f"{paragraph(cut, PALE) * bool(cut)}{paragraph(SHARED, PALE) * self.has_phrases}"
            f"{html_table(('term', 'times', 'log-odds'), rows)}{paragraph(rest, PALE)}</div>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class TextExplanations(Explanations[TextExplanation]):
    """Why each of several documents has its scores: a sequence of `TextExplanation`.

    ``print`` shows the first of them, and so does a notebook; `to_html` and `to_arrow` take all.
    """

    texts: Sequence[TextExplanation]
    has_terms = True

    @classmethod
    def of(cls, model: Any, documents: Any) -> TextExplanations:
        """Those of `Documents`, by a `Posterior` of documents alone."""
        proba, codes = model.proba(documents), model.predict_codes(documents)
        explained = [
            TextExplanation(
                **vars(model.parameters.explain_document(documents, i)), classes=model.classes,
                prior=model.log_prior + model.parameters.bias, proba=proba[i], code=int(codes[i]),
            )
            for i in range(len(documents))
        ]  # fmt: skip
        return cls(model.classes, explained)

    def __len__(self) -> int:
        return len(self.texts)

    def _one(self, i: int) -> TextExplanation:
        return self.texts[i]

    def _some(self, rows: slice) -> TextExplanations:
        return replace(self, texts=self.texts[rows])

    def __repr__(self) -> str:
        return f"<TextExplanations: {len(self):,} texts, {len(self.classes):,} classes>"
