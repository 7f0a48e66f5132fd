"""Model log-normal features: p(x_α | y = c) = N(log x_α; μ_αc, σ²_αc) / x_α."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from naively.core.exact import LARGEST, ExactArray, Float64, Int64
from naively.core.workers import Workers
from naively.families.base import ClassNumbers, Family
from naively.families.numeric.gaussian import Gaussian, GaussianParameters
from naively.statistics.base import Data
from naively.statistics.logs import LEAST, LogPowers, blocks, portable_log, positive
from naively.statistics.powers import PowerStatistics

SCORED = 1 << 15  # cells whose logarithms are computed at a time


@dataclass(frozen=True)
class LogNormal(Family[PowerStatistics, "LogNormalParameters"]):
    """Positive features whose logarithm is normal: sizes, prices, times, concentrations.

    Johnson, Kotz & Balakrishnan 1994, "Continuous univariate distributions", volume 1, chapter 14.
    This is the Gaussian family of log x, with the same probabilities of classes: a class without a
    value of a feature takes the mean and variance of all classes for it.

    Parameters
    ----------
    ddof : 0 or 1
        0 for the maximum likelihood variance of log x, 1 for the unbiased one.
    var_smoothing : float
        Fraction of the variance of log x over all classes that is added to each variance of the
        same feature.
    """

    ddof: Literal[0, 1] = 0
    var_smoothing: float = 1e-9

    name = "lognormal"
    summary = LogPowers()
    curve = "density"

    def __post_init__(self) -> None:
        _ = self._of_logarithms

    @property
    def _of_logarithms(self) -> Gaussian:
        return Gaussian(ddof=self.ddof, var_smoothing=self.var_smoothing, floor="feature")

    @property
    def may_be_singular(self) -> bool:  # type: ignore[override]
        """Whether a variance may be 0/0, with ddof=1 and a single value."""
        return self.ddof == 1

    def estimate(
        self, statistics: PowerStatistics, class_weight: ExactArray
    ) -> LogNormalParameters:
        """Estimate the mean and variance of log x, correctly rounded from the exact sums."""
        normal = self._of_logarithms.estimate(statistics, class_weight)
        return LogNormalParameters(normal.mean, normal.variance, normal.epsilon, normal.tie)


class LogNormalParameters(GaussianParameters):
    """Means μ and variances σ² of log x, (C, d) each; the term -log x is in `log_base`."""

    def formula(self, names: Sequence[str]) -> None:
        """None: the log-density is not quadratic in x."""

    def prepare(self, X: Data, workers: Workers) -> None:
        """Compute what `log_prob` needs; logarithms are dense, even if X is sparse."""
        _ = self._scored

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Compute Σ_α log N(log x_α; μ_αc, σ²_αc)."""
        for rows in blocks(start, stop, SCORED // max(1, X.shape[1])):
            scores = np.empty((len(out), rows.stop - rows.start))
            super().log_prob(portable_log(positive(X, rows)), 0, scores.shape[1], scores)
            out[:, rows.start - start : rows.stop - start] = scores

    def contributions(self, X: Data) -> Float64:
        """Compute log N(log x_α; μ_αc, σ²_αc) of each feature; 0 where it is missing."""
        return super().contributions(portable_log(positive(X)))

    def log_base(self, X: Data) -> Float64:
        """Compute -Σ_α log x_α, and the distances of features that are the same in every class."""
        logs = portable_log(positive(X))
        return super().log_base(logs) - np.nansum(logs, axis=1)

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Draw rows of independent log-normal values, none of them 0 or infinite."""
        with np.errstate(over="ignore", under="ignore"):
            return np.clip(np.exp(super().sample(codes, generator)), LEAST, LARGEST)

    def numbers(self) -> ClassNumbers:
        """Return medians and geometric standard deviations."""
        values = {"median": np.exp(self.mean), "factor": np.exp(np.sqrt(self.variance))}
        return ClassNumbers("median ×÷ geometric standard deviation", " ×÷ ", values)

    def normal(self) -> None:
        """None: the logarithms are normal, not the values."""

    def linear(self) -> tuple[Float64, Float64]:
        """Not available: log N(log x; μ, σ²) is quadratic in log x."""
        raise ValueError(self.not_linear)

    not_linear = "the log-odds are quadratic in log x"
