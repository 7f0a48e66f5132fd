"""What some kernels do, in NumPy: where there is so little that none is compiled or loaded.

The bits are those of the kernels, which multiply and add with one rounding. Each function takes
what its kernel takes, and returns NotImplemented, with nothing changed, where it cannot do it.
"""

import numpy as np
import numpy.typing as npt

from naively.kernels.sizes import CODES, TILE

Float64 = npt.NDArray[np.float64]

MOST = 200_000
"""Numbers, at most."""
DIGIT = np.int64(0xFFFFFFFF)
SPLIT = 2.0**27 + 1.0
RANGE = 2.0**-300, 2.0**300
"""Magnitudes for which `fma` is exact: no part of a product leaves the range of float64."""


def in_range(*arrays: Float64) -> bool:
    """Whether all numbers are 0 or of magnitudes for which `fma` is exact."""
    least, most = RANGE
    sizes = map(np.abs, arrays)
    return all(bool(((x == 0) | ((least <= x) & (x <= most))).all()) for x in sizes)


def fma(x: Float64, y: Float64, z: Float64) -> Float64:
    """x * y + z, rounded once: the bits of the processor's instruction.

    Boldo and Melquiond (2008), "Emulation of FMA and correctly rounded sums": the parts of the
    product and the sum that are too small are added with a last bit that says whether anything was
    lost, and the result is rounded once. x and y are `in_range`, z finite and below 2**900.
    """
    high, low = _product(x, y)
    total, rest = _sum(z, low)
    whole, other = _sum(high, total)
    small, lost = _sum(rest, other)
    bits = small.view(np.int64)
    even = (lost != 0) & (bits & 1 == 0)
    bits += np.where((lost > 0) == (small > 0), 1, -1) * even
    found = whole + small
    return np.where(found == 0, high + z, found)  # with the sign of a sum of zeros


