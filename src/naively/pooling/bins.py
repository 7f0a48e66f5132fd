"""Cut columns into bins: numbers and dates by equal frequency, each category alone."""

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
"""Ways to cut columns: alone; in pairs, in triples and in fours, finer and finer."""
NUMBERS = (64, 8, 16, 32, 5, 10, 20)
LEVELS = (65_000, 16, 32, 64, 10, 20, 40)
"""Bins of numbers and of categories, at most, for each way to cut; missing values have another."""

BETWEEN = 31 / 64
"""Position between two neighbouring values at which a bin starts, as a share of their distance."""
LOOKS = re.compile(ANY)
RARE = 2.0  # rows of a category, at least; rarer categories share a bin


@dataclass(frozen=True)
class Column:
    """The bins of a column."""

    # sorted array with an entry for each bin: the category in it or, of numbers, where the bin
    # starts, which is between two training values; dates and times are in seconds. Categories have
    # another bin, the last but one, for rare and unseen ones
    levels: Levels
    # for each way to cut, the bin of each fine bin, that of missing values last
    coarser: tuple[Int64, ...]
    dated: bool = False  # whether the numbers are dates or times

    @classmethod
    def of(
        cls, levels: Levels, weights: Float64, worded: bool = False, categorical: bool = False
    ) -> Column:
        """Cut a column with these distinct values and their weights.

        If its words are evidence (`worded`), all texts share one bin, as the text itself is no
        further evidence. Values of a column declared `categorical` are not read as dates.
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
        # rare categories (-1, so missing - 1 after %) share the bin before that of missing values
        of_bins = np.bincount(fine % missing, weights, missing).astype(np.float64)
        coarser = [np.arange(missing + 1)]
        for size in sizes[1:]:
            bins = cut(of_bins, size)
            coarser.append(np.append(bins, bins.max(initial=-1) + 1))
        return cls(levels, tuple(coarser), dated)

    @property
    def is_number(self) -> bool:
        """Whether the column holds numbers or dates."""
        return self.levels.dtype.kind != "T"

    def size(self, way: int) -> int:
        """The number of bins, including that of missing values."""
        return int(self.coarser[way][-1]) + 1

    def bins(self, levels: Levels) -> Int64:
        """The fine bin of each value, which may be unseen; at the end that of missing values."""
        missing = self.size(FINE) - 1
        bins = np.full(len(levels) + 1, missing, np.int64)
        if not self.is_number:
            indices, is_known = find(self.levels, spelled_as(self.levels, texts(levels)))
            bins[:-1] = np.where(is_known, indices, missing - 1)
        elif len(self.levels):
            if levels.dtype.kind == "T" and not self.dated:
                levels = spelled_as(texts(self.levels), levels)
            numbers = seconds(levels) if self.dated else as_numbers(levels)
            indices = np.searchsorted(self.levels, numbers, side="right") - 1
            bins[:-1] = np.where(np.isnan(numbers), missing, np.maximum(indices, 0))
        return bins


@dataclass(frozen=True)
class Coded:
    """The bins of rows for one way to cut."""

    codes: Bins  # (d, n) the bin of each row
    sizes: Int64  # (d,) number of bins of each column

    def cells(self, columns: Sequence[int], rows: npt.NDArray[np.intp] | None = None) -> Cells:
        """The cell of each row, or of the given rows, in the table of these columns."""
        return kernel.cells_of(self.codes, self.sizes, columns, rows)

    def size(self, columns: Sequence[int]) -> int:
        """The number of cells in the table of these columns."""
        return math.prod([self._sizes[j] for j in columns])

    @cached_property
    def _sizes(self) -> list[int]:
        """The sizes as Python integers."""
        return self.sizes.tolist()


@dataclass(frozen=True)
class Lookup:
    """The bin of each distinct value of each column for one way to cut."""

    bins: list[Bins]  # list of d arrays, the bin of missing values last
    sizes: Int64  # (d,) number of bins of each column

    @classmethod
    def of(cls, columns: list[Column], bins: list[Int64], way: int) -> Lookup:
        """Derive the bins from the fine bins of the values."""
        pairs = zip(columns, bins, strict=True)
        sizes = np.array([column.size(way) for column in columns], np.int64)
        return cls([column.coarser[way][fine].astype(np.uint16) for column, fine in pairs], sizes)

    def bins_with_values(self) -> list[int]:
        """The number of bins of each column that contain a value."""
        return [int(np.count_nonzero(np.bincount(bins[:-1]))) for bins in self.bins]

    def coded(self, codes: npt.NDArray[Any]) -> Coded:
        """The bins of rows (n, d), which are given as indices into the distinct values."""
        row_bins = np.empty((len(self.bins), len(codes)), np.uint16)
        for out, bins, column in zip(row_bins, self.bins, codes.T, strict=True):
            out[:] = bins[column]
        return Coded(row_bins, self.sizes)


def fine_bins(levels: Levels) -> int:
    """The number of fine bins of a column with these `Column.levels`, missing values included."""
    return max(1, len(levels) + (levels.dtype.kind == "T")) + 1


def as_numbers(levels: Levels) -> Float64:
    """Values as numbers; NaN where they are not numbers."""
    if levels.dtype.kind != "T":
        return levels.astype(np.float64)
    return np.array([_number(level) for level in levels.tolist()], np.float64)


def _number(text: str) -> float:
    number = float(text) if LOOKS.fullmatch(text) else math.nan
    return number if math.isfinite(number) else math.nan


def _equal(weights: Float64, most: int) -> Int64:
    """Assign sorted values to bins of about equal weight; return the bin of each value."""
    if len(weights) <= most:
        return np.arange(len(weights))
    bins = np.empty(len(weights), np.int64)
    kernel.equal_bins(weights, most, bins)
    return bins


def _starts(levels: Float64, first: npt.NDArray[np.bool_]) -> Float64:
    """Where each bin starts: just below the middle between two values.

    Cutting between values keeps a number in its bin however a source rounds it: .9 as float32 is
    below .9. Values are often on a grid whose points include the middle; starting a little below
    it keeps rounding from deciding the bin. `first` marks the first value of each bin.
    """
    starts = levels[first].astype(np.float64)
    if np.isin(levels, (0.0, 1.0)).all():  # truth values, which other sources write as such
        return starts
    indices = np.flatnonzero(first)[1:]
    below = levels[indices - 1].astype(np.float64)
    middle = (1 - BETWEEN) * below + BETWEEN * starts[1:]
    starts[1:] = np.where((middle > below) & (middle < starts[1:]), middle, starts[1:])
    return starts


def _common(weights: Float64, most: int) -> Int64:
    """The bin of each category; -1 for rare ones, which share a bin."""
    common = weights >= RARE
    if common.sum() >= most:
        common &= _frequent(weights, most) < most - 1
    return np.where(common, np.cumsum(common) - 1, -1)


def _frequent(weights: Float64, most: int) -> Int64:
    """The bin of each category: the most frequent have one each, the others share the last."""
    if len(weights) <= most:
        return np.arange(len(weights))
    bins = np.full(len(weights), most - 1)
    bins[np.sort(np.argsort(-weights, kind="stable")[: most - 1])] = np.arange(most - 1)
    return bins


def columns_of(
    codes: npt.NDArray[Any], levels: list[Levels], weights: Float64, worded: Container[int],
    categorical: Container[int] = (),
) -> list[Column]:  # fmt: skip
    """Cut each column of weighted rows (R, d); the words of columns in `worded` are evidence."""
    columns = []
    for j, (column_codes, values) in enumerate(zip(codes.T, levels, strict=True)):
        of_values = np.bincount(column_codes, weights, len(values) + 1)[:-1].astype(np.float64)
        columns.append(Column.of(values, of_values, j in worded, j in categorical))
    return columns
