"""Rows through a pipe, at any pace, in any pieces, are predicted as they arrive."""

import contextlib
import csv
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from product import run
from test_cli import COMMAND

from naively.core.workers import in_order
from naively.io import inputs
from naively.io.sources import open_source

PATIENCE = 60  # seconds, after which an answer will never come
ROWS = [(f"{i % 7 / 2}", "red, dark" if i % 3 else "blue", "yes" if i % 3 else "no")
        for i in range(300)]  # fmt: skip
HAM, SPAM = ["lunch at noon", "see you at lunch"], ["free prize now", "win a free prize"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A model of a table, one of lines, and the table in several formats."""
    monkeypatch.chdir(tmp_path)
    for name, delimiter in (("t.csv", ","), ("t.tsv", "\t")):
        with Path(name).open("w", newline="") as file:
            csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(
                [("size", "colour", "y"), *ROWS]
            )
    with Path("t.jsonl").open("w") as file:
        file.writelines(
            json.dumps({"size": float(a), "colour": b, "y": c}) + "\n" for a, b, c in ROWS
        )
    Path("ham.txt").write_text("".join(f"{text}\n" for text in HAM))
    Path("spam.txt").write_text("".join(f"{text}\n" for text in SPAM))
    assert run(["fit", "t.csv", "--target", "y", "-o", "m"]) == 0
    assert run(["fit", "ham.txt", "spam.txt", "-o", "spam.model"]) == 0
    return tmp_path


@contextlib.contextmanager
def resident(*tokens):
    """A `naively predict` that goes on as long as its input; dead if it does not answer."""
    process = subprocess.Popen(
        [*COMMAND, "predict", *tokens], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()
    try:
        yield process
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def send(process, data):
    """Bytes, at once."""
    os.write(process.stdin.fileno(), data.encode())


def answers(process, count=1):
    """The last column of so many lines."""
    lines = [process.stdout.readline().decode() for _ in range(count)]
    return [next(csv.reader([line]))[-1] for line in lines]


def said(path, model="m"):
    """The predictions for a file."""
    tokens = [*COMMAND, "predict", model, path, "--only"]
    done = subprocess.run(tokens, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[1:]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_each_row_of_a_table_is_answered(name, folder):
    header, *rows = Path(name).read_text().splitlines()
    expected = said(name)
    assert len(set(expected)) == 2
    with resident("m", "-", "--only") as process:
        send(process, header + "\n")  # rows come when they come
        for i, (row, own) in enumerate(zip(rows[:20], expected, strict=False)):
            send(process, row + "\n")
            if i == 0:
                assert answers(process) == ["prediction"]
            assert answers(process) == [own]
        send(process, "".join(f"{row}\n" for row in rows[20:]))
        assert answers(process, len(rows) - 20) == expected[20:]


def test_each_json_line_is_answered(folder):
    lines = Path("t.jsonl").read_text().splitlines()
    with resident("m", "--json") as process:
        for line, own in zip(lines[:20], said("t.jsonl"), strict=False):
            send(process, line + "\n")
            assert json.loads(process.stdout.readline()) == {
                "prediction": own, "row": json.loads(line),
            }  # fmt: skip


def test_each_line_of_text_is_answered(folder):
    with resident("spam.model") as process:
        send(process, "free prize, now\n")
        assert process.stdout.readline() == b"prediction,text\n"
        assert answers(process) == ["free prize, now"]
        send(process, "at noon\n")
        assert process.stdout.readline() == b"ham,at noon\n"


def test_rows_cut_anywhere(folder):
    data = 'size,colour,y\r\n0.5,"blue",\r\n1.5,"red, dark",\r\n2,"bl\nue",\r\n0.5,blue,no\r\n'
    Path("cut.csv").write_text(data, newline="")
    with resident("m", "--only") as process:
        for byte in data:
            send(process, byte)
        process.stdin.close()
        assert answers(process, 5)[1:] == said("cut.csv")


def test_whole_rows_are_answered_before_a_half_one(folder):
    with resident("m", "--only") as process:
        send(process, "size,colour\n" + "0.5,blue\n" * 3000 + '1.5,"red')
        assert answers(process, 3001) == ["prediction"] + ["no"] * 3000
        send(process, ', dark"\n')
        assert answers(process) == ["yes"]
        send(process, "0.5,blue")  # the last line need not end
        process.stdin.close()
        assert answers(process) == ["no"]


def test_a_first_row_of_another_type(folder):
    rows = ["1,", "x,blue", "0.5,7", ",blue", "2.5,blue"]
    Path("odd.csv").write_text("\n".join(["size,colour", *rows]) + "\n")
    with resident("m", "--only") as process:
        send(process, "size,colour\n" + rows[0] + "\n")
        found = answers(process, 2)[1:]
        for row in rows[1:]:
            send(process, row + "\n")
            found += answers(process)
    assert found == said("odd.csv")


@pytest.mark.parametrize(
    ("line", "own"),
    [("text, call me now", "text, call me now"), ("text", "text"), ("label,text", "label,text")],
)
def test_a_line_that_looks_like_a_header(line, own, folder):
    with resident("spam.model") as process:
        send(process, f"{line}\n")
        process.stdin.close()
        header, answer = csv.reader(process.stdout.read().decode().splitlines())
    assert header == ["prediction", "text"]
    assert answer[0] in ("ham", "spam")
    assert answer[1] == own


def test_a_header_of_documents_comes_before_its_rows(folder):
    with resident("spam.model", "-") as process:
        send(process, "label,text\n")
        send(process, "ham,free prize\n")
        assert process.stdout.readline() == b"label,text,prediction\n"
        assert process.stdout.readline() == b"ham,free prize,spam\n"


def test_the_pace_of_a_pipe_does_not_cut_what_is_learned(folder, monkeypatch):
    """Rows held out are drawn by block: those of a slow pipe are the blocks of a file."""
    monkeypatch.setattr(inputs, "BLOCK", 1000)  # of 6 MiB, which small files fill once
    data = Path("t.csv").read_bytes()
    whole = [batch.num_rows for batch in open_source("t.csv").batches()]
    assert len(whole) > 3
    reading, writing = os.pipe()

    def slowly():
        for start in range(0, len(data), 77):
            os.write(writing, data[start : start + 77])
        os.close(writing)

    writer = threading.Thread(target=slowly)
    writer.start()
    with os.fdopen(reading) as file:
        monkeypatch.setattr(sys, "stdin", file)
        found = [batch.num_rows for batch in open_source("-").batches()]
    writer.join()
    assert found == whole


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_pause_gives_all_results_first(threads):
    seen = []

    def items():
        yield from (1, 2, None)
        assert seen == [10, 20]
        yield from (3, None, None)
        assert seen == [10, 20, 30]
        yield 4

    for result in in_order(lambda item: 10 * item, items(), threads):
        seen.append(result)  # noqa: PERF402 - seen while it grows
    assert seen == [10, 20, 30, 40]
