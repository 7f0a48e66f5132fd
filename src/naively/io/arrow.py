"""Check Arrow data of other programs, and combine tables whose columns differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import pyarrow as pa

from naively.io.inputs import DECLARED, UNTYPED, is_declared, is_encoded, is_untyped
from naively.tables import values

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)

UNREAD = (pa.lib.Type_INTERVAL_MONTHS, pa.lib.Type_INTERVAL_DAY_TIME)
"""Types whose values pyarrow cannot convert to Python."""
DIGITS = {4: 9, 8: 18, 16: 38, 32: 76}
"""Maximum number of digits, and of the absolute scale, of a decimal by its width in bytes."""


class UnreadableTypeError(ValueError):
    """The values of a column's type cannot be read."""


def check_type(name: str, kind: pa.DataType) -> None:
    """Raise UnreadableTypeError for a type whose values cannot be read."""
    if not _is_readable(kind):
        try:
            type_name = str(kind)[:80]
        except UnicodeError:  # the name of a time zone
            type_name = "timestamp"
        raise UnreadableTypeError(
            f"column {name!r} is of type {type_name}, whose values cannot be read: convert it, or "
            "leave it out"
        )


def checked(rows: Rows) -> Rows:
    """Validate the types and buffers of rows, and return the rows.

    Raises UnreadableTypeError if a type cannot be read; pyarrow.ArrowInvalid if a buffer is
    damaged.
    """
    for field in rows.schema:
        check_type(field.name, field.type)
    rows.validate(full=True)
    return rows


def _is_readable(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_timestamp(kind):
        try:
            return kind.tz is None or bool(kind.tz)  # the name of a zone is not empty
        except UnicodeError:
            return False
    if types.is_decimal(kind):
        return bool(abs(kind.scale) <= DIGITS[kind.byte_width])
    if isinstance(kind, pa.BaseExtensionType):
        return _is_readable(kind.storage_type)
    if types.is_dictionary(kind):
        return _is_readable(kind.value_type)
    if types.is_nested(kind):  # also run-end encoded
        return all(_is_readable(kind.field(k).type) for k in range(kind.num_fields))
    return kind.id not in UNREAD


# ---- joining -------------------------------------------------------------------------------------


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables; columns of different types become numbers or text.

    A column is marked untyped if it is in all tables that have it, and categorical if any table
    declares it so.
    """
    columns, fields = [], []
    # each schema is read once: reading the names for every column is quadratic in columns
    schemas = [{field.name: (place, field) for place, field in enumerate(t.schema)} for t in tables]
    for name in dict.fromkeys(name for schema in schemas for name in schema):
        places = [schema.get(name) for schema in schemas]
        column = _joined([_column(*pair) for pair in zip(tables, places, strict=True)])
        present_fields = [pair[1] for pair in places if pair is not None]
        mark = UNTYPED if all(map(is_untyped, present_fields)) else None
        mark = DECLARED if any(map(is_declared, present_fields)) else mark
        columns.append(column)
        fields.append(pa.field(name, column.type, metadata=mark))
    return pa.table(columns, schema=pa.schema(fields))


def _column(table: pa.Table, place: tuple[int, pa.Field] | None) -> pa.Array:
    """Return a column by its position and field; nulls if the table does not have it."""
    if place is None:
        return pa.nulls(table.num_rows)
    index, field = place
    column = table.column(index)
    if is_encoded(field) and pa.types.is_dictionary(column.type):
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
    """Convert values of any type to the text of categories."""
    if values.is_text(array.type):
        return array
    places, texts = values.level_texts(array, ())
    return pa.array([*texts, None], pa.string()).take(pa.array(places))
