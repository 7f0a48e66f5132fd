"""Documents as bags of terms: p(x | y) of the words of a text, straight from its bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import csr_matrix

from naively.exact import ExactArray, Float64, Int64
from naively.families.base import Batch, Family, FeatureError
from naively.families.bernoulli import Bernoulli
from naively.families.complement import Complement
from naively.families.linear import Alpha
from naively.families.lognormal import log
from naively.families.multinomial import Multinomial
from naively.families.sums import sum_powers
from naively.families.terms import Reference, TextStatistics
from naively.families.text_parameters import TextParameters
from naively.kernels import vocabulary as kernel
from naively.text import counting
from naively.text.analysis import WORDS, Analysis
from naively.text.counting import Rows
from naively.text.documents import Documents
from naively.text.vocabulary import Vocabulary
from naively.workers import Serial, Workers

Event = Literal["multinomial", "complement", "bernoulli", "binary"]
Weighting = Literal["log", "tfidf", "log-tfidf"]
MOST_BUCKETS = 1 << 30


@dataclass(frozen=True)
class Text(Family):
    """Documents, each a bag of terms: words or n-grams of words or characters.

    Lecture 2, "NB with Bag of Words"; lecture 4; Manning, Raghavan & Schütze (2008), chapter 13.
    The vocabulary is part of the statistics: it grows with the documents, and that of a sum of
    models is the union. Terms that were never learned are left out of the product.

    Parameters
    ----------
    event : "multinomial", "complement", "bernoulli" or "binary"
        What is counted: how often each term is met (`Multinomial`, or its `Complement`); whether
        it is met, absence being evidence too (`Bernoulli`); whether it is met, as a multinomial.
    alpha : float
        Virtual counts of each term, and of its absence for "bernoulli".
    norm : bool
        Divide the weights of each class by their sum, for "complement" only.
    weighting : None, "log", "tfidf" or "log-tfidf"
        What a term counts that is met t times in a document, d of n reference documents having
        it: t; log (1 + t); t · (1 + log ((1 + n) / (1 + d))) as in scikit-learn; or
        log (1 + t) · (1 + log ((1 + n) / (1 + d))).
    length_norm : None, "l1" or "l2"
        Divide the counts of each document by their sum, or the root of the sum of their squares.
    analyzer, ngram_range, lowercase, strip_accents, stop_words, token_pattern, tokenizer
        How a document becomes terms; see `Analysis`.
    min_df, max_df : int or float
        Leave out terms that are in fewer, or more, documents; as a float, parts of all of them.
    max_features : int or None
        Leave out all terms but the most frequent.
    n_features : int or None
        Hash terms into so many buckets, a power of two, instead of keeping a vocabulary: constant
        memory, but different terms may share a bucket, and names are forgotten.
    max_terms : int or None
        Whenever more terms are known, the rarest are dropped until at most half as many are left:
        endless streams in bounded memory. `TextStatistics.undercount` says what that may cost.
    reference : Reference or None
        The documents that "tfidf" refers to: those of the first `fit` or `partial_fit`, each
        counted once.
    """

    event: Event = "multinomial"
    alpha: Alpha = 1.0
    norm: bool = False
    weighting: Weighting | None = None
    length_norm: Literal["l1", "l2"] | None = None
    analyzer: str | Callable[[str], Iterable[str]] = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    strip_accents: str | Callable[[str], str] | None = None
    stop_words: tuple[str, ...] | None = None
    token_pattern: str = WORDS
    tokenizer: Callable[[str], Iterable[str]] | None = None
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_features: int | None = None
    n_features: int | None = None
    max_terms: int | None = None
    reference: Reference | None = None

    name = "text"

    def __post_init__(self) -> None:
        object.__setattr__(self, "ngram_range", self.analysis.ngram_range)
        object.__setattr__(self, "stop_words", self.analysis.stop_words)
        _among("event", self.event, "multinomial", "complement", "bernoulli", "binary")
        _among("weighting", self.weighting, None, "log", "tfidf", "log-tfidf")
        _among("length_norm", self.length_norm, None, "l1", "l2")
        if self.event == "bernoulli" and (self.weighting or self.length_norm):
            raise ValueError(
                'weighting and length_norm change counts, which event="bernoulli" has not: use '
                '"binary"'
            )
        if self.norm and self.event != "complement":
            raise ValueError('norm is for event="complement" only')
        if np.ndim(self.alpha) > 0:
            raise ValueError("alpha must be one number: the terms are not known beforehand")
        for name in ("min_df", "max_df"):
            value = getattr(self, name)
            part = isinstance(value, float) and 0.0 <= value <= 1.0
            if not part and not (_is_count(value) and value >= 1):
                raise ValueError(
                    f"{name} must be a number of documents, as an int, or a part of them, as a "
                    f"float from 0 to 1, not {value!r}"
                )
        for name in ("max_features", "max_terms"):
            value = getattr(self, name)
            if value is not None and not (_is_count(value) and value >= 1):
                raise ValueError(f"{name} must be an integer of at least 1, or None, not {value!r}")
        if self.n_features is not None:
            size = self.n_features
            if not (_is_count(size) and 2 <= size <= MOST_BUCKETS and size & (size - 1) == 0):
                raise ValueError(f"n_features must be a power of two up to 2**30, not {size!r}")
            if self.selects or self.max_terms is not None:
                raise ValueError(
                    "with n_features terms are hashed, and cannot be left out by min_df, max_df, "
                    "max_features or max_terms"
                )
            if self.weighting in ("tfidf", "log-tfidf"):
                raise ValueError("with n_features terms are hashed: weighting must be None or log")
        if not isinstance(self.reference, Reference | None):
            raise ValueError(f"reference must be a Reference or None, not {self.reference!r}")
        self.inner  # noqa: B018 - refuses a bad alpha

    def __getstate__(self) -> dict[str, Any]:
        """The parameters alone: what follows from them another thread may just be adding."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def analysis(self) -> Analysis:
        """How a document becomes terms."""
        return Analysis(
            self.analyzer, self.ngram_range, self.lowercase, self.strip_accents, self.stop_words,
            self.token_pattern, self.tokenizer,
        )  # fmt: skip

    @cached_property
    def inner(self) -> Family:
        """The family of the counts of the terms."""
        if self.event == "complement":
            return Complement(self.alpha, self.norm)
        return Bernoulli(self.alpha) if self.event == "bernoulli" else Multinomial(self.alpha)

    @property
    def is_density(self) -> bool:  # type: ignore[override]
        """Whether scores are a probability of the terms of a document."""
        return self.event != "complement" and self.weighting is None and self.length_norm is None

    @property
    def once(self) -> bool:
        """Whether a term counts once a document."""
        return self.event in ("bernoulli", "binary")

    @property
    def selects(self) -> bool:
        """Whether terms are left out by their frequency."""
        least = self.min_df == (0.0 if isinstance(self.min_df, float) else 1)
        most = isinstance(self.max_df, float) and self.max_df == 1.0
        return not (least and most) or self.max_features is not None

    @property
    def weighs(self) -> bool:
        """Whether the counts of a document are changed."""
        return self.weighting is not None or self.length_norm is not None

    @property
    def refers(self) -> bool:
        """Whether weights depend on reference documents."""
        return self.weighting in ("tfidf", "log-tfidf")

    @property
    def buckets(self) -> int:
        """The number of buckets that terms are hashed into, or 0."""
        return self.n_features or 0

    @property
    def by_document(self) -> bool:
        """Whether the statistics have to say in how many documents a term is."""
        return self.selects and (not self.once or self.weighs)

    def _statistics(self) -> tuple[Any, ...]:
        """All that statistics depend on."""
        return (
            self.analysis, self.once, self.weighting, self.length_norm, self.n_features,
            self.by_document, self.max_terms, self.reference,
        )  # fmt: skip

    def adds_to(self, other: Family) -> bool:
        """Whether statistics of the two mean the same."""
        return isinstance(other, Text) and self._statistics() == other._statistics()

    # ---- learning ----------------------------------------------------------------------------

    def referring(self, documents: Documents, workers: Workers | None = None) -> Self:
        """The same, with these as `reference` documents if it needs some and has none."""
        if not self.refers or self.reference is not None:
            return self
        counts = counting.count(
            documents, np.zeros(len(documents), np.int64), 1, self.analysis, 0, True, False,
            workers or Serial(),
        )  # fmt: skip
        present = len(documents) if documents.valid is None else int(documents.valid.sum())
        assert counts.vocabulary is not None
        return replace(self, reference=Reference.of(counts.vocabulary, counts.total[0], present))

    def check(self, statistics: TextStatistics, class_weight: ExactArray) -> None:
        """Raise FeatureError unless there are terms to learn from."""
        known = statistics.vocabulary
        if known is None:
            return
        if statistics.wordless:
            raise FeatureError(
                "the documents hold no terms, which are words of two letters or more, but for stop "
                'words; token_pattern or analyzer="char" makes others'
            )
        if len(known) == 0:
            raise FeatureError("all terms were dropped as the rarest: max_terms is too low")
        if self.selects and self.estimate(statistics, class_weight).total.shape[1] == 0:
            raise FeatureError(
                f"no terms remain of {len(known):,}: try a lower min_df or a higher max_df"
            )

    def summarise(self, X: Documents, batch: Batch, workers: Workers) -> TextStatistics:
        """The counts of the terms by class, exactly."""
        missing = _missing(X, batch)
        if self.weighs or len(batch.weights):
            return self._weighed(X, batch, missing, workers)
        counts = counting.count(
            X, batch.codes, batch.n_classes, self.analysis, self.buckets, self.once,
            self.by_document, workers,
        )  # fmt: skip
        most = 1 << 40  # documents have fewer bytes
        tables = {"sum": ExactArray.from_integers(counts.total, most), "missing": missing}
        if counts.documents is not None:
            tables["documents"] = ExactArray.from_integers(counts.documents, most)
        return self._statistics_of(tables, counts.vocabulary)

    def _weighed(
        self, X: Documents, batch: Batch, missing: ExactArray, workers: Workers
    ) -> TextStatistics:
        """The same of rows with weights, or of counts that are changed."""
        rows, vocabulary = counting.rows_and_vocabulary(X, self.analysis, self.buckets, workers)
        matrix = self.matrix(rows, vocabulary)
        tables = {"sum": sum_powers(matrix, batch, workers).tables["sum"], "missing": missing}
        if self.by_document:
            matrix.data = np.ones_like(matrix.data)
            tables["documents"] = sum_powers(matrix, batch, workers).tables["sum"]
        return self._statistics_of(tables, None if self.buckets else vocabulary)

    def _statistics_of(
        self, tables: dict[str, ExactArray], vocabulary: Vocabulary | None
    ) -> TextStatistics:
        presence = self.once and not self.weighs
        statistics = TextStatistics(tables, vocabulary, presence, self.max_terms)
        statistics.prune()
        return statistics

    def empty(self, n_classes: int, n_features: int) -> TextStatistics:
        """The statistics of no documents."""
        zeros = ExactArray.zeros((n_classes, self.buckets))
        tables = {"sum": zeros, "missing": ExactArray.zeros((n_classes, 1))}
        if self.by_document:
            tables["documents"] = zeros
        return self._statistics_of(tables, None if self.buckets else Vocabulary())

    # ---- weights -----------------------------------------------------------------------------

    def matrix(self, rows: Rows, vocabulary: Vocabulary) -> Any:
        """Merged counts of terms as a CSR matrix of what they count."""
        data = np.ones_like(rows.data) if self.once else rows.data
        idf = self.idf(vocabulary)
        data = self.weigh(data, rows.indices, rows.indptr, idf)
        matrix = csr_matrix(rows.shape)
        matrix.data, matrix.indices, matrix.indptr = data, rows.indices, rows.indptr
        return matrix

    def idf(self, vocabulary: Vocabulary | None) -> Float64 | None:
        """What the weights of terms are multiplied by, (V,); None if by nothing."""
        if not self.refers or vocabulary is None:
            return None
        if self.reference is None:
            raise ValueError(f"weighting={self.weighting!r} needs reference documents")
        return self.reference.idf(vocabulary)

    def weigh(self, counts: Float64, ids: Any, indptr: Int64, idf: Float64 | None) -> Float64:
        """What merged counts of terms count.

        The result does not depend on the order of a document's terms.
        """
        if self.weighting in ("log", "log-tfidf"):
            counts = log(1.0 + counts)
        if idf is not None:
            counts = counts * idf[ids]
        if self.length_norm is not None:
            counts = counts.copy()
            kernel.normalise(counts, indptr, self.length_norm == "l2")
        return counts

    def estimate(self, statistics: TextStatistics, class_weight: ExactArray) -> Any:
        """The parameters of the terms that are not left out."""
        return TextParameters(self, statistics, class_weight)


def _missing(X: Documents, batch: Batch) -> ExactArray:
    """The weight of the missing documents of each class, (C, 1)."""
    absent = np.zeros((len(X), 1)) if X.valid is None else np.where(X.valid, 0.0, np.nan)[:, None]
    return sum_powers(absent, batch, Serial()).tables["missing"]


def _among(name: str, value: Any, *known: Any) -> None:
    if not (value is None or isinstance(value, str)) or value not in known:
        names = ", ".join(repr(one) for one in known)
        raise ValueError(f"{name} must be one of {names}, not {value!r}")


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
