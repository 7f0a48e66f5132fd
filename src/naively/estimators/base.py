"""What every scikit-learn estimator here does; the named classifiers only choose a family."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if

from naively.engines.threads import workers
from naively.estimators import streams
from naively.estimators.decisions import Deciding
from naively.estimators.inside import Inside, has_density
from naively.estimators.learning import Learning
from naively.estimators.leaving_out import LeavesOut
from naively.estimators.linear import LinearColumns, LinearForm, logistic
from naively.estimators.stories import Stories
from naively.estimators.streams import Answer
from naively.estimators.validation import (
    check_data,
    check_labels,
    check_total,
    check_weights,
    naming,
    require_labels,
)
from naively.evaluation.folds import Learnable
from naively.exact import Float64
from naively.explanation import Explanation
from naively.model import Model
from naively.posterior import Posterior
from naively.schema import Schema
from naively.statistics.base import Data
from naively.tables.cells import array_cells
from naively.tables.readers import Source
from naively.tables.scanning import streamed


class NaiveBayesClassifier(
    LeavesOut, Learning, Deciding, Inside, Stories, ClassifierMixin, BaseEstimator,  # type: ignore[misc]
):  # fmt: skip
    """Base of the scikit-learn estimators: checks what comes in, and asks a `Model`."""

    n_features_in_: int
    n_jobs: int | None
    _takes_sparse = True
    _only_positive = False

    # ---- learning ----------------------------------------------------------------------------

    def _summarise(
        self, X: Any, y: Any, sample_weight: Any, known: Model | None
    ) -> tuple[Model, dict[str, Any]]:
        """(a model of these rows alone, attributes to keep with it); self is unchanged."""
        with naming(self):
            if (source := streamed(X)) is not None:
                streams.check_question(self, source, y, sample_weight)
                return streams.counted(self, source, y, known), {}
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

    # ---- predicting --------------------------------------------------------------------------

    def _of_batch(self, batch: pa.Table, columns: Sequence[str]) -> Any:
        """These columns of a batch of a stream, as rows in memory are passed."""
        found = streams.numbers_of(batch, columns)
        named = self._learned is None or self._learned.feature_names is not None
        return found if named else np.column_stack([one.to_numpy() for one in found.columns])

    def _rows(self, X: Any) -> Data:
        """The rows as the model takes them."""
        return check_data(self, X, reset=False, sparse=self._takes_sparse)

    def _ask(self, X: Any, answer: Answer) -> npt.NDArray[Any]:
        """The model's answer for the rows of X."""
        if (source := streamed(X)) is not None:
            with naming(self):
                return np.concatenate([said for said, _ in streams.answers(self, source, answer)])
        jobs = workers(self.n_jobs)
        posterior = self._posterior(jobs).remarking()
        found = answer(posterior, self._rows(X), jobs)
        for said in posterior.said:
            warnings.warn(said, UserWarning, stacklevel=3)
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The part of the rows whose label is predicted right.

        Parameters
        ----------
        X : the rows.
        y : (n,) labels; of a stream the name of the column that has them.
        sample_weight : (n,) weights of the rows.
        """
        if (source := streamed(X)) is None:
            return float(super().score(X, y, sample_weight))
        right = rows = 0
        for said, labels in self._judged(source, y, sample_weight, Posterior.predict):
            right, rows = right + int((said == labels).sum()), rows + len(said)
        if rows == 0:
            raise ValueError("X has no rows")
        return right / rows

    def _judged(
        self, source: Source, y: Any, sample_weight: Any, answer: Answer
    ) -> Iterator[tuple[npt.NDArray[Any], Any]]:
        """The answers for the rows of a stream, and their labels."""
        streams.check_question(self, source, y, sample_weight)
        return streams.answers(self, source, answer, y)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.positive_only = self._only_positive
        return tags
