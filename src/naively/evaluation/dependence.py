"""Test whether two features are dependent given the class, by likelihood ratios.

The (conditional) mutual information of two features is estimated by maximum likelihood,

    I(X_i; X_j | Y) = Σ_c π_c I_c,    G = 2 n I = 2 Σ_c n_c I_c,

with G the likelihood ratio of "dependent in each class" against "independent in each class":

- two categorical columns: I_c from the table of counts (Wilks 1938);
- two numeric columns, normal within the class: I_c = -½ log(1 - ρ_c²);
- a categorical and a numeric column, whose normal scores have a mean for each category and one
  variance: I_c = -½ log(SSW_c / SST_c), the analysis of variance.

With many rows, G has a χ² distribution if the features are independent given the class. With few
rows, its mean is larger than that of χ² if expected counts are near 1, and smaller if they are far
below. So the mean of G under independence is computed exactly. Where it is larger, G is scaled down
to the mean of its χ² (the idea of Bartlett 1937); where it is smaller, the χ² gets that mean as its
degrees of freedom (at least 1). The mean follows from the hypergeometric distribution given the
margins for categories (Vinh, Epps & Bailey 2010), and from the beta distribution of 1 - ρ² and
SSW / SST for normal numbers.

The estimate has this mean as its bias, which is large for many categories with few rows each.
So what is reported is I less its mean, as in the adjusted mutual information of Vinh et al.; with a
categorical column it is at most the entropy of this column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array
from scipy.special import chdtrc, digamma, gammaln, ndtri, xlogy

from naively.core.exact import Float64, Int64
from naively.core.issues import Invalid
from naively.core.workers import Workers
from naively.evaluation.samples import LabelledRows
from naively.explain.importance import bits_of
from naively.model.model import Model
from naively.model.prior import Prior
from naively.model.schema import Schema
from naively.tables.encoding import encode_part
from naively.text.documents import Documents

CELLS = 1 << 22  # of a table of counts, above which only nonzero cells are stored
SMALL = 30.0  # expected count, up to which the mean of G is summed term by term
LEFT = 0.8  # share of unfinished sums, below which finished ones are dropped
FEWEST = 2  # rows of a class, below which a category has no mean of its own
ZERO = 1e-12  # share of a variance that is rounding error
FLAT = 1e-15  # standard deviation that is rounding error, of numbers up to 1


@dataclass(frozen=True)
class Evidence:
    """Likelihood ratios of the dependence of features; numbers, or arrays for many pairs."""

    rows: Any  # number of rows in which neither feature is missing
    g: Any  # likelihood ratio 2 n I, in nats; inf if one feature is a function of the other
    mean: Any  # expected g of independent features
    dof: Any  # degrees of freedom of the asymptotic χ² distribution of g
    most: Any = math.inf  # largest possible g, 2 n times the entropy of a categorical feature

    def __getitem__(self, at: Any) -> Evidence:
        most = self.most if np.ndim(self.most) == 0 else self.most[at]
        return Evidence(self.rows[at], self.g[at], self.mean[at], self.dof[at], most)

    @property
    def nats(self) -> Any:
        """The mutual information I, in nats, at most the entropy of a categorical feature."""
        bounded = np.clip(self.g, 0.0, self.most)
        return bounded / (2.0 * np.maximum(self.rows, 1))

    @property
    def chance(self) -> Any:
        """The expected I of independent features, in nats."""
        return self.mean / (2.0 * np.maximum(self.rows, 1))

    @property
    def p_value(self) -> Any:
        """Probability of this g or a larger one, if the features are independent."""
        scale = np.minimum(1.0, self.dof / np.maximum(self.mean, ZERO))
        freedom = np.maximum(np.minimum(self.dof, self.mean), 1.0)
        p = chdtrc(freedom, np.maximum(self.g, 0.0) * scale)
        return np.where(self.dof > 0, p, 1.0)


def of_levels(x: Int64, y: Int64, sizes: tuple[int, int], codes: Int64, classes: int) -> Evidence:
    """Compare two categorical columns, by their counts in each class.

    Degrees of freedom: Σ_c (a_c - 1)(b_c - 1), with the numbers of categories in class c.

    `x, y`: category codes, or the number of categories where missing.
    """
    a, b = sizes
    present = (x < a) & (y < b)
    if not present.all():
        x, y, codes = x[present], y[present], codes[present]
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
        row_counts = rows[slice(*np.searchsorted(row, [group * a, group * a + a]))]
        column_counts = columns[slice(*np.searchsorted(column, [group * b, group * b + b]))]
        freedom = (len(row_counts) - 1) * (len(column_counts) - 1)
        if freedom:
            dof += freedom
            r, times_r = np.unique(row_counts, return_counts=True)
            c, times_c = np.unique(column_counts, return_counts=True)
            size = len(r) * len(c)
            terms.append((
                np.repeat(r, len(c)), np.tile(c, len(r)), np.full(size, total),
                np.outer(times_r, times_c).ravel(),
            ))  # fmt: skip
    if terms:
        r, c, n, times = map(np.concatenate, zip(*terms, strict=True))
        mean = float(expected(r, c, n) @ times)
    return Evidence(len(x), max(g, 0.0), mean, dof)


def expected(r: npt.NDArray[Any], c: npt.NDArray[Any], n: npt.NDArray[Any]) -> Float64:
    """The mean of 2 k log(k n / (r c)), k hypergeometric: a cell's part of the expected G.

    Summed term by term for small r c / n; else from the moments, up to (r c / n)^-2.

    `r, c, n`: (m,) numbers of rows with the first category, with the second, and of all.
    """
    r, c, n = (np.asarray(array, np.float64) for array in (r, c, n))
    mu = r * c / n
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = mu * (1 - r / n) * (1 - c / n) * n / (n - 1)
        third = variance * (1 - 2 * r / n) * (1 - 2 * c / n) * n / (n - 2)
        values = variance / mu - third / (3 * mu**2) + variance**2 / (2 * mu**3)
    small = np.flatnonzero(mu < SMALL)
    if len(small):
        values[small] = 2.0 * _summed(r[small], c[small], n[small])
    return values


def _summed(r: Float64, c: Float64, n: Float64) -> Float64:
    """The mean of k log(k n / (r c)) over the hypergeometric distribution of k."""
    k = np.maximum(r + c - n, 0.0)
    log_p = (
        gammaln(r + 1) + gammaln(n - r + 1) + gammaln(c + 1) + gammaln(n - c + 1) - gammaln(n + 1)
        - gammaln(k + 1) - gammaln(r - k + 1) - gammaln(c - k + 1) - gammaln(n - r - c + k + 1)
    )  # fmt: skip
    p, mu = np.exp(log_p), r * c / n
    sums, index = np.zeros(len(p)), np.arange(len(p))
    while len(index):
        sums[index] += p * xlogy(k, k / mu)
        p *= (r - k) * (c - k) / ((k + 1.0) * (n - r - c + k + 1.0))
        k += 1.0
        active = (p > ZERO) | (k < mu)
        if active.sum() < LEFT * len(active):
            index, p, mu, k, r, c, n = (array[active] for array in (index, p, mu, k, r, c, n))
    return sums


def of_numbers(X: Float64, codes: Int64, classes: int) -> Evidence:
    """Compare all pairs of numeric columns, normal within the class: arrays (d, d).

    Degrees of freedom: the number of classes with three rows or more in which both vary.

    `X`: (n, d) float64, NaN where missing.
    """
    d = X.shape[1]
    rows, g, mean = np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d))
    dof = np.zeros((d, d), np.int64)
    for class_rows in _by_class(codes, classes):
        Z, present = _standard(X[class_rows])
        n = present.T @ present
        sums = Z.T @ present  # of column i, over the rows where j is not missing
        with np.errstate(invalid="ignore", divide="ignore"):
            squares = (Z**2).T @ present - sums**2 / n
            rho2 = (Z.T @ Z - sums * sums.T / n) ** 2 / (squares * squares.T)
        vary = (n > 2) & (np.minimum(squares, squares.T) > ZERO * n)
        class_g, expected_g = _explained(n, np.where(vary, 1.0 - rho2, 1.0), np.where(vary, 1, 0))
        rows, g, mean, dof = rows + n, g + class_g, mean + expected_g, dof + vary
    return Evidence(rows, g, mean, dof)


def of_both(x: Int64, size: int, Z: Float64, codes: Int64, classes: int) -> Evidence:
    """Compare a categorical column with numeric ones, by analysis of variance: arrays (d,).

    Categories with one row of a class are taken together there: each would be a degree of freedom,
    and explain its row. So at least half of the degrees of freedom remain for the variance within
    categories, and information can only be lost. A single such row is left out.

    Degrees of freedom: Σ_c (a_c - 1), with the number of such groups in class c, for classes in
    which the number varies.

    `x`: (n,) category codes, or `size` where missing. `Z`: (n, d) float64, NaN where missing.
    """
    d = Z.shape[1]
    rows, g, mean, dof = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d, np.int64)
    most = np.zeros(d)
    for class_rows in _by_class(codes, classes):
        class_rows = class_rows[x[class_rows] < size]
        if len(class_rows) == 0:
            continue
        z, present = _standard(Z[class_rows])
        levels, group = np.unique(x[class_rows], return_inverse=True)
        coordinates = group, np.arange(len(class_rows))
        hot = csr_array((np.ones(len(class_rows)), coordinates), (len(levels), len(class_rows)))
        count, sums, squares = _pooled(hot @ present, hot @ z, hot @ z**2)
        n, n_levels, square = count.sum(axis=0), (count > 0).sum(axis=0), squares.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            within = square - np.where(count > 0, sums**2 / count, 0.0).sum(axis=0)
            total = square - sums.sum(axis=0) ** 2 / n
        vary = (n_levels > 1) & (total > ZERO * n)
        freedom = np.where(vary, n_levels - 1, 0)
        rest = np.where(vary, within / np.where(vary, total, 1.0), 1.0)
        class_g, expected_g = _explained(n, rest, freedom)
        rows, g, mean, dof = rows + n, g + class_g, mean + expected_g, dof + freedom
        most += 2.0 * (xlogy(n, n) - xlogy(count, count).sum(axis=0))
    return Evidence(rows, g, mean, dof, most)


def normal_scores(X: Float64, codes: Int64, classes: int) -> Float64:
    """Transform each numeric column to Φ⁻¹(rank / (n + 1)) within each class; NaN where missing.

    Mutual information does not depend on the scale, but analysis of variance does: a few large
    values, as of incomes, would make the categories that have them differ from the others.

    `X`: (n, d) float64, NaN where missing.
    """
    scores = np.full_like(X, np.nan)
    for class_rows in _by_class(codes, classes):
        for k, column in enumerate(X[class_rows].T):
            present = ~np.isnan(column)
            _, place, ties = np.unique(column[present], return_inverse=True, return_counts=True)
            ranks = np.cumsum(ties) - (ties - 1) / 2
            scores[class_rows[present], k] = ndtri(ranks / (len(place) + 1))[place]
    return scores


def _pooled(count: Float64, *sums: Float64) -> list[Float64]:
    """Add the rare categories of each column up, in a last row, unless it is rare itself."""
    rare = count < FEWEST
    pooled = np.where(rare, count, 0.0).sum(axis=0)
    enough = pooled >= FEWEST
    return [
        np.vstack([np.where(rare, 0.0, x), np.where(rare & enough, x, 0.0).sum(axis=0)])
        for x in (count, *sums)
    ]


def _explained(n: Float64, rest: Float64, dof: Int64) -> tuple[Float64, Float64]:
    """(g, its mean) of a class, g = -n log(rest), with the share `rest` of variance unexplained.

    Under independence that share is Beta((n - 1 - dof) / 2, dof / 2) distributed; dof is 0 where
    nothing varies.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        g = -n * np.log(np.where(rest > ZERO, np.minimum(rest, 1.0), 0.0))
        mean = n * (digamma((n - 1.0) / 2.0) - digamma((n - 1.0 - dof) / 2.0))
    return np.where(dof > 0, g, 0.0), np.where(dof > 0, mean, 0.0)


