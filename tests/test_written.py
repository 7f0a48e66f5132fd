"""Text that people mean as numbers or dates, but that is read as categorical: `fit` says so."""

import copy
import csv
import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naively
from naively import AutoBayes
from naively.cli.main import run
from naively.model.column_types import written


@pytest.mark.parametrize(
    ("levels", "what"),
    [
        (["1,5", "12,25", "-3,0"], "numbers with a comma"),
        (["1,234", "12,345.50", "1,000,000"], "numbers with a comma"),
        (["1.234,50", "99,5", "3,25"], "numbers with a comma"),
        (["1 234", "12 345", "1 000 000"], "numbers in groups"),
        (["1'234.5", "12'345", "1'000'000"], "numbers in groups"),
        (["5%", "6.3 %", "-7,5%"], "percentages"),
        (["$5", "$1,234.50", "-$3"], "amounts of money"),
        (["5 €", "1.234,50 €", "3€"], "amounts of money"),
        (["EUR 5", "7 USD", "CHF 1'000"], "amounts of money"),
        (["31.12.2020", "1.2.2021", "03.04.21"], "dates"),
        (["12/31/2020 13:05", "1/2/2021 1:05 PM", "03/04/2021"], "dates"),
        (["Dec 31, 2020", "January 1, 2021", "mar 3, 2021"], "dates"),
        (["31-Dec-2020", "1 Jan 2021", "3-Mar-21"], "dates"),
        (["1:05 PM", "11:30 am", "9:15 a.m."], "times of the day"),
        (["9:05", "8:30", "7:15"], "times of the day"),
    ],
)
def test_what_levels_look_like(levels, what):
    assert f"if these are {what}" in written(levels)
    assert f"if these are {what}" in written([*levels * 10, "unknown"])


@pytest.mark.parametrize(
    "levels",
    [
        [], ["5%"], ["5%", "6%"], ["red", "green", "blue"], ["<50K", ">50K", "50K"],
        ["1", "2", "3"], ["02139", "10001", "a1"], ["1.5", "2", "1e9"], ["1,2,3", "1,3,4", "2,3,4"],
        ["yes", "no", "5%", "6%"], ["2020-01-31", "2020-02-28", "2021-01-01"], ["", "", ""],
        ["$", "$$", "$$$"], ["10-20", "20-30", "30-40"], ["v1.2.3", "v1.2.4", "v2.0.0"],
        ["192.168.0.1", "10.0.0.1", "127.0.0.1"], ["12:30", "13:45", "14:00"],
        ["1/2", "3/4", "5/6"], ["٥٪", "٦٪", "٧٪"],
    ],
)  # fmt: skip
def test_what_looks_like_nothing(levels):
    assert written(levels) is None


def test_a_few_strays_among_numbers_and_dates():
    numbers = [str(k / 2) for k in range(40)]
    assert "numbers, but for 'abc':" in written([*numbers, "abc"])
    assert written([*numbers, "abc", "x"]) == (
        "numbers, but for 'abc' and 'x': so the column is categorical; "
        "if these are missing, --missing abc --missing x"
    )
    assert written([*numbers, "a, b"]).endswith("if it is missing, --missing 'a, b'")
    assert written([*numbers, "--"]).endswith("if it is missing, --missing=--")
    many = [str(k / 2) for k in range(90)]
    assert "for 'a' and 3 more: so the column is categorical; see --missing" in written(
        [*many, *"abcd"]
    )
    assert written([*numbers, "a remark of some length"]).endswith("; see --missing")
    assert written([*numbers, *"abcdefg"]) is None
    days = [f"2020-01-{k:02d}" for k in range(1, 30)]
    assert "dates or times, but for 'soon':" in written([*days, "soon"])
    assert written([f"0{k}" for k in range(40)] + ["x"]) is None  # codes


def test_numbers_of_which_many_have_commas():
    """Half of a column as 96,075.86, half as 44278.84: none of both is nine tenths of it."""
    plain = [f"{k * 1000.5:.2f}" for k in range(1, 60)]
    comma = [f"{k * 1000.25:,.2f}" for k in range(1, 60)]
    for levels in ([*plain, *comma], [*plain, *comma[:4]], [*plain, *comma, "n/a", "?"]):
        said = written(sorted(levels))
        assert "numbers, but for '" in said
        assert "write 1234.5 for 1,234.5" in said
        assert "--missing" not in said
    assert "if these are dates" in written(
        [f"2020-01-{k}" for k in range(10, 30)] + [f"{k}.1.2021" for k in range(10, 30)]
    )
    assert written([f"2020-01-{k}" for k in range(10, 30)] + [f"{k}%" for k in range(20)]) is None


