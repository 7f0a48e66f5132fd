"""What `--help` says: whole paragraphs, and each character of them."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

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
