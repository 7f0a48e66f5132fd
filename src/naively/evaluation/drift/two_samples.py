"""Test whether two samples have one distribution, given only sums or counts of the first."""

from __future__ import annotations

import math

import numpy as np
from scipy import special, stats

from naively.core.exact import Float64, Int64

EXPECTED = 5.0  # expected rows of a cell in the smaller sample, at least: Cochran's rule
LEAST_ROWS = 2 * int(EXPECTED)
"""Rows of the smaller sample, below which no two cells have that many."""
CELLS = 10  # cells of a numeric feature, at most
SKEW = 25.0
"""Rows per squared skewness, above which the mean of a sample counts as normal: Cochran (1977),
Sampling Techniques, section 2.15."""
LEAST = 25  # rows needed to estimate a variance
FAR, TIMES = 5.0, 20.0
"""Standard deviations from the mean, or multiples of the mean, that count as far."""


def cells_of_levels(both: Float64, share: float) -> Int64:
    """Assign categories to cells, (k,): each frequent category to one, rare ones together.

    The cells depend on how many rows a category has in both samples together, not on how they are
    distributed over the two. Rare categories share a cell with others of about the same frequency,
    so that the test shows if unseen categories replace known ones.

    `both`: (k,) rows of each category in both samples. `share`: share of the rows that are in the
    smaller sample.
    """
    minimum = EXPECTED / max(share, 1e-300)
    frequent = both >= minimum
    cells = np.where(frequent, np.cumsum(frequent) - 1, -1)
    rare = np.flatnonzero(~frequent)
    if not len(rare):
        return cells
    grade = np.ceil(np.log2(np.maximum(both[rare], 1.0))).astype(np.int64)
    sizes = np.bincount(grade, both[rare]).astype(np.float64)
    if sizes.sum() < minimum and frequent.any():  # too few: join the rarest of the others
        cells[rare] = cells[frequent][both[frequent].argmin()]
    else:
        cells[rare] = int(frequent.sum()) + _large_enough(sizes, minimum)[grade]
    return np.unique(cells, return_inverse=True)[1]


