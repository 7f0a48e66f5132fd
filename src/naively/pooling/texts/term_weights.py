"""Estimate the weights of terms, and mix text evidence with the class prior.

The score of class c of a document with the length L = Σ_t x_t is::

    log π_c + b_c + L^-γ Σ_t x_t (W_t log θ_tc + δ_tc)
    W_t = w_g + v_g log (n / n_t) + Σ_s u_gs D_ts

for each group g of terms, such as pairs of words: n_t of all n counts are of term t, which makes
log (n / n_t) its rarity. D_ts is the Kullback-Leibler divergence of the classes of t from those of
all terms, after s more occurrences in average classes. `corrections` estimates δ_tc.
docs/text-details.md has the details.

**Prior mixing.** A document may be of a kind that was not in training. Then its words are no
evidence of its class. After n distinct documents, the next one is of such a kind with a probability
of 2 / (n + 2), by which the class probabilities are mixed with the prior::

    p'(c | x) = (1 - e) p(c | x) + e π_c,    e = 2 / (n + 2)

So with two equally frequent classes no probability exceeds (n + 1) / (n + 2), which is Laplace's
rule of succession after n successes out of n. It is as if p(x | c) were (1 - e) p(x | c) + e p(x)
for each class, a contamination (Huber 1964, The Annals of Mathematical Statistics 35). That is a
likelihood, so any prior can be used with it.

For a text without known words, the n of e is the number of training texts that share no word with
another one. If there was none, e is 1, and its character n-grams are no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy

from naively.core.exact import Float64, Int64
from naively.core.workers import Workers, one_thread
from naively.kernels import text as kernel
from naively.pooling.canonical import HEAVIEST
from naively.pooling.entries import NO_PREDICTIONS, OutOfFoldPredictions
from naively.pooling.texts.corrections import Corrections, Scored
from naively.pooling.weights import WORSE, Piece, Pool, Weights

VIRTUAL = 2.0  # virtual documents whose terms are no evidence
ROUNDING = 1e-14  # share of the scores below which a difference is rounding


def prior_share_of(documents: float) -> float:
    """e, after this many documents; 0 after none."""
    return VIRTUAL / (documents + VIRTUAL) if documents > 0 else 0.0


@dataclass(frozen=True)
class PriorMixing:
    """Prior mixing of scores."""

    class_weight: Float64  # (C,) weight of the training documents of each class
    documents: float  # number of distinct training documents
    unseen: float | None = None  # how many of these share no term with another one; None if unknown

    @cached_property
    def share(self) -> float:
        """e: the probability that the next document is of a new kind."""
        return prior_share_of(self.documents)

    @cached_property
    def unseen_share(self) -> float:
        """The same for a document without known terms."""
        return self.share if self.unseen is None else VIRTUAL / (self.unseen + VIRTUAL)

    @cached_property
    def log_prior(self) -> Float64:
        """log π_c, (C,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.class_weight) - np.log(self.class_weight.sum())

    def scores(self, scores: Float64, unseen: npt.NDArray[np.bool_] | None = None) -> None:
        """Mix log p(x | c) of documents, (C, n), with the prior in place.

        `unseen`, (n,), marks documents without known terms.
        """
        if not self.share:
            return
        if unseen is not None and unseen.any():
            unseen_scores = np.ascontiguousarray(scores[:, unseen])
            if self.unseen_share < 1:
                kernel.doubt_scores(unseen_scores, self.log_prior, self.unseen_share)
            else:
                unseen_scores[:] = 0.0
            kernel.doubt_scores(scores, self.log_prior, self.share)
            scores[:, unseen] = unseen_scores
        else:
            kernel.doubt_scores(scores, self.log_prior, self.share)

    def added(self, scores: Float64, unseen: npt.NDArray[np.bool_] | None = None) -> Float64:
        """What prior mixing adds to the scores of documents, (C, n); see `scores`."""
        mixed = np.array(scores, order="C")
        self.scores(mixed, unseen)
        difference = mixed - scores
        difference[np.abs(difference) <= ROUNDING * np.abs(scores).max(axis=0)] = 0.0
        return difference


