"""Detect columns of text whose words are evidence."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64
from naively.statistics.levels import Levels

PROSE, DIFFERENT = 6, 0.5
"""Mean number of words of a text, at least; distinct texts as a share of the rows, at least."""


class Rows(Protocol):
    """Training rows as indices into the distinct values of each column."""

    @property
    def codes(self) -> npt.NDArray[Any]:
        """(R, d) indices into the distinct values."""
        ...

    @property
    def levels(self) -> list[Levels]:
        """The distinct values of each column."""
        ...

    def rows_met(self) -> Float64:
        """The weight of each row."""
        ...


def is_text(entries: Rows, column: int, named: bool) -> bool:
    """Whether the words of a column are evidence: it holds prose, or is declared text (`named`)."""
    levels = entries.levels[column]
    if levels.dtype.kind != "T" or len(levels) < 2:
        return False
    if named:
        return True
    weight = np.bincount(entries.codes[:, column], entries.rows_met(), len(levels) + 1)
    return are_prose(levels, weight[:-1].astype(np.float64))


def are_prose(levels: Levels, weight: Float64) -> bool:
    """Whether texts with these weights have many words and are mostly distinct."""
    total = weight.sum()
    if len(levels) <= DIFFERENT * total:
        return False
    words = np.array([len(text.split()) for text in levels.tolist()])
    return bool(weight @ words >= PROSE * total > 0)
