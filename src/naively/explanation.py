"""Why a row, or a document, has the scores that it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from naively.exact import Float64
from naively.labels import Labels
from naively.markup import (
    Mark,
    colour,
    escaped,
    html_table,
    html_text,
    largest,
    left_out,
    length,
    shown,
    times,
    total_odds,
)
from naively.text.told import Told

LISTED = 20
"""Terms that are listed, those with the largest log-odds."""
Line = tuple[str, int, float]
"""(a term, or what else there is in brackets; how often it is met; its log-odds)."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why each row has the joint log-likelihoods that it has; all in nats.

    Attributes
    ----------
    classes : (C,) the labels.
    features : list of d names, or None.
    prior : (C,) log π_c.
    contributions : (n, C, d), what each feature adds to the score of each class.
    """

    classes: Labels
    features: list[str] | None
    prior: Float64
    contributions: Float64

    @property
    def joint(self) -> Float64:
        """The joint log-likelihoods, (n, C): the prior plus all contributions."""
        return self.prior + self.contributions.sum(axis=2)

    def log_odds(self, label: Any, against: Any = None) -> tuple[float, Float64]:
        """(prior term, (n, d) contributions) to log P(label | x) - log P(against | x), in nats.

        Of two classes, `against` is the other one.
        """
        names = self.classes.tolist()
        if against is None and len(names) == 2 and label in names:
            against = names[1 - names.index(label)]
        a, b = _place(names, label), _place(names, against)
        with np.errstate(invalid="ignore"):  # NaN where neither class can have a value
            return (
                float(self.prior[a] - self.prior[b]),
                self.contributions[:, a] - self.contributions[:, b],
            )


@dataclass(frozen=True, eq=False, repr=False)
class TextExplanation(Told):
    """Why a document has the joint log-likelihoods that it has; all in nats.

    ``print`` shows the terms that move it most from one class to another, and so does a notebook,
    with the words marked in the text.

    Attributes
    ----------
    classes : (C,) the labels.
    prior : (C,) log π_c.
    text, terms, counts, contributions, spans, rest, unknown : as `Told` has them.
    """

    classes: Labels
    prior: Float64

    @property
    def joint(self) -> Float64:
        """The joint log-likelihoods, (C,): the sum of all."""
        return self.prior + self.contributions.sum(axis=0) + self.rest

    @property
    def proba(self) -> Float64:
        """P(c | text), (C,)."""
        joint = self._possible
        proba = np.exp(joint - joint.max())
        return proba / proba.sum()

    @property
    def _possible(self) -> Float64:
        """The joint log-likelihoods; the prior, if every class rules the document out."""
        joint = self.joint
        return self.prior if np.isneginf(joint).all() else joint

    def log_odds(self, label: Any = None, against: Any = None) -> tuple[float, Float64, float]:
        """The parts of log P(label | text) - log P(against | text), in nats.

        Parameters
        ----------
        label, against : two classes; by default the most probable one and the next.

        Returns
        -------
        (that of the prior, (T,) those of the terms, that of the absence of all others)
        """
        a, b = self._pair(label, against)
        with np.errstate(invalid="ignore"):  # NaN where neither class can have a term
            return (
                float(self.prior[a] - self.prior[b]),
                self.contributions[:, a] - self.contributions[:, b],
                float(self.rest[a] - self.rest[b]),
            )

    def _pair(self, label: Any, against: Any) -> tuple[int, int]:
        """The positions of the two classes to compare."""
        names = self.classes.tolist()
        given = [None if one is None else _place(names, one) for one in (label, against)]
        order = np.argsort(-self._possible, kind="stable").tolist()
        a = next((c for c in order if c != given[1]), order[0]) if given[0] is None else given[0]
        b = next((c for c in order if c != a), a) if given[1] is None else given[1]
        return a, b

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

    def marks(self, label: Any = None, against: Any = None) -> list[Mark]:
        """(start, end, log-odds) of the parts of the text that move it, in their order.

        The log-odds of a term are shared among its words, wherever they are met, equally. Terms of
        characters that overlap mark a word together.
        """
        odds = np.nan_to_num(self.log_odds(label, against)[1], posinf=np.inf, neginf=-np.inf)
        solid = np.array([not character.isspace() for character in self.text], bool)
        share, known, joined = np.zeros(len(solid)), np.zeros_like(solid), np.zeros_like(solid)
        for own, met in zip(odds.tolist(), self.spans, strict=True):
            spans = [slice(*span) for places in met for span in places]
            spans = [span for span in spans if solid[span].any()]
            for span in spans:
                share[span] += np.where(solid[span], own / len(spans) / solid[span].sum(), 0.0)
                known[span] |= solid[span]
                joined[span.start + 1 : span.stop] = True
        before = np.append(False, known[:-1])
        starts = np.flatnonzero(known & ~(joined & before))
        if len(starts) == 0:
            return []
        last = known & ~np.append(joined[1:] & known[1:], False)
        with np.errstate(invalid="ignore"):
            sums = np.nan_to_num(np.add.reduceat(share, starts), posinf=np.inf, neginf=-np.inf)
        ends = np.flatnonzero(last) + 1
        return list(zip(starts.tolist(), ends.tolist(), sums.tolist(), strict=True))

    # ---- for people --------------------------------------------------------------------------

    def __repr__(self) -> str:
        a, b = self._pair(None, None)
        return f"<TextExplanation: {self.classes[a]} rather than {self.classes[b]}>"

    def __str__(self) -> str:
        head, lines = self._head(None, None), self.lines()
        widest = largest(odds for _, _, odds in lines)
        listed = lines[:LISTED]
        width = max((len(shown(term)) for term, _, _ in listed), default=0)
        rows = [
            f"{shown(term):{width}}  {times(count):>4}  {odds:+8.3f}  {'█' * length(odds, widest)}"
            for term, count, odds in listed
        ]
        rest = left_out(lines[LISTED:], self.unknown)
        return "\n".join(line.rstrip() for line in [head, "", *rows, rest]).rstrip()

    def _head(self, label: Any, against: Any) -> str:
        """A line that says how the two classes compare."""
        a, b = self._pair(label, against)
        one, other = (shown(str(self.classes[c])) for c in (a, b))
        total = total_odds(odds for _, _, odds in self.lines(label, against))
        return f"{one}, P = {self.proba[a]:.4f}; log-odds against {other}: {total} nats"

    def _repr_html_(self) -> str:
        return self.to_html()

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
        one, other = (escaped(shown(str(self.classes[c]))) for c in self._pair(label, against))
        lines = self.lines(label, against)
        rows = [(shown(term), times(count), odds) for term, count, odds in lines[:LISTED]]
        head = f'<p style="margin:.5em 0"><b>{escaped(self._head(label, against))}</b></p>'
        text = html_text(self.text, self.marks(label, against), strongest)
        rest = left_out(lines[LISTED:], self.unknown)
        box = (
            "white-space:pre-wrap;overflow-wrap:anywhere;margin:.8em 0;padding:.6em 1em;"
            "border:1px solid rgba(128,128,128,.4);border-radius:.4em"
        )
        return (
            f'<div style="max-width:52em;line-height:1.6">{head * heading}'
            f'<p style="margin:.5em 0"><span style="{colour(1.0)}">for {one}</span> '
            f'<span style="{colour(-1.0)}">for {other}</span></p>'
            f'<div dir="auto" style="{box}">{text}</div>'
            f"{html_table(('term', 'times', 'log-odds'), rows)}"
            f'<p style="margin:.5em 0;opacity:.7">{rest}</p></div>'
        )


def _place(names: list[Any], label: Any) -> int:
    if label not in names:
        raise ValueError(f"{label!r} is not one of the classes {names}")
    return names.index(label)