def test_digits_with_leading_zeros_are_not_spelled_missing():
    numbers = [str(k) for k in range(20000, 20100)]
    for strays in (["01023", "04118"], ["01023", "n/a"]):
        said = written(sorted([*numbers, *strays]))
        assert said == "numbers, but for '01023' and 1 more: digits with leading zeros are text"
    assert written(["-", *numbers, "01023"]).startswith(
        "numbers, but for '01023' and 1 more: digits"
    )
    assert written([*numbers, "n/a"]).endswith("if it is missing, --missing n/a")


@given(st.lists(st.text(max_size=12), max_size=30))
def test_any_text(levels):
    found = written(levels)
    assert found is None or found.startswith(("categories such as ", "numbers, but", "dates or"))


def test_fit_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x, y = rng.normal(10, 3, 200), rng.integers(0, 2, 200)
    table = pd.DataFrame({
        "price": [f"${one:,.2f}" for one in x], "share": [f"{one:.1f}%" for one in x],
        "some": [*(f"{one:.3f}" for one in x[:-1]), "broken"], "good": x, "y": y,
    })  # fmt: skip
    table.to_csv("t.csv", index=False)
    for more in ([], ["--naive"]):
        assert run(["fit", "t.csv", "-t", "y", "-o", "m", *more]) == 0
        said = " ".join(" ".join(capsys.readouterr()).split())  # reasons to leave out are results
        assert "amounts of money, write 1234.5" in said
        assert "percentages, write 0.063" in said
        assert "column good" not in said
    assert run(["fit", "t.csv", "-t", "y", "-o", "m"]) == 0
    assert "column some holds numbers, but for 'broken'" in capsys.readouterr().err
    assert run(["inspect", "m"]) == 0
    assert "column some holds numbers, but for 'broken'" in capsys.readouterr().err


