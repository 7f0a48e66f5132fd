"""What every format of table needs: bytes of files, decompressed; types of columns; errors."""

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
"""How a missing value is written, unless somebody says otherwise."""
BLOCK = 6 << 20
"""Bytes of text in one task, about,"""
COLUMNS = 1000
"""of so many columns; of more there are more, as each batch costs the same for each column."""
LONGEST = 64 << 20
"""Bytes of the longest row that is believed; a longer one is an open quote."""
HEAD = 1 << 16
MUCH, MOMENT = 4096, 0.02
"""Who sends so many bytes at once has more to send, which is waited for so many seconds: large
blocks are fast. Who sends less waits for an answer."""
LONG = 100  # bytes of a text on average, from which on it is a document rather than a level
MOST = 16 << 20
"""Bytes asked for at once: memory is set aside for them before it is known that they exist."""
BOM = b"\xef\xbb\xbf"
TEXT = pa.dictionary(pa.int32(), pa.string())
DECLARED = {b"naively": b"declared"}  # of a column that its source declares categorical
ENCODED = {b"naively": b"encoded"}  # of a column of text: no categories that somebody declared
UNTYPED = {b"naively": b"untyped"}  # the same, and what is text may be a number or truth value
LOOKED_AT = 4096  # values of a column
COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\0": "xz",
              b"BZh": "bz2"}  # fmt: skip

Task = Callable[[], pa.RecordBatch]


class TableError(ValueError):
    """A table that cannot be read; the message says where, and what to do."""


def block_bytes(columns: int) -> int:
    """Bytes of text in one task, for a table of so many columns."""
    return min(BLOCK * max(1, columns // COLUMNS), max(BLOCK, LONGEST))


class Raw(io.RawIOBase):
    """A file that knows how much of it was read, and whose start can be looked at."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.count = 0
        self.head = b""
        while more := file.read(HEAD - len(self.head)):
            self.head += more
            begun = [magic for magic in COMPRESSED if magic.startswith(self.head[: len(magic)])]
            if len(self.head) >= 16 or not begun:
                break
        self._pending = self.head

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes, as few as the file likes to give."""
        if self._pending:
            size = min(len(buffer), len(self._pending))
            buffer[:size] = self._pending[:size]
            self._pending = self._pending[size:]
        else:
            size = self.file.readinto(buffer)
        self.count += size
        return size

    def ready(self, seconds: float) -> bool:
        """Whether there is something to read, or the end, within some time; False if unknown."""
        try:
            return bool(self._pending or select.select([self.file], [], [], seconds)[0])
        except (OSError, TypeError, ValueError):  # no file of the system's, or none it can ask
            return False


class Stream:
    """The bytes of an input from its start, decompressed.

    Attributes
    ----------
    live : whether `some` gives what is there, rather than wait for all that was asked for.
    ended : whether the end was met.
    closed : whether nothing more may be read.
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
        """So many bytes; fewer only at the end."""
        return self._read(size, live=False)

    def some(self, size: int) -> bytes:
        """So many bytes, or of a live stream what is there, at least one; none only at the end."""
        return self._read(size, self.live)

    def _read(self, size: int, live: bool) -> bytes:
        pieces, have, end = [], 0, 0.0
        while have < size and (piece := self._piece(size - have)):
            pieces.append(piece)
            have += len(piece)
            if not live:
                continue
            end = end or time.monotonic() + MOMENT
            patience = max(end - time.monotonic(), 0.0) if len(piece) >= MUCH else 0.0
            if not self.raw.ready(patience):
                break
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def peek(self, lines: int = 1) -> bytes:
        """The first bytes, which will be read again; of a live stream so many lines if it can."""
        data = self.some(HEAD)
        while self.live and len(data) < HEAD and data.count(b"\n") < lines:
            if not (more := self.some(HEAD - len(data))):
                break
            data += more
        self.unread(data)
        return data

    def pauses(self) -> bool:
        """Whether a live stream has nothing to read at this moment."""
        return self.live and not (self._pending or self.ended or self.raw.ready(0.0))

    def _piece(self, most: int) -> bytes:
        """What is there, at least one byte; none at the end."""
        if self._pending:
            piece, self._pending = self._pending[:most], self._pending[most:]
            return piece
        try:
            piece = self._source.read(min(most, MOST))
        except (OSError, EOFError, lzma.LZMAError) as error:
            if not self.codec:
                raise
            raise TableError(
                f"{self.name}: cannot be decompressed ({brief(error)}); is the file whole?"
            ) from None
        self.ended = not piece
        return piece

    def unread(self, data: bytes) -> None:
        """Let `data` be read next."""
        self._pending = data + self._pending
        self.ended = self.ended and not self._pending

    def as_file(self) -> Any:
        """The bytes as a file that one can seek in, closed with the stream.

        What cannot be sought in is copied to a temporary file.
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
    """A file, or standard input, that streams are opened from."""

    def __init__(self, path: Path | None, live: bool = False) -> None:
        self.path = path
        self.live = live
        self.name = "standard input" if path is None else str(path)
        self.used = False
        known = path.stat() if path is not None else None
        self.size = known.st_size if known and stat.S_ISREG(known.st_mode) else None

    @property
    def again(self) -> bool:
        """Whether it can be opened more than once; pipes cannot."""
        return self.size is not None

    def open(self) -> Stream:
        """A stream that starts at the first byte."""
        if self.used and not self.again:
            raise TableError(f"{self.name}: can be read only once; save it in a file first")
        self.used = True
        if self.path is None and sys.stdin is None:
            raise TableError("standard input is closed, where rows are expected")
        file: Any = self.path.open("rb", buffering=0) if self.path else sys.stdin.buffer
        file = getattr(file, "raw", file)  # a buffer would wait until it is full
        live = self.live and not self.again
        return Stream(self.name, file, self.path is not None, live)


def checked_names(name: str, names: Sequence[str]) -> list[str]:
    """The names of columns, if no two are the same."""
    twice = [column for column, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"{name}: several columns are named {first_names(twice)}; give them other names"
        )
    return list(names)


def repeating(column: Any) -> Any:
    """The type that suits a column of text: encoded, if its first values repeat themselves."""
    first = column.slice(0, LOOKED_AT)
    if first.nbytes > LONG * len(first) or 2 * len(first.unique()) > len(first):
        return pa.string()
    return TEXT


def marked(
    batch: pa.RecordBatch, names: Collection[str], mark: dict[bytes, bytes]
) -> pa.RecordBatch:
    """A batch whose columns of these names are marked as `ENCODED` or `UNTYPED`."""
    if batch.num_columns == 0:  # the number of its rows would be lost
        return batch
    fields = [f.with_metadata(mark) if f.name in names else f for f in batch.schema]
    return pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields))


