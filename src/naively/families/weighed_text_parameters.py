"""What documents score whose terms are weighed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from naively.evidence.kept_scale import stored_scale
from naively.evidence.scale import Scale
from naively.exact import ExactArray, Float64, Int64
from naively.families.describing import Events
from naively.families.ending import Ending
from naively.families.formula import Formula
from naively.families.linear import LinearParameters, Terms
from naively.families.looked_up import LookedUp, with_group
from naively.families.text_formula import text_formula
from naively.families.text_parameters import Estimated, TextParameters
from naively.statistics.base import Arrays
from naively.statistics.term_counts import TermCounts
from naively.text.counting import DocumentRows
from naively.text.documents import Documents
from naively.text.keys import document_keys, term_numbers


class WeighedTerms(LinearParameters):
    """The log-probabilities of terms, each times its weight.

    Attributes
    ----------
    inner : parameters of the counts of the terms.
    total : ExactArray (C, V), how often each term was met in each class.
    scale : Scale
    group : (V,) the group of each term.
    """

    has_zero = False

    def __init__(
        self, inner: LinearParameters, total: ExactArray, scale: Scale, group: Int64
    ) -> None:
        super().__init__(inner.n_classes, inner.n_features)
        self.inner, self.total, self.scale, self.group = inner, total, scale, group
        self.of_class: Float64 = total.summed(1).rounded()

    def terms(self, columns: Any) -> Terms:
        """x_α W_α log θ_αc."""
        counts = self.total.gather(1, columns).rounded()
        weights = self.scale.of_terms(counts, self.of_class, self.group[columns])
        return Terms(self.inner.terms(columns).slope * weights)

    def sample(self, codes: Int64, generator: np.random.Generator) -> Any:
        """Counts of terms, whatever they weigh."""
        return self.inner.sample(codes, generator)


class WeighedTextParameters(TextParameters):
    """The parameters of the selected terms, and how much each counts.

    Attributes
    ----------
    scale : Scale
    bias : (C,), what every document has besides log π_c, in nats.
    ending : what happens to scores at last; None if they are a part of others, to which it happens
        together.
    keyed : whether documents are looked up among those that recur.
    """

    not_linear = "the evidence of a document falls with its length: no weights are the same for all"

    def __init__(
        self, summary: TermCounts, known: Estimated, scale: Scale,
        group: Int64, n_groups: int, ending: Ending | None,
    ) -> None:  # fmt: skip
        super().__init__(summary, known)
        self.scale, self.bias, self.judged = scale, scale.bias, scale.judged
        self.ending = ending
        self.keyed = ending is not None and len(ending.repeated) > 0
        self.scorer = WeighedTerms(known.inner, known.total, scale, group)
        if np.ndim(known.alpha) == 0:  # else terms of the same counts may differ
            self._looked_up = LookedUp(self.scorer, with_group(known.total, group, n_groups))
        self.n_free += len(scale.bias) + scale.weights.size + 1

    @property
    def weighing(self) -> LinearParameters:
        """The terms with their weights."""
        return self.scorer

    def kept(self) -> Arrays:
        """The weights."""
        return stored_scale(self.scale)

    @cached_property
    def key_numbers(self) -> Int64:
        """Of which the keys of documents are sums, (V,)."""
        return term_numbers(self.scored.vocabulary, self.summary.buckets)

    def keys(self, rows: DocumentRows) -> Int64:
        """The keys of documents."""
        data = None if self.summary.weighs else rows.data
        return document_keys(self.key_numbers, data, rows.indices, rows.indptr)

    def _keys(self, rows: DocumentRows) -> Int64 | None:
        return self.keys(rows) if self.keyed else None

    def _finish(self, rows: DocumentRows, scores: Float64, keys: Int64 | None) -> Any:
        """Let the evidence fall with the length, add the bias, and doubt it."""
        self.scale.fall(scores, rows.data, rows.indptr)
        if self.ending is not None:
            self.ending.scores(scores, keys)
        return np.diff(rows.indptr) > 0, keys

    def added(self, scored: Estimated, columns: Any, values: Float64) -> Float64:
        """What some terms of a document add, that count so much: (k, C)."""
        factor = float(self.scale.of_lengths(np.array([values.sum()]))[0])
        return factor * self.scorer.evaluated(columns, values[np.newaxis, np.newaxis])[0].T

    def events(self, names: Sequence[str], features: Sequence[int] | None = None) -> Events | None:
        """The terms, which tell as much as they weigh, before what falls with the length."""
        found = super().events(names, features)
        return found and found.weighing(self.scorer.terms(slice(None)).slope)

    def formula(self, names: Sequence[str]) -> Formula:
        """What each of the terms adds, before it falls with the length."""
        return text_formula([self], names[0], [self.scale.quarters], self.bias, ending=self.ending)

    def linear(self) -> tuple[Float64, Float64]:
        """Refused: weights fall with the length of a document."""
        raise ValueError(self.not_linear)

    def linear_rows(self, X: Documents) -> Any:
        """Refused: see `linear`."""
        raise ValueError(self.not_linear)
