"""Sums of products of features are exact, whichever way they are computed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naively.core.workers import Workers
from naively.kernels import sums as kernel
from naively.statistics import products as products
from naively.statistics.base import Batch

NAN = float("nan")


def whole(values):
    """(Python integers, e) with values = integers * 2**e, of finite floats."""
    fraction, exponent = np.frexp(np.asarray(values, np.float64))
    mantissa, exponent = np.ldexp(fraction, 53).astype(np.int64), exponent - 53
    low = int(exponent[mantissa != 0].min(initial=2000))
    shift = np.where(mantissa != 0, exponent - low, 0)
    return mantissa.astype(object) << shift, low


def expected(X, codes, classes, weights=None, *, pooled=False):
    """The tables of `sum_products`, as (integers, e), from Python's integers."""
    X = np.asarray(X, np.float64)
    weights = np.ones(len(X)) if weights is None else weights
    missing = np.isnan(X)
    x, e = whole(np.where(missing, 0.0, X))
    w, f = whole(weights)
    i, j = np.triu_indices(X.shape[1])
    member = codes == np.arange(classes)[:, np.newaxis]
    product, gone, both = [], [], []
    for rows in member:
        weighted = x[rows] * w[rows, np.newaxis]
        lacks = missing[rows].astype(object)
        product.append((weighted.T @ x[rows])[i, j])
        gone.append(weighted.T @ lacks)
        both.append(((lacks * w[rows, np.newaxis]).T @ lacks)[i, j])
    product = np.array(product, object)
    return {
        "product": (product.sum(axis=0, keepdims=True) if pooled else product, 2 * e + f),
        "gone": (np.array(gone, object), e + f),
        "both_gone": (np.array(both, object), f),
    }


def assert_exact(tables, wanted):
    """Every cell has the very number."""
    assert tables.keys() == wanted.keys()
    for name, (integers, e) in wanted.items():
        found, low = tables[name].integers()
        assert found.shape == integers.shape
        grid = min(e, 32 * low)
        assert_array_equal(found * (1 << 32 * low - grid), integers * (1 << e - grid), name)


def sums(X, codes, classes, weights=None, *, pooled=False, workers=None):
    """The tables, and whether any value is missing is found out here."""
    batch = Batch(codes, classes, np.empty(0) if weights is None else weights)
    missing = bool(np.isnan(X).any())
    return products.sum_products(X, batch, workers or Workers(1), pooled=pooled, missing=missing)


