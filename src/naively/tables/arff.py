"""ARFF, Weka's files: a header that declares the columns, and delimited text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from naively.tables import inputs
from naively.tables.inputs import (
    BOM,
    MISSING,
    TEXT,
    Block,
    Input,
    Options,
    Stream,
    TableError,
    Task,
    blocks,
    brief,
    checked_names,
    first_bad_byte,
    lines_end,
    message_of,
    no_utf8,
    one_batch,
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
JAVA_DATES = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass
class Attribute:
    """A column as declared: its type, its levels if it is nominal, the format of its dates."""

    kind: Any
    levels: list[str] | None = None
    date: str | None = None


class Arff:
    """A file of dense ARFF."""

    def __init__(self, source: Input, stream: Stream, options: Options) -> None:
        self.source = source
        self.name = source.name
        self.options = options
        self._stream: Stream | None = None
        self._begun: tuple[Stream, int] | None = self._begin(stream)
        self.wanted = self.names if options.columns is None else list(options.columns)
        if source.again:
            stream.close()
            self._begun = None
        # "none" and "NA" may be levels: ARFF has its own mark, unless somebody asked for others
        asked = () if tuple(options.missing) == MISSING else options.missing
        self.missing = list(dict.fromkeys(("?", "", *asked)))

    def read_bytes(self) -> int:
        """Bytes of the file that have been read, before decompression."""
        return self._stream.raw.count if self._stream else 0

    def tasks(self) -> Iterator[Task | None]:
        """One task a block."""
        begun = self._begun or self._begin(self.source.open())
        self._begun = None
        self._stream, line = begun
        any_rows = False
        try:
            for block in blocks(self._stream, line, lines_end, b"\n"):
                any_rows = any_rows or block is not None
                yield block and partial(self._parsed, block)
        finally:
            self._stream.close()
        if not any_rows:  # the levels are known all the same
            yield partial(self._typed, pa.table({n: pa.array([], TEXT) for n in self.wanted}), None)

    # ---- the header --------------------------------------------------------------------------

    def _begin(self, stream: Stream) -> tuple[Stream, int]:
        """Read the header; (the stream after it, the line on which that is)."""
        data = stream.some(inputs.HEAD).removeprefix(BOM)
        while not (match := DATA.search(data)) or match.end() == len(data):
            more = stream.some(max(inputs.HEAD, len(data)))
            if not more or len(data) > inputs.LONGEST:
                break
            data += more
        if not data.strip():
            raise TableError(f"{self.name} is empty; ARFF needs @relation, @attribute and @data")
        if match is None:
            raise TableError(f"{self.name}: there is no line @data; this is no ARFF file")
        names: list[str] = []
        self.attributes: list[Attribute] = []
        for i, raw in enumerate(data[: match.start()].split(b"\n")):
            where = f"{self.name}, line {i + 1}"
            if (bad := first_bad_byte(raw)) is not None:
                raise no_utf8(where, raw[bad])
            line = raw.decode().strip()
            word = line.split(None, 1)[0].lower() if line else ""
            if word == "@attribute":
                declared = ATTRIBUTE.fullmatch(line)
                if not declared:
                    raise TableError(f"{where}: expected @attribute NAME TYPE: {line[:60]}")
                names.append(unquoted(declared[1]))
                self.attributes.append(self._attribute(declared[2], where))
            elif word and word != "@relation" and not word.startswith("%"):
                raise TableError(f"{where}: expected @attribute or @data: {line[:60]}")
        if not names:
            raise TableError(f"{self.name}: no @attribute before @data; there must be columns")
        self.names = checked_names(self.name, names)
        stream.unread(data[match.end() :])
        return stream, 1 + data.count(b"\n", 0, match.end())

    @staticmethod
    def _attribute(text: str, where: str) -> Attribute:
        if text.startswith("{"):
            if "}" not in text:
                raise TableError(f"{where}: the levels have no closing brace: {text[:60]}")
            try:
                levels = [word for word, _ in tokens(text[1 : text.rindex("}")].strip())]
            except ValueError as error:
                raise TableError(f"{where}: {error}: {text[:60]}") from None
            return Attribute(TEXT, levels=list(dict.fromkeys(levels)))
        kind, _, rest = text.partition(" ")
        kind = kind.lower()
        if kind in ("numeric", "real", "integer"):
            return Attribute(pa.float64())
        if kind == "string":
            return Attribute(TEXT)
        if kind == "date":
            return Attribute(pa.timestamp("s"), date=_strptime(unquoted(rest.strip())))
        raise TableError(
            f"{where}: cannot read attributes of type {kind!r}; numeric, string, date and "
            "{a, b, ...} can be read"
        )

    # ---- rows --------------------------------------------------------------------------------

    def _parsed(self, block: Block) -> pa.RecordBatch:
        data = block.data
        if (bad := first_bad_byte(data)) is not None:
            line = block.line + data.count(b"\n", 0, bad)
            raise no_utf8(f"{self.name}, line {line}", data[bad])
        if b"%" in data:
            data = COMMENT.sub(b"", data)
        if b"{" in data and (sparse := SPARSE.search(data)):
            line = block.line + data.count(b"\n", 0, sparse.start())
            raise TableError(
                f"{self.name}, line {line}: this is sparse ARFF ({{column value, ...}}); "
                "save the table with all values in each row"
            )
        single, double = b"'" in data, b'"' in data
        loose = (b" " in data or b"\t" in data) and LOOSE.search(data) is not None
        if loose and not single and not double:
            data = LOOSE.sub(b"", data)
        quote = b"'" if single else b'"'
        plain = not (b"\\" in data or (single and double) or (loose and (single or double)))
        plain = plain and data.count(quote) % 2 == 0
        if plain:
            try:
                table = self._read(block, data, quote.decode())
                # a quote that is never closed would swallow rows
                plain = table.num_rows == sum(1 for line in data.split(b"\n") if line.strip())
            except TableError:
                plain = False
        if not plain:  # by hand; this also says what is wrong with which line
            table = self._read(block, self._rewritten(block), '"')
        return self._typed(table, block)

    def _rewritten(self, block: Block) -> bytes:
        """The rows with all that Arrow does not know of ARFF's quotes and blanks removed."""
        found = []
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
            found.append(
                ",".join(
                    '"' + word.replace('"', '""') + '"' if quoted or '"' in word else word
                    for word, quoted in fields
                )
            )
        return ("\n".join(found) + "\n").encode()

    def _lines(self, block: Block) -> Iterator[tuple[int, str]]:
        """The lines that hold rows, with their numbers."""
        for i, raw in enumerate(block.data.decode().split("\n")):
            text = raw.strip()
            if text and not text.startswith("%"):
                yield block.line + i, text

    def _read(self, block: Block, data: bytes, quote: str) -> Any:
        types = {n: a.kind for n, a in zip(self.names, self.attributes, strict=True)}
        dates = list(dict.fromkeys(a.date for a in self.attributes if a.date))
        while True:
            try:
                return csv.read_csv(
                    pa.BufferReader(data),
                    read_options=csv.ReadOptions(
                        use_threads=False, column_names=self.names, block_size=len(data) + 1
                    ),
                    parse_options=csv.ParseOptions(quote_char=quote, newlines_in_values=True),
                    convert_options=csv.ConvertOptions(
                        column_types=types,
                        include_columns=self.wanted,
                        null_values=self.missing,
                        strings_can_be_null=True,
                        quoted_strings_can_be_null=False,  # '?' in quotes is a word
                        timestamp_parsers=[csv.ISO8601, *dates],
                    ),
                )
            except (pa.ArrowException, UnicodeDecodeError) as error:
                match = BAD_VALUE.match(message_of(error))
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
                        f"{self.name}, line {block.line} or below: {brief(error)}"
                    ) from None

    def _typed(self, table: Any, block: Block | None) -> pa.RecordBatch:
        """Columns of the declared types: nominal ones have the declared levels."""
        batch = one_batch(table)
        declared = dict(zip(self.names, self.attributes, strict=True))
        columns = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            levels = declared[name].levels
            if levels is not None:
                columns.append(self._nominal(name, column, levels, block))
            else:
                columns.append(column if block else pa.array([], declared[name].kind))
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def _nominal(self, name: str, column: Any, levels: list[str], block: Block | None) -> Any:
        ordered = pa.array(levels, pa.string())
        place = pc.index_in(column.dictionary, value_set=ordered)
        if place.null_count and block:
            codes = column.indices.to_pylist()
            row = min(codes.index(code) for code, at in enumerate(place.to_pylist()) if at is None)
            line = [line for line, _ in self._lines(block)][row]
            listed = ", ".join(levels[:8]) + (", ..." if len(levels) > 8 else "")
            raise TableError(
                f"{self.name}, line {line}: column {name!r} is "
                f"{column.dictionary[codes[row]].as_py()!r}, where the header declares {{{listed}}}"
            )
        return pa.DictionaryArray.from_arrays(place.take(column.indices), ordered)


