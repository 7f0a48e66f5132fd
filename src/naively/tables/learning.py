"""Train a model from batches of a table: plan from the first rows, count batches, merge them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from naively.core.exact import Float64
from naively.core.issues import MOST_WEIGHT, Issue
from naively.core.labels import Labels, check_whole
from naively.core.workers import Workers
from naively.io.arrow import together
from naively.io.inputs import TableError, is_untyped
from naively.model.model import Model
from naively.model.multilabel import Multilabel
from naively.model.prior import Prior
from naively.model.schema import Schema
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
"""A function from the first rows and their labels to the schema of the features."""


FEWEST, MOST = 100, 0.5
"""From this number of rows on, the number of classes may be at most this share of the rows."""
HEAD, ALL_OTHERS = 1000, 0.98
"""The same for the first rows of a table: the share is higher, as more rows may follow."""


class LearningError(TableError):
    """A model cannot be trained from a table; the message does not name the file."""


@dataclass(frozen=True)
class TrainingSpec:
    """Options for training a model from a table.

    holdout : share of the rows of each class to hold out, in [0, 1); at most 100,000 rows.
    cells : parser of multi-label targets; None if each row has one label.
    repeated : whether to refuse a target with a different label in nearly every row.
    groups, time : name of the column to split the rows of a cross-validation by, or None.
    """

    target: str
    columns: ColumnOptions
    prior: Prior = field(default_factory=Prior)
    weight: str | None = None
    holdout: float = 0.0
    seed: int = 0
    cells: LabelCells | None = None
    repeated: bool = False
    groups: str | None = None
    time: str | None = None

    @classmethod
    def like(
        cls, model: Model, weight: str | None = None, cells: LabelCells | None = None
    ) -> TrainingSpec:
        """Return the options to train a model further: with its target, families and prior."""
        assert model.target is not None
        columns = ColumnOptions({}, missing=model.schema.missing)
        return cls(model.target, columns, model.prior, weight, cells=cells)


@dataclass(frozen=True)
class Plan:
    """A training plan, made from the first rows of a table.

    blank : Model without rows: the columns, their families and reference documents.
    like : labels of an existing model, whose type new labels take; None if there is none.
    """

    blank: Model
    spec: TrainingSpec
    like: Labels | None = None


def plan(
    head: Sequence[pa.Table], spec: TrainingSpec, structure: Model | None = None,
    inferred: Inferred | None = None,
) -> Plan:  # fmt: skip
    """Plan the training on a table from its first rows.

    Raises LearningError if the target or weight column does not exist, or the labels are invalid;
    ValueError if no feature is left.

    head : the first rows, as tables whose columns may differ.
    structure : a model whose columns and families are used.
    inferred : a function that returns the schema, given the first rows, in which columns whose
        treatment does not depend on values are empty; None to infer it from `spec`.
    """
    names = list(dict.fromkeys(name for table in head for name in table.column_names))
    _check(names, spec)
    if spec.cells is not None:
        schema = spec.columns.schema(head[0], features_of(names, spec))
        schema = schema if structure is None else structure.counted
        return Plan(Multilabel(schema, spec.prior, target=spec.target), spec)
    declared_names = spec.columns.settled(features_of(names, spec))
    sample = together([  # without large documents, to save their memory
        table.select([n for n in table.column_names if n not in declared_names]) for table in head
    ])  # fmt: skip
    untyped = structure is None and any(
        is_untyped(table.schema.field(spec.target))
        for table in head if spec.target in table.column_names
    )  # fmt: skip
    labels = labelled(sample, spec.target, spec.columns.missing)
    check_classes(as_read(labels[0], untyped), spec)
    if spec.repeated and structure is None:
        rows = int((labels[1] < len(labels[0])).sum())
        check_repeated(spec.target, len(labels[0]), rows, ALL_OTHERS, HEAD)
    features = features_of(names, spec)
    if inferred is not None:
        schema = inferred(_with_nulls(sample, features), labels)
    elif structure is None:
        schema = _schema(sample, features, spec)
    else:
        schema = structure.counted
    schema.check_any("train on")
    blank = Model(schema, spec.prior, target=spec.target, untyped=untyped)
    return Plan(blank, spec, None if structure is None else structure.classes)


def summarise(plan: Plan, batch: pa.Table) -> Model:
    """Count the rows of a batch, and return a model of them alone."""
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
    """Add two models; the sum may be `model` itself, changed in place."""
    return adding.merge(*with_labels_alike(model, part))


class Trained(NamedTuple):
    """A trained model, and issues to report to the user.

    issues : no feature contributes, rows are duplicates, values are invalid, or columns changed
        their type.
    """

    model: Model
    issues: list[Issue]


def trained(model: Model, columns: ColumnOptions, workers: Workers) -> Trained:
    """Finish a newly trained model, once all rows are counted.

    Convert labels of a text file to numbers or booleans if all of them are, leave out identifier
    columns, and estimate the parameters. Raises ValueError if the parameters do not fit the
    training data.
    """
    model = without_identifiers(with_typed_labels(model))
    columns.check_smoothed(model.schema.family_of)
    model.check(workers)
    model.posterior(workers)
    remark = odd(model)
    return Trained(model, [Issue("model", remark)] if remark else [])


def updated(model: Model, more: Model) -> Trained:
    """Return the sum of a model and one of new rows, with the structure of the first.

    Bins, interactions and weights stay the same until the rows have grown by more than a tenth: see
    `naively.model.model`. Raises ValueError if the two cannot be added.

    model : the model to update; it is not changed.
    more : a model of the new rows alone. Its invalid values are not among the issues: they were
        reported when its rows were read.
    """
    total = adding.merge(model.copy(), more)
    total.prior.check_room(total.classes)
    total.structure = model.structure
    issues = total.schema.invalid_values(more.texts_in_numeric(total.schema), "used")
    return Trained(total, issues + retyped(kinds(model), total))


def settled(plan: Plan, total: Model) -> Model:
    """Check the labels of a model once all rows are counted, and return it.

    Raises LearningError if the labels are invalid.
    """
    spec = plan.spec
    check_classes(as_read(total.classes, total.untyped), spec)
    if spec.repeated and spec.cells is None and plan.like is None:
        check_repeated(spec.target, len(total.classes), total.rows)
    return total


def check_classes(labels: Labels, spec: TrainingSpec) -> None:
    """Raise LearningError for labels that are measurements (numbers with fractions)."""
    try:
        check_whole(labels, f"the target column {spec.target!r}")
    except ValueError as error:
        raise LearningError(str(error)) from None


def check_repeated(
    target: str | None, classes: int, rows: int, most: float = MOST, fewest: int = FEWEST
) -> None:
    """Raise LearningError for more than `most` · rows classes, from `fewest` rows on."""
    if rows >= fewest and classes > most * rows:
        raise LearningError(
            f"the target column {target!r} has {classes:,} different labels in {rows:,} rows: is "
            "it a class? a class has several rows"
        )


def as_read(labels: Labels, untyped: bool) -> Labels:
    """Return the labels of a text file converted by `typed`, as `trained` will convert them."""
    return typed(labels) if untyped and len(labels) else labels


def labelled(
    batch: pa.Table, target: str, missing: Collection[str], like: Labels | None = None
) -> LabelCodes:
    """Return the labels of a batch; all are missing if it has no target, as JSON lines may.

    `like` are labels of a model, whose type they take.
    """
    if target not in batch.column_names:
        return coded(pa.nulls(batch.num_rows, pa.string()), missing, like)
    column = values.flat(batch.column(target))
    if is_untyped(batch.schema.field(target)):  # ignore blanks around fields
        column = values.trimmed(column)
    return coded(column, missing, like)


def _with_nulls(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Select columns of a table, with null columns where it has none."""
    nulls = pa.nulls(table.num_rows)
    fields_by_name = {field.name: field for field in table.schema}
    columns = [table.column(name) if name in fields_by_name else nulls for name in names]
    fields = [fields_by_name.get(name) or pa.field(name, pa.null()) for name in names]
    return pa.table(columns, schema=pa.schema(fields))


