"""The `naively` command on multilabel documents."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from numpy.testing import assert_allclose
from test_cli import asked, naive

import naively
from naively import MultilabelNB
from naively.cli.main import run
from naively.tables.targets import LabelCells

ROWS = [
    ("wheat and maize exports rise", ["grain", "trade"]), ("wheat harvest falls", ["grain"]),
    ("bank lifts its rates", ["money"]), ("nothing happened in the town", []),
    ("maize exports to china", ["trade", "grain"]), ("bank and trade deficit", ["money", "trade"]),
]  # fmt: skip
TEXTS, TOPICS = map(list, zip(*ROWS, strict=True))
OPTIONS = ("--multilabel", "--target", "topics", "--naive")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The same rows in files of several kinds."""
    monkeypatch.chdir(tmp_path)
    for name, sign in (("semicolon", "; "), ("comma", ","), ("bar", "|")):
        write(f"{name}.csv", [(text, sign.join(own)) for text, own in ROWS])
    write("json.csv", [(text, json.dumps(own)) for text, own in ROWS])
    write("python.csv", [(text, str(own)) for text, own in ROWS])
    lines = [json.dumps({"text": text, "topics": own}) for text, own in ROWS]
    Path("lists.jsonl").write_text("\n".join(lines))
    parquet.write_table(pa.table({"text": TEXTS, "topics": TOPICS}), "lists.parquet")
    return tmp_path


def write(name, rows, heads=("text", "topics")):
    with Path(name).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([heads, *rows])


FILES = ["semicolon.csv", "comma.csv", "bar.csv", "json.csv", "python.csv", "lists.jsonl",
         "lists.parquet"]  # fmt: skip


def test_all_ways_to_write_labels_are_one_model(folder, capsys):
    expected = MultilabelNB(weights=None).fit(TEXTS, TOPICS)
    for name in FILES:
        naive(capsys, "fit", name, *OPTIONS, "-o", "m")
        model = naively.load("m")
        assert type(model) is MultilabelNB
        assert model.class_count_.tolist() == [3, 2, 3]
        assert_allclose(model.predict_proba(TEXTS), expected.predict_proba(TEXTS), rtol=1e-12)
        assert model.predict(TEXTS) == expected.predict(TEXTS)


def test_learning_on_forgetting_and_merging_are_one_batch(folder, capsys):
    write("a.csv", [(text, "; ".join(own)) for text, own in ROWS[:2]])
    write("b.csv", [(text, "; ".join(own)) for text, own in ROWS[2:]])
    for part in ("a", "b"):
        naive(capsys, "fit", f"{part}.csv", *OPTIONS, "--separator", ";", "-o", part)
    naive(capsys, "fit", "semicolon.csv", *OPTIONS, "-o", "whole")
    naive(capsys, "merge", "a", "b", "-o", "sum")
    assert Path("sum").read_bytes() == Path("whole").read_bytes()
    naive(capsys, "update", "a", "b.csv", "-o", "more")
    assert Path("more").read_bytes() == Path("whole").read_bytes()
    naive(capsys, "forget", "more", "b.csv")
    assert Path("more").read_bytes() == Path("a").read_bytes()


def test_parts_and_receipts(folder, capsys):
    for name, rows in (("a", ROWS[:4]), ("b", ROWS[4:])):
        Path(name).mkdir()
        write(f"{name}/rows.csv", [(text, "; ".join(own)) for text, own in rows])
    naive(capsys, "fit", "semicolon.csv", *OPTIONS, "-o", "whole")
    naive(capsys, "fit", "a/rows.csv", *OPTIONS, "-o", "a.m")
    naive(capsys, "fit", "a/rows.csv", *OPTIONS, "--part", "day=1", "-o", "m")
    naive(capsys, "update", "m", "b/rows.csv", "--part", "day=2")
    assert naively.digest(naively.load("m")) == naively.digest(naively.load("whole"))
    naive(capsys, "forget", "m", "--part", "day=2", "--receipt", "r.json")
    assert naively.digest(naively.load("m")) == naively.digest(naively.load("a.m"))
    naive(capsys, "verify", "r.json", "m", "b/rows.csv")
    naive(capsys, "verify", "r.json", "m", "a/rows.csv", code=1)


