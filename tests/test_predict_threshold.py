"""`naively predict --threshold`: the positive class from a probability on."""

import csv
import json

import pytest

from naively.cli.main import run

ROWS = [
    (k % 7, "red" if k % 3 else "blue", "yes" if k % 7 + k % 3 > 5 else "no") for k in range(60)
]


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = ["size,colour,bought", *(",".join(map(str, row)) for row in ROWS)]
    (tmp_path / "rows.csv").write_text("\n".join([*lines, ""]))
    assert not run(["fit", "rows.csv", "--target", "bought", "--output", "m"])
    capsys.readouterr()
    return tmp_path


def asked(capsys, *tokens, code=0):
    assert run(["predict", "m", "rows.csv", *tokens]) == code
    return capsys.readouterr()


def rows(capsys, *tokens):
    return list(csv.DictReader(asked(capsys, "--only", "--proba", *tokens).out.splitlines()))


@pytest.mark.parametrize("threshold", ["0", "0.05", "0.3", "0.9", "1"])
def test_the_rarer_class_is_predicted_from_the_threshold_on(folder, capsys, threshold):
    for row in rows(capsys, "--threshold", threshold):
        assert row["prediction"] == ("yes" if float(row["P(yes)"]) >= float(threshold) else "no")


def test_another_class_may_be_named(folder, capsys):
    for row in rows(capsys, "--threshold", "0.9", "--positive", "no"):
        assert row["prediction"] == ("no" if float(row["P(no)"]) >= 0.9 else "yes")


def test_as_many_are_predicted_as_evaluate_says(folder, capsys):
    predicted = [row["prediction"] for row in rows(capsys, "--threshold", "0.2")]
    assert not run(["evaluate", "m", "rows.csv", "--threshold", "0.2", "--json"])
    said = json.loads(capsys.readouterr().out)["at_threshold"]
    assert predicted.count("yes") == said["flagged"]


@pytest.mark.parametrize(
    ("tokens", "problem"),
    [
        (["--threshold", "2"], "--threshold is a probability, from 0 to 1, not 2"),
        (["--threshold", "0.5", "--positive", "x"], "--positive x: the classes are"),
        (["--threshold", "0.5", "--unsure", "0.8"], "cannot be combined with --costs or --unsure"),
        (["--positive", "yes"], "--positive needs --threshold"),
    ],
)
def test_what_makes_no_sense_is_refused(folder, capsys, tokens, problem):
    assert problem in asked(capsys, *tokens, code=2).err


def test_of_three_classes_costs_decide(folder, capsys):
    assert not run(["fit", "rows.csv", "--target", "size", "--output", "m"])
    capsys.readouterr()
    err = asked(capsys, "--threshold", "0.5", code=2).err
    assert "--threshold is for models of two classes; this one has 7" in err
    assert "use --costs" in err
