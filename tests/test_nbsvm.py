"""NBSVM: the paper's formulas, computed with NumPy and scikit-learn, and input of all kinds."""

import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from naively import NBSVM, TextNB, load
from naively.cli import models
from naively.cli.errors import UserError
from naively.storage import model_files
from naively.storage.model_files import ModelFileError

rng = np.random.default_rng(12)
WORDS = np.array([f"w{k}" for k in range(40)])


def corpus(n, n_classes, odds=None):
    """Short documents whose class prefers some words, and their labels."""
    y = rng.choice(n_classes, n, p=odds)
    p = rng.gamma(0.5, 1.0, (n_classes, len(WORDS)))
    p /= p.sum(axis=1, keepdims=True)
    lengths = rng.integers(1, 12, n)
    texts = [" ".join(rng.choice(WORDS, m, p=p[c])) for m, c in zip(lengths, y, strict=True)]
    return texts, y


TWO = corpus(300, 2, [0.7, 0.3])
THREE = corpus(300, 3, [0.5, 0.3, 0.2])


def paper(texts, positive, C=1.0, beta=0.25, alpha=1.0, weights=None, **options):
    """(terms, coefficients of their presence, intercept) of one class against the rest."""
    words = CountVectorizer(binary=True, **options)
    f = words.fit_transform(texts).toarray().astype(float)
    m = np.ones(len(f)) if weights is None else np.asarray(weights)
    p = alpha + (m * positive) @ f
    q = alpha + (m * ~positive) @ f
    r = np.log(p / np.abs(p).sum()) - np.log(q / np.abs(q).sum())
    svm = LinearSVC(C=C, loss="squared_hinge", tol=1e-8, max_iter=100_000, random_state=3)
    svm.fit(f * r, positive, sample_weight=weights)
    w, b = svm.coef_[0], svm.intercept_[0]
    mean = np.abs(w).sum() / len(w)
    w = (1 - beta) * mean + beta * w
    b = (1 - beta) * mean * np.log((m * positive).sum() / (m * ~positive).sum()) + beta * b
    return words.get_feature_names_out(), w * r, b


