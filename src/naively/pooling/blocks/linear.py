"""Evidence of all numeric columns: multinomial logistic regression on standardised numbers.

It is the discriminative counterpart of normal densities with a tied covariance: both are linear,
and here slopes maximise the conditional likelihood minus a ridge, which is chosen by the
out-of-fold log-loss; see `naively.pooling.logistic`. Missing numbers are the mean and contribute 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.families.formula import Density
from naively.pooling.bins import Column
from naively.pooling.blocks.base import FoldedRows, OutOfFold, checked_numbers, relative
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
from naively.pooling.folds import PARTS
from naively.pooling.logistic import Axes, Folded
from naively.pooling.weights import Float32
from naively.statistics.base import Arrays

FEWEST, WIDEST = 20, 2000
"""Columns from which this block is fitted (with fewer, pairs are better evidence); columns or rows,
whichever are fewer, up to which it is fitted."""
FITTED, LEAST_FITTED, EACH = 8_000_000, 5000, 20
"""Rows × columns × classes that slopes are fitted to, at most; but at least this many rows, and
this many per column."""
PROBABILITY = 30
"""Columns that take as long as computing the probability of a class."""


@dataclass(frozen=True)
class Linear(Standardised):
    """Logistic regression of standardised numbers.

    Attributes
    ----------
    base, slopes : (C,) and (C, k), in nats, and nats per standard deviation.
    """

    base: Float64
    slopes: Float64

    tag = "linear"
    optional = True

    # ---- fitting ---------------------------------------------------------------------------------

    @classmethod
    def of_columns(cls, rows: FoldedRows) -> Iterator[OutOfFold]:
        """Fit one block of all numeric columns."""
        entries, columns = rows.entries, numbers(rows)
        classes, k = entries.n_classes, len(columns)
        if k < FEWEST:
            return
        max_entries = max(FITTED // ((k + PROBABILITY) * classes), LEAST_FITTED, EACH * k)
        once = entries.once
        sample, weight = once.first(max_entries)
        if min(len(sample), k) > WIDEST:
            return
        scale = Scale.of(columns, entries)
        Z = scale.rows(columns, entries.codes, entries.levels)
        priors = np.concatenate([rows.priors[:, 0], rows.prior[np.newaxis]])
        axes = Axes.of(Z[once.row[sample]], weight)
        lines = Folded(axes, once.y[sample], weight, once.part[sample], priors).best()
        slopes = lines[:, :, :-1] @ axes.back
        blocks = [
            cls(columns, scale, np.ascontiguousarray(fold_lines[:, -1]), fold_slopes)
            for fold_lines, fold_slopes in zip(lines, slopes, strict=True)
        ]
        yield _OutOfFoldLinear.of(blocks[PARTS], blocks[:PARTS], entries, entries.home, Z)

    def among(self, at: Int64, order: Int64, classes: Int64, columns: Sequence[Column]) -> Linear:
        """As the base class."""
        scale = Scale(self.scale.centre[order], self.scale.spread[order])
        new_columns, slopes = tuple(at[order].tolist()), self.slopes[classes][:, order]
        return replace(
            self, columns=new_columns, scale=scale, base=self.base[classes], slopes=slopes
        )

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return self.base.size + self.slopes.size

    # ---- scores ----------------------------------------------------------------------------------

    @cached_property
    def _packed(self) -> Float64:
        """The slopes in the format of the kernel."""
        return pack_lines(self.slopes)

    def evidence(self, Z: Float64) -> Float64:
        """As the base class."""
        return behind_best(projected(Z, self._packed, self.base))

    def shares(self, Z: Float64, evidence: Float64) -> Float64:
        """The share of each number in `evidence` (n, C): slope times value, (n, C, k)."""
        return bounded(Z[:, np.newaxis] * self.slopes, evidence, self.base)

    # ---- for people ------------------------------------------------------------------------------

    def what(self, columns: Sequence[Column], texts: Collection[int]) -> str:
        """As the base class."""
        return "logistic regression"

    # ---- files and exports -----------------------------------------------------------------------

    @classmethod
    def stored(cls, blocks: Sequence[Linear]) -> Arrays:
        """``linear.centre``, ``spread``, ``base`` and ``slopes``, of the only block."""
        (block,) = blocks
        return {
            "linear.centre": block.scale.centre,
            "linear.spread": block.scale.spread,
            "linear.base": block.base,
            "linear.slopes": block.slopes,
        }

    @classmethod
    def read(
        cls, arrays: Arrays, places: Sequence[tuple[int, ...]], columns: Sequence[Column],
        n_classes: int,
    ) -> list[Linear]:  # fmt: skip
        """As the base class."""
        if len(places) != 1:
            raise ValueError(f"it has {len(places)} blocks of logistic regression")
        scale = read_scale(arrays, "linear.", places[0], columns)
        base = checked_numbers(arrays, "linear.base", (n_classes,))
        slopes = checked_numbers(arrays, "linear.slopes", (n_classes, len(places[0])))
        return [cls(places[0], scale, base, slopes)]

    def term(self, names: Sequence[str], columns: Sequence[Column], weight: float) -> Density:
        """As the base class."""
        return self.density(names, weight, self.base, self.slopes, None)


@dataclass(frozen=True, eq=False)
class _OutOfFoldLinear(OutOfFoldNumbers):
    """As the base class."""

    @cached_property
    def _all(self) -> Float32:
        """The evidence of distinct rows without each fold, and of all: (R, folds + 1, C - 1)."""
        entries, block = self.entries, self.block
        assert isinstance(block, Linear)
        Z = block.scale.rows(block.columns, entries.codes, entries.levels)
        evidence = [relative(model.evidence(Z)) for model in (*self.without, block)]
        return np.stack(evidence, axis=1)

    def add_all(self, weight: float, rows: npt.NDArray[np.intp], out: Float32) -> None:
        """As the base class; the folds are those of the first assignment alone."""
        first = self.entries.repeat[rows] == 0
        out[first] += np.float32(weight) * self._all[self.entries.row[rows[first]]]
