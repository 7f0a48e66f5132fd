"""Documents as tables: lines, folders of classes, mails, in any encoding."""

import bz2
import gzip
import io
import lzma
import os
import random
import re
import sys
import threading
import time
import zlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively.io import inputs
from naively.io.formats import documents, mail
from naively.io.sources import TableError, open_source

BAD = "\ufffd"
FIELDS = ["from", "to", "subject", "body"]


def columns(source):
    """All rows of a source as lists, one a column."""
    found = {name: [] for name in source.names}
    for batch in source.batches():
        assert batch.schema.names == source.names
        batch.validate(full=True)
        for name in found:
            found[name] += batch.column(name).to_pylist()
    return found


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def texts(folder, data, name="t.txt", **options):
    return columns(open_source(write(folder / name, data), **options))["text"]


def message(path, **options):
    """What is said of what cannot be read."""
    with pytest.raises(TableError) as error:
        columns(open_source(path, **options))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.fixture
def small(monkeypatch):
    """Blocks of few bytes, so that lines and mails cross their boundaries."""
    return lambda size: monkeypatch.setattr(inputs, "BLOCK", size)


# ---- lines -------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 20])
def test_a_line_is_a_text(block, tmp_path, small):
    small(block)
    found = texts(tmp_path, 'one\n\ntwo, "three"\r\n  NA \r\r\n\r\n\n?\rfour')
    assert found == ["one", "", 'two, "three"', "  NA \r", "", "", "?\rfour"]
    assert texts(tmp_path, "one\n") == ["one"]
    assert texts(tmp_path, "\n") == [""]
    assert texts(tmp_path, "\n\n") == ["", ""]
    assert texts(tmp_path, "one\r") == ["one\r"]


@pytest.mark.parametrize("block", [1, 5, 1 << 20])
def test_lines_of_any_bytes(block, tmp_path, small):
    small(block)
    right_to_left = "שלום עולם\u200f\nمرحبا \u202eabc\n"
    assert texts(tmp_path, right_to_left) == right_to_left.splitlines()
    assert texts(tmp_path, "a\0b\n\0\n") == ["a\0b", "\0"]
    hostile = b"ok\ncaf\xe9\n\xff\xfe\n\xe2\x82\n\xed\xa0\x80\n\xc0\xaf\n\xf0\x9f\x98\x80\n\xe2"
    expected = [line.decode(errors="replace") for line in hostile.split(b"\n")]
    assert expected[1] == "caf" + BAD
    assert texts(tmp_path, hostile) == expected
    assert texts(tmp_path, "a\u2028b\x0bc\x0cd\x85e\n") == ["a\u2028b\x0bc\x0cd\x85e"]


@pytest.mark.parametrize("block", [1, 2, 7, 1 << 20])
def test_lines_of_old_macs(block, tmp_path, small):
    """A whole file was one text."""
    small(block)
    assert texts(tmp_path, "one\r\rtwo three\rfour\r") == ["one", "", "two three", "four"]
    assert texts(tmp_path, "\ufeffone\rtwo") == ["one", "two"]
    box = write(tmp_path / "in.mbox", BOX.replace(b"\n", b"\r"))
    assert columns(open_source(box))["subject"] == ["one", "", "three"]


def test_line_ends_that_change_are_refused(tmp_path, small):
    """The lines after the first of LF were one text."""
    small(7)
    data = b"one\rtwo " + b"z" * 70_000 + b"\nthree\nfour\n"
    with pytest.raises(TableError, match=r"t\.txt: lines end in CR first and in LF later"):
        texts(tmp_path, data)
    small(1 << 20)  # one block, which has both
    assert texts(tmp_path, data)[1:] == ["three", "four"]


@pytest.mark.parametrize("code", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["Њујорк је град\nдва\n", "ਪੰਜਾਬੀ ਅ\nਅਆ\n", "一一\n二\n"])
def test_wide_characters_with_halves_like_line_ends_are_refused(text, code, tmp_path):
    with pytest.raises(TableError, match="this is text in UTF-16"):
        texts(tmp_path, text.encode(code))


def test_one_nul_makes_no_wide_characters(tmp_path):
    assert texts(tmp_path, b"ab\n\0cd") == ["ab", "\0cd"]


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_wide_characters_are_refused(code, tmp_path):
    """Each letter was a word beside NULs."""
    data = "привет you\r\nмир\r\n".encode(code)
    with pytest.raises(TableError, match="this is text in UTF-"):
        texts(tmp_path, data)
    with pytest.raises(TableError, match=r"t\.txt: this is text in UTF-16 or UTF-32; save it as"):
        open_source(write(tmp_path / "t.txt", data), format="text")
    for label in "ab":
        (tmp_path / "docs" / label).mkdir(parents=True)
        write(tmp_path / "docs" / label / "1.txt", "fine" if label == "a" else data)
    with pytest.raises(TableError, match=r"1.txt: this is text in UTF-16"):
        columns(open_source(tmp_path / "docs"))


