"""Categorical features, one die a feature and class: p(x_α = j | y = c) = [θ_jc]_α."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Float64, Int64
from naively.families.base import (
    Batch,
    Data,
    Family,
    InvalidValueError,
    Parameters,
    Statistics,
    Workers,
    dense,
    is_sparse,
)
from naively.families.linear import Alpha, check_alpha, counts_of, log, valid_alpha
from naively.families.sums import Limbs, window
from naively.kernels import levels as kernel

Unseen = Literal["smooth", "ignore", "error"]
CHUNK = 8192
TABLE = 1 << 22  # cells of a direct look-up table, beyond which levels are searched for


@dataclass(frozen=True)
class Categorical(Family):
    """Features that take one of K_α levels, coded 0, 1, ...

    Lecture 1, case 1; lecture 3, "Categorical Features"::

        [θ_jc]_α = (Σ_i I(y_i = c) I(x_iα = j) + l) / (Σ_i I(y_i = c) + l K_α)

    with K_α the largest code seen plus one, or `min_categories` if that is more.

    Parameters
    ----------
    alpha : float, array or list of arrays
        l: 0 for maximum likelihood, 1 for Laplace; a scalar, or of shape (d,), (C, 1) or (C, d);
        or a list of d arrays (K_α,) or (C, K_α) with a value for each level.
    min_categories : int, (d,) array or None
        Least number of levels of every or each feature.
    unseen : "smooth", "ignore" or "error"
        What a level that was never learned does at prediction: it is scored as a level with
        count 0, or its feature is dropped, or it is refused.
    """

    alpha: Alpha | Sequence[npt.ArrayLike] = 1.0
    min_categories: int | npt.ArrayLike | None = None
    unseen: Unseen = "smooth"

    name = "categorical"

    def __post_init__(self) -> None:
        if self.unseen not in ("smooth", "ignore", "error"):
            raise ValueError(f'unseen must be "smooth", "ignore" or "error", not {self.unseen!r}')
        for alpha in self.alpha if isinstance(self.alpha, list | tuple) else [self.alpha]:
            valid_alpha(alpha)

    def check(self, statistics: LevelStatistics) -> None:
        """Raise ValueError unless alpha and min_categories are of shapes that fit."""
        classes = statistics.tables["missing"].shape[0]
        _level_alphas(self.alpha, classes, self.categories(statistics))

    def categories(self, statistics: LevelStatistics) -> Int64:
        """K_α, the number of levels of each feature, (d,)."""
        levels = statistics.canonical().levels
        seen = [int(codes[-1]) + 1 if len(codes) else 0 for codes in levels]
        return np.maximum(seen, _check_min_categories(self.min_categories, len(seen)))

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> LevelStatistics:
        """The weight of each level by class and feature, exactly."""
        X = dense(X)
        if len(batch.weights) == 0 and X.size > 0:
            counted = _count_directly(X, batch, workers)
            if counted is not None:
                return counted
        return _count_columns(X, batch)

    def empty(self, n_classes: int, n_features: int) -> LevelStatistics:
        """The statistics of no rows."""
        return LevelStatistics(
            {
                "count": ExactArray.zeros((n_classes, 0)),
                "missing": ExactArray.zeros((n_classes, n_features)),
            },
            [np.empty(0, np.int64)] * n_features,
        )

    def estimate(self, statistics: LevelStatistics, class_weight: ExactArray) -> Any:
        """[θ_jc]_α."""
        return CategoricalParameters(statistics, class_weight, self)


class LevelStatistics(Statistics):
    """Counts of the levels that were seen.

    Attributes
    ----------
    tables : ``count`` (C, total number of levels), feature after feature, and ``missing`` (C, d).
    levels : list of d sorted int64 arrays, the codes that the columns of ``count`` stand for.
    """

    def __init__(self, tables: dict[str, ExactArray], levels: list[Int64]) -> None:
        super().__init__(tables)
        self.levels = levels

    @property
    def offsets(self) -> Int64:
        """Where each feature's levels begin in ``count``, and where the last ends."""
        return np.cumsum([0] + [len(levels) for levels in self.levels])

    def add(self, other: Statistics, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) statistics, merging the levels by union."""
        assert isinstance(other, LevelStatistics)
        mine, theirs = self.levels, other.levels
        if any(len(a) != len(b) or (a != b).any() for a, b in zip(mine, theirs, strict=True)):
            merged = [np.union1d(a, b) for a, b in zip(mine, theirs, strict=True)]
            self.tables["count"] = self.tables["count"].placed(
                1, _positions(mine, merged), sum(map(len, merged))
            )
            self.levels = merged
        columns = _positions(theirs, self.levels)
        count = self.tables["count"]
        self.tables["count"] = count.add(other.tables["count"], classes, columns, sign)
        missing = self.tables["missing"]
        self.tables["missing"] = missing.add(other.tables["missing"], classes, sign=sign)

    def canonical(self) -> Self:
        """The same statistics without levels of count 0."""
        keep = self.tables["count"].nonzero().any(axis=0)
        levels = np.split(np.concatenate([np.empty(0, np.int64), *self.levels]), self.offsets[1:-1])
        parts = np.split(keep, self.offsets[1:-1])
        tables = {
            "count": self.tables["count"].taken(1, keep).trimmed(),
            "missing": self.tables["missing"].trimmed(),
        }
        return type(self)(tables, [a[k] for a, k in zip(levels, parts, strict=True)])

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
        return a.tables == b.tables and all(map(np.array_equal, a.levels, b.levels))

    __hash__ = None


def _positions(levels: list[Int64], merged: list[Int64]) -> Int64:
    """Where each level of `levels` is in the columns of `merged`, which has them all."""
    starts = np.cumsum([0] + [len(m) for m in merged])
    found = [at + np.searchsorted(m, a) for at, a, m in zip(starts, levels, merged, strict=False)]
    return np.concatenate([np.empty(0, np.int64), *found])


def _no_level(X: npt.NDArray[Any], row: int, column: int, above: int = 0) -> InvalidValueError:
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
    n, d = X.shape
    slabs = min(workers.count, max(1, n * d // 2**17))
    edges = [n * k // slabs for k in range(slabs + 1)]
    largest = np.fmax.reduce(X[:1000], axis=0).astype(np.float64)  # a first guess
    first = np.clip(np.nan_to_num(largest), 0, 1000).astype(np.int64) + 1
    if first.sum() * batch.n_classes > TABLE:
        return None

    def one(k: int) -> LevelStatistics | None:
        sizes = first
        missing = np.zeros((batch.n_classes, d), np.int64)
        counts = np.zeros((batch.n_classes, int(sizes.sum())), np.int64)
        report = np.zeros(2, np.int64)
        row = edges[k]
        while True:
            offsets = np.concatenate([[0], np.cumsum(sizes)])
            status, row = kernel.count_levels(
                X, batch.codes, row, edges[k + 1], offsets,
                counts.reshape(-1), missing.reshape(-1), report,
            )  # fmt: skip
            if status == kernel.DONE:
                break
            column, code = report.tolist()
            if status == kernel.REFUSED:
                raise _no_level(X, row, column)
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

    parts = [part for part in workers.map(one, range(slabs)) if part is not None]
    if len(parts) < slabs:
        return None
    for other in parts[1:]:
        parts[0].add(other, np.arange(batch.n_classes))
    return parts[0]


def _count_columns(X: npt.NDArray[Any], batch: Batch) -> LevelStatistics:
    """Count by way of each feature's sorted levels: any codes, any weights."""
    n, d = X.shape
    classes = batch.n_classes
    weights = batch.weights if len(batch.weights) else np.ones(n)
    held = window(weights.min(), weights.max()) if n else None
    codes, counts, levels = batch.codes, [], []
    missing = Limbs(classes * d, held)
    for j in range(d):
        x = X[:, j]
        if x.dtype.kind == "f":
            seen = ~np.isnan(x)
            bad = seen & ((x < 0) | (x != np.floor(x)) | (x >= kernel.LARGEST))
        else:
            seen = np.ones(n, bool)
            bad = (x < 0) | (x >= kernel.LARGEST)
        if bad.any():
            raise _no_level(X, int(bad.argmax()), j)
        found, positions = np.unique(x[seen].astype(np.int64), return_inverse=True)
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
    return LevelStatistics(
        {"count": total.trimmed(), "missing": missing.exact((classes, d))}, levels
    )


