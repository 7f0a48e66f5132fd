"""Counting and scoring the levels of categorical features."""

import numpy as np

from naively.kernels import few, simd, words
from naively.kernels.jit import jit, or_few
from naively.kernels.limbs import add_value
from naively.kernels.sizes import MISSING

LANES = simd.LANES
MOST = 65535  # rows that 16-bit counters have room for
DONE, WIDEN, REFUSED = 0, 1, 2


@or_few(few.count_levels)
@jit
def count_levels(X, codes, start, stop, offsets, counts, missing, report):
    """Count the levels of rows start:stop; resumable.

    counts is (classes, offsets[-1]), missing (classes, d), both flat int64. Returns (status, row),
    with (column, level) in `report` where a level is beyond its table or no level at all.
    """
    small = np.zeros(counts.size, np.uint16)  # a quarter of the memory: it stays in the cache
    status, row = DONE, start
    while row < stop and status == DONE:
        status, row = count_few(
            X, codes, row, min(row + MOST, stop), offsets, small, missing, report
        )
        for k in range(small.size):
            counts[k] += small[k]
            small[k] = 0
    return status, row


@jit
def count_few(X, codes, start, stop, offsets, counts, missing, report):
    """`count_levels` for at most MOST rows."""
    features = X.shape[1]
    width = offsets[features]
    for i in range(start, stop):
        first = codes[i] * width
        for j in range(features):
            k = words.as_level(X[i, j])
            o = offsets[j]
            if np.uint64(k) < np.uint64(offsets[j + 1] - o):
                counts[np.uint64(first + o + k)] += np.uint16(1)
            elif k == MISSING:
                missing[codes[i] * features + j] += 1
            else:
                for u in range(j):  # undo this row: it is counted again when resumed
                    level = words.as_level(X[i, u])
                    if level == MISSING:
                        missing[codes[i] * features + u] -= 1
                    else:
                        counts[first + offsets[u] + level] -= np.uint16(1)
                report[0], report[1] = j, k
                return (WIDEN if k >= 0 else REFUSED), i
    return DONE, stop


@jit
def weigh_columns(columns, codes, weights, width, sums, size, low):
    """Add each row's weight, exactly, to the cell [class, column] of each row."""
    for i in range(columns.size):
        add_value(sums, (codes[i] * width + columns[i]) * size, low, weights[i])


@jit
def encode_row(X, i, offsets, lookup, beyond, out):
    """out[j] = the table's row for each value: beyond + j if unseen, beyond + d if missing.

    Returns the column of the first value that is no level, or -1.
    """
    features = X.shape[1]
    for j in range(features):
        k = words.as_level(X[i, j])
        o = offsets[j]
        if np.uint64(k) < np.uint64(offsets[j + 1] - o):
            out[j] = lookup[np.uint64(o + k)]
        elif k == MISSING:
            out[j] = beyond + features
        elif k >= 0:
            out[j] = beyond + j
        else:
            return j
    return -1


@or_few(few.encode)
@jit
def encode(X, start, stop, offsets, lookup, beyond, out):
    """`encode_row` for rows start:stop; returns (row, column) of the first bad value or -1s."""
    for i in range(start, stop):
        j = encode_row(X, i, offsets, lookup, beyond, out[i - start])
        if j >= 0:
            return i, j
    return -1, -1


@or_few(few.score_levels)
@jit
def score_levels(X, start, stop, offsets, lookup, beyond, table, width, out):
    """out[c, i] = sum over j of table[row of X[i, j], c].

    The table is flat, with its rows padded to `width`, a multiple of 8. Returns (row, column) of
    the first value that is no level, or -1s.
    """
    features = X.shape[1]
    classes = out.shape[0]
    rows = np.empty(features, np.int64)
    score = np.empty(width)
    for i in range(start, stop):
        bad = encode_row(X, i, offsets, lookup, beyond, rows)
        if bad >= 0:
            return i, bad
        for b in range(0, width, LANES):
            total = simd.splat(0.0)
            for j in range(features):
                total = simd.add(total, simd.load(table, rows[j] * width + b))
            simd.store(score, b, total)
        for c in range(classes):
            out[c, i - start] = score[c]
    return -1, -1
