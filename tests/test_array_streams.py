"""Classifiers of arrays and texts train on streams: the model of the same rows in memory."""

import os
import pickle
import threading
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import naively
from naively import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianBayes,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
    TextNB,
)

ARRAYS = [
    GaussianNB(), GaussianNB(tie="classes"), GaussianBayes(), MultinomialNB(), ComplementNB(),
    BernoulliNB(binarize=2), PoissonNB(), CategoricalNB(),
]  # fmt: skip
TEXTS = [
    TextNB(weights=None), TextNB(), TextNB("bernoulli", ngram_range=(1, 2)),
    TextNB(weighting="tfidf", weights=None), TextNB(n_features=64), TextNB(models="auto"),
]  # fmt: skip
WORDS = np.array(["bayes", "prior", "été", "naïve", "sum", "row", "the", "of"])


def numbers(seed=0, n=400):
    """Columns of whole numbers, one of them with missing values, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return pa.table({
        "a": rng.poisson(3 + y, n), "b": rng.poisson(2, n).astype(float),
        "c": pa.array(rng.poisson(4 - y, n), mask=rng.random(n) < 0.1),
        "label": np.array(["no", "yes", "perhaps"])[y],
    })  # fmt: skip


def documents(seed=0, n=300):
    """Texts, some of them empty or missing, and labels that are numbers."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    texts = [" ".join(rng.choice(WORDS[k : k + 6], rng.integers(0, 9))) for k in y]
    return pa.table({"text": pa.array(texts, mask=rng.random(n) < 0.05), "label": y + 5})


def in_memory(estimator, table):
    """Fitted to arrays or texts, and these."""
    own = table.drop_columns("label")
    if isinstance(estimator, TextNB):
        X = own["text"]
    else:
        X = np.column_stack([own[name].to_numpy().astype(float) for name in own.column_names])
    return clone(estimator).fit(X, table["label"].to_numpy()), X


def streams(table, folder, kind):
    """The table with its labels, as something that is read in batches of no size in particular."""
    match kind:
        case "parquet":
            pq.write_table(table, folder / "t.parquet", row_group_size=37)
            return naively.scan(folder / "t.parquet")
        case "csv":
            pa.csv.write_csv(table, folder / "t.csv")
            return naively.scan(folder / "t.csv")
        case "dataset":
            return ds.dataset([table.slice(0, 150), table.slice(150)])
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(29))


@pytest.mark.parametrize("kind", ["parquet", "csv", "dataset", "reader"])
@pytest.mark.parametrize("estimator", [*ARRAYS, *TEXTS], ids=str)
def test_the_model_of_the_rows_in_memory(kind, estimator, tmp_path):
    text = isinstance(estimator, TextNB)
    table = documents() if text else numbers()
    if text and kind == "csv":  # which does not tell a missing document from an empty one
        table = table.set_column(0, "text", table["text"].fill_null(""))
    expected, X = in_memory(estimator, table)
    model = clone(estimator).fit(streams(table, tmp_path, kind), "label")
    assert model.model_ == expected.model_
    assert model.classes_.tolist() == expected.classes_.tolist()
    asked = streams(table.drop_columns("label"), tmp_path, kind)
    assert np.array_equal(model.predict_proba(asked), expected.predict_proba(X))
    found = model.score(streams(table, tmp_path, kind), "label")
    assert found == expected.score(X, table["label"].to_numpy())


@given(st.integers(0, 99), st.lists(st.integers(0, 120), max_size=6), st.booleans())
def test_any_batches_give_the_same_bits_and_are_forgotten(seed, sizes, text):
    table = documents(seed, 150) if text else numbers(seed, 150)
    estimator = TextNB(weights=None) if text else GaussianNB()
    cuts = [0, *np.minimum(np.cumsum(sizes), 150), 150]
    batches = [
        batch for a, b in pairwise(cuts)
        for batch in table.slice(a, b - a).to_batches()
        or [pa.RecordBatch.from_pylist([], schema=table.schema)]
    ]  # fmt: skip

    def stream(some):
        return pa.RecordBatchReader.from_batches(table.schema, some)

    half = len(batches) // 2
    model = clone(estimator).fit(stream(batches), "label")
    assert model.model_ == in_memory(estimator, table)[0].model_
    first = pa.Table.from_batches(batches[:half], table.schema)
    if len(set(first["label"].to_pylist())) < 3 or len(first) == 150:
        return
    parts = clone(estimator).fit(stream(batches[:half]), "label")
    parts.partial_fit(stream(batches[half:]), "label")
    assert parts.model_ == model.model_
    parts.forget(stream(batches[half:]), "label")
    assert parts.model_ == in_memory(estimator, first)[0].model_


