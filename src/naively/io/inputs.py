"""Read and decompress bytes of files; base classes, column marks and errors of all formats."""

from __future__ import annotations

import io
import lzma
import re
import select
import stat
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Generic, NamedTuple, Self, TypeVar, cast

import numpy as np
import pyarrow as pa

from naively.tables.names import first_names

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "#N/A")
"""Default spellings of a missing value."""
BLOCK = 6 << 20  # approximate number of bytes of text in one task
COLUMNS = 1000
"""Tables with more columns get larger tasks, as each batch has a fixed cost per column."""
LONGEST = 64 << 20  # maximum number of bytes of a row; a longer one is probably an unclosed quote
HEAD = 1 << 16  # number of first bytes that are inspected
MUCH, MOMENT = 4096, 0.02
"""If a pipe delivers at least `MUCH` bytes at once, wait `MOMENT` seconds for more, as large blocks
are fast. If it delivers fewer, its writer probably waits for an answer: return them at once."""
LONG = 100  # mean bytes per value from which on texts are documents rather than categories
MOST = 16 << 20
"""Maximum number of bytes per read: their memory is allocated before they are known to exist."""
BOM = b"\xef\xbb\xbf"
TEXT = pa.dictionary(pa.int32(), pa.string())
DECLARED = {b"naively": b"declared"}  # mark of a column that its source declares categorical
ENCODED = {b"naively": b"encoded"}  # mark of a text column: a dictionary declares no categories
UNTYPED = {b"naively": b"untyped"}  # like ENCODED, and its text may be numbers or booleans
LOOKED_AT = 4096  # number of first values that `repeating` inspects
COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\0": "xz",
              b"BZh": "bz2"}  # fmt: skip

Task = Callable[[], pa.RecordBatch]


def task_of(batch: pa.RecordBatch) -> Task:
    """Return a task for a batch that was read already."""
    return lambda: batch


class TableError(ValueError):
    """A table cannot be read; the message says where, and what to do."""


class Raw(io.RawIOBase):
    """A file that counts the bytes read, and whose first bytes (`head`) can be inspected."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.count = 0
        self.head = b""
        while chunk := file.read(HEAD - len(self.head)):
            self.head += chunk
            prefixes = [magic for magic in COMPRESSED if magic.startswith(self.head[: len(magic)])]
            if len(self.head) >= 16 or not prefixes:
                break
        self._pending = self.head

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into a buffer, possibly fewer than fit."""
        if self._pending:
            size = min(len(buffer), len(self._pending))
            buffer[:size] = self._pending[:size]
            self._pending = self._pending[size:]
        else:
            size = self.file.readinto(buffer)
        self.count += size
        return size

    def ready(self, seconds: float) -> bool:
        """Return whether data or the end arrives within some time; False if unknown."""
        try:
            return bool(self._pending or select.select([self.file], [], [], seconds)[0])
        except (OSError, TypeError, ValueError):  # not a file, or not supported by select
            return False


