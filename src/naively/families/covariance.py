"""Covariance matrices from exact sums: Σ = (Σ x xᵀ - n μ μᵀ) / n, shrunk if asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from naively.exact import KEPT_BITS, ExactArray, Float64, Int64
from naively.families.base import SingularCovarianceError, Statistics
from naively.families.gaussian import SMALLEST, Moments, ratio
from naively.families.products import cell_count, row_edges
from naively.kernels import products as kernel
from naively.workers import Workers

Shrinkage = Literal["auto", "oas"] | float | None
MANTISSA = 30  # bits of a piece of a centre
ALONE = 100  # features up to which one worker is enough
COMBINATION = "is a linear combination of others"


class MultivariateStatistics(Statistics):
    """Sums of features and of products of two features.

    Attributes
    ----------
    tables : ``sum`` (C, d), Σ w x_i; ``product`` (C, d (d + 1) / 2), Σ w x_i x_j for i <= j;
        ``missing`` (C, d), the weight of the rows that lack i; ``gone`` (C, d, d), Σ w x_i over
        the rows that have i and lack j; ``both_gone`` (C, d (d + 1) / 2), the weight of the rows
        that lack both. Without missing values the last three take no memory.
    pooled : whether ``product`` is the sum over all classes, (1, d (d + 1) / 2).
    """

    signed = ("sum", "product", "gone")

    def __init__(self, tables: dict[str, ExactArray], pooled: bool) -> None:
        super().__init__(tables)
        self.pooled = pooled

    def shapes(self, classes: int, d: int) -> dict[str, tuple[int, ...]]:
        """The shape of each table."""
        pairs = cell_count(d)
        return {
            "sum": (classes, d), "product": (1 if self.pooled else classes, pairs),
            "missing": (classes, d), "gone": (classes, d, d), "both_gone": (classes, pairs),
        }  # fmt: skip

    def with_classes(self, positions: Int64, n_classes: int) -> MultivariateStatistics:
        """Spread over more classes."""
        return self._by_class(lambda table: table.placed(0, positions, n_classes))

    def taken_classes(self, classes: Int64) -> MultivariateStatistics:
        """Of some classes only; pooled products stay those of all."""
        return self._by_class(lambda table: table.taken(0, classes))

    def add(self, other: Statistics, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) the statistics of `other`, whose class k is self's classes[k]."""
        for name, table in other.tables.items():
            rows = None if self._is_pooled(name) else classes
            self.tables[name] = self.tables[name].add(table, rows=rows, sign=sign)

    def with_columns(self, own: Int64, positions: Int64, n_features: int) -> MultivariateStatistics:
        """The features in another order: own[k] is positions[k]; they stay together."""
        order = own[np.argsort(positions)]
        assert n_features == len(order) == self.tables["sum"].shape[1]
        i, j = np.triu_indices(n_features)
        cells = pair_cells(order[i], order[j], n_features)
        gone = self.tables["gone"].taken(1, order).taken(2, order)
        return self._with(
            {
                "sum": self.tables["sum"].taken(1, order),
                "product": self.tables["product"].taken(1, cells),
                "missing": self.tables["missing"].taken(1, order),
                "gone": gone,
                "both_gone": self.tables["both_gone"].taken(1, cells),
            }
        )

    def lack(self, columns: Int64, class_weight: ExactArray) -> None:
        """Count all features, or none, as missing in rows of these weights."""
        super().lack(columns, class_weight)
        if len(columns):
            cells = self.tables["both_gone"].shape[1]
            limbs = np.repeat(class_weight.limbs[:, np.newaxis, :], cells, axis=1)
            both = self.tables["both_gone"].add(ExactArray(limbs, class_weight.low))
            self.tables["both_gone"] = both

    def pair_weight(self, class_weight: ExactArray) -> ExactArray:
        """The weight of the rows that have both features, (C, d (d + 1) / 2)."""
        d = self.tables["sum"].shape[1]
        limbs = np.repeat(class_weight.limbs[:, np.newaxis, :], cell_count(d), axis=1)
        weight = ExactArray(limbs, class_weight.low)
        missing = self.tables["missing"]
        if missing.limbs.shape[-1]:
            for feature in np.triu_indices(d):
                weight = weight.add(missing.taken(1, feature), sign=-1)
        return weight.add(self.tables["both_gone"])

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no data can have these statistics, or None if some might."""
        d = self.tables["sum"].shape[1]
        weight = self.pair_weight(class_weight)
        lacking = self.tables["missing"], self.tables["both_gone"]
        total = ExactArray(class_weight.limbs[:, np.newaxis], class_weight.low)
        if weight.below_zero(total) or any(table.any_negative() for table in lacking):
            return "more was forgotten than was learned"
        seen = weight.nonzero()
        stray = (self.tables["sum"].nonzero() & ~seen[:, diagonal(d)]).any()
        if self.pooled:
            seen = summed_classes(weight).nonzero()
        if stray or (self.tables["product"].nonzero() & ~seen).any():
            return "these rows were not all learned before"
        if self.moments(class_weight).contradictory():
            return "these rows were not all learned before"
        return None

    def moments(self, class_weight: ExactArray) -> Moments:
        """Σ x and Σ x² of each class, or of all together if the products are pooled."""
        d = self.tables["sum"].shape[1]
        tables = {name: self.tables[name] for name in ("sum", "missing")}
        tables["square"] = self.tables["product"].taken(1, diagonal(d))
        if not self.pooled:
            return Moments(Statistics(tables), class_weight)
        tables = {name: summed_classes(table) for name, table in tables.items()}
        return Moments(Statistics(tables), summed_classes(class_weight))

    def _is_pooled(self, name: str) -> bool:
        return self.pooled and name == "product"

    def _by_class(self, function: Any) -> MultivariateStatistics:
        return self._with(
            {
                name: table if self._is_pooled(name) else function(table)
                for name, table in self.tables.items()
            }
        )

    def _with(self, tables: dict[str, ExactArray]) -> Any:
        return type(self)(tables, self.pooled)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MultivariateStatistics)
            and self.pooled == other.pooled
            and self.tables == other.tables
        )

    __hash__ = None


def diagonal(d: int) -> Int64:
    """The cells of the features with themselves."""
    i = np.arange(d)
    return i * d - i * (i - 1) // 2


def pair_cells(i: Int64, j: Int64, d: int) -> Int64:
    """The cells of pairs of features, in either order."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    return low * d - low * (low - 1) // 2 + high - low


