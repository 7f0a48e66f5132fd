"""`GaussianNB` and `GaussianBayes`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy.typing as npt

from naively.core.exact import Float64
from naively.core.prior import Prior, Virtual
from naively.estimators.shared.from_parameters import FromCovariances, FromVariances
from naively.families.base import AnyFamily
from naively.families.multivariate.covariance import Shrinkage, check_shrinkage
from naively.families.multivariate.multivariate import MultivariateGaussian
from naively.families.numeric.gaussian import Gaussian, Tie

Covariance = Literal["full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical"]

TIES: dict[str, Tie] = {
    "diagonal": None,
    "tied_diagonal": "classes",
    "spherical": "features",
    "tied_spherical": "both",
}


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianNB(FromVariances):
    """Gaussian naive Bayes, a drop-in for `sklearn.naive_bayes.GaussianNB`.

    Where scikit-learn's differs: the variance floor here follows from all data seen so far, so
    that cutting the data into `partial_fit` calls changes nothing, and respects sample weights;
    means and variances are exact sums, rounded once; NaN is a missing value, dropped from the
    product; sparse matrices are welcome; classes may appear later without being declared;
    columns that are constant everywhere give probabilities, not NaN.

    Parameters
    ----------
    priors : None, "empirical", "uniform", (C,) array or dict
        Class priors: None for the empirical ones; or probabilities that sum to 1, in the order of
        the classes or by class. Of a dict one class may be left out: it gets the rest.
    var_smoothing : float
        Portion of the largest variance of all features that is added to every variance.
    tie : None, "classes", "features" or "both"
        What the variance is shared across (lecture 2: σ_ik, σ_i, σ_k, σ).
    ddof : 0 or 1
        Maximum likelihood or unbiased variance.
    floor : "largest" or "feature"
        Whose variance `var_smoothing` is a portion of: the largest of all features, or each
        feature's own.
    alpha : float or "auto"
        Virtual rows of each class, with the mean and variance of all classes together: MAP, as
        Laplace smoothing is for counts. A feature that hardly varies in a class then does not
        decide alone. 0 for maximum likelihood, as scikit-learn has it; "auto" for the value that
        predicts left-out rows best. The formula is that of
        `naively.families.multivariate.covariance.VirtualRows`.
    prior_smoothing : float, sequence or dict
        Virtual examples of each class in the empirical prior: of all, in the order of the classes,
        or by class; m Q(Y) of lecture 2.
    n_jobs : int or None
        Threads; None for all processors. The model does not depend on it.

    Attributes
    ----------
    classes_ : (C,) labels
    class_count_ : (C,) total weights
    class_prior_ : (C,) probabilities
    theta_ : (C, d) means
    var_ : (C, d) variances, with epsilon_ included
    epsilon_ : float, or (d,) with floor="feature"
    alpha_ : the alpha that was given, or chosen for "auto"
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
        """Variances σ²_αc, with epsilon_ included, (C, d)."""
        return self._parameters.variance

    @property
    def epsilon_(self) -> Any:
        """What was added to every variance."""
        return self._parameters.epsilon


