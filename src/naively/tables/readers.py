"""Tables and documents in files, or on standard input, as a stream of Arrow batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from naively.tables import inputs
from naively.tables.arff import Arff
from naively.tables.delimited import Delimited
from naively.tables.documents import FILE, Documents, Files, Lines, Mailbox
from naively.tables.formats import recognised
from naively.tables.inputs import (
    ENCODED,
    MISSING,
    Input,
    Options,
    Part,
    Stream,
    TableError,
    Task,
    brief,
    checked_names,
    seekable,
)
from naively.tables.jsonl import JsonLines
from naively.tables.places import FORMATS, Place, listed, recognise_mails

__all__ = ["FORMATS", "MISSING", "Source", "TableError", "open_source"]

ROWS = 1 << 15
"""Rows of a batch of Parquet or Arrow: few, so that several batches fit in memory; and"""
BYTES = 16 << 20
"""bytes of one of Parquet, about."""


@dataclass
class Source:
    """A table in files (or standard input), read in batches.

    Attributes
    ----------
    names : of the columns, in order.
    size : bytes to read in all; None for standard input.
    texts : names of the columns that are documents by nature; none of an ordinary table.
    kind : of the documents, text or mail.
    file : name of the column that names the file of each document, if there is one.
    hint : what the user may want to know of how this was read.
    """

    names: list[str]
    size: int | None
    texts: tuple[str, ...] = ()
    kind: str | None = None
    file: str | None = None
    hint: str = ""
    _parts: list[Part] = field(default_factory=list, repr=False)

    def read_bytes(self) -> int:
        """About how many bytes have been read so far."""
        return sum(part.read_bytes() for part in self._parts)

    def tasks(self) -> Iterator[Task]:
        """Pieces of work, in the order of the rows, each of which makes a batch when called.

        They may be called in other threads, several at once. Files are read as the iterator is
        advanced, and here alone. The types of columns may differ from batch to batch: keys of JSON
        that began with whole numbers may go on with floats, or with text.
        """
        return (task for task in self.live_tasks() if task is not None)

    def live_tasks(self) -> Iterator[Task | None]:
        """The same, with None where a pipe pauses, if it is read as its rows come."""
        some = False
        for part in self._parts:
            for task in part.tasks():
                some = some or task is not None
                yield task
        if not some:
            empty = pa.schema([(name, pa.string()) for name in self.names]).empty_table()
            yield lambda: inputs.one_batch(empty)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches, one after the other."""
        for task in self.tasks():
            yield task()


def open_source(
    path: str | Path | list[Any],
    *,
    missing: Sequence[str] = MISSING,
    format: str | None = None,
    delimiter: str | None = None,
    columns: Sequence[str] | None = None,
    document: str | None = None,
    kind: str | None = None,
    label: str | None = None,
    classes: Collection[str] = (),
    named: bool = False,
    live: bool = False,
) -> Source:
    """A table in one or more files, or documents as a table.

    Documents are the lines of a file of text (column ``text``), the files in the folders in a
    folder (``label``, the name of the inner folder, and ``text``), or mails: .eml files, mbox
    files and Maildirs (``from``, ``to``, ``subject``, ``body``). If they come from several places,
    a first column ``label`` says from which: spam for spam.txt, spam.mbox and spam/1.eml.

    Parameters
    ----------
    path : a file, "-" for standard input, a pattern such as "data/*.csv", a folder, or a list of
        those. Several files must have the same columns.
    missing : spellings of a missing value in text.
    format : csv, tsv, jsonl, parquet, arrow, arff, text or mail; by default the suffix or the
        content says. Documents are never taken for such by their content.
    delimiter : of fields of text; by default the one that the header has most of.
    columns : the columns to read, in this order; by default all.
    document : name of a column. Text whose format no suffix tells is a table if its first line is
        a header with this column, or a JSON object; else its lines are documents.
    kind : text or mail, what documents are unless their names tell.
    label : of all documents, instead of the names of their places.
    classes : labels that documents may have by the name of their place even if it is the only one.
    named : whether documents that are files of their own have a first column ``file``.
    live : whether the rows of a pipe are wanted as they come. Otherwise they come in blocks whose
        size does not depend on its pace, and so does what is held out of them.

    Raises
    ------
    TableError : if a file holds no table, or another one than the first.
    FileNotFoundError : if there is no such file.
    """
    if format is not None and format.lower() not in FORMATS:
        known = ", ".join(dict.fromkeys(FORMATS.values()))
        raise TableError(f"there is no format {format!r}; there are {known}")
    if delimiter is not None and (len(delimiter.encode()) != 1 or delimiter in '"\r\n'):
        raise TableError(f"the delimiter {delimiter!r} is not one character of ASCII")
    options = Options(missing, delimiter, columns, document=document, kind=kind, live=live)
    asked = FORMATS[format.lower()] if format else None
    places, labelled = listed(path, asked, kind)
    hints = []
    if asked is None and kind is None and document is None:
        hints = [hint for place in places if (hint := recognise_mails(place))]
    if label is not None:
        for place in places:
            place.name_all(label)
    labelled = labelled or label is not None or {each.label for each in places} <= set(classes)
    parts: list[Part] = []
    sizes: list[int | None] = []
    for place in places:
        part, size = _part(place, asked, options, labelled)
        sizes.append(size)
        if parts and _kind(part) != _kind(parts[0]):
            raise TableError(
                f"{place.name} holds {_kind(part)}, but {places[0].name} {_kind(parts[0])}; "
                "files read together must be of one kind"
            )
        if parts and isinstance(part, JsonLines):
            pass  # keys of JSON may come and go
        elif columns is not None:
            _check_columns(place.name, columns, part.names)
        elif parts:
            _check_same(places[0].name, parts[0].names, place.name, part.names)
        if not parts and columns is None:
            options.columns = list(part.names) if not isinstance(part, JsonLines) else None
        parts.append(part)
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    names = list(columns) if columns is not None else list(parts[0].names)
    found = Source(names, total, hint="; ".join(hints), _parts=parts)
    if isinstance(first := parts[0], Documents):
        found.kind = first.kind
        found.texts = tuple(name for name in first.texts if name in names)
        if named and any(isinstance(part, Documents) and part.apart for part in parts):
            found.file = FILE
            found.names = options.columns = [FILE, *names]
    return found


