"""Files under hard conditions: several writers, killed writers, full disks, closed pipes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from kit import slow
from product import run

import naively
from naively.cli import models
from naively.cli.errors import UserError
from naively.storage.atomic import replacing

pytest.importorskip("fcntl")
resource = pytest.importorskip("resource")

COMMAND = [sys.executable, "-c", "from naively.cli.main import main; main()"]
ROWS = 300


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table in data.csv, and a model of it in m."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    lines = [f"{a:.3f},{b},{'xyz'[b]}" for a, b in zip(generator.normal(size=ROWS),
             generator.integers(0, 3, ROWS), strict=True)]  # fmt: skip
    table("data.csv", lines)
    assert run(["fit", "data.csv", "--target", "species", "-o", "m"]) == 0
    assert run(["predict", "m", "data.csv"]) == 0
    return lines


def table(name, lines):
    Path(name).write_text("\n".join(["a,b,species", *lines]) + "\n")


def program(*tokens, unbuffered=False, **options):
    environment = {**os.environ, "PYTHONUNBUFFERED": "1" if unbuffered else ""}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run([*COMMAND, *tokens], env=environment, **options)


def there():
    return sorted(path.name for path in Path().iterdir())


# ---- several writers ---------------------------------------------------------------------------


def test_what_several_commands_change_at_once_is_all_stored(folder):
    table("gone.csv", folder[:40])
    assert run(["update", "m", "gone.csv"]) == 0
    Path("link").symlink_to("m")
    tasks = [["forget", "m", "gone.csv"]]
    for k in range(3):
        table(f"{k}.csv", folder[50 * k : 50 * k + 70])
        tasks.append(["update", ("m", "link")[k % 2], f"{k}.csv"])
    before = there()
    running = [subprocess.Popen([*COMMAND, *one], stdout=subprocess.DEVNULL) for one in tasks]
    assert [one.wait(60) for one in running] == [0] * 4
    assert there() == before
    assert Path("link").is_symlink()
    at_once = Path("m").read_bytes()
    assert run(["fit", "data.csv", "--target", "species", "-o", "m"]) == 0
    for k in range(3):
        assert run(["update", "m", f"{k}.csv"]) == 0
    assert at_once == Path("m").read_bytes()


def test_a_model_that_was_written_meanwhile_is_read_again(folder):
    model, output = Path("m"), Path("n")
    saved = models.load_table(model)
    with models.changing(saved, model, model) as now:
        assert now is saved
    assert run(["update", "m", "data.csv"]) == 0
    assert run(["fit", "data.csv", "--target", "b", "-o", "n"]) == 0
    with models.changing(saved, model, output) as now:
        assert now is saved  # which is to be another file
    with models.changing(saved, model, model) as now:
        assert now.model.rows == 2 * ROWS
    output.replace(model)
    with pytest.raises(UserError, match="another target"), models.changing(saved, model, model):
        pass


def test_a_killed_writer_leaves_nothing_for_long(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from naively.storage.atomic import replacing\n"
        "with replacing(sys.argv[1]) as temporary:\n"
        "    temporary.write_bytes(b'half'); print(temporary, flush=True); time.sleep(60)"
    )
    target, other = tmp_path / "m", tmp_path / ".m.notes.tmp"
    other.touch()
    writer = subprocess.Popen(
        [sys.executable, "-c", code, target], stdout=subprocess.PIPE, text=True
    )
    half = Path(writer.stdout.readline().strip())
    with replacing(target) as temporary:
        temporary.write_bytes(b"whole")
    assert half.read_bytes() == b"half"  # it is being written
    writer.kill()
    writer.communicate()
    with replacing(target) as temporary:
        temporary.write_bytes(b"whole again")
    assert sorted(tmp_path.iterdir()) == [other, target]
    assert target.read_bytes() == b"whole again"


def test_a_broken_link_is_reported_before_the_work(folder, capsys):
    Path("link").symlink_to("nowhere/m")
    assert run(["fit", "data.csv", "--target", "species", "-o", "link"]) == 1
    assert "there is no folder" in capsys.readouterr().err


# ---- full disks --------------------------------------------------------------------------------


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


@pytest.mark.parametrize("unbuffered", [False, *slow(True)])
def test_output_that_does_not_fit_is_an_error(unbuffered, folder):
    with Path("out").open("wb") as out:
        done = program(
            "predict", "m", "data.csv", unbuffered=unbuffered, stdout=out, preexec_fn=small_files
        )
    assert done.returncode == 1
    assert done.stderr == b"naively: File too large\n"


@pytest.mark.parametrize(
    ("tokens", "file"),
    [
        (["update", "m", "data.csv"], "m"),
        *slow(
            (["fit", "data.csv", "--target", "species", "-o", "n"], "n"),
            (["predict", "m", "data.csv", "-o", "n.csv"], "n.csv"),
            (["predict", "m", "data.csv", "-o", "n.parquet"], "n.parquet"),
        ),
    ],
)
def test_files_that_do_not_fit_are_not_written(tokens, file, folder):
    before, model = there(), Path("m").read_bytes()
    done = program(*tokens, preexec_fn=small_files)
    assert done.returncode == 1
    assert done.stderr.decode() == f"naively: {file}: File too large\n"
    assert there() == before
    assert Path("m").read_bytes() == model


def test_saving_to_a_full_disk_is_an_oserror(folder):
    code = (
        "import naively, resource; model = naively.load('m')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))\n"
        "try: model.save('m')\n"
        "except OSError as error: assert (error.filename, error.errno) == ('m', 27); print('good')"
    )
    model = Path("m").read_bytes()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("good\n", "")
    assert Path("m").read_bytes() == model
    assert naively.load("m").class_count_.sum() == ROWS


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(
    ("tokens", "unbuffered"),
    [
        (["predict", "m", "data.csv"], True),
        (["--help"], False),
        *slow((["inspect", "m"], False), (["explain", "m", "data.csv", "--json"], False)),
    ],
)
def test_a_full_device_is_an_error(tokens, unbuffered, folder):
    with Path("/dev/full").open("wb") as full:
        done = program(*tokens, unbuffered=unbuffered, stdout=full)
    assert done.returncode == 1
    assert done.stderr == b"naively: No space left on device\n"


# ---- pipes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tokens",
    [
        ["--help"],
        ["predict", "m", "data.csv"],
        *slow(
            ["fit", "--help"],
            ["inspect", "m"],
            ["explain", "m", "data.csv"],
            ["predict", "m", "data.csv", "--json"],
            ["fit", "data.csv", "--target", "species", "-o", "n"],
        ),
    ],
)
def test_a_reader_that_goes_ends_a_command_quietly(tokens, folder):
    reader, writer = os.pipe()
    os.close(reader)
    done = program(*tokens, stdout=writer)
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


def test_closed_streams(folder):
    done = program("predict", "m", "data.csv", stdout=None, preexec_fn=lambda: os.close(1))
    assert done.returncode == 1
    assert done.stderr == b"naively: standard output is closed\n"
    table("less.csv", [])
    Path("less.csv").write_text("a\n1\n")
    done = program("predict", "m", "less.csv", stderr=None, preexec_fn=lambda: os.close(2))
    assert done.returncode == 0
    assert done.stdout.decode().splitlines()[0] == "a,prediction"  # and not the note on b


@pytest.mark.slow
def test_commands_need_no_pandas(folder):
    code = """
import sys
from naively.cli.main import main
for command in ("fit data.csv --target species -o n", "evaluate m data.csv --json",
                "predict m data.csv --proba", "explain m data.csv", "update n data.csv"):
    sys.argv = ["naively", *command.split()]
    try: main()
    except SystemExit as end: assert end.code == 0
assert "pandas" not in sys.modules
import pandas  # which is there nonetheless
"""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    assert done.returncode == 0
