"""Text input of every container, size and content."""

import copy
import subprocess
import sys
import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from naively import NBSVM, TextNB
from naively.text import counting, documents
from naively.text.documents import Documents

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

TEXTS = [
    "the quick fox",
    None,
    "",
    "naïve ΟΔΟΣ fox",
    "日本 🙂 quick\0quick",
    " ",
    "x" * 300,
    "the the",
]
Y = [0, 1, 0, 1, 0, 1, 1, 0]
PROBE = ["quick fox", "ΟΔΟΣ the", "never met", "", None, "x" * 300]

# ---- containers ----------------------------------------------------------------------------------


def with_offset(texts, kind):
    """The same as a slice of a longer array with nulls."""
    longer = ["before", None, "fox", *texts, None, "behind the fox"]
    return pa.array(longer, kind).slice(3, len(texts))


def dictionary(texts, kind):
    """The same as codes, with values that nothing has, and a null among the values."""
    values = ["never", *dict.fromkeys(text for text in texts if text is not None), None]
    codes = pa.array([values.index(text) for text in texts], pa.int8())
    return pa.DictionaryArray.from_arrays(codes, pa.array(values, kind))


def frame(texts):
    """The same as a column of a frame whose rows are numbered otherwise."""
    return pandas.DataFrame({"t": texts}, index=range(100, 100 - len(texts), -1))["t"]


def encoded(texts):
    return [None if text is None else text.encode() for text in texts]


FORMS = {
    "tuple": tuple,
    "deque": deque,
    "generator": iter,
    "mixed with bytes": lambda t: [*t[:4], *encoded(t[4:])],
    "bytes": encoded,
    "bytearrays": lambda t: [None if text is None else bytearray(text) for text in encoded(t)],
    "numpy object": lambda t: np.array(t, object),
    "numpy strings": lambda t: np.array(t, np.dtypes.StringDType(na_object=None)),
    "numpy strings, NaN": lambda t: np.array(
        [np.nan if text is None else text for text in t], np.dtypes.StringDType(na_object=np.nan)
    ),
    "numpy reversed": lambda t: np.array(t[::-1], object)[::-1],
    "numpy strided": lambda t: np.repeat(np.array(t, object), 3)[::3],
    "NaN": lambda t: [float("nan") if text is None else text for text in t],
    "NA": lambda t: [pandas.NA if text is None else text for text in t],
    "numpy text": lambda t: [None if text is None else np.str_(text) for text in t],
    "string": lambda t: pa.array(t, pa.string()),
    "large_string": lambda t: pa.array(t, pa.large_string()),
    "string_view": lambda t: pa.array(t, pa.string_view()),
    "binary": lambda t: pa.array(encoded(t), pa.binary()),
    "large_binary": lambda t: pa.array(encoded(t), pa.large_binary()),
    "dictionary": lambda t: dictionary(t, pa.string()),
    "large dictionary": lambda t: dictionary(t, pa.large_string()),
    "sliced dictionary": lambda t: dictionary([*t[:3], *t], pa.string()).slice(3),
    "chunked": lambda t: pa.chunked_array([t[:2], [], t[2:3], t[3:]], pa.string()),
    "chunked slices": lambda t: pa.chunked_array(
        [with_offset(t[:3], pa.string()), with_offset(t[3:], pa.string())]
    ),
    "chunked dictionaries": lambda t: pa.chunked_array(
        [pa.array(part, pa.string()).dictionary_encode() for part in (t[:3], t[3:])]
    ),
    "chunked dictionaries with a null": lambda t: pa.chunked_array(
        [dictionary(t[:3], pa.string()), dictionary(t[3:], pa.string())]
    ),
    "sliced string": lambda t: with_offset(t, pa.string()),
    "sliced large_string": lambda t: with_offset(t, pa.large_string()),
    "sliced string_view": lambda t: with_offset(t, pa.string_view()),
    "column of a table": lambda t: pa.table({"t": t})["t"],
    "pandas": frame,
    "pandas object": lambda t: pandas.Series(t, dtype=object, name="t"),
    "pandas string": lambda t: pandas.Series(t, dtype="string"),
    "pandas category": lambda t: pandas.Series(t, dtype="category"),
    "pandas arrow": lambda t: pandas.Series(t, dtype=pandas.ArrowDtype(pa.string())),
    "pandas array": lambda t: pandas.array(t, dtype="string"),
    "pandas index": lambda t: pandas.Index(t, dtype=object),
    "pandas reversed": lambda t: frame(t[::-1])[::-1],
    "polars": lambda t: polars.Series("t", t),
    "polars chunks": lambda t: polars.Series(t[:3]).append(polars.Series(t[3:])),
    "polars slice": lambda t: polars.Series(["a", None, *t, "b"])[2:-1],
    "column of polars": lambda t: polars.DataFrame({"t": t})["t"],
}


