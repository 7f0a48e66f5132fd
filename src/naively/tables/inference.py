"""The family that predicts best, column by column, on rows it did not learn."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from naively.core.column_types import with_types
from naively.core.exact import Float64, Int64
from naively.core.hashing import GOLDEN, mixed
from naively.core.model import Model
from naively.core.prior import Prior
from naively.core.schema import (
    ASKED,
    Block,
    ColumnType,
    Schema,
    Why,
    declared_categorical,
    together,
)
from naively.families.base import AnyFamily
from naively.families.discrete.categorical import Categorical, Unseen
from naively.families.discrete.multinomial import Multinomial
from naively.families.numeric.discretized import Discretized
from naively.families.numeric.exponential import Exponential
from naively.families.numeric.gamma import Gamma
from naively.families.numeric.gaussian import Gaussian
from naively.families.numeric.kernel_density import KernelDensity
from naively.families.numeric.lognormal import LogNormal
from naively.families.numeric.poisson import Poisson
from naively.families.product import Inferred
from naively.families.text.text import Text
from naively.io.frames import SparseTable
from naively.io.inputs import MISSING
from naively.tables import declared, values
from naively.tables.counting import merge, slices, summarise
from naively.tables.declared import declared_types
from naively.tables.names import named, names_of, no_column
from naively.tables.targets import LabelCodes

JUDGED_ROWS = 6000  # rows that are looked at, taken by chance
FOLDS = 3
LEAST = -30.0  # nats that one row can cost: a surprise, but not an infinite one
SCORE_CELLS = 1 << 22  # of the scores held at a time


def candidates() -> list[AnyFamily]:
    """The families to choose from; the first of equals is taken."""
    return [
        Gaussian(floor="feature"), Poisson(), Exponential(), Gamma(), LogNormal(), Discretized(),
        KernelDensity(),
    ]  # fmt: skip


def chosen(
    schema: Schema, table: pa.Table, labels: LabelCodes, asked: Collection[str],
    missing: Collection[str],
) -> Schema:  # fmt: skip
    """The schema with the best family for each column of numbers that is not asked for."""
    classes, codes = labels
    codes = codes[: table.num_rows]
    undecided = [
        name
        for name, family in schema.known.items()
        if name not in asked and family.curve is not None
    ]
    labelled = codes < len(classes)
    if not undecided or not labelled.any():
        return schema
    X = np.column_stack(
        [values.numbers(values.flat(table.column(name)), missing).values for name in undecided]
    )
    X[np.isinf(X)] = np.nan
    best = dict(zip(undecided, choose(X[labelled], codes[labelled], len(classes)), strict=True))
    reasons = {name: schema.reason(name) for name in schema.why}
    blocks = []
    for name, family in schema.known.items():
        if name in best:
            family, score = best[name]
            text = f"{schema.why[name]}; log P(y | x) {score:.4g} on rows held out"
            reasons[name] = Why(text, "chosen")
        elif name in asked:
            continue
        blocks.append(Block(family, (name,)))
    blocks += [block for block in schema.blocks if {*asked} & {*block.names}]
    return replace(schema, blocks=together(blocks), reasons=reasons)


def choose(X: Float64, codes: Int64, classes: int) -> list[tuple[AnyFamily, float]]:
    """For each column: the best family, and its mean log P(y | x_α) on held-out rows, in nats.

    Each candidate alone, with the class prior, learns two thirds of the rows and predicts the
    labels of the others, three times over. What families say of the class compares across
    densities and counts, as log p(x | y) does not. A later candidate, of more parameters, must
    be better by more than half a standard error.

    Parameters
    ----------
    X : (n, d) float64, NaN where missing.
    codes : (n,) class of each row.
    """
    low, high = np.fmin.reduce(X), np.fmax.reduce(X)
    with np.errstate(invalid="ignore"):
        whole = (np.isnan(X) | (np.floor(X) == X)).all(axis=0)
    kept = _by_chance(X, codes)[:JUDGED_ROWS]
    X, codes = X[kept], codes[kept]
    families: list[AnyFamily] = [Gaussian(floor="feature")] * X.shape[1]
    best = np.full(X.shape, -np.inf)
    for family in candidates():
        least, most = family.summary.bounds
        fits = (low >= least) & (high <= most) & (whole | (family.name != "poisson"))
        for columns in _blocks(np.flatnonzero(fits), len(X) * classes):
            scores = _held_out(family, X[:, columns], codes)
            with np.errstate(invalid="ignore"):
                gain = scores - best[:, columns]
                better = gain.mean(axis=0) > 0.5 * gain.std(axis=0) / np.sqrt(len(X))
            better |= np.isneginf(best[0, columns])
            best[:, columns[better]] = scores[:, better]
            for j in columns[better]:
                families[j] = family
    for j in np.flatnonzero(whole):
        if families[j] == Gaussian(floor="feature"):
            families[j] = Gaussian(floor="feature", resolution=1.0)
    return list(zip(families, best.mean(axis=0).tolist(), strict=True))


def _by_chance(X: Float64, codes: Int64) -> Int64:
    """The rows in an order without a pattern, which is the same in whatever order they came."""
    hashes = mixed(codes.astype(np.uint64) + np.uint64(GOLDEN))
    for column in X.T:
        bits = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)  # one NaN, one 0
        hashes = mixed(hashes + mixed(bits))
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    new = np.append(True, ordered[1:] != ordered[:-1])
    rank = np.arange(len(X)) - np.flatnonzero(new)[np.cumsum(new) - 1]  # among equal rows
    return order[np.argsort(mixed(ordered + rank.astype(np.uint64) * np.uint64(GOLDEN)))]


def _held_out(family: AnyFamily, X: Float64, codes: Int64) -> Float64:
    """log P(y | x_α) of each row and column, by models that did not learn the row."""
    log_posterior = np.zeros(X.shape)
    fold = np.arange(len(X)) % FOLDS
    for k in range(FOLDS):
        blank = Model(Schema.of_array(family, X.shape[1]), Prior(smoothing=1.0))
        model = blank.summarise(X[fold != k], codes[fold != k])
        rows = np.flatnonzero(np.isin(codes, model.classes) & (fold == k))
        truth = np.searchsorted(model.classes, codes[rows])
        explained = model.posterior().explain(X[rows])
        scores = np.nan_to_num(explained.contributions + explained.prior[:, :, np.newaxis], nan=0.0)
        scores -= scores.max(axis=1, keepdims=True)
        of_truth = scores[np.arange(len(truth)), truth]
        log_posterior[rows] = np.maximum(of_truth - np.log(np.exp(scores).sum(axis=1)), LEAST)
    return log_posterior


def _blocks(columns: Any, size: int) -> Iterator[Any]:
    """Columns whose scores are held together."""
    width = max(1, SCORE_CELLS // max(1, size))
    return (columns[at : at + width] for at in range(0, len(columns), width))


# ---- inference -----------------------------------------------------------------------------------


ROWS, CELLS = 100_000, 50_000_000
"""Rows from which families are inferred: the first ones; and their cells, at most."""

EVIDENCE = Why("evidence")
OPEN = Why("as its values are")

FamilyChoice = AnyFamily | str
"""A family, the name of one, or "skip"."""
Columns = Mapping[str | tuple[str, ...], FamilyChoice]


@dataclass(frozen=True)
class ColumnOptions:
    """How the columns of a table are treated: what `EstimatorSpec.columns` reads of parameters.

    Attributes
    ----------
    families : families, names of families or "skip", by column or tuple of columns (one block).
    numeric : Family of the columns of numbers; None for the rule.
    auto : whether that is the family that predicts held-out rows best.
    alpha, unseen : of the columns of levels whose families are inferred; alpha may be a dict by
        column, of numbers or of what `Categorical` takes as a dict.
    missing : spellings of a missing value.
    whole : Family that takes all columns together; None for a family each.
    documents : names of columns that are text without looking at them.
    types : columns that are declared categorical or numeric, whatever their source says.
    """

    families: Columns
    numeric: AnyFamily | None = None
    auto: bool = False
    alpha: Any = 1.0
    unseen: Unseen = "smooth"
    missing: tuple[str, ...] = MISSING
    whole: AnyFamily | None = None
    documents: tuple[str, ...] = ()
    types: Mapping[str, ColumnType] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, kind in self.types.items():
            if name in self.text or name in self.asked:
                raise ValueError(f"column {name!r} is declared {kind}, and named as something else")
        numeric = self.numeric
        if numeric is not None and numeric.summary.of_texts:
            raise ValueError("text is no family of numbers; name its columns in `columns`")

    @property
    def asked(self) -> set[str]:
        """The columns that are named, with their families."""
        return {n for key in self.families for n in ([key] if isinstance(key, str) else key)}

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
        return self.inferred.levels

    @property
    def inferred(self) -> Inferred:
        """What stands for the families of columns that are not named or declared."""
        return Inferred(self.alpha, self.unseen, self.numeric)

    def alpha_of(self, name: str) -> Any:
        """The smoothing of one column; 1 of those that a dict does not name."""
        return self.inferred.alpha_of(name)

    def check_alpha(self, names: Sequence[str]) -> None:
        """Raise ValueError if alpha is by column, and names others than these, or no numbers."""
        for name, alpha in self.alpha.items() if isinstance(self.alpha, Mapping) else ():
            if name not in names:
                raise ValueError(f"`alpha` is by column: {no_column(str(name), names)}")
            if name in self.asked:
                raise ValueError(
                    f"`alpha` names column {name!r}, whose family is in `columns`: give it there, "
                    "as Categorical(alpha=2)"
                )
            if not isinstance(alpha, Mapping | Real) or isinstance(alpha, bool) or alpha == {}:
                raise ValueError(
                    f"alpha of column {name!r} must be a number, or a dict by category, not "
                    f"{alpha!r}"
                )

    def check_smoothed(self, families: Mapping[str, AnyFamily]) -> None:
        """Raise ValueError if alpha names columns whose families have no use for it."""
        for name, alpha in self.alpha.items() if isinstance(self.alpha, Mapping) else ():
            family: Any = families.get(name)
            if family is None:
                why = "is left out"
            elif family.alpha_is_rows or "alpha" not in vars(family):
                why = f"has the family {family.name}: it has no virtual counts"
            elif isinstance(alpha, Mapping) and not isinstance(family, Categorical | Text):
                why = f"has the family {family.name}: its alpha is one number"
            elif isinstance(family, Categorical) and family is self.levels:
                why = "has the family that `family` names: give it alpha there"
            else:
                continue
            raise ValueError(f"`alpha` names column {name!r}, which {why}")

    def settled(self, names: Sequence[str]) -> set[str]:
        """The columns, to be learned among these, of which nothing has to be found out."""
        return {
            name
            for key, choice in self.families.items()
            for name in ([key] if isinstance(key, str) else key)
            if (family := named(choice)) is None or not family.refers
        } | {name for name in self.text if name in self.documents}

    def schema(self, table: pa.Table, names: Sequence[str] | None = None) -> Schema:
        """What to count of some columns (by default all) of a table, given its first rows.

        Raises ValueError if `columns` or `text` name one that is not there, unless only some were
        asked about; or if a column of text holds something else.
        """
        known = table.column_names if names is None else None
        names = list(table.column_names if names is None else names)
        named_families = self._named_families(names, known)
        blocks: list[Block] = []
        reasons: dict[str, Why] = {}
        inferred = self.inferred
        open_: list[str] = []
        self._check_text(table, known)
        types = self._types(table, names, known)
        if known is not None:
            self.check_alpha(known)
        for name in names:
            if name in named_families:
                key, choice = named_families[name]
                reasons[name] = ASKED
                if choice is not None and name == key[0]:
                    blocks.append(Block(choice, key))
                continue
            family, reasons[name] = self.whole, EVIDENCE
            if family is None:
                family, reasons[name] = inferred, OPEN
                if (odd := values.no_plain_values(table.schema.field(name).type)) is not None:
                    family, reasons[name] = None, Why(f"no plain values but {odd}")
                elif types.get(name) == "categorical":
                    family, reasons[name] = declared_categorical(inferred, name)
            if family is inferred:
                open_.append(name)
            elif family is not None:
                blocks.append(Block(family, (name,)))
        blocks = [*together(blocks, self.whole or self.numeric)]
        if open_:
            blocks.insert(0, Block(inferred, tuple(open_)))
        return Schema(tuple(blocks), reasons, self.missing, types)

    def _types(
        self, table: pa.Table, names: Sequence[str], known: Sequence[str] | None
    ) -> dict[str, ColumnType]:
        """The declared types of these columns: what the user says, then what their source does."""
        for name in self.types:
            if known is not None and name not in known:
                raise ValueError(f"`{self.types[name]}`: {no_column(name, known)}")
        others = {*names} - {*self.text, *self.asked, *self.documents}
        types = declared_types(table, others, self.missing)
        types |= {name: kind for name, kind in self.types.items() if name in names}
        return dict(sorted(types.items()))

    def _check_text(self, table: pa.Table, known: Sequence[str] | None) -> None:
        """Raise ValueError if a column that is named as text is not there, or is none."""
        names = {*table.column_names}
        for name in self.text:
            if known is not None and name not in names:
                raise ValueError(f"`text`: {no_column(name, known)}")
            if name in names and name not in self.documents:
                declared.check_text(name, table.column(name), self.missing)

    def _named_families(
        self, names: list[str], known: list[str] | None
    ) -> dict[str, tuple[tuple[str, ...], AnyFamily | None]]:
        """For each named column: its block's columns and family; None to leave it out."""
        families: dict[str, tuple[tuple[str, ...], AnyFamily | None]] = {}
        learned, there = set(names), {*known} if known else set()
        for key, choice in self.families.items():
            block = names_of(key)
            family = named(choice)
            for name in block:
                if known is not None and name not in there:
                    raise ValueError(f"`columns`: {no_column(name, known)}")
                if name in families:
                    raise ValueError(f"`columns` names {name!r} more than once")
                if name in learned:
                    families[name] = block, family
        return families