@dataclass(frozen=True)
class LabelPriorMixing:
    """Prior mixing of multi-label documents, for each label alone."""

    with_label: Float64  # (L,) weight of the documents with each label
    total: float  # weight of all documents
    documents: float  # number of distinct documents

    @cached_property
    def share(self) -> float:
        """e, as in `Doubt`."""
        return prior_share_of(self.documents)

    def odds(self, odds: Float64) -> None:
        """Mix log p(x | label) / p(x | no label) of documents, (L, n), in place."""
        if self.share:
            with np.errstate(divide="ignore"):
                log_having, log_whole = np.log(self.with_label), np.log(self.total)
                log_without = np.log(self.total - self.with_label)
            kernel.doubt_odds(odds, log_having - log_whole, log_without - log_whole, self.share)

    def of(self, label: int) -> PriorMixing:
        """The prior mixing of one label: classes are documents without and with it."""
        class_weight = np.array([self.total - self.with_label[label], self.with_label[label]])
        return PriorMixing(class_weight, self.documents)


# ---- weights of terms ----------------------------------------------------------------------------


ALPHAS = (1.0, 0.3, 0.1, 0.03, 0.01)  # smoothing that is tried
QUARTERS = (0, 1, 2, 3, 4)
"""γ that are tried, in quarters: fourth roots are the same bits on every platform, powers not."""
WEAK = 0.3  # the ridge of weights for the choice of α and γ
LIKELY = 3  # the γ, in quarters, for the choice of α
DOUBTS = np.array([5.0, 25.0])  # s of D_ts: additional occurrences of a term in average classes
ASPECTS = 2 + len(DOUBTS)
"""Aspects that the weight of a term is linear in: 1, its rarity, its divergences D_ts."""
SMALL = 1 << 12  # counts whose logarithms are tabulated
TRIED, TOGETHER = 2000, 256
"""Documents for the choice of α and γ, at most; documents in one task of a worker."""
FARTHEST = 300.0
"""Nats by which a class can be behind another, at most, unless ten terms exceed that."""


UNBOUNDED = 1e50  # the largest value of an aspect if no documents bound it


@dataclass(frozen=True)
class TermWeights:
    """The weights of terms."""

    alpha: float | None  # the smoothing; None if it was given by the user
    quarters: int  # 4 γ
    weights: Float64  # (4, G) w, v, u_5, u_25 of each group of terms
    # least, most: (4, G) the range of 1, log (n / n_t) and D_ts in the documents that the weights
    # were estimated from; beyond it terms are clipped
    least: Float64
    most: Float64
    bias: Float64  # (C,) b, in nats
    out_of_fold: OutOfFoldPredictions  # predictions of documents by counts and weights without them
    corrections: Corrections  # δ of some terms
    # number of distinct documents that share no word with another one; None unless there are
    # character n-grams beside words
    unseen: float | None = None

    def of_terms(self, counts: Float64, of_class: Float64, group: Int64) -> Float64:
        """The weights of terms, (k,), from their counts (C, k) and the counts of all terms (C,)."""
        total = float(of_class.sum())
        weights = np.empty(len(group))
        kernel.term_weights(
            np.ascontiguousarray(counts.T), total, of_class / max(total, 1e-300), DOUBTS,
            np.ascontiguousarray(group), self.weights, self.least, self.most, weights,
        )  # fmt: skip
        return weights

    def fall(self, scores: Float64, data: Float64, indptr: Int64, bias: Float64) -> None:
        """Divide scores (C, n) of documents by L^γ and add a bias, in place.

        Documents without terms have no bias: their posterior is the prior.

        `data` and `indptr` are CSR rows of term counts.
        """
        kernel.let_fall(scores, data, indptr, self.quarters, bias)

    def of_lengths(self, lengths: Float64) -> Float64:
        """L^-γ; 1 for documents without terms."""
        return by_length(lengths, self.quarters)

    @property
    def counts(self) -> bool:
        """Whether these terms have any weight."""
        return bool(self.weights.any())


