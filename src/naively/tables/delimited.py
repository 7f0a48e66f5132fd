"""Delimited text (CSV and its kin): cut into blocks at rows, which Arrow then parses.

Arrow's own reader of blocks does not say on which line something is wrong. All fields stay the
text that they are: what it means is up to the model (see `naively.tables.values`), not to the
other fields of a block.
"""

from __future__ import annotations

import csv as python_csv
import io
import re
from collections.abc import Iterator
from functools import partial
from itertools import islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as csv

from naively.tables import headers, inputs, plain_rows
from naively.tables.inputs import BOM, UNTYPED, Stream, TableError, Task
from naively.tables.parts import LineBlock, LinesPart

Positions = npt.NDArray[np.int64]
QUOTE, LF, CR = b'"\n\r'
NONE = np.zeros(0, np.int64)
DELIMITERS = b",;\t|"
SEPARATOR = re.compile(rb'"?sep=([ -~\t])"?\r?\n')
"""A first line by which Excel is told the delimiter."""
LOOKED_AT, TAIL = 50, 4096
"""Rows after the header that are looked at, and bytes at the end of a file."""
SQUEEZED = (".gz", ".zst", ".xz", ".bz2")
BAD_COUNT = re.compile(r"CSV parse error:(?: Row #(\d+):)? Expected (\d+) columns, got (\d+)")


class Delimited(LinesPart):
    """A file of delimited text with a header."""

    def _tasks(self, stream: Stream, begun: Iterator[LineBlock | None]) -> Iterator[Task | None]:
        """One task a block; the first says which columns repeat their values."""
        kinds: dict[str, Any] = {}
        for block in begun:
            if block and not kinds:
                table = self._read(block, dict.fromkeys(self.columns, pa.string()))
                kinds = {name: inputs.repeating(table.column(name)) for name in self.columns}
                del table
            yield block and partial(self._parsed, block, kinds)

    def _begin(self, stream: Stream) -> Iterator[LineBlock | None]:
        """Read the header."""
        data = stream.some(inputs.HEAD)
        while data.startswith(BOM):  # files that were joined or saved again have several
            data = data.removeprefix(BOM)
        while True:
            text = data.lstrip(b"\r\n")
            self.newline = inputs.newline_of(text)
            said = SEPARATOR.match(text)
            text = text[said.end() :].lstrip(b"\r\n") if said else text
            delimiter = self.options.delimiter or (said[1].decode() if said else None)
            self.delimiter = delimiter or sniffed(text, self.newline)
            starts, ends = quoted(text, self.delimiter.encode())
            end = first_end(text, starts, ends, self.newline)
            if end or len(data) > inputs.LONGEST:
                break
            if not (more := stream.some(max(inputs.HEAD, len(data)))):
                break
            data += more
        line = 1 + data.count(self.newline, 0, len(data) - len(text))
        if not text:
            raise TableError(f"{self.name} is empty; a table needs a header and rows")
        if not end:
            self._check_closed(text, starts, ends, line)
        header = text[: end or len(text)]
        where = f"{self.name}, line {line} (the header)"
        headers.refuse_fasttext(self.name, header)
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
            headers.refuse_blanks(self.name, fields[0], [row[0] for row in rows])
        if self.delimiter == "\t":
            headers.refuse_orange(self.name, rows)
        fields = [column.strip() or f"Unnamed: {i}" for i, column in enumerate(fields)]
        self.hint = headers.doubt(fields, rows)
        # a row that is taken for the header may well come again
        self._header = header.rstrip(b"\r\n") if len(fields) > 1 and not self.hint else b""
        self.hint = self.hint or headers.odd_lines(rows, self._last_row())
        try:
            self.names = inputs.checked_names(self.name, fields)
        except TableError as error:
            raise TableError(f"{error}; {self.hint}") if self.hint else error from None
        stream.unread(text[len(header) :])
        line += header.count(self.newline)
        return self._blocks(stream, line)

    def _first_rows(self, data: bytes) -> list[list[str]]:
        """The first whole rows after the header, as far as they were read with it."""
        lines = data[: data.rfind(self.newline) + 1].decode(errors="replace").splitlines()
        try:
            rows = [*islice(python_csv.reader(lines, delimiter=self.delimiter), LOOKED_AT)]
        except python_csv.Error:
            return []
        return [row for row in rows if row]

    def _last_row(self) -> list[str]:
        """The last row of a file that can be looked at before it is read; else none."""
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
        """Where the last row ends."""
        starts, ends = quoted(data, self.delimiter.encode())
        end = last_end(data, starts, ends, self.newline)
        if final or (end == 0 and len(data) > inputs.LONGEST):
            self._check_closed(data, starts, ends, line)
        return end

    def _check_closed(self, data: bytes, starts: Positions, ends: Positions, line: int) -> None:
        if len(ends) and ends[-1] == len(data):
            first = len(starts) - 1
            while first and ends[first - 1] + 1 == starts[first]:
                first -= 1  # two quotes are one character
            line += data.count(self.newline, 0, int(starts[first]))
            raise TableError(f"a quote opened on line {line} of {self.name} is never closed")

    # ---- values ------------------------------------------------------------------------------

    def _parsed(self, block: LineBlock, kinds: dict[str, Any]) -> pa.RecordBatch:
        """The rows of a block: the text of each field, as it stands."""
        return inputs.marked(inputs.one_batch(self._read(block, kinds)), kinds, UNTYPED)

    def _without_headers(self, data: bytes) -> bytes:
        """The rows without lines that repeat the header, as those of files that were joined do.

        They become blank, so that the numbers of other lines stay.
        """
        if not self._header or self._header not in data:
            return data
        again = re.compile(rb"^(?:%s)?%s(?=\r?$)" % (BOM, re.escape(self._header)), re.M)
        inside = quoted(data, self.delimiter.encode())
        found = [match.span() for match in again.finditer(data)]
        kept = {*_outside(np.array([start for start, _ in found], np.int64), *inside).tolist()}
        for start, end in reversed([span for span in found if span[0] in kept]):
            data = data[:start] + data[end:]
        return data

    def _read(self, block: LineBlock, kinds: dict[str, Any]) -> Any:
        block = block._replace(data=self._without_headers(block.data))
        data = block.data
        if len(data) >= plain_rows.ENOUGH:
            found = plain_rows.columns_of(data, block.lines, self.delimiter, self.names, kinds)
            if found is not None:
                return pa.table(found, list(kinds))
        try:
            return csv.read_csv(
                pa.BufferReader(data),
                read_options=csv.ReadOptions(
                    use_threads=False, column_names=self.names, block_size=len(data) + 1
                ),
                parse_options=csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=b'"' in data
                ),
                convert_options=csv.ConvertOptions(
                    column_types=kinds,
                    include_columns=self.columns,
                    null_values=[],
                    strings_can_be_null=False,
                ),
            )
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
            return TableError(
                f"{self.name}, line {line}: expected {match[2]} fields, got {match[3]}: {row[:60]}"
            )
        if (bad := inputs.first_bad_byte(block.data)) is not None:
            return self._no_utf8(block, bad)
        return TableError(f"{self.name}, line {block.line} or below: {inputs.brief(error)}")

    def _no_utf8(self, block: LineBlock, bad: int) -> TableError:
        """What to say of the byte at `bad`: its line and its column."""
        before = _bytes(block.data[:bad])
        marks = quoted(block.data, self.delimiter.encode())
        breaks = _outside(np.flatnonzero(before == ord(self.newline)), *marks)
        fields = _outside(np.flatnonzero(before == ord(self.delimiter)), *marks)
        column = int((fields > breaks.max(initial=-1)).sum())
        line = block.line + block.data.count(self.newline, 0, bad)
        name = self.names[min(column, len(self.names) - 1)]
        return inputs.no_utf8(f"{self.name}, line {line}, column {name!r}", block.data[bad])


