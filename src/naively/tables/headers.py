"""The first lines of delimited text: names that look like values, and lines that are no rows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise

from naively.numerals import MOMENT, NUMBER, WHOLE, is_whole
from naively.tables.inputs import MISSING, TableError
from naively.tables.names import first_names
from naively.tables.values import TRUTH

TYPES = frozenset(
    {"c", "d", "s", "t", "continuous", "discrete", "string", "time", "basket"}
)  # fmt: skip
FLAGS = frozenset({"", "class", "c", "meta", "m", "ignore", "i"})
TOTAL = re.compile(r"(grand |sub)?totals?:?|sums?:?", re.I)
LABEL = b"__label__"
ROWS = 2
"""Rows that are looked at, more than that."""


def doubt(names: Sequence[str], rows: Sequence[Sequence[str]] = ()) -> str:
    """What to say of names that look like values; nothing if they look like names.

    Names that are values of their columns in the first rows are, if most are so. Fractions, dates,
    times and truth values are no names. Whole numbers may be, as years and the numbers of pixels
    are: these go up.
    """
    values = [name for name in names if name in TRUTH or (name and _is_value(name))]
    whole = [name for name in names if is_whole(name)]
    if any(int(a) >= int(b) for a, b in pairwise(whole)):
        values = [name for name in names if name in values or name in whole]
    cells = [[cell.strip("\ufeff \t") for cell in row] for row in rows]
    others = [row for row in cells if row != [*names]]  # which is a header of a joined file
    met = {name for row in others for name, cell in zip(names, row, strict=False) if name == cell}
    if not values and met and len(met.union(whole)) > len(names) / 2:
        values = [name for name in names if name in met or name in whole]
    if not values:
        return ""
    return (
        f"the first line looks like values, not like names: {first_names(values)}; if it is a row, "
        "put a line with the names of the columns before it"
    )


def odd_lines(rows: Sequence[Sequence[str]], last: Sequence[str]) -> str:
    """What to say of a line of units under the header, and of one of totals at the end."""
    width = min(map(len, rows), default=0)
    numeric = [
        k for k in range(width)
        if len(rows) > ROWS and all(NUMBER.fullmatch(row[k].strip()) for row in rows[1:])
    ]  # fmt: skip
    units = [rows[0][k].strip() for k in numeric]
    if len(units) > 1 and not any(NUMBER.fullmatch(u) or u in MISSING for u in units):
        return (
            f"the line after the header looks like units, not like a row: {first_names(units)}; "
            "take it away"
        )
    if last and TOTAL.fullmatch(last[0].strip()):
        return f"the last line looks like totals, not like a row: {first_names(last)}; take it away"
    return ""


def refuse_blanks(name: str, header: str, rows: Sequence[str]) -> None:
    """Raise TableError for columns that are apart by blanks: as many words in all lines.

    Some of the words are numbers in each row, as those of sentences are not.
    """
    words = [row.split() for row in rows]
    size = len(header.split())
    if size < 2 or len(words) < ROWS or any(len(own) != size for own in words):
        return
    if any(all(NUMBER.fullmatch(own[k]) for own in words) for k in range(size)):
        raise TableError(
            f"{name}: columns that are apart by blanks; write a comma between them: "
            f"sed -E 's/^ +//; s/ +/,/g' {shlex.quote(name)}"
        )


def refuse_orange(name: str, rows: Sequence[Sequence[str]]) -> None:
    """Raise TableError for the types and flags that Orange writes after the names in .tab files."""
    if len(rows) < ROWS:
        return
    types, flags = ({field.strip() for field in row} for row in rows[:2])
    if types <= TYPES and flags <= FLAGS and ("" in flags or "class" in flags):
        raise TableError(
            f"{name}: lines 2 and 3 are types and flags, as Orange writes them, and no rows; take "
            f"them away: sed '2,3d' {shlex.quote(name)}"
        )


def refuse_fasttext(name: str, line: bytes) -> None:
    """Raise TableError for lines that begin with labels, as those for fastText do."""
    if line.startswith(LABEL):
        raise TableError(
            f"{name}: these are texts with labels as fastText writes them; make columns of them: "
            f"(printf 'label\\ttext\\n'; sed -E 's/^__label__([^ ]+) +/\\1\\t/' "
            f"{shlex.quote(name)}) > texts.tsv"
        )


def _is_value(name: str) -> bool:
    """Whether text is a fraction, a negative number, a date or a time."""
    if WHOLE.fullmatch(name):
        return name.startswith("-")
    return bool(NUMBER.fullmatch(name) or MOMENT.fullmatch(name))
