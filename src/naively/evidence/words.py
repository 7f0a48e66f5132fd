"""The evidence of a column of text: its terms, each weighed by what it tells.

`naively.evidence.scale` has the formula. The terms are those of the texts of the rows; what they
count, their weights and how fast they fall with the length follow from the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from naively.evidence.doubt import Doubt
from naively.evidence.entries import LIGHTEST, Entries
from naively.evidence.judged import NOBODY
from naively.evidence.pieces import Float32
from naively.evidence.scale import (
    ASPECTS,
    FARTHEST,
    Counted,
    Scale,
    falling,
    narrowed,
    unit_of,
)
from naively.evidence.weights import GROUPS
from naively.exact import Float64, Int64
from naively.statistics.levels import Levels
from naively.text.analysis import Analysis
from naively.text.counting import rows_and_vocabulary
from naively.text.documents import Documents
from naively.text.vocabulary import Vocabulary
from naively.workers import SERIAL, Workers

WEIGHED, FEWEST, TOLD = 8192, 512, 1 << 22
"""Texts that weights are learned from, at most; of many classes fewer, so that what all of them
tell is so many numbers; but so many at least."""
AT_ONCE = 2048
"""Texts that are scored at a time."""


@dataclass(frozen=True)
class Event:
    """What of a text is counted.

    Attributes
    ----------
    name : for people.
    analysis : how a text becomes terms.
    once : whether a term counts once a text.
    """

    name: str
    analysis: Analysis
    once: bool

    def groups(self, vocabulary: Vocabulary) -> Int64:
        """The group of each term: words, pairs of words and so on; or characters by number."""
        low, high = self.analysis.ngram_range
        return np.clip(vocabulary.lengths_in(self.analysis.analyzer == "word") - low, 0, high - low)

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        low, high = self.analysis.ngram_range
        return high - low + 1


EVENTS = (
    Event("words and pairs, met or not", Analysis(ngram_range=(1, 2)), True),
    Event("runs of characters", Analysis(analyzer="char_wb", ngram_range=(2, 4)), True),
)
"""What is counted; of the last one, if the texts are not too long together."""
CHARACTERS = 1 << 23
"""Characters that the texts of a column have together, at most, for runs of them to be counted."""


@dataclass(frozen=True)
class Words:
    """What the terms of a text tell.

    Attributes
    ----------
    column : of the text.
    event : Event
    vocabulary : the terms, sorted.
    counts : (V, K) CSR, how often each was met in each class.
    scale : what they weigh; its biases are those of the plan.
    texts : (K,) weight of the texts of each class, after which nobody can be surer than they tell.
    classes : (C,) which of these classes are asked about: a term weighs what all of them tell.
    """

    column: int
    event: Event
    vocabulary: Vocabulary
    counts: scipy.sparse.csr_matrix
    scale: Scale
    texts: Float64
    classes: Int64

    @cached_property
    def doubt(self) -> Doubt:
        """By how much the evidence of all classes is doubted."""
        return Doubt(self.texts)

    @property
    def columns(self) -> tuple[int]:
        """The column."""
        return (self.column,)

    @cached_property
    def of_class(self) -> Float64:
        """What was counted of all terms, (K,)."""
        return np.asarray(self.counts.sum(axis=0)).ravel()

    @cached_property
    def group(self) -> Int64:
        """The group of each term, (V,)."""
        return self.event.groups(self.vocabulary)

    def told(self, places: npt.NDArray[np.integer]) -> Float64:
        """W log θ of some terms for the classes that are asked about, (k, C), in nats."""
        return self._told(places)[:, self.classes]

    def _told(self, places: npt.NDArray[np.integer]) -> Float64:
        """The same for all classes, (k, K)."""
        counts = self.counts[places].toarray()
        alpha: Any = self.scale.alpha
        found: Float64 = np.log(counts + alpha)
        found -= np.log(self.of_class + alpha * len(self.vocabulary))
        found *= self.scale.of_terms(counts.T, self.of_class, self.group[places])[:, np.newaxis]
        return found

    def evidence(self, levels: Levels) -> Float64:
        """Of each text, and of a missing one, (n + 1, C): in nats behind the best class."""
        found = np.zeros((len(levels) + 1, len(self.classes)))
        for start in range(0, len(levels), AT_ONCE):
            part = slice(start, min(start + AT_ONCE, len(levels)))
            rows, known = _rows(levels[part].tolist(), self.event, SERIAL)
            places = self.vocabulary.find(known)
            there = np.flatnonzero(places >= 0)
            told = np.zeros((len(known), len(self.texts)))
            told[there] = self._told(places[there])
            lengths = rows @ (places >= 0).astype(np.float64)
            falls = self.scale.of_lengths(lengths)[:, np.newaxis]
            own = np.ascontiguousarray(((rows @ told) * falls).T)
            self.doubt.scores(own)
            found[part] = own[self.classes].T
        return found - found.max(axis=1, keepdims=True)

    def of_text(self, text: str) -> tuple[list[str], Int64, Float64, Float64, list[str]]:
        """What the terms of a text add.

        Returns
        -------
        (the terms, how often each is met, what it adds (k, C), what their doubt adds (C,), terms
        that are unknown)
        """
        rows, known = _rows([text], replace(self.event, once=False), SERIAL)
        places = self.vocabulary.find(known)
        there = np.flatnonzero(places >= 0)
        counts = rows.toarray()[0, there].astype(np.int64)
        values = np.ones(len(there)) if self.event.once else counts.astype(np.float64)
        falls = self.scale.of_lengths(values.sum(keepdims=True))
        told = self._told(places[there]) * (values * falls)[:, np.newaxis]
        doubt = self.doubt.added(told.sum(axis=0))
        unknown = known.gather(np.flatnonzero(places < 0)).terms()
        terms = known.gather(there).terms()
        return terms, counts, told[:, self.classes], doubt[self.classes], unknown


def words(entries: Entries, column: int, workers: Workers) -> Iterator[tuple[Words, Float32]]:
    """(what the terms tell, the evidence (n, C) of each entry without its text), an event each."""
    if entries.n_classes < 2:
        return
    levels = entries.levels[column]
    few = int(np.strings.str_len(levels).sum()) <= CHARACTERS
    for event in EVENTS if few else EVENTS[:-1]:
        rows, vocabulary = _rows([*levels.tolist(), ""], event, workers)
        if not len(vocabulary):
            continue
        texts = _Texts(entries, column, rows, event, vocabulary)
        chosen = texts.chosen(workers)
        if chosen is None:
            continue
        made = Words(
            column,
            event,
            vocabulary,
            texts.counts,
            chosen.whole,
            texts.of_texts,
            np.arange(entries.n_classes),
        )
        yield made, texts.left_out(chosen, workers)


@dataclass(frozen=True)
class _Chosen:
    """What the terms of texts weigh.

    Attributes
    ----------
    whole : by all texts.
    apart : (GROUPS, 4 G), by those of all other groups; the surprise in units.
    """

    whole: Scale
    apart: Float64


class _Texts:
    """The texts of a column, and what their terms count.

    Attributes
    ----------
    at : (e,) which text each entry has; the last one is a missing one.
    own : (e,) how many rows of its class have that text.
    rows : (n, V) CSR, what each term counts in each text.
    equal : (n, C) CSR, how many rows of each class have each text; none has a missing one.
    counts : (V, C) CSR
    """

    def __init__(
        self,
        entries: Entries,
        column: int,
        rows: scipy.sparse.csr_matrix,
        event: Event,
        vocabulary: Vocabulary,
    ) -> None:
        self.entries, self.rows = entries, rows
        self.at = entries.codes[:, column][entries.row].astype(np.int64)
        cell, place = np.unique(self.at * entries.n_classes + entries.y, return_inverse=True)
        text, y = np.divmod(cell, entries.n_classes)
        weight = np.bincount(place, entries.weight) * (text < rows.shape[0] - 1)
        self.own = weight[place]
        self.equal = scipy.sparse.csr_matrix(
            (weight, (text, y)), (rows.shape[0], entries.n_classes)
        )
        self.counts = (rows.T @ self.equal).tocsr()
        self.counts.eliminate_zeros()
        self.counts.sort_indices()
        self.total = self.counts.sum(axis=1).A1
        self.of_class = self.counts.sum(axis=0).A1
        self.of_texts = self.equal.sum(axis=0).A1
        self.unit = unit_of(self.total)
        self.group, self.n_groups = event.groups(vocabulary), event.n_groups

    def counted(self, some: npt.NDArray[np.integer], y: Int64, weight: Float64) -> Counted:
        """Some of the texts, of these classes, and the counts of their terms."""
        rows, own = narrowed(self.rows[some])
        return Counted(
            rows, y, weight, self.equal[some].toarray(), self.counts[own].toarray(), self.of_class,
            self.of_texts + 0.5, None, len(self.total), 0.0, self.group[own], self.n_groups,
            self.unit,
        )  # fmt: skip

    def chosen(self, workers: Workers) -> _Chosen | None:
        """The weights by which the first texts are predicted best, each by counts without it.

        None where no class has several texts.
        """
        entries = self.entries
        teaches = (self.own > 0) & (self.of_texts[entries.y] - self.own >= LIGHTEST)
        told = ASPECTS * self.n_groups * entries.n_classes
        some = np.flatnonzero(teaches)[: max(FEWEST, min(WEIGHED, TOLD // told))]
        if not len(some):
            return None
        documents = self.counted(self.at[some], entries.y[some], entries.weight[some])
        alpha, quarters, evidence = documents.alone(workers)

        whole = documents.pool(evidence, documents.added, workers).best(None, None)
        group, apart = entries.part[some] % GROUPS, np.zeros((GROUPS, evidence.shape[1]))
        for one in range(GROUPS):
            rows = group != one
            if rows.any():
                few = replace(documents, y=documents.y[rows], weight=documents.weight[rows])
                pool = few.pool(evidence[rows], few.added, workers)
                apart[one] = pool.at(whole.ridge, whole)
        return _Chosen(self._scale(alpha, quarters, whole.of_blocks), apart)

    def _scale(self, alpha: float, quarters: int, weights: Float64) -> Scale:
        """What the terms weigh; the plan has the biases, and says how rows are predicted."""
        own = np.resize(weights, (ASPECTS, self.n_groups)) * 1.0
        own[1] /= self.unit
        return Scale(alpha, quarters, own, np.zeros(self.entries.n_classes), NOBODY)

    def left_out(self, chosen: _Chosen, workers: Workers) -> Float32:
        """The evidence of each entry without its text, by weights of other groups, (e, C)."""
        order, group = np.argsort(self.at, kind="stable"), self.entries.part % GROUPS
        found = np.zeros((len(order), self.entries.n_classes), np.float32)
        alpha, quarters = chosen.whole.alpha, chosen.whole.quarters
        doubt = Doubt(self.of_texts)

        def one(start: int) -> None:
            mine = order[start : start + AT_ONCE]
            some, place = np.unique(self.at[mine], return_inverse=True)
            own = self.counted(some, np.zeros(len(some), np.int64), np.ones(len(some)))
            (each,), lengths = own.told([alpha], 0, len(some), SERIAL)
            told = falling(each, lengths, quarters)
            for k, weights in enumerate(chosen.apart):
                those = group[mine] == k
                evidence = np.ascontiguousarray(np.einsum("nkc,k->nc", told, weights).T)
                doubt.scores(evidence)
                evidence = (evidence - evidence.max(axis=0)).T
                found[mine[those]] = np.maximum(evidence, -FARTHEST)[place[those]]

        workers.map(one, range(0, len(order), AT_ONCE))
        return found


def _rows(
    texts: list[str], event: Event, workers: Workers
) -> tuple[scipy.sparse.csr_matrix, Vocabulary]:
    """(the terms of each text as a CSR matrix; these, sorted)."""
    documents = Documents.of(texts)
    rows, known = rows_and_vocabulary(documents, event.analysis, 0, workers)
    order = known.order()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    data = np.ones(len(rows.data)) if event.once else rows.data
    matrix = scipy.sparse.csr_matrix((data, rank[rows.indices], rows.indptr), rows.shape)
    matrix.sort_indices()  # so that sums do not depend on which words were met first
    return matrix, known.gather(order)
