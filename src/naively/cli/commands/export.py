"""The options of `naively export`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from naively.cli import arguments
from naively.cli.app import app


@app.command
def export(
    model: arguments.FittedFile,
    /,
    *,
    sql: Literal["bigquery", "duckdb", "postgres", "snowflake", "sqlite"] | None = None,
    js: Annotated[bool, Parameter(negative="")] = False,
    onnx: Annotated[bool, Parameter(negative="")] = False,
    table: str = "rows",
    keep: arguments.Names = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
) -> None:
    """Export a model as an SQL query, as JavaScript, or as ONNX.

    A query returns the predicted class and P(class) of each class, as `naively predict --proba`
    does. Numeric features must be numbers in the database; categorical ones may be of any type.

    A JavaScript module has a function `predict`, which takes a row, {feature: value}, and returns
    the predicted class, the probabilities, and the contribution of each feature.

    An ONNX graph has an input for each feature, or one for all columns of an array. Its outputs are
    `label` and `probabilities`.

    What a language cannot express is refused, with the reason.

    Parameters
    ----------
    sql
        The database for which to write a query.
    js
        Write a JavaScript module.
    onnx
        Write an ONNX graph; it needs --output.
    table
        The name of the table in the database.
    keep
        A column of the table to include in the result; may be repeated. By default all features.
    output
        The file to write; by default SQL and JavaScript are printed.
    """
    from naively.cli import models, sources, terminal
    from naively.cli.errors import UsageError, UserError
    from naively.storage.atomic import replacing

    if (sql is not None) + js + onnx != 1:
        raise UsageError("name one language: --sql with a database, --js, or --onnx")
    if sql is None and (keep or table != "rows"):
        raise UsageError("--table and --keep are for --sql")
    if onnx and output is None:
        raise UsageError("ONNX is binary: name its file with --output")
    if output is not None:
        sources.check_output(output, [])
    try:
        if onnx:
            from naively.export.onnx import to_onnx

            written = to_onnx(models.load(model).model)
        else:
            written = _code(model, sql, table, keep or ()).encode()
    except ModuleNotFoundError as error:
        raise UserError(f"{error}: pip install 'naively[export]'") from None
    except ValueError as error:
        raise UserError(f"{model}: {error}") from None
    if output is None:
        print(written.decode(), end="")
        return
    with replacing(output) as file:
        file.write_bytes(written)
    terminal.console().print(terminal.facts(saved=terminal.written(output)))


def _code(path: Path, dialect: str | None, table: str, keep: Sequence[str]) -> str:
    """The model as SQL, or as JavaScript without a dialect."""
    from naively.cli import models

    saved = models.load_sums(path)
    if dialect is None:
        from naively.export.js import to_js

        return to_js(models.shown(saved) or saved.model)
    from naively.export.sql.query import to_sql

    text = models.document_of(saved) is not None
    model = models.shown(saved) if text else models.load_table(path).model
    return to_sql(model or saved.model, dialect, table, keep)
