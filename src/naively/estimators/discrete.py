"""Classifiers of counts and categories: multinomial, complement, Bernoulli, categorical, Poisson.

All but `PoissonNB` are drop-in replacements for the classes of scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from naively.core.exact import Float64
from naively.estimators.shared.base import NaiveBayesClassifier
from naively.estimators.shared.from_parameters import (
    ClassesAndPrior,
    fitted,
    numbers,
    probabilities,
)
from naively.families.discrete.bernoulli import Bernoulli
from naively.families.discrete.categorical import Categorical, Unseen
from naively.families.discrete.complement import Complement
from naively.families.discrete.multinomial import Multinomial
from naively.families.numeric.poisson import Poisson
from naively.model.prior import Prior, Virtual
from naively.statistics.levels import LevelStatistics


@dataclass(eq=False, repr=False, kw_only=True)
class DiscreteNB(NaiveBayesClassifier):
    """Base of the classifiers of counts and categories: smoothing."""

    alpha: Any = 1.0
    n_jobs: int | None = None

    force_alpha = True
    _only_positive = True

    def _alpha(self) -> Any:
        """Return alpha, at least 1e-10 unless `force_alpha`."""
        alpha = self._smoothing
        if self.force_alpha or isinstance(alpha, str):
            return alpha
        return _at_least(alpha, 1e-10)

    def _named(self, encoder: Any) -> Any:
        """Give the transformer the column names, if there are any."""
        if hasattr(self, "feature_names_in_"):
            encoder.feature_names_in_ = self.feature_names_in_
        return encoder

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on the continuous data of scikit-learn's checks
        return tags

    @property
    def class_log_prior_(self) -> Float64:
        """log π_c, (C,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.class_prior_)


@dataclass(eq=False, repr=False, kw_only=True)
class ClassPrior:
    """Mixin with the parameters of the class prior that scikit-learn's classes of counts have."""

    fit_prior: bool = True
    class_prior: Any = None
    prior_smoothing: Virtual = 0.0

    _prior_parameter = "class_prior"

    def _prior(self) -> Prior:
        if self.class_prior is not None:
            return Prior(self.class_prior, self.prior_smoothing)
        return Prior("empirical" if self.fit_prior else "uniform", self.prior_smoothing)


def _at_least(alpha: Any, least: float) -> Any:
    """Raise all numbers of `alpha` (number, array, list or dict) to at least `least`."""
    if isinstance(alpha, Mapping):
        return {level: _at_least(value, least) for level, value in alpha.items()}
    if isinstance(alpha, list | tuple):
        return [_at_least(value, least) for value in alpha]
    return np.maximum(alpha, least)


class FeatureCountNB(DiscreteNB):
    """Base of the classifiers with one count for each class and feature."""

    @property
    def feature_count_(self) -> Float64:
        """Weighted counts of each class and feature, (C, d)."""
        with self.model_.lock:
            return self.model_.statistics.tables["sum"].rounded()

    @property
    def feature_log_prob_(self) -> Float64:
        """log θ_αc, log p_αc or the weights of "complement", (C, d)."""
        return self._parameters.feature_log_prob()


