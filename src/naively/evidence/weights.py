"""The weights of evidence: those that predict left-out rows best, less a ridge.

The score of class c is log π_c + b_c + Σ_k w_k e_kc(x). The weights w and biases b maximise the
conditional log-likelihood of rows whose evidence was had without them, less a ridge: strictly
concave, so that there is one answer. How strong the ridge is, left-out log-loss decides. Of very
many classes the biases are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from naively.evidence.judged import Judged
from naively.exact import Float64, Int64
from naively.kernels import evidence as kernel
from naively.workers import Workers

Float32 = npt.NDArray[np.float32]

RIDGES = (0.3, 3.0, 30.0, 300.0, 3000.0)
"""Of the first blocks, by how far each weight is from their mean."""
MORE_RIDGES = (0.1, 1.0, 10.0, 100.0)
"""Of the blocks that were added, by how far each weight is from 0."""
LEAST, BIAS = 0.1, 0.1
"""Ridges that hold all weights, and the biases, finite where classes are separable."""
BIASED = 256
"""Classes that have biases, at most: they take the square of so many numbers."""
GROUPS = 5
"""Groups of parts, each of which is left out to choose the ridge."""
WORSE = 1.002
"""Where the log-loss is so many times the best, weaker ridges are not tried."""
RENEWED = (3, 8, 14, 20, 30)
"""Steps after which the curvature is computed anew,"""
SHORTEST = 1e-9
"""Part of a step that is tried, at least: where a model is too sure, steps are far too long."""
TERMS = 4_000_000
"""from so many numbers of evidence, at most."""


@dataclass(frozen=True)
class Weights:
    """The weights of some blocks.

    Attributes
    ----------
    of_blocks : (K,)
    bias : (C,), in nats.
    ridge : float, what was chosen.
    judged : how rows were predicted that were left out.
    """

    of_blocks: Float64
    bias: Float64
    ridge: float
    judged: Judged

    @property
    def log_loss(self) -> float:
        """Of rows that were left out, in nats a row."""
        return self.judged.log_loss


@dataclass(frozen=True)
class Piece:
    """Entries whose evidence is weighed: one of several, for several workers.

    All is relative to the first class, so that of two classes one number says it all.

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
        """The evidence, a row a block."""
        return self.evidence.reshape(len(self.evidence), -1)

    def expected(self, w: Float32, bias: Float32) -> tuple[Float32, Float32]:
        """(the probabilities but of the first class, (C - 1, n); what each entry loses, (n,))."""
        proba = _product(w, self.flat).reshape(self.base.shape)
        losses = np.empty(len(self.y), np.float32)
        kernel.expect(proba, self.base, bias[1:] - bias[0], self.y, losses)
        return proba, losses

    def doubted(self, proba: Float32, losses: Float32, doubt: float) -> tuple[Float32, Float32]:
        """What is expected, mixed with π by a share of `doubt`."""
        prior = np.exp(self.base - np.logaddexp(0, np.logaddexp.reduce(self.base, axis=0)))
        whole = np.concatenate([1 - prior.sum(axis=0, keepdims=True), prior])
        own = (1 - doubt) * np.exp(-losses) + doubt * whole[self.y, np.arange(len(self.y))]
        return (1 - doubt) * proba + doubt * prior, -np.log(own)

    def parted(self, x: Float64) -> tuple[Float32, Float32]:
        """(weights, biases) of (K + C,); of (K,) the biases are 0."""
        w, bias = np.split(x.astype(np.float32), [len(self.evidence)])
        return w, bias if len(bias) else np.zeros(len(self.base) + 1, np.float32)

    def slope(self, x: Float64, weight: Float32) -> tuple[float, Float64]:
        """(the loss, its gradient) where the entries weigh so much."""
        off, losses = self.expected(*self.parted(x))
        kernel.take_own(off, self.y, weight)
        of_bias = off.sum(axis=1, dtype=np.float64)
        found = np.concatenate([_product(self.flat, off.ravel()), [-of_bias.sum()], of_bias])
        return float((weight * losses).sum(dtype=np.float64)), found[: len(x)]

    def every(self, step: int) -> Piece:
        """Some of the entries."""
        evidence = np.ascontiguousarray(self.evidence[:, :, ::step])
        base = np.ascontiguousarray(self.base[:, ::step])
        return Piece(evidence, base, self.y[::step], self.weight[::step], self.group[::step])

    def curvature(self, x: Float64, weight: Float32) -> Float64:
        """The second derivatives of the loss."""
        blocks, n = len(self.evidence), len(self.y)
        proba, _ = self.expected(*self.parted(x))
        off = np.zeros((blocks, len(proba) + 1, n), np.float32)
        off[:, 1:] = self.evidence
        off -= np.einsum("kcn,cn->kn", self.evidence, proba)[:, np.newaxis]
        proba = np.concatenate([np.maximum(1 - proba.sum(axis=0, keepdims=True), 0), proba])
        share = weight * proba
        found = np.empty((len(x), len(x)))
        if len(x) > blocks:
            found[blocks:, :blocks] = np.einsum("kcn,cn->ck", off, share)
            found[:blocks, blocks:] = found[blocks:, :blocks].T
            found[blocks:, blocks:] = np.diag(share.sum(axis=1)) - _product(share, proba.T)
        off *= np.sqrt(share)
        flat = off.reshape(blocks, -1)
        found[:blocks, :blocks] = _product(flat, flat.T)
        return found


