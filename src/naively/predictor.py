"""Bind a model to the columns of tables: Arrow batches in, predictions and issues out.

Estimators, the command line, the service and drift read rows only through it. It decides which
columns are absent, which values are invalid, what counts as missing, and which row an error names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.core.exact import Float64, Int64
from naively.core.issues import FEW, Invalid, Issue, add_invalid
from naively.core.labels import Labels
from naively.core.workers import SERIAL, Workers, in_order
from naively.explain.explanation import Explanation
from naively.explain.rows import explain
from naively.io.inputs import Task
from naively.model.posterior import Posterior
from naively.model.schema import Schema
from naively.statistics.base import Data, InvalidValueError
from naively.tables.counting import other_columns
from naively.tables.encoding import encode_for
from naively.tables.learning import labelled
from naively.tables.left_out import unvaried_in
from naively.tables.names import absent_columns, columns_named, few
from naively.tables.targets import LabelCodes, positions

Answer = Callable[[Posterior, Data, Workers], Any]
"""A method of a posterior for encoded rows, such as `Posterior.proba`."""


class NoColumnsError(ValueError):
    """A table that has none of the columns of a model."""


class Compared(NamedTuple):
    """Predictions of the labelled rows of a batch.

    truth : (n,) position of each label among the classes of the model; -1 for an unknown label.
    log_proba : (n, C) log P(c | x), in nats.
    unlabelled : number of rows without a label, which are skipped.
    """

    truth: Int64
    log_proba: Float64
    unlabelled: int
    labels: Labels


class Predictor:
    """Predict rows of tables with a posterior; several threads may use it at once.

    target : the label column, which is neither absent nor unknown.
    source : name of the rows in issues, such as ``X`` or a file.
    few : least number of rows to report that no category of a column is known.
    """

    def __init__(
        self, posterior: Posterior, target: str | None = None, source: str = "X", few: int = FEW
    ) -> None:
        self.posterior = posterior.remarking(few)
        self.target, self.source = target, source
        self._unvaried = unvaried_in(posterior)
        self._columns: list[Issue] = []
        self._invalid: dict[str, Invalid] = {}
        self._lock = Lock()

    @property
    def schema(self) -> Schema:
        """The columns of the model."""
        return self.posterior.schema

    @property
    def issues(self) -> list[Issue]:
        """The issues of all rows so far."""
        rows = [Issue("rows", text) for text in self.posterior.warnings]
        return self._columns + self.schema.invalid_values(self._invalid, "read") + rows

    def check_columns(self, names: Iterable[str]) -> None:
        """Record absent features and unknown columns of a table.

        Raises NoColumnsError if no feature is present.
        """
        self._columns += column_issues(self.schema, self.target, names, self.source, self._unvaried)

    def encode(self, table: pa.Table | pa.RecordBatch) -> Data:
        """Encode rows for the model; invalid values are recorded, and count as missing."""
        rows, invalid = encode_for(self.posterior, table, self._unvaried)
        if invalid:
            with self._lock:
                add_invalid(self._invalid, invalid)
        return rows

    def answers(
        self, tasks: Iterable[Task], answer: Answer, threads: int
    ) -> Iterator[npt.NDArray[Any]]:
        """Yield the answer for each batch, in order."""

        def answer_task(task: Task) -> npt.NDArray[Any]:
            scores: npt.NDArray[Any] = answer(self.posterior, self.encode(task()), SERIAL)
            return scores

        with self.counting_rows() as rows:
            for scores in in_order(answer_task, tasks, threads):
                yield scores
                rows.before += len(scores)

    def labelled_answers(
        self, tasks: Iterable[Task], answer: Answer, threads: int, missing: Collection[str]
    ) -> Iterator[tuple[npt.NDArray[Any], Labels]]:
        """Yield (the answer for each batch, the labels of its rows), in order.

        Raises ValueError if a row has no label.
        """
        assert self.target is not None
        target, model_classes = self.target, self.posterior.classes

        def answer_task(task: Task) -> tuple[npt.NDArray[Any], LabelCodes]:
            batch = task()
            labels = labelled(pa.Table.from_batches([batch]), target, missing, model_classes)
            return answer(self.posterior, self.encode(batch), SERIAL), labels

        with self.counting_rows() as rows:
            for scores, labels in in_order(answer_task, tasks, threads):
                yield scores, decoded(labels)
                rows.before += len(scores)

    def compare(
        self, table: pa.Table, missing: Collection[str], workers: Workers | None = None
    ) -> Compared:
        """Predict the rows of a table that have a label."""
        assert self.target is not None
        labels, codes = labelled(table, self.target, missing)
        has_label = np.flatnonzero(codes < len(labels))
        truth = np.append(positions(labels, self.posterior.classes), -1)[codes[has_label]]
        log_proba = self.posterior.log_proba(self.encode(table)[has_label], workers)
        return Compared(truth, log_proba, table.num_rows - len(has_label), labels)

    def explain(self, table: pa.Table, by_block: bool = False) -> Explanation:
        """Return the contribution of each column to the score of each class, for each row."""
        return explain(self.posterior, table, self.encode(table), by_block)

    def counting_rows(self, before: int = 0) -> AbstractContextManager[RowsBefore]:
        """Return a context in which errors name their column, and their row in a stream."""
        return counting_rows(self.posterior.feature_names, before, self.source)


def column_issues(
    schema: Schema, target: str | None, names: Iterable[str], source: str,
    unvaried: Collection[str] = (),
) -> list[Issue]:  # fmt: skip
    """Return issues of absent features and unknown columns of a table.

    `unvaried` are features that may be absent, as they change no prediction. Raises NoColumnsError
    if no feature is present.
    """
    names = [name for name in names if name.strip()]
    absent, unknown = other_columns(schema, target, names)
    if len(absent) == len(schema.names):
        hint = f"; it has the {columns_named(few(names), names)}" if names else ""
        raise NoColumnsError(f"{source} has none of the features of the model: {few(absent)}{hint}")
    issues = []
    if absent := [name for name in absent if name not in unvaried]:
        issues.append(Issue("absent", f"{source} has {absent_columns(absent, unknown)}"))
    if unknown:
        columns = columns_named(few(unknown), unknown)
        text = f"{source} has the {columns}, unknown to the model: ignored"
        issues.append(Issue("unknown", text))
    return issues


@dataclass
class RowsBefore:
    """Number of rows of a stream before the current batch."""

    before: int = 0


class MissingLabelError(ValueError):
    """Error for a row without a label."""

    def __init__(self, row: int) -> None:
        self.row = row
        super().__init__(row)

    def __str__(self) -> str:
        return f"the label of row {self.row} is missing"


def decoded(labels: LabelCodes) -> Labels:
    """Return the label of each row. Raises MissingLabelError for the first row without one."""
    classes, codes = labels
    if (codes == len(classes)).any():
        raise MissingLabelError(int((codes == len(classes)).argmax()))
    return classes[codes]


@contextmanager
def counting_rows(
    names: Sequence[str] | None, before: int = 0, source: str = "X"
) -> Iterator[RowsBefore]:
    """Number the rows of errors from the start of a stream, and name their columns.

    before : rows before the first batch.
    """
    rows = RowsBefore(before)
    try:
        yield rows
    except MissingLabelError as error:
        error.row += rows.before
        raise
    except InvalidValueError as error:
        error.row += rows.before
        if source != "X":
            error.problem = f"{source}: {error.problem}"
        raise error.named(names) from None
