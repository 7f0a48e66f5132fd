"""Documents as tables: lines of text, files in folders, mails. Their columns are texts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.tables import inputs, mail
from naively.tables.inputs import BOM, Input, Options, Stream, TableError, Task
from naively.tables.places import SQUEEZED, Place, suffix

LABEL = "label"
TEXTS = ("text",)
LARGE = 1 << 31
"""Bytes of text that are too many for the offsets of an ordinary Arrow column."""

Document = tuple[str, bytes]
"""A label, and the bytes of a document."""


class Documents:
    """A part of a table whose columns are texts, after a label if there is one.

    Attributes
    ----------
    texts : names of the columns but the label.
    names : of all columns.
    kind : what the rows are, in words.
    """

    def __init__(self, texts: tuple[str, ...], labelled: bool, options: Options) -> None:
        self.texts = texts
        self.names = [LABEL, *texts] if labelled else list(texts)
        self.kind = "mails" if texts == mail.FIELDS else "texts"
        self.options = options

    def _batch(self, labels: Sequence[str], columns: Sequence[pa.Array]) -> pa.RecordBatch:
        """The columns wanted of some rows. There is a label a row, or one for all rows."""
        found = dict(zip(self.texts, columns, strict=True))
        if LABEL in self.names:
            encoded = pa.array(map(mail.clean, labels), pa.string()).dictionary_encode()
            if len(labels) == 1:
                codes = pa.array(np.zeros(len(columns[0]), np.int32))
                encoded = pa.DictionaryArray.from_arrays(codes, encoded.dictionary)
            found[LABEL] = encoded
        wanted = list(self.names if self.options.columns is None else self.options.columns)
        return pa.RecordBatch.from_arrays([found[name] for name in wanted], names=wanted)

    def _parsed(self, documents: list[Document]) -> pa.RecordBatch:
        """The rows of documents."""
        labels = [label for label, _ in documents]
        if self.texts == TEXTS:
            return self._batch(labels, [column([data.removeprefix(BOM) for _, data in documents])])
        rows = [[text.encode() for text in mail.fields(data)] for _, data in documents]
        return self._batch(labels, [column(texts) for texts in zip(*rows, strict=True)])


class InFile(Documents):
    """Documents in one file, or on standard input."""

    def __init__(
        self, texts: tuple[str, ...], source: Input, stream: Stream, options: Options,
        label: str | None,
    ) -> None:  # fmt: skip
        super().__init__(texts, label is not None, options)
        self.source, self.label = source, label or ""
        self.head = stream.read(len(mail.START))
        stream.unread(self.head)
        if not self.head:
            raise TableError(f"{source.name} is empty")
        self._begun: Stream | None = stream
        self._stream: Stream | None = None
        if source.again:
            stream.close()
            self._begun = None

    def read_bytes(self) -> int:
        """Bytes of the file that have been read, before decompression."""
        return self._stream.raw.count if self._stream else 0

    def tasks(self) -> Iterator[Task]:
        """One task a few documents."""
        stream = self._stream = self._begun or self.source.open()
        self._begun = None
        try:
            yield from self._tasks(stream)
        finally:
            stream.close()

    def _tasks(self, stream: Stream) -> Iterator[Task]:
        raise NotImplementedError


class Lines(InFile):
    """A file of texts, one a line. A blank line is a text too."""

    def __init__(self, source: Input, stream: Stream, options: Options, label: str | None) -> None:
        super().__init__(TEXTS, source, stream, options, label)

    def _tasks(self, stream: Stream) -> Iterator[Task]:
        begun: list[bytes] = []  # of a line that goes on
        for piece in self._pieces(stream):
            end = piece.rfind(b"\n") + 1
            if end:
                yield partial(self._lines, b"".join([*begun, piece[:end]]))
                begun = []
            if end < len(piece):
                begun.append(piece[end:])
        if begun:
            yield partial(self._lines, b"".join(begun))

    def _pieces(self, stream: Stream) -> Iterator[bytes]:
        """Blocks of a file; of a pipe, which may be slow, what is there."""
        first = stream.read(max(len(stream.raw.head), stream.raw.count)).removeprefix(BOM)
        if self.source.again or stream.codec:
            yield first + stream.read(inputs.BLOCK)
            while piece := stream.read(inputs.BLOCK):
                yield piece
            return
        yield first
        file = stream.raw.file
        while piece := getattr(file, "read1", file.read)(inputs.BLOCK):
            stream.raw.count += len(piece)
            yield piece

    def _lines(self, data: bytes) -> pa.RecordBatch:
        """The rows of a block."""
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
        if not data.endswith(b"\n"):
            ends = np.append(ends, len(data))
        ends -= np.arange(len(ends))
        return self._batch([self.label], [strings(ends, data.replace(b"\n", b""))])


class Mailbox(InFile):
    """An mbox file, or a file of one mail."""

    def __init__(self, source: Input, stream: Stream, options: Options, label: str | None) -> None:
        super().__init__(mail.FIELDS, source, stream, options, label)

    def _tasks(self, stream: Stream) -> Iterator[Task]:
        named = self.source.path is not None and suffix(self.source.path) == "mbox"
        several = named or self.head == mail.START
        found = mail.messages(stream) if several else iter([stream.read(sys.maxsize)])
        for group in _grouped((self.label, data) for data in found):
            yield partial(self._parsed, group)


class Files(Documents):
    """Documents that are files of their own."""

    def __init__(self, place: Place, labelled: bool, options: Options) -> None:
        super().__init__(mail.FIELDS if place.mail else TEXTS, labelled, options)
        self.documents = place.documents or []
        self.size = sum(path.stat().st_size for _, path in self.documents)
        self._count = 0

    def read_bytes(self) -> int:
        """Bytes of the files that have been read."""
        return self._count

    def tasks(self) -> Iterator[Task]:
        """One task a few files."""
        self._count = 0
        for group in _grouped((label, self._read(path)) for label, path in self.documents):
            yield partial(self._parsed, group)

    def _read(self, path: Path) -> bytes:
        if not SQUEEZED.search(path.name):
            data = path.read_bytes()
            self._count += len(data)
            return data
        stream = Input(path).open()
        try:
            return stream.read(sys.maxsize)
        finally:
            self._count += stream.raw.count
            stream.close()


def _grouped(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents that fill a block together."""
    group: list[Document] = []
    size = 0
    for document in documents:
        group.append(document)
        size += len(document[1])
        if size >= inputs.BLOCK:
            yield group
            group, size = [], 0
    if group:
        yield group


def column(texts: Sequence[bytes]) -> pa.Array:
    """An Arrow column of texts; what is no UTF-8 in them becomes U+FFFD."""
    ends = np.fromiter(accumulate(map(len, texts)), np.int64, len(texts))
    return strings(ends, b"".join(texts))


def strings(ends: npt.NDArray[np.int64], data: bytes) -> pa.Array:
    """An Arrow column of the texts in `data` that end there; see `column`."""
    large = len(data) >= LARGE
    offsets = np.zeros(len(ends) + 1, np.int64 if large else np.int32)
    offsets[1:] = ends
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    kind = pa.large_string() if large else pa.string()
    found = pa.Array.from_buffers(kind, len(ends), buffers)
    try:
        found.validate(full=True)
    except pa.ArrowInvalid:
        cut = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return column([data[a:b].decode(errors="replace").encode() for a, b in cut])
    return found
