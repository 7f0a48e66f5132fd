"""Dates and times as levels: the same moment is the same text.

Python and the models know the years 1 to 9999. A date of another year, such as PostgreSQL's
``infinity``, is written with a sign, as ISO 8601 does: ``+12000-01-31``.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from naively.exact import Int64

Column = TypeVar("Column", pa.Array, pa.ChunkedArray)

FAR = re.compile(r"[-+]\d{4,}-[01]\d-[0-3]\d(?:[T ]\d\d:.*)?", re.ASCII)
"""A date outside the years 1 to 9999, as text."""
DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
"""Units of time in a day."""
FIRST, LAST = -719_162, 2_932_896
"""The first day of the year 1, and the last of 9999, in days since 1970."""
CYCLE = 146_097
"""Days of 400 years, after which the calendar is the same."""
LONGEST = 999_999_999
"""Days of a duration that Python knows, at most."""


def plain(column: pa.Array) -> pa.Array:
    """Dates and times in UTC where they have a time zone; text if any is of a far year.

    The zone is not looked up: it may be one that nobody knows, and moments count from 1970 in UTC.
    """
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz not in (None, "UTC"):
        column = column.cast(pa.timestamp(kind.unit, "UTC"))
    far = _far(column)
    return _as_text(column, far) if far.any() else column


def readable(column: Column) -> Column:
    """A column of values that Python has: dates, times and durations that it has not, as text."""
    if isinstance(column, pa.ChunkedArray):
        chunks = [_readable(one) for one in column.chunks]
        kinds = {one.type for one in chunks}
        if len(kinds) > 1:
            chunks = [one.cast(pa.string()) for one in chunks]
        return pa.chunked_array(chunks) if chunks else column
    return _readable(column)


def _readable(column: pa.Array) -> pa.Array:
    kind, types = column.type, pa.types
    if types.is_nested(kind):
        return column if _is_python(column) else _shown(column)
    own = kind.value_type if types.is_dictionary(kind) else kind
    if not (types.is_date(own) or types.is_timestamp(own) or types.is_duration(own)):
        return column
    moments = column.cast(own)
    if types.is_duration(own):
        long = np.abs(_whole(moments) // DAY[own.unit]) >= LONGEST
        return moments.cast(pa.int64()).cast(pa.string()) if long.any() else column
    if _far(moments).any() or (types.is_timestamp(own) and not _is_known(own.tz)):
        return plain(moments).cast(pa.string())
    finer = types.is_timestamp(own) and own.unit == "ns" and (_whole(moments) % 1000).any()
    return moments.cast(pa.string()) if finer else column


def _is_python(column: pa.Array) -> bool:
    """Whether Python has the values of lists and the like."""
    try:
        column.to_pylist()
    except Exception:  # each type has its own
        return False
    return True


def _shown(column: pa.Array) -> pa.Array:
    """Lists and the like with a value that Python has not, as Arrow shows them."""
    texts = [str(column.slice(k, 1)) if one.is_valid else None for k, one in enumerate(column)]
    return pa.array(texts, pa.string())


def _whole(column: pa.Array) -> Int64:
    """(n,) the values as whole numbers of their unit; 0 where they are missing."""
    whole = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
    return np.asarray(pc.fill_null(whole.cast(pa.int64()), 0))


def _day(kind: pa.DataType) -> int:
    """How many units of a type are a day."""
    return 1 if pa.types.is_date32(kind) else DAY["ms" if pa.types.is_date64(kind) else kind.unit]


def _far(column: pa.Array) -> npt.NDArray[np.bool_]:
    """(n,) whether each date is outside the years 1 to 9999."""
    days = _whole(column) // _day(column.type)
    return (days < FIRST) | (days > LAST)


def _as_text(column: pa.Array, far: npt.NDArray[np.bool_]) -> pa.Array:
    kind = column.type
    near = pc.if_else(pa.array(far), pa.scalar(None, kind), column)
    texts, whole = near.cast(pa.string()).to_pylist(), _whole(column)
    for k in np.flatnonzero(far).tolist():
        days, rest = divmod(int(whole[k]), _day(kind))
        texts[k] = _far_date(days)
        if pa.types.is_timestamp(kind):
            clock = rest * (DAY["ns"] // _day(kind)) // 1000  # Python has microseconds
            texts[k] += f" {datetime.min + timedelta(microseconds=clock):%H:%M:%S.%f}"
            texts[k] += "Z" if kind.tz else ""
    return pa.array(texts, pa.string())


def _far_date(days: int) -> str:
    """A date, in days since 1970, whose year has a sign."""
    cycles, rest = divmod(days - FIRST, CYCLE)
    near = date.fromordinal(rest + 1)
    return f"{near.year + 400 * cycles:+05d}-{near:%m-%d}"


@cache
def _is_known(zone: str | None) -> bool:
    """Whether Arrow and Python know a time zone."""
    try:
        moment = pa.scalar(0, pa.timestamp("s", zone))
        moment.cast(pa.string())
        moment.as_py()
    except Exception:  # each library has its own
        return False
    return True


def moment_text(
    date: str | None, clock: str | None, seconds: str | None, fraction: str | None, zone: str | None
) -> str:
    """A date and a time without what is 0 at its end."""
    fraction = (fraction or "").rstrip("0").rstrip(".")
    if seconds and (seconds != "00" or fraction):
        clock = f"{clock}:{seconds}{fraction}"
    if zone and date and clock and (found := _in_utc(date, clock, zone)):
        date, clock = found
        zone = "+00:00"
    elif zone:
        zone = "+00:00" if zone == "Z" else f"{zone[:3]}:{zone[-2:]}"
    elif date and clock == "00:00":
        clock = None
    return " ".join(part for part in (date, clock) if part) + (zone or "")


def _in_utc(date: str, clock: str, zone: str) -> list[str] | None:
    """The date and the clock of UTC, as frames have them; None if there is no such date.

    Seconds are the same: zones are whole minutes.
    """
    seconds = clock[5:]
    minutes = 0 if zone == "Z" else 60 * int(zone[1:3]) + int(zone[-2:])
    try:
        moment = datetime.fromisoformat(f"{date} {clock[:5]}")
        moment -= timedelta(minutes=-minutes if zone[0] == "-" else minutes)
    except (ValueError, OverflowError):
        return None
    date, clock = moment.isoformat(" ", "minutes").split(" ")
    return [date, clock + seconds]
