"""Log-probabilities of rows, added to a (rows, classes) table.

The same instructions are run for one row and for a million: a row's score does not depend on its
neighbours. Each kernel returns the position row * d + column of the first infinite value, or -1.
"""

import math

import numpy as np

from naively.kernels import simd
from naively.kernels.jit import jit

LANES = simd.LANES
GROUP = 4 * LANES  # rows scored together
TILE = 32  # features transposed at a time: 8 KiB
LOWEST = -np.finfo(np.float64).max


@jit
def transpose(X, row, rows, first, last, block, odd):
    """block[f, r] = X[row + r, first + f]; marks the rows that are not all finite in `odd`."""
    found = False
    for r in range(rows):
        bad = 0
        for f in range(first, last):
            x = np.float64(X[row + r, f])
            block[(f - first) * GROUP + r] = x
            bad |= x - x != 0.0
        if bad:
            odd[r] = 1
            found = True
    return found


@jit
def first_infinite(X, row):
    """Column of the first infinite value of a row, or -1."""
    for f in range(X.shape[1]):
        if math.isinf(np.float64(X[row, f])):
            return f
    return -1


@jit
def gaussian_dense(X, start, stop, mean, scale, base, norm, out):
    """out[i, c] += sum over f of log N(x_if; mean_cf, 1 / (2 scale_cf**2)).

    base[c] is the sum over f of norm[c, f], the logarithm of the density at the mean. NaN drops
    its feature. Where every density underflows the range of float64, the class nearest in the
    metric of its variances gets the lowest finite number and the others -inf.
    """
    features = X.shape[1]
    classes = mean.shape[0]
    block = np.zeros(TILE * GROUP)
    scores = np.empty(classes * GROUP)
    odd = np.zeros(GROUP, np.uint8)
    for row in range(start, stop, GROUP):
        rows = min(GROUP, stop - row)
        for c in range(classes):
            for r in range(GROUP):
                scores[c * GROUP + r] = base[c]
        any_odd = False
        for first in range(0, features, TILE):
            last = min(first + TILE, features)
            any_odd |= transpose(X, row, rows, first, last, block, odd)
            for c in range(classes):
                at = c * GROUP
                s0 = simd.load(scores, at)
                s1 = simd.load(scores, at + LANES)
                s2 = simd.load(scores, at + 2 * LANES)
                s3 = simd.load(scores, at + 3 * LANES)
                for f in range(first, last):
                    m = simd.splat(mean[c, f])
                    h = simd.splat(scale[c, f])
                    o = (f - first) * GROUP
                    z = simd.mul(simd.sub(simd.load(block, o), m), h)
                    s0 = simd.fma(simd.neg(z), z, s0)
                    z = simd.mul(simd.sub(simd.load(block, o + LANES), m), h)
                    s1 = simd.fma(simd.neg(z), z, s1)
                    z = simd.mul(simd.sub(simd.load(block, o + 2 * LANES), m), h)
                    s2 = simd.fma(simd.neg(z), z, s2)
                    z = simd.mul(simd.sub(simd.load(block, o + 3 * LANES), m), h)
                    s3 = simd.fma(simd.neg(z), z, s3)
                simd.store(scores, at, s0)
                simd.store(scores, at + LANES, s1)
                simd.store(scores, at + 2 * LANES, s2)
                simd.store(scores, at + 3 * LANES, s3)
        if any_odd:
            for r in range(rows):
                if odd[r]:
                    odd[r] = 0
                    f = first_infinite(X, row + r)
                    if f >= 0:
                        return (row + r) * features + f
                    for c in range(classes):
                        scores[c * GROUP + r] = gaussian_row(X, row + r, mean, scale, norm, c)
        for r in range(rows):
            best = -np.inf
            for c in range(classes):
                best = max(best, scores[c * GROUP + r])
            if best == -np.inf:
                nearest(X, row + r, mean, scale, scores, r)
            for c in range(classes):
                out[row - start + r, c] += scores[c * GROUP + r]
    return -1


@jit
def gaussian_row(X, i, mean, scale, norm, c):
    """The log-density of one row with missing values under one class."""
    score = 0.0
    for f in range(X.shape[1]):
        x = np.float64(X[i, f])
        if not math.isnan(x):
            z = (x - mean[c, f]) * scale[c, f]
            score += norm[c, f] - z * z
    return score


