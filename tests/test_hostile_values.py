"""A value means the same in every file, format, frame and block.

Columns of every kind, with stray values of every other type mixed in: predictions of a row alone,
of the whole table, of the table cut anywhere, and of every format are the same bits.
"""

import datetime
import io
import json
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import proba
from product import run
from sklearn.base import clone

import naively
from naively import (
    AutoBayes,
    Categorical,
    Gaussian,
    GaussianNB,
    MultilabelNB,
    NaiveBayes,
    Poisson,
)
from naively.io.inputs import MISSING
from naively.tables import values

ROWS = 40
GROUP = np.arange(ROWS) % 2
KINDS = {
    "flag": np.where(GROUP, "True", "False"),
    "number": np.round(GROUP + np.arange(ROWS) / 7, 3).astype(str),
    "whole": (np.arange(ROWS) % 3 + GROUP).astype(str),
    "count": (np.arange(ROWS) % 9 * 3 + GROUP).astype(str),
    "long": np.where(GROUP, "12345678901234567890", "12345678901234567891"),
    "code": np.where(GROUP, "02139", "10001"),
    "clock": np.where(np.arange(ROWS) == 7, "never", np.where(GROUP, "12:30", "13:45")),
    "date": np.where(np.arange(ROWS) == 7, "soon", np.where(GROUP, "2020-01-01", "2021-05-06")),
    "stamp": np.where(np.arange(ROWS) == 7, "x", np.where(GROUP, "2020-01-01T00:00:00Z", "never")),
    "word": np.where(GROUP, "blue", "red"),
    "mixed": np.where(GROUP, "1.50", np.where(np.arange(ROWS) % 4, "a", "True")),
    "text": np.where(
        GROUP, "a short text that has many words in it", "another one, of so few words"
    )
    + np.char.add(" number ", np.arange(ROWS).astype(str)),
}
STRAYS = [
    "True", "TRUE", "true", "False", "0", "1", "1.0", "1.50", "1.5", "-1", "+2", "007", "02139",
    "1e5", "100000", "1e400", "inf", "-Infinity", "nan", "NA", "?", "", " ", " 1 ", "null", "None",
    "12:30", "12:30:00", "12:30:00.000", "13:45:01", "2020-01-01", "2020-01-01 00:00:00",
    "2020-01-01T00:00:00", "2020-01-01T00:00:00Z", "2020-01-01 00:00:00+0000", "2021-13-45",
    "12345678901234567890", "12345678901234567891", "1.2345678901234567e19", "9007199254740993",
    "-9007199254740993", "blue", "red", "BLUE", " blue", "maybe", "1,5", "1_000", "0x10", "٣", "é",
    'quo"te', "new\nline", "never", "(0, 1]", "[1, 2]", "{}", "b'x'", "0.1", ".1", "1.", "-0", "a",
]  # fmt: skip


@pytest.fixture(scope="module")
def model():
    """A model with a column of every kind, as `fit` of a table of text infers them."""
    table = {name: column.tolist() for name, column in KINDS.items()}
    columns = {"long": Categorical(), "count": Poisson(), "whole": Gaussian(floor="feature")}
    return NaiveBayes(columns).fit(table, np.where(GROUP, "yes", "no"))


def test_the_kinds_of_columns(model):
    known = {name: family.name for name, family in model.model_.schema.family_of.items()}
    assert known == {
        "flag": "bernoulli", "number": "gaussian", "whole": "gaussian", "count": "poisson",
        "long": "categorical", "code": "categorical", "clock": "categorical",
        "date": "categorical", "stamp": "categorical", "word": "categorical",
        "mixed": "categorical", "text": "text",
    }  # fmt: skip


CELLS = st.one_of(st.sampled_from(STRAYS), st.none())


@st.composite
def cells(draw):
    """A table of text with strays in any column, some of which hold nothing else."""
    rows = draw(st.integers(1, 6))
    table = {}
    for name, column in KINDS.items():
        own = CELLS | st.sampled_from(sorted(set(column.tolist())))
        one = draw(st.booleans())
        table[name] = [draw(own)] * rows if one else [draw(own) for _ in range(rows)]
    return table


