"""Score and explain rows with the weighted evidence of `AutoBayes`."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.issues import Categories, Invalid
from naively.core.labels import Labels
from naively.explain.text import ExplainedTerms
from naively.families.auto_bayes.texts import (
    WeightedTerms,
    explained_texts,
    first_words,
    prior_mixing,
    weighted_terms,
)
from naively.families.base import SCORED, Evidence, Evidences, Parameters, mean_contribution
from naively.formula import Formula
from naively.pooling.blocks.base import Block, Bools, Rows, Values
from naively.pooling.blocks.shapes import Bins, Shape
from naively.pooling.entries import OutOfFoldPredictions, Training
from naively.pooling.fixed import FixedPlan, PlanStatistics
from naively.pooling.structure import Plan, arrays_of
from naively.pooling.texts.term_weights import PriorMixing
from naively.statistics.base import Arrays, Data
from naively.statistics.levels import Encoded, Levels
from naively.statistics.rows import categories, encoded
from naively.statistics.sample import SampleStatistics

LOOKED_AT, CELLS = 4096, 1 << 24
"""Rows from which feature importance is computed, at most; contributions of these, at most."""


@dataclass(frozen=True)
class _Missing:
    """Rows whose missing cells are unfamiliar: see `naively.pooling.structure.Incomplete`."""

    rows: Int64  # (n,) their row numbers
    cells: Bools  # (n, d) which cells are missing
    factors: Float64  # (n,) by which their evidence is multiplied


class PooledParameters(Parameters):
    """A fitted structure: blocks of evidence, weights and biases.

    `bias`: (C,) of every row, beside log π_c, in nats.
    """

    bias: Float64
    claims_least = True
    missing_is_evidence = True
    not_linear = "the log-odds of pooled evidence are linear in no numbers: they are table look-ups"

    def __init__(self, plan: Plan, rows: SampleStatistics | PlanStatistics) -> None:
        self.plan = plan
        self._learned = rows
        self.bias = plan.bias
        self.n_free = len(plan.weights) + len(plan.bias)
        self.n_free += sum(block.n_free for block in plan.blocks)
        self.has_texts = bool(self._texts)
        self._last: Values | None = None  # of the table that was scored last, for its next chunk

    @cached_property
    def training(self) -> Training:
        """The training rows."""
        return Training.of(self._learned)

    @cached_property
    def _training_rows(self) -> Rows:
        """The distinct training rows in the form that blocks read."""
        return self._rows(Encoded(self.training.codes, self.training.levels))

    def complete(self) -> None:
        """As the base class."""
        if self.plan.incomplete is not None:
            self.plan.incomplete.estimated()

    def kept(self) -> Arrays:
        """The structure as arrays; the rows are stored with the statistics."""
        return arrays_of(self.plan)

    def structure(self) -> Plan:
        """The fitted structure."""
        return self.plan

    def fixed(self, classes: Labels) -> FixedPlan:
        """The structure to fit other rows with (`like=`)."""
        return FixedPlan.of(self.plan, self.levels, self._importance, classes)

    # ---- scores ------------------------------------------------------------------------------

    def readable(self, X: Data) -> tuple[Data, dict[int, Invalid]]:
        """The rows with text in columns of numbers or dates as missing, and these values."""
        if not isinstance(X, Encoded):
            return X, {}  # numbers
        return self.plan.readable(X, lambda j: self._values(X).bins[j])

    def categories(self, X: Data, but: Container[int]) -> dict[int, Categories]:
        """Categories of rows in categorical columns with evidence, except the columns `but`."""
        if not isinstance(X, Encoded):
            return {}
        used = {j for block in self.plan.blocks if block.way is not None for j in block.columns}
        columns = enumerate(self.plan.columns)
        excluded = {j for j, column in columns if column.is_number or j not in used or j in but}
        return categories(self.levels, X, excluded)

    def chunk(self, X: Data, n_classes: int) -> int:
        """How many rows to score at a time."""
        return max(64, SCORED // max(1, n_classes, X.shape[1]))

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Σ_k w_k e_kc(x) for rows start:stop, (C, stop - start).

        The bias and the evidence of text are mixed with the class prior together: the fewer the
        training documents, the more.
        """
        chunk = encoded(X)[start:stop]
        incomplete = self._missing(chunk)
        rows = self._rows(chunk)
        out[:] = 0.0
        text_scores = np.zeros_like(out) if self._prior_mixing else out
        text_scores[:] = self.bias[:, np.newaxis]

        def scores(block: Block) -> Float64:
            return text_scores if block.reads_text else out

        for block, weight in zip(self.plan.blocks, self.plan.weights, strict=True):
            if weight:
                block.add(rows, weight, scores(block))
        if incomplete is not None:
            out[:, incomplete.rows] = 0.0
            text_scores[:, incomplete.rows] = 0.0
            for block, weights, evidence in self._incomplete(chunk[incomplete.rows], incomplete):
                scores(block)[:, incomplete.rows] += weights * evidence
        if self._prior_mixing:
            self._prior_mixing.scores(text_scores, self._unseen(rows))
            out += text_scores

    def _unseen(self, rows: Rows) -> Bools:
        """Which rows have text without a known term, (n,)."""
        unseen, has_terms = np.zeros((2, len(rows)), bool)
        for words in first_words(self.plan):
            _, without_terms = rows.values.text_evidence(words)
            codes = rows.codes[:, words.column]
            unseen |= without_terms[codes]
            has_terms |= ~without_terms[codes] & (codes < len(without_terms) - 1)
        return unseen & ~has_terms

    @cached_property
    def _prior_mixing(self) -> PriorMixing | None:
        """The prior mixing of text evidence; None without text."""
        return prior_mixing(self.plan)

    def biases(self, X: Data) -> Float64:
        """The bias of each row and class, (n, C), with that of its texts.

        Only that of its texts in rows with unfamiliar missing cells.
        """
        X = encoded(X)
        bias = np.repeat(self.bias[np.newaxis], len(X.codes), axis=0)
        if (incomplete := self._missing(X)) is not None:
            bias[incomplete.rows] = 0.0
        if self._texts:
            rows = self._rows(X)
            for block, weight, _ in self._each(X):
                if block.reads_text:
                    bias += (weight * block.biases(rows)).T
        return bias

    def _missing(self, X: Encoded) -> _Missing | None:
        """The rows with unfamiliar missing cells; None if there are none."""
        incomplete = self.plan.incomplete
        if incomplete is None or (missing := self._gone(X)) is None:
            return None
        levels = incomplete.levels(missing)
        rows = np.flatnonzero(levels)
        if not len(rows):
            return None
        return _Missing(rows, missing[rows], incomplete.factors[levels[rows] - 1])

    def _incomplete(self, X: Encoded, some: _Missing) -> Iterator[tuple[Block, Float64, Float64]]:
        """For each block: (block, its weight in each such row, its evidence (C, n) if present)."""
        rows = self._rows(X)
        assert self.plan.incomplete is not None
        for block, weight in zip(self.plan.blocks, self.plan.incomplete.weights, strict=True):
            if weight:
                evidence = np.zeros((len(self.bias), len(rows)))
                block.add(rows, 1.0, evidence)
                evidence[:, ~block.present(some.cells)] = 0.0
                yield block, weight * some.factors, evidence

    def _gone(self, X: Encoded) -> Bools | None:
        """Which cells are missing, (n, d); None if none is."""
        values = self._values(X)
        missing: Bools = X.codes == values.missing
        for j, is_missing in values.invalid.items():
            missing[:, j] = is_missing[X.codes[:, j]]
        return missing if missing.any() else None

    def _values(self, X: Encoded) -> Values:
        """The bins of the distinct values of a table, cached for all of its chunks."""
        values = self._last  # one read: other threads may replace it
        if values is None or values.levels is not X.levels:
            self._last = values = Values(X.levels, self.plan.columns)
        return values

    def _rows(self, X: Encoded) -> Rows:
        """Rows in the form that blocks read."""
        return Rows(X, self._values(X))

    def _each(self, X: Encoded) -> Iterator[tuple[Block, Float64, Float64]]:
        """For each block: (block, weight in each row (n,), evidence (C, n) without bias)."""
        incomplete, rows = self._missing(X), self._rows(X)
        incomplete_blocks = {} if incomplete is None else {
            id(block): (weight, evidence)
            for block, weight, evidence in self._incomplete(X[incomplete.rows], incomplete)
        }  # fmt: skip
        for block, weight in zip(self.plan.blocks, self.plan.weights, strict=True):
            if not weight and id(block) not in incomplete_blocks:
                continue
            weights, evidence = np.full(len(rows), weight), np.zeros((len(self.bias), len(rows)))
            block.add(rows, 1.0, evidence)
            if incomplete is not None:
                some = incomplete.rows
                no_evidence = np.zeros(len(some)), 0.0
                weights[some], evidence[:, some] = incomplete_blocks.get(id(block), no_evidence)
            yield block, weights, evidence - block.biases(rows)

    def contributions(self, X: Data) -> Float64:
        """Contribution of each column, (n, C, d); columns share that of their interactions."""
        X = encoded(X)
        rows = self._rows(X)
        total = np.zeros((len(X.codes), len(self.bias), len(self.plan.columns)))
        for block, weight, evidence in self._each(X):
            total[:, :, list(block.columns)] += block.contributions(rows, weight, evidence)
        return total

    def mixing(self, X: Data) -> Float64 | float:
        """What prior mixing adds to the scores, (n, C): see `log_prob`."""
        if self._prior_mixing is None:
            return 0.0
        X = encoded(X)
        scores = self.biases(X).T
        for block, weight, evidence in self._each(X):
            if block.reads_text:
                scores = scores + weight * evidence
        return self._prior_mixing.added(scores, self._unseen(self._rows(X))).T

    def blocks(self) -> list[tuple[int, ...]]:
        """The columns of each block, without duplicates."""
        return list(dict.fromkeys(block.columns for block in self.plan.blocks))

    def by_block(self, X: Data) -> Float64:
        """Contribution of each of `blocks()`, (n, C, K): interactions apart from their columns."""
        X, places = encoded(X), {columns: k for k, columns in enumerate(self.blocks())}
        total = np.zeros((len(X.codes), len(self.bias), len(places)))
        for block, weight, evidence in self._each(X):
            total[:, :, places[block.columns]] += (weight * evidence).T
        return total

    def alone(self, X: Data) -> Float64:
        """The unweighted evidence of each single column, (n, C, d)."""
        X = encoded(X)
        total = np.zeros((len(X.codes), len(self.bias), len(self.plan.columns)))
        for block, _, evidence in self._each(X):
            if block.way is not None and len(block.columns) == 1:
                total[:, :, block.columns[0]] = evidence.T
        return total

    def explained_texts(self, X: Data, i: int) -> dict[int, ExplainedTerms]:
        """The weighted contributions of terms in row i, for each text column."""
        return explained_texts(self.plan, encoded(X), i)

    def weighted_terms(self, names: Sequence[str]) -> dict[str, WeightedTerms]:
        """The weighted evidence of terms, for each text column."""
        return {names[j]: terms for j, terms in weighted_terms(self.plan).items()}

    def sample(self, codes: Int64, generator: np.random.Generator) -> Encoded:
        """Draw training rows of these classes, in proportion to their weights."""
        training = self.training
        rows = np.zeros(len(codes), np.int64)
        for c in range(training.n_classes):
            entries, positions = np.flatnonzero(training.y == c), codes == c
            if len(entries) and positions.any():
                p = training.weight[entries] / training.weight[entries].sum()
                rows[positions] = training.row[generator.choice(entries, int(positions.sum()), p=p)]
        return Encoded(training.codes[rows], training.levels)

    def formula(self, names: Sequence[str]) -> Formula:
        """The weighted tables, densities and text evidence as a formula, for export."""
        return self.plan.formula(names, prior_mixing(self.plan))

    # ---- for people --------------------------------------------------------------------------

    @property
    def levels(self) -> list[Levels]:
        """The distinct values of each column."""
        return self._learned.levels

    def varies(self, column: int) -> bool:
        """Whether a column has several values, a missing value being one."""
        return self._learned.varies(column)

    def kinds(self) -> Int64:
        """The number of bins of each column, (d,)."""
        return np.array([len(column.coarser[0]) for column in self.plan.columns])

    @cached_property
    def _importance(self) -> list[float]:
        """The importance of each block, from a sample of training rows."""
        X, share, prior = self._first(LOOKED_AT)
        importances = {
            id(block): mean_contribution(weight * evidence, share, prior)
            for block, weight, evidence in self._each(X)
        }
        return [importances.get(id(block), 0.0) for block in self.plan.blocks]

    @cached_property
    def _in_all(self) -> list[float] | None:
        """The importance of each column, interactions included."""
        X, share, prior = self._first(self._max_rows)
        return [mean_contribution(column, share, prior) for column in self.contributions(X).T]

    @property
    def _max_rows(self) -> int:
        """Rows from which the importance of columns is computed, at most."""
        max_rows = CELLS // (len(self.bias) * max(1, len(self.plan.columns)))
        return max(1, min(LOOKED_AT, max_rows))

    def _first(self, most: int) -> tuple[Encoded, Float64, Float64]:
        """A sample of training rows: (rows, the share of each, the share of each class)."""
        training = self.training
        entries, weight = training.sampled(most)
        share, y = weight / max(weight.sum(), 1e-300), training.y[entries]
        prior: Float64 = np.bincount(y, share, training.n_classes)  # type: ignore[assignment]
        return Encoded(training.codes[training.row[entries]], training.levels), share, prior

    def evidence(self, names: Sequence[str]) -> Evidences:
        """The blocks with their weights and importance."""
        evidences = [
            Evidence([names[j] for j in block.columns], self._what(block), weight, importance)
            for block, weight, importance in self._ranked()
        ]
        in_all = self._in_all
        of_columns = None if in_all is None else dict(zip(names, in_all, strict=True))
        return Evidences(evidences, of_columns, self.out_of_fold)

    @property
    def out_of_fold(self) -> OutOfFoldPredictions | None:  # type: ignore[override]
        """Out-of-fold predictions of the training rows."""
        return self.plan.out_of_fold

    def shapes(self, names: Sequence[str], classes: Labels) -> list[Shape]:
        """The evidence of each block by bin, in the order of `evidence`."""
        shapes, totals = [], self._totals()
        split_dates = {block.columns for block in self.plan.blocks if block.part_of_date}
        for block, weight, importance in self._ranked():
            rows, part = self._cell_weights(block), ""
            bins: list[Bins] = []
            evidence = np.empty(0)
            if rows is not None:
                bins, evidence = block.drawn(names, self.plan.columns, self.levels)
                rows = rows.reshape(evidence.shape)
                part = block.part_of_date or "over time" * (block.columns in split_dates)
            shapes.append(Shape(
                tuple(names[j] for j in block.columns), self._what(block), weight, importance,
                classes, bins, evidence, np.empty(0) if rows is None else rows, part,
                not self._texts.isdisjoint(block.columns), totals.get(id(block)),
            ))  # fmt: skip
        return shapes

    def _totals(self) -> dict[int, Float64]:
        """`Shape.total` of each table of one column that is in interactions, by the block's id."""
        ranked = [block for block, _, _ in self._ranked()]
        together = {j for block in ranked if len(block.columns) > 1 for j in block.columns}
        if not together:
            return {}
        X, share, _ = self._first(self._max_rows)
        rows, contributions = self._rows(X), self.contributions(X)
        totals = {}
        for block in ranked:
            (j, *others), cells = block.columns, block.cells(rows)
            if others or j not in together or cells is None:
                continue
            size = len(block.table)
            with np.errstate(invalid="ignore"):  # NaN in cells without rows
                totals[id(block)] = np.column_stack([
                    np.bincount(cells, share * of_class, size) / np.bincount(cells, share, size)
                    for of_class in contributions[:, :, j].T
                ])  # fmt: skip
        return totals

    @cached_property
    def _texts(self) -> set[int]:
        """The columns whose words are counted."""
        return {j for block in self.plan.blocks if block.reads_text for j in block.columns}

    def _cell_weights(self, block: Block) -> Float64 | None:
        """The weight of training rows in each cell of a block by class, (cells, C), if known."""
        training, cells = self.training, block.cells(self._training_rows)
        if cells is None:
            return None
        places = cells[training.row].astype(np.int64) * training.n_classes + training.y
        weights = np.bincount(places, training.weight, block.table.size)
        return weights.astype(np.float64).reshape(-1, training.n_classes)

    def _ranked(self) -> list[tuple[Block, float, float]]:
        """(block, weight, importance) of each block with a weight, most important first."""
        weights = self.plan.weights.tolist()
        triples = zip(self.plan.blocks, weights, self._importance, strict=True)
        return sorted(filter(itemgetter(1), triples), key=lambda triple: -triple[2])

    def _what(self, block: Block) -> str:
        """A short description of a block."""
        return block.what(self.plan.columns, self._texts)


