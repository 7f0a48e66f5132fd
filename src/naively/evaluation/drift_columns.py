"""How a column of new rows differs: tests, what there is to say, and in which words."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Literal

import numpy as np
from scipy import special, stats

from naively.core.exact import Float64, Int64
from naively.evaluation.marginals import Cells, Marginal, Sums, Terms, corrected
from naively.explain.markup import counted
from naively.statistics.rows import number_text

EXPECTED = 5.0
"""Rows that a cell has in the smaller sample on average, at least: Cochran's rule."""
CELLS = 10
"""Cells that numbers are cut into, at most."""
SKEW = 25.0
"""Rows a squared skewness, from which on the mean of a sample counts as normal: Cochran (1977),
Sampling Techniques, section 2.15."""
LEAST = 25
"""Rows from which a variance is estimated, at least."""
FAR, TIMES = 5.0, 20.0
"""Standard deviations from the mean, or times the mean, that are far."""


def cells_of_levels(both: Float64, share: float) -> Int64:
    """The cell of each level, (k,): levels that are too rare for one share some.

    Which these are depends on how often levels are met in both samples together, and not on how
    they are spread over the two. Rare levels share a cell with those that are met about as often:
    so it shows if new levels took the place of old ones.

    Parameters
    ----------
    both : (k,) rows of each level in both samples.
    share : of the rows that are in the smaller sample.
    """
    least = EXPECTED / max(share, 1e-300)
    common = both >= least
    found = np.where(common, np.cumsum(common) - 1, -1)
    rare = np.flatnonzero(~common)
    if not len(rare):
        return found
    grade = np.ceil(np.log2(np.maximum(both[rare], 1.0))).astype(np.int64)
    sizes = np.bincount(grade, both[rare]).astype(np.float64)
    if sizes.sum() < least and common.any():  # these are with the rarest of the others
        found[rare] = found[common][both[common].argmin()]
    else:
        found[rare] = int(common.sum()) + _large_enough(sizes, least)[grade]
    return np.unique(found, return_inverse=True)[1]


