"""Format tables, numbers and facts as text, for terminals, as HTML and as JSON."""

from __future__ import annotations

import io
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from naively.core.labels import Label
from naively.core.markup import counted, escaped, magnitude, paragraph, printable

LEFT_OUT_LISTED = 10  # left-out columns that are listed
NAMES = 4  # features of an interaction that are named
MANY = 1000  # bits from which a number is written as an order of magnitude
EXACT = 1 << 53  # whole numbers up to here are exact in every reader of JSON


class Count(int):
    """An integer that prints even if it has more digits than Python converts."""

    def __repr__(self) -> str:
        return magnitude(int(self)) if self.bit_length() >= MANY else int.__repr__(self)

    __str__ = __repr__


def rows_in_words(rows: int, sampled: int, unlabelled: int) -> str:
    """Return the number of rows, of the sample if one was drawn, and of unlabelled rows."""
    text = f"{rows:,}"
    if sampled < rows:
        text += f", a sample of {sampled:,} of them used"
    if unlabelled:
        text += f" ({unlabelled:,} without a label skipped)"
    return text


def left_out(columns: dict[str, str], what: str = "left out") -> list[str]:
    """Return a line for each left-out column, with the reason; for the first ten only."""
    lines = [f"{what}: {name} ({reason})" for name, reason in columns.items()]
    if len(lines) > LEFT_OUT_LISTED:
        n_more = len(lines) - LEFT_OUT_LISTED
        lines[LEFT_OUT_LISTED:] = [f"{what}: {counted(n_more, 'more column')}"]
    return lines


def plain_json(value: Any) -> Any:
    """Convert a value to what JSON supports."""
    if isinstance(value, dict):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > EXACT:
        value = float(value) if value.bit_length() < 1024 else math.inf
    return None if isinstance(value, float) and not math.isfinite(value) else value


WIDTH = 100  # characters per line without a terminal
NARROWEST = 12  # least width of the elastic column of a table, in characters
NAME = 24  # largest width of the first column, if it is not the elastic one
ROOM = 40  # width of the elastic column, at most, for which optional columns are left out
LONGEST = 200  # largest number of characters of a cell
CLASSES_LISTED = 10  # classes that a line lists


@dataclass(frozen=True)
class Table:
    """A table of texts, with numbers already formatted."""

    title: str  # caption; for screen readers where it is not shown
    # column headings; the first `names` columns hold names, the others numbers
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]  # the cells of each row
    names: int = 1  # number of columns that hold names
    notes: Sequence[str] = ()  # lines below the table
    # (R,) the length of a bar at the end of each row, -1 to 1; none if empty
    bars: Sequence[float] = ()
    elastic: int = 0  # the column that takes the remaining width in a terminal
    optional: Sequence[int] = ()  # columns that a narrow terminal leaves out, the first one first
    strong: Collection[int] = ()  # rows in bold
    wraps: bool = False  # whether long names are wrapped in a terminal, rather than cut


Part = Table | Mapping[str, str] | str
"""A part of a result: a table, names and values, or a paragraph."""


# ---- words ---------------------------------------------------------------------------------------


def clean(value: object, longest: int = 40) -> str:
    """Return a label or name for a terminal: no control characters, at most `longest` long."""
    text = printable(str(value).strip())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def number(value: float) -> str:
    """Format a number with four significant digits; from 1,000 to 10 billion without decimals."""
    value = float(value)
    if not 1e3 <= abs(value) < 1e10:
        return f"{value:.4g}"
    return f"{value:.0f}" if abs(value) < 9999.5 else f"{value:,.0f}"


def joined(names: Sequence[str]) -> str:
    """Return the features of an interaction; of more than four their number."""
    return " × ".join(names) if len(names) <= NAMES else f"{len(names):,} features"