@given(cells())
def test_rows_alone_as_in_the_table(model, table):
    whole = proba(model, table)
    for i in range(len(whole)):
        alone = proba(model, {name: [column[i]] for name, column in table.items()})
        assert alone[0].tolist() == whole[i].tolist(), {n: c[i] for n, c in table.items()}


def csv_bytes(table, delimiter=","):
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in table.items()})
    return frame.to_csv(index=False, sep=delimiter, quoting=1).encode()


def asked(model_path, data, *options):
    """What `naively predict` says: (probabilities, the columns that it passes through)."""
    out = model_path.parent / "out.csv"
    assert run(["predict", str(model_path), str(data), "--proba", "-o", str(out), *options]) == 0
    with out.open(newline="") as file:
        frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    said = [name for name in frame.columns if name.startswith("P(")]
    return frame[said].astype(float).to_numpy(), frame


@given(cells())
def test_formats_say_the_same(model, tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("f")
    expected = proba(model, table)
    model.save(folder / "m")
    text = {n: ["" if v is None else v for v in column] for n, column in table.items()}
    (folder / "t.csv").write_bytes(csv_bytes(text))
    (folder / "t.tsv").write_bytes(csv_bytes(text, "\t"))
    pyarrow.parquet.write_table(pa.table(table), folder / "t.parquet")
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("t.csv", "t.tsv", "t.parquet", "t.jsonl"):
        found, frame = asked(folder / "m", folder / name)
        assert found.tolist() == expected.tolist(), name
        for column, own in text.items():
            if name != "t.tsv" or "\t" not in "".join(own):
                assert frame[column].tolist() == own, (name, column)
    frames = [pd.DataFrame(table), pl.DataFrame(table, strict=False), pa.table(table)]
    frames.append(pd.DataFrame({n: pd.Series(c, dtype="string") for n, c in table.items()}))
    frames.append(pd.DataFrame({n: pd.Categorical(c) for n, c in table.items()}))
    for frame in frames:
        assert proba(model, frame).tolist() == expected.tolist(), type(frame)


OBJECTS = [
    True, False, np.True_, 1, 0, 5, -3, 1.0, 0.0, 1.5, 7.25, np.float64(7.25), np.float64(1.0),
    np.int64(5), np.int8(1), np.float32(0.5), 2**60 + 1, 10**30, -(10**25), 1e300, float("nan"),
    float("inf"), None, pd.NA, pd.NaT, Decimal("1.00"), Decimal("1.5"), Decimal("NaN"),
    datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, 5, 6),
    datetime.time(12, 30), datetime.time(13, 45, 1), datetime.timedelta(seconds=90),
    pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01", tz="UTC"), pd.Timedelta(90, "s"),
    np.datetime64("2020-01-01"), pd.Interval(0, 1), pd.Period("2020-01", "M"), "x", "blue", "True",
    "12:30", b"blue", "7.25", "\ud800", (1, 2), [1, 2], {"a": 1},
]  # fmt: skip


@given(st.lists(st.sampled_from(range(len(OBJECTS))), min_size=1, max_size=6))
def test_objects_mean_the_same_in_every_slice(model, chosen):
    """A column of Python objects of any types, one by one and together."""
    known = ["word", "number", "flag", "clock", "mixed", "count"]
    column = np.empty(len(chosen), object)
    column[:] = [OBJECTS[k] for k in chosen]
    whole = proba(model, pd.DataFrame({name: pd.Series(column, dtype=object) for name in known}))
    for i in range(len(column)):
        alone = proba(model, dict.fromkeys(known, column[i : i + 1]))
        first = proba(model, dict.fromkeys(known, column[: i + 1]))
        assert alone[0].tolist() == first[i].tolist() == whole[i].tolist(), column.tolist()


