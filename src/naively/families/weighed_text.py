"""Documents whose terms are weighed: probabilities that can be bet on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from naively.evidence.doubt import Doubt, LabelDoubt
from naively.evidence.entries import LIGHTEST
from naively.evidence.kept_scale import read_scale
from naively.evidence.label_scale import LabelsCounted, label_scale
from naively.evidence.scale import (
    ASPECTS,
    Counted,
    Scale,
    narrowed,
    scales_of,
    unit_of,
)
from naively.exact import ExactArray, Float64, Int64
from naively.families.base import AnyFamily
from naively.families.labelled_text import LabelledParameters, LabelTerms, Weighing
from naively.families.linear import Alpha
from naively.families.text import Text, smoothing_of
from naively.families.text_parameters import Estimated, SelectedTerms, TextParameters
from naively.families.weighed_text_parameters import WeighedTextParameters
from naively.statistics.base import Arrays
from naively.statistics.documents import LONGEST, ROOM, DocumentSample
from naively.statistics.powers import CountStatistics
from naively.statistics.term_counts import TermCounts
from naively.statistics.terms import TermStatistics
from naively.text.documents import Documents
from naively.workers import SERIAL, Workers

WEIGHED, TEACHING = 8192, ROOM * 2 // 5
"""Documents that weights are learned from, at most, and their bytes; twice as many are kept."""
FEWEST, TOLD = 512, 1 << 22
"""Documents that there is always room for, and what all of them tell of classes, in numbers."""
LENGTHS = 8
"""Lengths of terms that have weights of their own; longer ones have those of the last."""
WEIGHED_EVENTS = ("multinomial", "binary")
FIRST = 1.0
"""The smoothing of which the documents have their terms counted, until one is chosen."""


class Learned(NamedTuple):
    """Documents that weights are learned from.

    Attributes
    ----------
    texts : (n,) documents.
    y, weight, equal : as `Counted` has them, of these classes.
    met : (C',) which classes have such documents.
    """

    texts: Documents
    y: Int64
    weight: Float64
    equal: Float64
    met: Int64

    @classmethod
    def of(cls, sample: DocumentSample, present: ExactArray, groups: int) -> Self:
        """The first of a sample, of classes with so many documents.

        There are fewer where so many groups of terms tell much of each, of many classes.
        """
        sample, of_class = sample.canonical(), present.rounded()
        most = min(WEIGHED, max(FEWEST, TOLD // max(1, ASPECTS * groups * len(of_class))))
        first: Float64 = np.asarray(sample.tables["kept"].rounded()).T
        first = first[: sample.first(most, TEACHING)]
        # documents without which their class has others; classes that have none say nothing
        teaches = (first >= LIGHTEST) & (of_class - first > LIGHTEST * of_class)
        met = np.flatnonzero(teaches.any(axis=0))
        row, y = np.nonzero(teaches[:, met])
        equal = first[:, met]
        return cls(sample.documents[row], y, equal[row, y], np.ascontiguousarray(equal[row]), met)


class Grouped(NamedTuple):
    """Sorted terms in groups.

    Attributes
    ----------
    known : Estimated
    present : (C,) the weight of the documents that are not missing.
    group : (V,) the group of each term: words, pairs of words and so on.
    n_groups : int
    """

    known: Estimated
    present: ExactArray
    group: Int64
    n_groups: int


def weighed_together(
    models: Sequence[WeighedText], counts: Sequence[TermStatistics], sample: DocumentSample,
    class_weight: ExactArray, workers: Workers,
) -> tuple[list[Grouped], list[Scale]]:  # fmt: skip
    """(the terms of each model, their weights), learned together from a sample of documents."""
    pairs = list(zip(models, counts, strict=True))
    grouped = [model.grouped(own, class_weight) for model, own in pairs]
    groups = sum(own.n_groups for own in grouped)
    documents = Learned.of(sample, grouped[0].present, groups)
    counted = [
        model.counted(own, documents, workers) for model, own in zip(models, grouped, strict=True)
    ]
    scales = scales_of(counted, workers)
    bias = np.zeros(class_weight.shape[0])
    bias[documents.met] = scales[0].bias
    return grouped, [replace(scale, bias=bias) for scale in scales]


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
        if self.event not in WEIGHED_EVENTS:
            raise ValueError(
                f'evidence is weighed of event="multinomial" and "binary", not of {self.event!r}: '
                "use Text"
            )
        alphas = [*self.alpha.values()] if isinstance(self.alpha, Mapping) else [self.alpha]
        if 0 in alphas:
            raise ValueError(
                "alpha=0 lets one word rule a class out, which no weight can change: use a larger "
                "alpha, or `Text`"
            )

    def _inner(self, alpha: Any) -> AnyFamily:
        return super()._inner(FIRST if alpha is None else alpha)

    @cached_property
    def summary(self) -> TermCounts:  # type: ignore[override]
        """What is counted of the terms of documents, and some documents."""
        return replace(self.counts, sampled=True)

    def estimate(
        self, statistics: Any, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> WeighedTextParameters:
        """The parameters of the terms, and what predicts documents best that were not counted."""
        (own,), (scale,) = weighed_together(
            [self], [statistics], statistics.sample, class_weight, workers
        )
        return self.weighed(own, scale, Doubt(own.present.rounded()))

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
        parameters = TextParameters(self.counts, known)
        rows, own = narrowed(parameters.matrix(sample.documents[row], workers))
        total = np.asarray(terms.total.gather(0, 0).rounded())
        documents = Counted(
            rows, np.zeros(len(row), np.int64), kept[0, row], np.ascontiguousarray(kept[:, row].T),
            terms.total.rounded_columns(own),
            terms.total.summed(1).rounded(), present,
            alpha if np.ndim(alpha) == 0 else np.asarray(alpha)[own], len(total),
            0.0 if alpha is None else float(np.broadcast_to(first, len(total)).sum()),
            group[own], n_groups, unit_of(total),
        )  # fmt: skip
        scale = label_scale(LabelsCounted(documents), workers)
        return self._weighed_labels(terms, scale, group, n_groups, present)

    def _weighed_labels(
        self, terms: SelectedTerms, scale: Scale, group: Int64, n_groups: int, present: Float64
    ) -> LabelledParameters:
        """The parameters of these terms, weighed so, by (1 + L,) documents."""
        doubt = LabelDoubt(present[1:], float(present[0]))

        def apart(own: Estimated, label: int) -> TextParameters:
            two = replace(scale, bias=np.array([0.0, scale.bias[label]]))
            return WeighedTextParameters(self.counts, own, two, group, n_groups, doubt.of(label))

        alpha: Any = scale.alpha
        if alpha is None:
            assert self.alpha is not None
            alpha = smoothing_of(terms.vocabulary, self.alpha)
        weighing = Weighing(scale, group, n_groups, doubt)
        return LabelledParameters(self.counts, terms, alpha, apart, weighing)

    def doubt(self, statistics: Any) -> str | None:
        """Whether there are no documents to learn weights from; or as `Text` has it."""
        if not len(statistics.sample) and statistics.tables["sum"].nonzero().any():
            return (
                f"no document is shorter than {LONGEST:,} bytes, so that no weights were learned: "
                "the evidence counts in full"
            )
        return super().doubt(statistics)

    def restored(
        self, statistics: Any, class_weight: ExactArray, kept: Arrays
    ) -> WeighedTextParameters:
        """The weights that were kept, and the parameters of the terms."""
        own = self.grouped(statistics, class_weight)
        scale = read_scale(kept, own.n_groups, class_weight.shape[0], self.chooses)
        return self.weighed(own, scale, Doubt(own.present.rounded()))

    def restored_labels(
        self, statistics: Any, class_weight: ExactArray, kept: Arrays
    ) -> LabelledParameters:
        """The weights that were kept, and what the terms tell of each label."""
        terms = self._labelled(statistics, class_weight)
        group, n_groups = self._groups(terms)
        scale = read_scale(kept, n_groups, class_weight.shape[0] - 1, self.alpha is None)
        present = statistics.observed(class_weight).gather(1, 0).rounded()
        return self._weighed_labels(terms, scale, group, n_groups, present)

    @property
    def chooses(self) -> bool:
        """Whether the smoothing is chosen with the weights."""
        return self.alpha is None

    def grouped(self, statistics: TermStatistics, class_weight: ExactArray) -> Grouped:
        """The sorted terms, with their groups."""
        present = statistics.observed(class_weight).gather(1, 0)
        known = self._sorted(statistics, present)
        return Grouped(known, present, *self._groups(known))

    def counted(self, own: Grouped, documents: Learned, workers: Workers) -> Counted:
        """What was counted of the terms of some documents."""
        known, met = own.known, documents.met
        total = np.asarray(known.total.summed(0).rounded())
        parameters = TextParameters(self.counts, known)
        rows, terms = narrowed(parameters.matrix(documents.texts, workers))
        alpha = known.alpha if np.ndim(known.alpha) == 0 else np.asarray(known.alpha)[terms]
        return Counted(
            rows, documents.y, documents.weight, documents.equal,
            known.total.rounded_columns(terms, met),
            known.total.summed(1).rounded()[met], own.present.rounded()[met], alpha, len(total),
            0.0 if self.chooses else float(np.broadcast_to(known.alpha, len(total)).sum()),
            own.group[terms], own.n_groups, unit_of(total),
        )  # fmt: skip

    def weighed(self, own: Grouped, scale: Scale, doubt: Doubt | None) -> WeighedTextParameters:
        """The parameters of these terms, weighed and doubted so."""
        known = own.known
        if scale.alpha is not None:
            total = known.total
            counts = CountStatistics({"sum": total, "missing": ExactArray.zeros(total.shape)})
            inner = self._inner(scale.alpha).estimate(counts, own.present)
            known = known._replace(inner=inner, alpha=scale.alpha)
        return WeighedTextParameters(self.counts, known, scale, own.group, own.n_groups, doubt)

    def _groups(self, known: Estimated | SelectedTerms) -> tuple[Int64, int]:
        """(the group of each term, how many there are): words, pairs of words and so on."""
        low, high = self.ngram_range
        cut = isinstance(self.analyzer, str) and self.tokenizer is None
        if known.vocabulary is None or not cut or low == high:
            return np.zeros(known.total.shape[1], np.int64), 1
        count = min(high - low + 1, LENGTHS)
        return np.clip(
            known.vocabulary.lengths_in(self.analyzer == "word") - low, 0, count - 1
        ), count
