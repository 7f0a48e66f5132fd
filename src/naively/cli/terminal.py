"""Print results: tables in a terminal, plain text in a pipe, or JSON."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from naively.cli.app import Terminal
from naively.core.markup import printable
from naively.rendering import WIDTH, plain_json, size_in_words
from naively.rendering import classes_listed as classes_listed
from naively.rendering import clean as clean
from naively.rendering import facts as facts
from naively.rendering import new_table as new_table
from naively.rendering import note as note
from naively.rendering import number as number
from naively.rendering import room_beside as room_beside
from naively.rendering import with_notes as with_notes

if TYPE_CHECKING:
    from naively.evaluation.compare import Candidate
    from naively.evaluation.diagnose import RungResult
    from naively.tables.learning import TrainingSpec


class Plain(Terminal):
    """A console for pipes and files: it strips spaces at the ends of lines."""

    def print(self, *objects: Any, **options: Any) -> None:
        """As `Console.print`."""
        with self.capture() as captured:
            super().print(*objects, **options)
        sys.stdout.writelines(line.rstrip() + "\n" for line in captured.get().splitlines())


def console() -> Console:
    """A console on standard output that does not interpret brackets as markup."""
    if sys.stdout.isatty():
        return Terminal(markup=False, highlight=False, emoji=False)
    return Plain(markup=False, highlight=False, emoji=False, width=WIDTH)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    sys.stdout.write(json.dumps(plain_json(value), allow_nan=False) + "\n")


def recommend(
    out: Console,
    verdict: Mapping[str, str],
    target: str | None,
    model: Candidate | RungResult | None,
    spec: TrainingSpec,
) -> None:
    """Print a verdict, and how to fit the recommended model on rows that are split likewise."""
    lines = dict(verdict)
    if model is not None and model.use:
        lines["in Python"] = model.use
    out.print(facts(**{key: printable(text) for key, text in lines.items()}))
    if model is not None and model.option is not None:
        options = {"target": target or "", "groups": spec.groups, "time": spec.time}
        split = (
            f"--{key} {shlex.quote(name)}" for key, name in options.items() if name is not None
        )
        words = filter(None, ("naively fit DATA", *split, model.option, "-o MODEL"))
        out.print()
        out.print(Text(printable(" ".join(words))), soft_wrap=True)


def written(path: Path) -> str:
    """The path and the size of a file that was written."""
    return f"{clean(path, 200)} ({size_in_words(path.stat().st_size)})"


def pace(seconds: float, rows: int) -> str:
    """Format a duration and rows per second."""
    rate = float(f"{rows / max(seconds, 1e-9):.3g}")
    return f"{seconds:.2g} s ({rate:,.0f} rows/s, reading included)"
