"""Put training rows into canonical order, and detect duplicates and the unit of weights.

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
from naively.pooling.texts.prose import are_prose
from naively.statistics.levels import Levels
from naively.statistics.rows import Codes, distinct, texts
from naively.statistics.sample import SampleStatistics

STEP = np.uint64(GOLDEN)
HEAVIEST = 1e9
"""Weight of a row, at most: heavier weights are scaled down together."""


@dataclass(frozen=True)
class Canonical:
    """The columns that vary, the rows and the classes, each in canonical order.

    Attributes
    ----------
    codes : (R, d) int32, the distinct rows, as indices into the values of each column.
    levels : list of d sorted arrays of numbers or text, the distinct values of each column.
    count : (C, R) the weight of each row by class, without units and duplicates.
    single : (C, R) whether that is the importance of one row, not a number of rows.
    class_weight : (C,) of the rows before that.
    columns, classes : (d,) and (C,) their positions in the table.
    duplicates : weight of the duplicate rows that were removed.
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
        """Order the rows of a sample; columns in `text` and `categorical` are declared so."""
        rows = _Rows(
            statistics.codes, statistics.levels, statistics.estimated(),
            np.zeros(statistics.tables["count"].shape, bool), np.arange(len(statistics.levels)),
            categorical,
        ).varied(text)  # fmt: skip
        class_weight = rows.count.sum(axis=1)
        units = np.array([unit(counts[counts > 0]) for counts in rows.count])
        rows = replace(rows, count=_scaled(rows.count / units[:, np.newaxis]))
        is_duplicate = rows.copied()
        repeats = float((units * np.where(is_duplicate, rows.count - 1, 0).sum(axis=1)).sum())
        has_unit = (units > 1) & (units == np.round(units))
        repeats += float(class_weight[has_unit] @ (1 - 1 / units[has_unit]))
        # count frequencies again: duplicates must not make a category frequent
        if is_duplicate.any():
            rows = replace(rows, count=once(rows.count, is_duplicate), single=is_duplicate).varied(
                text
            )
        values = rows.values()
        keys, of_columns = _keys(rows.codes, values)
        # columns with most values first: where only some columns can be examined, these matter more
        column_order = np.lexsort([of_columns, -np.array([*map(len, rows.levels)], np.int64)])
        of_classes = _class_keys(rows.count, keys)
        class_order = np.lexsort([of_classes, -rows.count.sum(axis=1)])
        row_order = _order(keys, rows.count[class_order])
        return cls(
            np.asfortranarray(rows.codes[row_order][:, column_order]),
            [rows.levels[j] for j in column_order],
            np.ascontiguousarray(rows.count[class_order][:, row_order]),
            rows.single[class_order][:, row_order],
            class_weight[class_order],
            rows.columns[column_order],
            class_order,
            repeats,
        )


@dataclass(frozen=True)
class _Rows:
    """Distinct rows in arbitrary order.

    Attributes
    ----------
    codes, levels, count, single : (R, d), d arrays, (C, R) and (C, R), as in `Canonical`.
    columns : (d,) positions in the table.
    categorical : the columns that hold categories even if they look like dates.
    """

    codes: npt.NDArray[np.int32]
    levels: list[Levels]
    count: Float64
    single: npt.NDArray[np.bool_]
    columns: Int64
    categorical: frozenset[int]

    def varied(self, text: frozenset[int]) -> Self:
        """Drop columns with one value and columns of names that each belong to one row."""
        total = self.count.sum(axis=0)
        keep = np.array([
            self._tells(j, total, int(column) in text) for j, column in enumerate(self.columns)
        ], bool)  # fmt: skip
        if keep.all():
            return self
        codes, count, single = self.codes[:, keep], self.count, self.single
        levels = [values for values, own in zip(self.levels, keep, strict=True) if own]
        if (self.codes[:, ~keep] != self.codes[:1, ~keep]).any():
            # rows that differ in dropped columns alone are equal
            first, group = distinct(codes, [len(values) + 1 for values in levels])
            codes = codes[first]
            count = np.array([np.bincount(group, own, len(first)) for own in count])
            single = np.array([np.bincount(group, own, len(first)) > 0 for own in single])
        return replace(
            self, codes=codes, levels=levels, count=count, single=single, columns=self.columns[keep]
        )

    def _tells(self, j: int, total: Float64, named: bool) -> bool:
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
        y, row = np.nonzero(self.count > 0)
        dates = map(self._dates, range(len(self.levels)))
        levels = [
            values if seconds is None else np.unique(seconds)
            for values, seconds in zip(self.levels, dates, strict=True)
        ]
        is_duplicate[y, row] = duplicated(
            self.codes, levels, y, row, self.count[y, row], len(self.count)
        )
        return is_duplicate

    def values(self) -> list[_Values]:
        """Canonical names of the values of each column."""
        total = self.count.sum(axis=0)
        columns = zip(
            self.codes.T, self.levels, map(self._dates, range(len(self.levels))), strict=True
        )
        return [_values(codes, levels, dates, total) for codes, levels, dates in columns]


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
    """Canonical names of the values of a column.

    Attributes
    ----------
    names : (levels + 1,) a number for each; equal if only the text of categories differs.
    salt : a hash of the frequencies of the values.
    tied : whether several values share a number, so that other columns have to separate them.
    """

    names: UInt64
    salt: np.uint64
    tied: bool


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
    salt = _total(
        mixed(salt_counts.view(np.uint64) + np.arange(len(salt_counts), dtype=np.uint64) * STEP)
    )
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


