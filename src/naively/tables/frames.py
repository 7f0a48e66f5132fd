"""Whatever people hold a table in, as an Arrow table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from naively.tables.values import level_text


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


def _rows(X: Any) -> pa.Table:
    values = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    if values.ndim != 2:
        raise ValueError(
            f"a table has rows and columns, but this {type(X).__name__} has {values.ndim} "
            "dimensions; reshape it to (rows, columns)"
        )
    return _columns([f"x{k}" for k in range(values.shape[1])], list(values.T), len(values))


def _columns(names: list[str], columns: list[Any], rows: int | None = None) -> pa.Table:
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
    elif hasattr(column, "__arrow_c_stream__") and not hasattr(column, "to_numpy"):
        return pa.chunked_array(column)
    if isinstance(column, np.ndarray) and not column.dtype.isnative:
        column = column.astype(column.dtype.newbyteorder("="))
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.array([level_text(value, ()) for value in column], pa.string())
