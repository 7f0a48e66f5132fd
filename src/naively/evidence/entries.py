"""The rows that evidence is weighed on, dealt into parts that are left out in turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from naively.evidence.copies import as_copies
from naively.evidence.declared import as_declared
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
KINDS = 10
"""Different rows whose weights seldom are multiples of one number by chance."""
USUAL = 0.9
"""The part of different rows that have the least weight, where that counts as 1."""
DIVERSE = 0.25
"""Values of a column of numbers, as a part of all different rows, that hardly come again."""


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
    met : (n,) how many of them were met anew; of copies of a row 1.
    part : (n,) the part that it belongs to.
    n_classes : int
    categorical : columns that are declared so: their levels are no dates, however they look.
    """

    codes: npt.NDArray[np.int32]
    levels: list[Levels]
    row: Int64
    y: Int64
    weight: Float64
    met: Float64
    part: Int64
    n_classes: int
    categorical: frozenset[int] = frozenset()

    @classmethod
    def of(cls, statistics: SampleStatistics, types: Mapping[int, str] | None = None) -> Entries:
        """The rows of a sample, whose columns have these declared types, by number.

        The parts are dealt in turn, class after class, by the hash of the row: each has its share
        of every class, and equal rows are spread over the parts. But copies of a row (`_copied`)
        are in one part, as each would be known by the others; then the rows weigh as much together
        as there would be without copies.
        """
        statistics = as_declared(statistics.canonical(), types := types or {})
        count = statistics.tables["count"].rounded()
        count /= _unit(count[count > 0])
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
        met = np.where(copied[at], 1.0, share)
        if copied.any():
            share *= np.where(copied, 1.0, weight).sum() / weight.sum()
        dealt = np.where(among == PARTS, np.fmod(whole, PARTS), turns).astype(np.int64)
        part = ((np.cumsum(dealt) - dealt)[at] + turn) % PARTS
        return cls(
            statistics.codes, statistics.levels, row[at], y[at], share, met, part, count.shape[0],
            frozenset(j for j, kind in types.items() if kind == "categorical"),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.row)

    def first(self, most: int) -> npt.NDArray[np.intp]:
        """Where the entries of the first rows are, about so many."""
        if len(self) <= most:
            return np.arange(len(self))
        return np.flatnonzero(self.row < np.sort(self.row)[most])

    def rows_met(self) -> Float64:
        """How often each distinct row was met anew, (R,)."""
        found = np.bincount(self.row, weights=self.met, minlength=len(self.codes))
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


def _unit(weight: Float64) -> float:
    """The least weight, if many rows have that and all others are multiples of it; else 1."""
    least = weight.min(initial=np.inf)
    if len(weight) < KINDS or weight.max() > MOST * least:
        return 1.0
    times = weight / least
    multiples = np.abs(times - np.round(times)) < 1e-9 * times
    return float(least) if multiples.all() and (times < 1.5).mean() > USUAL else 1.0


def _copied(
    statistics: SampleStatistics, row: Int64, y: Int64, weight: Float64
) -> npt.NDArray[np.bool_]:
    """Which rows of one class each, (n,), are there more than once as copies, or by their weight.

    Their weights are as even as those of copies (`as_copies`). Or they are no numbers of rows,
    where a column of numbers has so many values that rows are seldom equal.
    """
    if weight.max(initial=0.0) <= 1:
        return np.zeros(len(weight), bool)
    n_classes = len(statistics.tables["count"].limbs)
    even = as_copies(y, weight, n_classes)
    values = max((len(own) for own in statistics.levels if own.dtype.kind != "T"), default=0)
    if values > DIVERSE * len(statistics.codes):
        even |= np.bincount(y, weight != np.round(weight), n_classes) > 0
    found: npt.NDArray[np.bool_] = even[y] & (weight > 1)
    return found
