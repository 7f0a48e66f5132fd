"""Dates and times of day among the columns of `AutoBayes`: ordered, as numbers are."""

import datetime
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naively
from naively import AutoBayes, NaiveBayes
from naively.cli.main import run
from naively.pooling.blocks.calendar import PARTS, values
from naively.pooling.dates import as_dates, seconds
from naively.pooling.structure import arrays_of, plan_of
from naively.tables.values import flat, level_text, level_texts

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


@given(st.lists(st.datetimes(), min_size=1, max_size=20))
def test_parts_of_dates_are_those_of_the_calendar(moments):
    found = seconds(np.array([level_text(one, ()) for one in moments], TEXT))
    assert values(found, 0).tolist() == [one.hour for one in moments]
    assert values(found, 1).tolist() == [one.weekday() for one in moments]
    assert values(found, 2).tolist() == [one.day - 1 for one in moments]
    assert values(found, 3).tolist() == [one.month - 1 for one in moments]
    for part, (_, labels) in enumerate(PARTS):
        assert values(np.array([np.nan]), part).tolist() == [len(labels)]


# ---- models --------------------------------------------------------------------------------------


def joined(n=800, seed=0):
    """(days, labels): those who joined later stay."""
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 1000, n)
    return START + days, np.where(rng.random(n) < 1 / (1 + np.exp((500 - days) / 100)), "in", "out")


def test_a_date_has_evidence_by_calendar_and_time():
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


@pytest.mark.filterwarnings("ignore:.*rows are duplicates")
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
    with pytest.warns(UserWarning, match="2 values such as '2020-02-30' cannot be read"):
        same = model.predict_proba({"day": ["", "soon", None, "2020-02-30"]})
    assert (same == same[0]).all()
    with pytest.warns(UserWarning, match="2 values such as '1.5' cannot be read"):
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
    with pytest.warns(UserWarning, match="such as '2020-01-01' cannot be read"):
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
    shapes = AutoBayes().fit({"day": days}, y).evidence_
    (shape,) = (one for one in shapes if one.kind == "64 bins of time")
    labels = shape.bins[0].labels[:-1]
    spans = [label.split(" to ") for label in labels]
    assert spans[0][0] == str(days.min())
    assert spans[-1][-1] == str(days.max())
    assert sorted(labels) == labels


def test_the_plain_product_leaves_them_out():
    days, y = joined(100)
    with pytest.raises(ValueError, match="dates or times"):
        NaiveBayes().fit({"day": days}, y)


# ---- parts of dates ------------------------------------------------------------------------------


