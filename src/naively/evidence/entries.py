"""The rows that evidence is weighed on, dealt into parts that are left out in turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from naively.exact import Float64, Int64
from naively.statistics.levels import Levels
from naively.statistics.sample import SampleStatistics

PARTS = 10
"""Parts, each of which is left out once."""
MOST = 1_000_000
"""Entries, about, that are made of rows which were met many times."""
HEAVIEST = 1e9
"""What a row weighs at most: all are scaled to that."""
LIGHTEST = 1e-9
"""Rows that weigh less tell nothing."""


@dataclass(frozen=True)
class Entries:
    """Rows of one class each, in the order of their hashes.

    Attributes
    ----------
    codes : (R, d) int32, the distinct rows, as places in the levels of each column.
    levels : list of d sorted arrays of numbers or text.
    row : (n,) which row each entry is of.
    y : (n,) its class.
    weight : (n,) how many rows it stands for.
    part : (n,) the part that it belongs to.
    n_classes : int
    """

    codes: npt.NDArray[np.int32]
    levels: list[Levels]
    row: Int64
    y: Int64
    weight: Float64
    part: Int64
    n_classes: int

    @classmethod
    def of(cls, statistics: SampleStatistics) -> Entries:
        """The rows of a sample.

        The parts are dealt in turn, class after class, by the hash of the row: each has its share
        of every class, and equal rows are spread over the parts.
        """
        statistics = statistics.canonical()
        count = statistics.tables["count"].rounded()
        count *= min(1.0, HEAVIEST / count.max(initial=1.0))
        y, row = np.nonzero(count >= LIGHTEST)
        weight = count[y, row]
        # weight w is dealt as w rows are, to one part after the other; what is left to the last
        whole = np.ceil(weight)
        among = _parts_of_a_row(whole)
        turns = np.minimum(whole, among).astype(np.int64)
        at = np.repeat(np.arange(len(row)), turns)
        turn = np.arange(len(at)) - np.repeat(np.cumsum(turns) - turns, turns)
        share = np.floor((whole[at] - 1 - turn) / among) + 1
        share -= np.where(turn == (whole[at] - 1) % among, whole[at] - weight[at], 0.0)
        dealt = np.fmod(whole, PARTS).astype(np.int64) if among == PARTS else turns
        part = ((np.cumsum(dealt) - dealt)[at] + turn) % PARTS
        return cls(statistics.codes, statistics.levels, row[at], y[at], share, part, count.shape[0])

    def __len__(self) -> int:
        return len(self.row)

    def first(self, most: int) -> npt.NDArray[np.intp]:
        """Where the entries of the first rows are, about so many."""
        if len(self) <= most:
            return np.arange(len(self))
        return np.flatnonzero(self.row < np.sort(self.row)[most])

    def row_weight(self) -> Float64:
        """The weight of each distinct row, (R,)."""
        found = np.bincount(self.row, weights=self.weight, minlength=len(self.codes))
        return found.astype(np.float64)

    def class_weight(self) -> Float64:
        """The weight of each class in each part, (parts, C)."""
        found = np.zeros((PARTS, self.n_classes))
        np.add.at(found, (self.part, self.y), self.weight)
        return found


def _parts_of_a_row(whole: Float64) -> int:
    """Among how many parts equal rows are dealt: fewer, where that would make too many entries."""
    for parts in range(PARTS, 1, -1):
        if np.minimum(whole, parts).sum() <= MOST:
            return parts
    return 1
