"""Standardise and clip numeric columns for joint evidence; missing values are the mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.formula import Density
from naively.kernels import scores
from naively.kernels.sums import TILE
from naively.pooling.bins import Column, as_numbers
from naively.pooling.blocks.base import Block, Bools, FoldedRows, OutOfFold, Rows, checked, relative
from naively.pooling.entries import Entries
from naively.pooling.structure import PRESENT
from naively.pooling.weights import Float32
from naively.statistics.base import Arrays, shown
from naively.statistics.levels import Levels

FARTHEST = 6.0  # standard deviations at which a number is clipped
FLAT = 1e-7  # share of the greatest variance below which a principal axis is dropped
MANY = 5000  # values of a column, up to which all are standardised even for a few rows
LEAST = -60.0  # nats by which a class can be behind the best, at most


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of k columns."""

    # centre, spread: (k,) mean and standard deviation
    centre: Float64
    spread: Float64

    @classmethod
    def of(cls, columns: Sequence[int], entries: Entries) -> Self:
        """Estimate the scale of these columns from entries."""
        weight = entries.rows_met()
        centre, spread = [], []
        for j in columns:
            values, codes = entries.levels[j], entries.codes[:, j]
            w = np.bincount(codes, weights=weight, minlength=len(values) + 1)[:-1]
            with np.errstate(over="ignore"):
                mean = float((values * (w / w.sum())).sum())
                centred = values - mean
                scale = max(float(np.abs(centred).max()), 1e-300)
                deviation = scale * float(np.sqrt(((centred / scale) ** 2 * (w / w.sum())).sum()))
            centre.append(mean)
            spread.append(deviation)
        return cls(np.array(centre), np.array(spread))

    def rows(
        self, columns: Sequence[int], codes: npt.NDArray[Any], levels: Sequence[Levels]
    ) -> Float64:
        """Standardise these columns of rows, (n, k)."""
        standardised = np.empty((len(codes), len(columns)))
        scales = zip(columns, self.centre, self.spread, strict=True)
        with np.errstate(over="ignore", invalid="ignore"):
            for k, (j, centre, spread) in enumerate(scales):
                own_levels, places = levels[j], codes[:, j]
                if len(own_levels) > max(MANY, len(places)):  # most are in none of these rows
                    is_missing = places == len(own_levels)
                    own_levels = own_levels[np.where(is_missing, 0, places)]
                    places = np.where(is_missing, len(places), np.arange(len(places)))
                values = np.zeros(len(own_levels) + 1)  # the last is for missing values
                z = (as_numbers(own_levels) - centre) / (spread if spread > 0 else 1.0)
                np.clip(z, -FARTHEST, FARTHEST, out=values[:-1])
                values[np.isnan(values)] = 0.0
                standardised[:, k] = values[places]
        return standardised


@dataclass(frozen=True)
class Standardised(Block):
    """A block of evidence from standardised numbers."""

    scale: Scale

    def evidence(self, Z: Float64) -> Float64:
        """The evidence of standardised rows (n, k), minus that of the best class: (n, C)."""
        raise NotImplementedError

    def shares(self, Z: Float64, evidence: Float64) -> Float64:
        """The share of each number in `evidence` (n, C): (n, C, k)."""
        raise NotImplementedError

    def _standardised(self, rows: Rows) -> Float64:
        """The standardised numbers of rows, (n, k)."""
        return self.scale.rows(self.columns, rows.codes, rows.values.levels)

    def add(self, rows: Rows, weight: float, out: Float64) -> None:
        """As the base class."""
        out += weight * self.evidence(self._standardised(rows)).T

    def present(self, missing_cells: Bools) -> Bools:
        """Whether rows have enough of the numbers, (n,), given their missing cells (n, d)."""
        is_present: Bools = missing_cells[:, list(self.columns)].mean(axis=1) <= 1 - PRESENT
        return is_present

    def contributions(self, rows: Rows, weight: Float64, evidence: Float64) -> Float64:
        """As the base class, by `shares`."""
        shares = self.shares(self._standardised(rows), evidence.T)
        shares = shares * (evidence != 0).any(axis=0)[:, np.newaxis, np.newaxis]
        return weight[:, np.newaxis, np.newaxis] * shares

    def density(
        self, names: Sequence[str], weight: float, base: Float64, mean: Float64,
        whitening: Float64 | None,
    ) -> Density:  # fmt: skip
        """The evidence as a formula: see `Density`."""
        spread = np.where(self.scale.spread > 0, self.scale.spread, 1.0)
        return Density(
            tuple(names[j] for j in self.columns), self.scale.centre, spread, base, mean,
            whitening, weight, FARTHEST, LEAST,
        )  # fmt: skip

    def present_term(
        self, names: Sequence[str], columns: Sequence[Column], weight: float
    ) -> Density:
        """The same for rows with enough numbers."""
        fewest = math.ceil((1 - PRESENT) * len(self.columns))
        term = self.term(names, columns, weight)
        assert isinstance(term, Density)
        return replace(term, fewest=fewest)


