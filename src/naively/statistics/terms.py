"""Count the terms of documents by class, optionally weighted (log, tf-idf, length norm)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import scipy

from naively.core.exact import ExactArray, Float64, Index, Int64
from naively.core.hashing import UInt64, mixed
from naively.core.workers import SERIAL, Workers
from naively.kernels import text as kernel
from naively.statistics.base import FORGOTTEN, Arrays, Batch, Statistics, Summary
from naively.statistics.blocks import BlockStatistics
from naively.statistics.documents import DocumentSample
from naively.statistics.logs import portable_log
from naively.statistics.powers import sum_powers
from naively.text import counting
from naively.text.analysis import Analysis
from naively.text.counting import DocumentRows, Members, rows_and_vocabulary
from naively.text.documents import Bytes, Documents
from naively.text.vocabulary import Vocabulary, document_keys, term_numbers

Weighting = Literal["log", "tfidf", "log-tfidf"]
LengthNorm = Literal["l1", "l2"]


@dataclass(eq=False, repr=False)
class TermStatistics(Statistics):
    """Counts of the terms of a vocabulary.

    tables : ``sum`` (C, W), the (weighted) count of each term; ``missing`` (C, 1), weight of the
        missing documents; and, if terms are selected by them, ``documents`` (C, W), the weight of
        the documents with the term. W is at least the size of the vocabulary, with spare columns.
    vocabulary : the terms, or None if they are hashed.
    presence : whether ``sum`` is the weight of documents.
    limit : number of terms, beyond which the rarest are dropped; or None.
    undercount : how much too low the count of a term may be because terms were dropped.
    """

    vocabulary: Vocabulary | None
    presence: bool
    limit: int | None = None
    undercount: float = 0.0

    sized_by = "missing"

    @property
    def wordless(self) -> bool:
        """Whether no document had a term so far."""
        return self.vocabulary is not None and not len(self.vocabulary) and self.undercount == 0

    def _with(self, tables: dict[str, ExactArray], **others: Any) -> Self:
        # `add` changes it in place
        vocabulary = None if self.vocabulary is None else self.vocabulary.copy()
        return super()._with(tables, vocabulary=vocabulary, **others)

    def accumulate(self, other: Self, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) statistics, merging the vocabularies by union."""
        if self.vocabulary is None or other.vocabulary is None:
            super().accumulate(other, classes, sign)
            return
        size = len(other.vocabulary)
        places = self.vocabulary.merge(other.vocabulary).astype(np.int64)
        for name, table in other.tables.items():
            if name == "missing":
                self.tables[name] = self.tables[name].accumulate(table, classes, sign=sign)
            else:
                total, terms = self._with_room(self.tables[name]), table.gather(1, slice(size))
                self.tables[name] = total.accumulate(terms, classes, places, sign)
        self.undercount += other.undercount
        if sign > 0:  # pruning would hide negative counts
            self.prune()

    def _with_room(self, table: ExactArray) -> ExactArray:
        """Return a table with a column for each term, and spare ones for later terms."""
        assert self.vocabulary is not None
        width = table.shape[1]
        if width >= len(self.vocabulary):
            return table
        return table.scatter(1, np.arange(width), max(len(self.vocabulary), width + width // 2))

    def prune(self) -> None:
        """Drop the rarest terms if there are more than `limit`, down to at most half of it."""
        if self.limit is None or self.vocabulary is None or len(self.vocabulary) <= self.limit:
            return
        total = self.tables["sum"].summed(0).rounded()[: len(self.vocabulary)]
        rarest = len(total) - self.limit // 2 - 1
        least = float(np.partition(total, rarest)[rarest])
        self._take(np.flatnonzero(total > least))
        self.undercount += least

    def _take(self, numbers: Int64) -> None:
        """Select some of the terms, in this order."""
        assert self.vocabulary is not None
        self.vocabulary = self.vocabulary.gather(numbers)
        for name in self.tables.keys() - {"missing"}:
            self.tables[name] = self.tables[name].gather(1, numbers)

    def gather_columns(self, columns: Index) -> Self:
        """Return self: documents are one feature."""
        return self

    def reindex_columns(self, sources: Int64, positions: Int64, n_features: int) -> Self:
        """Return self: documents are one feature, in a block of its own."""
        return self

    @property
    def n_present(self) -> int:
        """The number of terms with a count other than 0; 0 if they are hashed."""
        size = 0 if self.vocabulary is None else len(self.vocabulary)
        return int(kernel.count_met(self.tables["sum"].limbs, size))

    def readable(self) -> Self:
        """Return statistics for estimates, which sort terms themselves where order matters."""
        return self if self.n_present else self.canonical()

    def ordered(self) -> Self:
        """Return the statistics with sorted terms, without those of count 0."""
        statistics = self._with(dict(self.tables))
        if self.vocabulary is not None:
            order = self.vocabulary.order()
            present: Any = self.tables["sum"].nonzero().any(axis=0)
            columns, width = order[present[order]], self.tables["sum"].shape[1]
            if width != len(columns) or (columns != np.arange(width)).any():
                statistics._take(columns)
        return statistics

    def canonical(self) -> Self:
        """Return the ordered statistics, with each number in as few limbs as possible."""
        statistics = self.ordered()
        statistics.tables = {name: table.trimmed() for name, table in statistics.tables.items()}
        return statistics

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Return why no documents can have these counts, or None if some can."""
        if any(table.any_negative() for table in self.tables.values()):
            return FORGOTTEN
        table = self.tables["sum"] if self.presence else self.tables.get("documents")
        if table is not None and table.shape[1]:
            documents = self.observed(class_weight).gather(1, 0)
            if documents.repeated(table.shape[1]).accumulate(table, sign=-1).below_zero(table):
                return "the model has no such documents, or not all of them"
        return super().impossible(class_weight)

    @property
    def of_rows(self) -> tuple[str, ...]:  # type: ignore[override]
        """Tables whose numbers add up to weights of documents."""
        return ("sum", "missing") if self.presence else ("missing",)

    def refused(self) -> str | None:
        """Return why documents cannot be forgotten, or None if they can."""
        if self.undercount > 0:
            return "rare terms were dropped (max_terms), and which they were is not stored"
        return None

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of each table, for these numbers of classes and features."""
        n_terms = self.tables["sum"].shape[1] if self.vocabulary is None else len(self.vocabulary)
        sizes = dict.fromkeys(self.tables, n_terms) | {"missing": n_features}
        return {name: (n_classes, size) for name, size in sizes.items()}

    def arrays(self) -> Arrays:
        """Return the terms and the undercount."""
        stored: Arrays = {"undercount": np.array([self.undercount])}
        if self.vocabulary is not None:
            stored["terms"], stored["term_lengths"] = self.vocabulary.packed()
        return stored

    def _agrees(self, other: Self) -> bool:
        return self.vocabulary == other.vocabulary


@dataclass(frozen=True, eq=False)
class Reference:
    """Document frequencies of terms in reference documents.

    terms : uint8, the terms in UTF-8, sorted and concatenated.
    lengths : (V,) int64, their lengths in bytes.
    documents : (V,) int64, number of documents with each term.
    """

    terms: Bytes
    lengths: Int64
    documents: Int64
    total: int
    vocabulary: Vocabulary = field(init=False, repr=False)

    def __post_init__(self) -> None:
        vocabulary = Vocabulary.checked(self.terms, self.lengths)
        counts = np.asarray(self.documents)
        valid = counts.dtype == np.int64 and counts.shape == (len(vocabulary),)
        if not valid or type(self.total) is not int:
            raise ValueError("the counts of the reference documents do not belong to its terms")
        if ((counts < 0) | (counts > self.total)).any() or self.total >= 1 << 53:
            raise ValueError("the counts of the reference documents cannot be true")
        object.__setattr__(self, "vocabulary", vocabulary)

    @classmethod
    def of(cls, vocabulary: Vocabulary, documents: Int64, total: int) -> Reference:
        """Return the reference of terms in any order."""
        order = vocabulary.order()
        return cls(*vocabulary.gather(order).packed(), documents[order], total)

    def fields(self) -> dict[str, Any]:
        """Return the four constructor arguments."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}

    def idf(self, vocabulary: Vocabulary) -> Float64:
        """Return 1 + log ((1 + n) / (1 + d)) of each term of another vocabulary, (V,)."""
        places = self.vocabulary.find(vocabulary)
        documents = np.append(self.documents, 0)[places].astype(np.float64)
        return 1.0 + portable_log((1.0 + self.total) / (1.0 + documents))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reference):
            return NotImplemented
        own_fields, other_fields = self.fields(), other.fields()
        return all(np.array_equal(own_fields[name], other_fields[name]) for name in own_fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Reference({self.total:,} documents, {len(self.lengths):,} terms)"


class DocumentTerms(NamedTuple):
    """The terms of documents.

    Attributes
    ----------
    rows : the count of each term of a document, by its number or bucket.
    vocabulary : the terms, in any order.
    """

    rows: DocumentRows
    vocabulary: Vocabulary

    def some(self, documents: Int64) -> Self:
        """Return the terms of some of the documents."""
        data, indices, indptr, shape = self.rows
        rows = scipy.sparse.csr_matrix((data, indices, indptr), shape)[documents]
        return self._replace(rows=DocumentRows(rows.data, rows.indices, rows.indptr, rows.shape))

    def keys(self, model: TermCounts) -> Int64:
        """Return a hash of the terms of each document and, unless they count once, their counts."""
        numbers = term_numbers(None if model.buckets else self.vocabulary, model.buckets)
        data = None if model.once else self.rows.data
        return document_keys(numbers, data, self.rows.indices, self.rows.indptr)

    def among(self, vocabulary: Vocabulary | None) -> DocumentRows:
        """Return the terms in a sorted vocabulary by their numbers in it; None if it is hashed."""
        data, indices, indptr, shape = self.rows
        if vocabulary is not None:
            indices = vocabulary.find(self.vocabulary)[indices]
            known = indices >= 0
            if not known.all():
                indptr = np.append(0, np.cumsum(known))[indptr]
                data, indices = data[known], indices[known]
            shape = shape[0], len(vocabulary)
        rows = scipy.sparse.csr_matrix((data, indices, indptr), shape)
        rows = rows.T.tocsr().T.tocsr()  # which sorts the terms of each document
        return DocumentRows(rows.data, rows.indices, rows.indptr.astype(np.int64), shape)


@dataclass(frozen=True)
class TermCounts(Summary[TermStatistics]):
    """Count terms in the documents of each class, optionally weighted.

    once : whether a term counts once per document.
    weighting, length_norm : how the counts of a document are transformed; see `naively.Text`.
    buckets : number of buckets that terms are hashed into; 0 for a vocabulary.
    by_document : whether to count the documents that have each term, too.
    max_terms : number of terms, beyond which the rarest are dropped; or None.
    reference : the documents that idf weights refer to, or None.
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
        """Whether the counts of a document are transformed."""
        return self.weighting is not None or self.length_norm is not None

    def summarise(self, X: Documents, batch: Batch, workers: Workers) -> TermStatistics:
        """Return the exact counts of the terms by class."""
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
        """Count rows with weights, or transformed counts."""
        return self.summed(self.terms_of(X, workers), batch, missing, workers)

    def terms_of(self, X: Documents, workers: Workers) -> DocumentTerms:
        """Return the terms of documents."""
        return DocumentTerms(*rows_and_vocabulary(X, self.analysis, self.buckets, workers))

    def summed(
        self, terms: DocumentTerms, batch: Batch, missing: ExactArray, workers: Workers
    ) -> TermStatistics:
        """Return the counts of the terms of documents by class, from their weights."""
        rows, vocabulary = terms
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
        """Return the statistics of no documents."""
        names = ("sum", "documents") if self.by_document else ("sum",)
        tables = {name: ExactArray.zeros((n_classes, self.buckets)) for name in names}
        tables["missing"] = ExactArray.zeros((n_classes, 1))
        return self._statistics(tables, None if self.buckets else Vocabulary())

    def read(
        self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int
    ) -> TermStatistics:
        """See `Summary.read`."""
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

    def matrix(self, rows: DocumentRows, vocabulary: Vocabulary | None) -> Any:
        """Return merged counts of terms as a CSR matrix of transformed counts."""
        data = np.ones_like(rows.data) if self.once else rows.data
        matrix = scipy.sparse.csr_matrix(rows.shape)
        matrix.data = self.weigh(data, rows.indices, rows.indptr, self.idf(vocabulary))
        matrix.indices, matrix.indptr = rows.indices, rows.indptr
        return matrix

    def idf(self, vocabulary: Vocabulary | None) -> Float64 | None:
        """Return the idf of each term, (V,); None if the weighting has none."""
        if self.weighting not in ("tfidf", "log-tfidf") or vocabulary is None:
            return None
        if self.reference is None:
            raise ValueError(f"weighting={self.weighting!r} needs reference documents")
        return self.reference.idf(vocabulary)

    def weigh(self, counts: Float64, ids: Any, indptr: Int64, idf: Float64 | None) -> Float64:
        """Return transformed counts, given merged counts of terms.

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
    """Return the document frequencies of the terms of these documents."""
    classes = Members(np.zeros(len(documents), np.int64))
    counts = counting.count(documents, classes, 1, analysis, 0, True, False, workers)
    total = len(documents) if documents.valid is None else int(documents.valid.sum())
    assert counts.vocabulary is not None
    return Reference.of(counts.vocabulary, counts.total[0], total)


def _missing(X: Documents, batch: Batch) -> ExactArray:
    """Return the weight of the missing documents of each class, (C, 1)."""
    absent = np.zeros((len(X), 1)) if X.valid is None else np.where(X.valid, 0.0, np.nan)[:, None]
    return sum_powers(batch.of_rows(absent), batch, SERIAL)["missing"]


def keys_by_terms(models: Sequence[TermCounts], texts: Documents, workers: Workers) -> UInt64:
    """Return a 64-bit hash of the terms of each document in all of some models, (n,).

    Documents with the same terms have the same hash, even if their bytes differ.
    """
    return joint_keys([model.terms_of(texts, workers).keys(model) for model in models])


def joint_keys(models: Sequence[Int64]) -> UInt64:
    """Return a hash of the keys of each document, (n,), in each of some models."""
    joint = np.zeros(len(models[0]), np.uint64)
    for k, keys in enumerate(models):
        joint = mixed(joint + keys.astype(np.uint64) + np.uint64(k + 1))
    return joint


# ---- pooled terms --------------------------------------------------------------------------------


SHARED = ("missing", "kept")
"""Tables that all counts share: weight of the missing documents, and the sample."""


class PooledTerms(BlockStatistics):
    """Counts of terms, in one or several ways, and a sample of the documents.

    parts : list of TermStatistics, and last the DocumentSample.
    """

    sized_by = "missing"

    def __init__(self, parts: Any) -> None:
        self.parts = parts

    @property
    def terms(self) -> list[TermStatistics]:
        """The statistics of each way of counting."""
        return self.parts[:-1]  # type: ignore[return-value]

    @property
    def sample(self) -> DocumentSample:
        """The sample of documents."""
        return self.parts[-1]  # type: ignore[return-value]

    @property
    def tables(self) -> dict[str, ExactArray]:  # type: ignore[override]
        """The tables of all counts, those of count k as ``k.sum`` if there are several; ``missing``
        is shared.
        """
        return _named([counts.tables for counts in self.terms])

    @property
    def wordless(self) -> bool:
        """Whether no document had a term so far."""
        return all(counts.wordless for counts in self.terms)

    @property
    def undercount(self) -> float:
        """How much too low the count of a term may be because terms were dropped."""
        return max(counts.undercount for counts in self.terms)

    def readable(self) -> Self:
        """Return statistics for estimates, which canonicalise the sample themselves."""
        return type(self)([*(counts.readable() for counts in self.terms), self.sample])

    def gather_columns(self, columns: Index) -> Self:
        """Return self: documents are one feature."""
        return self

    def reindex_columns(self, sources: Int64, positions: Int64, n_features: int) -> Self:
        """Return self: documents are one feature, in a block of its own."""
        return self

    def add_missing(self, columns: Int64, class_weight: ExactArray) -> None:
        """Count documents of these weights as missing, in place."""
        for counts in self.terms:
            counts.add_missing(columns, class_weight)

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Return why no documents can have these counts, or None if some can."""
        missing, *other_missing = (counts.tables["missing"].trimmed() for counts in self.terms)
        if any(table != missing for table in other_missing):
            return "its parts are not of the same documents"
        return super().impossible(class_weight)

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of each table, for these numbers of classes and features."""
        shapes = _named([counts.shapes(n_classes, n_features) for counts in self.terms])
        return shapes | self.sample.shapes(n_classes, n_features)

    def stored(self) -> dict[str, ExactArray]:
        """Return the tables that are stored in a file."""
        return self.tables | self.sample.tables

    def arrays(self) -> Arrays:
        """Return the terms of each count, and the documents."""
        first_arrays, *other_arrays = (counts.arrays() for counts in self.terms)
        return _named([first_arrays | self.sample.arrays(), *other_arrays])


@dataclass(frozen=True)
class PooledCounts(Summary[PooledTerms]):
    """Count terms of the same documents in one or several ways, and sample the documents."""

    parts: tuple[TermCounts, ...]

    takes = "documents"
    by_column = False

    def summarise(self, X: Documents, batch: Batch, workers: Workers) -> PooledTerms:
        """Return the statistics of all counts, and the sample."""
        terms = [part.summarise(X, batch, workers) for part in self.parts]
        return PooledTerms([*terms, DocumentSample.of(X, batch, workers)])

    def empty(self, n_classes: int, n_features: int) -> PooledTerms:
        """Return the statistics of no documents."""
        terms = [part.empty(n_classes, n_features) for part in self.parts]
        return PooledTerms([*terms, DocumentSample.empty(n_classes)])

    def read(self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int) -> PooledTerms:
        """See `Summary.read`."""
        blank, terms, several = self.empty(0, 0), list[Any](), len(self.parts) > 1
        for k, (part, blank_terms) in enumerate(zip(self.parts, blank.terms, strict=True)):
            head = f"{k}." if several else ""
            names = {name: name if name in SHARED else head + name for name in blank_terms.tables}
            count_tables = {name: tables[stored] for name, stored in names.items()}
            count_arrays = {name.removeprefix(head): array for name, array in arrays.items()
                            if name.startswith(head)}  # fmt: skip
            terms.append(part.read(count_tables, count_arrays, n_features))
            if k == 0:
                sample = DocumentSample.read(tables["kept"], count_arrays)
        return PooledTerms([*terms, sample])


def _named(each: list[dict[str, Any]]) -> dict[str, Any]:
    """Merge the dicts of the counts; if there are several, prefix keys by their numbers."""
    if len(each) == 1:
        return each[0]
    merged = {name: each[0][name] for name in SHARED if name in each[0]}
    for k, entries in enumerate(each):
        merged |= {f"{k}.{name}": value for name, value in entries.items() if name not in SHARED}
    return merged
