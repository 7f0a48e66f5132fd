"""What the terms of documents tell that were not counted themselves."""

from naively.kernels.native import all_sums, left_out, term_weights

__all__ = ["all_sums", "left_out", "term_weights"]
