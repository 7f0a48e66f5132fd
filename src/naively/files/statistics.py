"""Statistics as tensors, and back, if they can be true."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively.files import checks
from naively.statistics.base import Arrays, Statistics, Summary


def encode_statistics(statistics: Statistics, arrays: Arrays, prefix: str) -> dict[str, int]:
    """Add the tensors to `arrays`; returns the exponents of their lowest bits, by name."""
    for name, table in statistics.stored().items():
        limbs = table.limbs
        # the table that says how many features there are weighs something even if it is all
        # zeros: so a reader knows that their number is no empty claim
        if limbs.shape[-1] == 0 and name == statistics.sized_by:
            limbs = np.zeros((*limbs.shape[:-1], 1), np.int64)
        arrays[prefix + name] = np.array(limbs, "<i8", order="C")
    arrays |= {prefix + name: array for name, array in statistics.arrays().items()}
    return {prefix + name: table.low for name, table in statistics.stored().items()}


def decode_statistics(
    summary: Summary[Any], n_features: int, arrays: Arrays, low: dict[str, Any], prefix: str
) -> Statistics:
    """What this summary counted of so many features.

    Raises ValueError if it cannot be true, saying why.
    """
    blank = summary.empty(0, 0)
    sized = arrays.get(prefix + blank.sized_by)
    if sized is None or sized.shape[-1] == 0 or sized.ndim != 3:
        raise ValueError("nothing in it weighs as much as its features would")
    tables = {
        name: checks.exact(prefix + name, arrays.get(prefix + name), low.get(prefix + name))
        for name in blank.stored()
    }
    own = {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
    return summary.read(tables, own, n_features)
