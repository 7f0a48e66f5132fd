"""Read CSV, TSV and other delimited text, and check its header and first rows."""

from __future__ import annotations

import csv as python_csv
import io
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as csv

from naively.core.numerals import MOMENT, NUMBER, WHOLE, is_whole
from naively.io import inputs
from naively.io.inputs import BOM, MISSING, UNTYPED, LineBlock, LinesPart, Stream, TableError, Task
from naively.tables.names import first_names
from naively.tables.values import TRUTH

ENOUGH = 1 << 20  # minimum number of bytes for which loading the kernels pays off
ROWS = 1 << 13  # number of rows per kernel call, so that their text stays in the CPU cache
AFTER = 64  # padding that the kernels may read beyond the text


class Rows(NamedTuple):
    """Rows split into fields: see `naively.kernels.tables.split_fields`."""

    text: npt.NDArray[np.uint8]
    fields: npt.NDArray[np.int32]
    total: int
    sizes: npt.NDArray[np.int64]


def columns_of(
    data: bytes, lines: int, delimiter: str, names: Sequence[str], kinds: Mapping[str, pa.DataType]
) -> list[pa.Array] | None:
    """Parse delimited text without quotes by compiled kernels, faster than Arrow.

    Return the columns in `kinds`; None if there are quotes or errors, which Arrow handles.

    data : whole rows; the last one may have no newline.
    lines : number of newlines.
    kinds : the columns to return, with their types: text, or dictionary-encoded text.
    """
    if b'"' in data or not kinds or inputs.first_bad_byte(data) is not None:
        return None
    if (rows := _split(data, lines, delimiter, len(names))) is None:
        return None
    place = {name: k for k, name in enumerate(names)}
    all_rows = np.arange(rows.total)
    columns = [
        Encoded(rows, place[name]) if kind == inputs.TEXT else Plain(rows, place[name], all_rows)
        for name, kind in kinds.items()
    ]
    for first in range(0, rows.total, ROWS):
        for column in columns:
            column.read(first, min(first + ROWS, rows.total))
    return [column.array() for column in columns]


def _split(data: bytes, lines: int, delimiter: str, columns: int) -> Rows | None:
    from naively.kernels.tables import split_fields

    size = len(data) + (not data.endswith(b"\n"))
    text = np.full(size + AFTER, ord("\n"), np.uint8)
    text[: len(data)] = np.frombuffer(data, np.uint8)
    fields = np.empty((lines + 2, columns + 1), np.int32)
    sizes = np.zeros(columns, np.int64)
    count = split_fields(text, size, np.uint8(ord(delimiter)), fields, sizes)
    return None if count < 0 else Rows(text, fields, count, sizes)


class Plain:
    """Builder of a text column from chosen rows."""

    def __init__(self, rows: Rows, column: int, chosen: npt.NDArray[np.int64]) -> None:
        self.rows, self.column, self.chosen = rows, column, chosen
        self.offsets = np.zeros(len(chosen) + 1, np.int32)
        self.out = np.empty(rows.sizes[column] + 8, np.uint8)

    def read(self, first: int, last: int) -> None:
        """Append the next rows."""
        from naively.kernels.tables import copy_fields

        copy_fields(
            self.rows.text, self.rows.fields, self.chosen[first:last], self.column,
            self.offsets[first : last + 1], self.out,
        )  # fmt: skip

    def array(self) -> pa.Array:
        """Return the column."""
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.out)]
        return pa.Array.from_buffers(pa.string(), len(self.chosen), buffers)


class Encoded:
    """Builder of a dictionary-encoded text column."""

    def __init__(self, rows: Rows, column: int) -> None:
        self.rows, self.column = rows, column
        self.slots = np.zeros(512, np.uint64)
        self.first_rows = np.empty(rows.total, np.int64)
        self.state = np.zeros(1, np.int64)
        self.codes = np.empty(rows.total, np.int32)

    def read(self, first: int, last: int) -> None:
        """Append the next rows."""
        from naively.kernels.tables import number_fields
        from naively.kernels.text import rehash

        while first < last:
            first = number_fields(
                self.rows.text, self.rows.fields, first, last, self.column, self.slots,
                self.first_rows, self.state, self.codes,
            )  # fmt: skip
            if first < last:
                old_slots, self.slots = self.slots, np.zeros(2 * len(self.slots), np.uint64)
                rehash(old_slots, self.slots)

    def array(self) -> pa.Array:
        """Return the column."""
        texts = Plain(self.rows, self.column, self.first_rows[: self.state[0]])
        texts.read(0, len(texts.chosen))
        return pa.DictionaryArray.from_arrays(self.codes, texts.array())


