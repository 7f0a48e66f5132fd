"""One pass over a stream in constant memory, rows held out on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from naively.engines.memory import give_back
from naively.engines.stream import in_order
from naively.exact import Float64
from naively.model import Model
from naively.tables.held import Held, compact
from naively.tables.holdout import Copies, Draw
from naively.tables.inference import first_rows
from naively.tables.inputs import Task
from naively.tables.joining import together
from naively.tables.learning import (
    Inferred,
    LearningError,
    Plan,
    Question,
    features_of,
    labelled,
    merge,
    plan,
    settled,
    settled_by,
    summarise,
)
from naively.tables.summarising import slices
from naively.tables.targets import LabelCodes
from naively.tables.values import bytes_of

CELLS = 1 << 22  # of rows held out, at most
HEAD = 1 << 26
"""Bytes that are looked at, about, where they tell no more than which columns there are."""
MOST = 100_000  # rows held out, at most


class Drawn(NamedTuple):
    """A piece of work that makes a batch, and which of its rows are held out.

    Attributes
    ----------
    task : Task
    draws : of its rows (see `Draw`); None if none is held out.
    """

    task: Task
    draws: Float64 | None = None


class Counted(NamedTuple):
    """What a piece came to: models of the rows to learn, the rows held out with their draws."""

    parts: list[Model]
    out: pa.Table
    draws: Float64


@dataclass
class _Pass:
    """What was learned of a stream so far.

    Attributes
    ----------
    made : Plan, what the head decided.
    total : Model of the rows that were learned.
    limit : rows held out, at most.
    held : the rows held out.
    threshold : of their draws.
    """

    made: Plan
    total: Model
    limit: int
    held: Held = field(default_factory=Held)
    threshold: float = 1.0

    def count(self, drawn: Drawn) -> Counted:
        """What a piece comes to; in any thread."""
        batch, out, draws = _split(drawn.task(), drawn.draws, self.threshold)
        parts = [summarise(self.made, part) for _, part in slices(batch)]
        return Counted(parts, out, draws)

    def add(self, found: Counted) -> None:
        """Add the next piece."""
        for part in found.parts:
            self.total = merge(self.total, part)
        out, draws = found.out, found.draws
        late = draws >= self.threshold  # lowered since: no thread's pace matters
        if late.any():
            self._learn(out.filter(pa.array(late)))
        question = self.made.question
        needed = {*self.made.blank.schema.known, question.target, question.weight}
        self.held.add(compact(out.filter(pa.array(~late)), needed), draws[~late])
        if self.held.rows > 2 * self.limit:
            self.threshold = self.held.smallest(self.limit)
            self._release(self.threshold)

    def end(self) -> None:
        """Hold no more rows out than the limit."""
        if self.held.rows > self.limit:
            self._release(self.held.smallest(self.limit))

    def _release(self, threshold: float) -> None:
        for released in self.held.release(threshold):
            self._learn(released)

    def _learn(self, rows: pa.Table) -> None:
        self.total = merge(self.total, summarise(self.made, rows))


def learn(
    tasks: Iterable[Task],
    question: Question,
    threads: int,
    known: Model | None = None,
    inferred: Inferred | None = None,
) -> tuple[Model, Held]:
    """(what was learned from all rows but those held out, these).

    If the table is of a file in which all values are text, the labels are text as well, until
    `relabelling.with_typed_labels` finds out what all of them read as.

    The first 100,000 rows say which columns there are, unless the model is known. Labels, levels
    and whatever else the rows hold are counted as they come, and added in the order of the
    stream; the result does not depend on how the rows are cut into batches, nor on the number of
    threads.

    Parameters
    ----------
    tasks : pieces of work.
    known : a model whose columns and families are taken over.
    inferred : says what the families are, given the first rows; else they are inferred.

    Raises
    ------
    LearningError : if there is no such column, no row, or a weight that is none.
    TableError : if the table cannot be read.
    ValueError : if no column is left to learn from.
    """
    head, rest = _head(_drawn(tasks, question, threads), question, threads, inferred is None)
    now = _planned(head, question, known, inferred)
    for found in in_order(now.count, chain(_again(head), rest), threads):
        now.add(found)
    now.end()
    now.total = now.total.canonical()  # once here: each estimate and each file asks for it
    give_back()
    return settled(now.made, now.total), now.held


def planned(
    tasks: Iterable[Task], question: Question, threads: int, known: Model | None = None,
    inferred: Inferred | None = None,
) -> Plan:  # fmt: skip
    """What `learn` decides of a stream before its rows are counted; parameters and errors as its.

    No more is read than that takes.
    """
    head, _ = _head(map(Drawn, tasks), question, threads, inferred is None)
    return _planned(head, question, known, inferred).made


def _planned(
    head: list[tuple[pa.RecordBatch, Drawn]], question: Question, known: Model | None,
    inferred: Inferred | None,
) -> _Pass:  # fmt: skip
    """What the head of a stream decides; nothing is learned yet."""
    if not any(batch.num_rows for batch, _ in head):
        raise LearningError("there are no rows")
    first = [_split(batch, own.draws, 1.0)[0] for batch, own in head]
    made = plan(first, question, known, inferred)
    width = len({name for batch, _ in head for name in batch.schema.names})
    return _Pass(made, made.blank.copy(), max(1, min(MOST, CELLS // max(1, width))))


def _drawn(tasks: Iterable[Task], question: Question, threads: int) -> Iterator[Drawn]:
    """The pieces of work with the draws of their rows; read before, if some are to be held out.

    Whether there are copies among the rows is looked for in the first ones.
    """
    if question.holdout == 0:
        yield from map(Drawn, tasks)
        return
    draw, missing = Draw(question.holdout, question.seed), question.wishes.missing

    def read(task: Task) -> tuple[pa.RecordBatch, LabelCodes]:
        batch = task()
        return batch, labelled(pa.Table.from_batches([batch]), question.target, missing)

    stream = in_order(read, tasks, threads)
    first: list[tuple[pa.RecordBatch, LabelCodes]] = []
    while (
        sum(batch.num_rows for batch, _ in first) < MOST
        and (more := next(stream, None)) is not None
    ):
        first.append(more)
    copies = _copies_of([batch for batch, _ in first], question, draw)
    for batch, labels in chain(first, stream):
        draws = draw.of(labels, None if copies is None else copies.keys(batch))
        yield Drawn(lambda batch=batch: batch, draws)  # type: ignore[misc]


def _copies_of(first: Sequence[pa.RecordBatch], question: Question, draw: Draw) -> Copies | None:
    """The copies among the first rows of a stream, which settle bounds; None if there are none."""
    if not first:
        return None
    rows = together([pa.Table.from_batches([batch]) for batch in first])
    missing = question.wishes.missing
    names = features_of(rows.column_names, question)
    labels = labelled(rows, question.target, missing)
    if (found := Copies.among(rows, labels, names, missing)) is not None:
        draw.bound(labels, found.keys(rows))
    return found


def _split(
    batch: pa.RecordBatch, draws: Float64 | None, threshold: float
) -> tuple[pa.Table, pa.Table, Float64]:
    """(rows to learn, rows to hold out, their draws) of a batch."""
    table = pa.Table.from_batches([batch])
    if draws is None:
        return table, table.slice(0, 0), np.zeros(0)
    chosen = draws < threshold
    return table.filter(pa.array(~chosen)), table.filter(pa.array(chosen)), draws[chosen]


def _head(
    stream: Iterator[Drawn], question: Question, threads: int, looks: bool
) -> tuple[list[tuple[pa.RecordBatch, Drawn]], Iterator[Drawn]]:
    """(the batches of the first rows, from which families are inferred; what comes after them).

    As many pieces are read at once as there are threads; those that are too many come again.
    Fewer rows do where they settle the families, if somebody `looks` at no more of them.
    """
    head: list[tuple[pa.RecordBatch, Drawn]] = []
    ahead: list[tuple[pa.RecordBatch, Drawn]] = []
    rows = size = 0
    while ahead or (ahead := list(in_order(_read, islice(stream, threads), threads))):
        batch, drawn = ahead.pop(0)
        head.append((batch, drawn))
        rows += batch.num_rows if drawn.draws is None else int(np.isinf(drawn.draws).sum())
        size += bytes_of(batch)
        if len(head) == 1:
            features = features_of(batch.schema.names, question)
            settled = question.wishes.settled(features).issuperset(features)
            if looks and not settled:
                settled = settled_by(_split(batch, drawn.draws, 1.0)[0], question)
            most = 1 if settled else 1.05 * first_rows(len(features))
        if rows >= most or (question.wishes.whole is not None and size >= HEAD):
            break
    return head, chain(_again(ahead), stream)


def _read(drawn: Drawn) -> tuple[pa.RecordBatch, Drawn]:
    """The batch of a piece of work, and that."""
    return drawn.task(), drawn


def _again(head: list[tuple[pa.RecordBatch, Drawn]]) -> Iterator[Drawn]:
    """The first batches as pieces of work; each is let go of as it is done."""
    while head:
        batch, drawn = head.pop(0)
        yield drawn._replace(task=lambda batch=batch: batch)  # type: ignore[misc]
