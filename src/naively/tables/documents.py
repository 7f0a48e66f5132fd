"""Documents as tables: lines of text, files in folders, mails. Their columns are texts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.tables import inputs, mail
from naively.tables.inputs import BOM, Input, Options, Stream, TableError, Task
from naively.tables.places import SQUEEZED, Place, suffix

FILE, LABEL = "file", "label"
TEXTS = ("text",)
LARGE = 1 << 31
"""Bytes of text that are too many for the offsets of an ordinary Arrow column."""


class Document(NamedTuple):
    """A document, and what is known of it."""

    label: str
    file: str
    data: bytes


class Documents:
    """A part of a table whose columns are texts, after a label if there is one.

    Attributes
    ----------
    texts : names of the columns but the label.
    names : of all columns.
    kind : text or mail.
    apart : whether a document is a file of its own, or may be.
    """

    def __init__(self, texts: tuple[str, ...], labelled: bool, options: Options) -> None:
        self.texts = texts
        self.names = [LABEL, *texts] if labelled else list(texts)
        self.kind = "mail" if texts == mail.FIELDS else "text"
        self.apart = False
        self.options = options

    def _batch(
        self, labels: Sequence[str], files: Sequence[str], columns: Sequence[pa.Array]
    ) -> pa.RecordBatch:
        """The columns wanted of some rows. There is a label a row, or one for all; files too."""
        found = dict(zip(self.texts, columns, strict=True))
        for name, values in ((LABEL, labels), (FILE, files)):
            encoded = pa.array(map(mail.clean, values), pa.string()).dictionary_encode()
            if len(values) == 1:
                codes = pa.array(np.zeros(len(columns[0]), np.int32))
                encoded = pa.DictionaryArray.from_arrays(codes, encoded.dictionary)
            found[name] = encoded
        wanted = list(self.names if self.options.columns is None else self.options.columns)
        return pa.RecordBatch.from_arrays([found[name] for name in wanted], names=wanted)

    def _parsed(self, documents: list[Document]) -> pa.RecordBatch:
        """The rows of documents."""
        labels, files, contents = zip(*documents, strict=True)
        if self.texts == TEXTS:
            texts = column([data.removeprefix(BOM) for data in contents])
            return self._batch(labels, files, [texts])
        rows = [[text.encode() for text in mail.fields(data)] for data in contents]
        return self._batch(labels, files, [column(texts) for texts in zip(*rows, strict=True)])


class InFile(Documents):
    """Documents in one file, or on standard input."""

    def __init__(
        self, texts: tuple[str, ...], source: Input, stream: Stream, options: Options,
        label: str | None,
    ) -> None:  # fmt: skip
        super().__init__(texts, label is not None, options)
        self.source, self.label = source, label or ""
        self.head = stream.peek()[: len(mail.START)]
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

    def tasks(self) -> Iterator[Task | None]:
        """One task a few documents."""
        stream = self._stream = self._begun or self.source.open()
        self._begun = None
        try:
            yield from self._tasks(stream)
        finally:
            stream.close()

    def _tasks(self, stream: Stream) -> Iterator[Task | None]:
        raise NotImplementedError


class Lines(InFile):
    """A file of texts, one a line. A blank line is a text too."""

    def __init__(self, source: Input, stream: Stream, options: Options, label: str | None) -> None:
        super().__init__(TEXTS, source, stream, options, label)

    def _tasks(self, stream: Stream) -> Iterator[Task | None]:
        begun: list[bytes] = []  # of a line that goes on
        if self.head.startswith(BOM):
            stream.read(len(BOM))
        while piece := stream.some(inputs.BLOCK):
            end = piece.rfind(b"\n") + 1
            if end:
                yield partial(self._lines, b"".join([*begun, piece[:end]]))
                begun = []
            if end < len(piece):
                begun.append(piece[end:])
            if stream.pauses():
                yield None
        if begun:
            yield partial(self._lines, b"".join(begun))

    def _lines(self, data: bytes) -> pa.RecordBatch:
        """The rows of a block."""
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
        if not data.endswith(b"\n"):
            ends = np.append(ends, len(data))
        ends -= np.arange(len(ends))
        return self._batch(
            [self.label], [self.source.name], [strings(ends, data.replace(b"\n", b""))]
        )


class Mailbox(InFile):
    """An mbox file, or a file of one mail."""

    def __init__(self, source: Input, stream: Stream, options: Options, label: str | None) -> None:
        super().__init__(mail.FIELDS, source, stream, options, label)
        named = source.path is not None and suffix(source.path) == "mbox"
        self.several = named or self.head.startswith(mail.START)
        self.apart = source.path is not None and not named  # one mail may begin so too

    def _tasks(self, stream: Stream) -> Iterator[Task]:
        found = mail.messages(stream) if self.several else iter([stream.read(sys.maxsize)])
        for group in _grouped(Document(self.label, self.source.name, data) for data in found):
            yield partial(self._parsed, group)


class Files(Documents):
    """Documents that are files of their own."""

    def __init__(self, place: Place, labelled: bool, options: Options) -> None:
        super().__init__(mail.FIELDS if place.mail else TEXTS, labelled, options)
        self.apart = True
        self.documents = place.documents or []
        self.size = sum(path.stat().st_size for _, path in self.documents)
        self._count = 0

    def read_bytes(self) -> int:
        """Bytes of the files that have been read."""
        return self._count

    def tasks(self) -> Iterator[Task]:
        """One task a few files."""
        self._count = 0
        documents = (Document(label, str(path), self._read(path)) for label, path in self.documents)
        for group in _grouped(documents):
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
        size += len(document.data)
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
