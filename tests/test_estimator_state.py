"""Attributes of estimators that other tools use: state, importances, decisions, names."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.pipeline import make_pipeline

from naively import (
    NBSVM,
    AutoBayes,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianBayes,
    GaussianNB,
    JointBayes,
    MultilabelNB,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    TextNB,
)
from naively.export.js import to_js

ROWS = np.array([[1, 2], [0, 1], [4, 3], [5, 5], [2, 1], [6, 4]] * 4, float)
LABELS = np.array(["a", "a", "b", "b", "a", "b"] * 4)
TABLE = {"x": ROWS[:, 0].tolist(), "colour": ["red", "red", "blue", "red", "blue", "blue"] * 4}
MAILS = ["win a prize", "at noon", "free prize", "see you at noon", "win, win", "noon, lunch"] * 4
SETS = [[label] for label in LABELS.tolist()]

FITTED = [
    *((kind, ROWS, LABELS) for kind in (
        GaussianNB, GaussianBayes, MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB,
        PoissonNB,
    )),
    *((kind, TABLE, LABELS) for kind in (AutoBayes, NaiveBayes, JointBayes)),
    (TextNB, MAILS, LABELS),
    (NBSVM, MAILS, LABELS),
    (MultilabelNB, MAILS, SETS),
]  # fmt: skip
NAMED = pytest.mark.parametrize(
    ("kind", "X", "y"), FITTED, ids=[kind.__name__ for kind, _, _ in FITTED]
)


# ---- state ---------------------------------------------------------------------------------------


@NAMED
def test_every_protocol_gives_the_same_bits(kind, X, y):
    model = kind().fit(X, y)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        other = pickle.loads(pickle.dumps(model, protocol))
        assert other.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
        assert other.get_params() == model.get_params()


@NAMED
def test_state_is_plain_values_and_the_bytes_of_a_file(kind, X, y):
    state = kind().fit(X, y).__getstate__()
    plain = (str, bytes, int, float, tuple, list, dict, type(None), np.ndarray, TextNB)
    assert all(isinstance(value, plain) for value in state.values())


@NAMED
def test_an_estimator_that_learned_nothing_has_state_too(kind, X, y):
    other = pickle.loads(pickle.dumps(kind()))
    with pytest.raises(NotFittedError):
        other.predict(X)
    expected = kind().fit(X, y).predict_proba(X)
    assert other.fit(X, y).predict_proba(X).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "how", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_parameters_set_since_are_still_to_come(how):
    model = NaiveBayes().fit(TABLE, LABELS)
    before = model.predict_proba(TABLE)
    model.set_params(alpha=5.0)
    other = how(model)
    assert other.predict_proba(TABLE).tobytes() == before.tobytes()
    anew = NaiveBayes(alpha=5.0).fit(TABLE, LABELS)
    assert other.reestimate().predict_proba(TABLE).tobytes() == anew.predict_proba(TABLE).tobytes()


def test_named_parts_are_in_it():
    model = NaiveBayes().partial_fit(TABLE, LABELS).partial_fit(TABLE, LABELS[::-1], part="more")
    other = pickle.loads(pickle.dumps(model, 0)).forget(part="more")
    alone = NaiveBayes().fit(TABLE, LABELS)
    assert other.predict_proba(TABLE).tobytes() == alone.predict_proba(TABLE).tobytes()


def test_a_function_in_a_parameter_is_pickled_as_pickle_does():
    model = TextNB(analyzer=str.split).fit(MAILS, LABELS)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        other = pickle.loads(pickle.dumps(model, protocol))
        assert other.predict_proba(MAILS).tobytes() == model.predict_proba(MAILS).tobytes()


def test_a_damaged_state_says_so():
    model = GaussianNB().fit(ROWS, LABELS)
    state = model.__getstate__()
    content = bytearray(state["saved"])
    content[-1] ^= 1
    with pytest.raises(ValueError, match="the state of this GaussianNB is a damaged model file"):
        GaussianNB().__setstate__(state | {"saved": bytes(content)})


# ---- decisions and importances -------------------------------------------------------------------


@NAMED
def test_decisions_of_two_classes_are_log_odds(kind, X, y):
    if kind in (NBSVM, MultilabelNB):  # which have their own
        return
    model = kind().fit(X, y)
    decisions, logs = model.decision_function(X), model.predict_log_proba(X)
    np.testing.assert_array_equal(decisions, logs[:, 1] - logs[:, 0])
    assert ((decisions > 0) == (model.predict(X) == model.classes_[1])).all()


def test_decisions_of_more_classes_are_of_each():
    X, y = load_wine(return_X_y=True)
    model = GaussianNB().fit(X, y)
    assert (model.decision_function(X).argmax(axis=1) == model.predict(X)).all()
    np.testing.assert_allclose(np.exp(model.decision_function(X)), model.predict_proba(X))


@pytest.mark.parametrize("kind", [AutoBayes, NaiveBayes, GaussianNB, GaussianBayes])
def test_importances_are_those_of_the_summary(kind):
    wine = load_wine(as_frame=True)
    model = kind().fit(wine.data, wine.target)
    shown = model.summary().to_frame().set_index("feature")["importance"]
    assert model.feature_importances_.tolist() == shown[wine.data.columns].tolist()


def test_importance_is_the_mean_absolute_contribution():
    model = AutoBayes(interactions=0).fit(TABLE, LABELS)
    added = model.explain(TABLE).contributions
    expected = np.abs(added[:, 1] - added[:, 0]).mean(axis=0)
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-6)


def test_a_column_that_does_not_count_has_importance_0():
    model = NaiveBayes().fit({"same": ["a"] * 24, **TABLE}, LABELS)
    assert model.feature_names_in_.tolist() == ["same", "x", "colour"]
    assert model.feature_importances_[0] == 0 < model.feature_importances_[1:].min()


def test_features_are_selected():
    wine = load_wine(as_frame=True)
    best = wine.data.columns[GaussianNB().fit(wine.data, wine.target).feature_importances_.argmax()]
    chosen = RFE(GaussianNB(), n_features_to_select=2).fit(wine.data, wine.target)
    assert best in chosen.get_feature_names_out()
    chosen = SelectFromModel(NaiveBayes()).fit(wine.data, wine.target)
    assert best in chosen.get_feature_names_out()


# ---- texts, names, exports -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [TextNB, MultilabelNB])
def test_a_column_of_texts_is_texts(kind):
    y = SETS if kind is MultilabelNB else LABELS
    model = kind().fit(MAILS, y)
    column = np.array(MAILS, object)[:, np.newaxis]
    for X in (column, column.astype(str), pd.DataFrame({"text": MAILS})):
        assert kind().fit(X, y).predict_proba(X).tobytes() == model.predict_proba(MAILS).tobytes()


@pytest.mark.parametrize("kind", [TextNB, MultilabelNB])
def test_documents_are_no_number_of_features(kind):
    model = kind().fit(MAILS, SETS if kind is MultilabelNB else LABELS)
    assert not hasattr(model, "n_features_in_")
    assert not hasattr(model, "feature_importances_")


@pytest.mark.parametrize("kind", [AutoBayes, NaiveBayes, GaussianNB])
def test_names_that_were_switched_off_are_not_warned_of(kind):
    """SHAP does so, to pass arrays."""
    frame = pd.DataFrame(ROWS, columns=["one", "two"])
    model = kind().fit(frame, LABELS)
    expected = model.predict_proba(frame)
    model.feature_names_in_ = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict_proba(ROWS).tobytes() == expected.tobytes()


def test_estimators_are_exported():
    model = NaiveBayes().fit(TABLE, LABELS)
    assert to_js(model) == to_js(model.model_)
    with pytest.raises(NotFittedError):
        to_js(NaiveBayes())
    pipeline = make_pipeline(model)
    with pytest.raises(TypeError, match="not Pipeline; of a pipeline that is its last step"):
        to_js(pipeline)


def test_cross_validation_is_a_table_in_a_notebook():
    found = NaiveBayes().out_of_fold(TABLE, LABELS)
    page = found._repr_html_()
    assert "6-fold cross-validation" in page  # of six different rows
    assert f"{found.accuracy:.1%}" in page
    assert f"{found.baseline_log_loss:#.4g}" in page
