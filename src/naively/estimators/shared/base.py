"""Base class of the scikit-learn estimators: predictions, decisions, sampling, explanations.

Subclasses choose a family, and add their parameters and attributes.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from naively.core.exact import Float64
from naively.core.workers import Workers, workers
from naively.estimators.shared import learning
from naively.estimators.shared.cross_validation import LeavesOut
from naively.estimators.shared.inspection import (
    Inside,
    LinearColumns,
    LinearForm,
    OfDensity,
    logistic,
)
from naively.estimators.shared.learning import Answer, Learning
from naively.estimators.shared.validation import (
    check_data,
    check_labels,
    check_total,
    check_weights,
    naming,
    require_labels,
)
from naively.evaluation.folds import Learnable
from naively.explain.explanation import Explanation
from naively.explain.rows import array_cells
from naively.io.sources import Source, streamed
from naively.model.decisions import DecisionRule, likeliest
from naively.model.model import Model
from naively.model.posterior import Posterior
from naively.model.prior import adapted
from naively.model.schema import Schema
from naively.model_summary import importances
from naively.statistics.base import Data

# ---- sampling ------------------------------------------------------------------------------------


CELLS = 1 << 22  # numbers that are drawn at a time: 32 MiB


@dataclass(frozen=True)
class BayesError:
    """Monte Carlo estimate of R(f*), the error of the Bayes classifier if the model is true.

    Attributes
    ----------
    value : the error, a fraction of rows.
    standard_error : standard error of `value`; ± two of these is a 95% confidence interval.
    n_samples : number of drawn rows.
    """

    value: float
    standard_error: float
    n_samples: int

    def __str__(self) -> str:
        rows = f"{self.n_samples:,} rows drawn"
        return f"{self.value:.4f} ± {self.standard_error:.4f} ({rows}; ± is one standard error)"


def _generator(random_state: Any) -> np.random.Generator:
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


def _check_count(n_samples: Any, least: int) -> None:
    if not isinstance(n_samples, Integral) or n_samples < least:
        raise ValueError(f"n_samples must be a number of rows, {least} or more, not {n_samples!r}")


# ---- base ----------------------------------------------------------------------------------------


def _decisions(posterior: Posterior, rows: Data, jobs: Workers) -> Float64:
    """Return the log-odds of two classes, (n,); the log-probabilities of more, (n, C)."""
    logs = posterior.log_proba(rows, jobs)
    return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs


class NaiveBayesClassifier(
    LeavesOut, Learning, Inside, ClassifierMixin, BaseEstimator,  # type: ignore[misc]
):  # fmt: skip
    """Base of the scikit-learn classifiers: checks input, and uses a `Model`."""

    n_features_in_: int
    n_jobs: int | None
    _takes_sparse = True
    _only_positive = False
    _prior_parameter = "prior"
    """Name of the parameter for the class prior: scikit-learn's in its drop-ins."""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Name the right parameter in the error if the class prior has another name here."""
        for name in ("prior", "priors", "class_prior"):
            if name in options and name != cls._prior_parameter:
                prior = f"its class prior is {cls._prior_parameter}="
                raise TypeError(f"{cls.__name__} has no parameter {name!r}: {prior}")
        return super().__new__(cls)

    # ---- learning ----------------------------------------------------------------------------

    def _summarise(
        self, X: Any, y: Any, sample_weight: Any, existing: Model | None
    ) -> tuple[Model, dict[str, Any]]:
        """Return (a model of these rows alone, attributes to set with it); self is unchanged."""
        with naming(self):
            if (source := streamed(X)) is not None:
                learning.check_stream(self, source, y, sample_weight)
                return learning.counted(self, source, y, existing), {}
            rows = self._learnable(X, y, sample_weight, existing)
            return rows.summarise(workers(self.n_jobs)), {}

    def _learnable(
        self, X: Any, y: Any, sample_weight: Any, existing: Model | None = None
    ) -> Learnable:
        """Check training rows; they must have the columns of `existing`, unless it is None."""
        require_labels(self, y)
        probe = clone(self) if existing is None else self
        X = check_data(probe, X, reset=existing is None, sparse=self._takes_sparse)
        labels = check_labels(y, X.shape[0])
        weights = check_weights(sample_weight, X.shape[0])
        if existing is None:
            check_total(weights, "rows")
            names = getattr(probe, "feature_names_in_", None)
            existing = Model(Schema.of_array(self._family(), X.shape[1], names), self._prior())
        return Learnable(existing, X, labels, weights)

    # ---- predicting --------------------------------------------------------------------------

    def _of_batch(self, batch: pa.Table, columns: Sequence[str]) -> Any:
        """Convert these columns of a batch to rows as users pass them to `fit`."""
        table = learning.numbers_of(batch, columns)
        if self._learned is None or self._learned.feature_names is not None:
            return table
        return np.column_stack([column.to_numpy() for column in table.columns])

    def _rows(self, X: Any) -> Data:
        """Check rows and convert them to the input of the posterior."""
        return check_data(self, X, reset=False, sparse=self._takes_sparse)

    def _ask(self, X: Any, answer: Answer) -> npt.NDArray[Any]:
        """Apply a method of the posterior to the rows of X, in memory or from a stream."""
        if (source := streamed(X)) is not None:
            with naming(self):
                return np.concatenate([r for r, _ in learning.answers(self, source, answer)])
        jobs = workers(self.n_jobs)
        posterior = self._posterior(jobs).remarking()
        result = answer(posterior, self._rows(X), jobs)
        for message in posterior.warnings:
            warnings.warn(message, UserWarning, stacklevel=3)
        return result

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on these rows.

        Parameters
        ----------
        X : the rows.
        y : (n,) labels; for a stream the name of the label column.
        sample_weight : (n,) weights of the rows.
        """
        if (source := streamed(X)) is None:
            return float(super().score(X, y, sample_weight))
        correct = n_rows = 0
        for predicted, labels in self._answered(source, y, sample_weight, Posterior.predict):
            correct, n_rows = correct + int((predicted == labels).sum()), n_rows + len(predicted)
        if n_rows == 0:
            raise ValueError("X has no rows")
        return correct / n_rows

    def _answered(
        self, source: Source, y: Any, sample_weight: Any, answer: Answer
    ) -> Iterator[tuple[npt.NDArray[Any], Any]]:
        """Yield (results, labels) for the batches of a stream."""
        learning.check_stream(self, source, y, sample_weight)
        return learning.answers(self, source, answer, y)

    def predict_proba(self, X: Any) -> Float64:
        """P(c | x), (n, C), in the order of `classes_`."""
        return self._ask(X, Posterior.proba)

    def predict_log_proba(self, X: Any) -> Float64:
        """log P(c | x), (n, C), in nats."""
        return self._ask(X, Posterior.log_proba)

    def decision_function(self, X: Any) -> Float64:
        """Return log-odds for two classes, (n,); log P(c | x) for more, (n, C). In nats.

        The log-odds are log P(classes_[1] | x) - log P(classes_[0] | x).
        """
        return self._ask(X, _decisions)

    def predict_joint_log_proba(self, X: Any) -> Float64:
        """log P(x, c), (n, C), in nats, up to a term that depends on x alone.

        `predict_log_likelihood` plus log π_c includes that term.
        """
        return self._ask(X, Posterior.joint_log_proba)

    @OfDensity
    def score_samples(self, X: Any) -> Float64:
        """log p(x) under the model, (n,), in nats.

        Complement naive Bayes and `AutoBayes` lack this method: their scores are not a density.
        """
        return self._ask(X, Posterior.score_samples)

    # ---- deciding ---------------------------------------------------------------------------

    def predict(self, X: Any, costs: Any = None, unsure: float | None = None) -> npt.NDArray[Any]:
        """Predict the label of each row, (n,): the most probable class, or the least costly one.

        Parameters
        ----------
        X : (n, d) rows, as for `fit`.
        costs : (C, C) numbers or dict
            Cost of predicting each class (column) for each actual class (row), in the order of
            `classes_`; or {(actual, predicted): cost}, 0 for pairs that are not named. The
            prediction is the class k with the least expected cost Σ_c P(c | x) cost[c, k]; of
            equal ones the first.
        unsure : float
            Abstention threshold, above 0 and at most 1: abstain where the most probable class has
            P(c | x) < `unsure`. The result is then an array of objects, None for abstentions.

        Raises
        ------
        ValueError : if the rows, the costs or `unsure` are invalid.
        """
        if costs is None and unsure is None:
            return self._ask(X, Posterior.predict)

        def answer(posterior: Posterior, rows: Data, jobs: Workers) -> npt.NDArray[Any]:
            return DecisionRule.of(costs, unsure, posterior.classes).labels(posterior, rows, jobs)

        return self._ask(X, answer)

    def predict_top(self, X: Any, k: int) -> tuple[npt.NDArray[Any], Float64]:
        """Return the k most probable classes of each row, the most probable first.

        Parameters
        ----------
        X : (n, d) rows, as for `fit`.
        k : number of classes, 1 or more; all classes if there are fewer.

        Returns
        -------
        (labels, P(c | x)), (n, k) both. The first labels are those of `predict`.
        """
        posteriors: list[Posterior] = []  # the one used: another thread may add classes

        def answer(posterior: Posterior, rows: Data, jobs: Workers) -> npt.NDArray[Any]:
            posteriors.append(posterior)
            return np.stack(likeliest(posterior, rows, k, jobs), axis=2)

        top = self._ask(X, answer)
        return posteriors[0].classes[top[..., 0].astype(np.int64)], top[..., 1]

    def adapt_prior(self, X: Any) -> Self:
        """Return a copy with a class prior that is adapted to rows without labels (label shift).

        Label shift means that the class frequencies have changed, but not P(x | c). The new prior
        is that with the largest likelihood of these rows, found by expectation maximisation
        (Saerens, Latinne & Decaestecker 2002). It is only as good as P(x | c): if probabilities are
        far from calibrated, so is the new prior.

        The new prior is set as parameter of the copy (`prior`, `priors` or `class_prior`). So it
        remains after `partial_fit`, and after saving and loading; data with other classes are
        refused. This classifier does not change.

        Parameters
        ----------
        X : (n, d) rows, as for `fit`; the more, the better.

        Raises
        ------
        ValueError : if the rows are invalid.
        """
        check_is_fitted(self)
        estimator = copy.deepcopy(self)  # another thread may be training this one

        def answer(posterior: Posterior, rows: Data, jobs: Workers) -> npt.NDArray[Any]:
            with np.errstate(invalid="ignore"):  # -inf - -inf for a class without rows
                return posterior.log_proba(rows, jobs) - posterior.log_prior

        prior = adapted(estimator._ask(X, answer), estimator.model_.posterior().class_prior)
        setattr(estimator, self._prior_parameter, tuple(prior.tolist()))
        if hasattr(estimator, "class_weight"):  # the given prior replaces it
            estimator.class_weight = None
        with estimator._as_set():
            return estimator

    # ---- sampling ---------------------------------------------------------------------------

    def sample(
        self, n_samples: int = 1, random_state: Any = None, *, label: Any = None,
        length: int | None = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Draw rows from the model, (X, y): a class from the prior, then a row of that class.

        Lecture 1: "we can use this to generate a spam email, i.e., a document x of class y = spam
        by picking m words independently at random": ``sample(label="spam", length=m)``.

        Parameters
        ----------
        n_samples : int, 0 or more.
        random_state : None, int or RandomState, as in scikit-learn.
        label : the class of all rows; drawn from the prior by default.
        length : int
            Events in each row, m = Σ_α x_α, such as the words of a document: for `MultinomialNB`,
            `ComplementNB` and text; 100 by default.

        Returns
        -------
        X : (n_samples, d) array; a list of texts from `TextNB`; from models of tables a table of
            the same type as the training data, or an Arrow table if the model was loaded.
        y : (n_samples,) labels.

        Raises
        ------
        ValueError : if the label is unknown, or `length` does not apply to the model.
        """
        _check_count(n_samples, 0)
        posterior, generator = self._posterior(), _generator(random_state)
        drawn, labels = posterior.sample(n_samples, generator, label, length)
        return self._shown(posterior.schema, drawn), labels

    def bayes_error(
        self, n_samples: int = 100_000, random_state: Any = None, *, length: int | None = None
    ) -> BayesError:
        """Estimate the Bayes error R(f*) = P(f*(X) ≠ Y), if the model is true.

        This is the least possible error (lecture 2, "Optimal Classification"). The estimate is the
        mean of 1 - max_c P(c | x) over rows drawn from the model.

        Parameters
        ----------
        n_samples : int, 2 or more: number of rows to draw.
        random_state : None, int or RandomState, as in scikit-learn.
        length : int
            Events in each row, as for `sample`: longer rows have less error.

        Returns
        -------
        BayesError, with its standard error.

        Raises
        ------
        ValueError : if the scores are not those of a distribution to draw from: for `AutoBayes`,
            "complement", and texts whose counts are weighted or "binary".

        Examples
        --------
        Two normal densities whose means are two standard deviations apart: R(f*) = Φ(-1) = 0.1587.

        >>> from naively import GaussianNB
        >>> model = GaussianNB.from_parameters([[-1.0], [1.0]], 1.0)
        >>> print(model.bayes_error(random_state=0))
        0.1589 ± 0.0005 (100,000 rows drawn; ± is one standard error)
        """
        _check_count(n_samples, 2)
        posterior, generator = self._posterior(), _generator(random_state)
        family = posterior.schema.family
        if not family.is_story:
            problem = f"the scores of {family.name} naive Bayes are not densities of rows"
            raise ValueError(f"{problem}: it has no Bayes error")
        jobs, total, squares = workers(self.n_jobs), 0.0, 0.0
        step = max(CELLS // max(len(posterior.schema.names), 64), 1)
        for start in range(0, n_samples, step):
            drawn, _ = posterior.sample(min(step, n_samples - start), generator, length=length)
            proba = posterior.proba(self._scored(posterior.schema, drawn), jobs)
            errors = 1.0 - proba.max(axis=1)
            total += errors.sum()
            squares += (errors**2).sum()
        value = total / n_samples
        variance = max(squares / n_samples - value**2, 0.0)
        return BayesError(value, math.sqrt(variance / (n_samples - 1)), n_samples)

    def _shown(self, schema: Schema, drawn: Any) -> Any:
        """Convert drawn rows to the type that users pass."""
        return drawn

    def _scored(self, schema: Schema, drawn: Any) -> Data:
        """Convert drawn rows to the input of the posterior."""
        return drawn

    # ---- looking inside ----------------------------------------------------------------------

    @property
    def feature_importances_(self) -> Float64:
        """Feature importance, (d,): mean distance of contributions from their mean, in nats.

        These are the numbers of `summary`, in the order of the columns of X. Interactions are
        included; columns that the model does not use have 0. NaN for a text column of
        `NaiveBayes`.

        Raises
        ------
        AttributeError : for models of documents alone, whose features are terms.
        """
        self._posterior()  # NotFittedError before fit
        schema = self.model_.schema
        if not hasattr(self, "n_features_in_"):
            problem = "documents have terms in place of features: see informative_terms()"
            raise AttributeError(problem)
        by_name = importances(self.model_)
        names = schema.ordered if schema.reasons is None else schema.why
        return np.array([math.nan if value is None else value for value in map(by_name.get, names)])

    def explain(self, X: Any) -> Explanation:
        """Return the contributions of features and prior to the joint log-likelihoods, in nats.

        The result is a sequence of explanations, one for each row, which can be printed; `to_html`
        makes a page, and `to_arrow` a flat table. It has n · C · d numbers, so pass only rows to
        explain.
        """
        posterior, rows = self._posterior(), self._rows(X)
        return replace(posterior.explain(rows), cells=partial(array_cells, rows))

    def to_linear(self) -> LinearForm:
        """Return w and b of the log-odds w · x + b (lecture 1, "Naive Bayes is a linear
        classifier"): P(y | x) = 1 / (1 + exp(-y (w · x + b))).

        Raises
        ------
        ValueError : if the log-odds are not linear in x, with the reason.
        """
        return LinearForm.of(self._posterior())

    def to_logistic(self) -> Any:
        """Return a logistic regression with the same predictions, if the log-odds are linear in x.

        Its probabilities are equal up to rounding: σ(w · x + b) for two classes, else the softmax
        of the w_c · x + b_c. For two classes scikit-learn computes one probability as 1 - p, which
        loses digits if it is near 0. Missing numbers are refused, and invalid values, such as
        negative counts, are not. Later updates of this model do not change the result.

        Returns
        -------
        A fitted scikit-learn `LogisticRegression`. If x must be encoded first, a fitted `Pipeline`:
        with a `Binarizer` for `BernoulliNB`, a `OneHotEncoder` for `CategoricalNB`, and
        `LinearColumns` for tables and texts. Each category has an indicator, and so have missing
        values; the indicators of an unseen category are 0, which gives the score of this model.

        Raises
        ------
        ValueError : if the log-odds are not linear in x, with the reason.
        """
        return logistic(copy.deepcopy(self))  # another thread may be training this one

    def _encoder(self) -> Any:
        """Return a fitted transformer from X to the columns of `LinearForm`; None if X has them.

        It may hold a reference to self.
        """
        same_columns = self.model_.posterior().linear_columns() is None
        return None if same_columns else LinearColumns.learned(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.positive_only = self._only_positive
        return tags
