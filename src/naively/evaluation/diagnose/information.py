"""How much two features tell of each other within the classes: three likelihood ratios.

The (conditional) mutual information of two features is estimated by maximum likelihood,

    I(X_i; X_j | Y) = Σ_c π_c I_c,    G = 2 n I = 2 Σ_c n_c I_c,

with G the likelihood ratio of "dependent in each class" against "independent in each class":

- two columns of levels: I_c from the table of counts (Wilks 1938);
- two columns of numbers, normal within the class: I_c = -½ log(1 - ρ_c²);
- levels and numbers, normal with one mean a level and one variance: I_c = -½ log(SSW_c / SST_c),
  the analysis of variance.

With many rows G has a χ² distribution if the features are independent given the class. With few
rows it does not: it is larger than that on average if expected counts are near 1, and smaller if
they are far below. So its mean under independence is computed exactly, and G is scaled down to the
mean of its χ² where it is larger; where it is smaller, the χ² has that mean as its degrees of
freedom (at least 1). Bartlett (1937) has the first idea. The mean is that of the hypergeometric
distribution given the margins for levels (Vinh, Epps & Bailey 2010), and that of the beta
distribution of 1 - ρ² and SSW / SST for normal numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import chdtrc, digamma, gammaln, xlogy

from naively.exact import Float64, Int64

CELLS = 1 << 22  # of a table of counts, beyond which only the cells that were met are kept
SMALL = 30.0  # expected count, up to which the mean of G is summed term by term
LEFT = 0.8  # part of the cells, below which those that are summed up are left behind
ZERO = 1e-12  # part of a variance that is rounding
FLAT = 1e-15  # deviation of numbers up to 1 that is rounding


@dataclass(frozen=True)
class Evidence:
    """What rows say of the dependence of features; numbers, or arrays of them for many pairs.

    Attributes
    ----------
    rows : in which both features are known.
    g : likelihood ratio 2 n I, in nats; inf if one feature is a function of the other.
    mean : of g if the features are independent.
    dof : degrees of freedom of the χ² distribution that g then has with many rows.
    """

    rows: Any
    g: Any
    mean: Any
    dof: Any

    def __getitem__(self, at: Any) -> Evidence:
        return Evidence(self.rows[at], self.g[at], self.mean[at], self.dof[at])

    @property
    def nats(self) -> Any:
        """The mutual information I, in nats."""
        return np.maximum(self.g / (2.0 * np.maximum(self.rows, 1)), 0.0)

    @property
    def chance(self) -> Any:
        """The I that independent features show on average, in nats."""
        return self.mean / (2.0 * np.maximum(self.rows, 1))

    @property
    def p_value(self) -> Any:
        """Probability of such a g, or a larger one, if the features are independent."""
        scale = np.minimum(1.0, self.dof / np.maximum(self.mean, ZERO))
        freedom = np.maximum(np.minimum(self.dof, self.mean), 1.0)
        p = chdtrc(freedom, np.maximum(self.g, 0.0) * scale)
        return np.where(self.dof > 0, p, 1.0)


def of_levels(x: Int64, y: Int64, sizes: tuple[int, int], codes: Int64, classes: int) -> Evidence:
    """Two columns of levels, from their counts in each class.

    Degrees of freedom: Σ_c (a_c - 1)(b_c - 1), with the numbers of levels met in class c.

    Parameters
    ----------
    x, y : (n,) positions of levels, or the number of levels where missing.
    sizes : the numbers of levels.
    codes : (n,) class of each row.
    """
    a, b = sizes
    known = (x < a) & (y < b)
    if not known.all():
        x, y, codes = x[known], y[known], codes[known]
    cell, count = _counted((codes * a + x) * b + y, classes * a * b)
    row, rows = _counted(cell // b, classes * a, count)
    column, columns = _counted(cell // (a * b) * b + cell % b, classes * b, count)
    groups, totals = _counted(cell // (a * b), classes, count)
    g = 2.0 * float(
        xlogy(count, count).sum() - xlogy(rows, rows).sum() - xlogy(columns, columns).sum()
        + xlogy(totals, totals).sum()
    )  # fmt: skip
    mean, dof = 0.0, 0
    terms: list[Any] = []
    for group, total in zip(groups.tolist(), totals.tolist(), strict=True):
        own = rows[slice(*np.searchsorted(row, [group * a, group * a + a]))]
        other = columns[slice(*np.searchsorted(column, [group * b, group * b + b]))]
        free = (len(own) - 1) * (len(other) - 1)
        if free:
            dof += free
            r, times_r = np.unique(own, return_counts=True)
            c, times_c = np.unique(other, return_counts=True)
            size = len(r) * len(c)
            terms.append((
                np.repeat(r, len(c)), np.tile(c, len(r)), np.full(size, total),
                np.outer(times_r, times_c).ravel(),
            ))  # fmt: skip
    if terms:
        r, c, n, times = map(np.concatenate, zip(*terms, strict=True))
        mean = float(expected(r, c, n) @ times)
    return Evidence(len(x), max(g, 0.0), mean, dof)


def expected(r: Any, c: Any, n: Any) -> Float64:
    """The mean of 2 k log(k n / (r c)), k hypergeometric: what a cell adds to G by chance.

    Summed term by term for small r c / n; else from the moments, up to (r c / n)^-2.

    Parameters
    ----------
    r, c, n : (m,) numbers of rows with the one level, with the other, and of all.
    """
    r, c, n = (np.asarray(one, np.float64) for one in (r, c, n))
    mu = r * c / n
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = mu * (1 - r / n) * (1 - c / n) * n / (n - 1)
        third = variance * (1 - 2 * r / n) * (1 - 2 * c / n) * n / (n - 2)
        found = variance / mu - third / (3 * mu**2) + variance**2 / (2 * mu**3)
    few = np.flatnonzero(mu < SMALL)
    if len(few):
        found[few] = 2.0 * _summed(r[few], c[few], n[few])
    return found


def _summed(r: Float64, c: Float64, n: Float64) -> Float64:
    """The mean of k log(k n / (r c)) over the hypergeometric distribution of k."""
    k = np.maximum(r + c - n, 0.0)
    log_p = (
        gammaln(r + 1) + gammaln(n - r + 1) + gammaln(c + 1) + gammaln(n - c + 1) - gammaln(n + 1)
        - gammaln(k + 1) - gammaln(r - k + 1) - gammaln(c - k + 1) - gammaln(n - r - c + k + 1)
    )  # fmt: skip
    p, mu = np.exp(log_p), r * c / n
    found, at = np.zeros(len(p)), np.arange(len(p))
    while len(at):
        found[at] += p * xlogy(k, k / mu)
        p *= (r - k) * (c - k) / ((k + 1.0) * (n - r - c + k + 1.0))
        k += 1.0
        left = (p > ZERO) | (k < mu)
        if left.sum() < LEFT * len(left):
            at, p, mu, k, r, c, n = (one[left] for one in (at, p, mu, k, r, c, n))
    return found


def of_numbers(X: Float64, codes: Int64, classes: int) -> Evidence:
    """All pairs of columns of numbers, each normal within the class: arrays (d, d).

    Degrees of freedom: the number of classes with three rows or more in which both vary.

    Parameters
    ----------
    X : (n, d) float64, NaN where missing.
    codes : (n,) class of each row.
    """
    d = X.shape[1]
    rows, g, mean = np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d))
    dof = np.zeros((d, d), np.int64)
    for own in _by_class(codes, classes):
        Z, known = _standard(X[own])
        n = known.T @ known
        sums = Z.T @ known  # of column i over the rows where j is known, too
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = (Z**2).T @ known - sums**2 / n
            rho2 = (Z.T @ Z - sums * sums.T / n) ** 2 / (spread * spread.T)
        vary = (n > 2) & (np.minimum(spread, spread.T) > ZERO * n)
        more, usual = _explained(n, np.where(vary, 1.0 - rho2, 1.0), np.where(vary, 1, 0))
        rows, g, mean, dof = rows + n, g + more, mean + usual, dof + vary
    return Evidence(rows, g, mean, dof)


def of_both(x: Int64, size: int, Z: Float64, codes: Int64, classes: int) -> Evidence:
    """A column of levels with each column of numbers, by analysis of variance: arrays (d,).

    Degrees of freedom: Σ_c (a_c - 1), with the number of levels met in class c, for classes with
    more rows than levels in which the number varies.

    Parameters
    ----------
    x : (n,) positions of levels, or `size` where missing.
    Z : (n, d) float64, NaN where missing.
    codes : (n,) class of each row.
    """
    d = Z.shape[1]
    rows, g, mean, dof = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d, np.int64)
    for own in _by_class(codes, classes):
        own = own[x[own] < size]
        if len(own) == 0:
            continue
        z, known = _standard(Z[own])
        levels, group = np.unique(x[own], return_inverse=True)
        places = group, np.arange(len(own))
        hot = csr_array((np.ones(len(own)), places), (len(levels), len(own)))
        count, sums = hot @ known, hot @ z
        n, met = count.sum(axis=0), (count > 0).sum(axis=0)
        squares = (z**2).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            within = squares - np.where(count > 0, sums**2 / count, 0.0).sum(axis=0)
            whole = squares - sums.sum(axis=0) ** 2 / n
        vary = (met > 1) & (n > met) & (whole > ZERO * n)
        free = np.where(vary, met - 1, 0)
        more, usual = _explained(n, np.where(vary, within / np.where(vary, whole, 1.0), 1.0), free)
        rows, g, mean, dof = rows + n, g + more, mean + usual, dof + free
    return Evidence(rows, g, mean, dof)


def _explained(n: Float64, rest: Float64, dof: Int64) -> tuple[Float64, Float64]:
    """(g, its mean) of a class in which a part of the variance is left unexplained: -n log of it.

    That part has the distribution Beta((n - 1 - dof) / 2, dof / 2) under independence; dof is 0
    where there is nothing to explain.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        g = -n * np.log(np.where(rest > ZERO, np.minimum(rest, 1.0), 0.0))
        mean = n * (digamma((n - 1.0) / 2.0) - digamma((n - 1.0 - dof) / 2.0))
    return np.where(dof > 0, g, 0.0), np.where(dof > 0, mean, 0.0)


