"""Gradient boosting of scikit-learn, on the columns of a table as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier

from naively.exact import Float64, Int64
from naively.pooling.bins import as_numbers
from naively.pooling.dates import as_dates
from naively.statistics.levels import Encoded

FEW, LARGE = 3, 10_000  # rows: of a class; of a table
LEVELS = 255  # of a column that is taken as categories


class Boosting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """`HistGradientBoostingClassifier` with its defaults, but for rare classes of large tables.

    Above 10,000 rows it holds some out to stop early: it fails if a class has one row, and diverges
    if it has two. There a class of fewer than three rows is left out of what it learns, and gets
    its share of the rows as its probability, whatever a row says.

    Parameters
    ----------
    categories : positions of the columns that hold codes of levels; "from_dtype" for those that are
        categories in a data frame.
    """

    def __init__(self, categories: Any = "from_dtype") -> None:
        self.categories = categories

    def fit(self, X: Any, y: Int64) -> Boosting:
        """Fit; labels are 0, 1, ..., NaN is a missing value."""
        counts = np.bincount(y)
        kept = (counts >= FEW) | (len(y) <= LARGE)
        self.classes_, self.shares_ = np.arange(len(counts)), counts / len(y)
        self.learned_ = np.flatnonzero(kept & (counts > 0))
        self.model_ = HistGradientBoostingClassifier(
            categorical_features=self.categories or None, random_state=0
        )
        self.model_.fit(X[kept[y]], y[kept[y]])
        return self

    def predict_proba(self, X: Any) -> Float64:
        """(n, C) probabilities."""
        proba = np.tile(self.shares_, (len(X), 1))
        proba[:, self.learned_] = self.shares_[self.learned_].sum() * self.model_.predict_proba(X)
        return proba

    def predict(self, X: Any) -> Int64:
        """(n,) the most probable labels."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def plain_columns(X: Encoded) -> tuple[Float64, list[int]]:
    """(columns (n, d) of numbers and of codes of levels, which of these it takes as categories).

    Columns without any value are left out: scikit-learn's boosting fails on them.
    """
    columns: list[Float64] = []
    categories: list[int] = []
    for codes, levels in zip(X.codes.T, X.levels, strict=True):
        if not len(levels):
            continue
        known = as_dates(levels) if levels.dtype.kind == "T" else as_numbers(levels)
        if known is None:
            known = np.arange(float(len(levels)))
            if len(levels) <= LEVELS:
                categories.append(len(columns))
        columns.append(np.append(known, np.nan)[codes])
    return np.column_stack(columns), categories
