"""NBSVM: probabilities, explanations, logistic form, command line."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from corpora import WORDS as HOSTILE
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from test_cli import naive
from test_nbsvm import THREE, TWO, corpus

from naively import NBSVM, load
from naively.evaluation.calibration import Reliability, temperature_scale
from naively.evaluation.folds import assign_equal_rows

DATA = {"two": TWO, "three": THREE}
LOSSES = ("squared_hinge", "log_loss")
ODD = [None, "", "?!", "never met", "w1 never w1", "w1", "W1 w2\ud800", "w3 " * 500]


# ---- probabilities -------------------------------------------------------------------------------


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("loss", LOSSES)
def test_probabilities_are_those_of_scaled_decisions(data, loss):
    texts, y = DATA[data]
    model = NBSVM(loss=loss).fit(texts, y)
    proba, scores = model.predict_proba([*texts, *ODD]), model.decision_function([*texts, *ODD])
    assert 0 < model.scale_ < np.inf
    if data == "two":
        assert_allclose(proba[:, 1], expit(model.scale_ * scores), rtol=1e-12)
    else:
        assert_allclose(proba, softmax(model.scale_ * scores, axis=1), rtol=1e-12)
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(np.exp(model.predict_log_proba([*texts, *ODD])), proba, rtol=1e-12)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict([*texts, *ODD]))


@pytest.mark.parametrize("data", DATA)
def test_a_document_alone_is_as_it_is_among_others(data):
    texts, y = DATA[data]
    model = NBSVM(ngram_range=(1, 2)).fit(texts, y)
    some = [*texts[:20], *ODD]
    alone = np.concatenate([model.predict_proba([text]) for text in some])
    assert alone.tobytes() == model.predict_proba(some).tobytes()
    assert model.predict_proba([]).shape == (0, len(model.classes_))


def test_probabilities_of_documents_not_learned_are_calibrated():
    """Of odds that are so and so, beside those of the decisions themselves."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(200, 0.3), 2)
    p = 0.35 * p + 0.65 * p.mean(axis=0)  # classes that overlap
    words = np.array([f"w{k}" for k in range(200)])
    y = rng.integers(0, 2, 3000)
    texts = [" ".join(rng.choice(words, 12, p=p[c])) for c in y]
    model = NBSVM().fit(texts[:1500], y[:1500])
    proba = model.predict_proba(texts[1500:])
    right = proba.argmax(axis=1) == y[1500:]
    raw = expit(model.decision_function(texts[1500:]))
    assert Reliability.of(proba.max(axis=1), right).error < 0.04
    assert Reliability.of(np.maximum(raw, 1 - raw), right).error > 0.04
    assert log_loss(y[1500:], proba) < log_loss(y[1500:], raw)


@pytest.mark.parametrize("loss", LOSSES)
def test_messages_and_sentences_that_were_not_learned(loss, data_folder):
    """Three in ten documents of two public sets, chosen by chance: calibrated, and as right."""
    spam = (data_folder / "sms-spam" / "SMSSpamCollection").read_text("utf-8").splitlines()
    rows = [line.split("\t", 1)[::-1] for line in spam]
    reviews = [
        (line, label)
        for label in ("neg", "pos")
        for line in (data_folder / "rt-polarity" / f"rt-polarity.{label}")
        .read_text("utf-8").splitlines()
    ]  # fmt: skip
    for found, right, error, loss_at_most in (
        (rows, 0.98, 0.015, 0.06),
        (reviews, 0.77, 0.03, 0.48),
    ):
        order = np.random.default_rng(0).permutation(len(found))
        texts, labels = (np.array(column, object)[order] for column in zip(*found, strict=True))
        cut = len(order) * 7 // 10
        model = NBSVM(loss=loss).fit(texts[:cut], labels[:cut])
        proba = model.predict_proba(texts[cut:])
        hits = model.classes_[proba.argmax(axis=1)] == labels[cut:]
        assert hits.mean() > right
        assert Reliability.of(proba.max(axis=1), hits).error < error
        assert log_loss(labels[cut:].astype(str), proba) < loss_at_most


def test_the_scale_is_that_of_a_refit():
    """Three models without a third each, put together by hand."""
    texts, y = TWO
    model = NBSVM().fit(texts, y)
    left = np.full(len(y), np.nan)
    for k in range(3):
        out = _parts_of(texts, y) == k
        rest = [text for text, gone in zip(texts, out, strict=True) if not gone]
        own = clone(model).fit(rest, y[~out])
        left[out] = own.decision_function([t for t, gone in zip(texts, out, strict=True) if gone])
    known = ~np.isnan(left)
    assert known.mean() > 0.95
    signs = np.where(y == 1, 1.0, -1.0)[known]
    count = np.bincount(y[known])[y[known]]

    def loss(s):
        z = s * signs * left[known]
        q = 1 / (count + 2)
        return -((1 - q) * np.log(expit(z)) + q * np.log(expit(-z))).sum()

    grid = model.scale_ * np.exp(np.linspace(-0.3, 0.3, 61))
    assert abs(np.argmin([loss(s) for s in grid]) - 30) <= 1


