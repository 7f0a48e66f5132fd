"""Rows with missing cells where the training rows had none."""

import gc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from real import TABLES, real
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import log_loss
from test_duplicates import DATA

import naively
from naively import AutoBayes, NaiveBayes
from naively.families.auto_bayes.pooled import _Fit

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def halves(load):
    X, y = load(return_X_y=True, as_frame=True)
    y = y.to_numpy()
    return X[::2], y[::2], X[1::2], y[1::2]


def without(X, share, seed=0):
    """The same with a share of its cells missing, at random."""
    return X.mask(np.random.default_rng(seed).random(X.shape) < share)


def loss(model, X, y):
    return log_loss(y, model.predict_proba(X), labels=model.classes_)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_with_everything_missing_the_posterior_is_the_class_prior(load):
    X, y, Z, _ = halves(load)
    model = AutoBayes().fit(X, y)
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(
        model.predict_proba(without(Z, 1.1)), np.tile(shares, (len(Z), 1)), atol=1e-12
    )


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_what_is_left_is_as_good_as_naive_bayes_has_it(load, share):
    X, y, Z, t = halves(load)
    new = without(Z, share)
    prior = log_loss(t, np.tile(np.bincount(y) / len(y), (len(t), 1)))
    naive = loss(NaiveBayes().fit(X, y), new, t)
    assert loss(AutoBayes().fit(X, y), new, t) < 1.05 * min(1.2 * naive, prior)


def test_columns_that_a_new_file_does_not_have():
    X, y, Z, t = halves(load_iris)
    model = AutoBayes().fit(X, y)
    for name in X:
        alone = Z.assign(**{other: np.nan for other in X if other != name})
        assert loss(model, alone, t) < 1.02 * np.log(3)
    petals = [name for name in X if "petal" in name]
    assert loss(model, Z.assign(**dict.fromkeys(petals, np.nan)), t) < 0.75 * np.log(3)


def test_missing_values_of_the_training_rows_stay_evidence():
    """Whether a cell is missing tells the class; a cell that never was says nothing."""
    rng = np.random.default_rng(0)
    y = rng.random(1000) < 0.5
    X = pd.DataFrame(
        {"a": np.where(rng.random(1000) < 0.1 + 0.6 * y, np.nan, 1 + rng.random(1000))}
    )
    X["b"] = rng.normal(size=1000) + y
    model = AutoBayes().fit(X, y)
    odds = np.diff(model.predict_log_proba(pd.DataFrame({"a": [np.nan], "b": [0.5]})))[0, 0]
    assert odds == pytest.approx(np.log(0.7 / 0.1), abs=0.5)
    gone = pd.DataFrame({"a": [np.nan, 1.5], "b": [np.nan, np.nan]})
    assert np.abs(np.diff(model.predict_log_proba(gone))[0, 0]) < 0.2  # never together


def test_columns_that_are_missing_together():
    """A row in which one of them is missing alone is like none that was learned."""
    rng = np.random.default_rng(0)
    y = rng.random(900) < 0.4
    gone = rng.random(900) < 0.05 + 0.5 * y
    X = pd.DataFrame(rng.normal(size=(900, 4)) + y[:, None], columns=list("abcd"))
    X.loc[gone, ["a", "b", "c"]] = np.nan
    model = AutoBayes().fit(X, y)
    parameters = model.model_.posterior().parameters
    assert {(0, 1), (2, 1), (2, 0)} < {tuple(pair) for pair in parameters.plan.incomplete.together}
    row = X.iloc[[0]].assign(a=0.5, b=0.5, c=0.5, d=0.5)
    together, alone = row.assign(a=np.nan, b=np.nan, c=np.nan), row.assign(a=np.nan)
    odds = [np.diff(model.predict_log_proba(one))[0, 0] for one in (row, together, alone)]
    assert odds[1] - odds[0] > 1.5  # that they are missing is evidence
    assert abs(odds[2] - odds[0]) < 0.7


@given(st.integers(0, 1000), st.sampled_from([0.0, 0.2, 0.6, 1.0]))
def test_reasons_add_up_and_missing_cells_have_none(seed, share):
    X, y, Z, _ = halves(load_wine)
    model = AutoBayes(interactions=2).fit(X, y)
    new = without(Z, share, seed)
    told = model.explain(new)
    log_proba = model.predict_log_proba(new)
    total = told.contributions.sum(axis=2) + told.prior
    np.testing.assert_allclose(total - total[:, :1], log_proba - log_proba[:, :1], atol=1e-8)
    cells = np.abs(told.contributions).sum(axis=1)
    alone = new.isna().sum(axis=1).to_numpy() > len(X.columns) / 2  # without normal densities
    assert (cells[alone][new.isna().to_numpy()[alone]] == 0).all()
    together = model.explain(new, by_block=True)
    np.testing.assert_allclose(together.joint, told.joint, atol=1e-8)


def test_files_and_sums_have_it(tmp_path):
    X, y, Z, _ = halves(load_wine)
    model = AutoBayes().fit(X[:50], y[:50]) + AutoBayes().fit(X[50:], y[50:])
    model.save(tmp_path / "m")
    new = without(Z, 0.4)
    proba = AutoBayes().fit(X, y).predict_proba(new)
    np.testing.assert_array_equal(model.predict_proba(new), proba)
    np.testing.assert_array_equal(naively.load(tmp_path / "m").predict_proba(new), proba)


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="NAIVELY_DATA is not set")
@pytest.mark.parametrize("name", TABLES)
def test_real_rows(name):
    X, y = real(name)
    X, y = X[:1500], y[:1500]
    half = len(X) // 2
    model, naive = (
        AutoBayes(interactions=0).fit(X[:half], y[:half]),
        NaiveBayes().fit(X[:half], y[:half]),
    )
    rows = np.arange(len(X)) >= half
    rows &= np.isin(y, model.classes_)
    shares = np.exp(model.model_.posterior().log_prior)
    prior = log_loss(y[rows], np.tile(shares, (rows.sum(), 1)), labels=model.classes_)
    for share in (0.3, 0.5, 1.1):
        new = without(X[rows], share)
        assert loss(model, new, y[rows]) < 1.01 * max(prior, loss(naive, new, y[rows]))


def test_rows_left_out_are_predicted_as_by_refits():
    """The weights of incomplete rows are computed where a fold has such a row."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.iloc[[3, 77], 1] = np.nan  # two are too few to be familiar
    fold = np.arange(len(y)) % 3
    proba = AutoBayes().out_of_fold(X, y, 3, groups=fold).proba
    for k in range(3):
        refit = AutoBayes().fit(X[fold != k], y[fold != k])
        np.testing.assert_allclose(proba[fold == k], refit.predict_proba(X[fold == k]), atol=1e-12)


def test_a_fitted_model_lets_go_of_its_training_rows():
    X, y, _, _ = halves(load_wine)
    model = AutoBayes().fit(X, y)
    gc.collect()
    assert not any(isinstance(one, _Fit) for one in gc.get_objects())
    assert model.predict(X).shape == y.shape
