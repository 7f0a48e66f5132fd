"""A model of a table: a schema, and a `Model` of its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.exact import Float64
from naively.families.base import Family
from naively.families.categorical import Categorical
from naively.families.product import Blocks, ProductStatistics
from naively.families.terms import TextStatistics
from naively.labels import Labels
from naively.model import Model
from naively.posterior import Posterior
from naively.prior import Prior
from naively.tables.schema import UNVARIED, Block, Schema, Unfit, reasons
from naively.tables.targets import Coded, are_text, as_text, typed
from naively.tables.union import refamilied, same_blocks, spread, union

MOST_LEVELS = 1_000_000
"""Levels of one column, beyond which it is no column of levels but an identifier."""

ASKED = ("as asked", "array")  # families that somebody named, for columns that may be constant

BATCH = 1 << 17
"""Rows of a table that are encoded and counted at a time."""


@dataclass
class TableModel:
    """What was learned from a table.

    Attributes
    ----------
    schema : Schema
    model : Model
    rows, unlabelled : int, rows that were learned, and those left out for want of a label.
    unfit : values that their columns' families could not take, by column; they count as missing.
    target : name of the column of labels, if it has one.
    untyped : whether the labels are the text of a file, which may all be numbers: see
        `type_labels`.
    """

    schema: Schema
    model: Model
    rows: int = 0
    unlabelled: int = 0
    unfit: dict[str, Unfit] = field(default_factory=dict)
    target: str | None = None
    untyped: bool = False

    @classmethod
    def blank(cls, schema: Schema, prior: Prior) -> TableModel:
        """A model that has learned nothing.

        Raises
        ------
        ValueError : if the schema has no columns.
        """
        schema.check_any("learn from")
        return cls(schema, Model(schema.product, prior, len(schema.names), schema.names))

    @classmethod
    def of_array(cls, model: Model, names: list[str]) -> TableModel:
        """A model of an array as one of a table with these columns."""
        schema = Schema((Block(model.family, tuple(names)),), dict.fromkeys(names, "array"))
        inner = Model(
            schema.product, model.prior, model.n_features, names, model.classes,
            model.class_weight, ProductStatistics([model.statistics]), model.announced,
        )  # fmt: skip
        return cls(schema, inner)

    def summarise(
        self, batch: pa.Table, labels: Coded, weights: Float64 | None = None
    ) -> TableModel:
        """A model of the same kind that learned these rows alone."""
        classes, codes = labels
        unlabelled = int((codes == len(classes)).sum())
        if unlabelled:
            kept = codes < len(classes)
            batch, codes = batch.filter(pa.array(kept)), codes[kept]
            weights = None if weights is None else weights[kept]
        blocks, unfit = self.schema.encode(batch)
        if weights is not None and not weights.all():
            kept = weights > 0
            blocks, codes, weights = blocks[kept], codes[kept], weights[kept]
        used, codes = _used(classes, codes)
        model = self.model.summarise(blocks, (used, codes), weights)
        return TableModel(self.schema, model, blocks.n_rows, unlabelled, unfit)

    def absorb(self, other: TableModel) -> None:
        """Add what another model learned, in place; columns, classes and levels merge by union.

        Raises
        ------
        ValueError : if the models cannot be added, then self is unchanged; or if a column has more
            than a million levels.
        """
        if self.schema.why != other.schema.why or not same_blocks(self.schema, other.schema):
            wider = union(self.schema, other.schema, self.unvaried, other.unvaried)
            mine, theirs = self._spread(wider).copy(), other._spread(wider)
            mine.absorb(theirs)
            self.schema, self.model = wider, mine
        else:
            self.model.absorb(other.model)
        self._check_levels()
        self.rows += other.rows
        self.unlabelled += other.unlabelled
        add_unfit(self.unfit, other.unfit)

    def like_labels(self, other: TableModel) -> TableModel:
        """The model, with its labels as text if those of another are: a stream may turn to text.

        The other one's become text too, in place.
        """
        empty = 0 in (len(self.model.classes), len(other.model.classes))
        if empty or are_text(self.model.classes) == are_text(other.model.classes):
            return self
        other.model = _labelled(other.model, as_text)
        return replace(self, model=_labelled(self.model, as_text))

    def type_labels(self) -> None:
        """Let labels that are the text of a file be what all of them read as: numbers, perhaps."""
        if self.untyped and len(self.model.classes):
            self.model = _labelled(self.model, typed)
        self.untyped = False

    def _check_levels(self) -> None:
        statistics: Any = self.model.statistics
        for block, part in zip(self.schema.blocks, statistics.parts, strict=True):
            if not isinstance(block.family, Categorical):
                continue
            for name, levels in zip(block.names, part.levels, strict=True):
                if len(levels) > MOST_LEVELS:
                    raise ValueError(
                        f"column {name!r} has more than {MOST_LEVELS:,} levels, such as "
                        f"{levels[0]!r}: skip it, or cut its values to fewer"
                    )

    def forget(self, other: TableModel) -> None:
        """Subtract what another model learned, in place.

        Raises
        ------
        ValueError : if self did not learn that, as far as the sums can tell; self is unchanged.
        """
        self.model.forget(other.model)
        self.rows -= other.rows
        self.unlabelled = max(0, self.unlabelled - other.unlabelled)

    def _spread(self, wider: Schema, strict: bool = True) -> Model:
        """The model under a schema with more columns, or other families."""
        model = self.model
        if same_blocks(self.schema, wider):
            return model
        statistics: Any = model.statistics
        return Model(
            wider.product, model.prior, len(wider.names), wider.names, model.classes,
            model.class_weight, spread(self.schema, statistics, model.class_weight, wider, strict),
            model.announced,
        )  # fmt: skip

    def copy(self) -> TableModel:
        """A copy that shares nothing that changes."""
        return TableModel(
            self.schema, self.model.copy(), self.rows, self.unlabelled, dict(self.unfit),
            self.target, self.untyped,
        )  # fmt: skip

    def refamilied(self, changed: dict[str, tuple[Family, str]]) -> TableModel:
        """The model with other families, and reasons for them, of some columns of levels."""
        schema = refamilied(self.schema, changed)
        return replace(self, schema=schema, model=self._spread(schema, strict=False))

    @property
    def unvaried(self) -> dict[str, str]:
        """The columns of levels of which one was met, or none: they are left out of the product."""
        return self._unvaried(self.model.statistics)

    def _unvaried(self, counted: Any) -> dict[str, str]:
        """The same, as statistics or the parameters that were estimated from them have it."""
        return {
            name: UNVARIED[1 - len(levels)]
            for block, part in zip(self.schema.blocks, counted.parts, strict=True)
            if isinstance(block.family, Categorical)
            for name, levels in zip(block.names, part.levels, strict=True)
            if len(levels) < 2 and self.schema.why[name] not in ASKED
        }

    @property
    def left_out(self) -> dict[str, str]:
        """The columns that are left out of the product, or add nothing to it, with the reason."""
        statistics: Any = self.model.statistics
        unvaried = self.unvaried | {
            block.names[0]: "no terms in it so far"
            for block, part in zip(self.schema.blocks, statistics.parts, strict=True)
            if isinstance(part, TextStatistics) and part.wordless
        }
        known = self.schema.known
        return {
            name: unvaried.get(name, why)
            for name, why in self.schema.why.items()
            if name in unvaried or name not in known
        }

    @property
    def nothing_told(self) -> str | None:
        """What to say if no column tells anything; None if one does."""
        left_out = self.left_out
        if len(left_out) < len(self.schema.why):
            return None
        return (
            f"no column tells anything yet ({reasons(left_out)}): predictions are the class prior"
        )

    def encode(
        self, batch: pa.Table, posterior: Posterior | None = None
    ) -> tuple[Blocks, dict[str, Unfit]]:
        """(the rows to predict, as the model takes them; what it cannot take, by column).

        The posterior says which columns are left out, if another thread may be learning.
        """
        counted = self.model.statistics if posterior is None else posterior.parameters
        return self.schema.encode(batch, without=self._unvaried(counted))

    def strangers(self, names: Iterable[str]) -> tuple[list[str], list[str]]:
        """(features that are not among these columns, columns that the model never met)."""
        given = dict.fromkeys(names)
        lacking = [name for name in self.schema.ordered if name not in given]
        known = {*self.schema.why, self.target}
        return lacking, [name for name in given if name not in known]


def add_unfit(total: dict[str, Unfit], more: Mapping[str, Unfit]) -> None:
    """Add values that columns could not take to the others, in whatever order they come."""
    for name, unfit in more.items():
        before = total.get(name, Unfit(0, unfit.example))
        example = min(before.example, unfit.example, key=str)
        total[name] = Unfit(before.count + unfit.count, example)


def _labelled(model: Model, named: Callable[[Labels], Labels]) -> Model:
    """The model with other names for its labels; those that become equal are one class."""
    if len(model.classes) == 0 or (are_text(model.classes) and named is as_text):
        return model
    names = named(model.classes)
    total = Model(model.family, model.prior, model.n_features, model.feature_names)
    for own in _alike(names):
        part = Model(
            model.family, model.prior, model.n_features, model.feature_names,
            names[own], model.class_weight.taken(0, own), model.statistics.taken_classes(own),
        )  # fmt: skip
        total.absorb(part)
    if len(model.announced):
        total.know_classes(named(model.announced))
    return total


def _alike(labels: Labels) -> Iterator[npt.NDArray[np.int64]]:
    """Positions of the labels, sorted, in runs in which none is there twice."""
    order = np.argsort(labels, kind="stable")
    while len(order):
        first = np.append(True, labels[order][1:] != labels[order][:-1])
        yield order[first]
        order = order[~first]


def _used(classes: Labels, codes: Any) -> Coded:
    """Only the classes that rows have."""
    present = np.bincount(codes, minlength=len(classes)) > 0
    if present.all():
        return classes, codes.astype(np.int64)
    return classes[present], (np.cumsum(present) - 1)[codes]


def slices(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """(first row, rows) for each batch of a table."""
    for at in range(0, max(table.num_rows, 1), BATCH):
        yield at, table.slice(at, BATCH)
