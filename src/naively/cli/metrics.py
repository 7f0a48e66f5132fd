"""How good predictions are, added up over batches of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.calibration import Reliability
from naively.cli.ranking import Decision, Ranking
from naively.exact import Float64, Int64


@dataclass
class Scores:
    """How a model did on rows whose labels are known.

    Attributes
    ----------
    rows : int
    unknown : int, rows whose label the model never met: each counts as an error.
    accuracy : float
    balanced_accuracy : float, mean recall of the classes that have rows; unknown labels are
        one more, of recall 0.
    macro_f1 : float, mean F1 of the classes that have rows or predictions; unknown labels
        are one more, of F1 0.
    log_loss : float, mean -log P(label | x) in nats, of the rows that are not unknown.
    brier : float, mean Σ_c (P(c | x) - I(c = label))², from 0 to 2.
    calibration_error, calibration_standard_error, calibration_by_chance : float, mean distance of
        confidence and accuracy over ten bins of equal numbers of rows, its standard error, and
        what right probabilities would have: see `Reliability`.
    majority : float, accuracy of always saying the label that is most frequent in training.
    prior_log_loss : float, log-loss of always saying the class prior.
    confusion : (C, C) int64, rows of class i that were taken for class j.
    positive : position of the class that is looked for, of a model of two classes the one that it
        learned fewer rows of; None of a model of more, unless one is named.
    ranking : Ranking of the rows that are not unknown, by the probability of that class.
    """

    rows: int
    unknown: int
    accuracy: float
    balanced_accuracy: float
    macro_f1: float
    log_loss: float
    brier: float
    calibration_error: float
    calibration_standard_error: float
    calibration_by_chance: float
    majority: float
    prior_log_loss: float
    confusion: Int64
    positive: int | None = None
    ranking: Ranking | None = None

    @property
    def worse_than_prior(self) -> bool:
        """Whether the class prior alone gives better probabilities."""
        return self.log_loss > self.prior_log_loss

    def predicted(self) -> Decision:
        """What the model's predictions do for the class that is looked for."""
        own = self.positive
        assert own is not None
        positives, flagged = self.confusion[own].sum(), self.confusion[:, own].sum()
        return Decision(None, int(positives), int(flagged), int(self.confusion[own, own]))

    def as_json(self, labels: list[Any]) -> dict[str, Any]:
        """All of it for programs."""
        other = ("confusion", "positive", "ranking")
        numbers = {name: value for name, value in vars(self).items() if name not in other}
        numbers["worse_than_prior"] = self.worse_than_prior
        if self.positive is not None and self.ranking is not None:
            numbers["positive"] = labels[self.positive]
            numbers["auc"] = self.ranking.auc()
            numbers["average_precision"] = self.ranking.average_precision()
        return {**numbers, "classes": labels, "confusion": self.confusion.tolist()}


class Tally:
    """Sums over rows from which `Scores` follow.

    Parameters
    ----------
    prior, weight : (C,) class prior of the model, and weight of the rows it learned of each class.
    positive : position of the class that is looked for; if None the one of two classes that has
        less weight, or the last.
    """

    def __init__(self, prior: Float64, weight: Float64, positive: int | None = None) -> None:
        self.prior, self.weight = prior, weight
        classes = len(prior)
        if positive is None and classes == 2:
            positive = int(weight[1] <= weight[0])
        self.positive = positive
        self.chances: list[Float64] = []  # of the class that is looked for
        self.truths: list[npt.NDArray[np.bool_]] = []
        self.confusion = np.zeros((classes, classes), np.int64)
        self.mistaken = np.zeros(classes, np.int64)  # predictions for unknown labels
        self.losses: list[float] = []
        self.briers: list[float] = []
        self.confidences: list[Float64] = []  # of the predicted classes
        self.right: list[npt.NDArray[np.bool_]] = []

    def add(self, truth: Int64, log_proba: Float64) -> None:
        """Count rows of these positions of classes, -1 for unknown labels; (n, C) log P(c | x)."""
        classes = len(self.prior)
        predicted = log_proba.argmax(axis=1)
        known = truth >= 0
        own, said = truth[known], predicted[known]
        self.confusion += np.bincount(own * classes + said, minlength=classes**2).reshape(
            classes, classes
        )
        self.mistaken += np.bincount(predicted[~known], minlength=classes)
        self.losses.append(math.fsum(-log_proba[known, own]))
        proba = np.exp(log_proba)
        if self.positive is not None:
            self.chances.append(proba[known, self.positive])
            self.truths.append(own == self.positive)
        squares = (proba**2).sum(axis=1) + 1.0
        squares[known] -= 2.0 * proba[known, own]
        self.briers.append(math.fsum(squares))
        self.confidences.append(proba.max(axis=1))
        self.right.append(predicted == truth)

    def scores(self) -> Scores:
        """The scores of all rows so far."""
        unknown = int(self.mistaken.sum())
        own = self.confusion.sum(axis=1)
        known, hits = int(own.sum()), np.diag(self.confusion)
        rows = known + unknown
        recall = hits[own > 0] / own[own > 0]
        both = self.confusion.sum(axis=0) + own + self.mistaken
        f1 = 2.0 * hits[both > 0] / both[both > 0]
        if unknown:
            recall, f1 = np.append(recall, 0.0), np.append(f1, 0.0)
        reliability = Reliability.of(
            np.concatenate([np.empty(0), *self.confidences]),
            np.concatenate([np.empty(0, bool), *self.right]),
        )
        with np.errstate(divide="ignore"):
            log_prior = np.log(self.prior)
        expected = [-n * p for n, p in zip(own.tolist(), log_prior.tolist(), strict=True) if n]
        return Scores(
            rows=rows,
            unknown=unknown,
            accuracy=_ratio(float(hits.sum()), rows),
            balanced_accuracy=_mean(recall),
            macro_f1=_mean(f1),
            log_loss=_ratio(math.fsum(self.losses), known),
            brier=_ratio(math.fsum(self.briers), rows),
            calibration_error=reliability.error,
            calibration_standard_error=reliability.standard_error,
            calibration_by_chance=reliability.by_chance,
            majority=_ratio(float(own[self.weight.argmax()]), rows) if len(own) else math.nan,
            prior_log_loss=_ratio(math.fsum(expected), known),
            confusion=self.confusion,
            positive=self.positive,
            ranking=None if self.positive is None else Ranking(self.chances, self.truths),
        )


def _ratio(part: float, whole: int) -> float:
    return part / whole if whole else math.nan


def _mean(values: npt.NDArray[Any]) -> float:
    return math.fsum(values) / len(values) + 0.0 if len(values) else math.nan
