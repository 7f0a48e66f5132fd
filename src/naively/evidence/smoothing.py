"""The evidence of the bins of a column, from counts of its rows by class."""

from __future__ import annotations

import numpy as np

from naively.exact import Float64

LEVEL, TREE = 1.0, 25.0
"""Rows that each class has in each level, both met and expected; and those, spread as the whole is,
that each half of the range of a number has, each half of a half, and so on down to its bins."""


def levels(counts: Float64, prior: Float64) -> Float64:
    """How often each class was met beside how often it would be by the prior: logs.

    Of counts (..., levels, C) and priors (..., C). The quotient has a gamma prior of mean 1
    (DuMouchel 1999, The American Statistician 53), so that few rows that are expected tell little:
    a rare class is missing in many levels by chance.
    """
    found = counts + LEVEL
    found /= counts.sum(axis=-1, keepdims=True) * prior[..., np.newaxis, :] + LEVEL
    return np.log(found, out=found)


def tree(counts: Float64, prior: Float64) -> Float64:
    """The same of the bins of a number, the last being missing.

    The range is halved again and again. Each half has virtual rows spread as the whole is: so what
    a bin tells is drawn to what its neighbours tell.
    """
    *parts, bins, classes = counts[..., :-1, :].shape
    depth = int(np.ceil(np.log2(max(bins, 1))))
    own = np.zeros((*parts, 1 << depth, classes))  # as many bins as there are halves of halves
    own[..., :bins, :] = counts[..., :-1, :]
    root = prior[..., np.newaxis, :]
    shares = root
    for level in range(depth + 1):
        each = own.reshape(*parts, 1 << level, -1, classes)
        total = each.cumsum(axis=-2)[..., -1, :]  # one bin after the other, unlike `sum`
        before = shares.repeat(2, axis=-2) if level else shares
        shares = (total + TREE * before) / (total.sum(axis=-1, keepdims=True) + TREE)
    told = np.log(shares[..., :bins, :] / root)
    return np.concatenate([told, levels(counts[..., -1:, :], prior)], axis=-2)
