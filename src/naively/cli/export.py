"""The command that says a model in another language. Heavy imports wait."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from naively.cli import arguments as given
from naively.cli.app import app


@app.command
def export(
    model: given.FittedFile,
    /,
    *,
    sql: Literal["bigquery", "duckdb", "postgres", "snowflake", "sqlite"] | None = None,
    js: Annotated[bool, Parameter(negative="")] = False,
    table: str = "rows",
    keep: given.Names = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
) -> None:
    """Write a model in another language: as a query of a database, or as JavaScript.

    A query gives the label and P(class) of each class, as `naively predict --proba` does. Columns
    of numbers are to be numbers in the database; columns of levels may be of any type. Text, dates
    and zero probabilities cannot be said in SQL, and are refused.

    A module of JavaScript has a function `predict`, which takes a row, {column: value}, and returns
    its label, the probabilities, and what each column adds. It takes text, too.

    Parameters
    ----------
    sql
        The database that shall run a query.
    js
        Write a module of JavaScript instead of a query.
    table
        The name of the table in the database.
    keep
        Columns of the table that the result has, too: all of the model unless named. May be
        repeated.
    output
        The file to write; else it is printed.
    """
    from naively.cli import sources
    from naively.cli.errors import UsageError, UserError
    from naively.files.atomic import replacing

    if js == (sql is not None):
        raise UsageError("say which language: --js, or --sql with a database")
    if output is not None:
        sources.check_output(output, [])
    try:
        text = _module(model) if sql is None else _query(model, sql, table, keep or ())
    except ModuleNotFoundError as error:
        raise UserError(f"{error}: pip install 'naively[export]'") from None
    except ValueError as error:
        raise UserError(f"{model}: {error}") from None
    if output is None:
        print(text, end="")
        return
    with replacing(output) as file:
        file.write_text(text, encoding="utf-8")
    print(f"wrote {output}")


def _query(path: Path, dialect: str, table: str, keep: Sequence[str]) -> str:
    from naively.cli import models
    from naively.export.sql import to_sql

    return to_sql(models.load_table(path).model, dialect, table, keep)


def _module(path: Path) -> str:
    from naively.cli import models
    from naively.export.js import to_js

    saved = models.load_sums(path)
    return to_js(models.shown(saved) or saved.model)
