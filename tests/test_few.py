"""What is done without a kernel where there is little to do: the bits are the kernel's."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from naively.exact import LARGEST, ExactArray
from naively.kernels import (
    deposits,
    distances,
    few,
    gaussian,
    labels,
    levels,
    limbs,
    linear,
    lookups,
)
from naively.statistics.base import shown
from naively.statistics.sums import Limbs, product, window

SIZES = np.array([0.0, -0.0, 1.0, -3.0, 0.1, 1e-30, 1e30, 2.0**52 + 1, -1.0 / 3.0])
SEEDS = st.integers(0, 2**32 - 1)


def numbers(rng, *shape):
    """Some of ordinary size, some that make sums round, cancel or have a sign of zero."""
    found = rng.normal(size=shape) * 2.0 ** rng.integers(-40, 40, shape)
    return np.where(rng.random(shape) < rng.random(), rng.choice(SIZES, shape), found)


def both(kernel, out, *arguments):
    """What the kernel writes and what is written without it."""
    first, second = out.copy(), out.copy()
    said = kernel.few(*arguments, first)
    assert said is not NotImplemented
    assert said == kernel.compiled(*arguments, second)
    return first, second


def assert_bits(first, second):
    assert first.tobytes() == second.tobytes()


@given(SEEDS, st.integers(1, 40))
def test_multiplying_and_adding_rounds_once(seed, n):
    rng = np.random.default_rng(seed)
    x, y = numbers(rng, n), numbers(rng, n)
    near = np.nextafter(-x * y, numbers(rng, n))  # the product cancels, but for its end
    for z in (numbers(rng, n), near):
        exact = [Fraction(a) * Fraction(b) + Fraction(c) for a, b, c in zip(x, y, z, strict=True)]
        assert few.fma(x, y, z).tolist() == [float(one) for one in exact]


@pytest.mark.parametrize("x", [np.nan, np.inf, 1e-200, -1e200])
def test_numbers_that_leave_the_range_are_not_taken(x):
    assert few.in_range(np.array([0.0, 1.0, -1e80]))
    assert not few.in_range(np.array([1.0, x]))


DRAWN = SEEDS.map(np.random.default_rng), st.integers(1, 20), st.integers(1, 4), st.integers(1, 10)
"""What draws numbers; rows, classes and features."""


@given(*DRAWN)
def test_evidence_that_is_looked_up(rng, n, classes, cells):
    at, rows = rng.integers(cells, size=n).astype(np.uint32), rng.permutation(2 * n)[:n]
    parts, weight = rng.integers(3, size=2 * n), np.float32(rng.normal())
    table = numbers(rng, cells, 3, classes).astype(np.float32)
    scores = numbers(rng, classes, n)
    assert_bits(*both(lookups.add_scores, scores, at, table[:, 0].astype(float), float(weight)))
    found = scores.astype(np.float32)
    assert_bits(*both(lookups.add_evidence, found, at, table, weight, parts, rows))
    each = numbers(rng, n, 3, classes).astype(np.float32)
    assert_bits(*both(lookups.add_all, each, at, table, weight))


@given(*DRAWN)
def test_gaussian_scores(rng, n, classes, features):
    X, mean = numbers(rng, n, features), numbers(rng, classes, features)
    scale = np.abs(numbers(rng, classes, features))
    base, norm = numbers(rng, classes), np.zeros((classes, features))
    out = np.zeros((classes, n - n // 2))
    assert_bits(*both(gaussian.gaussian_dense, out, shown(X), n // 2, n, mean, scale, base, norm))


@given(*DRAWN, st.sampled_from([np.nan, 0.0, 0.5]))
def test_linear_scores(rng, n, classes, features, threshold):
    X, weight = numbers(rng, n, features), numbers(rng, classes, features)
    base, zero = numbers(rng, classes), np.zeros((classes, features))
    out = np.zeros((classes, n))
    assert_bits(*both(linear.linear_dense, out, shown(X), 0, n, weight, zero, base, threshold))


@given(*DRAWN)
def test_projections_and_distances(rng, n, classes, features):
    X, mean = numbers(rng, n, features), numbers(rng, classes, features)
    weight, bias = numbers(rng, classes, features), numbers(rng, classes)
    packed = np.empty(-(-classes // distances.simd.TILE) * distances.simd.TILE * features)
    distances.pack(weight, packed)
    given = shown(X), 0, n, mean[0], packed, bias
    assert_bits(*both(distances.projections, np.zeros((classes, n)), *given))
    A = np.tril(numbers(rng, classes, features, features))
    bands = np.empty((classes, distances.packed_size(features)))
    for own, band in zip(A, bands, strict=True):
        distances.pack(own, band)
        back = np.zeros((features, features))
        distances.unpack(band, back)
        assert_bits(back + 0.0, own + 0.0)
    before = np.abs(numbers(rng, classes, n))
    out, found = before.copy(), before.copy()
    given = shown(X), 0, n, mean, bands, 0, features
    if distances.add_distances.few(*given, found) is NotImplemented:
        assert_bits(found, before)  # distances beyond the range, of large numbers
    else:
        distances.add_distances.compiled(*given, out)
        assert_bits(out, found)


@given(
    hnp.arrays(np.float64, (4, 6), elements=st.sampled_from([0.0, -0.0, 1.0, -np.inf, np.nan])),
    st.integers(0, 3),
)
def test_the_best_class(joint, otherwise):
    found, out = both(linear.best_class, np.zeros(6, np.int64), joint, np.int64(otherwise))
    assert found.tolist() == out.tolist()


@given(SEEDS.map(np.random.default_rng), st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_levels(rng, sizes):
    n, width, classes = int(rng.integers(1, 20)), 8, 3
    offsets, codes = np.cumsum([0, *sizes]), rng.integers(0, classes, n)
    X = rng.integers(-1, max(1, rng.integers(8)), (n, len(sizes))).astype(np.int32)
    counts = np.ones((2, classes * int(offsets[-1])), np.int64)
    missing, report = np.zeros(classes * len(sizes), np.int64), np.zeros(2, np.int64)
    given = shown(X), codes, 0, n, offsets
    found = levels.count_levels.few(*given, counts[0], missing, report)
    inside = ((X >= 0) & (sizes > X)).all()
    assert inside == (found is not NotImplemented)
    if inside:
        assert found == levels.count_levels.compiled(*given, counts[1], missing, report)
    assert counts[0].tolist() == counts[1].tolist()
    table = numbers(rng, int(offsets[-1]) + len(sizes) + 1, width).ravel()
    lookup, beyond = np.arange(offsets[-1])[::-1].copy(), int(offsets[-1])
    given = shown(np.maximum(X, 0)), 0, n, offsets, lookup, beyond, table, width
    assert_bits(*both(levels.score_levels, np.zeros((classes, n)), *given))


@given(*DRAWN, st.sampled_from([np.nan, 0.5]), st.booleans())
def test_sums(rng, n, classes, features, threshold, squares):
    X = numbers(rng, n, features)
    X[rng.random(X.shape) < 0.1] *= rng.choice([1e-300, 5e-324, 1e200])
    codes, none = rng.integers(0, classes, n), np.empty(0)
    assert deposits.measure.few(X, -1e300, 1e300) == deposits.measure.compiled(X, -1e300, 1e300)
    assert deposits.measure.few(X, 0.0, -1.0) is NotImplemented
    for one, other in zip(
        labels.rows_by_class.few(codes, classes), labels.rows_by_class.compiled(codes, classes),
        strict=True,
    ):  # fmt: skip
        assert one.tolist() == other.tolist()
    *_, smallest, largest, _ = deposits.measure.few(X, -1e300, 1e300)
    held = window(min(smallest, 1.0), max(largest, 1.0))
    rows, found = rng.permutation(n)[: n // 2 + 1], []
    for add, carry in (
        (deposits.dense_deposits.compiled, limbs.normalise.compiled),
        (deposits.dense_deposits.few, limbs.normalise.few),
    ):
        sums = Limbs(classes * features, held)
        sums2 = Limbs(classes * features, product(held, held) if squares else None)
        missing = Limbs(classes * features, None)
        given = *sums.arguments, *sums2.arguments, *missing.arguments
        assert add(shown(X), codes, none, rows, threshold, *given) is None
        for one in (sums, sums2):
            if one.size:
                carry(one.flat.reshape(-1, one.size))
        found.append([sums.flat.tolist(), sums2.flat.tolist()])
    assert found[0] == found[1]
    X[0, 0] = np.nan
    given = shown(X), codes, none, np.arange(n), threshold, *given
    assert deposits.dense_deposits.few(*given) is NotImplemented


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("x", [np.inf, -np.inf, np.nan, LARGEST])
def test_sums_are_of_numbers_that_kernels_take(kind, x):
    with np.errstate(over="ignore"):
        X = np.array([[1.0], [x]]).astype(kind)
    bounds = -LARGEST / 2, LARGEST / 2
    assert deposits.measure.few(X, *bounds) is NotImplemented
    X = np.array([[0.3]], kind)
    found = deposits.measure.compiled(X, 0.0, 0.3)
    assert deposits.measure.few(X, 0.0, 0.3) in (NotImplemented, found)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.uint64])
def test_codes_of_every_type(kind):
    X, codes = np.array([[0, 2], [1, 0], [1, 1]], kind), np.array([0, 1, 1])
    offsets, none = np.array([0, 2, 5]), np.empty(0)
    counts, others = np.zeros((2, 10), np.int64)
    given = X, codes, 0, 3, offsets
    report = np.zeros(3, np.int64)
    levels.count_levels.few(*given, counts, none, report)
    levels.count_levels.compiled(*given, others, np.zeros(4, np.int64), report)
    assert counts.tolist() == others.tolist()


@pytest.mark.parametrize("code", [-1, 1 << 53, (1 << 63) - 1])
def test_what_is_no_code_is_left_to_the_kernel(code):
    X, out = np.array([[0], [code]]), np.zeros((2, 1), np.int64)
    given = X, 0, 2, np.array([0, 2]), np.arange(2), 2, out
    assert levels.encode.few(*given) is NotImplemented


EDGES = np.array([0, 0, 0, 1, -1, 1 << 29, -(1 << 29), (1 << 61) - 1, -(1 << 61)])


def limbs_of(rng, *shape):
    """Normalised limbs."""
    found = rng.integers(-(1 << 61), 1 << 61, shape) >> rng.integers(0, 62, shape)
    found = np.where(rng.random(shape) < 0.5, rng.choice(EDGES, shape), found)
    found[..., :-1] &= few.DIGIT
    return found


@given(SEEDS.map(np.random.default_rng), st.integers(1, 4), st.integers(1, 4))
def test_limbs(rng, cells, size):
    own = limbs_of(rng, cells, size)
    assert limbs.extent.few(own) == limbs.extent.compiled(own)
    width = int(rng.integers(1, size + 1))
    source, offset = limbs_of(rng, cells, 1, width), int(rng.integers(0, size - width + 1))
    rows, columns = rng.permutation(cells), np.zeros(1, np.int64)
    target = limbs_of(rng, cells, 1, size)
    target[..., -1] >>= 1
    source[..., -1] >>= 2
    first, second = target.copy(), target.copy()
    given = rows, columns, source, offset, int(rng.choice([-1, 1]))
    assert limbs.accumulate.few(first, *given) == limbs.accumulate.compiled(second, *given)
    assert first.tolist() == second.tolist()


def test_much_is_left_to_the_kernel():
    many = np.ones((few.MOST + 1, 1), np.int64)
    assert limbs.extent.few(many) is NotImplemented
    assert ExactArray(many).trimmed().limbs.shape == many.shape
