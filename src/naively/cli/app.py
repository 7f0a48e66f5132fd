"""The application, and what its commands share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from naively import __version__
from naively.cli.terminal import Terminal

DASH = "\ue000"  # for a plain -, which Cyclopts takes for an option
Unseen = Literal["smooth", "ignore", "error"]
Target = Annotated[str | None, Parameter(alias="-t")]
Output = Annotated[Path | None, Parameter(alias="-o")]

app = App(
    name="naively",
    version=__version__,
    help="Naive Bayes from the command line: learn a table in one exact pass, predict, look inside."
    "\n\nDATA is CSV, TSV, JSON lines, Parquet, Arrow or ARFF, plain or compressed; a folder, a "
    'pattern such as "data/*.csv", several of them, or - for standard input. Columns may hold '
    "anything; empty cells, ?, NA and the like are missing values. Documents do as well: a folder "
    "of folders, one a class; files of lines, as ham.txt and spam.txt; .eml, mbox, Maildir.",
    help_format="plaintext",
    default_parameter=Parameter(negative=""),
    help_epilogue="Begin with: naively demo",
    suppress_keyboard_interrupt=False,
    console=Terminal(),
)


def check_features(features: int) -> None:
    """Refuse a number of columns to list that is none."""
    from naively.cli.errors import UsageError

    if features < 0:
        raise UsageError(f"--features must not be negative, but is {features}")


def tables_of(data: Sequence[str]) -> Sequence[str]:
    """The tables that were named: standard input if something is piped and none is."""
    from naively.cli.errors import UsageError

    if not data:
        if sys.stdin is not None and not sys.stdin.isatty():
            return ["-"]
        raise UsageError("name a table: a file, a folder, or - for standard input")
    return data