def tokens(text: str) -> list[tuple[str, bool]]:
    """(value, whether it was quoted) of each field of a row.

    Raises
    ------
    ValueError : if a quote is not closed.
    """
    found, at = [], 0
    while True:
        match = TOKEN.match(text, at)
        if match is None:
            raise ValueError("cannot be read")
        bare = match[3]
        if bare is None:
            found.append((unquoted(match[0].rstrip(",").strip()), True))
        elif bare[:1] in ("'", '"'):
            raise ValueError("a quote is not closed")
        else:
            found.append((unescaped(bare), False))
        at = match.end()
        if not match[4]:
            return found


def unquoted(word: str) -> str:
    """A word without its quotes and escapes."""
    quote = word[:1]
    if quote and quote in "'\"" and word[-1:] == quote and len(word) > 1:
        return unescaped(word[1:-1].replace(quote * 2, quote))
    return unescaped(word)


def unescaped(word: str) -> str:
    r"""A word with \' and \n for what they mean."""
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), word) if "\\" in word else word


def _strptime(java: str) -> str | None:
    """A format of dates as strptime writes it; None if it says nothing new, or too much."""
    parts = re.findall(r"'[^']*'|[A-Za-z]+|[^A-Za-z']+", java)
    known = [JAVA_DATES.get(p, p.strip("'") if not p[0].isalpha() else None) for p in parts]
    if not known or None in known:
        return None
    return "".join(part for part in known if part is not None)