# ---- several files ---------------------------------------------------------------------------


def _check_columns(name: str, wanted: Sequence[str], names: list[str]) -> None:
    there = set(names)
    absent = [column for column in wanted if column not in there]
    if absent:
        have = ", ".join(n if n.isprintable() else repr(n) for n in names[:8])
        have += f", ... ({len(names)} in all)" if len(names) > 8 else ""
        listed = ", ".join(map(repr, absent[:8])) + (", ..." if len(absent) > 8 else "")
        raise TableError(f"{name}: there is no column {listed}; the columns are {have}")


def _check_same(first: str, expected: list[str], name: str, names: list[str]) -> None:
    there, known = set(names), set(expected)
    absent = [column for column in expected if column not in there]
    new = [column for column in names if column not in known]
    said = [
        f"{what} {', '.join(map(repr, which[:8]))}{', ...' if len(which) > 8 else ''}"
        for what, which in (("it lacks", absent), ("only it has", new))
        if which
    ]
    if said:
        raise TableError(
            f"{name}: the columns differ from those of {first}: {'; '.join(said)}; "
            "files read together must have the same columns"
        )


# ---- the parts -------------------------------------------------------------------------------


def _part(
    place: Place, known: str | None, options: Options, labelled: bool
) -> tuple[Part, int | None]:
    """(a place to read, its size in bytes)."""
    if place.documents is not None:
        files = Files(place, labelled, options)
        return files, files.size
    source = Input(place.path, options.live)
    return _in_file(source, known, options, place.label if labelled else None), source.size


def _in_file(source: Input, known: str | None, options: Options, label: str | None) -> Part:
    stream = source.open()
    try:
        if known is None:
            known = recognised(source, stream, options)
        if known == "text":
            return Lines(source, stream, options, label)
        if known == "mail":
            return Mailbox(source, stream, options, label)
        if known == "arff":
            return Arff(source, stream, options)
        if known == "jsonl":
            return JsonLines(source, stream, options)
        if known == "parquet":
            return Parquet(source, stream, options)
        if known == "arrow":
            return Arrow(source, stream, options)
        if known == "tsv" and options.delimiter is None:
            options = replace(options, delimiter="\t")
        return Delimited(source, stream, options)
    except BaseException:
        stream.close()
        raise


def _kind(part: Part) -> str:
    return f"{part.kind}s" if isinstance(part, Documents) else "a table"


# ---- formats that Arrow reads by itself ------------------------------------------------------


