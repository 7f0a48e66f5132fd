"""Refuse training rows with a value that does not have the type of its column.

Training takes any value: a word can make a numeric column categorical, in whatever order rows
arrive. A model that its clients train must not change in that way by a typing error.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.core.exact import Float64
from naively.core.issues import brief
from naively.model.model import Model
from naively.model.schema import DATES
from naively.pooling.dates import is_date, seconds
from naively.serve.state import RefusedError
from naively.statistics.levels import TRUTHS
from naively.tables import encoding, values
from naively.tables.left_out import kinds, stored_levels

Type = Literal["numbers", "dates", "times of day", "dates or times", "truth values"]
REMEDIES: dict[Type, str] = {
    "numbers": "a number",
    "dates": "a date such as 2020-12-31",
    "times of day": "a time of day such as 13:05",
    "dates or times": "a date such as 2020-12-31 or a time such as 13:05",
    "truth values": "true or false",
}
"""The types of columns that do not take any text, and what to send."""


def check_types(model: Model, table: pa.Table) -> None:
    """Raise RefusedError for a value in training rows that would change the type of its column.

    It is also raised for a value that the family of the column cannot use, such as a negative
    count. Columns of text, and those whose type is still open, take any value.
    """
    present = {*table.column_names}
    for name, kind in types_of(model).items():
        if name not in present:
            continue
        column = values.flat(table.column(name))
        is_invalid = _invalid_numbers(model, name, column) if kind == "numbers" else (
            _invalid_texts(column, model.schema.missing, kind)
        )  # fmt: skip
        if is_invalid.any():
            row = int(is_invalid.argmax())
            try:
                value = brief(column[row].as_py())
            except (OverflowError, ValueError):  # a date or duration beyond those of Python
                value = "its value"
            raise RefusedError(
                422,
                f"row {row + 1}, column {name!r}: {value} is invalid in a column of {kind}; send "
                f"{REMEDIES[kind]}, or null if it is missing (`naively update` can change the type "
                "of a column)",
            )


def types_of(model: Model) -> dict[str, Type]:
    """Return the type of the values of each column, but for columns that take any text."""
    types: dict[str, Type] = {}
    schema, stored = model.schema, kinds(model)
    for name, levels in stored_levels(model):
        if stored.get(name) == "numbers":
            types[name] = "numbers"
        elif stored.get(name) == "dates":
            types[name] = "dates" if is_date(levels[0]) else "times of day"
        elif levels.tolist() == [*TRUTHS]:
            types[name] = "truth values"
    for name in schema.why:
        reason, family = schema.reason(name), schema.family_of.get(name)
        if reason == DATES:
            types[name] = "dates or times"
        elif reason.kind == "truths":
            types[name] = "truth values"
        elif schema.types.get(name) == "numeric" or reason.kind == "few numbers" or (
            family is not None and family.summary.takes == "numbers"
        ):  # fmt: skip
            types[name] = "numbers"
    return types


def _invalid_numbers(model: Model, name: str, column: pa.Array) -> npt.NDArray[np.bool_]:
    """Return (n,) whether each value is no number, or one that the family cannot use."""
    schema, inferred = model.schema, model.counted.open
    family = schema.family_of.get(name)
    takes_numbers = family is not None and family.summary.takes == "numbers"
    is_inferred = not takes_numbers or (inferred is not None and name in inferred.names)
    if is_inferred and schema.types.get(name) != "numeric":
        rows = encoding.read([name], pa.table({name: column}), schema.missing)
        numbers: Float64 = rows.numbers[:, 0]
        invalid = np.zeros(len(column), bool)
        for codes, texts in rows.texts.values():
            invalid = codes < len(texts)
    else:  # true is 1, and 007 is 7
        parsed = values.numbers(column, schema.missing)
        numbers, invalid = parsed.values, parsed.invalid
    low, high = -np.inf, np.inf
    if family is not None and takes_numbers:
        low, high = family.summary.bounds
    return invalid | (numbers < low) | (numbers > high) | np.isinf(numbers)


def _invalid_texts(column: pa.Array, missing: tuple[str, ...], kind: Type) -> npt.NDArray[np.bool_]:
    """Return (n,) whether each value is no date, time or truth value."""
    places, texts = values.level_texts(column, missing)
    invalid = [text is not None and not _is_valid(text, kind) for text in texts]
    return np.array([*invalid, False], bool)[places]


def _is_valid(text: str, kind: Type) -> bool:
    if kind == "truth values":
        return text in TRUTHS
    is_kind = kind == "dates or times" or is_date(text) == (kind == "dates")
    return is_kind and not np.isnan(seconds(np.array([text], values.TEXT)))[0]
