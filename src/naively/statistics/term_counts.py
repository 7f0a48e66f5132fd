"""Counting the terms of documents: how often each is met, or what that counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy

from naively.exact import ExactArray, Float64, Int64
from naively.kernels import vocabulary as kernel
from naively.statistics.base import Arrays, Batch, Summary
from naively.statistics.logs import portable_log
from naively.statistics.sums import sum_powers
from naively.statistics.terms import Reference, TermStatistics
from naively.text import counting
from naively.text.analysis import Analysis
from naively.text.counting import DocumentRows, Members
from naively.text.documents import Documents
from naively.text.vocabulary import Vocabulary
from naively.workers import SERIAL, Workers

Weighting = Literal["log", "tfidf", "log-tfidf"]
LengthNorm = Literal["l1", "l2"]


@dataclass(frozen=True)
class TermCounts(Summary[TermStatistics]):
    """How often each term was met in the documents of each class, or what that counts.

    Parameters
    ----------
    analysis : how a document becomes terms.
    once : whether a term counts once a document.
    weighting, length_norm : what the terms of a document count; see `naively.families.text.Text`.
    buckets : number of buckets that terms are hashed into; 0 to keep a vocabulary.
    by_document : whether to count the documents that have each term, too.
    max_terms : whenever more terms are known, the rarest are dropped; or None.
    reference : the documents that weights refer to, or None.
    """

    analysis: Analysis
    once: bool = False
    weighting: Weighting | None = None
    length_norm: LengthNorm | None = None
    buckets: int = 0
    by_document: bool = False
    max_terms: int | None = None
    reference: Reference | None = None

    takes = "documents"
    by_column = False

    @property
    def weighs(self) -> bool:
        """Whether the counts of a document are changed."""
        return self.weighting is not None or self.length_norm is not None

    def summarise(self, X: Documents, batch: Batch, workers: Workers) -> TermStatistics:
        """The counts of the terms by class, exactly."""
        missing = _missing(X, batch)
        if self.weighs or len(batch.weights):
            return self._weighed(X, batch, missing, workers)
        counts = counting.count(
            X, Members(batch.codes, batch.starts), batch.n_classes, self.analysis, self.buckets,
            self.once, self.by_document, workers,
        )  # fmt: skip
        most = 1 << 40  # documents have fewer bytes
        tables = {"sum": ExactArray.from_integers(counts.total, most), "missing": missing}
        if counts.documents is not None:
            tables["documents"] = ExactArray.from_integers(counts.documents, most)
        return self._statistics(tables, counts.vocabulary)

    def _weighed(
        self, X: Documents, batch: Batch, missing: ExactArray, workers: Workers
    ) -> TermStatistics:
        """The same of rows with weights, or of counts that are changed."""
        rows, vocabulary = counting.rows_and_vocabulary(X, self.analysis, self.buckets, workers)
        matrix = batch.of_rows(self.matrix(rows, vocabulary))
        tables = {"sum": sum_powers(matrix, batch, workers)["sum"], "missing": missing}
        if self.by_document:
            matrix.data = np.ones_like(matrix.data)
            tables["documents"] = sum_powers(matrix, batch, workers)["sum"]
        return self._statistics(tables, None if self.buckets else vocabulary)

    def _statistics(
        self, tables: dict[str, ExactArray], vocabulary: Vocabulary | None
    ) -> TermStatistics:
        presence = self.once and not self.weighs
        statistics = TermStatistics(tables, vocabulary, presence, self.max_terms)
        statistics.prune()
        return statistics

    def empty(self, n_classes: int, n_features: int) -> TermStatistics:
        """The statistics of no documents."""
        names = ("sum", "documents") if self.by_document else ("sum",)
        tables = {name: ExactArray.zeros((n_classes, self.buckets)) for name in names}
        tables["missing"] = ExactArray.zeros((n_classes, 1))
        return self._statistics(tables, None if self.buckets else Vocabulary())

    def read(
        self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int
    ) -> TermStatistics:
        """As the base class."""
        vocabulary = None
        if not self.buckets:
            vocabulary = Vocabulary.checked(arrays.get("terms"), arrays.get("term_lengths"))
        elif tables["sum"].shape[1] != self.buckets:
            raise ValueError(f"it does not have {self.buckets} buckets of terms")
        lost = arrays.get("undercount")
        if lost is None or lost.dtype != np.float64 or lost.shape != (1,):
            raise ValueError("it does not say how exact its counts are")
        if not 0 <= lost[0] < np.inf:
            raise ValueError("its counts cannot be as inexact as it says")
        presence = self.once and not self.weighs
        return TermStatistics(tables, vocabulary, presence, self.max_terms, float(lost[0]))

    # ---- weights -----------------------------------------------------------------------------

    def matrix(self, rows: DocumentRows, vocabulary: Vocabulary) -> Any:
        """Merged counts of terms as a CSR matrix of what they count."""
        data = np.ones_like(rows.data) if self.once else rows.data
        matrix = scipy.sparse.csr_matrix(rows.shape)
        matrix.data = self.weigh(data, rows.indices, rows.indptr, self.idf(vocabulary))
        matrix.indices, matrix.indptr = rows.indices, rows.indptr
        return matrix

    def idf(self, vocabulary: Vocabulary | None) -> Float64 | None:
        """What the weights of terms are multiplied by, (V,); None if by nothing."""
        if self.weighting not in ("tfidf", "log-tfidf") or vocabulary is None:
            return None
        if self.reference is None:
            raise ValueError(f"weighting={self.weighting!r} needs reference documents")
        return self.reference.idf(vocabulary)

    def weigh(self, counts: Float64, ids: Any, indptr: Int64, idf: Float64 | None) -> Float64:
        """What merged counts of terms count.

        The result does not depend on the order of a document's terms.
        """
        if self.weighting in ("log", "log-tfidf"):
            counts = portable_log(1.0 + counts)
        if idf is not None:
            counts = counts * idf[ids]
        if self.length_norm is not None:
            counts = counts.copy()
            kernel.normalise_rows(counts, indptr, self.length_norm == "l2")
        return counts


def reference_of(documents: Documents, analysis: Analysis, workers: Workers) -> Reference:
    """In how many of these documents each term is."""
    classes = Members(np.zeros(len(documents), np.int64))
    counts = counting.count(documents, classes, 1, analysis, 0, True, False, workers)
    present = len(documents) if documents.valid is None else int(documents.valid.sum())
    assert counts.vocabulary is not None
    return Reference.of(counts.vocabulary, counts.total[0], present)


def _missing(X: Documents, batch: Batch) -> ExactArray:
    """The weight of the missing documents of each class, (C, 1)."""
    absent = np.zeros((len(X), 1)) if X.valid is None else np.where(X.valid, 0.0, np.nan)[:, None]
    return sum_powers(batch.of_rows(absent), batch, SERIAL)["missing"]