def visits(n=600, seed=0, first="2021-01-01"):
    """(stamps, labels): at night, and on Sundays, others come."""
    rng = np.random.default_rng(seed)
    stamps = np.datetime64(first, "s") + rng.integers(0, 365 * 86_400, n)
    hour = (stamps.astype("int64") // 3600) % 24
    weekday = (stamps.astype("int64") // 86_400 + 3) % 7
    odds = np.where((hour < 6) | (hour > 21), 2.0, -2.0) + np.where(weekday == 6, 1.5, 0)
    return stamps, np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "guest", "staff")


def test_hours_and_weekdays_are_evidence_in_unseen_years():
    stamps, y = visits()
    model = AutoBayes().fit({"at": stamps}, y)
    new, truth = visits(4000, 1, "2030-01-01")
    chance = (truth == "guest").mean()
    assert (model.predict({"at": new}) == truth).mean() > max(chance, 1 - chance) + 0.15
    night, noon = model.predict_proba({"at": ["2030-05-07 02:10", "2030-05-07 12:10"]})[:, 0]
    assert night > 0.7 > 0.3 > noon
    sunday, tuesday = model.predict_proba({"at": ["2030-05-05 02:10", "2030-05-07 02:10"]})[:, 0]
    assert sunday > tuesday


def test_parts_are_shown_with_the_rows_in_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    stamps, y = visits()
    cells = np.where(np.arange(len(y)) % 7 == 0, "", stamps.astype(str))
    model = AutoBayes().fit({"at": cells}, y)
    shapes = {one.kind: one for one in model.evidence_}
    weekdays = shapes["weekdays"]
    assert weekdays.bins[0].labels == [*PARTS[1][1], "missing"]
    known = pd.Series(stamps[cells != ""]).dt.day_of_week.value_counts()
    rows = weekdays.rows.sum(axis=1)
    assert rows[:-1].tolist() == [known[k] for k in range(7)]
    assert rows[-1] == (cells == "").sum()
    assert weekdays.to_arrow().num_rows == 8
    assert {one.kind for one in model.evidence_} >= {"hours", "weekdays"}
    pyarrow.csv.write_csv(pa.table({"at": cells, "y": y.tolist()}), "t.csv")
    assert run(["fit", "t.csv", "-t", "y", "-o", "m"]) == 0
    assert "hours" in capsys.readouterr().out
    assert run(["inspect", "m", "--column", "at"]) == 0
    assert "Sunday" in capsys.readouterr().out


def test_reasons_with_parts_add_up_and_survive_files(tmp_path):
    stamps, y = visits()
    table = {"at": stamps, "x": np.arange(len(y)) % 5}
    model = AutoBayes().fit(table, y)
    proba = model.predict_proba(table)
    prior, parts, _ = model.explain(table).log_odds("guest", "staff")
    assert parts.shape == (len(y), 2)
    assert prior + parts.sum(axis=1) == pytest.approx(np.log(proba[:, 0] / proba[:, 1]))
    model.save(tmp_path / "m")
    again = naively.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(table), proba)
    for k in range(20):  # a row alone
        assert np.array_equal(model.predict_proba({n: c[k : k + 1] for n, c in table.items()})[0],
                              proba[k])  # fmt: skip


def test_models_with_parts_add_up_and_forget():
    stamps, y = visits()
    whole = AutoBayes().fit({"at": stamps}, y)
    a = AutoBayes().fit({"at": stamps[:250]}, y[:250])
    b = AutoBayes().fit({"at": stamps[250:]}, y[250:])
    assert np.array_equal(
        (b + a).predict_proba({"at": stamps}), whole.predict_proba({"at": stamps})
    )
    whole.forget({"at": stamps[250:]}, y[250:])
    assert np.array_equal(whole.predict_proba({"at": stamps}), a.predict_proba({"at": stamps}))


def test_a_plan_with_parts_is_given_to_other_rows(tmp_path):
    stamps, y = visits()
    first = AutoBayes().fit({"at": stamps[:300]}, y[:300])
    other = AutoBayes().fit({"at": stamps[300:]}, y[300:], like=first)
    new, truth = visits(2000, 1)
    assert ((first + other).predict({"at": new}) == truth).mean() > 0.8
    other.save(tmp_path / "m")
    again = naively.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba({"at": new}), other.predict_proba({"at": new}))
    (hours,) = (one for one in other.evidence_ if one.kind == "hours")
    assert not hours.bins  # how many rows of these there are is not known


def test_parts_of_what_holds_no_dates_are_refused():
    stamps, y = visits()
    model = AutoBayes().fit({"x": np.arange(len(y)) % 40, "at": stamps}, y)
    arrays = arrays_of(model.model_.posterior().parameters.plan)
    kinds = bytes(arrays["kinds"]).decode().split()
    plan_of(arrays, 2, 2)
    columns = arrays["columns"].copy()
    columns[arrays["widths"][: kinds.index("calendar")].sum()] = 1  # "at" is first
    forged = arrays | {"columns": columns}
    with pytest.raises(ValueError, match="are of a column that holds no dates"):
        plan_of(forged, 2, 2)
    forged = arrays | {"calendar.parts": np.full_like(arrays["calendar.parts"], 4)}
    with pytest.raises(ValueError, match="unknown part, 4"):
        plan_of(forged, 2, 2)


