"""Parts of a table: what every format of file needs to be read, and blocks of lines."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Self, TypeVar

from naively.tables import inputs
from naively.tables.inputs import MISSING, Input, Stream, TableError, Task

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
            chunk = stream.some(inputs.block_bytes(len(self.names)))
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
            if not end and len(data) > inputs.LONGEST:
                raise TableError(
                    f"{self.name}, line {line}: is longer than {inputs.LONGEST >> 20} MB; "
                    "is this a table?"
                )
            lines = data.count(self.newline, 0, end)
            if HOLDS_ROWS.search(data, 0, end):
                yield LineBlock(data[:end], line, lines)
            line += lines
            carry = data[end:]
