"""Rows that are held out of a stream, each with a random number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from naively.core.exact import Float64, Int64
from naively.core.hashing import GOLDEN, UInt64, hashed, mixed
from naively.core.model import Model
from naively.core.workers import give_back, in_order
from naively.io.arrow import together
from naively.io.inputs import DECLARED, Task, is_declared
from naively.pooling.canonical import duplicated
from naively.statistics.rows import distinct
from naively.statistics.sample import keys_of, ordered
from naively.tables import values
from naively.tables.counting import slices
from naively.tables.encoding import cells_of
from naively.tables.inference import first_rows
from naively.tables.learning import (
    Inferred,
    LearningError,
    Plan,
    TrainingSpec,
    features_of,
    labelled,
    merge,
    plan,
    settled,
    settled_by,
    summarise,
)
from naively.tables.targets import LabelCodes
from naively.tables.values import bytes_of


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

    def cut(self, threshold: float) -> None:
        """Let go of the rows that are not below a lower threshold."""
        tables, draws = self.tables, self.draws
        self.tables, self.draws, self.rows = [], [], 0
        for table, own in zip(tables, draws, strict=True):
            kept = own < threshold
            self.add(table.filter(pa.array(kept)), own[kept])

    def smallest(self, count: int) -> float:
        """The threshold below which so many rows are."""
        return float(np.partition(np.concatenate(self.draws), count)[count])


def compact(table: pa.Table, needed: Collection[str | None]) -> pa.Table:
    """The columns that matter, marked as they were, without the levels of rows not there."""
    columns, fields = [], []
    for k, one in enumerate(table.schema):
        if one.name in needed:
            column, kind = table.column(k), one.type
            columns.append(column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column)
            mark = DECLARED if is_declared(one) else one.metadata
            fields.append(pa.field(one.name, columns[-1].type, metadata=mark))
    return pa.table(columns, schema=pa.schema(fields))


# ---- holdout -------------------------------------------------------------------------------------


FINEST = 10**9  # denominator of the part to hold out: no product below leaves int64


@dataclass(frozen=True)
class Copies:
    """What tells rows apart where some are copies of others.

    Attributes
    ----------
    names : of the columns.
    missing : how a missing value is spelled.
    recurring : keys of rows that recur, of which each is a draw of its own.
    """

    names: tuple[str, ...]
    missing: tuple[str, ...]
    recurring: tuple[int, ...]

    @classmethod
    def among(
        cls, rows: pa.Table, labels: LabelCodes, names: Sequence[str], missing: Collection[str]
    ) -> Copies | None:
        """Those among some rows; None if there are none."""
        known = np.flatnonzero(labels[1] < len(labels[0]))
        cells = cells_of(rows, names, missing)
        if not len(known) or not names:
            return None
        first, kind = distinct(cells.codes, [len(one) + 1 for one in cells.levels])
        size, y = len(first), labels[1][known]
        each, count = np.unique(y * size + kind[known], return_counts=True)
        if not (count > 1).any():
            return None
        different, order = ordered(cells.codes[first], [*cells.levels])
        rank = np.argsort(order, kind="stable")
        y, row = each // size, rank[each % size]
        found = duplicated(
            different.codes, different.levels, y, row, count.astype(np.float64), len(labels[0])
        )
        if not found.any():
            return None
        recurring = np.unique(different.keys[row[(count > 1) & ~found]])
        return cls((*names,), (*missing,), tuple(recurring.tolist()))

    def keys(self, rows: pa.RecordBatch | pa.Table) -> UInt64:
        """64 bits that stand for what is in each row; 0 for rows that recur."""
        cells = cells_of(rows, self.names, self.missing)
        found = keys_of(cells.codes, [*cells.levels])
        return np.where(np.isin(found, np.array(self.recurring, np.uint64)), np.uint64(0), found)


class Draw:
    """Draws the rows to hold out, batch by batch.

    The rows of a class are cut into groups, 1/part of them each, in the order in which they come,
    and one row of each group is held out; or one is learned, if most are to be held out. So of n
    rows of a class part · n are held out, rounded up or down. The first row of a class is always
    learned. Which row of a group is drawn depends on the seed, the class and the number of the
    group: not on other classes, on batches or on threads.

    Rows that have keys are drawn by a hash of these: of each class those below a bound, so that it
    has its part of the different ones among the first rows.

    Parameters
    ----------
    part : of the rows to hold out, above 0 and below 1.
    seed : which ones.
    """

    def __init__(self, part: float, seed: int) -> None:
        self.part, self.most = part, part > 0.5
        rate = Fraction(part).limit_denominator(FINEST)
        rate = min(max(1 - rate if self.most else rate, Fraction(1, FINEST)), Fraction(1, 2))
        self.over, self.under = rate.numerator, rate.denominator
        self.seed = seed
        self.met: dict[str, int] = {}
        self.bounds: dict[str, float] = {}

    def bound(self, labels: LabelCodes, known: UInt64) -> None:
        """Settle the bounds, by the first rows."""
        rows = np.flatnonzero((labels[1] < len(labels[0])) & (known != 0))
        for code, label in enumerate(labels[0].tolist()):
            own = np.unique(known[rows[labels[1][rows] == code]])
            luck = np.sort(_part(mixed(own + np.uint64(self._key(_name(label))))))
            held = min(round(self.part * len(own)), len(own) - 1)
            if held >= 0:
                self.bounds[_name(label)] = float(luck[held])

    def of(self, labels: LabelCodes, known: UInt64 | None = None) -> Float64:
        """For each row of the next batch a number from 0 to below 1 if it is held out, or else inf.

        If not all that are drawn can be held, those with the smallest numbers are a sample of
        them, in which each class has its part again.

        Parameters
        ----------
        labels : of the rows.
        known : (n,) keys of the rows that are drawn by these, 0 of others; None for no keys.
        """
        names, place = np.unique(
            np.array([_name(label) for label in labels[0].tolist()], object), return_inverse=True
        )
        codes = np.append(place, len(names))[labels[1]]
        sizes = np.bincount(codes, minlength=len(names) + 1)[:-1]
        rows = np.argsort(codes, kind="stable")[: sizes.sum()]  # those without a label come last
        before = np.array([self.met.get(name, 0) for name in names], np.int64)
        first = np.cumsum(sizes) - sizes
        number = np.arange(len(rows)) + np.repeat(before - first, sizes)
        keys = np.repeat(np.array([self._key(name) for name in names], np.uint64), sizes)
        self.met.update(zip(names, (before + sizes).tolist(), strict=True))
        draws = np.full(len(codes), np.inf)
        draws[rows] = self._drawn(number, keys)
        if known is not None:
            some = rows[known[rows] != 0]
            own = known[some]
            of_class = np.array([self._key(name) for name in names], np.uint64)[codes[some]]
            bounds = np.array([self.bounds.get(name, self.part) for name in names])[codes[some]]
            luck = _part(mixed(own + of_class))
            draws[some] = np.divide(
                luck, bounds, out=np.full(len(some), np.inf), where=luck < bounds
            )
        return draws

    def _key(self, name: str) -> int:
        """64 bits that stand for a class and the seed."""
        return hashed(f"{self.seed} {name}".encode(errors="surrogatepass"))

    def _drawn(self, number: Int64, keys: UInt64) -> Float64:
        """The draws of the rows with these numbers among those of their classes."""
        group = number * self.over // self.under
        start, end = (-(-k * self.under // self.over) for k in (group, group + 1))
        place, size = number - start, end - start
        luck = _part(mixed(_walked(keys, group)))
        one = (luck * size).astype(np.int64)
        opening = group == 0
        one[opening] = 0 if self.most else 1 + (luck * (size - 1)).astype(np.int64)[opening]
        held = place != one if self.most else place == one
        which = number - group - (place > one) if self.most else group
        return np.where(held, _part(_walked(keys, which)), np.inf)


def _name(label: Any) -> str:
    """A label as text, the same from whatever format: True of a CSV file is true of another."""
    return str(values.level_text(label, ()))


def _walked(keys: UInt64, steps: Int64) -> UInt64:
    """As many steps of the golden ratio on from each key, modulo 2^64."""
    return keys + (steps.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)


def _part(bits: UInt64) -> Float64:
    """64 bits as a number from 0 to below 1."""
    return np.ldexp((bits >> np.uint64(11)).astype(np.float64), -53)


# ---- one pass ------------------------------------------------------------------------------------


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
        spec = self.made.spec
        needed = {*self.made.blank.schema.known, spec.target, spec.weight}
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
    spec: TrainingSpec,
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
    head, rest = _head(_drawn(tasks, spec, threads), spec, threads, inferred is None)
    now = _planned(head, spec, known, inferred)
    for found in in_order(now.count, chain(_again(head), rest), threads):
        now.add(found)
    now.end()
    now.total = now.total.canonical()  # once here: each estimate and each file asks for it
    give_back()
    return settled(now.made, now.total), now.held


def planned(
    tasks: Iterable[Task], spec: TrainingSpec, threads: int, known: Model | None = None,
    inferred: Inferred | None = None,
) -> Plan:  # fmt: skip
    """What `learn` decides of a stream before its rows are counted; parameters and errors as its.

    No more is read than that takes.
    """
    head, _ = _head(map(Drawn, tasks), spec, threads, inferred is None)
    return _planned(head, spec, known, inferred).made


def _planned(
    head: list[tuple[pa.RecordBatch, Drawn]], spec: TrainingSpec, known: Model | None,
    inferred: Inferred | None,
) -> _Pass:  # fmt: skip
    """What the head of a stream decides; nothing is learned yet."""
    if not any(batch.num_rows for batch, _ in head):
        raise LearningError("there are no rows")
    first = [_split(batch, own.draws, 1.0)[0] for batch, own in head]
    made = plan(first, spec, known, inferred)
    width = len({name for batch, _ in head for name in batch.schema.names})
    return _Pass(made, made.blank.copy(), max(1, min(MOST, CELLS // max(1, width))))


def _drawn(tasks: Iterable[Task], spec: TrainingSpec, threads: int) -> Iterator[Drawn]:
    """The pieces of work with the draws of their rows; read before, if some are to be held out.

    Whether there are copies among the rows is looked for in the first ones.
    """
    if spec.holdout == 0:
        yield from map(Drawn, tasks)
        return
    draw, missing = Draw(spec.holdout, spec.seed), spec.columns.missing

    def read(task: Task) -> tuple[pa.RecordBatch, LabelCodes]:
        batch = task()
        return batch, labelled(pa.Table.from_batches([batch]), spec.target, missing)

    stream = in_order(read, tasks, threads)
    first: list[tuple[pa.RecordBatch, LabelCodes]] = []
    while (
        sum(batch.num_rows for batch, _ in first) < MOST
        and (more := next(stream, None)) is not None
    ):
        first.append(more)
    copies = _copies_of([batch for batch, _ in first], spec, draw)
    for batch, labels in chain(first, stream):
        draws = draw.of(labels, None if copies is None else copies.keys(batch))
        yield Drawn(lambda batch=batch: batch, draws)  # type: ignore[misc]


def _copies_of(first: Sequence[pa.RecordBatch], spec: TrainingSpec, draw: Draw) -> Copies | None:
    """The copies among the first rows of a stream, which settle bounds; None if there are none."""
    if not first:
        return None
    rows = together([pa.Table.from_batches([batch]) for batch in first])
    missing = spec.columns.missing
    names = features_of(rows.column_names, spec)
    labels = labelled(rows, spec.target, missing)
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
    stream: Iterator[Drawn], spec: TrainingSpec, threads: int, looks: bool
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
            features = features_of(batch.schema.names, spec)
            settled = spec.columns.settled(features).issuperset(features)
            if looks and not settled:
                settled = settled_by(_split(batch, drawn.draws, 1.0)[0], spec)
            most = 1 if settled else 1.05 * first_rows(len(features))
        if rows >= most or (spec.columns.whole is not None and size >= HEAD):
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
