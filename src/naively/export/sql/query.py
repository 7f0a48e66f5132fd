"""Write a model as an SQL query that predicts labels and probabilities for the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from naively.core.exact import Float64
from naively.core.numerals import NUMBER
from naively.export.formulas import NotExportableError, formula_of, model_of
from naively.export.sql.cells import (
    as_number,
    as_text,
    as_truth,
    curve,
    density,
    has_numbers,
    one_of,
    rounds_to,
    standardised,
)
from naively.export.sql.expressions import (
    Columns,
    added,
    cast,
    cell,
    check_names,
    finite,
    free_name,
    largest,
    literal,
    number,
    paren,
    part_of_date,
    power,
    seconds,
    select,
    trimmed,
    written,
)
from naively.export.sql.texts import FACTOR, mixing_stages, texts_of
from naively.formula import (
    Bag,
    Cut,
    Density,
    Formula,
    LevelCut,
    Line,
    NumberCut,
    Parabola,
    PartCut,
    Table,
    Trees,
)
from naively.model.schema import Schema
from naively.tables.answers import PREDICTION
from naively.tables.names import first_names

DIALECTS = ("bigquery", "duckdb", "postgres", "snowflake", "sqlite")
LISTS = ("duckdb", "postgres")
"""Dialects in which tables of scores are arrays; in the others they are CASE expressions."""
ROW = "r"  # the internal alias of the row number
GAPS = "gaps"  # the internal alias of the number of missing cells
ENDLESS = [sign + word for word in ("inf", "infinity", "nan") for sign in ("", "+", "-")]
"""Missing values in columns that may be numeric, in lower case."""
REMARK = (
    "-- Categories are compared by value. A column that has none of those which the model knows "
    "counts as\n-- unseen in each row: cast such a column, or write its values as here."
)
MATERIALIZED = ("duckdb", "postgres", "sqlite")  # dialects that support MATERIALIZED for a stage


def to_sql(model: Any, dialect: str, table: str, keep: Sequence[str] = ()) -> str:
    """Write a query that predicts the rows of a table.

    Its columns are those of `keep`, ``prediction``, and ``P(label)`` of each class.

    Parameters
    ----------
    model : a fitted estimator, or the `Model` of one.
    dialect : one of `DIALECTS`.
    table : the name of the table; a dot separates schema and table.
    keep : columns of the table to include in the result; by default those of the model.

    Raises
    ------
    NotExportableError : if the model is not supported, with the reason.
    ValueError : if there is no such dialect.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"there is no dialect {dialect!r}; there are {', '.join(DIALECTS)}")
    model = model_of(model)
    posterior, formula = formula_of(model)

    labels = posterior.classes.tolist()
    query = _Query(dialect, formula, model.schema)
    names = list(model.schema.ordered if posterior.feature_names else ())
    keep = list(dict.fromkeys(keep or names))
    check_names([*names, *(name for name in keep if name not in names)], dialect)
    stages = [
        query.values(_table(table, dialect), keep),
        query.bins(), *query.leaves(), *query.gaps(), *query.densities(), *query.mixing_stages(),
        query.scores(len(labels)),
    ]  # fmt: skip
    return query.remark() + query.text(stages, labels)


def _table(name: str, dialect: str) -> exp.Table:
    """Parse the name of a table; NotExportableError if it is invalid."""
    try:
        table = exp.to_table(name, dialect=dialect)
    except SqlglotError:
        table = None
    if table is None or not table.name:
        quoted = name.replace('"', '""')
        raise NotExportableError(
            f"{dialect} has no table {name!r}: a name of more than letters and digits is "
            f'written in quotes, and those in it twice, as "{quoted}"'
        )
    return table


