"""Why a document has the scores that it has: its terms, and where they are in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from naively.exact import Float64
from naively.labels import Labels
from naively.markup import (
    Mark,
    cut_note,
    escaped,
    html_table,
    html_text,
    left_out,
    legend,
    lined,
    shown,
    times,
)
from naively.reasons import Part, Reason, Reasons
from naively.text.told import Told

LISTED = 20
"""Terms that are listed, those with the largest log-odds."""
Line = tuple[str, int, float]
"""(a term, or what else there is in brackets; how often it is met; its log-odds)."""


@dataclass(frozen=True, eq=False, repr=False)
class TextExplanation(Told, Reason):
    """Why a document has the joint log-likelihoods that it has; all in nats.

    ``print`` shows the terms that move it most from one class to another, and so does a notebook,
    with the words marked in the text. Of a document of more than 100,000 characters the terms are
    told in full, but only those in its beginning are marked.

    Attributes
    ----------
    classes, prior, proba, code : as `Reason` has them.
    text, terms, counts, contributions, spans, rest, unknown : as `Told` has them.
    column : what the text is called among the columns of a table.
    """

    column: str = "text"

    @property
    def joint(self) -> Float64:
        """The joint log-likelihoods, (C,): the sum of all."""
        return self.prior + self.contributions.sum(axis=0) + self.rest

    def log_odds(self, label: Any = None, against: Any = None) -> tuple[float, Float64, float]:
        """The parts of log P(label | text) - log P(against | text), in nats.

        Parameters
        ----------
        label, against : two classes; by default the most probable one and the next.

        Returns
        -------
        (that of the prior, (T,) those of the terms, that of the absence of all others)
        """
        a, b = self.pair(label, against)
        with np.errstate(invalid="ignore"):  # NaN where neither class can have a term
            return (
                float(self.prior[a] - self.prior[b]),
                self.contributions[:, a] - self.contributions[:, b],
                float(self.rest[a] - self.rest[b]),
            )

    def lines(self, label: Any = None, against: Any = None) -> list[Line]:
        """The parts of the log-odds with their names, the largest first.

        What both classes rule out speaks for neither.
        """
        prior, odds, rest = self.log_odds(label, against)
        found = list(zip(self.terms, self.counts.tolist(), odds.tolist(), strict=True))
        if self.prior.any():
            found.append(("(prior)", 0, prior))
        if self.rest.any():
            found.append(("(absent terms)", 0, rest))
        found = [(term, count, 0.0 if np.isnan(part) else part) for term, count, part in found]
        return sorted(found, key=lambda line: -abs(line[2]))

    def parts(self, label: Any = None, against: Any = None) -> list[Part]:
        """All parts of the log-odds, the largest first; what both classes rule out is 0."""
        found: list[Part] = [
            ("(prior)", None, None, odds)
            if term == "(prior)" and not count
            else (self.column, term, str(count) if count else None, odds)
            for term, count, odds in self.lines(label, against)
        ]
        return found or [(self.column, None, None, 0.0)]

    def marks(self, label: Any = None, against: Any = None) -> list[Mark]:
        """(start, end, log-odds) of the parts of the text that move it, in their order.

        The log-odds of a term are shared among its words, wherever they are met, equally. Terms of
        characters that overlap mark a word together. Of a long text, those in its beginning
        (`marked`) are told.
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
        lengths = end - start
        at = np.arange(lengths.sum()) + np.repeat(start - np.cumsum(lengths) + lengths, lengths)
        kept = solid[at]
        share, known = np.zeros(len(solid)), np.zeros(len(solid), bool)
        with np.errstate(invalid="ignore"):  # what speaks for both as strongly as can be
            np.add.at(share, at[kept], np.repeat(own, lengths)[kept])
        known[at[kept]] = True
        inside = np.zeros(len(solid) + 1, np.int64)
        np.add.at(inside, start + 1, 1)
        np.add.at(inside, end, -1)
        joined = np.cumsum(inside)[:-1] > 0
        starts = np.flatnonzero(known & ~(joined & np.append(False, known[:-1])))
        if len(starts) == 0:
            return []
        last = known & ~np.append(joined[1:] & known[1:], False)
        with np.errstate(invalid="ignore"):
            sums = np.nan_to_num(np.add.reduceat(share, starts), posinf=np.inf, neginf=-np.inf)
        ends = np.flatnonzero(last) + 1
        return list(zip(starts.tolist(), ends.tolist(), sums.tolist(), strict=True))

    # ---- for people --------------------------------------------------------------------------

    def __str__(self) -> str:
        return "\n".join([self.head(), "", *self.listed()]).rstrip()

    def listed(self, label: Any = None, against: Any = None) -> list[str]:
        """The most telling terms, a line each, and a line of what is left out."""
        lines = self.lines(label, against)
        rows = [(shown(term), times(count), odds) for term, count, odds in lines[:LISTED]]
        return [*lined(rows), left_out(lines[LISTED:], self.unknown)]

    def to_html(
        self, label: Any = None, against: Any = None, *, heading: bool = True,
        strongest: float | None = None,
    ) -> str:  # fmt: skip
        """The text with its words marked and a table of the most telling terms, as HTML.

        Blue words speak for `label`, orange ones for `against`; the number is in their tooltip.

        Parameters
        ----------
        label, against : two classes; by default the most probable one and the next.
        heading : whether a line says how probable the class is.
        strongest : log-odds of the strongest colour; the largest of a word here, by default.
        """
        lines = self.lines(label, against)
        rows = [(shown(term), times(count), odds) for term, count, odds in lines[:LISTED]]
        head = f'<p style="margin:.5em 0"><b>{escaped(self.head(label, against))}</b></p>'
        text = html_text(self.marked, self.marks(label, against), strongest)
        rest = left_out(lines[LISTED:], self.unknown)
        cut = cut_note(len(self.marked), len(self.text))
        box = (
            "white-space:pre-wrap;overflow-wrap:anywhere;margin:.8em 0;padding:.6em 1em;"
            "border:1px solid rgba(128,128,128,.4);border-radius:.4em"
        )
        faint = '<p style="margin:.5em 0;opacity:.7">'
        return (
            f'<div style="max-width:52em;line-height:1.6">{head * heading}'
            f"{legend(*(str(self.classes[c]) for c in self.pair(label, against)))}"
            f'<div dir="auto" style="{box}">{text}{"…" * bool(cut)}</div>'
            f"{f'{faint}{cut}</p>' * bool(cut)}"
            f"{html_table(('term', 'times', 'log-odds'), rows)}"
            f"{faint}{rest}</p></div>"
        )


class TextExplanations(Reasons[TextExplanation]):
    """Why each of several documents has its scores: a sequence of `TextExplanation`.

    ``print`` shows the first of them, and so does a notebook; `to_html` and `to_arrow` take all.
    """

    has_terms = True

    def __init__(self, classes: Labels, told: Sequence[TextExplanation]) -> None:
        self.classes = classes
        self._told = list(told)

    @property
    def _classes(self) -> Labels:
        return self.classes

    def __len__(self) -> int:
        return len(self._told)

    @overload
    def __getitem__(self, i: int) -> TextExplanation: ...
    @overload
    def __getitem__(self, i: slice) -> TextExplanations: ...
    def __getitem__(self, i: Any) -> Any:
        return TextExplanations(self.classes, self._told[i]) if isinstance(i, slice) else (
            self._told[i])  # fmt: skip

    def __repr__(self) -> str:
        return f"<TextExplanations: {len(self):,} texts, {len(self.classes):,} classes>"
