"""Dates and times of day among the columns of `AutoBayes`: ordered, as numbers are."""

import datetime
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naively
from naively import AutoBayes, NaiveBayes
from naively.cli.main import run
from naively.evidence.dates import as_dates, seconds
from naively.tables.values import level_text

TEXT = np.dtypes.StringDType()
START = np.datetime64("2015-03-01")


def levels(*texts):
    return np.array(sorted(texts), TEXT)


# ---- numbers of dates ----------------------------------------------------------------------------


@given(st.lists(st.datetimes(timezones=st.sampled_from([None, datetime.UTC])), min_size=1))
def test_dates_are_seconds_since_1970(moments):
    """What a date is as text is what it is as a number."""
    texts = np.array([level_text(one, ()) for one in moments], TEXT)
    epoch = datetime.datetime(1970, 1, 1)
    expected = [(one.replace(tzinfo=None) - epoch).total_seconds() for one in moments]
    assert as_dates(texts).tolist() == expected == seconds(texts).tolist()


@given(st.lists(st.times(), min_size=1))
def test_times_are_seconds_of_the_day(times):
    texts = np.array([level_text(one, ()) for one in times], TEXT)
    midnight = datetime.datetime.min
    expected = [
        (datetime.datetime.combine(midnight, one) - midnight).total_seconds() for one in times
    ]
    assert as_dates(texts) == pytest.approx(expected)


def test_zones_say_the_same_moment():
    found = as_dates(levels("2020-01-01 12:00+02:00", "2020-01-01 10:00", "2020-01-01 05:00-05:00"))
    assert len({*found.tolist()}) == 1


@pytest.mark.parametrize(
    "texts",
    [
        ["2020-01-01", "soon"], ["2020-02-30"], ["2020-13-01"], ["12:30", "2020-01-01"],
        ["25:00"], ["20200101"], ["02131011"], ["1.5", "2020-01-01"], ["2020-W01-1"], ["a", "b"],
        ["2020-01-01x"], ["٢٠٢٠-01-01"], ["12:30 sharp"], [""],
    ],
)  # fmt: skip
def test_what_are_no_dates(texts):
    assert as_dates(levels(*texts)) is None


def test_no_levels_and_numbers_are_no_dates():
    assert as_dates(np.empty(0, TEXT)) is None
    assert as_dates(np.array([1.0, 2.0])) is None
    assert all(map(math.isnan, seconds(np.array([1.0, 2.0]))))
    assert math.isnan(seconds(levels("soon"))[0])


# ---- models --------------------------------------------------------------------------------------


def joined(n=800, seed=0):
    """(days, labels): those who joined later stay."""
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 1000, n)
    return START + days, np.where(rng.random(n) < 1 / (1 + np.exp((500 - days) / 100)), "in", "out")


def test_a_date_tells_by_when_it_is():
    """Days that nobody joined on are as those before and after."""
    days, y = joined()
    new, truth = joined(4000, 1)
    model = AutoBayes().fit({"day": days}, y)
    met = np.isin(new, days)
    new, truth = new[~met], truth[~met]
    assert len(truth) > 500
    chance = 1 / (1 + np.exp((500 - (new - START).astype(int)) / 100))
    own = model.predict_proba({"day": new})[:, 0]
    assert np.abs(own - chance).mean() < 0.08
    assert (model.predict({"day": new}) == truth).mean() > (truth == "in").mean() + 0.25
    column = model.model_.posterior().parameters.plan.columns[0]
    assert column.dated
    assert len(column.levels) == 64


def test_dates_are_the_same_whatever_holds_them(tmp_path):
    """Frames of pandas and polars, Arrow and text give the same bits."""
    days, y = joined()
    stamps = days.astype("datetime64[s]") + np.arange(len(days)) % 3 * 3600
    frame = pd.DataFrame({"day": days, "stamp": stamps})
    text = frame.astype(str)
    arrow = pa.table({"day": pa.array(days), "stamp": pa.array(stamps)})
    assert pa.types.is_date(arrow["day"].type)
    model = AutoBayes().fit(frame, y)
    for other in (text, arrow, pl.from_arrow(arrow)):
        again = AutoBayes().fit(other, y)
        assert again.model_ == model.model_
        assert np.array_equal(again.predict_proba(frame), model.predict_proba(other))
    path = tmp_path / "t.csv"
    pyarrow.csv.write_csv(arrow.append_column("y", pa.array(y.tolist())), path)
    assert run(["fit", str(path), "-t", "y", "-o", str(tmp_path / "m")]) == 0
    assert np.array_equal(
        naively.load(tmp_path / "m").predict_proba(text), model.predict_proba(frame)
    )


def test_one_word_makes_levels_of_them_until_it_is_forgotten():
    days, y = joined(300)
    whole = AutoBayes().fit({"day": days}, y)
    table = {"day": [*days.astype(str), "soon"]}
    model = AutoBayes().fit(table, [*y, "in"])
    assert not model.model_.posterior().parameters.plan.columns[0].dated
    model.forget({"day": ["soon"]}, ["in"])
    assert model.model_ == whole.model_
    assert np.array_equal(model.predict_proba({"day": days}), whole.predict_proba({"day": days}))


def test_what_is_no_date_is_missing_and_dates_may_be_missing():
    days, y = joined()
    gone = np.random.default_rng(2).random(len(days)) < 0.2
    cells = np.where(gone, "", days.astype(str))
    model = AutoBayes().fit({"day": cells}, y)
    same = model.predict_proba({"day": ["", "soon", None, "2020-02-30"]})
    assert (same == same[0]).all()
    assert np.array_equal(model.predict_proba({"day": [1.5, 2.5]})[0], same[0])


def test_times_of_the_day():
    rng = np.random.default_rng(0)
    hour, minute = rng.integers(0, 24, 500), rng.integers(0, 60, 500)
    times = [datetime.time(int(h), int(m)) for h, m in zip(hour, minute, strict=True)]
    y = np.where((hour >= 9) & (hour < 17), "work", "rest")
    model = AutoBayes().fit({"at": times}, y)
    asked = {"at": ["10:31:07", "03:14:15", "23:59"]}
    assert model.predict(asked).tolist() == ["work", "rest", "rest"]


def test_numbers_of_a_column_of_numbers_are_no_dates():
    """A date where numbers were learned is missing, as any text is."""
    x = np.random.default_rng(0).normal(size=200)
    model = AutoBayes().fit({"x": x}, np.where(x > 0, "a", "b"))
    found = model.predict_proba({"x": ["2020-01-01", ""]})
    assert np.array_equal(found[0], found[1])


def test_the_report_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    days, y = joined()
    table = pa.table({"day": pa.array(days), "y": y.tolist()})
    pyarrow.csv.write_csv(table, "t.csv")
    assert run(["fit", "t.csv", "-t", "y", "-o", "m"]) == 0
    assert "64 bins of time" in capsys.readouterr().out


def test_bins_are_shown_as_dates():
    days, y = joined()
    (shape,) = AutoBayes().fit({"day": days}, y).evidence_
    labels = shape.bins[0].labels[:-1]
    spans = [label.split(" to ") for label in labels]
    assert spans[0][0] == str(days.min())
    assert spans[-1][-1] == str(days.max())
    assert sorted(labels) == labels


def test_the_plain_product_leaves_them_out():
    days, y = joined(100)
    with pytest.raises(ValueError, match="dates or times"):
        NaiveBayes().fit({"day": days}, y)
