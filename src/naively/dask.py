"""Train on and predict for Dask DataFrames, on their own scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from naively import clusters
from naively.clusters import Counting, added, learned
from naively.estimators.auto_bayes import AutoBayes
from naively.io.arrow import together
from naively.io.frames import to_arrow

__all__ = ["fit", "predict", "predict_proba"]

Count = Callable[[Iterable[pa.RecordBatch]], bytes | None]
Add = Callable[[Iterable[bytes]], bytes | None]
FAN = 8  # number of sums that one task adds up


def summed(frame: Any, count: Count, add: Add) -> list[bytes]:
    """Return the sum over all partitions, in a list; empty if no partition has rows.

    frame : collection of frames, with `to_delayed`.
    count : from the batches of a partition to bytes; None if it has no rows.
    add : from such bytes to the bytes of their sum.
    """
    from dask import delayed

    sent = delayed(count, traverse=False)  # the result of one task, not copied into each task
    sums = [delayed(_counted)(sent, partition) for partition in frame.to_delayed()]
    while len(sums) > 1:
        sums = [delayed(_joined)(add, sums[k : k + FAN]) for k in range(0, len(sums), FAN)]
    total: bytes | None = sums[0].compute()
    return [] if total is None else [total]


def _counted(count: Count, part: Any) -> bytes | None:
    return count(to_arrow(part).to_batches())


def _joined(add: Add, parts: list[bytes | None]) -> bytes | None:
    return add(content for content in parts if content is not None)


def first_rows(frame: Any, rows: int) -> pa.Table:
    """Return the first rows of a collection, partition by partition; for 0 rows, its columns."""
    if rows == 0:
        return to_arrow(frame._meta)
    tables: list[pa.Table] = []
    for k in range(frame.npartitions):
        tables.append(to_arrow(frame.get_partition(k).compute()))
        if sum(map(len, tables)) >= rows:
            break
    return together(tables).slice(0, rows)


# ---- dask ----------------------------------------------------------------------------------------


try:
    import dask.dataframe as _frames
    from dask import delayed
except ImportError as error:
    raise ImportError(
        "naively.dask needs dask, which is not installed: pip install 'naively[dask]'"
    ) from error


def fit(
    ddf: Any, *, target: str, model: Any = None, features: Sequence[str] | None = None,
    weight: str | None = None, like: Any = None,
) -> Any:  # fmt: skip
    """Train on the rows of a Dask DataFrame, on its own scheduler.

    The model is, bit for bit, the same as on one machine. Partitions are counted where they are,
    and the counts are added up in a tree. Column types are inferred from the first 100,000 rows, or
    fewer for wide tables; `AutoBayes` needs none.

    Parameters
    ----------
    ddf : Dask DataFrame.
    target : the label column; rows without a label are skipped, with a warning.
    model : AutoBayes, NaiveBayes or TextNB, not fitted; an `AutoBayes` by default. It is unchanged.
    features : the feature columns; all others by default.
    weight : the column of row weights.
    like : fitted estimator whose columns and families are reused; see ``AutoBayes.fit``.

    Returns
    -------
    A fitted estimator with the parameters of `model`.

    Raises
    ------
    ValueError : saying what is wrong and where.

    Examples
    --------
    >>> import naively.dask
    >>> model = naively.dask.fit(ddf, target="income")                          # doctest: +SKIP
    >>> naively.dask.predict(model, ddf).value_counts().compute()               # doctest: +SKIP
    """
    model = AutoBayes() if model is None else model
    features = clusters.features_of(ddf.columns, target, features, weight)
    frame = ddf[[*features, *filter(None, (target, weight))]]
    spec = clusters.spec_of(model, features, target, weight)
    rows = 0 if like is not None else clusters.rows_to_look_at(spec, features)
    counting_plan = clusters.planned(first_rows(frame, rows), spec, like)
    counts = summed(frame, Counting(counting_plan), added)
    return clusters.fitted(model, learned(counting_plan, counts), like)


def predict(model: Any, ddf: Any) -> Any:
    """Predict labels with a fitted estimator, as a Dask Series with the index of the rows.

    Parameters
    ----------
    model : fitted AutoBayes, NaiveBayes or TextNB.
    ddf : Dask DataFrame; for `TextNB` a Dask Series of documents.
    """
    return _mapped(model, ddf, _labels)


def predict_proba(model: Any, ddf: Any) -> Any:
    """Predict P(c | x) as a Dask DataFrame, with a column for each class."""
    return _mapped(model, ddf, _probabilities)


def _mapped(model: Any, ddf: Any, answer: Any) -> Any:
    model._posterior()  # estimated once, and sent with the model
    sent = delayed(model, traverse=False)
    return _frames.map_partitions(answer, ddf, sent, meta=answer(ddf._meta, model))


def _labels(part: Any, model: Any) -> Any:
    import pandas as pd

    labels = model.predict(part) if len(part) else model.classes_[:0]
    return pd.Series(labels, part.index, name="prediction")


def _probabilities(part: Any, model: Any) -> Any:
    import pandas as pd

    proba = model.predict_proba(part) if len(part) else np.empty((0, len(model.classes_)))
    return pd.DataFrame(proba, part.index, model.classes_)