class Stream:
    """The decompressed bytes of an input.

    live : whether `some` returns available bytes at once, rather than wait for a full block.
    """

    def __init__(self, name: str, file: Any, owned: bool, live: bool = False) -> None:
        self.name = name
        self.raw = Raw(file)
        self.owned = owned
        head = self.raw.head
        self.codec = next((c for magic, c in COMPRESSED.items() if head.startswith(magic)), None)
        if self.codec == "bz2" and head[4:10] not in (b"1AY&SY", b"\x17rE8P\x90"):
            self.codec = None  # text that happens to begin with these letters
        self._source: Any = self.raw
        if self.codec == "xz":
            self._source = lzma.open(cast(BinaryIO, self.raw))  # noqa: SIM115 - closed with the file
        elif self.codec:
            self._source = pa.CompressedInputStream(pa.PythonFile(self.raw, mode="r"), self.codec)
        self._pending = b""
        self.live = live and self.codec is None
        self.ended = self.closed = False
        self._file: Any = None

    def read(self, size: int) -> bytes:
        """Return `size` bytes; fewer only at the end."""
        return self._read(size, live=False)

    def some(self, size: int) -> bytes:
        """Return `size` bytes; of a live stream the available ones. Empty only at the end."""
        return self._read(size, self.live)

    def _read(self, size: int, live: bool) -> bytes:
        pieces, n_bytes, deadline = [], 0, 0.0
        while n_bytes < size and (piece := self._piece(size - n_bytes)):
            pieces.append(piece)
            n_bytes += len(piece)
            if not live:
                continue
            deadline = deadline or time.monotonic() + MOMENT
            patience = max(deadline - time.monotonic(), 0.0) if len(piece) >= MUCH else 0.0
            if not self.raw.ready(patience):
                break
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def peek(self, lines: int = 1) -> bytes:
        """Return the next bytes without consuming them; of a live stream at least `lines` lines."""
        data = self.some(HEAD)
        while self.live and len(data) < HEAD and data.count(b"\n") < lines:
            if not (chunk := self.some(HEAD - len(data))):
                break
            data += chunk
        self.put_back(data)
        return data

    def pauses(self) -> bool:
        """Return whether a live stream has no data available now."""
        return self.live and not (self._pending or self.ended or self.raw.ready(0.0))

    def _piece(self, most: int) -> bytes:
        """Return available bytes, at least one; empty at the end."""
        if self._pending:
            piece, self._pending = self._pending[:most], self._pending[most:]
            return piece
        try:
            piece = self._source.read(min(most, MOST))
        except (OSError, EOFError, lzma.LZMAError) as error:
            if not self.codec:
                raise
            problem = f"cannot be decompressed ({brief(error)}); is the file whole?"
            raise TableError(f"{self.name}: {problem}") from None
        self.ended = not piece
        return piece

    def put_back(self, data: bytes) -> None:
        """Put `data` back, to be read next."""
        self._pending = data + self._pending
        self.ended = self.ended and not self._pending

    def as_file(self) -> Any:
        """Return a seekable file, which is closed with the stream.

        Pipes and compressed files are copied to a temporary file.
        """
        if self.owned and self.codec is None and self.raw.file.seekable():
            self._file = pa.OSFile(self.name)
        else:
            copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed by Arrow
            while piece := self.read(BLOCK):
                copy.write(piece)
            copy.seek(0)
            self._file = pa.PythonFile(copy, mode="r")
        return self._file

    def close(self) -> None:
        """Close the file, unless it is standard input."""
        self.closed = True
        if self._file is not None:
            self._file.close()
        if self.owned:
            self.raw.file.close()


class Input:
    """A file or standard input, from which streams are opened."""

    def __init__(self, path: Path | None, live: bool = False) -> None:
        self.path = path
        self.live = live
        self.name = "standard input" if path is None else str(path)
        self.used = False
        status = path.stat() if path is not None else None
        self.size = status.st_size if status and stat.S_ISREG(status.st_mode) else None

    @property
    def again(self) -> bool:
        """Whether it can be opened more than once, unlike pipes."""
        return self.size is not None

    def open(self) -> Stream:
        """Open a stream at the first byte."""
        if self.used and not self.again:
            raise TableError(f"{self.name}: can be read only once; save it in a file first")
        self.used = True
        if self.path is None and sys.stdin is None:
            raise TableError("standard input is closed, where rows are expected")
        file: Any = self.path.open("rb", buffering=0) if self.path else sys.stdin.buffer
        file = getattr(file, "raw", file)  # a buffered reader would wait until its buffer is full
        live = self.live and not self.again
        return Stream(self.name, file, self.path is not None, live)


def checked_names(name: str, names: Sequence[str]) -> list[str]:
    """Return column names. Raises TableError for duplicates."""
    repeated = [column for column, count in Counter(names).items() if count > 1]
    if repeated:
        raise TableError(
            f"{name}: several columns are named {first_names(repeated)}; give them other names"
        )
    return list(names)


