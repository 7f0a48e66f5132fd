"""Definitions of the compiled kernels in plain Python, to compare them with.

A case draws the arguments of a call, and its definition does the same to them, number by number.
Products that are added are rounded once with the sum, as `fma` does.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from naively.kernels import native

f32 = np.float32
CASES = {}
"""By the name of a kernel: (draws the arguments of a call, the definition)."""


def case(draw):
    """Register a definition, of the same name as the kernel, with what draws arguments for it."""

    def register(define):
        CASES[define.__name__] = draw, define
        return define

    return register


def in_order(values):
    """Their sum, one after the other; from Python 3.12 on, `sum` corrects its rounding."""
    total = 0.0
    for value in values:
        total += value
    return total


# ---- numbers -------------------------------------------------------------------------------------

HOSTILE = np.array([0.0, -0.0, 1.0, -3.0, 0.1, 1e-30, 1e30, 2.0**52 + 1, -1 / 3, 5e-324, -1e200])


def numbers(rng, *shape):
    """Some of ordinary size, some that make sums round, cancel, or have a sign of zero."""
    found = rng.normal(size=shape) * 2.0 ** rng.integers(-40, 40, shape)
    return np.where(
        rng.random(shape) < rng.choice([0.0, 0.3, 1.0]), rng.choice(HOSTILE, shape), found
    )


def narrow(rng, *shape):
    """The same as float32."""
    return np.clip(numbers(rng, *shape), -1e30, 1e30).astype(f32)


def gaps(rng, X):
    """The same with some values missing, one time in two."""
    return np.where(rng.random(X.shape) < 0.1 * rng.integers(2), np.nan, X)


def laid_out(rng, X):
    """The same numbers in another order of memory, or with steps between them."""
    kind = rng.integers(3)
    if kind == 0:
        return np.ascontiguousarray(X)
    if kind == 1:
        return np.asfortranarray(X)
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def of_one(kernel, kind):
    """A function of one number by the kernel that `test_elementary.py` holds."""

    def compute(x):
        found = np.empty(1, kind)
        kernel(np.array([x], kind), found)
        return found[0] if kind is f32 else float(found[0])

    return compute


exp, log = of_one(native.exp_all, np.float64), of_one(native.log_all, np.float64)
expf, logf = of_one(native.expf_all, f32), of_one(native.logf_all, f32)


def fma(x, y, z):
    """x y + z, rounded once."""
    if not all(map(math.isfinite, (x, y, z))):
        return x * y + z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return x * y + z if z == 0 else 0.0
    try:
        found = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    return math.copysign(0.0, exact) if found == 0 else found


def divided(x, y):
    """x / y by IEEE 754."""
    with np.errstate(all="ignore"):
        return float(np.float64(x) / np.float64(y))


# ---- doubt ---------------------------------------------------------------------------------------


def raised(behind, doubt):
    if behind > 0:
        return behind + log(doubt + (1.0 - doubt) * exp(-behind))
    return log((1.0 - doubt) + doubt * exp(behind))


def _of_lengths(rng):
    n, classes = rng.integers(0, 9), rng.integers(1, 4)
    indptr = np.append(0, np.cumsum(rng.integers(0, 4, n)))
    scores = rng.normal(size=(classes, n)) * 50
    return scores, rng.random(indptr[-1]), indptr, int(rng.integers(0, 5)), rng.normal(size=classes)


@case(_of_lengths)
def let_fall(scores, data, indptr, quarters, bias):
    for i in range(scores.shape[1]):
        length = in_order(data[indptr[i] : indptr[i + 1]].tolist())
        falls, root = 1.0, math.sqrt(math.sqrt(length if length > 0 else 1.0))
        for _ in range(quarters):
            falls /= root
        for c in range(len(bias)):
            known = indptr[i] < indptr[i + 1]
            scores[c, i] = scores[c, i] * falls + bias[c] if known else 0.0


def _doubted(rng):
    classes, n = rng.integers(1, 5), rng.integers(0, 9)
    prior = np.append(np.log(rng.dirichlet(np.ones(classes))), -np.inf)
    return rng.normal(size=(classes + 1, n)) * 300, prior, float(rng.random())


@case(_doubted)
def doubt_scores(scores, log_prior, doubt):
    for i in range(scores.shape[1]):
        joint = [p + s for p, s in zip(log_prior.tolist(), scores[:, i].tolist(), strict=True)]
        most = max(joint)
        whole = most + log(in_order(exp(j - most) for j in joint))
        for c in range(len(joint)):
            scores[c, i] += raised(whole - scores[c, i], doubt)


def _doubted_odds(rng):
    labels, n = rng.integers(1, 5), rng.integers(0, 9)
    share = rng.random(labels)
    return rng.normal(size=(labels, n)) * 300, np.log(share), np.log(1 - share), float(rng.random())


@case(_doubted_odds)
def doubt_odds(odds, log_prior, log_rest, doubt):
    for c in range(len(log_prior)):
        for i in range(odds.shape[1]):
            own, rest = log_prior[c] + odds[c, i], log_rest[c]
            most = max(own, rest)
            whole = most + log(exp(own - most) + exp(rest - most))
            odds[c, i] += raised(whole - odds[c, i], doubt) - raised(whole, doubt)


# ---- evidence ------------------------------------------------------------------------------------


def _evidence(rng):
    cells, classes, n = rng.integers(1, 5), rng.integers(1, 4), rng.integers(0, 9)
    rows = rng.permutation(2 * n)[:n]
    return (
        rng.integers(cells, size=n).astype(np.uint32), narrow(rng, cells, 3, classes),
        f32(rng.normal()), rng.integers(3, size=2 * n), rows,
        laid_out(rng, narrow(rng, classes, n)),
    )  # fmt: skip


@case(_evidence)
def add_evidence(cells, table, weight, parts, rows, out):
    for k in range(len(rows)):
        out[:, k] += f32(weight) * table[cells[k], parts[rows[k]]]


def _all_evidence(rng):
    cells, classes, n = rng.integers(1, 5), rng.integers(1, 4), rng.integers(0, 9)
    table, out = narrow(rng, cells, 3, classes), narrow(rng, n, 3, classes)
    return rng.integers(cells, size=n).astype(np.uint32), table, f32(rng.normal()), out


@case(_all_evidence)
def add_all(cells, table, weight, out):
    out += f32(weight) * table[cells]


def _scores(rng):
    cells, classes, n = rng.integers(1, 5), rng.integers(1, 4), rng.integers(0, 9)
    at = rng.integers(cells, size=n).astype(np.uint32)
    table = laid_out(rng, numbers(rng, cells, classes))
    return at, table, float(rng.normal()), numbers(rng, classes, n)


@case(_scores)
def add_scores(cells, table, weight, out):
    out += weight * table[cells].T


def _cells(rng):
    n, parts, cells, classes = rng.integers(0, 30), 3, rng.integers(1, 5), rng.integers(1, 4)
    return (
        rng.integers(cells, size=n).astype(np.uint32), rng.integers(parts, size=n),
        rng.integers(classes, size=n), rng.random(n), rng.random((n, classes)), rng.random(n),
        np.zeros((parts, cells, classes)), np.zeros((parts, cells, classes)),
        np.zeros((parts, cells)),
    )  # fmt: skip


@case(_cells)
def fill_cells(cells, parts, y, weights, hoped, unsure, counts, expected, doubt):
    np.add.at(counts, (parts, cells, y), weights)
    np.add.at(expected, (parts, cells), hoped)
    np.add.at(doubt, (parts, cells), unsure)


def _numbers_of_cells(rng):
    n, cells, width = rng.integers(0, 30), rng.integers(1, 5), int(rng.integers(1, 6))
    at = rng.integers(cells, size=n).astype(np.uint32)
    return at, rng.normal(size=n * width).astype(f32), width, np.zeros(cells * width, f32)


@case(_numbers_of_cells)
def add_rows(cells, told, width, sums):
    np.add.at(sums.reshape(-1, width), cells, told.reshape(-1, width))


def shares(counts, expected, doubt, prior):
    """(what was met of each class beyond what the model is sure of, the shares expected)."""
    q = [e + 1e-6 * p for e, p in zip(expected, prior, strict=True)]
    whole = in_order(q)
    if in_order(counts) <= 1e-9:
        return None
    q = [one / whole for one in q]
    most = in_order(one * (1.0 - one) for one in q)
    share = min(1.0, max(0.02, doubt / (whole * most + 1e-12)))
    pairs = zip(counts, expected, strict=True)
    return [max(n - (1.0 - share) * e, 0.0) for n, e in pairs], q


def surprise(met, q, strength):
    smooth = [m + strength * p for m, p in zip(met, q, strict=True)]
    rows = in_order(smooth)
    return [log(s / (rows * p)) for s, p in zip(smooth, q, strict=True)]


def _known(rng):
    parts, cells, classes = 3, rng.integers(1, 5), rng.integers(2, 4)
    shape = parts, cells, classes
    counts = rng.integers(0, 4, shape) * (rng.random((parts, cells, 1)) < 0.7) * 1.0
    return (
        counts, rng.random(shape) * rng.integers(0, 2, shape),
        rng.random((cells, parts, classes)).astype(f32), rng.random((parts, cells)),
        rng.dirichlet(np.ones(classes)),
    )  # fmt: skip


def _to_surprise(rng):
    known = _known(rng)
    parts, cells, classes = known[0].shape
    return *known, float(rng.random() * 5), np.zeros((cells, parts + 1, classes), f32)


@case(_to_surprise)
def fill_surprises(counts, expected, others, doubt, prior, strength, out):
    parts, cells, classes = counts.shape
    for cell in range(cells):
        for left in range(parts + 1):
            n, q, v = np.zeros(classes), np.zeros(classes), 0.0
            for part in set(range(parts)) - {left}:
                n, q, v = n + counts[part, cell], q + expected[part, cell], v + doubt[part, cell]
            if left < parts:
                q = others[cell, left].astype(float)
            found = shares(n.tolist(), q.tolist(), v, prior.tolist())
            out[cell, left] = surprise(*found, strength) if found else 0.0


def _blocks(rng):
    columns, n = int(rng.integers(1, 4)), int(rng.integers(0, 60))
    sizes = rng.integers(1, 5, columns)
    codes = np.array([rng.integers(size, size=n) for size in sizes]).astype(np.uint16)
    return codes.reshape(columns, n), sizes, np.array([[0, -1], [0, columns - 1]]), n


def _to_rank(rng):
    *blocks, n = _blocks(rng)
    classes = int(rng.integers(2, 4))
    return (
        *blocks, rng.random(n * 2 * classes).astype(f32), classes,
        2.0, np.empty(n, np.uint32), np.empty(16 * 2 * classes, f32), np.empty(2),
    )  # fmt: skip


def each_block(codes, sizes, blocks, cells):
    """(number, cells) of each block, with the cell of each entry in `cells`."""
    for k, block in enumerate(blocks.tolist()):
        size = 1
        cells[:] = 0
        for j in block:
            if j >= 0:
                size *= int(sizes[j])
                cells[:] = cells * np.uint32(sizes[j]) + codes[j]
        yield k, size


def fill_slopes(counts, expected, others, doubt, prior, strengths, slope, bend):
    parts, cells, _ = counts.shape
    for cell, part in np.ndindex(cells, parts):
        own, rows = expected[part, cell].tolist(), in_order(expected[part, cell].tolist())
        n, v = 0.0, 0.0
        for k in range(parts):
            n, v = n + counts[k, cell], v + doubt[k, cell]
        n, q = n - counts[part, cell], others[cell, part].astype(float)
        found = shares(n.tolist(), q.tolist(), v - doubt[part, cell], prior.tolist())
        if rows <= 0.0 or not found:
            continue
        most = in_order(p / rows * (1.0 - p / rows) for p in own)
        share = doubt[part, cell] / (rows * most + 1e-12)
        for s, strength in enumerate(strengths.tolist()):
            scale = 1.0 / (in_order(found[0]) + strength)
            told = [
                float(logf(f32((m / p + strength) * scale))) for m, p in zip(*found, strict=True)
            ]
            for c, (p, t) in enumerate(zip(own, told, strict=True)):
                slope[s] += (counts[part, cell, c] - p) * t
            square = in_order(p * t * t for p, t in zip(own, told, strict=True))
            mean = in_order(p * t for p, t in zip(own, told, strict=True))
            bend[s] += share * (square - mean * mean / rows)


def _to_slope(rng):
    *blocks, n = _blocks(rng)
    parts, classes, repeats = 3, int(rng.integers(2, 4)), int(rng.integers(1, 3))
    cells = 16 * repeats * parts
    return (
        *blocks, rng.integers(repeats, size=n), repeats, rng.integers(parts, size=n),
        rng.integers(classes, size=n), rng.integers(0, 4, n) * 1.0, rng.random((n, classes)),
        rng.random(n), rng.random((n * int(rng.integers(2)), parts, classes)).astype(f32),
        rng.dirichlet(np.ones(classes)), np.array([0.5, 2.0, 8.0]), np.zeros(n, np.uint32),
        np.zeros(cells * (2 * classes + 1)), np.zeros(cells * classes, f32),
        *np.zeros((2, 2, 3)),
    )  # fmt: skip


@case(_to_slope)
def slopes_of(
    codes, sizes, blocks, repeat, repeats, parts, y, weights, hoped, unsure, others, prior,
    strengths, cells, sums, beside, slope, bend,
):  # fmt: skip
    _, n_parts, classes = others.shape
    for k, size in each_block(codes, sizes, blocks, cells):
        cells += (repeat * size).astype(np.uint32)
        size *= repeats
        counts, expected = np.zeros((2, n_parts, size, classes))
        doubt, without = np.zeros((n_parts, size)), np.zeros((size, n_parts, classes), f32)
        fill_cells(cells, parts, y, weights, hoped, unsure, counts, expected, doubt)
        if len(others):
            add_rows(cells, others.reshape(-1), n_parts * classes, without)
        else:
            without[:] = (expected.sum(axis=0) - expected).transpose(1, 0, 2)
        fill_slopes(counts, expected, without, doubt, prior, strengths, slope[k], bend[k])
        for array, of_cells in (
            (sums, (counts, expected, doubt[..., np.newaxis])),
            (beside, (without,)),
        ):
            of_block = np.concatenate(of_cells, axis=-1).ravel()
            array[: of_block.size] = of_block


@case(_to_rank)
def rough_gains(codes, sizes, blocks, told, classes, strength, cells, sums, out):
    for k, size in each_block(codes, sizes, blocks, cells):
        table = sums[: size * 2 * classes]
        table[:] = 0.0
        add_rows(cells, told, 2 * classes, table)
        total = 0.0
        for rows, *row in table.reshape(size, -1).astype(float).tolist():
            expected, others = row[: classes - 1], row[classes - 1 : -1]
            if rows <= 0.0:
                continue
            first, part, most, beyond = rows, 1.0 / rows, 0.0, 0.0
            for q, own in zip(expected, others, strict=True):
                first, most, beyond = first - q, most + q * (1.0 - q * part), beyond + own
            first = max(first, 0.0)
            most += first * (1.0 - first * part)
            share = min(1.0, max(0.02, row[-1] / (most + 1e-12)))
            for q, own in zip([first, *expected], [beyond, *others], strict=True):
                chance = share * q * (1.0 - q * part)
                total += 0.5 * (own * own - chance) / (q * (share + strength * part) + 0.5)
        out[k] = total


def _entries(rng):
    n, parts, classes = int(rng.integers(0, 9)), 3, int(rng.integers(2, 4))
    scores = laid_out(rng, (rng.normal(size=(classes - 1, n)) * 9).astype(f32))
    moved = rng.normal(size=(n, parts + 1, classes - 1)).astype(f32)
    return (
        scores, moved, rng.integers(parts, size=n), rng.random(n), np.empty((n, classes)),
        np.zeros((n, parts, classes), f32),
    )  # fmt: skip


@case(_entries)
def expected_of(scores, moved, parts, weights, proba, others):
    for i, part in enumerate(parts.tolist()):
        own = [0.0, *scores[:, i].astype(float).tolist()]
        most = max(own)
        terms = [exp(score - most) for score in own]
        whole = in_order(terms)
        proba[i] = [term / whole for term in terms]
        for p in range(others.shape[1]):
            if p == part:
                others[i, p] = 0.0
                continue
            beside = [f32(0), *(scores[:, i] + (moved[i, p] - moved[i, -1]))]
            top = max(beside)
            terms = [expf(score - top) for score in beside]
            total = f32(0)
            for term in terms:
                total += term
            share = f32(weights[i]) / total
            others[i, p] = [term * share for term in terms]


def _scored(rng):
    weights, classes, n = 2, int(rng.integers(1, 4)), int(rng.integers(0, 9))
    shape = weights, classes, n
    return (
        (rng.normal(size=shape) * 9).astype(f32), rng.normal(size=shape[1:]).astype(f32),
        rng.normal(size=shape[:2]).astype(f32), rng.integers(classes + 1, size=n),
        np.empty((weights, n), f32),
    )  # fmt: skip


@case(_scored)
def expect(scores, base, bias, y, losses):
    for v, i in np.ndindex(losses.shape):
        own = [f32(score) for score in scores[v, :, i] + (base[:, i] + bias[v])]
        most = max([f32(0), *own])
        hit = own[y[i] - 1] if y[i] else f32(0)
        whole = expf(-most)
        terms = [expf(score - most) for score in own]
        for term in terms:
            whole += term
        scores[v, :, i] = [term * (f32(1) / whole) for term in terms]
        losses[v, i] = logf(whole) + most - hit


# ---- trees ---------------------------------------------------------------------------------------


def _trees(rng):
    n, columns, classes = int(rng.integers(0, 60)), int(rng.integers(0, 4)), int(rng.integers(1, 4))
    sizes = rng.integers(1, 7, columns)
    codes = np.array([rng.integers(0, size, n) for size in sizes], np.uint16).reshape(columns, n)
    weights = rng.choice([0.0, 1.0, 2.0, 0.3], n)
    nodes = np.full((2 * int(rng.integers(1, 9)) - 1, 4), -7)
    return (
        codes, sizes, rng.integers(0, 2, columns), rng.integers(classes, size=n), weights, classes,
        float(rng.choice([0.0, 2.0])), float(rng.choice([0.0, 0.5])), nodes,
    )  # fmt: skip


@case(_trees)
def grow_tree(codes, sizes, ordered, y, weights, classes, fewest, least, nodes):
    def total(counts):
        return sum(counts, 0.0)

    def times_log(x):
        return x * log(x) if x > 0.0 else 0.0

    def log_likelihood(counts):
        return total(map(times_log, counts)) - times_log(total(counts))

    def best_cut(rows):
        tables = [np.zeros((size, classes)) for size in sizes.tolist()]
        counts = np.zeros(classes)
        for i in rows:
            counts[y[i]] += weights[i]
            for table, own in zip(tables, codes, strict=True):
                table[own[i], y[i]] += weights[i]
        counts, best = counts.tolist(), (least, -1, 0, 0)
        found = log_likelihood(counts)

        def consider(some, *cut):
            nonlocal best
            own = total(some)
            if own < fewest or total(counts) - own < fewest:
                return
            others = [a - b for a, b in zip(counts, some, strict=True)]
            gain = log_likelihood(some) + log_likelihood(others) - found
            if gain > best[0] + 1e-9:
                best = gain, *cut

        if sum(count > 0 for count in counts) < 2 or total(counts) < 2 * fewest:
            return best
        for j, table in enumerate(tables):
            last = len(table) - 1
            if not ordered[j]:
                for b in range(last + 1):
                    consider(table[b].tolist(), j, b, b)
                continue
            some = np.zeros(classes)
            for b in range(last):
                if total(table[b].tolist()) > 0:
                    some += table[b]
                    consider(some.tolist(), j, 0, b)
            some = np.zeros(classes)
            for b in range(last - 1, 0, -1) if total(table[last].tolist()) > 0 else ():
                if total(table[b].tolist()) > 0:
                    some += table[b]
                    consider(some.tolist(), j, b, last - 1)
        return best

    leaves = {0: [i for i in range(len(y)) if weights[i] > 0]}
    cuts = {0: best_cut(leaves[0])}
    nodes[0], count = -1, 1
    while count + 2 <= len(nodes):
        gains = [(cuts[k][0], -k) for k in cuts if cuts[k][1] >= 0]
        if not gains:
            break
        chosen = -max(gains)[1]
        _, column, first, last = cuts.pop(chosen)
        nodes[chosen] = column, first, last, count
        inside = {i: first <= codes[column, i] <= last for i in leaves[chosen]}
        for k, side in ((count, True), (count + 1, False)):
            leaves[k] = [i for i in leaves[chosen] if inside[i] == side]
            cuts[k], nodes[k] = best_cut(leaves[k]), -1
        count += 2
    return count


def _grown(rng):
    codes, *others, nodes = _trees(rng)
    count = grow_tree(codes, *others, nodes)
    nodes = nodes[:count].copy()
    roots = np.append(rng.integers(count, size=int(rng.integers(0, 3))), 0)
    return codes, nodes, roots, np.empty((len(roots), codes.shape[1]), np.uint32)


@case(_grown)
def leaves_of(codes, nodes, roots, leaves):
    for t, root in enumerate(roots.tolist()):
        for i in range(leaves.shape[1]):
            k = root
            while nodes[k, 0] >= 0:
                column, first, last, child = nodes[k].tolist()
                k = child + (not first <= codes[column, i] <= last)
            leaves[t, i] = k


# ---- scores of rows ------------------------------------------------------------------------------


def _dense(rng):
    n, d, classes = int(rng.integers(1, 40)), int(rng.integers(1, 20)), int(rng.integers(1, 5))
    X = laid_out(rng, gaps(rng, numbers(rng, n, d)))
    start = int(rng.integers(n))
    return X, start, n, classes


def _normal(rng):
    X, start, stop, classes = _dense(rng)
    d = X.shape[1]
    mean, scale = numbers(rng, classes, d), np.abs(numbers(rng, classes, d))
    norm = rng.normal(size=(classes, d))
    return (
        X, start, stop, mean, scale, norm.sum(axis=1), norm, np.zeros((classes, stop - start)),
    )  # fmt: skip


@case(_normal)
def gaussian_dense(X, start, stop, mean, scale, base, norm, out):
    old = np.seterr(all="ignore")
    for i in range(start, stop):
        x = X[i].tolist()
        for c in range(len(out)):
            score = float(base[c])
            if any(map(math.isnan, x)):
                score = 0.0
                for f, value in enumerate(x):
                    if not math.isnan(value):
                        h = scale[c, f]
                        z = float((np.float64(value) - mean[c, f]) * h) if h > 0 else 0.0
                        score += float(norm[c, f] - np.float64(z) * z)
            else:
                for f, value in enumerate(x):
                    z = float((np.float64(value) - mean[c, f]) * scale[c, f])
                    score = fma(-z, z, score)
            out[c, i - start] = score
        if not (out[:, i - start] > -np.inf).any():
            out[:, i - start] = nearest(x, mean, scale)
    np.seterr(**old)
    return -1


def nearest(x, mean, scale):
    """The lowest number for the class whose distance has the least logarithm, -inf for others."""
    found = []
    for c in range(len(mean)):
        top, total = -math.inf, 0.0
        for f, value in enumerate(x):
            half = abs(value / 2 - mean[c, f] / 2)
            if math.isnan(value) or value == mean[c, f] or half == 0.0 or scale[c, f] == 0.0:
                continue
            distance = log(half) + log(scale[c, f])
            if distance > top:
                total *= exp(2.0 * (top - distance))
                top = distance
            total += exp(2.0 * (distance - top))
        found.append(top + 0.5 * log(total) if total > 0.0 else -math.inf)
    return [-np.finfo(float).max if one == min(found) else -np.inf for one in found]


def _lines(rng):
    X, start, stop, classes = _dense(rng)
    shape = classes, X.shape[1]
    threshold = float(rng.choice([np.nan, 0.0, 0.5]))
    return (
        X, start, stop, numbers(rng, *shape), rng.normal(size=shape), rng.normal(size=classes),
        threshold, np.zeros((classes, stop - start)),
    )  # fmt: skip


@case(_lines)
def linear_dense(X, start, stop, weight, zero, base, threshold, out):
    for i in range(start, stop):
        x = X[i].tolist()
        for c in range(len(out)):
            score = float(base[c])
            for f, value in enumerate(x):
                if not math.isnan(value) and not math.isnan(threshold):
                    value = 1.0 if value > threshold else 0.0
                if any(map(math.isnan, x)):
                    score += -zero[c, f] if math.isnan(value) else value * weight[c, f]
                else:
                    score = fma(value, float(weight[c, f]), score)
            out[c, i - start] = score
    return -1


def _projected(rng):
    X, start, stop, classes = _dense(rng)
    X, d = np.nan_to_num(X), X.shape[1]
    weight = np.zeros((-(-classes // 8) * 8, d))
    weight[:classes] = rng.normal(size=(classes, d))
    packed = np.ascontiguousarray(weight.reshape(-1, 8, d).transpose(0, 2, 1))
    centre, bias = rng.normal(size=d), rng.normal(size=classes)
    return X, start, stop, centre, packed.reshape(-1), bias, np.zeros((classes, stop - start))


@case(_projected)
def projections(X, start, stop, centre, packed, bias, out):
    d = X.shape[1]
    weight = packed.reshape(-1, d, 8).transpose(0, 2, 1).reshape(-1, d)
    for c, i in np.ndindex(out.shape):
        total = 0.0
        for f in range(d):
            total = fma(float(weight[c, f]), float(X[start + i, f] - centre[f]), total)
        out[c, i] = (0.0 + total) + bias[c]


def _distant(rng):
    X, start, stop, classes = _dense(rng)
    X, d = np.nan_to_num(X), X.shape[1]
    bands = []
    for _ in range(classes):
        A, own = np.tril(rng.normal(size=(d, d))), []
        for first in range(0, d, 8):
            columns = min(d, first + 8)
            band = np.zeros((8, columns))
            band[: columns - first] = A[first:columns, :columns]
            own.append(band.T.ravel())
        bands.append(np.concatenate(own))
    mean = laid_out(rng, rng.normal(size=(classes, d)))
    return X, start, stop, mean, np.array(bands), 0, d, np.zeros((classes, stop - start))


@case(_distant)
def add_distances(X, start, stop, mean, packed, first, last, out):
    d = X.shape[1]
    for c, i in np.ndindex(out.shape):
        total, at = float(out[c, i]), 0
        x = (X[start + i] - mean[c]).tolist()
        for begin in range(0, d, 8):
            columns = min(d, begin + 8)
            A = packed[c, at : at + 8 * columns].reshape(columns, 8).tolist()
            at += 8 * columns
            for k in range(8):
                z = 0.0
                for f in range(columns):
                    z = fma(A[f][k], x[f], z)
                total = fma(z, z, total)
        out[c, i] = total


def _joint(rng):
    joint = rng.choice([0.0, -0.0, 1.0, -np.inf, np.nan], (rng.integers(1, 4), rng.integers(0, 9)))
    return joint, 7, np.empty(joint.shape[1], np.int64)


@case(_joint)
def best_class(joint, otherwise, out):
    none = 0
    for i in range(len(out)):
        top, out[i] = -np.inf, otherwise
        for c in range(len(joint)):
            if joint[c, i] > top:
                top, out[i] = joint[c, i], c
        none += bool(top == -np.inf)
    return none


def _rows_of(rng, n, d):
    """Indices and ends of CSR rows, of one of the types that these have."""
    lengths = rng.integers(0, d + 1, n)
    columns = [rng.permutation(d)[:length] for length in lengths]
    kinds = rng.choice([np.int32, np.int64], 2)
    indices = np.concatenate([[], *columns]).astype(kinds[0])
    return indices, np.append(0, np.cumsum(lengths)).astype(kinds[1])


def _sparse_lines(rng):
    n, d, classes = int(rng.integers(1, 9)), int(rng.integers(1, 9)), int(rng.integers(1, 40))
    indices, indptr = _rows_of(rng, n, d)
    width = -(-classes // 8) * 8
    data = gaps(rng, numbers(rng, len(indices)))
    zero = rng.normal(size=d * width) if rng.integers(2) else np.empty(0)
    return (
        data, indices, indptr, 0, n, rng.normal(size=d * width), zero, width,
        rng.normal(size=width), float(rng.choice([np.nan, 0.5])), np.zeros((classes, n)),
    )  # fmt: skip


@case(_sparse_lines)
def linear_sparse(data, indices, indptr, start, stop, weight, zero, width, base, threshold, out):
    for c, i in np.ndindex(out.shape):
        score, own = float(base[c]), range(indptr[i], indptr[i + 1])
        odd = np.isnan(data[own.start : own.stop]).any()
        for p in own:
            x, at = float(data[p]), indices[p] * width + c
            if not math.isnan(x) and not math.isnan(threshold):
                x = 1.0 if x > threshold else 0.0
            if odd:
                term = -(zero[at] if len(zero) else 0.0)
                score += term if math.isnan(x) else x * weight[at]
            else:
                score = fma(x, float(weight[at]), score)
        out[c, i] = score
    return -1


def _sparse_normal(rng):
    n, d, classes = int(rng.integers(1, 9)), int(rng.integers(1, 9)), int(rng.integers(1, 5))
    indices, indptr = _rows_of(rng, n, d)
    data = gaps(rng, rng.normal(size=len(indices)))
    mean, norm = rng.normal(size=(2, d, classes))
    scale, zero = np.abs(rng.normal(size=(2, d, classes)))
    base, rest = rng.normal(size=(2, classes))
    return (
        data, indices, indptr, 0, n, mean, scale * rng.integers(0, 2, scale.shape), norm, zero,
        base, rest * 1e-16, np.zeros((classes, n)),
    )  # fmt: skip


@case(_sparse_normal)
def gaussian_sparse(data, indices, indptr, start, stop, mean, scale, norm, zero, base, rest, out):
    for c, i in np.ndindex(out.shape):
        score, error = float(base[c]), float(rest[c])
        for p in range(indptr[i], indptr[i + 1]):
            x, f = float(data[p]), indices[p]
            terms = [-zero[f, c]]
            if not math.isnan(x):
                z = (x - mean[f, c]) * scale[f, c] if scale[f, c] > 0 else 0.0
                terms.append(max(norm[f, c] - z * z, -1e300))
            for term in terms:
                total = score + term
                big, small = (score, term) if abs(score) >= abs(term) else (term, score)
                error += (big - total) + small
                score = total
        out[c, i] = score + error
    return -1


# ---- counts --------------------------------------------------------------------------------------


def _levels(rng):
    n, sizes, classes = int(rng.integers(1, 9)), rng.integers(1, 5, rng.integers(1, 4)), 3
    offsets = np.append(0, np.cumsum(sizes))
    X = rng.integers(0, 3 + rng.integers(3), (n, len(sizes))).astype(rng.choice(["f4", "f8", "i4"]))
    if X.dtype.kind == "f":
        X[rng.random(X.shape) < 0.2] = rng.choice([np.nan, -1.0, 0.5, 1e30])
    return laid_out(rng, X), rng.integers(classes, size=n), offsets, classes


def level(x):
    """The code of a value: -1 if it is missing, -2 if it is none."""
    if math.isnan(x):
        return -1
    return int(x) if 0 <= x < 2**53 and x == math.floor(x) else -2


def _to_count(rng):
    X, codes, offsets, classes = _levels(rng)
    missing = np.zeros(classes * X.shape[1], np.int64)
    return (
        X, codes, 0, len(X), offsets, np.zeros(classes * offsets[-1], np.int64), missing,
        np.zeros(2, np.int64),
    )  # fmt: skip


@case(_to_count)
def count_levels(X, codes, start, stop, offsets, counts, missing, report):
    for i in range(start, stop):
        row = [level(float(x)) for x in X[i]]
        for j, k in enumerate(row):
            if k == -2 or k >= offsets[j + 1] - offsets[j]:
                report[:] = j, k
                return (1 if k >= 0 else 2), i
        for j, k in enumerate(row):
            if k == -1:
                missing[codes[i] * X.shape[1] + j] += 1
            else:
                counts[codes[i] * offsets[-1] + offsets[j] + k] += 1
    return 0, stop


def _to_encode(rng):
    X, _, offsets, _ = _levels(rng)
    lookup = rng.permutation(int(offsets[-1]))
    return X, 0, len(X), offsets, lookup, int(offsets[-1]), np.zeros(X.shape, np.int64)


@case(_to_encode)
def encode(X, start, stop, offsets, lookup, beyond, out):
    for i in range(start, stop):
        for j, k in enumerate(level(float(x)) for x in X[i]):
            if k == -2:
                return i, j
            known = 0 <= k < offsets[j + 1] - offsets[j]
            unknown = beyond + (j if k >= 0 else X.shape[1])
            out[i - start, j] = lookup[offsets[j] + k] if known else unknown
    return -1, -1


def _to_score(rng):
    X, start, stop, offsets, lookup, beyond, _ = _to_encode(rng)
    width, classes = 16, int(rng.integers(1, 17))
    table = numbers(rng, (beyond + X.shape[1] + 1) * width)
    return X, start, stop, offsets, lookup, beyond, table, width, np.zeros((classes, len(X)))


@case(_to_score)
def score_levels(X, start, stop, offsets, lookup, beyond, table, width, out):
    for i in range(start, stop):
        rows = np.zeros((1, X.shape[1]), np.int64)
        row, column = encode(X, i, i + 1, offsets, lookup, beyond, rows)
        if row >= 0:
            return row, column
        total = np.zeros(width)
        for k in rows[0]:
            total += table[k * width : (k + 1) * width]
        out[:, i - start] = total[: len(out)]
    return -1, -1


def _codes(rng):
    n, classes = int(rng.integers(0, 30)), int(rng.integers(1, 5))
    return rng.integers(classes, size=n), np.empty(n, np.int64), np.empty(classes + 1, np.int64)


@case(_codes)
def sort_rows(codes, order, ends):
    order[:] = np.argsort(codes, kind="stable")
    ends[:] = [0, *np.cumsum(np.bincount(codes, minlength=len(ends) - 1))]


def _labels(rng):
    return (rng.integers(-5, 90, rng.integers(1, 30)).astype(rng.choice(["i1", "i4", "i8"])),)


@case(_labels)
def integer_range(y):
    return int(y.min()), int(y.max())


def _labels_to_code(rng):
    (y,) = _labels(rng)
    low, high = int(y.min()), int(y.max())
    return y, low, np.zeros(high - low + 1, np.int64), np.empty(len(y), np.int64)


@case(_labels_to_code)
def integer_codes(y, low, present, codes):
    present[y.astype(int) - low] = 1
    codes[:] = np.unique(y, return_inverse=True)[1]


def _to_cut(rng):
    n = int(rng.integers(0, 40))
    return rng.integers(1, 9, n) * 0.5, int(rng.integers(1, 9)), np.empty(n, np.int64)


@case(_to_cut)
def equal_bins(weights, most, bins):
    ends = weights.cumsum()
    middles, before = ends - weights / 2, 0.0
    bins[:] = 0
    for left in range(most, 1, -1):
        share = (ends[-1:].sum() - before) / left
        first = int(middles.searchsorted(before + share, side="right"))
        first = max(first, int(ends.searchsorted(before, side="right")) + 1)
        if first >= len(weights):
            break
        before = float(ends[first - 1])
        bins[first:] += 1


def _smooth_shares(rng):
    n, bins, classes = rng.integers(0, 4), rng.integers(1, 9), rng.integers(1, 5)
    counts = rng.choice([0.0, 0.5, 1.0, 3.0, 1e9], (n, bins, classes))
    priors = rng.dirichlet(np.ones(classes), n)
    return (
        counts,
        priors,
        4.0 ** rng.integers(0, 9, rng.integers(1, 4)),
        0.1,
        np.zeros(counts.shape),
    )


@case(_smooth_shares)
def smooth_shares(counts, priors, links, added, shares):
    for n, prior, out in zip(counts, priors, shares, strict=True):
        own = n + added * prior
        tables, likelihoods = [], []
        for link in links:
            left, right = borrowed(own, link), borrowed(own[::-1], link)[::-1]
            rows = own + left + right
            likelihood = 0.0
            for k, c in np.argwhere(n):
                one = min(n[k, c], 1.0)
                share = (rows[k, c] - one) / (in_order(rows[k]) - one)
                likelihood += n[k, c] * log(max(share, 1e-300))
            tables.append(rows)
            likelihoods.append(likelihood)
        weights = [exp(own - max(likelihoods)) for own in likelihoods]
        means = [
            w * rows / np.array([[in_order(r)] for r in rows])
            for w, rows in zip(weights, tables, strict=True)
        ]
        out[:] = sum(means) / in_order(weights)


def borrowed(own, link):
    """What each bin borrows from those before it."""
    rows = [np.zeros(own.shape[1])]
    for before in own[:-1]:
        lent = before + rows[-1]
        rows.append(lent * (link / (link + in_order(lent))))
    return np.array(rows)


def _sparse_counts(rng):
    n, d, classes = int(rng.integers(1, 9)), int(rng.integers(1, 9)), 3
    indices, indptr = _rows_of(rng, n, d)
    data = rng.integers(0, 9, len(indices)).astype(rng.choice(["f4", "f8", "i8", "u1"]))
    if data.dtype.kind == "f" and len(data) and rng.integers(2):
        data[-1] = rng.choice([np.nan, -1.0, 0.5, 2.0**31, np.inf])
    weights = np.empty(0) if rng.integers(2) else rng.integers(0, 4, n).astype(float)
    if len(weights) and not rng.integers(4):
        weights[-1] = rng.choice([0.5, -1.0, 2.0**30, 2.0**31])
    return (
        data, indices, indptr, rng.integers(classes, size=n), weights, rng.permutation(n),
        float(rng.choice([np.nan, 0.5])), np.zeros((classes, d), np.int64),
    )  # fmt: skip


@case(_sparse_counts)
def sparse_counts(data, indices, indptr, codes, weights, rows, threshold, counts):
    def are_counts(x):
        return ((x >= 0) & (x < 2**31) & (x == np.floor(x))).all()

    for i in rows:
        own = slice(indptr[i], indptr[i + 1])
        x = data[own].astype(float)
        w = weights[i] if len(weights) else 1.0
        if not are_counts(w):
            return False
        if math.isnan(threshold):
            if not (are_counts(x) and are_counts(x * w)):
                return False
        elif not np.isfinite(x).all():
            return False
        x = x if math.isnan(threshold) else x > threshold
        np.add.at(counts[codes[i]], indices[own], (x * w).astype(np.int64))
    return True


def _duplicated(rng):
    d = int(rng.integers(1, 9))
    lengths = rng.integers(0, 4, rng.integers(0, 5))
    indices = rng.integers(d, size=lengths.sum()).astype(np.int32)
    return indices, np.append(0, np.cumsum(lengths)), np.zeros(d, np.int64)


@case(_duplicated)
def has_duplicates(indices, indptr, last):
    for i in range(len(indptr) - 1):
        for column in indices[indptr[i] : indptr[i + 1]]:
            if last[column] == i + 1:
                return True
            last[column] = i + 1
    return False


def mixed(value):
    """A hash of the bits of a number: one step of SplitMix64."""
    state = (int(np.float64(value).view(np.uint64)) + 0x9E3779B97F4A7C15) % 2**64
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ state >> 27) * 0x94D049BB133111EB % 2**64
    return state ^ state >> 31


def _column(rng):
    n, limit, classes = int(rng.integers(0, 60)), int(rng.integers(1, 20)), int(rng.integers(1, 4))
    x = rng.choice([-3.0, 0.0, 0.1, np.nan, np.inf, *range(int(rng.integers(1, 60)))], n)
    size = 2 ** math.ceil(math.log2(2 * limit))
    return (
        x, rng.integers(0, classes, n), np.zeros(limit), np.zeros((limit, classes), np.int64),
        np.zeros(classes, np.int64), np.full(size, -1, np.int32), np.zeros(5, np.int64),
    )  # fmt: skip


@case(_column)
def tabulate(x, codes, keys, counts, missing, slots, report):
    there = x[~np.isnan(x)]
    distinct = list(dict.fromkeys(there.tolist()))
    shift = next(
        z for z in range(65) if sum(mixed(v) >> (64 - z) == 0 for v in distinct) <= len(keys)
    )
    kept = [value for value in distinct if mixed(value) >> (64 - shift) == 0]
    keys[: len(kept)] = kept
    for value, code in zip(x.tolist(), codes.tolist(), strict=True):
        if math.isnan(value):
            missing[code] += 1
        elif value in kept:
            counts[kept.index(value), code] += 1
    report[:] = len(there), sum(there != np.floor(there)), sum(there < 0), len(kept), shift


# ---- terms ---------------------------------------------------------------------------------------


def _documents_of_terms(rng):
    n, below = int(rng.integers(0, 6)), int(rng.choice([3, 40, 5000]))
    lengths = rng.integers(0, rng.choice([5, 700]), n)
    ids = rng.integers(below, size=lengths.sum()).astype(np.int32)
    return ids, np.append(0, np.cumsum(lengths)), below, np.zeros(len(ids))


@case(_documents_of_terms)
def distinct(ids, indptr, below, counts):
    found = [np.unique(ids[a:b], return_counts=True) for a, b in pairwise(indptr)]
    kept = sum(len(own) for own, _ in found)
    ids[:kept] = np.concatenate([[], *(own for own, _ in found)])
    counts[:kept] = np.concatenate([[], *(many for _, many in found)])
    indptr[1:] = np.cumsum([len(own) for own, _ in found])
    return kept


def tabulated(keys, counts, missing, report):
    return [keys[: report[3]], counts, missing, report]


REST = {
    "distinct": lambda found, arguments: [arguments[0][:found], arguments[3][:found]],
    "tabulate": lambda found, arguments: tabulated(*arguments[2:5], arguments[6]),
}
"""Of kernels that leave something behind what they found: what counts of their arguments."""


def _values_of_rows(rng):
    lengths = rng.integers(0, rng.choice([5, 900]), rng.integers(0, 5))
    return rng.random(lengths.sum()), np.append(0, np.cumsum(lengths)), bool(rng.integers(2))


@case(_values_of_rows)
def normalise_rows(values, indptr, squares):
    for a, b in pairwise(indptr):
        ordered = sorted(values[a:b].tolist())
        total = in_order((x * x for x in ordered) if squares else ordered)
        total = math.sqrt(total) if squares else total
        if total > 0.0:
            values[a:b] /= total


def _bytes_of(rng):
    lengths = rng.integers(0, 20, rng.integers(0, 6))
    offsets = np.append(0, np.cumsum(lengths))
    return rng.integers(256, size=offsets[-1]).astype(np.uint8), offsets


def _documents(rng):
    data, offsets = _bytes_of(rng)
    return data, offsets, np.empty(len(offsets) - 1, np.uint64)


P0, P1, ALL = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, (1 << 64) - 1


def folded(x, y):
    product = (x & ALL) * (y & ALL)
    return (product ^ product >> 64) & ALL


@case(_documents)
def hash_documents(data, offsets, out):
    for i in range(len(out)):
        text = data[offsets[i] : offsets[i + 1]].tobytes()
        key, whole = len(text) * P1 & ALL, len(text) // 8 * 8
        for k in range(0, whole, 8):
            key = folded(key ^ int.from_bytes(text[k : k + 8], "little"), P0)
        rest = int.from_bytes(text[whole:], "little")
        out[i] = folded(folded(key ^ rest, P0) ^ P1, P0)


def _pieces(rng):
    data, offsets = _bytes_of(rng)
    numbers = rng.permutation(len(offsets) - 1)
    lengths, at = np.diff(offsets), int(rng.integers(0, 20))
    return data, offsets[:-1].copy(), lengths, numbers, at, np.empty(len(numbers), np.uint64)


@case(_pieces)
def term_pieces(arena, starts, lengths, numbers, at, out):
    for k, t in enumerate(numbers):
        term = arena[starts[t] : starts[t] + lengths[t]].tobytes()
        out[k] = int.from_bytes(term[at : at + 8].ljust(8, b"\0"), "big")


def _counted(rng):
    kind, classes, wide = rng.choice(["i4", "i8"]), int(rng.integers(1, 4)), int(rng.integers(1, 9))
    size = int(rng.integers(0, wide + 1))
    more = rng.integers(0, 3, classes * (size + 2)).astype(kind)
    places = rng.permutation(wide)[:size].astype(np.int32)
    return rng.integers(0, 9, classes * wide).astype(kind), more, classes, places


@case(_counted)
def add_counts(table, more, classes, places):
    table.reshape(classes, -1)[:, places] += more.reshape(classes, -1)[:, : len(places)]


# ---- terms of documents that were not counted ----------------------------------------------------


def _told(rng):
    n, terms, classes = int(rng.integers(1, 6)), int(rng.integers(1, 8)), int(rng.integers(1, 4))
    indices, indptr = _rows_of(rng, n, terms)
    indices, indptr = indices.astype(np.int32), indptr.astype(np.int32)
    values = rng.integers(1, 3, len(indices)) * 1.0
    weights = rng.integers(0, 2, (n, classes)) * 1.0
    counts = rng.integers(0, 5, (terms, classes)) * 1.0
    return n, terms, classes, indptr, indices, values, weights, counts


DOUBTS = np.array([0.5, 4.0])


def part_of(count, doubt, share):
    a = count + doubt * share
    return a * (log(a) - log(share)) if a > 0 and share > 0 else 0.0


def sums_of(counts, share):
    found = []
    for doubt in DOUBTS.tolist():
        met = [(n, p) for n, p in zip(counts, share, strict=True) if n > 0]
        known, total = (
            in_order(p for _, p in met),
            in_order(part_of(n, doubt, p) for n, p in met),
        )
        found.append(total + max(1.0 - known, 0.0) * doubt * log(doubt))
    return found


def aspects_of(sums, n, log_whole):
    pairs = zip(sums, DOUBTS.tolist(), strict=True)
    return [1.0, log_whole - log(n), *(s / (n + d) - log(n + d) for s, d in pairs)]


def _all_sums(rng):
    *_, counts = _told(rng)
    return counts, counts.sum(axis=0) + 1.0, DOUBTS, np.empty((len(counts), 2))


@case(_all_sums)
def all_sums(counts, of_class, doubts, out):
    whole = in_order(of_class.tolist())
    for row, own in zip(out, counts.tolist(), strict=True):
        row[:] = sums_of(own, [n / whole for n in of_class.tolist()])


def _spans(rng):
    return np.sort(rng.normal(size=(2, 4, 2)), axis=0)


def _term_weights(rng):
    _, terms, classes, *_, counts = _told(rng)
    group, weights = rng.integers(2, size=terms), rng.normal(size=(4, 2))
    share = rng.dirichlet(np.ones(classes))
    least, most = _spans(rng)
    whole = float(counts.sum() + 1)
    return counts, whole, share, DOUBTS, group, weights, least, most, np.empty(terms)


@case(_term_weights)
def term_weights(counts, whole, share, doubts, group, weights, least, most, out):
    for t, own in enumerate(counts.tolist()):
        n = in_order(own)
        found = aspects_of(sums_of(own, share.tolist()), n, log(whole)) if n > 0 else [1, 0, 0, 0]
        g = group[t]
        found = [min(max(x, least[a, g]), most[a, g]) for a, x in enumerate(found)]
        out[t] = max(in_order(weights[a, g] * found[a] for a in range(4)), 0.0)


def smoothed(count, alpha, logs):
    known = count < len(logs) and count == int(count)
    return float(logs[int(count)]) if known else log(count + alpha)


def _left_out(rng):
    n, terms, classes, indptr, indices, values, weights, counts = _told(rng)
    of_class, tried, groups = counts.sum(axis=0) + 3.0, 2, 2
    sums = np.empty((terms, 2))
    all_sums(counts, of_class, DOUBTS, sums)
    alpha = np.broadcast_to(rng.random((tried, 1)) + 0.1, (tried, terms))
    logs = np.log(np.arange(3) + alpha[:, :1])
    return (
        0, n, 0, indptr, indices, values, weights, counts, counts.sum(axis=1), sums, logs, alpha,
        float(of_class.sum()), rng.integers(groups, size=terms), alpha.sum(axis=1), of_class,
        DOUBTS, np.zeros((tried, n, 4 * groups, classes)), np.zeros(n),
        np.full(4 * groups, np.inf), np.full(4 * groups, -np.inf),
    )  # fmt: skip


@case(_left_out)
def left_out(
    start, stop, first, indptr, terms, values, weights, counts, totals, sums, logs, alpha, whole,
    group, alpha_whole, of_class, doubts, told, lengths, least, most,
):  # fmt: skip
    classes, groups, whole_share = counts.shape[1], told.shape[2] // 4, in_order(of_class.tolist())
    share = [n / whole_share for n in of_class.tolist()]
    for i in range(start, stop):
        met, alone, length = np.zeros(told.shape[2]), np.zeros(len(alpha)), 0.0
        own = [k for k in range(classes) if weights[i, k] > 0]
        for p in range(indptr[i], indptr[i + 1]):
            t, x = terms[p], values[p]
            length += x
            left = {k: max(counts[t, k] - weights[i, k] * x, 0.0) for k in own}
            rest = totals[t]
            for k in own:
                rest -= counts[t, k] - left[k]
            if rest <= 1e-9 * totals[t]:
                alone += alpha[:, t]
                continue
            lengths[i] += x
            others = sums[t].tolist()
            for k in own:
                for j, doubt in enumerate(DOUBTS.tolist()):
                    others[j] -= part_of(counts[t, k], doubt, share[k])
                    others[j] += part_of(left[k], doubt, share[k])
            found = aspects_of(others, rest, log(whole))
            for a in range(4):
                g = a * groups + group[t]
                least[g], most[g] = min(least[g], found[a]), max(most[g], found[a])
            found = [a * x for a in found]
            for a in range(4):
                met[a * groups + group[t]] += found[a]
            for j in range(len(alpha)):
                theta = [
                    smoothed(left[k], alpha[j, t], logs[j]) if k in left
                    else float(f32(smoothed(counts[t, k], alpha[j, t], logs[j])))
                    for k in range(classes)
                ]  # fmt: skip
                for a in range(4):
                    told[j, i, a * groups + group[t]] += found[a] * np.array(theta)
        for j in range(len(alpha)):
            rest_alpha = max(alpha_whole[j] - alone[j], 1e-300)
            for k in range(classes):
                gone = weights[i, k] * length if k in own else 0.0
                log_rest = log(max(of_class[k] - gone, 0.0) + rest_alpha)
                for g in np.flatnonzero(met):
                    told[j, i, g, k] -= met[g] * log_rest


# ---- corrections ---------------------------------------------------------------------------------


def _curvature(rng):
    n, terms, classes, indptr, indices, *_ = _told(rng)
    values, weight = rng.random(len(indices)).astype(f32), rng.integers(0, 3, n).astype(f32)
    proba, direction = rng.random((n, classes)).astype(f32), rng.normal(size=(terms, classes))
    out = rng.normal(size=(terms, classes)).astype(f32)
    return indptr, indices, values, proba, weight, direction.astype(f32), out


@case(_curvature)
def add_curvature(indptr, terms, values, proba, weight, direction, out):
    for i in np.flatnonzero(weight):
        change = np.zeros(proba.shape[1], f32)
        for p in range(indptr[i], indptr[i + 1]):
            change += values[p] * direction[terms[p]]
        mean = f32(0)
        for product in proba[i] * change:
            mean += product
        change = weight[i] * proba[i] * (change - mean)
        for p in range(indptr[i], indptr[i + 1]):
            out[terms[p]] += values[p] * change


def inside(x, least, most):
    return min(max(x, least), most)


def divergence(having, n, share, doubt):
    p = divided(having + doubt * share, n + doubt)
    found = p * log(divided(p, share)) if p > 0.0 and share > 0.0 else 0.0
    if p < 1.0 and share < 1.0:
        found += (1.0 - p) * log((1.0 - p) / (1.0 - share))
    return found


def _label_weights(rng):
    labels, terms = int(rng.integers(1, 4)), int(rng.integers(1, 8))
    having = rng.integers(0, 4, (labels, terms)) * 1.0
    total = having.max(axis=0) + rng.integers(0, 3, terms)
    return (
        having, total, rng.random(labels), float(np.log(total.sum() + 1)), DOUBTS,
        rng.integers(2, size=terms), rng.normal(size=(4, 2)), *_spans(rng),
        np.empty((labels, terms)),
    )  # fmt: skip


@case(_label_weights)
def label_weights(having, total, share, log_whole, doubts, group, weights, least, most, out):
    for k, t in np.ndindex(out.shape):
        g = group[t]
        own, spans = weights[:, g].tolist(), np.array([least[:, g], most[:, g]]).T.tolist()
        found = own[0]
        if total[t] > 0.0:
            found += own[1] * inside(log_whole - log(total[t]), *spans[1])
            for j, doubt in enumerate(DOUBTS.tolist()):
                tell = divergence(having[k, t], total[t], share[k], doubt)
                found += own[2 + j] * inside(tell, *spans[2 + j])
        out[k, t] = max(found, 0.0)


def _first_odds(rng):
    having, total, share, *_ = _label_weights(rng)
    counts = np.ascontiguousarray(having.T)
    alpha = np.full(len(total), 0.5)
    logs = np.log(np.arange(3) + 0.5) if rng.integers(2) else np.empty(0)
    return (
        counts, total, alpha, logs, share, DOUBTS, np.empty(counts.shape),
        np.empty((*counts.shape, 2)),
    )  # fmt: skip


@case(_first_odds)
def first_odds(counts, total, alpha, logs, share, doubts, odds, tells):
    for t, k in np.ndindex(odds.shape):
        rest, having = max(total[t] - 1.0, 0.0), float(counts[t, k])
        without = max(rest - having, 0.0)
        odds[t, k] = smoothed(having, alpha[t], logs) - smoothed(without, alpha[t], logs)
        for j, doubt in enumerate(DOUBTS.tolist()):
            tells[t, k, j] = divergence(min(having, rest), rest, share[k], doubt)


def _label_odds(rng):
    n, terms, labels, indptr, indices, values, having, counts = _told(rng)
    total = counts.max(axis=1) + rng.integers(0, 3, terms)
    alpha, logs = np.full(terms, 0.5), np.log(np.arange(3) + 0.5)
    everything, of_label = float(total.sum() + 9), counts.sum(axis=0) + 1.0
    odds, tells = np.empty(counts.shape), np.empty((*counts.shape, 2))
    first_odds(counts, total, alpha, logs, of_label / everything, DOUBTS, odds, tells)
    whole = np.where(rng.random(n) < 0.7, 1.0, 2.0)
    return (
        indptr, indices, values, whole, having, counts, total, odds, tells, logs, alpha, everything,
        of_label, DOUBTS, rng.integers(2, size=terms), float(alpha.sum()),
        np.zeros((n, 8, labels)), np.zeros(n), np.full(8, np.inf), np.full(8, -np.inf),
    )  # fmt: skip


@case(_label_odds)
def label_odds(
    indptr, terms, values, whole, having, counts, total, odds, tells, logs, alpha, everything,
    of_label, doubts, group, alpha_whole, told, lengths, least, most,
):  # fmt: skip
    n, rows, labels = told.shape
    groups = rows // 4
    for i, k in np.ndindex(n, labels):
        share = of_label[k] / max(everything, 1e-300)
        met, alone, mine = np.zeros(rows), 0.0, 0.0
        plain = having[i, k] == 0.0 and whole[i] == 1.0  # nothing of the label is left out
        for p in range(indptr[i], indptr[i + 1]):
            t, x, n_t = terms[p], values[p], counts[terms[p], k]
            mine += x
            rest = max(total[t] - whole[i] * x, 0.0)
            if rest <= 1e-9 * total[t]:
                alone += alpha[t]
                continue
            lengths[i] += x if k == 0 else 0.0
            own = n_t if plain else max(n_t - having[i, k] * x, 0.0)
            without = max(total[t] - n_t - (x if plain else (whole[i] - having[i, k]) * x), 0.0)
            one = smoothed(own, alpha[t], logs) - smoothed(without, alpha[t], logs)
            aspects = [1.0, log(everything) - log(rest)]
            aspects += [divergence(min(own, rest), rest, share, d) for d in DOUBTS.tolist()]
            for a, aspect in enumerate(aspects):
                at = a * groups + group[t]
                least[at], most[at] = min(least[at], aspect), max(most[at], aspect)
                told[i, at, k] += x * aspect * one
                met[at] += x * aspect
        rest_alpha = max(alpha_whole - alone, 1e-300)
        own = max(of_label[k] - having[i, k] * mine, 0.0)
        without = max(everything - of_label[k] - (whole[i] - having[i, k]) * mine, 0.0)
        shift = log(own + rest_alpha) - log(without + rest_alpha)
        told[i, :, k] -= met * shift


# ---- exact numbers -------------------------------------------------------------------------------


def exact(limbs):
    """The whole number of each cell of (cells, limbs), in units of its lowest bit."""
    return [sum(int(one) << 32 * k for k, one in enumerate(cell)) for cell in limbs.tolist()]


def digits(value, size):
    """A whole number as so many limbs, all but the last in [0, 2^32)."""
    low = [value >> 32 * k & 0xFFFFFFFF for k in range(size - 1)]
    return [*low, value >> 32 * (size - 1)]


def _lazy(rng):
    size = int(rng.integers(1, 6))
    return (rng.integers(-(2**40), 2**40, (rng.integers(0, 6), size)),)


@case(_lazy)
def normalise(limbs):
    limbs[:] = np.array([digits(value, limbs.shape[1]) for value in exact(limbs)]).reshape(
        limbs.shape
    )


def _normalised(rng):
    (limbs,) = _lazy(rng)
    limbs[rng.random(limbs.shape) < 0.4] = 0
    normalise(limbs)
    return limbs


def _to_round(rng):
    limbs = _normalised(rng)
    return laid_out(rng, limbs), int(rng.choice([-1100, -64, 0, 320])), np.empty(len(limbs))


@case(_to_round)
def round_limbs(limbs, low, out):
    out[:] = [float(Fraction(value) * Fraction(2) ** low) for value in exact(limbs)]


def _deposits(rng):
    n, d, classes = int(rng.integers(1, 9)), int(rng.integers(1, 4)), 2
    X = rng.normal(size=(n, d)) * 2.0 ** rng.integers(-20, 20, (n, d))
    weights = rng.choice([0.5, 1.0, 3.0, -2.0], n) if rng.integers(2) else np.empty(0)
    cells, sizes = classes * d, (8, 14, 8)
    lows = (-128, -320, -64)
    room = [np.zeros(cells * size, np.int64) for size in sizes]
    room = [part for one in zip(room, sizes, lows, strict=True) for part in one]
    codes = rng.integers(classes, size=n)
    threshold = float(rng.choice([np.nan, 0.5]))
    return (
        laid_out(rng, gaps(rng, X)), codes, weights, rng.permutation(n), threshold, *room,
    )  # fmt: skip


@case(_deposits)
def dense_deposits(
    X, codes, weights, rows, threshold,
    sums, size, low, squares, size2, low2, missing, size0, low0,
):  # fmt: skip
    for i in rows:
        w = Fraction(float(weights[i])) if len(weights) else Fraction(1)
        for j, x in enumerate(X[i].tolist()):
            cell = codes[i] * X.shape[1] + j
            if math.isnan(x):
                _add(missing, cell, size0, low0, w)
                continue
            x = Fraction(x) if math.isnan(threshold) else Fraction(x > threshold)
            _add(sums, cell, size, low, w * x)
            _add(squares, cell, size2, low2, w * x * x)


def _add(limbs, cell, size, low, value):
    """Add a number exactly to a cell, in its normal form."""
    own = limbs.reshape(-1, size)[cell : cell + 1]
    more = value * Fraction(2) ** -low
    assert more.denominator == 1
    own[0] = digits(exact(own)[0] + more.numerator, size)


LAZY = {"dense_deposits": {5: 6, 8: 9, 11: 12}}
"""Of kernels that leave carries: the places of limbs among the arguments, and of their number."""
