"""Evidence that is weighed, piece by piece: its loss with given weights, and how that changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from naively.exact import Float64, Int64
from naively.kernels import evidence as kernel

Float32 = npt.NDArray[np.float32]


class Said(NamedTuple):
    """What is said of some entries, (n,) each.

    Attributes
    ----------
    bare, losses : what each loses, before it is doubted, and then.
    sure : P(c | x) of its most probable class.
    right : whether that is its own.
    """

    bare: Float32
    losses: Float32
    sure: Float32
    right: npt.NDArray[np.bool_]


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

    @cached_property
    def own(self) -> tuple[Int64, Int64]:
        """Where, of the probabilities but of the first class, those of the entries' classes are."""
        rows = np.flatnonzero(self.y)
        return self.y[rows] - 1, rows

    @cached_property
    def groups(self) -> list[tuple[int, slice, Float32]]:
        """(a group, where its entries are, their evidence, a row a block); these follow each other.

        The evidence is a view where there is one group.
        """
        each, starts = np.unique(self.group, return_index=True)
        found = []
        for group, start, stop in zip(each, starts, [*starts[1:], len(self.group)], strict=True):
            own = self.evidence[:, :, start:stop].reshape(len(self.evidence), -1)
            found.append((int(group), slice(start, stop), own))
        return found

    def parted(self, x: Float64) -> tuple[Float32, Float32]:
        """(weights (V, K), biases but of the first class (V, C - 1)) of (V, K + C).

        Of (V, K) the biases are 0.
        """
        blocks = len(self.evidence)
        w, bias = x[:, :blocks].astype(np.float32), x[:, blocks:].astype(np.float32)
        if not bias.size:
            return w, np.zeros((len(x), len(self.base)), np.float32)
        return w, bias[:, 1:] - bias[:, :1]

    def expected(self, x: Float64) -> tuple[Float32, Float32]:
        """By each of some weights (V, K + C) or (V, K): (the probabilities but of the first class,
        (V, C - 1, n); what each entry loses, (V, n)).
        """
        w, bias = self.parted(x)
        proba = _product(w, self.flat).reshape(-1, *self.base.shape)
        losses = np.empty((len(x), len(self.y)), np.float32)
        kernel.expect(proba, self.base, bias, self.y, losses)
        return proba, losses

    def slopes(self, x: Float64, groups: int) -> tuple[Float64, Float64]:
        """By each of some weights (V, K + C) or (V, K): (what each group loses, (V, groups); its
        gradient, (V, groups, K + C)).
        """
        off, losses = self.expected(x)
        off[:, *self.own] -= np.float32(1)  # what is true is taken from what is expected
        off *= self.weight
        losses *= self.weight
        blocks = len(self.evidence)
        lost, slopes = np.zeros((len(x), groups)), np.zeros((len(x), groups, x.shape[1]))
        for group, own, flat in self.groups:
            lost[:, group] = losses[:, own].sum(axis=1, dtype=np.float64)
            some = off[:, :, own]
            slopes[:, group, :blocks] = _product(some.reshape(len(x), flat.shape[1]), flat.T)
            if x.shape[1] > blocks:
                of_bias = some.sum(axis=2, dtype=np.float64)
                slopes[:, group, blocks] = -of_bias.sum(axis=1)
                slopes[:, group, blocks + 1 :] = of_bias
        return lost, slopes

    def doubted(self, proba: Float32, losses: Float32, doubt: float) -> tuple[Float32, Float32]:
        """What is expected, mixed with π by a share of `doubt`."""
        all_ = np.concatenate([np.zeros_like(self.base[:1]), self.base])
        log_prior = all_ - np.logaddexp.reduce(all_, axis=0)
        own = log_prior[self.y, np.arange(len(self.y))]
        near = np.log1p(-doubt) if doubt < 1 else -np.inf
        mixed = np.logaddexp(np.float32(near) - losses, np.float32(np.log(doubt)) + own)
        return (1 - doubt) * proba + doubt * np.exp(log_prior[1:]), -mixed

    def said(self, x: Float64, doubt: float) -> Said:
        """What is said of each entry by the weights of its group, mixed with π by a share of
        `doubt`; x is (groups, K + C) or (groups, K).
        """
        w, bias = self.parted(x)
        proba = np.empty((1, *self.base.shape), np.float32)
        losses = np.empty((1, len(self.y)), np.float32)
        for group, own, flat in self.groups:
            proba[0, :, own] = _product(w[group], flat).reshape(len(self.base), -1)
            proba[0, :, own] += bias[group][:, np.newaxis]
        kernel.expect(proba, self.base, np.zeros_like(bias[:1]), self.y, losses)
        proba, bare = proba[0], losses[0]
        proba, lost = self.doubted(proba, bare, doubt) if doubt else (proba, bare)
        rest, most = 1 - proba.sum(axis=0), proba.max(axis=0)
        best = np.where(rest >= most, 0, proba.argmax(axis=0) + 1)
        return Said(bare, lost, np.maximum(rest, most), best == self.y)

    def shifted(self, shift: Float64) -> Piece:
        """With another class prior, by which log π is higher by `shift`, (C,): other weights."""
        base = self.base + (shift[1:] - shift[:1]).astype(np.float32)[:, np.newaxis]
        weight = self.weight * np.exp(shift).astype(np.float32)[self.y]
        return Piece(self.evidence, base, self.y, weight, self.group)

    def some(self, rows: slice | npt.NDArray[np.intp]) -> Piece:
        """Some of the entries."""
        evidence = np.ascontiguousarray(self.evidence[:, :, rows])
        base = np.ascontiguousarray(self.base[:, rows])
        return Piece(evidence, base, self.y[rows], self.weight[rows], self.group[rows])

    def apart(self) -> list[tuple[npt.NDArray[np.intp], Piece]]:
        """(which entries, these) of each group."""
        each = [np.flatnonzero(self.group == one) for one in np.unique(self.group)]
        return [(rows, self.some(rows) if len(each) > 1 else self) for rows in each]

    def together(self) -> tuple[npt.NDArray[np.intp], Piece]:
        """(which entries, these), group after group."""
        rows = np.argsort(self.group, kind="stable")
        return rows, self.some(rows)

    def curvature(self, x: Float64) -> Float64:
        """The second derivatives of the loss."""
        blocks, n = len(self.evidence), len(self.y)
        proba = self.expected(x[np.newaxis])[0][0]
        found = np.empty((len(x), len(x)))
        if len(proba) == 1:  # of two classes, p (1 - p) says it all
            share = self.weight * proba[0] * (1 - proba[0])
            if len(x) > blocks:
                found[blocks:, :blocks] = np.multiply.outer([-1.0, 1.0], self.flat @ share)
                found[blocks:, blocks:] = share.sum(dtype=np.float64) * np.array([[1, -1], [-1, 1]])
                found[:blocks, blocks:] = found[blocks:, :blocks].T
            flat = self.flat * np.sqrt(share)
            found[:blocks, :blocks] = _product(flat, flat.T)
            return found
        off = np.zeros((blocks, len(proba) + 1, n), np.float32)
        off[:, 1:] = self.evidence
        off -= np.einsum("kcn,cn->kn", self.evidence, proba)[:, np.newaxis]
        proba = np.concatenate([np.maximum(1 - proba.sum(axis=0, keepdims=True), 0), proba])
        share = self.weight * proba
        if len(x) > blocks:
            found[blocks:, :blocks] = np.einsum("kcn,cn->ck", off, share)
            found[:blocks, blocks:] = found[blocks:, :blocks].T
            found[blocks:, blocks:] = np.diag(share.sum(axis=1)) - _product(share, proba.T)
        off *= np.sqrt(share)
        flat = off.reshape(blocks, -1)
        found[:blocks, :blocks] = _product(flat, flat.T)
        return found


def _product(a: Float32, b: Float32) -> Float32:
    """a @ b.

    Seldom, and not again for the same numbers, BLAS says that a sound product was invalid: it may
    read beside what it multiplies (numpy issue 13173). The loss tells whether it was sound.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return a @ b
