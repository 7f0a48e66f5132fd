"""The first lines of delimited text: names that look like values, and Orange's three lines."""

import subprocess
import warnings

import pytest

import naively
from naively.cli.main import run
from naively.io.formats.delimited import header_hint
from naively.io.sources import TableError, open_source

ORANGE = "age\tsex\tlived\nc\td\tdiscrete\nmeta\t\tclass\n30\tmale\tno\n40\tfemale\tyes\n"


def rows(path):
    """The rows of a file, as text."""
    found = open_source(path)
    return [tuple(row.values()) for batch in found.batches() for row in batch.to_pylist()]


def file(folder, text, name="table.csv"):
    path = folder / name
    path.write_text(text, newline="")
    return path


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "5.1,3.5,1.4,0.2,setosa", "39,State-gov,77516,Bachelors,13", "-1,a", "true,3",
        "a,2020-01-31", "12:30,b", "1e-3,x", "2020,2019,country",
    ],
)  # fmt: skip
def test_a_first_line_of_values_is_doubted(line):
    assert "the first line looks like values, not like names" in header_hint(line.split(","))


@pytest.mark.parametrize(
    "line",
    [
        "age,sex", "country,1990,1991,1992", "0,1,2,3,label", "NA,Mg,Al", "", "?,x", "v1.5,v1.6",
        "02139,b", "text", "2020-01,2020-02", "x,1", "a b,-,+", "1e,e1", "Unnamed: 0,a",
    ],
)  # fmt: skip
def test_names_are_not(line):
    assert header_hint(line.split(",")) == ""


def test_a_file_without_names_has_a_note(tmp_path, capsys):
    path = file(tmp_path, "5.1,3.5,0\n4.9,3.0,0\n6.2,2.9,1\n5.9,3.2,1\n")
    with pytest.warns(UserWarning, match=r"table\.csv: the first line looks like .* '5.1', '3.5'"):
        assert naively.scan(path).names == ["5.1", "3.5", "0"]
    assert run(["fit", str(path), "--target", "0", "-o", str(tmp_path / "m")]) == 0
    assert "note: " in (said := capsys.readouterr().err)
    assert "add a line with the column names" in said


