"""SQL as a source: relations and cursors in Python, `--sql` and `--database` of the commands."""

import sqlite3

import numpy as np
import pyarrow as pa
import pytest

import naively
from naively import NaiveBayes
from naively.cli.main import run
from naively.io.databases import MEMORY, queried
from naively.io.inputs import TableError

duckdb = pytest.importorskip("duckdb", reason="needs naively[sql]")
adbc_sqlite = pytest.importorskip("adbc_driver_sqlite.dbapi", reason="needs naively[sql]")
adbc_postgresql = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="needs naively[sql]")

COPIES = "ignore:Arrow output on a DB-API result"  # a hint of DuckDB's


def table(n=4000):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return pa.table({
        "height": pa.array(rng.normal(y, 1.0), mask=rng.random(n) < 0.1),
        "job": pa.array(np.array(["clerk", "boss", "it's"])[(y + rng.integers(0, 2, n)) % 3]),
        "visits": rng.poisson(3 + y, n),
        "label": np.array(["no", "yes"])[y],
    })  # fmt: skip


ROWS = table()


@pytest.fixture(scope="module")
def frame():
    return NaiveBayes().fit(ROWS, "label")


@pytest.fixture(scope="module")
def databases(tmp_path_factory):
    """The table in files of DuckDB and SQLite."""
    folder = tmp_path_factory.mktemp("data bases")
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("given", ROWS)
        connection.sql("create table t as select * from given")
    with sqlite3.connect(folder / "t.sqlite") as connection:
        connection.execute("create table t (height real, job text, visits integer, label text)")
        listed = [tuple(row.values()) for row in ROWS.to_pylist()]
        connection.executemany("insert into t values (?, ?, ?, ?)", listed)
    connection.close()
    return [f"duckdb:{folder / 't.duckdb'}", f"sqlite:{folder / 't.sqlite'}"]


# ---- Python --------------------------------------------------------------------------------------


def test_a_relation_of_duckdb_is_learned_as_the_frame_and_read_again(frame):
    with duckdb.connect() as connection:
        connection.register("given", ROWS)
        relation = connection.sql("select * from given")
        model = NaiveBayes().fit(relation, "label")
        assert model.model_ == frame.model_
        assert np.array_equal(model.predict_proba(relation), frame.predict_proba(ROWS))
        assert model.score(relation, "label") == frame.score(ROWS, "label")
        with pytest.raises(ValueError, match="which is not a column"):
            NaiveBayes().fit(relation, "nope")
        assert connection.sql("select 1").fetchall() == [(1,)]  # nothing was left open
        wrong = connection.sql("select if(visits > 5, error('too many'), 1) as v, label from given")
        with pytest.raises(duckdb.Error, match="too many"):
            model.fit(wrong, "label")
        assert model.model_ == frame.model_
        assert connection.sql("select 1").fetchall() == [(1,)]
        enums = connection.sql("select job::enum('clerk', 'boss', 'it''s') job, label from given")
        assert NaiveBayes().fit(enums, "label").classes_.tolist() == ["no", "yes"]


@pytest.mark.filterwarnings(COPIES)
def test_a_result_of_duckdb_is_read_once(frame):
    with duckdb.connect() as connection:
        connection.register("given", ROWS)
        result = connection.execute("select * from given")
        assert NaiveBayes().fit(result, "label").model_ == frame.model_
        with pytest.raises(ValueError, match="no result to read: it can be read only once"):
            frame.predict(result)


def test_a_cursor_of_adbc_is_read_once(frame, databases):
    path = databases[1].partition(":")[2]
    with adbc_sqlite.connect(path) as connection, connection.cursor() as cursor:
        cursor.execute("select * from t")
        assert NaiveBayes().fit(cursor, "label").model_ == frame.model_
        with pytest.raises(ValueError, match="only once"):
            frame.predict(cursor)
        cursor.execute("select * from t limit 10")
        assert len(frame.predict(cursor)) == 10


