"""`NaiveBayes` on tables: sources, schema, missing values, laws, oracles, hostile input."""

import json
import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import sklearn.naive_bayes
from cases import DRAWN, LETTERS, MIXED, examples
from hypothesis import given
from hypothesis import strategies as st
from kit import fitted

import naively
from naively import (
    Bernoulli,
    Categorical,
    Gaussian,
    GaussianNB,
    Multinomial,
    NaiveBayes,
    Poisson,
)
from naively.io.sources import open_source
from naively.tables.inference import ColumnOptions
from naively.tables.learning import TrainingSpec
from naively.tables.left_out import left_out
from naively.tables.one_pass import learn

MIXED_TABLE = DRAWN["mixed table"]
WHOLE = st.integers(-5, 40)
REAL = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 6) + 0.0)
KINDS = [LETTERS, WHOLE, REAL, st.booleans(), st.floats(0.5, 9.0).map(lambda x: round(x, 3))]


@st.composite
def tables(draw, least=4):
    """(columns by name, labels), with None for missing values."""
    rows = draw(st.integers(least, 25))
    columns = {
        f"c{k}": draw(
            st.lists(draw(st.sampled_from(KINDS)) | st.none(), min_size=rows, max_size=rows)
        )
        for k in range(draw(st.integers(1, 4)))
    }
    labels = draw(st.lists(st.sampled_from(["no", "yes"]), min_size=rows, max_size=rows))
    labels[:2] = ["no", "yes"]
    return columns, labels


def same(a, b):
    return (
        a.model_ == b.model_
        and a.model_.schema.blocks == b.model_.schema.blocks
        and a.model_.schema.why == b.model_.schema.why
    )