def repeating(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the type for a text column: dictionary-encoded if its first values repeat."""
    first = column.slice(0, LOOKED_AT)
    if first.nbytes > LONG * len(first) or 2 * len(first.unique()) > len(first):
        return pa.string()
    return TEXT


def marked(
    batch: pa.RecordBatch, names: Collection[str], mark: dict[bytes, bytes]
) -> pa.RecordBatch:
    """Mark the named columns of a batch as `DECLARED`, `ENCODED` or `UNTYPED`."""
    if batch.num_columns == 0:  # from_arrays would lose the number of rows
        return batch
    fields = [f.with_metadata(mark) if f.name in names else f for f in batch.schema]
    return pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields))


def is_encoded(field: pa.Field) -> bool:
    """Return whether a dictionary of a column is only an encoding, and declares no categories."""
    return field.metadata in (ENCODED, UNTYPED)


def is_declared(field: pa.Field) -> bool:
    """Return whether the source of a column declares it categorical.

    Such columns are Arrow dictionaries: pandas' categories, Enum and Categorical of polars, and
    nominal columns of ARFF.
    """
    dictionary = pa.types.is_dictionary(field.type) and not is_encoded(field)
    return bool(field.metadata == DECLARED) or dictionary


def is_untyped(field: pa.Field) -> bool:
    """Return whether a column comes from a file in which all values are text."""
    return bool(field.metadata == UNTYPED)


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """Combine a table into one batch."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def newline_of(head: bytes) -> bytes:
    """Return the byte that ends lines: LF, or CR if there is no LF (old Macs)."""
    return b"\r" if b"\n" not in head and b"\r" in head.strip(b"\r") else b"\n"


def check_narrow(name: str, head: bytes) -> None:
    """Raise TableError for UTF-16 or UTF-32: a BOM, or a NUL byte beside line ends."""
    if b"\0" not in head:
        return
    pairs = np.frombuffer(head, "<u2", len(head) // 2)
    is_suspect = head.count(0) > 1 or not head.isascii()
    # the low (or high) byte is LF: line ends, or other characters
    lows = (pairs & 0xFF == ord("\n"), 0x000A), (pairs >> 8 == ord("\n"), 0x0A00)
    wide = any(2 * (pairs == end).sum() > low.sum() for low, end in lows)
    if (wide and is_suspect) or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableError(f"{name}: this is text in UTF-16 or UTF-32; save it as UTF-8")


def first_bad_byte(data: bytes) -> int | None:
    """Return the position of the first byte that is not UTF-8, or None."""
    if data.isascii():
        return None
    offsets = pa.py_buffer(np.array([0, len(data)], np.int64))
    array = pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(data)])
    try:
        array.cast(pa.large_string())  # ten times as fast as bytes.decode
    except pa.ArrowInvalid:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            return error.start
    return None


def no_utf8(where: str, byte: int) -> TableError:
    """Return the error for a byte that is not UTF-8."""
    return TableError(f"{where}: the byte 0x{byte:02x} is not UTF-8 text; save the table as UTF-8")


def check_utf8(where: str, data: bytes) -> None:
    """Raise TableError if data is not UTF-8."""
    if (bad := first_bad_byte(data)) is not None:
        raise no_utf8(where, data[bad])


