"""Model Gaussian features: p(x_α | y = c) = N(x_α; μ_αc, σ²_αc)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import LARGEST, SMALLEST, ExactArray, Float64, Int64
from naively.core.workers import Workers
from naively.families.base import ClassNumbers, Family, Parameters, SingularCovarianceError
from naively.families.multivariate.covariance import VirtualRows, check_rows
from naively.formula import Formula, Parabola
from naively.kernels import scores as kernel
from naively.statistics.base import Data, dense, is_sparse, raise_infinite, shown
from naively.statistics.powers import Moments, Powers, PowerStatistics

Tie = Literal["classes", "features", "both"] | None


@dataclass(frozen=True)
class Gaussian(Family[PowerStatistics, "GaussianParameters"]):
    """Normal features, each with its own mean and variance in each class.

    Lecture 1, case 3 and lecture 2, "Gaussian Naive Bayes"; the ties of the variance are those of
    lecture 2: σ_ik, σ_i, σ_k and σ for feature i and class k.

    Parameters
    ----------
    tie : None, "classes", "features" or "both"
        What shares one variance: nothing (σ_ik), the classes (σ_i), the features (σ_k), or both
        (σ).
    ddof : 0 or 1
        0 for the maximum likelihood variance, 1 for the unbiased one. That is an error where it
        is 0/0: for a single value, unless the variance is shared with others, or `alpha` adds
        virtual rows. A row of weight w counts as w rows.
    var_smoothing : float
        Fraction of a variance of all training data that is added to every variance.
    floor : "largest" or "feature"
        Whose variance: the largest of all features (scikit-learn), or each feature's own, which
        does not depend on the scales of other features.
    resolution : float
        Step to which values were rounded: every variance is at least resolution² / 12, that of
        the rounding (Sheppard 1897), so that a class of equal integers has no extreme density.
    shrinkage : float in [0, 1]
        The amount of shrinkage of the variances of the features towards their mean.
    alpha : float
        Virtual rows of each class, with the mean and variance of all classes together, so that a
        feature which hardly varies in a class does not decide alone. 0 for maximum likelihood;
        else MAP: see `naively.families.multivariate.covariance.VirtualRows` for the formula.
    """

    tie: Tie = None
    ddof: Literal[0, 1] = 0
    var_smoothing: float = 1e-9
    floor: Literal["largest", "feature"] = "largest"
    resolution: float = 0.0
    shrinkage: float = 0.0
    alpha: float = 0.0

    name = "gaussian"
    alpha_is_rows = True
    summary = Powers()
    curve = "density"

    def __post_init__(self) -> None:
        if self.tie not in (None, "classes", "features", "both"):
            raise ValueError(f'tie must be None, "classes", "features" or "both", not {self.tie!r}')
        if self.ddof not in (0, 1):
            raise ValueError(f"ddof must be 0 or 1, not {self.ddof!r}")
        if not 0 <= (smoothing := self.var_smoothing) < math.inf:
            raise ValueError(f"var_smoothing must be a finite number >= 0, not {smoothing!r}")
        if self.floor not in ("largest", "feature"):
            raise ValueError(f'floor must be "largest" or "feature", not {self.floor!r}')
        if not 0 <= self.resolution <= 1e100:
            raise ValueError(f"resolution must be from 0 to 1e100, not {self.resolution!r}")
        if not isinstance(self.shrinkage, int | float) or not 0 <= self.shrinkage <= 1:
            raise ValueError(f"shrinkage must be a number from 0 to 1, not {self.shrinkage!r}")
        check_rows(self.alpha)

    @property
    def may_be_singular(self) -> bool:  # type: ignore[override]
        """Whether a variance may be 0/0, with ddof=1 and a single value."""
        return self.ddof == 1 and self.alpha == 0

    @property
    def by_column(self) -> bool:
        """Whether the estimate of each column is independent of the others."""
        independent = self.floor == "feature" and self.tie in (None, "classes")
        return independent and self.shrinkage == 0

    @np.errstate(over="ignore")  # variances beyond float64 are scored as the largest
    def estimate(self, statistics: PowerStatistics, class_weight: ExactArray) -> GaussianParameters:
        """Estimate means and variances, each correctly rounded from the exact sums.

        Tied variances are the correctly rounded sum of the (correctly rounded) scatters. A class
        without a value of a feature takes the mean and variance of all classes for it.
        """
        sums = Moments(statistics.tables, class_weight)
        pooled = sums.pooled()
        total_mean, total_variance = pooled.mean()[0], pooled.variance(0)[0]
        spread = total_variance.max() if self.floor == "largest" else total_variance
        epsilon = self.var_smoothing * np.minimum(spread, LARGEST)
        mean = sums.mean()
        unknown = sums.weight == 0
        mean[unknown] = np.broadcast_to(total_mean, mean.shape)[unknown]
        virtual = None
        if self.alpha > 0:
            n = sums.freedom(0)
            virtual = VirtualRows(self.alpha, n, mean, total_mean, total_variance)
            mean = virtual.means()
        variance = self._variance(sums, virtual)
        if self.tie is None and virtual is None:
            variance[unknown] = np.broadcast_to(total_variance, mean.shape)[unknown]
        if self.shrinkage > 0:
            middle = variance.mean(axis=1, keepdims=True)
            variance = (1.0 - self.shrinkage) * variance + self.shrinkage * middle
        variance = np.maximum(variance + epsilon, self.resolution**2 / 12.0)
        return GaussianParameters(mean, variance, epsilon, self.tie)

    def _variance(self, sums: Moments, virtual: VirtualRows | None) -> Float64:
        if self.may_be_singular:
            self._refuse_single(sums)
        if self.tie is None and virtual is None:
            return sums.variance(self.ddof)
        scatter, freedom = sums.scatter(), sums.freedom(self.ddof)
        if virtual is not None:
            scatter, freedom = scatter + virtual.scatter(), freedom + virtual.alpha
        if self.tie is not None:
            axis = {"classes": 0, "features": 1, "both": None}[self.tie]
            scatter, freedom = _sum(scatter, axis), _sum(freedom, axis)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            tied = np.where(freedom > 0, scatter / freedom, 0.0)
        return np.array(np.broadcast_to(tied, sums.shape))

    def _refuse_single(self, sums: Moments) -> None:
        """Raise SingularCovarianceError where an unbiased variance divides by n - 1 = 0."""
        has_values, freedom = sums.weight > 0, sums.freedom(1)
        axis = {None: (), "classes": 0, "features": 1, "both": None}[self.tie]
        undefined = has_values & (freedom.sum(axis=axis, keepdims=True) == 0)
        if not undefined.any():
            return
        code, feature = np.argwhere(undefined)[0].tolist()
        problem = "has no two values in a class: the unbiased variance is 0/0"
        error = SingularCovarianceError(feature, problem)
        error.code = code if self.tie in (None, "features") else None
        error.what, error.fault = "variance", "is undefined"
        error.advice = "Train on more rows, or use ddof=0 or alpha > 0"
        raise error


def _sum(values: Float64, axis: int | None) -> Float64:
    """Compute correctly rounded sums, in any order, with the summed axes kept."""
    if axis is None:
        return np.full((1, 1), _total(values.ravel()))
    lines = np.moveaxis(values, axis, -1)
    return np.expand_dims(np.array([_total(line) for line in lines]), axis)


def _total(values: Float64) -> float:
    """Compute the correctly rounded sum of numbers >= 0."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


