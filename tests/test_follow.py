"""`naively follow`: files that appear, rows that come; nothing lost, nothing counted twice."""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from test_checkpoints import table

from naively.cli import main
from naively.cli.amounts import Amount, amount
from naively.cli.errors import UsageError
from naively.cli.followed import KEY
from naively.cli.options import learned_question
from naively.files.safetensors import load, to_bytes
from naively.study.progressive import Progressive
from naively.tables.learning import merge, plan, summarise

COMMAND = [sys.executable, "-m", "naively"]
PATIENCE = 60
END = ["--until-idle", "0.2"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A model of a few rows, and a folder with two files of others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("naively.cli.following.LOOK", 0.05)
    rows = table(rows=1000)
    pa.csv.write_csv(rows.slice(0, 400), "first.csv")
    assert main.run(["fit", "first.csv", "-t", "y", "--naive", "-o", "m"]) == 0
    Path("in").mkdir()
    pa.csv.write_csv(rows.slice(400, 300), "in/a.csv")
    pa.csv.write_csv(rows.slice(700, 300), "in/b.csv")
    shutil.copy("m", "fitted")
    return tmp_path


@pytest.fixture
def fading(folder):
    """The same without the column whose family changes."""
    assert main.run(["fit", "first.csv", "-t", "y", "--naive", "--skip", "late", "-o", "m"]) == 0
    shutil.copy("m", "fitted")


def own(rows, model):
    """What such a model learns of some rows alone."""
    question = learned_question(load("fitted"), None)
    return summarise(plan([rows], question, model), rows)


def follow(*tokens, code=0):
    assert main.run(["follow", "in", "-m", "m", *END, *tokens]) == code


def updated(*files):
    """The model that learned these files by `naively update`."""
    shutil.copy("fitted", "expected")
    assert main.run(["update", "expected", *files]) == 0
    return load("expected").model


def test_a_folder_is_learned_once(folder, capsys):
    follow()
    assert load("m").model == updated("in/a.csv", "in/b.csv")
    before = Path("m").read_bytes()
    follow()
    assert Path("m").read_bytes() == before
    shutil.copy("in/a.csv", "elsewhere.csv")
    shutil.move("elsewhere.csv", "in/a.csv")  # other times, the same file
    follow()
    assert Path("m").read_bytes() == before
    pa.csv.write_csv(table(seed=1, rows=50), "in/c.csv")
    follow()
    assert load("m").model == updated("in/a.csv", "in/b.csv", "in/c.csv")


def test_hidden_temporary_and_empty_files_wait(folder):
    for name in (".a.csv", "_a.csv", "a.csv.tmp", "a.csv.part", "a.csv~", "a.crdownload"):
        shutil.copy("in/a.csv", f"in/{name}")
    Path("in/empty.csv").touch()
    Path("in/inner").mkdir()
    shutil.move("m", "in/m")  # the model is no data either
    assert main.run(["follow", "in", "-m", "in/m", *END]) == 0
    assert load("in/m").model == updated("in/a.csv", "in/b.csv")


def test_a_file_that_grows_is_waited_for(folder):
    lines = Path("in/b.csv").read_bytes().splitlines(keepends=True)
    os.truncate("in/b.csv", 0)

    def slowly():
        with Path("in/b.csv").open("ab") as file:
            for at in range(0, len(lines), 30):
                file.write(b"".join(lines[at : at + 30]))
                file.flush()
                time.sleep(0.02)

    writer = threading.Thread(target=slowly)
    writer.start()
    try:
        assert main.run(["follow", "in", "-m", "m", "--until-idle", "2"]) == 0
    finally:
        writer.join()
    assert load("m").model == updated("in/a.csv", "in/b.csv")


def test_a_file_that_grew_afterwards_is_refused_and_a_replaced_one_learned(folder, capsys):
    follow()
    before = Path("m").read_bytes()
    with Path("in/a.csv").open("a") as file:
        file.write('0.5,3,"red",7,1,"yes"\n')
    capsys.readouterr()
    follow(code=1)
    error = capsys.readouterr().err
    assert "in/a.csv: has grown since it was learned; its rows are not learned again" in error
    assert "1 file could not be learned: a.csv" in error
    assert Path("m").read_bytes() == before
    pa.csv.write_csv(table(seed=1, rows=50), "in/a.csv")
    shutil.copy("in/b.csv", "in/copy.csv")
    rows = load("m").model.rows
    follow()
    error = capsys.readouterr().err
    assert "in/a.csv was replaced since it was learned: it counts again" in error
    assert "in/copy.csv holds the bytes of b.csv, which was learned: it counts again" in error
    assert load("m").model.rows == rows + 50 + 300


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x,n,c,late,w,y\n1,2,red,7,1,yes\n1,2\n", "line 3: expected 6 fields, got 2"),
        ("x,n\n1,2\n", "there is no column 'y'"),
        ("x,n,y\n1,2,\n", "every cell of the target column 'y' is empty"),
        ("p,y\n1,yes\n", "it has none of the columns that the model learned"),
        ("x,n,c,late,w,y\n1,2,\xff,7,1,yes\n", "is no UTF-8 text"),
    ],
)
def test_a_bad_file_is_left_out_whole_and_said(content, said, folder, capsys):
    Path("in/aa.csv").write_bytes(content.encode("latin-1"))
    follow(code=1)
    error = capsys.readouterr().err
    assert said in error
    assert error.count("not learned: in/aa.csv") == 1, "said once"
    assert "1 file could not be learned: aa.csv" in error
    assert load("m").model == updated("in/a.csv", "in/b.csv")
    Path("in/aa.csv").write_bytes(Path("in/a.csv").read_bytes() + b'1,2,"red",7,1,"yes"\n')
    follow()  # mended
    assert load("m").model == updated("in/a.csv", "in/b.csv", "in/aa.csv")