@given(
    lines=st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=8),
    ends=st.lists(st.sampled_from([b"\n", b"\r\n"]), min_size=9, max_size=9),
    block=st.integers(1, 40),
    last=st.booleans(),
)
def test_lines_are_those_of_python(lines, ends, block, last, tmp_path_factory):
    data = b"x\n" + b"".join(line + end for line, end in zip(lines, ends, strict=False))
    data += b"the last" if last else b""
    wanted = [re.sub(rb"\r\Z", b"", line) for line in data.split(b"\n")[:-1]]
    wanted += [b"the last"] if last else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "BLOCK", block)  # of 6 MiB, which small files fill once
        found = texts(tmp_path_factory.mktemp("lines"), data)
    assert found == [line.decode(errors="replace") for line in wanted]


def test_a_byte_order_mark_is_no_text(tmp_path, small):
    small(1)
    assert texts(tmp_path, "\ufeffone\n\ufefftwo") == ["one", "\ufefftwo"]
    assert texts(tmp_path, "\ufeff") == []


def test_twenty_megabytes_on_one_line(tmp_path):
    data = b"x" * 20_000_000
    start = time.process_time()
    assert [len(text) for text in texts(tmp_path, data + b"\nend\n")] == [20_000_000, 3]
    assert texts(tmp_path, b"\xff" + data)[0][:2] == BAD + "x"
    assert time.process_time() - start < 5


def test_large_columns_have_large_offsets(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "LARGE", 8)  # of 2 GiB
    source = open_source(write(tmp_path / "t.txt", b"one\ntwo\n\xff three\n"))
    assert columns(source) == {"text": ["one", "two", BAD + " three"]}
    (batch,) = source.batches()
    assert batch.schema.types == [pa.large_string()]


COMPRESSORS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_compressed_lines_and_mailboxes(suffix, tmp_path, small):
    small(10)
    packed = COMPRESSORS[suffix](b"\xef\xbb\xbfone\n\ntwo\n" * 20)
    source = open_source(write(tmp_path / f"a.txt{suffix}", packed))
    assert source.names == ["text"]
    assert source.texts == ("text",)
    assert source.size == len(packed)
    assert source.read_bytes() == 0
    assert columns(source)["text"][:4] == ["one", "", "two", "\ufeffone"]
    assert source.read_bytes() == len(packed)
    assert len(columns(source)["text"]) == 60, "files can be read again"
    write(tmp_path / f"b.MBOX{suffix}", COMPRESSORS[suffix](b"From x\nTo: y\n\nHi\n" * 2))
    assert columns(open_source(tmp_path / f"b.MBOX{suffix}"))["to"] == ["y"]
    write(tmp_path / f"in/c.eml{suffix}", COMPRESSORS[suffix](b"To: y\n\nHi\n"))
    assert columns(open_source(tmp_path / f"in/c.eml{suffix}"))["to"] == ["y"]


def test_the_format_may_be_given(tmp_path):
    csv = write(tmp_path / "t.csv", "a,b\n1,2\n")
    assert columns(open_source(csv, format="text")) == {"text": ["a,b", "1,2"]}
    assert columns(open_source(csv, format="TXT")) == {"text": ["a,b", "1,2"]}
    text = write(tmp_path / "t.txt", "a,b\n1,2\n")
    source = open_source(text, format="csv")
    assert columns(source) == {"a": ["1"], "b": ["2"]}
    assert source.texts == ()
    one = open_source(write(tmp_path / "mail", "To: me\n\nhello"), format="mail")
    assert columns(one) == {"from": [""], "to": ["me"], "subject": [""], "body": ["hello"]}
    assert "there are csv, tsv, jsonl, parquet, arrow, arff, text, mail" in message(
        text, format="pdf"
    )


class Pipe(io.RawIOBase):
    """Gives few bytes at a time, and cannot be sought in."""

    def __init__(self, data, most=5):
        self.data, self.most = data, most

    def readable(self):
        return True

    def readinto(self, buffer):
        size = min(len(buffer), self.most, len(self.data))
        buffer[:size], self.data = self.data[:size], self.data[size:]
        return size


