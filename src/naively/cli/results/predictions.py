"""Write predictions to files, standard output or JSON; read decision rules and costs."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from naively.cli import models
from naively.cli.errors import UsageError, UserError, some
from naively.core.exact import Float64
from naively.core.labels import Labels
from naively.model.decisions import DecisionRule, cost_matrix, positive_class
from naively.model.model import Model
from naively.storage.atomic import replacing
from naively.tables.answers import Answer
from naively.tables.targets import positions
from naively.tables.values import readable


def rule(classes: Labels, costs: Path | None, unsure: float | None) -> DecisionRule | None:
    """The rule of `--costs` and `--unsure`; None if neither is given."""
    if costs is None and unsure is None:
        return None
    if unsure is not None and not 0 < unsure <= 1:
        raise UsageError(
            f"--unsure is a probability, above 0 and at most 1, as 0.8, not {unsure:g}"
        )
    return DecisionRule(None if costs is None else read(costs, classes), unsure)


def threshold_rule(model: Model, threshold: float, positive: str | None) -> DecisionRule:
    """The rule of `--threshold` and `--positive`, with the defaults of `naively evaluate`."""
    if not 0 <= threshold <= 1:
        raise UsageError(f"--threshold is a probability, from 0 to 1, not {threshold:g}")
    if len(model.classes) != 2:
        raise UsageError(
            f"--threshold is for models of two classes; this one has {len(model.classes):,} "
            f"({some(model.classes)}): use --costs"
        )
    default = positive_class(model.class_weight.rounded())
    index = default if positive is None else models.label_of(model, positive, "--positive")
    assert index is not None
    return DecisionRule(threshold=(index, threshold))


def read(path: Path, classes: Labels) -> Float64:
    """Read costs from a CSV or TSV file: (C, C) in the order of the classes.

    The first line names predicted classes, the first cell of each other line an actual class; each
    class once, in any order.
    """
    header, *lines = _cells(path)
    columns = _places(header[1:], classes, f"{path}: its first line")
    rows = _places([line[0] for line in lines], classes, f"{path}: its first column")
    matrix = np.empty((len(classes), len(classes)))
    for row, line in zip(rows, lines, strict=True):
        for column, predicted, cell in zip(columns, header[1:], line[1:], strict=True):
            try:
                matrix[row, column] = float(cell)
            except ValueError:
                raise UserError(
                    f"{path}: the cost of {predicted!r} where {line[0]!r} is true must be a "
                    f"number, not {cell!r}"
                ) from None
    try:
        return cost_matrix(matrix, classes)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def _cells(path: Path) -> list[list[str]]:
    """The cells of all lines that are not empty; UserError unless each has as many."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not text in UTF-8: {error}") from None
    reader = csv.reader(text.splitlines(), delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    cells: list[list[str]] = []
    for line in reader:
        if not any(line):
            continue
        cells.append([cell.strip() for cell in line])
        if len(line) != len(cells[0]):
            raise UserError(
                f"{path}: line {reader.line_num} has {len(line)} cells, the first {len(cells[0])}"
            )
    if not cells:
        raise UserError(f"{path}: is empty; its first line names the predicted classes")
    return cells


def _places(names: Sequence[str], classes: Labels, where: str) -> list[int]:
    """The position of each class; UserError unless each is named once."""
    indices: list[int] = positions(np.array(names, object), classes).tolist()
    for index, name in zip(indices, names, strict=True):
        if index < 0:
            raise UserError(
                f"{where} names {name!r}, which is not one of the classes {some(classes)}"
            )
        if indices.count(index) > 1:
            raise UserError(f"{where} names {name!r} twice")
    if absent := [label for c, label in enumerate(classes.tolist()) if c not in indices]:
        raise UserError(f"{where} does not name {some(map(repr, absent))}: name every class")
    return indices


SUFFIXES = (".csv", ".csv.gz", ".tsv", ".parquet", ".pq")
ENCODER = json.JSONEncoder(allow_nan=False, default=str)


def check_output(output: Path) -> None:
    """Refuse file names without a known suffix."""
    if not output.name.lower().endswith(SUFFIXES):
        raise UsageError(
            f"{output}: name it .csv, .csv.gz, .tsv or .parquet, which is the format to write"
        )


def tables(
    batches: Iterable[Any], classes: Labels, only: bool, documents: bool = False,
    file: str | None = None,
) -> Iterator[pa.Table]:  # fmt: skip
    """Tables of the columns that were read, with predictions and probabilities.

    The label of an abstention is null. Documents, which are long, are the last column, and the file
    name the first.
    """
    for batch, labels, proba, top in batches:
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        file_column = {file: columns.pop(file)} if file else {}
        if only:
            columns = {}
        answers = Answer(labels, proba, top).columns(classes, file_column | columns)
        columns = file_column | (answers | columns if documents else columns | answers)
        yield pa.table({name: _written(column) for name, column in columns.items()})


def _written(column: pa.Array) -> pa.Array:
    """Convert a column to a type that every format has."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type)
    return column.cast(pa.string()) if pa.types.is_null(kind) else column


def to_file(batches: Iterator[pa.Table], output: Path) -> None:
    """Write a file, completely or not at all."""
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
    from pyarrow import parquet  # slow: it loads the code for remote files

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
    columns, present = [], {*table.column_names}
    for field in schema:
        if field.name not in present:
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
    """Write CSV to standard output, batch by batch."""
    sys.stdout.flush()
    for text in _as_text(batches, ","):
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()


def to_json(batches: Iterable[Any], classes: Labels, only: bool, file: str | None = None) -> None:
    """Print one JSON object per row: its prediction, and the row itself.

    `batches` is the input of `tables`. NaN and infinity are null; dates and the like are strings.
    """
    for batch, labels, proba, top in batches:
        fields: dict[str, list[Any]] = {}
        if file is not None:
            fields[file] = batch.column(file).to_pylist()
            batch = batch.drop_columns([file])
        fields |= Answer(labels, proba, top).fields(classes)
        if not only:
            for k, name in enumerate(batch.column_names):
                batch = batch.set_column(k, name, readable(batch.column(k)))
            fields["row"] = batch.to_pylist()
        sys.stdout.writelines(
            _as_json(dict(zip(fields, values, strict=True))) + "\n"
            for values in zip(*fields.values(), strict=True)
        )
        sys.stdout.flush()  # a reader may wait for each line


def _as_json(value: Any) -> str:
    """Encode a value as JSON; NaN and infinity are null."""
    try:
        return ENCODER.encode(value)
    except ValueError:
        return ENCODER.encode(_finite(value))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _as_text(batches: Iterator[pa.Table], delimiter: str) -> Iterator[bytes]:
    """Yield the header, then the rows of each batch, with quotes only where needed."""
    first = True
    for table in batches:
        if first:
            yield _lines([pa.chunked_array([[name]]) for name in table.column_names], delimiter)
            first = False
        yield _lines([_textual(column) for column in table.columns], delimiter)


def _lines(columns: list[pa.ChunkedArray], delimiter: str) -> bytes:
    """Join columns of text to rows, each with a line end."""
    cells = [_quoted(column, delimiter) for column in columns]
    rows = pc.binary_join_element_wise(*cells, delimiter)
    lines = pc.binary_join_element_wise(rows, "", "\n")  # contiguous in one buffer
    return b"".join(_bytes(chunk) for chunk in lines.chunks)


def _bytes(texts: pa.Array) -> bytes:
    """All bytes of an array of text."""
    _, ends, data = texts.cast(pa.large_string()).buffers()
    ends = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return bytes(data)[ends[0] : ends[-1]] if len(texts) else b""


def _quoted(column: pa.ChunkedArray, delimiter: str) -> pa.ChunkedArray:
    """Quote cells with delimiters, quotes or line ends."""
    special = pc.match_substring_regex(column, f'[{delimiter}"\r\n]')
    if not pc.any(special).as_py():
        return column
    escaped = pc.replace_substring(column, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise('"', escaped, '"', ""), column)


def _textual(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert a column to text: lists and structures as JSON, null as empty."""
    column = readable(column)
    kind = column.type
    try:
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise pa.ArrowNotImplementedError("bytes are not always text")
        return pc.fill_null(column.cast(pa.string()), "")
    except pa.ArrowNotImplementedError:
        texts = [
            "" if value is None else json.dumps(value, default=str, ensure_ascii=False)
            for value in column.to_pylist()
        ]
        return pa.chunked_array([pa.array(texts, pa.string())])
