"""Exact sums, and parameters that are their correctly rounded values."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kit import TIES
from numpy.testing import assert_allclose, assert_array_equal

from naively import GaussianNB, MultinomialNB, PoissonNB
from naively.core.exact import ExactArray

# ---- ExactArray ----------------------------------------------------------------------------------

INTEGERS = st.integers(-(2**200), 2**200) | st.sampled_from(
    [
        0,
        1,
        -1,
        2**31,
        2**32 - 1,
        2**32,
        -(2**32),
        2**61,
        2**61 + 5,
        -(2**61),
        2**62,
        -(2**62),
        2**63,
    ]
)
LOWS = st.integers(-40, 30)


@st.composite
def arrays(draw, shape=None):
    """(ExactArray, its numbers as an object array of Fractions)."""
    shape = shape or draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    numbers = draw(st.lists(INTEGERS, min_size=math.prod(shape), max_size=math.prod(shape)))
    low = draw(LOWS)
    values = np.empty(len(numbers), object)
    values[:] = [n * Fraction(2) ** (32 * low) for n in numbers]
    return ExactArray.from_numbers(numbers, shape, low), values.reshape(shape)


def nearest(x):
    """The float64 nearest to a Fraction, with infinity beyond the range."""
    try:
        return x.numerator / x.denominator
    except OverflowError:
        return math.inf if x > 0 else -math.inf


@given(arrays())
def test_numbers_come_out_as_they_went_in(pair):
    array, values = pair
    assert_array_equal(array.fractions(), values)
    assert_array_equal(array.nonzero(), values != 0)
    assert array.any_negative() == bool((values < 0).any())
    assert_array_equal(array.trimmed().fractions(), values)


@given(arrays())
def test_rounding_is_to_the_nearest_float(pair):
    array, values = pair
    assert_array_equal(array.rounded(), [[nearest(x) for x in row] for row in values])


@given(st.integers(0, 2**53 - 1), st.integers(0, 63), st.integers(-36, 30))
def test_ties_round_to_even(mantissa, shift, low):
    tie = (2 * mantissa + 1) << shift
    array = ExactArray.from_numbers([tie, -tie, tie + 1], (3,), low)
    values = [n * Fraction(2) ** (32 * low) for n in (tie, -tie, tie + 1)]
    assert_array_equal(array.rounded(), [nearest(x) for x in values])


@given(st.data())
def test_addition_and_subtraction_are_exact(data):
    a, a_values = data.draw(arrays((3, 3)))
    b, b_values = data.draw(arrays((2, 2)))
    rows = np.array(data.draw(st.permutations(range(3)))[:2])
    columns = np.array(data.draw(st.permutations(range(3)))[:2])
    sign = data.draw(st.sampled_from([1, -1]))
    expected = a_values.copy()
    expected[np.ix_(rows, columns)] += sign * b_values
    total = a.copy().accumulate(b, rows, columns, sign)
    assert_array_equal(total.fractions(), expected)
    back = total.accumulate(b, rows, columns, -sign).trimmed()
    assert_array_equal(back.fractions(), a_values)
    assert back == a
    assert (back.low, back.limbs.tolist()) == (a.low, a.limbs.tolist())


@given(st.lists(st.tuples(INTEGERS, st.integers(-2, 2)), min_size=1, max_size=6), st.data())
@example([(2**29, -1)] * 8, None)  # 1, by way of one limb of 2**32
@example([(2**60 + 1, 0), (2**60 + 4, 0)], None)  # one limb above 2**61
def test_equal_numbers_have_equal_limbs(terms, data):
    total = sum(n * 2 ** (32 * (low + 2)) for n, low in terms)
    at_once = ExactArray.from_numbers([total], (1,), -2).trimmed()
    one_by_one = ExactArray.zeros((1,))
    for n, low in data.draw(st.permutations(terms)) if data else terms:
        one_by_one = (one_by_one + ExactArray.from_numbers([n], (1,), low)).trimmed()
    assert at_once == one_by_one
    assert at_once.limbs.tolist() == one_by_one.limbs.tolist()
    assert total == 0 or at_once.low == one_by_one.low


@pytest.mark.parametrize("value", [2**61 + 5, 2**62, 2**63 - 1, -(2**63), 2**32, -(2**32), -1])
def test_integers_of_any_size_go_in(value):
    array = ExactArray.from_integers(np.array([value]))
    assert array == ExactArray.from_numbers([value], (1,), 0)
    assert (array + array).fractions() == 2 * value
    assert array.fractions() == value  # as it was


@given(arrays(), st.integers(0, 1))
def test_sums_along_an_axis_are_exact(pair, axis):
    array, values = pair
    assert_array_equal(array.summed(axis).fractions(), values.sum(axis=axis))


def test_sums_of_many_terms_do_not_overflow():
    array = ExactArray.from_numbers([2**64 - 1, -(2**64)] * 70_001, (140_002,), 0)
    assert array.summed(0).fractions() == -70_001


def numbers(*numbers, low=0):
    """What `arrays` draws, of these numbers."""
    exact = np.array([n * Fraction(2) ** (32 * low) for n in numbers], object)
    return ExactArray.from_numbers(list(numbers), (len(numbers),), low), exact


@given(arrays(), st.floats(0, 1, exclude_min=True))
@example(numbers(2**146 + 1, -1, 2**200 - 1, low=-40), 5e-324)
@example(numbers(1, 3, -1, -3, low=-70), 0.5)
@example(numbers(2**256 - 1, 2**257 + 1, 2**288 - 1, -(2**300) + 1), 1 - 2**-53)
def test_scaling_rounds_to_225_bits_or_to_the_lowest_limb(pair, gamma):
    array, values = pair
    scaled = array.scaled(gamma).fractions()
    exact = values * Fraction(gamma)
    lowest = Fraction(1, 2**2240)
    assert all(kept % lowest == 0 for kept in scaled.flat)
    for kept, product in zip(scaled.flat, exact.flat, strict=True):
        assert abs(kept - product) <= max(abs(product) / 2**225, lowest / 2)


def test_repeated_decay_ends_at_zero():
    array, _ = numbers(1, 2**200, low=-60)
    for _ in range(5000):
        array = array.scaled(0.49)
    assert not array.nonzero().any()


@given(arrays(), st.data())
def test_cells_are_gathered_and_scattered(pair, data):
    array, values = pair
    rows = np.array(data.draw(st.permutations(range(len(values)))))
    assert_array_equal(array.gather(0, rows).fractions(), values[rows])
    wide = np.full((5, values.shape[1]), Fraction(0), object)
    wide[rows] = values
    assert_array_equal(array.scatter(0, rows, 5).fractions(), wide)


# ---- means and variances -------------------------------------------------------------------------

rng = np.random.default_rng(0)
DATA = {
    "offset 1e8": 1e8 + rng.normal(size=300),
    "offset 1e15": 1e15 + rng.integers(-3, 4, 300),
    "subnormals": rng.integers(-9, 9, 50) * 5e-324,
    "1e-300 with 1e300": np.array([1e-300, 1e300, -1e300, 3e-300, 1e-300]),
    "1e-150 with 1e150": np.array([1e-150, 1e150, -1e150, 3e-150, 7e-151]),
    "cancelling": np.array([1e16, 1.0, -1e16, 1.0, 1e100, -1e100]),
    "equal": np.full(1000, 0.1),
    "heavy tails": rng.standard_cauchy(5000) ** 3,
    "many scales": rng.normal(size=4000) * 10.0 ** rng.integers(-60, 60, 4000),
    "float32 offset": (1e4 + rng.normal(size=3000)).astype(np.float32),
    "float32 extremes": np.array([1e-45, 3e38, -3e38, 1e-40, 2e-45], np.float32),
    "largest": np.array([1.7e308, 1.7e308, -1.7e308, 1.5e308, 1.0]),
}


def moments(x, w, ddof):
    """(mean, variance) of the values, as Fractions."""
    x = [Fraction(float(v)) for v in x]
    w = [Fraction(float(v)) for v in w]
    total = sum(w)
    mean = sum(a * b for a, b in zip(x, w, strict=True)) / total
    scatter = sum(b * (a - mean) ** 2 for a, b in zip(x, w, strict=True))
    return mean, scatter / (total - ddof)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("case", DATA)
def test_mean_and_variance_are_correctly_rounded(case, ddof, weighted):
    x = DATA[case]
    w = rng.gamma(2.0, 1.0, len(x)) + 0.01 if weighted else np.ones(len(x))
    X = np.column_stack([x, x[::-1]])
    X = np.vstack([X, np.zeros((2, 2), x.dtype)])
    y = np.r_[np.zeros(len(x), int), 1, 1]
    weights = np.r_[w, 1.0, 1.0] if weighted else None
    fitted = GaussianNB(ddof=ddof, var_smoothing=0.0).fit(X, y, sample_weight=weights)
    for column, values in enumerate((x, x[::-1])):
        mean, variance = moments(values, w, ddof)
        assert fitted.theta_[0, column] == nearest(mean)
        assert fitted.var_[0, column] == nearest(variance)


@pytest.mark.parametrize("tie", TIES[1:])
def test_tied_variances_are_pooled_scatters(tie):
    X = 1e8 + rng.normal(size=(60, 3)) * [1, 10, 1000]
    y = np.arange(60) % 3
    fitted = GaussianNB(tie=tie, ddof=1, var_smoothing=0.0).fit(X, y)
    one = np.ones(20)
    scatter = np.array(
        [[moments(X[y == c, j], one, 0)[1] * 20 for j in range(3)] for c in range(3)]
    )
    pooled = {
        "classes": np.array([[sum(scatter[:, j]) / 57 for j in range(3)]] * 3),
        "features": np.array([[sum(scatter[c]) / 57] * 3 for c in range(3)]),
        "both": np.array([[scatter.sum() / 171] * 3] * 3),
    }[tie]
    # a sum of correctly rounded scatters, and a quotient: two more roundings
    assert_allclose(fitted.var_, pooled.astype(float), rtol=4e-16)


def test_the_variance_floor_is_the_portion_of_the_largest_variance():
    X = np.column_stack([1e8 + DATA["offset 1e15"], 1e-3 * rng.normal(size=300)])
    y = np.arange(300) % 2
    largest = max(moments(X[:, j], np.ones(300), 0)[1] for j in range(2))
    assert GaussianNB(var_smoothing=0.5).fit(X, y).epsilon_ == 0.5 * nearest(largest)
    each = [nearest(moments(X[:, j], np.ones(300), 0)[1]) for j in range(2)]
    assert_array_equal(GaussianNB(var_smoothing=0.5, floor="feature").fit(X, y).epsilon_,
                       0.5 * np.array(each))  # fmt: skip


@pytest.mark.parametrize("case", ["offset 1e8", "heavy tails", "many scales"])
def test_counts_are_correctly_rounded_sums(case):
    x = abs(DATA[case])
    w = rng.gamma(2.0, 1.0, len(x))
    X = np.append(x, 1.0)[:, np.newaxis]
    y = np.r_[np.zeros(len(x), int), 1]
    for weights in (None, np.append(w, 1.0)):
        fitted = PoissonNB().fit(X, y, sample_weight=weights)
        used = np.ones(len(x)) if weights is None else w
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(x, used, strict=True))
        assert fitted.feature_count_[0, 0] == nearest(exact)


# ---- log-probabilities ---------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_gaussian_scores_against_fifty_digits(offset):
    X = offset + rng.normal(size=(80, 3)) * [1.0, 1e-3, 1e3]
    y = np.arange(80) % 2
    fitted = GaussianNB(var_smoothing=0.0).fit(X, y)
    with mpmath.workdps(50):
        for x, joint in zip(X[:10], fitted.predict_joint_log_proba(X[:10]), strict=True):
            for c in range(2):
                total = mpmath.log(mpmath.mpf(1) / 2)
                for j in range(3):
                    m, v = (mpmath.mpf(float(a[c, j])) for a in (fitted.theta_, fitted.var_))
                    total += -mpmath.log(2 * mpmath.pi * v) / 2 - (mpmath.mpf(x[j]) - m) ** 2 / (
                        2 * v
                    )
                assert abs(total - joint[c]) < 1e-14 * max(10, abs(total))


def test_multinomial_scores_against_fifty_digits():
    X = rng.poisson(3.0, (40, 6)) * np.array([1, 10, 100, 1, 1, 0])
    y = np.arange(40) % 2
    fitted = MultinomialNB(alpha=0.1).fit(X, y)
    with mpmath.workdps(50):
        for x, joint in zip(X, fitted.predict_joint_log_proba(X), strict=True):
            for c in range(2):
                count = X[y == c].sum(axis=0)
                total = mpmath.log(mpmath.mpf(1) / 2)
                below = int(count.sum()) + 6 * mpmath.mpf(0.1)
                for j in range(6):
                    total += int(x[j]) * mpmath.log((int(count[j]) + mpmath.mpf(0.1)) / below)
                assert abs(total - joint[c]) < 1e-14 * abs(total)