# ---- headers -------------------------------------------------------------------------------------


TYPES = frozenset({"c", "d", "s", "t", "continuous", "discrete", "string", "time", "basket"})
FLAGS = frozenset({"", "class", "c", "meta", "m", "ignore", "i"})
TOTAL = re.compile(r"(grand |sub)?totals?:?|sums?:?", re.I)
LABEL = b"__label__"
LINES = 2  # minimum number of rows for checks of the first rows


def header_hint(names: Sequence[str], rows: Sequence[Sequence[str]] = ()) -> str:
    """Return a hint if the header looks like a row of values, else "".

    Fractions, negative numbers, dates, times and booleans are values. Integers may be names, such
    as years and numbers of pixels, if they increase. If none of these is found, names that also
    occur as values of their columns in the first rows are values, if most do.
    """
    values = [name for name in names if name in TRUTH or (name and _is_value(name))]
    whole_numbers = [name for name in names if is_whole(name)]
    if any(int(a) >= int(b) for a, b in pairwise(whole_numbers)):
        values = [name for name in names if name in values or name in whole_numbers]
    cells = [[cell.strip("\ufeff \t") for cell in row] for row in rows]
    other_rows = [row for row in cells if row != [*names]]  # without headers of concatenated files
    repeated = {n for row in other_rows for n, cell in zip(names, row, strict=False) if n == cell}
    if not values and repeated and len(repeated.union(whole_numbers)) > len(names) / 2:
        values = [name for name in names if name in repeated or name in whole_numbers]
    if not values:
        return ""
    return (
        f"the first line looks like values, not like names: {first_names(values)}; if it is a row, "
        "add a line with the column names above it"
    )


def odd_lines(rows: Sequence[Sequence[str]], last: Sequence[str]) -> str:
    """Return a hint if the first row looks like units or the last one like totals, else ""."""
    width = min(map(len, rows), default=0)
    numeric = [
        k for k in range(width)
        if len(rows) > LINES and all(NUMBER.fullmatch(row[k].strip()) for row in rows[1:])
    ]  # fmt: skip
    units = [rows[0][k].strip() for k in numeric]
    if len(units) > 1 and not any(NUMBER.fullmatch(u) or u in MISSING for u in units):
        return (
            f"the line after the header looks like units, not like a row: {first_names(units)}; "
            "take it away"
        )
    if last and TOTAL.fullmatch(last[0].strip()):
        return f"the last line looks like totals, not like a row: {first_names(last)}; take it away"
    return ""


def refuse_blanks(name: str, header: str, rows: Sequence[str]) -> None:
    """Raise TableError for columns separated by blanks.

    All lines have the same number of words, and some column has numbers only, unlike sentences.
    """
    words = [row.split() for row in rows]
    size = len(header.split())
    if size < 2 or len(words) < LINES or any(len(row_words) != size for row_words in words):
        return
    if any(all(NUMBER.fullmatch(row_words[k]) for row_words in words) for k in range(size)):
        raise TableError(
            f"{name}: columns are separated by blanks; convert the file: "
            f"sed -E 's/^ +//; s/ +/,/g' {shlex.quote(name)} > commas.csv"
        )


def refuse_orange(name: str, rows: Sequence[Sequence[str]]) -> None:
    """Raise TableError for .tab files of Orange, which have types and flags after the header."""
    if len(rows) < LINES:
        return
    types, flags = ({field.strip() for field in row} for row in rows[:2])
    if types <= TYPES and flags <= FLAGS and ("" in flags or "class" in flags):
        raise TableError(
            f"{name}: lines 2 and 3 are types and flags, as Orange writes them, and no rows; take "
            f"them away: sed '2,3d' {shlex.quote(name)}"
        )


def refuse_fasttext(name: str, line: bytes) -> None:
    """Raise TableError for text with labels in the format of fastText."""
    if line.startswith(LABEL):
        raise TableError(
            f"{name}: these are texts with labels as fastText writes them; make columns of them: "
            f"(printf 'label\\ttext\\n'; sed -E 's/^__label__([^ ]+) +/\\1\\t/' "
            f"{shlex.quote(name)}) > texts.tsv"
        )


