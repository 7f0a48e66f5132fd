"""What a diagnosis comes to, in a few plain sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from naively.diagnosis.pairs import Pair
from naively.diagnosis.results import Result
from naively.ladder.trial import Difference, difference
from naively.markup import magnitude

FUNCTION = 0.995  # correlation, beyond which one column all but follows from the other
MUCH = 0.95  # part of the errors that is worth naming another rung
CLEAR = 2.0  # standard errors, beyond which a difference is clear
LARGE = 1000  # nats, beyond which two digits say enough
FEW = 5  # rows a parameter, below which more rows are worth having


@dataclass(frozen=True)
class Choice:
    """The rungs that matter.

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
    """

    naive: Result
    best: Result
    clear: bool
    advised: Result
    prior: Result
    sure: bool


def choice(rungs: Sequence[Result]) -> Choice:
    """The rungs that matter, of those that were estimated."""
    tried = [one for one in rungs if not one.reason]
    prior = next(one for one in tried if not one.use)
    naive = next((one for one in tried if one.name == "naive Bayes"), prior)
    best = min(tried, key=lambda one: one.log_loss)
    for one in tried:
        more = difference(one.losses, best.losses)
        plain = best.name == f"shrunk {one.name}" and not _beyond(more, CLEAR)
        if plain and one.rows_per_parameter >= FEW:
            best = one
    gained = difference(naive.losses, best.losses)
    advised = naive
    if _beyond(gained, CLEAR) or (_beyond(gained, 1.0) and best.error <= naive.error):
        advised = best
    sure = _beyond(difference(prior.losses, best.losses), CLEAR)
    if not sure:  # the losses of a few rows may be huge: labels can tell where they do not
        least = _least(tried, naive)
        advised = next((one for one in (advised, least) if _errs_less(one, prior)), prior)
    return Choice(naive, best, _beyond(gained, CLEAR), advised, prior, sure)


def _least(tried: Sequence[Result], usual: Result) -> Result:
    """The one that errs least, or the usual one if none errs clearly less."""
    least = min(tried, key=lambda one: one.error)
    return least if _errs_less(least, usual) else usual


def _errs_less(one: Result, other: Result) -> bool:
    """Whether one errs clearly less than another, and so much less that it is worth a word."""
    fewer = difference(other.wrong, one.wrong)
    return _beyond(fewer, CLEAR) and one.error <= MUCH * other.error


def _beyond(found: Difference, errors: float) -> bool:
    """Whether a difference is above so many standard errors."""
    return found[0] > errors * found[1] or found[0] == math.inf


def recommendation(target: str | None, pairs: Sequence[Pair], rungs: Sequence[Result]) -> str:
    """Is the naive assumption true, does it matter, and what to use."""
    said = [_assumption(target, pairs)]
    chosen = choice(rungs)
    if chosen.advised.use and chosen.best.use:
        said.append(_cost(chosen, any(pair.dependent for pair in pairs)))
    return " ".join([*said, _use(chosen), *_trust(chosen), *_labels(chosen, rungs)])


def _assumption(target: str | None, pairs: Sequence[Pair]) -> str:
    """Whether the naive assumption is true."""
    given = "given the class" if target is None else f"given {target!r}"
    if not pairs:
        return "There is one column only: nothing is assumed."
    dependent = [pair for pair in pairs if pair.dependent]
    if not dependent:
        what = f"none of the {len(pairs):,} pairs" if len(pairs) > 1 else "the one pair"
        verb = "shows" if len(pairs) > 1 else "shows no"
        return (
            f"Nothing speaks against the naive assumption: {given}, {what} of columns {verb} more "
            "dependence than chance does."
        )
    first = dependent[0]
    like = f"as strongly as numbers of correlation {first.correlation:.2f}"
    if first.correlation > FUNCTION:
        like = "one almost a function of the other"
    what = (
        f"{len(dependent):,} of {len(pairs):,} pairs of columns depend on each other, most of all"
    )
    if len(pairs) == 1:
        what = "the two columns depend on each other,"
    return (
        f"The naive assumption is false here: {given}, {what} {first.first!r} and "
        f"{first.second!r}, {like}."
    )


def _cost(chosen: Choice, dependent: bool) -> str:
    """Whether that matters."""
    naive, best = chosen.naive, chosen.best
    if best is naive:
        return (
            "No rung of the ladder predicts better than naive Bayes, whose held-out log-loss is "
            f"{naive.log_loss:.3g} nats."
        )
    less = gain(difference(naive.losses, best.losses)).removeprefix("+")
    found = (
        f"naive Bayes has a held-out log-loss of {naive.log_loss:.3g} nats, {best.name} one of "
        f"{best.log_loss:.3g}, which is {less} less"
    )
    if not chosen.clear:
        how = "may" if chosen.advised is best else "does not clearly"
        return f"It {how} matter: {found}."
    return f"{'It matters' if dependent else 'Yet another rung predicts better'}: {found}."


def _use(chosen: Choice) -> str:
    """What to use."""
    advised = chosen.advised
    if not advised.use:
        return (
            "No rung gives clearly better probabilities than the class prior: these rows do not "
            "show that the columns tell anything of the class."
        )
    few = ", which is few" if advised.rows_per_parameter < FEW else ""
    return (
        f"Use {advised.name}, {advised.use}: {magnitude(advised.parameters)} parameters, "
        f"{part(advised.rows_per_parameter)} rows for each{few}."
    )


def _trust(chosen: Choice) -> list[str]:
    """That only the labels are worth something, if the probabilities are not clearly so."""
    advised, prior = chosen.advised, chosen.prior
    if chosen.sure or not advised.use:
        return []
    losses = f"log-loss {advised.log_loss:.3g} against {prior.log_loss:.3g}"
    errors = f"in {advised.error:.2%} of the rows, not {prior.error:.2%}"
    if advised.log_loss > prior.log_loss:
        return [
            f"It is far too sure where it errs: its probabilities are worse than the class prior's "
            f"({losses}). Use its labels alone, which are wrong {errors}."
        ]
    return [
        f"Its probabilities are not clearly better than the class prior's ({losses}), but its "
        f"labels are: they are wrong {errors}."
    ]


def _labels(chosen: Choice, rungs: Sequence[Result]) -> list[str]:
    """Which rung errs clearly less, if one does: probabilities and labels may be at odds."""
    advised = chosen.advised
    least = _least([one for one in rungs if not one.reason], advised)
    if least is advised:
        return []
    return [
        f"For labels rather than probabilities, {least.name} errs less: in {least.error:.2%} of "
        f"the rows, not {advised.error:.2%}."
    ]


def part(value: float) -> str:
    """Rows for each parameter."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def gain(found: Difference) -> str:
    """A difference of log-losses and its standard error."""
    mean, error = found
    if not math.isfinite(mean):
        return "∞" if mean > 0 else "-∞"
    if abs(mean) >= LARGE:
        return f"{mean:+.2g} ±{error:.1g}"
    digits = 3 if error >= 0.001 else 4
    return f"{mean:+.{digits}f} ±{error:.{digits}f}"
