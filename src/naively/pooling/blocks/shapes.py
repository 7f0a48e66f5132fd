"""Tabulate the evidence of a block for display: bins, evidence, rows in each cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from naively.core.exact import Float64, Int64
from naively.core.labels import Labels
from naively.pooling.bins import FINE, Column
from naively.pooling.dates import seconds
from naively.statistics.levels import Levels

MISSING = "missing"


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of one column in one block.

    `labels` has a category or a number for each bin: "17 to 19" are the least and the greatest
    number in it, "12 others" are 12 categories, and "1 other (rare)" is a rare one. The last is the
    bin of missing values.
    """

    name: str  # of the column
    labels: list[str]
    # low, high: the same numbers, NaN in empty bins; both None for categories
    low: Float64 | None = None
    high: Float64 | None = None
    dated: bool = False  # whether the numbers are the seconds of dates or times
    ordered: bool = False  # whether the labels have a natural order, as hours do

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_number(self) -> bool:
        """Whether the column holds numbers."""
        return self.low is not None


@dataclass(frozen=True, eq=False)
class Shape:
    """The evidence of one block.

    It adds `weight` times the `evidence` of a row's cell to its scores, in nats.

    Attributes
    ----------
    names : of the columns.
    kind : a short description of the block.
    weight : of its evidence.
    importance : mean distance of its contribution to the log-odds from the mean, in nats; see
        `naively.families.base.mean_contribution`.
    classes : (C,) labels.
    bins : of each column; empty for normal densities, which are no table.
    evidence : (B1, ..., C) of the cells, in nats; empty without bins.
    rows : (B1, ..., C) weight of the training rows in each cell, by class.
    part : the part of a date that the block uses, such as ``hours``; empty for other columns.
    of_text : whether a column is text whose words are counted, so that all texts share a bin.
    total : (B, C) mean contribution of the feature to the scores of the training rows in each bin,
        in nats, with its share of its interactions, as in explanations; from the rows of feature
        importance, NaN in bins without any. None for interactions, for features in none, and for
        models without training rows.
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
    total: Float64 | None = None

    def __repr__(self) -> str:
        return f"<Shape: {' × '.join(self.names)}, {self.kind}, weight {self.weight:.3g}>"

    @property
    def title(self) -> str:
        """The columns, and the part of a date."""
        return " × ".join(self.names) + f": {self.part}" * bool(self.part)

    @property
    def added(self) -> Float64:
        """The contribution of this table to the score of each class, by cell, in nats."""
        return self.weight * self.evidence

    @property
    def contribution(self) -> Float64:
        """The contribution of each cell in nats: `total` if the feature has interactions."""
        return self.added if self.total is None else self.total

    def in_order(self, place: Mapping[str, int]) -> Shape:
        """The same with its columns sorted by `place`."""
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
        """The index and the bin labels of each cell; the bins of the last column vary fastest."""
        for index in np.ndindex(*map(len, self.bins)):
            yield index, [bins.labels[k] for bins, k in zip(self.bins, index, strict=True)]

    def to_arrow(self) -> pa.Table:
        """A table with a row for each cell.

        The columns: the bin of each column of the block, under its name; ``rows``; and for each
        class ``rows of ...``, ``evidence of ...``, in nats, unweighted, and ``contribution of
        ...``, in nats, of a feature with interactions its `total`.
        """
        if not self.bins:
            raise ValueError(f"{self.kind} of {len(self.names)} columns has no table of cells")
        labels = zip(*(labels for _, labels in self.cells()), strict=True)
        classes = len(self.classes)
        tables = self.rows, self.evidence, self.contribution
        rows, evidence, contribution = (table.reshape(-1, classes) for table in tables)
        columns: list[Any] = [pa.array(column_labels, pa.string()) for column_labels in labels]
        columns += [rows.sum(axis=1), *rows.T, *evidence.T, *contribution.T]
        quantities = "rows", "evidence", "contribution"
        headings = [f"{quantity} of {name}" for quantity in quantities for name in self.classes]
        return pa.table([pa.array(column) for column in columns], [*self.names, "rows", *headings])


def bins_of(
    levels: Sequence[Levels], columns: Sequence[Column], names: Sequence[str],
    block: tuple[int, ...], way: int,
) -> list[Bins]:  # fmt: skip
    """The bins of each column of a table; `levels` are the distinct values of each column."""
    return [_bins(names[j], columns[j], columns[j].bins(levels[j]), levels[j], way) for j in block]


def _bins(name: str, column: Column, fine: Int64, levels: Levels, way: int) -> Bins:
    """The bins of a column; `fine` are those of its distinct values, that of missing ones last."""
    bin_of_value = column.coarser[way][fine][:-1]
    order = np.argsort(bin_of_value, kind="stable")
    ends = np.searchsorted(bin_of_value[order], np.arange(column.size(way)))
    members = np.split(order, ends[1:])[:-1]
    if not column.is_number:
        rare = column.coarser[way][column.size(FINE) - 2]  # which holds unseen categories, too
        texts = [[str(levels[k]) for k in group] for group in members]
        labels = [_group(group, k == rare) for k, group in enumerate(texts)]
        return Bins(name, [*labels, MISSING])
    low, high = np.full((2, len(members) + 1), np.nan)
    numbers = seconds(levels) if column.dated else levels
    labels = []
    for k, group in enumerate(members):
        if len(group):
            first, last = group[numbers[group].argmin()], group[numbers[group].argmax()]
            low[k], high[k] = numbers[first], numbers[last]
        if len(group) and column.dated:
            names = dict.fromkeys((str(levels[first]), str(levels[last])))
            labels.append(" to ".join(names))
        else:
            labels.append(_range(float(low[k]), float(high[k])))
    return Bins(name, [*labels, MISSING], low, high, column.dated)


def _group(levels: list[str], rare: bool) -> str:
    """The label of a bin of categories."""
    if len(levels) == 1 and not rare:
        return levels[0]
    if len(levels) == 1:
        return "1 other (rare)"
    return f"{len(levels):,} others" if levels else "others"


def _range(low: float, high: float) -> str:
    """The label of a bin of numbers."""
    return f"{low:.12g}" if low == high else f"{low:.12g} to {high:.12g}"


def drawable(shapes: Sequence[Shape]) -> list[Shape]:
    """The shapes of one or two columns with a table, without texts."""
    return [shape for shape in shapes if 0 < len(shape.bins) < 3 and not shape.of_text]


def of_columns(shapes: Sequence[Shape], names: Sequence[str]) -> list[Shape]:
    """The shapes of exactly these columns; two for a pair that is cut in two ways.

    Raises ValueError if there are none, naming those with some of the columns.
    """
    columns = set(names)
    matches = [shape for shape in shapes if set(shape.names) == columns]
    if not matches:
        tables = [shape for shape in shapes if shape.bins and columns & set(shape.names)]
        similar = [" × ".join(shape.names) for shape in tables]
        hint = f"; it has {', '.join(similar)}" if similar else ""
        raise ValueError(f"the model has no table of {' × '.join(sorted(columns))}{hint}")
    return matches
