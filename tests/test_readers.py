"""Readers of tables in files: each format round-trips; errors name the line."""

import bz2
import gzip
import io
import json
import lzma
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import dataset

import naively
from naively.core import numerals
from naively.io import inputs
from naively.io.formats import delimited
from naively.io.sources import TableError, open_source
from naively.tables import values

TABLE = {"n": [1, 2, None], "x": [0.5, None, -2.0], "t": ["red", None, "blue, or green"]}
TEXT = 'n,x,t\n1,0.5,red\n2,,\n,-2.0,"blue, or green"\n'
LEVELS = pa.dictionary(pa.int32(), pa.string())


def columns(source, meaning=True):
    """All rows of a source as lists, one a column; what untyped text means, or the text."""
    found = {name: [] for name in source.names}
    for batch in source.batches():
        assert isinstance(batch, pa.RecordBatch)
        for name in found:
            here = batch.schema.get_field_index(name)
            own = batch.column(here).to_pylist() if here >= 0 else [None] * batch.num_rows
            if meaning and here >= 0 and inputs.is_untyped(batch.schema.field(here)):
                own = [meant(value) for value in own]
            found[name] += own
    return found


def meant(text):
    """What a field of delimited text, which stays text, means to a model."""
    if values.level_text(text, inputs.MISSING) is None:
        return None
    for kind, pattern in ((int, numerals.WHOLE), (float, numerals.NUMBER)):
        if pattern.fullmatch(text):
            return kind(text)
    return text


def types(source, name):
    return [batch.schema.field(name).type for batch in source.batches()]


def written(folder, data, name="table.csv"):
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def read(folder, data, name="table.csv", **options):
    return columns(open_source(written(folder, data, name), **options))


def message(folder, data, name="table.csv", **options):
    """What is said of a file that cannot be read."""
    path = written(folder, data, name)
    with pytest.raises(TableError) as error:
        columns(open_source(path, **options))
    text = str(error.value)
    assert str(path) in text
    assert "\n" not in text
    return text.replace(str(path), "FILE")


@pytest.fixture
def small(monkeypatch):
    """Blocks of few bytes, so that rows and quotes cross their boundaries."""
    return lambda size: monkeypatch.setattr(inputs, "BLOCK", size)


# ---- formats -----------------------------------------------------------------------------------


def write_json(table, path):
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_arrow_stream(table, path):
    with pa.ipc.new_stream(str(path), pa.table(table).schema) as out:
        out.write_table(pa.table(table))


