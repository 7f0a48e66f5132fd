"""The evidence of all numbers together: normal densities with a full or a tied covariance.

Numbers are standardised, a missing one is the mean, and what is far out is drawn in. Each class's
mean counts one row at the mean of all. The tied covariance is shrunk towards its diagonal, that
of a class towards the tied one, which counts as d + 2 rows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.families.formula import Density
from naively.kernels import scores
from naively.kernels.sums import TILE
from naively.pooling.bins import Column, as_numbers
from naively.pooling.blocks.base import (
    LARGEST,
    Block,
    Bools,
    FoldedRows,
    OutOfFold,
    Rows,
    checked,
    checked_numbers,
    relative,
)
from naively.pooling.folds import PARTS, Entries
from naively.pooling.structure import PRESENT
from naively.pooling.weights import Float32
from naively.statistics.base import Arrays, shown
from naively.statistics.levels import Levels

FARTHEST = 6.0  # standard deviations at which a number is drawn in
LEAST = -60.0  # nats by which a class can be behind the best
RIDGE = 1e-3  # part of the variances that the tied covariance has besides
WIDEST = {"tied": 500, "full": 150}
"""Columns up to which there is such a block."""

Kind = Literal["tied", "full"]


@dataclass(frozen=True)
class Scale:
    """How the numbers of k columns are standardised.

    Attributes
    ----------
    centre, spread : (k,) mean and standard deviation.
    """

    centre: Float64
    spread: Float64

    @classmethod
    def of(cls, columns: Sequence[int], entries: Entries) -> Self:
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
        return cls(np.array(centre), np.array(spread))

    def rows(
        self, columns: Sequence[int], codes: npt.NDArray[Any], levels: Sequence[Levels]
    ) -> Float64:
        """Rows of codes as standardised numbers of these columns, (n, k)."""
        found = np.empty((len(codes), len(columns)))
        scales = zip(columns, self.centre, self.spread, strict=True)
        with np.errstate(over="ignore", invalid="ignore"):
            for k, (j, centre, spread) in enumerate(scales):
                known = np.zeros(len(levels[j]) + 1)  # the missing value's is last
                own = (as_numbers(levels[j]) - centre) / (spread if spread > 0 else 1.0)
                np.clip(own, -FARTHEST, FARTHEST, out=known[:-1])
                known[np.isnan(known)] = 0.0
                found[:, k] = known[codes[:, j]]
        return found


@dataclass(frozen=True)
class Gaussian(Block):
    """Normal densities of standardised numbers.

    Attributes
    ----------
    columns : of the numbers, in order.
    scale : Scale
    means : (C, k)
    factors : (C or 1, k, k), the Cholesky factor of each class's covariance.
    """

    scale: Scale
    means: Float64
    factors: Float64

    tag = "gaussian"

    # ---- fitting ---------------------------------------------------------------------------------

    @classmethod
    def of_columns(cls, rows: FoldedRows) -> Iterator[OutOfFold]:
        """The densities of all numbers, with a tied covariance and with one a class."""
        entries = rows.entries
        columns = tuple(
            j
            for j in rows.varied
            if rows.columns[j].is_number
            and len(entries.levels[j]) > 2
            and not rows.columns[j].dated
        )
        if len(columns) < 2 or len(columns) > WIDEST["tied"]:
            return
        scale = Scale.of(columns, entries)
        Z = scale.rows(columns, entries.codes, entries.levels)
        parts = []
        for part in range(PARTS):
            fold = np.flatnonzero(entries.part == part)
            weight = entries.weight[fold]
            fold_rows = Z[entries.row[fold]]
            parts.append(Moments.of(fold_rows, entries.y[fold], weight, entries.n_classes))
        total = Moments(*(
            np.sum([getattr(one, name) for one in parts], axis=0)
            for name in ("weight", "total", "products")
        ))  # fmt: skip
        kinds: tuple[Kind, ...] = ("tied", "full")
        for kind in kinds:
            if len(columns) > WIDEST[kind]:
                continue
            evidence = np.empty((len(entries), entries.n_classes))
            without = [cls(columns, scale, *(total - fold).normal(kind)) for fold in parts]
            for part, block in enumerate(without):
                fold = np.flatnonzero(entries.part == part)
                evidence[fold] = block.evidence(Z[entries.row[fold]])
            block = cls(columns, scale, *total.normal(kind))
            yield _OutOfFoldGaussian(block, entries, relative(evidence), without)

    def among(self, at: Int64, order: Int64, classes: Int64, columns: Sequence[Column]) -> Gaussian:
        """As the base class."""
        scale = Scale(self.scale.centre[order], self.scale.spread[order])
        factors = self.factors if len(self.factors) == 1 else self.factors[classes]
        if (np.diff(order) < 0).any():
            rows = factors[:, order]
            factors = np.linalg.cholesky(rows @ rows.swapaxes(1, 2)).astype(np.float64)
        means = self.means[classes][:, order]
        own = tuple(at[order].tolist())
        return replace(self, columns=own, scale=scale, means=means, factors=factors)

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return self.means.size + self.factors.size

    # ---- densities -------------------------------------------------------------------------------

    @cached_property
    def whitening(self) -> Float64:
        """(C or 1, k, k), the inverses of the factors."""
        found = np.zeros_like(self.factors)
        for f in range(self.means.shape[1]):  # row after row, by those above it
            row = -np.einsum("cj,cjk->ck", self.factors[:, f, :f], found[:, :f])
            row[:, f] += 1.0
            found[:, f] = row / self.factors[:, f, f, np.newaxis]
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
            scores.pack(weight, packed)
            return packed, base
        bands = np.empty((classes, scores.packed_size(k)))
        for A, own in zip(whitening, bands, strict=True):
            scores.pack(A, own)
        return bands, self.norms()

    def evidence(self, Z: Float64) -> Float64:
        """log p(z | c) of standardised rows (n, k), less that of the best class: (n, C)."""
        n, k = Z.shape
        packed, base = self._packed
        found = np.zeros((len(self.means), n))
        if len(self.factors) == 1:
            scores.projections(shown(Z), 0, n, np.zeros(k), packed, base, found)
        else:
            scores.add_distances(shown(Z), 0, n, self.means, packed, 0, k, found)
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

    # ---- scores ----------------------------------------------------------------------------------

    def _standardised(self, rows: Rows) -> Float64:
        """The numbers of rows, (n, k)."""
        return self.scale.rows(self.columns, rows.codes, rows.values.levels)

    def add(self, rows: Rows, weight: float, out: Float64) -> None:
        """As the base class."""
        out += weight * self.evidence(self._standardised(rows)).T

    def present(self, gone: Bools) -> Bools:
        """Whether rows, (n, d) by what is missing, have enough of the numbers."""
        found: Bools = gone[:, list(self.columns)].mean(axis=1) <= 1 - PRESENT
        return found

    def contributions(self, rows: Rows, weight: Float64, evidence: Float64) -> Float64:
        """Shared as the quadratic form of the density has it."""
        shares = self.shares(self._standardised(rows), evidence.T)
        shares = shares * (evidence != 0).any(axis=0)[:, np.newaxis, np.newaxis]
        return weight[:, np.newaxis, np.newaxis] * shares

    # ---- for people ------------------------------------------------------------------------------

    def what(self, columns: Sequence[Column], texts: Collection[int]) -> str:
        """As the base class."""
        return "Gaussian, shared" if len(self.factors) == 1 else "Gaussian, per class"

    # ---- files and exports -----------------------------------------------------------------------

    @classmethod
    def stored(cls, blocks: Sequence[Gaussian]) -> Arrays:
        """``gaussian.0.centre``, ``spread``, ``means`` and ``factors``, of each block."""
        arrays: Arrays = {}
        for k, block in enumerate(blocks):
            arrays |= {
                f"{cls.tag}.{k}.centre": block.scale.centre,
                f"{cls.tag}.{k}.spread": block.scale.spread,
                f"{cls.tag}.{k}.means": block.means,
                f"{cls.tag}.{k}.factors": block.factors,
            }
        return arrays

    @classmethod
    def read(
        cls, arrays: Arrays, places: Sequence[tuple[int, ...]], columns: Sequence[Column],
        n_classes: int,
    ) -> list[Gaussian]:  # fmt: skip
        """As the base class."""
        return [
            cls._read(arrays, f"{cls.tag}.{k}.", block, columns, n_classes)
            for k, block in enumerate(places)
        ]

    @classmethod
    def _read(
        cls, arrays: Arrays, head: str, block: tuple[int, ...], columns: Sequence[Column],
        n_classes: int,
    ) -> Gaussian:  # fmt: skip
        k = len(block)
        centre = checked(arrays, head + "centre", np.float64, (k,))
        spread = checked(arrays, head + "spread", np.float64, (k,))
        means = checked_numbers(arrays, head + "means", (n_classes, k))
        factors = checked_numbers(arrays, head + "factors", (None, k, k))
        if not all(columns[j].is_number for j in block):
            raise ValueError("normal densities are of a column that holds no numbers")
        if np.isnan(centre).any() or (spread < 0).any():
            raise ValueError("numbers cannot be standardised by a mean or deviation in it")
        if len(factors) not in (1, n_classes):
            raise ValueError(f"it has {len(factors)} covariances of {n_classes} classes")
        if np.triu(factors, 1).any() or (np.diagonal(factors, axis1=1, axis2=2) <= 0).any():
            raise ValueError("a covariance has no such Cholesky factor")
        gaussian = cls(block, Scale(centre, spread), means, factors)
        with np.errstate(all="ignore"):
            if not (np.abs(gaussian.whitening) <= LARGEST).all():
                raise ValueError("a covariance is singular")
        return gaussian

    def term(self, names: Sequence[str], columns: Sequence[Column], weight: float) -> Density:
        """As the base class."""
        tied = len(self.factors) == 1
        mean, base = self.slopes() if tied else (self.means, self.norms())
        spread = np.where(self.scale.spread > 0, self.scale.spread, 1.0)
        return Density(
            tuple(names[j] for j in self.columns), self.scale.centre, spread, base, mean,
            None if tied else self.whitening, weight, FARTHEST, LEAST,
        )  # fmt: skip

    def present_term(
        self, names: Sequence[str], columns: Sequence[Column], weight: float
    ) -> Density:
        """Of rows with enough numbers."""
        fewest = math.ceil((1 - PRESENT) * len(self.columns))
        return replace(self.term(names, columns, weight), fewest=fewest)


@dataclass(frozen=True, eq=False)
class _OutOfFoldGaussian(OutOfFold):
    """Densities, and those without each fold.

    Attributes
    ----------
    without : (folds,)
    """

    without: Sequence[Gaussian]

    def add_present(self, rows: npt.NDArray[np.intp], gone: Bools, out: Float32) -> None:
        """As the base class: of numbers of which some are missing, which count as the mean."""
        gaussian, entries = self.without[0], self.entries
        part, columns = entries.part[rows], list(gaussian.columns)
        Z = gaussian.scale.rows(columns, entries.codes[entries.row[rows]], entries.levels)
        Z[gone[:, columns]] = 0.0
        there = gaussian.present(gone)
        for p in np.unique(part[there]):
            fold = np.flatnonzero(there & (part == p))
            out[:, fold] = relative(self.without[p].evidence(Z[fold])).T


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

    def normal(self, kind: Kind) -> tuple[Float64, Float64]:
        """(means, factors) of the densities."""
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
            return means, np.linalg.cholesky(tied)[np.newaxis]
        prior = k + 2.0
        own = [(one + prior * tied) / (w + prior)
               for one, w in zip(scatter, self.weight, strict=True)]  # fmt: skip
        return means, np.linalg.cholesky(np.array(own))
