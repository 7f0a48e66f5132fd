"""Values of another type than the column's, in rows that a weighted model predicts.

They count as missing, and that is told: in Python by a warning, on the command line by a note.
"""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import naively
from naively import AutoBayes
from naively.cli.main import run

NUMBERS = r"column 'x' \(numeric\): {} values such as '{}' cannot be {} and count as missing"


def table(n=300, seed=0):
    """Numbers, dates and levels that tell the class, and a number that tells nothing."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 2, n)
    return pd.DataFrame({
        "x": draw.normal(2 * y, 1).round(3).astype(str),
        "day": [f"20{20 + k}-{m:02d}-11" for k, m in zip(y, draw.integers(1, 13, n), strict=True)],
        "shop": np.where(draw.random(n) < 0.8, np.where(y, "north", "south"), "east"),
        "y": np.where(y, "yes", "no"),
    })  # fmt: skip


@pytest.fixture(scope="module")
def model():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return AutoBayes().fit(table(), "y")


def new():
    return table(40, 1).drop(columns="y")


def test_new_levels_and_missing_values_are_normal(model):
    rows = new().assign(shop="west")
    rows.loc[:20, ["x", "day"]] = ""
    model.predict(rows)  # warnings are errors


@pytest.mark.parametrize(("column", "kind"), [("x", "numeric"), ("day", "date")])
def test_text_among_numbers_and_dates_is_reported(model, column, kind):
    rows = new()
    rows.loc[5:14, column] = ["abc", "1,5"] * 5
    said = rf"column '{column}' \({kind}\): 10 values such as '1,5' cannot be read"
    empty = rows.copy()
    empty.loc[5:14, column] = ""
    expected = model.predict_proba(empty)
    with pytest.warns(UserWarning, match=said):
        found = model.predict_proba(rows)
    assert np.array_equal(found, expected)
    with pytest.warns(UserWarning, match=said):
        model.explain(rows)
    with pytest.warns(UserWarning, match=said):
        model.score(rows, ["yes"] * 40)
    with pytest.warns(UserWarning, match=said.replace("10 values", "1 value")):
        alone = model.predict_proba(rows.iloc[[6]])
    assert np.array_equal(alone[0], expected[6])


def test_numbers_are_no_dates(model):
    with pytest.warns(UserWarning, match=r"'day' \(date\): 40 values such as '7.5' cannot be read"):
        model.predict(new().assign(day=7.5))


def test_files_are_reported_as_frames_are(model, tmp_path):
    rows = new().assign(x="abc")
    rows.to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(UserWarning, match=NUMBERS.format(40, "abc", "read")):
        found = model.predict_proba(naively.scan(tmp_path / "t.csv"))
    with pytest.warns(UserWarning, match=NUMBERS.format(40, "abc", "read")):
        assert np.array_equal(model.predict_proba(rows), found)


def test_a_plan_that_was_given_says_what_it_cannot_count(model):
    rows = table(60, 2)
    rows.loc[:9, "x"] = "abc"
    with pytest.warns(UserWarning, match=NUMBERS.format(10, "abc", "used")) as met:
        counted = AutoBayes().fit(rows, "y", like=model)
    assert len(met) == 1
    with pytest.warns(UserWarning, match=NUMBERS.format(40, "abc", "read")) as met:
        counted.predict(new().assign(x="abc"))
    assert len(met) == 1


def test_text_that_turns_a_column_to_levels_is_reported(model):
    for column, kind, content in (("x", "numeric", "numbers"), ("day", "date", "dates")):
        again = AutoBayes().fit(table(), "y")
        said = rf"column '{column}' \({kind}\): values such as 'abc' cannot be read as {content}"
        with pytest.warns(UserWarning, match=said):
            again.partial_fit(table(5, 3).assign(**{column: "abc"}), "y")
    again.partial_fit(table(5, 4).assign(shop="west"), "y")  # warnings are errors


def test_commands_say_so_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table().to_csv("t.csv", index=False)
    table(40, 1).assign(x="abc", shop="west").to_csv("new.csv", index=False)
    assert run(["fit", "t.csv", "-t", "y", "-o", "m"]) == 0
    assert "cannot be" not in capsys.readouterr().err
    note = re.compile("note: " + NUMBERS.format(40, "abc", "read"))
    for command in (
        ["predict", "m", "new.csv"], ["evaluate", "m", "new.csv"],
        ["explain", "m", "new.csv", "--row", "all"],
    ):  # fmt: skip
        assert run(command) == 0
        error = capsys.readouterr().err
        assert len(note.findall(error)) == 1, command
    assert run(["update", "m", "new.csv"]) == 0
    assert "values such as 'abc' cannot be read as numbers" in capsys.readouterr().err
