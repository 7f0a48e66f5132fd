"""The evidence of all numbers together: normal densities with a full or a tied covariance.

Numbers are standardised, a missing one is the mean, and what is far out is drawn in. Each class's
mean counts one row at the mean of all. The tied covariance is shrunk towards its diagonal, that
of a class towards the tied one, which counts as d + 2 rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from naively.evidence.bins import as_numbers
from naively.evidence.entries import PARTS, Entries
from naively.evidence.incomplete import PRESENT
from naively.exact import Float64, Int64
from naively.kernels import distances
from naively.kernels.sizes import TILE
from naively.statistics.base import shown
from naively.statistics.levels import Levels

FARTHEST = 6.0  # standard deviations at which a number is drawn in
LEAST = -60.0  # nats by which a class can be behind the best
RIDGE = 1e-3  # part of the variances that the tied covariance has besides
WIDEST = {"tied": 500, "full": 150}
"""Columns up to which there is such a block."""

Kind = Literal["tied", "full"]


@dataclass(frozen=True)
class Scale:
    """How the numbers of some columns are standardised.

    Attributes
    ----------
    columns : (k,) which.
    centre, spread : (k,) mean and standard deviation.
    """

    columns: Int64
    centre: Float64
    spread: Float64

    @classmethod
    def of(cls, columns: list[int], entries: Entries) -> Self:
        """That of the numbers of some rows."""
        weight = entries.rows_met()
        centre, spread = [], []
        for j in columns:
            known, codes = entries.levels[j], entries.codes[:, j]
            w = np.bincount(codes, weights=weight, minlength=len(known) + 1)[:-1]
            with np.errstate(over="ignore"):
                mean = float((known * (w / w.sum())).sum())
                off = known - mean
                scale = max(float(np.abs(off).max()), 1e-300)
                deviation = scale * float(np.sqrt(((off / scale) ** 2 * (w / w.sum())).sum()))
            centre.append(mean)
            spread.append(deviation)
        return cls(np.array(columns), np.array(centre), np.array(spread))

    def rows(self, codes: npt.NDArray[Any], levels: list[Levels]) -> Float64:
        """Rows of codes as standardised numbers, (n, k)."""
        found = np.empty((len(codes), len(self.columns)))
        for k, (j, centre, spread) in enumerate(
            zip(self.columns, self.centre, self.spread, strict=True)
        ):
            with np.errstate(over="ignore", invalid="ignore"):
                known = (as_numbers(levels[j]) - centre) / (spread if spread > 0 else 1.0)
            known = np.nan_to_num(np.clip(known, -FARTHEST, FARTHEST))
            found[:, k] = np.append(known, 0.0)[codes[:, j]]
        return found


@dataclass(frozen=True)
class Normal:
    """Normal densities of standardised numbers.

    Attributes
    ----------
    scale : Scale
    means : (C, k)
    factors : (C or 1, k, k), the Cholesky factor of each class's covariance.
    """

    scale: Scale
    means: Float64
    factors: Float64

    @property
    def columns(self) -> tuple[int, ...]:
        """Of which these are, in order."""
        return tuple(self.scale.columns.tolist())

    @cached_property
    def whitening(self) -> Float64:
        """(C or 1, k, k), the inverses of the factors."""
        found = np.zeros_like(self.factors)
        for f in range(self.means.shape[1]):  # row after row, by those above it
            row = -np.einsum("cj,cjk->ck", self.factors[:, f, :f], found[:, :f])
            row[:, f] += 1.0
            found[:, f] = row / self.factors[:, f, f, np.newaxis]
        return found

    def among(self, columns: Int64, order: Int64, classes: Int64) -> Normal:
        """The same of other columns, in this order, with its classes in another order."""
        scale = Scale(columns[order], self.scale.centre[order], self.scale.spread[order])
        factors = self.factors if len(self.factors) == 1 else self.factors[classes]
        if (np.diff(order) < 0).any():
            rows = factors[:, order]
            factors = np.linalg.cholesky(rows @ rows.swapaxes(1, 2)).astype(np.float64)
        return Normal(scale, self.means[classes][:, order], factors)

    def present(self, gone: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Whether rows, (n, d) by what is missing, have enough of the numbers."""
        found: npt.NDArray[np.bool_] = gone[:, self.scale.columns].mean(axis=1) <= 1 - PRESENT
        return found

    def slopes(self) -> tuple[Float64, Float64]:
        """(slopes (C, k), base (C,)) of the linear form of a tied covariance."""
        whitening = self.whitening[0]
        weight = self.means @ whitening.T @ whitening
        return weight, -0.5 * (weight * self.means).sum(axis=1)

    def norms(self) -> Float64:
        """(C,) of densities with a covariance a class."""
        return -np.log(np.diagonal(self.factors, axis1=1, axis2=2)).sum(axis=1)

    @cached_property
    def _packed(self) -> tuple[Float64, Float64]:
        """(what the kernel reads, what is added a class): of tied covariances a linear form."""
        classes, k = self.means.shape
        whitening = self.whitening
        if len(whitening) == 1:
            weight, base = self.slopes()
            packed = np.empty(-(-classes // TILE) * TILE * k)
            distances.pack(weight, packed)
            return packed, base
        bands = np.empty((classes, distances.packed_size(k)))
        for A, own in zip(whitening, bands, strict=True):
            distances.pack(A, own)
        return bands, self.norms()

    def evidence(self, Z: Float64) -> Float64:
        """log p(z | c) of standardised rows (n, k), less that of the best class: (n, C)."""
        n, k = Z.shape
        packed, base = self._packed
        found = np.zeros((len(self.means), n))
        if len(self.factors) == 1:
            distances.projections(shown(Z), 0, n, np.zeros(k), packed, base, found)
        else:
            distances.add_distances(shown(Z), 0, n, self.means, packed, 0, k, found)
            found = base[:, np.newaxis] - 0.5 * found
        return np.maximum(found - found.max(axis=0), LEAST).T

    def shares(self, Z: Float64, evidence: Float64) -> Float64:
        """What each number adds to `evidence` (n, C): (n, C, k).

        Each has its part of (z - μ)ᵀ Σ⁻¹ (z - μ); all else is shared equally. Of a class that is
        `LEAST` behind the best, what it is further behind is taken from all of them alike: the rest
        would be given to columns that say nothing of the kind.
        """
        n, k = Z.shape
        found = np.empty((n, len(self.means), k))
        for c, mean in enumerate(self.means):
            A = self.whitening[c if len(self.factors) > 1 else 0]
            off = Z - mean
            found[:, c] = -0.5 * off * (off @ A.T @ A)
        rows, classes = np.nonzero(evidence == LEAST)
        best = evidence[rows].argmax(axis=1)
        behind = found[rows, classes] - found[rows, best]
        if len(self.factors) > 1:
            norms = self.norms()
            behind += ((norms[classes] - norms[best]) / k)[:, np.newaxis]
        behind *= np.minimum(1.0, LEAST / behind.sum(axis=1, keepdims=True))
        found[rows, classes] = found[rows, best] + behind
        rest = (evidence - found.sum(axis=2)) / k
        return found + rest[:, :, np.newaxis]


@dataclass(frozen=True)
class Moments:
    """What normal densities need of some rows.

    Attributes
    ----------
    weight : (C,)
    total : (C, k)
    products : (C, k, k)
    """

    weight: Float64
    total: Float64
    products: Float64

    @classmethod
    def of(cls, Z: Float64, y: Int64, weight: Float64, classes: int) -> Self:
        """Those of standardised rows."""
        k = Z.shape[1]
        w, total, products = np.zeros(classes), np.zeros((classes, k)), np.zeros((classes, k, k))
        for c in range(classes):
            own, heavy = Z[y == c], weight[y == c]
            w[c], total[c] = heavy.sum(), heavy @ own
            products[c] = (own * heavy[:, np.newaxis]).T @ own
        return cls(w, total, products)

    def __sub__(self, other: Self) -> Self:
        return type(self)(
            self.weight - other.weight, self.total - other.total, self.products - other.products
        )

    def normal(self, kind: Kind, scale: Scale) -> Normal:
        """The densities."""
        k = self.total.shape[1]
        n = self.weight.sum()
        means = (self.total + self.total.sum(axis=0) / max(n, 1.0)) / (self.weight + 1)[
            :, np.newaxis
        ]
        scatter = np.array([
            own - np.outer(mean, total) - np.outer(total, mean) + w * np.outer(mean, mean)
            for own, mean, total, w in zip(
                self.products, means, self.total, self.weight, strict=True)
        ])  # fmt: skip
        tied = (scatter.sum(axis=0) + k * np.eye(k)) / (n + k) + RIDGE * np.eye(k)
        if kind == "tied":
            return Normal(scale, means, np.linalg.cholesky(tied)[np.newaxis])
        prior = k + 2.0
        own = [(one + prior * tied) / (w + prior)
               for one, w in zip(scatter, self.weight, strict=True)]  # fmt: skip
        return Normal(scale, means, np.linalg.cholesky(np.array(own)))


def normals(entries: Entries, columns: list[int]) -> Iterator[tuple[Normal, Float64, list[Normal]]]:
    """(densities of all rows, the evidence (n, C) of each entry without its fold, those without
    each fold).
    """
    if len(columns) < 2 or len(columns) > WIDEST["tied"]:
        return
    scale = Scale.of(columns, entries)
    Z = scale.rows(entries.codes, entries.levels)
    parts = []
    for part in range(PARTS):
        own = np.flatnonzero(entries.part == part)
        weight = entries.weight[own]
        parts.append(Moments.of(Z[entries.row[own]], entries.y[own], weight, entries.n_classes))
    total = Moments(*(
        np.sum([getattr(one, name) for one in parts], axis=0)
        for name in ("weight", "total", "products")
    ))  # fmt: skip
    kinds: tuple[Kind, ...] = ("tied", "full")
    for kind in kinds:
        if len(columns) > WIDEST[kind]:
            continue
        found = np.empty((len(entries), entries.n_classes))
        without = [(total - own).normal(kind, scale) for own in parts]
        for part, normal in enumerate(without):
            own = np.flatnonzero(entries.part == part)
            found[own] = normal.evidence(Z[entries.row[own]])
        yield total.normal(kind, scale), found, without
