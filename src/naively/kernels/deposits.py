"""Exact sums value by value: small batches, weighted rows, sparse rows."""

from naively.kernels.native import (
    dense_deposits,
    has_duplicates,
    measure,
    sparse_counts,
    sparse_deposits,
    total_weights,
)

__all__ = [
    "dense_deposits", "has_duplicates", "measure", "sparse_counts", "sparse_deposits",
    "total_weights",
]  # fmt: skip

OUT_OF_BOUNDS = 1
