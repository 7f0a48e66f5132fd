"""Format words and their log-odds as text and HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it loads NumPy, which `naively --help` does without
    from naively.core.labels import Label

FOR, AGAINST = "30,136,229", "245,124,0"
"""RGB of blue and orange, which are distinct for colour-blind readers."""
FAINTEST, STRONGEST = 0.05, 0.6
"""Least and largest opacity of background colours: words stay legible on white and black."""
LONGEST = 20  # characters of the longest bar
PLAIN, PALE = "margin:.5em 0", "margin:.5em 0;opacity:.7"  # styles of paragraphs
BLANK = re.compile(r"\n(?:[^\S\n]*\n){2,}")  # several blank lines, which are shown as one

Mark = tuple[int, int, float]  # (start, end, log-odds) of a part of a text
Line = tuple[str, str, float]  # (name, value or count, log-odds)


PRINTED = 0.0005  # log-odds below this are printed as 0
DOUBLES = "+0.69 doubles the odds, -0.69 halves them"
NO_ESTIMATE = "no estimate, as every class has probability 0 (0/0): the class prior is predicted"
"""Remark on a row that has probability 0 in all classes."""


def total_odds(total: float) -> str:
    """Format the sum of log-odds; NaN means that each class has a part with probability 0."""
    return "undecided (each is ruled out)" if math.isnan(total) else f"{total:+.3f}"


def more_of(lines: Sequence[tuple[object, object, float]], what: str) -> list[Line]:
    """Sum the lines that are not listed into one line, in a list; [] if there are none."""
    total = sum(line[2] for line in lines)
    return [(f"({counted(len(lines), f'more {what}')})", "", total)] * bool(lines)


def chance(p: float) -> str:
    """Format a probability after "P"; one that is rounded to 0 or 1 as a bound."""
    if 0.0 < p < 0.00005:
        return "< 0.0001"
    return "> 0.9999" if 0.99995 <= p < 1.0 else f"= {p:.4f}"


def magnitude(value: int) -> str:
    """Format an integer, which may have thousands of digits."""
    if value < 10_000_000:
        return f"{value:,}"
    if value.bit_length() < 1000:
        return f"{value:.3g}"
    power = math.log10(value)
    return f"{10.0 ** (power % 1.0):.2f}e+{math.floor(power)}"


def squeezed(text: str) -> str:
    """Replace several blank lines by one."""
    return BLANK.sub("\n\n", text)


def shown(term: str) -> str:
    """Escape a term for printing; add quotes if it begins or ends with a space."""
    quoted = repr(term)
    return quoted if term != term.strip() else quoted[1:-1]


def largest(odds: Iterable[float]) -> float:
    """Return the largest finite absolute log-odds, or 1 if all would print as 0."""
    most = max((abs(value) for value in odds if math.isfinite(value)), default=0.0)
    return most if most >= PRINTED else 1.0


def length(odds: float, widest: float, longest: int = LONGEST) -> int:
    """Return the length of a bar in characters."""
    share = abs(odds) / widest if abs(odds) < widest else 1.0
    return round(share * longest)


def cut_note(marked: int, whole: int) -> str:
    """Return the remark that a long text is cut; "" if all of it is shown."""
    cut = f"the first {marked:,} of {whole:,} characters; the terms are those of all of it"
    return "" if marked == whole else cut


def printable(text: str) -> str:
    """Escape control characters as Python does, so that a terminal can show the text."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def brief(text: str, longest: int) -> str:
    """Escape a text for one line, and cut it after `longest` characters."""
    text = printable(text.strip()[: longest + 1])
    return text if len(text) <= longest else text[: longest - 1] + "…"


def counted(count: int, what: str, several: str = "") -> str:
    """Format a count with its noun; `several` is the plural if it is irregular."""
    return f"{count:,} {what if count == 1 else several or what + 's'}"


