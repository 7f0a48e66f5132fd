"""Scores of rows that are linear in their features, as a (classes, rows) table; the best class."""

from naively.kernels.native import (
    best_class,
    linear_dense,
    linear_sparse,
    look_up,
    look_up_ranks,
    place_columns,
    places_of,
)

__all__ = [
    "best_class", "linear_dense", "linear_sparse", "look_up", "look_up_ranks", "place_columns",
    "places_of",
]  # fmt: skip
