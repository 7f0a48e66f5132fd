"""Count repeated texts once, and predict texts that recur by their own counts.

A text that occurs n times is not n independent draws of its words: it is a duplicate (from
resampling, a join, an export), or a template. So its words count as those of one document, whose
classes have the shares n_c / n, and all of its occurrences are left out together.

Some texts *recur*: they have several classes, which duplicates of one document cannot have, or
occur far more often than other texts of their class. Then the counts of the text itself are the
evidence, and its words add nothing. With the shares π of the classes among all documents::

    p(c | text) = (n_c + 2 π_c) / (n + 2)

With two equally frequent classes that is Laplace's rule of succession. To leave one document out,
n_c and n are reduced by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64

VIRTUAL = 2.0  # virtual documents of a text that recurs, distributed as all documents are
OFTEN = 10.0  # occurrences of a text of one class that recurs, at least;
TIMES, DEVIATIONS = 3.0, 6.0
"""in multiples of the median of its class, and in standard deviations of a Poisson distribution
above the median."""
LEAST = 1e-300  # least probability: class weights may differ by more than the range of float64
GRID = float(1 << 20)
"""Shares of a text's classes are multiples of 1 / GRID, so that sums of them are exact."""


def once(counts: Float64, whole: Float64) -> Float64:
    """The weights (n, C) of texts that count once, from weights by class (n, C) and in all (n,).

    Weights below 1 stay as they are.
    """
    total = whole[:, np.newaxis]
    shares = np.round(counts / np.maximum(total, 1.0) * GRID) / GRID
    return np.where(total > 1, shares, counts)


def recur(counts: Float64, whole: Float64) -> npt.NDArray[np.bool_]:
    """Which texts recur, (n,), by their weights in each class, (n, C), and in all, (n,)."""
    text, y = np.nonzero(counts)
    return recur_among(text, y, counts[text, y], whole)


def recur_of(counts: Any, whole: Float64) -> npt.NDArray[np.bool_]:
    """The same for weights in a CSR matrix (n, C) without explicit zeros."""
    row = np.repeat(np.arange(len(whole)), np.diff(counts.indptr))
    return recur_among(row, counts.indices, counts.data, whole)


def recur_among(
    text: Int64, y: npt.NDArray[np.integer], weight: Float64, whole: Float64
) -> npt.NDArray[np.bool_]:
    """The same for a list of cells: text, class, weight."""
    recurs = np.zeros(len(whole), bool)
    recurs[text[weight < whole[text]]] = True  # it has other classes, too
    for c in np.unique(y):
        weights, texts = weight[y == c], text[y == c]
        median = float(np.median(weights))
        threshold = max(OFTEN, TIMES * median, median + DEVIATIONS * np.sqrt(median))
        recurs[texts[weights >= threshold]] = True
    return recurs


def weights_of(once: Float64, class_weight: Float64) -> Float64:
    """Rescale weights (n, C) of texts so that classes have their shares of all documents.

    `class_weight`, (C,), is that of all documents.
    """
    totals = once.sum(axis=0)
    share = class_weight / max(float(class_weight.sum()), 1e-300)
    factor = np.divide(share * totals.sum(), totals, out=np.zeros_like(totals), where=totals > 0)
    weights: Float64 = once * factor
    return weights