def test_predictions(folder, capsys):
    naive(capsys, "fit", "bar.csv", *OPTIONS, "-o", "m")
    model = naively.load("m")
    out, _ = naive(capsys, "predict", "m", "bar.csv", "--proba", "--top", "2")
    rows = list(csv.DictReader(out.splitlines()))
    assert [row["prediction"] for row in rows] == ["|".join(own) for own in model.predict(TEXTS)]
    p = model.predict_proba(TEXTS)
    for k, label in enumerate(model.classes_):
        assert_allclose([float(row[f"P({label})"]) for row in rows], p[:, k])
    labels, top = model.predict_top(TEXTS, 2)
    assert [[row["top_1"], row["top_2"]] for row in rows] == labels.tolist()
    assert_allclose([float(row["P(top_2)"]) for row in rows], top[:, 1])
    out, _ = naive(capsys, "predict", "m", "lists.parquet", "--only", "--json")
    said = [json.loads(line)["prediction"] for line in out.splitlines()]
    assert said == model.predict(TEXTS)
    naive(capsys, "predict", "m", "bar.csv", "-o", "p.parquet")
    assert parquet.read_table("p.parquet").column("prediction").to_pylist() == [
        row["prediction"] for row in rows
    ]


def test_scores(folder, capsys):
    naive(capsys, "fit", "comma.csv", *OPTIONS, "-o", "m")
    write("test.csv", [
        ("wheat harvest falls", "grain,trade"),  # trade is missed
        ("bank lifts its rates", ""),  # money is too much
        ("nothing happened in the town", "fish"),  # which nobody knows
        ("maize exports to china", "grain,trade"),
        ("wheat", "?"),
    ])  # fmt: skip
    model = naively.load("m")
    assert model.predict(["wheat harvest falls", "bank lifts its rates"]) == [["grain"], ["money"]]
    found = asked(capsys, "evaluate", "m", "test.csv")
    assert (found["rows"], found["skipped"], found["exact"]) == (4, 1, 0.25)
    assert found["micro_f1"] == 2 * 3 / (2 * 3 + 1 + 2)
    f1 = {label: own["f1"] for label, own in found["labels"].items()}
    assert f1 == {"grain": 1.0, "money": 0.0, "trade": pytest.approx(2 / 3), "fish": 0.0}
    assert found["macro_f1"] == pytest.approx(np.mean([*f1.values()]))
    odds = model.decision_function([row[0] for row in ROWS[1:5]])
    y = np.array([[1, 0, 1], [0, 0, 0], [0, 0, 0], [1, 0, 1]])
    loss = np.logaddexp(0, np.where(y, -odds, odds)).sum(axis=1).mean()
    assert_allclose(found["log_loss"], loss)
    low = asked(capsys, "evaluate", "m", "test.csv", "--threshold", "0.01")
    assert low["labels"]["trade"]["missed"] <= found["labels"]["trade"]["missed"]
    out, _ = naive(capsys, "evaluate", "m", "test.csv")
    assert "micro F1" in out
    assert "(1 without labels skipped)" in out


def test_a_model_of_python_predicts(folder, capsys):
    MultilabelNB(weights=None).fit(TEXTS, TOPICS).save("m")
    out, _ = naive(capsys, "predict", "m", "semicolon.csv", "--only")
    assert out.splitlines()[1:3] == ["grain;trade", "grain"]
    found = asked(capsys, "inspect", "m")
    assert found["labels"] == ["grain", "money", "trade"]
    assert found["class_weight"][1] == 2
    assert [one["class"] for one in found["texts"]["x0"]["classes"]] == found["labels"]
    why = asked(capsys, "explain", "m", "semicolon.csv", "--label", "grain")
    assert why["predicted"] == "grain"
    out, _ = naive(capsys, "explain", "m", "semicolon.csv", "--label", "money", "--row", "3")
    assert "not money" in out


def test_weights_are_stored_and_reported(folder, capsys):
    assert run(["fit", "lists.jsonl", *OPTIONS[:-1], "-o", "m"]) == 0
    out = capsys.readouterr().out
    assert "3 labels: grain 3, money 2, trade 3" in out
    crossed = asked(capsys, "inspect", "m")["cross_validation"]
    assert 0 < crossed["log_loss"] < crossed["baseline_log_loss"]
    loss = re.search(r"^log-loss +(\S+) ", out, re.MULTILINE)
    assert loss
    assert loss[1] == f"{crossed['log_loss']:.4f}"
    assert naively.load("m").scale_.out_of_fold.log_loss > 0