@given(tables())
def test_all_sources_give_the_same_bits(tmp_path_factory, table):
    columns, labels = table
    folder = tmp_path_factory.mktemp("t")
    arrow = pa.table({name: pa.array(values) for name, values in columns.items()})
    model = fitted(arrow, labels)
    frame = pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})
    for other in (frame, pl.DataFrame(arrow), columns, arrow.to_batches()[0]):
        assert same(model, fitted(other, labels)), type(other)
    whole = arrow.append_column("label", pa.array(labels))
    pyarrow.csv.write_csv(whole, folder / "t.csv")
    pyarrow.parquet.write_table(whole, folder / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        source = open_source(folder / name)
        learned, _ = learn(source.tasks(), TrainingSpec("label", ColumnOptions({})), 2)
        assert learned == model.model_, name
        assert learned.schema == model.model_.schema


@given(examples(MIXED_TABLE, tame=True, least=4, weights=st.just(1.0)), st.integers(1, 3))
def test_the_same_file_in_blocks(tmp_path_factory, own, threads):
    """Blocks, threads and rows held out on the way change nothing."""
    path = tmp_path_factory.mktemp("t") / "t.csv"
    table, y = pa.table(MIXED_TABLE.given(own.rows)), np.array(["a", "b", "c"])[own.y]
    pyarrow.csv.write_csv(table.append_column("y", pa.array(y)), path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("naively.io.inputs.BLOCK", 100)  # of 6 MiB, which small files fill once
        spec = TrainingSpec("y", ColumnOptions(MIXED))
        learned, held = learn(open_source(path).tasks(), spec, threads)
    assert held.rows == 0
    assert learned == NaiveBayes(MIXED).partial_fit(table, y).model_


# ---- the schema ----------------------------------------------------------------------------------


def numbers(n=60):
    return np.random.default_rng(0).normal(size=n)


RULE = {
    "true or false": (np.arange(60) % 3 == 0, "bernoulli"),
    "text": (np.array(["a", "b", "c"])[np.arange(60) % 3], "categorical"),
    "few whole": (np.arange(60) % 17, "categorical"),
    "few whole floats": (np.arange(60) % 7 * 1.0, "categorical"),
    "text of numbers": (numbers().round(3).astype(str), "gaussian"),
    "few fractions": (np.arange(60) % 17 / 8 - 1.0, "categorical"),
    "counts": (np.random.default_rng(0).poisson(40, 60), "gaussian"),
    "whole": (np.random.default_rng(0).integers(-900, 900, 60), "gaussian"),
    "numbers": (numbers(), "gaussian"),
    "constant": (np.full(60, 3.5), "constant"),
    "constant text": (np.full(60, "x"), "constant"),
    "nothing": (np.full(60, np.nan), "no values"),
    "identifier": (np.random.default_rng(0).permutation(60) + 1000, "identifier"),
    "a grid": ((np.random.default_rng(0).permutation(60) - 9) * 2.54, "gaussian"),
    "every fifth": (np.random.default_rng(0).permutation(60) * 5, "gaussian"),
    "key": (np.array([f"k{i}" for i in range(60)]), "identifier"),
    "date": (pd.date_range("2026-01-01", periods=60), "dates"),
    "lists": ([[1, 2]] * 60, "no plain values"),
}


@pytest.mark.parametrize("name", RULE)
def test_the_rule(name):
    values, expected = RULE[name]
    y = np.arange(60) % 2
    model = NaiveBayes().fit({name: values, "other": numbers()}, y)
    silent = left_out(model.model_)
    if name in silent:
        assert expected in silent[name]
    else:
        assert model.model_.schema.family_of[name].name == expected


def test_the_word_of_the_user():
    y = np.arange(60) % 2
    X = {"a": numbers(), "b": np.arange(60) % 5, "c": np.arange(60), "d": np.arange(60) % 4}
    columns = {"a": Gaussian(tie="classes"), "b": "poisson", "c": "gamma", "d": "skip"}
    schema = NaiveBayes({**columns, "c": Gaussian()}).fit(X, y).model_.schema
    assert schema.family_of == {"a": Gaussian(tie="classes"), "b": Poisson(), "c": Gaussian()}
    assert schema.skipped == {"d": "as specified"}
    for wrong, match in [
        ({"A": "gamma"}, "did you mean 'a'"),
        ({"a": "gama"}, "'gama' is not a family"),
        ({("a", "b"): "multinomial", "a": "gamma"}, "more than once"),
        (dict.fromkeys("abcd", "skip"), "no column is left"),
    ]:
        with pytest.raises(ValueError, match=match):
            NaiveBayes(wrong).fit(X, y)


def test_auto_finds_the_family():
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 3000)
    X = {
        "bell": generator.normal(y, 1.0),
        "two humps": np.where(y == 0, generator.normal(size=3000),
                              generator.choice([-3.0, 3.0], 3000) + generator.normal(size=3000)),
        "waiting": generator.exponential(1.0 + 3.0 * y),
        "named": generator.normal(y, 1.0),
    }  # fmt: skip
    model = NaiveBayes({"named": "gamma"}, family="auto")
    with pytest.warns(UserWarning, match="'named' .gamma.: .* values such as"):
        model.fit(X, y)
    found = {name: family.name for name, family in model.model_.schema.family_of.items()}
    assert found["bell"] in ("gaussian", "kernel_density")
    assert found["two humps"] in ("kernel_density", "discretized")
    assert found["waiting"] in ("exponential", "gamma")
    assert found["named"] == "gamma"
    with pytest.warns(UserWarning, match="'named' .gamma.: .* cannot be read"):
        score = model.score(X, y)
    assert score > NaiveBayes(family="gaussian").fit(X, y).score(X, y)


@pytest.mark.parametrize("block", [300, 5000, 1 << 23])
def test_a_stream_that_turns_to_text(tmp_path, monkeypatch, block):
    """Columns and labels of numbers or truth values may become text at any row."""
    # of 6 MiB, which small files fill once
    monkeypatch.setattr("naively.io.inputs.BLOCK", block)
    path = tmp_path / "t.csv"
    n = 600
    late = np.arange(n) == n - 1
    table = pd.DataFrame(
        {
            "level": np.where(late, "x", np.array(["1.50", "2.5"])[np.arange(n) % 2]),
            "flag": np.where(late, "maybe", np.array(["True", "False"])[np.arange(n) % 2]),
            "number": np.where(late, "many", np.arange(n) % 50 * 0.5),
            "y": np.where(late, "unknown", np.arange(n) % 2),
        }
    )
    table.to_csv(path, index=False)
    columns = {"level": Categorical(), "flag": Categorical(), "number": Gaussian()}
    learned, _ = learn(open_source(path).tasks(), TrainingSpec("y", ColumnOptions(columns)), 2)
    assert learned.classes.tolist() == ["0", "1", "unknown"]
    levels = learned.parts[0].levels
    assert [part.tolist() for part in levels] == [["1.5", "2.5", "x"], ["false", "maybe", "true"]]
    assert learned.invalid["number"].count == 1
    with pytest.warns(UserWarning, match="'many'"):
        whole = NaiveBayes(columns).fit(table, "y")
    assert learned == whole.model_


@pytest.mark.parametrize("threads", [1, 2])
def test_holding_out_depends_on_no_thread(tmp_path, monkeypatch, threads):
    # of 6 MiB, which small files fill once
    monkeypatch.setattr("naively.io.inputs.BLOCK", 2000)
    # of 100,000 rows, which take long to write and read
    monkeypatch.setattr("naively.tables.one_pass.MOST", 50)
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": numbers(3000), "y": np.arange(3000) % 2}).to_csv(path, index=False)
    spec = TrainingSpec("y", ColumnOptions({}), holdout=0.3)
    learned, held = learn(open_source(path).tasks(), spec, threads)
    assert held.rows == 50
    assert learned.rows == 2950
    again, same_held = learn(open_source(path).tasks(), spec, 3 - threads)
    assert again == learned
    assert pa.concat_tables(held.tables).equals(pa.concat_tables(same_held.tables))


def test_what_the_first_rows_decide_depends_on_no_thread(tmp_path, monkeypatch):
    """A key that JSON lines have only after the first rows is unknown, however many are read."""
    monkeypatch.setattr("naively.io.inputs.BLOCK", 2000)
    monkeypatch.setattr("naively.tables.inference.ROWS", 1000)
    path = tmp_path / "t.jsonl"
    rows = [{"x": k % 40 / 4, "y": "ab"[k % 2]} | {"late": 1.5 * k} for k in range(3000)]
    for row in rows[:1300]:
        del row["late"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    learned = [
        learn(open_source(path).tasks(), TrainingSpec("y", ColumnOptions({})), n)[0]
        for n in (1, 2, 9)
    ]
    assert learned[0].schema.names == ("x",)
    assert learned[0].rows == 3000
    assert learned[1] == learned[0]
    assert learned[2] == learned[0]


def test_digits_that_are_codes():
    zips = [f"{k:05}" for k in range(7)] * 6
    schema = NaiveBayes().fit({"zip": zips}, np.arange(42) % 2).model_.schema
    assert schema.family_of["zip"].name == "categorical"


@pytest.mark.parametrize("form", [list, pd.Series, lambda y: pd.Series(pd.Categorical(y))])
def test_labels_of_bytes_and_text_are_classes_by_what_they_read_as(form):
    y = form([b"1", "1", b"2", "2", "3"])
    model = NaiveBayes().fit({"x": numbers(5)}, y)
    assert model.classes_.tolist() == ["1", "2", "3"]
    assert model.class_count_.tolist() == [2, 2, 1]
    with pytest.raises(ValueError, match="mixes labels that cannot be compared: bytes, str"):
        GaussianNB().fit(np.ones((4, 1)), y[:4])


def test_labels_in_a_list_may_be_missing():
    with pytest.warns(UserWarning, match="1 of 4 rows have no label"):
        model = NaiveBayes().fit({"x": [1.5, 2.5, 3.5, 1.1]}, ["a", "b", float("nan"), "a"])
    assert model.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("known", [["a", "b"], ["a", None, "b"]], ids=["none", "null"])
def test_labels_in_chunks_of_dictionaries_may_be_missing(known):
    """A null was the last class of its chunk; a dictionary with a null, an error of Arrow."""
    chunks = []
    for part, own in ((["a", "b", None, "a"], known), (["b", None, "a"], known[::-1])):
        codes = [own.index(label) if label in own else None for label in part]
        chunks.append(pa.DictionaryArray.from_arrays(codes, own))
    y = pa.chunked_array(chunks)
    with pytest.warns(UserWarning, match="2 of 7 rows have no label"):
        model = NaiveBayes().fit({"x": numbers(7)}, y)
    assert model.class_count_.tolist() == [3, 2]
    with pytest.raises(ValueError, match="the label of row 2 is missing"):
        GaussianNB().fit(np.ones((7, 1)), y)


def test_errors_name_the_row():
    t = ["a", "b"] * 100_000
    model = NaiveBayes({"t": Categorical(unseen="error")}).fit({"t": t}, np.arange(200_000) % 3)
    with pytest.raises(ValueError, match="row 150000, column 't' is 'new'"):
        model.predict({"t": [*t[:150_000], "new", *t[150_000:]]})


def test_models_with_arrays_add_up():
    columns = {"t": Categorical(alpha=[np.array([1.0, 2.0])])}
    a = NaiveBayes(columns).fit({"t": ["a", "b", "a"]}, [0, 1, 1])
    assert (a + a).class_count_.tolist() == [2, 4]


# ---- what is missing, new, or strange ------------------------------------------------------------


def test_missing_values_are_marginalised():
    y = [0, 0, 1, 1, 1, 0]
    X = {"t": ["a", "?", "b", "b", None, " NA "], "x": [1.5, np.nan, 2.5, None, 3.25, 0.5]}
    model = NaiveBayes({"t": Categorical(), "x": Gaussian()}).fit(X, y)
    missing = [part.tables["missing"].rounded().sum() for part in model.model_.parts]
    assert missing == [3, 2]
    nothing = {"t": ["?"], "x": [np.nan]}
    assert np.allclose(model.predict_proba(nothing), [[0.5, 0.5]])
    alone = NaiveBayes({"t": Categorical()}).fit({"t": X["t"]}, y)
    assert np.allclose(
        model.predict_proba({"t": ["a"], "x": [None]}), alone.predict_proba({"t": ["a"]})
    )
    words = NaiveBayes({"t": Categorical()}, missing=["b"]).fit({"t": X["t"]}, y)
    assert words.model_.parts[0].levels[0].tolist() == ["?", "NA", "a"]


@pytest.mark.parametrize("unseen", ["smooth", "ignore", "error"])
def test_unseen_levels(unseen):
    X, y = {"t": ["a", "a", "b", "b"], "u": ["x", "y", "x", "y"]}, [0, 0, 1, 0]
    model = NaiveBayes(unseen=unseen).fit(X, y)
    probe = {"t": ["new"], "u": ["x"]}
    if unseen == "error":
        with pytest.raises(
            ValueError, match="column 't' is 'new', which is not in the training data"
        ):
            model.predict(probe)
    elif unseen == "ignore":
        gone = {"t": [None], "u": ["x"]}
        assert np.allclose(model.predict_proba(probe), model.predict_proba(gone))
    else:
        odds = (3 / 4 * (1 / 5) * (2 / 5)) / (1 / 4 * (1 / 3) * (2 / 3))
        assert math.isclose(model.predict_proba(probe)[0, 0], odds / (1 + odds))


def test_long_levels():
    """Text beyond 15 bytes, which NumPy keeps elsewhere, is found among the levels of others."""
    levels = [f"{k * 7919 % 1000:03} is the number of this long level" for k in range(300)]
    y = np.arange(300) % 3
    columns = {"t": Categorical(alpha=0)}
    model = NaiveBayes(columns)
    for at in range(0, 300, 30):
        model.partial_fit({"t": levels[at : at + 30]}, y[at : at + 30])
    assert model.model_ == NaiveBayes(columns).fit({"t": levels}, y).model_
    for at in range(0, 300, 7):
        assert np.array_equal(model.predict({"t": levels[at : at + 7]}), y[at : at + 7])
    gone = model.forget({"t": levels[:30]}, y[:30])
    assert gone.model_ == NaiveBayes(columns).fit({"t": levels[30:]}, y[30:]).model_


def test_columns_classes_and_levels_of_later_rows():
    model = NaiveBayes({"t": Categorical()}).partial_fit({"t": ["a", "b"]}, [0, 0])
    model.partial_fit({"t": ["c", "a"], "x": [1.5, 2.5]}, [1, 0])
    assert model.classes_.tolist() == [0, 1]
    assert model.feature_names_in_.tolist() == ["t", "x"]
    counted = model.model_.statistics  # of two values each is a category
    assert [known.tolist() for known in counted.levels] == [["a", "b", "c"], ["1.5", "2.5"]]
    assert counted.tables["missing"].rounded().tolist() == [[0, 2], [0, 0]]
    whole = NaiveBayes({"t": Categorical()}).partial_fit(
        {"t": ["a", "b", "c", "a"], "x": [None, None, 1.5, 2.5]}, [0, 0, 1, 0]
    )
    assert model.model_ == whole.model_


def test_sums_of_models_of_different_columns():
    a = NaiveBayes().partial_fit({"x": [1.5, 2.5, 4.0], "z": [0.5, 0.25, 1.0]}, [0, 1, 1])
    b = NaiveBayes().partial_fit({"w": [5.5, 2.5], "x": [0.5, 7.25]}, [1, 0])
    both = NaiveBayes().partial_fit(
        {"x": [1.5, 2.5, 4.0, 0.5, 7.25], "z": [0.5, 0.25, 1.0, None, None],
         "w": [None, None, None, 5.5, 2.5]}, [0, 1, 1, 1, 0],
    )  # fmt: skip
    said = "only the left model has the column 'z'; only the right model has the column 'w'"
    with pytest.warns(UserWarning, match=said):
        assert same(a + b, both)
    c = NaiveBayes().partial_fit({"x": ["u", "v"]}, [0, 1])
    texts = NaiveBayes().fit(
        {"x": ["1.5", "2.5", "4", "u", "v"], "z": [0.5, 0.25, 1.0, None, None]}, [0, 1, 1, 0, 1]
    )
    with pytest.warns(UserWarning, match="only the left model has the column 'z'"):
        assert same(a + c, texts)
    declared = NaiveBayes({"x": Gaussian()}).partial_fit({"x": [1.0, 2.0]}, [0, 1])
    with pytest.warns(UserWarning, match="only the left model has the column 'z'"):
        assert (a + declared).model_.schema.family_of["x"] == Gaussian()
    with pytest.raises(ValueError, match="column 'x' is gaussian in one model and categorical"):
        declared + NaiveBayes({"x": Categorical()}).partial_fit({"x": ["u", "v"]}, [0, 1])


def test_absent_and_unknown_columns():
    X, y = {"x": numbers(), "z": numbers() ** 2}, np.arange(60) % 2
    model = NaiveBayes().fit(X, y)
    with pytest.warns(UserWarning, match="has no column 'z'") as caught:
        model.predict({"x": X["x"]})
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="unknown to the model: ignored") as caught:
        model.predict({**X, "w": X["x"], "v": X["x"]})
    assert len(caught) == 1
    with pytest.raises(ValueError, match="none of the features of the model"):
        model.predict({"w": X["x"]})
    named = NaiveBayes().fit({**X, "y": y}, "y")
    named.predict({**X, "y": y})  # the target is known: no warning


def test_values_that_do_not_fit_count_as_missing():
    X = {"n": [1, 2, -3, 4], "t": ["1.5", "2.5", "many", "?"], "x": [1.5, math.inf, 2.0, 3.0]}
    columns = {"n": Poisson(), "t": Gaussian(), "x": Gaussian()}
    with pytest.warns(UserWarning, match="counts as missing") as caught:
        model = NaiveBayes(columns).fit(X, [0, 1, 1, 0])
    told = [str(warning.message) for warning in caught]
    assert len(told) == 3
    for name, example in (("n", "-3"), ("t", "'many'"), ("x", "inf")):
        assert any(f"{name!r}" in line and example in line and " 1 " in line for line in told)
    model = model.model_
    missing = {
        name: count
        for part, own in zip(model.schema.parts, model.parts, strict=True)
        for name, count in zip(part.names, own.tables["missing"].rounded().sum(axis=0), strict=True)
    }
    assert missing == {"n": 1, "t": 2, "x": 1}


def test_rows_without_a_label():
    X = {"x": numbers()}
    y = np.where(np.arange(60) % 5 == 0, None, np.where(np.arange(60) % 2 == 0, "a", "b"))
    with pytest.warns(UserWarning, match="12 of 60 rows have no label"):
        model = NaiveBayes().fit(X, y)
    kept = np.arange(60) % 5 > 0
    assert model.model_ == NaiveBayes().fit({"x": X["x"][kept]}, y[kept]).model_


def test_bad_tables_are_refused():
    y = np.arange(60) % 2
    good = NaiveBayes().fit({"x": numbers()}, y)
    before = good.model_.canonical()
    for X, target, match in [
        ({"x": numbers()}, y[:5], "X has 60 rows, y has 5"),
        ({"x": numbers(), "z": numbers(5)}, y, "columns must be of one length"),
        ({"x": numbers()}, "z", "y names 'z'"),
        (numbers(), y, "1 dimension"),
        ({"x": []}, [], "no rows"),
        (pd.DataFrame(np.ones((60, 2)), columns=["x", "x"]), y, "more than one is called 'x'"),
        ({"x": numbers()}, numbers(), "Unknown label type"),
        ({"x": numbers()}, None, "requires y"),
    ]:
        with pytest.raises(ValueError, match=match):
            good.partial_fit(X, target)
        assert good.model_ == before
    with pytest.raises(ValueError, match="not in the training data"):
        good.forget({"x": [99.0]}, [0])
    with pytest.raises(ValueError, match="not in the training data"):
        good.forget({"x": [0.5]}, [7])
    with pytest.raises(ValueError, match="row 2 weighs -1"):
        good.partial_fit({"x": numbers(3)}, [0, 1, 1], sample_weight=[1, 0, -1])
    with pytest.raises(ValueError, match=r"from 0 to 1e\+200: row 1 weighs 1e\+308"):
        good.partial_fit({"x": numbers(3)}, [0, 1, 1], sample_weight=[1, 1e308, 1])
    assert good.model_ == before


def test_arrays_and_rows():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(80, 3)), np.arange(80) % 2
    model = NaiveBayes().fit(X, y)
    assert model.model_.schema.ordered == ["x0", "x1", "x2"]
    with pytest.raises(ValueError, match="X has 2 features, but NaiveBayes is expecting 3"):
        model.predict(X[:, :2])
    assert np.array_equal(model.predict(X.tolist()), model.predict(X))
    rows = [{"a": 1.5, "b": "u"}, {"a": 2.5}, {"b": "v", "a": 3.5}, {"a": 0.5, "b": "u"}]
    model = NaiveBayes().fit(rows, [0, 1, 1, 0])
    assert model.predict([{"b": "u"}, {"b": "v", "a": 3.0}]).tolist() == [0, 1]


