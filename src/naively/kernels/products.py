"""Exact sums of products of features, Σ w x_i x_j: the cells of a symmetric matrix.

A value is cut into whole numbers of 22 bits, x = (a + b 2^-22 + c 2^-44) 2^u, with u fixed per
feature. Sums of products of such numbers are exact in float64 up to 2^53, so that plain matrix
products find them. Of three pieces five are enough, each of one plane with itself: of a, c,
a + b + c, a - b + c and 4a + 2b + c, from which follow all terms of the product (Toom 1963, Cook
1966); of two or four pieces those of the pieces and of their sums by pairs (Karatsuba 1962). The
idea is that of Ozaki et al. 2012, "Error-free transformations of matrix multiplication". What is
left of a value below the last piece is added product by product.

The cell of features i <= j is number i d - i (i - 1) / 2 + j - i of d (d + 1) / 2. Matrices are
computed in tiles of 16 by 16 features, (p, q) for p <= q, row by row.
"""

import math

import numpy as np

from naively.kernels import simd
from naively.kernels.jit import jit
from naively.kernels.limbs import (
    add_integer,
    add_product,
    add_triple,
    add_value,
)
from naively.kernels.rows import touch

LANES = simd.LANES
WIDTH = 2 * LANES  # features of a panel
CELLS = WIDTH * WIDTH  # of a tile
BITS = 22  # of a piece
ROWS = 256  # of a plane, so that it stays in the cache
EXACT = 2.0**53  # up to which whole numbers add up exactly
SUMS = 16  # of that size that int64 can hold, and combine
ROUND = 1.5 * 2.0**52  # adding and subtracting it rounds to a whole number


@jit
def column_sizes(X, start, stop, largest):
    """The largest magnitude of each column's finite values, into `largest`.

    Returns the smallest magnitude of all that is not zero, or infinity.
    """
    smallest = np.inf
    for i in range(start, stop):
        for j in range(X.shape[1]):
            a = abs(np.float64(X[i, j]))
            if a < np.inf:
                largest[j] = max(largest[j], a)
                smallest = min(smallest, a if a > 0.0 else np.inf)
    return smallest


@jit
def incomplete(X, start, stop, lacking):
    """lacking[i] = whether row i has a NaN."""
    for i in range(start, stop):
        found = False
        for j in range(X.shape[1]):
            found |= math.isnan(np.float64(X[i, j]))
        lacking[i] = found


@jit
def cut(X, rows, scale, pieces, planes, norms, places, rests):
    """Cut the values of some rows into up to four pieces, and combine them to planes.

    Planes have their panels of features; rows beyond the given ones are zeros. norms[s, f] is the
    square of feature f's column of plane s: products of two columns add up to no more than the
    largest. Returns the number of values that are left with a rest, whose places
    row * d + feature, counted among the given rows, and rests, in units of x, are noted, in no
    order.
    """
    features = X.shape[1]
    given = simd.flat_view(X)
    flat = planes.reshape(-1)
    size = planes.shape[1]
    square = norms.reshape(-1)
    width = norms.shape[1]
    line = np.zeros(WIDTH)
    factor = np.zeros(WIDTH)
    half, whole, zero = simd.splat(ROUND), simd.splat(2.0**BITS), simd.splat(0.0)
    two, four = simd.splat(2.0), simd.splat(4.0)
    norms[:] = 0.0
    noted = 0
    for k in range(rows.size):  # reading in order first makes the rest twice as fast
        touch(given, rows[k] * features, (rows[k] + 1) * features, line)
    line[:] = 0.0
    for first in range(0, features, WIDTH):
        some = min(WIDTH, features - first)
        factor[:] = 0.0
        factor[:some] = scale[first : first + some]
        for k in range(ROWS):
            if k >= rows.size:
                for lane in range(some):
                    line[lane] = 0.0
            elif given.size > 0 and some == WIDTH:
                start = rows[k] * features + first
                simd.store(line, 0, simd.load(given, start))
                simd.store(line, LANES, simd.load(given, start + LANES))
            else:
                for lane in range(some):
                    line[lane] = np.float64(X[rows[k], first + lane])
            left = 0
            for lanes in range(0, WIDTH, LANES):
                at, of = first * ROWS + k * WIDTH + lanes, first + lanes
                y = simd.mul(simd.load(line, lanes), simd.load(factor, lanes))
                a = simd.sub(simd.add(y, half), half)
                y = simd.mul(simd.sub(y, a), whole)
                keep(flat, at, square, of, a)
                if pieces > 1:
                    b = simd.sub(simd.add(y, half), half)
                    y = simd.mul(simd.sub(y, b), whole)
                    if pieces == 3:
                        c = simd.sub(simd.add(y, half), half)
                        y = simd.mul(simd.sub(y, c), whole)
                        ends = simd.add(a, c)
                        last = simd.fma(a, four, simd.fma(b, two, c))
                        keep(flat, at + size, square, of + width, c)
                        keep(flat, at + 2 * size, square, of + 2 * width, simd.add(ends, b))
                        keep(flat, at + 3 * size, square, of + 3 * width, simd.sub(ends, b))
                        keep(flat, at + 4 * size, square, of + 4 * width, last)
                    else:
                        keep(flat, at + size, square, of + width, b)
                        keep(flat, at + 2 * size, square, of + 2 * width, simd.add(a, b))
                    if pieces > 3:
                        c = simd.sub(simd.add(y, half), half)
                        y = simd.mul(simd.sub(y, c), whole)
                        d = simd.sub(simd.add(y, half), half)
                        y = simd.mul(simd.sub(y, d), whole)
                        keep(flat, at + 3 * size, square, of + 3 * width, c)
                        keep(flat, at + 4 * size, square, of + 4 * width, simd.add(a, c))
                        keep(flat, at + 5 * size, square, of + 5 * width, simd.add(b, c))
                        keep(flat, at + 6 * size, square, of + 6 * width, d)
                        keep(flat, at + 7 * size, square, of + 7 * width, simd.add(a, d))
                        keep(flat, at + 8 * size, square, of + 8 * width, simd.add(b, d))
                        keep(flat, at + 9 * size, square, of + 9 * width, simd.add(c, d))
                left |= simd.differ(y, zero)
            if left != 0:
                for lane in range(some):
                    y, unit = line[lane] * factor[lane], 1.0 / factor[lane]
                    for _ in range(pieces):
                        y = (y - ((y + ROUND) - ROUND)) * 2.0**BITS
                        unit /= 2.0**BITS
                    if y != 0.0:
                        places[noted], rests[noted] = k * features + first + lane, y * unit
                        noted += 1
    return noted