def test_fading_by_rows_depends_on_no_files_and_no_pace(fading):
    follow("--half-life", "160", "--progressive")
    whole = Path("in/a.csv").read_text() + "".join(
        Path("in/b.csv").read_text().splitlines(keepends=True)[1:]
    )
    model = load("fitted").model
    rows = table(rows=1000).slice(400)
    for at in range(0, 600, 10):  # a sixteenth of the half-life
        model = merge(model, own(rows.slice(at, 10), model))
        model.decay(2 ** (-10 / 160))
    assert load("m").model == model
    for pace in (len(whole), 1000):
        shutil.copy("fitted", "piped")
        with subprocess.Popen(
            [*COMMAND, "follow", "-", "-m", "piped", "--half-life", "160"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            for at in range(0, len(whole), pace):
                process.stdin.write(whole[at : at + pace].encode())
                process.stdin.flush()
                time.sleep(0.01)
            process.stdin.close()
            assert process.wait(PATIENCE) == 0
        assert load("piped").model == model


def test_fading_goes_on_after_a_restart(fading):
    follow("--half-life", "1000")
    whole = to_bytes(load("m"))
    shutil.copy("fitted", "m")
    shutil.move("in/b.csv", "b.csv")
    follow("--half-life", "1000")
    assert json.loads(load("m").extra[KEY])["since"] == 300 % 62
    shutil.move("b.csv", "in/b.csv")
    follow("--half-life", "1000")
    assert to_bytes(load("m")) == whole


def test_fading_by_time(fading, monkeypatch):
    """By the clock, whether the program runs or not."""
    now = [1e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    shutil.move("in/b.csv", "b.csv")
    follow("--half-life", "12h")
    assert load("m").model == updated("in/a.csv"), "no time has gone by"
    now[0] += 6 * 3600
    shutil.move("b.csv", "in/b.csv")
    follow("--half-life", "12h")
    expected = updated("in/a.csv")
    expected.decay(2**-0.5)
    assert load("m").model == merge(expected, own(table(rows=1000).slice(700), expected))
    now[0] += 1e9  # a very long time: old rows weigh next to nothing, and the model is still one
    pa.csv.write_csv(table(seed=1, rows=50), "in/c.csv")
    follow("--half-life", "1s")
    assert load("m").model.class_weight.rounded().sum() == pytest.approx(50, abs=1e-9)


@pytest.mark.parametrize("tokens", [["--naive"], []])
def test_each_row_is_tested_before_it_is_learned(tokens, folder, capsys):
    assert main.run(["fit", "first.csv", "-t", "y", "-o", "m", *tokens]) == 0
    shutil.copy("m", "before")
    capsys.readouterr()
    follow("--progressive", "--json")
    *_, last, done = map(json.loads, capsys.readouterr().out.splitlines())
    right = loss = 0
    for name in ("in/a.csv", "in/b.csv"):
        assert main.run(["evaluate", "before", name, "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        right += 300 * said["accuracy"]
        loss += 300 * said["log_loss"]
        assert main.run(["update", "before", name]) == 0
        capsys.readouterr()
    assert last["rows"] == last["recent_rows"] == 600
    assert last["accuracy"] == last["recent_accuracy"] == pytest.approx(right / 600)
    assert last["log_loss"] == pytest.approx(loss / 600)
    assert last["recent_log_loss"] == pytest.approx(loss / 600)
    assert done == {"model": "m", "learned": 600, "files": 2, "not_learned": {}}


def test_running_scores():
    random = np.random.default_rng(0)
    truth = random.integers(-1, 3, 2500)
    log_proba = np.log(random.dirichlet(np.ones(3), 2500))
    found = Progressive()
    for rows in np.array_split(np.arange(2500), 7):
        found.add(truth[rows], log_proba[rows])
    said = found.as_json()
    known = truth >= 0
    right = log_proba.argmax(axis=1) == truth
    losses = -log_proba[np.arange(2500), truth]
    assert (said["rows"], said["unknown"]) == (2500, (~known).sum())
    assert said["accuracy"] == pytest.approx(right.mean())
    assert said["log_loss"] == pytest.approx(losses[known].mean())
    assert said["recent_rows"] == 1000
    assert said["recent_accuracy"] == pytest.approx(right[-1000:].mean())
    assert said["recent_log_loss"] == pytest.approx(losses[-1000:][known[-1000:]].mean())
    assert Progressive().as_json()["accuracy"] is None


@contextlib.contextmanager
def resident(*tokens, **options):
    """A `naively follow` that goes on."""
    process = subprocess.Popen(
        [*COMMAND, "follow", *tokens], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, **options,
    )  # fmt: skip
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


def learned(rows, path="m"):
    """Wait until a model file has so many rows."""
    end = time.monotonic() + PATIENCE
    while load(path).model.rows != rows:
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_what_was_learned_is_written_at_the_end(which, folder):
    row = b'0.5,3,"red",7,1,"yes"\n'
    with resident("-", "-m", "m", "--every", "1h", "--progressive") as process:
        process.stdin.write(Path("in/a.csv").read_bytes())
        os.set_blocking(process.stdout.fileno(), False)
        sent, said = 0, None
        while not said and process.poll() is None:  # a line on rows that were learned
            process.stdin.write(row)
            process.stdin.flush()
            sent += 1
            time.sleep(0.1)
            said = process.stdout.read()
        process.stdin.write(b'0.5,3,"red",')  # of a row that never ends
        process.stdin.flush()
        process.send_signal(which)
        assert process.wait(PATIENCE) == 0
    assert 700 < load("m").model.rows <= 700 + sent


def test_a_folder_is_left_in_good_order(folder):
    def end():
        learned(1000)
        os.kill(os.getpid(), signal.SIGTERM)

    ender = threading.Thread(target=end)
    ender.start()
    assert main.run(["follow", "in", "-m", "m"]) == 0
    ender.join()
    assert load("m").model == updated("in/a.csv", "in/b.csv")
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_pause_is_time_to_write(folder):
    with resident("-", "-m", "m", "--every", "0.2s") as process:
        process.stdin.write(Path("in/a.csv").read_bytes())
        process.stdin.flush()
        learned(700)
        process.stdin.write(b'0.5,3,"red",7,1,"yes"\n')
        process.stdin.flush()
        learned(701)


def test_what_came_before_a_bad_row_is_kept(folder):
    content = Path("in/a.csv").read_bytes()
    with resident("-", "-m", "m", "--every", "1h") as process:
        process.stdin.write(content)
        process.stdin.flush()
        time.sleep(2)
        _, said = process.communicate(b"1,2\n", timeout=PATIENCE)
        assert process.returncode == 1
        assert b"expected 6 fields, got 2" in said
    assert load("m").model.rows in (400, 700)  # in one block with it, or before


def test_another_command_may_change_the_model_meanwhile(folder):
    pa.csv.write_csv(table(seed=9, rows=70), "other.csv")
    with resident("-", "-m", "m", "--every", "700") as process:
        process.stdin.write(Path("in/a.csv").read_bytes())
        process.stdin.flush()
        time.sleep(2)
        assert main.run(["update", "m", "other.csv"]) == 0
        rest = Path("in/b.csv").read_bytes().split(b"\n", 1)[1]
        _, said = process.communicate(rest, timeout=PATIENCE)
        assert process.returncode == 0, said
    assert load("m").model == updated("in/a.csv", "in/b.csv", "other.csv")


def test_two_that_follow_the_same_folder_count_nothing_twice(folder):
    for k in range(12):
        pa.csv.write_csv(table(seed=k, rows=40 + k), f"in/more{k:02d}.csv")
    both = [
        subprocess.Popen([*COMMAND, "follow", "in", "-m", "m", "--every", "1", *END],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]  # fmt: skip
    assert [one.wait(PATIENCE) for one in both] == [0, 0]
    assert load("m").model == updated(*sorted(map(str, Path("in").iterdir())))


def test_sums_know_the_files_of_all(folder):
    follow()
    shutil.copy("fitted", "n")
    Path("out").mkdir()
    pa.csv.write_csv(table(seed=1, rows=50), "out/c.csv")
    assert main.run(["follow", "out", "-m", "n", *END]) == 0
    assert main.run(["merge", "m", "n", "-o", "m"]) == 0
    before = Path("m").read_bytes()
    shutil.copy("out/c.csv", "in/c.csv")
    follow()
    assert Path("m").read_bytes() == before


def test_a_full_disk_leaves_the_old_model_whole(folder):
    before = Path("m").read_bytes()

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = subprocess.run(
        [*COMMAND, "follow", "in", "-m", "m", *END], preexec_fn=full, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert Path("m").read_bytes() == before
    follow()
    assert load("m").model == updated("in/a.csv", "in/b.csv")


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["none", "-m", "m"], "none: there is no such folder"),
        (["first.csv", "-m", "m"], "`naively update` learns a file"),
        (["in", "-m", "none"], "none: there is no such model file"),
        (["in", "-m", "m", "--half-life", "0"], "--half-life 0: write a number of rows"),
        (["in", "-m", "m", "--every", "5 minutes"], "or a time, as 30s"),
        (["in", "-m", "m", "--until-idle", "0"], "--until-idle must be above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(tokens, said, folder, capsys):
    assert main.run(["follow", *tokens]) != 0
    assert said in capsys.readouterr().err


def test_amounts():
    assert amount("every", "10000") == Amount(rows=10_000)
    assert amount("every", "1.5h") == Amount(seconds=5400)
    assert amount("every", "2w") == Amount(seconds=14 * 86400)
    for text in ("", "1.5", "-3", "0d", "d", "1e3", "inf"):
        with pytest.raises(UsageError, match="write a number of rows"):
            amount("every", text)
