"""Compiled loops that count exactly: sums of numbers, squares and products."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from naively.kernels.native import (
    accumulate,
    add_rests,
    add_squares,
    add_whole,
    centre,
    column_sizes,
    complete,
    cut,
    dense_deposits,
    dense_sums,
    deposit_rows,
    extent,
    flush_all,
    has_duplicates,
    incomplete,
    measure,
    normalise,
    round_limbs,
    settle_tiles,
    sparse_counts,
    sparse_deposits,
    square,
    total_weights,
)

__all__ = [
    "CELLS",
    "LANES",
    "accumulate",
    "add_rests",
    "add_squares",
    "add_whole",
    "centre",
    "column_sizes",
    "complete",
    "cut",
    "dense_deposits",
    "dense_sums",
    "deposit_rows",
    "extent",
    "flush_all",
    "has_duplicates",
    "incomplete",
    "measure",
    "needed",
    "normalise",
    "round_nearest",
    "settle_tiles",
    "sparse_counts",
    "sparse_deposits",
    "square",
    "total_weights",
]

LANES = 8
"""float64 that are one value inside a kernel."""
TILE = 8
"""Rows of a tile of 8 by 16 numbers: sixteen vectors, two a row."""
CODES = 1 << 53
"""Codes of levels are below: floats hold them exactly."""


# ---- limbs ---------------------------------------------------------------------------------------


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


# ---- moments -------------------------------------------------------------------------------------


CELLS = 32768  # cells of a chunk: 256 KiB, half a level-2 cache
DONE, OUT_OF_BOUNDS, WIDEN, HAS_MISSING, RESCALE, EXTREME, SPILLED = range(7)


# ---- deposits ------------------------------------------------------------------------------------


INVALID = 1


# ---- products ------------------------------------------------------------------------------------


WIDTH = 2 * LANES  # features of a panel
PRODUCT_CELLS = WIDTH * WIDTH  # of a tile
BITS = 22  # of a piece
ROWS = 256  # of a plane, so that it stays in the cache
EXACT = 2.0**53  # up to which whole numbers add up exactly
SUMS = 16  # of that size that int64 can hold, and combine
