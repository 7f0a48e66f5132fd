"""Encode models as JSON and arrays; decode them with checks against damaged or hostile files.

The checks compare all sizes with the arrays that are present, so that a small file cannot claim a
large amount of memory.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt

from naively import __version__
from naively.core.exact import ExactArray
from naively.core.issues import Invalid
from naively.families.base import AnyFamily, Family, FeatureError
from naively.families.product import Inferred
from naively.families.registry import FAMILIES
from naively.model.model import Model
from naively.model.schema import (
    Block,
    ColumnNumbers,
    ColumnType,
    NoColumnError,
    Schema,
    Why,
    WhyKind,
)
from naively.pooling.fixed import FixedPlan
from naively.statistics.base import Arrays, Statistics, Summary
from naively.statistics.terms import Reference

MOST_FEATURES = 1 << 31
MOST_LIMBS = 400
FARTHEST = 200  # maximum exponent in limbs of 32 bits: 2**6400, far beyond float64


def expect(document: Any, kinds: dict[str, type]) -> None:
    """Raise ValueError if a document lacks one of these keys, or has values of other types."""
    if not isinstance(document, dict):
        raise ValueError("its metadata are no JSON object")
    for key, kind in kinds.items():
        if key not in document:
            raise ValueError(f"it has no {key!r}")
        if type(document[key]) is not kind:
            raise ValueError(f"its {key!r} is no {kind.__name__}")


def texts(values: object, what: str) -> None:
    """Raise ValueError if `values` is not a list of text."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{what} are not a list of text")


def feature_count(count: object) -> int:
    """Check a number of features. Raises ValueError if it is out of range."""
    if type(count) is not int or not 0 < count < MOST_FEATURES:
        raise ValueError(f"a model cannot have {str(count)[:40]} features")
    return count


def exact(name: str, limbs: Any, low: Any) -> ExactArray:
    """Decode an array of exact numbers from its limbs. Raises ValueError if they are invalid."""
    if limbs is None:
        raise ValueError(f"it has no tensor {name!r}")
    if type(low) is not int or abs(low) > FARTHEST:
        raise ValueError(f"the limbs of {name!r} cannot start at {str(low)[:40]}")
    if limbs.dtype != np.int64 or limbs.ndim < 2 or limbs.shape[-1] > MOST_LIMBS:
        raise ValueError(f"{name!r} has no limbs: {limbs.dtype} of shape {limbs.shape}")
    if limbs.size:
        digits, top = limbs[..., :-1], limbs[..., -1]
        if digits.size and (digits.min() < 0 or digits.max() >= 1 << 32):
            raise ValueError(f"a digit of {name!r} is out of range")
        if top.min() <= -(1 << 62) or top.max() >= 1 << 62:
            raise ValueError(f"a top limb of {name!r} is out of range")
    return ExactArray(limbs, low).trimmed()


def model(read: Model) -> None:
    """Raise ValueError for statistics that no data can have, or unsuitable hyperparameters."""
    weight = read.class_weight
    if weight.shape != (len(read.classes),):
        raise ValueError(f"it has {len(read.classes)} classes with weights of {weight.shape}")
    if weight.any_negative() or not math.isfinite(weight.rounded().sum()):
        raise ValueError("a class weight is negative or too large")
    for part, statistics in zip(read.counted.parts, read.counted_parts, strict=True):
        _statistics(statistics, weight, len(part.names))
    if len(read.classes):
        if problem := read.impossible():
            raise ValueError(f"its sums contradict each other: {problem}")
        with suppress(FeatureError, NoColumnError):  # too few rows so far
            read.check_family()


def _statistics(statistics: Statistics, weight: ExactArray, n_features: int) -> None:
    (classes,) = weight.shape
    shapes = statistics.shapes(classes, n_features)
    for name, table in statistics.tables.items():
        if table.shape != shapes[name]:
            raise ValueError(f"{name!r} has the shape {table.shape}, not {shapes[name]}")
        if name not in statistics.signed and table.any_negative():
            raise ValueError(f"a cell of {name!r} is negative")
    if classes == 0:
        return
    rows = weight.rounded()[:, np.newaxis]
    rows_counted = sum(statistics.tables[name].rounded() for name in statistics.of_rows)
    if np.any(rows_counted > rows * (1 + 1e-9)):  # tolerance: decay rounds
        raise ValueError("features were seen or missing in more rows than there are")


def positions(values: list[Any], length: int) -> list[int]:
    """Return positions; raise ValueError unless they are distinct, sorted and below `length`."""
    if any(type(value) is not int for value in values):
        raise ValueError("positions in it are no integers")
    if values != sorted(set(values)) or not all(0 <= value < length for value in values):
        raise ValueError("positions in it are out of order or out of range")
    return values


