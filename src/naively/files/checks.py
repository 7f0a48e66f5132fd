"""Whether what a file says can be true: the numbers fit together, and claim no memory by words."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from naively.exact import ExactArray, Int64
from naively.families.base import Family, Statistics
from naively.families.categorical import Categorical
from naively.families.grid import COARSEST, FINEST, MOST
from naively.families.levels import LevelStatistics
from naively.families.multivariate_statistics import MultivariateStatistics
from naively.families.product import Product, ProductStatistics
from naively.families.terms import TextStatistics
from naively.families.text import Text
from naively.model import Model, SingularModelError

MOST_FEATURES = 1 << 31
MOST_LIMBS = 400
FARTHEST = 200  # limbs from the point: 2**6400, far beyond any float64
MOST_DECLARED = 1 << 24  # levels that `min_categories` may ask for
LARGEST = 1e100  # hyperparameters; sums of larger ones would not be finite
WORDS = {
    "tie": ("classes", "features", "both", None),
    "floor": ("largest", "feature"),
    "unseen": ("smooth", "ignore", "error"),
    "norm": (False, True),
    "method": ("mdl", "frequency"),
    "tied": (False, True),
}  # the rest are numbers, or lists and arrays of them
OF_TEXT = {one.name for one in fields(Text)} - {"alpha", "norm"}  # which checks them itself


def expect(document: Any, kinds: dict[str, type]) -> None:
    """Refuse a document without these keys, or with values of other kinds."""
    if not isinstance(document, dict):
        raise ValueError("its metadata are no JSON object")
    for key, kind in kinds.items():
        if key not in document:
            raise ValueError(f"it has no {key!r}")
        if type(document[key]) is not kind:
            raise ValueError(f"its {key!r} is no {kind.__name__}")


def check_features(n_features: int, names: Any) -> None:
    """Refuse numbers of features, or names of them, that no model has."""
    if not 0 < n_features < MOST_FEATURES:
        raise ValueError(f"a model cannot have {n_features} features")
    if names is None:
        return
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("its feature names are not a list of text")
    if len(names) != n_features:
        raise ValueError(f"it has {len(names)} names for {n_features} features")


def check_texts(extra: dict[str, Any]) -> None:
    """Refuse notes that are no text."""
    if not all(isinstance(value, str) for value in extra.values()):
        raise ValueError("its notes are not text")


def check_hyperparameter(name: str, value: Any) -> None:
    """Refuse a value of a kind that no hyperparameter of that name has."""
    if name in WORDS and not (name == "floor" and isinstance(value, float)):
        if not isinstance(value, str | bool | None) or value not in WORDS[name]:
            raise ValueError(f"{name} must be one of {WORDS[name]}, not {str(value)[:40]!r}")
        return
    if name in OF_TEXT:
        return
    if name in ("given", "bandwidth", "shrinkage") and isinstance(value, str):
        return  # `Prior` and the families know their words
    if value is None and name in ("binarize", "min_categories", "shrinkage"):
        return
    largest = _largest(value)
    if math.isnan(largest):
        raise ValueError(f"{name} must be a number or an array of them, not {str(value)[:40]!r}")
    if largest > LARGEST and name != "binarize":
        raise ValueError(f"{name} cannot be as large as {largest:g}")


def _largest(value: Any) -> float:
    """The largest magnitude in a number, an array, or a list of them; NaN for anything else."""
    if isinstance(value, list | tuple):
        return float(np.max([_largest(item) for item in value], initial=0.0))  # NaN wins
    if isinstance(value, bool) or not isinstance(value, int | float | np.ndarray):
        return math.nan
    return float(np.abs(np.asarray(value, np.float64)).max(initial=0.0))


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


def levels(flat: Any, counts: Int64, n_features: int, kinds: str) -> list[Any]:
    """The levels of each feature, of a dtype of one of these kinds."""
    if flat.ndim != 1 or flat.dtype.kind not in kinds or counts.dtype != np.int64:
        raise ValueError("its levels are no lists of codes, numbers or text")
    if counts.shape != (n_features,) or (counts < 0).any() or (counts > len(flat)).any():
        raise ValueError("its levels do not belong to its features")
    ends = np.cumsum(counts)
    if ends[-1] != len(flat):
        raise ValueError("its levels do not belong to its features")
    if flat.dtype.kind == "i" and len(flat) and (flat.min() < 0 or flat.max() >= 1 << 53):
        raise ValueError("a level is out of range")
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        raise ValueError("a level is not finite")
    parts = np.split(flat, ends[:-1])
    if flat.dtype.kind == "f" and counts.max(initial=0) > MOST:
        raise ValueError("a feature has more cells than a grid can have")
    if any(not (part[1:] > part[:-1]).all() for part in parts):
        raise ValueError("the levels of a feature are not sorted and distinct")
    return parts


def texts(flat: Any, lengths: Any) -> Any:
    """Text from its bytes in UTF-8 and the number of bytes of each piece."""
    if flat.dtype != np.uint8 or lengths.dtype != np.int64 or lengths.ndim != 1 or flat.ndim != 1:
        raise ValueError("its levels are no text")
    if (lengths < 0).any() or (lengths > len(flat)).any() or lengths.sum() != len(flat):
        raise ValueError("the lengths of its levels do not add up")
    raw, ends = flat.tobytes(), np.cumsum(lengths).tolist()
    pieces = [raw[end - size : end].decode() for end, size in zip(ends, lengths, strict=True)]
    return np.array(pieces, np.dtypes.StringDType())


def undercount(values: Any) -> float:
    """How much too low the counts of terms may be."""
    if values is None or values.dtype != np.float64 or values.shape != (1,):
        raise ValueError("it does not say how exact its counts are")
    if not 0 <= values[0] < math.inf:
        raise ValueError("its counts cannot be as inexact as it says")
    return float(values[0])


def exponents(values: Any, n_features: int) -> Int64:
    """The exponents of the cells of each feature."""
    if values is None or values.dtype != np.int64 or values.shape != (n_features,):
        raise ValueError("its grid has no exponents for its features")
    if len(values) and (values.min() < FINEST or values.max() > COARSEST):
        raise ValueError("an exponent of its grid is out of range")
    return np.array(values, np.int64)


def check_model(model: Model) -> None:
    """Refuse statistics that do not fit together, and parameters that cannot follow from them."""
    weight = model.class_weight
    classes = len(model.classes)
    if weight.shape != (classes,):
        raise ValueError(f"it has {classes} classes with weights of shape {weight.shape}")
    if weight.any_negative() or not math.isfinite(weight.rounded().sum()):
        raise ValueError("a class weight is negative or too large")
    family, statistics = model.family, model.statistics
    if isinstance(family, Product) and isinstance(statistics, ProductStatistics):
        for one, size, part in zip(family.families, family.sizes, statistics.parts, strict=True):
            _check_statistics(one, part, weight, size)
    else:
        _check_statistics(family, statistics, weight, model.n_features)
    if classes == 0:
        return
    with np.errstate(all="ignore"):
        try:
            parameters = model.parameters  # refuses hyperparameters of other shapes or ranges
        except SingularModelError:
            return  # it learned too few rows, so far
    for part in getattr(parameters, "parts", [parameters]):
        mean = getattr(part, "mean", None)
        if mean is not None and not np.isfinite(mean).all():
            raise ValueError("a mean is not finite")


def _check_statistics(
    family: Family, statistics: Statistics, weight: ExactArray, n_features: int
) -> None:
    (classes,) = weight.shape
    for name, table in statistics.tables.items():
        columns = n_features
        if isinstance(statistics, LevelStatistics) and name == "count":
            columns = int(statistics.offsets[-1])
        if isinstance(statistics, TextStatistics) and name != "missing":
            known = statistics.vocabulary
            columns = getattr(family, "buckets", 0) if known is None else len(known)
        shape: tuple[int, ...] = classes, columns
        if isinstance(statistics, MultivariateStatistics):
            shape = statistics.shapes(classes, n_features)[name]
        if table.shape != shape:
            raise ValueError(f"{name!r} has the shape {table.shape}, not {shape}")
        if name not in statistics.signed and table.any_negative():
            raise ValueError(f"a cell of {name!r} is negative")
    if isinstance(statistics, MultivariateStatistics):
        if not np.isfinite(statistics.tables["sum"].rounded()).all():
            raise ValueError("a sum is not finite")
        if problem := statistics.impossible(weight):
            raise ValueError(f"its sums contradict each other: {problem}")
    if classes == 0:
        return
    rows = weight.rounded()[:, np.newaxis]
    missing = statistics.tables["missing"].rounded()
    counts_rows = family.name == "bernoulli"
    if isinstance(statistics, TextStatistics):
        counts_rows = statistics.presence
    present = statistics.tables["sum"].rounded() if counts_rows else 0.0
    if (missing + present > rows * (1 + 1e-9)).any():  # decay rounds: they need not add up exactly
        raise ValueError("features were seen or missing in more rows than there are")
    if isinstance(family, Categorical) and family.min_categories is not None:
        declared = np.broadcast_to(np.asarray(family.min_categories), n_features)
        if declared.min() < 0 or declared.sum(dtype=np.float64) > MOST_DECLARED:
            raise ValueError(f"min_categories cannot be {str(family.min_categories)[:40]}")


def positions(values: list[Any], length: int) -> list[int]:
    """Positions, checked to be distinct, sorted and below `length`."""
    if any(type(value) is not int for value in values):
        raise ValueError("positions in it are no integers")
    if values != sorted(set(values)) or not all(0 <= value < length for value in values):
        raise ValueError("positions in it are out of order or out of range")
    return values
