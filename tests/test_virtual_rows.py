"""MAP estimates of means and variances by virtual rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import minimize
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB as Reference

import naively
from naively import Gaussian, GaussianBayes, GaussianNB, NaiveBayes
from naively.model.posterior import SingularModelError

X, Y = load_iris(return_X_y=True)
NAN = float("nan")
TIES = (None, "classes", "features", "both")
alphas = st.floats(1e-3, 1e3)


def with_rows(X, y, alpha):
    """(rows, labels, weights) with α rows a class, of the mean and variances of all rows.

    They lie on the axes through the mean, so that their features are not correlated.
    """
    d = X.shape[1]
    axes = np.sqrt(d) * np.diag(X.std(axis=0))
    rows = np.vstack([X.mean(axis=0) + axes, X.mean(axis=0) - axes])
    classes = np.unique(y)
    weights = np.full(len(classes) * len(rows), alpha / len(rows))
    return (
        np.vstack([X, *[rows] * len(classes)]),
        np.append(y, np.repeat(classes, len(rows))),
        np.append(np.ones(len(X)), weights),
    )


@given(alphas)
def test_estimates_are_those_of_scikit_learn_with_the_rows(alpha):
    reference = Reference(var_smoothing=0).fit(*with_rows(X, Y, alpha))
    model = GaussianNB(alpha=alpha, var_smoothing=0).fit(X, Y)
    assert_allclose(model.theta_, reference.theta_, rtol=1e-12)
    assert_allclose(model.var_, reference.var_, rtol=1e-10)
    assert_allclose(model.class_prior_, [1 / 3] * 3)  # no class has more rows for it


@pytest.mark.parametrize("tie", TIES)
def test_tied_variances_are_those_of_the_rows_with_them(tie):
    expected = GaussianNB(tie=tie, var_smoothing=0).fit(*with_rows(X, Y, 2.5)).var_
    assert_allclose(GaussianNB(tie=tie, alpha=2.5, var_smoothing=0).fit(X, Y).var_, expected)


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "tied_diagonal", "spherical"])
@pytest.mark.parametrize("alpha", [0.1, 3.0])
def test_covariances_are_those_of_the_rows_with_them(covariance, alpha):
    expected = GaussianBayes(covariance).fit(*with_rows(X, Y, alpha))
    model = GaussianBayes(covariance, alpha=alpha).fit(X, Y)
    assert_allclose(model.means_, expected.means_, rtol=1e-12)
    assert_allclose(model.covariance_, expected.covariance_, rtol=1e-8)


def test_the_estimate_is_the_mode_of_the_posterior():
    x, alpha = X[Y == 0, 0], 6.0
    middle, spread = X[:, 0].mean(), X[:, 0].var()
    prior = stats.invgamma((alpha - 3) / 2, scale=alpha * spread / 2)

    def density(parameters):
        mean, variance = parameters[0], np.exp(parameters[1])
        of_mean = stats.norm(middle, np.sqrt(variance / alpha)).logpdf(mean)
        rows = stats.norm(mean, np.sqrt(variance)).logpdf(x).sum()
        return -(of_mean + prior.logpdf(variance) + rows)

    found = minimize(density, [x.mean(), np.log(x.var())], method="Nelder-Mead", tol=1e-12).x
    model = GaussianNB(alpha=alpha, var_smoothing=0).fit(X[:, :1], Y)
    assert_allclose([model.theta_[0, 0], np.log(model.var_[0, 0])], found, atol=1e-5)


def test_none_is_maximum_likelihood_and_many_are_the_prior():
    plain = GaussianNB().fit(X, Y)
    assert_allclose(GaussianNB(alpha=1e-12).fit(X, Y).var_, plain.var_, rtol=1e-9)
    prior = GaussianNB(alpha=1e12, var_smoothing=0).fit(X, Y)
    assert_allclose(prior.theta_, [X.mean(axis=0)] * 3, rtol=1e-9)
    assert_allclose(prior.var_, [X.var(axis=0)] * 3, rtol=1e-9)


def test_a_class_without_a_value_has_the_prior_there():
    rows = X.copy()
    rows[Y == 1, 2] = NAN
    known = rows[Y != 1, 2]
    for model in (GaussianNB(alpha=2.0, var_smoothing=0), GaussianBayes("full", alpha=2.0)):
        model.fit(rows, Y)
        (mean, variance) = model.model_.posterior().parameters.normal()
        variance = np.diagonal(variance, axis1=1, axis2=2) if variance.ndim == 3 else variance
        assert_allclose([mean[1, 2], variance[1, 2]], [known.mean(), known.var()], rtol=1e-12)


@given(st.floats(-1e300, 1e300), alphas)
def test_a_constant_is_no_evidence(value, alpha):
    rows = np.column_stack([X[:, :1], np.full(len(X), value)])
    model = GaussianNB(alpha=alpha, floor="feature").fit(rows, Y)
    alone = GaussianNB(alpha=alpha, floor="feature").fit(X[:, :1], Y)
    assert_array_equal(model.theta_[:, 1], value)
    assert_allclose(model.predict_proba(rows), alone.predict_proba(X[:, :1]), rtol=1e-12)


def test_a_constant_in_a_class_does_not_decide_alone():
    rows = np.array([[0, 1.0], [0, 1.2], [0, 0.9], [1, 3.0], [2, 3.2], [0, 2.9]])
    labels = [0, 0, 0, 1, 1, 1]
    near = [[0.5, 1.0]]  # like the first class, but for half a unit of what never varied there
    assert GaussianNB().fit(rows, labels).predict(near) == [1]
    model = GaussianNB(alpha=1.0).fit(rows, labels)
    assert model.predict(near) == [0]
    assert model.predict_proba(near)[0, 0] > 0.9


def test_few_rows_have_a_covariance():
    few = np.vstack([X[:2], X[50:52]])
    with pytest.raises(SingularModelError, match="4 features need at least 5 rows"):
        GaussianBayes().fit(few, [0, 0, 1, 1])
    model = GaussianBayes(alpha=1.0).fit(few, [0, 0, 1, 1])
    assert_array_equal(model.predict(few), [0, 0, 1, 1])


def test_tables_have_them_as_a_hyperparameter_of_the_family(tmp_path):
    names = [f"x{j}" for j in range(4)]
    table = dict(zip(names, X.T, strict=True))
    family = Gaussian(floor="feature", alpha=2.0)
    model = NaiveBayes(dict.fromkeys(names, family)).fit(table, Y)
    expected = GaussianNB(floor="feature", alpha=2.0).fit(X, Y)
    assert_array_equal(model.predict_proba(table), expected.predict_proba(X))
    model.save(tmp_path / "m")
    assert_array_equal(
        naively.load(tmp_path / "m").predict_proba(table), model.predict_proba(table)
    )
    model.set_params(columns__x0__alpha=0.0).fit(table, Y)
    assert not np.array_equal(model.predict_proba(table), expected.predict_proba(X))


def test_the_value_that_predicts_left_out_rows_best_can_be_found():
    model = GaussianNB(alpha="auto").fit(X, Y)
    tried = [GaussianNB(alpha=10.0 ** (k / 4)) for k in range(-12, 9)]
    best = min(tried, key=lambda one: one.out_of_fold(X, Y).log_loss)
    assert model.alpha_ == best.alpha > 1e-3


@pytest.mark.parametrize("alpha", [-1.0, np.inf, 1e101, NAN, "some", [1.0], True, None])
@pytest.mark.parametrize("kind", [GaussianNB, GaussianBayes])
def test_numbers_of_rows_that_there_are_not(kind, alpha):
    with pytest.raises(ValueError, match="alpha must be a number of virtual rows from 0 to 1e100"):
        kind(alpha=alpha).fit(X, Y)


def test_digits(data_folder):
    tables = [
        np.loadtxt(data_folder / "optdigits" / f"optdigits.{part}.gz", delimiter=",")
        for part in ("tra", "tes")
    ]
    (X, y), (X_test, y_test) = ((table[:, :-1], table[:, -1]) for table in tables)
    plain, virtual = GaussianNB().fit(X, y), GaussianNB(alpha=1.0).fit(X, y)
    assert 0.21 < np.mean(plain.predict(X_test) != y_test) < 0.22
    assert 0.11 < np.mean(virtual.predict(X_test) != y_test) < 0.12
    losses = [log_loss(y_test, one.predict_proba(X_test)) for one in (plain, virtual)]
    assert losses[1] < losses[0]
