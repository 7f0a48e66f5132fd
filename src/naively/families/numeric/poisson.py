"""Model independent counts: p(x_α | y = c) = λ_αc^x_α exp(-λ_αc) / x_α!."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from naively.core.exact import ExactArray, Float64, Int64
from naively.families.base import ClassNumbers, Family
from naively.families.linear import (
    Alpha,
    LinearParameters,
    Terms,
    check_alpha,
    columns_of,
    counts_of,
    log,
    valid_alpha,
)
from naively.statistics.base import Data, is_sparse
from naively.statistics.powers import CountStatistics, CountSums

HIGHEST = 1e290  # the largest rate, so that sums of rates are finite


@dataclass(frozen=True)
class Poisson(Family[CountStatistics, "PoissonParameters"]):
    """Counts of events, of which the total is evidence too, unlike in the multinomial.

    Parameters
    ----------
    alpha : float or array
        Virtual rows with one event of each kind: λ_αc = (Σ x_iα + alpha) / (n_c + alpha), the
        mean under a Gamma(alpha, alpha) prior. 0 for maximum likelihood. A scalar, or of shape
        (d,), (C, 1) or (C, d).
    """

    alpha: Alpha = 1.0

    name = "poisson"
    summary = CountSums()
    curve = "P(count | class)"

    def __post_init__(self) -> None:
        valid_alpha(self.alpha)

    def check(self, statistics: CountStatistics, class_weight: ExactArray) -> None:
        """Raise ValueError unless alpha has a valid shape."""
        check_alpha(self.alpha, *statistics.tables["sum"].shape)

    def estimate(self, statistics: CountStatistics, class_weight: ExactArray) -> PoissonParameters:
        """Estimate λ_αc."""
        return PoissonParameters(statistics, class_weight, self.alpha)


class PoissonParameters(LinearParameters):
    """Rates λ_αc."""

    def __init__(self, statistics: CountStatistics, class_weight: ExactArray, alpha: Alpha) -> None:
        self.counts = statistics.tables["sum"]
        self.statistics = statistics
        super().__init__(*self.counts.shape)
        self.class_weight = class_weight
        self.alpha = check_alpha(alpha, *self.counts.shape)
        self.n_free = self.n_classes * self.n_features

    def rates(self, columns: slice) -> Float64:
        """Compute λ_αc of a block of columns, (C, b); 1 without rows."""
        alpha = columns_of(self.alpha, columns)
        rows = counts_of(self.statistics.observed(self.class_weight, columns)) + alpha
        counts = counts_of(self.counts.gather(1, columns)) + alpha
        rates = np.where(rows > 0, counts / np.where(rows > 0, rows, 1.0), 1.0)
        return np.minimum(rates, HIGHEST)

    def terms(self, columns: slice) -> Terms:
        """Compute x_α log λ_αc - λ_αc."""
        rates = self.rates(columns)
        return Terms(log(rates), -rates)

    def log_base(self, X: Data) -> Float64:
        """Compute -Σ_α log x_α!."""
        if is_sparse(X):
            X = X.copy()
            X.data = scipy.special.gammaln(np.nan_to_num(X.data.astype(np.float64)) + 1.0)
            return -np.asarray(X.sum(axis=1)).ravel()
        return -scipy.special.gammaln(np.nan_to_num(X.astype(np.float64)) + 1.0).sum(axis=1)

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Draw rows of independent counts."""
        return generator.poisson(self.rates(slice(0, self.n_features))[codes])

    def numbers(self) -> ClassNumbers:
        """Return mean counts."""
        rates = self.rates(slice(0, self.n_features))
        return ClassNumbers("mean count", "", {"mean": rates}, ("mean count",))
