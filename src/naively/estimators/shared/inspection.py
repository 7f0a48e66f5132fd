"""Mixins that show what a fitted model contains.

They make the linear form w · x + b and its logistic regression, summaries, likelihoods, tables of
parameters, explanations, and lists of the most informative terms.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MethodType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from naively.core.exact import Float64, Int64
from naively.core.labels import Labels
from naively.core.workers import Workers
from naively.estimators.shared.validation import check_labels, documents_of, require_labels
from naively.evaluation.model_ladder import lone_text, text_code
from naively.explain.base import writable
from naively.explain.counterfactuals import Counterfactual, counterfactuals, document_table
from naively.explain.importance import InformativeTerm, bits_of, informative_terms
from naively.explain.text import TextExplanations
from naively.families.text.parameters import HASHED
from naively.model.multilabel import LabelsPosterior
from naively.model.posterior import Posterior
from naively.model_summary import summarise
from naively.statistics.base import Data, InvalidValueError
from naively.tables.answers import parameters
from naively.tables.names import few

if TYPE_CHECKING:
    from naively.summary_tables import PrintedSummary


@dataclass(frozen=True)
class LinearForm:
    """The log-odds as a linear function of x.

    Lecture 1, "Naive Bayes is a linear classifier"; lecture 3, sections 7 to 9::

        log P(y = +1 | x) - log P(y = -1 | x) = w · x + b
        P(y | x) = 1 / (1 + exp(-y (w · x + b)))

    There are D weights: one for each numeric column of X; one for each category of a categorical
    column, which is one-hot encoded; one for each term of documents, which are counted. If the
    model binarizes x, the weights are those of the binarized values.

    Attributes
    ----------
    coef : (1, D) w with log P(classes[1] | x) - log P(classes[0] | x) = w · x + b for two
        classes; else (C, D), with log P(c | x) = w_c · x + b_c up to a term shared by all classes.
        In nats per unit of x.
    intercept : (1,) or (C,) b, in nats.
    classes : (C,) the labels.
    features : (D,) the column of X of each weight: its name, or its position if the columns of X
        had no names.
    levels : (D,) the category or term of each weight, NaN for missing values, None for numeric
        columns; or None if X is an array of numbers.
    """

    coef: Float64
    intercept: Float64
    classes: npt.NDArray[Any]
    features: npt.NDArray[Any]
    levels: npt.NDArray[np.object_] | None = None

    @classmethod
    def of(cls, model: Posterior) -> Self:
        """Make the linear form of a posterior.

        Raises
        ------
        ValueError : if the log-odds are not linear, with the reason.
        """
        if len(model.classes) < 2:
            label = model.classes.tolist()[0]
            raise ValueError(f"there are no log-odds: the model has one class only, {label!r}")
        try:
            weight, bias = model.linear()
        except ValueError:
            _blame(model)
            raise
        columns = model.linear_columns()
        features, levels = (np.arange(weight.shape[1]), None) if columns is None else columns
        if model.feature_names is not None:
            features = np.array(list(model.feature_names), object)[features]
        if len(bias) == 2:
            weight, bias = weight[1:] - weight[:1], bias[1:] - bias[:1]
        return cls(weight, bias, model.classes, features, levels)

    def regression(self, names: npt.NDArray[Any] | None = None) -> Any:
        """Make a fitted `LogisticRegression` with these weights and column names."""
        from sklearn.linear_model import LogisticRegression

        regression = LogisticRegression()
        regression.classes_ = self.classes.copy()
        regression.coef_ = np.ascontiguousarray(self.coef)
        regression.intercept_ = self.intercept.copy()
        regression.n_features_in_ = self.coef.shape[1]
        regression.n_iter_ = np.zeros(1, np.int32)
        if names is not None:
            regression.feature_names_in_ = names.copy()
        return regression


def _blame(model: Posterior) -> None:
    """Raise the error of the first block of columns that is not linear, with their names."""
    if model.schema.reasons is None:
        return
    for block, part in model.blocks:
        try:
            part.linear()
        except ValueError as error:
            names = few(block.names)
            raise ValueError(f"the log-odds are not linear in {names}: {error}") from None


def logistic(estimator: Any) -> Any:
    """Make a fitted logistic regression of scikit-learn with the predictions of a classifier."""
    form = estimator.to_linear()
    if (encoder := estimator._encoder()) is None:
        return form.regression(getattr(estimator, "feature_names_in_", None))
    from sklearn.pipeline import make_pipeline

    return make_pipeline(encoder, form.regression())


class LinearColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transform X to columns in which the log-odds of a naive Bayes classifier are linear.

    Categories become indicators, documents the counts of their terms, and numbers stay: the
    columns are those of `LinearForm`. This is the first step of the pipeline that
    ``to_logistic()`` returns for tables and texts. It can be fitted again, in order to train a
    logistic regression on these columns.

    Parameters
    ----------
    estimator : `NaiveBayes` or `TextNB`, linear in all columns.

    Attributes
    ----------
    estimator_ : the fitted estimator.
    n_features_in_, feature_names_in_ : as of `estimator_`.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @classmethod
    def learned(cls, estimator: Any) -> Self:
        """Make the fitted transformer of a fitted classifier, which it refers to."""
        return cls(clone(estimator))._take(estimator)

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the estimator, which determines categories and terms.

        Parameters
        ----------
        X, y : as for the estimator.

        Raises
        ------
        ValueError : if its log-odds are not linear.
        """
        return self._take(clone(self.estimator).fit(X, y))

    def _take(self, estimator: Any) -> Self:
        self.form_ = estimator.to_linear()
        self.estimator_ = estimator
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    def transform(self, X: Any) -> Any:
        """Return an (n, D) array or CSR matrix; missing numbers are NaN.

        Raises
        ------
        ValueError : for rows that the estimator cannot score.
        """
        check_is_fitted(self)
        posterior = self.estimator_._posterior()
        rows = self.estimator_._rows(X)
        try:
            return posterior.parameters.linear_rows(rows)
        except InvalidValueError as error:
            raise error.named(posterior.feature_names) from None

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return names such as ``age`` and ``job_clerk``, (D,); `input_features` is ignored."""
        check_is_fitted(self)
        form = self.form_
        names = [f"x{name}" if isinstance(name, int) else name for name in form.features.tolist()]
        if form.levels is not None:
            pairs = zip(names, form.levels, strict=True)
            names = [name if level is None else f"{name}_{level}" for name, level in pairs]
        return np.array(names, object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        tags.target_tags.required = True
        return tags


# ---- inside --------------------------------------------------------------------------------------


class OfDensity:
    """A method of classifiers whose scores are a density of x; others do not have it.

    As scikit-learn's `available_if`, but the error says why, and what to do.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method

    def __get__(self, estimator: Any, owner: type) -> Any:
        if estimator is None:
            return self.method
        if not estimator._family().is_density:
            kind = type(estimator).__name__
            remedy = ": use TextNB(weights=None)" if kind == "TextNB" else ""
            raise AttributeError(
                f"{kind} has no {self.method.__name__}: its scores are not a density of x{remedy}"
            )
        return MethodType(self.method, estimator)


