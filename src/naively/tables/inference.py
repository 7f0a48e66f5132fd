"""Infer column families from the user's options and the values, or by cross-validation."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from naively.core.exact import Float64, Int64
from naively.core.hashing import GOLDEN, mixed
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
from naively.model.column_types import with_types
from naively.model.model import Model
from naively.model.prior import Prior
from naively.model.schema import (
    SPECIFIED,
    Block,
    ColumnType,
    Schema,
    Why,
    declared_categorical,
    together,
)
from naively.tables import declared, values
from naively.tables.counting import merge, slices, summarise
from naively.tables.declared import declared_types
from naively.tables.names import named, names_of, no_column
from naively.tables.targets import LabelCodes

JUDGED_ROWS = 6000  # size of the pseudo-random sample that families are compared on
FOLDS = 3
LEAST = -30.0  # lower bound of a row's log P(y | x), in nats: one row cannot cost infinity
SCORE_CELLS = 1 << 22  # maximum number of scores in memory at a time


def candidates() -> list[AnyFamily]:
    """Return the families to choose from; of equally good ones, the first is chosen."""
    return [
        Gaussian(floor="feature"), Poisson(), Exponential(), Gamma(), LogNormal(), Discretized(),
        KernelDensity(),
    ]  # fmt: skip


def chosen(
    schema: Schema, table: pa.Table, labels: LabelCodes, named: Collection[str],
    missing: Collection[str],
) -> Schema:  # fmt: skip
    """Return the schema with the best family of each numeric column not named by the user."""
    classes, codes = labels
    codes = codes[: table.num_rows]
    families = schema.family_of
    undecided = [n for n, family in families.items() if n not in named and family.curve is not None]
    labelled = codes < len(classes)
    if not undecided or not labelled.any():
        return schema
    columns = [values.flat(table.column(name)) for name in undecided]
    X = np.column_stack([values.numbers(column, missing).values for column in columns])
    X[np.isinf(X)] = np.nan
    best = dict(zip(undecided, choose(X[labelled], codes[labelled], len(classes)), strict=True))
    reasons = {name: schema.reason(name) for name in schema.why}
    blocks = []
    for name, family in families.items():
        if name in best:
            family, score = best[name]
            text = f"{schema.why[name]}; log P(y | x) {score:.4g} on rows held out"
            reasons[name] = Why(text, "chosen")
        elif name in named:
            continue
        blocks.append(Block(family, (name,)))
    blocks += [block for block in schema.blocks if {*named} & {*block.names}]
    return replace(schema, blocks=together(blocks), reasons=reasons)


def choose(X: Float64, codes: Int64, classes: int) -> list[tuple[AnyFamily, float]]:
    """Return the best family of each column, with its mean held-out log P(y | x_α) in nats.

    Compare the candidates by 3-fold cross-validation, each column alone with the class prior.
    log P(y | x) is comparable between densities and counts; log p(x | y) is not. A later
    candidate, which has more parameters, must be better by more than half a standard error.

    X : (n, d) float64, NaN where missing.
    """
    low, high = np.fmin.reduce(X), np.fmax.reduce(X)
    with np.errstate(invalid="ignore"):
        is_whole = (np.isnan(X) | (np.floor(X) == X)).all(axis=0)
    sample = _by_chance(X, codes)[:JUDGED_ROWS]
    X, codes = X[sample], codes[sample]
    families: list[AnyFamily] = [Gaussian(floor="feature")] * X.shape[1]
    best = np.full(X.shape, -np.inf)
    for family in candidates():
        lower, upper = family.summary.bounds
        fits = (low >= lower) & (high <= upper) & (is_whole | (family.name != "poisson"))
        for columns in _blocks(np.flatnonzero(fits), len(X) * classes):
            scores = _held_out(family, X[:, columns], codes)
            with np.errstate(invalid="ignore"):
                gain = scores - best[:, columns]
                better = gain.mean(axis=0) > 0.5 * gain.std(axis=0) / np.sqrt(len(X))
            better |= np.isneginf(best[0, columns])
            best[:, columns[better]] = scores[:, better]
            for j in columns[better]:
                families[j] = family
    for j in np.flatnonzero(is_whole):
        if families[j] == Gaussian(floor="feature"):
            families[j] = Gaussian(floor="feature", resolution=1.0)
    return list(zip(families, best.mean(axis=0).tolist(), strict=True))


def _by_chance(X: Float64, codes: Int64) -> Int64:
    """Return a pseudo-random permutation of the rows that depends on their content only.

    Rows are sorted by a hash of their values and label; duplicates get different hashes.
    """
    hashes = mixed(codes.astype(np.uint64) + np.uint64(GOLDEN))
    for column in X.T:
        # the same bits for all NaN, and for 0.0 and -0.0
        bits = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
        hashes = mixed(hashes + mixed(bits))
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])
    rank = np.arange(len(X)) - np.flatnonzero(is_first)[np.cumsum(is_first) - 1]  # among equal rows
    return order[np.argsort(mixed(ordered + rank.astype(np.uint64) * np.uint64(GOLDEN)))]


def _held_out(family: AnyFamily, X: Float64, codes: Int64) -> Float64:
    """Return (n, d) out-of-fold log P(y | x_α) of each row and column."""
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
        true_scores = scores[np.arange(len(truth)), truth]
        log_posterior[rows] = np.maximum(true_scores - np.log(np.exp(scores).sum(axis=1)), LEAST)
    return log_posterior


def _blocks(columns: Any, size: int) -> Iterator[Any]:
    """Yield slices of the columns whose scores fit in memory together."""
    width = max(1, SCORE_CELLS // max(1, size))
    return (columns[start : start + width] for start in range(0, len(columns), width))


# ---- inference -----------------------------------------------------------------------------------


ROWS, CELLS = 100_000, 50_000_000
"""Maximum number of first rows, and of their cells, from which families are inferred."""

EVIDENCE = Why("evidence")
OPEN = Why("as its values are")

FamilyChoice = AnyFamily | str  # a family, the name of one, or "skip"
Columns = Mapping[str | tuple[str, ...], FamilyChoice]


@dataclass(frozen=True)
class ColumnOptions:
    """The user's options for the columns of a table; `EstimatorSpec.columns` makes them.

    families : families, names of families or "skip", by column or tuple of columns (one block).
    numeric : family of numeric columns; None to infer it.
    auto : whether to choose the family of each numeric column by held-out log-loss.
    alpha, unseen : options of inferred categorical families; alpha may be a dict by column, of
        numbers or of dicts as `Categorical` takes them.
    whole : family of all columns together; None for one family per column.
    documents : names of text columns whose values need not be checked.
    types : declared types by column; they override what the source declares.
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
        for name in self.monotone:
            if name in self.text or name in self.named:
                kind = "text" if name in self.text else "left out"
                raise ValueError(f"column {name!r} cannot be monotone, as it is {kind}")
        for name, kind in self.types.items():
            if name in self.text or name in self.named:
                raise ValueError(f"column {name!r} is declared {kind}, and named as something else")
        numeric = self.numeric
        if numeric is not None and numeric.summary.of_texts:
            raise ValueError("the family text is for columns of text: name them in `columns`")

    @property
    def named(self) -> set[str]:
        """Names of the columns in `families`."""
        return {n for key in self.families for n in ([key] if isinstance(key, str) else key)}

    @property
    def text(self) -> tuple[str, ...]:
        """Names of the text columns of the family of all columns (`whole`)."""
        return () if self.whole is None else tuple(map(str, self.whole.text))

    @property
    def monotone(self) -> tuple[str, ...]:
        """Names of the columns with a monotone constraint."""
        return () if self.whole is None else tuple(str(name) for name, _ in self.whole.monotone)

    def check_target(self, target: Any) -> None:
        """Raise ValueError if the target is named as a feature."""
        for option, names in (("text", self.text), ("monotone", self.monotone)):
            if target in names:
                raise ValueError(f"column {target!r} was named as {option}, and is the target")

    def check_monotone(self, names: Sequence[str]) -> None:
        """Raise ValueError if a column with a monotone constraint is not among these."""
        for name in self.monotone:
            if name not in names:
                raise ValueError(f"`monotone`: {no_column(name, names)}")

    @property
    def levels(self) -> AnyFamily | None:
        """The user's family of categorical columns; None for the default one."""
        return self.inferred.levels

    @property
    def inferred(self) -> Inferred:
        """Placeholder family of the columns whose type is not declared."""
        return Inferred(self.alpha, self.unseen, self.numeric)

    def alpha_of(self, name: str) -> Any:
        """Return the smoothing of one column; 1 if alpha is a dict without it."""
        return self.inferred.alpha_of(name)

    def check_alpha(self, names: Sequence[str]) -> None:
        """Raise ValueError if a dict alpha has unknown columns or invalid values."""
        for name, alpha in self.alpha.items() if isinstance(self.alpha, Mapping) else ():
            if name not in names:
                raise ValueError(f"`alpha` is by column: {no_column(str(name), names)}")
            if name in self.named:
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
        """Raise ValueError if a dict alpha names columns whose families do not use it."""
        for name, alpha in self.alpha.items() if isinstance(self.alpha, Mapping) else ():
            family: Any = families.get(name)
            if family is None:
                problem = "is left out"
            elif family.alpha_is_rows or "alpha" not in vars(family):
                problem = f"has the family {family.name}: it has no virtual counts"
            elif isinstance(alpha, Mapping) and not isinstance(family, Categorical | Text):
                problem = f"has the family {family.name}: its alpha is one number"
            elif isinstance(family, Categorical) and family is self.levels:
                problem = "has the family that `family` names: give it alpha there"
            else:
                continue
            raise ValueError(f"`alpha` names column {name!r}, which {problem}")

    def settled(self, names: Sequence[str]) -> set[str]:
        """Return the columns whose treatment does not depend on their values."""
        return {
            name
            for key, choice in self.families.items()
            for name in ([key] if isinstance(key, str) else key)
            if (family := named(choice)) is None or not family.refers
        } | {name for name in self.text if name in self.documents}

    def schema(self, table: pa.Table, names: Sequence[str] | None = None) -> Schema:
        """Return the schema to count some columns (by default all), from a table's first rows.

        Raises ValueError if a text column holds other values; and, if `names` is None, if the
        options name a column that the table does not have.
        """
        column_names = table.column_names if names is None else None
        names = list(table.column_names if names is None else names)
        named_families = self._named_families(names, column_names)
        blocks: list[Block] = []
        reasons: dict[str, Why] = {}
        inferred = self.inferred
        open_: list[str] = []
        self._check_text(table, column_names)
        if column_names is not None:
            self.check_alpha(column_names)
            self.check_monotone(column_names)
        self._check_numeric(table)
        types = self._types(table, names, column_names)
        for name in names:
            if name in named_families:
                key, choice = named_families[name]
                reasons[name] = SPECIFIED
                if choice is not None and name == key[0]:
                    blocks.append(Block(choice, key))
                continue
            family, reasons[name] = self.whole, EVIDENCE
            if family is None:
                family, reasons[name] = inferred, OPEN
                if (nested := values.no_plain_values(table.schema.field(name).type)) is not None:
                    family, reasons[name] = None, Why(f"no plain values but {nested}")
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
        self, table: pa.Table, names: Sequence[str], columns: Sequence[str] | None
    ) -> dict[str, ColumnType]:
        """Return the declared types of columns; the user's override those of the source."""
        for name in self.types:
            if columns is not None and name not in columns:
                raise ValueError(f"`{self.types[name]}`: {no_column(name, columns)}")
        undeclared = {*names} - {*self.text, *self.named, *self.documents}
        types = declared_types(table, undeclared, self.missing)
        types |= {name: kind for name, kind in self.types.items() if name in names}
        return dict(sorted(types.items()))

    def _check_text(self, table: pa.Table, columns: Sequence[str] | None) -> None:
        """Raise ValueError if a column that is named as text is absent or not text."""
        names = {*table.column_names}
        for name in self.text:
            if columns is not None and name not in names:
                raise ValueError(f"`text`: {no_column(name, columns)}")
            if name in names and name not in self.documents:
                declared.check_text(name, table.column(name), self.missing)

    def _check_numeric(self, table: pa.Table) -> None:
        """Raise ValueError if a column with a monotone constraint holds no numbers, but others."""
        for name in {*self.monotone} & {*table.column_names}:
            if declared_types(table, [name], self.missing):
                raise ValueError(f"column {name!r} cannot be monotone, as it is categorical")
            parsed = values.numbers(values.flat(table.column(name)), self.missing)
            if parsed.example is not None and np.isnan(parsed.values).all():
                raise ValueError(
                    f"column {name!r} cannot be monotone: it holds {parsed.example!r}, no numbers"
                )

    def _named_families(
        self, names: list[str], columns: list[str] | None
    ) -> dict[str, tuple[tuple[str, ...], AnyFamily | None]]:
        """Return (columns of the block, family) of each named column; family None to skip it."""
        families: dict[str, tuple[tuple[str, ...], AnyFamily | None]] = {}
        features, column_names = set(names), {*columns} if columns else set()
        for key, choice in self.families.items():
            block = names_of(key)
            family = named(choice)
            for name in block:
                if columns is not None and name not in column_names:
                    raise ValueError(f"`columns`: {no_column(name, columns)}")
                if name in families:
                    raise ValueError(f"`columns` names {name!r} more than once")
                if name in features:
                    families[name] = block, family
        return families


