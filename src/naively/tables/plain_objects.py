"""JSON lines whose values are all strings, as Arrow's reader makes them columns, but faster."""

from __future__ import annotations

import json
from io import BytesIO

import numpy as np
import pyarrow as pa

from naively.tables import inputs

ENOUGH = 1 << 20
"""Bytes from which on it pays to load the kernels."""
AFTER = 64


def columns_of(data: bytes, lines: int) -> pa.Table | None:
    """The columns; None where an object has others than the first, or something is wrong.

    Parameters
    ----------
    data : whole lines, or all to the end of the file.
    lines : how many of them end.
    """
    names = _names(data)
    if not names or inputs.first_bad_byte(data) is not None:
        return None
    from naively.kernels.objects import copy_strings, split_objects

    text = np.empty(len(data) + AFTER, np.uint8)
    text[: len(data)], text[len(data) :] = np.frombuffer(data, np.uint8), ord("\n")
    keys = [json.dumps(name, ensure_ascii=False).encode() for name in names]
    known, ends = np.frombuffer(b"".join(keys), np.uint8), np.cumsum([*map(len, keys)])
    spans = np.empty((lines + 1, 2 * len(keys)), np.int32)
    sizes = np.zeros(len(keys), np.int64)
    rows = split_objects(text, len(data), known, ends, spans, sizes)
    if rows < 0:
        return None
    columns = []
    for k, size in enumerate(sizes.tolist()):
        offsets = np.zeros(rows + 1, np.int32)
        out = np.empty(size + AFTER, np.uint8)
        if not copy_strings(text, spans, k, rows, offsets, out):
            return None
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(out)]
        columns.append(pa.Array.from_buffers(pa.string(), rows, buffers))
    return pa.table(columns, names=names)


def _names(data: bytes) -> list[str]:
    """The keys of the first object; none if some are alike, or it has a value that is no string."""
    first = next(filter(bytes.strip, BytesIO(data)), b"").strip()
    if not first.startswith(b"{"):
        return []
    try:
        pairs = json.loads(first, object_pairs_hook=list)
        names = [str(name) for name, value in pairs if isinstance(value, str)]
        "".join(names).encode()  # half a pair of surrogates is no text
    except (ValueError, RecursionError):
        return []
    return names if len(pairs) == len({*names}) else []
