"""Columns cut into bins: numbers and dates by equal frequency, levels each by itself."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.numerals import ANY
from naively.kernels import scores as kernel
from naively.pooling.dates import as_dates, seconds
from naively.statistics.levels import Levels, find, spelled_as
from naively.statistics.rows import texts

Bins = npt.NDArray[np.uint16]
Cells = npt.NDArray[np.uint32]

FINE = 0
PAIRS = 1, 2, 3
TRIPLES = 4, 5, 6
FOURS = TRIPLES[:1]
"""Ways to cut: columns alone; pairs, triples and fours, closer and closer."""
NUMBERS = (64, 8, 16, 32, 5, 10, 20)
LEVELS = (65_000, 16, 32, 64, 10, 20, 40)
"""Bins of numbers and of levels, at most, for each of these; a missing value has one more."""

BETWEEN = 31 / 64
"""Where between two values a bin starts."""
LOOKS = re.compile(ANY)
RARE = 2.0
"""Rows that a level has, at least, to be told apart from other rare ones."""


@dataclass(frozen=True)
class Column:
    """The bins of a column.

    Attributes
    ----------
    levels : sorted array with an entry a bin: of categories the one that it holds, of numbers where
        the bin starts, between two training values; dates and times as seconds. Categories
        have a bin besides for rare ones, the last but one: unseen categories are as these.
    coarser : for each way to cut, the bin of each fine bin, the missing value's last.
    dated : whether the numbers are dates or times.
    """

    levels: Levels
    coarser: tuple[Int64, ...]
    dated: bool = False

    @classmethod
    def of(
        cls, levels: Levels, weights: Float64, worded: bool = False, categorical: bool = False
    ) -> Column:
        """The bins of a column with these levels, which weigh so much.

        Texts of which the words tell (`worded`) share one bin: that they came again tells no more.
        Levels of a column that is declared `categorical` are no dates.
        """
        dates = None if categorical else as_dates(levels)
        if dated := dates is not None:
            levels, place = np.unique(dates, return_inverse=True)
            weights = np.bincount(place, weights).astype(np.float64)
        if levels.dtype.kind == "T":
            cut, sizes, fine = _frequent, LEVELS, _common(weights * (not worded), LEVELS[FINE])
            levels = levels[fine >= 0]
        else:
            cut, sizes, fine = _equal, NUMBERS, _equal(weights, NUMBERS[FINE])
            levels = _starts(levels, np.diff(fine, prepend=-1) > 0)
        missing = fine_bins(levels) - 1
        # rare levels, -1, have the bin before that of the missing value
        of_bins = np.bincount(fine % missing, weights, missing).astype(np.float64)
        coarser = [np.arange(missing + 1)]
        for size in sizes[1:]:
            own = cut(of_bins, size)
            coarser.append(np.append(own, own.max(initial=-1) + 1))
        return cls(levels, tuple(coarser), dated)

    @property
    def is_number(self) -> bool:
        """Whether the column holds numbers, or dates."""
        return self.levels.dtype.kind != "T"

    def size(self, way: int) -> int:
        """The number of bins, that of the missing value included."""
        return int(self.coarser[way][-1]) + 1

    def bins(self, levels: Levels) -> Int64:
        """The fine bin of each level, of which some may be new; that of the missing value last."""
        missing = self.size(FINE) - 1
        found = np.full(len(levels) + 1, missing, np.int64)
        if not self.is_number:
            at, hit = find(self.levels, spelled_as(self.levels, texts(levels)))
            found[:-1] = np.where(hit, at, missing - 1)
        elif len(self.levels):
            if levels.dtype.kind == "T" and not self.dated:
                levels = spelled_as(texts(self.levels), levels)
            numbers = seconds(levels) if self.dated else as_numbers(levels)
            at = np.searchsorted(self.levels, numbers, side="right") - 1
            found[:-1] = np.where(np.isnan(numbers), missing, np.maximum(at, 0))
        return found


@dataclass(frozen=True)
class Coded:
    """Columns of rows, cut in one way.

    Attributes
    ----------
    codes : (d, n) the bin of each row.
    sizes : (d,) how many bins each column has.
    """

    codes: Bins
    sizes: Int64

    def cells(self, columns: Sequence[int], rows: npt.NDArray[np.intp] | None = None) -> Cells:
        """The cell of each row, or of some rows, in the table of some columns."""
        return kernel.cells_of(self.codes, self.sizes, columns, rows)

    def size(self, columns: Sequence[int]) -> int:
        """How many cells there are in the table of some columns."""
        return math.prod([self._sizes[j] for j in columns])

    @cached_property
    def _sizes(self) -> list[int]:
        """Sizes as Python has them."""
        return self.sizes.tolist()


@dataclass(frozen=True)
class Lookup:
    """The bin of each level of each column, cut in one way.

    Attributes
    ----------
    bins : list of d arrays, the missing value's bin last.
    sizes : (d,) how many bins each column has.
    """

    bins: list[Bins]
    sizes: Int64

    @classmethod
    def of(cls, columns: list[Column], bins: list[Int64], way: int) -> Lookup:
        """From the fine bins of the levels."""
        pairs = zip(columns, bins, strict=True)
        sizes = np.array([column.size(way) for column in columns], np.int64)
        return cls([column.coarser[way][own].astype(np.uint16) for column, own in pairs], sizes)

    def met(self) -> list[int]:
        """How many bins of each column have a level."""
        return [len(np.unique(own[:-1])) for own in self.bins]

    def coded(self, codes: npt.NDArray[Any]) -> Coded:
        """Rows (n, d) of places in the levels."""
        found = np.empty((len(self.bins), len(codes)), np.uint16)
        for own, bins, column in zip(found, self.bins, codes.T, strict=True):
            own[:] = bins[column]
        return Coded(found, self.sizes)


def fine_bins(levels: Levels) -> int:
    """How many bins a column of these levels has, that of the missing value included."""
    return max(1, len(levels) + (levels.dtype.kind == "T")) + 1


def as_numbers(levels: Levels) -> Float64:
    """Levels as numbers; NaN for what is none."""
    if levels.dtype.kind != "T":
        return levels.astype(np.float64)
    return np.array([_number(level) for level in levels.tolist()], np.float64)


def _number(text: str) -> float:
    found = float(text) if LOOKS.fullmatch(text) else math.nan
    return found if math.isfinite(found) else math.nan


def _equal(weights: Float64, most: int) -> Int64:
    """The bin of each of some sorted values: about equal weights, and equal values together."""
    if len(weights) <= most:
        return np.arange(len(weights))
    bins = np.empty(len(weights), np.int64)
    total, own, at, room = float(weights.sum()), 0.0, 0, most
    target = total / room
    for k, weight in enumerate(weights.tolist()):
        if own > 0 and own + weight / 2 > target:
            at, total, room = at + 1, total - own, max(1, room - 1)
            target, own = total / room, 0.0
        bins[k] = at
        own += weight
    return bins


def _starts(levels: Float64, first: npt.NDArray[np.bool_]) -> Float64:
    """Where each bin starts, whose first values are marked: about halfway from the value before.

    So that a number means the same however a source rounds it: .9 as float32 is below .9. Values
    are often on a grid, where the middle may be one; so that rounding does not decide about it,
    bins start a little below.
    """
    found = levels[first].astype(np.float64)
    if np.isin(levels, (0.0, 1.0)).all():  # truth values, which other sources write as such
        return found
    at = np.flatnonzero(first)[1:]
    before = levels[at - 1].astype(np.float64)
    middle = (1 - BETWEEN) * before + BETWEEN * found[1:]
    found[1:] = np.where((middle > before) & (middle < found[1:]), middle, found[1:])
    return found


def _common(weights: Float64, most: int) -> Int64:
    """The bin of each level, -1 for rare ones, which share one."""
    common = weights >= RARE
    if common.sum() >= most:
        common &= _frequent(weights, most) < most - 1
    return np.where(common, np.cumsum(common) - 1, -1)


def _frequent(weights: Float64, most: int) -> Int64:
    """The bin of each level: one for each of the most frequent, the others share the last."""
    if len(weights) <= most:
        return np.arange(len(weights))
    bins = np.full(len(weights), most - 1)
    bins[np.sort(np.argsort(-weights, kind="stable")[: most - 1])] = np.arange(most - 1)
    return bins


def columns_of(
    codes: npt.NDArray[Any], levels: list[Levels], weights: Float64, worded: Container[int],
    categorical: Container[int] = (),
) -> list[Column]:  # fmt: skip
    """The bins of each column of rows (R, d) that weigh so much; the words of some columns tell."""
    return [
        Column.of(known, _weight_of(own, len(known), weights), j in worded, j in categorical)
        for j, (own, known) in enumerate(zip(codes.T, levels, strict=True))
    ]


def _weight_of(codes: npt.NDArray[Any], levels: int, weights: Float64) -> Float64:
    """What each of so many levels weighs."""
    return np.bincount(codes, weights=weights, minlength=levels + 1)[:-1].astype(np.float64)
