"""Rows of a table as the summaries of a model take them, and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from naively.exact import Float64
from naively.invalid import Invalid
from naively.schema import Counted, Schema
from naively.statistics.levels import Encoded, Levels
from naively.tables import values
from naively.tables.frames import SparseTable
from naively.text.documents import Documents

Arrays = Mapping[str, pa.Array]


def encode(
    schema: Schema, batch: pa.RecordBatch | pa.Table | SparseTable, without: Collection[str] = ()
) -> tuple[Any, dict[str, Invalid]]:
    """(the rows as a model of this schema takes them, what it cannot take, by column).

    Columns that are absent count as missing, and so do those that are to be left out.

    Raises ValueError for a sparse matrix, unless a matrix of as many columns was learned.
    """
    if isinstance(batch, SparseTable):
        if len(schema.parts) != 1 or len(schema.names) != batch.matrix.shape[1]:
            raise ValueError(
                f"a sparse matrix of {batch.matrix.shape[1]} columns where "
                f"{len(schema.names)} columns in {len(schema.blocks)} blocks were learned"
            )
        return schema.rows([batch.matrix], batch.num_rows), {}
    invalid: dict[str, Invalid] = {}
    parts = []
    for part in schema.parts:
        data, unread = encode_part(part, batch, schema.missing, without)
        parts.append(data)
        invalid |= unread
    return schema.rows(parts, batch.num_rows), invalid


def encode_part(
    part: Counted, batch: pa.RecordBatch | pa.Table, missing: Collection[str],
    without: Collection[str] = (),
) -> tuple[Any, dict[str, Invalid]]:  # fmt: skip
    """(some columns as their summary takes them, what it cannot take): see `encode`."""
    here = {*batch.schema.names} - {*without}
    given = {name: batch.column(name) for name in part.names if name in here}
    rows = batch.num_rows
    if part.summary.takes == "documents":
        return values.documents(given.get(part.names[0], pa.nulls(rows)), missing), {}
    flat = {name: values.flat(column) for name, column in given.items()}
    if part.summary.takes == "levels":
        return _levels(part, flat, rows, missing), {}
    return _numbers(part, flat, rows, missing)


def _levels(part: Counted, given: Arrays, rows: int, missing: Collection[str]) -> Encoded:
    codes = np.zeros((len(part.names), rows), np.int32)
    levels: list[Levels] = []
    for k, name in enumerate(part.names):
        known: Levels = np.empty(0, values.TEXT)
        if name in given:
            codes[k], known = values.levels(given[name], missing)
        levels.append(known)
    return Encoded(codes.T, levels)


def _numbers(
    part: Counted, given: Arrays, rows: int, missing: Collection[str]
) -> tuple[Float64, dict[str, Invalid]]:
    invalid = {}
    table = np.full((len(part.names), rows), np.nan)
    low, high = part.summary.bounds
    for name, column in zip(part.names, table, strict=True):
        if name not in given:
            continue
        read = values.numbers(given[name], missing)
        column[:] = read.values
        outside = (column < low) | (column > high)
        examples = [] if read.example is None else [read.example]
        if outside.any():
            examples.append(min(np.unique(column[outside]).tolist(), key=str))
            column[outside] = np.nan
        if examples:
            count = int(read.invalid.sum()) + int(outside.sum())
            invalid[name] = Invalid(count, min(examples, key=str))
    return table.T, invalid


def decode(schema: Schema, drawn: Any) -> pa.Table:
    """A table of rows that were drawn, with its columns in the order of the schema.

    Parameters
    ----------
    drawn : the rows as `Parameters.sample` has them, for each block if there are several.
    """
    columns: dict[str, Any] = {}
    blocks = [drawn] if schema.is_single else drawn
    for block, part in zip(schema.blocks, blocks, strict=True):
        for k, name in enumerate(block.names):
            if isinstance(part, Encoded):
                known = [*part.levels[k].tolist(), None]
                columns[name] = pa.array([known[code] for code in part.codes[:, k]], pa.string())
            elif isinstance(part, Documents):
                columns[name] = pa.array(list(part.texts()), pa.string())
            elif schema.reason(name).kind == "truths":
                columns[name] = pa.array(np.asarray(part)[:, k] > 0)
            else:
                columns[name] = pa.array(np.asarray(part)[:, k], from_pandas=True)
    return pa.table({name: columns[name] for name in schema.ordered})
