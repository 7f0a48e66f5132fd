"""Model rows by a multivariate normal distribution of each class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.core.exact import LARGEST, SMALLEST, ExactArray, Float64, Int64
from naively.core.workers import SERIAL, Workers
from naively.families.base import (
    SCORED,
    ClassNumbers,
    Family,
    Listed,
    Parameters,
    SingularCovarianceError,
)
from naively.families.multivariate.covariance import (
    COMBINATION,
    ClassSums,
    Shrinkage,
    VirtualRows,
    check_rows,
    check_shrinkage,
    covariance,
    shrink,
    whiten,
)
from naively.kernels import scores as kernel
from naively.kernels.sums import TILE
from naively.statistics.base import Data, raise_infinite, shown
from naively.statistics.products import Products, ProductStatistics, cell_count

LOG_2PI = math.log(2.0 * math.pi)


def near_scores(
    rows: npt.NDArray[Any], mean: Float64, packed: Float64, base: Float64, diagonals: Float64,
    before: Float64, margin: float, out: Float64,
) -> Float64:  # fmt: skip
    """Add log-densities to `before`, (C, n); -inf if more than `margin` nats below the best.

    Squared distances only grow with the features. So the first features are computed for all
    classes, then the likeliest class in full, and others as long as they can come near it. Returns
    the score of the best class of each row, (n,).

    packed : (C, size), a triangular A with A Σ Aᵀ = I of each class, in the kernels' layout.
    base : (C,) the log-density at the mean.
    diagonals : (C, d) of each A.
    """

    def go_on(which: Int64, code: int, first: int, last: int) -> None:
        """Add the distances of some rows from one class, for rows first:last of its A."""
        if len(which):
            row = slice(code, code + 1)
            distances = out[row, which]
            kernel.add_distances(
                shown(rows[which]), 0, len(which), mean[row], packed[row], first, last, distances
            )
            out[code, which] = distances[0]

    d = rows.shape[1]
    maximum = base[:, np.newaxis] + before
    first, *ends = [d // 4 // TILE * TILE, d // 2 // TILE * TILE, d]
    out[:] = 0.0
    kernel.add_distances(shown(rows), 0, len(rows), mean, packed, 0, first, out)
    scale = np.log(diagonals[:, :first]).sum(axis=1) - 0.5 * first * LOG_2PI
    likeliest = (scale[:, np.newaxis] + before - 0.5 * out).argmax(axis=0)
    best = np.full(len(rows), -np.inf)
    for code in range(len(out)):
        members = np.flatnonzero(likeliest == code)
        go_on(members, code, first, d)
        best[members] = maximum[code, members] - 0.5 * out[code, members]
    for code in range(len(out)):
        others = np.flatnonzero(likeliest != code)
        start = first
        for end in ends:
            score = maximum[code, others] - 0.5 * out[code, others]
            is_near = score >= _less(best[others], margin)
            out[code, others[~is_near]] = np.inf
            others = others[is_near]
            go_on(others, code, start, end)
            start = end
        best[others] = np.maximum(best[others], maximum[code, others] - 0.5 * out[code, others])
    out *= -0.5
    out += base[:, np.newaxis]
    out += before
    return best


def _less(best: Float64, margin: float) -> Float64:
    """Return scores a margin below the best, with tolerance for rounding errors."""
    return best - margin - 1e-9 * (1.0 + np.abs(best))


# ---- multivariate parameters ---------------------------------------------------------------------


PATTERNS = 64  # of missing values, whose densities are cached
WIDE = 64  # features from which on skipping classes is faster
NEAR = 2.0**19  # the most nats of a class at the centre for scores to be linear
SMALL = 2.0**-600  # scales rows whose distances leave the range of float64


class MultivariateParameters(Parameters):
    """Means, and triangular matrices A with A Σ Aᵀ = I.

    packed : (C or 1, size) float64, the matrices A in the kernels' layout.
    log_det : (C or 1,) log |Σ|, in nats.
    amounts : (C or 1,) the amount of shrinkage of each covariance.
    """

    def __init__(
        self, mean: Float64, packed: Float64, log_det: Float64,
        linear: tuple[Float64, Float64] | None, amounts: Float64,
    ) -> None:  # fmt: skip
        self.mean = mean
        self.packed = packed
        self.log_det = log_det
        self.tied = tied = linear is not None
        self._linear = linear or (np.zeros(mean.shape), np.zeros(len(mean)))
        self.amounts = amounts
        classes, d = mean.shape
        self.n_free = classes * d + (1 if tied else classes) * cell_count(d)
        self._marginals: dict[bytes, MultivariateParameters] = {}

    def chunk(self, X: Data, n_classes: int) -> int:
        """Number of rows that are scored at a time."""
        d = X.shape[1]
        if self.linear_scores:
            return max(256, min(8 * SCORED // d, 4 * SCORED // n_classes))
        return max(256, SCORED // max(d, n_classes))

    @cached_property
    def _diagonals(self) -> Float64:
        """The diagonal of each A, (C or 1, d)."""
        return np.array([np.diagonal(A) for A in self.whitening])

    @property
    def whitening(self) -> Float64:
        """The matrices A, (C or 1, d, d)."""
        d = self.mean.shape[1]
        out = np.zeros((len(self.packed), d, d))
        for packed, A in zip(self.packed, out, strict=True):
            kernel.unpack(packed, A)
        return out

    @cached_property
    def covariance(self) -> Float64:
        """Σ, (C or 1, d, d)."""
        roots = np.array([np.linalg.inv(A) for A in self.whitening])
        return np.asarray(roots @ roots.transpose(0, 2, 1))

    @cached_property
    def _base(self) -> Float64:
        """The log-density at the mean, (C or 1,)."""
        return -0.5 * (self.mean.shape[1] * LOG_2PI + self.log_det)

    @cached_property
    def centre(self) -> Float64:
        """The centre of linear scores, (d,): the mean of the means."""
        return self.mean.mean(axis=0)

    @cached_property
    def linear_scores(self) -> bool:
        """Whether scores are w · x + b: if tied, and no class is so far off that digits cancel."""
        return self.tied and bool((self._linear[1] > -NEAR).all())

    @cached_property
    def _each(self) -> tuple[Float64, Float64]:
        """The A of each class in the kernel's layout, and the log-density at its mean."""
        if not self.tied:
            return self.packed, self._base
        classes = len(self.mean)
        return np.repeat(self.packed, classes, axis=0), np.repeat(self._base, classes)

    @cached_property
    def _packed_linear(self) -> Float64:
        """The w of a tied model in the kernel's layout."""
        weight = self._linear[0]
        packed = np.empty(-(-len(weight) // TILE) * TILE * weight.shape[1])
        kernel.pack(weight, packed)
        return packed

    def prepare(self, X: Data, workers: Workers) -> None:
        """Compute what `log_prob` needs."""
        _ = self._packed_linear if self.linear_scores else (self._each, self._diagonals)

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Compute log N(x; μ_c, Σ_c); if tied, up to the term that all classes share."""
        rows = shown(X)
        if self.linear_scores:
            bias = self._linear[1]
            kernel.projections(rows, start, stop, self.centre, self._packed_linear, bias, out)
        else:
            packed, base = self._each
            out[:] = 0.0
            kernel.add_distances(rows, start, stop, self.mean, packed, 0, X.shape[1], out)
            out *= -0.5
            out += base[:, np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):
            is_finite = math.isfinite(out.sum())
        if not is_finite:
            self._mend(X[start:stop], start, out)

    @property
    def leaves_out(self) -> bool:  # type: ignore[override]
        """Whether skipping classes saves time: with many features, and not tied."""
        return not self.tied and self.mean.shape[1] >= WIDE

    def leading(
        self, X: Data, start: int, stop: int, before: Float64, margin: float, out: Float64
    ) -> None:
        """As the base class."""
        rows = X[start:stop]
        skips = self.leaves_out and margin < np.inf
        if skips:
            with np.errstate(over="ignore", invalid="ignore"):
                skips = math.isfinite(rows.sum(dtype=np.float64))
        if not skips:
            super().leading(X, start, stop, before, margin, out)
            return
        before = np.broadcast_to(before, out.shape)
        normals = self.mean, self.packed, self._base, self._diagonals
        best = near_scores(rows, *normals, before, margin, out)
        far = np.flatnonzero(~np.isfinite(best))  # beyond the range of float64
        if len(far):
            recomputed = np.empty((len(out), len(far)))
            super().leading(rows[far], 0, len(far), before[:, far], margin, recomputed)
            out[:, far] = recomputed

    def _mend(self, X: npt.NDArray[Any], start: int, out: Float64) -> None:
        """Score the rows that have missing values or leave the range of float64."""
        affected = np.flatnonzero(~np.isfinite(out).all(axis=0))
        if len(affected) == 0:
            return
        rows = X[affected].astype(np.float64)
        infinite = np.isinf(rows)
        if infinite.any():
            row, column = np.argwhere(infinite)[0]
            raise_infinite((start + affected[row]) * X.shape[1] + column, X.shape[1])
        missing = np.isnan(rows)
        for pattern, members in _patterns(missing):
            if not pattern.any():
                out[:, affected[members]] = self._far(rows[members], out[:, affected[members]])
            elif pattern.all():
                out[:, affected[members]] = 0.0
            else:
                scores = np.empty((len(out), len(members)))
                values = rows[members][:, ~pattern]
                self.marginal(~pattern).log_prob(values, 0, len(values), scores)
                out[:, affected[members]] = scores

    def _far(self, X: Float64, scores: Float64) -> Float64:
        """Score rows so far from a class that the score leaves the range of float64.

        If every class is so far, the nearest one gets the lowest float and the others -inf.
        """
        nearness = np.empty(scores.shape)  # contiguous, as scores need not be
        overflowed = np.asarray(~np.isfinite(scores).any(axis=0))
        if self.linear_scores:
            overflowed[:] = True
            zeros, centre = np.zeros(len(scores)), self.centre * SMALL
            kernel.projections(
                shown(X * SMALL), 0, len(X), centre, self._packed_linear, zeros, nearness
            )
        else:
            size = np.maximum(abs(X).max(axis=1), abs(self.mean).max())[:, np.newaxis]
            for code, mean in enumerate(self.mean):
                A = self.whitening[0 if self.tied else code]
                z = abs(np.einsum("kf,rf->rk", A, X / size - mean / size))
                largest = np.maximum(z.max(axis=1), SMALLEST)
                squares = ((z.T / largest) ** 2).sum(axis=0)
                with np.errstate(divide="ignore"):
                    nearness[code] = -np.log(largest) - 0.5 * np.log(squares)
        out = np.where(np.isfinite(scores) & ~overflowed, scores, -np.inf)
        rows = np.flatnonzero(overflowed)
        out[nearness[:, rows].argmax(axis=0), rows] = -LARGEST
        return out

    def marginal(self, observed: npt.NDArray[np.bool_]) -> MultivariateParameters:
        """Return the distribution of the observed features, (d,) bool: N(μ_o, Σ_oo)."""
        key = observed.tobytes()
        if (marginal := self._marginals.get(key)) is None:
            features = np.flatnonzero(observed)
            packed = np.empty((len(self.packed), kernel.packed_size(len(features))))
            log_det = np.empty(len(packed))
            for k, sigma in enumerate(self.covariance):
                A, log_det[k] = whiten(sigma[np.ix_(features, features)])
                kernel.pack(A, packed[k])
            if len(self._marginals) >= PATTERNS:
                self._marginals.clear()
            mean = self.mean[:, features]
            linear = linear_form(A, mean) if self.tied else None
            marginal = MultivariateParameters(mean, packed, log_det, linear, self.amounts)
            self._marginals[key] = marginal
        return marginal

    def _by_pattern(self, X: npt.NDArray[Any]) -> Any:
        """Yield (rows, observed features, their distribution, their values) of each pattern."""
        rows = X.astype(np.float64)
        for pattern, members in _patterns(np.isnan(rows)):
            if not pattern.all():
                features = np.flatnonzero(~pattern)
                marginal = self.marginal(~pattern) if pattern.any() else self
                yield members, features, marginal, rows[members][:, features]

    def log_base(self, X: npt.NDArray[Any]) -> Float64:
        """Compute the term that linear scores omit: log N(x; centre, Σ)."""
        out = np.zeros(len(X))
        if self.tied:
            for members, _, marginal, x in self._by_pattern(X):
                if marginal.linear_scores:
                    distances = np.zeros((1, len(x)))
                    centre = marginal.centre[np.newaxis]
                    kernel.add_distances(
                        shown(x), 0, len(x), centre, marginal.packed, 0, x.shape[1], distances
                    )
                    distances[np.isnan(distances)] = np.inf
                    out[members] = marginal._base[0] - 0.5 * distances[0]
        return out

    def contributions(self, X: npt.NDArray[Any]) -> Float64:
        """Compute log p(x_k | x_1 ... x_{k-1}, c) of each feature k in order, (n, C, d).

        If scores are linear: w_ck (x_k - (μ_ck + centre_k) / 2).
        """
        out = np.zeros((len(X), *self.mean.shape))
        for members, features, marginal, x in self._by_pattern(X):
            with np.errstate(over="ignore", invalid="ignore"):
                if marginal.linear_scores:
                    half_way = 0.5 * (marginal.mean - marginal.centre)
                    centred = x[:, np.newaxis, :] - marginal.centre - half_way
                    terms = centred * marginal._linear[0]
                else:
                    A = np.broadcast_to(marginal.whitening, (*marginal.mean.shape, len(features)))
                    z = np.einsum("ckf,rcf->rck", A, x[:, np.newaxis, :] - marginal.mean)
                    z[np.isnan(z)] = np.inf
                    scale = np.log(np.diagonal(A, axis1=1, axis2=2))
                    terms = scale - 0.5 * (LOG_2PI + z**2)
            out[np.ix_(members, np.arange(len(self.mean)), features)] = terms
        return out

    def alone(self, X: npt.NDArray[Any]) -> Float64:
        """Compute log N(x_α; μ_αc, Σ_ααc) of each feature; 0 where it is missing."""
        variance = np.diagonal(self.covariance, axis1=1, axis2=2)
        x = X.astype(np.float64)[:, np.newaxis, :]
        terms = -0.5 * (LOG_2PI + np.log(variance) + (x - self.mean) ** 2 / variance)
        return np.where(np.isnan(x), 0.0, terms)

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Draw rows of jointly normal values."""
        out = np.empty((len(codes), self.mean.shape[1]))
        whitening = self.whitening
        for code in np.unique(codes):
            members = np.flatnonzero(codes == code)
            A = whitening[0 if self.tied else code]
            noise = generator.standard_normal((len(members), A.shape[1]))
            out[members] = self.mean[code] + np.linalg.solve(A, noise.T).T
        return out

    def linear(self) -> tuple[Float64, Float64]:
        """Return W_c = Σ⁻¹ μ_c up to a shared vector (lecture 2: linear if Σ_1 = Σ_0), and b."""
        if not self.tied:
            raise ValueError(
                "the log-odds are quadratic in x, because each class has a covariance of its own; "
                "with a tied covariance they are linear. `to_quadratic` has their coefficients"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            weight, bias = self._linear
            bias = bias - weight @ self.centre
        if np.isfinite(weight).all() and np.isfinite(bias).all():
            return weight, bias
        raise ValueError("the weights are beyond float64: the means are too many deviations apart")

    def numbers(self) -> ClassNumbers:
        """Return means and standard deviations."""
        variance = np.diagonal(self.covariance, axis1=1, axis2=2)
        deviation = np.broadcast_to(np.sqrt(variance), self.mean.shape)
        meaning = "mean ± standard deviation, with all covariances"
        values = {"mean": self.mean, "sd": deviation}
        return ClassNumbers(meaning, " ± ", values)

    def listed(self) -> list[Listed]:
        """List means, standard deviations, and the covariance of each pair of features."""
        first, other = np.triu_indices(self.mean.shape[1])
        cells = self.covariance[:, first, other]
        values = np.broadcast_to(cells, (len(self.mean), len(first)))
        return [*super().listed(), Listed("covariance", first, None, values, other)]

    def normal(self) -> tuple[Float64, Float64]:
        """Return means, (C, d), and covariances, (C, d, d)."""
        return self.mean, np.broadcast_to(self.covariance, (*self.mean.shape, self.mean.shape[1]))

    def quadratic(self) -> tuple[Float64, Float64, Float64]:
        """(Q, w, b) with log N(x; μ_c, Σ_c) = xᵀ Q_c x + w_c · x + b_c; (C, d, d), (C, d), (C,)."""
        A = np.broadcast_to(self.whitening, (*self.mean.shape, self.mean.shape[1]))
        precision = A.transpose(0, 2, 1) @ A
        weight = np.einsum("cij,cj->ci", precision, self.mean)
        return -0.5 * precision, weight, self._base - 0.5 * (weight * self.mean).sum(axis=1)


def linear_form(A: Float64, mean: Float64) -> tuple[Float64, Float64]:
    """Return (w, b) of a tied model for x - m, (C, d) and (C,): w = Σ⁻¹ (μ_c - m), m the mean μ."""
    with np.errstate(over="ignore", invalid="ignore"):
        whitened = (mean - mean.mean(axis=0)) @ A.T
        return whitened @ A, -0.5 * (whitened**2).sum(axis=1)


def _patterns(missing: npt.NDArray[np.bool_]) -> list[tuple[npt.NDArray[np.bool_], Int64]]:
    """Return (missing features, rows) of each pattern of missing values."""
    packed = np.packbits(missing, axis=1)
    _, first, pattern = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(pattern.ravel(), kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(pattern.ravel()))[:-1])
    return [(missing[row], rows) for row, rows in zip(first, groups, strict=True)]


# ---- multivariate --------------------------------------------------------------------------------


@dataclass(frozen=True)
class MultivariateGaussian(Family[ProductStatistics, MultivariateParameters]):
    """Normal rows: each class has a mean vector and a covariance matrix.

    Lecture 2, "Gaussian Bayes classifier": P(X = x | Y = y) = N(x; μ_y, Σ_y), whose boundaries are
    quadratic; linear if the classes share one Σ. The estimates are those of maximum likelihood
    (`ddof=0`) or unbiased. In prediction, missing values are marginalised: the density is that of
    the other features. In training, each pair of features is averaged over the rows that have both.

    Parameters
    ----------
    tied : bool
        Whether the classes share one covariance.
    shrinkage : None, float in [0, 1], "auto" or "oas"
        The amount of shrinkage towards (tr Σ / d) I; "auto" (Ledoit & Wolf) and "oas" choose it
        for the correlations: see `naively.families.multivariate.covariance.shrink`.
    ddof : 0 or 1
        0 divides by n, 1 by n - 1, or, if tied, by n - C.
    alpha : float
        Virtual rows of each class, of independent features with the mean and variance of all
        classes together: MAP estimates, see `naively.families.multivariate.covariance.VirtualRows`.
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
        """Sum products of features, by class, or of all classes if they share one covariance."""
        return Products(self.tied)

    @property
    def in_turn(self) -> bool:
        """Whether the contribution of a column is conditional on the columns before it."""
        return not self.tied

    def estimate(
        self, statistics: ProductStatistics, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> MultivariateParameters:
        """Estimate means, and covariances rounded once from exact sums, then shrunk.

        A class without a value of a feature takes the mean and variance of all classes for it; a
        pair of features that no row has both of has covariance 0.

        Raises SingularCovarianceError for a covariance that is not positive definite.
        """
        classes, d = statistics.tables["sum"].shape
        sums = [ClassSums(statistics, class_weight, code) for code in range(classes)]
        total = statistics.moments(class_weight).pooled()
        total_mean, total_variance = total.mean()[0], total.variance(0)[0]
        mean = np.empty((classes, d))
        has_values = np.empty((classes, d), bool)
        for code, class_sums in enumerate(sums):
            mean[code], has_values[code] = class_sums.mean()
        centres = mean.copy()
        mean = np.where(has_values, mean, total_mean)
        virtual = None
        if self.alpha > 0:
            pairs = [np.broadcast_to(class_sums.freedom(0), (d, d)) for class_sums in sums]
            n = np.array([weight.diagonal() for weight in pairs])
            virtual = VirtualRows(self.alpha, n, mean, total_mean, total_variance)
            mean = virtual.means()
        groups = [list(range(classes))] if self.tied else [[code] for code in range(classes)]
        matrix = np.empty((d, d))
        packed = np.empty((len(groups), kernel.packed_size(d)))
        log_det, amounts = np.empty(len(groups)), np.empty(len(groups))
        for k, group in enumerate(groups):
            products = statistics.tables["product"].gather(0, k)
            group_sums = [sums[code] for code in group]
            freedom = covariance(products, group_sums, centres[group], self.ddof, matrix, workers)
            unknown = np.flatnonzero(~has_values[group].any(axis=0))
            matrix[unknown, unknown] = total_variance[unknown]
            if virtual is not None:
                freedom = virtual.add_covariance(matrix, group, freedom)
            amounts[k] = shrink(matrix, self.shrinkage, freedom, total_variance)
            try:
                A, log_det[k] = whiten(matrix)
            except SingularCovarianceError as error:
                error.code, of_feature = None if self.tied else k, error.problem != COMBINATION
                if not has_values[:, error.feature].any():
                    error.problem = "has no values"
                elif any(len(class_sums.sums) > 1 for class_sums in group_sums):
                    error.problem += ", by the rows in which its values are not missing"
                if is_few := freedom + self.ddof * len(group) < d + len(group):
                    needs = f"{d} features need at least {d + len(group)} rows"
                    error.cause = f"{error.cause}; {needs}" if of_feature else needs
                error.advice = self._advice(of_feature or not is_few)
                raise
            kernel.pack(A, packed[k])
        linear = linear_form(A, mean) if self.tied else None
        return MultivariateParameters(mean, packed, log_det, linear, amounts)

    estimate_on = estimate

    def _advice(self, of_feature: bool) -> str:
        """Advise how to avoid a singular covariance, which one feature may cause."""
        simpler = (
            "variances alone (diagonal)" if self.tied
            else "one covariance for all (tied), or variances alone (diagonal)"
        )  # fmt: skip
        shrinking = 'shrink it (shrinkage="auto", or a number as 0.1), ' * (not self.shrinkage)
        without = "leave the feature out, " * of_feature
        return f"Train on more rows, {without}{shrinking}or give the classes {simpler}"
