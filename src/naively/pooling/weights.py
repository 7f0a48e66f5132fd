"""Estimate the weights of evidence: maximise the out-of-fold likelihood minus a ridge.

The score of class c is log π_c + b_c + Σ_k w_k e_kc(x). The weights w and biases b maximise the
conditional log-likelihood of rows whose evidence was estimated without their fold, minus a ridge,
which makes the problem strictly concave. The strength of the ridge is chosen by the log-loss of
each row by weights without it: approximate leave-one-out, one step of Newton's method from the
weights of all rows (Pregibon 1981, Annals of Statistics 9; Rad & Maleki 2020, Journal of the Royal
Statistical Society B 82), for a sample if rows are many. With very many classes the biases are 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.workers import SERIAL, Workers
from naively.kernels import scores as kernel
from naively.pooling.entries import OutOfFoldPredictions

RIDGES = (0.3, 3.0, 30.0, 300.0, 3000.0)
"""Ridges of the first blocks, on the distance of each weight from their mean."""
MORE_RIDGES = (0.1, 1.0, 10.0, 100.0)
"""Ridges of added blocks, on the distance of each weight from 0."""
LEAST, BIAS = 0.1, 0.1
"""Ridges on all weights and on the biases, which keep them finite if classes are separable."""
BIASED = 256  # classes up to which there are biases: the curvature has the square of their number
WORSE = 1.002  # if the log-loss is this many times the best, weaker ridges are not tried
RENEWED = (3, 8, 14, 20, 30)
"""Steps of Newton's method after which the curvature is computed again."""
TERMS, SAMPLED = 4_000_000, 20_000
"""Size of the sample that gives the curvature and the ridge, in numbers of evidence and in entries;
it is never twice as large."""
SHORTEST = 1e-9
"""Fraction of a step that is tried, at least: overconfident models make far too long steps."""
ALONE = 1_000_000  # numbers of evidence up to which one worker is faster than several
STEPS = 40  # steps, at most
CLOSE = 1e-5  # share of the loss that a step must promise
LEVERAGE, TINY = 0.9, np.float32(1e-12)
"""Leverage of a row, at most: it is below 1 but for rounding and the sampled curvature.
Probability of the other classes, at least."""

Float32 = npt.NDArray[np.float32]


# ---- evidence ------------------------------------------------------------------------------------


class EntryPredictions(NamedTuple):
    """Predictions of entries, (n,) each."""

    losses: Float32  # -log P(c | x) of the entry's class
    confidence: Float32  # P(c | x) of the most probable class
    correct: npt.NDArray[np.bool_]  # whether that is the entry's class


