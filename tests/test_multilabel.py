"""`MultilabelNB`: laws, oracles, hostile labels and files."""

import copy
import itertools
import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from forging import forge, parts
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

import naively
from naively import MultilabelNB, TextNB
from naively.core.workers import SERIAL
from naively.pooling.texts.label_term_weights import (
    BIAS_RIDGE,
    WEIGHT_RIDGE,
    Evidence,
    LabelsCounted,
)
from naively.pooling.texts.term_weights import Counted
from naively.storage.model_files import ModelFileError, Saved, to_bytes

WORDS = ["wheat", "maize", "bank", "rates", "oil", "gas", "ship", "gold", "the", "of", "and"]
LABELS = ["grain", "money", "energy", "trade"]
NEWS = [
    "wheat and maize exports rise", "wheat harvest falls", "bank lifts its rates", "nothing much",
    "maize exports by ship", "the bank and the trade deficit", None, "",
]  # fmt: skip
TOPICS = [
    ["grain", "trade"], ["grain"], ["money"], [], ["trade", "grain"], ["money", "trade"], ["money"],
    [],
]  # fmt: skip

documents = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
sets = st.lists(st.sampled_from(LABELS), max_size=3)
corpora = st.lists(st.tuples(documents, sets), min_size=1, max_size=12)


def corpus(n, seed=0, labels=LABELS):
    """Documents whose labels overlap: each label has words of its own."""
    random = np.random.default_rng(seed)
    texts, topics = [], []
    for _ in range(n):
        own = [label for label in labels if random.random() < 0.3]
        words = [f"{label}{random.integers(5)}" for label in own for _ in range(random.integers(6))]
        words += [f"common{k}" for k in random.integers(20, size=random.integers(12))]
        random.shuffle(words)
        texts.append(" ".join(words))
        topics.append(own)
    return texts, topics


def learned(rows, **options):
    """A model of (document, labels) that learned them all, or None of them."""
    return MultilabelNB(**options).fit([x for x, _ in rows], [y for _, y in rows])


def as_bytes(model):
    """The file of a model, which is estimated first, as by `save`."""
    model.model_.posterior()
    return to_bytes(Saved(model.model_))


# ---- the laws ------------------------------------------------------------------------------------


@given(corpora, st.randoms(use_true_random=False), st.data())
def test_neither_order_nor_split_changes_a_bit(rows, random, data):
    whole = learned([("the", []), *rows])
    shuffled = [("the", []), *rows]
    random.shuffle(shuffled)
    cut = data.draw(st.integers(1, len(shuffled)))
    parts_ = MultilabelNB()
    for part in (shuffled[:cut], shuffled[cut:]):
        if part:
            parts_.partial_fit([x for x, _ in part], [y for _, y in part])
    assert parts_.model_ == whole.model_
    assert_array_equal(parts_.predict_proba(WORDS), whole.predict_proba(WORDS))
    assert as_bytes(parts_) == as_bytes(whole)


@given(corpora, corpora)
def test_merged_and_forgotten_models_are_those_of_the_rows_that_are_left(a, b):
    a, b = [("the", []), *a], [("of", []), *b]
    first, second = learned(a), learned(b)
    total = first + second
    assert as_bytes(total) == as_bytes(second + first) == as_bytes(learned(a + b))
    total.forget([x for x, _ in b], [y for _, y in b])
    assert as_bytes(total) == as_bytes(first)
    assert total.classes_.tolist() == first.classes_.tolist()


def test_threads_change_no_bit():
    texts, topics = corpus(3000)
    texts = [" ".join([text] * 40) for text in texts]  # several pieces
    one, many = (MultilabelNB(n_jobs=n).fit(texts, topics) for n in (1, 4))
    assert as_bytes(one) == as_bytes(many)
    assert_array_equal(one.predict_proba(texts[:50]), many.predict_proba(texts[:50]))