def test_sparse_counts():
    from scipy import sparse

    X = sparse.random_array((60, 30), density=0.3, format="csr", random_state=0)
    X.data = np.ceil(X.data * 4)
    y = np.arange(60) % 3
    model = NaiveBayes().fit(X, y)
    assert model.model_.schema.blocks[0].family == Multinomial()
    assert np.allclose(model.predict_proba(X), naively.MultinomialNB().fit(X, y).predict_proba(X))
    half = NaiveBayes().partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    assert half.model_ == model.model_
    with pytest.raises(ValueError, match="X has 30 features, but NaiveBayes is expecting 1 "):
        NaiveBayes().fit({"x": numbers()}, y).predict(X)


# ---- oracles -------------------------------------------------------------------------------------


def test_weather_with_numbers():
    """The worked example with unbiased variances: P(yes) = .207902."""
    outlook = "sunny sunny overcast rainy rainy rainy overcast sunny sunny rainy sunny overcast"
    X = {
        "outlook": f"{outlook} overcast rainy".split(),
        "temperature": [85, 80, 83, 70, 68, 65, 64, 72, 69, 75, 75, 72, 81, 71],
        "humidity": [85, 90, 86, 96, 80, 70, 65, 95, 70, 80, 70, 90, 75, 91],
        "windy": [False, True, False, False, False, True, True, False, False, False, True, True,
                  False, True],
    }  # fmt: skip
    y = np.array(["no", "yes"])[[0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0]]
    day = {"outlook": ["sunny"], "temperature": [66], "humidity": [90], "windy": [True]}
    plain = Gaussian(ddof=1, var_smoothing=0)
    columns = {
        "temperature": plain, "humidity": plain, "outlook": Categorical(alpha=0),
        "windy": Bernoulli(alpha=0, binarize=None),
    }  # fmt: skip
    model = NaiveBayes(columns).fit(X, y)
    assert abs(model.predict_proba(day)[0, 1] - 0.207902) < 5e-7
    joint = np.exp(model.predict_joint_log_proba(day)[0])
    assert np.allclose(joint, [1.363472e-4, 3.57871e-5], rtol=1e-5)


