"""A model as one safetensors file: exact statistics, no pickle.

The tensors are the limbs of the class weights and of each table of statistics, the levels of
categorical features, numeric class labels, and hyperparameters that are arrays. All else is one
JSON text in the metadata, under the key ``naively``. Equal models give equal bytes.
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
from safetensors.numpy import save_file

from naively import __version__
from naively.families.base import Family
from naively.families.bernoulli import Bernoulli
from naively.families.categorical import Categorical, LevelStatistics
from naively.families.complement import Complement
from naively.families.gaussian import Gaussian
from naively.families.multinomial import Multinomial
from naively.families.poisson import Poisson
from naively.files import checks
from naively.files.atomic import replacing
from naively.files.encoding import Arrays, decode, decode_labels, encode, encode_labels
from naively.model import Model
from naively.prior import Prior

VERSION = 1
KEY = "naively"

FAMILIES: dict[str, type[Family]] = {
    family.name: family
    for family in (Bernoulli, Categorical, Complement, Gaussian, Multinomial, Poisson)
}
"""Every family that a file may name."""


class ModelFileError(ValueError):
    """A file that is no model, or a damaged one: which, and what is wrong with it."""


@dataclass
class Saved:
    """What a model file holds.

    Attributes
    ----------
    model : Model
    estimator : str, name of the scikit-learn estimator.
    params : dict, that estimator's parameters.
    extra : dict of str, what else was noted: the command line keeps the target's name here.
    written_by : str, version of naively.
    """

    model: Model
    estimator: str
    params: dict[str, Any]
    extra: dict[str, str] = field(default_factory=dict)
    written_by: str = __version__


def save(
    model: Model,
    path: str | os.PathLike[str],
    estimator: str,
    params: dict[str, Any],
    extra: dict[str, str] | None = None,
) -> None:
    """Write a model to a file, whole or not at all.

    Raises
    ------
    ValueError : if the model has something that a file cannot hold.
    OSError : if the file cannot be written; an old one stays as it was.
    """
    try:
        document, arrays = _encoded(Saved(model, estimator, params, extra or {}))
        document["checksum"] = checksum(document, arrays)
        _decoded(document, dict(arrays))  # what could not be read again is not written
    except ValueError as error:
        raise ValueError(f"this model cannot be saved: {error}") from None
    with replacing(path) as temporary:
        save_file(arrays, temporary, {KEY: _text(document)})


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a model file.

    Raises
    ------
    ModelFileError : if it is no model file, or a damaged one.
    OSError : if it cannot be read.
    """
    if not stat.S_ISREG(Path(path).stat().st_mode):
        raise ModelFileError(f"{path} is no file")
    with Path(path).open("rb"):
        pass  # for the usual errors, which safe_open has not
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
        return _decoded(json.loads(metadata[KEY]), arrays)
    except Exception as error:  # whatever a hostile file may provoke: nothing was changed yet
        detail = error if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(f"{path} is a damaged model file: {detail}") from error


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


def _encoded(saved: Saved) -> tuple[dict[str, Any], Arrays]:
    model = saved.model.canonical()
    arrays: Arrays = {}
    statistics = model.statistics
    tables = {"class_weight": model.class_weight}
    tables |= {f"statistics.{name}": table for name, table in statistics.tables.items()}
    for name, table in tables.items():
        limbs = table.limbs
        # the table that says how many features there are weighs something even if it is all
        # zeros: so a reader knows that their number is no empty claim
        if limbs.shape[-1] == 0 and name == checks.sized_by(statistics):
            limbs = np.zeros((*limbs.shape[:-1], 1), np.int64)
        arrays[name] = np.array(limbs, "<i8", order="C")
    if isinstance(statistics, LevelStatistics):
        arrays["levels"] = np.concatenate([np.empty(0, "<i8"), *statistics.levels])
        arrays["level_counts"] = np.array([len(levels) for levels in statistics.levels], "<i8")
    document = {
        "format": "naively model",
        "version": VERSION,
        "written_by": saved.written_by,
        "estimator": saved.estimator,
        "params": {name: encode(value, arrays) for name, value in saved.params.items()},
        "family": {"name": model.family.name, **_fields(model.family, arrays)},
        "prior": _fields(model.prior, arrays),
        "classes": encode_labels(model.classes, arrays),
        "announced": np.flatnonzero(np.isin(model.classes, model.announced)).tolist(),
        "n_features": model.n_features,
        "feature_names": model.feature_names,
        "low": {name: table.low for name, table in tables.items()},
        "extra": saved.extra,
    }
    return document, arrays


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
            "checksum": str, "written_by": str, "estimator": str, "params": dict, "family": dict,
            "prior": dict, "classes": dict, "announced": list, "n_features": int, "low": dict,
            "extra": dict,
        },
    )  # fmt: skip
    if document["checksum"] != checksum(document, arrays):
        raise ValueError("its checksum is wrong: some of it was changed after it was written")
    family = _family(document["family"], arrays)
    prior = Prior(**_hyperparameters(Prior, document["prior"], arrays))
    classes = decode_labels(document["classes"], arrays)
    n_features = document["n_features"]
    names = document.get("feature_names")
    checks.check_features(n_features, names)
    checks.check_texts(document["extra"])
    tables = {
        name: checks.exact(name, arrays.get(name), low) for name, low in document["low"].items()
    }
    if "class_weight" not in tables:
        raise ValueError("it has no class weights")
    weight = tables.pop("class_weight")
    statistics = family.empty(0, 0)
    statistics.tables = {name.removeprefix("statistics."): t for name, t in tables.items()}
    sized = arrays.get(checks.sized_by(statistics))
    if sized is None or sized.shape[-1] == 0:
        raise ValueError("nothing in it weighs as much as its features would")
    if isinstance(statistics, LevelStatistics):
        statistics.levels = checks.levels(arrays["levels"], arrays["level_counts"], n_features)
    model = Model(family, prior, n_features, names, classes, weight, statistics)
    checks.check_model(model)
    model.announced = classes[checks.positions(document["announced"], len(classes))]
    params = {name: decode(value, arrays) for name, value in document["params"].items()}
    return Saved(
        model.canonical(), document["estimator"], params, document["extra"], document["written_by"]
    )


def _family(encoded: dict[str, Any], arrays: Arrays) -> Family:
    name = encoded.get("name")
    if name not in FAMILIES:
        raise ValueError(f"naively {__version__} knows no family {name!r}")
    values = {key: value for key, value in encoded.items() if key != "name"}
    return FAMILIES[name](**_hyperparameters(FAMILIES[name], values, arrays))


def _hyperparameters(kind: Any, encoded: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """The hyperparameters of a family or prior, where those of text are text, and so on."""
    known = {one.name for one in fields(kind)}
    if strangers := encoded.keys() - known:
        raise ValueError(f"{kind.__name__} has no hyperparameter {min(strangers)!r}")
    values = {name: decode(value, arrays) for name, value in encoded.items()}
    for name, value in values.items():
        checks.check_hyperparameter(name, value)
    return values
