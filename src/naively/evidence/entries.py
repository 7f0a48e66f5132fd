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
OFTEN = 10
"""How many times as often as by chance a row is there, if it was copied;"""
ALIKE = 0.95
"""and the part of pairs of equal rows, at least, whose labels are then equal, in the mean class;"""
MANY = 0.2
"""and the part of all rows that are such copies of others, at least; or twice that of a class."""


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
        of every class, and equal rows are spread over the parts. But copies of a row (`_copied`)
        are in one part, as each would be known by the others; then the rows weigh as much together
        as there would be without copies.
        """
        statistics = statistics.canonical()
        count = statistics.tables["count"].rounded()
        heaviest = count.max(initial=0.0)
        count *= min(1.0, HEAVIEST / max(heaviest, 1.0))
        if 0.0 < heaviest < 1.0:  # such weights say how much rows tell beside others
            count /= heaviest
            count *= count.sum() / (count**2).sum()
        y, row = np.nonzero(count >= LIGHTEST)
        weight = count[y, row]
        # weight w is dealt as w rows are, to one part after the other; what is left to the last
        whole = np.maximum(np.floor(weight), 1.0)
        copied = _copied(statistics, row, y, weight)
        among = np.where(copied, 1, _parts_of_a_row(np.where(copied, 1, whole)))
        turns = np.minimum(whole, among).astype(np.int64)
        at = np.repeat(np.arange(len(row)), turns)
        turn = np.arange(len(at)) - np.repeat(np.cumsum(turns) - turns, turns)
        share = np.floor((whole[at] - 1 - turn) / among[at]) + 1
        share += np.where(turn == (whole[at] - 1) % among[at], weight[at] - whole[at], 0.0)
        if copied.any():
            share *= np.where(copied, 1.0, weight).sum() / weight.sum()
        dealt = np.where(among == PARTS, np.fmod(whole, PARTS), turns).astype(np.int64)
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


def _copied(
    statistics: SampleStatistics, row: Int64, y: Int64, weight: Float64
) -> npt.NDArray[np.bool_]:
    """Which rows of one class each, (n,), are there more than once as copies, or by their weight.

    Rows of few columns are equal by chance. Others are copies if they are many times as often as
    chance would have it, the columns being independent within the class; if their labels are equal
    as well, as those of rows that are met anew seldom are; and if there are many.
    """
    often = np.flatnonzero(weight > 1)
    found = np.zeros(len(row), bool)
    if not len(often):
        return found
    n_classes, codes = len(statistics.tables["count"].limbs), statistics.codes
    of_class = np.bincount(y, weight, n_classes)
    expected = np.log(of_class[y[often]])
    for own, levels in zip(codes.T, statistics.levels, strict=True):
        place = y * (len(levels) + 1) + own[row]
        expected += np.log(np.bincount(place, weight)[place[often]] / of_class[y[often]])
    often = often[expected < np.log(weight[often] / OFTEN)]
    of_row = np.bincount(row, weight, len(codes))
    pairs, equal = (
        np.bincount(y[often], weight[often] * (others[often] - 1), n_classes)
        for others in (of_row[row], weight)
    )
    more = np.bincount(y[often], weight[often] - 1, n_classes)
    many = more.sum() > MANY * of_class.sum() or (more > 2 * MANY * of_class).any()
    some = pairs > 0
    found[often] = many and (equal[some] / pairs[some]).mean() > ALIKE
    return found
