"""Documents whose terms are weighed: probabilities that can be bet on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from naively.evidence.doubt import LabelDoubt
from naively.evidence.kept_scale import read_scale
from naively.evidence.label_scale import LabelsCounted, label_scale
from naively.evidence.repeated import Repeated, RepeatedLabels
from naively.evidence.scale import (
    ASPECTS,
    Beside,
    Counted,
    Scale,
    narrowed,
    scales_of,
    unit_of,
)
from naively.exact import ExactArray, Float64, Int64
from naively.families.base import AnyFamily
from naively.families.distinct_texts import WEIGHED, DistinctTexts, copies_of
from naively.families.ending import Ending
from naively.families.labelled_text import LabelledParameters, LabelTerms, Weighing
from naively.families.linear import Alpha
from naively.families.text import Text, smoothing_of
from naively.families.text_parameters import Estimated, SelectedTerms, TextParameters
from naively.families.weighed_text_parameters import WeighedTextParameters
from naively.pooling.folds import LIGHTEST
from naively.statistics.base import Arrays
from naively.statistics.documents import LONGEST, DocumentSample
from naively.statistics.powers import CountStatistics
from naively.statistics.term_counts import TermCounts
from naively.statistics.terms import TermStatistics
from naively.text.documents import Documents
from naively.workers import SERIAL, Workers

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
    documents : how many documents there are, of which copies count once.
    beside : how documents are evaluated that recur, or have copies; None if there are none.
    """

    texts: Documents
    y: Int64
    weight: Float64
    equal: Float64
    met: Int64
    documents: float
    beside: Beside | None

    @classmethod
    def of(cls, distinct: DistinctTexts, present: ExactArray, groups: int) -> Self:
        """A sample of the documents, of classes with so many documents.

        There are fewer where so many groups of terms tell much of each, of many classes.
        """
        of_class = present.rounded()
        documents = float(of_class.sum()) * distinct.different
        most = min(WEIGHED, max(FEWEST, TOLD // max(1, ASPECTS * groups * len(of_class))))
        counted = distinct.counted
        whole = counted.sum(axis=0) if distinct.complete else of_class
        chosen, distinct = distinct.some(most)
        first = counted[chosen]
        # documents without which their class has others; classes that have none say nothing
        teaches = (first >= LIGHTEST) & (whole - first > LIGHTEST * whole)
        met = np.flatnonzero(teaches.any(axis=0))
        row, y = np.nonzero(teaches[:, met])
        weight, evaluated = distinct.weights(of_class)
        beside = None
        if (distinct.counts != distinct.once).any():
            known = distinct.recur[row]
            texts = Repeated(row, distinct.counts[row][:, met], of_class[met])
            proba = texts.left_out(np.arange(len(row)), y)
            beside = Beside(proba, known, evaluated[row, met[y]])
        return cls(
            distinct.texts[row], y, weight[row, met[y]], np.ascontiguousarray(first[row][:, met]),
            met, documents, beside,
        )  # fmt: skip


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


def grouped_once(
    models: Sequence[WeighedText], counts: Sequence[TermStatistics], sample: DocumentSample,
    class_weight: ExactArray, workers: Workers,
) -> tuple[DistinctTexts, list[Grouped]]:  # fmt: skip
    """(the different documents, the terms of each model), in counts of these documents.

    Where not all documents are kept, or terms were dropped, in those of all documents.
    """
    distinct = DistinctTexts.of(sample, [model.counts for model in models], workers)
    if any(own.undercount for own in counts):
        distinct = replace(distinct, complete=False, exact=False)
    counts = [
        distinct.counted_once(own, model.counts, workers)
        for model, own in zip(models, counts, strict=True)
    ]
    pairs = zip(models, counts, strict=True)
    return distinct, [model.grouped(own, class_weight) for model, own in pairs]


def weighed_together(
    models: Sequence[WeighedText], counts: Sequence[TermStatistics], sample: DocumentSample,
    class_weight: ExactArray, workers: Workers,
) -> tuple[list[Grouped], list[Scale], DistinctTexts]:  # fmt: skip
    """(the terms of each model, their weights, the different documents), learned together from a
    sample of documents.
    """
    distinct, grouped = grouped_once(models, counts, sample, class_weight, workers)
    groups = sum(own.n_groups for own in grouped)
    documents = Learned.of(distinct, grouped[0].present, groups)
    counted = [
        model.counted(own, documents, workers) for model, own in zip(models, grouped, strict=True)
    ]
    scales = scales_of(counted, workers)
    bias = np.zeros(class_weight.shape[0])
    bias[documents.met] = scales[0].bias
    return grouped, [replace(scale, bias=bias) for scale in scales], distinct


@dataclass(frozen=True)
class WeighedText(Text):
    """Documents as `Text` has them, with the evidence of their terms weighed.

    Naive Bayes counts what the words of a document say again and again. Here it counts as much as
    predicts documents best that were not counted: `naively.evidence.scale` has the formula. For
    that some documents are kept, all or a sample: see `DocumentSample`. The counts are
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
        (own,), (scale,), distinct = weighed_together(
            [self], [statistics], statistics.sample, class_weight, workers
        )
        return self.weighed(own, scale, distinct.ending(own, self.counts, workers))

    estimate_on = estimate

    def estimate_labels(
        self, statistics: Any, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> LabelledParameters:
        """What the terms tell of each label, weighed by what predicts all labels best."""
        distinct, terms = self._labelled_once(statistics, class_weight, workers)
        group, n_groups = self._groups(terms)
        present = statistics.observed(class_weight).gather(1, 0).rounded()
        own = distinct.counted
        row = np.flatnonzero(own[:, 0] >= LIGHTEST)
        alpha: Any = None if self.alpha is None else smoothing_of(terms.vocabulary, self.alpha)
        first = FIRST if alpha is None else alpha
        known = Estimated(LabelTerms(terms.total, first), *terms, first)
        rows, some = narrowed(
            TextParameters(self.counts, known).matrix(distinct.texts[row], workers)
        )
        total = np.asarray(terms.total.gather(0, 0).rounded())
        documents = Counted(
            rows, np.zeros(len(row), np.int64), own[row, 0] * distinct.shares[row],
            np.ascontiguousarray(own[row]),
            terms.total.rounded_columns(some),
            terms.total.summed(1).rounded(), own.sum(axis=0) if distinct.complete else present,
            alpha if np.ndim(alpha) == 0 else np.asarray(alpha)[some], len(total),
            0.0 if alpha is None else float(np.broadcast_to(first, len(total)).sum()),
            group[some], n_groups, unit_of(total), float(present[0]) * distinct.different,
        )  # fmt: skip
        recurring = distinct.recurring_labels(present, row)
        scale = label_scale(LabelsCounted(documents, recurring), workers)
        scale = replace(scale, bias=scale.bias + distinct.more_odds(present))
        return self._weighed_labels(terms, scale, group, n_groups, present, distinct, workers)

    def _labelled_once(
        self, statistics: Any, class_weight: ExactArray, workers: Workers
    ) -> tuple[DistinctTexts, SelectedTerms]:
        """(the different documents, the terms) in counts of these, where class 0 is all of them."""
        distinct = DistinctTexts.of(statistics.sample, [self.counts], workers, labels=True)
        if statistics.undercount:
            distinct = replace(distinct, complete=False, exact=False)
        statistics = distinct.counted_once(statistics, self.counts, workers)
        return distinct, self._labelled(statistics, class_weight)

    def _weighed_labels(
        self, terms: SelectedTerms, scale: Scale, group: Int64, n_groups: int, present: Float64,
        distinct: DistinctTexts, workers: Workers,
    ) -> LabelledParameters:  # fmt: skip
        """The parameters of these terms, weighed so, by (1 + L,) documents."""
        alpha: Any = scale.alpha
        if alpha is None:
            assert self.alpha is not None
            alpha = smoothing_of(terms.vocabulary, self.alpha)
        known = Estimated(LabelTerms(terms.total, alpha), *terms, alpha)
        different = float(present[0]) * distinct.different
        doubt = LabelDoubt(present[1:], float(present[0]), different)
        repeated = RepeatedLabels.of(*distinct.recurring(known, self.counts, workers), present)

        def apart(own: Estimated, label: int) -> TextParameters:
            two = replace(scale, bias=np.array([0.0, scale.bias[label]]))
            ending = Ending(doubt.of(label), repeated.of_label(label))
            return WeighedTextParameters(self.counts, own, two, group, n_groups, ending)

        weighing = Weighing(scale, group, n_groups, doubt, repeated)
        return LabelledParameters(self.counts, terms, alpha, apart, weighing)

    def doubt(self, statistics: Any) -> str | None:
        """Whether there are no documents to learn weights from; or as `Text` has it."""
        if not len(statistics.sample) and statistics.tables["sum"].nonzero().any():
            return (
                f"no document is shorter than {LONGEST:,} bytes, so that no weights were learned: "
                "the evidence counts in full"
            )
        return super().doubt(statistics) or copies_of(statistics.sample)

    def restored(
        self, statistics: Any, class_weight: ExactArray, kept: Arrays
    ) -> WeighedTextParameters:
        """The weights that were kept, and the parameters of the terms."""
        distinct, (own,) = grouped_once(
            [self], [statistics], statistics.sample, class_weight, SERIAL
        )
        scale = read_scale(kept, own.n_groups, class_weight.shape[0], self.chooses)
        return self.weighed(own, scale, distinct.ending(own, self.counts, SERIAL))

    def restored_labels(
        self, statistics: Any, class_weight: ExactArray, kept: Arrays
    ) -> LabelledParameters:
        """The weights that were kept, and what the terms tell of each label."""
        distinct, terms = self._labelled_once(statistics, class_weight, SERIAL)
        group, n_groups = self._groups(terms)
        scale = read_scale(kept, n_groups, class_weight.shape[0] - 1, self.alpha is None)
        present = statistics.observed(class_weight).gather(1, 0).rounded()
        return self._weighed_labels(terms, scale, group, n_groups, present, distinct, SERIAL)

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
            own.group[terms], own.n_groups, unit_of(total), documents.documents, documents.beside,
        )  # fmt: skip

    def weighed(self, own: Grouped, scale: Scale, ending: Ending | None) -> WeighedTextParameters:
        """The parameters of these terms, weighed so, with what happens to the scores at last."""
        known = own.known
        if scale.alpha is not None:
            total = known.total
            counts = CountStatistics({"sum": total, "missing": ExactArray.zeros(total.shape)})
            inner = self._inner(scale.alpha).estimate(counts, own.present)
            known = known._replace(inner=inner, alpha=scale.alpha)
        return WeighedTextParameters(self.counts, known, scale, own.group, own.n_groups, ending)

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
