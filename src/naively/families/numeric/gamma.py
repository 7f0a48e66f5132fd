"""Model gamma features: p(x_α | y = c) = x^(k-1) exp(-x/θ) / (Γ(k) θ^k), with k_αc and θ_αc."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from naively.core.exact import LARGEST, ExactArray, Float64, Index, Int64
from naively.families.base import ClassNumbers, Family, Parameters
from naively.families.numeric.exponential import beyond_float64
from naively.families.numeric.lognormal import SCORED
from naively.statistics.base import Data
from naively.statistics.logs import (
    LEAST,
    LogMeans,
    LogMeanStatistics,
    blocks,
    log_excess,
    portable_log,
    positive,
)
from naively.statistics.powers import mean

FLOOR = 1e-9  # of s in a class, as a fraction of that of all classes,
ROUNDING = 2.0**-50  # and as a fraction of the logarithms, whose rounding s must exceed
WIDEST = 1500.0  # s of values at the two ends of float64
STEPS = 6
LARGE = 100.0  # k from which on the asymptotic series are exact to the last bits


@dataclass(frozen=True)
class Gamma(Family[LogMeanStatistics, "GammaParameters"]):
    """Positive, skewed features: waiting times for k events, amounts of rain, insurance claims.

    Shape k and scale θ are those of maximum likelihood: with s = log(mean of x) - mean of log x,
    k solves log k - ψ(k) = s, and θ = mean / k (Minka 2002, "Estimating a Gamma distribution").

    s is about half of the relative variance, and 0 if all values are equal. It is at least 1e-9
    of the s of all classes together, and above the rounding errors of the logarithms: standard
    deviations below about 1e-7 of the mean are not resolved. A class without a value of a
    feature takes the shape and scale of all classes for it.
    """

    name = "gamma"
    summary = LogMeans()
    curve = "density"

    def estimate(self, statistics: LogMeanStatistics, class_weight: ExactArray) -> GammaParameters:
        """Estimate the shape k_αc and the mean k_αc θ_αc."""
        tables, weight = statistics.tables, statistics.observed(class_weight)
        pooled = _estimated(tables["sum"].summed(0), tables["log"].summed(0), weight.summed(0), 0.0)
        of_class = _estimated(tables["sum"], tables["log"], weight, FLOOR * pooled[1])
        pairs = zip(of_class, pooled, strict=True)
        mean, s = (np.where(weight.nonzero(), *pair) for pair in pairs)
        return GammaParameters(shape(s), mean)


def _estimated(
    sums: ExactArray, logs: ExactArray, weight: ExactArray, floor: float | Float64
) -> tuple[Float64, Float64]:
    """Return (mean of x, s), s at least the floor; of the standard exponential without rows."""
    average = np.where(weight.nonzero(), np.clip(mean(sums, weight), LEAST, LARGEST), 1.0)
    rounding = ROUNDING * np.maximum(1.0, np.abs(portable_log(average)))
    s = np.clip(log_excess(average, logs, weight), np.maximum(floor, rounding), WIDEST)
    return average, np.where(weight.nonzero(), s, np.euler_gamma)


def shape(s: Float64) -> Float64:
    """Solve log k - ψ(k) = s for k by Newton's method on 1 / k (Minka 2002).

    The number of steps is fixed, so that a shape does not depend on the others in the array.
    """
    k = (3.0 - s + np.sqrt((s - 3.0) ** 2 + 24.0 * s)) / (12.0 * s)
    for _ in range(STEPS):
        k = 1.0 / (1.0 / k + (_gap(k) - s) / (k**2 * _slope(k)))
    return k


def _gap(k: Float64) -> Float64:
    """Compute log k - ψ(k)."""
    i = 1.0 / np.maximum(k, LARGE)
    series = i / 2 + i**2 / 12 - i**4 / 120 + i**6 / 252
    return np.where(k < LARGE, np.log(k) - scipy.special.digamma(k), series)


def _slope(k: Float64) -> Float64:
    """Compute 1 / k - ψ'(k)."""
    i = 1.0 / np.maximum(k, LARGE)
    series = -(i**2) / 2 - i**3 / 6 + i**5 / 30 - i**7 / 42
    return np.where(k < LARGE, 1.0 / k - scipy.special.polygamma(1, k), series)


