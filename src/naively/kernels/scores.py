"""Log-probabilities of rows, as a (classes, rows) table.

The same instructions are run for one row and for a million: a row's score does not depend on its
neighbours. Each kernel returns the position row * d + column of the first infinite value, or -1.
"""

import math

import numpy as np
from numba import types
from numba.extending import overload

from naively.kernels import simd
from naively.kernels.jit import jit

LANES = simd.LANES
GROUP = 2 * LANES  # rows scored together
TILE = 64  # most features transposed at a time: 8 KiB
AHEAD = 256  # rows brought into the cache at a time, if scoring them takes long
MANY = 4  # classes from which it does
FLOOR = -1e20  # of the score of a zero in sparse rows, so that it cancels to 12 digits
FARTHEST = -1e300  # of the score of another value there
LOWEST = -np.finfo(np.float64).max


def flat_view(X):
    """X as a flat array if it is C-contiguous float64, else an empty one."""


@overload(flat_view)
def _flat_view(X):
    if X.dtype == types.float64 and X.layout == "C":
        return lambda X: X.reshape(-1)
    return lambda X: np.empty(0)


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
def gaussian_dense(X, start, stop, mean, scale, base, norm, out):
    """out[c, i] = sum over f of log N(x_if; mean_cf, 1 / (2 scale_cf**2)).

    base[c] is the sum over f of norm[c, f], the logarithm of the density at the mean. NaN drops
    its feature. Where every density underflows the range of float64, the class nearest in the
    metric of its variances gets the lowest finite number and the others -inf.
    """
    features = X.shape[1]
    classes, width = out.shape
    tile = min(TILE, -(-features // LANES) * LANES)
    flat = flat_view(X)
    flat_out = out.reshape(-1)
    staged = np.zeros(GROUP * tile)
    block = np.empty(tile * GROUP)
    scores = np.empty(classes * GROUP)
    for row in range(start, stop, GROUP):
        rows = min(GROUP, stop - row)
        if (row - start) % AHEAD == 0 and classes >= MANY:
            touch(flat, row * features, (row + AHEAD) * features, scores)
        whole = rows == GROUP  # score in place; else aside, in the same way
        target = flat_out if whole else scores
        at, step = (row - start, width) if whole else (0, GROUP)
        any_odd = False
        for first in range(0, features, tile):
            last = min(first + tile, features)
            any_odd |= load_block(X, flat, row, rows, first, last, staged, block)
            for c in range(0, classes, 2):  # two classes hide each other's latency
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
                    m, h = simd.splat(mean[c, f]), simd.splat(scale[c, f])
                    z = simd.mul(simd.sub(x, m), h)
                    s1 = simd.fma(simd.neg(z), z, s1)
                    z = simd.mul(simd.sub(y, m), h)
                    t1 = simd.fma(simd.neg(z), z, t1)
                    m, h = simd.splat(mean[e, f]), simd.splat(scale[e, f])
                    z = simd.mul(simd.sub(x, m), h)
                    s2 = simd.fma(simd.neg(z), z, s2)
                    z = simd.mul(simd.sub(y, m), h)
                    t2 = simd.fma(simd.neg(z), z, t2)
                simd.store(target, o, s1)
                simd.store(target, o + LANES, t1)
                simd.store(target, u, s2)
                simd.store(target, u + LANES, t2)
        for r in range(rows):
            if any_odd:
                f, missing = oddities(X, row + r)
                if f >= 0:
                    return (row + r) * features + f
                if missing:
                    for c in range(classes):
                        score = gaussian_row(X, row + r, mean, scale, norm, c)
                        target[at + c * step + r] = score
            best = -np.inf
            for c in range(classes):
                best = max(best, target[at + c * step + r])
                if best > -np.inf:
                    break
            if best == -np.inf:
                nearest(X, row + r, mean, scale, target, at + r, step)
        if not whole:
            copy_group(scores, row - start, rows, out)
    return -1


@jit
def copy_group(scores, at, rows, out):
    """out[c, at + r] = scores[c, r] for an incomplete group of rows."""
    for c in range(out.shape[0]):
        for r in range(rows):
            out[c, at + r] = scores[c * GROUP + r]


@jit
def gaussian_row(X, i, mean, scale, norm, c):
    """The log-density of one row with missing values under one class."""
    score = 0.0
    for f in range(X.shape[1]):
        x = np.float64(X[i, f])
        if not math.isnan(x):
            z = (x - mean[c, f]) * scale[c, f] if scale[c, f] > 0.0 else 0.0
            score += norm[c, f] - z * z
    return score


@jit
def nearest(X, i, mean, scale, scores, at, step):
    """Rank the classes of a row whose squared distances overflow, by their logarithms."""
    classes, features = mean.shape
    best = np.inf
    for c in range(classes):
        top, total = -np.inf, 0.0  # of log distance, of squares relative to the largest
        for f in range(features):
            x = np.float64(X[i, f])
            if not math.isnan(x) and x != mean[c, f]:
                half = abs(x / 2 - mean[c, f] / 2)
                if half == 0.0 or scale[c, f] == 0.0:
                    continue
                distance = math.log(half) + math.log(scale[c, f])
                if distance > top:
                    total *= math.exp(2.0 * (top - distance))
                    top = distance
                total += math.exp(2.0 * (distance - top))
        scores[at + c * step] = top + 0.5 * math.log(total) if total > 0.0 else -np.inf
        best = min(best, scores[at + c * step])
    for c in range(classes):
        scores[at + c * step] = LOWEST if scores[at + c * step] == best else -np.inf


@jit
def gaussian_sparse(data, indices, indptr, start, stop, mean, scale, norm, zero, base, rest, out):
    """As `gaussian_dense` for CSR rows; the parameters are (d, C).

    base[c] + rest[c] is the score of a row of zeros, whose terms zero[f, c] are exchanged for
    those of the values. The sums carry their rounding errors along (Neumaier 1974), because the
    terms of zeros cancel, and are huge where the means are far from 0: down to FLOOR each.
    """
    classes = base.size
    score, error = np.empty(classes), np.empty(classes)
    for i in range(start, stop):
        score[:] = base
        error[:] = rest
        for p in range(indptr[i], indptr[i + 1]):
            x = np.float64(data[p])
            f = indices[p]
            if math.isinf(x):
                return i * mean.shape[0] + f
            for c in range(classes):
                for exchange in (True, False):
                    term = -zero[f, c]
                    if not exchange:
                        if math.isnan(x):
                            continue
                        # the difference may be infinite, which 0 times is not a number
                        z = (x - mean[f, c]) * scale[f, c] if scale[f, c] > 0.0 else 0.0
                        term = max(norm[f, c] - z * z, FARTHEST)
                    total = score[c] + term
                    if abs(score[c]) >= abs(term):
                        error[c] += (score[c] - total) + term
                    else:
                        error[c] += (term - total) + score[c]
                    score[c] = total
        for c in range(classes):
            out[c, i - start] = score[c] + error[c]
    return -1


@jit
def linear_term(x, weight, zero, threshold):
    """What a value adds to the score of a row of zeros."""
    if math.isnan(x):
        return -zero
    if not math.isnan(threshold):
        x = 1.0 if x > threshold else 0.0
    return x * weight


@jit
def linear_dense(X, start, stop, weight, zero, base, threshold, out):
    """out[c, i] = base[c] + sum over f of weight[c, f] * x_if, all finite.

    base[c] is the sum over f of zero[c, f], what a zero contributes; NaN takes that back. With a
    threshold, x counts as 1 above it and as 0 elsewhere.
    """
    features = X.shape[1]
    classes, width = out.shape
    tile = min(TILE, -(-features // LANES) * LANES)
    flat = flat_view(X)
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
    for i in range(start, stop):
        first, last = indptr[i], indptr[i + 1]
        odd = False
        for p in range(first, last):
            x = np.float64(data[p])
            odd |= x - x != 0.0
        # four blocks of classes at a time, so that a feature's weights arrive together; where
        # there are fewer the last one is repeated, which costs next to nothing
        for b in range(0, width, 4 * LANES):
            b1, b2 = min(b + LANES, width - LANES), min(b + 2 * LANES, width - LANES)
            b3 = min(b + 3 * LANES, width - LANES)
            s0, s1 = simd.load(base, b), simd.load(base, b1)
            s2, s3 = simd.load(base, b2), simd.load(base, b3)
            for p in range(first, last):
                x = np.float64(data[p])
                if not math.isnan(threshold):
                    x = 1.0 if x > threshold else 0.0
                v = simd.splat(x)
                o = np.int64(indices[p]) * width
                s0 = simd.fma(v, simd.load(weight, o + b), s0)
                s1 = simd.fma(v, simd.load(weight, o + b1), s1)
                s2 = simd.fma(v, simd.load(weight, o + b2), s2)
                s3 = simd.fma(v, simd.load(weight, o + b3), s3)
            simd.store(score, b, s0)
            simd.store(score, b1, s1)
            simd.store(score, b2, s2)
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
def best_class(joint, otherwise, out):
    """out[i] = the first class with the largest joint[c, i], or `otherwise` if all are -inf."""
    rows = out.size
    top = np.full(rows, -np.inf)
    for i in range(rows):
        out[i] = otherwise
    for c in range(joint.shape[0]):
        for i in range(rows):
            better = joint[c, i] > top[i]
            top[i] = joint[c, i] if better else top[i]
            out[i] = c if better else out[i]
