"""Real features together: p(x | y = c) = N(x; μ_c, Σ_c), with a whole covariance matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from naively.exact import ExactArray
from naively.families.base import Family, SingularCovarianceError
from naively.families.covariance import ClassSums, covariance, whiten
from naively.families.multivariate_parameters import MultivariateParameters, linear_form
from naively.families.shrinkage import Shrinkage, check_shrinkage, shrink
from naively.families.virtual_rows import VirtualRows, check_rows
from naively.kernels import distances
from naively.statistics.products import Products, ProductStatistics
from naively.workers import SERIAL, Workers


@dataclass(frozen=True)
class MultivariateGaussian(Family[ProductStatistics, MultivariateParameters]):
    """Normal rows: each class has a mean vector and a covariance matrix.

    Lecture 2, "Gaussian Bayes classifier": P(X = x | Y = y) = N(x; μ_y, Σ_y), whose boundaries are
    quadratic; linear if the classes share one Σ. The estimates are those of maximum likelihood
    (`ddof=0`) or unbiased. A missing value is dropped: at prediction by the normal density of the
    other features, in learning pair by pair of features.

    Parameters
    ----------
    tied : bool
        Whether the classes share one covariance.
    shrinkage : None, float in [0, 1], "auto" or "oas"
        How far covariances are drawn towards (tr Σ / d) I; "auto" (Ledoit & Wolf) and "oas" find
        the amount for the correlations: see `naively.families.shrinkage.shrink`.
    ddof : 0 or 1
        0 divides by n, 1 by n - 1, or, if tied, by n - C.
    alpha : float
        Virtual rows of each class, of independent features with the mean and variance of all
        classes together: MAP estimates, see `naively.families.virtual_rows.VirtualRows`.
    """

    tied: bool = False
    shrinkage: Shrinkage = None
    ddof: int = 0
    alpha: float = 0.0

    name = "multivariate"
    alpha_is_rows = True
    curve = "density"
    may_be_singular = True
    independent = False

    def __post_init__(self) -> None:
        if not isinstance(self.tied, bool | np.bool_):
            raise ValueError(f"tied must be True or False, not {self.tied!r}")
        check_shrinkage(self.shrinkage)
        if self.ddof not in (0, 1):
            raise ValueError(f"ddof must be 0 or 1, not {self.ddof!r}")
        check_rows(self.alpha)

    @property
    def summary(self) -> Products:  # type: ignore[override]
        """Sums of products; of all classes together if these share one covariance."""
        return Products(self.tied)

    @property
    def in_turn(self) -> bool:
        """Whether contributions are what each column adds to those before it."""
        return not self.tied

    def estimate(
        self, statistics: ProductStatistics, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> MultivariateParameters:
        """Means, and covariances rounded once from exact sums, then shrunk.

        A class without a value of a feature takes the mean and variance of all classes there; a
        pair of features that no row has both of has covariance 0.

        Raises SingularCovarianceError for a covariance without a density.
        """
        classes, d = statistics.tables["sum"].shape
        sums = [ClassSums(statistics, class_weight, code) for code in range(classes)]
        total = statistics.moments(class_weight).pooled()
        total_mean, total_variance = total.mean()[0], total.variance(0)[0]
        mean = np.empty((classes, d))
        known = np.empty((classes, d), bool)
        for code, one in enumerate(sums):
            mean[code], known[code] = one.mean()
        near = mean.copy()
        mean = np.where(known, mean, total_mean)
        virtual = None
        if self.alpha > 0:
            n = np.array([np.broadcast_to(one.freedom(0), (d, d)).diagonal() for one in sums])
            virtual = VirtualRows(self.alpha, n, mean, total_mean, total_variance)
            mean = virtual.means()
        groups = [list(range(classes))] if self.tied else [[code] for code in range(classes)]
        found = np.empty((d, d))
        packed = np.empty((len(groups), distances.packed_size(d)))
        log_det, amounts = np.empty(len(groups)), np.empty(len(groups))
        for k, group in enumerate(groups):
            products = statistics.tables["product"].gather(0, k)
            own = [sums[code] for code in group]
            freedom = covariance(products, own, near[group], self.ddof, found, workers)
            unknown = np.flatnonzero(~known[group].any(axis=0))
            found[unknown, unknown] = total_variance[unknown]
            if virtual is not None:
                freedom = virtual.add_covariance(found, group, freedom)
            amounts[k] = shrink(found, self.shrinkage, freedom, total_variance)
            try:
                A, log_det[k] = whiten(found)
            except SingularCovarianceError as error:
                error.code = None if self.tied else k
                if not known[:, error.feature].any():
                    error.problem = "has no values"
                elif any(len(one.sums) > 1 for one in own):
                    error.problem += ", as far as the rows without its missing values tell"
                if freedom + self.ddof <= d:
                    error.problem += f"; {d} features need more than {d} rows"
                error.advice = self._advice()
                raise
            distances.pack(A, packed[k])
        linear = linear_form(A, mean) if self.tied else None
        return MultivariateParameters(mean, packed, log_det, linear, amounts)

    estimate_on = estimate

    def _advice(self) -> str:
        """What to do about a covariance without a density."""
        less = "variances alone (diagonal)" if self.tied else "one covariance for all, or variances"
        shrunk = 'shrink it (shrinkage="auto", or a number as 0.1), ' if not self.shrinkage else ""
        return f"Learn more rows, leave the feature out, {shrunk}or give the classes {less}"