PARAMETERS = [
    {},
    {"C": 0.1, "beta": 0.5},
    {"beta": 1.0, "alpha": 0.3},
    {"ngram_range": (1, 2)},
    {"min_df": 3, "max_df": 0.5, "stop_words": ["w1", "w2"]},
    {"analyzer": "char_wb", "ngram_range": (2, 3), "max_features": 50},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_two_classes_are_the_papers(parameters, n_jobs):
    texts, y = TWO
    terms, coef, intercept = paper(texts, y == 1, **parameters)
    model = NBSVM(**parameters, n_jobs=n_jobs).fit(texts, y)
    assert_array_equal(model.terms_, terms)
    scale = np.abs(coef).max()
    assert_allclose(model.coef_, [coef], atol=2e-3 * scale)
    assert_allclose(model.intercept_, [intercept], atol=2e-3 * scale)
    words = CountVectorizer(
        binary=True, vocabulary=terms, analyzer=parameters.get("analyzer", "word"),
        ngram_range=parameters.get("ngram_range", (1, 1)),
    )  # fmt: skip
    scores = words.transform(texts) @ model.coef_[0] + model.intercept_[0]
    assert_allclose(model.decision_function(texts), scores, rtol=1e-12, atol=1e-12)
    assert_array_equal(model.predict(texts), scores > 0)


def test_many_classes_are_one_against_the_rest():
    texts, y = THREE
    model = NBSVM().fit(texts, y)
    for c in range(3):
        _, coef, intercept = paper(texts, y == c)
        scale = np.abs(coef).max()
        assert_allclose(model.coef_[c], coef, atol=2e-3 * scale)
        assert_allclose(model.intercept_[c], intercept, atol=2e-3 * scale)
    scores = model.decision_function(texts)
    assert scores.shape == (300, 3)
    assert_array_equal(model.predict(texts), scores.argmax(axis=1))
    assert model.score(texts, y) > 0.8


def test_weights_are_repetitions():
    texts, y = TWO
    weights = rng.integers(0, 4, len(y))
    _, coef, intercept = paper(texts, y == 1, weights=weights)
    model = NBSVM().fit(texts, y, weights)
    again = NBSVM().fit(np.repeat(texts, weights), np.repeat(y, weights))
    scale = np.abs(coef).max()
    assert_allclose(model.coef_, [coef], atol=2e-3 * scale)
    assert_allclose(model.intercept_, [intercept], atol=2e-3 * scale)
    known = np.isin(model.terms_, again.terms_)
    assert_allclose(model.coef_[:, known], again.coef_, atol=2e-3 * scale)


def test_weight_0_is_absence():
    texts, y = THREE
    model = NBSVM().fit(texts, y, (y < 2).astype(float))
    assert_array_equal(model.classes_, [0, 1])
    few = NBSVM().fit([t for t, c in zip(texts, y, strict=True) if c < 2], y[y < 2])
    assert_allclose(model.decision_function(texts), few.decision_function(texts), atol=2e-3)


def test_beta_0_is_naive_bayes():
    texts, y = TWO
    model = NBSVM(beta=0.0).fit(texts, y)
    bayes = TextNB("binary", weights=None).fit(texts, y)
    joint = bayes.predict_joint_log_proba(texts)
    odds = joint[:, 1] - joint[:, 0]
    scores = model.decision_function(texts)
    assert_allclose(scores / scores[0], odds / odds[0], rtol=1e-9)
    assert_array_equal(model.predict(texts), bayes.predict(texts))


@pytest.mark.parametrize("names", [[-7, 3, 50], ["é", "a long one", "b"], [False, True]])
def test_labels_come_back(names):
    texts, y = THREE if len(names) == 3 else TWO
    labels = np.array(names)[y]
    model = NBSVM().fit(texts, labels)
    assert_array_equal(model.classes_, np.unique(labels))
    assert model.predict(texts).dtype == labels.dtype
    assert model.score(texts, labels) > 0.8
    listed = NBSVM().fit(texts, labels.tolist())
    assert_array_equal(listed.coef_, model.coef_)


def test_any_source_and_any_number_of_threads_give_the_same():
    texts, y = THREE
    model = NBSVM(n_jobs=1).fit(texts, y)
    parts = pa.chunked_array([texts[:9], texts[9:]])
    views, levels = pl.Series(texts), pa.array(texts).dictionary_encode()
    for source in (np.array(texts), pa.array(texts), parts, views, levels):
        other = NBSVM(n_jobs=2).fit(source, y)
        assert_array_equal(other.coef_, model.coef_)
        assert_array_equal(other.intercept_, model.intercept_)
        assert_array_equal(other.decision_function(source), model.decision_function(texts))


def test_empty_and_unknown_documents():
    texts, y = TWO
    model = NBSVM().fit([*texts, "", None, "!?"], [*y, 0, 0, 1])
    scores = model.decision_function(["", None, "never met", "w1 never w1", "w1"])
    assert_array_equal(scores[:3], np.repeat(model.intercept_, 3))
    assert scores[3] == scores[4]
    assert model.decision_function([]).shape == (0,)
    assert model.predict([]).shape == (0,)
    assert NBSVM().fit(*THREE).decision_function([]).shape == (0, 3)


def test_a_model_without_any_evidence():
    model = NBSVM().fit(["a1", "a1", "a1", "a1"], [0, 1, 0, 1])
    assert_allclose(model.coef_, [[0.0]], atol=1e-12)
    assert len(model.predict(["a1", "b2"])) == 2


def test_what_is_refused():
    texts, y = TWO
    with pytest.raises(ValueError, match="one class"):
        NBSVM().fit(texts, np.zeros(len(y)))
    with pytest.raises(ValueError, match="hold no terms"):
        NBSVM().fit(["", "?", None], [0, 1, 1])
    with pytest.raises(ValueError, match="no terms remain"):
        NBSVM(min_df=2).fit(["one", "two"], [0, 1])
    with pytest.raises(ValueError, match="no training documents"):
        NBSVM().fit([], [])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        NBSVM().fit(texts, y[1:])
    with pytest.raises(TypeError, match="document 1 is 7"):
        NBSVM().fit(["one", 7], [0, 1])
    with pytest.raises(TypeError, match="put it in a list"):
        NBSVM().fit("one text", [0])
    with pytest.raises(ValueError, match="target y is None"):
        NBSVM().fit(texts, None)
    with pytest.raises(ValueError, match="row 2 weighs -1"):
        NBSVM().fit(texts[:3], [0, 1, 1], [1, 1, -1])
    for alpha, problem in (
        (0, "above 0"),
        (-1, "from 0 to"),
        ("1", "from 0 to"),
        (np.nan, "from 0 to"),
    ):
        with pytest.raises(ValueError, match=problem):
            NBSVM(alpha=alpha).fit(texts, y)
    for beta in (-0.1, 1.1, np.nan, "0.25", None):
        with pytest.raises(ValueError, match="beta must be from 0 to 1"):
            NBSVM(beta=beta).fit(texts, y)
    with pytest.raises(ValueError, match="'C' parameter"):
        NBSVM(C=0).fit(texts, y)


def test_a_refused_fit_leaves_the_model():
    texts, y = TWO
    model = NBSVM().fit(texts, y)
    before = model.decision_function(texts)
    with pytest.raises(ValueError, match="'C' parameter"):
        model.set_params(C=-1.0).fit(texts[:9], y[:9])
    assert_array_equal(model.decision_function(texts), before)


def test_it_is_an_estimator():
    texts, y = TWO
    model = NBSVM(C=2.0, ngram_range=(1, 2))
    for ask in (model.predict, model.decision_function):
        with pytest.raises(NotFittedError):
            ask(texts)
    copy = clone(model.fit(texts, y))
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "coef_")
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.decision_function(texts), model.decision_function(texts))
    assert_array_equal(loaded.terms_, model.terms_)
    search = GridSearchCV(NBSVM(), {"beta": [0.1, 1.0]}, cv=2).fit(np.array(texts), y)
    assert search.best_params_["beta"] in (0.1, 1.0)
    assert NBSVM(stop_words="english").fit(["the cat", "a dog"], [0, 1]).terms_.tolist() == [
        "cat",
        "dog",
    ]


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.parametrize("data", [TWO, THREE], ids=["two", "three"])
def test_a_saved_model_is_the_same(data, parameters, tmp_path):
    texts, y = data
    model = NBSVM(**parameters).fit(texts, np.array(["é", "bé", "c"])[y])
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert type(again) is NBSVM
    assert again.get_params() == model.get_params()
    assert_array_equal(again.classes_, model.classes_)
    assert_array_equal(again.terms_, model.terms_)
    assert_array_equal(again.coef_, model.coef_)
    scores = model.decision_function([*texts, None, "never met"])
    assert again.decision_function([*texts, None, "never met"]).tobytes() == scores.tobytes()
    assert_array_equal(again.predict(texts), model.predict(texts))
    assert again.bayes_.model_ == model.bayes_.model_  # the statistics, too
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    again.fit(texts[:99], y[:99])
    assert_array_equal(again.coef_, clone(model).fit(texts[:99], y[:99]).coef_)


