"""Tables beyond memory: files and streams give the model of a frame of the same rows."""

import gzip
import json
import os
import subprocess
import sys
import time
import warnings

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone

import naively
from naively import (
    NBSVM,
    AutoBayes,
    GaussianNB,
    JointBayes,
    MultilabelNB,
    NaiveBayes,
    TextNB,
)
from naively.cli.main import run
from naively.io.frames import arrow_stream

SURPRISE = 100_000  # rows from which families are inferred


def rows(n=3000, seed=0):
    """A table of all kinds of columns, with missing values."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    gone = rng.random(n) < 0.05
    return pa.table({
        "height": pa.array(rng.normal(y, 1.0), mask=gone),
        "visits": rng.poisson(3.0 + y, n),
        "job": pa.array(np.array(["clerk", "boss", "worker"])[(y + rng.integers(0, 2, n)) % 3],
                        mask=rng.random(n) < 0.05),
        "member": (y + rng.integers(0, 2, n)) % 2 == 0,
        "note": [f"the {w} came to see us on {d} of {n} days" for w, d in
                 zip(np.array(["old", "young", "odd"])[y], rng.integers(1, 31, n), strict=True)],
        "label": np.array(["a", "b", "c"])[y],
    })  # fmt: skip


def written(table, folder, kind):
    """What to scan: the table in one or more files of a kind."""
    path = folder / f"t.{kind}"
    match kind:
        case "csv":
            pa.csv.write_csv(table, path)
        case "csv.gz":
            pa.csv.write_csv(table, folder / "plain.csv")
            path.write_bytes(gzip.compress((folder / "plain.csv").read_bytes()))
        case "parquet":
            pq.write_table(table, path, row_group_size=700)
        case "arrow":
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table, max_chunksize=900)
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        case "several":
            pa.csv.write_csv(table.slice(0, 1000), folder / "1.csv")
            other = table.select(table.column_names[::-1]).slice(1000)
            pa.csv.write_csv(other, folder / "2.csv")
            return [folder / "1.csv", folder / "2.csv"]
    return path


def readers(table):
    """Streams of the same rows, as people hold them."""
    batches = table.to_batches(701)
    half = len(batches) // 2
    return {
        "reader": pa.RecordBatchReader.from_batches(table.schema, batches),
        "dataset": ds.dataset([pa.Table.from_batches(batches[:half]), table.slice(half * 701)]),
        "scanner": ds.dataset(table).scanner(),
        "polars": pl.from_arrow(table).lazy(),
        "capsule": Capsule(table),
    }


class Capsule:
    """Somebody's stream of Arrow, of which nothing else is known."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


# ---- one model -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow", "jsonl", "several"])
def test_files_are_learned_as_the_frame_and_as_by_the_command(kind, tmp_path):
    table = rows()
    found = written(table, tmp_path, kind)
    frame = NaiveBayes().fit(table, "label")
    scan = naively.scan(found)
    model = NaiveBayes().fit(scan, "label")
    assert model.model_ == frame.model_
    assert np.array_equal(model.predict_proba(scan), frame.predict_proba(table))
    names = [str(one) for one in (found if isinstance(found, list) else [found])]
    file = str(tmp_path / "m.model")
    assert run(["fit", *names, "--target", "label", "--naive", "-o", file]) == 0
    assert naively.load(file).model_ == frame.model_


@pytest.mark.parametrize("kind", ["reader", "dataset", "scanner", "polars", "capsule"])
@pytest.mark.parametrize(
    "estimator", [NaiveBayes(family="auto"), AutoBayes(limit=100), JointBayes()]
)
def test_streams_are_learned_and_answered_as_the_frame(kind, estimator):
    table = rows(1500)
    if not isinstance(estimator, NaiveBayes):
        table = table.select(["job", "member", "visits", "label"])
    frame = type(estimator)(**estimator.get_params(deep=False)).fit(table, "label")
    model = estimator.fit(readers(table)[kind], "label")
    assert model.model_ == frame.model_
    for ask in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        expected = getattr(frame, ask)(table)
        assert np.array_equal(getattr(model, ask)(readers(table)[kind]), expected)
    expected = float(np.mean(frame.predict(table) == table["label"].to_numpy()))
    assert model.score(readers(table)[kind], "label") == expected == frame.score(table, "label")
    expected = frame.log_likelihood(table, "label", conditional=True)
    assert model.log_likelihood(readers(table)[kind], "label", conditional=True) == expected


