"""Models as SQL queries: databases give the predictions of Python."""

import datetime
import sqlite3
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from exported import KIND, LABELS, MODELS, ROWS, TABLE, fitted, new_rows, with_endless_numbers
from numpy.testing import assert_allclose

from naively import AutoBayes, Categorical, GaussianBayes, NaiveBayes, Student, Text
from naively.cli.main import run

sqlglot = pytest.importorskip("sqlglot", reason="needs naively[export]")
duckdb = pytest.importorskip("duckdb", reason="needs naively[sql]")
adbc_postgresql = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="needs naively[sql]")

from naively.export.formulas import NotExportableError  # noqa: E402
from naively.export.js import to_js  # noqa: E402
from naively.export.sql.query import DIALECTS, to_sql  # noqa: E402


def assert_same(found, model, rows):
    """`found` are the rows of a query: id, prediction, P(...)."""
    found = sorted(found)
    assert [row[0] for row in found] == rows["id"].tolist()
    proba = np.array([row[2:] for row in found], float)
    assert_allclose(proba, model.predict_proba(rows.drop(columns="id")), rtol=0, atol=1e-9)
    assert [row[1] for row in found] == model.predict(rows.drop(columns="id")).tolist()


def by_duckdb(model, rows, *keep):
    """The rows of the query, of the rows of a frame."""
    with duckdb.connect() as database:
        database.register("rows", rows)
        return database.execute(to_sql(model.model_, "duckdb", "rows", keep)).fetchall()


def by_sqlite(model, rows, *keep):
    with sqlite3.connect(":memory:") as lite:
        rows.to_sql("rows", lite, index=False)
        return lite.execute(to_sql(model.model_, "sqlite", "rows", keep)).fetchall()


@pytest.mark.parametrize("name", MODELS)
def test_duckdb_and_sqlite(name):
    model, rows = fitted(name), new_rows()
    with duckdb.connect() as database:
        database.register("given", rows)
        database.execute('create table "the rows" as select * from given')
        query = to_sql(model.model_, "duckdb", '"the rows"', ["id"])
        answer = database.execute(query)
        names = [one[0] for one in answer.description]
        assert names == ["id", "prediction", *(f"P({label})" for label in model.classes_)]
        assert_same(answer.fetchall(), model, rows)
    with sqlite3.connect(":memory:") as lite:
        rows.to_sql("rows", lite, index=False)
        query = to_sql(model.model_, "sqlite", "rows", ["id"])
        assert_same(lite.execute(query).fetchall(), model, rows)


def test_postgresql(postgresql):
    rows = new_rows()
    with adbc_postgresql.connect(postgresql) as connection, connection.cursor() as cursor:
        table = pa.Table.from_pandas(rows.astype({"grade": "Int64"}), preserve_index=False)
        cursor.adbc_ingest("rows to predict", table, mode="replace")
        for name in MODELS:
            model = fitted(name)
            cursor.execute(to_sql(model.model_, "postgres", '"rows to predict"', ["id"]))
            assert_same(cursor.fetchall(), model, rows)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_dialect_is_one_query(dialect):
    (query,) = sqlglot.parse(to_sql(fitted("auto").model_, dialect, "schema.rows"), dialect)
    assert query.named_selects[: len(TABLE.columns)] == [*TABLE.columns]


HOSTILE = {
    "size": [0.0, np.inf, -np.inf, 1e15, -1e9, 5e-324],
    "it's": ["\x1cred\x85", "\u3000it's\t", "red\u200b", "Red", "\n", "\u00a0?"],
    "constant": ["one", "two", None, "", "?", "one"],
}


