"""Which columns hold text whose words are evidence."""

from __future__ import annotations

import numpy as np

from naively.evidence.entries import Entries
from naively.exact import Float64
from naively.statistics.levels import Levels

PROSE, DIFFERENT = 6, 0.5
"""Words that a text has on average, at least; part of the rows whose texts differ, at least."""


def is_text(entries: Entries, column: int, named: bool) -> bool:
    """Whether the words of a column are evidence: it holds prose, or is `named` as text."""
    levels = entries.levels[column]
    several = levels.dtype.kind == "T" and len(levels) > 1
    return (named and several) or is_prose(entries, column)


def is_prose(entries: Entries, column: int) -> bool:
    """Whether a column holds text of many words, mostly different."""
    levels = entries.levels[column]
    if levels.dtype.kind != "T":
        return False
    weight = np.bincount(entries.codes[:, column], entries.rows_met(), len(levels) + 1)
    return are_prose(levels, weight[:-1].astype(np.float64))


def are_prose(levels: Levels, weight: Float64) -> bool:
    """Whether texts of which each has such a weight are of many words, and mostly different."""
    whole = weight.sum()
    if len(levels) <= DIFFERENT * whole:
        return False
    words = np.array([len(text.split()) for text in levels.tolist()])
    return bool(weight @ words >= PROSE * whole > 0)
