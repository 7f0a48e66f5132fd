"""Learning in three parts: what the head of a table decides, counting, adding up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from naively.core.exact import Float64
from naively.core.issues import MOST_WEIGHT, Issue
from naively.core.labels import Labels, check_whole
from naively.core.model import Model
from naively.core.multilabel import Multilabel
from naively.core.prior import Prior
from naively.core.schema import Schema
from naively.core.workers import Workers
from naively.io.arrow import together
from naively.io.inputs import TableError, is_untyped
from naively.tables import counting as adding
from naively.tables import declared, values
from naively.tables.counting import summarise as summarise_rows
from naively.tables.identifiers import without_identifiers
from naively.tables.inference import ColumnOptions, counting, first_rows
from naively.tables.left_out import kinds, odd, retyped
from naively.tables.names import no_column
from naively.tables.targets import (
    LabelCells,
    LabelCodes,
    coded,
    spelled_missing,
    typed,
    with_labels_alike,
    with_typed_labels,
)

Inferred = Callable[[pa.Table, LabelCodes], Schema]
"""The columns to learn from, given the first rows and their labels."""


FEWEST, MOST = 100, 0.5
"""Rows from which on there cannot be more classes than this part of the rows,"""
HEAD, ALL_OTHERS = 1000, 0.98
"""and of the first rows of a table, of which more may follow."""


class LearningError(TableError):
    """A table that cannot be learned as asked; the message does not name the file."""


@dataclass(frozen=True)
class TrainingSpec:
    """What to learn from a table, and how.

    Attributes
    ----------
    target : name of the column of labels.
    columns : ColumnOptions, how the other columns are treated.
    prior : Prior
    weight : name of the column of row weights, or None.
    holdout : part of the rows of each class to hold out, from 0 to below 1: at most 100,000 rows.
    seed : which ones.
    cells : how labels are written where a row has any number of them; None where it has one.
    repeated : whether to refuse a target of which nearly every row has another label.
    """

    target: str
    columns: ColumnOptions
    prior: Prior = field(default_factory=Prior)
    weight: str | None = None
    holdout: float = 0.0
    seed: int = 0
    cells: LabelCells | None = None
    repeated: bool = False

    @classmethod
    def like(
        cls, model: Model, weight: str | None = None, cells: LabelCells | None = None
    ) -> TrainingSpec:
        """What a model learns that goes on: its own columns tell their families."""
        assert model.target is not None
        columns = ColumnOptions({}, missing=model.schema.missing)
        return cls(model.target, columns, model.prior, weight, cells=cells)


@dataclass(frozen=True)
class Plan:
    """What the head of the data decides; the rest is counting.

    Attributes
    ----------
    blank : Model that has learned nothing: the columns with their families, and what these refer
        to.
    spec : TrainingSpec
    like : labels of a known model, of which others take the type; None if there is none.
    """

    blank: Model
    spec: TrainingSpec
    like: Labels | None = None


def plan(
    head: Sequence[pa.Table], spec: TrainingSpec, known: Model | None = None,
    inferred: Inferred | None = None,
) -> Plan:  # fmt: skip
    """How to learn from a table, of which these are the first rows.

    Parameters
    ----------
    head : tables, whose columns may differ.
    known : a model whose columns and families are taken over.
    inferred : what says otherwise which columns and families there are, given the first rows with
        nothing in the columns that need no looking at.

    Raises
    ------
    LearningError : if there is no such column, or labels that can be none.
    ValueError : if no column is left to learn from.
    """
    names = list(dict.fromkeys(name for table in head for name in table.column_names))
    _check(names, spec)
    if spec.cells is not None:
        schema = spec.columns.schema(head[0], features_of(names, spec))
        schema = schema if known is None else known.counted
        return Plan(Multilabel(schema, spec.prior, target=spec.target), spec)
    settled = spec.columns.settled(features_of(names, spec))
    seen = together([_without(table, settled) for table in head])
    untyped = known is None and _is_untyped(head, spec.target)
    labels = labelled(seen, spec.target, spec.columns.missing)
    check_classes(as_read(labels[0], untyped), spec)
    if spec.repeated and known is None:
        rows = int((labels[1] < len(labels[0])).sum())
        check_repeated(spec.target, len(labels[0]), rows, ALL_OTHERS, HEAD)
    features = features_of(names, spec)
    if inferred is not None:
        schema = inferred(_with_nulls(seen, features), labels)
    elif known is None:
        schema = _schema(seen, features, spec)
    else:
        schema = known.counted
    schema.check_any("learn from")
    blank = Model(schema, spec.prior, target=spec.target, untyped=untyped)
    return Plan(blank, spec, None if known is None else known.classes)


def summarise(plan: Plan, batch: pa.Table) -> Model:
    """A model that learned these rows alone."""
    spec = plan.spec
    missing = spec.columns.missing
    weights = None
    if spec.weight is not None:
        weights = weights_of(batch, spec.weight, missing)
    if spec.cells is not None:
        try:
            return spec.cells.summarised(plan.blank, batch, missing, weights)
        except ValueError as error:
            raise LearningError(f"the target column {spec.target!r}: {error}") from None
    labels = labelled(batch, spec.target, missing, plan.like)
    model = summarise_rows(plan.blank, batch, labels, weights)
    if model.unlabelled and spec.target in batch.column_names:
        model.skipped = spelled_missing(values.flat(batch.column(spec.target)), missing)
    return model


def merge(model: Model, part: Model) -> Model:
    """What both learned, to be used in the place of `model`, which it may be."""
    return adding.merge(*with_labels_alike(model, part))


class Trained(NamedTuple):
    """A model, and what a user should know about what it has learned.

    Attributes
    ----------
    model : Model
    issues : nothing is learned from the columns, rows are duplicates, values are invalid, or
        columns changed their type.
    """

    model: Model
    issues: list[Issue]


def trained(model: Model, columns: ColumnOptions, workers: Workers) -> Trained:
    """A model that was trained anew, once all rows are counted.

    Labels of a file of text become what all of them read as; identifiers are left out.

    Raises
    ------
    ValueError : if the parameters do not fit what was learned.
    """
    model = without_identifiers(with_typed_labels(model))
    columns.check_smoothed(model.schema.known)
    model.check(workers)
    remark = odd(model)
    return Trained(model, [Issue("model", remark)] if remark else [])


def updated(model: Model, more: Model) -> Trained:
    """What a model becomes that goes on learning: the sum, with the structure that was chosen.

    Bins, interactions and weights are kept while rows grow by a tenth at most: see `core.model`.

    Parameters
    ----------
    model : stays as it is.
    more : a model of the new rows alone. Values that are invalid there are not among the issues:
        they were noted when its rows were read.

    Raises
    ------
    ValueError : if the two do not add up.
    """
    total = adding.merge(model.copy(), more)
    total.prior.check_room(total.classes)
    total.structure = model.structure
    issues = total.schema.invalid_values(more.strays(total.schema), "learned")
    return Trained(total, issues + retyped(kinds(model), total))


def settled(made: Plan, total: Model) -> Model:
    """All that was counted for a plan, checked.

    Raises
    ------
    LearningError : if the labels can be none.
    """
    spec = made.spec
    check_classes(as_read(total.classes, total.untyped), spec)
    if spec.repeated and spec.cells is None and made.like is None:
        check_repeated(spec.target, len(total.classes), total.rows)
    return total


def check_classes(labels: Labels, spec: TrainingSpec) -> None:
    """Refuse labels that measure something: LearningError."""
    try:
        check_whole(labels, f"the target column {spec.target!r}")
    except ValueError as error:
        raise LearningError(str(error)) from None


def check_repeated(
    target: str | None, classes: int, rows: int, most: float = MOST, fewest: int = FEWEST
) -> None:
    """Refuse more classes than such a part of rows, unless these are few: LearningError."""
    if rows >= fewest and classes > most * rows:
        raise LearningError(
            f"the target column {target!r} has {classes:,} different labels in {rows:,} rows: is "
            "it a class? a class has several rows"
        )


def as_read(labels: Labels, untyped: bool) -> Labels:
    """The labels as they will be, if they are the text of a file."""
    return typed(labels) if untyped and len(labels) else labels


def labelled(
    batch: pa.Table, target: str, missing: Collection[str], like: Labels | None = None
) -> LabelCodes:
    """The labels of a batch; none if it lacks the column, as JSON lines may.

    `like` are those of a model, of which they take the type.
    """
    if target not in batch.column_names:
        column = pa.nulls(batch.num_rows, pa.string())
    else:
        column = values.flat(batch.column(target))
        if is_untyped(batch.schema.field(target)):  # blanks about a field are none of a label
            column = values.trimmed(column)
    return coded(column, missing, like)


def _without(table: pa.Table, columns: Collection[str]) -> pa.Table:
    """A table without columns that need no looking at: documents are large."""
    return table.select([name for name in table.column_names if name not in columns])


def _with_nulls(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """These columns of a table, with nothing in those that it lacks."""
    nothing = pa.nulls(table.num_rows)
    there = {field.name: field for field in table.schema}
    columns = [table.column(name) if name in there else nothing for name in names]
    fields = [there.get(name) or pa.field(name, pa.null()) for name in names]
    return pa.table(columns, schema=pa.schema(fields))


def features_of(names: Sequence[str], spec: TrainingSpec) -> list[str]:
    """The columns to learn from."""
    return [name for name in names if name not in (spec.target, spec.weight)]


def _check(names: Sequence[str], spec: TrainingSpec) -> None:
    for name in filter(None, (spec.target, spec.weight)):
        if name not in names:
            raise LearningError(no_column(name, names))
    spec.columns.check_target(spec.target)
    if spec.target == spec.weight:
        raise LearningError(f"{spec.target!r} cannot be the target and the weight")


def _is_untyped(head: Sequence[pa.Table], name: str) -> bool:
    """Whether a column is of a file in which all values are text."""
    return any(name in one.column_names and is_untyped(one.schema.field(name)) for one in head)


def _schema(table: pa.Table, names: list[str], spec: TrainingSpec) -> Schema:
    first = table.slice(0, first_rows(len(names)))
    if spec.weight is not None:  # rows of weight 0 are absent
        first = first.filter(pa.array(weights_of(first, spec.weight, spec.columns.missing) > 0))
    options = spec.columns
    return counting(options, first, labelled(first, spec.target, options.missing), names)


def settled_by(table: pa.Table, spec: TrainingSpec) -> bool:
    """Whether rows after these first ones cannot change which columns there are, of which families.

    Of delimited text a header tells the columns; a column is of long text by its first values.
    """
    names = features_of(table.column_names, spec)
    given, places = spec.columns.settled(names), {n: k for k, n in enumerate(table.column_names)}
    open_ = [places[name] for name in names if name not in given]
    known = all(is_untyped(table.schema.field(k)) for k in open_)
    enough = table.num_rows >= declared.PROSE_ROWS and spec.weight is None
    missing = spec.columns.missing
    return known and enough and all(declared.is_prose(table.column(k), missing) for k in open_)


def weights_of(batch: pa.Table, name: str, missing: Collection[str]) -> Float64:
    """The weights of rows, in a column of this name; 0 where it is empty.

    Raises LearningError for what is no weight.
    """
    if name not in batch.column_names:
        return np.zeros(batch.num_rows)
    read = values.numbers(values.flat(batch.column(name)), missing)
    if read.example is not None:
        raise LearningError(
            f"the weight column {name!r} holds {read.example!r}, which is no number"
        )
    weights = read.values
    weights = np.where(np.isnan(weights), 0.0, weights)  # a row of unknown weight weighs nothing
    odd = weights[(weights < 0) | (weights > MOST_WEIGHT)]
    if len(odd):
        raise LearningError(
            f"the weight column {name!r} holds {odd[0]:g}, where weights are from 0 to "
            f"{MOST_WEIGHT:g}"
        )
    return weights
