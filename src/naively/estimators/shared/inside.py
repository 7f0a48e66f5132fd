"""The log-odds as w · x + b, and as a logistic regression of scikit-learn."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from naively.core.exact import Float64, Int64
from naively.core.labels import Labels
from naively.core.multilabel import LabelsPosterior
from naively.core.posterior import Posterior
from naively.core.workers import Workers
from naively.estimators.shared.validation import check_labels, documents_of, require_labels
from naively.explain.compared import writable
from naively.explain.counterfactuals import Counterfactual, counterfactuals, document_table
from naively.explain.importance import bits_of, telling_terms
from naively.explain.text import TextExplanations
from naively.families.text.parameters import HASHED
from naively.model_summary import ModelSummary, summarise
from naively.statistics.base import Data, InvalidValueError
from naively.tables.answers import parameters
from naively.tables.names import few


@dataclass(frozen=True)
class LinearForm:
    """The log-odds as a linear function of x.

    Lecture 1, "Naive Bayes is a linear classifier"; lecture 3, sections 7 to 9::

        log P(y = +1 | x) - log P(y = -1 | x) = w · x + b
        P(y | x) = 1 / (1 + exp(-y (w · x + b)))

    There are D weights: one for each of the d columns of X, but for columns of levels one for each
    level that is known, which x then stands for by a 1 among zeros, and for documents one for each
    term. Where the model binarizes x, x stands for its zeros and ones.

    Attributes
    ----------
    coef : (1, D) w with log P(classes[1] | x) - log P(classes[0] | x) = w · x + b for two
        classes; else (C, D), with log P(c | x) = w_c · x + b_c up to a term shared by all classes.
        Nats by unit of x.
    intercept : (1,) or (C,) b, in nats.
    classes : (C,) the labels.
    features : (D,) the column of X that each weight is for: its name, or its position if the
        columns of X had no names.
    levels : (D,) the level or term of that column that each weight is for, NaN for its missing
        values, None for the number itself; or None if X is an array of numbers.
    """

    coef: Float64
    intercept: Float64
    classes: npt.NDArray[Any]
    features: npt.NDArray[Any]
    levels: npt.NDArray[np.object_] | None = None

    @classmethod
    def of(cls, model: Posterior) -> Self:
        """That of a model as it is now.

        Raises
        ------
        ValueError : where the log-odds are not linear, saying why.
        """
        if len(model.classes) < 2:
            only = model.classes.tolist()[0]
            raise ValueError(f"there are no log-odds: the model has one class only, {only!r}")
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
        """A `LogisticRegression` with these weights, of columns with these names."""
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
    """A fitted logistic regression of scikit-learn that predicts as a classifier does."""
    form = estimator.to_linear()
    encoder = estimator._encoder()
    if encoder is None:
        return form.regression(getattr(estimator, "feature_names_in_", None))
    from sklearn.pipeline import make_pipeline

    return make_pipeline(encoder, form.regression())


class LinearColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What the log-odds of a naive Bayes classifier are linear in.

    Levels become indicators, documents the counts of their terms, numbers stay: the columns are
    those of `LinearForm`. It is the first step of what ``to_logistic()`` returns for tables and
    texts; fitted anew, it learns levels and terms, so that a logistic regression can follow.

    Parameters
    ----------
    estimator : `NaiveBayes` or `TextNB`, with all of its columns linear.

    Attributes
    ----------
    estimator_ : the fitted one.
    n_features_in_, feature_names_in_ : as of `estimator_`.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @classmethod
    def learned(cls, estimator: Any) -> Self:
        """Those of a fitted classifier, which it keeps."""
        return cls(clone(estimator))._take(estimator)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn levels and terms.

        Parameters
        ----------
        X, y : as the estimator takes them.

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
        """(n, D) array or CSR matrix; NaN where a number is missing, which no weight can take.

        Raises
        ------
        ValueError : for what the estimator cannot score.
        """
        check_is_fitted(self)
        posterior = self.estimator_._posterior()
        rows = self.estimator_._rows(X)
        try:
            return posterior.parameters.linear_rows(rows)
        except InvalidValueError as error:
            raise error.named(posterior.feature_names) from None

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names such as ``age`` and ``job_clerk``, (D,); `input_features` are not needed."""
        check_is_fitted(self)
        form = self.form_
        names = [f"x{name}" if isinstance(name, int) else name for name in form.features.tolist()]
        if form.levels is not None:
            named = zip(names, form.levels, strict=True)
            names = [name if level is None else f"{name}_{level}" for name, level in named]
        return np.array(names, object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        tags.target_tags.required = True
        return tags


# ---- inside --------------------------------------------------------------------------------------


def has_density(estimator: Any) -> bool:
    """Whether its scores are a density of x; AttributeError if they are none."""
    family = estimator._family()
    if not family.is_density:
        raise AttributeError(f"the scores of {family.name} naive Bayes are no density of x")
    return True


class Summarised:
    """What every fitted model can say of itself."""

    model_: Any

    @abstractmethod
    def _posterior(self) -> Any: ...

    def _summarised(self) -> Any:
        """The model that is summarised."""
        return self.model_

    def summary(self, terms: int = 10) -> ModelSummary:
        """What the model is: features, interactions, classes, cross-validation, sizes.

        Print it; `to_frame` and `to_arrow` make a table of the features with their importance, and
        `to_dict` has all of it, in the words of ``naively inspect --json``.

        Parameters
        ----------
        terms : of each class that are listed of a column of text.
        """
        from naively.summary_tables import PrintedSummary  # which loads rich

        check_number("terms", terms)
        self._posterior()  # an error if nothing was learned
        shown = " ".join(repr(self).split())
        return summarise(self._summarised(), shown.removesuffix("()"), terms, kind=PrintedSummary)


class Inside(Summarised):
    """P(x | y), the likelihood of rows, and all that was estimated."""

    @abstractmethod
    def _ask(self, X: Any, answer: Any) -> npt.NDArray[Any]: ...

    @abstractmethod
    def _posterior(self) -> Posterior: ...

    @available_if(has_density)  # type: ignore[untyped-decorator]
    def predict_log_likelihood(self, X: Any) -> Float64:
        """log P(x | c), (n, C), in nats: all of it, the terms that depend on x alone included.

        The log of the class conditional density or probability (lecture 2). With log π_c it is
        log P(x, c), of which `predict_joint_log_proba` leaves out the terms in x alone, and
        `score_samples` is the log of the sum over the classes. Classifiers whose scores are no
        density of x do not have this method: complement naive Bayes and `AutoBayes`.
        """
        return self._ask(X, Posterior.log_likelihood)

    def log_likelihood(self, X: Any, y: Any, conditional: bool = False) -> float:
        """The log-likelihood of rows and their labels under the model, in nats.

        Lecture 2: Σ_i log P(x_i, y_i), which the parameters of maximum likelihood maximise (MLE);
        or Σ_i log P(y_i | x_i), which logistic regression maximises (MCLE).

        Parameters
        ----------
        X : (n, d) rows, as for `fit`.
        y : (n,) labels, as for `fit`.
        conditional : bool
            Of the labels given the rows, instead of both.

        Raises
        ------
        ValueError : for labels that the model does not know or that are missing, saying where; and
            for the joint likelihood of a model whose scores are no density of x.
        """
        X, y = self._with_labels(X, y)
        scores = self._ask(X, likelihood(conditional))
        codes = codes_of(check_labels(y, len(scores)), self.model_.classes)
        return math.fsum(scores[np.arange(len(codes)), codes].tolist())

    def _with_labels(self, X: Any, y: Any) -> tuple[Any, Any]:
        """(rows without labels, the labels)."""
        require_labels(self, y)
        return X, y

    @property
    def parameters_(self) -> pa.Table:
        """All that was estimated, a number a row, as an Arrow table; `.to_pandas()` makes a frame.

        The columns are `class`, `feature`, `level`, `parameter` and `value`. A `parameter` is
        called as ``naively inspect`` calls it: ``prior`` for π_c, of no feature; ``mean`` and
        ``sd`` for μ_αc and σ_αc; ``p`` for [θ_jc]_α of a level, range or term, for θ_αc or p_αc of
        a feature; ``w`` for the weights of "complement". A ``covariance`` has its second feature
        for a level, and is there once of each two; that of all classes stands in each. A cell of
        a joint table has all features and all levels, as "outlook × wind" and "rain × weak", if it
        was met; without a level stands any other cell. The evidence of `AutoBayes` is left out:
        `evidence_` and ``naively inspect`` show it.
        """
        return parameters(self._posterior())

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The labels met so far, sorted, (C,)."""
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
        return self.model_.posterior().class_prior

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters, as the lectures count them: C - 1 for the prior, and ...

        Exact; printed, thousands of digits become an order of magnitude.
        """
        return self.model_.posterior().n_parameters

    @property
    def _parameters(self) -> Any:
        """Those of the family."""
        return self.model_.posterior().parameters


def likelihood(conditional: bool) -> Any:
    """What a posterior is asked for: log P(y | x), or log P(x, y)."""
    return Posterior.log_proba if conditional else _joint


def _joint(posterior: Posterior, rows: Data, jobs: Workers) -> Float64:
    return posterior.log_likelihood(rows, jobs) + posterior.log_prior


def codes_of(labels: npt.NDArray[Any], classes: npt.NDArray[Any], before: int = 0) -> Int64:
    """The position of each label among the classes; ValueError for one that is not there.

    `before` rows come before these, for the error.
    """
    known = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([known.get(label, -1) for label in labels.tolist()], np.int64)
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        raise ValueError(
            f"y has the label {labels.tolist()[row]!r} in row {before + row}, which the model does "
            f"not know: it knows {', '.join(map(repr, known))}"
        )
    return codes


# ---- of texts ------------------------------------------------------------------------------------


class InsideTexts(Summarised):
    """Reasons, and the terms with what they tell."""

    _posterior: Any

    def explain(self, X: Any) -> TextExplanations:
        """Why each document has its scores: what its terms and the prior add to each class.

        Printing one shows the terms that matter most; a notebook also marks them in the text.
        `to_html` makes a page of all, and `to_arrow` a flat table. Of `NBSVM` the intercept is in
        the place of the prior.
        """
        return TextExplanations.of(self._posterior(), documents_of(X))

    def counterfactuals(self, X: Any, label: Any = None) -> list[Counterfactual]:
        """Find terms that, added to each document, make the model predict another class.

        Parameters
        ----------
        X : (n,) documents.
        label : the wanted class; by default the next most probable one of each document.

        Returns
        -------
        list of `Counterfactual` : with `terms`, those that add most to the log-odds of that class,
            and how many of them are enough `together`.

        Raises
        ------
        ValueError : if the label is not one of the classes.
        """
        return list(counterfactuals(self._posterior(), document_table(X), label))

    def telling_terms(self, k: int = 10) -> pa.Table:
        """The k terms of each class that tell most about it, as an Arrow table, a line each.

        Its columns are ``class``, ``term``, ``log_odds`` (in nats: what the term adds to the class
        against the others together) and ``bits`` (as `information_` has them), for each class what
        tells most first: what is as frequent in the class as its log-odds are high. Only terms
        that speak for the class are listed.

        Raises
        ------
        ValueError : if terms are hashed, so that their names are not kept; or if k is no number of
            terms.
        """
        check_number("k", k)
        posterior: Posterior = self._posterior()
        parameters: Any = posterior.parameters
        if parameters.hashed:
            raise ValueError(HASHED)
        found = telling_terms(posterior, parameters, int(k))
        return _told("class", posterior.classes, found)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """`terms_`, under the name that scikit-learn's `CountVectorizer` has for them."""
        parameters: Any = self._posterior().parameters
        return np.array(parameters.terms, object)

    @property
    def terms_(self) -> npt.NDArray[Any]:
        """The terms that count, sorted, (V,)."""
        return self.get_feature_names_out()

    @property
    def information_(self) -> Float64:
        """Mutual information I(term; class) in bits, (V,): of one word, "bernoulli": one document.

        For "complement" that of the multinomial model of the same counts, as for `NBSVM`, whose
        documents have each term once.
        """
        posterior: Posterior = self._posterior()
        parameters: Any = posterior.parameters
        return bits_of(parameters.events(()), posterior.class_prior)


class InsideLabels(Summarised):
    """Reasons and telling terms where documents have any number of labels."""

    _posterior: Any

    def explain(self, X: Any, label: Any) -> TextExplanations:
        """Why each document has the probability of a label that it has: what its terms, the prior
        and the bias add to the log-odds of ``label`` against ``not label``.

        Raises
        ------
        ValueError : if the label is none of `classes_`.
        """
        return TextExplanations.of(self._posterior().of(label), documents_of(X))

    def telling_terms(self, k: int = 10) -> pa.Table:
        """The k terms of each label that tell most for it, as an Arrow table, a line each.

        Its columns are ``label``, ``term``, ``log_odds`` (in nats: what the term adds to the label)
        and ``bits`` (what one chance of it tells about the label), what tells most first. Only
        terms that speak for the label are listed.

        Raises
        ------
        ValueError : if terms are hashed, so that their names are not kept; or if k is no number of
            terms.
        """
        check_number("k", k)
        posterior: LabelsPosterior = self._posterior()
        if posterior.parameters.vocabulary is None:
            raise ValueError(HASHED)
        each = [posterior.of(label) for label in posterior.classes.tolist()]
        found = [telling_terms(one, one.parameters, int(k))[1] for one in each]
        return _told("label", posterior.classes, found)

    @property
    def terms_(self) -> npt.NDArray[Any]:
        """The terms that count, sorted, (V,)."""
        return np.array(self._posterior().parameters.terms, object)


def check_number(name: str, value: Any) -> None:
    """Raise ValueError unless a parameter is a number of terms."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} must be a number of terms, 0 or more, not {value!r}")


def _told(
    called: str, classes: Labels, found: Sequence[Sequence[tuple[str, float, float]]]
) -> pa.Table:
    """The terms of each class with what they tell, a line each."""
    labels = pa.array(classes.tolist())
    sizes = [len(own) for own in found]
    term, odds, bits = zip(*chain(*found), strict=True) if sum(sizes) else [()] * 3
    return pa.table(
        {
            called: labels.take(pa.array(np.repeat(np.arange(len(sizes)), sizes))),
            "term": pa.array(map(writable, term), pa.string()),
            "log_odds": pa.array(odds, pa.float64()),
            "bits": pa.array(bits, pa.float64()),
        }
    )
