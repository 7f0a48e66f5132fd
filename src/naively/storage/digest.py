"""Checksums of what a file holds: each array is read once for all of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from naively.core.model import Model
from naively.core.schema import ColumnNumbers
from naively.statistics.base import Arrays
from naively.storage.encoding import encode_statistics, storable

ESTIMATE = "estimate."
"""What the names of tensors of an estimate begin with."""

Digests = dict[str, str]
"""Of each array, by its name."""


def text_of(document: Any) -> str:
    """A document as JSON: one text for equal ones."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digests_of(arrays: Arrays) -> Digests:
    """A digest of each array: its type, its shape and all that it holds."""
    found = {}
    for name, array in arrays.items():
        digest = hashlib.blake2b(f"{array.dtype.str[1:]} {array.shape}\n".encode(), digest_size=16)
        digest.update(np.ascontiguousarray(array).data)
        found[name] = digest.hexdigest()
    return found


def checksum(document: dict[str, Any], digests: Digests) -> str:
    """A digest of everything in a file but the digest itself."""
    document = {key: value for key, value in document.items() if key != "checksum"}
    return hashlib.blake2b(text_of([document, digests]).encode(), digest_size=16).hexdigest()


def estimate_digest(document: dict[str, Any], digests: Digests) -> str:
    """A digest of an estimate and all that it was made from."""
    made_from = "class_weight", "statistics.", ESTIMATE, "array."
    own = {name: digest for name, digest in digests.items() if name.startswith(made_from)}
    return checksum({"schema": document["schema"]}, own)


# ---- digest --------------------------------------------------------------------------------------


def digest(fitted: Any) -> str:
    """A digest of what a model counted: BLAKE2b of 256 bits, as 64 hexadecimal digits.

    Two models have the same one if they are equal: the same columns, counted in the same way, and
    the same exact sums by class. It does not depend on the order of the rows, nor on their format,
    the smoothing, the prior, the version of naively, or whether an estimate was made.

    Parameters
    ----------
    fitted : a fitted estimator, or its `model_`. An `NBSVM` has none: its weights are not counted.

    Raises
    ------
    TypeError : if there is no model.
    ValueError : if a function says what is counted, as it may of documents: it has no digest.
    """
    model = getattr(fitted, "model_", fitted)
    if not isinstance(model, Model):
        raise TypeError(f"a {type(fitted).__name__} is no model of sums, which alone have a digest")
    with model.lock:
        model = model.canonical()
    weight = model.class_weight
    arrays: Arrays = {"class_weight": weight.limbs}
    low = {"class_weight": weight.low}
    for k, part in enumerate(model.counted_parts):
        low |= encode_statistics(part, arrays, f"statistics.{k}.")
    counted = {
        "columns": _plain(model.counted.names),
        "counted": [[_plain(one.summary), _plain(one.names)] for one in model.counted.parts],
        "classes": [_label(label) for label in model.classes.tolist()],
        "low": low,
    }
    found = hashlib.blake2b(_text(counted), digest_size=32)
    for name, array in sorted(arrays.items()):
        if array.size:  # levels of no column have any type
            found.update(_text([name, *_plain(array)]))
    return found.hexdigest()


def _text(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _label(label: Any) -> Any:
    """A label as JSON; numbers that are equal are the same, whatever their type."""
    if isinstance(label, str):
        return label
    whole = isinstance(label, int) or label.is_integer()
    return {"number": repr(int(label) if whole else label)}


def _plain(value: Any) -> Any:
    """What is counted, as JSON that is equal for what is equal."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, np.ndarray):
        array = storable(value)
        content = hashlib.blake2b(array.tobytes(), digest_size=32).hexdigest()
        return [array.dtype.str[1:], list(array.shape), content]
    if isinstance(value, dict):
        return [[_plain(key), _plain(one)] for key, one in sorted(value.items())]
    if isinstance(value, ColumnNumbers):
        return {"numbered": len(value)}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if is_dataclass(value):
        own = [one.name for one in fields(value) if one.init]
        return [type(value).__name__, [[name, _plain(getattr(value, name))] for name in own]]
    raise ValueError(f"a value of type {type(value).__name__} has no digest: {value!r}")
