"""`Classifier` and `ClassifierModel`: an estimator and a model of `pyspark.ml`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from sklearn.base import clone

import naively
from naively import clusters
from naively.estimators import files
from naively.estimators.auto_bayes import AutoBayes
from naively.io.sources import Source
from naively.spark import engine
from naively.spark.answering import Answering, content_of, label_type
from naively.spark.engine import Columns, joined, pieces, taken
from naively.storage import encoding
from naively.storage.model_files import from_bytes
from naively.tables.names import few

PARAMS = ("target", "features", "weight", "prediction", "probability", "explanation")


class ClassifierWriter(MLWriter):  # type: ignore[misc]
    """Writer of a `Classifier`, which is not fitted: its parameters."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        """Write the parameters to a folder; ValueError if one cannot be saved."""
        classifier = self.instance
        if classifier.like is not None:
            raise ValueError("a Classifier with `like` cannot be saved: save the fitted model")
        model = classifier.inner()
        arrays: dict[str, Any] = {}
        parameters = encoding.encode(model.get_params(deep=False), arrays)
        if arrays:
            raise ValueError("arrays among the parameters of the model cannot be saved: pass lists")
        _write_metadata(self, path, {"estimator": type(model).__name__, "params": parameters})


class ClassifierReader(MLReader):  # type: ignore[misc]
    """Reader of a `Classifier`."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """Load the classifier from a folder."""
        metadata, stage_params, uid = _read_metadata(self, path)
        if metadata["estimator"] not in ("AutoBayes", "NaiveBayes", "TextNB"):
            raise ValueError(f"{path} holds a classifier of an unknown kind")
        params = encoding.decode(metadata["params"], {})
        classifier = self.kind(getattr(naively, metadata["estimator"])(**params), **stage_params)
        classifier._resetUid(uid)
        return classifier


class ModelWriter(MLWriter):  # type: ignore[misc]
    """Writer of a `ClassifierModel`: its columns, and the model with its exact statistics."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        """Write the model to a folder."""
        model = self.instance
        table = pa.Table.from_batches(list(pieces(0, content_of(model.model_))))
        columns = {"names": list(model.columns.names), "vectors": model.columns.vectors}
        _write_metadata(self, path, columns)
        self.sparkSession.createDataFrame(table).write.parquet(f"{path}/model")


class ModelReader(MLReader):  # type: ignore[misc]
    """Reader of a `ClassifierModel`."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """Load the model from a folder."""
        metadata, stage_params, uid = _read_metadata(self, path)
        saved = self.sparkSession.read.parquet(f"{path}/model").toArrow()
        ((_, content),) = joined(saved.to_batches())
        columns = Columns(tuple(metadata["names"]), dict(metadata["vectors"]))
        model = self.kind(files.fitted(from_bytes(content, path), path), columns, **stage_params)
        model._resetUid(uid)
        return model


def _write_metadata(writer: Any, path: str, extra: dict[str, Any]) -> None:
    param_map = writer.instance.extractParamMap()
    params = {param.name: value for param, value in param_map.items() if param.name in PARAMS}
    DefaultParamsWriter.saveMetadata(
        writer.instance, path, writer.sparkSession, {"naively": extra}, params
    )


def _read_metadata(reader: Any, path: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Return (metadata of naively, the parameters, the unique name of the stage)."""
    metadata = DefaultParamsReader.loadMetadata(path, reader.sparkSession)
    if "naively" not in metadata:
        raise ValueError(
            f"{path} holds a stage of the class {metadata['class']!r}, none of naively"
        )
    return metadata["naively"], metadata["paramMap"], metadata["uid"]


# ---- classifier ----------------------------------------------------------------------------------


_TEXT = TypeConverters.toString


class _Named(Params):  # type: ignore[misc]
    """Parameters with the names of the output columns."""

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


class Classifier(_Named, Estimator, MLWritable, MLReadable):  # type: ignore[misc]
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

    def write(self) -> ClassifierWriter:
        """Return the writer."""
        return ClassifierWriter(self)

    @classmethod
    def read(cls) -> ClassifierReader:
        """Return the reader."""
        return ClassifierReader(cls)


class ClassifierModel(_Named, Model, MLWritable, MLReadable):  # type: ignore[misc]
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
            raise ValueError(f"the frame has no column(s) {few(missing)}, which the model needs")
        columns = taken(dataset, self.columns.names, self.columns.vectors)
        answering = Answering(content_of(self.model_), columns, *map(self.getOrDefault, _ANSWERS))
        fields = answering.fields(self.model_.classes_)
        if duplicates := [field.name for field in fields if field.name in dataset.columns]:
            raise ValueError(f"the frame has the column(s) {few(duplicates)} already: name others")
        return dataset.mapInArrow(answering, StructType([*dataset.schema.fields, *fields]))

    def write(self) -> ModelWriter:
        """Return the writer."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> ModelReader:
        """Return the reader."""
        return ModelReader(cls)


_ANSWERS = ("prediction", "probability", "explanation")
