"""`--help` prints whole paragraphs; Tab completion."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from naively.cli.main import run

COMMANDS = (
    "", "compare", "demo", "diagnose", "drift", "evaluate", "explain", "export", "fit",
    "forget", "inspect", "merge", "predict", "report", "serve", "update", "verify",
)  # fmt: skip
AS_WRITTEN = "from naively.cli.app import app; app.help_format = 'plaintext'; "


@pytest.fixture(scope="module")
def helps():
    """What each command says, in a terminal of 80 characters: as it is, and as it was written."""

    def said(before):
        code = f"""{before}from naively.cli.main import run
for name in {COMMANDS}:
    run([*name.split(), "--help"])
    print(end="\\0")"""
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "COLUMNS": "80"}, text=True,
            capture_output=True, encoding="utf-8",
        )  # fmt: skip
        assert done.stderr == ""
        *found, rest = done.stdout.split("\0")
        assert rest == ""
        return found

    with ThreadPoolExecutor(2) as pool:
        return [
            dict(zip(COMMANDS, found, strict=True)) for found in pool.map(said, ["", AS_WRITTEN])
        ]


def words(text):
    return re.sub(r"[│\s]+", " ", text.replace("`", ""))


@pytest.mark.parametrize("name", COMMANDS)
def test_no_character_is_taken_for_markup(helps, name):
    shown, written = helps
    assert words(shown[name])
    assert words(shown[name]) == words(written[name])


def test_lines_end_where_the_terminal_does(helps):
    """Not where the source has a line."""
    shown, _ = helps
    assert re.search(r"for each class, of which +│\n│ +one may be left out", shown["fit"])
    assert "\nprobabilities\n" not in shown["fit"]


# ---- the Tab key ---------------------------------------------------------------------------------


TAB = """
source "$SCRIPT"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_naively naively "${@: -1}"
echo "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The script for bash, as the command installs it in an empty home."""
    home = tmp_path_factory.mktemp("home")
    done = subprocess.run(
        [sys.executable, "-m", "naively", "--install-completion", "--shell", "bash"],
        env={**os.environ, "HOME": str(home)}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    path = home / ".local/share/bash-completion/completions/naively"
    assert str(path) in done.stdout
    assert str(path) in (home / ".bashrc").read_text("utf-8")
    return path


@pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="no bash")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pre", "predict"),
        ("predict spam", "spam.model"),
        ("predict spam.model tra", "train.csv"),
        ("fit tra", "train.csv"),
        ("fit train.csv --fam", "--family"),
        ("fit train.csv --unseen ig", "ignore"),
    ],
)
def test_the_tab_key(script, tmp_path, line, expected):
    for name in ("train.csv", "spam.model"):
        (tmp_path / name).touch()
    done = subprocess.run(
        ["bash", "--norc", "-c", TAB, "bash", "naively", *line.split(" ")],
        env={**os.environ, "SCRIPT": str(script)}, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.split() == [expected]


def test_a_shell_without_completion_is_refused(capsys):
    assert run(["--install-completion", "--shell", "tcsh"]) == 2
    assert '"bash", "fish", "zsh"' in capsys.readouterr().err
