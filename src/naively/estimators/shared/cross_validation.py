"""Cross-validate classifiers without refitting: counts of a fold are subtracted from the total."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from naively.core.exact import Int64
from naively.core.workers import workers
from naively.estimators.shared.validation import check_classes, naming
from naively.evaluation.folds import Folds, Learnable, Reading, alike, k_fold
from naively.evaluation.out_of_fold import (
    ALPHAS,
    OutOfFold,
    SmoothingCurve,
    out_of_fold,
    scores,
    smoothing_curve,
)
from naively.evaluation.splits import ByGroup, ByTime, kind_of_split
from naively.families.base import AnyFamily
from naively.model.model import Model
from naively.model.prior import Prior

PARTS = 10
NONE = np.empty(0, np.int64)


class LeavesOut:
    """Mixin for classifiers with additive statistics: cross-validation, and `alpha="auto"`."""

    model_: Any
    alpha: Any
    n_jobs: int | None

    @abstractmethod
    def _family(self) -> AnyFamily:
        """Return the family with the parameters of this estimator."""

    @abstractmethod
    def _prior(self) -> Prior:
        """Return the class prior with the parameters of this estimator."""

    @abstractmethod
    def _learnable(self, X: Any, y: Any, sample_weight: Any) -> Learnable:
        """Check training rows."""

    def _reading(self, rows: Learnable) -> Reading:
        """Return the schema and prior that estimate from the counts, with these parameters."""
        schema = rows.blank.schema
        return schema.with_family(self._family()), self._prior()

    def _set_apart(self, X: Any, name: str) -> tuple[Any, Any]:
        """Return (X without a column, the column), for models of tables."""
        raise ValueError(
            f"X is an array for {type(self).__name__}: pass a value for each row, not the name "
            f"{name!r}"
        )

    def out_of_fold(
        self, X: Any, y: Any, sample_weight: Any = None, parts: int = PARTS, *,
        groups: Any = None, time: Any = None,
    ) -> OutOfFold:  # fmt: skip
        """Cross-validate this classifier: score each row out of fold.

        Each fold is counted once. The model for a fold is the sum of all folds minus this one: bit
        for bit the model of `fit` on the other rows. The model of this classifier is not used, and
        does not change.

        Folds are stratified, and depend on the content of the rows, not on their order or a random
        number: the rows of each class are sorted by a hash of their values and assigned to the
        folds one after the other. Duplicates of a row are in one fold; docs/evidence.md defines
        them.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`.
        parts : number of folds, 2 or more; the number of rows if that is smaller.
        groups : (n,) values, such as customers, or the name of a column of a table X, which is then
            no feature. Rows of a group are never in training and test fold at once; missing values
            are one group. Folds are balanced by class, as by scikit-learn's `StratifiedGroupKFold`.
        time : (n,) numbers or dates, or the name of a column, likewise. Each fold is predicted by a
            model of the rows before it, as by scikit-learn's `TimeSeriesSplit`; rows of the same
            time are in one fold. The first fold is training rows alone, and rows without a time are
            left out.

        Returns
        -------
        OutOfFold : ``print`` shows it; it has `accuracy`, `log_loss` (nats), `calibration`, and
            `proba`, (m, C) the probabilities of the rows with an estimate: `rows`, (m,), are their
            positions in X; all rows, unless some have no label or, with `time`, are training rows
            alone.

        Raises
        ------
        ValueError : as `fit`; or if a model cannot be estimated without one of the folds; or if
            all rows are of one group or time.

        See Also
        --------
        naively.cross_validate : other splits, and several settings at once; lists what is decided
            once from all rows.
        """
        self._refuse_auto()
        X, split = _split_of(self, X, groups, time)
        rows = _split(self._learnable(X, y, sample_weight), split)
        folds, tests = self._folds(rows, parts)
        with naming(self):
            return out_of_fold(folds, tests, [rows.reading])[0]

    def smoothing_curve(
        self, X: Any, y: Any, sample_weight: Any = None, *,
        alphas: Sequence[float] = ALPHAS, parts: int = PARTS,
    ) -> SmoothingCurve:  # fmt: skip
        """Cross-validate this classifier for several values of `alpha`, as ``alpha="auto"`` does.

        The rows are counted once. `naively.plot.SmoothingDisplay` draws the curve.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`.
        alphas : values of `alpha` to try, numbers of 0 or more.
        parts : number of folds, as for `out_of_fold`.

        Raises
        ------
        ValueError : as `out_of_fold`; for a classifier without `alpha`, such as `AutoBayes`.
        """
        if not hasattr(self, "alpha"):
            raise ValueError(f"{type(self).__name__} has no alpha: it does not smooth")
        values = sorted({float(alpha) for alpha in alphas})
        if not values:
            raise ValueError("alphas has no values to try")
        candidates: list[Any] = [clone(self).set_params(alpha=alpha) for alpha in values]
        rows = candidates[0]._learnable(X, y, sample_weight)
        folds, tests = self._folds(rows, parts)
        readings = [candidate._reading(rows) for candidate in candidates]
        with naming(self):
            return smoothing_curve(folds, tests, values, readings)

    # ---- alpha="auto" ------------------------------------------------------------------------

    @property
    def alpha_(self) -> Any:
        """The smoothing: `alpha`, or the value chosen for "auto"."""
        return self._alpha_of(self.model_)

    def _alpha_of(self, model: Model) -> Any:
        """Return the smoothing of a model."""
        family: Any = model.family
        return family.alpha

    @property
    def _is_auto(self) -> bool:
        return isinstance(getattr(self, "alpha", None), str) and self.alpha == "auto"

    @property
    def _smoothing(self) -> Any:
        """The value of `alpha`; 1, a placeholder, while "auto" has not been chosen yet."""
        if not self._is_auto:
            return self.alpha
        model: Model | None = vars(self).get("model_")
        return 1.0 if model is None else self._alpha_of(model)

    def _refuse_auto(self) -> None:
        if self._is_auto:
            raise ValueError(
                'alpha="auto" is chosen when `fit` is called: call it first, or give the `alpha_` '
                "that it has chosen as alpha"
            )

    def _chosen(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return self, or for "auto" a clone with the alpha of the least out-of-fold log-loss.

        Of equal ones the alpha nearest to 1.
        """
        if not self._is_auto:
            return self
        with warnings.catch_warnings():  # they are repeated when the rows are counted
            warnings.simplefilter("ignore")
            rows = self._learnable(X, y, sample_weight)
            folds, tests = self._folds(rows, PARTS)
            candidates: list[Any] = [clone(self).set_params(alpha=alpha) for alpha in ALPHAS]
            readings = [candidate._reading(rows) for candidate in candidates]
            losses = np.array([item.log_loss for item in scores(folds, tests, readings)])
        order = sorted(range(len(ALPHAS)), key=lambda k: abs(np.log(ALPHAS[k])))
        return candidates[order[int(np.nan_to_num(losses, nan=np.inf)[order].argmin())]]

    # ---- folds -------------------------------------------------------------------------------

    def _folds(self, rows: Learnable, parts: int) -> tuple[Folds, list[Int64]]:
        """Assign rows to `parts` folds. Returns (the folds, the rows of each)."""
        n = len(rows.labels)
        if not isinstance(parts, int | np.integer) or isinstance(parts, bool) or parts < 2:
            raise ValueError(f"parts must be a whole number of 2 or more, not {parts!r}")
        if n < 2:
            raise ValueError("there is one row only: no row is left to train on without it")
        with naming(self):
            folds, tests = k_fold(rows, min(int(parts), n), workers(self.n_jobs))
        check_classes(folds.classes, 2)
        return folds, tests


