"""Tables and facts as lines of text, as HTML and as JSON."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from naively.explain.markup import counted, escaped, magnitude, paragraph, printable

LEFT_OUT_LISTED = 10  # columns that were left out
MANY = 1000  # bits of numbers of which the order of magnitude is told
EXACT = 1 << 53  # whole numbers up to here are the same in every reader of JSON


class Count(int):
    """A whole number that can be printed, even if it has more digits than Python writes out."""

    def __repr__(self) -> str:
        return magnitude(int(self)) if self.bit_length() >= MANY else int.__repr__(self)

    __str__ = __repr__


def aligned(heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right."""
    table = [tuple(heads), *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def rows_in_words(rows: int, looked_at: int, unlabelled: int) -> str:
    """The number of rows, of a sample of them if one was drawn, and of rows without a label."""
    said = f"{rows:,}"
    if looked_at < rows:
        said += f", a sample of {looked_at:,} of them used"
    if unlabelled:
        said += f" ({unlabelled:,} without a label skipped)"
    return said


def left_out(columns: dict[str, str]) -> list[str]:
    """Which columns were left out, with the reasons: a line each, of the first ones."""
    lines = [f"left out: {name} ({reason})" for name, reason in columns.items()]
    if len(lines) > LEFT_OUT_LISTED:
        lines[LEFT_OUT_LISTED:] = [
            f"left out: {counted(len(lines) - LEFT_OUT_LISTED, 'more column')}"
        ]
    return lines


def plain_json(value: Any) -> Any:
    """The value as JSON takes it."""
    if isinstance(value, dict):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > EXACT:
        value = float(value) if value.bit_length() < 1024 else math.inf
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- rendering -----------------------------------------------------------------------------------


WIDTH = 100
"""Characters of a line where there is no terminal."""
NARROWEST = 12
"""Characters of the column of a table that has the room that others leave, at least."""
NAME = 24
"""Characters of the first column beside such a column."""
LONGEST = 200
"""Characters of a cell."""
CLASSES_LISTED = 10
"""Classes that a line lists."""


@dataclass(frozen=True)
class Table:
    """A table of texts; numbers are written already.

    Attributes
    ----------
    title : what it is of; for those who hear it read where it is not shown.
    heads : of the columns; the first `names` of them hold names, the others numbers.
    rows : as many texts each.
    names : how many columns hold names.
    notes : below it.
    bars : (R,) the length of a bar at the end of each row, -1 to 1; none if empty.
    elastic : the column that has the room that others leave in a terminal.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1
    notes: Sequence[str] = ()
    bars: Sequence[float] = ()
    elastic: int = 0


# ---- words ---------------------------------------------------------------------------------------


def clean(value: Any, longest: int = 40) -> str:
    """A label or name as a terminal may show it: no control characters, not too long."""
    text = printable(str(value).strip())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def number(value: float) -> str:
    """Four digits that matter."""
    value = float(value)
    if not np.isfinite(value) or abs(value) < 1e3:
        return f"{value:.4g}"
    return f"{value:,.0f}" if abs(value) < 1e7 else f"{value:.3g}"


def size_in_words(size: int) -> str:
    """A number of bytes as a person can read it."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size //= 1000
    return f"{size:,} GB"


def classes_listed(classes: Mapping[Any, float]) -> str:
    """The classes with the most rows, and how many each has, or their weight."""
    most = sorted(classes.items(), key=lambda one: -one[1])
    order = most[:CLASSES_LISTED] if len(most) > CLASSES_LISTED else classes.items()
    listed = ", ".join(f"{clean(label, 20)} {rows:,.10g}" for label, rows in order)
    rest = len(most) - CLASSES_LISTED
    return listed + (f", and {rest:,} more with fewer rows" if rest > 0 else "")


# ---- in a terminal -------------------------------------------------------------------------------


def note(text: str) -> Text:
    """A remark."""
    return Text(text, style="dim")


def with_notes(shown: RichTable, *notes: str | None) -> Group:
    """A table with remarks below it."""
    return Group(shown, *(note(text) for text in notes if text))


def new_table(*heads: str, names: int = 1, style: str = "bold") -> RichTable:
    """A table with a line under its heads: the first columns hold names, the others numbers.

    Parameters
    ----------
    heads : of the columns.
    names : how many of them hold names.
    style : of the first one.
    """
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for k, head in enumerate(heads):
        side: Any = "left" if k < names else "right"
        table.add_column(head, justify=side, style="" if k else style, no_wrap=True)
    return table


def room_beside(columns: Sequence[Sequence[str]], width: int) -> int:
    """The characters that are left beside some columns of such a table."""
    return width - sum(max(map(len, column)) + 2 for column in columns)


def facts(**given: str | None) -> RichTable:
    """A table of names and what there is to say of them; _ in a name is a blank."""
    table = RichTable.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, what in given.items():
        if what is not None:
            table.add_row(name.replace("_", " "), what)
    return table


def on_terminal(table: Table, width: int = WIDTH) -> Group:
    """A table for a terminal of so many characters a line, with its notes."""
    columns = list(zip(table.heads, *table.rows, strict=True))
    longest = [NAME if k == 0 else LONGEST for k in range(len(columns))]
    others = [
        [clean(cell, longest[k]) for cell in column]
        for k, column in enumerate(columns) if k != table.elastic
    ]  # fmt: skip
    room = max(room_beside(others, width), NARROWEST, len(table.heads[table.elastic]))
    longest[table.elastic] = room
    shown = new_table(*table.heads, names=table.names)
    for row in table.rows:
        shown.add_row(*map(clean, row, longest))
    return with_notes(shown, *table.notes)


def as_text(shown: RenderableType, width: int = WIDTH) -> str:
    """What a terminal shows, without colours, and without blanks at the ends of lines."""
    file = io.StringIO()
    console = Console(
        file=file, width=width, color_system=None, markup=False, highlight=False, emoji=False,
        force_terminal=False, legacy_windows=False,
    )  # fmt: skip
    console.print(shown)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


# ---- as HTML -------------------------------------------------------------------------------------


def as_html(table: Table) -> str:
    """A table with its title and notes, for a notebook."""
    sides = ["left" if k < table.names else "right" for k in range(len(table.heads))]
    styles = [f'style="padding:.1em 1em .1em 0;text-align:{side}"' for side in sides]

    def row(kind: str, cells: Sequence[str]) -> str:
        inner = (f"<{kind} {s}>{escaped(x)}</{kind}>" for s, x in zip(styles, cells, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(row("td", cells) for cells in table.rows)
    notes = "".join(paragraph(escaped(one), "margin:.2em 0;opacity:.7") for one in table.notes)
    return (
        '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums;margin:1em 0">'
        f"<thead>{row('th', table.heads)}</thead><tbody>{body}</tbody></table>{notes}"
    )
