"""Amounts of rows or of time, as options say them: 10000, 30s, 12h, 7d."""

from __future__ import annotations

import re
from dataclasses import dataclass

from naively.cli.errors import UsageError

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([smhdw]?)")


@dataclass(frozen=True)
class Amount:
    """So many rows, or so many seconds; the other is None."""

    rows: int | None = None
    seconds: float | None = None


def amount(option: str, text: str) -> Amount:
    """The amount that an option says; UsageError if it is none."""
    found = AMOUNT.fullmatch(text.strip())
    number = float(found[1]) if found else 0.0
    if found is None or number == 0 or (not found[2] and not number.is_integer()):
        raise UsageError(
            f"--{option} {text}: write a number of rows, as 10000, or a time, as 30s, 5m, 12h, 7d "
            "or 2w"
        )
    return Amount(seconds=number * SECONDS[found[2]]) if found[2] else Amount(rows=int(number))
