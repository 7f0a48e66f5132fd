"""Rows that are held out of a stream, each with a random number."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from naively.exact import Float64
from naively.tables.inputs import DECLARED, is_declared


@dataclass
class Held:
    """Rows that were held out, each with a random number below the threshold."""

    tables: list[pa.Table] = field(default_factory=list)
    draws: list[Float64] = field(default_factory=list)
    rows: int = 0

    def add(self, table: pa.Table, draws: Float64) -> None:
        """Hold out more rows."""
        if table.num_rows:
            self.tables.append(table)
            self.draws.append(draws)
            self.rows += table.num_rows

    def release(self, threshold: float) -> Iterator[pa.Table]:
        """Give up the rows that are not below a lower threshold."""
        tables, draws = self.tables, self.draws
        self.tables, self.draws, self.rows = [], [], 0
        for table, own in zip(tables, draws, strict=True):
            kept = own < threshold
            yield table.filter(pa.array(~kept))
            self.add(table.filter(pa.array(kept)), own[kept])

    def cut(self, threshold: float) -> None:
        """Let go of the rows that are not below a lower threshold."""
        tables, draws = self.tables, self.draws
        self.tables, self.draws, self.rows = [], [], 0
        for table, own in zip(tables, draws, strict=True):
            kept = own < threshold
            self.add(table.filter(pa.array(kept)), own[kept])

    def smallest(self, count: int) -> float:
        """The threshold below which so many rows are."""
        return float(np.partition(np.concatenate(self.draws), count)[count])


def compact(table: pa.Table, needed: Collection[str | None]) -> pa.Table:
    """The columns that matter, marked as they were, without the levels of rows not there."""
    columns, fields = [], []
    for k, one in enumerate(table.schema):
        if one.name in needed:
            column, kind = table.column(k), one.type
            columns.append(column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column)
            mark = DECLARED if is_declared(one) else one.metadata
            fields.append(pa.field(one.name, columns[-1].type, metadata=mark))
    return pa.table(columns, schema=pa.schema(fields))
