"""Screening: which columns together would add most to what is known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.core.workers import Workers
from naively.kernels import scores as kernel
from naively.pooling.bins import FINE, FOURS, PAIRS, TRIPLES, Coded
from naively.pooling.folds import PARTS, Entries

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
FOUR = 4
"""Columns of a block, at most, of any table."""
MANY, WHOLE = 4000, {3: 20, FOUR: 12}
"""Triples, or fours, that are tried, at most; columns up to which all of them are."""
ENTRIES = 4
"""Of each cell, for four columns together, and for closer ways to cut than the first."""
TABLE = 4_000_000
"""Cells times classes times parts of a table that is tried, at most."""
SCREENED, LEAST_SCREENED = 50_000_000, 20_000
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

    def weighed(self, weight: Float64, rows: Any = slice(None)) -> tuple[Float64, Float64]:
        """(the weight expected of each class, (n, C); the doubt in it, (n,)) of entries, or some.

        `weight` (n,) is theirs.
        """
        p = self.proba[rows]
        return p * weight[:, np.newaxis], weight * (1 - (p * p).sum(axis=1))


@dataclass(frozen=True)
class Screening:
    """What is tried, and on what.

    Attributes
    ----------
    entries : Entries
    coded : their columns, for each way to cut.
    met : how many bins of each column have a level, for each way to cut.
    varied : the columns that vary.
    prior : (C,) the class prior.
    interactions : as `Pooled` has them.
    workers : Workers
    half : whether the entries of half the folds are screened; the others then judge what is chosen.
    """

    entries: Entries
    coded: Sequence[Coded]
    met: Sequence[Sequence[int]]
    varied: Sequence[int]
    prior: Float64
    interactions: Interactions
    workers: Workers
    half: bool

    @property
    def widest(self) -> int:
        """Columns of a block, at most."""
        return FOUR if self.interactions == "auto" else self.interactions

    @property
    def last(self) -> int:
        """Columns of the widest blocks that are tried where narrower ones tell nothing."""
        return self.widest if len(self.varied) <= WHOLE[FOUR] else min(self.widest, 3)

    def best(
        self,
        number: int,
        expected: Expected,
        known: Sequence[tuple[int, ...]],
        tried: set[Candidate],
        least: float,
    ) -> tuple[int, list[tuple[Candidate, float]]]:
        """(round, what would gain most in it): of the first round in which anything would.

        Triples may tell what pairs do not, and fours what triples do not. What was looked at in a
        round that found nothing is not looked at again.

        Parameters
        ----------
        number : of the first round.
        expected : Expected, of each entry.
        known : the columns of the blocks that it has.
        tried : blocks that were added.
        least : nats a row that they must gain together: what each would gain is hardly more.
        """
        asked = None
        for one in range(number, max(number + 1, self.last)):
            candidates = [block for block in self._candidates(one, known) if block not in tried]
            most = SCREENED // max(1, len(candidates) * self.entries.n_classes)
            few, weight = self.entries.first(max(LEAST_SCREENED, most))
            if self.half:
                own = screened(self.entries.part[few])
                few, weight = few[own], weight[own]
            if asked is None or len(few) != len(asked.rows):
                asked = _Asked.of(self.entries, expected, few, weight)
            if chosen := self._of_round(candidates, asked, least):
                return one, chosen
        return one, []

    def _of_round(
        self, candidates: list[Candidate], asked: _Asked, least: float
    ) -> list[tuple[Candidate, float]]:
        """(block, strength) of those that would gain most, the best first; none of too little."""
        sure = np.log(max(1, len(candidates))) + SURE
        most = min(max(4, len(self.coded[FINE].sizes)), int(self.entries.weight.sum()) // ROWS)
        likely = np.argsort(-self._rough(candidates, asked), kind="stable")[: LIKELY * most]
        candidates = [candidates[k] for k in np.sort(likely)]
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

    def _candidates(self, number: int, known: Sequence[tuple[int, ...]]) -> Iterator[Candidate]:
        """What is tried in a round."""
        yield from self._cut(PAIRS[: number + 1], itertools.combinations(self.varied, 2))
        for width, ways in ((3, TRIPLES), (FOUR, FOURS)):
            if width <= min(self.widest, number + 1):
                yield from self._cut(ways, self._wide(width, known)[:MANY])

    def _wide(self, width: int, known: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Blocks of so many columns: all, or those that hold one of a column less that tells."""
        if len(self.varied) <= WHOLE[width]:
            return [*itertools.combinations(self.varied, width)]
        narrower = [one for one in known if len(one) == width - 1][: 2 * len(self.varied)]
        return sorted({
            tuple(sorted((*one, j))) for one in narrower for j in self.varied if j not in one
        })  # fmt: skip

    def _cut(
        self, ways: Sequence[int], blocks: Iterable[tuple[int, ...]]
    ) -> Iterator[Candidate]:  # fmt: skip
        """Blocks, cut closer and closer: as long as more is told apart, of entries enough."""
        most = TABLE / (self.entries.n_classes * PARTS)
        enough = len(self.entries) / ENTRIES
        told_apart = dict.fromkeys(blocks, 0)
        for way in ways:
            for block, before in told_apart.items():
                told_apart[block] = met = math.prod([self.met[way][j] for j in block])
                coarse = not before and len(block) < FOUR
                fits = self.coded[way].size(block) < most
                if before < met and fits and (coarse or met <= enough):
                    yield way, block

    def _rough(self, candidates: list[Candidate], asked: _Asked) -> Float64:
        """About what each would gain, quickly."""
        told, classes = asked.told, len(self.prior)

        def rough(coded: Coded, blocks: list[tuple[int, ...]]) -> Float64:
            most = max(map(coded.size, blocks))
            cells = np.empty(len(asked.rows), np.uint32)
            sums = np.empty(most * 2 * classes, np.float32)
            columns, out = np.full((len(blocks), FOUR), kernel.NONE), np.empty(len(blocks))
            for row, block in zip(columns, blocks, strict=True):
                row[: len(block)] = block
            kernel.rough_gains(
                coded.codes, coded.sizes, columns, told, classes, STRENGTHS[1], cells, sums, out
            )
            return out

        return np.array(self._each(candidates, asked, asked.rough, rough))

    def _gains(self, candidates: list[Candidate], asked: _Asked) -> Float64:
        """What each would gain by each strength, in nats, by some of the entries."""

        def gain(coded: Coded, block: tuple[int, ...]) -> Float64:
            known = kernel.table(
                coded.cells(block), coded.size(block), PARTS, asked.part, asked.y, asked.weight,
                asked.hoped, asked.unsure, asked.others,
            )  # fmt: skip
            return kernel.gains(known, self.prior, STRENGTHS)

        def gains(coded: Coded, blocks: list[tuple[int, ...]]) -> Float64:
            return np.array([gain(coded, block) for block in blocks])

        found = self._each(candidates, asked, asked.gains, gains)
        return np.array(found).reshape(-1, len(STRENGTHS))

    def _each(
        self, candidates: list[Candidate], asked: _Asked, known: dict[Candidate, Any],
        gains: Callable[[Coded, list[tuple[int, ...]]], Float64],
    ) -> list[Any]:  # fmt: skip
        """What each candidate would gain, if it is not known; of one way to cut side by side."""
        new = [one for one in candidates if one not in known]
        for way, of_way in itertools.groupby(new, itemgetter(0)):
            codes, sizes = self.coded[way].codes, self.coded[way].sizes
            coded = Coded(np.ascontiguousarray(codes[:, asked.rows]), sizes)
            blocks = [block for _, block in of_way]
            pieces = [blocks[k : k + TRIED] for k in range(0, len(blocks), TRIED)]
            told = self.workers.map(lambda some: gains(coded, some), pieces)  # noqa: B023
            found = itertools.chain.from_iterable(told)
            known |= {(way, block): one for block, one in zip(blocks, found, strict=True)}
        return [known[one] for one in candidates]


