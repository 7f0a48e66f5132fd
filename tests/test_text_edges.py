"""Edge cases of text models: missing documents, selected terms, references."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_extraction.text import CountVectorizer

from naively import NaiveBayes, Text, TextNB
from naively.io.sources import open_source
from naively.model.prior import Prior
from naively.statistics.terms import Reference
from naively.tables.inference import ColumnOptions
from naively.tables.learning import TrainingSpec
from naively.tables.one_pass import learn
from naively.text.analysis import Analysis
from naively.text.documents import Documents
from naively.text.tokens import Tokens
from naively.text.vocabulary import Vocabulary

TEXTS = ["a red fox", "a blue fox", "the red hen", "the old blue hen"]
LABELS = [0, 1, 0, 1]


def test_what_lies_under_a_null_is_not_learned():
    hidden = pc.if_else(pa.array([True, True, True, False]), pa.array(TEXTS), None)
    mask = np.array([0, 0, 0, 1], bool)
    buffers = pa.array(TEXTS).buffers()
    bitmap = pa.array(~mask).buffers()[1]
    over = pa.Array.from_buffers(pa.string(), 4, [bitmap, *buffers[1:]])
    plain = TextNB().fit([*TEXTS[:3], None], LABELS)
    for texts in (hidden, over):
        model = TextNB().fit(texts, LABELS)
        assert model.model_ == plain.model_
        assert "old" not in model.terms_
        assert (model.predict_proba(texts)[3] == model.predict_proba([None])[0]).all()
        (told,) = model.explain(texts[3:])
        assert_allclose(told.joint, model.predict_joint_log_proba([None])[0], rtol=1e-12)


def test_a_spelling_of_a_missing_value_is_no_text():
    columns = {"x": "text"}
    spelled = NaiveBayes(columns).fit({"x": [*TEXTS, "NA"]}, [*LABELS, 1])
    null = NaiveBayes(columns).fit({"x": [*TEXTS, None]}, [*LABELS, 1])
    assert spelled.model_ == null.model_


@pytest.mark.parametrize(
    "options", [{"max_df": 1}, {"min_df": 2}, {"min_df": 0.5}, {"max_df": 0.5}]
)
def test_one_document_and_all_of_them_are_distinguished(options):
    expected = CountVectorizer(**options).fit(TEXTS).get_feature_names_out()
    assert TextNB(**options).fit(TEXTS, LABELS).terms_.tolist() == expected.tolist()


def test_all_of_the_documents():
    with pytest.raises(ValueError, match="no terms remain"):
        TextNB(min_df=1.0).fit(TEXTS, LABELS)


def test_text_is_one_column():
    with pytest.raises(ValueError, match="cannot share one text family"):
        NaiveBayes({("a", "b"): Text()}).fit({"a": TEXTS, "b": TEXTS}, LABELS)
    with pytest.raises(ValueError, match="family text is for columns of text"):
        NaiveBayes(family="text").fit({"a": [1.5, 2.5, 3.5, 4.0]}, LABELS)


def test_documents_of_weight_zero_are_no_reference():
    model = TextNB(weighting="tfidf")
    some = model.fit(TEXTS, LABELS, [1, 1, 1, 0]).predict_proba(TEXTS)
    assert (some == model.fit(TEXTS[:3], LABELS[:3]).predict_proba(TEXTS)).all()


def test_a_family_without_its_reference_is_refused():
    with pytest.raises(ValueError, match="needs reference documents"):
        Text(weighting="tfidf").summary.idf(Vocabulary())


@pytest.mark.parametrize(
    ("lengths", "documents", "total"),
    [
        ([1 << 62] * 4, [0] * 4, 1),
        ([1, 1], [1, 1], 1),
        ([2], [2], 1),
        ([2], [-1], 1),
        ([2], [1, 1], 1),
        ([1], [1], 1),
    ],
)
def test_references_that_cannot_be_true(lengths, documents, total):
    terms = np.frombuffer(b"" if len(lengths) == 4 else b"aa", np.uint8)
    with pytest.raises(ValueError, match=r"terms|documents"):
        Reference(terms, np.array(lengths), np.array(documents), total)


@pytest.mark.parametrize(
    "raw", [b"\xed\xa0'", b"\xed\xa0\x80\xff", b"\xed\xa0", b"\xed\xbf\xbf", b"x\xed\xa0\x80y\xff"]
)
def test_halves_of_surrogates(raw):
    documents = Documents(np.frombuffer(raw, np.uint8), np.array([0, len(raw)]))
    analysis = Analysis(analyzer="char")
    vocabulary = Vocabulary()
    ids, _ = vocabulary.number(Tokens(analysis).units(documents, 0, 1), grow=True)
    assert [vocabulary.term(k) for k in ids] == analysis.terms(documents.text(0))


def test_long_documents_are_named(monkeypatch):
    monkeypatch.setattr("naively.text.documents.LONGEST", 10)  # of 256 MiB
    model = TextNB().fit(TEXTS[:2], LABELS[:2])
    with pytest.raises(ValueError, match="document 70 has 12 bytes"):
        model.predict(pa.array(["a"] * 70 + ["b" * 12]))


def test_a_huge_range_of_lengths_takes_little_memory():
    model = TextNB(ngram_range=(1, 10**9)).fit(TEXTS, LABELS)
    assert "the old blue hen" in model.terms_


def test_a_vocabulary_grows():
    vocabulary = Vocabulary()
    units = Tokens(Analysis()).units(Documents.of([" ".join(f"w{k}" for k in range(20_000))]), 0, 1)
    assert vocabulary.add(units).tolist() == list(range(20_000))
    assert len(vocabulary.slots) >= 4 * 20_000


@pytest.mark.parametrize("seed", range(20))
def test_rows_held_out_of_tiny_batches(seed):
    batches = [
        pa.RecordBatch.from_pydict({"x": [text], "y": [str(label)]})
        for text, label in zip(TEXTS * 5, LABELS * 5, strict=True)
    ]
    spec = TrainingSpec("y", ColumnOptions({"x": Text()}), Prior(), None, 0.5, seed)
    tasks = [lambda batch=batch: batch for batch in batches]
    table, held = learn(tasks, spec, 1)
    assert table.rows + held.rows == 20


def test_options_that_do_not_add_up_are_named():
    a, b = TextNB().fit(TEXTS, LABELS), TextNB(lowercase=False).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match=r"text with lowercase True and False$"):
        a + b


def test_analyzers_must_give_text():
    with pytest.raises(TypeError, match="must give text, not 3"):
        TextNB(analyzer=lambda text: [3]).fit(TEXTS, LABELS)


def test_max_terms_that_drops_everything_says_so():
    with pytest.raises(ValueError, match="max_terms is too low"):
        TextNB(max_terms=1).fit(["one two", "three four"], [0, 1])


@pytest.mark.parametrize(
    "options", [{"token_pattern": r"\w*"}, {"tokenizer": lambda text: text.split(" ")}]
)
@pytest.mark.parametrize("weighting", [None, "tfidf"])
def test_a_missing_document_is_not_an_empty_one(options, weighting):
    model = TextNB(weighting=weighting, **options)
    some = model.fit(["aa", None, "bb"], [0, 1, 1]).feature_count_
    without = model.fit(["aa", "bb"], [0, 1]).feature_count_
    assert some.sum() == without.sum()


def test_what_was_never_learned_is_not_forgotten_with_max_terms():
    model = TextNB(max_terms=8).partial_fit(["aa bb cc dd"] * 3, [0] * 3)
    before = model.model_.copy()
    with pytest.raises(ValueError, match="cannot forget"):
        model.forget(["v1 w1 x1 y1 z1"], [0])
    assert model.model_ == before


def test_columns_of_frames_that_arrow_does_not_take():
    plain = TextNB(weights=None).fit(TEXTS, LABELS)
    categories = pl.Series(TEXTS, dtype=pl.Categorical)
    assert TextNB(weights=None).fit(categories, LABELS).model_ == plain.model_
    halves = pd.Series([*TEXTS[:3], TEXTS[3] + "\ud800"], dtype=object)
    assert TextNB(weights=None).fit(halves, LABELS).model_ == plain.model_
    with pytest.raises(TypeError, match="document 1 is 1"):
        TextNB(weights=None).fit(pd.Series(["a", 1], dtype=object), [0, 1])


def test_a_table_of_one_text_column_takes_documents():
    model = NaiveBayes({"t": "text"}).fit({"t": TEXTS}, LABELS)
    for texts in (TEXTS, np.array(TEXTS), pd.Series(TEXTS), pa.array(TEXTS), tuple(TEXTS)):
        assert (model.predict_proba(texts) == model.predict_proba({"t": TEXTS})).all()


def test_files_of_one_stem_are_distinguished(tmp_path):
    for kind in ("pos", "neg"):
        (tmp_path / f"reviews.{kind}").write_text(f"a {kind} review\n")
    source = open_source([tmp_path / "reviews.pos", tmp_path / "reviews.neg"], format="text")
    rows = [row for batch in source.batches() for row in batch.to_pylist()]
    assert [row["label"] for row in rows] == ["reviews.pos", "reviews.neg"]