def cells_of_numbers(order: Float64, both: Float64, share: float) -> Int64:
    """The cell of each number, (k,): about as many rows of both samples in each.

    Parameters
    ----------
    order : (k,) the numbers; NaN of what is none, which has a cell of its own.
    both, share : as of `cells_of_levels`.
    """
    total = both.sum()
    most = int(np.clip(total * share / EXPECTED, 1, CELLS))
    ranks = np.argsort(order, kind="stable")  # NaN is last
    sizes = both[ranks]
    cells = np.minimum(most * (2 * np.cumsum(sizes) - sizes) // max(2 * total, 1e-300), most - 1)
    cells[np.isnan(order[ranks])] = most
    found = np.empty(len(order), np.int64)
    found[ranks] = cells
    rows = np.bincount(found, both).astype(np.float64)
    return _large_enough(rows, EXPECTED / max(share, 1e-300))[found]


def _large_enough(sizes: Float64, least: float) -> Int64:
    """Neighbours in one cell, until it has so many rows; too few at the end are with the last."""
    found, room, at = np.empty(len(sizes), np.int64), 0.0, 0
    for k, size in enumerate(sizes.tolist()):
        found[k], room = at, room + size
        if room >= least:
            at, room = at + 1, 0.0
    return np.minimum(found, max(at - 1, 0))


def of_cells(first: Float64, second: Float64) -> float:
    """The p-value of equal shares, given the rows in each cell, (k,) both; NaN if nothing tells.

    Of two cells it is exact, twice the smaller tail of the hypergeometric distribution; of more
    that of Pearson's chi-square.
    """
    kept = first + second > 0
    first, second = first[kept], second[kept]
    n, m = float(first.sum()), float(second.sum())
    if n <= 0 or m <= 0:
        return math.nan
    if len(first) == 1:  # all rows are equal
        return math.nan
    if len(first) == 2:
        hit, whole = round(second[0]), round(n) + round(m)
        chance = stats.hypergeom(whole, round(first[0]) + hit, round(m))
        return float(min(1.0, 2.0 * min(chance.cdf(hit), chance.sf(hit - 1))))
    both = first + second
    expected = both * (m / (n + m))
    chi2 = float(((second - expected) ** 2 / expected).sum() * (n + m) / n)
    return float(special.chdtrc(len(both) - 1, chi2))


def of_ranks(first: Float64, second: Float64) -> float:
    """The p-value of equal ranks, given the rows at each number, (k,) both, in their order.

    Mann and Whitney's, with a normal distribution and Yates's correction; NaN of fewer than
    eight rows in a sample, or of one number.
    """
    n, m, both = float(first.sum()), float(second.sum()), first + second
    total = n + m
    if min(n, m) < 8 or np.count_nonzero(both) < 2:
        return math.nan
    below = np.cumsum(first) - 0.5 * first
    off = abs(float(second @ below) - n * m / 2)
    ties = float((both * (both**2 - 1.0)).sum()) / (total * (total - 1.0))
    spread = math.sqrt(max(n * m / 12.0 * (total + 1.0 - ties), 0.0))
    return math.erfc(max(off - 0.5, 0.0) / spread / math.sqrt(2.0)) if spread > 0 else math.nan


def is_normal(values: Float64, n: float) -> bool:
    """Whether the mean of such values, and that of n others, counts as normally distributed."""
    if min(len(values), n) < LEAST:
        return False
    off = values - values.mean()
    spread = math.sqrt(float(off @ off) / len(values))
    if not 0 < spread < math.inf:
        return False
    off /= spread
    return bool(min(len(values), n) >= SKEW * (float((off * off) @ off) / len(off)) ** 2)


def of_means(values: Float64, n: float, mean: float, variance: float | None) -> float:
    """The p-value of equal means; NaN if these are too few or too skewed for one.

    Student's test. Of the first sample rows n, mean and variance are known, or the first two: then
    the variance is that of the second sample.

    Parameters
    ----------
    values : (m,) of the second sample.
    """
    m = len(values)
    if not is_normal(values, n):
        return math.nan
    own = float(values.mean())
    off = values - own
    spread, freedom = float(off @ off), m - 1.0
    if variance is not None:
        spread, freedom = spread + (n - 1.0) * variance, n + m - 2.0
    error = math.sqrt(spread / freedom * (1.0 / m + 1.0 / n))
    return float(2.0 * special.stdtr(freedom, -abs(own - mean) / error))


def of_rises(values: Float64, n: float, mean: float) -> float:
    """The p-value that the mean is no larger; NaN if the values are too few or too skewed for one.

    For values of which some may be very large, and whose variance in the first sample is not known.
    A smaller mean is not tested: a few such values in the first sample may be all there is to it.
    """
    p = of_means(values, n, mean, None)
    return p / 2.0 if values.mean() > mean else 1.0 - p / 2.0


def of_spreads(values: Float64, n: float, variance: float) -> float:
    """The p-value that the variance is no larger: `of_rises` of (x - mean)²."""
    if not len(values):
        return math.nan
    return of_rises((values - values.mean()) ** 2, n, variance * (1.0 - 1.0 / max(n, 1.0)))


def of_far(values: Float64, n: float, mean: float, variance: float) -> tuple[float, float, float]:
    """(the p-value that no more values are far off, the bound of their part, their part).

    By Chebyshev's inequality no more than 1/k² of the first sample are k standard deviations from
    its mean, or more, whatever its distribution; by Markov's no more than 1/k are k times the mean,
    or more, of numbers that are not negative. Here k is 5, or 20 if the variance is not known. A
    value in another unit is.

    Parameters
    ----------
    variance : NaN if it is not known; then no value is negative.
    """
    known = not math.isnan(variance)
    bound = 1.0 / FAR**2 if known else 1.0 / TIMES
    if known:
        far = np.abs(values - mean) >= FAR * math.sqrt(variance)
    else:
        far = values >= TIMES * mean
    hits = np.array([float(np.count_nonzero(far & (values != mean)))])
    p = of_words(np.array([math.floor(n * bound)]), hits, n, len(values), exact=False)
    return float(p[0]), bound, float(hits[0]) / max(len(values), 1)


def of_words(first: Float64, second: Float64, n: float, m: float, exact: bool) -> Float64:
    """The p-value of each word, (k,): that as many documents of both samples have it.

    Fisher's exact test, from the documents that have each word. If those of the first sample are
    bounds that may be too high, such as the times that the word was met, what is tested is that no
    more of the second sample have it: then p is too high, if anything.

    Parameters
    ----------
    n, m : documents of the samples.
    exact : whether ``first`` is no bound.
    """
    first, n, m = np.minimum(np.round(first), round(n)), round(n), round(m)
    found = np.ones(len(first))
    expected = (first + second) * m / max(n + m, 1)
    for side, cut in ((1, second > expected), (-1, (second < expected) & exact)):
        at = np.flatnonzero(cut & (np.abs(second - expected) > np.sqrt(expected)))
        hit, own = second[at], first[at]
        law = stats.hypergeom(n + m, own + hit, m)
        tail = law.sf(hit - 1) if side > 0 else law.cdf(hit)
        found[at] = np.minimum(1.0, tail * (2.0 if exact else 1.0))
    return found


def holm(p: Float64) -> Float64:
    """The p-values for all tests together (Holm 1979), whatever they have to do with each other.

    The chance that any of them is below α, of those that are true, is α at most. NaN stays NaN.
    """
    found = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = len(order) - np.arange(len(order))
    found[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return found


def bonferroni(p: list[float]) -> float:
    """The least of some p-values times their number; NaN if none is known."""
    known = [one for one in p if not math.isnan(one)]
    return min(1.0, min(known) * len(known)) if known else math.nan


# ---- how far ---------------------------------------------------------------------------------


def moved(first: Float64, second: Float64) -> tuple[float, float]:
    """(total variation, about what it is by chance) of two samples, given the rows in each cell.

    The total variation is half the sum of the differences of shares: the least part of the rows
    of one sample that would have to be in another cell, for the shares to be equal.
    """
    n, m = float(first.sum()), float(second.sum())
    if n <= 0 or m <= 0:
        return math.nan, math.nan
    share = (first + second) / (n + m)
    error = np.sqrt(share * (1.0 - share) * (1.0 / n + 1.0 / m))
    off = np.abs(first / n - second / m)
    return float(off.sum() / 2), min(1.0, float(error.sum()) / math.sqrt(2.0 * math.pi))


def moved_normal(mean: float, variance: float, other: float, spread: float) -> float:
    """The total variation of two normal distributions of these means and variances."""
    a, b = math.sqrt(max(variance, 0.0)), math.sqrt(max(spread, 0.0))
    if min(a, b) <= 1e-12 * max(a, b):
        return float(mean != other or max(a, b) > 0)
    at = (other - mean) / a  # of normal distributions (0, 1) and (at, b)
    b /= a
    if abs(b - 1.0) < 1e-9:
        return float(2.0 * special.ndtr(abs(at) / 2.0) - 1.0)
    root = b * math.sqrt(at**2 + 2.0 * (b**2 - 1.0) * math.log(b))
    low, high = sorted(((-at - root) / (b**2 - 1.0), (-at + root) / (b**2 - 1.0)))
    within = special.ndtr(high) - special.ndtr(low)
    others = special.ndtr((high - at) / b) - special.ndtr((low - at) / b)
    return float(abs(within - others))


# ---- columns -------------------------------------------------------------------------------------


Kind = Literal["levels", "numbers", "words"]


@dataclass(frozen=True)
class WordDrift:
    """A word that more or fewer documents have.

    Attributes
    ----------
    word : str
    learned, new : part of the learned and of the new documents that have it.
    at_most : whether ``learned`` is a bound: how often the word was met is known, but not where.
    p_value : by Holm's method, for all words of the column.
    """

    word: str
    learned: float
    new: float
    at_most: bool
    p_value: float


@dataclass(frozen=True)
class ColumnDrift:
    """How a column differs.

    Attributes
    ----------
    name : str
    kind : "levels", "numbers" or "words": what it was compared as.
    change : what changed most, in words.
    moved : part of the rows that would have to have another value for both to look alike (total
        variation), from 0 to 1; of numbers of which only means and variances are known that of
        normal distributions; of texts the largest difference of the parts that have a word.
    by_chance : about what it is if nothing changed; NaN of texts.
    p_value : of all that was tested of the column, each times the number of tests; NaN if nothing
        could be.
    adjusted : by Holm's method, for all columns.
    tests : dict of p-values: "cells", "ranks", "mean", "spread", "far", "words",
        "missing"; see `naively.evaluation.drift_columns`.
    missing : part of the learned and of the new rows that have no value.
    unseen : dict of the most frequent new levels that were never learned, and their rows.
    words : list of WordDrift, those first that changed most.
    """

    name: str
    kind: Kind
    change: str
    moved: float
    by_chance: float
    p_value: float
    adjusted: float
    tests: dict[str, float]
    missing: tuple[float, float]
    unseen: dict[str, int]
    words: list[WordDrift]


@dataclass(frozen=True)
class Compared:
    """A column that was compared, and what its new values are like, row by row.

    Attributes
    ----------
    drift : ColumnDrift
    surprise : (m,) by how many nats the value of each new row is less probable than those of
        learned rows on average, 0 if missing; None if that is not known.
    excess : what it is on average if nothing changed, as the probabilities are estimated.
    told : (m, C) what each new value tells for each class, in nats; None if that is not known.
    means : (C, C) the same of each learned class (first), on average.
    by_class, new : (C, k) and (k,), shares of cells, or a mean in standard deviations, of each
        learned class and of the new rows: what other shares of the classes may explain.
    odd : (m,) how rare the value of each new row is, in nats beyond the mean of learned ones, 0 if
        missing: finer than `surprise`, which is known of all learned rows; None if not known.
    """

    drift: ColumnDrift
    surprise: Float64 | None = None
    excess: float = 0.0
    told: Float64 | None = None
    means: Float64 | None = None
    by_class: Float64 | None = None
    new: Float64 | None = None
    odd: Float64 | None = None


def percent(share: float) -> str:
    """A share as people read it."""
    if 0 < share < 0.0005 or 0.9995 < share < 1:
        return "<0.1%" if share < 0.5 else ">99.9%"
    return f"{share:.1%}" if share < 0.0995 or 0.9 < share < 1 else f"{share:.0%}"


def change(before: float, after: float) -> str:
    """Two shares, with one more digit if they are alike without it."""
    said = percent(before), percent(after)
    if said[0] == said[1] and before != after and not said[0].startswith(("<", ">")):
        digits = len(said[0].partition(".")[2]) or 1
        said = f"{before:.{digits}%}", f"{after:.{digits}%}"
    return f"{said[0]} → {said[1]}"


def made(
    name: str, kind: Kind, said: dict[str, str], tests: dict[str, float], moved: float,
    by_chance: float, missing: Float64, rows: Float64, unseen: dict[str, int] | None = None,
    words: list[WordDrift] | None = None,
) -> ColumnDrift:  # fmt: skip
    """What changed, given what can be said for each test.

    Parameters
    ----------
    missing, rows : (2,) learned and new rows, without a value and with one.
    """
    gone = np.divide(missing, missing + rows, where=missing + rows > 0, out=np.zeros(2))
    tests = tests | {"missing": of_cells(*np.array([rows, missing]).T)}  # NaN if none is
    said = said | {"missing": f"missing {change(*gone.tolist())}"}
    if not rows.all():
        moved, by_chance = abs(gone[1] - gone[0]), math.nan
    least = min(said, key=lambda one: (math.isnan(tests[one]), tests[one]))
    if not rows.all():
        least = "missing"
        if not missing[rows == 0].all():
            said["missing"] = "no row to compare"
    elif math.isnan(tests[least]) or tests[least] == 1.0:
        least = next(iter(said))
    return ColumnDrift(
        name, kind, said[least], float(np.fmax(moved, abs(gone[1] - gone[0]))), by_chance,
        bonferroni([*tests.values()]), math.nan, tests, (float(gone[0]), float(gone[1])),
        unseen or {}, words or [],
    )  # fmt: skip


def level_text(level: object) -> str:
    """A level, or a number with four digits that matter."""
    if isinstance(level, float | np.floating):
        return number(float(level))
    return str(level)


def number(value: float) -> str:
    """Four digits that matter; whole numbers below a million with all of theirs."""
    if value.is_integer() and abs(value) < 1e6:
        return number_text(value)
    return f"{value:.4g}"


# ---- Columns of new rows compared with what was learned of them.


WORDS = 10
"""Words that are told of, at most."""
LARGE = 1e60
"""Numbers are compared as if none were larger, as their squares have to be numbers."""


@singledispatch
def compared(known: Marginal, scale: float) -> Compared:
    """What is to be said of a column.

    Parameters
    ----------
    scale : rows that the weight 1 of learned rows counts as.
    """
    raise NotImplementedError(known)


# ---- cells -----------------------------------------------------------------------------------


@compared.register
def _(known: Cells, scale: float) -> Compared:
    by_class, new = known.counts[:-1] * scale, known.counts[-1]
    learned = by_class.sum(axis=0)
    rows = np.array([learned.sum(), new.sum()])
    missing = np.array([known.missing[:-1].sum() * scale, known.missing[-1]])
    both = learned + new
    share = float(rows.min() / max(rows.sum(), 1e-300))
    numbers = known.order is not None
    if known.order is not None:
        cell = cells_of_numbers(known.order, both, share)
    else:
        cell = cells_of_levels(both, share)
    size = int(cell.max(initial=-1)) + 1
    first, second = (_summed(one, cell, size) for one in (learned, new))
    tests = {"cells": of_cells(first, second)}
    if numbers:
        said, ranks = _numbers(known, learned, new, cell)
        tests = tests | {"ranks": ranks if size > 1 else math.nan}
    else:
        said = {"cells": _levels(known, learned, new, cell)}
    if known.others is not None:
        others = known.others * np.array([scale, 1.0])
        whole = rows + others
        p = of_words(others[:1], others[1:], whole[0], whole[1], exact=False)
        tests["others"] = float(p[0]) if whole.all() else math.nan
        before, after = np.divide(others, whole, where=whole > 0, out=np.zeros(2)).tolist()
        said["others"] = f"other levels: at most {change(before, after)}"
    order = np.argsort(-new, kind="stable")
    fresh = [k for k in order[:1000].tolist() if new[k] > 0 and learned[k] == 0]
    unseen = {} if numbers else {level_text(known.levels[k]): int(new[k]) for k in fresh[:5]}
    drift = made(
        known.name, "numbers" if numbers else "levels", said, tests,
        *moved(first, second), missing, rows if known.others is None else whole, unseen,
    )  # fmt: skip
    if not rows.all():
        return Compared(drift)
    counts = np.array([_summed(one, cell, size) for one in by_class])
    cells = np.append(cell, -1)[known.codes]
    found = _row_by_row(drift, cells, counts, second, known.missing[:-1] * scale)
    return replace(found, odd=np.append(_odd(known.order, learned), 0.0)[known.codes])


def _odd(order: Float64 | None, learned: Float64) -> Float64:
    """How rare each value is, (k,), in nats beyond the mean of learned ones.

    -log of the part of the learned rows that have the level, or a number as far out or farther.
    """
    n = float(learned.sum())
    share = (learned + 0.5) / (n + 0.5 * len(learned))
    if order is not None:
        at = np.argsort(order, kind="stable")
        at = at[~np.isnan(order[at])]
        below = np.cumsum(learned[at])
        tail = np.minimum(below, below[-1:] - below + learned[at])
        share[at] = np.minimum((2.0 * tail + 0.5) / (n + 1.0), 1.0)
    found: Float64 = -np.log(share)
    return found - float(learned @ found) / n


def _summed(rows: Float64, cell: Int64, size: int) -> Float64:
    """The rows in each cell, given those of each value."""
    return np.bincount(cell, rows, size).astype(np.float64)


def _row_by_row(
    drift: ColumnDrift, cells: Int64, counts: Float64, new: Float64, gone: Float64
) -> Compared:
    """The same with what its new values are like.

    Parameters
    ----------
    cells : (m,) that of each new row, -1 if its value is missing.
    counts, new : (C, k) and (k,), learned rows of each class and new ones in each cell.
    gone : (C,) learned rows without a value.
    """
    classes, size = counts.shape
    total, rows = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
    p = (total + 0.5) / (total.sum() + 0.5 * size)
    surprise = np.append((total / total.sum()) @ np.log(p) - np.log(p), 0.0)[cells]
    told = np.log((counts + size * p) / (rows + size) / p).T
    told[total == 0] = 0.0  # what was never learned tells of no class
    whole = rows + gone[:, np.newaxis]
    means = np.divide(counts, whole, where=whole > 0, out=np.zeros_like(counts)) @ told
    by_class = np.divide(counts, rows, where=rows > 0, out=np.zeros_like(counts))
    free = (counts / (counts + size * p) * (1.0 - by_class)).sum(axis=1)
    means = corrected(means, free, whole[:, 0])
    return Compared(
        drift, surprise, (size - 1) / total.sum(), np.vstack([told, np.zeros(classes)])[cells],
        means, by_class, new / new.sum(),
    )  # fmt: skip


def _levels(known: Cells, learned: Float64, new: Float64, cell: Int64) -> str:
    """The level whose share changed most."""
    before, after = learned / max(learned.sum(), 1e-300), new / max(new.sum(), 1e-300)
    alone = np.bincount(cell)[cell] == 1
    off = np.where(alone, np.abs(after - before), -1.0)
    never = float(after[learned == 0].sum())
    if not len(off):
        return "no values"
    k = int(off.argmax())
    if never > off[k]:
        levels = int((new[learned == 0] > 0).sum())
        if levels > 1:
            return f"{levels:,} new levels: {change(0.0, never)}"
        k = int(((learned == 0) * new).argmax())
    if off[k] < 0 and never <= 0:
        return f"{counted(int(np.count_nonzero(learned)), 'level')}, as before"
    return f"{level_text(known.levels[k])}: {change(float(before[k]), float(after[k]))}"


def _numbers(
    known: Cells, learned: Float64, new: Float64, cell: Int64
) -> tuple[dict[str, str], float]:
    """(what is to be said of cells and ranks, the p-value of these)."""
    assert known.order is not None
    if not len(cell):
        return {"cells": "no values", "ranks": "no values"}, math.nan
    at = np.argsort(known.order, kind="stable")
    at = at[~np.isnan(known.order[at])]
    a, b = learned[at], new[at]
    middle = [level_text(known.levels[at[_median(one)]]) if one.any() else "?" for one in (a, b)]
    said = {"ranks": f"median {middle[0]} → {middle[1]}"}
    size = int(cell.max(initial=-1)) + 1
    first, second = (_summed(one, cell, size) for one in (learned, new))
    before, after = first / max(first.sum(), 1e-300), second / max(second.sum(), 1e-300)
    k = int(np.abs(after - before).argmax()) if size else 0
    own = at[(cell[at] == k) & (a + b > 0)] if size else at[:0]
    span = "not as numbers"
    if len(own):
        low, high = (level_text(known.levels[place]) for place in (own[0], own[-1]))
        span = low if low == high else f"{low} to {high}"
    said["cells"] = f"{span}: {change(float(before[k]), float(after[k]))}"
    if size < 2:
        said["cells"] = said["ranks"]
    elif middle[0] == middle[1]:
        said["ranks"] = said["cells"]
    return said, of_ranks(a, b)


def _median(weights: Float64) -> int:
    return int(np.searchsorted(np.cumsum(weights), weights.sum() / 2.0))


# ---- sums ------------------------------------------------------------------------------------


@compared.register
def _(known: Sums, scale: float) -> Compared:
    values = np.clip(known.values, -LARGE, LARGE)
    x = values[~np.isnan(values)]
    weight = known.weight * scale
    n, m = float(weight.sum()), len(x)
    rows, missing = np.array([n, float(m)]), known.missing * np.array([scale, 1.0])
    mean, variance = known.mean, known.variance
    sure = not math.isnan(variance) and n > 1
    if not (m and n and math.isfinite(mean)) or math.isinf(variance):
        return Compared(made(known.name, "numbers", {}, {}, math.nan, math.nan, missing, rows))
    own, spread = float(x.mean()), float(x.var(ddof=1)) if m > 1 else 0.0
    said = {"mean": f"mean {_shown(mean, known.of_logs)} → {_shown(own, known.of_logs)}"}
    if sure and variance == 0.0:  # all were equal: is each new one?
        hits = float((x != mean).sum())
        tests = {"mean": of_cells(np.array([n, 0.0]), np.array([m - hits, hits]))}
        said = {"mean": f"other than {_shown(mean, known.of_logs)}: {change(0.0, hits / m)}"}
        drift = made(known.name, "numbers", said, tests, hits / m, 0.0, missing, rows)
        return Compared(drift)
    tests = {"mean": of_means(x, n, mean, variance if sure else None)}
    if sure:
        tests["spread"] = of_spreads(x, n, variance)
        said["spread"] = (
            f"standard deviation {number(math.sqrt(variance))} → {number(math.sqrt(spread))}"
        )
    p_value, bound, far = of_far(x, n, mean, variance if sure else math.nan)
    tests["far"] = p_value
    said["far"] = f"far from {_shown(mean, known.of_logs)}: at most {change(bound, far)}"
    moved = moved_normal(mean, variance if sure else spread, own, spread)
    by_chance = math.sqrt(1.0 / n + 1.0 / m) / math.pi
    drift = made(known.name, "numbers", said, tests, moved, by_chance, missing, rows)
    within = variance if sure else max(spread, 1e-300)
    off = np.where(weight > 0, known.means - mean, 0.0)
    slope, unit = off / within, math.sqrt(within)
    surprise = np.nan_to_num(0.5 * (((values - mean) / unit) ** 2 - 1.0)) if sure else None
    told = np.nan_to_num((values - mean)[:, np.newaxis] * slope)
    of_class = np.divide(weight, known.present, where=known.present > 0, out=np.zeros_like(weight))
    means = corrected(np.outer(off * known.present, slope), known.present, of_class)
    by_class, new = off[:, np.newaxis] / unit, np.array([(own - mean) / unit])
    return Compared(drift, surprise, 1.0 / n, told, means, by_class, new, surprise)


def _shown(mean: float, of_logs: bool) -> str:
    return number(math.exp(min(mean, 709.0)) if of_logs else mean)


# ---- words -----------------------------------------------------------------------------------


@compared.register
def _(known: Terms, scale: float) -> Compared:
    factor = np.array([scale, 1.0])
    documents, missing = known.documents * factor, known.missing * factor
    n, m = documents.tolist()
    if not n or not m:
        return Compared(made(known.name, "words", {}, {}, math.nan, math.nan, missing, documents))
    learned, new = np.minimum(known.learned * scale, n), known.new
    p = of_words(learned, new, n, m, known.exact)
    share = m / (n + m)
    least = _fewest(min(share, 1.0 - share) if known.exact else share, len(p))
    told = learned + new >= least  # rarer ones can tell nothing, whatever documents have them
    adjusted = holm(np.where(told, p, math.nan))
    before, after = learned / n, new / m
    off = np.where(known.exact | (after > before), np.abs(after - before), 0.0)
    order = np.lexsort((-off, np.where(told, p, 1.0)))[:WORDS].tolist()
    words = [
        WordDrift(
            known.term(k), float(before[k]), float(after[k]), not known.exact, float(adjusted[k])
        )
        for k in order if told[k] and off[k] > 0
    ]  # fmt: skip
    words.sort(key=lambda one: (one.p_value > 0.05, -abs(one.new - one.learned)))
    said = {"words": _word(words[0]) if words else "no word changed"}
    p_value = float(np.nanmin(adjusted)) if told.any() else math.nan
    moved = abs(words[0].new - words[0].learned) if words else 0.0
    drift = made(
        known.name, "words", said, {"words": p_value}, moved, math.nan, missing, documents,
        words=words,
    )  # fmt: skip
    return Compared(drift, told=known.told, means=known.means)


def _word(one: WordDrift) -> str:
    return f"{one.word}: {'at most ' * one.at_most}{change(one.learned, one.new)}"


def _fewest(share: float, words: int) -> float:
    """Documents that must have a word, for a test to tell anything: all in such a part of them."""
    return max(2.0, math.log(0.05 / max(words, 1)) / math.log(min(max(share, 1e-9), 0.999)))