def screened(part: Int64) -> npt.NDArray[np.bool_]:
    """Whether entries of these folds are screened, where half of them are."""
    own: npt.NDArray[np.bool_] = part % 2 == 0
    return own


@dataclass(frozen=True)
class _Asked:
    """Some of the entries, part after part, and what is expected of them.

    Attributes
    ----------
    rows, part, y, weight : (n,)
    hoped : (n, C) the weight expected of each class.
    others : (n, parts, C) the same by models without another part besides, or empty.
    unsure : (n,) the doubt in that.
    rough, gains : what blocks would gain by these entries, of those that were looked at.
    """

    rows: npt.NDArray[np.intp]
    part: Int64
    y: Int64
    weight: Float64
    hoped: Float64
    others: npt.NDArray[np.float32]
    unsure: Float64
    rough: dict[Candidate, Any] = field(default_factory=dict)
    gains: dict[Candidate, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, entries: Entries, expected: Expected, rows: npt.NDArray[np.intp], weight: Float64
    ) -> Self:
        """Those entries, of these weights."""
        order = np.argsort(entries.part[rows], kind="stable")  # each part's table is small
        rows, weight = rows[order], weight[order]
        hoped, unsure = expected.weighed(weight, rows)
        others = expected.others[rows] if len(expected.others) else expected.others
        return cls(rows, entries.part[rows], entries.y[rows], weight, hoped, others, unsure)

    @cached_property
    def told(self) -> npt.NDArray[np.float32]:
        """(n * 2 C,) the numbers of each entry that `rough_gains` adds up."""
        off = -self.hoped
        off[np.arange(len(off)), self.y] += self.weight
        told = np.column_stack([self.hoped, off[:, 1:], self.unsure])
        return told.astype(np.float32).ravel()
