"""Whether new rows are less probable than learned ones, and which of them are least."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from naively.evaluation.drift.columns import Compared, level_text, number
from naively.evaluation.drift.marginals import Cells, Marginal, Terms
from naively.evaluation.drift.two_samples import of_rises
from naively.exact import Float64, Int64

LISTED, REASONS = 5, 3
"""Rows that are listed, and columns that are blamed for each."""


@dataclass(frozen=True)
class UnlikelyRow:
    """A row of rare values.

    Attributes
    ----------
    row : its position, counted from 0.
    surprise : how rare its values are, added up: -log of the part of the learned rows that have the
        level, or a number as far out or farther; of numbers of which only means and variances are
        known -log of a normal density. In nats beyond the mean of learned rows.
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
    columns : how many: those of which it is known how many rows have each value; if there are none
        those of which means and variances are known, as if they were normally distributed.
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
    pairs = [*zip(known, columns, strict=True)]
    bounded = [c for one, c in pairs if isinstance(one, Cells) and c.surprise is not None]
    used = bounded or columns  # one number that is far off would be all that the others say
    known_of = [(c.surprise, c.excess) for c in used if c.surprise is not None]
    odd = [(one, c.odd) for one, c in pairs if c.odd is not None]
    if not known_of:
        return RowDrift(0, math.nan, math.nan, math.nan, [])
    above = np.sum([own - excess for own, excess in known_of], axis=0)
    error = float(above.std(ddof=1)) * math.sqrt(1 / len(at) + 1 / n) if len(at) > 1 else math.nan
    total = np.sum([own for _, own in odd], axis=0)
    least = np.argsort(-total, kind="stable")[:LISTED].tolist()
    return RowDrift(
        len(known_of), float(above.mean()), error, of_rises(above, n, 0.0),
        [_unlikely(i, odd, float(total[i]), int(at[i])) for i in least],
    )  # fmt: skip


def _unlikely(i: int, odd: list[tuple[Marginal, Float64]], total: float, row: int) -> UnlikelyRow:
    blamed = sorted(odd, key=lambda pair: -pair[1][i])[:REASONS]
    blamed = [pair for pair in blamed if pair[1][i] > 0]
    return UnlikelyRow(
        row, total, {one.name: float(own[i]) for one, own in blamed},
        {one.name: value_text(one, i) for one, _ in blamed},
    )  # fmt: skip


def value_text(known: Marginal, i: int) -> str:
    """The value of a new row in a column, which is not missing."""
    if isinstance(known, Cells):
        return level_text(known.levels[known.codes[i]])
    assert not isinstance(known, Terms)
    value = float(known.values[i])
    return number(math.exp(min(value, 709.0)) if known.of_logs else value)
