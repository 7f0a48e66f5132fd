"""Read documents as tables with text columns: lines of text, files in folders, mails."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.io import inputs
from naively.io.formats import delimited, mail
from naively.io.inputs import BOM, FilePart, Input, Options, Part, Stream, TableError, Task
from naively.io.places import SQUEEZED, Place, suffix

FILE, LABEL = "file", "label"
TEXTS = ("text",)
LARGE = 1 << 31  # number of bytes from which on a column needs 64-bit offsets


class Document(NamedTuple):
    """A document with its label and its file."""

    label: str
    file: str
    data: bytes


class DocumentPart(Part):
    """A part of a table of documents: an optional label column, and text columns.

    apart : whether each document is, or may be, a file of its own.
    """

    texts: tuple[str, ...] = TEXTS
    apart = False

    @property
    def kind(self) -> str:
        """Kind of the documents: "text" or "mail"."""
        return "mail" if self.texts == mail.FIELDS else "text"

    def _all_names(self, options: Options) -> list[str]:
        return list(self.texts) if options.label is None else [LABEL, *self.texts]

    def _batch(
        self, labels: Sequence[str], files: Sequence[str], columns: Sequence[pa.Array]
    ) -> pa.RecordBatch:
        """Make a batch of the selected columns; `labels`, `files` have a value per row, or one."""
        arrays = dict(zip(self.texts, columns, strict=True))
        for name, values in ((LABEL, labels), (FILE, files)):
            encoded = pa.array(map(mail.clean, values), pa.string()).dictionary_encode()
            if len(values) == 1:
                codes = pa.array(np.zeros(len(columns[0]), np.int32))
                encoded = pa.DictionaryArray.from_arrays(codes, encoded.dictionary)
            arrays[name] = encoded
        batch = pa.RecordBatch.from_arrays([arrays[n] for n in self.columns], names=self.columns)
        return inputs.marked(batch, (LABEL, FILE), inputs.ENCODED)

    def _parsed(self, documents: list[Document]) -> pa.RecordBatch:
        """Parse documents to a batch."""
        labels, files, contents = zip(*documents, strict=True)
        if self.texts == TEXTS:
            texts = column([data.removeprefix(BOM) for data in contents])
            return self._batch(labels, files, [texts])
        rows = [[text.encode() for text in mail.fields(data)] for data in contents]
        return self._batch(labels, files, [column(texts) for texts in zip(*rows, strict=True)])


class InFile(DocumentPart, FilePart[bytes]):
    """Documents in one file or standard input; `_begin` returns the first bytes."""

    def _begin(self, stream: Stream) -> bytes:
        head = stream.peek()
        if not head:
            raise TableError(f"{self.name} is empty")
        inputs.check_narrow(self.name, head)
        delimited.refuse_fasttext(self.name, head)
        self.names = self._all_names(self.options)
        self.label = self.options.label or ""
        return head


class Lines(InFile):
    """A file of texts, one per line. A blank line is an empty text."""

    def _tasks(self, stream: Stream, begun: bytes) -> Iterator[Task | None]:
        pieces: list[bytes] = []  # the beginning of an incomplete line
        if begun.startswith(BOM):
            stream.read(len(BOM))
        self.newline = b""
        while piece := stream.some(inputs.BLOCK):
            self.newline = self.newline or inputs.newline_of(max(begun, piece, key=len))
            if self.newline == b"\r" and b"\n" in piece:
                raise TableError(f"{self.name}: lines end in CR first and in LF later; make all LF")
            end = piece.rfind(self.newline) + 1
            if end:
                yield partial(self._lines, b"".join([*pieces, piece[:end]]))
                pieces = []
            if end < len(piece):
                pieces.append(piece[end:])
            if stream.pauses():
                yield None
        if pieces:
            yield partial(self._lines, b"".join(pieces))

    def _lines(self, data: bytes) -> pa.RecordBatch:
        """Parse a block of lines to a batch."""
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord(self.newline))
        if not data.endswith(self.newline):
            ends = np.append(ends, len(data))
        ends -= np.arange(len(ends))
        texts = strings(ends, data.replace(self.newline, b""))
        return self._batch([self.label], [self.name], [texts])


class Mailbox(InFile):
    """An mbox file, or a file with a single mail."""

    texts = mail.FIELDS

    def _begin(self, stream: Stream) -> bytes:
        path = self.source.path
        self.named = path is not None and suffix(path) == "mbox"
        self.apart = path is not None and not self.named  # may be a single mail
        return super()._begin(stream)

    def _tasks(self, stream: Stream, begun: bytes) -> Iterator[Task]:
        is_mailbox = self.named or begun.removeprefix(BOM).startswith(mail.START)
        mails = mail.messages(stream) if is_mailbox else iter([stream.read(sys.maxsize)])
        for group in _grouped(Document(self.label, self.name, data) for data in mails):
            yield partial(self._parsed, group)


class Files(DocumentPart):
    """Documents in files of their own."""

    apart = True

    def __init__(self, place: Place, options: Options) -> None:
        self.name = place.name
        self.texts = mail.FIELDS if place.mail else TEXTS
        self.names = self._all_names(options)
        self.documents = place.documents or []
        self.size = sum(path.stat().st_size for _, path in self.documents)
        self._count = 0

    def read_bytes(self) -> int:
        """Return the number of bytes read from the files so far."""
        return self._count

    def tasks(self) -> Iterator[Task]:
        """Yield a task per group of files."""
        self._count = 0
        for group in _grouped(self._read(label, path) for label, path in self.documents):
            yield partial(self._parsed, group)

    def _read(self, label: str, path: Path) -> Document:
        if SQUEEZED.search(path.name):
            with closing(Input(path).open()) as stream:
                data = stream.read(sys.maxsize)
                self._count += stream.raw.count
        else:
            data = path.read_bytes()
            self._count += len(data)
        inputs.check_narrow(str(path), data[: inputs.HEAD])
        return Document(label, str(path), data)


def _grouped(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Group documents into lists of about `naively.io.inputs.BLOCK` bytes."""
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
    """Return an Arrow column of texts; invalid UTF-8 becomes U+FFFD."""
    ends = np.fromiter(accumulate(map(len, texts)), np.int64, len(texts))
    return strings(ends, b"".join(texts))


def strings(ends: npt.NDArray[np.int64], data: bytes) -> pa.Array:
    """Return an Arrow column of the texts in `data`, given their ends; see `column`."""
    large = len(data) >= LARGE
    offsets = np.zeros(len(ends) + 1, np.int64 if large else np.int32)
    offsets[1:] = ends
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    kind = pa.large_string() if large else pa.string()
    column_ = pa.Array.from_buffers(kind, len(ends), buffers)
    try:
        column_.validate(full=True)
    except pa.ArrowInvalid:
        cut = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return column([data[a:b].decode(errors="replace").encode() for a, b in cut])
    return column_