@given(st.lists(st.integers(0, 400), min_size=1, max_size=12), st.integers(1, 3))
def test_no_batch_size_matters(sizes, threads):
    table = rows(1000).drop_columns(["note"])
    batches, at = [], 0
    for size in sizes:
        batches += table.slice(at, size).combine_chunks().to_batches() or [
            pa.RecordBatch.from_pylist([], schema=table.schema)
        ]
        at += size
    if at < 20:
        batches += table.slice(at, 20).combine_chunks().to_batches()
    whole = pa.Table.from_batches(batches)
    frame = NaiveBayes().fit(whole, "label")
    reader = pa.RecordBatchReader.from_batches(table.schema, batches)
    assert NaiveBayes(n_jobs=threads).fit(reader, "label").model_ == frame.model_


def test_dictionaries_may_differ_from_batch_to_batch():
    kind = pa.dictionary(pa.int8(), pa.string())
    parts = [["x", "y", "x"], ["z", None, "y"], ["y", "z", "z"]]
    batches = [
        pa.record_batch({
            "job": pa.array(part).dictionary_encode().cast(kind),
            "y": pa.array(labels).dictionary_encode().cast(kind),
        })
        for part, labels in zip(parts, (["p", "q", "p"], ["r", "q", "q"], ["q", "r", "p"]),
                                strict=True)
    ]  # fmt: skip
    stream = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    plain = {
        "job": [one for part in parts for one in part],
        "y": ["p", "q", "p", "r", "q", "q", "q", "r", "p"],
    }
    kept = {"job": pa.array(plain["job"]).dictionary_encode(), "y": plain["y"]}
    model = NaiveBayes().fit(stream, "y")
    assert model.model_ == NaiveBayes().fit(kept, "y").model_
    assert model.classes_.tolist() == ["p", "q", "r"]


def test_categories_of_polars_are_text_wherever_they_come_from(tmp_path):
    """Arrow can neither filter nor cast the views of text that they are written as."""
    text = pl.DataFrame({"x": list("abcd") * 10, "z": ["u", "v v"] * 20, "y": list("pqqp") * 10})
    levels = {"x": pl.Enum(list("dcbaz")), "z": pl.Categorical, "y": pl.Enum(list("rqp"))}
    frame = text.with_columns(pl.col(name).cast(kind) for name, kind in levels.items())
    model = AutoBayes().fit(frame, "y")
    assert model.model_ == AutoBayes().fit(text, "y").model_
    expected = model.predict_proba(text)
    for rows in (frame[:1], frame[1:3]):  # fewer rows than levels
        start = 0 if len(rows) == 1 else 1
        assert (model.predict_proba(rows) == expected[start : start + len(rows)]).all()
    table = pa.table(frame)
    assert AutoBayes().fit(table.drop("y"), table["y"][:40]).model_ == model.model_
    assert AutoBayes().fit(table.drop("y")[:2], table["y"][:2]).classes_.tolist() == ["p", "q"]

    data, first, text_of = (str(tmp_path / name) for name in ("t.arrow", "1.arrow", "t.csv"))
    frame.write_ipc(data)
    frame[:1].write_ipc(first)
    text.write_csv(text_of)
    for k, path in enumerate((data, text_of)):
        fit = ["fit", path, "--target", "y", "--holdout", "0.2", "-o", str(tmp_path / f"m{k}")]
        assert run(fit) == 0
    saved, plain = naively.load(tmp_path / "m0").model_, naively.load(tmp_path / "m1").model_
    assert saved == plain  # but for what the frame declares
    assert {*saved.schema.types} == {"x", "z"}
    assert not plain.schema.types
    assert run(["predict", str(tmp_path / "m0"), first, "-o", str(tmp_path / "p.parquet")]) == 0
    assert pl.read_parquet(tmp_path / "p.parquet")["x"].to_list() == ["a"]


