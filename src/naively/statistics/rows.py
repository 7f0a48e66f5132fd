"""How often each whole row was met: the statistics of a joint table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from naively.exact import ExactArray, Int64
from naively.statistics.base import FORGOTTEN, NOT_LEARNED, Arrays, Batch, Data, Summary
from naively.statistics.level_counts import count_levels
from naively.statistics.levels import Encoded, LevelStatistics, read_levels
from naively.statistics.row_encoding import TEXT, distinct, encoded, from_text, sorted_rows, to_text
from naively.workers import Workers


class RowStatistics(LevelStatistics):
    """Counts of the distinct rows that have a value in each of d columns.

    Attributes
    ----------
    tables : ``count`` (C, R), and ``missing`` (C, d), the weight of the rows in which each column
        is missing.
    levels : list of one sorted array: the R distinct rows, each the JSON list of its levels.
    """

    def reindex_columns(self, own: Int64, positions: Int64, n_features: int) -> Self:
        """The columns in another order: own[k] becomes positions[k].

        Raises ValueError unless these are all of them.
        """
        d = self.tables["missing"].shape[1]
        if not len(own) == d == n_features:
            raise ValueError(
                f"a joint table of {d} columns and one of {n_features} do not add up: each row "
                "that one learns must have all of its columns"
            )
        order = own[np.argsort(positions)]
        codes, levels = from_text(self.levels[0], d)
        rows, ranks = sorted_rows(to_text(codes[:, order], [levels[k] for k in order]))
        count, missing = self.tables["count"].gather(1, ranks), self.tables["missing"]
        return type(self)({"count": count, "missing": missing.gather(1, order)}, [rows])

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no data can have these counts: a row is in a cell, or lacks one or more columns."""
        count, missing = self.tables["count"], self.tables["missing"]
        if count.any_negative() or missing.any_negative():
            return FORGOTTEN
        lacking = class_weight - count.summed(1)
        spare = lacking.repeated(missing.shape[1]).accumulate(missing, sign=-1)
        excess = missing.summed(1) - lacking
        if spare.below_zero(self.observed(class_weight)) or excess.below_zero(class_weight):
            return NOT_LEARNED
        return None


@dataclass(frozen=True)
class RowCounts(Summary[RowStatistics]):
    """How often each distinct row of levels was met; a row with a missing value is none of them."""

    takes = "levels"
    by_column = False

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> RowStatistics:
        """The weight of each distinct row by class, exactly."""
        X = encoded(X)
        sizes = [len(known) for known in X.levels]
        complete = (X.codes < np.array(sizes)).all(axis=1)
        whole = X.codes[complete]
        first, kind = distinct(whole, sizes)
        rows, order = sorted_rows(to_text(whole[first], X.levels))
        codes = np.full(len(complete), len(rows), np.int32)
        codes[complete] = np.argsort(order)[kind]
        counted = count_levels(Encoded(codes[:, np.newaxis], [rows]), batch, workers)
        missing = ExactArray.zeros((batch.n_classes, len(sizes)))
        if not complete.all():
            missing = count_levels(X, batch, workers).tables["missing"]
        tables = {"count": counted.tables["count"], "missing": missing}
        return RowStatistics(tables, counted.levels)

    def empty(self, n_classes: int, n_features: int) -> RowStatistics:
        """The statistics of no rows."""
        count, missing = (ExactArray.zeros((n_classes, size)) for size in (0, n_features))
        return RowStatistics({"count": count, "missing": missing}, [np.empty(0, TEXT)])

    def read(self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int) -> RowStatistics:
        """As the base class; each row must be the text of a level for each column."""
        (rows,) = read_levels(arrays, 1, "T")
        if to_text(*from_text(rows, n_features)) != rows.tolist():
            raise ValueError("a row of its joint table is not a list of levels")
        return RowStatistics(tables, [rows])
