"""The text of cells, as a person who knows the table would read it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import issparse

from naively.tables.frames import SparseTable
from naively.tables.values import level_text


def cell_text(value: Any, missing: Collection[str]) -> str | None:
    """A value as it is written; None if it is missing."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        return None if value.strip() in missing else value
    return level_text(value, missing)


@dataclass(frozen=True, eq=False)
class TableCells:
    """The text of the cells of a table.

    Attributes
    ----------
    columns : of Arrow; None for one that the table lacks.
    missing : spellings of a missing value.
    """

    columns: list[Any]
    missing: Collection[str]

    @classmethod
    def of(cls, table: pa.Table, names: list[str], missing: Collection[str]) -> TableCells:
        """Of some columns of a table."""
        known = dict(zip(table.column_names, table.columns, strict=True))
        return cls([known.get(name) for name in names], missing)

    def __call__(self, rows: range) -> list[list[str | None]]:
        """Those of some rows, column by column."""
        return [self._texts(column, rows) for column in self.columns]

    def _texts(self, column: Any, rows: range) -> list[str | None]:
        if column is None:
            return [None] * len(rows)
        if rows.step == 1:
            column = column.slice(rows.start, len(rows))
        else:
            column = column.take(pa.array(rows, pa.int64()))
        return [cell_text(value, self.missing) for value in column.to_pylist()]


@dataclass(frozen=True, eq=False)
class ArrayCells:
    """The text of the numbers of an array or CSR matrix.

    Attributes
    ----------
    X : (n, d)
    """

    X: Any

    def __call__(self, rows: range) -> list[list[str | None]]:
        """Those of some rows, column by column."""
        part = self.X[np.array(rows, np.int64)]
        part = part.toarray() if issparse(part) else part
        return [[cell_text(value, ()) for value in column] for column in part.T.tolist()]


def cells_of(table: Any, names: list[str], missing: Collection[str]) -> TableCells | ArrayCells:
    """The text of the cells of some columns of a table, or of a sparse matrix."""
    if isinstance(table, SparseTable):
        return ArrayCells(table.matrix)
    return TableCells.of(table, names, missing)
