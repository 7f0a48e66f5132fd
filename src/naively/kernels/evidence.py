"""Evidence of cells: counts beside what was expected of them, and what the difference tells.

What NumPy does about as fast is no kernel: there is less to compile and to load.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from naively.kernels.jit import jit

Array = npt.NDArray[Any]

NONE = -1  # in place of a column of a block
LEAST = 0.02  # part of a cell's rows that counts, however sure the model is of them
VIRTUAL = 1e-6  # rows that are expected of each cell, spread as the prior
STEEPEST = 1.5  # weight at which the gain of a block is looked at, at most
BESIDE = 0.5  # rows that are expected besides of each class in a cell: no single row says much


def cells_of(
    codes: Array, sizes: Array, columns: Sequence[int], rows: Array | None = None
) -> npt.NDArray[np.uint32]:
    """The cell of each entry, or of some entries, in the table of some columns, as uint32."""
    first, *others = columns
    cells = (codes[first] if rows is None else codes[first][rows]).astype(np.uint32)
    for j in others:
        cells *= np.uint32(sizes[j])
        cells += codes[j] if rows is None else codes[j][rows]
    return cells


@jit
def fill(cells, parts, y, weights, hoped, unsure, counts, expected, doubt):
    """Add to [part, cell]: entries by class; what was expected of them; the doubt in that."""
    for i in range(y.size):
        cell, part = cells[i], parts[i]
        counts[part, cell, y[i]] += weights[i]
        doubt[part, cell] += unsure[i]
        for c in range(hoped.shape[1]):
            expected[part, cell, c] += hoped[i, c]


@jit
def add_rows(cells, told, width, sums):
    """Add the numbers of each entry, so many, to those of its cell.

    `told` and `sums` are float32, entry after entry and cell after cell.
    """
    if width == 4:  # all at once
        for i in range(cells.size):
            cell, at = np.int64(cells[i]) * 4, i * 4
            a, b = sums[cell] + told[at], sums[cell + 1] + told[at + 1]
            c, d = sums[cell + 2] + told[at + 2], sums[cell + 3] + told[at + 3]
            sums[cell], sums[cell + 1], sums[cell + 2], sums[cell + 3] = a, b, c, d
        return
    for i in range(cells.size):
        cell, at = np.int64(cells[i]) * width, i * width
        for k in range(width):  # of one index each, so that several are added at once
            sums[cell + k] += told[at + k]


class Table(NamedTuple):
    """What is known of the cells of a block, part by part.

    Attributes
    ----------
    counts : (parts, cells, C), the weight of entries.
    expected : of their shape, what was expected of them.
    others : (cells, parts, C) float32, what models without a part expect of the entries of others.
    doubt : (parts, cells), in what is expected.
    """

    counts: Array
    expected: Array
    others: Array
    doubt: Array


def table(
    cells: Array, size: int, n_parts: int, parts: Array, y: Array, weights: Array, hoped: Array,
    unsure: Array, others: Array,
) -> Table:  # fmt: skip
    """What is known of so many cells.

    Where `others` (n, parts, C) is empty, it is what models without their own parts expect.
    """
    shape = n_parts, size, hoped.shape[1]
    counts, expected, doubt = np.zeros(shape), np.zeros(shape), np.zeros(shape[:2])
    fill(cells, parts, y, weights, hoped, unsure, counts, expected, doubt)
    without = np.zeros((size, n_parts, shape[2]), np.float32)
    if len(others):
        add_rows(cells, others.reshape(-1), n_parts * shape[2], without.reshape(-1))
    else:
        without[:] = (expected.sum(axis=0) - expected).transpose(1, 0, 2)
    return Table(counts, expected, without, doubt)


def count(
    codes: Array, parts: Array, y: Array, weights: Array, shape: tuple[int, int, int]
) -> npt.NDArray[np.float64]:
    """The weight of the entries of each [part, bin, class]: an array of this shape."""
    _, bins, classes = shape
    cells = (parts * bins + codes) * classes + y
    found: npt.NDArray[Any] = np.bincount(cells, weights, minlength=math.prod(shape))
    return found.reshape(shape)


@jit
def shares(counts, expected, doubt, prior, met, q):
    """Fill what was met of each class of a cell, and the shares q expected; False of no rows.

    Where the model is sure of its rows, these say little about how far it is off in the others: so
    many of them as the doubt allows count.
    """
    total, whole = 0.0, 0.0
    for c in range(counts.size):
        total += counts[c]
        q[c] = expected[c] + VIRTUAL * prior[c]
        whole += q[c]
    if total <= 1e-9:
        return False
    most = 0.0
    for c in range(counts.size):
        q[c] /= whole
        most += q[c] * (1.0 - q[c])
    share = min(1.0, max(LEAST, doubt / (whole * most + 1e-12)))
    for c in range(counts.size):
        met[c] = max(counts[c] - (1.0 - share) * expected[c], 0.0)
    return True


@jit
def surprise(met, q, strength, out):
    """What a cell tells beyond what was expected of its rows: log p(c | cell) / q(c), in nats.

    p are the shares of what was met, smoothed by `strength` rows that are as expected.
    """
    rows = 0.0
    for c in range(met.size):
        out[c] = met[c] + strength * q[c]
        rows += out[c]
    for c in range(met.size):
        out[c] = np.log(out[c] / (rows * q[c]))


@jit
def fill_surprises(counts, expected, others, doubt, prior, strength, scratch, out):
    """out[cell, part] from all other parts; out[cell, parts] from all. out is float32."""
    parts, cells, classes = counts.shape
    n, q, told, met, expects = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    for cell in range(cells):
        for left in range(parts + 1):
            n[:], q[:], v = 0.0, 0.0, 0.0
            for part in range(parts):
                if part != left:
                    v += doubt[part, cell]
                    for c in range(classes):
                        n[c] += counts[part, cell, c]
                        q[c] += expected[part, cell, c]
            if left < parts:
                for c in range(classes):
                    q[c] = others[cell, left, c]
            told[:] = 0.0
            if shares(n, q, v, prior, met, expects):
                surprise(met, expects, strength, told)
            for c in range(classes):
                out[cell, left, c] = told[c]


def left_out_surprises(known: Table, prior: Array, strength: float) -> npt.NDArray[np.float32]:
    """What a block tells beyond what is expected, (cells, parts and all, C): without each part."""
    parts, cells, classes = known.counts.shape
    out = np.empty((cells, parts + 1, classes), np.float32)
    fill_surprises(*known, prior, strength, np.empty((5, classes)), out)
    return out


@jit
def fill_slopes(counts, expected, others, doubt, prior, strengths, scratch, slope, bend):
    """Add up how the log-likelihood of left-out rows moves with a block's weight, twice."""
    parts, cells, classes = counts.shape
    n, q, told, met, expects = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    all_n = scratch[5]
    for cell in range(cells):
        all_n[:], all_v = 0.0, 0.0
        for part in range(parts):
            all_v += doubt[part, cell]
            for c in range(classes):
                all_n[c] += counts[part, cell, c]
        for part in range(parts):
            rows, most = 0.0, 0.0
            for c in range(classes):
                rows += expected[part, cell, c]
            if rows <= 0.0:
                continue
            for c in range(classes):
                n[c] = all_n[c] - counts[part, cell, c]
                q[c] = others[cell, part, c]
                p = expected[part, cell, c] / rows
                most += p * (1.0 - p)
            if not shares(n, q, all_v - doubt[part, cell], prior, met, expects):
                continue
            share = doubt[part, cell] / (rows * most + 1e-12)
            for s in range(strengths.size):
                surprise(met, expects, strengths[s], told)
                square, mean = 0.0, 0.0
                for c in range(classes):
                    p = expected[part, cell, c]
                    slope[s] += (counts[part, cell, c] - p) * told[c]
                    square += p * told[c] * told[c]
                    mean += p * told[c]
                bend[s] += share * (square - mean * mean / rows)


