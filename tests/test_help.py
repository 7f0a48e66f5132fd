"""What `--help` says: whole paragraphs, and each character of them."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

COMMANDS = (
    "", "compare", "demo", "diagnose", "drift", "evaluate", "explain", "export", "fit", "follow",
    "forget", "inspect", "merge", "predict", "report", "serve", "update", "verify",
)  # fmt: skip
AS_WRITTEN = "from naively.cli.app import app; app.help_format = 'plaintext'; "


@pytest.fixture(scope="module")
def helps():
    """What each command says, in a terminal of 80 characters: as it is, and as it was written."""

    def said(job):
        name, before = job
        code = f"{before}from naively.cli.main import run; run({[*name.split(), '--help']})"
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "COLUMNS": "80"}, text=True,
            capture_output=True, encoding="utf-8",
        )  # fmt: skip
        assert done.stderr == ""
        return done.stdout

    jobs = [(name, before) for name in COMMANDS for before in ("", AS_WRITTEN)]
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(jobs, pool.map(said, jobs), strict=True))


def words(text):
    return re.sub(r"[│\s]+", " ", text.replace("`", ""))


@pytest.mark.parametrize("name", COMMANDS)
def test_no_character_is_taken_for_markup(helps, name):
    assert words(helps[name, ""]) == words(helps[name, AS_WRITTEN])


def test_lines_end_where_the_terminal_does(helps):
    """Not where the source has a line."""
    assert re.search(r"for each class, of which +│\n│ +one may be left out", helps["fit", ""])
    assert "\nprobabilities\n" not in helps["fit", ""]
