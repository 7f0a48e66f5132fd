"""How a rung does on rows held out, and how any classifier does as it learns more rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from naively.exact import Float64
from naively.study.margins import known_mean
from naively.study.rungs import Rung
from naively.study.trial import Curve, Trial


@dataclass(frozen=True, eq=False)
class Candidate:
    """A classifier and its learning curve.

    Attributes
    ----------
    name : str
    use : how to get it in Python; empty for the majority class.
    kind : "prior" (the majority class), "naive" (columns are independent given the class), "rung"
        (another one of the ladder) or "scikit-learn".
    curve : Curve
    """

    name: str
    use: str
    kind: Literal["prior", "naive", "rung", "scikit-learn"]
    curve: Curve

    @property
    def error(self) -> Float64:
        """(K,) mean part of wrong rows, over the splits, for each training size."""
        return self.curve.error.mean(axis=0)

    @property
    def accuracy(self) -> Float64:
        """(K,) mean part of right rows, likewise."""
        return 1.0 - self.error

    @property
    def log_loss(self) -> Float64:
        """(K,) mean -log P(y | x) in nats, likewise."""
        return self.curve.log_loss.mean(axis=0)


def candidate(rung: Rung, curve: Curve) -> Candidate:
    """A rung as one classifier of many."""
    kind: Any = "naive" if rung.naive else "rung" if rung.blocks else "prior"
    return Candidate(candidate_name(rung), rung.use, kind, curve)


def candidate_name(rung: Rung) -> str:
    """What a rung is called among classifiers."""
    if not rung.blocks:
        return "majority class"
    asked = rung.name == "naive Bayes" and not rung.naive  # blocks of columns that share a family
    return "columns as asked" if asked else rung.name


@dataclass(frozen=True, eq=False)
class RungResult:
    """How a rung does on rows that it did not learn.

    Attributes
    ----------
    name : of the rung.
    use : how to get it in Python; empty for the class prior.
    option : of `naively fit`, for the same; None if there is none.
    parameters : free ones, those of the class prior included.
    rows_per_parameter : float
    log_loss : mean -log P(y | x) in nats of held-out rows; NaN if the rung was not estimated.
    error : part of the held-out rows whose class was not the most probable one; NaN likewise.
    reason : why it was not estimated; empty if it was.
    losses : (n,) -log P(y | x) of each row; NaN likewise, and where its class has no other row.
    wrong : (n,) 1 where another class was more probable, else 0; NaN likewise.
    """

    name: str
    use: str
    option: str | None
    parameters: int
    rows_per_parameter: float
    log_loss: float
    error: float
    reason: str
    losses: Float64
    wrong: Float64


def rung_results(trial: Trial, rungs: Sequence[Rung]) -> list[RungResult]:
    """How the rungs do, by the number of parameters."""
    found = []
    for rung, curve in zip(rungs, trial.curves(rungs), strict=True):
        parameters = trial.parameters(rung)
        part = trial.rows.total / parameters if parameters.bit_length() < 1000 else 0.0
        log_loss, error = known_mean(curve.losses), known_mean(curve.wrong)
        if curve.reason:  # in one split or all
            log_loss = error = np.nan
        found.append(
            RungResult(
                rung.name, rung.use, rung.option, parameters, part, log_loss, error, curve.reason,
                curve.losses, curve.wrong,
            )
        )  # fmt: skip
    return sorted(found, key=lambda one: one.parameters)
