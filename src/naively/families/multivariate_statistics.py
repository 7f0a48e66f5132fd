"""What is kept of rows with a covariance: exact sums of features and of their products."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively.exact import ExactArray, Int64
from naively.families.base import Statistics
from naively.families.gaussian import Moments
from naively.families.products import cell_count


class MultivariateStatistics(Statistics):
    """Sums of features and of products of two features.

    Attributes
    ----------
    tables : ``sum`` (C, d), Σ w x_i; ``product`` (C, d (d + 1) / 2), Σ w x_i x_j for i <= j;
        ``missing`` (C, d), the weight of the rows that lack i; ``gone`` (C, d, d), Σ w x_i over
        the rows that have i and lack j; ``both_gone`` (C, d (d + 1) / 2), the weight of the rows
        that lack both. Without missing values the last three take no memory.
    pooled : whether ``product`` is the sum over all classes, (1, d (d + 1) / 2).
    """

    signed = ("sum", "product", "gone")

    def __init__(self, tables: dict[str, ExactArray], pooled: bool) -> None:
        super().__init__(tables)
        self.pooled = pooled

    def shapes(self, classes: int, d: int) -> dict[str, tuple[int, ...]]:
        """The shape of each table."""
        pairs = cell_count(d)
        return {
            "sum": (classes, d), "product": (1 if self.pooled else classes, pairs),
            "missing": (classes, d), "gone": (classes, d, d), "both_gone": (classes, pairs),
        }  # fmt: skip

    def with_classes(self, positions: Int64, n_classes: int) -> MultivariateStatistics:
        """Spread over more classes."""
        return self._by_class(lambda table: table.placed(0, positions, n_classes))

    def taken_classes(self, classes: Int64) -> MultivariateStatistics:
        """Of some classes only; pooled products stay those of all."""
        return self._by_class(lambda table: table.taken(0, classes))

    def add(self, other: Statistics, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) the statistics of `other`, whose class k is self's classes[k]."""
        for name, table in other.tables.items():
            rows = None if self._is_pooled(name) else classes
            self.tables[name] = self.tables[name].add(table, rows=rows, sign=sign)

    def with_columns(self, own: Int64, positions: Int64, n_features: int) -> MultivariateStatistics:
        """The features in another order: own[k] is positions[k]; they stay together."""
        order = own[np.argsort(positions)]
        assert n_features == len(order) == self.tables["sum"].shape[1]
        i, j = np.triu_indices(n_features)
        cells = pair_cells(order[i], order[j], n_features)
        gone = self.tables["gone"].taken(1, order).taken(2, order)
        return self._with(
            {
                "sum": self.tables["sum"].taken(1, order),
                "product": self.tables["product"].taken(1, cells),
                "missing": self.tables["missing"].taken(1, order),
                "gone": gone,
                "both_gone": self.tables["both_gone"].taken(1, cells),
            }
        )

    def lack(self, columns: Int64, class_weight: ExactArray) -> None:
        """Count all features, or none, as missing in rows of these weights."""
        super().lack(columns, class_weight)
        if len(columns):
            cells = self.tables["both_gone"].shape[1]
            limbs = np.repeat(class_weight.limbs[:, np.newaxis, :], cells, axis=1)
            both = self.tables["both_gone"].add(ExactArray(limbs, class_weight.low))
            self.tables["both_gone"] = both

    def pair_weight(self, class_weight: ExactArray) -> ExactArray:
        """The weight of the rows that have both features, (C, d (d + 1) / 2)."""
        d = self.tables["sum"].shape[1]
        limbs = np.repeat(class_weight.limbs[:, np.newaxis, :], cell_count(d), axis=1)
        weight = ExactArray(limbs, class_weight.low)
        missing = self.tables["missing"]
        if missing.limbs.shape[-1]:
            for feature in np.triu_indices(d):
                weight = weight.add(missing.taken(1, feature), sign=-1)
        return weight.add(self.tables["both_gone"])

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no data can have these statistics, or None if some might."""
        d = self.tables["sum"].shape[1]
        weight = self.pair_weight(class_weight)
        lacking = self.tables["missing"], self.tables["both_gone"]
        total = ExactArray(class_weight.limbs[:, np.newaxis], class_weight.low)
        if weight.below_zero(total) or any(table.any_negative() for table in lacking):
            return "more was forgotten than was learned"
        seen = weight.nonzero()
        stray = (self.tables["sum"].nonzero() & ~seen[:, diagonal(d)]).any()
        if self.pooled:
            seen = summed_classes(weight).nonzero()
        if stray or (self.tables["product"].nonzero() & ~seen).any():
            return "these rows were not all learned before"
        if self.moments(class_weight).contradictory():
            return "these rows were not all learned before"
        return None

    def moments(self, class_weight: ExactArray) -> Moments:
        """Σ x and Σ x² of each class, or of all together if the products are pooled."""
        d = self.tables["sum"].shape[1]
        tables = {name: self.tables[name] for name in ("sum", "missing")}
        tables["square"] = self.tables["product"].taken(1, diagonal(d))
        if not self.pooled:
            return Moments(Statistics(tables), class_weight)
        tables = {name: summed_classes(table) for name, table in tables.items()}
        return Moments(Statistics(tables), summed_classes(class_weight))

    def _is_pooled(self, name: str) -> bool:
        return self.pooled and name == "product"

    def _by_class(self, function: Any) -> MultivariateStatistics:
        return self._with(
            {
                name: table if self._is_pooled(name) else function(table)
                for name, table in self.tables.items()
            }
        )

    def _with(self, tables: dict[str, ExactArray]) -> Any:
        return type(self)(tables, self.pooled)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MultivariateStatistics)
            and self.pooled == other.pooled
            and self.tables == other.tables
        )

    __hash__ = None


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
    total = table.summed(0)
    return ExactArray(total.limbs[np.newaxis], total.low)