@contextmanager
def _whole(name: str, what: str) -> Iterator[None]:
    """Say it in our words if Arrow finds a file damaged."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise TableError(
            f"{name}: cannot be read as {what} ({brief(error)}); is the file whole?"
        ) from None


class Parquet:
    """A Parquet file."""

    def __init__(self, source: Input, stream: Stream, options: Options) -> None:
        self.source, self.options = source, options
        self._done = 0.0
        self._file: Any = seekable(source, stream)
        with _whole(source.name, "Parquet"):
            schema = parquet.ParquetFile(self._file).schema_arrow
            self.names = checked_names(source.name, schema.names)
            self._texts = [f.name for f in schema if _is_text(f.type)]
        if source.again:
            self._file.close()
            self._file = None

    def read_bytes(self) -> int:
        """The share of the rows that have been read, in bytes."""
        return int(self._done * (self.source.size or 0))

    def tasks(self) -> Iterator[Task]:
        """One task a batch, which is decoded already: Arrow has its own threads for that."""
        file, self._file = self._file, None
        file = file or seekable(self.source, self.source.open())
        wanted = list(self.names if self.options.columns is None else self.options.columns)
        try:
            with _whole(self.source.name, "Parquet"):
                # buffers, because a column of a row group may be large
                opened = parquet.ParquetFile(
                    file, read_dictionary=self._texts, buffer_size=1 << 20, pre_buffer=False
                )
                rows = 0
                size = _bytes_of_row(opened.metadata)
                count = min(ROWS, max(256, BYTES // max(size, 1)))
                for batch in opened.iter_batches(count, columns=wanted, use_threads=True):
                    rows += batch.num_rows
                    self._done = rows / max(opened.metadata.num_rows, 1)
                    chosen = self._marked(batch.select(wanted))
                    yield partial(_checked, self.source.name, "Parquet", chosen)
        finally:
            file.close()

    def _marked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch in which text that was read as encoded is known from declared categories."""
        texts = {*self._texts}
        fields = [f.with_metadata(ENCODED) if f.name in texts else f for f in batch.schema]
        return pa.RecordBatch.from_arrays(batch.columns, schema=pa.schema(fields))


def _bytes_of_row(metadata: Any) -> int:
    """Bytes of a row of a Parquet file, as far as it says."""
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    rows = sum(group.num_rows for group in groups)
    return sum(group.total_byte_size for group in groups) // max(rows, 1)


class Arrow:
    """An Arrow file, or a stream of Arrow's messages."""

    def __init__(self, source: Input, stream: Stream, options: Options) -> None:
        self.source, self.options = source, options
        self._done = 0.0
        self._raw: Any = None
        self._begun: tuple[Any, Any] | None = self._begin(stream)
        with _whole(source.name, "Arrow"):
            self.names = checked_names(source.name, self._begun[0].schema.names)
        if source.again:
            self._begun[1].close()
            self._begun = self._raw = None

    def read_bytes(self) -> int:
        """What has been read of a stream; the share of the batches of a file, in bytes."""
        return self._raw.count if self._raw else int(self._done * (self.source.size or 0))

    def _begin(self, stream: Stream) -> tuple[Any, Any]:
        """(Arrow's reader, what it reads from)."""
        head = stream.read(8)
        stream.unread(head)
        with _whole(self.source.name, "Arrow"):
            if head.startswith(b"ARROW1"):
                file = seekable(self.source, stream)
                return pa.ipc.open_file(file), file
            self._raw = stream.raw
            return pa.ipc.open_stream(pa.PythonFile(_Readable(stream), mode="r")), stream

    def tasks(self) -> Iterator[Task]:
        """One task a batch, or a part of one."""
        reader, file = self._begun or self._begin(self.source.open())
        self._begun = None
        wanted = list(self.names if self.options.columns is None else self.options.columns)
        try:
            with _whole(self.source.name, "Arrow"):
                for batch in self._batches(reader):
                    for start in range(0, max(batch.num_rows, 1), ROWS):
                        chosen = batch.select(wanted).slice(start, ROWS)
                        yield partial(_checked, self.source.name, "Arrow", chosen)
        finally:
            file.close()

    def _batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        if not hasattr(reader, "num_record_batches"):
            yield from reader
            return
        count = reader.num_record_batches
        for i in range(count):
            yield reader.get_batch(i)
            self._done = (i + 1) / count


class _Readable:
    """A stream as Arrow wants it."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.closed = False

    def read(self, size: int) -> bytes:
        return self.stream.read(size)

    def close(self) -> None:
        self.closed = True


def _checked(name: str, what: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch without offsets that lead anywhere, or text that is none."""
    with _whole(name, what):
        batch.validate(full=True)
    return batch


def _is_text(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind))
