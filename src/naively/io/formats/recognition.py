"""Detect the format of a file from its first bytes and its suffix."""

from __future__ import annotations

import csv
import json
import re

from naively.io import inputs
from naively.io.formats.delimited import sniffed
from naively.io.formats.documents import TEXTS
from naively.io.formats.mail import FIELDS
from naively.io.inputs import BOM, Input, Options, Stream, TableError
from naively.io.places import by_suffix

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
    if head.startswith(b"SQLite format 3"):
        raise TableError(
            f"{source.name}: this is an SQLite file; ask it for rows: --database "
            f'sqlite:{source.name} --sql "select * from TABLE"'
        )
    if head[8:].startswith(b"DUCK"):
        raise TableError(
            f"{source.name}: this is a DuckDB file; ask it for rows: --database "
            f'duckdb:{source.name} --sql "select * from TABLE"'
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
    if _is_object(line) or (b"\0" in text and options.kind != "mail"):
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


def _is_object(line: bytes) -> bool:
    """Return whether a line is a JSON object."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