# ---- fixed structures ----------------------------------------------------------------------------


class PlannedParameters(PooledParameters):
    """The evidence of a fixed structure, estimated from counts."""

    def __init__(
        self, fixed_plan: FixedPlan, statistics: PlanStatistics, class_weight: ExactArray
    ) -> None:
        self.fixed_plan = fixed_plan
        self._counts = [statistics.block(k).rounded().T for k in range(len(fixed_plan.cells))]
        plan = fixed_plan.estimated(self._counts, class_weight.rounded())
        super().__init__(plan, statistics)

    def kept(self) -> Arrays:
        """No arrays: the evidence is estimated from the counts quickly."""
        return {}

    def structure(self) -> Any:
        """None: the structure was not fitted here."""
        return None

    def fixed(self, classes: Labels) -> FixedPlan:
        """The fixed structure."""
        return self.fixed_plan

    def sample(self, codes: Int64, generator: np.random.Generator) -> Encoded:
        """Draw rows whose columns are independent, from the counts, as no rows are stored.

        Each bin is represented by its first value. Columns that are not counted alone are missing.
        """
        missing = np.array([len(levels) for levels in self.levels], np.int32)
        drawn_codes = np.tile(missing, (len(codes), 1))
        for block, counts in zip(self.fixed_plan.cells, self._counts, strict=True):
            if len(block.columns) > 1:
                continue
            (j,) = block.columns
            bins = self.plan.columns[j].bins(self.levels[j])
            first_values = np.full(len(counts), len(self.levels[j]))
            first_values[bins[::-1]] = np.arange(len(bins))[::-1]
            for c, weight in enumerate(counts.T):
                rows = np.flatnonzero(codes == c)
                if len(rows) and weight.any():
                    cells = generator.choice(len(counts), len(rows), p=weight / weight.sum())
                    drawn_codes[rows, j] = first_values[cells]
        return Encoded(drawn_codes, self.levels)

    def readable(self, X: Data) -> tuple[Data, dict[int, Invalid]]:
        """All rows: invalid values are reported where rows are counted (`PlanCounts.unread`)."""
        return X, {}

    @cached_property
    def _importance(self) -> list[float]:
        """Importance from the counts; for normal densities that of the rows it was fitted to."""
        importances, counts = [], iter(self._counts)
        fitted_importance = self.fixed_plan.importance
        triples = zip(self.plan.blocks, self.plan.weights, fitted_importance, strict=True)
        for block, weight, importance in triples:
            if block.way is None:
                importances.append(float(importance))
                continue
            block_counts = next(counts)
            share = block_counts.sum(axis=1) / max(block_counts.sum(), 1e-300)
            prior = block_counts.sum(axis=0) / max(block_counts.sum(), 1e-300)
            importances.append(abs(weight) * mean_contribution(block.table.T, share, prior))
        return importances

    @property
    def _in_all(self) -> None:
        """None: it needs rows."""

    def _totals(self) -> dict[int, Float64]:
        """None: they need rows."""
        return {}

    def _cell_weights(self, block: Block) -> Float64 | None:
        """The counts of a block; None for normal densities and parts of dates, which have none."""
        if block.way is None:
            return None
        cells = [(counted.columns, counted.way) for counted in self.fixed_plan.cells]
        return self._counts[cells.index((block.columns, block.way))]

    @property
    def out_of_fold(self) -> None:  # type: ignore[override]
        """None: the structure was fitted to other rows."""