def values(pattern, n, d, rng):
    """Rows of numbers with bits in many places, all of them such as can be cut into pieces."""
    X = rng.normal(size=(n, d))
    return {
        "whole numbers": lambda: rng.integers(-9, 10, (n, d)).astype(float),
        "22 bits": lambda: rng.integers(-(2**21), 2**21, (n, d)).astype(float),
        "float32": lambda: X.astype(np.float32).astype(float),
        "normal": lambda: X,
        "offset": lambda: 1e8 + X,
        "large offset": lambda: 1e15 + np.rint(X),
        "wide": lambda: np.exp(8.0 * X),
        "heavy tails": lambda: rng.standard_cauchy((n, d)) ** 3,
        "scales of columns": lambda: X * 10.0 ** np.linspace(-100, 100, d),
        "scales of rows": lambda: X * 10.0 ** rng.integers(-55, 56, (n, 1)),
        "mostly zeros": lambda: np.where(rng.random((n, d)) < 0.9, 0.0, X),
        "one large": lambda: np.where(np.arange(n * d).reshape(n, d) == n * d // 2, 1e90, X),
        "edges": lambda: rng.uniform(1, 2, (n, d)) * 2.0 ** rng.choice([-399, 398], (n, d)),
        "ones in every bit": lambda: rng.choice([-1.0, 1.0], (n, d)) * (2.0 - 2.0**-52),
        "a column of zeros": lambda: X * (np.arange(d) != d // 2),
        "zeros": lambda: np.zeros((n, d)),
        "powers of two": lambda: 2.0 ** rng.integers(-30, 30, (n, d)),
    }[pattern]()


PATTERNS = [
    "whole numbers", "22 bits", "float32", "normal", "offset", "large offset", "wide",
    "heavy tails", "scales of columns", "scales of rows", "mostly zeros", "one large", "edges",
    "ones in every bit", "a column of zeros", "zeros", "powers of two",
]  # fmt: skip


@pytest.fixture
def in_pieces(monkeypatch):
    """No batch is too small to be cut into pieces."""
    monkeypatch.setattr(products, "FEW", 0)


# ---- matrix products of pieces -------------------------------------------------------------------


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("pieces", [None, 1, 2, 3, 4])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_any_numbers_in_any_number_of_pieces(pattern, pieces, monkeypatch):
    if pieces is not None:
        # so that the number of pieces is that of the test
        monkeypatch.setattr(products, "SPARE", -1.0)
        monkeypatch.setattr(products, "MOST_PIECES", pieces)
    rng = np.random.default_rng(len(pattern))
    X, codes = values(pattern, 200, 18, rng), rng.integers(0, 3, 200)
    assert products._sizes(X, Workers(1)).safe
    for pooled in (False, True):
        assert_exact(sums(X, codes, 3, pooled=pooled), expected(X, codes, 3, pooled=pooled))


@pytest.mark.parametrize(
    ("pattern", "pieces"),
    [("whole numbers", 1), ("22 bits", 1), ("float32", 2), ("normal", 3), ("wide", 4)],
)
def test_as_many_pieces_as_the_numbers_have(pattern, pieces):
    X = values(pattern, 300, 5, np.random.default_rng(0))
    unit = np.frexp(abs(X).max(axis=0))[1].astype(np.int64) - (kernel.BITS - 1)
    assert products._Cutter(X, unit, 1, (-400, 400)).pieces == pieces


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 255, 256, 511, 512, 513, 1025])
def test_any_number_of_rows(n):
    rng = np.random.default_rng(n)
    X, codes = values("normal", n, 3, rng), np.minimum(np.arange(n) // 200, 2)
    for pooled in (False, True):  # the last class has no rows
        assert_exact(sums(X, codes, 4, pooled=pooled), expected(X, codes, 4, pooled=pooled))


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("tiles", [1, 2, 3, 512])
@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40])
def test_any_number_of_features(d, tiles, monkeypatch):
    monkeypatch.setattr(products, "TILES", tiles)  # of 2048, which take 700 features to fill
    rng = np.random.default_rng(d)
    X, codes = values("wide", 70, d, rng), rng.integers(0, 2, 70)
    wanted = expected(X, codes, 2)
    for workers in (Workers(1), Workers(3)):
        assert_exact(sums(X, codes, 2, workers=workers), wanted)


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("pieces", [1, 2, 3, 4])
@pytest.mark.parametrize("low", [0.5 + 2.0**-23, 0.5 - 2.0**-23, 0.5 - 0.51 * 2.0**-22])
def test_the_largest_sums_of_pieces(low, pieces, monkeypatch):
    monkeypatch.setattr(products, "SPARE", -1.0)  # so that the number of pieces is that of the test
    monkeypatch.setattr(products, "MOST_PIECES", pieces)
    rng = np.random.default_rng(3)
    n = 10_000  # the pieces of a value have nearly 22 bits, and for one `low` the same sign
    X = (2.0**21 - 1.0 - rng.integers(0, 2, (n, 2)) + low) * 2.0**-21
    X += rng.integers(0, 64, (n, 2)) * 2.0**-53
    codes = np.zeros(n, np.int64)
    assert_exact(sums(X, codes, 1), expected(X, codes, 1))
    assert_exact(sums(-X, codes, 1, workers=Workers(3)), expected(X, codes, 1))


@pytest.mark.usefixtures("in_pieces")
def test_a_sum_that_just_leaves_float64():
    X = np.full((2052, 1), 2.0**21 - 1.0)
    X[2048:, 0] = [92681, 404, 28, 28]  # of whose squares, with the others', the sum is 2**53 + 1
    codes = np.zeros(2052, np.int64)
    wanted = expected(X, codes, 1)
    integers, e = wanted["product"]
    assert integers[0, 0] == (2**53 + 1) << -e
    assert_exact(sums(X, codes, 1), wanted)


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("pooled", [False, True])
def test_incomplete_rows_among_the_others(pooled):
    rng = np.random.default_rng(5)
    X, codes = values("wide", 400, 6, rng), rng.integers(0, 3, 400)
    X[rng.random(X.shape) < 0.1] = NAN
    X[::64] = NAN  # where the number of pieces is tried out
    X[codes == 2, 4] = NAN
    assert 50 < (~np.isnan(X).any(axis=1)).sum() < 350
    wanted = expected(X, codes, 3, pooled=pooled)
    for workers in (Workers(1), Workers(3)):
        assert_exact(sums(X, codes, 3, pooled=pooled, workers=workers), wanted)


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize(
    "form",
    [
        lambda X: np.asfortranarray(X),
        lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.int16),
    ],
    ids=["Fortran", "strided", "reversed", "float32", "int16"],
)
def test_any_kind_of_array(form):
    rng = np.random.default_rng(6)
    X, codes = rng.integers(-30_000, 30_000, (150, 19)).astype(float), rng.integers(0, 2, 150)
    wanted = expected(X, codes, 2)
    assert_exact(sums(form(X), codes, 2), wanted)
    assert_exact(sums(form(X), codes, 2, np.ones(150)), wanted)