@pytest.mark.parametrize("most", [1, 5, 1000])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(pack, most, monkeypatch):
    def given_as_input(data):
        buffer = io.BufferedReader(Pipe(pack(data), most))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffer))
        return open_source("-", format=kind)

    kind = "text"
    lines = [f"line {i}" for i in range(200)]
    source = given_as_input(("\ufeff" + "\r\n".join(lines)).encode())
    assert source.size is None
    assert columns(source) == {"text": lines}
    if pack is bytes:
        assert source.read_bytes() == len("\r\n".join(lines)) + 3
    with pytest.raises(TableError, match="standard input: can be read only once"):
        columns(source)
    with pytest.raises(TableError, match="standard input is empty"):
        given_as_input(b"")
    kind = "mail"
    assert columns(given_as_input(b"From x\n\n1\n\nFrom y\n\n2\n"))["body"] == ["1\n", "2\n"]
    assert columns(given_as_input(b"To: x\n\n1\n\nFrom y\n"))["body"] == ["1\n\nFrom y\n"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", ["pipe", "pipe.txt"])
def test_a_slow_pipe_is_read_as_it_comes(name, tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "HEAD", 16)  # of 64 KiB, more than a pipe holds at a time
    os.mkfifo(tmp_path / name)
    seen = threading.Event()

    def slowly():
        with (tmp_path / name).open("wb", buffering=0) as pipe:
            pipe.write(b"the first line\nthe second line\nthe ")
            assert seen.wait(20)
            pipe.write(b"third\n")

    writer = threading.Thread(target=slowly)
    writer.start()
    source = open_source(tmp_path / name, format="text" if name == "pipe" else None, live=True)
    found = []
    for batch in source.batches():
        found += batch.column("text").to_pylist()
        if len(found) == 2:
            seen.set()
    writer.join()
    assert found == ["the first line", "the second line", "the third"]


# ---- folders -----------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 30, 1 << 20])
def test_a_folder_a_class(block, tmp_path, small):
    small(block)
    write(tmp_path / "spam/b.txt", "buy\r\nnow\0")
    write(tmp_path / "spam/a", b"\xef\xbb\xbfcaf\xe9\n")
    write(tmp_path / "ham/deep/er/1", "")
    write(tmp_path / "ham/2", "hello")
    write(tmp_path / "ham/3.gz", gzip.compress(b"packed"))
    write(tmp_path / "ham/.hidden", "no")
    write(tmp_path / "ham/.git/config", "no")
    write(tmp_path / ".cache/1", "no")
    write(tmp_path / "README", "no")
    (tmp_path / "empty").mkdir()
    (tmp_path / "ham" / "loop").symlink_to(tmp_path)
    source = open_source(tmp_path)
    assert source.names == ["label", "text"]
    assert source.texts == ("text",)
    expected = {
        "label": ["ham"] * 3 + ["spam"] * 2,
        "text": ["hello", "packed", "", f"caf{BAD}\n", "buy\r\nnow\0"],
    }
    assert columns(source) == expected
    assert (
        source.read_bytes()
        == source.size
        == sum(path.stat().st_size for path in tmp_path.rglob("[ab123]*") if path.is_file()) - 2
    )  # .cache/1
    assert columns(source) == expected, "files can be read again"
    assert columns(open_source([tmp_path], columns=["text"])) == {"text": expected["text"]}


def test_one_class_has_a_label_too(tmp_path):
    write(tmp_path / "news/spam/1", "one")
    assert columns(open_source(tmp_path / "news")) == {"label": ["spam"], "text": ["one"]}
    more = write(tmp_path / "ham.txt", "two\nthree\n")
    assert columns(open_source([tmp_path / "news", more])) == {
        "label": ["spam", "ham", "ham"],
        "text": ["one", "two", "three"],
    }


def test_names_of_folders_that_are_no_text(tmp_path):
    try:
        write(tmp_path / "caf\udce9/1", "one")
    except OSError:
        pytest.skip("names of files must be text here")
    assert columns(open_source(tmp_path))["label"] == ["caf" + BAD]


def test_folders_of_mails(tmp_path):
    write(tmp_path / "spam/1.eml", "Subject: buy\n\nnow")
    write(tmp_path / "ham/1.eml", "Subject: hello\n\nyou")
    source = open_source(tmp_path)
    assert source.names == ["label", *FIELDS]
    assert source.texts == tuple(FIELDS)
    assert columns(source)["label"] == ["ham", "spam"]
    assert columns(source)["body"] == ["you", "now"]
    assert columns(open_source(tmp_path, format="text"))["text"][0] == "Subject: hello\n\nyou"
    some = open_source(tmp_path, columns=["subject", "label"])
    assert columns(some) == {"subject": ["hello", "buy"], "label": ["ham", "spam"]}
    assert some.texts == ("subject",)
    odd = write(tmp_path / "spam/cmds", "Subject: x\n\ny")
    assert f"such as {odd}, do not; say which format" in message(tmp_path)
    assert columns(open_source(tmp_path, format="mail"))["subject"] == ["hello", "buy", "x"]


def test_a_file_that_describes_the_classes_is_none(tmp_path):
    """As Summary.txt does in the Enron corpus, and urls_pos.txt in that of film reviews."""
    write(tmp_path / "Summary.txt", "ham: 1\n")
    write(tmp_path / "spam/1.txt", "buy")
    assert columns(open_source(tmp_path)) == {"text": ["ham: 1"]}, "one folder is no classes"
    write(tmp_path / "ham/1.txt", "hello")
    assert columns(open_source(tmp_path)) == {"label": ["ham", "spam"], "text": ["hello", "buy"]}
    write(tmp_path / "t.csv", "a\n1\n")
    assert columns(open_source(tmp_path)) == {"a": ["1"]}, "tables go first"


def test_folders_of_files_of_documents(tmp_path):
    write(tmp_path / "spam.txt", "buy\n")
    write(tmp_path / "ham.txt.gz", gzip.compress(b"hello\n"))
    expected = {"label": ["ham", "spam"], "text": ["hello", "buy"]}
    for path in (tmp_path, str(tmp_path / "*.txt*")):
        assert columns(open_source(path)) == expected
    write(tmp_path / "in.mbox", "From x\nTo: y\n\nHi\n")
    assert columns(open_source(tmp_path))["to"] == ["y"], "mails go before text"
    assert columns(open_source(tmp_path, format="text")) == expected
    assert columns(open_source(tmp_path, format="csv"))["From x"] == ["To: y", "Hi"]


def test_empty_folders_and_files(tmp_path):
    assert "no file in this folder has a known suffix" in message(tmp_path)
    (tmp_path / "spam").mkdir()
    write(tmp_path / "ham/.hidden", "x")
    assert "no folder in it holds documents" in message(tmp_path)
    for name in ("e.txt", "e.mbox", "e.txt.gz", "e.mbox.gz"):
        path = write(tmp_path / name, gzip.compress(b"") if name.endswith("gz") else b"")
        assert message(path) == f"{path} is empty"
    assert "is empty" in message(write(tmp_path / "e.dat", b""), format="text")
    for inner in ("cur", "new", "tmp"):
        (tmp_path / "Mail" / inner).mkdir(parents=True)
    assert "there is no mail in this Maildir" in message(tmp_path / "Mail")
    one = open_source(write(tmp_path / "e.eml", b""))
    assert columns(one) == {name: [""] for name in FIELDS}
    (batch,) = open_source(write(tmp_path / "bom.txt", "\ufeff")).batches()
    assert batch.schema == pa.schema({"text": pa.string()})
    assert batch.num_rows == 0


def test_tables_in_inner_folders_are_no_documents(tmp_path):
    csv = write(tmp_path / "data/train/t.csv", "a\n1\n")
    write(tmp_path / "data/test/t.txt", "a\n1\n")
    said = message(tmp_path / "data")
    assert f"{csv} is in one below; name {csv.parent}" in said
    assert columns(open_source(tmp_path / "data", format="text"))["label"] == ["test", "train"]


# ---- places ------------------------------------------------------------------------------------


def test_labels_are_the_names_of_places(tmp_path):
    mails = {"spam": "Subject: buy\n\nnow", "ham": "Subject: hello\n\nyou"}
    for name, text in mails.items():
        write(tmp_path / f"{name}.mbox", f"From x\n{text}\n\n" * 2)
        write(tmp_path / f"{name}.v1.txt.gz", gzip.compress(text.encode()))
        write(tmp_path / f"files/{name}/1.eml", text)
        write(tmp_path / f"files/{name}/2.eml", text)
        write(tmp_path / f"dirs/{name}/cur/1:2,S", text)
        write(tmp_path / f"dirs/{name}/new/2", text)
        write(tmp_path / f"dirs/{name}/tmp/3", "no")
        write(tmp_path / f"dirs/{name}/dovecot-uidlist", "no")
    several = {
        "label": ["spam", "spam", "ham", "ham"],
        "from": [""] * 4,
        "to": [""] * 4,
        "subject": ["buy", "buy", "hello", "hello"],
        "body": ["now", "now", "you", "you"],
    }
    boxes = [tmp_path / "spam.mbox", tmp_path / "ham.mbox"]
    source = open_source(boxes)
    assert source.texts == tuple(FIELDS)
    assert source.size == sum(box.stat().st_size for box in boxes)
    assert {name: [text.strip() for text in texts] for name, texts in columns(source).items()} == (
        several
    )
    assert open_source(boxes[0]).names == open_source([boxes[0]]).names == FIELDS
    assert columns(open_source([tmp_path / "dirs/spam", tmp_path / "dirs/ham"])) == several
    assert open_source(tmp_path / "dirs/spam").names == FIELDS
    files = [tmp_path / f"files/{name}/{i}.eml" for name in mails for i in (1, 2)]
    source = open_source(files)
    assert columns(source) == several
    assert len(list(source.tasks())) == 1, "small files are read together"
    assert open_source(files[:2]).names == FIELDS, "two mails of one folder"
    assert columns(open_source(str(tmp_path / "files/*/1.eml")))["label"] == ["ham", "spam"]
    lines = open_source([tmp_path / "spam.v1.txt.gz", tmp_path / "ham.v1.txt.gz"])
    assert columns(lines)["label"] == ["spam.v1"] * 3 + ["ham.v1"] * 3
    mixed = open_source([boxes[0], tmp_path / "dirs/ham", files[0]], columns=["label"])
    assert columns(mixed) == {"label": ["spam", "spam", "ham", "ham", "spam"]}
    assert mixed.texts == ()
    assert "no column 'label'; the columns are from, to" in message(boxes[0], columns=["label"])


def test_folders_named_by_dots(tmp_path, monkeypatch):
    write(tmp_path / "ham/1.eml", "To: x\n\ny")
    write(tmp_path / "spam/sub/2.eml", "To: x\n\ny")
    monkeypatch.chdir(tmp_path / "spam" / "sub")
    assert columns(open_source(["2.eml", "../../ham/1.eml"]))["label"] == ["sub", "ham"]
    write(tmp_path / "spam/3.eml", "To: x\n\ny")
    assert columns(open_source(["../3.eml", "2.eml"]))["label"] == ["spam", "sub"]


def test_standard_input_beside_a_file(tmp_path, monkeypatch):
    path = write(tmp_path / "ham.txt", "hello\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\n")))
    source = open_source(["-", path], format="text")
    assert source.size is None
    assert columns(source) == {"label": ["standard input", "ham"], "text": ["one", "hello"]}