def features_of(names: Sequence[str], spec: TrainingSpec) -> list[str]:
    """Return the names of the features: all columns but the target and the weight."""
    return [name for name in names if name not in (spec.target, spec.weight)]


def _check(names: Sequence[str], spec: TrainingSpec) -> None:
    for name in filter(None, (spec.target, spec.weight)):
        if name not in names:
            raise LearningError(no_column(name, names))
    spec.columns.check_target(spec.target)
    spec.columns.check_monotone(names)
    if spec.target == spec.weight:
        raise LearningError(f"{spec.target!r} cannot be the target and the weight")


def _schema(table: pa.Table, names: list[str], spec: TrainingSpec) -> Schema:
    first = table.slice(0, first_rows(len(names)))
    if spec.weight is not None:  # rows of weight 0 are skipped
        first = first.filter(pa.array(weights_of(first, spec.weight, spec.columns.missing) > 0))
    options = spec.columns
    return counting(options, first, labelled(first, spec.target, options.missing), names)


def settled_by(table: pa.Table, spec: TrainingSpec) -> bool:
    """Return whether the schema cannot change after these first rows.

    The header of delimited text gives all columns, and the first values of a column decide whether
    it is long text.
    """
    names = features_of(table.column_names, spec)
    fixed, places = spec.columns.settled(names), {n: k for k, n in enumerate(table.column_names)}
    open_ = [places[name] for name in names if name not in fixed]
    untyped = all(is_untyped(table.schema.field(k)) for k in open_)
    enough = table.num_rows >= declared.PROSE_ROWS and spec.weight is None
    missing = spec.columns.missing
    return untyped and enough and all(declared.is_prose(table.column(k), missing) for k in open_)


def weights_of(batch: pa.Table, name: str, missing: Collection[str]) -> Float64:
    """Return the (n,) row weights in a column; 0 where they are missing.

    Raises LearningError for invalid weights.
    """
    if name not in batch.column_names:
        return np.zeros(batch.num_rows)
    parsed = values.numbers(values.flat(batch.column(name)), missing)
    if parsed.example is not None:
        raise LearningError(
            f"the weight column {name!r} holds {parsed.example!r}, which is not a number"
        )
    weights = np.where(np.isnan(parsed.values), 0.0, parsed.values)  # a missing weight is 0
    outside = weights[(weights < 0) | (weights > MOST_WEIGHT)]
    if len(outside):
        raise LearningError(
            f"the weight column {name!r} holds {outside[0]:g}, where weights are from 0 to "
            f"{MOST_WEIGHT:g}"
        )
    return weights
