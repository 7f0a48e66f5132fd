"""Pages that show code: each block of a page is run, in order, in an empty folder.

```pycon has what Python prints, ```console what commands print; ... stands for anything. ```python
is run, and what it prints is not told. Blocks of other kinds are not run.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

from naively.cli import main

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(pycon|python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page):
    """(line, kind, text) of each block that is run."""
    text = (ROOT / page).read_text("utf-8")
    for found in BLOCK.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found[1], found[2]


def commands(text):
    """(command, what it prints) of a console: `$ command`, which may go on after a backslash."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, printed = re.sub(r"\\\n\s*", "", part).partition("\n")
        yield command, printed


def said(command):
    """What a command prints, errors last. A plain `naively ...` runs in this process."""
    words = shlex.split(command)
    if words[0] == "naively" and not {"|", ">", "<", ";", "&&"} & {*words}:
        files = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
        with contextlib.redirect_stdout(files[0]), contextlib.redirect_stderr(files[1]):
            main.run(words[1:])
        return "".join(one.buffer.getvalue().decode() for one in files)
    script = f'naively() {{ "{sys.executable}" -m naively "$@"; }}\n{command}'
    ended = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=300,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    return ended.stdout + ended.stderr


def run(page):
    """Run a page; says what printed something else. The number of examples that were run."""
    checker, given, wrong, number = doctest.OutputChecker(), {}, [], 0
    for line, kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, f"{page}, line {line}", "exec"), given)
            number += 1
        elif kind == "pycon":
            test = doctest.DocTestParser().get_doctest(text, given, page, str(ROOT / page), line)
            told = []
            runner = doctest.DocTestRunner(checker, optionflags=OPTIONS)
            number += runner.run(test, out=told.append, clear_globs=False).attempted
            given = test.globs
            wrong += told
        else:
            for command, printed in commands(text):
                with warnings.catch_warnings():
                    warnings.simplefilter("default")  # as the command does
                    got = said(command)
                number += 1
                if not checker.check_output(printed, got, OPTIONS):
                    wrong.append(f"{page}, line {line}: $ {command}\n{got}")
    assert not wrong, "\n".join(wrong)
    return number
