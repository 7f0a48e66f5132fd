"""A sample of the rows of a stream, kept while somebody else reads them.

Rows are kept in proportion to their weights: see `naively.statistics.sampling`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import pyarrow as pa

from naively.exact import Float64
from naively.model import Model
from naively.statistics.sampling import ALL
from naively.study.folds import Learnable
from naively.tables.encoding import encode
from naively.tables.held import Held
from naively.tables.inputs import LONG, Task
from naively.tables.joining import together
from naively.tables.learning import Question, labelled, weights_of
from naively.tables.values import bytes_of

ROWS, CELLS, BYTES = 100_000, 1 << 22, 1 << 26
"""Rows that are kept, at most, and the cells and bytes that they have,"""
PROSE = 1 << 24
"""and the bytes of long texts, each of which is counted, and then predicted."""


@dataclass
class Kept:
    """Every row gets a random number, by its place in the stream; the smallest are kept, those of
    rows with weights beside these.

    So which rows are kept, and their order, depends on no thread's pace.

    Parameters
    ----------
    seed : of the numbers.
    weight, missing : the column of weights, None if there is none, and how a missing value of it is
        spelled.
    pieces : how many pieces of the stream were seen, without gaps.
    held, limit, threshold : rows of these, how many are kept at most, and what their numbers are
        below.
    """

    seed: int
    pieces: int = 0
    held: Held = field(default_factory=Held)
    limit: int = ROWS
    threshold: float = ALL
    weight: str | None = None
    missing: Collection[str] = ()
    _early: dict[int, tuple[pa.Table, Float64, int]] = field(default_factory=dict)
    """Rows of pieces that some before them are still to be added for, which are slower."""
    _lock: Lock = field(default_factory=Lock)

    def passing(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """The same tasks, whose batches are seen as they are made."""
        for number, task in enumerate(tasks, self.pieces):
            yield lambda number=number, task=task: self._seen(number, task())  # type: ignore[misc]

    def _seen(self, number: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        draws = np.random.default_rng([self.seed, number, 2]).random(batch.num_rows)
        table = pa.Table.from_batches([batch])
        if self.weight is not None:
            weights = weights_of(table, self.weight, self.missing)
            draws = np.divide(draws, weights, out=np.full(len(draws), ALL), where=weights > 0)
        few = draws < self.threshold
        if not few.all():
            table = table.filter(pa.array(few))
        with self._lock:
            self._early[number] = table, draws[few], most_rows(batch)
            while self.pieces in self._early:
                self._add(*self._early.pop(self.pieces))
        return batch

    def _add(self, table: pa.Table, draws: Float64, limit: int) -> None:
        """Keep rows of the next piece."""
        if self.pieces == 0:
            self.limit = limit
        self.pieces += 1
        few = draws < self.threshold  # which may be lower by now
        self.held.add(table if few.all() else table.filter(pa.array(few)), draws[few])
        if self.held.rows > 2 * self.limit:
            self._cut()

    def _cut(self) -> None:
        self.threshold = self.held.smallest(self.limit)
        self.held.cut(self.threshold)

    def learnable(self, model: Model, question: Question) -> Learnable:
        """The rows that were kept, as a model takes them that learned all."""
        if self.held.rows > self.limit:
            self._cut()
        rows, labels, weights = [], [], []
        for table in self.held.tables:
            classes, codes = labelled(
                table, question.target, question.wishes.missing, model.classes
            )
            known = np.flatnonzero(codes < len(classes))
            own = table.take(pa.array(known))
            rows.append(own.select([one for one in own.column_names if one in model.schema.known]))
            labels.append(classes[codes[known]])
            if question.weight is not None:
                weights.append(weights_of(own, question.weight, question.wishes.missing))
        X, _ = encode(model.schema, together(rows))
        weighed = np.concatenate(weights) if weights else None
        if weighed is not None and self.threshold != ALL:  # in units of what the lightest stand for
            weighed = np.maximum(weighed * self.threshold, 1.0)
        return Learnable(model.blank(model.schema), X, np.concatenate(labels), weighed)


def kept_of(question: Question) -> Kept:
    """A sample of the rows that somebody learns, none yet."""
    return Kept(question.seed, weight=question.weight, missing=question.wishes.missing)


def most_rows(batch: pa.RecordBatch | pa.Table) -> int:
    """How many rows of such a table are kept."""
    rows = max(1, batch.num_rows)
    long = sum(one.nbytes for one in batch.columns if one.nbytes > LONG * rows)
    most = min(BYTES // max(1, bytes_of(batch) // rows), PROSE // max(1, long // rows))
    return max(1000, min(ROWS, CELLS // max(1, batch.num_columns), most))