EQUAL = [
    [5, 5.0, "5", np.int8(5), np.float32(5), Decimal("5.00"), "5.0", "+5", " 5 ", b"5"],
    [True, np.True_, "True", "TRUE", "true"],
    [7.25, np.float64(7.25), "7.25", "7.250", Decimal("7.25"), "725e-2"],
    [2**60, "1152921504606846976", float(2**60)],
    [datetime.time(12, 30), "12:30", "12:30:00", "12:30:00.000"],
    [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), pd.Timestamp("2020-01-01"),
     np.datetime64("2020-01-01"), "2020-01-01", "2020-01-01 00:00:00", "2020-01-01T00:00"],
    [pd.Timestamp("2020-01-01", tz="UTC"), "2020-01-01T00:00:00Z", "2020-01-01 00:00:00+0000"],
    [datetime.timedelta(seconds=90), pd.Timedelta(90, "s"), 90, "90"],
    [None, float("nan"), pd.NA, pd.NaT, Decimal("NaN"), "", "NA", "?"],
]  # fmt: skip


@pytest.mark.parametrize("same", EQUAL, ids=lambda same: str(same[0]))
def test_levels_are_canonical(same):
    assert len({values.level_text(value, MISSING) for value in same}) == 1
    typed = []
    for value in same:
        array = naively.io.frames.to_array([value]) if value is not pd.NA else None
        if array is not None:
            typed += values.levels(values.flat(array), MISSING)[1].tolist()
    assert len(set(typed)) <= 1


def test_digits_that_differ_are_different_levels():
    for a, b in [
        ("12345678901234567890", "12345678901234567891"), (2**60, 2**60 + 1),
        ("02139", "2139"), ("9007199254740993", "9007199254740992"), ("1e400", "inf"),
    ]:  # fmt: skip
        assert values.level_text(a, ()) != values.level_text(b, ())