def test_columns_are_known_by_their_names():
    table = numbers()
    model = GaussianNB().fit(table.to_reader(), "label")
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    other = table.select(["label", "c", "a", "b"])
    assert np.array_equal(model.predict(other.to_reader()), model.predict(table.to_reader()))
    with pytest.raises(ValueError, match="X has no column 'b', which the model needs"):
        model.predict(table.select(["a", "c"]).to_reader())
    array, X = in_memory(GaussianNB(), table)
    features = table.drop_columns("label")
    assert np.array_equal(array.predict(features.to_reader()), model.predict(table.to_reader()))
    array.partial_fit(table.to_reader(), "label")
    assert array.class_count_.sum() == 2 * len(X)


def test_what_a_stream_cannot_be_is_reported_with_its_row():
    table = numbers()
    labels = table["label"].to_pylist()

    def reader(**columns):
        changed = pa.table({name: table[name] for name in table.column_names} | columns)
        return changed.to_reader(max_chunksize=50)

    gone = pa.array([None if k == 171 else one for k, one in enumerate(labels)])
    infinite = np.arange(400.0)
    infinite[233] = np.inf
    negative = np.arange(400)
    negative[333] = -1
    for model, stream, y, said in (
        (GaussianNB(), reader(label=gone), "label", "the label of row 171 is missing"),
        (GaussianNB(), reader(a=infinite), "label", "row 233, column 'a'"),
        (MultinomialNB(), reader(b=negative), "label", "MultinomialNB"),
        (GaussianNB(), reader(b=pa.array(labels)), "label", "column 'b' holds 'no'"),
        (GaussianNB(), reader(), "labels", "not a column of X"),
        (GaussianNB(), reader(), np.array(labels), "y must name the column"),
        (GaussianNB(), table.slice(0, 0).to_reader(), "label", "no rows"),
        (TextNB(), reader(), "label", r"there are 3 \('a', 'b', 'c'\)"),
    ):
        with pytest.raises(ValueError, match=said):
            model.fit(stream, y)
        assert not hasattr(model, "classes_")
    with pytest.raises(ValueError, match="no sample_weight"):
        GaussianNB().fit(reader(), "label", np.ones(400))
    with pytest.raises(ValueError, match=r"X is a stream .*to_table\(\)"):
        GaussianNB(alpha="auto").fit(reader(), "label")
    fitted = GaussianNB().fit(reader(), "label")
    with pytest.raises(ValueError, match="row 233, column 'a'"):
        fitted.predict(reader(a=infinite))
    with pytest.raises(ValueError, match=r"X is a stream .*to_table\(\)"):
        fitted.explain(reader())


@pytest.mark.parametrize("call", ["fit", "partial_fit", "forget"])
def test_a_stream_that_breaks_leaves_the_model_as_it_was(call):
    table = numbers()

    def breaking():
        yield from table.slice(0, 300).to_batches(100)
        raise OSError("the cable was cut")

    model = GaussianNB().fit(table.to_reader(), "label")
    before = model.model_.copy()
    stream = pa.RecordBatchReader.from_batches(table.schema, breaking())
    with pytest.raises(OSError, match="the cable was cut"):
        getattr(model, call)(stream, "label")
    assert model.model_ == before


def test_only_some_columns_of_files_and_streams(tmp_path):
    table = documents().append_column("id", pa.array(range(300)))
    for kind in ("parquet", "csv", "reader"):
        some = naively.scan(streams(table, tmp_path, kind), columns=["label", "text"])
        assert some.names == ["label", "text"] == some.to_table().column_names
    with pytest.raises(ValueError, match="no column 'texts'"):
        naively.scan(table.to_reader(), columns=["texts"])
    some = naively.scan(ds.dataset(table), columns=["text", "label"])
    assert TextNB().fit(some, "label").model_ == in_memory(TextNB(), documents())[0].model_


def test_some_columns_of_a_pipe(tmp_path):
    table = numbers()
    fifo = tmp_path / "pipe.csv"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: pa.csv.write_csv(table, str(fifo)))
    writer.start()
    some = naively.scan(naively.scan(fifo), columns=["a", "label"])
    assert some.to_table().num_rows == len(table)
    writer.join()
    with pytest.raises(ValueError, match="read only once"):
        some.to_table()
    with pytest.raises(ValueError, match="can be read here alone"):
        pickle.dumps(some)