@jit
def keep(flat, at, square, of, x):
    """Write eight values of a plane, and add their squares."""
    simd.store(flat, at, x)
    simd.store(square, of, simd.fma(x, x, simd.load(square, of)))


@jit
def square(plane, panels, first, last, out):
    """Add the products of all features' columns of a plane, for tiles first:last, to `out`."""
    number = 0
    for p in range(panels):
        for q in range(p, panels):
            if first <= number < last:
                for half in range(0, WIDTH, simd.TILE):
                    tile = simd.zero_tile()
                    column, row = p * ROWS * WIDTH + half, q * ROWS * WIDTH
                    for k in range(ROWS):
                        x = simd.load(plane, row + k * WIDTH)
                        y = simd.load(plane, row + k * WIDTH + LANES)
                        tile = simd.add_outer(tile, plane, column + k * WIDTH, x, y)
                    simd.add_tile(out, (number - first) * CELLS + half * WIDTH, tile)
            number += 1


@jit
def add_whole(sums, totals):
    """Add sums, which are whole numbers, to integer totals, and begin them again at 0."""
    for k in range(sums.size):
        totals[k] += np.int64(sums[k])
        sums[k] = 0.0


@jit
def add_rests(X, rows, places, rests, scratch, first, last, limbs, size, low):
    """Add what the pieces of the noted values left out of the products of their rows.

    With x = p + r: x_i x_j - p_i p_j = r_i x_j + p_i r_j. The places are sorted; `scratch` is (d,)
    zeros, and stays so.
    """
    features = X.shape[1]
    noted = places.size
    begin = 0
    while begin < noted:
        k = places[begin] // features
        end = begin
        while end < noted and places[end] // features == k:
            scratch[places[end] % features] = rests[end]
            end += 1
        row = rows[k]
        for n in range(begin, end):
            i, r = places[n] % features, rests[n]
            piece = np.float64(X[row, i]) - r
            for j in range(features):
                other = scratch[j]
                if other != 0.0 and j < i:
                    continue  # done, as a pair
                cell = cell_in_tiles(min(i, j), max(i, j), features, first, last)
                if cell >= 0:
                    add_product(limbs, cell * size, low, r, np.float64(X[row, j]))
                    if other != 0.0:
                        add_product(limbs, cell * size, low, piece, other)
        for n in range(begin, end):
            scratch[places[n] % features] = 0.0
        begin = end


@jit
def cell_in_tiles(i, j, features, first, last):
    """Where features i <= j are in tiles first:last, or -1 if they are not."""
    panels = (features + WIDTH - 1) // WIDTH
    p, q = i // WIDTH, j // WIDTH
    tile = p * panels - p * (p - 1) // 2 + q - p
    if first <= tile < last:
        return (tile - first) * CELLS + (i - p * WIDTH) * WIDTH + j - q * WIDTH
    return -1


