"""Values that columns cannot take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass
class Invalid:
    """Values that a column's family cannot take, and that count as missing.

    Attributes
    ----------
    count : int
    example : one of them.
    """

    count: int
    example: Any


def add_invalid(total: dict[str, Invalid], more: Mapping[str, Invalid]) -> None:
    """Add values that columns could not take to the others, in whatever order they come."""
    for name, invalid in more.items():
        before = total.get(name, Invalid(0, invalid.example))
        example = min(before.example, invalid.example, key=str)
        total[name] = Invalid(before.count + invalid.count, example)
