"""Yes-or-no features: p(x_α | y = c) = p_αc^x_α (1 - p_αc)^(1 - x_α)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Float64, Int64
from naively.families.base import Batch, Data, Family, Statistics, Workers, is_sparse
from naively.families.linear import (
    Alpha,
    LinearParameters,
    Terms,
    check_alpha,
    columns_of,
    log,
    observed_rows,
)  # fmt: skip
from naively.families.multinomial import CountStatistics
from naively.families.sums import sum_powers


@dataclass(frozen=True)
class Bernoulli(Family):
    """Features that are present or absent.

    Lecture 4, "Bernoulli-NBC": p_αc = (1 + m_αc) / (2 + m_c); lecture 2, "Handwritten digit
    recognition (discrete features)".

    Parameters
    ----------
    alpha : float or array
        Virtual examples of each kind, present and absent: 0 for maximum likelihood, 1 for
        Laplace; a scalar, or of shape (d,), (C, 1) or (C, d); or (1, d, 2), (C, 1, 2) or
        (C, d, 2) for [absent, present] apart: the m virtual examples with prior Q of lecture 2.
    binarize : float or None
        Values above it are present. None: the values are 0 and 1 already (or, as soft evidence,
        between).
    """

    alpha: Alpha = 1.0
    binarize: float | None = 0.0

    name = "bernoulli"

    @property
    def threshold(self) -> float:
        """`binarize` as the kernels take it."""
        return math.nan if self.binarize is None else float(self.binarize)

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> Statistics:
        """The weight of the rows in which each feature is present, exactly."""
        if self.binarize is None:
            return sum_powers(X, batch, workers, minimum=0.0, maximum=1.0)
        if is_sparse(X) and self.binarize < 0:
            raise ValueError("Cannot binarize a sparse matrix with threshold < 0: 0 is above it")
        return sum_powers(X, batch, workers, threshold=self.threshold)

    def empty(self, n_classes: int, n_features: int) -> BernoulliStatistics:
        """The statistics of no rows."""
        zeros = ExactArray.zeros((n_classes, n_features))
        return BernoulliStatistics({"sum": zeros, "missing": zeros})

    def estimate(self, statistics: Statistics, class_weight: ExactArray) -> Any:
        """p_αc."""
        return BernoulliParameters(statistics, class_weight, self.alpha, self.threshold)


class BernoulliStatistics(CountStatistics):
    """Tables ``sum`` (weight of rows with the feature) and ``missing``, (C, d) each."""

    def impossible(self, class_weight: ExactArray) -> str | None:
        """As the base class; no feature is present in more rows than there are."""
        everything = slice(0, self.tables["sum"].shape[1])
        observed = observed_rows(class_weight, self.tables["missing"], everything)
        if observed.add(self.tables["sum"], sign=-1).any_negative():
            return "these rows were not all learned before"
        return super().impossible(class_weight)


class BernoulliParameters(LinearParameters):
    """log p_αc and log (1 - p_αc), each from its own exact count."""

    def __init__(
        self, statistics: Statistics, class_weight: ExactArray, alpha: Alpha, threshold: float
    ) -> None:
        self.present = statistics.tables["sum"]
        self.missing = statistics.tables["missing"]
        super().__init__(*self.present.shape)
        self.class_weight = class_weight
        self.threshold = threshold
        given = np.asarray(alpha, np.float64)
        pair = (given[..., 0], given[..., 1]) if given.ndim == 3 else (given, given)
        shape = self.present.shape
        self.alpha_absent, self.alpha_present = (check_alpha(a, *shape) for a in pair)
        self.n_free = self.n_classes * self.n_features

    def log_probabilities(self, columns: slice) -> tuple[Float64, Float64]:
        """(log (1 - p), log p) of a block of columns, (C, b); even odds where nothing is known."""
        present = self.present.taken(1, columns)
        observed = observed_rows(self.class_weight, self.missing, columns)
        absent_alpha = columns_of(self.alpha_absent, columns)
        present_alpha = columns_of(self.alpha_present, columns)
        total = observed.rounded() + absent_alpha + present_alpha
        absent = observed.add(present, sign=-1).rounded() + absent_alpha
        log_total = log(np.where(total > 0, total, 1.0))
        unknown = math.log(0.5)
        return (
            np.where(total > 0, log(absent) - log_total, unknown),
            np.where(total > 0, log(present.rounded() + present_alpha) - log_total, unknown),
        )

    def terms(self, columns: slice) -> Terms:
        """log (1 - p_αc) + x_α (log p_αc - log (1 - p_αc))."""
        absent, present = self.log_probabilities(columns)
        terms = Terms(present, absent)
        terms.impossible_slope -= terms.impossible_zero
        assert terms.zero is not None
        terms.slope -= terms.zero
        return terms

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Rows of zeros and ones."""
        _, present = self.log_probabilities(slice(0, self.n_features))
        draws = generator.random((len(codes), self.n_features)) < np.exp(present[codes])
        between = math.isnan(self.threshold) or 0 <= self.threshold < 1
        return draws + (0.0 if between else self.threshold)
