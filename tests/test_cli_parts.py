"""Named parts on the command line: `--part`, `--replace`, `--keep`, and forged files."""

import errno
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from forging import forge, parts
from kit import slow

import naively
from naively.cli.main import run
from naively.storage.digest import digest
from naively.storage.model_files import ModelFileError, load

COMMAND = [sys.executable, "-m", "naively"]


def rows(n, seed, shops=("north", "south")):
    draw = np.random.default_rng(seed)
    y = draw.choice(["yes", "no"], n)
    x = np.where(y == "yes", 1.0, 0.0) + draw.normal(size=n)
    return pd.DataFrame({"x": x.round(3), "shop": draw.choice(shops, n), "y": y})


@pytest.fixture(params=["--naive", None])
def options(request):
    """What `fit` is given: a product, or evidence that is weighed."""
    return [request.param] if request.param else []


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in range(4):
        rows(40 + seed, seed).to_csv(f"{seed}.csv", index=False)
    return tmp_path


def done(*tokens):
    assert run([*map(str, tokens)]) == 0


def refused(capsys, status, *tokens):
    """What is said of a command that fails, and that it changes nothing."""
    held = {path: path.read_bytes() for path in Path().iterdir()}
    capsys.readouterr()
    assert run([*map(str, tokens)]) == status
    assert {path: path.read_bytes() for path in Path().iterdir()} == held
    return capsys.readouterr().err


def listed(capsys, path="m"):
    """{part: rows} that `inspect` tells."""
    capsys.readouterr()
    done("inspect", path, "--json")
    said = json.loads(capsys.readouterr().out)
    assert said["rows"] == sum(one["rows"] for one in said["parts"]) or not said["parts"]
    return {one["part"]: one["rows"] for one in said["parts"]}


def same(path, *data, like="first"):
    """That a model is the one that learned these files after those it is like."""
    blank = naively.load(like)
    for one in data:
        table = pd.read_csv(one)
        blank.partial_fit(table.drop(columns="y"), table["y"])
    assert digest(naively.load(path)) == digest(blank)


def test_parts_are_forgotten_and_replaced_without_their_rows(folder, options, capsys):
    done("fit", "0.csv", "--target", "y", "-o", "m", *options)
    Path("first").write_bytes(Path("m").read_bytes())
    done("update", "m", "1.csv", "--part", "customer=17")
    done("update", "m", "2.csv", "--part", "customer=18")
    done("update", "m", "3.csv", "--part", "customer=17")
    assert listed(capsys) == {"customer=17": 84, "customer=18": 42, None: 40}
    same("m", "1.csv", "2.csv", "3.csv")
    done("update", "m", "0.csv", "--part", "customer=17", "--replace")
    same("m", "2.csv", "0.csv")
    done("forget", "m", "--part", "customer=17", "--receipt", "r.json")
    same("m", "2.csv")
    done("verify", "r.json", "m", "0.csv")
    assert json.loads(Path("r.json").read_text())["parts"] == ["customer=17"]
    done("forget", "m", "2.csv", "--part", "customer=18")
    assert listed(capsys) == {}
    assert Path("m").read_bytes() == Path("first").read_bytes()


def test_a_class_and_columns_that_only_one_part_had(folder, options, capsys):
    pd.read_csv("0.csv").assign(few=np.arange(40) % 3).to_csv("0.csv", index=False)
    done("fit", "0.csv", "--target", "y", "-o", "m", "--part", "a", *options)
    wider = rows(30, 7, ("west", "north")).assign(y="maybe", size=np.arange(30) ** 2 / 7)
    wider.assign(few=np.arange(30) / 3).to_csv("wider.csv", index=False)
    done("fit", "wider.csv", "--target", "y", "-o", "other", "--part", "b", *options)
    held = naively.load("m").model_
    done("merge", "m", "other", "-o", "both")
    assert listed(capsys, "both") == {"a": 40, "b": 30}
    assert naively.load("both").classes_.tolist() == ["maybe", "no", "yes"]
    done("forget", "both", "--part", "b")
    left = naively.load("both").model_
    assert left.classes.tolist() == ["no", "yes"]
    assert left.class_weight == held.class_weight
    done("forget", "both", "--part", "a", "-o", "empty")
    same("both", "0.csv", like="empty")  # under the families that the sum had
    done("forget", "both", "--part", "a")
    assert len(naively.load("both").classes_) == 0


def test_parts_of_the_same_name_are_one_in_a_sum(folder, options, capsys):
    done("fit", "0.csv", "1.csv", "--target", "y", "-o", "first", *options)
    done("fit", "0.csv", "--like", "first", "-o", "a", "--part", "p")
    done("fit", "1.csv", "--like", "first", "-o", "b", "--part", "p")
    done("fit", "2.csv", "--like", "first", "-o", "c")
    done("merge", "a", "b", "c", "-o", "m")
    assert listed(capsys) == {"p": 81, None: 42}
    done("forget", "m", "--part", "p")
    assert digest(naively.load("m")) == digest(naively.load("c"))


