"""Classifiers and models of Spark as folders, in the manner of `pyspark.ml`."""

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
    """Writes what a `Classifier` is to do."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        """Write the folder; ValueError if a parameter of the model cannot be saved."""
        one = self.instance
        if one.like is not None:
            raise ValueError("a Classifier with `like` cannot be saved: save the fitted model")
        model = one.inner()
        arrays: dict[str, Any] = {}
        said = encoding.encode(model.get_params(deep=False), arrays)
        if arrays:
            raise ValueError("arrays among the parameters of the model cannot be saved: pass lists")
        _write_metadata(self, path, {"estimator": type(model).__name__, "params": said})


class ClassifierReader(MLReader):  # type: ignore[misc]
    """Reads it."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """The classifier of a folder."""
        said, own, uid = _read_metadata(self, path)
        if said["estimator"] not in ("AutoBayes", "NaiveBayes", "TextNB"):
            raise ValueError(f"{path} holds a classifier of an unknown kind")
        params = encoding.decode(said["params"], {})
        found = self.kind(getattr(naively, said["estimator"])(**params), **own)
        found._resetUid(uid)
        return found


class ModelWriter(MLWriter):  # type: ignore[misc]
    """Writes a `ClassifierModel`: its columns, and the model with its exact statistics."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        """Write the folder."""
        one = self.instance
        table = pa.Table.from_batches(list(pieces(0, content_of(one.model_))))
        columns = {"names": list(one.columns.names), "vectors": one.columns.vectors}
        _write_metadata(self, path, columns)
        self.sparkSession.createDataFrame(table).write.parquet(f"{path}/model")


class ModelReader(MLReader):  # type: ignore[misc]
    """Reads it."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """The model of a folder."""
        said, own, uid = _read_metadata(self, path)
        saved = self.sparkSession.read.parquet(f"{path}/model").toArrow()
        ((_, content),) = joined(saved.to_batches())
        columns = Columns(tuple(said["names"]), dict(said["vectors"]))
        found = self.kind(files.fitted(from_bytes(content, path), path), columns, **own)
        found._resetUid(uid)
        return found


def _write_metadata(writer: Any, path: str, extra: dict[str, Any]) -> None:
    said = writer.instance.extractParamMap()
    own = {param.name: value for param, value in said.items() if param.name in PARAMS}
    DefaultParamsWriter.saveMetadata(
        writer.instance, path, writer.sparkSession, {"naively": extra}, own
    )


def _read_metadata(reader: Any, path: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """(what is said of the model, the parameters, the name of the stage)."""
    found = DefaultParamsReader.loadMetadata(path, reader.sparkSession)
    if "naively" not in found:
        raise ValueError(f"{path} holds a stage of the class {found['class']!r}, none of naively")
    return found["naively"], found["paramMap"], found["uid"]


# ---- classifier ----------------------------------------------------------------------------------


_TEXT = TypeConverters.toString


class _Named(Params):  # type: ignore[misc]
    """The columns that answers are written to."""

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
    """Learns a classifier of naively from a Spark frame: an estimator of `pyspark.ml`.

    Executors count the rows of their partitions, and the counts are added up in a tree. The model
    is, bit for bit, the one that the same rows give on one machine; no rows are collected but a
    sample that says what the columns hold: the first 100,000 rows, partition after partition, or
    fewer of wide tables, and none for `AutoBayes`, which needs to know the names of the columns
    alone. Where these may be others than the first rows of one machine, name the families in
    `columns`, or fit both ``like`` one model. Rows without a label are left out. Works in a classic
    session, and in one of Spark Connect.

    ``fit(naively.scan("/shared/census/*.parquet"))`` learns tables in files that all machines see
    in the same place: executors read them without Java, which is faster. The families are those
    of one machine.

    Parameters
    ----------
    model : AutoBayes, NaiveBayes or TextNB
        What to learn, not fitted; an `AutoBayes` by default.
    target : str
        The column of labels.
    features : sequence of str, optional
        The columns to learn from; all others by default. Those of vectors become a column an
        entry, ``name[0]``, ``name[1]``, ...
    weight : str, optional
        The column of row weights.
    prediction, probability, explanation : str
        The columns that the model writes; "" for none. A prediction is text where labels are text,
        true or false where they are that, and else a double, as `pyspark.ml` has it. A probability
        is a vector in the order of ``model_.classes_``: where labels are 0, 1, 2, ..., the
        evaluators of Spark read it. An explanation is an array of (column, term, value, log_odds).
    like : fitted estimator of naively, optional
        Whose columns and families are taken, so that the two models add up; of an `AutoBayes` its
        plan: rows are counted for that, however many, and none is kept.

    Notes
    -----
    Parameters of the model that are numbers, text or None are parameters here too, by the same
    name, for `ParamGridBuilder`: ``classifier.alpha``. Others are set in `model`.

    Examples
    --------
    >>> from naively.spark import Classifier
    >>> model = Classifier(target="income").fit(train)                          # doctest: +SKIP
    >>> model.transform(test).select("prediction", "probability").show()        # doctest: +SKIP
    >>> model.model_.save("income.naively")                                     # doctest: +SKIP
    """

    target = Param(Params._dummy(), "target", "the column of labels.", _TEXT)
    features = Param(Params._dummy(), "features", "the columns to learn from; None for all others.")
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
        """The model that is to be learned, with the parameters that were set here."""
        said = {
            name: self._paramMap[param]
            for name in self._inner
            if (param := self.getParam(name)) in self._paramMap
        }
        return clone(self.model).set_params(**said)

    def _fit(self, dataset: Any) -> ClassifierModel:
        asked = [self.getOrDefault(name) for name in ("target", "features", "weight")]
        learn: Any = engine.fitted_files if isinstance(dataset, Source) else engine.fitted
        fitted, columns = learn(dataset, self.inner(), *asked, self.like)
        label_type(fitted.classes_)  # refuses what Spark cannot hold
        return self._copyValues(ClassifierModel(fitted, columns)._resetUid(self.uid))

    def write(self) -> ClassifierWriter:
        """What writes it to a folder."""
        return ClassifierWriter(self)

    @classmethod
    def read(cls) -> ClassifierReader:
        """What reads one from a folder."""
        return ClassifierReader(cls)


class ClassifierModel(_Named, Model, MLWritable, MLReadable):  # type: ignore[misc]
    """What a `Classifier` has learned: a transformer of `pyspark.ml`.

    Parameters
    ----------
    model_ : fitted AutoBayes, NaiveBayes or TextNB
        The ordinary model of naively; any may be given.
    columns : Columns, that it reads.
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

        if absent := [name for name in self.columns.names if name not in dataset.columns]:
            raise ValueError(f"the frame lacks the column(s) {few(absent)}, which were learned")
        now = taken(dataset, self.columns.names, self.columns.vectors)
        answering = Answering(content_of(self.model_), now, *map(self.getOrDefault, _ANSWERS))
        fields = answering.fields(self.model_.classes_)
        if twice := [one.name for one in fields if one.name in dataset.columns]:
            raise ValueError(f"the frame has the column(s) {few(twice)} already: name others")
        return dataset.mapInArrow(answering, StructType([*dataset.schema.fields, *fields]))

    def write(self) -> ModelWriter:
        """What writes it to a folder."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> ModelReader:
        """What reads one from a folder."""
        return ModelReader(cls)


_ANSWERS = ("prediction", "probability", "explanation")
