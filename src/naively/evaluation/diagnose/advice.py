"""What a diagnosis comes to, in a few plain sentences: which model family to use, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from naively.evaluation.compare.rungs import Rung
from naively.evaluation.compare.trial import Trial
from naively.evaluation.diagnose.pairs import ColumnPair
from naively.evaluation.tally import CLEAR, clearly_less, margin
from naively.exact import Float64
from naively.markup import magnitude

FUNCTION = 0.995  # correlation, beyond which one column all but follows from the other
FEW = 5  # rows a parameter, below which more rows are worth having


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
        log_loss = error = math.nan
        if not curve.reason:  # in one split or all
            log_loss, error = curve.scores.log_loss, curve.scores.error
        found.append(
            RungResult(
                rung.name, rung.use, rung.option, parameters, part, log_loss, error, curve.reason,
                curve.losses, curve.wrong,
            )
        )  # fmt: skip
    return sorted(found, key=lambda one: one.parameters)


# ---- a diagnosis: is the naive assumption true, does it matter, and what to use -----------------


class Verdict:
    """The rungs that matter, of those that were estimated.

    Attributes
    ----------
    naive : naive Bayes, by the rule.
    best : the one with the smallest held-out log-loss; without shrinkage, if that is not clearly
        worse, and rows are not few.
    clear : whether the best is clearly better than naive Bayes.
    advised : naive Bayes; or the best if it is clearly better, or better by more than one standard
        error without erring more. If the best is not clearly better than the class prior: that one
        if it errs clearly less than the prior, or the rung that errs least if that one does, or
        the prior.
    prior : the class prior.
    sure : whether the best is clearly better than the class prior.
    least : the rung that errs least; the advised one, if none errs clearly less.
    """

    def __init__(self, rungs: Sequence[RungResult]) -> None:
        tried = [one for one in rungs if not one.reason]
        self.prior = prior = next(one for one in tried if not one.use)
        self.naive = next((one for one in tried if one.name == "naive Bayes"), prior)
        self.best = min(tried, key=lambda one: one.log_loss)
        for one in tried:
            worse = margin(one.losses, self.best.losses).beyond(CLEAR)
            plain = self.best.name == f"shrunk {one.name}"
            if plain and not worse and one.rows_per_parameter >= FEW:
                self.best = one
        gained = margin(self.naive.losses, self.best.losses)
        self.clear = gained.beyond(CLEAR)
        better = gained.beyond(1.0) and self.best.error <= self.naive.error
        self.advised = self.best if self.clear or better else self.naive
        self.sure = margin(prior.losses, self.best.losses).beyond(CLEAR)
        if not self.sure:  # the losses of a few rows may be huge: labels can tell where they do not
            possible = (self.advised, _erring_least(tried, self.naive))
            self.advised = next((one for one in possible if _errs_less(one, prior)), prior)
        self.least = _erring_least(tried, self.advised)


def _erring_least(tried: Sequence[RungResult], usual: RungResult) -> RungResult:
    """The one that errs least, or the usual one if none errs clearly less."""
    least = min(tried, key=lambda one: one.error)
    return least if _errs_less(least, usual) else usual


def _errs_less(one: RungResult, other: RungResult) -> bool:
    return clearly_less(one.wrong, other.wrong)


def recommendation(
    target: str | None,
    pairs: Sequence[ColumnPair],
    rungs: Sequence[RungResult],
    what: str = "columns",
) -> str:
    """Is the naive assumption true, does it matter, and what to use; `what` the pairs are of."""
    said = [_assumption(target, pairs, what)]
    found = Verdict(rungs)
    if found.advised.use and found.best.use:
        said.append(_cost(found, any(pair.dependent for pair in pairs)))
    said += [_use(found), _trust(found), _labels(found)]
    return " ".join(filter(None, said))


def _assumption(target: str | None, pairs: Sequence[ColumnPair], of: str) -> str:
    """Whether the naive assumption is true."""
    given = "given the class" if target is None else f"given {target!r}"
    if not pairs:
        return "There is one column only: nothing is assumed."
    dependent = [pair for pair in pairs if pair.dependent]
    if not dependent:
        what = f"none of the {len(pairs):,} pairs" if len(pairs) > 1 else "the one pair"
        verb = "shows" if len(pairs) > 1 else "shows no"
        return (
            f"Nothing speaks against the naive assumption: {given}, {what} of {of} {verb} more "
            "dependence than chance does."
        )
    first = dependent[0]
    like = f"as strongly as numbers of correlation {first.correlation:.2f}"
    if first.correlation > FUNCTION:
        like = "one almost a function of the other"
    what = f"{len(dependent):,} of {len(pairs):,} pairs of {of} depend on each other, most of all"
    if len(pairs) == 1:
        what = "the two columns depend on each other,"
    return (
        f"The naive assumption is false here: {given}, {what} {first.first!r} and "
        f"{first.second!r}, {like}."
    )


def _cost(found: Verdict, dependent: bool) -> str:
    """Whether that matters."""
    naive, best = found.naive, found.best
    if best is naive:
        return (
            "No rung of the ladder predicts better than naive Bayes, whose held-out log-loss is "
            f"{naive.log_loss:.3g} nats."
        )
    less = str(margin(naive.losses, best.losses)).removeprefix("+")
    losses = (
        f"naive Bayes has a held-out log-loss of {naive.log_loss:.3g} nats, {best.name} one of "
        f"{best.log_loss:.3g}, which is {less} less"
    )
    if not found.clear:
        how = "may" if found.advised is best else "does not clearly"
        return f"It {how} matter: {losses}."
    return f"{'It matters' if dependent else 'Yet another rung predicts better'}: {losses}."


def _use(found: Verdict) -> str:
    """What to use."""
    advised = found.advised
    if not advised.use:
        return (
            "No rung gives clearly better probabilities than the class prior: these rows do not "
            "show that the columns tell anything of the class."
        )
    few = ", which is few" if advised.rows_per_parameter < FEW else ""
    return (
        f"Use {advised.name}, {advised.use}: {magnitude(advised.parameters)} parameters, "
        f"{rows_each(advised.rows_per_parameter)} rows for each{few}."
    )


def _trust(found: Verdict) -> str:
    """That only the labels are worth something, if the probabilities are not clearly so."""
    advised, prior = found.advised, found.prior
    if found.sure or not advised.use:
        return ""
    losses = f"log-loss {advised.log_loss:.3g} against {prior.log_loss:.3g}"
    errors = f"in {advised.error:.2%} of the rows, not {prior.error:.2%}"
    if advised.log_loss > prior.log_loss:
        return (
            f"It is far too sure where it errs: its probabilities are worse than the class prior's "
            f"({losses}). Use its labels alone, which are wrong {errors}."
        )
    return (
        f"Its probabilities are not clearly better than the class prior's ({losses}), but its "
        f"labels are: they are wrong {errors}."
    )


def _labels(found: Verdict) -> str:
    """Which rung errs clearly less, if one does: probabilities and labels may be at odds."""
    advised, least = found.advised, found.least
    if least is advised:
        return ""
    return (
        f"For labels rather than probabilities, {least.name} errs less: in {least.error:.2%} of "
        f"the rows, not {advised.error:.2%}."
    )


def rows_each(value: float) -> str:
    """Rows for each parameter."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"