def cross_validate(
    estimator: Any, X: Any, y: Any, cv: Any = 5, sample_weight: Any = None,
    settings: Mapping[str, Sequence[Any]] | None = None, *, groups: Any = None,
) -> Any:  # fmt: skip
    """Cross-validate a classifier of naively without refitting: counts of a fold are subtracted.

    The rows are counted once. The model of each split is a sum of counts, and is bit for bit that
    of ``clone(estimator).fit`` on the training rows of the split. It scores the test rows. With
    `settings`, parameters are estimated several times from the same counts.

    Two things are decided once from all rows, where a refit would decide them from its training
    rows:

    - the columns of `NaiveBayes` and their inferred or chosen families, with what these fix, such
      as numbers that count as categories: the equal refit is ``fit(..., like=whole)`` with a model
      of all rows;
    - the idf of `TextNB` and of text columns, which depends on the number of documents of each
      term, and not on labels.

    Bins, smoothing, variance floors, `min_df` and class priors are estimated from the training
    rows alone.

    Parameters
    ----------
    estimator : a classifier of naively, fitted or not, which does not change. `NBSVM`, which must
        refit, is refused.
    X, y, sample_weight : as for its `fit`. Rows of weight w count as w rows in the scores, too.
    cv : an int, the number of stratified folds in the order of the rows, as in scikit-learn (those
        of `out_of_fold` are shuffled), but with duplicates of a row in one fold; a splitter of
        scikit-learn; or an iterable of (training rows, test rows).
    settings : values of parameters to try, such as ``{"alpha": [0.01, 0.1, 1.0]}``, in all
        combinations. They must not change the counts: smoothing, floors, ties, priors and
        thresholds of term frequencies do not.
    groups : (n,) values, or the name of a column of a table X, which is then no feature; as for
        `out_of_fold`, if `cv` is an int. A splitter gets them, as scikit-learn's `GroupKFold`.

    Returns
    -------
    OutOfFold : the out-of-fold predictions; ``result.folds`` has the scores of each split. With
        `settings` a list, one item for each combination, the last parameter varying fastest. The
        best has the least `log_loss`.

    Raises
    ------
    TypeError : for a classifier without additive statistics.
    ValueError : as `fit`; if the rows of a split are invalid; if settings change the counts.

    Examples
    --------
    >>> import naively
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> naively.cross_validate(naively.GaussianNB(), X, y).accuracy > 0.95
    True
    >>> tried = naively.cross_validate(
    ...     naively.GaussianNB(), X, y, settings={"tie": [None, "classes"]}
    ... )
    >>> min(tried, key=lambda result: result.log_loss).settings
    {'tie': None}
    """
    if not isinstance(estimator, LeavesOut):
        raise TypeError(
            f"{type(estimator).__name__} cannot be cross-validated by subtraction: only a "
            "classifier of naively whose training is addition can; "
            "sklearn.model_selection.cross_validate refits any"
        )
    grid = settings or {}
    combinations = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    if not combinations:
        raise ValueError("settings has a parameter without values to try")
    variants: list[Any] = [clone(estimator).set_params(**changes) for changes in combinations]
    for variant in variants:
        variant._refuse_auto()
    X, split = _split_of(variants[0], X, groups, None)
    rows = _split(variants[0]._learnable(X, y, sample_weight), split)
    if rows.kept is not None:
        row = int(np.append(rows.kept != np.arange(len(rows.kept)), True).argmax())
        raise ValueError(f"row {row} has no label: leave such rows out before they are split")
    readings = [rows.reading, *(variant._reading(rows) for variant in variants[1:])]
    tests, training = _splits(cv, rows)
    with naming(estimator):
        folds = Folds(rows, training, workers(variants[0].n_jobs))
        check_classes(folds.classes, 2)
        results = out_of_fold(folds, tests, readings)
    if settings is None:
        return results[0]
    pairs = zip(results, combinations, strict=True)
    return [replace(result, settings=combination) for result, combination in pairs]


