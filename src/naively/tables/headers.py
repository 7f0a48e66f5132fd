"""The first lines of delimited text: names that look like values, and Orange's three lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from naively.numerals import MOMENT, NUMBER, WHOLE, is_whole
from naively.tables.names import first_names
from naively.tables.values import TRUTH

TYPES = frozenset(
    {"c", "d", "s", "t", "continuous", "discrete", "string", "time", "basket"}
)  # fmt: skip
FLAGS = frozenset({"", "class", "c", "meta", "m", "ignore", "i"})
WORDS = frozenset({"class", "meta", "ignore"})
NO_FEATURES = frozenset({"meta", "m", "ignore", "i"})


def doubt(names: Sequence[str]) -> str:
    """What to say of names that look like values; nothing if they look like names.

    Fractions, dates, times and truth values are no names. Whole numbers may be, as years and the
    numbers of pixels are: these go up.
    """
    values = [name for name in names if name in TRUTH or (name and _is_value(name))]
    whole = [name for name in names if is_whole(name)]
    if any(int(a) >= int(b) for a, b in pairwise(whole)):
        values = [name for name in names if name in values or name in whole]
    if not values:
        return ""
    return (
        f"the first line looks like values, not like names: {first_names(values)}; if it is a row, "
        "put a line with the names of the columns before it"
    )


def _is_value(name: str) -> bool:
    """Whether text is a fraction, a negative number, a date or a time."""
    if WHOLE.fullmatch(name):
        return name.startswith("-")
    return bool(NUMBER.fullmatch(name) or MOMENT.fullmatch(name))


def are_types(fields: Sequence[str], columns: int) -> bool:
    """Whether this is the second line of an Orange file, with the type of each column."""
    return len(fields) == columns and TYPES.issuperset(field.strip() for field in fields)


def are_flags(fields: Sequence[str], columns: int) -> bool:
    """Whether this is the third one, with what some of the columns are for.

    Letters alone may be values of a row.
    """
    found = {field.strip() for field in fields}
    sure = "" in found or found & WORDS
    return len(fields) == columns and FLAGS.issuperset(found) and found != {""} and bool(sure)


def orange(names: Sequence[str], flags: Sequence[str]) -> str:
    """What to say of such a file."""
    pairs = zip(names, flags, strict=True)
    others = [name for name, flag in pairs if flag.strip() in NO_FEATURES]
    skip = f"; marked meta or ignore there: {first_names(others)}: --skip them" if others else ""
    return f"lines 2 and 3 are those of an Orange file, types and flags, and no rows{skip}"
