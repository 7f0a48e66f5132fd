"""Convert data frames, dicts and arrays to Arrow tables, and read Arrow streams in batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from numbers import Real
from os import PathLike
from typing import Any
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from naively.io import inputs
from naively.io.formats.parquet_feather import BYTES, ROWS
from naively.io.inputs import Part, TableError, Task
from naively.tables import values
from naively.tables.values import bytes_of, without_views


def refuse_objects(X: Any) -> None:
    """Raise ValueError for a Dask frame, or for a polars column of Python objects.

    Polars exports the addresses of the objects to Arrow instead of their values.
    """
    refuse_dask(X)
    if type(X).__module__.split(".")[0] != "polars":
        return
    series = {getattr(X, "name", ""): X.dtype} if hasattr(X, "dtype") else {}
    schema = X.collect_schema() if hasattr(X, "collect_schema") else series
    for name, kind in schema.items():
        if str(kind) == "Object":
            raise ValueError(
                f"column {name!r} is of polars' type Object, which holds Python objects: make text "
                f"of it, as pl.Series({name!r}, [str(value) for value in frame[{name!r}]])"
            )


def refuse_dask(X: Any) -> None:
    """Raise ValueError for a Dask frame or series, which NumPy would read without names."""
    if type(X).__module__.split(".")[0] == "dask" and hasattr(X, "map_partitions"):
        if hasattr(X, "to_dask_dataframe"):  # an array, which has no names
            return
        raise ValueError(
            f"a Dask {type(X).__name__} is in parts: naively.dask.fit(ddf, target=...) learns it, "
            "naively.dask.predict(model, ddf) predicts it, and X.compute() makes a pandas "
            f"{type(X).__name__} of it"
        )


# ---- arrow streams -------------------------------------------------------------------------------


BEGUN: WeakSet[Any] = WeakSet()
"""Readers whose batches were consumed, at least in part: they cannot be read again."""


class ArrowStream(Part):
    """Batches of another library, read on demand.

    begin : a function that returns an iterator over all batches, which is closed if it has `close`.
    names : names of the columns; None to begin at once, and take them from the batches' schema.
    """

    size = None

    def __init__(
        self, name: str, begin: Callable[[], Any], names: Iterable[str] | None, again: bool
    ) -> None:
        self.name, self._begin, self._again = name, begin, again
        self._begun, self._bytes = None, 0
        if names is None:
            self._begun = begin()
            names = self._begun.schema.names
        self.names = inputs.checked_names(name, list(names))

    def tasks(self) -> Iterator[Task]:
        """Yield a task for each slice of a batch; each call starts at the first batch."""
        batches, self._begun = self._begun, None
        batches = self._begin() if batches is None else batches
        columns, rows = self.columns, 0
        try:
            for batch in batches:
                rows += batch.num_rows
                self._bytes += bytes_of(batch)
                row_bytes = bytes_of(batch) // max(1, batch.num_rows)
                size = min(ROWS, max(256, BYTES // max(1, row_bytes)))
                for start in range(0, batch.num_rows, size):
                    yield partial(_plain, batch.slice(start, size), columns)
        finally:
            getattr(batches, "close", lambda: None)()
        if rows == 0 and not self._again:
            raise TableError(
                f"{self.name} has no rows: it can be read only once; was it read before?"
            )

    def read_bytes(self) -> int:
        """Return the number of bytes of the batches so far."""
        return self._bytes


def arrow_stream(X: Any) -> ArrowStream | None:
    """Return a part that reads X in batches; None if X is not a stream.

    Streams are a `pyarrow.RecordBatchReader`, a `pyarrow.dataset.Dataset` or `Scanner`, a polars
    LazyFrame, a DuckDB relation or result, an ADBC cursor, and any object with
    ``__arrow_c_stream__`` and without a length. Raises TableError if it was read before and cannot
    be read again, or columns have the same name.
    """
    if (manner := _manner(X)) is None:
        return None
    begin, names, is_repeatable = manner
    return ArrowStream(_called(X), begin, None if names is None else names(), is_repeatable)


def is_stream(X: Any) -> bool:
    """Return whether X is read in batches, without reading from it."""
    return hasattr(type(X), "live_tasks") or _manner(X) is not None


def _called(X: Any) -> str:
    return f"the {type(X).__name__}"


# ---- kinds of streams --------------------------------------------------------------------------

Manner = tuple[Callable[[], Any], Callable[[], Iterable[str]] | None, bool]
"""(function that returns the batches; function that returns the column names, None if only the
batches have them; whether it can be read again)."""


def _manner(X: Any) -> Manner | None:
    """Return how X is read in batches; None if it is not a stream."""
    if isinstance(X, list | np.ndarray | pa.Table | pa.RecordBatch | Mapping):
        return None
    has = partial(hasattr, type(X))  # not X: the columns of a relation are attributes
    if isinstance(X, pa.RecordBatchReader):
        return partial(_once, X), lambda: X.schema.names, False
    if has("collect_batches"):
        refuse_objects(X)
        return partial(_frames, X), lambda: X.collect_schema().names(), True
    if has("scanner"):
        return partial(_scanned, X), lambda: X.schema.names, True
    if has("scan_batches"):
        return X.to_reader, lambda: X.projected_schema.names, True
    if has("to_arrow_reader") or has("fetch_record_batch"):
        is_relation = has("columns")  # a relation has columns; a cursor has one result
        return partial(result_of, X), (lambda: X.columns) if is_relation else None, is_relation
    if has("__arrow_c_stream__") and not has("__len__"):
        return partial(pa.RecordBatchReader.from_stream, X), None, False
    return None


def _once(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    if reader in BEGUN:
        raise TableError(
            f"{_called(reader)} was read already, and can be read only once: make a new one, or "
            "pass what can be read again, such as naively.scan of files or a pyarrow.dataset"
        )
    BEGUN.add(reader)
    yield from reader


def _frames(lazy: Any) -> Iterator[pa.RecordBatch]:
    for frame in lazy.collect_batches(chunk_size=ROWS, lazy=True):
        yield from pa.RecordBatchReader.from_stream(frame)


def _scanned(dataset: Any) -> pa.RecordBatchReader:
    """Read the batches of a dataset, with little read-ahead.

    With threads, the scanner would read up to a gigabyte ahead if counting is slower.
    """
    from pyarrow.dataset import ParquetFragmentScanOptions

    options = None
    if getattr(getattr(dataset, "format", None), "default_extname", None) == "parquet":
        # pre-buffered data would stay in memory until the end of the file
        options = ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
    return dataset.scanner(
        batch_size=ROWS, batch_readahead=1, fragment_readahead=1, fragment_scan_options=options,
        use_threads=False, cache_metadata=False,
    ).to_reader()  # fmt: skip


def result_of(X: Any) -> Any:
    """Return the rows of a relation or cursor as batches.

    Raises TableError if it has no result, or the result was read before.
    """
    fetch = getattr(X, "to_arrow_reader", None) or X.fetch_record_batch  # older versions
    try:
        reader = fetch(ROWS)
    except TypeError:  # ADBC takes no batch size
        reader = fetch()
    except Exception as error:
        if "no query result" not in str(error):  # message of DuckDB before 2.0
            raise
        reader = None
    if reader is not None and reader not in BEGUN:
        BEGUN.add(reader)
        return reader
    raise TableError(
        f"{_called(X)} has no result to read: it can be read only once; execute the query again"
    )


# ---- batches -----------------------------------------------------------------------------------


def _plain(batch: pa.RecordBatch, columns: list[str]) -> pa.RecordBatch:
    """Select columns of a batch, and convert them to types that Arrow can filter."""
    return without_views(batch.select(columns))


# ---- frames --------------------------------------------------------------------------------------


ONE_ROW = "one row give a frame of one row, as frame.iloc[[0]], or a list with its dict, [{...}]"
"""Advice for users who pass a single row."""


@dataclass(frozen=True)
class SparseTable:
    """A sparse matrix with the interface of a table."""

    matrix: Any

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    @property
    def column_names(self) -> list[str]:
        """x0, x1, ..., as for an array."""
        return array_names(self.matrix.shape[1])

    def slice(self, start: int, length: int | None = None) -> SparseTable:
        """Return `length` rows from `start` on."""
        stop = None if length is None else start + length
        return SparseTable(self.matrix[start:stop])

    def filter(self, mask: pa.Array) -> SparseTable:
        """Return the rows where the mask is true."""
        return SparseTable(self.matrix[np.flatnonzero(mask.to_numpy(zero_copy_only=False))])


def to_arrow(X: Any) -> pa.Table:
    """Convert a frame (pandas, polars, Arrow, ...), dict, NumPy array or list of rows to Arrow.

    The columns of an array are named x0, x1, ...

    Raises ValueError if X is not a table, is a stream, or has two columns of the same name.
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
        try:
            table = pa.Table.from_batches([pa.record_batch(X)])
        except (pa.ArrowException, TypeError, ValueError):
            raise _no_table(X, 1) from None
    elif _fields(X) and X.ndim == 1:  # a structured array
        table = _columns((name, X[name]) for name in _fields(X))
    elif isinstance(X, list) and X and isinstance(X[0], Mapping):
        names = list(dict.fromkeys(name for row in X for name in row))
        table = _columns((name, [row.get(name) for row in X]) for name in names)
    else:
        table = _rows(X)
    if repeated := [name for name, count in Counter(table.column_names).items() if count > 1]:
        raise ValueError(
            f"columns must have different names; more than one is called {repeated[0]!r}"
        )
    return table


