"""Which family fits a column: a rule over the first rows of a table.

==================================================  ==============================================
the column holds                                    its family
==================================================  ==============================================
true and false                                      Bernoulli
text, 6 words or more on average, mostly different  Text
other text, categories                              Categorical
whole numbers, at most 20 different ones (below 20  Categorical
rows, half as many as rows)
whole numbers >= 0 of a variance of half to twice   Poisson
their mean
other numbers                                       Gaussian, or the family that was asked for
a sparse matrix of counts (of other numbers)        Multinomial (Gaussian), one block
one value only, or none                             Categorical, left out of the product until
                                                    a second value is met
text of which more than 9 in 10 are different       left out: like an identifier
whole numbers, each once, half of their range       left out: like an identifier
dates and times, lists, structures                  left out
==================================================  ==============================================

A family of levels that was asked for, as ``Categorical(alpha=0)``, is also that of categories and
of true and false. With ``auto``, columns of numbers that would be Gaussian or Poisson get the
family that predicts the class best on rows held out of those first ones (see
`naively.tables.choice`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from naively.families.base import AnyFamily
from naively.families.bernoulli import Bernoulli
from naively.families.categorical import Categorical
from naively.families.categorical_parameters import Unseen
from naively.families.gaussian import Gaussian
from naively.families.multinomial import Multinomial
from naively.families.poisson import Poisson
from naively.families.text import Text
from naively.model import Model
from naively.schema import ASKED, CONSTANT, NO_VALUES, Block, ColumnType, Schema, Why
from naively.tables import prose, values
from naively.tables.blocks import together
from naively.tables.choice import chosen
from naively.tables.declared import declared_types
from naively.tables.frames import SparseTable
from naively.tables.inputs import MISSING
from naively.tables.names import named, names_of, no_column
from naively.tables.targets import LabelCodes
from naively.tables.union import counts, is_few, with_families
from naively.tables.written import written

ROWS, CELLS = 100_000, 50_000_000
"""Rows from which families are inferred: the first ones; and their cells, at most."""

ROUNDED = Gaussian(floor="feature", resolution=1.0)
TRUTHS = Why("true or false", "truths")
COUNTS = Why("counts, variance about the mean", "counts")
EVIDENCE, PROSE = Why("evidence"), Why("text of many words")
FEW = 20  # different whole numbers that are levels rather than amounts; in few rows, half as many
MANY = 20  # rows from which on they are many, and a column of different values an identifier

FamilyChoice = AnyFamily | str
"""A family, the name of one, or "skip"."""
Columns = Mapping[str | tuple[str, ...], FamilyChoice]


@dataclass(frozen=True)
class Wishes:
    """What the user says about columns.

    Attributes
    ----------
    columns : families, names of families or "skip", by column or tuple of columns (one block).
    numeric : Family of the columns of numbers; None for the rule.
    auto : whether that is the family that predicts held-out rows best.
    alpha, unseen : of the columns of levels whose families are inferred; alpha may be a dict by
        column, of numbers or of what `Categorical` takes as a dict.
    missing : spellings of a missing value.
    whole : Family that takes all columns together; None for a family each.
    alone : Family of a column of text that there is nothing beside, in place of that; or None.
    documents : names of columns that are text without looking at them.
    types : columns that are declared categorical or numeric, whatever their source says.
    """

    columns: Columns
    numeric: AnyFamily | None = None
    auto: bool = False
    alpha: Any = 1.0
    unseen: Unseen = "smooth"
    missing: tuple[str, ...] = MISSING
    whole: AnyFamily | None = None
    alone: AnyFamily | None = None
    documents: tuple[str, ...] = ()
    types: Mapping[str, ColumnType] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, kind in self.types.items():
            if name in self.text or name in self.asked:
                raise ValueError(f"column {name!r} is declared {kind}, and named as something else")
        numeric = self.numeric
        if numeric is not None and numeric.summary.takes == "documents":
            raise ValueError("text is no family of numbers; name its columns in `columns`")

    @property
    def asked(self) -> set[str]:
        """The columns that are named, with their families."""
        return {n for key in self.columns for n in ([key] if isinstance(key, str) else key)}

    @property
    def text(self) -> tuple[str, ...]:
        """The columns that are named as text, where all are taken together."""
        return () if self.whole is None else tuple(map(str, self.whole.text))

    def check_target(self, target: Any) -> None:
        """Raise ValueError if the column of labels is named as text."""
        if target in self.text:
            raise ValueError(f"column {target!r} was named as text, and is the target")

    @property
    def levels(self) -> AnyFamily | None:
        """The family that was asked for, if it is one of levels and no plain one."""
        asked = self.numeric
        known = asked is not None and asked.summary.of_levels
        return asked if known and repr(asked) != repr(Categorical()) else None

    def alpha_of(self, name: str) -> Any:
        """The smoothing of one column; 1 of those that a dict does not name."""
        return self.alpha.get(name, 1.0) if isinstance(self.alpha, Mapping) else self.alpha

    def _of(self, name: str) -> Wishes:
        """What is said about one column."""
        return replace(self, alpha=self.alpha_of(name))

    def check_alpha(self, names: Sequence[str]) -> None:
        """Raise ValueError if alpha is by column, and names others than these, or no numbers."""
        for name, one in self.alpha.items() if isinstance(self.alpha, Mapping) else ():
            if name not in names:
                raise ValueError(f"`alpha` is by column: {no_column(str(name), names)}")
            if name in self.asked:
                raise ValueError(
                    f"`alpha` names column {name!r}, whose family is in `columns`: give it there, "
                    "as Categorical(alpha=2)"
                )
            if not isinstance(one, Mapping | Real) or isinstance(one, bool) or one == {}:
                raise ValueError(
                    f"alpha of column {name!r} must be a number, or a dict by category, not {one!r}"
                )

    def check_smoothed(self, families: Mapping[str, AnyFamily]) -> None:
        """Raise ValueError if alpha names columns whose families have no use for it."""
        for name, one in self.alpha.items() if isinstance(self.alpha, Mapping) else ():
            family: Any = families.get(name)
            if family is None:
                why = "is left out"
            elif family.alpha_is_rows or "alpha" not in vars(family):
                why = f"has the family {family.name}: it has no virtual counts"
            elif isinstance(one, Mapping) and not isinstance(family, Categorical | Text):
                why = f"has the family {family.name}: its alpha is one number"
            elif isinstance(family, Categorical) and family is self.levels:
                why = "has the family that `family` names: give it alpha there"
            else:
                continue
            raise ValueError(f"`alpha` names column {name!r}, which {why}")

    def settled(self, names: Sequence[str]) -> set[str]:
        """The columns, to be learned among these, of which nothing has to be found out."""
        found = {
            name
            for key, choice in self.columns.items()
            for name in ([key] if isinstance(key, str) else key)
            if (family := named(choice)) is None or not family.refers
        } | {name for name in self.text if name in self.documents}
        rest = {*names} - found
        return found | rest if self._alone(rest) and rest <= {*self.text} else found

    def _alone(self, rest: Collection[str]) -> AnyFamily | None:
        """The family of text that there is nothing beside, if all but one column have families."""
        return self.alone if len(rest) == 1 else None

    def schema(self, table: pa.Table, names: Sequence[str] | None = None) -> Schema:
        """The schema for some columns (by default all) of a table, from its first rows.

        Raises ValueError if `columns` or `text` name one that is not there, unless only some were
        asked about; or if a column of text holds something else.
        """
        known = table.column_names if names is None else None
        names = list(table.column_names if names is None else names)
        given = self._given(names, known)
        blocks: list[Block] = []
        reasons: dict[str, Why] = {}
        alone = self._alone({*names} - {*given})
        self._check_text(table, known, alone is not None)
        types = self._types(table, names, known)
        if known is not None:
            self.check_alpha(known)
        for name in names:
            if name in given:
                key, choice = given[name]
                reasons[name] = ASKED
                if choice is not None and name == key[0]:
                    blocks.append(Block(choice, key))
                continue
            family, reasons[name] = self.whole, EVIDENCE
            if family is None:
                own = self._of(name)
                family, reasons[name] = own._rule(table.column(name), types.get(name))
            elif alone and name in self.text:
                family, reasons[name] = alone, ASKED
            elif alone and name not in types and prose.is_prose(table.column(name), self.missing):
                family, reasons[name] = alone, PROSE
            if family is not None:
                blocks.append(Block(family, (name,)))
        if known is not None:
            self.check_smoothed({name: block.family for block in blocks for name in block.names})
        shared = together(blocks, self.whole or self.numeric)
        return Schema(shared, reasons, self.missing, types)

    def _types(
        self, table: pa.Table, names: Sequence[str], known: Sequence[str] | None
    ) -> dict[str, ColumnType]:
        """The declared types of these columns: what the user says, then what their source does."""
        for name in self.types:
            if known is not None and name not in known:
                raise ValueError(f"`{self.types[name]}`: {no_column(name, known)}")
        open_ = {*names} - {*self.text, *self.asked, *self.documents}
        found = declared_types(table, open_, self.missing)
        found |= {name: kind for name, kind in self.types.items() if name in names}
        return dict(sorted(found.items()))

    def _check_text(self, table: pa.Table, known: Sequence[str] | None, alone: bool) -> None:
        """Raise ValueError if a column that is named as text is not there, or is none."""
        given = {*table.column_names}
        for name in self.text:
            if known is not None and name not in given:
                raise ValueError(f"`text`: {no_column(name, known)}")
            if name in given and name not in self.documents and not alone:
                prose.check_text(name, table.column(name), self.missing)

    def _given(
        self, names: list[str], known: list[str] | None
    ) -> dict[str, tuple[tuple[str, ...], AnyFamily | None]]:
        """For each named column: its block's columns and family; None to leave it out."""
        given: dict[str, tuple[tuple[str, ...], AnyFamily | None]] = {}
        wanted, there = set(names), {*known} if known else set()
        for key, choice in self.columns.items():
            block = names_of(key)
            family = named(choice)
            for name in block:
                if known is not None and name not in there:
                    raise ValueError(f"`columns`: {no_column(name, known)}")
                if name in given:
                    raise ValueError(f"`columns` names {name!r} more than once")
                if name in wanted:
                    given[name] = block, family
        return given

    def _rule(
        self, given: pa.Array | pa.ChunkedArray, declared: ColumnType | None = None,
        counted: bool = False,
    ) -> tuple[AnyFamily | None, Why]:  # fmt: skip
        """(family of a column, or None to leave it out; the reason).

        Few numbers whose levels have been counted stay levels, even if none was met twice.
        """
        # first, as documents are large and need no copy; none of them is a number
        if declared is None and prose.is_prose(given, self.missing):
            return Text(alpha=self.alpha), PROSE
        column = values.flat(given)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        text = values.is_text(kind)
        plain = text or values.is_number(kind) or pa.types.is_boolean(kind)
        if not (plain or pa.types.is_null(kind) or pa.types.is_temporal(kind)):
            return None, Why(f"no plain values but {kind}")
        if declared == "numeric":
            read = values.numbers(column, self.missing)
            distinct = np.unique(read.values[np.isfinite(read.values)])
            return self._number_rule(read.values, distinct, most=0)
        if declared is None and not isinstance(self.alpha, Mapping):  # which names categories
            read = values.numbers(column, self.missing)
            if not (read.truths or read.invalid.any() or (text and values.any_code(column))):
                distinct = np.unique(read.values[np.isfinite(read.values)])
                if _told_apart(distinct, column, self.missing):
                    most = FEW if counted else None
                    return self._number_rule(read.values, distinct, most)
        return self._level_rule(column, declared is not None)

    def _level_rule(self, column: pa.Array, declared: bool) -> tuple[AnyFamily | None, Why]:
        codes, known = values.levels(column, self.missing)
        counts = np.bincount(codes, minlength=len(known) + 1)[:-1]
        met = [level for level, count in zip(known.tolist(), counts, strict=True) if count]
        levels, present = len(met), int(counts.sum())  # slices know more levels
        if levels < 2:
            return self._constant(levels)
        truths = known.tolist() if declared else met
        by_level = isinstance(self.alpha, Mapping)
        if self.levels is None and not by_level and {*truths} <= {"true", "false"}:
            return Bernoulli(self.alpha, binarize=None), TRUTHS
        if not declared and all(level and values.MOMENT.fullmatch(level) for level in met):
            return None, Why("dates or times")
        if present >= MANY and levels > 0.9 * present:
            how = written(met)
            like = f"like an identifier: {levels:,} different values in {present:,} rows"
            return None, Why(f"{like}; {how}" if how else like)
        family = self.levels or Categorical(self.alpha, unseen=self.unseen)
        what = "declared categorical" if declared else "text"
        return family, Why(
            f"{what}, {levels:,} level{'s' * (levels != 1)}", "levels" if self.levels else "rule"
        )

    def _constant(self, levels: int) -> tuple[AnyFamily, Why]:
        """Of a column that may yet turn out to be anything: its value is counted."""
        family = Categorical(self.alpha, unseen=self.unseen)
        return family, CONSTANT if levels else NO_VALUES

    def _number_rule(self, x: Any, distinct: Any, most: int | None) -> tuple[AnyFamily | None, Why]:
        """The same of numbers, of which these are different: levels, if there are so few."""
        x = x[np.isfinite(x)]
        if len(distinct) < 2:
            return self._constant(len(distinct))
        whole = (x == np.floor(x)).all() and np.abs(distinct[[0, -1]]).max() <= 2**53
        if not whole:
            return self.numeric or Gaussian(floor="feature"), Why("numbers")
        span = distinct[-1] - distinct[0] + 1
        if most != 0 and len(x) >= MANY and len(distinct) == len(x) >= span / 2:
            return None, Why("like an identifier: whole numbers, each once")
        if self.numeric is not None:
            plain = self.numeric == Gaussian(floor="feature")
            return ROUNDED if plain else self.numeric, Why("whole numbers")
        if most is None:
            most = FEW if len(x) >= MANY else max(2, len(x) // 2)
        if len(distinct) <= most:
            few = Why(f"whole numbers, {len(distinct)} different", "few numbers")
            return Categorical(self.alpha, unseen=self.unseen), few
        if distinct[0] >= 0 and 0.5 <= x.var() / x.mean() <= 2:
            return Poisson(self.alpha), COUNTS
        return ROUNDED, Why("whole numbers")


def _told_apart(distinct: Any, column: pa.Array, missing: tuple[str, ...]) -> bool:
    """Whether numbers are different ones as float64 too, as those from 2**53 on may not be."""
    if len(distinct) == 0 or np.abs(distinct[[0, -1]]).max() < 2**53:
        return True
    return len(values.levels(column, missing)[1]) <= len(distinct)


def first_rows(columns: int) -> int:
    """The number of rows from which the families of so many columns are inferred."""
    return max(1000, min(ROWS, CELLS // max(1, columns)))


def infer(
    wishes: Wishes,
    table: pa.Table | SparseTable,
    labels: LabelCodes,
    names: Sequence[str] | None = None,
) -> Schema:
    """The schema for some columns of a table (all by default), from its first rows.

    Raises ValueError if `columns` names one that is not there.
    """
    table = table.slice(0, first_rows(len(table.column_names if names is None else names)))
    if isinstance(table, SparseTable):
        return _of_matrix(wishes, table)
    schema = _referring(wishes.schema(table, names), table)
    return chosen(schema, table, labels, wishes.asked, wishes.missing) if wishes.auto else schema


def reconsidered(wishes: Wishes, model: Model) -> Model:
    """The model with the families that the rule gives for what has been counted since.

    A column of one value, or of few whole numbers, is counted as levels. Once there are others,
    the rule looks at what was counted, and the counts become the statistics of its family.
    """
    schema = model.schema
    changed: dict[str, tuple[AnyFamily, Why]] = {}
    for part, counted in zip(schema.parts, model.parts, strict=True):
        if not part.summary.of_levels:
            continue
        offsets = counted.offsets
        for k, name in enumerate(part.names):
            levels = len(counted.levels[k])
            if levels < 2:
                continue
            if schema.reason(name).open or (is_few(schema, name) and levels > FEW):
                column = _column_of(counted, k, offsets)
                declared = schema.types.get(name)
                family, why = wishes._of(name)._rule(column, declared, counted=True)
                if family is None:  # an identifier or dates, as far as they were counted
                    family, why = schema.known[name], Why(f"{levels} levels")
                changed[name] = family, why
    return with_families(model, changed) if changed else model


def _column_of(part: Any, k: int, offsets: Any) -> pa.Array:
    """A column with as many of each level as were counted; fewer, if they are very many."""
    levels, codes, _, weights = counts(part, k, offsets)
    total = np.bincount(codes, weights, len(levels) + 1)[:-1]
    total *= min(1.0, ROWS / max(total.sum(), 1.0))
    return pa.array(levels.tolist(), pa.string()).take(
        pa.array(np.repeat(np.arange(len(levels)), np.ceil(total).astype(np.int64)))
    )


def _referring(schema: Schema, table: pa.Table) -> Schema:
    """The schema, with these rows as those that families refer to which need some."""
    blocks = list(schema.blocks)
    for k, block in enumerate(blocks):
        if block.family.refers:
            documents = prose.documents(table.column(block.names[0]), schema.missing)
            blocks[k] = replace(block, family=block.family.referring(documents))
    return replace(schema, blocks=tuple(blocks))


def _of_matrix(wishes: Wishes, table: SparseTable) -> Schema:
    """One block: Multinomial for counts, Gaussian for other numbers, or what was asked for."""
    if wishes.columns or isinstance(wishes.alpha, Mapping):
        raise ValueError("the columns of a sparse matrix share one family: name it as `family`")
    data = table.matrix.data
    counts = bool((data >= 0).all() and (data == np.floor(data)).all())
    family = wishes.numeric or (Multinomial(wishes.alpha) if counts else Gaussian(floor="feature"))
    why, names = Why("sparse counts" if counts else "sparse numbers"), tuple(table.column_names)
    return Schema((Block(family, names),), dict.fromkeys(names, why), wishes.missing)
