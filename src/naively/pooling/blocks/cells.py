"""Evidence as a table over the bins of one column, or of two to four columns together."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.markup import counted
from naively.formula import Cut, LevelCut, NumberCut, Table
from naively.kernels import scores as kernel
from naively.pooling.bins import FINE, TRIPLES, Column
from naively.pooling.blocks.base import (
    Block,
    FoldedRows,
    OutOfFold,
    OutOfFoldTable,
    Rows,
    checked,
    checked_numbers,
    relative,
)
from naively.pooling.blocks.shapes import Bins, bins_of
from naively.pooling.blocks.smoothing import Smooth, smoothing
from naively.pooling.entries import PARTS
from naively.statistics.base import Arrays
from naively.statistics.levels import Levels


class TableBlock(Block):
    """Evidence that is looked up in a `table`."""

    table: Float64

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return self.table.size

    @abstractmethod
    def term(self, names: Sequence[str], columns: Sequence[Column], weight: float) -> Table:
        """As the base class."""

    def present_term(self, names: Sequence[str], columns: Sequence[Column], weight: float) -> Table:
        """The table of one column with zeros for missing values."""
        term = self.term(names, columns, weight)
        added = term.added.copy()
        added[term.cuts[0].missing] = 0.0
        return replace(term, added=added)


@dataclass(frozen=True)
class Cells(TableBlock):
    """A table of evidence."""

    # how they are cut; see `naively.pooling.bins`
    way: int = field()  # type: ignore[misc]
    table: Float64 = field()  # (cells, C), in nats
    # the class whose probability must not fall with the number; None for no constraint
    rising: int | None = None

    tag = "cells"
    weeded = True

    @classmethod
    def of_column(cls, rows: FoldedRows, column: int) -> Iterator[OutOfFold]:
        """Fit the table of a column."""
        coded, columns, rising = rows.coded[FINE], (column,), rows.rising.get(column)
        size = int(coded.sizes[column])
        table = table_of(rows, coded.codes[column], size, smoothing(rows.columns[column], rising))
        block = cls(columns, FINE, table[:size, PARTS], rising)
        yield OutOfFoldTable(block, rows.entries, relative(table), partial(coded.cells, columns))

    @classmethod
    def beyond(
        cls, rows: FoldedRows, candidate: tuple[int, tuple[int, ...]], strength: float,
        means: Float64, variances: Float64, others: npt.NDArray[np.float32],
    ) -> OutOfFold:  # fmt: skip
        """Fit the evidence of an interaction (way, columns) beyond the expectations of the model.

        `means`, `variances` and `others` come from `naively.pooling.screening.Expected`.
        """
        way, columns = candidate
        coded, entries = rows.coded[way], rows.entries
        size = coded.size(columns)
        counts = kernel.table(
            entries.apart(coded.cells(columns), size), size * entries.n_repeats, PARTS,
            entries.part, entries.y, entries.full_weight, means, variances, others,
        )  # fmt: skip
        table = kernel.left_out_surprises(counts, rows.prior, strength)
        of_all = table[:, PARTS].reshape(entries.n_repeats, size, -1).astype(np.float64)
        block = cls(columns, way, of_all.mean(axis=0))
        return OutOfFoldTable(block, entries, relative(table), partial(coded.cells, columns))

    def recounted(self, counts: Float64, prior: Float64, columns: Sequence[Column]) -> Cells:
        """As the base class; interactions stay, as they depend on expectations of single rows."""
        if len(self.columns) > 1:
            return self
        smooth = smoothing(columns[self.columns[0]], self.rising)
        return replace(self, table=smooth(counts, prior))

    def among(self, at: Int64, order: Int64, classes: Int64, columns: Sequence[Column]) -> Cells:
        """As the base class."""
        sizes = [columns[j].size(self.way) for j in self.columns]
        table = self.table.reshape(*sizes, -1).transpose(*order, len(order))
        table = table.reshape(self.table.shape)[:, classes]
        rising = next(iter(np.flatnonzero(classes == self.rising).tolist()), None)
        return replace(self, columns=tuple(at[order].tolist()), table=table, rising=rising)

    @property
    def positive(self) -> bool:
        """True with a constraint: a negative weight would turn the order around."""
        return self.rising is not None

    def add(self, rows: Rows, weight: float, out: Float64) -> None:
        """As the base class."""
        kernel.add_scores(self.cells(rows), self.table, weight, out)

    @property
    def fits_incomplete(self) -> bool:
        """True for a single column."""
        return len(self.columns) == 1

    def what(self, columns: Sequence[Column], texts: Collection[int]) -> str:
        """As the base class."""
        has_rows = (self.table != 0).any(axis=1)
        if len(self.columns) > 1:
            return counted(int(has_rows.sum()), "cell")
        if self.columns[0] in texts:
            return "missing or not"
        column = columns[self.columns[0]]
        number = int(has_rows[:-1].sum())  # without missing values
        if column.dated or column.is_number:
            suffix = " of time" * column.dated + ", monotone" * (self.rising is not None)
            return counted(number, "bin") + suffix
        if has_rows[-2]:  # the bin of rare categories
            return counted(number, "bin")
        return counted(number, "category", "categories")

    def drawn(
        self, names: Sequence[str], columns: Sequence[Column], levels: Sequence[Levels]
    ) -> tuple[list[Bins], Float64]:
        """As the base class."""
        bins = bins_of(levels, columns, names, self.columns, self.way)
        return bins, self.table.reshape(*map(len, bins), -1)

    def cells(self, rows: Rows) -> npt.NDArray[np.integer]:
        """As the base class."""
        return rows.coded(self.way).cells(self.columns)

    @classmethod
    def stored(cls, blocks: Sequence[Cells]) -> Arrays:
        """``cells.ways`` : (K,) how columns are cut. ``cells.tables`` : (cells of all, C).

        ``cells.rising`` : (K,) the rising class, -1 for none; only if there are constraints.
        """
        arrays = {
            "cells.ways": np.array([block.way for block in blocks], np.uint8),
            "cells.tables": np.concatenate([block.table for block in blocks]),
        }
        if any(block.rising is not None for block in blocks):
            rising = [-1 if block.rising is None else block.rising for block in blocks]
            arrays["cells.rising"] = np.array(rising, np.int8)
        return arrays

    @classmethod
    def read(
        cls, arrays: Arrays, places: Sequence[tuple[int, ...]], columns: Sequence[Column],
        n_classes: int,
    ) -> list[Cells]:  # fmt: skip
        """As the base class."""
        ways = checked(arrays, "cells.ways", np.uint8, (len(places),)).tolist()
        if unknown := [way for way in ways if way > max(TRIPLES)]:
            raise ValueError(f"columns are cut in an unknown way, {unknown[0]}")
        cuts = zip(ways, places, strict=True)
        sizes = [math.prod(columns[j].size(way) for j in block) for way, block in cuts]
        tables = split_tables(arrays, "cells.tables", sizes, n_classes)
        rising: list[int | None] = [None] * len(places)
        if "cells.rising" in arrays:
            stored = checked(arrays, "cells.rising", np.int8, (len(places),)).tolist()
            rising = [None if k == -1 else k for k in stored]
        for block, k in zip(places, rising, strict=True):
            fits = k in (0, 1) and n_classes == 2 and len(block) == 1
            if k is not None and not (fits and columns[block[0]].is_number):
                raise ValueError("a block is monotone that cannot be")
        return [*map(cls, places, ways, tables, rising)]

    def term(self, names: Sequence[str], columns: Sequence[Column], weight: float) -> Table:
        """As the base class."""
        cuts = tuple(cut(names[j], columns[j], self.way) for j in self.columns)
        sizes = tuple(columns[j].size(self.way) for j in self.columns)
        return Table(cuts, sizes, weight * self.table)


def cut(name: str, column: Column, way: int) -> Cut:
    """The bins of a column for exports."""
    bins, count = column.coarser[way], len(column.levels)
    if column.is_number:
        return NumberCut(name, column.levels, bins[:count], int(bins[-1]), column.dated)
    texts = [str(level) for level in column.levels.tolist()]
    return LevelCut.of(name, texts, bins[:count], int(bins[-2]), int(bins[-1]), endless=False)


def split_tables(arrays: Arrays, name: str, sizes: Sequence[int], n_classes: int) -> list[Float64]:
    """Split an array into tables with these numbers of cells."""
    tables = checked_numbers(arrays, name, (None, n_classes))
    if (cells := sum(sizes)) != len(tables):
        comparison = "more" if cells < len(tables) else "fewer"
        raise ValueError(f"{name!r} has {comparison} cells than the columns of the blocks")
    ends = np.cumsum([0, *sizes])
    return [tables[start:end] for start, end in pairwise(ends.tolist())]


def table_of(rows: FoldedRows, codes: npt.NDArray[Any], size: int, smooth: Smooth) -> Float64:
    """The evidence of bins without each fold, and of all, (repeats * bins, folds + 1, C).

    `codes` (n,) are the bins of the entries.
    """
    entries = rows.entries
    shape = PARTS, entries.n_repeats * size, entries.n_classes
    cells = entries.apart(codes, size)
    counts = kernel.count(cells, entries.part, entries.y, entries.full_weight, shape)
    counts = counts.reshape(PARTS, entries.n_repeats, size, -1)
    total = counts.sum(axis=0, keepdims=True)
    prior = np.broadcast_to(rows.prior, (1, *rows.priors.shape[1:]))
    counts, priors = np.concatenate([total - counts, total]), np.concatenate([rows.priors, prior])
    table = smooth(counts, priors).reshape(PARTS + 1, -1, entries.n_classes)
    return np.ascontiguousarray(table.swapaxes(0, 1))
