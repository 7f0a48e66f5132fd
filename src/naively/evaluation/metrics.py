"""Score predictions: accuracy, log-loss, Brier score, AUC, confusion matrix, calibration.

A `Tally` holds sufficient statistics, as models do: the confusion matrix and the sums of the losses
and of their squares are exact (`ExactArray`). For calibration and AUC it stores a pair
(probability, whether the event happened) for each row, which are then counted by distinct
probability. So the tallies of parts of the rows add up to the tally of all rows, bit for bit, in
any order.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.labels import Labels
from naively.core.workers import SERIAL
from naively.evaluation.calibration import Reliability, by_probability
from naively.model.decisions import DecisionRule, positive_class
from naively.model.model import Model
from naively.model.prior import Prior
from naively.statistics.base import Batch
from naively.statistics.powers import Moments, class_weights, sum_powers

Truths = npt.NDArray[np.bool_]
LOSS, BRIER, PRIOR_LOSS, INFINITE, PRIOR_INFINITE, SEEN = range(6)
"""Columns of the sums: finite losses in nats, whether losses are infinite, and whether the model
had training rows of the class."""
REFUTED = math.log(40)  # nats in all, of probability 1/40 at most if the model is right (Markov)
CLEAR = 2.0  # standard errors, above which a difference is clear
MUCH = 0.05  # share of the loss, above which a difference matters
NONE = np.empty(0)
ROUNDING = 1e-9  # of a loss, up to which two models have the same
LARGE = 1000  # nats, above which two or three digits are printed


def confusion(
    truth: Int64, predicted: Int64, classes: int, weights: Float64 | None = None
) -> ExactArray:
    """Count rows by actual class (first axis) and prediction, weighted: (C + 1, C + 1).

    The last row is for labels that are not a class (-1), the last column for rows without a
    prediction.
    """
    cells = (truth % (classes + 1)) * (classes + 1) + predicted % (classes + 1)
    batch = Batch(cells, (classes + 1) ** 2, NONE if weights is None else weights)
    limbs = class_weights(batch)
    return ExactArray(limbs.limbs.reshape(classes + 1, classes + 1, -1), limbs.low)


@dataclass(frozen=True)
class Hits:
    """Counts for each label: true positives, false positives and false negatives."""

    # right, extra, missed: (L,) rows, in that order
    right: npt.NDArray[Any]
    extra: npt.NDArray[Any]
    missed: npt.NDArray[Any]

    @property
    def precision(self) -> Float64:
        """right / (right + extra); NaN for a label that is never predicted."""
        return _ratios(self.right, self.right + self.extra)

    @property
    def recall(self) -> Float64:
        """right / (right + missed); NaN for a label that no row has."""
        return _ratios(self.right, self.right + self.missed)

    @property
    def f1(self) -> Float64:
        """2 right / (2 right + extra + missed); NaN for a label without rows and predictions."""
        return _ratios(2 * self.right, 2 * self.right + self.extra + self.missed)

    @property
    def micro_f1(self) -> float:
        """F1 of the counts of all labels, added up."""
        hits, errors = self.right.sum(), self.extra.sum() + self.missed.sum()
        return _ratio(2 * hits, 2 * hits + errors)


def known_mean(values: Float64) -> float:
    """The mean of the values that are not NaN; NaN if there are none."""
    finite = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        return float(finite.mean()) if len(finite) else math.nan


def _average(values: Float64) -> float:
    """As `known_mean`, rounded once."""
    finite = values[~np.isnan(values)]
    return _ratio(math.fsum(finite), len(finite)) + 0.0


def _ratios(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Float64:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else math.nan


def _plain(weight: float) -> float:
    """An int, if the weight is whole."""
    return int(weight) if weight == math.floor(weight) else float(weight)


# ---- one positive class --------------------------------------------------------------------------


@dataclass(frozen=True)
class Decision:
    """The result of classifying some rows as positive."""

    # smallest probability of a row that is flagged; None if the model's predictions are used
    threshold: float | None
    positives: float  # rows of the positive class
    flagged: float  # rows classified as positive
    caught: float  # rows that are both

    @property
    def missed(self) -> float:
        """False negatives: rows that are positive but not flagged."""
        return self.positives - self.caught

    @property
    def false_alarms(self) -> float:
        """False positives: rows that are flagged but not positive."""
        return self.flagged - self.caught

    @property
    def recall(self) -> float:
        """Share of the positive rows that are flagged; NaN if there are none."""
        return _ratio(self.caught, self.positives)

    @property
    def precision(self) -> float:
        """Share of the flagged rows that are positive; NaN if there are none."""
        return _ratio(self.caught, self.flagged)

    def as_json(self) -> dict[str, float | None]:
        """All values, as JSON."""
        names = ("threshold", "recall", "precision", "flagged", "caught", "missed", "false_alarms")
        return {name: getattr(self, name) for name in names}


class Ranking:
    """Rows ranked by the probability of the positive class.

    Parameters
    ----------
    chance : (n,) P(positive | x).
    truth : (n,) whether the rows are positive.
    weights : (n,), or None if each row weighs 1.

    Attributes
    ----------
    levels : (k,) the distinct probabilities, decreasing.
    flagged, caught : (k,) rows with at least that probability, and those of them that are
        positive.
    """

    def __init__(self, chance: Float64, truth: Truths, weights: Float64 | None = None) -> None:
        levels, rows, positives = by_probability(chance, truth, weights)
        self.levels = levels[::-1]
        self.flagged, self.caught = np.cumsum(rows[::-1]), np.cumsum(positives[::-1])
        self.rows, self.positives = rows.sum().item(), positives.sum().item()

    @property
    def prevalence(self) -> float:
        """Share of positive rows: the expected average precision of a random ranking."""
        return _ratio(self.positives, self.rows)

    def auc(self) -> float:
        """Area under the ROC curve: P(a positive row ranks above a negative one); ties count ½."""
        negatives = self.rows - self.positives
        if not self.positives or not negatives:
            return math.nan
        above = np.append(0, self.caught[:-1])
        below = np.diff(self.flagged - self.caught, prepend=0)  # negative rows of each probability
        pairs = (below * (above + self.caught)).sum().item()
        return float(pairs / (2 * self.positives * negatives))

    def auc_standard_error(self) -> float:
        """Standard error of the AUC (DeLong, DeLong & Clarke-Pearson 1988), ties count half."""
        positives = np.diff(self.caught, prepend=0)
        negatives = np.diff(self.flagged, prepend=0) - positives
        m, n = self.positives, self.rows - self.positives
        if m < 2 or n < 2:
            return math.nan
        # of each negative row: positive rows above it; of each positive row: negative ones below
        above = (np.cumsum(positives) - positives / 2) / m
        below = 1.0 - (np.cumsum(negatives) - negatives / 2) / n
        auc = self.auc()
        variances = (
            float(weights @ (part - auc) ** 2) / (size - 1) / size
            for weights, part, size in ((positives, below, m), (negatives, above, n))
        )
        return math.sqrt(sum(variances))

    def average_precision(self) -> float:
        """Σ (recall_k - recall_{k-1}) · precision_k over the probabilities, decreasing."""
        if not self.positives:
            return math.nan
        hits = np.diff(self.caught, prepend=0)
        return math.fsum(hits * (self.caught / self.flagged)) / self.positives

    def roc(self) -> tuple[Float64, Float64, Float64]:
        """Return the ROC curve: (false positive rate, true positive rate, thresholds).

        (k + 1,) each, in the order of decreasing thresholds; the first is infinite, and flags no
        row. NaN if no row is negative, or none positive.
        """
        negatives = self.rows - self.positives
        extra = np.append(0, self.flagged - self.caught)
        caught = np.append(0, self.caught)
        return (
            _ratios(extra, np.full(len(extra), negatives)),
            _ratios(caught, np.full(len(caught), self.positives)),
            np.append(np.inf, self.levels),
        )

    def precision_recall(self) -> tuple[Float64, Float64, Float64]:
        """Return the precision-recall curve: (precision, recall, thresholds).

        (k + 1,), (k + 1,) and (k,), in the order of increasing thresholds; the last point is
        precision 1 and recall 0, without a threshold. Recall is NaN if no row is positive.
        """
        recall = _ratios(self.caught, np.full(len(self.caught), self.positives))
        precision = _ratios(self.caught, self.flagged)
        return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), self.levels[::-1]

    def at(self, threshold: float) -> Decision:
        """Flag the rows with at least this probability."""
        return self._decision(threshold, int((self.levels >= threshold).sum()))

    def at_recall(self, recall: float) -> Decision:
        """Flag rows by the highest threshold that reaches this recall, with few digits.

        Raises ValueError if no row is positive.
        """
        if not self.positives:
            raise ValueError("no row is positive: there is no recall")
        n_needed = math.ceil(Fraction(str(recall)) * self.positives)
        count = int(np.searchsorted(self.caught, n_needed)) + 1
        next_lower = float(self.levels[count]) if count < len(self.levels) else -math.inf
        return self._decision(_shortest(next_lower, float(self.levels[count - 1])), count)

    def _decision(self, threshold: float, count: int) -> Decision:
        """Flag the rows with the `count` highest distinct probabilities."""
        totals = self.flagged, self.caught
        flagged, caught = (np.append(0, total)[count].item() for total in totals)
        return Decision(threshold, self.positives, flagged, caught)


def _shortest(low: float, high: float) -> float:
    """The number with the fewest digits that is above `low`, and at most `high`."""
    for digits in range(1, 18):
        context = Context(prec=digits, rounding=ROUND_FLOOR)
        rounded = float(context.create_decimal(Decimal(high)))
        if low < rounded:
            return rounded
    return high


# ---- one label per row ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Scores:
    """Scores of predictions for labelled rows; rows of weight w count as w rows.

    Attributes
    ----------
    rows : their weight.
    unknown : weight of the rows whose label is not a class of the model: each counts as an error.
    accuracy : share of rows whose label was the most probable one.
    log_loss : mean -log P(label | x) in nats, without unknown rows.
    baseline_log_loss : log-loss of the class frequencies of the training data, whatever the prior
        of the model; in cross-validation, of all rows.
    brier : mean Σ_c (P(c | x) - I(c = label))², from 0 to 2; NaN if not known.
    baseline_accuracy : accuracy of the majority class of the same rows.
    calibration : Reliability of the predicted classes; None for multilabel predictions.
    classes : (C,) labels; None if only accuracy, log-loss and calibration are known.
    confusion : (C, C) rows of class i that were predicted as class j.
    mistaken : (C,) rows with an unknown label, by predicted class.
    open : (C,) rows of each class for which the model abstained.
    positive : position of the positive class. By default, of two classes the one with fewer
        training rows, and None if there are more.
    rankings : Ranking of the rows that are not unknown by the probability of a class, by the
        position of the class.
    log_loss_standard_error, brier_standard_error : of means over the rows.
    folds : number of folds of cross-validation; None if it differs, or for new data.
    method : "cross-validation", with the column that rows were split by; or "forward validation".
    caveat : which choices were made on all rows, and the consequence; empty if none were.
    """

    rows: float
    unknown: float
    accuracy: float
    log_loss: float
    baseline_log_loss: float
    brier: float
    baseline_accuracy: float
    calibration: Reliability | None
    classes: Labels | None = None
    confusion: npt.NDArray[Any] = field(default_factory=lambda: np.empty((0, 0)))
    mistaken: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0))
    open: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0))
    positive: int | None = None
    rankings: Mapping[int, Ranking] = field(default_factory=dict)
    log_loss_standard_error: float = math.nan
    brier_standard_error: float = math.nan
    folds: int | None = None
    method: str = "cross-validation"
    caveat: str = ""

    @property
    def title(self) -> str:
        """The method with the number of folds, if known."""
        return self.method if self.folds is None else f"{self.folds}-fold {self.method}"

    @property
    def ranking(self) -> Ranking | None:
        """The ranking by the probability of the positive class; None if not known."""
        return None if self.positive is None else self.rankings.get(self.positive)

    @property
    def error(self) -> float:
        """Share of rows whose label was not the most probable one."""
        if self.classes is None:
            return 1.0 - self.accuracy
        return _ratio(self.rows - np.diag(self.confusion).sum(), self.rows)

    @property
    def accuracy_standard_error(self) -> float:
        """√(a (1 - a) / n) of the accuracy a."""
        return math.sqrt(_ratio(self.accuracy * (1.0 - self.accuracy), self.rows))

    @property
    def worse_than_prior(self) -> bool:
        """Whether the labels are clearly more likely by the baseline than by the model."""
        return (self.rows - self.unknown) * (self.log_loss - self.baseline_log_loss) > REFUTED

    @property
    def by_class(self) -> Hits:
        """True positives, false positives and false negatives of each class."""
        hits = np.diag(self.confusion)
        false_positives = self.confusion.sum(axis=0) + self.mistaken - hits
        return Hits(hits, false_positives, self.confusion.sum(axis=1) + self.open - hits)

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes with rows; unknown labels count as a class of recall 0."""
        return _average(np.append(self.by_class.recall, self._of_unknown))

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the classes with rows or predictions; unknown labels count as one of F1 0."""
        return _average(np.append(self.by_class.f1, self._of_unknown))

    @property
    def _of_unknown(self) -> float:
        return 0.0 if self.mistaken.any() else math.nan

    def predicted(self) -> Decision:
        """Flag the rows that the model predicts as the positive class."""
        positive = self.positive
        rows, n_flagged = self.confusion[positive].sum(), self.confusion[:, positive].sum()
        caught = self.confusion[positive, positive].item()
        return Decision(None, rows.item(), n_flagged.item(), caught)

    def as_json(self) -> dict[str, Any]:
        """All scores as JSON values, without those that are not known."""
        labels = [] if self.classes is None else self.classes.tolist()
        values: dict[str, Any] = {"rows": self.rows, "unknown": self.unknown}
        names = ["accuracy", "accuracy_standard_error", "log_loss", "log_loss_standard_error"]
        if self.classes is not None:
            names += ["brier", "brier_standard_error", "balanced_accuracy", "macro_f1"]
        values |= {name: getattr(self, name) for name in names}
        if self.calibration is not None:
            values |= {
                "calibration_error": self.calibration.error,
                "calibration_standard_error": self.calibration.standard_error,
                "calibration_error_if_calibrated": self.calibration.if_calibrated,
            }
        names = ["baseline_accuracy", "baseline_log_loss", "worse_than_prior"]
        values |= {name: getattr(self, name) for name in names}
        if self.positive is not None and self.ranking is not None:
            values["positive"] = labels[self.positive]
            values["auc"] = self.ranking.auc()
            values["auc_standard_error"] = self.ranking.auc_standard_error()
            values["average_precision"] = self.ranking.average_precision()
        if self.classes is not None:
            values |= {"classes": labels, "confusion": self.confusion.tolist()}
        if self.folds is not None:
            values |= {"folds": self.folds, "method": self.method}
        if self.caveat:
            values["caveat"] = self.caveat
        return values


class Tally:
    """Sums over predictions and labels, for `Scores`; tallies add up (`+`).

    `log_prior`: (C,) log of the class frequencies, the baseline; None if there is none. `majority`:
    position of the majority class of the training rows; None for that of the rows added.
    `positive`: position of the positive class; None if there is none. `ranked`: positions of
    classes to rank the rows by, each against all others; by default the positive one.
    """

    def __init__(
        self, classes: Labels, log_prior: Float64 | None = None, majority: int | None = None,
        positive: int | None = None, ranked: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self.classes, self.log_prior = classes, log_prior
        self.majority, self.positive = majority, positive
        self.ranked = [*ranked] if ranked or positive is None else [positive]
        self.counts = ExactArray.zeros((len(classes) + 1, len(classes) + 1))
        names = ("sum", "square", "missing")
        self.sums = {name: ExactArray.zeros((1, SEEN + 1)) for name in names}
        self.confidences: list[tuple[Float64, Truths, Float64]] = []
        """Of each batch P(predicted class | x), whether it is the label, and weights;"""
        self.chances: list[tuple[Float64, Int64, Float64]] = []
        """P(c | x) of the ranked classes, (n, k), the class of the label, and weights."""

    @classmethod
    def of_model(
        cls, model: Model, positive: int | None = None, ranked: Sequence[int] = ()
    ) -> Self:
        """A tally for a model; by default, of two classes the one with less weight is positive."""
        if positive is None:
            positive = positive_class(model.class_weight.rounded())
        frequencies = Prior().estimate(model.class_weight, model.classes)
        return cls.beside(model.classes, frequencies, positive, ranked)

    @classmethod
    def beside(
        cls, classes: Labels, frequencies: Float64, positive: int | None = None,
        ranked: Sequence[int] = (),
    ) -> Self:  # fmt: skip
        """A tally beside the baseline of these class frequencies, (C,)."""
        with np.errstate(divide="ignore"):
            log_prior = np.log(frequencies)
        most_frequent = int(frequencies.argmax()) if len(frequencies) else None
        return cls(classes, log_prior, most_frequent, positive, ranked)

    def add(
        self, truth: Int64, log_proba: Float64 | None, predicted: Int64 | None = None, *,
        seen: Truths | None = None, weights: Float64 | None = None,
    ) -> tuple[Float64, Float64]:  # fmt: skip
        """Add rows.

        `truth`: (n,) position of each row's class, -1 for a label that is not a class. `log_proba`:
        (n, C) log P(c | x); None for a classifier without probabilities. `predicted`: (n,)
        positions of predicted classes; the most probable ones by default. `seen`: (n,) whether the
        model had training rows of the row's class; by default, where `truth` is not -1. Returns
        (-log P(label | x) in nats, 1 where the prediction is wrong, else 0), (n,) each; losses are
        NaN without probabilities.
        """
        n = len(truth)
        if predicted is None:
            assert log_proba is not None
            predicted = log_proba.argmax(axis=1)
        seen = truth >= 0 if seen is None else seen
        correct, row_scores = predicted == truth, np.full((n, SEEN + 1), np.nan)
        weighted = np.arange(n) if weights is None else np.flatnonzero(weights > 0)
        mass = NONE if weights is None else weights[weighted]
        if log_proba is not None:
            proba, is_class = np.exp(log_proba), truth >= 0
            row_scores[:, LOSS] = np.where(seen, -log_proba[np.arange(n), truth], np.nan)
            row_scores[:, BRIER] = (proba**2).sum(axis=1) + 1.0
            row_scores[is_class, BRIER] -= 2.0 * proba[is_class, truth[is_class]]
            confidence = np.minimum(proba.max(axis=1), 1.0)
            self.confidences.append((confidence[weighted], correct[weighted], mass))
            if self.ranked:
                labelled = weighted[seen[weighted]]
                self.chances.append((
                    proba[labelled][:, self.ranked], truth[labelled],
                    NONE if weights is None else weights[labelled],
                ))  # fmt: skip
        if self.log_prior is not None:
            row_scores[seen, PRIOR_LOSS] = -self.log_prior[truth[seen]]
        row_scores[:, SEEN] = seen
        losses = row_scores[:, LOSS].copy()
        for loss, infinite in ((LOSS, INFINITE), (PRIOR_LOSS, PRIOR_INFINITE)):
            values = row_scores[:, loss]
            row_scores[:, infinite] = np.where(np.isnan(values), np.nan, np.isinf(values))
            values[np.isinf(values)] = np.nan
        batch = Batch(np.zeros(len(weighted), np.int64), 1, mass)
        sums = sum_powers(row_scores[weighted], batch, SERIAL, squares=True)
        self.sums = {name: total + sums[name] for name, total in self.sums.items()}
        self.counts += confusion(truth[weighted], predicted[weighted], len(self.classes), mass)
        return losses, (~correct).astype(np.float64)

    def __add__(self, other: Tally) -> Tally:
        total = copy.copy(self)
        total.counts = self.counts + other.counts
        total.sums = {name: total_sum + other.sums[name] for name, total_sum in self.sums.items()}
        total.confidences = self.confidences + other.confidences
        total.chances = self.chances + other.chances
        return total

    def _rankings(self) -> dict[int, Ranking]:
        chances, truth, weights = _joined(self.chances)
        columns = chances.T if self.chances else [chances] * len(self.ranked)
        return {
            c: Ranking(chance, truth == c, weights)
            for c, chance in zip(self.ranked, columns, strict=True)
        }

    def scores(self) -> Scores:
        """The scores of all rows added."""
        counts = self.counts.rounded()
        if (counts == np.floor(counts)).all():
            counts = counts.astype(np.int64)
        matrix, rows = counts[:-1, :-1], counts.sum()
        sums, missing = self.sums["sum"].rounded()[0], self.sums["missing"].rounded()[0]
        weight = self.counts.summed(0).summed(0).repeated(1, 0)
        variance = Moments(self.sums, weight).variance(1)[0]
        present = rows - missing

        def mean(finite: int, infinite: int) -> float:
            return math.inf if sums[infinite] > 0 else _ratio(sums[finite], present[infinite])

        def error(of: int, infinite: int) -> float:
            return math.nan if sums[infinite] > 0 else math.sqrt(_ratio(variance[of], present[of]))

        class_rows = counts[:-1].sum(axis=1)
        most_frequent = self.majority
        if most_frequent is None and len(class_rows):
            most_frequent = class_rows.argmax()
        return Scores(
            rows=_plain(rows),
            unknown=_plain(rows - sums[SEEN]),
            accuracy=_ratio(np.diag(matrix).sum(), rows),
            log_loss=mean(LOSS, INFINITE),
            baseline_log_loss=mean(PRIOR_LOSS, PRIOR_INFINITE),
            brier=_ratio(sums[BRIER], present[BRIER]),
            baseline_accuracy=math.nan
            if most_frequent is None
            else _ratio(class_rows[most_frequent], rows),
            calibration=Reliability.of(*_joined(self.confidences)),
            classes=self.classes,
            confusion=matrix,
            mistaken=counts[-1, :-1],
            open=counts[:-1, -1],
            positive=self.positive,
            rankings=self._rankings(),
            log_loss_standard_error=error(LOSS, INFINITE),
            brier_standard_error=math.sqrt(_ratio(variance[BRIER], present[BRIER])),
        )


def _joined(batches: list[tuple[Float64, Any, Float64]]) -> tuple[Float64, Any, Float64 | None]:
    """Concatenate batches of (probabilities, outcomes, weights or none)."""
    if not batches:
        return np.empty(0), np.empty(0, bool), None
    chance, outcomes, weights = map(np.concatenate, zip(*batches, strict=True))
    return chance, outcomes, weights if len(weights) else None


class RuleScores(NamedTuple):
    """Scores of labels with abstentions; NaN without rows."""

    share_open: float  # share of rows for which the rule abstains
    accuracy: float  # share of correct labels among the other rows
    mean_cost: float  # mean over the rows with a prediction whose label is a class of the model

    @classmethod
    def of(cls, confusion: ExactArray, costs: Float64 | None) -> RuleScores:
        """From a confusion matrix, (C + 1, C + 1), and a matrix of costs, (C, C)."""
        counts = confusion.rounded()
        rows, left_open, decided = counts.sum(), counts[:, -1].sum(), counts[:-1, :-1]
        cost = math.nan if costs is None else math.fsum((costs * decided).ravel())
        hits = np.diag(decided).sum()
        accuracy, mean_cost = _ratio(hits, rows - left_open), _ratio(cost, decided.sum())
        return cls(_ratio(left_open, rows), accuracy, mean_cost)


class RuleTally:
    """Confusion matrices of a decision rule, and of the rules to compare it with.

    These are the most probable class (as_predicted), and for costs with abstention (by_rule) the
    least expected cost alone (by_cost).
    """

    def __init__(self, rule: DecisionRule, classes: int) -> None:
        self.rule, self.classes = rule, classes
        self.rules = {"as_predicted": DecisionRule()}
        if rule.costs is not None and rule.unsure is not None:
            self.rules["by_cost"] = replace(rule, unsure=None)
        self.rules["by_rule"] = rule
        shape = classes + 1, classes + 1
        self.counts = {name: ExactArray.zeros(shape) for name in self.rules}

    def add(self, truth: Int64, log_proba: Float64) -> None:
        """Add rows: positions of their classes, -1 if unknown, and log P(c | x), (n, C)."""
        likeliest, proba = log_proba.argmax(axis=1), np.exp(log_proba)
        for name, rule in self.rules.items():
            codes = rule.codes(proba, likeliest)
            self.counts[name] = self.counts[name] + confusion(truth, codes, self.classes)

    def scores(self) -> dict[str, RuleScores]:
        """Scores of each rule."""
        costs = self.rule.costs
        return {name: RuleScores.of(counts, costs) for name, counts in self.counts.items()}


# ---- multilabel ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelScores:
    """Scores of multilabel predictions."""

    labels: list[str]  # (L,) of the model, then labels of the rows that the model does not have
    hits: Hits  # of each label
    # rows, exact: number of rows, and of those with exactly the right labels
    rows: int
    exact: int
    # log_loss, baseline_log_loss: nats per row, summed over the labels of the model; baseline: the
    # training frequency of each label
    log_loss: float
    baseline_log_loss: float

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the labels with rows or predictions."""
        return _average(self.hits.f1)

    def as_json(self) -> dict[str, Any]:
        """All scores, as JSON."""
        names = "right", "extra", "missed", "precision", "recall", "f1"
        columns = [getattr(self.hits, name).tolist() for name in names]
        return {
            "rows": self.rows,
            "micro_f1": self.hits.micro_f1,
            "macro_f1": self.macro_f1,
            "exact": self.exact / self.rows,
            "log_loss": self.log_loss,
            "baseline_log_loss": self.baseline_log_loss,
            "labels": {
                label: dict(zip(names, values, strict=True))
                for label, *values in zip(self.labels, *columns, strict=True)
            },
        }


