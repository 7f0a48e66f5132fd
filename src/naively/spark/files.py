"""Files that executors read themselves: no row passes through Java."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from naively.engines import spark
from naively.engines.counting import CountingFiles, added, learned
from naively.estimators import clusters
from naively.spark.columns import Columns
from naively.tables.names import no_column
from naively.tables.readers import Source
from naively.tables.relabelling import with_typed_labels

SHARE = 32 << 20
"""Bytes of files that a task reads, about, if there are more than all executors read at once."""
AT_ONCE = 64
"""How many tasks run at once, over Spark Connect, which does not say."""


def fitted(
    source: Source, model: Any, target: str, features: Sequence[str] | None, weight: str | None,
    like: Any,
) -> tuple[Any, Columns]:  # fmt: skip
    """(a fitted estimator like `model`, its columns), learned from files by the session there is.

    Parameters
    ----------
    source : of tables in files, in the same places on all machines.
    target, features, weight : columns of it; all other columns are features if these are None.

    Raises
    ------
    ValueError : saying what is wrong and where.
    """
    for name in filter(None, (target, weight, *(features or ()))):
        if name not in source.names:
            raise ValueError(no_column(name, source.names))
    asked = [name for name in (target, weight) if name is not None]
    if features is not None and {*features} & {*asked}:
        raise ValueError("the target and the weight cannot be among the features")
    read = None if features is None else [*features, *asked]
    session = SparkSession.active()
    context = getattr(session, "sparkContext", None)
    at_once = AT_ONCE if context is None else context.defaultParallelism
    shares = source.shares(max(at_once, (source.size or 0) // SHARE), read)
    names = [name for name in read or source.names if name not in asked]
    question = clusters.question_of(model, names, target, weight)
    (whole,) = source.shares(1, read)
    made = clusters.planned_of(whole, model, question, like)
    ids = session.range(0, len(shares), 1, len(shares))
    one_round = len(shares) > spark.GROUPS
    rounds = 2 if made.blank.family.keeps else int(one_round)
    counts = spark.summed(ids, CountingFiles(made, shares), added, rounds)
    found = clusters.fitted(model, with_typed_labels(learned(made, counts)), like)
    return found, Columns(tuple(made.blank.schema.why), {})