def by_length(lengths: Float64, quarters: int) -> Float64:
    """L^-γ."""
    root = np.sqrt(np.sqrt(np.where(lengths > 0, lengths, 1.0)))
    factors = 1.0 / root if quarters else np.ones_like(root)
    for _ in range(quarters - 1):
        factors /= root
    return factors


@dataclass(frozen=True)
class Counted:
    """Documents from which weights are estimated, and the counts of their terms."""

    # (n, V) CSR, the count of each of the V terms of these documents in each
    rows: scipy.sparse.csr_matrix
    # y, weight: (n,) class of each, and the number of documents of that class that it stands for
    y: Int64
    weight: Float64
    equal: Float64  # (n, C) number of documents of each class that are equal to it
    terms: Int64  # (V,) these terms among all
    counts: Float64  # (V, C) count of each of these terms in all documents
    of_class: Float64  # (C,) count of all terms
    class_weight: Float64  # (C,) weight of the documents of each class, above 0
    alpha: Any  # (V,) or scalar, the smoothing; None if it is to be chosen
    n_terms: int  # number of all terms
    alpha_whole: float  # sum of the smoothing of all terms, if it is given
    group: Int64  # (V,) the group of each term
    n_groups: int
    unit: float  # the mean rarity of terms
    documents: float  # number of distinct documents
    # out-of-fold predictions of documents that recur; None if terms predict all
    recurring: RecurringPredictions | None = None
    of_words: bool = True  # whether terms are words, not character n-grams

    def first(self, most: int) -> Self:
        """The first documents."""
        return replace(
            self, rows=self.rows[:most], y=self.y[:most], weight=self.weight[:most],
            equal=self.equal[:most],
        )  # fmt: skip

    @cached_property
    def sums(self) -> Float64:
        """(V, D) sums for the divergences of terms, from which those without a document follow."""
        sums = np.empty((len(self.counts), len(DOUBTS)))
        kernel.all_sums(self.counts, self.of_class, DOUBTS, sums)
        return sums

    def out_of_fold_evidence(
        self, alphas: Sequence[Any], first: int, stop: int, workers: Workers
    ) -> tuple[Float64, Float64, Float64]:
        """The evidence of some documents, each by counts without it, for each smoothing.

        Return the evidence (J, n, 4 G, C) of documents `first` to `stop`, their lengths (n,), and
        the range of the aspects of their terms, (2, 4 G). Rarity is in units.
        """
        stop = min(stop, len(self.y))
        smoothing = np.array(alphas, np.float64).reshape(len(alphas), -1)
        chooses = self.alpha is None
        whole = np.asarray(smoothing[:, 0] * self.n_terms if chooses else [self.alpha_whole])
        small_counts = np.arange(SMALL if smoothing.shape[1] == 1 else 0)
        logs, totals = np.log(small_counts + smoothing[:, :1]), self.counts.sum(axis=1)
        spread = np.broadcast_to(smoothing, (len(alphas), len(self.counts)))
        n, sums = max(stop - first, 0), self.sums
        evidence = np.zeros((len(alphas), n, ASPECTS * self.n_groups, self.counts.shape[1]))
        lengths = np.zeros(n)

        def some(start: int) -> Float64:
            lower = np.full(evidence.shape[2], np.inf)
            upper = -lower
            kernel.left_out(
                start, min(start + TOGETHER, stop), first, self.rows.indptr, self.rows.indices,
                self.rows.data, self.equal, self.counts, totals, sums, logs, spread,
                float(self.of_class.sum()), self.group, whole,
                self.of_class, DOUBTS, evidence, lengths, lower, upper,
            )  # fmt: skip
            return np.array([-lower, upper])

        no_ends = np.full((2, evidence.shape[2]), -np.inf)
        ends = np.max([no_ends, *workers.map(some, range(first, stop, TOGETHER))], axis=0)
        ends[0] *= -1
        rarity = slice(self.n_groups, 2 * self.n_groups)
        evidence[:, :, rarity] /= self.unit
        ends[:, rarity] /= self.unit
        return evidence, lengths, ends

    def distinct(self, some: npt.NDArray[np.bool_]) -> float:
        """The number of distinct documents like some of these, (n,), that do not recur."""
        if self.recurring is not None:
            some = some & ~self.recurring.recurring
        return self.documents * float(self.weight[some].sum() / self.weight.sum())

    @property
    def farthest(self) -> float:
        """Nats by which a class can be behind another, at most."""
        return max(FARTHEST, 10 * float(np.log(max(1.0, self.of_class.max()))))

    def pool(self, scaled: Float64, added: npt.NDArray[np.bool_], workers: Workers) -> Pool:
        """A pool of evidence (n, K, C), already scaled by length; `added` (K,) as in `Pool`."""
        prior = np.log(self.class_weight)
        with np.errstate(invalid="ignore", over="ignore"):  # if counts are not numbers
            log_odds = np.nan_to_num(scaled[:, :, 1:] - scaled[:, :, :1])
        log_odds = np.clip(log_odds, -self.farthest, self.farthest)
        base = np.repeat((prior[1:] - prior[0]).astype(np.float32)[:, np.newaxis], len(self.y), 1)
        piece = Piece(
            np.ascontiguousarray(log_odds.transpose(1, 2, 0), np.float32), base,
            np.ascontiguousarray(self.y),
            (self.weight * min(1.0, HEAVIEST / self.weight.max())).astype(np.float32),
        )  # fmt: skip
        return Pool([piece], added, workers, prior_share_of(self.documents))

    def some(self, rows: npt.NDArray[Any]) -> Self:
        """Some of the documents, as a pool needs them: their terms stay as they are."""
        return replace(self, y=self.y[rows], weight=self.weight[rows])

    def alone(self, workers: Workers) -> ScaledEvidence:
        """The evidence of terms for the α and γ that predict the first documents best.

        α is chosen first, then γ.
        """
        sample = self.first(TRIED)

        @cache
        def loss(trial: int, quarters: int) -> float:
            blocks = Ends.of(ends).blocks(falling(trials[trial], lengths, quarters), 1)
            pool = sample.pool(blocks, np.ones(blocks.shape[1], bool), workers)
            used = pool.varied
            while len(used):
                chosen = pool.some(used)
                result, x = chosen.alone(WEAK)
                if (x[: len(used)] >= 0).all():
                    return result
                used = used[chosen.not_negative(WEAK, x)]
            return np.inf

        alphas: Sequence[Any] = ALPHAS if self.alpha is None else [self.alpha]
        trials, lengths, ends = self.out_of_fold_evidence(alphas, 0, TRIED, workers)
        best = min(range(len(alphas)), key=lambda trial: loss(trial, LIKELY)) if alphas[1:] else 0
        quarters = min(QUARTERS, key=lambda candidate: loss(best, candidate))
        rest = self.out_of_fold_evidence([alphas[best]], TRIED, len(self.y), workers)
        (later,), later_lengths, later_ends = rest
        result = np.concatenate([trials[best], later])
        all_lengths = np.append(lengths, later_lengths)
        result *= by_length(all_lengths, quarters)[:, np.newaxis, np.newaxis]
        least, most = np.minimum(ends[0], later_ends[0]), np.maximum(ends[1], later_ends[1])
        all_ends = Ends.of(np.array([least, most]))
        return ScaledEvidence(alphas[best], quarters, result, all_lengths, all_ends)