WRITERS = {
    "t.csv": lambda table, path: path.write_text(TEXT),
    "t.tsv": lambda table, path: path.write_text(TEXT.replace(",", "\t").replace("e\t o", "e, o")),
    "t.jsonl": write_json,
    "t.ndjson": write_json,
    "t.parquet": lambda table, path: parquet.write_table(pa.table(table), path),
    "t.feather": lambda table, path: feather.write_feather(pa.table(table), str(path)),
    "t.arrow": write_arrow_stream,
    "t.arff": lambda table, path: path.write_text(
        "@relation r\n@attribute n integer\n@attribute x real\n@attribute t string\n@data\n"
        "1,0.5,red\n2,?,?\n?,-2.0,'blue, or green'\n"
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_each_format(name, tmp_path):
    WRITERS[name](TABLE, tmp_path / name)
    source = open_source(tmp_path / name)
    assert source.names == ["n", "x", "t"]
    assert source.size == (tmp_path / name).stat().st_size
    assert source.read_bytes() == 0
    assert columns(source) == TABLE
    assert source.read_bytes() == pytest.approx(source.size, rel=0.5)
    assert columns(source) == TABLE, "files can be read again"
    some = open_source(tmp_path / name, columns=["t", "n"])
    assert columns(some) == {"t": TABLE["t"], "n": TABLE["n"]}
    assert all(batch.schema.names == ["t", "n"] for batch in some.batches())
    with pytest.raises(TableError, match="no column 'q'; the columns are n, x, t"):
        open_source(tmp_path / name, columns=["q"])


@pytest.mark.parametrize("name", WRITERS)
def test_the_content_determines_the_format(name, tmp_path):
    WRITERS[name](TABLE, tmp_path / "unknown.dat")
    assert columns(open_source(tmp_path / "unknown.dat")) == TABLE


COMPRESSORS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@pytest.mark.parametrize("suffix", COMPRESSORS)
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.arff", "t.parquet"])
def test_compressed_files(suffix, name, tmp_path, small):
    small(16)
    WRITERS[name](TABLE, tmp_path / name)
    packed = COMPRESSORS[suffix]((tmp_path / name).read_bytes())
    source = open_source(written(tmp_path, packed, f"{name}.{suffix}"))
    assert columns(source) == TABLE
    assert source.read_bytes() == len(packed) == source.size
    assert columns(open_source(written(tmp_path, packed, "unknown"))) == TABLE
    assert "is the file whole" in message(tmp_path, packed[: len(packed) - 12], f"{name}.{suffix}")


def test_stdin(monkeypatch, tmp_path, small):
    class Pipe(io.RawIOBase):
        """Gives few bytes at a time, and cannot be sought in."""

        def __init__(self, data):
            self.data = data

        def readable(self):
            return True

        def readinto(self, buffer):
            size = min(len(buffer), 5, len(self.data))
            buffer[:size], self.data = self.data[:size], self.data[size:]
            return size

    small(16)
    for name, write in WRITERS.items():
        write(TABLE, tmp_path / name)
        data = (tmp_path / name).read_bytes()
        for sent in (data, gzip.compress(data)):
            buffer = io.BufferedReader(Pipe(sent))
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffer))
            source = open_source("-")
            assert source.size is None
            assert columns(source) == TABLE, name
            with pytest.raises(TableError, match="standard input: can be read only once"):
                list(source.batches())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(TEXT,))
    writer.start()
    assert columns(open_source(tmp_path / "pipe")) == TABLE
    writer.join()


# ---- delimited text ----------------------------------------------------------------------------

quoted_text = st.text(alphabet='ab",;\n\r é', max_size=6)


