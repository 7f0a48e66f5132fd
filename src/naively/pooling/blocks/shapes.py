"""What blocks of evidence say, as tables that a person can read: bins, evidence, rows behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from naively.core.exact import Float64, Int64
from naively.core.labels import Labels
from naively.pooling.bins import FINE, Column, Lookup
from naively.pooling.dates import seconds
from naively.pooling.folds import Training
from naively.statistics.levels import Levels

MISSING = "missing"


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of one column, as one block has them.

    Attributes
    ----------
    name : of the column.
    labels : of each bin: a level or a number; "17 to 19" are the least and the greatest number that
        were met in it, "12 others" are so many levels. The last is the missing value's.
    low, high : the same numbers, NaN where none was met; both None of levels.
    dated : whether the numbers are the seconds of dates or times.
    ordered : whether the labels are in an order of their own, as hours are.
    """

    name: str
    labels: list[str]
    low: Float64 | None = None
    high: Float64 | None = None
    dated: bool = False
    ordered: bool = False

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_number(self) -> bool:
        """Whether the column holds numbers."""
        return self.low is not None


@dataclass(frozen=True, eq=False)
class Shape:
    """What one block of evidence says.

    A row in a cell has `weight` times its `evidence` added to its scores, in nats.

    Attributes
    ----------
    names : of the columns.
    kind : what the block is, in a few words.
    weight : of its evidence.
    importance : mean absolute contribution to the log-odds; see
        `naively.families.base.mean_contribution`.
    classes : (C,) labels.
    bins : of each column; none of normal densities, which are no table.
    evidence : (B1, ..., C) of the cells, in nats; of no size if there are no bins.
    rows : (B1, ..., C) weight of the rows that were learned in each cell, by class.
    part : what of a date the block is of, such as ``hours``; empty of other columns.
    of_text : whether a column is text of which words are counted, so that all texts share a bin.
    """

    names: tuple[str, ...]
    kind: str
    weight: float
    importance: float
    classes: Labels
    bins: list[Bins]
    evidence: Float64
    rows: Float64
    part: str = ""
    of_text: bool = False

    def __repr__(self) -> str:
        return f"<Shape: {' × '.join(self.names)}, {self.kind}, weight {self.weight:.3g}>"

    @property
    def title(self) -> str:
        """The columns, and the part of a date."""
        return " × ".join(self.names) + f": {self.part}" * bool(self.part)

    @property
    def added(self) -> Float64:
        """What each cell adds to the score of each class, in nats."""
        return self.weight * self.evidence

    def in_order(self, place: Mapping[str, int]) -> Shape:
        """The same with its columns in the order of their places."""
        order = sorted(range(len(self.names)), key=lambda k: place[self.names[k]])
        names = tuple(self.names[k] for k in order)
        if not self.bins:
            return replace(self, names=names)
        axes = [*order, len(order)]
        return replace(
            self, names=names, bins=[self.bins[k] for k in order],
            evidence=self.evidence.transpose(axes), rows=self.rows.transpose(axes),
        )  # fmt: skip

    def cells(self) -> Iterator[tuple[tuple[int, ...], list[str]]]:
        """(place, the labels of its bins) of each cell, the last column's bins fastest."""
        for place in np.ndindex(*map(len, self.bins)):
            yield place, [own.labels[k] for own, k in zip(self.bins, place, strict=True)]

    def to_arrow(self) -> pa.Table:
        """A flat table, a line a cell.

        The columns: the bin of each column of the block, under its name; ``rows``; and for each
        class ``rows of ...`` and ``evidence of ...``, in nats, not weighed yet.
        """
        if not self.bins:
            raise ValueError(f"{self.kind} of {len(self.names)} columns has no table of cells")
        labels = zip(*(labels for _, labels in self.cells()), strict=True)
        classes = len(self.classes)
        rows, evidence = self.rows.reshape(-1, classes), self.evidence.reshape(-1, classes)
        columns: list[Any] = [pa.array(own, pa.string()) for own in labels]
        columns += [rows.sum(axis=1), *rows.T, *evidence.T]
        heads = [f"{what} of {name}" for what in ("rows", "evidence") for name in self.classes]
        return pa.table([pa.array(one) for one in columns], [*self.names, "rows", *heads])


