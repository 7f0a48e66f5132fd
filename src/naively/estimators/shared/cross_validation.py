"""Scores of rows by classifiers that did not learn them, without refitting."""

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
from naively.core.model import Model
from naively.core.prior import Prior
from naively.core.workers import workers
from naively.estimators.shared.validation import check_classes, naming
from naively.evaluation.cross_validation import (
    ALPHAS,
    LeftOut,
    SmoothingCurve,
    left_out,
    scores,
    smoothing_curve,
)
from naively.evaluation.folds import Folds, Learnable, Reading, alike, k_fold
from naively.families.base import AnyFamily

PARTS = 10
NONE = np.empty(0, np.int64)


class LeavesOut:
    """What every classifier can do whose training is addition."""

    model_: Any
    alpha: Any
    n_jobs: int | None

    @abstractmethod
    def _family(self) -> AnyFamily:
        """The family with this estimator's parameters."""

    @abstractmethod
    def _prior(self) -> Prior:
        """The class prior with this estimator's parameters."""

    @abstractmethod
    def _learnable(self, X: Any, y: Any, sample_weight: Any) -> Learnable:
        """Rows to learn, checked."""

    def _reading(self, rows: Learnable) -> Reading:
        """How the counts of rows are read with the parameters of this classifier."""
        schema = rows.blank.schema
        return schema.with_family(self._family()), self._prior()

    def left_out(self, X: Any, y: Any, sample_weight: Any = None, parts: int = PARTS) -> LeftOut:
        """How this classifier does on these rows, each scored by a model that did not learn it.

        The rows are cut into parts, which are counted once each. The model without a part is the
        sum of all parts less this one: the model that `fit` makes of the other rows, bit for bit.
        What this classifier itself has learned does not matter, nor does it change.

        The parts follow from the rows, not from chance nor from their order: the rows of each
        class are sorted by a hash of what is in them, and dealt to the parts in turn. Duplicates of
        a row are in one part: docs/evidence.md says how they are told from rows that recur.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`.
        parts : how many, 2 or more; as many as there are rows, if they are fewer.

        Returns
        -------
        LeftOut : print it, or ask it for `accuracy`, `log_loss` (nats), `calibration` and the
            probabilities of each row, `proba`.

        Raises
        ------
        ValueError : as `fit`; or if a model cannot be estimated without one of the parts.

        See Also
        --------
        naively.cross_validate : for other splits, and for several settings at once. It says what is
            decided once for all rows.
        """
        self._refuse_auto()
        rows = self._learnable(X, y, sample_weight)
        folds, tests = self._parted(rows, parts)
        with naming(self):
            return left_out(folds, tests, [rows.reading])[0]

    def smoothing_curve(
        self, X: Any, y: Any, sample_weight: Any = None, *,
        alphas: Sequence[float] = ALPHAS, parts: int = PARTS,
    ) -> SmoothingCurve:  # fmt: skip
        """How left-out rows are predicted with each smoothing: what ``alpha="auto"`` looks at.

        The rows are counted once. `naively.plot.SmoothingDisplay` draws it.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`.
        alphas : values of `alpha` to try, numbers of 0 or more.
        parts : how many parts of the rows are left out in turn, as for `left_out`.

        Raises
        ------
        ValueError : as `left_out`; for a classifier that does not smooth, as `AutoBayes`.
        """
        if not hasattr(self, "alpha"):
            raise ValueError(f"{type(self).__name__} has no alpha: it does not smooth")
        values = sorted({float(alpha) for alpha in alphas})
        if not values:
            raise ValueError("alphas has no values to try")
        tried: list[Any] = [clone(self).set_params(alpha=alpha) for alpha in values]
        rows = tried[0]._learnable(X, y, sample_weight)
        folds, tests = self._parted(rows, parts)
        with naming(self):
            return smoothing_curve(folds, tests, values, [one._reading(rows) for one in tried])

    # ---- alpha="auto" ------------------------------------------------------------------------

    @property
    def alpha_(self) -> Any:
        """The smoothing: `alpha`, or what was chosen for "auto"."""
        return self._alpha_of(self.model_)

    def _alpha_of(self, model: Model) -> Any:
        """The smoothing of a model."""
        family: Any = model.family
        return family.alpha

    @property
    def _is_auto(self) -> bool:
        return isinstance(getattr(self, "alpha", None), str) and self.alpha == "auto"

    @property
    def _smoothing(self) -> Any:
        """The value of `alpha`; where it is to be chosen and is not yet, any."""
        if not self._is_auto:
            return self.alpha
        known: Model | None = vars(self).get("model_")
        return 1.0 if known is None else self._alpha_of(known)

    def _refuse_auto(self) -> None:
        if self._is_auto:
            raise ValueError(
                'alpha="auto" is chosen when `fit` is called: call it first, or give the `alpha_` '
                "that it has chosen as alpha"
            )

    def _chosen(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Itself; with "auto" a classifier like it whose alpha predicts left-out rows best.

        Of equal ones the alpha nearest to 1.
        """
        if not self._is_auto:
            return self
        with warnings.catch_warnings():  # they come again when the rows are learned
            warnings.simplefilter("ignore")
            rows = self._learnable(X, y, sample_weight)
            folds, tests = self._parted(rows, PARTS)
            tried: list[Any] = [clone(self).set_params(alpha=alpha) for alpha in ALPHAS]
            found = scores(folds, tests, [one._reading(rows) for one in tried])
            losses = np.array([one.log_loss for one in found])
        order = sorted(range(len(ALPHAS)), key=lambda k: abs(np.log(ALPHAS[k])))
        return tried[order[int(np.nan_to_num(losses, nan=np.inf)[order].argmin())]]

    # ---- parts -------------------------------------------------------------------------------

    def _parted(self, rows: Learnable, parts: int) -> tuple[Folds, list[Int64]]:
        """(models without one of so many parts each, the rows of these)."""
        n = len(rows.labels)
        if not isinstance(parts, int | np.integer) or isinstance(parts, bool) or parts < 2:
            raise ValueError(f"parts must be a whole number of 2 or more, not {parts!r}")
        if n < 2:
            raise ValueError("there is one row only: nothing is left to learn without it")
        with naming(self):
            folds, tests = k_fold(rows, min(int(parts), n), workers(self.n_jobs))
        check_classes(folds.classes, 2)
        return folds, tests


def cross_validate(
    estimator: Any, X: Any, y: Any, cv: Any = 5, sample_weight: Any = None,
    settings: Mapping[str, Sequence[Any]] | None = None,
) -> Any:  # fmt: skip
    """Cross-validate a classifier of naively without refitting it: leaving out is subtraction.

    The rows are counted once. The model of each split is a sum of counts, and scores the rows that
    the split tests: the same, bit for bit, as ``clone(estimator).fit`` on the rows that it trains
    on. With `settings` the same counts are estimated in many ways.

    Three things are decided once, from all rows, before they are counted; a refit would decide them
    from its training rows:

    - the columns of `NaiveBayes` and the families that are inferred or chosen for them, with what
      these hold fixed, such as the numbers that count as levels: the refit that is equal is
      ``fit(..., like=whole)`` with a model of all rows;
    - the documents that an idf of `TextNB` refers to, and of text columns: their words and labels
      do not enter, only in how many documents each word is;
    - nothing else: cuts of numbers, smoothing, variance floors, `min_df` and class priors are
      estimated from the training rows alone.

    Parameters
    ----------
    estimator : a classifier of naively, fitted or not; it stays as it is. `NBSVM` has to refit, and
        is refused.
    X, y, sample_weight : as for its `fit`. Rows of weight w count as w rows in the scores, too.
    cv : an int, for so many stratified folds, as scikit-learn has them, but with the duplicates of
        a row in one (see `left_out`); a splitter of scikit-learn; or an iterable of (rows to learn,
        rows to score).
    settings : values to try of each parameter, such as ``{"alpha": [0.01, 0.1, 1.0]}``; all
        combinations are. They must not change what is counted: smoothing, floors, ties, priors and
        the frequencies of terms to leave out do not.

    Returns
    -------
    LeftOut : what the models say of each row; ``result.folds`` has the scores of each split.
        With `settings` a list of them, one a combination, the last parameter varying first. The
        best has the least `log_loss`.

    Raises
    ------
    TypeError : for a classifier whose training is no addition.
    ValueError : as `fit`; if a split's rows cannot be learned; if settings change what is counted.

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
    >>> min(tried, key=lambda one: one.log_loss).settings
    {'tie': None}
    """
    if not isinstance(estimator, LeavesOut):
        raise TypeError(
            f"{type(estimator).__name__} cannot be cross-validated by subtraction: only a "
            "classifier of naively whose training is addition can; "
            "sklearn.model_selection.cross_validate refits any"
        )
    names = list(settings or {})
    combined = [dict(zip(names, one, strict=True)) for one in product(*(settings or {}).values())]
    if not combined:
        raise ValueError("settings has a parameter without values to try")
    variants: list[Any] = [clone(estimator).set_params(**one) for one in combined]
    for one in variants:
        one._refuse_auto()
    rows = variants[0]._learnable(X, y, sample_weight)
    if rows.kept is not None:
        lacking = int(np.append(rows.kept != np.arange(len(rows.kept)), True).argmax())
        raise ValueError(f"row {lacking} has no label: leave such rows out before they are split")
    readings = [rows.reading, *(one._reading(rows) for one in variants[1:])]
    tests, learned = _splits(cv, rows)
    with naming(estimator):
        folds = Folds(rows, learned, workers(variants[0].n_jobs))
        check_classes(folds.classes, 2)
        found = left_out(folds, tests, readings)
    if settings is None:
        return found[0]
    return [replace(one, settings=own) for one, own in zip(found, combined, strict=True)]


def _splits(cv: Any, rows: Learnable) -> tuple[list[Int64], Any]:
    """(rows that each split tests, whether it learns each row)."""
    from sklearn.model_selection import check_cv  # with all metrics

    labels, n = rows.labels, len(rows.labels)
    chosen = check_cv(cv, labels, classifier=True)
    tests, learned = [], []
    if isinstance(cv, int | np.integer):
        codes = np.unique(labels, return_inverse=True)[1]
        same = alike(rows.blank.schema, rows.X, codes)
        first = np.flatnonzero(same == np.arange(n))  # of each row and its duplicates
        if len(first) < n:
            for _, own in chosen.split(first, labels[first]):
                out = np.isin(same, first[own])
                tests.append(np.flatnonzero(out))
                learned.append(~out)
            return tests, np.array(learned)
    for k, (train, test) in enumerate(chosen.split(labels, labels)):
        train, test = (
            np.arange(n)[rows if isinstance(rows, np.ndarray) else list(rows)]
            if len(rows)
            else NONE
            for rows in (train, test)
        )
        own = np.bincount(train, minlength=n)
        if own.max(initial=0) > 1:
            row = int(own.argmax())
            raise ValueError(f"split {k} learns row {row} {own[row]} times: weigh rows instead")
        tests.append(test)
        learned.append(own > 0)
    return tests, np.array(learned)
