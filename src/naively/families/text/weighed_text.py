"""Naive Bayes of text with weighted terms, for calibrated probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.workers import SERIAL, Workers
from naively.families.base import AnyFamily
from naively.families.linear import Alpha
from naively.families.text.distinct import DistinctTexts, Ending, learned_from
from naively.families.text.labelled import LabelledParameters, LabelTerms, Weighing
from naively.families.text.parameters import Estimated, SelectedTerms, TextParameters
from naively.families.text.pool import TextPool, TextPoolParameters, WeighedBag, groups_of
from naively.families.text.text import Text, smoothing_of
from naively.pooling.entries import LIGHTEST
from naively.pooling.texts.label_term_weights import LabelsCounted, label_scale
from naively.pooling.texts.repeated import RepeatedLabels
from naively.pooling.texts.stored_term_weights import read_scale
from naively.pooling.texts.term_weights import (
    Counted,
    LabelPriorMixing,
    TermWeights,
    narrowed,
    unit_of,
)
from naively.statistics.base import Arrays
from naively.statistics.terms import PooledTerms, keys_by_terms

WEIGHED_EVENTS = ("multinomial", "binary")
FIRST = 1.0  # the smoothing with which terms are counted until `alpha` is chosen


@dataclass(frozen=True)
class WeighedText(TextPool, Text):  # type: ignore[misc]
    """Documents as in `Text`, with weighted terms: a text pool of one bag.

    Words of a document depend on each other, and naive Bayes counts their evidence repeatedly. Here
    terms have the weights with the least leave-one-out log-loss; the formula is in
    `naively.pooling.texts.term_weights`. These are learned from stored documents, all or a sample:
    see `DocumentSample`. Terms are counted in all documents.

    While no more than half of the stored documents are forgotten, the weights are bit for bit those
    of the remaining documents.

    Parameters
    ----------
    event : "multinomial" or "binary"
    alpha : float, dict or None
        As in `Text`, but above 0; None to choose it together with the weights.
    also : tuple of WeighedText
        Further models of the same documents: see `TextPool`.
    """

    alpha: Alpha | Mapping[str, float] | None = None  # type: ignore[assignment]
    also: tuple[WeighedText, ...] = field(default=(), repr=False)

    name = "weighed_text"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.also, tuple) or any(
            not isinstance(model, WeighedText) or model.also or model.refers or model.max_terms
            for model in self.also
        ):
            raise ValueError(f"also must be weighed_texts alone, not {self.also!r}")
        if self.event not in WEIGHED_EVENTS:
            raise ValueError(
                f'only event="multinomial" and "binary" can have weights, not {self.event!r}: '
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

    @property
    def models(self) -> tuple[WeighedText]:  # type: ignore[override]
        """The only model of the pool."""
        return (self,)

    # ---- any number of labels ----------------------------------------------------------------

    def estimate_labels(  # type: ignore[override]
        self, statistics: Any, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> LabelledParameters:
        """Estimate the log-odds of terms for each label, and weights for all labels together."""
        distinct, terms = self._labelled_once(statistics, class_weight, workers)
        group, n_groups = groups_of(self, terms)
        present = statistics.observed(class_weight).gather(1, 0).rounded()
        counts = distinct.counted
        row = np.flatnonzero(counts[:, 0] >= LIGHTEST)
        alpha: Any = None if self.alpha is None else smoothing_of(terms.vocabulary, self.alpha)
        first = FIRST if alpha is None else alpha
        estimated = Estimated(LabelTerms(terms.total, first), *terms, first)
        parameters = TextParameters(self.counts, estimated)
        rows, columns = narrowed(parameters.matrix(distinct.texts[row], workers))
        total = np.asarray(terms.total.gather(0, 0).rounded())
        documents = Counted(
            rows, np.zeros(len(row), np.int64), counts[row, 0] * distinct.shares[row],
            np.ascontiguousarray(counts[row]), columns,
            terms.total.rounded_columns(columns),
            terms.total.summed(1).rounded(), counts.sum(axis=0) if distinct.complete else present,
            alpha if np.ndim(alpha) == 0 else np.asarray(alpha)[columns], len(total),
            0.0 if alpha is None else float(np.broadcast_to(first, len(total)).sum()),
            group[columns], n_groups, unit_of(total), float(present[0]) * distinct.different,
        )  # fmt: skip
        recurring = distinct.recurring_labels(present, row)
        scale = label_scale(LabelsCounted(documents, recurring), workers)
        scale = replace(scale, bias=scale.bias + distinct.more_odds(present))
        return self._weighed_labels(terms, scale, group, n_groups, present, distinct, workers)

    def restored_labels(  # type: ignore[override]
        self, statistics: Any, class_weight: ExactArray, kept: Arrays
    ) -> LabelledParameters:
        """Restore the stored weights, and estimate the log-odds of terms for each label."""
        distinct, terms = self._labelled_once(statistics, class_weight, SERIAL)
        group, n_groups = groups_of(self, terms)
        labels, n_terms = class_weight.shape[0] - 1, terms.total.shape[1]
        chooses = self.alpha is None
        scale = read_scale(kept, n_groups, labels, chooses, terms.vocabulary, n_terms)
        present = statistics.observed(class_weight).gather(1, 0).rounded()
        return self._weighed_labels(terms, scale, group, n_groups, present, distinct, SERIAL)

    def _labelled_once(
        self, statistics: PooledTerms, class_weight: ExactArray, workers: Workers
    ) -> tuple[DistinctTexts, SelectedTerms]:
        """Return (the distinct documents, the terms), counted once; class 0 is all documents."""
        sample, _ = learned_from(statistics.sample.canonical())
        keys = keys_by_terms([self.counts], sample.documents, workers)
        distinct = DistinctTexts.of(sample, keys, labels=True)
        (counts,) = statistics.terms
        if counts.undercount:
            distinct = replace(distinct, complete=False, exact=False)
        counts = distinct.counted_once(counts, self.counts, workers)
        return distinct, self._labelled(counts, class_weight)

    def _weighed_labels(
        self, terms: SelectedTerms, scale: TermWeights, group: Int64, n_groups: int,
        present: Float64, distinct: DistinctTexts, workers: Workers,
    ) -> LabelledParameters:  # fmt: skip
        """Make the parameters of these terms and weights; `present` is (1 + L,) documents."""
        alpha: Any = scale.alpha
        if alpha is None:
            assert self.alpha is not None
            alpha = smoothing_of(terms.vocabulary, self.alpha)
        estimated = Estimated(LabelTerms(terms.total, alpha), *terms, alpha)
        n_distinct = float(present[0]) * distinct.different
        mixing = LabelPriorMixing(present[1:], float(present[0]), n_distinct)
        recurring = RepeatedLabels.of(*distinct.recurring(estimated, self.counts, workers), present)

        def apart(label_terms: Estimated, label: int) -> TextPoolParameters:
            two_classes = replace(scale, bias=np.array([0.0, scale.bias[label]]))
            bag = WeighedBag(self.counts, label_terms, two_classes, group, n_groups)
            return TextPoolParameters([bag], [Ending(mixing.of(label), recurring.of_label(label))])

        weighing = Weighing(scale, group, n_groups, mixing, recurring)
        return LabelledParameters(self.counts, terms, alpha, apart, weighing)