def _row_keys(
    codes: npt.NDArray[np.integer], names: list[UInt64], salts: UInt64
) -> UInt64:  # fmt: skip
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
    return np.array(
        [_total(mixed(rows ^ mixed(weights.view(np.uint64) + STEP))) for weights in count],
        np.uint64,
    )


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


# ---- duplicates ----------------------------------------------------------------------------------


MOST = 1e6
"""Largest weight, as a multiple of the least, for weights to be multiples of a unit."""
KINDS = 10
"""Distinct rows, at least: the weights of ten are rarely multiples of one number by chance."""
USUAL = 0.9
"""Share of distinct rows that must have the least weight for it to be the unit, unless it is above
1."""
DEVIATIONS = 3.0
"""Standard errors by which the counts of duplicates are more even than by chance."""
COUNTED = 1e15
"""Weights above this are not numbers of rows."""
DESIGNED = 30
"""Distinct rows of a class, at least, for even counts to be evidence of duplicates: fewer may be
those of a designed experiment."""
ONCE, TWICE, SEVERAL = 1.1, 2.0, 10
"""Rows per distinct row: at most in a class with hardly a repeated row, at least in one that was
oversampled. Distinct rows of the latter, at least."""
FEWEST = 5
"""Repeated rows, at least, for a test."""
SURPRISING, VARIED = 5.0, 20.0
"""Repeated rows are duplicates if they are this many times the expected number and a column has
this many values. If no column has, they must be this many times the expected number, and"""
UNVARIED = ((10.0, 0.2), (50.0, 0.03))
"""this share of all distinct rows."""
SATURATED = 5.0
"""Rows per distinct row, on average, beyond which the distinct rows may be all possible rows."""
RECURRING = 30.0
"""A row this many times as frequent as the median repeated row of its class recurs, and so does one
this frequent with different labels: these are not duplicates."""
SEEN = 100_000
"""Distinct rows that are compared, at most."""


def duplicated(
    codes: npt.NDArray[np.integer], levels: list[Levels], y: Int64, row: Int64, count: Float64,
    n_classes: int,
) -> npt.NDArray[np.bool_]:  # fmt: skip
    """Which entries (a row with a class) are repeated because of duplicates, (n,).

    Parameters
    ----------
    codes : (R, d) the distinct rows, in arbitrary order, as indices into the values.
    levels : list of d sorted arrays of numbers or text, the distinct values of each column.
    y, row : (n,) class and row of each entry.
    count : (n,) its frequency.
    n_classes : C.
    """
    repeated = count >= 2
    if not repeated.any():
        return repeated
    is_even = repeated & even(y, count, n_classes)[y]
    median_count = np.ones(n_classes)
    for c in np.unique(y[repeated]):
        median_count[c] = np.median(count[repeated & (y == c)])
    candidates = repeated & (count < RECURRING * median_count[y])
    # a state that recurs with different labels
    mixed_labels = np.bincount(row[repeated], minlength=len(codes)) > 1
    candidates &= ~(mixed_labels & (np.bincount(row, count, len(codes)) >= RECURRING))[row]
    frequency = np.bincount(row, np.where(candidates | ~repeated, count, 1.0), len(codes)).astype(
        np.float64
    )
    uneven = _Counts.of(y[candidates | ~repeated], count[candidates | ~repeated], n_classes).uneven
    return (
        is_even | candidates if _surprising(codes, levels, frequency, not uneven.any()) else is_even
    )


