"""Sums over the partitions of a Dask collection, on whichever scheduler it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from naively.tables.frames import to_arrow
from naively.tables.joining import together

Count = Callable[[Iterable[pa.RecordBatch]], bytes | None]
Add = Callable[[Iterable[bytes]], bytes | None]
FAN = 8
"""Sums that are added up by one task."""


def summed(frame: Any, count: Count, add: Add) -> list[bytes]:
    """The sum of what was counted of each partition; none if no partition has rows.

    Parameters
    ----------
    frame : collection of frames, with `to_delayed`.
    count : from the batches of a partition to bytes; None if it has no rows.
    add : from such bytes to the bytes of their sum.
    """
    from dask import delayed

    sent = delayed(count, traverse=False)  # one task's result, not a part of each task
    sums = [delayed(_counted)(sent, part) for part in frame.to_delayed()]
    while len(sums) > 1:
        sums = [delayed(_joined)(add, sums[k : k + FAN]) for k in range(0, len(sums), FAN)]
    found: bytes | None = sums[0].compute()
    return [] if found is None else [found]


def _counted(count: Count, part: Any) -> bytes | None:
    return count(to_arrow(part).to_batches())


def _joined(add: Add, parts: list[bytes | None]) -> bytes | None:
    return add(one for one in parts if one is not None)


def first_rows(frame: Any, rows: int) -> pa.Table:
    """The first rows of a collection, partition by partition; its columns alone for 0 rows."""
    if rows == 0:
        return to_arrow(frame._meta)
    tables: list[pa.Table] = []
    for k in range(frame.npartitions):
        tables.append(to_arrow(frame.get_partition(k).compute()))
        if sum(map(len, tables)) >= rows:
            break
    return together(tables).slice(0, rows)
