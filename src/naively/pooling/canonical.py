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


# ---- duplicates ----------------------------------------------------------------------------------


MOST = 1e6
"""Times the least weight, up to which weights may be multiples of that."""
KINDS = 10
"""Different rows whose weights seldom are multiples of one number by chance."""
USUAL = 0.9
"""The part of different rows that have the least weight, where that counts as 1."""
DEVIATIONS = 3.0
"""Standard errors by which counts are more even than by chance, where rows were copied."""
COUNTED = 1e15
"""Weights beyond are no numbers of rows."""
DESIGNED = 30
"""Different rows of a class up to which counts that are even may be those of a design."""
ONCE, TWICE, SEVERAL = 1.1, 2.0, 10
"""Rows a different row: of a class that has hardly a row twice, at most; of one that was
oversampled, at least, which has so many different rows."""
FEWEST = 5
"""Repeated rows, at least, that are looked into."""
SURPRISING, VARIED = 5.0, 20.0
"""Copies are so many times the pairs expected, where a column has so many values. Where none has,
they are so many times these, and """
UNVARIED = ((10.0, 0.2), (50.0, 0.03))
"""that share of all different rows is there more than once."""
SATURATED = 5.0
"""Rows a different row, on average, from which on different rows may be all that there are."""
RECURRING = 30.0
"""A row that is there so many times as often as the median repeated row of its class recurs, and so
does one that is there so often with different labels: they are no copies."""
SEEN = 100_000
"""Different rows that are compared, at most."""


def duplicated(
    codes: npt.NDArray[np.integer], levels: list[Levels], y: Int64, row: Int64, count: Float64,
    n_classes: int,
) -> npt.NDArray[np.bool_]:  # fmt: skip
    """Which rows of one class each are there more than once as copies, (n,).

    Parameters
    ----------
    codes : (R, d) the different rows, in an order of chance, as places in the levels.
    levels : list of d sorted arrays of numbers or text.
    y, row : (n,) the class of each, and which of these rows it is.
    count : (n,) how often it is there.
    n_classes : C.
    """
    repeated = count >= 2
    if not repeated.any():
        return repeated
    found = repeated & even(y, count, n_classes)[y]
    typical = np.ones(n_classes)
    for c in np.unique(y[repeated]):
        typical[c] = np.median(count[repeated & (y == c)])
    some = repeated & (count < RECURRING * typical[y])
    # a state that recurs with different labels
    mixed = np.bincount(row[repeated], minlength=len(codes)) > 1
    some &= ~(mixed & (np.bincount(row, count, len(codes)) >= RECURRING))[row]
    often = np.bincount(row, np.where(some | ~repeated, count, 1.0), len(codes)).astype(np.float64)
    uneven = _Counts.of(y[some | ~repeated], count[some | ~repeated], n_classes).uneven
    return found | some if _surprising(codes, levels, often, not uneven.any()) else found


def _surprising(
    codes: npt.NDArray[np.integer], levels: list[Levels], often: Float64, drawn: bool
) -> bool:
    """Whether rows that are there so often, (R,), are more than coincidences.

    `drawn`: whether no row is there more often than if all were drawn with equal probability.
    """
    pairs = float((often >= 2).sum())
    if pairs < FEWEST:
        return False
    total, different = float(often.sum()), len(codes)
    exhausted = total > SATURATED * different
    expected, values = coincidences(codes[:SEEN], levels, drawn and not exhausted)
    seen = min(different, SEEN)
    expected *= (different / seen) ** 2
    if pairs < SURPRISING * expected:
        return False
    if values >= (max(VARIED, different / SATURATED) if exhausted else VARIED):
        return True
    return not exhausted and any(
        pairs > times * expected and pairs > share * different for times, share in UNVARIED
    )


def coincidences(
    codes: npt.NDArray[np.integer], levels: list[Levels], named: bool = False
) -> tuple[float, float]:
    """(pairs of equal rows expected among R independent ones, values of the most varied column).

    The latter as the inverse of how often two rows agree in it. Names that each belong to one row
    may be all that there are, and recur: so the other columns alone are looked at, too. If rows are
    `named`, they are not all that there are.
    """
    n = len(codes)
    pairs = max(n * (n - 1) / 2, 1.0)
    seen = np.array([_agreeing(own.astype(np.int64)) / pairs for own in codes.T])
    text = np.array([known.dtype.kind == "T" for known in levels])
    chance = np.array([*map(_by_chance, levels)])
    each = np.maximum(seen, np.where(text & named, 0.0, chance))
    order = np.argsort(each, kind="stable")
    others = order[~(text & (seen * pairs < FEWEST))[order]]
    share = min(_equal(codes, levels, own, each, pairs) for own in (order, others) if len(own))
    return pairs * share, 1 / max(float(each.min()), 1e-300)


def _equal(
    codes: npt.NDArray[np.integer], levels: list[Levels], columns: Int64, each: Float64,
    pairs: float,
) -> float:  # fmt: skip
    """How probable it is that two rows agree in some columns, looked at one after the other.

    `each` is that of each column, `pairs` are all.
    """
    first = columns[0]
    key, at = codes[:, first].astype(np.int64), np.arange(len(codes))
    share, left = max(float(each[first]), 1 / (pairs + 1)), _agreeing(key)
    for j in columns[1:]:
        _, place, sizes = np.unique(key, return_inverse=True, return_counts=True)
        among = sizes[place] > 1
        at, key = at[among], place[among].astype(np.int64)
        key = key * (len(levels[j]) + 1) + codes[at, j]
        agree = _agreeing(key)
        share *= max((agree + 1) / (left + 1), float(each[j]))
        left = agree
    return share


