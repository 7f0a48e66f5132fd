"""Add predictions, probabilities and explanations to the rows of a Spark frame, on executors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import types

from naively.core.labels import Labels
from naively.estimators import files
from naively.spark.engine import Columns
from naively.storage.model_files import Saved, from_bytes, to_bytes
from naively.tables.targets import are_text

REASON = types.StructType([
    types.StructField("column", types.StringType()),
    types.StructField("term", types.StringType()),
    types.StructField("value", types.StringType()),
    types.StructField("log_odds", types.DoubleType()),
])  # fmt: skip
REASONS = pa.list_(pa.struct([
    ("column", pa.string()), ("term", pa.string()), ("value", pa.string()),
    ("log_odds", pa.float64()),
]))  # fmt: skip
MOST = 30
"""Maximum number of contributions in an explanation, those with the largest log-odds."""


def content_of(estimator: Any) -> bytes:
    """Convert a fitted estimator to bytes, with its estimates."""
    estimator._posterior()  # estimates once here, instead of on each executor
    name = type(estimator).__name__
    return to_bytes(Saved(estimator.model_, name, estimator.get_params(deep=False)))


@lru_cache(maxsize=2)
def estimator_of(content: bytes) -> Any:
    """Load a fitted estimator from bytes; cached, as a worker has many partitions."""
    return files.fitted(from_bytes(content), "the model")


def label_type(labels: Labels) -> Any:
    """Return the Spark type of predictions: string, boolean, or double for all numbers.

    Raises
    ------
    ValueError : if a double cannot represent a label exactly.
    """
    if are_text(labels):
        return types.StringType()
    if labels.dtype.kind == "b":
        return types.BooleanType()
    if [int(label) for label in labels.tolist()] != [
        int(float(label)) for label in labels.tolist()
    ]:
        raise ValueError(
            f"labels such as {labels.max()} are not exact as a double, which predictions are in "
            "Spark: use them as text"
        )
    return types.DoubleType()


@dataclass(frozen=True)
class Answering:
    """Function that adds predictions and the like to the batches of a partition, on an executor.

    Attributes
    ----------
    content : the fitted estimator as bytes.
    columns : its features.
    prediction, probability, explanation : names of the new columns, or None.
    """

    content: bytes
    columns: Columns
    prediction: str | None
    probability: str | None
    explanation: str | None

    def fields(self, labels: Labels) -> list[Any]:
        """Return the new columns with their types."""
        kinds = (label_type(labels), VectorUDT(), types.ArrayType(REASON))
        names = (self.prediction, self.probability, self.explanation)
        pairs = zip(names, kinds, strict=True)
        return [types.StructField(name, kind) for name, kind in pairs if name]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches with the new columns; empty batches are dropped."""
        estimator = estimator_of(self.content)
        estimator.n_jobs = 1
        for batch in batches:
            if batch.num_rows:
                yield self._answered(estimator, batch)

    def _answered(self, estimator: Any, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = self.columns
        unpacked = columns.unpacked(batch.select(list(columns.names)))
        X: Any = pa.Table.from_batches([unpacked])
        if estimator.model_.schema.reasons is None:  # documents
            X = X.column(0)
        posterior, rows = estimator._posterior(), estimator._rows(X)
        answers: dict[str | None, pa.Array] = {}
        if self.prediction:
            labels = posterior.predict(rows)
            text = are_text(labels)
            answers[self.prediction] = (
                pa.array(labels.tolist(), pa.string()) if text
                else pa.array(labels) if labels.dtype.kind == "b"
                else pa.array(labels.astype(np.float64))
            )  # fmt: skip
        if self.probability:
            answers[self.probability] = _vectors(posterior.proba(rows))
        if self.explanation:
            answers[self.explanation] = _reasons(estimator.explain(X))
        arrays = [*batch.columns, *answers.values()]
        return pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, *answers])


def _vectors(proba: Any) -> pa.Array:
    """Convert (n, C) numbers to dense vectors as Spark stores them: structs of type 1."""
    n, classes = proba.shape
    offsets = pa.array(np.arange(n + 1, dtype=np.int32) * np.int32(classes))
    values = pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(proba).ravel()))
    nulls = pa.nulls(n, pa.list_(pa.int32()))
    kind = pa.array(np.ones(n, np.int8))
    return pa.StructArray.from_arrays(
        [kind, pa.nulls(n, pa.int32()), nulls, values], ["type", "size", "indices", "values"]
    )


def _reasons(explanation: Any) -> pa.Array:
    """Convert explanations to arrays of (column, term, value, log-odds), for each row.

    The log-odds are those of the predicted class against the second most probable one.
    """
    reasons = [
        [
            {
                "column": column, "term": term, "value": None if value is None else str(value),
                "log_odds": float(odds),
            }
            for column, term, value, odds in row.parts()[:MOST]
        ]
        for row in explanation
    ]  # fmt: skip
    return pa.array(reasons, REASONS)
