"""What a diagnosis and a comparison come to, in a few plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from naively.markup import magnitude
from naively.study.margins import CLEAR, MUCH, clearly_less, margin
from naively.study.pairs import ColumnPair
from naively.study.results import Candidate, RungResult

FUNCTION = 0.995  # correlation, beyond which one column all but follows from the other
FEW = 5  # rows a parameter, below which more rows are worth having
CERTAIN = 0.977  # what two standard errors are of a normal distribution
LITTLE = 0.0005  # of the rows
WORST = 20.0  # nats: a few rows that are worse still must not hide how the others do
STILL = 0.02  # part of the errors that twice the rows took away, below which more hardly help

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


# ---- a comparison: is naive Bayes enough, and would more rows help ------------------------------


def sentence(found: Sequence[Candidate], sizes: Sequence[int]) -> str:
    """Is naive Bayes enough, and would more rows help?"""
    tried = [one for one in found if np.isfinite(one.error[-1])]
    prior = next(one for one in found if one.kind == "prior")
    naive = _least([one for one in tried if one.kind == "naive"])
    best = _least([one for one in tried if one.kind in ("rung", "scikit-learn")])
    top = _least([one for one in (naive, best) if one is not None])
    if top is None or not _worse(prior, top):
        return _hardly_better(prior, tried)
    rows = f"with {sizes[-1]:,} rows learned"
    if naive is None:
        said = f"{top.name} errs least: {rows} in {top.error[-1]:.1%} of other rows"
        return f"{said}{_surest(top, prior, tried)}; {_more(top, sizes)}."
    best = best or naive
    who = "it" if naive.name == "naive Bayes" else f"{naive.name}, the best of its kind,"
    found_out = f"{rows} {who} errs in {naive.error[-1]:.1%} of other rows"
    if _worse(naive, best):
        said = f"Naive Bayes is not enough here: {found_out}, {best.name} in {best.error[-1]:.1%}"
        if ahead := _ahead(naive, best, sizes):
            said += f", though naive Bayes is ahead up to {ahead:,} rows"
        return f"{said}{_surest(best, prior, tried)}; {_more(best, sizes)}."
    less = float(naive.error[-1] - best.error[-1])
    verb = "may be" if less > MUCH * naive.error[-1] else "is"
    said = f"Naive Bayes {verb} enough here: {found_out}"
    if best is not naive:
        said += f", {best.name}, the best of the others, in {best.error[-1]:.1%}"
    said += ", which is not clearly less" if less > 0 else ""
    return f"{said}{_surest(naive, prior, tried)}; {_more(naive, sizes)}."


def _least(among: Sequence[Candidate]) -> Candidate | None:
    """The one that errs least, the first of equals."""
    return min(among, key=lambda one: one.error[-1], default=None)


def _worse(one: Candidate, other: Candidate) -> bool:
    return clearly_less(other.curve.wrong, one.curve.wrong)


def _hardly_better(prior: Candidate, tried: Sequence[Candidate]) -> str:
    """What to say where none errs clearly less than the majority class."""
    if not tried:
        return "No candidate has learned all of the rows: give them more time, or fewer rows."
    said = (
        "None of these errs clearly less than the majority class, which errs in "
        f"{prior.error[-1]:.1%} of other rows"
    )
    if better := _surest(prior, prior, tried):
        return f"{said}{better}."
    return f"{said}: these rows do not show that the columns tell the class."


def _surest(one: Candidate, prior: Candidate, tried: Sequence[Candidate]) -> str:
    """Whether the probabilities of one are worse than the prior, or clearly than another's."""
    loss = one.log_loss[-1]
    if loss > prior.log_loss[-1]:
        return (
            "; its probabilities are worse than those of the majority class (log-loss "
            f"{loss:.3g} against {prior.log_loss[-1]:.3g}): use its labels alone"
        )
    best = min(tried, key=lambda other: np.nan_to_num(other.log_loss[-1], nan=np.inf))
    less, more = (np.minimum(each.curve.losses, WORST) for each in (best, one))
    if not clearly_less(less, more):
        return ""
    return (
        f"; the probabilities of {best.name} are better (log-loss {best.log_loss[-1]:.3g} against "
        f"{loss:.3g})"
    )


def _ahead(naive: Candidate, best: Candidate, sizes: Sequence[int]) -> int:
    """The size up to which naive Bayes errs less; 0 if it does not from the first on."""
    less = naive.error < best.error
    until = len(less) if less.all() else int(np.argmin(less))
    return sizes[until - 1] if until else 0


def _more(one: Candidate, sizes: Sequence[int]) -> str:
    """Whether more rows would help it, by what the last ones brought."""
    if len(sizes) < 2:
        return "one size of training sets does not tell whether more rows would help"
    before = int(np.argmin(np.abs(np.log(np.array(sizes[:-1]) / sizes[-1]) + np.log(2))))
    gained = one.curve.error[:, before] - one.curve.error[:, -1]
    if not np.isfinite(gained).all():
        return "there are too few rows to say whether more would help"
    mean, error = margin(gained, np.zeros(len(gained)))
    name = "it" if one.kind == "naive" else one.name
    step = f"{name}: with {sizes[before]:,} it errs in {one.error[before]:.1%}"
    if mean <= max(STILL * float(one.error[-1]), LITTLE):
        return f"more rows would hardly help {step} already"
    clear = stdtrit(len(gained) - 1, CERTAIN) * error  # few splits: Student's t
    return f"more rows {'would' if mean > clear else 'may'} help {step}"
