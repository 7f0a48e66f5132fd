"""Real features together: p(x | y = c) = N(x; μ_c, Σ_c), with a whole covariance matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Float64, Int64
from naively.families.base import (
    SCORED,
    Batch,
    Data,
    Family,
    InvalidValueError,
    Parameters,
    SingularCovarianceError,
)
from naively.families.covariance import (
    ClassSums,
    MultivariateStatistics,
    Shrinkage,
    covariance,
    shrink,
    whiten,
)
from naively.families.gaussian import SMALLEST
from naively.families.products import cell_count, sum_products
from naively.families.sums import sum_powers
from naively.kernels import distances
from naively.kernels.simd import TILE
from naively.workers import Serial, Workers

LOG_2PI = math.log(2.0 * math.pi)
LOWEST = -float(np.finfo(np.float64).max)
PATTERNS = 64  # of missing values, whose densities are kept
WIDE = 64  # features from which it pays to leave classes out early
NEAR = 2.0**19  # nats that a class may be from the centre for scores to be linear
SMALL = 2.0**-600  # by which rows are scaled whose distances leave the range of float64


@dataclass(frozen=True)
class MultivariateGaussian(Family):
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
        the amount for the correlations: see `naively.families.covariance.shrink`.
    ddof : 0 or 1
        0 divides by n, 1 by n - 1, or, if tied, by n - C.
    """

    tied: bool = False
    shrinkage: Shrinkage = None
    ddof: int = 0

    name = "multivariate"
    may_be_singular = True

    def __post_init__(self) -> None:
        check_shrinkage(self.shrinkage)
        if self.ddof not in (0, 1):
            raise ValueError(f"ddof must be 0 or 1, not {self.ddof!r}")

    def adds_to(self, other: Family) -> bool:
        """Whether statistics of the two mean the same: those of a tied covariance are pooled."""
        return isinstance(other, MultivariateGaussian) and self.tied == other.tied

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> MultivariateStatistics:
        """Σw, Σwx and Σwxxᵀ, exactly."""
        tables = dict(sum_powers(X, batch, workers).tables)
        missing = bool(tables["missing"].nonzero().any())
        tables |= sum_products(X, batch, workers, pooled=self.tied, missing=missing)
        return MultivariateStatistics(tables, self.tied)

    def empty(self, n_classes: int, n_features: int) -> MultivariateStatistics:
        """The statistics of no rows."""
        statistics = MultivariateStatistics({}, self.tied)
        shapes = statistics.shapes(n_classes, n_features)
        statistics.tables = {name: ExactArray.zeros(shape) for name, shape in shapes.items()}
        return statistics

    def estimate(
        self, statistics: MultivariateStatistics, class_weight: ExactArray
    ) -> MultivariateParameters:
        """As `estimate_on`, by one worker."""
        return self.estimate_on(statistics, class_weight, Serial())

    def estimate_on(
        self, statistics: MultivariateStatistics, class_weight: ExactArray, workers: Workers
    ) -> MultivariateParameters:
        """Means, and covariances rounded once from exact sums, then shrunk.

        A class without a value of a feature takes the mean and variance of all classes there; a
        pair of features that no row has both of has covariance 0.

        Raises
        ------
        SingularCovarianceError : for a covariance without a density.
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
        groups = [list(range(classes))] if self.tied else [[code] for code in range(classes)]
        found = np.empty((d, d))
        packed = np.empty((len(groups), distances.packed_size(d)))
        log_det, amounts = np.empty(len(groups)), np.empty(len(groups))
        for k, group in enumerate(groups):
            products = statistics.tables["product"].taken(0, k)
            own = [sums[code] for code in group]
            freedom = covariance(products, own, near[group], self.ddof, found, workers)
            unknown = np.flatnonzero(~known[group].any(axis=0))
            found[unknown, unknown] = total_variance[unknown]
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
        return MultivariateParameters(mean, packed, log_det, self.tied, amounts)

    def _advice(self) -> str:
        """What to do about a covariance without a density."""
        less = "variances alone (diagonal)" if self.tied else "one covariance for all, or variances"
        shrunk = 'shrink it (shrinkage="auto", or a number as 0.1), ' if not self.shrinkage else ""
        return f"Learn more rows, leave the feature out, {shrunk}or give the classes {less}"


class MultivariateParameters(Parameters):
    """Means, and triangular matrices A with A Σ Aᵀ = I.

    Attributes
    ----------
    mean : (C, d) float64
    packed : (C or 1, size) float64, the matrices A as the kernels read them.
    log_det : (C or 1,) log |Σ|, in nats.
    tied : bool
    amounts : (C or 1,) how far each covariance was shrunk.
    """

    def __init__(
        self, mean: Float64, packed: Float64, log_det: Float64, tied: bool, amounts: Float64
    ) -> None:
        self.mean = mean
        self.packed = packed
        self.log_det = log_det
        self.tied = tied
        self.amounts = amounts
        classes, d = mean.shape
        self.n_free = classes * d + (1 if tied else classes) * cell_count(d)
        self._marginals: dict[bytes, MultivariateParameters] = {}

    def chunk(self, X: Data, n_classes: int) -> int:
        """How many rows to score at a time."""
        return max(256, SCORED // max(1, n_classes, X.shape[1]))

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
            distances.unpack(packed, A)
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
        """The point about which linear scores are computed, (d,): the mean of the means."""
        return self.mean.mean(axis=0)

    @cached_property
    def _linear(self) -> tuple[Float64, Float64]:
        """(w, b) of a tied model, (C, d) and (C,), for x - centre: w = Σ⁻¹ (μ_c - centre)."""
        A = self.whitening[0]
        with np.errstate(over="ignore", invalid="ignore"):
            away = (self.mean - self.centre) @ A.T
            return away @ A, -0.5 * (away**2).sum(axis=1)

    @cached_property
    def linear_scores(self) -> bool:
        """Whether scores are w · x + b: if tied, and no class so far off that digits cancel."""
        return self.tied and bool((self._linear[1] > -NEAR).all())

    @cached_property
    def _each(self) -> tuple[Float64, Float64]:
        """The A of each class as the kernel reads them, and the log-density at its mean."""
        if not self.tied:
            return self.packed, self._base
        classes = len(self.mean)
        return np.repeat(self.packed, classes, axis=0), np.repeat(self._base, classes)

    @cached_property
    def _packed_linear(self) -> Float64:
        """The w of a tied model as the kernel reads them."""
        weight = self._linear[0]
        packed = np.empty(-(-len(weight) // TILE) * TILE * weight.shape[1])
        distances.pack(weight, packed)
        return packed

    def prepare(self, X: Data, workers: Workers) -> None:
        """Compute what `log_prob` needs."""
        _ = self._packed_linear if self.linear_scores else (self._each, self._diagonals)

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """log N(x; μ_c, Σ_c); of a tied covariance, up to the term that all classes share."""
        if self.linear_scores:
            bias = self._linear[1]
            distances.projections(X, start, stop, self.centre, self._packed_linear, bias, out)
        else:
            packed, base = self._each
            out[:] = 0.0
            distances.add_distances(X, start, stop, self.mean, packed, 0, X.shape[1], out)
            out *= -0.5
            out += base[:, np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):
            fine = math.isfinite(out.sum())
        if not fine:
            self._mend(X[start:stop], start, out)

    def leading(
        self, X: Data, start: int, stop: int, log_prior: Float64, margin: float, out: Float64
    ) -> None:
        """log π_c + log p(x | c), or -inf if more than `margin` nats below the best class.

        A distance only grows with the features. So the first of them are scored in every class,
        the likeliest class to its end, and the others as long as they can come near it.
        """
        rows = X[start:stop]
        d = rows.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            fine = math.isfinite(rows.sum(dtype=np.float64))
        if self.tied or d < WIDE or not fine:
            super().leading(X, start, stop, log_prior, margin, out)
            return
        top = (self._base + log_prior)[:, np.newaxis]
        first, *later = [d // 4 // TILE * TILE, d // 2 // TILE * TILE, d]
        out[:] = 0.0
        distances.add_distances(X, start, stop, self.mean, self.packed, 0, first, out)
        guess = (self._scale_so_far(first) + log_prior)[:, np.newaxis] - 0.5 * out
        likeliest = guess.argmax(axis=0)
        best = np.full(len(rows), -np.inf)
        for code in range(len(out)):
            own = np.flatnonzero(likeliest == code)
            self._go_on(rows, own, code, first, d, out)
            best[own] = top[code] - 0.5 * out[code, own]
        for code in range(len(out)):
            others = np.flatnonzero(likeliest != code)
            done = first
            for end in later:
                near = top[code] - 0.5 * out[code, others] >= _less(best[others], margin)
                out[code, others[~near]] = np.inf
                others = others[near]
                self._go_on(rows, others, code, done, end, out)
                done = end
            best[others] = np.maximum(best[others], top[code] - 0.5 * out[code, others])
        out *= -0.5
        out += self._base[:, np.newaxis]
        out += log_prior[:, np.newaxis]
        lost = np.flatnonzero(~np.isfinite(best))  # beyond the range of float64
        if len(lost):
            mended = np.empty((len(out), len(lost)))
            super().leading(rows[lost], 0, len(lost), log_prior, margin, mended)
            out[:, lost] = mended

    def _scale_so_far(self, features: int) -> Float64:
        """The log-density of the first features at their mean, (C,)."""
        scale = np.log(self._diagonals[:, :features]).sum(axis=1)
        return scale - 0.5 * features * LOG_2PI

    def _go_on(
        self, rows: npt.NDArray[Any], which: Int64, code: int, first: int, last: int, out: Float64
    ) -> None:
        """Add the distances of some rows from one class over rows first:last of its A."""
        if len(which):
            one = slice(code, code + 1)
            part = out[one, which]
            distances.add_distances(
                rows[which], 0, len(which), self.mean[one], self.packed[one], first, last, part
            )
            out[code, which] = part[0]

    def _mend(self, X: npt.NDArray[Any], start: int, out: Float64) -> None:
        """Score the rows that have missing values or leave the range of float64."""
        odd = np.flatnonzero(~np.isfinite(out).all(axis=0))
        if len(odd) == 0:
            return
        rows = X[odd].astype(np.float64)
        infinite = np.isinf(rows)
        if infinite.any():
            row, column = np.argwhere(infinite)[0]
            raise InvalidValueError(
                start + odd[row], column, "Input X contains infinity: {where} is infinite"
            )
        missing = np.isnan(rows)
        for pattern, members in _patterns(missing):
            if not pattern.any():
                out[:, odd[members]] = self._far(rows[members], out[:, odd[members]])
            elif pattern.all():
                out[:, odd[members]] = 0.0
            else:
                own = np.empty((len(out), len(members)))
                part = rows[members][:, ~pattern]
                self.marginal(~pattern).log_prob(part, 0, len(part), own)
                out[:, odd[members]] = own

    def _far(self, X: Float64, scores: Float64) -> Float64:
        """Scores of rows so far from a class that they leave the range of float64.

        If they are so far from every class, only the order is left: the nearest one wins.
        """
        nearness = np.empty_like(scores)
        lost = np.asarray(~np.isfinite(scores).any(axis=0))
        if self.linear_scores:
            lost[:] = True
            none, centre = np.zeros(len(scores)), self.centre * SMALL
            distances.projections(X * SMALL, 0, len(X), centre, self._packed_linear, none, nearness)
        else:
            size = np.maximum(abs(X).max(axis=1), abs(self.mean).max())[:, np.newaxis]
            for code, mean in enumerate(self.mean):
                A = self.whitening[0 if self.tied else code]
                z = abs(np.einsum("kf,rf->rk", A, X / size - mean / size))
                largest = np.maximum(z.max(axis=1), SMALLEST)
                squares = ((z.T / largest) ** 2).sum(axis=0)
                with np.errstate(divide="ignore"):
                    nearness[code] = -np.log(largest) - 0.5 * np.log(squares)
        out = np.where(np.isfinite(scores) & ~lost, scores, -np.inf)
        rows = np.flatnonzero(lost)
        out[nearness[:, rows].argmax(axis=0), rows] = LOWEST
        return out

    def marginal(self, observed: npt.NDArray[np.bool_]) -> MultivariateParameters:
        """The distribution of some of the features, (d,) bool: N(μ_o, Σ_oo)."""
        key = observed.tobytes()
        found = self._marginals.get(key)
        if found is None:
            kept = np.flatnonzero(observed)
            packed = np.empty((len(self.packed), distances.packed_size(len(kept))))
            log_det = np.empty(len(packed))
            for k, sigma in enumerate(self.covariance):
                A, log_det[k] = whiten(sigma[np.ix_(kept, kept)])
                distances.pack(A, packed[k])
            if len(self._marginals) >= PATTERNS:
                self._marginals.clear()
            found = MultivariateParameters(
                self.mean[:, kept], packed, log_det, self.tied, self.amounts
            )
            self._marginals[key] = found
        return found

    def _by_pattern(self, X: npt.NDArray[Any]) -> Any:
        """(rows, observed features, their distribution, their values) for each pattern."""
        rows = X.astype(np.float64)
        for pattern, members in _patterns(np.isnan(rows)):
            if not pattern.all():
                kept = np.flatnonzero(~pattern)
                one = self.marginal(~pattern) if pattern.any() else self
                yield members, kept, one, rows[members][:, kept]

    def log_base(self, X: npt.NDArray[Any]) -> Float64:
        """What linear scores leave out: log N(x; centre, Σ)."""
        out = np.zeros(len(X))
        if self.tied:
            for members, _, one, x in self._by_pattern(X):
                if one.linear_scores:
                    size = np.zeros((1, len(x)))
                    centre = one.centre[np.newaxis]
                    distances.add_distances(x, 0, len(x), centre, one.packed, 0, x.shape[1], size)
                    size[np.isnan(size)] = np.inf
                    out[members] = one._base[0] - 0.5 * size[0]
        return out

    def contributions(self, X: npt.NDArray[Any]) -> Float64:
        """What each feature adds, (n, C, d): log p(x_k | x_1 ... x_{k-1}, c), in their order.

        Where scores are linear: w_ck (x_k - (μ_ck + centre_k) / 2).
        """
        out = np.zeros((len(X), *self.mean.shape))
        for members, kept, one, x in self._by_pattern(X):
            with np.errstate(over="ignore", invalid="ignore"):
                if one.linear_scores:
                    away = x[:, np.newaxis, :] - one.centre - 0.5 * (one.mean - one.centre)
                    terms = away * one._linear[0]
                else:
                    A = np.broadcast_to(one.whitening, (*one.mean.shape, len(kept)))
                    z = np.einsum("ckf,rcf->rck", A, x[:, np.newaxis, :] - one.mean)
                    z[np.isnan(z)] = np.inf
                    scale = np.log(np.diagonal(A, axis1=1, axis2=2))
                    terms = scale - 0.5 * (LOG_2PI + z**2)
            out[np.ix_(members, np.arange(len(self.mean)), kept)] = terms
        return out

    def alone(self, X: npt.NDArray[Any]) -> Float64:
        """log N(x_α; μ_αc, Σ_ααc) of each feature; 0 where it is missing."""
        variance = np.diagonal(self.covariance, axis1=1, axis2=2)
        x = X.astype(np.float64)[:, np.newaxis, :]
        terms = -0.5 * (LOG_2PI + np.log(variance) + (x - self.mean) ** 2 / variance)
        return np.where(np.isnan(x), 0.0, terms)

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Rows of jointly normal values."""
        out = np.empty((len(codes), self.mean.shape[1]))
        whitening = self.whitening
        for code in np.unique(codes):
            members = np.flatnonzero(codes == code)
            A = whitening[0 if self.tied else code]
            noise = generator.standard_normal((len(members), A.shape[1]))
            out[members] = self.mean[code] + np.linalg.solve(A, noise.T).T
        return out

    def linear(self) -> tuple[Float64, Float64]:
        """W_c = Σ⁻¹ μ_c up to a vector that all classes share (lecture 2: linear if Σ_1 = Σ_0)."""
        if not self.tied:
            raise ValueError(
                "the log-odds are quadratic in x, because each class has a covariance of its own; "
                "with a tied covariance they are linear. `to_quadratic` has their coefficients"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            weight, bias = self._linear
            bias = bias - weight @ self.centre
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise ValueError(
                "the weights are beyond float64: the means are too many deviations apart"
            )
        return weight, bias

    def quadratic(self) -> tuple[Float64, Float64, Float64]:
        """(Q, w, b) with log N(x; μ_c, Σ_c) = xᵀ Q_c x + w_c · x + b_c; (C, d, d), (C, d), (C,)."""
        A = np.broadcast_to(self.whitening, (*self.mean.shape, self.mean.shape[1]))
        precision = A.transpose(0, 2, 1) @ A
        weight = np.einsum("cij,cj->ci", precision, self.mean)
        return -0.5 * precision, weight, self._base - 0.5 * (weight * self.mean).sum(axis=1)


def _patterns(missing: npt.NDArray[np.bool_]) -> list[tuple[npt.NDArray[np.bool_], Int64]]:
    """(which features are missing, the rows of which) for each pattern."""
    packed = np.packbits(missing, axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(which.ravel()))[:-1])
    return [(missing[at], rows) for at, rows in zip(first, groups, strict=True)]


def _less(best: Float64, margin: float) -> Float64:
    """Scores by a margin below the best, and by more than the rounding of any."""
    return best - margin - 1e-9 * (1.0 + np.abs(best))


def check_shrinkage(shrinkage: Any) -> None:
    """Raise ValueError unless it is one of the amounts that are on offer."""
    if isinstance(shrinkage, str):
        known = shrinkage in ("auto", "oas")
    else:
        number = isinstance(shrinkage, Real) and not isinstance(shrinkage, bool)
        known = shrinkage is None or (number and 0 <= float(shrinkage) <= 1)
    if not known:
        raise ValueError(
            f'shrinkage must be None, a number from 0 to 1, "auto" or "oas", not {shrinkage!r}'
        )