def rows_of(rows: Training, columns: Sequence[Column], block: tuple[int, ...], way: int) -> Float64:
    """The weight of rows by class, (cells, C), in a table of some columns, cut in one way."""
    own = [columns[j] for j in block]
    fine = [column.bins(rows.levels[j]) for j, column in zip(block, own, strict=True)]
    coded = Lookup.of(own, fine, way).coded(rows.codes[:, list(block)])
    cell = coded.cells(range(len(block)))[rows.row].astype(np.int64)
    size = int(np.prod(coded.sizes)) * rows.n_classes
    found = np.bincount(cell * rows.n_classes + rows.y, rows.weight, size)
    return found.astype(np.float64).reshape(-1, rows.n_classes)


def bins_of(
    levels: Sequence[Levels], columns: Sequence[Column], names: Sequence[str],
    block: tuple[int, ...], way: int,
) -> list[Bins]:  # fmt: skip
    """The bins of each column of such a table; `levels` are those that were met in them."""
    return [_bins(names[j], columns[j], columns[j].bins(levels[j]), levels[j], way) for j in block]


def _bins(name: str, column: Column, fine: Int64, levels: Levels, way: int) -> Bins:
    """The bins of a column whose levels are in these fine ones, the missing value's last."""
    at = column.coarser[way][fine][:-1]
    order = np.argsort(at, kind="stable")
    ends = np.searchsorted(at[order], np.arange(column.size(way)))
    members = np.split(order, ends[1:])[:-1]
    if not column.is_number:
        rare = column.coarser[way][column.size(FINE) - 2]  # where new levels belong, too
        texts = [[str(levels[k]) for k in own] for own in members]
        labels = [_group(own, k == rare) for k, own in enumerate(texts)]
        return Bins(name, [*labels, MISSING])
    low, high = np.full((2, len(members) + 1), np.nan)
    numbers = seconds(levels) if column.dated else levels
    labels = []
    for k, own in enumerate(members):
        if len(own):
            first, last = own[numbers[own].argmin()], own[numbers[own].argmax()]
            low[k], high[k] = numbers[first], numbers[last]
        if len(own) and column.dated:
            labels.append(_span(str(levels[first]), str(levels[last])))
        else:
            labels.append(_range(float(low[k]), float(high[k])))
    return Bins(name, [*labels, MISSING], low, high, column.dated)


def _group(levels: list[str], rare: bool) -> str:
    """What a bin of levels is called."""
    if len(levels) == 1 and not rare:
        return levels[0]
    return f"{len(levels):,} others" if levels else "others"


def _span(first: str, last: str) -> str:
    """The dates or times of a bin."""
    return first if first == last else f"{first} to {last}"


def _range(low: float, high: float) -> str:
    """What a bin of numbers is called."""
    return f"{low:.12g}" if low == high else f"{low:.12g} to {high:.12g}"


def drawable(shapes: Sequence[Shape]) -> list[Shape]:
    """Those of one or two columns that have a table, but for those of texts."""
    return [one for one in shapes if 0 < len(one.bins) < 3 and not one.of_text]


def of_columns(shapes: Sequence[Shape], names: Sequence[str]) -> list[Shape]:
    """Those of exactly these columns; of a pair that is cut in two ways there are two.

    Raises
    ------
    ValueError : if there are none, naming those with some of the columns.
    """
    wanted = set(names)
    found = [one for one in shapes if set(one.names) == wanted]
    if not found:
        near = [" × ".join(one.names) for one in shapes if wanted & set(one.names) and one.bins]
        has = f": it has {'; '.join(near)}" if near else ""
        raise ValueError(f"the model has no evidence of just {' × '.join(sorted(wanted))}{has}")
    return found