def _is_value(name: str) -> bool:
    """Return whether text is a fraction, a negative number, a date or a time."""
    if WHOLE.fullmatch(name):
        return name.startswith("-")
    return bool(NUMBER.fullmatch(name) or MOMENT.fullmatch(name))


# ---- delimited -----------------------------------------------------------------------------------


Positions = npt.NDArray[np.int64]
QUOTE, LF, CR = b'"\n\r'
NONE = np.zeros(0, np.int64)
DELIMITERS = b",;\t|"
SEPARATOR = re.compile(rb'"?sep=([ -~\t])"?\r?\n')
"""A first line that declares the delimiter for Excel."""
LOOKED_AT, TAIL = 50, 4096
"""Number of rows after the header, and of bytes at the end of the file, to inspect."""
SQUEEZED = (".gz", ".zst", ".xz", ".bz2")
BAD_COUNT = re.compile(r"CSV parse error:(?: Row #(\d+):)? Expected (\d+) columns, got (\d+)")


class Delimited(LinesPart):
    """A file of delimited text with a header."""

    def _tasks(self, stream: Stream, begun: Iterator[LineBlock | None]) -> Iterator[Task | None]:
        """Yield a task per block; the first block decides which columns are encoded."""
        kinds: dict[str, Any] = {}
        for block in begun:
            if block and not kinds:
                table = self._read(block, dict.fromkeys(self.columns, pa.string()))
                kinds = {name: inputs.repeating(table.column(name)) for name in self.columns}
                del table
            yield block and partial(self._parsed, block, kinds)

    def _begin(self, stream: Stream) -> Iterator[LineBlock | None]:
        """Read the header, and return the blocks after it."""
        data = stream.some(inputs.HEAD)
        while data.startswith(BOM):  # concatenated files may have several
            data = data.removeprefix(BOM)
        while True:
            text = data.lstrip(b"\r\n")
            self.newline = inputs.newline_of(text)
            separator = SEPARATOR.match(text)
            text = text[separator.end() :].lstrip(b"\r\n") if separator else text
            delimiter = self.options.delimiter or (separator[1].decode() if separator else None)
            self.delimiter = delimiter or sniffed(text, self.newline)
            starts, ends = quoted(text, self.delimiter.encode())
            end = first_end(text, starts, ends, self.newline)
            if end or len(data) > inputs.LONGEST:
                break
            if not (chunk := stream.some(max(inputs.HEAD, len(data)))):
                break
            data += chunk
        line = 1 + data.count(self.newline, 0, len(data) - len(text))
        if not text:
            raise TableError(f"{self.name} is empty; a table needs a header and rows")
        if not end:
            self._check_closed(text, starts, ends, line)
        header = text[: end or len(text)]
        where = f"{self.name}, line {line} (the header)"
        refuse_fasttext(self.name, header)
        if b"\0" in header:
            raise TableError(f"{where}: holds a NUL byte; save the table as text in UTF-8")
        inputs.check_utf8(where, header)
        lines = io.StringIO(header.decode().rstrip("\r\n"), newline="")
        try:
            fields = next(python_csv.reader(lines, delimiter=self.delimiter))
        except python_csv.Error as error:
            raise TableError(f"{where}: {error}") from None
        rows = self._first_rows(text[len(header) :])
        if len(fields) == 1 and delimiter is None:
            refuse_blanks(self.name, fields[0], [row[0] for row in rows])
        if self.delimiter == "\t":
            refuse_orange(self.name, rows)
        fields = [column.strip() or f"Unnamed: {i}" for i, column in enumerate(fields)]
        self.hint = header_hint(fields, rows)
        # a header that may be a row is not removed from the rows
        self._header = header.rstrip(b"\r\n") if len(fields) > 1 and not self.hint else b""
        self.hint = self.hint or odd_lines(rows, self._last_row())
        try:
            self.names = inputs.checked_names(self.name, fields)
        except TableError:
            if self.hint:  # other names would not help
                raise TableError(f"{self.name}: {self.hint}") from None
            raise
        stream.put_back(text[len(header) :])
        line += header.count(self.newline)
        return self._blocks(stream, line)

    def _first_rows(self, data: bytes) -> list[list[str]]:
        """Return the first whole rows among the bytes read with the header."""
        lines = data[: data.rfind(self.newline) + 1].decode(errors="replace").splitlines()
        try:
            rows = [*islice(python_csv.reader(lines, delimiter=self.delimiter), LOOKED_AT)]
        except python_csv.Error:
            return []
        return [row for row in rows if row]

    def _last_row(self) -> list[str]:
        """Return the last row of an uncompressed file; [] for pipes and compressed files."""
        path, size = self.source.path, self.size or 0
        if path is None or not self.source.again or path.suffix in SQUEEZED:
            return []
        with path.open("rb") as file:
            file.seek(max(0, size - TAIL))
            lines = file.read().decode(errors="replace").splitlines()
        try:
            return next(python_csv.reader(lines[-1:], delimiter=self.delimiter), [])
        except python_csv.Error:
            return []

    def _cut(self, data: bytes, line: int, final: bool) -> int:
        """Return the end of the last whole row. Raises TableError for an unclosed quote."""
        starts, ends = quoted(data, self.delimiter.encode())
        end = last_end(data, starts, ends, self.newline)
        if final or (end == 0 and len(data) > inputs.LONGEST):
            self._check_closed(data, starts, ends, line)
        return end

    def _check_closed(self, data: bytes, starts: Positions, ends: Positions, line: int) -> None:
        if len(ends) and ends[-1] == len(data):
            first = len(starts) - 1
            while first and ends[first - 1] + 1 == starts[first]:
                first -= 1  # a doubled quote is a character of the field
            line += data.count(self.newline, 0, int(starts[first]))
            raise TableError(f"a quote opened on line {line} of {self.name} is never closed")

    # ---- values ------------------------------------------------------------------------------

    def _parsed(self, block: LineBlock, kinds: dict[str, Any]) -> pa.RecordBatch:
        """Return the rows of a block; all fields are unconverted text."""
        return inputs.marked(inputs.one_batch(self._read(block, kinds)), kinds, UNTYPED)

    def _without_headers(self, data: bytes) -> bytes:
        """Replace lines that repeat the header, as in concatenated files, by empty lines.

        Line numbers do not change.
        """
        if not self._header or self._header not in data:
            return data
        repeated_header = re.compile(rb"^(?:%s)?%s(?=\r?$)" % (BOM, re.escape(self._header)), re.M)
        quoted_spans = quoted(data, self.delimiter.encode())
        spans = [match.span() for match in repeated_header.finditer(data)]
        starts = np.array([start for start, _ in spans], np.int64)
        outside = {*_outside(starts, *quoted_spans).tolist()}
        for start, end in reversed([span for span in spans if span[0] in outside]):
            data = data[:start] + data[end:]
        return data

    def _read(self, block: LineBlock, kinds: dict[str, Any]) -> Any:
        data = self._without_headers(block.data)
        block = block._replace(data=data)
        if len(data) >= ENOUGH:
            columns = columns_of(data, block.lines, self.delimiter, self.names, kinds)
            if columns is not None:
                return pa.table(columns, list(kinds))
        parse = csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=b'"' in data)
        convert = csv.ConvertOptions(
            column_types=kinds, include_columns=self.columns, null_values=[],
            strings_can_be_null=False,
        )  # fmt: skip
        try:
            return read_csv(data, self.names, parse, convert)
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise self._unreadable(block, error) from None

    # ---- errors ------------------------------------------------------------------------------

    def _unreadable(self, block: LineBlock, error: Exception) -> TableError:
        text = inputs.message_of(error)
        if match := BAD_COUNT.match(text):
            if match[1] is None:
                return TableError(f"{self.name}: {inputs.brief(error)}")
            start = row_start(block.data, self.delimiter, int(match[1]))
            line = block.line + block.data.count(self.newline, 0, start)
            row = block.data[start : start + 80].splitlines()[0].decode(errors="replace")
            # the last line of a whole file has as many fields, with or without a line end
            is_cut = int(match[3]) < int(match[2]) and self.newline not in block.data[start:]
            cut = "; the file ends there, it may be cut off" * is_cut
            return TableError(
                f"{self.name}, line {line}: expected {match[2]} fields, got {match[3]}{cut}: "
                f"{row[:60]}"
            )
        if (bad := inputs.first_bad_byte(block.data)) is not None:
            before = _bytes(block.data[:bad])
            marks = quoted(block.data, self.delimiter.encode())
            breaks = _outside(np.flatnonzero(before == ord(self.newline)), *marks)
            fields = _outside(np.flatnonzero(before == ord(self.delimiter)), *marks)
            column = int((fields > breaks.max(initial=-1)).sum())
            line = block.line + block.data.count(self.newline, 0, bad)
            name = self.names[min(column, len(self.names) - 1)]
            return inputs.no_utf8(f"{self.name}, line {line}, column {name!r}", block.data[bad])
        return TableError(f"{self.name}, line {block.line} or below: {inputs.brief(error)}")