def test_a_dictionary_may_hold_null_in_one_chunk_and_another_in_the_next():
    known = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0], pa.int32()), ["b", None, "a"])
    chunks = pa.chunked_array([pa.array(["a", "b", None, "c"]).dictionary_encode(), known])
    y = list("pqqppqpq")
    plain = {"x": ["a", "b", None, "c", "b", None, "a", "b"]}
    for kind in (AutoBayes, NaiveBayes):
        expected = kind(categorical=["x"]).fit(plain, y)
        assert kind().fit(pa.table({"x": chunks}), y).model_ == expected.model_


@pytest.mark.parametrize("kind", [AutoBayes, NaiveBayes])
@pytest.mark.parametrize("target", ["x", "t"])
def test_truth_values_of_a_byte_are_those_of_a_bit(kind, target, tmp_path):
    """Columns and labels of `pa.bool8` were the numbers 0 and 1."""
    bits = pa.array([True, False, False, True, None, True, False, True] * 5)
    whole = pa.ExtensionArray.from_storage(pa.bool8(), bits.cast(pa.int8()))
    plain, table = (pa.table({"x": x, "t": list("abaabbab") * 5}) for x in (bits, whole))
    pq.write_table(table, tmp_path / "t.parquet")
    pa.feather.write_feather(table, tmp_path / "t.arrow", compression="uncompressed")
    with warnings.catch_warnings(action="ignore"):  # rows without a label
        expected = kind().fit(plain, target)
        for path in (None, tmp_path / "t.parquet", tmp_path / "t.arrow"):
            found = kind().fit(table if path is None else naively.scan(path), target)
            assert found.classes_.dtype == expected.classes_.dtype
            assert found.model_ == expected.model_
            assert_array_equal(found.predict_proba(table), expected.predict_proba(plain))


@pytest.mark.parametrize("kind", [pa.binary(), pa.binary_view(), pa.binary(2)], ids=str)
def test_numbers_written_in_bytes_are_numbers(kind):
    numbers = [*range(10, 50)]
    column = pa.array([str(number).encode() for number in numbers], kind)
    y = ["p"] * 20 + ["q"] * 20
    learned = AutoBayes().fit(pa.table({"x": column}), y).model_
    assert learned == AutoBayes().fit({"x": numbers}, y).model_


@pytest.mark.slow
def test_what_comes_after_the_first_rows_is_read_alike(tmp_path):
    n = SURPRISE + 40_000
    rng = np.random.default_rng(2)
    constant, few, label = np.zeros(n), np.arange(n) % 7, np.array(["a", "b"])[np.arange(n) % 2]
    constant[-20_000:] = rng.normal(size=20_000)
    few[-20_000:] = np.arange(20_000) % 500
    label[-5:] = "late"
    table = pa.table({"constant": constant, "few": few, "x": rng.normal(size=n), "label": label})
    frame = NaiveBayes().fit(table, "label")
    assert {one.name for one in frame.model_.schema.family_of.values()} == {"gaussian"}
    assert NaiveBayes().fit(table.to_reader(9_000), "label").model_ == frame.model_
    pq.write_table(table, tmp_path / "t.parquet")
    names = [str(tmp_path / "t.parquet"), "--target", "label", "--naive", "-o"]
    assert run(["fit", *names, str(tmp_path / "m.model")]) == 0
    assert naively.load(tmp_path / "m.model").model_ == frame.model_


@pytest.mark.slow
def test_an_invalid_value_in_one_batch_is_missing_with_a_warning(tmp_path):
    lines = [f"{k % 17 + (k / 1000) ** 2},{'ab'[k % 2]}" for k in range(150_000)]
    lines[120_000] = "lots,a"
    (tmp_path / "t.csv").write_text("x,label\n" + "\n".join(lines))
    scan = naively.scan(tmp_path / "t.csv")
    with pytest.warns(UserWarning, match="1 value such as 'lots' cannot be used") as met:
        model = NaiveBayes().fit(scan, "label")
    assert {one.filename for one in met} == {__file__}
    x = [None if k == 120_000 else k % 17 + (k / 1000) ** 2 for k in range(150_000)]
    frame = NaiveBayes().fit({"x": x, "label": ["ab"[k % 2] for k in range(150_000)]}, "label")
    assert model.model_.statistics == frame.model_.statistics
    with pytest.warns(UserWarning, match="'lots' cannot be read") as met:
        assert len(model.predict(scan)) == 150_000
    assert {one.filename for one in met} == {__file__}