def _split_of(
    estimator: Any, X: Any, groups: Any, time: Any
) -> tuple[Any, ByGroup | ByTime | None]:
    """(X without the column of groups or times, if it is named; the groups or times)."""
    if (chosen := kind_of_split(groups, time)) is None:
        return X, None
    kind, column = chosen
    name = column if isinstance(column, str) else getattr(column, "name", None)
    if isinstance(column, str):
        X, column = estimator._set_apart(X, column)
    missing = getattr(estimator, "missing", ())
    return X, kind.of(column, missing, name if isinstance(name, str) else "")


def _split(rows: Learnable, split: ByGroup | ByTime | None) -> Learnable:
    """Training rows with their groups or times."""
    if split is None:
        return rows
    n = len(rows.labels) if rows.kept is None else int(rows.kept.max(initial=-1)) + 1
    if len(split) < n or (rows.kept is None and len(split) > n):
        raise ValueError(f"X has {n} rows, and there are {len(split)} groups or times")
    return replace(rows, split=split if rows.kept is None else split.take(rows.kept))


def _splits(cv: Any, rows: Learnable) -> tuple[list[Int64], Any]:
    """Return (the test rows of each split, whether each row is a training row: (splits, n))."""
    from sklearn.model_selection import check_cv  # slow to import: it imports all metrics

    labels, n = rows.labels, len(rows.labels)
    splitter = check_cv(cv, labels, classifier=True)
    tests, training = list[Int64](), []
    numbers = rows.split.numbers if isinstance(rows.split, ByGroup) else None
    if isinstance(cv, int | np.integer):
        codes = np.unique(labels, return_inverse=True)[1]
        if rows.split is not None:
            learned, tests = rows.split.splits(codes, rows.weights, int(cv))
            return tests, learned
        group_of = alike(rows.blank.schema, rows.X, codes)
        first = np.flatnonzero(group_of == np.arange(n))  # first of each group of duplicates
        if len(first) < n:
            for _, test_groups in splitter.split(first, labels[first]):
                is_test = np.isin(group_of, first[test_groups])
                tests.append(np.flatnonzero(is_test))
                training.append(~is_test)
            return tests, np.array(training)
    for k, (train, test) in enumerate(splitter.split(labels, labels, numbers)):
        train, test = (
            np.arange(n)[part if isinstance(part, np.ndarray) else list(part)]
            if len(part)
            else NONE
            for part in (train, test)
        )
        times = np.bincount(train, minlength=n)
        if times.max(initial=0) > 1:
            row = int(times.argmax())
            raise ValueError(
                f"split {k} trains on row {row} {times[row]} times: use sample_weight instead"
            )
        tests.append(test)
        training.append(times > 0)
    return tests, np.array(training)
