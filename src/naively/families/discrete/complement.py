"""Model counts by complement naive Bayes: each class is scored by the events of all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from naively.core.exact import ExactArray, Float64
from naively.families.base import ClassNumbers
from naively.families.discrete.multinomial import Multinomial, SharedEvents, total_alpha
from naively.families.linear import Alpha, Terms, columns_of, counts_of, log
from naively.statistics.powers import CountStatistics


@dataclass(frozen=True)
class Complement(Multinomial):
    """Counts, scored by the complement of each class.

    Rennie, Shih, Teevan & Karger (2003), "Tackling the poor assumptions of naive Bayes text
    classifiers": with θ̃_αc estimated from all classes but c, the score of class c is
    log π_c - Σ_α x_α log θ̃_αc. The scores are not a density of x.

    Parameters
    ----------
    alpha : float or array
        Smoothing of θ̃, as in `Multinomial`.
    norm : bool
        Divide each class's weights by their sum (the paper's weight normalisation).
    """

    alpha: Alpha = 1.0
    norm: bool = False

    name = "complement"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm not in (True, False):
            raise ValueError(f"norm must be True or False, not {self.norm!r}")

    is_density = is_story = False

    def estimate(
        self, statistics: CountStatistics, class_weight: ExactArray
    ) -> ComplementParameters:
        """Estimate the weights -log θ̃_αc."""
        counts, events = statistics.tables["sum"], statistics.events()
        return ComplementParameters(counts, self.alpha, self.norm, events)

    @property
    def needs_present_columns_only(self) -> bool:
        """Whether the weight of a column needs only its sums and the totals: one alpha, no norm."""
        return np.ndim(self.alpha) == 0 and not self.norm


class ComplementParameters(SharedEvents):
    """-log θ̃_αc, from the exact counts of all classes minus those of class c."""

    def __init__(
        self, counts: ExactArray, alpha: Alpha, norm: bool,
        events: tuple[ExactArray, int] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(counts, alpha)
        event_counts, self.width = events or (counts.summed(1), self.n_features)
        others = _complement(event_counts, event_counts.summed(0))
        self.totals = counts_of(others) + total_alpha(self.alpha, self.n_classes, self.width)
        self.n_free = self.n_classes * max(self.width - 1, 0)
        self.norms = np.ones((self.n_classes, 1))
        if norm:
            weights = self._weights(slice(0, self.n_features))
            sums = np.where(np.isfinite(weights), weights, 0.0).sum(axis=1, keepdims=True)
            self.norms = np.where(sums > 0, sums, 1.0)

    def _weights(self, columns: slice) -> Float64:
        class_counts = self.counts.gather(1, columns)
        others = _complement(class_counts, class_counts.summed(0))
        counts = counts_of(others) + columns_of(self.alpha, columns)
        totals = self.totals[:, np.newaxis]
        log_weights = log(np.where(totals > 0, totals, 1.0)) - log(counts)
        return np.where(totals > 0, log_weights, np.log(max(self.width, 1)))

    def weights(self, columns: slice) -> Float64:
        """Compute w_αc of a block of columns, (C, b): +inf for events of class c alone."""
        return self._weights(columns) / self.norms

    def terms(self, columns: slice) -> Terms:
        """Compute x_α w_αc; without smoothing, an event of class c alone excludes the others."""
        weights = self.weights(columns)
        is_infinite = np.isposinf(weights)
        if not is_infinite.any():
            return Terms(weights)
        excluded = is_infinite.any(axis=0) & ~is_infinite
        return Terms(np.where(is_infinite, 0.0, np.where(excluded, -np.inf, weights)))

    def feature_log_prob(self) -> Float64:
        """Return the weights, (C, d)."""
        return self.weights(slice(0, self.n_features))

    def event_probabilities(self) -> Float64:
        """Return θ̃_αc, the share of the event in the other classes."""
        return np.minimum(np.exp(-self.feature_log_prob()), 1.0)

    def numbers(self) -> ClassNumbers:
        """Return the weights."""
        weights = self.feature_log_prob()
        return ClassNumbers("weight of a count: minus log of the others' share", "", {"w": weights})


def _complement(counts: ExactArray, total: ExactArray) -> ExactArray:
    """Compute total - own for each class, exactly; `total` has no class axis."""
    return total.repeated(counts.shape[0], axis=0).accumulate(counts, sign=-1)
