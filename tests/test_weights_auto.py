"""`NaiveBayes(weights="auto")`: weights instead of the plain product."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import naively
from naively import AutoBayes, NaiveBayes


@pytest.fixture(scope="module")
def rows():
    """A number, five copies of it, and levels that tell nothing."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=500)
    X = pd.DataFrame({f"copy {k}": x for k in range(6)} | {"level": draw.choice(list("abc"), 500)})
    return X, np.where(x + draw.normal(size=500) > 0, "yes", "no")


def test_it_is_weighed_evidence_of_columns(rows, tmp_path):
    X, y = rows
    model = NaiveBayes(weights="auto").fit(X, y)
    expected = AutoBayes(interactions=0).fit(X, y).predict_proba(X)
    assert_array_equal(model.predict_proba(X), expected)
    total = NaiveBayes(weights="auto").fit(X[:200], y[:200])
    total += NaiveBayes(weights="auto").fit(X[200:], y[200:])
    assert total.model_ == model.model_
    model.save(tmp_path / "m")
    loaded = naively.load(tmp_path / "m")
    assert loaded.weights == "auto"
    assert_array_equal(loaded.predict_proba(X), expected)


def test_copies_of_a_column_count_once(rows):
    X, y = rows
    naive, weighed = (NaiveBayes(weights=one).out_of_fold(X, y).log_loss for one in (None, "auto"))
    assert weighed < naive - 0.2


def test_columns_can_be_skipped(rows):
    X, y = rows
    model = NaiveBayes({"level": "skip"}, weights="auto").fit(X, y)
    assert "level" not in model.model_.schema.names


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"weights": "best"}, 'None or "auto"'),
        ({"weights": "auto", "family": "gamma"}, "`family`, alpha="),
        ({"weights": "auto", "alpha": "auto"}, "`family`, alpha="),
        ({"weights": "auto", "columns": {"copy 1": "gamma"}}, '`columns` may name "skip" alone'),
    ],
)
def test_what_does_not_go_with_it_is_refused(rows, wrong, said):
    with pytest.raises(ValueError, match=said):
        NaiveBayes(**wrong).fit(*rows)


def test_it_is_not_turned_on_or_off_after_fit(rows):
    X, y = rows
    for before, after in ((None, "auto"), ("auto", None)):
        model = NaiveBayes(weights=before).fit(X, y)
        with pytest.raises(ValueError, match="`weights` decides what is counted"):
            model.set_params(weights=after).reestimate()
