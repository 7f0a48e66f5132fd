"""A model as one safetensors file: exact statistics, no pickle.

The tensors are the limbs of the class weights and of each table of statistics, the levels of
categorical features and cells of grids, numeric class labels, and hyperparameters that are
arrays. All else is one JSON text in the metadata, under the key ``naively``. Equal models give
equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as in_bytes

from naively import __version__
from naively.families.base import Family
from naively.families.product import Product
from naively.families.registry import FAMILIES
from naively.files import checks, tables
from naively.files.atomic import replacing
from naively.files.encoding import (
    Arrays,
    decode,
    decode_labels,
    encode,
    encode_labels,
    hyperparameters,
)
from naively.files.statistics import decode_statistics, encode_statistics
from naively.model import Model
from naively.prior import Prior

VERSION = 1
KEY = "naively"

Stamp = tuple[int, int, int, int]


class ModelFileError(ValueError):
    """A file that is no model, or a damaged one: which, and what is wrong with it."""


@dataclass
class Saved:
    """What a model file holds.

    Attributes
    ----------
    model : Model, or TableModel
    estimator : str, name of the scikit-learn estimator.
    params : dict, that estimator's parameters.
    extra : dict of str, what else was noted: the command line keeps the target's name here.
    written_by : str, version of naively.
    learned : dict, what an estimator learned beyond the model.
    stamp : of the file that it was read from; see `stamp_of`.
    """

    model: Any
    estimator: str
    params: dict[str, Any]
    extra: dict[str, str] = field(default_factory=dict)
    written_by: str = __version__
    learned: dict[str, Any] = field(default_factory=dict)
    stamp: Stamp | None = field(default=None, compare=False)


def save(
    model: Any,
    path: str | os.PathLike[str],
    estimator: str,
    params: dict[str, Any],
    extra: dict[str, str] | None = None,
    learned: dict[str, Any] | None = None,
) -> None:
    """Write a `Model` or `TableModel` to a file, whole or not at all.

    Raises
    ------
    ValueError : if the model has something that a file cannot hold.
    OSError : if the file cannot be written; an old one stays as it was.
    """
    try:
        saved = Saved(model, estimator, params, extra or {}, learned=learned or {})
        document, arrays = _encoded(saved)
        document["checksum"] = checksum(document, arrays)
        text = _text(document)
        _decoded(_parsed(text), dict(arrays))  # what could not be read again is not written
    except ValueError as error:
        raise ValueError(f"this model cannot be saved: {error}") from None
    content = in_bytes(arrays, {KEY: text})
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a model file.

    Raises
    ------
    ModelFileError : if it is no model file, or a damaged one.
    OSError : if it cannot be read.
    """
    if not stat.S_ISREG(Path(path).stat().st_mode):
        raise ModelFileError(f"{path} is no file")
    with Path(path).open("rb"):  # for the usual errors, which safe_open has not
        stamp = stamp_of(path)
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata()
            if not metadata or KEY not in metadata:
                raise ModelFileError(
                    f"{path} is a safetensors file, but no model that naively wrote"
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, TypeError, ValueError, KeyError, AttributeError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{path} is no model file of naively, or a damaged one: {error}"
        ) from None
    try:
        saved = _decoded(_parsed(metadata[KEY]), arrays)
    except Exception as error:  # whatever a hostile file may provoke: nothing was changed yet
        detail = error if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(f"{path} is a damaged model file: {detail}") from error
    saved.stamp = stamp
    return saved


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    """What tells a file from the one that takes its place: another file, or a later one."""
    info = Path(path).stat()
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


def checksum(document: dict[str, Any], arrays: Arrays) -> str:
    """A digest of everything in a file but the digest itself."""
    digest = hashlib.blake2b(digest_size=16)
    document = {key: value for key, value in document.items() if key != "checksum"}
    digest.update(_text(document).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str[1:]} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _parsed(text: str) -> Any:
    return json.loads(text, parse_int=_integer)


def _integer(digits: str) -> int:
    """An integer that arrays can hold too: larger ones would fail somewhere, at a later use."""
    value = int(digits)
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"an integer in it is out of range: {digits[:40]}")
    return value


