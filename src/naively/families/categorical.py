"""Categorical features, one die a feature and class: p(x_α = j | y = c) = [θ_jc]_α."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Int64
from naively.families.base import Family
from naively.families.categorical_parameters import CategoricalParameters, LevelAlphas, Unseen
from naively.families.linear import Alpha, check_alpha, valid_alpha
from naively.statistics.level_counts import LevelCounts
from naively.statistics.levels import LevelStatistics

MOST_DECLARED = 1 << 24  # levels that `min_categories` may ask for


@dataclass(frozen=True)
class Categorical(Family[LevelStatistics, CategoricalParameters]):
    """Features that take one of K_α levels: codes 0, 1, ..., or the text of a table's column.

    Lecture 1, case 1; lecture 3, "Categorical Features"::

        [θ_jc]_α = (Σ_i I(y_i = c) I(x_iα = j) + l) / (Σ_i I(y_i = c) + l K_α)

    with K_α the number of levels seen (of codes: the largest plus one), or `min_categories` if
    that is more.

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
    summary = LevelCounts()

    def __post_init__(self) -> None:
        if self.unseen not in ("smooth", "ignore", "error"):
            raise ValueError(f'unseen must be "smooth", "ignore" or "error", not {self.unseen!r}')
        for alpha in self.alpha if isinstance(self.alpha, list | tuple) else [self.alpha]:
            valid_alpha(alpha)

    def check(self, statistics: LevelStatistics, class_weight: ExactArray) -> None:
        """Raise ValueError unless alpha and min_categories are of shapes that fit."""
        classes = statistics.tables["missing"].shape[0]
        _level_alphas(self.alpha, classes, self.categories(statistics))

    def categories(self, statistics: LevelStatistics) -> Int64:
        """K_α, the number of levels of each feature, (d,)."""
        levels = statistics.canonical().levels
        seen = [
            int(known[-1]) + 1 if len(known) and known.dtype.kind == "i" else len(known)
            for known in levels
        ]
        return np.maximum(seen, check_min_categories(self.min_categories, len(seen)))

    def estimate(
        self, statistics: LevelStatistics, class_weight: ExactArray
    ) -> CategoricalParameters:
        """[θ_jc]_α."""
        categories = self.categories(statistics)
        classes, d = statistics.tables["missing"].shape
        each = isinstance(self.alpha, list | tuple)  # a value a level: all of them are declared
        declared = categories if each else check_min_categories(self.min_categories, d)
        alpha = _level_alphas(self.alpha, classes, categories)
        return CategoricalParameters(
            statistics, class_weight, categories, declared, alpha, self.unseen
        )


def check_min_categories(given: Any, n_features: int) -> Int64:
    """How many levels of each feature there are at least, (d,); ValueError if that is no number."""
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
    declared = np.array(np.broadcast_to(values, n_features), np.int64)
    if declared.sum() > MOST_DECLARED:
        raise ValueError(f"'min_categories' cannot be {str(given)[:40]}: that is too many levels")
    return declared


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