def message_of(error: Exception) -> str:
    """Return the message of an Arrow error, even if it contains invalid UTF-8."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.decode(errors="replace")
    return str(error)


def brief(error: Exception) -> str:
    """Return the message of an error in one line, at most 200 characters."""
    return re.sub(r"\s+", " ", message_of(error)).strip()[:200] or type(error).__name__


# ---- parts ---------------------------------------------------------------------------------------


HOLDS_ROWS = re.compile(rb"[^\r\n]")

Begun = TypeVar("Begun")


@dataclass(frozen=True)
class Options:
    """Options for reading a part.

    delimiter : delimiter of the fields; None to detect it.
    document : name of the column of documents, if the input may be lines of text instead of a
        table; else None.
    kind : "text" or "mail", the kind of documents whose suffixes are not known, or None.
    live : whether to read rows of a pipe as they arrive, rather than in blocks of fixed size.
    label : label of the documents; None if they have none.
    """

    missing: Sequence[str] = MISSING
    delimiter: str | None = None
    document: str | None = None
    kind: str | None = None
    live: bool = False
    label: str | None = None


class Part(ABC):
    """Rows of a table from one source: a file, several documents, or a stream.

    size : total number of bytes; None if unknown.
    selected : the columns to read, in this order; None for all.
    hint : a hint for the user about how it is read; may be empty.
    """

    name: str
    size: int | None
    names: list[str]
    selected: Sequence[str] | None = None
    hint: str = ""

    @property
    def columns(self) -> list[str]:
        """The columns to read, in order."""
        return list(self.names if self.selected is None else self.selected)

    @abstractmethod
    def tasks(self) -> Iterator[Task | None]:
        """Yield tasks in order, each of which makes a batch; None if a pipe has no data now."""

    @abstractmethod
    def read_bytes(self) -> int:
        """Return the approximate number of bytes read so far."""


class FilePart(Part, Generic[Begun]):
    """A file or standard input, whose beginning gives the names of its columns.

    A file is closed after its beginning was read, and opened again for its rows, so that a thousand
    files need not be open at once. A pipe cannot be opened again, and stays open.
    """

    def __init__(self, source: Input, stream: Stream, options: Options) -> None:
        self.source, self.options = source, options
        self.name, self.size = source.name, source.size
        self.names = []
        self._stream: Stream | None = None
        self._begun: tuple[Stream, Begun] | None = (stream, self._begin(stream))
        if source.again:
            stream.close()
            self._begun = None

    @abstractmethod
    def _begin(self, stream: Stream) -> Begun:
        """Read the beginning, set `names`, and return what `_tasks` needs to go on."""

    @abstractmethod
    def _tasks(self, stream: Stream, begun: Begun) -> Iterator[Task | None]:
        """Yield the tasks, given the result of `_begin`."""

    def tasks(self) -> Iterator[Task | None]:
        """Yield the tasks; the file is closed after the last one."""
        if self._begun is None:
            stream = self.source.open()
            self._begun = stream, self._begin(stream)
        stream, beginning = self._begun
        self._begun, self._stream = None, stream
        try:
            yield from self._tasks(stream, beginning)
        finally:
            stream.close()

    def __copy__(self) -> Self:
        """Copy the part; a pipe can still be read only once."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, which reads the file from its start.

        Raises TableError for a pipe.
        """
        if not self.source.again:
            raise TableError(f"{self.name} can be read here alone; save it in a file first")
        return self.__dict__ | {"_stream": None, "_begun": None}

    def read_bytes(self) -> int:
        """Return the number of bytes read from the file, before decompression."""
        return self._stream.raw.count if self._stream else 0


# ---- blocks of lines -------------------------------------------------------------------------


class LineBlock(NamedTuple):
    """Whole rows of text, the line of the file where they start, and their number of lines."""

    data: bytes
    line: int
    lines: int


class LinesPart(FilePart[Iterator[LineBlock | None]]):
    """A file of text rows, read in blocks; `_begin` returns the iterator of blocks."""

    newline = b"\n"

    def _cut(self, data: bytes, line: int, final: bool) -> int:
        """Return the end of the last whole row of `data`, which starts on `line`; 0 if none ends.

        May raise TableError for rows that are too long, or incomplete at the end (`final`).
        """
        return data.rfind(self.newline) + 1

    def _blocks(self, stream: Stream, line: int) -> Iterator[LineBlock | None]:
        """Yield blocks of whole rows that are not blank; None before waiting for a live stream.

        stream : a stream at the start of a row.
        line : the line of the file where this row starts.
        """
        remainder, final = b"", False
        while not final:
            if stream.pauses():
                yield None
            size = min(BLOCK * max(1, len(self.names) // COLUMNS), max(BLOCK, LONGEST))
            chunk = stream.some(size)
            final = stream.ended
            data = remainder + chunk if remainder else chunk
            zero = data.find(b"\0", len(remainder))
            if zero >= 0:
                where = line + data.count(self.newline, 0, zero)
                raise TableError(
                    f"{self.name}, line {where}: holds a NUL byte, which text does not; "
                    "save the table as text in UTF-8"
                )
            end = self._cut(data, line, final)
            end = len(data) if final else end  # the last line may have no newline
            if not end and len(data) > LONGEST:
                raise TableError(
                    f"{self.name}, line {line}: is longer than {LONGEST >> 20} MB; is this a table?"
                )
            lines = data.count(self.newline, 0, end)
            if HOLDS_ROWS.search(data, 0, end):
                yield LineBlock(data[:end], line, lines)
            line += lines
            remainder = data[end:]
