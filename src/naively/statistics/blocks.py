"""Combine several summaries, each over some columns of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from naively.core.exact import ExactArray, Index, Int64
from naively.core.workers import Workers
from naively.statistics.base import Batch, Data, InvalidValueError, Statistics, Summary


@dataclass(frozen=True)
class BlockPlace:
    """The position of the columns of a block.

    part : number of the part of the rows, and of the statistics.
    columns : columns of that part; None for all.
    features : (b,) their numbers among the features of the model.
    """

    part: int
    columns: slice | Int64 | None
    features: Int64


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rows of a table, split into what each summary takes."""

    parts: list[Data]
    n_rows: int
    _cuts: dict[int, Data] = field(default_factory=dict, init=False, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, columns of all parts)."""
        return self.n_rows, sum(part.shape[1] for part in self.parts)

    def __getitem__(self, rows: Index) -> Blocks:
        if isinstance(rows, slice):
            count = len(range(self.n_rows)[rows])
        else:
            rows = np.asarray(rows)
            count = int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows)
        return Blocks([part[rows] for part in self.parts], count)

    def of(self, block: int, place: BlockPlace) -> Data:
        """Return what a block takes; cached, so that it is always the same object."""
        if place.columns is None:
            return self.parts[place.part]
        columns = self._cuts.get(block)
        if columns is None:
            columns = self._cuts[block] = self.parts[place.part][:, place.columns]
        return columns


class BlockStatistics(Statistics):
    """The statistics of several summaries, side by side; the tables are theirs."""

    def __init__(self, parts: list[Statistics]) -> None:
        super().__init__({})
        self.parts = parts

    def accumulate(self, other: Self, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) `other` in place; its class k is self's classes[k]."""
        for part, other_part in zip(self.parts, other.parts, strict=True):
            part.accumulate(other_part, classes, sign)

    def scaled(self, gamma: float) -> Self:
        """Return the statistics times gamma."""
        return type(self)([part.scaled(gamma) for part in self.parts])

    def canonical(self) -> Self:
        """Return the statistics in canonical form."""
        return type(self)([part.canonical() for part in self.parts])

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Return why no data can have these statistics, or None if some can."""
        problems = (part.impossible(class_weight) for part in self.parts)
        return next(filter(None, problems), None)

    def refused(self) -> str | None:
        """Return why rows cannot be forgotten, or None if they can."""
        return next(filter(None, (part.refused() for part in self.parts)), None)

    @property
    def reversible(self) -> bool:
        """Whether subtracting added rows restores the previous statistics, bit for bit."""
        return all(part.reversible for part in self.parts)

    @property
    def nbytes(self) -> int:
        """The memory of the tables, in bytes."""
        return sum(part.nbytes for part in self.parts)

    def _mapped(self, function: Callable[[ExactArray], ExactArray]) -> Self:
        return type(self)([part._mapped(function) for part in self.parts])

    def _by_class(self, function: Callable[[ExactArray], ExactArray]) -> Self:
        return type(self)([part._by_class(function) for part in self.parts])

    def _agrees(self, other: Self) -> bool:
        return self.parts == other.parts


@dataclass(frozen=True)
class Summaries(Summary[BlockStatistics]):
    """Several summaries of the same rows.

    sizes : tuple of int, number of columns of each.
    features : tuple of arrays, the number of each column among the features of the model.
    """

    summaries: tuple[Summary[Any], ...]
    sizes: tuple[int, ...]
    features: tuple[Int64, ...] = field(compare=False)

    def summarise(self, X: Blocks, batch: Batch, workers: Workers) -> BlockStatistics:
        """Return the statistics of each summary."""
        parts = []
        for summary, part, features in zip(self.summaries, X.parts, self.features, strict=True):
            with numbered(features):
                parts.append(summary.summarise(part, batch, workers))
        return BlockStatistics(parts)

    def empty(self, n_classes: int, n_features: int) -> BlockStatistics:
        """Return the statistics of no rows."""
        pairs = zip(self.summaries, self.sizes, strict=True)
        return BlockStatistics([summary.empty(n_classes, size) for summary, size in pairs])


@contextmanager
def numbered(features: Int64) -> Iterator[None]:
    """Return a context in which errors number columns as features of the model."""
    try:
        yield
    except InvalidValueError as error:
        error.column = int(features[error.column])
        raise


def columns_among(names: Sequence[str], selected: Sequence[str]) -> slice | Int64 | None:
    """Return the positions of `selected` in `names`: None for all, a slice if consecutive."""
    if selected is names or selected == names:
        return None
    place = {name: k for k, name in enumerate(names)}
    positions = np.array([place[name] for name in selected], np.int64)
    first = int(positions[0])
    if np.array_equal(positions, np.arange(first, first + len(positions))):
        return slice(first, first + len(positions))
    return positions
