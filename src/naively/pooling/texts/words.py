"""Fit the evidence of a text column: its terms and their weights.

The formula is in `naively.pooling.texts.term_weights`. Terms, their counts and weights, and how
fast the evidence falls with the length of a text are estimated from the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from naively.core.exact import Float64, Int64
from naively.core.workers import SERIAL, Workers
from naively.formula import Bag, TextEvidence
from naively.pooling.entries import GROUPS, LIGHTEST, NO_PREDICTIONS, PARTS, Entries
from naively.pooling.texts.corrections import Corrections
from naively.pooling.texts.repeated import Repeated, once, recur_of
from naively.pooling.texts.term_weights import (
    ALPHAS,
    ASPECTS,
    FARTHEST,
    QUARTERS,
    Counted,
    PriorMixing,
    TermWeights,
    falling,
    narrowed,
    never_below_0,
    unit_of,
)
from naively.pooling.weights import Float32
from naively.statistics.base import Arrays
from naively.statistics.levels import Levels
from naively.statistics.sample import sampled
from naively.text.analysis import Analysis
from naively.text.counting import rows_and_vocabulary
from naively.text.documents import Documents
from naively.text.vocabulary import Vocabulary, document_keys, term_numbers

WEIGHED, FEWEST, MOST_NUMBERS = 8192, 512, 1 << 22
"""Texts from which weights are estimated, at most and at least; numbers of their evidence, at most,
which many classes reach with fewer texts."""
AT_ONCE = 2048  # texts that are scored at a time
CLASSES = 1 << 20  # classes in a file, at most
LARGEST = 1e50  # largest count or weight in a file


@dataclass(frozen=True)
class Event:
    """What is counted in a text."""

    name: str  # for display
    analysis: Analysis  # how a text is split into terms
    once: bool  # whether a term counts once in a text

    def groups(self, vocabulary: Vocabulary) -> Int64:
        """The group of each term: by the number of words or of characters."""
        low, high = self.analysis.ngram_range
        return np.clip(vocabulary.lengths_in(self.analysis.analyzer == "word") - low, 0, high - low)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        low, high = self.analysis.ngram_range
        return high - low + 1


EVENTS = (
    Event("words and pairs, present or not", Analysis(ngram_range=(1, 2)), True),
    Event("character n-grams", Analysis(analyzer="char_wb", ngram_range=(2, 4)), True),
)
"""The counted events; the last one only if the texts are not too long together."""
CHARACTERS = 1 << 23
"""Characters of all texts of a column up to which character n-grams are counted."""


@dataclass(frozen=True)
class Words:
    """The evidence of the terms of a text column."""

    column: int  # of the text
    event: Event
    vocabulary: Vocabulary  # the terms, sorted
    counts: scipy.sparse.csr_matrix  # (V, K) CSR, how often each term occurred in each class
    scale: TermWeights  # the weights; its biases are for texts with known terms
    repeated: Repeated  # texts that recur, whose terms are no further evidence
    different: float  # number of distinct texts
    unseen: float  # how many of these share no term with another one
    classes: Int64  # (C,) the classes that are scored, among the K that weights were estimated from

    @property
    def mixing(self) -> PriorMixing:
        """The prior mixing of the text evidence of a row."""
        class_weight = self.repeated.class_weight[self.classes]
        return PriorMixing(class_weight, self.different, self.unseen)

    @cached_property
    def numbers(self) -> Int64:
        """The number of each term, (V,); the key of a text is the sum of its terms' numbers."""
        return term_numbers(self.vocabulary)

    @cached_property
    def of_class(self) -> Float64:
        """The count of all terms in each class, (K,)."""
        return np.asarray(self.counts.sum(axis=0)).ravel()

    @cached_property
    def group(self) -> Int64:
        """The group of each term, (V,)."""
        return self.event.groups(self.vocabulary)

    def term_evidence(self, places: npt.NDArray[np.integer]) -> Float64:
        """W log θ of some terms for the scored classes, (k, C), in nats."""
        return self._evidence_of_all_classes(places)[:, self.classes]

    def _evidence_of_all_classes(self, places: npt.NDArray[np.integer]) -> Float64:
        """The same for all classes, (k, K)."""
        counts = self.counts[places].toarray()
        alpha: Any = self.scale.alpha
        evidence: Float64 = np.log(counts + alpha)
        evidence -= np.log(self.of_class + alpha * len(self.vocabulary))
        evidence *= self.scale.of_terms(counts.T, self.of_class, self.group[places])[:, np.newaxis]
        return evidence

    def evidence(self, levels: Levels) -> tuple[Float64, npt.NDArray[np.bool_]]:
        """The evidence of each text and of a missing one, relative to the best class, in nats.

        Return the evidence (n + 1, C), and which texts have no known terms (n + 1,).
        """
        evidence = np.zeros((len(levels) + 1, len(self.classes)))
        unseen = np.zeros(len(evidence), bool)
        for start in range(0, len(levels), AT_ONCE):
            part = slice(start, min(start + AT_ONCE, len(levels)))
            rows, terms = _rows(levels[part].tolist(), self.event, SERIAL)
            positions = self.vocabulary.find(terms)
            in_vocabulary = np.flatnonzero(positions >= 0)
            term_evidence = np.zeros((len(terms), self.counts.shape[1]))
            term_evidence[in_vocabulary] = self._evidence_of_all_classes(positions[in_vocabulary])
            lengths = rows @ (positions >= 0).astype(np.float64)
            unseen[part] = lengths == 0
            factors = self.scale.of_lengths(lengths)[:, np.newaxis]
            bias = np.where(lengths > 0, 1.0, 0.0)[:, np.newaxis] * self.bias
            scores = (rows @ term_evidence) * factors + bias
            term_numbers = np.zeros(len(terms), np.int64)
            term_numbers[in_vocabulary] = self.numbers[positions[in_vocabulary]]
            keys = document_keys(term_numbers, None, rows.indices, rows.indptr)
            self.repeated.replace(keys, scores.T)
            evidence[part] = scores[:, self.classes]
        return evidence - evidence.max(axis=1, keepdims=True), unseen

    @property
    def bias(self) -> Float64:
        """b of all classes, (K,)."""
        return self.scale.bias

    def of_text(self, text: str) -> tuple[list[str], Int64, Float64, list[str]]:
        """The contributions of the terms of a text.

        Return the terms, the count of each, its contribution (k, C), and the unknown terms.
        """
        rows, vocabulary = _rows([text], replace(self.event, once=False), SERIAL)
        positions = self.vocabulary.find(vocabulary)
        in_vocabulary = np.flatnonzero(positions >= 0)
        counts = rows.toarray()[0, in_vocabulary].astype(np.int64)
        values = np.ones(len(in_vocabulary)) if self.event.once else counts.astype(np.float64)
        length_factor = self.scale.of_lengths(values.sum(keepdims=True))
        term_evidence = self.term_evidence(positions[in_vocabulary])
        term_evidence = term_evidence * (values * length_factor)[:, np.newaxis]
        unknown = vocabulary.gather(np.flatnonzero(positions < 0)).terms()
        terms = vocabulary.gather(in_vocabulary).terms()
        return terms, counts, term_evidence, unknown

    def text_evidence(self, name: str) -> TextEvidence:
        """The unweighted evidence of the column with this name, as a formula for export."""
        slope = self.term_evidence(np.arange(len(self.vocabulary)))
        base, analysis = self.bias[self.classes], self.event.analysis
        bag = Bag(
            name, analysis, self.vocabulary.terms(), self.event.once, None, None, None, slope, None,
            self.scale.quarters, -base, analysis.analyzer != "word", as_level=True,
        )  # fmt: skip
        has_repeated = len(self.repeated) > 0
        return TextEvidence(
            base, [bag], self.numbers if has_repeated else None, self.repeated.keys,
            self.repeated.scores[:, self.classes],
        )  # fmt: skip


