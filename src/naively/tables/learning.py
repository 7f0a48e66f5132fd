"""Learning from a stream of batches: one pass in constant memory, rows held out on the way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
import pyarrow as pa

from naively.engines.stream import in_order
from naively.exact import Float64
from naively.labels import Labels, check_whole
from naively.model import Model
from naively.multilabel import Multilabel
from naively.prior import Prior
from naively.schema import Schema
from naively.tables import union, values
from naively.tables.held import Held, compact
from naively.tables.holdout import Draw
from naively.tables.inference import Wishes, first_rows, infer, reconsidered
from naively.tables.inputs import TableError, Task, is_untyped
from naively.tables.joining import together
from naively.tables.label_cells import LabelCells
from naively.tables.names import no_column
from naively.tables.relabelling import with_labels_alike
from naively.tables.summarising import slices
from naively.tables.summarising import summarise as summarise_rows
from naively.tables.targets import LabelCodes, coded, typed

CELLS = 1 << 22  # of rows held out, at most
MOST = 100_000  # rows held out, at most

Drawn = tuple[Task, Float64 | None]
"""A piece of work that makes a batch, and the draws of its rows (see `Draw`) if some are held out.
"""


Inferred = Callable[[pa.Table, LabelCodes], Schema]
"""The columns to learn from, given the first rows and their labels."""


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
    cells : how labels are written where a row has any number of them; None where it has one.
    """

    target: str
    wishes: Wishes
    prior: Prior = field(default_factory=Prior)
    weight: str | None = None
    holdout: float = 0.0
    seed: int = 0
    cells: LabelCells | None = None


@dataclass(frozen=True)
class Plan:
    """What the head of the data decides; the rest is counting.

    Attributes
    ----------
    blank : Model that has learned nothing: the columns with their families, and what these refer
        to.
    question : Question
    like : labels of a known model, of which others take the type; None if there is none.
    """

    blank: Model
    question: Question
    like: Labels | None = None


