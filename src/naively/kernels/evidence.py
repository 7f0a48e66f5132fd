"""Evidence of cells: counts beside what was expected of them, and what the difference tells."""

import numpy as np

from naively.kernels.jit import jit

NONE = -1  # in place of a column of a block
LEAST = 0.02  # part of a cell's rows that counts, however sure the model is of them
VIRTUAL = 1e-6  # rows that are expected of each cell, spread as the prior
STEEPEST = 1.5  # weight at which the gain of a block is looked at, at most


@jit
def cell_of(codes, sizes, columns, i):
    """The cell of entry i in the table of some columns."""
    cell = np.int64(0)
    for j in columns:
        if j >= 0:
            cell = cell * sizes[j] + codes[j, i]
    return cell


@jit
def fill(codes, sizes, columns, parts, y, weights, proba, unsure, counts, expected, doubt):
    """Add to [part, cell]: entries by class; what was expected of them; the doubt in that."""
    for i in range(y.size):
        cell, part = cell_of(codes, sizes, columns, i), parts[i]
        counts[part, cell, y[i]] += weights[i]
        doubt[part, cell] += unsure[i]
        for c in range(proba.shape[1]):
            expected[part, cell, c] += proba[i, c] * weights[i]


@jit
def count(codes, parts, y, weights, out):
    """Add each entry's weight to out[part, bin, class]."""
    for i in range(y.size):
        out[parts[i], codes[i], y[i]] += weights[i]


@jit
def surprise(counts, expected, doubt, prior, strength, out):
    """What a cell tells beyond what was expected of its rows, in nats a class.

    log p(c | cell) / q(c), with q the expected shares, and p the counts smoothed by `strength`
    rows that are as expected. Where the model is sure of its rows, these say little about how far
    it is off in the others: so many of them as the doubt allows count.
    """
    total, whole = 0.0, 0.0
    for c in range(counts.size):
        total += counts[c]
        whole += expected[c] + VIRTUAL * prior[c]
    if total <= 1e-9:
        out[:] = 0.0
        return
    most = 0.0
    for c in range(counts.size):
        q = (expected[c] + VIRTUAL * prior[c]) / whole
        most += q * (1.0 - q)
    share = min(1.0, max(LEAST, doubt / (whole * most + 1e-12)))
    rows = 0.0
    for c in range(counts.size):
        q = (expected[c] + VIRTUAL * prior[c]) / whole
        out[c] = max(counts[c] - (1.0 - share) * expected[c], 0.0) + strength * q
        rows += out[c]
    for c in range(counts.size):
        q = (expected[c] + VIRTUAL * prior[c]) / whole
        out[c] = np.log(out[c] / (rows * q))


@jit
def left_out_surprises(counts, expected, doubt, prior, strength, out):
    """out[part, cell] from all other parts; out[parts, cell] from all. out is float32."""
    parts, cells, classes = counts.shape
    n, q, told = np.empty(classes), np.empty(classes), np.empty(classes)
    for cell in range(cells):
        for left in range(parts + 1):
            n[:], q[:], v = 0.0, 0.0, 0.0
            for part in range(parts):
                if part != left:
                    v += doubt[part, cell]
                    for c in range(classes):
                        n[c] += counts[part, cell, c]
                        q[c] += expected[part, cell, c]
            surprise(n, q, v, prior, strength, told)
            for c in range(classes):
                out[left, cell, c] = told[c]


@jit
def gains(counts, expected, doubt, prior, strengths, out):
    """What the log-likelihood of left-out rows would gain by a block, for each strength: in nats.

    To the second order in the block's weight, by the evidence that each part has from the others.
    """
    parts, cells, classes = counts.shape
    all_n, all_q = np.empty(classes), np.empty(classes)
    n, q, told = np.empty(classes), np.empty(classes), np.empty(classes)
    slope, bend = np.zeros(strengths.size), np.zeros(strengths.size)
    for cell in range(cells):
        all_n[:], all_q[:], all_v = 0.0, 0.0, 0.0
        for part in range(parts):
            all_v += doubt[part, cell]
            for c in range(classes):
                all_n[c] += counts[part, cell, c]
                all_q[c] += expected[part, cell, c]
        for part in range(parts):
            rows, most = 0.0, 0.0
            for c in range(classes):
                rows += expected[part, cell, c]
            if rows <= 0.0:
                continue
            for c in range(classes):
                n[c] = all_n[c] - counts[part, cell, c]
                q[c] = all_q[c] - expected[part, cell, c]
                p = expected[part, cell, c] / rows
                most += p * (1.0 - p)
            share = doubt[part, cell] / (rows * most + 1e-12)
            for s in range(strengths.size):
                surprise(n, q, all_v - doubt[part, cell], prior, strengths[s], told)
                square, mean = 0.0, 0.0
                for c in range(classes):
                    p = expected[part, cell, c]
                    slope[s] += (counts[part, cell, c] - p) * told[c]
                    square += p * told[c] * told[c]
                    mean += p * told[c]
                bend[s] += share * (square - mean * mean / rows)
    for s in range(strengths.size):
        out[s] = 0.0
        if slope[s] > 0.0 and bend[s] > 0.0:
            step = min(slope[s] / bend[s], STEEPEST)
            out[s] = step * slope[s] - 0.5 * step * step * bend[s]


@jit
def screen(codes, sizes, blocks, start, stop, parts, n_parts, y, weights, proba, unsure, prior,
           strengths, out):  # fmt: skip
    """`gains` of blocks start:stop, each three columns or fewer; out is (blocks, strengths)."""
    classes = proba.shape[1]
    for k in range(start, stop):
        size = 1
        for j in blocks[k]:
            if j >= 0:
                size *= sizes[j]
        counts = np.zeros((n_parts, size, classes))
        expected = np.zeros((n_parts, size, classes))
        doubt = np.zeros((n_parts, size))
        fill(
            codes, sizes, blocks[k], parts, y, weights, proba, unsure, counts, expected, doubt
        )  # fmt: skip
        gains(counts, expected, doubt, prior, strengths, out[k])


@jit
def add_evidence(codes, sizes, columns, table, weight, parts, rows, out):
    """Add weight times table[part, cell] of some entries to out, (rows, classes)."""
    for k in range(rows.size):
        i = rows[k]
        cell, part = cell_of(codes, sizes, columns, i), parts[i]
        for c in range(out.shape[1]):
            out[k, c] += weight * table[part, cell, c]


@jit
def add_scores(codes, sizes, columns, table, weight, out):
    """Add weight times a block's evidence (cells, classes) to scores of rows, (classes, rows)."""
    for i in range(out.shape[1]):
        cell = cell_of(codes, sizes, columns, i)
        for c in range(out.shape[0]):
            out[c, i] += weight * table[cell, c]
