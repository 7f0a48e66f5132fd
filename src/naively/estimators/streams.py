"""Streams, for the classifiers of arrays and of texts: batch after batch, in constant memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy.typing as npt
import pyarrow as pa
from sklearn.base import clone

from naively.engines.stream import in_order
from naively.engines.threads import workers
from naively.estimators.validation import check_classes, require_labels
from naively.labels import Labels
from naively.model import Model
from naively.posterior import Posterior
from naively.statistics.base import Data, InvalidValueError
from naively.tables import values
from naively.tables.inference import ROWS
from naively.tables.inputs import MISSING, Task, is_untyped
from naively.tables.joining import together
from naively.tables.learning import labelled, merge
from naively.tables.names import few, no_column
from naively.tables.readers import Source
from naively.tables.relabelling import with_typed_labels
from naively.workers import SERIAL, Workers

Answer = Callable[[Posterior, Data, Workers], npt.NDArray[Any]]
"""A method of a posterior that answers for rows."""


def check_question(estimator: Any, source: Source, y: Any, sample_weight: Any) -> None:
    """Refuse what a stream cannot be learned or judged with: ValueError."""
    require_labels(estimator, y)
    if not isinstance(y, str):
        raise ValueError("y must name the column of the stream that has the labels")
    if y not in source.names:
        raise ValueError(f"y names {y!r}, which is no column of X: {no_column(y, source.names)}")
    if sample_weight is not None:
        raise ValueError(
            "the rows of a stream have no sample_weight: pass rows in memory, as by "
            "naively.scan(...).to_table()"
        )


def counted(estimator: Any, source: Source, y: str, known: Model | None) -> Model:
    """A model of the rows of a stream, which has its labels in the column `y`.

    Parameters
    ----------
    known : whose columns and family these rows have; None to begin anew. A family that refers to
        documents then refers to the first 100,000.

    Raises
    ------
    ValueError : saying what is wrong and where.
    """
    tasks, reader = source.tasks(), estimator
    columns = features_of(estimator if known is not None else None, source.names, y)
    if known is None:
        reader = clone(estimator)
        head = list(_head(tasks, ROWS if reader._family().refers else 1))
        tasks = chain((partial(_itself, batch) for batch in head), tasks)
        first = together(list(map(_table, head)))
        labels = _labels(first, y, None)
        known = reader._learnable(reader._of_batch(first, columns), labels, None).blank
        known = replace(known, untyped=is_untyped(head[0].schema.field(y)))
        reader._keep(known, {})
    blank = known

    def one(task: Task) -> tuple[int, Model]:
        table = _table(task())
        if table.num_rows == 0:
            return 0, blank.blank()
        labels = _labels(table, y, blank.classes)
        rows = reader._learnable(reader._of_batch(table, columns), labels, None, blank)
        return table.num_rows, rows.summarise(SERIAL)

    total = blank.blank()
    with _counting(blank.feature_names) as before:
        for rows, part in in_order(one, tasks, workers(estimator.n_jobs).count):
            total = merge(total, part)
            before.rows += rows
    total = with_typed_labels(total)
    check_classes(total.classes, 1)
    return total


def answers(
    estimator: Any, source: Source, answer: Answer, y: str | None = None
) -> Iterator[tuple[npt.NDArray[Any], Labels | None]]:
    """(what a fitted estimator says of the rows, their labels if `y` names them), in batches.

    Raises
    ------
    ValueError : saying what is wrong and where.
    """
    posterior = estimator._posterior(workers(estimator.n_jobs)).remarking()
    columns = features_of(estimator, source.names, y)

    def one(task: Task) -> tuple[npt.NDArray[Any], Labels | None] | None:
        table = _table(task())
        if table.num_rows == 0:
            return None
        labels = None if y is None else _labels(table, y, posterior.classes)
        rows = estimator._rows(estimator._of_batch(table, columns))
        return answer(posterior, rows, SERIAL), labels

    with _counting(posterior.feature_names) as before:
        for found in in_order(one, source.tasks(), workers(estimator.n_jobs).count):
            if found is not None:
                yield found
                before.rows += len(found[0])
    if before.rows == 0:
        raise ValueError("X has no rows")
    for said in posterior.said:
        warnings.warn(said, UserWarning, stacklevel=4)


def features_of(estimator: Any, names: Sequence[str], y: str | None) -> list[str]:
    """The columns of a stream that a classifier learns or reads: those that it knows by name.

    Raises ValueError if one is missing.
    """
    there = [name for name in names if name != y]
    known = getattr(estimator, "feature_names_in_", None)
    if known is None:
        return there
    if lacking := [name for name in known if name not in there]:
        raise ValueError(
            f"X lacks the column(s) {few(lacking)}, which were learned; it has {few(there)}"
        )
    return list(known)


def numbers_of(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """These columns as numbers; what is missing is NaN.

    Raises
    ------
    ValueError : if one holds something else, saying which.
    """
    found = {}
    for name in columns:
        read = values.numbers(values.flat(table.column(name)), MISSING)
        if read.invalid.any() or (read.truths and is_untyped(table.schema.field(name))):
            example = "true or false" if read.example is None else repr(read.example)
            raise ValueError(
                f"X must hold numbers, but column {name!r} holds {example}: leave it out, as by "
                "naively.scan(..., columns=...), or use NaiveBayes or AutoBayes"
            )
        found[name] = read.values
    return pa.table(found)


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _itself(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def _head(tasks: Iterator[Task], rows: int) -> Iterator[pa.RecordBatch]:
    """The batches of the first rows; ValueError if there are none."""
    met = 0
    for task in tasks:
        batch = task()
        yield batch
        met += batch.num_rows
        if met >= rows:
            return
    if met == 0:
        raise ValueError("there are no rows to learn from")


class MissingLabelError(ValueError):
    """The label of a row is missing."""

    def __init__(self, row: int) -> None:
        self.row = row
        super().__init__(row)

    def __str__(self) -> str:
        return f"the label of row {self.row} is missing"


def _labels(table: pa.Table, y: str, like: Labels | None) -> Labels:
    classes, codes = labelled(table, y, MISSING, like)
    if (codes == len(classes)).any():
        raise MissingLabelError(int((codes == len(classes)).argmax()))
    found: Labels = classes[codes]
    return found


@dataclass
class _Before:
    """Rows of a stream before the batch that is asked about."""

    rows: int = 0


@contextmanager
def _counting(names: Sequence[str] | None) -> Iterator[_Before]:
    """Let errors about a row of a batch name that of the stream, and columns by these names."""
    before = _Before()
    try:
        yield before
    except MissingLabelError as error:
        error.row += before.rows
        raise
    except InvalidValueError as error:
        error.row += before.rows
        raise error.named(names) from None
