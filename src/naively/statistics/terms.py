"""Terms of documents, counted by class: how often each is met, or what that counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

import numpy as np
import scipy

from naively.core.exact import ExactArray, Float64, Int64
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

    Attributes
    ----------
    tables : ``sum`` (C, W), how often each term was met, or what that counts; ``missing`` (C, 1),
        weight of the documents that are missing; and, where terms are selected by them,
        ``documents`` (C, W), the weight of those that have the term. W is at least the size of
        the vocabulary: there may be room for more terms.
    vocabulary : the terms, or None if they are hashed.
    presence : whether ``sum`` is the weight of documents.
    limit : number of terms, beyond which the rarest are dropped; or None.
    undercount : how much too low the count of a term may be, as terms were dropped.
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
        known = None if self.vocabulary is None else self.vocabulary.copy()  # `add` changes it
        return super()._with(tables, vocabulary=known, **others)

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
                mine = self._with_room(self.tables[name])
                self.tables[name] = mine.accumulate(
                    table.gather(1, slice(size)), classes, places, sign
                )
        self.undercount += other.undercount
        if sign > 0:  # negative counts are to be seen, not dropped
            self.prune()

    def _with_room(self, table: ExactArray) -> ExactArray:
        """A table with a column for each term; and for more, so that this is seldom needed."""
        assert self.vocabulary is not None
        width = table.shape[1]
        if width >= len(self.vocabulary):
            return table
        return table.scatter(1, np.arange(width), max(len(self.vocabulary), width + width // 2))

    def prune(self) -> None:
        """Drop the rarest terms if there are more than `limit`, until at most half as many are."""
        if self.limit is None or self.vocabulary is None or len(self.vocabulary) <= self.limit:
            return
        total = self.tables["sum"].summed(0).rounded()[: len(self.vocabulary)]
        rarest = len(total) - self.limit // 2 - 1
        least = float(np.partition(total, rarest)[rarest])
        self._take(np.flatnonzero(total > least))
        self.undercount += least

    def _take(self, numbers: Int64) -> None:
        """Keep some of the terms, in this order."""
        assert self.vocabulary is not None
        self.vocabulary = self.vocabulary.gather(numbers)
        for name in self.tables.keys() - {"missing"}:
            self.tables[name] = self.tables[name].gather(1, numbers)

    def gather_columns(self, columns: Any) -> Self:
        """Itself: documents are one feature."""
        return self

    def reindex_columns(self, own: Int64, positions: Int64, n_features: int) -> Self:
        """Itself: documents are one feature, in a block of its own."""
        return self

    @property
    def met(self) -> int:
        """How many of the terms have a count that is not 0; 0 if they are hashed."""
        size = 0 if self.vocabulary is None else len(self.vocabulary)
        return int(kernel.count_met(self.tables["sum"].limbs, size))

    def readable(self) -> Self:
        """As the base class: estimates sort the terms where their order matters."""
        return self if self.met else self.canonical()

    def ordered(self) -> Self:
        """The same statistics with sorted terms, and without those of count 0."""
        new = self._with(dict(self.tables))
        if self.vocabulary is not None:
            order = self.vocabulary.order()
            met: Any = self.tables["sum"].nonzero().any(axis=0)
            kept, width = order[met[order]], self.tables["sum"].shape[1]
            if width != len(kept) or (kept != np.arange(width)).any():
                new._take(kept)
        return new

    def canonical(self) -> Self:
        """The same, each number in as few limbs as possible."""
        new = self.ordered()
        new.tables = {name: table.trimmed() for name, table in new.tables.items()}
        return new

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no documents can have these counts, or None if some might."""
        if any(table.any_negative() for table in self.tables.values()):
            return FORGOTTEN
        table = self.tables["sum"] if self.presence else self.tables.get("documents")
        if table is not None and table.shape[1]:
            seen = self.observed(class_weight).gather(1, 0)
            if seen.repeated(table.shape[1]).accumulate(table, sign=-1).below_zero(table):
                return "these documents were not all learned before"
        return super().impossible(class_weight)

    @property
    def of_rows(self) -> tuple[str, ...]:  # type: ignore[override]
        """Tables whose numbers together are weights of documents."""
        return ("sum", "missing") if self.presence else ("missing",)

    def refused(self) -> str | None:
        """Why nothing can be forgotten, or None if it can."""
        if self.undercount > 0:
            return "rare terms were dropped (max_terms), and nobody can tell which they were"
        return None

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """The shape of each table, for so many classes and features."""
        known = self.tables["sum"].shape[1] if self.vocabulary is None else len(self.vocabulary)
        return {
            name: (n_classes, n_features if name == "missing" else known) for name in self.tables
        }

    def arrays(self) -> Arrays:
        """The terms, and how much too low their counts may be."""
        found: Arrays = {"undercount": np.array([self.undercount])}
        if self.vocabulary is not None:
            found["terms"], found["term_lengths"] = self.vocabulary.packed()
        return found

    def _agrees(self, other: Self) -> bool:
        return self.vocabulary == other.vocabulary


