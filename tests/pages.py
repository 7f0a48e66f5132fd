"""Run the code blocks of a page, in order, in an empty folder.

```pycon has what Python prints, ```console what commands print; ... stands for anything. ```python
is run, and what it prints is not told. Blocks of other kinds are not run.

    python tests/pages.py docs/start.md     # rewrites what a page says is printed, where it is not
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(pycon|python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", re.MULTILINE)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# times, and the last digits of numbers: BLAS adds in another order on another processor
VARIES = re.compile(
    r"(?m)(?:(?<=^time)|(?<=validation took)|(?<=training took))( +)\S.*"
    r"|(?<=on )20\S+Z|(?<=\b0\.\d{6})\d{8,}"
)


@dataclass(frozen=True)
class Wrong:
    """An example that prints something else; its lines in the page, counted from 0."""

    start: int
    end: int
    source: str
    got: str


class Noting(doctest.DocTestRunner):
    """Notes what is wrong."""

    def __init__(self):
        super().__init__(optionflags=OPTIONS)
        self.wrong = []

    def report_failure(self, out, test, example, got):
        start = test.lineno + example.lineno + example.source.count("\n")
        end = start + example.want.count("\n")
        got = re.sub(r"(?m)^\s*$(?=\n)", "<BLANKLINE>", got)
        self.wrong.append(Wrong(start, end, example.source, got))

    def report_unexpected_exception(self, out, test, example, exc_info):
        raise exc_info[1]


def said(command):
    """What a command prints, errors last. A plain `naively ...` runs in this process."""
    from naively.cli import main

    words = shlex.split(command)
    if words[0] == "naively" and not {"|", ">", "<", ";", "&&"} & {*words}:
        files = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
        with (
            contextlib.redirect_stdout(files[0]),
            contextlib.redirect_stderr(files[1]),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")  # as the command does
            main.run(words[1:])
        return "".join(one.buffer.getvalue().decode() for one in files)
    script = f'naively() {{ "{sys.executable}" -m naively "$@"; }}\n{command}'
    ended = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=300,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    return ended.stdout + ended.stderr


def tried(page):
    """Run a page. (number of examples, those that print something else)."""
    text = (ROOT / page).read_text("utf-8")
    runner, given, number = Noting(), {}, 0
    for found in BLOCK.finditer(text):
        kind, code, line = found[1], found[2], text.count("\n", 0, found.start(2))
        if kind == "python":
            exec(compile(code, f"{page}, line {line}", "exec"), given)
            number += 1
        elif kind == "pycon":
            test = doctest.DocTestParser().get_doctest(code, given, page, str(ROOT / page), line)
            number += runner.run(test, clear_globs=False).attempted
            given = test.globs
        else:
            for one in COMMAND.finditer(code):
                got, number = said(re.sub(r"\\\n\s*", "", one[1])), number + 1
                if not doctest.OutputChecker().check_output(one[2], got, OPTIONS):
                    start, end = (line + code.count("\n", 0, at) for at in one.span(2))
                    runner.wrong.append(Wrong(start, end, one[1], got))
    return number, runner.wrong


def run(page):
    """Run a page, whose examples must print what it says. How many there are."""
    number, wrong = tried(page)
    assert not wrong, "\n".join(f"{page}, line {x.start}: {x.source}{x.got}" for x in wrong)
    return number


def rewrite(page):
    """Put what is printed into a page; what takes time is left out."""
    path = ROOT / page
    lines = path.read_text("utf-8").splitlines(keepends=True)
    _, wrong = tried(page)
    for one in reversed(wrong):
        got = VARIES.sub(r"\1...", one.got)
        lines[one.start : one.end] = [re.sub(r"\s*$", "\n", line) for line in got.splitlines()]
    path.write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("Agg")
    os.environ["COLUMNS"] = "80"
    for each in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            rewrite(each)