def test_what_a_file_cannot_hold_is_not_written(tmp_path):
    texts, y = TWO
    with pytest.raises(NotFittedError):
        NBSVM().save(tmp_path / "m")
    with pytest.raises(ValueError, match="cannot be saved"):
        NBSVM(tokenizer=str.split).fit(texts, y).save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_forged_file_is_refused(tmp_path):
    model = NBSVM().fit(*TWO)
    model.save(tmp_path / "m")
    saved = model_files.load(tmp_path / "m")
    coef, intercept, scale = model.coef_, model.intercept_, model.scale_
    for learned in (
        {},
        {"coef": coef, "scale": scale},
        {"coef": coef, "intercept": intercept},
        {"coef": coef[:, 1:], "intercept": intercept, "scale": scale},
        {"coef": coef[0], "intercept": intercept, "scale": scale},
        {"coef": coef, "intercept": intercept.repeat(2), "scale": scale},
        {"coef": coef, "intercept": intercept + np.nan, "scale": scale},
        {"coef": coef, "intercept": intercept, "scale": 0.0},
        {"coef": coef, "intercept": intercept, "scale": -scale},
        {"coef": coef, "intercept": intercept, "scale": intercept},
        {"coef": coef, "intercept": intercept, "scale": "1"},
        {"coef": "coef", "intercept": intercept, "scale": scale},
        {"coef": coef, "intercept": intercept, "scale": scale, "more": 1},
    ):
        saved.learned = learned
        model_files.save(saved, tmp_path / "m")
        with pytest.raises(ModelFileError, match="damaged"):
            load(tmp_path / "m")
        if learned:  # else it looks like one of TextNB, which the commands take as such
            with pytest.raises(UserError, match="damaged"):
                models.load(tmp_path / "m")
    learned = {"coef": coef, "intercept": intercept, "scale": scale}
    for other in (TextNB("binary").fit(*THREE), TextNB("binary").fit(*TWO).forget(*TWO)):
        saved.model, saved.learned = other.model_, learned
        model_files.save(saved, tmp_path / "m")
        with pytest.raises(ModelFileError, match="damaged"):
            load(tmp_path / "m")