def _encoded(saved: Saved) -> tuple[dict[str, Any], Arrays]:
    plain = saved.model if isinstance(saved.model, Model) else saved.model.model
    model = plain.canonical()
    weight = model.class_weight
    arrays: Arrays = {"class_weight": np.array(weight.limbs, "<i8", order="C")}
    low = {"class_weight": weight.low, **encode_statistics(model.statistics, arrays)}
    document = {
        "format": "naively model",
        "version": VERSION,
        "written_by": saved.written_by,
        "estimator": saved.estimator,
        "params": {name: encode(value, arrays) for name, value in saved.params.items()},
        "prior": _fields(model.prior, arrays),
        "classes": encode_labels(model.classes, arrays),
        "announced": np.flatnonzero(np.isin(model.classes, model.announced)).tolist(),
        "n_features": model.n_features,
        "low": low,
        "extra": saved.extra,
    }
    if saved.learned:
        document["learned"] = {name: encode(one, arrays) for name, one in saved.learned.items()}
    if isinstance(saved.model, Model):
        document |= {
            "family": _family_fields(model.family, arrays),
            "feature_names": model.feature_names,
        }
    else:
        families = [_family_fields(block.family, arrays) for block in saved.model.schema.blocks]
        document["table"] = tables.encode_table(saved.model, families)
    return document, arrays


def _family_fields(family: Family, arrays: Arrays) -> dict[str, Any]:
    return {"name": family.name, **_fields(family, arrays)}


def _fields(value: Any, arrays: Arrays) -> dict[str, Any]:
    return {one.name: encode(getattr(value, one.name), arrays) for one in fields(value)}


def _decoded(document: Any, arrays: Arrays) -> Saved:
    """What a file says, if all of it can be true.

    Raises
    ------
    ValueError : if it cannot, saying why.
    """
    checks.expect(document, {"format": str, "version": int})
    if document["format"] != "naively model":
        raise ValueError(f"its format is {document['format'][:40]!r}")
    if document["version"] != VERSION:
        raise ValueError(
            f"it has version {document['version']} of the format, where naively {__version__} "
            f"reads version {VERSION}; use the naively that wrote it, or a newer one"
        )
    checks.expect(
        document,
        {
            "checksum": str, "written_by": str, "estimator": str, "params": dict, "prior": dict,
            "classes": dict, "announced": list, "n_features": int, "low": dict,
            "extra": dict,
        },
    )  # fmt: skip
    if document["checksum"] != checksum(document, arrays):
        raise ValueError("its checksum is wrong: some of it was changed after it was written")
    prior = Prior(**hyperparameters(Prior, document["prior"], arrays))
    classes = decode_labels(document["classes"], arrays)
    checks.check_texts(document["extra"])
    n_features, low = document["n_features"], document["low"]
    table = None
    if "table" in document:
        checks.expect(document, {"table": dict})
        table = tables.decode_table(document["table"], lambda one: _family(one, arrays))
        family: Family = table.product
        names = table.names
    else:
        checks.expect(document, {"family": dict})
        family = _family(document["family"], arrays)
        names = document.get("feature_names")
    checks.check_features(n_features, names)
    if isinstance(family, Product) and sum(family.sizes) != n_features:
        raise ValueError(f"it has {n_features} features in blocks of {family.sizes}")
    if absent := low.keys() - arrays.keys():
        raise ValueError(f"it has no tensor {min(absent)!r}")
    weight = checks.exact("class_weight", arrays.get("class_weight"), low.get("class_weight"))
    statistics = decode_statistics(family, n_features, arrays, low)
    model = Model(family, prior, n_features, names, classes, weight, statistics)
    checks.check_model(model)
    model.announced = classes[checks.positions(document["announced"], len(classes))]
    params = {name: decode(value, arrays) for name, value in document["params"].items()}
    checks.expect({"learned": {}} | document, {"learned": dict})
    learned = {name: decode(value, arrays) for name, value in document.get("learned", {}).items()}
    model = model.canonical()
    return Saved(
        model if table is None else tables.table_model(document["table"], table, model),
        document["estimator"], params, document["extra"], document["written_by"], learned,
    )  # fmt: skip


def _family(encoded: dict[str, Any], arrays: Arrays) -> Family:
    name = encoded.get("name")
    if name not in FAMILIES:
        raise ValueError(f"naively {__version__} knows no family {name!r}")
    values = {key: value for key, value in encoded.items() if key != "name"}
    return FAMILIES[name](**hyperparameters(FAMILIES[name], values, arrays))