def test_cells_that_say_nothing(folder, capsys):
    write("odd.csv", [("a wheat", "grain;;  ;grain"), ("a bank", " "), ("no idea", "NA")])
    out, _ = naive(capsys, "fit", "odd.csv", *OPTIONS, "-o", "m")
    assert "trained on 2 rows (1 without a label skipped)" in out
    model = naively.load("m")
    assert (model.document_count_, model.class_count_.tolist()) == (2, [1])


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ("two.csv", *OPTIONS), "name it with --text"),
        (2, ("semicolon.csv", *OPTIONS, "--holdout", "0.2"), "--holdout"),
        (2, ("semicolon.csv", *OPTIONS, "--label", "x"), "--label"),
        (2, ("semicolon.csv", *OPTIONS, "--columns", "text=text"), "--columns"),
        (2, ("semicolon.csv", *OPTIONS, "--prior", "grain=0.5"), "--prior"),
        (2, ("semicolon.csv", *OPTIONS, "--separator", ""), "--separator"),
        (2, ("semicolon.csv", *OPTIONS, "--like", "m"), "--like"),
        (2, ("semicolon.csv", "--target", "topics", "--separator", ";"), "needs --multilabel"),
        (1, ("semicolon.csv", "--multilabel", "--target", "nope"), "nope"),
        (2, ("semicolon.csv", "--multilabel"), "--target"),
        (1, ("broken.csv", *OPTIONS), "begin as a list does"),
        (1, ("nested.jsonl", *OPTIONS), "not a flat list"),
        (1, ("none.csv", *OPTIONS), "no row has a label"),
    ],
    ids=str,
)
def test_what_cannot_be_learned(folder, capsys, code, arguments, message):
    write("two.csv", [("a b", "c d", "x")], ("text", "more", "topics"))
    write("broken.csv", [("a bank", "[grain]")])
    write("none.csv", [("a bank", "")])
    Path("nested.jsonl").write_text('{"text": "a bank", "topics": [["grain"]]}')
    _, err = naive(capsys, "fit", *arguments, "-o", "x", code=code)
    assert message in err
    assert not Path("x").exists()


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ("predict", "m", "bar.csv", "--unsure", "0.8"), "--unsure"),
        (2, ("evaluate", "m", "bar.csv", "--positive", "grain"), "--positive"),
        (2, ("evaluate", "m", "bar.csv", "--threshold", "2"), "--threshold"),
        (2, ("inspect", "m", "--column", "text"), "--column"),
        (2, ("explain", "m", "bar.csv"), "name one of grain, money, trade with --label"),
        (2, ("explain", "m", "bar.csv", "--label", "fish"), "fish"),
        (1, ("merge", "m", "other", "-o", "x"), "MultilabelNB"),
        (1, ("drift", "m", "bar.csv"), "one label each"),
        (2, ("update", "m", "bar.csv", "--evaluate"), "--evaluate"),
    ],
    ids=str,
)
def test_commands_that_are_refused(folder, capsys, code, arguments, message):
    Path("in").mkdir()
    naive(capsys, "fit", "bar.csv", *OPTIONS, "-o", "m")
    naive(capsys, "fit", "bar.csv", "--target", "topics", "--text", "text", "-o", "other")
    _, err = naive(capsys, *arguments, code=code)
    assert message in err


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("['a' 'b']", ["a", "b"]),  # NumPy
        ("['a'\n 'b c']", ["a", "b c"]),
        ("{'b', 'a'}", ["a", "b"]),
        ("set()", []),
        ('{"a": true, "b": false}', ["a"]),
        ("{'a': 1, 'b': 0.0}", ["a"]),
        ('{a,"b c",d}', ["a", "b c", "d"]),  # PostgreSQL
        ("{}", []),
        ("""["it's 'x' 'y'"]""", ["it's 'x' 'y'"]),
        ("['a', 'b']", ["a", "b"]),
        ("a; {b", ["a", "{b"]),
    ],
)
def test_labels_as_others_write_them(cell, labels):
    found, known = LabelCells().read(pa.table({"y": [cell, "other"]}), "y", ())
    assert known.all()
    assert found.lists() == [labels, ["other"]]


@pytest.mark.parametrize("cell", ["[1 2]", "[a, b]", "{'a': 2}", "{a:b}", "[['a'], ['b']]"])
def test_what_is_no_list_of_labels_is_refused(cell):
    with pytest.raises(ValueError, match="the labels"):
        LabelCells().read(pa.table({"y": [cell]}), "y", ())
