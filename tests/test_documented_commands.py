"""Commands and options that README and docs name exist, also in blocks that no test runs."""

import re
import shlex

import pytest
from pages import ROOT

from naively.cli import main  # noqa: F401  (registers the commands)
from naively.cli.app import app

SHELL = re.compile(r"^```(?:sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
SCRIPTS = {"benchmarks.md", "lectures.md", "ladder.md"}
"""Pages that name options of scripts, too."""
OTHER = re.compile(r"\b(gpg|minisign|mkdocs|pip|pytest|python)\b")
"""Programs that are not naively."""


def options(command):
    """Names of the options of a command, as --target."""
    arguments = app[command].assemble_argument_collection()
    return {name for argument in arguments for name in argument.names if name.startswith("-")}


def commands(text):
    """(command, its options) of each `naively ...` in blocks of shell code."""
    for block in SHELL.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            words = (
                shlex.split(line.removeprefix("$ "), comments=True) if "naively " in line else []
            )
            for at, word in enumerate(words[:-1]):
                if word == "naively" and re.fullmatch("[a-z]+", words[at + 1]):
                    rest = words[at + 2 :]
                    rest = rest[: rest.index("|")] if "|" in rest else rest
                    yield words[at + 1], [one for one in rest if re.match("-[-a-z]", one)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_in_shell_code_exist(page):
    for command, given in commands(page.read_text("utf-8")):
        unknown = set(given) - options(command)
        assert not unknown, f"naively {command}: {unknown}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_options_in_the_text_exist(page):
    if page.name in SCRIPTS:
        pytest.skip("names options of scripts")
    known = set().union(*map(options, (name for name in app if not name.startswith("-"))))
    known |= {"--help", "--install-completion", "--version"}
    prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    spans = [span for span in re.findall(r"`([^`]+)`", prose) if not OTHER.search(span)]
    named = {name for span in spans for name in re.findall(r"(?<![\w-])--[a-z][a-z-]*", span)}
    assert named <= known, named - known
