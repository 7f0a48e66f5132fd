"""Duplicate rows: copies that a resampler, a join or an export made, or rows that truly recur.

Two independent rows are equal by coincidence. How many such pairs there should be follows from the
pairs of rows that are *not* equal: from how many of them agree in the most varied column, how many
of these in the next, and so on. With a column of many values hardly any are expected, and what
repeats is a copy. In tables of few categories many are, and what repeats is a new row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from naively.exact import Float64, Int64
from naively.statistics.levels import Levels

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