def assert_same(a, b):
    assert a.model_ == b.model_
    scores = [one.predict_joint_log_proba(PROBE).view(np.int64) for one in (a, b)]
    assert_array_equal(*scores)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("times", [1, 40])  # short lists go a way of their own
def test_every_container_gives_the_same_model(name, times):
    expected = TextNB(token_pattern=r"(?u)\b\w+\b").fit(TEXTS * times, Y * times)
    form = FORMS[name](TEXTS * times)
    found = TextNB(token_pattern=r"(?u)\b\w+\b").fit(form, Y * times)
    assert_same(expected, found)
    form = FORMS[name](TEXTS * times)
    assert_array_equal(found.predict_proba(form), expected.predict_proba(TEXTS * times))


@pytest.mark.parametrize("dtype", ["U", "S", "T"])
def test_numpy_text(dtype):
    texts = ["the quick fox", "", "quick quick", "a fox"]
    dtype = np.dtypes.StringDType() if dtype == "T" else dtype
    arrays = [np.array(texts, dtype), np.asfortranarray(np.array(texts, dtype))]
    if dtype == "U":
        arrays.append(np.array(texts, ">U20"))
    for array in arrays:
        array.flags.writeable = False
        assert_same(TextNB().fit(texts, [0, 1, 0, 1]), TextNB().fit(array, [0, 1, 0, 1]))


def test_surrogates_and_strange_characters_in_a_list():
    texts = ["\ud800 the", "the \udc00\ud800", "\U0010ffff", "\ufeffthe", "\x00", "\x1c the\x85"]
    model = TextNB(analyzer="char").fit(texts, [0, 1] * 3)
    counts = CountVectorizer(analyzer="char").fit(texts)
    assert model.terms_.tolist() == counts.get_feature_names_out().tolist()
    assert_same(model, TextNB(analyzer="char").fit(np.array(texts, object), [0, 1] * 3))
    other = [text.encode("utf-8", "surrogatepass") for text in texts]
    assert_same(model, TextNB(analyzer="char").fit(other, [0, 1] * 3))


def test_bytes_that_are_no_utf8():
    texts = ["caf\xe9 \xfc".encode("latin-1"), b"\xff\xfe\x00", "naïve".encode(), b"ab\xc3", b""]
    model = TextNB(token_pattern=r"\b\w+\b", weights=None).fit(texts, [0, 1, 0, 1, 0])
    replaced = [text.decode("utf-8", "replace") for text in texts]
    assert_same(
        model, TextNB(token_pattern=r"\b\w+\b", weights=None).fit(replaced, [0, 1, 0, 1, 0])
    )
    assert model.terms_.tolist() == ["ab", "caf", "naïve"]
    chars = [
        TextNB(analyzer="char", weights=None).fit(one, [0, 1, 0, 1, 0]) for one in (texts, replaced)
    ]
    assert_same(*chars)


@pytest.mark.parametrize("make", [TextNB, lambda: TextNB("binary"), NBSVM])
def test_bytes_that_are_no_utf8_are_the_same_document_as_their_text(make):
    documents = [f"word{i % 5} hello{i % 3} t{i}".encode() for i in range(12)]
    documents[3], documents[8] = b"w\xffin free", b"a\xc3"
    texts, y = [one.decode(errors="replace") for one in documents], ["a", "b"] * 6
    model, same = make().fit(documents, y), make().fit(texts, y)
    levels = make().fit(pa.array(documents).dictionary_encode(), y)
    for other in (same, levels):
        assert_array_equal(other.predict_log_proba(texts), model.predict_log_proba(texts))
    if make is not NBSVM:
        assert model.model_ == same.model_ == levels.model_
        model.forget(texts[:6], y[:6])
        assert model.model_ == make().fit(documents[6:], y[6:]).model_


