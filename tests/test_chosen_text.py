"""`TextNB()` chooses among words, pairs of words and characters."""

import numpy as np
import pytest
from corpora import LOOKALIKES, of_both_kinds, repetitive
from numpy.testing import assert_allclose, assert_array_equal
from test_pooled_text import NAMES, SEX, mixed

import naively
from naively import TextNB
from naively.families.text import pool
from naively.statistics.documents import DocumentSample

TEXTS, Y = repetitive(400)
NEW_TEXTS, NEW_Y = repetitive(60, 1)


def scores(model):
    return model.predict_joint_log_proba(NEW_TEXTS)


@pytest.fixture(scope="module")
def model():
    """Of documents in which words and pairs of words are evidence."""
    return TextNB().fit(TEXTS, Y)


def analyzers(model):
    return {part.summary.analysis.analyzer for part in model._parameters.parts}


def test_several_models_are_chosen_where_each_is_evidence(model):
    assert len(model._parameters.parts) == 2
    assert len(model.scale_) == len(model.alpha_) == len(model.models_) == 2
    assert {one["analyzer"] for one in model.models_} == analyzers(model)
    again = TextNB(models=model.models_).fit(TEXTS, Y)
    assert (again.models_, again.alpha_) == (model.models_, model.alpha_)
    assert_allclose(scores(again), scores(model), rtol=1e-5)
    words = TextNB(models=[{}]).fit(TEXTS, Y).scale_.out_of_fold.log_loss
    assert model.scale_[0].out_of_fold.log_loss < 0.99 * words


def test_characters_are_chosen_where_ends_of_words_are_evidence():
    assert "char_wb" in analyzers(TextNB().fit(*mixed(400)))


def test_characters_alone_are_chosen_for_names():
    texts, y = [f"{name}{k}" for name in NAMES for k in range(10)], np.repeat(SEX, 10)
    model = TextNB().fit(texts, y)
    assert analyzers(model) == {"char_wb"}
    assert model.predict(["emmanuella"]) == ["f"]


def test_few_documents_have_words_alone():
    few, words = (TextNB(models=one).fit(TEXTS[:90], Y[:90]) for one in (None, [{}]))
    assert_array_equal(scores(few), scores(words))
    assert isinstance(few.alpha_, float)
    more = TextNB().fit(TEXTS[:150], Y[:150])
    assert_array_equal(scores(more.forget(TEXTS[90:150], Y[90:150])), scores(few))


def test_options_say_which_terms(model):
    one, pooled = TextNB(alpha=0.5).fit(TEXTS, Y), TextNB(models=[{"alpha": 0.5}]).fit(TEXTS, Y)
    assert_array_equal(scores(one), scores(pooled))


def test_characters_are_for_few_bytes(monkeypatch):
    monkeypatch.setattr(pool, "CHARACTERS", 1000)
    assert analyzers(TextNB().fit(*mixed(400))) == {"word"}


def test_order_batches_threads_merging_and_forgetting_change_no_bit(model):
    expected = scores(model)
    order = np.random.default_rng(0).permutation(len(Y))
    texts, y = np.array(TEXTS, object)[order], Y[order]
    batches = TextNB(n_jobs=2)
    for part in np.array_split(np.arange(len(y)), 5):
        batches.partial_fit(texts[part], y[part])
    assert_array_equal(scores(batches), expected)
    halves = [TextNB().fit(texts[part], y[part]) for part in (slice(150), slice(150, None))]
    assert_array_equal(scores(halves[0] + halves[1]), expected)
    more = TextNB().fit([*TEXTS, *NEW_TEXTS], [*Y, *NEW_Y]).forget(NEW_TEXTS, NEW_Y)
    assert_array_equal(scores(more), expected)


def test_a_sample_of_documents_chooses_as_well(model, monkeypatch):
    """Pairs and characters are counted in stored documents; words in all."""
    monkeypatch.setattr("naively.statistics.documents.KEPT", 200)
    sampled = TextNB().fit(TEXTS, Y)
    statistics = sampled.model_.statistics
    assert isinstance(statistics.sample, DocumentSample)
    assert not statistics.sample.is_complete
    assert len(sampled._parameters.parts) == 2
    assert np.mean(sampled.predict(TEXTS) == Y) > 0.6


def test_a_file_predicts_the_same_bits(model, tmp_path):
    expected = scores(model)
    model.save(tmp_path / "m")
    loaded = naively.load(tmp_path / "m")
    assert_array_equal(scores(loaded), expected)
    assert loaded.alpha_ == model.alpha_
    more = TextNB().fit([*TEXTS, *NEW_TEXTS], [*Y, *NEW_Y])
    assert_array_equal(scores(loaded.partial_fit(NEW_TEXTS, NEW_Y)), scores(more))


def test_contributions_add_up(model):
    for text, expected in zip(NEW_TEXTS, scores(model), strict=True):
        (why,) = model.explain([text])
        assert len({*why.terms}) == len(why.terms)
        assert_allclose(why.total(1, 0), expected[1] - expected[0], rtol=1e-9, atol=1e-9)


# ---- texts without known words -------------------------------------------------------------------

STEMS = ["bdfga klmpa", "nrsti gtrpi", "mlkpo dbdfo"]
"""Words that no document has, with the ends that tell classes."""


def fitted(wordless):
    texts, y = of_both_kinds(500, wordless)
    model = TextNB().fit(texts, y)
    assert analyzers(model) == {"word", "char_wb"}
    return model


def test_characters_are_no_evidence_if_all_documents_share_words():
    model = fitted(0)
    for text in [*STEMS, ""]:
        assert_allclose(model.predict_proba([text])[0], model.class_prior_)
    assert_array_equal(model.predict([f"{LOOKALIKES[k]} {STEMS[k]}" for k in range(3)]), [0, 1, 2])


@pytest.mark.parametrize("wordless", [1, 6, 80])
def test_characters_are_evidence_as_far_as_documents_without_shared_words_show(wordless):
    model = fitted(wordless)
    for reasons, found in zip(model.explain(STEMS), model.predict_proba(STEMS), strict=True):
        log_joint = reasons.prior + reasons.contributions.sum(axis=0)
        unmixed = np.exp(log_joint - log_joint.max())
        e = 2 / (wordless + 2)
        expected = (1 - e) * unmixed / unmixed.sum() + e * np.array(model.class_prior_)
        assert_allclose(found, expected, rtol=1e-6)


def test_the_estimate_is_that_of_new_documents():
    model = fitted(80)
    texts, y = of_both_kinds(4000, 640, seed=1)
    losses = -np.log(model.predict_proba(texts)[np.arange(len(y)), y])
    assert model.scale_[0].out_of_fold.log_loss == pytest.approx(losses.mean(), rel=0.1)


def test_a_file_says_how_far_unknown_words_are_evidence(tmp_path):
    model = fitted(6)
    model.save(tmp_path / "a.model")
    again = naively.load(tmp_path / "a.model")
    assert_array_equal(again.predict_proba(STEMS), model.predict_proba(STEMS))
