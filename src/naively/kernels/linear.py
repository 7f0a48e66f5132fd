"""Scores of rows that are linear in their features, as a (classes, rows) table; the best class.

As `naively.kernels.gaussian`: a row's score does not depend on its neighbours, and each kernel
returns the position row * d + column of the first infinite value, or -1.
"""

import math

import numpy as np

from naively.kernels import few, simd, words
from naively.kernels.jit import jit, or_few
from naively.kernels.rows import (
    GROUP,
    LANES,
    TILE,
    copy_group,
    load_block,
    oddities,
)  # fmt: skip

CHUNK = 64  # columns whose sums are fetched at once
AHEAD = 32  # numbers, whose weights are asked for early
FACTOR = np.uint64(0x9E3779B97F4A7C15)


@jit
def linear_term(x, weight, zero, threshold):
    """What a value adds to the score of a row of zeros."""
    if math.isnan(x):
        return -zero
    if not math.isnan(threshold):
        x = 1.0 if x > threshold else 0.0
    return x * weight


@or_few(few.linear_dense)
@jit
def linear_dense(X, start, stop, weight, zero, base, threshold, out):
    """out[c, i] = base[c] + sum over f of weight[c, f] * x_if, all finite.

    base[c] is the sum over f of zero[c, f], what a zero contributes; NaN takes that back. With a
    threshold, x counts as 1 above it and as 0 elsewhere.
    """
    features = X.shape[1]
    classes, width = out.shape
    tile = min(TILE, -(-features // LANES) * LANES)
    flat = simd.flat_view(X)
    flat_out = out.reshape(-1)
    staged = np.zeros(GROUP * tile)
    block = np.empty(tile * GROUP)
    scores = np.empty(classes * GROUP)
    for row in range(start, stop, GROUP):
        rows = min(GROUP, stop - row)
        whole = rows == GROUP
        target = flat_out if whole else scores
        at, step = (row - start, width) if whole else (0, GROUP)
        any_odd = False
        for first in range(0, features, tile):
            last = min(first + tile, features)
            any_odd |= load_block(X, flat, row, rows, first, last, staged, block)
            if not math.isnan(threshold):
                for k in range((last - first) * GROUP):
                    block[k] = 1.0 if block[k] > threshold else 0.0
            for c in range(0, classes, 2):
                e = min(c + 1, classes - 1)
                o, u = at + c * step, at + e * step
                if first == 0:
                    s1 = t1 = simd.splat(base[c])
                    s2 = t2 = simd.splat(base[e])
                else:
                    s1, t1 = simd.load(target, o), simd.load(target, o + LANES)
                    s2, t2 = simd.load(target, u), simd.load(target, u + LANES)
                for f in range(first, last):
                    x = simd.load(block, (f - first) * GROUP)
                    y = simd.load(block, (f - first) * GROUP + LANES)
                    w1, w2 = simd.splat(weight[c, f]), simd.splat(weight[e, f])
                    s1 = simd.fma(x, w1, s1)
                    t1 = simd.fma(y, w1, t1)
                    s2 = simd.fma(x, w2, s2)
                    t2 = simd.fma(y, w2, t2)
                simd.store(target, o, s1)
                simd.store(target, o + LANES, t1)
                simd.store(target, u, s2)
                simd.store(target, u + LANES, t2)
        if any_odd:
            for r in range(rows):
                f, missing = oddities(X, row + r)
                if f >= 0:
                    return (row + r) * features + f
                if missing:
                    for c in range(classes):
                        score = base[c]
                        for f in range(features):
                            x = np.float64(X[row + r, f])
                            score += linear_term(x, weight[c, f], zero[c, f], threshold)
                        target[at + c * step + r] = score
        if not whole:
            copy_group(scores, row - start, rows, out)
    return -1


@jit
def linear_sparse(data, indices, indptr, start, stop, weight, zero, width, base, threshold, out):
    """As `linear_dense` for CSR rows.

    The weights of feature f begin at weight[f * width], with width a multiple of 8; `zero` is
    alike, or empty if all are 0.
    """
    score = np.empty(width)
    four = width % (4 * LANES) == 0
    step = 4 * LANES if four else 3 * LANES
    for i in range(start, stop):
        first, last = indptr[i], indptr[i + 1]
        odd = False
        for p in range(first, last):
            x = np.float64(data[p])
            odd |= x - x != 0.0
        # three or four blocks of classes at a time, so that a feature's weights arrive together;
        # where there are fewer the last one is repeated, which costs next to nothing
        for b in range(0, width, step):
            b1, b2 = min(b + LANES, width - LANES), min(b + 2 * LANES, width - LANES)
            b3 = min(b + 3 * LANES, width - LANES)
            s0, s1 = simd.load(base, b), simd.load(base, b1)
            s2, s3 = simd.load(base, b2), simd.load(base, b3)
            for p in range(first, last):
                later = np.int64(indices[min(p + AHEAD, indices.size - 1)]) * width
                words.prefetch(weight, later + b)
                words.prefetch(weight, later + b1)
                words.prefetch(weight, later + b2)
                x = np.float64(data[p])
                if not math.isnan(threshold):
                    x = 1.0 if x > threshold else 0.0
                v = simd.splat(x)
                o = np.int64(indices[p]) * width
                s0 = simd.fma(v, simd.load(weight, o + b), s0)
                s1 = simd.fma(v, simd.load(weight, o + b1), s1)
                s2 = simd.fma(v, simd.load(weight, o + b2), s2)
                if four:
                    s3 = simd.fma(v, simd.load(weight, o + b3), s3)
            simd.store(score, b, s0)
            simd.store(score, b1, s1)
            simd.store(score, b2, s2)
            if four:
                simd.store(score, b3, s3)
        for c in range(out.shape[0]):
            if odd:
                score[c] = base[c]
                for p in range(first, last):
                    x = np.float64(data[p])
                    if math.isinf(x):
                        return i * (weight.size // width) + indices[p]
                    o = np.int64(indices[p]) * width + c
                    term = zero[o] if zero.size > 0 else 0.0
                    score[c] += linear_term(x, weight[o], term, threshold)
            out[c, i - start] = score[c]
    return -1


@jit
def look_up(counts, logs, totals, weight):
    """weight[f, c] = logs[counts[c, f]] - totals[c]: the weights of all features, for sparse rows.

    Beyond the classes they are 0. Some features at a time, as the two tables lie across each other.
    """
    classes, features = counts.shape
    for first in range(0, features, 64):
        last = min(first + 64, features)
        for c in range(classes):
            total = totals[c]
            for f in range(first, last):
                weight[f, c] = logs[np.uint64(counts[c, f])] - total
        weight[first:last, classes:] = 0.0


@jit
def look_up_ranks(ranks, logs, totals, weight):
    """weight[f, c] = logs[ranks[f, c]] - totals[c], and 0 beyond the classes."""
    classes = ranks.shape[1]
    for f in range(ranks.shape[0]):
        own, out = ranks[f], weight[f]
        for c in range(classes):
            out[c] = logs[np.uint32(own[c])] - totals[c]
        for c in range(classes, out.size):
            out[c] = 0.0


@jit
def places_of(columns, places, out):
    """out[k] = places[columns[k]] - 1, or -1 - columns[k] where that is -1; whether none is so."""
    known = True
    for k in range(columns.size):
        j = columns[k]
        place = places[j]
        out[k] = place - 1 if place > 0 else -1 - j
        known &= place > 0
    return known


@jit
def place_columns(columns, sums, slots, known, first, count, out):
    """out[k] = the place of sums[:, columns[k]] in `known`, which has room for all columns.

    Parameters
    ----------
    sums : (C, d, L)
    slots : a hash table: each holds a place + 1, or 0 if it is free; at least 2 d, a power of two.
    known, first : (r, C * L) sums of columns that differ, and (r,) the first column that has each.
    count : how many of these there are.
    """
    width, mask = sums.shape[2], slots.size - 1
    keys, own = np.empty(CHUNK, np.uint64), np.empty((CHUNK, sums.shape[0] * width), np.int64)
    for at in range(0, columns.size, CHUNK):
        m = min(CHUNK, columns.size - at)
        keys[:m], factor = 0, FACTOR
        for c in range(sums.shape[0]):  # class by class: neighbours are fetched together
            for q in range(width):
                for k in range(m):
                    value = sums[c, columns[at + k], q]
                    own[k, c * width + q] = value
                    keys[k] += np.uint64(value) * factor
                factor *= FACTOR
        for k in range(m):
            s = np.int64(words.fold(keys[k], FACTOR)) & mask
            while slots[s] != 0:
                place = slots[s] - 1
                differ = np.int64(0)
                for c in range(own.shape[1]):
                    differ |= own[k, c] ^ known[place, c]
                if differ == 0:
                    break
                s = (s + 1) & mask
            if slots[s] == 0:
                new = count[0]
                known[new], first[new] = own[k], columns[at + k]
                slots[s], count[0] = new + 1, new + 1
            out[at + k] = slots[s] - 1


@or_few(few.best_class)
@jit
def best_class(joint, otherwise, out):
    """out[i] = the first class with the largest joint[c, i], or `otherwise` if all are -inf.

    Returns the number of rows of which all are.
    """
    rows = out.size
    top = np.full(rows, -np.inf)
    for i in range(rows):
        out[i] = otherwise
    for c in range(joint.shape[0]):
        for i in range(rows):
            better = joint[c, i] > top[i]
            top[i] = joint[c, i] if better else top[i]
            out[i] = c if better else out[i]
    return (top == -np.inf).sum()