class LabelTally:
    """Sums over multilabel predictions and labels, for `LabelScores`."""

    def __init__(self, labels: Sequence[str], log_prior: Float64) -> None:
        self.labels, self.log_prior = list(labels), log_prior
        self.counts = np.zeros((3, len(self.labels)), np.int64)
        self.rows = self.exact = 0
        self.losses = ExactArray.zeros((1, 2))
        self.unknown: Counter[str] = Counter()

    def add(self, lists: Sequence[Sequence[str]], predicted: Truths, log_odds: Float64) -> None:
        """Add rows.

        `predicted, log_odds`: (n, L) whether each label of the model is predicted, and its
        log-odds.
        """
        positions = {label: k for k, label in enumerate(self.labels)}
        truth, labels_known = np.zeros(predicted.shape, bool), np.ones(len(predicted), bool)
        for i, row_labels in enumerate(lists):
            truth[i, [positions[label] for label in row_labels if label in positions]] = True
            unseen = [label for label in row_labels if label not in positions]
            self.unknown.update(unseen)
            labels_known[i] = not unseen
        matrices = truth & predicted, ~truth & predicted, truth & ~predicted
        self.counts += [array.sum(axis=0) for array in matrices]
        self.rows += len(predicted)
        self.exact += int(((truth == predicted).all(axis=1) & labels_known).sum())
        odds = log_odds, np.broadcast_to(self.log_prior, predicted.shape)
        losses = [np.logaddexp(0.0, np.where(truth, -array, array)).sum(axis=1) for array in odds]
        batch = Batch(np.zeros(len(predicted), np.int64), 1)
        self.losses = self.losses + sum_powers(np.column_stack(losses), batch, SERIAL)["sum"]

    def scores(self) -> LabelScores:
        """The scores of all rows added; at least one is needed."""
        unknown_counts = np.array([*self.unknown.values()], np.int64)
        zeros = np.zeros_like(unknown_counts)
        columns = zip(self.counts, (zeros, zeros, unknown_counts), strict=True)
        losses = self.losses.rounded()[0] / self.rows
        return LabelScores(
            self.labels + list(self.unknown), Hits(*map(np.concatenate, columns)), self.rows,
            self.exact, *losses.tolist(),
        )  # fmt: skip


