"""Numbers, dates and times as people write them."""

from __future__ import annotations

import re

DIGITS = r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
ANY = rf"[-+]?{DIGITS}"
"""A number, leading zeros or not, as a pattern of any engine."""
NUMBER = re.compile(rf"[-+]?(?!0[0-9]){DIGITS}")
"""A number; text with leading zeros, such as 02139, is a code."""
WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
MOMENT = re.compile(
    r"(?:((?:\d|[-+]\d+)\d{3}-\d\d-\d\d)(?:[T ](?=\d)|$))?"
    r"(?:(\d\d:\d\d)(?::(\d\d)(\.\d+)?)?(Z|[-+]\d\d:?\d\d)?)?", re.ASCII
)  # fmt: skip
"""A date, a time of the day, or both, as ISO 8601 has them."""
LONG = 18
"""Characters from which on a whole number may not be one of 64 bits."""


def is_whole(text: str) -> bool:
    """Whether text is a whole number of 64 bits, by its looks and its length."""
    return len(text) < LONG and WHOLE.fullmatch(text) is not None
