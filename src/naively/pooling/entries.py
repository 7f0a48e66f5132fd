"""Assign training rows to ten folds, and hold their out-of-fold predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.hashing import GOLDEN, mixed
from naively.pooling.canonical import Canonical
from naively.statistics.levels import Levels
from naively.statistics.sample import KEYS, SampleStatistics, sampled


@dataclass(frozen=True)
class OutOfFoldPredictions:
    """Predictions of training rows by evidence and weights of the other folds."""

    log_loss: float  # in nats per row
    confidence: npt.NDArray[np.floating]  # (n,) P(c | x) of the most probable class
    correct: npt.NDArray[np.bool_]  # (n,) whether that is the row's class
    weight: npt.NDArray[np.floating]  # (n,) how many rows each stands for
    # (n,) -log P(c | x) of the row's class; None if read from a file
    losses: npt.NDArray[np.floating] | None = None

    @property
    def rows(self) -> float:
        """The weight of all rows."""
        return float(self.weight.sum(dtype=float))

    @property
    def accuracy(self) -> float:
        """Share of the rows whose most probable class is right; NaN without rows."""
        hits = float((self.weight * self.correct).sum(dtype=float))
        return hits / self.rows if self.rows else np.nan


NO_PREDICTIONS = OutOfFoldPredictions(
    0.0, *(np.empty(0, kind) for kind in (np.float32, bool, np.float32))
)
"""For a model without out-of-fold predictions."""
PARTS = 10  # number of folds
GROUPS = 5  # groups of folds, without each of which the terms of texts are weighted
REPEATS, CELLS = 8, 25_000
"""Assignments to folds, at most; entries × columns of all of them, at most."""
MOST = 1_000_000  # entries beyond one for each distinct row and class, at most
LIGHTEST = 1e-9  # rows with less weight are ignored


@dataclass(frozen=True)
class Entries:
    """Training rows by class, in canonical order, with folds.

    An entry is a distinct row with one class in one fold. With repeats, each entry occurs once in
    each of several assignments to folds.
    """

    # (R, d) int32, the distinct rows, as indices into the values of each column
    codes: npt.NDArray[np.int32]
    # list of d sorted arrays of numbers or text, the distinct values of each column
    levels: list[Levels]
    row: Int64  # (n,) the row of each entry
    y: Int64  # (n,) its class
    weight: Float64  # (n,) how many rows it stands for; over all repeats they add up to the rows
    part: Int64  # (n,) its fold
    n_classes: int
    columns: Int64  # (d,) positions in the table of these columns, which are those that vary
    classes: Int64  # (C,) positions in the table of these classes
    # (C,) log of the share of each class among all training rows, relative to its share among the
    # entries. It is 0 unless duplicates were removed, there are class weights (both change the
    # class prior alone), or the rows are a sample
    shift: Float64
    # columns declared categorical: their values are not read as dates
    categorical: frozenset[int] = frozenset()
    # assignments to folds. Entries of one assignment are together, in the same order
    n_repeats: int = 1

    @classmethod
    def of(
        cls, statistics: SampleStatistics, class_weight: Float64 | None = None,
        text: frozenset[int] = frozenset(), categorical: frozenset[int] = frozenset(),
    ) -> Entries:  # fmt: skip
        """Assign the rows of a sample to stratified folds.

        Folds are assigned in turn, class by class, in canonical order: each has its share of every
        class, and equal rows are spread over the folds. Duplicates are removed; they count in the
        class prior alone.

        `statistics`: the rows, canonical. `class_weight`: (C,) of all training rows; None for those
        of the sample. `text`: columns that are text even if their values are short. `categorical`:
        columns declared categorical.
        """
        rows = Canonical.of(statistics, text, categorical)
        count = rows.count
        total_weight = rows.class_weight if class_weight is None else class_weight[rows.classes]
        y, row = np.nonzero(count >= LIGHTEST)
        weight = count[y, row]
        turns = np.where(rows.single[y, row], 1.0, np.maximum(np.floor(weight), 1.0))
        turn_of = _folds_of_a_row(turns)
        cell = np.repeat(np.arange(len(row)), turn_of)
        n_folds = turn_of[cell]
        turn = np.arange(len(cell)) - np.repeat(np.cumsum(turn_of) - turn_of, turn_of)
        # weight w is split over folds as w equal rows would be; the fraction goes to the last
        share = np.floor((turns[cell] - 1 - turn) / n_folds) + 1
        share += np.where(turn == (turns[cell] - 1) % n_folds, weight[cell] - turns[cell], 0.0)
        is_spread = turn_of == np.minimum(turns, PARTS)
        n_assigned = np.where(is_spread, np.fmod(turns, PARTS), turn_of).astype(np.int64)
        part = ((np.cumsum(n_assigned) - n_assigned)[cell] + turn) % PARTS
        sampled_weight = np.bincount(y, weight, len(count)).astype(np.float64)
        return cls(
            rows.codes, rows.levels, row[cell], y[cell], share, part, len(count),
            rows.columns, rows.classes, _shift(total_weight, sampled_weight),
            frozenset(k for k, j in enumerate(rows.columns.tolist()) if j in categorical),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.row)

    def repeated(self) -> Entries:
        """The same entries, assigned to folds several times if they are few.

        What a model of few rows is depends on which of them are in the same fold; estimates from
        several assignments depend on it less.
        """
        n, repeats = len(self), 1
        while 2 * repeats <= REPEATS and 2 * repeats * n * len(self.levels) <= CELLS:
            repeats *= 2  # powers of two, so that weights add up without rounding
        first = np.flatnonzero(np.diff(self.row * self.n_classes + self.y, prepend=-1))
        size = np.diff(first, append=n)
        weight = np.add.reduceat(self.weight, first) if n else self.weight
        turns = np.where(size == PARTS, np.floor(weight) % PARTS, size).astype(np.int64)
        cell = np.repeat(np.arange(len(first)), size)
        turn = np.arange(n) - first[cell]
        parts = [self.part]
        for repeat in range(1, repeats):
            keys = mixed(self.row[first].astype(np.uint64) * np.uint64(GOLDEN) + np.uint64(repeat))
            order = np.lexsort([keys, self.y[first]])
            start = np.empty(len(first), np.int64)
            start[order] = np.cumsum(turns[order]) - turns[order]
            parts.append((start[cell] + turn) % PARTS)
        return replace(
            self, row=np.tile(self.row, repeats), y=np.tile(self.y, repeats),
            weight=np.tile(self.weight / repeats, repeats), part=np.concatenate(parts),
            n_repeats=repeats,
        )  # fmt: skip

    @cached_property
    def once(self) -> Entries:
        """The entries of the first assignment to folds alone."""
        n = len(self) // self.n_repeats
        return replace(
            self, row=self.row[:n], y=self.y[:n], weight=self.full_weight[:n], part=self.part[:n],
            n_repeats=1,
        )  # fmt: skip

    @cached_property
    def repeat(self) -> Int64:
        """(n,) the assignment to folds of each entry."""
        return np.repeat(np.arange(self.n_repeats), len(self) // self.n_repeats)

    @cached_property
    def home(self) -> Int64:
        """(n,) the fold of each entry in the first assignment."""
        return np.tile(self.once.part, self.n_repeats)

    @cached_property
    def full_weight(self) -> Float64:
        """(n,) how many rows each entry stands for among those of its repeat."""
        return self.weight * self.n_repeats if self.n_repeats > 1 else self.weight

    def apart(
        self, cells: npt.NDArray[Any], size: int, rows: npt.NDArray[np.intp] | slice = slice(None)
    ) -> npt.NDArray[np.uint32]:
        """The cells of entries in a table of all repeats, in which each has `size` cells."""
        cells = cells.astype(np.uint32)
        if self.n_repeats > 1:
            cells += (self.repeat[rows] * size).astype(np.uint32)
        return cells

    def first(self, most: int, number: int = 0) -> tuple[npt.NDArray[np.intp], Float64]:
        """A sample of about `most` entries, and its weights; each `number` gives another sample."""
        place = (self.row + 0.5) / max(len(self.codes), 1) + number * GOLDEN / 2**64
        return sampled(self.weight, place % 1.0, most)

    def rows_met(self) -> Float64:
        """The weight of each distinct row, (R,)."""
        weights = np.bincount(self.row, weights=self.weight, minlength=len(self.codes))
        return weights.astype(np.float64)

    def class_weight(self) -> Float64:
        """The weight of each class in each fold of each repeat, (folds, repeats, C)."""
        weights = np.zeros((PARTS, self.n_repeats, self.n_classes))
        np.add.at(weights, (self.part, self.repeat, self.y), self.full_weight)
        return weights


def _shift(totals: Float64, weights: Float64) -> Float64:
    """log (whole / Σ whole) - log (own / Σ own), (C,); exactly 0 where they are proportional."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = totals / weights
    is_valid = np.isfinite(ratio) & (ratio > 0)
    if not is_valid.any() or np.ptp(ratio[is_valid]) <= 1e-9 * ratio[is_valid].max():
        return np.zeros(len(weights))
    factor = totals[is_valid].sum() / weights[is_valid].sum()
    return np.where(is_valid, np.log(np.where(is_valid, ratio, 1.0) / factor), 0.0)


