"""Model the joint distribution of categorical columns by counting identical rows."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.core.exact import LARGEST, ExactArray, Float64, Int64
from naively.core.issues import Categories
from naively.families.base import SCORED, Family, Listed, Parameters, Section, first_levels
from naively.families.discrete.categorical import check_min_categories
from naively.families.linear import counts_of, log, valid_alpha
from naively.statistics.base import Data
from naively.statistics.levels import Encoded, Levels, find, spelled_as
from naively.statistics.rows import (
    Codes,
    RowCounts,
    RowStatistics,
    categories,
    distinct,
    encoded,
    from_text,
    numbered,
    place,
    runs,
    texts,
)

PATTERNS = 32  # sets of observed columns whose sums over the table are cached


@dataclass(frozen=True)
class Joint(Family[RowStatistics, "JointParameters"]):
    """All columns together: a table with a cell for each combination of their categories.

    Lecture 1, |C| / |B|; lecture 2, "maintain probability table with 2^d - 1 entries"; lecture 3,
    counting the joint distribution::

        p(x | y = c) = (Σ_i I(y_i = c) I(x_i = x) + l) / (Σ_i I(y_i = c) + l M)

    with M = Π_α K_α cells and K_α the number of categories of column α, in all classes together.
    With l = 0 and the empirical prior, P(y | x) is |C| / |B|: the share of the class among the
    rows identical to x.

    An unseen row, or one with an unseen category, has count 0 in each class. With l = 0 no class
    can produce it, and the prediction is the class prior. With l > 0 its probability is
    l / (N_c + l M): P(y | x) is near the prior if there are many more cells than rows, and near
    uniform if there are far fewer.

    A missing value is marginalised in prediction: p(x | y) is summed over the cells that agree
    with the observed values. Training rows with a missing value count for the class prior only.

    The data are `Encoded`, or an array of numbers, which are categories by their text. Memory
    grows with the distinct training rows, not with M.

    Parameters
    ----------
    alpha : float
        l: virtual counts of each cell; 0 for maximum likelihood, 1 for Laplace.
    min_categories : int, (d,) array or None
        Least K_α of every or each column: 2 for pixels, some of which never vary.
    """

    alpha: float = 1.0
    min_categories: int | npt.ArrayLike | None = None

    name = "joint"
    summary = RowCounts()
    independent = False
    in_turn = True

    def __post_init__(self) -> None:
        if valid_alpha(self.alpha).ndim:
            raise ValueError(f"alpha of a joint table must be one number, not {self.alpha!r}")

    def check(self, statistics: RowStatistics, class_weight: ExactArray) -> None:
        """Raise ValueError unless min_categories has a valid shape."""
        check_min_categories(self.min_categories, statistics.tables["missing"].shape[1])

    def estimate(self, statistics: RowStatistics, class_weight: ExactArray) -> JointParameters:
        """Estimate p(x | y = c)."""
        return JointParameters(statistics, self.alpha, self.min_categories)


class JointParameters(Parameters):
    """The log-probabilities of the distinct training rows, and of all other rows.

    cells : (R, d) int32, the distinct rows, as indices in the categories of each column.
    levels : list of d sorted arrays of text, the categories.
    count : (C, R) weight of each row.
    n_cells : M, as an exact integer: it may be beyond any float.
    n_free : C (M - 1).
    """

    not_linear = "the log-odds of a joint table are linear only in one-hot encoded rows"

    def __init__(self, statistics: RowStatistics, alpha: float, min_categories: Any = None) -> None:
        statistics = statistics.canonical()
        count = statistics.tables["count"]
        classes, d = statistics.tables["missing"].shape
        self.cells, self.levels = from_text(statistics.levels[0], d)
        self.count = counts_of(count)
        n_seen = [len(categories) for categories in self.levels]
        sizes = np.maximum(n_seen, check_min_categories(min_categories, d)).tolist()
        self.n_cells = math.prod(sizes)
        self.n_free = classes * max(self.n_cells - 1, 0)
        self._bounds = [size + 1 for size in n_seen]  # one more for an unseen category
        self._log_sizes = np.log(np.maximum(sizes, 1))
        self._log_alpha = float(log(np.asarray(alpha, np.float64)))
        log_cells = self._log_sizes.sum()
        log_weight = log(counts_of(count.summed(1)))[:, np.newaxis]
        log_total = np.logaddexp(log_weight, self._log_alpha + log_cells)
        empty = np.isneginf(log_weight)  # classes without rows are uniform, whatever alpha is
        self._log_total = np.where(empty, log_cells, log_total)
        self._unknown = empty
        self._observed = np.exp(log_weight - self._log_total)[:, 0]  # the share of real rows
        self._marginal = lru_cache(PATTERNS)(self._marginal_of)
        self._last: tuple[Any, Any] = None, None  # cached for later chunks

    def categories(self, X: Data, but: Container[int]) -> dict[int, Categories]:
        """Return the categories of the rows in each text column, except those in `but`."""
        return categories(self.levels, X, but) if isinstance(X, Encoded) else {}

    def chunk(self, X: Data, n_classes: int) -> int:
        """Number of rows that are scored at a time."""
        return max(64, SCORED // max(1, n_classes, X.shape[1]))

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Compute log (N_c(x) + l M_x) / (N_c + l M); M_x is the number of cells that match x."""
        out[:] = 0.0
        values = self._values(X[start:stop])
        for columns, rows in self._patterns(values):
            steps, keys, score = self._marginal(tuple(columns.tolist()))
            out[:, rows] = score[:, self._group(values[rows], steps, keys)]

    def _group(self, values: Codes, steps: list[list[int]], keys: list[Int64]) -> Int64:
        """Return the group of each row in a table summed over columns: see `_marginal_of`."""
        group = np.zeros(len(values), np.int64)
        for step, step_keys in zip(steps, keys, strict=True):
            group = place(step_keys, numbered(group, values, step, self._bounds))
        return group

    def matching(self, X: Data) -> Float64:
        """Return the weight of the training rows of each class that agree with each row, (n, C).

        Missing values of `X` agree with all; training rows with missing values are not counted.
        """
        values = self._values(X)
        out = np.repeat(self.count.sum(axis=1)[:, np.newaxis], len(values), axis=1)
        for columns, rows in self._patterns(values):
            steps, sums = self._summed_over(columns.tolist())
            group = self._group(values[rows], steps, [keys for keys, _ in sums])
            keys, groups = sums[-1]
            out[:, rows] = self._counts(groups, len(keys))[:, group]
        return out.T

    def contributions(self, X: Data) -> Float64:
        """Compute log p(x_α | x_β for all β < α, c): the chain rule in the order of the columns."""
        values = self._values(X)
        n, d = values.shape
        out = np.zeros((n, len(self.count), d))
        for columns, rows in self._patterns(values):
            cells = values[rows]
            group = np.zeros(len(cells), np.int64)
            previous = np.zeros((len(self.count), len(cells)))
            # the logs of the numbers of cells of all later columns
            after = np.append(np.cumsum(self._log_sizes[columns][:0:-1])[::-1], 0.0)
            sums = self._sums([[k] for k in columns.tolist()])
            steps = zip(columns.tolist(), self._log_rest(columns) + after, sums, strict=True)
            for k, log_rest, (keys, groups) in steps:
                group = place(keys, numbered(group, cells, [k], self._bounds))
                score = self._score(groups, len(keys), log_rest)[:, group]
                possible = ~np.isneginf(previous)  # impossible: later columns contribute 0
                step = np.subtract(score, previous, out=np.zeros_like(score), where=possible)
                out[rows, :, k] = step.T
                previous = score
        return out

    def alone(self, X: Data) -> Float64:
        """Compute log p(x_α | c) of each column, summed over all others."""
        values = self._values(X)
        out = np.zeros((values.shape[1], len(self.count), len(values)))
        for k, column_scores in enumerate(out):
            rows = np.flatnonzero(values[:, k] >= 0)
            _, (keys,), score = self._marginal_of((k,))
            column = values[rows, k][:, np.newaxis]
            group = numbered(np.zeros(len(rows), np.int64), column, [0], [self._bounds[k]])
            column_scores[:, rows] = score[:, place(keys, group)]
        return out.transpose(2, 1, 0)

    def sample(self, codes: Int64, generator: np.random.Generator) -> Encoded:
        """Draw training rows by their weights, or, for the virtual counts, any cell."""
        n = len(codes)
        out = np.empty((n, len(self.levels)), np.int32)
        for k, column_levels in enumerate(self.levels):
            out[:, k] = generator.integers(0, max(len(column_levels), 1), n)
        is_seen = generator.random(n) < self._observed[codes]
        for c, count in enumerate(self.count):
            rows = np.flatnonzero(is_seen & (codes == c))
            if len(rows):
                p = count / count.max()
                out[rows] = self.cells[generator.choice(len(p), len(rows), p=p / p.sum())]
        return Encoded(out, self.levels)

    @property
    def scored_levels(self) -> list[Levels]:
        """The categories of each column."""
        return self.levels

    def described(self, names: Sequence[str]) -> Section:
        """Describe the categories of each column."""
        words = {}
        for name, levels in zip(names, self.levels, strict=True):
            shown = first_levels([*map(str, levels.tolist())], len(levels))
            words[name] = f"{shown}; {len(self.cells):,} different rows"
        return Section("categories of the joint table", rows={n: [] for n in names}, words=words)

    def listed(self) -> list[Listed]:
        """List the probability of each seen cell, and that of an unseen cell, if there is one."""
        count = len(self.cells)
        pairs = zip(self.levels, self.cells.T, strict=True)
        rows = zip(*(levels[codes] for levels, codes in pairs), strict=True)
        cells: list[str | None] = [" × ".join(map(str, cell)) for cell in rows]
        score = self._score(np.arange(count), count, 0.0)
        if self.n_cells > count:
            return [Listed("p", None, [*cells, None], np.exp(score))]
        return [Listed("p", None, cells, np.exp(score[:, :count]))]

    # ---- sums over the table -----------------------------------------------------------------

    def _marginal_of(self, columns: tuple[int, ...]) -> Any:
        """Return the table summed over all but these columns, to find and score rows.

        (steps, keys, score (C, G + 1)): a row's group is found step by step; the group after the
        columns so far and the codes of the next step's columns are looked up in its keys. The last
        score is that of rows in no group.
        """
        steps, sums = self._summed_over(columns)
        keys, groups = sums[-1]
        score = self._score(groups, len(keys), self._log_rest(np.array(columns)))
        return steps, [keys for keys, _ in sums], score

    def _summed_over(self, columns: Sequence[int]) -> tuple[list[list[int]], list[Any]]:
        """Return (steps of columns, their `_sums`) for the table summed over all others."""
        steps = runs([self._bounds[k] for k in columns], len(self.cells))
        steps = [[columns[k] for k in step] for step in steps]
        return steps, list(self._sums(steps))

    def _sums(self, steps: list[list[int]]) -> Iterator[tuple[Int64, Int64]]:
        """Yield (keys, group of each row of the table) after each step, which adds some columns."""
        group = np.zeros(len(self.cells), np.int64)
        for step in steps:
            numbers = numbered(group, self.cells, step, self._bounds)
            keys, group = np.unique(numbers, return_inverse=True)
            yield keys, group

    def _log_rest(self, columns: Int64) -> float:
        """Return the log of the number of cells that agree in these columns."""
        return float(np.delete(self._log_sizes, columns).sum())

    def _score(self, groups: Int64, n_groups: int, log_rest: float) -> Float64:
        """Return log p of each group of rows of the table, and of an empty one, (C, G + 1)."""
        score = np.logaddexp(log(self._counts(groups, n_groups)), self._log_alpha + log_rest)
        return np.where(self._unknown, log_rest, score) - self._log_total

    def _counts(self, groups: Int64, n_groups: int) -> Float64:
        """Return the weight of each group of rows of the table, and of an empty one, (C, G + 1)."""
        sums = [np.bincount(groups, weights, n_groups + 1) for weights in self.count]
        return np.minimum(sums, LARGEST)

    # ---- the values of rows ------------------------------------------------------------------

    def _values(self, X: Data) -> Codes:
        """Encode values by index in the known categories; one more if unseen, -1 if missing."""
        X = encoded(X)
        cached = self._last  # read once: other threads may replace it
        if cached[0] is not X.levels:
            cached = X.levels, [*map(_translation, self.levels, X.levels)]
            self._last = cached
        values = np.empty(X.shape, np.int32, order="F")
        for k, lookup in enumerate(cached[1]):
            values[:, k] = lookup[X.codes[:, k]]
        return values

    def _patterns(self, values: Codes) -> Iterator[tuple[Int64, Any]]:
        """Yield (observed columns, rows) of each pattern of missing values, except all missing."""
        missing = values < 0
        if len(self.cells) == 0:
            return
        if not missing.any():
            yield np.arange(missing.shape[1]), slice(None)
            return
        first_rows, pattern = distinct(missing, [2] * missing.shape[1])
        order = np.argsort(pattern, kind="stable")
        ends = np.cumsum(np.bincount(pattern))
        for row, rows in zip(first_rows, np.split(order, ends[:-1]), strict=True):
            columns = np.flatnonzero(~missing[row])
            if len(columns):
                yield columns, rows


def _translation(levels: Levels, row_levels: Levels) -> Codes:
    """Return the index of each category of rows in `levels`, their number if unseen; -1 last."""
    positions, is_known = find(levels, spelled_as(levels, texts(row_levels)))
    return np.append(np.where(is_known, positions, len(levels)), -1).astype(np.int32)
