"""Explanations of documents: the contributions of terms, and texts with words marked."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from rich.console import RenderableType

from naively.core import markup
from naively.core.exact import Float64, Int64
from naively.core.labels import Label
from naively.explain.base import (
    MIXING,
    ClassPair,
    Explanations,
    SingleExplanation,
    Summand,
    largest_first,
)
from naively.explain.rendering import CLEAR, SHOWN, UNMARKED, Listing, marked, table
from naively.rendering import note
from naively.text.analysis import Analysis, Span

MARKED = 100_000
"""Number of characters at the start of a document in which terms are located and marked."""
BEYOND = 1_000  # further characters that are analysed, so that no term is cut in two


@dataclass(frozen=True, eq=False, repr=False)
class ExplainedTerms:
    """Contributions of the terms of one document to the score of each class, in nats.

    Attributes
    ----------
    text : the document.
    terms : its distinct terms in the vocabulary.
    counts : (T,) occurrences of each term.
    contributions : (T, C) of each term to the score of each class.
    rest : (C,) contribution of something else, which `rest_is` names:
    rest_is : the absence of all other terms; prior mixing, which keeps probabilities away from 0
        and 1; or that the document is missing.
    unknown : its terms outside the vocabulary.
    cuts : (analysis that makes terms, position in `terms` of each of them) for each model of the
        text; terms in the same hash bucket share a position.
    """

    text: str
    terms: list[str]
    counts: Int64
    contributions: Float64
    rest: Float64
    rest_is: Literal["absent terms", "prior mixing", "missing"]
    unknown: list[str]
    cuts: list[tuple[Analysis, dict[str, int]]]

    @property
    def marked(self) -> str:
        """The first 100,000 characters of the document, in which terms are located."""
        return self.text[:MARKED]

    @cached_property
    def spans(self) -> list[list[list[Span]]]:
        """(start, end) of the words of each term, for each occurrence in `marked`."""
        by_term: list[list[list[Span]]] = [[] for _ in self.terms]
        for analysis, places in self.cuts:
            filled = [bool(occurrences) for occurrences in by_term]  # by an earlier model
            for term, spans in analysis.spans(self.text[: MARKED + BEYOND]):
                place = places.get(term)
                if place is not None and not filled[place] and all(e <= MARKED for _, e in spans):
                    by_term[place].append(spans)
        return by_term


LISTED = 20  # number of listed terms, those with the largest log-odds
WIDE = 24  # maximum characters of a column name in a list
SHARED = "in the text, the contribution of a term of several words is divided equally among them"
"""Remark below a text with marked phrases."""
MIXED = (
    "prior mixing: P is mixed with the class frequencies, of share 2 / (distinct texts + 2), or "
    "more if no term is known; this line is the change of the log-odds"
)
TOKEN = re.compile(r"\S+")


@dataclass(frozen=True, eq=False, repr=False)
class TextExplanation(ExplainedTerms, SingleExplanation):
    """Explanation of one document: contributions to its joint log-likelihoods, in nats.

    ``print`` and notebooks show the terms with the largest contributions, and the text with its
    words marked. In all lists the words of the text stand for their n-grams of characters, which
    are in `terms` alone. Only the first 100,000 characters of a document are marked.

    Attributes
    ----------
    classes, prior, proba, code, has_bias : as in `SingleExplanation`.
    text, terms, counts, contributions, spans, rest, rest_is, unknown : as in `ExplainedTerms`.
    column : name of the text column in a table.
    """

    column: str = "text"

    @property
    def _scores(self) -> tuple[Float64, ...]:
        return self.prior, self.contributions.T, self.rest

    def lines(
        self, label: Label | None = None, against: Label | None = None
    ) -> list[tuple[str, int, float]]:
        """Return (term, count, log-odds), the largest first and the prior last.

        The line before the prior, in brackets, is for absent terms, prior mixing, or a missing
        text. The log-odds are 0 where both classes have probability 0.
        """
        terms, counts, add_up = self._listed
        prior, odds, rest = self.known_log_odds(label, against)
        lines = largest_first([*zip(terms, counts, add_up(odds).tolist(), strict=True)])
        lines += [(f"({self.rest_is})", 0, float(rest))] * bool(self.rest.any())
        lines += [(self.prior_name, 0, float(prior))] * bool(self.prior.any())
        return lines

    @cached_property
    def _listed(self) -> tuple[list[str], list[int], Callable[[Float64], Float64]]:
        """Terms as they are listed: n-grams of characters are the words that contain them.

        Returns (terms, their counts, function from the values of all terms, (T, ...), to those of
        the listed terms). The value of an n-gram is shared equally by its occurrences, and by the
        words of each.
        """
        ngrams = {
            place for analysis, places in self.cuts if analysis.of_characters
            for place in places.values()
        }  # fmt: skip
        tokens = [match.span() for match in TOKEN.finditer(self.marked)] if ngrams else []
        spans = {k: [span for places in self.spans[k] for span in places] for k in ngrams if tokens}
        alone = [k for k in range(len(self.terms)) if not spans.get(k)]
        terms, counts = [self.terms[k] for k in alone], self.counts[alone].tolist()
        place = {term: i for i, term in reversed([*enumerate(terms)])}
        shares = [(k, i, 1.0) for i, k in enumerate(alone)]
        if len(alone) < len(self.terms):
            words = [_word(self.marked[start:end]) for start, end in tokens]
            occurrences = Counter(words)
            starts, ends = zip(*tokens, strict=True)
        for k in sorted(spans.keys() - set(alone)):
            for start, end in spans[k]:
                first = min(bisect_right(ends, start), len(words) - 1)
                last = max(bisect_left(starts, end), first + 1)
                for word in words[first:last]:
                    if word not in place:
                        place[word] = len(terms)
                        terms.append(word)
                        counts.append(occurrences[word])
                    shares.append((k, place[word], 1.0 / len(spans[k]) / (last - first)))
        *places, share = np.array(shares).reshape(-1, 3).T
        source, target = np.array(places, np.int64)

        def add_up(values: Float64) -> Float64:
            out = np.zeros((len(terms), *values.shape[1:]))
            with np.errstate(invalid="ignore"):  # inf + -inf counts as 0
                np.add.at(out, target, (values[source].T * share).T)
            return np.nan_to_num(out, nan=0.0, posinf=np.inf, neginf=-np.inf)

        return terms, counts, add_up

    def parts(self, label: Label | None = None, against: Label | None = None) -> list[Summand]:
        """Return all parts of the log-odds, as in `SingleExplanation`."""
        summands: list[Summand] = [
            (term, None, None, odds)
            if term in (self.prior_name, MIXING) and not count
            else (self.column, term, str(count) if count else None, odds)
            for term, count, odds in self.lines(label, against)
        ]
        return summands or [(self.column, None, None, 0.0)]

    def to_dict(self, label: Label | None = None, against: Label | None = None) -> dict[str, Any]:
        """Return the contributions as a dict for JSON, in nats."""
        names, counts, add_up = self._listed
        _, odds, rest = self.known_log_odds(label, against)
        columns = counts, add_up(odds).tolist(), add_up(self.contributions).tolist()
        terms = [
            {"term": term, "count": count, "log_odds": value, "contributions": by_class}
            for term, count, value, by_class in zip(names, *columns, strict=True)
        ]
        kinds = {
            "absent": "absent terms", "prior_mixing": "prior mixing", "missing": "missing"
        }  # fmt: skip
        others = {key: float(rest) if kind == self.rest_is else 0.0 for key, kind in kinds.items()}
        return {"terms": terms, **others, "unknown": self.unknown}

    def marks(self, label: Label | None = None, against: Label | None = None) -> list[markup.Mark]:
        """Return (start, end, log-odds) of the marked parts of the text, in their order.

        The log-odds of a term are shared equally by its words, in all occurrences, so that the
        marks add up to the terms. A phrase with more evidence than each of its words is marked as
        one. N-grams of characters that overlap are marked together. Only `marked` is analysed.
        """
        odds = np.nan_to_num(self.log_odds(label, against)[1], posinf=np.inf, neginf=-np.inf)
        visible = np.array([not character.isspace() for character in self.marked], bool)
        n_visible = np.append(0, np.cumsum(visible))
        positions = [
            (k, *span)
            for k, occurrences in enumerate(self.spans)
            for places in occurrences
            for span in places
            if n_visible[span[1]] > n_visible[span[0]]
        ]
        term, start, end = np.array(positions, np.int64).reshape(-1, 3).T
        fraction = np.array(
            [len(occurrences) for occurrences in self.spans], np.int64
        ) / np.maximum(self.counts, 1)
        n_characters = n_visible[end] - n_visible[start]
        per_character = odds[term] * fraction[term] / np.bincount(term)[term] / n_characters
        lengths, n = end - start, len(visible)
        index = np.arange(lengths.sum()) + np.repeat(start - np.cumsum(lengths) + lengths, lengths)
        mask = visible[index]
        share = np.bincount(index[mask], np.repeat(per_character, lengths)[mask], n)
        covered = np.bincount(index[mask], minlength=n) > 0
        inside = np.bincount(start + 1, minlength=n + 1) - np.bincount(end, minlength=n + 1)
        joined = (np.cumsum(inside)[:-1] > 0) & covered & np.append(False, covered[:-1])
        starts = np.flatnonzero(covered & ~joined)
        ends = np.flatnonzero(covered & ~np.append(joined[1:], False)) + 1
        if len(starts) == 0:
            return []
        with np.errstate(invalid="ignore"):  # inf + -inf counts as 0
            sums = np.nan_to_num(np.add.reduceat(share, starts), posinf=np.inf, neginf=-np.inf)
        marks = list(zip(starts.tolist(), ends.tolist(), sums.tolist(), strict=True))
        return self._joined(marks, odds / np.maximum(self.counts, 1)) if self.has_phrases else marks

    @property
    def has_phrases(self) -> bool:
        """Whether any term has several words."""
        return any(len(places) > 1 for occurrences in self.spans for places in occurrences)

    def _joined(self, marks: list[markup.Mark], odds: Float64) -> list[markup.Mark]:
        """Join the marks of phrases that have more evidence than each of their words.

        `odds` are the log-odds of one occurrence of each term, (T,).
        """
        mark_at = {start: i for i, (start, _, _) in enumerate(marks)}
        phrases = [
            (float(abs(odds[k])), places)
            for k, occurrences in enumerate(self.spans) for places in occurrences if places
        ]  # fmt: skip
        word_evidence = {places[0]: evidence for evidence, places in phrases if len(places) == 1}
        last = {}  # index of the last mark of each phrase, by that of its first
        used: set[int] = set()
        for evidence, places in sorted(phrases, key=lambda item: (-item[0], item[1])):
            first = mark_at.get(places[0][0])
            if (
                first is None
                or len(places) == 1
                or evidence <= max(word_evidence.get(p, 0.0) for p in places)
            ):
                continue
            phrase = range(first, first + len(places))
            matches = [mark[:2] for mark in marks[first : phrase.stop]] == places
            if matches and used.isdisjoint(phrase):
                last[first] = phrase[-1]
                used.update(phrase)
        joined = []
        i = 0
        while i < len(marks):
            j = last.get(i, i)
            with np.errstate(invalid="ignore"):  # inf + -inf counts as 0
                total = np.nan_to_num(np.sum([mark[2] for mark in marks[i : j + 1]]),
                                      posinf=np.inf, neginf=-np.inf)  # fmt: skip
            joined.append((marks[i][0], marks[j][1], float(total)))
            i = j + 1
        return joined

    # ---- printing ----------------------------------------------------------------------------

    def listed(self, label: Label | None = None, against: Label | None = None) -> Listing:
        """Return the contributions to print."""
        lines = self.lines(label, against)
        n_others = bool(self.rest.any()) + bool(self.prior.any())
        terms, others = lines[: len(lines) - n_others], lines[len(lines) - n_others :]
        rows = [
            (markup.shown(term), f"{count}" if count > 1 else "", odds)
            for term, count, odds in terms[:LISTED]
        ]
        more = markup.more_of(terms[LISTED:], "term")
        rest = closing([(name, "", odds) for name, _, odds in others])
        notes = [MIXED] * any(name == MIXING for name, *_ in rest)
        if self.unknown:
            notes.append(f"unknown to the model: {self._unknown_terms}")
        if self.unknown and not self.terms and not self.rest.any():
            notes.append("no known term: the prediction is that of the class prior")
        return Listing(rows, [*more, *rest], notes)

    @property
    def _unknown_terms(self) -> str:
        """The number of unknown terms, by kind where character n-grams are terms, too."""
        n_runs = sum(term.startswith("'") for term in self.unknown)
        n_pairs = sum(" " in term for term in self.unknown if not term.startswith("'"))
        if not n_runs:
            return markup.counted(len(self.unknown), "term")
        kinds = [
            (len(self.unknown) - n_runs - n_pairs, "word", "words"),
            (n_pairs, "pair of words", "pairs of words"),
            (n_runs, "character n-gram", "character n-grams"),
        ]
        return ", ".join(markup.counted(*kind) for kind in kinds if kind[0])

    def _printed(
        self, pair: ClassPair, width: int, colours: bool, strongest: float | None = None
    ) -> list[RenderableType]:
        marks, listing = self.marks(*pair), self.listed(*pair)
        strongest = strongest or markup.largest(odds for _, _, odds in marks)
        renderables: list[RenderableType] = []
        if self.text.strip():
            text, length = marked(self.marked, marks, strongest, colours), len(self.text)
            renderables += [text.append("…") if length > SHOWN else text]
            renderables += ["", note(markup.cut_note(SHOWN, length))] * (length > SHOWN)
            renderables += [note(SHARED)] * self.has_phrases
            faint = any(abs(odds) < CLEAR * strongest for *_, odds in marks)
            renderables += [note(UNMARKED)] * (faint and not colours)
            renderables.append("")
        cell_width = WIDE if width >= 80 else 15
        if listing.rows or listing.closing:
            heads = "term", "count"
            widths = cell_width, cell_width
            renderables.append(table(heads, listing, self.total(*pair), width, widths))
        return renderables + [note(line) for line in listing.notes]

    def _html(self, pair: ClassPair, head: str, strongest: float | None) -> str:
        listing = self.listed(*pair)
        text = markup.html_text(self.marked, self.marks(*pair), strongest)
        cut = markup.cut_note(len(self.marked), len(self.text))
        box = (
            "white-space:pre-wrap;overflow-wrap:anywhere;margin:.8em 0;padding:.6em 1em;"
            "border:1px solid rgba(128,128,128,.4);border-radius:.4em"
        )
        heads = "term", "count", "contribution"
        rows = markup.html_table(heads, listing.rows, listing.closing, self.total(*pair))
        return (
            f'<div style="max-width:52em;line-height:1.6">{head}{markup.legend(*pair)}'
            f'<div dir="auto" style="{box}">{text}{"…" * bool(cut)}</div>'
            f"{markup.paragraph(cut, markup.PALE) * bool(cut)}"
            f"{markup.paragraph(SHARED, markup.PALE) * self.has_phrases}"
            f"{rows}{markup.paragraph('; '.join(listing.notes), markup.PALE)}</div>"
        )


def closing(lines: list[markup.Line]) -> list[markup.Line]:
    """Leave out lines that would print as 0."""
    return [line for line in lines if not abs(line[2]) < markup.PRINTED]


def _word(token: str) -> str:
    """Strip punctuation around a word, and convert it to lower case; keep punctuation alone."""
    return re.sub(r"^[^\w]+|[^\w]+$", "", token).lower() or token


@dataclass(frozen=True, eq=False, repr=False)
class TextExplanations(Explanations[TextExplanation]):
    """Sequence of `TextExplanation`, one for each document.

    ``print`` and notebooks show the first ten; `to_html` and `to_arrow` include all.
    """

    texts: Sequence[TextExplanation]
    has_terms = True

    @classmethod
    def of(cls, model: Any, documents: Any) -> TextExplanations:
        """Explain `Documents`; `model` is a `Posterior` of documents alone."""
        proba, codes = model.proba(documents), model.predict_codes(documents)
        prior = np.broadcast_to(model.log_prior + model.parameters.biases(documents), proba.shape)
        explained = [
            TextExplanation(
                **vars(model.parameters.explain_document(documents, i)), classes=model.classes,
                prior=prior[i], proba=proba[i], code=int(codes[i]), has_bias=model.has_bias,
            )
            for i in range(len(documents))
        ]  # fmt: skip
        return cls(model.classes, explained)

    def __len__(self) -> int:
        return len(self.texts)

    def _single(self, i: int) -> TextExplanation:
        return self.texts[i]

    def _some(self, rows: slice) -> TextExplanations:
        return replace(self, texts=self.texts[rows])

    def __repr__(self) -> str:
        return f"<TextExplanations: {len(self):,} texts, {len(self.classes):,} classes>"