def _surprising(
    codes: npt.NDArray[np.integer], levels: list[Levels], often: Float64, drawn: bool
) -> bool:
    """Whether repeated rows, with frequencies (R,), are more than coincidences.

    `drawn`: whether frequencies vary no more than if all rows were drawn with equal probability.
    """
    pairs = float((often >= 2).sum())
    if pairs < FEWEST:
        return False
    total, n_distinct = float(often.sum()), len(codes)
    exhausted = total > SATURATED * n_distinct
    expected, values = coincidences(codes[:SEEN], levels, drawn and not exhausted)
    n_sampled = min(n_distinct, SEEN)
    expected *= (n_distinct / n_sampled) ** 2
    if pairs < SURPRISING * expected:
        return False
    if values >= (max(VARIED, n_distinct / SATURATED) if exhausted else VARIED):
        return True
    return not exhausted and any(
        pairs > times * expected and pairs > share * n_distinct for times, share in UNVARIED
    )


def coincidences(
    codes: npt.NDArray[np.integer], levels: list[Levels], named: bool = False
) -> tuple[float, float]:
    """Expected pairs of equal rows if R rows are independent, and values of the most varied column.

    The number of values is the inverse of the share of pairs of rows that agree in the column.
    Names that each belong to one row may be all possible names, and recur: so the other columns
    are also examined alone. If rows are `named`, the names are not all possible ones.
    """
    n = len(codes)
    pairs = max(n * (n - 1) / 2, 1.0)
    observed = np.array([_agreeing(own.astype(np.int64)) / pairs for own in codes.T])
    text = np.array([values.dtype.kind == "T" for values in levels])
    chance = np.array([*map(_by_chance, levels)])
    probabilities = np.maximum(observed, np.where(text & named, 0.0, chance))
    order = np.argsort(probabilities, kind="stable")
    others = order[~(text & (observed * pairs < FEWEST))[order]]
    share = min(
        _equal(codes, levels, own, probabilities, pairs) for own in (order, others) if len(own)
    )
    return pairs * share, 1 / max(float(probabilities.min()), 1e-300)


def _equal(
    codes: npt.NDArray[np.integer], levels: list[Levels], columns: Int64, each: Float64,
    pairs: float,
) -> float:  # fmt: skip
    """The probability that two rows agree in some columns, from one column after the other.

    `each` is the probability for each column, `pairs` the number of all pairs.
    """
    first_column = columns[0]
    key, rows = codes[:, first_column].astype(np.int64), np.arange(len(codes))
    share, n_pairs = max(float(each[first_column]), 1 / (pairs + 1)), _agreeing(key)
    for j in columns[1:]:
        _, groups, sizes = np.unique(key, return_inverse=True, return_counts=True)
        is_repeated = sizes[groups] > 1
        rows, key = rows[is_repeated], groups[is_repeated].astype(np.int64)
        key = key * (len(levels[j]) + 1) + codes[rows, j]
        n_agreeing = _agreeing(key)
        share *= max((n_agreeing + 1) / (n_pairs + 1), float(each[j]))
        n_pairs = n_agreeing
    return share


def _agreeing(keys: Int64) -> float:
    """The number of pairs of equal keys."""
    sizes = np.unique(keys, return_counts=True)[1].astype(np.float64)
    return float((sizes * (sizes - 1) / 2).sum())


def _by_chance(levels: Levels) -> float:
    """The least probability that two rows agree in a column, if each value was in one row.

    For numbers it follows from how densely they fill their grid; names are taken for all possible
    names.
    """
    size = len(levels)
    if size < 3 or levels.dtype.kind == "T":
        return 1 / max(size, 1)
    with np.errstate(over="ignore"):
        gaps = np.diff(levels.astype(np.float64))
        min_gap = float(gaps.min())
        mean_gaps = np.concatenate([gaps[:1], (gaps[1:] + gaps[:-1]) / 2, gaps[-1:]])
        return float((min_gap / mean_gaps).sum()) / (size * size)


