"""Score documents with any number of labels: the log-odds of each label, by terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from naively.core.exact import ExactArray, Float64, Int64
from naively.families.base import Parameters
from naively.families.discrete.multinomial import MultinomialParameters, total_alpha
from naively.families.linear import (
    Alpha,
    LinearParameters,
    Terms,
    WeightCache,
    columns_of,
    counts_of,
    log,
    with_group,
)
from naively.families.text.parameters import Estimated, SelectedTerms, TextParameters
from naively.kernels import text as kernel
from naively.statistics.base import Arrays, two_classes
from naively.statistics.terms import TermCounts
from naively.text.counting import DocumentRows
from naively.text.vocabulary import document_keys, term_numbers

if TYPE_CHECKING:
    from naively.pooling.texts.repeated import RepeatedLabels
    from naively.pooling.texts.term_weights import LabelPriorMixing, TermWeights


class LabelTerms(LinearParameters):
    """The log-odds of each term for each label: log θ_tl / θ'_tl.

    θ is the share of the term in the documents with the label, θ' that in all others, both
    smoothed, as in a multinomial of two classes.

    `total`: ExactArray (1 + L, V), the count of each term in all documents, and in the documents
    with each label. `alpha`: virtual counts of each term, above 0. `weighing`: the weights of
    terms; None for 1.
    """

    has_zero = False

    def __init__(self, total: ExactArray, alpha: Alpha, weighing: Weighing | None = None) -> None:
        labels, size = total.shape[0] - 1, total.shape[1]
        super().__init__(labels, size)
        self.total, self.alpha, self.weighing = total, np.asarray(alpha, np.float64), weighing
        with_label, without_label = _apart(total.summed(1))
        self.of_label, self.whole = with_label, float(counts_of(total.summed(1))[0])
        smoothing = total_alpha(self.alpha, labels, size)
        self.log_totals = np.log(without_label + smoothing) - np.log(with_label + smoothing)
        self.n_free = 2 * labels * max(0, size - 1)

    def terms(self, columns: slice) -> Terms:
        """x_t W_tl log θ_tl / θ'_tl."""
        with_label, without_label = _apart(self.total.gather(1, columns))
        alpha = columns_of(self.alpha, columns)
        slope = log(with_label + alpha) - log(without_label + alpha)
        slope = slope + self.log_totals[:, np.newaxis]
        if self.weighing is not None:
            total = counts_of(self.total.gather(1, columns).gather(0, 0))
            slope *= self.weighing.of_terms(with_label, total, self.of_label, self.whole, columns)
        return Terms(slope)

    def sample(self, codes: Int64, generator: np.random.Generator) -> Any:
        """Not available: the labels of a document have no joint model."""
        problem = "labels are predicted independently: documents cannot be drawn from the model"
        raise ValueError(problem)


def _apart(sums: ExactArray) -> tuple[Float64, Float64]:
    """Return (sums of each label, sums of the documents without it), from all and each."""
    with_label = sums.gather(0, slice(1, None))
    total = sums.gather(0, slice(0, 1))
    repeated = ExactArray(np.repeat(total.limbs, with_label.shape[0], axis=0), sums.low)
    return counts_of(with_label), counts_of(repeated - with_label)


@dataclass(frozen=True)
class Weighing:
    """The weights of terms, and the last steps of scoring."""

    scale: TermWeights  # the weights of terms, with a bias a label
    # group, n_groups: of each term: words, pairs of words and so on
    group: Int64
    n_groups: int
    mixing: LabelPriorMixing  # how far probabilities are mixed with the prior
    repeated: RepeatedLabels  # documents that recur

    def of_terms(
        self, having: Float64, total: Float64, of_label: Float64, whole: float, columns: Any
    ) -> Float64:
        """Compute the weights of some terms for each label, (L, k).

        Arguments: counts of these terms with each label, (L, k), and in all documents, (k,); counts
        of all terms with each label, (L,), and in all documents.
        """
        from naively.pooling.texts.term_weights import DOUBTS  # which loads SciPy's sparse matrices

        weights = np.empty(having.shape)
        whole = max(whole, 1e-300)
        kernel.label_weights(
            np.ascontiguousarray(having), np.ascontiguousarray(total), of_label / whole,
            np.log(whole), DOUBTS, np.ascontiguousarray(self.group[columns]), self.scale.weights,
            self.scale.least, self.scale.most, weights,
        )  # fmt: skip
        return weights


class LabelledParameters(TextParameters):
    """The log-odds of each label by the selected terms.

    Scores are log-odds without the prior: (L, n).

    `scale`: the weights of terms, with a bias a label; None if all weights are 1. `bias`: (L,),
    added to every document besides the log-odds of the prior, in nats. `terms`: their vocabulary,
    sorted, and their counts, (1 + L, V). `alpha`: virtual counts of each, above 0. `apart`: makes
    the parameters of two classes, documents without and with a label, from the terms and the index
    of the label.
    """

    not_linear = "each label has log-odds of its own"

    def __init__(
        self, summary: TermCounts, terms: SelectedTerms, alpha: Alpha,
        apart: Callable[[Estimated, int], Parameters], weighing: Weighing | None = None,
    ) -> None:  # fmt: skip
        total, groups = terms.total, terms.total
        if weighing is not None:
            groups = with_group(total, weighing.group, weighing.n_groups)
        inner = LabelTerms(total, alpha, weighing)
        super().__init__(summary, Estimated(inner, terms.vocabulary, total, alpha))
        self.scale = None if weighing is None else weighing.scale
        if self.scale is not None:
            self.bias, self.out_of_fold = self.scale.bias, self.scale.out_of_fold
        if np.ndim(alpha) == 0:  # else terms of the same counts may have different weights
            self._looked_up = WeightCache(self.scorer, groups)
        self._apart, self._weighing = apart, weighing

    def kept(self) -> Arrays:
        """Return the weights, if there are any."""
        # which loads SciPy's sparse matrices
        from naively.pooling.texts.stored_term_weights import stored_scale

        return {} if self.scale is None else stored_scale(self.scale, self.vocabulary)

    @cached_property
    def key_numbers(self) -> Int64:
        """The integers of the terms, (V,); the key of a document is their sum."""
        return term_numbers(self.scored.vocabulary, self.summary.buckets)

    def _keys(self, rows: DocumentRows) -> Int64 | None:
        if self._weighing is None or not len(self._weighing.repeated):
            return None
        data = None if self.summary.weighs else rows.data
        return document_keys(self.key_numbers, data, rows.indices, rows.indptr)

    def _finish(self, rows: DocumentRows, scores: Float64, keys: Int64 | None) -> None:
        """Scale scores by L^-γ, add the biases, replace recurring texts and mix with the prior."""
        if self._weighing is None:
            return
        scale = self._weighing.scale
        scale.fall(scores, rows.data, rows.indptr, scale.bias)
        if keys is not None:
            self._weighing.repeated.replace(keys, scores)
        self._weighing.mixing.odds(scores)

    def of_label(self, label: int) -> Parameters:
        """Return the parameters of two classes: documents without a label, and with it."""
        counts = two_classes(self.total, 1 + label)
        inner = MultinomialParameters(counts, np.asarray(self.alpha, np.float64))
        return self._apart(Estimated(inner, self.vocabulary, counts, self.alpha), label)