class CategoricalParameters(Parameters):
    """log [θ_jc]_α of each level that was seen or declared.

    Attributes
    ----------
    n_categories : (d,) int64, K_α.
    """

    not_linear = "the log-odds are linear in one-hot indicators of the levels, not in their codes x"

    def __init__(
        self, statistics: LevelStatistics, class_weight: ExactArray, family: Categorical
    ) -> None:
        statistics = statistics.canonical()
        self.levels = statistics.levels
        self.offsets = statistics.offsets
        self.count = counts_of(statistics.tables["count"])
        self.unseen = family.unseen
        self.classes, d = statistics.tables["missing"].shape
        self.declared = _check_min_categories(family.min_categories, d)
        self.n_categories = family.categories(statistics)
        self.observed = counts_of(statistics.observed(class_weight))
        self.n_free = self.classes * int(np.maximum(self.n_categories - 1, 0).sum())
        self._alpha = _level_alphas(family.alpha, self.classes, self.n_categories)
        if isinstance(family.alpha, list | tuple):  # a value a level: all of them are declared
            self.declared = self.n_categories

    def log_theta(self, feature: int, levels: Int64) -> Float64:
        """Log [θ_jc]_α of the given level codes, (C, len(levels)); uniform if nothing is known."""
        known = self.levels[feature]
        at = np.searchsorted(known, levels)
        count = np.zeros((self.classes, len(levels)))
        hit = np.append(known, -1)[at] == levels
        if hit.any():
            count[:, hit] = self.count[:, self.offsets[feature] + at[hit]]
        alpha, total = self._alpha(feature, levels)
        below = (self.observed[:, feature] + total)[:, np.newaxis]
        theta = log(count + alpha) - log(np.where(below > 0, below, 1.0))
        return np.where(below > 0, theta, -math.log(max(self.n_categories[feature], 1)))

    @cached_property
    def _scored_levels(self) -> list[Int64]:
        """The levels that have a row in the table: seen or declared."""
        pairs = zip(self.levels, self.declared, strict=True)
        return [np.union1d(seen, np.arange(declared)) for seen, declared in pairs]

    @cached_property
    def _table(self) -> Float64:
        """log θ, (rows, C): of the scored levels; of any other level, d rows; zeros if missing."""
        rows, beyond = [np.empty((0, self.classes))], []
        for j, levels in enumerate(self._scored_levels):
            rows.append(self.log_theta(j, levels).T)
            beyond.append(self.log_theta(j, self.n_categories[j : j + 1]).T)
        unseen = np.concatenate(beyond)
        if self.unseen == "ignore":
            unseen[:] = 0.0
        return np.concatenate([*rows, unseen, np.zeros((1, self.classes))])

    @cached_property
    def _padded(self) -> tuple[Float64, int]:
        """The table as the kernel takes it: flat, with rows of a multiple of 8."""
        width = -(-self.classes // kernel.LANES) * kernel.LANES
        return np.pad(self._table, ((0, 0), (0, width - self.classes))).reshape(-1), width

    @cached_property
    def _beyond(self) -> int:
        """The first row of the table for unseen levels."""
        return sum(map(len, self._scored_levels))

    @cached_property
    def _direct(self) -> tuple[Int64, Int64] | None:
        """(offsets, the row of each code) for the kernel; None if the codes are too large."""
        sizes = [int(levels[-1]) + 1 if len(levels) else 0 for levels in self._scored_levels]
        if sum(sizes) > TABLE:
            return None
        offsets = np.cumsum([0, *sizes])
        lookup = np.repeat(self._beyond + np.arange(len(sizes)), sizes)
        at = 0
        for start, levels in zip(offsets, self._scored_levels, strict=False):
            lookup[start + levels] = np.arange(at, at + len(levels))
            at += len(levels)
        return offsets, lookup

    def _ranks(self, X: npt.NDArray[Any]) -> Float64:
        """Each code replaced by its rank among the scored levels, or by one beyond them."""
        ranks = X.astype(np.float64)
        for j, levels in enumerate(self._scored_levels):
            x = ranks[:, j]
            at = np.searchsorted(levels, x)
            codes = np.append(levels, -1)
            valid = (x >= 0) & (x < kernel.LARGEST) & (x == np.floor(x))
            x[valid] = np.where(codes[at] == x, at, len(levels))[valid]
        return ranks

    def _coded(self, X: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Int64, Int64]:
        """(rows, offsets, lookup) as the kernels take them."""
        if self._direct is not None:
            return X, *self._direct
        sizes = [len(levels) for levels in self._scored_levels]
        return self._ranks(X), np.cumsum([0, *sizes]), np.arange(self._beyond)

    def _columns(self, X: npt.NDArray[Any], first: int = 0) -> Int64:
        """The row of the table that each value names. Refuses what is no level."""
        out = np.empty(X.shape, np.int64)
        coded, *lookup = self._coded(X)
        row, column = kernel.encode(coded, 0, len(X), *lookup, self._beyond, out)
        if row >= 0:
            raise _no_level(X, row, column, first)
        return out

    def prepare(self, sparse: bool, workers: Workers) -> None:
        """Compute the table and the look-up."""
        _ = self._padded, self._direct

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Σ_α log [θ_jc]_α for the levels j of the row."""
        first = start
        if is_sparse(X) or self._direct is None:
            X, start, stop = dense(X[start:stop]), 0, stop - start
        if self.unseen == "error":
            self._refuse_unseen(X[start:stop], first)
        coded, *lookup = self._coded(X)
        row, column = kernel.score_levels(
            coded, start, stop, *lookup, self._beyond, *self._padded, out
        )
        if row >= 0:
            raise _no_level(X, row, column, first - start)

    def _refuse_unseen(self, X: npt.NDArray[Any], first: int) -> None:
        columns = self._columns(X, first)
        unseen = (columns >= self._beyond) & (columns < self._beyond + X.shape[1])
        if unseen.any():
            row, column = np.argwhere(unseen)[0].tolist()
            raise InvalidValueError(
                first + row, column,
                f"Unseen level: {{where}} is {X[row, column]}, never met in training",
            )  # fmt: skip

    def contributions(self, X: Data) -> Float64:
        """log [θ_jc]_α of each feature; 0 where it is missing or ignored."""
        return np.moveaxis(self._table[self._columns(dense(X))], 2, 1)

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Rows of level codes."""
        out = np.empty((len(codes), len(self.levels)), np.int64)
        for j, levels in enumerate(self._scored_levels):
            levels = levels if len(levels) else np.zeros(1, np.int64)
            theta = np.exp(self.log_theta(j, levels))
            sums = np.cumsum(theta / theta.sum(axis=1, keepdims=True), axis=1)
            draw = (generator.random(len(codes))[:, np.newaxis] > sums[codes]).sum(axis=1)
            out[:, j] = levels[np.minimum(draw, len(levels) - 1)]
        return out


def _check_min_categories(given: Any, n_features: int) -> Int64:
    if given is None:
        return np.zeros(n_features, np.int64)
    values = np.asarray(given)
    if values.dtype.kind not in "iu":
        raise ValueError(f"'min_categories' should have integral type. Got {values.dtype} instead.")
    if values.min(initial=0) < 0 or values.max(initial=0) >= 1 << 31:
        raise ValueError(f"'min_categories' should be from 0 to 2**31 - 1, not {given!r}")
    if values.shape not in {(), (n_features,)}:
        raise ValueError(
            f"'min_categories' should have shape ({n_features},) when an array-like is "
            f"provided. Got {values.shape} instead."
        )
    return np.array(np.broadcast_to(values, n_features), np.int64)


LevelAlphas = Callable[[int, Int64], tuple[Any, Any]]


def _level_alphas(alpha: Any, classes: int, n_categories: Int64) -> LevelAlphas:
    """A function from (feature, levels) to (l of each level, Σ_j l_j), for each class.

    With one value a level, a level beyond them all has none.
    """
    d = len(n_categories)
    if isinstance(alpha, list | tuple):
        if len(alpha) != d:
            raise ValueError(f"alpha has arrays for {len(alpha)} features, but there are {d}")
        tables = []
        for j, one in enumerate(alpha):
            table = np.atleast_2d(np.asarray(one, np.float64))
            k = n_categories[j]
            valid = np.isfinite(table).all() and (table >= 0).all()
            if table.shape not in {(1, k), (classes, k)} or not valid:
                raise ValueError(
                    f"alpha[{j}] must be finite, >= 0 and have a value for each of the {k} "
                    f"levels of feature {j}; its shape is {np.shape(one)}"
                )
            tables.append(table)

        def of_level(feature: int, levels: Int64) -> tuple[Any, Any]:
            table = tables[feature]
            wide = np.pad(table, ((0, 0), (0, 1)))
            return wide[:, np.minimum(levels, table.shape[1])], table.sum(axis=1)

        return of_level

    values = np.broadcast_to(check_alpha(alpha, classes, d), (classes, d))

    def of_feature(feature: int, levels: Int64) -> tuple[Any, Any]:
        one = values[:, feature]
        return one[:, np.newaxis], one * n_categories[feature]

    return of_feature
