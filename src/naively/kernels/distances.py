"""Log-densities of rows under normal distributions with any covariance.

Rows are scored sixteen at a time, a tile of eight outputs by sixteen rows of A (x - m): the same
instructions for one row and for a million, so that no row's score depends on its neighbours.
"""

import numpy as np
import numpy.typing as npt

from naively.kernels import few, simd
from naively.kernels.jit import jit, or_few
from naively.kernels.rows import GROUP, TILE, load_block, touch

Float64 = npt.NDArray[np.float64]
LANES = simd.LANES
GROUPS = 4  # of sixteen rows, which share what is read of A


@jit
def packed_size(features):
    """The room that a packed lower triangular matrix takes."""
    size = 0
    for first in range(0, features, simd.TILE):
        size += min(features, first + simd.TILE) * simd.TILE
    return size


packed_size.few = packed_size.__wrapped__


def pack(A: Float64, packed: Float64) -> None:
    """Write a matrix by bands of eight rows, column after column; the last is padded by zeros.

    If A is lower triangular, which the room in `packed` tells, only the columns up to a band's
    last row are written.
    """
    rows, columns = A.shape
    triangular = rows == columns and packed.size == packed_size(rows)
    at = 0
    for first in range(0, rows, simd.TILE):
        width = min(columns, first + simd.TILE) if triangular else columns
        band = np.zeros((width, simd.TILE))
        own = A[first : first + simd.TILE, :width]
        band[:, : len(own)] = own.T
        packed[at : at + band.size] = band.ravel()
        at += band.size


@jit
def unpack(packed, A):
    """Write the lower triangular matrix that was packed to A, whose rest is left alone."""
    at = 0
    for first in range(0, len(A), simd.TILE):
        for f in range(min(len(A), first + simd.TILE)):
            for k in range(max(0, f - first), min(simd.TILE, len(A) - first)):
                A[first + k, f] = packed[at + k]
            at += simd.TILE


@jit
def load_rows(X, flat, row, rows, mean, staged, block, out):
    """out[f, r] = X[row + r, f] - mean[f] of up to sixteen rows, feature after feature."""
    features = X.shape[1]
    touch(flat, row * features, (row + rows) * features, block)
    for first in range(0, features, TILE):
        last = min(first + TILE, features)
        load_block(X, flat, row, rows, first, last, staged, block)
        centred(block, mean[first:last], out[first * GROUP : last * GROUP])


@jit
def centred(raw, mean, out):
    """Raw minus the mean of each feature, sixteen rows."""
    for f in range(mean.size):
        m = simd.splat(mean[f])
        for lanes in range(0, GROUP, LANES):
            at = f * GROUP + lanes
            simd.store(out, at, simd.sub(simd.load(raw, at), m))


@jit
def band(packed, at, columns, x, start):
    """Eight rows of A times the sixteen columns of x that begin at `start`."""
    tile = simd.zero_tile()
    for f in range(columns):
        low = simd.load(x, start + f * GROUP)
        high = simd.load(x, start + f * GROUP + LANES)
        tile = simd.add_outer(tile, packed, at + f * simd.TILE, low, high)
    return tile


@or_few(few.add_distances)
@jit
def add_distances(X, start, stop, mean, packed, first, last, out):
    """out[c, i] += |A_c (x_i - mean_c)|² over rows first:last of A, for rows start:stop of X.

    packed : (C, size) bands of lower triangular matrices; `first` is a multiple of eight. NaN and
    infinite values give NaN or infinite distances.
    """
    features = X.shape[1]
    flat = simd.flat_view(X)
    size = features * GROUP
    staged, block = np.zeros(GROUP * TILE), np.empty(TILE * GROUP)
    raw, moved = np.empty(GROUPS * size), np.empty(GROUPS * size)
    lengths = np.empty(GROUPS * GROUP)
    origin = np.zeros(features)
    tiles = np.zeros(2 * LANES * simd.TILE)
    for begin in range(start, stop, GROUPS * GROUP):
        some = min(GROUPS * GROUP, stop - begin)
        groups = (some + GROUP - 1) // GROUP
        for g in range(groups):
            row = begin + g * GROUP
            rows = min(GROUP, stop - row)
            part = raw[g * size : (g + 1) * size]
            load_rows(X, flat, row, rows, origin, staged, block, part)
        for c in range(out.shape[0]):
            for g in range(groups):
                own = slice(g * size, (g + 1) * size)
                centred(raw[own], mean[c], moved[own])
            for r in range(some):
                lengths[r] = out[c, begin - start + r]
            at = packed_size(first)
            for k in range(first, last, simd.TILE):
                columns = min(features, k + simd.TILE)
                for g in range(groups):
                    tiles[:] = 0.0
                    simd.add_tile(tiles, 0, band(packed[c], at, columns, moved, g * size))
                    for lanes in range(0, GROUP, LANES):
                        total = simd.load(lengths, g * GROUP + lanes)
                        for t in range(simd.TILE):
                            z = simd.load(tiles, t * GROUP + lanes)
                            total = simd.fma(z, z, total)
                        simd.store(lengths, g * GROUP + lanes, total)
                at += columns * simd.TILE
            for r in range(some):
                out[c, begin - start + r] = lengths[r]


@or_few(few.projections)
@jit
def projections(X, start, stop, centre, packed, bias, out):
    """out[c, i] = w_c · (x_i - centre) + bias[c] for rows start:stop; `packed` are bands of w."""
    features = X.shape[1]
    classes = out.shape[0]
    flat = simd.flat_view(X)
    size = features * GROUP
    staged, block = np.zeros(GROUP * TILE), np.empty(TILE * GROUP)
    moved = np.empty(size)
    tiles = np.zeros(2 * LANES * simd.TILE)
    for row in range(start, stop, GROUP):
        rows = min(GROUP, stop - row)
        load_rows(X, flat, row, rows, centre, staged, block, moved)
        for first in range(0, classes, simd.TILE):
            tiles[:] = 0.0
            simd.add_tile(tiles, 0, band(packed, first * features, features, moved, 0))
            for t in range(min(simd.TILE, classes - first)):
                for r in range(rows):
                    out[first + t, row - start + r] = tiles[t * GROUP + r] + bias[first + t]
