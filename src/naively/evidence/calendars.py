"""The evidence of the parts of dates that come again: hours, days of the week and so on.

How long ago a date was, its seconds tell: they are cut into bins as any number is. What comes again
is told by the part alone. Dates with a zone are in UTC, others as they are written.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from naively.exact import Float64, Int64

DAY = 86_400
FIRST_MONDAY = 4 * DAY
"""Seconds from 1970-01-01, a Thursday, to a Monday."""

HOURS = tuple(f"{hour:02d}:00 to {hour:02d}:59" for hour in range(24))
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DAYS = tuple(map(str, range(1, 32)))
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December")  # fmt: skip
PARTS = (("hours", HOURS), ("weekdays", WEEKDAYS), ("days of the month", DAYS), ("months", MONTHS))
"""What each part of a date is called, and its values."""


@dataclass(frozen=True)
class Calendar:
    """What a part of the dates of a column tells.

    Attributes
    ----------
    column : of the dates.
    part : which of `PARTS`.
    table : (values of the part and one for a missing date, C), in nats.
    """

    column: int
    part: int
    table: Float64

    @property
    def columns(self) -> tuple[int]:
        """The column."""
        return (self.column,)

    @property
    def labels(self) -> tuple[str, ...]:
        """The values of the part."""
        return PARTS[self.part][1]

    @property
    def name(self) -> str:
        """What the part is called."""
        return PARTS[self.part][0]

    def evidence(self, moments: Float64) -> Float64:
        """Of each date, NaN being none, and of a missing one: (n + 1, C)."""
        found: Float64 = self.table[np.append(values(moments, self.part), len(self.labels))]
        return found


def values(moments: Float64, part: int) -> Int64:
    """The part of dates in seconds since 1970, (n,): a place in its values; NaN is beyond these."""
    gone = np.isnan(moments)
    whole = np.floor(np.where(gone, 0.0, moments)).astype(np.int64)
    days: npt.NDArray[np.datetime64] = (whole // DAY).astype("datetime64[D]")
    month = days.astype("datetime64[M]")
    found: Int64
    if part == 0:
        found = whole % DAY // 3600
    elif part == 1:
        found = (whole - FIRST_MONDAY) % (7 * DAY) // DAY
    elif part == 2:
        found = (days - month.astype("datetime64[D]")).astype(np.int64)
    else:
        found = month.astype(np.int64) % 12
    return np.where(gone, len(PARTS[part][1]), found)
