"""Detect the format of a file from its first bytes and its suffix."""

from __future__ import annotations

import csv
import json
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from naively.io import inputs
from naively.io.arrow import together
from naively.io.formats.arff import Arff
from naively.io.formats.delimited import Delimited, sniffed
from naively.io.formats.documents import FILE, TEXTS, DocumentPart, Files, Lines, Mailbox
from naively.io.formats.jsonl import JsonLines
from naively.io.formats.mail import FIELDS
from naively.io.formats.parquet_feather import Arrow, Parquet
from naively.io.frames import arrow_stream
from naively.io.inputs import (
    BOM,
    DECLARED,
    MISSING,
    UNTYPED,
    FilePart,
    Input,
    Options,
    Part,
    Stream,
    TableError,
    Task,
    is_declared,
    is_untyped,
)
from naively.io.places import FORMATS, Place, by_suffix, listed, recognise_mails
from naively.tables import values
from naively.tables.names import first_names, three
from naively.tables.targets import are_text, typed

__all__ = ["FORMATS", "MISSING", "Source", "TableError", "open_source"]

FOREIGN = {
    b"PK\x03\x04": "a zip or Excel file", b"\xd0\xcf\x11\xe0": "an Excel file",
    b"%PDF-": "a PDF file", b"FEA1\0": "a Feather file of the first version",
    b"\xff\xfe\0\0": "text in UTF-32", b"\0\0\xfe\xff": "text in UTF-32",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}  # fmt: skip
MODEL = b'{"__metadata__":{"naively"'
"""Beginning of a model file, after the 8 bytes of its header's length."""
PARQUET = re.compile(rb"PAR1[^\t\r\n -~]")  # not text: a CSV column may be called PAR1
RELATION = re.compile(rb"(?:\s|%[^\n]*\n)*@(?:relation|attribute)\b", re.I)


def recognised(source: Input, stream: Stream, options: Options) -> str:
    """Return the format of a file: by its magic number, else its suffix, else its first bytes.

    Raises TableError for an empty file, and for known formats that cannot be read.
    """
    head = stream.peek()
    if not head:
        raise TableError(f"{source.name} is empty")
    if PARQUET.match(head):
        return "parquet"
    if head.startswith(b"ARROW1\0"):
        return "arrow"
    is_sqlite = head.startswith(b"SQLite format 3")
    if is_sqlite or head[8:].startswith(b"DUCK"):
        what, scheme = ("an SQLite", "sqlite") if is_sqlite else ("a DuckDB", "duckdb")
        raise TableError(
            f"{source.name}: this is {what} file; ask it for rows: --database "
            f'{scheme}:{source.name} --sql "select * from TABLE"'
        )
    if head[8:].startswith(MODEL):
        raise TableError(f"{source.name}: this is a model file of naively, where rows are expected")
    for magic, description in FOREIGN.items():
        if head.startswith(magic):
            raise TableError(
                f"{source.name}: this is {description}; save the table as CSV in UTF-8"
            )
    format_ = None if source.path is None else by_suffix(source.path)
    if format_ is None and head.startswith(b"\xff\xff\xff\xff"):  # message of an Arrow stream
        return "arrow"
    if format_ not in ("parquet", "arrow"):
        inputs.check_narrow(source.name, head)
    if format_:
        return "mail" if format_ == "text" and options.kind == "mail" else format_
    text = head.removeprefix(BOM).lstrip()
    kind = options.kind or ("text" if options.document is not None else None)
    if kind is not None and not _is_table(stream, options):
        return kind
    if text.startswith((b"{", b"[{")):
        return "jsonl"
    return "arff" if RELATION.match(text) else "csv"


def _is_table(stream: Stream, options: Options) -> bool:
    """Return whether the first line is a JSON object, or a header with a column of documents.

    Data with NUL bytes is not text; it counts as a table, which is refused later. Mails may
    contain NUL bytes.
    """
    text = stream.peek().removeprefix(BOM).lstrip()
    line = re.split(rb"[\r\n]", text, maxsplit=1)[0]
    with suppress(ValueError, RecursionError):
        if isinstance(json.loads(line), dict):
            return True
    if b"\0" in text and options.kind != "mail":
        return True
    delimiter = options.delimiter or sniffed(line, b"\n")
    fields = next(csv.reader([line.decode(errors="replace")], delimiter=delimiter), [])
    names = [field.strip() for field in fields]
    document_columns = FIELDS if options.kind == "mail" else (options.document or TEXTS[0],)
    if set(document_columns).isdisjoint(names):
        return False
    # "text, call me" is a sentence: a name contains a blank, and a blank follows the comma
    if names != fields and any(" " in name for name in names):
        return False
    # a single line is a document, not a header
    return bool(stream.peek(2).removeprefix(BOM).lstrip().removeprefix(line).strip())


