"""Text and bytes that Arrow keeps as views, as polars writes them: in types that it can filter."""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)


def _plain(kind: pa.DataType) -> pa.DataType | None:
    """The type that holds the same; None of other types."""
    if pa.types.is_string_view(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(kind) else None


def without_views(rows: Rows) -> Rows:
    """Rows without views, also among the values of dictionaries."""
    for k, field in enumerate(rows.schema):
        column = rows.column(k)
        if (found := unviewed(column)) is not column:
            of = pa.field(field.name, found.type, metadata=field.metadata)
            rows = rows.set_column(k, of, found)
    return rows


def unviewed(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column without views; itself if it has none."""
    if not pa.types.is_dictionary(column.type):
        plain = _plain(column.type)
        return column if plain is None else column.cast(plain)
    plain = _plain(column.type.value_type)
    if plain is None:
        return column
    kind = pa.dictionary(column.type.index_type, plain, column.type.ordered)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found = [
        pa.DictionaryArray.from_arrays(
            one.indices, one.dictionary.cast(plain), ordered=kind.ordered)
        for one in chunks
    ]  # fmt: skip
    return pa.chunked_array(found, kind) if isinstance(column, pa.ChunkedArray) else found[0]
