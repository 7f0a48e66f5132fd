"""Read Arrow streams from untrusted clients, and refuse small bodies that expand to large tables.

Compressed buffers, and dictionary, run-end encoded and view columns, which can refer to the same
bytes many times, can be far larger than the body. So compressed buffers are refused before they are
read, and the expanded length of text is summed up. The resulting table is validated, and has no
views.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from naively.io.arrow import UnreadableTypeError, check_type, checked
from naively.serve.state import RefusedError
from naively.tables.values import is_view, without_views

DICTIONARY_BATCH, RECORD_BATCH = 2, 3
WIDEN = 8  # expanded text may be so many times as long as the largest body


def read(body: bytes, selected: Sequence[str], rows: int, longest: int) -> tuple[Any, list[str]]:
    """(a table of the selected columns, the names of all columns).

    `rows`, `longest`: limits of the rows and of the bytes of a body. Raises RefusedError if it is
    not an Arrow stream, or too large.
    """
    try:
        _check_plain(body)
        with pa.ipc.open_stream(pa.py_buffer(body)) as stream:
            names = stream.schema.names
            if len({*names}) < len(names):
                duplicate = Counter(names).most_common(1)[0][0]
                raise RefusedError(422, f"more than one column is called {duplicate!r}")
            types = {name: stream.schema.field(name).type for name in names if name in {*selected}}
            for name, kind in types.items():
                _check_type(name, kind)
            batches, count = [], 0
            for batch in stream:
                count += batch.num_rows
                if count > rows:
                    raise too_many(rows)
                part = batch.select(list(types)) if types else pa.record_batch(
                    {" ": pa.nulls(batch.num_rows)})  # fmt: skip
                batches.append(checked(part))
            table = pa.Table.from_batches(batches) if batches else pa.table({})
            chunks = (chunk for column in table.columns for chunk in column.chunks)
            if sum(map(_length, chunks)) > WIDEN * longest:
                limit = f"the text of the rows is longer than {WIDEN * longest:,} bytes"
                raise RefusedError(413, f"{limit}: send several requests")
            return without_views(table), names
    except (pa.ArrowException, OSError, ValueError, struct.error, IndexError) as error:
        if body.startswith(b"ARROW1"):
            detail = ", but an Arrow file: write it with pyarrow.ipc.new_stream"
        else:
            detail = f": {str(error)[:200]}" if isinstance(error, pa.ArrowException) else ""
        raise RefusedError(400, f"the body is not an Arrow stream{detail}") from None


def too_many(rows: int) -> RefusedError:
    """The error for a request with more than so many rows."""
    remedy = "send several requests, or serve the model with a larger --max-rows"
    return RefusedError(413, f"a request has at most {rows:,} rows: {remedy}")


def _check_type(name: str, kind: pa.DataType) -> None:
    """Refuse types that are not values of a cell, or that can expand to any size."""
    types = pa.types
    plain = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_nested(plain) or types.is_run_end_encoded(plain) or types.is_dictionary(plain) or (
        isinstance(plain, pa.BaseExtensionType)
    ):  # fmt: skip
        raise RefusedError(422, f"column {name!r} is of type {str(kind)[:80]}: send plain values")
    try:
        check_type(name, kind)
    except UnreadableTypeError as error:
        raise RefusedError(422, str(error)) from None


def _length(array: pa.Array) -> int:
    """Bytes of an array's text, with each repeated value counted each time."""
    kind, types = array.type, pa.types
    if types.is_dictionary(kind):
        lengths = _lengths(array.dictionary)
        return 0 if lengths is None else int(lengths[np.asarray(array.indices.drop_null())].sum())
    lengths = _lengths(array)
    return 0 if lengths is None else int(lengths.sum())


def _lengths(array: pa.Array) -> Any:
    """(n,) bytes of each text; None for other types."""
    kind, types = array.type, pa.types
    if is_view(kind):
        views = np.frombuffer(array.buffers()[1], np.int32)
        lengths = views[4 * array.offset : 4 * (array.offset + len(array)) : 4].astype(np.int64)
        # the lengths of missing values are arbitrary
        return np.where(np.asarray(array.is_valid()), lengths, 0)
    if types.is_large_string(kind) or types.is_large_binary(kind) or (
        types.is_string(kind) or types.is_binary(kind)
    ):  # fmt: skip
        return np.asarray(pc.fill_null(pc.binary_length(array), 0)).astype(np.int64)
    return None


# ---- the metadata of messages, in FlatBuffers format ---------------------------------------------


def _check_plain(body: bytes) -> None:
    """Refuse a stream with compressed buffers, or with delta dictionaries, which pyarrow copies for
    each message.

    By the format's Message.fbs, `Message` has header_type, header and bodyLength as fields 1, 2 and
    3; `RecordBatch` has compression as field 3; `DictionaryBatch` has a record batch and isDelta as
    fields 1 and 2.
    """
    position = 0
    while position + 4 <= len(body):
        size = _read("<i", body, position)
        position += 4
        if size == -1:
            size = _read("<i", body, position)
            position += 4
        if size <= 0:
            return
        message = position + _read("<I", body, position)
        kind, header, length = (_field(body, message, k) for k in (1, 2, 3))
        if kind and header and body[kind] in (DICTIONARY_BATCH, RECORD_BATCH):
            batch = header + _read("<I", body, header)
            if body[kind] == DICTIONARY_BATCH:
                delta, inner = _field(body, batch, 2), _field(body, batch, 1)
                if delta and body[delta]:
                    raise RefusedError(415, "the stream adds to dictionaries: send them whole")
                batch = inner + _read("<I", body, inner) if inner else batch
            if _field(body, batch, 3):
                raise RefusedError(415, "the buffers of the Arrow stream are compressed: send them "
                                   "as they are")  # fmt: skip
        body_length = _read("<q", body, length) if length else 0
        if body_length < 0:
            raise ValueError("a message of negative length")
        position += size + body_length


def _read(kind: str, body: bytes, at: int) -> int:
    if at < 0:
        raise ValueError("a place before the first byte")
    return int(struct.unpack_from(kind, body, at)[0])


def _field(body: bytes, table: int, number: int) -> int:
    """The offset of a table's field; 0 if it is absent."""
    vtable = table - _read("<i", body, table)
    if 4 + 2 * number >= _read("<H", body, vtable):
        return 0
    offset = _read("<H", body, vtable + 4 + 2 * number)
    return table + offset if offset else 0


def stream_of(table: pa.Table) -> bytes:
    """Serialise a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()