def test_names_have_no_note(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert naively.scan(file(tmp_path, "a,2019,2020\n5.1,2,3\n")).hint == ""


def test_equal_values_in_place_of_names(tmp_path):
    with pytest.raises(
        TableError,
        match=r"table\.csv: the first line looks like values, not like names: '0.5', '0.5'",
    ):
        open_source(file(tmp_path, "0.5,0.5\n1,2\n"))
    with pytest.raises(TableError, match=r"several columns are named 'a'; give them other names$"):
        open_source(file(tmp_path, "a,a\n1,2\n"))


# ---- Orange --------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_types_and_flags_are_refused(tmp_path, end):
    path = file(tmp_path, ORANGE.replace("\n", end), "table.tab")
    with pytest.raises(TableError, match=r"lines 2 and 3 are types and flags.*sed '2,3d'"):
        open_source(path)


def test_a_real_file_of_orange_is_refused(data_folder):
    with pytest.raises(TableError, match="lines 2 and 3"):
        open_source(data_folder / "lenses" / "lenses.tab")


def test_letters_are_rows(tmp_path):
    path = tmp_path / "dna.tab"
    path.write_text("x\ty\nc\tt\nc\tc\na\tt\n")
    assert len(rows(path)) == 3


def test_names_of_thousands_of_digits_are_names(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("1" * 5000 + "," + "2" * 5000 + "\n1,2\n")
    assert len(rows(path)) == 1


def test_marks_of_byte_order_are_no_part_of_a_name(tmp_path):
    path = tmp_path / "joined.csv"
    path.write_bytes(b"\xef\xbb\xbf" * 2 + b"a,b\n1,2\n")
    assert naively.scan(path).names == ["a", "b"]


# ---- lines that are no rows ----------------------------------------------------------------------


def read(tmp_path, text, name="t.csv"):
    """(the table in a file, what is said of it)."""
    (tmp_path / name).write_text(text, newline="")
    source = open_source(tmp_path / name)
    return source.to_table().to_pydict(), source.hint


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("said", ["sep=;", '"sep=;"'])
def test_excel_says_the_delimiter_in_the_first_line(said, end, tmp_path):
    found, hint = read(tmp_path, end.join([said, "a,b;c", "1,5;u", "2,5;v", ""]))
    assert found == {"a,b": ["1,5", "2,5"], "c": ["u", "v"]}
    assert hint == ""
    (tmp_path / "bad.csv").write_text("sep=;\na;b\n1;2;3\n")
    with pytest.raises(TableError, match="line 3: expected 2 fields, got 3"):
        open_source(tmp_path / "bad.csv").to_table()


@pytest.mark.parametrize("rows", [3, 200_000])
def test_lines_that_repeat_the_header_are_no_rows(rows, tmp_path, monkeypatch):
    """Files that were joined have one each, perhaps after a mark of their encoding."""
    body = "".join(f"{k},{k % 7},w\n" for k in range(rows))
    joined = f"a,b,c\n{body}\ufeffa,b,c\n{body}a,b,c\n"
    found, hint = read(tmp_path, joined)
    once, _ = read(tmp_path, "a,b,c\n" + 2 * body)
    assert found == once
    assert hint == ""
    quoted = 'a,b\n1,"x\na,b\ny"\na,b\n2,z\n'  # a field is no line
    assert read(tmp_path, quoted)[0] == {"a": [1, 2], "b": ["x\na,b\ny", "z"]}
    (tmp_path / "bad.csv").write_text("a,b\n1,2\na,b\n1,2,3\n")
    with pytest.raises(TableError, match="line 4: expected 2 fields, got 3"):
        open_source(tmp_path / "bad.csv").to_table()


def test_a_first_row_without_names_is_noticed(tmp_path):
    """Its values come again below; it is a name all the same, and no row like it is left out."""
    rows = ["5,cat,red", "6,dog,blue", "5,cat,red", "7,cat,blue"]
    found, hint = read(tmp_path, "\n".join(rows) + "\n")
    assert hint.endswith(
        "the first line looks like values, not like names: '5', 'cat'; if it is a row, add a line "
        "with the column names above it"
    )
    assert len(found["cat"]) == 3
    named, hint = read(tmp_path, "\n".join(["n,animal,colour", *rows]) + "\n")
    assert hint == ""
    assert len(named["n"]) == 4


def test_units_and_totals_are_noticed(tmp_path):
    for text, said in (
        ("a,b,c\nkg,cm,x\n1,2,u\n3,4,v\n5,6,u\n", "looks like units, not like a row: 'kg', 'cm'"),
        ("k,a\nx,1\ny,3\nTotal,4\n", "the last line looks like totals"),
        ("a,b,c\nNA,?,x\n1,2,u\n3,4,v\n5,6,u\n", ""),
        ("a,b,c\n0,1,x\n1,2,u\n3,4,v\n5,6,u\n", ""),
    ):
        hint = read(tmp_path, text)[1]
        assert said in hint
        assert bool(said) == bool(hint)


def test_columns_apart_by_blanks_are_refused_with_what_to_do(tmp_path):
    lines = "  a   b c\n  1   2 u\n 33   4 v\n  5  6 w\n"
    with pytest.raises(TableError, match="columns are separated by blanks") as said:
        read(tmp_path, lines)
    script = str(said.value).partition(": sed")[2]
    subprocess.run(f"sed{script}", shell=True, cwd=tmp_path, check=True)
    converted = (tmp_path / "commas.csv").read_text()
    assert read(tmp_path, converted)[0] == {"a": [1, 33, 5], "b": [2, 4, 6], "c": ["u", "v", "w"]}
    sentences = "review text\ngood film\nbad film\n3 stars\n"
    assert read(tmp_path, sentences)[0] == {"review text": ["good film", "bad film", "3 stars"]}


@pytest.mark.parametrize("name", ["t.txt", "t.csv", "t.train"])
def test_lines_for_fasttext_are_refused_with_what_to_do(name, tmp_path, monkeypatch):
    lines = "__label__spam win, money\n__label__ham hello you\n"
    with pytest.raises(TableError, match="as fastText writes them") as said:
        read(tmp_path, lines, name)
    monkeypatch.chdir(tmp_path)
    subprocess.run(str(said.value).partition("of them: ")[2], shell=True, check=True)
    expected = {"label": ["spam", "ham"], "text": ["win, money", "hello you"]}
    assert open_source("texts.tsv").to_table().to_pydict() == expected


def test_a_closed_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(TableError, match="standard input is closed"):
        open_source("-")
