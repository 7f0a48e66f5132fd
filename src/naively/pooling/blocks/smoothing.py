"""Estimate the evidence of bins from counts, with smoothing, and monotone if a user asks for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from naively.core.exact import Float64
from naively.pooling.bins import Column

LEVEL, TREE = 1.0, 25.0
"""Virtual rows: of each class in each category, in both the actual and the expected counts; in each
half of the range of a number, each half of a half and so on, distributed as in the whole."""

Smooth = Callable[[Float64, Float64], Float64]
"""A function of counts (..., bins, C) and class priors (..., C) that returns evidence, in nats."""


def smoothing(column: Column, rising: int | None = None) -> Smooth:
    """The function that estimates evidence from the counts of the bins of a column.

    `rising` is the class whose probability must not fall with the number; None for no constraint.
    """
    return partial(numbers, rising=rising) if column.is_number else levels


def levels(counts: Float64, prior: Float64) -> Float64:
    """The log of the actual frequency of each class divided by the expected one.

    Counts are (..., categories, C), priors (..., C). The quotient has a gamma prior of mean 1
    (DuMouchel 1999, The American Statistician 53), so that small expected counts are weak
    evidence: a rare class is absent from many categories by chance.
    """
    ratios = counts + LEVEL
    ratios /= counts.sum(axis=-1, keepdims=True) * prior[..., np.newaxis, :] + LEVEL
    return np.log(ratios, out=ratios)


def numbers(counts: Float64, prior: Float64, rising: int | None = None) -> Float64:
    """The same for the bins of a number, the last being that of missing values.

    Of two classes, that of the class `rising` never falls with the number, and that of the other
    never rises.
    """
    bins = counts[..., :-1, :]
    shares = tree(bins, prior)
    if rising is not None:
        shares = isotonic(shares, bins.sum(axis=-1), rising)
    evidence = np.log(shares / prior[..., np.newaxis, :])
    if rising is not None:  # the logarithm may round neighbours out of order
        np.maximum.accumulate(evidence[..., rising], axis=-1, out=evidence[..., rising])
        np.minimum.accumulate(evidence[..., 1 - rising], axis=-1, out=evidence[..., 1 - rising])
    return np.concatenate([evidence, levels(counts[..., -1:, :], prior)], axis=-2)


def tree(counts: Float64, prior: Float64) -> Float64:
    """The share of each class in the bins of a number.

    The range is halved repeatedly. Each half has virtual rows distributed as in the whole, so that
    the shares of a bin are shrunk towards those of its neighbours.
    """
    *parts, bins, classes = counts.shape
    depth = int(np.ceil(np.log2(max(bins, 1))))
    padded = np.zeros((*parts, 1 << depth, classes))  # to a power of two
    padded[..., :bins, :] = counts
    shares = prior[..., np.newaxis, :]
    for level in range(depth + 1):
        nodes = padded.reshape(*parts, 1 << level, -1, classes)
        total = nodes.cumsum(axis=-2)[..., -1, :]  # adds in order, unlike `sum`
        parent_shares = shares.repeat(2, axis=-2) if level else shares
        shares = (total + TREE * parent_shares) / (total.sum(axis=-1, keepdims=True) + TREE)
    return shares[..., :bins, :]


def isotonic(shares: Float64, rows: Float64, rising: int) -> Float64:
    """The closest shares (..., bins, 2) of which that of a class does not fall.

    Isotonic regression by pooling adjacent violators, weighted by `rows` (..., bins): Barlow,
    Bartholomew, Bremner & Brunk 1972, Statistical inference under order restrictions.
    """
    from scipy.optimize import isotonic_regression  # slow to import

    result = np.empty_like(shares)
    for k in np.ndindex(rows.shape[:-1]):
        weights = rows[k] + 1  # a bin may be empty without a fold
        starts = isotonic_regression(shares[k][:, rising], weights=weights).blocks
        sums = np.add.reduceat(shares[k] * weights[:, np.newaxis], starts[:-1])
        means = sums / sums.sum(axis=1, keepdims=True)
        result[k] = means.repeat(np.diff(starts), axis=0)
    return result
