"""The text of cells, as a person who knows the table would read it."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import scipy

from naively.explanation import Cells
from naively.tables.frames import SparseTable
from naively.tables.moments import readable
from naively.tables.values import level_text


def cell_text(value: Any, missing: Collection[str]) -> str | None:
    """A value as it is written; None if it is missing."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        return None if value.strip() in missing else value
    return level_text(value, missing)


def table_cells(
    columns: list[Any], missing: Collection[str], rows: range
) -> list[list[str | None]]:
    """The text of the cells of some rows, column by column.

    Parameters
    ----------
    columns : of Arrow.
    missing : spellings of a missing value.
    """
    if rows.step == 1:
        found = [column.slice(rows.start, len(rows)) for column in columns]
    else:
        found = [column.take(pa.array(rows, pa.int64())) for column in columns]
    return [[cell_text(value, missing) for value in readable(one).to_pylist()] for one in found]


def array_cells(X: Any, rows: range) -> list[list[str | None]]:
    """The text of the numbers in some rows of an array or CSR matrix, (n, d), column by column."""
    part = X[np.array(rows, np.int64)]
    part = part.toarray() if scipy.sparse.issparse(part) else part
    return [[cell_text(value, ()) for value in column] for column in part.T.tolist()]


def cells_of(table: Any, names: list[str], missing: Collection[str]) -> Cells:
    """The text of the cells of some columns of a table, or of a sparse matrix, by rows."""
    if isinstance(table, SparseTable):
        return partial(array_cells, table.matrix)
    known = dict(zip(table.column_names, table.columns, strict=True))
    lacking = pa.nulls(table.num_rows)
    return partial(table_cells, [known.get(name, lacking) for name in names], missing)
