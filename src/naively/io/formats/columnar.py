"""Parquet and Arrow: tables whose columns have types, which Arrow reads by itself."""

from __future__ import annotations

import base64
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa

from naively.io import inputs
from naively.io.arrow import UnreadableTypeError, checked
from naively.io.inputs import DECLARED, ENCODED, FilePart, Stream, TableError, Task
from naively.tables.values import is_text, without_views

ROWS = 1 << 15
"""Rows of a batch: few, so that several batches fit in memory; and"""
BYTES = 16 << 20
"""bytes of one of Parquet, about."""


class Columnar(FilePart[Any]):
    """A file that Arrow reads by itself; begun, it is Arrow's reader."""

    format: str
    _done = 0.0  # share of the file

    def read_bytes(self) -> int:
        """The share of the file that has been read, in bytes."""
        return int(self._done * (self.size or 0))

    def _tasks(self, stream: Stream, begun: Any) -> Iterator[Task]:
        """One task a batch, which is decoded already: Arrow has its own threads for that."""
        columns = self.columns
        with self._whole():
            for batch in self._batches(begun):
                yield partial(self._checked, batch.select(columns))

    @abstractmethod
    def _batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        """The batches, none of which is large."""

    def _checked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch without offsets that lead anywhere, or text that is none; of usual types."""
        with self._whole():
            try:
                return without_views(checked(batch))
            except UnreadableTypeError as error:
                raise TableError(f"{self.name}: {error}") from None

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Say it in our words if Arrow finds the file damaged."""
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise TableError(
                f"{self.name}: cannot be read as {self.format} ({inputs.brief(error)}); "
                "is the file whole?"
            ) from None


class Parquet(Columnar):
    """A Parquet file."""

    format = "Parquet"

    def _begin(self, stream: Stream) -> Any:
        from pyarrow import parquet  # with all that reaches remote files

        file = stream.as_file()
        with self._whole():
            found = parquet.ParquetFile(file)
            self.names = inputs.checked_names(self.name, found.schema_arrow.names)
            self._texts = {field.name for field in found.schema_arrow if is_text(field.type)}
            self._declared = _declared(found)
            # buffers, because a column of a row group may be large
            return parquet.ParquetFile(
                file, metadata=found.metadata, read_dictionary=list(self._texts),
                buffer_size=1 << 20, pre_buffer=False,
            )  # fmt: skip

    def _batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        """Batches in which text that was read as encoded is known from declared categories."""
        count = min(ROWS, max(256, BYTES // max(_bytes_of_row(reader.metadata), 1)))
        rows = 0
        for batch in reader.iter_batches(count, columns=self.columns, use_threads=True):
            rows += batch.num_rows
            self._done = rows / max(reader.metadata.num_rows, 1)
            batch = inputs.marked(batch, self._texts, ENCODED)
            yield inputs.marked(batch, self._declared, DECLARED)


def _declared(file: Any) -> set[str]:
    """The columns that were dictionaries when they were written: Arrow restores only those of text.

    Others are numbers in the file, as pandas' categories of numbers are.
    """
    written = (file.metadata.metadata or {}).get(b"ARROW:schema")
    if written is None:
        return set()
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(written)))
    except (pa.ArrowException, ValueError, OSError):
        return set()
    return {one.name for one in schema if pa.types.is_dictionary(one.type)}


def _bytes_of_row(metadata: Any) -> int:
    """Bytes of a row of a Parquet file, as far as it says."""
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    rows = sum(group.num_rows for group in groups)
    return sum(group.total_byte_size for group in groups) // max(rows, 1)


class Arrow(Columnar):
    """An Arrow file, or a stream of Arrow's messages."""

    format = "Arrow"

    def _begin(self, stream: Stream) -> Any:
        head = stream.read(8)
        stream.unread(head)
        self._streamed = not head.startswith(b"ARROW1")
        with self._whole():
            reader = (
                pa.ipc.open_stream(pa.PythonFile(stream, mode="r"))
                if self._streamed
                else pa.ipc.open_file(stream.as_file())
            )
            self.names = inputs.checked_names(self.name, reader.schema.names)
            return reader

    def read_bytes(self) -> int:
        """What has been read of a stream; the share of the batches of a file, in bytes."""
        return FilePart.read_bytes(self) if self._streamed else super().read_bytes()

    def _batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        count = None if self._streamed else reader.num_record_batches
        found = reader if count is None else map(reader.get_batch, range(count))
        for k, batch in enumerate(found, 1):
            self._done = k / count if count else 0.0
            for start in range(0, max(batch.num_rows, 1), ROWS):
                yield batch.slice(start, ROWS)
