"""Yes-or-no features: p(x_α | y = c) = p_αc^x_α (1 - p_αc)^(1 - x_α)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Float64, Int64
from naively.families.base import (
    Batch,
    Data,
    Family,
    InvalidValueError,
    Statistics,
    dense,
    is_sparse,
)
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
from naively.families.multinomial import CountStatistics
from naively.families.sums import sum_powers
from naively.workers import Workers


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

    def __post_init__(self) -> None:
        valid_alpha(self.alpha)
        number = isinstance(self.binarize, int | float | np.number)
        if self.binarize is not None and (not number or math.isnan(self.binarize)):
            raise ValueError(f"binarize must be a number or None, not {self.binarize!r}")

    def check(self, statistics: Statistics, class_weight: ExactArray) -> None:
        """Raise ValueError unless alpha is of a shape that fits."""
        _pair(self.alpha, *statistics.tables["sum"].shape)

    def adds_to(self, other: Family) -> bool:
        """Whether statistics of the two mean the same."""
        return isinstance(other, Bernoulli) and self.binarize == other.binarize

    @property
    def threshold(self) -> float:
        """`binarize` as the kernels take it."""
        return math.nan if self.binarize is None else float(self.binarize)

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> Statistics:
        """The weight of the rows in which each feature is present, exactly."""
        if self.binarize is None:
            sums = sum_powers(X, batch, workers, minimum=0.0, maximum=1.0)
            return BernoulliStatistics(sums.tables)
        refuse_sparse(X, self.threshold)
        return BernoulliStatistics(sum_powers(X, batch, workers, threshold=self.threshold).tables)

    def empty(self, n_classes: int, n_features: int) -> BernoulliStatistics:
        """The statistics of no rows."""
        zeros = ExactArray.zeros((n_classes, n_features))
        return BernoulliStatistics({"sum": zeros, "missing": zeros})

    def estimate(self, statistics: Statistics, class_weight: ExactArray) -> Any:
        """p_αc."""
        return BernoulliParameters(statistics, class_weight, self.alpha, self.threshold)


def refuse_sparse(X: Data, threshold: float) -> None:
    """Raise ValueError if the zeros of a sparse matrix would be above the threshold."""
    if is_sparse(X) and threshold < 0:
        raise ValueError("Cannot binarize a sparse matrix with threshold < 0: 0 is above it")


def _pair(alpha: Alpha, n_classes: int, n_features: int) -> tuple[Float64, Float64]:
    """Alpha of absence and of presence, checked."""
    given = valid_alpha(alpha)
    if given.ndim == 3 and given.shape[2] != 2:
        raise ValueError(f"alpha of absence and presence must be of shape (..., 2): {given.shape}")
    pair = (given[..., 0], given[..., 1]) if given.ndim == 3 else (given, given)
    return check_alpha(pair[0], n_classes, n_features), check_alpha(pair[1], n_classes, n_features)


class BernoulliStatistics(CountStatistics):
    """Tables ``sum`` (weight of rows with the feature) and ``missing``, (C, d) each."""

    def impossible(self, class_weight: ExactArray) -> str | None:
        """As the base class; no feature is present in more rows than there are."""
        absent = self.observed(class_weight).add(self.tables["sum"], sign=-1)
        if absent.below_zero(self.tables["sum"]):
            return "these rows were not all learned before"
        return super().impossible(class_weight)


class BernoulliParameters(LinearParameters):
    """log p_αc and log (1 - p_αc), each from its own exact count."""

    def __init__(
        self, statistics: Statistics, class_weight: ExactArray, alpha: Alpha, threshold: float
    ) -> None:
        self.present = statistics.tables["sum"]
        self.statistics = statistics
        super().__init__(*self.present.shape)
        self.class_weight = class_weight
        self.threshold = threshold
        self.alpha_absent, self.alpha_present = _pair(alpha, *self.present.shape)
        self.n_free = self.n_classes * self.n_features

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """As the base class; refuses values outside [0, 1] where nothing binarizes them."""
        refuse_sparse(X, self.threshold)
        if math.isnan(self.threshold):
            values = X.data[X.indptr[start] : X.indptr[stop]] if is_sparse(X) else X[start:stop]
            if np.any((values < 0) | (values > 1)):
                rows = dense(X[start:stop])
                row, column = np.argwhere((rows < 0) | (rows > 1))[0].tolist()
                problem = f"{{where}} is {rows[row, column]:g}, not in [0, 1]; set `binarize`"
                raise InvalidValueError(start + row, column, problem)
        super().log_prob(X, start, stop, out)

    def log_probabilities(self, columns: slice) -> tuple[Float64, Float64]:
        """(log (1 - p), log p) of a block of columns, (C, b); even odds where nothing is known."""
        present = self.present.taken(1, columns)
        observed = self.statistics.observed(self.class_weight, columns)
        absent_alpha = columns_of(self.alpha_absent, columns)
        present_alpha = columns_of(self.alpha_present, columns)
        total = counts_of(observed) + absent_alpha + present_alpha
        absent = counts_of(observed.add(present, sign=-1)) + absent_alpha
        log_total = log(np.where(total > 0, total, 1.0))
        unknown = math.log(0.5)
        return (
            np.where(total > 0, log(absent) - log_total, unknown),
            np.where(total > 0, log(counts_of(present) + present_alpha) - log_total, unknown),
        )

    def terms(self, columns: slice) -> Terms:
        """log (1 - p_αc) + x_α (log p_αc - log (1 - p_αc))."""
        absent, present = self.log_probabilities(columns)
        terms = Terms(present, absent)
        for part in (terms, terms.impossible):
            if part is not None and part.zero is not None:
                part.slope = part.slope - part.zero
        return terms

    def linear_rows(self, X: Data) -> Any:
        """The zeros and ones that x stands for."""
        if math.isnan(self.threshold):
            return X
        refuse_sparse(X, self.threshold)
        if is_sparse(X):
            X = X.astype(np.float64)
            X.data = self.linear_rows(X.data)
            return X
        return np.where(np.isnan(X), np.nan, self.threshold < X)

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Rows of zeros and ones; with `binarize` not in [0, 1), of that and one more."""
        _, present = self.log_probabilities(slice(0, self.n_features))
        draws = generator.random((len(codes), self.n_features)) < np.exp(present[codes])
        between = math.isnan(self.threshold) or 0 <= self.threshold < 1
        return draws + (0.0 if between else self.threshold)
