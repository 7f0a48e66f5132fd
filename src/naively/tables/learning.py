"""Learning from a stream of batches: one pass in constant memory, rows held out on the way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from naively.engines.stream import in_order
from naively.exact import Float64
from naively.labels import Labels, check_whole
from naively.prior import Prior
from naively.tables import values
from naively.tables.holdout import Draw
from naively.tables.inference import Wishes, first_rows, infer, reconsidered
from naively.tables.inputs import TableError, is_encoded, is_untyped
from naively.tables.model import TableModel, slices
from naively.tables.names import no_column
from naively.tables.targets import Coded, coded, typed

CELLS = 1 << 22  # of rows held out, at most
MOST = 100_000  # rows held out, at most

Task = Callable[[], pa.RecordBatch]
Drawn = tuple[Task, Float64 | None]
"""A piece of work that makes a batch, and the draws of its rows (see `Draw`) if some are held out.
"""


class LearningError(TableError):
    """A table that cannot be learned as asked; the message does not name the file."""


@dataclass(frozen=True)
class Question:
    """What to learn from a table.

    Attributes
    ----------
    target : name of the column of labels.
    wishes : Wishes, about the other columns.
    prior : Prior
    weight : name of the column of row weights, or None.
    holdout : part of the rows of each class to hold out, from 0 to below 1: at most 100,000 rows.
    seed : which ones.
    """

    target: str
    wishes: Wishes
    prior: Prior = field(default_factory=Prior)
    weight: str | None = None
    holdout: float = 0.0
    seed: int = 0


@dataclass
class Held:
    """Rows that were held out, each with a random number below the threshold."""

    tables: list[pa.Table] = field(default_factory=list)
    draws: list[Float64] = field(default_factory=list)
    rows: int = 0

    def add(self, table: pa.Table, draws: Float64) -> None:
        """Hold out more rows."""
        if table.num_rows:
            self.tables.append(table)
            self.draws.append(draws)
            self.rows += table.num_rows

    def release(self, threshold: float) -> Iterator[pa.Table]:
        """Give up the rows that are not below a lower threshold."""
        tables, draws = self.tables, self.draws
        self.tables, self.draws, self.rows = [], [], 0
        for table, own in zip(tables, draws, strict=True):
            kept = own < threshold
            yield table.filter(pa.array(~kept))
            self.add(table.filter(pa.array(kept)), own[kept])

    def smallest(self, count: int) -> float:
        """The threshold below which so many rows are."""
        return float(np.partition(np.concatenate(self.draws), count)[count])


def learn(
    tasks: Iterable[Task], question: Question, threads: int, known: TableModel | None = None
) -> tuple[TableModel, Held]:
    """(what was learned from all rows but those held out, these).

    If the table is of a file in which all values are text, the labels are text as well, until
    `TableModel.type_labels` finds out what all of them read as.

    Families are inferred from the first 100,000 rows, unless the model is known. Labels, levels
    and whatever else the rows hold are counted as they come; the result does not depend on how
    the rows are cut into batches, nor on the number of threads.

    Raises
    ------
    LearningError : if there is no such column, no row, or a weight that is none.
    TableError : if the table cannot be read.
    ValueError : if no column is left to learn from.
    """
    stream = _drawn(tasks, question, threads)
    head = _head(stream, question)
    if not any(batch.num_rows for batch, _ in head):
        raise LearningError("there are no rows")
    names = list(dict.fromkeys(name for batch, _ in head for name in batch.schema.names))
    _check(names, question)
    settled = question.wishes.settled
    seen = together([_split(_without(batch, settled), draws, 1.0)[0] for batch, draws in head])
    untyped = known is None and _is_untyped([batch for batch, _ in head], question.target)
    met, _ = labelled(seen, question.target, question.wishes.missing)
    _check_classes(_read(met, untyped), question)
    schema = (
        known.schema if known is not None else _schema(seen, _features(names, question), question)
    )
    blank = TableModel.blank(schema, question.prior)
    blank.target = question.target
    blank.untyped = untyped
    limit = max(1, min(MOST, CELLS // max(1, len(names))))
    del seen
    needed = {*schema.known, question.target, question.weight}
    threshold = 1.0
    held = Held()

    sums = _Sums(blank)

    def one(drawn: Drawn) -> tuple[pa.Table, Float64]:
        task, own = drawn
        batch, out, draws = _split(task(), own, threshold)
        for _, part in slices(batch):
            sums.add(summarise(blank, part, question, known))
        return out, draws

    if not schema.commutes:
        threads = 1
    for out, draws in in_order(one, chain(_again(head), stream), threads):
        late = draws >= threshold  # lowered since: what is held out depends on no thread's pace
        if late.any():
            sums.add(summarise(blank, out.filter(pa.array(late)), question, known))
        held.add(_compact(out.filter(pa.array(~late)), needed), draws[~late])
        if held.rows > 2 * limit:
            threshold = held.smallest(limit)
            for released in held.release(threshold):
                sums.add(summarise(blank, released, question, known))
    if held.rows > limit:
        for released in held.release(held.smallest(limit)):
            sums.add(summarise(blank, released, question, known))
    total = sums.total()
    _check_classes(_read(total.model.classes, blank.untyped), question)
    return reconsidered(question.wishes, total) if known is None else total, held


def _check_classes(labels: Labels, question: Question) -> None:
    try:
        check_whole(labels, f"the target column {question.target!r}")
    except ValueError as error:
        raise LearningError(str(error)) from None


def _read(labels: Labels, untyped: bool) -> Labels:
    """The labels as they will be, if they are the text of a file."""
    return typed(labels) if untyped and len(labels) else labels


class _Sums:
    """What was learned so far, in as many sums as threads add to them at once."""

    def __init__(self, blank: TableModel) -> None:
        self._blank = blank
        self._idle: list[TableModel] = []

    def add(self, part: TableModel) -> None:
        """Add to a sum that nobody else is adding to."""
        try:
            own = self._idle.pop()
        except IndexError:
            own = self._blank.copy()
        own.absorb(part.like_labels(own))
        self._idle.append(own)

    def total(self) -> TableModel:
        """All of it."""
        total = self._idle.pop() if self._idle else self._blank.copy()
        for other in self._idle:
            total.absorb(other.like_labels(total))
        return total


def _drawn(tasks: Iterable[Task], question: Question, threads: int) -> Iterator[Drawn]:
    """The pieces of work with the draws of their rows; read before, if some are to be held out."""
    if question.holdout == 0:
        yield from ((task, None) for task in tasks)
        return
    draw = Draw(question.holdout, question.seed)

    def read(task: Task) -> tuple[pa.RecordBatch, Coded]:
        batch = task()
        return batch, labelled(
            pa.Table.from_batches([batch]), question.target, question.wishes.missing
        )

    for batch, labels in in_order(read, tasks, threads):
        yield (lambda batch=batch: batch), draw.of(labels)  # type: ignore[misc]


def _split(
    batch: pa.RecordBatch, draws: Float64 | None, threshold: float
) -> tuple[pa.Table, pa.Table, Float64]:
    """(rows to learn, rows to hold out, their draws) of a batch."""
    table = pa.Table.from_batches([batch])
    if draws is None:
        return table, table.slice(0, 0), np.zeros(0)
    chosen = draws < threshold
    return table.filter(pa.array(~chosen)), table.filter(pa.array(chosen)), draws[chosen]


def _compact(table: pa.Table, needed: Collection[str | None]) -> pa.Table:
    """The columns that matter, without the levels of rows that are not there."""
    columns = {}
    for name in table.column_names:
        if name in needed:
            column = table.column(name)
            kind = column.type
            columns[name] = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
    return pa.table(columns)


def summarise(
    blank: TableModel, batch: pa.Table, question: Question, known: TableModel | None = None
) -> TableModel:
    """A model like a blank one that learned these rows alone; its labels are like known ones."""
    weights = None
    if question.weight is not None:
        weights = _weights(batch, question.weight, question.wishes.missing)
    like = None if known is None else known.model.classes
    labels = labelled(batch, question.target, question.wishes.missing, like)
    return blank.summarise(batch, labels, weights)


def labelled(
    batch: pa.Table, target: str, missing: Collection[str], like: Labels | None = None
) -> Coded:
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


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """One table of several whose columns may differ in type: then they become numbers or text."""
    names = list(dict.fromkeys(name for table in tables for name in table.column_names))
    columns = {name: _joined([_column(table, name) for table in tables]) for name in names}
    return pa.table(columns)


def _without(batch: pa.RecordBatch, columns: Collection[str]) -> pa.RecordBatch:
    """A batch without columns that need no looking at: documents are large."""
    return batch.select([name for name in batch.schema.names if name not in columns])


def _column(table: pa.Table, name: str) -> pa.Array:
    at = table.schema.get_field_index(name)
    if at < 0:
        return pa.nulls(table.num_rows)
    column = table.column(at)
    if is_encoded(table.schema.field(at)) and pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return values.flat(column)


def _joined(arrays: list[pa.Array]) -> pa.ChunkedArray:
    kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
    if len(kinds) <= 1:
        kind = kinds.pop() if kinds else pa.null()
    elif all(values.is_number(kind) for kind in kinds):
        return pa.chunked_array([array.cast(pa.float64(), safe=False) for array in arrays])
    else:
        arrays = [_as_text(array) for array in arrays]
        kind = pa.string()
    return pa.chunked_array([array if array.type == kind else array.cast(kind) for array in arrays])


def _as_text(array: pa.Array) -> pa.Array:
    """Values of any type as the text of levels."""
    if values.is_text(array.type):
        return array
    places, texts = values.level_texts(array, ())
    return pa.array([*texts, None], pa.string()).take(pa.array(places))


def _head(
    stream: Iterator[Drawn], question: Question
) -> list[tuple[pa.RecordBatch, Float64 | None]]:
    """The batches of the first rows, from which families are inferred, with their draws."""
    head: list[tuple[pa.RecordBatch, Float64 | None]] = []
    rows = 0
    for task, draws in stream:
        batch = task()
        head.append((batch, draws))
        rows += batch.num_rows if draws is None else int(np.isinf(draws).sum())
        features = _features(head[0][0].schema.names, question)
        settled = question.wishes.settled.issuperset(features)
        if rows >= (1 if settled else 1.05 * first_rows(len(features))):
            break
    return head


def _features(names: Sequence[str], question: Question) -> list[str]:
    return [name for name in names if name not in (question.target, question.weight)]


def _again(head: list[tuple[pa.RecordBatch, Float64 | None]]) -> Iterator[Drawn]:
    """The first batches as pieces of work; each is let go of as it is done."""
    while head:
        batch, draws = head.pop(0)
        yield (lambda batch=batch: batch), draws  # type: ignore[misc]


def _check(names: Sequence[str], question: Question) -> None:
    for name in filter(None, (question.target, question.weight)):
        if name not in names:
            raise LearningError(no_column(name, names))
    if question.target == question.weight:
        raise LearningError(f"{question.target!r} cannot be the target and the weight")


def _is_untyped(head: Sequence[pa.RecordBatch], name: str) -> bool:
    """Whether a column is of a file in which all values are text."""
    return any(name in one.schema.names and is_untyped(one.schema.field(name)) for one in head)


def _schema(table: pa.Table, names: list[str], question: Question) -> Any:
    first = table.slice(0, first_rows(len(names)))
    if question.weight is not None:  # rows of weight 0 are absent
        first = first.filter(
            pa.array(_weights(first, question.weight, question.wishes.missing) > 0)
        )
    return infer(
        question.wishes, first, labelled(first, question.target, question.wishes.missing), names
    )


def _weights(batch: pa.Table, name: str, missing: Collection[str]) -> Float64:
    if name not in batch.column_names:
        return np.zeros(batch.num_rows)
    read = values.numbers(values.flat(batch.column(name)), missing)
    if read.example is not None:
        raise LearningError(
            f"the weight column {name!r} holds {read.example!r}, which is no number"
        )
    weights = read.values
    weights = np.where(np.isnan(weights), 0.0, weights)  # a row of unknown weight weighs nothing
    if np.isinf(weights).any():
        raise LearningError(f"the weight column {name!r} holds an infinite weight")
    if (weights < 0).any():
        raise LearningError(
            f"the weight column {name!r} holds {weights.min():g}, which is negative"
        )
    return weights
