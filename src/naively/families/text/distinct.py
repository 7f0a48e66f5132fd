"""Count each distinct document of a sample once, and prepare documents to learn weights from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.hashing import UInt64
from naively.core.workers import Workers
from naively.families.text.parameters import Estimated, TextParameters
from naively.pooling.entries import LIGHTEST
from naively.pooling.texts.label_term_weights import RecurringLabels
from naively.pooling.texts.repeated import GRID, Repeated, RepeatedLabels, once, recur, weights_of
from naively.pooling.texts.term_weights import (
    ASPECTS,
    PriorMixing,
    RecurringPredictions,
    prior_share_of,
)
from naively.statistics.base import Batch
from naively.statistics.documents import ROOM, DocumentSample
from naively.statistics.sample import sampled, threshold
from naively.statistics.terms import DocumentTerms, TermCounts, TermStatistics
from naively.text.documents import Documents
from naively.text.vocabulary import document_keys, term_numbers

WEIGHED, TEACHING = 8192, ROOM * 2 // 5
"""The most documents that weights are learned from, and bytes; twice as many are stored."""
FEWEST, MOST_NUMBERS = 512, 1 << 22
"""Documents that weights are learned from in any case, and the most numbers in their evidence:
documents × aspects × groups × classes."""
MANY, REPORTED, WEIGHTS = 0.06, 50, 100
"""`fit` reports duplicates from this share of all documents on, and from this number on; not if
documents weigh more on average, as these are sample weights, not duplicates."""


@dataclass(frozen=True)
class Ending:
    """The last steps of scoring documents, after the evidence of their terms is added up."""

    mixing: PriorMixing  # how far probabilities are mixed with the prior
    repeated: Repeated  # documents that recur, whose scores come from their own counts


def learned_from(stored: DocumentSample) -> tuple[DocumentSample, Int64]:
    """Return (a sample of documents from which weights are learned; their places in `stored`)."""
    return stored.smaller(WEIGHED, TEACHING)


@dataclass(frozen=True)
class DistinctTexts:
    """Documents that differ in their terms, in an order that depends on the terms alone."""

    texts: Documents  # (n,) documents
    places: Int64  # (n,) their places in the sample
    counts: Float64  # (n, C) the weight of each in each class
    whole: Float64  # (n,) its weight in all classes
    # (n,) the inverse of its probability to be sampled: 1 if these are all documents
    stands: Float64
    recur: npt.NDArray[np.bool_]  # (n,) whether the document recurs
    complete: bool  # whether these are all documents, so that weights are learned from all
    # whether the counts of all terms are known, so that duplicates can be subtracted
    exact: bool = True

    @classmethod
    def of(cls, sample: DocumentSample, keys: UInt64, labels: bool = False) -> Self:
        """Group the documents of a sample by keys of their terms.

        With `labels` class 0 is all documents.
        """
        class_weights = sample.counts.T
        _, rows, group = np.unique(keys, return_index=True, return_inverse=True)
        counts, estimated = np.zeros((2, len(rows), class_weights.shape[1]))
        np.add.at(counts, group, class_weights)
        np.add.at(estimated, group, class_weights * sample.stands[:, np.newaxis])
        matrices = counts, estimated
        totals, estimated_totals = (m[:, 0] if labels else m.sum(axis=1) for m in matrices)
        stands = np.divide(estimated_totals, totals, out=np.ones(len(totals)), where=totals > 0)
        recurring = recur(counts, totals)
        texts, complete = sample.documents[rows], sample.is_complete
        return cls(texts, rows, counts, totals, stands, recurring, complete)

    def some(self, most: int) -> tuple[Int64, Self]:
        """Return (the rows of a sample of about `most` of these documents; the sample)."""
        n = len(self.whole)
        if n <= most:
            return np.arange(n), self
        weight = self.whole * self.stands
        rows, sampled_weight = sampled(weight, (np.arange(n) + 0.5) / n, most)
        cut = threshold(weight, most)
        stands = sampled_weight * cut / self.whole[rows]
        return rows, replace(
            self, texts=self.texts[rows], places=self.places[rows], counts=self.counts[rows],
            whole=self.whole[rows], stands=stands, recur=self.recur[rows],
        )  # fmt: skip

    @cached_property
    def once(self) -> Float64:
        """(n, C) the weight of each document if it counts once."""
        return once(self.counts, self.whole)

    @cached_property
    def shares(self) -> Float64:
        """(n,) `stands`, scaled so that the number of distinct documents is that of the sample."""
        once = np.minimum(self.whole, 1.0)
        total = max(float((once * self.stands).sum()), 1e-300)
        return self.stands * (float(once.sum()) / total)

    @cached_property
    def counted(self) -> Float64:
        """(n, C) the weight of each document in the counts of terms.

        If all documents are stored, each counts once. In a sample, recurring documents with known
        weight count as much as the average document with its duplicates.
        """
        if not self.exact:
            return self.counts
        if self.complete:
            return self.once
        average = np.round(self.once / self.different * GRID) / GRID
        return np.where((self.recur & (self.stands == 1.0))[:, np.newaxis], average, self.counts)

    @property
    def different(self) -> float:
        """The number of distinct documents, as a share of all documents."""
        total = float((self.whole * self.stands).sum())
        distinct = float((np.minimum(self.whole, 1.0) * self.stands).sum())
        return distinct / total if total > 0 else 1.0

    def weights(self, class_weight: Float64) -> tuple[Float64, Float64]:
        """Return (the weight of each in training, in evaluation), (n, C) each.

        Documents that do not recur are predicted by their terms. Their duplicates count once, and
        their weights are scaled so that each class keeps its share of them; `class_weight` is of
        all documents, (C,). Documents that recur count once in training, and in evaluation with
        their full weight.
        """
        counts, once = (table * self.shares[:, np.newaxis] for table in (self.counts, self.once))
        totals = counts.sum(axis=0)
        not_recurring = np.where(self.recur[:, np.newaxis], 0.0, counts).sum(axis=0)
        share = np.divide(not_recurring, totals, out=np.zeros_like(totals), where=totals > 0)
        unrepeated = np.where(self.recur[:, np.newaxis], 0.0, once)
        weights = weights_of(unrepeated, class_weight * share)
        training = np.where(self.recur[:, np.newaxis], once, weights)
        repeats = not_recurring.sum() / unrepeated.sum() if unrepeated.any() else 1.0
        evaluation = np.where(self.recur[:, np.newaxis], counts, weights * repeats)
        return training, evaluation

    def ending(self, bag: Any, model: TermCounts, unseen: float | None, workers: Workers) -> Ending:
        """Return the last steps of scoring. `bag`: see `Grouped`; `unseen`: see `PriorMixing`."""
        present = bag.present.rounded()
        recurring = Repeated.of(*self.recurring(bag.terms, model, workers), present)
        documents = float(present.sum()) * self.different
        return Ending(PriorMixing(present, documents, unseen), recurring)

    def recurring(
        self, terms: Estimated, model: TermCounts, workers: Workers
    ) -> tuple[Int64, Float64]:
        """Return (the keys of recurring documents by these terms, their weights in each class)."""
        rows = np.flatnonzero(self.recur)
        if not len(rows):
            return np.empty(0, np.int64), self.counts[rows]
        numbers = term_numbers(terms.vocabulary, model.buckets)
        matrix = TextParameters(model, terms).matrix(self.texts[rows], workers)
        data = None if model.weighs else matrix.data
        return document_keys(numbers, data, matrix.indices, matrix.indptr), self.counts[rows]

    def recurring_labels(self, present: Float64, rows: Int64) -> RecurringLabels | None:
        """Evaluate the predictions of recurring documents with labels; None if there are none.

        `rows` are the documents that weights are learned from.
        """
        recurring = np.flatnonzero(self.recur)
        if not len(recurring):
            return None
        texts = RepeatedLabels(recurring, self.counts[recurring], present)
        loss = texts.loss(texts.counts, prior_share_of(float(present[0]) * self.different))
        others, shares = ~self.recur, self.shares[recurring]
        n_distinct = float((np.minimum(self.whole, 1.0) * self.stands)[others].sum())
        repeats = float((self.whole * self.stands)[others].sum()) / max(n_distinct, 1e-300)
        positions = np.flatnonzero(self.recur[rows])
        total = float((texts.counts[:, 0] * shares).sum())
        return RecurringLabels(float((loss * shares).sum()), total, positions, repeats)

    def more_odds(self, present: Float64) -> Float64:
        """(L,) the log-odds of labels in documents that do not recur, less those in all."""
        counts = self.counts * self.stands[:, np.newaxis]
        others = np.where(self.recur[:, np.newaxis], 0.0, counts).sum(axis=0)
        defined = (others[1:] > 0) & (others[1:] < others[0]) & (present[1:] < present[0])
        if not self.recur.any():
            defined[:] = False
        differences = np.zeros(len(defined))
        others_share, overall = others[1:][defined] / others[0], present[1:][defined] / present[0]
        log_odds = np.log(others_share / (1 - others_share))
        differences[defined] = log_odds - np.log(overall / (1 - overall))
        return differences

    def counted_once(
        self, statistics: TermStatistics, model: TermCounts, workers: Workers
    ) -> TermStatistics:
        """Replace the weight of each document in the counts of terms by `counted`."""
        duplicated = np.flatnonzero((self.counts != self.counted).any(axis=1))
        if not len(duplicated):
            return statistics
        vocabulary: Any = statistics.vocabulary and statistics.vocabulary.copy()
        tables = {name: table.copy() for name, table in statistics.tables.items()}
        corrected = TermStatistics(tables, vocabulary, statistics.presence)
        terms = model.terms_of(self.texts[duplicated], workers)
        classes = np.arange(self.counts.shape[1])
        for table, sign in ((self.counts, -1), (self.counted, 1)):
            counts = counts_of(model, terms, table[duplicated], workers)
            corrected.accumulate(counts, classes, sign)
        return corrected


def counts_of(
    model: TermCounts, terms: DocumentTerms, weights: Float64, workers: Workers
) -> TermStatistics:
    """Count the terms of documents with these weights in each class, (n, C)."""
    row, code = np.nonzero(weights)
    starts = np.searchsorted(row, np.arange(len(weights) + 1))
    batch = Batch(code, weights.shape[1], weights[row, code], starts)
    return model.summed(terms, batch, ExactArray.zeros((weights.shape[1], 1)), workers)


class Learned(NamedTuple):
    """Documents that weights are learned from."""

    places: Int64  # (n,) the places of the documents in the sample
    # y, weight, equal: as in `Counted`, of these classes
    y: Int64
    weight: Float64
    equal: Float64
    classes: Int64  # (C',) the classes with such documents
    documents: float  # the number of all distinct documents
    # the evaluation of recurring documents and duplicates; None if there are none
    beside: RecurringPredictions | None

    @classmethod
    def of(cls, distinct: DistinctTexts, present: ExactArray, groups: int) -> Self:
        """Sample documents to learn weights from; `present` is the number of documents by class.

        The sample is smaller if there are many groups of terms and many classes, to limit memory.
        """
        of_class = present.rounded()
        documents = float(of_class.sum()) * distinct.different
        limit = min(WEIGHED, max(FEWEST, MOST_NUMBERS // max(1, ASPECTS * groups * len(of_class))))
        counted = distinct.counted
        totals = counted.sum(axis=0) if distinct.complete else of_class
        sample_rows, distinct = distinct.some(limit)
        class_counts = counted[sample_rows]
        # a class needs other documents besides the one that is left out
        usable = (class_counts >= LIGHTEST) & (totals - class_counts > LIGHTEST * totals)
        class_codes = np.flatnonzero(usable.any(axis=0))
        row, y = np.nonzero(usable[:, class_codes])
        weight, evaluation_weight = distinct.weights(of_class)
        recurring = None
        if len(row) and (distinct.counts != distinct.once).any():
            recurs = distinct.recur[row]
            texts = Repeated(row, distinct.counts[row][:, class_codes], of_class[class_codes])
            place = np.arange(len(row))
            proba, mean_proba = texts.left_out(place, y), texts.mean_left_out(place)
            recurring = RecurringPredictions(
                proba, mean_proba[place, proba.argmax(axis=1)], recurs,
                evaluation_weight[row, class_codes[y]],
            )  # fmt: skip
        return cls(
            distinct.places[row], y, weight[row, class_codes[y]],
            np.ascontiguousarray(class_counts[row][:, class_codes]), class_codes, documents,
            recurring,
        )  # fmt: skip


def repeated_part(sample: DocumentSample) -> float:
    """Return the share of documents that are duplicates of others."""
    total, duplicates = _weights(sample)
    return duplicates / max(total, 1e-300)


def copies_of(sample: DocumentSample) -> str | None:
    """Return the warning of `fit` about many duplicate documents; None if there are few."""
    total, duplicates = _weights(sample)
    if duplicates < max(MANY * total, REPORTED) or total > WEIGHTS * float(sample.stands.sum()):
        return None
    prefix = "" if sample.is_complete else "about "
    return (
        f"{prefix}{duplicates / total:.0%} of the documents are duplicates of others: the words of "
        "such a document count once, and it is in one fold of cross-validation with its duplicates"
    )


def _weights(sample: DocumentSample) -> tuple[float, float]:
    """Return (the weight of all documents, the weight of duplicates)."""
    counts, stands = sample.counts.T, sample.stands
    totals = counts.sum(axis=1)
    duplicates = np.where(recur(counts, totals), 0.0, np.maximum(totals - 1, 0.0))
    return float((totals * stands).sum()), float((duplicates * stands).sum())
