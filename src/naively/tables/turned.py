"""Columns of numbers or dates that text turns to levels, as more rows are learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from naively.model import Model
from naively.pooling.bins import as_numbers
from naively.pooling.dates import as_dates, seconds
from naively.statistics.levels import Levels


def kinds(model: Model) -> dict[str, str]:
    """The columns of numbers, and of dates, of a model that keeps its rows."""
    found = {}
    for name, known in _levels(model):
        if len(known) and known.dtype.kind != "T":
            found[name] = "numbers"
        elif as_dates(known) is not None:
            found[name] = "dates"
    return found


def turned(before: Mapping[str, str], after: Model) -> list[str]:
    """What to say of each of these columns that is one of levels by now."""
    said = []
    for name, known in _levels(after):
        what = before.get(name)
        if what is None or known.dtype.kind != "T":
            continue
        strange = known[np.isnan(seconds(known) if what == "dates" else as_numbers(known))]
        if len(strange):
            said.append(
                f"column {name!r} ({what}): values such as {str(strange[0])[:40]!r} cannot be "
                f"read as {what}, so all of it are levels from now on"
            )
    return said


def _levels(model: Model) -> Iterator[tuple[str, Levels]]:
    """The levels of each column that is cut as its values are, if no type is declared."""
    for part, counted in zip(model.schema.parts, model.parts, strict=True):
        if part.summary.takes == "cells":
            pairs = zip(part.names, counted.levels, strict=True)
            yield from (one for one in pairs if one[0] not in model.schema.types)
