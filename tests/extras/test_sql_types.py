"""Queries where a database types columns, reads names or writes text in another way than Python."""

import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from naively import AutoBayes, GaussianBayes, NaiveBayes, Poisson, TextNB
from naively.cli.main import run

sqlglot = pytest.importorskip("sqlglot", reason="needs naively[export]")
duckdb = pytest.importorskip("duckdb", reason="needs naively[sql]")
adbc_postgresql = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="needs naively[sql]")

from naively.export.formulas import NotExportableError  # noqa: E402
from naively.export.sql import to_sql  # noqa: E402

RNG = np.random.default_rng(0)
LABELS = np.where(RNG.random(400) < 0.4, "a", "b")
FLAG = RNG.random(400) < np.where(LABELS == "a", 0.8, 0.3)
NUMBER = RNG.integers(1, 4, 400)
OTHER = np.where(RNG.random(400) < 0.5, "u", "v")
TYPES = {
    "yes and no as truth values": (np.where(FLAG, "yes", "no"), FLAG),
    "y and n as truth values": (np.where(FLAG, "y", "n"), FLAG),
    "truth values as integers": (FLAG, FLAG.astype(int)),
    "truth values as text": (FLAG, np.where(FLAG, "true", "false")),
    "0 and 1 as truth values": (FLAG.astype(int), FLAG),
    "text of numbers as integers": (np.where(FLAG, "1", "2"), np.where(FLAG, 1, 2)),
    "integers as text": (NUMBER, NUMBER.astype(str)),
    "integers as decimals in text": (NUMBER, [f"{value}.00" for value in NUMBER]),
    "integers as float64": (NUMBER, NUMBER.astype(float)),
}


def by_postgresql(address, query, table, *before):
    """The rows of a query, of the rows of a table called `rows`."""
    with adbc_postgresql.connect(address) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("rows", table, mode="replace")
        for command in before:
            cursor.execute(command)
        cursor.execute(query)
        return cursor.fetchall()


def by_duckdb(query, table):
    with duckdb.connect() as database:
        database.register("rows", table)
        return database.execute(query).fetchall()


def by_sqlite(query, table):
    with sqlite3.connect(":memory:") as lite:
        table.to_pandas().to_sql("rows", lite, index=False)
        return lite.execute(query).fetchall()


def proba_of(found):
    """P of each class, of rows (id, prediction, P ...) in any order."""
    return np.array([row[2:] for row in sorted(found)], float)


# ---- types ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [NaiveBayes, AutoBayes])
@pytest.mark.parametrize("name", TYPES)
def test_values_are_the_same_whatever_the_type_of_the_column(name, kind, postgresql):
    """Each row counted as unseen, in silence."""
    learned, given = TYPES[name]
    model = kind().fit(pd.DataFrame({"x": learned, "other": OTHER}), LABELS)
    expected = model.predict_proba(pd.DataFrame({"x": learned, "other": OTHER}))
    frame = pd.DataFrame({"x": given, "other": OTHER})
    assert_allclose(model.predict_proba(frame), expected, atol=1e-12)
    table = pa.Table.from_pandas(frame.assign(id=range(400)), preserve_index=False)
    for dialect, ask in (("duckdb", by_duckdb), ("sqlite", by_sqlite)):
        found = ask(to_sql(model.model_, dialect, "rows", ["id"]), table)
        assert_allclose(proba_of(found), expected, atol=1e-9)
    query = to_sql(model.model_, "postgres", "rows", ["id"])
    if kind is AutoBayes and name == "0 and 1 as truth values":  # which are bins of numbers there
        with pytest.raises(adbc_postgresql.Error, match="cannot cast type boolean"):
            by_postgresql(postgresql, query, table)
        return
    assert_allclose(proba_of(by_postgresql(postgresql, query, table)), expected, atol=1e-9)


def test_numbers_in_columns_of_text_of_sqlite_are_numbers():
    """They counted as missing, in silence."""
    x = RNG.normal(LABELS == "a").round(3)
    model = NaiveBayes().fit({"x": x}, LABELS)
    table = pa.table({"x": [*x.astype(str)[:-1], "no number"], "id": range(400)})
    found = proba_of(by_sqlite(to_sql(model.model_, "sqlite", "rows", ["id"]), table))
    assert_allclose(found, model.predict_proba({"x": [*x[:-1], None]}), atol=1e-9)


def test_a_column_without_any_known_category_is_reported(tmp_path, capsys):
    codes = np.where(FLAG, "02139", "01001")
    pd.DataFrame({"zip": codes, "other": OTHER, "y": LABELS}).to_csv(
        tmp_path / "t.csv", index=False
    )
    for kind in (NaiveBayes, AutoBayes):
        model = kind().fit(pd.DataFrame({"zip": codes, "other": OTHER}), LABELS)
        numbers = pd.DataFrame({"zip": codes.astype(int), "other": OTHER})
        for asked in (model.predict, model.predict_proba, model.predict_log_proba):
            with pytest.warns(
                UserWarning, match="'zip': none of its 400 values, such as '1001', is"
            ):
                asked(numbers)
        model.predict(numbers[:5])  # few rows may well be of new categories
        one = numbers.assign(zip=["02139", *numbers["zip"][1:]])
        model.predict(one)
        query = to_sql(model.model_, "duckdb", "rows")
        assert "--   'zip': '01001', '02139'\n" in query
        sqlglot.parse_one(query, dialect="duckdb")
    file, source = tmp_path / "m.model", f"from '{tmp_path / 't.csv'}'"
    assert run(["fit", str(tmp_path / "t.csv"), "-t", "y", "-o", str(file)]) == 0
    capsys.readouterr()
    for sql, reported in ((f"select zip::int as zip, other, y {source}", True),
                          (f"select * {source}", False)):  # fmt: skip
        for command in ("evaluate", "predict"):
            assert run([command, str(file), "--sql", sql, "--database", "duckdb:"]) == 0
            error = capsys.readouterr().err
            assert ("column 'zip': none of its 400 values" in error) == reported, (command, error)


