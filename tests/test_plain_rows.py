"""Rows without quotes, and numbers as text, parsed by kernels as by Arrow and Python."""

import math
import re
import struct

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively.core.numerals import ANY
from naively.io import inputs
from naively.io.formats import delimited
from naively.io.sources import TableError, open_source
from naively.tables import values
from naively.tables.values import MANY, plain_numbers

FIELDS = st.text(st.characters(codec="utf-8", exclude_characters='",\r\n\0'), max_size=20)
COMMON = st.sampled_from(["", "a", "b", "12345678", "123456789", "a longer text that comes again"])


@st.composite
def tables(draw):
    """(rows of fields, ends of lines, whether the last line ends)."""
    columns = draw(st.integers(1, 4))
    row = st.lists(st.one_of(COMMON, FIELDS), min_size=columns, max_size=columns)
    rows = draw(st.lists(row, min_size=1, max_size=40))
    return rows, draw(st.sampled_from(["\n", "\r\n", "\n\n", "\n\r\n"])), draw(st.booleans())


def by_arrow(data, names, kinds):
    found = csv.read_csv(
        pa.BufferReader(data),
        read_options=csv.ReadOptions(column_names=names, use_threads=False),
        convert_options=csv.ConvertOptions(
            column_types=kinds, include_columns=list(kinds), null_values=[],
            strings_can_be_null=False,
        ),
    )  # fmt: skip
    return [column.combine_chunks() for column in found.columns]


def by_kernels(data, names, kinds):
    return delimited.columns_of(data, data.count(b"\n"), ",", names, kinds)


@given(tables(), st.data())
def test_columns_are_those_of_arrow(table, data):
    rows, newline, ended = table
    names = [f"c{k}" for k in range(len(rows[0]))]
    text = (newline.join(",".join(row) for row in rows) + newline * ended).encode()
    chosen = data.draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    kind = st.sampled_from([pa.string(), inputs.TEXT])
    kinds = {name: data.draw(kind) for name in chosen}
    if not text.strip(b"\r\n"):
        return  # Arrow takes no file of blank lines
    found = by_kernels(text, names, kinds)
    for column, other in zip(found, by_arrow(text, names, kinds), strict=True):
        column.validate(full=True)
        assert column.equals(other)


def test_many_texts_of_a_column():
    """The table of texts grows, several times within one piece of the rows."""
    texts = [f"{k % 30_000:x}" * (1 + k % 3) for k in range(60_000)]
    data = "".join(f"{text},{k}\n" for k, text in enumerate(texts)).encode()
    names, kinds = ["t", "k"], {"t": inputs.TEXT, "k": pa.string()}
    for column, other in zip(
        by_kernels(data, names, kinds), by_arrow(data, names, kinds), strict=True
    ):
        assert column.equals(other)


@pytest.mark.parametrize(
    "data",
    [b'1,"2"\n', b"1,2\n3\n", b"1,2\n3,4,5\n", b"1\r2,3\n", b"1,2\r\r\n", b"1,\xff\n", b"1,2\n3"],
)
def test_what_is_left_to_arrow(data):
    """Quotes, rows of other lengths, lines that end in \\r, what is no UTF-8."""
    assert by_kernels(data, ["a", "b"], {"a": pa.string(), "b": pa.string()}) is None


def test_too_many_rows_for_what_was_said():
    assert delimited.columns_of(b"1\n" * 90, 3, ",", ["a"], {"a": pa.string()}) is None


@pytest.mark.slow
def test_large_files_are_what_they_are_with_quotes(tmp_path):
    """A file that the kernels read, and the same one with a quote in each block."""
    rows = [f"{k * 7 % 1000 / 8},{k % 17},{'äöü'[k % 3]}{k % 5},{k}" for k in range(300_000)]
    plain, quoted = tmp_path / "plain.csv", tmp_path / "quoted.csv"
    plain.write_text("x,n,t,k\n" + "\n".join(rows) + "\n")
    quoted.write_text("x,n,t,k\n" + "\n".join(re.sub(r",(\w+)$", r',"\1"', row) for row in rows))
    assert plain.stat().st_size > 4 * delimited.ENOUGH
    assert open_source([plain]).to_table().equals(open_source([quoted]).to_table())


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("1,2,3", "line 200002: expected 2 fields, got 3"),
        ("1", "line 200002: expected 2 fields, got 1"),
        ("1,\udcff", "line 200002, column 'b': the byte 0xff is not UTF-8"),
    ],
)
def test_mistakes_in_large_files_are_reported_with_their_lines(bad, said, tmp_path):
    path = tmp_path / "bad.csv"
    lines = ["a,b", *["12.25,some text"] * 200_000, bad, "1,2"]
    path.write_bytes("\n".join(lines).encode(errors="surrogateescape"))
    with pytest.raises(TableError, match=re.escape(said)):
        open_source([path]).to_table()


