"""How models of a table do on rows that they did not learn, as they learn more and more."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from naively.exact import Float64, Int64
from naively.families.levels import Encoded
from naively.families.multivariate import MultivariateGaussian
from naively.families.product import Blocks, ProductStatistics
from naively.model import Model
from naively.prior import Prior
from naively.study.margins import known_mean
from naively.study.rows import LabelledRows
from naively.study.rungs import Rung
from naively.study.splits import Splits
from naively.tables.schema import Block, Schema
from naively.workers import Workers

MOST = 1_000_000  # parameters of a covariance rung that is tried
MEMORY = 3 << 29  # bytes that the sums of all parts may take
CELLS = 1 << 22  # of a table of probabilities


@dataclass(frozen=True, eq=False)
class Curve:
    """How a model does on rows that it did not learn.

    Attributes
    ----------
    log_loss : (S, K) mean -log P(y | x) in nats, of each split, after each training size; NaN
        where the model cannot be estimated or gives no probabilities.
    error : (S, K) part of the rows whose class was not the predicted one; NaN likewise.
    losses : (n,) -log P(y | x) of each row by the models of the last size; NaN likewise, and of
        rows that no split predicts.
    wrong : (n,) 1 where another class was predicted, else 0; NaN likewise.
    reason : why the models of the last size cannot be estimated; empty if they can.
    seconds : that it took.
    warning : the first one that was given meanwhile; empty if none was.
    """

    log_loss: Float64
    error: Float64
    losses: Float64
    wrong: Float64
    reason: str
    seconds: float
    warning: str = ""

    def fill(self, split: int, size: int, test: Int64, losses: Float64, wrong: Float64) -> None:
        """Note how the rows of a split were predicted by a model of a training size."""
        self.log_loss[split, size] = known_mean(losses)
        self.error[split, size] = known_mean(wrong)
        if size + 1 == self.error.shape[1]:
            self.losses[test], self.wrong[test] = losses, wrong


def blank_curve(splits: Splits, reason: str = "") -> Curve:
    """A curve without values."""
    shape, n = (len(splits.tests), len(splits.sizes)), len(splits.codes)
    points, rows = np.full((2, *shape), np.nan), np.full((2, n), np.nan)
    return Curve(points[0], points[1], rows[0], rows[1], reason, 0.0)


class Sums:
    """What the parts of the rows add up to, for a block of columns or for none.

    Parameters
    ----------
    trial : whose rows are learned.
    block : Block, or None for the classes alone.

    Attributes
    ----------
    X : Blocks, the rows as the block takes them.
    blank : Model of the block that has learned nothing.
    parts : list of Model, one a part of the splits; none if they are too large.
    too_large : whether they take too much memory.
    seconds : spent on sums.
    """

    def __init__(self, trial: Trial, block: Block | None) -> None:
        start = time.perf_counter()
        self.block = block
        schema = replace(trial.rule, blocks=(block,) if block else ())
        encoded, _ = schema.encode(trial.rows.table)
        parts = [_numbered(part) if isinstance(part, Encoded) else part for part in encoded.parts]
        self.X = Blocks(parts, encoded.n_rows)
        self.blank = Model(schema.product, Prior(), len(schema.names), schema.names)
        labels, codes = trial.rows.classes, trial.rows.codes
        self.parts: list[Model] = []
        self.too_large = False
        held = 0
        for rows in trial.splits.parts:
            part = self.blank.summarise(self.X[rows], (labels, codes[rows]), None, trial.workers)
            held += _size(part)
            if held > MEMORY:
                self.parts, self.too_large = [], True
                break
            self.parts.append(part)
        self.seconds = time.perf_counter() - start

    def serve(self, block: Block) -> bool:
        """Whether they are the sums of a block."""
        own = self.block
        return own is not None and own.names == block.names and own.family.adds_to(block.family)

    @cached_property
    def whole(self) -> Model:
        """What all parts add up to."""
        total = self.blank.copy()
        self.grow(total, np.arange(len(self.parts)))
        return total

    def grow(self, total: Model, step: Int64) -> None:
        """Add some parts to a model, in place."""
        start = time.perf_counter()
        for part in () if self.too_large else step:
            total.absorb(self.parts[part])
        self.seconds += time.perf_counter() - start


class Trial:
    """Learning curves of rungs, on the same splits of the same rows.

    Models are sums: each part of the rows is learned once, for all rungs that need the same sums,
    and what a larger training set has beyond a smaller one is added to it.

    Parameters
    ----------
    rows : LabelledRows
    rule : Schema of the columns.
    splits : of the rows.
    """

    def __init__(self, rows: LabelledRows, rule: Schema, splits: Splits, workers: Workers) -> None:
        self.rows, self.rule, self.splits, self.workers = rows, rule, splits, workers
        self._sums = [Sums(self, None)]

    def parameters(self, rung: Rung) -> int:
        """The free parameters of a rung that learned all rows, C - 1 of the prior included."""
        blocks = rung.blocks if rung.free is None else rung.blocks[1:]
        wholes = [self._sums[self._needed(block)].whole for block in blocks]
        rest = self._model(blocks, self._sums[0].whole, wholes)
        return rest.n_parameters + (rung.free or 0)

    def curves(self, rungs: Sequence[Rung], done: Callable[[], None] = lambda: None) -> list[Curve]:
        """How the rungs do; `done` is called after each split, size and rung."""
        found = [blank_curve(self.splits, self._too_large(rung)) for rung in rungs]
        open_ = [k for k, curve in enumerate(found) if not curve.reason]
        needs = {k: [self._needed(block) for block in rungs[k].blocks] for k in open_}
        sums = self._sums
        for k in open_:
            if any(sums[j].too_large for j in needs[k]):
                found[k] = blank_curve(self.splits, "not tried: its sums take too much memory")
        tried = [k for k, curve in enumerate(found) if not curve.reason]
        for _ in range((len(found) - len(tried)) * len(self.splits.tests) * len(self.splits.sizes)):
            done()
        reasons, seconds = dict.fromkeys(tried, ""), dict.fromkeys(tried, 0.0)
        for split, (test, steps) in enumerate(
            zip(self.splits.tests, self.splits.steps, strict=True)
        ):
            totals = [one.blank.copy() for one in sums]
            those = [one.X[test].parts for one in sums]
            for size, step in enumerate(steps):
                for one, total in zip(sums, totals, strict=True):
                    one.grow(total, step)
                for k in tried:
                    start = time.perf_counter()
                    model = self._model(rungs[k].blocks, totals[0], [totals[j] for j in needs[k]])
                    X = Blocks([part for j in needs[k] for part in those[j]], len(test))
                    try:
                        model.check(self.workers)
                    except ValueError as error:  # a covariance without a density
                        reasons[k] = str(error) if size + 1 == len(steps) else reasons[k]
                    else:
                        scored = self._scored(model, X, self.rows.codes[test])
                        found[k].fill(split, size, test, *scored)
                    seconds[k] += time.perf_counter() - start
                    done()
        for k in tried:
            shares = (sums[j].seconds / sum(j in needs[i] for i in tried) for j in needs[k])
            found[k] = replace(found[k], reason=reasons[k], seconds=seconds[k] + sum(shares))
        return found

    def _too_large(self, rung: Rung) -> str:
        """Why a rung is not tried, if it is a covariance of too many parameters."""
        block = rung.blocks[0] if rung.blocks else None
        if block is None or not isinstance(block.family, MultivariateGaussian):
            return ""
        many = rung.free is not None and rung.free > MOST
        return f"not tried: more than {MOST:,} parameters" if many else ""

    def _needed(self, block: Block) -> int:
        """Which of the sums are those of a block; they are learned if none are."""
        for k, one in enumerate(self._sums):
            if one.serve(block):
                return k
        self._sums.append(Sums(self, block))
        return len(self._sums) - 1

    def _model(self, blocks: tuple[Block, ...], prior: Model, totals: list[Model]) -> Model:
        """A model of these blocks with what was learned of each."""
        schema = replace(self.rule, blocks=blocks)
        learned = [cast(ProductStatistics, total.statistics).parts[0] for total in totals]
        return Model(
            schema.product, prior.prior, len(schema.names), schema.names, prior.classes,
            prior.class_weight, ProductStatistics(learned),
        )  # fmt: skip

    def _scored(self, model: Model, X: Blocks, codes: Int64) -> tuple[Float64, Float64]:
        """(-log P(y | x) in nats, whether another class is more probable) of rows, (n,) both."""
        n, classes = len(codes), len(model.classes)
        losses, wrong = np.empty(n), np.empty(n)
        for rows in np.array_split(np.arange(n), 1 + n * classes // CELLS):
            log_proba = np.broadcast_to(model.log_prior, (len(rows), classes))
            if X.parts:
                log_proba = model.log_proba(X[rows[0] : rows[-1] + 1], self.workers)
            losses[rows] = -log_proba[np.arange(len(rows)), codes[rows]]
            wrong[rows] = log_proba.argmax(axis=1) != codes[rows]
        return losses, wrong


def _size(model: Model) -> int:
    """Of the tables of a model's sums, in bytes."""
    blocks = cast(ProductStatistics, model.statistics).parts
    return sum(table.limbs.nbytes for block in blocks for table in block.tables.values())


def _numbered(part: Encoded) -> Encoded:
    """The same with numbers for the text of levels: they are compared faster, and often."""
    return Encoded(part.codes, [np.arange(float(len(levels))) for levels in part.levels])
