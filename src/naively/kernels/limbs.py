"""Exact numbers as rows of 64-bit limbs.

A cell holds sum(limb[k] * 2**(32 * (low + k))). Between normalisations the limbs are lazy: each
deposit adds at most 2**36 to a limb, so 2**26 deposits fit. Normalised, every limb but the last
is a digit in [0, 2**32) and the last one carries the sign. After Neal (2015), "Fast exact
summation using small and large superaccumulators".
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from naively.kernels.native import accumulate, extent, normalise, round_limbs

__all__ = ["accumulate", "extent", "needed", "normalise", "round_nearest"]

DIGIT = np.int64(0xFFFFFFFF)
HEADROOM = 40  # bits above the highest of a term, for the number of terms


def needed(low: int, high: int) -> int:
    """Limbs for sums of terms with bits from 2**low (a multiple of 32) up to 2**high."""
    return (high + HEADROOM - low) // 32 + 3


def round_nearest(limbs: npt.NDArray[np.int64], low: int) -> npt.NDArray[Any]:
    """The float64 nearest to each cell of a normalised (cells, limbs) array, ties to even."""
    out = np.empty(len(limbs))
    round_limbs(limbs, low, out)
    return out