class Pool:
    """Evidence to be weighed.

    Parameters
    ----------
    pieces : of the entries.
    added : (K,) bool, the blocks whose weights are drawn to 0.
    workers : Workers
    doubt : by how much π is mixed into what is said of rows that are left out.
    """

    def __init__(
        self, pieces: Sequence[Piece], added: npt.NDArray[np.bool_], workers: Workers,
        doubt: float = 0.0,
    ) -> None:  # fmt: skip
        self.pieces, self.added, self.workers, self.doubt = pieces, added, workers, doubt
        self.blocks, self.classes = len(added), len(pieces[0].base) + 1
        self.size = self.blocks + (self.classes if self.classes <= BIASED else 0)
        n = sum(len(piece.y) for piece in pieces)
        step = max(1, n * self.classes * self.blocks // TERMS)
        self.few = [piece.every(step) for piece in pieces]
        self.more = n / sum(len(piece.y) for piece in self.few)

    def best(self, ridge: float | None, start: Float64 | None) -> Weights:
        """The weights by the ridge that predicts best.

        Parameters
        ----------
        ridge : of the first blocks, if it is known; then that of the added blocks is chosen.
        start : (K + C,) where to begin.
        """
        best, found, chosen, least = None, None, 0.0, np.inf
        # from where no class is sure: all rows matter
        x, curve = np.zeros(self.size) if start is None else start[: self.size], None
        for one in sorted(RIDGES if ridge is None else MORE_RIDGES, reverse=True):
            penalty = self._penalty(one if ridge is None else ridge, one)
            x, curve = self._solved(penalty, None, x, curve, 40)
            loss, judged = self._left_out(penalty, x, curve)
            if found is None or loss < least:
                best, found, chosen, least = x, judged, one, loss
            elif loss > WORSE * least:
                break
        assert best is not None
        assert found is not None
        bias = np.zeros(self.classes)
        bias[: self.size - self.blocks] = best[self.blocks :]
        return Weights(best[: self.blocks], bias, chosen, found)

    def alone(self) -> tuple[float, Float64]:
        """(the log-loss of the entries themselves, in nats a row; the weights): without a ridge."""
        penalty = self._penalty(0.0, 0.0)
        x, _ = self._solved(penalty, None, np.zeros(self.size), None, 40)
        loss = self._slope(x, penalty, None)[0] - 0.5 * float(x @ penalty @ x)
        whole = sum(float(piece.weight.sum(dtype=np.float64)) for piece in self.pieces)
        return loss / whole, x[: self.blocks]

    def _left_out(self, penalty: Float64, x: Float64, curve: Float64) -> tuple[float, Judged]:
        """(the log-loss of each group by weights that did not learn it; what is said, doubted)."""
        weight = np.concatenate([piece.weight for piece in self.pieces])
        groups = np.concatenate([piece.group for piece in self.pieces])
        bare, losses, sure = np.zeros((3, len(weight)), np.float32)
        right = np.ones(len(weight), bool)
        for group in range(GROUPS):
            out = groups == group
            own, _ = self._solved(penalty, group, x, curve * (1 - 1 / GROUPS), 3)

            def said(piece: Piece) -> tuple[Float32, Float32, Float32, npt.NDArray[np.bool_]]:
                proba, first = piece.expected(*piece.parted(own))  # noqa: B023
                loss = first
                if self.doubt:
                    proba, loss = piece.doubted(proba, loss, self.doubt)
                rest, most = 1 - proba.sum(axis=0), proba.max(axis=0)
                best = np.where(rest >= most, 0, proba.argmax(axis=0) + 1)
                return first, loss, np.maximum(rest, most), best == piece.y

            found = self.workers.map(said, self.pieces)
            all_ = (bare, losses, sure, right)
            for kept, own_said in zip(all_, zip(*found, strict=True), strict=True):
                kept[out] = np.concatenate(own_said)[out]
        whole = float(weight.sum(dtype=np.float64))
        first, last = (
            float((weight * one).sum(dtype=np.float64)) / whole for one in (bare, losses)
        )
        return first, Judged(last, sure, right, weight)

    def _penalty(self, ridge: float, more: float) -> Float64:
        """The matrix R of the ridge ½ xᵀ R x."""
        first = np.flatnonzero(~self.added)
        found = np.zeros((self.size, self.size))
        found[np.ix_(first, first)] = ridge * (np.eye(len(first)) - 1 / max(1, len(first)))
        diagonal = np.full(len(found), BIAS)
        diagonal[: self.blocks] = np.where(self.added, max(more, LEAST), LEAST)
        return found + np.diag(diagonal)

    def _solved(
        self, penalty: Float64, without: int | None, x: Float64, curve: Float64 | None, steps: int
    ) -> tuple[Float64, Float64]:
        """(the weights without a group, the curvature): Newton's method, with few curvatures."""
        loss, slope = self._slope(x, penalty, without)
        if not np.isfinite(loss):
            raise FloatingPointError("the evidence that is weighed is not finite")
        inverse = None
        for step in range(steps):
            if curve is None or step in RENEWED:
                curve, inverse = self._curvature(x, without), None
            if inverse is None:
                whole = curve + penalty
                inverse = np.linalg.inv(whole + 1e-7 * np.trace(whole) / len(x) * np.eye(len(x)))
            direction = -(inverse @ slope)
            descent, length = -float(slope @ direction), 1.0
            if descent < 1e-5 * max(1.0, abs(loss)):
                break
            while length > SHORTEST:
                new = x + length * direction
                new_loss, new_slope = self._slope(new, penalty, without)
                if new_loss <= loss - 1e-4 * length * descent:
                    break
                length /= 4
            else:
                break
            x, loss, slope = new, new_loss, new_slope
        assert curve is not None
        return x, curve

    def _slope(self, x: Float64, penalty: Float64, without: int | None) -> tuple[float, Float64]:
        """(the loss, its gradient)."""
        found = self.workers.map(lambda piece: piece.slope(x, _weight(piece, without)), self.pieces)
        held = penalty @ x
        loss = sum(one for one, _ in found) + 0.5 * float(x @ held)
        return loss, np.sum([one for _, one in found], axis=0) + held

    def _curvature(self, x: Float64, without: int | None) -> Float64:
        """The second derivatives of the loss, from some of the entries if they are many."""
        found = self.workers.map(lambda few: few.curvature(x, _weight(few, without)), self.few)
        return np.sum(found, axis=0) * self.more


def _weight(piece: Piece, without: int | None) -> Float32:
    """What entries weigh, those of a group nothing."""
    return piece.weight if without is None else piece.weight * (piece.group != without)


def _product(a: Float32, b: Float32) -> Float32:
    """a @ b.

    Seldom, and not again for the same numbers, BLAS says that a sound product was invalid: it may
    read beside what it multiplies (numpy issue 13173). The loss tells whether it was sound.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return a @ b