def test_what_is_given_is_not_changed():
    array, y = np.array(TEXTS, object), np.array(Y)
    weights = np.ones(len(Y))
    column = pa.array(TEXTS)
    for texts in (array, column, list(TEXTS)):
        model = TextNB("binary", length_norm="l2", weighting="tfidf").fit(texts, y, weights)
        model.partial_fit(texts, y).forget(texts, y)
        model.predict_proba(texts)
    assert array.tolist() == column.to_pylist() == TEXTS
    assert y.tolist() == Y
    assert weights.tolist() == [1.0] * len(Y)


# ---- what is no list of documents ----------------------------------------------------------------

NO_DOCUMENTS = {
    "a text": ("the quick fox", TypeError, "sequence of texts, not one text: put it in a list"),
    "bytes": (b"the fox", TypeError, "sequence of texts, not one text"),
    "a number in it": (["the", "fox", 3], TypeError, r"document 2 is 3 \(int\)"),
    "a number far behind": (["the"] * 50 + [3.5], TypeError, r"document 50 is 3\.5 \(float\)"),
    "a truth value": (["the", True], TypeError, r"document 1 is True \(bool\)"),
    "a list in it": (["the", ["fox"]], TypeError, r"document 1 is \['fox'\] \(list\)"),
    "rows": ([["the"], ["fox"]], TypeError, r"document 0 is \['the'\] \(list\)"),
    "numbers": (np.array([1, 2]), TypeError, "document 0 is"),
    "pandas numbers": (pandas.Series([1, 2]), TypeError, "document 0 is"),
    "polars numbers": (polars.Series([1.5, 2.5]), TypeError, "document 0 is"),
    "arrow numbers": (pa.array([1, 2]), TypeError, "documents must be text, not int64"),
    "dates": (np.array(["2020-01-01"] * 2, "M8[D]"), TypeError, "document 0 is"),
    "arrow lists": (pa.array([["the"], ["fox"]]), TypeError, "must be text, not list"),
    "an array of objects": (np.array([["a", "b"]], object), ValueError, r"not of shape \(1, 2\)"),
    "an array of one text": (np.array("the"), ValueError, r"not of shape \(\)"),
    "a frame": (pandas.DataFrame({"t": ["the"], "u": ["fox"]}), TypeError, "table of 2 columns"),
    "a polars frame": (polars.DataFrame({"t": ["the"], "u": ["fox"]}), TypeError, "of 2 columns"),
    "an Arrow table": (pa.table({"t": ["the"], "u": ["fox"]}), TypeError, "a table of 2 columns"),
}


@pytest.mark.parametrize("name", NO_DOCUMENTS)
def test_what_is_no_list_of_documents_is_refused(name):
    given, error, message = NO_DOCUMENTS[name]
    model = TextNB().fit(TEXTS, Y)
    before = copy.deepcopy(model)
    for ask in (
        lambda: TextNB().fit(given, [0, 1]),
        lambda: model.partial_fit(given, [0, 1]),
        lambda: model.forget(given, [0, 1]),
        lambda: model.predict(given),
        lambda: model.predict_proba(given),
    ):
        with pytest.raises(error, match=message) as caught:
            ask()
        assert len(str(caught.value)) < 300
    assert_same(model, before)


@pytest.mark.parametrize(
    "matrix", [sparse.eye_array(2, format="csr"), np.eye(2), [[1.0, 2.0], [3.0, 4.0]]]
)
def test_a_table_of_counts_is_refused(matrix):
    with pytest.raises((TypeError, ValueError)):
        TextNB().fit(matrix, [0, 1])


def test_no_documents():
    with pytest.raises(ValueError, match="no training documents"):
        TextNB().fit([], [])
    model = TextNB(weights=None).fit(TEXTS, Y)
    for none in ([], np.array([], object), pa.array([], pa.string()), pandas.Series([], dtype=str)):
        assert model.predict(none).shape == (0,)
        assert model.predict_proba(none).shape == (0, 2)
        assert model.score_samples(none).shape == (0,)