@dataclass(eq=False, repr=False, kw_only=True)
class MultinomialNB(ClassPrior, FeatureCountNB):
    """Multinomial naive Bayes, a drop-in replacement for `sklearn.naive_bayes.MultinomialNB`.

    Differences from scikit-learn: counts are summed exactly, whatever their type; alpha=0 is
    maximum likelihood without NaN (0 · log 0 = 0; a row with probability 0 in every class gets the
    prior); NaN is a missing value; priors must sum to 1; new classes may appear in any
    `partial_fit`.

    Parameters
    ----------
    alpha : float, array or "auto"
        Smoothing l, as in lecture 1, case 2: 0 for maximum likelihood, 1 for Laplace; a scalar,
        or of shape (d,), (C, 1) or (C, d). "auto": `fit` chooses one of 21 values from 0.001 to
        100, that with the least log-loss in 10-fold cross-validation (folds as for `out_of_fold`).
        `partial_fit` does not change it.
    force_alpha : bool
        If False, alpha is at least 1e-10.
    fit_prior : bool
        Whether the class prior is empirical; else it is uniform.
    class_prior : None, "empirical", "uniform", (C,) array or dict
        Class priors that sum to 1, in the order of the classes or by class; a dict may omit one
        class, which gets the remaining probability. None to use `fit_prior`.
    prior_smoothing : float, sequence or dict
        Virtual examples of each class in the empirical prior, m Q(Y) of lecture 2: one number for
        all, a sequence in the order of the classes, or a dict by class.
    n_jobs : int or None
        Number of threads, None for all processors. The model does not depend on it.

    Attributes
    ----------
    classes_ : (C,) labels
    class_count_ : (C,) total weights
    class_log_prior_ : (C,) log probabilities
    alpha_ : the smoothing
    feature_count_ : (C, d) counts
    feature_log_prob_ : (C, d) log θ_αc
    n_features_in_, feature_names_in_, n_parameters_
    """

    force_alpha: bool = True

    @classmethod
    def from_parameters(cls, theta: Any, *, prior: Any = "uniform", classes: Any = None) -> Self:
        """Make a model from θ and π, which count as one event in total in `partial_fit`.

        Parameters
        ----------
        theta : (C, d) θ_αc; those of a class sum to 1. The model's `alpha` is 0.
        prior : "uniform", (C,) π_c above 0 in the order of the rows of `theta`, or a dict by label.
        classes : (C,) labels; 0, 1, ... by default.

        Raises
        ------
        ValueError : if a parameter is invalid.

        Examples
        --------
        >>> from naively import MultinomialNB
        >>> die = MultinomialNB.from_parameters([[1 / 6] * 6, [0.1] * 5 + [0.5]])
        >>> die.sample(3, 0, label=1, length=60)[0].tolist()
        [[5, 5, 8, 6, 7, 29], [5, 8, 7, 5, 5, 30], [5, 9, 8, 5, 6, 27]]
        """
        theta, estimator = probabilities("theta", theta), cls(alpha=0.0)
        virtual_rows = ClassesAndPrior(len(theta), prior, classes)
        return fitted(estimator, virtual_rows.model(estimator, theta))

    def _family(self) -> Any:
        return Multinomial(self._alpha())


@dataclass(eq=False, repr=False, kw_only=True)
class ComplementNB(ClassPrior, FeatureCountNB):
    """Complement naive Bayes, after `sklearn.naive_bayes.ComplementNB`.

    Differences from scikit-learn: the class prior counts, as in the paper of Rennie et al. (2003);
    scikit-learn ignores it, and `fit_prior=False` gives its scores, up to a constant. Counts are
    summed exactly; alpha=0 gives no NaN; NaN is a missing value; new classes may appear in any
    `partial_fit`.

    Parameters
    ----------
    alpha, force_alpha, fit_prior, class_prior, prior_smoothing, n_jobs : as in `MultinomialNB`.
    norm : bool
        Divide the weights of each class by their sum.

    Attributes
    ----------
    classes_ : (C,) labels
    class_count_ : (C,) total weights
    class_log_prior_ : (C,) log probabilities
    alpha_ : the smoothing
    feature_count_ : (C, d) counts
    feature_all_ : (d,) counts over all classes
    feature_log_prob_ : (C, d) weights -log θ̃_αc
    n_features_in_, feature_names_in_, n_parameters_
    """

    force_alpha: bool = True
    norm: bool = False

    def _family(self) -> Any:
        return Complement(self._alpha(), self.norm)

    @property
    def feature_all_(self) -> Float64:
        """Counts over all classes, (d,)."""
        with self.model_.lock:
            return self.model_.statistics.tables["sum"].summed(0).rounded()


