"""Rows predicted by models that did not learn them, and how smoothing changes that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.labels import Labels
from naively.core.model import Model
from naively.evaluation.calibration import Reliability
from naively.evaluation.folds import Folds, Reading, Unlearned
from naively.evaluation.tally import Scores, Tally
from naively.explain.markup import counted
from naively.rendering import aligned

ALPHAS = tuple(10.0 ** (k / 4) for k in range(-12, 9))
"""Smoothing that is tried: 0.001 to 100, four values a power of ten."""
ARRAYS = ("rows", "split", "log_proba", "codes", "log_prior", "unknown", "weights")


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What models said of rows that they did not learn.

    There is an entry for each row that was asked about, in the order of the rows; several where
    several splits ask about a row. Rows of weight w count as w rows everywhere.

    A row whose class the model did not know, since all rows of that class were left out, has
    probability 0 for it. It is an error in the accuracy; it is not in the log-losses, which it
    would make infinite: `unknown` says which there are. So does ``naively evaluate``. Where a
    model knows the class and gives it probability 0, as with ``alpha=0``, the log-loss is infinite.

    Attributes
    ----------
    classes : (C,) the labels of all rows, sorted.
    rows : (m,) the row that each entry is about; 0, 1, 2, ... if each was asked about once.
    split : (m,) which of the splits had left it out.
    log_proba : (m, C) log P(c | x), in nats; -inf for classes that the model did not know.
    codes : (m,) position of the row's own label in `classes`.
    log_prior : (m,) log of the class prior of the row's own label, in nats, by the same model.
    unknown : (m,) whether that model did not know the row's own class.
    weights : (m,) what each row weighs.
    settings : parameters of the classifier that were set for this, if some were.
    """

    classes: Labels
    rows: Int64
    split: Int64
    log_proba: Float64
    codes: Int64
    log_prior: Float64
    unknown: npt.NDArray[np.bool_]
    weights: Float64
    settings: dict[str, Any] = field(default_factory=dict)

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
        """The label that each row has, (m,)."""
        return self.classes[self.codes]

    @cached_property
    def scores(self) -> Scores:
        """Accuracy, log-loss, Brier score, confusion matrix and so on, with standard errors."""
        tally = Tally(self.classes, positive=1 if len(self.classes) == 2 else None)
        tally.add(
            self.codes, self.log_proba, log_prior=self.log_prior, known=~self.unknown,
            weights=None if (self.weights == 1.0).all() else self.weights,
        )  # fmt: skip
        return tally.scores()

    @property
    def accuracy(self) -> float:
        """Part of the rows whose class was the most probable one."""
        return self.scores.accuracy

    @property
    def log_loss(self) -> float:
        """Mean -log P(label | x) in nats, of the rows whose class was known."""
        return self.scores.log_loss

    @property
    def baseline_log_loss(self) -> float:
        """The same of the class prior, which looks at no column: what there is to beat."""
        return self.scores.baseline_log_loss

    @property
    def calibration(self) -> Reliability:
        """The probability of the most probable class beside how often it is the row's own."""
        found = self.scores.calibration
        assert found is not None  # of rows with one label
        return found

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: see `naively.evaluation.calibration.Reliability`."""
        return self.calibration.error

    @property
    def folds(self) -> list[LeftOut]:
        """The same of each split alone."""
        places = [np.flatnonzero(self.split == k) for k in range(int(self.split.max()) + 1)]
        return [
            replace(self, **{name: getattr(self, name).take(place, axis=0) for name in ARRAYS})
            for place in places
        ]

    def _repr_html_(self) -> str:
        """A table of the scores beside those of the baseline, for a notebook."""
        from naively.rendering import Table, as_html  # which loads rich

        found, calibration = self.scores, self.calibration
        error = f"{calibration.error:.1%} ± {calibration.standard_error:.1%}"
        rows = [
            ["accuracy", f"{found.accuracy:.1%}", f"{found.baseline_accuracy:.1%}"],
            ["log-loss", f"{found.log_loss:#.4g}", f"{found.baseline_log_loss:#.4g}"],
            ["calibration error (ECE)", error, f"{calibration.by_chance:.1%}"],
        ]
        notes = [
            f"{len(np.unique(self.rows)):,} rows",
            "baseline: always predict the most frequent class, with the class prior as "
            "probabilities; of the ECE: calibrated probabilities, by chance",
            *[", ".join(f"{name}={value!r}" for name, value in self.settings.items())]
            * bool(self.settings),
        ]
        title = f"{len(np.unique(self.split))}-fold cross-validation"
        return as_html(Table(title, [title, "model", "baseline"], rows, 1, notes))

    def __str__(self) -> str:
        splits, calibration = len(np.unique(self.split)), self.calibration
        said = [
            *aligned(
                (f"{splits}-fold cross-validation", "model", "baseline"),
                [
                    ("accuracy", f"{self.accuracy:.1%}", f"{self.scores.baseline_accuracy:.1%}"),
                    ("log-loss", f"{self.log_loss:#.4g}", f"{self.baseline_log_loss:#.4g}"),
                    (
                        "calibration error (ECE)",
                        f"{calibration.error:.1%} ± {calibration.standard_error:.1%}",
                        f"{calibration.by_chance:.1%}",
                    ),
                ],
            ),
            f"{counted(len(np.unique(self.rows)), 'row')}; baseline: the most frequent class, with "
            "the class frequencies as probabilities",
        ]
        if self.settings:
            said.insert(0, ", ".join(f"{name}={value!r}" for name, value in self.settings.items()))
        if unknown := int((self.unknown & (self.weights > 0)).sum()):
            said.append(
                f"{counted(unknown, 'row')} of a class in one fold only: errors, without log-loss"
            )
        return "\n".join(said)

    def __repr__(self) -> str:
        return (
            f"LeftOut(accuracy={self.accuracy:.4g}, log_loss={self.log_loss:.4g}, "
            f"rows={len(self.rows)})"
        )


def left_out(folds: Folds, tests: Sequence[Int64], readings: Sequence[Reading]) -> list[LeftOut]:
    """What models that learned the rows of each split say of its test rows, a reading each."""
    found = folds.ask(tests, readings, lambda said: said)
    rows = np.concatenate([np.empty(0, np.int64), *tests])
    split = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
    order = np.argsort(rows, kind="stable")
    rows, split = rows[order], split[order]
    weights = np.ones(len(rows)) if folds.rows.weights is None else folds.rows.weights[rows]
    kept = folds.rows.kept
    given = rows if kept is None else kept[rows]

    def joined(name: str, reading: int) -> npt.NDArray[Any]:
        parts = [getattr(said[reading], name) for said in found]
        return np.concatenate(parts).take(order, axis=0)

    return [
        LeftOut(
            folds.classes, given, split, joined("log_proba", k), folds.codes[rows],
            joined("log_prior", k), joined("unknown", k), weights,
        )
        for k in range(len(readings))
    ]  # fmt: skip


def scores(folds: Folds, tests: Sequence[Int64], readings: Sequence[Reading]) -> list[Scores]:
    """How the test rows of all splits are predicted, by each way to read what was counted."""
    weights = folds.rows.weights

    def answer(said: Unlearned) -> Tally:
        tally = Tally(folds.classes)
        tally.add(
            folds.codes[said.rows], said.log_proba, log_prior=said.log_prior, known=~said.unknown,
            weights=None if weights is None else weights[said.rows],
        )  # fmt: skip
        return tally

    by_split = folds.ask(tests, readings, answer)
    return [reduce(add, tallies).scores() for tallies in zip(*by_split, strict=True)]


# ---- smoothing -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SmoothingCurve:
    """What each smoothing l makes of the same counts.

    Rows of weight w count as w rows. Rows whose class a model does not know, since all of them were
    left out, are errors, and do not count in the log-losses: as in `LeftOut`.

    Attributes
    ----------
    alphas : (A,) l, increasing.
    log_loss : (A,) mean -log P(label | x) of rows that were left out in turn, in nats.
    error : (A,) part of them whose class was not the most probable one.
    baseline_log_loss : what the class prior has, in nats.
    """

    alphas: Float64
    log_loss: Float64
    error: Float64
    baseline_log_loss: float
    _whole: Model
    _readings: Sequence[Reading]

    def model(self, place: int) -> Model:
        """The model of all rows with the l at this place."""
        schema, prior = self._readings[place]
        return replace(self._whole.read_as(schema), prior=prior)


def smoothing_curve(
    folds: Folds, tests: Sequence[Int64], alphas: Sequence[float], readings: Sequence[Reading]
) -> SmoothingCurve:
    """The curve of rows that are left out, by how their counts are read with each alpha."""
    found = scores(folds, tests, readings)
    log_loss, error = np.array([(one.log_loss, one.error) for one in found]).T
    prior = found[0].baseline_log_loss
    return SmoothingCurve(np.array(alphas, float), log_loss, error, prior, folds.whole(), readings)
