"""Read the result of an SQL query: PostgreSQL and SQLite by ADBC, DuckDB directly."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from naively.io import inputs
from naively.io.frames import ArrowStream, result_of
from naively.io.inputs import TableError, Task
from naively.io.sources import Source

MEMORY = "512MB"
"""Memory limit of DuckDB, which would otherwise cache most of a file; it spills to disk."""
SECRET = re.compile(r"//[^/@]*?:([^/]*)@|[?&]password=([^&]*)")


def queried(sql: str, database: str) -> Source:
    """Run a query, and return its rows as a source of batches, which can be read once.

    Raises TableError if the database cannot be opened or refuses the query; the message is one
    line.

    sql : one query. Files of DuckDB and SQLite are opened read-only; changes in PostgreSQL are
        rolled back.
    database : "postgresql://user@host/name", "duckdb:FILE" or "sqlite:FILE"; "duckdb:" alone has no
        tables, but can query files.
    """
    part = _Query(sql, database)
    return Source(part.names, None, _parts=[part])


def file_of(database: str | None) -> list[str]:
    """Return [path] of a database in a file, else []."""
    scheme, _, path = (database or "").partition(":")
    return [path] if path and scheme in ("duckdb", "sqlite") else []


class _Query(ArrowStream):
    """The rows of a query; connection and cursor are closed after the last one."""

    def __init__(self, sql: str, database: str) -> None:
        self._opened = ExitStack()
        self._secrets = [secret for pair in SECRET.findall(database) for secret in pair if secret]
        self._shown = self._hiding(database)
        open_ = OPENERS.get(database.partition(":")[0])
        if open_ is None:
            raise TableError(
                f"--database {self._shown}: write postgresql://user@host/name, duckdb:FILE or "
                "sqlite:FILE"
            )
        with self._in_one_line():
            reader = open_(sql, database, self._opened)
            super().__init__(self._shown, lambda: reader, None, again=True)
            if not self.names:
                raise TableError(f"{self._shown}: the query gives no columns")

    def tasks(self) -> Iterator[Task]:
        """Yield a task for each slice of a batch."""
        with self._in_one_line():
            yield from super().tasks()
        self._opened.close()

    def _hiding(self, text: str) -> str:
        """Replace passwords in text by ***."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    @contextmanager
    def _in_one_line(self) -> Iterator[None]:
        """Convert errors of a database to TableError, in one line and without passwords."""
        try:
            yield
        except TableError:
            raise
        except ImportError as error:
            raise TableError(
                f"{self._shown}: {error.name} is needed to read it: pip install 'naively[sql]'"
            ) from None
        except Exception as error:  # each driver has its own exceptions
            self._opened.close()
            raise TableError(f"{self._shown}: {self._hiding(inputs.brief(error))}") from None

    def __del__(self) -> None:
        self._opened.close()


# ---- opening databases -------------------------------------------------------------------------


def _duckdb(sql: str, database: str, opened: ExitStack) -> Any:
    import duckdb

    path = _there(database) if database != "duckdb:" else ""
    connection = duckdb.connect(path or ":memory:", bool(path), config={"memory_limit": MEMORY})
    rows = opened.enter_context(closing(connection)).sql(sql)
    if rows is None:
        raise TableError(f"{database}: the query gives no rows to read")
    return result_of(rows)


def _sqlite(sql: str, database: str, opened: ExitStack) -> Any:
    import adbc_driver_sqlite.dbapi as driver

    return _fetched(driver.connect(f"file:{quote(_there(database))}?mode=ro"), sql, opened)


def _postgresql(sql: str, database: str, opened: ExitStack) -> Any:
    import adbc_driver_postgresql.dbapi as driver

    return _fetched(driver.connect(database), sql, opened)


def _there(database: str) -> str:
    """Return the path of a database. Raises TableError if there is no such file."""
    path = database.partition(":")[2]
    if not Path(path).is_file():
        raise TableError(f"{path}: there is no such file")
    return path


def _fetched(connection: Any, sql: str, opened: ExitStack) -> Any:
    cursor = opened.enter_context(closing(opened.enter_context(closing(connection)).cursor()))
    cursor.execute(sql)
    return result_of(cursor)


OPENERS: dict[str, Callable[[str, str, ExitStack], Any]] = {
    "duckdb": _duckdb, "sqlite": _sqlite, "postgresql": _postgresql, "postgres": _postgresql,
}  # fmt: skip
