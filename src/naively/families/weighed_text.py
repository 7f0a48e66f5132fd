"""Documents whose terms are weighed: probabilities that can be bet on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from naively.evidence.entries import LIGHTEST
from naively.evidence.scale import Counted, Scale, read_scale, scale_of, stored_scale, unit_of
from naively.exact import ExactArray, Float64, Int64
from naively.families.base import AnyFamily
from naively.families.describing import Events
from naively.families.linear import Alpha, LinearParameters, Terms
from naively.families.looked_up import LookedUp
from naively.families.text import Text
from naively.families.text_parameters import Estimated, TextParameters
from naively.statistics.base import Arrays
from naively.statistics.documents import LONGEST, ROOM
from naively.statistics.powers import CountStatistics
from naively.statistics.term_counts import TermCounts
from naively.text.counting import DocumentRows
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
        of_class = present.rounded()
        most = min(WEIGHED, max(FEWEST, TOLD // max(1, 2 * n_groups * len(of_class))))
        first: Float64 = np.asarray(sample.tables["kept"].rounded()).T
        first = first[: sample.first(most, TEACHING)]
        # documents without which their class has others; classes that have none say nothing
        teaches = (first >= LIGHTEST) & (of_class - first > LIGHTEST * of_class)
        met = np.flatnonzero(teaches.any(axis=0))
        row, y = np.nonzero(teaches[:, met])
        equal, of_class = first[:, met], of_class[met]
        rows = TextParameters(self.summary, known).matrix(sample.documents[row], workers)
        own, places = np.unique(rows.indices, return_inverse=True)
        alpha = known.alpha if np.ndim(known.alpha) == 0 else np.asarray(known.alpha)[own]
        documents = Counted(
            csr_matrix((rows.data, places, rows.indptr), (len(y), len(own))), y, equal[row, y],
            np.ascontiguousarray(equal[row]),
            np.ascontiguousarray(known.total.gather(1, own).rounded()[met].T),
            known.total.summed(1).rounded()[met], of_class, alpha, len(total),
            0.0 if self.alpha is None else float(np.broadcast_to(known.alpha, len(total)).sum()),
            group[own], n_groups, unit_of(total),
        )  # fmt: skip
        scale = scale_of(documents, workers)
        bias = np.zeros(len(present.rounded()))
        bias[met] = scale.bias
        return self._weighed(known, present, replace(scale, bias=bias), group, n_groups)

    estimate_on = estimate

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
        present = statistics.observed(class_weight).gather(1, 0)
        known = self._sorted(statistics, present)
        group, n_groups = self._groups(known)
        scale = read_scale(kept, n_groups, class_weight.shape[0], self.alpha is None)
        return self._weighed(known, present, scale, group, n_groups)

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

    def _groups(self, known: Estimated) -> tuple[Int64, int]:
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
        count = min(high - low + 1, LENGTHS)
        return np.clip(np.diff(before[ends]) + words - low, 0, count - 1), count


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
            self._looked_up = LookedUp(self.scorer, _with_group(known.total, group, n_groups))
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
        lengths = np.zeros(scores.shape[1])
        filled = np.flatnonzero(np.diff(rows.indptr))
        if len(filled):
            lengths[filled] = np.add.reduceat(rows.data, rows.indptr[filled])
        scores *= self.scale.of_lengths(lengths)
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


def _with_group(total: ExactArray, group: Int64, n_groups: int) -> ExactArray:
    """Sums by which terms of different weights differ, (C or C + 1, V)."""
    if n_groups == 1 or not total.limbs.size:
        return total
    limbs = np.zeros((1, *total.limbs.shape[1:]), np.int64)
    limbs[0, :, 0] = group
    return ExactArray(np.concatenate([total.limbs, limbs]), total.low)
