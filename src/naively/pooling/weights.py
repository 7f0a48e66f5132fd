"""Estimate the weights of evidence: maximise the out-of-fold likelihood minus a ridge.

The score of class c is log π_c + b_c + Σ_k w_k e_kc(x). The weights w and biases b maximise the
conditional log-likelihood of rows whose evidence was estimated without their fold, minus a ridge,
which makes the problem strictly concave. The strength of the ridge is chosen by the log-loss of
groups of folds that the weights were not estimated from. With very many classes the biases are 0.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.workers import SERIAL, Workers
from naively.kernels import scores as kernel
from naively.pooling.folds import OutOfFoldPredictions

RIDGES = (0.3, 3.0, 30.0, 300.0, 3000.0)
"""Ridges of the first blocks, on the distance of each weight from their mean."""
MORE_RIDGES = (0.1, 1.0, 10.0, 100.0)
"""Ridges of added blocks, on the distance of each weight from 0."""
LEAST, BIAS = 0.1, 0.1
"""Ridges on all weights and on the biases, which keep them finite if classes are separable."""
BIASED = 256
"""Classes up to which there are biases: the curvature has the square of their number."""
GROUPS = 5
"""Groups of folds; each is held out to choose the ridge."""
WORSE = 1.002
"""If the log-loss is this many times the best, weaker ridges are not tried."""
RENEWED = (3, 8, 14, 20, 30)
"""Steps of Newton's method after which the curvature is computed again,"""
TERMS = 4_000_000
"""from this many numbers of evidence, at most."""
SHORTEST = 1e-9
"""Fraction of a step that is tried, at least: overconfident models make far too long steps."""
ALONE = 1_000_000
"""Numbers of evidence up to which one worker is faster than several."""
STEPS, AGAIN = 40, 3
"""Steps, at most: for the weights, and for the weights without a group."""
CLOSE, NEAR = 1e-5, 1e-3
"""Share of the loss that a step must promise; share below which the weights without a group take
the step without evaluating the loss there."""

Float32 = npt.NDArray[np.float32]
T = TypeVar("T")


# ---- evidence ------------------------------------------------------------------------------------


