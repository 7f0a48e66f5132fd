"""Parameters set after `fit`: `reestimate` gives the model of a new fit, or refuses."""

import copy
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import naively
from naively import (
    AutoBayes,
    BernoulliNB,
    Categorical,
    CategoricalNB,
    ComplementNB,
    Discretized,
    Gaussian,
    GaussianBayes,
    GaussianNB,
    JointBayes,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    Student,
    Text,
    TextNB,
)

rng = np.random.default_rng(1763)
y = rng.choice(["a", "b", "c"], 120, p=[0.5, 0.3, 0.2])
own = np.unique(y, return_inverse=True)[1]
COUNTS = rng.poisson(rng.gamma(2.0, 1.0, (3, 4))[own])
NUMBERS = rng.normal(own[:, np.newaxis], [1.0, 2.0, 0.5], (120, 3))
LEVELS = np.column_stack([rng.integers(0, k, 120) for k in (2, 3, 4)])
TEXTS = [" ".join(rng.choice(["win", "free", "lunch", "noon", "we", label], 5)) for label in y]
TABLE = pd.DataFrame({
    "x": NUMBERS[:, 0], "w": NUMBERS[:, 1], "whole": (100 * NUMBERS[:, 2]).astype(int),
    "job": [f"l{k}" for k in LEVELS[:, 2]], "town": [f"t{k}" for k in LEVELS[:, 1]],
    "many": COUNTS.sum(axis=1), "yes": LEVELS[:, 0] == 1, "body": TEXTS,
})  # fmt: skip
NAMED = {"job": Categorical(), "body": Text()}
GIVEN = [0.5, 0.25, 0.25]

READ = [
    (GaussianNB(), NUMBERS, [
        {"tie": "classes"}, {"ddof": 1}, {"var_smoothing": 0.1}, {"floor": "feature"},
        {"priors": GIVEN}, {"priors": {"a": 0.9, "b": 0.05}}, {"prior_smoothing": 5.0},
        {"tie": "both", "ddof": 1, "priors": "uniform"},
    ]),
    (MultinomialNB(), COUNTS, [
        {"alpha": 0.1}, {"alpha": [1.0, 2, 3, 4]}, {"fit_prior": False}, {"class_prior": GIVEN},
        {"alpha": 0.0, "force_alpha": False}, {"prior_smoothing": [1, 2, 3]},
    ]),
    (ComplementNB(), COUNTS, [{"alpha": 0.1}, {"norm": True}, {"class_prior": GIVEN}]),
    (BernoulliNB(), COUNTS, [{"alpha": 0.1}, {"alpha": [[[1.0, 2.0]] * 4]}]),
    (PoissonNB(), COUNTS, [{"alpha": 0.1}]),
    (CategoricalNB(), LEVELS, [
        {"alpha": 0.1}, {"min_categories": 9}, {"unseen": "ignore"},
        {"alpha": [{0: 3}, {}, {5: 1}]},
    ]),
    (GaussianBayes(), NUMBERS, [
        {"shrinkage": "auto"}, {"ddof": 1}, {"prior": GIVEN}, {"prior_smoothing": 5.0},
    ]),
    (GaussianBayes("diagonal"), NUMBERS, [{"covariance": "tied_spherical"}, {"shrinkage": 0.5}]),
    (JointBayes(), LEVELS, [{"alpha": 0.1}, {"min_categories": 9}, {"prior": "uniform"}]),
    (AutoBayes(), TABLE.drop(columns="body"), [
        {"interactions": 0}, {"interactions": 2}, {"prior": GIVEN}, {"prior_smoothing": 9.0},
    ]),
    (TextNB(weights=None), TEXTS, [
        {"alpha": 0.1}, {"alpha": {"free": 5}}, {"event": "complement", "norm": True},
        {"prior": "uniform"}, {"prior_smoothing": {"a": 50}},
    ]),
    (TextNB("binary", max_df=0.9), TEXTS, [{"min_df": 5}, {"max_features": 3}, {"max_df": 80}]),
    (TextNB(weighting="tfidf"), TEXTS, [{"alpha": 0.1}]),
    (NaiveBayes(), TABLE, [
        {"alpha": 0.1}, {"unseen": "ignore"}, {"prior": GIVEN}, {"alpha": 3.0, "prior": "uniform"},
    ]),
    (NaiveBayes(NAMED), TABLE, [
        {"alpha": 0.1}, {"columns__job__alpha": 5.0}, {"columns__body__event": "complement"},
        {"columns": {"body": Text(alpha=2.0), "job": Categorical({"l0": 3.0})}, "alpha": 2.0},
    ]),
    (NaiveBayes({"body": Text(weighting="tfidf")}), TABLE, [{"columns__body__alpha": 0.1}]),
    (NaiveBayes(family=Gaussian()), TABLE, [
        {"family": Gaussian("classes")}, {"family": Student()}, {"family__ddof": 1},
        {"family": "gaussian", "alpha": 0.5},
    ]),
    (NaiveBayes(family="gaussian"), TABLE, [{"family": Gaussian("both")}, {"family": "student"}]),
    (NaiveBayes(family=Discretized()), TABLE, [{"family__alpha": 3.0}, {"alpha": 3.0}]),
    (NaiveBayes(family="auto"), TABLE, [{"prior": "uniform"}]),
]  # fmt: skip
SETTINGS = [(model, X, one) for model, X, each in READ for one in each]