def test_moments_of_text_are_those_of_frames():
    moments = pd.date_range("2024-03-09 20:00:30.25", periods=90, freq="31h", tz="America/New_York")
    y = np.arange(90) % 2
    text = pd.Series(moments).map(str)
    digests = {naively.digest(AutoBayes().fit({"at": at}, y)) for at in (moments, text)}
    assert len(digests) == 1


# ---- years that are none of 1 to 9999 ------------------------------------------------------------

INFINITY = 2**31 - 1
"""What a date of PostgreSQL that is infinite is in Arrow."""


@pytest.mark.parametrize(
    ("kind", "values", "texts"),
    [
        (pa.date32(), [INFINITY, -(2**31), 2_932_897, 2_932_896, -719_162, -719_163, -719_528],
         ["+5881580-07-11", "-5877641-06-23", "+10000-01-01", "9999-12-31", "0001-01-01",
          "+0000-12-31", "+0000-01-01"]),
        (pa.timestamp("s"), [253_402_300_800, 253_402_300_799, -62_135_596_801],
         ["+10000-01-01", "9999-12-31 23:59:59", "+0000-12-31 23:59:59"]),
        (pa.timestamp("us", "Asia/Kolkata"), [253_402_300_799_000_001, 253_402_300_800_500_000],
         ["9999-12-31 23:59:59.000001+00:00", "+10000-01-01 00:00:00.5+00:00"]),
        (pa.timestamp("s", "Europe/Nowhere"), [86_400], ["1970-01-02 00:00+00:00"]),
    ],
)  # fmt: skip
def test_far_dates_as_text(kind, values, texts):
    column = pa.array(values, pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    places, found = level_texts(flat(column), ())
    assert [found[k] for k in places] == texts


def test_a_far_date_is_missing_with_a_note(tmp_path, capsys):
    """Beside other dates: the model is that of the same rows with nothing there."""
    days, y = joined()
    days = pa.array(days).cast(pa.date32()).cast(pa.int32()).to_numpy()
    far = np.arange(len(y)) % 50 == 0
    path, columns = tmp_path / "t.parquet", {}
    for name, at in (
        ("far", np.where(np.arange(len(y)) % 100 == 0, INFINITY, -800_000)),
        ("none", 0),
    ):
        mask = far if name == "none" else None
        whole = pa.array(np.where(far, at, days).astype(np.int32), mask=mask)
        columns[name] = pa.table({"day": whole.cast(pa.date32()), "y": y})
    noted = "column 'day' .*: 16 values such as '.5881580-07-11' cannot be"
    with pytest.warns(UserWarning, match=noted):
        model = AutoBayes().fit(columns["far"], "y")
    other = AutoBayes().fit(columns["none"], "y")
    assert model.model_.invalid["day"].count == far.sum()
    assert model.model_.invalid["day"].example == "+5881580-07-11"
    assert model.model_.posterior().parameters.plan.columns[0].dated
    rows = columns["far"].drop_columns("y")
    with pytest.warns(UserWarning, match=noted):
        found = model.predict_proba(rows)
    np.testing.assert_array_equal(found, other.predict_proba(columns["none"].drop_columns("y")))
    x = pa.array(np.arange(len(y)) % 7 / 2)
    pyarrow.parquet.write_table(columns["far"].append_column("x", x), path)
    for naive in ([], ["--naive"]):
        assert run(["fit", str(path), "--target", "y", "-o", str(tmp_path / "m"), *naive]) == 0
        assert run(["predict", str(tmp_path / "m"), str(path)]) == 0
        assert "+5881580-07-11" in capsys.readouterr().out
        assert run(["predict", str(tmp_path / "m"), str(path), "--json", "--only"]) == 0


def test_a_far_date_among_numbers_is_reported():
    model = NaiveBayes(columns={"x": "gaussian"}).fit({"x": [1.0, 2.0, 4.0, 5.0]}, [0, 0, 1, 1])
    column = pa.array([INFINITY, 0], pa.int32()).cast(pa.date32())
    with pytest.warns(UserWarning, match="'x' .*: 2 values such as '.5881580-07-11'"):
        assert model.predict_proba({"x": column}).tolist() == [[0.5, 0.5]] * 2