def read_csv(
    data: bytes, names: Sequence[str], parse: csv.ParseOptions, convert: csv.ConvertOptions
) -> pa.Table:
    """Read rows of delimited text in this thread, as one block."""
    read = csv.ReadOptions(use_threads=False, column_names=names, block_size=len(data) + 1)
    return csv.read_csv(pa.BufferReader(data), read, parse, convert)


# ---- quotes ----------------------------------------------------------------------------------


def quoted(data: bytes, delimiters: bytes) -> tuple[Positions, Positions]:
    """Return the starts and ends of the quoted fields of some rows, as Arrow parses them.

    Only a quote at the start of a field opens it. Elsewhere outside, a quote is an ordinary
    character; inside, it closes the field unless it is doubled. The end of a field that is still
    open is the length of the data.
    """
    if b'"' not in data:
        return NONE, NONE
    array = _bytes(data)
    marks = np.flatnonzero(array == QUOTE)
    opening, closing = marks[::2], marks[1::2]
    # Quotes alternate between opening and closing if each opening one follows a delimiter, a
    # newline or a quote (two quotes are one character of a field).
    before = array[opening - 1]
    if opening[0] == 0:
        before[0] = LF
    starting = np.zeros(256, np.bool_)
    starting[[*delimiters, LF, CR, QUOTE]] = True
    right = starting[before]
    if not right.all():
        return _quoted_with_strays(data, delimiters, marks, 2 * int(right.argmin()))
    if len(marks) % 2:
        closing = np.append(closing, len(data))
    return opening, closing


