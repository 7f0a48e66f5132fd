"""Arrow from untrusted clients: nothing ends the process, or is followed out of bounds."""

import datetime
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from arrow_bodies import LEARNED, ROWS, leading_nowhere, odd, unreadable, with_column
from product import run

from naively import NaiveBayes
from naively.io.arrow import checked
from naively.tables.values import plain, readable, unviewed

CUT = pa.array([None, "a", "more than the twelve bytes of a view", ""] * 3, pa.string_view())
NESTED = pa.array([["a", None], None, ["more than the twelve bytes of a view"]] * 3,
                  pa.list_(pa.string_view()))  # fmt: skip
KIND = pa.struct({"a": pa.string_view(), "c": pa.int8()})
FIELDS = pa.array([{"a": "b", "c": 1}, None] * 3, KIND)


def as_program(path, *arguments):
    """Run a script of the tests; what it said at the end, if it crashed or failed."""
    command = [sys.executable, str(Path(__file__).with_name(path)), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])


@pytest.mark.slow
def test_no_damaged_file_ends_a_command_without_a_message(tmp_path):
    as_program("arrow_bodies.py", tmp_path, 0, 100)


@pytest.mark.parametrize("column", [CUT, NESTED, FIELDS], ids=["text", "lists", "structures"])
def test_views_become_other_types_with_the_same_values(column):
    for own in (
        column,
        column[1:],
        column[2:5],
        column[:0],
        pa.chunked_array([column, column[1:]]),
    ):
        found = unviewed(own)
        found.validate(full=True)
        assert found.to_pylist() == own.to_pylist()
        assert "view" not in str(found.type)


def test_views_of_missing_values_lead_nowhere(tmp_path):
    """In a process of its own, which ended here."""
    answers = []
    for k, kind in enumerate((pa.string_view(), pa.binary_view())):
        path = tmp_path / f"{k}.arrow"
        path.write_bytes(with_column("job", leading_nowhere(kind)))
        script = (
            "import sys; from naively.io.sources import open_source; "
            "print([one.column('job').to_pylist() for one in open_source(sys.argv[1]).batches()])"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)], capture_output=True, text=True
        )
        answers.append(done.stdout.strip())
    values = ["a", None] * (ROWS // 2)
    assert answers == [str([values]), str([[v and v.encode() for v in values]])]


@pytest.mark.parametrize("name", list(unreadable()))
def test_a_type_that_cannot_be_read_is_named(name, tmp_path, capsys):
    model, path = tmp_path / "m.model", tmp_path / "x.arrow"
    NaiveBayes().fit(LEARNED, "rich").save(model)
    path.write_bytes(unreadable()[name])
    assert run(["predict", str(model), str(path)]) == 1
    said = capsys.readouterr().err
    assert "x.arrow: column 'age' is of type " in said
    assert "values cannot be read: convert it, or leave it out" in said


def test_what_is_odd_can_be_read_by_its_meaning():
    columns = odd()
    zone = plain(columns["the time zone Europe/Nowhere"])
    assert zone.to_pylist()[:2] == [
        datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2001, 9, 9, 1, 46, 40, tzinfo=datetime.UTC),
    ]
    assert plain(columns["far days"]).to_pylist()[:3] == [
        "+5881580-07-11", "-5877641-06-23", "+10000-01-01",
    ]  # fmt: skip
    for column in columns.values():
        checked(pa.record_batch({"a": column}))
        assert len(readable(column).to_pylist()) == ROWS


def test_lists_of_polars_are_left_out_with_a_reason(tmp_path, capsys):
    """Their text is of views, which Arrow cannot filter: rows without a label ended the command."""
    path = tmp_path / "t.arrow"
    rows = {"a": [1.5, 2.5, 3.5, 4.5] * 10, "tags": [["x"], ["y", "long " * 9], None, []] * 10}
    pl.DataFrame(rows | {"y": ["n", "y", "n", None] * 10}).write_ipc(path)
    assert run(["fit", str(path), "--target", "y", "-o", str(tmp_path / "m")]) == 0
    assert "tags" in capsys.readouterr().out
