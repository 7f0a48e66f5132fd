"""Train a model in one pass over a stream, and hold out a random sample of its rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from naively.core.exact import Float64, Int64
from naively.core.hashing import GOLDEN, UInt64, hashed, mixed
from naively.core.labels import Label
from naively.core.workers import give_back, in_order
from naively.io.arrow import together
from naively.io.inputs import DECLARED, Task, is_declared, task_of
from naively.model.model import Model
from naively.pooling.duplicates import duplicated
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
    """Held-out rows, each with a random number below the threshold."""

    tables: list[pa.Table] = field(default_factory=list)
    draws: list[Float64] = field(default_factory=list)
    rows: int = 0

    def add(self, table: pa.Table, draws: Float64) -> None:
        """Add held-out rows."""
        if table.num_rows:
            self.tables.append(table)
            self.draws.append(draws)
            self.rows += table.num_rows

    def release(self, threshold: float) -> Iterator[pa.Table]:
        """Remove and yield the rows that are not below a lower threshold."""
        tables, draws = self.tables, self.draws
        self.tables, self.draws, self.rows = [], [], 0
        for table, table_draws in zip(tables, draws, strict=True):
            below = table_draws < threshold
            yield table.filter(pa.array(~below))
            self.add(table.filter(pa.array(below)), table_draws[below])

    def cut(self, threshold: float) -> None:
        """Remove the rows that are not below a lower threshold."""
        for _ in self.release(threshold):
            pass

    def smallest(self, count: int) -> float:
        """Return the threshold below which `count` rows are."""
        return float(np.partition(np.concatenate(self.draws), count)[count])


def compact(table: pa.Table, needed: Collection[str | None]) -> pa.Table:
    """Select the needed columns, with their marks, and decode dictionaries to save memory."""
    columns, fields = [], []
    for k, source_field in enumerate(table.schema):
        if source_field.name in needed:
            column, kind = table.column(k), source_field.type
            columns.append(column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column)
            mark = DECLARED if is_declared(source_field) else source_field.metadata
            fields.append(pa.field(source_field.name, columns[-1].type, metadata=mark))
    return pa.table(columns, schema=pa.schema(fields))


# ---- holdout -------------------------------------------------------------------------------------


FINEST = 10**9  # maximum denominator of the held-out share: products below fit into int64


@dataclass(frozen=True)
class Copies:
    """Keys by which duplicate rows are held out together.

    recurring : keys of rows that are drawn independently, although they recur: they recur by
        chance, not as duplicates.
    """

    names: tuple[str, ...]
    missing: tuple[str, ...]
    recurring: tuple[int, ...]

    @classmethod
    def among(
        cls, rows: pa.Table, labels: LabelCodes, names: Sequence[str], missing: Collection[str]
    ) -> Copies | None:
        """Find duplicates among some rows; None if there are none."""
        labelled_rows = np.flatnonzero(labels[1] < len(labels[0]))
        cells = cells_of(rows, names, missing)
        if not len(labelled_rows) or not names:
            return None
        first, kind = distinct(cells.codes, [len(levels) + 1 for levels in cells.levels])
        size, y = len(first), labels[1][labelled_rows]
        groups, counts = np.unique(y * size + kind[labelled_rows], return_counts=True)
        if not (counts > 1).any():
            return None
        different, order = ordered(cells.codes[first], [*cells.levels])
        rank = np.argsort(order, kind="stable")
        y, row = groups // size, rank[groups % size]
        is_duplicate = duplicated(
            different.codes, different.levels, y, row, counts.astype(np.float64), len(labels[0])
        )
        if not is_duplicate.any():
            return None
        recurring = np.unique(different.keys[row[(counts > 1) & ~is_duplicate]])
        return cls((*names,), (*missing,), tuple(recurring.tolist()))

    def keys(self, rows: pa.RecordBatch | pa.Table) -> UInt64:
        """Return a 64-bit hash of the content of each row; 0 for rows drawn independently."""
        cells = cells_of(rows, self.names, self.missing)
        hashes = keys_of(cells.codes, [*cells.levels])
        return np.where(np.isin(hashes, np.array(self.recurring, np.uint64)), np.uint64(0), hashes)


class Draw:
    """Draw a stratified sample of rows to hold out, batch by batch.

    The rows of a class are split into consecutive groups of 1/part rows, and one row of each group
    is held out (if part > 1/2, all but one row of groups of 1/(1 - part)). So part · n of n rows of
    a class are held out, rounded up or down. The first row of a class is always a training row.
    The row of a group depends on the seed, the class and the number of the group, not on other
    classes, batches or threads.

    Rows with keys are drawn by a hash of the key instead, so that duplicates are drawn together: a
    row is held out if the hash is below a bound of its class, which `bound` sets so that the share
    of the distinct first rows is `share`.

    share : share of the rows to hold out, in (0, 1).
    """

    def __init__(self, share: float, seed: int) -> None:
        self.share, self.most = share, share > 0.5
        rate = Fraction(share).limit_denominator(FINEST)
        rate = min(max(1 - rate if self.most else rate, Fraction(1, FINEST)), Fraction(1, 2))
        self.over, self.under = rate.numerator, rate.denominator
        self.seed = seed
        self.rows_by_label: dict[str, int] = {}
        self.bounds: dict[str, float] = {}

    def bound(self, labels: LabelCodes, row_keys: UInt64) -> None:
        """Set the bound of each class from the keys of the first rows."""
        rows = np.flatnonzero((labels[1] < len(labels[0])) & (row_keys != 0))
        for code, label in enumerate(labels[0].tolist()):
            keys = np.unique(row_keys[rows[labels[1][rows] == code]])
            luck = np.sort(_part(mixed(keys + np.uint64(self._key(_name(label))))))
            n_held_out = min(round(self.share * len(keys)), len(keys) - 1)
            if n_held_out >= 0:
                self.bounds[_name(label)] = float(luck[n_held_out])

    def of(self, labels: LabelCodes, row_keys: UInt64 | None = None) -> Float64:
        """Return a number in [0, 1) for each held-out row of the next batch, inf for other rows.

        If there are too many held-out rows, those with the smallest numbers are again a stratified
        sample.

        row_keys : (n,) keys of rows, 0 of rows drawn independently; None for no keys.
        """
        names, place = np.unique(
            np.array([_name(label) for label in labels[0].tolist()], object), return_inverse=True
        )
        codes = np.append(place, len(names))[labels[1]]
        sizes = np.bincount(codes, minlength=len(names) + 1)[:-1]
        rows = np.argsort(codes, kind="stable")[: sizes.sum()]  # those without a label come last
        before = np.array([self.rows_by_label.get(name, 0) for name in names], np.int64)
        first = np.cumsum(sizes) - sizes
        number = np.arange(len(rows)) + np.repeat(before - first, sizes)
        class_keys = np.array([self._key(name) for name in names], np.uint64)
        self.rows_by_label.update(zip(names, (before + sizes).tolist(), strict=True))
        draws = np.full(len(codes), np.inf)
        draws[rows] = self._drawn(number, np.repeat(class_keys, sizes))
        if row_keys is not None:
            repeated = rows[row_keys[rows] != 0]
            class_bounds = np.array([self.bounds.get(name, self.share) for name in names])
            bounds = class_bounds[codes[repeated]]
            luck = _part(mixed(row_keys[repeated] + class_keys[codes[repeated]]))
            unlucky = np.full(len(repeated), np.inf)
            draws[repeated] = np.divide(luck, bounds, out=unlucky, where=luck < bounds)
        return draws

    def _key(self, name: str) -> int:
        """Return a 64-bit hash of a class and the seed."""
        return hashed(f"{self.seed} {name}".encode(errors="surrogatepass"))

    def _drawn(self, number: Int64, keys: UInt64) -> Float64:
        """Return the draws of rows, given their positions within their classes."""
        group = number * self.over // self.under
        start, end = (-(-k * self.under // self.over) for k in (group, group + 1))
        place, size = number - start, end - start
        luck = _part(mixed(_walked(keys, group)))
        choice = (luck * size).astype(np.int64)
        opening = group == 0
        choice[opening] = 0 if self.most else 1 + (luck * (size - 1)).astype(np.int64)[opening]
        is_held_out = place != choice if self.most else place == choice
        position = number - group - (place > choice) if self.most else group
        return np.where(is_held_out, _part(_walked(keys, position)), np.inf)


def _name(label: Label) -> str:
    """Return a label as text, the same for all formats: True of a CSV file equals true."""
    return str(values.level_text(label, ()))


def _walked(keys: UInt64, steps: Int64) -> UInt64:
    """Return key + (steps + 1) · GOLDEN modulo 2^64: the states of a SplitMix64 generator."""
    return keys + (steps.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)


def _part(bits: UInt64) -> Float64:
    """Map 64 bits to [0, 1)."""
    return np.ldexp((bits >> np.uint64(11)).astype(np.float64), -53)


# ---- one pass ------------------------------------------------------------------------------------


CELLS = 1 << 22  # maximum number of cells of held-out rows
HEAD = 1 << 26
"""Approximate number of first bytes to read, if only the names of the columns are needed."""
MOST = 100_000  # maximum number of held-out rows


class Drawn(NamedTuple):
    """A task that makes a batch, and which of its rows are held out.

    draws : (n,) draws of its rows (see `Draw`); None if no row is held out.
    """

    task: Task
    draws: Float64 | None = None


class Counted(NamedTuple):
    """A counted batch: models of its training rows, its held-out rows and their draws."""

    parts: list[Model]
    out: pa.Table
    draws: Float64


@dataclass
class _Pass:
    """The state of one pass over a stream.

    threshold : upper bound of the draws of held-out rows.
    """

    plan: Plan
    total: Model
    limit: int
    held: Held = field(default_factory=Held)
    threshold: float = 1.0

    def count(self, drawn: Drawn) -> Counted:
        """Count a batch; safe to call in any thread."""
        batch, out, draws = _split(drawn.task(), drawn.draws, self.threshold)
        parts = [summarise(self.plan, part) for _, part in slices(batch)]
        return Counted(parts, out, draws)

    def add(self, counted: Counted) -> None:
        """Add the next counted batch, in the order of the stream."""
        for part in counted.parts:
            self.total = merge(self.total, part)
        out, draws = counted.out, counted.draws
        # the threshold may have been lowered after `count`: results do not depend on timing
        is_training = draws >= self.threshold
        if is_training.any():
            self._learn(out.filter(pa.array(is_training)))
        spec = self.plan.spec
        needed = {*self.plan.blank.schema.family_of, spec.target, spec.weight}
        self.held.add(compact(out.filter(pa.array(~is_training)), needed), draws[~is_training])
        if self.held.rows > 2 * self.limit:
            self.threshold = self.held.smallest(self.limit)
            self._release(self.threshold)

    def end(self) -> None:
        """Reduce the held-out rows to the limit."""
        if self.held.rows > self.limit:
            self._release(self.held.smallest(self.limit))

    def _release(self, threshold: float) -> None:
        for table in self.held.release(threshold):
            self._learn(table)

    def _learn(self, rows: pa.Table) -> None:
        self.total = merge(self.total, summarise(self.plan, rows))


def learn(
    tasks: Iterable[Task], spec: TrainingSpec, threads: int, structure: Model | None = None,
    inferred: Inferred | None = None,
) -> tuple[Model, Held]:  # fmt: skip
    """Train a model on a stream; return (model of the training rows, held-out rows).

    If all values of the file are text, so are the labels, until
    `naively.tables.targets.with_typed_labels` converts them.

    The first 100,000 rows determine the columns, unless a model is given. Batches are counted in
    parallel and added in the order of the stream; the result depends neither on the batches nor on
    the number of threads. Raises LearningError if there are no rows, a column does not exist, or a
    weight is invalid; TableError if the table cannot be read; ValueError if no feature is left.

    structure : a model whose columns and families are used.
    inferred : a function that returns the schema, given the first rows; None to infer it.
    """
    head, tasks_left = _head(_drawn(tasks, spec, threads), spec, threads, inferred is None)
    training = _planned(head, spec, structure, inferred)
    for counted in in_order(training.count, chain(_again(head), tasks_left), threads):
        training.add(counted)
    training.end()
    training.total = training.total.canonical()  # once here, as every estimate and file needs it
    give_back()
    return settled(training.plan, training.total), training.held


def planned(
    tasks: Iterable[Task], spec: TrainingSpec, threads: int, structure: Model | None = None,
    inferred: Inferred | None = None,
) -> Plan:  # fmt: skip
    """Return the plan of `learn` for a stream, reading only its first rows."""
    head, _ = _head(map(Drawn, tasks), spec, threads, inferred is None)
    return _planned(head, spec, structure, inferred).plan


def _planned(
    head: list[tuple[pa.RecordBatch, Drawn]], spec: TrainingSpec, structure: Model | None,
    inferred: Inferred | None,
) -> _Pass:  # fmt: skip
    """Start a pass with the plan from the first batches; no row is counted yet."""
    if not any(batch.num_rows for batch, _ in head):
        raise LearningError("there are no rows")
    first = [_split(batch, drawn.draws, 1.0)[0] for batch, drawn in head]
    plan_ = plan(first, spec, structure, inferred)
    width = len({name for batch, _ in head for name in batch.schema.names})
    return _Pass(plan_, plan_.blank.copy(), max(1, min(MOST, CELLS // max(1, width))))


def _drawn(tasks: Iterable[Task], spec: TrainingSpec, threads: int) -> Iterator[Drawn]:
    """Yield the tasks with the draws of their rows; batches are read first if rows are held out.

    Duplicates are detected in the first rows.
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
    while sum(batch.num_rows for batch, _ in first) < MOST and (item := next(stream, None)):
        first.append(item)
    copies = _copies_of([batch for batch, _ in first], spec, draw)
    for batch, labels in chain(first, stream):
        draws = draw.of(labels, None if copies is None else copies.keys(batch))
        yield Drawn(task_of(batch), draws)


