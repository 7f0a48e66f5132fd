"""What every scikit-learn estimator here does; the named classifiers only choose a family."""

from __future__ import annotations

import copy
import math
import warnings
from abc import abstractmethod
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
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from naively.core.decisions import DecisionRule, likeliest
from naively.core.exact import Float64
from naively.core.model import Model
from naively.core.posterior import Posterior
from naively.core.prior import Prior, adapted
from naively.core.schema import Schema
from naively.core.workers import Workers, workers
from naively.estimators.shared import learning
from naively.estimators.shared.cross_validation import LeavesOut
from naively.estimators.shared.inside import (
    Inside,
    LinearColumns,
    LinearForm,
    has_density,
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
from naively.model_summary import importances
from naively.statistics.base import Data


class Deciding:
    """Labels from probabilities: those that cost least, and none where no class is sure."""

    model_: Any
    _as_set: Any
    _prior_parameter = "prior"
    """The name of the parameter that may hold probabilities of the classes."""

    @abstractmethod
    def _prior(self) -> Prior: ...

    @abstractmethod
    def _ask(self, X: Any, answer: Any) -> npt.NDArray[Any]: ...

    def predict(self, X: Any, costs: Any = None, unsure: float | None = None) -> npt.NDArray[Any]:
        """The label of each row, (n,): the most probable class, unless costs say otherwise.

        Parameters
        ----------
        X : (n, d) rows, as for `fit`.
        costs : (C, C) numbers or dict
            What it costs to predict each class (column) where each is true (row), in the order of
            `classes_`; or {(true, predicted): cost}, 0 for pairs that are not named. A row gets
            the label k of least expected cost Σ_c P(c | x) cost[c, k]; of equals the first.
        unsure : float
            Leave the label open where the most probable class has P(c | x) < `unsure`, above 0 and
            at most 1: the result is then an array of objects, None where it is open.

        Raises
        ------
        ValueError : saying what is wrong with the rows, the costs or `unsure`.
        """
        if costs is None and unsure is None:
            return self._ask(X, Posterior.predict)

        def answer(posterior: Posterior, rows: Data, jobs: Workers) -> npt.NDArray[Any]:
            return DecisionRule.of(costs, unsure, posterior.classes).labels(posterior, rows, jobs)

        return self._ask(X, answer)

    def predict_top(self, X: Any, k: int) -> tuple[npt.NDArray[Any], Float64]:
        """The k most probable classes of each row, the most probable first.

        Parameters
        ----------
        X : (n, d) rows, as for `fit`.
        k : how many, 1 or more; all classes if they are fewer.

        Returns
        -------
        (their labels, their P(c | x)), (n, k) both. The first labels are those of `predict`.
        """
        asked: list[Posterior] = []  # another thread may teach the model new classes meanwhile

        def answer(posterior: Posterior, rows: Data, jobs: Workers) -> npt.NDArray[Any]:
            asked.append(posterior)
            return np.stack(likeliest(posterior, rows, k, jobs), axis=2)

        found = self._ask(X, answer)
        return asked[0].classes[found[..., 0].astype(np.int64)], found[..., 1]

    def adapt_prior(self, X: Any) -> Self:
        """A copy of this classifier for rows of which the classes are more or less frequent.

        Re-estimates the class prior from rows without labels, where P(x | c) is as it was and only
        the prior is another (label shift): the prior under which these rows are most probable, by
        expectation maximisation (Saerens, Latinne & Decaestecker 2002). It trusts P(x | c): of a
        model whose probabilities are far off, so is the prior.

        The copy predicts with the new prior, which is its parameter for given priors (`prior`,
        `priors` or `class_prior`): so it keeps it when it learns on, or is saved and loaded, and
        refuses classes that the prior does not name. This classifier does not change, and may go
        on learning.

        Parameters
        ----------
        X : (n, d) rows, as for `fit`: as many as possible.

        Raises
        ------
        ValueError : saying what is wrong with the rows.
        """
        check_is_fitted(self)
        new = copy.deepcopy(self)  # another thread may be teaching this one

        def answer(posterior: Posterior, rows: Data, jobs: Workers) -> npt.NDArray[Any]:
            with np.errstate(invalid="ignore"):  # of a class without rows
                return posterior.log_proba(rows, jobs) - posterior.log_prior

        prior = adapted(new._ask(X, answer), new.model_.posterior().class_prior)
        setattr(new, self._prior_parameter, tuple(prior.tolist()))
        if hasattr(new, "class_weight"):  # which the prior replaces
            new.class_weight = None
        with new._as_set():
            return new


# ---- stories -------------------------------------------------------------------------------------


CELLS = 1 << 22  # of rows that are drawn at a time: 32 MiB of numbers


@dataclass(frozen=True)
class BayesError:
    """R(f*), the error of the Bayes classifier if the model is the truth, estimated by chance.

    Attributes
    ----------
    value : the share of rows that the best classifier gets wrong.
    standard_error : of it; the error lies within two of these in 95 cases of 100.
    n_samples : rows that were drawn.
    """

    value: float
    standard_error: float
    n_samples: int

    def __str__(self) -> str:
        rows = f"{self.n_samples:,} rows drawn"
        return f"{self.value:.4f} ± {self.standard_error:.4f} ({rows}; ± is one standard error)"


class Stories:
    """What every classifier can do that says how rows come about."""

    n_jobs: int | None

    @abstractmethod
    def _posterior(self) -> Posterior:
        """What the model answers as it is now."""

    def sample(
        self, n_samples: int = 1, random_state: Any = None, *, label: Any = None,
        length: int | None = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Rows drawn from the model, (X, y): a class from the prior, then a row of that class.

        Lecture 1: "we can use this to generate a spam email, i.e., a document x of class y = spam
        by picking m words independently at random": ``sample(label="spam", length=m)``.

        Parameters
        ----------
        n_samples : int, 0 or more.
        random_state : None, int or RandomState, as in scikit-learn.
        label : the class of all rows; by default each row's is drawn from the prior.
        length : int
            Events in each row, m = Σ_α x_α, such as the words of a document: for `MultinomialNB`,
            `ComplementNB` and text; 100 by default.

        Returns
        -------
        X : (n_samples, d) array; a list of texts from `TextNB`; from models of tables a table of
            the kind that was learned, an Arrow table if the model was read from a file.
        y : (n_samples,) labels.

        Raises
        ------
        ValueError : if the label is none of the classes, or the rows of the model have no length.
        """
        _check_count(n_samples, 0)
        posterior, generator = self._posterior(), _generator(random_state)
        drawn, labels = posterior.sample(n_samples, generator, label, length)
        return self._shown(posterior.schema, drawn), labels

    def bayes_error(
        self, n_samples: int = 100_000, random_state: Any = None, *, length: int | None = None
    ) -> BayesError:
        """R(f*) = P(f*(X) ≠ Y), the least error there is, if the model is the truth.

        Lecture 2, "Optimal Classification": even the optimal classifier makes mistakes. This is
        the mean of 1 - max_c P(c | x) over rows that are drawn from the model.

        Parameters
        ----------
        n_samples : int, 2 or more: rows to draw.
        random_state : None, int or RandomState, as in scikit-learn.
        length : int
            Events in each row, as for `sample`: the longer, the less error.

        Returns
        -------
        BayesError, with its standard error.

        Raises
        ------
        ValueError : where the scores are no distribution that rows can be drawn from: those of
            `AutoBayes`, of "complement", and of texts whose counts are weighted or "binary".

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
            raise ValueError(
                f"the scores of {family.name} naive Bayes are not those of rows that it draws: "
                "it has no Bayes error"
            )
        jobs, total, squares = workers(self.n_jobs), 0.0, 0.0
        step = max(CELLS // max(len(posterior.schema.names), 64), 1)
        for start in range(0, n_samples, step):
            drawn, _ = posterior.sample(min(step, n_samples - start), generator, length=length)
            proba = posterior.proba(self._scored(posterior.schema, drawn), jobs)
            lost = 1.0 - proba.max(axis=1)
            total += lost.sum()
            squares += (lost**2).sum()
        value = total / n_samples
        variance = max(squares / n_samples - value**2, 0.0)
        return BayesError(value, math.sqrt(variance / (n_samples - 1)), n_samples)

    def _shown(self, schema: Schema, drawn: Any) -> Any:
        """Rows that were drawn, as people have them."""
        return drawn

    def _scored(self, schema: Schema, drawn: Any) -> Any:
        """Rows that were drawn, as the model takes them."""
        return drawn


def _generator(random_state: Any) -> np.random.Generator:
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


def _check_count(n_samples: Any, least: int) -> None:
    if not isinstance(n_samples, Integral) or n_samples < least:
        raise ValueError(f"n_samples must be a number of rows, {least} or more, not {n_samples!r}")


# ---- base ----------------------------------------------------------------------------------------


def _decisions(posterior: Posterior, rows: Data, jobs: Workers) -> Float64:
    """Those of `NaiveBayesClassifier.decision_function`."""
    logs = posterior.log_proba(rows, jobs)
    return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs


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
                learning.check_stream(self, source, y, sample_weight)
                return learning.counted(self, source, y, known), {}
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
        found = learning.numbers_of(batch, columns)
        named = self._learned is None or self._learned.feature_names is not None
        return found if named else np.column_stack([one.to_numpy() for one in found.columns])

    def _rows(self, X: Any) -> Data:
        """The rows as the model takes them."""
        return check_data(self, X, reset=False, sparse=self._takes_sparse)

    def _ask(self, X: Any, answer: Answer) -> npt.NDArray[Any]:
        """The model's answer for the rows of X."""
        if (source := streamed(X)) is not None:
            with naming(self):
                return np.concatenate([said for said, _ in learning.answers(self, source, answer)])
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
        learning.check_stream(self, source, y, sample_weight)
        return learning.answers(self, source, answer, y)

    def predict_proba(self, X: Any) -> Float64:
        """P(c | x), (n, C), in the order of `classes_`."""
        return self._ask(X, Posterior.proba)

    def predict_log_proba(self, X: Any) -> Float64:
        """log P(c | x), (n, C), in nats."""
        return self._ask(X, Posterior.log_proba)

    def decision_function(self, X: Any) -> Float64:
        """The log-odds of `classes_[1]`, (n,), of two classes; else log P(c | x), (n, C). In nats.

        Two classes: log P(classes_[1] | x) - log P(classes_[0] | x), above 0 where it is predicted.
        """
        return self._ask(X, _decisions)

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

    @property
    def feature_importances_(self) -> Float64:
        """Feature importance, (d,): mean absolute contribution to the log-odds, in nats.

        The numbers of `summary`, in the order of the columns of X: interactions are included, and
        columns that do not count have 0. NaN of a column of text in a product of families.

        Raises
        ------
        AttributeError : for a model of documents alone, whose features are terms.
        """
        self._posterior()  # an error if nothing was learned
        schema = self.model_.schema
        if not hasattr(self, "n_features_in_"):
            raise AttributeError("documents have terms in place of features: see telling_terms()")
        found = importances(self.model_)
        names = schema.ordered if schema.reasons is None else schema.why
        return np.array([math.nan if one is None else one for one in map(found.get, names)])

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