def names(value):
    return str(value) if isinstance(value, dict) else type(value).__name__


@pytest.mark.parametrize(("model", "X", "setting"), SETTINGS, ids=names)
def test_what_is_estimated_again_is_a_new_fit(model, X, setting, tmp_path):
    """Bit for bit: of a fitted model, loaded, pickled or copied; and back."""
    model = clone(model).fit(X, y)
    before = model.predict_log_proba(X)
    model.save(tmp_path / "m")
    others = [naively.load(tmp_path / "m"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    fresh = clone(model).set_params(**setting).fit(X, y)
    expected = fresh.predict_log_proba(X)
    for one in [model, *others]:
        old = one.get_params()
        assert_array_equal(one.set_params(**setting).predict_log_proba(X), before)  # not yet
        assert_array_equal(one.reestimate().predict_log_proba(X), expected)
        assert_array_equal(one.class_prior_, fresh.class_prior_)
        assert one.n_parameters_ == fresh.n_parameters_
        one.save(tmp_path / "again")
        assert_array_equal(naively.load(tmp_path / "again").predict_log_proba(X), expected)
        assert_array_equal(one.set_params(**old).reestimate().predict_log_proba(X), before)


@pytest.mark.parametrize(("model", "X", "setting"), SETTINGS[::3], ids=names)
def test_learning_goes_on_under_parameters_that_were_set(model, X, setting):
    whole = clone(model).set_params(**setting).fit(X, y)
    first = pd.DataFrame(X).iloc[:90] if isinstance(X, pd.DataFrame) else X[:90]
    rest = pd.DataFrame(X).iloc[90:] if isinstance(X, pd.DataFrame) else X[90:]
    part = clone(model).fit(first, y[:90]).set_params(**setting)
    if type(model) is AutoBayes or getattr(model, "weighting", None) or "family" in str(model):
        return  # what families are inferred from, or refer to, are the first rows alone
    part.partial_fit(rest, y[90:])
    if not isinstance(X, pd.DataFrame):
        assert_array_equal(part.predict_log_proba(X), whole.predict_log_proba(X))
    part.forget(rest, y[90:])
    same = clone(model).set_params(**setting).fit(first, y[:90])
    assert_array_equal(part.predict_log_proba(first), same.predict_log_proba(first))


REFUSED = [
    (BernoulliNB(), COUNTS, {"binarize": 2.0}, "binarize 0.0 and 2.0"),
    (GaussianBayes(), NUMBERS, {"covariance": "diagonal"}, "multivariate"),
    (AutoBayes(), LEVELS, {"limit": 10}, "limit 1000000 and 10"),
    (AutoBayes(), LEVELS, {"missing": ("x",)}, "`missing`"),
    (JointBayes(), LEVELS, {"missing": ("x",)}, "`missing`"),
    (TextNB(), TEXTS, {"ngram_range": (1, 2)}, r"ngram_range \(1, 1\) and \(1, 2\)"),
    (TextNB(), TEXTS, {"weighting": "tfidf"}, "weighting None and 'tfidf'"),
    (NaiveBayes(NAMED), TABLE, {"columns__body__lowercase": False}, "'body'.* lowercase"),
    (NaiveBayes(NAMED), TABLE, {"columns": {"job": "skip", "body": "text"}}, "'job'"),
    (NaiveBayes(NAMED), TABLE, {"columns": None}, "`columns`"),
    (NaiveBayes(), TABLE, {"columns": {"x": "kernel_density"}}, "`columns`"),
    (NaiveBayes(), TABLE, {"family": "gaussian"}, "`family`"),
    (NaiveBayes(), TABLE, {"family": "auto"}, "`family`"),
    (NaiveBayes(family="gaussian"), TABLE, {"family": "kernel_density"}, "gaussian and kernel"),
    (NaiveBayes(), TABLE, {"missing": ("l0",)}, "`missing`"),
    (MultinomialNB(), COUNTS, {"alpha": "auto"}, "auto"),
    (NaiveBayes(), TABLE, {"alpha": "auto"}, "auto"),
]


@pytest.mark.parametrize(("model", "X", "setting", "message"), REFUSED, ids=names)
def test_what_was_counted_otherwise_is_refused_until_it_is_fitted_again(model, X, setting, message):
    model = clone(model).fit(X, y)
    before, old = model.predict_proba(X), model.get_params()
    model.set_params(**setting)
    assert_array_equal(model.predict_proba(X), before)
    for learn in (lambda X: model.reestimate(), lambda X: model.partial_fit(X, y),
                  lambda X: model.forget(X, y), lambda X: model + model):  # fmt: skip
        with pytest.raises(ValueError, match=message) as caught:
            learn(X)
        assert "fit" in str(caught.value)
        assert "again" in str(caught.value)
    kept = clone(model).set_params(**old)
    assert_array_equal(model.set_params(**old).reestimate().predict_proba(X), before)
    assert model.model_ == kept.fit(X, y).model_
    model.set_params(**setting).fit(X, y)
    assert_array_equal(
        model.predict_proba(X), clone(model).set_params(**setting).fit(X, y).predict_proba(X)
    )


@pytest.mark.parametrize(("model", "X", "setting", "message"), [
    (GaussianNB(), NUMBERS, {"tie": "rows"}, "tie"), (GaussianNB(), NUMBERS, {"ddof": 2}, "ddof"),
    (MultinomialNB(), COUNTS, {"alpha": -1.0}, "alpha"),
    (MultinomialNB(), COUNTS, {"alpha": [1.0, 2.0]}, "alpha"),
    (TextNB(), TEXTS, {"alpha": {"fre": 1.0}}, "'fre'"),
    (NaiveBayes(), TABLE, {"prior": {"a": 0.5, "z": 0.5}}, "'b', 'c'"),
    (NaiveBayes(), TABLE, {"prior": [0.5, 0.5]}, "Number of priors"),
    (JointBayes(), LEVELS, {"min_categories": [1, 2]}, "min_categories"),
], ids=names)  # fmt: skip
def test_parameters_that_are_invalid_are_refused(model, X, setting, message):
    model = clone(model).fit(X, y)
    before, old = model.predict_proba(X), model.get_params()
    model.set_params(**setting)
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            model.reestimate()
        assert_array_equal(model.predict_proba(X), before)
    assert_array_equal(model.set_params(**old).reestimate().predict_proba(X), before)


def test_smoothing_that_was_chosen_stays_until_it_is_set():
    model = MultinomialNB(alpha="auto").fit(COUNTS, y)
    chosen = model.alpha_
    assert model.set_params(fit_prior=False).reestimate().alpha_ == chosen
    assert model.set_params(alpha=7.0).reestimate().alpha_ == 7.0
    with pytest.raises(ValueError, match="chosen when `fit` is called"):
        model.set_params(alpha="auto").reestimate()
    table = NaiveBayes(alpha="auto").fit(TABLE, y)
    chosen = table.alpha_
    assert table.set_params(prior="uniform").reestimate().alpha_ == chosen


def test_families_of_another_model_stay_but_for_what_is_set():
    """A model that was fitted `like` another has its families, not those of its own parameters."""
    other = NaiveBayes(alpha=5.0).fit(TABLE, y)
    model = NaiveBayes().fit(TABLE, y, like=other)
    expected = other.predict_proba(TABLE)
    assert_array_equal(model.set_params(n_jobs=1).reestimate().predict_proba(TABLE), expected)
    model.set_params(alpha=0.5).reestimate()
    plain = NaiveBayes(alpha=0.5).fit(TABLE, y)
    assert_array_equal(model.predict_proba(TABLE), plain.predict_proba(TABLE))


def test_one_thread_sets_and_learns_while_others_predict():
    """Nothing that is learned gets lost, and each answer is that of one setting and one state."""
    model = MultinomialNB().fit(COUNTS, y)
    seen, stop = [], threading.Event()

    def ask():
        while not stop.is_set():
            seen.append(model.predict_proba(COUNTS[:1]))

    askers = [threading.Thread(target=ask) for _ in range(2)]
    for one in askers:
        one.start()
    for k in range(60):
        model.set_params(alpha=float(k + 1)).partial_fit(COUNTS, y)
    stop.set()
    for one in askers:
        one.join()
    expected = MultinomialNB(alpha=60.0).fit(np.tile(COUNTS, (61, 1)), np.tile(y, 61))
    assert model.model_ == expected.model_
    assert_array_equal(model.predict_proba(COUNTS), expected.predict_proba(COUNTS))
    assert len(seen) > 0


def test_an_old_posterior_stays_as_it_was():
    """It may still read the sums, which then must not change under it."""
    model = MultinomialNB().fit(COUNTS, y)
    old = model.model_.posterior()
    model.set_params(alpha=0.01).reestimate()
    model.partial_fit(COUNTS, y)
    kept = MultinomialNB().fit(COUNTS, y)
    assert_array_equal(old.proba(COUNTS), kept.predict_proba(COUNTS))