def cells_of_numbers(order: Float64, both: Float64, share: float) -> Int64:
    """Assign numbers to cells, (k,), with about as many rows of both samples in each.

    `order`: (k,) the numbers; values that are NaN have their own cell. `both, share`: as in
    `cells_of_levels`.
    """
    total = both.sum()
    n_cells = int(np.clip(total * share / EXPECTED, 1, CELLS))
    ranks = np.argsort(order, kind="stable")  # NaN is last
    sizes = both[ranks]
    middle = 2 * np.cumsum(sizes) - sizes
    ranked_cells = np.minimum(n_cells * middle // max(2 * total, 1e-300), n_cells - 1)
    ranked_cells[np.isnan(order[ranks])] = n_cells
    cells = np.empty(len(order), np.int64)
    cells[ranks] = ranked_cells
    rows = np.bincount(cells, both).astype(np.float64)
    return _large_enough(rows, EXPECTED / max(share, 1e-300))[cells]


def rows_needed(both: Float64) -> int:
    """The rows that the smaller sample needs for two cells, at least; 0 if all rows are equal.

    `EXPECTED` rows without the most frequent value are one cell at best.

    `both`: (k,) rows of each value in both samples.
    """
    total = float(both.sum())
    others = total - float(both.max(initial=0.0))
    return max(LEAST_ROWS, math.ceil(EXPECTED * total / others)) if others > 0 else 0


def _large_enough(sizes: Float64, least: float) -> Int64:
    """Merge neighbours into cells of at least `least` rows; a small rest joins the last cell."""
    merged, rows, index = np.empty(len(sizes), np.int64), 0.0, 0
    for k, size in enumerate(sizes.tolist()):
        merged[k], rows = index, rows + size
        if rows >= least:
            index, rows = index + 1, 0.0
    return np.minimum(merged, max(index - 1, 0))


def of_cells(first: Float64, second: Float64) -> float:
    """The p-value of equal shares, given the rows in each cell, (k,) both; NaN if it is undefined.

    Two cells: an exact test, twice the smaller tail of the hypergeometric distribution. More cells:
    Pearson's chi-square test.
    """
    nonempty = first + second > 0
    first, second = first[nonempty], second[nonempty]
    n, m = float(first.sum()), float(second.sum())
    if n <= 0 or m <= 0:
        return math.nan
    if len(first) == 1:  # all rows are equal
        return math.nan
    if len(first) == 2:
        hit, total = round(second[0]), round(n) + round(m)
        chance = stats.hypergeom(total, round(first[0]) + hit, round(m))
        return float(min(1.0, 2.0 * min(chance.cdf(hit), chance.sf(hit - 1))))
    totals = first + second
    expected = totals * (m / (n + m))
    chi2 = float(((second - expected) ** 2 / expected).sum() * (n + m) / n)
    return float(special.chdtrc(len(totals) - 1, chi2))


def of_ranks(first: Float64, second: Float64) -> float:
    """The p-value of equal ranks, given the rows at each number, (k,) both, in increasing order.

    Mann-Whitney test, by the normal approximation with Yates's correction; NaN for fewer than
    eight rows in a sample, or for one distinct number.
    """
    n, m, totals = float(first.sum()), float(second.sum()), first + second
    total = n + m
    if min(n, m) < 8 or np.count_nonzero(totals) < 2:
        return math.nan
    below = np.cumsum(first) - 0.5 * first
    deviation = abs(float(second @ below) - n * m / 2)
    ties = float((totals * (totals**2 - 1.0)).sum()) / (total * (total - 1.0))
    standard_error = math.sqrt(max(n * m / 12.0 * (total + 1.0 - ties), 0.0))
    if not standard_error > 0:
        return math.nan
    return math.erfc(max(deviation - 0.5, 0.0) / standard_error / math.sqrt(2.0))


def is_normal(values: Float64, n: float) -> bool:
    """Whether the mean of these values, and that of n others, is about normally distributed."""
    if min(len(values), n) < LEAST:
        return False
    deviations = values - values.mean()
    scale = math.sqrt(float(deviations @ deviations) / len(values))
    if not 0 < scale < math.inf:
        return False
    deviations /= scale
    return bool(
        min(len(values), n)
        >= SKEW * (float((deviations * deviations) @ deviations) / len(deviations)) ** 2
    )


def of_means(values: Float64, n: float, mean: float, variance: float | None) -> float:
    """The p-value of equal means; NaN if values are too few or too skewed.

    Student's t-test. Of the first sample, the number of rows n, the mean and the variance are
    known; without the variance, that of the second sample is used.

    `values`: (m,) of the second sample.
    """
    m = len(values)
    if not is_normal(values, n):
        return math.nan
    sample_mean = float(values.mean())
    deviations = values - sample_mean
    squares, freedom = float(deviations @ deviations), m - 1.0
    if variance is not None:
        squares, freedom = squares + (n - 1.0) * variance, n + m - 2.0
    error = math.sqrt(squares / freedom * (1.0 / m + 1.0 / n))
    return float(2.0 * special.stdtr(freedom, -abs(sample_mean - mean) / error))


def of_rises(values: Float64, n: float, mean: float) -> float:
    """The p-value of the mean not being larger; NaN if values are too few or too skewed.

    For values with outliers, whose variance in the first sample is not known. A decrease is not
    tested, because a few outliers in the first sample could be its only cause.
    """
    p = of_means(values, n, mean, None)
    return p / 2.0 if values.mean() > mean else 1.0 - p / 2.0


def of_spreads(values: Float64, n: float, variance: float) -> float:
    """The p-value of the variance not being larger: `of_rises` of (x - mean)²."""
    if not len(values):
        return math.nan
    return of_rises((values - values.mean()) ** 2, n, variance * (1.0 - 1.0 / max(n, 1.0)))


def of_far(values: Float64, n: float, mean: float, variance: float) -> tuple[float, float, float]:
    """(p-value of no more values far from the mean, bound on their share, their share).

    By Chebyshev's inequality, at most 1/k² of the first sample are k or more standard deviations
    from its mean, whatever its distribution. By Markov's inequality, at most 1/k of nonnegative
    numbers are k or more times their mean. Here k is 5, or 20 if the variance is not known. The
    test finds values in another unit.

    `variance`: NaN if it is not known; then no value is negative.
    """
    has_variance = not math.isnan(variance)
    bound = 1.0 / FAR**2 if has_variance else 1.0 / TIMES
    if has_variance:
        far = np.abs(values - mean) >= FAR * math.sqrt(variance)
    else:
        far = values >= TIMES * mean
    hits = np.array([float(np.count_nonzero(far & (values != mean)))])
    p = of_words(np.array([math.floor(n * bound)]), hits, n, len(values), exact=False)
    return float(p[0]), bound, float(hits[0]) / max(len(values), 1)


def of_words(first: Float64, second: Float64, n: float, m: float, exact: bool) -> Float64:
    """The p-value of each word, (k,): of an equal share of documents with the word.

    Fisher's exact test. If the numbers of the first sample are upper bounds, such as the word's
    occurrences, only an increase is tested; then p is too large, if anything.

    `first, second`: (k,) documents of each sample with the word. `n, m`: documents of each sample.
    `exact`: whether `first` is exact rather than a bound.
    """
    first, n, m = np.minimum(np.round(first), round(n)), round(n), round(m)
    p_values = np.ones(len(first))
    expected = (first + second) * m / max(n + m, 1)
    for side, selected in ((1, second > expected), (-1, (second < expected) & exact)):
        positions = np.flatnonzero(selected & (np.abs(second - expected) > np.sqrt(expected)))
        second_counts, first_counts = second[positions], first[positions]
        law = stats.hypergeom(n + m, first_counts + second_counts, m)
        tail = law.sf(second_counts - 1) if side > 0 else law.cdf(second_counts)
        p_values[positions] = np.minimum(1.0, tail * (2.0 if exact else 1.0))
    return p_values


def holm(p: Float64) -> Float64:
    """Correct p-values for all tests together (Holm 1979), even if the tests are dependent.

    The probability of any true null hypothesis having p < α is at most α. NaN stays NaN.
    """
    adjusted = np.full(len(p), np.nan)
    finite = np.flatnonzero(~np.isnan(p))
    order = finite[np.argsort(p[finite], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return adjusted


def bonferroni(p: list[float]) -> float:
    """The smallest p-value times their number, at most 1; NaN if all are NaN."""
    finite = [value for value in p if not math.isnan(value)]
    return min(1.0, min(finite) * len(finite)) if finite else math.nan


# ---- distances -------------------------------------------------------------------------------


def moved(first: Float64, second: Float64) -> tuple[float, float]:
    """(total variation, its approximate value by chance) of two samples, given rows in each cell.

    The total variation is half the sum of the absolute differences of shares: the smallest share
    of rows of one sample that would have to change cells, for the shares to be equal.
    """
    n, m = float(first.sum()), float(second.sum())
    if n <= 0 or m <= 0:
        return math.nan, math.nan
    share = (first + second) / (n + m)
    error = np.sqrt(share * (1.0 - share) * (1.0 / n + 1.0 / m))
    differences = np.abs(first / n - second / m)
    return float(differences.sum() / 2), min(1.0, float(error.sum()) / math.sqrt(2.0 * math.pi))


def moved_normal(mean: float, variance: float, other: float, spread: float) -> float:
    """The total variation of two normal distributions with these means and variances."""
    a, b = math.sqrt(max(variance, 0.0)), math.sqrt(max(spread, 0.0))
    if min(a, b) <= 1e-12 * max(a, b):
        return float(mean != other or max(a, b) > 0)
    at = (other - mean) / a  # distance of normal distributions (0, 1) and (at, b)
    b /= a
    if abs(b - 1.0) < 1e-9:
        return float(2.0 * special.ndtr(abs(at) / 2.0) - 1.0)
    root = b * math.sqrt(at**2 + 2.0 * (b**2 - 1.0) * math.log(b))
    low, high = sorted(((-at - root) / (b**2 - 1.0), (-at + root) / (b**2 - 1.0)))
    within = special.ndtr(high) - special.ndtr(low)
    others = special.ndtr((high - at) / b) - special.ndtr((low - at) / b)
    return float(abs(within - others))