def summed_classes(table: ExactArray) -> ExactArray:
    """The sum over the classes, as of one class."""
    total = table.summed(0)
    return ExactArray(total.limbs[np.newaxis], total.low)


class ClassSums:
    """n and Σ x of one class for each pair of features, as Python integers on a common grid.

    Attributes
    ----------
    low : the grid is 2^(32 low).
    weight : (1, 1), or (d, d) with missing values: n of the rows that have both i and j.
    sums : (1, d) or (d, d), Σ x_j over the rows that have i too.
    size : the exponent of a power of two above all weights.
    """

    def __init__(
        self, statistics: MultivariateStatistics, class_weight: ExactArray, code: int
    ) -> None:
        one = np.array([code])
        tables = {name: statistics.tables[name].taken(0, one) for name in ("sum", "missing")}
        lacking = bool(tables["missing"].nonzero().any())
        if lacking:
            tables |= {
                name: statistics.tables[name].taken(0, one) for name in ("gone", "both_gone")
            }
        numbers = {name: table.integers() for name, table in tables.items()}
        numbers["weight"] = class_weight.taken(0, one).integers()
        self.low = min(0, *(low for _, low in numbers.values()))
        on_grid = {
            name: values * (1 << 32 * (low - self.low)) for name, (values, low) in numbers.items()
        }
        self.weight = on_grid["weight"].reshape(1, 1)
        self.sums = on_grid["sum"]
        if lacking:
            missing = on_grid["missing"][0]
            d = len(missing)
            both = np.zeros((d, d), object)
            both[np.triu_indices(d)] = on_grid["both_gone"][0]
            both = both + np.triu(both, 1).T
            total = on_grid["weight"][0]
            self.weight = self.weight - missing - missing[:, np.newaxis] + both
            self.weight[self.weight <= total >> KEPT_BITS] = 0  # what decay rounded off
            self.sums = self.sums - on_grid["gone"][0].T
        self.size = 32 * self.low + max(self.weight.ravel().tolist()).bit_length()

    def mean(self) -> tuple[Float64, npt.NDArray[np.bool_]]:
        """(Σ x / n of each feature, 0 where unknown; whether any row has it), (d,) each."""
        d = self.sums.shape[1]
        weight = np.broadcast_to(self.weight, (d, d)).diagonal()
        sums = np.broadcast_to(self.sums, (d, d)).diagonal()
        return ratio(sums, weight), weight.astype(bool)

    def freedom(self, ddof: int) -> Float64:
        """n - ddof of each pair, or 0 if that is less."""
        one = 1 << -32 * self.low
        rest = self.weight - ddof * one
        return np.maximum(ratio(rest, np.full(rest.shape, one, object)), 0.0)