def gains(known: Table, prior: Array, strengths: Array) -> Array:
    """What the log-likelihood of left-out rows would gain by a block, for each strength: in nats.

    To the second order in the block's weight, by the evidence that each part has from the others.
    """
    slope, bend = np.zeros((2, len(strengths)))
    fill_slopes(*known, prior, strengths, np.empty((6, len(prior))), slope, bend)
    found = np.zeros(len(strengths))
    uphill = (slope > 0.0) & (bend > 0.0)
    slope, bend = slope[uphill], bend[uphill]
    step = np.minimum(slope / bend, STEEPEST)
    found[uphill] = step * slope - 0.5 * step * step * bend
    return found


@jit
def rough_gains(codes, sizes, blocks, told, classes, strength, cells, sums, out):
    """About what `gains` finds of some blocks: from all rows, less what chance gives.

    To the second order in what each cell tells: for each class the square of what was met beyond
    what was expected, less its variance, over the rows expected. `told`, (n * 2 classes,) float32,
    has of each entry what was expected of each class, what it is beyond that of each class but the
    first, and the doubt. `cells`, (n,) uint32, and `sums`, float32 for each number of each cell,
    are room to work in. Blocks are as wide as the widest, with NONE in place of columns.
    """
    width = 2 * classes
    for k in range(out.size):
        size = 1
        for i in range(cells.size):
            cells[i] = 0
        for place in range(blocks.shape[1]):
            j = blocks[k, place]
            if j != NONE:
                size *= sizes[j]
                for i in range(cells.size):
                    cells[i] = cells[i] * np.uint32(sizes[j]) + codes[j, i]
        for at in range(size * width):
            sums[at] = 0.0
        add_rows(cells, told, width, sums)
        total = 0.0
        for cell in range(size):
            at = cell * width
            rows, beyond = 0.0, 0.0
            for c in range(classes):
                rows += sums[at + c]
            if rows <= 0.0:
                continue
            most = 0.0
            for c in range(classes):
                most += sums[at + c] * (1.0 - sums[at + c] / rows)
            share = min(1.0, max(LEAST, sums[at + width - 1] / (most + 1e-12)))
            for c in range(classes - 1, -1, -1):
                q = np.float64(sums[at + c])
                own = np.float64(sums[at + classes + c - 1]) if c > 0 else -beyond
                beyond += own
                chance = share * q * (1.0 - q / rows)
                total += 0.5 * (own * own - chance) / (q * (share + strength / rows) + BESIDE)
        out[k] = total


