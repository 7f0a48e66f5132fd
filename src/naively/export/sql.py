"""A model as a query: labels and probabilities for the rows of a table, in SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from naively.export.formulas import NotExportableError, formula_of
from naively.families.formula import Cut, Density, Formula, Line, NumberCut, Parabola, Table
from naively.model import Model
from naively.tables.values import NUMBER, WHOLE

DIALECTS = ("bigquery", "duckdb", "postgres", "snowflake", "sqlite")
LISTS = ("duckdb", "postgres")
"""Dialects in which tables of evidence are arrays; in the others they are cases."""
LEAST = -700.0
"""Nats by which a class can be behind the best: PostgreSQL has no exponentials far below."""
MATERIALIZED = ("duckdb", "postgres", "sqlite")
"""Dialects that can be told to keep a stage."""

Columns = dict[str, exp.Expression]


def to_sql(model: Model, dialect: str, table: str, keep: Sequence[str] = ()) -> str:
    """A query that predicts the rows of a table.

    Its columns are those to keep, ``prediction``, and ``P(label)`` of each class.

    Parameters
    ----------
    dialect : one of `DIALECTS`.
    table : the name of the table; dots part a schema and its table.
    keep : columns of the table that the result has, too; those of the model unless given.

    Raises
    ------
    NotExportableError : if the model has something that cannot be said in SQL, with the reason.
    ValueError : if there is no such dialect.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"there is no dialect {dialect!r}; there are {', '.join(DIALECTS)}")
    posterior, formula = formula_of(model)
    if not np.isfinite(posterior.log_prior).all():
        raise NotExportableError("a class without rows has probability 0")
    labels = posterior.classes.tolist()
    written = _Written(dialect, formula, model.schema.missing)
    keep = keep or list(posterior.feature_names or ())
    stages = [
        written.values(exp.to_table(table, dialect=dialect), keep),
        written.bins(), *written.densities(), written.scores(len(labels)),
    ]  # fmt: skip
    return written.query(stages, labels)


