"""What every format of table needs: bytes of files, decompressed; blocks of lines; errors."""

from __future__ import annotations

import io
import lzma
import re
import select
import stat
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, cast

import pyarrow as pa

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "#N/A")
"""How a missing value is written, unless somebody says otherwise."""
BLOCK = 6 << 20
"""Bytes of text in one task, about."""
LONGEST = 64 << 20
"""Bytes of the longest row that is believed; a longer one is an open quote."""
HEAD = 1 << 16
MUCH, MOMENT = 4096, 0.02
"""Who sends so many bytes at once has more to send, which is waited for so many seconds: large
blocks are fast. Who sends less waits for an answer."""
LONG = 100  # bytes of a text on average, from which on it is a document rather than a level
MOST = 16 << 20
"""Bytes asked for at once: memory is set aside for them before it is known that they exist."""
HOLDS_ROWS = re.compile(rb"[^\r\n]")
BOM = b"\xef\xbb\xbf"
TEXT = pa.dictionary(pa.int32(), pa.string())
ENCODED = {b"naively": b"encoded"}  # of a column of text: no categories that somebody declared
UNTYPED = {b"naively": b"untyped"}  # the same, and what is text may be a number or truth value
LOOKED_AT = 4096  # values of a column
COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\0": "xz",
              b"BZh": "bz2"}  # fmt: skip

Task = Callable[[], pa.RecordBatch]


class TableError(ValueError):
    """A table that cannot be read; the message says where, and what to do."""


@dataclass
class Options:
    """How to read.

    Attributes
    ----------
    missing : spellings of a missing value.
    delimiter : of the fields, if it is known.
    columns : the columns to read, all if None.
    document : name of the column of documents, if lines of them may stand in a table's place.
    kind : text or mail, what documents are unless their names tell; None if that is not known.
    live : whether rows from a pipe are wanted as they come, rather than in blocks of one size.
    """

    missing: Sequence[str] = MISSING
    delimiter: str | None = None
    columns: Sequence[str] | None = None
    document: str | None = None
    kind: str | None = None
    live: bool = False


class Part(Protocol):
    """One file of a table."""

    @property
    def names(self) -> list[str]:
        """All columns that it has, in order."""

    def tasks(self) -> Iterator[Task | None]:
        """Pieces of work in order, each of which makes a batch; None where a pipe pauses."""

    def read_bytes(self) -> int:
        """About how many bytes of the file have been read."""


class Block(NamedTuple):
    """Whole rows of text, and the line of the file on which they start."""

    data: bytes
    line: int


