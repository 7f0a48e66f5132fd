"""`compare`: learning curves of naive Bayes and its alternatives."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from naively.core.exact import Float64
from naively.core.workers import workers
from naively.evaluation.alternatives import BOOSTING, Alternative, Refits, alternatives
from naively.evaluation.rungs import AUTO, Rung, kinds, ladder, unweighed, weighed
from naively.evaluation.samples import LabelledRows, Report, failures, of_any
from naively.evaluation.tally import loss_cell, margin
from naively.evaluation.trials import Curve, Splits, Trial, alike_of, growing
from naively.evaluation.verdict import Verdict
from naively.families.text.text import Text
from naively.io.inputs import MISSING
from naively.rendering import aligned, left_out
from naively.tables.inference import ColumnOptions, Columns, infer

WIDTH = 100  # characters of a line
SHOWN = 6  # training sizes, in plain text
EVERY = (AUTO, BOOSTING)  # candidates that use columns which the others leave out
CERTAIN = 0.977  # probability of a normal variable below two standard deviations
LITTLE = 0.0005  # share of rows: an error reduction of so little does not matter
STILL = 0.02  # if twice the rows reduce the error by a smaller share of it, more rows hardly help
TAIL = ("±", "log-loss", "seconds")

Progress = Callable[[str, int], AbstractContextManager[Callable[[], None]]]
"""Context manager of (task, number of steps); it returns a function to call after each step."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A classifier and its learning curve.

    Attributes
    ----------
    name : str
    use : Python code for it; empty for the majority class.
    kind : "prior" (the majority class), "naive" (columns are independent given the class), "rung"
        (another model of the ladder) or "scikit-learn".
    curve : Curve
    """

    name: str
    use: str
    kind: Literal["prior", "naive", "rung", "scikit-learn"]
    curve: Curve

    @property
    def error(self) -> Float64:
        """(K,) error rate for each training size: mean over the splits."""
        return self.curve.error.mean(axis=0)

    @property
    def accuracy(self) -> Float64:
        """(K,) accuracy, likewise."""
        return 1.0 - self.error

    @property
    def log_loss(self) -> Float64:
        """(K,) mean -log P(y | x) in nats, likewise."""
        return self.curve.log_loss.mean(axis=0)


def candidate(rung: Rung, curve: Curve) -> Candidate:
    """A model of the ladder as a candidate."""
    kind: Any = "naive" if rung.naive else "rung" if rung.blocks else "prior"
    return Candidate(candidate_name(rung), rung.use, kind, curve)


def candidate_name(rung: Rung) -> str:
    """The name of a model of the ladder among the candidates."""
    if not rung.blocks:
        return "majority class"
    asked = rung.name == "naive Bayes" and not rung.naive  # the user gave columns a joint family
    return "given families" if asked else rung.name


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Report):
    """The result of `compare`.

    Attributes
    ----------
    target, classes, rows, looked_at, unlabelled : as in `Report`.
    left_out : dict, the columns that were not used, with the reason.
    sizes : tuple of int, rows of the training sets.
    splits : number of random splits.
    candidates : list of Candidate: the majority class, naive Bayes and the other models of the
        ladder, then the classifiers of scikit-learn.
    advice : sentences: the smallest error, the best probabilities, a recommendation, and whether
        more rows would help.
    apart : why `AutoBayes` and gradient boosting were not tried; empty if they were.
    """

    left_out: dict[str, str]
    sizes: tuple[int, ...]
    splits: int
    candidates: list[Candidate]
    advice: str
    apart: str = ""

    def __str__(self) -> str:
        shown = places(self.sizes, SHOWN)
        table = aligned(
            heads([self.sizes[k] for k in shown]), [cells(one, shown) for one in self.candidates]
        )
        return "\n".join([textwrap.fill(self.advice, WIDTH), "", *table, "", *notes(self)])

    @property
    def verdict(self) -> dict[str, str]:
        """The sentences of `advice` by topic."""
        return verdict_lines(self.candidates, self.sizes)

    def to_dict(self) -> dict[str, Any]:
        """All attributes as JSON values: null for infinite and unknown ones."""
        candidates = [
            {
                "name": one.name, "use": one.use, "kind": one.kind,
                "error": one.error.tolist(), "log_loss": one.log_loss.tolist(),
                "errors": one.curve.error.T.tolist(), "log_losses": one.curve.log_loss.T.tolist(),
                "seconds": one.curve.seconds, "reason": one.curve.reason,
                "warning": one.curve.warning,
            }
            for one in self.candidates
        ]  # fmt: skip
        return self._as_json(candidates=candidates, verdict=self.verdict)


def compare(
    X: Any,
    y: Any,
    *,
    columns: Columns | None = None,
    estimators: Sequence[Any] = (),
    missing: Sequence[str] = MISSING,
    splits: int = 5,
    seed: int = 0,
    only: Sequence[str] = (),
    seconds: float = math.inf,
    sizes: Sequence[int] = (),
) -> Comparison:
    """Compare learning curves of naive Bayes and its alternatives, and recommend one.

    Rows are assigned to stratified folds at random. Each split holds out one fold, and trains on
    more and more rows of the others, which have every class from the first size on. The models of
    the ladder count each row once, because a larger training set is a sum of smaller ones;
    scikit-learn's classifiers are fitted again for each size. Ng & Jordan (2001) draw such curves
    for naive Bayes and logistic regression.

    Tables of more than 100,000 rows (fewer if they are wide) are sampled.

    Parameters
    ----------
    X : a data frame, Arrow table, dict of columns or array, (n, d); a list or array of n
        documents; or a path of a file, or a list of paths, as the command line takes them.
    y : (n,) labels, or the name of the column that has them. Rows without a label are left out.
    columns : dict, optional
        Families of columns, or "skip", as for `NaiveBayes`.
    estimators : classifiers of scikit-learn to compare too, or their import paths, such as
        ``"sklearn.svm.SVC(C=10)"``.
    missing : spellings of a missing value.
    splits : number of splits, at least 2.
    seed : of the sample and of the splits.
    only : names of the candidates to try, as the table shows them; by default all. The majority
        class is always included.
    seconds : time limit for each candidate. If it is reached, the curve has the sizes so far:
        scikit-learn's classifiers are ended at once, others after the current size.
    sizes : rows of the training sets, at least one of each class; by default 10, 20, 50, 100 and so
        on, and all rows of the other folds.

    Returns
    -------
    Comparison : it prints as a table and advice; `candidates` have the curves.
        `naively.plot.LearningCurvesDisplay.from_comparison` draws them.

    Raises
    ------
    ValueError : saying what is wrong and where.

    Examples
    --------
    >>> from naively import compare
    >>> days = {"coat": [1, 1, 0, 0] * 20, "accident": [1, 0, 1, 0] * 20}
    >>> found = compare(days, (["rain"] * 4 + ["dry"] * 4) * 10)
    >>> found.sizes
    (10, 20, 50, 64)
    """
    check_splits(splits)
    check_seconds(seconds)
    sizes = checked_sizes(sizes)
    others = alternatives(estimators)
    if seed < 0:
        raise ValueError(f"seed must not be negative, but is {seed}")
    rows, texts = of_any(X, y, seed, missing)
    known: Columns = dict.fromkeys(texts, Text())
    options = ColumnOptions({**known, **(columns or {})}, missing=tuple(missing))
    return examine(rows, options, others, splits, seed, only, seconds, sizes)


def examine(
    rows: LabelledRows, options: ColumnOptions, others: Sequence[Alternative], folds: int,
    seed: int, only: Sequence[str] = (), seconds: float = math.inf, sizes: Sequence[int] = (),
    progress: Progress = lambda what, steps: nullcontext(lambda: None),
) -> Comparison:  # fmt: skip
    """Compare candidates on labelled rows: the ladder, and `others`, with at least 2 folds.

    Raises
    ------
    ValueError : if no column is left, no candidate has a name in `only`, or there are too few
        rows for a size.
    """
    rule = infer(options, rows.table, (rows.classes, rows.codes)).varying
    rule.check_any("compare")
    known = sizes or growing(rows.codes, folds)
    splits = Splits(rows.codes, folds, known, seed, not sizes, alike_of(rule, rows))
    trial = Trial(rows, rule, splits, workers(None))
    whole = weighed(options, rows, rule)
    rungs = ladder(rule, *kinds(rule, options, rows), len(rows.classes), whole)
    shrunk = {one.name.removeprefix("shrunk ") for one in rungs if one.name.startswith("shrunk ")}
    # with many rows a covariance without shrinkage is the same, with few it may be singular
    rungs = [rung for rung in rungs if rung.name not in shrunk]
    others = [one for one in others if whole is not None or not one.boosts]
    apart = unweighed(options, rows, rule) or ""
    if only:
        rungs, others = _chosen(only, rungs, others, apart)
    steps = len(splits.tests) * len(splits.sizes)
    with progress("naive Bayes and the rest of the ladder", len(rungs) * steps) as done:
        curves = trial.curves(rungs, done, seconds)
    found = [candidate(rung, curve) for rung, curve in zip(rungs, curves, strict=True)]
    refits = Refits(rows, rule, whole, splits, seconds)
    for one in others:
        with progress(one.name, steps) as done:
            curve = refits.curve(one, done)
        found.append(Candidate(one.name, one.use, "scikit-learn", curve))
    return Comparison(
        **rows.facts,
        left_out=rule.skipped,
        sizes=splits.sizes,
        splits=len(splits.tests),
        candidates=found,
        advice=sentence(found, splits.sizes),
        apart="" if only else apart,
    )


def check_splits(folds: int) -> None:
    """Raise ValueError unless it is a whole number of at least 2."""
    if not isinstance(folds, Integral) or folds < 2:
        raise ValueError(f"splits must be a whole number of at least 2, not {folds}")


def check_seconds(seconds: float) -> None:
    """Raise ValueError unless it is above 0."""
    if not seconds > 0:
        raise ValueError(f"seconds must be above 0, not {seconds!r}")


def checked_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Sort sizes, and drop duplicates; ValueError unless they are positive whole numbers."""
    for size in sizes:
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
            raise ValueError(f"sizes must be whole numbers of rows, as 100, not {size!r}")
    return tuple(sorted({int(size) for size in sizes}))


