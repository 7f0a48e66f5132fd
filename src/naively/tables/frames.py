"""Whatever people hold a table in, as an Arrow table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa

from naively.tables import values
from naively.tables.arrow_streams import is_stream
from naively.tables.objects import refuse_objects
from naively.tables.views import without_views

ONE_ROW = "one row give a frame of one row, as frame.iloc[[0]], or a list with its dict, [{...}]"
"""What to pass in the place of a row."""


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

    Raises ValueError if it is no table, or one that is read in batches, or two columns have the
    same name.
    """
    in_pandas = type(X).__module__.split(".")[0] == "pandas" and hasattr(X, "columns")
    if is_stream(X):
        raise ValueError(
            f"a {type(X).__name__} is read in batches, and this needs all rows in memory: pass "
            "naively.scan(...).to_table()"
        )
    refuse_objects(X)
    if isinstance(X, pa.Table):
        table = X
    elif isinstance(X, pa.RecordBatch):
        table = pa.Table.from_batches([X])
    elif isinstance(X, Mapping) or in_pandas:
        if not in_pandas:
            _refuse_row(X)
        table = _columns(X.items())
    elif hasattr(X, "__arrow_c_stream__"):
        table = _from_stream(X)
    elif hasattr(X, "__arrow_c_array__"):
        table = pa.Table.from_batches([_from_array(X)])
    elif _fields(X) and X.ndim == 1:  # a structured array
        table = _columns((name, X[name]) for name in _fields(X))
    elif isinstance(X, list) and X and isinstance(X[0], Mapping):
        names = list(dict.fromkeys(name for row in X for name in row))
        table = _columns((name, [row.get(name) for row in X]) for name in names)
    else:
        table = _rows(X)
    twice = [name for name, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise ValueError(f"columns must have different names; more than one is called {twice[0]!r}")
    return table


def _fields(X: Any) -> tuple[str, ...]:
    """The names of the fields of a structured array of NumPy."""
    return getattr(getattr(X, "dtype", None), "names", None) or ()


def is_named(X: Any) -> bool:
    """Whether a table's columns have names of their own."""
    if _fields(X):
        return True
    if isinstance(X, list):
        return bool(X) and isinstance(X[0], Mapping)
    named = ("columns", "column_names", "__arrow_c_stream__", "__arrow_c_array__")
    return isinstance(X, Mapping) or any(hasattr(X, name) for name in named)


def array_names(columns: int) -> list[str]:
    """Names of the columns of an array."""
    return [f"x{k}" for k in range(columns)]


def _rows(X: Any) -> pa.Table:
    refuse_path(X)
    if isinstance(X, list | tuple) and X and all(isinstance(row, list | tuple) for row in X):
        _check_even(X)
    cells = np.asarray(X) if hasattr(X, "__array__") else np.asarray(X, dtype=object)
    if isinstance(X, np.ma.MaskedArray):
        cells = X  # its columns know what is missing
    if cells.ndim != 2:
        raise _no_table(X, cells.ndim)
    return _columns(zip(array_names(cells.shape[1]), cells.T, strict=True))


def _check_even(rows: Sequence[Sequence[Any]]) -> None:
    """Raise ValueError if some rows have more values than others."""
    for k, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"row 0 of X has {len(rows[0])} values, row {k} has {len(row)}: the rows of a "
                "table are of one length"
            )


def refuse_path(X: Any) -> None:
    """Raise ValueError if X is the path of a file, or a text, in the place of its rows."""
    if isinstance(X, str | PathLike):
        path = str(X)[:60]
        raise ValueError(
            f"X is {path!r} ({type(X).__name__}), where rows are expected: if it is a file, pass "
            f"naively.scan({path!r})"
        )


def _refuse_row(columns: Mapping[Any, Any]) -> None:
    """Raise ValueError if a dict has a value where a column is expected."""
    for name, column in columns.items():
        single = isinstance(column, str | bytes) or getattr(column, "ndim", 1) == 0
        if single or not any(hasattr(column, one) for one in ("__iter__", "__arrow_c_array__")):
            raise ValueError(
                f"column {str(name)!r} is one value, {column!r:.40}, where a dict holds columns: "
                f"for {ONE_ROW}"
            )


