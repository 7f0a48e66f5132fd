"""Training rows as a model sees them: without names, units, or the order of anything.

A row is known by the ranks of its numbers and the frequencies of its categories, a column by how
its values are distributed over the rows, a class by its rows. In the order of hashes of these, what
means nothing changes nothing: a constant column, another unit or name, another order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from naively.evidence.prose import are_prose
from naively.exact import Float64, Int64
from naively.hashing import GOLDEN, UInt64, mixed
from naively.pooling.bins import RARE, as_numbers
from naively.pooling.dates import as_dates
from naively.pooling.duplicates import duplicated, once, unit
from naively.statistics.levels import Levels
from naively.statistics.row_encoding import Codes, distinct, texts
from naively.statistics.sample import SampleStatistics

STEP = np.uint64(GOLDEN)
HEAVIEST = 1e9
"""What a row weighs at most: all are scaled to that."""


@dataclass(frozen=True)
class Canonical:
    """The columns that vary, rows and classes, each in canonical order.

    Attributes
    ----------
    codes : (R, d) int32, the distinct rows, as places in the levels of each column.
    levels : list of d sorted arrays of numbers or text.
    count : (C, R) the weight of each row by class, units and duplicates taken out.
    single : (C, R) whether that is no number of rows, but says how much one row matters.
    class_weight : (C,) of the rows, as they were given.
    columns, classes : (d,) and (C,) which of the table these are.
    duplicates : weight of the rows that were taken out, as they repeat others.
    """

    codes: npt.NDArray[np.int32]
    levels: list[Levels]
    count: Float64
    single: npt.NDArray[np.bool_]
    class_weight: Float64
    columns: Int64
    classes: Int64
    duplicates: float

    @classmethod
    def of(
        cls, statistics: SampleStatistics, text: frozenset[int] = frozenset(),
        categorical: frozenset[int] = frozenset(),
    ) -> Self:  # fmt: skip
        """Of the rows of a sample, whose columns are texts, or declared to be categorical."""
        rows = _Rows(
            statistics.codes, statistics.levels, statistics.estimated(),
            np.zeros(statistics.tables["count"].shape, bool), np.arange(len(statistics.levels)),
            categorical,
        ).varied(text)  # fmt: skip
        given = rows.count.sum(axis=1)
        units = np.array([unit(own[own > 0]) for own in rows.count])
        rows = replace(rows, count=_scaled(rows.count / units[:, np.newaxis]))
        copied = rows.copied()
        repeats = float((units * np.where(copied, rows.count - 1, 0).sum(axis=1)).sum())
        often = (units > 1) & (units == np.round(units))
        repeats += float(given[often] @ (1 - 1 / units[often]))
        if copied.any():  # a duplicate makes no category frequent
            rows = replace(rows, count=once(rows.count, copied), single=copied).varied(text)
        values = rows.values()
        keys, of_columns = _keys(rows.codes, values)
        # those of most values first: where not all that could be looked at is, these matter more
        column_order = np.lexsort([of_columns, -np.array([*map(len, rows.levels)], np.int64)])
        of_classes = _class_keys(rows.count, keys)
        class_order = np.lexsort([of_classes, -rows.count.sum(axis=1)])
        row_order = _order(keys, rows.count[class_order])
        return cls(
            np.asfortranarray(rows.codes[row_order][:, column_order]),
            [rows.levels[j] for j in column_order],
            np.ascontiguousarray(rows.count[class_order][:, row_order]),
            rows.single[class_order][:, row_order],
            given[class_order],
            rows.columns[column_order],
            class_order,
            repeats,
        )


@dataclass(frozen=True)
class _Rows:
    """Different rows, in an order of chance.

    Attributes
    ----------
    codes, levels, count, single : (R, d), d arrays, (C, R) and (C, R), as `Canonical` has them.
    columns : (d,) which of the table.
    categorical : which of these hold categories, even if they look like dates.
    """

    codes: npt.NDArray[np.int32]
    levels: list[Levels]
    count: Float64
    single: npt.NDArray[np.bool_]
    columns: Int64
    categorical: frozenset[int]

    def varied(self, text: frozenset[int]) -> Self:
        """Without columns of one value, and names that each belong to one row."""
        total = self.count.sum(axis=0)
        kept = np.array([
            self._tells(j, total, int(column) in text) for j, column in enumerate(self.columns)
        ], bool)  # fmt: skip
        if kept.all():
            return self
        codes, count, single = self.codes[:, kept], self.count, self.single
        levels = [known for known, own in zip(self.levels, kept, strict=True) if own]
        if (self.codes[:, ~kept] != self.codes[:1, ~kept]).any():
            # rows that differ in names alone are equal
            first, kind = distinct(codes, [len(known) + 1 for known in levels])
            codes = codes[first]
            count = np.array([np.bincount(kind, own, len(first)) for own in count])
            single = np.array([np.bincount(kind, own, len(first)) > 0 for own in single])
        return replace(
            self, codes=codes, levels=levels, count=count, single=single, columns=self.columns[kept]
        )

    def _tells(self, j: int, total: Float64, named: bool) -> bool:
        """Whether a column tells rows, of these weights, apart."""
        own, known = self.codes[:, j], self.levels[j]
        if not len(known) or (own == own[:1]).all():
            return False
        if known.dtype.kind != "T" or named or self._dates(j) is not None:
            return True
        weight = np.bincount(own, total, len(known) + 1).astype(np.float64)
        # a missing value is a category
        return bool((weight >= RARE).any()) or weight[-1] > 0 or are_prose(known, weight[:-1])

    def _dates(self, j: int) -> Float64 | None:
        """The values of a column as dates, if it holds dates."""
        return None if int(self.columns[j]) in self.categorical else as_dates(self.levels[j])

    def copied(self) -> npt.NDArray[np.bool_]:
        """Which rows are duplicates, by class, (C, R)."""
        found = np.zeros(self.count.shape, bool)
        if (self.count < 2).all():
            return found
        y, row = np.nonzero(self.count > 0)
        dates = map(self._dates, range(len(self.levels)))
        levels = [
            known if own is None else np.unique(own)
            for known, own in zip(self.levels, dates, strict=True)
        ]
        found[y, row] = duplicated(self.codes, levels, y, row, self.count[y, row], len(self.count))
        return found

    def values(self) -> list[_Values]:
        """What the values of each column are called."""
        total = self.count.sum(axis=0)
        each = zip(
            self.codes.T, self.levels, map(self._dates, range(len(self.levels))), strict=True
        )
        return [_values(own, known, dates, total) for own, known, dates in each]


def _scaled(count: Float64) -> Float64:
    """The weights (C, R) of rows, neither all too large nor all too small."""
    heaviest = count.max(initial=0.0)
    count *= min(1.0, HEAVIEST / max(heaviest, 1.0))
    if 0.0 < heaviest < 1.0:  # such weights say how much rows matter beside others
        count /= heaviest
        count *= count.sum() / (count**2).sum()
    return count


@dataclass(frozen=True)
class _Values:
    """What the values of a column are called.

    Attributes
    ----------
    names : (levels + 1,) a number for each, the same for those that only their names tell apart.
    salt : a hash of how often each is there.
    tied : whether several share a number, which the other columns may tell apart.
    """

    names: UInt64
    salt: np.uint64
    tied: bool


def _values(
    codes: npt.NDArray[np.integer], levels: Levels, dates: Float64 | None, total: Float64
) -> _Values:
    """Numbers and dates by their rank, categories by how often they are there."""
    often = np.bincount(codes, total, len(levels) + 1)
    if levels.dtype.kind != "T":
        names = np.arange(len(levels) + 1, dtype=np.uint64)
        ordered = often
    elif dates is not None:
        names = np.append(np.unique(dates, return_inverse=True)[1], len(levels)).astype(np.uint64)
        ordered = often
    else:
        names = mixed(often.view(np.uint64) + STEP)
        names[:-1][often[:-1] < RARE] = 0
        ordered = np.append(np.sort(often[:-1]), often[-1])
    names[-1] = np.uint64(0xFFFFFFFF)  # missing
    salt = _total(mixed(ordered.view(np.uint64) + np.arange(len(ordered), dtype=np.uint64) * STEP))
    tied = levels.dtype.kind == "T" and len(np.unique(names)) < len(names)
    return _Values(names, salt, tied)


def _keys(codes: npt.NDArray[np.integer], values: list[_Values]) -> tuple[UInt64, UInt64]:
    """(a key of each row, of each column): what ties is told apart by the rows that it is in."""
    salts = np.array([own.salt for own in values], np.uint64)
    rows = _row_keys(codes, [own.names for own in values], salts)
    if not any(own.tied for own in values) and len(np.unique(salts)) == len(salts):
        return rows, salts
    names, keys = [], salts.copy()
    for j, (own, column) in enumerate(zip(values, codes.T, strict=True)):
        each = own.names
        if own.tied:
            sums = np.zeros(len(each), np.uint64)
            np.add.at(sums, column, mixed(rows))
            each = np.where(each == 0, each, mixed(each ^ sums))
        names.append(each)
        keys[j : j + 1] += _total(mixed(rows ^ mixed(each[column] + STEP)))
    return _row_keys(codes, names, keys), keys


def _row_keys(
    codes: npt.NDArray[np.integer], names: list[UInt64], salts: UInt64
) -> UInt64:  # fmt: skip
    """A key of each row, by what its values are called, whatever the order of columns."""
    found = np.zeros(len(codes), np.uint64)
    for own, column, salt in zip(names, codes.T, salts, strict=True):
        found += mixed(own * STEP + salt)[column]
    return mixed(found + STEP)


def _order(keys: UInt64, count: Float64) -> Int64:
    """The order of rows by their keys; of those that rare names alone tell apart, by classes."""
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    tied = np.append(same, False) | np.append(False, same)
    few = order[tied]
    order[tied] = few[np.lexsort([*count[::-1, few], keys[few]])]
    return order


def _class_keys(count: Float64, rows: UInt64) -> UInt64:
    """A key of each class, (C,): by its rows and what they weigh."""
    return np.array(
        [_total(mixed(rows ^ mixed(own.view(np.uint64) + STEP))) for own in count], np.uint64
    )


def _total(keys: UInt64) -> np.uint64:
    """The sum modulo 2^64."""
    return np.uint64(keys.sum(dtype=np.uint64))


# ---- declared types ------------------------------------------------------------------------------


def as_declared(statistics: SampleStatistics, types: Mapping[int, str]) -> SampleStatistics:
    """The rows with the values of declared columns as text if categorical, else as numbers.

    Statistics themselves keep values as they would be without a declaration, so that models of
    declared and of undeclared sources add up. What is no number in a numeric column is missing.
    """
    levels, codes = [*statistics.levels], np.array(statistics.codes, order="F")
    for j, kind in types.items():
        if (levels[j].dtype.kind == "T") == (kind == "numeric") and len(levels[j]):
            written = texts(levels[j]) if kind == "categorical" else as_numbers(levels[j])
            levels[j], codes[:, j] = _recoded(written, codes[:, j])
    if all(one is known for one, known in zip(levels, statistics.levels, strict=True)):
        return statistics
    found = replace(statistics, rows=replace(statistics.rows, levels=levels, codes=codes))
    if "numeric" in types.values():  # rows that differed in what is missing now become one
        found = found.gather_columns(slice(None))
    return found


def _recoded(levels: Levels, codes: Codes) -> tuple[Levels, Codes]:
    """(sorted levels without NaN, the codes of rows among them)."""
    known, place = np.unique(levels, return_inverse=True)
    if known.dtype.kind == "f":
        known = known[~np.isnan(known)]
    return known, np.append(np.minimum(place, len(known)), len(known))[codes].astype(np.int32)