@pytest.mark.filterwarnings("ignore:column 'size' .* cannot be read")  # infinities
@pytest.mark.parametrize("model", [NaiveBayes(), AutoBayes()], ids=str)
def test_hostile_values(model, postgresql):
    """Blanks of every kind, infinities, and columns that had one value."""
    model.fit(TABLE.assign(constant="one"), LABELS)
    rows = TABLE.iloc[:6].assign(**HOSTILE, id=range(6))
    with adbc_postgresql.connect(postgresql) as connection, connection.cursor() as cursor:
        table = pa.Table.from_pandas(rows, preserve_index=False)
        cursor.adbc_ingest("hostile", table, mode="replace")
        cursor.execute(to_sql(model.model_, "postgres", "hostile", ["id"]))
        post_found = cursor.fetchall()
    for found in (by_duckdb(model, rows, "id"), by_sqlite(model, rows, "id"), post_found):
        assert_same(found, model, rows)


def test_monotone_constraints_hold_in_databases():
    model = AutoBayes(monotone={"width": -1}).fit(TABLE, np.equal(LABELS, LABELS[0]))
    rows = TABLE.iloc[np.zeros(50, int)].assign(width=np.linspace(-5, 5, 50), id=range(50))
    for found in (by_duckdb(model, rows, "id"), by_sqlite(model, rows, "id")):
        assert_same(found, model, rows)


@pytest.mark.filterwarnings("ignore:.*cannot be (used|read):UserWarning")
@pytest.mark.parametrize("kind", [NaiveBayes, AutoBayes])
def test_endless_numbers_among_levels_are_read_as_in_python(kind):
    model, rows = with_endless_numbers(kind)
    rows = rows.assign(id=range(len(rows)))
    assert_same(by_duckdb(model, rows, "id"), model, rows)
    assert_same(by_sqlite(model, rows, "id"), model, rows)


@pytest.mark.parametrize("value", [1e200, -1e308])
def test_numbers_whose_squares_are_infinite_have_no_answer(value, postgresql):
    model = NaiveBayes().fit(TABLE, LABELS)
    rows = TABLE.iloc[:1].assign(width=value)
    (found,), (lite_found,) = by_duckdb(model, rows, "size"), by_sqlite(model, rows, "size")
    assert set(found[1:]) == set(lite_found[1:]) == {None}
    with adbc_postgresql.connect(postgresql) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("huge", pa.Table.from_pandas(rows, preserve_index=False), mode="replace")
        cursor.execute(to_sql(model.model_, "postgres", "huge", ["size"]))
        with pytest.raises(adbc_postgresql.Error, match="out of range"):
            cursor.fetchall()


def test_missing_numbers_have_spellings():
    model = NaiveBayes(missing=["", "-999"]).fit(TABLE, LABELS)
    rows = TABLE.iloc[:9].assign(size=-999.0, width=[-999, 1] * 4 + [-999.0], id=range(9))
    with sqlite3.connect(":memory:") as lite:
        rows.to_sql("rows", lite, index=False)
        assert_same(lite.execute(to_sql(model.model_, "sqlite", "rows", ["id"])), model, rows)


def test_many_spellings_of_a_missing_value():
    """DuckDB would write a cell 2^30 times, were each spelling one NULLIF in another."""
    spellings = [f"none {k}" for k in range(30)]
    model = NaiveBayes(missing=spellings).fit(TABLE, LABELS)
    rows = TABLE.iloc[:9].assign(**{"it's": [" none 29", "red", *spellings[:7]]}, id=range(9))
    assert_same(by_duckdb(model, rows, "id"), model, rows)


def test_labels_that_are_numbers():
    model = NaiveBayes().fit(TABLE, KIND)
    found = by_duckdb(model, TABLE, "size")
    assert [row[1] for row in found] == model.predict(TABLE).tolist()


@pytest.mark.parametrize(("model", "problem"), [
    (NaiveBayes({"odd name": Categorical(alpha=0)}), "'odd name'.*alpha > 0"),
    (NaiveBayes({"size": Student()}), "'size'.*student cannot be exported"),
    (NaiveBayes(unseen="error"), "refuses rows"),
    (NaiveBayes({"it's": Text(weighting="log")}), "\"it's\": counts with weighting"),
])  # fmt: skip
def test_what_cannot_be_said_is_refused(model, problem):
    with pytest.raises(NotExportableError, match=problem):
        to_sql(model.fit(TABLE, LABELS).model_, "duckdb", "rows")