def _no_table(X: Any, dimensions: int) -> ValueError:
    """What to say of something that has no rows and columns."""
    hint = f"; for {ONE_ROW}" if dimensions == 1 else ""
    if dimensions > 2:  # such as images
        hint = ": pass X.reshape(len(X), -1)"
    return ValueError(
        f"Reshape your data: a table has rows and columns, but this {type(X).__name__} has "
        f"{dimensions} dimension{'s'[: dimensions != 1]}{hint}"
    )


def _from_array(X: Any) -> pa.RecordBatch:
    try:
        return pa.record_batch(X)
    except (pa.ArrowException, TypeError, ValueError):
        raise _no_table(X, 1) from None


def _from_stream(X: Any) -> pa.Table:
    """A frame that Arrow reads; column by column if it does not know a type."""
    try:
        table = pa.table(X)
    except (pa.ArrowException, TypeError, ValueError):
        if not hasattr(X, "columns"):
            raise _no_table(X, 1) from None
        return _columns((name, X[name]) for name in X.columns)
    return without_views(table)


def _columns(columns: Iterable[tuple[Any, Any]]) -> pa.Table:
    """A table of columns, of which some may have the same name."""
    names, arrays = [], []
    for name, column in columns:
        names.append(str(name))
        arrays.append(to_array(column, names[-1]))
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        sizes = ", ".join(f"{n!r} has {len(a)}" for n, a in zip(names, arrays, strict=True))
        raise ValueError(f"columns must be of one length: {sizes[:200]}")
    return pa.table(arrays, names=names)


def to_array(column: Any, name: str = "y") -> pa.Array:
    """One column; values of several types become text, as `level_text` writes them.

    Raises ValueError naming the column, if its values are complex or cannot be read.
    """
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    refuse_objects(column)
    if getattr(getattr(column, "dtype", None), "kind", "") == "c":
        raise ValueError(f"Complex data not supported: column {name!r} must hold real numbers")
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "US":
            column = column.astype(object)
        elif not column.dtype.isnative:
            column = column.astype(column.dtype.newbyteorder("="))
    if isinstance(column, np.ma.MaskedArray) and column.dtype.kind == "O":
        column = column.tolist()  # None where masked
    try:
        if hasattr(column, "__arrow_c_stream__") and not hasattr(column, "iloc"):
            return pa.chunked_array(column)
        if not _is_mixed(column):
            array = pa.array(column, from_pandas=True)
            kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
            if not isinstance(kind, pa.BaseExtensionType):  # such as intervals and periods
                return array
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass
    try:
        return pa.array([_text(value) for value in column], pa.string())
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} cannot be read: {error}") from None


def _is_mixed(column: Any) -> bool:
    """Whether these are Python objects of several kinds.

    Arrow takes a date and a time for two dates, and crashes over some others.
    """
    dtype = getattr(column, "dtype", None)
    if dtype is not None and not (isinstance(dtype, np.dtype) and dtype.kind == "O"):
        return False
    cells = column if dtype is None else column.tolist()  # which is walked through much faster
    kinds = {*map(type, cells)} - {type(None)}
    if len(kinds) < 2:
        return False
    others = [cell for cell in cells if type(cell) is not str]  # text is something
    kinds = kinds & {str} | {type(cell) for cell in others if not values.is_nothing(cell)}
    return len(kinds) > 1 and not all(
        issubclass(kind, Real) and not issubclass(kind, bool | np.bool_) for kind in kinds
    )


def _text(value: Any) -> str | None:
    """A value as text, which text is already; half of a surrogate pair is written as its code."""
    text = value if isinstance(value, str) else values.level_text(value, ())
    return None if text is None else text.encode(errors="backslashreplace").decode()


def array_width(names: Iterable[str]) -> int:
    """Number of columns of the array whose columns these are; 0 if they are of no array."""
    known = list(names)
    return len(known) if known == array_names(len(known)) else 0
