"""Categorical features, one die a feature and class: p(x_α = j | y = c) = [θ_jc]_α."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Int64
from naively.families.base import Family, alpha_of_classes
from naively.families.categorical_parameters import CategoricalParameters, LevelAlphas, Unseen
from naively.families.linear import Alpha, check_alpha, valid_alpha
from naively.kernels.sizes import CODES
from naively.labels import Labels, as_text, by_label
from naively.statistics.level_counts import LevelCounts
from naively.statistics.levels import Levels, LevelStatistics, find

MOST_DECLARED = 1 << 24  # levels that `min_categories` may ask for
OfLevels = Callable[[Int64], tuple[Any, Any]]


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
        or a list of what each feature has: a number, an array with a value for each level, (K_α,)
        or (C, K_α), or a dict by level of numbers, (C,) arrays or dicts by class; of one feature a
        dict alone. These are the m virtual examples with prior Q of lecture 2, m Q(X_α = j, Y = c).
        Levels that a dict names count as known; levels and classes that it does not name have 1.
    min_categories : int, (d,) array or None
        Least number of levels of every or each feature.
    unseen : "smooth", "ignore" or "error"
        What a level that was never learned does at prediction: it is scored as a level with
        count 0, or its feature is dropped, or it is refused.
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
            for level, one in alpha.items() if isinstance(alpha, Mapping) else [(None, alpha)]:
                try:
                    valid_alpha(list(one.values()) if isinstance(one, Mapping) else one)
                except ValueError as error:
                    said = "" if level is None else f", for level {level!r}"
                    raise ValueError(f"{error}{said}") from None

    def check_named(self, classes: Labels) -> None:
        """Raise ValueError if alpha has numbers of what is none of these classes."""
        known = classes.tolist()
        for level, one in _by_class(self.alpha):
            if strange := [label for label in by_label(one, classes) if label not in known]:
                raise ValueError(
                    f"alpha of level {level!r} names {', '.join(map(repr, strange))}, no class "
                    f"that was learned: these are {', '.join(map(repr, known)) or 'none'}"
                )

    def within(
        self, classes: Labels, names: Sequence[str], types: Mapping[str, str] | None = None
    ) -> Categorical:
        """With numbers of these classes, in their order, where `alpha` has them by class."""
        if not any(True for _ in _by_class(self.alpha)):
            return self

        def ordered(alpha: Any) -> Any:
            if not isinstance(alpha, Mapping):
                return alpha
            return {
                level: [by_label(one, classes).get(label, 1.0) for label in classes.tolist()]
                if isinstance(one, Mapping)
                else one
                for level, one in alpha.items()
            }

        each = [ordered(alpha) for alpha in _each(self.alpha)]
        return replace(self, alpha=each[0] if isinstance(self.alpha, Mapping) else each)

    def of_classes(self, classes: Int64, n_classes: int) -> Categorical:
        """As the base class; a list has what is by class for each feature."""
        if not isinstance(self.alpha, list | tuple):
            return super().of_classes(classes, n_classes)
        each = [alpha_of_classes(one, classes, n_classes) for one in self.alpha]
        same = all(own is one for own, one in zip(each, self.alpha, strict=True))
        return self if same else replace(self, alpha=each)

    def check(self, statistics: LevelStatistics, class_weight: ExactArray) -> None:
        """Raise ValueError unless alpha and min_categories are of shapes that fit."""
        statistics = self._with_named(statistics)
        _level_alphas(self.alpha, statistics, self._categories(statistics))

    def _with_named(self, statistics: LevelStatistics) -> LevelStatistics:
        """The statistics in their one form, with the levels that `alpha` names."""
        statistics = statistics.canonical()
        classes, d = statistics.tables["missing"].shape
        named = [
            _levels(alpha, known, j) if isinstance(alpha, Mapping) else known[:0]
            for j, (alpha, known) in enumerate(
                zip(self._by_feature(d), statistics.levels, strict=True)
            )
        ]
        tables = {
            "count": ExactArray.zeros((classes, sum(map(len, named)))),
            "missing": ExactArray.zeros((classes, d)),
        }
        if any(map(len, named)):
            statistics = statistics.copy()
            statistics.accumulate(LevelStatistics(tables, named), np.arange(classes))
        return statistics

    def _by_feature(self, d: int) -> Sequence[Any]:
        """What `alpha` has for each feature, if it is by feature; None if not."""
        if not isinstance(self.alpha, list | tuple | Mapping):
            return [None] * d
        each = _each(self.alpha)
        if len(each) != d:
            what = "is a dict by level of one feature" if isinstance(self.alpha, Mapping) else (
                f"has values for {len(each)} features")  # fmt: skip
            raise ValueError(f"alpha {what}, but there are {d}")
        return each

    def _categories(self, statistics: LevelStatistics) -> Int64:
        """K_α, the number of levels of each feature, (d,)."""
        seen = [
            int(known[-1]) + 1 if len(known) and known.dtype.kind == "i" else len(known)
            for known in statistics.levels
        ]
        return np.maximum(seen, check_min_categories(self.min_categories, len(seen)))

    def estimate(
        self, statistics: LevelStatistics, class_weight: ExactArray
    ) -> CategoricalParameters:
        """[θ_jc]_α."""
        statistics = self._with_named(statistics)
        categories = self._categories(statistics)
        declared = check_min_categories(self.min_categories, len(categories))
        for j, one in enumerate(self._by_feature(len(categories))):
            if one is not None and not isinstance(one, Mapping) and np.ndim(one):
                declared[j] = categories[j]  # a value a level: all of them are declared
        alpha = _level_alphas(self.alpha, statistics, categories)
        return CategoricalParameters(
            statistics, class_weight, categories, declared, alpha, self.unseen
        )


def _each(alpha: Any) -> Sequence[Any]:
    """What it says of each feature; alone in a list where it says one thing."""
    return alpha if isinstance(alpha, list | tuple) else [alpha]


def _by_class(alpha: Any) -> Iterator[tuple[Any, Mapping[Any, float]]]:
    """(level, numbers by class) wherever alpha has them."""
    for one in _each(alpha):
        for level, numbers in one.items() if isinstance(one, Mapping) else ():
            if isinstance(numbers, Mapping):
                yield level, numbers


def _levels(alpha: Mapping[Any, Any], known: Levels, feature: int) -> Levels:
    """The levels that are named for a feature, sorted; codes or text, as those that are known."""
    codes = known.dtype.kind == "i" and (
        len(known) > 0 or all(isinstance(level, int | np.integer) for level in alpha)
    )
    if not codes:
        return np.array(sorted({as_text(level) for level in alpha}), np.dtypes.StringDType())
    for level in alpha:
        if not isinstance(level, int | np.integer) or not 0 <= level < CODES:
            raise ValueError(f"alpha names {level!r}, which is no level code of feature {feature}")
    return np.array(sorted(alpha), np.int64)


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


def _level_alphas(alpha: Any, statistics: LevelStatistics, n_categories: Int64) -> LevelAlphas:
    """A function from (feature, levels) to (l of each level, Σ_j l_j), for each class.

    With an array of values, a level beyond them all has none; with a dict it has 1.
    """
    classes, d = statistics.tables["missing"].shape
    if not isinstance(alpha, list | tuple | Mapping):
        values = np.broadcast_to(check_alpha(alpha, classes, d), (classes, d))

        def of_feature(feature: int, levels: Int64) -> tuple[Any, Any]:
            one = values[:, feature]
            return one[:, np.newaxis], one * n_categories[feature]

        return of_feature

    made = [
        (_of_named if isinstance(one, Mapping) else _of_all)(one, j, classes, known, k)
        for j, (one, known, k) in enumerate(
            zip(_each(alpha), statistics.levels, n_categories.tolist(), strict=True)
        )
    ]
    return lambda feature, levels: made[feature](levels)


def _of_all(one: Any, j: int, classes: int, known: Levels, k: int) -> OfLevels:
    """From levels of a feature to (l of each, Σ_j l_j), of one number or an array of all levels."""
    if np.ndim(one) == 0:
        return lambda levels: (float(one), float(one) * k)
    table = np.atleast_2d(np.asarray(one, np.float64))
    if table.shape not in {(1, k), (classes, k)}:
        raise ValueError(
            f"alpha[{j}] must be finite, >= 0 and have a value for each of the {k} "
            f"levels of feature {j}; its shape is {np.shape(one)}"
        )
    wide, total = np.pad(table, ((0, 0), (0, 1))), table.sum(axis=1)
    return lambda levels: (wide[:, np.minimum(levels, k)], total)


def _of_named(one: Mapping[Any, Any], j: int, classes: int, known: Levels, k: int) -> OfLevels:
    """The same of a dict: its levels are known, and others have 1."""
    named = _levels(one, known, j)
    said = {as_text(level): value for level, value in one.items()}
    table = np.ones((classes, len(named) + 1))
    for at, level in enumerate(named.tolist()):
        value = np.asarray(said[as_text(level)], np.float64)
        if value.shape not in {(), (classes,)}:
            raise ValueError(
                f"alpha of level {level!r} must be one number, or one for each of the {classes} "
                f"classes; its shape is {value.shape}"
            )
        table[:, at] = value
    places = named if known.dtype.kind == "i" else find(known, named)[0]
    total = table[:, :-1].sum(axis=1) + (k - len(named))

    def of_levels(levels: Int64) -> tuple[Any, Any]:
        at, hit = find(places, levels)
        return table[:, np.where(hit, at, len(named))], total

    return of_levels