def first_rows(columns: int) -> int:
    """Return the number of rows from which families are inferred."""
    return max(1000, min(ROWS, CELLS // max(1, columns)))


def counting(
    options: ColumnOptions,
    table: pa.Table | SparseTable,
    labels: LabelCodes,
    names: Sequence[str] | None = None,
) -> Schema:
    """Return the schema to count some columns of a table (by default all), from its first rows.

    Types that are not declared are inferred from all training rows: see
    `naively.model.column_types`. With `auto`, numeric families are chosen on the first rows.

    Raises ValueError if `columns` names a column that does not exist.
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
    if joint:  # columns counted together must be known before counting starts
        gaussian = replace(family, numeric=Gaussian(floor="feature"))
        probe = Block(gaussian, schema.open.names), *schema.declared
        typed = _typed(replace(schema, blocks=probe), table, labels)
        fixed = {
            name: numeric for name in schema.open.names
            if name in typed.family_of and typed.family_of[name].summary.takes == "numbers"
        }  # fmt: skip
        family = replace(family, numeric=None)
    else:
        typed = _typed(schema, table, labels)
        typed = chosen(typed, table, labels, options.named, options.missing)
        fixed = {
            name: typed.family_of[name] for name in schema.open.names
            if name in typed.family_of and typed.reason(name).kind == "chosen"
        }  # fmt: skip
    reasons = (schema.reasons or {}) | {name: typed.reason(name) for name in fixed}
    undecided = tuple(name for name in schema.open.names if name not in fixed)
    decided = [Block(fixed_family, (name,)) for name, fixed_family in fixed.items()]
    blocks = [Block(family, undecided)] if undecided else []
    blocks += [*schema.declared, *together(decided, numeric)]
    return replace(schema, blocks=tuple(blocks), reasons=reasons)


def infer(
    options: ColumnOptions,
    table: pa.Table | SparseTable,
    labels: LabelCodes,
    weights: Float64 | None = None,
) -> Schema:
    """Return the schema of a table, with types inferred from all its (weighted) rows.

    Raises ValueError if `columns` names a column that does not exist.
    """
    schema = counting(options, table, labels)
    if schema.open is not None:
        schema = _typed(schema, table, labels, weights)
    options.check_smoothed(schema.family_of)
    return schema


def _typed(
    schema: Schema, table: pa.Table, labels: LabelCodes, weights: Float64 | None = None
) -> Schema:
    """Return the schema with the types of undeclared columns inferred from these rows."""
    total = Model(schema, Prior())
    classes, codes = labels
    for start, rows in slices(table):
        part = slice(start, start + rows.num_rows)
        row_weights = None if weights is None else weights[part]
        total = merge(total, summarise(total.blank(), rows, (classes, codes[part]), row_weights))
    return with_types(total.counted, total.sums)


def _referring(schema: Schema, table: pa.Table) -> Schema:
    """Return the schema, with documents of these rows as the reference of text families."""
    blocks = list(schema.blocks)
    for k, block in enumerate(blocks):
        if block.family.refers:
            documents = declared.documents(table.column(block.names[0]), schema.missing)
            blocks[k] = replace(block, family=block.family.referring(documents))
    return replace(schema, blocks=tuple(blocks))


def _of_matrix(options: ColumnOptions, table: SparseTable) -> Schema:
    """Return one block for a sparse matrix: Multinomial for counts, else Gaussian.

    The user's numeric family overrides this.
    """
    if options.families or isinstance(options.alpha, Mapping):
        raise ValueError("the columns of a sparse matrix share one family: name it as `family`")
    data = table.matrix.data
    counts = bool((data >= 0).all() and (data == np.floor(data)).all())
    default = Multinomial(options.alpha) if counts else Gaussian(floor="feature")
    family = options.numeric or default
    reason, names = Why("sparse counts" if counts else "sparse numbers"), tuple(table.column_names)
    return Schema((Block(family, names),), dict.fromkeys(names, reason), options.missing)