def _fields(X: Any) -> tuple[str, ...]:
    """Return the field names of a structured NumPy array."""
    return getattr(getattr(X, "dtype", None), "names", None) or ()


def is_named(X: Any) -> bool:
    """Return whether the columns of a table have names."""
    if _fields(X):
        return True
    if isinstance(X, list):
        return bool(X) and isinstance(X[0], Mapping)
    attributes = ("columns", "column_names", "__arrow_c_stream__", "__arrow_c_array__")
    return isinstance(X, Mapping) or any(hasattr(X, name) for name in attributes)


def array_names(columns: int) -> list[str]:
    """Return the names of the columns of an array."""
    return [f"x{k}" for k in range(columns)]


def _rows(X: Any) -> pa.Table:
    refuse_path(X)
    if isinstance(X, list | tuple) and X and all(isinstance(row, list | tuple) for row in X):
        for k, row in enumerate(X):
            if len(row) != len(X[0]):
                raise ValueError(
                    f"row 0 of X has {len(X[0])} values, row {k} has {len(row)}: the rows of a "
                    "table are of one length"
                )
    cells = np.asarray(X) if hasattr(X, "__array__") else np.asarray(X, dtype=object)
    if isinstance(X, np.ma.MaskedArray):
        cells = X  # its columns have masks
    if cells.ndim != 2:
        raise _no_table(X, cells.ndim)
    return _columns(zip(array_names(cells.shape[1]), cells.T, strict=True))