def test_labels_that_do_not_fit():
    with pytest.raises(ValueError, match="X has 8 rows, y has 7"):
        TextNB().fit(TEXTS, Y[1:])
    with pytest.raises(ValueError, match="y has 9"):
        TextNB().fit(TEXTS, [*Y, 1])
    with pytest.raises(ValueError, match="y to be passed, but the target y is None"):
        TextNB().fit(TEXTS, None)
    with pytest.raises(ValueError, match="Unknown label type"):
        TextNB().fit(TEXTS, np.linspace(0, 1, 8))
    with pytest.raises(ValueError, match="label of row 3 is missing"):
        TextNB().fit(TEXTS, [0, 1, 0, np.nan, 0, 1, 0, 1])
    with pytest.raises(ValueError, match="label of row 1 is missing"):
        TextNB().fit(TEXTS, ["a", None, *"abcdef"])
    with pytest.raises(ValueError, match="shape"):
        TextNB().fit(TEXTS, np.ones((8, 2)))
    with pytest.warns(DataConversionWarning):
        TextNB().fit(TEXTS, np.array(Y)[:, None])
    model = TextNB().fit(TEXTS, Y)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match="labels of different kinds"):
        model.partial_fit(TEXTS, ["a", "b"] * 4)
    with pytest.raises(ValueError, match="y has 2"):
        model.partial_fit(TEXTS, [0, 1])
    with pytest.raises(ValueError, match="Number of priors"):
        TextNB(prior=[0.2, 0.3, 0.5]).fit(TEXTS, Y)
    assert_same(model, before)


def test_weights_that_do_not_fit():
    for weights, message in [
        ([1.0] * 7, "inconsistent|shape"),
        ([-1.0] + [1.0] * 7, "row 0 weighs -1"),
        ([np.nan] + [1.0] * 7, "NaN"),
        ([np.inf] + [1.0] * 7, "inf"),
        ([0.0] * 8, "zero"),
        (["a"] * 8, "could not convert"),
    ]:
        with pytest.raises(ValueError, match=message):
            TextNB().fit(TEXTS, Y, sample_weight=weights)


def test_predictions_before_fit_are_refused():
    for ask in ("predict", "predict_proba", "score_samples", "predict_log_proba"):
        with pytest.raises(NotFittedError):
            getattr(TextNB(weights=None), ask)(["text"])


# ---- options -------------------------------------------------------------------------------------

BAD = [
    ("event", "gaussian"), ("event", None), ("event", 3), ("event", ["binary"]),
    ("alpha", -1), ("alpha", "1"), ("alpha", np.nan), ("alpha", np.inf), ("alpha", [1.0, 2.0]),
    ("norm", True), ("weighting", "idf"), ("weighting", True),
    ("length_norm", "l3"), ("length_norm", 2), ("analyzer", "words"), ("analyzer", None),
    ("ngram_range", (2, 1)), ("ngram_range", (0, 1)), ("ngram_range", 2), ("ngram_range", (1, 2.5)),
    ("ngram_range", "12"), ("lowercase", None), ("lowercase", "no"), ("strip_accents", "latin"),
    ("strip_accents", True), ("stop_words", "german"), ("stop_words", ["the", 3]),
    ("stop_words", [None]), ("token_pattern", "("), ("token_pattern", None),
    ("token_pattern", "(a)(b)"), ("tokenizer", "split"), ("min_df", 0), ("min_df", -1),
    ("min_df", 1.5), ("min_df", "2"), ("min_df", None), ("min_df", True), ("min_df", np.nan),
    ("max_df", 0), ("max_df", -0.5), ("max_df", "all"), ("max_features", 0), ("max_features", 2.5),
    ("max_features", "all"), ("max_features", True), ("drop_most_frequent", -1),
    ("drop_most_frequent", 1.0), ("drop_most_frequent", None), ("n_features", 3), ("n_features", 1),
    ("n_features", 1 << 31), ("n_features", 2.0), ("n_features", -4), ("max_terms", 0),
    ("max_terms", 1.5), ("max_terms", "few"), ("prior", "flat"), ("prior", [0.5, 0.6]),
    ("prior", [-0.5, 1.5]), ("prior_smoothing", -1), ("prior_smoothing", np.inf), ("n_jobs", 0),
    ("n_jobs", "2"), ("n_jobs", 1.5), ("models", "words"), ("models", []), ("models", 3),
    ("models", ["word"]), ("models", [["words"]]), ("models", [{"term": 1}]), ("models", {"words"}),
    ("models", ["words", "words"]), ("models", [{}, {}]), ("models", [None]),
]  # fmt: skip