@pytest.mark.parametrize("options", [{}, {"columns": ["text"]}])
def test_documents_and_tables_do_not_mix(options, tmp_path):
    text = write(tmp_path / "t.txt", "hello\n")
    others = {
        "t.csv": "text\nx\n", "t.jsonl": '{"text": "x"}\n', "t.mbox": "From x\n\ny\n",
        "in/t.eml": "To: x\n\ny",
    }  # fmt: skip
    for name, data in others.items():
        path = write(tmp_path / name, data)
        kind = "a table" if name[:3] == "t.c" or name[:3] == "t.j" else "mails"
        named = path.parent if name == "in/t.eml" else path
        assert message([text, path], **options) == (
            f"{named} holds {kind}, but {text} texts; files read together must be of one kind"
        )
        if kind == "a table":
            assert f"{text} holds texts, but {path} a table" in message([path, text], **options)


# ---- mails -------------------------------------------------------------------------------------


def fields(data):
    """The fields of a mail, by name."""
    found = mail.fields(data.encode() if isinstance(data, str) else data)
    assert all(isinstance(text, str) and text.encode() is not None for text in found)
    return dict(zip(FIELDS, found, strict=True))


def body(data):
    return fields(data)["body"]


def test_a_plain_mail():
    data = "From: A <a@b.c>\r\nTo: x@y,\r\n\tz@y\r\nX-Y: q\r\nSUBJECT: Hi\r\n\r\nDear\r\n you\r\n"
    assert fields(data) == {
        "from": "A <a@b.c>", "to": "x@y, z@y", "subject": "Hi", "body": "Dear\r\n you\r\n",
    }  # fmt: skip
    assert fields("\ufeff" + data) == fields(data)
    assert fields("From x@y Mon\n" + data) == fields(data)
    assert fields("To: a\nTo: b\n\n")["to"] == "a, b"


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("=?utf-8?q?caf=C3=A9_=3D?=", "café ="),
        ("=?UTF-8?B?Y2Fmw6k?=", "café"),
        ("=?iso-8859-1*fr?Q?caf=E9?= x", "café x"),
        ("a =?utf-8?q?b?= =?utf-8?q?c?= d", "a bc d"),
        ("a =?utf-8?q?b?=\n =?latin1?q?=E9?=\n d", "a bé d"),
        ("=?utf-8?b?w6==?==?utf-8?b?qQ==?=", "é"),
        ("=?utf-8?q?=C3?= =?utf-8?q?=A9?=", "é"),
        ("(=?utf-8?q?a?=)=?utf-8?q?b?=", "(a)b"),
        ("=?koi8-r?b?8NLJ18XU?=", "Привет"),
        ("=?nonsense?q?caf=C3=A9_=FF?=", "café " + BAD),
        ("=?zlib?q?a?= =?utf-8?x?a?=", "a =?utf-8?x?a?="),
        ("=?utf-8?b?A?= x", "=?utf-8?b?A?= x"),
        ("=?utf-8?b?é?= =?utf-8?q?open", "=?utf-8?q?open"),
        ("=?utf-7?q?+2AA-?=", BAD),
        ("=?utf-8?q?a=0D=0Ab?=", "a b"),
        ("plain café", "plain café"),
        ("  ", ""),
    ],
)
def test_headers(header, text):
    assert fields(f"Subject: {header}\n\n")["subject"] == text


