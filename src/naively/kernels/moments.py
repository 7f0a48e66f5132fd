"""Exact sums of x and x * x for each class and feature of dense rows, at memory speed.

Each value is cut into three 23-bit pieces on a grid fixed per feature, x = p0 + p1 + p2. The
pieces and the products of two pieces are integers of at most 44 bits on their grids, so 512 of
them add up exactly in float64; then the nine partial sums of a class and feature go to its
limbs. A value with bits below the grid (at most 2**-16 of the largest) is completed limb by limb.
After Demmel & Nguyen (2015), "Parallel reproducible summation".
"""

import math

import numpy as np

from naively.kernels import simd
from naively.kernels.jit import jit
from naively.kernels.limbs import add_square, add_value, needed

LANES = simd.LANES
FLUSH = 512  # rows a class may add up before its partial sums must be flushed
RUN = 32  # rows added at a time, while they are in the level-1 cache
CELLS = 32768  # cells of a chunk: 256 KiB, half a level-2 cache
SAFE = 400  # rows with magnitudes beyond 2**±SAFE are left to `naively.kernels.deposits`
DONE, OUT_OF_BOUNDS, WIDEN, HAS_MISSING, RESCALE, EXTREME, SPILLED = range(7)


@jit
def flush_class(partial, code, tiles, stride, features, sums, size, low, squares, size2, low2):
    """Move the partial sums of one class into their limbs."""
    for tile in range(tiles):
        at = (code * tiles + tile) * stride
        for lane in range(min(LANES, features - tile * LANES)):
            cell = code * features + tile * LANES + lane
            for k in range(stride // LANES):
                value = partial[at + k * LANES + lane]
                if k < 3:
                    add_value(sums, cell * size, low, value)
                else:  # the products p0p0, p0p1, p0p2, p1p1, p1p2, p2p2
                    twice = 1.0 if k == 3 or k == 6 or k == 8 else 2.0
                    add_value(squares, cell * size2, low2, twice * value)
        for k in range(at, at + stride):
            partial[k] = 0.0


@jit
def flush_all(partial, since, tiles, stride, features, sums, size, low, squares, size2, low2):
    """Move all partial sums into their limbs."""
    for c in range(since.size):
        if since[c] > 0:
            flush_class(partial, c, tiles, stride, features, sums, size, low, squares, size2, low2)
            since[c] = 0


@jit
def scan(buffer, rows, tiles, highest, lowest):
    """Largest and smallest non-zero magnitude of each column of the buffer.

    Returns (smallest value, smallest non-zero magnitude, largest magnitude, any NaN) of all.
    """
    width = tiles * LANES
    zero = simd.splat(0.0)
    infinity = simd.splat(np.inf)
    minimum = infinity
    missing = 0
    for tile in range(tiles):
        high = zero
        low = infinity
        for r in range(rows):
            x = simd.load(buffer, r * width + tile * LANES)
            missing |= simd.differ(x, x)
            a = simd.absolute(x)
            high = simd.where_greater(a, high, a, high)
            nonzero = simd.where_greater(a, zero, a, infinity)
            low = simd.where_greater(low, nonzero, nonzero, low)
            minimum = simd.where_greater(minimum, x, x, minimum)
        simd.store(highest, tile * LANES, high)
        simd.store(lowest, tile * LANES, low)
    smallest, bottom, top = np.inf, np.inf, 0.0
    last = np.empty(LANES)
    simd.store(last, 0, minimum)
    for lane in range(LANES):
        smallest = min(smallest, last[lane])
    for f in range(width):
        bottom = min(bottom, lowest[f])
        top = max(top, highest[f])
    return smallest, bottom, top, missing != 0


@jit
def group_rows(codes, start, rows, order, ends):
    """Stable counting sort of the rows by class: rows of class c at order[ends[c-1]:ends[c]]."""
    for c in range(ends.size):
        ends[c] = 0
    for r in range(rows):
        ends[codes[start + r]] += 1
    total = 0
    for c in range(ends.size):
        count = ends[c]
        ends[c] = total
        total += count
    for r in range(rows):
        c = codes[start + r]
        order[ends[c]] = r
        ends[c] += 1


@jit
def add_rows(buffer, order, first, last, partial, at, stride, constants, tiles):
    """Add rows order[first:last], all of one class, to its partial sums.

    Returns the lowest tile with values that have bits below the grid, else `tiles`.
    """
    width = tiles * LANES
    inexact = tiles
    for tile in range(tiles):
        k0 = simd.load(constants, tile * 3 * LANES)
        k1 = simd.load(constants, tile * 3 * LANES + LANES)
        k2 = simd.load(constants, tile * 3 * LANES + 2 * LANES)
        o = at + tile * stride
        s0 = simd.load(partial, o)
        s1 = simd.load(partial, o + LANES)
        s2 = simd.load(partial, o + 2 * LANES)
        rest = 0
        if stride > 3 * LANES:
            q00 = simd.load(partial, o + 3 * LANES)
            q01 = simd.load(partial, o + 4 * LANES)
            q02 = simd.load(partial, o + 5 * LANES)
            q11 = simd.load(partial, o + 6 * LANES)
            q12 = simd.load(partial, o + 7 * LANES)
            q22 = simd.load(partial, o + 8 * LANES)
            for j in range(first, last):
                x = simd.load(buffer, order[j] * width + tile * LANES)
                p0 = simd.sub(simd.add(x, k0), k0)
                r = simd.sub(x, p0)
                p1 = simd.sub(simd.add(r, k1), k1)
                r = simd.sub(r, p1)
                p2 = simd.sub(simd.add(r, k2), k2)
                rest |= simd.differ(r, p2)
                s0 = simd.add(s0, p0)
                s1 = simd.add(s1, p1)
                s2 = simd.add(s2, p2)
                q00 = simd.fma(p0, p0, q00)
                q01 = simd.fma(p0, p1, q01)
                q02 = simd.fma(p0, p2, q02)
                q11 = simd.fma(p1, p1, q11)
                q12 = simd.fma(p1, p2, q12)
                q22 = simd.fma(p2, p2, q22)
            simd.store(partial, o + 3 * LANES, q00)
            simd.store(partial, o + 4 * LANES, q01)
            simd.store(partial, o + 5 * LANES, q02)
            simd.store(partial, o + 6 * LANES, q11)
            simd.store(partial, o + 7 * LANES, q12)
            simd.store(partial, o + 8 * LANES, q22)
        else:
            for j in range(first, last):
                x = simd.load(buffer, order[j] * width + tile * LANES)
                p0 = simd.sub(simd.add(x, k0), k0)
                r = simd.sub(x, p0)
                p1 = simd.sub(simd.add(r, k1), k1)
                r = simd.sub(r, p1)
                p2 = simd.sub(simd.add(r, k2), k2)
                rest |= simd.differ(r, p2)
                s0 = simd.add(s0, p0)
                s1 = simd.add(s1, p1)
                s2 = simd.add(s2, p2)
        simd.store(partial, o, s0)
        simd.store(partial, o + LANES, s1)
        simd.store(partial, o + 2 * LANES, s2)
        if rest != 0:
            inexact = min(inexact, tile)
    return inexact


@jit
def spill_rows(
    buffer, order, first, last, tile, tiles, constants, code, features, values, rests, cells, count
):
    """Note the values of these rows, from `tile` on, that have bits below the grid."""
    width = tiles * LANES
    for j in range(first, last):
        for f in range(tile * LANES, features):
            x = buffer[order[j] * width + f]
            o = (f // LANES) * 3 * LANES + f % LANES
            r = x
            for piece in range(3):
                k = constants[o + piece * LANES]
                r = r - ((r + k) - k)
            if r != 0.0:
                values[count], rests[count], cells[count] = x, r, code * features + f
                count += 1
    return count


@jit
def complete(values, rests, cells, count, sums, size, low, squares, size2, low2):
    """Add what the pieces of the noted values left out: x = pieces + rest."""
    for i in range(count):
        add_value(sums, cells[i] * size, low, rests[i])
        if size2 > 0:  # the pieces' part has been squared already
            for sign in (1.0, -1.0):
                part = values[i] if sign > 0.0 else values[i] - rests[i]
                add_square(squares, cells[i] * size2, low2, part, sign)


@jit
def exponent_above(x):
    """The smallest e with x < 2**e."""
    return math.frexp(x)[1]


@jit
def dense_sums(
    X, codes, start, stop, minimum, maximum, threshold, partial, since, grid, constants,
    sums, size, low, squares, size2, low2, missing, values, rests, cells, report,
):  # fmt: skip
    """Add rows start:stop of X to the exact sums; resumable.

    Parameters
    ----------
    X : (n, d) array of any real type and layout.
    codes : (n,) integer array, the class of each row.
    minimum, maximum : float, bounds of valid values.
    threshold : float; if not NaN, each value counts as 1.0 where above it, else 0.0.
    partial, since, grid, constants : state between calls (see `naively.statistics.sums`).
    sums, squares : int64, `size` and `size2` limbs for each of classes * d cells, with the
        exponents `low`, `low2` of their lowest bits; `squares` is empty if not wanted.
    missing : (classes, d) int64 counts of NaN, or (0, 0) while none was met.
    values, rests, cells : values that are left to `complete`, with room for two chunks.
    report : (3,) int64 out: the number of values noted; and for OUT_OF_BOUNDS (row, column), for
        WIDEN the exponents (lowest bit, highest bit) that the limbs must hold, for EXTREME the
        row after those to sum otherwise.

    Returns
    -------
    (status, row) : what stopped it and the row to resume at. Partial sums are left to `flush_all`.
    """
    features = X.shape[1]
    classes = since.size
    tiles = (features + LANES - 1) // LANES
    width = tiles * LANES
    stride = partial.size // (classes * tiles)
    chunk = min(4096, max(1, CELLS // width))
    buffer = np.zeros(chunk * width)
    table = buffer.reshape(chunk, width)
    highest = np.empty(width)
    lowest = np.empty(width)
    order = np.empty(chunk, np.int64)
    ends = np.empty(classes, np.int64)
    binary = not math.isnan(threshold)
    report[0] = 0

    row = start
    while row < stop:
        rows = min(chunk, stop - row)
        if report[0] + rows * features > values.size:
            return SPILLED, row
        part = X[row : row + rows]  # counted from 0 in two dimensions, so that it is vectorised
        for r in range(part.shape[0]):
            for f in range(part.shape[1]):
                table[r, f] = np.float64(part[r, f])
        smallest, bottom, top, has_missing = scan(buffer, rows, tiles, highest, lowest)
        if smallest < minimum or top > maximum:
            for r in range(rows):
                for f in range(features):
                    x = buffer[r * width + f]
                    if x < minimum or x > maximum:
                        report[1], report[2] = row + r, f
                        return OUT_OF_BOUNDS, row
        if binary:
            for f in range(features):
                highest[f] = 1.0
            bottom = top = 1.0

        if top > 0.0:
            if exponent_above(top) > SAFE or exponent_above(bottom) < -SAFE:
                report[1] = row + rows
                return EXTREME, row
            lowest_bit = exponent_above(bottom) - 53
            if lowest_bit < low or needed(low, exponent_above(top)) > size:
                report[1], report[2] = lowest_bit, exponent_above(top)
                return WIDEN, row
        for f in range(features):
            e = exponent_above(highest[f])
            if highest[f] > 0.0 and (e > grid[f] or e < grid[f] - 6):
                for c in range(classes):
                    if since[c] > 0:
                        return RESCALE, row
                grid[f] = e + 1
                o = f // LANES * 3 * LANES + f % LANES
                for piece in range(3):  # pieces are multiples of 2**(grid - 22, - 45, - 68)
                    constants[o + piece * LANES] = math.ldexp(1.5, e + 31 - 23 * piece)

        if has_missing:
            if missing.size == 0:
                return HAS_MISSING, row
            for r in range(rows):
                for f in range(features):
                    if math.isnan(buffer[r * width + f]):
                        buffer[r * width + f] = -np.inf if binary else 0.0
                        missing[codes[row + r], f] += 1
        if binary:
            for k in range(rows * width):
                buffer[k] = 1.0 if buffer[k] > threshold and k % width < features else 0.0

        group_rows(codes, row, rows, order, ends)
        first = np.int64(0)
        for c in range(classes):
            while first < ends[c]:
                last = min(ends[c], first + min(FLUSH - since[c], RUN))
                at = c * tiles * stride
                tile = add_rows(buffer, order, first, last, partial, at, stride, constants, tiles)
                if tile < tiles:
                    report[0] = spill_rows(
                        buffer, order, first, last, tile, tiles, constants, c, features,
                        values, rests, cells, report[0],
                    )  # fmt: skip
                since[c] += last - first
                first = last
                if since[c] == FLUSH:
                    flush_class(
                        partial, c, tiles, stride, features, sums, size, low, squares, size2, low2
                    )
                    since[c] = 0
        row += rows
    return DONE, row