@pytest.mark.parametrize(("names", "dialect", "problem"), [
    (["Size", "size"], "duckdb", "'Size' and 'size' are one column in duckdb"),
    (["Size", "size"], "sqlite", "'Size' and 'size' are one column in sqlite"),
    (["size", ""], "postgres", "no column of a database is called ''"),
    (["size", "a\0b"], "duckdb", r"called 'a\\x00b'"),
])  # fmt: skip
def test_names_that_a_database_cannot_have_are_refused(names, dialect, problem):
    model = NaiveBayes().fit(dict(zip(names, (TABLE["size"], TABLE["width"]), strict=True)), LABELS)
    with pytest.raises(NotExportableError, match=problem):
        to_sql(model.model_, dialect, "rows")


def test_names_that_differ_in_capitals_are_two_columns_in_postgres():
    model = NaiveBayes().fit({"Size": TABLE["size"], "size": TABLE["width"]}, LABELS)
    query = to_sql(model.model_, "postgres", "rows")
    assert '"Size" AS "c0"' in query
    assert '"size" AS "c1"' in query


MOMENTS = {
    "day": pa.date32(), "moment": pa.timestamp("us"), "zoned": pa.timestamp("us", "Europe/Berlin"),
    "clock": pa.time64("us"),
}  # fmt: skip


def dated():
    """(a table of dates and times, labels)."""
    moments = pd.Series(pd.date_range("1969-11-01 23:59:59.5", periods=ROWS, freq="31h"))
    columns = {
        "day": moments.dt.date, "moment": moments, "zoned": moments.dt.tz_localize("UTC"),
        "clock": moments.dt.time,
    }  # fmt: skip
    arrays = {
        name: pa.array(column.where(column.index % 11 != 7, None), kind, from_pandas=True)
        for (name, column), kind in zip(columns.items(), MOMENTS.values(), strict=True)
    }
    odd = (moments.dt.hour < 8) ^ (moments < "1970-05-01")
    return pa.table({"id": range(ROWS), **arrays}), np.array(["no", "yes"])[odd.astype(int)]


def answered_alike(model, table, postgresql):
    """P of each class and row, which Python and both databases have."""
    found = by_duckdb(model, table, "id")
    with adbc_postgresql.connect(postgresql) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("dated", table, mode="replace")
        cursor.execute(to_sql(model.model_, "postgres", "dated", ["id"]))
        post_found = cursor.fetchall()
    proba = model.predict_proba(table.drop_columns("id"))
    for answer in (found, post_found):
        assert_allclose(np.array([row[2:] for row in sorted(answer)], float), proba, atol=1e-9)
    return proba


@pytest.mark.parametrize("name", MOMENTS)
def test_dates_and_times(name, postgresql):
    table, labels = dated()
    table = table.select(["id", name])
    model = AutoBayes().fit(table.select([name])[:200], labels[:200])
    proba = answered_alike(model, table, postgresql)
    assert len(np.unique(proba[:, 0])) > 5


@pytest.mark.parametrize("part", ["hour", "day_of_week", "day", "month"])
def test_parts_of_dates_of_any_century(part, postgresql):
    draw = np.random.default_rng(0)
    start, end = np.datetime64("1700-01-01", "s"), np.datetime64("2250-01-01", "s")
    moments = start + draw.integers(0, (end - start).astype(int), 3000).astype("m8[s]")
    days = ["1900-02-28", "1900-03-01", "2000-02-29", "1970-01-01", "1969-12-31T23:59:59", "NaT"]
    moments = np.append(moments, np.array(days, "M8[s]"))
    told = getattr(pd.Series(moments).dt, part).isin([2, 3, 11])
    table = pa.table({"id": range(len(moments)), "moment": moments.astype("M8[us]")})
    model = AutoBayes().fit(table.select(["moment"]), told)
    proba = answered_alike(model, table, postgresql)
    assert ((proba[:, 1] > 0.5) == told).mean() > 0.99