def test_house_votes_as_e1071(data_folder):
    table = pd.read_csv(data_folder / "vote" / "mlbench-HouseVotes84.csv")
    X, y = table.drop(columns="Class"), table["Class"]
    columns = {name: Categorical(alpha=3) for name in X.columns}
    model = NaiveBayes(columns).fit(X, y)
    p = pd.crosstab(model.predict(X), y)
    assert p.to_numpy().tolist() == [[237, 12], [30, 156]]
    columns = {name: Categorical(alpha=0) for name in X.columns}
    model = NaiveBayes(columns).fit(X, y)
    assert pd.crosstab(model.predict(X), y).to_numpy().tolist() == [[238, 13], [29, 155]]
    expected = [1.0292087e-07, 5.8204151e-08, 0.0056849366, 0.99857985, 0.96667198]
    assert np.allclose(model.predict_proba(X[:5])[:, 0], expected, rtol=1e-7)


def test_titanic_as_e1071(data_folder):
    lines = (data_folder / "titanic" / "titanic-orange-2201.tab").read_text().splitlines()
    rows = [line.split("\t") for line in lines[3:] if line]
    table = pd.DataFrame(rows, columns=lines[0].split("\t"))
    X, y = table.drop(columns="survived"), table["survived"]
    model = NaiveBayes({name: Categorical(alpha=0) for name in X.columns}).fit(X, y)
    prior = dict(zip(model.classes_, model.class_prior_, strict=True))
    assert abs(prior["no"] - 0.67696502) < 1e-8
    who = {"status": ["first"], "sex": ["male"], "age": ["child"]}
    assert abs(model.predict_proba(who)[0, 0] - 0.31693454) < 1e-8