# ---- names ---------------------------------------------------------------------------------------


def test_names_alike_in_what_postgresql_reads_are_refused():
    names = ["é" * 31 + "x1", "é" * 31 + "x2"]  # of which it reads 31 letters and x
    model = NaiveBayes().fit(dict.fromkeys(names, RNG.normal(size=400)), LABELS)
    with pytest.raises(NotExportableError, match="which reads the first 63 bytes of a name"):
        to_sql(model.model_, "postgres", "rows")
    to_sql(model.model_, "duckdb", "rows")
    model = NaiveBayes().fit({names[0]: RNG.normal(size=400)}, LABELS)
    to_sql(model.model_, "postgres", "rows")
    with pytest.raises(NotExportableError, match="one column in postgres"):
        to_sql(model.model_, "postgres", "rows", [names[1]])


def test_labels_alike_in_what_postgresql_reads_are_columns_of_their_own(postgresql):
    labels = np.where(LABELS == "a", "ü" * 40 + "1", "ü" * 40 + "2")
    x = RNG.normal(LABELS == "a")
    model = NaiveBayes().fit({"x": x, "prediction": OTHER}, labels)
    query = to_sql(model.model_, "postgres", "rows")
    table = pa.table({"x": x, "prediction": OTHER})
    found = by_postgresql(
        postgresql, "select * from predicted", table, "drop table if exists predicted",
        f"create table predicted as {query}",
    )  # fmt: skip
    assert [row[1] for row in found] == OTHER.tolist()
    assert [row[2] for row in found] == model.predict(table).tolist()
    assert_allclose(np.array([row[3:] for row in found]), model.predict_proba(table), atol=1e-9)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "bigquery", "snowflake", "sqlite"])
def test_what_is_no_name_of_a_table_is_refused_in_a_line(dialect, tmp_path, capsys):
    NaiveBayes().fit({"x": OTHER}, LABELS).save(tmp_path / "m")
    export = ["export", str(tmp_path / "m"), "--sql", dialect, "--table"]
    for name in ('p"x', "", "a."):
        assert run([*export, name]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{dialect} has no table {name!r}" in line
    assert run([*export, '"p""x"']) == 0


# ---- numbers and text of PostgreSQL --------------------------------------------------------------


def test_numbers_very_near_a_mean_have_an_answer(postgresql):
    """Their squares underflow, which ended the whole query."""
    x = np.where(LABELS == "a", 1.0, -1.0) * np.tile([1.0, 3.0], 200)
    frame = {"x": np.append(x[:-4], [1e-170, -1e-170, 1e-300, 5e-324]), "y": np.tile(x[:2], 200)}
    frame["y"] = np.where(LABELS == "a", x, 2 * x)
    counts = {"n": np.append(RNG.poisson(3, 396), [0, 1, 2, 3])}
    tiny = {"x": [1e-170, 5e-324, 0.0, -1e-163, 2.5], "y": [5e-324, 1e-200, 0.0, 1e-170, -1e-155]}
    for model, learned, rows in (
        (NaiveBayes(), frame, tiny),
        (AutoBayes(), frame, tiny),
        (GaussianBayes(covariance="tied_diagonal"), pd.DataFrame(frame), pd.DataFrame(tiny)),
        (NaiveBayes({"n": Poisson()}), counts, {"n": [5e-324, 1e-310, 0.0, 1.0, 3.0]}),
    ):
        model.fit(learned, LABELS)
        table = pa.table({**rows, "id": range(5)})
        found = by_postgresql(postgresql, to_sql(model.model_, "postgres", "rows", ["id"]), table)
        assert_allclose(proba_of(found), model.predict_proba(rows), atol=1e-9)


@pytest.mark.parametrize("conforming", ["on", "off"])
def test_backslashes_in_text_are_themselves_whatever_the_server_says(conforming, postgresql):
    levels = np.array([r"a\b", r"\'; drop table rows; --", r"c:\\d", "it's", r"\n", "1.5", "15"])
    x = levels[np.arange(400) % 7]
    labels = np.where(RNG.random(400) < np.arange(400) % 7 / 7, r"l\1", "l'2")
    before = f"set standard_conforming_strings = {conforming}"
    for model in (NaiveBayes(missing=[r"\N"]), AutoBayes()):
        model.fit({"x": x}, labels)
        rows = {"x": [*levels, "ab", "1e5", "1x5", None, r"\N"]}
        table = pa.table({**rows, "id": range(12)})
        query = to_sql(model.model_, "postgres", "rows", ["id"])
        found = by_postgresql(postgresql, query, table, before)
        assert_allclose(proba_of(found), model.predict_proba(rows), atol=1e-9)
        assert [row[1] for row in sorted(found)] == model.predict(rows).tolist()
    texts = ["one two", "two three", "three one one", "four"] * 10
    model = TextNB(weights=None).fit(texts, ["x", "y"] * 20)
    query = to_sql(model.model_, "postgres", "rows", ["x0"])
    found = by_postgresql(postgresql, query, pa.table({"x0": texts}), before)
    for text, _, *proba in found:
        assert_allclose(proba, model.predict_proba([text])[0], atol=1e-9)