# ---- the command line ----------------------------------------------------------------------------


def command(*arguments):
    return [*map(str, arguments)]


def test_a_query_is_what_a_file_is_for_every_command(databases, frame, tmp_path, capsys):
    file, csv = tmp_path / "m.model", tmp_path / "t.csv"
    pa.csv.write_csv(ROWS, csv)
    for database in databases:
        every = ["--sql", "select * from t", "--database", database]
        some = ["--sql", "select * from t where visits > 6", "--database", database]
        fitted = command("fit", *every, "--target", "label", "--naive", "-o", file)
        assert run(fitted) == 0
        assert naively.load(file).model_ == frame.model_
        for asked in (["evaluate", file], ["predict", file], ["explain", file, "--row", 2],
                      ["predict", file, "--proba", "--json"], ["drift", file]):  # fmt: skip
            capsys.readouterr()
            assert run(command(*asked, csv)) == 0
            of_file = capsys.readouterr().out
            assert run(command(*asked, *every)) == 0
            of_query = capsys.readouterr().out
            if "predict" not in asked:  # whose numbers of a CSV file are the text that they were
                assert of_query.split("rows")[0] == of_file.split("rows")[0]
            assert len(of_query.splitlines()) == len(of_file.splitlines()) > 5
        assert run(command("update", file, *some)) == 0
        assert naively.load(file).model_.rows > ROWS.num_rows
        assert run(command("forget", file, *some)) == 0
        assert naively.load(file).model_ == frame.model_
        assert run(command("diagnose", *every, "--target", "label", "--json")) == 0
        only = ["--only", "naive Bayes", "--splits", 2, "--json"]
        assert run(command("compare", *every, "--target", "label", *only)) == 0
        capsys.readouterr()


WRONG = "select * from t"


