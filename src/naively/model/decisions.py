"""Choose labels from probabilities: the most probable, that of least expected cost, or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from naively.core.exact import Float64, Int64
from naively.core.labels import Label, Labels
from naively.core.workers import Workers
from naively.model.posterior import Posterior
from naively.statistics.base import Data

OPEN = -1  # position of rows that get no label (abstention)


@dataclass(frozen=True, eq=False)
class DecisionRule:
    """Decide on labels by probabilities, costs and thresholds.

    costs : (C, C) cost of each predicted class (column) for each actual class (row); None if all
        errors cost the same.
    unsure : abstention threshold: least P(c | x) of the most probable class for a row to get a
        label; None to label every row.
    threshold : (position of one of two classes, least P(c | x) for a row to get it); None for the
        most probable class.
    """

    costs: Float64 | None = None
    unsure: float | None = None
    threshold: tuple[int, float] | None = None

    @classmethod
    def of(cls, costs: Any, unsure: Any, classes: Labels) -> Self:
        """Return the rule for costs and an abstention threshold: see `cost_matrix`.

        Raises ValueError if the costs or `unsure` are invalid.
        """
        if unsure is not None:
            if not isinstance(unsure, int | float | np.floating) or not 0 < unsure <= 1:
                raise ValueError(f"unsure is a probability, above 0 and at most 1, not {unsure!r}")
            unsure = float(unsure)
        return cls(None if costs is None else cost_matrix(costs, classes), unsure)

    def codes(self, proba: Float64, likeliest: Int64) -> Int64:
        """Return the position of each row's class, or `OPEN`."""
        codes = likeliest if self.costs is None else expected_costs(proba, self.costs).argmin(1)
        if self.threshold is not None:
            positive, least = self.threshold
            codes = np.where(proba[:, positive] >= least, positive, 1 - positive)
        if self.unsure is not None:
            codes = np.where(proba.max(axis=1) < self.unsure, OPEN, codes)
        return codes

    def boundary(self, code: int) -> float | None:
        """Return the log-odds from which on one of two classes is decided; None if always or never.

        P(c) times what a mistake costs where c is true must be largest for the decided class.
        """
        needed = spared = 1.0
        if self.threshold is not None:
            positive, least = self.threshold
            needed, spared = (least, 1 - least) if code == positive else (1 - least, least)
        elif self.costs is not None:
            needed, spared = (self.costs[c, 1 - c] - self.costs[c, c] for c in (1 - code, code))
        return float(np.log(needed / spared)) if needed > 0 and spared > 0 else None

    def named(self, classes: Labels) -> str:
        """Return the rule in words; empty for the most probable class."""
        if self.threshold is not None:
            positive, least = self.threshold
            return f"threshold of P({classes[positive]}): {least:g}"
        return "" if self.costs is None else "least expected cost"

    def labels(self, posterior: Posterior, X: Data, workers: Workers | None = None) -> Labels:
        """Return the label of each row, (n,); with `unsure` objects, None for abstention."""
        codes, proba = posterior.codes_and_proba(X, workers)
        return self.labelled(posterior.classes, self.codes(proba, codes))

    def labelled(self, classes: Labels, codes: Int64) -> Labels:
        """Return the labels at some positions, (n,); with `unsure` objects, None for abstention."""
        if self.unsure is None:
            return classes[codes]
        labels = classes.astype(object)[codes]
        labels[codes == OPEN] = None
        return labels


def positive_class(class_weight: Float64) -> int | None:
    """Return the position of the positive class: the rarer of two, the last of equals."""
    return int(class_weight[1] <= class_weight[0]) if len(class_weight) == 2 else None


def likeliest(
    posterior: Posterior, X: Data, most: int, workers: Workers | None = None
) -> tuple[Int64, Float64]:
    """Return (positions, P(c | x)) of the most probable classes of each row, (n, k) both.

    They are in decreasing order, ties by position; k is `most`, or the number of classes if that is
    less. Raises ValueError if `most` is not a positive integer.
    """
    if not isinstance(most, int | np.integer) or isinstance(most, bool) or most < 1:
        raise ValueError(f"the number of classes must be 1 or more, not {most!r}")
    return first_classes(*posterior.codes_and_proba(X, workers), most)


def first_classes(codes: Int64, proba: Float64, most: int) -> tuple[Int64, Float64]:
    """Compute `likeliest` from known most probable classes (n,) and probabilities (n, C)."""
    rank = -proba
    rank[np.arange(len(rank)), codes] = -np.inf
    order = np.argsort(rank, axis=1, kind="stable")[:, :most]
    return order, np.take_along_axis(proba, order, axis=1)


def expected_costs(proba: Float64, costs: Float64) -> Float64:
    """Return Σ_c P(c | x) cost[c, k] of each label k, (n, C)."""
    total = np.zeros_like(proba)
    for c, row in enumerate(costs):  # no matrix product: a row's bits depend on no other row
        total += proba[:, c, np.newaxis] * row
    return total


def cost_matrix(costs: Any, classes: Labels) -> Float64:
    """Return costs as a matrix, (C, C): actual classes as rows, predicted ones as columns.

    Raises ValueError if the costs are invalid.

    costs : (C, C) numbers in the order of the classes; or a dict {(true, predicted): cost}, where
        omitted pairs cost 0.
    """
    labels = classes.tolist()
    if isinstance(costs, Mapping):
        matrix = np.zeros((len(labels), len(labels)))
        for pair, cost in costs.items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(
                    f"costs are of pairs (actual class, predicted class), not {pair!r}"
                )
            matrix[_place(pair[0], labels), _place(pair[1], labels)] = _number(cost)
    else:
        matrix = _number(costs)
        if matrix.shape != (len(labels), len(labels)):
            raise ValueError(
                f"costs must be of shape {(len(labels), len(labels))}, a row for each actual class "
                f"and a column for each predicted one, not {matrix.shape}"
            )
    if len(bad := np.argwhere(~np.isfinite(matrix))):
        true, predicted = bad[0].tolist()
        raise ValueError(
            f"the cost of {labels[predicted]!r} where {labels[true]!r} is true must be finite, not "
            f"{matrix[true, predicted]}"
        )
    return matrix


def _number(cost: Any) -> Any:
    try:
        return np.asarray(cost, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"costs must be numbers, not {cost!r}") from None


def _place(label: Label, labels: list[Label]) -> int:
    if label not in labels:
        class_names = ", ".join(map(repr, labels[:5])) + (", ..." if len(labels) > 5 else "")
        raise ValueError(f"costs name {label!r}, which is not one of the classes {class_names}")
    return labels.index(label)
