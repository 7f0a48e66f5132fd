"""Read JSON lines: by a compiled kernel if all values are strings, by Arrow, or by Python."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as arrow_json

from naively.io import inputs
from naively.io.frames import to_array
from naively.io.inputs import BOM, ENCODED, TEXT, LineBlock, LinesPart, Stream, TableError, Task

ENOUGH = 1 << 20  # minimum number of bytes for which loading the kernels pays off
AFTER = 64  # padding that the kernels may read beyond the text


def columns_of(data: bytes, lines: int) -> pa.Table | None:
    """Parse JSON lines whose values are all strings by compiled kernels, faster than Arrow.

    Return the columns; None if keys differ from those of the first object, a value is not a
    string, or there are errors, which the slower readers handle.

    data : whole lines; the last one may have no newline.
    lines : number of newlines.
    """
    names = _names(data)
    if not names or inputs.first_bad_byte(data) is not None:
        return None
    from naively.kernels.tables import copy_strings, split_objects

    text = np.empty(len(data) + AFTER, np.uint8)
    text[: len(data)], text[len(data) :] = np.frombuffer(data, np.uint8), ord("\n")
    keys = [json.dumps(name, ensure_ascii=False).encode() for name in names]
    key_bytes, key_ends = np.frombuffer(b"".join(keys), np.uint8), np.cumsum([*map(len, keys)])
    spans = np.empty((lines + 1, 2 * len(keys)), np.int32)
    sizes = np.zeros(len(keys), np.int64)
    rows = split_objects(text, len(data), key_bytes, key_ends, spans, sizes)
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
    """Return the keys of the first object; [] if keys repeat or a value is not a string."""
    first = next(filter(bytes.strip, BytesIO(data)), b"").strip()
    if not first.startswith(b"{"):
        return []
    try:
        pairs = json.loads(first, object_pairs_hook=list)
        names = [str(name) for name, value in pairs if isinstance(value, str)]
        "".join(names).encode()  # raises for lone surrogates
    except (ValueError, RecursionError):
        return []
    return names if len(pairs) == len({*names}) else []


# ---- JSON lines ----------------------------------------------------------------------------------


NULL = re.compile(rb"\}\s*null")
STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.S)
DEEPEST = 500  # maximum depth of nested values


class JsonLines(LinesPart):
    """A file of JSON lines, whose columns are the keys in the first block."""

    def _begin(self, stream: Stream) -> Iterator[LineBlock | None]:
        """Return the blocks; set `names` from the first one, unless they are set."""
        head = stream.some(inputs.HEAD).removeprefix(BOM)
        stream.put_back(head)
        if head.lstrip().startswith(b"["):
            raise TableError(
                f"{self.name}: this is a JSON list; write one object a line, without commas between"
            )
        blocks = self._blocks(stream, 1)
        first = next(filter(None, blocks), None)
        if first is None:
            raise TableError(f"{self.name} is empty; a table needs rows")
        if not self.names:
            self.names = self._parsed(first).schema.names
        if not self.names:
            raise TableError(f"{self.name}: the objects have no keys; there must be columns")
        return chain([first], blocks)

    def _tasks(self, stream: Stream, begun: Iterator[LineBlock | None]) -> Iterator[Task | None]:
        """Yield a task per block."""
        return (block and partial(self._parsed, block) for block in begun)

    def _parsed(self, block: LineBlock) -> pa.RecordBatch:
        """Return the rows of a block, with the selected columns."""
        table = columns_of(block.data, block.lines) if len(block.data) >= ENOUGH else None
        table = self._read_all(block) if table is None else table
        if self.selected is not None:
            names = set(table.schema.names)
            table = table.select([name for name in self.selected if name in names])
        if any(pa.types.is_nested(kind) for kind in table.schema.types):
            table = self._by_hand(block).select(table.schema.names)
        texts = set()
        for i, column in enumerate(table.schema):
            if pa.types.is_string(column.type):
                texts.add(column.name)
                if inputs.repeating(table.column(i)) == TEXT:
                    table = table.set_column(i, column.name, table.column(i).dictionary_encode())
        return inputs.marked(inputs.one_batch(table), texts, ENCODED)

    def _read_all(self, block: LineBlock) -> pa.Table:
        """Return the rows of a block: by Arrow if each key has one type, else by Python."""
        try:
            self._check_safe(block)
            table = self._read(block, {})
            date_columns = [f.name for f in table.schema if pa.types.is_temporal(f.type)]
            if date_columns:  # read text that looks like a date as text
                names = table.schema.names
                table = self._read(block, dict.fromkeys(date_columns, pa.string())).select(names)
            floats = [c for c in table.columns if pa.types.is_float64(c.type)]
            # large integers may have been rounded
            if not any(pc.any(pc.greater_equal(pc.abs(c), 2.0**53)).as_py() for c in floats):
                return table
        except (pa.ArrowException, UnicodeDecodeError):
            pass
        return self._by_hand(block)

    @staticmethod
    def _read(block: LineBlock, kinds: dict[str, Any]) -> Any:
        """Read the rows by Arrow, with given types of some columns."""
        schema = pa.schema(list(kinds.items())) if kinds else None
        read = arrow_json.ReadOptions(use_threads=False, block_size=len(block.data) + 1)
        parse = arrow_json.ParseOptions(explicit_schema=schema)
        return arrow_json.read_json(pa.BufferReader(block.data), read, parse)

    def _check_safe(self, block: LineBlock) -> None:
        """Raise TableError for input that Arrow does not check, or crashes on.

        That is invalid UTF-8, null instead of an object, and deeply nested values.
        """
        data = np.frombuffer(block.data, np.uint8)
        edges = np.concatenate([[-1], np.flatnonzero(data == ord("\n")), [len(data)]])
        starts, ends = edges[:-1] + 1, edges[1:]
        first = data[np.minimum(starts, len(data) - 1)]
        for i in np.flatnonzero((first != ord("{")) & (starts < ends)).tolist():
            if block.data[starts[i] : ends[i]].strip()[:1] not in (b"{", b""):
                self._objects(block)  # raises with the line number
        opening = np.flatnonzero((data == ord("{")) | (data == ord("[")))
        n_openings = np.diff(np.searchsorted(opening, edges))
        for i in np.flatnonzero(n_openings > DEEPEST).tolist():
            if _depth(block.data[starts[i] : ends[i]]) > DEEPEST:
                where = f"{self.name}, line {block.line + i}"
                raise TableError(f"{where}: the values are nested too deeply")
        if NULL.search(block.data) or inputs.first_bad_byte(block.data) is not None:
            self._objects(block)

    def _by_hand(self, block: LineBlock) -> pa.Table:
        """Read the rows by Python: columns of mixed types become text, nested values JSON."""
        rows = self._objects(block)
        names = list(dict.fromkeys(key for row in rows for key in row))
        try:
            columns = [to_array([_plain(row.get(name)) for row in rows], name) for name in names]
            return pa.table(columns, names=names)
        except ValueError as error:
            raise TableError(f"{self.name}: {inputs.brief(error)}") from None

    def _objects(self, block: LineBlock) -> list[dict[str, Any]]:
        """Parse the objects of a block. Raises TableError that names the line."""
        objects = []
        for i, text in enumerate(block.data.split(b"\n")):
            if not text.strip():
                continue
            where = f"{self.name}, line {block.line + i}"
            inputs.check_utf8(where, text)
            try:
                value = json.loads(text, object_pairs_hook=partial(_unique, where))
            except json.JSONDecodeError as error:
                raise TableError(
                    f"{where}: this is not JSON ({error.msg} at character {error.colno}); "
                    "each line must hold one object"
                ) from None
            if not isinstance(value, dict):
                raise TableError(
                    f"{where}: this is not an object; write {{...}} with the columns as keys"
                )
            objects.append(value)
        return objects


def _plain(value: Any) -> Any:
    """Return a value, or the JSON of a list or object."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _depth(line: bytes) -> int:
    """Return the depth of nested values in a line."""
    array = np.frombuffer(STRING.sub(b"", line), np.uint8)
    step = np.zeros(256, np.int8)
    step[list(b"[{")] = 1
    step[list(b"]}")] = -1
    return int(step[array].cumsum(dtype=np.int64).max(initial=0))


def _unique(where: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise TableError(f"{where}: the key {repeated!r} is there twice")
    return values
