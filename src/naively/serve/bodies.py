"""What a request cannot have, and why."""

from __future__ import annotations

import json
import re
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic_core import from_json, to_json

from naively.core.exact import Float64
from naively.core.labels import Labels
from naively.io.arrow import UnreadableTypeError, check_type, checked
from naively.io.frames import to_array
from naively.tables.answers import PREDICTION, Answer
from naively.tables.names import few
from naively.tables.values import is_view, without_views


class RefusedError(Exception):
    """A request that gets no answer but an error.

    Attributes
    ----------
    status : int, of HTTP.
    said : str, what is wrong, where, and what to do.
    """

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said


# ---- arrow ---------------------------------------------------------------------------------------


DICTIONARY_BATCH, RECORD_BATCH = 2, 3
WIDEN = 8
"""How many times as long as the body may its text be, where values are named more than once."""


def read(body: bytes, wanted: Sequence[str], rows: int, longest: int) -> tuple[Any, list[str]]:
    """(a table of the wanted columns, the names of all).

    Parameters
    ----------
    body : an Arrow stream.
    wanted : names of columns.
    rows : of the table, at most.
    longest : bytes of a body, at most.

    Raises
    ------
    RefusedError : if it is none, or too large.
    """
    try:
        _check_plain(body)
        with pa.ipc.open_stream(pa.py_buffer(body)) as stream:
            names = stream.schema.names
            if len({*names}) < len(names):
                twice = Counter(names).most_common(1)[0][0]
                raise RefusedError(422, f"more than one column is called {twice!r}")
            here = {name: stream.schema.field(name).type for name in names if name in {*wanted}}
            for name, kind in here.items():
                _check_type(name, kind)
            batches, count = [], 0
            for batch in stream:
                count += batch.num_rows
                if count > rows:
                    raise RefusedError(413, f"more than {rows:,} rows, which a request may have")
                part = batch.select(list(here)) if here else pa.record_batch(
                    {" ": pa.nulls(batch.num_rows)})  # fmt: skip
                batches.append(checked(part))
            table = pa.Table.from_batches(batches) if batches else pa.table({})
            if sum(map(_bytes, table.columns)) > WIDEN * longest:
                raise RefusedError(
                    413, f"the text of the rows is longer than {WIDEN * longest:,} bytes"
                )
            return without_views(table), names
    except (pa.ArrowException, OSError, ValueError, struct.error, IndexError) as error:
        raise RefusedError(400, f"the body is no Arrow stream: {str(error)[:200]}") from None


def _check_type(name: str, kind: pa.DataType) -> None:
    """Refuse values that are none of a cell, and those that may unfold to any size."""
    types = pa.types
    own = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_nested(own) or types.is_run_end_encoded(own) or types.is_dictionary(own) or (
        isinstance(own, pa.BaseExtensionType)
    ):  # fmt: skip
        raise RefusedError(422, f"column {name!r} is of type {str(kind)[:80]}: send plain values")
    try:
        check_type(name, kind)
    except UnreadableTypeError as error:
        raise RefusedError(422, str(error)) from None


def _bytes(column: pa.ChunkedArray) -> int:
    """How long the text of a column is, each value as often as it is there."""
    return sum(map(_length, column.chunks))


def _length(array: pa.Array) -> int:
    kind, types = array.type, pa.types
    if types.is_dictionary(kind):
        each = _lengths(array.dictionary)
        return 0 if each is None else int(each[np.asarray(array.indices.drop_null())].sum())
    each = _lengths(array)
    return 0 if each is None else int(each.sum())


def _lengths(array: pa.Array) -> Any:
    """(n,) bytes of each text; None if they are no texts."""
    kind, types = array.type, pa.types
    if is_view(kind):
        views = np.frombuffer(array.buffers()[1], np.int32)
        own = views[4 * array.offset : 4 * (array.offset + len(array)) : 4].astype(np.int64)
        return np.where(np.asarray(array.is_valid()), own, 0)  # a missing one may say anything
    if types.is_large_string(kind) or types.is_large_binary(kind) or (
        types.is_string(kind) or types.is_binary(kind)
    ):  # fmt: skip
        return np.asarray(pc.fill_null(pc.binary_length(array), 0)).astype(np.int64)
    return None


# ---- the metadata of messages, which are FlatBuffers ---------------------------------------------


def _check_plain(body: bytes) -> None:
    """Refuse a stream with a message that says that its buffers are compressed, or that it adds to
    a dictionary, which is then copied each time.

    `Message` in the format's Message.fbs has header_type, header and bodyLength as its fields 1, 2
    and 3; `RecordBatch` has compression as its field 3, `DictionaryBatch` a record batch and
    isDelta as its 1 and 2.
    """
    at = 0
    while at + 4 <= len(body):
        size = _read("<i", body, at)
        at += 4
        if size == -1:
            size = _read("<i", body, at)
            at += 4
        if size <= 0:
            return
        message = at + _read("<I", body, at)
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
        more = _read("<q", body, length) if length else 0
        if more < 0:
            raise ValueError("a message of negative length")
        at += size + more