@pytest.mark.parametrize(("option", "value"), BAD, ids=str)
def test_an_error_names_the_option(option, value):
    with pytest.raises(ValueError, match=rf"(?i)\b{option}s?\b"):
        TextNB(**{option: value}).fit(TEXTS, Y)
    model = TextNB(max_terms=100).fit(TEXTS, Y)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match=rf"(?i)\b{option}s?\b"):
        model.set_params(**{option: value}).partial_fit(TEXTS, Y)
    assert model.set_params(**before.get_params()).model_ == before.model_


TOGETHER = [
    ({"event": "bernoulli", "weighting": "log"}, "weighting .* event"),
    ({"event": "bernoulli", "length_norm": "l2"}, "length_norm .* event"),
    ({"n_features": 16, "min_df": 2}, "n_features .* min_df"),
    ({"n_features": 16, "max_features": 2}, "n_features .* max_features"),
    ({"n_features": 16, "drop_most_frequent": 2}, "n_features .* drop_most_frequent"),
    ({"n_features": 16, "max_terms": 2}, "n_features .* max_terms"),
    ({"n_features": 16, "weighting": "tfidf"}, "n_features .* weighting"),
    ({"n_features": 16, "weighting": "log-tfidf"}, "n_features .* weighting"),
    ({"event": "binary", "norm": True}, 'norm is for event="complement"'),
    ({"models": "auto", "weights": None}, "models .* weights"),
    ({"models": "auto", "event": "binary"}, "models .* event"),
    ({"models": ["words"], "ngram_range": (1, 3)}, "models .* ngram_range"),
    ({"models": ["words", {}], "analyzer": "char"}, "models .* analyzer"),
    ({"models": [{"event": "bernoulli"}, {}]}, "can have weights"),
    ({"models": [{}, {"event": "complement"}]}, "can have weights"),
    ({"models": [{}, {"analyzer": "char"}], "event": "bernoulli"}, "can have weights"),
    ({"models": [{"alpha": 0}, {"event": "binary"}]}, "alpha=0"),
    ({"models": "auto", "alpha": 0}, "alpha=0"),
    ({"models": [{"n_features": 16}, {"event": "binary"}], "min_df": 2}, "n_features .* min_df"),
]


@pytest.mark.parametrize(("chosen", "message"), TOGETHER, ids=str)
def test_options_that_contradict_each_other(chosen, message):
    with pytest.raises(ValueError, match=message):
        TextNB(**chosen).fit(TEXTS, Y)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"event": "binary"}), ({}, {"weighting": "log"}), ({}, {"length_norm": "l1"}),
        ({}, {"lowercase": False}), ({}, {"ngram_range": (1, 2)}), ({}, {"n_features": 8}),
        ({"n_features": 8}, {"n_features": 16}), ({}, {"min_df": 2}), ({}, {"stop_words": ["the"]}),
        ({}, {"models": "auto"}), ({"models": "auto"}, {"models": ["words"]}),
        ({"models": "auto"}, {"lowercase": False}),
    ],
    ids=str,
)  # fmt: skip
def test_what_was_counted_otherwise_does_not_go_on(before, after):
    model = TextNB(**before).fit(TEXTS, Y)
    kept = copy.deepcopy(model)
    with pytest.raises(ValueError, match="cannot continue with"):
        model.set_params(**after).partial_fit(TEXTS, Y)
    assert_array_equal(model.predict(TEXTS), kept.predict(TEXTS))
    assert model.model_ == kept.model_


def test_what_is_only_estimated_otherwise_goes_on():
    model = TextNB(weights=None).fit(TEXTS, Y)
    model.set_params(alpha=0.1, event="complement", norm=True, prior="uniform").partial_fit(
        TEXTS, Y
    )
    expected = TextNB("complement", alpha=0.1, norm=True, prior="uniform", weights=None)
    assert_same(model, expected.fit(TEXTS * 2, Y * 2))


