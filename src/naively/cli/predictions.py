"""Writing predictions: CSV or JSON lines to standard output, CSV or Parquet to a file."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from naively.cli.errors import UsageError
from naively.files.atomic import replacing
from naively.labels import Labels

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".parquet", ".pq")
PREDICTION = "prediction"


def check_output(output: Path) -> None:
    """Refuse names that do not say what to write."""
    if not output.name.lower().endswith(SUFFIXES):
        raise UsageError(f"{output}: name it .csv, .csv.gz, .tsv or .parquet, to say what to write")


def tables(
    batches: Iterable[Any], classes: Labels, only: bool, documents: bool = False,
    file: str | None = None,
) -> Iterator[pa.Table]:  # fmt: skip
    """The columns that were read, with the predictions and probabilities beside them.

    Documents, which are long, come last, and the column of their files first. A column of numbers
    that turns into text further down is text from there on.
    """
    for batch, labels, proba in batches:
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        first = {file: columns.pop(file)} if file else {}
        if only:
            columns = {}
        said = {_free(PREDICTION, first | columns): pa.array(_plain(labels))}
        for c, label in enumerate(classes.tolist() if proba is not None else []):
            name = _free(f"P({label})", first | columns | said)
            said[name] = pa.array(np.ascontiguousarray(proba[:, c]))
        columns = first | (said | columns if documents else columns | said)
        yield pa.table({name: _written(column) for name, column in columns.items()})


def _free(name: str, taken: dict[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name


def _written(column: pa.Array) -> pa.Array:
    """A column of a type that every format has."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type)
    return column.cast(pa.string()) if pa.types.is_null(kind) else column


def to_file(batches: Iterator[pa.Table], output: Path) -> None:
    """Write a file, whole or not at all."""
    name = output.name.lower()
    with replacing(output) as temporary:
        if name.endswith((".parquet", ".pq")):
            _to_parquet(batches, str(temporary))
            return
        compression = "gzip" if name.endswith(".gz") else None
        with pa.output_stream(str(temporary), compression=compression) as stream:
            for text in _as_text(batches, "\t" if name.endswith(".tsv") else ","):
                stream.write(text)


def _to_parquet(batches: Iterator[pa.Table], path: str) -> None:
    writer = None
    try:
        for table in batches:
            if writer is None:
                writer = parquet.ParquetWriter(path, table.schema)
            elif table.schema != writer.schema:
                table = _cast(table, writer.schema)
            writer.write_table(table)
    except pa.ArrowNotImplementedError as error:
        raise UsageError(f"{error}: write .csv, or use --only") from None
    finally:
        if writer is not None:
            writer.close()


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table.column(field.name)
        try:
            columns.append(column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise UsageError(
                f"column {field.name!r} begins as {field.type} and goes on as {column.type}, which "
                f"one Parquet file cannot hold ({error}); write .csv, or use --only"
            ) from None
    return pa.table(columns, schema=schema)


def to_stdout(batches: Iterator[pa.Table]) -> None:
    """Write CSV to standard output, a batch at a time."""
    sys.stdout.flush()
    for text in _as_text(batches, ","):
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()


def to_json(batches: Iterator[pa.Table]) -> None:
    """Write a JSON object a row to standard output."""
    for table in batches:
        sys.stdout.writelines(json.dumps(_told(row)) + "\n" for row in table.to_pylist())
        sys.stdout.flush()


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """The file, if the row has one; the prediction; and the probabilities that are left."""
    told = {}
    for name in list(row)[: list(row).index(PREDICTION) + 1]:
        told[name] = row.pop(name)
    return told | ({"probabilities": {name[2:-1]: p for name, p in row.items()}} if row else {})


def _as_text(batches: Iterator[pa.Table], delimiter: str) -> Iterator[bytes]:
    """The header, then the rows of each batch; quotes only where text needs them."""
    first = True
    for table in batches:
        if first:
            header = io.StringIO()
            csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(
                table.column_names
            )
            yield header.getvalue().encode()
            first = False
        table = pa.table({name: _textual(table.column(name)) for name in table.column_names})
        options = arrow_csv.WriteOptions(
            include_header=False, delimiter=delimiter,
            quoting_style="none" if _is_plain(table, delimiter) else "needed",
        )  # fmt: skip
        text = io.BytesIO()
        arrow_csv.write_csv(table, text, options)
        yield text.getvalue()


def _is_plain(table: pa.Table, delimiter: str) -> bool:
    """Whether no text needs quotes: then Arrow, which quotes all text or none, may leave them."""
    strange = re.compile(f'[{delimiter}"\r\n]')
    for column in table.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            known = column.unique().to_pylist()
            if any(value is not None and strange.search(value) for value in known):
                return False
    return True


def _textual(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of a type that CSV has: lists and structures as JSON."""
    kind = column.type
    types = pa.types
    if types.is_string_view(kind) or types.is_duration(kind) or types.is_float16(kind):
        return column.cast(pa.string())
    plain = (
        types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_string,
        types.is_large_string, types.is_date, types.is_time, types.is_timestamp, types.is_null,
    )  # fmt: skip
    if any(one(kind) for one in plain):
        return column
    texts = [
        value if value is None else json.dumps(value, default=str, ensure_ascii=False)
        for value in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _plain(labels: Any) -> Any:
    return labels if labels.dtype.kind in "biuf" else labels.tolist()