def test_threads_share_classes_tiles_and_rows():
    rng = np.random.default_rng(7)
    X = values("wide", 5000, 20, rng)
    for classes in (1, 2, 40):
        codes = rng.integers(0, classes, len(X))
        wanted = sums(X, codes, classes)
        weighted = sums(X, codes, classes, np.ones(len(X)))
        for count in (2, 3, 5):
            found = sums(X, codes, classes, workers=Workers(count))
            assert all(found[name] == wanted[name] == weighted[name] for name in wanted)


# ---- product by product --------------------------------------------------------------------------


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_weights_and_missing_values(pooled, threads, monkeypatch):
    monkeypatch.setattr(products, "FEW", 100)  # so that threads share the features
    rng = np.random.default_rng(8)
    X, codes = values("heavy tails", 60, 17, rng), rng.integers(0, 3, 60)
    X[rng.random(X.shape) < 0.2] = NAN
    X[:, 3] = NAN
    X[7] = NAN
    weights = rng.gamma(0.3, 1.0, 60) ** 5 + 5e-324
    found = sums(X, codes, 3, weights, pooled=pooled, workers=Workers(threads))
    assert_exact(found, expected(X, codes, 3, weights, pooled=pooled))


SIZES = [0.0, 1.0, 3.0, 0.1, 1e8 + 1 / 3, 1e-100, 1e100, 1e-300, 5e-324, 2.0**60 + 256, 1.7e308]
CELLS = (
    st.sampled_from([NAN, *SIZES, *(-x for x in SIZES)])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(-1e6, 1e6, width=32)
)
WEIGHTS = st.sampled_from([1.0, 2.0, 0.1, 5e-324, 1e-300, 1e200, 1e8 + 1 / 3])


@given(st.data())
def test_any_finite_numbers(data):
    n, d = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    row = st.lists(CELLS, min_size=d, max_size=d)
    X = np.array(data.draw(st.lists(row, min_size=n, max_size=n)))
    codes = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    weights = data.draw(st.none() | st.lists(WEIGHTS, min_size=n, max_size=n))
    weights = None if weights is None else np.array(weights)
    pooled = data.draw(st.booleans())
    wanted = expected(X, codes, 2, weights, pooled=pooled)
    with pytest.MonkeyPatch.context() as patch:
        # of 65,536 products, more than drawn rows have
        patch.setattr(products, "FEW", data.draw(st.sampled_from([0, products.FEW])))
        assert_exact(sums(X, codes, 2, weights, pooled=pooled), wanted)


@pytest.mark.usefixtures("in_pieces")
@given(st.data())
def test_any_numbers_that_are_cut(data):
    n, d = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3))
    mantissa = st.integers(-(2**53), 2**53) | st.integers(-(2**22), 2**22)
    cell = st.builds(lambda m, e: float(m) * 2.0**e, mantissa, st.integers(-340, 340))
    row = st.lists(cell, min_size=d, max_size=d)
    X = np.array(data.draw(st.lists(row, min_size=n, max_size=n)))
    codes = np.zeros(n, np.int64)
    with pytest.MonkeyPatch.context() as patch:
        # as above: any number of pieces
        patch.setattr(products, "SPARE", data.draw(st.sampled_from([-1.0, 1.0])))
        patch.setattr(products, "MOST_PIECES", data.draw(st.integers(1, 4)))
        assert_exact(sums(X, codes, 1), expected(X, codes, 1))


@pytest.mark.parametrize("pooled", [False, True])
def test_more_rows_than_limbs_have_room_for(pooled, monkeypatch):
    monkeypatch.setattr(products, "MOST", 100)  # of 2**26 rows
    rng = np.random.default_rng(9)
    X, codes = values("normal", 350, 4, rng), rng.integers(0, 3, 350)
    X[rng.random(X.shape) < 0.1] = NAN
    for weights in (None, rng.random(350)):
        found = sums(X, codes, 3, weights, pooled=pooled)
        assert_exact(found, expected(X, codes, 3, weights, pooled=pooled))


def test_numbers_at_the_ends_of_float64_are_not_cut():
    for x in (2.0**-401, 2.0**401, 5e-324, 1.7e308):
        assert not products._sizes(np.array([[1.0, x]]), Workers(1)).safe
    assert products._sizes(np.array([[0.0, NAN]]), Workers(1)).safe
