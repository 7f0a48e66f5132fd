"""Rows with missing cells where the training rows had none.

A weight is right beside the others: where cells are missing, the rest must not be weighed as if
they were there. Such rows are scored by the evidence of single columns, all numbers and texts that
are present, with weights of their own: those that predict training rows best from which cells were
removed at random. There is no bias: with every cell missing the posterior is the class prior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.exact import Float64, Int64
from naively.hashing import GOLDEN, mixed

FAMILIAR = 5.0
"""Training rows in which a cell is missing, at least, for that to be evidence."""
EDGES = (0.8, 0.6, 0.4, 0.2)
"""Shares of the columns that are present, between which evidence has one factor."""
FACTORS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0)
"""Factors of evidence that are tried."""
LOOKED_AT = 20_000
"""Rows with missing cells that are looked at, at most."""
SIMULATED, MOST_TIMES = 5000, 20
"""Rows, about, of which cells are removed; how often the same row is one of them."""
PRESENT = 0.5
"""Share of the numbers of a normal density that are present, at least, for it to be evidence."""


@dataclass(frozen=True)
class Incomplete:
    """How rows with unfamiliar missing cells are scored.

    Attributes
    ----------
    weights : (K,) of the blocks of evidence; 0 of several columns.
    factors : (L,) by which evidence is multiplied, for each share of columns that are present.
    usual : (d,) whether a missing value of a column is familiar: it is evidence.
    most : missing cells, at most, of a familiar row.
    together : (P, 2) columns of which the second is missing wherever the first is.
    columns : those of all blocks.
    """

    weights: Float64
    factors: Float64
    usual: npt.NDArray[np.bool_]
    most: int
    together: Int64
    columns: Int64

    def levels(self, gone: npt.NDArray[np.bool_]) -> Int64:
        """Of rows by what is missing, (n, d): 0 of familiar ones, else 1 + that of a factor."""
        missing = gone[:, self.columns].sum(axis=1)
        unusual = (gone & ~self.usual).any(axis=1) | (missing > self.most)
        first, second = self.together.T
        unusual |= (gone[:, first] & ~gone[:, second]).any(axis=1)
        return np.where(unusual, 1 + places(1 - missing / max(1, len(self.columns))), 0)

    def among(self, columns: int, at: npt.NDArray[np.intp]) -> Self:
        """The same for a table of so many columns, of which these are its own."""
        usual = np.ones(columns, bool)
        usual[at] = self.usual
        return replace(
            self, usual=usual, columns=np.sort(at[self.columns]), together=at[self.together]
        )


def places(share: Float64) -> Int64:
    """Which factor rows have of whose columns such a share is present."""
    found: Int64 = (np.asarray(share)[..., np.newaxis] < np.array(EDGES)).sum(axis=-1)
    return found


def familiar(
    gone: npt.NDArray[np.bool_], weight: Float64, columns: Int64
) -> tuple[npt.NDArray[np.bool_], int, Int64]:
    """(columns whose missing values are familiar, (d,); missing cells of a familiar row at most;
    columns of which the second is missing wherever the first is, (P, 2)).

    `gone`, (R, d), is what is missing in training rows of such weights; cells of `columns` count.
    """
    gone = gone[:, columns]
    usual = weight @ gone >= FAMILIAR
    often = np.bincount(gone.sum(axis=1), weight)
    beyond = often[::-1].cumsum()[::-1]  # rows with so many missing cells, or more
    most = int(np.flatnonzero(beyond >= FAMILIAR)[-1]) if (beyond >= FAMILIAR).any() else 0
    first = np.flatnonzero(usual)
    rows = np.flatnonzero(gone.any(axis=1))[:LOOKED_AT]
    apart = (weight[rows, np.newaxis] * gone[rows][:, first]).T @ ~gone[rows]
    j, k = np.nonzero(apart < FAMILIAR)
    pairs = np.column_stack([first[j], k])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return usual, most, columns[pairs]


def removed(rows: npt.NDArray[np.integer], columns: int) -> npt.NDArray[np.bool_]:
    """Cells that are removed of rows by their number, (n, columns): of each row another share."""
    seeds = mixed(rows.astype(np.uint64) * np.uint64(GOLDEN) + np.uint64(1))
    cells: Any = seeds[:, np.newaxis] + np.arange(1, columns + 1, dtype=np.uint64) * np.uint64(
        GOLDEN
    )
    return mixed(cells) < seeds[:, np.newaxis]
