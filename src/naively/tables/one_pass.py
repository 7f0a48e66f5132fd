"""One pass over a stream in constant memory, rows held out on the way.

It may stop between two pieces of the stream, and go on from there in another process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol

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
    met : what later draws depend on, as JSON has it (see `_drawn`).
    """

    task: Task
    draws: Float64 | None = None
    met: dict[str, Any] | None = None


class Counted(NamedTuple):
    """What a piece came to: models of the rows to learn, the rows held out with their draws."""

    parts: list[Model]
    out: pa.Table
    draws: Float64
    rows: int
    met: dict[str, Any] | None


@dataclass
class Halfway:
    """What was learned of a stream up to the end of a piece.

    Attributes
    ----------
    made : Plan, what the head decided.
    total : Model of the rows that were learned.
    limit : rows held out, at most.
    held : the rows held out.
    threshold : of their draws.
    met : what later draws depend on; empty if none is held out.
    ends : rows up to the end of each piece.
    """

    made: Plan
    total: Model
    limit: int
    held: Held = field(default_factory=Held)
    threshold: float = 1.0
    met: dict[str, Any] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """How many rows there were so far."""
        return self.ends[-1] if self.ends else 0

    def count(self, drawn: Drawn) -> Counted:
        """What a piece comes to; in any thread."""
        batch, out, draws = _split(drawn.task(), drawn.draws, self.threshold)
        parts = [summarise(self.made, part) for _, part in slices(batch)]
        return Counted(parts, out, draws, batch.num_rows + out.num_rows, drawn.met)

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
        self.met = found.met or {}
        self.ends.append(self.rows + found.rows)

    def end(self) -> None:
        """Hold no more rows out than the limit."""
        if self.held.rows > self.limit:
            self._release(self.held.smallest(self.limit))

    def _release(self, threshold: float) -> None:
        for released in self.held.release(threshold):
            self._learn(released)

    def _learn(self, rows: pa.Table) -> None:
        self.total = merge(self.total, summarise(self.made, rows))


class Keeper(Protocol):
    """Who keeps what was learned halfway.

    Attributes
    ----------
    begun : what was kept of an earlier pass that ended early; None to begin anew.
    """

    begun: Halfway | None

    def due(self, rows: int) -> bool:
        """Whether to keep it, after so many rows."""

    def keep(self, halfway: Halfway) -> None:
        """Keep it: nothing else is going on."""


def learn(
    tasks: Iterable[Task],
    question: Question,
    threads: int,
    known: Model | None = None,
    keeper: Keeper | None = None,
    inferred: Inferred | None = None,
) -> tuple[Model, Held]:
    """(what was learned from all rows but those held out, these).

    If the table is of a file in which all values are text, the labels are text as well, until
    `relabelling.with_typed_labels` finds out what all of them read as.

    The first 100,000 rows say which columns there are, unless the model is known. Labels, levels
    and whatever else the rows hold are counted as they come, and added in the order of the
    stream; the result does not depend on how the rows are cut into batches, nor on the number of
    threads, nor on where a pass ended early and went on.

    Parameters
    ----------
    tasks : pieces of work; of a pass that goes on, those that follow what was kept.
    known : a model whose columns and families are taken over.
    keeper : who keeps what was learned so far, from the head of the stream on.
    inferred : says what the families are, given the first rows; else they are inferred.

    Raises
    ------
    LearningError : if there is no such column, no row, or a weight that is none.
    TableError : if the table cannot be read.
    ValueError : if no column is left to learn from.
    """
    now = None if keeper is None else keeper.begun
    stream = _drawn(tasks, question, threads, {} if now is None else now.met)
    begin: Iterator[Drawn] = iter(())
    if now is None:
        # with a keeper the stream is read no further than what is learned
        head, stream = _head(stream, question, threads if keeper is None else 1, inferred is None)
        now, begin = _planned(head, question, known, inferred), _again(head)
    rest: Iterator[Drawn | None] = stream if keeper is None else _keeping(stream, now, keeper)
    for found in in_order(now.count, chain(begin, rest), threads):
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
) -> Halfway:  # fmt: skip
    """What the head of a stream decides; nothing is learned yet."""
    if not any(batch.num_rows for batch, _ in head):
        raise LearningError("there are no rows")
    first = [_split(batch, own.draws, 1.0)[0] for batch, own in head]
    made = plan(first, question, known, inferred)
    width = len({name for batch, _ in head for name in batch.schema.names})
    return Halfway(made, made.blank.copy(), max(1, min(MOST, CELLS // max(1, width))))


def _keeping(stream: Iterator[Drawn], now: Halfway, keeper: Keeper) -> Iterator[Drawn | None]:
    """The same pieces; between two of them all before is added, and kept."""
    for drawn in stream:
        yield drawn
        if keeper.due(now.rows):
            yield None  # a pause, after which all before is added
            keeper.keep(now)


def _drawn(
    tasks: Iterable[Task], question: Question, threads: int, met: dict[str, Any]
) -> Iterator[Drawn]:
    """The pieces of work with the draws of their rows; read before, if some are to be held out.

    Whether there are copies among the rows is looked for in the first ones. Later draws depend on
    that, on how many rows each class had, and on the bounds that the first ones settled: `met` has
    them as ``copies``, ``rows`` and ``bounds``.
    """
    if question.holdout == 0:
        yield from map(Drawn, tasks)
        return
    draw, copies = Draw(question.holdout, question.seed), None
    missing = question.wishes.missing

    def read(task: Task) -> tuple[pa.RecordBatch, LabelCodes]:
        batch = task()
        return batch, labelled(pa.Table.from_batches([batch]), question.target, missing)

    stream = in_order(read, tasks, threads)
    first: list[tuple[pa.RecordBatch, LabelCodes]] = []
    if met:
        draw.met.update(met["rows"])
        draw.bounds.update(met["bounds"])
        if met["copies"] is not None:
            names, recurring = met["copies"]
            copies = Copies((*names,), (*missing,), (*recurring,))
    else:
        while (
            sum(batch.num_rows for batch, _ in first) < MOST
            and (more := next(stream, None)) is not None
        ):
            first.append(more)
        copies = _copies_of([batch for batch, _ in first], question, draw)
    for batch, labels in chain(first, stream):
        draws = draw.of(labels, None if copies is None else copies.keys(batch))
        noted = None if copies is None else [[*copies.names], [*copies.recurring]]
        known = {"rows": dict(draw.met), "bounds": dict(draw.bounds), "copies": noted}
        yield Drawn(lambda batch=batch: batch, draws, known)  # type: ignore[misc]


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