def test_options_may_be_of_numpy():
    chosen = {
        "min_df": np.int64(2), "max_df": np.float64(0.9), "ngram_range": np.array([1, 2]),
        "max_features": np.int32(5), "alpha": np.float32(0.5), "lowercase": np.False_,
    }  # fmt: skip
    plain = {
        "min_df": 2, "max_df": 0.9, "ngram_range": (1, 2), "max_features": 5, "alpha": 0.5,
        "lowercase": False,
    }  # fmt: skip
    assert_same(TextNB(**chosen).fit(TEXTS, Y), TextNB(**plain).fit(TEXTS, Y))


# ---- documents of all sizes ----------------------------------------------------------------------


def test_documents_without_words():
    for empty in (["", ""], [None, None], [" \n", "."], ["a", "b"]):
        with pytest.raises(ValueError, match="no terms"):
            TextNB().fit(empty, [0, 1])
        model = TextNB(weights=None).partial_fit(empty * 2, [0, 1, 1, 1])
        assert model.terms_.tolist() == []
        assert_allclose(model.predict_proba(["any words", "", None]), [[0.25, 0.75]] * 3)
        assert_allclose(model.score_samples(["any words"]), 0.0, atol=1e-12)
        assert model.partial_fit(["words now"], [2]).terms_.tolist() == ["now", "words"]
        model.forget(["words now"], [2])
        assert_same(model, TextNB(weights=None).partial_fit(empty * 2, [0, 1, 1, 1]))
        hashed = TextNB(n_features=4).fit(empty, [0, 1])
        assert_allclose(hashed.predict_proba(["", None]), 0.5)


def test_where_no_terms_remain():
    """scikit-learn's vectorizer refuses in this case, and so do we; a stream goes on."""
    texts = ["aa bb", "cc dd", "ee"]
    for chosen in ({"min_df": 2}, {"min_df": 0.9}, {"max_df": 0.1}):
        with pytest.raises(ValueError, match=r"no terms remain|max_df corresponds"):
            CountVectorizer(**chosen).fit(texts)
        with pytest.raises(ValueError, match="no terms remain of 5"):
            TextNB(**chosen).fit(texts, [0, 1, 1])
        for event in ("multinomial", "complement", "bernoulli", "binary"):
            model = TextNB(event, **chosen).partial_fit(texts, [0, 1, 1])
            assert model.terms_.tolist() == []
            assert_allclose(model.predict_proba(["aa", "", None]), [[1 / 3, 2 / 3]] * 3)
            assert_allclose(model.predict_log_proba(["aa"]), np.log([[1 / 3, 2 / 3]]))
    model = TextNB(min_df=2).partial_fit(texts, [0, 1, 1])
    assert model.partial_fit(["cc"], [1]).terms_.tolist() == ["cc"]


@pytest.mark.slow
def test_a_million_empty_documents():
    texts = pa.array([""] * 1_000_000 + ["aa", "bb"])
    y = np.arange(1_000_002) % 2
    model = TextNB(n_jobs=2).fit(texts, y)
    assert model.class_count_.tolist() == [500_001, 500_001]
    assert model.terms_.tolist() == ["aa", "bb"]
    assert_allclose(model.predict_proba(texts)[:5], 0.5)


def test_one_document():
    model = TextNB().partial_fit(["one document"], ["only"])
    assert model.predict_proba(["one", "two"]).tolist() == [[1.0], [1.0]]
    assert model.predict(["two"]).tolist() == ["only"]
    model = TextNB().fit(["one document", "another document"], ["x", "y"])
    assert model.predict(["one", "another"]).tolist() == ["x", "y"]


def test_only_unknown_words():
    model = TextNB().fit(["aa bb", "cc", "dd"], [0, 1, 1])
    unknown = ["ee", "éé 日本", "aabb", "AA_", "\0aa\0\ud800b"]
    assert_allclose(model.predict_proba(unknown[:4]), [[1 / 3, 2 / 3]] * 4, rtol=1e-14)
    assert model.predict_proba(unknown[4:])[0, 0] > 1 / 3  # NULs are no letters
    assert model.predict(["ee"]).tolist() == [1]
    for chosen in ({"weighting": "tfidf", "length_norm": "l2"}, {"event": "complement"}):
        model = TextNB(**chosen).fit(["aa bb", "cc", "dd"], [0, 1, 1])
        assert_allclose(model.predict_proba(["ee ff"]), [[1 / 3, 2 / 3]], rtol=1e-14)