def test_a_csv_file_as_a_table_has_the_types_of_its_values(tmp_path):
    (tmp_path / "t.csv").write_text(
        "whole,code,number,truth,text,label\n"
        "1,02139,1.5,True,a b, 1\n2,10001,?,False,?,0\n,1,-1e3,True,c,1 \n"
    )
    scan = naively.scan(tmp_path / "t.csv")
    table = scan.to_table()
    assert table.to_pydict() == {
        "whole": [1, 2, None], "code": ["02139", "10001", "1"], "number": [1.5, None, -1000.0],
        "truth": [True, False, True], "text": ["a b", "?", "c"], "label": [1, 0, 1],
    }  # fmt: skip
    model = NaiveBayes().fit(scan, "label")
    assert model.classes_.tolist() == [0, 1]
    assert model.model_ == NaiveBayes().fit(table, "label").model_


def test_labels_of_text_lose_the_blanks_about_them(tmp_path):
    (tmp_path / "t.csv").write_text("x,label\n1,yes \n2, no\n3,yes\n4,no\n5,\n")
    scan = naively.scan(tmp_path / "t.csv")
    with pytest.warns(UserWarning, match="1 of 5 rows have no label"):
        model = NaiveBayes().fit(scan, "label")
    assert model.classes_.tolist() == ["no", "yes"]
    with pytest.warns(UserWarning, match="1 of 5 rows have no label"):
        assert model.model_ == NaiveBayes().fit(scan.to_table(), "label").model_
    with pytest.raises(ValueError, match="the label of row 4 is missing"):
        model.score(scan, "label")


def test_a_real_file_is_its_frame(data_folder):
    scan = naively.scan(data_folder / "stream-elec" / "elec.csv.gz")
    table = scan.to_table()
    assert table.num_rows == 45_312
    frame = NaiveBayes().fit(table.to_pandas(), "target")
    model = NaiveBayes().fit(scan, "target")
    assert model.model_ == frame.model_
    assert np.array_equal(model.predict_proba(scan), frame.predict_proba(table))
    assert model.score(scan, "target") == frame.score(table, "target") > 0.7


# ---- going on ------------------------------------------------------------------------------------


def test_more_rows_are_learned_and_forgotten_with_their_new_columns():
    first, more = rows(800), rows(900, seed=1)
    more = more.append_column("extra", pa.array(np.arange(900) % 5 / 3))
    frame = NaiveBayes().fit(first, "label").partial_fit(more, "label")
    model = NaiveBayes().fit(first.to_reader(100), "label")
    before = model.model_.copy()
    model.partial_fit(more.to_reader(130), "label")
    assert model.model_ == frame.model_
    model.forget(more.to_reader(77), "label")
    assert np.array_equal(model.model_.class_weight.rounded(), before.class_weight.rounded())
    frame.forget(more, "label")
    assert model.model_ == frame.model_
    with pytest.raises(ValueError, match="forget"):
        model.forget(rows(3000, seed=5).to_reader(), "label")
    assert model.model_ == frame.model_


def test_text_labels_of_a_file_are_those_of_the_model(tmp_path):
    (tmp_path / "t.csv").write_text("x,label\n1,2\n2,3\n3,2\n")
    model = NaiveBayes({"x": "gaussian"}).fit({"x": [1.0, 2.5, 3.0], "label": [1, 2, 1]}, "label")
    model.partial_fit(naively.scan(tmp_path / "t.csv"), "label")
    assert model.classes_.tolist() == [1, 2, 3]
    assert model.class_count_.tolist() == [2, 3, 1]


@pytest.mark.parametrize("call", ["fit", "partial_fit", "forget"])
def test_a_stream_that_breaks_leaves_the_model_as_it_was(call):
    table = rows(2000)

    def breaking():
        yield from table.slice(0, 1500).to_batches(500)
        raise OSError("the cable was cut")

    model = NaiveBayes().fit(table, "label")
    before, proba = model.model_.copy(), model.predict_proba(table)
    stream = pa.RecordBatchReader.from_batches(table.schema, breaking())
    with pytest.raises(OSError, match="the cable was cut"):
        getattr(model, call)(stream, "label")
    assert model.model_ == before
    assert np.array_equal(model.predict_proba(table), proba)
    with pytest.raises(ValueError, match="read already, and can be read only once"):
        getattr(model, call)(stream, "label")


