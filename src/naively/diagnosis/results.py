"""How each rung of the ladder does on rows held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from naively.exact import Float64
from naively.ladder.rungs import Rung
from naively.ladder.trial import Trial, mean


@dataclass(frozen=True, eq=False)
class Result:
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


def results(trial: Trial, rungs: Sequence[Rung]) -> list[Result]:
    """How the rungs do, by the number of parameters."""
    found = []
    for rung, curve in zip(rungs, trial.curves(rungs), strict=True):
        parameters = trial.parameters(rung)
        part = trial.rows.total / parameters if parameters.bit_length() < 1000 else 0.0
        log_loss, error = mean(curve.losses), mean(curve.wrong)
        if curve.reason:  # in one split or all
            log_loss = error = np.nan
        found.append(
            Result(
                rung.name, rung.use, rung.option, parameters, part, log_loss, error, curve.reason,
                curve.losses, curve.wrong,
            )
        )  # fmt: skip
    return sorted(found, key=lambda one: one.parameters)
