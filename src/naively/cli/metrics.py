"""How good predictions are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import Float64, Int64


@dataclass
class Scores:
    """How a model did on rows whose labels are known.

    Attributes
    ----------
    rows : int
    strangers : int, rows whose label the model never met: each counts as an error.
    accuracy : float
    log_loss : float, mean -log P(label | x) in nats, of the rows that are no strangers.
    macro_f1 : float, mean F1 of the classes that have rows or predictions; the strangers are one
        more, of F1 0.
    majority : float, accuracy of always saying the label that is most frequent in training.
    prior_log_loss : float, log-loss of always saying the class prior.
    confusion : (C, C) int64, rows of class i that were taken for class j.
    """

    rows: int
    strangers: int
    accuracy: float
    log_loss: float
    macro_f1: float
    majority: float
    prior_log_loss: float
    confusion: Int64

    def as_json(self, labels: list[Any]) -> dict[str, Any]:
        """All of it as JSON; what is not finite is null."""
        numbers = {
            name: value if not isinstance(value, float) or math.isfinite(value) else None
            for name, value in vars(self).items()
            if name != "confusion"
        }
        return {**numbers, "classes": labels, "confusion": self.confusion.tolist()}


def score(truth: Int64, predicted: Int64, log_proba: Float64, prior: Float64) -> Scores:
    """Compare positions of classes; -1 is the truth of a stranger."""
    rows, classes = log_proba.shape
    known = truth >= 0
    own, said = truth[known], predicted[known]
    confusion = np.bincount(own * classes + said, minlength=classes**2).reshape(classes, classes)
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)
    return Scores(
        rows=rows,
        strangers=int((~known).sum()),
        accuracy=_ratio(int(np.trace(confusion)), rows),
        log_loss=_mean(-log_proba[known, own]),
        macro_f1=_macro_f1(confusion, np.bincount(predicted[~known], minlength=classes)),
        majority=_ratio(int((truth == prior.argmax()).sum()), rows),
        prior_log_loss=_mean(-log_prior[own]),
        confusion=confusion,
    )


def _macro_f1(confusion: npt.NDArray[Any], of_strangers: npt.NDArray[Any]) -> float:
    hits = np.diag(confusion)
    both = confusion.sum(axis=0) + confusion.sum(axis=1) + of_strangers
    each = 2.0 * hits[both > 0] / both[both > 0]
    return _mean(np.append(each, 0.0) if of_strangers.any() else each)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def _mean(values: Float64) -> float:
    return math.fsum(values) / len(values) + 0.0 if len(values) else math.nan