def test_adult_own_test_file(data_folder):
    """A real table without a header: the mixed model beats one Gaussian for all columns."""
    names = [f"c{k}" for k in range(14)] + ["income"]
    train, test = (
        pd.read_csv(
            data_folder / "adult" / f"adult-{part}.csv.gz", names=names, comment="|",
            skipinitialspace=True, na_values="?",
        )
        for part in ("train", "test")
    )  # fmt: skip
    truth = test["income"].str.rstrip(".")
    model = NaiveBayes(family="auto").fit(train, "income")
    assert model.score(test, truth) > 0.835
    assert NaiveBayes().fit(train, "income").score(test, truth) > 0.82


# ---- hostile tables ------------------------------------------------------------------------------


@pytest.mark.slow
def test_many_columns():
    X = np.random.default_rng(0).normal(size=(30, 20_000))
    y = np.arange(30) % 2
    model = NaiveBayes().fit(X, y)
    assert model.n_features_in_ == 20_000
    assert np.array_equal(model.predict(X), y)


@pytest.mark.slow
def test_many_levels(monkeypatch):
    levels = np.array([f"k{i}" for i in range(200_000)])
    y = np.arange(200_000) % 2
    model = NaiveBayes().fit({"id": levels, "x": y * 1.5 + 0.1}, y)
    why = r"looks like an identifier: about (199|200),\d{3} different values in 200,000 rows"
    assert re.fullmatch(why, model.model_.schema.skipped["id"])
    model = NaiveBayes({"id": Categorical()}).fit({"id": levels}, y)
    assert model.score({"id": levels}, y) == 1.0
    # of a million, which take seconds to learn
    monkeypatch.setattr("naively.tables.counting.MOST_LEVELS", 1000)
    with pytest.raises(
        ValueError, match="column 'id' has more than 1,000 categories, such as 'k0'"
    ):
        NaiveBayes({"id": Categorical()}).fit({"id": levels}, y)


