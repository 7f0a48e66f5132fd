"""Fit multinomial logistic regression with a ridge, on all rows and without each fold at once.

The score of class c is log π_c + b_c + Σ_j W_cj z_j. Slopes and intercepts minimise the log-loss
of the rows plus λ/2 Σ W², which is strictly convex and the same in any rotation of z. So z is
rotated to its principal axes, where the curvature is nearly diagonal, and L-BFGS needs few steps
(Nocedal & Wright 2006, Numerical Optimization, algorithm 7.4). λ is chosen by the log-loss of the
held-out folds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.workers import Workers
from naively.formula import Density
from naively.kernels import scores as kernel
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
    principal_axes,
    projected,
    read_scale,
)
from naively.pooling.entries import PARTS
from naively.pooling.weights import Float32
from naively.statistics.base import Arrays

RIDGES = (1000.0, 200.0, 40.0, 8.0, 1.6, 0.3)
"""Values of λ, tried in this order as long as the out-of-fold log-loss falls."""
INTERCEPT = 0.1  # λ of the intercepts, which keeps them finite if one fold has all rows of a class
STEPS, MEMORY = 100, 10  # steps of L-BFGS, at most, and steps in its memory
CLOSE, SHORTEST = 1e-5, 1e-6
"""Share of the loss that a step must promise; fraction of a step that is tried, at least."""
BETTER = 0.999
"""If the out-of-fold log-loss is not below this many times the best, no weaker λ is tried."""
ROWS = 2048  # rows in one matrix product


@dataclass(frozen=True)
class Axes:
    """Rows in their principal axes."""

    Z: Float32  # (n, r + 1) float32, the rows in these axes, and 1
    back: Float64  # (r, k) from slopes in these axes to slopes of the columns
    spread: Float64  # (r + 1,) Σ_i w_i z_ij²

    @classmethod
    def of(cls, Z: Float64, weight: Float64) -> Self:
        """Find the axes of weighted rows (n, k)."""
        variance, back = principal_axes(Z, weight)
        coordinates = np.column_stack([Z @ back.T, np.ones(len(Z))]).astype(np.float32)
        return cls(coordinates, back, np.append(variance, weight.sum()))


@dataclass(frozen=True)
class _Place:
    """The current point of several problems."""

    lines: Float64  # (P, C, r + 1) slopes and, last, intercepts
    losses: Float64  # (P,) of the rows of each problem, with the ridge
    gradient: Float64  # (P, C, r + 1)
    left_out: Float64  # (P,) the loss of the held-out rows

    def some(self, which: npt.NDArray[Any]) -> _Place:
        """Some of the problems."""
        return _Place(*(values[which] for values in vars(self).values()))

    def put(self, which: npt.NDArray[Any], other: _Place) -> None:
        """Replace the points of some of the problems."""
        for name, values in vars(self).items():
            values[which] = getattr(other, name)


@dataclass(frozen=True)
class _Step:
    """The change of a step in the coefficients and the gradient, (P, C, r + 1) each."""

    lines: Float64
    gradient: Float64

    def some(self, which: npt.NDArray[np.bool_]) -> _Step:
        """Some of the problems."""
        return _Step(self.lines[which], self.gradient[which])


@dataclass(frozen=True)
class Folded:
    """The regressions without each fold, and on all rows."""

    axes: Axes
    # y, weight, part: (n,) class, weight and fold of each row
    y: Int64
    weight: Float64
    part: Int64
    priors: Float64  # (folds + 1, C) the class prior without each fold, and of all rows
    workers: Workers

    def best(self) -> Float64:
        """Slopes and intercepts (folds + 1, C, r + 1) for the λ of least out-of-fold log-loss."""
        folds, classes = len(self.priors) - 1, self.priors.shape[1]
        best_lines = lines = np.zeros((folds, classes, len(self.axes.spread)))
        best_ridge, least_loss = RIDGES[0], np.inf
        for ridge in RIDGES:
            place = self.solved(ridge, np.arange(folds), lines)
            lines, loss = place.lines, float(place.left_out.sum())
            if loss < least_loss:
                best_lines, best_ridge = lines, ridge
            if loss > BETTER * least_loss:
                break
            least_loss = min(loss, least_loss)
        start = best_lines.mean(axis=0, keepdims=True)
        all_rows = self.solved(best_ridge, np.array([folds]), start)
        return np.concatenate([best_lines, all_rows.lines])

    def solved(self, ridge: float, which: npt.NDArray[np.intp], start: Float64) -> _Place:
        """Solve some problems for one λ, starting from other solutions that are close."""
        penalty = np.append(np.full(len(self.axes.spread) - 1, ridge), INTERCEPT)
        place = self._place(which, start.copy(), penalty)
        curve = self._mean_variance(which[0], start[0]) * self.axes.spread + penalty
        active, current, steps = np.arange(len(which)), place, list[_Step]()
        for _ in range(STEPS):
            direction = _direction(current.gradient, curve, steps)
            descent = -_dot(current.gradient, direction)
            is_open = descent > CLOSE * np.maximum(1.0, current.losses)
            if not is_open.any():
                break
            active, current = active[is_open], current.some(is_open)
            steps = [step.some(is_open) for step in steps[-MEMORY + 1 :]]
            direction, descent = direction[is_open], descent[is_open]
            lower = self._downhill(which[active], current, direction, descent, penalty)
            steps.append(_Step(lower.lines - current.lines, lower.gradient - current.gradient))
            current = lower
            place.put(active, current)
        return place

    def _downhill(
        self, which: npt.NDArray[np.intp], now: _Place, direction: Float64, descent: Float64,
        penalty: Float64,
    ) -> _Place:  # fmt: skip
        """Backtracking: points along the steps where the losses fall enough."""
        places, length, searching = now.some(np.arange(len(which))), 1.0, np.arange(len(which))
        while len(searching) and length > SHORTEST:
            points = now.lines[searching] + length * direction[searching]
            trial = self._place(which[searching], points, penalty)
            # Armijo's condition
            is_lower = trial.losses <= now.losses[searching] - 1e-4 * length * descent[searching]
            places.put(searching[is_lower], trial.some(is_lower))
            searching, length = searching[~is_lower], length / 4
        return places

    def _mean_variance(self, problem: int, lines: Float64) -> float:
        """The mean of p (1 - p) over some rows of one problem."""
        logits = self.axes.Z[:ROWS] @ lines.T.astype(np.float32) + np.log(self.priors[problem])
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return max(float((p * (1 - p)).mean()), 1e-4)

    def _place(self, which: npt.NDArray[np.intp], lines: Float64, penalty: Float64) -> _Place:
        """Losses and gradients of some of the problems."""
        n_problems, n_classes, width = lines.shape
        Z, prior = self.axes.Z, np.log(self.priors[which])
        bias = (prior[:, 1:] - prior[:, :1]).astype(np.float32)
        flat = (lines[:, 1:] - lines[:, :1]).reshape(-1, width).astype(np.float32)

        def some(start: int) -> tuple[Float64, Float64, Float64]:
            rows = slice(start, start + ROWS)
            z, y, weight = Z[rows], self.y[rows], self.weight[rows].astype(np.float32)
            n = len(z)
            proba = (flat @ z.T).reshape(n_problems, n_classes - 1, n)
            row_losses, base = np.empty((n_problems, n), np.float32), np.zeros_like(proba[0])
            kernel.expect(proba, base, bias, y, row_losses)
            not_first = np.flatnonzero(y)
            proba[:, y[not_first] - 1, not_first] -= np.float32(1)
            training_weight = weight * (self.part[rows] != which[:, np.newaxis])
            proba *= training_weight[:, np.newaxis]
            losses = (row_losses * training_weight).sum(axis=1, dtype=np.float64)
            left_out = (row_losses * (weight - training_weight)).sum(axis=1, dtype=np.float64)
            return losses, left_out, proba.reshape(-1, n) @ z

        results = zip(*self.workers.map(some, range(0, len(Z), ROWS)), strict=True)
        losses, left_out, sums = (sum(parts, np.zeros(())) for parts in results)
        slopes = sums.reshape(n_problems, n_classes - 1, width)
        gradient = np.concatenate([-slopes.sum(axis=1, keepdims=True), slopes], axis=1)
        ridge_gradient = penalty * lines
        losses = losses + 0.5 * _dot(lines, ridge_gradient)
        return _Place(lines, losses, gradient + ridge_gradient, left_out)


def _direction(gradient: Float64, curve: Float64, steps: Sequence[_Step]) -> Float64:
    """The L-BFGS direction; `curve` is the diagonal of the initial second derivatives."""
    direction, alphas = -gradient, list[Float64]()
    for step in reversed(steps):
        alphas.append(_ratio(_dot(step.lines, direction), _dot(step.lines, step.gradient)))
        direction = direction - alphas[-1] * step.gradient
    direction = direction / curve
    if steps:
        latest = steps[-1]
        curved = _dot(latest.gradient, latest.gradient / curve)
        direction *= _ratio(_dot(latest.lines, latest.gradient), curved, 1.0)
    for step, alpha in zip(steps, reversed(alphas), strict=True):
        beta = _ratio(_dot(step.gradient, direction), _dot(step.lines, step.gradient))
        direction += (alpha - beta) * step.lines
    return direction


def _ratio(a: Float64, b: Float64, otherwise: float = 0.0) -> Float64:
    """a / b of each problem, (P, 1, 1), or another number where b is not positive."""
    ratio = np.divide(a, b, where=b > 0, out=np.full(a.shape, otherwise))
    return ratio[:, np.newaxis, np.newaxis]


def _dot(a: Float64, b: Float64) -> Float64:
    """The scalar product of each problem, (P,)."""
    product: Float64 = np.einsum("pcj,pcj->p", a, b)
    return product


# ---- linear --------------------------------------------------------------------------------------


FEWEST, WIDEST = 20, 2000
"""Columns from which this block is fitted (with fewer, pairs are better evidence); columns or rows,
whichever are fewer, up to which it is fitted."""
FITTED, LEAST_FITTED, EACH = 8_000_000, 5000, 20
"""Rows × columns × classes that slopes are fitted to, at most; but at least this many rows, and
this many per column."""
PROBABILITY = 30  # columns that take as long as computing the probability of a class


@dataclass(frozen=True)
class Linear(Standardised):
    """Logistic regression of standardised numbers."""

    # base, slopes: (C,) and (C, k), in nats, and nats per standard deviation
    base: Float64
    slopes: Float64

    tag = "linear"
    optional = True

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
        lines = Folded(axes, once.y[sample], weight, once.part[sample], priors, rows.workers).best()
        slopes = lines[:, :, :-1] @ axes.back
        pairs = zip(lines, slopes, strict=True)
        blocks = [
            cls(columns, scale, of_fold[:, -1], fold_slopes) for of_fold, fold_slopes in pairs
        ]
        yield _OutOfFoldLinear.of(blocks[PARTS], blocks[:PARTS], entries, entries.home, Z)

    def among(self, at: Int64, order: Int64, classes: Int64, columns: Sequence[Column]) -> Linear:
        """As the base class."""
        scale = Scale(self.scale.centre[order], self.scale.spread[order])
        at_columns = tuple(at[order].tolist())
        base, slopes = self.base[classes], self.slopes[classes][:, order]
        return replace(self, columns=at_columns, scale=scale, base=base, slopes=slopes)

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        return self.base.size + self.slopes.size

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

    def what(self, columns: Sequence[Column], texts: Collection[int]) -> str:
        """As the base class."""
        return "logistic regression"

    @classmethod
    def stored(cls, blocks: Sequence[Linear]) -> Arrays:
        """``linear.centre``, ``spread``, ``base`` and ``slopes``, of the only block."""
        (block,) = blocks
        scale = {"linear.centre": block.scale.centre, "linear.spread": block.scale.spread}
        return scale | {"linear.base": block.base, "linear.slopes": block.slopes}

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
