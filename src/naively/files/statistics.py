"""The statistics of a family as tensors, and back, if they can be true."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively.exact import ExactArray
from naively.families.base import Family, Statistics
from naively.families.grid import GridStatistics
from naively.families.joint import JointStatistics
from naively.families.levels import LevelStatistics
from naively.families.multivariate_statistics import MultivariateStatistics
from naively.families.product import Product, ProductStatistics
from naively.families.terms import TextStatistics
from naively.files import checks
from naively.files.encoding import Arrays
from naively.text.vocabulary import Vocabulary


def encode_statistics(statistics: Statistics, arrays: Arrays, prefix: str = "statistics.") -> Any:
    """Add the tensors to `arrays`; returns the exponents of their lowest bits, by name."""
    if isinstance(statistics, ProductStatistics):
        low: dict[str, int] = {}
        for k, part in enumerate(statistics.parts):
            low |= encode_statistics(part, arrays, f"{prefix}{k}.")
        return low
    for name, table in statistics.tables.items():
        limbs = table.limbs
        # the table that says how many features there are weighs something even if it is all
        # zeros: so a reader knows that their number is no empty claim
        if limbs.shape[-1] == 0 and name == _sized_by(statistics):
            limbs = np.zeros((*limbs.shape[:-1], 1), np.int64)
        arrays[prefix + name] = np.array(limbs, "<i8", order="C")
    if isinstance(statistics, LevelStatistics):
        _encode_levels(statistics, arrays, prefix)
    if isinstance(statistics, TextStatistics):
        arrays[prefix + "undercount"] = np.array([statistics.undercount])
        if statistics.vocabulary is not None:
            terms, lengths = statistics.vocabulary.packed()
            arrays[prefix + "terms"], arrays[prefix + "term_lengths"] = terms, lengths
    return {prefix + name: table.low for name, table in statistics.tables.items()}


def _encode_levels(statistics: LevelStatistics, arrays: Arrays, prefix: str) -> None:
    levels = statistics.levels
    arrays[prefix + "level_counts"] = np.array([len(known) for known in levels], "<i8")
    if isinstance(statistics, GridStatistics):
        arrays[prefix + "exponents"] = np.array(statistics.exponents, "<i8")
        arrays[prefix + "levels"] = np.concatenate([np.empty(0, "<f8"), *levels])
        return
    if all(known.dtype.kind != "T" for known in levels):
        arrays[prefix + "levels"] = np.concatenate([np.empty(0, "<i8"), *levels])
        return
    texts = [text.encode() for known in levels for text in known.tolist()]
    arrays[prefix + "levels"] = np.frombuffer(b"".join(texts), "<u1")
    arrays[prefix + "level_lengths"] = np.array([len(text) for text in texts], "<i8")


def decode_statistics(
    family: Family, n_features: int, arrays: Arrays, low: dict[str, Any],
    prefix: str = "statistics.",
) -> Any:  # fmt: skip
    """The statistics of a family of this many features.

    Raises
    ------
    ValueError : if they cannot be true, saying why.
    """
    if isinstance(family, Product):
        blocks = zip(family.families, family.sizes, strict=True)
        return ProductStatistics(
            [
                decode_statistics(one, size, arrays, low, f"{prefix}{k}.")
                for k, (one, size) in enumerate(blocks)
            ]
        )
    statistics = family.empty(0, 0)
    sized = arrays.get(prefix + _sized_by(statistics))
    if sized is None or sized.shape[-1] == 0 or sized.ndim != 3:
        raise ValueError("nothing in it weighs as much as its features would")
    statistics.tables = {
        name: _exact(prefix + name, arrays, low) for name in family.empty(0, 0).tables
    }
    if isinstance(statistics, LevelStatistics):
        statistics.levels = _decode_levels(statistics, n_features, arrays, prefix)
        if isinstance(statistics, GridStatistics):
            statistics.exponents = checks.exponents(arrays.get(prefix + "exponents"), n_features)
        if isinstance(statistics, JointStatistics):
            statistics.check_rows()
    if isinstance(statistics, TextStatistics):
        statistics.undercount = checks.undercount(arrays.get(prefix + "undercount"))
        if statistics.vocabulary is not None:
            statistics.vocabulary = Vocabulary.checked(
                arrays.get(prefix + "terms"), arrays.get(prefix + "term_lengths")
            )
    return statistics


def _decode_levels(
    statistics: LevelStatistics, n_features: int, arrays: Arrays, prefix: str
) -> list[Any]:
    for name in ("levels", "level_counts"):
        if prefix + name not in arrays:
            raise ValueError(f"it has no tensor {prefix + name!r}")
    flat = arrays[prefix + "levels"]
    if prefix + "level_lengths" in arrays:
        flat = checks.texts(flat, arrays[prefix + "level_lengths"])
    kind = "f" if isinstance(statistics, GridStatistics) else "iT"
    if isinstance(statistics, JointStatistics):
        n_features, kind = 1, "T"
    return checks.levels(flat, arrays[prefix + "level_counts"], n_features, kind)


def _exact(name: str, arrays: Arrays, low: dict[str, Any]) -> ExactArray:
    return checks.exact(name, arrays.get(name), low.get(name))


def _sized_by(statistics: Statistics) -> str:
    """The table whose shape says how many features there are."""
    if isinstance(statistics, MultivariateStatistics):
        return "product"  # which has as many cells as the covariance that follows
    return "missing" if isinstance(statistics, LevelStatistics | TextStatistics) else "sum"