def _quoted_with_strays(
    data: bytes, delimiters: bytes, marks: Positions, stray: int
) -> tuple[Positions, Positions]:
    """Do the same as `quoted`, if the quote number `stray` is the first that is misplaced."""
    opening = rb'"(?:(?<=\A")|(?<=[\r\n%s]"))' % re.escape(delimiters)
    field = re.compile(opening + rb'[^"]*(?:""[^"]*)*("|\Z)')
    spans = [(match.start(), match.start(1)) for match in field.finditer(data, int(marks[stray]))]
    starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
    return np.append(marks[:stray:2], starts), np.append(marks[1:stray:2], ends)


def _outside(places: Positions, starts: Positions, ends: Positions) -> Positions:
    """Return the positions that are not in a quoted field."""
    if not len(starts):
        return places
    field = np.searchsorted(starts, places, side="right") - 1
    return places[(field < 0) | (ends[field] <= places)]


def last_end(data: bytes, starts: Positions, ends: Positions, newline: bytes) -> int:
    """Return the end of the last whole row; 0 if none ends."""
    position = data.rfind(newline)
    while position >= 0:
        field = int(np.searchsorted(starts, position)) - 1
        if field < 0 or ends[field] < position:
            return position + 1
        position = data.rfind(newline, 0, int(starts[field]))
    return 0


def first_end(data: bytes, starts: Positions, ends: Positions, newline: bytes) -> int:
    """Return the end of the first row; 0 if it does not end."""
    breaks = _outside(np.flatnonzero(_bytes(data) == ord(newline)), starts, ends)
    return int(breaks[0]) + 1 if len(breaks) else 0


def row_start(data: bytes, delimiter: str, row: int) -> int:
    """Return the start of a row, counted from 1; blank lines do not count."""
    array = _bytes(data)
    following = np.append(array[1:], 0)
    breaks = np.flatnonzero((array == LF) | ((array == CR) & (following != LF)))
    begins = [0, *(_outside(breaks, *quoted(data, delimiter.encode())) + 1).tolist(), len(data)]
    rows = [a for a, b in pairwise(begins) if data[a:b].strip(b"\r\n")]
    return rows[min(row, len(rows)) - 1]


def sniffed(data: bytes, newline: bytes) -> str:
    """Return the most frequent delimiter in the first row, outside quotes."""
    starts, ends = quoted(data, DELIMITERS)
    array = _bytes(data[: first_end(data, starts, ends, newline) or len(data)])
    counts = [len(_outside(np.flatnonzero(array == c), starts, ends)) for c in DELIMITERS]
    return chr(DELIMITERS[int(np.argmax(counts))])


def _bytes(data: bytes) -> npt.NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)