def _copies_of(first: Sequence[pa.RecordBatch], spec: TrainingSpec, draw: Draw) -> Copies | None:
    """Find duplicates among the first rows and set the bounds of `draw`; None without any."""
    if not first:
        return None
    rows = together([pa.Table.from_batches([batch]) for batch in first])
    missing = spec.columns.missing
    names = features_of(rows.column_names, spec)
    labels = labelled(rows, spec.target, missing)
    if (copies := Copies.among(rows, labels, names, missing)) is not None:
        draw.bound(labels, copies.keys(rows))
    return copies


def _split(
    batch: pa.RecordBatch, draws: Float64 | None, threshold: float
) -> tuple[pa.Table, pa.Table, Float64]:
    """Split a batch into (training rows, held-out rows, draws of the held-out rows)."""
    table = pa.Table.from_batches([batch])
    if draws is None:
        return table, table.slice(0, 0), np.zeros(0)
    chosen = draws < threshold
    return table.filter(pa.array(~chosen)), table.filter(pa.array(chosen)), draws[chosen]


def _head(
    stream: Iterator[Drawn], spec: TrainingSpec, threads: int, looks: bool
) -> tuple[list[tuple[pa.RecordBatch, Drawn]], Iterator[Drawn]]:
    """Return (batches of the first rows, for the plan; the rest of the stream).

    As many batches are read at a time as there are threads; superfluous ones are put back. If
    `looks`, reading stops as soon as the schema is settled.
    """
    head: list[tuple[pa.RecordBatch, Drawn]] = []
    ahead: list[tuple[pa.RecordBatch, Drawn]] = []
    rows = size = 0

    def read(drawn: Drawn) -> tuple[pa.RecordBatch, Drawn]:
        return drawn.task(), drawn

    while ahead or (ahead := list(in_order(read, islice(stream, threads), threads))):
        batch, drawn = ahead.pop(0)
        head.append((batch, drawn))
        rows += batch.num_rows if drawn.draws is None else int(np.isinf(drawn.draws).sum())
        size += bytes_of(batch)
        if len(head) == 1:
            features = features_of(batch.schema.names, spec)
            is_settled = spec.columns.settled(features).issuperset(features)
            if looks and not is_settled:
                is_settled = settled_by(_split(batch, drawn.draws, 1.0)[0], spec)
            enough = 1 if is_settled else 1.05 * first_rows(len(features))
        if rows >= enough or (spec.columns.whole is not None and size >= HEAD):
            break
    return head, chain(_again(ahead), stream)


def _again(head: list[tuple[pa.RecordBatch, Drawn]]) -> Iterator[Drawn]:
    """Yield batches that were read as tasks; each is released afterwards."""
    while head:
        batch, drawn = head.pop(0)
        yield drawn._replace(task=task_of(batch))