# ---- two models on the same rows -----------------------------------------------------------------


class Margin(NamedTuple):
    """The difference of two models' losses: mean over rows, and standard error."""

    mean: float
    error: float

    def beyond(self, errors: float) -> bool:
        """Whether the mean is above so many standard errors."""
        return self.mean > errors * self.error or self.mean == math.inf

    def __str__(self) -> str:
        """A difference of log-losses, in nats ± its standard error."""
        if not math.isfinite(self.mean):
            return "∞" if self.mean > 0 else "-∞"
        if self.mean == self.error == 0.0:
            return "0"
        if abs(self.mean) >= LARGE:
            return f"{self.mean:+.2g} ±{self.error:.1g}"
        digits = 3 if self.error >= 0.001 else 4
        return f"{self.mean:+.{digits}f} ±{self.error:.{digits}f}"


def loss_cell(loss: float) -> str:
    """Format a log-loss in nats."""
    return f"{loss:.4f}" if loss < LARGE else f"{loss:.3g}"


def margin(more: Float64, less: Float64) -> Margin:
    """The mean of `more - less` over the rows that have both, and its standard error.

    The rows of a fold share a model, which this standard error ignores: it is a little too small.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        differences = more - less
        differences[np.abs(differences) <= ROUNDING * np.maximum(np.abs(less), 1.0)] = 0.0
        differences = differences[~np.isnan(differences)]
        if len(differences) < 2:
            return Margin(0.0, math.inf)
        error = differences.std(ddof=1) / math.sqrt(len(differences))
        return Margin(float(differences.mean()), float(error))


def clearly_less(less: Float64, more: Float64) -> bool:
    """Whether the losses `less` are clearly smaller, by a difference that matters."""
    difference = margin(more, less)
    return difference.beyond(CLEAR) and difference.mean >= MUCH * known_mean(more)
