"""Exact sums of products of features, Σ w x_i x_j: the cells of a symmetric matrix."""

from naively.kernels.native import (
    add_rests,
    add_squares,
    add_whole,
    column_sizes,
    cut,
    deposit_rows,
    incomplete,
    settle_tiles,
    square,
)
from naively.kernels.sizes import LANES

__all__ = [
    "add_rests", "add_squares", "add_whole", "column_sizes", "cut", "deposit_rows", "incomplete",
    "settle_tiles", "square",
]  # fmt: skip

WIDTH = 2 * LANES  # features of a panel
CELLS = WIDTH * WIDTH  # of a tile
BITS = 22  # of a piece
ROWS = 256  # of a plane, so that it stays in the cache
EXACT = 2.0**53  # up to which whole numbers add up exactly
SUMS = 16  # of that size that int64 can hold, and combine
