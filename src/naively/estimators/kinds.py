"""The kind of table that was learned, so that rows drawn from a model are of the same kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from naively.tables.frames import SparseTable, is_named
from naively.tables.values import is_number

Kind = Literal["pandas", "polars", "dict", "numbers", "objects", "arrow"]
"""Frames, a dict of columns, arrays of numbers or of anything, and Arrow for all others."""


def kind_of(X: Any, table: pa.Table | SparseTable) -> Kind:
    """The kind of X, which is this table."""
    package = type(X).__module__.partition(".")[0]
    if package == "pandas" or package == "polars":
        return "pandas" if package == "pandas" else "polars"
    if isinstance(X, Mapping):
        return "dict"
    if is_named(X):
        return "arrow"
    numeric = isinstance(table, SparseTable) or all(map(is_number, table.schema.types))
    return "numbers" if numeric else "objects"


def as_kind(table: pa.Table, kind: str) -> Any:
    """The rows of a table as another kind; the levels of an array of numbers are numbers."""
    match kind:
        case "pandas":
            return table.to_pandas()
        case "polars":
            import polars

            return polars.from_arrow(table)
        case "dict":
            return table.to_pydict()
        case "numbers":
            return np.column_stack([column.cast(pa.float64()) for column in table.columns])
        case "objects":
            return np.array([column.to_pylist() for column in table.columns], object).T
    return table
