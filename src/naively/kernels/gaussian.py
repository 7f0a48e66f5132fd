"""Log-densities of rows with independent normal features, as a (classes, rows) table.

The same instructions are run for one row and for a million: a row's score does not depend on its
neighbours. Each kernel returns the position row * d + column of the first infinite value, or -1.
"""

import math

import numpy as np

from naively.kernels import few, simd
from naively.kernels.jit import jit, or_few
from naively.kernels.rows import (
    AHEAD,
    GROUP,
    LANES,
    MANY,
    TILE,
    copy_group,
    load_block,
    oddities,
    touch,
)  # fmt: skip

FLOOR = -1e20  # of the score of a zero in sparse rows, so that it cancels to 12 digits
FARTHEST = -1e300  # of the score of another value there
LOWEST = -np.finfo(np.float64).max


@or_few(few.gaussian_dense)
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
    flat = simd.flat_view(X)
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