def test_what_a_model_is_like_lends_no_parts(folder, capsys):
    done("fit", "0.csv", "--target", "y", "-o", "m", "--naive", "--part", "p")
    done("fit", "1.csv", "--like", "m", "-o", "n")
    assert listed(capsys, "n") == {}


# ---- windows -------------------------------------------------------------------------------------


def day(ago):
    return f"day={datetime.now(UTC).date() - timedelta(days=ago)}"


def test_the_last_days_are_left(folder, options, capsys):
    done("fit", "0.csv", "--target", "y", "-o", "m", *options)
    Path("first").write_bytes(Path("m").read_bytes())
    for k, ago in enumerate([9, 5, 4]):
        done("update", "m", f"{k}.csv", "--part", day(ago))
    done("update", "m", "1.csv", "--part", "shop=1")
    done("update", "m", "3.csv", "--part", day(1), "--keep", 5)
    assert listed(capsys) == {day(5): 41, day(4): 42, day(1): 43, "shop=1": 41, None: 40}
    same("m", "1.csv", "2.csv", "3.csv", "1.csv")
    done("update", "m", "3.csv", "--part", day(1), "--replace", "--keep", 1)
    assert listed(capsys) == {day(1): 43, "shop=1": 41, None: 40}
    done("update", "m", "3.csv", "--part", day(3), "--keep", 2)  # which comes too late
    assert listed(capsys) == {day(1): 43, "shop=1": 41, None: 40}
    same("m", "1.csv", "3.csv")


def test_a_day_that_is_yet_to_come_makes_none_expire(folder, capsys):
    done("fit", "0.csv", "--target", "y", "-o", "m", "--naive", "--part", day(3))
    said = refused(capsys, 1, "update", "m", "1.csv", "--part", "day=2999-01-01", "--keep", 90)
    assert "'day=2999-01-01' is in the future" in said
    done("update", "m", "1.csv", "--part", "day=2999-01-01")
    said = refused(capsys, 1, "update", "m", "1.csv", "--part", day(0), "--keep", 90)
    assert "'day=2999-01-01' is in the future" in said
    done("forget", "m", "--part", "day=2999-01-01")
    done("update", "m", "1.csv", "--part", "day=soon")
    done("update", "m", "1.csv", "--part", day(0), "--keep", 2)
    assert "'day=soon' has no date: it stays in the model" in capsys.readouterr().err
    assert listed(capsys) == {day(0): 41, "day=soon": 41}


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "status", "problem"),
    [
        (["forget", "m", "--part", "customer=19"], 1, "has no part 'customer=19'; it has"),
        (["forget", "m", "--part", ""], 1, "has no part ''"),
        (["forget", "m", "0.csv"], 1, "0.csv, row 1: cannot forget rows that are not in"),
        (["forget", "m", "0.csv"], 1, "if they are in a named part, name it with --part"),
        (["forget", "m", "1.csv", "--part", "customer=18"], 1, "1.csv, row 1: cannot forget"),
        (["forget", "m", "1.csv", "--part", "customer=17", "--part", "customer=18"], 2, "one part"),
        (["update", "m", "1.csv", "--replace"], 2, "need --part"),
        (["update", "m", "1.csv", "--keep", "9"], 2, "need --part"),
        (["update", "m", "1.csv", "--part", "day=2026-11-01", "--keep", "0"], 2, "1 or more"),
        (["update", "m", "1.csv", "--part", "customer=17", "--keep", "9"], 2, "with a date"),
        (["update", "m", "1.csv", "--part", " "], 2, "needs a name"),
        (["update", "m", "1.csv", "--part", "a\nb"], 2, "printable"),
        (["fit", "1.csv", "--target", "y", "-o", "n", "--part", "x" * 201], 2, "printable"),
    ],
)
def test_what_makes_no_sense_changes_nothing(folder, capsys, tokens, status, problem):
    done("fit", "1.csv", "--target", "y", "-o", "m", "--naive", "--part", "customer=17")
    rows(9, 9, ("west",)).to_csv("w.csv", index=False)
    done("update", "m", "w.csv", "--part", "customer=18")
    rows(5, 8, ("east",)).to_csv("0.csv", index=False)
    done("update", "m", "0.csv", "--part", "e")
    done("update", "m", "1.csv")
    assert problem in refused(capsys, status, *tokens)


def test_a_part_is_forgotten_once(folder, capsys):
    done("fit", "1.csv", "--target", "y", "-o", "m", "--naive", "--part", "a")
    done("update", "m", "2.csv", "--part", "b")
    done("forget", "m", "--part", "a", "--part", "a")
    assert listed(capsys) == {"b": 42}
    assert "has no part 'a'; it has b" in refused(capsys, 1, "forget", "m", "--part", "a")


