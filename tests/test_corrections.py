"""Corrections of single terms, by logistic regression on the rest of the evidence."""

import sys
from pathlib import Path

import numpy as np
import pytest
from corpora import repetitive
from forging import forge, parts
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import logsumexp

import naively
from naively import TextNB
from naively.core.workers import SERIAL
from naively.pooling.texts.corrections import FEWEST, Scored, _Documents, _Path
from naively.storage.model_files import ModelFileError

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from data import read

TEXTS, Y = repetitive(600)
NEW_TEXTS, NEW_Y = repetitive(1500, 1)


@pytest.fixture(scope="module")
def model():
    return TextNB("binary").fit(TEXTS, Y)


def loss(model, texts=NEW_TEXTS, y=NEW_Y):
    return -np.log(model.predict_proba(texts)[np.arange(len(y)), y]).mean()


def scores(model, texts=NEW_TEXTS[:200]):
    return model.predict_joint_log_proba(texts)


def problem(seed=0, n=150, terms=12, classes=3):
    rng = np.random.default_rng(seed)
    rows = csr_matrix((rng.random((n, terms)) < 0.3) * rng.random((n, 1)), dtype=np.float32)
    return rows, rng.normal(size=(n, classes)), rng.integers(0, classes, n), rng.random(n) + 0.5


# ---- the regression ------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("ridge", [0.1, 3.0])
def test_steps_lead_to_the_least_loss(classes, ridge):
    """Held against a minimiser of SciPy, of the same sum written down again."""
    rows, offset, y, weight = problem(classes=classes)
    path = _Path(_Documents.of(rows, offset, y), weight)
    for _ in range(20):
        path.step(ridge)

    def total(delta):
        delta = delta.reshape(-1, classes)
        behind = offset + rows @ delta
        losses = logsumexp(behind, axis=1) - behind[np.arange(len(y)), y]
        return weight @ losses + ridge / 2 * (delta**2).sum()

    least = minimize(total, np.zeros(rows.shape[1] * classes), tol=1e-8)
    assert total(path.delta.ravel()) <= least.fun * (1 + 1e-6)
    assert_allclose(path.delta, least.x.reshape(-1, classes), atol=2e-3)


def test_what_a_path_says_of_documents_that_it_left_out_does_not_depend_on_their_classes():
    rows, offset, y, weight = problem()
    other_y, held_out = y.copy(), np.arange(len(y)) % 3 == 0
    other_y[held_out] = (y[held_out] + 1) % 3
    found = []
    for labels in (y, other_y):
        path = _Path(_Documents.of(rows, offset, labels), weight * ~held_out)
        found.append(path.step(0.5))
    assert_array_equal(*found)


def test_terms_without_evidence_are_not_corrected():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    rows = csr_matrix(rng.random((1000, 50)) < 0.2, dtype=float)
    prior = np.log(np.bincount(y) / len(y))
    documents = Scored(rows, np.tile(prior, (1000, 1)), y, np.ones(1000), prior, 0.01)
    assert documents.corrected(SERIAL) is None


# ---- predictions ---------------------------------------------------------------------------------


def test_words_that_repeat_each_other_are_believed_less(model):
    present = TextNB("binary").fit(TEXTS[: FEWEST - 1], Y[: FEWEST - 1])
    assert not len(present.scale_.corrections)  # too few documents
    corrections = model.scale_.corrections
    assert len(corrections)
    values = dict(zip(model.terms_[corrections.terms], corrections.values, strict=True))
    for c in range(3):
        assert values[f"single{c}"][c] > 0.1
        assert values[f"pa{c}"][c] < 0.1 * values[f"single{c}"][c]


@pytest.mark.parametrize("name", ["webkb-stemmed, train", "reuters-r8, train"])
def test_topics_of_new_documents_are_predicted_better(name, data_folder, monkeypatch):
    texts = read(data_folder, name)
    rows = np.random.default_rng(0).permutation(len(texts.labels))
    learned, new = texts[rows[:1000]], texts[rows[1000:2000]]
    y = np.searchsorted(np.unique(learned.labels), new.labels)

    def loss_of_new():
        return loss(TextNB("binary").fit(learned.texts, learned.labels), new.texts, y)

    corrected = loss_of_new()
    monkeypatch.setattr(Scored, "corrected", lambda *_: None)
    assert corrected < 0.92 * loss_of_new()


