"""Samples in proportion to weight: threshold sampling (Duffield, Lund & Thorup 2007, JACM 54).

An item of weight w is in the sample if a hash of it, in [0, 1), is below w / t. So items heavier
than t are all in it, and a lighter one stands for weight t: sums over the sample are those over all
items, on average.

Where items come one after the other, a threshold of 64-bit keys falls as they do: 2^64 / t. An item
that recurs is dropped while it is light, and what it weighed until then is lost: it is kept from
when it is often enough. Without items that recur the sample depends on no order and split.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from naively.exact import Float64
from naively.hashing import UInt64

ALL = np.inf
"""The threshold below which all keys are."""
KEYS = 2.0**64
"""Keys are below."""
LIGHT = 1e-300
"""Weights are taken for no less."""


def below(keys: UInt64, weight: Float64, threshold: float) -> npt.NDArray[np.bool_]:
    """Which items are in the sample of a threshold."""
    return (keys < threshold * weight) & (weight > 0)


def priorities(keys: UInt64, weight: Float64) -> Float64:
    """The threshold from which on each item is in the sample."""
    found: Float64 = keys / np.maximum(weight, LIGHT)
    return found


def stands_for(weight: Float64, threshold: float) -> Float64:
    """How many times its weight each item of a sample stands for: 1 or more."""
    if threshold == ALL:
        return np.ones(len(weight))
    return np.maximum(KEYS / threshold / np.maximum(weight, LIGHT), 1.0)


def sampled(weight: Float64, place: Float64, most: int) -> tuple[npt.NDArray[np.intp], Float64]:
    """(which items are in a sample of about `most`, what these weigh, in units of the lightest).

    Parameters
    ----------
    weight : (n,) positive.
    place : (n,) in [0, 1), a hash of each item.
    most : how many are wanted, 1 or more; where there are no more, all are in it as they are.
    """
    if len(weight) <= most:
        return np.arange(len(weight)), weight
    least = threshold(weight, most)
    some = np.flatnonzero(place * least < weight)
    return some, np.maximum(weight[some] / least, 1.0)


def threshold(weight: Float64, most: int) -> float:
    """The t for which Σ min(1, w / t) is `most`, of more weights than that."""
    rising = np.sort(weight)
    n = len(rising)
    # of the k lightest, so that the others are all in: t = Σ w / (most - (n - k))
    k = np.arange(max(1, n - most + 1), n + 1)
    each = np.cumsum(rising)[k - 1] / (most - (n - k))
    fits = each <= np.append(rising, np.inf)[k]
    return float(each[int(np.argmax(fits))])
