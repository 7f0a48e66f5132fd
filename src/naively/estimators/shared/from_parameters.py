"""Make fitted models from given parameters, as sums of one virtual row in total."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from naively.core.exact import ExactArray, Float64
from naively.core.labels import encode_labels
from naively.core.workers import SERIAL, workers
from naively.estimators.shared.base import NaiveBayesClassifier
from naively.estimators.shared.validation import check_labels
from naively.model.model import Model
from naively.model.prior import Prior
from naively.model.schema import Schema
from naively.statistics.base import Batch
from naively.statistics.powers import sum_powers

NEAR = 1e-6  # tolerance for probabilities that must sum to 1


class ClassesAndPrior:
    """Classes and their prior: class c has a virtual row of weight π_c.

    Parameters
    ----------
    count : number of classes.
    prior : "uniform", or probabilities above 0: (C,), or a dict by label.
    classes : (C,) distinct labels; None for 0, 1, ...
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
            label = labels.tolist()[int(self.prior.argmin())]
            raise ValueError(f"the prior of class {label!r} is 0: leave the class out")
        self.batch = Batch(codes, count, self.prior)

    def summed(self, values: Float64) -> ExactArray:
        """Return the exact sums π_c values_c of each class, (C, m)."""
        return sum_powers(values, self.batch, SERIAL)["sum"]

    def model(self, estimator: NaiveBayesClassifier, rows: Float64) -> Model:
        """Return the model of these rows, one for each class, with weights π_c."""
        blank = Model(Schema.of_array(estimator._family(), rows.shape[1]), estimator._prior())
        return blank.summarise(rows, (self.labels, self.batch.codes), self.prior)


def fitted(estimator: Any, model: Model) -> Any:
    """Return the estimator with this model, after checking that it can be estimated."""
    model.check(workers(estimator.n_jobs))
    estimator._keep(model, {})
    return estimator


def numbers(name: str, values: Any, shape: str, *dimensions: int) -> Float64:
    """Convert values to finite float64 of one of these numbers of dimensions.

    Raises ValueError if values are not finite numbers, or have another shape.
    """
    try:
        array = np.array(values, np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers of shape {shape}") from None
    if array.ndim not in dimensions or array.size == 0:
        raise ValueError(f"{name} must be of shape {shape}, not {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite: it has {array[~np.isfinite(array)][0]}")
    return array


def probabilities(name: str, values: Any) -> Float64:
    """Check (C, K) probabilities, whose rows must sum to 1.

    Raises ValueError for negative values, or a row with another sum.
    """
    theta = numbers(name, values, "(classes, probabilities)", 2)
    if (theta < 0).any():
        raise ValueError(f"{name} must be probabilities: it has {theta.min():g}")
    for row, total in enumerate(map(math.fsum, theta)):
        if abs(total - 1.0) > NEAR:
            raise ValueError(f"row {row} of {name} must sum to 1, not {total:g}")
    return theta
