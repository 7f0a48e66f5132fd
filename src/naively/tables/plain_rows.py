"""Columns of delimited text without quotes, as Arrow's reader makes them, but faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.tables import inputs

ENOUGH = 1 << 20
"""Bytes from which on it pays to load the kernels."""
ROWS = 1 << 13
"""Rows that are looked at together, so that their text stays in a cache."""
AFTER = 64


class Rows(NamedTuple):
    """Rows whose fields are known: see `naively.kernels.fields`."""

    text: npt.NDArray[np.uint8]
    fields: npt.NDArray[np.int32]
    total: int
    sizes: npt.NDArray[np.int64]


def columns_of(
    data: bytes, lines: int, delimiter: str, names: Sequence[str], kinds: Mapping[str, pa.DataType]
) -> list[pa.Array] | None:
    """The columns that are asked for; None where there are quotes, or something is wrong.

    Parameters
    ----------
    data : whole rows, or all to the end of the file.
    lines : how many of them end.
    names : of all columns.
    kinds : of the columns that are asked for: text, or encoded text.
    """
    if b'"' in data or not kinds:
        return None
    if inputs.first_bad_byte(data) is not None:
        return None
    rows = _split(data, lines, delimiter, len(names))
    if rows is None:
        return None
    place = {name: k for k, name in enumerate(names)}
    every = np.arange(rows.total)
    columns = [
        Encoded(rows, place[name]) if kind == inputs.TEXT else Plain(rows, place[name], every)
        for name, kind in kinds.items()
    ]
    for first in range(0, rows.total, ROWS):
        for column in columns:
            column.read(first, min(first + ROWS, rows.total))
    return [column.array() for column in columns]


def _split(data: bytes, lines: int, delimiter: str, columns: int) -> Rows | None:
    from naively.kernels.fields import split_fields

    size = len(data) + (not data.endswith(b"\n"))
    text = np.full(size + AFTER, ord("\n"), np.uint8)
    text[: len(data)] = np.frombuffer(data, np.uint8)
    fields = np.empty((lines + 2, columns + 1), np.int32)
    sizes = np.zeros(columns, np.int64)
    count = split_fields(text, size, np.uint8(ord(delimiter)), fields, sizes)
    return None if count < 0 else Rows(text, fields, count, sizes)


class Plain:
    """A column of text, of some rows."""

    def __init__(self, rows: Rows, column: int, chosen: npt.NDArray[np.int64]) -> None:
        self.rows, self.column, self.chosen = rows, column, chosen
        self.offsets = np.zeros(len(chosen) + 1, np.int32)
        self.out = np.empty(rows.sizes[column] + 8, np.uint8)

    def read(self, first: int, last: int) -> None:
        """Take the next rows."""
        from naively.kernels.fields import copy_fields

        copy_fields(
            self.rows.text, self.rows.fields, self.chosen[first:last], self.column,
            self.offsets[first : last + 1], self.out,
        )  # fmt: skip

    def array(self) -> pa.Array:
        """The column."""
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.out)]
        return pa.Array.from_buffers(pa.string(), len(self.chosen), buffers)


class Encoded:
    """A column of text that repeats itself: each text once, and its number in each row."""

    def __init__(self, rows: Rows, column: int) -> None:
        self.rows, self.column = rows, column
        self.slots = np.zeros(512, np.uint64)
        self.known = np.empty(rows.total, np.int64)
        self.state = np.zeros(1, np.int64)
        self.codes = np.empty(rows.total, np.int32)

    def read(self, first: int, last: int) -> None:
        """Take the next rows."""
        from naively.kernels.fields import number_fields
        from naively.kernels.vocabulary import rehash

        while first < last:
            first = number_fields(
                self.rows.text, self.rows.fields, first, last, self.column, self.slots,
                self.known, self.state, self.codes,
            )  # fmt: skip
            if first < last:
                old, self.slots = self.slots, np.zeros(2 * len(self.slots), np.uint64)
                rehash(old, self.slots)

    def array(self) -> pa.Array:
        """The column."""
        texts = Plain(self.rows, self.column, self.known[: self.state[0]])
        texts.read(0, len(texts.chosen))
        return pa.DictionaryArray.from_arrays(self.codes, texts.array())
