"""Batches of Arrow from a stranger, in a file or a request: checked before anything uses them."""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)

UNREAD = (pa.lib.Type_INTERVAL_MONTHS, pa.lib.Type_INTERVAL_DAY_TIME)
"""Types that pyarrow has no values for."""
DIGITS = {4: 9, 8: 18, 16: 38, 32: 76}
"""Digits of a decimal of so many bytes: Arrow writes none whose scale is beyond these."""


class UnreadableTypeError(ValueError):
    """A column whose type is none that values can be read of."""


def check_type(name: str, kind: pa.DataType) -> None:
    """Raise UnreadableTypeError for a type whose values neither Arrow nor Python can read."""
    if not _is_readable(kind):
        raise UnreadableTypeError(
            f"column {name!r} is of type {_said(kind)}, whose values cannot be read: convert it, "
            "or leave it out"
        )


def checked(rows: Rows) -> Rows:
    """Rows, if each buffer of them holds what its type says.

    Raises
    ------
    UnreadableTypeError : for a type that cannot be read.
    pyarrow.ArrowInvalid : for a damaged buffer.
    """
    for field in rows.schema:
        check_type(field.name, field.type)
    rows.validate(full=True)
    return rows


def _has_text(kind: pa.TimestampType) -> bool:
    """Whether the name of the time zone is text."""
    try:
        return kind.tz is None or bool(kind.tz)
    except UnicodeError:
        return False


def _said(kind: pa.DataType) -> str:
    try:
        return str(kind)[:80]
    except UnicodeError:  # the name of a time zone
        return "timestamp"


def _is_readable(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_timestamp(kind):
        return _has_text(kind)
    if types.is_decimal(kind):
        return bool(abs(kind.scale) <= DIGITS[kind.byte_width])
    if isinstance(kind, pa.BaseExtensionType):
        return _is_readable(kind.storage_type)
    if types.is_dictionary(kind):
        return _is_readable(kind.value_type)
    if types.is_nested(kind):  # runs too
        return all(_is_readable(kind.field(k).type) for k in range(kind.num_fields))
    return kind.id not in UNREAD