class Raw(io.RawIOBase):
    """A file that knows how much of it was read, and whose start can be looked at."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.count = 0
        self.head = b""
        while more := file.read(HEAD - len(self.head)):
            self.head += more
            if len(self.head) >= 16 or not any(map(self._begins, COMPRESSED)):
                break
        self._pending = self.head

    def _begins(self, magic: bytes) -> bool:
        """Whether the file begins with these bytes, as far as it is known."""
        return magic.startswith(self.head[: len(magic)])

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
        self.ended = False

    def read(self, size: int) -> bytes:
        """So many bytes; fewer only at the end."""
        pieces, have = [], 0
        while have < size and (piece := self._piece(size - have)):
            pieces.append(piece)
            have += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def some(self, size: int) -> bytes:
        """So many bytes, or of a live stream what is there, at least one; none only at the end."""
        if not self.live:
            return self.read(size)
        pieces, have, end = [], 0, 0.0
        while have < size and (piece := self._piece(size - have)):
            pieces.append(piece)
            have += len(piece)
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

    def close(self) -> None:
        """Close the file, unless it is standard input."""
        if self.owned:
            self.raw.file.close()


class Input:
    """A file, or standard input, that streams are opened from."""

    def __init__(self, path: Path | None, live: bool = False) -> None:
        self.path = path
        self.live = live
        self.name = "standard input" if path is None else str(path)
        self.size: int | None = None
        self.used = False
        if path is not None:
            mode = path.stat()
            if stat.S_ISREG(mode.st_mode):
                self.size = mode.st_size

    @property
    def again(self) -> bool:
        """Whether it can be opened more than once; pipes cannot."""
        return self.size is not None

    def open(self) -> Stream:
        """A stream that starts at the first byte."""
        if self.used and not self.again:
            raise TableError(f"{self.name}: can be read only once; save it in a file first")
        self.used = True
        live = self.live and not self.again
        if self.path is None:
            file = sys.stdin.buffer
            # a buffer would wait until it is full
            return Stream(self.name, getattr(file, "raw", file), owned=False, live=live)
        return Stream(self.name, self.path.open("rb", buffering=0), owned=True, live=live)


def seekable(source: Input, stream: Stream) -> Any:
    """A file that one can seek in: what cannot be sought in is copied to a temporary file."""
    if source.again and stream.codec is None:
        stream.close()
        return pa.OSFile(source.name)
    file = tempfile.TemporaryFile()  # noqa: SIM115 - it goes when Arrow lets go of it
    while piece := stream.read(BLOCK):
        file.write(piece)
    stream.close()
    file.seek(0)
    return pa.PythonFile(file, mode="r")


class Cut(Protocol):
    """How a format finds the ends of its rows."""

    def __call__(self, data: bytes, line: int, final: bool) -> int:
        """Where the last whole row of `data` ends, 0 if none does.

        It may refuse what has grown too long, and what is left at the end (`final`). `data` starts
        on the line `line`.
        """


def blocks(stream: Stream, line: int, cut: Cut, newline: bytes) -> Iterator[Block | None]:
    """Blocks of whole rows that are not blank; None before a live stream is waited for.

    Parameters
    ----------
    stream : what is left to read, from the start of a row.
    line : the line of the file on which that is.
    cut : where a block may end.
    newline : the byte that ends a line.
    """
    carry = b""
    final = False
    while not final:
        if stream.pauses():
            yield None
        chunk = stream.some(BLOCK)
        final = stream.ended
        data = carry + chunk if carry else chunk
        zero = data.find(b"\0", len(carry))
        if zero >= 0:
            where = line + data.count(newline, 0, zero)
            raise TableError(
                f"{stream.name}, line {where}: holds a NUL byte, which text does not; "
                "save the table as text in UTF-8"
            )
        end = cut(data, line, final)
        if final:  # the last line need not end
            end = len(data)
        if not end and len(data) > LONGEST:
            raise TableError(
                f"{stream.name}, line {line}: is longer than {LONGEST >> 20} MB; is this a table?"
            )
        if HOLDS_ROWS.search(data, 0, end):
            yield Block(data[:end], line)
        line += data.count(newline, 0, end)
        carry = data[end:]


def lines_end(data: bytes, line: int, final: bool) -> int:
    """Where the last line ends: the `Cut` of formats whose rows are lines."""
    return data.rfind(b"\n") + 1


def checked_names(name: str, names: Sequence[str]) -> list[str]:
    """The names of columns, if no two are the same."""
    twice = [column for column, count in Counter(names).items() if count > 1]
    if twice:
        listed = ", ".join(map(repr, twice[:8])) + (", ..." if len(twice) > 8 else "")
        raise TableError(f"{name}: several columns are named {listed}; give them other names")
    return list(names)


def is_long(column: Any) -> bool:
    """Whether the texts of a column are long ones."""
    return column.nbytes > LONG * len(column)


def repeating(column: Any) -> Any:
    """The type that suits a column of text: encoded, if its first values repeat themselves."""
    first = column.slice(0, LOOKED_AT)
    if is_long(first) or 2 * len(first.unique()) > len(first):
        return pa.string()
    return TEXT


def marked(batch: pa.RecordBatch, mark: dict[bytes, bytes]) -> pa.RecordBatch:
    """A batch whose columns of text are marked as `ENCODED` or `UNTYPED`."""
    if batch.num_columns == 0:  # the number of its rows would be lost
        return batch
    fields = [f.with_metadata(mark) if f.type in (TEXT, pa.string()) else f for f in batch.schema]
    return pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields))


def is_encoded(field: pa.Field) -> bool:
    """Whether a column is text that may be encoded because it repeats itself."""
    return field.metadata in (ENCODED, UNTYPED)


def is_untyped(field: pa.Field) -> bool:
    """Whether a column is of a file in which all values are text."""
    return bool(field.metadata == UNTYPED)


def one_batch(table: Any) -> pa.RecordBatch:
    """A table as one batch."""
    if table.num_rows == 0:
        arrays = [pa.array([], column.type) for column in table.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=table.schema)
    found = table.to_batches()
    return found[0] if len(found) == 1 else table.combine_chunks().to_batches()[0]


def first_bad_byte(data: bytes) -> int | None:
    """Where text stops being UTF-8, None if it is."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def no_utf8(where: str, byte: int) -> TableError:
    """What to say of a byte that is no UTF-8."""
    return TableError(f"{where}: the byte 0x{byte:02x} is no UTF-8 text; save the table as UTF-8")


def message_of(error: Exception) -> str:
    """What Arrow says, even if it quotes half a character."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.decode(errors="replace")
    return str(error)


def brief(error: Exception) -> str:
    """One line of what Arrow says."""
    return re.sub(r"\s+", " ", message_of(error)).strip()[:200] or type(error).__name__
