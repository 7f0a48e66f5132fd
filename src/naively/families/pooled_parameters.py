"""Evidence and its weights: how rows are scored by them, and what they say."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.evidence.bins import FINE, Coded, Column, Lookup
from naively.evidence.calendars import Calendar, values
from naively.evidence.dates import seconds
from naively.evidence.doubt import Doubt
from naively.evidence.fixed import FixedPlan, PlanStatistics
from naively.evidence.judged import Judged
from naively.evidence.keeping import arrays_of
from naively.evidence.normal import Normal
from naively.evidence.plan import Block, Cells, Plan, present
from naively.evidence.shapes import MISSING, Bins, Shape, bins_of, rows_of
from naively.evidence.training import Training
from naively.evidence.unread import unread
from naively.evidence.words import Words
from naively.exact import Float64, Int64
from naively.families.base import SCORED, Parameters
from naively.families.describing import Evidence, Evidences, mean_contribution
from naively.families.formula import Formula
from naively.families.pooled_formula import formula_of
from naively.families.pooled_texts import (
    ToldTerms,
    doubt_of_words,
    doubted,
    explained_texts,
    told_texts,
)
from naively.invalid import Invalid
from naively.kernels import lookups
from naively.labels import Labels
from naively.markup import counted
from naively.remarks import Categories
from naively.statistics.base import Arrays, Data
from naively.statistics.levels import Encoded, Levels
from naively.statistics.row_encoding import categories, encoded, texts
from naively.statistics.sample import SampleStatistics
from naively.text.explained import ExplainedTerms

Translated = tuple[dict[int, Lookup], dict[int, Float64], list[Int64]]
"""(bins of levels by the way to cut; evidence of levels by the block: words, dates; fine bins)."""
LOOKED_AT, CELLS = 4096, 1 << 24
"""Rows that tell how much evidence matters; numbers of their reasons, at most."""


@dataclass(frozen=True)
class _Missing:
    """Rows with unfamiliar missing cells.

    Attributes
    ----------
    rows : (n,) which.
    gone : (n, d) what they lack.
    factors : (n,) of their evidence.
    """

    rows: Int64
    gone: npt.NDArray[np.bool_]
    factors: Float64


class PooledParameters(Parameters):
    """Evidence and its weights.

    Attributes
    ----------
    plan : Plan
    bias : (C,), what every row has besides log π_c, in nats.
    """

    bias: Float64
    claims_least = True
    missing_tells = True
    not_linear = "the log-odds of pooled evidence are linear in no numbers: they are table look-ups"

    def __init__(self, made: Plan, rows: SampleStatistics | PlanStatistics) -> None:
        self.plan = made
        self._rows = rows
        self.bias = made.bias
        classes = len(made.bias)
        tables = sum(
            block.table.size for block in made.blocks if isinstance(block, Cells | Calendar)
        )
        normal = sum(
            block.means.size + block.factors.size
            for block in made.blocks if isinstance(block, Normal)
        )  # fmt: skip
        words = sum(block.counts.nnz for block in made.blocks if isinstance(block, Words))
        self.n_free = len(made.weights) + classes + tables + normal + words
        self.has_texts = bool(self._texts)
        self._last: tuple[Any, Any] = None, None  # the levels translated last, of many chunks

    @cached_property
    def training(self) -> Training:
        """The rows that the plan was made from."""
        return Training.of(self._rows)

    def kept(self) -> Arrays:
        """The plan; the rows are there."""
        return arrays_of(self.plan)

    def structure(self) -> Plan:
        """The plan."""
        return self.plan

    def fixed(self, classes: Labels) -> FixedPlan:
        """The plan, for other rows."""
        return FixedPlan.of(self.plan, self.levels, self._moves, classes)

    # ---- scores ------------------------------------------------------------------------------

    def unread(self, X: Data) -> dict[int, Invalid]:
        """Text that is no number or date, where the plan cuts these."""
        if not isinstance(X, Encoded):
            return {}  # numbers
        return unread(self.plan, X, lambda j: self._translated(X)[2][j])

    def categories(self, X: Data, but: Container[int]) -> dict[int, Categories]:
        """What rows have in the columns that are cut as categories, but for some of these."""
        if not isinstance(X, Encoded):
            return {}
        cells = [block for block in self.plan.blocks if isinstance(block, Cells)]
        used = {j for block in cells for j in block.columns}
        numbers = {j for j, own in enumerate(self.plan.columns) if own.is_number or j not in used}
        others = numbers | {j for j in used if j in but}
        return categories(self.levels, X, others)

    def chunk(self, X: Data, n_classes: int) -> int:
        """How many rows to score at a time."""
        return max(64, SCORED // max(1, n_classes, X.shape[1]))

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Σ_k w_k e_kc(x) for rows start:stop, (C, stop - start).

        What all words of a row add up to is doubted, by how few texts there were.
        """
        rows = encoded(X)[start:stop]
        some = self._missing(rows)
        out[:] = self.bias[:, np.newaxis]
        codes, words = self._codes(rows), np.zeros(out.shape if self._doubt else (0, 0))
        for block, weight in zip(self.plan.blocks, self.plan.weights, strict=True):
            if weight:
                into = words if isinstance(block, Words) and self._doubt else out
                self._add(block, weight, rows, codes, into)
        if some is not None:
            out[:, some.rows] = 0.0
            words[:, some.rows if words.size else []] = 0.0
            for block, weights, own in self._incomplete(rows[some.rows], some):
                into = words if isinstance(block, Words) and self._doubt else out
                into[:, some.rows] += weights * own
        if self._doubt:
            self._doubt.scores(words)
            out += words

    @cached_property
    def _doubt(self) -> Doubt | None:
        """By how much the words of rows are doubted; None if there are none."""
        return doubt_of_words(self.plan)

    def _add(
        self, block: Block, weight: float, X: Encoded, codes: dict[int, Coded],
        out: Float64,
    ) -> None:  # fmt: skip
        """Add weight times the evidence of a block to the scores of rows, (C, n)."""
        if isinstance(block, Cells):
            lookups.add_scores(codes[block.way].cells(block.columns), block.table, weight, out)
        elif isinstance(block, Normal):
            out += weight * block.evidence(block.scale.rows(X.codes, X.levels)).T
        else:
            told = self._translated(X)[1][id(block)]  # by the levels of the column
            out += weight * told[X.codes[:, block.column]].T

    def biases(self, X: Data) -> Float64:
        """Of each class, (n, C): none of rows with unfamiliar missing cells."""
        X = encoded(X)
        found = np.repeat(self.bias[np.newaxis], len(X.codes), axis=0)
        if (some := self._missing(X)) is not None:
            found[some.rows] = 0.0
        return found

    def _missing(self, X: Encoded) -> _Missing | None:
        """The rows with unfamiliar missing cells; None if there are none."""
        how = self.plan.incomplete
        if how is None or (gone := self._gone(X)) is None:
            return None
        levels = how.levels(gone)
        rows = np.flatnonzero(levels)
        return _Missing(rows, gone[rows], how.factors[levels[rows] - 1]) if len(rows) else None

    def _incomplete(self, X: Encoded, some: _Missing) -> Iterator[tuple[Block, Float64, Float64]]:
        """(block, its weight in each of such rows, its evidence (C, n) where it is present)."""
        codes = self._codes(X)
        assert self.plan.incomplete is not None
        for block, weight in zip(self.plan.blocks, self.plan.incomplete.weights, strict=True):
            if weight:
                own = np.zeros((len(self.bias), len(X.codes)))
                self._add(block, 1.0, X, codes, own)
                own[:, ~present(block, some.gone)] = 0.0
                yield block, weight * some.factors, own

    def _gone(self, X: Encoded) -> npt.NDArray[np.bool_] | None:
        """Which cells are missing, (n, d); None if none is."""
        bins, found = self._translated(X)[2], None
        for j, (own, column) in enumerate(zip(bins, self.plan.columns, strict=True)):
            gone = own == column.size(FINE) - 1
            codes = X.codes[:, j]
            if gone[:-1].any() or (len(codes) and codes.max() == len(own) - 1):
                if found is None:
                    found = np.zeros(X.codes.shape, bool)
                found[:, j] = gone[codes]
        return found

    def _codes(self, X: Encoded) -> dict[int, Coded]:
        """The bins of rows, for each way to cut that is used."""
        return {way: lookup.coded(X.codes) for way, lookup in self._translated(X)[0].items()}

    def _translated(self, X: Encoded) -> Translated:
        """What the levels of rows mean, read once for all chunks of them."""
        last = self._last  # read once: other threads may translate other levels meanwhile
        if last[0] is not X.levels:
            plan = self.plan
            bins = [*map(Column.bins, plan.columns, X.levels)]
            ways = {block.way for block in plan.blocks if isinstance(block, Cells)}
            lookups = {way: Lookup.of(plan.columns, bins, way) for way in ways}
            told = {
                id(block): block.evidence(texts(X.levels[block.column]))
                for block in plan.blocks if isinstance(block, Words)
            }  # fmt: skip
            dates = [block for block in plan.blocks if isinstance(block, Calendar)]
            moments = {j: seconds(X.levels[j]) for j in {block.column for block in dates}}
            told |= {id(block): block.evidence(moments[block.column]) for block in dates}
            last = X.levels, (lookups, told, bins)
            self._last = last
        translated: Translated = last[1]
        return translated

    def _each(self, X: Encoded) -> Iterator[tuple[Block, Float64, Float64]]:
        """(block, its weight in each row (n,), its evidence (C, n)) for some rows."""
        some, codes, n = self._missing(X), self._codes(X), len(X.codes)
        own = {} if some is None else {
            id(block): (weight, evidence)
            for block, weight, evidence in self._incomplete(X[some.rows], some)
        }  # fmt: skip
        for block, weight in zip(self.plan.blocks, self.plan.weights, strict=True):
            if not weight and id(block) not in own:
                continue
            weights, out = np.full(n, weight), np.zeros((len(self.bias), n))
            self._add(block, 1.0, X, codes, out)
            if some is not None:
                none = np.zeros(len(some.rows)), 0.0
                weights[some.rows], out[:, some.rows] = own.get(id(block), none)
            yield block, weights, out

    def contributions(self, X: Data) -> Float64:
        """What each column adds, (n, C, d): what blocks of several add is shared equally.

        What all numbers together add is shared as the quadratic form of the density has it.
        """
        X = encoded(X)
        total = np.zeros((len(X.codes), len(self.bias), len(self.plan.columns)))
        for block, weight, own in self._each(X):
            each = weight[:, np.newaxis]
            if isinstance(block, Normal):
                Z = block.scale.rows(X.codes, X.levels)
                shares = block.shares(Z, own.T) * (own != 0).any(axis=0)[:, np.newaxis, np.newaxis]
                total[:, :, block.scale.columns] += each[:, np.newaxis] * shares
            else:
                for j in block.columns:
                    total[:, :, j] += each * own.T / len(block.columns)
        for j, own in self._doubted(X).items():
            total[:, :, j] += own
        return total

    def _doubted(self, X: Encoded) -> dict[int, Float64]:
        """What the doubt of their words adds to columns of text, (n, C) each."""
        if self._doubt is None:
            return {}
        found = dict[int, Float64]()
        for block, weight, own in self._each(X):
            if isinstance(block, Words):
                found[block.column] = found.get(block.column, 0.0) + (weight * own).T
        return doubted(found, self._doubt)

    def blocks(self) -> list[tuple[int, ...]]:
        """The columns of each block; those of the same columns are one."""
        return list(dict.fromkeys(block.columns for block in self.plan.blocks))

    def by_block(self, X: Data) -> Float64:
        """What each of these adds, (n, C, K): columns together by themselves."""
        X, places = encoded(X), {columns: k for k, columns in enumerate(self.blocks())}
        total = np.zeros((len(X.codes), len(self.bias), len(places)))
        for block, weight, own in self._each(X):
            total[:, :, places[block.columns]] += (weight * own).T
        for j, own in self._doubted(X).items():
            total[:, :, places[j,]] += own
        return total

    def alone(self, X: Data) -> Float64:
        """The evidence of each column by itself, unweighted: (n, C, d)."""
        X = encoded(X)
        total = np.zeros((len(X.codes), len(self.bias), len(self.plan.columns)))
        for block, _, own in self._each(X):
            if isinstance(block, Cells) and len(block.columns) == 1:
                total[:, :, block.columns[0]] = own.T
        return total

    def explained_texts(self, X: Data, i: int) -> dict[int, ExplainedTerms]:
        """What the words of each column of text add, weighed."""
        X = encoded(X)
        doubt = {j: own[0] for j, own in self._doubted(X[i : i + 1]).items()}
        return explained_texts(self.plan, X, i, doubt)

    def told_texts(self, names: Sequence[str]) -> dict[str, ToldTerms]:
        """What the words of each column of text tell, weighed."""
        return {names[j]: own for j, own in told_texts(self.plan).items()}

    def sample(self, codes: Int64, generator: np.random.Generator) -> Encoded:
        """Rows that were learned, as often as they were."""
        training = self.training
        rows = np.zeros(len(codes), np.int64)
        for c in range(training.n_classes):
            own, at = np.flatnonzero(training.y == c), codes == c
            if len(own) and at.any():
                p = training.weight[own] / training.weight[own].sum()
                rows[at] = training.row[generator.choice(own, int(at.sum()), p=p)]
        return Encoded(training.codes[rows], training.levels)

    def formula(self, names: Sequence[str]) -> Formula:
        """The tables of evidence and the densities, weighed.

        Raises ValueError if there are words.
        """
        return formula_of(self.plan, self.bias, names)

    # ---- for people --------------------------------------------------------------------------

    @property
    def levels(self) -> list[Levels]:
        """The levels of each column."""
        return self._rows.levels

    def varies(self, column: int) -> bool:
        """Whether a column has several levels, a missing value being one."""
        codes = self._rows.codes[:, column]  # type: ignore[union-attr]
        return bool((codes != codes[:1]).any())

    def kinds(self) -> Int64:
        """(d,) how many bins each column has."""
        return np.array([len(column.coarser[0]) for column in self.plan.columns])

    @cached_property
    def _moves(self) -> list[float]:
        """By how much each block moves the scores of the first rows: see `Evidence`."""
        X, share, prior = self._first(LOOKED_AT)
        found = {
            id(block): mean_contribution(weight * own, share, prior)
            for block, weight, own in self._each(X)
        }
        return [found.get(id(block), 0.0) for block in self.plan.blocks]

    @cached_property
    def _in_all(self) -> list[float] | None:
        """By how much all that a column adds moves these scores."""
        most = CELLS // (len(self.bias) * max(1, len(self.plan.columns)))
        X, share, prior = self._first(max(1, min(LOOKED_AT, most)))
        return [mean_contribution(own, share, prior) for own in self.contributions(X).T]

    def _first(self, most: int) -> tuple[Encoded, Float64, Float64]:
        """(the first rows that were learned, the share of each, the share of each class)."""
        training = self.training
        some, weight = training.sampled(most)
        share, y = weight / max(weight.sum(), 1e-300), training.y[some]
        prior: Float64 = np.bincount(y, share, training.n_classes)  # type: ignore[assignment]
        return Encoded(training.codes[training.row[some]], training.levels), share, prior

    def evidence(self, names: Sequence[str]) -> Evidences:
        """The blocks with their weights, and how much they matter."""
        found = [
            Evidence([names[j] for j in block.columns], self._what(block), weight, moves)
            for block, weight, moves in self._ranked()
        ]
        in_all = None if self._in_all is None else dict(zip(names, self._in_all, strict=True))
        return Evidences(found, in_all, self.judged)

    @property
    def judged(self) -> Judged | None:  # type: ignore[override]
        """How left-out rows were predicted."""
        return self.plan.judged

    def shapes(self, names: Sequence[str], classes: Labels) -> list[Shape]:
        """What each block says, in the same order."""
        found = []
        dated = {block.column for block in self.plan.blocks if isinstance(block, Calendar)}
        for block, weight, moves in self._ranked():
            bins: list[Bins] = []
            part = ""
            evidence, rows = np.empty(0), np.empty(0)
            if isinstance(block, Cells):
                bins = bins_of(self.levels, self.plan.columns, names, block.columns, block.way)
                shape = *map(len, bins), len(self.bias)
                evidence, rows = block.table.reshape(shape), self._met(block).reshape(shape)
                part = "over time" if len(bins) == 1 and block.columns[0] in dated else ""
            elif isinstance(block, Calendar) and (own_rows := self._on(block)) is not None:
                bins = [Bins(names[block.column], [*block.labels, MISSING], ordered=True)]
                evidence, rows, part = block.table, own_rows, block.name
            own = tuple(names[j] for j in block.columns)
            told = not self._texts.isdisjoint(block.columns)
            said = self._what(block), weight, moves, classes
            found.append(Shape(own, *said, bins, evidence, rows, part, told))
        return found

    @cached_property
    def _texts(self) -> set[int]:
        """The columns of which words are counted."""
        return {block.column for block in self.plan.blocks if isinstance(block, Words)}

    def _met(self, block: Cells) -> Float64:
        """The weight of the rows in each cell of a block, by class: (cells, C)."""
        return rows_of(self.training, self.plan.columns, block.columns, block.way)

    def _on(self, block: Calendar) -> Float64 | None:
        """The weight of the rows of each part of dates, by class; None if that is not known."""
        training, classes = self.training, len(self.bias)
        part = np.append(
            values(seconds(training.levels[block.column]), block.part), len(block.labels)
        )
        cell = part[training.codes[:, block.column]][training.row] * classes + training.y
        found = np.bincount(cell, training.weight, block.table.size)
        return found.astype(np.float64).reshape(-1, classes)

    def _ranked(self) -> list[tuple[Block, float, float]]:
        """(block, its weight, how far it moves the scores), what moves them most first."""
        found = zip(self.plan.blocks, self.plan.weights.tolist(), self._moves, strict=True)
        return sorted((one for one in found if one[1]), key=lambda one: -one[2])

    def _what(self, block: Block) -> str:
        """What a block is, in a few words."""
        if isinstance(block, Normal):
            return "Gaussian, shared" if len(block.factors) == 1 else "Gaussian, per class"
        if isinstance(block, Words):
            return f"{len(block.vocabulary):,} {block.event.name}"
        if isinstance(block, Calendar):
            return block.name
        met = (block.table != 0).any(axis=1)
        if len(block.columns) > 1:
            return counted(int(met.sum()), "cell")
        if block.columns[0] in self._texts:
            return "missing or not"
        own = self.plan.columns[block.columns[0]]
        number = int(met[:-1].sum())  # without the missing value
        if own.dated or own.is_number:
            return counted(number, "bin") + " of time" * own.dated
        return counted(number, "category", "categories")
