"""Texts that are there more than once: copies count once, and texts that recur are remembered.

A text that is there n times is no n independent draws of its words: it is a copy (of a resampler,
a join, an export), or a template. So its words count as those of one document, shared by its
classes as n_c / n, and all of it is left out together.

Some texts *recur*: they have several classes, which copies of one document cannot, or are there
far more often than other texts of their class. What the next one is was counted then, and its words
add nothing to that. With the shares π of the classes among all documents::

    p(c | text) = (n_c + 2 π_c) / (n + 2)

Of two equally frequent classes that is Laplace's rule of succession. Left out is one document: n_c
and n are one less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64

VIRTUAL = 2.0
"""Virtual documents of a text that recurs, spread as all documents are."""
OFTEN = 10.0
"""How often a text of one class is there at least that recurs;"""
TIMES, DEVIATIONS = 3.0, 6.0
"""and how many times as often as half of the texts of its class, and by how many standard
deviations of a Poisson distribution more often."""
LEAST = 1e-300
"""A probability, at least: weights of classes may differ by more than float64 has."""
GRID = float(1 << 20)
"""Shares of a text's classes are multiples of 1 / GRID, so that sums of them are exact."""


def once(counts: Float64, whole: Float64) -> Float64:
    """What texts weigh that count once, (n, C), by their weights in each class and in all, (n,).

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
    """The same of weights as a CSR matrix (n, C) without zeros."""
    row = np.repeat(np.arange(len(whole)), np.diff(counts.indptr))
    return recur_among(row, counts.indices, counts.data, whole)


def recur_among(
    text: Int64, y: npt.NDArray[np.integer], weight: Float64, whole: Float64
) -> npt.NDArray[np.bool_]:
    """The same of cells: the weight of a text in a class."""
    found = np.zeros(len(whole), bool)
    found[text[weight < whole[text]]] = True  # it has other classes, too
    for c in np.unique(y):
        own, those = weight[y == c], text[y == c]
        usual = float(np.median(own))
        least = max(OFTEN, TIMES * usual, usual + DEVIATIONS * np.sqrt(usual))
        found[those[own >= least]] = True
    return found


def weights_of(once: Float64, class_weight: Float64) -> Float64:
    """Weights of texts, (n, C), that count once: classes have the shares of all documents.

    `class_weight` is that of all documents, (C,).
    """
    own = once.sum(axis=0)
    share = class_weight / max(float(class_weight.sum()), 1e-300)
    factor = np.divide(share * own.sum(), own, out=np.zeros_like(own), where=own > 0)
    found: Float64 = once * factor
    return found


@dataclass(frozen=True)
class Repeated:
    """Texts that recur.

    Attributes
    ----------
    keys : (R,) by which texts are known, sorted: see `naively.text.vocabulary`.
    counts : (R, C) the weight of each text in each class.
    class_weight : (C,) that of all documents.
    """

    keys: Int64
    counts: Float64
    class_weight: Float64

    @classmethod
    def of(cls, keys: Int64, counts: Float64, class_weight: Float64) -> Self:
        """Of texts in any order; those of one key are one text. Texts without terms are none."""
        each, place = np.unique(keys, return_inverse=True)
        whole = np.zeros((len(each), counts.shape[1]))
        np.add.at(whole, place, counts)
        kept = each != 0
        return cls(each[kept], whole[kept], class_weight)

    @classmethod
    def none(cls, class_weight: Float64) -> Self:
        """Of no texts."""
        return cls(np.empty(0, np.int64), np.empty((0, len(class_weight))), class_weight)

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def prior(self) -> Float64:
        """π, (C,)."""
        return self.class_weight / max(float(self.class_weight.sum()), 1e-300)

    def find(self, keys: Int64) -> Int64:
        """Which of these texts each is; -1 of others."""
        if not len(self):
            return np.full(len(keys), -1)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self) - 1)
        return np.where(self.keys[place] == keys, place, -1)

    def proba(self, counts: Float64) -> Float64:
        """P(c | text) of texts that have these weights in each class, (n, C)."""
        whole = counts.sum(axis=1, keepdims=True) + VIRTUAL
        found: Float64 = (counts + VIRTUAL * self.prior) / whole
        return found

    def evidence(self, counts: Float64) -> Float64:
        """log P(c | text) - log π_c, (n, C); 0 of classes without documents."""
        prior = np.where(self.prior > 0, self.prior, 1.0)
        proba = np.where(self.prior > 0, self.proba(counts), 1.0)
        found: Float64 = np.log(np.maximum(proba, LEAST)) - np.log(np.maximum(prior, LEAST))
        return found

    @cached_property
    def scores(self) -> Float64:
        """The evidence of each of these texts, (R, C)."""
        return self.evidence(self.counts)

    def replace(self, keys: Int64, scores: Float64) -> None:
        """Give documents of these keys the evidence of what recurred, (C, n), in place."""
        place = self.find(keys)
        there = np.flatnonzero(place >= 0)
        scores[:, there] = self.scores[place[there]].T

    def left_out(self, place: Int64, y: Int64) -> Float64:
        """P(c | text) without one document of class y of some of these texts, (n, C)."""
        counts = self.counts[place].copy()
        rows = np.arange(len(place))
        counts[rows, y] -= np.minimum(counts[rows, y], 1.0)
        return self.proba(counts)


@dataclass(frozen=True)
class RepeatedLabels(Repeated):
    """Texts that recur, of any number of labels: class 0 is all documents, others are labels."""

    @cached_property
    def prior(self) -> Float64:
        """π_l, (L,)."""
        found: Float64 = self.class_weight[1:] / max(float(self.class_weight[0]), 1e-300)
        return found

    def proba(self, counts: Float64) -> Float64:
        """P(l | text) of texts that have these weights, (n, 1 + L): (n, L)."""
        whole = counts[:, :1] + VIRTUAL
        found: Float64 = (counts[:, 1:] + VIRTUAL * self.prior) / whole
        return found

    def evidence(self, counts: Float64) -> Float64:
        """The log-odds of labels less those of π, (n, L); 0 of labels that all have, or none."""
        prior = self.prior
        some = (prior > 0) & (prior < 1)
        proba, prior = np.where(some, self.proba(counts), 0.5), np.where(some, prior, 0.5)
        found: Float64 = np.log(proba / (1 - proba)) - np.log(prior / (1 - prior))
        return found

    def of_label(self, label: int) -> Repeated:
        """Those of two classes, documents without a label, and those that have it."""
        own = np.array([0, 1 + label])
        counts, weight = self.counts[:, own], self.class_weight[own]
        counts[:, 0] -= counts[:, 1]
        return Repeated(self.keys, counts, np.array([weight[0] - weight[1], weight[1]]))

    def loss(self, counts: Float64, doubt: float) -> Float64:
        """What is lost of all labels of texts with these weights, each without itself, (n,)."""
        n, having = counts[:, :1], counts[:, 1:]
        total = np.zeros(len(counts))
        for has, own in ((1.0, having), (0.0, n - having)):
            less = np.minimum(own, 1.0)
            proba = (having - has * less + VIRTUAL * self.prior) / (n - less + VIRTUAL)
            proba = (1 - doubt) * proba + doubt * self.prior
            right = proba if has else 1 - proba
            total -= (own * np.log(np.where(own > 0, right, 1.0))).sum(axis=1)
        return total