@dataclass(frozen=True)
class Ends:
    """The range of the aspects of terms in documents.

    Weights of terms are never negative: a word of one class alone must not be evidence against it.
    So a weight is a sum of non-negative terms with non-negative factors: 1, how much each other
    aspect is above its minimum, and how much it is below its maximum.
    """

    # least, most: (4 G,), rarity in units
    least: Float64
    most: Float64

    @classmethod
    def of(cls, ends: Float64) -> Self:
        """Clip a range (2, 4 G); groups without terms have inf and -inf."""
        none = ~(ends[1] >= ends[0])
        return cls(*np.clip(np.where(none, 0.0, ends), -UNBOUNDED, UNBOUNDED))

    @property
    def n_groups(self) -> int:
        """G."""
        return len(self.most) // ASPECTS

    @property
    def added(self) -> npt.NDArray[np.bool_]:
        """(7 G,) the factors that naive Bayes does not have, which the ridge shrinks towards 0."""
        return np.repeat(np.arange(2 * ASPECTS - 1) > 0, self.n_groups)

    def blocks(self, evidence: npt.NDArray[Any], axis: int) -> npt.NDArray[Any]:
        """The evidence for each factor, 7 G along the axis where the aspects are 4 G."""
        evidence = np.moveaxis(evidence, axis, 0)
        shape = -1, *[1] * (evidence.ndim - 1)
        least = self.least[self.n_groups :].reshape(shape).astype(evidence.dtype)
        most = self.most[self.n_groups :].reshape(shape).astype(evidence.dtype)
        first, others = np.split(evidence, [self.n_groups])
        firsts = np.concatenate([first] * (ASPECTS - 1))
        with np.errstate(invalid="ignore", over="ignore"):
            factors = np.concatenate([first, others - firsts * least, firsts * most - others])
        return np.moveaxis(factors, 0, axis)

    def weights(self, factors: Float64) -> Float64:
        """The weights of the aspects, (4, G), from the factors (7 G,)."""
        first, above, below = np.split(factors.reshape(-1, self.n_groups), [1, ASPECTS])
        least, most = (x.reshape(ASPECTS, -1)[1:] for x in (self.least, self.most))
        base = first + (below * most - above * least).sum(axis=0)
        return np.concatenate([base, above - below])

    def scale(
        self, alpha: float | None, quarters: int, factors: Float64, unit: float, bias: Float64,
        out_of_fold: OutOfFoldPredictions,
    ) -> TermWeights:  # fmt: skip
        """The weights of terms from the factors, with rarity converted from units."""
        shape = ASPECTS, self.n_groups
        arrays = self.weights(factors), self.least, self.most
        weights, least, most = (array.reshape(shape).copy() for array in arrays)
        weights[1] /= unit
        least[1] *= unit
        most[1] *= unit
        none = Corrections.none(len(bias))
        return TermWeights(alpha, quarters, weights, least, most, bias, out_of_fold, none)


