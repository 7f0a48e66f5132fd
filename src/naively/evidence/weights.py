"""The weights of evidence: those that predict left-out rows best, less a ridge.

The score of class c is log π_c + b_c + Σ_k w_k e_kc(x). The weights w and biases b maximise the
conditional log-likelihood of rows whose evidence was had without them, less a ridge: strictly
concave, so that there is one answer. How strong the ridge is, left-out log-loss decides. Of very
many classes the biases are 0.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from naively.evidence.judged import Judged
from naively.evidence.pieces import Piece, Said
from naively.exact import Float64
from naively.workers import SERIAL, Workers

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
TERMS = 4_000_000
"""from so many numbers of evidence, at most."""
SHORTEST = 1e-9
"""Part of a step that is tried, at least: where a model is too sure, steps are far too long."""
ALONE = 1_000_000
"""Numbers of evidence up to which one worker is faster than several."""
STEPS, AGAIN = 40, 3
"""Steps at most: of the weights, and of those without a group."""
CLOSE, NEAR = 1e-5, 1e-3
"""Part of the loss that a step must promise to be made; and to be looked at: without a group."""


T = TypeVar("T")


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
class _Place:
    """Weights, and what each group of entries says of them.

    Attributes
    ----------
    x : (K + C,) or (K,)
    losses, slopes : (G,) and (G, K + C) the loss and its gradient, without the ridge.
    """

    x: Float64
    losses: Float64
    slopes: Float64

    def without(self, group: int) -> _Place:
        """As if a group had no entries."""
        others = np.arange(len(self.losses)) != group
        return _Place(self.x, self.losses * others, self.slopes * others[:, np.newaxis])

    def under(self, penalty: Float64) -> tuple[float, Float64]:
        """(the loss, its gradient) with a ridge."""
        held = penalty @ self.x
        loss = float(self.losses.sum()) + 0.5 * float(self.x @ held)
        return loss, self.slopes.sum(axis=0) + held


Asked = tuple[Float64, int | None]
"""Weights, and the group that is not asked about them."""
Search = Generator[Asked, _Place, T]
"""It asks for what groups say of weights, again and again, and returns what it found."""


class Pool:
    """Evidence to be weighed.

    Parameters
    ----------
    pieces : of the entries.
    added : (K,) bool, the blocks whose weights are drawn to 0.
    workers : Workers
    doubt : by how much π is mixed into what is said of rows that are left out.
    shift : (C,) by which log π is another one where the model is used; None where it is not.
    biased : whether classes have biases.
    """

    def __init__(
        self, pieces: Sequence[Piece], added: npt.NDArray[np.bool_], workers: Workers,
        doubt: float = 0.0, shift: Float64 | None = None, biased: bool = True,
    ) -> None:  # fmt: skip
        many = sum(piece.evidence.size for piece in pieces) > ALONE
        self.pieces, places, before = list[Piece](), [], 0
        for piece in pieces:
            for rows, own in piece.apart() if many else [piece.together()]:
                self.pieces.append(own)
                places.append(before + rows)
            before += len(piece.y)
        self.given, self.doubt = np.concatenate(places), doubt
        self.shift = shift if shift is not None and shift.any() else None
        self.added, self.workers = added, workers if many else SERIAL
        self.blocks, self.classes = len(added), len(pieces[0].base) + 1
        self.size = self.blocks + (self.classes if biased and self.classes <= BIASED else 0)
        n = sum(len(piece.y) for piece in self.pieces)
        step = max(1, n * self.classes * self.blocks // TERMS)
        some = slice(None, None, step)
        self.few = [piece.some(some) if step > 1 else piece for piece in self.pieces]
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
        place = self._place(np.zeros(self.size) if start is None else start[: self.size])
        curve = None
        for one in sorted(RIDGES if ridge is None else MORE_RIDGES, reverse=True):
            penalty = self._penalty(one if ridge is None else ridge, one)
            place, curve = self._solved(penalty, place, curve)
            loss, judged = self._left_out(penalty, place, curve)
            if found is None or loss < least:
                best, found, chosen, least = place.x, judged, one, loss
            elif loss > WORSE * least:
                break
        assert best is not None
        assert found is not None
        bias = np.zeros(self.classes)
        bias[: self.size - self.blocks] = best[self.blocks :]
        return Weights(best[: self.blocks], bias, chosen, found)

    def at(self, ridge: float, start: Weights) -> Float64:
        """The weights by a ridge that was chosen, (K,), from others not far away."""
        place = self._place(np.concatenate([start.of_blocks, start.bias])[: self.size])
        return self._solved(self._penalty(ridge, ridge), place, None)[0].x[: self.blocks]

    def alone(self, ridge: float = 0.0) -> tuple[float, Float64]:
        """(the log-loss of the entries themselves, in nats a row; the weights), by this ridge."""
        place, _ = self._solved(self._penalty(ridge, ridge), self._place(np.zeros(self.size)), None)
        whole = sum(float(piece.weight.sum(dtype=np.float64)) for piece in self.pieces)
        return float(place.losses.sum()) / max(whole, 1e-300), place.x[: self.blocks]

    def losses(self, ridge: float, start: Weights, factors: Sequence[float]) -> Float64:
        """What entries lose whose group did not choose the weights, as they were given, (F, n).

        Parameters
        ----------
        ridge : that was chosen.
        start : the weights that were.
        factors : (F,) by which these are multiplied.
        """
        penalty = self._penalty(ridge, ridge)
        place, curve = self._solved(penalty, self._place(start.of_blocks), None)
        own = self._without_groups(penalty, place, curve)
        order = np.argsort(self.given)
        return np.array([
            np.concatenate(self.workers.map(
                lambda piece: piece.said(own * factor, 0.0).bare, self.pieces))[order]  # noqa: B023
            for factor in factors
        ])  # fmt: skip

    def _without_groups(self, penalty: Float64, place: _Place, curve: Float64) -> Float64:
        """The weights without each group, (GROUPS, K + C)."""
        inverse = _inverse(curve * (1 - 1 / GROUPS) + penalty)
        return np.array(self._found([
            self._moved(penalty, place, inverse, group) for group in range(GROUPS)
        ]))  # fmt: skip

    def _left_out(self, penalty: Float64, place: _Place, curve: Float64) -> tuple[float, Judged]:
        """(the log-loss of each group by weights that did not learn it; what is said, doubted)."""
        own = self._without_groups(penalty, place, curve)

        def said(piece: Piece) -> Said:
            return piece.said(own, self.doubt)

        first = self._judged(self.workers.map(said, self.pieces), self.pieces)
        if self.shift is None:
            return first
        pieces = [piece.shifted(self.shift) for piece in self.pieces]
        return first[0], self._judged(self.workers.map(said, pieces), pieces)[1]

    def _judged(self, found: list[Said], pieces: Sequence[Piece]) -> tuple[float, Judged]:
        """(the log-loss before it is doubted; how entries were predicted, as they were given)."""
        order = np.argsort(self.given)
        bare, *each = (np.concatenate(one)[order] for one in zip(*found, strict=True))
        losses, sure, right = each
        weight = np.concatenate([piece.weight for piece in pieces])[order]
        whole = max(float(weight.sum(dtype=np.float64)), 1e-300)
        first, last = (
            float((weight * one).sum(dtype=np.float64)) / whole for one in (bare, losses)
        )
        return first, Judged(last, sure, right, weight, losses)

    def _penalty(self, ridge: float, more: float) -> Float64:
        """The matrix R of the ridge ½ xᵀ R x."""
        first = np.flatnonzero(~self.added)
        found = np.zeros((self.size, self.size))
        found[np.ix_(first, first)] = ridge * (np.eye(len(first)) - 1 / max(1, len(first)))
        diagonal = np.full(len(found), BIAS)
        diagonal[: self.blocks] = np.where(self.added, max(more, LEAST), LEAST)
        return found + np.diag(diagonal)

    def _moved(
        self, penalty: Float64, place: _Place, inverse: Float64, group: int
    ) -> Search[Float64]:
        """The weights without a group: from those of all it is not far."""
        place = place.without(group)
        for _ in range(AGAIN):
            loss, slope = place.under(penalty)
            direction = -(inverse @ slope)
            descent = -float(slope @ direction)
            if descent < CLOSE * max(1.0, abs(loss)):
                break
            if descent < NEAR * loss:
                return place.x + direction
            moved = yield from self._downhill(place, penalty, direction, group)
            if moved is None:
                break
            place = moved
        return place.x

    def _solved(
        self, penalty: Float64, place: _Place, curve: Float64 | None
    ) -> tuple[_Place, Float64]:
        """(the weights, the curvature): Newton's method, with few curvatures."""
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
            (moved,) = self._found([self._downhill(place, penalty, direction)])
            if moved is None:
                break
            place = moved
        assert curve is not None
        return place, curve

    def _downhill(
        self, place: _Place, penalty: Float64, direction: Float64, without: int | None = None
    ) -> Search[_Place | None]:
        """Where a step leads, or a part of it that the loss falls by; None if there is none."""
        loss, slope = place.under(penalty)
        descent, length = -float(slope @ direction), 1.0
        while length > SHORTEST:
            new = yield place.x + length * direction, without
            if new.under(penalty)[0] <= loss - 1e-4 * length * descent:
                return new
            length /= 4
        return None

    def _found(self, searches: Sequence[Search[T]]) -> list[T]:
        """What searches find: the weights that they ask about are looked at side by side."""
        found = dict[int, T]()
        told: dict[int, Any] = dict.fromkeys(range(len(searches)))  # a search begins with None
        while told:
            asked = dict[int, Asked]()
            for k, place in told.items():
                try:
                    asked[k] = searches[k].send(place)
                except StopIteration as end:
                    found[k] = end.value
            told = dict(zip(asked, self._places([*asked.values()]), strict=True))
        return [found[k] for k in range(len(searches))]

    def _place(self, x: Float64) -> _Place:
        """What all groups say of weights."""
        return self._places([(x, None)])[0]

    def _places(self, asked: Sequence[Asked]) -> list[_Place]:
        """What groups say of some weights."""
        if not asked:
            return []
        x, groups = np.array([one for one, _ in asked]), np.arange(GROUPS)
        counts = np.array([groups != without for _, without in asked])

        def told(piece: Piece) -> tuple[Float64, Float64]:
            some = counts[:, [group for group, *_ in piece.groups]].any(axis=1)
            losses, slopes = np.zeros((len(x), GROUPS)), np.zeros((len(x), GROUPS, self.size))
            losses[some], slopes[some] = piece.slopes(x[some], GROUPS)
            return losses, slopes

        found = self.workers.map(told, self.pieces)
        losses, slopes = (np.sum(one, axis=0) for one in zip(*found, strict=True))
        return [*map(_Place, x, losses * counts, slopes * counts[:, :, np.newaxis])]

    def _curvature(self, x: Float64) -> Float64:
        """The second derivatives of the loss, from some of the entries if they are many."""
        found = self.workers.map(lambda few: few.curvature(x), self.few)
        return np.sum(found, axis=0) * self.more


def _inverse(matrix: Float64) -> Float64:
    """The inverse, slightly damped."""
    size = len(matrix)
    return np.linalg.inv(matrix + 1e-7 * np.trace(matrix) / size * np.eye(size))
