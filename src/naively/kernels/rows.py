"""Rows of dense arrays, brought into the cache in groups, their features side by side."""

import math

import numpy as np

from naively.kernels import simd
from naively.kernels.jit import jit

LANES = simd.LANES
GROUP = 2 * LANES  # rows scored together
TILE = 64  # most features transposed at a time: 8 KiB
AHEAD = 256  # rows brought into the cache at a time, if scoring them takes long
MANY = 4  # classes from which it does


@jit
def load_block(X, flat, row, rows, first, last, staged, block):
    """block[f, r] = X[row + r, first + f]; returns whether any value may not be finite.

    Eight rows by eight columns at a time, straight from X where that stays inside it (columns
    beyond `last` are garbage that nobody reads), else by way of `staged`.
    """
    features = X.shape[1]
    start, stride = row * features + first, features
    lines = flat
    if (row + max(rows, LANES)) * features + LANES > flat.size or rows % LANES != 0:
        part = X[row : row + rows, first:last]  # counted from 0, so that the copy is vectorised
        stride = staged.size // GROUP
        table = staged.reshape(GROUP, stride)
        for r in range(part.shape[0]):
            for f in range(part.shape[1]):
                table[r, f] = np.float64(part[r, f])
        start = 0
        lines = staged
    zero = simd.splat(0.0)
    odd = 0
    for r in range(rows):  # reading in order first makes the transposition twice as fast
        for f in range(0, last - first, LANES):
            x = simd.load(lines, start + r * stride + f)
            odd |= simd.differ(simd.sub(x, x), zero)
    for r in range(0, rows, LANES):
        for f in range(0, last - first, LANES):
            o = start + r * stride + f
            x0 = simd.load(lines, o)
            x1 = simd.load(lines, o + stride)
            x2 = simd.load(lines, o + 2 * stride)
            x3 = simd.load(lines, o + 3 * stride)
            x4 = simd.load(lines, o + 4 * stride)
            x5 = simd.load(lines, o + 5 * stride)
            x6 = simd.load(lines, o + 6 * stride)
            x7 = simd.load(lines, o + 7 * stride)
            columns = simd.transpose((x0, x1, x2, x3, x4, x5, x6, x7))
            at = f * GROUP + r
            simd.store(block, at, columns[0])
            simd.store(block, at + GROUP, columns[1])
            simd.store(block, at + 2 * GROUP, columns[2])
            simd.store(block, at + 3 * GROUP, columns[3])
            simd.store(block, at + 4 * GROUP, columns[4])
            simd.store(block, at + 5 * GROUP, columns[5])
            simd.store(block, at + 6 * GROUP, columns[6])
            simd.store(block, at + 7 * GROUP, columns[7])
    return odd != 0


@jit
def oddities(X, row):
    """(column of the first infinite value of a row or -1, whether any value is NaN)."""
    missing = False
    for f in range(X.shape[1]):
        x = np.float64(X[row, f])
        if math.isinf(x):
            return f, missing
        missing = missing or math.isnan(x)
    return -1, missing


@jit
def touch(flat, start, stop, scratch):
    """Read part of X in order, which brings it into the cache at the full speed of the memory."""
    total = simd.splat(0.0)
    for k in range(start, min(stop, flat.size - LANES), LANES):
        total = simd.add(total, simd.load(flat, k))
    simd.store(scratch, 0, total)


@jit
def copy_group(scores, at, rows, out):
    """out[c, at + r] = scores[c, r] for an incomplete group of rows."""
    for c in range(out.shape[0]):
        for r in range(rows):
            out[c, at + r] = scores[c * GROUP + r]
