"""What every scikit-learn estimator here does; the named classifiers only choose a family."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from naively.engines.threads import workers
from naively.estimators.decisions import Deciding
from naively.estimators.inside import Inside, has_density
from naively.estimators.leaving_out import LeavesOut
from naively.estimators.linear import LinearColumns, LinearForm, logistic
from naively.estimators.rereading import Rereads
from naively.estimators.stories import Stories
from naively.estimators.validation import (
    check_data,
    check_labels,
    check_total,
    check_weights,
    naming,
    require_labels,
    settled,
)
from naively.exact import Float64
from naively.explanation import Explanation
from naively.files import parted
from naively.files.parts import REST, Part
from naively.files.safetensors import Saved, save
from naively.model import Model
from naively.posterior import Posterior
from naively.schema import Schema
from naively.statistics.base import Data
from naively.study.folds import Learnable
from naively.tables.cells import array_cells
from naively.workers import Workers

Answer = Callable[[Posterior, Data, Workers], npt.NDArray[Any]]
"""A method of a posterior that answers for rows."""


class NaiveBayesClassifier(
    Rereads, Deciding, Inside, LeavesOut, Stories, ClassifierMixin, BaseEstimator,  # type: ignore[misc]
):  # fmt: skip
    """Base of the scikit-learn estimators: checks what comes in, and asks a `Model`."""

    n_features_in_: int
    n_jobs: int | None
    _takes_sparse = True
    _only_positive = False
    _noted: tuple[str, ...] = ()
    """Attributes that are kept beside the model."""
    _parts: Mapping[str, Part]
    """What named parts learned; see `naively.files.parted`."""

    # ---- learning ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X alone.

        Parameters
        ----------
        X : (n, d) array, data frame or sparse matrix; NaN is a missing value.
        y : (n,) labels; of one class alone the model predicts that one.
        sample_weight : (n,) non-negative weights; a row of weight w counts as w rows.

        Raises
        ------
        ValueError : saying what is wrong and where.
        """
        delta, noted = self._chosen(X, y, sample_weight)._summarise(X, y, sample_weight, None)
        delta.check(workers(self.n_jobs))
        if said := delta.family.doubt(delta.statistics):
            warnings.warn(said, UserWarning, stacklevel=2)
        self._keep(delta, noted)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *,
        part: str | None = None,
    ) -> Self:  # fmt: skip
        """Learn from more rows. New classes may appear in any call; so may levels and columns.

        Any split of the rows into calls gives the same model, bit for bit; of a table once all
        columns are known or named, for a family is inferred when its column is first met.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`.
        classes : labels to make room for before their rows are met; not required.
        part : a name for these rows, by which they can be forgotten later without them: what the
            part learned is kept beside the sum, and saved with it.

        Raises
        ------
        ValueError : saying what is wrong and where; the model is as it was.
        """
        known = getattr(self, "model_", None)
        if known is None:
            self._refuse_auto()
        delta, noted = self._summarise(X, y, sample_weight, known)
        if classes is not None:
            delta.declare_classes(check_labels(classes, len(classes)))
        name = part or REST
        if known is None:
            parts = parted.begun({}, delta.blank(), delta, name)
            self._keep(delta, noted)
        else:
            parts = parted.begun(self._parts, known, delta, name)
            self._go_on(delta, noted)
        self._parts = parted.added(parts, self.model_, delta, name)
        return self

    def _go_on(self, delta: Model, noted: dict[str, Any]) -> None:
        """Absorb a model, under the parameters of this estimator."""
        self.model_.absorb(delta)

    def forget(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, *, part: str | None = None
    ) -> Self:
        """Unlearn rows: the model is again, bit for bit, one that never met them.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`; all rows of the part if there are none.
        part : the name with which the rows were learned, if they had one: see `partial_fit`.

        Raises
        ------
        ValueError : if these rows were not learned, as far as the sums can tell; the model is
            as it was.
        """
        check_is_fitted(self)
        whole = part is not None and X is None and y is None
        gone = None if whole else self._to_forget(X, y, sample_weight)
        if not self._parts and part is None and gone is not None:
            self.model_.forget(gone)
            return self
        self._become(lambda saved: parted.forget(saved, {part or REST: gone}))
        return self

    def _become(self, change: Callable[[Saved], Any]) -> None:
        """Take what becomes of the model and its parts."""
        saved = Saved(self.model_, parts=self._parts)
        change(saved)
        self._keep(saved.model, {name: getattr(self, name) for name in self._noted})
        self._parts = saved.parts

    def _to_forget(self, X: Any, y: Any, sample_weight: Any) -> Model:
        """A model of these rows alone, which have the columns that are known."""
        return self._summarise(X, y, sample_weight, self.model_)[0]

    def decay(self, gamma: float) -> Self:
        """Let all that was learned so far count `gamma` times, 0 < gamma <= 1."""
        check_is_fitted(self)
        if self._parts:
            self._become(lambda saved: parted.decayed(saved, gamma))
        else:
            self.model_.decay(gamma)
        return self

    def __add__(self, other: Self) -> Self:
        """The model that learned what both did, with the parameters of the left one.

        Those of the right one may be others, as long as they counted the same: its smoothing,
        prior and the like do not matter.
        """
        if type(other) is not type(self):
            return NotImplemented
        check_is_fitted(self)
        check_is_fitted(other)
        total = clone(self)
        noted = {name: getattr(self, name) for name in self._noted}
        total._keep(self.model_.copy(), noted)
        with other.model_.lock:  # another thread may be teaching it
            total._go_on(other.model_, noted)
            own = [Saved(one.model_, parts=one._parts) for one in (self, other)]
            total._parts = parted.merged(total.model_, own)
        return total

    def __radd__(self, other: Any) -> Self:
        """So that ``sum(models)`` works."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _summarise(
        self, X: Any, y: Any, sample_weight: Any, known: Model | None
    ) -> tuple[Model, dict[str, Any]]:
        """(a model of these rows alone, attributes to keep with it); self is unchanged."""
        with naming(self):
            rows = self._learnable(X, y, sample_weight, known)
            return rows.summarise(workers(self.n_jobs)), {}

    def _learnable(
        self, X: Any, y: Any, sample_weight: Any, known: Model | None = None
    ) -> Learnable:
        """Rows to learn, checked; of the columns of a known model, if there is one."""
        require_labels(self, y)
        probe = clone(self) if known is None else self
        X = check_data(probe, X, reset=known is None, sparse=self._takes_sparse)
        labels = check_labels(y, X.shape[0])
        weights = check_weights(sample_weight, X)
        if known is None:
            check_total(weights, "rows")
            names = getattr(probe, "feature_names_in_", None)
            known = Model(Schema.of_array(self._family(), X.shape[1], names), self._prior())
        return Learnable(known, X, labels, weights)

    def _keep(self, model: Model, noted: dict[str, Any]) -> None:
        """Take a model as this estimator's own, with what was noted beside it."""
        model.prior.check_room(model.classes)
        names = model.feature_names
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(list(names), object)
        self.n_features_in_ = model.n_features
        for name, value in noted.items():
            setattr(self, name, value)
        self._parts = {}
        self.model_ = model

    # ---- predicting --------------------------------------------------------------------------

    def _posterior(self, jobs: Workers | None = None) -> Posterior:
        """What the model answers as it is now; to be asked for once an answer, as it may change."""
        check_is_fitted(self)
        model, jobs = self.model_, jobs or workers(self.n_jobs)
        if not self._checked and len(model.classes):
            model.check(jobs)
            self._checked = True
        return settled(model, jobs)

    def _rows(self, X: Any) -> Data:
        """The rows as the model takes them."""
        return check_data(self, X, reset=False, sparse=self._takes_sparse)

    def _ask(self, X: Any, answer: Answer) -> npt.NDArray[Any]:
        """The model's answer for the rows of X."""
        jobs = workers(self.n_jobs)
        return answer(self._posterior(jobs), self._rows(X), jobs)

    def predict_proba(self, X: Any) -> Float64:
        """P(c | x), (n, C), in the order of `classes_`."""
        return self._ask(X, Posterior.proba)

    def predict_log_proba(self, X: Any) -> Float64:
        """log P(c | x), (n, C), in nats."""
        return self._ask(X, Posterior.log_proba)

    def predict_joint_log_proba(self, X: Any) -> Float64:
        """log P(x, c), (n, C), in nats, up to a term that depends on x alone.

        `predict_log_likelihood` plus log π_c has that term too.
        """
        return self._ask(X, Posterior.joint_log_proba)

    @available_if(has_density)  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> Float64:
        """log p(x) under the model, (n,), in nats.

        Complement naive Bayes and `AutoBayes` do not have this method: their scores are no density.
        """
        return self._ask(X, Posterior.score_samples)

    # ---- looking inside ----------------------------------------------------------------------

    def explain(self, X: Any) -> Explanation:
        """What each feature and the prior contribute to each class's joint log-likelihood.

        The result has a number for each row, class and feature: pass the rows to explain. It is a
        sequence of explanations of rows, which can be printed; `to_html` makes a page of it, and
        `to_arrow` a flat table.
        """
        posterior, rows = self._posterior(), self._rows(X)
        return replace(posterior.explain(rows), cells=partial(array_cells, rows))

    def to_linear(self) -> LinearForm:
        """W and b where the log-odds are linear in x (lecture 1, "Naive Bayes is a linear
        classifier"): P(y | x) = 1 / (1 + exp(-y (w · x + b))).

        Raises
        ------
        ValueError : where they are not, saying why.
        """
        return LinearForm.of(self._posterior())

    def to_logistic(self) -> Any:
        """The logistic regression that predicts the same, where the log-odds are linear in x.

        Its probabilities are these up to rounding: for two classes σ(w · x + b), else the softmax
        of the w_c · x + b_c. Of two classes scikit-learn computes one as 1 - p, so that the
        logarithm of a p near 0 loses digits there. Weights cannot hold everything: missing numbers
        are refused, and numbers that the model would refuse, such as negative counts, are not.
        What is learned later does not change it.

        Returns
        -------
        A fitted scikit-learn `LogisticRegression`; where the log-odds are linear in something
        else than the numbers of X, a fitted `Pipeline` that encodes X before: with a `Binarizer`
        for `BernoulliNB`, a `OneHotEncoder` for `CategoricalNB`, `LinearColumns` for tables and
        texts. Levels have an indicator each, and so has a missing level; a level that was never
        learned is zeros, and scores what the model gives it.

        Raises
        ------
        ValueError : where the log-odds are not linear in x, saying why.
        """
        return logistic(copy.deepcopy(self))  # another thread may be teaching this one

    def _encoder(self) -> Any:
        """A fitted transformer from X to what the log-odds are linear in; None if it is X.

        It may keep self.
        """
        themselves = self.model_.posterior().linear_columns() is None
        return None if themselves else LinearColumns.learned(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model, with its exact statistics, to a file: see `naively.load`."""
        check_is_fitted(self)
        said = self.get_params(deep=False)
        saved = Saved(self.model_, type(self).__name__, said, parts=self._parts)
        save(saved, path, workers(self.n_jobs))

    def __sklearn_is_fitted__(self) -> bool:
        return self._learned is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.positive_only = self._only_positive
        return tags