def _chosen(
    only: Sequence[str], rungs: Sequence[Rung], others: Sequence[Alternative], apart: str
) -> tuple[list[Rung], list[Alternative]]:
    """Select candidates by name, ignoring case, and the majority class.

    Raises ValueError for an unknown name.
    """
    if isinstance(only, str):
        raise ValueError(f"only must be a list of names, as [{only!r}]")
    wanted = {name.lower() for name in only}
    names = [candidate_name(rung) for rung in rungs] + [one.name for one in others]
    for name in only:
        if name.lower() not in map(str.lower, names):
            why = f": {_absent(apart)}" if apart and name.lower() in map(str.lower, EVERY) else ""
            there = ", ".join(names)
            raise ValueError(f"no candidate is called {name!r}{why}; there are {there}")
    return (
        [one for one in rungs if not one.blocks or candidate_name(one).lower() in wanted],
        [one for one in others if one.name.lower() in wanted],
    )


# ---- as text -----------------------------------------------------------------------------------


def heads(sizes: Sequence[int]) -> tuple[str, ...]:
    """Headings of `cells`."""
    return ("training rows", *(f"{size:,}" for size in sizes), *TAIL)


def cells(one: Candidate, places: Sequence[int], accuracy: bool = False) -> tuple[str, ...]:
    """A table row: mean error in % at these sizes; at the largest, its spread and the log-loss.

    `accuracy` shows accuracy instead of error.
    """
    means = (one.accuracy if accuracy else one.error)[list(places)].tolist()
    errors = [f"{100 * mean:.1f}" if np.isfinite(mean) else "·" for mean in means]
    spread, loss = float(one.curve.error[:, -1].std()), float(one.log_loss[-1])
    return (
        one.name, *errors, f"{100 * spread:.1f}" if np.isfinite(spread) else "·",
        "·" if np.isnan(loss) else loss_cell(loss),
        f"{one.curve.seconds:.2g}" if one.curve.seconds < 10 else f"{one.curve.seconds:,.0f}",
    )  # fmt: skip


