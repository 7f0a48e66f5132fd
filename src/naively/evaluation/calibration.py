"""Measure calibration: the expected calibration error, reliability bins, temperature scaling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64

BINS = 10
RANGE = 1e3
"""The root mean square range of decisions, after scaling, is between 1 / RANGE and RANGE nats."""


@dataclass(frozen=True)
class Reliability:
    """Confidence and accuracy by bins of confidence, and the expected calibration error.

    Rows are sorted by confidence, the probability of the predicted class, and cut into ten bins of
    equal numbers of rows. Rows of equal confidence stay together, so that bins may be fewer, and
    of unequal size.

    Attributes
    ----------
    rows : (B,) number of rows of each bin, or their weight.
    confidence : (B,) mean confidence.
    accuracy : (B,) share of correct predictions.
    error : Σ_b rows_b / n · |accuracy_b - confidence_b|, the expected calibration error (Naeini,
        Cooper & Hauskrecht 2015, who use bins of equal width instead).
    standard_error : of `error`, as the mean of n numbers ±(right - confidence), with the sign of
        each bin.
    if_calibrated : the expected `error` of calibrated probabilities on as many rows, about
        √(2/π) / n · Σ_b √(Σ_i p_i (1 - p_i)), by the normal approximation.
    """

    rows: Float64
    confidence: Float64
    accuracy: Float64
    error: float
    standard_error: float
    if_calibrated: float

    @property
    def note(self) -> str:
        """Explain with which `error` to compare: that of calibrated probabilities is not 0."""
        error = f"{self.if_calibrated:.1%}"
        return f"a perfectly calibrated model would have an ECE of {error} on as many rows"

    @classmethod
    def of(
        cls, confidence: Float64, right: npt.NDArray[np.bool_], weights: Float64 | None = None
    ) -> Reliability:
        """Measure n rows, in any order.

        Parameters
        ----------
        confidence : (n,) P(predicted class | x).
        right : (n,) whether the prediction is correct.
        weights : (n,), or None if each row weighs 1; a row of weight w counts as w rows.
        """
        levels, *counts = by_probability(confidence, right, weights)
        rows, hits = (count.astype(np.float64) for count in counts)
        n = float(rows.sum())
        if not n:
            return cls(rows, levels, levels, math.nan, math.nan, math.nan)
        middle = 2 * np.cumsum(rows) - rows  # twice the position of each distinct probability
        bins = (BINS * middle // (2 * n)).astype(np.int64)
        squares = hits * (1.0 - levels) ** 2 + (rows - hits) * levels**2
        of_bin, right_of_bin, confidences, variances = (
            np.bincount(bins, quantity, BINS).astype(np.float64)
            for quantity in (rows, hits, rows * levels, rows * levels * (1.0 - levels))
        )
        error = math.fsum(np.abs(right_of_bin - confidences)) / n
        occupied = of_bin > 0
        return cls(
            of_bin[occupied], confidences[occupied] / of_bin[occupied],
            right_of_bin[occupied] / of_bin[occupied], error,
            math.sqrt(max(math.fsum(squares) / n - error**2, 0.0) / n),
            math.sqrt(2.0 / math.pi) * math.fsum(np.sqrt(variances)) / n,
        )  # fmt: skip


def by_probability(
    chance: Float64, happened: npt.NDArray[np.bool_], weights: Float64 | None = None
) -> tuple[Float64, npt.NDArray[np.number], npt.NDArray[np.number]]:
    """(distinct probabilities, increasing; rows that have each; those of them with the event).

    Rows are counts or sums of weights, which do not depend on the order of the rows.
    """
    if weights is not None:
        order = np.lexsort([weights, chance])
        chance, happened, weights = chance[order], happened[order], weights[order]
    levels, inverse = np.unique(chance, return_inverse=True)
    size = len(levels)
    event_weights = None if weights is None else weights[happened]
    counts = np.bincount(inverse, weights, size)
    return levels, counts, np.bincount(inverse[happened], event_weights, size)


def temperature_scale(decisions: Float64, codes: Int64, weights: Float64) -> float:
    """Find the s > 0 for which softmax(s · decisions) has the smallest log-loss on these rows.

    1 / s is the temperature of Guo, Pleiss, Sun & Weinberger 2017, "On calibration of modern neural
    networks". Targets are smoothed as in Platt 1999, "Probabilistic outputs for support vector
    machines": with m_c rows of class c, a row of it has the target (m_c + 1) / (m_c + 2) for c, so
    that s is finite.

    `decisions`: (n, C) of held-out rows.
    """
    from scipy.optimize import minimize_scalar  # slow to import
    from scipy.special import log_softmax

    scale = float(np.sqrt(np.mean(np.ptp(decisions, axis=1) ** 2))) if len(decisions) else 0.0
    if scale == 0.0:
        return 1.0
    n, classes = decisions.shape
    class_weights = np.bincount(codes, weights, classes)[codes] + 1.0
    other_class = 1.0 / (class_weights + 1.0) / (classes - 1)
    target = np.repeat(other_class[:, np.newaxis], classes, axis=1)
    target[np.arange(n), codes] = class_weights / (class_weights + 1.0)
    target *= weights[:, np.newaxis]

    def loss(log_scale: float) -> float:
        return float(-(target * log_softmax(np.exp(log_scale) * decisions, axis=1)).sum())

    ends = np.log([1.0 / RANGE, RANGE]) - np.log(scale)
    result = minimize_scalar(loss, bounds=tuple(ends), method="bounded", options={"xatol": 1e-9})
    return float(np.exp(result.x))
