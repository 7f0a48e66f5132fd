"""A model as one safetensors file: exact statistics, no pickle.

The tensors are the limbs of the class weights and of each table of statistics, the levels of
categorical features and cells of grids, numeric class labels, and hyperparameters that are
arrays. All else is one JSON text in the metadata, under the key ``naively``.

Where estimating takes long (`Family.keeps`), the estimate is there too if it was made, with a
digest of what it was made from. A file without it is as good, but slower to begin with. Equal
models give equal bytes once both were estimated by all rows, or neither; and equal files, as `save`
estimates. Where fewer rows chose the structure (`naively.core.model`), ``chosen`` is their weight.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as tensors_of
from safetensors.numpy import save as bytes_of

from naively import __version__
from naively.core.model import GROWTH, Model
from naively.core.multilabel import Multilabel, check_labels
from naively.core.prior import Prior
from naively.core.workers import Workers
from naively.statistics.base import Arrays
from naively.storage import encoding
from naively.storage.atomic import replacing
from naively.storage.digest import (
    ESTIMATE,
    Digests,
    checksum,
    digests_of,
    estimate_digest,
    text_of,
)
from naively.storage.encoding import (
    decode,
    decode_classes,
    decode_invalid,
    decode_schema,
    decode_statistics,
    encode,
    encode_classes,
    encode_invalid,
    encode_schema,
    encode_statistics,
    hyperparameters,
    storable,
)
from naively.storage.parts import Part, decode_parts, encode_parts

VERSION = 4
KEY = "naively"
SERVED = "served"
"""What notes the log of a model that is served, among what else is noted: see `serve.store`."""

Stamp = tuple[int, int, int, int]


class ModelFileError(ValueError):
    """A file that is no model, or a damaged one: which, and what is wrong with it."""


class NoModelError(ModelFileError):
    """A file that naively did not write, as far as can be seen."""


class VersionError(ValueError):
    """A model in a version of the format that this naively does not read."""


@dataclass
class Saved:
    """What a model file holds.

    Attributes
    ----------
    model : Model
    estimator : str, name of the scikit-learn estimator; empty if it is a model alone.
    params : dict, that estimator's parameters.
    extra : dict of str, what else was noted: the command line keeps what the documents are here.
    written_by : str, version of naively.
    learned : dict, what an estimator learned beyond the model.
    parts : what named parts of the rows added, and all others, if any has a name: see `parted`.
    stamp : of the file that it was read from; see `stamp_of`.
    """

    model: Model
    estimator: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)
    written_by: str = __version__
    learned: dict[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Part] = field(default_factory=dict)
    stamp: Stamp | None = field(default=None, compare=False)

    @property
    def multilabel(self) -> bool:
        """Whether rows have any number of labels."""
        return isinstance(self.model, Multilabel)


def to_bytes(saved: Saved) -> bytes:
    """A model with its exact statistics as bytes; nothing is estimated.

    An estimate that a family keeps is among them if it was made.

    Raises
    ------
    ValueError : if the model has something that bytes cannot hold.
    """
    try:
        document, arrays = _encoded(saved)
        digests = digests_of(arrays)
        if any(name.startswith(ESTIMATE) for name in arrays):
            document["estimate"] = estimate_digest(document, digests)
        document["checksum"] = checksum(document, digests)
        text = text_of(document)
        # what could not be read again is not written
        _decoded(_parsed(text), dict(arrays), digests)
    except ValueError as error:
        raise ValueError(f"this model cannot be saved: {error}") from None
    return bytes_of(arrays, {KEY: text})


def from_bytes(content: bytes, source: str = "this") -> Saved:
    """What `to_bytes` made bytes of; nothing is estimated.

    Raises
    ------
    ModelFileError : if it is no model, or a damaged one; `source` is what it is called.
    """
    try:
        size = int.from_bytes(content[:8], "little")
        arrays = tensors_of(content)  # which checks the header
        metadata = json.loads(content[8 : 8 + size]).get("__metadata__") or {}
    except (SafetensorError, TypeError, ValueError, KeyError, AttributeError):
        raise NoModelError(f"{source} is no model file of naively, or a damaged one") from None
    if KEY not in metadata:
        raise NoModelError(f"{source} is a safetensors file, but no model that naively wrote")
    try:
        return _decoded(_parsed(metadata[KEY]), arrays, digests_of(arrays))
    except VersionError as error:
        raise ModelFileError(f"{source} {error}") from None
    except Exception as error:  # whatever a hostile file may provoke: nothing was changed yet
        detail = error if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(f"{source} is a damaged model file: {detail}") from error


def save(saved: Saved, path: str | os.PathLike[str], workers: Workers | None = None) -> None:
    """Write a model to a file, whole or not at all.

    What its family keeps of an estimate is estimated now, on these workers: a file is written once
    and read often. Then `saved` has the stamp of the file.

    Raises
    ------
    ValueError : if the model has something that a file cannot hold.
    OSError : if the file cannot be written; an old one stays as it was.
    """
    if saved.model.family.keeps and len(saved.model.classes):
        with suppress(ValueError):  # it learned too little for its prior, so far
            saved.model.posterior(workers)
    content = to_bytes(saved)
    with replacing(path) as temporary:
        temporary.write_bytes(content)
        stamp = stamp_of(temporary)  # not later: others may write the file as soon as it is there
    saved.stamp = stamp


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a model file.

    Raises
    ------
    ModelFileError : if it is no model file, or a damaged one.
    OSError : if it cannot be read.
    """
    if not stat.S_ISREG(Path(path).stat().st_mode):
        raise ModelFileError(f"{path} is no file")
    stamp = stamp_of(path)
    saved = from_bytes(Path(path).read_bytes(), str(path))
    saved.stamp = stamp
    return saved


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    """What tells a file from the one that takes its place: another file, or a later one."""
    info = Path(path).stat()
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


