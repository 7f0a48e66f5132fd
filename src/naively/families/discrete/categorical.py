"""Score categories by smoothed frequencies [θ_jc]_α, looked up in a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.issues import Categories
from naively.core.labels import Labels, as_text, by_label
from naively.core.workers import Workers
from naively.families.base import (
    Events,
    Family,
    Listed,
    Parameters,
    Section,
    alpha_of_classes,
    first_levels,
    in_order,
    labelled,
)
from naively.families.linear import IMPOSSIBLE, Alpha, check_alpha, counts_of, log, valid_alpha
from naively.formula import Formula, LevelCut, Table, Term
from naively.kernels import tables as kernel
from naively.kernels.sums import CODES
from naively.statistics.base import Data, InvalidValueError, dense, is_sparse, shown
from naively.statistics.levels import (
    TABLE,
    Encoded,
    LevelCounts,
    Levels,
    LevelStatistics,
    find,
    no_level,
    spelled_as,
)
from naively.statistics.rows import categories

Unseen = Literal["smooth", "ignore", "error"]
LevelAlphas = Callable[[int, Int64], tuple[Any, Any]]
"""Maps (feature, levels) to (l of each level, Σ_j l_j), for each class."""


class CategoricalParameters(Parameters):
    """log [θ_jc]_α of each category that was seen or declared.

    n_categories : (d,) int64, K_α.
    declared : (d,) int64, the number of codes of each feature that are scored even if unseen.
    """

    claims_least = True

    def __init__(
        self, statistics: LevelStatistics, class_weight: ExactArray, n_categories: Int64,
        declared: Int64, alpha: LevelAlphas, unseen: Unseen,
    ) -> None:  # fmt: skip
        self.levels = statistics.levels
        self.offsets = statistics.offsets
        self.count = counts_of(statistics.tables["count"])
        self.unseen = unseen
        self.classes = statistics.tables["missing"].shape[0]
        self.declared = declared
        self.n_categories = n_categories
        self.observed = counts_of(statistics.observed(class_weight))
        self.n_free = self.classes * int(np.maximum(self.n_categories - 1, 0).sum())
        self._alpha = alpha
        self._last: tuple[Any, Any] = None, None  # cached for later chunks

    def log_theta(self, feature: int, levels: Levels) -> Float64:
        """Return log [θ_jc]_α of some categories, (C, len(levels)); uniform without rows."""
        categories = self.levels[feature]
        positions, is_known = find(categories, levels)
        count = np.zeros((self.classes, len(levels)))
        if is_known.any():
            count[:, is_known] = self.count[:, self.offsets[feature] + positions[is_known]]
        positions = np.where(is_known, positions, len(categories))
        return self._log_theta(feature, count, levels if levels.dtype.kind == "i" else positions)

    def log_unseen(self, feature: int) -> Float64:
        """Return log [θ_jc]_α of an unseen category, (C, 1)."""
        places = self.n_categories[feature : feature + 1]
        return self._log_theta(feature, np.zeros((self.classes, 1)), places)

    def _log_theta(self, feature: int, count: Float64, places: Int64) -> Float64:
        alpha, total = self._alpha(feature, places)
        denominator = (self.observed[:, feature] + total)[:, np.newaxis]
        theta = log(count + alpha) - log(np.where(denominator > 0, denominator, 1.0))
        return np.where(denominator > 0, theta, -math.log(max(self.n_categories[feature], 1)))

    @cached_property
    def scored_levels(self) -> list[Levels]:
        """The categories with a row in the table: seen or declared."""
        return [
            np.union1d(levels, np.arange(n_declared))
            if n_declared > 0 and levels.dtype.kind == "i"
            else levels
            for levels, n_declared in zip(self.levels, self.declared, strict=True)
        ]

    @cached_property
    def _table(self) -> Float64:
        """log θ, (rows, C): scored categories, then unseen (d rows), then missing (zeros)."""
        rows, unseen_rows = [np.empty((0, self.classes))], [np.empty((0, self.classes))]
        for j, levels in enumerate(self.scored_levels):
            rows.append(self.log_theta(j, levels).T)
            unseen_rows.append(self.log_unseen(j).T)
        unseen = np.concatenate(unseen_rows)
        if self.unseen == "ignore":
            unseen[:] = 0.0
        return np.concatenate([*rows, unseen, np.zeros((1, self.classes))])

    @cached_property
    def _padded(self) -> tuple[Float64, int]:
        """The table in the kernel's layout: flat, rows padded to a multiple of 8."""
        width = -(-self.classes // kernel.LANES) * kernel.LANES
        return np.pad(self._table, ((0, 0), (0, width - self.classes))).reshape(-1), width

    @cached_property
    def _beyond(self) -> int:
        """The first row of the table for unseen categories."""
        return sum(map(len, self.scored_levels))

    @cached_property
    def _direct(self) -> tuple[Int64, Int64] | None:
        """(offsets, table row of each code) for the kernel; None for text and large codes."""
        if any(levels.dtype.kind != "i" for levels in self.scored_levels):
            return None
        sizes = [int(levels[-1]) + 1 if len(levels) else 0 for levels in self.scored_levels]
        if sum(sizes) > TABLE:
            return None
        offsets = np.cumsum([0, *sizes])
        lookup = np.repeat(self._beyond + np.arange(len(sizes)), sizes)
        row = 0
        for start, levels in zip(offsets, self.scored_levels, strict=False):
            lookup[start + levels] = np.arange(row, row + len(levels))
            row += len(levels)
        return offsets, lookup

    def _ranks(self, X: npt.NDArray[Any]) -> Float64:
        """Replace each code by its rank among the scored categories; unseen ones come last."""
        ranks = X.astype(np.float64)
        for j, levels in enumerate(self.scored_levels):
            x = ranks[:, j]
            positions = np.searchsorted(levels, x)
            codes = np.append(levels, -1)
            valid = (x >= 0) & (x < CODES) & (x == np.floor(x))
            x[valid] = np.where(codes[positions] == x, positions, len(levels))[valid]
        return ranks

    def _coded(self, X: npt.NDArray[Any] | Encoded) -> tuple[npt.NDArray[Any], Int64, Int64]:
        """Return (rows, offsets, lookup) for the kernels."""
        if isinstance(X, Encoded):
            return X.codes, *self._translated(X.levels)
        if self._direct is not None:
            return X, *self._direct
        sizes = [len(levels) for levels in self.scored_levels]
        return self._ranks(X), np.cumsum([0, *sizes]), np.arange(self._beyond)

    def _translated(self, levels: list[Levels]) -> tuple[Int64, Int64]:
        """Return (offsets, table row of each code of encoded columns, missing values included)."""
        cached = self._last  # read once: other threads may replace it
        if cached[0] is levels:
            return cached[1]
        lookup, n_rows = [], 0
        for j, (scored, column_levels) in enumerate(zip(self.scored_levels, levels, strict=True)):
            if scored.dtype.kind == "i" and column_levels.dtype.kind == "T":
                spelled = np.array([_code(text) for text in column_levels.tolist()], np.int64)
            else:
                is_text = scored.dtype.kind == "T"
                spelled = spelled_as(scored, column_levels) if is_text else column_levels
            positions, is_known = find(scored, spelled)
            lookup.append(np.where(is_known, n_rows + positions, self._beyond + j))
            lookup.append(np.array([self._beyond + len(levels)]))
            n_rows += len(scored)
        offsets = np.cumsum([0, *(len(column_levels) + 1 for column_levels in levels)])
        translated = offsets, np.concatenate([np.empty(0, np.int64), *lookup])
        self._last = levels, translated
        return translated

    def _columns(self, X: npt.NDArray[Any] | Encoded, first: int = 0) -> Int64:
        """Return the table row of each value. Raises InvalidValueError for invalid codes."""
        out = np.empty(X.shape, np.int64)
        codes, *lookup = self._coded(X)
        row, column = kernel.encode(shown(codes), 0, X.shape[0], *lookup, self._beyond, out)
        if row >= 0:
            raise no_level(X, row, column, first)
        return out

    def categories(self, X: Data, but: Container[int]) -> dict[int, Categories]:
        """Return the categories of the rows in each text feature, except those in `but`."""
        return categories(self.scored_levels, X, but) if isinstance(X, Encoded) else {}

    def prepare(self, X: Data, workers: Workers) -> None:
        """Compute the table and the lookup."""
        _ = self._padded, self._direct

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Compute Σ_α log [θ_jc]_α for the categories j of the row."""
        first = start
        if not isinstance(X, Encoded) and (is_sparse(X) or self._direct is None):
            X, start, stop = dense(X[start:stop]), 0, stop - start
        if self.unseen == "error":
            self._refuse_unseen(X[start:stop], first)
        codes, *lookup = self._coded(X)
        row, column = kernel.score_levels(
            shown(codes), start, stop, *lookup, self._beyond, *self._padded, out
        )
        if row >= 0:
            raise no_level(X, row, column, first - start)

    def _refuse_unseen(self, X: npt.NDArray[Any] | Encoded, first: int) -> None:
        columns = self._columns(X, first)
        unseen = (columns >= self._beyond) & (columns < self._beyond + X.shape[1])
        if unseen.any():
            row, column = np.argwhere(unseen)[0].tolist()
            value = X[row, column] if not isinstance(X, Encoded) else repr(
                str(X.levels[column][X.codes[row, column]]))  # fmt: skip
            problem = f"{{where}} is {value}, which is not in the training data"
            raise InvalidValueError(first + row, column, f"Unseen category: {problem}")

    def contributions(self, X: Data) -> Float64:
        """Compute log [θ_jc]_α of each feature; 0 where it is missing or ignored."""
        X = X if isinstance(X, Encoded) else dense(X)
        return np.moveaxis(self._table[self._columns(X)], 2, 1)

    def linear(self) -> tuple[Float64, Float64]:
        """Return w = log [θ_jc]_α for each category j, less the score of an unseen category.

        x has for each feature an indicator of each category, in order, and of a missing value; all
        are 0 for an unseen category.
        """
        d = len(self.levels)
        zero = self._table[self._beyond : self._beyond + d]  # (d, C), of a row of zeros
        if self.unseen == "error":
            zero = np.zeros_like(zero)
        ends = self._ends
        columns = np.delete(np.arange(ends[-1]), ends - 1)
        weight = np.zeros((int(ends[-1]), self.classes))
        weight[columns] = self._table[: self._beyond]
        if not (np.isfinite(weight).all() and np.isfinite(zero).all()):
            raise ValueError(
                "some probabilities are 0, whose logarithm no weight can hold; use alpha > 0, or "
                'unseen="ignore" if only unseen categories have probability 0'
            )
        weight -= np.repeat(zero, np.diff(ends, prepend=0), axis=0)
        return np.ascontiguousarray(weight.T), zero.sum(axis=0)

    @cached_property
    def _ends(self) -> Int64:
        """The end of each feature's indicators, (d,): its scored categories, and missing."""
        return np.cumsum([len(levels) + 1 for levels in self.scored_levels])

    def linear_rows(self, X: Data) -> Any:
        """Return the indicators as a CSR matrix. Raises InvalidValueError as `log_prob`."""
        X = X if isinstance(X, Encoded) else dense(X)
        if self.unseen == "error":
            self._refuse_unseen(X, 0)
        rows = self._columns(X)
        n, d = rows.shape
        missing = rows == self._beyond + d
        columns = np.where(missing, self._ends - 1, rows + np.arange(d))
        has_column = missing | (rows < self._beyond)
        starts = np.concatenate([[0], np.cumsum(has_column.sum(axis=1))])
        cells = np.ones(int(starts[-1])), columns[has_column], starts
        return scipy.sparse.csr_matrix(cells, shape=(n, int(self._ends[-1])))

    def linear_columns(self) -> tuple[Int64, npt.NDArray[np.object_]]:
        """Return (feature, level) of each indicator."""
        features = np.repeat(np.arange(len(self.levels)), np.diff(self._ends, prepend=0))
        levels = [level for known in self.scored_levels for level in [*known.tolist(), np.nan]]
        return features, np.array(levels, object)

    def formula(self, names: Sequence[str]) -> Formula:
        """Return log θ of each column's categories as tables."""
        terms: list[Term] = []
        if self.unseen == "error":
            raise ValueError('unseen="error" refuses rows, which no formula can')
        for j, (name, levels) in enumerate(zip(names, self.scored_levels, strict=True)):
            texts, n = [str(level) for level in levels.tolist()], len(levels)
            unseen = self.log_unseen(j).T * (self.unseen != "ignore")
            added = np.concatenate([self.log_theta(j, levels).T, unseen, np.zeros_like(unseen)])
            if not np.isfinite(added).all():
                raise ValueError(IMPOSSIBLE)
            cut_of = LevelCut.of if levels.dtype.kind == "T" else LevelCut
            cut = cut_of(name, texts, np.arange(n), n, n + 1)
            terms.append(Table((cut,), (n + 2,), added))
        return Formula(np.zeros(self.classes), terms)

    def sample(self, codes: Int64, generator: np.random.Generator) -> Any:
        """Draw rows of category codes; `Encoded` rows if the categories are text."""
        out = np.empty((len(codes), len(self.levels)), np.int64)
        for j, levels in enumerate(self.scored_levels):
            if len(levels) == 0:
                out[:, j] = 0
                continue
            theta = np.exp(self.log_theta(j, levels))
            sums = np.cumsum(theta / theta.sum(axis=1, keepdims=True), axis=1)
            draw, uniform = np.empty(len(codes), np.int64), generator.random(len(codes))
            for c, cumulative in enumerate(sums):
                draw[codes == c] = np.searchsorted(cumulative, uniform[codes == c])
            draw = np.minimum(draw, len(levels) - 1)
            out[:, j] = levels[draw] if levels.dtype.kind == "i" else draw
        if all(levels.dtype.kind == "i" for levels in self.scored_levels):
            return out
        return Encoded(out, self.scored_levels)

    def described(self, names: Sequence[str]) -> Section:
        """Describe the probability of each category."""
        rows, words = {}, {}
        for j, name in enumerate(names):
            levels = self.levels[j][in_order(self.levels[j].tolist())]
            texts = [str(level) for level in levels.tolist()]
            theta = np.exp(self.log_theta(j, levels))
            rows[name] = labelled([f"{name} = {text}" for text in texts], theta)
            words[name] = first_levels(texts, len(texts))
        return Section("probability of the category in %", rows=rows, words=words)

    def listed(self) -> list[Listed]:
        """List [θ_jc]_α of each scored category."""
        scored = self.scored_levels
        features = np.repeat(np.arange(len(scored)), [len(levels) for levels in scored])
        levels = [str(level) for categories in scored for level in categories.tolist()]
        return [Listed("p", features, levels, np.exp(self._table[: self._beyond]).T)]

    def events(self, names: Sequence[str], features: Sequence[int] | None = None) -> Events:
        """Return the categories of features as events; with feature names, if of all."""
        events: list[str] = []
        counts, totals, alphas, alpha_totals = [], [], [], []
        for j in range(len(self.levels)) if features is None else features:
            levels = self.levels[j]
            prefix = f"{names[j]} = " if features is None else ""
            events += [f"{prefix}{level}" for level in levels.tolist()]
            table = self.count[:, self.offsets[j] : self.offsets[j + 1]]
            indices = levels if levels.dtype.kind == "i" else np.arange(len(levels))
            alpha, total = self._alpha(j, indices)
            counts.append(table)
            alphas.append(np.broadcast_to(alpha, table.shape))
            totals.append(np.repeat(self.observed[:, j : j + 1], len(levels), axis=1))
            alpha_totals.append(np.broadcast_to(np.reshape(total, (-1, 1)), table.shape))
        return Events(events, *map(np.hstack, (counts, totals, alphas, alpha_totals)))

    def kinds(self) -> Int64:
        """Return the number of seen categories of each feature."""
        return np.array([len(levels) for levels in self.levels], np.int64)


def _code(text: str) -> int:
    """Return the category code that a text spells; -1 if it spells none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else -1


# ---- categorical ---------------------------------------------------------------------------------


MOST_DECLARED = 1 << 24  # the most categories that `min_categories` may declare
OfLevels = Callable[[Int64], tuple[Any, Any]]


@dataclass(frozen=True)
class Categorical(Family[LevelStatistics, CategoricalParameters]):
    """Features with one of K_α categories: codes 0, 1, ..., or the text of a table's column.

    Lecture 1, case 1; lecture 3, "Categorical Features"::

        [θ_jc]_α = (Σ_i I(y_i = c) I(x_iα = j) + l) / (Σ_i I(y_i = c) + l K_α)

    with K_α the number of categories seen (of codes: the largest plus one), or `min_categories` if
    that is more.

    Parameters
    ----------
    alpha : float, array or list of arrays
        l: 0 for maximum likelihood, 1 for Laplace; a scalar, or of shape (d,), (C, 1) or (C, d).
        Or a list with an entry a feature: a number, an array with a value a category, (K_α,) or
        (C, K_α), or a dict by category of numbers, (C,) arrays or dicts by class; for a single
        feature also a dict alone. These are the m virtual examples with prior Q of lecture 2,
        m Q(X_α = j, Y = c). Categories in a dict count as known; others, and other classes, have 1.
    min_categories : int, (d,) array or None
        Least number of categories of every or each feature.
    unseen : "smooth", "ignore" or "error"
        How to predict an unseen category: as a category with count 0, without the feature, or not
        at all, with an error.
    """

    alpha: Alpha | Mapping[Any, Any] | Sequence[Any] = 1.0
    min_categories: int | npt.ArrayLike | None = None
    unseen: Unseen = "smooth"

    name = "categorical"
    summary = LevelCounts()

    def __post_init__(self) -> None:
        if self.unseen not in ("smooth", "ignore", "error"):
            raise ValueError(f'unseen must be "smooth", "ignore" or "error", not {self.unseen!r}')
        for alpha in _each(self.alpha):
            for level, value in alpha.items() if isinstance(alpha, Mapping) else [(None, alpha)]:
                try:
                    valid_alpha(list(value.values()) if isinstance(value, Mapping) else value)
                except ValueError as error:
                    suffix = "" if level is None else f", for category {level!r}"
                    raise ValueError(f"{error}{suffix}") from None

    def check_named(self, classes: Labels) -> None:
        """Raise ValueError if alpha names a class that is not among these."""
        labels = classes.tolist()
        for level, numbers in _by_class(self.alpha):
            if unknown := [label for label in by_label(numbers, classes) if label not in labels]:
                raise ValueError(
                    f"alpha of category {level!r}: no training row has the class "
                    f"{', '.join(map(repr, unknown))}; the classes are "
                    f"{', '.join(map(repr, labels)) or 'none'}"
                )

    def within(
        self, classes: Labels, names: Sequence[str], types: Mapping[str, str] | None = None
    ) -> Categorical:
        """Order the numbers of `alpha` that are given by class."""
        if not any(True for _ in _by_class(self.alpha)):
            return self

        def ordered(alpha: Any) -> Any:
            if not isinstance(alpha, Mapping):
                return alpha
            return {
                level: [by_label(value, classes).get(label, 1.0) for label in classes.tolist()]
                if isinstance(value, Mapping)
                else value
                for level, value in alpha.items()
            }

        alphas = [ordered(alpha) for alpha in _each(self.alpha)]
        return replace(self, alpha=alphas[0] if isinstance(self.alpha, Mapping) else alphas)

    def of_classes(self, classes: Int64, n_classes: int) -> Categorical:
        """As the base class; `alpha` may be a list of smoothing by feature."""
        if not isinstance(self.alpha, list | tuple):
            return super().of_classes(classes, n_classes)
        alphas = [alpha_of_classes(alpha, classes, n_classes) for alpha in self.alpha]
        same = all(selected is alpha for selected, alpha in zip(alphas, self.alpha, strict=True))
        return self if same else replace(self, alpha=alphas)

    def check(self, statistics: LevelStatistics, class_weight: ExactArray) -> None:
        """Raise ValueError unless alpha and min_categories have valid shapes."""
        statistics = self._with_named(statistics)
        _level_alphas(self.alpha, statistics, self._categories(statistics))

    def _with_named(self, statistics: LevelStatistics) -> LevelStatistics:
        """Add the categories that `alpha` names to the statistics, with count 0."""
        statistics = statistics.canonical()
        classes, d = statistics.tables["missing"].shape
        pairs = zip(self._by_feature(d), statistics.levels, strict=True)
        named = [
            _levels(alpha, levels, j) if isinstance(alpha, Mapping) else levels[:0]
            for j, (alpha, levels) in enumerate(pairs)
        ]
        if size := sum(map(len, named)):
            count, missing = (ExactArray.zeros((classes, n)) for n in (size, d))
            added = LevelStatistics({"count": count, "missing": missing}, named)
            statistics = statistics.copy()
            statistics.accumulate(added, np.arange(classes))
        return statistics

    def _by_feature(self, d: int) -> Sequence[Any]:
        """Return the smoothing of each feature, if `alpha` is by feature; else None for each."""
        if not isinstance(self.alpha, list | tuple | Mapping):
            return [None] * d
        alphas = _each(self.alpha)
        if len(alphas) != d:
            problem = "is a dict by category of a feature" if isinstance(self.alpha, Mapping) else (
                f"has values for {len(alphas)} features")  # fmt: skip
            raise ValueError(f"alpha {problem}, but there are {d}")
        return alphas

    def _categories(self, statistics: LevelStatistics) -> Int64:
        """Return K_α, the number of categories of each feature, (d,)."""
        sizes = [
            int(levels[-1]) + 1 if len(levels) and levels.dtype.kind == "i" else len(levels)
            for levels in statistics.levels
        ]
        return np.maximum(sizes, check_min_categories(self.min_categories, len(sizes)))

    def estimate(
        self, statistics: LevelStatistics, class_weight: ExactArray
    ) -> CategoricalParameters:
        """Estimate [θ_jc]_α."""
        statistics = self._with_named(statistics)
        categories = self._categories(statistics)
        declared = check_min_categories(self.min_categories, len(categories))
        for j, feature_alpha in enumerate(self._by_feature(len(categories))):
            if not isinstance(feature_alpha, Mapping | None) and np.ndim(feature_alpha):
                declared[j] = categories[j]  # an array declares all its categories
        alpha = _level_alphas(self.alpha, statistics, categories)
        return CategoricalParameters(
            statistics, class_weight, categories, declared, alpha, self.unseen
        )


def _each(alpha: Any) -> Sequence[Any]:
    """Return the smoothing of each feature; a list of one if it is the same for all."""
    return alpha if isinstance(alpha, list | tuple) else [alpha]


def _by_class(alpha: Any) -> Iterator[tuple[Any, Mapping[Any, float]]]:
    """Yield (level, numbers by class) wherever alpha has them."""
    for feature_alpha in _each(alpha):
        for level, numbers in feature_alpha.items() if isinstance(feature_alpha, Mapping) else ():
            if isinstance(numbers, Mapping):
                yield level, numbers


def _levels(alpha: Mapping[Any, Any], feature_levels: Levels, feature: int) -> Levels:
    """Return the categories that alpha names for a feature, sorted; codes or text."""
    codes = feature_levels.dtype.kind == "i" and (
        len(feature_levels) > 0 or all(isinstance(level, int | np.integer) for level in alpha)
    )
    if not codes:
        return np.array(sorted({as_text(level) for level in alpha}), np.dtypes.StringDType())
    for level in alpha:
        if not isinstance(level, int | np.integer) or not 0 <= level < CODES:
            raise ValueError(
                f"alpha names {level!r}, which is not a category code of feature {feature}"
            )
    return np.array(sorted(alpha), np.int64)


def check_min_categories(min_categories: Any, n_features: int) -> Int64:
    """Return the least number of categories of each feature, (d,); ValueError if invalid."""
    if min_categories is None:
        return np.zeros(n_features, np.int64)
    values = np.asarray(min_categories)
    if values.dtype.kind not in "iu":
        raise ValueError(f"'min_categories' should have integral type. Got {values.dtype} instead.")
    if values.min(initial=0) < 0 or values.max(initial=0) >= 1 << 31:
        raise ValueError(f"'min_categories' should be from 0 to 2**31 - 1, not {min_categories!r}")
    if values.shape not in {(), (n_features,)}:
        raise ValueError(
            f"'min_categories' should have shape ({n_features},) when an array-like is "
            f"provided. Got {values.shape} instead."
        )
    declared = np.array(np.broadcast_to(values, n_features), np.int64)
    if declared.sum() > MOST_DECLARED:
        raise ValueError(
            f"'min_categories' cannot be {str(min_categories)[:40]}: that is too many categories"
        )
    return declared


def _level_alphas(alpha: Any, statistics: LevelStatistics, n_categories: Int64) -> LevelAlphas:
    """Return a function from (feature, levels) to (l of each level, Σ_j l_j), for each class.

    Levels beyond an array of values have l = 0; levels that a dict does not name have l = 1.
    """
    classes, d = statistics.tables["missing"].shape
    if not isinstance(alpha, list | tuple | Mapping):
        values = np.broadcast_to(check_alpha(alpha, classes, d), (classes, d))

        def of_feature(feature: int, levels: Int64) -> tuple[Any, Any]:
            feature_alpha = values[:, feature]
            return feature_alpha[:, np.newaxis], feature_alpha * n_categories[feature]

        return of_feature

    features = zip(_each(alpha), statistics.levels, n_categories.tolist(), strict=True)
    functions = [
        _of_named(feature_alpha, j, classes, levels, k)
        if isinstance(feature_alpha, Mapping)
        else _of_all(feature_alpha, j, classes, k)
        for j, (feature_alpha, levels, k) in enumerate(features)
    ]
    return lambda feature, levels: functions[feature](levels)


def _of_all(feature_alpha: Any, j: int, classes: int, k: int) -> OfLevels:
    """Make the function of a feature from one number, or an array of all its levels."""
    if np.ndim(feature_alpha) == 0:
        return lambda levels: (float(feature_alpha), float(feature_alpha) * k)
    table = np.atleast_2d(np.asarray(feature_alpha, np.float64))
    if table.shape not in {(1, k), (classes, k)}:
        raise ValueError(
            f"alpha[{j}] must be finite, >= 0 and have a value for each of the {k} "
            f"categories of feature {j}; its shape is {np.shape(feature_alpha)}"
        )
    padded, total = np.pad(table, ((0, 0), (0, 1))), table.sum(axis=1)
    return lambda levels: (padded[:, np.minimum(levels, k)], total)


def _of_named(
    feature_alpha: Mapping[Any, Any], j: int, classes: int, feature_levels: Levels, k: int
) -> OfLevels:
    """Make the function of a feature from a dict; levels that it does not name have 1."""
    named = _levels(feature_alpha, feature_levels, j)
    value_of = {as_text(level): value for level, value in feature_alpha.items()}
    table = np.ones((classes, len(named) + 1))
    for position, level in enumerate(named.tolist()):
        value = np.asarray(value_of[as_text(level)], np.float64)
        if value.shape not in {(), (classes,)}:
            raise ValueError(
                f"alpha of category {level!r} must be one number, or one for each of the {classes} "
                f"classes; its shape is {value.shape}"
            )
        table[:, position] = value
    indices = named if feature_levels.dtype.kind == "i" else find(feature_levels, named)[0]
    total = table[:, :-1].sum(axis=1) + (k - len(named))

    def of_levels(levels: Int64) -> tuple[Any, Any]:
        position, is_named = find(indices, levels)
        return table[:, np.where(is_named, position, len(named))], total

    return of_levels
