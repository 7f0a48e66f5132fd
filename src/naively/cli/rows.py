"""Which rows of a table are asked for, and why each of them has its scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from naively.cli import models
from naively.cli.errors import UsageError, UserError
from naively.cli.sources import Opened
from naively.explanation import Explanation
from naively.files.safetensors import Saved
from naively.markup import counted
from naively.model import Model
from naively.predictor import Predictor
from naively.tables.why_not import Tried, WhyNot

CELLS = 1 << 22
"""Numbers of an explanation that are held at a time, 32 MiB,"""
LINES, FEW = 1 << 16, 64
"""lines of a flat table, but for rows so few that their columns are worth the work of encoding."""
READ = 10
"""Rows of which all is told on a terminal; of more, a line each."""
SPAN = re.compile(r"([0-9]+)(?:-([0-9]+))?")

RowRange = tuple[int, int | None]
"""(first row, the one after the last; None for all that follow), counted from 0."""


@dataclass(frozen=True)
class Asked:
    """Rows that are asked for.

    Attributes
    ----------
    spans : in order, none of which touches another.
    """

    spans: tuple[RowRange, ...]

    @classmethod
    def of(cls, rows: Sequence[str]) -> Asked:
        """Of rows as a user writes them: 3, 1-300 or all, counted from 1."""
        spans: list[RowRange] = []
        for first, stop in sorted(map(_span, rows), key=lambda span: span[0]):
            if spans and (spans[-1][1] is None or first <= spans[-1][1]):
                last = spans[-1][1]
                joined = None if last is None or stop is None else max(last, stop)
                spans[-1] = spans[-1][0], joined
            else:
                spans.append((first, stop))
        return cls(tuple(spans))

    @property
    def few(self) -> bool:
        """Whether they are no more than a person reads in full."""
        return all(stop is not None for _, stop in self.spans) and (
            sum((stop or first) - first for first, stop in self.spans) <= READ
        )

    @property
    def one(self) -> bool:
        """Whether that is one row."""
        first, stop = self.spans[0]
        return len(self.spans) == 1 and stop == first + 1


def _span(text: str) -> RowRange:
    if text == "all":
        return 0, None
    found = SPAN.fullmatch(text)
    if found is None:
        raise UsageError(f"--row {text}: write one row as 3, several as 1-300, or all")
    first = int(found[1])
    last = first if found[2] is None else int(found[2])
    if first < 1:
        raise UsageError(f"--row counts from 1, but is {text}")
    if last < first:
        raise UsageError(f"--row {text} ends before it begins")
    return first - 1, last


@dataclass
class Explained:
    """Why the rows that are asked for have their scores.

    Attributes
    ----------
    model : Model
    pair : the classes that are compared; None for those that are most probable.
    chunks : (number of the first row, counted from 1; why these rows have their scores).
    """

    model: Model
    pair: tuple[Any, Any]
    chunks: Iterator[tuple[int, Explanation]]


def explained(
    saved: Saved, source: Opened, asked: Asked, label: str | None, against: str | None,
    by_block: bool = False,
) -> Explained:  # fmt: skip
    """What moves rows of files to one class rather than another, in one pass."""
    predictor = models.predictor(saved, source.names, source.name)
    classes = predictor.posterior.classes
    if len(classes) < 2:
        raise UserError(f"the model knows one class only ({classes[0]})")
    one, other = (
        None if t is None else classes[models.label_of(saved.model, t)] for t in (label, against)
    )
    if one is not None and one == other:
        raise UsageError(f"--label and --against are both {label!r}; compare two classes")
    return Explained(saved.model, (one, other), _chunks(predictor, source, asked, by_block))


def _chunks(
    predictor: Predictor, source: Opened, asked: Asked, by_block: bool
) -> Iterator[tuple[int, Explanation]]:
    width = len(predictor.posterior.together if by_block else predictor.schema.names)
    size = _size(predictor, max(1, width))
    for first, rows in _rows(source, asked):
        for at in range(0, rows.num_rows, size):
            number = first + at + 1
            with predictor.counting_rows(number):
                yield number, predictor.explain(rows.slice(at, size), by_block)
    models.notes(issue for issue in predictor.issues if issue.kind == "invalid")


def reasons_against(
    saved: Saved, source: Opened, asked: Asked, label: str
) -> Iterator[tuple[int, WhyNot]]:
    """(the number of a row, what would make it of this class), in one pass."""
    posterior = models.predictor(saved, source.names, source.name).posterior
    wanted = posterior.classes[models.label_of(saved.model, label)]
    tried = Tried(posterior)
    for first, rows in _rows(source, asked):
        for i in range(rows.num_rows):
            yield first + i + 1, tried.row(rows.slice(i, 1), wanted)


def _size(predictor: Predictor, width: int) -> int:
    """How many rows of so many parts are explained at a time."""
    texts = any(part.summary.takes == "documents" for part in predictor.schema.parts)
    lines = LINES if texts else width
    classes = len(predictor.posterior.classes)
    return max(1, min(max(FEW, LINES // lines), CELLS // (classes * width)))


def _rows(source: Opened, asked: Asked) -> Iterator[tuple[int, pa.Table]]:
    """(number of the first one, rows) for each run of rows that are asked for."""
    before = 0
    for task in source.tasks():
        batch = task()
        after = before + batch.num_rows
        table = pa.Table.from_batches([batch])
        for first, stop in asked.spans:
            start, end = max(first, before), after if stop is None else min(stop, after)
            if start < end:
                yield start, table.slice(start - before, end - start)
        before = after
        last = asked.spans[-1][1]
        if last is not None and last <= before:
            return
    for first, stop in asked.spans:
        if stop is not None and stop > before:
            row, rows = max(first, before) + 1, counted(before, "row")
            raise UserError(f"{source.name}: there is no row {row:,}; it has {rows}")
    if before == 0:
        raise UserError(f"{source.name}: there are no rows")