# ---- once and again ------------------------------------------------------------------------------


def test_a_reader_can_be_read_once():
    table = rows(500)
    reader = table.to_reader(100)
    model = NaiveBayes().fit(reader, "label")
    for again in (lambda: model.predict(reader), lambda: model.fit(reader, "label"),
                  lambda: naively.scan(reader).to_table()):  # fmt: skip
        with pytest.raises(ValueError, match="the RecordBatchReader was read already"):
            again()
    emptied = table.to_reader(100)
    list(emptied)  # by somebody else
    with pytest.raises(ValueError, match="has no rows: it can be read only once"):
        model.predict(emptied)


def test_standard_input_is_a_table_that_can_be_read_once():
    code = (
        "import naively\n"
        "scan = naively.scan('-')\n"
        "model = naively.NaiveBayes().fit(scan, 'label')\n"
        "print(model.classes_.tolist(), model.class_count_.tolist())\n"
        "try: model.predict(scan)\n"
        "except ValueError as error: print(error)\n"
    )
    given = "x,label\n" + "".join(f"{k % 7}.5,{k % 2}\n" for k in range(1000))
    found = subprocess.run(
        [sys.executable, "-c", code], input=given, capture_output=True, text=True, check=True,
        env=os.environ,
    )  # fmt: skip
    assert found.stdout.splitlines() == [
        "[0, 1] [500.0, 500.0]",
        "standard input: can be read only once; save it in a file first",
    ]


def test_no_more_than_some_batches_are_in_memory():
    size = 4 << 20
    most = 0
    start = pa.total_allocated_bytes()

    def batches():
        nonlocal most
        rng = np.random.default_rng(0)
        for k in range(40):
            x = rng.normal(size=size // 8 // 4)
            y = np.full(len(x), k % 2)
            yield pa.record_batch({"a": x, "b": x + y, "c": -x, "label": y})
            most = max(most, pa.total_allocated_bytes() - start)

    schema = next(batches()).schema
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    model = NaiveBayes(n_jobs=2).fit(reader, "label")
    assert model.class_count_.sum() == 40 * size // 8 // 4
    model.predict(pa.RecordBatchReader.from_batches(schema, batches()))
    assert most < 12 * size  # of 40


def test_a_dataset_is_not_read_ahead_of_who_learns(tmp_path):
    columns = {name: np.full(50_000, 0.5) for name in "abcde"}
    part = pa.table(columns | {"label": np.arange(50_000) % 2})
    with pq.ParquetWriter(tmp_path / "t.parquet", part.schema) as file:
        for _ in range(30):
            file.write_table(part)
    start = pa.total_allocated_bytes()
    tasks = arrow_stream(ds.dataset(tmp_path / "t.parquet")).tasks()
    rows = next(tasks)().num_rows
    time.sleep(1)  # in which threads of its own would read all of it
    assert pa.total_allocated_bytes() - start < 15 * part.nbytes  # of 30
    assert rows + sum(task().num_rows for task in tasks) == 30 * 50_000


def test_a_stream_is_answered_batch_by_batch(tmp_path):
    table = rows(2500)
    pa.csv.write_csv(table, tmp_path / "t.csv")
    model = NaiveBayes().fit(table, "label")
    for source in (tmp_path / "t.csv", table.to_reader(400)):
        batches = [*naively.scan(source).batches()]
        answers = [model.predict_proba(batch) for batch in batches]
        assert np.array_equal(np.concatenate(answers), model.predict_proba(table))


# ---- what needs all rows -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask",
    [
        lambda X: naively.cross_validate(NaiveBayes(), X, "label"),
        lambda X: NaiveBayes().out_of_fold(X, "label"),
        lambda X: NaiveBayes().smoothing_curve(X, "label"),
        lambda X: NaiveBayes(alpha="auto").fit(X, "label"),
        lambda X: NaiveBayes().fit(rows(300), "label").explain(X),
        lambda X: NaiveBayes().fit(rows(300), "label").counterfactuals(X),
        lambda X: NaiveBayes().fit(X, "label", sample_weight=np.ones(300)),
    ],
)
def test_what_needs_all_rows_says_so(ask, tmp_path):
    pq.write_table(rows(300), tmp_path / "t.parquet")
    for stream in (naively.scan(tmp_path / "t.parquet"), rows(300).to_reader()):
        with pytest.raises(ValueError, match="to_table"):
            ask(stream)