def _norm(k: Float64) -> Float64:
    """Compute k log k - k - log Γ(k), the log-density of log x at the mean."""
    i = 1.0 / np.maximum(k, LARGE)
    series = 0.5 * np.log(k / (2.0 * math.pi)) - i / 12 + i**3 / 360 - i**5 / 1260
    small = np.minimum(k, LARGE)
    return np.where(k < LARGE, small * np.log(small) - small - scipy.special.gammaln(small), series)


class GammaParameters(Parameters):
    """Shapes k and means m = k θ.

    With r = x / m, log p(x) = k (log r - r + 1) + (k log k - k - log Γ(k)) - log x, in which
    no large terms cancel. The last term is in x alone: it is in `log_base`, and so is all of a
    feature with the same parameters in every class.
    """

    def __init__(self, shape: Float64, mean: Float64) -> None:
        self.shape = shape
        self.mean = mean
        self.n_free = 2 * shape.size
        same = (shape == shape[:1]).all(axis=0) & (mean == mean[:1]).all(axis=0)
        self._same = same & (len(shape) > 1)
        self._log_mean = portable_log(mean)
        self._norm = _norm(shape)

    @property
    def scale(self) -> Float64:
        """θ, (C, d)."""
        return self.mean / self.shape

    def _terms(self, x: Float64, logs: Float64, c: int, columns: Index) -> Float64:
        """Compute the contributions of some features to the score of class c; 0 if missing."""
        with np.errstate(over="ignore", under="ignore"):
            terms = x / self.mean[c, columns]
            np.subtract(logs - self._log_mean[c, columns], terms, out=terms)
            terms += 1.0
            terms *= self.shape[c, columns]
        terms += self._norm[c, columns]
        terms[np.isnan(x)] = 0.0
        return terms

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Compute Σ_α k_αc (log r - r + 1) + norm_αc, for blocks of rows."""
        columns = np.flatnonzero(~self._same)
        for rows in blocks(start, stop, SCORED // max(1, X.shape[1])):
            x = np.ascontiguousarray(positive(X, rows)[:, columns])
            logs = portable_log(x)
            scores = out[:, rows.start - start : rows.stop - start]
            for c in range(len(scores)):
                with np.errstate(over="ignore"):
                    scores[c] = self._terms(x, logs, c, columns).sum(axis=1)
            overflowed = np.flatnonzero(np.isneginf(scores).all(axis=0))
            if len(overflowed):
                log_rate = np.log(self.shape[:, columns]) - self._log_mean[:, columns]
                scores[:, overflowed] = beyond_float64(log_rate, logs[overflowed])

    def contributions(self, X: Data) -> Float64:
        """Compute k_αc (log r - r + 1) + norm_αc of each feature; 0 where it is missing."""
        x = positive(X)
        logs = portable_log(x)
        class_terms = [self._terms(x, logs, c, slice(None)) for c in range(len(self.shape))]
        terms = np.stack(class_terms, axis=1)
        terms[:, :, self._same] = 0.0
        return terms

    def log_base(self, X: Data) -> Float64:
        """Compute -Σ_α log x_α, and all terms of features that are the same in every class."""
        x = positive(X)
        logs = portable_log(x)
        base = -np.nansum(logs, axis=1)
        columns = np.flatnonzero(self._same)
        if len(columns):
            base += self._terms(x[:, columns], logs[:, columns], 0, columns).sum(axis=1)
        return base

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Draw rows of independent gamma values, none of them 0 or infinite."""
        with np.errstate(over="ignore", under="ignore"):
            x = generator.standard_gamma(self.shape[codes]) * self.scale[codes]
        return np.clip(x, LEAST, LARGEST)

    def numbers(self) -> ClassNumbers:
        """Return means and standard deviations."""
        deviation = self.mean / np.sqrt(self.shape)
        meaning = "mean ± standard deviation, gamma"
        return ClassNumbers(meaning, " ± ", {"mean": self.mean, "sd": deviation})

    not_linear = "the log-odds are linear in x and log x together, not in x"