@dataclass(frozen=True)
class ScaledEvidence:
    """The evidence of the terms of documents, each by counts without it."""

    # alpha, quarters: α and 4 γ
    alpha: Any
    quarters: int
    evidence: Float64  # (n, 4 G, C), rarity in units
    lengths: Float64  # (n,) Σ x of the terms that are known without the document
    ends: Ends  # the range of the aspects

    @cached_property
    def blocks(self) -> Float64:
        """(n, 7 G, C) the evidence for each factor."""
        return self.ends.blocks(self.evidence, 1)


def narrowed(rows: scipy.sparse.csr_matrix) -> tuple[scipy.sparse.csr_matrix, Int64]:
    """Keep the terms of these documents alone; return the documents and the kept terms."""
    terms = np.flatnonzero(rows.getnnz(axis=0))
    return rows[:, terms], terms


def falling(evidence: Float64, lengths: Float64, quarters: int) -> Float64:
    """Evidence (n, K, C) times L^-γ."""
    return evidence * by_length(lengths, quarters)[:, np.newaxis, np.newaxis]


@dataclass(frozen=True)
class RecurringPredictions:
    """Predictions of documents that recur, by the counts of equal documents without them."""

    proba: Float64  # (n, C) P(c | x) of these; arbitrary for others
    confidence: Float64  # (n,) P of the most probable class, a mean over equal documents
    recurring: npt.NDArray[np.bool_]  # (n,) which they are
    weight: Float64  # (n,) weight of all documents in the evaluation


