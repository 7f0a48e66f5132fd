"""The command that says a model in another language. Heavy imports wait."""

from __future__ import annotations

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
    sql: Literal["bigquery", "duckdb", "postgres", "snowflake", "sqlite"],
    table: str = "rows",
    keep: given.Names = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
) -> None:
    """Write a model as a query, which predicts the rows of a table in a database.

    It gives the label and P(class) of each class, as `naively predict --proba` does. Columns of
    numbers are to be numbers in the database; columns of levels may be of any type. Text, dates and
    zero probabilities cannot be said in SQL, and are refused.

    Parameters
    ----------
    sql
        The database that shall run it.
    table
        The name of the table.
    keep
        Columns of the table that the result has, too: all of the model unless named. May be
        repeated.
    output
        The file to write; else the query is printed.
    """
    from naively.cli import models, sources
    from naively.cli.errors import UserError
    from naively.files.atomic import replacing

    if output is not None:
        sources.check_output(output, [])
    saved = models.load_table(model)
    try:
        from naively.export.sql import to_sql
    except ModuleNotFoundError as error:
        raise UserError(f"{error}: pip install 'naively[export]'") from None
    try:
        query = to_sql(saved.model, sql, table, keep or ())
    except ValueError as error:
        raise UserError(f"{model}: {error}") from None
    if output is None:
        print(query, end="")
        return
    with replacing(output) as file:
        file.write_text(query, encoding="utf-8")
    print(f"wrote {output}")
