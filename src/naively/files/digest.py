"""A digest of what a model counted: equal for equal models, whatever was asked of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from naively.files.encoding import storable
from naively.files.statistics import encode_statistics
from naively.model import Model
from naively.schema import ColumnNumbers
from naively.statistics.base import Arrays


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
