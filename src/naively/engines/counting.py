"""What each worker of a cluster does: it counts its share of the rows, or adds up such counts.

Counts travel as the bytes of a model. What the sum is does not depend on how the rows were shared
out, nor on the order of the additions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain

import pyarrow as pa

from naively.files.safetensors import Saved, from_bytes, to_bytes
from naively.model import Model
from naively.tables.learning import LearningError, Plan, merge, settled, summarise
from naively.tables.readers import Source, TableError
from naively.tables.summarising import BATCH, slices
from naively.tables.values import bytes_of

MOST = 1 << 26
"""Bytes of rows that are counted at a time, about."""


@dataclass(frozen=True)
class Counting:
    """Counts rows for a plan: what is sent to the workers.

    Attributes
    ----------
    plan : Plan
    """

    plan: Plan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> bytes | None:
        """What was counted of these rows, as bytes; None if there are none."""
        total, rows = self.plan.blank.copy(), 0
        for table in _joined(batches):
            total = merge(total, summarise(self.plan, table))
            rows += table.num_rows
        return to_bytes(Saved(total)) if rows else None


@dataclass(frozen=True)
class CountingFiles:
    """Counts the rows of files for a plan: what is sent to workers that see the files.

    Attributes
    ----------
    plan : Plan
    shares : the files, dealt to some tables.
    """

    plan: Plan
    shares: Sequence[Source]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> bytes | None:
        """What was counted of the shares with these numbers, which are the rows of the batches.

        Raises
        ------
        TableError : if a file is not there, or cannot be read.
        """
        total, rows = self.plan.blank.copy(), 0
        for number in chain.from_iterable(batch.column(0).to_pylist() for batch in batches):
            for batch in _read(self.shares[number]):
                for _, table in slices(pa.Table.from_batches([batch])):
                    total = merge(total, summarise(self.plan, table))
                    rows += table.num_rows
        return to_bytes(Saved(total)) if rows else None


def _read(share: Source) -> Iterator[pa.RecordBatch]:
    try:
        yield from share.batches()
    except FileNotFoundError as error:
        raise TableError(
            f"{error.filename} is not where a worker looks for it: files that are scanned must be "
            "in the same place on all machines; read others by the cluster, into a frame"
        ) from None


def added(counts: Iterable[bytes]) -> bytes | None:
    """The sum of such counts; None if there are none."""
    first, total = None, None
    for content in counts:
        if first is None:
            first = content
            continue
        total = merge(_model(first) if total is None else total, _model(content))
    return first if total is None else to_bytes(Saved(total))


def learned(plan: Plan, counts: Iterable[bytes]) -> Model:
    """The model that the sum of all counts is.

    Raises
    ------
    LearningError : if there are no rows, or labels that can be none.
    """
    models = map(_model, counts)
    first = next(models, None)
    if first is None:
        raise LearningError("there are no rows")
    model = replace(
        reduce(merge, models, first), untyped=plan.blank.untyped
    )  # which bytes do not tell
    if len(model.classes) == 0:
        raise LearningError(f"every label in column {plan.question.target!r} is missing")
    return settled(plan, model)


def _model(content: bytes) -> Model:
    return from_bytes(content, "what a worker counted").model


def _joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows in tables of some size: clusters have batches that are too small to be fast."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows, size = rows + batch.num_rows, size + bytes_of(batch)
        if rows >= BATCH or size >= MOST:
            yield pa.Table.from_batches(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting)
