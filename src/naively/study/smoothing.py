"""How rows that are left out are predicted with more and more smoothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from naively.exact import Float64, Int64
from naively.model import Model
from naively.study.folds import Folds, Reading, Unlearned

ALPHAS = tuple(10.0 ** (k / 4) for k in range(-12, 9))
"""Smoothing that is tried: 0.001 to 100, four values a power of ten."""


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
    prior_log_loss : what the class prior has, in nats.
    """

    alphas: Float64
    log_loss: Float64
    error: Float64
    prior_log_loss: float
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
    log_loss, error, prior = scores(folds, tests, readings).T
    return SmoothingCurve(
        np.array(alphas, np.float64), log_loss, error, float(prior[0]), folds.whole(), readings
    )


def scores(folds: Folds, tests: Sequence[Int64], readings: Sequence[Reading]) -> Float64:
    """(log-loss, error, log-loss of the class prior) of test rows, a line a reading."""
    weights, codes = folds.rows.weights, folds.codes

    def answer(said: Unlearned) -> Float64:
        weight = np.ones(len(said.rows)) if weights is None else weights[said.rows]
        known = ~said.unknown & (weight > 0)
        wrong = said.log_proba.argmax(axis=1) != codes[said.rows]
        return np.array([
            (said.losses[known] * weight[known]).sum(),
            (-said.log_prior[known] * weight[known]).sum(),
            weight[known].sum(), weight[wrong].sum(), weight.sum(),
        ])  # fmt: skip

    loss, prior, known, wrong, all_ = np.sum(folds.ask(tests, readings, answer), axis=0).T
    with np.errstate(invalid="ignore"):
        return np.column_stack([loss / known, wrong / all_, prior / known])
