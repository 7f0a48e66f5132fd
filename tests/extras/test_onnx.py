"""Models as ONNX graphs: the runtime gives the predictions of Python."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from exported import KIND, LABELS, MODELS, TABLE, fed, fitted, new_rows, with_endless_numbers
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from naively import (
    AutoBayes,
    BernoulliNB,
    Categorical,
    CategoricalNB,
    ComplementNB,
    GaussianBayes,
    GaussianNB,
    MultilabelNB,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    Student,
    TextNB,
)
from naively.cli.main import run

onnx = pytest.importorskip("onnx", reason="needs naively[export]")
runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

from naively.export.formulas import NotExportableError  # noqa: E402
from naively.export.onnx import to_onnx  # noqa: E402

REFUSED = runtime.capi.onnxruntime_pybind11_state.InvalidArgument


def session(model):
    """The graph of a model in a runtime, which says no more than its errors."""
    graph = to_onnx(model.model_)
    onnx.checker.check_model(onnx.load_from_string(graph), full_check=True)
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    return runtime.InferenceSession(graph, options)


def assert_same(graph, model, rows, inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of what counts as missing
        proba, labels = model.predict_proba(rows), model.predict(rows)
    label, probabilities = graph.run(None, inputs)
    assert [one.name for one in graph.get_outputs()] == ["label", "probabilities"]
    assert probabilities.dtype == np.float64
    assert_allclose(probabilities, proba, rtol=0, atol=1e-9)
    assert label.tolist() == labels.tolist()


@pytest.mark.parametrize("name", MODELS)
def test_of_tables(name):
    model, rows = fitted(name), new_rows().drop(columns="id")
    rows["it's"] = rows["it's"].replace(" red ", "red")  # no text with blanks about it
    graph = session(model)
    assert_same(graph, model, rows, fed(graph, rows))
    assert json.loads(graph.get_modelmeta().custom_metadata_map["classes"]) == [*model.classes_]
    none = fed(graph, rows.iloc[:0])
    assert graph.run(None, none)[1].shape == (0, len(model.classes_))


NUMBERS = st.floats(-1e9, 1e9) | st.sampled_from([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1e15])
LEVELS = st.text(max_size=3) | st.sampled_from([
    "red", "it's", "2", "2.0", "3", "3.0", "02", "green", "?", "NA", "r\0d", "red\0", "Ré",
    "\ud7ff", "2 2", "0.5",
])  # fmt: skip


@given(st.lists(st.tuples(NUMBERS, LEVELS, NUMBERS), min_size=1, max_size=8), st.sampled_from(
    ["naive", "auto", "levels, new ones ignored"]
))  # fmt: skip
def test_hostile_values(cells, name):
    """Each row is predicted as in Python, or refused for the reason that the docs give."""
    model = KNOWN.setdefault(name, fitted(name))
    graph = GRAPHS.setdefault(name, session(model))
    rows = TABLE.iloc[: len(cells)].copy()
    rows["size"], rows["it's"], rows["width"] = zip(*cells, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of what counts as missing
        proba = model.predict_proba(rows)
    for k, own in enumerate(proba):
        inputs, text = fed(graph, rows.iloc[[k]]), cells[k][1]
        try:
            _, found = graph.run(None, inputs)
        except REFUSED:
            assert text != text.strip() or text[:1] in "+-.0123456789"
        else:
            assert_allclose(found[0], own, rtol=0, atol=1e-9)


KNOWN, GRAPHS = {}, {}


@pytest.mark.parametrize(("column", "value"), [
    ("it's", " red"), ("it's", "red\n"), ("it's", "\u3000red"), ("it's", "\x1cred"),
    ("it's", "+2"), ("it's", "2."), ("it's", "2e0"), ("it's", "2.00"),
])  # fmt: skip
def test_what_python_reads_otherwise_is_refused(column, value):
    """It is another spelling of a level that the model knows."""
    model = fitted("naive")
    row = TABLE.iloc[:1].assign(**{column: value})
    plain = row.assign(**{column: "2" if "2" in value else "red"})
    assert_allclose(model.predict_proba(row), model.predict_proba(plain))
    graph = session(model)
    with pytest.raises(REFUSED, match="it's has a value with blanks about it"):
        graph.run(None, fed(graph, row))


@pytest.mark.filterwarnings("ignore:.*cannot be used:UserWarning")
@pytest.mark.parametrize("kind", [NaiveBayes, AutoBayes])
def test_endless_numbers_among_levels_are_read_as_in_python(kind):
    model, rows = with_endless_numbers(kind)
    graph = session(model)
    assert_same(graph, model, rows, fed(graph, rows))


@pytest.mark.parametrize("value", ["1e400", "-2.5E+999", "9" * 400])
def test_numbers_beyond_float64_among_levels_are_refused(value):
    model = AutoBayes().fit({"code": ["red", "blue"] * 50}, ["a", "b"] * 50)
    graph = session(model)
    with pytest.raises(REFUSED, match="code has a value with blanks about it"):
        graph.run(None, {"code": np.array([[value]], object)})


@pytest.mark.parametrize("value", [1e200, -1e308])
def test_numbers_whose_squares_are_infinite_are_refused(value):
    graph = session(fitted("naive"))
    with pytest.raises(REFUSED, match="a number is too large"):
        graph.run(None, fed(graph, TABLE.iloc[:1].assign(width=value)))


def test_columns_without_evidence_yet_are_no_inputs():
    table = TABLE.assign(one="a", seven=7, none=None)
    for model in (NaiveBayes(), AutoBayes()):
        model.fit(table, LABELS)
        rows = table.iloc[:9].assign(one="b", seven=range(9), none="c")
        graph = session(model)
        assert not {"one", "seven", "none"} & {one.name for one in graph.get_inputs()}
        assert_same(graph, model, rows, fed(graph, rows))


def test_truth_values_and_numbers_as_levels():
    truths = np.array([True, False, None], object)[KIND]
    codes = np.array([1.5, 2.0, -3.0])[KIND]
    table = TABLE.assign(truth=truths, code=codes)
    model = NaiveBayes({"truth": "categorical", "code": "categorical"}).fit(table, LABELS)
    graph = session(model)
    assert_same(graph, model, table, fed(graph, table))
    lower = table.assign(truth=["" if one is None else str(one).lower() for one in truths])
    assert_same(graph, model, table, fed(graph, lower))


def test_missing_numbers_have_spellings():
    model = NaiveBayes(missing=["", "-999"]).fit(TABLE, LABELS)
    rows = TABLE.iloc[:9].assign(size=-999.0, width=[-999, 1] * 4 + [-999.0])
    graph = session(model)
    assert_same(graph, model, rows, fed(graph, rows))


COUNTS = np.random.default_rng(1).poisson(2 + 2 * KIND[:, np.newaxis], (len(KIND), 5)).astype(float)
HOLES = np.where(np.random.default_rng(2).random(COUNTS.shape) < 0.2, np.nan, COUNTS)


@pytest.mark.parametrize("model", [
    GaussianNB(), MultinomialNB(), ComplementNB(), BernoulliNB(binarize=3), PoissonNB(),
    CategoricalNB(), CategoricalNB(min_categories=30), MultinomialNB(fit_prior=False),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("X", [COUNTS, HOLES], ids=["full", "missing"])
def test_of_arrays(model, X):
    model.fit(X, LABELS)
    graph = session(model)
    (one,) = graph.get_inputs()
    assert (one.name, one.shape, one.type) == ("X", ["N", 5], "tensor(double)")
    rows = np.vstack([X, 3 * COUNTS[:5], np.full((1, 5), 1e6), np.zeros((1, 5))])
    assert_same(graph, model, rows, {"X": rows})


@pytest.mark.parametrize(("model", "value", "problem"), [
    (GaussianNB(), np.inf, "infinite"),
    (BernoulliNB(binarize=None), 2.0, "above 1"),
    (CategoricalNB(), 0.5, "not whole"),
    (CategoricalNB(), -1.0, "below 0"),
])  # fmt: skip
def test_what_models_of_arrays_refuse_graphs_refuse(model, value, problem):
    X = COUNTS > 3 if "above" in problem else COUNTS
    model.fit(X, LABELS)
    bad = X[:3].astype(float)
    bad[1, 2] = value
    with pytest.raises(ValueError, match=r"infinity|Negative|not in \[0, 1\]|Not a category code"):
        model.predict_proba(bad)
    with pytest.raises(REFUSED, match=problem):
        session(model).run(None, {"X": bad})


@pytest.mark.parametrize("model", [MultinomialNB(), ComplementNB(), PoissonNB()], ids=str)
def test_negative_counts_are_refused(model):
    with pytest.raises(REFUSED, match="below 0"):
        session(model.fit(COUNTS, LABELS)).run(None, {"X": -COUNTS})


@pytest.mark.parametrize("labels", [KIND, KIND > 0, KIND - 2**62], ids=[
    "numbers", "truths", "large numbers",
])  # fmt: skip
def test_types_of_labels(labels):
    model = GaussianNB().fit(COUNTS, labels)
    label, _ = session(model).run(None, {"X": COUNTS})
    assert label.dtype.kind == labels.dtype.kind
    assert label.tolist() == model.predict(COUNTS).tolist()


@pytest.mark.parametrize(("model", "table", "problem"), [
    (NaiveBayes({"odd name": Categorical(alpha=0)}), TABLE, "'odd name'.*alpha > 0"),
    (NaiveBayes({"size": Student()}), TABLE, "'size'.*student cannot be exported"),
    (NaiveBayes(unseen="error"), TABLE, "refuses rows"),
    (NaiveBayes({"it's": "text"}), TABLE, "no operator that cuts text into words"),
    (TextNB(), TABLE["it's"].fillna("").tolist(), "no operator that cuts text into words"),
    (GaussianBayes(), COUNTS, "cannot be exported"),
    (NaiveBayes(), TABLE.rename(columns={"size": "label"}), "'label': rename"),
    (NaiveBayes(), TABLE[[]].assign(one=1), "no column has evidence"),
])  # fmt: skip
def test_what_cannot_be_said_is_refused(model, table, problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that no column has evidence
        model.fit(table, LABELS)
    with pytest.raises(NotExportableError, match=problem):
        to_onnx(model.model_)


def test_labels_beyond_64_bits_are_refused():
    with pytest.raises(NotExportableError, match="64 bits"):
        to_onnx(GaussianNB().fit(COUNTS, KIND.astype(np.uint64) + 2**63).model_)


def test_dates_are_seconds():
    days = pd.Series(pd.date_range("2026-01-01 01:00", periods=len(TABLE), freq="10h"))
    days[::9] = None
    table = TABLE.assign(day=days)
    model = AutoBayes().fit(table, days < "2026-03")
    graph = session(model)
    assert json.loads(graph.get_modelmeta().custom_metadata_map["dates"]) == ["day"]
    known = (days - pd.Timestamp(0)).dt.total_seconds()
    assert_same(graph, model, table, fed(graph, table.assign(day=known)))


@pytest.mark.parametrize("part", ["hour", "day_of_week", "day", "month"])
def test_parts_of_dates_of_any_century(part):
    draw = np.random.default_rng(0)
    start, end = np.datetime64("1700-01-01", "s"), np.datetime64("2250-01-01", "s")
    moments = start + draw.integers(0, (end - start).astype(int), 3000).astype("m8[s]")
    days = ["1900-02-28", "1900-03-01", "2000-02-29", "1970-01-01", "1969-12-31T23:59:59", "NaT"]
    table = pd.DataFrame({"moment": np.append(moments, np.array(days, "M8[s]"))})
    model = AutoBayes().fit(table, getattr(table["moment"].dt, part).isin([2, 3, 11]))
    seconds = (table["moment"] - pd.Timestamp(0)).dt.total_seconds()
    graph = session(model)
    assert_same(graph, model, table, fed(graph, table.assign(moment=seconds)))


def test_models_of_many_labels_are_refused():
    model = MultilabelNB().fit(["aa bb", "bb cc", "cc"], [["x"], ["x", "y"], []])
    with pytest.raises(NotExportableError, match="text"):
        to_onnx(model.model_)


@pytest.mark.parametrize("kind", [NaiveBayes, AutoBayes])
@pytest.mark.parametrize("name", ["adult", "iris", "titanic"])
def test_real_tables(data_folder, name, kind):
    file, target = {
        "adult": ("adult/adult-train.csv.gz", 14),
        "iris": ("iris/iris.csv", None),
        "titanic": ("titanic/titanic-seaborn-891.csv", "survived"),
    }[name]
    options = {} if name == "titanic" else {"header": None, "skiprows": int(name == "iris")}
    table = pd.read_csv(data_folder / file, skipinitialspace=True, **options)
    target = table.columns[-1] if target is None else target
    labels, table = table[target], table.drop(columns=target).rename(columns=str)
    learned = slice(2000)
    model = kind().fit(table[learned], labels[learned])
    graph = session(model)
    assert_same(graph, model, table, fed(graph, table))


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = fitted("auto")
    model.save("m")
    assert run(["export", "m", "--onnx", "-o", "m.onnx"]) == 0
    assert (tmp_path / "m.onnx").read_bytes() == to_onnx(model.model_)
    GaussianNB().fit(COUNTS, LABELS).save("a")
    assert run(["export", "a", "--onnx", "-o", "a.onnx"]) == 0
    capsys.readouterr()
    TextNB().fit(["aa bb", "bb cc"], ["x", "y"]).save("t")
    assert run(["export", "t", "--onnx", "-o", "no.onnx"]) == 1
    assert "no operator that cuts text" in capsys.readouterr().err
    assert not (tmp_path / "no.onnx").exists()
    for wrong, remedy in (
        ([], "--sql"), (["--onnx", "--sql", "duckdb"], "--sql"),
        (["--onnx", "--keep", "size"], "--sql"), (["--onnx"], "--output"),
    ):  # fmt: skip
        assert run(["export", "m", *wrong]) == 2
        assert remedy in capsys.readouterr().err