@given(corpora, st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=13, max_size=13))
def test_a_weight_is_so_many_rows(rows, weights):
    rows = [("the", []), *rows]
    weights = [1.0, *weights[: len(rows) - 1]]
    weighed = MultilabelNB().fit(*zip(*rows, strict=True), sample_weight=weights)
    repeated = learned([row for row, w in zip(rows, weights, strict=True) for _ in range(int(w))])
    assert weighed.model_ == repeated.model_
    assert_array_equal(weighed.predict_proba(WORDS), repeated.predict_proba(WORDS))


@pytest.mark.parametrize("weight", [1e4, 1e20, 1e50, 1e126, 1e160, 1e200])
def test_heavy_documents_have_the_labels_of_lighter_ones(weight):
    """Evidence was cut at 300 nats, and what was cut taught weights; from 1e20 to 1e51 rounding
    decided on some processors which of two weights of nearly the same evidence was below 0.
    """
    found, lighter = (
        MultilabelNB().fit(NEWS, TOPICS, sample_weight=[one] * len(NEWS)).predict(NEWS)
        for one in (weight, 1e9)
    )
    assert list(map(list, found)) == list(map(list, lighter))


def test_the_heaviest_documents_still_teach_weights():
    """Rounding ate the ridge, and the solver said that its matrix is singular."""
    texts = ["good good nice", "bad awful it", "nice fine", "awful bad", "fine fine nice chair",
             "awful poor the", "great fine it", "bad poor", "good bad", "plain chair"]  # fmt: skip
    y = [["a"], ["b"], ["a"], ["b"], ["a"], ["b"], ["a"], ["b"], ["a", "b"], []]
    model = MultilabelNB().fit(texts, y, sample_weight=[1e200] * 10)
    assert list(map(list, model.predict(texts[:9]))) == y[:9]
    with pytest.raises(ValueError, match=r"from 0 to 1e\+200: row 1 weighs 1e\+201"):
        model.partial_fit(texts[:2], y[:2], sample_weight=[1.0, 1e201])


def test_a_model_without_labels_takes_labels_of_either_kind_later():
    for label in ("grain", 7):
        model = MultilabelNB(weights=None).partial_fit(["the rain"], [[]])
        before = copy.deepcopy(model)
        assert model.predict(["rain"]) == [[]]
        model.partial_fit(["wheat"], [[label]])
        assert model.classes_.tolist() == [label]
        other = MultilabelNB(weights=None).fit(["wheat"], [[label]])
        assert as_bytes(model) == as_bytes(before + other) == as_bytes(other + before)
        model.forget(["wheat"], [[label]])
        assert as_bytes(model) == as_bytes(before)


@pytest.mark.parametrize("weights", [None, "auto"])
def test_parts(weights, tmp_path):
    """Labels and documents without any in parts, of which one knows no label."""
    kept = MultilabelNB(weights=weights).fit(NEWS[:4], TOPICS[:4])
    model = MultilabelNB(weights=weights).partial_fit(NEWS[4:6], [[], []], part="none")
    model.partial_fit(NEWS[:4], TOPICS[:4], part="kept")
    model.partial_fit(NEWS[4:], [["new", *own] for own in TOPICS[4:]], part="gone")
    model.save(tmp_path / "m")
    model = naively.load(tmp_path / "m") + MultilabelNB(weights=weights).partial_fit(
        ["wheat again"], [["newer"]], part="gone"
    )
    model.forget(part="gone").forget(part="none")
    assert_array_equal(model.classes_, kept.classes_)
    assert naively.digest(model) == naively.digest(kept)
    assert_array_equal(model.predict_proba(NEWS), kept.predict_proba(NEWS))


def test_a_model_of_labels_is_not_compared_with_new_rows():
    with pytest.raises(ValueError, match="one label each"):
        naively.drift(MultilabelNB(weights=None).fit(NEWS, TOPICS), NEWS)