def test_a_microsecond_before_the_hour_is_of_that_hour():
    hours = np.datetime64("1600-01-01", "us") + np.arange(3000) * np.timedelta64(1501, "h")
    table = pa.table({"moment": hours - np.tile(np.array([0, 1, 1_800_000_000], "m8[us]"), 1000)})
    told = pd.Series(table["moment"].to_numpy()).dt.hour.isin([2, 3, 11])
    model = AutoBayes().fit(table, told)
    found = by_duckdb(model, table)
    proba = model.predict_proba(table)
    assert ((proba[:, 1] > 0.5) == told).all()
    assert_allclose(np.sort([row[-1] for row in found]), np.sort(proba[:, 1]), atol=1e-9)


def test_text_of_dates_is_an_error():
    table, labels = dated()
    table = table.select(["day"])
    model = AutoBayes().fit(table, labels)
    with duckdb.connect() as database:
        database.register("rows", table.to_pandas().astype(str))
        with pytest.raises(duckdb.Error, match="epoch"):
            database.execute(to_sql(model.model_, "duckdb", "rows"))
    for dialect in ("bigquery", "snowflake", "sqlite"):
        with pytest.raises(NotExportableError, match="'day' holds dates"):
            to_sql(model.model_, dialect, "rows")
    with pytest.raises(NotExportableError, match="'day' holds dates"):
        to_js(model.model_)


def test_of_arrays():
    model = GaussianBayes().fit(TABLE[["size", "width"]].fillna(0.0), LABELS)
    with pytest.raises(NotExportableError, match="cannot be exported"):
        to_sql(model.model_, "duckdb", "rows")


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = fitted("auto")
    model.save("m")
    assert run(["export", "m", "--sql", "duckdb", "--table", "people", "--keep", "size"]) == 0
    assert capsys.readouterr().out == to_sql(model.model_, "duckdb", "people", ["size"])
    assert run(["export", "m", "--sql", "sqlite", "-o", "q.sql"]) == 0
    assert Path("q.sql").read_text() == to_sql(model.model_, "sqlite", "rows")
    assert capsys.readouterr().out.startswith("saved  q.sql (")
    assert run(["export", "m", "--sql", "oracle"]) == 2
    NaiveBayes({"it's": Text(weighting="log")}).fit(TABLE, LABELS).save("t")
    assert run(["export", "t", "--sql", "duckdb", "-o", "no.sql"]) == 1
    assert "counts with weighting or length_norm cannot be exported" in capsys.readouterr().err
    assert not Path("no.sql").exists()


WAYS = {
    "12:30": ["12:30:00", "12:30"],
    "2020-01-01": ["2020-01-01 00:00:00", "2020-01-01T00:00", "2020-01-01"],
    "2020-01-01 10:30:00.5": ["2020-01-01T10:30:00.500", "2020-01-01 10:30:00.500000"],
    "2020-01-01T10:30Z": ["2020-01-01 10:30:00+00:00", "2020-01-01 10:30+0000"],
    "1.50": ["1.5", "1.50", "15e-1", "+1.500"],
    "1e5": ["100000", "1e+5", "100000.00", "0.1E6"],
    "1e-100": ["1e-100", "1e-99"],
    "0": ["-0.0", "+0", ".0", "0e9"],
    "02139": ["02139", "2139", "002139", "02139.0", "-02139", "+2139"],
    "9007199254740993": ["9007199254740993", "9007199254740992"],
    "n/k": ["", "?", "5.", "05", "+5", "1e", ".", "-", "1-2", "2020-02-30", "1_0", "0x5", "1e99"],
}


