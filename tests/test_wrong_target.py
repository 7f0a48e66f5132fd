"""Wrongly declared columns: a numeric target, text as categorical."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import naively
from naively import AutoBayes
from naively.cli.main import run
from naively.tables.identifiers import wordy
from naively.tables.inference import ColumnOptions
from naively.tables.learning import LearningError, TrainingSpec, plan

SUBJECTS = (
    "the cat sat quietly",
    "on a mat",
    "why do dogs run far away",
    "is it so?",
    "no more of it",
)


def written(tmp_path, monkeypatch, **columns):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(columns).to_csv("t.csv", index=False)


@pytest.mark.parametrize("command", [["fit", "-o", "m"], ["diagnose"], ["compare"]])
@pytest.mark.parametrize("n", [101, 3000])
def test_a_target_of_which_each_row_has_another_label_is_refused(
    tmp_path, monkeypatch, capsys, command, n
):
    amounts = [f"{k // 1.02:,.0f}x" for k in range(n)]
    written(tmp_path, monkeypatch, x=np.arange(n) % 7, amount=amounts)
    labels = len({*amounts})
    assert run([command[0], "t.csv", "-t", "amount", *command[1:]]) == 1
    said = f"'amount' has {labels:,} different labels in {n:,} rows: is it a class?"
    assert said in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_half_as_many_classes_as_rows_are_learned(tmp_path, monkeypatch, capsys):
    """So are as many as rows where these are few."""
    for n, every in ((120, 2), (99, 1)):
        y = [f"c{k // every}" for k in range(n)]
        written(tmp_path, monkeypatch, x=np.arange(n) % 7, y=y)
        assert run(["fit", "t.csv", "-t", "y", "-o", "m", "--naive"]) == 0
        assert "is it a class?" not in capsys.readouterr().err


@pytest.mark.parametrize("weighed", [[], ["--naive"]])
def test_amounts_as_classes_have_a_note(tmp_path, monkeypatch, capsys, weighed):
    ages = [str(20 + k % 40) if k % 50 else "unknown" for k in range(800)]
    few = [k % 20 for k in range(800)]
    written(tmp_path, monkeypatch, x=np.arange(800) % 7, age=ages, digit=few)
    assert run(["fit", "t.csv", "-t", "age", "-o", "m", *weighed]) == 0
    said = capsys.readouterr().err
    assert "40 of the labels of 'age' are numbers, and each is a class of its own" in said
    assert run(["fit", "t.csv", "-t", "digit", "-o", "m", *weighed]) == 0
    assert "labels of" not in capsys.readouterr().err


def test_lists_of_labels_have_a_note_where_multilabel_helps(tmp_path, monkeypatch, capsys):
    topics = ["grain", "grain; money", "money", "trade"] * 50
    body = [f"the {one} rose again today by {k} in the port" for k, one in enumerate(topics)]
    for columns, asked in (({"body": body}, True), ({"x": np.arange(200) % 7}, False)):
        written(tmp_path, monkeypatch, topics=topics, **columns)
        assert run(["fit", "t.csv", "-t", "topics", "-o", "m"]) == 0
        said = "labels such as 'grain; money' name several that are labels themselves: with"
        assert (said in capsys.readouterr().err) == asked
    written(tmp_path, monkeypatch, topics=[one.replace("trade", "oil, gas") for one in topics],
            body=body)  # fmt: skip
    assert run(["fit", "t.csv", "-t", "topics", "-o", "m", "--multilabel"]) == 0
    assert "themselves" not in capsys.readouterr().err


def test_classes_of_a_single_row_are_named(tmp_path, monkeypatch, capsys):
    for typos, said in (
        ([], None),
        (["spma"], "class 'spma' has a single row: if this is a typing error, correct the label"),
        (
            ["spma", "hma"],
            "classes 'hma', 'spma' have a single row each: if this is a typing error",
        ),
    ):
        labels = ["ham", "spam"] * 20 + typos
        written(tmp_path, monkeypatch, x=np.arange(len(labels)) % 7, kind=labels)
        assert run(["fit", "t.csv", "-t", "kind", "-o", "m"]) == 0
        err = capsys.readouterr().err
        assert (said in err) if said else ("single row" not in err)


def test_labels_of_the_first_rows_may_come_again():
    """Only all of them once is too many there."""
    spec = TrainingSpec("y", ColumnOptions({}), repeated=True)
    for labels, refused in ((950, False), (1000, True)):
        head = pa.table({"x": np.arange(1000) % 7, "y": [f"c{k % labels}" for k in range(1000)]})
        with pytest.raises(LearningError, match="1,000 rows") if refused else nullcontext():
            plan([head], spec)


def texts(n):
    words = "".join(chr(97 + k) for k in range(26))
    return [f"{SUBJECTS[k % 5]} {words[k % 26]}{words[k // 26]}" for k in range(n)]


def test_texts_have_a_note_and_are_read_if_named(tmp_path, monkeypatch, capsys):
    written(tmp_path, monkeypatch, about=texts(160) + ["no more of it"] * 40, y=["a", "b"] * 100)
    for more in ([], ["--naive"]):
        assert run(["fit", "t.csv", "-t", "y", "-o", "m", *more]) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert "column about holds short texts" in said
        assert "name it: --text about" in said
    assert run(["diagnose", "t.csv", "-t", "y"]) == 0
    assert "name it: --columns about=text" in capsys.readouterr().err
    assert run(["fit", "t.csv", "-t", "y", "-o", "m", "--text", "about"]) == 0
    assert "holds short texts" not in capsys.readouterr().err
    table = {"about": texts(200), "x": np.arange(200) % 7, "y": ["a", "b"] * 100}
    written(tmp_path, monkeypatch, **table)
    assert run(["fit", "t.csv", "-t", "y", "-o", "m"]) == 0
    assert "name it: --text about" in " ".join(capsys.readouterr().err.split())
    # beside others it would make a plain product
    assert run(["fit", "t.csv", "-t", "y", "-o", "m", "--naive"]) == 0
    assert run(["diagnose", "t.csv", "-t", "y"]) == 0
    said = capsys.readouterr()
    assert "short texts" not in said.out + said.err


@pytest.mark.parametrize("form", [
    "{} {}", "Dr. {} van der {}", "{}, {}", "Senior {} Engineer {}", "{} Street {}, 12 Old {}",
    "12 {} street, near the old {}", "{}", "{} of {} and {}",
])  # fmt: skip
def test_names_addresses_and_titles_are_not(form):
    names = [f"{a}{b}" for a in ("Ann", "Bo", "Cy", "Dora", "Eva", "Fay") for b in "abcdefghijkl"]
    levels = sorted({form.format(*names[k:], *names) for k in range(72)})
    assert not wordy(levels, np.ones(len(levels)))


def test_recurring_texts_are_categories():
    levels = sorted({*texts(100)})
    assert wordy(levels, np.ones(len(levels)))
    assert not wordy(levels, np.full(len(levels), 5.0))
    assert not wordy(levels[:40], np.ones(40))


def test_versions_are_names_and_no_numbers(tmp_path, monkeypatch, capsys):
    """2.1 and 2.10 are one number, and two classes."""
    labels = ["2.1", "2.10", "3.0"] * 30
    written(tmp_path, monkeypatch, x=[*map(float, range(90))], y=labels)
    assert run(["fit", "t.csv", "--target", "y", "-o", "m"]) == 0
    model = naively.load("m")
    assert model.classes_.tolist() == ["2.1", "2.10", "3.0"]
    assert model.class_count_.tolist() == [30, 30, 30]
    assert naively.scan("t.csv").to_table()["y"].to_pylist() == labels
    written(tmp_path, monkeypatch, x=[*map(float, range(90))], y=["1", "1.0", "2.0"] * 30)
    assert run(["fit", "t.csv", "--target", "y", "-o", "m"]) == 0
    assert naively.load("m").classes_.tolist() == [1, 2]
    written(tmp_path, monkeypatch, x=[*map(float, range(90))], y=["2.1", "2.2", "3.0"] * 30)
    assert run(["fit", "t.csv", "--target", "y", "-o", "m"]) == 1
    assert "write names as text, such as v2.1 for 2.1" in capsys.readouterr().err


@pytest.mark.parametrize("label", ["None", "NA"])
def test_labels_that_mean_a_missing_value_are_named(label, tmp_path, monkeypatch, capsys):
    x, y = [*map(float, range(90))], [label, "minor", "major"] * 30
    written(tmp_path, monkeypatch, x=x, y=y)
    assert run(["fit", "t.csv", "--target", "y", "-o", "m"]) == 0
    assert f"rows whose label is {label!r} were skipped" in capsys.readouterr().err
    assert run(["fit", "t.csv", "--target", "y", "--missing", "", "-o", "m"]) == 0
    assert "skipped" not in capsys.readouterr().err
    assert naively.load("m").classes_.tolist() == sorted({label, "minor", "major"})
    with pytest.warns(UserWarning, match=f"30 of 90 rows .*{label!r} means a missing"):
        AutoBayes().fit({"x": x}, y)
    assert len(AutoBayes(missing=()).fit({"x": x}, y).classes_) == 3
