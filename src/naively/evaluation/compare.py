"""`compare`: learning curves of naive Bayes and its alternatives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from naively.core.exact import Float64
from naively.core.workers import workers
from naively.evaluation.alternatives import BOOSTING, USUAL, Alternative, Refits, alternatives
from naively.evaluation.learning_curves import (
    Curve,
    Progress,
    Splits,
    Trial,
    alike_of,
    growing,
    silent,
)
from naively.evaluation.metrics import loss_cell, margin
from naively.evaluation.model_ladder import (
    AUTO,
    TEXT,
    Rung,
    has_text,
    kinds,
    known_as,
    ladder,
    unweighed,
    weighed,
)
from naively.evaluation.samples import LabelledRows, Report, failures, of_any, unused
from naively.evaluation.verdict import Result, Verdict
from naively.families.text.text import Text
from naively.io.inputs import MISSING
from naively.rendering import Part, Table
from naively.tables.inference import ColumnOptions, Columns, infer

EVERY = (AUTO, BOOSTING)  # candidates that use columns which the others leave out
CERTAIN = 0.977  # probability of a normal variable below two standard deviations
LITTLE = 0.0005  # share of rows: an error reduction of so little does not matter
STILL = 0.02  # if twice the rows reduce the error by a smaller share of it, more rows hardly help
TAIL = ("±", "log-loss", "seconds")


@dataclass(frozen=True, eq=False)
class Candidate:
    """A classifier and its learning curve.

    Attributes
    ----------
    name : str
    use : Python code for it; empty for the class prior.
    kind : "prior" (the class prior), "naive" (columns are independent given the class), "ladder"
        (another model of the ladder) or "scikit-learn".
    curve : Curve
    option : option of `naively fit` for it; None if there is none.
    """

    name: str
    use: str
    kind: Literal["prior", "naive", "ladder", "scikit-learn"]
    curve: Curve
    option: str | None = None

    @property
    def error(self) -> Float64:
        """(K,) error rate for each training size: mean over the test rows of all splits."""
        return np.average(self.curve.error, axis=0, weights=self.curve.rows)

    @property
    def accuracy(self) -> Float64:
        """(K,) accuracy, likewise."""
        return 1.0 - self.error

    @property
    def log_loss(self) -> Float64:
        """(K,) mean -log P(y | x) in nats, likewise."""
        return np.average(self.curve.log_loss, axis=0, weights=self.curve.rows)


def candidate(rung: Rung, curve: Curve) -> Candidate:
    """A model of the ladder as a candidate."""
    kind: Any = "naive" if rung.naive else "ladder" if rung.blocks else "prior"
    return Candidate(candidate_name(rung), rung.use, kind, curve, rung.option)


def candidate_name(rung: Rung) -> str:
    """The name of a model of the ladder among the candidates."""
    if not rung.blocks:
        return "class prior"
    # the user gave columns a joint family
    has_families = rung.name == "naive Bayes" and not rung.naive
    return "given families" if has_families else rung.name


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Report):
    """The result of `compare`.

    Attributes
    ----------
    target, classes, rows, sampled, unlabelled : as in `Report`.
    left_out : dict, the columns that were not used, with the reason.
    sizes : tuple of int, rows of the training sets.
    splits : number of random splits.
    candidates : list of Candidate: the class prior, naive Bayes and the other models of the
        ladder, then the classifiers of scikit-learn.
    advice : sentences: the smallest error, the best probabilities, a recommendation, and whether
        more rows would help.
    apart : a sentence, whether and why `AutoBayes` or gradient boosting were not tried; empty if
        they were.
    method : "cross-validation", with the column that rows were split by; or "forward validation".
    """

    left_out: dict[str, str]
    sizes: tuple[int, ...]
    splits: int
    candidates: list[Candidate]
    advice: str
    apart: str = ""
    method: str = "cross-validation"

    def parts(self, accuracy: bool = False) -> list[Part]:
        """The table of the curves: error, or accuracy."""
        heads = ("training rows", *(f"{size:,}" for size in self.sizes), *TAIL)
        rows = [cells(model, accuracy) for model in self.candidates]
        last = [float(model.error[-1]) for model in self.candidates]
        best = [] if np.isnan(last).all() else [int(np.nanargmin(last))]
        optional = range(2, len(self.sizes))  # all sizes but the first and the last
        lines = notes(self, accuracy)
        return [Table("", heads, rows, 1, lines, optional=optional, strong=best)]

    @property
    def verdict(self) -> dict[str, str]:
        """The sentences of `advice` by topic."""
        return verdict_lines(self.candidates, self.sizes)

    @property
    def advised(self) -> Candidate | None:
        """The recommended candidate; None if no model was trained on all rows."""
        verdict = _verdict(self.candidates)
        names = [] if verdict is None else [verdict.advised.name]
        return next((model for model in self.candidates if model.name in names), None)

    def to_dict(self) -> dict[str, Any]:
        """All attributes as JSON values: null for infinite and unknown ones."""
        candidates = [
            {
                "name": model.name, "use": model.use, "option": model.option, "kind": model.kind,
                "error": model.error.tolist(), "log_loss": model.log_loss.tolist(),
                "errors": model.curve.error.T.tolist(),
                "log_losses": model.curve.log_loss.T.tolist(),
                "seconds": model.curve.seconds, "reason": model.curve.reason,
                "warning": model.curve.warning,
            }
            for model in self.candidates
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
    groups: Any = None,
    time: Any = None,
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
    groups, time : (n,) values, or the name of a column, which is then no feature: rows of a group
        are never in training and test fold at once; or each fold is predicted from earlier rows.
        As for `out_of_fold` of the classifiers.

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
    classifiers = alternatives(estimators)
    if seed < 0:
        raise ValueError(f"seed must not be negative, but is {seed}")
    rows, texts = of_any(X, y, seed, missing, groups, time, columns or ())
    text_columns: Columns = dict.fromkeys(texts, Text())
    options = ColumnOptions({**text_columns, **(columns or {})}, missing=tuple(missing))
    return examine(rows, options, classifiers, splits, seed, only, seconds, sizes)


def examine(
    rows: LabelledRows, options: ColumnOptions, others: Sequence[Alternative], folds: int,
    seed: int, only: Sequence[str] = (), seconds: float = math.inf, sizes: Sequence[int] = (),
    progress: Progress = silent,
) -> Comparison:  # fmt: skip
    """Compare candidates on labelled rows: the ladder, and `others`, with at least 2 folds.

    Raises ValueError if no column is left, no candidate has a name in `only`, or there are too few
    rows for a size.
    """
    schema = infer(options, rows.table, (rows.classes, rows.codes)).varying
    schema.check_any("compare")
    train_sizes = sizes or growing(rows.codes, folds)
    duplicates = alike_of(schema, rows)
    splits = Splits(rows.codes, folds, train_sizes, seed, not sizes, duplicates, rows.split)
    trial = Trial(rows, schema, splits, workers(None))
    pooled = weighed(options, rows, schema)
    rungs = ladder(schema, *kinds(schema, options, rows), len(rows.classes), pooled)
    boosts = pooled is not None and not has_text(schema)
    others = [model for model in others if boosts or not model.boosts]
    is_text = any(rung.name == TEXT for rung in rungs)
    absent = _absent(None if is_text else unweighed(options, rows, schema), has_text(schema))
    if only:
        rungs, others = _chosen(only, rungs, others, absent)
    steps = len(splits.tests) * len(splits.sizes)
    with progress("naive Bayes and the rest of the ladder", len(rungs) * steps) as advance:
        curves = trial.curves(rungs, advance, seconds)
    candidates = [candidate(rung, curve) for rung, curve in zip(rungs, curves, strict=True)]
    refits = Refits(rows, schema, pooled, splits, seconds)
    for model in others:
        with progress(model.name, steps) as advance:
            curve = refits.curve(model, advance)
        candidates.append(Candidate(model.name, model.use, "scikit-learn", curve))
    return Comparison(
        **rows.facts,
        left_out=schema.skipped | ({} if pooled is None else pooled.skipped),
        sizes=splits.sizes,
        splits=len(splits.tests),
        candidates=candidates,
        advice=sentence(candidates, splits.sizes),
        apart="" if only else absent,
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
    only: Sequence[str], rungs: Sequence[Rung], others: Sequence[Alternative], absent: str
) -> tuple[list[Rung], list[Alternative]]:
    """Select candidates by name, ignoring case, with the class prior and the user's classifiers.

    Raises ValueError for an unknown name.
    """
    if isinstance(only, str):
        raise ValueError(f"only must be a list of names, as [{only!r}]")
    selected = {name.lower() for name in only}
    names = [candidate_name(rung) for rung in rungs] + [model.name for model in others]
    for name in only:
        if name.lower() not in map(str.lower, names):
            reason = f": {absent}" if absent and name.lower() in map(str.lower, EVERY) else ""
            available = ", ".join(names)
            raise ValueError(
                f"there is no model {name!r} to compare{reason}; choose from {available}"
            )
    return (
        [model for model in rungs if not model.blocks or candidate_name(model).lower() in selected],
        [model for model in others if model.name.lower() in selected or model not in USUAL],
    )


# ---- as text -----------------------------------------------------------------------------------


def cells(item: Candidate, accuracy: bool = False) -> tuple[str, ...]:
    """A table row: error in % at each size; at the largest, its spread and the log-loss.

    `accuracy` shows accuracy instead of error.
    """
    means = (item.accuracy if accuracy else item.error).tolist()
    errors = [f"{100 * mean:.1f}" if np.isfinite(mean) else "·" for mean in means]
    deviation, loss = float(item.curve.error[:, -1].std()), float(item.log_loss[-1])
    return (
        item.name, *errors, f"{100 * deviation:.1f}" if np.isfinite(deviation) else "·",
        "·" if np.isnan(loss) else loss_cell(loss),
        f"{item.curve.seconds:.2g}" if item.curve.seconds < 10 else f"{item.curve.seconds:,.0f}",
    )  # fmt: skip


def notes(result: Comparison, accuracy: bool = False) -> list[str]:
    """Notes below the table."""
    curves = {model.name: model.curve for model in result.candidates}
    by = result.method.removeprefix("cross-validation")
    mean = " on average" * bool(by)
    by = f" of {by}" if by.startswith("forward") else by
    lines = [
        f"{'accuracy' if accuracy else 'error'} in %, test rows of {result.splits} splits{by}; ± "
        f"(standard deviation) and log-loss with {result.sizes[-1]:,} training rows{mean}; "
        "seconds: of all splits and sizes",
        *known_as(curves),
        *failures((name, curve.reason) for name, curve in curves.items()),
        *(f"{name} warned: {curve.warning}" for name, curve in curves.items() if curve.warning),
    ]
    if any(not curve.reason and np.isnan(curve.error).any() for curve in curves.values()):
        lines.append("·: too few rows, or no probabilities")
    if one_row := [label for label, rows in result.classes.items() if rows == 1]:
        more_classes = f", and {len(one_row) - 1:,} more" if len(one_row) > 1 else ""
        lines.append(f"never predicted, as it has one row: class {one_row[0]}{more_classes}")
    users = [model.name for model in result.candidates if model.name in EVERY]
    lines += unused(result.left_out, users)
    if result.apart:
        lines.append(result.apart)
    return lines


def _absent(unweighed: str | None, text: str | None) -> str:
    """A sentence, why `AutoBayes` and boosting, or boosting alone, were not tried; or empty."""
    if unweighed:
        return f"{' and '.join(EVERY)} were not tried, as {unweighed}"
    return f"{BOOSTING} was not tried, as {text}" if text else ""


# ---- advice ------------------------------------------------------------------------------------


def verdict_lines(candidates: Sequence[Candidate], sizes: Sequence[int]) -> dict[str, str]:
    """Smallest error, best probabilities, recommendation, and whether more rows would help."""
    verdict = _verdict(candidates)
    if verdict is None:
        return {"recommendation": "none: no model was trained on all rows; allow more --seconds"}
    lines = verdict.lines()
    if verdict.advised is not verdict.prior:
        advised = next(model for model in candidates if model.name == verdict.advised.name)
        lines["more rows"] = _more(advised, sizes)
    return lines


def _verdict(candidates: Sequence[Candidate]) -> Verdict | None:
    """Choose among the candidates that were trained on all rows; None if none was."""
    trained = [model for model in candidates if np.isfinite(model.error[-1])]
    if not trained:
        return None
    results = {
        model.name: Result(
            model.name, float(model.log_loss[-1]), float(model.error[-1]), model.curve.losses,
            model.curve.wrong,
        )
        for model in trained
    }  # fmt: skip
    prior = next(model for model in trained if model.kind == "prior")
    naive = [model for model in trained if model.kind == "naive"]
    plain = (model for model in naive if model.name == "naive Bayes")
    baseline = next(plain, next(iter(naive), prior))
    return Verdict([*results.values()], results[prior.name], results[baseline.name])


def sentence(candidates: Sequence[Candidate], sizes: Sequence[int]) -> str:
    """The lines of `verdict_lines` as sentences."""
    lines = (f"{key}: {text}." for key, text in verdict_lines(candidates, sizes).items())
    return " ".join(line[0].upper() + line[1:] for line in lines)


def _more(model: Candidate, sizes: Sequence[int]) -> str:
    """Whether more rows would reduce the error, by the effect of the last doubling."""
    if len(sizes) < 2:
        return "unknown, as there is one training size"
    half = int(np.argmin(np.abs(np.log(np.array(sizes[:-1]) / sizes[-1]) + np.log(2))))
    decrease = model.curve.error[:, half] - model.curve.error[:, -1]
    if not np.isfinite(decrease).all():
        return "unknown, as there are too few"
    mean, error = margin(decrease, np.zeros(len(decrease)))
    errors = f"error {model.error[half]:.1%} with {sizes[half]:,}, {model.error[-1]:.1%} with "
    step = f"{model.name} has {errors}{sizes[-1]:,}"
    if mean <= max(STILL * float(model.error[-1]), LITTLE):
        return f"would hardly help: {step}"
    threshold = stdtrit(len(decrease) - 1, CERTAIN) * error  # Student's t, because splits are few
    return f"{'would' if mean > threshold else 'may'} help: {step}"