class _Written:
    """The stages of a query, each of the columns of the one before.

    Attributes
    ----------
    kept : (name in the table, name on the way) of what is carried along.
    """

    def __init__(self, dialect: str, formula: Formula, missing: Sequence[str]) -> None:
        self.dialect = dialect
        self.formula = formula
        self.missing = missing
        self.kept: list[tuple[str, str]] = []
        self.number: dict[str, str] = {}
        self.text: dict[str, str] = {}
        self.cuts: dict[int, str] = {}  # by identity
        self.dense = [one for one in formula.terms if isinstance(one, Density)]
        for term in formula.terms:
            for cut in term.cuts if isinstance(term, Table) else ():
                own = self.number if isinstance(cut, NumberCut) else self.text
                own.setdefault(cut.column, f"{'x' if own is self.number else 't'}{len(own)}")
            for name in _numbers(term):
                self.number.setdefault(name, f"x{len(self.number)}")

    # ---- the stages ------------------------------------------------------------------------------

    def values(self, table: exp.Table, keep: Sequence[str]) -> exp.Select:
        """The cells that matter, as numbers and as text."""
        self.kept = [(name, f"c{k}") for k, name in enumerate(keep)]
        columns: Columns = {alias: _column(name) for name, alias in self.kept}
        columns |= {alias: self._as_number(name) for name, alias in self.number.items()}
        columns |= {alias: self._as_text(name) for name, alias in self.text.items()}
        return _select(columns).from_(table)

    def bins(self) -> exp.Select:
        """The bin of each column, for each way to cut it."""
        columns: Columns = {}
        seen: dict[Any, str] = {}
        for term in self.formula.terms:
            for cut in term.cuts if isinstance(term, Table) else ():
                key = cut.column, cut.bins.tobytes(), cut.missing
                if key not in seen:
                    seen[key] = f"k{len(seen)}"
                    columns[seen[key]] = self._bin(cut)
                self.cuts[id(cut)] = seen[key]
        return _select(self._carried(self.number.values()) | columns)

    def densities(self) -> Iterator[exp.Select]:
        """What densities of all numbers say, before the best is known."""
        if not self.dense:
            return
        numbers: Columns = {}
        columns: Columns = {}
        for d, term in enumerate(self.dense):
            for j, name in enumerate(term.columns):
                off = _over(
                    _minus(_column(self.number[name]), term.centre[j]), _number(term.spread[j])
                )
                near = exp.Coalesce(this=off, expressions=[_number(0.0)])
                most = _number(term.farthest)
                least = exp.Greatest(this=near, expressions=[exp.Neg(this=most)])
                numbers[f"z{d}_{j}"] = exp.Least(this=least, expressions=[most.copy()])
            for c in range(len(term.base)):
                columns[f"f{d}_{c}"] = _density(term, d, c)
        carried = self._carried([*self.number.values(), *dict.fromkeys(self.cuts.values())])
        yield _select(carried | numbers)
        yield _select(carried | columns)

    def scores(self, classes: int) -> exp.Select:
        """The score of each class."""
        columns: Columns = {}
        for c in range(classes):
            parts = [_number(self.formula.base[c])]
            for term in self.formula.terms:
                if isinstance(term, Table):
                    parts.append(self._cell(term, c))
                elif not isinstance(term, Density):
                    parts.append(self._curve(term, c))
            for d, dense in enumerate(self.dense):
                every = [_column(f"f{d}_{k}") for k in range(classes)]
                behind = exp.Sub(this=every[c].copy(), expression=_paren(_largest(every)))
                least = exp.Greatest(this=behind, expressions=[_number(dense.least)])
                parts.append(exp.Mul(this=_number(dense.weight), expression=least))
            columns[f"s{c}"] = _added(parts)
        return _select(self._carried() | columns)

    def query(self, stages: list[exp.Select], labels: list[Any]) -> str:
        """The stages one after the other, and the labels and probabilities that follow."""
        scores = [_column(f"s{c}") for c in range(len(labels))]
        best: Columns = {alias: _column(alias) for _, alias in self.kept}
        best |= {f"s{c}": score for c, score in enumerate(scores)}
        best["best"] = _largest(scores)
        powers: Columns = {alias: _column(alias) for _, alias in self.kept}
        for c, score in enumerate(scores):
            off = exp.Sub(this=score.copy(), expression=_column("best"))
            behind = exp.Greatest(this=off, expressions=[_number(LEAST)])  # some cannot say less
            powers[f"e{c}"] = exp.Exp(this=behind)
        every = [_column(f"e{c}") for c in range(len(labels))]
        whole = _paren(_added([one.copy() for one in every]))
        first = [
            exp.If(this=exp.GTE(this=one.copy(), expression=_number(1.0)), true=_literal(label))
            for one, label in zip(every, labels, strict=True)
        ]
        last: Columns = {name: _column(alias) for name, alias in self.kept}
        last["prediction"] = exp.Case(ifs=first)
        for one, label in zip(every, labels, strict=True):
            last[f"P({label})"] = exp.Div(this=one.copy(), expression=whole.copy(), typed=True)
        stages = [*stages, _select(best), _select(powers)]
        # else some databases write each stage into the next, and work out cells again and again
        materialized = self.dialect in MATERIALIZED or None
        final = _select(last)
        for k, stage in enumerate(stages):
            if k:
                stage.from_(f"naively_{k - 1}", copy=False)
            final.with_(f"naively_{k}", as_=stage, materialized=materialized, copy=False)
        final.from_(f"naively_{len(stages) - 1}", copy=False)
        return final.sql(dialect=self.dialect, pretty=False, identify=True) + "\n"

    def _carried(self, others: Any = ()) -> Columns:
        names = [alias for _, alias in self.kept] + list(others)
        return {alias: _column(alias) for alias in names}

    # ---- cells -----------------------------------------------------------------------------------

    def _as_number(self, name: str) -> exp.Expression:
        """A cell as a number; null where it is missing, or not a number."""
        column: exp.Expression = _column(name)
        if self.dialect == "sqlite":  # which reads text that is no number as 0
            kind = exp.func("typeof", column)
            numbers = [exp.Literal.string(one) for one in ("integer", "real")]
            known = exp.In(this=kind, expressions=numbers)
            return exp.Case(ifs=[exp.If(this=known, true=_cast(column.copy()))])
        found: exp.Expression = _cast(column)
        if self.dialect == "bigquery":
            nan = exp.func("IS_NAN", found.copy())
            found = exp.If(this=nan, true=exp.Null(), false=found)
        else:
            found = exp.Nullif(this=found, expression=_cast(exp.Literal.string("NaN")))
        for spelled in self.missing:
            if NUMBER.fullmatch(spelled):
                found = exp.Nullif(this=found, expression=_number(float(spelled)))
        return found

    def _as_text(self, name: str) -> exp.Expression:
        """A cell as text; null where it is missing."""
        found: exp.Expression = exp.Trim(this=exp.cast(_column(name), "text"))
        for spelled in self.missing:
            found = exp.Nullif(this=found, expression=exp.Literal.string(spelled))
        return found

    def _bin(self, cut: Cut) -> exp.Expression:
        """The bin of a cell."""
        missing = exp.Literal.number(cut.missing)
        if isinstance(cut, NumberCut):
            column = _column(self.number[cut.column])
            if not len(cut.starts):
                return missing
            ifs = [exp.If(this=exp.Is(this=column, expression=exp.Null()), true=missing)]
            bins = cut.bins.tolist()
            changes = [k for k in range(1, len(bins)) if bins[k] != bins[k - 1]]
            for k in reversed(changes):
                beyond = exp.GTE(this=column.copy(), expression=_number(cut.starts[k]))
                ifs.append(exp.If(this=beyond, true=exp.Literal.number(bins[k])))
            return exp.Case(ifs=ifs, default=exp.Literal.number(bins[0]))
        column = _column(self.text[cut.column])
        ifs = [exp.If(this=exp.Is(this=column, expression=exp.Null()), true=missing)]
        members: dict[int, list[str]] = {}
        for level, k in zip(cut.levels, cut.bins.tolist(), strict=True):
            if k != cut.other:
                members.setdefault(k, []).extend(_spelled(level))
        for k, texts in members.items():
            own = exp.In(this=column.copy(), expressions=[*map(exp.Literal.string, texts)])
            ifs.append(exp.If(this=own, true=exp.Literal.number(k)))
        return exp.Case(ifs=ifs, default=exp.Literal.number(cut.other))

    def _cell(self, term: Table, c: int) -> exp.Expression:
        """What the cell of a row adds to the score of a class."""
        place: exp.Expression = exp.Literal.number(0)
        for cut, size in zip(term.cuts, term.sizes, strict=True):
            own = _column(self.cuts[id(cut)])
            if isinstance(place, exp.Literal):
                place = own
                continue
            scaled = exp.Mul(this=_paren(place), expression=exp.Literal.number(size))
            place = exp.Add(this=scaled, expression=own)
        added = term.added[:, c].tolist()
        if self.dialect in LISTS:
            numbers = exp.Array(expressions=[_number(one) for one in added])
            wide = exp.cast(numbers, "array<double>")
            at = exp.Add(this=_paren(place), expression=exp.Literal.number(1))
            return exp.Bracket(this=_paren(wide), expressions=[at], offset=1)
        ifs = [
            exp.If(this=exp.Literal.number(k), true=_number(one))
            for k, one in enumerate(added) if one != 0.0
        ]  # fmt: skip
        return exp.Case(this=place, ifs=ifs, default=_number(0.0)) if ifs else _number(0.0)

    def _curve(self, term: Line | Parabola, c: int) -> exp.Expression:
        """What a number adds to the score of a class; 0 if there is none."""
        x = _column(self.number[term.column])
        if isinstance(term, Line):
            found = _line(term, x, c)
        else:
            off = exp.Mul(this=_paren(_minus(x, term.mean[c])), expression=_number(term.scale[c]))
            square = exp.Mul(this=_paren(off), expression=_paren(off.copy()))
            found = exp.Sub(this=_number(term.norm[c]), expression=square)
        inside = exp.Between(this=x.copy(), low=_number(term.low), high=_number(term.high))
        return exp.Case(ifs=[exp.If(this=inside, true=found)], default=_number(0.0))


