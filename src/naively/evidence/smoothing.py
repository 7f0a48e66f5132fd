"""The evidence of the bins of a column, from counts of its rows by class."""

from __future__ import annotations

import numpy as np

from naively.exact import Float64

LEVEL, TREE = 1.0, 25.0
"""Rows, as the prior, that each level has besides its own; each half of the range of a number, each
half of a half, and so on down to its bins, has such rows as the whole."""


def levels(counts: Float64, prior: Float64) -> Float64:
    """log p(c | level) - log π_c, (levels, C): each level has virtual rows spread as the prior."""
    shares = (counts + LEVEL * prior) / (counts.sum(axis=1, keepdims=True) + LEVEL)
    return np.log(shares / prior)


def tree(counts: Float64, prior: Float64) -> Float64:
    """The same of the bins of a number, the last being missing.

    The range is halved again and again. Each half has virtual rows spread as the whole is: so what
    a bin tells is drawn to what its neighbours tell.
    """
    bins = len(counts) - 1
    depth = int(np.ceil(np.log2(max(bins, 1))))
    shares = prior[np.newaxis]
    for level in range(depth + 1):
        own = np.arange(bins) >> (depth - level)
        total = np.zeros((own[-1] + 1 if bins else 1, len(prior)))
        np.add.at(total, own, counts[:-1])
        before = shares[np.arange(len(total)) // 2] if level else shares
        shares = (total + TREE * before) / (total.sum(axis=1, keepdims=True) + TREE)
    return np.concatenate([np.log(shares / prior), levels(counts[-1:], prior)])
