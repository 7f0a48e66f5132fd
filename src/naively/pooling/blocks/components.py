"""Evidence of many numeric columns: normal densities of their principal components.

Columns are divided by their range, which is the same in any unit. The axes are those in which all
rows vary most, whatever their class; in these axes each class has its covariance matrix. How many
axes there are is chosen by the out-of-fold log-loss of this evidence alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from naively.core.exact import Float64, Int64
from naively.pooling.bins import Column
from naively.pooling.blocks.base import FoldedRows, OutOfFold, checked_numbers, relative
from naively.pooling.blocks.gaussian import Gaussian, Moments
from naively.pooling.blocks.numbers import (
    OutOfFoldNumbers,
    Scale,
    numbers,
    pack_lines,
    principal_axes,
    projected,
    read_scale,
)
from naively.pooling.entries import PARTS
from naively.pooling.weights import Piece, Pool
from naively.statistics.base import Arrays

SIZES = (16, 32, 64, 128)
"""Numbers of components that are tried, as long as the out-of-fold log-loss falls."""
FEWEST, WIDEST = 24, 2000
"""Columns from which there are components; columns or rows up to which axes are sought."""
ROWS = 20_000  # rows that find the axes


@dataclass(frozen=True)
class Components(Gaussian):
    """Normal densities of m principal components, with a covariance per class.

    `means`, `factors`: (C, m) and (C, m, m), as of `Gaussian`, of the components.
    """

    projection: Float64  # (m, k) from standardised numbers to components

    tag = "components"
    optional = True

    @classmethod
    def of_columns(cls, rows: FoldedRows) -> Iterator[OutOfFold]:
        """Fit one block of all numeric columns, if they are many."""
        entries, columns = rows.entries, numbers(rows)
        once = entries.once
        sample, weight = once.first(ROWS)
        if len(columns) < FEWEST or min(len(sample), len(columns)) > WIDEST:
            return
        scale = Scale.of(columns, entries)
        Z = scale.rows(columns, entries.codes, entries.levels)
        width = np.ptp(Z, axis=0)
        width[width == 0] = 1.0
        _, axes = principal_axes(Z[once.row[sample]] / width, weight)
        projection = axes[::-1][: SIZES[-1]] / width
        folds = entries.repeat * PARTS + entries.part
        components = projected(Z, pack_lines(projection), np.zeros(len(projection)))
        moments = Moments.by_fold(components.T, entries, folds)
        best, least_loss = None, np.inf
        for size in SIZES:
            block, *without = (
                cls(columns, scale, *sums.first(size).normal("full"), projection[:size])
                for sums in moments
            )
            trial = OutOfFoldNumbers.of(block, without, entries, folds, Z)
            loss = _loss(rows, trial)
            if loss >= least_loss:
                break
            best, least_loss = trial, loss
            if size >= len(projection):
                break
        assert best is not None
        yield best

    def among(
        self, at: Int64, order: Int64, classes: Int64, columns: Sequence[Column]
    ) -> Components:
        """As the base class."""
        return replace(
            self, columns=tuple(at[order].tolist()), means=self.means[classes],
            scale=Scale(self.scale.centre[order], self.scale.spread[order]),
            factors=self.factors[classes], projection=self.projection[:, order],
        )  # fmt: skip

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return super().n_free + self.projection.size

    @cached_property
    def centres(self) -> Float64:
        """As the base class: the least rows that have these means."""
        return self.means @ np.linalg.pinv(self.projection).T

    @cached_property
    def maps(self) -> Float64:
        """As the base class."""
        return self.whitening @ self.projection

    @cached_property
    def _lines(self) -> Float64:
        """The projection in the format of the kernel."""
        return pack_lines(self.projection)

    def evidence(self, Z: Float64) -> Float64:
        """As the base class."""
        components = projected(Z, self._lines, np.zeros(len(self.projection)))
        return super().evidence(components.T)

    def what(self, columns: Sequence[Column], texts: Collection[int]) -> str:
        """As the base class."""
        return f"Gaussian of {len(self.projection)} principal components, per class"

    @classmethod
    def stored(cls, blocks: Sequence[Self]) -> Arrays:
        """As the base class, and ``components.0.projection``."""
        projections = {f"{cls.tag}.{k}.projection": b.projection for k, b in enumerate(blocks)}
        return super().stored(blocks) | projections

    @classmethod
    def _read(
        cls, arrays: Arrays, head: str, block: tuple[int, ...], columns: Sequence[Column],
        n_classes: int,
    ) -> Self:  # fmt: skip
        projection = checked_numbers(arrays, head + "projection", (None, len(block)))
        scale = read_scale(arrays, head, block, columns)
        means, factors = cls._densities(arrays, head, n_classes, len(projection))
        if len(factors) != n_classes:
            raise ValueError("principal components have one covariance per class")
        return cls(block, scale, means, factors, projection)


def _loss(rows: FoldedRows, trial: OutOfFold) -> float:
    """The out-of-fold log-loss of some evidence alone, with its best weight."""
    entries = rows.entries
    evidence = np.zeros((1, entries.n_classes - 1, len(entries)), np.float32)
    trial.add(1.0, np.arange(len(entries)), evidence[0])
    base = relative(np.log(rows.priors[entries.part, entries.repeat]))
    prior = np.ascontiguousarray(base.T, np.float32)
    piece = Piece(evidence, prior, entries.y, entries.weight.astype(np.float32))
    return Pool([piece], np.zeros(1, bool), rows.workers, biased=False).alone()[0]
