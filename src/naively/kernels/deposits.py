"""Exact sums value by value: small batches, weighted rows, sparse rows.

Slower a value than `naively.kernels.moments` (about 10 ns), but with no set-up, and in place.
Sums of one class never touch the cells of another, so classes can be summed in parallel.
"""

import math

import numpy as np

from naively.kernels import few_sums, words
from naively.kernels.jit import jit, or_few
from naively.kernels.limbs import add_product, add_square, add_value

VALID, OUT_OF_BOUNDS = 0, 1
AHEAD, LINE, MOST = 4, 8, 32  # rows; numbers that arrive together; how often as many, at most


@or_few(few_sums.measure)
@jit
def measure(X, minimum, maximum):
    """What the limbs must hold, found before anything is added.

    Returns (status, row, column, smallest non-zero magnitude, largest magnitude, any NaN); row
    and column are of the first value out of [minimum, maximum].
    """
    smallest, largest = np.inf, 0.0
    missing = False
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            if math.isnan(x):
                missing = True
                continue
            if x < minimum or x > maximum:
                return OUT_OF_BOUNDS, i, j, smallest, largest, missing
            a = abs(x)
            if a > 0.0:
                smallest = min(smallest, a)
                largest = max(largest, a)
    return VALID, 0, 0, smallest, largest, missing


@jit
def deposit(
    x, w, weighted, threshold, cell, sums, size, low, squares, size2, low2, missing, size0, low0,
):  # fmt: skip
    """Add one value, with its weight, to its cell."""
    if math.isnan(x):
        add_value(missing, cell * size0, low0, w)
        return
    if not math.isnan(threshold):
        x = 1.0 if x > threshold else 0.0
    if x == 0.0:
        return
    if weighted:
        add_product(sums, cell * size, low, x, w)
    else:
        add_value(sums, cell * size, low, x)
    if size2 > 0:
        add_square(squares, cell * size2, low2, x, w)


@or_few(few_sums.dense_deposits)
@jit
def dense_deposits(
    X, codes, weights, rows, threshold,
    sums, size, low, squares, size2, low2, missing, size0, low0,
):  # fmt: skip
    """Add the given rows of X; `weights` is empty if all are 1."""
    features = X.shape[1]
    weighted = weights.size > 0
    for i in rows:
        w = weights[i] if weighted else 1.0
        for j in range(features):
            deposit(
                np.float64(X[i, j]), w, weighted, threshold, codes[i] * features + j,
                sums, size, low, squares, size2, low2, missing, size0, low0,
            )  # fmt: skip


@jit
def sparse_deposits(
    data, indices, indptr, features, codes, weights, rows, threshold,
    sums, size, low, squares, size2, low2, missing, size0, low0,
):  # fmt: skip
    """Add the given rows of a CSR matrix; `weights` is empty if all are 1."""
    weighted = weights.size > 0
    for i in rows:
        w = weights[i] if weighted else 1.0
        for p in range(indptr[i], indptr[i + 1]):
            deposit(
                np.float64(data[p]), w, weighted, threshold, codes[i] * features + indices[p],
                sums, size, low, squares, size2, low2, missing, size0, low0,
            )  # fmt: skip


@jit
def sparse_counts(data, indices, indptr, codes, rows, threshold, counts):
    """Add the given CSR rows to counts[class, feature], as long as they are counts.

    Returns whether all values were whole numbers in [0, 2**31), or finite with a threshold.
    """
    binary = not math.isnan(threshold)
    for r in range(rows.size):
        i = rows[r]
        later = rows[min(r + AHEAD, rows.size - 1)]  # which the processor would not expect
        start = indptr[later]
        for p in range(start, min(indptr[later + 1], start + LINE * MOST), LINE):
            words.prefetch(data, p)
            words.prefetch(indices, p)
        row = counts[codes[i]]
        values = data[indptr[i] : indptr[i + 1]]
        columns = indices[indptr[i] : indptr[i + 1]]
        bad = 0  # a loop of its own is vectorised, and fetches the row
        for p in range(values.size):
            x = np.float64(values[p])
            if binary:
                bad += x - x != 0.0
            else:
                within = x if 0.0 <= x < 2.0**31 else -1.0
                bad += x != np.float64(np.int32(within)) or within < 0.0
        if bad > 0:
            return False
        for p in range(values.size):
            x = np.float64(values[p])
            row[np.uint64(columns[p])] += np.int64(x > threshold) if binary else np.int64(x)
    return True


@jit
def total_weights(codes, weights, totals, size, low):
    """Add each row's weight to its class."""
    for i in range(codes.size):
        add_value(totals, codes[i] * size, low, weights[i])


@jit
def has_duplicates(indices, indptr, last):
    """Whether a CSR row has two entries in one column; `last` is one 0 for each column."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            column = np.uint64(indices[p])
            if last[column] == i + 1:
                return True
            last[column] = i + 1
    return False
