"""Count the terms of documents on all threads, or convert documents to a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.workers import Workers
from naively.kernels import text as kernel
from naively.text.analysis import Analysis
from naively.text.documents import Documents
from naively.text.tokens import Tokens
from naively.text.vocabulary import Ids, Vocabulary

PIECE = 1 << 18
"""Bytes of documents that are tokenised and counted at a time, so that they stay in the cache."""
STRIDE = 1 << 12  # initial number of columns of a table of counts
SMALL = 1 << 31  # counts below this fit into 32 bits

T = TypeVar("T")


class DocumentRows(NamedTuple):
    """Rows of a sparse matrix in the format of `scipy.sparse.csr_matrix`, without its checks."""

    # data, indices, indptr: values, columns, and the start of each row and end of the last
    data: Float64
    indices: Ids
    indptr: Int64
    shape: tuple[int, int]  # (n, V)


class Indexer:
    """Convert documents to term numbers; for one thread at a time.

    Results are valid until the next call: their memory is reused, since returning it to the system
    takes longer than counting.

    `analysis`: how a document becomes terms. `buckets`: number of buckets to hash terms into; 0 to
    number them by a vocabulary. `vocabulary`: fixed vocabulary; None to add new terms to a new one.
    """

    def __init__(
        self, analysis: Analysis, buckets: int = 0, vocabulary: Vocabulary | None = None
    ) -> None:
        self.tokens = Tokens(analysis)
        self.buckets = buckets
        self.grow = vocabulary is None and not buckets
        self.vocabulary = Vocabulary() if vocabulary is None else vocabulary
        self._ids = np.empty(0, np.int32)
        self._ones = np.empty(0)

    def numbers(self, documents: Documents, first: int, last: int) -> tuple[Ids, Int64]:
        """Return (term ids of documents first:last, in order; the start of each document).

        Terms outside a fixed vocabulary are dropped.
        """
        units = self.tokens.units(documents, first, last)
        low, high = self.tokens.low, self.tokens.high
        if len(self._ids) < units.grams(low, high):
            self._ids = np.empty(units.grams(low, high), np.int32)
        ids, indptr = self.vocabulary.number(units, low, high, self.grow, self.buckets, self._ids)
        if not self.grow and not self.buckets:
            ids = ids[: kernel.drop_unknown(ids, indptr)]
        return ids, indptr

    def rows(self, documents: Documents, first: int, last: int, merged: bool) -> DocumentRows:
        """Return documents first:last as counts of terms; if `merged`, sorted, each term once."""
        ids, indptr = self.numbers(documents, first, last)
        shape = last - first, self.buckets or len(self.vocabulary)
        if merged:
            data = np.empty(len(ids))
            n_cells = kernel.distinct(ids, indptr, shape[1], data)
            return DocumentRows(data[:n_cells], ids[:n_cells], indptr, shape)
        if len(self._ones) < len(ids):
            self._ones = np.ones(len(self._ids))
        return DocumentRows(self._ones[: len(ids)], ids, indptr, shape)


@dataclass(frozen=True)
class Members:
    """The classes of documents: one each, or any number."""

    codes: Int64  # classes, document by document
    # (n + 1,) start of each document in `codes`, and end of the last; None if each has one
    starts: Int64 | None = None

    def in_turn(self, first: int, last: int) -> Iterator[Int64]:
        """Yield the first class of each document, then the second, and so on; -1 for none."""
        if self.starts is None:
            yield self.codes[first:last]
            return
        begins, sizes = self.starts[first:last], np.diff(self.starts[first : last + 1])
        for k in range(int(sizes.max(initial=0))):
            documents = np.flatnonzero(sizes > k)
            codes = np.full(last - first, -1, np.int64)
            codes[documents] = self.codes[begins[documents] + k]
            yield codes


@dataclass
class Counts:
    """Counts of each term in the documents of each class."""

    vocabulary: Vocabulary | None  # the terms, or None if they are hashed
    total: Int64  # (C, V) int64, occurrences, or documents if terms count once per document
    documents: Int64 | None  # (C, V) int64, number of documents; None unless requested


class Counter:
    """Count the terms of documents by class; for one thread at a time."""

    def __init__(
        self, terms: Indexer, n_classes: int, once: bool, documents: bool, dtype: npt.DTypeLike
    ) -> None:
        self.terms = terms
        self.once = once
        stride = terms.buckets or STRIDE
        self.total = np.zeros((n_classes, stride), dtype)
        self.documents = np.zeros((n_classes, stride if documents else 0), dtype)
        self.seen = np.zeros(stride if once or documents else 0, np.int64)
        self.stamp = 1

    def count(self, documents: Documents, classes: Members, first: int, last: int) -> None:
        """Count the terms of documents first:last in each of their classes."""
        ids, indptr = self.terms.numbers(documents, first, last)
        if not self.terms.buckets:
            self._widen(len(self.terms.vocabulary))
        for codes in classes.in_turn(first, last):
            self.stamp = kernel.count_terms(
                ids, indptr, codes, 0, self.total.shape[1], self.total.reshape(-1), self.once,
                self.seen, self.stamp, self.documents.reshape(-1),
            )  # fmt: skip

    def _widen(self, width: int) -> None:
        """Make room for `width` terms."""
        stride = self.total.shape[1]
        if width <= stride:
            return
        while stride < width:
            stride *= 2
        self.total = _wider(self.total, stride)
        self.documents = _wider(self.documents, stride)
        self.seen = _wider(self.seen[np.newaxis], stride)[0]

    def merge(self, other: Counter) -> None:
        """Add the counts of another counter."""
        if self.terms.buckets:
            self.total += other.total
            self.documents += other.documents
            return
        places = self.terms.vocabulary.merge(other.terms.vocabulary)
        self._widen(len(self.terms.vocabulary))
        kernel.add_counts(self.total, other.total, places)
        if other.documents.size:
            kernel.add_counts(self.documents, other.documents, places)

    def counts(self) -> Counts:
        """Return all counts."""
        width = self.terms.buckets or len(self.terms.vocabulary)
        vocabulary = None if self.terms.buckets else self.terms.vocabulary
        total, documents = (t[:, :width].astype(np.int64) for t in (self.total, self.documents))
        return Counts(vocabulary, total, documents if self.documents.shape[1] else None)


def _wider(table: npt.NDArray[Any], width: int) -> npt.NDArray[Any]:
    if table.shape[1] == 0:
        return table
    wide = np.zeros((len(table), width), table.dtype)
    wide[:, : table.shape[1]] = table
    return wide


def count(
    documents: Documents, classes: Members, n_classes: int, analysis: Analysis, buckets: int,
    once: bool, by_document: bool, workers: Workers,
) -> Counts:  # fmt: skip
    """Count each term in the documents of each class.

    `classes`: classes of each document. `buckets`: number of buckets to hash terms into, or 0.
    `once`: whether a term counts once per document. `by_document`: whether to count documents too.
    """
    low, high = analysis.ngram_range
    size = int(documents.offsets[-1] - documents.offsets[0])
    most = 2 * (size + len(documents)) * (high - low + 1)  # a byte may be a word with its spaces
    dtype = np.int32 if most < SMALL and analysis.compiled else np.int64

    def new() -> Counter:
        return Counter(Indexer(analysis, buckets), n_classes, once, by_document, dtype)

    def add(counter: Counter, part: tuple[int, int]) -> None:
        counter.count(documents, classes, *part)

    _, counters = _each(documents, workers, new, add)
    counter = counters.pop() if counters else new()
    for further in counters:
        counter.merge(further)
    return counter.counts()


def rows_and_vocabulary(
    documents: Documents, analysis: Analysis, buckets: int, workers: Workers
) -> tuple[DocumentRows, Vocabulary]:
    """Return (documents as counts of terms, sorted and merged; the vocabulary)."""

    def number_terms(terms: Indexer, part: tuple[int, int]) -> tuple[Indexer, Ids, Int64]:
        ids, indptr = terms.numbers(documents, *part)
        return terms, ids.copy(), indptr

    pieces, all_terms = _each(documents, workers, lambda: Indexer(analysis, buckets), number_terms)
    vocabulary = all_terms[0].vocabulary if all_terms else Vocabulary()
    places = {id(terms): vocabulary.merge(terms.vocabulary) for terms in all_terms[1:]}
    numbers = [
        places[id(terms)][ids] if id(terms) in places and not buckets else ids
        for terms, ids, _ in pieces
    ]
    starts = np.cumsum([0] + [len(part) for part in numbers])
    ends = [indptr[1:] + start for (*_, indptr), start in zip(pieces, starts, strict=False)]
    indices = np.concatenate([np.empty(0, np.int32), *numbers])
    indptr = np.concatenate([np.zeros(1, np.int64), *ends])
    data = np.empty(len(indices))
    shape = len(documents), buckets or len(vocabulary)
    n_cells = kernel.distinct(indices, indptr, shape[1], data)
    return DocumentRows(data[:n_cells], indices[:n_cells], indptr, shape), vocabulary


def _each(
    documents: Documents, workers: Workers, new: Callable[[], T], work: Callable[[T, Any], Any]
) -> tuple[list[Any], list[T]]:
    """Return (results of the work on pieces of the documents, the tools that were used).

    A tool processes one piece at a time; each thread reuses a free tool or makes a new one.
    """
    tools: list[T] = []
    free: list[T] = []

    def work_on(part: tuple[int, int]) -> Any:
        try:
            tool = free.pop()
        except IndexError:
            tool = new()
            tools.append(tool)
        result = work(tool, part)
        free.append(tool)
        return result

    return workers.map(work_on, documents.pieces(PIECE)), tools