def _folds_of_a_row(turns: Float64) -> Int64:
    """The number of folds that equal rows are spread over, (n,): all, or as many as they are.

    If entries would be too many, rows that recur less often are spread less: a frequent row must
    not be in one fold, as no other fold would know it.
    """
    unit = 1.0
    while True:
        folds = np.clip(np.floor(turns / unit), 1, PARTS).astype(np.int64)
        if (folds - 1).sum() <= MOST:
            return folds
        unit *= 2


# ---- without folds -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Training:
    """Training rows by class, with weights and without folds."""

    # (R, d) int32, the distinct rows, as indices into the values of each column
    codes: npt.NDArray[np.int32]
    # list of d sorted arrays of numbers or text, the distinct values of each column
    levels: list[Levels]
    # row, y, weight: (n,) the row, the class and the weight of each entry
    row: Int64
    y: Int64
    weight: Float64
    keys: Float64  # (R,) hashes of the rows, in [0, 1)
    n_classes: int

    @classmethod
    def of(cls, statistics: SampleStatistics | Any) -> Self:
        """The training rows of a sample."""
        count = statistics.estimated()
        y, row = np.nonzero(count > 0)
        keys = statistics.rows.keys / KEYS
        weight = count[y, row]
        return cls(statistics.codes, statistics.levels, row, y, weight, keys, len(count))

    def sampled(self, most: int) -> tuple[npt.NDArray[np.intp], Float64]:
        """A sample of about `most` entries, and its weights."""
        return sampled(self.weight, self.keys[self.row], most)
