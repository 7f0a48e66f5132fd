"""Score rows and evidence with compiled loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from naively.kernels import native
from naively.kernels.native import (
    add_all,
    add_distances,
    add_evidence,
    add_rows,
    add_scores,
    best_class,
    equal_bins,
    expect,
    expected_of,
    fill_cells,
    fill_surprises,
    gaussian_dense,
    gaussian_sparse,
    linear_dense,
    linear_sparse,
    look_up,
    look_up_ranks,
    place_columns,
    places_of,
    projections,
    rough_gains,
    slopes_of,
    smooth_shares,
    unpack,
)
from naively.kernels.sums import TILE

__all__ = [
    "NONE", "Table", "add_all", "add_distances", "add_evidence", "add_scores", "best_class",
    "cells_of", "count", "equal_bins", "expect", "expected_of", "gains", "gaussian_dense",
    "gaussian_sparse", "grow_tree", "leaves_of", "left_out_surprises", "linear_dense",
    "linear_sparse", "look_up", "look_up_ranks", "pack", "packed_size", "place_columns",
    "places_of", "projections", "rough_gains", "smooth_shares", "table", "unpack",
]  # fmt: skip

FLOOR = -1e20  # lowest score of a zero in sparse rows, so that it cancels to 12 digits
FARTHEST = -1e300  # lowest score of another value in sparse rows


# ---- evidence ------------------------------------------------------------------------------------


Array = npt.NDArray[Any]

NONE = -1  # fills the columns of a block that has fewer
STEEPEST = 1.5  # largest weight at which the gain of a block is evaluated


def cells_of(
    codes: Array, sizes: Array, columns: Sequence[int], rows: Array | None = None
) -> npt.NDArray[np.uint32]:
    """Return the cell of each entry, or of some entries, in the table of some columns."""
    first, *others = columns
    cells = (codes[first] if rows is None else codes[first][rows]).astype(np.uint32)
    for j in others:
        cells *= np.uint32(sizes[j])
        cells += codes[j] if rows is None else codes[j][rows]
    return cells


class Table(NamedTuple):
    """Sums over the cells of a block, by fold."""

    counts: Array  # (folds, cells, C), the weight of entries
    expected: Array  # (folds, cells, C), the weight that the model expects
    others: Array  # (cells, folds, C) float32, what models without a fold expect of the other folds
    variance: Array  # (folds, cells), Σ w (1 - Σ_c p_c²) of the expected probabilities


def table(
    cells: Array, size: int, n_parts: int, parts: Array, y: Array, weights: Array, means: Array,
    variances: Array, others: Array,
) -> Table:  # fmt: skip
    """Return the sums over `size` cells.

    If `others` (n, folds, C) is empty, the expectations of all other folds are added up instead.
    """
    shape = n_parts, size, means.shape[1]
    counts, expected, variance = np.zeros(shape), np.zeros(shape), np.zeros(shape[:2])
    fill_cells(cells, parts, y, weights, means, variances, counts, expected, variance)
    without = np.zeros((size, n_parts, shape[2]), np.float32)
    if len(others):
        add_rows(cells, others.reshape(-1), n_parts * shape[2], without.reshape(-1))
    else:
        without[:] = (expected.sum(axis=0) - expected).transpose(1, 0, 2)
    return Table(counts, expected, without, variance)


def count(
    codes: Array, parts: Array, y: Array, weights: Array, shape: tuple[int, int, int]
) -> npt.NDArray[np.float64]:
    """Return the weight of the entries of each [fold, bin, class], an array of this shape."""
    _, bins, classes = shape
    cells = (parts * bins + codes) * classes + y
    counts: npt.NDArray[Any] = np.bincount(cells, weights, minlength=math.prod(shape))
    return counts.reshape(shape)


def left_out_surprises(sums: Table, prior: Array, strength: float) -> npt.NDArray[np.float32]:
    """Return log p(c | cell) - log q(c), (cells, folds + 1, C), in nats.

    Without each fold, and last from all. q are the expected shares; p are the counted shares,
    smoothed by `strength` expected rows.
    """
    parts, cells, classes = sums.counts.shape
    out = np.empty((cells, parts + 1, classes), np.float32)
    fill_surprises(*sums, prior, strength, out)
    return out


def gains(
    codes: Array, sizes: Array, columns: Array, repeat: Array, repeats: int, parts: Array, y: Array,
    weights: Array, means: Array, variances: Array, others: Array, prior: Array, strengths: Array,
) -> Array:  # fmt: skip
    """Return the gain in log-likelihood of held-out rows by each block, for each strength, in nats.

    A second-order approximation in the block's weight, with out-of-fold evidence; (B, S). `columns`
    (B, W) are those of the blocks, filled up by `NONE`.
    """
    _, n_parts, classes = others.shape
    cells = int(np.append(sizes, 1)[columns].prod(axis=1).max(initial=1)) * repeats * n_parts
    slope, bend = np.zeros((2, len(columns), len(strengths)))
    slopes_of(
        codes, sizes, columns, repeat, repeats, parts, y, weights, means, variances, others, prior,
        strengths, np.empty(len(y), np.uint32), np.empty(cells * (2 * classes + 1)),
        np.empty(cells * classes, np.float32), slope, bend,
    )  # fmt: skip
    uphill = (slope > 0.0) & (bend > 0.0)
    slope, bend = np.where(uphill, slope, 0.0), np.where(uphill, bend, 1.0)
    step = np.minimum(slope / bend, STEEPEST)
    return step * slope - 0.5 * step * step * bend


# ---- trees ---------------------------------------------------------------------------------------


def grow_tree(
    codes: Array, sizes: Array, ordered: Array, y: Array, weights: Array, classes: int,
    fewest: float, least: float, leaves: int,
) -> npt.NDArray[np.int64]:  # fmt: skip
    """Return the nodes of a tree, (M, 4): column, first and last bin, child (`native/trees.cpp`).

    `codes`: (d, n) uint16, the bins of rows. `sizes`, `ordered`: (d,) the number of bins of each
    column; 1 if they have an order, or 0. `y`, `weights`: (n,) class and weight of each row.
    `classes`: their number. `fewest`, `least`: rows on each side of a cut, and nats that it gains,
    at least. `leaves`: their number, at most.
    """
    nodes = np.empty((2 * leaves - 1, 4), np.int64)
    count = native.grow_tree(codes, sizes, ordered, y, weights, classes, fewest, least, nodes)
    return nodes[:count].copy()


def leaves_of(codes: Array, nodes: Array, roots: Array) -> npt.NDArray[np.uint32]:
    """Return the leaf of each row in each tree, (T, n), as an index into the nodes.

    `codes` (d, n) are the bins of the rows, `roots` (T,) the first node of each tree.
    """
    leaves = np.empty((len(roots), codes.shape[1]), np.uint32)
    native.leaves_of(codes, nodes, roots, leaves)
    return leaves


# ---- distances -----------------------------------------------------------------------------------


Float64 = npt.NDArray[np.float64]


def packed_size(features: int) -> int:
    """Return the size of a packed lower triangular matrix."""
    return sum(min(features, first + TILE) * TILE for first in range(0, features, TILE))


def pack(A: Float64, packed: Float64) -> None:
    """Write a matrix in bands of eight rows, column by column; pad the last with zeros.

    If A is lower triangular, which the size of `packed` decides, only the columns up to a band's
    last row are written.
    """
    rows, columns = A.shape
    triangular = rows == columns and packed.size == packed_size(rows)
    at = 0
    for first in range(0, rows, TILE):
        width = min(columns, first + TILE) if triangular else columns
        band = np.zeros((width, TILE))
        band_rows = A[first : first + TILE, :width]
        band[:, : len(band_rows)] = band_rows.T
        packed[at : at + band.size] = band.ravel()
        at += band.size
