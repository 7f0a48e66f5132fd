"""Fit `AutoBayes`: weighted evidence of columns, and interactions of two to four of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from typing import Any, Self, get_args

import numpy as np
import numpy.typing as npt

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.labels import Labels
from naively.core.workers import SERIAL, Workers, one_thread
from naively.families.auto_bayes.parameters import PlannedParameters, PooledParameters
from naively.families.base import Family
from naively.kernels import scores as kernel
from naively.pooling.bins import FINE, PAIRS, TRIPLES, Coded, Column, Lookup, columns_of
from naively.pooling.blocks.base import FoldedRows, OutOfFold, relative
from naively.pooling.blocks.cells import Cells
from naively.pooling.blocks.registry import kinds
from naively.pooling.blocks.trees import Trees
from naively.pooling.canonical import as_declared
from naively.pooling.entries import PARTS, Entries, OutOfFoldPredictions
from naively.pooling.fixed import FixedPlan, PlanCounts
from naively.pooling.screening import (
    ROWS,
    Candidate,
    Expected,
    Interactions,
    Screening,
    screened,
)
from naively.pooling.structure import (
    EDGES,
    FACTORS,
    MOST_TIMES,
    SIMULATED,
    Incomplete,
    Plan,
    familiar,
    places,
    plan_of,
    removed,
)
from naively.pooling.weights import RIDGES, Float32, Piece, Pool, Weights
from naively.statistics.base import Arrays, Summary
from naively.statistics.sample import Sample

ROUNDS = 6  # of interactions, at most
ONE_MORE = 0.002
"""Share of the log-loss that a round of interactions must gain for another round to follow."""
WEIGHED, LEAST_WEIGHED = 8_000_000, 5000
"""Entries × blocks × classes from which weights are estimated, at most; but at least this many
entries."""
NESTED = 1_000_000
"""Entries × classes up to which out-of-fold expectations are also computed without a second fold
(nested)."""
WEIGHED_ALONE, BESIDE = 1000, 300
"""Columns that get weights, at most; columns from which interactions are made, at most (44,850
pairs)."""
WORTH = 0.01
"""Share of the log-loss that an optional block must gain, because it has many parameters."""
MANY_PAIRS = 10
"""Pairs of columns per row beyond which half the rows choose the interactions and the other half
evaluate them."""
ALONE = 10
"""Rows per column below which a linear block may be the only evidence: so few rows cannot estimate
the weights of the columns well."""
GROWN_GAIN, GROWN_WORTH = 2.0, 0.005
"""The gain of decision trees, in nats, at least: two standard errors; and as a share of the
log-loss."""
AT_ONCE = 16_384  # entries × classes in one task of a worker
FEW = 64_000  # entries × columns × classes up to which one worker is faster than several


def fit(
    entries: Entries, interactions: Interactions, text: Collection[int | str],
    rising: Mapping[int, int], workers: Workers,
) -> Plan:  # fmt: skip
    """Fit a structure to training rows; the columns `text` are text even if their values are short.

    Columns and classes are in the order of the entries. `rising` has, for columns with a monotone
    constraint, the class whose probability must not fall. Such a column has evidence alone, with a
    positive weight, and is in no interaction: so the log-odds are monotone.

    1. Estimate the evidence of each column, log p(c | bin) - log π_c, and of all numeric columns
       together.
    2. Choose weights that minimise the out-of-fold log-loss.
    3. Add interactions of two to four columns: the evidence of a cell beyond what the model so far
       expects of its rows. Add those that gain most and estimate all weights again, as long as the
       out-of-fold log-loss falls.
    4. Add decision trees, whose leaves have such evidence, if the out-of-fold log-loss falls.
    """
    with one_thread():  # several threads of BLAS would add in another order, and round differently
        return _Fit(entries, interactions, text, rising, workers).structure()


def _gaining(blocks: list[OutOfFold], gains: Float64) -> tuple[list[OutOfFold], list[OutOfFold]]:
    """Blocks that gain in the other folds of some fold, at most `WEIGHED_ALONE` of each.

    A fold has the evidence of those that gain in the others. So weights and cross-validation do not
    take noise for information.

    `gains`: (K, repeats, folds) in nats; infinite for blocks that are always used. Return the
    blocks, and those of them that do not gain in all folds together.
    """
    always: npt.NDArray[np.bool_] = np.isinf(gains[:, 0, 0])
    gains = np.where(always[:, np.newaxis, np.newaxis], 0.0, gains)
    total = gains.sum(axis=(1, 2))
    of_others = gains.sum(axis=2, keepdims=True) - gains

    def selected(gain: Float64) -> npt.NDArray[np.bool_]:
        k = min(WEIGHED_ALONE, len(gain))
        least = np.partition(gain, -k, axis=0)[-k]
        is_selected: npt.NDArray[np.bool_] = (gain > 0) & (gain >= least)
        return is_selected

    in_fold, in_all = selected(of_others), selected(total)
    chosen, without_gain = list[OutOfFold](), list[OutOfFold]()
    for k, block in enumerate(blocks):
        if always[k]:
            chosen.append(block)
        elif in_fold[k].any() or in_all[k]:
            chosen.append(block.within(in_fold[k]))
            without_gain += [] if in_all[k] else chosen[-1:]
    return chosen, without_gain


class _Fit:
    def __init__(
        self, entries: Entries, interactions: Interactions, text: Collection[int | str],
        rising: Mapping[int, int], workers: Workers,
    ) -> None:  # fmt: skip
        self.interactions, self.rising = interactions, rising
        self.of_values = [
            block for kind in kinds().values() for block in kind.of_values(entries, text, workers)
        ]
        if not self.of_values:
            entries = entries.repeated()
        self.entries = entries
        work = len(entries) * len(entries.levels) * entries.n_classes
        self.workers = workers if work > FEW else SERIAL
        text_columns = {j for evidence in self.of_values for j in evidence.block.columns}
        levels, weight = entries.levels, entries.rows_met()
        self.columns = columns_of(entries.codes, levels, weight, text_columns, entries.categorical)
        by_fold = entries.class_weight()
        total = by_fold[:, 0].sum(axis=0)
        prior = total - by_fold + 0.5  # + 0.5: all rows of a class may be in one fold
        self.priors = prior / prior.sum(axis=-1, keepdims=True)
        self.prior = (total + 0.5) / (total + 0.5).sum()
        self.base = relative(np.log(self.priors))
        bins = [*map(Column.bins, self.columns, entries.levels)]
        cuts = [Lookup.of(self.columns, bins, way) for way in (FINE, *PAIRS, *TRIPLES)]
        self.bins_with_values = [cut.bins_with_values() for cut in cuts]

        def coded(cut: Lookup) -> Coded:
            row_bins = cut.coded(entries.codes)
            return Coded(row_bins.codes.take(entries.row, axis=1), row_bins.sizes)

        self.coded = self.workers.map(coded, cuts)
        fine = self.coded[FINE].codes
        self.varied = [j for j, codes in enumerate(fine) if (codes != codes[:1]).any()]
        self.rows = FoldedRows(
            entries, self.columns, self.coded, self.priors, self.prior, self.varied, rising,
            self.workers,
        )  # fmt: skip

    def _of_prior(self) -> Plan:
        """The structure without evidence: it predicts the class prior."""
        none = np.zeros(self.entries.n_classes)
        return Plan(self.columns, [], np.empty(0), none, self._prior_alone(self.entries.shift))

    def structure(self) -> Plan:
        if self.entries.n_classes < 2:
            return self._of_prior()
        candidates = self._first()
        chosen = [evidence for evidence in candidates if not evidence.block.optional]
        interacting = [j for j in self.varied if j not in self.rising]
        rows = self.entries.weight.sum()
        without_gain: list[OutOfFold] = []
        # with fewer rows than weights the weights would overfit; many columns would take long
        if rows < len(chosen) or len(interacting) > BESIDE:
            gains = self._gains_alone(chosen)
            best = np.argsort(-gains.sum(axis=(1, 2)), kind="stable")
            if len(interacting) > BESIDE:
                order = [chosen[k].block for k in best if chosen[k].block.way is not None]
                order = [block for block in order if block.columns[0] not in self.rising]
                interacting = sorted(block.columns[0] for block in order[:BESIDE])
            chosen, without_gain = _gaining(chosen, gains)
        single_blocks = [evidence for evidence in chosen if evidence not in without_gain]
        chosen, estimate = self._helpful(chosen)
        for optional in (evidence for evidence in candidates if evidence.block.optional):
            few_rows = rows < ALONE * len(self.varied)
            for base in (chosen, [])[: 1 + few_rows]:
                # beside other blocks with their ridge: enough to see whether it helps
                ridges = (estimate.ridge,) if base else None
                helpful, trial = self._helpful([*base, optional], ridges)
                if optional in helpful and trial.log_loss < estimate.log_loss * (1 - WORTH):
                    chosen, estimate = helpful, trial
            single_blocks = [*single_blocks, optional] if optional in chosen else single_blocks
        if all(evidence in without_gain for evidence in chosen):
            return self._of_prior()
        added = np.zeros(len(chosen), bool)
        ridge, tried = estimate.ridge, set[Candidate]()
        # with far more pairs than rows, the best pair gains by chance on the rows that chose it
        half_folds = math.comb(len(interacting), 2) > MANY_PAIRS * len(self.entries.once)
        screening = Screening(
            self.entries, self.coded, self.bins_with_values, interacting, self.prior,
            self.interactions, self.workers, half_folds,
        )  # fmt: skip
        round_number = 0 if self.interactions != 0 and len(interacting) > 1 else ROUNDS
        current: Expected | None = None  # of the blocks so far
        while round_number < ROUNDS:
            current = expected = self._expected(chosen, estimate)
            chosen_columns = [
                evidence.block.columns for evidence in chosen if evidence.block.way is not None
            ]
            min_gain = ONE_MORE * estimate.log_loss
            round_number, interactions = screening.best(
                round_number, expected, chosen_columns, tried, min_gain
            )
            if not interactions:
                break
            means, variances = expected.weighed(self.entries.full_weight)
            extended = chosen + self.workers.map(
                lambda pair: Cells.beyond(self.rows, *pair, means, variances, expected.others),  # noqa: B023
                interactions,
            )
            flags = np.append(added, np.ones(len(interactions), bool))
            halves = np.full(len(interactions), 0.5)
            start = np.concatenate([estimate.of_blocks, halves, estimate.bias])
            extended, flags, trial = self._weighed_signed(extended, flags, ridge, start)
            old_loss, new_loss = estimate.log_loss, trial.log_loss
            if half_folds:
                old_loss = self._validation_loss(chosen, estimate)
                new_loss = self._validation_loss(extended, trial)
            if new_loss > old_loss * (1 - ONE_MORE):
                break
            chosen, added, estimate, current = extended, flags, trial, None
            tried |= {candidate for candidate, _ in interactions}
            round_number += 1
        of_chance = rows < len(self.varied)  # columns that were selected on all rows
        if self.interactions == "auto" and len(interacting) > 1 and not of_chance:
            chosen, estimate = self._with_trees(
                chosen, added, estimate, ridge, interacting, current
            )
        used = np.array([evidence not in without_gain for evidence in chosen])
        of_chosen = estimate.of_blocks[used]
        chosen = [*compress(chosen, used)]
        chosen += [evidence for evidence in single_blocks if evidence not in chosen]
        weights = np.zeros(len(chosen))
        weights[: len(of_chosen)] = of_chosen
        blocks = [evidence.block for evidence in chosen]
        single = [chosen.index(evidence) for evidence in single_blocks]
        incomplete = self._incomplete(chosen, single)
        return Plan(self.columns, blocks, weights, estimate.bias, estimate.shifted, incomplete)

    def _with_trees(
        self, chosen: list[OutOfFold], added: npt.NDArray[np.bool_], estimate: Weights,
        ridge: float, columns: Sequence[int], expected: Expected | None,
    ) -> tuple[list[OutOfFold], Weights]:  # fmt: skip
        """Add decision trees of these columns if they lower the out-of-fold log-loss."""
        expected = expected or self._expected(chosen, estimate)
        rows = float(self.entries.weight.sum())
        min_gain = max(GROWN_GAIN, GROWN_WORTH * estimate.log_loss * rows)
        trees = Trees.beyond(self.rows, columns, expected, min_gain, self.workers)
        if trees is None:
            return chosen, estimate
        start = np.concatenate([estimate.of_blocks, [0.5], estimate.bias])
        flags = np.append(added, True)
        extended, _, trial = self._weighed_signed([*chosen, trees], flags, ridge, start)
        is_better = trial.log_loss <= estimate.log_loss * (1 - ONE_MORE)
        return (extended, trial) if is_better else (chosen, estimate)

    def _incomplete(self, blocks: list[OutOfFold], single: list[int]) -> Incomplete:
        """How rows with missing cells are scored, by the blocks with the indices `single`."""
        entries = self.entries.once
        columns = np.unique([j for k in single for j in blocks[k].block.columns])
        n_levels = np.array([len(levels) for levels in entries.levels])
        missing = entries.codes == n_levels
        familiar_ones, max_missing, together = familiar(missing, entries.rows_met(), columns)
        usual = np.ones(len(n_levels), bool)
        usual[columns] = familiar_ones

        def estimate() -> tuple[Float64, Float64]:
            with one_thread():
                return self._of_incomplete(blocks, single, missing, columns)

        return Incomplete(estimate, usual, max_missing, together, columns)

    def _of_incomplete(
        self, blocks: list[OutOfFold], single: list[int], missing: npt.NDArray[np.bool_],
        columns: Int64,
    ) -> tuple[Float64, Float64]:  # fmt: skip
        """The weights of the blocks, and the factors, for rows with missing cells."""
        entries = self.entries.once
        sample, sample_weights = entries.first(LEAST_WEIGHED)
        repeats = max(1, min(MOST_TIMES, SIMULATED // len(sample)))
        sample, weights = sample.repeat(repeats), (sample_weights / repeats).repeat(repeats)
        simulated = missing[entries.row[sample]]
        row_numbers = entries.row[sample] * repeats + np.arange(len(sample)) % repeats
        simulated[:, columns] |= removed(row_numbers, len(columns))

        def piece(positions: npt.NDArray[np.intp]) -> Piece:
            rows = sample[positions]
            evidence = np.zeros((len(single), entries.n_classes - 1, len(rows)), np.float32)
            for k, out in zip(single, evidence, strict=True):
                blocks[k].add_present(rows, simulated[positions], out)
            base = self.base[entries.part[rows], 0].T.copy()
            return Piece(evidence, base, entries.y[rows], weights[positions].astype(np.float32))

        pieces = self.workers.map(piece, self._pieces(np.arange(len(sample))))
        keep = np.ones(len(single), bool)
        # first with one ridge: to choose among all of them takes long if blocks are hundreds
        for ridges in (RIDGES[1:2], RIDGES):
            while True:
                kept = [replace(piece, evidence=piece.evidence[keep]) for piece in pieces]
                pool = Pool(kept, np.zeros(int(keep.sum()), bool), self.workers, biased=False)
                estimate = pool.best(None, None, ridges)
                positive = estimate.of_blocks > 0
                if positive.all() or not positive.any():
                    break
                keep[keep] = positive
        block_weights = np.zeros(len(blocks))
        block_weights[np.array(single)[keep]] = np.maximum(estimate.of_blocks, 0.0)
        losses = pool.losses(estimate.ridge, estimate, FACTORS) * weights
        level = places(1 - simulated[:, columns].sum(axis=1) / len(columns))
        factors = np.ones(len(EDGES) + 1)
        for k in range(len(factors)):
            if (level == k).any():
                factors[k] = FACTORS[int(losses[:, level == k].sum(axis=1).argmin())]
        return block_weights, factors

    def _gains_alone(self, blocks: list[OutOfFold]) -> Float64:
        """The gain of each block of a single column in out-of-fold log-likelihood, in nats.

        In each fold of each repeat, (K, repeats, folds); infinite for other blocks, which are not
        filtered by it.
        """
        entries = self.entries
        rows, weight = entries.first(LEAST_WEIGHED)
        y, part, repeat = entries.y[rows], entries.part[rows], entries.repeat[rows]
        base = self.base[part, repeat].T.astype(np.float32)
        shape = entries.n_repeats, PARTS

        def likelihood(scores: Float32) -> Float64:
            scores = np.vstack([np.zeros_like(scores[:1]), scores])
            true_scores, max_scores = scores[y, np.arange(len(y))], scores.max(axis=0)
            losses = true_scores - max_scores - np.log(np.exp(scores - max_scores).sum(axis=0))
            by_fold = np.zeros(shape)
            np.add.at(by_fold, (repeat, part), weight * losses)
            return by_fold

        def gain(evidence: OutOfFold) -> Float64:
            if not evidence.block.weeded:
                return np.full(shape, np.inf)
            scores = base.copy()
            evidence.add(1.0, rows, scores)
            return likelihood(scores) - of_prior

        of_prior = likelihood(base)
        return np.array(self.workers.map(gain, blocks))

    def _prior_alone(self, shift: Float64) -> OutOfFoldPredictions:
        """Out-of-fold predictions of the class prior alone, with log π higher by `shift`, (C,)."""
        entries = self.entries.once
        log_proba = np.log(self.priors)[entries.part, 0] + shift
        log_proba -= np.logaddexp.reduce(log_proba, axis=1, keepdims=True)
        true_log_proba = log_proba[np.arange(len(entries)), entries.y]
        max_log_proba = log_proba.max(axis=1)
        weight = entries.weight * np.exp(shift)[entries.y]
        loss = float(-(weight * true_log_proba).sum() / max(weight.sum(), 1e-300))
        is_right = true_log_proba == max_log_proba
        return OutOfFoldPredictions(loss, np.exp(max_log_proba), is_right, weight)

    # ---- evidence ----------------------------------------------------------------------------

    def _first(self) -> list[OutOfFold]:
        """The evidence of single columns, of all numeric columns together, and of texts."""
        every_kind = kinds().values()

        def of_column(j: int) -> list[OutOfFold]:
            return [evidence for kind in every_kind for evidence in kind.of_column(self.rows, j)]

        of_columns = self.workers.map(of_column, self.varied)
        joint = (kind.of_columns(self.rows) for kind in every_kind)
        return [*chain.from_iterable(of_columns), *chain.from_iterable(joint), *self.of_values]

    def _pieces(self, rows: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
        """Split row numbers into the tasks of workers."""
        size = max(256, AT_ONCE // self.entries.n_classes)
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    # ---- weights -----------------------------------------------------------------------------

    def _helpful(
        self, blocks: list[OutOfFold], ridges: Sequence[float] | None = None
    ) -> tuple[list[OutOfFold], Weights]:
        """Estimate weights; drop text blocks (if rows are few: any blocks) without a positive one.

        Return the remaining blocks and their weights.
        """
        # with few rows the sign of a weight may be chance
        few_rows = bool(self.entries.weight.sum() < ROWS * len(blocks))
        added = np.zeros(len(blocks), bool)
        blocks, _, weights = self._weighed_signed(blocks, added, None, None, few_rows, ridges)
        return blocks, weights

    def _weighed_signed(
        self, blocks: list[OutOfFold], added: npt.NDArray[np.bool_], ridge: float | None,
        start: Float64 | None, all_positive: bool = False, ridges: Sequence[float] | None = None,
    ) -> tuple[list[OutOfFold], npt.NDArray[np.bool_], Weights]:  # fmt: skip
        """Estimate weights; drop blocks whose weight must be positive and is not.

        Return the remaining blocks, whether each was added, and their weights.
        """
        while blocks:
            weights = self._weighed(blocks, added, ridge, start, ridges)
            must_be_positive = [all_positive or evidence.block.positive for evidence in blocks]
            keep = (weights.of_blocks > 0) | ~np.array(must_be_positive)
            if keep.all():
                return blocks, added, weights
            blocks, added = [*compress(blocks, keep)], added[keep]
            if start is not None:
                start = np.append(start[: len(keep)][keep], start[len(keep) :])
        return [], added, self._none()

    def _none(self) -> Weights:
        """The weights of no blocks: predictions are the class prior."""
        none = np.zeros(self.entries.n_classes)
        predictions = map(self._prior_alone, (none, self.entries.shift))
        return Weights(np.empty(0), none, 0.0, *predictions)

    def _weighed(
        self, blocks: list[OutOfFold], added: npt.NDArray[np.bool_], ridge: float | None,
        start: Float64 | None, ridges: Sequence[float] | None,
    ) -> Weights:  # fmt: skip
        """Estimate the weights of blocks from a sample of the entries."""
        entries = self.entries
        sample, weights = self._some(len(blocks))

        def piece(positions: npt.NDArray[np.intp]) -> Piece:
            rows = sample[positions]
            evidence = np.zeros((len(blocks), entries.n_classes - 1, len(rows)), np.float32)
            for block, out in zip(blocks, evidence, strict=True):
                block.add(1.0, rows, out)
            base = self.base[entries.part[rows], entries.repeat[rows]].T.copy()
            return Piece(evidence, base, entries.y[rows], weights[positions])

        pieces = self.workers.map(piece, self._pieces(np.arange(len(sample))))
        free = np.array([block.block.optional for block in blocks])
        shift, copies = entries.shift, entries.n_repeats
        pool = Pool(pieces, added, self.workers, shift=shift, free=free, copies=copies)
        # evidence from all rows is a little smaller for the class of a held-out row, and with more
        # columns than rows the weights would learn that
        shared = entries.weight.sum() < len(self.varied)
        return pool.best(ridge, start, ridges or (RIDGES[-1:] if shared else RIDGES))

    def _some(self, blocks: int) -> tuple[npt.NDArray[np.intp], Float32]:
        """The sample of entries that estimates the weights of `blocks` blocks, and its weights."""
        entries = self.entries
        max_entries = WEIGHED // (max(1, blocks) * entries.n_classes)
        sample, weights = entries.first(max(LEAST_WEIGHED, max_entries))
        return sample, weights.astype(np.float32)

    def _validation_loss(self, blocks: list[OutOfFold], weights: Weights) -> float:
        """Log-loss of the half of the folds that did not choose interactions."""
        sample, _ = self._some(len(blocks))
        is_validation = ~screened(self.entries.home[sample])
        assert weights.out_of_fold.losses is not None
        weight = weights.out_of_fold.weight[is_validation]
        losses = weights.out_of_fold.losses[is_validation]
        return float((weight * losses).sum() / max(weight.sum(), 1e-300))

    def _expected(self, blocks: list[OutOfFold], weights: Weights) -> Expected:
        """Out-of-fold class probabilities of the model for each entry.

        The evidence of a cell without fold p must not depend on fold p, not even through what the
        model expects of entries in other folds. So `others` holds expectations without the entry's
        fold and p: the evidence without the fold, less what p contributes to the whole.
        """
        entries, bias = self.entries, relative(weights.bias)
        n, classes = len(entries), entries.n_classes
        proba = np.empty((n, classes))
        nested = n * classes <= NESTED
        others = np.empty((n if nested else 0, PARTS, classes), np.float32)

        def expect(rows: npt.NDArray[np.intp]) -> None:
            part = entries.part[rows]
            scores = (self.base[part, entries.repeat[rows]] + bias).T.astype(np.float32)
            fold_scores = np.zeros((len(rows) if nested else 0, PARTS + 1, classes - 1), np.float32)
            for block, weight in zip(blocks, weights.of_blocks, strict=True):
                block.add(weight, rows, scores)
                if nested:
                    block.add_all(weight, rows, fold_scores)
            row_proba = np.empty((len(rows), classes))
            row_others = np.empty((len(rows), PARTS if nested else 0, classes), np.float32)
            weight = entries.full_weight[rows]
            kernel.expected_of(scores, fold_scores, part, weight, row_proba, row_others)
            proba[rows] = row_proba
            if nested:
                others[rows] = row_others

        self.workers.map(expect, self._pieces(np.arange(n)))
        return Expected(proba, others)


# ---- pooled --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pooled(Family[Any, PooledParameters]):
    """A logarithmic opinion pool of all columns: the family behind `AutoBayes`.

    The score of class c is::

        log π_c + b_c + Σ_k w_k e_kc(x)

    where e_kc(x) = log p(c | x_k) - log π_c is the evidence of a block: a column, two to four
    columns, or all numeric columns together. Naive Bayes has w = 1 and b = 0; here both maximise
    the out-of-fold likelihood. See docs/evidence.md for the method.

    The rows are stored and everything is estimated from them, so that the result depends only on
    which rows were learned: not on their order, on batches, or on rows that were forgotten.

    Parameters
    ----------
    interactions : "auto" for pairs, triples and fours of columns and decision trees, 3 for pairs
        and triples, 2 for pairs, 0 for none.
    limit : distinct rows that are stored, at most; see `naively.statistics.sample.Sample`.
    text : columns whose words are counted even if their values are short: names, or numbers once
        the columns are known (`within`).
    plan : a fixed structure (`like=`): all rows are counted for it, and none is stored.
    types : (column number, "categorical" or "numeric") of columns with a declared type; see
        `within`.
    monotone : (column, 1 or -1) of columns with a monotone constraint: names, or numbers once the
        columns are known. With 1 the log-odds of the second class never fall with the column.
    """

    interactions: Interactions = "auto"
    limit: int = 1_000_000
    text: tuple[str | int, ...] = ()
    plan: FixedPlan | None = None
    types: tuple[tuple[int, str], ...] = ()
    monotone: tuple[tuple[str | int, int], ...] = ()

    name = "pooled"
    independent = False
    is_density = is_story = False

    def __post_init__(self) -> None:
        if self.interactions not in get_args(Interactions) or isinstance(self.interactions, bool):
            raise ValueError(f'interactions must be "auto", 0, 2 or 3, not {self.interactions!r}')
        if isinstance(self.limit, bool) or not isinstance(self.limit, int) or self.limit < 1:
            raise ValueError(f"limit must be a number of rows, not {self.limit!r}")
        if not isinstance(self.text, tuple) or not all(isinstance(n, str | int) for n in self.text):
            raise ValueError(f"text must be names of columns, not {self.text!r}")
        object.__setattr__(self, "text", tuple(sorted({*self.text}, key=str)))
        for name, sign in self.monotone:
            if sign not in (1, -1) or not isinstance(name, str | int):
                raise ValueError(f"monotone is 1 or -1 for a column, not {sign!r} for {name!r}")
        if not isinstance(self.plan, FixedPlan | None):
            raise ValueError("a structure is taken from a fitted model: use `like`")

    @property
    def summary(self) -> Summary[Any]:  # type: ignore[override]
        """A sample of rows; counts, if the structure is fixed."""
        return Sample(self.limit) if self.plan is None else PlanCounts(self.plan)

    @property
    def keeps(self) -> bool:  # type: ignore[override]
        """Whether the structure is estimated from stored rows."""
        return self.plan is None

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """Whether a fixed structure determines the columns."""
        return self.plan is not None

    def check_room(self, classes: Labels) -> None:
        """Raise ValueError for a class that the fixed structure does not have.

        Raise it, too, for more than two classes with monotone constraints.
        """
        if self.plan is not None:
            self.plan.codes(classes)
        elif self.monotone and len(classes) > 2:
            raise ValueError(
                f"monotone: constraints need a target with two classes, and it has {len(classes)}"
            )

    def within(
        self, classes: Labels, names: Sequence[str], types: Mapping[str, str] | None = None
    ) -> Self:
        """The family for these classes and columns; named columns become numbers."""
        text = tuple(k for k, name in enumerate(names) if name in self.text)
        types, signs = types or {}, dict(self.monotone)
        declared = tuple((k, types[name]) for k, name in enumerate(names) if name in types)
        monotone = tuple((k, signs[name]) for k, name in enumerate(names) if name in signs)
        plan = self.plan and self.plan.among(classes)
        return replace(self, text=text, plan=plan, types=declared, monotone=monotone)

    def estimate(
        self, statistics: Any, class_weight: ExactArray, workers: Workers = SERIAL
    ) -> PooledParameters:
        """Fit the structure to the stored rows, or estimate the evidence of a fixed structure."""
        if self.plan is not None:
            return PlannedParameters(self.plan, statistics, class_weight)
        statistics = as_declared(statistics.canonical(), dict(self.types))
        entries, text_columns = self._entries(statistics, class_weight), frozenset(self.text)
        positions = entries.columns.tolist()
        text = {k for k, column in enumerate(positions) if column in text_columns}
        plan = fit(entries, self.interactions, text, self._rising(entries), workers)
        fitted_columns = dict(zip(positions, plan.columns, strict=True))
        columns = [
            fitted_columns[j] if j in fitted_columns else Column.of(levels, np.ones(len(levels)))
            for j, levels in enumerate(statistics.levels)
        ]
        return PooledParameters(plan.among(columns, positions, entries.classes), statistics)

    estimate_on = estimate

    def _entries(self, statistics: Any, class_weight: ExactArray) -> Entries:
        """The training rows with folds, read by their declared types."""
        text = frozenset(map(int, self.text))
        categorical = frozenset(j for j, kind in self.types if kind == "categorical")
        return Entries.of(statistics, class_weight.rounded(), text, categorical)

    def _rising(self, entries: Entries) -> dict[int, int]:
        """Of monotone columns of the entries, the class whose probability must not fall."""
        if entries.n_classes != 2:
            return {}
        signs, places = dict(self.monotone), entries.classes.tolist()
        return {
            k: places.index(1 if signs[j] > 0 else 0)
            for k, j in enumerate(entries.columns.tolist()) if j in signs
        }  # fmt: skip

    def counted_for(
        self, structure: Any, statistics: Any, class_weight: ExactArray
    ) -> PooledParameters:
        """The structure with the evidence of single columns estimated again.

        Interactions, normal densities and words stay as they were estimated with the structure,
        because they depend on out-of-fold expectations.
        """
        statistics = as_declared(statistics.canonical(), dict(self.types))
        entries = self._entries(statistics, class_weight)
        return PooledParameters(structure.recounted(entries), statistics)

    def restored(self, statistics: Any, class_weight: ExactArray, kept: Arrays) -> PooledParameters:
        """Restore the structure from the arrays of a model file."""
        if self.plan is not None:
            raise ValueError("a model of a fixed structure stores no estimate")
        classes, columns = statistics.tables["missing"].shape
        plan = plan_of(kept, columns, classes)
        return PooledParameters(plan, as_declared(statistics, dict(self.types)))