def first_rows(columns: int) -> int:
    """The number of rows from which the families of so many columns are inferred."""
    return max(1000, min(ROWS, CELLS // max(1, columns)))


def counting(
    options: ColumnOptions,
    table: pa.Table | SparseTable,
    labels: LabelCodes,
    names: Sequence[str] | None = None,
) -> Schema:
    """What to count of some columns of a table (all by default), given its first rows.

    The types of columns that are not declared follow from all rows that are learned: see
    `naively.core.column_types`. With `auto`, families of numbers are chosen on these first ones.

    Raises ValueError if `columns` names one that is not there.
    """
    if isinstance(table, SparseTable):
        return _of_matrix(options, table.slice(0, first_rows(len(table.column_names))))
    table = table.slice(0, first_rows(len(table.column_names if names is None else names)))
    schema = _referring(options.schema(table, names), table)
    numeric = options.numeric
    joint = numeric is not None and not numeric.summary.by_column
    if schema.open is None or not (options.auto or joint):
        return schema
    family: Any = schema.open.family
    fixed: dict[str, Any]
    if joint:  # whose columns are counted together: which they are is decided now
        alone = replace(family, numeric=Gaussian(floor="feature"))
        probe = Block(alone, schema.open.names), *schema.declared
        typed = _typed(replace(schema, blocks=probe), table, labels)
        fixed = {name: numeric for name in schema.open.names if _of_numbers(typed, name)}
        family = replace(family, numeric=None)
    else:
        typed = _typed(schema, table, labels)
        typed = chosen(typed, table, labels, options.asked, options.missing)
        fixed = {
            name: typed.known[name] for name in schema.open.names
            if name in typed.known and typed.reason(name).kind == "chosen"
        }  # fmt: skip
    known_reasons = schema.reasons or {}
    reasons = {
        name: typed.reason(name) if name in fixed else why for name, why in known_reasons.items()
    }
    rest = tuple(name for name in schema.open.names if name not in fixed)
    decided = [Block(fixed_family, (name,)) for name, fixed_family in fixed.items()]
    blocks = [Block(family, rest)] if rest else []
    return replace(
        schema, blocks=(*blocks, *schema.declared, *together(decided, numeric)), reasons=reasons
    )


def _of_numbers(schema: Schema, name: str) -> bool:
    """Whether a column has a family of numbers."""
    return name in schema.known and schema.known[name].summary.takes == "numbers"


def infer(
    options: ColumnOptions,
    table: pa.Table | SparseTable,
    labels: LabelCodes,
    weights: Float64 | None = None,
) -> Schema:
    """The columns of a table with the families that its rows have, which may weigh something.

    Raises ValueError if `columns` names one that is not there.
    """
    schema = counting(options, table, labels)
    if schema.open is not None:
        schema = _typed(schema, table, labels, weights)
    options.check_smoothed(schema.known)
    return schema


def _typed(
    schema: Schema, table: pa.Table, labels: LabelCodes, weights: Float64 | None = None
) -> Schema:
    """A schema with the families that these rows have."""
    total = Model(schema, Prior())
    classes, codes = labels
    for at, rows in slices(table):
        part = slice(at, at + rows.num_rows)
        row_weights = None if weights is None else weights[part]
        total = merge(total, summarise(total.blank(), rows, (classes, codes[part]), row_weights))
    return with_types(total.counted, total.sums)


def _referring(schema: Schema, table: pa.Table) -> Schema:
    """The schema, with these rows as those that families refer to which need some."""
    blocks = list(schema.blocks)
    for k, block in enumerate(blocks):
        if block.family.refers:
            documents = declared.documents(table.column(block.names[0]), schema.missing)
            blocks[k] = replace(block, family=block.family.referring(documents))
    return replace(schema, blocks=tuple(blocks))


def _of_matrix(options: ColumnOptions, table: SparseTable) -> Schema:
    """One block: Multinomial for counts, Gaussian for other numbers, or what was asked for."""
    if options.families or isinstance(options.alpha, Mapping):
        raise ValueError("the columns of a sparse matrix share one family: name it as `family`")
    data = table.matrix.data
    counts = bool((data >= 0).all() and (data == np.floor(data)).all())
    family = options.numeric or (
        Multinomial(options.alpha) if counts else Gaussian(floor="feature")
    )
    why, names = Why("sparse counts" if counts else "sparse numbers"), tuple(table.column_names)
    return Schema((Block(family, names),), dict.fromkeys(names, why), options.missing)
