"""Text and bytes that Arrow keeps as views, as polars writes them: in types that it can filter."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pyarrow as pa

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)

VIEW = 16
"""Bytes of a view."""


def is_view(kind: pa.DataType) -> bool:
    """Whether a type is of views."""
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def without_views(rows: Rows) -> Rows:
    """Rows without views, also among the values of dictionaries, lists and structures."""
    for k, field in enumerate(rows.schema):
        column = rows.column(k)
        if (found := unviewed(column)) is not column:
            of = pa.field(field.name, found.type, metadata=field.metadata)
            rows = rows.set_column(k, of, found)
    return rows


def unviewed(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column without views; itself if it has none."""
    kind = _plain(column.type)
    if kind == column.type:
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_without(one, kind) for one in column.chunks], kind)
    return _without(column, kind)


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type that holds the same; itself if there are no views in it."""
    types = pa.types
    if is_view(kind):
        return pa.large_string() if types.is_string_view(kind) else pa.large_binary()
    if types.is_dictionary(kind):
        own = _plain(kind.value_type)
        same = own == kind.value_type
        return kind if same else pa.dictionary(kind.index_type, own, kind.ordered)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        own = _plain(kind.value_type)
        return kind if own == kind.value_type else pa.large_list(own)
    if types.is_struct(kind):
        fields = [kind.field(k) for k in range(kind.num_fields)]
        return pa.struct([field.with_type(_plain(field.type)) for field in fields])
    return kind


def _without(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """An array as another one of a type that holds the same without views."""
    if is_view(array.type):
        return _blanked(array).cast(kind)
    if pa.types.is_dictionary(kind):
        own = _without(array.dictionary, kind.value_type)
        return pa.DictionaryArray.from_arrays(array.indices, own, ordered=kind.ordered)
    return pa.array(array.to_pylist(), kind)  # Python looks at no view of a missing value


def _blanked(array: pa.Array) -> pa.Array:
    """Views of which those of missing values are empty.

    Arrow validates no view of a missing value, but follows it when it casts: one from a stranger
    may have a negative length, or lead anywhere, which ends the process.
    """
    if array.null_count == 0:
        return array
    validity, views, *data = array.buffers()
    rows = slice(array.offset, array.offset + len(array))
    own = np.frombuffer(views, np.uint8)[: VIEW * rows.stop].reshape(-1, VIEW).copy()
    own[rows][np.asarray(array.is_null())] = 0
    buffers = [validity, pa.py_buffer(own), *data]
    return pa.Array.from_buffers(array.type, len(array), buffers, offset=array.offset)