@pytest.mark.parametrize("missing", [None, ["", "5", "1.5"]])
def test_levels_are_the_same_however_they_are_written(missing, postgresql):
    """Of the very table that was learned 1e5, 1.50 and 12:30:00 were levels never met."""
    codes = np.arange(240) % len(WAYS)
    labels = np.where(np.arange(240) % 7 < codes % 5 + 1, "a", "b")
    model = NaiveBayes({"x": "categorical"}, **({"missing": missing} if missing else {}))
    model.fit({"x": np.array([*WAYS])[codes]}, labels)
    texts = pd.DataFrame({"x": [*WAYS, *(one for ways in WAYS.values() for one in ways)]})
    numbers = pd.DataFrame({"x": [1.5, 0.0, -0.0, 1e5, 5.0, 0.1 + 0.2, 2139.0]})
    for rows in (texts, numbers):
        rows["id"] = range(len(rows))
        assert_same(by_duckdb(model, rows, "id"), model, rows)
        assert_same(by_sqlite(model, rows, "id"), model, rows)
        with adbc_postgresql.connect(postgresql) as connection, connection.cursor() as cursor:
            table = pa.Table.from_pandas(rows, preserve_index=False)
            cursor.adbc_ingest("ways", table, mode="replace")
            cursor.execute(to_sql(model.model_, "postgres", "ways", ["id"]))
            assert_same(cursor.fetchall(), model, rows)


def test_levels_are_the_same_of_whatever_type_they_are():
    """A TIME was 12:30:00, a DECIMAL 1.50: levels never met."""
    table = pa.table(
        {
            "clock": pa.array([datetime.time(12, 30), datetime.time(9, 15, 30), None] * 40),
            "moment": pa.array(
                [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, 8), None] * 40
            ),
            "price": pa.array([Decimal("1.50"), Decimal("2.00"), None] * 40),
        }
    )
    model = NaiveBayes(dict.fromkeys(table.column_names, "categorical"))
    model.fit(table, ["a", "b", "a", "b", "b", "a"] * 20)
    rows = table.slice(0, 6).append_column("id", pa.array(range(6)))
    found = sorted(by_duckdb(model, rows, "id"))
    proba = np.array([row[2:] for row in found], float)
    assert_allclose(proba, model.predict_proba(table.slice(0, 6)), rtol=0, atol=1e-9)


def rounded_fractions():
    """Categories of fractions, learned as float32 or as float64; rows of both, and unseen ones."""
    values = np.tile([0.1, 0.3, 0.7, 1e-9, 16777.21], 16)
    y = (np.arange(80) % 5 > 1).astype(int)
    y[::7] ^= 1
    near = np.float32([0.1, 0.7]).astype(np.float64)
    given = np.concatenate([
        values[:5], np.float32(values[:5]), near + 3e-9, near + 5e-9, near - 4e-9,
        [0.1000001, 0.2, 1.0, np.nan],
    ]).astype(np.float64)  # fmt: skip
    models = [NaiveBayes().fit({"x": values.astype(kind)}, y) for kind in ("f4", "f8")]
    models.append(NaiveBayes({"x": Categorical()}).fit({"x": values.astype("f4").astype(str)}, y))
    return models, pd.DataFrame({"x": given, "id": range(len(given))})


@pytest.mark.parametrize("place", range(3))
def test_fractions_that_were_rounded_to_float32_are_found(place):
    models, rows = rounded_fractions()
    model = models[place]
    assert_same(by_duckdb(model, rows, "id"), model, rows)
    assert_same(by_sqlite(model, rows, "id"), model, rows)
    known, own = (model.predict_proba({"x": kind([0.1, 0.3])}) for kind in (np.array, np.float32))
    assert_allclose(known, own, atol=1e-12)
    assert known[0, 1] != pytest.approx(model.predict_proba({"x": [0.2]})[0, 1], abs=1e-3)
    with duckdb.connect() as database:  # REAL in the database, doubles in the model, or both
        database.execute("create table rows as select 0.3::real as x, 7 as id")
        ((_, _, *found),) = database.execute(
            to_sql(model.model_, "duckdb", "rows", ["id"])
        ).fetchall()
    assert_allclose(found, model.predict_proba({"x": [0.3]})[0], atol=1e-9)