def covariance(
    products: ExactArray, classes: Sequence[ClassSums], mean: Float64, ddof: int, out: Float64,
    workers: Workers,
) -> float:  # fmt: skip
    """Write the covariance of some classes together to `out`, (d, d).

    The products are centred near each class's mean exactly, and rounded once, so that neither
    a common offset nor the distance of the classes costs digits.

    Parameters
    ----------
    products : ExactArray (d (d + 1) / 2,)
    classes, mean : what else was summed, and the means, near which to centre, (c, d).

    Returns
    -------
    The degrees of freedom, n - ddof of each class; their median over the pairs of features.
    """
    freedom = np.zeros((max(len(one.sums) for one in classes), mean.shape[1]))
    for one in classes:
        freedom += one.freedom(ddof)
    for pieces in (1, 2):  # one does, unless a mean is 2^29 deviations from 0
        if _centre(products, classes, *_centres(mean, pieces), freedom, out, workers):
            break
    return float(np.median(freedom))


def _centres(mean: Float64, pieces: int) -> tuple[Int64, Int64]:
    """Mantissas and exponents of centres, (pieces, c, d) each; two pieces are the mean itself."""
    mantissas, exponents = [], []
    for _ in range(pieces):
        fraction, exponent = np.frexp(mean)
        mantissa = np.trunc(np.ldexp(fraction, MANTISSA))
        exponent = np.where(mantissa == 0, 0, exponent - MANTISSA)
        mean = mean - np.ldexp(mantissa, exponent)
        mantissas.append(mantissa.astype(np.int64))
        exponents.append(exponent.astype(np.int64))
    return np.array(mantissas), np.array(exponents)