def as_missing(count: int) -> str:
    """Return the verb for the treatment of invalid values, singular or plural."""
    return "counts as missing" if count == 1 else "count as missing"


def html_table(
    heads: Sequence[str], rows: Sequence[Line], closing: Sequence[Line], total: float
) -> str:
    """Make an HTML table of names, values and log-odds, and the total.

    Lines of `closing` have no bars.
    """
    widest = largest(odds for _, _, odds in rows)
    style = 'style="padding:.1em 1em .1em 0;text-align:{}"'
    left, right = style.format("left"), style.format("right")
    bars = [100 * min(1.0, abs(odds) / widest) for _, _, odds in rows] + [0.0] * len(closing)
    lines = [
        f"<tr><td {left}>{escaped(name)}</td><td {left}>{escaped(value)}</td>"
        f"<td {right}>{odds:+.3f}</td>"
        f'<td style="width:12em;padding:0"><div style="height:.8em;background:rgb('
        f'{FOR if odds > 0 else AGAINST});width:{bar:.0f}%">'
        "</div></td></tr>"
        for (name, value, odds), bar in zip([*rows, *closing], bars, strict=True)
    ]
    lines.append(
        f"<tr><td {left}><b>total</b></td><td></td><td {right}><b>{total_odds(total)}</b></td>"
        "<td></td></tr>"
    )
    first, second, third = heads
    return (
        '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums"><thead><tr>'
        f"<th {left}>{first}</th><th {left}>{second}</th><th {right}>{third}</th><th></th></tr>"
        f"</thead><tbody>{''.join(lines)}</tbody></table>"
    )


def folded(title: str, body: str, opened: bool = False) -> str:
    """Make HTML that is shown when its title is clicked."""
    return (
        f'<details{" open" * opened}><summary style="cursor:pointer">{escaped(title)}</summary>'
        f'\n<div style="margin:.8em 1.2em">{body}</div>\n</details>'
    )


def html_text(
    text: str, marks: Sequence[Mark], strongest: float | None = None, flip: bool = False
) -> str:
    """Make HTML of a text with its words marked.

    strongest : log-odds of the full colour; by default the largest.
    flip : whether to exchange the two colours.
    """
    widest = strongest or largest(odds for _, _, odds in marks)
    pieces, position = [], 0
    for start, end, odds in marks:
        pieces.append(escaped(squeezed(text[position:start])))
        style = colour(max(-1.0, min(1.0, (-odds if flip else odds) / widest)))
        word = escaped(text[start:end])
        pieces.append(f'<span style="{style}" title="{odds:+.3f}">{word}</span>')
        position = end
    return "".join([*pieces, escaped(squeezed(text[position:]))])


def colour(strength: float) -> str:
    """Return the style of a word; `strength` is from -1, against the class, to 1, for it."""
    if abs(strength) < FAINTEST:
        return ""
    cover = FAINTEST + (STRONGEST - FAINTEST) * abs(strength)
    colour = FOR if strength > 0 else AGAINST
    return f"background:rgba({colour},{cover:.2f});border-radius:.2em;padding:0 .15em"


def paragraph(html: str, style: str = PLAIN) -> str:
    """Make an HTML paragraph."""
    return f'<p style="{style}">{html}</p>'


def legend(label: Label, against: Label) -> str:
    """Make the HTML legend: the two classes of the log-odds, and their colours."""
    positive, negative = (
        f'<span style="{colour(sign)}">for {escaped(shown(str(name)))}</span>'
        for name, sign in ((label, 1.0), (against, -1.0))
    )
    first, second = (escaped(shown(str(name))) for name in (label, against))
    title = f"log-odds of {first} against {second}, in nats"
    return paragraph(f"{title}: {positive} {negative}; {DOUBLES}")


def escaped(text: str) -> str:
    """Escape text for HTML, and replace lone surrogates, which cannot be encoded as UTF-8."""
    return escape(text.encode("utf-8", "replace").decode())