@jit
def expected_of(scores, moved, parts, weights, proba, others):
    """Fill what is expected of entries: P(c | x), (n, classes), and weight times it by others.

    `scores`, (classes - 1, n), are relative to the first class. `moved`, (n, parts and all, classes
    - 1), is what blocks tell without each part, and in all: `others`, (n, parts, classes) float32,
    has that of models without another part besides, 0 of the entry's own. Both may be empty.
    """
    classes = proba.shape[1]
    for i in range(parts.size):
        most, whole = 0.0, 0.0
        for c in range(1, classes):
            most = max(most, np.float64(scores[c - 1, i]))
        for c in range(classes):
            own = np.float64(scores[c - 1, i]) if c > 0 else 0.0
            proba[i, c] = np.exp(own - most)
            whole += proba[i, c]
        for c in range(classes):
            proba[i, c] /= whole
        for p in range(others.shape[1]):
            if p == parts[i]:
                others[i, p] = np.float32(0)
                continue
            top, total = np.float32(0), np.float32(0)
            for c in range(1, classes):
                own_score = scores[c - 1, i] + (moved[i, p, c - 1] - moved[i, -1, c - 1])
                others[i, p, c] = own_score
                top = max(top, own_score)
            others[i, p, 0] = np.float32(0)
            for c in range(classes):
                others[i, p, c] = np.exp(others[i, p, c] - top)
                total += others[i, p, c]
            share = np.float32(weights[i]) / total
            for c in range(classes):
                others[i, p, c] *= share


@jit
def expect(scores, base, bias, y, losses):
    """Turn scores relative to the first class, (V, classes - 1, n), into probabilities, in place.

    They are by several weights: base (classes - 1, n) and the bias of each, (V, classes - 1), are
    added first. losses (V, n) is what each entry loses.
    """
    classes, zero, one = scores.shape[1], np.float32(0), np.float32(1)
    for v in range(scores.shape[0]):
        for i in range(y.size):
            most, hit = zero, zero
            for c in range(classes):
                scores[v, c, i] += base[c, i] + bias[v, c]
                most = max(most, scores[v, c, i])
            if y[i] > 0:
                hit = scores[v, y[i] - 1, i]
            whole = one if most == zero else np.exp(-most)
            for c in range(classes):
                own = scores[v, c, i]
                scores[v, c, i] = one if own == most else np.exp(own - most)
                whole += scores[v, c, i]
            inverse = one / whole
            for c in range(classes):
                scores[v, c, i] *= inverse
            losses[v, i] = np.log(whole) + most - hit