def scales_of(models: Sequence[Counted], workers: Workers) -> list[TermWeights]:
    """Estimate the weights of terms, predicting each document by counts without it.

    `models`: the counts of each model of the same documents. Return the weights of each, with
    the same biases.
    """
    first = models[0]
    classes = first.counts.shape[1]
    if classes < 2 or not any(model.rows.nnz for model in models):
        return [textbook(model, k == 0) for k, model in enumerate(models)]
    with one_thread():  # several threads of BLAS would add in another order, and round differently
        estimates = [model.alone(workers) for model in models]
        has_terms = np.any([estimate.lengths > 0 for estimate in estimates], axis=0)
        if not has_terms.any():  # no document shares a term with another
            return [textbook(model, counts=False) for model in models]
        rows = np.flatnonzero(has_terms)
        weights, factors, scores = _together(first, estimates, rows, workers)
        corrections, out_of_fold = _corrected(
            models, estimates, factors, rows, scores, weights.out_of_fold, workers
        )
    wordless, unseen = _wordless(models, estimates, factors), None
    replaced = []
    if wordless is not None:
        unseen = first.distinct(wordless)
        mixing = PriorMixing(first.class_weight, first.documents, unseen)
        replaced = [_by_characters(mixing, scores, rows, wordless)]
    out_of_fold = _out_of_fold(first, out_of_fold, has_terms, replaced)
    scales = []
    parts = zip(models, estimates, factors, corrections, strict=True)
    for model, estimate, model_factors, corrected in parts:
        alpha = None if model.alpha is not None else float(estimate.alpha)
        shared = model.unit, weights.bias, out_of_fold
        scale = estimate.ends.scale(alpha, estimate.quarters, model_factors, *shared)
        scales.append(replace(scale, corrections=corrected, unseen=unseen))
    return scales


def _wordless(
    models: Sequence[Counted], estimates: Sequence[ScaledEvidence], factors: Sequence[Float64]
) -> npt.NDArray[np.bool_] | None:
    """Which documents share no word with another one, (n,); None unless characters have weights
    beside words.
    """
    used = [k for k, model_factors in enumerate(factors) if model_factors.any()]
    of_words = [estimates[k].lengths > 0 for k in used if models[k].of_words]
    return None if len(of_words) in (0, len(used)) else ~np.any(of_words, axis=0)


def _by_characters(
    mixing: PriorMixing, scores: Float64, rows: Int64, wordless: npt.NDArray[np.bool_]
) -> tuple[Int64, Float64]:
    """The documents without shared words among `rows`, and P(c | x) of each by its characters."""
    some = wordless[rows]
    mixed = np.ascontiguousarray(scores[some].T)
    mixing.scores(mixed, np.ones(mixed.shape[1], bool))
    return rows[some], scipy.special.softmax(mixing.log_prior + mixed.T, axis=1)