# ---- statistics ----------------------------------------------------------------------------------


def encode_statistics(statistics: Statistics, arrays: Arrays, prefix: str) -> dict[str, int]:
    """Add the tensors to `arrays`; return the exponents of their lowest limbs, by name."""
    for name, table in statistics.stored().items():
        limbs = table.limbs
        # the table that gives the number of features has data even if it is all zeros, so that a
        # file cannot claim more features than it has bytes
        if limbs.shape[-1] == 0 and name == statistics.sized_by:
            limbs = np.zeros((*limbs.shape[:-1], 1), np.int64)
        arrays[prefix + name] = np.array(limbs, "<i8", order="C")
    arrays |= {prefix + name: array for name, array in statistics.arrays().items()}
    return {prefix + name: table.low for name, table in statistics.stored().items()}


def decode_statistics(
    summary: Summary[Any], n_features: int, arrays: Arrays, low: dict[str, Any], prefix: str
) -> Statistics:
    """Decode the statistics of a summary of `n_features` features.

    Raises ValueError if they are invalid; the message says why.
    """
    blank = summary.empty(0, 0)
    sizing = arrays.get(prefix + blank.sized_by)
    if sizing is None or sizing.shape[-1] == 0 or sizing.ndim != 3:
        raise ValueError("nothing in it weighs as much as its features would")
    tables = {
        name: exact(prefix + name, arrays.get(prefix + name), low.get(prefix + name))
        for name in blank.stored()
    }
    return summary.read(tables, under(prefix, arrays), n_features)


def under(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays whose names begin with a prefix, without it."""
    return {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}


# ---- schemas -------------------------------------------------------------------------------------


def encode_schema(schema: Schema, arrays: Arrays) -> dict[str, Any]:
    """Encode the blocks (families and columns), reasons, missing values and declared types."""
    reasons = schema.reasons
    document: Any = {"blocks": [], "missing": list(schema.missing), "types": dict(schema.types)}
    for block in schema.blocks:
        is_numbered = isinstance(block.names, ColumnNumbers)
        names = len(block.names) if is_numbered else list(block.names)
        family = encode_family(block.family, arrays)
        document["blocks"].append({"family": family, "names": names})
    columns = reasons and [[name, why.text, why.kind] for name, why in reasons.items()]
    return document | {"columns": columns}


def decode_schema(document: Any, arrays: Arrays) -> Schema:
    """Decode a schema. Raises ValueError if it is invalid."""
    expect(document, {"blocks": list, "missing": list, "types": dict})
    texts(document["missing"], "its spellings of a missing value")
    blocks, columns = [], document.get("columns")
    for block in document["blocks"]:
        expect(block, {"family": dict})
        names: Any = block.get("names")
        if columns is None and type(names) is int and len(document["blocks"]) == 1:
            names = ColumnNumbers(feature_count(names))
        else:
            texts(names, "its feature names")
            names = tuple(names)
            if not names or len(set(names)) < len(names):
                raise ValueError("the columns of a block are missing or repeated")
        blocks.append(Block(_family(block["family"], arrays), names))
    if not blocks:
        raise ValueError("it has no blocks of columns")
    reasons = None if columns is None else _reasons(columns)
    types = _types(document["types"])
    schema = Schema(tuple(blocks), reasons, tuple(document["missing"]), types)
    if reasons is not None and not set(schema.names) <= reasons.keys():
        raise ValueError("the columns of its blocks are not those of its table")
    return schema


def _types(document: dict[Any, Any]) -> dict[str, ColumnType]:
    """Check the declared types of columns. Raises ValueError if they are invalid."""
    kinds = get_args(ColumnType)
    if not all(kind in kinds for kind in document.values()) or [*document] != sorted(document):
        raise ValueError("the declared types of its columns are none")
    return document


def _reasons(columns: Any) -> dict[str, Why]:
    """Decode the reason for each column's family. Raises ValueError if it is invalid."""
    if not isinstance(columns, list):
        raise ValueError("its columns are no list")
    reasons = {}
    for column in columns:
        match column:
            case [str(name), str(text), str(kind)] if kind in get_args(WhyKind):
                reasons[name] = Why(text, kind)  # type: ignore[arg-type]
            case _:
                raise ValueError("a column of its table has no reason")
    return reasons


def encode_family(family: AnyFamily, arrays: Arrays) -> dict[str, Any]:
    """Encode the name of a family and its hyperparameters."""
    names = [field.name for field in fields(cast(Any, family))]
    return {"name": family.name} | {name: encode(getattr(family, name), arrays) for name in names}


def _family(encoded: dict[str, Any], arrays: Arrays) -> AnyFamily:
    name = str(encoded.get("name"))
    if name != Inferred.name and name not in FAMILIES:
        raise ValueError(f"naively {__version__} knows no family {name!r}")
    values = {key: value for key, value in encoded.items() if key != "name"}
    return hyperparameters(Inferred if name == Inferred.name else FAMILIES[name], values, arrays)


def encode_invalid(invalid: dict[str, Invalid]) -> list[Any]:
    """Encode the counts and examples of invalid values, by column."""
    return [[name, entry.count, str(entry.example)] for name, entry in invalid.items()]


def decode_invalid(encoded: list[Any]) -> dict[str, Invalid]:
    """Decode the counts and examples of invalid values. Raises ValueError if they are damaged."""
    invalid = {}
    for entry in encoded:
        match entry:
            case [str(name), int(count), str(example)]:
                invalid[name] = Invalid(count, example)
            case _:
                raise ValueError("its notes on values are damaged")
    return invalid


# ---- encoding ------------------------------------------------------------------------------------


NUMBERS = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}
"""Types of arrays that a file can hold, without byte order."""