@dataclass(frozen=True, eq=False)
class Reference:
    """In how many of some documents each term is.

    Attributes
    ----------
    terms : uint8, the terms in UTF-8, sorted, one after the other.
    lengths : (V,) int64, their numbers of bytes.
    documents : (V,) int64, how many documents have each.
    total : int, how many documents there are.
    vocabulary : the terms.
    """

    terms: Bytes
    lengths: Int64
    documents: Int64
    total: int
    vocabulary: Vocabulary = field(init=False, repr=False)

    def __post_init__(self) -> None:
        known = Vocabulary.checked(self.terms, self.lengths)
        counts = np.asarray(self.documents)
        if counts.dtype != np.int64 or counts.shape != (len(known),) or type(self.total) is not int:
            raise ValueError("the counts of the reference documents do not belong to its terms")
        if ((counts < 0) | (counts > self.total)).any() or self.total >= 1 << 53:
            raise ValueError("the counts of the reference documents cannot be true")
        object.__setattr__(self, "vocabulary", known)

    @classmethod
    def of(cls, vocabulary: Vocabulary, documents: Int64, total: int) -> Reference:
        """Of terms in any order."""
        order = vocabulary.order()
        return cls(*vocabulary.gather(order).packed(), documents[order], total)

    def fields(self) -> dict[str, Any]:
        """The four attributes."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.init}

    def idf(self, vocabulary: Vocabulary) -> Float64:
        """1 + log ((1 + n) / (1 + d)) of each term of another vocabulary, (V,)."""
        found = self.vocabulary.find(vocabulary)
        documents = np.append(self.documents, 0)[found].astype(np.float64)
        return 1.0 + portable_log((1.0 + self.total) / (1.0 + documents))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reference):
            return NotImplemented
        mine, theirs = self.fields(), other.fields()
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Reference({self.total:,} documents, {len(self.lengths):,} terms)"


@dataclass(frozen=True)
class TermCounts(Summary[TermStatistics]):
    """How often each term was met in the documents of each class, or what that counts.

    Parameters
    ----------
    analysis : how a document becomes terms.
    once : whether a term counts once a document.
    weighting, length_norm : what the terms of a document count; see `naively.Text`.
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


def keys_by_terms(models: Sequence[TermCounts], texts: Documents, workers: Workers) -> UInt64:
    """64 bits that stand for the terms of each document in all of some models, (n,).

    Documents whose terms are the same have equal ones, whatever else their bytes are.
    """
    keys = np.zeros(len(texts), np.uint64)
    for k, model in enumerate(models):
        rows, known = rows_and_vocabulary(texts, model.analysis, model.buckets, workers)
        numbers = term_numbers(None if model.buckets else known, model.buckets)
        data = None if model.once else rows.data
        own = document_keys(numbers, data, rows.indices, rows.indptr)
        keys = mixed(keys + own.astype(np.uint64) + np.uint64(k + 1))
    return keys


# ---- pooled terms --------------------------------------------------------------------------------


SHARED = ("missing", "kept")
"""Tables that are the same for all: which documents are missing, and which are kept."""


