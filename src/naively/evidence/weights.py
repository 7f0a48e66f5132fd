"""The weights of evidence: those that predict left-out rows best, less a ridge.

The score of class c is log π_c + b_c + Σ_k w_k e_kc(x). The weights w and biases b maximise the
conditional log-likelihood of rows whose evidence was had without them, less a ridge: strictly
concave, so that there is one answer. How strong the ridge is, left-out log-loss decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from naively.evidence.judged import Judged
from naively.exact import Float64, Int64

Float32 = npt.NDArray[np.float32]

RIDGES = (0.3, 3.0, 30.0, 300.0, 3000.0)
"""Of the first blocks, by how far each weight is from their mean."""
MORE_RIDGES = (0.1, 1.0, 10.0, 100.0)
"""Of the blocks that were added, by how far each weight is from 0."""
LEAST, BIAS = 1e-3, 0.1
"""Ridges that hold all weights, and the biases, finite where classes are separable."""
GROUPS = 5
"""Groups of parts, each of which is left out to choose the ridge."""
WORSE = 1.002
"""Where the log-loss is so many times the best, weaker ridges are not tried."""
RENEWED = (3, 8, 14, 20, 30)
"""Steps after which the curvature is computed anew,"""
TERMS = 4_000_000
"""from so many products."""


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


class Pool:
    """Evidence to be weighed.

    Parameters
    ----------
    evidence : (K, n, C) float32, in nats.
    base : (n, C) float32, log π_c.
    y, weight, group : (n,) class, weight and group of each entry.
    added : (K,) bool, the blocks whose weights are drawn to 0.
    """

    def __init__(
        self, evidence: Float32, base: Float32, y: Int64, weight: Float64, group: Int64,
        added: npt.NDArray[np.bool_],
    ) -> None:  # fmt: skip
        self.evidence, self.base, self.y, self.group = evidence, base, y, group
        self.weight = weight.astype(np.float32)
        self.added = added
        self.n, self.classes = base.shape
        self.blocks = len(evidence)
        self.hit = np.zeros((self.n, self.classes), np.float32)
        self.hit[np.arange(self.n), y] = 1
        self.flat = evidence.reshape(self.blocks, -1)
        if self.classes == 2:  # the log-odds say it all
            self.flat = evidence[:, :, 1] - evidence[:, :, 0]

    def best(self, ridge: float | None, start: Float64 | None) -> Weights:
        """The weights by the ridge that predicts best.

        Parameters
        ----------
        ridge : of the first blocks, if it is known; then that of the added blocks is chosen.
        start : (K + C,) where to begin.
        """
        best, found, chosen = None, None, 0.0
        x = start
        if x is None:
            x = np.append(np.full(self.blocks, self.blocks**-0.5), np.zeros(self.classes))
        for one in sorted(RIDGES if ridge is None else MORE_RIDGES, reverse=True):
            penalty = self._penalty(one if ridge is None else ridge, one)
            x, _, curve = self._solved(penalty, self.weight, x, None, 40)
            judged = self._left_out(penalty, x, curve)
            if found is None or judged.log_loss < found.log_loss:
                best, found, chosen = x, judged, one
            elif judged.log_loss > WORSE * found.log_loss:
                break
        assert best is not None
        assert found is not None
        return Weights(best[: self.blocks], best[self.blocks :], chosen, found)

    def _left_out(self, penalty: Float64, x: Float64, curve: Float64) -> Judged:
        """What is said of each group by weights that did not learn it."""
        total, sure, right = 0.0, np.ones(self.n, np.float32), np.ones(self.n, bool)
        for group in range(GROUPS):
            out = self.group == group
            if not out.any() or out.all():
                continue
            own = self.weight * ~out
            _, proba, _ = self._solved(penalty, own, x, curve * (1 - 1 / GROUPS), 3)
            hit = proba[out]
            if self.classes == 2:
                sure[out] = np.maximum(hit, 1 - hit)
                hit = np.where(self.y[out] == 1, hit, 1 - hit)
            else:
                sure[out] = hit.max(axis=1)
                hit = hit[np.arange(len(hit)), self.y[out]]
            right[out] = hit == sure[out]
            total -= float((self.weight[out] * np.log(np.maximum(hit, 1e-12))).sum(dtype=float))
        return Judged(total / float(self.weight.sum(dtype=float)), sure, right, self.weight)

    def _penalty(self, ridge: float, more: float) -> Float64:
        """The matrix R of the ridge ½ xᵀ R x."""
        first = np.flatnonzero(~self.added)
        found = np.zeros((self.blocks + self.classes,) * 2)
        found[np.ix_(first, first)] = ridge * (np.eye(len(first)) - 1 / max(1, len(first)))
        diagonal = np.full(len(found), BIAS)
        diagonal[: self.blocks] = np.where(self.added, more, LEAST)
        return found + np.diag(diagonal)

    def _solved(
        self, penalty: Float64, weight: Float32, x: Float64, curve: Float64 | None, steps: int
    ) -> tuple[Float64, Float32, Float64]:
        """(the weights, what they expect, the curvature): Newton's method, with few curvatures."""
        loss, slope, proba = self._slope(x, penalty, weight)
        inverse = None
        for step in range(steps):
            if curve is None or step in RENEWED:
                curve, inverse = self._curvature(proba, weight), None
            if inverse is None:
                whole = curve + penalty
                inverse = np.linalg.inv(whole + 1e-7 * np.trace(whole) / len(x) * np.eye(len(x)))
            direction = -(inverse @ slope)
            descent, length = -float(slope @ direction), 1.0
            if descent < 1e-5 * max(1.0, abs(loss)):
                break
            while length > 1e-3:
                new = x + length * direction
                new_loss, new_slope, new_proba = self._slope(new, penalty, weight)
                if new_loss <= loss - 1e-4 * length * descent:
                    break
                length /= 2
            else:
                break
            x, loss, slope, proba = new, new_loss, new_slope, new_proba
        assert curve is not None
        return x, proba, curve

    def _slope(
        self, x: Float64, penalty: Float64, weight: Float32
    ) -> tuple[float, Float64, Float32]:
        """(the loss, its gradient, the probabilities); of two classes those of the second."""
        w, bias = np.split(x.astype(np.float32), [self.blocks])
        if self.classes == 2:
            odds = self.base[:, 1] - self.base[:, 0] + w @ self.flat + (bias[1] - bias[0])
            small = np.exp(-np.abs(odds))
            proba = np.where(odds >= 0, 1, small) / (1 + small)
            loss = np.log1p(small) + np.maximum(odds, 0) - self.hit[:, 1] * odds
            off = weight * (proba - self.hit[:, 1])
            total = float(off.sum(dtype=float))
            slope = np.append(self.flat @ off, [-total, total])
        else:
            scores = self.base + (w @ self.flat).reshape(self.n, self.classes) + bias
            scores -= scores.max(axis=1, keepdims=True)
            proba = np.exp(scores)
            whole = proba.sum(axis=1, keepdims=True)
            proba /= whole
            loss = np.log(whole[:, 0]) - scores[np.arange(self.n), self.y]
            off = (proba - self.hit) * weight[:, np.newaxis]
            slope = np.append(self.flat @ off.ravel(), off.sum(axis=0, dtype=float))
        held = penalty @ x
        value = float((weight * loss).sum(dtype=float)) + 0.5 * float(x @ held)
        return value, slope.astype(np.float64) + held, proba

    def _curvature(self, proba: Float32, weight: Float32) -> Float64:
        """The second derivatives of the loss, from some of the entries if they are many."""
        step = max(1, self.n * self.classes * self.blocks // TERMS)
        rows = slice(None, None, step)
        p, own = proba[rows], weight[rows]
        if self.classes == 2:
            ones = np.ones((1, len(p)), np.float32)
            inputs = np.concatenate([self.flat[:, rows], -ones, ones])
            found = ((inputs * (own * p * (1 - p))) @ inputs.T).astype(np.float64)
        else:
            evidence = self.evidence[:, rows]
            mean = np.einsum("knc,nc->kn", evidence, p)
            found = np.zeros((self.blocks + self.classes,) * 2)
            for c in range(self.classes):
                inputs = np.concatenate([evidence[:, :, c] - mean, -p.T])
                inputs[self.blocks + c] += 1
                found += (inputs * (own * p[:, c])) @ inputs.T
        return found * (self.n / len(p))