def _read(kind: str, body: bytes, at: int) -> int:
    if at < 0:
        raise ValueError("a place before the first byte")
    return int(struct.unpack_from(kind, body, at)[0])


def _field(body: bytes, table: int, number: int) -> int:
    """Where the field of a table is; 0 if it has none."""
    vtable = table - _read("<i", body, table)
    if 4 + 2 * number >= _read("<H", body, vtable):
        return 0
    offset = _read("<H", body, vtable + 4 + 2 * number)
    return table + offset if offset else 0


def stream_of(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


# ---- written -------------------------------------------------------------------------------------


def in_json(value: Any) -> bytes:
    """A value as JSON; what is not finite is null. Floats are read back as they were."""
    return to_json(value, inf_nan_mode="null", fallback=str)


def rows_in_json(answer: Answer, classes: Labels) -> bytes:
    """The list of rows that `Answer.fields` describes, as JSON.

    Parameters
    ----------
    answer : Answer, of one row or more.
    classes : (C,) labels.
    """
    known = {label: in_json(label) for label in (None, *classes.tolist())}
    text = b"{%b:%%b" % in_json(PREDICTION)
    cells = [[known[one] for one in answer.labels.tolist()]]
    if answer.proba is not None:
        names = (in_json(str(label)).replace(b"%", b"%%") for label in classes.tolist())
        text += b',"probabilities":{' + b",".join(name + b":%b" for name in names) + b"}"
        cells += _columns_of(answer.proba)
    if answer.top is not None:
        labels, proba = answer.top
        one = b'{"label":%b,"probability":%b}'
        text += b',"top":[' + b",".join([one] * proba.shape[1]) + b"]"
        for own, numbers in zip(labels.T.tolist(), _columns_of(proba), strict=True):
            cells += [known[label] for label in own], numbers
    n, width = len(answer.labels), len(cells)
    flat = [b""] * (n * width)
    for k, column in enumerate(cells):
        flat[k::width] = column
    return b"[" + b",".join([text + b"}"] * n) % tuple(flat) + b"]"


def _columns_of(numbers: Float64) -> list[list[bytes]]:
    """Each number of each column, (k, n) of (n, k), as JSON."""
    every = in_json(numbers.ravel().tolist())[1:-1].split(b",")
    return [every[c :: numbers.shape[1]] for c in range(numbers.shape[1])]


# ---- bodies --------------------------------------------------------------------------------------


JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
CELLS = 10_000_000
"""Cells of a table, at most: rows of JSON may be short where tables are wide."""
QUICK = 1 << 20
"""Bytes of JSON, at most, that are read in one go, while which no other thread is in Python."""

ESCAPED = re.compile(rb'\\[\\"]')
PLAIN = {str: pa.string(), float: pa.float64()}
"""Columns of one type of cells, as Arrow has them."""
QUOTE = ord('"')


@dataclass(frozen=True)
class Limits:
    """What a request may hold.

    Attributes
    ----------
    bytes, rows : int
    """

    bytes: int = 1 << 24
    rows: int = 10_000


class Wanted:
    """The columns that rows may have.

    Parameters
    ----------
    columns : their names; others are told of.
    known : columns of which nothing is told, though they are not wanted, as the target.
    text, target : the only column, of documents, if it is; and that of labels, if they are wanted.
    """

    def __init__(
        self, columns: Sequence[str], known: Iterable[str | None] = (), text: str | None = None,
        target: str | None = None,
    ) -> None:  # fmt: skip
        self.columns, self.known = columns, {*columns, *known}
        self.text, self.target = text, target


def rows_of(body: bytes, kind: str, wanted: Wanted, limits: Limits) -> tuple[pa.Table, list[str]]:
    """(the rows of a request, what is to be said about them).

    Parameters
    ----------
    body : bytes
    kind : JSON or ARROW.

    Raises
    ------
    RefusedError : if there are none, too many, or they are no rows.
    """
    if kind == ARROW:
        table, names = read(body, wanted.columns, limits.rows, limits.bytes)
    else:
        table, names = _of_json(body, wanted, limits)
    if table.num_rows == 0:
        raise RefusedError(422, "there are no rows")
    unknown = [name[:40] for name in names if name not in wanted.known]
    return table, [f"unknown to the model: {few(unknown)}: ignored"] if unknown else []


def _of_json(body: bytes, wanted: Wanted, limits: Limits) -> tuple[pa.Table, list[str]]:
    """(a table of the wanted columns, the names of all)."""
    said = _parsed(body)
    if isinstance(said, dict):
        what = next((name for name in ("rows", "texts") if name in said), None)
        allowed = {"texts": {"texts", "labels"}, "rows": {"rows"}}.get(what or "", set())
        if what is None or (extra := said.keys() - allowed):
            strange = "" if what is None else f", and not {min(extra)[:40]!r} beside them"
            _refuse(f'a request has "rows", a list of objects, or "texts", a list{strange}')
        if what == "texts":
            return _of_texts(said, wanted, limits)
        said = said["rows"]
    if not isinstance(said, list):
        _refuse('the rows must be a list of objects, as {"rows": [{"age": 39}]}')
    _check_size(len(said), len(wanted.columns), limits)
    if {*map(type, said)} - {dict}:
        i = next(i for i, row in enumerate(said) if not isinstance(row, dict))
        _refuse(f"row {i + 1} must be an object with the columns as keys, not {_kind(said[i])}")
    names, given = _by_column(said, wanted.columns)
    columns = {name: _column(name, own) for name, own in given.items()}
    # a table without columns has no rows
    return pa.table(columns) if columns else pa.table({" ": pa.nulls(len(said))}), names


def _by_column(
    rows: list[dict[str, Any]], wanted: Sequence[str]
) -> tuple[list[str], dict[str, list[Any]]]:
    """(the names of all columns, the cells of those that are wanted)."""
    if rows and len(rows[0]) * len(rows) == sum(map(len, rows)):
        with suppress(KeyError):  # rows that have as many columns, but others
            cells = {name: [*map(itemgetter(name), rows)] for name in rows[0]}
            return [*cells], {name: cells[name] for name in wanted if name in cells}
    names = dict.fromkeys(chain.from_iterable(rows))
    return [*names], {name: [row.get(name) for row in rows] for name in wanted if name in names}


def _of_texts(
    said: dict[str, Any], wanted: Wanted, limits: Limits
) -> tuple[pa.Table, list[str]]:  # fmt: skip
    """The same of ``{"texts": ["..."], "labels": ["..."]}``."""
    if wanted.text is None:
        _refuse('the model has other columns than one of texts: write {"rows": [{...}]}')
    texts, labels = said["texts"], said.get("labels")
    if not isinstance(texts, list) or not isinstance(labels, list | None):
        _refuse('"texts" and "labels" must be lists')
    if labels is not None and len(labels) != len(texts):
        _refuse(f"there are {len(labels)} labels of {len(texts)} texts")
    _check_size(len(texts), 1, limits)
    for i, text in enumerate(texts):
        if not isinstance(text, str | None):
            _refuse(f"text {i + 1} must be a text or null, not {_kind(text)}")
    columns = {wanted.text: to_array(texts, wanted.text)}
    if labels is not None and wanted.target is not None:
        columns[wanted.target] = _column(wanted.target, labels)
    return pa.table(columns), list(columns)


def _check_size(rows: int, columns: int, limits: Limits) -> None:
    if rows > limits.rows:
        raise RefusedError(413, f"{rows:,} rows, where a request may have {limits.rows:,}")
    if rows * columns > CELLS:
        raise RefusedError(413, f"{rows:,} rows of {columns:,} columns are too many: send fewer")


def _column(name: str, cells: list[Any]) -> pa.Array:
    kinds = {*map(type, cells)}
    if kinds & {dict, list}:
        i = next(i for i, cell in enumerate(cells) if isinstance(cell, dict | list))
        _refuse(f"row {i + 1}, column {name!r}: {_kind(cells[i])} is no value")
    own = kinds - {type(None)}
    if len(own) == 1 and (kind := PLAIN.get(own.pop())) is not None:
        with suppress(pa.ArrowException, ValueError):  # half of a surrogate pair
            return pa.array(cells, kind)  # as `to_array`, which looks at each cell more than once
    return to_array(cells, name)


def _parsed(body: bytes) -> Any:
    """What the JSON says; a key that is there twice, NaN and what is no JSON are refused."""
    if len(body) <= QUICK:
        with suppress(ValueError):
            said = from_json(body, allow_inf_nan=False)
            if _has_all_keys(body, said):
                return said
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise RefusedError(400, f"the body is no UTF-8 at byte {error.start}") from None
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        said = f"the body is no JSON: {error.msg} at line {error.lineno}, character {error.colno}"
        raise RefusedError(400, said) from None
    except RecursionError:
        raise RefusedError(400, "the JSON is nested too deeply") from None
    except ValueError as error:  # a whole number of thousands of digits
        raise RefusedError(400, f"the JSON cannot be read: {error}") from None


def _has_all_keys(body: bytes, said: Any) -> bool:
    """Whether rows have each key and each text of the body: then no key was there twice.

    False if it is not known. Keys and texts are between quotes; those inside them are escaped.
    """
    rows = said.get("rows") if isinstance(said, dict) else said
    if not isinstance(rows, list) or {*map(type, rows)} != {dict}:
        return False
    outer = said if isinstance(said, dict) else {}
    cells = [*map(type, chain.from_iterable(map(dict.values, rows)))]
    texts = cells.count(str) + sum(map(len, rows)) + len(outer)
    quotes = np.count_nonzero(np.frombuffer(body, np.uint8) == QUOTE)
    escaped = ESCAPED.findall(body).count(rb"\"") if b"\\" in body else 0
    return bool(2 * texts == quotes - escaped)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        _refuse(f"the key {twice[:40]!r} is there twice in one object")
    return found


def _no_number(text: str) -> NoReturn:
    raise RefusedError(400, f"{text} is no JSON: write null for a missing value")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return names.get(type(value), "a truth value" if isinstance(value, bool) else "a number")


def _refuse(said: str) -> NoReturn:
    raise RefusedError(422, said)
