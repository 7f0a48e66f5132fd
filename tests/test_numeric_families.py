"""The numeric families beyond the Gaussian: SciPy as the oracle, laws over drawn operations."""

import math
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

from naively.core.workers import SERIAL, workers
from naively.families.numeric.exponential import Exponential
from naively.families.numeric.gamma import Gamma
from naively.families.numeric.lognormal import LogNormal
from naively.model.model import Model
from naively.model.posterior import SingularModelError
from naively.model.prior import Prior
from naively.model.schema import Schema
from naively.statistics.base import InvalidValueError

NAN = float("nan")
FAMILIES = {
    "lognormal": LogNormal(),
    "lognormal-1": LogNormal(ddof=1, var_smoothing=1e-3),
    "exponential": Exponential(),
    "gamma": Gamma(),
}
every_family = pytest.mark.parametrize("name", FAMILIES)
every_positive_family = pytest.mark.parametrize("name", ["lognormal", "gamma"])
DRAWS = {
    "lognormal": lambda rng, y, d: rng.lognormal(
        y[:, None] / 2, 0.3 + 0.2 * y[:, None], (len(y), d)
    ),
    "exponential": lambda rng, y, d: rng.exponential(1.0 + y[:, None], (len(y), d)),
    "gamma": lambda rng, y, d: rng.gamma(0.7 + 2.0 * y[:, None], 1.0 + np.arange(d), (len(y), d)),
}


def rows_of(name, n=300, d=4, seed=0):
    """Random rows of a family's own kind, and their labels 0, 1, 2."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return DRAWS[name.split("-")[0]](rng, y, d), y


def learned(name, X, y, weights=None, jobs=None):
    """A model that learned these rows."""
    X = X if sparse.issparse(X) else np.asarray(X)
    model = Model(Schema.of_array(FAMILIES[name], X.shape[1]), Prior())
    model.absorb(model.summarise(X, np.asarray(y), weights, jobs or SERIAL))
    return model


def assert_same(a, b, probe):
    """Two models learned the same, and score the probe rows alike, bit for bit."""
    assert a == b
    assert_array_equal(
        a.posterior().joint_log_proba(probe).view(np.int64),
        b.posterior().joint_log_proba(probe).view(np.int64),
    )


def fitted_by_scipy(name, x):
    """SciPy's distribution, fitted to one sample."""
    if name == "lognormal":
        return stats.lognorm(*stats.lognorm.fit(x, floc=0))
    if name == "exponential":
        return stats.expon(*stats.expon.fit(x, floc=0))
    return stats.gamma(*stats.gamma.fit(x, floc=0))


# ---- against SciPy -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_parameters_are_those_of_maximum_likelihood(seed):
    X, y = rows_of("lognormal", seed=seed)
    parameters = learned("lognormal", X, y).posterior().parameters
    for c in range(3):
        s, _, scale = stats.lognorm.fit(X[y == c, 1], floc=0)
        assert_allclose(parameters.mean[c, 1], math.log(scale), rtol=1e-6)
        assert_allclose(math.sqrt(parameters.variance[c, 1]), s, rtol=1e-6)
    X, y = rows_of("exponential", seed=seed)
    parameters = learned("exponential", X, y).posterior().parameters
    for c in range(3):
        assert_allclose(parameters.mean[c, 1], stats.expon.fit(X[y == c, 1], floc=0)[1], rtol=1e-6)
    X, y = rows_of("gamma", seed=seed)
    parameters = learned("gamma", X, y).posterior().parameters
    for c in range(3):
        a, _, scale = stats.gamma.fit(X[y == c, 1], floc=0)
        assert_allclose(parameters.shape[c, 1], a, rtol=1e-6)
        assert_allclose(parameters.scale[c, 1], scale, rtol=1e-6)


@pytest.mark.parametrize("k", [1e-2, 0.3, 1.0, 50.0, 99.0, 101.0, 1e4, 1e8])
def test_no_other_gamma_density_is_likelier(k):
    X = np.random.default_rng(1).gamma(k, 3.0, (500, 1))
    X = np.maximum(X, 1e-300)
    a = learned("gamma", X, np.zeros(500)).posterior().parameters
    shape, scale = a.shape[0, 0], a.scale[0, 0]
    best = stats.gamma(shape, scale=scale).logpdf(X).sum()
    step = 0.02
    for factor in (1 - step, 1 + step):
        assert stats.gamma(shape * factor, scale=scale / factor).logpdf(X).sum() < best
        assert (
            stats.gamma(shape, scale=scale * (1 + (factor - 1) / math.sqrt(k * 500)))
            .logpdf(X)
            .sum()
            < best
        )