@dataclass(frozen=True)
class Repeated:
    """Texts that recur."""

    keys: Int64  # (R,) hashes of the texts, sorted: see `naively.text.vocabulary`
    counts: Float64  # (R, C) the weight of each text in each class
    class_weight: Float64  # (C,) that of all documents

    @classmethod
    def of(cls, keys: Int64, counts: Float64, class_weight: Float64) -> Self:
        """From texts in any order; equal keys are merged, texts without terms are dropped."""
        unique_keys, indices = np.unique(keys, return_inverse=True)
        totals = np.zeros((len(unique_keys), counts.shape[1]))
        np.add.at(totals, indices, counts)
        has_terms = unique_keys != 0
        return cls(unique_keys[has_terms], totals[has_terms], class_weight)

    @classmethod
    def none(cls, class_weight: Float64) -> Self:
        """Without texts."""
        return cls(np.empty(0, np.int64), np.empty((0, len(class_weight))), class_weight)

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def prior(self) -> Float64:
        """π, (C,)."""
        return self.class_weight / max(float(self.class_weight.sum()), 1e-300)

    def find(self, keys: Int64) -> Int64:
        """The index of each text; -1 if it does not recur."""
        if not len(self):
            return np.full(len(keys), -1)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self) - 1)
        return np.where(self.keys[place] == keys, place, -1)

    def proba(self, counts: Float64) -> Float64:
        """P(c | text) of texts with these weights in each class, (n, C)."""
        totals = counts.sum(axis=1, keepdims=True) + VIRTUAL
        proba: Float64 = (counts + VIRTUAL * self.prior) / totals
        return proba

    def evidence(self, counts: Float64) -> Float64:
        """log P(c | text) - log π_c, (n, C); 0 for classes without documents."""
        prior = np.where(self.prior > 0, self.prior, 1.0)
        proba = np.where(self.prior > 0, self.proba(counts), 1.0)
        evidence: Float64 = np.log(np.maximum(proba, LEAST)) - np.log(np.maximum(prior, LEAST))
        return evidence

    @cached_property
    def scores(self) -> Float64:
        """The evidence of each of these texts, (R, C)."""
        return self.evidence(self.counts)

    def replace(self, keys: Int64, scores: Float64) -> None:
        """Replace the evidence (C, n) of documents that recur, in place."""
        positions = self.find(keys)
        recurring = np.flatnonzero(positions >= 0)
        scores[:, recurring] = self.scores[positions[recurring]].T

    def left_out(self, place: Int64, y: Int64) -> Float64:
        """P(c | text) without one document of class y of each text, (n, C)."""
        counts = self.counts[place].copy()
        rows = np.arange(len(place))
        counts[rows, y] -= np.minimum(counts[rows, y], 1.0)
        return self.proba(counts)

    def mean_left_out(self, place: Int64) -> Float64:
        """The mean of that over the documents of each text, (n, C).

        P(c | text) without a document of class c is lower than without another: where predictions
        are sorted by it, as for calibration, it would tell the class of the document.
        """
        counts = self.counts[place]
        return self.proba(counts * (1 - 1 / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)))


@dataclass(frozen=True)
class RepeatedLabels(Repeated):
    """Multi-label texts that recur: class 0 is all documents, the others are labels."""

    @cached_property
    def prior(self) -> Float64:
        """π_l, (L,)."""
        prior: Float64 = self.class_weight[1:] / max(float(self.class_weight[0]), 1e-300)
        return prior

    def proba(self, counts: Float64) -> Float64:
        """P(l | text), (n, L), of texts with these weights, (n, 1 + L)."""
        totals = counts[:, :1] + VIRTUAL
        proba: Float64 = (counts[:, 1:] + VIRTUAL * self.prior) / totals
        return proba

    def evidence(self, counts: Float64) -> Float64:
        """The log-odds of labels minus those of π, (n, L); 0 for labels that all or none have."""
        prior = self.prior
        is_informative = (prior > 0) & (prior < 1)
        proba = np.where(is_informative, self.proba(counts), 0.5)
        prior = np.where(is_informative, prior, 0.5)
        evidence: Float64 = np.log(proba / (1 - proba)) - np.log(prior / (1 - prior))
        return evidence

    def of_label(self, label: int) -> Repeated:
        """The texts with two classes: documents without a label, and with it."""
        columns = np.array([0, 1 + label])
        counts, weight = self.counts[:, columns], self.class_weight[columns]
        counts[:, 0] -= counts[:, 1]
        return Repeated(self.keys, counts, np.array([weight[0] - weight[1], weight[1]]))

    def loss(self, counts: Float64, prior_share: float) -> Float64:
        """The log-loss over all labels of texts with these weights, each without itself, (n,)."""
        n, with_label = counts[:, :1], counts[:, 1:]
        total = np.zeros(len(counts))
        for is_positive, weights in ((1.0, with_label), (0.0, n - with_label)):
            own_weight = np.minimum(weights, 1.0)
            others = with_label - is_positive * own_weight + VIRTUAL * self.prior
            proba = others / (n - own_weight + VIRTUAL)
            proba = (1 - prior_share) * proba + prior_share * self.prior
            true_proba = proba if is_positive else 1 - proba
            total -= (weights * np.log(np.where(weights > 0, true_proba, 1.0))).sum(axis=1)
        return total
