"""Compute the digest of a model, and the checksums of model files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from naively.model.model import Model
from naively.model.schema import ColumnNumbers
from naively.statistics.base import Arrays
from naively.storage.encoding import encode_statistics, storable

ESTIMATE = "estimate."  # prefix of the names of an estimate's tensors

Digests = dict[str, str]  # digests of arrays by name; each array is read once for all checksums


def text_of(document: Any) -> str:
    """Return a document as canonical JSON: equal documents give equal text."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digests_of(arrays: Arrays) -> Digests:
    """Return a digest of each array: its type, shape and values."""
    digests = {}
    for name, array in arrays.items():
        digest = hashlib.blake2b(f"{array.dtype.str[1:]} {array.shape}\n".encode(), digest_size=16)
        digest.update(np.ascontiguousarray(array).data)
        digests[name] = digest.hexdigest()
    return digests


def checksum(document: dict[str, Any], digests: Digests) -> str:
    """Return a digest of everything in a file except this checksum."""
    document = {key: value for key, value in document.items() if key != "checksum"}
    return hashlib.blake2b(text_of([document, digests]).encode(), digest_size=16).hexdigest()


def estimate_digest(document: dict[str, Any], digests: Digests) -> str:
    """Return a digest of an estimate and of the statistics and schema it was made from."""
    prefixes = "class_weight", "statistics.", ESTIMATE, "array."
    used = {name: digest for name, digest in digests.items() if name.startswith(prefixes)}
    return checksum({key: document[key] for key in ("schema", "packed")}, used)


# ---- digest --------------------------------------------------------------------------------------


def digest(fitted: Any) -> str:
    """Return a digest of a model's sufficient statistics: BLAKE2b-256, as 64 hexadecimal digits.

    Equal models have equal digests: the same columns, counted in the same way, and the same exact
    sums by class. The digest does not depend on the order of the rows, the file format, the
    smoothing, the prior, the version of naively, or whether parameters were estimated.

    Parameters
    ----------
    fitted : a fitted estimator, or its `model_`. An `NBSVM` has no digest: its weights are not
        sums.

    Raises
    ------
    TypeError : if `fitted` has no model of sums.
    ValueError : if the model uses a Python function, such as a tokenizer: it has no digest.
    """
    model = getattr(fitted, "model_", fitted)
    if not isinstance(model, Model):
        raise TypeError(f"a {type(fitted).__name__} is not a model of sums, and has no digest")
    with model.lock:
        model = model.canonical()
    weight = model.class_weight
    arrays: Arrays = {"class_weight": weight.limbs}
    low = {"class_weight": weight.low}
    for k, part in enumerate(model.counted_parts):
        low |= encode_statistics(part, arrays, f"statistics.{k}.")
    document = {
        "columns": _plain(model.counted.names),
        "counted": [[_plain(c.summary), _plain(c.names)] for c in model.counted.parts],
        "classes": [_label(label) for label in model.classes.tolist()],
        "low": low,
    }
    hash_ = hashlib.blake2b(_text(document), digest_size=32)
    for name, array in sorted(arrays.items()):
        if array.size:  # the type of empty arrays is arbitrary
            hash_.update(_text([name, *_plain(array)]))
    return hash_.hexdigest()


def _text(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _label(label: Any) -> Any:
    """Return a label as JSON; equal numbers of different types give the same JSON."""
    if isinstance(label, str):
        return label
    is_whole = isinstance(label, int) or label.is_integer()
    return {"number": repr(int(label) if is_whole else label)}


def _plain(value: Any) -> Any:
    """Return summaries and column names as canonical JSON.

    Raises ValueError for values without a digest, such as functions.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, np.ndarray):
        array = storable(value)
        content = hashlib.blake2b(array.tobytes(), digest_size=32).hexdigest()
        return [array.dtype.str[1:], list(array.shape), content]
    if isinstance(value, dict):
        return [[_plain(key), _plain(item)] for key, item in sorted(value.items())]
    if isinstance(value, ColumnNumbers):
        return {"numbered": len(value)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if is_dataclass(value):
        names = [item.name for item in fields(value) if item.init]
        return [type(value).__name__, [[name, _plain(getattr(value, name))] for name in names]]
    raise ValueError(f"a value of type {type(value).__name__} has no digest: {value!r}")
