"""`fit` estimates; what changes a model after it leaves that to the first prediction."""

import copy
import pickle

import numpy as np
import pytest
from test_estimator_state import NAMED
from test_like import table

from naively import AutoBayes, MultilabelNB, TextNB

MAILS = [f"win {k} prizes at {k % 7} noon, see page {k % 11}" for k in range(60)]
SPAM = np.array(["spam", "ham", "ham"] * 20)
STORED = [
    (AutoBayes, *table(120)),
    (TextNB, MAILS, SPAM),
    (MultilabelNB, MAILS, [[label] for label in SPAM.tolist()]),
]
"""Estimators whose estimate is stored, and rows for them."""
EACH = pytest.mark.parametrize(
    ("kind", "X", "y"), STORED, ids=[kind.__name__ for kind, _, _ in STORED]
)


def estimate(model):
    return {name: array.tobytes() for name, array in model.model_.kept().items()}


@NAMED
def test_a_prediction_uses_the_estimate_of_fit(kind, X, y):
    model = kind().fit(X, y)
    posterior = model._posterior()
    model.predict(X)
    assert model._posterior() is posterior


@EACH
def test_only_fit_estimates(kind, X, y):
    fitted = kind().fit(X, y)
    assert estimate(fitted)
    assert estimate(pickle.loads(pickle.dumps(fitted))) == estimate(fitted)
    streamed = kind()
    for start in range(0, len(y), 20):
        streamed.partial_fit(X[start : start + 20], y[start : start + 20])
        assert not estimate(streamed)
    assert not estimate(fitted + streamed)
    streamed.predict(X)
    assert estimate(streamed) == estimate(fitted)


@EACH
def test_forgetting_leaves_the_estimate_to_the_next_prediction(kind, X, y):
    model, rest = kind().fit(X, y), kind().fit(X[20:], y[20:])
    model.forget(X[:20], y[:20])
    assert not estimate(model)
    model.predict(X)
    assert estimate(model) == estimate(rest)


@pytest.mark.parametrize("settings", [{"min_df": 100}, {"alpha": {"nowhere": 2.0}}])
def test_a_fit_that_cannot_estimate_changes_nothing(settings):
    model = TextNB().fit(MAILS, SPAM)
    before, proba = copy.copy(vars(model)), model.predict_proba(MAILS).tobytes()
    model.set_params(**settings)
    with pytest.raises(ValueError, match=r"no terms remain|not a term of the training data"):
        model.fit(MAILS[:10], SPAM[:10])
    model.set_params(**{name: before[name] for name in settings})
    assert vars(model) == before
    assert model.predict_proba(MAILS).tobytes() == proba
