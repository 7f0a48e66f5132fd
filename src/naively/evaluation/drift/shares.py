"""Whether the classes of new rows are as frequent as those of learned rows, without labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, special

from naively.evaluation.drift.columns import Compared
from naively.evaluation.drift.two_samples import is_normal
from naively.exact import Float64
from naively.posterior import Posterior
from naively.prior import adapted

HEAVY = 1e3  # weight of the sum of shares, which is to be 1, beside what they are to explain


@dataclass(frozen=True)
class ShareDrift:
    """How frequent the classes are.

    Attributes
    ----------
    classes : (C,) labels.
    learned : (C,) part of the learned rows.
    predicted : (C,) part of the new rows of which each class is the most probable one.
    estimated : (C,) part of the new rows that is of each class, if rows of a class are as they
        were; NaN if that cannot be told.
    error : (C,) its standard error; NaN if that is not known.
    method : "EM" (Saerens, Latinne & Decaestecker 2002), where the probabilities of the model can
        be bet on; "means" otherwise: the shares by which the learned means of what each column
        tells, class by class, add up to the new ones. "" if there is no estimate.
    p_value : that shares are as they were: what columns tell has its learned mean; NaN if that
        cannot be tested.
    explained : part of what columns moved that the estimate explains; NaN if none did. If it is
        small, rows of a class are not as they were, and the estimate means nothing.
    changed : part of the new rows that get another label if the estimate is the prior.
    moved : by how much their probabilities change then: half of Σ_c |ΔP(c | x)|, on average.
    """

    classes: Any
    learned: Float64
    predicted: Float64
    estimated: Float64
    error: Float64
    method: str
    p_value: float
    explained: float
    changed: float
    moved: float


def shares(
    posterior: Posterior, weight: Float64, told: Float64, means: Float64, log_p: Float64,
    columns: Sequence[Compared],
) -> ShareDrift:  # fmt: skip
    """What new rows say of the shares of the classes.

    Parameters
    ----------
    weight, told, means : as `by_means` takes them.
    log_p : (m, C) log P(c | x) of the new rows, in nats.
    columns : what was compared.
    """
    classes = len(weight)
    learned, none = weight / weight.sum(), np.full(classes, np.nan)
    best = log_p.argmax(axis=1)
    predicted = np.bincount(best, minlength=classes) / len(best)
    estimated, error, method, p = none, none, "", math.nan
    if classes > 1:
        estimated, error, p = by_means(told, means, weight)
        method = "means" if not np.isnan(estimated).any() else ""
    if posterior.parameters.judged is not None and classes > 1:
        with np.errstate(invalid="ignore"):
            odds = log_p - posterior.log_prior
        estimated, error, method = adapted(odds, posterior.class_prior), none, "EM"
    if not method:
        return ShareDrift(
            posterior.classes, learned, predicted, none, none, "", p, math.nan, math.nan, math.nan
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        other = log_p + np.log(estimated) - posterior.log_prior
    other = np.where(np.isnan(other), -np.inf, other)
    nowhere = np.isneginf(other).all(axis=1)
    other[nowhere] = log_p[nowhere]
    q = np.exp(other - other.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    return ShareDrift(
        posterior.classes, learned, predicted, estimated, error, method, p,
        _explained(columns, learned, estimated),
        float((other.argmax(axis=1) != best).mean()),
        float(np.abs(q - np.exp(log_p)).sum(axis=1).mean() / 2.0),
    )  # fmt: skip


def _explained(columns: Sequence[Compared], learned: Float64, estimated: Float64) -> float:
    """Which part of the differences of columns is gone if classes have other shares."""
    before = after = 0.0
    for one in columns:
        if one.by_class is not None and one.new is not None:
            before += float(np.abs(learned @ one.by_class - one.new).sum())
            after += float(np.abs(estimated @ one.by_class - one.new).sum())
    return 1.0 - after / before if before > 0 else math.nan


def by_means(told: Float64, means: Float64, weight: Float64) -> tuple[Float64, Float64, float]:
    """(the shares of the classes in new rows, their standard errors, the p-value of no change).

    Where rows of a class are as they were, the mean of any function of new rows is Σ_c π_c times
    its mean in class c. These are known from sums, whatever columns have to do with each other. The
    functions are what columns tell for each class, added up as if they were independent, so that
    they differ between classes. Generalised least squares, with Hotelling's test of π as it was.
    NaN where rows are too few or too skewed for their means to be normally distributed.

    Parameters
    ----------
    told : (m, C) of each new row.
    means : (C, C) of each learned class (first), on average.
    weight : (C,) rows of each class.
    """
    (m, classes), n = told.shape, float(weight.sum())
    prior, met = weight / n, np.flatnonzero(weight > 0)
    none = np.full(classes, np.nan)
    if len(met) < 2 or m <= len(met):
        return none, none, math.nan
    off = told - prior @ means
    basis = np.zeros((len(met) - 1, classes))  # each class in the place of the first
    basis[:, met[0]] = -1.0
    basis[np.arange(len(met) - 1), met[1:]] = 1.0
    steps = (basis @ means).T
    precision = np.linalg.pinv(np.atleast_2d(np.cov(told.T)), hermitian=True)
    information = steps.T @ precision @ steps
    size = np.abs(np.linalg.eigvalsh(information))
    if not np.isfinite(size).all() or size.min() <= 1e-9 * size.max():
        return none, none, math.nan
    by_row = off @ precision @ steps @ np.linalg.inv(information)
    if not all(is_normal(one, n) for one in by_row.T):
        return none, none, math.nan
    found = by_row.mean(axis=0)
    spread = np.linalg.inv(information) * (1.0 / m + 1.0 / n)
    free = len(found)
    hotelling = float(found @ np.linalg.solve(spread, found)) * (m - free) / (free * (m - 1.0))
    p = float(special.fdtrc(free, m - free, hotelling))
    shares = prior + found @ basis
    error = np.sqrt(np.maximum(np.einsum("kc,kl,lc->c", basis, spread, basis), 0.0))
    if shares.min() < 0:
        values, vectors = np.linalg.eigh(precision)
        root = np.sqrt(np.maximum(values, 0.0))[:, np.newaxis] * vectors.T
        to_explain = np.append(root @ told.mean(axis=0), HEAVY)
        shares = optimize.nnls(np.vstack([root @ means.T, np.full(classes, HEAVY)]), to_explain)[0]
        shares /= shares.sum()
    return shares, error, p