# ---- numbers ---------------------------------------------------------------------------------


def bits(number):
    return struct.pack("d", number)


DIGITS = st.integers(0, 10**19 - 1)
WRITTEN = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map("{:.17e}".format),
    st.floats(-1e6, 1e6).map("{:.4f}".format),
    st.tuples(DIGITS, st.integers(-40, 40)).map(lambda pair: f"{pair[0]}e{pair[1]:+d}"),
    st.tuples(DIGITS, DIGITS).map(lambda pair: f"-{pair[0] % 10**9}.{pair[1] % 10**10:09d}"),
    # exactly between two numbers, and next to that
    st.tuples(st.integers(2**53, 2**54), st.integers(-1, 1)).map(lambda p: str(2 * p[0] + p[1])),
    st.tuples(st.integers(2**52, 2**53), st.integers(1, 4)).map(
        lambda pair: f"{(2 * pair[0] + 1) * 5 ** pair[1]}e-{pair[1]}"
    ),
)


@given(st.lists(WRITTEN, min_size=1, max_size=50))
def test_numbers_are_those_of_python(texts):
    found, others = plain_numbers(pa.array(texts))
    for text, number, other in zip(texts, found.tolist(), others, strict=True):
        digits = re.sub(r"[-+.]|e.*", "", text).lstrip("0")
        if other:
            assert len(digits) > 19 or not 1e-280 < abs(float(text)) < 1e280
        else:
            assert bits(number) == bits(float(text))


def test_what_looks_like_a_number():
    """All short texts of these characters: what is read is a plain number, and read right."""
    characters = ["", *"-+.e05 x"]
    texts = sorted({a + b + c + d for a in characters for b in characters
                    for c in characters for d in characters})  # fmt: skip
    found, others = plain_numbers(pa.array(texts))
    for text, number, other in zip(texts, found.tolist(), others, strict=True):
        assert other != bool(re.fullmatch(ANY, text)), text
        assert other or bits(number) == bits(float(text))


def test_the_end_of_the_text_is_the_end_of_the_number():
    """Digits that follow in memory are of the next value, or of a slice that is not asked for."""
    column = pa.array(["1", "23", None, "4.5", "67", "8e1", "9"]).slice(1, 5)
    found, others = plain_numbers(column)
    assert others.tolist() == [False, True, False, False, False]
    assert found.tolist() == [23.0, 0.0, 4.5, 67.0, 80.0]


@given(st.lists(st.one_of(WRITTEN, st.sampled_from(
    ["", "?", "NA", " 5", "7 ", "true", "False", "inf", "-Infinity", "1e999", "-0", "x", "007",
     "12:30", "0" * 30 + "1", None])), min_size=1, max_size=60))  # fmt: skip
def test_many_values_mean_what_each_means(texts):
    """A column long enough for the kernel, beside the same values a few at a time."""
    few = values.numbers(pa.array(texts, pa.string()), inputs.MISSING)
    times = MANY // len(texts) + 1
    many = values.numbers(pa.array(texts * times, pa.string()), inputs.MISSING)
    assert many.values.tobytes() == np.tile(few.values, times).tobytes()
    assert np.array_equal(many.invalid, np.tile(few.invalid, times))
    assert (many.example, many.truths) == (few.example, few.truths)
    assert all(math.isnan(value) for value in few.values[few.invalid])


@given(st.lists(st.text("0 \t\u00a0\n1.x", max_size=4) | st.none(), max_size=30))
def test_codes_are_found_among_all_texts(texts):
    expected = any(text and re.match(r"[ \t\n\f\r]*0[0-9]", text) for text in texts)
    assert values.any_code(pa.array(texts, pa.string())) == expected
