"""Estimate covariance matrices from exact sums: virtual rows, shrinkage, whitening."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy

from naively.core.exact import KEPT_BITS, LARGEST, SMALLEST, ExactArray, Float64, Int64
from naively.core.workers import Workers
from naively.families.base import SingularCovarianceError
from naively.kernels import sums as kernel
from naively.statistics.powers import ratio
from naively.statistics.products import ProductStatistics, row_edges

MOST = 1e100
FARTHEST = 1e154  # its square is still a float64


def check_rows(alpha: Any) -> None:
    """Raise ValueError unless it is a number of virtual rows."""
    number = isinstance(alpha, Real) and not isinstance(alpha, bool)
    if not (number and 0 <= alpha <= MOST):
        raise ValueError(f"alpha must be a number of virtual rows from 0 to 1e100, not {alpha!r}")


class VirtualRows:
    """`alpha` virtual rows of each class, added to its n rows: MAP estimates of mean and variance.

    Their mean μ₀ and variance σ₀² are those of all classes together. The maximum likelihood
    estimates from the rows and the virtual rows together are::

        μ = (n x̄ + α μ₀) / (n + α)
        σ² = (S + α σ₀² + (α n / (α + n)) (x̄ - μ₀)²) / (n + α)

    with x̄ and S the mean and the sum of squared deviations of a class. So the prior is the
    likelihood of α rows, as the prior of Laplace smoothing is that of l throws: a normal-inverse-
    gamma density, whose posterior mode this is. Lecture 2, "add m virtual datapts"; Fraley &
    Raftery 2007, "Bayesian regularization for normal mixture estimation", J. of Classification 24,
    with κ = α, ν = α - 3 and ς² = α σ₀².

    alpha : their number, for each class.
    weight, mean : (C, d) n and x̄ of each class and feature.
    middle, spread : (d,) μ₀ and σ₀².
    """

    def __init__(
        self, alpha: float, weight: Float64, mean: Float64, middle: Float64, spread: Float64
    ) -> None:
        self.alpha, self.weight, self.mean = alpha, weight, mean
        self.spread = np.minimum(spread, LARGEST)
        with np.errstate(over="ignore"):
            self.away = np.clip(middle - mean, -LARGEST, LARGEST)

    def means(self) -> Float64:
        """Return μ, (C, d); exactly x̄ where that equals μ₀."""
        return self.mean + self.alpha / (self.weight + self.alpha) * self.away

    def steps(self) -> Float64:
        """Return √(α n / (α + n)) (μ₀ - x̄), (C, d): its square is added for different means."""
        share = self.weight / (self.weight + self.alpha)
        return np.sqrt(self.alpha * share) * np.clip(self.away, -FARTHEST, FARTHEST)

    def scatter(self) -> Float64:
        """Return the term added to the sum of squared deviations of each class, (C, d)."""
        with np.errstate(over="ignore"):
            return self.alpha * self.spread + self.steps() ** 2

    @np.errstate(over="ignore", invalid="ignore")  # `whiten` rejects what is not finite
    def add_covariance(self, covariance: Float64, group: list[int], freedom: float) -> float:
        """Add the virtual rows to the covariance, (d, d), of a group of classes, in place.

        The features of virtual rows are independent, as in naive Bayes: Σ₀ is diagonal. So the
        result is singular only if a feature is constant over all classes. With missing values, all
        pairs of features are weighted by the same `freedom`. Returns the degrees of freedom,
        virtual rows included.
        """
        total = freedom + self.alpha * len(group)
        covariance *= freedom / total
        for step in self.steps()[group]:
            covariance += np.multiply.outer(step, step / total)
        covariance[np.diag_indices_from(covariance)] += (total - freedom) / total * self.spread
        return total


# ---- shrinkage -----------------------------------------------------------------------------------


Shrinkage = Literal["auto", "oas"] | float | None


def check_shrinkage(shrinkage: Any) -> None:
    """Raise ValueError unless it is a valid amount or method of shrinkage."""
    if isinstance(shrinkage, str):
        is_valid = shrinkage in ("auto", "oas")
    else:
        is_number = isinstance(shrinkage, Real) and not isinstance(shrinkage, bool)
        is_valid = shrinkage is None or (is_number and 0 <= float(shrinkage) <= 1)
    if not is_valid:
        raise ValueError(
            f'shrinkage must be None, a number from 0 to 1, "auto" or "oas", not {shrinkage!r}'
        )


@np.errstate(over="ignore", invalid="ignore")  # `whiten` rejects what is not finite
def shrink(covariance: Float64, shrinkage: Shrinkage, n: float, spread: Float64) -> float:
    """Shrink a covariance towards a simpler one, in place; return the amount, from 0 to 1.

    A number shrinks towards (tr Σ / d) I, as `sklearn.covariance.shrunk_covariance`. "auto" and
    "oas" choose the amount for the correlations, so that units do not matter, from the covariance
    and the degrees of freedom `n`, assuming normal data: "auto" is the estimator of Ledoit and
    Wolf 2004 given the sufficient statistics (its Rao-Blackwell version), "oas" the oracle
    approximation, both of Chen, Wiesel, Eldar and Hero 2010. A feature that is constant here is
    scaled by its variance over all classes, `spread`.
    """
    if shrinkage is None:
        return 0.0
    d = len(covariance)
    diagonal = np.diag_indices(d)
    amount = 0.0 if isinstance(shrinkage, str) else float(shrinkage)
    target = covariance[diagonal].mean()
    if isinstance(shrinkage, str):
        variance = covariance[diagonal]
        scale = np.sqrt(np.where(variance > 0, variance, np.where(spread > 0, spread, 1.0)))
        correlation = covariance / scale / scale[:, np.newaxis]
        trace, squares = correlation.trace(), (correlation**2).sum()
        if shrinkage == "auto":
            numerator, denominator = max(n - 2.0, 0.0) / max(n, 1.0) * squares + trace**2, n + 2.0
        else:
            numerator, denominator = (1.0 - 2.0 / d) * squares + trace**2, n + 1.0 - 2.0 / d
        denominator *= squares - trace**2 / d
        amount = min(max(numerator / denominator, 0.0), 1.0) if denominator > 0 else 1.0
        target = trace / d * scale**2
    covariance *= 1.0 - amount
    covariance[diagonal] += amount * target
    return amount


# ---- covariance ----------------------------------------------------------------------------------


MANTISSA = 30  # bits of a piece of a centre
ALONE = 100  # features up to which one worker is enough
COMBINATION = "is a linear combination of others"


class ClassSums:
    """n and Σ x of one class for each pair of features, as Python integers on a common grid.

    low : the grid is 2^(32 low).
    weight : (1, 1), or (d, d) with missing values: n of the rows that have both i and j.
    sums : (1, d) or (d, d), Σ x_j over the rows that have i too.
    size : the exponent of a power of two above all weights.
    """

    def __init__(self, statistics: ProductStatistics, class_weight: ExactArray, code: int) -> None:
        codes = np.array([code])
        has_missing = bool(statistics.tables["missing"].gather(0, codes).nonzero().any())
        names = ("sum", "missing", "gone", "both_gone") if has_missing else ("sum", "missing")
        tables = {name: statistics.tables[name] for name in names} | {"weight": class_weight}
        numbers = {name: table.gather(0, codes).integers() for name, table in tables.items()}
        self.low = min(0, *(low for _, low in numbers.values()))
        on_grid = {name: x * (1 << 32 * (low - self.low)) for name, (x, low) in numbers.items()}
        self.weight = on_grid["weight"].reshape(1, 1)
        self.sums = on_grid["sum"]
        if has_missing:
            missing = on_grid["missing"][0]
            d = len(missing)
            both_missing = np.zeros((d, d), object)
            both_missing[np.triu_indices(d)] = on_grid["both_gone"][0]
            both_missing = both_missing + np.triu(both_missing, 1).T
            total = on_grid["weight"][0]
            self.weight = self.weight - missing - missing[:, np.newaxis] + both_missing
            self.weight[self.weight <= total >> KEPT_BITS] = 0  # rounding errors of decay
            self.sums = self.sums - on_grid["gone"][0].T
        self.size = 32 * self.low + max(self.weight.ravel().tolist()).bit_length()

    def mean(self) -> tuple[Float64, npt.NDArray[np.bool_]]:
        """Return (Σ x / n of each feature, 0 without rows; whether any row has it), (d,) each."""
        d = self.sums.shape[1]
        weight = np.broadcast_to(self.weight, (d, d)).diagonal()
        sums = np.broadcast_to(self.sums, (d, d)).diagonal()
        return ratio(sums, weight), weight.astype(bool)

    def freedom(self, ddof: int) -> Float64:
        """Return n - ddof of each pair, at least 0."""
        unit = 1 << -32 * self.low
        remainder = self.weight - ddof * unit
        return np.maximum(ratio(remainder, np.full(remainder.shape, unit, object)), 0.0)


def covariance(
    products: ExactArray, classes: Sequence[ClassSums], mean: Float64, ddof: int, out: Float64,
    workers: Workers,
) -> float:  # fmt: skip
    """Compute the pooled covariance of some classes into `out`, (d, d).

    The products are centred near each class's mean exactly, and rounded once, so that neither
    a common offset nor the distance of the classes costs digits. Returns the degrees of freedom,
    n - ddof of each class; their median over the pairs of features.

    products : (d (d + 1) / 2,)
    classes, mean : the other sums, and the means near which to centre, (c, d).
    """
    freedom = np.zeros((max(len(class_sums.sums) for class_sums in classes), mean.shape[1]))
    for class_sums in classes:
        freedom += class_sums.freedom(ddof)
    for pieces in (1, 2):  # one is enough, unless a mean is 2^29 deviations from 0
        if _centre(products, classes, *_centres(mean, pieces), freedom, out, workers):
            break
    return float(np.median(freedom))


def _centres(mean: Float64, pieces: int) -> tuple[Int64, Int64]:
    """Return mantissas and exponents of centres, (pieces, c, d); two pieces sum to the mean."""
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
    """Compute the covariance about these centres; return whether they are near the means."""
    grid = min(0, int(exponent.min(initial=0)) // 32)  # the grid of the centres
    # the grid of Σ x and of n times a centre
    low = grid + min(class_sums.low for class_sums in classes)
    # so that no weight leaves the range of float64
    unit = max(class_sums.size for class_sums in classes)
    shape = len(classes), *freedom.shape
    exact = np.empty((2, *shape), object)
    residuals, weight = np.empty(shape), np.empty(shape)
    for c, class_sums in enumerate(classes):
        centre = (mantissa[:, c].astype(object) << exponent[:, c] - 32 * grid).sum(axis=0)
        sums = class_sums.sums * (1 << -32 * grid)
        centred = sums - class_sums.weight * centre
        factor = 1 << 32 * (class_sums.low + grid - low)
        exact[0, c], exact[1, c] = sums * factor, centred * factor
        residuals[c] = _floats(centred, 32 * (class_sums.low + grid) - unit)
        weight[c] = _floats(class_sums.weight, 32 * class_sums.low - unit)
    digits, first = ExactArray.from_numbers(exact.ravel().tolist(), exact.shape, low).digits
    lowest = min(products.low, first + min(0, int(exponent.min(initial=0)) // 32))
    highest = max(
        products.low + products.limbs.shape[-1],
        first + digits.shape[-1] + max(0, int(exponent.max(initial=0))) // 32 + 3,
    )
    arguments = (
        products.limbs, products.low - lowest, digits[0], digits[1], 32 * first, mantissa,
        exponent, 32 * lowest, highest - lowest + 1, unit, residuals, _or_infinity(weight),
        _or_infinity(np.ldexp(freedom, -unit)),
    )  # fmt: skip
    edges = row_edges(len(out), workers.count if len(out) > ALONE else 1)
    is_near = workers.map(lambda rows: kernel.centre(*arguments, *rows, out), pairwise(edges))
    return all(is_near)


def _floats(values: npt.NDArray[np.object_], exponent: int) -> Float64:
    """Return the integers times 2^exponent, rounded."""
    ones = np.full(values.shape, 1 << max(-exponent, 0), object)
    return ratio(values * (1 << max(exponent, 0)), ones)


def _or_infinity(values: Float64) -> Float64:
    return np.where(values > 0, values, np.inf)


def whiten(covariance: Float64) -> tuple[Float64, float]:
    """Return (A, log |Σ|) with A lower triangular and A Σ Aᵀ = I; overwrites `covariance`.

    Raises SingularCovarianceError, with the feature, unless Σ is finite and positive definite.
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
    factor, info = scipy.linalg.lapack.dpotrf(covariance.T, lower=1, clean=1, overwrite_a=1)
    if info > 0:
        raise SingularCovarianceError(info - 1, COMBINATION)
    log_det = 2.0 * float((np.log(factor.diagonal()) + np.log(deviation)).sum())
    inverse, _ = scipy.linalg.lapack.dtrtri(factor, lower=1, overwrite_c=1)
    # a row w of A, wᵀ Σ w = 1, is a combination of features with variance 1 / |w|²
    degenerate = np.einsum("ij,ij->i", inverse, inverse) > 1.0 / (8 * d * np.finfo(np.float64).eps)
    if degenerate.any():
        raise SingularCovarianceError(int(degenerate.argmax()), COMBINATION)
    inverse /= deviation
    return inverse, log_det
