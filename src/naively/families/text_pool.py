"""Text pools: terms whose evidence is weighed, of one or several bags of the same documents.

The score of class c is::

    log π_c + b_c + Σ_m L_m^-γ_m Σ_t x_t W_t log θ_tc

with the terms t of each bag m, such as words or runs of characters, in their groups. Each bag has
its own vocabulary, counts, α and γ. The weights of all of them and the biases are those by which
documents are predicted best together, each by counts without it: see `naively.evidence.scale`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from naively.evidence.scale import Counted, Scale, narrowed, read_scale, scales_of, unit_of
from naively.exact import ExactArray, Int64
from naively.families.base import Family, FeatureError
from naively.families.distinct_texts import DistinctTexts, Learned, copies_of
from naively.families.text import Text
from naively.families.text_parameters import Estimated, SelectedTerms, TextParameters
from naively.families.text_pool_parameters import SHARED, TextPoolParameters, WeighedBag
from naively.statistics.base import Arrays
from naively.statistics.documents import LONGEST
from naively.statistics.pooled_terms import PooledCounts, PooledTerms
from naively.statistics.powers import CountStatistics
from naively.statistics.terms import TermStatistics
from naively.workers import SERIAL, Workers

LENGTHS = 8
"""Lengths of terms that have weights of their own; longer ones have those of the last."""


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


class TextPool(Family[PooledTerms, TextPoolParameters]):
    """Documents whose evidence is weighed, as one or several bags of terms have it."""

    models: tuple[Text, ...]
    """What the terms of each bag are, and how they count."""

    is_density = is_story = False
    keeps = True

    @cached_property
    def summary(self) -> PooledCounts:  # type: ignore[override]
        """What is counted for each bag, and some documents."""
        return PooledCounts(tuple(model.counts for model in self.models))

    def check(self, statistics: PooledTerms, class_weight: ExactArray) -> None:
        """Raise FeatureError unless a bag has terms to learn from, and each that has can."""
        single = len(self.models) == 1
        if statistics.wordless and not single:
            raise FeatureError("the documents hold no terms of any of the models")
        for model, counts in zip(self.models, statistics.terms, strict=True):
            if single or not counts.wordless:
                Text.check(model, counts, class_weight)

    def doubt(self, statistics: PooledTerms) -> str | None:
        """Whether no documents teach weights, or many are copies; or as `Text` has it."""
        if not len(statistics.sample) and statistics.terms[0].tables["sum"].nonzero().any():
            return (
                f"no document is shorter than {LONGEST:,} bytes, so that no weights were learned: "
                "the evidence counts in full"
            )
        pairs = zip(self.models, statistics.terms, strict=True)
        first, *others = (Text.doubt(model, counts) for model, counts in pairs)
        return next(filter(None, [first, copies_of(statistics.sample), *others]), None)

    def estimate(
        self, statistics: PooledTerms, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> TextPoolParameters:
        """The parameters of the terms of each bag, and what all of them count together."""
        distinct, bags = self._once(statistics, class_weight, workers)
        n_groups = sum(bag.n_groups for bag in bags)
        documents = Learned.of(distinct, bags[0].present, n_groups)
        counted = [
            _counted(model, bag, documents, workers)
            for model, bag in zip(self.models, bags, strict=True)
        ]
        scales = scales_of(counted, workers)
        bias = np.zeros(class_weight.shape[0])
        bias[documents.met] = scales[0].bias
        scales = [replace(scale, bias=bias) for scale in scales]
        return self._weighed(bags, scales, distinct, workers)

    estimate_on = estimate

    def restored(
        self, statistics: PooledTerms, class_weight: ExactArray, kept: Arrays
    ) -> TextPoolParameters:
        """The weights that were kept, and the parameters of the terms."""
        distinct, bags = self._once(statistics, class_weight, SERIAL)
        shared = {name: kept[name] for name in SHARED if name in kept}
        scales = []
        for k, (model, bag) in enumerate(zip(self.models, bags, strict=True)):
            head = f"{k}." if len(self.models) > 1 else ""
            arrays = {name.removeprefix(head): one for name, one in kept.items()
                      if name.startswith(head)} | shared  # fmt: skip
            classes = class_weight.shape[0]
            scales.append(read_scale(arrays, bag.n_groups, classes, chooses(model)))
        return self._weighed(bags, scales, distinct, SERIAL)

    def _once(
        self, statistics: PooledTerms, class_weight: ExactArray, workers: Workers
    ) -> tuple[DistinctTexts, list[Grouped]]:
        """(the different documents, the terms of each bag), in counts of these documents.

        Where not all documents are kept, or terms were dropped, in those of all documents.
        """
        distinct = DistinctTexts.of(statistics.sample, self.summary.parts, workers)
        counts = statistics.terms
        if any(own.undercount for own in counts):
            distinct = replace(distinct, complete=False, exact=False)
        counts = [
            distinct.counted_once(own, model.counts, workers)
            for model, own in zip(self.models, counts, strict=True)
        ]
        pairs = zip(self.models, counts, strict=True)
        return distinct, [_grouped(model, own, class_weight) for model, own in pairs]

    def _weighed(
        self, bags: list[Grouped], scales: list[Scale], distinct: DistinctTexts, workers: Workers
    ) -> TextPoolParameters:
        """The parameters of these terms, weighed so."""
        weighed, endings = [], []
        for model, bag, scale in zip(self.models, bags, scales, strict=True):
            known = bag.known
            if scale.alpha is not None:
                total = known.total
                counts = CountStatistics({"sum": total, "missing": ExactArray.zeros(total.shape)})
                inner = model._inner(scale.alpha).estimate(counts, bag.present)
                known = known._replace(inner=inner, alpha=scale.alpha)
            weighed.append(WeighedBag(model.counts, known, scale, bag.group, bag.n_groups))
            endings.append(distinct.ending(bag, model.counts, workers))
        return TextPoolParameters(weighed, endings)


def chooses(model: Text) -> bool:
    """Whether the smoothing of a bag is chosen with the weights."""
    return model.alpha is None


def groups_of(model: Text, known: Estimated | SelectedTerms) -> tuple[Int64, int]:
    """(the group of each term, how many there are): words, pairs of words and so on."""
    low, high = model.ngram_range
    cut = isinstance(model.analyzer, str) and model.tokenizer is None
    if known.vocabulary is None or not cut or low == high:
        return np.zeros(known.total.shape[1], np.int64), 1
    count = min(high - low + 1, LENGTHS)
    lengths = known.vocabulary.lengths_in(model.analyzer == "word")
    return np.clip(lengths - low, 0, count - 1), count


def _grouped(model: Text, counts: TermStatistics, class_weight: ExactArray) -> Grouped:
    """The sorted terms, with their groups."""
    present = counts.observed(class_weight).gather(1, 0)
    known = model._sorted(counts, present)
    return Grouped(known, present, *groups_of(model, known))


def _counted(model: Text, bag: Grouped, documents: Learned, workers: Workers) -> Counted:
    """What was counted of the terms of some documents."""
    known, met = bag.known, documents.met
    total = np.asarray(known.total.summed(0).rounded())
    parameters = TextParameters(model.counts, known)
    rows, terms = narrowed(parameters.matrix(documents.texts, workers))
    alpha = known.alpha if np.ndim(known.alpha) == 0 else np.asarray(known.alpha)[terms]
    return Counted(
        rows, documents.y, documents.weight, documents.equal,
        known.total.rounded_columns(terms, met),
        known.total.summed(1).rounded()[met], bag.present.rounded()[met], alpha, len(total),
        0.0 if chooses(model) else float(np.broadcast_to(known.alpha, len(total)).sum()),
        bag.group[terms], bag.n_groups, unit_of(total), documents.documents, documents.beside,
    )  # fmt: skip