def plan(
    head: Sequence[pa.Table], question: Question, known: Model | None = None,
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
    _check(names, question)
    if question.cells is not None:
        schema = question.wishes.schema(head[0], _features(names, question))
        schema = schema if known is None else known.schema
        return Plan(Multilabel(schema, question.prior, target=question.target), question)
    settled = question.wishes.settled
    seen = together([_without(table, settled) for table in head])
    untyped = known is None and _is_untyped(head, question.target)
    labels = labelled(seen, question.target, question.wishes.missing)
    _check_classes(_read(labels[0], untyped), question)
    features = _features(names, question)
    if inferred is not None:
        schema = inferred(_with_nulls(seen, features), labels)
    elif known is None:
        schema = _schema(seen, features, question)
    else:
        schema = known.schema
    schema.check_any("learn from")
    blank = Model(schema, question.prior, target=question.target, untyped=untyped)
    return Plan(blank, question, None if known is None else known.classes)


def summarise(plan: Plan, batch: pa.Table) -> Model:
    """A model that learned these rows alone."""
    question = plan.question
    missing = question.wishes.missing
    weights = None
    if question.weight is not None:
        weights = weights_of(batch, question.weight, missing)
    if question.cells is not None:
        try:
            return question.cells.summarised(plan.blank, batch, missing, weights)
        except ValueError as error:
            raise LearningError(f"the target column {question.target!r}: {error}") from None
    labels = labelled(batch, question.target, missing, plan.like)
    return summarise_rows(plan.blank, batch, labels, weights)


def merge(model: Model, part: Model) -> Model:
    """What both learned, to be used in the place of `model`, which it may be."""
    return union.merge(*with_labels_alike(model, part))


def learn(
    tasks: Iterable[Task], question: Question, threads: int, known: Model | None = None,
    inferred: Inferred | None = None,
) -> tuple[Model, Held]:  # fmt: skip
    """(what was learned from all rows but those held out, these).

    If the table is of a file in which all values are text, the labels are text as well, until
    `relabelling.with_typed_labels` finds out what all of them read as.

    Families are inferred from the first 100,000 rows, unless the model is known, or `inferred`
    says what they are. Labels, levels
    and whatever else the rows hold are counted as they come, and added in the order of the
    stream; the result does not depend on how the rows are cut into batches, nor on the number of
    threads.

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
    made = plan([_split(batch, draws, 1.0)[0] for batch, draws in head], question, known, inferred)
    total = made.blank.copy()
    width = len({name for batch, _ in head for name in batch.schema.names})
    limit = max(1, min(MOST, CELLS // max(1, width)))
    needed = {*total.schema.known, question.target, question.weight}
    threshold = 1.0
    held = Held()

    def one(drawn: Drawn) -> tuple[list[Model], pa.Table, Float64]:
        task, own = drawn
        batch, out, draws = _split(task(), own, threshold)
        return [summarise(made, part) for _, part in slices(batch)], out, draws

    for parts, out, draws in in_order(one, chain(_again(head), stream), threads):
        for part in parts:
            total = merge(total, part)
        late = draws >= threshold  # lowered since: what is held out depends on no thread's pace
        if late.any():
            total = merge(total, summarise(made, out.filter(pa.array(late))))
        held.add(compact(out.filter(pa.array(~late)), needed), draws[~late])
        if held.rows > 2 * limit:
            threshold = held.smallest(limit)
            for released in held.release(threshold):
                total = merge(total, summarise(made, released))
    if held.rows > limit:
        for released in held.release(held.smallest(limit)):
            total = merge(total, summarise(made, released))
    _check_classes(_read(total.classes, total.untyped), question)
    return reconsidered(question.wishes, total) if known is None else total, held


def _check_classes(labels: Labels, question: Question) -> None:
    try:
        check_whole(labels, f"the target column {question.target!r}")
    except ValueError as error:
        raise LearningError(str(error)) from None


def _read(labels: Labels, untyped: bool) -> Labels:
    """The labels as they will be, if they are the text of a file."""
    return typed(labels) if untyped and len(labels) else labels


def _drawn(tasks: Iterable[Task], question: Question, threads: int) -> Iterator[Drawn]:
    """The pieces of work with the draws of their rows; read before, if some are to be held out."""
    if question.holdout == 0:
        yield from ((task, None) for task in tasks)
        return
    draw = Draw(question.holdout, question.seed)

    def read(task: Task) -> tuple[pa.RecordBatch, LabelCodes]:
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
    there = {*table.column_names}
    return pa.table({name: table.column(name) if name in there else nothing for name in names})


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


def _is_untyped(head: Sequence[pa.Table], name: str) -> bool:
    """Whether a column is of a file in which all values are text."""
    return any(name in one.column_names and is_untyped(one.schema.field(name)) for one in head)


def _schema(table: pa.Table, names: list[str], question: Question) -> Schema:
    first = table.slice(0, first_rows(len(names)))
    if question.weight is not None:  # rows of weight 0 are absent
        first = first.filter(
            pa.array(weights_of(first, question.weight, question.wishes.missing) > 0)
        )
    wishes = question.wishes
    if wishes.whole is not None and _prose(first, names, wishes.missing):
        wishes = replace(wishes, whole=None)
    return infer(wishes, first, labelled(first, question.target, wishes.missing), names)


def _prose(table: pa.Table, names: Sequence[str], missing: Collection[str]) -> list[str]:
    """The columns of text, which no family takes together with others."""
    return [
        name
        for name in names
        if name in table.column_names and values.prose(values.flat(table.column(name)), missing)
    ]


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
    if np.isinf(weights).any():
        raise LearningError(f"the weight column {name!r} holds an infinite weight")
    if (weights < 0).any():
        raise LearningError(
            f"the weight column {name!r} holds {weights.min():g}, which is negative"
        )
    return weights
