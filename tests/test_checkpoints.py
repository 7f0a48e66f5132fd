"""`naively fit --checkpoint`: a command that dies after a checkpoint goes on to the same bits."""

import gzip
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from naively.cli import main
from naively.files import bundles
from naively.tables import inference, inputs

IN_BLOCKS = """
import sys
from naively.cli import main
from naively.tables import inference, inputs
inputs.BLOCK, inputs.HEAD, inference.CELLS = 6000, 2000, 1
sys.exit(main.run(sys.argv[1:]))
"""
"""The program with blocks as small as those of `folder`."""
ROWS = 2400


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table in several formats; blocks and the head of a table are small."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inputs, "BLOCK", 6000)  # of 6 MiB, which small files fill once
    monkeypatch.setattr(inputs, "HEAD", 2000)  # of 64 KiB, which are read at once
    monkeypatch.setattr(inference, "CELLS", 1)  # so that the head is 1,000 rows at most
    write(Path("t.csv"))
    return tmp_path


def table(seed=0, rows=ROWS):
    """Columns that depend on the label; one shows only late that it is no constant."""
    random = np.random.default_rng(seed)
    label = random.integers(0, 2, rows)
    late = np.arange(rows) > 2 * rows // 3
    return pa.table({
        "x": np.round(random.normal(size=rows) + label, 4),
        "n": random.poisson(2 + 3 * label),
        "c": np.array(["red", "a, b", "", "green"])[(random.integers(0, 3, rows) + label) % 4],
        "late": np.where(late, np.round(random.normal(size=rows), 2), 7.0),
        "w": random.integers(0, 4, rows) / 2,
        "y": np.array(["yes", "no"])[label],
    })  # fmt: skip


def write(path, **options):
    pa.csv.write_csv(table(**options), path)


