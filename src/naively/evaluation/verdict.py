"""Recommend one of several models that predicted the same held-out rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from naively.core.exact import Float64
from naively.evaluation.metrics import CLEAR, clearly_less, loss_cell, margin
from naively.evaluation.model_ladder import AUTO, TEXT


@dataclass(frozen=True, eq=False)
class Result:
    """The predictions of a model on held-out rows."""

    name: str  # of the model
    log_loss: float  # mean -log P(y | x) in nats; NaN without probabilities
    error: float  # share of rows whose predicted class is wrong
    losses: Float64  # (n,) -log P(y | x) of each row; NaN for rows without a prediction
    wrong: Float64  # (n,) 1 where the predicted class is wrong, else 0; NaN likewise


class Verdict:
    """Choose among models that predicted the same held-out rows.

    `naive` is the prior if None was passed; `best` has the smallest log-loss, `least` the smallest
    error. It beats naive Bayes, or the prior, if its log-loss is clearly smaller. `advised` is
    naive Bayes, unless the best is clearly better, or better by more than one standard error
    without more errors. Then the default model, or the best where it has a clearly smaller log-loss
    or clearly fewer errors than that. If the best is not clearly better than the prior: the first
    of this model and `least` with clearly fewer errors than the prior; else the prior.
    """

    def __init__(self, results: Sequence[Result], prior: Result, naive: Result | None) -> None:
        self.results, self.prior, self.naive = results, prior, naive or prior
        with_losses = [result for result in results if not math.isnan(result.log_loss)]
        self.best = min(with_losses, key=lambda result: result.log_loss, default=self.naive)
        self.least = min(results, key=lambda result: result.error)
        gain = margin(self.naive.losses, self.best.losses)
        self.beats_naive = gain.beyond(CLEAR)
        improves = gain.beyond(1.0) and self.best.error <= self.naive.error
        self.advised = self.naive
        if self.beats_naive or improves:
            auto = self.default or self.best
            auto_is_worse = margin(auto.losses, self.best.losses).beyond(CLEAR)
            auto_is_worse = auto_is_worse or clearly_less(self.best.wrong, auto.wrong)
            self.advised = self.best if auto_is_worse else auto
        self.beats_prior = margin(prior.losses, self.best.losses).beyond(CLEAR)
        if not self.beats_prior:  # a few huge losses can hide it: compare errors
            alternatives = (self.advised, self.least)
            self.advised = next(
                (model for model in alternatives if clearly_less(model.wrong, prior.wrong)), prior
            )

    @property
    def default(self) -> Result | None:
        """The default model, `AutoBayes` or `TextNB`; None if it was not tried."""
        names = (AUTO, TEXT)
        return next((result for result in self.results if result.name in names), None)

    def lines(self) -> dict[str, str]:
        """The smallest error, the best probabilities and the recommendation."""
        least, best = self.least, self.best
        other = self._other(least, [(result.error, result) for result in self.results])
        error = f"{least.name}, {least.error:.1%}"
        if other is not None:
            gap = margin(100 * other.wrong, 100 * least.wrong)
            error += f"; {other.name} {other.error:.1%}, {_gap(*gap, 1, 'points')}"
        with_losses = [result for result in self.results if not math.isnan(result.log_loss)]
        other = self._other(best, [(result.log_loss, result) for result in with_losses])
        loss = f"{best.name}, log-loss {loss_cell(best.log_loss)}"
        if other is not None:
            gap = margin(other.losses, best.losses)
            loss += f"; {other.name} {loss_cell(other.log_loss)}, {_gap(*gap, 3, 'nats')}"
        return {"least error": error, "best probabilities": loss, "recommendation": self.advice()}

    def _other(self, model: Result, results: Sequence[tuple[float, Result]]) -> Result | None:
        """The model to compare one with: the recommended model, or the runner-up."""
        if model is not self.advised and self.advised is not self.prior:
            return self.advised
        rivals = [pair for pair in results if pair[1] is not model]
        return min(rivals, key=lambda pair: pair[0])[1] if rivals else None

    def advice(self) -> str:
        """The recommended model, and why."""
        advised, prior = self.advised, self.prior
        if advised is prior:
            return "none: no model is clearly better than always predicting the class frequencies"
        if not self.beats_prior:
            is_worse = advised.log_loss > prior.log_loss
            comparison = "worse than" if is_worse else "not clearly better than"
            return (
                f"{advised.name}, for its labels alone: its probabilities are {comparison} the "
                f"class frequencies (log-loss {loss_cell(advised.log_loss)}, "
                f"{loss_cell(prior.log_loss)})"
            )
        if advised is self.best:
            reason = "it has the best probabilities"
            default = self.default or advised
            is_clearly_better = margin(default.losses, advised.losses).beyond(CLEAR)
            if not is_clearly_better and clearly_less(advised.wrong, default.wrong):
                reason += f", and clearly fewer errors than {default.name}"
        else:
            reason = "no model has clearly better probabilities"
        sentence = f"{advised.name}: {reason}"
        labels = self.least if clearly_less(self.least.wrong, advised.wrong) else advised
        if labels is not advised:
            sentence += f"; for labels rather than probabilities, {labels.name}"
        return sentence


def _gap(mean: float, error: float, digits: int, unit: str) -> str:
    """Format a difference of losses, and whether it is within noise."""
    if not math.isfinite(mean) or not math.isfinite(error):
        return "much more" if mean > 0 and not math.isfinite(mean) else "not comparable"
    if mean == error == 0.0:
        return "the same predictions"
    if 0.0 < error < 1.0:  # two significant digits of the standard error, or more
        digits = max(digits, 1 - math.floor(math.log10(error)))
    noise = "beyond noise" if mean > CLEAR * error else "within noise"
    return f"{mean:.{digits}f} ± {error:.{digits}f} {unit} more ({noise})"
