"""The log-odds as w · x + b, and as a logistic regression of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from naively.exact import Float64
from naively.posterior import Posterior
from naively.statistics.base import InvalidValueError
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
            raise ValueError(f"there are no log-odds: the model knows one class only, {only!r}")
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