def refuse_path(X: Any) -> None:
    """Raise ValueError if X is a path or a text instead of rows."""
    if isinstance(X, str | PathLike):
        path = str(X)[:60]
        raise ValueError(
            f"X is {path!r} ({type(X).__name__}), where rows are expected: if it is a file, pass "
            f"naively.scan({path!r})"
        )


def _refuse_row(columns: Mapping[Any, Any]) -> None:
    """Raise ValueError if a dict has a single value instead of a column."""
    for name, column in columns.items():
        is_scalar = isinstance(column, str | bytes) or getattr(column, "ndim", 1) == 0
        if is_scalar or not (hasattr(column, "__iter__") or hasattr(column, "__arrow_c_array__")):
            raise ValueError(
                f"column {str(name)!r} is one value, {column!r:.40}, where a dict holds columns: "
                f"for {ONE_ROW}"
            )


def _no_table(X: Any, dimensions: int) -> ValueError:
    """Return the error for an object without rows and columns."""
    hint = f"; for {ONE_ROW}" if dimensions == 1 else ""
    if dimensions > 2:  # such as images
        hint = ": pass X.reshape(len(X), -1)"
    return ValueError(
        f"Reshape your data: a table has rows and columns, but this {type(X).__name__} has "
        f"{dimensions} dimension{'s'[: dimensions != 1]}{hint}"
    )


def _from_stream(X: Any) -> pa.Table:
    """Convert a frame by its Arrow stream; column by column if Arrow does not support a type."""
    try:
        table = pa.table(X)
    except (pa.ArrowException, TypeError, ValueError):
        if not hasattr(X, "columns"):
            raise _no_table(X, 1) from None
        return _columns((name, X[name]) for name in X.columns)
    return without_views(table)


def _columns(columns: Iterable[tuple[Any, Any]]) -> pa.Table:
    """Make a table of (name, column) pairs; names may repeat.

    Raises ValueError if the columns have different lengths.
    """
    named = [(str(name), to_array(column, str(name))) for name, column in columns]
    names, arrays = [name for name, _ in named], [array for _, array in named]
    if len({len(array) for array in arrays}) > 1:
        sizes = ", ".join(f"{n!r} has {len(a)}" for n, a in zip(names, arrays, strict=True))
        raise ValueError(f"columns must be of one length: {sizes[:200]}")
    return pa.table(arrays, names=names)


def to_array(column: Any, name: str = "y") -> pa.Array:
    """Convert a column to Arrow; values of mixed types become text (`level_text`).

    Raises ValueError if the values are complex or cannot be read; the message names the column.
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
            if hasattr(column, "iloc") and (str(column.dtype) == "str" or (
                isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"
            )):  # fmt: skip
                column = column.values  # faster: Arrow inspects a series
            array = pa.array(column, from_pandas=True)
            kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
            if not isinstance(kind, pa.BaseExtensionType):  # intervals and periods become text
                return array
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass
    try:
        return pa.array([_text(value) for value in column], pa.string())
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} cannot be read: {error}") from None


def _is_mixed(column: Any) -> bool:
    """Return whether a column holds Python objects of mixed types, other than real numbers.

    Arrow converts a mix of dates and times to dates, and crashes on some others.
    """
    dtype = getattr(column, "dtype", None)
    if dtype is not None and not (isinstance(dtype, np.dtype) and dtype.kind == "O"):
        return False
    cells = column if dtype is None else column.tolist()  # iterating over a list is much faster
    kinds = {*map(type, cells)} - {type(None)}
    if len(kinds) < 2:
        return False
    not_text = [cell for cell in cells if type(cell) is not str]  # text is never missing
    kinds = kinds & {str} | {type(cell) for cell in not_text if not values.is_nothing(cell)}
    return len(kinds) > 1 and not all(
        issubclass(kind, Real) and not issubclass(kind, bool | np.bool_) for kind in kinds
    )


def _text(value: Any) -> str | None:
    """Convert a value to text; lone surrogates are escaped."""
    text = value if isinstance(value, str) else values.level_text(value, ())
    return None if text is None else text.encode(errors="backslashreplace").decode()


def array_width(names: Iterable[str]) -> int:
    """Return the number of columns if these are the names of an array's columns, else 0."""
    column_names = list(names)
    return len(column_names) if column_names == array_names(len(column_names)) else 0