def killed_each_time(monkeypatch, tokens):
    """Run a command that dies after each checkpoint, again and again, to its end; how often."""
    write, deaths = bundles.write, 0

    def last_words(*arguments):
        write(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(bundles, "write", last_words)
    while (code := main.run(tokens)) == 130:
        deaths += 1
        assert Path("half").exists()
        assert deaths < 100
    assert code == 0
    monkeypatch.setattr(bundles, "write", write)
    return deaths


def without_time(text):
    said = json.loads(text)
    del said["seconds"], said["model"]
    return said


CASES = {
    "evidence": ["t.csv", "-t", "y"],
    "product": ["t.csv", "-t", "y", "--naive"],
    "held out": ["t.csv", "-t", "y", "--naive", "--holdout", "0.3", "--seed", "5"],
    "weights": ["t.csv", "-t", "y", "--weight", "w", "--naive", "--alpha", "0.5"],
    "family": ["t.csv", "-t", "n", "--family", "kernel_density"],
    "several files": ["t.csv", "u.csv", "-t", "y"],
    "compressed": ["t.csv.gz", "-t", "y", "--naive"],
    "lines of JSON": ["t.jsonl", "-t", "y", "--naive"],
    "parquet": ["t.parquet", "-t", "y"],
    "like": ["t.csv", "--like", "m"],
    "texts": ["ham.txt", "spam.txt"],
    "documents": ["docs"],
    "texts in a table": ["texts.csv", "-t", "y", "--text", "text"],
}


@pytest.mark.parametrize("case", CASES)
def test_it_ends_with_the_bits_of_a_command_that_never_died(case, folder, capsys, monkeypatch):
    tokens = [*CASES[case], "--json"]
    if case == "several files":
        write(Path("u.csv"), seed=1)
    elif case == "compressed":
        Path("t.csv.gz").write_bytes(gzip.compress(Path("t.csv").read_bytes()))
    elif case == "lines of JSON":
        lines = [json.dumps({k: v for k, v in row.items() if v}) for row in table().to_pylist()]
        Path("t.jsonl").write_text("\n".join(lines))
    elif case == "parquet":
        pa.parquet.write_table(table(rows=80_000), "t.parquet")
    elif case == "like":
        write(Path("before.csv"), seed=2)
        assert main.run(["fit", "before.csv", "-t", "y", "-o", "m"]) == 0
    elif case in ("texts", "documents", "texts in a table"):
        random = np.random.default_rng(3)
        words = np.array([f"w{k}" for k in range(60)])
        texts = {
            label: [" ".join(random.choice(words[start : start + 40], 12)) for _ in range(300)]
            for label, start in (("ham", 0), ("spam", 20))
        }
        for label, own in texts.items():
            Path(f"{label}.txt").write_text("\n".join(own))
            (folder / "docs" / label).mkdir(parents=True)
            for k, text in enumerate(own[:150]):
                (folder / "docs" / label / str(k)).write_text(text * 3)
        lines = [f"{text},{label}" for label, own in texts.items() for text in own]
        random.shuffle(lines)
        Path("texts.csv").write_text("\n".join(["text,y", *lines]))
    capsys.readouterr()
    assert main.run(["fit", *tokens, "-o", "whole"]) == 0
    whole = without_time(capsys.readouterr().out)
    deaths = killed_each_time(
        monkeypatch, ["fit", *tokens, "-o", "parts", "--checkpoint", "half", "--every", "1"]
    )
    assert deaths >= 1
    assert without_time(capsys.readouterr().out) == whole
    assert Path("parts").read_bytes() == Path("whole").read_bytes()
    assert not Path("half").exists()


def begun(monkeypatch, *tokens):
    """A command that died after its first checkpoint."""
    write = bundles.write

    def last_words(*arguments):
        write(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(bundles, "write", last_words)
    assert main.run([*FIT, *tokens]) == 130
    monkeypatch.setattr(bundles, "write", write)


FIT = ["fit", "t.csv", "-t", "y", "-o", "m", "--naive", "--columns", "x=gaussian", "--columns",
       "n=poisson", "--columns", "c=categorical", "--columns", "late=gaussian", "--skip", "w",
       "--checkpoint", "half", "--every", "1"]  # fmt: skip


def test_another_input_is_refused_and_said_where(folder, capsys, monkeypatch):
    begun(monkeypatch)
    before = Path("half").read_bytes()
    lines = Path("t.csv").read_text().splitlines(keepends=True)
    changed = lines.copy()
    changed[5] = changed[5].replace("7", "8")
    assert changed != lines
    for content, said in (
        (changed, "t.csv: this is not what was learned before: rows 1 to "),
        ([*lines[:-1], lines[-1] * 2], None),  # the end was not learned yet
        (lines[:30], "t.csv: this is not what was learned before: rows 1 to "),
    ):
        Path("t.csv").write_text("".join(content))
        code = main.run(FIT)
        error = capsys.readouterr().err
        if said is None:
            assert code == 0, error
            assert not Path("half").exists()
            Path("half").write_bytes(before)
        else:
            assert code == 1
            assert said in error
            assert "remove half to begin anew" in error
            assert Path("half").read_bytes() == before


def test_an_input_that_ends_early_is_refused(folder, capsys, monkeypatch):
    files = []
    for k in range(4):
        write(Path(f"u{k}.csv"), seed=k, rows=20)
        files.append(f"u{k}.csv")
    tokens = ["fit", *files, *FIT[2:]]
    monkeypatch.setattr(sys.modules[__name__], "FIT", tokens)
    begun(monkeypatch)
    assert main.run(["fit", "u0.csv", *tokens[5:]]) == 1
    error = capsys.readouterr().err
    assert "it ends earlier than what was learned before" in error


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["--alpha", "0.5"], "it had no --alpha"),
        (["--seed", "3"], "it had no --seed"),
        (["--holdout", "0.5"], "it had no --holdout"),
    ],
)
def test_another_command_is_refused(tokens, said, folder, capsys, monkeypatch):
    begun(monkeypatch)
    assert main.run([*FIT, *tokens]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert "half is of another command" in error
    assert Path("half").exists()
    assert not Path("m").exists()


def test_a_damaged_checkpoint_is_refused(folder, capsys, monkeypatch):
    begun(monkeypatch)
    good = Path("half").read_bytes()
    at = np.random.default_rng(0).integers(0, len(good), 40)
    for place in at.tolist():
        bad = bytearray(good)
        bad[place] ^= 1
        Path("half").write_bytes(bad)
        assert main.run(FIT) == 1
        assert "half is" in capsys.readouterr().err
    Path("half").write_bytes(good[:1000])
    assert main.run(FIT) == 1
    Path("half").write_bytes(b"x,y\n1,2\n")
    assert main.run(FIT) == 1
    assert "half is no checkpoint of naively, or a damaged one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["--every", "5"], "--every is for --checkpoint"),
        (["--checkpoint", "h", "--every", "0"], "--every must be at least 1"),
        (["--checkpoint", "m"], "m is to be the model"),
        (["--checkpoint", "t.csv"], "t.csv is among the files that are read"),
        (["--checkpoint", "none/h"], "there is no folder 'none'"),
    ],
)
def test_options_that_make_no_sense_are_refused(tokens, said, folder, capsys):
    assert main.run(["fit", "t.csv", "-t", "y", "-o", "m", *tokens]) != 0
    assert said in capsys.readouterr().err
    assert not Path("m").exists()


def test_standard_input_is_given_again(folder, monkeypatch):
    """Pipes of any pace: what is skipped has the same digests."""
    content = Path("t.csv").read_bytes()
    assert len(content) > 5 * 6000
    tokens = [sys.executable, "-c", IN_BLOCKS, "fit", "-", "-t", "y", "--naive", "-o"]
    assert subprocess.run([*tokens, "whole"], input=content, check=True, capture_output=True)
    tokens += ["parts", "--checkpoint", "half", "--every", "1"]
    cut = len(content) - 1000
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}  # so that nothing is read ahead
    with subprocess.Popen(
        tokens, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env=alone
    ) as process:
        process.stdin.write(content[:cut])  # it waits for the rest
        process.stdin.flush()
        end = time.monotonic() + 60
        while not Path("half").exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        process.kill()
    done = subprocess.run(tokens, input=content, check=True, capture_output=True, text=False)
    assert b"were learned before" in done.stderr
    assert Path("parts").read_bytes() == Path("whole").read_bytes()


def test_a_full_disk_leaves_the_old_checkpoint_whole(folder, monkeypatch):
    begun(monkeypatch)
    before = Path("half").read_bytes()

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    tokens = [sys.executable, "-c", IN_BLOCKS, *FIT]
    done = subprocess.run(tokens, preexec_fn=full, capture_output=True, text=True)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert Path("half").read_bytes() == before
    assert not list(folder.glob(".half*"))
