"""Copies of rows, beside equal rows that were met anew."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from naively.exact import Float64, Int64

DEVIATIONS = 3.0
"""By how many standard errors counts are more even than by chance, where rows were copied."""


def as_copies(y: Int64, count: Float64, n_classes: int) -> npt.NDArray[np.bool_]:
    """Which classes have rows that are there more than once as copies, (C,).

    Of rows that were met anew some are there more often than others. Counts that are more even than
    those of a Poisson distribution, of what is above 0, are of copies: tested as χ², by the
    approximation of Wilson and Hilferty (1931).

    Parameters
    ----------
    y : (n,) the class of each different row.
    count : (n,) how often it is there, or its weight.
    n_classes : C.
    """
    rows = np.maximum(np.bincount(y, minlength=n_classes), 1)
    mean = np.bincount(y, count, n_classes) / rows
    off = np.bincount(y, (count - mean[y]) ** 2, n_classes) / np.maximum(rows - 1, 1)
    rate = np.maximum(mean, 1.0)
    for _ in range(50):  # Newton's steps to mean = rate / (1 - exp(-rate))
        slope = np.maximum(1 - mean * np.exp(-rate), 1e-9)
        rate = rate - np.minimum((rate + mean * np.expm1(-rate)) / slope, rate / 2)
    usual = mean * np.maximum(1 + rate - mean, 1e-9)
    error = 2 / (9 * np.maximum(rows - 1, 1))
    least = np.maximum(1 - error - DEVIATIONS * np.sqrt(error), 0.0) ** 3
    found: npt.NDArray[np.bool_] = (mean > 1) & (off < usual * least)
    return found
