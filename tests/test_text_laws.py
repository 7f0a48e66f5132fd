"""Laws of documents: words, pieces, references, files, and scikit-learn."""

import copy
import pickle
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from cases import EVENTS, PROBE, examples
from corpora import (
    ALIKE,
    TEXTS,
    VARIANTS,
    corpus,
    new_text,
    options,
    refers,
    split_at_spaces,
    without_weights,
)
from forging import forge, parts
from hypothesis import given, settings
from hypothesis import strategies as st
from kit import each, with_family
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

import naively
from naively import NaiveBayes, TextNB
from naively.families.numeric.gaussian import Gaussian
from naively.families.text import parameters as text_parameters
from naively.families.text.text import Text
from naively.storage.model_files import ModelFileError
from naively.text import counting
from naively.text.documents import Documents

# ---- what is drawn -------------------------------------------------------------------------------


def split_at_each_space(text):
    return text.split(" ")  # and some words are empty


every_variant = each("name", [*VARIANTS], ALIKE)


@st.composite
def rows(draw, **how):
    """(documents, labels, weights or None)."""
    own = draw(examples(EVENTS["text, multinomial"], **how))
    return own.rows.tolist(), own.y, own.weights


@contextmanager
def cut(size):
    """Documents are cut into pieces of about so many bytes: threads take 256 KiB, too many here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "PIECE", size)
        patch.setattr(text_parameters, "PIECE", size)
        patch.setattr(text_parameters, "SCORED", size)
        yield


def textbook(event="multinomial", **chosen):
    """A `TextNB` of these options."""
    return TextNB(event, **without_weights(chosen))


def new_textbook(chosen, **more):
    """As `new_text`."""
    return new_text(without_weights(chosen | more))


def learn(classifier, texts, y, weights=None):
    """partial_fit; but rows that all weigh nothing are absent."""
    if len(texts) and (weights is None or np.any(weights)):
        classifier.partial_fit(texts, y, sample_weight=weights)
    return classifier


def bits(classifier, texts=()):
    return classifier.predict_joint_log_proba([*PROBE, *texts]).view(np.int64)


def assert_same(a, b, texts=()):
    """Two classifiers learned the same, and score alike, bit for bit."""
    assert a.model_ == b.model_
    assert_array_equal(bits(a, texts), bits(b, texts))


# ---- 1. training is addition ---------------------------------------------------------------------


@every_variant
def test_threads_and_pieces_give_the_same_model(name):
    texts, y = corpus(250)
    with cut(1 << 30):
        whole = new_textbook(VARIANTS[name]).set_params(n_jobs=1).partial_fit(texts, y)
        expected = bits(whole, texts)
    weights = np.ones(len(y))
    for n_jobs, size in ((1, 100), (2, 1), (2, 1000), (3, 20_000)):
        with cut(size):
            for w in (None, weights):
                other = new_textbook(VARIANTS[name]).set_params(n_jobs=n_jobs)
                other.partial_fit(texts, y, sample_weight=w)
                assert other.model_ == whole.model_
            assert_array_equal(bits(other, texts), expected)
            if whole.model_.family.is_density:
                with cut(1 << 30):
                    scores = whole.score_samples(texts)
                assert_array_equal(other.score_samples(texts), scores)


# ---- 4. names and places carry no meaning --------------------------------------------------------


NAMES = ["aa", "bb", "cc", "dd", "ee"]
BY_NAME = {"stop_words", "n_features", "max_features", "drop_most_frequent"}
"""Options by which names matter: of equally frequent terms the first of the alphabet is chosen."""
PLAIN = st.lists(st.sampled_from(NAMES), max_size=7)


@given(
    options().filter(lambda chosen: not BY_NAME & chosen.keys()),
    st.lists(st.tuples(PLAIN, st.integers(0, 2)), min_size=1, max_size=8),
    st.permutations(NAMES),
)
def test_renamed_words_give_the_permuted_model(chosen, given_rows, others):
    chosen = {**chosen, "analyzer": split_at_spaces, "ngram_range": (1, 1)}
    if refers(chosen):
        chosen["weighting"] = "log"  # the reference documents would have to be renamed as well
    rename = dict(zip(NAMES, others, strict=True))
    y = [label for _, label in given_rows]
    texts = [" ".join(words) for words, _ in given_rows]
    renamed = [" ".join(rename[word] for word in words) for words, _ in given_rows]
    a, b = textbook(**chosen).partial_fit(texts, y), textbook(**chosen).partial_fit(renamed, y)
    assert sorted(rename[term] for term in a.terms_) == b.terms_.tolist()
    order = [b.terms_.tolist().index(rename[term]) for term in a.terms_]
    assert_array_equal(b.feature_count_[:, order], a.feature_count_)
    if not chosen.get("norm"):  # which sums over the terms
        assert_array_equal(b.feature_log_prob_[:, order], a.feature_log_prob_)
    assert_allclose(
        b.predict_log_proba(renamed), a.predict_log_proba(texts), rtol=1e-10, atol=1e-10
    )


@given(options(), rows(), st.data())
def test_the_order_of_words_is_no_matter(chosen, given_rows, data):
    chosen = {**chosen, "analyzer": split_at_spaces, "ngram_range": (1, 1)}
    texts, y, weights = given_rows
    mixed = [
        None if text is None else " ".join(data.draw(st.permutations(text.split())))
        for text in texts
    ]
    a = new_textbook(chosen).partial_fit(texts, y, sample_weight=weights)
    assert_same(a, new_textbook(chosen).partial_fit(mixed, y, sample_weight=weights), texts)


# ---- 5. posteriors are probabilities -------------------------------------------------------------


# ---- 6. explanations add up ----------------------------------------------------------------------


def assert_told(classifier, texts):
    """What is told of each document is its score, term by term."""
    parameters = classifier.model_.posterior().parameters
    documents = Documents.of(texts)
    scores = classifier.predict_joint_log_proba(texts)
    with np.errstate(divide="ignore"):
        prior = np.log(classifier.class_prior_)
    absent = []  # what is added up for all terms, and taken off again for those that are met
    if classifier.event == "bernoulli":
        absent = parameters.inner.log_probabilities(slice(0, parameters.inner.n_features))[0].T
    analysis = classifier.model_.family.analysis
    for i, text in enumerate(texts):
        told = parameters.explain_document(documents, i)
        text = "" if text is None else text
        assert told.text == text
        assert told.contributions.shape == (len(told.terms), len(classifier.classes_))
        total = prior + told.contributions.sum(axis=0) + told.rest
        added = np.vstack([told.contributions, told.rest, *absent])
        size = 1.0 + abs(added[np.isfinite(added)]).sum()
        assert_allclose(total, scores[i], rtol=1e-12, atol=1e-13 * size)
        found = Counter(analysis.terms(text))
        named = Counter()
        for term, count, spans in zip(told.terms, told.counts, told.spans, strict=True):
            assert count == len(spans)
            assert all(0 <= a <= b <= len(text) for span in spans for a, b in span)
            named[term] = count
        named += Counter({term: found[term] for term in told.unknown})
        if classifier.n_features is None:
            assert named == found
        else:  # terms of one bucket stand together
            assert named.total() == found.total()


@given(options(), rows(), st.lists(TEXTS, max_size=3))
def test_explanations_add_up_to_the_score(chosen, given_rows, more):
    texts, y, weights = given_rows
    classifier = new_textbook(chosen).partial_fit(texts, y, sample_weight=weights)
    assert_told(classifier, [*PROBE, *texts, *more])
    explained = classifier.model_.posterior().explain(Documents.of([*PROBE, *texts]))
    joint = classifier.predict_joint_log_proba([*PROBE, *texts])
    assert explained.contributions.shape == (len(joint), len(classifier.classes_), 1)
    assert_array_equal(explained.joint, joint)


@pytest.mark.parametrize("chosen", [{}, {"analyzer": "char", "ngram_range": (1, 2)}], ids=str)
def test_explanations_of_bytes(chosen):
    texts = [b"caf\xe9 \xff\xfe the", "naïve the".encode(), b"\xc3", b"ab\xe4\xb8 ab \xf0\x9f"]
    classifier = textbook(**chosen).fit(texts, [0, 1, 1, 0])
    scores = classifier.predict_joint_log_proba(texts)
    for i, text in enumerate(texts):
        told = classifier.model_.posterior().parameters.explain_document(Documents.of(texts), i)
        assert told.text == text.decode("utf-8", "replace")
        total = np.log(classifier.class_prior_) + told.contributions.sum(axis=0) + told.rest
        assert_allclose(total, scores[i], rtol=1e-12)


def test_explanations_of_text():
    texts = ["free prize, FREE", "lunch at noon", "a prize at noon", "free lunch"]
    classifier = textbook().fit(texts, ["spam", "ham", "spam", "ham"])
    told = classifier.model_.posterior().parameters.explain_document(
        Documents.of(["A free x-mas prize: free!"]), 0
    )
    assert told.terms == ["free", "prize"]
    assert told.counts.tolist() == [2, 1]
    assert told.unknown == ["mas"]
    assert [told.text[a:b] for spans in told.spans[0] for a, b in spans] == ["free", "free"]
    theta = np.array([[2, 1], [3, 3]]) / [[5 + 5], [6 + 5]]  # of ham and spam, counts + 1
    assert_allclose(told.contributions, (np.log(theta) * [2, 1]).T, rtol=1e-14)
    assert told.rest.tolist() == [0, 0]


# ---- 7. a missing document is no evidence --------------------------------------------------------


# ---- 8. samples ----------------------------------------------------------------------------------


def test_samples_of_the_complement_are_those_of_counts():
    texts, y = corpus(300)
    first = textbook("complement", alpha=0.3).fit(texts, y)
    drawn, labels = first.sample(4000, random_state=11)
    same, others = textbook(alpha=0.3).fit(texts, y).sample(4000, random_state=11)
    assert drawn == same
    assert_array_equal(labels, others)


def test_only_single_words_are_drawn():
    for chosen in ({"analyzer": "char"}, {"ngram_range": (1, 2)}, {"n_features": 8}):
        with pytest.raises(ValueError, match=r"single words|names are not stored"):
            textbook(**chosen).fit(*corpus(50)).sample(3)


# ---- 9. a file holds the model -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "tfidf-l2", "bernoulli", "hashed", "min_df"])
@pytest.mark.parametrize("texts", [["", None, "."], ["aa", "bb", "cc"]], ids=["no terms", "terms"])
def test_empty_models_are_saved(name, texts, tmp_path):
    classifier = textbook(**VARIANTS[name]).partial_fit(texts, [0, 1, 1])
    for one in (classifier, copy.deepcopy(classifier).forget(texts, [0, 1, 1])):
        one.save(tmp_path / "m")
        loaded = naively.load(tmp_path / "m")
        assert loaded.model_ == one.model_
        assert_same(one.partial_fit(["aa b2"], [5]), loaded.partial_fit(["aa b2"], [5]))


@pytest.mark.parametrize(
    "chosen",
    [{"tokenizer": str.split}, {"analyzer": str.split}, {"strip_accents": str.casefold}],
    ids=lambda chosen: next(iter(chosen)),
)
def test_functions_are_not_saved(chosen, tmp_path):
    classifier = textbook(**chosen).fit(["aa bb", "cc"], [0, 1])
    with pytest.raises(ValueError, match="cannot be saved: a value of type method_descriptor"):
        classifier.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())
    again = pickle.loads(pickle.dumps(classifier))
    assert_same(classifier, again)


@pytest.mark.parametrize("name", ["plain", "tfidf-l2", "hashed-bernoulli"])
def test_damage_is_noticed(name, tmp_path):
    classifier = textbook(**VARIANTS[name]).fit(["aa ab", "ΟΔΟΣ aa", None], ["x", "y", "x"])
    classifier.save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    generator = np.random.default_rng(1)
    for at in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[at] ^= int(generator.integers(1, 256))
        (tmp_path / "n").write_bytes(damaged)
        try:
            other = naively.load(tmp_path / "n")
        except ModelFileError:
            continue
        assert_same(classifier, other)  # a header may say the same in other bytes
    for length in range(0, len(content), 29):
        (tmp_path / "n").write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            naively.load(tmp_path / "n")


def test_forged_tensors_are_refused(tmp_path):
    textbook(max_terms=9).fit(["aa bb", "cc aa", "dd"], [0, 1, 1]).save(tmp_path / "m")
    document, arrays = parts(tmp_path / "m")
    assert arrays["statistics.0.terms"].tobytes() == b"aabbccdd"

    def refused(match, **changes):
        other = {**arrays, **{f"statistics.0.{name}": array for name, array in changes.items()}}
        other = {name: array for name, array in other.items() if array is not None}
        with pytest.raises(ModelFileError, match=match):
            naively.load(forge(tmp_path / "n", document, other))

    def text(data):
        return np.frombuffer(data, np.uint8)

    refused("not sorted and distinct", terms=text(b"bbaaccdd"))
    refused("not sorted and distinct", terms=text(b"aaaaccdd"))
    refused("decode", terms=text(b"aabbcc\xff\xff"))
    refused("decode", terms=text(b"aabbccd\xc3"))
    refused("begins within a character", terms=text("a\xe9\xe9ccc".encode()))
    refused("do not add up", terms=text(b"aabbccd"))
    refused("no text", terms=text(b"aabbccdd").astype(np.int64))
    refused("no text", terms=None)
    refused("no text", term_lengths=None)
    for lengths in ([2, 2, 2, 3], [2, 2, 6, -2], [1 << 62] * 3 + [(1 << 62) + 8], [8]):
        refused("do not add up|shape", term_lengths=np.array(lengths))
    refused("no text", term_lengths=np.full(4, 2, np.int32))
    refused("not sorted and distinct", term_lengths=np.array([0, 0, 4, 4]))
    for values in ([-1.0], [np.nan], [np.inf], [1.0, 2.0], []):
        refused("inexact|exact", undercount=np.array(values))
    refused("exact", undercount=np.zeros(1, np.float32))
    refused("exact", undercount=None)
    counts = arrays["statistics.0.sum"]
    refused("shape", sum=counts[:, :3].copy())
    refused("negative", sum=-counts)
    refused("shape", missing=np.zeros((2, 2, 1), np.int64))
    refused("more rows than there are", missing=np.full((2, 1, 1), 5))
    refused("no tensor", sum=None)


def test_forged_options_are_refused(tmp_path):
    textbook().fit(["aa bb", "cc aa", "dd"], [0, 1, 1]).save(tmp_path / "m")
    document, arrays = parts(tmp_path / "m")
    for option, value in {
        "event": "gaussian", "alpha": -1.0, "norm": True, "weighting": "idf", "length_norm": "l3",
        "analyzer": "words", "ngram_range": {"tuple": [2, 1]}, "lowercase": "no",
        "strip_accents": "all", "stop_words": "english", "token_pattern": "(", "tokenizer": "split",
        "min_df": -1, "max_df": 2.0, "max_features": 0, "n_features": 3, "max_terms": 0,
        "reference": 3,
    }.items():  # fmt: skip
        with pytest.raises(ModelFileError, match=option):
            naively.load(forge(tmp_path / "n", with_family(document, **{option: value}), arrays))
    for changes in ({"n_features": 16}, {"min_df": 2}):  # whose tables it does not have
        with pytest.raises(ModelFileError, match="damaged"):
            naively.load(forge(tmp_path / "n", with_family(document, **changes), arrays))


# ---- the laws in any sequence --------------------------------------------------------------------


# ---- words and classes that come later -----------------------------------------------------------


def test_words_and_classes_may_come_later():
    model = textbook().partial_fit(["aa bb"], ["one"])
    assert model.predict_proba(["zz"]).tolist() == [[1.0]]
    model.partial_fit(["aa cc", "dd"], ["two", "three"]).partial_fit(["bb ee"], ["a class"])
    assert model.classes_.tolist() == ["a class", "one", "three", "two"]
    assert model.terms_.tolist() == ["aa", "bb", "cc", "dd", "ee"]
    assert model.feature_count_.tolist() == [
        *([0, 1, 0, 0, 1], [1, 1, 0, 0, 0], [0, 0, 0, 1, 0], [1, 0, 1, 0, 0])
    ]
    model.forget(["dd"], ["three"])
    assert model.terms_.tolist() == ["aa", "bb", "cc", "ee"]
    assert model.classes_.tolist() == ["a class", "one", "two"]


def test_terms_left_out_come_back():
    model = textbook(min_df=2).fit(["aa bb", "aa cc", "dd"], [0, 1, 1])
    assert model.terms_.tolist() == ["aa"]
    model.partial_fit(["cc bb"], [0])
    assert model.terms_.tolist() == ["aa", "bb", "cc"]
    model.set_params(min_df=3)
    assert model.partial_fit(["bb"], [0]).terms_.tolist() == ["bb"]


# ---- bounded memory ------------------------------------------------------------------------------


@given(
    st.sampled_from([{}, {"weighting": "log"}, {"event": "binary"}, {"min_df": 2}]),
    st.integers(1, 12),
    st.lists(rows(most=4, weights=st.integers(0, 3).map(float)), min_size=1, max_size=6),
    st.data(),
)
def test_counts_of_bounded_memory_lack_no_more_than_is_said(chosen, limit, batches, data):
    bounded, whole = textbook(max_terms=limit, **chosen), textbook(**chosen)
    for k, (texts, y, weights) in enumerate(batches):
        if k and data.draw(st.booleans()):
            bounded = bounded + textbook(max_terms=limit, **chosen).partial_fit(
                texts, y, None, weights
            )
        else:
            bounded.partial_fit(texts, y, sample_weight=weights)
        whole.partial_fit(texts, y, sample_weight=weights)
        statistics = bounded.model_.statistics
        assert len(statistics.vocabulary) <= limit
        assert_array_equal(bounded.class_count_, whole.class_count_)
        kept, counted = all_counts(bounded), all_counts(whole)
        assert kept.keys() <= counted.keys()
        for term, full in counted.items():
            counts = kept.get(term, np.zeros(len(full)))
            assert (counts <= full).all()
            assert (full - counts).sum() <= statistics.undercount * (1 + 1e-12)


def all_counts(classifier):
    statistics = classifier.model_.canonical().statistics
    table = statistics.tables["sum"].rounded()
    return dict(zip(statistics.vocabulary.terms(), table.T, strict=True))


def test_frequent_terms_survive(tmp_path):
    generator = np.random.default_rng(0)
    model = textbook(max_terms=200)
    for _ in range(100):
        rare = [f"rare{k}" for k in generator.integers(0, 10**9, 60)]
        model.partial_fit([" ".join(["often", "always", "always", *rare])], [0])
        model.partial_fit([" ".join(["often", *rare[:5]])], [1])
        assert len(model.model_.statistics.vocabulary) <= 200
    counts = all_counts(model)
    assert counts["always"].tolist() == [200, 0]
    assert counts["often"].tolist() == [100, 100]
    model.save(tmp_path / "m")
    loaded = naively.load(tmp_path / "m")
    assert loaded.model_.statistics.undercount == model.model_.statistics.undercount > 0
    assert_same(model, loaded)


# ---- documents to refer to -----------------------------------------------------------------------


@given(rows(most=6), rows(most=6), st.sampled_from(["tfidf", "log-tfidf"]), st.data())
def test_the_reference_is_that_of_the_first_documents(first, second, weighting, data):
    model = textbook(weighting=weighting, n_jobs=2)
    with cut(data.draw(st.sampled_from([1, 1 << 18]))):
        model.partial_fit(first[0], first[1])
    reference = model.model_.family.reference
    there = [text for text in first[0] if text is not None]
    analysis = model.model_.family.analysis
    documents = Counter(term for text in there for term in set(analysis.terms(text)))
    assert reference.total == len(there)
    assert dict(zip(reference.vocabulary.terms(), reference.documents, strict=True)) == documents
    assert reference.vocabulary.terms() == sorted(documents)
    before = copy.deepcopy(model)
    model.partial_fit(second[0], second[1], sample_weight=second[2])
    assert model.model_.family.reference == reference
    for text, label, w in zip(
        *second[:2], np.ones(len(second[1])) if second[2] is None else second[2], strict=True
    ):
        learn(before, [text], [label], [w])
    assert_same(model, before)


def test_models_that_refer_to_other_documents_do_not_add():
    a, b = (textbook(weighting="tfidf").fit(texts, [0, 1])
            for texts in (["aa bb", "aa"], ["aa bb", "bb"]))  # fmt: skip
    before = copy.deepcopy((a, b))
    with pytest.raises(ValueError, match="cannot combine"):
        a + b
    with pytest.raises(ValueError, match="cannot combine"):
        sum([b, a])
    assert (a.model_, b.model_) == tuple(one.model_ for one in before)
    same = textbook(weighting="tfidf").fit(["aa", "bb aa"], [1, 0])
    assert (a + same).class_count_.tolist() == [2, 2]
    plain = textbook().fit(["aa bb", "aa"], [0, 1])
    for other in (textbook(weighting="log"), textbook("binary"), textbook(lowercase=False)):
        with pytest.raises(ValueError, match="cannot combine"):
            plain + other.fit(["aa bb", "aa"], [0, 1])
    other = textbook("complement", alpha=2).fit(["cc", "dd"], [0, 1])
    with pytest.warns(UserWarning, match="event='multinomial', not 'complement'"):
        assert (plain + other).event == "multinomial"


def test_fit_begins_with_other_documents():
    model = textbook(weighting="tfidf").fit(["aa bb", "aa"], [0, 1])
    model.fit(["cc", "cc dd", "dd ee"], [0, 1, 1])
    assert_same(model, textbook(weighting="tfidf").fit(["cc", "cc dd", "dd ee"], [0, 1, 1]))
    assert model.model_.family.reference.total == 3


# ---- tables with columns of text -----------------------------------------------------------------

COLUMNS = {
    "a": Text(),
    "b": Text(event="bernoulli", ngram_range=(1, 2), alpha=0.5),
    "n": Gaussian(floor="feature"),
}
PROSE = st.none() | st.lists(
    st.sampled_from(["one", "two", "drei", "ΟΔΟΣ", "five"]), min_size=1
).map(" ".join)
LINES = st.tuples(
    PROSE, PROSE, st.none() | st.integers(-9, 9).map(float), st.sampled_from(["x", "y", "z"])
)


def table(lines, names="abn"):
    return {name: pa.array([line["abn".index(name)] for line in lines],
                           pa.float64() if name == "n" else pa.string())
            for name in names}  # fmt: skip


def labels(lines):
    return [line[3] for line in lines]


def of_table(lines, names="abn", n_jobs=None):
    columns = {name: COLUMNS[name] for name in names}
    return NaiveBayes(columns, n_jobs=n_jobs).partial_fit(table(lines, names), labels(lines))


def assert_same_tables(a, b, lines, names="abn"):
    assert a.model_ == b.model_
    probe = table(lines, names)
    scores = [one.predict_joint_log_proba(probe).view(np.int64) for one in (a, b)]
    assert_array_equal(*scores)


@given(
    st.lists(LINES, min_size=1, max_size=4), st.lists(LINES, min_size=1, max_size=4), st.booleans()
)
def test_columns_of_text_may_appear_later(first, second, text_first):
    """Rows that lack a column are rows in which it is missing."""
    early, late = ("an", "b") if text_first else ("n", "ab")
    names = early + late
    whole = of_table([tuple(None if "abn"[k] in late else line[k] for k in range(3)) + line[3:]
                      for line in first], names)  # fmt: skip
    whole.partial_fit(table(second, names), labels(second))
    with pytest.warns(UserWarning, match="only the right model has"):
        joined = of_table(first, early) + of_table(second, names)
    assert_same_tables(joined, whole, first + second, names)
    joined.forget(table(second, names), labels(second))
    if set(labels(first)) & set(labels(second)):
        assert joined.class_count_.tolist() == of_table(first, early).class_count_.tolist()


def test_columns_that_refer_to_documents(tmp_path):
    chosen = {"weighting": "log-tfidf", "length_norm": "l2"}
    texts, y = corpus(60)
    texts = [text or None for text in texts]
    model = NaiveBayes(columns={"a": Text(**chosen)}).partial_fit({"a": texts[:30]}, y[:30])
    alone = textbook(**chosen).partial_fit(texts[:30], y[:30])
    (block,) = model.model_.schema.blocks
    assert block.family.reference == alone.model_.family.reference
    other = copy.deepcopy(model).forget({"a": texts[:30]}, y[:30])
    other.partial_fit({"a": texts[40:]}, y[40:])
    model.partial_fit({"a": texts[30:40]}, y[30:40])
    total = model + other
    assert_same_tables_of_one(total, alone.partial_fit(texts[30:], y[30:]), texts)
    total.save(tmp_path / "m")
    loaded = naively.load(tmp_path / "m")
    assert loaded.model_ == total.model_
    assert_same_tables_of_one(
        loaded.forget({"a": texts[:9]}, y[:9]), alone.forget(texts[:9], y[:9]), texts
    )
    other = NaiveBayes(columns={"a": Text(**chosen)}).partial_fit({"a": texts[30:]}, y[30:])
    with pytest.raises(
        ValueError, match=r"column .a. has families that cannot be added: text with "
    ):
        total + other


def test_a_table_of_prose_as_it_comes(tmp_path):
    texts, y = corpus(120)
    rest, _ = corpus(120, seed=1)
    frame = {"a": texts, "b": rest, "n": list(range(120)), "kind": ["p", "q", None] * 40}
    model = NaiveBayes().fit(frame, y)
    kinds = {name: family.name for name, family in model.model_.schema.family_of.items()}
    assert {name: kinds[name] for name in "ab"} == {"a": "text", "b": "text"}
    model.save(tmp_path / "m")
    loaded = naively.load(tmp_path / "m")
    assert loaded.model_ == model.model_
    assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    alone = NaiveBayes(columns={"a": "text"}).fit({"a": texts}, y)
    assert_same_tables_of_one(alone, textbook().fit([text or None for text in texts], y), texts)


def assert_same_tables_of_one(table_model, text_model, texts):
    (part,) = table_model.model_.canonical().parts
    assert part == text_model.model_.statistics
    texts = [text or None for text in texts]  # a blank cell of a table is a missing one
    assert_array_equal(
        table_model.predict_joint_log_proba({"a": texts}), text_model.predict_joint_log_proba(texts)
    )


def test_samples_of_a_table_with_text():
    texts, y = corpus(100)
    model = NaiveBayes(columns={"a": "text"}).fit({"a": texts, "n": np.arange(100.0) ** 1.1}, y)
    drawn, labels_ = model.sample(500, random_state=1)
    assert list(drawn) == ["a", "n"]
    again = NaiveBayes(columns={"a": "text"}).fit(drawn, labels_)
    assert (again.predict(drawn) == labels_).mean() > 0.9


# ---- as scikit-learn does it ---------------------------------------------------------------------

PEERS = {
    "multinomial": (textbook(), make_pipeline(CountVectorizer(), MultinomialNB())),
    "alpha": (textbook(alpha=0.01), make_pipeline(CountVectorizer(), MultinomialNB(alpha=0.01))),
    "complement": (
        textbook("complement", prior="uniform"),
        make_pipeline(CountVectorizer(), ComplementNB()),
    ),
    "complement-norm": (
        textbook("complement", norm=True, prior="uniform"),
        make_pipeline(CountVectorizer(), ComplementNB(norm=True)),
    ),
    "bernoulli": (
        textbook("bernoulli"),
        make_pipeline(CountVectorizer(binary=True), BernoulliNB()),
    ),
    "binary": (
        textbook("binary", ngram_range=(1, 2)),
        make_pipeline(CountVectorizer(binary=True, ngram_range=(1, 2)), MultinomialNB()),
    ),
    "char_wb": (
        textbook(analyzer="char_wb", ngram_range=(2, 4)),
        make_pipeline(CountVectorizer(analyzer="char_wb", ngram_range=(2, 4)), MultinomialNB()),
    ),
    "stop words": (
        textbook(stop_words="english", strip_accents="unicode"),
        make_pipeline(
            CountVectorizer(stop_words="english", strip_accents="unicode"), MultinomialNB()
        ),
    ),
    **{
        f"tfidf-{norm}-{event}": (
            textbook(event, weighting="tfidf", length_norm=norm, prior="uniform"),
            make_pipeline(TfidfVectorizer(norm=norm, binary=event == "binary"), peer),
        )
        for norm in (None, "l1", "l2")
        for event, peer in {
            "multinomial": MultinomialNB(fit_prior=False),
            "binary": MultinomialNB(fit_prior=False),
            "complement": ComplementNB(),
        }.items()
    },
}


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_are_those_of_scikit_learn(name, weighted):
    mine, peer = PEERS[name]
    texts, y = corpus(200, seed=4)
    texts = [text or "" for text in texts]
    weights = np.random.default_rng(1).integers(1, 4, 200).astype(float) if weighted else None
    mine = clone(mine).fit(texts, y, sample_weight=weights)
    step = peer.steps[-1][0]
    peer = clone(peer).fit(texts, y, **{f"{step}__sample_weight": weights})
    probe = [*(text for text in PROBE if text is not None), *texts, *corpus(100, seed=5)[0][5:40]]
    assert_allclose(mine.predict_proba(probe), peer.predict_proba(probe), rtol=1e-9, atol=1e-12)
    assert (mine.predict(probe) == peer.predict(probe)).mean() > 0.99  # the rest are ties
    assert mine.terms_.tolist() == peer[0].get_feature_names_out().tolist()


@pytest.mark.parametrize(
    "chosen",
    [
        {"tokenizer": split_at_each_space, "ngram_range": (1, 2)},
        {"analyzer": split_at_each_space},
        {"token_pattern": r"\w*"},
        {"token_pattern": r"(\w)?\w*"},
    ],
    ids=["tokenizer", "analyzer", "pattern", "group"],
)
@pytest.mark.parametrize("event", ["multinomial", "bernoulli"])
@settings(max_examples=10)
@given(st.lists(TEXTS, min_size=2, max_size=8), st.data())
def test_words_may_be_empty(chosen, event, texts, data):
    y = np.arange(len(texts)) % 2
    whole = textbook(event, **chosen).fit(texts, y)
    peer = CountVectorizer(binary=event == "bernoulli", token_pattern=None).set_params(**chosen)
    counts = peer.fit_transform(texts).toarray()
    assert whole.terms_.tolist() == peer.get_feature_names_out().tolist()
    assert_array_equal(whole.feature_count_, [counts[y == c].sum(axis=0) for c in (0, 1)])
    at = data.draw(st.integers(1, len(texts) - 1))
    a, b = (textbook(event, **chosen).partial_fit(texts[part], y[part])
            for part in (slice(at), slice(at, None)))  # fmt: skip
    assert_same(a + b, whole, [text for text in texts if text])
    assert (a + b).forget(texts[at:], y[at:]).model_ == a.model_
    assert_told(whole, texts)


SELECTED = [
    {"min_df": 2}, {"min_df": 5}, {"min_df": 0.05}, {"min_df": 0.0}, {"max_df": 3}, {"max_df": 0.1},
    {"min_df": 2, "max_df": 0.2}, {"min_df": 3, "max_df": 10}, {"max_features": 1},
    {"max_features": 30}, {"max_features": 10**6}, {"min_df": 2, "max_df": 12, "max_features": 20},
    {"min_df": 0.5, "ngram_range": (1, 2), "analyzer": "char"}, {"max_df": 2, "min_df": 2},
]  # fmt: skip


@pytest.mark.parametrize("chosen", SELECTED, ids=str)
@pytest.mark.parametrize("event", ["multinomial", "binary"])
def test_terms_are_selected_as_by_scikit_learn(chosen, event):
    texts, y = corpus(200, seed=2)
    texts = [text or "" for text in texts]
    peer = CountVectorizer(binary=event == "binary", **chosen)
    mine = textbook(event, **chosen).fit(texts, y)
    counts = np.asarray(peer.fit_transform(texts).sum(axis=0)).ravel()
    theirs = dict(zip(peer.get_feature_names_out(), counts, strict=True))
    own = dict(zip(mine.terms_, mine.feature_count_.sum(axis=0), strict=True))
    least = min(theirs.values()) if "max_features" in chosen else 0  # of which some are left out
    assert {t for t, n in own.items() if n > least} == {t for t, n in theirs.items() if n > least}
    assert sorted(own.values()) == sorted(theirs.values())
    assert all(own[term] == theirs[term] for term in own.keys() & theirs.keys())


@pytest.mark.parametrize("form", [list, np.array, lambda texts: np.array(texts, object)])
def test_model_selection(form):
    texts, y = corpus(120)
    texts = form([text or "" for text in texts])
    scores = cross_val_score(textbook(), texts, y, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.6
    search = GridSearchCV(
        textbook(), {"alpha": [0.1, 1], "event": ["multinomial", "complement"]}, cv=2
    )
    assert search.fit(texts, y).score(texts, y) > 0.9


def test_an_estimator_of_scikit_learn():
    texts, y = corpus(50)
    for chosen in VARIANTS.values():
        classifier = textbook(**chosen)
        assert clone(classifier).get_params() == classifier.get_params()
        assert {**classifier.get_params(), **chosen} == classifier.get_params()
        classifier.fit(texts, y)
        assert not hasattr(clone(classifier), "model_")
        again = pickle.loads(pickle.dumps(classifier))
        assert_same(classifier, again)
        assert 0 <= classifier.score(texts, y) <= 1
    changed = textbook().set_params(event="bernoulli", ngram_range=(1, 2))
    assert changed.fit(texts, y).model_.family.ngram_range == (1, 2)
    assert repr(TextNB("binary", alpha=0.5)) == "TextNB(alpha=0.5, event='binary')"
