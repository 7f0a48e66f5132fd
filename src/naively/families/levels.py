"""How often each level of a feature was met: the statistics of categorical features."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Int64
from naively.families.base import Batch, InvalidValueError, Statistics
from naively.families.sums import Limbs, window
from naively.kernels import levels as kernel
from naively.workers import Workers

Levels = npt.NDArray[Any]
"""Distinct levels of a feature, sorted: codes (int64), numbers (float64) or text (StringDType)."""

TABLE = 1 << 22  # cells of a direct look-up table, beyond which levels are searched for


@dataclass(frozen=True)
class Encoded:
    """Columns of levels by their codes, as a table has them.

    Attributes
    ----------
    codes : (n, d) integer array, positions in the levels of each column, or their number where
        the value is missing.
    levels : list of d sorted arrays of distinct levels.
    """

    codes: npt.NDArray[Any]
    levels: list[Levels]

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return self.codes.shape[0], self.codes.shape[1]

    def __getitem__(self, rows: Any) -> Encoded:
        return Encoded(self.codes[rows], self.levels)


class LevelStatistics(Statistics):
    """Counts of the levels that were seen.

    Attributes
    ----------
    tables : ``count`` (C, total number of levels), feature after feature, and ``missing`` (C, d).
    levels : list of d sorted arrays, what the columns of ``count`` stand for.
    """

    def __init__(self, tables: dict[str, ExactArray], levels: list[Levels]) -> None:
        super().__init__(tables)
        self.levels = levels

    @property
    def offsets(self) -> Int64:
        """Where each feature's levels begin in ``count``, and where the last ends."""
        return np.cumsum([0] + [len(levels) for levels in self.levels])

    def add(self, other: Statistics, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) statistics, merging the levels by union."""
        assert isinstance(other, LevelStatistics)
        unions = [*map(union, self.levels, other.levels)]
        merged = [levels for levels, _, _ in unions]
        starts = np.cumsum([0, *map(len, merged)])
        own, columns = (
            np.concatenate(
                [np.empty(0, np.int64), *(s + u[k] for s, u in zip(starts, unions, strict=False))]
            )
            for k in (1, 2)
        )
        if not all(map(_same, self.levels, merged)):
            self.tables["count"] = self.tables["count"].placed(1, own, int(starts[-1]))
            self.levels = merged
        count = self.tables["count"]
        self.tables["count"] = count.add(other.tables["count"], classes, columns, sign)
        missing = self.tables["missing"]
        self.tables["missing"] = missing.add(other.tables["missing"], classes, sign=sign)

    def with_columns(self, own: Int64, positions: Int64, n_features: int) -> Self:
        """Some of the features among others, which have no values: own[k] is positions[k]."""
        parts = np.split(np.arange(self.offsets[-1]), self.offsets[1:-1])
        levels: list[Levels] = [np.empty(0, np.int64)] * n_features
        for k, position in zip(own, positions, strict=True):
            levels[position] = self.levels[k]
        order = [parts[k] for k in own[np.argsort(positions)]]
        columns = np.concatenate([np.empty(0, np.int64), *order])
        missing = self.tables["missing"].taken(1, own).placed(1, positions, n_features)
        spread = self._with({"count": self.tables["count"].taken(1, columns), "missing": missing})
        spread.levels = levels
        return spread

    def canonical(self) -> Self:
        """The same statistics without levels of count 0."""
        keep = self.tables["count"].nonzero().any(axis=0)
        parts = np.split(keep, self.offsets[1:-1])
        tables = {
            "count": self.tables["count"].taken(1, keep).trimmed(),
            "missing": self.tables["missing"].trimmed(),
        }
        return type(self)(tables, [a[k] for a, k in zip(self.levels, parts, strict=True)])

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no data can have these counts: each row has one level of a feature, or none."""
        count, observed = self.tables["count"], self.observed(class_weight)
        if count.any_negative() or self.tables["missing"].any_negative():
            return "more was forgotten than was learned"
        for j in range(len(self.levels)):
            own = slice(*self.offsets[j : j + 2])
            total = count.taken(1, own).summed(1)
            seen = observed.taken(1, slice(j, j + 1)).summed(1)
            for rest in (total.copy().add(seen, sign=-1), seen.copy().add(total, sign=-1)):
                if rest.below_zero(total):
                    return "these rows were not all learned before"
        return None

    def _with(self, tables: dict[str, ExactArray]) -> Self:
        return type(self)(tables, list(self.levels))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LevelStatistics):
            return NotImplemented
        a, b = self.canonical(), other.canonical()
        return a.tables == b.tables and all(map(_same, a.levels, b.levels))

    __hash__ = None


