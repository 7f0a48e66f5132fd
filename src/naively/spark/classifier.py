"""Add predictions, probabilities and explanations to the rows of a Spark frame, on executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml import Estimator, Model
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import types
from sklearn.base import clone

import naively
from naively import clusters
from naively.core.exact import Float64
from naively.core.labels import Labels
from naively.estimators import files
from naively.estimators.auto_bayes import AutoBayes
from naively.estimators.shared.base import NaiveBayesClassifier
from naively.explain.explanation import Explanation
from naively.io.sources import Source
from naively.spark import engine
from naively.spark.engine import Columns, joined, pieces, taken
from naively.storage import encoding
from naively.storage.model_files import Saved, from_bytes, to_bytes
from naively.tables.names import columns_named, few
from naively.tables.targets import are_text

REASON = types.StructType([
    types.StructField("feature", types.StringType()),
    types.StructField("term", types.StringType()),
    types.StructField("value", types.StringType()),
    types.StructField("log_odds", types.DoubleType()),
])  # fmt: skip
REASONS = pa.list_(pa.struct([
    ("feature", pa.string()), ("term", pa.string()), ("value", pa.string()),
    ("log_odds", pa.float64()),
]))  # fmt: skip
MOST = 30  # maximum number of contributions in an explanation, those with the largest log-odds


def content_of(estimator: NaiveBayesClassifier) -> bytes:
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

    Raises ValueError if a double cannot represent a label exactly.
    """
    if are_text(labels):
        return types.StringType()
    if labels.dtype.kind == "b":
        return types.BooleanType()
    if any(int(label) != int(float(label)) for label in labels.tolist()):
        raise ValueError(
            f"labels such as {labels.max()} are not exact as a double, which predictions are in "
            "Spark: use them as text"
        )
    return types.DoubleType()


@dataclass(frozen=True)
class Answering:
    """Function that adds predictions and the like to the batches of a partition, on an executor.

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

    def _answered(self, estimator: NaiveBayesClassifier, batch: pa.RecordBatch) -> pa.RecordBatch:
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


def _vectors(proba: Float64) -> pa.Array:
    """Convert (n, C) numbers to dense vectors as Spark stores them: structs of type 1."""
    n, classes = proba.shape
    offsets = pa.array(np.arange(n + 1, dtype=np.int32) * np.int32(classes))
    values = pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(proba).ravel()))
    nulls = pa.nulls(n, pa.list_(pa.int32()))
    kind = pa.array(np.ones(n, np.int8))
    return pa.StructArray.from_arrays(
        [kind, pa.nulls(n, pa.int32()), nulls, values], ["type", "size", "indices", "values"]
    )


def _reasons(explanation: Explanation) -> pa.Array:
    """Convert explanations to arrays of (feature, term, value, log-odds), for each row.

    The log-odds are those of the predicted class against the second most probable one.
    """
    reasons = [
        [
            {
                "feature": feature, "term": term, "value": None if value is None else str(value),
                "log_odds": float(odds),
            }
            for feature, term, value, odds in row.parts()[:MOST]
        ]
        for row in explanation
    ]  # fmt: skip
    return pa.array(reasons, REASONS)


# ---- classifier ----------------------------------------------------------------------------------


PARAMS = ("target", "features", "weight", "prediction", "probability", "explanation")


class StageWriter(MLWriter):  # type: ignore[misc]
    """Writer of a `Classifier` or `ClassifierModel`: its parameters, and what it `_writes`."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        """Write the stage to a folder; ValueError if a parameter cannot be saved."""
        stage, session = self.instance, self.sparkSession
        param_map = stage.extractParamMap().items()
        params = {param.name: value for param, value in param_map if param.name in PARAMS}
        extra, table = stage._writes()
        DefaultParamsWriter.saveMetadata(stage, path, session, {"naively": extra}, params)
        if table is not None:
            session.createDataFrame(table).write.parquet(f"{path}/model")


class StageReader(MLReader):  # type: ignore[misc]
    """Reader of a `Classifier` or `ClassifierModel`, which `_reads` what its writer wrote."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """Load the stage from a folder."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        if "naively" not in metadata:
            kind = metadata["class"]
            raise ValueError(f"{path} holds a stage of the class {kind!r}, none of naively")
        contents = self.kind._reads(metadata["naively"], path, self.sparkSession)
        stage = self.kind(*contents, **metadata["paramMap"])
        stage._resetUid(metadata["uid"])
        return stage


