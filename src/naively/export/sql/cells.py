"""Write SQL that reads cells as numbers or categories, whatever their type and spelling."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from naively.core.exact import LARGEST, Float64
from naively.export.formulas import spelled
from naively.export.sql.expressions import added, cast, cell, minus, number, over, paren, trimmed
from naively.formula import Density, Line, Parabola
from naively.statistics.levels import NARROW
from naively.tables.values import level_text

READING = ("duckdb", "postgres", "sqlite")
"""Dialects in which numeric categories are compared as numbers, so that 1.50 equals 1.5."""
EXACT = 2.0**53  # numbers from here on are compared by all their digits, as text
WRITTEN = r"^[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,2})?$"
"""Numbers, except those that may be beyond float64, which are errors in PostgreSQL,"""
LONGEST = 99
"""as are numbers of more characters."""
CODES = ("0[0-9]*", "[-+]0[0-9]*")  # digits with leading zeros are codes, not numbers


def as_text(name: str, dialect: str, missing: Sequence[str]) -> exp.Expression:
    """Read a cell as text; null where it is missing."""
    text = _trimmed(name, dialect)
    if not missing:
        return text
    is_missing = one_of(text, as_number(name, dialect), missing, dialect)
    return exp.Case(ifs=[exp.If(this=is_missing, true=exp.Null())], default=text.copy())


def as_number(name: str, dialect: str) -> exp.Expression:
    """Read a cell as the number that it spells; null if it spells none."""
    text = _trimmed(name, dialect)
    if dialect == "sqlite":  # it has no patterns, but compares text with a number
        sql_type = exp.func("typeof", cell(name))
        type_names = [exp.Literal.string(word) for word in ("integer", "real")]
        typed = exp.If(this=exp.In(this=sql_type, expressions=type_names), true=cast(cell(name)))
        round_trip = exp.EQ(this=cast(text), expression=text.copy())
        codes = [exp.Glob(this=text.copy(), expression=exp.Literal.string(word)) for word in CODES]
        is_readable = exp.and_(round_trip, *map(exp.not_, codes), copy=False)
        return exp.Case(ifs=[typed, exp.If(this=is_readable, true=cast(text.copy()))])
    short = exp.LTE(this=exp.Length(this=text), expression=exp.Literal.number(LONGEST))
    is_number = exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(WRITTEN))
    is_readable = exp.and_(short, is_number, copy=False)
    value = exp.TryCast(this=text.copy(), to=exp.DataType.build("double"))
    return exp.Case(ifs=[exp.If(this=is_readable, true=value)])


def as_truth(name: str, dialect: str) -> exp.Expression:
    """Read booleans, text or numbers as 1 for true and 0 for false; null for other values."""
    text = exp.Lower(this=_trimmed(name, dialect))
    ifs = [
        exp.If(
            this=exp.EQ(this=text.copy(), expression=exp.Literal.string(word)), true=number(value)
        )
        for word, value in (("true", 1.0), ("false", 0.0))
    ]
    return exp.Case(ifs=ifs, default=as_number(name, dialect))


def has_numbers(levels: Sequence[str], dialect: str) -> bool:
    """Whether some categories are compared as numbers."""
    return any(_is_number(level, dialect) for level in levels)


def one_of(
    text: exp.Expression, read: exp.Expression, levels: Sequence[str], dialect: str
) -> exp.Expression:
    """Whether a text, or the number read from it, is one of some categories; null for null."""
    numbers = [number(float(level)) for level in levels if _is_number(level, dialect)]
    others = [level for level in levels if not _is_number(level, dialect)]
    texts = [exp.Literal.string(spelling) for level in others for spelling in spelled(level)]
    pairs = [(text, texts), (read, numbers)]
    first, *rest = [exp.In(this=x.copy(), expressions=values) for x, values in pairs if values]
    return exp.Or(this=first, expression=rest[0]) if rest else first


def rounds_to(read: exp.Expression, levels: Sequence[str], dialect: str) -> exp.Expression | None:
    """Whether a number equals one of some fractions after rounding to float32; None without any."""
    ranges = [
        exp.Between(this=read.copy(), low=number(low), high=number(high))
        for low, high in map(_rounded, (level for level in levels if _is_number(level, dialect)))
        if low < high
    ]
    if not ranges:
        return None
    untyped: Any = exp.or_(*ranges, copy=False)
    condition: exp.Expression = untyped
    return condition


def _rounded(level: str) -> tuple[float, float]:
    """Return the range of numbers that round to the same float32; (0, 0) for integers."""
    magnitude = abs(float(level))
    if not NARROW[0] <= magnitude <= NARROW[1] or np.float32(level).is_integer():
        return 0.0, 0.0
    rounded = np.float32(level)
    neighbours = (np.nextafter(rounded, np.float32(limit)) for limit in (-np.inf, np.inf))
    low, high = ((float(rounded) + float(neighbour)) / 2 for neighbour in neighbours)
    if rounded.view(np.uint32) & np.uint32(1):  # ties round to even
        return float(np.nextafter(low, np.inf)), float(np.nextafter(high, -np.inf))
    return low, high


def _is_number(level: str, dialect: str) -> bool:
    match = dialect in READING and len(level) <= LONGEST and re.fullmatch(WRITTEN, level)
    return bool(match) and level_text(level, ()) == level and abs(float(level)) < EXACT


def _trimmed(name: str, dialect: str) -> exp.Expression:
    return trimmed(exp.cast(cell(name), "text"), dialect)


# ---- sql terms -----------------------------------------------------------------------------------


TINY, LEAST = 1e-100, 1e-150
"""In PostgreSQL products that underflow are errors: smaller numbers are rounded to 0 or LEAST."""


def curve(term: Line | Parabola, x: exp.Expression, c: int, dialect: str) -> exp.Expression:
    """Write a number's contribution to the score of a class; 0 if it is missing."""
    if isinstance(term, Line):
        value = _line(term, x, c, dialect)
    else:
        difference = paren(minus(x, term.mean[c]))
        scale = float(term.scale[c])
        if dialect == "postgres" and scale:
            difference = _at_least(difference, LEAST / scale)
        z = exp.Mul(this=difference, expression=number(scale))
        square = exp.Mul(this=paren(z), expression=paren(z.copy()))
        value = exp.Sub(this=number(term.norm[c]), expression=square)
    in_range = exp.Between(this=x.copy(), low=number(term.low), high=number(term.high))
    return exp.Case(ifs=[exp.If(this=in_range, true=value)], default=number(0.0))


