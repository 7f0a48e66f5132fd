"""Sums that serve for others: of the same columns, or of some of them."""

from __future__ import annotations

from typing import Any

from naively.schema import Counted
from naively.statistics.base import Statistics
from naively.statistics.blocks import columns_among


def serves(own: Counted, part: Counted) -> bool:
    """Whether what is counted of some columns has the sums of others in it."""
    if own.summary != part.summary:
        return False
    return own.names == part.names or (own.summary.by_column and {*part.names} <= {*own.names})


def taken(own: Counted, part: Counted, whole: Any) -> Any:
    """What belongs to the columns of `part`: of the rows of `own`, or of their sums."""
    columns = columns_among(own.names, part.names)
    if columns is None:
        return whole
    return whole.gather_columns(columns) if isinstance(whole, Statistics) else whole[:, columns]