TEXTS = (["see you at noon", "win a prize"] * 50, ["ham", "spam"] * 50)
NUMBERS = (np.arange(200.0).reshape(100, 2) % 7, ["ham", "spam"] * 50)


@pytest.mark.parametrize(
    ("estimator", "known"),
    [(NBSVM(), TEXTS), (MultilabelNB(), (TEXTS[0], [["a"], ["b"]] * 50))],
    ids=["nbsvm", "multilabel"],
)
def test_classifiers_of_rows_in_memory_refuse_streams(estimator, known):
    table = rows(1500)
    fitted = clone(estimator).fit(*known)
    for stream in (*readers(table).values(), naively.scan(table.to_reader())):
        for ask in (
            lambda X: clone(estimator).fit(X, "label"),
            fitted.predict,
            fitted.predict_proba,
        ):
            with pytest.raises(ValueError, match=r"X is a stream .*batches\(\).*to_table\(\)"):
                ask(stream)


def test_following_the_advice_gives_the_same_model():
    table = pa.table({"text": TEXTS[0], "x": NUMBERS[0][:, 0], "label": TEXTS[1]})
    texts, numbers = TextNB(), GaussianNB()
    for batch in naively.scan(table.to_reader(30)).batches():
        texts.partial_fit(batch["text"], batch["label"])
        numbers.partial_fit(batch.select(["x"]), batch["label"])
    assert texts.model_ == TextNB().fit(*TEXTS).model_
    assert numbers.model_ == GaussianNB().fit(table.select(["x"]), TEXTS[1]).model_


def test_models_are_compared_on_a_sample_of_a_stream(tmp_path):
    table = rows(200).select(["visits", "job", "label"])
    pq.write_table(table, tmp_path / "t.parquet")
    scan = naively.scan(tmp_path / "t.parquet")
    of_path = naively.diagnose(tmp_path / "t.parquet", "label").to_dict()
    assert naively.diagnose(scan, "label").to_dict() == of_path
    only = ["naive Bayes"]
    found = naively.compare(scan, "label", only=only, splits=2).to_dict()
    expected = naively.compare(tmp_path / "t.parquet", "label", only=only, splits=2).to_dict()
    for one in (*found["candidates"], *expected["candidates"]):
        del one["seconds"]
    assert found == expected


def test_invalid_options_are_reported(tmp_path):
    table = rows(300)
    with pytest.raises(ValueError, match="y must name the column"):
        NaiveBayes().fit(table.to_reader(), table["label"])
    with pytest.raises(ValueError, match="y names 'lable', which is not a column"):
        NaiveBayes().fit(table.to_reader(), "lable")
    with pytest.raises(ValueError, match="`columns`"):
        NaiveBayes({"nope": "skip"}).fit(table.to_reader(), "label")
    with pytest.raises(ValueError, match="no labels"):
        NaiveBayes().fit(pa.table({"x": [1.5], "y": pa.nulls(1, pa.string())}).to_reader(), "y")
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(ValueError, match="several columns are named 'x'"):
        NaiveBayes().fit(twice.to_reader(), "x")
    model = NaiveBayes().fit(table, "label")
    with pytest.raises(ValueError, match="none of the features of the model"):
        model.predict(pa.table({"z": [1]}).to_reader())
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        model.predict(table.drop_columns(["job"]).to_reader())
    assert [str(one.message) for one in met] == [
        "X has no column 'job': its values count as missing"
    ]
    assert {one.filename for one in met} == {__file__}
    odd = table.set_column(5, "label", pa.array([*table["label"].to_pylist()[:299], "odd"]))
    with pytest.raises(ValueError, match="row 299, which the model does not have"):
        model.log_likelihood(odd.to_reader(50), "label")
    with pytest.raises(TypeError, match="cannot be scanned"):
        naively.scan(table)
    with pytest.raises(FileNotFoundError):
        naively.scan(tmp_path / "none.csv")
