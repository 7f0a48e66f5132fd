"""Format words and their log-odds as text and HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

FOR, AGAINST = "30,136,229", "245,124,0"
"""Blue and orange, which the colour-blind tell apart."""
FAINTEST, STRONGEST = 0.05, 0.6
"""How much of a colour covers the background: words can be read on white and on black."""
LONGEST = 20
"""Characters of the longest bar."""
PLAIN, PALE = "margin:.5em 0", "margin:.5em 0;opacity:.7"
"""Styles of paragraphs."""
BLANK = re.compile(r"\n(?:[^\S\n]*\n){2,}")
"""Lines without words, of which one is shown."""

Mark = tuple[int, int, float]
"""(start, end, log-odds) of a part of a text."""
Line = tuple[str, str, float]
"""(a name, its value or count, its log-odds)."""


NO_ESTIMATE = "no estimate, as every class has probability 0 (0/0): the class prior is predicted"
"""A remark on a row that every class rules out."""


def total_odds(total: float) -> str:
    """The sum of log-odds; infinite ones may speak for both classes."""
    return "undecided (each is ruled out)" if math.isnan(total) else f"{total:+.3f}"


def more_of(lines: Sequence[tuple[Any, Any, float]], what: str) -> list[Line]:
    """The sum of the lines that are not listed, as a line; none if there are none."""
    total = sum(line[2] for line in lines)
    return [(f"({counted(len(lines), f'more {what}')})", "", total)] * bool(lines)


def magnitude(value: int) -> str:
    """A whole number that may have thousands of digits."""
    if value < 10_000_000:
        return f"{value:,}"
    if value.bit_length() < 1000:
        return f"{value:.3g}"
    power = math.log10(value)
    return f"{10.0 ** (power % 1.0):.2f}e+{math.floor(power)}"


def squeezed(text: str) -> str:
    """Text with at most one blank line in a row."""
    return BLANK.sub("\n\n", text)


def shown(term: str) -> str:
    """A term as it can be seen: with quotes if it begins or ends with a space."""
    quoted = repr(term)
    return quoted if term != term.strip() else quoted[1:-1]


def largest(odds: Iterable[float]) -> float:
    """The largest of some log-odds that is finite, or 1 if all are 0."""
    return max((abs(one) for one in odds if math.isfinite(one)), default=0.0) or 1.0


def length(odds: float, widest: float, longest: int = LONGEST) -> int:
    """Of a bar, in characters."""
    return round(min(1.0, abs(odds) / widest) * longest)


def cut_note(marked: int, whole: int) -> str:
    """What part of a long text is shown; nothing if all of it is."""
    if marked == whole:
        return ""
    return f"the first {marked:,} of {whole:,} characters; the terms are those of all of it"


def printable(text: str) -> str:
    """Text as a terminal may show it: control characters as they are written in Python."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def brief(text: str, longest: int) -> str:
    """Text as it can be seen in one line, and no longer than that."""
    text = printable(text.strip()[: longest + 1])
    return text if len(text) <= longest else text[: longest - 1] + "…"


def counted(count: int, what: str, several: str = "") -> str:
    """How many of something there are; `several` is its plural, if that is irregular."""
    return f"{count:,} {what if count == 1 else several or what + 's'}"


def as_missing(count: int) -> str:
    """What happens to so many values that a column cannot take."""
    return "counts as missing" if count == 1 else "count as missing"


def html_table(heads: Sequence[str], rows: Sequence[Line], total: float) -> str:
    """Names, values, and log-odds with a bar, and the total, as HTML."""
    widest = largest(odds for _, _, odds in rows)
    left, right = (
        f'style="padding:.1em 1em .1em 0;text-align:{side}"' for side in ("left", "right")
    )
    lines = [
        f"<tr><td {left}>{escaped(name)}</td><td {left}>{escaped(what)}</td>"
        f"<td {right}>{odds:+.3f}</td>"
        f'<td style="width:12em;padding:0"><div style="height:.8em;background:rgb('
        f'{FOR if odds > 0 else AGAINST});width:{100 * min(1.0, abs(odds) / widest):.0f}%">'
        "</div></td></tr>"
        for name, what, odds in rows
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
    """HTML that is shown when its title is clicked."""
    return (
        f'<details{" open" * opened}><summary style="cursor:pointer">{escaped(title)}</summary>'
        f'\n<div style="margin:.8em 1.2em">{body}</div>\n</details>'
    )


def html_text(text: str, marks: Sequence[Mark], strongest: float | None = None) -> str:
    """A text with its words marked, as HTML; `strongest` is what the strongest colour means."""
    widest = strongest or largest(odds for _, _, odds in marks)
    pieces, at = [], 0
    for start, end, odds in marks:
        pieces.append(escaped(squeezed(text[at:start])))
        style = colour(max(-1.0, min(1.0, odds / widest)))
        word = escaped(text[start:end])
        pieces.append(f'<span style="{style}" title="{odds:+.3f}">{word}</span>')
        at = end
    return "".join([*pieces, escaped(squeezed(text[at:]))])


def colour(strength: float) -> str:
    """The style of a word that speaks for a class, or against it if negative, -1 to 1."""
    if abs(strength) < FAINTEST:
        return ""
    cover = FAINTEST + (STRONGEST - FAINTEST) * abs(strength)
    colour = FOR if strength > 0 else AGAINST
    return f"background:rgba({colour},{cover:.2f});border-radius:.2em;padding:0 .15em"


def paragraph(html: str, style: str = PLAIN) -> str:
    """A paragraph of HTML."""
    return f'<p style="{style}">{html}</p>'


def legend(label: Any, against: Any) -> str:
    """Which log-odds are shown, and what the two colours mean, as HTML."""
    one, other = (
        f'<span style="{colour(sign)}">for {escaped(shown(str(name)))}</span>'
        for name, sign in ((label, 1.0), (against, -1.0))
    )
    what = (
        f"log-odds of {escaped(shown(str(label)))} against {escaped(shown(str(against)))}, in nats"
    )
    return paragraph(f"{what}: {one} {other}")


def escaped(text: str) -> str:
    """Text for HTML, without halves of surrogate pairs, which no file can hold."""
    return escape(text.encode("utf-8", "replace").decode())
