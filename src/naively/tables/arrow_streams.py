"""Tables that other libraries hold or make in batches of Arrow: as a part of a table to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from naively.tables import inputs
from naively.tables.columnar import BYTES, ROWS
from naively.tables.inputs import TableError, Task
from naively.tables.objects import refuse_objects
from naively.tables.parts import Part
from naively.tables.values import bytes_of
from naively.tables.views import without_views

BEGUN: WeakSet[Any] = WeakSet()
"""Readers whose batches were asked for: what is left of them is no whole table."""


class ArrowStream(Part):
    """Batches that somebody else makes, read as they are wanted.

    Parameters
    ----------
    name : what messages call it.
    begin : what gives the batches, from the first one on; they are closed if they can be.
    names : of the columns; None if the batches alone know, which are then begun at once.
    again : whether it can be read more than once.
    """

    size = None

    def __init__(
        self, name: str, begin: Callable[[], Any], names: Iterable[str] | None, again: bool
    ) -> None:
        self.name, self._begin, self._again = name, begin, again
        self._begun = None
        self._bytes = 0
        if names is None:
            self._begun = begin()
            names = self._begun.schema.names
        self.names = inputs.checked_names(name, list(names))

    def tasks(self) -> Iterator[Task]:
        """One task a batch of few rows; the batches are begun anew each time."""
        batches, self._begun = self._begun, None
        batches = self._begin() if batches is None else batches
        columns, rows = self.columns, 0
        try:
            for batch in batches:
                rows += batch.num_rows
                self._bytes += bytes_of(batch)
                size = _rows_of(batch)
                for start in range(0, batch.num_rows, size):
                    yield partial(_plain, batch.slice(start, size), columns)
        finally:
            close = getattr(batches, "close", None)
            if close is not None:
                close()
        if rows == 0 and not self._again:
            raise TableError(
                f"{self.name} has no rows: it can be read only once; was it read before?"
            )

    def read_bytes(self) -> int:
        """Bytes of the batches so far."""
        return self._bytes


def arrow_stream(X: Any) -> ArrowStream | None:
    """What reads X in batches; None if it is no stream, but rows in memory or no table at all.

    Streams are a `pyarrow.RecordBatchReader`, a `pyarrow.dataset.Dataset` or `Scanner`, a lazy
    frame of polars, a relation or result of DuckDB, a cursor of ADBC, and whatever else exports a
    stream of Arrow (``__arrow_c_stream__``) without knowing how many rows it has.

    Raises
    ------
    TableError : if it was read already and cannot be read again, or columns have the same name.
    """
    manner = _manner(X)
    if manner is None:
        return None
    begin, names, again = manner
    return ArrowStream(_called(X), begin, None if names is None else names(), again)


def is_stream(X: Any) -> bool:
    """Whether X is read in batches: by naively, or as `arrow_stream` does. It is not begun."""
    return hasattr(type(X), "live_tasks") or _manner(X) is not None


def _called(X: Any) -> str:
    return f"the {type(X).__name__}"


# ---- each in its manner ------------------------------------------------------------------------

Manner = tuple[Callable[[], Any], Callable[[], Iterable[str]] | None, bool]
"""(what begins the batches; the names of the columns, None if only the batches know; whether it can
be read again)."""


def _manner(X: Any) -> Manner | None:
    """How X is read in batches."""
    if isinstance(X, list | np.ndarray | pa.Table | pa.RecordBatch | Mapping):
        return None
    has = partial(hasattr, type(X))  # not X: a relation has its columns for attributes
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
        again = has("columns")  # of a relation; a cursor has one result
        return partial(result_of, X), (lambda: X.columns) if again else None, again
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
    """The batches of a dataset, few of them ahead of who reads them.

    With threads of its own it would go on reading, up to a gigabyte, where counting is slower.
    """
    from pyarrow.dataset import ParquetFragmentScanOptions

    options = None
    if getattr(getattr(dataset, "format", None), "default_extname", None) == "parquet":
        # what is buffered before is kept until the end of the file
        options = ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
    return dataset.scanner(
        batch_size=ROWS, batch_readahead=1, fragment_readahead=1, fragment_scan_options=options,
        use_threads=False, cache_metadata=False,
    ).to_reader()  # fmt: skip


def result_of(X: Any) -> Any:
    """The rows of a query, that a relation or cursor has.

    Raises TableError if it has none, or they were read before.
    """
    fetch = getattr(X, "to_arrow_reader", None) or X.fetch_record_batch  # the old name
    try:
        found = fetch(ROWS)
    except TypeError:  # ADBC has batches of its own size
        found = fetch()
    except Exception as error:
        if "no query result" not in str(error):  # as DuckDB before 2.0 says it
            raise
        found = None
    if found is not None and found not in BEGUN:
        BEGUN.add(found)
        return found
    raise TableError(
        f"{_called(X)} has no result to read: it can be read only once; execute the query again"
    )


# ---- batches -----------------------------------------------------------------------------------


def _rows_of(batch: pa.RecordBatch) -> int:
    """How many rows of a batch are taken at a time."""
    return min(ROWS, max(256, BYTES // max(1, bytes_of(batch) // max(1, batch.num_rows))))


def _plain(batch: pa.RecordBatch, columns: list[str]) -> pa.RecordBatch:
    """Some columns of a batch, of types that Arrow can filter."""
    return without_views(batch.select(columns))
