"""The Cyclopts application that commands are added to, and its console."""

from __future__ import annotations

from typing import Literal

from cyclopts import App, Parameter
from rich.console import Console

from naively import __version__
from naively.cli.errors import UsageError

DASH = "\ue000"  # stands for a plain -, which Cyclopts takes for an option


class Terminal(Console):
    """A console that leaves closed pipes to `naively.cli.main.run`."""

    def on_broken_pipe(self) -> None:
        """Pass the error on; rich would exit with another code."""
        raise  # the BrokenPipeError that is being handled


app = App(
    name="naively",
    version=__version__,
    help="Train, evaluate, explain and update Bayesian classifiers from the command line."
    "\n\nDATA is CSV, TSV, JSON lines, Parquet, Arrow or ARFF, plain or compressed; a folder, a "
    'pattern such as "data/*.csv", several of them, or - for standard input. Columns may be of any '
    "type; empty cells, ?, NA and the like are missing values. Documents are read, too: a folder "
    "of folders, one per class; files of lines, as ham.txt and spam.txt; .eml, mbox, Maildir.",
    help_format="markdown",
    default_parameter=Parameter(negative=""),
    help_epilogue="Begin with: naively demo",
    suppress_keyboard_interrupt=False,
    console=Terminal(),
)


@app.command(name="--install-completion")
def install_completion(shell: Literal["bash", "fish", "zsh"] | None = None) -> None:
    """Let the Tab key complete commands, options and files in your shell.

    It writes a script, and a line in the start-up file of the shell that loads it.

    Parameters
    ----------
    shell
        The shell; by default the current one.
    """
    from cyclopts.completion.detect import ShellDetectionError

    try:
        path = app.install_completion(shell=shell)
    except ShellDetectionError:
        raise UsageError(
            "the running shell is unknown: name it with --shell bash, fish or zsh"
        ) from None
    print(f"saved  {path}: open a new shell to use it")