def storable(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array as stored in files: little-endian and contiguous.

    Raises ValueError if it is not numeric or boolean.
    """
    if values.dtype.str[1:] not in NUMBERS:
        raise ValueError(f"arrays of {values.dtype} cannot be saved")
    return np.array(values, values.dtype.newbyteorder("<"), order="C")


def encode(value: Any, arrays: Arrays) -> Any:
    """Encode a hyperparameter as JSON. Arrays are added to `arrays`, equal ones once.

    Raises ValueError if the value cannot be encoded.
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
        pairs = value.items()
        return {"dict": [[encode(key, arrays), encode(entry, arrays)] for key, entry in pairs]}
    if isinstance(value, Family) and is_dataclass(value):
        values = {entry.name: encode(getattr(value, entry.name), arrays) for entry in fields(value)}
        return {"family": value.name, **values}
    if isinstance(value, Reference):
        parts = {name: encode(entry, arrays) for name, entry in value.fields().items()}
        return {"reference": parts}
    if isinstance(value, FixedPlan):
        parts = {name: encode(entry, arrays) for name, entry in sorted(value.arrays.items())}
        return {"plan": parts, "labels": [encode(entry, arrays) for entry in value.labels]}
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
    """Decode a value from `encode`. Raises ValueError if it is invalid."""
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
            return {decode(key, arrays): decode(entry, arrays) for key, entry in pairs}
        case {"reference": dict(parts), **rest} if not rest:
            return Reference(**{str(name): decode(entry, arrays) for name, entry in parts.items()})
        case {"plan": dict(parts), "labels": list(labels), **rest} if not rest:
            plan = {str(name): decode(entry, arrays) for name, entry in parts.items()}
            return FixedPlan(plan, tuple(decode(entry, arrays) for entry in labels))
        case {"family": str(name), **own} if name in FAMILIES:
            return hyperparameters(FAMILIES[name], {str(k): v for k, v in own.items()}, arrays)
    raise ValueError(f"no value of a hyperparameter: {str(value)[:60]}")


def hyperparameters(kind: Any, encoded: dict[str, Any], arrays: Arrays) -> Any:
    """Make a family or prior with these hyperparameters, which its constructor checks.

    Raises ValueError if they are invalid.
    """
    field_names = {field.name for field in fields(kind)}
    if unknown := encoded.keys() - field_names:
        raise ValueError(f"{kind.__name__} has no hyperparameter {min(unknown)!r}")
    values = {name: decode(value, arrays) for name, value in encoded.items()}
    try:
        return kind(**values)
    except (TypeError, ArithmeticError) as error:
        raise ValueError(f"{kind.__name__} cannot have {str(values)[:60]}: {error}") from None


def _same(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def encode_classes(labels: npt.NDArray[Any], arrays: Arrays) -> Any:
    """Encode class labels as JSON, or as the array ``classes`` if they are numbers.

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
    """Decode class labels, with their dtype.

    Raises ValueError unless they are a flat list, sorted and without duplicates.
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
    if int(dtype[1:]) * len(items) < 1 << 20:  # a file must not claim more memory by its dtype
        width = int(dtype[1:])
    labels = np.array(items, f"U{width}")
    if labels.tolist() != items:  # NumPy drops NUL characters at the end
        raise ValueError("a class label ends in NUL characters")
    return labels
