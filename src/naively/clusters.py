"""Train on clusters: plan the counting, count partitions into bytes, fit a model on their sum."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain
from typing import Any

import pyarrow as pa
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from naively.core.issues import Issue
from naively.core.workers import workers
from naively.estimators.auto_bayes import AutoBayes
from naively.estimators.naive_bayes import NaiveBayes
from naively.estimators.shared.validation import naming
from naively.estimators.text import TextNB
from naively.io.sources import Source, TableError
from naively.model.model import Model
from naively.model.schema import Schema
from naively.storage.model_files import Saved, from_bytes, to_bytes
from naively.tables import learning
from naively.tables.counting import BATCH, slices
from naively.tables.counting import like as structure_of
from naively.tables.inference import ColumnOptions, first_rows
from naively.tables.learning import (
    LearningError,
    Plan,
    TrainingSpec,
    merge,
    settled,
    summarise,
    trained,
)
from naively.tables.names import few, no_column
from naively.tables.one_pass import planned as planned_stream
from naively.tables.targets import with_typed_labels
from naively.tables.values import bytes_of

MOST = 1 << 26  # size of the tables that are counted at a time, in bytes


@dataclass(frozen=True)
class Counting:
    """Count rows as planned; pickled and sent to the workers."""

    plan: Plan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> bytes | None:
        """Return the statistics of these rows as bytes; None if there are no rows."""
        return _counted(self.plan, _joined(batches))


@dataclass(frozen=True)
class CountingFiles:
    """Count the rows of files as planned; sent to workers that can read the files."""

    plan: Plan
    shares: Sequence[Source]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> bytes | None:
        """Return the statistics of the shares whose numbers are in the batches, as bytes.

        Raises TableError if a file is missing, or cannot be read.
        """
        numbers = chain.from_iterable(batch.column(0).to_pylist() for batch in batches)
        files = chain.from_iterable(_read(self.shares[number]) for number in numbers)
        parts = chain.from_iterable(slices(pa.Table.from_batches([batch])) for batch in files)
        return _counted(self.plan, (table for _, table in parts))


def _counted(plan: Plan, tables: Iterable[pa.Table]) -> bytes | None:
    """Return the statistics of these rows as bytes; None if there are no rows."""
    total, rows = plan.blank.copy(), 0
    for table in tables:
        total = merge(total, summarise(plan, table))
        rows += table.num_rows
    return to_bytes(Saved(total)) if rows else None


def _read(share: Source) -> Iterator[pa.RecordBatch]:
    try:
        yield from share.batches()
    except FileNotFoundError as error:
        raise TableError(
            f"{error.filename} is not found by a worker: scanned files must have the same path "
            "on all machines; read other files into a frame of the cluster"
        ) from None


def added(counts: Iterable[bytes]) -> bytes | None:
    """Return the sum of such statistics; None if there are none."""
    counts = iter(counts)
    first, second = next(counts, None), next(counts, None)
    if first is None or second is None:
        return first
    return to_bytes(Saved(reduce(merge, map(_model, chain([first, second], counts)))))


def learned(plan: Plan, counts: Iterable[bytes]) -> Model:
    """Return the model of the sum of all statistics.

    Raises LearningError if there are no rows, or no valid labels.
    """
    models = map(_model, counts)
    if (first_model := next(models, None)) is None:
        raise LearningError("there are no rows")
    model = reduce(merge, models, first_model)
    model = replace(model, untyped=plan.blank.untyped)  # which bytes do not store
    if len(model.classes) == 0:
        raise LearningError(f"every label in column {plan.spec.target!r} is missing")
    return settled(plan, model)


def _model(content: bytes) -> Model:
    return from_bytes(content, "what a worker counted").model


def _joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Combine batches into larger tables: clusters have batches too small for speed."""
    pending: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if batch.num_rows:
            pending.append(batch)
            rows, size = rows + batch.num_rows, size + bytes_of(batch)
        if rows >= BATCH or size >= MOST:
            yield pa.Table.from_batches(pending)
            pending, rows, size = [], 0, 0
    if pending:
        yield pa.Table.from_batches(pending)


# ---- clusters ------------------------------------------------------------------------------------


