"""Sums of features and of products of two features, from which covariances follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from naively.exact import ExactArray, Int64
from naively.statistics.base import FORGOTTEN, NOT_LEARNED, Batch, Data, Statistics, Summary
from naively.statistics.powers import Moments
from naively.statistics.product_sums import cell_count, sum_products
from naively.statistics.sums import sum_powers
from naively.workers import Workers


@dataclass(eq=False, repr=False)
class ProductStatistics(Statistics):
    """Sums of features and of products of two features.

    Attributes
    ----------
    tables : ``sum`` (C, d), Σ w x_i; ``product`` (C, d (d + 1) / 2), Σ w x_i x_j for i <= j;
        ``missing`` (C, d), the weight of the rows that lack i; ``gone`` (C, d, d), Σ w x_i over
        the rows that have i and lack j; ``both_gone`` (C, d (d + 1) / 2), the weight of the rows
        that lack both. Without missing values the last three take no memory.
    pooled : whether ``product`` is the sum over all classes, (1, d (d + 1) / 2).
    """

    pooled: bool

    signed = ("sum", "product", "gone")
    sized_by = "product"  # which has as many cells as the covariance that follows

    @property
    def pooled_tables(self) -> tuple[str, ...]:  # type: ignore[override]
        """Tables that are sums over all classes, as of one."""
        return ("product",) if self.pooled else ()

    def shapes(self, classes: int, d: int) -> dict[str, tuple[int, ...]]:
        """The shape of each table."""
        pairs = cell_count(d)
        return {
            "sum": (classes, d), "product": (1 if self.pooled else classes, pairs),
            "missing": (classes, d), "gone": (classes, d, d), "both_gone": (classes, pairs),
        }  # fmt: skip

    def gather_columns(self, columns: Any) -> Self:
        """Some of the features, in any order."""
        d = self.tables["sum"].shape[1]
        order = np.arange(d)[columns]
        i, j = np.triu_indices(len(order))
        cells = pair_cells(order[i], order[j], d)
        return self._with(
            {
                "sum": self.tables["sum"].gather(1, order),
                "product": self.tables["product"].gather(1, cells),
                "missing": self.tables["missing"].gather(1, order),
                "gone": self.tables["gone"].gather(1, order).gather(2, order),
                "both_gone": self.tables["both_gone"].gather(1, cells),
            }
        )

    def reindex_columns(self, own: Int64, positions: Int64, n_features: int) -> Self:
        """The features in another order: own[k] is positions[k]; they stay together."""
        assert n_features == len(own) == self.tables["sum"].shape[1]
        return self.gather_columns(own[np.argsort(positions)])

    def add_missing(self, columns: Int64, class_weight: ExactArray) -> None:
        """Count all features, or none, as missing in rows of these weights."""
        super().add_missing(columns, class_weight)
        if len(columns):
            both = self.tables["both_gone"]
            self.tables["both_gone"] = both.accumulate(class_weight.repeated(both.shape[1]))

    def pair_weight(self, class_weight: ExactArray) -> ExactArray:
        """The weight of the rows that have both features, (C, d (d + 1) / 2)."""
        d = self.tables["sum"].shape[1]
        weight = class_weight.repeated(cell_count(d))
        missing = self.tables["missing"]
        if missing.limbs.shape[-1]:
            for feature in np.triu_indices(d):
                weight = weight.accumulate(missing.gather(1, feature), sign=-1)
        return weight.accumulate(self.tables["both_gone"])

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no data can have these statistics, or None if some might."""
        d = self.tables["sum"].shape[1]
        weight = self.pair_weight(class_weight)
        lacking = self.tables["missing"], self.tables["both_gone"]
        if weight.below_zero(class_weight.repeated(1)) or any(t.any_negative() for t in lacking):
            return FORGOTTEN
        seen = weight.nonzero()
        stray = (self.tables["sum"].nonzero() & ~seen[:, diagonal(d)]).any()
        if self.pooled:
            seen = summed_classes(weight).nonzero()
        if stray or (self.tables["product"].nonzero() & ~seen).any():
            return NOT_LEARNED
        return NOT_LEARNED if self.moments(class_weight).contradictory() else None

    def moments(self, class_weight: ExactArray) -> Moments:
        """Σ x and Σ x² of each class, or of all together if the products are pooled."""
        d = self.tables["sum"].shape[1]
        tables = {name: self.tables[name] for name in ("sum", "missing")}
        tables["square"] = self.tables["product"].gather(1, diagonal(d))
        if not self.pooled:
            return Moments(tables, class_weight)
        tables = {name: summed_classes(table) for name, table in tables.items()}
        return Moments(tables, summed_classes(class_weight))

    def _agrees(self, other: Self) -> bool:
        return self.pooled == other.pooled


@dataclass(frozen=True)
class Products(Summary[ProductStatistics]):
    """Σw x and Σw x xᵀ of real numbers.

    Parameters
    ----------
    pooled : bool
        Whether the products are summed over all classes.
    """

    pooled: bool

    by_column = False
    takes_sparse = False

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> ProductStatistics:
        """Σw, Σw x and Σw x xᵀ, exactly."""
        tables = sum_powers(X, batch, workers)
        missing = bool(tables["missing"].nonzero().any())
        tables |= sum_products(X, batch, workers, pooled=self.pooled, missing=missing)
        return ProductStatistics(tables, self.pooled)

    def empty(self, n_classes: int, n_features: int) -> ProductStatistics:
        """The statistics of no rows."""
        statistics = ProductStatistics({}, self.pooled)
        shapes = statistics.shapes(n_classes, n_features)
        statistics.tables = {name: ExactArray.zeros(shape) for name, shape in shapes.items()}
        return statistics


def diagonal(d: int) -> Int64:
    """The cells of the features with themselves."""
    i = np.arange(d)
    return i * d - i * (i - 1) // 2


def pair_cells(i: Int64, j: Int64, d: int) -> Int64:
    """The cells of pairs of features, in either order."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    return low * d - low * (low - 1) // 2 + high - low


def summed_classes(table: ExactArray) -> ExactArray:
    """The sum over the classes, as of one class."""
    return table.summed(0).repeated(1, axis=0)
