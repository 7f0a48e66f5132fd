"""Columns of files in which all values are text, as the types that their values have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from naively.tables import values
from naively.tables.inputs import DECLARED, MISSING, UNTYPED, is_declared, is_untyped
from naively.tables.joining import together
from naively.tables.targets import are_text, typed


def with_types(tables: Sequence[pa.Table]) -> pa.Table:
    """One table of several; text of a file is numbers or truth values where all of a column are.

    Text stays as it is written, and marked as text of a file.
    """
    untyped = {
        field.name for table in tables for field in table.schema if is_untyped(field)
    }  # fmt: skip
    found = together(tables)
    columns, fields = [], []
    for name in found.column_names:
        column = found.column(name)
        if name in untyped and values.is_text(column.type):
            column = _typed(column)
        mark = UNTYPED if name in untyped and values.is_text(column.type) else None
        mark = DECLARED if is_declared(found.schema.field(name)) else mark
        columns.append(column)
        fields.append(pa.field(name, column.type, metadata=mark))
    return pa.table(columns, schema=pa.schema(fields))


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    places, known = values.encoded(values.flat(column))
    texts = known.to_pylist()
    present = [k for k, text in enumerate(texts) if text.strip() not in MISSING]
    read = typed(np.array([texts[k] for k in present], object)) if present else np.empty(0, object)
    if are_text(read):
        return column
    all_of = np.zeros(len(texts) + 1, read.dtype)
    missing = np.ones(len(texts) + 1, bool)
    all_of[present], missing[present] = read, False
    return pa.array(all_of[places], mask=missing[places])
