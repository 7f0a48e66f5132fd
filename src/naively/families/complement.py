"""Complement naive Bayes: each class is judged by the words of all the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Float64, Int64
from naively.families.base import LARGEST, Statistics
from naively.families.linear import (
    Alpha,
    LinearParameters,
    Terms,
    check_alpha,
    columns_of,
    counts_of,
    log,
)
from naively.families.multinomial import Multinomial, MultinomialParameters, total_alpha


@dataclass(frozen=True)
class Complement(Multinomial):
    """Counts, scored by the complement of each class.

    Rennie, Shih, Teevan & Karger (2003), "Tackling the poor assumptions of naive Bayes text
    classifiers": with θ̃_αc estimated from all classes but c, the score of class c is
    log π_c - Σ_α x_α log θ̃_αc. The scores are no density of x.

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
    support = (0.0, LARGEST)
    is_density = False

    def estimate(self, statistics: Statistics, class_weight: ExactArray) -> Any:
        """The weights -log θ̃_αc."""
        return ComplementParameters(statistics.tables["sum"], self.alpha, self.norm)


class ComplementParameters(LinearParameters):
    """-log θ̃_αc, from the counts of all classes minus those of class c, exactly."""

    has_zero = False

    def __init__(self, counts: ExactArray, alpha: Alpha, norm: bool) -> None:
        super().__init__(*counts.shape)
        self.counts = counts
        self.alpha = check_alpha(alpha, *counts.shape)
        self.n_free = self.n_classes * max(self.n_features - 1, 0)
        own = counts.summed(1)
        rest = _complement(own, own.summed(0))
        self.totals = counts_of(rest) + total_alpha(self.alpha, *counts.shape)
        self.norms = np.ones((self.n_classes, 1))
        if norm:
            weights = self._weights(slice(0, self.n_features))
            sums = np.where(np.isfinite(weights), weights, 0.0).sum(axis=1, keepdims=True)
            self.norms = np.where(sums > 0, sums, 1.0)

    def _weights(self, columns: slice) -> Float64:
        own = self.counts.taken(1, columns)
        counts = counts_of(_complement(own, own.summed(0))) + columns_of(self.alpha, columns)
        totals = self.totals[:, np.newaxis]
        known = log(np.where(totals > 0, totals, 1.0)) - log(counts)
        return np.where(totals > 0, known, np.log(max(self.n_features, 1)))

    def weights(self, columns: slice) -> Float64:
        """w_αc of a block of columns, (C, b): +inf for what only class c ever showed."""
        return self._weights(columns) / self.norms

    def terms(self, columns: slice) -> Terms:
        """x_α w_αc; without smoothing, an event that only class c showed excludes the others."""
        weights = self.weights(columns)
        certain = np.isposinf(weights)
        if not certain.any():
            return Terms(weights)
        excluded = certain.any(axis=0) & ~certain
        return Terms(np.where(certain, 0.0, np.where(excluded, -np.inf, weights)))

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Rows of 100 events each, from the multinomial of the same counts."""
        return MultinomialParameters(self.counts, self.alpha).sample(codes, generator)


def _complement(own: ExactArray, total: ExactArray) -> ExactArray:
    """Total - own for each class, exactly; `total` has no class axis."""
    limbs = np.repeat(total.limbs[np.newaxis], own.shape[0], axis=0)
    return ExactArray(limbs, total.low).add(own, sign=-1)
