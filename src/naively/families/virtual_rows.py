"""MAP estimates of means and variances: what Laplace smoothing is for counts."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from naively.exact import LARGEST, Float64

MOST = 1e100
FARTHEST = 1e154  # whose square is a float64


def check_rows(alpha: Any) -> None:
    """Raise ValueError unless it is a number of virtual rows."""
    number = isinstance(alpha, Real) and not isinstance(alpha, bool)
    if not (number and 0 <= alpha <= MOST):
        raise ValueError(f"alpha must be a number of virtual rows from 0 to 1e100, not {alpha!r}")


class VirtualRows:
    """`alpha` rows that each class is taken to have had besides its own n.

    Their mean μ₀ and variance σ₀² are those of all classes together. Estimates of maximum
    likelihood from the rows and the virtual rows together are::

        μ = (n x̄ + α μ₀) / (n + α)
        σ² = (S + α σ₀² + (α n / (α + n)) (x̄ - μ₀)²) / (n + α)

    with x̄ and S the mean and the sum of squared deviations of a class. So the prior is the
    likelihood of α rows, as the prior of Laplace smoothing is that of l throws: a normal-inverse-
    gamma density, whose posterior mode this is. Lecture 2, "add m virtual datapts"; Fraley &
    Raftery 2007, "Bayesian regularization for normal mixture estimation", J. of Classification 24,
    with κ = α, ν = α - 3 and ς² = α σ₀².

    Parameters
    ----------
    alpha : how many, for each class.
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
        """μ, (C, d); x̄ itself, to the last bit, where it is μ₀."""
        return self.mean + self.alpha / (self.weight + self.alpha) * self.away

    def steps(self) -> Float64:
        """√(α n / (α + n)) (μ₀ - x̄), (C, d): their squares are what differing means add."""
        share = self.weight / (self.weight + self.alpha)
        return np.sqrt(self.alpha * share) * np.clip(self.away, -FARTHEST, FARTHEST)

    def scatter(self) -> Float64:
        """What they add to the sum of squared deviations of each class, (C, d)."""
        with np.errstate(over="ignore"):
            return self.alpha * self.spread + self.steps() ** 2

    @np.errstate(over="ignore", invalid="ignore")  # `whiten` refuses what is not finite
    def add_covariance(self, covariance: Float64, group: list[int], freedom: float) -> float:
        """Add them to the covariance, (d, d), of some classes together, in place.

        Their features are independent, as naive Bayes supposes: Σ₀ is diagonal. So it is singular
        only if a feature is the same in all classes. Of rows with missing values, all pairs of
        features count as many as `freedom` says.

        Returns
        -------
        The degrees of freedom with them.
        """
        total = freedom + self.alpha * len(group)
        covariance *= freedom / total
        for step in self.steps()[group]:
            covariance += np.multiply.outer(step, step / total)
        covariance[np.diag_indices_from(covariance)] += (total - freedom) / total * self.spread
        return total
