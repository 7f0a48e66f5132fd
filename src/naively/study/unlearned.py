"""How a classifier does on rows that it did not learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.calibration import Reliability
from naively.exact import Float64, Int64
from naively.labels import Labels
from naively.markup import counted
from naively.study.folds import Folds, Reading


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

    @property
    def accuracy(self) -> float:
        """Part of the rows whose class was the most probable one."""
        return _mean(self._right, self.weights)

    @property
    def log_loss(self) -> float:
        """Mean -log P(label | x) in nats, of the rows whose class was known."""
        return self._loss(self.log_proba[np.arange(len(self.codes)), self.codes])

    @property
    def prior_log_loss(self) -> float:
        """The same of the class prior, which looks at no column: what there is to beat."""
        return self._loss(self.log_prior)

    @property
    def calibration(self) -> Reliability:
        """The probability of the most probable class beside how often it is the row's own."""
        confidence = np.minimum(np.exp(self.log_proba.max(axis=1)), 1.0)
        return Reliability.of(confidence, self._right > 0, self.weights)

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: see `naively.calibration.Reliability`."""
        return self.calibration.error

    @property
    def folds(self) -> list[LeftOut]:
        """The same of each split alone."""
        places = [np.flatnonzero(self.split == k) for k in range(int(self.split.max()) + 1)]
        return [self._at(place) for place in places]

    @property
    def _right(self) -> Float64:
        return (self.log_proba.argmax(axis=1) == self.codes).astype(np.float64)

    def _loss(self, logs: Float64) -> float:
        counts = ~self.unknown & (self.weights > 0)
        return _mean(-logs[counts], self.weights[counts])

    def _at(self, entries: Int64) -> LeftOut:
        names = ("rows", "split", "log_proba", "codes", "log_prior", "unknown", "weights")
        return replace(self, **{name: getattr(self, name).take(entries, axis=0) for name in names})

    def __str__(self) -> str:
        splits, calibration = len(np.unique(self.split)), self.calibration
        said = [
            f"{len(np.unique(self.rows)):,} rows in {splits} parts, each scored by a model that "
            "did not learn it",
            f"accuracy           {self.accuracy:.2%}",
            f"log-loss (nats)    {self.log_loss:#.4g}",
            f"  of class prior   {self.prior_log_loss:#.4g}",
            f"calibration error  {calibration.error:.2%} ± {calibration.standard_error:.2%}",
        ]
        if self.settings:
            said.insert(0, ", ".join(f"{name}={value!r}" for name, value in self.settings.items()))
        if unknown := int((self.unknown & (self.weights > 0)).sum()):
            said.append(
                f"{counted(unknown, 'row')} of a class that is in one part only: an error each, "
                "but in no log-loss"
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


def _mean(values: Float64, weights: Float64) -> float:
    """The mean by weight; NaN of no rows."""
    return float((values * weights).sum() / weights.sum()) if weights.sum() > 0 else np.nan