class GaussianParameters(Parameters):
    """Means μ and variances σ², (C, d) each.

    mean, variance : (C, d) float64, the variance with `epsilon` included.
    epsilon : float or (d,) float64, the number that was added to every variance.
    """

    def __init__(
        self, mean: Float64, variance: Float64, epsilon: float | Float64, tie: Tie
    ) -> None:
        self.mean = np.ascontiguousarray(mean)  # the kernel's layout
        self.variance = variance
        self.epsilon = epsilon
        self.tie = tie
        classes, d = mean.shape
        tied = {None: classes * d, "classes": d, "features": classes, "both": 1}[tie]
        self.n_free = classes * d + tied

    @cached_property
    def _scored(self) -> tuple[Float64, Float64, Float64]:
        """(scale, norm, base) with log N(x) = norm - ((x - μ) scale)², base = Σ norm."""
        variance = np.clip(self.variance, SMALLEST, LARGEST)
        norm = -0.5 * (math.log(2.0 * math.pi) + np.log(variance))
        scale = math.sqrt(0.5) / np.sqrt(variance)
        scale[:, self._uninformative] = 0.0
        base = norm.sum(axis=1)
        # the kernel takes C order, which broadcast variances do not have
        return np.ascontiguousarray(scale), np.ascontiguousarray(norm), base

    @cached_property
    def _uninformative(self) -> npt.NDArray[np.bool_]:
        """Features with the same density in every class, (d,).

        Their distance from the mean is a term in x alone. It is omitted from the scores, where it
        could cost precision, and is in `log_base`.
        """
        first = slice(0, 1)
        same = (self.mean == self.mean[first]) & (self.variance == self.variance[first])
        return np.asarray(same.all(axis=0) & (len(self.mean) > 1))

    def log_base(self, X: Data) -> Float64:
        """Compute the log-density, without its norm, of features that are equal in all classes."""
        columns = np.flatnonzero(self._uninformative)
        if len(columns) == 0:
            return np.zeros(X.shape[0])
        deviation = np.sqrt(np.clip(self.variance[0, columns], SMALLEST, LARGEST))
        with np.errstate(over="ignore"):
            distance = (dense(X[:, columns]) - self.mean[0, columns]) / deviation
            return -0.5 * np.nansum(distance**2, axis=1)

    @cached_property
    def _sparse(self) -> tuple[Float64, ...]:
        """The arguments of the sparse kernel, (d, C) each but the last."""
        scale, norm, _ = self._scored
        mean = np.ascontiguousarray(self.mean.T)
        scale, norm = np.ascontiguousarray(scale.T), np.ascontiguousarray(norm.T)
        with np.errstate(over="ignore"):
            zero = np.maximum(norm - (mean * scale) ** 2, kernel.FLOOR)
        base = np.array([math.fsum(terms) for terms in zero.T])
        residuals = [math.fsum([*terms, -total]) for terms, total in zip(zero.T, base, strict=True)]
        return mean, scale, norm, zero, base, np.array(residuals)

    def prepare(self, X: Data, workers: Workers) -> None:
        """Compute what `log_prob` needs for such rows."""
        _ = self._sparse if is_sparse(X) else self._scored

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Compute Σ_α log N(x_α; μ_αc, σ²_αc)."""
        if is_sparse(X):
            matrix = X.data, X.indices, X.indptr
            infinite = kernel.gaussian_sparse(*matrix, start, stop, *self._sparse, out)
        else:
            scale, norm, base = self._scored
            normals = self.mean, scale, base, norm
            infinite = kernel.gaussian_dense(shown(X), start, stop, *normals, out)
        raise_infinite(infinite, X.shape[1])

    def contributions(self, X: Data) -> Float64:
        """Compute log N(x_α; μ_αc, σ²_αc) of each feature; 0 where it is missing.

        Where it leaves float64 in every class, only the nearest class gets a finite number.
        """
        scale, norm, _ = self._scored
        x = dense(X).astype(np.float64)[:, np.newaxis, :]
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite difference times 0
            distance = abs(np.where(scale > 0.0, (x - self.mean) * scale, 0.0))
            terms = norm - distance**2
        overflowed = np.isneginf(terms).all(axis=1, keepdims=True)
        if overflowed.any():
            nearest = distance == distance.min(axis=1, keepdims=True)
            terms[overflowed & nearest] = kernel.FARTHEST
        return np.where(np.isnan(x), 0.0, terms)

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Draw rows of independent normal values."""
        return generator.normal(self.mean[codes], np.sqrt(self.variance[codes]))

    def numbers(self) -> ClassNumbers:
        """Return means and standard deviations."""
        deviation = np.sqrt(np.maximum(self.variance, 0.0))
        values = {"mean": self.mean, "sd": deviation}
        return ClassNumbers("mean ± standard deviation", " ± ", values)

    def normal(self) -> tuple[Float64, Float64] | None:
        """Return means and variances, (C, d) each."""
        return self.mean, self.variance

    def supposing_least(self) -> Self:
        """Set the variance of all classes to the largest one, which is the least confident."""
        widest = np.broadcast_to(self.variance.max(axis=0), self.variance.shape).copy()
        return type(self)(self.mean, widest, self.epsilon, self.tie)

    def formula(self, names: Sequence[str]) -> Formula | None:
        """Return norm - ((x - μ) / (σ √2))² of each column."""
        scale, norm, _ = self._scored
        columns = zip(names, norm.T, self.mean.T, scale.T, strict=True)
        return Formula(np.zeros(len(self.mean)), [Parabola(*column) for column in columns])

    def quadratic(self) -> tuple[Float64, Float64, Float64]:
        """(Q, w, b), (C, d, d), (C, d), (C,): log N(x; μ_c, σ²_c) = xᵀ Q_c x + w_c · x + b_c."""
        precision = 1.0 / np.clip(self.variance, SMALLEST, LARGEST)
        weight = self.mean * precision
        bias = self._scored[2] - 0.5 * (weight * self.mean).sum(axis=1)
        return -0.5 * precision[:, :, np.newaxis] * np.eye(self.mean.shape[1]), weight, bias

    def linear(self) -> tuple[Float64, Float64]:
        """Return w_α = (μ_αc - m_α) / σ²_α, and b (lectures 1 and 3: linear if classes share σ_α).

        m, the middle of the means, affects only rounding errors: large means cancel.
        """
        if self.tie not in ("classes", "both"):
            raise ValueError(
                "the log-odds are quadratic in x, because each class has variances of its own; "
                'with tie="classes" or covariance="tied_diagonal" they are linear'
            )
        informative = ~self._uninformative
        if (self.variance[:, informative] < SMALLEST).any():
            raise ValueError(
                "some variances are 0, whose inverse no weight can hold; use var_smoothing > 0"
            )
        mean, variance = self.mean, np.clip(self.variance, SMALLEST, LARGEST)
        middle = mean.min(axis=0) / 2 + mean.max(axis=0) / 2
        with np.errstate(over="ignore", invalid="ignore"):
            weight = np.where(informative, (mean - middle) / variance, 0.0)
            bias = -np.where(informative, weight * (mean / 2 + middle / 2), 0.0).sum(axis=1)
        if np.isfinite(weight).all() and np.isfinite(bias).all():
            return weight, bias
        raise ValueError("the weights are beyond float64: the means are too many deviations apart")