@given(
    rows=st.lists(st.lists(quoted_text, min_size=3, max_size=3), max_size=12),
    block=st.integers(1, 80),
    quote_all=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
    delimiter=st.sampled_from([",", ";"]),
)
def test_quoted_tables_are_read_as_arrow_reads_them(
    rows, block, quote_all, end, delimiter, tmp_path_factory
):
    def field(text):
        if quote_all or set(text) & set('"\r\n' + delimiter):
            return '"' + text.replace('"', '""') + '"'
        return text

    table = [["one", "two", "three"], *rows]
    data = "".join(delimiter.join(map(field, row)) + end for row in table).encode()
    expected = csv.read_csv(
        pa.BufferReader(data),
        parse_options=csv.ParseOptions(newlines_in_values=True, delimiter=delimiter),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(["one", "two", "three"], pa.string()),
        ),
    )  # fmt: skip
    path = written(tmp_path_factory.mktemp("quoted"), data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "BLOCK", block)  # of 6 MiB, which small files fill once
        patch.setattr(inputs, "HEAD", 1 + block // 3)
        assert columns(open_source(path, delimiter=delimiter), False) == expected.to_pydict()


@given(st.text(alphabet='a",\n', max_size=40))
def test_quoted_fields_are_found_with_unmatched_quotes_about(text):
    """Against a machine that looks at one character after the other, as Arrow does."""
    data = text.encode()
    found, at, start = [], 0, True
    while at < len(text):
        if start and text[at] == '"':
            end = at + 1
            while end < len(text) and (text[end] != '"' or text[end + 1 : end + 2] == '"'):
                end += 2 if text[end] == '"' else 1
            found.append((at, min(end, len(text))))
            at, start = end + 1, False
        else:
            start = text[at] in ",\n"
            at += 1
    spans = []
    for start, end in zip(*map(list, delimited.quoted(data, b",")), strict=True):
        if spans and spans[-1][1] + 1 == start:  # two quotes in a row may be seen as close and open
            start = spans.pop()[0]
        spans.append((start, end))
    assert spans == found


@pytest.mark.parametrize("block", [1, 8, 30, 1000])
def test_unmatched_quotes(block, tmp_path, small):
    small(block)
    data = 'size,note\n5" pipe,"two\nlines"\n6" pipe,b "c" d\n7,"x ""y"" z"\n"8" in,e\n'
    assert read(tmp_path, data) == {
        "size": ['5" pipe', '6" pipe', 7, "8 in"],
        "note": ["two\nlines", 'b "c" d', 'x "y" z', "e"],
    }


@pytest.mark.parametrize("block", [7, 64, 1 << 20])
def test_fields_are_the_text_that_they_are(block, tmp_path, small):
    """Whatever else is in the column, the block or the file."""
    small(block)
    odd = [
        "1", "01", "1.50", "1e5", "99999999999999999999", "True", "TRUE", "12:30", "2020-01-31",
        "é", "2020-01-01T00:00:00Z", "NA", "?", "", " x ", "nan", "None", "5,0", 'a "b" c',
    ]  # fmt: skip
    rows = list(zip(odd, odd[::-1], ["7"] * len(odd), strict=True))
    data = "a,b,c\n" + "".join(
        ",".join(f'"{v.replace(chr(34), 2 * chr(34))}"' if set(v) & {",", '"'} else v for v in row)
        + "\n"
        for row in rows
    )
    source = open_source(written(tmp_path, data))
    found = columns(source, meaning=False)
    assert list(zip(*found.values(), strict=True)) == rows
    assert set(types(source, "a")) | set(types(source, "c")) <= {pa.string(), LEVELS}


@pytest.mark.parametrize("block", [1, 20, 1000])
def test_wrong_number_of_fields(block, tmp_path, small):
    small(block)
    data = '\na,b\n1,"x\ny"\n\n2,"z\n\nz"\r\n\r\n3,u\n4,é,v\n5,w\n'
    assert message(tmp_path, data) == "FILE, line 11: expected 2 fields, got 3: 4,é,v"
    assert message(tmp_path, "a,b\n1,2\n" + "é" * 300) == (
        "FILE, line 3: expected 2 fields, got 1; the file ends there, it may be cut off: "
        + "é" * 40
    )
    assert "cut off" not in message(tmp_path, "a,b\n1,2\n3\n")
    assert "cut off" not in message(tmp_path, "a,b\n1,2\n3\n4,5")


@pytest.mark.parametrize("block", [1, 20, 1000])
def test_a_quote_that_is_never_closed(block, tmp_path, small, monkeypatch):
    small(block)
    data = 'a,b\n1,"x\ny"\n2,"z\n3,u\n4,v\n'
    closed = "a quote opened on line {} of FILE is never closed"
    assert message(tmp_path, data) == closed.format(4)
    assert message(tmp_path, 'a,"b\n1,2\n') == closed.format(1)
    monkeypatch.setattr(inputs, "LONGEST", 300)  # of 64 MiB
    assert message(tmp_path, 'a,b\n1,"x\n""y\n') == closed.format(2)
    assert message(tmp_path, 'a,"b\n' + "5,w\n" * 20000) == closed.format(1)
    if block < 1000:
        assert message(tmp_path, data + "5,w\n" * 200 + '"') == closed.format(4)
        text = "a,b\n1,2\n" + "x" * 2000 + "\n"
        assert "FILE, line 3: is longer than" in message(tmp_path, text)


@pytest.mark.parametrize("block", [1, 10, 1000])
def test_text_that_is_no_utf8(block, tmp_path, small):
    small(block)
    data = 'town,n\n"a\n,b",1\nKoblenz,2\nKöln,3\n'.encode("latin-1")
    said = "FILE, line 5, column 'town': the byte 0xf6 is not UTF-8 text; save the table as UTF-8"
    assert message(tmp_path, data) == said
    data = "a,b\n1,2\n3,4\n5,é\n".encode("latin-1")
    assert "FILE, line 4, column 'b': the byte 0xe9" in message(tmp_path, data)
    assert "line 1 (the header): the byte 0xe9" in message(tmp_path, b"a,\xe9\n1,2\n")
    assert read(tmp_path, data, columns=["a"]) == {"a": [1, 3, 5]}


def test_what_is_no_text(tmp_path):
    assert "UTF-16; save the table as CSV in UTF-8" in message(tmp_path, TEXT.encode("utf-16"))
    for code in ("utf-16-le", "utf-16-be", "utf-32-le"):
        said = "FILE: this is text in UTF-16 or UTF-32; save it as UTF-8"
        assert message(tmp_path, TEXT.encode(code)) == said
    assert "FILE, line 3: holds a NUL byte" in message(tmp_path, "a,b\n1,2\n3,\0\n")
    assert "a zip or Excel file" in message(tmp_path, b"PK\x03\x04...")


def test_names(tmp_path):
    assert "several columns are named 'a', 'b'" in message(tmp_path, "a,b,c,b,a\n1,2,3,4,5\n")
    assert read(tmp_path, ",a,\n1,2,3\n") == {"Unnamed: 0": [1], "a": [2], "Unnamed: 2": [3]}
    quoted = read(tmp_path, '"a, b","say ""x""","two\nlines"\n1,2,3\n')
    assert quoted == {"a, b": [1], 'say "x"': [2], "two\nlines": [3]}


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.arff", "t.csv.gz", "t.parquet", "t.dat"])
def test_empty_files(name, tmp_path):
    assert "is empty" in message(tmp_path, b"", name)
    if name.endswith(("csv", "jsonl", "arff", "dat")):
        assert "is empty" in message(tmp_path, b"\n\r\n", name)


@pytest.mark.parametrize("text", ["a,b", "a,b\n", "a,b\r\n\r\n"])
def test_a_header_only(text, tmp_path):
    (batch,) = open_source(written(tmp_path, text)).batches()
    assert batch.num_rows == 0
    assert batch.schema == pa.schema({"a": pa.string(), "b": pa.string()})


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.arff"])
def test_a_byte_order_mark_is_no_text(name, tmp_path):
    WRITERS[name](TABLE, tmp_path / name)
    data = b"\xef\xbb\xbf" + (tmp_path / name).read_bytes()
    assert read(tmp_path, data, name) == TABLE
    assert read(tmp_path, data, "unknown") == TABLE


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_ends_of_lines(end, tmp_path, small):
    small(10)
    assert read(tmp_path, TEXT.replace("\n", end)) == TABLE
    assert "line 3: expected 2" in message(tmp_path, f"a,b{end}1,2{end}3{end}4,5{end}")


def test_delimiters(tmp_path):
    for delimiter in ",;|\t":
        assert read(tmp_path, f'"a,b;,"{delimiter}c\n1{delimiter}2\n') == {"a,b;,": [1], "c": [2]}
    assert read(tmp_path, "a b\n1\n") == {"a b": [1]}
    assert read(tmp_path, "a;b,c,d\n1;2\n", delimiter=";") == {"a": [1], "b,c,d": [2]}
    assert read(tmp_path, "a,b\tc\n1,2\t3\n", format="tsv") == {"a,b": ["1,2"], "c": [3]}
    path = written(tmp_path, TEXT)
    with pytest.raises(TableError, match="not one character"):
        open_source(path, delimiter="::")
    with pytest.raises(TableError, match="no format 'xls'; there are csv, tsv"):
        open_source(path, format="xls")


def test_blanks_are_values_of_tab_separated_text(tmp_path):
    assert read(tmp_path, "a\tb\n\t\n\t\n", "t.tsv") == {"a": [None] * 2, "b": [None] * 2}


def test_tasks_in_threads(tmp_path, small):
    small(500)
    rows = [(i, i / 2, f"word {i % 7}", None if i % 3 else i) for i in range(3000)]
    data = "a,b,c,d\n" + "".join(f"{a},{b},{c},{'' if d is None else d}\n" for a, b, c, d in rows)
    source = open_source(written(tmp_path, data))
    with ThreadPoolExecutor(4) as pool:
        batches = [work.result() for work in [pool.submit(task) for task in source.tasks()]]
    found = pa.concat_tables([pa.table(batch) for batch in batches]).to_pydict()
    expected = [tuple("" if value is None else str(value) for value in row) for row in rows]
    assert list(zip(*found.values(), strict=True)) == expected
    assert len(batches) > 100


# ---- several files -----------------------------------------------------------------------------


def test_several_files(tmp_path):
    written(tmp_path, "a,b\n1,x\n", "1.csv")
    written(tmp_path, "b\ta\ny\t2\n", "2.tsv")
    written(tmp_path, '{"b": "z", "a": 3}\n', "3.jsonl")
    parquet.write_table(pa.table({"b": ["w"], "a": [4]}), tmp_path / "4.parquet")
    written(tmp_path, "no table", "README")
    written(tmp_path, "no table", ".hidden.csv")
    expected = {"a": [1, 2, 3, 4], "b": ["x", "y", "z", "w"]}
    everything = [tmp_path / "1.csv", str(tmp_path / "[2-3]*"), str(tmp_path / "4.parquet")]
    for what in (tmp_path, str(tmp_path), tmp_path / "?.*", everything):
        source = open_source(what)
        assert columns(source) == expected
        assert source.size == sum(path.stat().st_size for path in tmp_path.glob("?.*"))
        assert all(batch.schema.names == ["a", "b"] for batch in source.batches())
    assert columns(open_source(tmp_path, columns=["b"])) == {"b": expected["b"]}


def test_files_with_different_columns(tmp_path):
    written(tmp_path, "a,b\n1,x\n", "1.csv")
    written(tmp_path, "a,c\n1,x\n", "2.csv")
    with pytest.raises(TableError) as error:
        open_source(tmp_path)
    text = str(error.value)
    assert text.startswith(f"{tmp_path / '2.csv'}: the columns differ from those of ")
    assert "it does not have 'b'; only it has 'c'" in text
    assert columns(open_source(tmp_path, columns=["a"])) == {"a": [1, 1]}


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_source(tmp_path / "none.csv")
    with pytest.raises(TableError, match=r"no file matches .*\*\.csv"):
        open_source(tmp_path / "*.csv")
    with pytest.raises(TableError, match="no file in this folder"):
        open_source(tmp_path)
    with pytest.raises(TableError, match="no files"):
        open_source([])
    path = written(tmp_path, TEXT, "what [is] this.csv")
    assert columns(open_source(path)) == TABLE


# ---- JSON lines --------------------------------------------------------------------------------


def test_json_keys_that_come_and_go(tmp_path, small):
    small(20)
    data = '{"a": 1, "b": "x"}\n\n{"a": 2.5, "c": true}\n{"a": "many", "b": "NA"}\n'
    source = open_source(written(tmp_path, data, "t.jsonl"))
    assert source.names == ["a", "b"]
    assert [batch.schema.names for batch in source.batches()] == [
        ["a", "b"],
        ["a", "c"],
        ["a", "b"],
    ]
    assert columns(source) == {"a": [1, 2.5, "many"], "b": ["x", None, "NA"]}
    source = open_source(written(tmp_path, data, "t.jsonl"), columns=["b"])
    assert [batch.num_rows for batch in source.batches()] == [1, 1, 1]


def test_json_values_of_several_types(tmp_path):
    data = '{"a": 1, "b": [1, {"c": "é"}], "d": "?"}\n{"a": "x", "b": null}\n{"a": true, "d": "u"}'
    assert read(tmp_path, data, "t.jsonl") == {
        "a": ["1", "x", "true"],
        "b": ['[1, {"c": "é"}]', None, None],
        "d": ["?", None, "u"],
    }
    assert read(tmp_path, '{"a": 1}\n{"a": 123456789012345678901}\n', "t.jsonl")["a"] == [
        "1",
        "123456789012345678901",
    ]
    dates = '{"a": "2020-01-01", "b": 1}\n{"a": null, "b": 2}\n'
    assert read(tmp_path, dates, "t.jsonl") == {"a": ["2020-01-01", None], "b": [1, 2]}


@pytest.mark.parametrize("block", [4, 1000])
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"a": 1,}', "line 4: this is not JSON"),
        ('{"a": ', "line 4: this is not JSON"),
        ("[1]", "line 4: this is not an object"),
        ("1", "line 4: this is not an object"),
        (" null", "line 4: this is not an object"),
        ('{"a": 1} null', "line 4: this is not JSON"),
        ('{"a": 1, "a": 2}', "line 4: the key 'a' is there twice"),
        ('{"a": ' + "[" * 30000 + "]" * 30000 + "}", "line 4: the values are nested too deeply"),
        (b'{"a": "\xe9"}', "line 4: the byte 0xe9 is not UTF-8"),
    ],
)
def test_bad_json(line, said, block, tmp_path, small):
    small(block)
    line = line if isinstance(line, bytes) else line.encode()
    data = b'{"a": 1}\n\n{"a": 2}\n' + line + b'\n{"a": 3}\n'
    assert said in message(tmp_path, data, "t.jsonl")