def union(a: Levels, b: Levels) -> tuple[Levels, Int64, Int64]:
    """(sorted union of two sorted sets of levels, where those of a are in it, and those of b)."""
    if _same(a, b) or len(a) == 0 or len(b) == 0:
        merged = b if len(a) == 0 else a
        return merged, np.arange(len(a)), np.arange(len(b))
    both = np.concatenate([a, b])
    order = np.argsort(both, kind="stable")  # which merges two sorted runs in linear time
    ordered = both[order]
    new = np.append(True, ordered[1:] != ordered[:-1])
    places = np.empty(len(both), np.int64)
    places[order] = np.cumsum(new) - 1
    return ordered[new], places[: len(a)], places[len(a) :]


def find(known: Levels, levels: Levels) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """(position of each of `levels` among the sorted `known`, whether it is there)."""
    if len(known) == 0 or len(levels) == 0:
        return np.zeros(len(levels), np.int64), np.zeros(len(levels), bool)
    if known.dtype.kind != "T":
        at = np.searchsorted(known, levels)
        return at, known[np.minimum(at, len(known) - 1)] == levels
    # NumPy's searchsorted misreads text beyond 15 bytes that belongs to another array
    order = np.argsort(levels, kind="stable")
    merged, own, others = union(known, levels[order])
    position = np.full(len(merged), -1)
    position[own] = np.arange(len(known))
    at = np.empty(len(levels), np.int64)
    at[order] = position[others]
    return np.maximum(at, 0), at >= 0


def _same(a: Levels, b: Levels) -> bool:
    return len(a) == len(b) and (len(a) == 0 or bool((a == b).all()))


def _positions(levels: list[Levels], merged: list[Levels]) -> Int64:
    """Where each level of `levels` is in the columns of `merged`, which has them all."""
    starts = np.cumsum([0] + [len(m) for m in merged])
    found = [at + find(m, a)[0] for at, a, m in zip(starts, levels, merged, strict=False)]
    return np.concatenate([np.empty(0, np.int64), *found])


def count_levels(X: npt.NDArray[Any] | Encoded, batch: Batch, workers: Workers) -> LevelStatistics:
    """The weight of each level by class and feature, exactly.

    Raises
    ------
    InvalidValueError : for a value that is no level code.
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
    slabs = min(workers.count, max(1, n * d // 2**17))
    edges = [n * k // slabs for k in range(slabs + 1)]
    return [slice(*pair) for pair in pairwise(edges)]


def _count_encoded(X: Encoded, batch: Batch, workers: Workers) -> LevelStatistics:
    """Count into tables indexed by the codes, with a column for what is missing."""
    sizes = np.array([len(levels) + 1 for levels in X.levels])
    offsets = np.concatenate([[0], np.cumsum(sizes)])

    def one(rows: slice) -> Int64:
        counts = np.zeros((batch.n_classes, int(offsets[-1])), np.int64)
        kernel.count_levels(
            X.codes, batch.codes, rows.start, rows.stop, offsets,
            counts.reshape(-1), np.empty(0, np.int64), np.zeros(2, np.int64),
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
    slabs = _slabs(X.shape, workers)
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
                X, batch.codes, row, rows.stop, offsets,
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
            moved[:, _positions([*map(np.arange, sizes)], [*map(np.arange, wider)])] = counts
            sizes, counts = wider, moved
        return LevelStatistics(
            {
                "count": ExactArray.from_integers(counts),
                "missing": ExactArray.from_integers(missing),
            },
            [np.arange(size) for size in sizes],
        ).canonical()

    parts = [part for part in workers.map(one, slabs) if part is not None]
    if len(parts) < len(slabs):
        return None
    for other in parts[1:]:
        parts[0].add(other, np.arange(batch.n_classes))
    return parts[0]


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
    total = ExactArray.zeros((classes, sum(map(len, levels))))
    at = 0
    for count in counts:
        total = total.add(count, columns=np.arange(at, at + count.shape[1]))
        at += count.shape[1]
    tables = {"count": total.trimmed(), "missing": missing.exact((classes, d))}
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
        bad = seen & ((x < 0) | (x != np.floor(x)) | (x >= kernel.LARGEST))
    else:
        seen = np.ones(len(x), bool)
        bad = (x < 0) | (x >= kernel.LARGEST)
    if bad.any():
        raise no_level(X, int(bad.argmax()), j)
    found, positions = np.unique(x[seen].astype(np.int64), return_inverse=True)
    return seen, found, positions
