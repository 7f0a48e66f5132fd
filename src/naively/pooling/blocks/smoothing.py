"""Estimate the evidence of bins from counts, with smoothing, and monotone if a user asks for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from naively.core.exact import Float64
from naively.kernels.scores import smooth_shares
from naively.pooling.bins import Column

LEVEL = 1.0
"""Virtual rows of each class in each category, in both the actual and the expected counts."""
LINKS = tuple(4.0**k for k in range(1, 9))
"""Rows that a bin of a number borrows from each neighbour, at most; see `class_shares`."""
PRIOR = 0.1
"""Virtual rows with the class prior in each bin of a number: a class that bins of few rows lack is
not impossible there."""

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
    shares = class_shares(bins, prior)
    if rising is not None:
        shares = isotonic(shares, bins.sum(axis=-1), rising)
    evidence = np.log(shares / prior[..., np.newaxis, :])
    if rising is not None:  # the logarithm may round neighbours out of order
        np.maximum.accumulate(evidence[..., rising], axis=-1, out=evidence[..., rising])
        np.minimum.accumulate(evidence[..., 1 - rising], axis=-1, out=evidence[..., 1 - rising])
    return np.concatenate([evidence, levels(counts[..., -1:, :], prior)], axis=-2)


def class_shares(counts: Float64, prior: Float64) -> Float64:
    """The share of each class in the bins of a number, smoothed over neighbouring bins.

    A bin borrows rows from its neighbours, with their shares: at most `link` from either side, and
    λ w / (λ + w) of a neighbour with w rows, its own and borrowed ones, for the link λ. So shares
    follow the rows where these are many, and a trend where they are few. (This is the posterior
    mean of a random walk.) The shares of several links are averaged, weighted by the likelihood of
    the rows, each left out of the shares that predict it: Geisser & Eddy 1979, A predictive
    approach to model selection.

    `counts`: (..., bins, C). `prior`: (..., C).
    """
    shape, classes = counts.shape, counts.shape[-1]
    tables = np.ascontiguousarray(counts, np.float64).reshape(-1, *shape[-2:])
    priors = np.ascontiguousarray(np.broadcast_to(prior, (*shape[:-2], classes)), np.float64)
    shares = np.empty(tables.shape)
    smooth_shares(tables, priors.reshape(-1, classes), np.array(LINKS), PRIOR, shares)
    return shares.reshape(shape)


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