def _agreeing(keys: Int64) -> float:
    """Pairs of equal keys."""
    sizes = np.unique(keys, return_counts=True)[1].astype(np.float64)
    return float((sizes * (sizes - 1) / 2).sum())


def _by_chance(levels: Levels) -> float:
    """How often two rows agree in a column at least, if each level was in one row alone.

    Numbers by how densely they fill the grid that they are on; names are taken for all that there
    are.
    """
    size = len(levels)
    if size < 3 or levels.dtype.kind == "T":
        return 1 / max(size, 1)
    with np.errstate(over="ignore"):
        gaps = np.diff(levels.astype(np.float64))
        least = float(gaps.min())
        around = np.concatenate([gaps[:1], (gaps[1:] + gaps[:-1]) / 2, gaps[-1:]])
        return float((least / around).sum()) / (size * size)


@dataclass(frozen=True)
class _Counts:
    """How often the different rows of each class are there, (C,) each.

    Beside a Poisson distribution, of what is above 0, by χ² and the approximation of Wilson and
    Hilferty (1931).

    Attributes
    ----------
    rows, mean : how many different rows there are, and how often on average.
    even, uneven : whether they are there more, or less, evenly than by chance.
    """

    rows: Int64
    mean: Float64
    even: npt.NDArray[np.bool_]
    uneven: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, y: Int64, count: Float64, n_classes: int) -> Self:
        """Of the class of each different row, (n,), and how often it is there."""
        rows = np.maximum(np.bincount(y, minlength=n_classes), 1)
        mean = np.bincount(y, count, n_classes) / rows
        off = np.bincount(y, (count - mean[y]) ** 2, n_classes) / np.maximum(rows - 1, 1)
        rate = np.maximum(mean, 1.0)
        for _ in range(50):  # Newton's steps to mean = rate / (1 - exp(-rate))
            slope = np.maximum(1 - mean * np.exp(-rate), 1e-9)
            rate = rate - np.minimum((rate + mean * np.expm1(-rate)) / slope, rate / 2)
        usual = mean * np.maximum(1 + rate - mean, 1e-9)
        error = 2 / (9 * np.maximum(rows - 1, 1))
        least = np.maximum(1 - error - DEVIATIONS * np.sqrt(error), 0.0) ** 3
        most = (1 - error + DEVIATIONS * np.sqrt(error)) ** 3
        repeated = mean > 1
        return cls(rows, mean, repeated & (off < usual * least), repeated & (off > usual * most))


def even(y: Int64, count: Float64, n_classes: int) -> npt.NDArray[np.bool_]:
    """Which classes have rows that are there as often as each other, (C,).

    Of rows that truly recur some are there more often than others: counts that are more even than
    by chance are of copies. So are, in a class whose rows are there several times, counts that are
    as even as by chance, where another class has hardly a row twice: it was oversampled.

    Parameters
    ----------
    y : (n,) the class of each different row.
    count : (n,) how often it is there, or its weight.
    n_classes : C.
    """
    found = _Counts.of(y, count, n_classes)
    many = found.rows >= DESIGNED
    copied = many & found.even
    if (many & (found.mean < ONCE)).any():
        copied |= (found.rows >= SEVERAL) & (found.mean > TWICE) & ~found.uneven
    return copied


def unit(weight: Float64) -> float:
    """The least weight of a class, if all its weights are multiples of that; else 1.

    So that rows of which each is there so many times, and class weights, count as one row each. A
    weight below 1 has to be that of most rows.
    """
    least = weight.min(initial=np.inf)
    if len(weight) < KINDS or weight.max() > MOST * least:
        return 1.0
    times = weight / least
    multiples = np.abs(times - np.round(times)) < 1e-9 * times
    usual = least > 1 or (times < 1.5).mean() > USUAL
    return float(least) if multiples.all() and usual else 1.0


def once(count: Float64, copied: npt.NDArray[np.bool_]) -> Float64:
    """The weights (C, R) of rows whose duplicates are taken out.

    Numbers of rows become 1, in all classes that a row is of. Weights that are no such numbers say
    how much rows matter beside others: they, and rows that recur, are only divided by what a row
    weighs on average in its class.
    """
    total = np.where(copied, count, 0.0).sum(axis=0)
    found = count.copy()
    for own, those in zip(found, copied, strict=True):
        if those.any():
            single = those | ((own > 0) & (own < 2))
            whole = (own[single] == np.round(own[single])).all()
            share = own[those] / total[those]
            own /= own[single].mean()
            if whole:
                own[single] = 1.0
                own[those] = share
    return found


def of_values(count: Float64) -> Float64:
    """The weights (C, R) of the different values of a number, whose duplicates are taken out.

    By how even they are alone: values of one column may well recur.
    """
    if not (count >= 2).any() or count.max() > COUNTED:
        return count
    count = count / np.array([[unit(own[own > 0])] for own in count])
    y, row = np.nonzero(count > 0)
    weight = count[y, row]
    copied = np.zeros(count.shape, bool)
    copied[y, row] = (weight >= 2) & even(y, weight, len(count))[y]
    return once(count, copied)
