"""Put training rows into canonical order.

The order of rows, columns and classes comes from hashes of ranks of numbers, of frequencies of
categories, of how values are distributed over the rows, and of the rows of a class. So a model does
not depend on what means nothing: constant columns, names, units, or any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.hashing import GOLDEN, UInt64, mixed
from naively.pooling.bins import RARE, as_numbers
from naively.pooling.dates import as_dates
from naively.pooling.duplicates import duplicated, once, unit
from naively.pooling.texts.prose import are_prose
from naively.statistics.levels import Levels
from naively.statistics.rows import Codes, distinct, texts
from naively.statistics.sample import SampleStatistics

STEP = np.uint64(GOLDEN)
HEAVIEST = 1e9  # weight of a row, at most: heavier weights are scaled down together


@dataclass(frozen=True)
class Canonical:
    """The columns that vary, the rows and the classes, each in canonical order."""

    # (R, d) int32, the distinct rows, as indices into the values of each column
    codes: npt.NDArray[np.int32]
    # list of d sorted arrays of numbers or text, the distinct values of each column
    levels: list[Levels]
    count: Float64  # (C, R) the weight of each row by class, without units and duplicates
    # (C, R) whether that is the importance of one row, not a number of rows
    single: npt.NDArray[np.bool_]
    class_weight: Float64  # (C,) of the rows before that
    # columns, classes: (d,) and (C,) their positions in the table
    columns: Int64
    classes: Int64
    duplicates: float  # weight of the duplicate rows that were removed

    @classmethod
    def of(
        cls, statistics: SampleStatistics, text: frozenset[int] = frozenset(),
        categorical: frozenset[int] = frozenset(),
    ) -> Self:  # fmt: skip
        """Order the rows of a sample; columns in `text` and `categorical` are declared so."""
        rows = _Rows(  # a row of a sample is one row, though it represents several
            statistics.codes, statistics.levels, statistics.estimated() / statistics.least,
            np.zeros(statistics.tables["count"].shape, bool), np.arange(len(statistics.levels)),
            categorical,
        ).varied(text)  # fmt: skip
        class_weight = rows.count.sum(axis=1) * statistics.least
        units = np.array([unit(counts[counts > 0]) for counts in rows.count])
        rows = replace(rows, count=_scaled(rows.count / units[:, np.newaxis]))
        is_duplicate = rows.copied()
        repeated = np.where(is_duplicate, rows.count - 1, 0).sum(axis=1)
        repeats = statistics.least * float(units @ repeated)
        has_unit = (units > 1) & (units == np.round(units))
        repeats += float(class_weight[has_unit] @ (1 - 1 / units[has_unit]))
        # count frequencies again: duplicates must not make a category frequent
        if is_duplicate.any():
            rows = replace(rows, count=once(rows.count, is_duplicate), single=is_duplicate)
            rows = rows.varied(text)
        values = rows.values()
        keys, of_columns = _keys(rows.codes, values)
        # columns with most values first: where only some columns can be examined, these matter more
        column_order = np.lexsort([of_columns, -np.array([*map(len, rows.levels)], np.int64)])
        of_classes = _class_keys(rows.count, keys)
        class_order = np.lexsort([of_classes, -rows.count.sum(axis=1)])
        row_order = _order(keys, rows.count[class_order])
        codes = np.asfortranarray(rows.codes[row_order][:, column_order])
        levels = [rows.levels[j] for j in column_order]
        count = np.ascontiguousarray(rows.count[class_order][:, row_order])
        return cls(
            codes, levels, count, rows.single[class_order][:, row_order], class_weight[class_order],
            rows.columns[column_order], class_order, repeats,
        )  # fmt: skip


@dataclass(frozen=True)
class _Rows:
    """Distinct rows in arbitrary order."""

    # codes, levels, count, single: (R, d), d arrays, (C, R) and (C, R), as in `Canonical`
    codes: npt.NDArray[np.int32]
    levels: list[Levels]
    count: Float64
    single: npt.NDArray[np.bool_]
    columns: Int64  # (d,) positions in the table
    categorical: frozenset[int]  # the columns that hold categories even if they look like dates

    def varied(self, text: frozenset[int]) -> Self:
        """Drop columns with one value and columns of names that each belong to one row."""
        total = self.count.sum(axis=0)
        keep = np.array([
            self._separates(j, total, int(column) in text) for j, column in enumerate(self.columns)
        ], bool)  # fmt: skip
        if keep.all():
            return self
        codes, count, single = self.codes[:, keep], self.count, self.single
        levels = [values for values, is_kept in zip(self.levels, keep, strict=True) if is_kept]
        if (self.codes[:, ~keep] != self.codes[:1, ~keep]).any():
            # rows that differ in dropped columns alone are equal
            first, group = distinct(codes, [len(values) + 1 for values in levels])
            codes = codes[first]
            count = np.array([np.bincount(group, weights, len(first)) for weights in count])
            single = np.array([np.bincount(group, flags, len(first)) > 0 for flags in single])
        columns = self.columns[keep]
        return replace(
            self, codes=codes, levels=levels, count=count, single=single, columns=columns
        )

    def _separates(self, j: int, total: Float64, named: bool) -> bool:
        """Whether a column separates rows with these weights."""
        codes, levels = self.codes[:, j], self.levels[j]
        if not len(levels) or (codes == codes[:1]).all():
            return False
        if levels.dtype.kind != "T" or named or self._dates(j) is not None:
            return True
        weight = np.bincount(codes, total, len(levels) + 1).astype(np.float64)
        # a missing value is a category
        return bool((weight >= RARE).any()) or weight[-1] > 0 or are_prose(levels, weight[:-1])

    def _dates(self, j: int) -> Float64 | None:
        """The values of a column as dates, or None if it holds none."""
        return None if int(self.columns[j]) in self.categorical else as_dates(self.levels[j])

    def copied(self) -> npt.NDArray[np.bool_]:
        """Which rows are duplicates, by class, (C, R)."""
        is_duplicate = np.zeros(self.count.shape, bool)
        if (self.count < 2).all():
            return is_duplicate
        # in an order without names: of many rows the first ones are examined
        order = np.argsort(_keys(self.codes, self.values())[0], kind="stable")
        count = self.count[:, order]
        y, row = np.nonzero(count > 0)
        dates = zip(self.levels, map(self._dates, range(len(self.levels))), strict=True)
        levels = [values if seconds is None else np.unique(seconds) for values, seconds in dates]
        codes, weight = self.codes[order], count[y, row]
        is_duplicate[y, order[row]] = duplicated(codes, levels, y, row, weight, len(count))
        return is_duplicate

    def values(self) -> list[_Values]:
        """Canonical names of the values of each column."""
        total = self.count.sum(axis=0)
        dates = map(self._dates, range(len(self.levels)))
        columns = zip(self.codes.T, self.levels, dates, strict=True)
        return [_values(*column, total) for column in columns]


def _scaled(count: Float64) -> Float64:
    """Scale weights (C, R) to a common range."""
    max_weight = count.max(initial=0.0)
    count *= min(1.0, HEAVIEST / max(max_weight, 1.0))
    if 0.0 < max_weight < 1.0:  # relative importance of rows: scale to the effective number (Kish)
        count /= max_weight
        count *= count.sum() / (count**2).sum()
    return count


@dataclass(frozen=True)
class _Values:
    """Canonical names of the values of a column."""

    names: UInt64  # (levels + 1,) a number for each; equal if only the text of categories differs
    salt: np.uint64  # a hash of the frequencies of the values
    tied: bool  # whether several values share a number, so that other columns have to separate them


def _values(
    codes: npt.NDArray[np.integer], levels: Levels, dates: Float64 | None, total: Float64
) -> _Values:
    """Name numbers and dates by rank, and categories by frequency."""
    frequency = np.bincount(codes, total, len(levels) + 1)
    if levels.dtype.kind != "T":
        names = np.arange(len(levels) + 1, dtype=np.uint64)
        salt_counts = frequency
    elif dates is not None:
        names = np.append(np.unique(dates, return_inverse=True)[1], len(levels)).astype(np.uint64)
        salt_counts = frequency
    else:
        names = mixed(frequency.view(np.uint64) + STEP)
        names[:-1][frequency[:-1] < RARE] = 0
        salt_counts = np.append(np.sort(frequency[:-1]), frequency[-1])
    names[-1] = np.uint64(0xFFFFFFFF)  # missing
    steps = np.arange(len(salt_counts), dtype=np.uint64) * STEP
    salt = _total(mixed(salt_counts.view(np.uint64) + steps))
    tied = levels.dtype.kind == "T" and len(np.unique(names)) < len(names)
    return _Values(names, salt, tied)


def _keys(codes: npt.NDArray[np.integer], values: list[_Values]) -> tuple[UInt64, UInt64]:
    """A key of each row and of each column; ties are separated by the rows that contain them."""
    salts = np.array([canonical.salt for canonical in values], np.uint64)
    rows = _row_keys(codes, [canonical.names for canonical in values], salts)
    if not any(canonical.tied for canonical in values) and len(np.unique(salts)) == len(salts):
        return rows, salts
    names, keys = [], salts.copy()
    for j, (canonical, column) in enumerate(zip(values, codes.T, strict=True)):
        value_names = canonical.names
        if canonical.tied:
            sums = np.zeros(len(value_names), np.uint64)
            np.add.at(sums, column, mixed(rows))
            value_names = np.where(value_names == 0, value_names, mixed(value_names ^ sums))
        names.append(value_names)
        keys[j : j + 1] += _total(mixed(rows ^ mixed(value_names[column] + STEP)))
    return _row_keys(codes, names, keys), keys


def _row_keys(codes: npt.NDArray[np.integer], names: list[UInt64], salts: UInt64) -> UInt64:
    """A key of each row from the names of its values, in any order of columns."""
    keys = np.zeros(len(codes), np.uint64)
    for value_names, column, salt in zip(names, codes.T, salts, strict=True):
        keys += mixed(value_names * STEP + salt)[column]
    return mixed(keys + STEP)


def _order(keys: UInt64, count: Float64) -> Int64:
    """The order of rows by their keys; rows that only rare names separate are ordered by class."""
    order = np.argsort(keys, kind="stable")
    equal_keys = keys[order[1:]] == keys[order[:-1]]
    tied = np.append(equal_keys, False) | np.append(False, equal_keys)
    tied_rows = order[tied]
    order[tied] = tied_rows[np.lexsort([*count[::-1, tied_rows], keys[tied_rows]])]
    return order


def _class_keys(count: Float64, rows: UInt64) -> UInt64:
    """A key of each class, (C,), from its rows and their weights."""
    keys = [_total(mixed(rows ^ mixed(weights.view(np.uint64) + STEP))) for weights in count]
    return np.array(keys, np.uint64)


def _total(keys: UInt64) -> np.uint64:
    """The sum modulo 2^64."""
    return np.uint64(keys.sum(dtype=np.uint64))


# ---- declared types ------------------------------------------------------------------------------


def as_declared(statistics: SampleStatistics, types: Mapping[int, str]) -> SampleStatistics:
    """Read declared columns as text if categorical, else as numbers.

    Statistics hold values as they are without declarations, so that models of declared and
    undeclared sources add up. Values of a numeric column that are not numbers become missing.
    """
    levels, codes = [*statistics.levels], np.array(statistics.codes, order="F")
    for j, kind in types.items():
        if (levels[j].dtype.kind == "T") == (kind == "numeric") and len(levels[j]):
            values = texts(levels[j]) if kind == "categorical" else as_numbers(levels[j])
            levels[j], codes[:, j] = _recoded(values, codes[:, j])
    if all(new is old for new, old in zip(levels, statistics.levels, strict=True)):
        return statistics
    declared = replace(statistics, rows=replace(statistics.rows, levels=levels, codes=codes))
    if "numeric" in types.values():  # rows may be equal now that invalid values are missing
        declared = declared.gather_columns(slice(None))
    return declared


def _recoded(levels: Levels, codes: Codes) -> tuple[Levels, Codes]:
    """Sort values, drop NaN, and recode rows accordingly."""
    values, index = np.unique(levels, return_inverse=True)
    if values.dtype.kind == "f":
        values = values[~np.isnan(values)]
    return values, np.append(np.minimum(index, len(values)), len(values))[codes].astype(np.int32)