def test_decay():
    texts, topics = corpus(60)
    model = MultilabelNB(weights=None).fit(texts, topics)
    old = model.predict_proba(texts)
    model.decay(0.5)
    halved = MultilabelNB(weights=None).fit(texts, topics, np.full(60, 0.5))
    assert_allclose(model.predict_proba(texts), halved.predict_proba(texts), rtol=1e-12)
    assert np.abs(model.predict_proba(texts) - old).max() > 1e-6  # smoothing counts for more


# ---- oracles -------------------------------------------------------------------------------------

OPTIONS = [
    {},
    {"event": "binary"},
    {"alpha": 0.2, "ngram_range": (1, 2)},
    {"min_df": 2, "drop_most_frequent": 1},
    {"max_features": 3},
    {"weighting": "log-tfidf", "length_norm": "l2"},
    {"n_features": 64},
    {"alpha": {"wheat": 3.0}},
    {"prior": "uniform"},
    {"stop_words": ["the", "and"], "analyzer": "char", "ngram_range": (1, 2)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_each_label_is_the_textbook_of_two_classes(options, weighted):
    weights = np.arange(1.0, len(NEWS) + 1) if weighted else None
    model = MultilabelNB(weights=None, **options).fit(NEWS, TOPICS, sample_weight=weights)
    asked = [*NEWS, "wheat wheat of the bank", "unheard words"]
    found = model.predict_proba(asked)
    assert found.shape == (len(asked), 3)
    for k, label in enumerate(model.classes_.tolist()):
        having = [label in own for own in TOPICS]
        two = TextNB(weights=None, **options).fit(NEWS, having, sample_weight=weights)
        assert_allclose(found[:, k], two.predict_proba(asked)[:, 1], rtol=1e-10, atol=1e-14)
        assert_allclose(model._posterior().of(label).proba(model_rows(asked))[:, 1], found[:, k],
                        rtol=1e-10, atol=1e-14)  # fmt: skip


def model_rows(texts):
    return naively.text.documents.Documents.of(texts)


def test_it_predicts_as_one_vs_rest():
    texts, topics = corpus(200)
    y = MultiLabelBinarizer().fit_transform(topics)
    ours = MultilabelNB(weights=None).fit(texts, y)
    theirs = OneVsRestClassifier(TextNB(weights=None)).fit(texts, y)
    assert_array_equal(ours.predict(texts), theirs.predict(texts))
    assert_allclose(ours.predict_proba(texts), theirs.predict_proba(texts), atol=1e-12)
    assert ours.score(texts, y) == theirs.score(texts, y)


def counted(random, alpha, n=30, terms=12, labels=4):
    """Documents, some of them equal, and what was counted of these and others: as for labels."""
    x = random.integers(0, 3, (n, terms)) * (random.random((n, terms)) < 0.4)
    x[:, -1] = 0
    x[0, -1] = 2  # a term that nobody else has
    whole = random.integers(1, 3, n).astype(float)
    having = np.minimum(random.integers(0, 3, (n, labels)), whole[:, None]).astype(float)
    equal = np.column_stack([whole, having])
    others = random.integers(0, 5, (terms, labels)).astype(float)
    others[-1] = 0
    counts = x.T @ equal
    counts[:, 1:] += others
    counts[:, 0] += others.max(axis=1) + (random.integers(0, 4, terms) * (others.max(axis=1) > 0))
    group = random.integers(0, 2, terms)
    return Counted(
        csr_matrix(x, dtype=float), np.zeros(n, np.int64), whole, equal, np.arange(terms), counts,
        counts.sum(axis=0), np.array([2.0 * n, *range(1, labels + 1)]), None, terms, 0.0, group, 2,
        1.3, 2.0 * n,
    ), alpha  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("alpha", [1.0, 0.03])
def test_evidence_of_labels_is_that_of_two_classes(seed, alpha):
    """By the kernel of `TextNB`, of each label alone."""
    documents, alpha = counted(np.random.default_rng(seed), alpha)
    told, lengths, _ = LabelsCounted(documents).out_of_fold_log_odds(alpha, 30, SERIAL)
    for label in range(4):

        def two(values, label=label):
            own = values[..., 1 + label]
            return np.ascontiguousarray(np.stack([values[..., 0] - own, own], axis=-1))

        pair = Counted(
            documents.rows, documents.y, documents.weight, two(documents.equal),
            documents.terms, two(documents.counts), two(documents.of_class),
            two(documents.class_weight), None, documents.n_terms, 0.0, documents.group, 2,
            documents.unit, documents.documents,
        )  # fmt: skip
        (expected,), own_lengths, _ = pair.out_of_fold_evidence([alpha], 0, 30, SERIAL)
        assert_allclose(told[:, label], (expected[:, :, 1] - expected[:, :, 0]).T,
                        rtol=1e-5, atol=1e-5)  # fmt: skip
        assert_array_equal(lengths, own_lengths)


def test_weights_and_biases_lose_least():
    """Held against a minimiser of SciPy, of the same sum written down again."""
    random = np.random.default_rng(3)
    told = random.normal(0, 2, (3, 5, 200)).astype(np.float32)
    whole = random.integers(1, 4, 200).astype(np.float32)
    truth = 0.7 * told[0] + 0.2 * told[1] - 1 + random.logistic(0, 1, (5, 200)) > 0
    having = (truth * whole).astype(np.float32)
    evidence = Evidence(told, np.linspace(-2, 0, 5), having, whole)
    loss, w, b = evidence.weights()

    def again(x):
        w, b = x[:3], x[3:]
        odds = np.tensordot(w, told, 1) + (np.linspace(-2, 0, 5) + b)[:, None]
        lost = having * np.logaddexp(0, -odds) + (whole - having) * np.logaddexp(0, odds)
        return lost.sum() + 0.5 * (WEIGHT_RIDGE * w @ w + BIAS_RIDGE * b @ b)

    best = minimize(again, np.zeros(8), method="BFGS")
    assert_allclose(loss, best.fun, rtol=1e-5)
    assert_allclose(np.append(w, b), best.x, atol=0.02)


def test_reasons_add_up_to_the_log_odds():
    texts, topics = corpus(150)
    model = MultilabelNB().fit(texts, topics)
    odds = model.decision_function(texts[:5])
    for k, label in enumerate(model.classes_.tolist()):
        why = model.explain(texts[:5], label)
        totals = [one.total(label, f"not {label}") for one in why]
        assert_allclose(totals, odds[:, k], rtol=1e-9, atol=1e-9)
    told = model.informative_terms(3).to_pandas()
    for label, own in told.groupby("label"):
        assert own.term.str.startswith(label).all()


def test_weights_teach_more_than_the_textbook():
    """Documents that repeat themselves, as all do."""
    texts, topics = corpus(600, 1)
    again = [" ".join([text] * 3) for text in texts]
    y = MultiLabelBinarizer().fit_transform(topics)
    losses = []
    for weights in ("auto", None):
        p = MultilabelNB(weights=weights).fit(again[:400], y[:400]).predict_proba(again[400:])
        p = np.clip(p, 1e-12, 1 - 1e-12)
        losses.append(-np.where(y[400:], np.log(p), np.log(1 - p)).sum(axis=1).mean())
    assert losses[0] < 0.9 * losses[1]


def test_left_out_log_loss_is_that_of_new_documents():
    texts, topics = corpus(3000, 2)
    strange, _ = corpus(3000, 3)
    texts = [f"{a} {b[: len(b) // 2]}" for a, b in zip(texts, strange, strict=True)]
    model = MultilabelNB().fit(texts[:1500], topics[:1500])
    odds = model.decision_function(texts[1500:])
    y = MultiLabelBinarizer().fit_transform(topics[1500:])
    loss = np.logaddexp(0, np.where(y, -odds, odds)).sum(axis=1).mean()
    assert loss > 0.5
    assert_allclose(model.scale_.out_of_fold.log_loss, loss, rtol=0.1)


# ---- what people pass ----------------------------------------------------------------------------


def test_lists_sets_arrays_and_arrow():
    expected = as_bytes(MultilabelNB().fit(NEWS, TOPICS))
    forms = [
        [tuple(one) for one in TOPICS], [set(one) for one in TOPICS], pa.array(TOPICS),
        pa.chunked_array([TOPICS[:3], TOPICS[3:]]), pl.Series(TOPICS),
        [np.array(one, object) for one in TOPICS], [one * 3 for one in TOPICS],
        [[*one, ""] for one in TOPICS],
    ]  # fmt: skip
    for form in forms:
        assert as_bytes(MultilabelNB().fit(NEWS, form)) == expected


def test_matrices_dense_and_sparse():
    y = MultiLabelBinarizer().fit_transform(TOPICS)
    y = np.column_stack([y, np.zeros(len(y), int), np.ones(len(y), int)])
    dense = MultilabelNB().fit(NEWS, y)
    assert dense.classes_.tolist() == [0, 1, 2, 3, 4]
    for other in (csr_matrix(y), y.astype(bool), y.astype(float)):
        assert as_bytes(MultilabelNB().fit(NEWS, other)) == as_bytes(dense)
    p = dense.predict_proba(NEWS)
    assert_array_equal(p[:, 3:], np.tile([0.0, 1.0], (len(NEWS), 1)))
    said = dense.predict(NEWS)
    assert said.shape == y.shape
    assert_array_equal(said[:, 3:], y[:, 3:])
    assert dense.score(NEWS, y) == np.mean((said == y).all(axis=1))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a"], None], "labels of row 1 are missing"),
        ([["a"], float("nan")], "labels of row 1 are missing"),
        ([["a"], [None]], "row 1 has a missing label"),
        ([["a"], [float("nan")]], "row 1 has a missing label"),
        ([["a"], [1]], "row 0 has labels that are text, row 1 numbers"),
        ([["a", 1], []], "text, row 0 numbers"),
        ([[1.5], []], "row 0 has the label 1.5"),
        ([[True], []], "truth value"),
        ([[["a"]], []], r"row 0 has the label \['a'\]"),
        ([[2**63], []], "beyond 64 bits"),
        ([[-(2**63)], []], "beyond 64 bits"),
        ([["a\0b"], []], "NUL"),
        (["a", "b"], "row 0 of y is 'a'"),
        ([1, 2], "row 0 of y is 1"),
        ("ab", "must hold a list of labels"),
        ([["a"]], "inconsistent numbers"),
        (np.array([[0, 2], [1, 0]]), "holds .*2.* in row 0, column 1"),
        (np.array([[0, np.nan], [1, 0]]), "holds .*nan"),
        (np.array([["a"], ["b"]]), "holds"),
        (csr_matrix([[0, 3], [1, 0]]), "holds"),
        (None, "requires y"),
    ],
    ids=str,
)
def test_labels_that_are_none(y, message):
    model = MultilabelNB().fit(["x ab", "y cd"], [["a"], []])
    before = as_bytes(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(["wheat", "maize"], y)
    with pytest.raises(ValueError, match=message):
        MultilabelNB().fit(["wheat", "maize"], y)
    assert as_bytes(model) == before


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"event": "bernoulli"}, "bernoulli"), ({"event": "complement", "weights": None}, "compl"),
        ({"alpha": 0.0}, "alpha=0"), ({"alpha": 0.0, "weights": None}, "alpha=0"),
        ({"threshold": 0.0}, "threshold"), ({"threshold": "f1"}, "threshold"),
        ({"prior": {"a": 0.5}}, "prior"), ({"prior_smoothing": [1.0]}, "prior_smoothing"),
        ({"weights": "yes"}, "weights"),
    ],
    ids=str,
)  # fmt: skip
def test_parameters_that_make_no_sense(parameters, message):
    with pytest.raises(ValueError, match=message):
        MultilabelNB(**parameters).fit(NEWS, TOPICS)