def test_raw_bytes_in_headers():
    assert fields(b"Subject: caf\xe9 \xe2\x82\xac\n\n")["subject"] == f"caf{BAD} €"


@pytest.mark.parametrize(
    ("headers", "data", "text"),
    [
        ("Content-Type: text/plain; charset=iso-8859-1", b"caf\xe9", "café"),
        ('Content-Type: text/plain; charset="utf-8"', "café".encode(), "café"),
        ("Content-Type: text/plain; charset=us-ascii", "café".encode(), "café"),
        ("Content-Type: text/plain", b"caf\xc3\xa9 \xff", "café " + BAD),
        ("Content-Type: text/plain; charset=klingon", b"caf\xc3\xa9 \xff", "café " + BAD),
        ("Content-Type: text/plain; charset=hex", b"6162", "6162"),
        ("Content-Type: text/plain; charset=unicode_escape", b"\\ud800", "\\ud800"),
        ("Content-Type: text/plain; charset=utf-7", b"+2AA-", BAD),
        ("Content-Type: text/plain; charset=utf-16", b"\xff\xfea\0b", "a" + BAD),
        ("Content-Transfer-Encoding: base64", b"Y2Fm\nw6k=\n", "café"),
        ("Content-Transfer-Encoding: Base64", b"Y2Fmw6", "caf" + BAD),
        ("Content-Transfer-Encoding: quoted-printable", b"caf=C3=A9=\n!=Z", "café!=Z"),
        ("Content-Transfer-Encoding: nonsense", b"as it is", "as it is"),
        ("Content-Type: nonsense", b"as it is", "as it is"),
        ("Content-Type: application/pdf", b"no text", ""),
        ("Content-Type: text/calendar", b"no text", ""),
        ("Content-Disposition: attachment", b"no text", ""),
        ("Content-Disposition: inline; filename=x", b"text", "text"),
        ("Content-Type: multipart/mixed", b"no boundary", "no boundary"),
        ("Content-Type: multipart/mixed; boundary=x", b"--y\n\nwrong", "--y\n\nwrong"),
    ],
)
def test_bodies(headers, data, text):
    assert body(headers.encode() + b"\n\n" + data) == text


