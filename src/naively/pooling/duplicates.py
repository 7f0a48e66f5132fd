"""Detect duplicate rows: copies by resampling, joins or exports, or rows that truly recur.

Independent rows are equal by coincidence, too. The expected number of such pairs follows from the
pairs of rows that are *not* equal: from how many of them agree in the most varied column, how many
of these in the next, and so on. With a column of many values hardly any are expected, and equal
rows are copies. In tables of few categories many are expected, and equal rows are new rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.statistics.levels import Levels

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