def test_an_invalid_cell_changes_no_other_row(tmp_path, monkeypatch, capsys):
    """True and False beside `unknown`, as on the command line."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"True,{i},u\nFalse,{i},v\n" for i in range(100))
    (tmp_path / "t.csv").write_text("flag,x,y\n" + rows)
    assert run(["fit", "t.csv", "--target", "y", "-o", "m"]) == 0
    (tmp_path / "a.csv").write_text("flag,x\nTrue,\nFalse,\n")
    (tmp_path / "b.csv").write_text("flag,x\nTrue,\nFalse,\nunknown,\n")
    capsys.readouterr()
    clean, _ = asked(tmp_path / "m", tmp_path / "a.csv")
    assert capsys.readouterr().err == ""
    stray, _ = asked(tmp_path / "m", tmp_path / "b.csv")
    assert stray[:2].tolist() == clean.tolist()
    assert stray[2].tolist() == [0.5, 0.5]
    note = "column 'flag' (bernoulli): 1 value such as 'unknown' cannot be read"
    assert note in capsys.readouterr().err
    (tmp_path / "c.csv").write_text("flag,x,y\nTrue,1,u\nFalse,1,v\nmaybe,1,u\nTrue,1,u\n")
    assert run(["update", "m", "c.csv"]) == 0  # `maybe` is a category, as in one fit of all rows
    (tmp_path / "all.csv").write_text(
        "flag,x,y\n" + rows + "True,1,u\nFalse,1,v\nmaybe,1,u\nTrue,1,u\n"
    )
    assert run(["fit", "all.csv", "--target", "y", "-o", "all"]) == 0
    learned = naively.load("m").model_
    assert learned == naively.load("all").model_
    assert learned.schema.why["flag"] == "text, 3 categories"


def test_a_declared_missing_value_in_python():
    X = {"flag": [True, False, "?"] * 20, "x": list(range(60))}
    y = ["u", "v", "u"] * 20
    found = NaiveBayes().fit(X, y).predict_proba({"flag": [True, False, "?"], "x": [None] * 3})
    assert found[0, 0] > 0.9
    assert found[1, 1] > 0.9


def test_truth_values_in_a_large_file_with_one_invalid_value(tmp_path, monkeypatch):
    """One cell of another kind loses itself alone, wherever the blocks are cut."""
    monkeypatch.chdir(tmp_path)
    # of 6 MiB, which small files fill once
    monkeypatch.setattr("naively.io.inputs.BLOCK", 3000)
    rows = [f"{'True' if i % 3 else 'False'},{'u' if i % 3 else 'v'}" for i in range(5000)]
    (tmp_path / "t.csv").write_text("flag,y\n" + "\n".join(rows) + "\n")
    assert run(["fit", "t.csv", "--target", "y", "-o", "a"]) == 0
    rows[4321] = "maybe,u"
    (tmp_path / "t.csv").write_text("flag,y\n" + "\n".join(rows) + "\n")
    assert run(["fit", "t.csv", "--target", "y", "-o", "b"]) == 0
    levels = naively.load("b").model_.parts[0]
    assert levels.levels[0].tolist() == ["false", "maybe", "true"]
    assert int(levels.tables["count"].rounded().sum()) == 5000


@pytest.mark.parametrize("block", [200, 1 << 20])
def test_a_target_of_truth_values_with_an_invalid_value(tmp_path, monkeypatch, block):
    monkeypatch.chdir(tmp_path)
    # of 6 MiB, which small files fill once
    monkeypatch.setattr("naively.io.inputs.BLOCK", block)
    rows = [f"{i % 7},{['False', 'True'][i % 2]}" for i in range(200)]
    for stray, classes in (
        (None, [False, True]), ("maybe", ["False", "True", "maybe"]), ("", [False, True]),
        ("NA", [False, True]), ("1", ["1", "False", "True"]),
    ):  # fmt: skip
        own = [*rows, *([] if stray is None else [f"3,{stray}"])]
        (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(own) + "\n")
        assert run(["fit", "t.csv", "--target", "y", "-o", "m"]) == 0
        assert naively.load("m").classes_.tolist() == classes


@pytest.mark.parametrize("block", [60, 1 << 20])
@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["0", "1"], [0, 1]), (["0", "1", "1.0"], [0.0, 1.0]), (["0", "1", "x"], ["0", "1", "x"]),
        (["01", "1"], ["01", "1"]), (["-1", "+1"], [-1, 1]), (["true", "FALSE"], [False, True]),
        (["1e0", "2"], [1.0, 2.0]), (["a", "1.50", "1.5"], ["1.5", "1.50", "a"]),
    ],
)  # fmt: skip
def test_labels_are_what_all_of_them_read_as(tmp_path, monkeypatch, labels, classes, block):
    """And not what those of one block do."""
    monkeypatch.chdir(tmp_path)
    # of 6 MiB, which small files fill once
    monkeypatch.setattr("naively.io.inputs.BLOCK", block)
    rows = [f"{i % 7},{label}" for label in labels for i in range(20)]
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    assert run(["fit", "t.csv", "--target", "y", "-o", "m", "--holdout", "0.2"]) == 0
    found = naively.load("m")
    assert found.classes_.tolist() == classes
    assert found.model_.class_weight.rounded().sum() == len(rows)
    for again in (["evaluate", "m", "t.csv"], ["update", "m", "t.csv"], ["forget", "m", "t.csv"]):
        assert run(again) == 0, again


def test_updates_keep_the_type_of_the_labels(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x,y\n" + "1,0\n2,1\n" * 9)
    assert run(["fit", "t.csv", "--target", "y", "-o", "m"]) == 0
    before = (tmp_path / "m").read_bytes()
    (tmp_path / "u.csv").write_text("x,y\n1,1.0\n2,maybe\n")
    assert run(["update", "m", "u.csv"]) == 1
    assert "the classes of the model are numbers; 'maybe' cannot be one more" in (
        capsys.readouterr().err
    )
    assert (tmp_path / "m").read_bytes() == before
    (tmp_path / "u.csv").write_text("x,y\n1,1.0\n2,7\n")
    assert run(["update", "m", "u.csv"]) == 0
    assert naively.load("m").classes_.tolist() == [0, 1, 7]


def test_columns_come_back_as_they_were(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    head = "id,e,p,flag,when,na,q,text,y\n"
    rows = [
        f"1234567890123456789{i % 10},1e{i % 5},{i}.50,{'True' if i % 2 else 'FALSE'},12:3{i % 9},"
        f'{["NA", "?", ""][i % 3]},"a, ""b"" c",{" x " if i % 2 else "é"},{"uv"[i % 2]}\n'
        for i in range(60)
    ]
    (tmp_path / "t.csv").write_text(head + "".join(rows))
    assert run(["fit", "t.csv", "--target", "y", "-o", "m"]) == 0
    capsys.readouterr()
    assert run(["predict", "m", "t.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == head.strip() + ",prediction"
    assert [line.rpartition(",")[0] for line in lines[1:]] == [row.strip("\n") for row in rows]


def test_frames_that_arrow_does_not_know():
    """Intervals, periods, huge integers, views of text, sparse columns: read, or named."""
    rows = 60
    y = np.arange(rows) % 2
    cut = pd.cut(np.arange(rows) % 10, [-1, 3, 6, 10])
    model = NaiveBayes().fit(pd.DataFrame({"c": cut, "x": np.arange(rows) ** 2 * 0.5}), y)
    for n in (1, 2, 3, rows):
        frame = pd.DataFrame({"c": cut[:n], "x": np.arange(n) ** 2 * 0.5})
        assert model.predict(frame).shape == (n,)
    assert model.model_.parts[0].levels[0].tolist() == [
        "(-1, 3]", "(3, 6]", "(6, 10]",
    ]  # fmt: skip
    words = pl.DataFrame({"t": ["a", "b", "c"] * 20, "x": np.arange(rows) ** 2 * 0.5})
    labels = pl.Series(["u", None, "v"] * 20)
    with pytest.warns(UserWarning, match="20 of 60 rows have no label"):
        NaiveBayes().fit(words, labels)
    NaiveBayes().fit(words, ["u", "v"] * 30, sample_weight=np.arange(rows) % 3)
    huge = pl.DataFrame({"n": pl.Series([2**70, 1] * 30, dtype=pl.Int128), "x": range(rows)})
    found = NaiveBayes({"n": "categorical"}).fit(huge, y).model_.parts
    assert [part.levels[0].tolist() for part in found if hasattr(part, "levels")] == [
        ["1", str(2**70)]
    ]
    objects = {"n": np.array([10**30, 10**30 + 1] * 30, object), "x": np.arange(rows) ** 2 * 0.5}
    model = NaiveBayes().fit(objects, y)
    assert model.model_.schema.family_of["n"].name == "categorical", (
        "they differ, but not as float64"
    )
    with pytest.raises(ValueError, match="labels y must be text, numbers or truth values"):
        NaiveBayes().fit({"x": np.arange(4) ** 2 * 0.5}, [("a", 1), ("b", 2)] * 2)
    with pytest.raises(ValueError, match="Complex data not supported: column 'z'"):
        NaiveBayes().fit(pd.DataFrame({"z": [1j, 2.0] * 4}), [0, 1] * 4)


def test_a_missing_value_that_is_a_number(tmp_path, monkeypatch):
    """-999 is missing in every format, as text, a whole number or a float."""
    monkeypatch.chdir(tmp_path)
    x = [1.5, 2.5, -999.0, 3.5] * 20
    w = [1, 2, -999, 2] * 20
    y = ["u", "v", "u", "v"] * 20
    table = pa.table({"x": x, "w": w, "y": y})
    pyarrow.parquet.write_table(table, "t.parquet")
    pyarrow.csv.write_csv(table, "t.csv")
    found = []
    for name in ("t.parquet", "t.csv"):
        options = ["--target", "y", "-o", name + ".m", "--missing=-999"]
        assert run(["fit", name, *options]) == 0
        found.append(naively.load(name + ".m").model_)
    assert found[0] == found[1]
    for part in found[0].parts:
        assert (part.tables["missing"].rounded().sum(axis=0) == 20).all()


def test_json_dates_are_text(tmp_path):
    lines = [json.dumps({"d": d, "y": y}) for d, y in [("2020-01-01", "a"), ("later", "b")] * 30]
    frame = naively.io.sources.open_source
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(lines))
    assert {b.schema.field("d").type for b in frame(path).batches()} == {
        pa.dictionary(pa.int32(), pa.string())
    }
    path.write_text("\n".join(lines[::2]))
    batch = next(iter(frame(path).batches()))
    assert set(batch.column("d").to_pylist()) == {"2020-01-01"}


def test_lines_of_all_kinds_through_standard_input(model, tmp_path, monkeypatch, capsys):
    """One row through a pipe is the row of the file."""
    model.save(tmp_path / "m")
    table = {name: column[:4].tolist() for name, column in KINDS.items()}
    expected = proba(model, table)
    for i in range(4):
        row = csv_bytes({name: column[i : i + 1] for name, column in table.items()})
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(row)))
        assert run(["predict", str(tmp_path / "m"), "-", "--proba", "--only"]) == 0
        said = capsys.readouterr().out.splitlines()[1].split(",")[1:]
        assert [float(p) for p in said] == expected[i].tolist()


def test_text_beside_other_values_stays_as_it_is(tmp_path, monkeypatch, capsys):
    """Texts of a column of objects, labels, and what is passed through of a block of JSON lines."""
    texts = {"t": ["at 12:30:00 1.50 euros are due", "nothing is due today at all"] * 20}
    model = NaiveBayes({"t": "text"}).fit(texts, ["a", "b"] * 20)
    for text in ("12:30:00", "1.50", " euros "):
        alone = model.predict_proba({"t": [text]})[0]
        assert model.predict_proba({"t": [text, 5]})[0].tolist() == alone.tolist()
    y = np.array(["1.50", " b "] * 10 + [5], object)
    assert NaiveBayes().fit({"x": np.arange(21) ** 2 * 0.5}, y).classes_.tolist() == [
        " b ",
        "1.50",
        "5",
    ]
    monkeypatch.chdir(tmp_path)
    model.save("m")
    rows = [{"t": "due", "x": " 1.50 "}, {"t": "due", "x": "12:30:00"}, {"t": "due", "x": 7}]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["predict", "m", "t.jsonl"]) == 0
    assert [line.split(",")[1] for line in capsys.readouterr().out.splitlines()[1:]] == [
        " 1.50 ", "12:30:00", "7",
    ]  # fmt: skip


def test_labels_of_many_digits_stay_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = ["12345678901234567890", "12345678901234567891", "5"]
    rows = [f"{i % 7},{label}" for label in labels for i in range(20)]
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    assert run(["fit", "t.csv", "--target", "y", "-o", "m"]) == 0
    assert naively.load("m").classes_.tolist() == labels


def test_rows_held_out_are_scored_by_what_their_labels_mean(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = []
    for spelled in (("1", "1", "2", "2"), ("1", "1.0", "2", "2.0")):
        rows = [f"{i % 4 // 2 * 3 + i % 3},{spelled[i % 4]}" for i in range(400)]
        (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
        options = ["--target", "y", "-o", "m", "--holdout", "0.25", "--json"]
        assert run(["fit", "t.csv", *options]) == 0
        found.append(json.loads(capsys.readouterr().out)["held_out"])
    assert found[0]["accuracy"] == found[1]["accuracy"] == 1.0
    assert found[1]["classes"] == [1, 2]


def test_columns_of_unusual_types_mean_what_their_values_do():
    """Narrow floats and decimals, runs, bytes, intervals, lists: as text of the same."""
    y = ["a", "b"] * 20
    for typed, text in (
        (pa.array([0.1, 0.2] * 20, pa.float32()), ["0.1", "0.2"]),
        (pa.array([Decimal("1.50"), Decimal("2.5")] * 20, pa.decimal64(5, 2)), ["1.5", "2.50"]),
        (pa.array([b"x", b"y"] * 20, pa.binary()), ["x", "y"]),
        (pa.compute.run_end_encode(pa.array(["u", "v"] * 20)), ["u", "v"]),
    ):
        model = NaiveBayes({"x": "categorical"}).fit({"x": typed}, y)
        other = NaiveBayes({"x": "categorical"}).fit({"x": text * 20}, y)
        if typed.type != pa.float32():  # whose values are others, and known all the same
            assert model.model_ == other.model_, typed.type
        assert (
            model.predict_proba({"x": text}).tolist()
            == model.predict_proba({"x": typed.slice(0, 2)}).tolist()
        )
    numbers = NaiveBayes({"x": "gaussian"}).fit({"x": [b"1.5", b"2.5"] * 20}, y)
    assert numbers.model_ == NaiveBayes({"x": "gaussian"}).fit({"x": [1.5, 2.5] * 20}, y).model_


def test_files_of_other_types_are_read_together(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    y = ["a", "b"] * 10
    odd = {
        "a": [[1, 2], [3]] * 10, "b": [2**60, 2**60 + 1] * 10, "c": [0.5, 1.5] * 10,
        "d": [b"\xff", b"x"] * 10,
    }  # fmt: skip
    for name, x in odd.items():
        table = pa.table({"x": x, "z": np.arange(20) ** 2 * 0.5, "y": y})
        pyarrow.parquet.write_table(table, f"{name}.parquet")
    for pair in ("ab", "bc", "cd", "ad"):
        files = [f"{name}.parquet" for name in pair]
        assert run(["fit", *files, "--target", "y", "-o", "m"]) == 0, capsys.readouterr().err


def test_a_family_of_the_user_is_not_left_out():
    X = {"x": ["u"] * 40, "z": np.arange(40) ** 2 * 0.5}
    model = NaiveBayes({"x": Categorical(unseen="error")}).fit(X, ["a", "b"] * 20)
    with pytest.raises(ValueError, match="'x'"):
        model.predict({"x": ["zzz"], "z": [1.0]})


@pytest.mark.parametrize("block", [60, 1 << 20])
def test_blanks_about_labels(tmp_path, monkeypatch, capsys, block):
    """A file that has ", " between its fields has the labels of one that has ","."""
    monkeypatch.chdir(tmp_path)
    # of 6 MiB, which small files fill once
    monkeypatch.setattr("naively.io.inputs.BLOCK", block)
    rows = [f"{i % 7}, {'uv'[i % 2]}{' ' * (i % 3)}" for i in range(60)]
    (tmp_path / "t.csv").write_text("x, y\n" + "\n".join(rows) + "\n")
    assert run(["fit", "t.csv", "--target", "y", "-o", "m"]) == 0
    assert naively.load("m").classes_.tolist() == ["u", "v"]
    (tmp_path / "u.csv").write_text("x,y\n1,u\n2,w\n")
    assert run(["update", "m", "u.csv"]) == 0
    assert "class 'w' is new to the model, which has u, v" in capsys.readouterr().err


def test_blanks_about_labels_of_rows_that_are_held(tmp_path, monkeypatch, capsys):
    """Rows that were held out, or sampled to compare, were of other classes than the rest."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 7 + 5 * (i % 2)}.5, {'uv'[i % 2]}{' ' * (i % 3)}" for i in range(120)]
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    assert run(["fit", "t.csv", "-t", "y", "-o", "m"]) == 0
    capsys.readouterr()
    assert run(["fit", "t.csv", "-t", "y", "-o", "h", "--holdout", "0.25", "--json"]) == 0
    held = json.loads(capsys.readouterr().out)["held_out"]
    assert held["classes"] == ["u", "v"]
    assert held["accuracy"] > 0.8
    assert naively.load("h").model_ == naively.load("m").model_
    assert run(["diagnose", "t.csv", "-t", "y", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["classes"]
    assert [(one["class"], one["rows"]) for one in found] == [("u", 60), ("v", 60)]


# ---- what frames and arrays hold ---------------------------------------------------------------


@pytest.mark.parametrize("kind", [AutoBayes, NaiveBayes])
def test_levels_that_differ_after_a_nul_are_different(kind, tmp_path):
    """NumPy compares text up to the first NUL."""
    values, labels = ["a\0b", "a\0c", "a", "a\0"] * 20, [0, 1, 0, 1] * 20
    model = kind().fit({"v": values}, labels)
    other = kind().fit({"v": [text.replace("\0", "_") for text in values]}, labels)
    proba = model.predict_proba({"v": values[:4]})
    found = other.predict_proba({"v": ["a_b", "a_c", "a", "a_"]})
    np.testing.assert_allclose(proba, found, rtol=1e-3)
    model.save(tmp_path / "m")
    assert (naively.load(tmp_path / "m").predict_proba({"v": values[:4]}) == proba).all()
    batches = (
        kind().fit({"v": values[:30]}, labels[:30]).partial_fit({"v": values[30:]}, labels[30:])
    )
    assert batches.model_ == model.model_
    assert batches.forget({"v": values[30:]}, labels[30:]).model_ == (
        kind().fit({"v": values[:30]}, labels[:30]).model_
    )


def test_objects_of_polars_are_refused_by_name():
    """Arrow is given their addresses, which are others in each process."""
    objects = pl.Series("who", [uuid.UUID(int=k % 2) for k in range(20)], dtype=pl.Object)
    frame, y = pl.DataFrame({"who": objects, "n": range(20)}), [0, 1] * 10
    known = AutoBayes().fit({"who": ["a", "b"] * 10}, y)
    text = pl.DataFrame({"who": [str(value) for value in objects]})
    for ask in (
        lambda: AutoBayes().fit(frame, y),
        lambda: NaiveBayes().fit(frame, y),
        lambda: AutoBayes().fit(frame.lazy(), "n"),
        lambda: AutoBayes().fit({"who": objects}, y),
        lambda: AutoBayes().fit({"n": y}, objects),
        lambda: known.predict(frame),
    ):
        with pytest.raises(ValueError, match=r"column 'who' is of polars' type Object.*str\(value"):
            ask()
    assert AutoBayes().fit(text, y).score(text, y) == 1.0  # as the message says


def test_structured_arrays_have_named_columns():
    kind = [("size", "f8"), ("kind", "U3"), ("n", "i2")]
    array = np.array([(k / 7, "abc"[k % 3], k % 5) for k in range(60)], kind)
    y = [0, 1] * 30
    columns = {name: array[name] for name in array.dtype.names}
    for model in (AutoBayes(), NaiveBayes()):
        fitted = model.fit(array, y)
        assert fitted.feature_names_in_.tolist() == ["size", "kind", "n"]
        expected = clone(model).fit(columns, y)
        assert fitted.model_ == expected.model_
        assert (fitted.predict_proba(array[:5]) == expected.predict_proba(columns)[:5]).all()
        assert (fitted.predict_proba(array.view(np.recarray)) == fitted.predict_proba(array)).all()
    with pytest.raises(ValueError, match=r"structured array with the fields size, kind, n: pass a"):
        GaussianNB().fit(array, y)


def test_labels_of_numpys_text():
    y = np.array(["a", "b"] * 5, np.dtypes.StringDType())
    for model in (GaussianNB(), AutoBayes()):
        assert model.fit([[0.0], [1.0]] * 5, y).classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_columns_of_a_frame_of_indicators_are_labels(frame, tmp_path):
    documents = ["wheat and maize", "the bank pays", "maize of the bank", "nothing else"] * 10
    indicator = {"trade": [1, 0, 1, 0] * 10, "money": [0, 1, 1, 0] * 10}  # not sorted
    lists = [[name for name in indicator if indicator[name][k]] for k in range(40)]
    model = MultilabelNB().fit(documents, frame(indicator))
    assert model.classes_.tolist() == ["money", "trade"]
    expected = MultilabelNB().fit(documents, lists)
    assert (model.predict_proba(documents) == expected.predict_proba(documents)).all()
    assert model.score(documents, frame(indicator)) == expected.score(documents, lists)
    model.save(tmp_path / "m")
    for one in (model, naively.load(tmp_path / "m")):
        found = one.predict(documents)
        assert type(found) is frame
        assert [*found.columns] == ["trade", "money"]  # metrics compare columns by their place
        told = [[name for name in found.columns if found[name][k]] for k in range(40)]
        assert [sorted(own) for own in told] == expected.predict(documents)
    with pytest.raises(ValueError, match="must be different"):
        MultilabelNB().fit(documents, pd.DataFrame(np.eye(40)[:, :2], columns=["a", "a"]))


def test_shapes_that_are_no_table():
    images, y = np.zeros((10, 4, 4)), [0, 1] * 5
    for model in (GaussianNB(), AutoBayes()):
        with pytest.raises(ValueError, match=r"X\.reshape\(len\(X\), -1\)"):
            model.fit(images, y)
        model.fit(images.reshape(len(images), -1) + np.arange(10)[:, None], y)
    with pytest.raises(ValueError, match="row 0 of X has 2 values, row 1 has 1"):
        AutoBayes().fit([["a", "b"], ["c"]], [0, 1])