@dataclass(frozen=True, eq=False)
class OutOfFoldNumbers(OutOfFold):
    """A block of numbers, with the blocks without each fold."""

    without: Sequence[Standardised]  # (folds,)
    fold: Int64  # (n,) the one of them that each entry is scored by

    @classmethod
    def of(
        cls, block: Standardised, without: Sequence[Standardised], entries: Entries, fold: Int64,
        Z: Float64,
    ) -> Self:  # fmt: skip
        """Evaluate the evidence of entries, whose distinct rows are standardised, (R, k)."""
        evidence = np.empty((len(entries), entries.n_classes))
        for part, model in enumerate(without):
            in_fold = np.flatnonzero(fold == part)
            evidence[in_fold] = model.evidence(Z[entries.row[in_fold]])
        return cls(block, entries, relative(evidence), without, fold)

    def add_present(self, rows: npt.NDArray[np.intp], missing_cells: Bools, out: Float32) -> None:
        """As the base class; missing numbers are the mean."""
        block, entries = self.without[0], self.entries
        part, columns = self.fold[rows], list(block.columns)
        Z = block.scale.rows(columns, entries.codes[entries.row[rows]], entries.levels)
        Z[missing_cells[:, columns]] = 0.0
        is_present = block.present(missing_cells)
        for p in np.unique(part[is_present]):
            fold = np.flatnonzero(is_present & (part == p))
            out[:, fold] = relative(self.without[p].evidence(Z[fold])).T


def numbers(rows: FoldedRows) -> tuple[int, ...]:
    """The numeric columns that vary, without dates, and without those that must be monotone."""
    return tuple(
        j for j in rows.varied
        if rows.columns[j].is_number and not rows.columns[j].dated and j not in rows.rising
    )  # fmt: skip


def principal_axes(Z: Float64, weight: Float64) -> tuple[Float64, Float64]:
    """The sums of squares (r,) of weighted rows (n, k) along their principal axes (r, k).

    They ascend; found from the smaller of ZᵀZ and ZZᵀ.
    """
    n, k = Z.shape
    scaled = Z * np.sqrt(weight)[:, np.newaxis]
    squares, axes = np.linalg.eigh(scaled.T @ scaled if k <= n else scaled @ scaled.T)
    keep = squares > FLAT * squares[-1]
    axes, squares = axes[:, keep].T, squares[keep]
    if k > n:
        axes = axes @ scaled / np.sqrt(squares)[:, np.newaxis]
    return squares, axes


def pack_lines(slopes: Float64) -> Float64:
    """Slopes (C, k) in the format of `projected`."""
    classes, k = slopes.shape
    packed = np.empty(-(-classes // TILE) * TILE * k)
    scores.pack(slopes, packed)
    return packed


def projected(Z: Float64, packed: Float64, base: Float64) -> Float64:
    """base + slopes · z of rows (n, k): (C, n)."""
    n, k = Z.shape
    projections = np.zeros((len(base), n))
    scores.projections(shown(Z), 0, n, np.zeros(k), packed, base, projections)
    return projections


def behind_best(scored: Float64) -> Float64:
    """Scores (C, n) minus that of the best class, at least `LEAST`: (n, C)."""
    return np.maximum(scored - scored.max(axis=0), LEAST).T


def bounded(shares: Float64, evidence: Float64, norms: Float64) -> Float64:
    """Adjust the shares (n, C, k) of numbers so that they add up to `evidence` (n, C).

    A difference is shared equally. If a class is clipped at `LEAST`, its shares are scaled down
    instead; otherwise the difference would go to columns without such evidence. `norms` (C,) is
    the part of the evidence of a class that is not in the shares.
    """
    k = shares.shape[2]
    rows, classes = np.nonzero(evidence == LEAST)
    best_class = evidence[rows].argmax(axis=1)
    difference = shares[rows, classes] - shares[rows, best_class]
    difference += ((norms[classes] - norms[best_class]) / k)[:, np.newaxis]
    difference *= np.minimum(1.0, LEAST / difference.sum(axis=1, keepdims=True))
    shares[rows, classes] = shares[rows, best_class] + difference
    remainder = (evidence - shares.sum(axis=2)) / k
    return shares + remainder[:, :, np.newaxis]


def read_scale(
    arrays: Arrays, head: str, block: tuple[int, ...], columns: Sequence[Column]
) -> Scale:
    """Read the scale of a block from a file. Raises ValueError if it is invalid."""
    centre = checked(arrays, head + "centre", np.float64, (len(block),))
    spread = checked(arrays, head + "spread", np.float64, (len(block),))
    if not all(columns[j].is_number for j in block):
        raise ValueError("normal densities are of a column that holds no numbers")
    if np.isnan(centre).any() or (spread < 0).any():
        raise ValueError("numbers cannot be standardised by a mean or deviation in it")
    return Scale(centre, spread)