# ---- a family of levels for the whole table ------------------------------------------------------

WEATHER = {
    "sky": ["sun", "sun", "rain", "rain", "rain"], "open": [True, False, True, True, False],
    "wind": [1, 2, 1, 2, 2],
}  # fmt: skip


@pytest.mark.parametrize("alpha", [0, 2.5])
def test_a_family_of_levels_is_that_of_categories_too(alpha, tmp_path):
    """As if each column had been named; for level codes it is `CategoricalNB`."""
    y = [0, 1, 1, 1, 0]
    model = NaiveBayes(family=Categorical(alpha)).fit(WEATHER, y)
    named = NaiveBayes(dict.fromkeys(WEATHER, Categorical(alpha))).fit(WEATHER, y)
    np.testing.assert_array_equal(model.predict_proba(WEATHER), named.predict_proba(WEATHER))
    codes = np.column_stack([np.unique(x, return_inverse=True)[1] for x in WEATHER.values()])
    peer = sklearn.naive_bayes.CategoricalNB(alpha=max(alpha, 1e-100), force_alpha=True)
    proba = peer.fit(codes, y).predict_proba(codes)
    np.testing.assert_allclose(model.predict_proba(WEATHER), proba, atol=1e-12)
    parts = [{name: x[rows] for name, x in WEATHER.items()} for rows in (np.s_[:3], np.s_[3:])]
    cut = NaiveBayes(family=Categorical(alpha)).partial_fit(parts[0], y[:3])
    cut.partial_fit(parts[1], y[3:]).save(tmp_path / "m")
    loaded = naively.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(WEATHER), model.predict_proba(WEATHER))