def test_out_of_fold_predictions_are_as_good_as_those_of_new_documents(model):
    assert_allclose(model.scale_.out_of_fold.log_loss, loss(model), rtol=0.1)


def test_a_term_of_one_class_alone_is_never_evidence_against_it():
    rng = np.random.default_rng(3)
    texts, y = repetitive(400, 2)
    texts = [
        text + (f" mark{c}" if rng.random() < 0.1 else "") for text, c in zip(texts, y, strict=True)
    ]
    model = TextNB("binary").fit(texts, y)
    assert len(model.scale_.corrections)
    counts, slopes = (
        model.feature_count_,
        model._parameters.parts[0].scorer.terms(slice(None)).slope,
    )
    alone = np.flatnonzero((counts > 0).sum(axis=0) == 1)
    assert len(alone) >= 3
    own = slopes[counts[:, alone].argmax(axis=0), alone]
    assert (own >= slopes[:, alone].max(axis=0) - 1e-9).all()


# ---- laws ----------------------------------------------------------------------------------------


def test_order_batches_threads_merging_and_forgetting_change_no_bit(model):
    expected = scores(model)
    order = np.random.default_rng(0).permutation(len(Y))
    texts, y = np.array(TEXTS)[order], Y[order]
    batches = TextNB("binary", n_jobs=2)
    for part in np.array_split(np.arange(len(y)), 7):
        batches.partial_fit(texts[part], y[part])
    assert_array_equal(scores(batches), expected)
    halves = [TextNB("binary").fit(texts[part], y[part]) for part in (slice(300), slice(300, None))]
    assert_array_equal(scores(halves[0] + halves[1]), expected)
    more = TextNB("binary").fit([*TEXTS, *NEW_TEXTS[:200]], [*Y, *NEW_Y[:200]])
    assert_array_equal(scores(more.forget(NEW_TEXTS[:200], NEW_Y[:200])), expected)


def test_names_of_classes_change_nothing(model):
    other = TextNB("binary").fit(TEXTS, 2 - Y)
    assert_allclose(scores(other)[:, ::-1], scores(model), rtol=1e-5, atol=1e-5)


def test_contributions_of_terms_add_up(model):
    for text, expected in zip(NEW_TEXTS[:5], scores(model), strict=False):
        (why,) = model.explain([text])
        for a, b in [(0, 1), (2, 0)]:
            assert_allclose(why.total(a, b), expected[a] - expected[b], rtol=1e-9, atol=1e-9)


def test_a_formula_has_the_corrections(model):
    """What exports to SQL, JavaScript and ONNX are made of."""
    (mixed,) = model._parameters.formula(["text"]).terms
    bag = mixed.texts[0].bags[0]
    slopes = model._parameters.parts[0].scorer.terms(slice(None)).slope
    assert_array_equal(bag.slope, slopes.T)


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("models", [None, "auto"])
def test_a_file_predicts_the_same_bits(tmp_path, models):
    model = TextNB("binary") if models is None else TextNB(models=models)
    model.fit(TEXTS, Y)
    expected = scores(model)
    model.save(tmp_path / "m")
    assert_array_equal(scores(naively.load(tmp_path / "m")), expected)


def test_forged_corrections_are_refused(tmp_path, model):
    scores(model)
    model.save(tmp_path / "m")
    header, arrays = parts(tmp_path / "m")
    name = next(name for name in arrays if name.endswith("corrections"))
    names = name.removesuffix("corrections") + "corrected"
    for changed in (
        {name: arrays[name][:-1]},
        {name: np.full_like(arrays[name], np.nan)},
        {name: arrays[name].astype(float)},
        {names: arrays[names][::-1].copy()},
        {names: arrays[names][1:]},
    ):
        forge(tmp_path / "forged", header, arrays | changed)
        with pytest.raises(ModelFileError, match=r"corrections|terms|lengths"):
            naively.load(tmp_path / "forged").predict(TEXTS[:1])