def test_parameters_are_read_anew():
    model = MultilabelNB(weights=None).fit(NEWS, TOPICS)
    model.set_params(alpha=0.1, prior_smoothing=1.0).reestimate()
    fresh = MultilabelNB(weights=None, alpha=0.1, prior_smoothing=1.0).fit(NEWS, TOPICS)
    assert_array_equal(model.predict_proba(NEWS), fresh.predict_proba(NEWS))
    assert_allclose(model._posterior().class_prior, (np.array([3, 3, 3]) + 1) / (8 + 2))
    model.set_params(threshold=1 - 1e-9)
    assert sum(map(len, model.predict(NEWS))) < sum(map(len, fresh.predict(NEWS)))
    with pytest.raises(ValueError, match="call `fit` again"):
        model.set_params(ngram_range=(1, 2)).reestimate()


@pytest.mark.slow
def test_one_label_and_a_thousand():
    one = MultilabelNB().fit(NEWS, [["x"] if t and "wheat" in t else [] for t in NEWS])
    assert one.predict(["wheat", "bank"])[1] == []
    random = np.random.default_rng(0)
    topics = [random.integers(1000, size=4).tolist() for _ in range(600)]
    texts = [" ".join(f"w{k % 97} w{k % 89}" for k in own) for own in topics]
    topics[0] = list(range(1000))
    many = MultilabelNB().fit(texts, topics)
    p = many.predict_proba(texts[:20])
    assert p.shape == (20, 1000)
    assert np.isfinite(p).all()
    labels, top = many.predict_top(texts[1:3], 5)
    assert labels.shape == top.shape == (2, 5)
    assert (np.diff(top) <= 0).all()


