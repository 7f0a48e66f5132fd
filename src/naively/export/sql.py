"""A model as a query: labels and probabilities for the rows of a table, in SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from naively.export.expressions import (
    Columns,
    added,
    cast,
    cell,
    largest,
    literal,
    minus,
    number,
    over,
    paren,
    select,
)
from naively.export.formulas import NotExportableError, formula_of
from naively.families.formula import Bag, Cut, Density, Formula, Line, NumberCut, Parabola, Table
from naively.model import Model
from naively.tables.values import NUMBER, WHOLE

DIALECTS = ("bigquery", "duckdb", "postgres", "snowflake", "sqlite")
LISTS = ("duckdb", "postgres")
"""Dialects in which tables of evidence are arrays; in the others they are cases."""
LEAST = -700.0
"""Nats by which a class can be behind the best: PostgreSQL has no exponentials far below."""
MATERIALIZED = ("duckdb", "postgres", "sqlite")
"""Dialects that can be told to keep a stage."""


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
    texts = [term.column for term in formula.terms if isinstance(term, Bag)]
    if texts:
        raise NotExportableError(f"column {texts[0]!r}: the family text cannot be exported in SQL")
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
        columns: Columns = {alias: cell(name) for name, alias in self.kept}
        columns |= {alias: self._as_number(name) for name, alias in self.number.items()}
        columns |= {alias: self._as_text(name) for name, alias in self.text.items()}
        return select(columns).from_(table)

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
        return select(self._carried(self.number.values()) | columns)

    def densities(self) -> Iterator[exp.Select]:
        """What densities of all numbers say, before the best is known."""
        if not self.dense:
            return
        numbers: Columns = {}
        columns: Columns = {}
        for d, term in enumerate(self.dense):
            for j, name in enumerate(term.columns):
                off = over(minus(cell(self.number[name]), term.centre[j]), number(term.spread[j]))
                near = exp.Coalesce(this=off, expressions=[number(0.0)])
                most = number(term.farthest)
                least = exp.Greatest(this=near, expressions=[exp.Neg(this=most)])
                numbers[f"z{d}_{j}"] = exp.Least(this=least, expressions=[most.copy()])
            for c in range(len(term.base)):
                columns[f"f{d}_{c}"] = _density(term, d, c)
        carried = self._carried([*self.number.values(), *dict.fromkeys(self.cuts.values())])
        yield select(carried | numbers)
        yield select(carried | columns)

    def scores(self, classes: int) -> exp.Select:
        """The score of each class."""
        columns: Columns = {}
        for c in range(classes):
            parts = [number(self.formula.base[c])]
            for term in self.formula.terms:
                if isinstance(term, Table):
                    parts.append(self._cell(term, c))
                elif isinstance(term, Line | Parabola):
                    parts.append(self._curve(term, c))
            for d, dense in enumerate(self.dense):
                every = [cell(f"f{d}_{k}") for k in range(classes)]
                behind = exp.Sub(this=every[c].copy(), expression=paren(largest(every)))
                least = exp.Greatest(this=behind, expressions=[number(dense.least)])
                parts.append(exp.Mul(this=number(dense.weight), expression=least))
            columns[f"s{c}"] = added(parts)
        return select(self._carried() | columns)

    def query(self, stages: list[exp.Select], labels: list[Any]) -> str:
        """The stages one after the other, and the labels and probabilities that follow."""
        scores = [cell(f"s{c}") for c in range(len(labels))]
        best: Columns = {alias: cell(alias) for _, alias in self.kept}
        best |= {f"s{c}": score for c, score in enumerate(scores)}
        best["best"] = largest(scores)
        powers: Columns = {alias: cell(alias) for _, alias in self.kept}
        for c, score in enumerate(scores):
            off = exp.Sub(this=score.copy(), expression=cell("best"))
            behind = exp.Greatest(this=off, expressions=[number(LEAST)])  # some cannot say less
            powers[f"e{c}"] = exp.Exp(this=behind)
        every = [cell(f"e{c}") for c in range(len(labels))]
        whole = paren(added([one.copy() for one in every]))
        first = [
            exp.If(this=exp.GTE(this=one.copy(), expression=number(1.0)), true=literal(label))
            for one, label in zip(every, labels, strict=True)
        ]
        last: Columns = {name: cell(alias) for name, alias in self.kept}
        last["prediction"] = exp.Case(ifs=first)
        for one, label in zip(every, labels, strict=True):
            last[f"P({label})"] = exp.Div(this=one.copy(), expression=whole.copy(), typed=True)
        stages = [*stages, select(best), select(powers)]
        # else some databases write each stage into the next, and work out cells again and again
        materialized = self.dialect in MATERIALIZED or None
        final = select(last)
        for k, stage in enumerate(stages):
            if k:
                stage.from_(f"naively_{k - 1}", copy=False)
            final.with_(f"naively_{k}", as_=stage, materialized=materialized, copy=False)
        final.from_(f"naively_{len(stages) - 1}", copy=False)
        return final.sql(dialect=self.dialect, pretty=False, identify=True) + "\n"

    def _carried(self, others: Any = ()) -> Columns:
        names = [alias for _, alias in self.kept] + list(others)
        return {alias: cell(alias) for alias in names}

    # ---- cells -----------------------------------------------------------------------------------

    def _as_number(self, name: str) -> exp.Expression:
        """A cell as a number; null where it is missing, or not a number."""
        column: exp.Expression = cell(name)
        if self.dialect == "sqlite":  # which reads text that is no number as 0
            kind = exp.func("typeof", column)
            numbers = [exp.Literal.string(one) for one in ("integer", "real")]
            known = exp.In(this=kind, expressions=numbers)
            return exp.Case(ifs=[exp.If(this=known, true=cast(column.copy()))])
        found: exp.Expression = cast(column)
        if self.dialect == "bigquery":
            nan = exp.func("IS_NAN", found.copy())
            found = exp.If(this=nan, true=exp.Null(), false=found)
        else:
            found = exp.Nullif(this=found, expression=cast(exp.Literal.string("NaN")))
        for spelled in self.missing:
            if NUMBER.fullmatch(spelled):
                found = exp.Nullif(this=found, expression=number(float(spelled)))
        return found

    def _as_text(self, name: str) -> exp.Expression:
        """A cell as text; null where it is missing."""
        found: exp.Expression = exp.Trim(this=exp.cast(cell(name), "text"))
        for spelled in self.missing:
            found = exp.Nullif(this=found, expression=exp.Literal.string(spelled))
        return found

    def _bin(self, cut: Cut) -> exp.Expression:
        """The bin of a cell."""
        missing = exp.Literal.number(cut.missing)
        if isinstance(cut, NumberCut):
            column = cell(self.number[cut.column])
            if not len(cut.starts):
                return missing
            ifs = [exp.If(this=exp.Is(this=column, expression=exp.Null()), true=missing)]
            bins = cut.bins.tolist()
            changes = [k for k in range(1, len(bins)) if bins[k] != bins[k - 1]]
            for k in reversed(changes):
                beyond = exp.GTE(this=column.copy(), expression=number(cut.starts[k]))
                ifs.append(exp.If(this=beyond, true=exp.Literal.number(bins[k])))
            return exp.Case(ifs=ifs, default=exp.Literal.number(bins[0]))
        column = cell(self.text[cut.column])
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
            own = cell(self.cuts[id(cut)])
            if isinstance(place, exp.Literal):
                place = own
                continue
            scaled = exp.Mul(this=paren(place), expression=exp.Literal.number(size))
            place = exp.Add(this=scaled, expression=own)
        added = term.added[:, c].tolist()
        if self.dialect in LISTS:
            numbers = exp.Array(expressions=[number(one) for one in added])
            wide = exp.cast(numbers, "array<double>")
            at = exp.Add(this=paren(place), expression=exp.Literal.number(1))
            return exp.Bracket(this=paren(wide), expressions=[at], offset=1)
        ifs = [
            exp.If(this=exp.Literal.number(k), true=number(one))
            for k, one in enumerate(added) if one != 0.0
        ]  # fmt: skip
        return exp.Case(this=place, ifs=ifs, default=number(0.0)) if ifs else number(0.0)

    def _curve(self, term: Line | Parabola, c: int) -> exp.Expression:
        """What a number adds to the score of a class; 0 if there is none."""
        x = cell(self.number[term.column])
        if isinstance(term, Line):
            found = _line(term, x, c)
        else:
            off = exp.Mul(this=paren(minus(x, term.mean[c])), expression=number(term.scale[c]))
            square = exp.Mul(this=paren(off), expression=paren(off.copy()))
            found = exp.Sub(this=number(term.norm[c]), expression=square)
        inside = exp.Between(this=x.copy(), low=number(term.low), high=number(term.high))
        return exp.Case(ifs=[exp.If(this=inside, true=found)], default=number(0.0))


# ---- terms ---------------------------------------------------------------------------------


def _numbers(term: Any) -> Sequence[str]:
    if isinstance(term, Density):
        return term.columns
    return () if isinstance(term, Table) else (term.column,)


def _density(term: Density, d: int, c: int) -> exp.Expression:
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


def _spelled(level: str) -> list[str]:
    """How a database may write the level: 5 as 5.0, and true as it likes."""
    if WHOLE.fullmatch(level):
        return [level, f"{level}.0"]
    return [level, level.title(), level.upper()] if level in ("true", "false") else [level]