class Summarised:
    """Mixin with the summary of a fitted model."""

    model_: Any

    @abstractmethod
    def _posterior(self) -> Any: ...

    def _summarised(self) -> Any:
        """Return the model to summarise."""
        return self.model_

    def summary(self, terms: int = 10) -> PrintedSummary:
        """Summarise the model: features, interactions, classes, cross-validation, sizes.

        ``print`` shows the summary; `to_frame` and `to_arrow` make a table of the features with
        their importance; `to_dict` has everything, as ``naively inspect --json``.

        Parameters
        ----------
        terms : number of terms for each class of a text column, in `texts` and `to_dict`.
        """
        from naively.summary_tables import PrintedSummary  # which loads rich

        check_number("terms", terms)
        self._posterior()  # NotFittedError before fit
        return summarise(self._summarised(), self._code(), terms, kind=PrintedSummary)

    def _code(self) -> str:
        """Return Python code of the estimator, on one line."""
        parameters, code = self.get_params(deep=False), repr(self)  # type: ignore[attr-defined]
        family = lone_text(parameters.pop("columns", None), self._summarised().n_features)
        if family is not None:  # as `naively fit` stores documents
            defaults = type(self)().get_params(deep=False)  # type: ignore[attr-defined]
            changed = [
                (name, repr(value))
                for name, value in parameters.items() if repr(value) != repr(defaults[name])
            ]  # fmt: skip
            code = text_code(family, changed)
        return " ".join(code.split()).removesuffix("()")

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, followed by the summary of a fitted model."""
        diagram = str(super()._html_repr())  # type: ignore[misc]
        model: Any = vars(self).get("model_")
        is_fitted = model is not None and len(model.classes) > 0
        return diagram + self.summary(0)._repr_html_() if is_fitted else diagram


class Inside(Summarised):
    """Mixin with likelihoods and estimated parameters."""

    @abstractmethod
    def _ask(self, X: Any, answer: Any) -> npt.NDArray[Any]: ...

    @abstractmethod
    def _posterior(self) -> Posterior: ...

    @OfDensity
    def predict_log_likelihood(self, X: Any) -> Float64:
        """log P(x | c), (n, C), in nats, terms that depend on x alone included.

        This is the log of the class conditional density or probability (lecture 2). Adding log π_c
        gives log P(x, c); `predict_joint_log_proba` is the same without terms in x alone, and
        `score_samples` is the log of the sum over classes. Complement naive Bayes and `AutoBayes`
        lack this method: their scores are not a density of x.
        """
        return self._ask(X, Posterior.log_likelihood)

    def log_likelihood(self, X: Any, y: Any, conditional: bool = False) -> float:
        """Return the log-likelihood of rows and labels under the model, in nats.

        Lecture 2: Σ_i log P(x_i, y_i), which maximum likelihood estimates maximise (MLE); or
        Σ_i log P(y_i | x_i), which logistic regression maximises (MCLE).

        Parameters
        ----------
        X : (n, d) rows, as for `fit`.
        y : (n,) labels, as for `fit`.
        conditional : bool
            Whether to return the conditional log-likelihood, Σ_i log P(y_i | x_i).

        Raises
        ------
        ValueError : for missing or unknown labels; for the joint likelihood of a model whose scores
            are not a density of x.
        """
        X, y = self._with_labels(X, y)
        scores = self._ask(X, likelihood(conditional))
        codes = codes_of(check_labels(y, len(scores)), self.model_.classes)
        return math.fsum(scores[np.arange(len(codes)), codes].tolist())

    def _with_labels(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Separate rows and labels, which may be a column of the rows."""
        require_labels(self, y)
        return X, y

    @property
    def parameters_(self) -> pa.Table:
        """All estimated parameters as an Arrow table, one number per row; `.to_pandas()` converts.

        The columns are `class`, `feature`, `level`, `parameter` and `value`. A `parameter` has the
        name that ``naively inspect`` shows: ``prior`` for π_c, without a feature; ``mean`` and
        ``sd`` for μ_αc and σ_αc; ``p`` for [θ_jc]_α of a category, bin or term (the `level`), and
        for θ_αc or p_αc of a feature; ``w`` for the weights of "complement". A ``covariance`` is
        listed once for each pair of features, with the second feature as `level`; one that all
        classes share is repeated for each. A cell of a joint table with training rows has all
        features and categories, as "outlook × wind" and "rain × weak"; the row without a `level`
        is for all other cells. The evidence of `AutoBayes` is not included: see `evidence_`.
        """
        return parameters(self._posterior())

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Class labels, sorted, (C,)."""
        return self.model_.classes

    @property
    def class_count_(self) -> Float64:
        """Total weight of the rows of each class, (C,)."""
        model = self.model_
        with model.lock:
            return model.class_weight.rounded()

    @property
    def class_prior_(self) -> Float64:
        """π_c, (C,)."""
        return self._posterior().class_prior

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters, as the lectures count them: C - 1 for the prior, and those of
        the features. An exact int, which may have thousands of digits.
        """
        return self._posterior().n_parameters

    @property
    def _parameters(self) -> Any:
        """Parameters of the family."""
        return self._posterior().parameters


