"""Explanations of rows: the contributions of features to the scores of the classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.text import Text

from naively.core.exact import Float64, Int64
from naively.core.labels import Label, Labels
from naively.core.markup import (
    PALE,
    brief,
    escaped,
    html_table,
    largest,
    legend,
    more_of,
    paragraph,
)
from naively.explain.base import (
    MIXING,
    ClassPair,
    Explanations,
    SingleExplanation,
    Summand,
    compared,
    largest_first,
)
from naively.explain.rendering import Listing, rounded, table
from naively.explain.text import MIXED, WIDE, TextExplanation, closing
from naively.rendering import NAMES, joined, note

__all__ = ["Explanation", "RowExplanation", "TextExplanation"]

CONDITIONAL = (
    "features of one joint table: each contribution is given the features before it, in the order "
    "of the columns; their sum does not depend on the order"
)
INTERACTIONS = (
    "lines of several features: evidence of these features together, beyond that of their own lines"
)
MOST = 30  # number of listed features, those with the largest log-odds
BLOCK = 256  # rows whose cells are read together

Cells = Callable[[range], Sequence[Sequence[str | None]]]
"""Function from rows to the text of their cells, feature by feature; None if missing."""
Texts = Callable[[int], dict[str, TextExplanation]]
"""Function from a row to the explanations of its text columns, by name."""


@dataclass(frozen=True, eq=False, repr=False)
class RowExplanation(SingleExplanation):
    """Explanation of one row: contributions to its joint log-likelihoods, in nats.

    ``print`` and notebooks show the features with the largest contributions.

    Attributes
    ----------
    classes, prior, proba, code, has_bias : as in `SingleExplanation`.
    mixing : (C,) what prior mixing of texts adds to the score of each class.
    features : list of d names.
    values : list of d, the text of the cells; None for missing values.
    contributions : (C, d) of each feature to the score of each class; or (C, K) of each block.
    texts : explanations of the text columns, by name.
    blocks : positions of the features of each block; None if each feature is a block.
    conditional : whether contributions of some features are conditional on those before them.
    """

    mixing: Float64
    features: list[str]
    values: list[str | None]
    contributions: Float64
    texts: dict[str, TextExplanation]
    blocks: list[tuple[int, ...]] | None = None
    conditional: bool = False

    @property
    def _scores(self) -> tuple[Float64, ...]:
        return self.prior, self.contributions, self.mixing

    def lines(
        self, label: Label | None = None, against: Label | None = None
    ) -> list[tuple[str, str | None, float]]:
        """Return (feature, value, log-odds), the largest first.

        The last is the prior; the line before it is prior mixing, if there is any. Names and values
        of interactions are joined by " × "; more than four features are counted. The log-odds are 0
        where both classes have probability 0.
        """
        prior, odds, mixing = (part.tolist() for part in self.known_log_odds(label, against))
        names, values = self.features, self.values
        if self.blocks is not None:
            names = [joined([names[j] for j in block]) for block in self.blocks]
            values = [self._value(block) for block in self.blocks]
        return [
            *largest_first([*zip(names, values, odds, strict=True)]),
            *[(MIXING, "", mixing)] * bool(self.mixing.any()),
            (self.prior_name, "", prior),
        ]

    def _lines(
        self, label: Label | None, against: Label | None
    ) -> tuple[list[tuple[str, str | None, float]], list[tuple[str, str | None, float]]]:
        """Return `lines`: those of features, and the others."""
        lines = self.lines(label, against)
        n_features = len(lines) - 1 - bool(self.mixing.any())
        return lines[:n_features], lines[n_features:]

    def _value(self, block: tuple[int, ...]) -> str | None:
        """Return the joined values of a block; none of more features than are named."""
        values = [self.values[j] for j in block]
        if len(values) == 1:
            return values[0]
        shown_values = ["missing" if value is None else value.strip() for value in values]
        return joined(shown_values) if len(values) <= NAMES else ""

    def parts(self, label: Label | None = None, against: Label | None = None) -> list[Summand]:
        """Return all parts of the log-odds, as in `SingleExplanation`."""
        if self.text is not None:
            return self.text.parts(*self.labels(label, against))
        summands: list[Summand] = []
        features, others = self._lines(label, against)
        for name, value, odds in features:
            if name in self.texts:
                summands += self.texts[name].parts(*self.labels(label, against))
            else:
                summands.append((name, None, value or None, odds))
        return [*largest_first(summands), *[(name, None, None, odds) for name, _, odds in others]]

    @property
    def text(self) -> TextExplanation | None:
        """Explanation of the text if the row has no other feature; else None."""
        return self.texts[self.features[0]] if len(self.texts) == len(self.features) == 1 else None

    def to_dict(self, label: Label | None = None, against: Label | None = None) -> dict[str, Any]:
        """Return all of it as a dict for JSON, in nats."""
        classes = self.classes.tolist()
        label, against = (classes[c] for c in self.pair(label, against))
        prior, odds, mixing = (part.tolist() for part in self.known_log_odds(label, against))
        contributions = self.contributions.T.tolist()
        log_odds: dict[str, Any] = {
            "total": self.total(label, against), "prior": prior, "prior_mixing": mixing,
        }  # fmt: skip
        if self.blocks is None:
            log_odds["features"] = dict(zip(self.features, odds, strict=True))
            parts: dict[str, Any] = {
                "contributions": dict(zip(self.features, contributions, strict=True))
            }
        else:
            rows = zip(self.blocks, odds, contributions, strict=True)
            parts = {
                "blocks": [
                    {"features": [self.features[j] for j in block], "log_odds": block_odds,
                     "contributions": by_class}
                    for block, block_odds, by_class in rows
                ]
            }  # fmt: skip
        values = zip(self.features, self.values, strict=True)
        return {
            "predicted": self.predicted,
            "label": label,
            "against": against,
            "log_odds": log_odds,
            "classes": classes,
            "probabilities": self.proba.tolist(),
            "prior": self.prior.tolist(),
            "prior_has_bias": self.has_bias,
            "prior_mixing": self.mixing.tolist(),
            "joint": self.joint.tolist(),
            "values": {name: value for name, value in values if name not in self.texts},
            **parts,
            "texts": {name: text.to_dict(label, against) for name, text in self.texts.items()},
        }

    # ---- printing ----------------------------------------------------------------------------

    def listed(self, label: Label | None = None, against: Label | None = None) -> Listing:
        """Return the contributions to print."""
        features, others = self._lines(label, against)
        rows = [
            (name, "missing" if value is None else rounded(value), odds)
            for name, value, odds in features[:MOST]
        ]
        more = more_of(features[MOST:], "feature" if self.blocks is None else "contribution")
        rest = closing([(name, "", odds) for name, _, odds in others])
        notes = [MIXED] * any(name == MIXING for name, *_ in rest)
        notes += [INTERACTIONS] * any(len(block) > 1 for block in self.blocks or ())
        return Listing(rows, [*more, *rest], notes)

    def _printed(self, pair: ClassPair, width: int, colours: bool) -> list[RenderableType]:
        if self.text is not None:
            return self.text._printed(pair, width, colours)
        cell_width = WIDE if width >= 80 else 15
        half = max(cell_width, min((width - 14) // 2, 60))
        widths = (cell_width, cell_width) if self.blocks is None else (half, half)
        heads = "feature", "value"
        listing = self.listed(*pair)
        renderables: list[RenderableType] = [
            table(heads, listing, self.total(*pair), width, widths),
            *map(note, listing.notes),
        ]
        renderables += [note(CONDITIONAL)] * (self.conditional and self.blocks is None)
        strongest = self.strongest(*pair)
        for text in self.texts.values():
            if not text.text:
                continue
            title = Text(f"Text of {brief(text.column, WIDE)}", style="bold")
            renderables += ["", title, "", *text._printed(pair, width, colours, strongest)]
        return renderables

    def _html(self, pair: ClassPair, head: str, strongest: float | None) -> str:
        if self.text is not None:
            body = self.text.to_html(*pair, heading=False, strongest=strongest)
            return "\n".join(filter(None, [head, body]))
        cell_width = WIDE if self.blocks is None else 2 * WIDE
        listing = self.listed(*pair)
        lines = [
            (brief(name, cell_width), brief(value, 2 * WIDE), odds)
            for name, value, odds in listing.rows
        ]
        heads = "feature", "value", "contribution"
        body = html_table(heads, lines, listing.closing, self.total(*pair))
        pieces = [head, legend(*pair), body, *[paragraph(line, PALE) for line in listing.notes]]
        pieces += [paragraph(CONDITIONAL, PALE)] * (self.conditional and self.blocks is None)
        strongest = strongest or self.strongest(*pair)
        for text in self.texts.values():
            title = f"<b>Text of {escaped(brief(text.column, WIDE))}</b>"
            pieces.append(paragraph(title, "margin:1.5em 0 .5em"))
            pieces.append(text.to_html(*pair, heading=False, strongest=strongest))
        return "\n".join(filter(None, pieces))

    def strongest(self, label: Label | None = None, against: Label | None = None) -> float:
        """Return the largest log-odds of a word: the colour scale of all texts of the row."""
        marks = [m for text in self.texts.values() for m in text.marks(label, against)]
        return largest(odds for _, _, odds in marks)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Explanations[RowExplanation]):
    """Explanations of rows: contributions to their joint log-likelihoods, in nats.

    A sequence of `RowExplanation`: ``explanation[0]`` is that of the first row. ``print`` and
    notebooks show the first ten; `to_html` and `to_arrow` include all.

    Attributes
    ----------
    classes : (C,) the labels.
    features : list of d names, in the order of `contributions`, or None. Columns that the model
        leaves out are not among them.
    prior : (n, C) log π_c, plus the bias of each class if the model has one.
    mixing : (n, C) what prior mixing of texts adds to the score of each class; 0 without texts.
    contributions : (n, C, d) of each feature to the score of each class; or (n, C, K) of each
        block.
    proba : (n, C) P(c | x).
    codes : (n,) position of the predicted class.
    cells, texts : functions that return the text of cells, and explanations of text columns.
    at : positions of these rows for `cells` and `texts`; None for 0, ..., n - 1.
    blocks : positions of the features of each block; None if each feature is a block.
    conditional : whether contributions of some features are conditional on those before them.
    has_bias : whether the prior includes a bias.
    """

    features: list[str] | None
    prior: Float64
    mixing: Float64
    contributions: Float64
    proba: Float64
    codes: Int64
    cells: Cells | None = None
    texts: Texts | None = None
    at: range | None = None
    blocks: list[tuple[int, ...]] | None = None
    conditional: bool = False
    has_bias: bool = False

    @property
    def joint(self) -> Float64:
        """The joint log-likelihoods, (n, C): the prior, prior mixing and all contributions."""
        return self.prior + self.mixing + self.contributions.sum(axis=2)

    @property
    def predicted(self) -> Labels:
        """The predicted class of each row, (n,)."""
        return self.classes[self.codes]

    def log_odds(
        self, label: Label | None = None, against: Label | None = None
    ) -> tuple[Float64, Float64, Float64]:
        """Return the parts of log P(label | x) - log P(against | x) of each row, in nats.

        Parameters
        ----------
        label, against : two classes; by default the two most probable ones of each row.

        Returns
        -------
        ((n,) of the prior, (n, d) of `features` or (n, K) of `blocks`, (n,) of prior mixing); NaN
        where both classes have probability 0.
        """
        a, b = compared(self.joint, self.prior, self.codes, self.classes, label, against)
        rows = np.arange(len(self))
        with np.errstate(invalid="ignore"):  # NaN where both classes have probability 0
            return (
                self.prior[rows, a] - self.prior[rows, b],
                self.contributions[rows, a] - self.contributions[rows, b],
                self.mixing[rows, a] - self.mixing[rows, b],
            )

    @property
    def has_terms(self) -> bool:
        """Whether any column is text, with contributions of its terms."""
        return self.texts is not None

    # ---- row by row --------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.contributions)

    def __iter__(self) -> Iterator[RowExplanation]:
        for start in range(0, len(self), BLOCK):
            block = range(len(self))[start : start + BLOCK]
            yield from map(self._row, block, self._values(block))

    def _single(self, i: int) -> RowExplanation:
        return self._row(i, self._values(range(i, i + 1))[0])

    def _some(self, rows: slice) -> Explanation:
        return replace(
            self, prior=self.prior[rows], mixing=self.mixing[rows],
            contributions=self.contributions[rows], proba=self.proba[rows],
            codes=self.codes[rows], at=self._places[rows],
        )  # fmt: skip

    @property
    def _places(self) -> range:
        """Positions of the rows for `cells` and `texts`."""
        return range(len(self)) if self.at is None else self.at

    def _values(self, rows: range) -> list[list[str | None]]:
        """Return the text of the cells of adjacent rows, row by row."""
        if self.cells is None:
            return [[""] * len(self._names) for _ in rows]
        cells = self.cells(self._places[rows.start : rows.stop])
        return [list(row) for row in zip(*cells, strict=True)]

    def _row(self, i: int, values: list[str | None]) -> RowExplanation:
        return RowExplanation(
            self.classes, self.prior[i], self.proba[i], int(self.codes[i]), self.mixing[i],
            self._names, values, self.contributions[i],
            {} if self.texts is None else self.texts(self._places[i]),
            self.blocks, self.conditional, has_bias=self.has_bias,
        )  # fmt: skip

    @property
    def _names(self) -> list[str]:
        """Names of the features; x0, x1, ... if they have none."""
        if self.features is not None:
            return self.features
        return [f"x{k}" for k in range(self.contributions.shape[2])]

    def __repr__(self) -> str:
        n, c, d = self.contributions.shape
        unit = "features" if self.blocks is None else "blocks"
        return f"<Explanation: {n:,} rows, {c:,} classes, {d:,} {unit}>"