def _standard(X: Float64) -> tuple[Float64, Float64]:
    """(columns of mean 0 and variance 1, 0 where missing; 1 where known) of the rows of a class."""
    known = ~np.isnan(X)
    count = np.maximum(known.sum(axis=0), 1)
    exponent = np.frexp(np.fmax.reduce(np.abs(X), axis=0, initial=0.0))[1]
    small = np.ldexp(X, -exponent)  # below 1, so that no square overflows
    mean = np.where(known, small, 0.0).sum(axis=0) / count
    centred = np.where(known, small - mean, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=0) / count)
    flat = deviation < FLAT
    centred[:, flat] = 0.0
    return centred / np.where(flat, 1.0, deviation), known.astype(np.float64)


def _by_class(codes: Int64, classes: int) -> list[Int64]:
    """The rows of each class."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=classes))[:-1])


def _counted(cells: Int64, size: int, times: Int64 | None = None) -> tuple[Int64, Int64]:
    """(the distinct numbers, all below `size`, sorted; how many times each was met)."""
    found = None
    if size > CELLS:
        found, cells = np.unique(cells, return_inverse=True)
        size = len(found)
    counts = np.bincount(cells, times, size).astype(np.int64)
    met = np.flatnonzero(counts)
    return met if found is None else found, counts[met]