def test_json_lists(tmp_path):
    assert "write one object a line" in message(tmp_path, '[{"a": 1},\n{"a": 2}]', "t.jsonl")
    assert "write one object a line" in message(tmp_path, '[{"a": 1},\n{"a": 2}]', "unknown")
    text = '{"a": "' + "[" * 2000 + '"}\n'
    assert read(tmp_path, text, "t.jsonl") == {"a": ["[" * 2000]}


# ---- Parquet and Arrow -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
def test_broken_files(name, tmp_path):
    WRITERS[name]({"a": list(range(1000)), "b": ["x"] * 1000}, tmp_path / name)
    data = (tmp_path / name).read_bytes()
    for size in (9, len(data) // 2):
        assert "is the file whole?" in message(tmp_path, data[:size], name)


def test_parquet_is_read_in_batches(tmp_path):
    most = 1 << 15
    rows = 3 * most
    table = pa.table({"n": pa.array(range(rows)), "t": pa.array(["a", "b", None] * (rows // 3))})
    parquet.write_table(table, tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet")
    sizes = [batch.num_rows for batch in source.batches()]
    assert sum(sizes) == rows
    assert max(sizes) <= most
    assert set(types(source, "t")) == {LEVELS}
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as out:
        out.write_batch(table.combine_chunks().to_batches()[0])
    source = open_source(tmp_path / "t.arrow")
    assert [batch.num_rows for batch in source.batches()] == [most] * 3


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
def test_arrow_tables_without_rows_or_with_a_name_twice(name, tmp_path):
    WRITERS[name]({"a": pa.array([], pa.int64())}, tmp_path / name)
    assert columns(open_source(tmp_path / name)) == {"a": []}
    if name != "t.feather":
        table = pa.table([[1], [2]], names=["a", "a"])
        WRITERS[name](table, tmp_path / name)
        with pytest.raises(TableError, match="several columns are named 'a'"):
            open_source(tmp_path / name)


# ---- ARFF --------------------------------------------------------------------------------------

HEADER = """% a comment
@RELATION 'some rows'

@attribute 'the colour' {red, 'dark blue', "it's", never}
@Attribute size REAL
@attribute when date "yyyy-MM-dd HH:mm:ss"
@attribute note string
@DATA
"""


@pytest.mark.parametrize("block", [8, 1000])
def test_arff(block, tmp_path, small):
    small(block)
    rows = """red,1,"2020-01-31 10:00:00",plain
% a comment
'dark blue', 2.5 , ?, 'with, comma'

"it's",?,?,'it\\'s "so"'
  red  ,4,?, 5 apples\t
?,5,?,'?'
"""
    for end in ("\n", "\r\n"):
        source = open_source(written(tmp_path, (HEADER + rows).replace("\n", end), "t.arff"))
        found = columns(source)
        assert found["the colour"] == ["red", "dark blue", "it's", "red", None]
        assert found["size"] == [1.0, 2.5, None, 4.0, 5.0]
        assert [str(when) for when in found["when"]] == ["2020-01-31 10:00:00", *["None"] * 4]
        assert found["note"] == ["plain", "with, comma", 'it\'s "so"', "5 apples", "?"]
        for batch in source.batches():
            assert batch.column(0).dictionary.to_pylist() == ["red", "dark blue", "it's", "never"]
            assert batch.schema.field("size").type == pa.float64()


def test_arff_of_one_kind_of_quote(tmp_path):
    start = "@relation r\n@attribute a {'x y',z}\n@attribute b string\n@data\n"
    for quote in "'\"":
        rows = f"{quote}x y{quote},{quote}a,b{quote}\nz,c d\n"
        assert read(tmp_path, start + rows, "t.arff") == {"a": ["x y", "z"], "b": ["a,b", "c d"]}


def test_arff_levels_may_look_missing(tmp_path):
    start = "@relation r\n@attribute a {NA, None, '?'}\n@data\n"
    path = written(tmp_path, start + "NA\nNone\n?\n'?'\n", "t.arff")
    assert columns(open_source(path)) == {"a": ["NA", "None", None, "?"]}
    assert columns(open_source(path, missing=["NA"])) == {"a": [None, "None", None, "?"]}


def test_arff_without_rows_has_levels(tmp_path):
    (batch,) = open_source(written(tmp_path, HEADER, "t.arff")).batches()
    assert batch.num_rows == 0
    assert batch.column(0).dictionary.to_pylist() == ["red", "dark blue", "it's", "never"]


@pytest.mark.parametrize("block", [8, 1000])
@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{0 red, 1 2.5}", "line 11: this is sparse ARFF"),
        ("red,2", "line 11: expected 4 fields, got 2: red,2"),
        ("red,2,?,x,y", "line 11: expected 4 fields, got 5: red,2,?,x,y"),
        ("green,2,?,x", "line 11: column 'the colour' is 'green', where the header declares {red,"),
        ("red,big,?,x", "line 11: column 'size' is 'big', where the header says a number belongs"),
        ("'red', big ,?,x", "line 11: column 'size' is 'big', where"),
        ("red,2,?,'x", "line 11: a quote is not closed: red,2,?,'x"),
        (b"red,2,?,\xe9", "line 11: the byte 0xe9 is not UTF-8"),
    ],
)
def test_bad_rows_of_arff(row, said, block, tmp_path, small):
    small(block)
    row = row if isinstance(row, bytes) else row.encode()
    data = HEADER.encode() + b"red,1,?,x\n\n" + row + b"\nred,3,?,z\n"
    assert f"FILE, {said}" in message(tmp_path, data, "t.arff")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("@relation r\n@attribute a real\n", "there is no line @data"),
        ("@relation r\n@data\n1\n", "no @attribute before @data"),
        ("@relation r\n@attribute a\n@data\n1\n", "line 2: expected @attribute NAME TYPE"),
        (
            "@relation r\n@attribute a {x, y\n@data\n",
            "line 2: the categories have no closing brace",
        ),
        ("@relation r\n@attribute a relational\n@data\n", "line 2: cannot read attributes of type"),
        ("@relation r\nattribute a real\n@data\n", "line 2: expected @attribute or @data"),
        ("@relation r\n@attribute a real\n@attribute a real\n@data\n", "named 'a'"),
    ],
)
def test_bad_headers_of_arff(header, said, tmp_path):
    assert said in message(tmp_path, header, "t.arff")


REAL = {  # rows, columns, missing values: as published
    "vote/vote.arff": (435, 17, 392),
    "breast-cancer/breast-cancer.arff": (286, 10, 9),
    "soybean/soybean.arff.gz": (683, 36, 2337),
    "mushroom/mushroom.arff.gz": (8124, 23, 2480),
    "glass/glass.arff": (214, 10, 0),
    "sick/sick.arff.gz": (3772, 30, None),
    "lymphography/lymph.arff": (148, 19, 0),
    "zoo/zoo.arff": (101, 18, 0),
    "lenses/contact-lenses.arff": (24, 5, 0),
    "playtennis/weather.nominal.arff": (14, 5, 0),
    "playtennis/weather.numeric.arff": (14, 5, 0),
}


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("block", [1000, 1 << 23])
def test_real_arff(name, block, data_folder, small):
    small(block)
    rows, width, missing = REAL[name]
    source = open_source(data_folder / name)
    found = columns(source)
    assert len(found) == width
    assert {len(values) for values in found.values()} == {rows}
    if missing is not None:
        assert sum(values.count(None) for values in found.values()) == missing
    last = {tuple(b.column(width - 1).dictionary.to_pylist()) for b in source.batches()
            if pa.types.is_dictionary(b.column(width - 1).type)}  # fmt: skip
    assert len(last) <= 1


def test_real_text(data_folder, small):
    small(1 << 16)
    arff = columns(open_source(data_folder / "pima" / "diabetes.arff"))
    assert len(arff["class"]) == 768
    titanic = columns(open_source(data_folder / "titanic" / "titanic-seaborn-891.csv"))
    assert titanic["age"].count(None) == 177
    covtype = open_source(data_folder / "stream-elec" / "elec.csv.gz")
    assert sum(batch.num_rows for batch in covtype.batches()) == 45312


def test_codes_with_leading_zeros_stay_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(
        b"zip, n ,x,day\n02139,10,0.5,2026-01-02\n,7,01.5,2026-01-03\n10001,1,2,2026-01-04\n"
    )
    (batch,) = open_source(path).batches()
    assert batch.schema.names == ["zip", "n", "x", "day"]
    assert batch.column("zip").to_pylist() == ["02139", "", "10001"]
    assert batch.column("n").to_pylist() == ["10", "7", "1"]
    assert batch.column("x").to_pylist() == ["0.5", "01.5", "2"]


# ---- tables of other systems ---------------------------------------------------------------------


def test_folders_of_other_systems_are_refused(tmp_path):
    """Their files also hold rows that were removed since, or lack the columns of their folders."""
    table = pa.table({"a": [1, 2], "y": ["u", "v"]})
    logs = {"delta": "_delta_log/0.json", "ice": "metadata/v1.metadata.json", "hudi": ".hoodie/x"}
    for name, log in logs.items():
        (tmp_path / name / log).parent.mkdir(parents=True)
        (tmp_path / name / log).write_text("{}")
        parquet.write_table(table, tmp_path / name / "1.parquet")
        for path in (tmp_path / name, tmp_path / name / "*.parquet"):
            with pytest.raises(TableError, match=r"this is a table of .*removed since"):
                open_source(path)
    for year in (2023, 2024):
        folder = tmp_path / "hive" / f"year={year}" / "month=1"
        folder.mkdir(parents=True)
        parquet.write_table(table, folder / "1.parquet")
    for pattern in ("", "*/*/*.parquet"):
        with pytest.raises(
            TableError, match="the column 'year' is in the names of folders"
        ) as said:
            open_source(tmp_path / "hive" / pattern)
    assert f"dataset('{tmp_path / 'hive'}', partitioning='hive')" in str(said.value)
    # which is as the message says
    whole = dataset.dataset(str(tmp_path / "hive"), partitioning="hive")
    assert naively.scan(whole).names == ["a", "y", "year", "month"]
    one = open_source(tmp_path / "hive/year=2024/month=1/*.parquet")  # a constant, as any part has
    assert one.names == ["a", "y"]
