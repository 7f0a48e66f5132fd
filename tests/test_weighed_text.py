"""Weighted terms of documents: `TextNB(weights="auto")`."""

import copy
import json
import lzma
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from corpora import corpus, divergences, doubted
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from scipy.special import rel_entr, softmax
from sklearn.feature_extraction.text import CountVectorizer

import naively
from naively import TextNB
from naively.cli.main import run
from naively.core.workers import SERIAL
from naively.families.text import distinct
from naively.families.text.text import Text
from naively.families.text.weighed_text import WeighedText
from naively.pooling.texts.term_weights import (
    ASPECTS,
    DOUBTS,
    Counted,
    LabelPriorMixing,
    PriorMixing,
    by_length,
)
from naively.statistics import documents as samples
from naively.storage.model_files import load
from naively.text.documents import Documents

TEXTS = [
    "the cat sat on the mat", "the dog sat", "a dog and a cat", "stocks fell and fell again",
    "stocks rose on the news", "the news of the cat", "rare words once",
    "stocks fell and fell again", "dog dog dog", "news news and stocks",
]  # fmt: skip
Y = np.array([0, 0, 0, 1, 1, 0, 1, 0, 0, 2])


def counted(matrix, y, alpha, group=None, n_groups=1):
    """All documents, of counts by scikit-learn."""
    classes = int(y.max()) + 1
    counts = np.array([matrix[y == c].sum(axis=0).A1 for c in range(classes)], float).T
    group = np.zeros(len(counts), np.int64) if group is None else group
    whole = 0.0 if alpha is None else float(np.sum(np.broadcast_to(alpha, len(counts))))
    return Counted(
        csr_matrix(matrix, dtype=float), y, np.ones(len(y)), np.eye(classes)[y],
        np.arange(len(counts)), np.ascontiguousarray(counts),
        counts.sum(axis=0), np.bincount(y).astype(float), alpha, len(counts),
        whole, group, n_groups, 1.0, float(len(y)),
    )  # fmt: skip


# ---- what documents tell that were not counted ---------------------------------------------------


@pytest.mark.parametrize("event", ["multinomial", "binary"])
@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_documents_are_scored_as_by_a_model_trained_without_them(event, alpha):
    vectorizer = CountVectorizer(binary=event == "binary")
    matrix = vectorizer.fit_transform(TEXTS)
    (told,), lengths, _ = counted(matrix, Y, alpha).out_of_fold_evidence([alpha], 0, 99, SERIAL)
    everything = np.arange(len(Y))
    for i in everything:
        if Y[i] == 2:
            continue  # no other document has its class: a model without it does not know it
        others = everything != i
        plain = TextNB(event, alpha=alpha, prior="uniform", weights=None).fit(
            np.array(TEXTS)[others], Y[others]
        )
        expected = plain.predict_joint_log_proba([TEXTS[i]])[0] + np.log(3)
        assert_allclose(told[i, 0], expected, rtol=1e-6)  # other documents' logs are float32
        known = set(plain.terms_)
        own = vectorizer.build_analyzer()(TEXTS[i])
        own = set(own) if event == "binary" else own
        assert lengths[i] == sum(term in known for term in own)


def test_terms_are_weighed_by_the_counts_of_other_documents():
    """By their surprise, and by how far their classes are from those of all terms."""
    vectorizer = CountVectorizer()
    matrix = vectorizer.fit_transform(TEXTS).toarray()
    (told,), *_ = counted(csr_matrix(matrix), Y, 1.0).out_of_fold_evidence([1.0], 0, 99, SERIAL)
    share = np.array([matrix[c == Y].sum() for c in range(3)]) / matrix.sum()
    for i in range(len(Y)):
        if Y[i] == 2:
            continue
        others = np.arange(len(Y)) != i
        plain = TextNB(prior="uniform", weights=None).fit(np.array(TEXTS)[others], Y[others])
        places = {term: k for k, term in enumerate(plain.terms_)}
        expected = np.zeros((1 + len(DOUBTS), 3))
        for term, k in vectorizer.vocabulary_.items():
            if matrix[i, k] and term in places:
                met = np.array([matrix[others & (c == Y), k].sum() for c in range(3)])
                surprise = np.log(matrix.sum() / met.sum())
                p = [(met + s * share) / (met.sum() + s) for s in DOUBTS]
                aspects = [surprise, *rel_entr(p, share).sum(axis=1)]
                theta = plain.feature_log_prob_[:, places[term]]
                expected += matrix[i, k] * np.outer(aspects, theta)
        assert_allclose(told[i, 1:], expected, rtol=1e-6)


