"""Exact sums of x and x * x for each class and feature of dense rows, at memory speed."""

from naively.kernels.native import complete, dense_sums, flush_all
from naively.kernels.sizes import LANES

__all__ = ["CELLS", "LANES", "complete", "dense_sums", "flush_all"]

CELLS = 32768  # cells of a chunk: 256 KiB, half a level-2 cache
DONE, OUT_OF_BOUNDS, WIDEN, HAS_MISSING, RESCALE, EXTREME, SPILLED = range(7)
