"""How sure a model of n documents can be: no surer than n documents tell.

A document may be of a kind that was never learned. Then its words tell nothing of its class. After
n different documents, the next one is of such a kind with a probability of 2 / (n + 2), by which
the probabilities are mixed with the shares of the classes::

    p'(c | x) = (1 - e) p(c | x) + e π_c,    e = 2 / (n + 2)

So of two classes as frequent as each other none gets more than (n + 1) / (n + 2): Laplace's rule of
succession, for who was right n times out of n. It is as if p(x | c) were (1 - e) p(x | c) + e p(x)
for each class, a contamination (Huber 1964, The Annals of Mathematical Statistics 35). That is a
likelihood, to which any prior can be added.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from naively.exact import Float64
from naively.kernels import doubt as kernel

VIRTUAL = 2.0
"""Virtual documents of which the terms tell nothing."""
ROUNDING = 1e-14
"""Part of scores that is no more than rounding."""


def doubt_of(documents: float) -> float:
    """e, after so many documents; 0 of none, when there is nothing to tell."""
    return VIRTUAL / (documents + VIRTUAL) if documents > 0 else 0.0


@dataclass(frozen=True)
class Doubt:
    """By how much scores are doubted.

    Attributes
    ----------
    class_weight : (C,) weight of the documents of each class that were learned.
    documents : how many they are, of which copies count once.
    """

    class_weight: Float64
    documents: float

    @cached_property
    def share(self) -> float:
        """e: how probable it is that the next document is of a new kind."""
        return doubt_of(self.documents)

    @cached_property
    def log_prior(self) -> Float64:
        """log π_c, (C,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.class_weight) - np.log(self.class_weight.sum())

    def scores(self, scores: Float64) -> None:
        """Change log p(x | c) of some documents, (C, n), in place."""
        if self.share:
            kernel.doubt_scores(scores, self.log_prior, self.share)

    def added(self, scores: Float64) -> Float64:
        """What the doubt adds to the scores of a document, (C,)."""
        doubted = scores[:, np.newaxis].copy()
        self.scores(doubted)
        found = doubted[:, 0] - scores
        return np.where(np.abs(found) > ROUNDING * np.abs(scores).max(), found, 0.0)


@dataclass(frozen=True)
class LabelDoubt:
    """The same of labels, of which a document has any number: each is doubted by itself.

    Attributes
    ----------
    having : (L,) weight of the documents that have each label.
    whole : weight of all documents.
    documents : how many they are, of which copies count once.
    """

    having: Float64
    whole: float
    documents: float

    @cached_property
    def share(self) -> float:
        """As `Doubt` has it."""
        return doubt_of(self.documents)

    def odds(self, odds: Float64) -> None:
        """Change log p(x | label) / p(x | no label) of some documents, (L, n), in place."""
        if self.share:
            with np.errstate(divide="ignore"):
                own, rest, whole = (
                    np.log(self.having),
                    np.log(self.whole - self.having),
                    np.log(self.whole),
                )
            kernel.doubt_odds(odds, own - whole, rest - whole, self.share)

    def of(self, label: int) -> Doubt:
        """That of the documents without a label and of those that have it."""
        both = np.array([self.whole - self.having[label], self.having[label]])
        return Doubt(both, self.documents)