def test_a_family_of_levels_may_change_after_fit():
    y = [0, 1, 1, 1, 0]
    model = NaiveBayes(family=Categorical(0)).fit(WEATHER, y)
    fresh = NaiveBayes(family=Categorical(3)).fit(WEATHER, y).predict_proba(WEATHER)
    before = model.predict_proba(WEATHER)
    model.set_params(alpha=7.0).reestimate()  # of families that are inferred: none is
    np.testing.assert_array_equal(model.predict_proba(WEATHER), before)
    model.set_params(family=Categorical(3)).reestimate()
    np.testing.assert_array_equal(model.predict_proba(WEATHER), fresh)
    with pytest.raises(ValueError, match="call `fit` again"):
        model.set_params(family="gaussian").reestimate()


def test_a_plain_family_of_levels_leaves_smoothing_to_alpha():
    model = NaiveBayes(family="categorical", alpha=0).fit({"sky": WEATHER["sky"]}, [0, 0, 1, 1, 1])
    assert model.predict_proba({"sky": ["sun", "rain"]}).tolist() == [[1, 0], [0, 1]]


@given(st.randoms(use_true_random=False))
def test_chosen_families_do_not_depend_on_the_order_of_the_rows(random):
    generator = np.random.default_rng(0)
    rows = list(zip(generator.exponential(size=60).tolist(), [0, 1, 1] * 20, strict=True))
    rows += rows[:15]
    expected = NaiveBayes(family="auto").fit({"x": [x for x, _ in rows]}, [y for _, y in rows])
    random.shuffle(rows)
    model = NaiveBayes(family="auto").fit({"x": [x for x, _ in rows]}, [y for _, y in rows])
    assert model.model_ == expected.model_