def test_equal_documents_of_several_classes_are_left_out_together():
    texts, y = [*TEXTS, TEXTS[0]], np.append(Y, 1 - Y[0])
    matrix = CountVectorizer().fit_transform(texts)
    documents = counted(matrix, y, 1.0)
    equal = documents.equal.copy()
    equal[0] = equal[-1] = equal[0] + equal[-1]
    (told,), *_ = replace(documents, equal=equal).out_of_fold_evidence([1.0], 0, 99, SERIAL)
    assert_array_equal(told[0], told[-1])
    own = np.array([matrix[1:-1][Y[1:] == c].sum(axis=0).A1 for c in range(3)], float).T
    share = documents.of_class / documents.of_class.sum()
    theta = np.log(own + 1) - np.log(own.sum(axis=0) + (own.sum(axis=1) > 0).sum())
    expected = np.zeros((1 + len(DOUBTS), 3))
    for k in matrix[0].indices:
        if own[k].any():
            p = [(own[k] + s * share) / (own[k].sum() + s) for s in DOUBTS]
            surprise = np.log(documents.of_class.sum() / own[k].sum())
            aspects = [surprise, *rel_entr(p, share).sum(axis=1)]
            expected += matrix[0, k] * np.outer(aspects, theta[k])
    assert_allclose(told[0, 1:], expected, rtol=1e-6)


@pytest.mark.parametrize("weight", [1.0, 0.7], ids=["counts", "fractions"])
def test_several_smoothings_at_once_predict_as_each_alone(weight):
    documents = counted(CountVectorizer().fit_transform(TEXTS), Y, None)
    documents = replace(documents, counts=weight * documents.counts, equal=weight * documents.equal)
    tried, lengths, _ = documents.out_of_fold_evidence([1.0, 0.3, 0.1], 0, 99, SERIAL)
    for alpha, found in zip([1.0, 0.3, 0.1], tried, strict=True):
        (alone,), own, _ = documents.out_of_fold_evidence([alpha], 2, 7, SERIAL)
        assert_array_equal(alone, found[2:7])
        assert_array_equal(own, lengths[2:7])


def test_groups_add_up_to_all_terms():
    matrix = CountVectorizer(ngram_range=(1, 2)).fit(TEXTS)
    group = np.array([" " in term for term in matrix.get_feature_names_out()], np.int64)
    rows = matrix.transform(TEXTS)
    (apart,), *_ = counted(rows, Y, 0.5, group, 2).out_of_fold_evidence([0.5], 0, 99, SERIAL)
    (whole,), *_ = counted(rows, Y, 0.5).out_of_fold_evidence([0.5], 0, 99, SERIAL)
    for k in range(ASPECTS):
        assert_allclose(apart[:, 2 * k : 2 * k + 2].sum(axis=1), whole[:, k], rtol=1e-12)


