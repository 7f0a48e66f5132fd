"""Counting and scoring the levels of categorical features."""

import math

import numpy as np
from numba import types
from numba.extending import overload

from naively.kernels.jit import jit
from naively.kernels.limbs import add_value

MISSING, UNSEEN = -1, -2  # in place of a column
NEGATIVE, FRACTIONAL = -2, -3  # in place of a level
DONE, WIDEN, INVALID = 0, 1, 2


def as_level(x):
    """The level code of a value: non-negative, or MISSING, or one of the two refusals."""


@overload(as_level, inline="always")
def _as_level(x):
    if isinstance(x, types.Float):

        def from_float(x):
            if math.isnan(x):
                return np.int64(MISSING)
            if x < 0:
                return np.int64(NEGATIVE)
            if x != math.floor(x) or x >= 2.0**53:
                return np.int64(FRACTIONAL)
            return np.int64(x)

        return from_float

    return lambda x: max(np.int64(x), np.int64(NEGATIVE))


@jit
def count_levels(X, codes, start, stop, offsets, counts, missing, report):
    """Count the levels of rows start:stop; resumable.

    counts is (classes, offsets[-1]) and missing (classes, d), both int64. Returns (status, row),
    with (column, level) in `report` where a level is beyond its table or no level at all.
    """
    for i in range(start, stop):
        row = counts[codes[i]]
        for j in range(X.shape[1]):
            k = as_level(X[i, j])
            if np.uint64(k) < np.uint64(offsets[j + 1] - offsets[j]):
                row[offsets[j] + k] += 1
            elif k == MISSING:
                missing[codes[i], j] += 1
            else:
                for u in range(j):  # undo this row: it is counted again when resumed
                    k0 = as_level(X[i, u])
                    if k0 == MISSING:
                        missing[codes[i], u] -= 1
                    else:
                        row[offsets[u] + k0] -= 1
                report[0], report[1] = j, k
                return (WIDEN if k >= 0 else INVALID), i
    return DONE, stop


@jit
def encode(X, start, stop, offsets, table, out):
    """out[i, j] = table[offsets[j] + X[i, j]]: MISSING for NaN, UNSEEN beyond the table.

    Returns the position of the first value that is no level, as row * d + column, or -1.
    """
    for i in range(start, stop):
        for j in range(X.shape[1]):
            k = as_level(X[i, j])
            if np.uint64(k) < np.uint64(offsets[j + 1] - offsets[j]):
                out[i - start, j] = table[offsets[j] + k]
            elif k == MISSING:
                out[i - start, j] = MISSING
            elif k >= 0:
                out[i - start, j] = UNSEEN
            else:
                return i * X.shape[1] + j
    return -1


@jit
def weigh_columns(columns, codes, weights, start, width, sums, size, low):
    """Add each row's weight, exactly, to the cells [class, column] that it names."""
    for i in range(columns.shape[0]):
        first = codes[start + i] * width
        for j in range(columns.shape[1]):
            if columns[i, j] >= 0:
                add_value(sums, (first + columns[i, j]) * size, low, weights[start + i])


@jit
def score_columns(columns, log_probability, unseen, out):
    """out[i, c] += log_probability[column, c], or unseen[j, c], over the columns of row i."""
    classes = out.shape[1]
    for i in range(columns.shape[0]):
        for j in range(columns.shape[1]):
            k = columns[i, j]
            if k >= 0:
                for c in range(classes):
                    out[i, c] += log_probability[k, c]
            elif k == UNSEEN:
                for c in range(classes):
                    out[i, c] += unseen[j, c]