def test_the_same_is_said_once_and_what_it_says_helps(tmp_path, monkeypatch, capsys):
    """Twelve columns with the same two words for what is missing: one remark, one command."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 12)).round(3)).add_prefix("x").astype(str)
    table[::20], table[1::20], table[2::20] = "-", "unknown", "?"
    table["y"] = rng.integers(0, 2, 200)
    table.to_csv("t.csv", index=False)
    assert run(["fit", "t.csv", "-t", "y", "-o", "m"]) == 0
    said = capsys.readouterr().err
    hint = "--missing=- --missing unknown"
    assert (
        "columns x0, x1, x2, x3, x4, x5, x6, x7 and 4 more hold numbers, but for '-' and "
        f"'unknown': so the column is categorical; if these are missing, {hint}"
    ) in said
    assert said.count("so the column is categorical") == 1
    assert run(["diagnose", "t.csv", "-t", "y"]) == 0
    assert capsys.readouterr().err.count("so the column is categorical") == 1
    assert run(["fit", "t.csv", "-t", "y", "-o", "m", *hint.split()]) == 0
    said = capsys.readouterr().err
    assert "so the column is categorical" not in said
    assert "--missing" not in said


# ---- stray values --------------------------------------------------------------------------------

STRAYS = ("", "5", "-1.5", "1e400", "x", "true", "False", "2020-02-30", "2021-03-04", "inf",
          "2021-03-04 05:06", "05:06", "5%", "$5", "1,5", "nan", " 7 ", "02139", "[1]")  # fmt: skip


@pytest.fixture(scope="module")
def people():
    """(a model of columns of each type, a row)."""
    rng = np.random.default_rng(0)
    n = 300
    y = rng.integers(0, 2, n)
    hours = rng.integers(0, 200, n) * 24 + 8 * y
    frame = pd.DataFrame({
        "when": np.datetime64("2021-01-01T00:00", "s") + hours * 3600,
        "clock": [f"{8 + 6 * k + h:02d}:15" for k, h in zip(y, rng.integers(0, 8, n), strict=True)],
        "size": rng.normal(y, 1), "flag": rng.random(n) < 0.3 + 0.4 * y,
        "colour": np.where(rng.random(n) < 0.7, np.where(y, "red", "blue"), "green"),
    })  # fmt: skip
    row = {"when": "2021-05-06 08:00", "clock": "10:15", "size": "0.5", "flag": "true",
           "colour": "red"}  # fmt: skip
    return AutoBayes().fit(frame, y), row


@pytest.mark.filterwarnings("ignore:column .* cannot be read:UserWarning")  # infinity
def test_an_invalid_value_means_the_same_alone_in_frames_and_in_files(people, tmp_path, capsys):
    model, row = people
    rows = [row | {name: stray} for name in row for stray in STRAYS]
    whole = pa.Table.from_pylist(rows)
    expected = model.predict_proba(whole)
    assert np.isfinite(expected).all()
    assert np.array_equal(model.predict_proba(pd.DataFrame(rows)), expected)
    alone = [model.predict_proba(pa.Table.from_pylist([one]))[0] for one in rows]
    assert np.array_equal(alone, expected)
    parquet.write_table(whole, tmp_path / "t.parquet")
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(row), quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)
    model.save(tmp_path / "m")
    for name in ("t.parquet", "t.csv"):
        found = model.predict_proba(naively.scan(tmp_path / name))
        assert np.array_equal(found, expected), name
        assert run(["predict", str(tmp_path / "m"), str(tmp_path / name), "--proba", "--json"]) == 0
        lines = [json.loads(line) for line in io.StringIO(capsys.readouterr().out)]
        assert [list(one["probabilities"].values()) for one in lines] == expected.tolist()


@pytest.mark.filterwarnings("ignore:column .* cannot be:UserWarning")  # infinity
def test_an_invalid_value_of_any_type_is_learned_and_forgotten(people):
    model, row = people
    before = model.predict_proba(pd.DataFrame([row]))
    again = copy.deepcopy(model)
    for name in row:
        for stray in STRAYS:
            more = pd.DataFrame([row | {name: stray}])
            again.partial_fit(more, [1])
            again.forget(more, [1])
    assert again.model_ == model.model_
    assert np.array_equal(again.predict_proba(pd.DataFrame([row])), before)


@pytest.mark.filterwarnings("ignore:column .* cannot be:UserWarning")
@pytest.mark.parametrize(
    "infinite", ["inf", "-Infinity", "+INF", "1e400", "-1E+999", "9" * 400, "NAN", "-nan"]
)
def test_infinity_is_missing_among_numbers_and_among_text(infinite):
    """However rows are split: a column may be of numbers in one part, of text in another."""
    x = np.array(["1.5", "2.5", infinite, "x", "", "3.5"], object)
    y = np.array([0, 1, 1, 0, 1, 0])
    whole = AutoBayes().fit(pd.DataFrame({"x": x}), y)
    apart = AutoBayes().fit(pd.DataFrame({"x": x[:3]}), y[:3])
    apart.partial_fit(pd.DataFrame({"x": x[3:]}), y[3:])
    gone = AutoBayes().fit(pd.DataFrame({"x": np.where(x == infinite, "", x)}), y)
    assert whole.model_ == apart.model_ == gone.model_
    words = ["in", "inf.", "++inf", "infinite", "1e40", "nan1", "e", "info", "1e400x", "nana"]
    assert AutoBayes().fit({"x": words}, range(10)).model_.parts[0].levels[0].tolist() == sorted(
        ["1e+40" if one == "1e40" else one for one in words]
    )


def test_identifiers_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    table = pd.DataFrame(
        {"key": [f"k{one:x}" for one in rng.permutation(80)], "x": y + 0.1, "y": y}
    )
    table.to_csv("t.csv", index=False)
    assert run(["fit", "t.csv", "-t", "y", "-o", "m"]) == 0
    assert (
        "left out: key (looks like an identifier: a different value in each row)"
        in capsys.readouterr().out
    )


MOMENT = pd.Timestamp("2021-02-03 04:05").to_pydatetime()
VALUES = [None, True, False, 0, 1, 5, 2.5, "x", "true", "5", "5%", "2020-01-31", "12:30", "inf",
          "NAN", MOMENT]  # fmt: skip


@pytest.mark.filterwarnings("ignore:column .* cannot be:UserWarning")
@pytest.mark.filterwarnings("ignore:no column has evidence:UserWarning")
@given(st.lists(st.sampled_from(VALUES), min_size=2, max_size=12), st.data())
def test_any_split_of_any_values_gives_the_same_model(column, data):
    """Truth values that turn to text late, numbers among dates: whatever the parts look like."""
    at = data.draw(st.integers(1, len(column) - 1))
    y = np.arange(len(column)) % 2
    whole = AutoBayes().fit({"x": np.array(column, object)}, y)
    parts = AutoBayes().fit({"x": np.array(column[:at], object)}, y[:at])
    parts.partial_fit({"x": np.array(column[at:], object)}, y[at:])
    assert parts.model_ == whole.model_