def is_encoded(field: pa.Field) -> bool:
    """Whether a column is text that may be encoded because it repeats itself."""
    return field.metadata in (ENCODED, UNTYPED)


def is_declared(field: pa.Field) -> bool:
    """Whether the source of a column declares it categorical, as the dictionaries of Arrow do.

    These are pandas' categories, the Enum and Categorical of polars, and nominal columns of ARFF.
    """
    dictionary = pa.types.is_dictionary(field.type) and not is_encoded(field)
    return bool(field.metadata == DECLARED) or dictionary


def is_untyped(field: pa.Field) -> bool:
    """Whether a column is of a file in which all values are text."""
    return bool(field.metadata == UNTYPED)


def one_batch(table: Any) -> pa.RecordBatch:
    """A table as one batch."""
    found = table.combine_chunks().to_batches()
    return found[0] if found else pa.RecordBatch.from_pylist([], schema=table.schema)


def newline_of(head: bytes) -> bytes:
    """The byte that ends the lines of a text: LF, or CR where there is no LF, as on old Macs."""
    return b"\r" if b"\n" not in head and b"\r" in head.strip(b"\r") else b"\n"


def check_narrow(name: str, head: bytes) -> None:
    """Refuse text in UTF-16 or UTF-32: it has a mark, or its line ends have a NUL beside them."""
    if b"\0" not in head:
        return
    pairs = np.frombuffer(head, "<u2", len(head) // 2)
    several = head.count(0) > 1 or not head.isascii()
    little, big = pairs & 0xFF == ord("\n"), pairs >> 8 == ord("\n")  # or other letters' halves
    wide = any(
        2 * (pairs == end).sum() > low.sum() for low, end in ((little, 0x000A), (big, 0x0A00))
    )
    if (wide and several) or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableError(f"{name}: this is text in UTF-16 or UTF-32; save it as UTF-8")


def first_bad_byte(data: bytes) -> int | None:
    """Where text stops being UTF-8, None if it is."""
    if data.isascii():
        return None
    ends = pa.py_buffer(np.array([0, len(data)], np.int64))
    whole = pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, pa.py_buffer(data)])
    try:
        whole.cast(pa.large_string())  # ten times as fast as to decode it
        return None
    except pa.ArrowInvalid:
        pass
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def no_utf8(where: str, byte: int) -> TableError:
    """What to say of a byte that is no UTF-8."""
    return TableError(f"{where}: the byte 0x{byte:02x} is no UTF-8 text; save the table as UTF-8")


def check_utf8(where: str, data: bytes) -> None:
    """Refuse what is no UTF-8."""
    if (bad := first_bad_byte(data)) is not None:
        raise no_utf8(where, data[bad])