class Said(NamedTuple):
    """Predictions of entries, (n,) each.

    Attributes
    ----------
    bare, losses : -log P(c | x) of the entry's class before and after prior mixing.
    sure : P(c | x) of the most probable class.
    right : whether that is the entry's class.
    """

    bare: Float32
    losses: Float32
    sure: Float32
    right: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Piece:
    """Entries with their evidence, as a task of a worker.

    All scores are relative to the first class, so that two classes need one number.

    Attributes
    ----------
    evidence : (K, C - 1, n) float32, in nats.
    base : (C - 1, n) float32, log π_c.
    y, weight, group : (n,) class, weight and group of each entry.
    """

    evidence: Float32
    base: Float32
    y: Int64
    weight: Float32
    group: Int64

    @cached_property
    def flat(self) -> Float32:
        """The evidence as a matrix, one row for each block."""
        return self.evidence.reshape(len(self.evidence), -1)

    @cached_property
    def own(self) -> tuple[Int64, Int64]:
        """Where the entries' classes are among the probabilities of all but the first class."""
        rows = np.flatnonzero(self.y)
        return self.y[rows] - 1, rows

    @cached_property
    def groups(self) -> list[tuple[int, slice, Float32]]:
        """For each group: (the group, the slice of its entries, their evidence by block).

        Entries are sorted by group. The evidence is a view if there is one group.
        """
        group_ids, starts = np.unique(self.group, return_index=True)
        groups = []
        for group, start, stop in zip(
            group_ids, starts, [*starts[1:], len(self.group)], strict=True
        ):
            evidence = self.evidence[:, :, start:stop].reshape(len(self.evidence), -1)
            groups.append((int(group), slice(start, stop), evidence))
        return groups

    def parted(self, x: Float64) -> tuple[Float32, Float32]:
        """Split (V, K + C) into weights (V, K) and biases relative to the first class, (V, C - 1).

        The biases of (V, K) are 0.
        """
        blocks = len(self.evidence)
        w, bias = x[:, :blocks].astype(np.float32), x[:, blocks:].astype(np.float32)
        if not bias.size:
            return w, np.zeros((len(x), len(self.base)), np.float32)
        return w, bias[:, 1:] - bias[:, :1]

    def expected(self, x: Float64) -> tuple[Float32, Float32]:
        """Probabilities of all but the first class, (V, C - 1, n), and losses of entries, (V, n).

        `x`, (V, K + C) or (V, K), holds V vectors of weights and biases.
        """
        w, bias = self.parted(x)
        proba = _product(w, self.flat).reshape(-1, *self.base.shape)
        losses = np.empty((len(x), len(self.y)), np.float32)
        kernel.expect(proba, self.base, bias, self.y, losses)
        return proba, losses

    def slopes(self, x: Float64, groups: int) -> tuple[Float64, Float64]:
        """The loss of each group, (V, groups), and its gradient, (V, groups, K + C).

        `x` is as in `expected`.
        """
        residuals, losses = self.expected(x)
        residuals[:, *self.own] -= np.float32(1)  # expected minus actual
        residuals *= self.weight
        losses *= self.weight
        n_blocks = len(self.evidence)
        group_losses, slopes = np.zeros((len(x), groups)), np.zeros((len(x), groups, x.shape[1]))
        for group, entries, flat in self.groups:
            group_losses[:, group] = losses[:, entries].sum(axis=1, dtype=np.float64)
            group_residuals = residuals[:, :, entries]
            slopes[:, group, :n_blocks] = _product(
                group_residuals.reshape(len(x), flat.shape[1]), flat.T
            )
            if x.shape[1] > n_blocks:
                bias_slopes = group_residuals.sum(axis=2, dtype=np.float64)
                slopes[:, group, n_blocks] = -bias_slopes.sum(axis=1)
                slopes[:, group, n_blocks + 1 :] = bias_slopes
        return group_losses, slopes

    def doubted(self, proba: Float32, losses: Float32, doubt: float) -> tuple[Float32, Float32]:
        """Probabilities and losses, mixed with the class prior by a share of `doubt`."""
        logits = np.concatenate([np.zeros_like(self.base[:1]), self.base])
        log_prior = logits - np.logaddexp.reduce(logits, axis=0)
        true_log_prior = log_prior[self.y, np.arange(len(self.y))]
        log_share = np.log1p(-doubt) if doubt < 1 else -np.inf
        log_likelihood = np.logaddexp(
            np.float32(log_share) - losses, np.float32(np.log(doubt)) + true_log_prior
        )
        return (1 - doubt) * proba + doubt * np.exp(log_prior[1:]), -log_likelihood

    def said(self, x: Float64, doubt: float) -> Said:
        """Predict each entry by the weights of its group, mixed with π by a share of `doubt`.

        `x` is (groups, K + C) or (groups, K).
        """
        w, bias = self.parted(x)
        proba = np.empty((1, *self.base.shape), np.float32)
        losses = np.empty((1, len(self.y)), np.float32)
        for group, entries, flat in self.groups:
            proba[0, :, entries] = _product(w[group], flat).reshape(len(self.base), -1)
            proba[0, :, entries] += bias[group][:, np.newaxis]
        kernel.expect(proba, self.base, np.zeros_like(bias[:1]), self.y, losses)
        proba, unmixed_losses = proba[0], losses[0]
        proba, mixed_losses = (
            self.doubted(proba, unmixed_losses, doubt) if doubt else (proba, unmixed_losses)
        )
        first_proba, top_proba = 1 - proba.sum(axis=0), proba.max(axis=0)
        predicted = np.where(first_proba >= top_proba, 0, proba.argmax(axis=0) + 1)
        return Said(
            unmixed_losses, mixed_losses, np.maximum(first_proba, top_proba), predicted == self.y
        )

    def shifted(self, shift: Float64) -> Piece:
        """The same entries with log π higher by `shift`, (C,), and weights that follow it."""
        base = self.base + (shift[1:] - shift[:1]).astype(np.float32)[:, np.newaxis]
        weight = self.weight * np.exp(shift).astype(np.float32)[self.y]
        return Piece(self.evidence, base, self.y, weight, self.group)

    def some(self, rows: slice | npt.NDArray[np.intp]) -> Piece:
        """Some of the entries."""
        evidence = np.ascontiguousarray(self.evidence[:, :, rows])
        base = np.ascontiguousarray(self.base[:, rows])
        y = np.ascontiguousarray(self.y[rows])
        return Piece(evidence, base, y, self.weight[rows], self.group[rows])

    def apart(self) -> list[tuple[npt.NDArray[np.intp], Piece]]:
        """The indices and the entries of each group."""
        groups = [np.flatnonzero(self.group == group) for group in np.unique(self.group)]
        return [(rows, self.some(rows) if len(groups) > 1 else self) for rows in groups]

    def together(self) -> tuple[npt.NDArray[np.intp], Piece]:
        """The entries sorted by group, and their indices."""
        rows = np.argsort(self.group, kind="stable")
        return rows, self.some(rows)

    def curvature(self, x: Float64) -> Float64:
        """The second derivatives of the loss, (K + C, K + C)."""
        n_blocks, n = len(self.evidence), len(self.y)
        proba = self.expected(x[np.newaxis])[0][0]
        hessian = np.empty((len(x), len(x)))
        if len(proba) == 1:  # with two classes the variance is p (1 - p)
            share = self.weight * proba[0] * (1 - proba[0])
            if len(x) > n_blocks:
                hessian[n_blocks:, :n_blocks] = np.multiply.outer([-1.0, 1.0], self.flat @ share)
                hessian[n_blocks:, n_blocks:] = share.sum(dtype=np.float64) * np.array(
                    [[1, -1], [-1, 1]]
                )
                hessian[:n_blocks, n_blocks:] = hessian[n_blocks:, :n_blocks].T
            flat = self.flat * np.sqrt(share)
            hessian[:n_blocks, :n_blocks] = _product(flat, flat.T)
            return hessian
        deviations = np.zeros((n_blocks, len(proba) + 1, n), np.float32)
        deviations[:, 1:] = self.evidence
        deviations -= np.einsum("kcn,cn->kn", self.evidence, proba)[:, np.newaxis]
        proba = np.concatenate([np.maximum(1 - proba.sum(axis=0, keepdims=True), 0), proba])
        share = self.weight * proba
        if len(x) > n_blocks:
            hessian[n_blocks:, :n_blocks] = np.einsum("kcn,cn->ck", deviations, share)
            hessian[:n_blocks, n_blocks:] = hessian[n_blocks:, :n_blocks].T
            hessian[n_blocks:, n_blocks:] = np.diag(share.sum(axis=1)) - _product(share, proba.T)
        deviations *= np.sqrt(share)
        flat = deviations.reshape(n_blocks, -1)
        hessian[:n_blocks, :n_blocks] = _product(flat, flat.T)
        return hessian