@dataclass(frozen=True)
class Piece:
    """Entries with their evidence, as a task of a worker.

    All scores are relative to the first class, so that two classes need one number.
    """

    evidence: Float32  # (K, C - 1, n) float32, in nats
    base: Float32  # (C - 1, n) float32, log π_c
    # y, weight: (n,) class and weight of each entry
    y: Int64
    weight: Float32

    @cached_property
    def flat(self) -> Float32:
        """The evidence as a matrix, one row for each block."""
        return self.evidence.reshape(len(self.evidence), -1)

    @cached_property
    def true_class_cells(self) -> tuple[Int64, Int64]:
        """Where the entries' classes are among the probabilities of all but the first class."""
        rows = np.flatnonzero(self.y)
        return self.y[rows] - 1, rows

    def split_parameters(self, x: Float64) -> tuple[Float32, Float32]:
        """Split (K + C,) into weights (K,) and biases relative to the first class, (C - 1,).

        The biases of (K,) are 0.
        """
        blocks = len(self.evidence)
        w, bias = x[:blocks].astype(np.float32), x[blocks:].astype(np.float32)
        return w, bias[1:] - bias[:1] if bias.size else np.zeros(len(self.base), np.float32)

    def scores(self, x: Float64) -> Float32:
        """Scores relative to the base, (C - 1, n), by weights and biases (K + C,) or (K,)."""
        w, bias = self.split_parameters(x)
        return _product(w, self.flat).reshape(self.base.shape) + bias[:, np.newaxis]

    def expected(self, scores: Float32) -> tuple[Float32, Float32]:
        """Probabilities of all but the first class, (C - 1, n), and losses of entries, (n,).

        `scores` are relative to the base.
        """
        proba, losses = scores[np.newaxis].copy(), np.empty((1, len(self.y)), np.float32)
        no_bias = np.zeros((1, len(self.base)), np.float32)
        kernel.expect(proba, self.base, no_bias, self.y, losses)
        return proba[0], losses[0]

    def slopes(self, x: Float64) -> tuple[float, Float64]:
        """The loss, and its gradient (K + C,) or (K,)."""
        residuals, losses = self.expected(self.scores(x))
        residuals[self.true_class_cells] -= np.float32(1)  # expected minus actual
        residuals *= self.weight
        losses *= self.weight
        n_blocks, slopes = len(self.evidence), np.zeros(len(x))
        slopes[:n_blocks] = _product(self.flat, residuals.ravel())
        if len(x) > n_blocks:
            bias_slopes = residuals.sum(axis=1, dtype=np.float64)
            slopes[n_blocks], slopes[n_blocks + 1 :] = -bias_slopes.sum(), bias_slopes
        return float(losses.sum(dtype=np.float64)), slopes

    def left_out(self, x: Float64, inverse: Float64, copies: float) -> Float32:
        """Scores relative to the base by weights without each entry, (C - 1, n).

        With the gradient g of an entry's loss and the inverse H⁻¹ of the curvature of all, the
        weights without it are x + H⁻¹ g / (1 - h). The leverage h = gᵀ H⁻¹ g / (1 / p - 1) is
        exact for two classes; p is the probability of the entry's class.

        `x`: (K + C,) or (K,) weights of all entries. `inverse`: the inverse of the second
        derivatives of the loss with the ridge at x. `copies`: entries that a row has; all of them
        are left out.
        """
        scores, n_blocks = self.scores(x), len(self.evidence)
        residuals, _ = self.expected(scores)
        miss = residuals.sum(axis=0)  # 1 - p
        miss[self.true_class_cells[1]] = 1 - residuals[self.true_class_cells]
        residuals[self.true_class_cells] -= np.float32(1)
        weight = np.float32(copies) * self.weight
        odds = (1 - miss) / np.maximum(miss, TINY)
        if len(residuals) == 1:
            # the gradient is the residual times what the weights are multiplied by
            residual, form = residuals[0], self._form(inverse)
            leverage = weight * residual**2 * form * odds
            weight /= 1 - np.minimum(leverage, np.float32(LEVERAGE))
            return scores + residual * form * weight
        slopes = np.empty((len(x), len(self.y)), np.float32)
        slopes[:n_blocks] = self._summed(residuals)
        if len(x) > n_blocks:
            slopes[n_blocks], slopes[n_blocks + 1 :] = -residuals.sum(axis=0), residuals
        steps = _product(inverse.astype(np.float32), slopes)
        leverage = weight * (slopes * steps).sum(axis=0) * odds
        steps *= weight / (1 - np.minimum(leverage, np.float32(LEVERAGE)))
        for evidence, step in zip(self.evidence, steps, strict=False):
            scores += evidence * step
        if len(x) > n_blocks:
            scores += steps[n_blocks + 1 :] - steps[n_blocks]
        return scores

    def _form(self, matrix: Float64) -> Float32:
        """The quadratic form eᵀ M e of the evidence e of two classes, and of the biases, (n,)."""
        n_blocks = len(self.evidence)
        of_bias = np.array([-1.0, 1.0])[: len(matrix) - n_blocks]
        of_both = 2 * matrix[:n_blocks, n_blocks:] @ of_bias
        of_biases = of_bias @ matrix[n_blocks:, n_blocks:] @ of_bias
        product = _product(matrix[:n_blocks, :n_blocks].astype(np.float32), self.flat)
        product += of_both.astype(np.float32)[:, np.newaxis]
        form: Float32 = np.einsum("kn,kn->n", product, self.flat) + np.float32(of_biases)
        return form

    def _summed(self, values: Float32) -> Float32:
        """Σ_c of the evidence of each block times some values (C - 1, n): (K, n)."""
        summed: Float32 = np.einsum("kcn,cn->kn", self.evidence, values)
        return summed

    def mix_with_prior(
        self, proba: Float32, losses: Float32, prior_share: float
    ) -> tuple[Float32, Float32]:
        """Probabilities and losses, mixed with the class prior by a share of `prior_share`."""
        logits = np.concatenate([np.zeros_like(self.base[:1]), self.base])
        log_prior = logits - np.logaddexp.reduce(logits, axis=0)
        true_log_prior = log_prior[self.y, np.arange(len(self.y))]
        log_share = np.float32(np.log1p(-prior_share) if prior_share < 1 else -np.inf)
        log_prior_share = np.float32(np.log(prior_share))
        log_likelihood = np.logaddexp(log_share - losses, log_prior_share + true_log_prior)
        return (1 - prior_share) * proba + prior_share * np.exp(log_prior[1:]), -log_likelihood

    def predict(self, scores: Float32, prior_share: float) -> EntryPredictions:
        """Predict each entry by scores relative to the base, mixed with π by a share of
        `prior_share`.
        """
        proba, losses = self.expected(scores)
        if prior_share:
            proba, losses = self.mix_with_prior(proba, losses, prior_share)
        first_proba, top_proba = 1 - proba.sum(axis=0), proba.max(axis=0)
        predicted = np.where(first_proba >= top_proba, 0, proba.argmax(axis=0) + 1)
        return EntryPredictions(losses, np.maximum(first_proba, top_proba), predicted == self.y)

    def shifted(self, shift: Float64) -> Piece:
        """The same entries with log π higher by `shift`, (C,), and weights that follow it."""
        base = self.base + (shift[1:] - shift[:1]).astype(np.float32)[:, np.newaxis]
        weight = self.weight * np.exp(shift).astype(np.float32)[self.y]
        return Piece(self.evidence, base, self.y, weight)

    def take(self, rows: slice | npt.NDArray[np.intp]) -> Piece:
        """Some of the entries."""
        evidence = np.ascontiguousarray(self.evidence[:, :, rows])
        base = np.ascontiguousarray(self.base[:, rows])
        y = np.ascontiguousarray(self.y[rows])
        return Piece(evidence, base, y, self.weight[rows])

    def curvature(self, x: Float64) -> Float64:
        """The second derivatives of the loss, (K + C, K + C)."""
        n_blocks, n = len(self.evidence), len(self.y)
        proba, _ = self.expected(self.scores(x))
        hessian = np.empty((len(x), len(x)))
        if len(proba) == 1:  # with two classes the variance is p (1 - p)
            share = self.weight * proba[0] * (1 - proba[0])
            if len(x) > n_blocks:
                hessian[n_blocks:, :n_blocks] = np.multiply.outer([-1.0, 1.0], self.flat @ share)
                signs = np.array([[1, -1], [-1, 1]])
                hessian[n_blocks:, n_blocks:] = share.sum(dtype=np.float64) * signs
                hessian[:n_blocks, n_blocks:] = hessian[n_blocks:, :n_blocks].T
            flat = self.flat * np.sqrt(share)
            hessian[:n_blocks, :n_blocks] = _product(flat, flat.T)
            return hessian
        deviations = np.zeros((n_blocks, len(proba) + 1, n), np.float32)
        deviations[:, 1:] = self.evidence
        deviations -= self._summed(proba)[:, np.newaxis]
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
    """The estimated weights of blocks."""

    of_blocks: Float64  # (K,)
    bias: Float64  # (C,), in nats
    ridge: float  # the chosen strength of the ridge
    # predictions of each entry by weights without it, in the class shares of the entries. All
    # choices depend on these, so that class shares change no structure
    out_of_fold: OutOfFoldPredictions
    shifted: OutOfFoldPredictions  # the same in the class shares of all training rows

    @property
    def log_loss(self) -> float:
        """Out-of-fold log-loss, in nats per row."""
        return self.out_of_fold.log_loss