def _corrected(
    models: Sequence[Counted], estimates: Sequence[ScaledEvidence], factors: Sequence[Float64],
    rows: Int64, scores: Float64, out_of_fold: OutOfFoldPredictions, workers: Workers,
) -> tuple[list[Corrections], OutOfFoldPredictions]:  # fmt: skip
    """Correct the terms of models that have weights; `scores` are those of documents `rows`.

    Beside words, character n-grams are not corrected: they are many a document, and say little.
    Return the corrections of each model, and the out-of-fold predictions with them.
    """
    first = models[0]
    corrections = [Corrections.none(scores.shape[1]) for _ in models]
    used = [k for k, model_factors in enumerate(factors) if model_factors.any()]
    used = [k for k in used if models[k].of_words] or used
    if not used:
        return corrections, out_of_fold
    scaled = []
    for k in used:
        factors_of_rows = by_length(estimates[k].lengths[rows], estimates[k].quarters)
        scaled.append(scipy.sparse.diags(factors_of_rows) @ models[k].rows[rows])
    log_prior = np.log(first.class_weight) - np.log(first.class_weight.sum())
    documents = Scored(
        scipy.sparse.hstack(scaled, format="csr"), log_prior + scores, first.y[rows],
        first.weight[rows], log_prior, prior_share_of(first.documents),
    )  # fmt: skip
    result = documents.corrected(workers)
    if result is None:
        return corrections, out_of_fold
    columns, delta, out_of_fold = result
    ends = np.cumsum([0, *(len(models[k].terms) for k in used)])
    for k, start, stop in zip(used, ends[:-1], ends[1:], strict=True):
        in_model = slice(*np.searchsorted(columns, [start, stop]))
        terms = models[k].terms[columns[in_model] - start]
        corrections[k] = Corrections(terms, delta[in_model].astype(np.float32))
    return corrections, out_of_fold


def _out_of_fold(
    documents: Counted, out_of_fold: OutOfFoldPredictions, has_terms: npt.NDArray[np.bool_],
    replaced: list[tuple[Int64, Float64]],
) -> OutOfFoldPredictions:  # fmt: skip
    """Complete the predictions of documents with known terms.

    Documents without known terms are predicted by the prior, those that recur by equal documents,
    and `replaced` ones with these P(c | x).
    """
    n, beside = len(has_terms), documents.recurring
    if out_of_fold.losses is None or (has_terms.all() and beside is None and not replaced):
        return out_of_fold
    y = documents.y
    prior = documents.class_weight / documents.class_weight.sum()
    losses, confidence = -np.log(prior[y]), np.full(n, prior.max())
    right, weight = y == prior.argmax(), documents.weight
    losses[has_terms], confidence[has_terms] = out_of_fold.losses, out_of_fold.confidence
    right[has_terms] = out_of_fold.correct
    if beside is not None:
        recurring = np.flatnonzero(beside.recurring)
        weight = beside.weight * min(1.0, HEAVIEST / beside.weight.max(initial=1.0))
        share = prior_share_of(documents.documents)
        proba = (1 - share) * beside.proba[recurring] + share * prior
        replaced = [*replaced, (recurring, proba)]
    for some, proba in replaced:
        losses[some] = -np.log(proba[np.arange(len(some)), y[some]])
        confidence[some], right[some] = proba.max(axis=1), proba.argmax(axis=1) == y[some]
    if beside is not None:
        best = beside.proba[recurring].argmax(axis=1)
        confidence[recurring] = (1 - share) * beside.confidence[recurring] + share * prior[best]
    loss = float((weight * losses).sum() / weight.sum())
    return OutOfFoldPredictions(
        loss, confidence.astype(np.float32), right, weight.astype(np.float32),
        losses.astype(np.float32),
    )  # fmt: skip


