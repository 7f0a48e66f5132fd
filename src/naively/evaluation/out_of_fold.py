"""Score out-of-fold predictions, also as a function of the smoothing parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.labels import Labels
from naively.core.markup import counted
from naively.evaluation.calibration import Reliability
from naively.evaluation.folds import Folds, Reading, Unlearned
from naively.evaluation.metrics import Scores, Tally
from naively.model.model import Model
from naively.rendering import Table, as_text, clean, html_of, on_terminal

ALPHAS = tuple(10.0 ** (k / 4) for k in range(-12, 9))
"""Default grid of the smoothing parameter: 0.001 to 100, four values per power of ten."""
ARRAYS = ("rows", "split", "log_proba", "codes", "unknown", "weights")


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Out-of-fold predictions.

    There is an entry for each held-out row, in the order of the rows; several if several splits
    hold out a row. Rows of weight w count as w rows everywhere.

    If all rows of a class were held out, its rows have probability 0. They count as errors, but
    not in the log-losses, which would be infinite: `unknown` marks them, as in ``naively
    evaluate``. If the training rows have the class and its probability is 0, as with ``alpha=0``,
    the log-loss is infinite.

    Attributes
    ----------
    classes : (C,) the labels of all rows, sorted.
    rows : (m,) position of the row of each entry; 0, 1, 2, ... if each was held out once.
    split : (m,) the split that held it out.
    log_proba : (m, C) log P(c | x), in nats; -inf for classes without training rows.
    codes : (m,) position of the row's label in `classes`.
    frequencies : (C,) share of each class among all rows, which is the baseline.
    unknown : (m,) whether that model had no training rows of the row's class.
    weights : (m,) weight of each row.
    settings : parameters of the classifier that were set for these predictions.
    method : "cross-validation", with the column that rows were split by; or "forward validation".
    """

    classes: Labels
    rows: Int64
    split: Int64
    log_proba: Float64
    codes: Int64
    frequencies: Float64
    unknown: npt.NDArray[np.bool_]
    weights: Float64
    settings: dict[str, Any] = field(default_factory=dict)
    method: str = "cross-validation"

    @property
    def proba(self) -> Float64:
        """P(c | x), (m, C)."""
        return np.exp(self.log_proba)

    @property
    def predicted(self) -> Labels:
        """The most probable class of each row, (m,)."""
        return self.classes[self.log_proba.argmax(axis=1)]

    @property
    def labels(self) -> Labels:
        """The label of each row, (m,)."""
        return self.classes[self.codes]

    @cached_property
    def scores(self) -> Scores:
        """Accuracy, log-loss, Brier score, confusion matrix and so on, with standard errors."""
        positive = 1 if len(self.classes) == 2 else None
        tally = Tally.beside(self.classes, self.frequencies, positive)
        tally.add(
            self.codes, self.log_proba, seen=~self.unknown,
            weights=None if (self.weights == 1.0).all() else self.weights,
        )  # fmt: skip
        return tally.scores()

    @property
    def accuracy(self) -> float:
        """Share of rows whose class was the most probable one."""
        return self.scores.accuracy

    @property
    def log_loss(self) -> float:
        """Mean -log P(label | x) in nats, without unknown rows."""
        return self.scores.log_loss

    @property
    def baseline_log_loss(self) -> float:
        """Log-loss of the class frequencies of all rows as probabilities, in nats."""
        return self.scores.baseline_log_loss

    @property
    def calibration(self) -> Reliability:
        """Confidence beside accuracy, by bins of confidence."""
        reliability = self.scores.calibration
        assert reliability is not None  # only multilabel predictions have none
        return reliability

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: see `naively.evaluation.calibration.Reliability`."""
        return self.calibration.error

    @property
    def folds(self) -> list[OutOfFold]:
        """The predictions of each split."""
        test_rows = [np.flatnonzero(self.split == k) for k in range(int(self.split.max()) + 1)]
        return [
            replace(self, **{name: getattr(self, name).take(fold, axis=0) for name in ARRAYS})
            for fold in test_rows
        ]

    @property
    def _table(self) -> Table:
        """The scores and the baseline."""
        most_frequent = clean(self.classes.tolist()[int(self.frequencies.argmax())], 30)
        notes = [baseline_note(most_frequent)]
        if unknown := int((self.unknown & (self.weights > 0)).sum()):
            rows_alone = counted(unknown, "row")
            notes.append(f"{rows_alone} of a class in one fold only: errors, without log-loss")
        rows = counted(len(np.unique(self.rows)), "row")
        title = f"{len(np.unique(self.split))}-fold {self.method} on {rows}"
        return score_table(self.scores, title, notes)

    @property
    def _heading(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.settings.items())

    def _repr_html_(self) -> str:
        return html_of(self._heading, self._table)

    def __str__(self) -> str:
        heading = self._heading and self._heading + "\n"
        return heading + as_text(on_terminal(self._table))

    def __repr__(self) -> str:
        return (
            f"OutOfFold(accuracy={self.accuracy:.4g}, log_loss={self.log_loss:.4g}, "
            f"rows={len(self.rows)})"
        )


def baseline_note(most_frequent: str) -> str:
    """Explain the baseline of accuracy and log-loss."""
    return f"baseline: always predict {most_frequent}, with the class frequencies as probabilities"


def score_table(scores: Scores, title: str, notes: Sequence[str]) -> Table:
    """Return accuracy, log-loss and calibration error, as far as known, beside the baseline.

    The first of the notes explains the baseline.
    """
    rows = []
    if not math.isnan(scores.accuracy):
        accuracy = with_error(100 * scores.accuracy, 100 * scores.accuracy_standard_error, 1, "%")
        rows.append(["accuracy", accuracy, f"{scores.baseline_accuracy:.1%}"])
    loss = with_error(scores.log_loss, scores.log_loss_standard_error, 4)
    baseline_loss = scores.baseline_log_loss
    rows.append(["log-loss", loss, "·" if math.isnan(baseline_loss) else f"{baseline_loss:.4f}"])
    notes = [*notes]
    if (calibration := scores.calibration) is not None:
        error = with_error(100 * calibration.error, 100 * calibration.standard_error, 1, "%")
        rows.append(["calibration error (ECE)", error, ""])
        notes.insert(1, calibration.note)
    if any("±" in cell for _, cell, _ in rows):
        notes[0] = f"±: standard error; {notes[0]}"
    return Table(title, [title, "model", "baseline"], rows, 1, notes)


def with_error(value: float, error: float, decimals: int, unit: str = "") -> str:
    """Format a score with its standard error, if known."""
    if math.isnan(value):
        return "·"
    margin = f" ± {error:.{decimals}f}{unit}" if math.isfinite(error) else ""
    return f"{value:.{decimals}f}{unit}{margin}"


def out_of_fold(
    folds: Folds, tests: Sequence[Int64], readings: Sequence[Reading]
) -> list[OutOfFold]:
    """Predict the test rows of each split by its model: one result per reading."""
    results = folds.ask(tests, readings, lambda predictions: predictions)
    rows = np.concatenate([np.empty(0, np.int64), *tests])
    split = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
    order = np.argsort(rows, kind="stable")
    rows, split = rows[order], split[order]
    weights = np.ones(len(rows)) if folds.rows.weights is None else folds.rows.weights[rows]
    positions = folds.rows.kept
    row_numbers = rows if positions is None else positions[rows]
    by = folds.rows.split
    method = "cross-validation" if by is None else by.method

    def joined(name: str, reading: int) -> npt.NDArray[Any]:
        parts = [getattr(predictions[reading], name) for predictions in results]
        return np.concatenate(parts).take(order, axis=0)

    return [
        OutOfFold(
            folds.classes, row_numbers, split, joined("log_proba", k), folds.codes[rows],
            folds.frequencies, joined("unknown", k), weights, method=method,
        )
        for k in range(len(readings))
    ]  # fmt: skip


def scores(
    folds: Folds, tests: Sequence[Int64], readings: Sequence[Reading], ranked: Sequence[int] = ()
) -> list[Scores]:
    """Score the test rows of all splits, and rank them by classes: one result per reading."""
    weights = folds.rows.weights

    def answer(predictions: Unlearned) -> Tally:
        tally = Tally.beside(folds.classes, folds.frequencies, ranked=ranked)
        tally.add(
            folds.codes[predictions.rows], predictions.log_proba, seen=~predictions.unknown,
            weights=None if weights is None else weights[predictions.rows],
        )  # fmt: skip
        return tally

    by_split = folds.ask(tests, readings, answer)
    return [reduce(add, tallies).scores() for tallies in zip(*by_split, strict=True)]


# ---- smoothing -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SmoothingCurve:
    """Cross-validation scores as a function of the smoothing parameter l.

    Rows of weight w count as w rows. If all rows of a class were held out, its rows count as
    errors, but not in the log-losses, as in `OutOfFold`.

    Attributes
    ----------
    alphas : (A,) l, increasing.
    log_loss : (A,) mean -log P(label | x) of held-out rows, in nats.
    error : (A,) share of held-out rows whose class was not the most probable one.
    baseline_log_loss : of the class frequencies, in nats.
    """

    alphas: Float64
    log_loss: Float64
    error: Float64
    baseline_log_loss: float
    _whole: Model
    _readings: Sequence[Reading]

    def model(self, place: int) -> Model:
        """The model of all rows with `alphas[place]`."""
        schema, prior = self._readings[place]
        return replace(self._whole.read_as(schema), prior=prior)


def smoothing_curve(
    folds: Folds, tests: Sequence[Int64], alphas: Sequence[float], readings: Sequence[Reading]
) -> SmoothingCurve:
    """Score the test rows of all splits with the reading of each alpha."""
    results = scores(folds, tests, readings)
    log_loss, error = np.array([(result.log_loss, result.error) for result in results]).T
    prior = results[0].baseline_log_loss
    return SmoothingCurve(np.array(alphas, float), log_loss, error, prior, folds.whole(), readings)