@pytest.mark.parametrize(
    ("sql", "database", "said"),
    [
        (WRONG, "mysql://me:hush@host/name", "--database mysql://me:***@host/name: write postgres"),
        (WRONG, "postgresql://me:hush%zz@host/name", "postgresql://me:***@host/name: "),
        (WRONG, "postgresql://me@localhost:1/name?password=hush", "password=***: IO: [libpq]"),
        (WRONG, "duckdb:none.db", "none.db: there is no such file"),
        (WRONG, "sqlite:none.db", "none.db: there is no such file"),
        (WRONG, "duckdb:", "Table with name t does not exist"),
        ("selec", "duckdb:", 'syntax error at or near "selec"'),
        ("", "duckdb:", "the query gives no rows"),
        ("select * from u", 0, "Table with name u does not exist"),
        ("select * from u", 1, "no such table: u"),
        ("select label, label from t", 0, "several columns are named 'label'"),
        ("select label, label from t", 1, "several columns are named 'label'"),
        ("create table u (a int)", 0, "read-only"),
        ("create table u (a int)", 1, "readonly"),
        ("select * from t where visits < 0", 0, "there are no rows"),
        ("select * from t where visits < 0", 1, "there are no rows"),
        ("select visits from t", 1, "there is no column 'label'"),
        ("select label, if(visits > 6, error('oh'), 1) from t", 0, "oh"),
        (WRONG, None, "--sql (the query) and --database (where it runs) belong together"),
        (None, "duckdb:", "--sql (the query) and --database (where it runs) belong together"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(sql, database, said, databases, tmp_path, capsys):
    if isinstance(database, int):
        database = databases[database]
    options = [*(["--sql", sql] if sql is not None else []),
               *(["--database", database] if database is not None else [])]  # fmt: skip
    code = run(command("fit", *options, "--target", "label", "-o", tmp_path / "m.model"))
    error = capsys.readouterr().err
    assert code in (1, 2)
    assert said in error
    assert "hush" not in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "m.model").exists()


def test_a_database_is_never_written_over(databases, capsys):
    for database in databases:
        path = database.partition(":")[2]
        options = ["--sql", "select * from t", "--database", database, "--target", "label"]
        assert run(command("fit", *options, "-o", path)) == 2
        assert "among the files that are read" in capsys.readouterr().err
    assert run(command("fit", "some.csv", *options, "-o", "m.model")) == 2
    assert "leave out files" in capsys.readouterr().err


def test_values_of_another_type_further_down_are_said(tmp_path, capsys):
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        connection.execute("create table t (a, label)")
        connection.executemany("insert into t values (?, 'x')", [(k,) for k in range(3000)])
        connection.execute("insert into t values ('many', 'y')")
    connection.close()
    options = ["--sql", "select * from t", "--database", f"sqlite:{tmp_path / 't.sqlite'}"]
    output = tmp_path / "m.model"
    assert run(command("fit", *options, "--target", "label", "-o", output)) == 1
    assert "Type mismatch" in capsys.readouterr().err
    options[1] = "select cast(a as text) as a, label from t"
    assert run(command("fit", *options, "--target", "label", "-o", output)) == 0


def test_duckdb_holds_no_more_than_it_may():
    held = queried("select current_setting('memory_limit') as it", "duckdb:")
    assert held.to_table()["it"].to_pylist() == ["488.2 MiB"]
    assert MEMORY == "512MB"
    more = queried(
        "set memory_limit = '1GB'; select current_setting('memory_limit') as it", "duckdb:"
    )
    assert more.to_table()["it"].to_pylist() == ["953.6 MiB"]


def test_a_query_can_be_read_once():
    found = queried("select 1 as a", "duckdb:")
    assert found.to_table().to_pydict() == {"a": [1]}
    with pytest.raises(TableError):
        found.to_table()


# ---- PostgreSQL ----------------------------------------------------------------------------------


def test_postgresql_is_a_source_too(postgresql, frame, tmp_path, capsys):
    with adbc_postgresql.connect(postgresql) as connection:
        with connection.cursor() as cursor:
            cursor.adbc_ingest("t", ROWS, mode="replace")
            cursor.execute("create type mood as enum ('sad', 'happy')")
            cursor.execute("alter table t add column wage numeric(9, 2), add column mood mood")
            cursor.execute("update t set wage = visits * 2.5, mood = 'sad'")
        connection.commit()
        with connection.cursor() as cursor:
            cursor.execute("select height, job, visits, label from t")
            assert NaiveBayes().fit(cursor, "label").model_ == frame.model_
    file = tmp_path / "m.model"
    rows = ["--sql", "select height, job, visits, label from t", "--database", postgresql]
    assert run(command("fit", *rows, "--target", "label", "--naive", "-o", file)) == 0
    assert naively.load(file).model_ == frame.model_
    assert run(command("predict", file, *rows, "--only", "-o", tmp_path / "p.csv")) == 0
    said = (tmp_path / "p.csv").read_text().splitlines()[1:]
    assert said == frame.predict(ROWS).tolist()
    rows[1] = "select wage, mood, label from t"
    assert run(command("fit", *rows, "--target", "label", "--naive", "-o", file)) == 0
    families = naively.load(file).model_.schema.family_of
    assert {name: one.name for name, one in families.items()} == {
        "wage": "categorical", "mood": "categorical"
    }  # fmt: skip
    capsys.readouterr()
    for sql, text in (
        ("select * from u", 'relation "u" does not exist'),
        ("select 1 / (visits - 3) as x, label from t", "division by zero"),
    ):
        rows[1] = sql
        assert run(command("fit", *rows, "--target", "label", "-o", file)) == 1
        error = capsys.readouterr().err
        assert text in error
        assert "hush" not in error
        assert len(error.splitlines()) == 1
    rows[1] = "delete from t returning *"
    run(command("fit", *rows, "--target", "label", "-o", file))
    left = queried("select count(*) as n from t", postgresql).to_table()
    assert left["n"].to_pylist() == [ROWS.num_rows]