@dataclass(eq=False, repr=False, kw_only=True)
class BernoulliNB(ClassPrior, FeatureCountNB):
    """Bernoulli naive Bayes, a drop-in replacement for `sklearn.naive_bayes.BernoulliNB`.

    Differences from scikit-learn: counts are summed exactly; log (1 - p) is computed from the
    count of absences, so that alpha=0 gives no NaN; NaN is a missing value; priors must sum to 1;
    new classes may appear in any `partial_fit`.

    Parameters
    ----------
    alpha : float, array or "auto"
        As in `MultinomialNB`; or of shape (C, d, 2), (C, 1, 2) or (1, d, 2), with separate virtual
        examples [absent, present].
    force_alpha, fit_prior, class_prior, prior_smoothing, n_jobs : as in `MultinomialNB`.
    binarize : float or None
        Threshold: features with larger values are present. None if all values are in [0, 1].

    Attributes
    ----------
    classes_ : (C,) labels
    class_count_ : (C,) total weights
    class_log_prior_ : (C,) log probabilities
    alpha_ : the smoothing
    feature_count_ : (C, d) weight of the rows with the feature
    feature_log_prob_ : (C, d) log p_αc
    n_features_in_, feature_names_in_, n_parameters_
    """

    _only_positive = False

    force_alpha: bool = True
    binarize: float | None = 0.0

    @classmethod
    def from_parameters(cls, theta: Any, *, prior: Any = "uniform", classes: Any = None) -> Self:
        """Make a model from p and π, which count as one row in total in `partial_fit`.

        Parameters
        ----------
        theta : (C, d) p_αc = P(x_α = 1 | c), from 0 to 1. The model's `alpha` is 0.
        prior : "uniform", (C,) π_c above 0 in the order of the rows of `theta`, or a dict by label.
        classes : (C,) labels; 0, 1, ... by default.

        Raises
        ------
        ValueError : if a parameter is invalid.
        """
        theta = numbers("theta", theta, "(classes, features)", 2)
        if (theta < 0).any() or (theta > 1).any():
            invalid = theta[(theta < 0) | (theta > 1)][0]
            raise ValueError(f"theta must be probabilities: it has {invalid:g}")
        virtual_rows = ClassesAndPrior(len(theta), prior, classes)
        estimator = cls(alpha=0.0)
        model = virtual_rows.model(estimator, np.zeros(theta.shape))
        model.statistics.tables["sum"] = virtual_rows.summed(theta)
        return fitted(estimator, model)

    def _family(self) -> Any:
        return Bernoulli(self._alpha(), self.binarize)

    def _encoder(self) -> Any:
        threshold = self._parameters.threshold
        if math.isnan(threshold):
            return None
        from sklearn.preprocessing import Binarizer

        encoder = Binarizer(threshold=threshold)
        return self._named(encoder.fit(np.zeros((1, self.n_features_in_))))


@dataclass(eq=False, repr=False, kw_only=True)
class PoissonNB(FeatureCountNB):
    """Poisson naive Bayes: each feature is a count with a rate for each class.

    Unlike for `MultinomialNB`, the total of the counts of a row is evidence, too.

    Parameters
    ----------
    alpha : float, array or "auto"
        Virtual rows with one event of each kind in each class: λ_αc = (Σ x + alpha) / (n_c +
        alpha); shapes and "auto" as in `MultinomialNB`.
    prior : "empirical", "uniform", (C,) array or dict
        Class prior, as `class_prior` of `MultinomialNB`.
    prior_smoothing, n_jobs : as in `MultinomialNB`.

    Attributes
    ----------
    classes_ : (C,) labels
    class_count_ : (C,) total weights
    class_log_prior_ : (C,) log probabilities
    alpha_ : the smoothing
    feature_count_ : (C, d) counts
    feature_rate_ : (C, d) λ_αc, events per row
    n_features_in_, feature_names_in_, n_parameters_
    """

    prior: Any = "empirical"
    prior_smoothing: Virtual = 0.0

    def _prior(self) -> Prior:
        return Prior(self.prior, self.prior_smoothing)

    def _family(self) -> Any:
        return Poisson(self._alpha())

    @property
    def feature_rate_(self) -> Float64:
        """λ_αc, events per row, (C, d)."""
        return self._parameters.rates(slice(0, self.n_features_in_))