def _product(a: Float32, b: Float32) -> Float32:
    """a @ b, without warnings.

    Rarely, BLAS reports an invalid operation in a valid product, because it may read beyond its
    operands (numpy issue 13173). The loss shows whether the product was valid.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return a @ b


# ---- weights -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Weights:
    """The estimated weights of blocks.

    Attributes
    ----------
    of_blocks : (K,)
    bias : (C,), in nats.
    ridge : the chosen strength of the ridge.
    out_of_fold : predictions of each group by weights without it.
    """

    of_blocks: Float64
    bias: Float64
    ridge: float
    out_of_fold: OutOfFoldPredictions

    @property
    def log_loss(self) -> float:
        """Out-of-fold log-loss, in nats per row."""
        return self.out_of_fold.log_loss


@dataclass(frozen=True)
class _Place:
    """The loss and its gradient at some weights, by group of entries.

    Attributes
    ----------
    x : (K + C,) or (K,)
    losses, slopes : (G,) and (G, K + C) the loss and its gradient, without the ridge.
    """

    x: Float64
    losses: Float64
    slopes: Float64

    def without(self, group: int) -> _Place:
        """The same as if a group had no entries."""
        mask = np.arange(len(self.losses)) != group
        return _Place(self.x, self.losses * mask, self.slopes * mask[:, np.newaxis])

    def under(self, penalty: Float64) -> tuple[float, Float64]:
        """The loss and its gradient with the ridge."""
        ridge_gradient = penalty @ self.x
        loss = float(self.losses.sum()) + 0.5 * float(self.x @ ridge_gradient)
        return loss, self.slopes.sum(axis=0) + ridge_gradient


Asked = tuple[Float64, int | None]
"""Weights to evaluate, and a group to leave out or None."""
Search = Generator[Asked, _Place, T]
"""A generator that yields weights to evaluate, receives their losses, and returns its result."""


class Pool:
    """Estimate the weights of evidence.

    Parameters
    ----------
    pieces : of the entries.
    added : (K,) bool, the blocks whose weights are shrunk towards 0.
    workers : Workers
    doubt : share of π that is mixed into out-of-fold predictions.
    shift : (C,) by how much log π is higher where the model is used; None if it is the same.
    biased : whether classes have biases.
    free : (K,) bool, the blocks whose weights are not shrunk, except by `LEAST`.
    """

    def __init__(
        self, pieces: Sequence[Piece], added: npt.NDArray[np.bool_], workers: Workers,
        doubt: float = 0.0, shift: Float64 | None = None, biased: bool = True,
        free: npt.NDArray[np.bool_] | None = None,
    ) -> None:  # fmt: skip
        is_large = sum(piece.evidence.size for piece in pieces) > ALONE
        self.pieces, indices, offset = list[Piece](), [], 0
        for piece in pieces:
            for rows, group_piece in piece.apart() if is_large else [piece.together()]:
                self.pieces.append(group_piece)
                indices.append(offset + rows)
            offset += len(piece.y)
        self.given, self.doubt = np.concatenate(indices), doubt
        self.shift = shift if shift is not None and shift.any() else None
        self.added, self.workers = added, workers if is_large else SERIAL
        self.free = np.zeros(len(added), bool) if free is None else free
        self.blocks, self.classes = len(added), len(pieces[0].base) + 1
        self.size = self.blocks + (self.classes if biased and self.classes <= BIASED else 0)
        n = sum(len(piece.y) for piece in self.pieces)
        step = max(1, n * self.classes * self.blocks // TERMS)
        sample = slice(None, None, step)
        self.few = [piece.some(sample) if step > 1 else piece for piece in self.pieces]
        self.more = n / sum(len(piece.y) for piece in self.few)

    def best(self, ridge: float | None, start: Float64 | None, shared: bool = False) -> Weights:
        """The weights with the ridge that has the least out-of-fold log-loss.

        Parameters
        ----------
        ridge : of the first blocks, if known; then the ridge of the added blocks is chosen.
        start : (K + C,) where to begin.
        shared : whether to use the strongest ridge, by which the first blocks share one weight.
        """
        ridges = (RIDGES[-1:] if shared else RIDGES) if ridge is None else MORE_RIDGES
        best_weights, best_out_of_fold, best_ridge, least_loss = None, None, 0.0, np.inf
        # start from 0, where no prediction is confident, so that all rows have a gradient
        place = self._place(np.zeros(self.size) if start is None else start[: self.size])
        curve = None
        for candidate in sorted(ridges, reverse=True):
            penalty = self._penalty(candidate if ridge is None else ridge, candidate)
            place, curve = self._solved(penalty, place, curve)
            loss, out_of_fold = self._left_out(penalty, place, curve)
            if best_out_of_fold is None or loss < least_loss:
                best_weights, best_out_of_fold, best_ridge, least_loss = (
                    place.x,
                    out_of_fold,
                    candidate,
                    loss,
                )
            elif loss > WORSE * least_loss:
                break
        assert best_weights is not None
        assert best_out_of_fold is not None
        bias = np.zeros(self.classes)
        bias[: self.size - self.blocks] = best_weights[self.blocks :]
        return Weights(best_weights[: self.blocks], bias, best_ridge, best_out_of_fold)

    def at(self, ridge: float, start: Weights) -> Float64:
        """The weights (K,) for a given ridge, starting from other weights that are close."""
        place = self._place(np.concatenate([start.of_blocks, start.bias])[: self.size])
        return self._solved(self._penalty(ridge, ridge), place, None)[0].x[: self.blocks]

    def apart(self, ridge: float, start: Weights) -> Float64:
        """The weights and biases without each group, (GROUPS, K + C), for the chosen ridge."""
        penalty = self._penalty(ridge, ridge)
        place = self._place(np.concatenate([start.of_blocks, start.bias])[: self.size])
        return self._without_groups(penalty, *self._solved(penalty, place, None))

    def alone(self, ridge: float = 0.0) -> tuple[float, Float64]:
        """The training log-loss, in nats per row, and the weights for this ridge."""
        place, _ = self._solved(self._penalty(ridge, ridge), self._place(np.zeros(self.size)), None)
        total_weight = sum(float(piece.weight.sum(dtype=np.float64)) for piece in self.pieces)
        return float(place.losses.sum()) / max(total_weight, 1e-300), place.x[: self.blocks]

    def losses(self, ridge: float, start: Weights, factors: Sequence[float]) -> Float64:
        """Out-of-fold losses of the entries, in their original order, (F, n).

        Parameters
        ----------
        ridge : the chosen ridge.
        start : the estimated weights.
        factors : (F,) by which the weights are multiplied.
        """
        penalty = self._penalty(ridge, ridge)
        place, curve = self._solved(penalty, self._place(start.of_blocks), None)
        weights = self._without_groups(penalty, place, curve)
        order = np.argsort(self.given)
        return np.array([
            np.concatenate(self.workers.map(
                lambda piece: piece.said(weights * factor, 0.0).bare, self.pieces))[order]  # noqa: B023
            for factor in factors
        ])  # fmt: skip

    def _without_groups(self, penalty: Float64, place: _Place, curve: Float64) -> Float64:
        """The weights without each group, (GROUPS, K + C)."""
        inverse = _inverse(curve * (1 - 1 / GROUPS) + penalty)
        return np.array(self._found([
            self._moved(penalty, place, inverse, group) for group in range(GROUPS)
        ]))  # fmt: skip

    def _left_out(
        self, penalty: Float64, place: _Place, curve: Float64
    ) -> tuple[float, OutOfFoldPredictions]:
        """The out-of-fold log-loss before prior mixing, and the predictions after it."""
        weights = self._without_groups(penalty, place, curve)

        def said(piece: Piece) -> Said:
            return piece.said(weights, self.doubt)

        unshifted = self._out_of_fold(self.workers.map(said, self.pieces), self.pieces)
        if self.shift is None:
            return unshifted
        pieces = [piece.shifted(self.shift) for piece in self.pieces]
        return unshifted[0], self._out_of_fold(self.workers.map(said, pieces), pieces)[1]

    def _out_of_fold(
        self, found: list[Said], pieces: Sequence[Piece]
    ) -> tuple[float, OutOfFoldPredictions]:
        """The log-loss before prior mixing, and the predictions in the original order."""
        order = np.argsort(self.given)
        unmixed_losses, *predictions = (
            np.concatenate(values)[order] for values in zip(*found, strict=True)
        )
        losses, sure, right = predictions
        weight = np.concatenate([piece.weight for piece in pieces])[order]
        total_weight = max(float(weight.sum(dtype=np.float64)), 1e-300)
        unmixed_loss, loss = (
            float((weight * values).sum(dtype=np.float64)) / total_weight
            for values in (unmixed_losses, losses)
        )
        return unmixed_loss, OutOfFoldPredictions(loss, sure, right, weight, losses)

    def _penalty(self, ridge: float, more: float) -> Float64:
        """The matrix R of the ridge ½ xᵀ R x."""
        first_blocks = np.flatnonzero(~self.added & ~self.free)
        matrix = np.zeros((self.size, self.size))
        matrix[np.ix_(first_blocks, first_blocks)] = ridge * (
            np.eye(len(first_blocks)) - 1 / max(1, len(first_blocks))
        )
        diagonal = np.full(len(matrix), BIAS)
        diagonal[: self.blocks] = np.where(self.added, max(more, LEAST), LEAST)
        return matrix + np.diag(diagonal)

    def _moved(
        self, penalty: Float64, place: _Place, inverse: Float64, group: int
    ) -> Search[Float64]:
        """The weights without a group, from those of all groups, which are close."""
        place = place.without(group)
        for _ in range(AGAIN):
            loss, slope = place.under(penalty)
            direction = -(inverse @ slope)
            descent = -float(slope @ direction)
            if descent < CLOSE * max(1.0, abs(loss)):
                break
            if descent < NEAR * loss:
                return place.x + direction
            next_place = yield from self._downhill(place, penalty, direction, group)
            if next_place is None:
                break
            place = next_place
        return place.x

    def _solved(
        self, penalty: Float64, place: _Place, curve: Float64 | None
    ) -> tuple[_Place, Float64]:
        """The weights and the curvature, by Newton's method with few curvature evaluations."""
        if not np.isfinite(place.losses).all():
            raise FloatingPointError("the evidence that is weighed is not finite")
        inverse = None
        for step in range(STEPS):
            if curve is None or step in RENEWED:
                curve, inverse = self._curvature(place.x), None
            if inverse is None:
                inverse = _inverse(curve + penalty)
            loss, slope = place.under(penalty)
            direction = -(inverse @ slope)
            if -float(slope @ direction) < CLOSE * max(1.0, abs(loss)):
                break
            (next_place,) = self._found([self._downhill(place, penalty, direction)])
            if next_place is None:
                break
            place = next_place
        assert curve is not None
        return place, curve

    def _downhill(
        self, place: _Place, penalty: Float64, direction: Float64, without: int | None = None
    ) -> Search[_Place | None]:
        """Backtracking: the first point along a step where the loss falls enough; None if none."""
        loss, slope = place.under(penalty)
        descent, length = -float(slope @ direction), 1.0
        while length > SHORTEST:
            candidate = yield place.x + length * direction, without
            # Armijo's condition
            if candidate.under(penalty)[0] <= loss - 1e-4 * length * descent:
                return candidate
            length /= 4
        return None

    def _found(self, searches: Sequence[Search[T]]) -> list[T]:
        """Run searches together: the weights that they yield are evaluated in one call."""
        results = dict[int, T]()
        responses: dict[int, Any] = dict.fromkeys(range(len(searches)))  # None starts a generator
        while responses:
            requests = dict[int, Asked]()
            for k, place in responses.items():
                try:
                    requests[k] = searches[k].send(place)
                except StopIteration as end:
                    results[k] = end.value
            responses = dict(zip(requests, self._places([*requests.values()]), strict=True))
        return [results[k] for k in range(len(searches))]

    def _place(self, x: Float64) -> _Place:
        """The loss of all groups at some weights."""
        return self._places([(x, None)])[0]

    def _places(self, asked: Sequence[Asked]) -> list[_Place]:
        """The losses of groups at several weights."""
        if not asked:
            return []
        x, groups = np.array([values for values, _ in asked]), np.arange(GROUPS)
        counts = np.array([groups != without for _, without in asked])

        def told(piece: Piece) -> tuple[Float64, Float64]:
            has_groups = counts[:, [group for group, *_ in piece.groups]].any(axis=1)
            losses, slopes = np.zeros((len(x), GROUPS)), np.zeros((len(x), GROUPS, self.size))
            losses[has_groups], slopes[has_groups] = piece.slopes(x[has_groups], GROUPS)
            return losses, slopes

        results = self.workers.map(told, self.pieces)
        losses, slopes = (np.sum(values, axis=0) for values in zip(*results, strict=True))
        return [*map(_Place, x, losses * counts, slopes * counts[:, :, np.newaxis])]

    def _curvature(self, x: Float64) -> Float64:
        """The second derivatives of the loss, from a sample if entries are many."""
        hessians = self.workers.map(lambda few: few.curvature(x), self.few)
        return np.sum(hessians, axis=0) * self.more


def _inverse(matrix: Float64) -> Float64:
    """The inverse of a matrix, slightly damped."""
    size = len(matrix)
    return np.linalg.inv(matrix + 1e-7 * np.trace(matrix) / size * np.eye(size))