@dataclass(frozen=True)
class QuadraticForm:
    """log P(x, c) = xᵀ Q_c x + w_c · x + b_c, in nats, for each class.

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
class GaussianBayes(FromCovariances):
    """The Gaussian Bayes classifier: a normal distribution a class, its covariance as you choose.

    Lecture 2, "Gaussian Bayes classifier": P(X = x | Y = y) = N(x; μ_y, Σ_y). The choices are the
    rungs between K d (d + 1) / 2 parameters and one: with "full" the boundaries are quadratic,
    with "tied" linear, and "diagonal" is Gaussian naive Bayes. Sums and sums of products are
    exact, so that any order or split of the rows gives the same model, and `partial_fit`, `+`,
    `forget` and `decay` work as in the other classifiers.

    Equals scikit-learn's `QuadraticDiscriminantAnalysis` ("full") and
    `LinearDiscriminantAnalysis` ("tied"), which divide by n since version 1.9. Where they differ:
    the linear one answers for singular covariances, by a pseudo-inverse, the quadratic one refuses
    any whose least variance is below 1e-4, whatever the unit; here those without a density are
    refused. Their "auto" estimates the amount of shrinkage from fourth moments, class by class.
    The linear one's "lsqr" and "eigen" weigh the classes' covariances by given `priors`, not by
    their rows. Missing values are refused there; here each pair of features is learned from the
    rows that have both, and prediction goes by the density of the features that are there. There
    is no `transform`.

    Where the classes do not share a covariance, `explain` splits a score in the order of the
    columns: what each adds, given those before it. Other orders give other splits of the same sum.
    A class without a density yet, such as one of a single row, stops all predictions.

    Parameters
    ----------
    covariance : "full", "tied", "diagonal", "tied_diagonal", "spherical" or "tied_spherical"
        A matrix Σ_c a class; one for all classes; variances σ²_αc; σ²_α; σ²_c; σ². The last four
        are ``GaussianNB(tie=...)``, with its floor of 1e-9 of the largest variance.
    shrinkage : None, float in [0, 1], "auto" or "oas"
        Draws covariances towards (tr Σ / d) I. "auto" (Ledoit & Wolf) and "oas" find the amount
        for the correlations, so that units do not matter; for diagonal and spherical ones there
        is nothing to find.
    ddof : 0 or 1
        Maximum likelihood, or unbiased: divided by n_c - 1, or n - C for tied covariances.
    alpha : float or "auto"
        Virtual rows of each class, of independent features with the mean and variance of all
        classes together: MAP, as in `GaussianNB`. Then covariances have a density however few
        the rows are, unless a feature is the same in all of them.
    priors : None, "empirical", "uniform", (C,) array or dict
        Class priors: None for the empirical ones; or probabilities that sum to 1, in the order of
        the classes or by class. Of a dict one class may be left out: it gets the rest.
    prior_smoothing : float, sequence or dict
        Virtual examples of each class in the empirical prior, as in `GaussianNB`.
    n_jobs : int or None
        Threads; None for all processors. The model does not depend on it.

    Attributes
    ----------
    classes_ : (C,) labels
    class_count_ : (C,) total weights
    class_prior_ : (C,) probabilities
    means_ : (C, d)
    covariance_ : (C, d, d), (d, d), (C, d), (d,), (C,) or float, in the order of the choices
    shrinkage_ : float, or (C,) if full: how far the covariances were drawn
    alpha_ : the alpha that was given, or chosen for "auto"
    n_features_in_, feature_names_in_, n_parameters_
    """

    _takes_sparse = False
    _prior_parameter = "priors"

    covariance: Covariance = "full"
    shrinkage: Shrinkage = None
    _: KW_ONLY
    ddof: Literal[0, 1] = 0
    alpha: Any = 0.0
    priors: Any = None
    prior_smoothing: Virtual = 0.0
    n_jobs: int | None = None

    def _family(self) -> AnyFamily:
        if self.covariance in ("full", "tied"):
            tied = self.covariance == "tied"
            return MultivariateGaussian(tied, self.shrinkage, self.ddof, self._smoothing)
        check_shrinkage(self.shrinkage)
        if self.covariance not in tuple(TIES):
            choices = ", ".join(map(repr, ("full", "tied", *TIES)))
            raise ValueError(f"covariance must be one of {choices}, not {self.covariance!r}")
        amount = 0.0  # of one variance a feature there is none to find
        if self.shrinkage is not None and not isinstance(self.shrinkage, str):
            amount = float(self.shrinkage)
        tie, alpha = TIES[self.covariance], self._smoothing
        return Gaussian(tie, self.ddof, shrinkage=amount, alpha=alpha)

    def _prior(self) -> Prior:
        return Prior("empirical" if self.priors is None else self.priors, self.prior_smoothing)

    @property
    def means_(self) -> Float64:
        """Means μ_c, (C, d)."""
        return self._parameters.mean

    @property
    def covariance_(self) -> Any:
        """Covariances or variances, as many as the model has."""
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
        """How far the covariances were drawn, from 0 to 1."""
        family: Any = self.model_.family
        if family.independent:
            return family.shrinkage
        amounts = self._parameters.amounts
        return float(amounts[0]) if family.tied else amounts

    def to_quadratic(self) -> QuadraticForm:
        """The boundary's coefficients, of any covariance: see `QuadraticForm` (lecture 2)."""
        posterior = self._posterior()
        parameters: Any = posterior.parameters
        quadratic, weight, bias = parameters.quadratic()
        return QuadraticForm(quadratic, weight, bias + posterior.log_prior, posterior.classes)
