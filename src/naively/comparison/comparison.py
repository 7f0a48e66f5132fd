"""`compare`: naive Bayes against its alternatives, by the number of rows that are learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import pyarrow as pa

from naively.comparison import advice, report
from naively.comparison.alternatives import Alternative, Refits, alternatives
from naively.engines.threads import workers
from naively.exact import Float64
from naively.families.text import Text
from naively.ladder.rows import Rows, is_path, of_files, of_table
from naively.ladder.rungs import Rung, kinds, ladder
from naively.ladder.splits import Splits, growing
from naively.ladder.trial import Curve, Trial
from naively.plain import plain_json
from naively.tables.documents import TEXTS
from naively.tables.frames import to_array
from naively.tables.inference import Columns, Wishes, infer
from naively.tables.inputs import MISSING

Progress = Callable[[str, int], AbstractContextManager[Callable[[], None]]]
"""(what is done, in how many steps): what to call after each step."""


Kind = Literal["prior", "naive", "rung", "scikit-learn"]


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
    kind: Kind
    curve: Curve

    @property
    def error(self) -> Float64:
        """(K,) mean part of wrong rows, over the splits, for each training size."""
        return self.curve.error.mean(axis=0)

    @property
    def log_loss(self) -> Float64:
        """(K,) mean -log P(y | x) in nats, likewise."""
        return self.curve.log_loss.mean(axis=0)


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    target : name of the column of labels, if it has one.
    classes : dict, the rows of each label.
    rows : rows with a label.
    looked_at : how many of them were looked at: a sample, if they are many.
    unlabelled : rows without a label, which were left out.
    left_out : dict, the columns that were not looked at, with the reason.
    sizes : tuple of int, rows of the training sets.
    splits : how many random splits there are.
    candidates : list of Candidate: the majority class, naive Bayes and the other rungs, then the
        classifiers of scikit-learn.
    advice : is naive Bayes enough, and would more rows help? One sentence.
    """

    target: str | None
    classes: dict[Any, int]
    rows: int
    looked_at: int
    unlabelled: int
    left_out: dict[str, str]
    sizes: tuple[int, ...]
    splits: int
    candidates: list[Candidate]
    advice: str

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return report.plain(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON takes it: null for what is infinite or unknown."""
        found = {name: value for name, value in vars(self).items() if name != "candidates"}
        found["classes"] = [{"class": c, "rows": n} for c, n in self.classes.items()]
        found["sizes"] = list(self.sizes)
        found["candidates"] = [
            {
                "name": one.name, "use": one.use, "kind": one.kind,
                "error": one.error.tolist(), "log_loss": one.log_loss.tolist(),
                "errors": one.curve.error.T.tolist(), "log_losses": one.curve.log_loss.T.tolist(),
                "seconds": one.curve.seconds, "reason": one.curve.reason,
                "warning": one.curve.warning,
            }
            for one in self.candidates
        ]  # fmt: skip
        return plain_json(found)


def compare(
    X: Any,
    y: Any,
    *,
    columns: Columns | None = None,
    estimators: Sequence[Any] = (),
    missing: Sequence[str] = MISSING,
    splits: int = 5,
    seed: int = 0,
) -> Comparison:
    """Learning curves of naive Bayes and its alternatives: which one, and would more rows help?

    The rows are dealt into folds at random, each class evenly; each split predicts one fold and
    learns more and more rows of the others, every class among them from the first size on. The
    rungs of the ladder learn each row once, as a larger training set is a sum of smaller ones;
    scikit-learn's classifiers are fitted anew for each size (see
    `naively.comparison.alternatives`). Ng & Jordan (2001) have such curves for naive Bayes and
    logistic regression.

    Of more than 100,000 rows (fewer of wide tables) a sample is looked at.

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
    splits : how many, at least 2.
    seed : of the sample and of the splits.

    Returns
    -------
    Comparison : printed, it is a table and one sentence of advice; `candidates` have the curves.
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
    others = alternatives(estimators)
    if seed < 0:
        raise ValueError(f"seed must not be negative, but is {seed}")
    listed = isinstance(X, list) and bool(X) and all(map(is_path, X))
    if is_path(X) or (listed and isinstance(y, str)):
        rows, documents = of_files(X, y, seed, missing)
    elif not isinstance(y, str) and _is_text(X):
        rows, documents = of_table(pa.table({TEXTS[0]: to_array(X)}), y, seed, missing), TEXTS
    else:
        rows, documents = of_table(X, y, seed, missing), ()
    wishes = Wishes({**dict.fromkeys(documents, Text()), **(columns or {})}, missing=tuple(missing))
    return examine(rows, wishes, others, splits, seed)


def examine(
    rows: Rows, wishes: Wishes, others: Sequence[Alternative], folds: int, seed: int,
    progress: Progress = lambda what, steps: nullcontext(lambda: None),
) -> Comparison:  # fmt: skip
    """The comparison of some rows: the rungs, and others on at least 2 folds.

    Raises
    ------
    ValueError : if no column is left.
    """
    rule = infer(wishes, rows.table, (rows.classes, rows.codes)).varying
    rule.check_any("compare")
    splits = Splits(rows.codes, folds, growing(rows.codes, folds), seed)
    trial = Trial(rows, rule, splits, workers(None))
    rungs = ladder(rule, *kinds(rule, wishes, rows), len(rows.classes))
    shrunk = {one.name.removeprefix("shrunk ") for one in rungs if one.name.startswith("shrunk ")}
    # a covariance that is not shrunk is the same but where rows are few: there it has no density
    rungs = [rung for rung in rungs if rung.name not in shrunk]
    steps = len(splits.tests) * len(splits.sizes)
    with progress("naive Bayes and the other rungs", len(rungs) * steps) as done:
        curves = trial.curves(rungs, done)
    found = [_candidate(rung, curve) for rung, curve in zip(rungs, curves, strict=True)]
    refits = Refits(rows, rule, splits)
    for one in others:
        with progress(one.name, steps) as done:
            curve = refits.curve(one.estimator, done)
        found.append(Candidate(one.name, one.use, "scikit-learn", curve))
    return Comparison(
        target=rows.target,
        classes=rows.counts,
        rows=rows.total,
        looked_at=len(rows.codes),
        unlabelled=rows.unlabelled,
        left_out=rule.skipped,
        sizes=splits.sizes,
        splits=len(splits.tests),
        candidates=found,
        advice=advice.sentence(found, splits.sizes),
    )


def check_splits(folds: int) -> None:
    """Raise ValueError unless there can be so many random splits."""
    if not isinstance(folds, Integral) or folds < 2:
        raise ValueError(f"splits must be a whole number of at least 2, not {folds}")


def _candidate(rung: Rung, curve: Curve) -> Candidate:
    if not rung.blocks:
        return Candidate("majority class", rung.use, "prior", curve)
    asked = rung.name == "naive Bayes" and not rung.naive  # blocks of columns that share a family
    name = "columns as asked" if asked else rung.name
    return Candidate(name, rung.use, "naive" if rung.naive else "rung", curve)


def _is_text(X: Any) -> bool:
    """Whether these are documents rather than rows."""
    table = hasattr(X, "columns") or hasattr(X, "column_names") or isinstance(X, Mapping)
    if table or getattr(X, "ndim", 1) != 1:
        return False
    values = (value.as_py() if isinstance(value, pa.Scalar) else value for value in X)
    return isinstance(next((value for value in values if value is not None), None), str | bytes)