def check_estimator(estimator: Any) -> None:
    """Raise unless an estimator can be trained on a cluster.

    Raises TypeError if it is no estimator of tables or texts; ValueError if an option requires
    several passes over all rows.
    """
    if not isinstance(estimator, AutoBayes | NaiveBayes | TextNB):
        raise TypeError(
            f"a cluster trains AutoBayes, NaiveBayes and TextNB, not {type(estimator).__name__}; "
            "NaiveBayes(family=...) has the families of the other classifiers"
        )
    estimator._refuse_auto()


def features_of(
    columns: Sequence[Any], target: str, features: Sequence[str] | None, weight: str | None
) -> list[str]:
    """Return the features among the columns of a frame; by default all but target and weight.

    Raises ValueError if a column does not exist, or the target or weight is among the features.
    """
    for name in filter(None, (target, weight, *(features or ()))):
        if name not in columns:
            raise ValueError(no_column(name, list(columns)))
    if features is None:
        return [str(name) for name in columns if name not in (target, weight)]
    if target in features or weight in features:
        raise ValueError("the target and the weight cannot be among the features")
    return list(features)


def spec_of(
    estimator: Any, features: Sequence[str], target: str, weight: str | None = None
) -> TrainingSpec:
    """Return the training specification of an estimator for these features.

    Raises ValueError if it is `TextNB`, and there are several features.
    """
    check_estimator(estimator)
    options: ColumnOptions
    if isinstance(estimator, TextNB):
        if len(features) != 1:
            raise ValueError(
                f"TextNB takes one column of text, but there are {len(features)} "
                f"({few(features)}): name it as `features`; NaiveBayes takes text among others"
            )
        options = ColumnOptions({features[0]: estimator._family()}, missing=())
    else:
        options = estimator._columns()
    return TrainingSpec(target, options, estimator._prior(), weight)


def rows_to_look_at(spec: TrainingSpec, features: Sequence[str]) -> int:
    """Return how many rows to infer types from: 0 if names and declared types are enough."""
    options = spec.columns
    all_declared = options.whole is not None and not options.text
    all_settled = all_declared or options.settled(features).issuperset(features)
    return 0 if all_settled else first_rows(len(features))


def planned(head: pa.Table, spec: TrainingSpec, like: Any = None) -> Plan:
    """Plan how to count rows that begin with `head`.

    Raises ValueError if the rows are unsuitable for training, or the statistics cannot be sent.

    like : a fitted estimator whose columns and families to reuse, or None.
    """
    counting_plan = learning.plan([head], spec, _structure(like))
    to_bytes(Saved(counting_plan.blank))  # raises for functions, which cannot be sent
    return counting_plan


def planned_of(source: Source, estimator: Any, spec: TrainingSpec, like: Any = None) -> Plan:
    """Plan how to count rows of files as `estimator` counts them on one machine.

    Parameters and errors are those of `planned`.
    """
    text = isinstance(estimator, TextNB)
    inferred = None if text or like is not None else partial(estimator._schema, existing=None)
    threads = workers(estimator.n_jobs).count
    counting_plan = planned_stream(source.tasks(), spec, threads, _structure(like), inferred)
    to_bytes(Saved(counting_plan.blank))  # raises for functions, which cannot be sent
    return counting_plan


def _structure(like: Any) -> Model | None:
    if like is None:
        return None
    check_is_fitted(like)
    return structure_of(like.model_, workers(like.n_jobs))


def fitted(estimator: Any, model: Model, like: Any = None) -> Any:
    """Return a copy of an estimator, fitted with this model."""
    fitted_copy, model = clone(estimator), with_typed_labels(model)
    if model.unlabelled:
        total = model.rows + model.unlabelled
        warnings.warn(
            f"{model.unlabelled} of {total} rows have no label and were left out",
            UserWarning, stacklevel=3,
        )  # fmt: skip
    if isinstance(fitted_copy, TextNB):
        model = model.read_as(Schema.of_array(model.schema.blocks[0].family, 1))
        model.target = None
        model.posterior(workers(fitted_copy.n_jobs))
        fitted_copy._keep(model, {})
        return fitted_copy
    issues: list[Issue] = []
    with naming(fitted_copy):
        if like is None:
            model, issues = trained(model, fitted_copy._columns(), workers(fitted_copy.n_jobs))
        else:
            model.check(workers(fitted_copy.n_jobs))
    for issue in model.schema.invalid_values(model.invalid, "used") + issues:
        warnings.warn(str(issue), UserWarning, stacklevel=3)
    fitted_copy._keep(model, {"_kind": "arrow"})
    return fitted_copy