# ---- quotes ----------------------------------------------------------------------------------


def quoted(data: bytes, delimiters: bytes) -> tuple[Positions, Positions]:
    """Where the quoted fields of some rows begin and end, as Arrow sees it.

    Only a quote at the start of a field opens one; others are ordinary characters outside, and
    close it inside, unless doubled. The last field may end with the data: it is still open.
    """
    if b'"' not in data:
        return NONE, NONE
    array = _bytes(data)
    marks = np.flatnonzero(array == QUOTE)
    opening, closing = marks[::2], marks[1::2]
    # They alternate if each that should open a field follows a delimiter, or a quote: then the two
    # are one character of a field.
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
    """The same for quotes of which the one at `stray` is the first that does not open a field."""
    opening = rb'"(?:(?<=\A")|(?<=[\r\n%s]"))' % re.escape(delimiters)
    field = re.compile(opening + rb'[^"]*(?:""[^"]*)*("|\Z)')
    spans = [(match.start(), match.start(1)) for match in field.finditer(data, int(marks[stray]))]
    starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
    return np.append(marks[:stray:2], starts), np.append(marks[1:stray:2], ends)


def _outside(places: Positions, starts: Positions, ends: Positions) -> Positions:
    """Those places that are in no quoted field."""
    if not len(starts):
        return places
    field = np.searchsorted(starts, places, side="right") - 1
    return places[(field < 0) | (ends[field] <= places)]


def last_end(data: bytes, starts: Positions, ends: Positions, newline: bytes) -> int:
    """Where the last whole row ends, 0 if none does."""
    at = data.rfind(newline)
    while at >= 0:
        field = int(np.searchsorted(starts, at)) - 1
        if field < 0 or ends[field] < at:
            return at + 1
        at = data.rfind(newline, 0, int(starts[field]))
    return 0


def first_end(data: bytes, starts: Positions, ends: Positions, newline: bytes) -> int:
    """Where the first row ends, 0 if it does not."""
    breaks = _outside(np.flatnonzero(_bytes(data) == ord(newline)), starts, ends)
    return int(breaks[0]) + 1 if len(breaks) else 0


def row_start(data: bytes, delimiter: str, row: int) -> int:
    """Where a row starts, the first being 1; blank lines are none."""
    array = _bytes(data)
    last = np.append(array[1:], 0)
    breaks = np.flatnonzero((array == LF) | ((array == CR) & (last != LF)))
    begins = [0, *(_outside(breaks, *quoted(data, delimiter.encode())) + 1).tolist(), len(data)]
    rows = [a for a, b in pairwise(begins) if data[a:b].strip(b"\r\n")]
    return rows[min(row, len(rows)) - 1]


def sniffed(data: bytes, newline: bytes) -> str:
    """The delimiter that the first row has most of."""
    starts, ends = quoted(data, DELIMITERS)
    array = _bytes(data[: first_end(data, starts, ends, newline) or len(data)])
    counts = [len(_outside(np.flatnonzero(array == c), starts, ends)) for c in DELIMITERS]
    return chr(DELIMITERS[int(np.argmax(counts))])


def _bytes(data: bytes) -> npt.NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)
