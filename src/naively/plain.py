"""Results as lines of plain text, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from naively.markup import counted, magnitude

LISTED = 10  # columns that were left out
MANY = 1000  # bits of numbers of which the order of magnitude is told
EXACT = 1 << 53  # whole numbers up to here are the same in every reader of JSON


class Count(int):
    """A whole number that can be printed, even if it has more digits than Python writes out."""

    def __repr__(self) -> str:
        return magnitude(int(self)) if self.bit_length() >= MANY else int.__repr__(self)

    __str__ = __repr__


def aligned(heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right."""
    table = [tuple(heads), *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def rows_in_words(rows: int, looked_at: int, unlabelled: int) -> str:
    """How many rows there are, and how many of them were looked at."""
    said = f"{rows:,}"
    if looked_at < rows:
        said += f", of which a sample of {looked_at:,} was looked at"
    if unlabelled:
        said += f" ({unlabelled:,} without a label skipped)"
    return said


def left_out(columns: dict[str, str]) -> list[str]:
    """Which columns were left out, with the reasons: a line each, of the first ones."""
    lines = [f"left out: {name} ({reason})" for name, reason in columns.items()]
    if len(lines) > LISTED:
        lines[LISTED:] = [f"left out: {counted(len(lines) - LISTED, 'more column')}"]
    return lines


def plain_json(value: Any) -> Any:
    """The value as JSON takes it."""
    if isinstance(value, dict):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > EXACT:
        value = float(value) if value.bit_length() < 1024 else math.inf
    return None if isinstance(value, float) and not math.isfinite(value) else value
