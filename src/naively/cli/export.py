"""The command that says a model in another language. Heavy imports wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    onnx: Path | None = None,
    table: str = "rows",
    keep: given.Names = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
) -> None:
    """Write a model in another language: as a query (--sql), or as an ONNX graph (--onnx).

    A query predicts the rows of a table in a database: the label and P(class) of each class, as
    `naively predict --proba` does. Columns of numbers are to be numbers in the database; columns of
    levels may be of any type. A graph has an input for each column, of numbers or of text, or one
    for all columns of an array; its outputs are `label` and `probabilities`. What cannot be said in
    such a language is refused.

    Parameters
    ----------
    sql
        The database that shall run the query.
    onnx
        The file of a graph to write.
    table
        The name of the table, for --sql.
    keep
        Columns of the table that the result of a query has, too: all of the model unless named.
        May be repeated.
    output
        The file of a query to write; else it is printed.
    """
    from naively.cli import sources
    from naively.cli.errors import UsageError
    from naively.files.atomic import replacing

    if (sql is None) == (onnx is None):
        raise UsageError("say --sql and a database, or --onnx and a file")
    if onnx is not None and (output or keep or table != "rows"):
        raise UsageError("--table, --keep and --output are for --sql")
    target = output if onnx is None else onnx
    if target is not None:
        sources.check_output(target, [])
    written = _onnx(model) if sql is None else _sql(model, sql, table, keep or ()).encode()
    if target is None:
        print(written.decode(), end="")
        return
    with replacing(target) as file:
        file.write_bytes(written)
    print(f"wrote {target}")


def _sql(path: Path, dialect: str, table: str, keep: Sequence[str]) -> str:
    from naively.cli import models

    saved = models.load_table(path)
    with _refusing(path):
        from naively.export.sql import to_sql

        return to_sql(saved.model, dialect, table, keep)


def _onnx(path: Path) -> bytes:
    from naively.cli import models

    saved = models.load(path)
    with _refusing(path):
        from naively.export.onnx import to_onnx

        return to_onnx(saved.model)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Say what cannot be exported, or which package is not there."""
    from naively.cli.errors import UserError

    try:
        yield
    except ModuleNotFoundError as error:
        raise UserError(f"{error}: pip install 'naively[export]'") from None
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