def _together(
    first: Counted, estimates: Sequence[ScaledEvidence], rows: Int64, workers: Workers
) -> tuple[Weights, list[Float64], Float64]:
    """Estimate the weights of several models together from documents `rows`.

    Models without which the out-of-fold log-loss is as good, or nearly, are dropped one by one.
    Return the weights of the rest, the factors of each model, and the evidence of each document
    with its bias, (n, C), by weights without its group.
    """
    sizes = [len(estimate.ends.added) for estimate in estimates]
    model_of_block = np.repeat(np.arange(len(estimates)), sizes)
    blocks = np.concatenate([estimate.blocks[rows] for estimate in estimates], axis=1)
    documents = first.some(rows)
    added = np.concatenate([estimate.ends.added for estimate in estimates])
    pool = documents.pool(blocks, added, workers)
    varied = pool.varied

    def weighed(some: Sequence[int], ridge: float | None = None) -> tuple[Weights, Int64]:
        blocks = varied[np.isin(model_of_block[varied], some)]
        return never_below_0(documents, pool, blocks, ridge)

    used: Sequence[int] = range(len(estimates))
    weights, block_indices = weighed(used)
    while len(used) > 1:
        subsets = [[k for k in used if k != dropped] for dropped in used]
        trials = [weighed(some, weights.ridge) for some in subsets]
        best = min(range(len(trials)), key=lambda k: trials[k][0].log_loss)
        if trials[best][0].log_loss > WORSE * weights.log_loss:
            break
        used, (weights, block_indices) = subsets[best], trials[best]
    factors = np.zeros(len(added))
    factors[block_indices] = weights.of_blocks
    evidence = _left_out(documents, pool.some(block_indices), weights)
    return weights, np.split(factors, np.cumsum(sizes)[:-1]), evidence


def _left_out(documents: Counted, pool: Pool, weights: Weights) -> Float64:
    """The evidence of documents with their biases, (n, C), by weights without each of them."""
    evidence = np.zeros((len(documents.y), pool.classes))
    if not pool.blocks:
        return evidence
    (scores,) = pool.left_out(weights.ridge, weights)
    evidence[:, 1:] = scores.T
    evidence -= evidence.max(axis=1, keepdims=True)
    return np.maximum(evidence, -documents.farthest)


def never_below_0(
    documents: Counted, pool: Pool, some: Int64, ridge: float | None = None
) -> tuple[Weights, Int64]:
    """Estimate non-negative weights of blocks, dropping negative ones; return the blocks used.

    `ridge` is that of other blocks: those that are negative with it are dropped at once.
    """
    if ridge and len(some):
        some = some[pool.some(some).not_negative(ridge)]
    while True:
        if not len(some):
            return nothing(documents), some
        chosen = pool.some(some)
        weights = chosen.best(None, None)
        if (weights.of_blocks >= 0).all():
            return weights, some
        x = np.concatenate([weights.of_blocks, weights.bias])[: chosen.size]
        some = some[chosen.not_negative(weights.ridge, x)]


def nothing(documents: Counted) -> Weights:
    """No weights: the predictions are the prior."""
    prior = documents.class_weight / documents.class_weight.sum()
    weight = documents.weight.astype(np.float32)
    best = int(prior.argmax())
    loss = float(-(weight * np.log(prior[documents.y])).sum() / weight.sum())
    confidence = np.full(len(weight), prior[best], np.float32)
    losses = -np.log(prior[documents.y]).astype(np.float32)
    out_of_fold = OutOfFoldPredictions(loss, confidence, documents.y == best, weight, losses)
    return Weights(np.empty(0), np.zeros(len(prior)), 0.0, out_of_fold, out_of_fold)


def textbook(model: Counted, counts: bool) -> TermWeights:
    """The weights of naive Bayes, if none can be estimated (`counts`); or weights of 0."""
    alpha = ALPHAS[0] if model.alpha is None else None
    weights = np.zeros((ASPECTS, model.n_groups))
    weights[0] = counts
    most = np.full(weights.shape, UNBOUNDED)
    classes = model.counts.shape[1]
    return TermWeights(
        alpha, 0, weights, 0.0 * most, most, np.zeros(classes), NO_PREDICTIONS,
        Corrections.none(classes),
    )  # fmt: skip


def unit_of(total: Float64) -> float:
    """The mean rarity of an occurrence, which scales both kinds of weights alike.

    `total`, (V,), is the count of each term.
    """
    counts = total[total > 0]
    if not len(counts):
        return 1.0
    n_occurrences = counts.sum()
    rarity = np.log(n_occurrences) - np.log(counts)
    return max(float((counts / n_occurrences * rarity).sum()), 1e-3)
