"""Whether what a file says can be true: the numbers fit together, and claim no memory by words."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

from naively.exact import ExactArray
from naively.families.base import FeatureError
from naively.model import Model
from naively.schema import NoColumnError
from naively.statistics.base import Statistics

MOST_FEATURES = 1 << 31
MOST_LIMBS = 400
FARTHEST = 200  # limbs from the point: 2**6400, far beyond any float64


def expect(document: Any, kinds: dict[str, type]) -> None:
    """Refuse a document without these keys, or with values of other kinds."""
    if not isinstance(document, dict):
        raise ValueError("its metadata are no JSON object")
    for key, kind in kinds.items():
        if key not in document:
            raise ValueError(f"it has no {key!r}")
        if type(document[key]) is not kind:
            raise ValueError(f"its {key!r} is no {kind.__name__}")


def texts(values: Any, what: str) -> None:
    """Refuse a list with things other than text."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{what} are not a list of text")


def feature_count(count: Any) -> int:
    """A number of features that a model can have."""
    if type(count) is not int or not 0 < count < MOST_FEATURES:
        raise ValueError(f"a model cannot have {str(count)[:40]} features")
    return count


def exact(name: str, limbs: Any, low: Any) -> ExactArray:
    """An array of exact numbers from its limbs."""
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
    """Refuse statistics that no data can have, and hyperparameters that do not fit them."""
    weight = read.class_weight
    if weight.shape != (len(read.classes),):
        raise ValueError(f"it has {len(read.classes)} classes with weights of {weight.shape}")
    if weight.any_negative() or not math.isfinite(weight.rounded().sum()):
        raise ValueError("a class weight is negative or too large")
    for part, own in zip(read.counted.parts, read.counted_parts, strict=True):
        _statistics(own, weight, len(part.names))
    if len(read.classes):
        if problem := read.impossible():
            raise ValueError(f"its sums contradict each other: {problem}")
        with suppress(FeatureError, NoColumnError):  # it learned too little, so far
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
    met = sum(statistics.tables[name].rounded() for name in statistics.of_rows)
    if np.any(met > rows * (1 + 1e-9)):  # decay rounds: they need not add up exactly
        raise ValueError("features were seen or missing in more rows than there are")


def positions(values: list[Any], length: int) -> list[int]:
    """Positions, checked to be distinct, sorted and below `length`."""
    if any(type(value) is not int for value in values):
        raise ValueError("positions in it are no integers")
    if values != sorted(set(values)) or not all(0 <= value < length for value in values):
        raise ValueError("positions in it are out of order or out of range")
    return values
