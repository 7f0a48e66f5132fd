"""Models as queries: what databases make of them, beside what Python says."""

import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from naively import (
    AutoBayes,
    Bernoulli,
    Categorical,
    GaussianBayes,
    Multinomial,
    NaiveBayes,
    Poisson,
    Student,
)
from naively.cli.main import run

sqlglot = pytest.importorskip("sqlglot", reason="needs naively[export]")
duckdb = pytest.importorskip("duckdb", reason="needs naively[sql]")
adbc_postgresql = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="needs naively[sql]")

from naively.export.formulas import NotExportableError  # noqa: E402
from naively.export.sql import DIALECTS, to_sql  # noqa: E402

GENERATOR = np.random.default_rng(0)
ROWS = 300
KIND = GENERATOR.integers(3, size=ROWS)
TABLE = pd.DataFrame({
    "size": KIND + GENERATOR.normal(size=ROWS) * 1.5 + 1e6,
    "width": GENERATOR.normal(size=ROWS) * (1 + KIND),
    "visits": GENERATOR.poisson(2 + 2 * KIND).astype(float),
    "it's": np.array(["red", "it's", "2", "green"])[(KIND + GENERATOR.integers(2, size=ROWS)) % 4],
    "grade": GENERATOR.integers(5, size=ROWS) % (2 + KIND),
    "odd name": np.array(["a", "b"])[(KIND == 1) ^ (GENERATOR.random(ROWS) < 0.2) * 1],
})  # fmt: skip
for name, part in (("size", 7), ("width", 5), ("it's", 6), ("visits", 9)):
    TABLE.loc[TABLE.index % part == 0, name] = None
LABELS = np.array(["low", "the middle's", "high"])[KIND]
MODELS = {
    "naive": NaiveBayes(),
    "counts": NaiveBayes({"visits": Poisson(), "grade": "categorical"}),
    "bernoulli": NaiveBayes({"grade": Bernoulli(), "width": "skip"}),
    "events": NaiveBayes({("visits", "grade"): Multinomial(), "size": "skip"}),
    "levels, new ones ignored": NaiveBayes(unseen="ignore"),
    "uniform": NaiveBayes(prior="uniform"),
    "auto": AutoBayes(),
    "two classes": AutoBayes(),
}


def new_rows():
    """Rows with levels and numbers that were never met, and with nothing at all."""
    rows = TABLE.sample(80, random_state=1).reset_index(drop=True)
    rows.loc[0:3, "it's"] = ["new", " red ", "?", ""]
    rows.loc[4:7, "size"] = [-1e9, 1e9, 0.0, np.nan]
    rows.loc[8] = None
    return rows.assign(id=range(len(rows)))


def fitted(name):
    rows = KIND != 2 if name == "two classes" else KIND >= 0
    return MODELS[name].fit(TABLE[rows], LABELS[rows])


def assert_same(found, model, rows):
    """`found` are the rows of a query: id, prediction, P(...)."""
    found = sorted(found)
    assert [row[0] for row in found] == rows["id"].tolist()
    proba = np.array([row[2:] for row in found], float)
    assert_allclose(proba, model.predict_proba(rows.drop(columns="id")), rtol=0, atol=1e-9)
    assert [row[1] for row in found] == model.predict(rows.drop(columns="id")).tolist()


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


def test_labels_that_are_numbers():
    model = NaiveBayes().fit(TABLE, KIND)
    with duckdb.connect() as database:
        database.register("rows", TABLE)
        found = database.execute(to_sql(model.model_, "duckdb", "rows", ["size"])).fetchall()
    assert [row[1] for row in found] == model.predict(TABLE).tolist()


@pytest.mark.parametrize(("model", "problem"), [
    (NaiveBayes({"odd name": Categorical(alpha=0)}), "'odd name'.*alpha > 0"),
    (NaiveBayes({"size": Student()}), "'size'.*student cannot be exported"),
    (NaiveBayes(unseen="error"), "refuses rows"),
    (NaiveBayes({"it's": "text"}), "text cannot be exported"),
])  # fmt: skip
def test_what_cannot_be_said_is_refused(model, problem):
    with pytest.raises(NotExportableError, match=problem):
        to_sql(model.fit(TABLE, LABELS).model_, "duckdb", "rows")


def test_dates_are_refused():
    days = pd.date_range("2026-01-01", periods=ROWS).astype(str)
    with pytest.raises(NotExportableError, match="'day' holds dates"):
        to_sql(AutoBayes().fit(TABLE.assign(day=days), days < "2026-05").model_, "duckdb", "rows")


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
    assert run(["export", "m", "--sql", "oracle"]) == 2
    NaiveBayes({"it's": "text"}).fit(TABLE, LABELS).save("t")
    assert run(["export", "t", "--sql", "duckdb", "-o", "no.sql"]) == 1
    assert "text cannot be exported" in capsys.readouterr().err
    assert not Path("no.sql").exists()