def places(sizes: Sequence[int], room: int) -> list[int]:
    """Choose at most `room` positions of sizes, with the first and the last."""
    return np.unique(np.linspace(0, len(sizes) - 1, max(room, 2)).round()).astype(int).tolist()


def notes(found: Comparison, accuracy: bool = False) -> list[str]:
    """Notes below the table."""
    curves = {one.name: one.curve for one in found.candidates}
    said = [
        f"{'accuracy' if accuracy else 'error'} in %, mean of {found.splits} splits; ± (standard "
        f"deviation) and log-loss with {found.sizes[-1]:,} training rows; seconds: whole curve",
        *failures((name, curve.reason) for name, curve in curves.items()),
        *(f"{name} warned: {curve.warning}" for name, curve in curves.items() if curve.warning),
    ]
    if any(not curve.reason and np.isnan(curve.error).any() for curve in curves.values()):
        said.append("·: too few rows, or no probabilities")
    if single := [label for label, rows in found.classes.items() if rows == 1]:
        more = f", and {len(single) - 1:,} more" if len(single) > 1 else ""
        said.append(f"never predicted, as it has one row: class {single[0]}{more}")
    said += left_out(found.left_out)
    every = [one.name for one in found.candidates if one.name in EVERY]
    if found.left_out and every:
        verb = "are" if every[1:] else "is"
        said.append(f"{' and '.join(every)} {verb} trained on all columns but skipped ones")
    if found.apart:
        said.append(_absent(found.apart))
    return said


