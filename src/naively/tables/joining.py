"""One table of several whose columns, or the types of these, may differ."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from naively.tables import values
from naively.tables.inputs import DECLARED, UNTYPED, is_declared, is_encoded, is_untyped


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """One table of several whose columns may differ in type: then they become numbers or text.

    What is text of a file in all of them is marked so: blanks about it are none of a label. So is
    what one of them declares categorical.
    """
    names = list(dict.fromkeys(name for table in tables for name in table.column_names))
    columns = [_joined([_column(table, name) for table in tables]) for name in names]
    fields = []
    for name, column in zip(names, columns, strict=True):
        own = [table.schema.field(name) for table in tables if name in table.column_names]
        mark = UNTYPED if all(map(is_untyped, own)) else None
        mark = DECLARED if any(map(is_declared, own)) else mark
        fields.append(pa.field(name, column.type, metadata=mark))
    return pa.table(columns, schema=pa.schema(fields))


def _column(table: pa.Table, name: str) -> pa.Array:
    at = table.schema.get_field_index(name)
    if at < 0:
        return pa.nulls(table.num_rows)
    column = table.column(at)
    if is_encoded(table.schema.field(at)) and pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return values.flat(column)


def _joined(arrays: list[pa.Array]) -> pa.ChunkedArray:
    kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
    if len(kinds) <= 1:
        kind = kinds.pop() if kinds else pa.null()
    elif all(values.is_number(kind) for kind in kinds):
        return pa.chunked_array([array.cast(pa.float64(), safe=False) for array in arrays])
    else:
        arrays = [_as_text(array) for array in arrays]
        kind = pa.string()
    return pa.chunked_array([array if array.type == kind else array.cast(kind) for array in arrays])


def _as_text(array: pa.Array) -> pa.Array:
    """Values of any type as the text of levels."""
    if values.is_text(array.type):
        return array
    places, texts = values.level_texts(array, ())
    return pa.array([*texts, None], pa.string()).take(pa.array(places))
