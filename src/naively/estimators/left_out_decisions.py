"""Probabilities for classifiers that only decide: parts of the documents, and a scale for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from naively.exact import Float64, Int64

PARTS = 3
"""Parts that are left out in turn; more than three changed no probability that was measured."""
RANGE = 1e3
"""Nats at most, and 1 / so many at least, that the usual distance between decisions may be."""


def parts(keys: Any, codes: Int64) -> Int64:
    """The part of each row, (n,), from 0 to below `PARTS`; -1 of rows that all models learn.

    Rows of a class that are alike are in one part, so that none is judged by its copy; the others
    are dealt in turn, in the order of their hashes. Whatever is left out, each class is learned.

    Parameters
    ----------
    keys : (n,) a hash of what is in each row.
    codes : (n,) its class.
    """
    different, place = np.unique(np.stack([codes.astype(np.uint64), keys]), axis=1,
                                 return_inverse=True)  # fmt: skip
    of = different[0].astype(np.int64)
    part = np.arange(len(of)) % PARTS
    part[np.bincount(of)[of] < 2] = -1  # the only one of its class
    return part[place.reshape(-1)]


def scale(decisions: Float64, codes: Int64, weights: Float64) -> float:
    """The s > 0 for which softmax (s · decisions) predicts these rows with the least log-loss.

    The temperature 1 / s of Guo, Pleiss, Sun & Weinberger 2017, "On calibration of modern neural
    networks". With m_c rows of class c each counts as of it to (m_c + 1) / (m_c + 2), as in Platt
    1999, "Probabilistic outputs for support vector machines": so s is finite.

    Parameters
    ----------
    decisions : (n, C) of models that did not learn these rows.
    codes : (n,) the class of each row.
    weights : (n,) of the rows.
    """
    spread = float(np.sqrt(np.mean(np.ptp(decisions, axis=1) ** 2))) if len(decisions) else 0.0
    if spread == 0.0:
        return 1.0
    n, classes = decisions.shape
    own = np.bincount(codes, weights, classes)[codes] + 1.0
    target = np.repeat((1.0 / (own + 1.0) / (classes - 1))[:, np.newaxis], classes, axis=1)
    target[np.arange(n), codes] = own / (own + 1.0)
    target *= weights[:, np.newaxis]

    def loss(log_scale: float) -> float:
        return float(-(target * log_softmax(np.exp(log_scale) * decisions, axis=1)).sum())

    ends = np.log([1.0 / RANGE, RANGE]) - np.log(spread)
    found = minimize_scalar(loss, bounds=tuple(ends), method="bounded", options={"xatol": 1e-9})
    return float(np.exp(found.x))