@given(st.lists(st.text(max_size=30) | st.none(), min_size=1, max_size=6), st.data())
def test_hostile_texts_and_labels(texts, data):
    names = st.text(st.characters(exclude_characters="\0"), max_size=5)
    topics = data.draw(st.lists(st.lists(names, max_size=4), min_size=len(texts),
                                max_size=len(texts)))  # fmt: skip
    model = MultilabelNB().fit(["some words", *texts], [[], *topics])
    p = model.predict_proba([*texts, "words"])
    assert ((p >= 0) & (p <= 1)).all()
    assert model.classes_.tolist() == sorted({one for own in topics for one in own} - {""})
    assert as_bytes(pickle.loads(pickle.dumps(model))) == as_bytes(model)


def test_what_was_never_learned_is_not_forgotten():
    model = MultilabelNB(weights=None).fit(NEWS, TOPICS)
    before = as_bytes(model)
    for texts, topics in (
        (["wheat harvest falls"], [["money"]]),  # with another label
        (["bank"] * 3, [["money"]] * 3),
        (["wheat harvest falls"], [["fish"]]),
        (["bank lifts its rates"], [[]]),  # which had a label
    ):
        with pytest.raises(ValueError, match="cannot forget"):
            model.forget(texts, topics)
        assert as_bytes(model) == before
    model.forget(NEWS, TOPICS)
    with pytest.raises(ValueError, match="has no class"):
        model.predict(NEWS)


