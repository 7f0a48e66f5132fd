"""Model counts as draws from one distribution a class: p(x | m, y = c) = m! Π_α θ_αc^x_α / x_α!."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.workers import Workers
from naively.families.base import ClassNumbers, Events, Family
from naively.families.linear import (
    Alpha,
    LinearParameters,
    Scorer,
    Terms,
    check_alpha,
    columns_of,
    counts_of,
    log,
    valid_alpha,
)
from naively.kernels import scores as kernel
from naively.statistics.base import Data, is_sparse
from naively.statistics.powers import CountStatistics, CountSums, Ranks

ROLLS = 100  # events in a sampled row by default


@dataclass(frozen=True)
class Multinomial(Family[CountStatistics, LinearParameters]):
    """Counts of d kinds of events, such as words.

    Lecture 1, case 2; lecture 2, "NB with Bag of Words"; lecture 4, "Multinomial-NBC"::

        θ_αc = (Σ_i I(y_i = c) x_iα + l_α) / (Σ_i I(y_i = c) m_i + Σ_β l_β)

    Parameters
    ----------
    alpha : float or array
        l: 0 for maximum likelihood, 1 for Laplace; or one value per feature (d,), class (C, 1), or
        both (C, d): the m virtual examples with prior Q of lecture 2 are ``alpha = m * Q``.
    """

    alpha: Alpha = 1.0

    name = "multinomial"
    summary = CountSums()
    by_column = False

    def __post_init__(self) -> None:
        valid_alpha(self.alpha)

    def check(self, statistics: CountStatistics, class_weight: ExactArray) -> None:
        """Raise ValueError unless alpha has a valid shape."""
        check_alpha(self.alpha, *statistics.tables["sum"].shape)

    def estimate(self, statistics: CountStatistics, class_weight: ExactArray) -> LinearParameters:
        """Estimate θ_αc."""
        sums, events = statistics.tables["sum"], statistics.events()
        return MultinomialParameters(sums, self.alpha, events, statistics.ranks)

    @property
    def needs_present_columns_only(self) -> bool:
        """Whether all columns have the same smoothing."""
        return np.ndim(self.alpha) == 0


class SharedEvents(LinearParameters):
    """Base of the families whose features are the kinds of one event.

    alpha : l, of a shape that broadcasts to (C, d).
    """

    has_zero = False
    has_length = True

    def __init__(self, counts: ExactArray, alpha: Alpha) -> None:
        super().__init__(*counts.shape)
        self.counts = counts
        self.alpha = check_alpha(alpha, *counts.shape)

    def events(self, names: Sequence[str], features: Sequence[int] | None = None) -> Events | None:
        """Return the features as events; None for some features."""
        if features is not None:
            return None
        counts = self.counts.rounded()
        alpha_total = total_alpha(self.alpha, *counts.shape)[:, np.newaxis]
        return Events(names, counts, counts.sum(axis=1, keepdims=True), self.alpha, alpha_total)

    def sample(self, codes: Int64, generator: np.random.Generator) -> Any:
        """Draw rows of 100 events each."""
        return self.sample_events(codes, ROLLS, generator)

    def sample_events(self, codes: Int64, length: int, generator: np.random.Generator) -> Any:
        """Draw rows of `length` events each, from the multinomial of the same counts."""
        multinomial = MultinomialParameters(self.counts, self.alpha)
        return multinomial.sample_events(codes, length, generator)


class MultinomialParameters(SharedEvents):
    """log θ_αc, computed from the counts, a block of columns at a time.

    totals : (C,) Σ_β (count + l_β), over all columns, even if these are only some of them.
    width : number of all columns.
    ranks : the distinct counts and the rank of each count, if known.
    """

    def __init__(
        self, counts: ExactArray, alpha: Alpha, events: tuple[ExactArray, int] | None = None,
        ranks: Ranks | None = None,
    ) -> None:  # fmt: skip
        super().__init__(counts, alpha)
        self.ranks = ranks
        total, self.width = events or (counts.summed(1), self.n_features)
        self.totals = counts_of(total) + total_alpha(self.alpha, self.n_classes, self.width)
        self.n_free = self.n_classes * max(self.width - 1, 0)

    def log_theta(self, columns: slice) -> Float64:
        """Compute log θ_αc of a block of columns, (C, b); uniform for a class without counts."""
        counts = counts_of(self.counts.gather(1, columns)) + columns_of(self.alpha, columns)
        theta = log(counts)
        theta -= log(np.where(self.totals > 0, self.totals, 1.0))[:, np.newaxis]
        theta[self.totals <= 0] = -np.log(max(self.width, 1))
        return theta

    def _scorer_pair(self, sparse: bool, workers: Workers) -> tuple[Scorer, Scorer | None]:
        """As the base class. The logarithm of each distinct small count is computed once."""
        limbs, alpha = self.counts.limbs, self.alpha
        is_small = limbs.shape[-1] == 1 and self.counts.low == 0
        if not (sparse and is_small and alpha.ndim == 0 and alpha > 0):
            return super()._scorer_pair(sparse, workers)
        largest = int(limbs.max(initial=0)) if self.ranks is None else 0
        if largest > limbs.size:
            return super()._scorer_pair(sparse, workers)
        scorer = Scorer(self.n_classes, self.n_features, sparse, self.has_zero, filled=False)
        if self.ranks is not None:
            distinct, ranks = self.ranks
            kernel.look_up_ranks(ranks, log(distinct + alpha), log(self.totals), scorer.weight)
        else:
            logs = log(np.arange(largest + 1) + alpha)
            kernel.look_up(limbs[..., 0], logs, log(self.totals), scorer.weight)
        return scorer, None

    def terms(self, columns: slice) -> Terms:
        """Compute x_α log θ_αc."""
        return Terms(self.log_theta(columns))

    def feature_log_prob(self) -> Float64:
        """Return log θ_αc, (C, d)."""
        return self.log_theta(slice(0, self.n_features))

    def event_probabilities(self) -> Float64:
        """Return θ_αc."""
        return np.minimum(np.exp(self.feature_log_prob()), 1.0)

    def numbers(self) -> ClassNumbers:
        """Return the shares of the features in all counts."""
        theta = np.exp(self.feature_log_prob())
        meaning = "share of the column in the counts of a row in %"
        return ClassNumbers(meaning, "", {"p": theta}, ("share of\nall counts",))

    def log_base(self, X: Data) -> Float64:
        """Compute log m! - Σ_α log x_α!."""
        gammaln = scipy.special.gammaln
        if is_sparse(X):
            X = X.copy()
            X.data = np.nan_to_num(X.data.astype(np.float64))
            length = np.asarray(X.sum(axis=1)).ravel()
            X.data = gammaln(X.data + 1.0)
            return gammaln(length + 1.0) - np.asarray(X.sum(axis=1)).ravel()
        x = np.nan_to_num(X.astype(np.float64))
        return gammaln(x.sum(axis=1) + 1.0) - gammaln(x + 1.0).sum(axis=1)

    def sample_events(self, codes: Int64, length: int, generator: np.random.Generator) -> Any:
        """Draw rows of `length` events each."""
        theta = np.exp(self.log_theta(slice(0, self.n_features)))
        theta /= theta.sum(axis=1, keepdims=True)
        if length >= self.n_features:
            return generator.multinomial(length, theta[codes])
        counts = np.zeros((len(codes), self.n_features), np.int64)
        for c in np.unique(codes).tolist():  # event by event, as most features have count 0
            rows, cumulative = np.flatnonzero(codes == c), np.cumsum(theta[c])
            uniform = generator.random((len(rows), length)) * cumulative[-1]
            np.add.at(counts, (rows[:, np.newaxis], np.searchsorted(cumulative, uniform)), 1)
        return counts


def total_alpha(alpha: Float64, n_classes: int, n_features: int) -> Float64:
    """Compute Σ_α l_α of each class, (C,)."""
    if alpha.ndim == 0 or alpha.shape[-1] == 1:
        total = n_features * alpha.reshape(-1)
    else:
        total = alpha.sum(axis=-1)
    return np.array(np.broadcast_to(total, n_classes))