@jit
def add_squares(totals, pieces, unit, first, last, limbs, size, low):
    """Add the products that follow from the totals to the limbs of tiles first:last; clear them.

    unit : (d,) int64, the exponent u of each feature's first piece.
    """
    features = unit.size
    panels = (features + WIDTH - 1) // WIDTH
    number = 0
    for p in range(panels):
        for q in range(p, panels):
            if first <= number < last:
                for i in range(p * WIDTH, min(p * WIDTH + WIDTH, features)):
                    row = (number - first) * CELLS + (i - p * WIDTH) * WIDTH - q * WIDTH
                    for j in range(max(i, q * WIDTH), min(q * WIDTH + WIDTH, features)):
                        cell = row + j
                        top = unit[i] + unit[j] - low
                        if pieces == 3:
                            by_points(totals[:, cell], top, limbs, cell * size)
                        else:
                            by_pairs(totals[:, cell], pieces, top, limbs, cell * size)
            number += 1
    totals[:] = 0


@jit
def by_points(total, top, limbs, at):
    """Add (a + b e + c e²)², e = 2^-22, times 2^top, from the values of (a t² + b t + c)²."""
    aa, cc, plus, minus, two = total[0], total[1], total[2], total[3], total[4]
    ab = (two - 12 * aa + 3 * cc - 3 * plus - minus) // 6
    bc = (plus - minus) // 2 - ab
    middle = (plus + minus) // 2 - aa - cc  # a c + c a + b b
    add_integer(limbs, at, top, aa)
    add_integer(limbs, at, top - BITS, ab)
    add_integer(limbs, at, top - 2 * BITS, middle)
    add_integer(limbs, at, top - 3 * BITS, bc)
    add_integer(limbs, at, top - 4 * BITS, cc)


@jit
def by_pairs(total, pieces, top, limbs, at):
    """Add the same from the squares of the pieces and of their sums by pairs."""
    for a in range(pieces):
        plane = a * (a + 1) // 2
        own = total[plane]
        add_integer(limbs, at, top - 2 * BITS * a, own)
        for b in range(a):
            both = total[plane + 1 + b] - own - total[b * (b + 1) // 2]
            add_integer(limbs, at, top - BITS * (a + b), both)


@jit
def settle_tiles(limbs, features, first, last, target):
    """Write the normalised limbs of tiles first:last to their cells of `target`, (cells, L).

    The last limb of the target takes the rest of the number.
    """
    size = target.shape[1]
    wide = limbs.shape[1]
    panels = (features + WIDTH - 1) // WIDTH
    number = 0
    for p in range(panels):
        for q in range(p, panels):
            if first <= number < last:
                for i in range(p * WIDTH, min(p * WIDTH + WIDTH, features)):
                    row = i * features - i * (i - 1) // 2 - i
                    cell = (number - first) * CELLS + (i - p * WIDTH) * WIDTH - q * WIDTH
                    for j in range(max(i, q * WIDTH), min(q * WIDTH + WIDTH, features)):
                        for k in range(size):
                            target[row + j, k] = limbs[cell + j, k]
                        if wide > size:
                            target[row + j, size - 1] += limbs[cell + j, size] << 32
            number += 1


@jit
def deposit_rows(
    X, codes, weights, rows, begin, end, pooled,
    products, size, low, gone, size1, low1, both, size0, low0,
):  # fmt: skip
    """Add the products of features begin:end and those after, of the given rows, one by one.

    weights : (n,), or empty if all are 1.
    pooled : whether the classes share the cells of `products`.
    gone : limbs of (classes, d, d) cells, Σ w x_i over the rows in which x_j is missing.
    both : limbs of (classes, cells), the weight of the rows in which both are missing.
    """
    features = X.shape[1]
    cells = features * (features + 1) // 2
    for row in rows:
        w = weights[row] if weights.size > 0 else 1.0
        code = codes[row]
        start = 0 if pooled else code * cells
        for i in range(begin, end):
            at = i * features - i * (i - 1) // 2 - 1
            x = np.float64(X[row, i])
            lacks = math.isnan(x)
            for j in range(i, features):
                at += 1
                y = np.float64(X[row, j])
                if math.isnan(y):
                    if lacks:
                        add_value(both, (code * cells + at) * size0, low0, w)
                    else:
                        place = (code * features + i) * features + j
                        add_product(gone, place * size1, low1, x, w)
                elif lacks:
                    place = (code * features + j) * features + i
                    add_product(gone, place * size1, low1, y, w)
                elif x != 0.0 and y != 0.0:
                    add_triple(products, (start + at) * size, low, x, y, w)
