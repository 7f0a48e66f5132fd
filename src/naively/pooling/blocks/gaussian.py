"""Evidence of all numeric columns: normal densities with a full or a tied covariance.

Numbers are standardised and clipped, missing ones are the mean. The mean of each class includes one
virtual row at the overall mean. The tied covariance is shrunk towards its diagonal; that of a class
towards the tied one, with the weight of d + 2 rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np

from naively.core.exact import Float64, Int64
from naively.formula import Density
from naively.kernels import scores
from naively.pooling.bins import Column
from naively.pooling.blocks.base import LARGEST, FoldedRows, OutOfFold, checked_numbers
from naively.pooling.blocks.numbers import (
    OutOfFoldNumbers,
    Scale,
    Standardised,
    behind_best,
    bounded,
    numbers,
    pack_lines,
    projected,
    read_scale,
)
from naively.pooling.entries import PARTS, Entries
from naively.statistics.base import Arrays, shown

RIDGE = 1e-3  # added to the variances of the tied covariance, which are about 1
WIDEST = {"tied": 500, "full": 150}  # columns up to which this block is fitted

Kind = Literal["tied", "full"]


@dataclass(frozen=True)
class Gaussian(Standardised):
    """Normal densities of standardised numbers."""

    means: Float64  # (C, k)
    factors: Float64  # (C or 1, k, k), the Cholesky factors of the covariances

    tag = "gaussian"

    @classmethod
    def of_columns(cls, rows: FoldedRows) -> Iterator[OutOfFold]:
        """Fit densities of all numeric columns, with a tied covariance and with one per class."""
        entries = rows.entries
        columns = tuple(j for j in numbers(rows) if len(entries.levels[j]) > 2)
        if len(columns) < 2 or len(columns) > WIDEST["tied"]:
            return
        scale = Scale.of(columns, entries)
        Z = scale.rows(columns, entries.codes, entries.levels)
        folds = entries.repeat * PARTS + entries.part
        moments = Moments.by_fold(Z, entries, folds)
        kinds: tuple[Kind, ...] = ("tied", "full")
        for kind in kinds:
            if len(columns) > WIDEST[kind]:
                continue
            block, *without = (cls(columns, scale, *sums.normal(kind)) for sums in moments)
            yield OutOfFoldNumbers.of(block, without, entries, folds, Z)

    def among(self, at: Int64, order: Int64, classes: Int64, columns: Sequence[Column]) -> Gaussian:
        """As the base class."""
        scale = Scale(self.scale.centre[order], self.scale.spread[order])
        factors = self.factors if len(self.factors) == 1 else self.factors[classes]
        if (np.diff(order) < 0).any():
            rows = factors[:, order]
            factors = np.linalg.cholesky(rows @ rows.swapaxes(1, 2)).astype(np.float64)
        means = self.means[classes][:, order]
        new_columns = tuple(at[order].tolist())
        return replace(self, columns=new_columns, scale=scale, means=means, factors=factors)

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return self.means.size + self.factors.size

    @cached_property
    def whitening(self) -> Float64:
        """(C or 1, k, k), the inverses of the factors."""
        return _inverse(self.factors)

    @property
    def centres(self) -> Float64:
        """The means of the classes in standardised numbers, (C, k)."""
        return self.means

    @property
    def maps(self) -> Float64:
        """The matrices A of the squared distances |A (z - centre)|², (C or 1, m, k)."""
        return self.whitening

    def slopes(self) -> tuple[Float64, Float64]:
        """Slopes (C, k) and intercepts (C,) of the linear form of a tied covariance."""
        whitening = self.whitening[0]
        weight = self.means @ whitening.T @ whitening
        return weight, -0.5 * (weight * self.means).sum(axis=1)

    def norms(self) -> Float64:
        """Log-normalisers of the densities with a covariance per class, (C,)."""
        return -np.log(np.diagonal(self.factors, axis1=1, axis2=2)).sum(axis=1)

    @cached_property
    def _packed(self) -> tuple[Float64, Float64]:
        """The arrays for the kernel and the constants of the classes; tied: of a linear form."""
        classes, k = self.means.shape
        whitening = self.whitening
        if len(whitening) == 1:
            weight, base = self.slopes()
            return pack_lines(weight), base
        bands = np.empty((classes, scores.packed_size(k)))
        for A, band in zip(whitening, bands, strict=True):
            scores.pack(A, band)
        return bands, self.norms()

    def evidence(self, Z: Float64) -> Float64:
        """log p(z | c) of standardised rows (n, k), minus that of the best class: (n, C)."""
        n, k = Z.shape
        packed, base = self._packed
        if len(self.factors) == 1:
            return behind_best(projected(Z, packed, base))
        distances = np.zeros((len(self.means), n))
        scores.add_distances(shown(Z), 0, n, self.means, packed, 0, k, distances)
        return behind_best(base[:, np.newaxis] - 0.5 * distances)

    def shares(self, Z: Float64, evidence: Float64) -> Float64:
        """The share of each number in `evidence` (n, C): (n, C, k).

        Each has its part of (z - μ)ᵀ Σ⁻¹ (z - μ); the rest is shared equally.
        """
        n, k = Z.shape
        shares = np.empty((n, len(self.means), k))
        for c, centre in enumerate(self.centres):
            A = self.maps[c if len(self.factors) > 1 else 0]
            deviations = Z - centre
            shares[:, c] = -0.5 * deviations * (deviations @ A.T @ A)
        norms = self.norms() if len(self.factors) > 1 else np.zeros(len(self.means))
        return bounded(shares, evidence, norms)

    def what(self, columns: Sequence[Column], texts: Collection[int]) -> str:
        """As the base class."""
        return "Gaussian, shared" if len(self.factors) == 1 else "Gaussian, per class"

    @classmethod
    def stored(cls, blocks: Sequence[Self]) -> Arrays:
        """``gaussian.0.centre``, ``spread``, ``means`` and ``factors``, of each block."""
        arrays: Arrays = {}
        for k, block in enumerate(blocks):
            head, scale = f"{cls.tag}.{k}.", block.scale
            arrays |= {head + "centre": scale.centre, head + "spread": scale.spread}
            arrays |= {head + "means": block.means, head + "factors": block.factors}
        return arrays

    @classmethod
    def read(
        cls, arrays: Arrays, places: Sequence[tuple[int, ...]], columns: Sequence[Column],
        n_classes: int,
    ) -> list[Self]:  # fmt: skip
        """As the base class."""
        heads = [f"{cls.tag}.{k}." for k in range(len(places))]
        pairs = zip(heads, places, strict=True)
        return [cls._read(arrays, head, block, columns, n_classes) for head, block in pairs]

    @classmethod
    def _read(
        cls, arrays: Arrays, head: str, block: tuple[int, ...], columns: Sequence[Column],
        n_classes: int,
    ) -> Self:  # fmt: skip
        scale = read_scale(arrays, head, block, columns)
        return cls(block, scale, *cls._densities(arrays, head, n_classes, len(block)))

    @classmethod
    def _densities(
        cls, arrays: Arrays, head: str, n_classes: int, size: int
    ) -> tuple[Float64, Float64]:
        """The means and factors of densities of `size` numbers."""
        means = checked_numbers(arrays, head + "means", (n_classes, size))
        factors = checked_numbers(arrays, head + "factors", (None, size, size))
        if len(factors) not in (1, n_classes):
            raise ValueError(f"it has {len(factors)} covariances of {n_classes} classes")
        if np.triu(factors, 1).any() or (np.diagonal(factors, axis1=1, axis2=2) <= 0).any():
            raise ValueError("a covariance has no such Cholesky factor")
        with np.errstate(all="ignore"):
            if not (np.abs(_inverse(factors)) <= LARGEST).all():
                raise ValueError("a covariance is singular")
        return means, factors

    def term(self, names: Sequence[str], columns: Sequence[Column], weight: float) -> Density:
        """As the base class."""
        tied = len(self.factors) == 1
        mean, base = self.slopes() if tied else (self.centres, self.norms())
        return self.density(names, weight, base, mean, None if tied else self.maps)


def _inverse(factors: Float64) -> Float64:
    """The inverses of lower triangular matrices, (C, k, k)."""
    return np.tril(np.linalg.inv(factors))  # above is rounding


@dataclass(frozen=True)
class Moments:
    """Sums for normal densities: weight, total and products of rows by class."""

    weight: Float64  # (C,)
    total: Float64  # (C, k)
    products: Float64  # (C, k, k)

    @classmethod
    def of(cls, Z: Float64, y: Int64, weight: Float64, classes: int) -> Self:
        """Sum over standardised rows."""
        k = Z.shape[1]
        w, total, products = np.zeros(classes), np.zeros((classes, k)), np.zeros((classes, k, k))
        for c in range(classes):
            rows, row_weights = Z[y == c], weight[y == c]
            w[c], total[c] = row_weights.sum(), row_weights @ rows
            products[c] = (rows * row_weights[:, np.newaxis]).T @ rows
        return cls(w, total, products)

    @classmethod
    def by_fold(cls, rows: Float64, entries: Entries, folds: Int64) -> list[Self]:
        """The sums of all entries, and of those without each of their `folds` (n,).

        `rows` (R, k) are the distinct rows.
        """
        classes, sums = entries.n_classes, []
        for number in range(entries.n_repeats * PARTS):
            in_fold = np.flatnonzero(folds == number)
            weight = entries.full_weight[in_fold]
            sums.append(cls.of(rows[entries.row[in_fold]], entries.y[in_fold], weight, classes))
        total = cls(*(
            np.sum([getattr(fold, name) for fold in sums[:PARTS]], axis=0)
            for name in ("weight", "total", "products")
        ))  # fmt: skip
        return [total, *(total - fold for fold in sums)]

    def first(self, k: int) -> Self:
        """The sums of the first k numbers."""
        return type(self)(self.weight, self.total[:, :k], self.products[:, :k, :k])

    def __sub__(self, other: Self) -> Self:
        total, products = self.total - other.total, self.products - other.products
        return type(self)(self.weight - other.weight, total, products)

    def normal(self, kind: Kind) -> tuple[Float64, Float64]:
        """The means and Cholesky factors of the densities."""
        k = self.total.shape[1]
        n = self.weight.sum()
        totals = self.total + self.total.sum(axis=0) / max(n, 1.0)
        means = totals / (self.weight + 1)[:, np.newaxis]
        weight = self.weight[:, np.newaxis, np.newaxis]
        crossed = means[:, :, np.newaxis] * self.total[:, np.newaxis]
        squares = means[:, :, np.newaxis] * means[:, np.newaxis]
        scatter = self.products - crossed - crossed.swapaxes(1, 2) + weight * squares
        tied = (scatter.sum(axis=0) + k * np.eye(k)) / (n + k) + RIDGE * np.eye(k)
        if kind == "tied":
            return means, np.linalg.cholesky(tied)[np.newaxis]
        prior = k + 2.0
        return means, np.linalg.cholesky((scatter + prior * tied) / (weight + prior))
