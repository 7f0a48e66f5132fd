"""The evidence of a column of text: its words, by event models that share a weight by length.

A document's terms t, met x_t times, tell Σ_t x_t log θ_tc, as in lecture 2: but words of a document
say the same again and again, so that this counts the less the longer it is. The evidence is

    s L^-γ Σ_t x_t log θ_tc,    θ_tc = (n_tc + α) / (n_c + α V)

with L the number of terms that are known. α, γ and s are those by which documents are predicted
best whose own part was not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy

from naively.evidence.entries import PARTS, Entries
from naively.evidence.pieces import Float32, Piece
from naively.evidence.weights import GROUPS, Pool
from naively.exact import Float64, Int64
from naively.statistics.levels import Levels
from naively.text.analysis import Analysis
from naively.text.counting import rows_and_vocabulary
from naively.text.documents import Documents
from naively.text.vocabulary import Vocabulary
from naively.workers import SERIAL, Workers

EVENTS = ((1, False), (2, True))
"""Words, by how often they are met; words and pairs of words, by whether."""
ALPHAS = (1.0, 0.3, 0.1, 0.03, 0.01)
POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
HALF = 0.5
TRIED = 3000
"""Entries by which α and γ are chosen, at most."""
ROUNDING = 1e-9  # part of a count that is no more than rounding
LEAST = -60.0  # nats by which a class can be behind the best
PROSE, DIFFERENT = 6, 0.5
"""Words that a text has on average, at least; part of the rows whose texts differ, at least."""


@dataclass(frozen=True)
class Words:
    """What the terms of a text tell.

    Attributes
    ----------
    column : of the text.
    grams : words in a term, at most.
    once : whether a term counts once a document.
    vocabulary : the terms, sorted.
    log_theta : (V, C) float32, in nats.
    power : γ.
    scale : s.
    """

    column: int
    grams: int
    once: bool
    vocabulary: Vocabulary
    log_theta: Float32
    power: float
    scale: float

    @property
    def columns(self) -> tuple[int]:
        """The column."""
        return (self.column,)

    def evidence(self, levels: Levels) -> Float64:
        """Of each text, and of a missing one, (n + 1, C): in nats behind the best class."""
        rows, known = _rows(levels, self.grams, self.once, SERIAL)
        places = self.vocabulary.find(known)
        theta = np.where(places >= 0, self.log_theta[places].T, np.float32(0)).T
        lengths = rows @ (places >= 0).astype(np.float32)
        return _scaled(rows @ theta, lengths, self.power, self.scale)


def is_prose(entries: Entries, column: int) -> bool:
    """Whether a column holds text of many words, mostly different."""
    levels = entries.levels[column]
    if levels.dtype.kind != "T":
        return False
    weight = np.bincount(entries.codes[:, column], entries.row_weight(), len(levels) + 1)[:-1]
    whole = weight.sum()
    if len(levels) <= DIFFERENT * whole:
        return False
    words = np.array([len(text.split()) for text in levels.tolist()])
    return bool(weight @ words >= PROSE * whole > 0)


def words(entries: Entries, column: int, workers: Workers) -> Iterator[tuple[Words, Float32]]:
    """(what the terms tell, the evidence (n, C) of each entry without its part), an event each."""
    at = entries.codes[entries.row, column]
    for grams, once in EVENTS:
        rows, vocabulary = _rows(entries.levels[column], grams, once, workers)
        if not len(vocabulary):
            continue
        event = _Event.of(entries, rows[at])
        alpha, power, scale = event.chosen(workers)
        everything = np.arange(len(entries))
        (scores,), lengths = event.left_out((alpha,), everything, workers)
        theta = _log_theta(event.total, event.total.sum(axis=0), alpha, len(vocabulary))
        made = Words(column, grams, once, vocabulary, theta, power, scale)
        yield made, _scaled(scores, lengths, power, scale).astype(np.float32)


@dataclass(frozen=True)
class _Event:
    """The terms of some entries, and their counts.

    Attributes
    ----------
    entries : Entries
    rows : (n, V) CSR, what each term counts in each entry.
    total : (V, C)
    """

    entries: Entries
    rows: scipy.sparse.csr_matrix
    total: Float64

    @classmethod
    def of(cls, entries: Entries, rows: scipy.sparse.csr_matrix) -> Self:
        """With the counts by class."""
        total = _counts(rows, entries.y, entries.weight, entries.n_classes).toarray()
        return cls(entries, rows, np.ascontiguousarray(total.T))

    def chosen(self, workers: Workers) -> tuple[float, float, float]:
        """(α, γ, s) by which entries are predicted best whose own part was not counted."""
        few = self.entries.first(TRIED)
        tried, lengths = self.left_out(ALPHAS, few, workers)
        losses = [self._weighed(few, one, lengths, HALF, workers)[0] for one in tried]
        best = int(np.argmin(losses))
        _, scale, power = min(
            (*self._weighed(few, tried[best], lengths, power, workers), power) for power in POWERS
        )
        return ALPHAS[best], power, scale

    def left_out(
        self, alphas: Sequence[float], some: npt.NDArray[np.intp], workers: Workers
    ) -> tuple[Float64, Float64]:
        """(Σ x log θ for each α, (A, n, C); the lengths (n,)), by counts without own parts."""
        entries = self.entries
        scores = np.empty((len(alphas), len(some), entries.n_classes))
        lengths, by_class, by_term = np.empty(len(some)), self.total.sum(axis=0), self.total.sum(1)

        def one(part: int) -> None:
            here = np.flatnonzero(entries.part == part)
            mine = np.flatnonzero(entries.part[some] == part)
            y, weight = entries.y[here], entries.weight[here]
            own, asked = (
                _counts(self.rows[here], y, weight, entries.n_classes),
                self.rows[some[mine]],
            )
            left = by_term - np.bincount(own.indices, own.data, len(by_term))
            known = left > ROUNDING * by_term
            met, local = np.unique(asked.indices, return_inverse=True)
            asked = scipy.sparse.csr_matrix(
                (asked.data, local, asked.indptr), (len(mine), len(met))
            )
            rest = np.maximum(self.total[met] - own[:, met].toarray().T, 0.0)
            whole = by_class - np.bincount(
                y, self.rows[here].sum(axis=1).A1 * weight, len(by_class)
            )
            lengths[mine] = asked @ known[met].astype(np.float32)
            for out, alpha in zip(scores, alphas, strict=True):
                theta = _log_theta(rest, whole, alpha, max(int(known.sum()), 1))
                theta[~known[met]] = 0.0
                out[mine] = asked @ theta

        workers.map(one, range(PARTS))
        return scores, lengths

    def _weighed(
        self, some: npt.NDArray[np.intp], scores: Float64, lengths: Float64, power: float,
        workers: Workers,
    ) -> tuple[float, float]:  # fmt: skip
        """(the log-loss, the weight) of evidence that falls with this power."""
        entries = self.entries
        prior = np.log(entries.class_weight().sum(axis=0) + 0.5)
        evidence = _scaled(scores, lengths, power, 1.0).T
        base = np.repeat((prior[1:] - prior[0]).astype(np.float32)[:, np.newaxis], len(some), 1)
        piece = Piece(
            (evidence[1:] - evidence[:1]).astype(np.float32)[np.newaxis], base, entries.y[some],
            entries.weight[some].astype(np.float32), entries.part[some] % GROUPS,
        )  # fmt: skip
        loss, weights = Pool([piece], np.zeros(1, bool), workers).alone()
        return loss, float(weights[0])


def _counts(
    rows: scipy.sparse.csr_matrix, y: Int64, weight: Float64, classes: int
) -> scipy.sparse.csr_matrix:
    """What each term counts in each class, (C, V)."""
    return scipy.sparse.csr_matrix((weight, (y, np.arange(len(y)))), (classes, len(y))) @ rows


def _log_theta(counts: Float64, whole: Float64, alpha: float, terms: int) -> Float32:
    """log θ, (V, C)."""
    found: Float32 = np.log((counts + alpha).astype(np.float32))
    found -= np.log(whole + alpha * terms).astype(np.float32)
    return found


def _rows(levels: Levels, grams: int, once: bool, workers: Workers) -> tuple[Any, Vocabulary]:
    """(the terms of each text, of a missing one at the end, as a CSR matrix; these, sorted)."""
    documents = Documents.of([*levels.tolist(), ""])
    rows, known = rows_and_vocabulary(documents, Analysis(ngram_range=(1, grams)), 0, workers)
    order = known.order()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    data = np.ones(len(rows.data), np.float32) if once else rows.data.astype(np.float32)
    matrix = scipy.sparse.csr_matrix((data, rank[rows.indices], rows.indptr), rows.shape)
    matrix.sort_indices()  # so that sums do not depend on which words were met first
    return matrix, known.gather(order)


def _scaled(scores: Float64, lengths: Float64, power: float, scale: float) -> Float64:
    """Evidence (n, C) that falls with the length, behind the best class."""
    found = scores * (scale * np.maximum(lengths, 1.0, dtype=np.float64) ** -power)[:, np.newaxis]
    return np.maximum(found - found.max(axis=1, keepdims=True), LEAST)
