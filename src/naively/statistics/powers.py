"""Sums of features and of their squares: what most families of numbers are estimated from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.exact import KEPT_BITS, LARGEST, ExactArray, Float64, Int64
from naively.kernels import linear as kernel
from naively.statistics.base import (
    FORGOTTEN,
    NOT_LEARNED,
    Batch,
    Data,
    Statistics,
    Summary,
    is_sparse,
    shown,
)
from naively.statistics.sums import sum_powers
from naively.workers import Workers


class PowerStatistics(Statistics):
    """Tables ``sum``, ``square`` and ``missing``, (C, d) each."""

    signed = ("sum",)

    def impossible(self, class_weight: ExactArray) -> str | None:
        """As the base class; also refuses sums whose variance would be below zero."""
        problem = super().impossible(class_weight)
        if problem is None and Moments(self.tables, class_weight).contradictory():
            problem = NOT_LEARNED
        return problem


@dataclass(frozen=True)
class Powers(Summary[PowerStatistics]):
    """Σw x and Σw x² of real numbers, from which means and variances follow."""

    kind = PowerStatistics
    tables = "sum", "square", "missing"

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> PowerStatistics:
        """Σw x and Σw x² by class and feature, exactly."""
        return PowerStatistics(sum_powers(X, batch, workers, squares=True))


Ranks = tuple[Float64, npt.NDArray[np.int32]]
"""(the different sums, which of them that of each column and class is, (d, C))."""


class CountStatistics(Statistics):
    """Tables ``sum`` (of numbers >= 0) and ``missing`` (weight of rows), (C, d) each.

    Those of some columns alone may have ``events``, (C, 1), what all columns add up to.

    Attributes
    ----------
    width : how many columns there are, if these are some; else None.
    """

    width: int | None = None
    _ranked: tuple[ExactArray, Ranks | None] | None = None

    @property
    def ranks(self) -> Ranks | None:
        """Of `distinct` columns, if their sums are small whole numbers: for many estimates."""
        known = self._ranked
        return known[1] if known and known[0] is self.tables["sum"] else None

    def with_events(self) -> Self:
        """The same, with what all columns add up to, so that `met` need not find it."""
        events, width = self.events()
        return self._with({**self.tables, "events": events.repeated(1)}, width=width)

    def met(self, columns: Int64) -> Self:
        """Of some columns, in this order, with what all of them add up to."""
        events, width = self.events()
        tables = {name: self.tables[name].gather(1, columns) for name in ("sum", "missing")}
        return self._with({**tables, "events": events.repeated(1)}, width=width)

    def distinct(self, often: Int64) -> tuple[Self, npt.NDArray[np.int32]]:
        """(the columns whose sums differ, which of these each is).

        Those that are asked for most, as `often` says of each column, lie side by side.
        """
        limbs = shown(self.tables["sum"].limbs)
        d = limbs.shape[1]
        slots = np.zeros(2 << d.bit_length(), np.int32)
        known = np.empty((d, limbs.shape[0] * limbs.shape[2]), np.int64)
        first, which = np.empty((2, d), np.int32)
        count = np.zeros(1, np.int64)
        kernel.place_columns(
            np.arange(d, dtype=np.int32), limbs, slots, known, first, count, which
        )  # fmt: skip
        first = first[: count[0]]
        order = np.argsort(-np.bincount(which, often, len(first)), kind="stable")
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order))
        first, which = first[order], place[which]
        tables = {name: self.tables[name].gather(1, first) for name in ("sum", "missing")}
        found = self._with({**self.tables, **tables})
        found._ranked = found.tables["sum"], _ranks(found.tables["sum"])
        return found, which

    def events(self) -> tuple[ExactArray, int]:
        """(what all columns add up to, (C,); how many they are)."""
        if self.width is not None:
            return self.tables["events"].gather(1, 0), self.width
        total = self.tables["sum"]
        return total.summed(1), total.shape[1]

    def impossible(self, class_weight: ExactArray) -> str | None:
        """As the base class; sums of such numbers cannot be negative either."""
        if self.tables["sum"].any_negative():
            return FORGOTTEN
        return super().impossible(class_weight)


def _ranks(sums: ExactArray) -> Ranks | None:
    """Those of sums; None if they are not small whole numbers."""
    limbs = sums.limbs
    if limbs.shape[-1] != 1 or sums.low != 0 or not limbs.size:
        return None
    most = int(limbs.max())
    if limbs.min() < 0 or most > limbs.size:
        return None
    met = np.zeros(most + 1, bool)
    met[limbs] = True
    ranks = np.cumsum(met, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(met).astype(np.float64), np.ascontiguousarray(ranks[limbs[..., 0]].T)


@dataclass(frozen=True)
class CountSums(Summary[CountStatistics]):
    """Σw x of numbers that are not negative, such as counts of events."""

    kind = CountStatistics
    tables = "sum", "missing"
    bounds = 0.0, LARGEST

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> CountStatistics:
        """Σw x by class and feature, exactly. Refuses negative numbers."""
        return CountStatistics(sum_powers(X, batch, workers, minimum=0.0))


class PresenceStatistics(CountStatistics):
    """Tables ``sum`` (weight of rows with the feature) and ``missing``, (C, d) each."""

    of_rows = "sum", "missing"

    def impossible(self, class_weight: ExactArray) -> str | None:
        """As the base class; no feature is present in more rows than there are."""
        absent = self.observed(class_weight).accumulate(self.tables["sum"], sign=-1)
        if absent.below_zero(self.tables["sum"]):
            return NOT_LEARNED
        return super().impossible(class_weight)


@dataclass(frozen=True)
class Presence(Summary[PresenceStatistics]):
    """In how many rows each feature is present.

    Parameters
    ----------
    threshold : float or None
        Values above it are present. None: the values are 0 and 1, or between as soft evidence.
    """

    threshold: float | None

    kind = PresenceStatistics
    tables = "sum", "missing"
    takes = "truths"

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """The least and the greatest number that can be counted."""
        return (0.0, 1.0) if self.threshold is None else (-LARGEST, LARGEST)

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> PresenceStatistics:
        """The weight of the rows in which each feature is present, exactly."""
        if self.threshold is None:
            return PresenceStatistics(sum_powers(X, batch, workers, minimum=0.0, maximum=1.0))
        refuse_sparse(X, self.threshold)
        return PresenceStatistics(sum_powers(X, batch, workers, threshold=float(self.threshold)))


def refuse_sparse(X: Data, threshold: float) -> None:
    """Raise ValueError if the zeros of a sparse matrix would be above the threshold."""
    if is_sparse(X) and threshold < 0:
        raise ValueError("Cannot binarize a sparse matrix with threshold < 0: 0 is above it")


# ---- means and variances, each rounded once ------------------------------------------------------


class Moments:
    """n, Σx and Σx² of each class and feature as Python integers on a common grid.

    The grid is 2**(32 low) for n and Σx and its square for Σx²; Python divides integers of any
    size with one correct rounding.

    Parameters
    ----------
    tables : ``sum``, ``square`` and ``missing``, (C, d) each.
    class_weight : (C,)
    """

    def __init__(self, tables: dict[str, ExactArray], class_weight: ExactArray) -> None:
        n, n_low = class_weight.integers()
        gone, gone_low = tables["missing"].integers()
        sums, sum_low = tables["sum"].integers()
        squares, square_low = tables["square"].integers()
        low = min(n_low, gone_low, sum_low, square_low // 2, 0)
        self.low = low
        self.weight = n[:, None] * _power(n_low - low) - gone * _power(gone_low - low)
        self.sums = sums * _power(sum_low - low)
        self.squares = squares * _power(square_low - 2 * low)
        self.shape = sums.shape

    def pooled(self) -> Moments:
        """The sums over all classes."""
        total = object.__new__(Moments)
        total.low = self.low
        total.weight = self.weight.sum(axis=0, keepdims=True)
        total.sums = self.sums.sum(axis=0, keepdims=True)
        total.squares = self.squares.sum(axis=0, keepdims=True)
        total.shape = total.sums.shape
        return total

    def _numerator(self) -> npt.NDArray[np.object_]:
        """n Σx² - (Σx)², on the grid's third power and second: n² times the variance."""
        return self.weight * self.squares - self.sums * self.sums * _power(-self.low)

    def mean(self) -> Float64:
        """Σx / n."""
        return ratio(self.sums, self.weight)

    def variance(self, ddof: int) -> Float64:
        """(Σx² - (Σx)² / n) / (n - ddof)."""
        one = ddof * _power(-self.low)
        below = self.weight * (self.weight - one)
        return np.maximum(ratio(self._numerator(), below * _power(-self.low)), 0.0)

    def scatter(self) -> Float64:
        """Σx² - (Σx)² / n."""
        return np.maximum(ratio(self._numerator(), self.weight * _power(-2 * self.low)), 0.0)

    def freedom(self, ddof: int) -> Float64:
        """n - ddof, or 0 if that is less."""
        one = _power(-self.low)
        return np.maximum(ratio(self.weight - ddof * one, np.full(self.shape, one, object)), 0.0)

    def contradictory(self) -> bool:
        """Whether no data have these sums."""
        rounding = self.sums * self.sums * _power(-self.low) >> KEPT_BITS  # decay may round
        beyond = abs(self.sums) > self.weight << 1024  # the mean of float64 is none above them
        below = (self._numerator() < -rounding) | (self.squares < 0)
        return bool((beyond & (self.weight > 0) | below).any())


def _power(limbs: int) -> int:
    return 1 << (32 * limbs)


def _divide(numerator: int, denominator: int) -> float:
    if denominator <= 0:
        return 0.0
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf


def ratio(numerators: Any, denominators: Any) -> Float64:
    """The correctly rounded quotients; 0 where there is nothing to divide by."""
    values = map(_divide, numerators.ravel().tolist(), denominators.ravel().tolist())
    return np.fromiter(values, np.float64, numerators.size).reshape(numerators.shape)


def mean(sums: ExactArray, weight: ExactArray) -> Float64:
    """Σ / n, correctly rounded; 0 where n is 0."""
    numerators, low = sums.integers()
    denominators, other_low = weight.integers()
    shift = 32 * (low - other_low)
    return ratio(numerators * (1 << max(shift, 0)), denominators * (1 << max(-shift, 0)))
