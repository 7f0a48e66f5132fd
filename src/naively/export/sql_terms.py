"""What terms of numbers add to scores, in SQL."""

from __future__ import annotations

from sqlglot import exp

from naively.export.expressions import added, cell, minus, number, paren
from naively.families.formula import Density, Line, Parabola


def curve(term: Line | Parabola, x: exp.Expression, c: int) -> exp.Expression:
    """What a number adds to the score of a class; 0 if there is none."""
    if isinstance(term, Line):
        found = _line(term, x, c)
    else:
        off = exp.Mul(this=paren(minus(x, term.mean[c])), expression=number(term.scale[c]))
        square = exp.Mul(this=paren(off), expression=paren(off.copy()))
        found = exp.Sub(this=number(term.norm[c]), expression=square)
    inside = exp.Between(this=x.copy(), low=number(term.low), high=number(term.high))
    return exp.Case(ifs=[exp.If(this=inside, true=found)], default=number(0.0))


def density(term: Density, d: int, c: int) -> exp.Expression:
    """f_c of the standardised numbers z."""
    z = [cell(f"z{d}_{j}") for j in range(len(term.columns))]
    if term.whitening is None:
        parts = [
            exp.Mul(this=number(slope), expression=own)
            for slope, own in zip(term.mean[c], z, strict=True)
        ]
        return added([number(term.base[c]), *parts])
    squares = []
    for i, row in enumerate(term.whitening[c]):
        parts = [
            exp.Mul(this=number(row[j]), expression=paren(minus(z[j].copy(), term.mean[c, j])))
            for j in range(i + 1)
        ]
        whole = paren(added(parts))
        squares.append(exp.Mul(this=whole, expression=whole.copy()))
    half = exp.Mul(this=number(0.5), expression=paren(added(squares)))
    return exp.Sub(this=number(term.base[c]), expression=half)


def _line(term: Line, x: exp.Expression, c: int) -> exp.Expression:
    if term.threshold is not None:
        above = exp.GT(this=x, expression=number(term.threshold))
        both = number(term.zero[c] + term.slope[c])
        return exp.Case(ifs=[exp.If(this=above, true=both)], default=number(term.zero[c]))
    return added([number(term.zero[c]), exp.Mul(this=number(term.slope[c]), expression=x)])
