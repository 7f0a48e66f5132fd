"""`GaussianNB`."""

from __future__ import annotations

from typing import Any, Literal

from naively.estimators.base import NaiveBayesClassifier
from naively.exact import Float64
from naively.families.gaussian import Gaussian, GaussianParameters, Tie
from naively.prior import Prior


class GaussianNB(NaiveBayesClassifier):
    """Gaussian naive Bayes, a drop-in for `sklearn.naive_bayes.GaussianNB`.

    Where scikit-learn's differs: the variance floor here follows from all data seen so far, so
    that cutting the data into `partial_fit` calls changes nothing, and respects sample weights;
    means and variances are exact sums, rounded once; NaN is a missing value, dropped from the
    product; sparse matrices are welcome; classes may appear later without being announced;
    columns that are constant everywhere give probabilities, not NaN; one class alone is refused
    by `fit`.

    Parameters
    ----------
    priors : None, "uniform" or (C,) array
        Class priors: None for the empirical ones; or probabilities that sum to 1.
    var_smoothing : float
        Portion of the largest variance of all features that is added to every variance.
    tie : None, "classes", "features" or "both"
        What the variance is shared across (lecture 2: σ_ik, σ_i, σ_k, σ).
    ddof : 0 or 1
        Maximum likelihood or unbiased variance.
    floor : "largest" or "feature"
        Whose variance `var_smoothing` is a portion of: the largest of all features, or each
        feature's own.
    prior_smoothing : float
        Virtual examples of each class in the empirical prior.
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
    n_features_in_, feature_names_in_, n_parameters_
    """

    def __init__(
        self,
        *,
        priors: Any = None,
        var_smoothing: float = 1e-9,
        tie: Tie = None,
        ddof: Literal[0, 1] = 0,
        floor: Literal["largest", "feature"] = "largest",
        prior_smoothing: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.tie = tie
        self.ddof = ddof
        self.floor = floor
        self.prior_smoothing = prior_smoothing
        self.n_jobs = n_jobs

    def _family(self) -> Gaussian:
        return Gaussian(self.tie, self.ddof, self.var_smoothing, self.floor)

    def _prior(self) -> Prior:
        return Prior("empirical" if self.priors is None else self.priors, self.prior_smoothing)

    @property
    def _parameters(self) -> GaussianParameters:
        parameters = self.model_.parameters
        assert isinstance(parameters, GaussianParameters)
        return parameters

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