def _parsed(text: str) -> Any:
    return json.loads(text, parse_int=_integer)


def _integer(digits: str) -> int:
    """An integer that arrays can hold too: larger ones would fail somewhere, at a later use."""
    value = int(digits)
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"an integer in it is out of range: {digits[:40]}")
    return value


def _encoded(saved: Saved) -> tuple[dict[str, Any], Arrays]:
    with saved.model.lock:
        kept, structure = saved.model.kept(), saved.model.structure
        model = saved.model.canonical()
    weight = model.class_weight
    arrays: Arrays = {"class_weight": np.array(weight.limbs, "<i8", order="C")}
    low = {"class_weight": weight.low}
    for k, part in enumerate(model.counted_parts):
        low |= encode_statistics(part, arrays, f"statistics.{k}.")
    prior = {one.name: encode(getattr(model.prior, one.name), arrays) for one in fields(Prior)}
    document = {
        "format": "naively model",
        "version": VERSION,
        "written_by": saved.written_by,
        "estimator": saved.estimator,
        "params": {name: encode(value, arrays) for name, value in saved.params.items()},
        "prior": prior,
        "classes": encode_classes(model.classes, arrays),
        "declared": np.flatnonzero(np.isin(model.classes, model.declared)).tolist(),
        "schema": encode_schema(model.counted, arrays),
        "rows": model.rows,
        "unlabelled": model.unlabelled,
        "invalid": encode_invalid(model.unread),
        "target": model.target,
        "low": low,
        "extra": saved.extra,
        "learned": {name: encode(one, arrays) for name, one in saved.learned.items()},
    }
    if isinstance(model, Multilabel):
        document["multilabel"] = True
    if kept:
        arrays |= {ESTIMATE + name: storable(array) for name, array in kept.items()}
        if structure is not None and structure.weight != model.weight:
            document["chosen"] = structure.weight
    if saved.parts:
        document["parts"] = encode_parts(saved.parts, arrays)
    return document, arrays