def parts(kind, *inner):
    """A mail of parts, or a part of parts."""
    mark = f"b{zlib.crc32(repr(inner).encode())}"
    within = "".join(f"--{mark}\n{each}\n" for each in inner)
    return f"Content-Type: multipart/{kind}; boundary={mark}\n\n{within}--{mark}--\n"


PLAIN = "Content-Type: text/plain\n\nplain"
HTML = "Content-Type: text/html\n\n<p>html"
FILE = "Content-Disposition: attachment; filename=a.txt\n\nattached"
PICTURE = "Content-Type: image/png\nContent-Transfer-Encoding: base64\n\nQUJD"
FORWARDED = "Content-Type: message/rfc822\n\nSubject: x\n\nforwarded"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (parts("alternative", PLAIN, HTML), "plain"),
        (parts("alternative", HTML, PLAIN), "plain"),
        (parts("alternative", "Content-Type: text/plain\n\n \n\u00a0", HTML), "html"),
        (parts("alternative", HTML), "html"),
        (parts("alternative", PLAIN, parts("related", HTML, PICTURE)), "plain"),
        (parts("alternative", PICTURE, parts("mixed", HTML, PICTURE)), "html"),
        (parts("mixed", parts("alternative", PLAIN, HTML), FILE), "plain"),
        (parts("mixed", HTML, FILE, PLAIN), "html\nplain"),
        (parts("mixed", PLAIN, FORWARDED), "plain\nforwarded"),
        (parts("mixed", PLAIN, "Content-Disposition: ATTACHMENT\n" + FORWARDED), "plain"),
        (parts("mixed", "\nno headers", FILE), "no headers"),
        (parts("mixed", PICTURE), ""),
        (parts("mixed"), ""),
        (parts("mixed", PLAIN).replace("--\n", ""), "plain"),
    ],
)
def test_parts(data, text):
    assert body("Subject: s\n" + data).strip() == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<html><head><title>Hi</title><style>p {a: b}</style></head><p>you</p>", "Hi you"),
        ("one<br>two<BR/>three<td>four</td>five", "one two three four five"),
        ("V<b>ia</b>g<!-- x -->r<i\n>a</i><foo>!", "Viagra!"),
        ("a<script>if (a<b) '</p>'</script >b<STYLE><p></STYLE>c", "abc"),
        (
            "a &amp; b&nbsp;c &eacute;&#233;&#xe9; &lt;b&gt; &nonsense; &",
            "a & b c ééé <b> &nonsense; &",
        ),
        ("&#xd800;&#x110000;&#0;", BAD * 3),
        ("<a href=\"x>y\" title='>'>link</a> 1 < 2 > 1 <3", "link 1 < 2 > 1 <3"),
        ("<a title=don't>one</a> it's", "one it's"),
        ("<!doctype html><?xml x?><![CDATA[x]]>a<![if !mso]>b<![endif]>", "ab"),
        ("<!-->a<!--->b<!-- c", "ab"),
        ("a<script>never closed", "a"),
        ("a<p never closed", "a"),
        ("a </ b", "a </ b"),
        ("&#" + "9" * 5000 + ";", "&#" + "9" * 5000 + ";"),
    ],
)
def test_html(markup, text):
    assert body(f"Content-Type: text/html; charset=utf-8\n\n{markup}") == text


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\n", b"\0", b"\r\n\r\n", b":", b" x\n", b"no headers at all",
        b"\xff\xfe\xed\xa0\x80", b"Subject", b"Subject:", b"From \n",
        b"From x\nFrom y\nFrom z\n\n", b"\n\nSubject: x\n",
        b"Content-Type: text/plain; charset=\"\n\nx", b"Content-Type: text/html; charset=\0\n\nx",
        b"Content-Type: text/plain; charset*=x'y\n\nx", b"Content-Type: ;;;=\n\nx",
        b"Content-Type: text/plain; charset*" + b"9" * 5000 + b"*=x\n\nx",
        b"Content-Type: \xff/\xff; charset=\xff\n\nx", b"Content-Disposition: \xff; \xff\n\nx",
        b"Content-Type: multipart/mixed; boundary=\"\"\n\n--\n\nx",
        b"Content-Type: multipart/mixed; boundary=x\nContent-Transfer-Encoding: base64\n\n--x--",
        b"Content-Type: multipart/mixed; boundary=x\n\n--x\n--x\n--x\n",
        b"Content-Transfer-Encoding: base64\n\n=====", b"Content-Transfer-Encoding: uu\n\nbegin\n",
        b"Content-Transfer-Encoding: x-uuencode\n\nbegin 666 a\n\xff\xff\nend",
        b"Content-Transfer-Encoding: \xff\n\n\xff",
    ],
)  # fmt: skip
def test_broken_mails(data):
    assert set(fields(data)) == set(FIELDS)


