"""Spark frames: executors count the rows of their partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from naively.engines.counting import Counting, added, learned
from naively.engines.spark import first_rows, summed
from naively.estimators import clusters
from naively.spark.columns import Columns, Unpacking, learnable, quoted


def fitted(
    dataset: Any, model: Any, target: str, features: Sequence[str] | None, weight: str | None,
    like: Any,
) -> tuple[Any, Columns]:  # fmt: skip
    """(a fitted estimator like `model`, the columns that it learned from a frame).

    Parameters
    ----------
    dataset : DataFrame, classic or of Spark Connect.
    target, features, weight : columns of it; all other columns are features if these are None.

    Raises
    ------
    ValueError : saying what is wrong and where.
    """
    columns = learnable(dataset, target, features, weight)
    frame = dataset.select(*map(quoted, filter(None, (*columns.names, target, weight))))
    question = clusters.question_of(model, columns.features, target, weight)
    rows = 0 if like is not None else clusters.rows_to_look_at(question, columns.features)
    made = clusters.planned(columns.unpacked(first_rows(frame, rows)), question, like)
    rounds = 2 if made.blank.family.keeps else 1
    counts = summed(frame, Unpacking(columns, Counting(made)), added, rounds)
    return clusters.fitted(model, learned(made, counts), like), columns
