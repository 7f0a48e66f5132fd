"""Save and load a model as one safetensors file: exact statistics, no pickle.

The tensors are the limbs of the class weights and of each table of statistics, the categories of
categorical features and cells of grids, numeric class labels, and hyperparameters that are
arrays; large ones are packed (`naively.storage.packing`). Everything else is one JSON text in the
metadata, under the key ``naively``.

If estimation is slow (`Family.keeps`), the file also holds the estimate, if one was made, with a
digest of the sums it was made from. Without it, the first prediction after loading is slower.
Equal models give equal bytes if both were estimated on all rows, or neither was; `save` estimates
first, so it writes equal files. If fewer rows chose the structure (`naively.model.model`),
``chosen`` is their weight.
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
from naively.core.workers import Workers
from naively.model.model import GROWTH, Model
from naively.model.multilabel import Multilabel, check_labels
from naively.model.prior import Prior
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
from naively.storage.packing import pack, unpack
from naively.storage.parts import Part, decode_parts, encode_parts

VERSION = 5
KEY = "naively"
SERVED = "served"  # key in `Saved.extra` for the log of a served model: see `naively.serve.store`

Stamp = tuple[int, int, int, int]


class ModelFileError(ValueError):
    """A file is not a model, or is damaged; the message names the file and the problem."""


class NoModelError(ModelFileError):
    """A file was apparently not written by naively."""


def damaged(source: str, problem: object) -> ModelFileError:
    """Return the error of a damaged model file, with the remedy."""
    return ModelFileError(
        f"{source} is a damaged model file: {problem}; restore a copy of it, or train again"
    )


class VersionError(ValueError):
    """A model is in a version of the format that this version of naively cannot read."""


@dataclass
class Saved:
    """The content of a model file.

    estimator : str, name of the scikit-learn estimator; empty for a model without one.
    extra : dict of str, other notes; the command line stores the kind of documents here.
    learned : dict, fitted attributes of the estimator that are not in the model.
    parts : the named parts, and `REST`; empty without names. See `naively.storage.named_parts`.
    stamp : stamp of the file that it was read from; see `stamp_of`.
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
        """Whether the model is multi-label."""
        return isinstance(self.model, Multilabel)


def to_bytes(saved: Saved) -> bytes:
    """Encode a model with its exact statistics as bytes; nothing is estimated.

    An existing estimate is included if the family stores it (`Family.keeps`). Raises ValueError if
    the model has values that cannot be encoded.
    """
    try:
        document, arrays = _encoded(saved)
        arrays, document["packed"] = pack(arrays)
        digests = digests_of(arrays)
        if any(name.startswith(ESTIMATE) for name in arrays):
            document["estimate"] = estimate_digest(document, digests)
        document["checksum"] = checksum(document, digests)
        text = text_of(document)
        # decode it again: never write a file that cannot be read
        _decoded(_parsed(text), dict(arrays), digests)
    except ValueError as error:
        raise ValueError(f"this model cannot be saved: {error}") from None
    return bytes_of(arrays, {KEY: text})


def from_bytes(content: bytes, source: str = "this") -> Saved:
    """Decode bytes from `to_bytes`; nothing is estimated.

    Raises ModelFileError if they are not a model, or damaged; `source` is their name in the
    message.
    """
    try:
        size = int.from_bytes(content[:8], "little")
        arrays = tensors_of(content)  # also checks the header
        metadata = json.loads(content[8 : 8 + size]).get("__metadata__") or {}
    except (SafetensorError, TypeError, ValueError, KeyError, AttributeError):
        if content[8:].startswith(b'{"__metadata__":{"' + KEY.encode() + b'"'):
            raise damaged(source, "it is cut off, or its header was changed") from None
        what = "not a model file of naively" if content else "empty"
        raise NoModelError(f"{source} is {what}") from None
    if KEY not in metadata:
        raise NoModelError(f"{source} is a safetensors file, but not a model of naively")
    try:
        return _decoded(_parsed(metadata[KEY]), arrays, digests_of(arrays))
    except VersionError as error:
        raise ModelFileError(f"{source} {error}") from None
    except Exception as error:  # a hostile file may raise anything
        detail = error if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise damaged(source, detail) from error