def _centre(
    products: ExactArray, classes: Sequence[ClassSums], mantissa: Int64, exponent: Int64,
    freedom: Float64, out: Float64, workers: Workers,
) -> bool:  # fmt: skip
    """Write the covariance about these centres; returns whether they are near enough."""
    fine = min(0, int(exponent.min(initial=0)) // 32)  # the grid of the centres
    low = fine + min(one.low for one in classes)  # that of Σ x and n times a centre
    unit = max(one.size for one in classes)  # so that no weight leads out of float64
    shape = len(classes), *freedom.shape
    exact = np.empty((2, *shape), object)
    rest, weight = np.empty(shape), np.empty(shape)
    for c, one in enumerate(classes):
        centre = (mantissa[:, c].astype(object) << exponent[:, c] - 32 * fine).sum(axis=0)
        sums = one.sums * (1 << -32 * fine)
        about = sums - one.weight * centre
        finer = 1 << 32 * (one.low + fine - low)
        exact[0, c], exact[1, c] = sums * finer, about * finer
        rest[c] = _floats(about, 32 * (one.low + fine) - unit)
        weight[c] = _floats(one.weight, 32 * one.low - unit)
    digits, first = ExactArray.from_numbers(exact.ravel().tolist(), exact.shape, low).digits
    lowest = min(products.low, first + min(0, int(exponent.min(initial=0)) // 32))
    highest = max(
        products.low + products.limbs.shape[-1],
        first + digits.shape[-1] + max(0, int(exponent.max(initial=0))) // 32 + 3,
    )
    arguments = (
        products.limbs, products.low - lowest, digits[0], digits[1], 32 * first, mantissa,
        exponent, 32 * lowest, highest - lowest + 1, unit, rest, _or_infinity(weight),
        _or_infinity(np.ldexp(freedom, -unit)),
    )  # fmt: skip
    edges = row_edges(len(out), workers.count if len(out) > ALONE else 1)
    near = workers.map(lambda rows: kernel.centre(*arguments, *rows, out), pairwise(edges))
    return all(near)


def _floats(values: npt.NDArray[np.object_], exponent: int) -> Float64:
    """The integers times 2^exponent, rounded."""
    ones = np.full(values.shape, 1 << max(-exponent, 0), object)
    return ratio(values * (1 << max(exponent, 0)), ones)


def _or_infinity(values: Float64) -> Float64:
    return np.where(values > 0, values, np.inf)


@np.errstate(over="ignore", invalid="ignore")  # `whiten` refuses what is not finite
def shrink(covariance: Float64, shrinkage: Shrinkage, n: float, spread: Float64) -> float:
    """Draw a covariance towards a simpler one, in place; returns how far, from 0 to 1.

    A number draws towards (tr Σ / d) I, as `sklearn.covariance.shrunk_covariance`. "auto" and
    "oas" find the amount for the correlations, so that no unit matters, from the covariance and
    the degrees of freedom `n` alone, as normal data allow: "auto" is the estimator of Ledoit and
    Wolf 2004 given the sufficient statistics (its Rao-Blackwell version), "oas" the oracle
    approximation, both of Chen, Wiesel, Eldar and Hero 2010. The unit of a feature that is constant
    here is its variance over all classes, `spread`.
    """
    if shrinkage is None:
        return 0.0
    d = len(covariance)
    own = np.diag_indices(d)
    amount = 0.0 if isinstance(shrinkage, str) else float(shrinkage)
    target = covariance[own].mean()
    if isinstance(shrinkage, str):
        variance = covariance[own]
        scale = np.sqrt(np.where(variance > 0, variance, np.where(spread > 0, spread, 1.0)))
        correlation = covariance / scale / scale[:, np.newaxis]
        trace, squares = correlation.trace(), (correlation**2).sum()
        if shrinkage == "auto":
            above, below = max(n - 2.0, 0.0) / max(n, 1.0) * squares + trace**2, n + 2.0
        else:
            above, below = (1.0 - 2.0 / d) * squares + trace**2, n + 1.0 - 2.0 / d
        below *= squares - trace**2 / d
        amount = min(max(above / below, 0.0), 1.0) if below > 0 else 1.0
        target = trace / d * scale**2
    covariance *= 1.0 - amount
    covariance[own] += amount * target
    return amount


def whiten(covariance: Float64) -> tuple[Float64, float]:
    """(A, log |Σ|) with A lower triangular and A Σ Aᵀ = I; `covariance` is used up.

    Raises
    ------
    SingularCovarianceError : naming a feature that has no density given those before it.
    """
    d = len(covariance)
    variance = covariance.diagonal()
    with np.errstate(over="ignore", invalid="ignore"):
        finite = math.isfinite(covariance.sum())
    if not finite:
        feature = int((~np.isfinite(covariance)).any(axis=0).argmax())
        raise SingularCovarianceError(feature, "has values too large for their products")
    if (variance < SMALLEST).any():
        feature = int((variance < SMALLEST).argmax())
        raise SingularCovarianceError(feature, "never varies, or by less than 1e-154")
    deviation = np.sqrt(variance)
    covariance /= deviation  # now the correlations
    covariance /= deviation[:, np.newaxis]
    factor, info = lapack.dpotrf(covariance.T, lower=1, clean=1, overwrite_a=1)
    if info > 0:
        raise SingularCovarianceError(info - 1, COMBINATION)
    log_det = 2.0 * float((np.log(factor.diagonal()) + np.log(deviation)).sum())
    inverse, _ = lapack.dtrtri(factor, lower=1, overwrite_c=1)
    # a row w of it, wᵀ Σ w = 1, tells of a combination of features with the variance 1 / |w|²
    large = np.einsum("ij,ij->i", inverse, inverse) > 1.0 / (8 * d * np.finfo(np.float64).eps)
    if large.any():
        raise SingularCovarianceError(int(large.argmax()), COMBINATION)
    inverse /= deviation
    return inverse, log_det
