"""Estimate the weights of terms of multi-label documents.

The log-odds of a label are those of `naively.pooling.texts.term_weights` with two classes,
documents with the label and the others. But γ, α and the weights of terms are shared by all labels,
and only the bias b_l differs::

    log π_l / (1 - π_l) + b_l + L^-γ Σ_t x_t W_tl log θ_tl / θ'_tl
    W_tl = w_g + v_g log (n / n_t) + Σ_s u_gs D_tls

Most labels are rare: ten documents cannot estimate weights, but all labels together can. Weights
and biases maximise the likelihood of all labels, each document by counts without it, minus a
ridge. W is never negative, nor extrapolated, as there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from naively.core.exact import Float64, Int64
from naively.core.workers import Workers, one_thread
from naively.kernels import text as kernel
from naively.pooling.canonical import HEAVIEST
from naively.pooling.entries import GROUPS, NO_PREDICTIONS, OutOfFoldPredictions
from naively.pooling.texts.corrections import Corrections
from naively.pooling.texts.term_weights import (
    ALPHAS,
    ASPECTS,
    DOUBTS,
    LIKELY,
    QUARTERS,
    SMALL,
    TRIED,
    Counted,
    Ends,
    LabelPriorMixing,
    TermWeights,
    by_length,
    textbook,
)
from naively.pooling.weights import Float32, kept_of

PAIRS, TRIED_PAIRS = 1 << 20, 1 << 17
"""Pairs of a document and a label from which weights are estimated, and α and γ are chosen, at
most;"""
LEAST = 2048  # but at least this many documents
TOGETHER = 64  # labels in one task of a worker
WEIGHT_RIDGE, BIAS_RIDGE = 0.1, 0.1  # ridges of the weights and the biases
HEAVY = 100.0
"""Weight of the lightest document, at most: with few, very heavy documents the ridge would be
negligible, and rounding would decide the weights of nearly equal evidence."""
DAMPING = 1e-12
"""Damping relative to the trace of the curvature, if heavy documents make the ridge negligible."""
STEPS, AGAIN = 30, 4  # steps of Newton's method, and steps without a group of documents


@dataclass(frozen=True)
class Evidence:
    """The evidence of documents for labels."""

    # (K, L, n) float32, log-odds in nats, of each document by counts without it
    block_log_odds: Float32
    base: Float64  # (L,) log π_l / (1 - π_l)
    # having, whole: (L, n), (n,) the weight of documents equal to each with the label, and of all
    having: Float32
    whole: Float32

    def of(self, some: Int64) -> Evidence:
        """The evidence of some blocks."""
        return replace(self, block_log_odds=np.ascontiguousarray(self.block_log_odds[some]))

    def weights(
        self, start: tuple[Float64, Float64] | None = None, without: int | None = None,
        steps: int = STEPS,
    ) -> tuple[float, Float64, Float64]:  # fmt: skip
        """The loss, the weights (K,) and the biases (L,), by Newton's method.

        `start`: weights and biases to start from. `without`: a group of documents to leave out.
        `steps`: at most.
        """
        blocks, labels, n = self.block_log_odds.shape
        keep = np.ones(n, np.float32)
        if without is not None:
            keep[without::GROUPS] = 0.0
        having, text_weights = self.having * keep, self.whole * keep
        w, b = (np.zeros(blocks), np.zeros(labels)) if start is None else start
        loss, odds = self._loss(w, b, having, text_weights)
        for _ in range(steps):
            p = scipy.special.expit(odds)
            residuals = text_weights * p - having
            curve = text_weights * p * (1 - p)
            slope_w = np.einsum("kln,ln->k", self.block_log_odds, residuals, dtype=np.float64)
            slope_w += WEIGHT_RIDGE * w
            slope_b = residuals.sum(axis=1, dtype=np.float64) + BIAS_RIDGE * b
            hessian_b = curve.sum(axis=1, dtype=np.float64) + BIAS_RIDGE
            weighted = self.block_log_odds * curve
            hessian_wb = weighted.sum(axis=2, dtype=np.float64)
            hessian_w = np.einsum("kln,jln->kj", weighted, self.block_log_odds, dtype=np.float64)
            damping = max(WEIGHT_RIDGE, DAMPING * float(np.trace(hessian_w)))
            hessian_w += damping * np.eye(blocks) - (hessian_wb / hessian_b) @ hessian_wb.T
            step_w = -np.linalg.solve(hessian_w, slope_w - (hessian_wb / hessian_b) @ slope_b)
            step_b = -(slope_b + step_w @ hessian_wb) / hessian_b
            descent, length = -float(slope_w @ step_w + slope_b @ step_b), 1.0
            if descent < 1e-5 * max(1.0, abs(loss)):
                break
            while length > 1e-6:
                candidate = w + length * step_w, b + length * step_b
                new_loss, new_odds = self._loss(*candidate, having, text_weights)
                # Armijo's condition
                if new_loss <= loss - 1e-4 * length * descent:
                    break
                length /= 4
            else:
                break
            (w, b), loss, odds = candidate, new_loss, new_odds
        return loss, w, b

    def log_odds(self, w: Float64, b: Float64) -> Float32:
        """The log-odds of each label and document, (L, n)."""
        evidence = np.einsum("kln,k->ln", self.block_log_odds, w.astype(np.float32))
        return evidence + (self.base + b).astype(np.float32)[:, np.newaxis]

    def _loss(
        self, w: Float64, b: Float64, having: Float32, whole: Float32
    ) -> tuple[float, Float32]:
        """The loss in nats with the ridges, and the log-odds."""
        odds = self.log_odds(w, b)
        loss = float(lost(odds, having, whole).sum(dtype=np.float64))
        return loss + 0.5 * (WEIGHT_RIDGE * float(w @ w) + BIAS_RIDGE * float(b @ b)), odds


def lost(odds: Float32, having: Float32, whole: Float32) -> Float32:
    """The log-loss of each label and document, in nats, (L, n)."""
    return np.logaddexp(0, odds) * whole - having * odds


@dataclass(frozen=True)
class RecurringLabels:
    """Documents that recur, which are not predicted by their terms."""

    # loss, weight: their log-loss over all labels, in nats, and their weight
    loss: float
    weight: float
    rows: Int64  # their indices
    often: float  # mean frequency of the other documents


@dataclass(frozen=True)
class LabelsCounted:
    """Documents with their labels, and the counts of their terms."""

    # class 0 is all documents, the others are the labels: `equal` (n, 1 + L), `counts` (V,
    # 1 + L), `of_class` and `class_weight` (1 + L,)
    documents: Counted
    recurring: RecurringLabels | None = None

    @property
    def open(self) -> Int64:
        """The labels of some documents, but not of all."""
        weight = self.documents.class_weight
        return np.flatnonzero((weight[1:] > 0) & (weight[1:] < weight[0]))

    def out_of_fold_log_odds(
        self, alpha: Any, most: int, workers: Workers
    ) -> tuple[Float32, Float64, Ends]:
        """The evidence of the first documents for the open labels, by counts without each.

        Return log-odds (4 G, L, n), lengths (n,), and the range of the aspects of terms. Rarity
        is in units.
        """
        documents, label_columns = self.documents.first(most), 1 + self.open
        has_alpha = documents.alpha is not None
        alpha_whole = documents.alpha_whole if has_alpha else alpha * documents.n_terms
        smoothing = np.asarray(alpha, np.float64)
        logs = np.log(np.arange(SMALL) + smoothing) if smoothing.ndim == 0 else np.empty(0)
        alphas = np.ascontiguousarray(np.broadcast_to(smoothing, len(documents.counts)))
        text_weights, term_totals = documents.equal[:, 0].copy(), documents.counts[:, 0].copy()
        shape = ASPECTS * documents.n_groups, len(label_columns), len(text_weights)
        log_odds = np.empty(shape, np.float32)

        def some(start: int) -> tuple[Float64, Float64]:
            labels = label_columns[start : start + TOGETHER]
            counts = np.ascontiguousarray(documents.counts[:, labels])
            odds, divergences = np.empty_like(counts), np.empty((*counts.shape, len(DOUBTS)))
            share = documents.of_class[labels] / max(float(documents.of_class[0]), 1e-300)
            kernel.first_odds(counts, term_totals, alphas, logs, share, DOUBTS, odds, divergences)
            evidence = np.zeros((len(text_weights), ASPECTS * documents.n_groups, len(labels)))
            lengths, ends = np.zeros(len(text_weights)), np.full((2, evidence.shape[1]), np.inf)
            ends[1] *= -1
            kernel.label_odds(
                documents.rows.indptr, documents.rows.indices, documents.rows.data, text_weights,
                np.ascontiguousarray(documents.equal[:, labels]), counts,
                term_totals, odds, divergences, logs, alphas, float(documents.of_class[0]),
                documents.of_class[labels], DOUBTS, documents.group, alpha_whole, evidence,
                lengths, *ends,
            )  # fmt: skip
            rarity = slice(documents.n_groups, 2 * documents.n_groups)
            evidence[:, rarity] /= documents.unit
            ends[:, rarity] /= documents.unit
            log_odds[:, start : start + TOGETHER] = evidence.transpose(1, 2, 0)
            return lengths, ends

        lengths, ends = zip(*workers.map(some, range(0, len(label_columns), TOGETHER)), strict=True)
        least, largest = (np.array(bounds) for bounds in zip(*ends, strict=True))
        return log_odds, lengths[0], Ends.of(np.array([least.min(axis=0), largest.max(axis=0)]))

    def evidence(self, log_odds: Float32, lengths: Float64, quarters: int) -> Evidence:
        """The evidence for log-odds `log_odds`, times L^-γ."""
        documents, label_columns = self.documents, 1 + self.open
        weights, equal = documents.weight[: len(lengths)], documents.equal[: len(lengths), 0]
        min_weight = weights[weights > 0].min(initial=np.inf)
        share = min(1.0, HEAVIEST / weights.max(initial=1.0), HEAVY / min_weight)
        weight = documents.class_weight
        base = np.log(weight[label_columns]) - np.log(weight[0] - weight[label_columns])
        length_factors = by_length(lengths, quarters).astype(np.float32)
        having = np.ascontiguousarray(documents.equal[: len(lengths), label_columns].T)
        having = having * (weights / equal)
        return Evidence(
            np.clip(log_odds * length_factors, -documents.farthest, documents.farthest), base,
            (having * share).astype(np.float32), (weights * share).astype(np.float32),
        )  # fmt: skip


def label_scale(labels: LabelsCounted, workers: Workers) -> TermWeights:
    """Estimate the weights for all labels, predicting each document by counts without it.

    Return a `TermWeights` with a bias for each label, 0 if all documents have it, or none.
    """
    documents, open_labels = labels.documents, labels.open
    n_labels = documents.equal.shape[1] - 1
    n, chooses = documents.equal.shape[0], documents.alpha is None
    if not len(open_labels) or not documents.rows.nnz:
        none = Corrections.none(n_labels)
        return replace(textbook(documents, True), bias=np.zeros(n_labels), corrections=none)
    n_scored = min(n, max(LEAST, PAIRS // len(open_labels)))
    n_tried = min(n_scored, TRIED, max(LEAST // 8, TRIED_PAIRS // len(open_labels)))
    with one_thread():  # several threads of BLAS would add in another order, and round differently

        def loss(log_odds: Float32, lengths: Float64, _: Ends, quarters: int) -> float:
            return labels.evidence(log_odds, lengths, quarters).weights()[0]

        alphas: Sequence[Any] = ALPHAS if chooses else [documents.alpha]
        trials = [labels.out_of_fold_log_odds(alpha, n_tried, workers) for alpha in alphas]
        best = int(np.argmin([loss(*trial, LIKELY) for trial in trials])) if len(alphas) > 1 else 0
        alpha = alphas[best]
        quarters = min(QUARTERS, key=lambda candidate: loss(*trials[best], candidate))
        scored_log_odds, lengths, ends = labels.out_of_fold_log_odds(alpha, n_scored, workers)
        evidence = labels.evidence(ends.blocks(scored_log_odds, 0), lengths, quarters)
        used = np.flatnonzero(evidence.block_log_odds.any(axis=(1, 2)))
        _, w, b = evidence.of(used).weights()
        while (w < 0).any():
            used = used[kept_of(w)]
            _, w, b = evidence.of(used).weights()
        evidence = evidence.of(used)
        weight = documents.class_weight
        mixing = LabelPriorMixing(weight[1 + open_labels], float(weight[0]), documents.documents)
        out_of_fold = _out_of_fold(evidence, w, b, mixing, labels.recurring)
    bias = np.zeros(n_labels)
    bias[open_labels] = b
    factors = np.zeros(len(ends.added))
    factors[used] = w
    smoothing = float(alpha) if chooses else None
    return ends.scale(smoothing, quarters, factors, documents.unit, bias, out_of_fold)


def _out_of_fold(
    evidence: Evidence, w: Float64, b: Float64, mixing: LabelPriorMixing,
    recurring: RecurringLabels | None,
) -> OutOfFoldPredictions:  # fmt: skip
    """Out-of-fold log-loss by weights of other groups: nats per document, all labels together."""
    total, text_weights = 0.0, evidence.whole.copy()
    having = evidence.having
    if recurring is not None:
        recurring_rows = recurring.rows[recurring.rows < len(text_weights)]
        text_weights[recurring_rows], having = 0.0, having.copy()
        having[:, recurring_rows] = 0.0
    for group in range(GROUPS):
        _, *group_weights = evidence.weights((w, b), group, AGAIN)
        held_out = slice(group, None, GROUPS)
        base = evidence.base[:, np.newaxis]
        odds = evidence.log_odds(*group_weights)[:, held_out] - base
        mixing.odds(odds)
        odds += base
        losses = lost(odds.astype(np.float32), having[:, held_out], text_weights[held_out])
        total += float(losses.sum(dtype=np.float64))
    weight = float(text_weights.sum(dtype=np.float64))
    if recurring is not None:
        total = total * recurring.often + recurring.loss
        weight = weight * recurring.often + recurring.weight
    return replace(NO_PREDICTIONS, log_loss=total / max(weight, 1e-300))
