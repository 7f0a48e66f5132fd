"""Whether new rows are less probable than learned ones, and which of them are least."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from naively.exact import Float64, Int64
from naively.study.drift_columns import Compared, level_text, number
from naively.study.marginals import Cells, Marginal, Terms
from naively.study.two_samples import of_rises

LISTED, REASONS = 5, 3
"""Rows that are listed, and columns that are blamed for each."""


@dataclass(frozen=True)
class UnlikelyRow:
    """A row that is less probable than learned rows are on average.

    Attributes
    ----------
    row : its position, counted from 0.
    surprise : by how many nats.
    columns : dict, the values that are to blame, most first, and the nats of each.
    values : dict, of these columns.
    """

    row: int
    surprise: float
    columns: dict[str, float]
    values: dict[str, str]


@dataclass(frozen=True)
class RowDrift:
    """How probable rows are.

    log p(x) is taken column by column, as if these were independent, from what was counted of all
    classes together: then its mean over the learned rows follows from the sums, without the rows.

    Attributes
    ----------
    columns : how many; columns of which only means are known, and texts, have no p(x).
    lower : nats a row by which the mean of log p(x) is lower than that of learned rows.
    error : its standard error.
    p_value : that it is no lower; NaN where it cannot be tested.
    unlikely : list of UnlikelyRow, the least probable rows.
    """

    columns: int
    lower: float
    error: float
    p_value: float
    unlikely: list[UnlikelyRow]


def rows_drift(
    known: Sequence[Marginal], columns: Sequence[Compared], n: float, at: Int64
) -> RowDrift:
    """What is to be said of the rows.

    Parameters
    ----------
    known, columns : each column, and how it differs.
    n : learned rows.
    at : (m,) the position of each new row in the data.
    """
    pairs = [
        (one, c.surprise, c.excess)
        for one, c in zip(known, columns, strict=True)
        if c.surprise is not None
    ]
    if not pairs:
        return RowDrift(0, math.nan, math.nan, math.nan, [])
    total = np.sum([own for _, own, _ in pairs], axis=0)
    above = total - sum(excess for *_, excess in pairs)
    error = float(above.std(ddof=1)) * math.sqrt(1 / len(at) + 1 / n) if len(at) > 1 else math.nan
    least = np.argsort(-total, kind="stable")[:LISTED]
    return RowDrift(
        len(pairs), float(above.mean()), error, of_rises(above, n, 0.0),
        [_unlikely(int(i), pairs, float(total[i]), int(at[i])) for i in least.tolist()],
    )  # fmt: skip


def _unlikely(
    i: int, pairs: list[tuple[Marginal, Float64, float]], total: float, row: int
) -> UnlikelyRow:
    blamed = sorted(pairs, key=lambda pair: -pair[1][i])[:REASONS]
    blamed = [pair for pair in blamed if pair[1][i] > 0]
    return UnlikelyRow(
        row, total, {one.name: float(own[i]) for one, own, _ in blamed},
        {one.name: value_text(one, i) for one, *_ in blamed},
    )  # fmt: skip


def value_text(known: Marginal, i: int) -> str:
    """The value of a new row in a column, which is not missing."""
    if isinstance(known, Cells):
        return level_text(known.levels[known.codes[i]])
    assert not isinstance(known, Terms)
    value = float(known.values[i])
    return number(math.exp(min(value, 709.0)) if known.of_logs else value)
