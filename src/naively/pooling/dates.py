"""Convert dates and times of day from text to seconds."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time

import numpy as np

from naively.core.exact import Float64
from naively.statistics.levels import Levels

FIRST = date(1970, 1, 1)
EPOCH = datetime.combine(FIRST, time(), UTC)


def as_dates(levels: Levels) -> Float64 | None:
    """The seconds of each value, if all are dates (since 1970) or all are times of day; else None.

    Text is in the format of `naively.tables.values.level_text`: ISO 8601, such as 2020-01-31,
    2020-01-31 12:30 or 12:30:01. Text without a time zone is in UTC.
    """
    if levels.dtype.kind != "T" or not len(levels):
        return None
    if math.isnan(_seconds(levels[0])) or len(set(map(is_date, levels.tolist()))) > 1:
        return None
    timestamps = seconds(levels)
    return None if np.isnan(timestamps).any() else timestamps


def seconds(levels: Levels) -> Float64:
    """The seconds of each value; NaN where it is no date or time."""
    if levels.dtype.kind != "T":
        return np.full(len(levels), np.nan)
    return np.array([_seconds(level) for level in levels.tolist()], np.float64)


def is_date(text: str) -> bool:
    """Whether the text of a date or a time starts with a date."""
    return text[4:5] == "-" == text[7:8]


def _seconds(text: str) -> float:
    try:
        if is_date(text):
            moment = datetime.fromisoformat(text)
        elif text[2:3] == ":":
            moment = datetime.combine(FIRST, time.fromisoformat(text))
        else:
            return math.nan
    except ValueError:
        return math.nan
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH).total_seconds()