def test_nuls_and_other_controls():
    texts = ["aa\0bb", "\0", "\0\0aa\0", "aa\x01bb\x1f", "\x7faa\x80", "a\0a b\0b"]
    peer = make_pipeline(CountVectorizer(token_pattern=r"\b\w+\b"), MultinomialNB()).fit(
        texts, [0, 1] * 3
    )
    model = TextNB(token_pattern=r"(?u)\b\w+\b", weights=None).fit(texts, [0, 1] * 3)
    assert model.terms_.tolist() == ["a", "aa", "b", "bb"]
    assert_allclose(model.predict_proba(texts), peer.predict_proba(texts), rtol=1e-12)
    chars = TextNB(analyzer="char", ngram_range=(1, 3), weights=None).fit(
        ["\0", "\0\0", "a\0"], [0, 1, 1]
    )
    assert chars.terms_.tolist() == ["\0", "\0\0", "a", "a\0"]
    assert chars.feature_count_.tolist() == [[1, 0, 0, 0], [3, 1, 1, 1]]


RTL = {
    "hebrew": ["שלום עולם", "שָׁלוֹם לך", "עולם גדול"],
    "arabic": ["السلام عليكم", "مَرْحَبًا بِكُمْ", "كتاب ‏جديد‎ abc"],
    "mixed": ["abc \u202eאבג\u202c def", "\u200fשלום\u200f world", "12 שלום 34"],
    "thai": ["สวัสดีชาวโลก", "ภาษาไทย ง่าย", "abc ไทย"],
    "hindi": ["नमस्ते दुनिया", "हिन्दी भाषा", "क्षत्रिय"],
    "emoji": ["👩‍👩‍👧‍👦 family", "🇩🇪🇫🇷 flags", "👍🏽 thumbs 👍🏿"],
    "korean": ["안녕하세요 세계", "\u1112\u1161\u11ab\u1100\u1173\u11af", "한글 abc"],
    "math": ["𝐛𝐨𝐥𝐝 𝟘𝟙𝟚", "ﬁne ﬂow", "½ ² ③ Ⅷ"],
}


@pytest.mark.parametrize("script", RTL)
@pytest.mark.parametrize("chosen", [{}, {"ngram_range": (1, 2)}, {"analyzer": "char_wb"}], ids=str)
def test_scripts(script, chosen):
    texts = RTL[script]
    peer = make_pipeline(CountVectorizer(**chosen), MultinomialNB()).fit(texts, [0, 1, 1])
    model = TextNB(weights=None, **chosen).fit(texts, [0, 1, 1])
    assert model.terms_.tolist() == peer[0].get_feature_names_out().tolist()
    assert_allclose(model.predict_proba(texts), peer.predict_proba(texts), rtol=1e-10)


def test_documents_that_are_too_long(monkeypatch):
    monkeypatch.setattr(documents, "LONGEST", 1000)  # of 256 MiB
    # of 256 KiB, so that a long document is in a later piece
    monkeypatch.setattr(counting, "PIECE", 500)
    fine = ["the fox " * 124, "a dog"] * 5
    model = TextNB(n_jobs=2).fit(fine, [0, 1] * 5)
    long = [*fine[:7], "é" * 501, *fine]
    message = "document 7 has 1,002 bytes; cut documents to at most 1,000"
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match=message):
        TextNB().fit(long, [0, 1] * 9)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(long, [0, 1] * 9)
    with pytest.raises(ValueError, match=message):
        TextNB(weighting="tfidf").fit(long, [0, 1] * 9)
    assert model.model_ == before.model_


@pytest.mark.parametrize("chosen", [{}, {"weighting": "tfidf"}, {"analyzer": "char"}], ids=str)
def test_one_long_line_is_a_document(chosen):
    """30 MB without a line break: counted right, and wherever pieces end."""
    block = "the quick brown ΟΔΟΣ \u2028 fox\0jumps over_it 42 "
    times = 30_000_000 // len(block.encode()) // (10 if chosen else 1)
    model = TextNB(weights=None, **chosen, n_jobs=2).fit([block * times, "a dog"], [0, 1])
    if not chosen:
        small = CountVectorizer().fit([block, "a dog"])
        expected = times * small.transform([block]).toarray()[0]
        assert model.terms_.tolist() == small.get_feature_names_out().tolist()
        assert model.feature_count_[0].tolist() == expected.tolist()
    p = model.predict_proba([block * times, "dog " * times])
    assert p.tolist() == [[1.0, 0.0], [0.0, 1.0]]