@dataclass(frozen=True)
class _Counts:
    """Frequencies of the distinct rows of each class, (C,) each, tested for evenness.

    They are compared with a Poisson distribution truncated to values above 0, by χ² and the
    approximation of Wilson and Hilferty (1931).

    Attributes
    ----------
    rows, mean : number of distinct rows, and their mean frequency.
    even, uneven : whether frequencies vary less, or more, than by chance.
    """

    rows: Int64
    mean: Float64
    even: npt.NDArray[np.bool_]
    uneven: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, y: Int64, count: Float64, n_classes: int) -> Self:
        """Test the frequencies, (n,), of distinct rows of these classes."""
        rows = np.maximum(np.bincount(y, minlength=n_classes), 1)
        mean = np.bincount(y, count, n_classes) / rows
        variance = np.bincount(y, (count - mean[y]) ** 2, n_classes) / np.maximum(rows - 1, 1)
        rate = np.maximum(mean, 1.0)
        for _ in range(50):  # Newton's steps to mean = rate / (1 - exp(-rate))
            slope = np.maximum(1 - mean * np.exp(-rate), 1e-9)
            rate = rate - np.minimum((rate + mean * np.expm1(-rate)) / slope, rate / 2)
        expected_variance = mean * np.maximum(1 + rate - mean, 1e-9)
        error = 2 / (9 * np.maximum(rows - 1, 1))
        lower = np.maximum(1 - error - DEVIATIONS * np.sqrt(error), 0.0) ** 3
        upper = (1 - error + DEVIATIONS * np.sqrt(error)) ** 3
        repeated = mean > 1
        return cls(
            rows,
            mean,
            repeated & (variance < expected_variance * lower),
            repeated & (variance > expected_variance * upper),
        )


def even(y: Int64, count: Float64, n_classes: int) -> npt.NDArray[np.bool_]:
    """Which classes have rows with suspiciously even frequencies, (C,).

    The frequencies of rows that recur by chance vary: if they are more even than by chance, the
    rows are duplicates. If another class has hardly a repeated row, frequencies as even as by
    chance suffice in a class of repeated rows, which was oversampled.

    Parameters
    ----------
    y : (n,) the class of each distinct row.
    count : (n,) its frequency or weight.
    n_classes : C.
    """
    tests = _Counts.of(y, count, n_classes)
    is_testable = tests.rows >= DESIGNED
    is_even = is_testable & tests.even
    if (is_testable & (tests.mean < ONCE)).any():
        is_even |= (tests.rows >= SEVERAL) & (tests.mean > TWICE) & ~tests.uneven
    return is_even


def unit(weight: Float64) -> float:
    """The least weight of a class, if all its weights are multiples of it; else 1.

    It makes rows that are all repeated equally often, and rows with class weights, count as one
    row each. A least weight below 1 has to be that of most rows.
    """
    least = weight.min(initial=np.inf)
    if len(weight) < KINDS or weight.max() > MOST * least:
        return 1.0
    times = weight / least
    multiples = np.abs(times - np.round(times)) < 1e-9 * times
    is_common = least > 1 or (times < 1.5).mean() > USUAL
    return float(least) if multiples.all() and is_common else 1.0


def once(count: Float64, copied: npt.NDArray[np.bool_]) -> Float64:
    """The weights (C, R) of rows without duplicates.

    Numbers of rows become 1, shared by the classes of a row. Weights that are not numbers of rows
    are relative importances: they, and rows that recur, are divided by the mean weight of a row
    in their class.
    """
    total = np.where(copied, count, 0.0).sum(axis=0)
    weights = count.copy()
    for class_weights, is_duplicate in zip(weights, copied, strict=True):
        if is_duplicate.any():
            is_single = is_duplicate | ((class_weights > 0) & (class_weights < 2))
            is_integer = (class_weights[is_single] == np.round(class_weights[is_single])).all()
            share = class_weights[is_duplicate] / total[is_duplicate]
            class_weights /= class_weights[is_single].mean()
            if is_integer:
                class_weights[is_single] = 1.0
                class_weights[is_duplicate] = share
    return weights


def of_values(count: Float64) -> Float64:
    """The weights (C, R) of the distinct values of a numeric column, without duplicates.

    Only the evenness of their frequencies is tested, because values of one column may recur.
    """
    if not (count >= 2).any() or count.max() > COUNTED:
        return count
    count = count / np.array([[unit(class_count[class_count > 0])] for class_count in count])
    y, row = np.nonzero(count > 0)
    weight = count[y, row]
    is_duplicate = np.zeros(count.shape, bool)
    is_duplicate[y, row] = (weight >= 2) & even(y, weight, len(count))[y]
    return once(count, is_duplicate)