# ---- classifier ----------------------------------------------------------------------------------


_TEXT = TypeConverters.toString


class _Stage(Params, MLWritable, MLReadable):  # type: ignore[misc]
    """A stage that can be saved, with the names of the output columns as parameters."""

    prediction = Param(
        Params._dummy(), "prediction", "column of the label that is predicted; '' for none.", _TEXT
    )
    probability = Param(
        Params._dummy(), "probability",
        "column of P(c | x), a vector in the order of the classes; '' for none.", _TEXT,
    )  # fmt: skip
    explanation = Param(
        Params._dummy(), "explanation",
        "column of the reasons, an array of (column, term, value, log_odds), those that tell most "
        "first, of the label that is predicted against the next; '' for none.", _TEXT,
    )  # fmt: skip

    def _name(self, prediction: str, probability: str, explanation: str) -> None:
        self._set(prediction=prediction, probability=probability, explanation=explanation)

    def write(self) -> StageWriter:
        """Return the writer."""
        return StageWriter(self)

    @classmethod
    def read(cls) -> StageReader:
        """Return the reader."""
        return StageReader(cls)


class Classifier(_Stage, Estimator):  # type: ignore[misc]
    """Train a classifier of naively on a Spark frame: an estimator of `pyspark.ml`.

    Executors count the rows of their partitions, and the counts are added up in a tree. The model
    is, bit for bit, that of the same rows on one machine. Only a sample of rows is collected, to
    infer the column types: the first 100,000 rows, partition after partition (fewer for wide
    tables, none for `AutoBayes`). If these are not the first rows on one machine, types may differ:
    set families in `columns`, or fit both models with ``like``. Rows without a label are left out.
    Works with classic sessions and with Spark Connect.

    ``fit(naively.scan("/shared/census/*.parquet"))`` trains on files with the same path on all
    machines. This is faster, because executors read them without Java. Column types are inferred
    as on one machine.

    Parameters
    ----------
    model : AutoBayes, NaiveBayes or TextNB
        The estimator to fit; `AutoBayes` by default.
    target : str
        The label column.
    features : sequence of str, optional
        The feature columns; all others by default. A vector column becomes a feature for each
        entry: ``name[0]``, ``name[1]``, ...
    weight : str, optional
        The column of row weights.
    prediction, probability, explanation : str
        The output columns; "" for none. Predictions are strings or booleans if the labels are, and
        else doubles, as in `pyspark.ml`. Probabilities are vectors in the order of
        ``model_.classes_``, for the evaluators of Spark if labels are 0, 1, 2, ... Explanations are
        arrays of (column, term, value, log_odds).
    like : fitted estimator of naively, optional
        Model whose columns and families are used, so that the two models can be added. Of an
        `AutoBayes` the structure is used (bins, interactions, weights): the rows are counted for
        it, and not stored.

    Notes
    -----
    Parameters of `model` that are numbers, strings or None are parameters of this class, too, for
    `ParamGridBuilder`: ``classifier.alpha``. Others are set in `model`.

    Examples
    --------
    >>> from naively.spark import Classifier
    >>> model = Classifier(target="income").fit(train)                          # doctest: +SKIP
    >>> model.transform(test).select("prediction", "probability").show()        # doctest: +SKIP
    >>> model.model_.save("income.naively")                                     # doctest: +SKIP
    """

    target = Param(Params._dummy(), "target", "the column of labels.", _TEXT)
    features = Param(Params._dummy(), "features", "the feature columns; None for all others.")
    weight = Param(Params._dummy(), "weight", "the column of row weights; None for none.")

    def __init__(
        self, model: Any = None, *, target: str = "label", features: Sequence[str] | None = None,
        weight: str | None = None, prediction: str = "prediction",
        probability: str = "probability", explanation: str = "", like: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.model, self.like = AutoBayes() if model is None else model, like
        clusters.check_estimator(self.model)
        self._setDefault(features=None, weight=None)
        self._set(target=target, features=None if features is None else list(features))
        self._set(weight=weight)
        self._name(prediction, probability, explanation)
        self._inner: list[str] = []
        for name, value in self.model.get_params().items():
            if value is None or isinstance(value, bool | int | float | str):
                setattr(self, name, Param(self, name, f"{name} of the model."))
                self._setDefault(**{name: value})
                self._inner.append(name)

    def inner(self) -> Any:
        """Return a clone of `model` with the parameters that were set here."""
        params = {
            name: self._paramMap[param]
            for name in self._inner
            if (param := self.getParam(name)) in self._paramMap
        }
        return clone(self.model).set_params(**params)

    def _fit(self, dataset: Any) -> ClassifierModel:
        options = [self.getOrDefault(name) for name in ("target", "features", "weight")]
        learn: Any = engine.fitted_files if isinstance(dataset, Source) else engine.fitted
        fitted, columns = learn(dataset, self.inner(), *options, self.like)
        label_type(fitted.classes_)  # ValueError for labels that Spark cannot represent
        return self._copyValues(ClassifierModel(fitted, columns)._resetUid(self.uid))

    def _writes(self) -> tuple[dict[str, Any], None]:
        """Return the estimator with its parameters; ValueError if one cannot be saved."""
        if self.like is not None:
            raise ValueError("a Classifier with `like` cannot be saved: save the fitted model")
        model, arrays = self.inner(), dict[str, Any]()
        parameters = encoding.encode(model.get_params(deep=False), arrays)
        if arrays:
            raise ValueError("arrays among the parameters of the model cannot be saved: pass lists")
        return {"estimator": type(model).__name__, "params": parameters}, None

    @staticmethod
    def _reads(metadata: dict[str, Any], path: str, session: Any) -> tuple[Any]:
        if metadata["estimator"] not in ("AutoBayes", "NaiveBayes", "TextNB"):
            raise ValueError(f"{path} holds a classifier of an unknown kind")
        params = encoding.decode(metadata["params"], {})
        return (getattr(naively, metadata["estimator"])(**params),)


class ClassifierModel(_Stage, Model):  # type: ignore[misc]
    """A fitted `Classifier`: a transformer of `pyspark.ml` that adds the output columns.

    Parameters
    ----------
    model_ : fitted AutoBayes, NaiveBayes or TextNB
        The model of naively.
    columns : Columns, its features.
    prediction, probability, explanation : as for `Classifier`.
    """

    def __init__(
        self, model_: Any, columns: Columns, *, prediction: str = "prediction",
        probability: str = "probability", explanation: str = "",
    ) -> None:  # fmt: skip
        super().__init__()
        self.model_, self.columns = model_, columns
        self._name(prediction, probability, explanation)

    def _transform(self, dataset: Any) -> Any:
        from pyspark.sql.types import StructType

        if missing := [name for name in self.columns.names if name not in dataset.columns]:
            absent = columns_named(few(missing), missing)
            raise ValueError(f"the frame has no {absent}, which the model needs")
        columns = taken(dataset, self.columns.names, self.columns.vectors)
        answering = Answering(content_of(self.model_), columns, *map(self.getOrDefault, _ANSWERS))
        fields = answering.fields(self.model_.classes_)
        if duplicates := [field.name for field in fields if field.name in dataset.columns]:
            named = columns_named(few(duplicates), duplicates)
            raise ValueError(f"the frame has the {named} already: choose other names")
        return dataset.mapInArrow(answering, StructType([*dataset.schema.fields, *fields]))

    def _writes(self) -> tuple[dict[str, Any], pa.Table]:
        """Return the columns, and the model with its exact statistics."""
        table = pa.Table.from_batches(list(pieces(0, content_of(self.model_))))
        return {"names": list(self.columns.names), "vectors": self.columns.vectors}, table

    @staticmethod
    def _reads(metadata: dict[str, Any], path: str, session: Any) -> tuple[Any, Columns]:
        saved = session.read.parquet(f"{path}/model").toArrow()
        ((_, content),) = joined(saved.to_batches())
        columns = Columns(tuple(metadata["names"]), dict(metadata["vectors"]))
        return files.fitted(from_bytes(content, path), path), columns


_ANSWERS = ("prediction", "probability", "explanation")
