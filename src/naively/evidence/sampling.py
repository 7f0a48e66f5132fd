"""Samples in proportion to weight: threshold sampling (Duffield, Lund & Thorup 2007, JACM 54).

An item of weight w is in the sample if a hash of it, in [0, 1), is below w / t. So items heavier
than t are all in it, and a lighter one stands for weight t: sums over the sample are those over all
items, on average.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from naively.exact import Float64


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