@pytest.mark.parametrize("name", ["lognormal", "exponential", "gamma"])
def test_scores_are_log_densities(name):
    X, y = rows_of(name)
    model = learned(name, X, y)
    prior = np.log(np.bincount(y) / len(y))
    p = model.posterior().parameters
    rows = np.vstack([X[:50], X[:50] * 100, X[:50] / 1000])
    if name == "lognormal":
        density = stats.lognorm(np.sqrt(p.variance), scale=np.exp(p.mean))
    elif name == "exponential":
        density = stats.expon(scale=p.mean)
    else:
        density = stats.gamma(p.shape, scale=p.scale)
    expected = density.logpdf(rows[:, None, :]).sum(axis=2)
    base = p.log_base(rows)[:, None]
    assert_allclose(
        model.posterior().joint_log_proba(rows) - prior + base, expected, rtol=1e-10, atol=1e-10
    )
    total = np.logaddexp.reduce(expected + prior, axis=1)
    assert_allclose(model.posterior().score_samples(rows), total, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["lognormal", "exponential", "gamma"])
@pytest.mark.parametrize("labels", [[0] * 40, [0, 1] * 20])
def test_density_of_features_without_evidence(name, labels):
    X, _ = rows_of(name, n=20)
    X = np.repeat(X, 2, axis=0)  # the same values in both classes
    model = learned(name, X, labels)
    expected = sum(fitted_by_scipy(name, X[:, j]).logpdf(X[:, j]) for j in range(4))
    assert_allclose(model.posterior().score_samples(X), expected, rtol=1e-6, atol=1e-6)
    if len(set(labels)) > 1:
        far = np.full((1, 4), 1e300)
        assert_array_equal(model.posterior().proba(far), [[0.5, 0.5]])


def test_the_linear_form_of_the_exponential():
    X, y = rows_of("exponential")
    model = learned("exponential", X, y)
    weight, bias = model.posterior().linear()
    log_p = model.posterior().log_proba(X)
    apart = X @ weight.T + bias - log_p
    assert_allclose(apart, np.repeat(apart[:, :1], 3, axis=1), rtol=1e-10, atol=1e-10)


@every_positive_family
def test_the_others_have_no_linear_form(name):
    with pytest.raises(ValueError, match="log x"):
        learned(name, *rows_of(name)).posterior().linear()


def test_the_logarithm_is_within_an_ulp():
    from mpmath import mp, mpf

    from naively.statistics.logs import portable_log as log

    rng = np.random.default_rng(2)
    x = np.r_[
        5e-324, 2.2e-308, 1.0, 1 - 2.0**-53, 1 + 2.0**-52, 1.7976931348623157e308, 0.5**0.5,
        np.exp(rng.uniform(-744, 709, 300)), rng.uniform(0.5, 2, 300), 1 + rng.normal(0, 1e-6, 300),
    ]  # fmt: skip
    with mp.workprec(200):
        for value, ours in zip(x.tolist(), log(x).tolist(), strict=True):
            assert abs(mpf(ours) - mp.log(mpf(value))) <= np.spacing(abs(ours))
    assert np.isnan(log(np.array([NAN]))).all()


# ---- the laws ------------------------------------------------------------------------------------


def test_gamma_does_not_forget_what_would_leave_impossible_logarithms():
    model = learned("gamma", [[1.0], [5.0], [9.0]], [0, 0, 0])
    with pytest.raises(ValueError, match="the model has no such rows"):
        model.forget(learned("gamma", [[0.1], [7.0]], [0, 0]))


@pytest.mark.parametrize("name", ["lognormal", "exponential", "gamma"])
def test_a_class_without_values_takes_those_of_all(name):
    X, y = rows_of(name, n=60, d=2)
    X[y == 1, 0] = NAN
    contributions = learned(name, X, y).posterior().explain(np.nan_to_num(X, nan=1.0)).contributions
    alike = learned(name, X[y != 1], np.zeros((y != 1).sum()))
    pooled = alike.posterior().explain(np.nan_to_num(X, nan=1.0)).contributions
    assert_allclose(contributions[:, 1, 0], pooled[:, 0, 0], rtol=1e-12)
    empty = learned(name, np.full((4, 1), NAN), [0, 0, 1, 1])
    p = empty.posterior().proba(np.array([[1e300], [2.0], [NAN]]))
    assert_array_equal(p, np.full((3, 2), 0.5))


# ---- hostile values ------------------------------------------------------------------------------


def assert_probabilities(model, X):
    p = model.posterior().proba(X)
    assert ((p >= 0) & (p <= 1)).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    log_p = model.posterior().log_proba(X)
    assert not np.isnan(log_p).any()
    assert not np.isnan(model.posterior().explain(X).contributions).any()
    with np.errstate(over="ignore"):  # a density below all floats is 0
        assert not np.isnan(model.posterior().score_samples(X)).any()


