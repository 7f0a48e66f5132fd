"""Read dense ARFF files of Weka: a header that declares the columns, and delimited text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from naively.io import inputs
from naively.io.formats.delimited import read_csv
from naively.io.inputs import (
    BOM,
    MISSING,
    TEXT,
    Input,
    LineBlock,
    LinesPart,
    Options,
    Stream,
    TableError,
    Task,
)

DATA = re.compile(rb"^[ \t]*@data\b[^\n]*(?:\n|\Z)", re.I | re.M)
ATTRIBUTE = re.compile(
    r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(\S.*)""", re.I | re.S
)
TOKEN = re.compile(
    r"""[ \t]*(?:'((?:[^'\\]|\\.|'')*)'|"((?:[^"\\]|\\.|"")*)"|([^,]*?))[ \t]*(,|$)""", re.S
)
COMMENT = re.compile(rb"^[ \t]*%[^\r\n]*", re.M)
SPARSE = re.compile(rb"^[ \t]*\{", re.M)
LOOSE = re.compile(rb"[ \t]+(?=,|\r?$)|(?:(?<=,)|^)[ \t]+", re.M)
BAD_VALUE = re.compile(
    r"In CSV column #(\d+):(?: Row #(\d+):)? CSV conversion error to [^:]+:"
    r"(?: invalid value)? (.*)", re.S
)  # fmt: skip
TYPES = dict.fromkeys(("numeric", "real", "integer"), pa.float64()) | {"string": TEXT}
JAVA_DATES = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class Arff(LinesPart):
    """A dense ARFF file."""

    def __init__(self, source: Input, stream: Stream, options: Options) -> None:
        super().__init__(source, stream, options)
        # "none" and "NA" may be categories: ARFF marks missing values by "?", unless the user
        # names other spellings
        spellings = () if tuple(options.missing) == MISSING else options.missing
        self.missing = list(dict.fromkeys(("?", "", *spellings)))

    def _tasks(self, stream: Stream, begun: Iterator[LineBlock | None]) -> Iterator[Task | None]:
        """Yield a task per block."""
        any_rows = False
        for block in begun:
            any_rows = any_rows or block is not None
            yield block and partial(self._parsed, block)
        if not any_rows:  # an empty batch with the declared types
            schema = pa.schema([(name, self.types[name]) for name in self.columns])
            yield partial(self._typed, schema.empty_table(), LineBlock(b"", 1, 0))

    # ---- the header --------------------------------------------------------------------------

    def _begin(self, stream: Stream) -> Iterator[LineBlock | None]:
        """Read the header: types of columns, categories of nominal ones, formats of dates.

        Return the blocks after it.
        """
        data = stream.some(inputs.HEAD).removeprefix(BOM)
        while not (match := DATA.search(data)) or match.end() == len(data):
            chunk = stream.some(max(inputs.HEAD, len(data)))
            if not chunk or len(data) > inputs.LONGEST:
                break
            data += chunk
        if not data.strip():
            raise TableError(f"{self.name} is empty; ARFF needs @relation, @attribute and @data")
        if match is None:
            raise TableError(f"{self.name}: there is no line @data; this is not an ARFF file")
        names: list[str] = []
        self.types: dict[str, Any] = {}
        self.levels: dict[str, list[str]] = {}
        self.dates: list[str] = []
        for i, raw in enumerate(data[: match.start()].split(b"\n")):
            where = f"{self.name}, line {i + 1}"
            inputs.check_utf8(where, raw)
            line = raw.decode().strip()
            word = line.split(None, 1)[0].lower() if line else ""
            if word == "@attribute":
                attribute = ATTRIBUTE.fullmatch(line)
                if not attribute:
                    raise TableError(f"{where}: expected @attribute NAME TYPE: {line[:60]}")
                names.append(unquoted(attribute[1]))
                self._declare(names[-1], attribute[2], where)
            elif word and word != "@relation" and not word.startswith("%"):
                raise TableError(f"{where}: expected @attribute or @data: {line[:60]}")
        if not names:
            raise TableError(f"{self.name}: no @attribute before @data; there must be columns")
        self.names = inputs.checked_names(self.name, names)
        stream.put_back(data[match.end() :])
        return self._blocks(stream, 1 + data.count(b"\n", 0, match.end()))

    def _declare(self, name: str, text: str, where: str) -> None:
        """Store the declared type of a column. Raises TableError if it is not supported."""
        kind, _, format_ = text.partition(" ")
        kind = kind.lower()
        if text.startswith("{"):
            if "}" not in text:
                raise TableError(f"{where}: the categories have no closing brace: {text[:60]}")
            try:
                levels = [word for word, _ in tokens(text[1 : text.rindex("}")].strip())]
            except ValueError as error:
                raise TableError(f"{where}: {error}: {text[:60]}") from None
            self.levels[name] = list(dict.fromkeys(levels))
            self.types[name] = TEXT
        elif kind == "date":
            self.dates += _strptime(unquoted(format_.strip()))
            self.types[name] = pa.timestamp("s")
        elif kind in TYPES:
            self.types[name] = TYPES[kind]
        else:
            raise TableError(
                f"{where}: cannot read attributes of type {kind!r}; numeric, string, date and "
                "{a, b, ...} can be read"
            )

    # ---- rows --------------------------------------------------------------------------------

    def _parsed(self, block: LineBlock) -> pa.RecordBatch:
        data = block.data
        if (bad := inputs.first_bad_byte(data)) is not None:
            line = block.line + data.count(b"\n", 0, bad)
            raise inputs.no_utf8(f"{self.name}, line {line}", data[bad])
        if b"%" in data:
            data = COMMENT.sub(b"", data)
        if b"{" in data and (sparse := SPARSE.search(data)):
            line = block.line + data.count(b"\n", 0, sparse.start())
            raise TableError(
                f"{self.name}, line {line}: this is sparse ARFF ({{column value, ...}}); "
                "save the table with all values in each row"
            )
        has_single, has_double = b"'" in data, b'"' in data
        loose = (b" " in data or b"\t" in data) and LOOSE.search(data) is not None
        if loose and not has_single and not has_double:
            data, loose = LOOSE.sub(b"", data), False
        quote = b"'" if has_single else b'"'
        plain = not (b"\\" in data or (has_single and has_double) or loose)
        if plain := plain and data.count(quote) % 2 == 0:
            try:
                table = self._read(block, data, quote.decode())
                # an unclosed quote would merge rows
                plain = table.num_rows == sum(1 for line in data.split(b"\n") if line.strip())
            except TableError:
                plain = False
        if not plain:  # slower; also raises with the line number
            table = self._read(block, self._rewritten(block), '"')
        return self._typed(table, block)

    def _rewritten(self, block: LineBlock) -> bytes:
        """Rewrite the rows as CSV, without ARFF's quotes, escapes and blanks.

        Raises TableError that names the line.
        """
        rows = []
        for line, text in self._lines(block):
            where = f"{self.name}, line {line}"
            try:
                fields = tokens(text)
            except ValueError as error:
                raise TableError(f"{where}: {error}: {text[:60]}") from None
            if len(fields) != len(self.names):
                raise TableError(
                    f"{where}: expected {len(self.names)} fields, got {len(fields)}: {text[:60]}"
                )
            csv_words = (
                '"' + word.replace('"', '""') + '"' if quoted or '"' in word else word
                for word, quoted in fields
            )
            rows.append(",".join(csv_words))
        return ("\n".join(rows) + "\n").encode()

    def _lines(self, block: LineBlock) -> Iterator[tuple[int, str]]:
        """Yield (line number, text) of the lines that hold rows."""
        for i, raw in enumerate(block.data.decode().split("\n")):
            text = raw.strip()
            if text and not text.startswith("%"):
                yield block.line + i, text

    def _read(self, block: LineBlock, data: bytes, quote: str) -> pa.Table:
        types = dict(self.types)
        parse = csv.ParseOptions(quote_char=quote, newlines_in_values=True)
        while True:
            convert = csv.ConvertOptions(
                column_types=types, include_columns=self.columns, null_values=self.missing,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,  # '?' in quotes is a category
                timestamp_parsers=[csv.ISO8601, *dict.fromkeys(self.dates)],
            )  # fmt: skip
            try:
                return read_csv(data, self.names, parse, convert)
            except (pa.ArrowException, UnicodeDecodeError) as error:
                match = BAD_VALUE.match(inputs.message_of(error))
                name = self.names[int(match[1])] if match else ""
                if match and pa.types.is_timestamp(types[name]):
                    types[name] = TEXT
                elif match and match[2]:
                    lines = [line for line, _ in self._lines(block)]
                    line = lines[min(int(match[2]), len(lines)) - 1]
                    raise TableError(
                        f"{self.name}, line {line}: column {name!r} is {match[3][:60]}, "
                        "where the header says a number belongs"
                    ) from None
                else:
                    raise TableError(
                        f"{self.name}, line {block.line} or below: {inputs.brief(error)}"
                    ) from None

    def _typed(self, table: pa.Table, block: LineBlock) -> pa.RecordBatch:
        """Return a batch in which nominal columns have the declared categories."""
        batch = inputs.one_batch(table)
        columns = [
            self._nominal(name, column, block) if name in self.levels else column
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        return inputs.marked(batch, {*batch.schema.names} - {*self.levels}, inputs.ENCODED)

    def _nominal(self, name: str, column: pa.ChunkedArray, block: LineBlock) -> pa.ChunkedArray:
        levels = self.levels[name]
        ordered = pa.array(levels, pa.string())
        place = pc.index_in(column.dictionary, value_set=ordered)
        if place.null_count:
            codes = column.indices.to_pylist()
            row = min(codes.index(code) for code, k in enumerate(place.to_pylist()) if k is None)
            line = [line for line, _ in self._lines(block)][row]
            shown = ", ".join(levels[:8]) + (", ..." if len(levels) > 8 else "")
            raise TableError(
                f"{self.name}, line {line}: column {name!r} is "
                f"{column.dictionary[codes[row]].as_py()!r}, where the header declares {{{shown}}}"
            )
        return pa.DictionaryArray.from_arrays(place.take(column.indices), ordered)


def tokens(text: str) -> list[tuple[str, bool]]:
    """Split a row into fields: (value, whether it was quoted).

    Raises ValueError if a quote is not closed.
    """
    fields, start = [], 0
    while True:
        match = TOKEN.match(text, start)
        if match is None:
            raise ValueError("cannot be read")
        if (bare := match[3]) is None:
            fields.append((unquoted(match[0].rstrip(",").strip()), True))
        elif bare[:1] in ("'", '"'):
            raise ValueError("a quote is not closed")
        else:
            fields.append((unescaped(bare), False))
        start = match.end()
        if not match[4]:
            return fields


def unquoted(word: str) -> str:
    """Remove the quotes and escapes of a word."""
    quote = word[:1]
    if quote and quote in "'\"" and word[-1:] == quote and len(word) > 1:
        return unescaped(word[1:-1].replace(quote * 2, quote))
    return unescaped(word)


def unescaped(word: str) -> str:
    r"""Replace escapes such as \' and \n in a word."""
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), word) if "\\" in word else word


def _strptime(java: str) -> list[str]:
    """Convert a Java date format to strptime's; [] if it is empty or not supported."""
    parts = re.findall(r"'[^']*'|[A-Za-z]+|[^A-Za-z']+", java)
    directives = [JAVA_DATES.get(p, p.strip("'") if not p[0].isalpha() else None) for p in parts]
    return ["".join(map(str, directives))] if directives and None not in directives else []
