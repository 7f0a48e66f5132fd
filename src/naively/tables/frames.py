"""Whatever people hold a table in, as an Arrow table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from naively.tables.values import level_text


@dataclass(frozen=True)
class SparseTable:
    """A sparse matrix where a table is expected: counts of many things, most of them 0.

    Attributes
    ----------
    matrix : CSR matrix.
    """

    matrix: Any

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def column_names(self) -> list[str]:
        """x0, x1, ..., as of an array."""
        return array_names(self.matrix.shape[1])

    def slice(self, start: int, length: int | None = None) -> SparseTable:
        """Some rows."""
        stop = None if length is None else start + length
        return SparseTable(self.matrix[start:stop])

    def filter(self, mask: pa.Array) -> SparseTable:
        """The rows where the mask is true."""
        return SparseTable(self.matrix[np.flatnonzero(mask.to_numpy(zero_copy_only=False))])


def to_arrow(X: Any) -> pa.Table:
    """A frame (pandas, polars, Arrow, ...), dict of columns, NumPy array or list of rows.

    The columns of an array are named x0, x1, ...

    Raises
    ------
    ValueError : if it is no table, or two columns have the same name.
    """
    if isinstance(X, pa.Table):
        table = X
    elif isinstance(X, pa.RecordBatch):
        table = pa.Table.from_batches([X])
    elif type(X).__module__.split(".")[0] == "pandas" and hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
        table = _columns(names, [X.iloc[:, k] for k in range(len(names))])
    elif isinstance(X, Mapping):
        table = _columns([str(name) for name in X], list(X.values()))
    elif hasattr(X, "__arrow_c_stream__"):
        table = pa.table(X)
    elif hasattr(X, "__arrow_c_array__"):
        table = pa.Table.from_batches([pa.record_batch(X)])
    elif isinstance(X, list) and X and isinstance(X[0], Mapping):
        names = list(dict.fromkeys(str(name) for row in X for name in row))
        table = _columns(names, [[row.get(name) for row in X] for name in names])
    else:
        table = _rows(X)
    twice = [name for name, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise ValueError(f"columns must have different names; more than one is called {twice[0]!r}")
    return table


def is_named(X: Any) -> bool:
    """Whether a table's columns have names of their own."""
    if isinstance(X, list):
        return bool(X) and isinstance(X[0], Mapping)
    named = ("columns", "column_names", "__arrow_c_stream__", "__arrow_c_array__")
    return isinstance(X, Mapping) or any(hasattr(X, name) for name in named)


def array_names(columns: int) -> list[str]:
    """Names of the columns of an array."""
    return [f"x{k}" for k in range(columns)]


def _rows(X: Any) -> pa.Table:
    values = np.asarray(X) if hasattr(X, "__array__") else np.asarray(X, dtype=object)
    if isinstance(X, np.ma.MaskedArray):
        values = X  # its columns know what is missing
    if values.ndim != 2:
        raise ValueError(
            f"Reshape your data: a table has rows and columns, but this {type(X).__name__} has "
            f"{values.ndim} dimension{'s'[: values.ndim != 1]}"
        )
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: numbers must be real")
    return _columns(array_names(values.shape[1]), list(values.T))


def _columns(names: list[str], columns: list[Any]) -> pa.Table:
    arrays = [to_array(column) for column in columns]
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        sizes = ", ".join(f"{n!r} has {len(a)}" for n, a in zip(names, arrays, strict=True))
        raise ValueError(f"columns must be of one length: {sizes[:200]}")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ValueError(f"columns must have different names; more than one is called {twice!r}")
    return pa.table(dict(zip(names, arrays, strict=True)))


def to_array(column: Any) -> pa.Array:
    """One column; values of mixed types become text, as `level_text` writes them."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    if isinstance(column, np.ndarray) and column.dtype.kind in "US":
        column = column.astype(object)
    if isinstance(column, np.ma.MaskedArray) and column.dtype.kind == "O":
        column = column.tolist()  # None where masked
    elif hasattr(column, "__arrow_c_stream__") and not hasattr(column, "to_numpy"):
        return pa.chunked_array(column)
    if isinstance(column, np.ndarray) and not column.dtype.isnative:
        column = column.astype(column.dtype.newbyteorder("="))
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.array([level_text(value, ()) for value in column], pa.string())
