"""Model waiting times: p(x_α | y = c) = λ_αc exp(-λ_αc x_α) for x_α >= 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.core.exact import LARGEST, SMALLEST, ExactArray, Float64, Int64
from naively.families.base import ClassNumbers, Family
from naively.families.linear import LinearParameters, Scorer, Terms, log
from naively.statistics.base import Data, dense
from naively.statistics.powers import CountStatistics, CountSums, mean, refuse_beyond

FLOOR = 1e-9  # the least mean of a class, as a fraction of the feature's mean over all classes


@dataclass(frozen=True)
class Exponential(Family[CountStatistics, "ExponentialParameters"]):
    """Non-negative features without memory: times between events, distances, lifetimes.

    Johnson, Kotz & Balakrishnan 1994, "Continuous univariate distributions", volume 1, chapter 19.
    The rate is that of maximum likelihood, λ_αc = n_αc / Σ x_α over the rows of class c, but at
    most 1e9 times that of all classes together, as it would be infinite if all values are 0. A
    class without a value of a feature takes the rate of all classes for it.
    """

    name = "exponential"
    summary = CountSums()
    curve = "density"

    def estimate(
        self, statistics: CountStatistics, class_weight: ExactArray
    ) -> ExponentialParameters:
        """Estimate 1 / λ_αc, correctly rounded from the exact sums."""
        sums, weight = statistics.tables["sum"], statistics.observed(class_weight)
        pooled = mean(sums.summed(0), weight.summed(0))
        of_class = np.where(weight.nonzero(), mean(sums, weight), pooled)
        return ExponentialParameters(np.clip(of_class, FLOOR * pooled, LARGEST))


def beyond_float64(log_rate: Float64, logs: Float64) -> Float64:
    """Rank classes by Σ_α -λ_α x_α alone, from log λ, (C, d), and log x, (n, d).

    Returns (C, n): the lowest finite number for the best class, -inf for the others.
    """
    terms = log_rate[:, np.newaxis] + np.where(np.isnan(logs), -np.inf, logs)
    distance = np.logaddexp.reduce(terms, axis=2)
    return np.where(distance == distance.min(axis=0), -LARGEST, -np.inf)


class ExponentialParameters(LinearParameters):
    """Means 1 / λ, (C, d).

    A feature with the same rate in every class, such as one that is always 0, is a term in x
    alone. It is omitted from the scores, where it could cost precision, and is in `log_base`.

    mean : (C, d) float64, 0 for a feature without any value above 0.
    rate : (C, d) float64, λ, finite.
    """

    def __init__(self, mean: Float64) -> None:
        super().__init__(*mean.shape)
        self.mean = mean
        self.rate = 1.0 / np.maximum(mean, SMALLEST)
        self.n_free = self.rate.size
        self._same = (self.rate == self.rate[:1]).all(axis=0) & (self.n_classes > 1)

    def terms(self, columns: slice) -> Terms:
        """Compute log λ_αc - λ_αc x_α."""
        rate = self.rate[:, columns]
        informative = ~self._same[columns]
        return Terms(np.where(informative, -rate, 0.0), np.where(informative, np.log(rate), 0.0))

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Compute Σ_α log λ_αc - λ_αc x_α. Raises InvalidValueError for negative values."""
        refuse_beyond(X, start, stop, np.inf)
        super().log_prob(X, start, stop, out)

    def _settle(self, finite: Scorer, X: Data, start: int, out: Float64) -> None:
        """Rank the classes of rows that are beyond float64 in every class."""
        overflowed = np.flatnonzero(np.isneginf(out).all(axis=0))
        columns = np.flatnonzero(~self._same)
        logs = log(dense(X[start + overflowed])[:, columns].astype(np.float64))
        out[:, overflowed] = beyond_float64(np.log(self.rate[:, columns]), logs)

    def log_base(self, X: Data) -> Float64:
        """Compute log λ_α - λ_α x_α of the features with the same rate in every class."""
        columns = np.flatnonzero(self._same)
        if len(columns) == 0:
            return np.zeros(X.shape[0])
        rate = self.rate[0, columns]
        with np.errstate(over="ignore"):
            return np.nansum(np.log(rate) - rate * dense(X[:, columns]), axis=1)

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Draw rows of independent exponential values."""
        with np.errstate(over="ignore"):
            return np.minimum(generator.exponential(self.mean[codes]), LARGEST)

    def numbers(self) -> ClassNumbers:
        """Return means."""
        return ClassNumbers("mean, exponential", "", {"mean": self.mean})
