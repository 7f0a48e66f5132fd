"""Read the rows of a request, JSON or an Arrow stream, as a table of the model's columns.

JSON is ``{"rows": [{"age": 39, "job": null}]}``, such a list alone, or ``{"texts": ["..."]}`` for a
text model, with ``"labels"`` beside them for training. Cells are numbers, strings, booleans and
null, with the same meaning as in a data frame. Anything else is refused, with its position.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from pydantic_core import from_json, to_json

from naively.core.exact import Float64
from naively.core.issues import brief
from naively.core.labels import Labels
from naively.core.markup import counted
from naively.io.frames import to_array
from naively.model.model import Model
from naively.predictor import NoColumnsError, column_issues
from naively.serve.arrow import read, too_many
from naively.serve.state import SOURCE, RefusedError
from naively.tables.answers import PREDICTION, Answer
from naively.tables.learning import TrainingSpec
from naively.tables.left_out import unvaried
from naively.tables.names import hinted

# ---- answers -------------------------------------------------------------------------------------


def in_json(value: Any) -> bytes:
    """Encode a value as JSON; NaN and infinity are null. Floats keep all their bits."""
    return to_json(value, inf_nan_mode="null", fallback=str)


def rows_in_json(answer: Answer, classes: Labels) -> bytes:
    """Encode `Answer.fields` of each row as JSON, much faster than row by row."""
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


JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
CELLS = 10_000_000  # cells of a table, at most: rows in JSON can be short where the table is wide
QUICK = 1 << 20
"""Bytes of JSON to parse in one call, at most, because no other thread can run meanwhile."""

ESCAPED = re.compile(rb'\\[\\"]')
PLAIN = {str: pa.string(), float: pa.float64()}
"""Arrow types of columns whose cells all have this Python type."""
QUOTE = ord('"')


@dataclass(frozen=True)
class Limits:
    """The largest request."""

    bytes: int = 1 << 24
    rows: int = 10_000


class RequestColumns:
    """The columns that a request may have.

    `spec`: for rows to train on or to forget; None for rows to predict.
    """

    def __init__(self, model: Model, spec: TrainingSpec | None = None) -> None:
        self.text, self.target = model.schema.text_column, model.target
        self.schema = model.schema
        self.labels: dict[str, str] = {}  # columns that training needs besides features
        self.unvaried: Collection[str] = ()  # may be absent
        if spec is None:
            self.unvaried = unvaried(model)
        else:
            self.schema, self.target = model.counted, spec.target
            self.labels = {spec.target: "label"}
            if spec.weight is not None:
                self.labels[spec.weight] = "weight"
        self.columns = [*self.schema.ordered, *self.labels]

    def refuse(self, problem: str, status: int = 422) -> NoReturn:
        """Refuse a body that has another form than it must have, which the message shows."""
        if self.text is not None:
            form = '"texts": ["..."]' + ', "labels": ["..."]' * bool(self.labels)
        else:
            names = [*self.schema.ordered[:1], *self.labels]
            cells = ", ".join(f"{in_json(name).decode()}: ..." for name in names)
            form = f'"rows": [{{{cells}}}]'
        raise RefusedError(status, f"{problem}: send {{{form}}}")

    def warnings(self, names: Sequence[str]) -> list[str]:
        """Warnings of absent features and unknown columns, for the columns of a request.

        Raises RefusedError without a feature, or without a column that training needs.
        """
        for name, role in self.labels.items():
            if name not in names:
                unknown = [name for name in names if name not in self.schema.why]
                column = hinted([name], unknown)
                problem = f"{SOURCE} has no column {column}"
                raise RefusedError(422, f"{problem}: send it with the {role} of each row")
        features = [name for name in names if name not in self.labels]
        try:
            issues = column_issues(self.schema, self.target, features, SOURCE, self.unvaried)
        except NoColumnsError as error:
            raise RefusedError(422, str(error)) from None
        return [str(issue) for issue in issues]


def rows_of(
    body: bytes, kind: str, request_columns: RequestColumns, limits: Limits
) -> tuple[pa.Table, list[str]]:
    """(the rows of a request, warnings about its columns).

    `kind`: JSON or ARROW. Raises RefusedError if there are no rows or too many, or the body is not
    valid.
    """
    if kind == ARROW:
        table, names = read(body, request_columns.columns, limits.rows, limits.bytes)
    else:
        table, names = _of_json(body, request_columns, limits)
    if table.num_rows == 0:
        request_columns.refuse(f"{SOURCE} has no rows")
    return table, request_columns.warnings(names)


def _of_json(
    body: bytes, request_columns: RequestColumns, limits: Limits
) -> tuple[pa.Table, list[str]]:
    """(a table of the selected columns, the names of all columns)."""
    if not body.strip():
        request_columns.refuse("the body is empty", 400)
    content = _parsed(body)
    if isinstance(content, dict):
        key = next((name for name in ("rows", "texts") if name in content), None)
        if key is None:
            request_columns.refuse('the body has neither "rows" nor "texts"')
        if unexpected := content.keys() - ({"texts", "labels"} if key == "texts" else {"rows"}):
            request_columns.refuse(f'the body has {brief(min(unexpected))} beside "{key}"')
        if key == "texts":
            return _of_texts(content, request_columns, limits)
        content = content["rows"]
    if not isinstance(content, list):
        request_columns.refuse(f"the rows must be a list, not {_kind(content)}")
    _check_size(len(content), len(request_columns.columns), limits)
    if {*map(type, content)} - {dict}:
        i = next(i for i, row in enumerate(content) if not isinstance(row, dict))
        request_columns.refuse(f"row {i + 1} must be an object, not {_kind(content[i])}")
    names, cells = _by_column(content, request_columns.columns)
    columns = {name: _column(name, values) for name, values in cells.items()}
    # a table without columns would have no rows
    return pa.table(columns) if columns else pa.table({" ": pa.nulls(len(content))}), names


def _by_column(
    rows: list[dict[str, Any]], selected: Sequence[str]
) -> tuple[list[str], dict[str, list[Any]]]:
    """(the names of all columns, the cells of the selected ones)."""
    if rows and len(rows[0]) * len(rows) == sum(map(len, rows)):
        with suppress(KeyError):  # rows with as many columns, but other names
            cells = {name: [*map(itemgetter(name), rows)] for name in rows[0]}
            return [*cells], {name: cells[name] for name in selected if name in cells}
    names = dict.fromkeys(chain.from_iterable(rows))
    return [*names], {name: [row.get(name) for row in rows] for name in selected if name in names}


def _of_texts(
    document: dict[str, Any], request_columns: RequestColumns, limits: Limits
) -> tuple[pa.Table, list[str]]:  # fmt: skip
    """As `_of_json`, for ``{"texts": ["..."], "labels": ["..."]}``."""
    if request_columns.text is None:
        request_columns.refuse('"texts" needs a model of one text column')
    texts, labels = document["texts"], document.get("labels")
    if not isinstance(texts, list) or not isinstance(labels, list | None):
        request_columns.refuse('"texts" and "labels" must be lists')
    if labels is not None and len(labels) != len(texts):
        sizes = f"{counted(len(texts), 'text')}, but {counted(len(labels), 'label')}"
        raise RefusedError(422, f"{sizes}: send one label for each text")
    _check_size(len(texts), 1, limits)
    for i, text in enumerate(texts):
        if not isinstance(text, str | None):
            request_columns.refuse(f"text {i + 1} must be a string or null, not {_kind(text)}")
    if labels is None and request_columns.labels:
        request_columns.refuse('the request has no "labels", a list with one label for each text')
    columns = {request_columns.text: to_array(texts, request_columns.text)}
    if labels is not None:
        columns |= {name: _column(name, labels) for name in [*request_columns.labels][:1]}
    return pa.table(columns), list(columns)


def _check_size(rows: int, columns: int, limits: Limits) -> None:
    if rows > limits.rows:
        raise too_many(limits.rows)
    if rows * columns > CELLS:
        raise RefusedError(
            413, f"{rows:,} rows of {columns:,} columns are too many: send several requests"
        )


def _column(name: str, cells: list[Any]) -> pa.Array:
    kinds = {*map(type, cells)}
    if kinds & {dict, list}:
        i = next(i for i, cell in enumerate(cells) if isinstance(cell, dict | list))
        problem = f"row {i + 1}, column {name!r}: {_kind(cells[i])} cannot be a value"
        raise RefusedError(422, f"{problem}; send a string, a number, true, false or null")
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
        raise RefusedError(400, f"the body is not UTF-8 at byte {error.start + 1:,}") from None
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, character {error.colno}"
        content = f"the body is not JSON ({place}): {error.msg}"
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
        problem = f"an object has the key {brief(duplicate)} twice"
        raise RefusedError(422, f"{problem}: send each column once")
    return members


def _no_number(text: str) -> NoReturn:
    raise RefusedError(400, f"{text} is not JSON: write null for a missing value")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")
