"""Score documents by the estimated parameters of their terms, and explain the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.workers import SERIAL, Workers
from naively.explain.text import ExplainedTerms
from naively.families.base import Events, Listed, Parameters, Section
from naively.families.discrete.multinomial import ROLLS, MultinomialParameters
from naively.families.linear import IMPOSSIBLE, Alpha, LinearParameters, WeightCache
from naively.formula import Bag, Formula
from naively.statistics.base import InvalidValueError
from naively.statistics.terms import TermCounts
from naively.text import counting
from naively.text.counting import PIECE, DocumentRows, Indexer, Members
from naively.text.documents import Documents
from naively.text.vocabulary import Vocabulary

SCORED = 1 << 20  # bytes of documents that one thread scores at a time
HASHED = "with n_features terms are hashed, and their names are not stored"


class Estimated(NamedTuple):
    """Terms in some order, with their parameters."""

    inner: LinearParameters  # parameters of the counts
    vocabulary: Vocabulary | None  # the terms; None if they are hashed
    total: ExactArray  # (C, V) the counts
    alpha: Alpha  # virtual counts of each term


class SelectedTerms(NamedTuple):
    """The terms that remain after selection by frequency."""

    vocabulary: Vocabulary | None  # the terms; None if they are hashed
    total: ExactArray  # (C, V) the counts


class TextParameters(Parameters):
    """The parameters of the selected terms.

    `summary`: TermCounts, how the terms of a document are counted. `scored`: the terms in the order
    that documents are scored with. `scorer`: computes scores from counts. `idf`: the factors of the
    terms, (V,); None without idf. `inner`, `vocabulary`, `total`, `alpha`: as in `Estimated`, of
    the sorted terms. `cached`: whether weights are computed when they are first used: see
    `WeightCache`. `ordered`: makes the sorted terms, which is slow, if `scored` are in another
    order. `zero_is_unknown`: whether some of `scored` have count 0 and are unknown.
    """

    def __init__(
        self, summary: TermCounts, scored: Estimated, cached: bool = False,
        ordered: Callable[[], Estimated] | None = None, zero_is_unknown: bool = False,
    ) -> None:  # fmt: skip
        self.summary, self.scored, self.scorer = summary, scored, scored.inner
        self.n_free = scored.inner.n_free
        self._looked_up: WeightCache | None = None
        if cached:
            self._looked_up = WeightCache(self.scorer, scored.total, zero_is_unknown)
        self._zero_is_unknown = zero_is_unknown
        self._ordered = ordered
        self.idf = summary.idf(scored.vocabulary)
        self._free: list[Indexer] = []

    @cached_property
    def _sorted(self) -> Estimated:
        return self.scored if self._ordered is None else self._ordered()

    @property
    def known_terms(self) -> Estimated:
        """The terms without the unknown ones, in some order."""
        return self._sorted if self._zero_is_unknown else self.scored

    @property
    def inner(self) -> LinearParameters:
        """The parameters of the counts of the sorted terms."""
        return self._sorted.inner

    @property
    def weighing(self) -> LinearParameters:
        """The parameters of each sorted term's contribution, before corrections by document."""
        return self.inner

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The terms, sorted; None if they are hashed."""
        return self._sorted.vocabulary

    @property
    def total(self) -> ExactArray:
        """The counts of the sorted terms, (C, V)."""
        return self._sorted.total

    @property
    def alpha(self) -> Alpha:
        """The virtual counts of each of the sorted terms."""
        return self._sorted.alpha

    @property
    def hashed(self) -> bool:
        """Whether terms are hashed, and have no names."""
        return self.scored.vocabulary is None

    @property
    def n_terms(self) -> int:
        """Number of terms, or of buckets of hashed terms."""
        return int(self.known_terms.total.shape[1])

    @property
    def chance(self) -> str:
        """The unit in which terms are counted: each word, or a document as a whole."""
        return "word" if self.inner.presence() is None else "document"

    @property
    def smoothing(self) -> list[tuple[str, float]]:
        """(What is counted, its alpha); empty if terms have alphas of their own."""
        alpha = self.known_terms.alpha
        return [(self.summary.analysis.unit, float(alpha))] if np.ndim(alpha) == 0 else []

    @property
    def weighted(self) -> bool:
        """Whether terms have weights, so that evidence is not that of their probabilities."""
        return self.scored.inner.weighted

    @property
    def addable(self) -> TextParameters:
        """The parameters of which terms can be added to a text."""
        return self

    def named(self, places: npt.NDArray[np.integer]) -> list[str]:
        """Return the names of some of the sorted terms. Raises ValueError if they are hashed."""
        if self.vocabulary is None:
            raise ValueError(HASHED)
        return self.vocabulary.gather(places).terms()

    @property
    def terms(self) -> list[str]:
        """The terms, sorted. Raises ValueError if they are hashed."""
        if self.vocabulary is None:
            raise ValueError(HASHED)
        return self.vocabulary.terms()

    # ---- scoring -----------------------------------------------------------------------------

    def chunk(self, X: Documents, n_classes: int) -> int:
        """Number of documents that are scored at a time."""
        size = int(X.offsets[-1] - X.offsets[0])
        return min(super().chunk(X, n_classes), max(1, len(X) * SCORED // max(1, size)))

    def prepare(self, X: Documents, workers: Workers) -> None:
        """Compute what `log_prob` needs."""
        size, columns = int(X.offsets[-1] - X.offsets[0]), self.scored.total.shape[1]
        if self.scored.vocabulary is None and size > columns:
            self._looked_up = None  # most buckets are used
        if self._looked_up is None:
            indices, indptr = np.empty(0, np.int32), np.zeros(1, np.int64)
            self.scorer.prepare(DocumentRows(np.empty(0), indices, indptr, (0, 0)), workers)

    def log_prob(self, X: Documents, start: int, stop: int, out: Float64) -> None:
        """Add up the contributions of a document's terms; 0 for a missing document."""
        self.scored_rows(X, start, stop, out)

    def scored_rows(self, X: Documents, start: int, stop: int, out: Float64) -> list[Any]:
        """Compute `log_prob`; return the results of `_finish` for successive documents."""
        looked_up, results = self._looked_up, []
        with self._borrowed() as terms:
            for first, last in X[start:stop].pieces(PIECE):
                rows = self._rows(terms, X, start + first, start + last)
                scores, keys = np.empty((len(out), last - first)), self._keys(rows)
                if looked_up is None:
                    self.scorer.log_prob(rows, 0, last - first, scores)
                else:
                    looked_up.score(rows.data, rows.indices, rows.indptr, scores)
                results.append(self._finish(rows, scores, keys))
                out[:, first:last] = scores
        if X.valid is not None:
            out[:, ~X.valid[start:stop]] = 0.0
        return results

    def _keys(self, rows: DocumentRows) -> Int64 | None:
        """Return the keys of documents, if needed; scoring overwrites the columns of rows."""
        return None

    def _finish(self, rows: DocumentRows, scores: Float64, keys: Int64 | None) -> Any:
        """Change the scores of documents, (C, n), by properties of the whole document."""
        return None

    def added(self, scored: Estimated, columns: Any, values: Float64) -> Float64:
        """Compute the contribution of some terms of one document, with these counts: (k, C)."""
        return scored.inner.evaluated(columns, values[np.newaxis, np.newaxis])[0].T

    @contextmanager
    def _borrowed(self) -> Iterator[Indexer]:
        """Lend an indexer of the terms to one thread."""
        try:
            terms = self._free.pop()
        except IndexError:
            terms = self._indexer(self.scored)
        yield terms
        self._free.append(terms)

    def _indexer(self, terms: Estimated) -> Indexer:
        return Indexer(self.summary.analysis, self.summary.buckets, terms.vocabulary)

    def _rows(
        self, terms: Indexer, X: Documents, first: int, last: int, merged: bool = False
    ) -> DocumentRows:
        """Count the terms of documents first:last; merge equal terms if needed."""
        summary = self.summary
        rows = terms.rows(X, first, last, merged or summary.once or summary.weighs)
        if summary.once:
            rows.data[:] = 1.0
        if not summary.weighs:
            return rows
        return rows._replace(data=summary.weigh(rows.data, rows.indices, rows.indptr, self.idf))

    def contributions(self, X: Documents) -> Float64:
        """Compute the contribution of the document to each class's score, (n, C, 1)."""
        out = np.empty((self.scored.inner.n_classes, len(X)))
        self.log_prob(X, 0, len(X), out)
        out -= np.reshape(self.bias, (-1, 1))
        return np.ascontiguousarray(out.T)[:, :, np.newaxis]

    def log_base(self, X: Documents) -> Float64:
        """Compute the term of log p(x | y) in x alone."""
        return self.inner.log_base(self.matrix(X, SERIAL))

    def matrix(self, X: Documents, workers: Workers) -> Any:
        """Return the counts of the terms of each document, as a CSR matrix (n, V)."""
        if self._ordered is not None:
            return TextParameters(self.summary, self._sorted).matrix(X, workers)

        def count_part(part: tuple[int, int]) -> Any:
            with self._borrowed() as terms:
                rows = self._rows(terms, X, *part, merged=True)
                parts = rows.data.copy(), rows.indices.copy(), rows.indptr
                return scipy.sparse.csr_matrix(parts, rows.shape)

        empty = scipy.sparse.csr_matrix((0, self.total.shape[1]))
        return scipy.sparse.vstack([empty, *workers.map(count_part, X.pieces(PIECE))], format="csr")

    def having(self, X: Documents, places: Int64, workers: Workers) -> npt.NDArray[np.bool_]:
        """Return whether each document has each of some terms, given by index: (n, k)."""
        if self.vocabulary is None:
            raise ValueError(HASHED)
        vocabulary, total = self.vocabulary.gather(places), self.total.gather(1, places)
        some = Estimated(self.inner, vocabulary, total, self.alpha)
        matrix = TextParameters(self.summary, some).matrix(X, workers)
        return np.asarray(matrix.toarray() > 0)

    def feature_count(self) -> Float64:
        """Return the counts of the sorted terms, (C, V)."""
        return self.total.rounded()

    def feature_log_prob(self) -> Float64:
        """Return the log-probabilities or weights of the sorted terms, (C, V)."""
        return self.inner.feature_log_prob()

    def linear(self) -> tuple[Float64, Float64]:
        """Return W and b of the counts of the terms."""
        return self.inner.linear()

    def formula(self, names: Sequence[str]) -> Formula:
        """Return the contributions of the terms as data."""
        bias = np.zeros(self.weighing.n_classes) + self.bias
        return Formula(bias, [self.bag(names[0], missing=-bias)])

    def bag(self, name: str, missing: Float64, quarters: int = 0, quoted: bool = False) -> Bag:
        """Return the contributions of the terms to a text of the column `name`, as data.

        `missing`: (C,) added where there is no text. `quarters`: 4 γ; the evidence is multiplied by
        L^-γ. `quoted`: whether terms are shown in quotes. Raises ValueError if terms are hashed, or
        made by Python's own functions, or a probability is 0.
        """
        summary = self.summary
        if self.hashed:
            raise ValueError("its terms are hashed, and have no names that could be exported")
        if not summary.analysis.compiled:
            raise ValueError(
                "its terms are made by strip_accents, a token_pattern or a function of Python, "
                "which cannot be exported"
            )
        terms = self.weighing.terms(slice(0, len(self.terms)))
        if terms.impossible is not None:
            raise ValueError(IMPOSSIBLE)
        zero = None if terms.zero is None or not terms.zero.any() else terms.zero.T
        return Bag(
            name, summary.analysis, self.terms, summary.once, summary.weighting,
            summary.length_norm, summary.idf(self.vocabulary), terms.slope.T, zero, quarters,
            missing, quoted,
        )  # fmt: skip

    def linear_rows(self, X: Documents) -> Any:
        """Return the counts of the terms of each document, as a CSR matrix (n, V).

        Raises InvalidValueError for a missing document if absent terms are evidence.
        """
        if X.valid is not None and self.scored.inner.has_zero and not X.valid.all():
            row = int(X.valid.argmin())
            problem = "{where} is a missing document, which no weight can take"
            raise InvalidValueError(row, 0, problem)
        return self.matrix(X, SERIAL)

    def linear_columns(self) -> tuple[Int64, npt.NDArray[np.object_]]:
        """Return (feature, term) of each column; the index of the bucket if terms are hashed."""
        size = self.total.shape[1]
        terms = range(size) if self.vocabulary is None else self.terms
        return np.zeros(size, np.int64), np.array(terms, object)

    def explain_document(self, X: Documents, i: int) -> ExplainedTerms:
        """Compute the contribution of each term of document i to each class's score."""
        summary, scored = self.summary, self.known_terms
        document, one_class = X[i : i + 1], Members(np.zeros(1, np.int64))
        counted = counting.count(document, one_class, 1, summary.analysis, 0, False, False, SERIAL)
        assert counted.vocabulary is not None
        vocabulary = Vocabulary() if scored.vocabulary is None else scored.vocabulary
        numbers = vocabulary.number(counted.vocabulary.as_units(), buckets=summary.buckets)[0]
        in_vocabulary = np.flatnonzero(numbers >= 0)
        known = numbers[in_vocabulary]
        columns, first, group = np.unique(known, return_index=True, return_inverse=True)
        order = np.argsort(first)  # in the order of the document
        columns, group = columns[order].astype(np.int64), np.argsort(order)[group]
        counts = np.zeros(len(columns), np.int64)
        np.add.at(counts, group, counted.total[0, in_vocabulary])
        values = np.ones(len(counts)) if summary.once else counts.astype(np.float64)
        if summary.weighs:
            values = summary.weigh(values, columns, np.array([0, len(columns)]), self.idf)
        missing = X.valid is not None and not X.valid[i]
        rest = np.zeros(scored.inner.n_classes)
        if scored.inner.has_zero and not missing:
            absent = np.setdiff1d(np.arange(scored.total.shape[1]), columns)
            rest = scored.inner.evaluated(absent, np.zeros((1, 1, len(absent))))[0].sum(axis=1)
        elif missing:
            rest -= self.bias  # a missing document has no bias
        names = [counted.vocabulary.term(k) for k in in_vocabulary.tolist()]
        terms: list[list[str]] = [[] for _ in columns]  # terms of one bucket are listed together
        for name, position in zip(names, group.tolist(), strict=True):
            terms[position].append(name)
        return ExplainedTerms(
            X.text(i), [", ".join(term_names) for term_names in terms], counts,
            self.added(scored, columns, values), rest, "missing" if missing else "absent terms",
            [counted.vocabulary.term(k) for k in np.flatnonzero(numbers < 0).tolist()],
            [(summary.analysis, dict(zip(names, group.tolist(), strict=True)))],
        )  # fmt: skip

    # ---- descriptions ------------------------------------------------------------------------

    def sample(self, codes: Int64, generator: np.random.Generator) -> Documents:
        """Draw documents of 100 words each; for "bernoulli", of the words that are present."""
        return self.sample_events(codes, ROLLS, generator)

    @property
    def has_length(self) -> bool:  # type: ignore[override]
        """Whether documents are sequences of words that are drawn one by one."""
        return self.scored.inner.has_length

    def sample_events(self, codes: Int64, length: int, generator: np.random.Generator) -> Documents:
        """Draw documents of `length` words each; for "bernoulli", of the words that are present.

        Raises ValueError if terms are hashed, or not single words.
        """
        if self.summary.analysis.analyzer != "word" or self.summary.analysis.ngram_range != (1, 1):
            raise ValueError("documents can be drawn from a model of single words only")
        words = np.array(self.terms, object)
        if len(words) == 0:
            raise ValueError("the model has no words to draw documents from")
        counts = MultinomialParameters(self.total, self.alpha)
        theta = np.exp(counts.log_theta(slice(0, len(words))))
        presence = self.inner.presence()
        texts: list[str] = [""] * len(codes)
        for c in np.unique(codes).tolist():
            rows = np.flatnonzero(codes == c)
            if presence is not None:
                draws = [np.flatnonzero(generator.random(len(words)) < presence[c]) for _ in rows]
            else:
                p = np.cumsum(theta[c])
                draws = list(np.searchsorted(p, generator.random((len(rows), length)) * p[-1]))
            for k, numbers in zip(rows.tolist(), draws, strict=True):
                texts[k] = " ".join(words[numbers])
        return Documents.of(texts)

    def described(self, names: Sequence[str]) -> Section:
        """Describe the number of terms."""
        count = self.n_terms
        noun = "term" if self.known_terms.vocabulary is not None else "bucket"
        words = f"{count:,} {noun}" + ("" if count == 1 else "s")
        return Section("words", rows={names[0]: []}, words={names[0]: words})

    def listed(self) -> list[Listed]:
        """List the numbers of each term; hashed terms by the index of their bucket."""
        feature = np.zeros(self.total.shape[1], np.int64)
        terms = [str(k) for k in range(len(feature))] if self.vocabulary is None else self.terms
        listed = self.inner.listed()
        return [Listed(numbers.name, feature, terms, numbers.values) for numbers in listed]

    def events(self, names: Sequence[str], features: Sequence[int] | None = None) -> Events | None:
        """Return the terms as events."""
        return self.inner.events(self.terms)