@pytest.mark.parametrize(("row", "expected"), [
    ([1e300, 1e300, None], "a"), ([1e300, 0.0, None], "b"), ([1e300, -1e200, None], "b"),
    ([-1e200, 1e250, None], "a"), ([1e300, 1e300, "z"], "b"), ([1e300, 0.0, "x"], "a"),
    ([0.0, 1e300, "z"], "b"),
])  # fmt: skip
def test_blocks_beyond_float64_rank_together(row, expected):
    """Each by itself gives the row to the class that is wider there: b of `near`, a of `far`."""
    generator = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 50)
    spread = np.repeat([1.0, 2.0], 50)
    X = {
        "near": generator.normal(0, spread), "far": generator.normal(0, 1 / spread),
        "word": np.repeat(["x", "z"], 50),
    }  # fmt: skip
    columns = {"near": Gaussian(), "far": Gaussian(var_smoothing=0), "word": Categorical(0)}
    model = NaiveBayes(columns).fit(X, y)
    cells = {name: [value] for name, value in zip(X, row, strict=True)}
    assert model.predict(cells).tolist() == [expected]
    assert model.predict_proba(cells).max() == 1
    if row[1] == 0.0 and row[2] is None:  # one block alone
        assert model.explain(cells)[0].total("b", "a") == np.inf


def test_cells_that_are_beyond_float64_have_their_place_in_explanations():
    X = {"u": [0.0, 1.0, 5.0, 9.0], "v": [0.0, 9.0, 5.0, 6.0]}
    model = NaiveBayes(family=Gaussian()).fit(X, ["a", "a", "b", "b"])
    explained = model.explain({"u": [1e300], "v": [1e300]})[0]
    assert explained.known_log_odds("a", "b")[1].tolist() == [-np.inf, np.inf]
