"""Read Parquet and Arrow (Feather) files, whose columns have types."""

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

ROWS = 1 << 15  # maximum number of rows of a batch: few, so that several batches fit in memory
BYTES = 16 << 20  # approximate number of bytes of a batch


class Columnar(FilePart[Any]):
    """A file that Arrow reads; `_begin` returns Arrow's reader."""

    format: str
    _done = 0.0  # share of the file

    def read_bytes(self) -> int:
        """Return the size of the file times the share that has been read."""
        return int(self._done * (self.size or 0))

    def _tasks(self, stream: Stream, begun: Any) -> Iterator[Task]:
        """Yield a task per batch. Batches are already decoded, by Arrow's threads."""
        columns = self.columns
        with self._whole():
            for batch in self._batches(begun):
                yield partial(self._checked, batch.select(columns))

    @abstractmethod
    def _batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        """Yield the batches, none of which is large."""

    def _checked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Validate the buffers of a batch, and convert views to plain types.

        Raises TableError for invalid offsets, text or types.
        """
        with self._whole():
            try:
                return without_views(checked(batch))
            except UnreadableTypeError as error:
                raise TableError(f"{self.name}: {error}") from None

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Convert Arrow's errors about damaged files to TableError."""
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeError) as error:
            problem = f"cannot be read as {self.format} ({inputs.brief(error)})"
            raise TableError(f"{self.name}: {problem}; is the file whole?") from None


class Parquet(Columnar):
    """A Parquet file."""

    format = "Parquet"

    def _begin(self, stream: Stream) -> Any:
        from pyarrow import parquet  # a slow import: it includes remote file systems

        file = stream.as_file()
        with self._whole():
            parquet_file = parquet.ParquetFile(file)
            self.names = inputs.checked_names(self.name, parquet_file.schema_arrow.names)
            self._texts = {field.name for field in parquet_file.schema_arrow if is_text(field.type)}
            self._declared = _declared(parquet_file)
            # buffered reads, because a column of a row group may be large
            return parquet.ParquetFile(
                file, metadata=parquet_file.metadata, read_dictionary=list(self._texts),
                buffer_size=1 << 20, pre_buffer=False,
            )  # fmt: skip

    def _batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        """Yield batches, with encoded text and declared categories marked."""
        metadata, rows = reader.metadata, 0
        groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
        row_bytes = sum(group.total_byte_size for group in groups) // max(metadata.num_rows, 1)
        count = min(ROWS, max(256, BYTES // max(row_bytes, 1)))
        for batch in reader.iter_batches(count, columns=self.columns, use_threads=True):
            rows += batch.num_rows
            self._done = rows / max(metadata.num_rows, 1)
            batch = inputs.marked(batch, self._texts, ENCODED)
            yield inputs.marked(batch, self._declared, DECLARED)


def _declared(file: Any) -> set[str]:
    """Return the columns that were dictionaries when the file was written.

    Arrow restores dictionaries of text only; others, such as pandas' categories of numbers, are
    plain numbers in the file.
    """
    encoded_schema = (file.metadata.metadata or {}).get(b"ARROW:schema")
    if encoded_schema is None:
        return set()
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(encoded_schema)))
    except (pa.ArrowException, ValueError, OSError):
        return set()
    return {field.name for field in schema if pa.types.is_dictionary(field.type)}


class Arrow(Columnar):
    """An Arrow file, or an Arrow stream in a file."""

    format = "Arrow"

    def _begin(self, stream: Stream) -> Any:
        head = stream.read(8)
        stream.put_back(head)
        self._streamed = not head.startswith(b"ARROW1")
        with self._whole():
            if self._streamed:
                reader = pa.ipc.open_stream(pa.PythonFile(stream, mode="r"))
            else:
                reader = pa.ipc.open_file(stream.as_file())
            self.names = inputs.checked_names(self.name, reader.schema.names)
            return reader

    def read_bytes(self) -> int:
        """Return the bytes read of a stream; the size times the share of batches of a file."""
        return FilePart.read_bytes(self) if self._streamed else super().read_bytes()

    def _batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        count = None if self._streamed else reader.num_record_batches
        batches = reader if count is None else map(reader.get_batch, range(count))
        for k, batch in enumerate(batches, 1):
            self._done = k / count if count else 0.0
            for start in range(0, max(batch.num_rows, 1), ROWS):
                yield batch.slice(start, ROWS)