def _parts_of(texts, y):
    from naively.evaluation.folds import row_keys
    from naively.text.documents import Documents

    return assign_equal_rows(
        row_keys(NBSVM().fit(texts, y).bayes_.model_.schema, Documents.of(texts)), y
    )


def test_parts_are_of_what_is_in_the_documents():
    keys = np.array([7, 7, 1, 2, 3, 9, 9], np.uint64)
    codes = np.array([0, 0, 0, 0, 1, 2, 2])
    part = assign_equal_rows(keys, codes)
    assert part[0] == part[1]  # the same document
    assert part[4] == -1  # the only one of its class
    assert part[5] == part[6] == -1  # and no other document in its class
    assert len(set(part[:4])) == 3
    order = np.random.default_rng(0).permutation(7)
    assert_array_equal(assign_equal_rows(keys[order], codes[order]), part[order])


def test_weights_are_repetitions_for_probabilities_too():
    texts, y = corpus(200, 2)
    weights = np.random.default_rng(3).integers(0, 4, len(y))
    model = NBSVM().fit(texts, y, weights)
    again = NBSVM().fit(np.repeat(texts, weights), np.repeat(y, weights))
    assert_allclose(model.predict_proba(texts), again.predict_proba(texts), atol=0.01)
    order = np.random.default_rng(4).permutation(len(y))
    other = NBSVM().fit(np.array(texts)[order], y[order], weights[order])
    assert_allclose(model.predict_proba(texts), other.predict_proba(texts), atol=0.01)


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["one", "two"], [0, 1]),  # no class is left without its only document
        (["a1", "a1", "a1", "a1"], [0, 1, 0, 1]),  # nothing to tell
        (["w1", "", "?", None, "w1 w2"], [0, 1, 1, 1, 0]),  # of class 1 no document has terms
        ([" ".join(HOSTILE)] * 2 + ["ab", "zz", "x1"], [0, 1, 0, 1, 0]),
        (["one"] * 50 + ["two"] * 50, [0] * 50 + [1] * 50),  # easy
    ],
)
@pytest.mark.parametrize("loss", LOSSES)
def test_few_and_odd_documents_have_probabilities(texts, labels, loss):
    model = NBSVM(loss=loss).fit(texts, labels)
    proba = model.predict_proba([*texts, *ODD])
    assert np.isfinite(proba).all()
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict([*texts, *ODD]))


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 1)), min_size=1, max_size=30),
    st.floats(1e-3, 1e3),
)
def test_a_scale_scales(rows, factor):
    decisions = np.array([[-z, z] for z, _ in rows]) / 16.0
    codes = np.array([code for _, code in rows])
    one = temperature_scale(decisions, codes, np.ones(len(codes)))
    assert 0 < one < np.inf
    if np.ptp(decisions, axis=1).any():
        other = temperature_scale(factor * decisions, codes, np.ones(len(codes)))
        assert other == pytest.approx(one / factor, rel=1e-3)


# ---- logistic regression -------------------------------------------------------------------------


def test_the_logistic_form_is_scikit_learns():
    texts, y = TWO
    model = NBSVM(loss="log_loss", beta=1.0, C=0.7).fit(texts, y)
    f = CountVectorizer(binary=True).fit(texts).transform(texts)
    p, q = (1.0 + np.asarray(f[y == c].sum(axis=0))[0] for c in (1, 0))
    r = np.log(p / p.sum()) - np.log(q / q.sum())
    own = LogisticRegression(C=0.7, solver="liblinear", tol=1e-10).fit(f.multiply(r), y)
    assert_allclose(model.coef_[0], own.coef_[0] * r, atol=2e-3 * np.abs(model.coef_).max())
    assert_allclose(model.intercept_, own.intercept_, atol=2e-3)


def test_another_loss_is_refused():
    with pytest.raises(ValueError, match='loss must be "squared_hinge" or "log_loss", not'):
        NBSVM(loss="hinge").fit(*TWO)


# ---- labels --------------------------------------------------------------------------------------