def standardised(term: Density, j: int, x: exp.Expression, dialect: str) -> exp.Expression:
    """Write z = (x - centre) / spread, clipped to the range of the density; 0 if x is missing."""
    difference, spread = minus(x, term.centre[j]), float(term.spread[j])
    z: exp.Expression = over(difference, number(spread))
    if dialect == "postgres":
        is_tiny = exp.LT(this=exp.Abs(this=difference.copy()), expression=number(TINY * spread))
        z = exp.Case(ifs=[exp.If(this=is_tiny, true=number(0.0))], default=z)
    filled = exp.Coalesce(this=z, expressions=[number(0.0)])
    limit = number(term.farthest)
    bounded = exp.Greatest(this=filled, expressions=[exp.Neg(this=limit)])
    return exp.Least(this=bounded, expressions=[limit.copy()])


def density(term: Density, d: int, c: int, dialect: str) -> exp.Expression:
    """Write f_c of the standardised numbers z."""
    z = [cell(f"z{d}_{j}") for j in range(len(term.columns))]
    mean, whitening = term.mean, term.whitening
    if dialect == "postgres":
        mean, whitening = _not_tiny(mean), None if whitening is None else _not_tiny(whitening)
    if whitening is None:
        slopes = map(number, mean[c])
        terms = [exp.Mul(this=slope, expression=x) for slope, x in zip(slopes, z, strict=True)]
        return added([number(term.base[c]), *terms])
    squares = []
    for row in whitening[c]:
        terms = [
            exp.Mul(this=number(row[j]), expression=paren(minus(z[j].copy(), mean[c, j])))
            for j in np.flatnonzero(row).tolist()
        ]
        total = paren(added(terms))
        if dialect == "postgres":
            total = _at_least(total, LEAST)
        squares.append(exp.Mul(this=total, expression=total.copy()))
    half = exp.Mul(this=number(0.5), expression=paren(added(squares)))
    return exp.Sub(this=number(term.base[c]), expression=half)


def _at_least(value: exp.Expression, least: float) -> exp.Expression:
    """Write the absolute value of a number, or `least` if that is larger."""
    return exp.Greatest(this=exp.Abs(this=value), expressions=[number(min(least, LARGEST))])


def _not_tiny(values: Float64) -> Float64:
    """Replace tiny numbers by 0."""
    return np.where(np.abs(values) < TINY, 0.0, values)


def _line(term: Line, x: exp.Expression, c: int, dialect: str) -> exp.Expression:
    if term.threshold is not None:
        is_above = exp.GT(this=x, expression=number(term.threshold))
        high = number(term.zero[c] + term.slope[c])
        return exp.Case(ifs=[exp.If(this=is_above, true=high)], default=number(term.zero[c]))
    slope = float(term.slope[c])
    product: exp.Expression = exp.Mul(this=number(slope), expression=x)
    if dialect == "postgres" and slope:
        tiny = number(min(TINY / abs(slope), LARGEST))
        is_tiny = exp.LT(this=exp.Abs(this=x.copy()), expression=tiny)
        product = exp.Case(ifs=[exp.If(this=is_tiny, true=number(0.0))], default=product)
    return added([number(term.zero[c]), product])
