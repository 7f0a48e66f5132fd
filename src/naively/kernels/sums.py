"""Add numbers, squares and products exactly with compiled loops."""

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
    "CELLS", "LANES", "accumulate", "add_rests", "add_squares", "add_whole", "centre",
    "column_sizes", "complete", "cut", "dense_deposits", "dense_sums", "deposit_rows", "extent",
    "flush_all", "has_duplicates", "incomplete", "measure", "needed", "normalise", "round_nearest",
    "settle_tiles", "sparse_counts", "sparse_deposits", "square", "total_weights",
]  # fmt: skip

LANES = 8  # number of float64 values that a kernel processes at once
TILE = 8  # rows of a tile of 8 by 16 numbers: sixteen vectors, two per row
CODES = 1 << 53  # upper bound of category codes, so that floats hold them exactly


# ---- limbs ---------------------------------------------------------------------------------------


DIGIT = np.int64(0xFFFFFFFF)
HEADROOM = 40  # bits above the highest of a term, for the number of terms


def needed(low: int, high: int) -> int:
    """Return the limbs for sums of terms with bits from 2**low (a multiple of 32) to 2**high."""
    return (high + HEADROOM - low) // 32 + 3


def round_nearest(limbs: npt.NDArray[np.int64], low: int) -> npt.NDArray[Any]:
    """Return the nearest float64 of each cell of a normalised (cells, limbs) array.

    Ties are rounded to even.
    """
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
PRODUCT_CELLS = WIDTH * WIDTH  # cells of a tile
BITS = 22  # bits of a piece
ROWS = 256  # rows of a plane, so that it stays in the cache
EXACT = 2.0**53  # up to which whole numbers add up exactly
SUMS = 16  # sums of that size that can be added in int64
