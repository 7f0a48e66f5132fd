"""Parameters that people give: checked, and counted as the sums of one row in all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from naively.engines.threads import workers
from naively.estimators.base import NaiveBayesClassifier
from naively.estimators.validation import check_labels
from naively.exact import ExactArray, Float64
from naively.labels import encode_labels
from naively.model import Model
from naively.prior import Prior
from naively.schema import Schema
from naively.statistics.base import Batch
from naively.statistics.sums import sum_powers
from naively.workers import SERIAL

NEAR = 1e-6  # by which probabilities may miss a sum of 1


class Given:
    """Classes and their prior: parameters of class c count as those of π_c rows, exactly.

    Parameters
    ----------
    count : of classes.
    prior : "uniform", or probabilities above 0: (C,), or a dict by label.
    classes : (C,) different labels; None for 0, 1, ...
    """

    def __init__(self, count: int, prior: Any, classes: Any) -> None:
        if isinstance(prior, str) and prior != "uniform":
            raise ValueError(f'prior must be "uniform" or probabilities, not {prior!r}')
        labels = np.arange(count) if classes is None else check_labels(classes, len(classes))
        if len(labels) != count:
            raise ValueError(f"there are parameters of {count} classes, but {len(labels)} labels")
        self.labels, codes = encode_labels(labels)
        if len(self.labels) < count:
            raise ValueError(f"classes must be different labels, not {labels.tolist()}")
        weights = ExactArray.from_integers(np.ones(count, np.int64))
        self.prior = Prior(prior).estimate(weights, labels)
        if not self.prior.all():
            none = labels.tolist()[int(self.prior.argmin())]
            raise ValueError(f"the prior of class {none!r} is 0: leave the class out")
        self.batch = Batch(codes, count, self.prior)

    def summed(self, values: Float64) -> ExactArray:
        """Σ_i π_i values_i of each class, exactly: (C, m) of (C, m)."""
        return sum_powers(values, self.batch, SERIAL)["sum"]

    def model(self, estimator: NaiveBayesClassifier, rows: Float64) -> Model:
        """What an estimator learns of these rows, one a class, of weight π_c."""
        blank = Model(Schema.of_array(estimator._family(), rows.shape[1]), estimator._prior())
        return blank.summarise(rows, (self.labels, self.batch.codes), self.prior)


def kept(estimator: Any, model: Model) -> Any:
    """The estimator with this model, if it can be asked."""
    model.check(workers(estimator.n_jobs))
    estimator._keep(model, {})
    return estimator


def numbers(name: str, values: Any, shape: str, *dimensions: int) -> Float64:
    """Finite numbers of so many dimensions.

    Raises
    ------
    ValueError : saying what is wrong with them.
    """
    try:
        found = np.array(values, np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers of shape {shape}") from None
    if found.ndim not in dimensions or found.size == 0:
        raise ValueError(f"{name} must be of shape {shape}, not {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} must be finite: it has {found[~np.isfinite(found)][0]}")
    return found


def probabilities(name: str, values: Any) -> Float64:
    """(C, K) probabilities of which each row sums to 1.

    Raises
    ------
    ValueError : saying which row does not.
    """
    theta = numbers(name, values, "(classes, probabilities)", 2)
    if (theta < 0).any():
        raise ValueError(f"{name} must be probabilities: it has {theta.min():g}")
    for row, total in enumerate(map(math.fsum, theta)):
        if abs(total - 1.0) > NEAR:
            raise ValueError(f"row {row} of {name} must sum to 1, not {total:g}")
    return theta
