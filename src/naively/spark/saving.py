"""Classifiers and models of Spark as folders, in the manner of `pyspark.ml`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter

import naively
from naively.engines.spark import joined, pieces
from naively.estimators import files
from naively.files import encoding
from naively.files.safetensors import from_bytes
from naively.spark.answering import content_of
from naively.spark.columns import Columns

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
