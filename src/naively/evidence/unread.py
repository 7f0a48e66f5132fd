"""Values that a plan cuts as numbers or dates, but that are none: they count as missing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from naively.evidence.bins import FINE
from naively.evidence.plan import Plan
from naively.exact import Int64
from naively.invalid import Invalid
from naively.statistics.levels import Encoded


def unread(plan: Plan, X: Encoded, bins: Callable[[int], Int64]) -> dict[int, Invalid]:
    """How many values of rows are no numbers or dates, by the column.

    Parameters
    ----------
    plan : only columns that tell something are looked at.
    bins : the fine bins of the levels of a column; only asked for where there is doubt.
    """
    found = {}
    for j in sorted({j for block in plan.blocks for j in block.columns}):
        column, known = plan.columns[j], X.levels[j]
        fits = not column.is_number or (known.dtype.kind != "T" and not column.dated)
        if fits or not len(known):
            continue
        wrong = bins(j)[:-1] == column.size(FINE) - 1
        met = np.bincount(X.codes[:, j], minlength=len(known) + 1)[:-1]
        wrong &= met > 0
        if wrong.any():
            example = min(map(str, known[wrong].tolist()))
            kind = "dates" if column.dated else "numbers"
            found[j] = Invalid(int(met[wrong].sum()), example, kind)
    return found