def _decoded(document: Any, arrays: Arrays, digests: Digests) -> Saved:
    """What a file says, if all of it can be true; each array has such a digest.

    Raises
    ------
    ValueError : if it cannot, saying why.
    """
    encoding.expect(document, {"format": str, "version": int})
    if document["format"] != "naively model":
        raise ValueError(f"its format is {document['format'][:40]!r}")
    if document["version"] != VERSION:
        newer = document["version"] > VERSION
        use = "update naively to read it" if newer else "use the naively that wrote it"
        raise VersionError(
            f"was written by {'a newer' if newer else 'an older'} naively, in version "
            f"{document['version']} of the format, where naively {__version__} reads version "
            f"{VERSION}: {use}"
        )
    encoding.expect(
        document,
        {
            "checksum": str, "written_by": str, "estimator": str, "params": dict, "prior": dict,
            "classes": dict, "declared": list, "schema": dict, "rows": int, "unlabelled": int,
            "invalid": list, "low": dict, "extra": dict, "learned": dict,
        },
    )  # fmt: skip
    if document["checksum"] != checksum(document, digests):
        raise ValueError("its checksum is wrong: some of it was changed after it was written")
    encoding.texts(list(document["extra"].values()), "its notes")
    if min(document["rows"], document["unlabelled"]) < 0:
        raise ValueError("it has a negative number of rows")
    target = document.get("target")
    if not isinstance(target, str | None):
        raise ValueError("its target is no name")
    prior = hyperparameters(Prior, document["prior"], arrays)
    classes = decode_classes(document["classes"], arrays)
    schema = decode_schema(document["schema"], arrays)
    low = document["low"]
    if absent := low.keys() - arrays.keys():
        raise ValueError(f"it has no tensor {min(absent)!r}")
    weight = encoding.exact("class_weight", arrays.get("class_weight"), low.get("class_weight"))
    parts = [
        decode_statistics(part.summary, len(part.names), arrays, low, f"statistics.{k}.")
        for k, part in enumerate(schema.parts)
    ]
    kind = {None: Model, True: Multilabel}.get(document.get("multilabel"))
    if kind is None:
        raise ValueError("it does not say whether rows have many labels")
    if kind is Multilabel:
        schema.family.check_labels()
        check_labels(classes)
    model = kind(
        schema, prior, classes, weight, schema.statistics(parts),
        classes[encoding.positions(document["declared"], len(classes))],
        document["rows"], document["unlabelled"], decode_invalid(document["invalid"]), target,
    )  # fmt: skip
    encoding.model(model)
    model = model.canonical()
    if "estimate" in document:
        _restore(model, document, arrays, digests)
    params, learned = (
        {name: decode(value, arrays) for name, value in document[key].items()}
        for key in ("params", "learned")
    )
    named = decode_parts(document.get("parts", []), arrays, model.rows)
    return Saved(
        model, document["estimator"], params, document["extra"], document["written_by"], learned,
        named,
    )  # fmt: skip


def _restore(model: Model, document: dict[str, Any], arrays: Arrays, digests: Digests) -> None:
    """Let a model go on from the estimate in its file.

    Raises
    ------
    ValueError : if it is none of this model.
    """
    if document["estimate"] != estimate_digest(document, digests):
        raise ValueError("the estimate in it was made from other rows, or changed since")
    kept = {
        name.removeprefix(ESTIMATE): array
        for name, array in arrays.items()
        if name.startswith(ESTIMATE)
    }
    if not kept:
        raise ValueError("its estimate is not there")
    try:
        model.restore(kept, _chosen(document, model))
    except ValueError as error:
        raise ValueError(f"the estimate in it cannot be true: {error}") from None


def _chosen(document: dict[str, Any], model: Model) -> float | None:
    """The weight of the rows by which the structure was chosen; None if it was by all."""
    weight = document.get("chosen")
    if weight is None:
        return None
    encoding.expect(document, {"chosen": float})
    if not 0 < weight < model.weight <= weight * (1 + GROWTH):
        raise ValueError("it was chosen by rows that were never learned, or by too few")
    return float(weight)
