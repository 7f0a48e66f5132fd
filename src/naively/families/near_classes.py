"""Scores of normal rows in the classes that can win: the others are left out on the way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import Float64, Int64
from naively.kernels import distances
from naively.kernels.sizes import TILE
from naively.statistics.base import shown

LOG_2PI = math.log(2.0 * math.pi)


def near_scores(
    rows: npt.NDArray[Any], mean: Float64, packed: Float64, base: Float64, diagonals: Float64,
    before: Float64, margin: float, out: Float64,
) -> Float64:  # fmt: skip
    """What each class scores, (C, n) added to `before`; -inf if more than `margin` nats below.

    A distance only grows with the features. So the first of them are scored in every class,
    the likeliest class to its end, and the others as long as they can come near it.

    Parameters
    ----------
    rows : (n, d)
    mean : (C, d)
    packed : (C, size), for each class a triangular A with A Σ Aᵀ = I, as the kernels read it.
    base : (C,) the log-density at the mean.
    diagonals : (C, d) of each A.

    Returns
    -------
    The score of the best class of each row, (n,).
    """

    def go_on(which: Int64, code: int, first: int, last: int) -> None:
        """Add the distances of some rows from one class over rows first:last of its A."""
        if len(which):
            one = slice(code, code + 1)
            part = out[one, which]
            distances.add_distances(
                shown(rows[which]), 0, len(which), mean[one], packed[one], first, last, part
            )
            out[code, which] = part[0]

    d = rows.shape[1]
    top = base[:, np.newaxis] + before
    first, *later = [d // 4 // TILE * TILE, d // 2 // TILE * TILE, d]
    out[:] = 0.0
    distances.add_distances(shown(rows), 0, len(rows), mean, packed, 0, first, out)
    scale = np.log(diagonals[:, :first]).sum(axis=1) - 0.5 * first * LOG_2PI
    likeliest = (scale[:, np.newaxis] + before - 0.5 * out).argmax(axis=0)
    best = np.full(len(rows), -np.inf)
    for code in range(len(out)):
        own = np.flatnonzero(likeliest == code)
        go_on(own, code, first, d)
        best[own] = top[code, own] - 0.5 * out[code, own]
    for code in range(len(out)):
        others = np.flatnonzero(likeliest != code)
        done = first
        for end in later:
            score = top[code, others] - 0.5 * out[code, others]
            near = score >= _less(best[others], margin)
            out[code, others[~near]] = np.inf
            others = others[near]
            go_on(others, code, done, end)
            done = end
        best[others] = np.maximum(best[others], top[code, others] - 0.5 * out[code, others])
    out *= -0.5
    out += base[:, np.newaxis]
    out += before
    return best


def _less(best: Float64, margin: float) -> Float64:
    """Scores by a margin below the best, and by more than the rounding of any."""
    return best - margin - 1e-9 * (1.0 + np.abs(best))
