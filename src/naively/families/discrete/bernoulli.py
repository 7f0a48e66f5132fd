"""Model binary features: p(x_α | y = c) = p_αc^x_α (1 - p_αc)^(1 - x_α)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.core.exact import ExactArray, Float64, Int64
from naively.families.base import ClassNumbers, Events, Family
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
from naively.statistics.powers import Presence, PresenceStatistics, refuse_beyond, refuse_sparse


@dataclass(frozen=True)
class Bernoulli(Family[PresenceStatistics, "BernoulliParameters"]):
    """Features that are present or absent.

    Lecture 4, "Bernoulli-NBC": p_αc = (1 + m_αc) / (2 + m_c); lecture 2, "Handwritten digit
    recognition (discrete features)".

    Parameters
    ----------
    alpha : float or array
        Virtual examples of presence and of absence: 0 for maximum likelihood, 1 for Laplace; a
        scalar, or of shape (d,), (C, 1) or (C, d); or (1, d, 2), (C, 1, 2) or (C, d, 2) with
        [absent, present] in the last axis: the m virtual examples with prior Q of lecture 2.
    binarize : float or None
        Values above it are present. None: the values are 0 and 1 already, or between as soft
        evidence.
    """

    alpha: Alpha = 1.0
    binarize: float | None = 0.0

    name = "bernoulli"

    def __post_init__(self) -> None:
        valid_alpha(self.alpha)
        number = isinstance(self.binarize, int | float | np.number)
        if self.binarize is not None and (not number or math.isnan(self.binarize)):
            raise ValueError(f"binarize must be a number or None, not {self.binarize!r}")

    def check(self, statistics: PresenceStatistics, class_weight: ExactArray) -> None:
        """Raise ValueError unless alpha has a valid shape."""
        _pair(self.alpha, *statistics.tables["sum"].shape)

    @property
    def summary(self) -> Presence:  # type: ignore[override]
        """Count the rows in which each feature is present."""
        return Presence(self.binarize)

    @property
    def threshold(self) -> float:
        """`binarize` for the kernels; NaN for None."""
        return math.nan if self.binarize is None else float(self.binarize)

    def estimate(
        self, statistics: PresenceStatistics, class_weight: ExactArray
    ) -> BernoulliParameters:
        """Estimate p_αc."""
        return BernoulliParameters(statistics, class_weight, self.alpha, self.threshold)


def _pair(alpha: Alpha, n_classes: int, n_features: int) -> tuple[Float64, Float64]:
    """Return alpha of absence and of presence, checked."""
    alphas = valid_alpha(alpha)
    if alphas.ndim == 3 and alphas.shape[2] != 2:
        raise ValueError(f"alpha of absence and presence must be of shape (..., 2): {alphas.shape}")
    pair = (alphas[..., 0], alphas[..., 1]) if alphas.ndim == 3 else (alphas, alphas)
    return check_alpha(pair[0], n_classes, n_features), check_alpha(pair[1], n_classes, n_features)


class BernoulliParameters(LinearParameters):
    """log p_αc and log (1 - p_αc), each from its own exact count."""

    claims_least = True

    def __init__(
        self, statistics: PresenceStatistics, class_weight: ExactArray, alpha: Alpha,
        threshold: float,
    ) -> None:  # fmt: skip
        self.present = statistics.tables["sum"]
        self.statistics = statistics
        super().__init__(*self.present.shape)
        self.class_weight = class_weight
        self.threshold = threshold
        self.alpha_absent, self.alpha_present = _pair(alpha, *self.present.shape)
        self.n_free = self.n_classes * self.n_features

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """As the base class; InvalidValueError for values outside [0, 1] without `binarize`."""
        refuse_sparse(X, self.threshold)
        if math.isnan(self.threshold):
            refuse_beyond(X, start, stop, 1.0)
        super().log_prob(X, start, stop, out)

    def log_probabilities(self, columns: slice) -> tuple[Float64, Float64]:
        """Compute (log (1 - p), log p) of a block of columns, (C, b); p is 1/2 without rows."""
        present = self.present.gather(1, columns)
        observed = self.statistics.observed(self.class_weight, columns)
        absent_alpha = columns_of(self.alpha_absent, columns)
        present_alpha = columns_of(self.alpha_present, columns)
        total = counts_of(observed) + absent_alpha + present_alpha
        absent = counts_of(observed.accumulate(present, sign=-1)) + absent_alpha
        log_total = log(np.where(total > 0, total, 1.0))
        unknown = math.log(0.5)
        return (
            np.where(total > 0, log(absent) - log_total, unknown),
            np.where(total > 0, log(counts_of(present) + present_alpha) - log_total, unknown),
        )

    def terms(self, columns: slice) -> Terms:
        """Compute log (1 - p_αc) + x_α (log p_αc - log (1 - p_αc))."""
        absent, present = self.log_probabilities(columns)
        terms = Terms(present, absent)
        for term_set in (terms, terms.impossible):
            if term_set is not None and term_set.zero is not None:
                term_set.slope = term_set.slope - term_set.zero
        return terms

    def linear_rows(self, X: Data) -> Any:
        """Return the values as zeros and ones."""
        if math.isnan(self.threshold):
            return X
        refuse_sparse(X, self.threshold)
        if is_sparse(X):
            X = X.astype(np.float64)
            X.data = self.linear_rows(X.data)
            return X
        return np.where(np.isnan(X), np.nan, self.threshold < X)

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Draw rows of zeros and ones, or of `binarize` and one more if it is not in [0, 1)."""
        draws = generator.random((len(codes), self.n_features)) < self.presence()[codes]
        is_unit = math.isnan(self.threshold) or 0 <= self.threshold < 1
        return draws + (0.0 if is_unit else self.threshold)

    def feature_log_prob(self) -> Float64:
        """Return log p_αc, (C, d)."""
        return self.log_probabilities(slice(0, self.n_features))[1]

    def presence(self) -> Float64:
        """Return p_αc, (C, d)."""
        return np.exp(self.feature_log_prob())

    def numbers(self) -> ClassNumbers:
        """Return p_αc."""
        p = {"p": self.presence()}
        return ClassNumbers("probability of true in %", "", p, ("P(on | class)",))

    def events(self, names: Sequence[str], features: Sequence[int] | None = None) -> Events | None:
        """Return the presence of each feature as events; None for some features."""
        if features is not None:
            return None
        totals = self.statistics.observed(self.class_weight).rounded()
        alpha = np.broadcast_to(self.alpha_present, totals.shape)
        return Events(names, self.present.rounded(), totals, alpha, alpha + self.alpha_absent)
