"""What the Tab key completes, in a real bash, once `naively --install-completion` has run."""

import os
import shutil
import subprocess
import sys

import pytest

from naively.cli.main import run

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