def words(entries: Entries, column: int, workers: Workers) -> Iterator[tuple[Words, Float32]]:
    """For each event: the evidence of the terms, and that of each entry without its text (n, C)."""
    if entries.n_classes < 2:
        return
    levels = entries.levels[column]
    is_small = int(np.strings.str_len(levels).sum()) <= CHARACTERS
    for event in EVENTS if is_small else EVENTS[:-1]:
        rows, vocabulary = _rows([*levels.tolist(), ""], event, workers)
        if not len(vocabulary):
            continue
        texts = _Texts(entries, column, rows, event, vocabulary)
        estimate = texts.chosen(workers)
        if estimate is None:
            continue
        evidence, unseen = texts.left_out(estimate, workers)
        fitted = Words(
            column, event, vocabulary, texts.counts, estimate.scale, texts.recurring(vocabulary),
            texts.different, unseen, np.arange(entries.n_classes),
        )  # fmt: skip
        yield fitted, evidence


@dataclass(frozen=True)
class _Chosen:
    """The weights of the terms of a text column."""

    scale: TermWeights  # from all texts
    # (GROUPS, 4 G), weights for each group from all other groups; rarity in units
    scales_without_group: Float64


class _Texts:
    """The texts of a column, and the counts of their terms.

    `at`: (e,) the text of each entry; the last index is a missing one. `rows`: (n, V) CSR, the
    count of each term in each text. `equal`: (n, C) CSR, number of rows of each class with each
    text; 0 for a missing one. `once`: (n, C) CSR, the same with each text counted once. `counts`:
    (V, C) CSR, counts of terms in texts that count once. `recur`: (n,) which texts recur.
    """

    def __init__(
        self, entries: Entries, column: int, rows: scipy.sparse.csr_matrix, event: Event,
        vocabulary: Vocabulary,
    ) -> None:  # fmt: skip
        self.entries, self.rows = entries, rows
        self.at = entries.codes[:, column][entries.row].astype(np.int64)
        shape = rows.shape[0], entries.n_classes
        weight = entries.weight * (self.at < rows.shape[0] - 1)
        equal = scipy.sparse.coo_matrix((weight, (self.at, entries.y)), shape).tocsr()
        equal.eliminate_zeros()
        text_weights = equal.sum(axis=1).A1
        self.once = equal.copy()
        self.equal, self.whole = equal, text_weights
        totals = np.repeat(text_weights, np.diff(equal.indptr))
        self.once.data = once(equal.data[:, np.newaxis], totals)[:, 0]
        self.recur = recur_of(equal, text_weights)
        self.counts = (rows.T @ self.once).tocsr()
        self.counts.eliminate_zeros()
        self.counts.sort_indices()
        self.total = self.counts.sum(axis=1).A1
        self.of_class = self.counts.sum(axis=0).A1
        self.of_texts = equal.sum(axis=0).A1
        self.of_once = self.once.sum(axis=0).A1
        self.different = float(self.of_once.sum())
        self.unit = unit_of(self.total)
        self.group, self.n_groups = event.groups(vocabulary), event.n_groups

    def recurring(self, vocabulary: Vocabulary) -> Repeated:
        """The texts that recur."""
        rows = self.rows[np.flatnonzero(self.recur)]
        keys = document_keys(term_numbers(vocabulary), None, rows.indices, rows.indptr)
        return Repeated.of(keys, self.equal[np.flatnonzero(self.recur)].toarray(), self.of_texts)

    def counted(self, some: npt.NDArray[np.integer], y: Int64, weight: Float64) -> Counted:
        """Some of the texts with these classes, and the counts of their terms."""
        rows, terms = narrowed(self.rows[some])
        return Counted(
            rows, y, weight, self.once[some].toarray(), terms, self.counts[terms].toarray(),
            self.of_class, self.of_texts + 0.5, None, len(self.total), 0.0,
            self.group[terms], self.n_groups, self.unit, self.different,
        )  # fmt: skip

    def chosen(self, workers: Workers) -> _Chosen | None:
        """Estimate the weights from a sample of texts, each by counts without it.

        None if no class has several texts.
        """
        entries = self.entries
        entry_weight, class_totals = self._of_entries(self.once), self.of_once[entries.y]
        is_usable = (entry_weight > 0) & (class_totals - entry_weight >= LIGHTEST)
        evidence_size = ASPECTS * self.n_groups * entries.n_classes
        indices = np.flatnonzero(is_usable & ~self.recur[self.at])
        if not len(indices):
            return None
        share = entry_weight[indices] / self._of_entries(self.equal)[indices]
        place = (entries.row[indices] + 0.5) / len(entries.codes)
        n_texts = max(FEWEST, min(WEIGHED, MOST_NUMBERS // evidence_size))
        sample, weight = sampled(entries.weight[indices] * share, place, n_texts)
        indices = indices[sample]
        texts, y = self.at[indices], entries.y[indices]
        documents = self.counted(texts, y, weight)
        estimate = documents.alone(workers)
        has_terms = np.flatnonzero(estimate.lengths > 0)
        if not len(has_terms):
            return None
        blocks, added = estimate.ends.blocks(estimate.evidence[has_terms], 1), estimate.ends.added
        with_terms, group = documents.some(has_terms), entries.part[indices[has_terms]] % GROUPS
        whole = with_terms.pool(blocks, added, workers)
        weights, used = never_below_0(with_terms, whole, whole.varied)
        fold_weights = np.zeros((GROUPS, ASPECTS * self.n_groups))
        for fold in range(GROUPS):
            rows = np.flatnonzero(group != fold)
            factors = np.zeros(len(added))
            if len(rows) and len(used):
                pool = with_terms.some(rows).pool(blocks[np.ix_(rows, used)], added[used], workers)
                factors[used] = np.maximum(pool.at(weights.ridge, weights), 0.0)
            fold_weights[fold] = estimate.ends.weights(factors).ravel()
        factors = np.zeros(len(added))
        factors[used] = weights.of_blocks
        alpha, quarters, bias = estimate.alpha, estimate.quarters, weights.bias
        scale = estimate.ends.scale(alpha, quarters, factors, self.unit, bias, NO_PREDICTIONS)
        return _Chosen(scale, fold_weights)

    def _of_entries(self, table: scipy.sparse.csr_matrix) -> Float64:
        """The value of each entry in a table of texts and classes, (e,)."""
        values: Float64 = np.asarray(table[self.at, self.entries.y]).ravel()
        return values

    def left_out(self, chosen: _Chosen, workers: Workers) -> tuple[Float32, float]:
        """Out-of-fold evidence of each entry, (e, C), and the number of texts without shared terms.

        The evidence is without the entry's text, by weights from other groups. The second number
        counts distinct texts that share no term with another one.
        """
        order, group = np.argsort(self.at, kind="stable"), self.entries.part % GROUPS
        out_of_fold = np.zeros((len(order), self.entries.n_classes), np.float32)
        alpha, quarters = chosen.scale.alpha, chosen.scale.quarters
        unseen = np.zeros(self.rows.shape[0], bool)

        def predict_chunk(start: int) -> None:
            chunk = order[start : start + AT_ONCE]
            texts, place = np.unique(self.at[chunk], return_inverse=True)
            documents = self.counted(texts, np.zeros(len(texts), np.int64), np.ones(len(texts)))
            left_out = documents.out_of_fold_evidence([alpha], 0, len(texts), SERIAL)
            (term_evidence,), lengths, _ = left_out
            scaled = falling(term_evidence, lengths, quarters)
            unseen[texts] = lengths == 0
            bias = np.where(lengths > 0, 1.0, 0.0)[:, np.newaxis] * chosen.scale.bias
            for k, weights in enumerate(chosen.scales_without_group):
                in_group = group[chunk] == k
                evidence = np.einsum("nkc,k->nc", scaled, weights) + bias
                evidence -= evidence.max(axis=1, keepdims=True)
                out_of_fold[chunk[in_group]] = np.maximum(evidence, -FARTHEST)[place[in_group]]

        workers.map(predict_chunk, range(0, len(order), AT_ONCE))
        recurring = np.flatnonzero(self.recur[self.at])
        if len(recurring):
            out_of_fold[recurring] = self._recurring(recurring)
        return out_of_fold, float(self.once[np.flatnonzero(unseen & ~self.recur)].sum())

    def _recurring(self, some: Int64) -> Float64:
        """The evidence of entries whose texts recur, from equal texts in other folds."""
        entries = self.entries
        texts, positions = np.unique(self.at[some], return_inverse=True)
        totals = self.equal[texts].toarray()
        parts = np.zeros((PARTS, *totals.shape))
        np.add.at(parts, (entries.part[some], positions, entries.y[some]), entries.weight[some])
        repeated = Repeated(texts, totals, self.of_texts)
        others = totals[positions] - parts[entries.part[some], positions]
        return repeated.evidence(np.maximum(others, 0.0))


def _rows(
    texts: list[str], event: Event, workers: Workers
) -> tuple[scipy.sparse.csr_matrix, Vocabulary]:
    """The terms of each text as a CSR matrix, and the sorted vocabulary."""
    documents = Documents.of(texts)
    rows, vocabulary = rows_and_vocabulary(documents, event.analysis, 0, workers)
    order = vocabulary.order()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    data = np.ones(len(rows.data)) if event.once else rows.data
    matrix = scipy.sparse.csr_matrix((data, rank[rows.indices], rows.indptr), rows.shape)
    matrix.sort_indices()  # so that sums do not depend on the order in which words were found
    return matrix, vocabulary.gather(order)


# ---- files ---------------------------------------------------------------------------------------


def stored_words(words: Words) -> Arrays:
    """Words as arrays, for a file.

    ``event`` : (1,) index into `EVENTS`.
    ``terms``, ``lengths`` : the terms in UTF-8, concatenated, and the length of each.
    ``each``, ``classes``, ``counts`` : number of classes with each term, which ones, its counts.
    ``alpha``, ``quarters``, ``weights``, ``least``, ``most``, ``bias`` : see `TermWeights`.
    ``texts`` : (K,) the weight of the texts of each class.
    ``different``, ``unseen`` : (1,) number of distinct texts; how many of these share no term with
    another one.
    ``keys``, ``recurring`` : the texts that recur, see `Repeated`.
    ``known``, ``asked`` : (1,) K, the number of counted classes; (C,) those that are scored.
    """
    terms, lengths = words.vocabulary.packed()
    scale = words.scale
    return {
        "event": np.array([EVENTS.index(words.event)], np.uint8),
        "terms": terms,
        "lengths": lengths.astype(np.uint32),
        "each": np.diff(words.counts.indptr).astype(np.uint32),
        "classes": words.counts.indices.astype(np.uint32),
        "counts": words.counts.data,
        "alpha": np.array([scale.alpha], np.float64),
        "quarters": np.array([scale.quarters], np.uint8),
        "weights": scale.weights,
        "least": scale.least,
        "most": scale.most,
        "bias": scale.bias,
        "texts": words.repeated.class_weight,
        "different": np.array([words.different]),
        "unseen": np.array([words.unseen]),
        "keys": words.repeated.keys,
        "recurring": words.repeated.counts,
        "known": np.array([words.counts.shape[1]], np.uint32),
        "asked": words.classes.astype(np.uint32),
    }


def read_words(kept: Arrays, column: int, n_classes: int) -> Words:
    """Read the words of a column from the arrays of `stored_words`.

    Raises ValueError if the arrays are invalid for this number of classes.
    """
    kinds = {
        "event": np.uint8, "terms": np.uint8, "lengths": np.uint32, "each": np.uint32,
        "classes": np.uint32, "counts": np.float64, "alpha": np.float64, "quarters": np.uint8,
        "weights": np.float64, "least": np.float64, "most": np.float64, "bias": np.float64,
        "texts": np.float64, "different": np.float64, "unseen": np.float64, "keys": np.int64,
        "recurring": np.float64, "known": np.uint32, "asked": np.uint32,
    }  # fmt: skip
    for name, kind in kinds.items():
        if name not in kept or kept[name].dtype != kind:
            raise ValueError(f"words of a text have no {name!r}")
    single = [kept[name] for name in ("event", "alpha", "quarters", "known")]
    event_code, alpha, quarters, n_stored = single
    if any(array.shape != (1,) for array in single) or event_code[0] >= len(EVENTS):
        raise ValueError("words of a text are counted in an unknown way")
    if alpha[0] not in ALPHAS or quarters[0] not in QUARTERS:
        raise ValueError("words of a text are weighed in an unknown way")
    event = EVENTS[event_code[0]]
    scale_arrays = [kept[name] for name in ("weights", "least", "most")]
    shape = ASPECTS, event.n_groups
    if any(a.shape != shape or not (np.abs(a) <= LARGEST).all() for a in scale_arrays):
        raise ValueError("words of a text have weights that are none")
    vocabulary = Vocabulary.checked(kept["terms"], kept["lengths"].astype(np.int64))
    entries_per_term, classes, counts = (kept[name] for name in ("each", "classes", "counts"))
    if classes.ndim != 1 or counts.ndim != 1:
        raise ValueError("what words of a text count does not belong to them")
    class_codes, ends = kept["asked"], np.append(0, np.cumsum(entries_per_term.astype(np.int64)))
    is_known = n_stored[0] <= CLASSES and (class_codes < n_stored[0]).all()
    if class_codes.shape != (n_classes,) or not is_known:
        raise ValueError("words of a text are asked about classes that are not there")
    texts = kept["texts"]
    if texts.shape != (n_stored[0],) or not ((texts >= 0) & (texts <= LARGEST)).all():
        raise ValueError("words of a text are of a number of texts that cannot be true")
    different, unseen, keys, recurring = (
        kept[name] for name in ("different", "unseen", "keys", "recurring")
    )
    for number in (different, unseen):
        if number.shape != (1,) or not 0 <= number[0] <= LARGEST:
            raise ValueError("words of a text are of a number of texts that cannot be true")
    if keys.ndim != 1 or (np.diff(keys) <= 0).any() or recurring.shape != (len(keys), len(texts)):
        raise ValueError("texts that recur do not belong to their weights")
    if not ((recurring >= 0) & (recurring <= LARGEST)).all():
        raise ValueError("texts that recur have weights that are none")
    bias = kept["bias"]
    if bias.shape != texts.shape or not (np.abs(bias) <= LARGEST).all():
        raise ValueError("words of a text have biases that are none")
    if entries_per_term.shape != (len(vocabulary),) or not ends[-1] == len(classes) == len(counts):
        raise ValueError("what words of a text count does not belong to them")
    if (classes >= n_stored[0]).any():
        raise ValueError("words of a text were met in a class that is not there")
    is_sorted = np.diff(classes.astype(np.int64), prepend=-1) > 0
    is_sorted[ends[:-1][entries_per_term > 0]] = True
    if not is_sorted.all() or not ((counts > 0) & (counts <= LARGEST)).all():
        raise ValueError("what words of a text count cannot be true")
    shape = len(vocabulary), int(n_stored[0])
    table = scipy.sparse.csr_matrix((counts, classes.astype(np.int32), ends), shape)
    weights, least, most = scale_arrays
    scale = TermWeights(
        float(alpha[0]), int(quarters[0]), weights, least, most, bias, NO_PREDICTIONS,
        Corrections.none(len(bias)),
    )  # fmt: skip
    repeated = Repeated(keys, recurring, texts)
    return Words(
        column, event, vocabulary, table, scale, repeated, float(different[0]), float(unseen[0]),
        class_codes.astype(np.int64),
    )  # fmt: skip
