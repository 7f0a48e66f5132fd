"""Make fitted models from given parameters, as sums of one virtual row in total."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from naively.core.exact import ExactArray, Float64
from naively.core.labels import encode_labels
from naively.core.model import Model
from naively.core.prior import Prior
from naively.core.schema import Schema
from naively.core.workers import SERIAL, workers
from naively.estimators.shared.base import NaiveBayesClassifier
from naively.estimators.shared.validation import check_labels
from naively.families.base import SingularCovarianceError
from naively.families.multivariate.covariance import whiten
from naively.statistics.base import Batch
from naively.statistics.levels import LevelStatistics
from naively.statistics.powers import sum_powers

NEAR = 1e-6  # tolerance for probabilities that must sum to 1


class Given:
    """Classes and their prior: class c has a virtual row of weight π_c.

    Parameters
    ----------
    count : number of classes.
    prior : "uniform", or probabilities above 0: (C,), or a dict by label.
    classes : (C,) distinct labels; None for 0, 1, ...
    """

    def __init__(self, count: int, prior: Any, classes: Any) -> None:
        if isinstance(prior, str) and prior != "uniform":
            raise ValueError(f'prior must be "uniform" or probabilities, not {prior!r}')
        labels = np.arange(count) if classes is None else check_labels(classes, len(classes))
        if len(labels) != count:
            raise ValueError(f"there are parameters of {count} classes, but {len(labels)} labels")
        self.labels, codes = encode_labels(labels)
        if len(self.labels) < count:
            raise ValueError(f"classes must be different labels, not {labels.tolist()}")
        weights = ExactArray.from_integers(np.ones(count, np.int64))
        self.prior = Prior(prior).estimate(weights, labels)
        if not self.prior.all():
            label = labels.tolist()[int(self.prior.argmin())]
            raise ValueError(f"the prior of class {label!r} is 0: leave the class out")
        self.batch = Batch(codes, count, self.prior)

    def summed(self, values: Float64) -> ExactArray:
        """Return the exact sums π_c values_c of each class, (C, m)."""
        return sum_powers(values, self.batch, SERIAL)["sum"]

    def model(self, estimator: NaiveBayesClassifier, rows: Float64) -> Model:
        """Return the model of these rows, one for each class, with weights π_c."""
        blank = Model(Schema.of_array(estimator._family(), rows.shape[1]), estimator._prior())
        return blank.summarise(rows, (self.labels, self.batch.codes), self.prior)


def kept(estimator: Any, model: Model) -> Any:
    """Return the estimator with this model, after checking that it can be estimated."""
    model.check(workers(estimator.n_jobs))
    estimator._keep(model, {})
    return estimator


def numbers(name: str, values: Any, shape: str, *dimensions: int) -> Float64:
    """Convert values to finite float64 of one of these numbers of dimensions.

    Raises
    ------
    ValueError : if values are not finite numbers, or have another shape.
    """
    try:
        array = np.array(values, np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers of shape {shape}") from None
    if array.ndim not in dimensions or array.size == 0:
        raise ValueError(f"{name} must be of shape {shape}, not {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite: it has {array[~np.isfinite(array)][0]}")
    return array


def probabilities(name: str, values: Any) -> Float64:
    """Check (C, K) probabilities, whose rows must sum to 1.

    Raises
    ------
    ValueError : for negative values, or a row with another sum.
    """
    theta = numbers(name, values, "(classes, probabilities)", 2)
    if (theta < 0).any():
        raise ValueError(f"{name} must be probabilities: it has {theta.min():g}")
    for row, total in enumerate(map(math.fsum, theta)):
        if abs(total - 1.0) > NEAR:
            raise ValueError(f"row {row} of {name} must sum to 1, not {total:g}")
    return theta


# ---- from parameters -----------------------------------------------------------------------------


class FromVariances(NaiveBayesClassifier):
    """Mixin that makes a `GaussianNB` from means and variances."""

    @classmethod
    def from_parameters(
        cls, mean: Any, variance: Any, *, prior: Any = "uniform", classes: Any = None
    ) -> Self:
        """Make a model from μ, σ² and π, which count as one row in total in `partial_fit`.

        Parameters
        ----------
        mean : (C, d) μ_αc.
        variance : (C, d) σ²_αc above 0; or (d,) for one per feature, (C, 1) for one per class, or
            one number for all: then `tie` is "classes", "features" or "both".
        prior : "uniform", (C,) π_c above 0 in the order of the rows of `mean`, or a dict by label.
        classes : (C,) labels; 0, 1, ... by default.

        Raises
        ------
        ValueError : if a parameter is invalid.

        Examples
        --------
        >>> from naively import GaussianNB
        >>> model = GaussianNB.from_parameters([[0.0], [2.0]], 1.0, classes=["low", "high"])
        >>> model.predict([[0.9], [1.1]]).tolist()
        ['low', 'high']
        """
        mean = numbers("mean", mean, "(classes, features)", 2)
        spread = numbers("variance", variance, "that of mean, (d,), (C, 1) or one number", 0, 1, 2)
        count, d = mean.shape
        shapes = {(count, d): None, (d,): "classes", (count, 1): "features", (): "both"}
        if spread.shape not in shapes:
            raise ValueError(f"variance of shape {spread.shape} does not fit mean, {mean.shape}")
        if (spread <= 0).any():
            raise ValueError(f"variance must be above 0, not {spread.min():g}")
        virtual_rows = Given(count, prior, classes)
        estimator = cls(tie=shapes[spread.shape], var_smoothing=0.0)
        model = virtual_rows.model(estimator, mean)
        tables = model.statistics.tables
        squares = virtual_rows.summed(np.array(np.broadcast_to(spread, mean.shape)))
        tables["square"] = tables["square"].accumulate(squares)
        return kept(estimator, model)


class FromCovariances(NaiveBayesClassifier):
    """Mixin that makes a `GaussianBayes` from means and covariances."""

    @classmethod
    def from_parameters(
        cls, mean: Any, covariance: Any, *, prior: Any = "uniform", classes: Any = None
    ) -> Self:
        """Make a model from μ, Σ and π, which count as one row in total in `partial_fit`.

        Parameters
        ----------
        mean : (C, d) μ_c.
        covariance : (C, d, d) Σ_c, or (d, d) for all classes, symmetric and positive definite.
        prior : "uniform", (C,) π_c above 0 in the order of the rows of `mean`, or a dict by label.
        classes : (C,) labels; 0, 1, ... by default.

        Raises
        ------
        ValueError : if a parameter is invalid.

        Examples
        --------
        >>> from naively import GaussianBayes
        >>> model = GaussianBayes.from_parameters(
        ...     [[0, 0], [2, 0]], [[[1, 0], [0, 1]], [[4, 1], [1, 2]]], prior=[0.7, 0.3]
        ... )
        >>> model.covariance_[1].round(12).tolist()
        [[4.0, 1.0], [1.0, 2.0]]
        """
        mean = numbers("mean", mean, "(classes, features)", 2)
        spread = numbers("covariance", covariance, "(C, d, d) or (d, d)", 2, 3)
        count, d = mean.shape
        if spread.shape not in {(count, d, d), (d, d)}:
            raise ValueError(f"covariance of shape {spread.shape} does not fit mean, {mean.shape}")
        tied = spread.ndim == 2
        for c, matrix in enumerate([spread] if tied else spread):
            name = "covariance" if tied else f"covariance {c}"
            if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
                raise ValueError(f"{name} is not symmetric")
            try:
                whiten(matrix.copy())
            except SingularCovarianceError as error:
                raise ValueError(f"{name} is not positive definite: {error}") from None
        virtual_rows = Given(count, prior, classes)
        estimator = cls("tied" if tied else "full")
        model = virtual_rows.model(estimator, mean)
        cells = np.broadcast_to(spread, (count, d, d))[:, *np.triu_indices(d)]
        products = virtual_rows.summed(np.ascontiguousarray(cells))
        tables = model.statistics.tables
        tables["product"] = tables["product"].accumulate(
            products.summed(0).repeated(1, axis=0) if tied else products
        )
        return kept(estimator, model)


class FromRolls(NaiveBayesClassifier):
    """Mixin that makes a `MultinomialNB` from event probabilities."""

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
        theta = probabilities("theta", theta)
        estimator = cls(alpha=0.0)
        return kept(estimator, Given(len(theta), prior, classes).model(estimator, theta))


class FromCoins(NaiveBayesClassifier):
    """Mixin that makes a `BernoulliNB` from probabilities of presence."""

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
        virtual_rows = Given(len(theta), prior, classes)
        estimator = cls(alpha=0.0)
        model = virtual_rows.model(estimator, np.zeros(theta.shape))
        model.statistics.tables["sum"] = virtual_rows.summed(theta)
        return kept(estimator, model)


class FromDice(NaiveBayesClassifier):
    """Mixin that makes a `CategoricalNB` from probabilities of categories."""

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
        virtual_rows = Given(counts[0], prior, classes)
        estimator = cls(alpha=0.0, min_categories=sizes)
        model = virtual_rows.model(estimator, np.zeros((counts[0], len(dice))))
        tables = {"count": virtual_rows.summed(np.hstack(dice))}
        tables["missing"] = model.statistics.tables["missing"]
        model.sums = LevelStatistics(tables, [np.arange(size) for size in sizes])
        return kept(estimator, model)


class FromWords(NaiveBayesClassifier):
    """Mixin that makes a `TextNB` from probabilities of words."""

    terms_: Any

    @classmethod
    def from_parameters(
        cls, terms: Sequence[str], theta: Any, *, prior: Any = "uniform", classes: Any = None
    ) -> Self:
        """Make a model from words, θ and π, which count as one word in total in `partial_fit`.

        Parameters
        ----------
        terms : (V,) distinct words, as in `terms_`: in lower case, of two letters or more.
        theta : (C, V) θ_αc; those of a class sum to 1. The model's `alpha` is 0.
        prior : "uniform", (C,) π_c above 0 in the order of the rows of `theta`, or a dict by label.
        classes : (C,) labels; 0, 1, ... by default.

        Raises
        ------
        ValueError : if a parameter is invalid.

        Examples
        --------
        >>> from naively import TextNB
        >>> model = TextNB.from_parameters(
        ...     ["free", "lunch", "noon"],
        ...     [[0.6, 0.2, 0.2], [0.1, 0.4, 0.5]],
        ...     classes=["spam", "ham"],
        ... )
        >>> model.sample(1, 0, label="spam", length=6)[0]
        ['free free lunch free lunch free']
        """
        theta = probabilities("theta", theta)
        words = [str(term) for term in terms]
        if theta.shape[1] != len(words):
            raise ValueError(
                f"theta has {theta.shape[1]} words a class, but terms has {len(words)}"
            )
        virtual_rows = Given(len(theta), prior, classes)
        weights = virtual_rows.prior[:, np.newaxis] * theta
        labels = np.repeat(virtual_rows.labels[virtual_rows.batch.codes], len(words))
        estimator = cls(alpha=0.0)
        estimator.fit(words * len(theta), labels, weights.ravel())
        vocabulary = set(estimator.terms_)
        if unknown := [
            w for w, p in zip(words, theta.T, strict=True) if p.any() and w not in vocabulary
        ]:
            raise ValueError(f"{unknown[0]!r} is not a word of a text in lower case: see `terms`")
        if len(set(words)) < len(words):
            raise ValueError(f"terms must be different words: {_twice(words)!r} is there twice")
        return estimator


def _twice(words: list[str]) -> str:
    return next(word for k, word in enumerate(words) if word in words[:k])
