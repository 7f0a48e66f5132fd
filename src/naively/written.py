"""Text that people may mean as numbers or dates, but that is read as levels: it is told of.

1,234 is a thousand and more to some and little more than one to others, and 03/04/2020 a day in
March or in April. A cell has one meaning here, so these have none but their text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from naively import numerals
from naively.numerals import MOMENT

LOOKED_AT = 10_000
"""Levels, about as many at most."""
FEWEST, MOST_OF = 3, 0.9
"""Levels that look alike, at least; part of all levels."""
SPELLED, LONGEST = 3, 16
"""Strays that are all named, and their characters, at most."""

SIGN = r"[$€£¥₹₽₩₺]|USD|EUR|GBP|CHF|JPY|INR|CAD|AUD|CNY|SEK|NOK|DKK|PLN|kr|zł|R\$"
NUMBER = r"(?:\d+(?:[.,]\d+)?|\d{1,3}(?:[.,' \u00a0\u202f]\d{3})+(?:[.,]\d+)?)"
MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[ap]\.?m\.?)?"
DATE = (
    r"(?:\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d\d)|\d{4}([./])\d{1,2}\2\d{1,2}|\d{4}-\d{1,2}-\d{1,2}"
    rf"|\d{{1,2}}[ -]{MONTH}[ -]\d{{2,4}}|{MONTH} \d{{1,2}},? \d{{4}})"
)
FORMS = (
    ("percentages", "write 0.063 for 6.3%", rf"[-+]?{NUMBER} ?%"),
    ("amounts of money", "write 1234.5 for $1,234.50",
     rf"[-+]?(?:(?:{SIGN}) ?[-+]?{NUMBER}|{NUMBER} ?(?:{SIGN}))|\((?:{SIGN}) ?{NUMBER}\)"),
    ("numbers with a comma", "write 1234.5 for 1,234.5 or 1.234,5",
     r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+,\d+|\d{1,3}(?:\.\d{3})+,\d+)"),
    ("numbers in groups of digits", "write 1234.5 for 1 234.5",
     r"[-+]?\d{1,3}(?:[' \u00a0\u202f]\d{3})+(?:[.,]\d+)?"),
    ("dates", "write 2020-12-31 and 13:05, as ISO 8601 does", rf"{DATE}(?:,?[ T]{CLOCK})?"),
    ("times of the day", "write 13:05, as ISO 8601 does", CLOCK),
)  # fmt: skip
"""What they are, what to write instead, and how they look: the first that fits counts."""
CODE = re.compile(numerals.ANY)
"""What is no number as it has leading zeros, and all numbers."""
PATTERNS = [(what, remedy, re.compile(form, re.ASCII | re.I)) for what, remedy, form in FORMS]
OF_NUMBERS, OF_MOMENTS = PATTERNS[:4], PATTERNS[4:]


def written(levels: Sequence[str]) -> str | None:
    """What some levels of text look like, and what to do; None if like nothing but text.

    Numbers and dates as they should be are told of, too, if few others stand among them, or others
    that people mean as such.
    """
    some = [level.strip() for level in levels[:: max(1, len(levels) // LOOKED_AT)]]
    if len(some) < FEWEST:
        return None
    few = (1 - MOST_OF) * len(some)
    for what, pattern, forms in (
        ("numbers", numerals.NUMBER, OF_NUMBERS), ("dates or times", MOMENT, OF_MOMENTS),
    ):  # fmt: skip
        strays = [level for level in some if not (level and pattern.fullmatch(level))]
        if not strays:
            return None
        if len(some) - len(strays) > few and (meant := _meant(strays, few, forms)):
            return f"{what}, but for {_named(strays, meant[0])}: so all are levels; {meant[1]}"
        if len(strays) <= few:
            code = next((level for level in strays if CODE.fullmatch(level)), None)
            hint = _spelled(strays) if code is None else ": digits with leading zeros are text"
            return f"{what}, but for {_named(strays, code)}{hint}"
    if meant := _meant(some, few, PATTERNS):
        return f"levels such as {meant[0]!r}: {meant[1]}"
    return None


def _named(strays: Sequence[str], first: str | None) -> str:
    """The strays if they are few; else one of them, and how many more."""
    shown = [repr(one) for one in strays]
    if first is None and 1 < len(shown) <= SPELLED:
        return f"{', '.join(shown[:-1])} and {shown[-1]}"
    more = f" and {len(shown) - 1:,} more" if shown[1:] else ""
    return f"{shown[0] if first is None else repr(first)}{more}"


def _spelled(strays: Sequence[str]) -> str:
    """What to write if the strays mean missing values."""
    so = ": so all are levels; "
    if len(strays) > SPELLED or any(not 0 < len(one) <= LONGEST for one in strays):
        return f"{so}see --missing"
    those = "these are" if strays[1:] else "it is"
    options = (f"--missing{'=' if one[0] == '-' else ' '}{shlex.quote(one)}" for one in strays)
    return f"{so}if {those} missing, {' '.join(options)}"


def _meant(
    levels: Sequence[str], others: float, forms: Sequence[tuple[str, str, re.Pattern[str]]]
) -> tuple[str, str] | None:
    """(one of these levels, what to write instead) if all but so many others have one form."""
    for what, remedy, pattern in forms:
        alike = [level for level in levels if pattern.fullmatch(level)]
        if len(alike) >= max(FEWEST, len(levels) - others):
            return alike[len(alike) // 2], f"if these are {what}, {remedy}"
    return None
