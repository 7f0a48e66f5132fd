"""Find the interactions of two to four columns that would improve the model most."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Index, Int64
from naively.core.workers import Workers
from naively.kernels import scores as kernel
from naively.pooling.bins import FINE, FOURS, PAIRS, TRIPLES, Coded
from naively.pooling.entries import PARTS, Entries

Interactions = Literal["auto", 0, 2, 3]
Candidate = tuple[int, tuple[int, ...]]  # (way to cut the columns, the columns)

STRENGTHS = np.array([1.0, 4.0, 16.0])
"""Strengths of the smoothing, in expected rows that each cell has in addition; the best is used."""
LEAST_GAIN = 5.0
"""Gain of a block, in nats, at least, beyond the log of the number of blocks that are tried."""
ROWS = 50  # rows per block that a round may add, and per weight for a negative weight to be trusted
OFTEN = 4  # blocks of one round that share a column, at most
FOUR = 4  # columns of a block, at most
AGAIN, AGAIN_EACH = 2000, 16
"""With more than `AGAIN` pairs, rounds after the first try those that it ranked best: `AGAIN_EACH`
for each block that may be added, and `AGAIN` at most."""
MANY, WHOLE = 4000, {3: 20, FOUR: 12}
"""Triples, or fours, that are tried, at most; columns up to which all of them are tried."""
ENTRIES = 4  # entries per cell, at least, for fours and for finer cuts than the first
TABLE = 4_000_000  # cells × classes × folds of a table, at most
SCREENED, LEAST_SCREENED = 50_000_000, 20_000
"""Entries × blocks × classes for screening, at most; but at least this many entries."""
PART, LEAST_RANKED = 4, 2500
"""All blocks are ranked on one of so many entries, but on at least so many for each class but one;
on all entries if that is more than half of them."""
RANKED, LIKELY = 8, 3
"""Blocks ranked on all entries, and evaluated exactly, for each that may be added: the best of the
ranking before."""
TRIED = 64  # blocks in one task of a worker, at most


@dataclass(frozen=True)
class Expected:
    """Out-of-fold class probabilities of the model for each entry."""

    proba: Float64  # (n, C), without the entry's fold
    # (n, folds, C) float32, the expected weight of each class without another fold, too; 0 for the
    # entry's fold. Empty if entries are many
    others: npt.NDArray[np.float32]

    def weighed(self, weight: Float64, rows: Index = slice(None)) -> tuple[Float64, Float64]:
        """The expected weight of each class, (n, C), and its variance, (n,), of these entries.

        `weight` (n,) is that of these entries.
        """
        p = self.proba[rows]
        return p * weight[:, np.newaxis], weight * (1 - (p * p).sum(axis=1))

    def gain(self, entries: Entries, evidence: Float64) -> float:
        """The gain of out-of-fold evidence (n, C) in log-likelihood, to the second order, in nats.

        At the best weight of the evidence; where all of it is 0, entries gain nothing.
        """
        mean = (self.proba * evidence).sum(axis=1)
        variance = (self.proba * evidence**2).sum(axis=1) - mean**2
        slope = float(entries.weight @ (evidence[np.arange(len(mean)), entries.y] - mean))
        bend = float(entries.weight @ variance)
        return 0.5 * slope**2 / bend if slope > 0 and bend > 0 else 0.0


@dataclass(frozen=True)
class Screening:
    """The columns and entries for which interactions are evaluated."""

    entries: Entries
    coded: Sequence[Coded]  # the bins of the entries, for each way to cut
    # the number of bins with a value in each column, for each way to cut
    bins_with_values: Sequence[Sequence[int]]
    varied: Sequence[int]  # the columns that vary
    prior: Float64  # (C,) the class prior
    interactions: Interactions  # as in `Pooled`
    workers: Workers
    half: bool  # whether half of the folds choose interactions, and the other half evaluates them

    @property
    def widest(self) -> int:
        """Columns of a block, at most."""
        return FOUR if self.interactions == "auto" else self.interactions

    @property
    def last(self) -> int:
        """Columns of the widest blocks that are tried even if no narrower one was chosen."""
        return self.widest if len(self.varied) <= WHOLE[FOUR] else min(self.widest, 3)

    def best(
        self,
        number: int,
        expected: Expected,
        model_blocks: Sequence[tuple[int, ...]],
        tried: set[Candidate],
        least: float,
    ) -> tuple[int, list[tuple[Candidate, float]]]:
        """The first round with blocks that gain enough, and these blocks with their strengths.

        Triples may have evidence where pairs have none, and fours where triples have none. Blocks
        of a round without gains are not evaluated again.

        `number`: the round to start with. `expected`: Expected, of each entry. `model_blocks`: the
        columns of the blocks in the model. `tried`: blocks that were added before. `least`: nats
        per row that the blocks of a round must gain together. The true gain is hardly more than the
        sum of their gains.
        """
        screened_entries = None
        for round_number in range(number, max(number + 1, self.last)):
            blocks = self._candidates(round_number, model_blocks)
            candidates = [block for block in blocks if block not in tried]
            max_rows = SCREENED // max(1, len(candidates) * self.entries.n_classes)
            rows, weight = self.entries.first(max(LEAST_SCREENED, max_rows))
            if self.half:
                is_screened = screened(self.entries.home[rows])
                rows, weight = rows[is_screened], weight[is_screened]
            if screened_entries is None or len(rows) != len(screened_entries.rows):
                screened_entries = _Entries.of(self.entries, expected, rows, weight)
            if gaining := self._of_round(candidates, screened_entries, least):
                return round_number, gaining
        return round_number, []

    def _of_round(
        self, candidates: list[Candidate], entries: _Entries, least: float
    ) -> list[tuple[Candidate, float]]:
        """The (block, strength) that gain most, the best first; empty if all gain too little."""
        of_each = max(1.0, math.comb(len(self.varied), 2) / max(1, len(self._pairs)))
        threshold = np.log(max(1.0, len(candidates) * of_each)) + LEAST_GAIN
        n_columns, rows = len(self.coded[FINE].sizes), int(self.entries.weight.sum())
        max_blocks = min(max(4, n_columns), rows // ROWS)
        ranked = self._ranked(candidates, entries.few)
        if len(self._pairs) > AGAIN:
            again = ranked[: min(AGAIN, AGAIN_EACH * max_blocks)]
            self._pairs[:] = sorted(block for _, block in again)
        ranked = self._ranked(sorted(ranked[: RANKED * max_blocks]), entries)
        candidates = sorted(ranked[: LIKELY * max_blocks])
        gains = self._gains(candidates, entries)
        chosen: list[tuple[Candidate, float]] = []
        uses, seen_blocks, total_gain = dict[int, int](), set[tuple[int, ...]](), 0.0
        for k in np.argsort(-gains.max(axis=1, initial=0.0), kind="stable").tolist():
            block = candidates[k][1]
            if gains[k].max() <= threshold or len(chosen) == max_blocks:
                break
            is_overused = any(uses.get(j, 0) >= OFTEN for j in block)
            if is_overused or block in seen_blocks:
                continue
            chosen.append((candidates[k], float(STRENGTHS[gains[k].argmax()])))
            seen_blocks.add(block)
            for j in block:
                uses[j] = uses.get(j, 0) + 1
            total_gain += gains[k].max()
        return chosen if total_gain > least * entries.weight.sum() else []

    @cached_property
    def _pairs(self) -> list[tuple[int, ...]]:
        """The pairs to try: all in the first round, and after it the best if they are many."""
        return [*itertools.combinations(self.varied, 2)]

    def _candidates(
        self, number: int, model_blocks: Sequence[tuple[int, ...]]
    ) -> Iterator[Candidate]:
        """The candidates of a round."""
        yield from self._cut(PAIRS[: number + 1], self._pairs)
        for width, ways in ((3, TRIPLES), (FOUR, FOURS)):
            if width <= min(self.widest, number + 1):
                yield from self._cut(ways, self._wide(width, model_blocks)[:MANY])

    def _wide(self, width: int, model_blocks: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Blocks of `width` columns: all, or those that extend a chosen block by one column."""
        if len(self.varied) <= WHOLE[width]:
            return [*itertools.combinations(self.varied, width)]
        narrower = [block for block in model_blocks if len(block) == width - 1]
        narrower = narrower[: 2 * len(self.varied)]
        return sorted({
            tuple(sorted((*block, j))) for block in narrower for j in self.varied if j not in block
        })  # fmt: skip

    def _cut(self, ways: Sequence[int], blocks: list[tuple[int, ...]]) -> Iterator[Candidate]:
        """Cut blocks finer and finer while this separates more values and entries suffice."""
        if not blocks:
            return
        max_size = TABLE / (self.entries.n_classes * PARTS)
        max_cells = len(self.entries.once) / ENTRIES
        columns = np.array(blocks)
        previous = np.zeros(len(blocks))
        for way in ways:
            met, sizes = np.array(self.bins_with_values[way]), self.coded[way].sizes
            n_cells = met[columns].prod(axis=1, dtype=np.float64)
            size = sizes[columns].prod(axis=1, dtype=np.float64)
            is_coarse = (previous == 0) & (columns.shape[1] < FOUR)
            is_finer = (previous < n_cells) & (is_coarse | (n_cells <= max_cells))
            for k in np.flatnonzero(is_finer & (size < max_size)).tolist():
                yield way, blocks[k]
            previous = n_cells

    def _ranked(self, candidates: list[Candidate], entries: _Entries) -> list[Candidate]:
        """The candidates by their approximate gain, the best first."""
        addends, classes = entries.moments, len(self.prior)

        def rough(coded: Coded, columns: Int64) -> Float64:
            max_size = int(np.append(coded.sizes, 1)[columns].prod(axis=1).max())
            cells = np.empty(len(entries.rows), np.uint32)
            sums, out = np.empty(max_size * 2 * classes, np.float32), np.empty(len(columns))
            kernel.rough_gains(
                coded.codes, coded.sizes, columns, addends, classes, STRENGTHS[1], cells, sums, out
            )
            return out

        gains = np.array(self._each(candidates, entries, entries.rough, rough))
        return [candidates[k] for k in np.argsort(-gains, kind="stable")]

    def _gains(self, candidates: list[Candidate], entries: _Entries) -> Float64:
        """The gain of each candidate at each strength, in nats, on the screened entries."""
        repeats, repeat = self.entries.n_repeats, self.entries.repeat[entries.rows]
        weight, means = repeats * entries.weight, repeats * entries.expected
        variances = repeats * entries.variance

        def gains(coded: Coded, columns: Int64) -> Float64:
            block_gains: Float64 = kernel.gains(
                coded.codes, coded.sizes, columns, repeat, repeats, entries.part, entries.y, weight,
                means, variances, entries.others, self.prior, STRENGTHS,
            )  # fmt: skip
            return block_gains / repeats

        values = self._each(candidates, entries, entries.gains, gains)
        return np.array(values).reshape(-1, len(STRENGTHS))

    def _each(
        self, candidates: list[Candidate], entries: _Entries, cached_gains: dict[Candidate, Any],
        gains: Callable[[Coded, Int64], Float64],
    ) -> list[Any]:  # fmt: skip
        """The gain of each candidate, cached; those with the same way to cut run in parallel."""
        new_candidates = [candidate for candidate in candidates if candidate not in cached_gains]
        for way, of_way in itertools.groupby(new_candidates, itemgetter(0)):
            codes, sizes = self.coded[way].codes, self.coded[way].sizes
            coded = Coded(np.ascontiguousarray(codes[:, entries.rows]), sizes)
            blocks = [block for _, block in of_way]
            padding = (kernel.NONE,) * FOUR
            columns = np.array([(*block, *padding[len(block) :]) for block in blocks])
            size = min(TRIED, -(-len(blocks) // self.workers.count))
            pieces = [columns[k : k + size] for k in range(0, len(blocks), size)]
            piece_gains = self.workers.map(lambda some: gains(coded, some), pieces)  # noqa: B023
            block_gains = itertools.chain.from_iterable(piece_gains)
            cached_gains.update(zip(((way, block) for block in blocks), block_gains, strict=True))
        return [cached_gains[candidate] for candidate in candidates]


def screened(part: Int64) -> npt.NDArray[np.bool_]:
    """Whether entries of these folds choose interactions, if half of the folds do."""
    mask: npt.NDArray[np.bool_] = part % 2 == 0
    return mask


@dataclass(frozen=True)
class _Entries:
    """A sample of entries, sorted by fold, with the expectations of the model."""

    # rows, part, y, weight: (n,)
    rows: npt.NDArray[np.intp]
    part: Int64
    y: Int64
    place: Int64  # (n,) the number of the distinct row, in the order of the hashes of rows
    weight: Float64
    expected: Float64  # (n, C) the expected weight of each class
    # (n, folds, C) the same from models without another fold, too; or empty
    others: npt.NDArray[np.float32]
    variance: Float64  # (n,) the variance of the expectation
    # rough, gains: caches of the gains of blocks on these entries
    rough: dict[Candidate, Any] = field(default_factory=dict)
    gains: dict[Candidate, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, entries: Entries, expected: Expected, rows: npt.NDArray[np.intp], weight: Float64
    ) -> Self:
        """The entries `rows` with these weights."""
        order = np.argsort(entries.part[rows], kind="stable")  # the table of one fold is small
        rows, weight = rows[order], weight[order]
        means, variances = expected.weighed(weight, rows)
        others = expected.others[rows] if len(expected.others) else expected.others
        part, y, place = entries.part[rows], entries.y[rows], entries.row[rows]
        return cls(rows, part, y, place, weight, means, others, variances)

    @cached_property
    def few(self) -> Self:
        """A part of the entries, without `others`."""
        n = max(LEAST_RANKED * (self.expected.shape[1] - 1), len(self.rows) // PART)
        if len(self.rows) < 2 * n:
            return self
        first = np.flatnonzero(self.place < np.partition(self.place, n)[n])
        return replace(
            self, rows=self.rows[first], part=self.part[first], y=self.y[first],
            place=self.place[first], weight=self.weight[first], expected=self.expected[first],
            others=self.others[:0], variance=self.variance[first], rough={}, gains={},
        )  # fmt: skip

    @cached_property
    def moments(self) -> npt.NDArray[np.float32]:
        """(n * 2 C,) the numbers of each entry that `rough_gains` adds up."""
        residuals = -self.expected
        residuals[np.arange(len(residuals)), self.y] += self.weight
        moments = [self.weight, self.expected[:, 1:], residuals[:, 1:], self.variance]
        return np.column_stack(moments).astype(np.float32).ravel()
