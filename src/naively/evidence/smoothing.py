"""The evidence of the bins of a column, from counts of its rows by class."""

from __future__ import annotations

import numpy as np

from naively.exact import Float64

LEVEL, TREE = 1.0, 25.0
"""Rows that each class has in each level, both met and expected; and those, spread as the whole is,
that each half of the range of a number has, each half of a half, and so on down to its bins."""


def levels(counts: Float64, prior: Float64) -> Float64:
    """How often each class was met beside how often it would be by the prior, (levels, C): logs.

    The quotient has a gamma prior of mean 1 (DuMouchel 1999, The American Statistician 53), so that
    few rows that are expected tell little: a rare class is missing in many levels by chance.
    """
    expected = counts.sum(axis=1, keepdims=True) * prior
    return np.log((counts + LEVEL) / (expected + LEVEL))


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