# ---- expressions -----------------------------------------------------------------------------


def _numbers(term: Any) -> Sequence[str]:
    if isinstance(term, Density):
        return term.columns
    return () if isinstance(term, Table) else (term.column,)


def _density(term: Density, d: int, c: int) -> exp.Expression:
    """f_c of the standardised numbers z."""
    z = [_column(f"z{d}_{j}") for j in range(len(term.columns))]
    if term.whitening is None:
        parts = [
            exp.Mul(this=_number(slope), expression=own)
            for slope, own in zip(term.mean[c], z, strict=True)
        ]
        return _added([_number(term.base[c]), *parts])
    squares = []
    for i, row in enumerate(term.whitening[c]):
        parts = [
            exp.Mul(this=_number(row[j]), expression=_paren(_minus(z[j].copy(), term.mean[c, j])))
            for j in range(i + 1)
        ]
        whole = _paren(_added(parts))
        squares.append(exp.Mul(this=whole, expression=whole.copy()))
    half = exp.Mul(this=_number(0.5), expression=_paren(_added(squares)))
    return exp.Sub(this=_number(term.base[c]), expression=half)


def _line(term: Line, x: exp.Expression, c: int) -> exp.Expression:
    if term.threshold is not None:
        above = exp.GT(this=x, expression=_number(term.threshold))
        both = _number(term.zero[c] + term.slope[c])
        return exp.Case(ifs=[exp.If(this=above, true=both)], default=_number(term.zero[c]))
    return _added([_number(term.zero[c]), exp.Mul(this=_number(term.slope[c]), expression=x)])


