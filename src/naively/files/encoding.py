"""Hyperparameters and labels as JSON and arrays, and back, exactly."""

from __future__ import annotations

import math
import re
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.families.base import Family
from naively.families.registry import FAMILIES
from naively.pooling.fixed import FixedPlan
from naively.statistics.base import Arrays
from naively.statistics.terms import Reference

NUMBERS = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}
"""The types of arrays that a file can hold, without their byte order."""


def storable(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array as a file holds it: little-endian and contiguous.

    Raises ValueError if it holds no numbers.
    """
    if values.dtype.str[1:] not in NUMBERS:
        raise ValueError(f"arrays of {values.dtype} cannot be saved")
    return np.array(values, values.dtype.newbyteorder("<"), order="C")


def encode(value: Any, arrays: Arrays) -> Any:
    """`value` as JSON; arrays are added to `arrays`, each content once, and referred to.

    Raises ValueError if it is nothing that a hyperparameter can be.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [encode(item, arrays) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(key, arrays), encode(one, arrays)] for key, one in value.items()]}
    if isinstance(value, Family) and is_dataclass(value):
        values = {one.name: encode(getattr(value, one.name), arrays) for one in fields(value)}
        return {"family": value.name, **values}
    if isinstance(value, Reference):
        return {"reference": {name: encode(one, arrays) for name, one in value.fields().items()}}
    if isinstance(value, FixedPlan):
        parts = {name: encode(one, arrays) for name, one in sorted(value.arrays.items())}
        return {"plan": parts, "labels": [encode(one, arrays) for one in value.labels]}
    if hasattr(value, "__array__"):
        array = storable(np.asarray(value))
        for name, other in arrays.items():
            if name.startswith("array.") and _same(array, other):
                return {"array": name}
        name = f"array.{sum(other.startswith('array.') for other in arrays)}"
        arrays[name] = array
        return {"array": name}
    raise ValueError(f"a value of type {type(value).__name__} cannot be saved: {value!r}")


def decode(value: Any, arrays: Arrays) -> Any:
    """What `encode` made JSON of. Raises ValueError if it made no such thing."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    match value:
        case {"float": "inf" | "-inf" | "nan" as text, **rest} if not rest:
            return float(text)
        case {"tuple": list(items), **rest} if not rest:
            return tuple(decode(item, arrays) for item in items)
        case {"array": str(name), **rest} if not rest and name in arrays:
            return arrays[name]
        case {"dict": list(pairs), **rest} if not rest:
            return {decode(key, arrays): decode(one, arrays) for key, one in pairs}
        case {"reference": dict(parts), **rest} if not rest:
            return Reference(**{str(name): decode(one, arrays) for name, one in parts.items()})
        case {"plan": dict(parts), "labels": list(labels), **rest} if not rest:
            plan = {str(name): decode(one, arrays) for name, one in parts.items()}
            return FixedPlan(plan, tuple(decode(one, arrays) for one in labels))
        case {"family": str(name), **own} if name in FAMILIES:
            return hyperparameters(FAMILIES[name], {str(k): v for k, v in own.items()}, arrays)
    raise ValueError(f"no value of a hyperparameter: {str(value)[:60]}")


def hyperparameters(kind: Any, encoded: dict[str, Any], arrays: Arrays) -> Any:
    """A family, or a prior, with these hyperparameters, which it checks itself.

    Raises ValueError if it cannot have them.
    """
    known = {one.name for one in fields(kind)}
    if unknown := encoded.keys() - known:
        raise ValueError(f"{kind.__name__} has no hyperparameter {min(unknown)!r}")
    values = {name: decode(value, arrays) for name, value in encoded.items()}
    try:
        return kind(**values)
    except (TypeError, ArithmeticError) as error:
        raise ValueError(f"{kind.__name__} cannot have {str(values)[:60]}: {error}") from None


def _same(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def encode_classes(labels: npt.NDArray[Any], arrays: Arrays) -> Any:
    """Class labels as JSON, or as the array ``classes`` if they are numbers.

    Raises ValueError if they are neither numbers nor text.
    """
    kind = labels.dtype.kind
    if kind in "biuf":
        arrays["classes"] = storable(labels)
        return {"dtype": labels.dtype.str[1:]}
    items = labels.tolist()
    if kind in "OUT" and all(isinstance(item, str) for item in items):
        dtype = {"O": "object", "T": "string"}.get(kind, f"U{labels.dtype.itemsize // 4}")
        return {"dtype": dtype, "labels": items}
    raise ValueError(f"class labels must be numbers or text to be saved, not {labels.dtype}")


def decode_classes(encoded: Any, arrays: Arrays) -> npt.NDArray[Any]:
    """The labels, with the same dtype.

    Raises ValueError if they are not what a model can hold: a flat list, sorted, without
    duplicates.
    """
    if not isinstance(encoded, dict) or not isinstance(encoded.get("dtype"), str):
        raise ValueError("the class labels have no dtype")
    dtype = encoded["dtype"]
    if dtype in NUMBERS:
        labels = arrays["classes"]
        if labels.dtype.str[1:] != dtype or labels.ndim != 1:
            raise ValueError(f"the class labels are not a list of {dtype}")
        if dtype == "b1" and (labels.view(np.uint8) > 1).any():
            raise ValueError("a class label is neither true nor false")
        labels = labels.astype(labels.dtype.newbyteorder("="))
    else:
        labels = _text(dtype, encoded.get("labels"))
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("a class label is not a number")
    items = labels.tolist()
    if not all(a < b for a, b in pairwise(items)):
        raise ValueError("the class labels are not sorted and distinct")
    return labels


def _text(dtype: str, items: Any) -> npt.NDArray[Any]:
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError("the class labels are not a list of text")
    if dtype == "object":
        labels = np.empty(len(items), object)
        labels[:] = items
        return labels
    if dtype == "string":
        return np.array(items, np.dtypes.StringDType())
    width = max(map(len, items), default=1)
    if not re.fullmatch("U[0-9]{1,9}", dtype) or int(dtype[1:]) < width:
        raise ValueError(f"the class labels are of an unknown type, {dtype[:20]!r}")
    if int(dtype[1:]) * len(items) < 1 << 20:  # beyond, a file could ask for any memory
        width = int(dtype[1:])
    labels = np.array(items, f"U{width}")
    if labels.tolist() != items:  # NumPy drops NUL characters at the end
        raise ValueError("a class label ends in NUL characters")
    return labels
