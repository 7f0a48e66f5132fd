"""Print explanations: tables of contributions with bars, and texts with words marked."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.table import Table as RichTable
from rich.text import Text

from naively.core import markup
from naively.core.labels import Label
from naively.rendering import clean, new_table, note, number, room_beside

NUMBER = re.compile(r"-?\d+\.\d+(e[+-]?\d+)?")
EXACT = 8  # characters of a number up to which it is printed as it is
UNMARKED = "words without a mark contribute less than 20% of the largest mark, or are unknown"
"""Remark below a text with numbers as marks."""
SHOWN = 10_000  # characters of a text that are printed
STRONG, CLEAR, FAINT = 0.5, 0.2, 0.05
"""Fractions of the largest log-odds of a text: thresholds of the three styles of marks."""
FOR = ("bold #ffffff on #005fd7", "bold #3a8ee6", "#3a8ee6")
AGAINST = ("bold #000000 on #ff8700", "bold #d98200", "#d98200")
"""Styles of strong, clear and weak evidence."""


@dataclass(frozen=True)
class Listing:
    """Contributions to print, which add up to the total."""

    rows: list[markup.Line]  # features or terms with their values, the largest contribution first
    # lines without bars: the sum of other features, prior mixing, the prior
    closing: list[markup.Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # remarks below the table


def table(
    heads: tuple[str, str], listing: Listing, total: float, width: int, longest: tuple[int, int]
) -> RichTable:
    """Make a table of contributions with bars, and a line with the total.

    `longest`: maximum characters of a name and of a value.
    """
    shown_rows = [
        (clean(name, longest[0]), markup.brief(value, longest[1]), f"{odds:+.3f}")
        for name, value, odds in [*listing.rows, *listing.closing]
    ]
    last = ("total", "", markup.total_odds(total))
    if not any(value for _, value, _ in shown_rows):
        heads = heads[0], ""
    columns = list(zip((*heads, "contribution"), *shown_rows, last, strict=True))
    grid = new_table(*heads, "contribution", names=2, style="")
    grid.add_column("")
    bar = max(0, min(markup.LONGEST, room_beside(columns, width)))
    values = [odds for _, _, odds in listing.rows]
    widest = math.inf if any(map(math.isinf, values)) else markup.largest(values)
    lines = zip(shown_rows, [*listing.rows, *listing.closing], strict=True)
    for k, ((name, value, cell), (_, _, odds)) in enumerate(lines):
        has_bar = k < len(listing.rows)
        drawn = "█" * markup.length(odds, widest, bar) if has_bar else ""
        style = FOR[2] if odds > 0 else AGAINST[2]
        grid.add_row(Text(name, style="bold" * has_bar), value, cell, Text(drawn, style=style))
    grid.add_section()
    grid.add_row(*last, "", style="bold")
    return grid


def rounded(value: str) -> str:
    """Round numbers that are written with more than eight characters and a decimal point."""
    parts = value.split(" × ")  # of an interaction
    return " × ".join(
        number(float(part)) if len(part) > EXACT and NUMBER.fullmatch(part) else part
        for part in parts
    )


def legend(label: Label, against: Label) -> Text:
    """Explain the log-odds and their signs: which class positive and negative ones favour."""
    name, other_name = clean(markup.shown(str(label)), 20), clean(markup.shown(str(against)), 20)
    line = note(f"log-odds of {name} against {other_name}, in nats: ")
    line.append("positive", f"not dim {FOR[1]}").append(f" for {name}, ")
    line.append("negative", f"not dim {AGAINST[1]}").append(f" for {other_name}")
    return line.append(f"\n{markup.DOUBLES}")


def marked(text: str, marks: Sequence[markup.Mark], strongest: float, colours: bool) -> Text:
    """Mark the words at the beginning of a text by their contributions: in colours, or numbers."""
    output, position = Text(), 0
    text = text[:SHOWN]
    for start, end, odds in marks:
        if end > SHOWN:
            break
        output.append(_printed(text[position:start]))
        part = abs(odds) / strongest
        word = _printed(text[start:end])
        if colours:
            level = (part < STRONG) + (part < CLEAR) + (part < FAINT)
            output.append(word, (*(FOR if odds > 0 else AGAINST), "")[level])
        else:
            phrase = f"({word})" if len(word.split()) > 1 else word
            output.append(f"{phrase}[{odds:+.1f}]" if part >= CLEAR else word)
        position = end
    output.append(_printed(text[position:]))
    output.rstrip()
    return output


def _printed(text: str) -> str:
    """Escape control characters, but keep the lines of the text."""
    lines = markup.squeezed(text).replace("\t", " ").split("\n")
    return "\n".join(markup.printable(line.removesuffix("\r")) for line in lines)