def _spelled(level: str) -> list[str]:
    """How a database may write the level: 5 as 5.0, and true as it likes."""
    if WHOLE.fullmatch(level):
        return [level, f"{level}.0"]
    return [level, level.title(), level.upper()] if level in ("true", "false") else [level]


def _select(columns: Columns) -> exp.Select:
    named = [
        exp.alias_(one, exp.to_identifier(name, quoted=True), copy=False)
        for name, one in columns.items()
    ]
    return exp.Select(expressions=named)


def _column(name: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(name, quoted=True))


def _number(value: float) -> exp.Expression:
    """A float64, to the last bit: with an exponent, as a decimal would not be."""
    found = exp.Literal.number(f"{abs(float(value)):.17e}")
    return _paren(exp.Neg(this=found)) if value < 0 else found


def _literal(label: Any) -> exp.Expression:
    if isinstance(label, str):
        return exp.Literal.string(label)
    return exp.Boolean(this=label) if isinstance(label, bool) else exp.Literal.number(repr(label))


def _cast(one: exp.Expression) -> exp.Expression:
    return exp.cast(one, "double")


def _paren(one: exp.Expression) -> exp.Expression:
    return one if isinstance(one, exp.Column | exp.Literal | exp.Paren) else exp.Paren(this=one)


def _minus(one: exp.Expression, value: float) -> exp.Expression:
    return exp.Sub(this=one, expression=_number(value))


def _over(one: exp.Expression, other: exp.Expression) -> exp.Expression:
    return exp.Div(this=_paren(one), expression=other, typed=True)


def _largest(values: Sequence[exp.Expression]) -> exp.Expression:
    first, *rest = (one.copy() for one in values)
    return exp.Greatest(this=first, expressions=rest) if rest else first


def _added(parts: Sequence[exp.Expression]) -> exp.Expression:
    """A sum, as a balanced tree: databases refuse expressions that are too deep."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    left, right = _added(parts[:half]), _added(parts[half:])
    return exp.Add(this=left, expression=_paren(right) if isinstance(right, exp.Add) else right)
