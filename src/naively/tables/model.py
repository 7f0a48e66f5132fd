"""A model of a table: a schema, and a `Model` of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from naively.exact import Float64
from naively.families.categorical import Categorical
from naively.families.product import Blocks, ProductStatistics
from naively.labels import Labels
from naively.model import Model
from naively.prior import Prior
from naively.tables import values
from naively.tables.schema import Block, Schema, Unfit

MOST_LEVELS = 1_000_000
"""Levels of one column, beyond which it is no column of levels but an identifier."""

BATCH = 1 << 17
"""Rows of a table that are encoded and counted at a time."""

Coded = tuple[Labels, Any]
"""(sorted classes, code of each row, the number of classes where its label is missing)."""


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
    """

    schema: Schema
    model: Model
    rows: int = 0
    unlabelled: int = 0
    unfit: dict[str, Unfit] = field(default_factory=dict)
    target: str | None = None

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
        if not self.schema.alike(other.schema):
            wider = self.schema.union(other.schema)
            mine, theirs = self._spread(wider), other._spread(wider)
            mine.absorb(theirs)
            self.schema, self.model = wider, mine
        else:
            self.model.absorb(other.model)
        self._check_levels()
        self.rows += other.rows
        self.unlabelled += other.unlabelled
        for name, unfit in other.unfit.items():
            before = self.unfit.get(name, Unfit(0, unfit.example))
            example = min(before.example, unfit.example, key=str)  # in whatever order they come
            self.unfit[name] = Unfit(before.count + unfit.count, example)

    def like_labels(self, other: TableModel) -> TableModel:
        """The model, with its labels as text if those of another are: a stream may turn to text.

        The other one's become text too, in place.
        """
        kinds = [table.model.classes.dtype.kind for table in (self, other)]
        empty = 0 in (len(self.model.classes), len(other.model.classes))
        if empty or (kinds[0] in "OUT") == (kinds[1] in "OUT"):
            return self
        other.model = _with_text_labels(other.model)
        return replace(self, model=_with_text_labels(self.model))

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

    def _spread(self, wider: Schema) -> Model:
        """The model under a schema with more columns."""
        model = self.model
        statistics: Any = model.statistics
        return Model(
            wider.product, model.prior, len(wider.names), wider.names, model.classes,
            model.class_weight, self.schema.spread(statistics, model.class_weight, wider),
            model.announced,
        )  # fmt: skip

    def copy(self) -> TableModel:
        """A copy that shares nothing that changes."""
        return TableModel(
            self.schema, self.model.copy(), self.rows, self.unlabelled, dict(self.unfit),
            self.target,
        )  # fmt: skip

    def encode(self, batch: pa.Table) -> Blocks:
        """The rows of a table, as the model takes them."""
        return self.schema.encode(batch)[0]

    def strangers(self, names: Iterable[str]) -> tuple[list[str], list[str]]:
        """(features that are not among these columns, columns that the model never met)."""
        given = dict.fromkeys(names)
        lacking = [name for name in self.schema.ordered if name not in given]
        known = {*self.schema.why, self.target}
        return lacking, [name for name in given if name not in known]


def _with_text_labels(model: Model) -> Model:
    """The model, with its labels as text."""
    if model.classes.dtype.kind in "OUT":
        return model
    texts = np.array([values.level_text(label, ()) for label in model.classes.tolist()], str)
    order = np.argsort(texts)
    return Model(
        model.family, model.prior, model.n_features, model.feature_names, texts[order],
        model.class_weight.taken(0, order), model.statistics.taken_classes(order),
    )  # fmt: skip


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
