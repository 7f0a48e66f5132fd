"""How much the terms of documents count: weights by which their evidence can be bet on.

The words of a document say the same again and again, so that naive Bayes is too sure. The evidence
of a document is::

    L^-γ Σ_t x_t W_t log θ_tc,    W_t = w_g + v_g log (n / n_t) + Σ_s u_gs D_ts

with L = Σ x_t its length, n_tc how often the term t was met in class c, n_t = Σ_c n_tc,
n = Σ_t n_t, and g the group of the term: words, pairs of words and so on. So frequent terms may
count less than rare ones, and pairs less than words. D_ts is what the term tells of the class, the
divergence of its classes from those of all terms::

    D_ts = Σ_c p_tc log (p_tc / p_c),    p_tc = (n_tc + s p_c) / (n_t + s),    p_c = Σ_t n_tc / n

for s = 5 and 25: the less a term was met, the more is doubted that it tells much. α, γ, the weights
and a bias b_c a class are those by which documents are predicted best, each by counts without it,
less a ridge, which draws v and u to 0 and w to their mean.

Several models of the same documents, such as one of words and one of characters, are a pool: each
has α and γ that it would have alone; then the weights of all of them, and one bias a class, are
learned together. A model without which documents are predicted as well gets no weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy

from naively.evidence.blas import one_thread
from naively.evidence.canonical import HEAVIEST
from naively.evidence.doubt import doubt_of
from naively.evidence.judged import NOBODY, Judged
from naively.evidence.pieces import Piece
from naively.evidence.weights import GROUPS, WORSE, Pool, Weights
from naively.exact import Float64, Int64
from naively.kernels import doubt as doubt_kernel
from naively.kernels import left_out as kernel
from naively.workers import Workers

ALPHAS = (1.0, 0.3, 0.1, 0.03, 0.01)
QUARTERS = (0, 1, 2, 3, 4)
"""γ that are tried, in quarters: roots are the same everywhere, bit for bit; powers are not."""
LIKELY = 3
"""The γ by which α is chosen."""
DOUBTS = np.array([5.0, 25.0])
"""s: what a term tells, if it had been met so often more as all terms are."""
ASPECTS = 2 + len(DOUBTS)
"""By which terms are weighed: 1, their surprise, what they tell."""
SMALL = 1 << 12
"""Counts of which logarithms are made once."""
TRIED, TOGETHER = 2000, 256
"""Documents by which α and γ are chosen, at most; and those that a thread takes in one go."""
FARTHEST = 300.0
"""Nats by which a class can be behind another, unless ten terms tell more."""


@dataclass(frozen=True)
class Scale:
    """How much the terms of documents count.

    Attributes
    ----------
    alpha : the smoothing; None if it was given.
    quarters : 4 γ.
    weights : (4, G) w, v, u_5, u_25 of each group of terms.
    bias : (C,) b, in nats.
    judged : how documents were predicted, each by counts and weights without it.
    """

    alpha: float | None
    quarters: int
    weights: Float64
    bias: Float64
    judged: Judged

    def of_terms(self, counts: Float64, of_class: Float64, group: Int64) -> Float64:
        """What terms count, (k,), by their counts (C, k) and those of all terms in all, (C,)."""
        whole = float(of_class.sum())
        found = np.empty(len(group))
        kernel.term_weights(
            np.ascontiguousarray(counts.T), whole, of_class / max(whole, 1e-300), DOUBTS,
            np.ascontiguousarray(group), self.weights, found,
        )  # fmt: skip
        return found

    def fall(self, scores: Float64, data: Float64, indptr: Int64) -> None:
        """Let scores (C, n) of documents fall with their lengths, and add the bias, in place.

        `data` and `indptr` are CSR rows of what their terms count.
        """
        doubt_kernel.let_fall(scores, data, indptr, self.quarters, self.bias)

    def of_lengths(self, lengths: Float64) -> Float64:
        """L^-γ; of documents without terms 1."""
        return by_length(lengths, self.quarters)

    @property
    def counts(self) -> bool:
        """Whether these terms count at all."""
        return bool(self.weights.any())


def by_length(lengths: Float64, quarters: int) -> Float64:
    """L^-γ."""
    root = np.sqrt(np.sqrt(np.where(lengths > 0, lengths, 1.0)))
    found = 1.0 / root if quarters else np.ones_like(root)
    for _ in range(quarters - 1):
        found /= root
    return found


@dataclass(frozen=True)
class Counted:
    """Documents that weights are learned from, and what was counted of their terms.

    Attributes
    ----------
    rows : (n, V) CSR, what each of the V terms of these documents counts in each.
    y, weight : (n,) the class of each, and how many documents of that class it stands for.
    equal : (n, C) how many documents of each class are equal to it.
    counts : (V, C) what was counted of each of these terms, of all documents.
    of_class : (C,) what was counted of all terms.
    class_weight : (C,) weight of the documents of each class, above 0.
    alpha : (V,) or scalar, the smoothing; None if it is to be chosen.
    n_terms : how many terms there are in all.
    alpha_whole : Σ of the smoothing of all terms, if it is given.
    group : (V,) the group of each term.
    n_groups : int
    unit : the surprise of a term, on average.
    """

    rows: scipy.sparse.csr_matrix
    y: Int64
    weight: Float64
    equal: Float64
    counts: Float64
    of_class: Float64
    class_weight: Float64
    alpha: Any
    n_terms: int
    alpha_whole: float
    group: Int64
    n_groups: int
    unit: float

    def first(self, most: int) -> Self:
        """Some of the documents."""
        return replace(
            self, rows=self.rows[:most], y=self.y[:most], weight=self.weight[:most],
            equal=self.equal[:most],
        )  # fmt: skip

    @cached_property
    def sums(self) -> Float64:
        """(V, D) what the terms tell of the classes, to be had without a document."""
        found = np.empty((len(self.counts), len(DOUBTS)))
        kernel.all_sums(self.counts, self.of_class, DOUBTS, found)
        return found

    def told(
        self, alphas: Sequence[Any], first: int, stop: int, workers: Workers
    ) -> tuple[Float64, Float64]:
        """What some documents tell, each without itself, by each smoothing; and their lengths.

        (J, n, 4 G, C) of documents `first` to `stop`, and (n,).
        """
        stop = min(stop, len(self.y))
        smoothing = np.array(alphas, np.float64).reshape(len(alphas), -1)
        whole = smoothing[:, 0] * self.n_terms if self.alpha is None else [self.alpha_whole]
        small = np.arange(SMALL if smoothing.shape[1] == 1 else 0)
        logs, totals = np.log(small + smoothing[:, :1]), self.counts.sum(axis=1)
        spread = np.broadcast_to(smoothing, (len(alphas), len(self.counts)))
        n, sums = max(stop - first, 0), self.sums
        found = np.zeros((len(alphas), n, ASPECTS * self.n_groups, self.counts.shape[1]))
        lengths = np.zeros(n)

        def some(start: int) -> None:
            kernel.left_out(
                start, min(start + TOGETHER, stop), first, self.rows.indptr, self.rows.indices,
                self.rows.data, self.equal, self.counts, totals, sums, logs, spread,
                float(self.of_class.sum()), self.group, np.asarray(whole, np.float64),
                self.of_class, DOUBTS, found, lengths,
            )  # fmt: skip

        workers.map(some, range(first, stop, TOGETHER))
        found[:, :, self.n_groups : 2 * self.n_groups] /= self.unit
        return found, lengths

    @property
    def farthest(self) -> float:
        """Nats by which a class can be behind another."""
        return max(FARTHEST, 10 * float(np.log(max(1.0, self.of_class.max()))))

    @property
    def added(self) -> npt.NDArray[np.bool_]:
        """(4 G,) which weights naive Bayes has not: these are drawn to 0, others to their mean."""
        return np.repeat(np.arange(ASPECTS) > 0, self.n_groups)

    def pool(self, scaled: Float64, added: npt.NDArray[np.bool_], workers: Workers) -> Pool:
        """Evidence (n, K, C) that falls with the length, to be weighed; `added` is of each."""
        prior = np.log(self.class_weight)
        off = np.clip(scaled[:, :, 1:] - scaled[:, :, :1], -self.farthest, self.farthest)
        base = np.repeat((prior[1:] - prior[0]).astype(np.float32)[:, np.newaxis], len(self.y), 1)
        piece = Piece(
            np.ascontiguousarray(off.transpose(1, 2, 0), np.float32), base, self.y,
            (self.weight * min(1.0, HEAVIEST / self.weight.max())).astype(np.float32),
            np.arange(len(self.y)) % GROUPS,
        )  # fmt: skip
        return Pool([piece], added, workers, doubt_of(float(self.class_weight.sum())))

    def alone(self, workers: Workers) -> tuple[Any, int, Float64]:
        """(α, 4 γ, the evidence (n, 4 G, C) with them) by which the first documents are predicted
        best. First α is chosen, then γ.
        """
        few = self.first(TRIED)

        def loss(evidence: Float64, quarters: int) -> float:
            return few.pool(falling(evidence, lengths, quarters), few.added, workers).alone()[0]

        alphas: Sequence[Any] = ALPHAS if self.alpha is None else [self.alpha]
        tried, lengths = self.told(alphas, 0, TRIED, workers)
        best = int(np.argmin([loss(one, LIKELY) for one in tried])) if len(alphas) > 1 else 0
        quarters = min(QUARTERS, key=lambda one: loss(tried[best], one))
        (rest,), longer = self.told(alphas[best : best + 1], TRIED, len(self.y), workers)
        found, whole = np.concatenate([tried[best], rest]), np.append(lengths, longer)
        found *= by_length(whole, quarters)[:, np.newaxis, np.newaxis]
        return alphas[best], quarters, found


def narrowed(rows: scipy.sparse.csr_matrix) -> tuple[scipy.sparse.csr_matrix, Int64]:
    """(documents by those terms alone that one of them has, which these are)."""
    terms = np.flatnonzero(rows.getnnz(axis=0))
    return rows[:, terms], terms


def falling(evidence: Float64, lengths: Float64, quarters: int) -> Float64:
    """Evidence (n, K, C) that falls with the length."""
    return evidence * by_length(lengths, quarters)[:, np.newaxis, np.newaxis]


def scales_of(models: Sequence[Counted], workers: Workers) -> list[Scale]:
    """The weights that predict documents best, each by counts without it.

    Parameters
    ----------
    models : what each model counted of the same documents.

    Returns
    -------
    a `Scale` for each, all with the same biases.
    """
    first = models[0]
    classes = first.counts.shape[1]
    if classes < 2 or not any(one.rows.nnz for one in models):
        return [textbook(one, k == 0) for k, one in enumerate(models)]
    with one_thread():  # with more threads it adds in another order
        chosen = [one.alone(workers) for one in models]
        found, used = _together(models, [scaled for _, _, scaled in chosen], workers)
    scales, weights = [], found.of_blocks
    for k, (own, (alpha, quarters, _)) in enumerate(zip(models, chosen, strict=True)):
        mine = np.zeros((ASPECTS, own.n_groups))
        if k in used:
            mine[:] = weights[: mine.size].reshape(mine.shape)
            weights = weights[mine.size :]
            mine[1] /= own.unit
        smoothing = None if own.alpha is not None else float(alpha)
        scales.append(Scale(smoothing, quarters, mine, found.bias, found.judged))
    return scales


def _together(
    models: Sequence[Counted], told: Sequence[Float64], workers: Workers
) -> tuple[Weights, Sequence[int]]:
    """(the weights of the evidence of some models, which models these are).

    One by one those are left out without which left-out documents are predicted as well, or nearly.
    """

    def weighed(some: Sequence[int]) -> Weights:
        scaled = np.concatenate([told[k] for k in some], axis=1)
        added = np.concatenate([models[k].added for k in some])
        return models[0].pool(scaled, added, workers).best(None, None)

    used: Sequence[int] = range(len(told))
    found = weighed(used)
    while len(used) > 1:
        fewer = [[k for k in used if k != one] for one in used]
        tried = [weighed(some) for some in fewer]
        best = min(range(len(tried)), key=lambda k: tried[k].log_loss)
        if tried[best].log_loss > WORSE * found.log_loss:
            break
        used, found = fewer[best], tried[best]
    return found, used


def textbook(model: Counted, counts: bool) -> Scale:
    """The weights of naive Bayes, where nothing tells others; or none."""
    alpha = ALPHAS[0] if model.alpha is None else None
    weights = np.zeros((ASPECTS, model.n_groups))
    weights[0] = counts
    return Scale(alpha, 0, weights, np.zeros(model.counts.shape[1]), NOBODY)


def unit_of(total: Float64) -> float:
    """The surprise of a term, on average: so that both kinds of weights are of one size.

    `total`, (V,), is how often each term was met.
    """
    met = total[total > 0]
    if not len(met):
        return 1.0
    whole = met.sum()
    surprise = np.log(whole) - np.log(met)
    return max(float((met / whole * surprise).sum()), 1e-3)