def message_of(error: Exception) -> str:
    """What Arrow says, even if it quotes half a character."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.decode(errors="replace")
    return str(error)


def brief(error: Exception) -> str:
    """One line of what Arrow says."""
    return re.sub(r"\s+", " ", message_of(error)).strip()[:200] or type(error).__name__


# ---- parts ---------------------------------------------------------------------------------------


HOLDS_ROWS = re.compile(rb"[^\r\n]")

Begun = TypeVar("Begun")


@dataclass(frozen=True)
class Options:
    """How to read a part.

    Attributes
    ----------
    missing : spellings of a missing value.
    delimiter : of the fields, if it is known.
    document : name of the column of documents, if lines of them may stand in a table's place.
    kind : text or mail, what documents are unless their names tell; None if that is not known.
    live : whether rows from a pipe are wanted as they come, rather than in blocks of one size.
    label : of the rows, if they are documents; None if documents have no labels.
    """

    missing: Sequence[str] = MISSING
    delimiter: str | None = None
    document: str | None = None
    kind: str | None = None
    live: bool = False
    label: str | None = None


class Part(ABC):
    """Some rows of a table: those of a file, or of several that hold a document each.

    Attributes
    ----------
    name : what messages call it.
    size : bytes to read in all; None if that is not known.
    names : all columns that it has, in order.
    wanted : the columns to read, in this order; None for all.
    hint : what the user may want to know of how it is read.
    """

    name: str
    size: int | None
    names: list[str]
    wanted: Sequence[str] | None = None
    hint: str = ""

    @property
    def columns(self) -> list[str]:
        """The columns to read, in order."""
        return list(self.names if self.wanted is None else self.wanted)

    @abstractmethod
    def tasks(self) -> Iterator[Task | None]:
        """Pieces of work in order, each of which makes a batch; None where a pipe pauses."""

    @abstractmethod
    def read_bytes(self) -> int:
        """About how many bytes have been read."""


class FilePart(Part, Generic[Begun]):
    """A file, or standard input: its beginning tells its columns, and the rest follows.

    A file is closed until its rows are wanted, as a thousand files need not be open at once, and
    then begun once more. A pipe, which cannot be opened again, goes on after its beginning.
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
        """Read the beginning, set `names`, and say what is known of the rest."""

    @abstractmethod
    def _tasks(self, stream: Stream, begun: Begun) -> Iterator[Task | None]:
        """The tasks, from what `_begin` left."""

    def tasks(self) -> Iterator[Task | None]:
        """The pieces of work; the file is closed after the last one."""
        stream, begun = self._begun or self._opened()
        self._begun, self._stream = None, stream
        try:
            yield from self._tasks(stream, begun)
        finally:
            stream.close()

    def _opened(self) -> tuple[Stream, Begun]:
        stream = self.source.open()
        return stream, self._begin(stream)

    def __copy__(self) -> Self:
        """One that reads the same, in this process; a pipe can still be read only once."""
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs to read the file from its start; TableError for a pipe."""
        if not self.source.again:
            raise TableError(f"{self.name} can be read here alone; save it in a file first")
        return self.__dict__ | {"_stream": None, "_begun": None}

    def read_bytes(self) -> int:
        """Bytes of the file that have been read, before decompression."""
        return self._stream.raw.count if self._stream else 0


# ---- blocks of lines -------------------------------------------------------------------------


class LineBlock(NamedTuple):
    """Whole rows of text, on which line of the file they start, and how many lines they are."""

    data: bytes
    line: int
    lines: int


class LinesPart(FilePart[Iterator[LineBlock | None]]):
    """A file of rows of text, read in blocks; begun, the blocks that follow.

    Attributes
    ----------
    newline : the byte that ends a line.
    """

    newline = b"\n"

    def _cut(self, data: bytes, line: int, final: bool) -> int:
        """Where the last whole row of `data` ends, 0 if none does.

        It may refuse what has grown too long, and what is left at the end (`final`). `data` starts
        on the line `line`.
        """
        return data.rfind(self.newline) + 1

    def _blocks(self, stream: Stream, line: int) -> Iterator[LineBlock | None]:
        """Blocks of whole rows that are not blank; None before a live stream is waited for.

        Parameters
        ----------
        stream : what is left to read, from the start of a row.
        line : the line of the file on which that is.
        """
        carry = b""
        final = False
        while not final:
            if stream.pauses():
                yield None
            chunk = stream.some(block_bytes(len(self.names)))
            final = stream.ended
            data = carry + chunk if carry else chunk
            zero = data.find(b"\0", len(carry))
            if zero >= 0:
                where = line + data.count(self.newline, 0, zero)
                raise TableError(
                    f"{self.name}, line {where}: holds a NUL byte, which text does not; "
                    "save the table as text in UTF-8"
                )
            end = self._cut(data, line, final)
            if final:  # the last line need not end
                end = len(data)
            if not end and len(data) > LONGEST:
                raise TableError(
                    f"{self.name}, line {line}: is longer than {LONGEST >> 20} MB; is this a table?"
                )
            lines = data.count(self.newline, 0, end)
            if HOLDS_ROWS.search(data, 0, end):
                yield LineBlock(data[:end], line, lines)
            line += lines
            carry = data[end:]
