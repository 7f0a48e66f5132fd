"""Arrays for models with named columns, and the reverse, are matched by position with a warning."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import naively
from naively import AutoBayes, GaussianNB, JointBayes, NaiveBayes

UNNAMED = "X does not have valid feature names, but {} was fitted with feature names"
NAMED = "X has feature names, but {} was fitted without feature names"
KINDS = pytest.mark.parametrize("kind", [AutoBayes, NaiveBayes, JointBayes])
NAMES = ["x2", "x1", "x0"]  # those that an array would be given, in another order


def rows(kind=AutoBayes, n=120):
    """(an array of columns that tell different things, labels)."""
    generator = np.random.default_rng(3)
    y = generator.integers(0, 2, n)
    X = generator.normal(size=(n, 3)) + np.c_[2 * y, 0 * y, -y]
    return (X.round() if kind is JointBayes else X), y


def taken(kind, said=UNNAMED):
    """One warning, no other."""
    return pytest.warns(UserWarning, match=f"^{said.format(kind.__name__)}")


@KINDS
@pytest.mark.parametrize("names", [NAMES, ["age", "x0", "wage"]])
def test_an_array_is_matched_by_position(kind, names):
    X, y = rows(kind)
    frame = pd.DataFrame(X, columns=names)
    model = kind().fit(frame, y)
    expected = model.predict_proba(frame)
    for other in (X, X.tolist(), pd.DataFrame(X, columns=names).to_numpy(object)):
        with taken(kind) as met:
            assert model.predict_proba(other).tolist() == expected.tolist()
        assert [(len(met), one.filename) for one in met] == [(1, __file__)]
    with taken(kind):
        assert model.score(X, y) == model.score(frame, y)
    with taken(kind):
        assert model.log_likelihood(X, y, True) == model.log_likelihood(frame, y, True)
    with taken(kind):
        own = model.explain(X[:3])
    assert own.features == model.explain(frame[:3]).features
    assert own.contributions.tolist() == model.explain(frame[:3]).contributions.tolist()
    with taken(kind):
        changes = str(model.counterfactuals(X[:2]))
    assert changes == str(model.counterfactuals(frame[:2]))


@KINDS
def test_learning_and_forgetting_arrays_is_by_position_too(kind):
    X, y = rows(kind)
    frame, half = pd.DataFrame(X, columns=NAMES), slice(60, None)
    model, whole = kind().fit(frame[:60], y[:60]), kind().fit(frame, y)
    before = model.predict_proba(frame)
    with taken(kind) as met:
        model.partial_fit(X[half], y[half])
    assert met[0].filename == __file__
    assert model.predict_proba(frame).tolist() == whole.predict_proba(frame).tolist()
    assert model.feature_names_in_.tolist() == NAMES
    with taken(kind):
        model.forget(X[half], y[half])
    assert model.predict_proba(frame).tolist() == before.tolist()
    with taken(kind):
        alike = kind().fit(X, y, like=whole)
    assert alike.feature_names_in_.tolist() == NAMES


def test_drift_of_an_array_is_that_of_its_columns():
    X, y = rows()
    frame = pd.DataFrame(X, columns=NAMES)
    model = NaiveBayes().fit(frame, y)
    moved = X + np.array([0.0, 0.0, 5.0])
    with taken(NaiveBayes):
        found = naively.drift(model, moved)
    assert found.drifted == ["x0"]
    assert found.to_dict() == naively.drift(model, pd.DataFrame(moved, columns=NAMES)).to_dict()


def test_a_sparse_matrix_is_matched_by_position():
    counts = np.random.default_rng(1).poisson(2, (60, 3))
    frame, y = pd.DataFrame(counts, columns=NAMES), np.arange(60) % 2
    model = NaiveBayes().fit(frame, y)
    with taken(NaiveBayes):
        found = model.predict_proba(csr_matrix(counts))
    assert found.tolist() == model.predict_proba(frame).tolist()


@KINDS
@pytest.mark.parametrize("width", [1, 2, 4])
def test_an_array_of_another_width_is_refused_as_by_scikit_learn(kind, width):
    X, y = rows(kind)
    model = kind().fit(pd.DataFrame(X, columns=["x0", "id", "x1"]), y)
    said = f"X has {width} features, but {kind.__name__} is expecting 3 features as input"
    wide = np.c_[X, X][:, :width]
    for ask in (
        model.predict,
        lambda one: model.partial_fit(one, y),
        lambda one: model.score(one, y),
    ):
        with pytest.raises(ValueError, match=said):
            ask(wide)
    with pytest.raises(ValueError, match=f"X has {width} features, but {kind.__name__} is exp"):
        naively.drift(model, wide)


@KINDS
def test_a_frame_for_a_model_of_an_array_goes_by_position(kind):
    X, y = rows(kind)
    model = kind().fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    expected = model.predict_proba(X)
    named = pd.DataFrame(X, columns=["c", "b", "a"])
    for other in (named, pl.DataFrame(named), pa.table(named), named.to_dict("list")):
        with taken(kind, NAMED):
            assert model.predict_proba(other).tolist() == expected.tolist()
    with taken(kind, NAMED):
        assert model.score(named.assign(label=y), "label") == model.score(X, y)
    with taken(kind, NAMED):
        model.partial_fit(named.assign(label=y), "label")
    assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="X has none of the features of the model"):
        model.predict(named[["a", "b"]])


@KINDS
def test_names_as_those_of_an_array_are_names(kind):
    """What a frame names x0 is the first column of the array that was learned, wherever it is."""
    X, y = rows(kind)
    model = kind().fit(X, y)
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict_proba(frame[NAMES]).tolist() == model.predict_proba(X).tolist()
        again = kind().fit(frame, y).partial_fit(X, y)
        assert again.predict(X).tolist() == again.predict(frame).tolist()


def test_the_label_may_be_a_column_of_the_array():
    X, y = rows()
    table = np.c_[y, X]
    model = NaiveBayes().fit(table, "x0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score = model.score(table, "x0")
    with taken(NaiveBayes):
        assert model.score(X, y) == score > 0.7


@given(st.permutations(["x0", "x1", "x2", "a", "customer_id"]), st.integers(3, 5))
def test_any_names_give_the_answers_of_scikit_learn(names, width):
    """`GaussianNB`, whose arrays scikit-learn checks, is the oracle: both say what it says."""
    X, y = rows(n=40)
    X = np.c_[X, X[:, ::-1]][:, :width]
    frame = pd.DataFrame(X, columns=names[:width])
    oracle = GaussianNB().fit(frame, y)
    model = NaiveBayes(family=naively.Gaussian()).fit(frame, y)
    said = [[], []]
    invented = names[:width] == ["x0", "x1", "x2"]
    for one, met in zip((oracle, model), said, strict=True):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            met += one.predict_proba(X).tolist()
        met += [str(w.message)[:40] for w in seen if not invented]
    assert np.allclose(said[0][:40], said[1][:40])
    assert said[0][40:] == said[1][40:]
