"""How things are printed: tables for people on a terminal, plain text in a pipe, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from naively.cli.app import Terminal
from naively.cli.errors import printable
from naively.plain import plain_json, rows_in_words

LISTED = 10  # classes that a list shows


class Plain(Terminal):
    """A console for pipes and files: no spaces at the ends of lines."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as `Console.print` does."""
        with self.capture() as captured:
            super().print(*objects, **options)
        sys.stdout.writelines(line.rstrip() + "\n" for line in captured.get().splitlines())


def console() -> Console:
    """Standard output; labels with brackets in them are no markup."""
    if sys.stdout.isatty():
        return Terminal(markup=False, highlight=False, emoji=False)
    return Plain(markup=False, highlight=False, emoji=False, width=100)


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(plain_json(value), allow_nan=False) + "\n")


def clean(value: Any, longest: int = 40) -> str:
    """A label or name as a terminal may show it: no control characters, not too long."""
    text = printable(str(value).strip())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def note(text: str) -> Text:
    """A remark."""
    return Text(text, style="dim")


def with_notes(shown: Table, *notes: str | None) -> Group:
    """A table with remarks below it."""
    return Group(shown, *(note(text) for text in notes if text))


def new_table(*heads: str, names: int = 1, style: str = "bold") -> Table:
    """A table with a line under its heads: the first columns hold names, the others numbers.

    Parameters
    ----------
    heads : of the columns.
    names : how many of them hold names.
    style : of the first one.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for k, head in enumerate(heads):
        side: Any = "left" if k < names else "right"
        table.add_column(head, justify=side, style="" if k else style, no_wrap=True)
    return table


def room_beside(columns: Sequence[Sequence[str]], width: int) -> int:
    """The characters that are left beside some columns of such a table."""
    return width - sum(max(map(len, column)) + 2 for column in columns)


def facts(**given: str | None) -> Table:
    """A table of names and what there is to say of them; _ in a name is a blank."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, what in given.items():
        if what is not None:
            table.add_row(name.replace("_", " "), what)
    return table


def examined(found: Any) -> dict[str, str]:
    """What `facts` tell of the data of a diagnosis or a comparison."""
    return {
        "target": clean(found.target),
        "rows": rows_in_words(found.rows, found.looked_at, found.unlabelled),
        "classes": classes_listed(found.classes),
    }


def remark(out: Console, notes: Sequence[str]) -> None:
    """Print some notes."""
    for one in notes:
        out.print(note(printable(one)))


def written(path: Path) -> str:
    """A file that was written, and its size as a person can read it."""
    return f"{clean(path, 200)} ({size_in_words(path.stat().st_size)})"


def size_in_words(size: int) -> str:
    """A number of bytes as a person can read it."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size //= 1000
    return f"{size:,} GB"


def number(value: float) -> str:
    """Four digits that matter."""
    value = float(value)
    if not np.isfinite(value) or abs(value) < 1e3:
        return f"{value:.4g}"
    return f"{value:,.0f}" if abs(value) < 1e7 else f"{value:.3g}"


def classes_listed(classes: Mapping[Any, float]) -> str:
    """The classes with the most rows, and how many each has, or their weight."""
    most = sorted(classes.items(), key=lambda one: -one[1])
    order = most[:LISTED] if len(most) > LISTED else classes.items()
    listed = ", ".join(f"{clean(label, 20)} {rows:,.10g}" for label, rows in order)
    rest = len(most) - LISTED
    return listed + (f", and {rest:,} more with fewer rows" if rest > 0 else "")


def pace(seconds: float, rows: int) -> str:
    """How long it took, and how many rows a second that is."""
    rate = float(f"{rows / max(seconds, 1e-9):.3g}")
    return f"{seconds:.3g} s, reading included ({rate:,.0f} rows/s)"
