"""Correct the evidence of single terms by logistic regression.

The weight of a term follows from its counts, by a few numbers for all terms. Documents say more of
the terms that many of them have. So each of these terms t has a correction δ_tc for class c::

    log π_c + b_c + L^-γ Σ_t x_t (W_t log θ_tc + δ_tc)

δ maximises the log-likelihood of documents minus λ/2 Σ δ², where the rest of the score is that of
each document by counts without it. So the ridge draws δ to 0, to the formula without corrections.
λ is chosen by the log-loss of groups of documents that δ was not estimated from; if that does not
fall by two in a thousand, there are no corrections. It is logistic regression on terms with the
naive Bayes score as an offset; Wang & Manning 2012 (NBSVM) interpolate between the two instead.

For each λ, from strong to weak, δ takes one step of Newton's method from that of the last λ, by
conjugate gradients with the diagonal of the curvature as preconditioner. δ are float32, which takes
half the time of float64 with twenty classes.

Where all counts of a term are of one class, no other class has a larger δ: such a term is never
evidence against its class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy

from naively.core.exact import Float64, Int64
from naively.core.workers import Workers
from naively.kernels import text as kernel
from naively.pooling.canonical import HEAVIEST
from naively.pooling.entries import GROUPS, OutOfFoldPredictions
from naively.pooling.weights import WORSE, Float32
from naively.statistics.base import Arrays
from naively.text.vocabulary import Vocabulary

RIDGES = tuple(4.0**-k for k in range(-2, 4))
"""λ that are tried, in units of the mean squared length of a document."""
FEWEST = 100  # documents from which corrections are estimated, at least
LEAST, MOST = 3, 1 << 20
"""Documents of a term that is corrected, at least; corrections, at most: those of the most frequent
terms."""
CONJUGATE, SOLVED = 8, 0.01
"""Conjugate gradients of a step, at most; share of the preconditioned residual that ends them."""
PATIENCE = 1.01
"""If the out-of-fold log-loss is this many times the best, weaker λ are not tried. A strong λ can
raise it a little before weaker ones lower it: scores of documents without themselves are about a
bit less evidence than there is."""
SHORTEST = 1e-3  # fraction of a step that is tried, at least


@dataclass(frozen=True)
class Corrections:
    """δ of some terms."""

    terms: Int64  # (K,) the terms, sorted
    values: Float32  # (K, C) float32 δ, in nats

    @classmethod
    def none(cls, classes: int) -> Self:
        """No corrections."""
        return cls(np.empty(0, np.int64), np.empty((0, classes), np.float32))

    def __len__(self) -> int:
        return len(self.terms)

    def added(self, evidence: Float64, columns: Any, counts: Float64) -> Float64:
        """Add δ to the evidence (C, k) of some terms: an array of integers, or a slice.

        `counts`, (C, k), of a term of one class alone bound its δ.
        """
        if not len(self):
            return evidence
        if isinstance(columns, slice):
            columns = np.arange(*columns.indices((columns.start or 0) + evidence.shape[1]))
        place = np.minimum(np.searchsorted(self.terms, columns), len(self) - 1)
        corrected = np.flatnonzero(self.terms[place] == columns)
        delta, present = self.values[place[corrected]].T, counts[:, corrected] > 0
        alone = np.flatnonzero(present.sum(axis=0) == 1)
        bound = delta[present[:, alone].argmax(axis=0), alone]
        delta[:, alone] = np.minimum(delta[:, alone], bound)
        evidence[:, corrected] += delta
        return evidence

    def kinds(self, group: Int64, n_groups: int) -> tuple[Int64, int]:
        """The group of each term, and the number of groups, if corrected terms are their own."""
        kinds = group.copy()
        kinds[self.terms] = n_groups + np.arange(len(self))
        return kinds, n_groups + len(self)

    def among(self, some: Int64, classes: int) -> Corrections:
        """The corrections of these classes among more, whose δ is 0."""
        values = np.zeros((len(self), classes), np.float32)
        values[:, some] = self.values
        return Corrections(self.terms, values)

    def stored(self, vocabulary: Vocabulary | None) -> Arrays:
        """The corrections as arrays, for a file; terms by their names, unless they are hashed."""
        arrays: Arrays = {"corrections": self.values, "corrected": self.terms}
        if vocabulary is not None:
            arrays["corrected"], arrays["lengths"] = vocabulary.gather(self.terms).packed()
        return arrays

    @classmethod
    def read(cls, kept: Arrays, classes: int, vocabulary: Vocabulary | None, n_terms: int) -> Self:
        """Read the corrections of the terms that are still there.

        Raises ValueError if the arrays do not fit these numbers of classes and terms, or are no
        numbers.
        """
        values, terms = (kept.get(name, np.empty(0)) for name in ("corrections", "corrected"))
        if vocabulary is not None:
            names = Vocabulary.checked(terms, kept.get("lengths"))
            terms = vocabulary.find(names).astype(np.int64)
        elif terms.dtype != np.int64 or terms.ndim != 1 or (terms < 0).any():
            raise ValueError("its corrections are of no terms")
        if values.dtype != np.float32 or values.shape != (len(terms), classes):
            raise ValueError("its corrections do not belong to their terms")
        in_vocabulary = (terms >= 0) & (terms < n_terms)
        terms, values = terms[in_vocabulary], values[in_vocabulary]
        if (np.diff(terms) <= 0).any() or not np.isfinite(values).all():
            raise ValueError("its corrections are no numbers")
        return cls(terms, values)


@dataclass(frozen=True)
class Scored:
    """Documents with their scores by counts and weights without them."""

    rows: scipy.sparse.csr_matrix  # (n, V) CSR, counts of terms times L^-γ
    scores: Float64  # (n, C) log π_c and the evidence
    # y, weight: (n,) class and weight of each
    y: Int64
    weight: Float64
    log_prior: Float64  # (C,) log π_c
    mixing_share: float  # share of π in the prediction

    def corrected(self, workers: Workers) -> tuple[Int64, Float64, OutOfFoldPredictions] | None:
        """Estimate corrections.

        Return the corrected terms (K,), δ (K, C), and the out-of-fold predictions; None if the
        out-of-fold log-loss does not fall.
        """
        terms = self._frequent()
        if len(self.y) < FEWEST or not len(terms):
            return None
        weight = self.weight / self.weight.mean()
        documents = _Documents.of(self.rows[:, terms].astype(np.float32), self.scores, self.y)
        unit = float(weight @ documents.squares.T.sum(axis=1).A1) / len(weight)
        ridges = [ridge * unit for ridge in RIDGES]
        group = np.arange(len(weight)) % GROUPS
        paths = [_Path(documents, weight * (group != k)) for k in range(GROUPS)]
        uncorrected = lowest = self._predicted(self.scores)
        n_steps = 0
        for step, ridge in enumerate(ridges):
            scores = self.scores.copy()
            changes = workers.map(lambda path: path.step(ridge), paths)  # noqa: B023
            for k, change in enumerate(changes):
                scores[group == k] += change[group == k]
            predictions = self._predicted(scores)
            if predictions.log_loss > PATIENCE * lowest.log_loss:
                break
            if predictions.log_loss < lowest.log_loss:
                n_steps, lowest = step + 1, predictions
        if uncorrected.log_loss <= WORSE * lowest.log_loss:
            return None
        path = _Path(documents, weight)
        for ridge in ridges[:n_steps]:
            path.step(ridge)
        return terms, path.delta - path.delta.mean(axis=1, keepdims=True), lowest

    def _frequent(self) -> Int64:
        """The terms that are corrected: those of most documents, without cutting a tie."""
        n_documents = self.rows.getnnz(axis=0)
        by_number = np.sort(n_documents)[::-1]
        limit = MOST // self.scores.shape[1]
        least = LEAST if len(by_number) <= limit else max(LEAST, int(by_number[limit]) + 1)
        return np.flatnonzero(n_documents >= least)

    def _predicted(self, scores: Float64) -> OutOfFoldPredictions:
        """The predictions by these scores, mixed with the prior."""
        proba, _ = _proba(scores)
        proba = (1 - self.mixing_share) * proba + self.mixing_share * np.exp(self.log_prior)
        losses = -np.log(np.maximum(proba[np.arange(len(scores)), self.y], 1e-300))
        weight = self.weight * min(1.0, HEAVIEST / self.weight.max())
        return OutOfFoldPredictions(
            float((weight * losses).sum() / weight.sum()), proba.max(axis=1).astype(np.float32),
            proba.argmax(axis=1) == self.y, weight.astype(np.float32), losses.astype(np.float32),
        )  # fmt: skip


def _proba(scores: Float64) -> tuple[Float64, Float64]:
    """P(c | x) and -log P(c | x), (n, C) each."""
    behind = scores - scores.max(axis=1, keepdims=True)
    proba = np.exp(behind)
    total = proba.sum(axis=1, keepdims=True)
    return proba / total, np.log(total) - behind


@dataclass(frozen=True)
class _Documents:
    """Documents, without their weights."""

    rows: scipy.sparse.csr_matrix  # (n, K) float32 CSR
    # columns, squares: (K, n) float32 CSR, its transpose, and the squares of that
    columns: scipy.sparse.csr_matrix
    squares: scipy.sparse.csr_matrix
    scores: Float64  # (n, C)
    y: Int64  # (n,)

    @classmethod
    def of(cls, rows: scipy.sparse.csr_matrix, scores: Float64, y: Int64) -> Self:
        """Transpose the rows."""
        columns = rows.T.tocsr()
        squared = (columns.data**2, columns.indices, columns.indptr)
        return cls(rows, columns, scipy.sparse.csr_matrix(squared, columns.shape), scores, y)


class _Path:
    """δ of some documents, for one λ after the other.

    `documents`: _Documents. `weight`: (n,), 0 for those that are left out.
    """

    def __init__(self, documents: _Documents, weight: Float64) -> None:
        self.documents, self.weight = documents, weight[:, np.newaxis]
        self.place = np.arange(len(weight)), documents.y
        self.delta = np.zeros((documents.rows.shape[1], documents.scores.shape[1]), np.float32)
        self.changes = np.zeros(documents.scores.shape, np.float32)  # of scores, by δ

    def step(self, ridge: float) -> Float32:
        """Take one step for this λ; return the changes of the scores of all documents, (n, C)."""
        documents, weight = self.documents, self.weight
        loss, proba = self._loss(self.delta, self.changes, ridge)
        residuals = weight * proba
        residuals[self.place] -= weight[:, 0]
        gradient = documents.columns @ residuals.astype(np.float32) + ridge * self.delta
        proba, weight = proba.astype(np.float32), weight.astype(np.float32)
        scale = 1.0 / (documents.squares @ (weight * proba * (1.0 - proba)) + ridge)
        rows = documents.rows

        def curved(direction: Float32) -> Float32:
            product = np.zeros_like(direction)
            matrix = rows.indptr, rows.indices, rows.data
            kernel.add_curvature(*matrix, proba, weight[:, 0], direction, product)
            return product + ridge * direction

        change = _solved(curved, -gradient, scale)
        descent, length = float((gradient * change).sum()), 1.0
        while length > SHORTEST:
            delta = self.delta + length * change
            changes = rows @ delta
            # Armijo's condition
            if self._loss(delta, changes, ridge)[0] <= loss + 1e-4 * length * descent:
                self.delta, self.changes = delta, changes
                break
            length /= 4
        return self.changes

    def _loss(self, delta: Float32, changes: Float32, ridge: float) -> tuple[float, Float64]:
        """The log-loss and the ridge, and P(c | x), (n, C)."""
        proba, losses = _proba(self.documents.scores + changes)
        loss = float((self.weight[:, 0] * losses[self.place]).sum())
        return loss + 0.5 * ridge * float((delta * delta).sum()), proba


def _solved(curved: Any, target: Float32, scale: Float32) -> Float32:
    """Solve curved(x) = target by conjugate gradients, preconditioned by a diagonal `scale`."""
    solution, residual = np.zeros_like(target), target
    direction = scaled = scale * residual
    size = first = float((residual * scaled).sum())
    for _ in range(CONJUGATE):
        if size <= SOLVED * first:
            break
        product = curved(direction)
        length = size / float((direction * product).sum())
        solution = solution + length * direction
        residual = residual - length * product
        scaled = scale * residual
        last, size = size, float((residual * scaled).sum())
        direction = scaled + size / last * direction
    return solution