MEMORY = """
import resource, sys
from naively import NBSVM, TextNB

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

block = " ".join(f"w{k * k % 100_003:x}" for k in range(30_000)) + " naïve "
text = block * (30_000_000 // len(block))
TextNB().fit([block, "other"], [0, 1]).predict([block, None])
before = peak()
model = TextNB().fit([text, "other"], [0, 1])
fitted = peak()
assert model.predict([text]).tolist() == [0]
print((fitted - before) / len(text), (peak() - before) / len(text))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is in KiB on Linux alone")
def test_memory_is_a_few_times_the_text():
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    fitted, predicted = map(float, done.stdout.split())
    assert fitted < 8
    assert predicted < 12


def test_terms_of_all_lengths():
    texts = ["z" * n + " " + "ab" * n for n in range(1, 300)] + ["y" * 100_000, "x" * 70_000 + " y"]
    y = [n % 2 for n in range(len(texts))]
    model = TextNB().fit(texts, y)
    peer = CountVectorizer().fit(texts)
    assert model.terms_.tolist() == peer.get_feature_names_out().tolist()
    assert (
        model.feature_count_.sum(axis=0).tolist() == peer.transform(texts).sum(axis=0).tolist()[0]
    )


def test_many_classes():
    texts = [f"word{k} common" for k in range(3000)]
    model = TextNB().fit(texts, np.arange(3000))
    assert model.predict(texts[::100]).tolist() == list(range(0, 3000, 100))
    model.forget(texts[1:], np.arange(1, 3000))
    assert model.terms_.tolist() == ["common", "word0"]


# ---- many at once --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "chosen", [{}, {"weighting": "tfidf", "length_norm": "l2"}, {"event": "bernoulli"}], ids=str
)
def test_one_model_in_many_threads(chosen):
    generator = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in range(500)] + ["ΟΔΟΣ", "naïve"])
    texts = [" ".join(generator.choice(words, n)) for n in generator.integers(0, 60, 2000)]
    y = generator.integers(0, 3, 2000)
    model = TextNB(**chosen, n_jobs=2).fit(texts, y)
    parts = [texts[at : at + 90] for at in range(0, 2000, 90)]
    expected = [model.predict_log_proba(part) for part in parts]
    again = copy.deepcopy(model)
    again.model_._estimate = None  # which all of the threads ask for at once
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(again.predict_log_proba, parts * 3))
        learned = list(pool.map(lambda k: TextNB(**chosen).fit(texts, y).model_, range(8)))
    for one, other in zip(expected * 3, found, strict=True):
        assert_array_equal(one, other)
    assert all(one == model.model_ for one in learned)


def test_no_warnings_for_ordinary_text():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*no estimate")  # without smoothing
        for event in ("multinomial", "complement", "bernoulli", "binary"):
            for alpha in (0, 1):
                model = TextNB(event, alpha=alpha).fit(TEXTS, Y)
                model.predict_log_proba(PROBE)
                model.model_.posterior().explain(Documents.of(PROBE))


@pytest.mark.parametrize("kind", [np.array, pandas.DataFrame, polars.DataFrame, pa.table])
def test_a_table_of_one_column_is_its_documents(kind):
    rows = {"t": TEXTS}
    table = np.array(TEXTS, object)[:, None] if kind is np.array else kind(rows)
    model = TextNB().fit(table, Y)
    assert model.model_ == TextNB().fit(TEXTS, Y).model_
    assert (model.predict_proba(table) == model.predict_proba(TEXTS)).all()


def test_meta_estimators_that_take_tables_alone():
    documents = np.array(["win money now", "hello my friend", "cheap pills win", "see you"] * 10)
    y = [1, 0, 1, 0] * 10
    bagged = BaggingClassifier(TextNB(), n_estimators=3, random_state=0)
    assert bagged.fit(documents[:, None], y).score(documents[:, None], y) == 1.0
    frame = pandas.DataFrame({"n": range(40), "t": documents})
    chosen = make_pipeline(ColumnTransformer([("t", "passthrough", ["t"])]), TextNB())
    assert chosen.fit(frame, y).score(frame, y) == 1.0