def test_labels_that_cost_least_or_none():
    texts, y = THREE
    model = NBSVM().fit(texts, y)
    proba = model.predict_proba(texts)
    costs = np.array([[0, 1, 9], [1, 0, 1], [5, 1, 0]])
    assert_array_equal(model.predict(texts, costs=costs), (proba @ costs).argmin(axis=1))
    labels = model.predict(texts, unsure=0.9)
    assert_array_equal(labels == None, proba.max(axis=1) < 0.9)  # noqa: E711
    best, p = model.predict_top(texts, 2)
    assert_array_equal(best[:, 0], model.predict(texts))
    assert_array_equal(p, -np.sort(-proba, axis=1)[:, :2])


# ---- reasons -------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("loss", LOSSES)
def test_reasons_add_up(data, loss):
    texts, y = DATA[data]
    model = NBSVM(loss=loss, ngram_range=(1, 2)).fit(texts, y)
    some = [*texts[:9], *ODD]
    log_proba, scores = model.predict_log_proba(some), model.decision_function(some)
    for i, why in enumerate(model.explain(some)):
        assert why.predicted == model.predict(some)[i]
        assert_array_equal(why.proba, model.predict_proba(some)[i])
        for a in model.classes_.tolist():
            for b in model.classes_.tolist():
                odds = sum(part.sum() for part in map(np.asarray, why.log_odds(a, b)))
                assert odds == pytest.approx(log_proba[i, a] - log_proba[i, b], abs=1e-9)
        if data == "two":
            prior, terms, _ = why.log_odds(1, 0)
            assert prior == pytest.approx(model.scale_ * model.intercept_[0])
            places = np.searchsorted(model.terms_.astype(str), why.terms)
            assert_allclose(terms, model.scale_ * model.coef_[0, places])
            assert prior + terms.sum() == pytest.approx(model.scale_ * scores[i])
    assert "(prior and bias)" in str(model.explain(["w1 w2"])[0])
    assert model.explain(some).to_html().count("<details") == len(some)


def test_reasons_of_characters():
    texts, y = TWO
    model = NBSVM(analyzer="char_wb", ngram_range=(2, 3)).fit(texts, y)
    (why,) = model.explain(["w1 w22"])
    assert why.total(1, 0) == pytest.approx(model.scale_ * model.decision_function(["w1 w22"])[0])


# ---- files and the command line ------------------------------------------------------------------


@pytest.mark.parametrize("data", DATA)
def test_a_saved_model_has_the_same_bits(data, tmp_path):
    texts, y = DATA[data]
    model = NBSVM(loss="log_loss").fit(texts, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.scale_ == model.scale_
    assert again.predict_proba([*texts, *ODD]).tobytes() == (
        model.predict_proba([*texts, *ODD]).tobytes()
    )
    assert str(again.explain(texts[:3])) == str(model.explain(texts[:3]))


def test_the_command_line_predicts_with_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts, y = THREE
    labels = np.array(["red", "green", "blue"])[y]
    model = NBSVM().fit(texts, labels)
    model.save("m")
    with Path("t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "colour"), *zip(texts, labels, strict=True)])
    out, _ = naive(capsys, "predict", "m", "t.csv", "--proba", "--only")
    rows = list(csv.DictReader(out.splitlines()))
    assert [row["prediction"] for row in rows] == model.predict(texts).tolist()
    proba = [[float(row[f"P({label})"]) for label in model.classes_] for row in rows]
    assert_array_equal(proba, model.predict_proba(texts))
    out, _ = naive(capsys, "evaluate", "m", "t.csv", "--target", "colour", "--json")
    assert json.loads(out)["accuracy"] == pytest.approx(model.score(texts, labels))
    out, _ = naive(capsys, "explain", "m", "t.csv", "--json")
    (why,) = model.explain(texts[:1])
    assert json.loads(out)["log_odds"]["total"] == why.total()
    out, _ = naive(capsys, "inspect", "m")
    assert "NBSVM" in out
    for command in ("update m t.csv", "forget m t.csv", "merge m m -o n"):
        said = naive(capsys, *command.split(), code=1)[1]
        assert said.startswith("naively: m: a model of NBSVM is trained on all rows at once")


# ---- beside other columns ------------------------------------------------------------------------


def test_a_pipeline_takes_one_column_of_a_table():
    """For mixed tables: the text by its probabilities, beside the other columns."""
    from sklearn.ensemble import StackingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    texts, y = TWO
    size = np.random.default_rng(0).normal(2.0 * y)
    frame = pa.table({"body": texts, "size": size}).to_pandas()
    text = make_pipeline(FunctionTransformer(lambda table: table["body"]), NBSVM())
    numbers = make_pipeline(
        ColumnTransformer([("size", StandardScaler(), ["size"])]), LogisticRegression()
    )
    both = StackingClassifier([("text", text), ("numbers", numbers)], cv=3).fit(frame, y)
    assert both.score(frame, y) > 0.8
