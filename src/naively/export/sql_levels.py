"""Levels in SQL: which of them a cell is, whatever its type and however it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from naively.export.expressions import cast, cell, number, trimmed
from naively.export.formulas import spelled
from naively.families.categorical_parameters import NARROW
from naively.tables.values import level_text

READING = ("duckdb", "postgres", "sqlite")
"""Dialects in which numbers among levels are compared as numbers, so that 1.50 is 1.5."""
EXACT = 2.0**53
"""All digits count of numbers from here on, as of text."""
WRITTEN = r"^[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,2})?$"
"""Numbers, but for those that may be beyond float64, of which PostgreSQL makes errors,"""
LONGEST = 99
"""as it does of those of more characters."""
CODES = ("0[0-9]*", "[-+]0[0-9]*")
"""Digits with leading zeros are no number."""


def as_text(name: str, dialect: str, missing: Sequence[str]) -> exp.Expression:
    """A cell as text; null where it is missing."""
    text = _trimmed(name, dialect)
    if not missing:
        return text
    none = one_of(text, as_number(name, dialect), missing, dialect)
    return exp.Case(ifs=[exp.If(this=none, true=exp.Null())], default=text.copy())


def as_number(name: str, dialect: str) -> exp.Expression:
    """The number that a cell is written as; null if it is none."""
    text = _trimmed(name, dialect)
    if dialect == "sqlite":  # which has no patterns, but compares text with a number if it is one
        kind = exp.func("typeof", cell(name))
        numbers = [exp.Literal.string(one) for one in ("integer", "real")]
        typed = exp.If(this=exp.In(this=kind, expressions=numbers), true=cast(cell(name)))
        same = exp.EQ(this=cast(text), expression=text.copy())
        codes = [exp.Glob(this=text.copy(), expression=exp.Literal.string(one)) for one in CODES]
        read = exp.and_(same, *map(exp.not_, codes), copy=False)
        return exp.Case(ifs=[typed, exp.If(this=read, true=cast(text.copy()))])
    short = exp.LTE(this=exp.Length(this=text), expression=exp.Literal.number(LONGEST))
    looks = exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(WRITTEN))
    read = exp.and_(short, looks, copy=False)
    value = exp.TryCast(this=text.copy(), to=exp.DataType.build("double"))
    return exp.Case(ifs=[exp.If(this=read, true=value)])


def as_truth(name: str, dialect: str) -> exp.Expression:
    """1 for true and 0 for false, as truth values, text or numbers; null for what is neither."""
    text = exp.Lower(this=_trimmed(name, dialect))
    ifs = [
        exp.If(
            this=exp.EQ(this=text.copy(), expression=exp.Literal.string(one)), true=number(value)
        )
        for one, value in (("true", 1.0), ("false", 0.0))
    ]
    return exp.Case(ifs=ifs, default=as_number(name, dialect))


def has_numbers(levels: Sequence[str], dialect: str) -> bool:
    """Whether some levels are compared as numbers."""
    return any(_is_number(one, dialect) for one in levels)


def one_of(
    text: exp.Expression, read: exp.Expression, levels: Sequence[str], dialect: str
) -> exp.Expression:
    """Whether a text, which is read as a number, is one of some levels; null if it is none."""
    numbers = [number(float(one)) for one in levels if _is_number(one, dialect)]
    others = [one for one in levels if not _is_number(one, dialect)]
    texts = [exp.Literal.string(each) for one in others for each in spelled(one)]
    pairs = [(text, texts), (read, numbers)]
    first, *rest = [exp.In(this=one.copy(), expressions=own) for one, own in pairs if own]
    return exp.Or(this=first, expression=rest[0]) if rest else first


def rounds_to(read: exp.Expression, levels: Sequence[str], dialect: str) -> exp.Expression | None:
    """Whether a number is one of some fractions, if both are rounded to float32; None of none."""
    ranges = [
        exp.Between(this=read.copy(), low=number(low), high=number(high))
        for low, high in map(_rounded, (one for one in levels if _is_number(one, dialect)))
        if low < high
    ]
    if not ranges:
        return None
    whole: Any = exp.or_(*ranges, copy=False)
    found: exp.Expression = whole
    return found


def _rounded(level: str) -> tuple[float, float]:
    """The least and the largest number that rounds to the same float32; (0, 0) of whole ones."""
    size = abs(float(level))
    if not NARROW[0] <= size <= NARROW[1] or np.float32(level).is_integer():
        return 0.0, 0.0
    own = np.float32(level)
    low, high = (
        (float(own) + float(np.nextafter(own, np.float32(end)))) / 2 for end in (-np.inf, np.inf)
    )
    if own.view(np.uint32) & np.uint32(1):  # halves are rounded to even ones
        return float(np.nextafter(low, np.inf)), float(np.nextafter(high, -np.inf))
    return low, high


def _is_number(level: str, dialect: str) -> bool:
    read = dialect in READING and len(level) <= LONGEST and re.fullmatch(WRITTEN, level)
    return bool(read) and level_text(level, ()) == level and abs(float(level)) < EXACT


def _trimmed(name: str, dialect: str) -> exp.Expression:
    return trimmed(exp.cast(cell(name), "text"), dialect)