def _standard(X: Float64) -> tuple[Float64, Float64]:
    """Standardise the rows of a class: (mean 0 and variance 1, 0 where missing; 1 if present)."""
    present = ~np.isnan(X)
    count = np.maximum(present.sum(axis=0), 1)
    exponent = np.frexp(np.fmax.reduce(np.abs(X), axis=0, initial=0.0))[1]
    scaled = np.ldexp(X, -exponent)  # below 1, so that no square overflows
    mean = np.where(present, scaled, 0.0).sum(axis=0) / count
    centred = np.where(present, scaled - mean, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=0) / count)
    flat = deviation < FLAT
    centred[:, flat] = 0.0
    return centred / np.where(flat, 1.0, deviation), present.astype(np.float64)


def _by_class(codes: Int64, classes: int) -> list[Int64]:
    """The rows of each class."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=classes))[:-1])


def _counted(cells: Int64, size: int, times: Int64 | None = None) -> tuple[Int64, Int64]:
    """(distinct numbers, all below `size`, sorted; the count of each)."""
    distinct = None
    if size > CELLS:
        distinct, cells = np.unique(cells, return_inverse=True)
        size = len(distinct)
    counts = np.bincount(cells, times, size).astype(np.int64)
    nonzero = np.flatnonzero(counts)
    return nonzero if distinct is None else distinct, counts[nonzero]


# ---- pairs ---------------------------------------------------------------------------------------


LEVEL = 0.05  # significance level of the tests of all pairs together
COLUMNS = 64  # columns whose pairs are tested, at most (2,016 pairs), or
TABLES = 50_000  # fewer, with many classes: so many tables of counts


@dataclass(frozen=True, eq=False)
class Feature:
    """A column, as category codes or as numbers."""

    name: str
    # (n,) int64 category codes, or `levels` where missing; or float64 with NaN
    values: npt.NDArray[Any]
    levels: int = 0  # number of categories; 0 for a numeric column


@dataclass(frozen=True)
class ColumnPair:
    """The dependence of two columns, given the class and marginal.

    Attributes
    ----------
    first, second : names of the columns.
    kind : "levels" (both categorical), "numbers" (both numeric), or "both" for one of each.
    rows : number of compared rows, in which neither is missing.
    given_class : maximum likelihood estimate of I(first; second | Y), in nats; inf if one of two
        numeric columns is a function of the other.
    chance : its expected value for columns that are independent given the class, in nats.
    dof : degrees of freedom of the test; 0 if no class has rows enough to compare.
    p_value : of independence given the class, times the number of pairs (Bonferroni), at most 1.
    marginal : estimate of I(first; second), in nats.
    marginal_chance : its expected value for independent columns, in nats.
    marginal_p_value : of independence, times the number of pairs, at most 1.
    """

    first: str
    second: str
    kind: str
    rows: int
    given_class: float
    chance: float
    dof: int
    p_value: float
    marginal: float
    marginal_chance: float
    marginal_p_value: float

    @property
    def dependent(self) -> bool:
        """Whether they are significantly dependent given the class: at 5%, over all pairs."""
        return self.p_value < LEVEL

    @property
    def excess(self) -> float:
        """`given_class` less its expected value for independent columns, in nats; at least 0."""
        return max(self.given_class - self.chance, 0.0)

    @property
    def marginal_excess(self) -> float:
        """`marginal` less its expected value for independent columns, in nats; at least 0."""
        return max(self.marginal - self.marginal_chance, 0.0)

    @property
    def correlation(self) -> float:
        """The correlation of two normal variables with the same excess: sqrt(1 - exp(-2 I)).

        This is the informational measure of correlation (Linfoot 1957), from 0 to 1.
        """
        return math.sqrt(-math.expm1(-2.0 * self.excess))


def features(schema: Schema, table: pa.Table) -> tuple[list[Feature], dict[str, Invalid]]:
    """(the columns of a schema in the order of the table, without text; their invalid values).

    Invalid values count as missing.
    """
    invalid: dict[str, Invalid] = {}
    by_name: dict[str, Feature] = {}
    for part in schema.parts:
        if part.summary.of_texts:
            continue  # see `words`
        data, invalid_of_part = encode_part(part, table, schema)
        invalid |= invalid_of_part
        for k, name in enumerate(part.names):
            if part.summary.takes == "levels":
                codes = data.codes[:, k].astype(np.int64)
                by_name[name] = Feature(name, codes, len(data.levels[k]))
            elif part.summary.takes == "truths":
                x, threshold = data[:, k], part.summary.threshold
                cutoff = 0.5 if threshold is None else threshold
                truths = np.where(np.isnan(x), 2, x > cutoff).astype(np.int64)
                by_name[name] = Feature(name, truths, 2)
            else:
                by_name[name] = Feature(name, np.ascontiguousarray(data[:, k]))
    return [by_name[name] for name in schema.ordered if name in by_name], invalid


def most_informative(features: Sequence[Feature], codes: Int64, classes: int) -> list[Feature]:
    """The features with the most information about the class, as many as `pairs` can test."""
    tables = min(COLUMNS * (COLUMNS - 1) // 2, TABLES // classes)
    limit = max(2, (1 + math.isqrt(1 + 8 * tables)) // 2)
    if len(features) <= limit:
        return list(features)
    target, zeros = Feature("class", codes, classes), np.zeros_like(codes)
    evidence = [_all([feature, target], zeros, 1)[0] for feature in features]
    excess = np.array([float(feature.nats - feature.chance) for feature in evidence])
    best = np.sort(np.argsort(-excess, kind="stable")[:limit])
    return [features[k] for k in best]


def pairs(features: Sequence[Feature], codes: Int64, classes: int) -> list[ColumnPair]:
    """Test all pairs of features; dependent pairs come first, then the others, by excess.

    Rows in which one of the two is missing are left out.
    """
    conditional = _all(features, codes, classes)
    marginal = _all(features, np.zeros_like(codes), 1)
    n_pairs = len(conditional)
    results = [
        ColumnPair(
            a.name, b.name,
            "levels" if a.levels and b.levels else "both" if a.levels or b.levels else "numbers",
            int(in_class.rows), float(in_class.nats), float(in_class.chance), int(in_class.dof),
            min(1.0, n_pairs * float(in_class.p_value)),
            float(overall.nats), float(overall.chance),
            min(1.0, n_pairs * float(overall.p_value)),
        )
        for (a, b), in_class, overall in zip(
            combinations(features, 2), conditional, marginal, strict=True
        )
    ]  # fmt: skip
    return sorted(results, key=lambda pair: (not pair.dependent, -pair.excess, pair.p_value))


def _all(features: Sequence[Feature], codes: Int64, classes: int) -> list[Evidence]:
    """The evidence of each pair: numeric columns at once, categorical columns one by one."""
    numeric = [feature for feature in features if not feature.levels]
    numbers = {feature: k for k, feature in enumerate(numeric)}
    X = np.empty((len(codes), len(numbers)))
    for feature, k in numbers.items():
        X[:, k] = feature.values
    numeric_pairs = of_numbers(X, codes, classes)
    Z = normal_scores(X, codes, classes) if len(numbers) < len(features) else X
    mixed_pairs = {
        feature: of_both(feature.values, feature.levels, Z, codes, classes)
        for feature in features
        if feature.levels
    }

    def evidence(a: Feature, b: Feature) -> Evidence:
        if a.levels and b.levels:
            sizes = a.levels, b.levels
            return of_levels(a.values, b.values, sizes, codes, classes)
        if a in numbers and b in numbers:
            return numeric_pairs[numbers[a], numbers[b]]
        levels, numeric = (a, b) if a.levels else (b, a)
        return mixed_pairs[levels][numbers[numeric]]

    return [evidence(a, b) for a, b in combinations(features, 2)]


# ---- words of text columns, as columns: present or absent in a document -------------------------


WORDS = 20  # per text column, whose pairs are tested


def words(schema: Schema, rows: LabelledRows, workers: Workers) -> dict[str, list[Feature]]:
    """The terms of each text column with the most information about the class, as binary columns.

    A column is whether the term occurs in the document.
    """
    return {
        part.names[0]: _words(
            schema.family_of[part.names[0]], part.names[0],
            encode_part(part, rows.table, schema)[0], rows.codes, workers,
        )
        for part in schema.parts
        if part.summary.of_texts
    }  # fmt: skip


def _words(family: Any, name: str, X: Documents, codes: Any, workers: Workers) -> list[Feature]:
    """The terms of one text column."""
    model = Model(Schema.of_array(family.presence, 1), Prior())
    model = model.summarise(X, codes, workers=workers)
    statistics: Any = model.statistics
    if statistics.wordless:
        return []
    posterior = model.posterior(workers)
    parameters: Any = posterior.parameters
    information = bits_of(parameters.events(()), posterior.class_prior)
    positions = np.sort(np.argsort(-information, kind="stable")[:WORDS])
    presence = parameters.having(X, positions, workers).astype(np.int64)
    if X.valid is not None:
        presence[~X.valid] = 2  # missing
    terms = parameters.named(positions)
    return [
        Feature(f"{name}: {term}", np.ascontiguousarray(column), 2)
        for term, column in zip(terms, presence.T, strict=True)
    ]
