"""Assign rows to folds by group, so that none is in two folds, or by time, to predict forward."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.core.exact import Float64, Int64
from naively.io.frames import to_array
from naively.pooling.bins import as_numbers
from naively.pooling.dates import as_dates
from naively.tables import values

TrainTest = tuple[npt.NDArray[np.bool_], list[Int64]]
"""(whether each of S models is trained on each row, (S, n); the test rows of each)."""


@dataclass(frozen=True, eq=False)
class ByGroup:
    """Rows of a group are never in training and test fold at once."""

    numbers: Int64  # (n,) the group of each row, from 0; missing values are one group, the last
    name: str = ""  # of the column; empty if it has none

    @classmethod
    def of(cls, column: Any, missing: Collection[str], name: str = "") -> Self:
        """Number the values of a column in sorted order."""
        codes, _ = values.levels(values.flat(to_array(column, "groups")), missing)
        return cls(codes.astype(np.int64), name)

    @property
    def method(self) -> str:
        """The method, for headings."""
        return f"cross-validation by {self.name or 'group'}"

    unused = 0  # rows that are in no fold

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: Int64) -> Self:
        """Select rows."""
        return replace(self, numbers=self.numbers[rows])

    def folds(self, codes: Int64, weights: Float64 | None, count: int, seed: int | None = None
              ) -> Int64:  # fmt: skip
        """Assign groups to folds that are balanced by class, as `StratifiedGroupKFold` does: (n,).

        Groups are taken by decreasing weight, each to the fold with the smallest Σ_c w_c n_c / N_c:
        w_c is its weight of class c, n_c that of the fold and N_c that of all rows. This adds least
        to Σ n_c² / N_c. Of equal folds it is the one with the least weight. So folds do not depend
        on the order of the rows; a seed shuffles groups of equal weight.

        `count`: number of folds, at most; there are fewer if there are fewer groups. Raises
        ValueError if all rows are of one group.
        """
        _, groups = np.unique(self.numbers, return_inverse=True)
        n_groups = int(groups.max(initial=-1)) + 1
        if n_groups < 2:
            raise ValueError(f"all rows are of one {self.name or 'group'}: none can be held out")
        by_class = np.zeros((n_groups, int(codes.max(initial=0)) + 1))
        np.add.at(by_class, (groups, codes), 1.0 if weights is None else weights)
        ties = np.arange(n_groups)
        if seed is not None:
            ties = np.random.default_rng(seed).permutation(n_groups)
        share = by_class / np.maximum(by_class.sum(axis=0), 1e-300)
        filled, fold_of = np.zeros((min(count, n_groups), by_class.shape[1])), ties.copy()
        for group in np.lexsort([ties, -by_class.sum(axis=1)]).tolist():
            fold = int(np.lexsort([filled.sum(axis=1), filled @ share[group]])[0])
            filled[fold] += by_class[group]
            fold_of[group] = fold
        return fold_of[groups]

    def splits(self, codes: Int64, weights: Float64 | None, count: int) -> TrainTest:
        """Train on all folds but one, and test on that one."""
        fold = self.folds(codes, weights, count)
        learned = np.unique(fold)[:, np.newaxis] != fold
        return learned, [np.flatnonzero(~in_training) for in_training in learned]


@dataclass(frozen=True, eq=False)
class ByTime:
    """Each fold is predicted by a model of the rows before it."""

    times: Float64  # (n,) numbers, or seconds of dates; NaN where missing: such rows are in no fold
    name: str = ""  # of the column; empty if it has none

    @classmethod
    def of(cls, column: Any, missing: Collection[str], name: str = "") -> Self:
        """Read a column of numbers, dates or times of day.

        Raises ValueError if it holds other values.
        """
        codes, levels = values.levels(values.flat(to_array(column, "time")), missing)
        times = as_dates(levels)
        if times is None:
            times = as_numbers(levels)
        if np.isnan(times).any():
            example = levels[np.isnan(times)].tolist()[0]
            raise ValueError(
                f"the time column{f' {name!r}' * bool(name)} holds {example!r}, and must hold "
                "numbers alone or dates alone, such as 2026-01-31"
            )
        return cls(np.append(times, np.nan)[codes], name)

    @property
    def method(self) -> str:
        """The method, for headings."""
        return f"forward validation by {self.name or 'time'}"

    @property
    def unused(self) -> int:
        """The number of rows that are in no fold."""
        return int(np.isnan(self.times).sum())

    def __len__(self) -> int:
        return len(self.times)

    def take(self, rows: Int64) -> Self:
        """Select rows."""
        return replace(self, times=self.times[rows])

    def folds(
        self, codes: Int64, weights: Float64 | None, count: int, start: float = -np.inf
    ) -> Int64:
        """Cut rows, sorted by time, into blocks: (n,) from 0, which is training rows alone.

        The blocks are those of `TimeSeriesSplit`: all but the first have n // (count + 1) rows.
        Rows of the same time are in one block, that of the first of them. Missing times have -1.

        `codes`: ignored: a block has the classes that it has. `count`: number of blocks to test on,
        at most; there are fewer if there are fewer times. `start`: rows up to this time are in
        block 0. Raises ValueError if no row is later than another, or than `start`.
        """
        blocks = np.full(len(self.times), -1)
        rows = np.flatnonzero(~np.isnan(self.times))
        distinct, place = np.unique(self.times[rows], return_inverse=True)
        weight = np.bincount(place, None if weights is None else weights[rows], len(distinct))
        total, before = float(weight.sum()), np.cumsum(weight) - weight
        least = float(weight[distinct <= start].sum())
        count = min(count, len(distinct) - 1)
        if count < 1 or least >= total:
            raise ValueError(
                f"no {self.name or 'time'} is later than another: no row can be predicted from "
                "earlier ones"
            )
        size = min(total / (count + 1), (total - least) / count)
        size = np.floor(size) if size >= 1 else size
        block_of = np.floor((before - (total - count * size)) / size).astype(np.int64) + 1
        block_of = np.maximum(block_of, 0)
        block_of[distinct <= start] = 0
        block_of[-1] = max(block_of[-1], 1)  # a late time may hold most rows, and is predicted
        used = np.unique(np.append(0, block_of))  # a time with many rows may fill several blocks
        blocks[rows] = np.searchsorted(used, block_of)[place]
        return blocks

    def splits(self, codes: Int64, weights: Float64 | None, count: int) -> TrainTest:
        """Train on the blocks before one, and test on that one."""
        block = self.folds(codes, weights, count)
        tested = np.arange(1, block.max(initial=0) + 1)
        learned = (block >= 0) & (block < tested[:, np.newaxis])
        return learned, [np.flatnonzero(block == k) for k in tested]


SplitBy = ByGroup | ByTime


def kind_of_split(groups: Any, time: Any) -> tuple[type[ByGroup] | type[ByTime], Any] | None:
    """Return (how rows are split, by which column or values); None if neither is given.

    Raises ValueError if both are.
    """
    if groups is not None and time is not None:
        raise ValueError("groups and time are two ways to split rows: pass one of them")
    if groups is not None:
        return ByGroup, groups
    return None if time is None else (ByTime, time)


def split_by(
    table: pa.Table, groups: str | None, time: str | None, missing: Collection[str]
) -> SplitBy | None:
    """Read the column of groups or times; None if neither is named.

    Raises ValueError if both are named, or the times are invalid.
    """
    if (chosen := kind_of_split(groups, time)) is None:
        return None
    kind, name = chosen
    return kind.of(table.column(name), missing, name)