@dataclass(frozen=True)
class _Place:
    """The loss and its gradient at some weights."""

    x: Float64  # (K + C,) or (K,)
    # loss, slope: the loss and its gradient, (K + C,) or (K,), without the ridge
    loss: float
    slope: Float64

    def under(self, penalty: Float64) -> tuple[float, Float64]:
        """The loss and its gradient with the ridge."""
        ridge_gradient = penalty @ self.x
        return self.loss + 0.5 * float(self.x @ ridge_gradient), self.slope + ridge_gradient


class Pool:
    """Estimate the weights of evidence.

    `pieces`: of the entries. `added`: (K,) bool, the blocks whose weights are shrunk towards 0.
    `prior_share`: share of π that is mixed into out-of-fold predictions. `shift`: (C,) by how much
    log π is higher where the model is used; None if it is the same. `biased`: whether classes have
    biases. `free`: (K,) bool, the blocks whose weights are not shrunk, except by `LEAST`. `copies`:
    entries that a row has; all of them are left out together.
    """

    def __init__(
        self, pieces: Sequence[Piece], added: npt.NDArray[np.bool_], workers: Workers,
        prior_share: float = 0.0, shift: Float64 | None = None, biased: bool = True,
        free: npt.NDArray[np.bool_] | None = None, copies: float = 1.0,
    ) -> None:  # fmt: skip
        is_large = sum(piece.evidence.size for piece in pieces) > ALONE
        self.pieces, self.prior_share, self.copies = pieces, prior_share, copies
        self.shift = shift if shift is not None and shift.any() else None
        self.added, self.workers = added, workers if is_large else SERIAL
        self.free = np.zeros(len(added), bool) if free is None else free
        self.blocks, self.classes = len(added), len(pieces[0].base) + 1
        self.size = self.blocks + (self.classes if biased and self.classes <= BIASED else 0)
        n = sum(len(piece.y) for piece in self.pieces)
        step = max(1, n * self.classes * self.blocks // TERMS, n // SAMPLED)
        sample = slice(None, None, step)
        self.sample = [piece.take(sample) if step > 1 else piece for piece in self.pieces]
        self.sample_factor = n / sum(len(piece.y) for piece in self.sample)

    def best(
        self, ridge: float | None, start: Float64 | None, ridges: Sequence[float] = RIDGES
    ) -> Weights:
        """The weights with the ridge that has the least out-of-fold log-loss on the sample.

        `ridge`: of the first blocks, if known; then the ridge of the added blocks is chosen.
        `start`: (K + C,) where to begin. `ridges`: of the first blocks; one is chosen. By the
        strongest, they share one weight.
        """
        # the weights, the inverse of the curvature, and the scores of the sample
        best: tuple[Float64, Float64, list[Float32]] | None = None
        best_ridge, least_loss = 0.0, np.inf
        # start from 0, where no prediction is confident, so that all rows have a gradient
        place = self._place(np.zeros(self.size) if start is None else start[: self.size])
        curve = None
        for candidate in sorted(ridges if ridge is None else MORE_RIDGES, reverse=True):
            penalty = self._penalty(candidate if ridge is None else ridge, candidate)
            place = self._solved(penalty, place, curve)
            curve = self._curvature(place.x)
            inverse = _inverse(curve + penalty)
            scores = self._scores(self.sample, place.x, inverse)
            loss = self._loss(self.sample, scores)
            if best is None or loss < least_loss:
                best, best_ridge, least_loss = (place.x, inverse, scores), candidate, loss
            elif loss > WORSE * least_loss:
                break
        assert best is not None
        x, inverse, scores = best
        if self.sample_factor > 1:
            scores = self._scores(self.pieces, x, inverse)
        bias = np.zeros(self.classes)
        bias[: self.size - self.blocks] = x[self.blocks :]
        return Weights(x[: self.blocks], bias, best_ridge, *self._left_out(scores))

    def at(self, ridge: float, start: Weights) -> Float64:
        """The weights (K,) for a given ridge, starting from other weights that are close."""
        place = self._place(np.concatenate([start.of_blocks, start.bias])[: self.size])
        return self._solved(self._penalty(ridge, ridge), place, None).x[: self.blocks]

    def left_out(self, ridge: float, start: Weights) -> list[Float32]:
        """Scores of each piece relative to its base, (C - 1, n), by weights without each entry.

        The weights are those for the chosen ridge, starting from estimated ones.
        """
        penalty = self._penalty(ridge, ridge)
        place = self._place(np.concatenate([start.of_blocks, start.bias])[: self.size])
        place = self._solved(penalty, place, None)
        return self._scores(self.pieces, place.x, _inverse(self._curvature(place.x) + penalty))

    def alone(self, ridge: float = 0.0) -> tuple[float, Float64]:
        """The training log-loss, in nats per row, and the weights and biases for this ridge."""
        place = self._solved(self._penalty(ridge, ridge), self._place(np.zeros(self.size)), None)
        total_weight = math.fsum(piece.weight.sum(dtype=np.float64) for piece in self.pieces)
        return place.loss / max(total_weight, 1e-300), place.x

    def some(self, blocks: Int64) -> Pool:
        """The same entries with some of the blocks."""
        pieces = [replace(piece, evidence=piece.evidence[blocks]) for piece in self.pieces]
        return Pool(
            pieces, self.added[blocks], self.workers, self.prior_share, self.shift,
            self.size > self.blocks, self.free[blocks], self.copies,
        )  # fmt: skip

    @property
    def varied(self) -> Int64:
        """The blocks whose evidence differs between classes in some entry."""
        return np.flatnonzero(np.any([piece.flat.any(axis=1) for piece in self.pieces], axis=0))

    def not_negative(self, ridge: float, x: Float64 | None = None) -> Int64:
        """The blocks that are left once none of their weights is negative.

        Some of the negative ones are set to 0, and the others follow by the second derivatives of
        the loss, until none is negative. `x`, (K + C,), are the weights and biases for this ridge.
        """
        if x is None:
            x = self.alone(ridge)[1]
        curve = self._curvature(x)
        slope = -self._penalty(ridge, ridge) @ x  # of the loss alone, as x minimises both
        blocks, biases = np.arange(self.blocks), np.arange(self.blocks, self.size)
        remaining, factors = blocks, x[: self.blocks]
        while (factors < 0).any():
            remaining = remaining[kept_of(factors)]
            if not len(remaining):
                break
            used, dropped = np.append(remaining, biases), np.setdiff1d(blocks, remaining)
            penalty = self._penalty(ridge, ridge, remaining)
            change = curve[np.ix_(used, dropped)] @ x[dropped] - slope[used] - penalty @ x[used]
            step = _inverse(curve[np.ix_(used, used)] + penalty) @ change
            factors = x[remaining] + step[: len(remaining)]
        return remaining

    def losses(self, ridge: float, start: Weights, factors: Sequence[float]) -> Float64:
        """Out-of-fold losses of the entries, (F, n).

        `ridge`: the chosen ridge. `start`: the estimated weights. `factors`: (F,) by which the
        weights are multiplied.
        """
        losses = [
            np.array([piece.expected(np.float32(factor) * scores)[1] for factor in factors])
            for piece, scores in zip(self.pieces, self.left_out(ridge, start), strict=True)
        ]
        return np.concatenate(losses, axis=1)

    def _left_out(
        self, scores: Sequence[Float32]
    ) -> tuple[OutOfFoldPredictions, OutOfFoldPredictions]:
        """The predictions by scores of the pieces: as such, and shifted."""
        out_of_fold = self._predicted(self.pieces, scores)
        if self.shift is None:
            return out_of_fold, out_of_fold
        pieces = [piece.shifted(self.shift) for piece in self.pieces]
        return out_of_fold, self._predicted(pieces, scores)

    def _loss(self, pieces: Sequence[Piece], scores: Sequence[Float32]) -> float:
        """The log-loss by scores of pieces, before prior mixing."""
        pairs = zip(pieces, scores, strict=True)
        losses = self.workers.map(lambda pair: pair[0].expected(pair[1])[1], pairs)
        return _mean(np.concatenate(losses), np.concatenate([piece.weight for piece in pieces]))

    def _scores(self, pieces: Sequence[Piece], x: Float64, inverse: Float64) -> list[Float32]:
        """Scores of each piece by weights without each entry; see `Piece.left_out`."""
        return self.workers.map(lambda piece: piece.left_out(x, inverse, self.copies), pieces)

    def _predicted(
        self, pieces: Sequence[Piece], scores: Sequence[Float32]
    ) -> OutOfFoldPredictions:
        """The predictions by scores, after prior mixing."""
        pairs = zip(pieces, scores, strict=True)
        predictions = self.workers.map(
            lambda pair: pair[0].predict(pair[1], self.prior_share), pairs
        )
        losses, confidence, correct = map(np.concatenate, zip(*predictions, strict=True))
        weight = np.concatenate([piece.weight for piece in pieces])  # `shift` changes it
        return OutOfFoldPredictions(_mean(losses, weight), confidence, correct, weight, losses)

    def _penalty(self, ridge: float, more: float, blocks: Int64 | None = None) -> Float64:
        """The matrix R of the ridge ½ xᵀ R x, of all blocks or some, and of the biases."""
        selected = slice(None) if blocks is None else blocks
        added, free = self.added[selected], self.free[selected]
        first_blocks, size = np.flatnonzero(~added & ~free), len(added) + self.size - self.blocks
        matrix, n_first = np.zeros((size, size)), len(first_blocks)
        matrix[np.ix_(first_blocks, first_blocks)] = ridge * (np.eye(n_first) - 1 / max(1, n_first))
        diagonal = np.full(size, BIAS)
        diagonal[: len(added)] = np.where(added, max(more, LEAST), LEAST)
        return matrix + np.diag(diagonal)

    def _solved(self, penalty: Float64, place: _Place, curve: Float64 | None) -> _Place:
        """The weights, by Newton's method with few curvature evaluations."""
        if not np.isfinite(place.loss):
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
            next_place = self._downhill(place, penalty, direction)
            if next_place is None:
                break
            place = next_place
        return place

    def _downhill(self, place: _Place, penalty: Float64, direction: Float64) -> _Place | None:
        """Backtracking: the first point along a step where the loss falls enough; None if none."""
        loss, slope = place.under(penalty)
        descent, length = -float(slope @ direction), 1.0
        while length > SHORTEST:
            candidate = self._place(place.x + length * direction)
            # Armijo's condition
            if candidate.under(penalty)[0] <= loss - 1e-4 * length * descent:
                return candidate
            length /= 4
        return None

    def _place(self, x: Float64) -> _Place:
        """The loss at some weights."""
        results = self.workers.map(lambda piece: piece.slopes(x), self.pieces)
        losses, slopes = zip(*results, strict=True)
        return _Place(x, sum(losses), np.sum(slopes, axis=0))

    def _curvature(self, x: Float64) -> Float64:
        """The second derivatives of the loss, from a sample if entries are many."""
        hessians = self.workers.map(lambda few: few.curvature(x), self.sample)
        return np.sum(hessians, axis=0) * self.sample_factor


def kept_of(factors: Float64) -> npt.NDArray[np.bool_]:
    """Which factors to keep: all but the more negative half of the negative ones."""
    dropped = np.argsort(factors, kind="stable")[: (int((factors < 0).sum()) + 1) // 2]
    keep = np.ones(len(factors), bool)
    keep[dropped] = False
    return keep


def _inverse(matrix: Float64) -> Float64:
    """The inverse of a matrix, slightly damped."""
    size = len(matrix)
    return np.linalg.inv(matrix + 1e-7 * np.trace(matrix) / size * np.eye(size))


def _mean(values: Float32, weight: Float32) -> float:
    """The weighted mean."""
    total = float((weight * values).sum(dtype=np.float64))
    return total / max(float(weight.sum(dtype=np.float64)), 1e-300)
