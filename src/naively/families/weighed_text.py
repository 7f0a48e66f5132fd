"""Documents whose terms are weighed: probabilities that can be bet on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from naively.evidence.entries import LIGHTEST
from naively.evidence.label_scale import LabelsCounted, label_scale
from naively.evidence.scale import Counted, Scale, read_scale, scale_of, stored_scale, unit_of
from naively.exact import ExactArray, Float64, Int64
from naively.families.base import AnyFamily
from naively.families.describing import Events
from naively.families.labelled_text import LabelledParameters, LabelTerms, Weighing
from naively.families.linear import Alpha, LinearParameters, Terms
from naively.families.looked_up import LookedUp, with_group
from naively.families.text import Text, smoothing_of
from naively.families.text_parameters import Estimated, SelectedTerms, TextParameters
from naively.statistics.base import Arrays
from naively.statistics.documents import LONGEST, ROOM
from naively.statistics.powers import CountStatistics
from naively.statistics.term_counts import TermCounts
from naively.text.counting import DocumentRows
from naively.text.documents import Documents
from naively.workers import SERIAL, Workers

WEIGHED, TEACHING = 8192, ROOM * 2 // 5
"""Documents that weights are learned from, at most, and their bytes; twice as many are kept."""
FIRST = 1.0
"""The smoothing of which the documents have their terms counted, until one is chosen."""


@dataclass(frozen=True)
class WeighedText(Text):
    """Documents as `Text` has them, with the evidence of their terms weighed.

    Naive Bayes counts what the words of a document say again and again. Here it counts as much as
    predicts documents best that were not counted: `naively.evidence.scale` has the formula. For
    that some documents are kept, those of the smallest hashes: see `DocumentSample`. The counts are
    those of all documents.

    While no more than half of the documents that were kept are forgotten, the weights are those of
    the documents that are left, bit for bit.

    Parameters
    ----------
    event : "multinomial" or "binary"
    alpha : float, dict or None
        As of `Text`, but above 0; None to choose it with the weights.
    """

    alpha: Alpha | Mapping[str, float] | None = None  # type: ignore[assignment]

    name = "weighed_text"
    is_density = is_story = False
    keeps = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.event not in ("multinomial", "binary"):
            raise ValueError(
                f'evidence is weighed of event="multinomial" and "binary", not of {self.event!r}: '
                "use weights=None"
            )
        alphas = [*self.alpha.values()] if isinstance(self.alpha, Mapping) else [self.alpha]
        if 0 in alphas:
            raise ValueError(
                "alpha=0 lets one word rule a class out, which no weight can change: use a larger "
                "alpha, or weights=None"
            )

    def _inner(self, alpha: Any) -> AnyFamily:
        return super()._inner(FIRST if alpha is None else alpha)

    @cached_property
    def summary(self) -> TermCounts:  # type: ignore[override]
        """What is counted of the terms of documents, and some documents."""
        return replace(super().summary, sampled=True)

    def estimate(
        self, statistics: Any, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> WeighedTextParameters:
        """The parameters of the terms, and what predicts documents best that were not counted."""
        present = statistics.observed(class_weight).gather(1, 0)
        known = self._sorted(statistics, present)
        group, n_groups = self._groups(known)
        total = np.asarray(known.total.summed(0).rounded())
        sample = statistics.sample.canonical()
        met = np.flatnonzero(present.rounded())
        equal: Float64 = np.asarray(sample.tables["kept"].rounded())[met].T
        row, y = np.nonzero(equal[: sample.first(WEIGHED, TEACHING)] >= LIGHTEST)
        rows = TextParameters(self.summary, known).matrix(sample.documents[row], workers)
        own, places = np.unique(rows.indices, return_inverse=True)
        alpha = known.alpha if np.ndim(known.alpha) == 0 else np.asarray(known.alpha)[own]
        documents = Counted(
            csr_matrix((rows.data, places, rows.indptr), (len(y), len(own))), y, equal[row, y],
            np.ascontiguousarray(equal[row]),
            np.ascontiguousarray(known.total.gather(1, own).rounded()[met].T),
            known.total.summed(1).rounded()[met], present.rounded()[met], alpha, len(total),
            0.0 if self.alpha is None else float(np.broadcast_to(known.alpha, len(total)).sum()),
            group[own], n_groups, unit_of(total),
        )  # fmt: skip
        scale = scale_of(documents, workers)
        bias = np.zeros(len(present.rounded()))
        bias[met] = scale.bias
        return self._weighed(known, present, replace(scale, bias=bias), group, n_groups)

    estimate_on = estimate

    def estimate_labels(
        self, statistics: Any, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> LabelledParameters:
        """What the terms tell of each label, weighed by what predicts all labels best."""
        terms = self._labelled(statistics, class_weight)
        group, n_groups = self._groups(terms)
        sample = statistics.sample.canonical()
        kept = sample.tables["kept"].rounded()
        present = statistics.observed(class_weight).gather(1, 0).rounded()
        row = np.flatnonzero(kept[0, : sample.first(WEIGHED, TEACHING)] >= LIGHTEST)
        alpha: Any = None if self.alpha is None else smoothing_of(terms.vocabulary, self.alpha)
        first = FIRST if alpha is None else alpha
        known = Estimated(LabelTerms(terms.total, first), *terms, first)
        rows = TextParameters(self.summary, known).matrix(sample.documents[row], workers)
        own, places = np.unique(rows.indices, return_inverse=True)
        total = np.asarray(terms.total.gather(0, 0).rounded())
        documents = Counted(
            csr_matrix((rows.data, places, rows.indptr), (len(row), len(own))),
            np.zeros(len(row), np.int64), kept[0, row], np.ascontiguousarray(kept[:, row].T),
            np.ascontiguousarray(terms.total.gather(1, own).rounded().T),
            terms.total.summed(1).rounded(), present,
            alpha if np.ndim(alpha) == 0 else np.asarray(alpha)[own], len(total),
            0.0 if alpha is None else float(np.broadcast_to(first, len(total)).sum()),
            group[own], n_groups, unit_of(total),
        )  # fmt: skip
        scale = label_scale(LabelsCounted(documents), workers)
        return self._weighed_labels(terms, scale, group, n_groups)

    def _weighed_labels(
        self, terms: SelectedTerms, scale: Scale, group: Int64, n_groups: int
    ) -> LabelledParameters:
        """The parameters of these terms, weighed so."""

        def apart(own: Estimated, label: int) -> TextParameters:
            two = replace(scale, bias=np.array([0.0, scale.bias[label]]))
            return WeighedTextParameters(self.summary, own, two, group, n_groups)

        alpha: Any = scale.alpha
        if alpha is None:
            assert self.alpha is not None
            alpha = smoothing_of(terms.vocabulary, self.alpha)
        weighing = Weighing(scale, group, n_groups)
        return LabelledParameters(self.summary, terms, alpha, apart, weighing)

    def doubt(self, statistics: Any) -> str | None:
        """Whether there are no documents to learn weights from; or as `Text` has it."""
        if not len(statistics.sample) and statistics.tables["sum"].size:
            return (
                f"no document is shorter than {LONGEST:,} bytes, so that no weights were learned: "
                "the evidence counts in full"
            )
        return super().doubt(statistics)

    def restored(
        self, statistics: Any, class_weight: ExactArray, kept: Arrays
    ) -> WeighedTextParameters:
        """The weights that were kept, and the parameters of the terms."""
        present = statistics.observed(class_weight).gather(1, 0)
        known = self._sorted(statistics, present)
        group, n_groups = self._groups(known)
        scale = read_scale(kept, n_groups, class_weight.shape[0], self.alpha is None)
        return self._weighed(known, present, scale, group, n_groups)

    def restored_labels(
        self, statistics: Any, class_weight: ExactArray, kept: Arrays
    ) -> LabelledParameters:
        """The weights that were kept, and what the terms tell of each label."""
        terms = self._labelled(statistics, class_weight)
        group, n_groups = self._groups(terms)
        scale = read_scale(kept, n_groups, class_weight.shape[0] - 1, self.alpha is None)
        return self._weighed_labels(terms, scale, group, n_groups)

    def _weighed(
        self, known: Estimated, present: ExactArray, scale: Scale, group: Int64, n_groups: int
    ) -> WeighedTextParameters:
        """The parameters of these terms, weighed so."""
        if scale.alpha is not None:
            total = known.total
            counts = CountStatistics({"sum": total, "missing": ExactArray.zeros(total.shape)})
            inner = self._inner(scale.alpha).estimate(counts, present)
            known = known._replace(inner=inner, alpha=scale.alpha)
        return WeighedTextParameters(self.summary, known, scale, group, n_groups)

    def _groups(self, known: Estimated | SelectedTerms) -> tuple[Int64, int]:
        """(the group of each term, how many there are): words, pairs of words and so on."""
        low, high = self.ngram_range
        cut = isinstance(self.analyzer, str) and self.tokenizer is None
        if known.vocabulary is None or not cut or low == high:
            return np.zeros(known.total.shape[1], np.int64), 1
        arena, lengths = known.vocabulary.packed()
        words = self.analyzer == "word"
        units = arena == ord(" ") if words else arena & 0xC0 != 0x80  # the rest of a character
        before = np.append(0, np.cumsum(units, dtype=np.int64))
        ends = np.append(0, np.cumsum(lengths))
        found = np.diff(before[ends]) + words - low
        return np.clip(found, 0, high - low), high - low + 1


class WeighedTerms(LinearParameters):
    """The log-probabilities of terms, each times its weight.

    Attributes
    ----------
    inner : parameters of the counts of the terms.
    weights : (V,)
    """

    has_zero = False

    def __init__(self, inner: LinearParameters, weights: Float64) -> None:
        super().__init__(inner.n_classes, inner.n_features)
        self.inner, self.weights = inner, weights

    def terms(self, columns: Any) -> Terms:
        """x_α w_α log θ_αc."""
        return Terms(self.inner.terms(columns).slope * self.weights[columns])

    def sample(self, codes: Int64, generator: np.random.Generator) -> Any:
        """Counts of terms, whatever they weigh."""
        return self.inner.sample(codes, generator)


class WeighedTextParameters(TextParameters):
    """The parameters of the selected terms, and how much each counts.

    Attributes
    ----------
    scale : Scale
    bias : (C,), what every document has besides log π_c, in nats.
    """

    not_linear = "the evidence of a document falls with its length: no weights are the same for all"

    def __init__(
        self, summary: TermCounts, known: Estimated, scale: Scale,
        group: Int64, n_groups: int,
    ) -> None:  # fmt: skip
        super().__init__(summary, known)
        self.scale, self.bias, self.judged = scale, scale.bias, scale.judged
        weights = scale.of_terms(known.total.summed(0).rounded(), group)
        self.scorer = WeighedTerms(known.inner, weights)
        if np.ndim(known.alpha) == 0:  # else terms of the same counts may differ
            self._looked_up = LookedUp(self.scorer, with_group(known.total, group, n_groups))
        self.n_free += len(scale.bias) + 2 * n_groups + 1

    @property
    def weighing(self) -> LinearParameters:
        """The terms with their weights."""
        return self.scorer

    def kept(self) -> Arrays:
        """The weights."""
        return stored_scale(self.scale)

    def _finish(self, rows: DocumentRows, scores: Float64) -> None:
        """Let the evidence fall with the length, and add the bias."""
        scores *= self.scale.of_lengths(rows.lengths())
        scores += self.scale.bias[:, np.newaxis]

    def _added(self, scored: Estimated, columns: Any, values: Float64) -> Float64:
        """What some terms of a document add, that count so much: (k, C)."""
        factor = float(self.scale.of_lengths(np.array([values.sum()]))[0])
        return factor * self.scorer.evaluated(columns, values[np.newaxis, np.newaxis])[0].T

    def events(self, names: Sequence[str], features: Sequence[int] | None = None) -> Events | None:
        """The terms, which tell as much as they weigh, before what falls with the length."""
        found = super().events(names, features)
        return found and found.weighing(self.scorer.terms(slice(None)).slope)

    def linear(self) -> tuple[Float64, Float64]:
        """Refused: weights fall with the length of a document."""
        raise ValueError(self.not_linear)

    def linear_rows(self, X: Documents) -> Any:
        """Refused: see `linear`."""
        raise ValueError(self.not_linear)
