"""Counting levels: by tables that codes index, or by way of sorted levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Int64
from naively.kernels import levels as kernel
from naively.kernels.sizes import CODES
from naively.statistics.base import Arrays, Batch, Data, InvalidValueError, Summary, dense, shown
from naively.statistics.levels import Encoded, Levels, LevelStatistics, joined, read_levels
from naively.statistics.sums import Limbs, slabs, window
from naively.workers import Workers

TABLE = 1 << 22  # cells of a direct look-up table, beyond which levels are searched for


@dataclass(frozen=True)
class LevelCounts(Summary[LevelStatistics]):
    """How often each level of each feature was met: codes 0, 1, ..., or text."""

    takes = "levels"

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> LevelStatistics:
        """The weight of each level by class and feature, exactly."""
        return count_levels(X if isinstance(X, Encoded) else dense(X), batch, workers)

    def empty(self, n_classes: int, n_features: int) -> LevelStatistics:
        """The statistics of no rows."""
        count, missing = (ExactArray.zeros((n_classes, size)) for size in (0, n_features))
        levels = [LevelStatistics.none] * n_features
        return LevelStatistics({"count": count, "missing": missing}, levels)

    def read(
        self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int
    ) -> LevelStatistics:
        """As the base class."""
        return LevelStatistics(tables, read_levels(arrays, n_features, "iT"))


def count_levels(X: npt.NDArray[Any] | Encoded, batch: Batch, workers: Workers) -> LevelStatistics:
    """The weight of each level by class and feature, exactly.

    Raises InvalidValueError for a value that is no level code.
    """
    if len(batch.weights) == 0 and 0 not in X.shape:
        counted = (
            _count_encoded(X, batch, workers)
            if isinstance(X, Encoded)
            else _count_directly(X, batch, workers)
        )
        if counted is not None:
            return counted
    return _count_columns(X, batch)


def _slabs(shape: tuple[int, ...], workers: Workers) -> list[slice]:
    """Rows for each worker."""
    n, d = shape
    return slabs(n, min(workers.count, max(1, n * d // 2**17)))


def _count_encoded(X: Encoded, batch: Batch, workers: Workers) -> LevelStatistics:
    """Count into tables indexed by the codes, with a column for what is missing."""
    sizes = np.array([len(levels) + 1 for levels in X.levels])
    offsets = np.concatenate([[0], np.cumsum(sizes)])

    def one(rows: slice) -> Int64:
        counts = np.zeros((batch.n_classes, int(offsets[-1])), np.int64)
        missing = np.zeros(batch.n_classes * len(sizes), np.int64)  # stays so: no code is -1
        kernel.count_levels(
            shown(X.codes), batch.codes, rows.start, rows.stop, offsets, counts.reshape(-1),
            missing, np.zeros(2, np.int64),
        )  # fmt: skip
        return counts

    counts = np.sum(workers.map(one, _slabs(X.shape, workers)), axis=0)
    last = offsets[1:] - 1
    tables = {
        "count": ExactArray.from_integers(np.delete(counts, last, axis=1)),
        "missing": ExactArray.from_integers(counts[:, last]),
    }
    return LevelStatistics(tables, X.levels).canonical()


def no_level(X: Any, row: int, column: int, above: int = 0) -> InvalidValueError:
    """The error for X[row, column], or for a negative value if there is one."""
    problem = "Not a level code"
    if (negative := X < 0).any():
        problem = "Negative values in data"
        row, column = np.argwhere(negative)[0].tolist()
    value = X[row, column]
    return InvalidValueError(
        above + row, column, f"{problem}: {{where}} is {value}, not a whole number below 2**53"
    )


def _count_directly(X: npt.NDArray[Any], batch: Batch, workers: Workers) -> LevelStatistics | None:
    """Count into tables indexed by the codes; None if the codes are too large for that."""
    d = X.shape[1]
    parts = _slabs(X.shape, workers)
    largest = np.fmax.reduce(X[:1000], axis=0).astype(np.float64)  # a first guess
    first = np.clip(np.nan_to_num(largest), 0, 1000).astype(np.int64) + 1
    if first.sum() * batch.n_classes > TABLE:
        return None

    def one(rows: slice) -> LevelStatistics | None:
        sizes = first
        missing = np.zeros((batch.n_classes, d), np.int64)
        counts = np.zeros((batch.n_classes, int(sizes.sum())), np.int64)
        report = np.zeros(2, np.int64)
        row = rows.start
        while True:
            offsets = np.concatenate([[0], np.cumsum(sizes)])
            status, row = kernel.count_levels(
                shown(X), batch.codes, row, rows.stop, offsets,
                counts.reshape(-1), missing.reshape(-1), report,
            )  # fmt: skip
            if status == kernel.DONE:
                break
            column, code = report.tolist()
            if status == kernel.REFUSED:
                raise no_level(X, row, column)
            wider = sizes.copy()
            wider[column] = max(2 * sizes[column], code + 1)
            if int(wider.sum()) * batch.n_classes > TABLE:
                return None
            moved = np.zeros((batch.n_classes, int(wider.sum())), np.int64)
            starts = np.cumsum(wider) - wider
            columns = [np.arange(at, at + own) for at, own in zip(starts, sizes, strict=True)]
            moved[:, np.concatenate(columns)] = counts
            sizes, counts = wider, moved
        return LevelStatistics(
            {
                "count": ExactArray.from_integers(counts),
                "missing": ExactArray.from_integers(missing),
            },
            [np.arange(size) for size in sizes],
        ).canonical()

    counted = [part for part in workers.map(one, parts) if part is not None]
    if len(counted) < len(parts):
        return None
    for other in counted[1:]:
        counted[0].accumulate(other, np.arange(batch.n_classes))
    return counted[0]


def _count_columns(X: npt.NDArray[Any] | Encoded, batch: Batch) -> LevelStatistics:
    """Count by way of each feature's sorted levels: any codes, any weights."""
    n, d = X.shape
    classes = batch.n_classes
    weights = batch.weights if len(batch.weights) else np.ones(n)
    held = window(weights.min(), weights.max()) if n else None
    codes, counts, levels = batch.codes, [], []
    missing = Limbs(classes * d, held)
    for j in range(d):
        seen, found, positions = _column_levels(X, j)
        limbs = Limbs(classes * len(found), held)
        kernel.weigh_columns(
            positions.astype(np.int64), codes[seen], weights[seen], len(found), *limbs.arguments,
        )  # fmt: skip
        counts.append(limbs.exact((classes, len(found))))
        levels.append(found)
        kernel.weigh_columns(
            np.full((~seen).sum(), j), codes[~seen], weights[~seen], d, *missing.arguments
        )
    tables = {"count": joined(counts, classes), "missing": missing.exact((classes, d))}
    return LevelStatistics(tables, levels).canonical()


def _column_levels(
    X: npt.NDArray[Any] | Encoded, j: int
) -> tuple[npt.NDArray[np.bool_], Levels, Int64]:
    """(rows with a level, levels, position of each such row's level) of a column."""
    if isinstance(X, Encoded):
        column = X.codes[:, j]
        seen = column < len(X.levels[j])
        return seen, X.levels[j], column[seen]
    x = X[:, j]
    if x.dtype.kind == "f":
        seen = ~np.isnan(x)
        bad = seen & ((x < 0) | (x != np.floor(x)) | (x >= CODES))
    else:
        seen = np.ones(len(x), bool)
        bad = (x < 0) | (x >= CODES)
    if bad.any():
        raise no_level(X, int(bad.argmax()), j)
    found, positions = np.unique(x[seen].astype(np.int64), return_inverse=True)
    return seen, found, positions