class _Query:
    """The stages (common table expressions) of a query; each reads the previous one.

    kept : (name in the table, internal alias) of the columns to include in the result.
    """

    def __init__(self, dialect: str, formula: Formula, schema: Schema) -> None:
        self.dialect = dialect
        self.formula = formula
        self.schema = schema
        self.missing = schema.missing
        self.kept: list[tuple[str, str]] = []
        self.number: dict[str, str] = {}
        self.level: dict[str, str] = {}
        self.read: dict[str, str] = {}  # text columns that may spell numbers
        self.cuts: dict[int, str] = {}  # by identity
        self.trees = [term for term in formula.terms if isinstance(term, Trees)]
        self.dense = [term for term in formula.all_terms if isinstance(term, Density)]
        self._leaves: list[str] = []  # aliases of stages so far
        self.texts, self.plain, self.mixed = texts_of(formula, dialect)
        self.dates: set[str] = set()
        for cut in formula.all_cuts:
            aliases = self.level if isinstance(cut, LevelCut) else self.number
            if not isinstance(cut, LevelCut) and cut.dated:
                if dialect not in LISTS:
                    raise NotExportableError(
                        f"column {cut.column!r} holds dates or times, which are exported to "
                        f"{' and '.join(LISTS)} alone"
                    )
                self.dates.add(cut.column)
            prefix = "t" if isinstance(cut, LevelCut) else "x"
            aliases.setdefault(cut.column, f"{prefix}{len(aliases)}")
            if isinstance(cut, LevelCut) and has_numbers(cut.levels, dialect):
                self.read[cut.column] = f"n{self.level[cut.column]}"
        for term in formula.all_terms:
            for name in _numbers(term):
                self.number.setdefault(name, f"x{len(self.number)}")

    def remark(self) -> str:
        """Return comments that list compared categories by column; "" if there are none."""
        terms = [term for term in self.formula.terms if isinstance(term, Table | Trees)]
        cuts = [cut for term in terms for cut in term.cuts]
        levels_of = {cut.column: cut.levels for cut in cuts if isinstance(cut, LevelCut)}
        lines = [f"--   {name!r}: {first_names(levels_of[name])}" for name in levels_of]
        return "\n".join([REMARK, *lines, ""]) if lines else ""

    # ---- the stages ------------------------------------------------------------------------------

    def values(self, table: exp.Table, keep: Sequence[str]) -> exp.Select:
        """Select the cells that are used, as numbers and as text."""
        self.kept = [(name, f"c{k}") for k, name in enumerate(keep)]
        columns: Columns = {alias: cell(name) for name, alias in self.kept}
        columns |= {alias: self._as_number(name) for name, alias in self.number.items()}
        dialect, missing = self.dialect, self.missing
        columns |= {alias: as_text(n, dialect, missing) for n, alias in self.level.items()}
        columns |= {alias: as_number(name, dialect) for name, alias in self.read.items()}
        columns |= {bag.name: self._as_document(bag.term) for _, bag in self.texts}
        if self.texts:
            columns[ROW] = exp.Var(this="ROW_NUMBER() OVER ()")
        return select(columns).from_(table)

    def bins(self) -> exp.Select:
        """Compute the bin of each column, for each of its cuts."""
        columns: Columns = {}
        aliases: dict[Any, str] = {}
        for cut in self.formula.all_cuts:
            identity = cut.part if isinstance(cut, PartCut) else cut.bins.tobytes()
            key = cut.column, identity, cut.missing
            if key not in aliases:
                aliases[key] = f"k{len(aliases)}"
                columns[aliases[key]] = self._bin(cut)
            self.cuts[id(cut)] = aliases[key]
        states = {name: bag.state() for name, bag in self.texts}
        rows = [ROW] if self.texts else []
        return select(self._carried([*self.number.values(), *rows]) | columns | states)

    def leaves(self) -> Iterator[exp.Select]:
        """Compute the leaf of each decision tree."""
        columns: Columns = {
            alias: self._leaf(term, tree)
            for k, term in enumerate(self.trees)
            for alias, tree in _each(k, term)
        }
        if columns:
            yield select(self._everything() | columns)
            self._leaves = [*columns]

    def gaps(self) -> Iterator[exp.Select]:
        """Count missing cells, then compute the factor of rows where these are unfamiliar."""
        if (gaps := self.formula.gaps) is None:
            return
        one, zero = exp.Literal.number(1), exp.Literal.number(0)
        missing = [
            exp.EQ(this=cell(self.cuts[id(cut)]), expression=exp.Literal.number(cut.missing))
            for cut in gaps.cuts
        ]
        indicators = [exp.Case(ifs=[exp.If(this=x, true=one)], default=zero) for x in missing]
        marked = zip(missing, gaps.unusual, strict=True)
        unusual: list[exp.Expression] = [value.copy() for value, is_unusual in marked if is_unusual]
        unusual += [
            exp.And(this=missing[j].copy(), expression=exp.Not(this=paren(missing[k].copy())))
            for j, k in gaps.together
        ]
        columns: Columns = {}
        if unusual:
            ifs = [exp.If(this=exp.or_(*unusual, copy=False), true=one.copy())]
            columns = {"odd": exp.Case(ifs=ifs, default=zero.copy())}
        yield select(self._everything() | {GAPS: added(indicators)} | columns)
        too_many: Any = exp.GT(this=cell(GAPS), expression=exp.Literal.number(gaps.most))
        if unusual:
            is_odd = exp.EQ(this=cell("odd"), expression=one.copy())
            too_many = exp.or_(too_many, is_odd, copy=False)
        factors = exp.Case(this=cell(GAPS), ifs=[
            exp.If(this=exp.Literal.number(k), true=number(value))
            for k, value in enumerate(gaps.factors.tolist())
        ])  # fmt: skip
        factor = exp.Case(ifs=[exp.If(this=too_many, true=factors)])
        yield select(self._everything() | {FACTOR: factor})

    def densities(self) -> Iterator[exp.Select]:
        """Compute the log-densities of several numbers, before the best class is known."""
        if not self.dense:
            return
        numbers, columns = Columns(), Columns()
        for d, term in enumerate(self.dense):
            for j, name in enumerate(term.columns):
                x = cell(self.number[name])
                numbers[f"z{d}_{j}"] = standardised(term, j, x, self.dialect)
            for c in range(len(term.base)):
                columns[f"f{d}_{c}"] = density(term, d, c, self.dialect)
            if term.fewest:
                numbers[f"p{d}"] = added([
                    exp.Case(ifs=[exp.If(
                        this=exp.Is(this=cell(self.number[name]), expression=exp.Null()),
                        true=exp.Literal.number(0))], default=exp.Literal.number(1))
                    for name in term.columns
                ])  # fmt: skip
                columns[f"p{d}"] = cell(f"p{d}")
        carried = self._everything() | self._carried(self._factor)
        yield select(carried | numbers)
        yield select(carried | columns)

    def mixing_stages(self) -> Iterator[exp.Select]:
        """Compute the evidence of texts, before it is mixed with the prior."""
        if not self.mixed:
            return
        carried = [f"f{d}_{c}" for d, term in enumerate(self.dense) for c in range(len(term.base))]
        carried += [f"p{d}" for d, term in enumerate(self.dense) if term.fewest] + self._factor
        yield from mixing_stages(self.mixed, self._everything() | self._carried(carried), ROW)

    def scores(self, classes: int) -> exp.Select:
        """Compute the score of each class."""
        columns: Columns = {}
        for c in range(classes):
            score = self._score(self.formula, c, classes)
            if (other := self.formula.other) is not None:
                terms = self._score(replace(other, base=0.0 * other.base), c, classes)
                scaled = exp.Mul(this=cell(FACTOR), expression=paren(terms))
                incomplete = exp.Add(this=number(other.base[c]), expression=scaled)
                is_familiar = exp.Is(this=cell(FACTOR), expression=exp.Null())
                score = exp.Case(ifs=[exp.If(this=is_familiar, true=score)], default=incomplete)
                score = added([score, *(term.score(c) for term in self.mixed)])
            columns[f"s{c}"] = score
        query = select(self._carried() | columns)
        for _, bag in self.plain:
            query = bag.joined(query, ROW)
        return query

    def _score(self, formula: Formula, c: int, classes: int) -> exp.Expression:
        """Compute the score of a class by a formula."""
        parts = [number(formula.base[c])]
        for term in formula.terms:
            if isinstance(term, Table):
                parts.append(self._looked_up(term.added[:, c], self._cell(term)))
            elif isinstance(term, Line | Parabola):
                parts.append(curve(term, cell(self.number[term.column]), c, self.dialect))
        if formula is self.formula:
            parts += [
                self._looked_up(term.added[tree, c], cell(alias))
                for k, term in enumerate(self.trees)
                for alias, tree in _each(k, term)
            ]
            parts += [bag.score(state, c) for state, bag in self.plain]
            if formula.other is None:
                parts += [term.score(c) for term in self.mixed]
        for d, dense in enumerate(self.dense):
            if not any(dense is other for other in formula.terms):
                continue
            log_densities = [cell(f"f{d}_{k}") for k in range(classes)]
            best = paren(largest(log_densities))
            difference = exp.Sub(this=log_densities[c].copy(), expression=best)
            clipped = exp.Greatest(this=difference, expressions=[number(dense.least)])
            contribution: exp.Expression = exp.Mul(this=number(dense.weight), expression=clipped)
            if dense.fewest:
                fewest = exp.Literal.number(dense.fewest)
                has_enough = exp.GTE(this=cell(f"p{d}"), expression=fewest)
                ifs = [exp.If(this=has_enough, true=contribution)]
                contribution = exp.Case(ifs=ifs, default=number(0.0))
            parts.append(contribution)
        return added(parts)

    @property
    def _factor(self) -> list[str]:
        """The alias of the factor of rows with unfamiliar missing cells, if the model has gaps."""
        return [FACTOR] if self.formula.gaps is not None else []

    def text(self, stages: list[exp.Select], labels: list[Any]) -> str:
        """Write all stages, and compute labels and probabilities."""
        scores = [cell(f"s{c}") for c in range(len(labels))]
        best: Columns = {alias: cell(alias) for _, alias in self.kept}
        best |= {f"s{c}": score for c, score in enumerate(scores)}
        is_finite = exp.and_(*map(finite, scores), copy=False)  # else one overflows
        best["best"] = exp.Case(ifs=[exp.If(this=is_finite, true=largest(scores))])
        powers: Columns = {alias: cell(alias) for _, alias in self.kept}
        for c, score in enumerate(scores):
            difference = exp.Sub(this=score.copy(), expression=cell("best"))
            is_finite = exp.Is(this=cell("best"), expression=exp.Null()).not_()
            powers[f"e{c}"] = exp.Case(ifs=[exp.If(this=is_finite, true=power(difference))])
        exponentials = [cell(f"e{c}") for c in range(len(labels))]
        total = paren(added([exponential.copy() for exponential in exponentials]))
        one = number(1.0)
        are_best = [exp.GTE(this=each.copy(), expression=one.copy()) for each in exponentials]
        pairs = zip(are_best, labels, strict=True)
        cases = [exp.If(this=is_best, true=literal(label)) for is_best, label in pairs]
        result: Columns = {name: cell(alias) for name, alias in self.kept}
        result[free_name(PREDICTION, result, self.dialect)] = exp.Case(ifs=cases)
        for exponential, label in zip(exponentials, labels, strict=True):
            probability = exp.Div(this=exponential.copy(), expression=total.copy(), typed=True)
            result[free_name(f"P({label})", result, self.dialect)] = probability
        stages = [*stages, select(best), select(powers)]
        # else some databases inline each stage and compute cells repeatedly
        materialized = self.dialect in MATERIALIZED or None
        query = select(result)
        for k, stage in enumerate(stages):
            if k:
                stage.from_(f"naively_{k - 1}", copy=False)
            query.with_(f"naively_{k}", as_=stage, materialized=materialized, copy=False)
            for _, bag in self.texts if k == 0 else ():
                for name, words in bag.stages("naively_0", ROW):
                    query.with_(name, as_=words, materialized=materialized, copy=False)
        query.from_(f"naively_{len(stages) - 1}", copy=False)
        return written(query, self.dialect) + "\n"

    def _everything(self) -> Columns:
        """Select the columns that later stages need."""
        rows = [ROW, *(state for state, _ in self.texts)] if self.texts else []
        bins = dict.fromkeys(self.cuts.values())
        return self._carried([*self.number.values(), *bins, *self._leaves, *rows])

    def _carried(self, others: Any = ()) -> Columns:
        names = [alias for _, alias in self.kept] + list(others)
        return {alias: cell(alias) for alias in names}

    # ---- cells -----------------------------------------------------------------------------------

    def _as_number(self, name: str) -> exp.Expression:
        """Read a cell as a number; null where it is missing, infinite, or not a number."""
        if self.schema.reason(name).kind == "truths":
            column = as_truth(name, self.dialect)
        elif self.dialect == "sqlite":  # it casts other text to 0
            column = as_number(name, self.dialect)
        else:
            column = cast(seconds(cell(name), self.dialect) if name in self.dates else cell(name))
        valid: exp.Expression = finite(column)
        missing = [number(float(text)) for text in self.missing if NUMBER.fullmatch(text)]
        if missing:
            is_present = exp.In(this=column.copy(), expressions=missing).not_()
            valid = exp.And(this=valid, expression=is_present)
        return exp.Case(ifs=[exp.If(this=valid, true=column)])

    def _as_document(self, bag: Bag) -> exp.Expression:
        """Read a text cell as a document; null where it spells a missing value.

        Uses CASE, as DuckDB duplicates the argument of each nested NULLIF and plans for seconds.
        """
        document = cell(bag.column)
        if not self.missing and not bag.as_level:
            return document
        text, conditions = trimmed(document, self.dialect), list[exp.Expression]()
        if self.missing:
            spellings = [exp.Literal.string(spelling) for spelling in self.missing]
            conditions.append(exp.In(this=text, expressions=spellings).not_())
        if bag.as_level:  # where infinity and NaN are missing
            words = [*map(exp.Literal.string, ENDLESS)]
            conditions.append(exp.In(this=exp.Lower(this=text.copy()), expressions=words).not_())
        return exp.Case(ifs=[exp.If(this=exp.and_(*conditions, copy=False), true=document)])

    def _bin(self, cut: Cut) -> exp.Expression:
        """Compute the bin of a cell."""
        missing = exp.Literal.number(cut.missing)
        if isinstance(cut, PartCut):
            value = part_of_date(cell(self.number[cut.column]), cut.part, self.dialect)
            return exp.Coalesce(this=value, expressions=[missing])
        if isinstance(cut, NumberCut):
            column = cell(self.number[cut.column])
            if not len(cut.starts):
                return missing
            ifs = [exp.If(this=exp.Is(this=column, expression=exp.Null()), true=missing)]
            bins = cut.bins.tolist()
            changes = [k for k in range(1, len(bins)) if bins[k] != bins[k - 1]]
            for k in reversed(changes):
                passed = exp.GTE(this=column.copy(), expression=number(cut.starts[k]))
                ifs.append(exp.If(this=passed, true=exp.Literal.number(bins[k])))
            return exp.Case(ifs=ifs, default=exp.Literal.number(bins[0]))
        column = cell(self.level[cut.column])
        ifs = [exp.If(this=exp.Is(this=column, expression=exp.Null()), true=missing)]
        if not cut.endless:
            words = [*map(exp.Literal.string, ENDLESS)]
            is_infinite = exp.In(this=exp.Lower(this=column.copy()), expressions=words)
            ifs.append(exp.If(this=is_infinite, true=missing.copy()))
        read = cell(self.read.get(cut.column, self.level[cut.column]))
        members: dict[int, list[str]] = {}
        for level, k in zip(cut.levels, cut.bins.tolist(), strict=True):
            if k != cut.other:
                members.setdefault(k, []).append(level)
        for k, levels in members.items():
            is_member = one_of(column, read, levels, self.dialect)
            ifs.append(exp.If(this=is_member, true=exp.Literal.number(k)))
        for k, levels in members.items():  # exact matches come first
            if (condition := rounds_to(read, levels, self.dialect)) is not None:
                ifs.append(exp.If(this=condition, true=exp.Literal.number(k)))
        return exp.Case(ifs=ifs, default=exp.Literal.number(cut.other))

    def _cell(self, term: Table) -> exp.Expression:
        """Compute the cell of a row in a table."""
        index: exp.Expression = exp.Literal.number(0)
        for cut, size in zip(term.cuts, term.sizes, strict=True):
            bin_index = cell(self.cuts[id(cut)])
            if isinstance(index, exp.Literal):
                index = bin_index
                continue
            scaled = exp.Mul(this=paren(index), expression=exp.Literal.number(size))
            index = exp.Add(this=scaled, expression=bin_index)
        return index

    def _leaf(self, term: Trees, tree: slice) -> exp.Expression:
        """Compute the leaf of a row in a tree, whose nodes these are.

        The smaller side of a node is nested, and the larger one continues the CASE: so expressions
        are only as deep as the logarithm of the number of leaves, as parsers need it.
        """
        nodes = (term.nodes[tree] - [0, 0, 0, tree.start]).tolist()
        sizes = [1] * len(nodes)
        for k, (column, _, _, child) in reversed([*enumerate(nodes)]):
            if column >= 0:
                sizes[k] = sizes[child] + sizes[child + 1]

        def leaf(k: int) -> exp.Expression:
            choices = list[exp.If]()
            while nodes[k][0] >= 0:
                column, first, last, child = nodes[k]
                bounds = {"low": exp.Literal.number(first), "high": exp.Literal.number(last)}
                bin_ = cell(self.cuts[id(term.cuts[column])])
                condition: exp.Expression = exp.Between(this=bin_, **bounds)
                if sizes[child] <= sizes[child + 1]:
                    nested, k = child, child + 1
                else:
                    condition, nested, k = exp.Not(this=condition), child + 1, child
                choices.append(exp.If(this=condition, true=leaf(nested)))
            rest = exp.Literal.number(k)
            return exp.Case(ifs=choices, default=rest) if choices else rest

        return leaf(0)

    def _looked_up(self, added: Float64, index: exp.Expression) -> exp.Expression:
        """Look up the contribution of a cell to the score of a class."""
        contributions = added.tolist()
        if self.dialect in LISTS:
            literals = exp.Array(expressions=[*map(number, contributions)])
            array = exp.cast(literals, "array<double>")
            position = exp.Add(this=paren(index), expression=exp.Literal.number(1))
            return exp.Bracket(this=paren(array), expressions=[position], offset=1)
        ifs = [
            exp.If(this=exp.Literal.number(k), true=number(contribution))
            for k, contribution in enumerate(contributions) if contribution != 0.0
        ]  # fmt: skip
        return exp.Case(this=index, ifs=ifs, default=number(0.0)) if ifs else number(0.0)


def _each(number: int, term: Trees) -> Iterator[tuple[str, slice]]:
    """Yield (name of the leaf, nodes) of each tree."""
    ends = pairwise([*term.roots.tolist(), len(term.nodes)])
    yield from ((f"l{number}_{k}", slice(*tree)) for k, tree in enumerate(ends))


def _numbers(term: Any) -> Sequence[str]:
    if isinstance(term, Density):
        return term.columns
    return (term.column,) if isinstance(term, Line | Parabola) else ()