def save(saved: Saved, path: str | os.PathLike[str], workers: Workers | None = None) -> None:
    """Write a model to a file atomically, and set `saved.stamp`.

    If the family stores its estimate (`Family.keeps`), estimate first, on these workers: a file is
    written once and read often. Raises ValueError if the model has values that cannot be encoded;
    OSError if the file cannot be written; an old file is unchanged.
    """
    if saved.model.family.keeps and len(saved.model.classes):
        with suppress(ValueError):  # too few rows for its prior so far
            saved.model.posterior(workers)
    content = to_bytes(saved)
    with replacing(path) as temporary:
        temporary.write_bytes(content)
        stamp = stamp_of(temporary)  # before it is in place: later, others may replace it
    saved.stamp = stamp


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a model file. Raises ModelFileError if it is none, or damaged; OSError if unreadable."""
    if not stat.S_ISREG(Path(path).stat().st_mode):
        what = "a folder, not a model file" if Path(path).is_dir() else "no regular file"
        raise ModelFileError(f"{path} is {what}; `naively fit` and `save` write a model file")
    stamp = stamp_of(path)
    saved = from_bytes(Path(path).read_bytes(), str(path))
    saved.stamp = stamp
    return saved


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    """Return (device, inode, size, modification time), which differ if a file is replaced."""
    info = Path(path).stat()
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


def _parsed(text: str) -> Any:
    return json.loads(text, parse_int=_integer)


def _integer(digits: str) -> int:
    """Parse an int64; larger integers would fail only later, when they are used."""
    value = int(digits)
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"an integer in it is out of range: {digits[:40]}")
    return value


def _encoded(saved: Saved) -> tuple[dict[str, Any], Arrays]:
    with saved.model.lock:
        estimate, structure = saved.model.kept(), saved.model.structure
        model = saved.model.canonical()
    weight = model.class_weight
    arrays: Arrays = {"class_weight": np.array(weight.limbs, "<i8", order="C")}
    low = {"class_weight": weight.low}
    for k, part in enumerate(model.counted_parts):
        low |= encode_statistics(part, arrays, f"statistics.{k}.")
    prior = {item.name: encode(getattr(model.prior, item.name), arrays) for item in fields(Prior)}
    document = {
        "format": "naively model", "version": VERSION, "written_by": saved.written_by,
        "estimator": saved.estimator,
        "params": {name: encode(value, arrays) for name, value in saved.params.items()},
        "prior": prior, "classes": encode_classes(model.classes, arrays),
        "declared": np.flatnonzero(np.isin(model.classes, model.declared)).tolist(),
        "schema": encode_schema(model.counted, arrays), "rows": model.rows,
        "unlabelled": model.unlabelled, "invalid": encode_invalid(model.unread),
        "target": model.target, "low": low, "extra": saved.extra,
        "learned": {name: encode(item, arrays) for name, item in saved.learned.items()},
    }  # fmt: skip
    if isinstance(model, Multilabel):
        document["multilabel"] = True
    if estimate:
        arrays |= {ESTIMATE + name: storable(array) for name, array in estimate.items()}
        if structure is not None and structure.weight != model.weight:
            document["chosen"] = structure.weight
    if saved.parts:
        document["parts"] = encode_parts(saved.parts, arrays)
    return document, arrays


def _decoded(document: Any, arrays: Arrays, digests: Digests) -> Saved:
    """Decode and check the content of a file, given the digests of its arrays.

    Raises ValueError with the reason if the content is invalid.
    """
    encoding.expect(document, {"format": str, "version": int})
    if document["format"] != "naively model":
        raise ValueError(f"its format is {document['format'][:40]!r}")
    if document["version"] != VERSION:
        is_newer = document["version"] > VERSION
        remedy = "update naively to read it" if is_newer else "train again, or use that naively"
        raise VersionError(
            f"was written by {'a newer' if is_newer else 'an older'} naively, in version "
            f"{document['version']} of the format, where naively {__version__} reads version "
            f"{VERSION}: {remedy}"
        )
    encoding.expect(document, {
        "checksum": str, "written_by": str, "estimator": str, "params": dict, "prior": dict,
        "classes": dict, "declared": list, "schema": dict, "rows": int, "unlabelled": int,
        "invalid": list, "low": dict, "extra": dict, "learned": dict, "packed": dict,
    })  # fmt: skip
    if document["checksum"] != checksum(document, digests):
        raise ValueError("its checksum is wrong: some of it was changed after it was written")
    arrays = unpack(arrays, document["packed"])
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
    if unknown := low.keys() - arrays.keys():
        raise ValueError(f"it has no tensor {min(unknown)!r}")
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
    named_parts = decode_parts(document.get("parts", []), arrays, model.rows)
    return Saved(
        model, document["estimator"], params, document["extra"], document["written_by"], learned,
        named_parts,
    )  # fmt: skip


def _restore(model: Model, document: dict[str, Any], arrays: Arrays, digests: Digests) -> None:
    """Restore the estimate in a file.

    Raises ValueError if the estimate is damaged or belongs to another model.
    """
    if document["estimate"] != estimate_digest(document, digests):
        raise ValueError("the estimate in it was made from other rows, or changed since")
    if not (estimate := encoding.under(ESTIMATE, arrays)):
        raise ValueError("its estimate is not there")
    try:
        model.restore(estimate, _chosen(document, model))
    except ValueError as error:
        raise ValueError(f"the estimate in it cannot be true: {error}") from None


def _chosen(document: dict[str, Any], model: Model) -> float | None:
    """Return the weight of the rows that chose the structure; None for all rows.

    Raises ValueError if it does not fit the weight of the model.
    """
    weight = document.get("chosen")
    if weight is None:
        return None
    encoding.expect(document, {"chosen": float})
    if not 0 < weight < model.weight <= weight * (1 + GROWTH):
        raise ValueError("it was chosen by rows that were never learned, or by too few")
    return float(weight)
