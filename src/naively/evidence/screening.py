"""Screening: which pairs and triples of columns would add most to what is known."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from naively.evidence.bins import CLOSE, PAIR, TRIPLE, Coded
from naively.evidence.entries import PARTS, Entries
from naively.exact import Float64
from naively.kernels import evidence as kernel
from naively.workers import Workers

Interactions = Literal["auto", 0, 2, 3]
Candidate = tuple[int, tuple[int, ...]]
"""(how columns are cut, which columns)."""

STRENGTHS = np.array([1.0, 4.0, 16.0])
"""Rows, as expected, that each cell has besides its own: the best of these."""
SURE = 2.0
"""Nats that a block must gain beyond the log of the number of blocks that were tried."""
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
"""Blocks that are tried by all strengths, for each that may be added: the best by the middle."""
TRIED = 16
"""Blocks that are tried in one piece."""


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
        self, number: int, proba: Float64, pairs: Sequence[tuple[int, ...]], tried: set[Candidate]
    ) -> list[tuple[Candidate, float]]:
        """(block, strength) of those that would gain most, the best first.

        Parameters
        ----------
        number : of the round.
        proba : (n, C), what the model expects of each entry.
        pairs : those that it has.
        tried : blocks that it has.
        """
        candidates = list(self._candidates(number, pairs))
        sure = np.log(max(1, len(candidates))) + SURE
        most = min(max(4, len(self.coded[PAIR].sizes)), int(self.entries.weight.sum()) // ROWS)
        screened = SCREENED // max(1, len(candidates) * self.entries.n_classes)
        few = self.entries.first(max(LEAST_SCREENED, screened))
        rough = self._gains(candidates, proba, few, STRENGTHS[1:2])[:, 0]
        likely = np.argsort(-rough, kind="stable")[: LIKELY * most]
        candidates = [candidates[k] for k in likely]
        gains = self._gains(candidates, proba, few, STRENGTHS)
        chosen: list[tuple[Candidate, float]] = []
        met, seen = dict[int, int](), set[tuple[int, ...]]()
        for k in np.argsort(-gains.max(axis=1, initial=0.0), kind="stable").tolist():
            block = candidates[k][1]
            if gains[k].max() <= sure or len(chosen) == most:
                break
            often = any(met.get(j, 0) >= OFTEN for j in block)
            if often or block in seen or candidates[k] in tried:
                continue
            chosen.append((candidates[k], float(STRENGTHS[gains[k].argmax()])))
            seen.add(block)
            for j in block:
                met[j] = met.get(j, 0) + 1
        return chosen

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

    def _gains(
        self, candidates: list[Candidate], proba: Float64, few: npt.NDArray[np.intp],
        strengths: Float64,
    ) -> Float64:  # fmt: skip
        """What each would gain by each strength, in nats, by some of the entries."""
        entries = self.entries
        found = np.zeros((len(candidates), len(strengths)))
        part, y, weight = entries.part[few], entries.y[few], entries.weight[few]
        p = np.ascontiguousarray(proba[few])
        unsure = weight * (1 - (p * p).sum(axis=1))
        for way in (PAIR, CLOSE, TRIPLE):
            sizes = self.coded[way].sizes
            at = [
                k for k, (own, block) in enumerate(candidates)
                if own == way and np.prod(sizes[list(block)]) * p.shape[1] * PARTS < TABLE
            ]  # fmt: skip
            if not at:
                continue
            blocks = np.full((len(at), 3), kernel.NONE)
            for row, k in zip(blocks, at, strict=True):
                row[: len(candidates[k][1])] = candidates[k][1]
            codes = np.ascontiguousarray(self.coded[way].codes[:, few])
            out = np.empty((len(at), len(strengths)))

            def one(start: int) -> None:
                stop = min(start + TRIED, len(at))  # noqa: B023
                kernel.screen(
                    codes, sizes, blocks, start, stop, part, PARTS, y, weight, p, unsure,  # noqa: B023
                    self.prior, strengths, out,  # noqa: B023
                )  # fmt: skip

            self.workers.map(one, range(0, len(at), TRIED))
            found[at] = out
        return found
