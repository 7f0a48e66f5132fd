"""Read the rows of a request, JSON or an Arrow stream, as a table of the model's columns.

JSON is ``{"rows": [{"age": 39, "job": null}]}``, such a list alone, or ``{"texts": ["..."]}`` for a
text model, with ``"labels"`` beside them for training. Cells are numbers, strings, booleans and
null, with the same meaning as in a data frame. Anything else is refused, with its position.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from pydantic_core import from_json, to_json

from naively.core.exact import Float64
from naively.core.labels import Labels
from naively.core.markup import counted
from naively.io.frames import to_array
from naively.serve.arrow import read
from naively.serve.state import RefusedError
from naively.tables.answers import PREDICTION, Answer
from naively.tables.names import few

# ---- answers -------------------------------------------------------------------------------------


def in_json(value: Any) -> bytes:
    """Encode a value as JSON; NaN and infinity are null. Floats keep all their bits."""
    return to_json(value, inf_nan_mode="null", fallback=str)


def rows_in_json(answer: Answer, classes: Labels) -> bytes:
    """Encode `Answer.fields` of each row as JSON, much faster than row by row.

    Parameters
    ----------
    answer : Answer, of one row or more.
    classes : (C,) labels.
    """
    encoded = {label: in_json(label) for label in (None, *classes.tolist())}
    text = b"{%b:%%b" % in_json(PREDICTION)
    cells = [[encoded[entry] for entry in answer.labels.tolist()]]
    if answer.proba is not None:
        names = (in_json(str(label)).replace(b"%", b"%%") for label in classes.tolist())
        text += b',"probabilities":{' + b",".join(name + b":%b" for name in names) + b"}"
        cells += _columns_of(answer.proba)
    if answer.top is not None:
        labels, proba = answer.top
        entry = b'{"label":%b,"probability":%b}'
        text += b',"top":[' + b",".join([entry] * proba.shape[1]) + b"]"
        for labels_of_rank, numbers in zip(labels.T.tolist(), _columns_of(proba), strict=True):
            cells += [encoded[label] for label in labels_of_rank], numbers
    n, width = len(answer.labels), len(cells)
    flat = [b""] * (n * width)
    for k, column in enumerate(cells):
        flat[k::width] = column
    return b"[" + b",".join([text + b"}"] * n) % tuple(flat) + b"]"


def _columns_of(numbers: Float64) -> list[list[bytes]]:
    """Encode numbers (n, k) as JSON, by column: k lists of n."""
    encoded = in_json(numbers.ravel().tolist())[1:-1].split(b",")
    return [encoded[c :: numbers.shape[1]] for c in range(numbers.shape[1])]


# ---- bodies --------------------------------------------------------------------------------------


JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
CELLS = 10_000_000
"""Cells of a table, at most: rows in JSON can be short where the table is wide."""
QUICK = 1 << 20
"""Bytes of JSON to parse in one call, at most, because no other thread can run meanwhile."""

ESCAPED = re.compile(rb'\\[\\"]')
PLAIN = {str: pa.string(), float: pa.float64()}
"""Arrow types of columns whose cells all have this Python type."""
QUOTE = ord('"')


@dataclass(frozen=True)
class Limits:
    """The largest request.

    Attributes
    ----------
    bytes, rows : int
    """

    bytes: int = 1 << 24
    rows: int = 10_000


class RequestColumns:
    """The columns that a request may have.

    Parameters
    ----------
    columns : names; other columns are ignored, with a warning.
    ignored : names of columns to ignore without a warning, such as the target.
    text : the text column, if it is the model's only one; else None.
    target : the label column, if labels are needed; else None.
    """

    def __init__(
        self, columns: Sequence[str], ignored: Iterable[str | None] = (), text: str | None = None,
        target: str | None = None,
    ) -> None:  # fmt: skip
        self.columns, self.ignored = columns, {*columns, *ignored}
        self.text, self.target = text, target


def rows_of(
    body: bytes, kind: str, request_columns: RequestColumns, limits: Limits
) -> tuple[pa.Table, list[str]]:
    """(the rows of a request, warnings).

    Parameters
    ----------
    body : bytes
    kind : JSON or ARROW.

    Raises
    ------
    RefusedError : if there are no rows or too many, or the body is not valid.
    """
    if kind == ARROW:
        table, names = read(body, request_columns.columns, limits.rows, limits.bytes)
    else:
        table, names = _of_json(body, request_columns, limits)
    if table.num_rows == 0:
        raise RefusedError(422, "there are no rows")
    unknown = [name[:40] for name in names if name not in request_columns.ignored]
    return table, [f"unknown to the model: {few(unknown)}: ignored"] if unknown else []


def _of_json(
    body: bytes, request_columns: RequestColumns, limits: Limits
) -> tuple[pa.Table, list[str]]:
    """(a table of the wanted columns, the names of all columns)."""
    content = _parsed(body)
    if isinstance(content, dict):
        form = next((name for name in ("rows", "texts") if name in content), None)
        allowed = {"texts": {"texts", "labels"}, "rows": {"rows"}}.get(form or "", set())
        if form is None or (unexpected := content.keys() - allowed):
            detail = "" if form is None else f", and not {min(unexpected)[:40]!r} beside them"
            _refuse(f'a request has "rows", a list of objects, or "texts", a list{detail}')
        if form == "texts":
            return _of_texts(content, request_columns, limits)
        content = content["rows"]
    if not isinstance(content, list):
        _refuse('the rows must be a list of objects, as {"rows": [{"age": 39}]}')
    _check_size(len(content), len(request_columns.columns), limits)
    if {*map(type, content)} - {dict}:
        i = next(i for i, row in enumerate(content) if not isinstance(row, dict))
        _refuse(f"row {i + 1} must be an object with the columns as keys, not {_kind(content[i])}")
    names, cells = _by_column(content, request_columns.columns)
    columns = {name: _column(name, values) for name, values in cells.items()}
    # a table without columns would have no rows
    return pa.table(columns) if columns else pa.table({" ": pa.nulls(len(content))}), names


def _by_column(
    rows: list[dict[str, Any]], wanted: Sequence[str]
) -> tuple[list[str], dict[str, list[Any]]]:
    """(the names of all columns, the cells of the wanted ones)."""
    if rows and len(rows[0]) * len(rows) == sum(map(len, rows)):
        with suppress(KeyError):  # rows with as many columns, but other names
            cells = {name: [*map(itemgetter(name), rows)] for name in rows[0]}
            return [*cells], {name: cells[name] for name in wanted if name in cells}
    names = dict.fromkeys(chain.from_iterable(rows))
    return [*names], {name: [row.get(name) for row in rows] for name in wanted if name in names}


def _of_texts(
    document: dict[str, Any], request_columns: RequestColumns, limits: Limits
) -> tuple[pa.Table, list[str]]:  # fmt: skip
    """As `_of_json`, for ``{"texts": ["..."], "labels": ["..."]}``."""
    if request_columns.text is None:
        _refuse('the model has other columns than one of texts: write {"rows": [{...}]}')
    texts, labels = document["texts"], document.get("labels")
    if not isinstance(texts, list) or not isinstance(labels, list | None):
        _refuse('"texts" and "labels" must be lists')
    if labels is not None and len(labels) != len(texts):
        sizes = f"{counted(len(texts), 'text')}, but {counted(len(labels), 'label')}"
        _refuse(f"{sizes}: send one label for each text")
    _check_size(len(texts), 1, limits)
    for i, text in enumerate(texts):
        if not isinstance(text, str | None):
            _refuse(f"text {i + 1} must be a text or null, not {_kind(text)}")
    if labels is None and request_columns.target is not None:
        _refuse('there are no labels: send "labels", a list with one label for each text')
    columns = {request_columns.text: to_array(texts, request_columns.text)}
    if labels is not None and request_columns.target is not None:
        columns[request_columns.target] = _column(request_columns.target, labels)
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
        _refuse(f"row {i + 1}, column {name!r}: {_kind(cells[i])} is not a value")
    value_kinds = kinds - {type(None)}
    if len(value_kinds) == 1 and (kind := PLAIN.get(value_kinds.pop())) is not None:
        with suppress(pa.ArrowException, ValueError):  # an unpaired surrogate
            return pa.array(cells, kind)  # as `to_array`, but in one pass
    return to_array(cells, name)


def _parsed(body: bytes) -> Any:
    """Parse JSON; refuse duplicate keys, NaN, and text that is not JSON."""
    if len(body) <= QUICK:
        with suppress(ValueError):
            content = from_json(body, allow_inf_nan=False)
            if _has_all_keys(body, content):
                return content
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise RefusedError(400, f"the body is not UTF-8 at byte {error.start}") from None
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        content = (
            f"the body is not JSON (line {error.lineno}, character {error.colno}): {error.msg}"
        )
        raise RefusedError(400, content) from None
    except RecursionError:
        raise RefusedError(400, "the JSON is nested too deeply") from None
    except ValueError as error:  # an integer with thousands of digits
        raise RefusedError(400, f"the JSON cannot be read: {error}") from None


def _has_all_keys(body: bytes, document: Any) -> bool:
    """Whether the rows have all keys and strings of the body, so that no key was duplicated.

    False if it is not certain. Counts quotes: keys and strings are quoted, and quotes inside them
    are escaped.
    """
    rows = document.get("rows") if isinstance(document, dict) else document
    if not isinstance(rows, list) or {*map(type, rows)} != {dict}:
        return False
    outer = document if isinstance(document, dict) else {}
    cells = [*map(type, chain.from_iterable(map(dict.values, rows)))]
    texts = cells.count(str) + sum(map(len, rows)) + len(outer)
    quotes = np.count_nonzero(np.frombuffer(body, np.uint8) == QUOTE)
    escaped = ESCAPED.findall(body).count(rb"\"") if b"\\" in body else 0
    return bool(2 * texts == quotes - escaped)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        _refuse(f"the key {duplicate[:40]!r} is there twice in one object")
    return members


def _no_number(text: str) -> NoReturn:
    raise RefusedError(400, f"{text} is not JSON: write null for a missing value")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return names.get(type(value), "a truth value" if isinstance(value, bool) else "a number")


def _refuse(message: str) -> NoReturn:
    raise RefusedError(422, message)