def size_in_words(size: int) -> str:
    """Format a number of bytes, such as 131 kB."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size //= 1000
    return f"{size:,} GB"


def classes_listed(classes: Mapping[Label, float]) -> str:
    """Return the classes with the most rows, each with its number of rows or weight."""
    by_size = sorted(classes.items(), key=lambda item: -item[1])
    order = by_size[:CLASSES_LISTED] if len(by_size) > CLASSES_LISTED else classes.items()
    listed = ", ".join(f"{clean(label, 20)} {rows:,.10g}" for label, rows in order)
    n_others = len(by_size) - CLASSES_LISTED
    return listed + (f", and {n_others:,} more with fewer rows" if n_others > 0 else "")


# ---- in a terminal -------------------------------------------------------------------------------


def note(text: str) -> Text:
    """Return a note, dimmed."""
    return Text(text, style="dim")


def with_notes(shown: RichTable, *notes: str | None) -> Group:
    """Return a table with notes below it."""
    return Group(shown, *(note(text) for text in notes if text))


def new_table(*heads: str, names: int = 1, style: str = "bold") -> RichTable:
    """Return a table with a rule under its heads: names on the left, then numbers."""
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for k, head in enumerate(heads):
        side: Any = "left" if k < names else "right"
        table.add_column(head, justify=side, style="" if k else style, no_wrap=True)
    return table


def room_beside(columns: Sequence[Sequence[str]], width: int) -> int:
    """Return how many characters some columns of such a table leave free."""
    return width - sum(max(map(len, column)) + 2 for column in columns)


def facts(**values: str | None) -> RichTable:
    """Return a table of names and values; _ in a name becomes a space, None is skipped."""
    table = RichTable.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in values.items():
        if value is not None:
            table.add_row(name.replace("_", " "), value)
    return table


def on_terminal(table: Table, width: int = WIDTH) -> Group:
    """Render a table for a terminal of `width` characters, with its notes."""
    notes = map(printable, table.notes)
    if not table.rows:
        return Group(*map(note, notes))
    shown, columns = list(range(len(table.heads))), [*zip(table.heads, *table.rows, strict=True)]
    longest = [NAME if k == 0 else LONGEST for k in shown]
    elastic_width = min(max(map(len, columns[table.elastic])), ROOM)
    for optional in (*table.optional, None):
        others = ([clean(cell, longest[k]) for cell in columns[k]] for k in shown
                  if k != table.elastic)  # fmt: skip
        room = room_beside([*others], width)
        if room >= elastic_width or optional is None:
            break
        shown.remove(optional)
    longest[table.elastic] = max(room, NARROWEST, len(table.heads[table.elastic]))
    heads = (table.heads[k] for k in shown)
    rendered = new_table(*heads, names=table.names, style="" if table.strong else "bold")
    if table.wraps:
        longest = [LONGEST] * len(longest)
        for column in rendered.columns[: table.names]:
            column.no_wrap, column.overflow = False, "fold"
    for i, row in enumerate(table.rows):
        cells = (clean(row[k], longest[k]) for k in shown)
        rendered.add_row(*cells, style="bold" if i in table.strong else None)
    return with_notes(rendered, *notes)


def on_page(*parts: Part, width: int = WIDTH) -> Group:
    """Render the parts of a result for a terminal, tables under their titles."""
    lines: list[RenderableType] = []
    for part in parts:
        lines.append("")
        if isinstance(part, Table):
            lines += [Text(printable(part.title), style="bold")] * bool(part.title)
            lines.append(on_terminal(part, width))
        elif isinstance(part, str):
            lines.append(Text(printable(part)))
        else:
            lines.append(facts(**{name: printable(text) for name, text in part.items()}))
    return Group(*lines)


def as_text(shown: RenderableType, width: int = WIDTH) -> str:
    """Render as plain text: no colours, no trailing spaces."""
    file = io.StringIO()
    console = Console(
        file=file, width=width, color_system=None, markup=False, highlight=False, emoji=False,
        force_terminal=False, legacy_windows=False,
    )  # fmt: skip
    console.print(shown)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


# ---- as HTML -------------------------------------------------------------------------------------

SUBDUED = "margin:.2em 0;opacity:.7"  # style of notes


def html_of(heading: str, *parts: Part) -> str:
    """Render a result for a notebook; an empty heading is left out."""
    pieces = [paragraph(f"<b>{escaped(heading)}</b>")] * bool(heading)
    for part in parts:
        if isinstance(part, str):
            pieces.append(paragraph(escaped(part)))
        elif isinstance(part, Table):
            pieces.append(as_html(part))
        elif part:
            pieces.append(as_html(Table("", ["", ""], list(part.items()), 2)))
    return "".join(pieces)


def as_html(table: Table) -> str:
    """Render a table with its title and its notes, for a notebook."""
    sides = ["left" if k < table.names else "right" for k in range(len(table.heads))]
    styles = [f'style="padding:.1em 1em .1em 0;text-align:{side}"' for side in sides]

    def row(kind: str, cells: Sequence[str]) -> str:
        inner = (f"<{kind} {s}>{escaped(x)}</{kind}>" for s, x in zip(styles, cells, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(row("td", cells) for cells in table.rows)
    notes = "".join(paragraph(escaped(line), SUBDUED) for line in table.notes)
    caption = head = ""
    if table.title not in ("", table.heads[0]):
        side = "text-align:left;caption-side:top;font-weight:bold;padding:.3em 0;color:inherit"
        caption = f'<caption style="{side}">{escaped(table.title)}</caption>'
    if any(table.heads):
        head = f"<thead>{row('th', table.heads)}</thead>"
    return (
        '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums;margin:1em 0">'
        f"{caption}{head}<tbody>{body}</tbody></table>{notes}"
    )