def test_models_of_one_label_a_row_do_not_add_up():
    with pytest.raises(TypeError):
        MultilabelNB().fit(NEWS, TOPICS) + TextNB().fit(NEWS, [1, 2] * 4)


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["auto", None])
@pytest.mark.parametrize("matrix", [False, True])
def test_files(tmp_path, weights, matrix):
    texts, topics = corpus(80)
    y = MultiLabelBinarizer().fit_transform(topics) if matrix else topics
    model = MultilabelNB(weights=weights, threshold=0.3).fit(texts, y)
    model.save(tmp_path / "m")
    loaded = naively.load(tmp_path / "m")
    assert type(loaded) is MultilabelNB
    assert loaded.get_params() == model.get_params()
    assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    assert_array_equal(np.asarray(loaded.predict(texts), object),
                       np.asarray(model.predict(texts), object))  # fmt: skip
    more, other = corpus(10, 5)
    other = MultiLabelBinarizer(classes=LABELS).fit_transform(other) if matrix else other
    for one in (loaded, model):
        one.partial_fit(more, other)
    assert as_bytes(loaded) == as_bytes(model)


def test_files_that_cannot_be_true_are_refused(tmp_path):
    MultilabelNB().fit(*corpus(40)).save(tmp_path / "m")
    document, arrays = parts(tmp_path / "m")

    def refused(change):
        own, tensors = copy.deepcopy(document), dict(arrays)
        change(own, tensors)
        for aware in (True, False):
            forge(tmp_path / "forged", own, tensors, aware)
            with pytest.raises(ModelFileError):
                naively.load(tmp_path / "forged")

    def more_of_a_label(_, tensors):
        tensors["class_weight"] = tensors["class_weight"].copy()
        tensors["class_weight"][1] = tensors["class_weight"][0] + 1

    def more_of_a_term(_, tensors):
        tensors["statistics.0.sum"] = tensors["statistics.0.sum"].copy()
        tensors["statistics.0.sum"][1, 0] = tensors["statistics.0.sum"][0, 0] + 1

    def no_total(own, _):
        own["classes"]["labels"][0] = "a"

    def weights_of_others(_, tensors):
        tensors["estimate.bias"] = tensors["estimate.bias"][1:]

    def one_label_a_row(own, _):
        own["multilabel"] = False

    def of_no_text(own, _):
        own["schema"]["blocks"][0]["family"] = {"name": "gaussian"}

    for change in (more_of_a_label, more_of_a_term, no_total, weights_of_others, one_label_a_row,
                   of_no_text):  # fmt: skip
        refused(change)
    own, tensors = dict(document), dict(arrays)
    del own["multilabel"]  # a model of four classes and one without a name: no `MultilabelNB`
    forge(tmp_path / "forged", own, tensors)
    with pytest.raises(ModelFileError):
        naively.load(tmp_path / "forged")