def _absent(apart: str) -> str:
    return f"{' and '.join(EVERY)} were not tried, as {apart}"


# ---- advice ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Last:
    """The result of a candidate at the largest training size, as `Verdict` takes it."""

    name: str
    log_loss: float
    error: float
    losses: Float64
    wrong: Float64
    rows_per_parameter: float = math.inf


def verdict_lines(found: Sequence[Candidate], sizes: Sequence[int]) -> dict[str, str]:
    """Smallest error, best probabilities, recommendation, and whether more rows would help."""
    tried = [one for one in found if np.isfinite(one.error[-1])]
    if not tried:
        return {"recommendation": "none: no model was trained on all rows; allow more --seconds"}
    last = {
        one.name: Last(
            one.name, float(one.log_loss[-1]), float(one.error[-1]), one.curve.losses,
            one.curve.wrong,
        )
        for one in tried
    }  # fmt: skip
    prior = next(one for one in tried if one.kind == "prior")
    naive = [one for one in tried if one.kind == "naive"]
    usual = next((one for one in naive if one.name == "naive Bayes"), next(iter(naive), prior))
    verdict = Verdict([*last.values()], last[prior.name], last[usual.name])
    lines = verdict.lines()
    if verdict.advised.name != prior.name:
        lines["more rows"] = _more(next(o for o in tried if o.name == verdict.advised.name), sizes)
    return lines


def sentence(found: Sequence[Candidate], sizes: Sequence[int]) -> str:
    """The lines of `verdict_lines` as sentences."""
    lines = (f"{key}: {text}." for key, text in verdict_lines(found, sizes).items())
    return " ".join(one[0].upper() + one[1:] for one in lines)


def _more(one: Candidate, sizes: Sequence[int]) -> str:
    """Whether more rows would reduce the error, by the effect of the last doubling."""
    if len(sizes) < 2:
        return "unknown, as there is one training size"
    before = int(np.argmin(np.abs(np.log(np.array(sizes[:-1]) / sizes[-1]) + np.log(2))))
    gained = one.curve.error[:, before] - one.curve.error[:, -1]
    if not np.isfinite(gained).all():
        return "unknown, as there are too few"
    mean, error = margin(gained, np.zeros(len(gained)))
    errors = f"error {one.error[before]:.1%} with {sizes[before]:,}, {one.error[-1]:.1%} with "
    step = f"{one.name} has {errors}{sizes[-1]:,}"
    if mean <= max(STILL * float(one.error[-1]), LITTLE):
        return f"would hardly help: {step}"
    clear = stdtrit(len(gained) - 1, CERTAIN) * error  # Student's t, because splits are few
    return f"{'would' if mean > clear else 'may'} help: {step}"