def test_no_headers_at_all():
    assert fields("Hello,\nyou: there")["body"] == "Hello,\nyou: there"


TOKENS = [
    *(b"Content-Type: |multipart/mixed|multipart/alternative|text/plain|text/html|message/rfc822|"
      b"message/delivery-status|multipart/digest|; boundary=|x|\"|; charset=|; charset*0*=|''|%ff|"
      b"utf-7|utf-16|idna|zlib|--x|--x--|Content-Transfer-Encoding: |base64|quoted-printable|"
      b"x-uuencode|begin 666 a|end|QUJD|=|=3D|Subject: |From: |To: |From |:|=?utf-8?q?|=?x?b?|?="
      b"|Content-Disposition: |attachment|; filename*=|<b>|<script>|<!--|<a b='|&#").split(b"|"),
    b"\n", b"\n\n", b"\r\n", b"\r", b" ", b"\t", b"\0", b"\xff", b"\xed\xa0\x80", b"\xe2\x82",
    b"\x1c", b"\x85",
]  # fmt: skip


@given(st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(TOKENS)).map(b"".join)))
def test_no_bytes_are_too_broken_for_a_mail(data):
    fields(data)
    fields(b"Subject: x\n" + data)


def nested(depth):
    return b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(depth)
    )


@pytest.mark.parametrize(
    "data",
    [
        nested(40) + b"\nx\n" * 5000, nested(5000) + b"\nx\n" * 50000,
        b"Content-Type: message/rfc822\n\n" * 20000,
        b"Content-Type: text/plain" + b";" * 1_000_000 + b"\n\nx",
        b"Content-Type: text/plain" + b";\"" * 500_000 + b"\n\nx",
        b"Subject: " + b"=?a?q?" * 200_000 + b"\n\nx",
        b"Subject: " + b"=?utf-8?q?a?= " * 100_000 + b"\n\nx",
        b"Content-Type: text/plain; charset=punycode\n\n" + b"a-b" * 100_000,
        *(b"Content-Type: text/html\n\n" + piece * (1_000_000 // len(piece))
          for piece in (b"<a ", b"<a b=\"", b"<a b='\"", b"<!--", b"<", b"</", b"<script>", b"&#",
                        b"<script></script ", b"<a b=", b"= ", b"<a=   ")),
        b"x" * 20_000_000,
    ],
    ids=lambda data: repr(data[:40]),
)  # fmt: skip
def test_hostile_mails_take_no_time(data):
    start = time.process_time()
    fields(data)
    assert time.process_time() - start < 5


def test_parts_too_many_to_distinguish_are_text():
    found = fields(b"Subject: s\n" + nested(60) + b"\nhello")
    assert found["subject"] == "s"
    assert found["body"].startswith("--b0\n")
    assert found["body"].endswith("hello")


# ---- mbox --------------------------------------------------------------------------------------

BOX = b"""
From a Mon
Subject: one

>From here
>>From there
From in a text
> From too

From b Tue
no header

From c
Subject: three

"""


@pytest.mark.parametrize("block", [1, 2, 3, 7, 30, 1 << 20])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_mbox(block, end, tmp_path, small):
    small(block)
    path = write(tmp_path / "in.mbox", BOX.replace(b"\n", end))
    found = columns(open_source(path))
    assert found["subject"] == ["one", "", "three"]
    found["body"] = [text.replace("\r\n", "\n") for text in found["body"]]
    assert found["body"] == [
        "From here\n>From there\nFrom in a text\n> From too\n",
        "no header\n",
        "",
    ]


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_marks_in_an_mbox(block, tmp_path, small):
    """Files that were joined have them anywhere; the headers after them were lost."""
    small(block)
    mark, mails = "\ufeff", [f"From x\nSubject: {k}\n\nbody {k}\n\n" for k in range(3)]
    inner = mails[2].replace("Subject", mark + "Subject")
    for box in (mark + "".join(mails), mark.join(mails), "".join([*mails[:2], inner])):
        for name, kind in (("in.mbox", None), ("box", "mail")):
            found = columns(open_source(write(tmp_path / name, box), format=kind))
            assert found["subject"] == ["0", "1", "2"]
            assert found["body"] == ["body 0\n", "body 1\n", "body 2\n"]
    assert mail.headers(f"{mark}From x\nFrom: a\n".encode()) == {b"from"}
    assert mail.headers(f"From x\n{mark}From: a\n".encode()) == {b"from"}


def test_mbox_with_text_before_the_first_mail(tmp_path):
    path = write(tmp_path / "in.mbox", "Subject: lost\n\nFrom x\nSubject: found\n\n")
    assert columns(open_source(path))["subject"] == ["lost", "found"]
    path = write(tmp_path / "blank.mbox", "\n\n")
    source = open_source(path)
    assert source.names == FIELDS
    assert columns(source)["body"] == []


@given(
    st.lists(st.sampled_from([b"From x", b"From", b"", b"\r", b">From y", b"a", b" From z"])),
    st.booleans(), st.integers(1, 30),
)  # fmt: skip
def test_mbox_against_lines(lines, last, block):
    data = b"\n".join(lines) + (b"\n" if last else b"")
    expected, blank = [[]], True
    for line in (
        data.splitlines(keepends=True)
        if b"\r" not in data
        else re.findall(rb"[^\n]*\n|[^\n]+", data)
    ):
        if blank and line.startswith(b"From "):
            expected.append([])
        expected[-1].append(line)
        blank = line in (b"\n", b"\r\n")
    for group in expected:
        if len(group) > 1 and group[-1] in (b"\n", b"\r\n"):
            group.pop()
    joined = [re.sub(rb"(?m)^>From ", b"From ", b"".join(group)) for group in expected]
    stream = inputs.Stream("box", io.BytesIO(data), owned=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "BLOCK", block)  # of 6 MiB, which small files fill once
        found = list(mail.messages(stream))
    assert [each.rstrip(b"\r\n") for each in found] == [
        each.rstrip(b"\r\n") for each in joined if each.strip()
    ]


@pytest.mark.parametrize("block", [1, 50, 1 << 20])
def test_results_do_not_depend_on_blocks(block, tmp_path, small):
    draw = random.Random(0)
    pieces = ["Subject: s\n", "\n", "From x\n", "café ", "\n\n", "To: y\n", "<p>", "\r\n"]
    data = "From x\n" + "".join(draw.choices(pieces, k=600))
    boxes = [write(tmp_path / "a.mbox", data), write(tmp_path / "b.mbox", data[::-1])]
    whole = columns(open_source(boxes))
    small(block)
    assert columns(open_source(boxes)) == whole
    assert len(set(whole["body"])) > 5


def test_a_large_mailbox_is_read_a_few_mails_at_a_time(tmp_path, small):
    small(1000)
    path = write(tmp_path / "in.mbox", "From x\n\nhello\n\n" * 1000)
    sizes = [batch.num_rows for batch in open_source(path).batches()]
    assert sum(sizes) == 1000
    assert max(sizes) < 100