# ---- real data -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_cross_posts_of_newsgroups(data_folder):
    """A tenth of the posts, with all groups that they were sent to."""
    import lzma
    from json import loads

    posts = {}
    with lzma.open(data_folder / "20news-19997/all.jsonl.xz", "rt", encoding="utf-8") as file:
        for line in itertools.islice(file, 0, None, 8):
            head, _, body = loads(line)["text"].partition("\n\n")
            lines = dict(one.partition(": ")[::2] for one in head.split("\n"))
            groups = lines.get("Newsgroups", "").replace(" ", "").split(",")
            posts.setdefault(body, set()).update(groups)
    texts, topics = [*posts], [sorted(one) for one in posts.values()]
    y = MultiLabelBinarizer().fit_transform(topics)
    y = y[:, y.sum(axis=0) >= 20]
    assert y.sum(axis=1).max() >= 3
    half = len(texts) // 2
    random = np.random.default_rng(0).permutation(len(texts))
    train, test = random[:half], random[half:]
    scores = {}
    for weights in ("auto", None):
        model = MultilabelNB(weights=weights).fit([texts[i] for i in train], y[train])
        p = np.clip(model.predict_proba([texts[i] for i in test]), 1e-12, 1 - 1e-12)
        truth = y[test] == 1
        right = (truth & (p >= 0.5)).sum()
        f1 = 2 * right / (truth.sum() + (p >= 0.5).sum())
        loss = -np.where(truth, np.log(p), np.log1p(-p)).sum(axis=1).mean()
        scores[weights] = f1, loss
    assert scores["auto"][0] > scores[None][0] + 0.1
    assert scores["auto"][1] < 0.3 * scores[None][1]
