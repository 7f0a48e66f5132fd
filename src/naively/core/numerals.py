"""Recognise numbers, dates and times in text."""

from __future__ import annotations

import re

DIGITS = r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
ANY = rf"[-+]?{DIGITS}"
"""A number, with or without leading zeros, for any regular expression engine."""
NUMBER = re.compile(rf"[-+]?(?!0[0-9]){DIGITS}")
"""A number without leading zeros; text such as 02139 is a code."""
WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
MOMENT = re.compile(
    r"(?:((?:\d|[-+]\d+)\d{3}-\d\d-\d\d)(?:[T ](?=\d)|$))?"
    r"(?:(\d\d:\d\d)(?::(\d\d)(\.\d+)?)?(Z|[-+]\d\d:?\d\d)?)?", re.ASCII
)  # fmt: skip
"""A date, a time of day, or both, in ISO 8601 format."""
LONG = 18  # length from which a whole number may exceed 64 bits


def is_whole(text: str) -> bool:
    """Return whether text is a whole number short enough for 64 bits."""
    return len(text) < LONG and WHOLE.fullmatch(text) is not None
