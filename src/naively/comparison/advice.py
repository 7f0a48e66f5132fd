"""What a comparison comes to, in one plain sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from naively.ladder.trial import difference

if TYPE_CHECKING:
    from naively.comparison.comparison import Candidate

CERTAIN = 0.977  # what two standard errors are of a normal distribution
CLEAR = 2.0  # standard errors, beyond which a difference is clear
MUCH = 0.05  # part of the errors, below which a difference is not worth another model
LITTLE = 0.0005  # of the rows
LARGEST = 20.0  # nats: a few rows that are worse still must not hide how the others do
STILL = 0.02  # part of the errors that twice the rows took away, below which more hardly help


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
    verdict = "may be" if less > MUCH * naive.error[-1] else "is"
    said = f"Naive Bayes {verdict} enough here: {found_out}"
    if best is not naive:
        said += f", {best.name}, the best of the others, in {best.error[-1]:.1%}"
    said += ", which is not clearly less" if less > 0 else ""
    return f"{said}{_surest(naive, prior, tried)}; {_more(naive, sizes)}."


def _least(among: Sequence[Candidate]) -> Candidate | None:
    """The one that errs least, the first of equals."""
    return min(among, key=lambda one: one.error[-1], default=None)


def _hardly_better(prior: Candidate, tried: Sequence[Candidate]) -> str:
    """What to say where none errs clearly less than the majority class."""
    said = (
        "None of these errs clearly less than the majority class, which errs in "
        f"{prior.error[-1]:.1%} of other rows"
    )
    if better := _surest(prior, prior, tried):
        return f"{said}{better}."
    return f"{said}: these rows do not show that the columns tell the class."


def _worse(one: Candidate, other: Candidate) -> bool:
    """Whether one errs clearly more than the other, and so much more that it matters."""
    mean, error = difference(one.curve.wrong, other.curve.wrong)
    return mean > CLEAR * error and mean > MUCH * float(one.error[-1])


def _surest(one: Candidate, prior: Candidate, tried: Sequence[Candidate]) -> str:
    """Whether the probabilities of one are worse than the prior, or clearly than another's."""
    loss = one.log_loss[-1]
    if loss > prior.log_loss[-1]:
        return (
            "; its probabilities are worse than those of the majority class (log-loss "
            f"{loss:.3g} against {prior.log_loss[-1]:.3g}): use its labels alone"
        )
    best = min(tried, key=lambda other: np.nan_to_num(other.log_loss[-1], nan=np.inf))
    more, less = (np.minimum(each.curve.losses, LARGEST) for each in (one, best))
    mean, error = difference(more, less)
    if not (mean > CLEAR * error and mean > MUCH * float(np.nanmean(more))):
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
    before = int(np.argmin(np.abs(np.log(np.array(sizes[:-1] or sizes) / sizes[-1]) + np.log(2))))
    gained = one.curve.error[:, before] - one.curve.error[:, -1]
    if len(sizes) < 2 or not np.isfinite(gained).all():
        return "there are too few rows to say whether more would help"
    mean, error = difference(gained, np.zeros(len(gained)))
    name = "it" if one.kind == "naive" else one.name
    step = f"{name}: with {sizes[before]:,} it errs in {one.error[before]:.1%}"
    if mean <= max(STILL * float(one.error[-1]), LITTLE):
        return f"more rows would hardly help {step} already"
    clear = stdtrit(len(gained) - 1, CERTAIN) * error  # few splits: Student's t
    return f"more rows {'would' if mean > clear else 'may'} help {step}"
