"""Columns of several chunks, in one piece."""

from __future__ import annotations

import pyarrow as pa

from naively.tables.views import unviewed


def joined(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece, with one dictionary if it has several.

    Arrow joins no dictionaries of which one holds a null, and of several NumPy reads a null as the
    last value.
    """
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = _of_one_dictionary(unviewed(column))
    return column.combine_chunks()


def _of_one_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Chunks that have the same dictionary."""
    if any(one.dictionary.null_count for one in column.chunks):
        chunks = [one.dictionary.take(one.indices) for one in column.chunks]
        return pa.chunked_array(chunks).dictionary_encode()
    return column.unify_dictionaries()
