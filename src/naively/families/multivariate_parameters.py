"""What rows with a covariance score: N(x; μ_c, Σ_c), of all features or of those that are there."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import LARGEST, SMALLEST, Float64, Int64
from naively.families.base import SCORED, Parameters
from naively.families.covariance import whiten
from naively.families.describing import ClassNumbers, Listed
from naively.families.near_classes import LOG_2PI, near_scores
from naively.kernels import distances
from naively.kernels.sizes import TILE
from naively.statistics.base import Data, raise_infinite, shown
from naively.statistics.product_sums import cell_count
from naively.workers import Workers

PATTERNS = 64  # of missing values, whose densities are kept
WIDE = 64  # features from which it pays to leave classes out early
NEAR = 2.0**19  # nats that a class may be from the centre for scores to be linear
SMALL = 2.0**-600  # by which rows are scaled whose distances leave the range of float64


class MultivariateParameters(Parameters):
    """Means, and triangular matrices A with A Σ Aᵀ = I.

    Attributes
    ----------
    mean : (C, d) float64
    packed : (C or 1, size) float64, the matrices A as the kernels read them.
    log_det : (C or 1,) log |Σ|, in nats.
    tied : bool, whether there is one A for all classes.
    amounts : (C or 1,) how far each covariance was shrunk.
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
        """How many rows to score at a time."""
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
        rows = shown(X)
        if self.linear_scores:
            bias = self._linear[1]
            distances.projections(rows, start, stop, self.centre, self._packed_linear, bias, out)
        else:
            packed, base = self._each
            out[:] = 0.0
            distances.add_distances(rows, start, stop, self.mean, packed, 0, X.shape[1], out)
            out *= -0.5
            out += base[:, np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):
            fine = math.isfinite(out.sum())
        if not fine:
            self._mend(X[start:stop], start, out)

    @property
    def leaves_out(self) -> bool:  # type: ignore[override]
        """Whether it pays to leave out classes."""
        return not self.tied and self.mean.shape[1] >= WIDE

    def leading(
        self, X: Data, start: int, stop: int, before: Float64, margin: float, out: Float64
    ) -> None:
        """As the base class."""
        rows = X[start:stop]
        fine = self.leaves_out and margin < np.inf
        if fine:
            with np.errstate(over="ignore", invalid="ignore"):
                fine = math.isfinite(rows.sum(dtype=np.float64))
        if not fine:
            super().leading(X, start, stop, before, margin, out)
            return
        before = np.broadcast_to(before, out.shape)
        normals = self.mean, self.packed, self._base, self._diagonals
        best = near_scores(rows, *normals, before, margin, out)
        lost = np.flatnonzero(~np.isfinite(best))  # beyond the range of float64
        if len(lost):
            mended = np.empty((len(out), len(lost)))
            super().leading(rows[lost], 0, len(lost), before[:, lost], margin, mended)
            out[:, lost] = mended

    def _mend(self, X: npt.NDArray[Any], start: int, out: Float64) -> None:
        """Score the rows that have missing values or leave the range of float64."""
        odd = np.flatnonzero(~np.isfinite(out).all(axis=0))
        if len(odd) == 0:
            return
        rows = X[odd].astype(np.float64)
        infinite = np.isinf(rows)
        if infinite.any():
            row, column = np.argwhere(infinite)[0]
            raise_infinite((start + odd[row]) * X.shape[1] + column, X.shape[1])
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
        nearness = np.empty(scores.shape)  # contiguous, as scores need not be
        lost = np.asarray(~np.isfinite(scores).any(axis=0))
        if self.linear_scores:
            lost[:] = True
            none, centre = np.zeros(len(scores)), self.centre * SMALL
            distances.projections(
                shown(X * SMALL), 0, len(X), centre, self._packed_linear, none, nearness
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
        out = np.where(np.isfinite(scores) & ~lost, scores, -np.inf)
        rows = np.flatnonzero(lost)
        out[nearness[:, rows].argmax(axis=0), rows] = -LARGEST
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
            mean = self.mean[:, kept]
            linear = linear_form(A, mean) if self.tied else None
            found = MultivariateParameters(mean, packed, log_det, linear, self.amounts)
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
                    distances.add_distances(
                        shown(x), 0, len(x), centre, one.packed, 0, x.shape[1], size
                    )
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

    def numbers(self) -> ClassNumbers:
        """Means and standard deviations."""
        variance = np.diagonal(self.covariance, axis1=1, axis2=2)
        deviation = np.broadcast_to(np.sqrt(variance), self.mean.shape)
        meaning = "mean ± standard deviation, with all covariances"
        values = {"mean": self.mean, "sd": deviation}
        return ClassNumbers(meaning, " ± ", values)

    def listed(self) -> list[Listed]:
        """Means, standard deviations, and the covariance of each two features."""
        first, other = np.triu_indices(self.mean.shape[1])
        cells = self.covariance[:, first, other]
        values = np.broadcast_to(cells, (len(self.mean), len(first)))
        return [*super().listed(), Listed("covariance", first, None, values, other)]

    def normal(self) -> tuple[Float64, Float64]:
        """Means, (C, d), and covariances, (C, d, d)."""
        return self.mean, np.broadcast_to(self.covariance, (*self.mean.shape, self.mean.shape[1]))

    def quadratic(self) -> tuple[Float64, Float64, Float64]:
        """(Q, w, b) with log N(x; μ_c, Σ_c) = xᵀ Q_c x + w_c · x + b_c; (C, d, d), (C, d), (C,)."""
        A = np.broadcast_to(self.whitening, (*self.mean.shape, self.mean.shape[1]))
        precision = A.transpose(0, 2, 1) @ A
        weight = np.einsum("cij,cj->ci", precision, self.mean)
        return -0.5 * precision, weight, self._base - 0.5 * (weight * self.mean).sum(axis=1)


def linear_form(A: Float64, mean: Float64) -> tuple[Float64, Float64]:
    """(w, b) of a tied model, (C, d) and (C,), for x - m: w = Σ⁻¹ (μ_c - m), m the mean mean."""
    with np.errstate(over="ignore", invalid="ignore"):
        away = (mean - mean.mean(axis=0)) @ A.T
        return away @ A, -0.5 * (away**2).sum(axis=1)


def _patterns(missing: npt.NDArray[np.bool_]) -> list[tuple[npt.NDArray[np.bool_], Int64]]:
    """(which features are missing, the rows of which) for each pattern."""
    packed = np.packbits(missing, axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(which.ravel()))[:-1])
    return [(missing[at], rows) for at, rows in zip(first, groups, strict=True)]