@jit
def nearest(X, i, mean, scale, scores, r):
    """Rank the classes of a row whose squared distances overflow, by their logarithms."""
    classes, features = mean.shape
    best = np.inf
    for c in range(classes):
        top = -np.inf
        for f in range(features):
            x = np.float64(X[i, f])
            if not math.isnan(x) and x != mean[c, f]:
                distance = math.log(abs(x / 2 - mean[c, f] / 2)) + math.log(scale[c, f])
                top = max(top, distance)
        total = 0.0
        for f in range(features):
            x = np.float64(X[i, f])
            if not math.isnan(x) and x != mean[c, f]:
                distance = math.log(abs(x / 2 - mean[c, f] / 2)) + math.log(scale[c, f])
                total += math.exp(2.0 * (distance - top))
        scores[c * GROUP + r] = top + 0.5 * math.log(total)
        best = min(best, scores[c * GROUP + r])
    for c in range(classes):
        scores[c * GROUP + r] = LOWEST if scores[c * GROUP + r] == best else -np.inf


@jit
def gaussian_sparse(data, indices, indptr, start, stop, mean, scale, norm, zero, base, out):
    """As `gaussian_dense` for CSR rows; the parameters are (d, C), base[c] the score of zeros."""
    for i in range(start, stop):
        for c in range(base.size):
            out[i - start, c] += base[c]
        for p in range(indptr[i], indptr[i + 1]):
            x = np.float64(data[p])
            if math.isinf(x):
                return i * mean.shape[0] + indices[p]
            f = indices[p]
            for c in range(base.size):
                if math.isnan(x):
                    out[i - start, c] -= zero[f, c]
                else:
                    z = (x - mean[f, c]) * scale[f, c]
                    out[i - start, c] += (norm[f, c] - z * z) - zero[f, c]
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
    """out[i, c] += base[c] + sum over f of weight[c, f] * x_if, all finite.

    base[c] is the sum over f of zero[c, f], what a zero contributes; NaN takes that back. With a
    threshold, x counts as 1 above it and as 0 elsewhere.
    """
    features = X.shape[1]
    classes = base.size
    block = np.zeros(TILE * GROUP)
    scores = np.empty(classes * GROUP)
    odd = np.zeros(GROUP, np.uint8)
    for row in range(start, stop, GROUP):
        rows = min(GROUP, stop - row)
        for c in range(classes):
            for r in range(GROUP):
                scores[c * GROUP + r] = base[c]
        any_odd = False
        for first in range(0, features, TILE):
            last = min(first + TILE, features)
            any_odd |= transpose(X, row, rows, first, last, block, odd)
            if not math.isnan(threshold):
                for k in range((last - first) * GROUP):
                    block[k] = 1.0 if block[k] > threshold else 0.0
            for c in range(classes):
                at = c * GROUP
                s0 = simd.load(scores, at)
                s1 = simd.load(scores, at + LANES)
                s2 = simd.load(scores, at + 2 * LANES)
                s3 = simd.load(scores, at + 3 * LANES)
                for f in range(first, last):
                    w = simd.splat(weight[c, f])
                    o = (f - first) * GROUP
                    s0 = simd.fma(simd.load(block, o), w, s0)
                    s1 = simd.fma(simd.load(block, o + LANES), w, s1)
                    s2 = simd.fma(simd.load(block, o + 2 * LANES), w, s2)
                    s3 = simd.fma(simd.load(block, o + 3 * LANES), w, s3)
                simd.store(scores, at, s0)
                simd.store(scores, at + LANES, s1)
                simd.store(scores, at + 2 * LANES, s2)
                simd.store(scores, at + 3 * LANES, s3)
        if any_odd:
            for r in range(rows):
                if odd[r]:
                    odd[r] = 0
                    f = first_infinite(X, row + r)
                    if f >= 0:
                        return (row + r) * features + f
                    for c in range(classes):
                        score = base[c]
                        for f in range(features):
                            x = np.float64(X[row + r, f])
                            score += linear_term(x, weight[c, f], zero[c, f], threshold)
                        scores[c * GROUP + r] = score
        for r in range(rows):
            for c in range(classes):
                out[row - start + r, c] += scores[c * GROUP + r]
    return -1


@jit
def linear_sparse(data, indices, indptr, start, stop, weight, zero, base, threshold, out):
    """As `linear_dense` for CSR rows; weight is (d, C), and zero too or (0, 0) if all are 0."""
    classes = base.size
    has_zero = zero.size > 0
    for i in range(start, stop):
        for c in range(classes):
            out[i - start, c] += base[c]
        for p in range(indptr[i], indptr[i + 1]):
            x = np.float64(data[p])
            f = indices[p]
            if x - x != 0.0:
                if math.isinf(x):
                    return i * weight.shape[0] + f
                if has_zero:
                    for c in range(classes):
                        out[i - start, c] -= zero[f, c]
                continue
            if not math.isnan(threshold):
                x = 1.0 if x > threshold else 0.0
            for c in range(classes):
                out[i - start, c] += x * weight[f, c]
    return -1


@jit
def best_class(joint, out):
    """out[i] = the first class with the largest joint log-likelihood."""
    for i in range(joint.shape[0]):
        best = 0
        for c in range(1, joint.shape[1]):
            if joint[i, c] > joint[i, best]:
                best = c
        out[i] = best