def test_smoothing_by_term_is_that_of_the_model_without_the_document():
    matrix = CountVectorizer().fit(TEXTS)
    terms = matrix.get_feature_names_out()
    alpha = np.where(terms == "dog", 3.0, 0.5)
    (told,), *_ = counted(matrix.transform(TEXTS), Y, alpha).out_of_fold_evidence(
        [alpha], 0, 99, SERIAL
    )
    others = np.arange(len(Y)) != 2
    known = TextNB(prior="uniform", weights=None).fit(np.array(TEXTS)[others], Y[others]).terms_
    smoothing = {term: 3.0 if term == "dog" else 0.5 for term in known}
    plain = TextNB(alpha=smoothing, prior="uniform", weights=None).fit(
        np.array(TEXTS)[others], Y[others]
    )
    expected = plain.predict_joint_log_proba([TEXTS[2]])[0] + np.log(3)
    assert_allclose(told[2, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("quarters", range(5))
def test_evidence_falls_with_the_length(quarters):
    lengths = np.array([0.0, 1.0, 2.0, 16.0, 1e6])
    expected = np.where(lengths > 0, np.maximum(lengths, 1.0) ** (-quarters / 4), 1.0)
    assert_allclose(by_length(lengths, quarters), expected, rtol=1e-15)


def test_equal_documents_of_other_classes_are_left_out_together():
    texts, y = corpus(60)
    texts, y = [text or "none" for text in texts] * 2, np.concatenate([y, (y + 1) % 3])
    model = TextNB("binary", weights="auto").fit(texts, y)
    assert model.scale_.out_of_fold.log_loss > 0.9 * np.log(2)  # nobody can tell the two


# ---- what it makes of a document -----------------------------------------------------------------


@pytest.mark.parametrize("event", ["multinomial", "binary"])
def test_scores_are_the_formula_of_the_scale(event):
    texts, y = corpus(120)
    model = TextNB(event, weights="auto", ngram_range=(1, 2)).fit(texts, y)
    scale, terms = model.scale_, {term: k for k, term in enumerate(model.terms_)}
    total = model.feature_count_.sum(axis=0)
    surprise = np.log(total.sum() / total)
    group = np.array([term.count(" ") for term in model.terms_])
    told = divergences(model.feature_count_)
    aspects = np.array([np.ones(len(total)), surprise, *told])
    aspects = np.clip(aspects, scale.least[:, group], scale.most[:, group])
    weight = (scale.weights[:, group] * aspects).sum(axis=0)
    assert (weight > -1e-9).all()
    weight = np.maximum(weight, 0.0)
    counts = CountVectorizer(ngram_range=(1, 2), binary=event == "binary")
    counts.fit([text for text in texts if text])
    prior = np.log(model.class_count_ / model.class_count_.sum())
    present = np.bincount(y[[text is not None for text in texts]])
    different = len({text for text in texts if text is not None})
    present = present * (different / present.sum())  # the shares of all, as sure as the different
    for text in texts[:40]:
        if text is None:
            continue
        row = counts.transform([text])
        names = counts.get_feature_names_out()[row.indices]
        x = {terms[name]: value for name, value in zip(names, row.data, strict=True)}
        columns, values = np.array([*x], int), np.array([*x.values()], float)
        length = max(values.sum(), 1.0)
        told = (values * weight[columns]) @ model.feature_log_prob_[:, columns].T
        told = doubted((len(x) > 0) * scale.bias + told * length ** (-scale.quarters / 4), present)
        expected = prior + told
        assert_allclose(model.predict_joint_log_proba([text])[0], expected, rtol=1e-9, atol=1e-9)


def test_reasons_add_up_for_all_documents():
    texts, y = corpus(80)
    texts = [*texts, None, "", "unheard of"]
    model = TextNB("binary", weights="auto", ngram_range=(1, 2)).fit(texts[:80], y)
    scores = model.predict_joint_log_proba(texts)
    for one, own in zip(model.explain(texts), scores, strict=True):
        added = one.prior + one.contributions.sum(axis=0) + one.rest
        assert_allclose(added, own, rtol=1e-9, atol=1e-9)
        assert sum(odds for _, _, odds in one.lines(0, 1)) == pytest.approx(own[0] - own[1])
        besides = {term for term, _, _ in one.lines()} & {"(prior mixing)", "(missing)"}
        assert besides == ({f"({one.rest_is})"} if one.rest.any() else set())


def test_a_missing_document_is_no_evidence():
    texts, y = corpus(60)
    model = TextNB(weights="auto").fit(texts, y)
    prior = model.class_count_ / model.class_count_.sum()
    assert_allclose(model.predict_proba([None, "a"])[0], prior, rtol=1e-12)
    (one,) = model.explain([None])
    assert {term for term, _, _ in one.lines()} <= {"(prior and bias)", "(missing)"}


# ---- how sure it is ------------------------------------------------------------------------------


@pytest.mark.parametrize("models", [None, "auto"])
@pytest.mark.parametrize("n", [2, 5, 50, 400])
def test_probabilities_are_mixed_with_the_prior_by_the_number_of_documents(n, models):
    y = np.arange(n) % 2
    texts = [f"{'good fine' if label else 'poor bad'} w{k}" for k, label in enumerate(y)]
    model = TextNB(models=models).fit(texts, y)
    share = np.bincount(y) / n
    sure = model.predict_proba(["good fine " * 50, "poor bad " * 50]).max(axis=1)
    most = 1 - 2 / (n + 2) * (1 - share[::-1])
    assert (sure <= most + 1e-12).all()
    assert (sure > 0.9 * most).all()
    assert model.predict(["good", "poor"]).tolist() == [1, 0]


@given(
    hnp.arrays(float, (3, 4), elements=st.floats(-1e6, 1e6)),
    st.lists(st.floats(0.0, 1e9, allow_subnormal=False), min_size=3, max_size=3).filter(any),
)
def test_prior_mixing_mixes_probabilities_with_the_shares_of_classes(scores, weight):
    weight = np.array(weight)
    doubt, found = PriorMixing(weight, weight.sum()), scores.copy()
    doubt.scores(found)
    with np.errstate(divide="ignore"):
        prior = np.log(weight / weight.sum())[:, np.newaxis]
    before, after = (softmax(one + prior, axis=0) for one in (scores, found))
    share = 2 / (weight.sum() + 2)
    assert_allclose(after, (1 - share) * before + share * np.exp(prior), rtol=1e-6, atol=1e-12)
    for i in range(4):  # which is the same of a document by itself, and for each label
        own = scores[:, i] + doubt.added(scores[:, i : i + 1])[:, 0]
        assert_allclose(own, found[:, i], rtol=1e-12, atol=1e-12 * (1 + np.abs(scores).max()))


@pytest.mark.parametrize("having", [[0.0, 40.0, 100.0]])
def test_labels_are_doubted_as_two_classes_are(having):
    odds = np.array([-1e5, -3.0, 0.0, 2.0, 1e5]) * np.ones((3, 1))
    doubt, found = LabelPriorMixing(np.array(having), 100.0, 100.0), odds.copy()
    doubt.odds(found)
    for label in range(3):
        both = np.stack([np.zeros(5), odds[label]])
        doubt.of(label).scores(both)
        assert_allclose(found[label], both[1] - both[0], rtol=1e-12, atol=1e-12)


def test_few_messages_do_not_make_sure(data_folder):
    path = data_folder / "sms-spam" / "SMSSpamCollection"
    lines = [line.split("\t", 1) for line in path.read_text("utf-8").split("\n") if line]
    y, texts = np.array(lines).T
    losses = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        few, others = order[:50], order[-1000:]
        model = TextNB("binary", ngram_range=(1, 2)).fit(texts[few], y[few])
        proba = model.predict_proba(texts[others])
        right = proba[np.arange(1000), np.searchsorted(model.classes_, y[others])]
        losses.append(-np.log(right).mean())
    assert np.mean(losses) < 0.33  # .35 without doubt; of the shares of the classes .40


# ---- a sample of documents -----------------------------------------------------------------------


def many(n, seed=0):
    """Different short documents."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    words = np.array([f"w{k}" for k in range(60)])
    own = [rng.choice(words[20 * c : 20 * c + 40] if c < 2 else words, 8) for c in y]
    return [" ".join([*line, f"n{i}"]) for i, line in enumerate(own)], y


@pytest.fixture
def few(monkeypatch):
    """A sample of a few documents."""
    monkeypatch.setattr(samples, "KEPT", 80)
    monkeypatch.setattr(distinct, "WEIGHED", 30)


def scores(model, texts):
    return model.predict_joint_log_proba(texts).tobytes()


@pytest.mark.parametrize("models", [None, "auto"])
def test_a_sample_depends_on_the_documents_alone(few, models):
    texts, y = many(300)
    whole = TextNB(models=models).fit(texts, y)
    assert len(whole.model_.statistics.sample) == 80
    order = np.random.default_rng(1).permutation(300)
    parts = np.split(order, [7, 150, 151])
    some = [TextNB(models=models).fit([texts[i] for i in own], y[own]) for own in parts]
    merged = some[2] + some[0] + some[3] + some[1]
    assert merged.model_ == whole.model_
    assert scores(merged, texts) == scores(whole, texts)
    grown = TextNB(models=models)
    for i in order.tolist():
        grown.partial_fit([texts[i]], y[i : i + 1])
    assert grown.model_ == whole.model_
    assert scores(grown, texts) == scores(whole, texts)


@pytest.mark.parametrize("models", [None, "auto"])
def test_forgotten_documents_leave_no_trace_beyond_the_sample(few, models):
    texts, y = many(300)
    model = TextNB(models=models).fit(texts, y)
    gone, left = np.arange(120), np.arange(120, 300)
    model.forget([texts[i] for i in gone], y[gone])
    expected = TextNB(models=models).fit([texts[i] for i in left], y[left])
    assert scores(model, texts) == scores(expected, texts)
    assert_array_equal(model._parameters.kept()["sure"], expected._parameters.kept()["sure"])


def test_a_document_that_recurs_is_in_the_sample_by_its_weight(few):
    losses = []
    for seed in range(3):
        texts, y = many(400, seed)
        form = "your ticket number is open"
        often = np.arange(300) % 10 < 2  # two classes, .2 and .8
        whole = TextNB(weights="auto").fit(texts + [form] * 300, np.append(y, often.astype(int)))
        sample = whole.model_.statistics.sample
        at = [*sample.texts].index(form.encode())
        assert sample.stands[at] == 1
        total = (sample.counts * sample.stands).sum()
        assert 0.7 * 700 < total < 1.3 * 700  # what all stand for is what all weigh, about
        p = whole.predict_proba([form])[0]
        assert_allclose(p, [0.8, 0.2, 0.0], atol=0.01)
        # its words count as those of one other document: other texts are predicted as without it
        alone = TextNB(weights="auto").fit(texts, y)
        new, z = many(300, seed + 10)
        losses.append(
            [-np.log(m.predict_proba(new)[np.arange(300), z]).mean() for m in (whole, alone)]
        )
    own, other = np.mean(losses, axis=0)  # 30 documents are a small sample
    assert own < 1.1 * other + 0.03


def test_weights_decide_which_documents_are_sampled(few):
    texts, y = many(400)
    weight = np.where(np.arange(400) % 40 == 0, 50.0, 1.0)
    sample = TextNB(weights="auto").fit(texts, y, weight).model_.statistics.sample
    assert {texts[k].encode() for k in range(0, 400, 40)} <= {*sample.texts}
    assert_allclose((sample.counts * sample.stands).sum(), weight.sum(), rtol=0.2)
    decayed = TextNB(weights="auto").fit(texts, y, weight)
    decayed.decay(0.5)
    assert [*decayed.model_.statistics.sample.texts] == [*sample.texts]
    assert_allclose(decayed.model_.statistics.sample.stands, sample.stands)


def test_a_sample_has_a_limit_in_bytes(monkeypatch):
    monkeypatch.setattr(samples, "ROOM", 1000)
    monkeypatch.setattr(samples, "LONGEST", 100)
    texts, y = many(100)
    texts[3] = "long " * 50
    model = TextNB(weights="auto").fit(texts, y)
    sample = model.model_.statistics.sample
    assert sum(map(len, sample.texts)) <= 1000 < sum(map(len, texts))
    assert texts[3].encode() not in [*sample.texts]
    again = sum(
        (TextNB(weights="auto").fit(texts[k::9], y[k::9]) for k in range(1, 9)),
        TextNB(weights="auto").fit(texts[::9], y[::9]),
    )
    assert again.model_ == model.model_


def test_what_was_never_learned_is_not_forgotten():
    texts, y = many(40)
    model = TextNB(weights="auto").fit(texts, y)
    before = copy.deepcopy(model)
    words = texts[0].split()
    other = " ".join([*words[1:], words[0]])  # the same words, but another document
    with pytest.raises(ValueError, match="not in the training data"):
        model.forget([other], y[:1])
    assert model.model_ == before.model_


@pytest.mark.parametrize("event", ["multinomial", "binary"])
def test_a_file_and_a_pickle_hold_the_weights(tmp_path, event):
    texts, y = many(120)
    model = TextNB(event, weights="auto", min_df=2).fit(texts, y)
    expected = scores(model, texts)
    model.save(tmp_path / "m")
    for again in (naively.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert scores(again, texts) == expected
        assert_array_equal(again.scale_.bias, model.scale_.bias)
        again.forget(texts[:5], y[:5])
        rest = TextNB(event, weights="auto", min_df=2).fit(texts[5:], y[5:])
        assert scores(again, texts) == scores(rest, texts)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("classes", [2, 300])
def test_classes_of_one_document_are_distinguished(classes):
    """Nothing can be left out, so that evidence counts in full; and is doubted."""
    texts = [f"word{k} common" for k in range(classes)]
    model = TextNB().fit(texts, range(classes))
    assert model.predict(texts).tolist() == [*range(classes)]
    alone = TextNB(weights=None).fit(texts, range(classes))
    doubt = 2 / (classes + 2)
    expected = (1 - doubt) * alone.predict_proba(texts) + doubt / classes
    assert_allclose(model.predict_proba(texts), expected, rtol=1e-9)


@pytest.mark.slow
def test_many_classes_have_no_biases():
    generator = np.random.default_rng(0)
    y = np.arange(1200) % 300
    texts = [f"w{k} w{generator.integers(300)} all" for k in y]
    model = TextNB("binary").fit(texts, y)
    assert model.score(texts, y) > 0.6
    assert not model.scale_.bias.any()
    assert model.scale_.out_of_fold.log_loss < np.log(300)


# ---- what cannot be ------------------------------------------------------------------------------


def test_wishes_that_cannot_be():
    with pytest.raises(ValueError, match="weights must be"):
        TextNB(weights="all").fit(TEXTS, Y)
    for wished, problem in (
        ({"event": "bernoulli"}, "not 'bernoulli'"), ({"event": "complement"}, "not 'compl"),
        ({"alpha": 0}, "alpha=0"), ({"alpha": {"cat": 0}}, "alpha=0"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=problem):
            WeighedText(**wished)


@pytest.mark.parametrize(
    "options",
    [{"event": "bernoulli"}, {"event": "complement"}, {"alpha": 0}, {"alpha": {"cat": 0}}],
)
def test_what_cannot_be_weighed_is_the_textbooks(options):
    found, plain = (TextNB(**options, weights=how).fit(TEXTS, Y) for how in ("auto", None))
    assert found.model_ == plain.model_
    assert_array_equal(found.predict_proba(TEXTS), plain.predict_proba(TEXTS))
    assert not hasattr(found, "scale_")


def test_models_with_and_without_weights_do_not_add_up():
    a, b = TextNB(weights="auto").fit(TEXTS, Y), TextNB(weights=None).fit(TEXTS, Y)
    before = copy.deepcopy(a)
    with pytest.raises(ValueError, match="weighed_text"):
        a + b
    assert a.model_ == before.model_


def test_it_is_no_linear_model_and_no_density():
    model = TextNB(weights="auto").fit(TEXTS, Y)
    with pytest.raises(ValueError, match="falls with its length"):
        model.to_linear()
    assert not hasattr(model, "score_samples")
    with pytest.raises(AttributeError, match="has no weights"):
        TextNB(weights=None).fit(TEXTS, Y).scale_  # noqa: B018


# ---- real documents ------------------------------------------------------------------------------


def test_probabilities_of_messages_can_be_bet_on(data_folder):
    path = data_folder / "sms-spam" / "SMSSpamCollection"
    lines = [line.split("\t", 1) for line in path.read_text("utf-8").split("\n") if line]
    y, texts = np.array(lines).T
    test = np.arange(len(y)) % 5 == 0
    found = {}
    for weights in (None, "auto"):
        model = TextNB("binary", weights=weights, ngram_range=(1, 2)).fit(texts[~test], y[~test])
        proba = model.predict_proba(texts[test])
        right = proba[np.arange(test.sum()), np.searchsorted(model.classes_, y[test])]
        found[weights] = -np.log(right).mean()
    assert found["auto"] < 0.06
    assert found["auto"] < 0.5 * found[None]
    assert abs(model.scale_.out_of_fold.log_loss - found["auto"]) < 0.02


# ---- the command line ----------------------------------------------------------------------------


def test_naively_fit_weighs_documents(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts, y = many(60)
    for label in range(3):
        own = [text for text, one in zip(texts, y, strict=True) if one == label]
        Path(f"c{label}.txt").write_text("\n".join(own) + "\n")
    assert run(["fit", "c0.txt", "c1.txt", "c2.txt", "-o", "m"]) == 0
    assert run(["fit", "c0.txt", "c1.txt", "c2.txt", "-o", "n", "--like", "m"]) == 0
    assert run(["fit", "c0.txt", "c1.txt", "c2.txt", "-o", "plain", "--naive"]) == 0
    weighed, alike, plain = (load(name).model for name in ("m", "n", "plain"))
    assert weighed.family.name == alike.family.name == "weighed_text"
    assert weighed == alike
    assert plain.family == Text()
    expected = TextNB().fit(texts, [f"c{label}" for label in y])
    proba = weighed.posterior().proba(Documents.of(texts))
    assert_array_equal(proba, expected.predict_proba(texts))


def test_a_share_of_a_class_below_all_floats_is_no_nan():
    texts, y = ["ab ab ab ab the", "the", "zz the", "ab", "zz", "the zz"], [0, 1, 2, 1, 0, 2]
    model = TextNB().fit(texts, y, sample_weight=[1e200, 1e-300, 1e-300, 1e-300, 1e200, 1e-300])
    assert not np.isnan(model.predict_joint_log_proba(texts)).any()


@pytest.mark.parametrize("weight", [1e50, 1e126, 1e200])
def test_heavy_documents_are_predicted_as_light_ones(weight):
    texts = [
        "good good nice", "bad awful it", "nice fine", "awful bad", "fine fine nice chair",
        "awful poor the", "great fine it", "bad poor",
    ]  # fmt: skip
    y = ["a", "b"] * 4
    assert TextNB().fit(texts, y, sample_weight=[weight] * 8).predict(texts).tolist() == y


def test_five_posts_of_each_of_twenty_groups_predict_better_than_the_prior(data_folder):
    with lzma.open(data_folder / "20news-bydate/train.jsonl.xz", "rt", encoding="utf-8") as file:
        posts = [json.loads(line) for line in file]
    y = np.array([post["label"] for post in posts])
    rank = np.empty(len(y), int)
    for label in np.unique(y):
        rank[y == label] = np.arange((y == label).sum())
    few, others = np.flatnonzero(rank < 5), np.flatnonzero((rank >= 5) & (rank < 25))
    texts = [post["text"] for post in posts]
    model = TextNB("binary", ngram_range=(1, 2)).fit([texts[k] for k in few], y[few])
    proba = model.predict_proba([texts[k] for k in others])
    right = proba[np.arange(len(others)), np.searchsorted(model.classes_, y[others])]
    assert -np.log(right).mean() < np.log(20)


@pytest.mark.parametrize("kept", [20, samples.KEPT])
def test_different_documents_of_one_hash_are_distinguished(monkeypatch, kept):
    monkeypatch.setattr(samples, "KEPT", kept)

    def last_letter(data, offsets, out):
        out[:] = data[offsets[1:] - 1] * np.uint64(1 << 50)

    monkeypatch.setattr(samples.kernel, "hash_documents", last_letter)
    texts, y = many(100)
    if kept >= 100:  # beyond the limit what recurs depends on the order
        texts, y = texts + texts[:30], np.append(y, y[30:60])  # some twice, of other classes
    whole = TextNB(weights="auto").fit(texts, y)
    parts = [TextNB(weights="auto").fit(texts[k::7], y[k::7]) for k in range(7)]
    merged = sum(parts[1:], parts[0])
    assert merged.model_ == whole.model_
    assert scores(merged, texts) == scores(whole, texts)
    if kept >= 100:
        assert len(whole.model_.statistics.sample) == 100
        whole.forget(texts[70:], y[70:])
        assert whole.model_ == TextNB(weights="auto").fit(texts[:70], y[:70]).model_


def test_a_model_does_not_change_with_the_texts_that_it_learned(tmp_path):
    texts, y = many(200)
    held = bytearray("".join(texts).encode())
    ends = np.append(0, np.cumsum([*map(len, texts)])).astype(np.int64)
    column = pa.LargeStringArray.from_buffers(200, pa.py_buffer(ends), pa.py_buffer(held))
    model = TextNB().fit(column, y)
    held[:] = b"x" * len(held)
    assert model.model_ == TextNB().fit(texts, y).model_
    model.save(tmp_path / "model")
    assert naively.load(tmp_path / "model").model_ == model.model_
