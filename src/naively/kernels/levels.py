"""Counting and scoring the levels of categorical features."""

from naively.kernels.native import count_levels, encode, score_levels, weigh_columns
from naively.kernels.sizes import LANES

__all__ = ["LANES", "count_levels", "encode", "score_levels", "weigh_columns"]

DONE, WIDEN, REFUSED = 0, 1, 2