# ---- sources -------------------------------------------------------------------------------------


def with_types(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables; convert untyped text columns to numbers or booleans if all values are.

    Columns that remain text keep their spelling and their mark as untyped.
    """
    untyped = {field.name for table in tables for field in table.schema if is_untyped(field)}
    joined = together(tables)
    columns, fields = [], []
    for name in joined.column_names:
        column = joined.column(name)
        if name in untyped and values.is_text(column.type):
            column = _typed(column)
        mark = UNTYPED if name in untyped and values.is_text(column.type) else None
        mark = DECLARED if is_declared(joined.schema.field(name)) else mark
        columns.append(column)
        fields.append(pa.field(name, column.type, metadata=mark))
    return pa.table(columns, schema=pa.schema(fields))


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    places, distinct = values.encoded(values.flat(column))
    texts = distinct.to_pylist()
    valid_places = [k for k, text in enumerate(texts) if text.strip() not in MISSING]
    labels = np.array([texts[k] for k in valid_places], object)
    labels = typed(labels) if valid_places else labels
    if are_text(labels):
        return column
    values_ = np.zeros(len(texts) + 1, labels.dtype)
    missing = np.ones(len(texts) + 1, bool)
    values_[valid_places], missing[valid_places] = labels, False
    return pa.array(values_[places], mask=missing[places])


# ---- readers -------------------------------------------------------------------------------------


READERS: dict[str, type[FilePart[Any]]] = {
    "csv": Delimited, "tsv": Delimited, "jsonl": JsonLines, "arff": Arff,
    "parquet": Parquet, "arrow": Arrow, "text": Lines, "mail": Mailbox,
}  # fmt: skip


@dataclass
class Source:
    """A table in files, standard input or a stream, read in batches.

    size : total number of bytes; None if unknown, as for standard input.
    texts : names of the columns of documents; empty for an ordinary table.
    kind : kind of the documents, "text" or "mail"; None for an ordinary table.
    file : name of the column with the file of each document, or None.
    hint : a hint for the user about how the source is read; may be empty.
    """

    names: list[str]
    size: int | None
    texts: tuple[str, ...] = ()
    kind: str | None = None
    file: str | None = None
    hint: str = ""
    _parts: list[Part] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        """Name for messages: the first files."""
        return three([part.name for part in self._parts])

    def read_bytes(self) -> int:
        """Return the approximate number of bytes read so far."""
        return sum(part.read_bytes() for part in self._parts)

    def tasks(self) -> Iterator[Task]:
        """Yield tasks in the order of the rows, each of which makes a batch when called.

        Tasks may be called in other threads, several at a time. Files are read only while the
        iterator advances. Column types may differ between batches: values of a JSON key may begin
        with integers, and go on with floats or text.
        """
        return (task for task in self.live_tasks() if task is not None)

    def live_tasks(self) -> Iterator[Task | None]:
        """Yield the tasks, and None while a live pipe has no data."""
        has_tasks = False
        for part in self._parts:
            for task in part.tasks():
                has_tasks = has_tasks or task is not None
                yield task
        if not has_tasks:
            empty = pa.schema([(name, pa.string()) for name in self.names]).empty_table()
            yield lambda: inputs.one_batch(empty)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches, one after the other."""
        for task in self.tasks():
            yield task()

    def shares(self, most: int, columns: Sequence[str] | None = None) -> list[Source]:
        """Split the files into sources for other processes that can open the files.

        Raises TableError if a part is not a table in a file that can be opened again.

        most : maximum number of sources; each has at least one file.
        columns : the columns to read; None for those of this source.
        """
        for part in self._parts:
            if not isinstance(part, FilePart) or isinstance(part, DocumentPart):
                raise TableError(f"{part.name} is not a table in files, which others could read")
        selected = self if columns is None else self.only(columns)
        count = min(most, len(selected._parts))
        return [replace(selected, _parts=selected._parts[k::count]) for k in range(count)]

    def only(self, columns: Sequence[str]) -> Source:
        """Select columns, in this order. Raises TableError if one does not exist."""
        for part in self._parts:
            _check_columns(part, columns)
        parts = [copy(part) for part in self._parts]
        for part in parts:
            part.selected = list(columns)
        return replace(self, names=list(columns), _parts=parts)

    def to_table(self) -> pa.Table:
        """Read all rows into memory.

        CSV columns become numbers or booleans if all their values are.
        """
        return with_types([pa.Table.from_batches([batch]) for batch in self.batches()])


def open_source(
    path: str | Path | list[Any], *, missing: Sequence[str] = MISSING, format: str | None = None,
    delimiter: str | None = None, columns: Sequence[str] | None = None,
    document: str | None = None, kind: str | None = None, label: str | None = None,
    classes: Collection[str] = (), named: bool = False, live: bool = False,
) -> Source:  # fmt: skip
    """Open a table in one or more files, or documents as a table.

    Documents are the lines of a text file (column ``text``), the files in subfolders of a folder
    (``label``, the name of the subfolder, and ``text``), or mails: .eml files, mbox files and
    Maildirs (``from``, ``to``, ``subject``, ``body``). If they come from several places, a first
    column ``label`` names the place: spam for spam.txt, spam.mbox and spam/1.eml. Raises TableError
    if a file is not a table, or its columns differ from those of the first; FileNotFoundError if
    there is no such file.

    path : a file, "-" for standard input, a pattern such as "data/*.csv", a folder, or a list of
        these. Several files must have the same columns.
    format : csv, tsv, jsonl, parquet, arrow, arff, text or mail; by default it is detected from the
        suffix or the content. Text and mail are not detected from the content.
    delimiter : delimiter of fields; by default the most frequent one in the header.
    columns : the columns to read, in this order; by default all.
    document : name of a column. Text without a known suffix is a table if its first line is a
        header with this column, or a JSON object; else its lines are documents.
    kind : "text" or "mail", the kind of documents whose suffixes are not known.
    label : label of all documents, instead of the names of their places.
    classes : labels that the name of a place gives to documents even if it is the only place; see
        `naively.io.places.listed`.
    named : whether documents in files of their own get a first column ``file``.
    live : whether to read rows of a pipe as they arrive. Else blocks have a fixed size, so that
        held-out rows do not depend on the timing of the pipe.
    """
    if format is not None and format.lower() not in FORMATS:
        formats = ", ".join(dict.fromkeys(FORMATS.values()))
        raise TableError(f"there is no format {format!r}; there are {formats}")
    if delimiter is not None and (len(delimiter.encode()) != 1 or delimiter in '"\r\n'):
        raise TableError(f"the delimiter {delimiter!r} is not one character of ASCII")
    format_ = FORMATS[format.lower()] if format else None
    is_of_texts = kind == "text" or (kind is None and document is not None)
    known_classes = classes if is_of_texts and format is None and label is None else ()
    places, is_labelled = listed(path, format_, kind, known_classes)
    hints = []
    if format_ is None and kind is None and document is None:
        hints = [hint for place in places if (hint := recognise_mails(place))]
    if label is not None:
        for place in places:
            place.name_all(label)
    is_labelled = is_labelled or label is not None or {p.label for p in places} <= set(classes)
    options = Options(missing, delimiter, document, kind, live)
    parts: list[Part] = []
    for place in places:
        part = _part(place, format_, replace(options, label=place.label if is_labelled else None))
        parts.append(part)
        if (holds := _kind(part)) != (first_holds := _kind(parts[0])):
            raise TableError(
                f"{part.name} holds {holds}, but {parts[0].name} {first_holds}; "
                "files read together must be of one kind"
            )
        if part is not parts[0] and isinstance(part, JsonLines):
            pass  # JSON objects may have different keys
        elif columns is not None:
            _check_columns(part, columns)
        else:
            _check_same(parts[0], part)
    hinted = next((part for part in parts if part.hint), None)  # one hint for many files is enough
    if hinted is not None:
        hints.append(f"{hinted.name}: {hinted.hint}")
    first, sizes = parts[0], [part.size for part in parts]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    names = list(first.names if columns is None else columns)
    source = Source(names, total, hint="; ".join(hints), _parts=parts)
    if isinstance(first, DocumentPart):
        source.kind = first.kind
        source.texts = tuple(name for name in first.texts if name in names)
        if named and any(isinstance(part, DocumentPart) and part.apart for part in parts):
            source.file = FILE
            source.names = [FILE, *names]
    # JSON objects may have different keys
    if columns is not None or not isinstance(first, JsonLines):
        for part in parts:
            part.selected = source.names
    return source


# ---- several files ---------------------------------------------------------------------------


def _check_columns(part: Part, columns: Sequence[str]) -> None:
    available = set(part.names)
    if missing := [column for column in columns if column not in available]:
        shown = ", ".join(n if n.isprintable() else repr(n) for n in part.names[:8])
        shown += f", ... ({len(part.names)} in all)" if len(part.names) > 8 else ""
        raise TableError(
            f"{part.name}: there is no column {first_names(missing)}; the columns are {shown}"
        )


def _check_same(first: Part, part: Part) -> None:
    part_columns, first_columns = set(part.names), set(first.names)
    problems = []
    if missing := [column for column in first.names if column not in part_columns]:
        problems.append(f"it does not have {first_names(missing)}")
    if additional := [column for column in part.names if column not in first_columns]:
        problems.append(f"only it has {first_names(additional)}")
    if problems:
        raise TableError(
            f"{part.name}: the columns differ from those of {first.name}: {'; '.join(problems)}; "
            "files read together must have the same columns"
        )


# ---- the parts -------------------------------------------------------------------------------


def _part(place: Place, format: str | None, options: Options) -> Part:
    """Return the part that reads a place."""
    if place.documents is not None:
        return Files(place, options)
    source = Input(place.path, options.live)
    stream = source.open()
    try:
        format_ = format or recognised(source, stream, options)
        if format_ == "tsv" and options.delimiter is None:
            options = replace(options, delimiter="\t")
        return READERS[format_](source, stream, options)
    except BaseException:
        stream.close()
        raise


def _kind(part: Part) -> str:
    return f"{part.kind}s" if isinstance(part, DocumentPart) else "a table"


# ---- scanning ------------------------------------------------------------------------------------


def scan(source: Any, *, format: str | None = None, columns: Sequence[str] | None = None) -> Source:
    """Open a table that is larger than memory, to read it in batches.

    Classifiers train and predict on it in constant memory:
    ``NaiveBayes().fit(naively.scan("data/*.parquet"), "label")``. The model equals that of the same
    rows in memory, and that of ``naively fit``, bit for bit. `NBSVM` and `MultilabelNB` need all
    rows in memory.

    Parameters
    ----------
    source : str, Path, list of them, or a stream
        Files, patterns such as "data/*.csv", folders, or "-" for standard input: CSV, TSV, JSON
        lines, Parquet, Arrow and ARFF, compressed or not, lines of text, and mails. Several files
        must have the same columns, in any order. Or a stream of Arrow batches, which estimators
        also take directly: a `pyarrow.RecordBatchReader`, a `pyarrow.dataset.Dataset`, a DuckDB
        relation, a polars LazyFrame, an ADBC cursor, or any object with ``__arrow_c_stream__``.
    format : str, optional
        Format of the files: csv, tsv, jsonl, parquet, arrow, arff, text or mail; by default it is
        detected from names and contents.
    columns : sequence of str, optional
        The columns to read, in this order; by default all.

    Returns
    -------
    Source : with `names` of the columns, `batches()`, and `to_table()` for all rows in memory.
        Standard input, a `RecordBatchReader` and the result of a query can be read only once.

    Raises
    ------
    ValueError : if a file is not a table, the columns of files differ, or a stream was read before.
    FileNotFoundError : if there is no such file.
    TypeError : if `source` is neither a path nor a stream.

    Examples
    --------
    >>> import naively, pyarrow as pa
    >>> table = pa.table({"wind": [3.1, 7.2, 6.8, 5.5], "go": ["no", "yes", "yes", "yes"]})
    >>> naively.scan(table.to_reader()).names
    ['wind', 'go']
    """
    if isinstance(source, str | Path) or (isinstance(source, list | tuple) and source):
        paths = list(source) if isinstance(source, tuple) else source
        files = open_source(paths, format=format, columns=columns)
        if files.hint:
            warnings.warn(files.hint, UserWarning, stacklevel=2)
        return files
    stream = streamed(source)
    if stream is None:
        raise TypeError(
            f"a {type(source).__name__} cannot be scanned: pass paths of files, or a stream of "
            "Arrow such as a pyarrow.RecordBatchReader; rows in memory need no scan"
        )
    return stream if columns is None else stream.only(columns)


def streamed(X: Any) -> Source | None:
    """Return a source that reads X in batches if X is a stream; None for rows in memory.

    Raises ValueError if the stream was read before and cannot be read again.
    """
    if isinstance(X, np.ndarray | list):  # fast path for single rows
        return None
    if isinstance(X, Source):
        return X
    part = arrow_stream(X)
    return None if part is None else Source(part.names, None, _parts=[part])