def likelihood(conditional: bool) -> Any:
    """Return the method of a posterior for log P(y | x), or that for log P(x, y)."""
    return Posterior.log_proba if conditional else _joint


def _joint(posterior: Posterior, rows: Data, jobs: Workers) -> Float64:
    return posterior.log_likelihood(rows, jobs) + posterior.log_prior


def codes_of(labels: npt.NDArray[Any], classes: npt.NDArray[Any], before: int = 0) -> Int64:
    """Return the position of each label among the classes; ValueError for unknown labels.

    `before` is the number of rows before these, for the row number in the error.
    """
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([code_of.get(label, -1) for label in labels.tolist()], np.int64)
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        raise ValueError(
            f"y has the label {labels.tolist()[row]!r} in row {before + row}, which the model does "
            f"not have: it has {', '.join(map(repr, code_of))}"
        )
    return codes


# ---- text ----------------------------------------------------------------------------------------


class InsideTexts(Summarised):
    """Mixin for text classifiers: explanations, and the most informative terms."""

    _posterior: Any

    def explain(self, X: Any) -> TextExplanations:
        """Return the contributions of terms and prior to the score of each class, in nats.

        The result is a sequence of explanations, one for each document. ``print`` shows the terms
        with the largest contributions; notebooks also mark them in the text. `to_html` makes a
        page, and `to_arrow` a flat table. For `NBSVM` the intercept takes the place of the prior.
        """
        return TextExplanations.of(self._posterior(), documents_of(X))

    def counterfactuals(self, X: Any, label: Any = None) -> list[Counterfactual]:
        """Find terms that, added to each document, make the model predict another class.

        Parameters
        ----------
        X : (n,) documents.
        label : the desired class; by default the second most probable one of each document.

        Returns
        -------
        list of `Counterfactual` : its `terms` are those with the largest effect on the log-odds of
            that class, and `together` is how many of them are needed.

        Raises
        ------
        ValueError : if the label is not one of the classes.
        """
        return list(counterfactuals(self._posterior(), document_table(X), label))

    def informative_terms(self, k: int = 10) -> pa.Table:
        """Return the k most informative terms of each class as an Arrow table, one term a row.

        The columns are ``class``, ``term``, ``log_odds`` (of the class against all others together,
        in nats), ``bits`` (see `information_`), ``occurrences`` (in documents of the class; for
        "bernoulli" the number of documents) and ``p`` (P(term | class), smoothed). The terms of a
        class are sorted by the product of their probability in the class and their log-odds. Only
        terms with positive log-odds are listed. Those of one class:
        ``terms.filter(pyarrow.compute.field("class") == label)``, or ``terms.to_pandas()``.

        Raises
        ------
        ValueError : if terms are hashed, so that their names are unknown; or if k is invalid.
        """
        check_number("k", k)
        posterior: Posterior = self._posterior()
        parameters: Any = posterior.parameters
        if parameters.hashed:
            raise ValueError(HASHED)
        terms = informative_terms(posterior, parameters, int(k))
        return _term_table("class", posterior.classes, terms)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return `terms_`, as `CountVectorizer` of scikit-learn does."""
        parameters: Any = self._posterior().parameters
        return np.array(parameters.terms, object)

    @property
    def terms_(self) -> npt.NDArray[Any]:
        """The selected terms, sorted, (V,)."""
        return self.get_feature_names_out()

    @property
    def information_(self) -> Float64:
        """Mutual information I(term; class) in bits, (V,).

        The event is that a word of a document is the term; for "bernoulli", that a document
        contains it. For "complement" and `NBSVM` it is computed from the multinomial model of the
        same counts.
        """
        posterior: Posterior = self._posterior()
        parameters: Any = posterior.parameters
        return bits_of(parameters.events(()), posterior.class_prior)


class InsideLabels(Summarised):
    """Mixin for multilabel text classifiers: explanations, and the most informative terms."""

    _posterior: Any

    def explain(self, X: Any, label: Any) -> TextExplanations:
        """Return the contributions of terms, prior and bias to the log-odds of ``label`` against
        ``not label``, for each document.

        Raises
        ------
        ValueError : if the label is not one of `classes_`.
        """
        return TextExplanations.of(self._posterior().of(label), documents_of(X))

    def informative_terms(self, k: int = 10) -> pa.Table:
        """Return the k most informative terms of each label as an Arrow table, one term a row.

        The columns are ``label``, ``term``, ``log_odds`` (of the label against documents without
        it, in nats), ``bits`` (mutual information of the term and the label), ``occurrences`` (in
        documents with the label) and ``p`` (P(term | label), smoothed). The most
        informative term comes first. Only terms with positive log-odds are listed.

        Raises
        ------
        ValueError : if terms are hashed, so that their names are unknown; or if k is invalid.
        """
        check_number("k", k)
        posterior: LabelsPosterior = self._posterior()
        if posterior.parameters.vocabulary is None:
            raise ValueError(HASHED)
        posteriors = [posterior.of(label) for label in posterior.classes.tolist()]
        terms = [informative_terms(binary, binary.parameters, int(k))[1] for binary in posteriors]
        return _term_table("label", posterior.classes, terms)

    @property
    def terms_(self) -> npt.NDArray[Any]:
        """The selected terms, sorted, (V,)."""
        return np.array(self._posterior().parameters.terms, object)


def check_number(name: str, value: Any) -> None:
    """Raise ValueError unless a parameter is an integer of 0 or more."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} must be a number of terms, 0 or more, not {value!r}")


def _term_table(
    called: str, classes: Labels, lists: Sequence[Sequence[InformativeTerm]]
) -> pa.Table:
    """Make the table of the terms of each class; `called` names the first column."""
    labels = pa.array(classes.tolist())
    sizes = [len(terms) for terms in lists]
    names, *numbers = zip(*chain(*lists), strict=True) if sum(sizes) else [()] * 5
    columns = {called: labels.take(pa.array(np.repeat(np.arange(len(sizes)), sizes)))}
    columns["term"] = pa.array(map(writable, names), pa.string())
    for name, values in zip(InformativeTerm._fields[1:], numbers, strict=True):
        columns[name] = pa.array(values, pa.float64())
    return pa.table(columns)