def test_rare_words_that_were_dropped_are_said_before_a_part_is_forgotten(folder, capsys):
    words = [f"w{k} w{k + 1} {'free' if k % 2 else 'noon'}" for k in range(60)]
    for k in range(2):
        own = words[30 * k : 30 * k + 30]
        table = pd.DataFrame({"t": own, "y": ["a", "b"] * 15})
        table.to_csv(f"t{k}.csv", index=False)
    done("fit", "t0.csv", "--target", "y", "-o", "m", "--columns", "t=text(max_terms=20)",
         "--part", "a")  # fmt: skip
    done("update", "m", "t1.csv", "--part", "b")
    assert "rare terms were dropped" in refused(capsys, 1, "forget", "m", "--part", "a")


# ---- forged files --------------------------------------------------------------------------------


@pytest.fixture
def forged(folder):
    """(document, tensors) of a model of two parts."""
    done("fit", "1.csv", "--target", "y", "-o", "m", "--naive", "--part", "a")
    done("update", "m", "2.csv", "--part", "b")
    return parts("m")


def test_parts_that_are_more_than_the_model_are_refused(forged, capsys):
    document, arrays = forged
    forge("m", document, arrays | {"part.0": arrays["part.1"], "part.1": arrays["part.0"]})
    assert "do not add up to its model" in refused(capsys, 1, "forget", "m", "--part", "b")
    done("fit", "3.csv", "--like", "m", "-o", "other")
    own = np.frombuffer(Path("other").read_bytes(), np.uint8)
    forge("m", document, arrays | {"part.0": own})
    assert "do not add up to its model" in refused(capsys, 1, "forget", "m", "--part", "b")
    assert "do not add up to its model" in refused(
        capsys, 1, "update", "m", "1.csv", "--part", "b", "--replace"
    )
    forge("m", document, arrays | {"part.0": own[:-1]})
    assert "the part 'a' is a damaged model file" in refused(
        capsys, 1, "forget", "m", "--part", "b"
    )


@pytest.mark.parametrize(
    "said",
    [
        None, 3, {}, [[]], [["a", 41]], [["a", 41, "now"], ["b", 42, "now"]],
        [["a", 84, "2026-11-22T00:00:00Z"], ["b", -1, "2026-11-22T00:00:00Z"]],
        [["a", True, "2026-11-22T00:00:00Z"], ["b", 82, "2026-11-22T00:00:00Z"]],
        [["b", 41, "2026-11-22T00:00:00Z"], ["a", 42, "2026-11-22T00:00:00Z"]],
        [["a", 41, "2026-11-22T00:00:00Z"], ["a", 42, "2026-11-22T00:00:00Z"]],
        [["a", 41, "2026-11-22T00:00:00Z"]],
        [["a", 41, "x"], ["b", 42, "x"], ["c", 0, "2026-11-22T00:00:00Z"]],
    ],
    ids=str,
)  # fmt: skip
def test_parts_that_cannot_be_are_refused_when_a_file_is_read(forged, said):
    document, arrays = forged
    forge("m", document | {"parts": said}, arrays)
    with pytest.raises(ModelFileError):
        load("m")


# ---- several writers, and full disks -------------------------------------------------------------


@pytest.mark.slow
def test_what_several_commands_train_and_forget_at_once_is_all_stored(folder, capsys):
    done("fit", "0.csv", "--target", "y", "-o", "m", "--naive", "--part", "a")
    tasks = [["update", "m", f"{k}.csv", "--part", name] for k, name in [(1, "b"), (2, "c")]]
    tasks.append(["forget", "m", "--part", "a", "--receipt", "r.json"])
    running = [subprocess.Popen([*COMMAND, *one], stdout=subprocess.DEVNULL) for one in tasks]
    assert [one.wait(100) for one in running] == [0] * 3
    assert listed(capsys) == {"b": 41, "c": 42}
    done("forget", "m", "--part", "c")
    done("fit", "1.csv", "--like", "m", "-o", "alone")
    assert digest(naively.load("m")) == digest(naively.load("alone"))


@pytest.mark.parametrize(
    "room", [300, *slow(1500)]
)  # bytes: for no receipt, and for this but no model
def test_a_full_disk_leaves_the_model_and_writes_no_receipt(folder, room):
    resource = pytest.importorskip("resource", reason="limits the size of files")
    done("fit", "0.csv", "--target", "y", "-o", "m", "--naive", "--part", "a")
    done("update", "m", "1.csv", "--part", "b")
    held = {path: path.read_bytes() for path in Path().iterdir()}

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    tokens = ["forget", "m", "--part", "a", "--receipt", "r.json"]
    found = subprocess.run(
        [*COMMAND, *tokens], preexec_fn=small, capture_output=True, text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(Path.home() / ".cache")},
    )  # fmt: skip
    assert found.returncode == 1
    assert os.strerror(errno.EFBIG) in found.stderr
    assert {path: path.read_bytes() for path in Path().iterdir()} == held