@dataclass(eq=False, repr=False, kw_only=True)
class CategoricalNB(ClassPrior, DiscreteNB):
    """Categorical naive Bayes, a drop-in replacement for `sklearn.naive_bayes.CategoricalNB`.

    Differences from scikit-learn: unseen categories are scored (`unseen`) instead of failing or
    using the probability of another category; codes may be of any size, without a cost in memory;
    fractions are refused, not truncated; alpha=0 gives no NaN; NaN is a missing value; sparse
    matrices are supported; priors must sum to 1; new classes and categories may appear in any
    `partial_fit`.

    Parameters
    ----------
    alpha : float, array, list or "auto"
        Smoothing l, as in lecture 1, case 1: a scalar, or of shape (d,), (C, 1) or (C, d). Or a
        list with an item for each of the d features: a number; an array (K_α,) or (C, K_α); a
        dict by category, as ``{0: 2, 1: 8}``, or by category and class, as
        ``{0: {"no": 2, "yes": 3}}``, where categories that are not named have 1. "auto" as in
        `MultinomialNB`.
    force_alpha, fit_prior, class_prior, prior_smoothing, n_jobs : as in `MultinomialNB`.
    min_categories : int, (d,) array or None
        Minimum number of categories, for all features or for each.
    unseen : "smooth", "ignore" or "error"
        Unseen categories are scored by the smoothed probability of count 0, or ignored like missing
        values, or raise ValueError.

    Attributes
    ----------
    classes_ : (C,) labels
    class_count_ : (C,) total weights
    class_log_prior_ : (C,) log probabilities
    alpha_ : the smoothing
    category_count_ : list of d arrays (C, K_α), computed on access
    feature_log_prob_ : list of d arrays (C, K_α), log [θ_jc]_α, computed on access
    n_categories_ : (d,) K_α
    n_features_in_, feature_names_in_, n_parameters_
    """

    force_alpha: bool = True
    min_categories: Any = None
    unseen: Unseen = "smooth"

    @classmethod
    def from_parameters(
        cls, theta: Sequence[Any], *, prior: Any = "uniform", classes: Any = None
    ) -> Self:
        """Make a model from θ and π, which count as one row in total in `partial_fit`.

        Parameters
        ----------
        theta : d arrays (C, K_α) of [θ_jc]_α, the exponentials of `feature_log_prob_`; those of a
            feature and class sum to 1. The model's `alpha` is 0.
        prior : "uniform", (C,) π_c above 0 in the order of the rows, or a dict by label.
        classes : (C,) labels; 0, 1, ... by default.

        Raises
        ------
        ValueError : if a parameter is invalid.
        """
        dice = [probabilities(f"theta[{k}]", die) for k, die in enumerate(theta)]
        if not dice:
            raise ValueError("theta must be an array for each feature: there is none")
        counts = [len(die) for die in dice]
        if len(set(counts)) > 1:
            raise ValueError(f"theta must have as many classes in each feature, not {counts}")
        sizes = [die.shape[1] for die in dice]
        virtual_rows = ClassesAndPrior(counts[0], prior, classes)
        estimator = cls(alpha=0.0, min_categories=sizes)
        model = virtual_rows.model(estimator, np.zeros((counts[0], len(dice))))
        tables = {"count": virtual_rows.summed(np.hstack(dice))}
        tables["missing"] = model.statistics.tables["missing"]
        model.sums = LevelStatistics(tables, [np.arange(size) for size in sizes])
        return fitted(estimator, model)

    def _family(self) -> Any:
        return Categorical(self._alpha(), self.min_categories, self.unseen)

    def _encoder(self) -> Any:
        from sklearn.preprocessing import OneHotEncoder

        categories = [np.append(levels, np.nan) for levels in self._parameters.scored_levels]
        unknown = "error" if self._parameters.unseen == "error" else "ignore"
        encoder = OneHotEncoder(categories=categories, handle_unknown=unknown)
        encoder.fit(np.full((1, len(categories)), np.nan))
        return self._named(encoder.set_params(categories="auto"))  # in case users refit it

    @property
    def n_categories_(self) -> Any:
        """K_α, the number of categories of each feature, (d,)."""
        return self._parameters.n_categories

    @property
    def category_count_(self) -> list[Float64]:
        """Weighted counts of each category, d arrays (C, K_α)."""
        parameters, counts = self._parameters, []
        starts = parameters.offsets[:-1]
        features = zip(parameters.n_categories, parameters.levels, starts, strict=True)
        for k, levels, start in features:
            count = np.zeros((parameters.classes, k))
            count[:, levels] = parameters.count[:, start : start + len(levels)]
            counts.append(count)
        return counts

    @property
    def feature_log_prob_(self) -> list[Float64]:
        """Log [θ_jc]_α, d arrays (C, K_α)."""
        parameters = self._parameters
        sizes = enumerate(parameters.n_categories)
        return [parameters.log_theta(j, np.arange(k)) for j, k in sizes]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags
