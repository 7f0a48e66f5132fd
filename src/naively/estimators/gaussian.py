"""`GaussianNB` and `GaussianBayes`: classifiers with normal densities for numeric features."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64
from naively.estimators.shared.base import NaiveBayesClassifier
from naively.estimators.shared.from_parameters import ClassesAndPrior, fitted, numbers
from naively.families.base import AnyFamily, SingularCovarianceError
from naively.families.multivariate.covariance import Shrinkage, check_shrinkage, whiten
from naively.families.multivariate.multivariate import MultivariateGaussian
from naively.families.numeric.gaussian import Gaussian, Tie
from naively.model.prior import Prior, PriorLike, Virtual

Covariance = Literal["full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical"]

TIES: dict[str, Tie] = {
    "diagonal": None, "tied_diagonal": "classes", "spherical": "features", "tied_spherical": "both",
}  # fmt: skip


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianNB(NaiveBayesClassifier):
    """Gaussian naive Bayes, a drop-in replacement for `sklearn.naive_bayes.GaussianNB`.

    Differences from scikit-learn: the variance floor is computed from all training data and
    respects sample weights, so that splitting the data into `partial_fit` calls changes nothing;
    means and variances are exact sums, rounded once; NaN is a missing value, whose factor is left
    out of the product; sparse matrices are supported; new classes may appear in any `partial_fit`;
    constant columns give probabilities, not NaN.

    Parameters
    ----------
    priors : None, "empirical", "uniform", (C,) array or dict
        Class priors: None for the empirical ones; or probabilities that sum to 1, in the order of
        the classes or by class. A dict may omit one class, which gets the remaining probability.
    var_smoothing : float
        Fraction of the largest variance of all features that is added to every variance.
    tie : None, "classes", "features" or "both"
        What shares a variance (lecture 2: σ_ik, σ_i, σ_k, σ).
    ddof : 0 or 1
        Maximum likelihood or unbiased variance.
    floor : "largest" or "feature"
        The variance that `var_smoothing` is a fraction of: the largest of all features, or that of
        each feature.
    alpha : float or "auto"
        Virtual rows of each class, with the mean and variance of all classes together: a MAP
        estimate, as Laplace smoothing is for counts. It keeps a feature with almost no variance in
        a class from dominating. 0 for maximum likelihood, as in scikit-learn; "auto" for the value
        with the least out-of-fold log-loss. `naively.families.multivariate.covariance.VirtualRows`
        gives the formula.
    prior_smoothing : float, sequence or dict
        Virtual examples of each class in the empirical prior, m Q(Y) of lecture 2: one number for
        all, a sequence in the order of the classes, or a dict by class.
    n_jobs : int or None
        Number of threads, None for all processors. The model does not depend on it.

    Attributes
    ----------
    classes_ : (C,) labels
    class_count_ : (C,) total weights
    class_prior_ : (C,) probabilities
    theta_ : (C, d) means
    var_ : (C, d) variances, epsilon_ included
    epsilon_ : float, or (d,) with floor="feature"
    alpha_ : `alpha`, or the value chosen for "auto"
    n_features_in_, feature_names_in_, n_parameters_
    """

    _prior_parameter = "priors"

    priors: Any = None
    var_smoothing: float = 1e-9
    tie: Tie = None
    ddof: Literal[0, 1] = 0
    floor: Literal["largest", "feature"] = "largest"
    alpha: Any = 0.0
    prior_smoothing: Virtual = 0.0
    n_jobs: int | None = None

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
        shapes: dict[tuple[int, ...], Tie] = {
            (count, d): None, (d,): "classes", (count, 1): "features", (): "both",
        }  # fmt: skip
        if spread.shape not in shapes:
            raise ValueError(f"variance of shape {spread.shape} does not fit mean, {mean.shape}")
        if (spread <= 0).any():
            raise ValueError(f"variance must be above 0, not {spread.min():g}")
        virtual_rows = ClassesAndPrior(count, prior, classes)
        estimator = cls(tie=shapes[spread.shape], var_smoothing=0.0)
        model = virtual_rows.model(estimator, mean)
        tables = model.statistics.tables
        squares = virtual_rows.summed(np.array(np.broadcast_to(spread, mean.shape)))
        tables["square"] = tables["square"].accumulate(squares)
        return fitted(estimator, model)

    def _family(self) -> Gaussian:
        return Gaussian(self.tie, self.ddof, self.var_smoothing, self.floor, alpha=self._smoothing)

    def _prior(self) -> Prior:
        return Prior("empirical" if self.priors is None else self.priors, self.prior_smoothing)

    @property
    def theta_(self) -> Float64:
        """Means μ_αc, (C, d)."""
        return self._parameters.mean

    @property
    def var_(self) -> Float64:
        """Variances σ²_αc, epsilon_ included, (C, d)."""
        return self._parameters.variance

    @property
    def epsilon_(self) -> Any:
        """The variance floor, which is added to every variance: a number, or (d,)."""
        return self._parameters.epsilon


@dataclass(frozen=True)
class QuadraticForm:
    """Coefficients of log P(x, c) = xᵀ Q_c x + w_c · x + b_c, in nats, for each class.

    Attributes
    ----------
    quadratic : (C, d, d) Q, symmetric and negative definite.
    coef : (C, d) w.
    intercept : (C,) b, with the class prior.
    classes : (C,) the labels.
    """

    quadratic: Float64
    coef: Float64
    intercept: Float64
    classes: npt.NDArray[Any]


@dataclass(eq=False, repr=False)
class GaussianBayes(NaiveBayesClassifier):
    """The Gaussian Bayes classifier: a normal density for each class, with a choice of covariances.

    Lecture 2, "Gaussian Bayes classifier": P(X = x | Y = y) = N(x; μ_y, Σ_y). The covariances have
    from K d (d + 1) / 2 parameters ("full") down to one ("tied_spherical"): boundaries are
    quadratic with "full" and linear with "tied", and "diagonal" is Gaussian naive Bayes. Sums and
    sums of products are exact, so that any order or split of the rows gives the same model, and
    `partial_fit`, `+`, `forget` and `decay` work as in the other classifiers.

    Equals scikit-learn's `QuadraticDiscriminantAnalysis` ("full") and
    `LinearDiscriminantAnalysis` ("tied"), which divide by n since version 1.9. Differences: for
    singular covariances LDA uses a pseudo-inverse; QDA refuses covariances whose least variance is
    below 1e-4, whatever the unit; here those without a density are refused. Their
    ``shrinkage="auto"`` estimates the amount from fourth moments, class by class. The solvers
    "lsqr" and "eigen" of LDA weight the covariances of the classes by the `prior`, not by their
    rows. LDA and QDA refuse missing values; here each covariance is estimated from the rows that
    have both features, and prediction uses the density of the features that are present. There is
    no `transform`.

    Unless the classes share a covariance, `explain` adds the columns in their order: the
    contribution of a column is the change of the score given the columns before it. Another order
    splits the same sum in another way. Prediction fails while a class has no density, such as a
    class with a single row.

    Parameters
    ----------
    covariance : "full", "tied", "diagonal", "tied_diagonal", "spherical" or "tied_spherical"
        In this order: a matrix Σ_c for each class; one Σ for all classes; variances σ²_αc; σ²_α;
        σ²_c; σ². The last four are ``GaussianNB(tie=...)``, with its floor of 1e-9 of the largest
        variance.
    shrinkage : None, float in [0, 1], "auto" or "oas"
        Amount by which covariances are shrunk to (tr Σ / d) I. "auto" (Ledoit & Wolf) and "oas"
        estimate it from the correlations, so that units do not matter; they do nothing for
        diagonal and spherical covariances.
    ddof : 0 or 1
        Maximum likelihood, or unbiased: divided by n_c - 1, or n - C for tied covariances.
    alpha : float or "auto"
        Virtual rows of each class, with independent features that have the mean and variance of
        all classes together: a MAP estimate, as in `GaussianNB`. Then a class of any number of
        rows has a density, unless a feature is constant in the training data.
    prior : "empirical", "uniform", (C,) array or dict
        Class prior; probabilities sum to 1, in the order of the classes or by class. A dict may
        omit one class, which gets the remaining probability.
    prior_smoothing : float, sequence or dict
        Virtual examples of each class in the empirical prior, as in `GaussianNB`.
    n_jobs : int or None
        Number of threads, None for all processors. The model does not depend on it.

    Attributes
    ----------
    classes_ : (C,) labels
    class_count_ : (C,) total weights
    class_prior_ : (C,) probabilities
    means_ : (C, d)
    covariance_ : (C, d, d), (d, d), (C, d), (d,), (C,) or float, in the order of `covariance`
    shrinkage_ : float, or (C,) if full: the amount of shrinkage
    alpha_ : `alpha`, or the value chosen for "auto"
    n_features_in_, feature_names_in_, n_parameters_
    """

    _takes_sparse = False

    covariance: Covariance = "full"
    shrinkage: Shrinkage = None
    _: KW_ONLY
    ddof: Literal[0, 1] = 0
    alpha: Any = 0.0
    prior: PriorLike = "empirical"
    prior_smoothing: Virtual = 0.0
    n_jobs: int | None = None

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
        virtual_rows = ClassesAndPrior(count, prior, classes)
        estimator = cls("tied" if tied else "full")
        model = virtual_rows.model(estimator, mean)
        cells = np.broadcast_to(spread, (count, d, d))[:, *np.triu_indices(d)]
        products = virtual_rows.summed(np.ascontiguousarray(cells))
        tables = model.statistics.tables
        products = products.summed(0).repeated(1, axis=0) if tied else products
        tables["product"] = tables["product"].accumulate(products)
        return fitted(estimator, model)

    def _family(self) -> AnyFamily:
        if self.covariance in ("full", "tied"):
            tied = self.covariance == "tied"
            return MultivariateGaussian(tied, self.shrinkage, self.ddof, self._smoothing)
        check_shrinkage(self.shrinkage)
        if self.covariance not in tuple(TIES):
            choices = ", ".join(map(repr, ("full", "tied", *TIES)))
            raise ValueError(f"covariance must be one of {choices}, not {self.covariance!r}")
        amount = 0.0  # "auto" and "oas" estimate none for variances
        if self.shrinkage is not None and not isinstance(self.shrinkage, str):
            amount = float(self.shrinkage)
        tie, alpha = TIES[self.covariance], self._smoothing
        return Gaussian(tie, self.ddof, shrinkage=amount, alpha=alpha)

    def _prior(self) -> Prior:
        return Prior(self.prior, self.prior_smoothing)

    @property
    def means_(self) -> Float64:
        """Means μ_c, (C, d)."""
        return self._parameters.mean

    @property
    def covariance_(self) -> Any:
        """Covariances or variances, in the shape that `covariance` implies: see the class."""
        family: Any = self.model_.family
        if not family.independent:
            covariance = self._parameters.covariance
            return covariance[0] if family.tied else covariance
        variance = self._parameters.variance
        return {
            None: variance, "classes": variance[0], "features": variance[:, 0],
            "both": float(variance[0, 0]),
        }[family.tie]  # fmt: skip

    @property
    def shrinkage_(self) -> Any:
        """Amount of shrinkage, from 0 to 1: a number, or (C,) for full covariances."""
        family: Any = self.model_.family
        if family.independent:
            return family.shrinkage
        amounts = self._parameters.amounts
        return float(amounts[0]) if family.tied else amounts

    def to_quadratic(self) -> QuadraticForm:
        """Return the quadratic form of log P(x, c) for any covariance (lecture 2)."""
        posterior = self._posterior()
        parameters: Any = posterior.parameters
        quadratic, weight, bias = parameters.quadratic()
        return QuadraticForm(quadratic, weight, bias + posterior.log_prior, posterior.classes)