@every_family
def test_extreme_rows_go_to_the_likelier_class(name):
    X, y = rows_of(name, n=400, d=2)
    assert_probabilities(
        learned(name, X, y), np.array([[1e300, 1e300], [1e-300, 1e-300], [1e300, 1e-300]])
    )
    for scale in (1.0, 1e-300, 1e290):  # the second class is the first one times ten
        model = learned(name, np.vstack([X, 10 * X]) * scale, np.repeat([0, 1], 400))
        far = np.array([[1.7e308, 1.7e308], [NAN, 1.7e308], [1e-305, 1e-306], [1e-306, NAN]])
        assert_array_equal(model.posterior().predict_codes(far), [1, 1, 0, 0])
        assert_array_equal(model.posterior().predict_codes(sparse.csr_array(far)), [1, 1, 0, 0])
        assert np.isfinite(model.posterior().joint_log_proba(far)).any(axis=1).all()


@every_family
def test_one_row_a_class_and_equal_values(name):
    for X in ([[1.0], [2.0], [4.0]], [[3.0], [3.0], [3.0]], [[1e-300], [1.0], [1e300]]):
        model = learned(name, X, [0, 1, 2])
        if name == "lognormal-1":  # the unbiased variance of one row is 0/0
            with pytest.raises(SingularModelError, match=r"from 1 row .* use ddof=0"):
                model.posterior()
            continue
        assert_probabilities(model, np.array([*X, [1e300], [1e-300]]))
        if len(np.unique(X)) > 1 and name != "exponential":
            assert_array_equal(model.posterior().predict_codes(np.array(X)), [0, 1, 2])
    constant = learned(name, [[5.0], [5.0], [1.0], [9.0]], [0, 0, 1, 1])
    assert_probabilities(constant, np.array([[5.0], [5.1], [1e300]]))
    if name != "exponential":
        assert_array_equal(constant.posterior().predict_codes(np.array([[5.0], [5.5]])), [0, 1])


def test_values_that_are_all_zero():
    model = learned("exponential", [[0.0, 0.0], [0.0, 0.0], [2.0, 0.0]], [0, 0, 1])
    assert_probabilities(model, np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1e300], [1e300, 0.0]]))
    assert_array_equal(model.posterior().predict_codes(np.array([[0.0, 7.0], [1.0, 0.0]])), [0, 1])
    assert not model.posterior().sample(10, np.random.default_rng(0))[0][:, 1].any()


BAD = {0.0: "is 0, not above 0", -1.0: "is -1, not above 0", np.inf: "infinit", -np.inf: ""}


@pytest.mark.parametrize("bad", BAD)
@every_family
def test_values_without_density_are_refused_by_name(name, bad):
    X, y = rows_of(name, n=40_000, d=5)
    y = y.astype(str)
    model = learned(name, X, y)
    X[37_000, 3] = bad
    X[39_000, 1] = bad
    if name == "exponential" and bad == 0.0:
        learned(name, X, y)
        return
    message = BAD[bad] if name != "exponential" or bad > 0 else "Negative values|infinit"
    for rows in (X, sparse.csr_array(X)) if bad else (X,):
        with pytest.raises(
            InvalidValueError,
            match=rf"row 37000, column 3.*({message})|{message}.*row 37000, column 3",
        ):
            learned(name, rows, y, jobs=workers(2))
        with pytest.raises(InvalidValueError, match="row 37000, column 3"):
            model.posterior().proba(rows)


@every_positive_family
def test_sparse_rows_hold_zeros(name):
    X, y = rows_of(name, n=30)
    full = sparse.csr_array(X)
    assert_same(learned(name, X, y), learned(name, full, y), X)
    assert_array_equal(
        learned(name, X, y).posterior().proba(full), learned(name, X, y).posterior().proba(X)
    )
    X[11, 2] = 0.0
    with pytest.raises(InvalidValueError, match="row 11, column 2 is 0, not above 0"):
        learned(name, sparse.csr_array(X), y)


@pytest.mark.parametrize("dtype", ["float32", "int64", ">f8", "uint8"])
@every_family
def test_other_numbers(name, dtype):
    X = np.random.default_rng(0).integers(1, 100, (50, 3)).astype(dtype)
    y = np.arange(50) % 3
    plain = X.astype(np.float64)
    model = learned(name, plain, y)
    if dtype != ">f8" or name != "exponential":  # the estimators turn the bytes round
        assert_same(model, learned(name, X, y), plain)
        assert_array_equal(model.posterior().proba(X), model.posterior().proba(plain))


@pytest.mark.parametrize(
    "wrong", [{"ddof": 2}, {"var_smoothing": -1.0}, {"var_smoothing": math.inf}, {"ddof": "0"}]
)
def test_wrong_hyperparameters(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LogNormal(**wrong)


@every_family
def test_families_can_be_pickled_and_compared(name):
    family = FAMILIES[name]
    assert pickle.loads(pickle.dumps(family)) == family
    assert family.summary == family.summary
