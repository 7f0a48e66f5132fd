"""`compare`: naive Bayes against its alternatives, by the number of rows that are learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral
from typing import Any

import pyarrow as pa

from naively.engines.threads import workers
from naively.families.text import Text
from naively.study.advice import sentence
from naively.study.alternatives import Alternative, Refits, alternatives
from naively.study.comparison import Comparison
from naively.study.results import Candidate, candidate
from naively.study.rows import LabelledRows, is_path, of_any
from naively.study.rungs import kinds, ladder
from naively.study.splits import Splits, growing
from naively.study.trial import Trial
from naively.tables.documents import TEXTS
from naively.tables.frames import to_array
from naively.tables.inference import Columns, Wishes, infer
from naively.tables.inputs import MISSING

Progress = Callable[[str, int], AbstractContextManager[Callable[[], None]]]
"""(what is done, in how many steps): what to call after each step."""


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
    scikit-learn's classifiers are fitted anew for each size (see `naively.study.alternatives`).
    Ng & Jordan (2001) have such curves for naive Bayes and logistic regression.

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
    texts: tuple[str, ...] = ()
    if not isinstance(y, str) and not is_path(X) and _is_text(X):
        X, texts = pa.table({TEXTS[0]: to_array(X)}), TEXTS
    rows, of_files = of_any(X, y, seed, missing)
    known: Columns = dict.fromkeys(texts + of_files, Text())
    wishes = Wishes({**known, **(columns or {})}, missing=tuple(missing))
    return examine(rows, wishes, others, splits, seed)


def examine(
    rows: LabelledRows, wishes: Wishes, others: Sequence[Alternative], folds: int, seed: int,
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
    found = [candidate(rung, curve) for rung, curve in zip(rungs, curves, strict=True)]
    refits = Refits(rows, rule, splits)
    for one in others:
        with progress(one.name, steps) as done:
            curve = refits.curve(one.estimator, done)
        found.append(Candidate(one.name, one.use, "scikit-learn", curve))
    return Comparison(
        **rows.facts,
        left_out=rule.skipped,
        sizes=splits.sizes,
        splits=len(splits.tests),
        candidates=found,
        advice=sentence(found, splits.sizes),
    )


def check_splits(folds: int) -> None:
    """Raise ValueError unless there can be so many random splits."""
    if not isinstance(folds, Integral) or folds < 2:
        raise ValueError(f"splits must be a whole number of at least 2, not {folds}")


def _is_text(X: Any) -> bool:
    """Whether these are documents rather than rows."""
    table = hasattr(X, "columns") or hasattr(X, "column_names") or isinstance(X, Mapping)
    if table or getattr(X, "ndim", 1) != 1:
        return False
    values = (value.as_py() if isinstance(value, pa.Scalar) else value for value in X)
    return isinstance(next((value for value in values if value is not None), None), str | bytes)
