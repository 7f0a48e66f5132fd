"""JSON lines of strings alone, parsed by kernels as by Python's json."""

import json

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from naively.io.formats import jsonl
from naively.io.sources import TableError, open_source

CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0")
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=20),
    st.text(st.sampled_from('"\\/\b\f\n\r\t\x1f\x7f é€😀u00'), max_size=90),
    st.integers(50, 140).map(lambda n: "a" * n),
)
SPACES = st.text(st.sampled_from(" \t"), max_size=2)


@st.composite
def spelled(draw):
    """(rows, the same as JSON lines in one of the many ways)."""
    names = draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))
    rows = draw(st.lists(st.tuples(*[TEXTS] * len(names)), min_size=1, max_size=12))
    plain = draw(st.booleans())
    lines = []
    for row in rows:
        pairs = [
            draw(SPACES).join(["", json.dumps(name, ensure_ascii=False), ":",
                               json.dumps(value, ensure_ascii=plain), ""])
            for name, value in zip(names, row, strict=True)
        ]  # fmt: skip
        space = draw(SPACES)
        lines.append(space + "{" + space + f",{space}".join(pairs) + "}" + space)
    newline = draw(st.sampled_from(["\n", "\r\n", "\n\n", "\n \r\n"]))
    return rows, names, newline.join(lines) + newline * draw(st.booleans())


def by_kernels(text):
    data = text if isinstance(text, bytes) else text.encode()
    return jsonl.columns_of(data, data.count(b"\n"))


@given(spelled())
@example(([("😀",)], ["a"], '{"a": "\\ud83d\\ude00"}'))
@example(([('/"',)], ["a"], '{"a": "\\/\\u0022"}'))
def test_columns_are_what_json_says(written):
    rows, names, text = written
    found = by_kernels(text)
    assert [tuple(json.loads(line).values()) for line in text.split("\n") if line.strip()] == rows
    assert found.column_names == names
    assert all(column.type == pa.string() for column in found.columns)
    found.validate(full=True)
    assert list(zip(*found.to_pydict().values(), strict=True)) == rows


ROW = '{"a": "x", "b": "y"}\n'


@pytest.mark.parametrize(
    "second",
    [
        '{"a": "x"}', '{"b": "y", "a": "x"}', '{"a": "x", "b": "y", "c": "z"}', '{"a": 1, "b": ""}',
        '{"a": null, "b": "y"}', '{"a": "x", "a": "y"}', '["a", "b"]', "null", "7", '"a"', "{}",
        '{"a": "x", "b": "y"} {"a": "x", "b": "y"}', '{"a": "x", "b": "y",}', '{"a": "x" "b": "y"}',
        '{"a": "x", "b": "y"', '{"a": "x", "b": "y', '{"a": "x", "b": "y\\',
        '{"a": "x", "b": "y\\"}',
        '{"a": "x", "b": "\\x"}', '{"a": "x", "b": "\\u12"}', '{"a": "x", "b": "\\u12g4"}',
        '{"a": "x", "b": "\\ud800"}', '{"a": "x", "b": "\\ud800\\u0041"}',
        '{"a": "x", "b": "\\udc00\\ud800"}', '{"a": "x", "b": "\\u0000"}', '{"a": "x", "b": "\t"}',
        '{"a": "x", "\\u0062": "y"}', b'{"a": "x", "b": "\xff"}', "{", "}", ",",
    ],
)  # fmt: skip
@pytest.mark.parametrize("more", ["", "\n" + ROW])
def test_what_is_left_to_others(second, more):
    """Other keys, other values than strings, what is no JSON, and what means no character."""
    second = second if isinstance(second, bytes) else second.encode()
    assert by_kernels(ROW.encode() + second + more.encode()) is None
    assert by_kernels(second + b"\n" + ROW.encode()) is None


@pytest.mark.parametrize("odd", [{"a": 7}, {"a": None}, {"b": "later"}])
def test_files_whose_objects_differ(tmp_path, odd):
    """One object decides for its block alone: the table is that of all rows, one by one."""
    rows = [{"a": f"{k} é\n" * 200} for k in range(3000)]
    for at in (0, 1500, 2999):
        file, now = tmp_path / f"{at}.jsonl", [*rows]
        now[at] = odd
        file.write_text("".join(json.dumps(row) + "\n" for row in now))
        found = open_source(file).to_table().to_pylist()
        assert [row["a"] for row in found] == [
            None if row.get("a") is None else str(row["a"]) for row in now
        ]


def test_an_error_names_the_line(tmp_path):
    """Far down, after blocks that the kernels read."""
    file = tmp_path / "a.jsonl"
    lines = ['{"a": "' + "x" * 1500 + '"}'] * 5000
    file.write_text("\n".join([*lines, '{"a": "open}', *lines]))
    with pytest.raises(TableError, match="line 5001: this is not JSON"):
        open_source(file).to_table()
