"""What terms of numbers add to scores, in SQL."""

from __future__ import annotations

import numpy as np
from sqlglot import exp

from naively.exact import LARGEST, Float64
from naively.export.expressions import added, cell, minus, number, over, paren
from naively.families.formula import Density, Line, Parabola

TINY, LEAST = 1e-100, 1e-150
"""What is rounded to 0, or to the second one, in PostgreSQL: products that underflow are errors."""


def curve(term: Line | Parabola, x: exp.Expression, c: int, dialect: str) -> exp.Expression:
    """What a number adds to the score of a class; 0 if there is none."""
    if isinstance(term, Line):
        found = _line(term, x, c, dialect)
    else:
        away = paren(minus(x, term.mean[c]))
        scale = float(term.scale[c])
        if dialect == "postgres" and scale:
            away = _at_least(away, LEAST / scale)
        off = exp.Mul(this=away, expression=number(scale))
        square = exp.Mul(this=paren(off), expression=paren(off.copy()))
        found = exp.Sub(this=number(term.norm[c]), expression=square)
    inside = exp.Between(this=x.copy(), low=number(term.low), high=number(term.high))
    return exp.Case(ifs=[exp.If(this=inside, true=found)], default=number(0.0))


def standardised(term: Density, j: int, x: exp.Expression, dialect: str) -> exp.Expression:
    """z of a number: (x - centre) / spread, no farther than the density has numbers; 0 if none."""
    away, spread = minus(x, term.centre[j]), float(term.spread[j])
    off: exp.Expression = over(away, number(spread))
    if dialect == "postgres":
        near = exp.LT(this=exp.Abs(this=away.copy()), expression=number(TINY * spread))
        off = exp.Case(ifs=[exp.If(this=near, true=number(0.0))], default=off)
    known = exp.Coalesce(this=off, expressions=[number(0.0)])
    most = number(term.farthest)
    least = exp.Greatest(this=known, expressions=[exp.Neg(this=most)])
    return exp.Least(this=least, expressions=[most.copy()])


def density(term: Density, d: int, c: int, dialect: str) -> exp.Expression:
    """f_c of the standardised numbers z."""
    z = [cell(f"z{d}_{j}") for j in range(len(term.columns))]
    mean, whitening = term.mean, term.whitening
    if dialect == "postgres":
        mean, whitening = _not_tiny(mean), None if whitening is None else _not_tiny(whitening)
    if whitening is None:
        parts = [
            exp.Mul(this=number(slope), expression=own)
            for slope, own in zip(mean[c], z, strict=True)
        ]
        return added([number(term.base[c]), *parts])
    squares = []
    for i, row in enumerate(whitening[c]):
        parts = [
            exp.Mul(this=number(row[j]), expression=paren(minus(z[j].copy(), mean[c, j])))
            for j in range(i + 1)
        ]
        whole = paren(added(parts))
        if dialect == "postgres":
            whole = _at_least(whole, LEAST)
        squares.append(exp.Mul(this=whole, expression=whole.copy()))
    half = exp.Mul(this=number(0.5), expression=paren(added(squares)))
    return exp.Sub(this=number(term.base[c]), expression=half)


def _at_least(one: exp.Expression, least: float) -> exp.Expression:
    """The absolute value of a number, or the least if that is more."""
    return exp.Greatest(this=exp.Abs(this=one), expressions=[number(min(least, LARGEST))])


def _not_tiny(values: Float64) -> Float64:
    """Numbers of which the tiny ones are 0."""
    return np.where(np.abs(values) < TINY, 0.0, values)


def _line(term: Line, x: exp.Expression, c: int, dialect: str) -> exp.Expression:
    if term.threshold is not None:
        above = exp.GT(this=x, expression=number(term.threshold))
        both = number(term.zero[c] + term.slope[c])
        return exp.Case(ifs=[exp.If(this=above, true=both)], default=number(term.zero[c]))
    slope = float(term.slope[c])
    found: exp.Expression = exp.Mul(this=number(slope), expression=x)
    if dialect == "postgres" and slope:
        least = number(min(TINY / abs(slope), LARGEST))
        near = exp.LT(this=exp.Abs(this=x.copy()), expression=least)
        found = exp.Case(ifs=[exp.If(this=near, true=number(0.0))], default=found)
    return added([number(term.zero[c]), found])
