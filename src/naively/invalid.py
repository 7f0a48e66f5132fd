"""Values that nobody can take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_WEIGHT = 1e200
"""What a row weighs at most: sums over any number of rows stay in float64."""


@dataclass
class Invalid:
    """Values that a column's family cannot take, and that count as missing.

    Attributes
    ----------
    count : int
    example : one of them.
    kind : what the column holds, where its family does not say.
    """

    count: int
    example: Any
    kind: str = field(default="", compare=False)


HIDDEN = "(forgotten)"
"""In the place of an example that may have been of rows that were forgotten."""


def add_invalid(total: dict[str, Invalid], more: Mapping[str, Invalid]) -> None:
    """Add values that columns could not take to the others, in whatever order they come."""
    for name, invalid in more.items():
        before = total.get(name, Invalid(0, invalid.example))
        example = min(before.example, invalid.example, key=lambda one: (one == HIDDEN, str(one)))
        kind = before.kind or invalid.kind
        total[name] = Invalid(before.count + invalid.count, example, kind)


def less_invalid(total: Mapping[str, Invalid], gone: Mapping[str, Invalid]) -> dict[str, Invalid]:
    """Notes without those of rows that were forgotten, of which no example stays."""
    left = dict(total)
    for name, one in gone.items():
        mine = left.pop(name, one)
        if mine.count > one.count:  # the least example of all is theirs, or is none of theirs
            example = HIDDEN if str(mine.example) == str(one.example) else mine.example
            left[name] = Invalid(mine.count - one.count, example)
    return left