def _sum(x: Float64, y: Float64) -> tuple[Float64, Float64]:
    """(x + y rounded, what rounding lost): Knuth."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _product(x: Float64, y: Float64) -> tuple[Float64, Float64]:
    """(x * y rounded, what rounding lost): Dekker, Veltkamp."""
    product = x * y
    x1, x2 = _halves(x)
    y1, y2 = _halves(y)
    return product, x2 * y2 - (((product - x1 * y1) - x2 * y1) - x1 * y2)


def _halves(x: Float64) -> tuple[Float64, Float64]:
    """Two numbers of 26 bits at most, whose sum is x."""
    big = SPLIT * x
    high = big - (big - x)
    return high, x - high


def is_few(size: int) -> bool:
    """Whether there are so few numbers."""
    return size <= MOST


def extent(limbs):
    """`limbs.extent`."""
    size = limbs.shape[1]
    if not is_few(limbs.size):
        return NotImplemented
    used = (limbs != 0).any(axis=0)
    top = limbs[:, -1]
    used[-1] = (top & DIGIT).any()
    first = int(used.argmax()) if used.any() else size + (not top.any())
    if ((top < -(1 << 61)) | (top >= 1 << 61)).any():
        return first, size
    for last in range(size - 1, 0, -1):
        if ((top < -(1 << 29)) | (top >= 1 << 29)).any():
            return first, last
        top = (top << 32) + limbs[:, last - 1]
    return first, 0


def accumulate(target, rows, columns, source, offset, sign):
    """`limbs.accumulate`, of rows and columns each of which is there once."""
    if not is_few(source.size):
        return NotImplemented
    size, width = target.shape[2], source.shape[2]
    at = np.ix_(rows, columns)
    cells = target[at]
    carry = np.int64(0)
    for k in range(offset, size):
        value = cells[..., k] + carry
        if k - offset < width:
            value += sign * source[..., k - offset]
        cells[..., k] = value & DIGIT if k < size - 1 else value
        carry = value >> 32
    target[at] = cells
    changed = source.any(axis=2)
    return int(np.abs(cells[..., -1][changed]).max(initial=0))


def count_levels(X, codes, start, stop, offsets, counts, missing, report):
    """`levels.count_levels`, of codes that are all in the table."""
    levels = X[start:stop]
    if X.dtype.kind not in "iu" or not is_few(levels.size) or not is_few(counts.size):
        return NotImplemented
    if ((levels < 0) | (levels >= np.diff(offsets))).any():
        return NotImplemented
    levels = levels.astype(np.int64)
    cells = codes[start:stop, np.newaxis] * offsets[-1] + offsets[:-1] + levels
    counts += np.bincount(cells.ravel(), minlength=counts.size)
    return 0, stop


def tabulate(x, bits, codes, keys, counts, missing, slots, report):
    """`distinct.tabulate`, of no more different numbers than there is room for."""
    if not is_few(x.size):
        return NotImplemented
    there = ~np.isnan(x)
    known, places = np.unique(x[there], return_inverse=True)
    if len(known) > len(keys):
        return NotImplemented
    missing += np.bincount(codes[~there], minlength=len(missing))
    cells = places * counts.shape[1] + codes[there]
    table = np.bincount(cells, minlength=len(known) * counts.shape[1])
    keys[: len(known)] = known
    counts[: len(known)] = table.reshape(len(known), counts.shape[1])
    values = x[there]
    fractional, negative = (values != np.floor(values)).sum(), (values < 0).sum()
    report[:] = len(values), fractional, negative, len(known), 0
    return None


def encode(X, start, stop, offsets, lookup, beyond, out):
    """`levels.encode`, of integers from 0 on."""
    codes = X[start:stop]
    if X.dtype.kind not in "iu" or not is_few(codes.size):
        return NotImplemented
    if ((codes < 0) | (codes >= CODES)).any():
        return NotImplemented
    codes = codes.astype(np.int64)
    for j in range(codes.shape[1]):
        own = codes[:, j]
        known = own < offsets[j + 1] - offsets[j]
        out[: len(own), j] = beyond + j
        out[: len(own), j][known] = lookup[offsets[j] + own[known]]
    return -1, -1


def score_levels(X, start, stop, offsets, lookup, beyond, table, width, out):
    """`levels.score_levels`, of integers from 0 on."""
    rows = np.empty((stop - start, X.shape[1]), np.int64)
    many = not is_few(rows.size * width)
    if many or encode(X, start, stop, offsets, lookup, beyond, rows) is NotImplemented:
        return NotImplemented
    table, total = table.reshape(-1, width), np.zeros((len(rows), width))
    for row in rows.T:
        total += table[row]
    out[:] = total[:, : len(out)].T
    return -1, -1


def best_class(joint, otherwise, out):
    """`linear.best_class`."""
    if not is_few(joint.size):
        return NotImplemented
    top = np.full(joint.shape[1], -np.inf)
    out[:] = otherwise
    for c, own in enumerate(joint):
        better = own > top
        top[better], out[better] = own[better], c
    return np.isneginf(top).sum()


def gaussian_dense(X, start, stop, mean, scale, base, norm, out):
    """`gaussian.gaussian_dense`, of numbers none of which is missing or far out."""
    x = X[start:stop].T.astype(np.float64)
    if not is_few(x.size * len(mean)) or not in_range(x) or not np.isfinite(base).all():
        return NotImplemented
    z = (x - mean[:, :, np.newaxis]) * scale[:, :, np.newaxis]
    if not in_range(z):
        return NotImplemented
    total = np.repeat(base[:, np.newaxis], x.shape[1], axis=1)
    for f in range(len(x)):
        total = fma(-z[:, f], z[:, f], total)
    out[:] = total
    return -1


def linear_dense(X, start, stop, weight, zero, base, threshold, out):
    """`linear.linear_dense`, of numbers none of which is missing."""
    x = X[start:stop].T.astype(np.float64)
    if not is_few(x.size * len(weight)) or not in_range(x, weight):
        return NotImplemented
    if not np.isfinite(base).all():
        return NotImplemented
    if threshold == threshold:
        x = (x > threshold).astype(np.float64)
    total = np.repeat(base[:, np.newaxis], x.shape[1], axis=1)
    for f in range(len(x)):
        total = fma(x[f], weight[:, f, np.newaxis], total)
    out[:] = total
    return -1


def projections(X, start, stop, centre, packed, bias, out):
    """`distances.projections`."""
    x = X[start:stop].T - centre[:, np.newaxis]
    features = len(x)
    weight = packed.reshape(-1, features, TILE).swapaxes(1, 2).reshape(-1, features)[: len(out)]
    if not is_few(x.size * len(out)) or not in_range(x, weight):
        return NotImplemented
    total = np.zeros(out.shape)
    for f in range(features):
        total = fma(weight[:, f, np.newaxis], x[f], total)
    out[:] = (0.0 + total) + bias[:, np.newaxis]
    return None


def add_distances(X, start, stop, mean, packed, first, last, out):
    """`distances.add_distances`, by all rows of A."""
    x = X[start:stop].T - mean[:, :, np.newaxis]
    features = x.shape[1]
    if first > 0 or last < features or not is_few(x.size * features) or not in_range(x, packed):
        return NotImplemented
    z, at = np.zeros(x.shape), 0
    for begin in range(0, features, TILE):
        columns = min(features, begin + TILE)
        A = packed[:, at : at + columns * TILE].reshape(len(mean), columns, TILE).swapaxes(1, 2)
        at += columns * TILE
        own = z[:, begin:columns]
        for f in range(columns):
            own[:] = fma(A[:, : columns - begin, f, np.newaxis], x[:, np.newaxis, f], own)
    if not in_range(z):
        return NotImplemented
    total = out.copy()
    for f in range(features):
        total = fma(z[:, f], z[:, f], total)
    out[:] = total
    return None


def add_evidence(cells, table, weight, parts, rows, out):
    """`lookups.add_evidence`."""
    if not is_few(out.size):
        return NotImplemented
    out += weight * table[cells, parts[rows]].T
    return None


def add_all(cells, table, weight, out):
    """`lookups.add_all`."""
    if not is_few(out.size):
        return NotImplemented
    out += weight * table[cells]
    return None


def add_scores(cells, table, weight, out):
    """`lookups.add_scores`."""
    if not is_few(out.size):
        return NotImplemented
    out += weight * table[cells].T
    return None
