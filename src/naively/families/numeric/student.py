"""Model normal features of unknown mean and variance: p(x_α | y = c) = t_ν(x_α; μ_αc, s²_αc)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy

from naively.core.exact import LARGEST, SMALLEST, ExactArray, Float64, Int64
from naively.families.base import ClassNumbers, Family, Parameters
from naively.families.linear import log
from naively.statistics.base import Data, dense, raise_infinite
from naively.statistics.powers import Moments, Powers, PowerStatistics

FARTHEST = 1e154  # its square is still a float64


@dataclass(frozen=True)
class Student(Family[PowerStatistics, "StudentParameters"]):
    """Normal features, with priors for mean and variance: the posterior predictive distribution.

    As Laplace smoothing is a prior for counts (lectures 1 and 4), this is a prior for means and
    variances: κ₀ virtual rows of mean μ₀, and ν₀ of variance σ₀². The next value of a feature then
    has a Student t distribution, the posterior predictive of the normal-inverse-χ² prior. With x̄
    and S the mean and the sum of squared deviations of the n values of a class::

        κ = κ₀ + n,   ν = ν₀ + n,   μ = (κ₀ μ₀ + n x̄) / κ
        ν σ² = ν₀ σ₀² + S + (κ₀ n / κ) (x̄ - μ₀)²,   s² = σ² (1 + 1 / κ)

    Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution", section 5. With many
    rows it approaches `Gaussian`, whose statistics it uses; with few, its tails are heavier. A
    class without a value of a feature has the prior predictive distribution. A feature that is
    constant in the training data has the same distribution in every class.

    Parameters
    ----------
    mean : float or None
        μ₀, up to ±1e100, in the unit of the data; None for the mean of all classes together.
    mean_rows : float
        κ₀ > 0: the number of virtual rows for the mean.
    deviation : float or None
        σ₀ > 0, in the unit of the data; None for the standard deviation of all classes together.
    deviation_rows : float
        ν₀ > 0: the number of virtual rows for the variance.
    """

    mean: float | None = None
    mean_rows: float = 1.0
    deviation: float | None = None
    deviation_rows: float = 1.0

    name = "student"
    summary = Powers()
    curve = "density"

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is None and not name.endswith("rows"):
                continue
            least = -1e100 if name == "mean" else 1e-100
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            if not (is_number and least <= value <= 1e100):
                raise ValueError(f"{name} must be a number from {least} to 1e100, not {value!r}")

    def estimate(self, statistics: PowerStatistics, class_weight: ExactArray) -> StudentParameters:
        """Estimate ν, μ and s; means and sums of squares are correctly rounded from exact sums."""
        sums = Moments(statistics.tables, class_weight)
        pooled = sums.pooled()
        spread = np.minimum(pooled.variance(0)[0], LARGEST)
        prior_mean = pooled.mean()[0] if self.mean is None else self.mean
        prior_variance = spread if self.deviation is None else self.deviation**2
        is_constant = spread == 0.0  # a constant feature: use all rows for each class
        n = np.where(is_constant, pooled.freedom(0), sums.freedom(0))
        mean = np.where(is_constant, pooled.mean(), sums.mean())
        scatter = np.where(is_constant, 0.0, np.minimum(sums.scatter(), LARGEST))
        k, freedom = self.mean_rows + n, self.deviation_rows + n
        with np.errstate(over="ignore"):
            location = (self.mean_rows / k) * prior_mean + (n / k) * mean
            difference = np.where(n > 0, np.clip(mean - prior_mean, -FARTHEST, FARTHEST), 0.0)
            between = (self.mean_rows / k) * n * difference**2
            total = self.deviation_rows * prior_variance + scatter + between
            scale = np.sqrt(np.clip(total / freedom * (1.0 + 1.0 / k), SMALLEST, LARGEST))
        return StudentParameters(location, scale, freedom)


class StudentParameters(Parameters):
    """Locations μ, scales s and degrees of freedom ν, (C, d) each."""

    not_linear = "the log-odds are logarithms of quadratic functions of x"

    def __init__(self, location: Float64, scale: Float64, freedom: Float64) -> None:
        self.location = location
        self.scale = scale
        self.freedom = freedom
        self.n_free = 2 * location.size
        self._log_unit = np.log(scale) + 0.5 * np.log(freedom)  # log (s √ν)
        self._norm = -scipy.special.betaln(0.5 * freedom, 0.5) - self._log_unit

    def _terms(self, x: Float64, c: int) -> Float64:
        """Compute log t_ν(x_α; μ_αc, s²_αc) of each feature; 0 where it is missing."""
        log_distance = log(np.abs(0.5 * x - 0.5 * self.location[c])) + math.log(2.0)
        with np.errstate(invalid="ignore"):  # NaN of missing values
            tail = np.logaddexp(0.0, 2.0 * (log_distance - self._log_unit[c]))
        terms = self._norm[c] - 0.5 * (self.freedom[c] + 1.0) * tail
        return np.where(np.isnan(x), 0.0, terms)

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Compute Σ_α log t_ν(x_α; μ_αc, s²_αc)."""
        x = dense(X[start:stop]).astype(np.float64)
        infinite = np.isinf(x)
        if infinite.any():
            raise_infinite(start * x.shape[1] + infinite.argmax(), x.shape[1])
        for c, line in enumerate(out):
            self._terms(x, c).sum(axis=1, out=line)

    def contributions(self, X: Data) -> Float64:
        """Compute log t_ν(x_α; μ_αc, s²_αc) of each feature; 0 where it is missing."""
        x = dense(X).astype(np.float64)
        return np.stack([self._terms(x, c) for c in range(len(self.location))], axis=1)

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Draw rows of independent values, none of them infinite."""
        with np.errstate(over="ignore"):
            x = self.location[codes] + self.scale[codes] * generator.standard_t(self.freedom[codes])
        return np.clip(x, -LARGEST, LARGEST)

    def numbers(self) -> ClassNumbers:
        """Return locations and scales."""
        values = {"location": self.location, "scale": self.scale}
        return ClassNumbers("location ± scale of a t distribution", " ± ", values)

    def supposing_least(self) -> Self:
        """Set the scale of all classes to the largest one, which is the least confident."""
        widest = np.broadcast_to(self.scale.max(axis=0), self.scale.shape).copy()
        return type(self)(self.location, widest, self.freedom)