class PooledTerms(BlockStatistics):
    """Counts of terms, in one or several ways, and a sample of the documents that they are of.

    Attributes
    ----------
    parts : list of TermStatistics, and last the DocumentSample.
    """

    sized_by = "missing"

    def __init__(self, parts: Any) -> None:
        self.parts = parts

    @property
    def terms(self) -> list[TermStatistics]:
        """What was counted in each way."""
        return self.parts[:-1]  # type: ignore[return-value]

    @property
    def sample(self) -> DocumentSample:
        """Some of the documents."""
        return self.parts[-1]  # type: ignore[return-value]

    @property
    def tables(self) -> dict[str, ExactArray]:  # type: ignore[override]
        """The tables of all counts, those of count k as ``k.sum`` if there are several; and
        ``missing``, which is one.
        """
        return _named([own.tables for own in self.terms])

    @property
    def wordless(self) -> bool:
        """Whether no document had a term so far."""
        return all(own.wordless for own in self.terms)

    @property
    def undercount(self) -> float:
        """How much too low the count of a term may be, as terms were dropped."""
        return max(own.undercount for own in self.terms)

    def readable(self) -> Self:
        """As the base class; estimates read the sample in its smallest form themselves."""
        return type(self)([*(own.readable() for own in self.terms), self.sample])

    def gather_columns(self, columns: Any) -> Self:
        """Itself: documents are one feature."""
        return self

    def reindex_columns(self, own: Int64, positions: Int64, n_features: int) -> Self:
        """Itself: documents are one feature, in a block of its own."""
        return self

    def add_missing(self, columns: Int64, class_weight: ExactArray) -> None:
        """Count documents of these weights as missing, in place."""
        for own in self.terms:
            own.add_missing(columns, class_weight)

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no documents can have these counts, or None if some might."""
        first, *others = (own.tables["missing"].trimmed() for own in self.terms)
        if any(other != first for other in others):
            return "its parts are not of the same documents"
        return super().impossible(class_weight)

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """The shape of each table, for so many classes and features."""
        shapes = _named([own.shapes(n_classes, n_features) for own in self.terms])
        return shapes | self.sample.shapes(n_classes, n_features)

    def stored(self) -> dict[str, ExactArray]:
        """The tables that a file has to hold."""
        return self.tables | self.sample.tables

    def arrays(self) -> Arrays:
        """The terms of each count, and the documents."""
        first, *others = (own.arrays() for own in self.terms)
        return _named([first | self.sample.arrays(), *others])


@dataclass(frozen=True)
class PooledCounts(Summary[PooledTerms]):
    """Terms of the same documents, counted in one or several ways, and some of the documents.

    Parameters
    ----------
    parts : tuple of TermCounts
    """

    parts: tuple[TermCounts, ...]

    takes = "documents"
    by_column = False

    def summarise(self, X: Documents, batch: Batch, workers: Workers) -> PooledTerms:
        """All counts, one after the other."""
        terms = [part.summarise(X, batch, workers) for part in self.parts]
        return PooledTerms([*terms, DocumentSample.of(X, batch, workers)])

    def empty(self, n_classes: int, n_features: int) -> PooledTerms:
        """The statistics of no documents."""
        terms = [part.empty(n_classes, n_features) for part in self.parts]
        return PooledTerms([*terms, DocumentSample.empty(n_classes)])

    def read(self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int) -> PooledTerms:
        """As the base class."""
        blank, terms, several = self.empty(0, 0), list[Any](), len(self.parts) > 1
        for k, (part, own) in enumerate(zip(self.parts, blank.terms, strict=True)):
            head = f"{k}." if several else ""
            mine = {name: tables[name if name in SHARED else head + name] for name in own.tables}
            known = {name.removeprefix(head): one for name, one in arrays.items()
                     if name.startswith(head)}  # fmt: skip
            terms.append(part.read(mine, known, n_features))
            if k == 0:
                sample = DocumentSample.read(tables["kept"], known)
        return PooledTerms([*terms, sample])


def _named(each: list[dict[str, Any]]) -> dict[str, Any]:
    """What the counts have, in one dict: those of several by number."""
    if len(each) == 1:
        return each[0]
    found = {name: each[0][name] for name in SHARED if name in each[0]}
    for k, own in enumerate(each):
        found |= {f"{k}.{name}": one for name, one in own.items() if name not in SHARED}
    return found
