"""Screening: which pairs and triples of columns would add most to what is known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from naively.evidence.bins import CLOSE, PAIR, TRIPLE, Coded
from naively.evidence.entries import PARTS, Entries
from naively.exact import Float64, Int64
from naively.kernels import evidence as kernel
from naively.workers import Workers

Interactions = Literal["auto", 0, 2, 3]
Candidate = tuple[int, tuple[int, ...]]
"""(how columns are cut, which columns)."""

STRENGTHS = np.array([1.0, 4.0, 16.0])
"""Rows, as expected, that each cell has besides its own: the best of these."""
SURE = 5.0
"""Nats that a block must gain beyond the log of the number of blocks that were looked at."""
ROWS = 50
"""Rows, at least, for each block that a round adds, and for a weight below 0 to be believed."""
OFTEN = 4
"""Blocks of one round that a column is in, at most."""
TRIPLES, WIDE = 4000, 20
"""Triples that are tried, at most; columns up to which these are all that there are."""
TABLE = 4_000_000
"""Cells times classes times parts of a table that is tried, at most."""
SCREENED, LEAST_SCREENED = 50_000_000, 10_000
"""Entries times blocks times classes by which blocks are screened, at most; but so many entries."""
LIKELY = 4
"""Blocks that are tried in full, for each that may be added: the best of a rough look."""
TRIED = 16
"""Blocks that are tried in one piece."""


@dataclass(frozen=True)
class Expected:
    """What the model expects of each entry, by evidence without it.

    Attributes
    ----------
    proba : (n, C), without the entry's part.
    others : (n, parts, C) float32, the weight expected of each class without another part besides;
        0 of the entry's own part. Empty where entries are many.
    """

    proba: Float64
    others: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Screening:
    """What is tried, and on what.

    Attributes
    ----------
    entries : Entries
    coded : their columns, for each way to cut.
    varied : the columns that vary.
    prior : (C,) the class prior.
    interactions : as `Pooled` has them.
    workers : Workers
    """

    entries: Entries
    coded: Sequence[Coded]
    varied: Sequence[int]
    prior: Float64
    interactions: Interactions
    workers: Workers

    def best(
        self,
        number: int,
        expected: Expected,
        pairs: Sequence[tuple[int, ...]],
        tried: set[Candidate],
        least: float,
    ) -> list[tuple[Candidate, float]]:
        """(block, strength) of those that would gain most, the best first; none of too little.

        Parameters
        ----------
        number : of the round.
        expected : Expected, of each entry.
        pairs : those that it has.
        tried : blocks that it has.
        least : nats a row that they must gain together: what each would gain is hardly more.
        """
        candidates = [one for one in self._candidates(number, pairs) if one not in tried]
        sure = np.log(max(1, len(candidates))) + SURE
        most = min(max(4, len(self.coded[PAIR].sizes)), int(self.entries.weight.sum()) // ROWS)
        screened = SCREENED // max(1, len(candidates) * self.entries.n_classes)
        few = self.entries.first(max(LEAST_SCREENED, screened))
        asked = _Asked.of(self.entries, expected, few)
        likely = np.argsort(-self._rough(candidates, asked), kind="stable")[: LIKELY * most]
        candidates = [candidates[k] for k in likely]
        gains = self._gains(candidates, asked)
        chosen: list[tuple[Candidate, float]] = []
        met, seen, gained = dict[int, int](), set[tuple[int, ...]](), 0.0
        for k in np.argsort(-gains.max(axis=1, initial=0.0), kind="stable").tolist():
            block = candidates[k][1]
            if gains[k].max() <= sure or len(chosen) == most:
                break
            often = any(met.get(j, 0) >= OFTEN for j in block)
            if often or block in seen:
                continue
            chosen.append((candidates[k], float(STRENGTHS[gains[k].argmax()])))
            seen.add(block)
            for j in block:
                met[j] = met.get(j, 0) + 1
            gained += gains[k].max()
        return chosen if gained > least * asked.weight.sum() else []

    def _candidates(self, number: int, pairs: Sequence[tuple[int, ...]]) -> Iterator[Candidate]:
        """What is tried in a round."""
        for way in (PAIR, CLOSE)[: 1 + (number > 0)]:
            for pair in itertools.combinations(self.varied, 2):
                yield way, pair
        if number < 2 or self.interactions == 2:
            return
        if len(self.varied) <= WIDE:
            triples: list[tuple[int, ...]] = list(itertools.combinations(self.varied, 3))
        else:  # those that hold a pair which tells something
            triples = sorted({
                tuple(sorted((*pair, j)))
                for pair in pairs[: 2 * len(self.varied)] for j in self.varied if j not in pair
            })  # fmt: skip
        for triple in triples[:TRIPLES]:
            yield TRIPLE, triple

    def _rough(self, candidates: list[Candidate], asked: _Asked) -> Float64:
        """About what each would gain, quickly."""
        off = -asked.hoped
        off[np.arange(len(off)), asked.y] += asked.weight
        told = np.column_stack([asked.hoped, off[:, 1:], asked.unsure]).astype(np.float32)
        found = np.full(len(candidates), -np.inf)
        for at, coded, blocks in self._groups(candidates, asked):
            out = np.empty(len(at))

            def some(start: int) -> None:
                stop = min(start + TRIED, len(out))  # noqa: B023
                kernel.rough_gains(
                    coded.codes, coded.sizes, blocks, start, stop, told, STRENGTHS[1],  # noqa: B023
                    out,  # noqa: B023
                )  # fmt: skip

            self.workers.map(some, range(0, len(at), TRIED))
            found[at] = out
        return found

    def _gains(self, candidates: list[Candidate], asked: _Asked) -> Float64:
        """What each would gain by each strength, in nats, by some of the entries."""
        found = np.zeros((len(candidates), len(STRENGTHS)))
        for at, coded, blocks in self._groups(candidates, asked):
            out = np.empty((len(at), len(STRENGTHS)))

            def some(start: int) -> None:
                stop = min(start + TRIED, len(out))  # noqa: B023
                kernel.screen(
                    coded.codes, coded.sizes, blocks, start, stop, asked.part, PARTS,  # noqa: B023
                    asked.y, asked.weight, asked.hoped, asked.others, asked.unsure, self.prior,
                    STRENGTHS, out,  # noqa: B023
                )  # fmt: skip

            self.workers.map(some, range(0, len(at), TRIED))
            found[at] = out
        return found

    def _groups(
        self, candidates: list[Candidate], asked: _Asked
    ) -> Iterator[tuple[list[int], Coded, Int64]]:
        """(which candidates, how columns are cut for them, the columns of each)."""
        for way in (PAIR, CLOSE, TRIPLE):
            coded = self.coded[way]
            most, sizes = TABLE / (asked.hoped.shape[1] * PARTS), coded.sizes.tolist()
            at = [
                k for k, (own, block) in enumerate(candidates)
                if own == way and math.prod(sizes[j] for j in block) < most
            ]  # fmt: skip
            if at:
                blocks = np.full((len(at), 3), kernel.NONE)
                for row, k in zip(blocks, at, strict=True):
                    row[: len(candidates[k][1])] = candidates[k][1]
                codes = np.ascontiguousarray(coded.codes[:, asked.rows])
                yield at, Coded(codes, coded.sizes), blocks


@dataclass(frozen=True)
class _Asked:
    """Some of the entries, part after part, and what is expected of them.

    Attributes
    ----------
    rows, part, y, weight : (n,)
    hoped : (n, C) the weight expected of each class.
    others : (n, parts, C) the same by models without another part besides, or empty.
    unsure : (n,) the doubt in that.
    """

    rows: npt.NDArray[np.intp]
    part: Int64
    y: Int64
    weight: Float64
    hoped: Float64
    others: npt.NDArray[np.float32]
    unsure: Float64

    @classmethod
    def of(cls, entries: Entries, expected: Expected, rows: npt.NDArray[np.intp]) -> Self:
        """Those entries."""
        rows = rows[np.argsort(entries.part[rows], kind="stable")]  # each part's table is small
        p, weight = expected.proba[rows], entries.weight[rows]
        hoped, unsure = p * weight[:, np.newaxis], weight * (1 - (p * p).sum(axis=1))
        others = expected.others[rows] if len(expected.others) else expected.others
        return cls(rows, entries.part[rows], entries.y[rows], weight, hoped, others, unsure)
