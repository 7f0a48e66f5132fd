"""The terms that tell most about each class, in Python, as `naively inspect` lists them."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer
from test_cli import naive
from test_nbsvm import THREE, TWO

from naively import NBSVM, TextNB

MODELS = [TextNB(), TextNB("bernoulli"), TextNB("binary", ngram_range=(1, 2)), NBSVM()]


@pytest.mark.parametrize("model", [*MODELS, TextNB(models="auto")], ids=str)
@pytest.mark.parametrize("data", [TWO, THREE], ids=["two", "three"])
def test_they_are_those_that_inspect_lists(model, data, tmp_path, capsys):
    texts, y = data
    labels = np.array(["ant", "bee", "cat"])[y]
    model.fit(texts, labels)
    table = model.telling_terms(30).to_pylist()
    model.save(tmp_path / "m")
    out, _ = naive(capsys, "inspect", tmp_path / "m", "--json")
    told = json.loads(out)["texts"]["text"]["classes"]
    assert table == [{"class": one["class"], **term} for one in told for term in one["terms"]]
    assert {row["class"] for row in model.telling_terms(1).to_pylist()} <= set(labels)
    bits = dict(zip(model.terms_, model.information_, strict=True))
    for row in table:
        assert row["log_odds"] > 0
        assert row["bits"] == bits[row["term"]]


def test_of_a_support_vector_machine_they_are_its_weights():
    texts, y = TWO
    model = NBSVM().fit(texts, y)
    added = dict(zip(model.terms_, model.scale_ * model.coef_[0], strict=True))
    for row in model.telling_terms(40).to_pylist():
        assert row["log_odds"] == pytest.approx(added[row["term"]] * (1 if row["class"] else -1))
    for label in (0, 1):
        one, *_ = [row for row in model.telling_terms(5).to_pylist() if row["class"] == label]
        (why,) = model.explain([one["term"]])
        assert why.log_odds(label, 1 - label)[1] == pytest.approx([one["log_odds"]])


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_names_of_features_are_scikit_learns(model):
    texts, y = TWO
    words = CountVectorizer(ngram_range=model.ngram_range).fit(texts)
    model.fit(texts, y)
    assert_array_equal(model.get_feature_names_out(), words.get_feature_names_out())
    few = type(model)(drop_most_frequent=3).fit(texts, y)
    counts = np.asarray(CountVectorizer().fit_transform(texts).sum(axis=0))[0]
    gone = set(CountVectorizer().fit(texts).get_feature_names_out()) - set(few.terms_)
    assert len(gone) == 3
    places = CountVectorizer().fit(texts).vocabulary_
    assert min(counts[places[term]] for term in gone) >= np.sort(counts)[-4]


def test_what_is_refused():
    texts, y = TWO
    with pytest.raises(ValueError, match="hashed"):
        TextNB(n_features=64).fit(texts, y).telling_terms()
    model = TextNB().fit(texts, y)
    for k in (-1, 1.5, "3", True):
        with pytest.raises(ValueError, match="k must be a number of terms"):
            model.telling_terms(k)
    none = model.telling_terms(0)
    assert none.num_rows == 0
    assert none.column_names == ["class", "term", "log_odds", "bits"]
    assert TextNB().fit(["one", "two \ud800"], [0, 1]).telling_terms().num_rows == 2
