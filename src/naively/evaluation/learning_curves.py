"""Compute learning curves of the model ladder by cross-validation: models are sums of counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.workers import Workers
from naively.evaluation.folds import alike, distinct_columns, select_columns, serves
from naively.evaluation.metrics import Scores, Tally
from naively.evaluation.model_ladder import Rung
from naively.evaluation.samples import LabelledRows
from naively.evaluation.splits import ByGroup, ByTime, SplitBy
from naively.model.model import Model
from naively.model.prior import Prior
from naively.model.schema import Counted, Schema
from naively.statistics.base import Batch, Statistics
from naively.statistics.levels import Encoded
from naively.statistics.powers import class_weights
from naively.tables.encoding import encode, encode_part, silenced
from naively.tables.left_out import unvaried_in

MOST = 1_000_000  # parameters of a covariance, above which the model is not tried
MEMORY = 3 << 29  # bytes of the sums of all groups, at most
CELLS = 1 << 22  # of a table of probabilities

Progress = Callable[[str, int], AbstractContextManager[Callable[[], None]]]
"""Context manager of (task, number of steps); it returns a function to call after each step."""


def silent(what: str, steps: int) -> AbstractContextManager[Callable[[], None]]:
    """Show no progress."""
    return nullcontext(lambda: None)


class Splits:
    """Nested training sets of growing sizes, and the test rows of each split.

    Rows are assigned to stratified folds at random. A split tests on one fold and trains on the
    others, one after the other. The smallest training set has a row of every class; rows are moved
    to the front where this needs it. A class with one distinct row is always in the training set.

    Rows can be split by groups, too: then the groups of a class that are all in one fold are always
    in the training set. Or by time: then a split trains on the rows before its fold, the latest
    first, and the first fold begins when every class has had a row.

    Rows with the same place in all splits form a group: all training sets are sums of groups.

    sizes : of the training sets, increasing; the first is at least the number of classes.
    alike : (n,) a number for each row: rows with the same number are duplicates, and in one fold.
    whole : whether to add all rows of the other folds to `sizes`: the smallest number of them, or
        their mean if rows are split by groups or time.
    by : groups or times to split the rows by; None for random folds.
    parts : tuple of (m,) rows, the groups; each row is in one.
    tests : tuple of (m,) rows that each split predicts.
    steps : for each split and size, the groups added to the training set.

    Raises ValueError if no row can be held out; without `whole`, if a size is below the number of
    classes, or above the training rows of some split.
    """

    def __init__(
        self, codes: Int64, folds: int, sizes: Sequence[int] = (), seed: int = 0,
        whole: bool = True, alike: Int64 | None = None, by: SplitBy | None = None,
    ) -> None:  # fmt: skip
        self.codes, self.folds = codes, folds
        if isinstance(by, ByTime):
            tests, orders = _forward(codes, by, folds, seed)
        else:
            alike = np.arange(len(codes)) if alike is None else alike
            if by is None:
                fold, rank = _dealt(codes, alike, folds, seed)
            else:
                fold, rank = _grouped(codes, by, folds, seed)
            tests, orders = _rotating(fold, rank, folds)
        if not tests:
            reason = "duplicates" if by is None else f"of one {by.name or 'group'}"
            raise ValueError(f"all rows of each class are {reason}: none can be held out")
        n_rows = [len(order) for order in orders]
        n_training = min(n_rows)
        if whole:
            last = n_training if by is None else round(sum(n_rows) / len(n_rows))
            self.sizes = (*(size for size in sizes if size < n_training), last)
        else:
            self.sizes = tuple(sizes)
            _check_sizes(self.sizes, len(np.unique(codes)), n_training)
        # the first size that includes a row
        first_size = np.full((len(tests), len(codes)), len(self.sizes))
        ends = self.sizes[:-1] if whole else self.sizes
        for row_sizes, order in zip(first_size, map(self._with_all, orders), strict=True):
            row_sizes[order] = np.searchsorted(ends, np.arange(len(order)), "right")
        alike, self.parts = distinct_columns(first_size)
        self.tests = tuple(tests)
        indices = range(len(self.sizes))
        self.steps = tuple(tuple(np.flatnonzero(row == k) for k in indices) for row in alike)

    def _with_all(self, order: Int64) -> Int64:
        """Move one row of each class to the front, if it may not be within the first size.

        At most as many rows as there are classes are moved out of it.
        """
        _, first = np.unique(self.codes[order], return_index=True)
        deferred = np.zeros(len(order), bool)
        deferred[first[first >= self.sizes[0] - len(first)]] = True
        return order[np.argsort(~deferred, kind="stable")]


def _check_sizes(sizes: Sequence[int], least: int, most: int) -> None:
    """Raise ValueError for the first size that is too small or too large."""
    for size in sizes:
        if not least <= size <= most:
            raise ValueError(
                f"sizes must be from {least:,}, a row of each class, to {most:,}, the training "
                f"rows of the smallest split; {size:,} is not"
            )


def _dealt(codes: Int64, alike: Int64, folds: int, seed: int) -> tuple[Int64, Int64]:
    """(the fold of each row, or `folds` if it is always trained on; its rank within the fold)."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    _, first, group = np.unique(alike[order], return_index=True, return_inverse=True)
    group_order = np.empty(len(first), np.int64)
    # groups in the order of their first rows
    group_order[np.argsort(first)] = np.arange(len(first))
    fold = np.empty(len(order), np.int64)
    fold[order] = group_order[group] % folds
    n_groups = np.bincount(codes[order[first]], minlength=int(codes.max(initial=0)) + 1)
    fold[n_groups[codes] == 1] = folds
    return fold, generator.permutation(len(order))


def _grouped(codes: Int64, by: ByGroup, folds: int, seed: int) -> tuple[Int64, Int64]:
    """(the fold of each row, or `folds` for groups that are always trained on; its rank)."""
    fold = by.folds(codes, None, folds, seed)
    pairs = np.unique(np.stack([codes, fold]), axis=1)
    alone = np.bincount(pairs[0])[codes] == 1  # the class is in no other fold
    fold[np.isin(by.numbers, by.numbers[alone])] = folds
    return fold, np.random.default_rng(seed).permutation(len(codes))


def _rotating(fold: Int64, rank: Int64, folds: int) -> tuple[list[Int64], list[Int64]]:
    """(the test rows of each split, its training rows in their order)."""
    tested = [k for k in range(folds) if (fold == k).any()]
    orders = []
    for k in tested:
        distance = np.where(fold < folds, (fold - k - 1) % folds, folds)
        order = np.lexsort([rank, distance])
        orders.append(order[fold[order] != k])
    return [np.flatnonzero(fold == k) for k in tested], orders


def _forward(codes: Int64, by: ByTime, folds: int, seed: int) -> tuple[list[Int64], list[Int64]]:
    """As `_rotating`, with the rows before each fold for training, the latest first."""
    times = np.where(np.isnan(by.times), np.inf, by.times)
    start = max(times[codes == c].min() for c in np.unique(codes))
    block = by.folds(codes, None, folds, start)
    order = np.lexsort([np.random.default_rng(seed).permutation(len(codes)), -times])
    tested = range(1, int(block.max()) + 1)
    return (
        [np.flatnonzero(block == k) for k in tested],
        [order[(block[order] >= 0) & (block[order] < k)] for k in tested],
    )


def growing(codes: Int64, folds: int) -> tuple[int, ...]:
    """Sizes of training sets: 10, 20, 50, 100 and so on, from two rows per class.

    `folds`: number of folds; the size of a whole training set is not included.
    """
    smallest = 2 * len(np.unique(codes))
    largest = len(codes) * (folds - 1) / folds / 1.2  # leave out a size close to the last
    sizes = (10**k * m for k in range(1, 16) for m in (1, 2, 5))
    return tuple(size for size in sizes if smallest <= size <= largest)


# ---- learning curves -----------------------------------------------------------------------------


class Predicted(NamedTuple):
    """Predictions of some rows: their tally, and the loss and error of each."""

    tally: Tally
    losses: Float64
    wrong: Float64


@dataclass(frozen=True, eq=False)
class Curve:
    """The learning curve of a model on held-out rows."""

    # (S, K) mean -log P(y | x) in nats, by split and training size; NaN where the model cannot be
    # estimated or has no probabilities
    log_loss: Float64
    error: Float64  # (S, K) share of rows whose class was not the predicted one; NaN likewise
    # (n,) -log P(y | x) of each row by the models of the last size; NaN likewise, and for rows that
    # no split predicts
    losses: Float64
    wrong: Float64  # (n,) 1 where another class was predicted, else 0; NaN likewise
    rows: Int64  # (S,) number of test rows of each split
    reason: str  # why the models of the last size cannot be estimated; empty if they can
    seconds: float  # time of the whole curve
    warning: str = ""  # the first warning; empty if there was none
    # of each split that was predicted, by the models of the last size
    tallies: list[Tally] = field(default_factory=list)

    @property
    def scores(self) -> Scores:
        """Scores of all held-out rows by the models of the last size."""
        return reduce(add, self.tallies).scores()

    def fill(self, split: int, size: int, test: Int64, predicted: Predicted) -> None:
        """Store the predictions of a split by the model of a training size."""
        scores = predicted.tally.scores()
        self.log_loss[split, size], self.error[split, size] = scores.log_loss, scores.error
        if size + 1 == self.error.shape[1]:
            self.losses[test], self.wrong[test] = predicted.losses, predicted.wrong
            self.tallies.append(predicted.tally)


def alike_of(rule: Schema, rows: LabelledRows) -> Int64:
    """Number rows so that duplicates share a number: see `naively.evaluation.folds.alike`."""
    return alike(rule, encode(rule, rows.table)[0], rows.codes)


def too_long(seconds: float) -> str:
    """Why the curve is incomplete."""
    return f"not finished in {seconds:g} seconds"


def blank_curve(splits: Splits, reason: str = "") -> Curve:
    """A curve without values."""
    tests, n = np.array([*map(len, splits.tests)]), len(splits.codes)
    points = np.full((2, len(tests), len(splits.sizes)), np.nan)
    rows = np.full((2, n), np.nan)
    return Curve(points[0], points[1], rows[0], rows[1], tests, reason, 0.0)


class Sums:
    """Sums over each group of rows, for one summary of some columns.

    `parts`: list of Statistics, one for each group of the splits; empty if they are too large.
    """

    def __init__(self, trial: Trial, part: Counted) -> None:
        start = time.perf_counter()
        self.part = part
        X, _ = encode_part(part, trial.rows.table, trial.rule)
        self.X = X
        if part.summary.takes == "levels":  # numbers are compared faster than the texts of levels
            self.X = Encoded(X.codes, [np.arange(float(len(levels))) for levels in X.levels])
        self.classes = np.arange(len(trial.rows.classes))
        self.parts: list[Statistics] = []
        self.too_large = False
        n_bytes = 0
        for rows in trial.splits.parts:
            statistics = part.summary.summarise(self.X[rows], trial.batch(rows), trial.workers)
            n_bytes += statistics.nbytes
            if n_bytes > MEMORY:
                self.parts, self.too_large = [], True
                break
            self.parts.append(statistics)
        self.seconds = time.perf_counter() - start

    def of(self, part: Counted, whole: Any) -> Any:
        """Select the columns of `part` from rows or sums."""
        return select_columns(self.part, part, whole)

    def blank(self) -> Statistics:
        """The sums of no rows."""
        return self.part.summary.empty(len(self.classes), len(self.part.names))

    @cached_property
    def whole(self) -> Statistics:
        """The sums over all rows."""
        total = self.blank()
        self.grow(total, np.arange(len(self.parts)))
        return total

    def grow(self, total: Statistics, step: Int64) -> None:
        """Add groups to a total, in place."""
        start = time.perf_counter()
        for part in () if self.too_large else step:
            total.accumulate(self.parts[part], self.classes)
        self.seconds += time.perf_counter() - start


class Trial:
    """Learning curves of models of the ladder, on the same splits of the same rows.

    Models are sums: each group of rows is counted once for all models that use the same sums, and
    a larger training set adds groups to a smaller one.
    """

    def __init__(self, rows: LabelledRows, rule: Schema, splits: Splits, workers: Workers) -> None:
        self.rows, self.rule, self.splits, self.workers = rows, rule, splits, workers
        self.weights = [class_weights(self.batch(part)) for part in splits.parts]
        self._sums: list[Sums] = []

    def batch(self, rows: Int64) -> Batch:
        """The classes of some rows."""
        return Batch(self.rows.codes[rows], len(self.rows.classes))

    def parameters(self, rung: Rung) -> int:
        """The number of free parameters after training on all rows, C - 1 of the prior included."""
        blocks = rung.blocks if rung.free is None else rung.blocks[1:]
        schema = replace(self.rule, blocks=blocks)
        sums = [(part, self._needed(part)) for part in schema.parts]
        parts = [part_sums.of(part, part_sums.whole) for part, part_sums in sums]
        weight = self._weight(np.arange(len(self.weights)))
        return self._model(schema, weight, parts).posterior().n_parameters + (rung.free or 0)

    def curves(
        self, rungs: Sequence[Rung], done: Callable[[], None] = lambda: None,
        limit: float = np.inf,
    ) -> list[Curve]:  # fmt: skip
        """Compute learning curves; `done` is called after each split, size and model.

        A model that has taken longer than `limit` seconds is not continued.
        """
        results = [blank_curve(self.splits, _too_many(rung)) for rung in rungs]
        schemas = [replace(self.rule, blocks=rung.blocks) for rung in rungs]
        candidates = [k for k, curve in enumerate(results) if not curve.reason]
        parts_needed = [part for k in candidates for part in schemas[k].parts]
        for part in sorted(parts_needed, key=lambda part: -len(part.names)):
            self._needed(part)  # many columns first: their sums include those of fewer
        sums_of = {k: [(part, self._needed(part)) for part in schemas[k].parts] for k in candidates}
        for k in candidates:
            if any(part_sums.too_large for _, part_sums in sums_of[k]):
                results[k] = blank_curve(self.splits, "not tried: its sums take too much memory")
        evaluated = [k for k, curve in enumerate(results) if not curve.reason]
        n_skipped = len(results) - len(evaluated)
        for _ in range(n_skipped * len(self.splits.tests) * len(self.splits.sizes)):
            done()
        reasons, seconds = dict.fromkeys(evaluated, ""), dict.fromkeys(evaluated, 0.0)
        for split, (test, steps) in enumerate(
            zip(self.splits.tests, self.splits.steps, strict=True)
        ):
            totals = {part_sums: part_sums.blank() for part_sums in self._sums}
            rows = {part_sums: part_sums.X[test] for part_sums in self._sums}
            for size, step in enumerate(steps):
                for part_sums, total in totals.items():
                    part_sums.grow(total, step)
                weight = self._weight(np.concatenate(steps[: size + 1]))
                for k in evaluated:
                    if seconds[k] > limit:
                        reasons[k] = too_long(limit)
                        done()
                        continue
                    start = time.perf_counter()
                    statistics = [sums.of(part, totals[sums]) for part, sums in sums_of[k]]
                    model = self._model(schemas[k], weight, statistics)
                    X = [part_sums.of(part, rows[part_sums]) for part, part_sums in sums_of[k]]
                    try:
                        model.check(self.workers)
                    except ValueError as error:  # singular covariance
                        reasons[k] = str(error) if size + 1 == len(steps) else reasons[k]
                    else:
                        codes = self.rows.codes[test]
                        results[k].fill(split, size, test, self._scored(model, X, codes))
                    seconds[k] += time.perf_counter() - start
                    done()
        sums_used = [part_sums for k in evaluated for _, part_sums in sums_of[k]]
        for k in evaluated:
            shares = (part_sums.seconds / sums_used.count(part_sums) for _, part_sums in sums_of[k])
            results[k] = replace(results[k], reason=reasons[k], seconds=seconds[k] + sum(shares))
        return results

    def _needed(self, part: Counted) -> Sums:
        """The sums of `part`, from a summary that includes them or counted now."""
        for part_sums in self._sums:
            if serves(part_sums.part, part):
                return part_sums
        self._sums.append(Sums(self, part))
        return self._sums[-1]

    def _weight(self, parts: Int64) -> ExactArray:
        """The weight of each class in these groups."""
        total = ExactArray.zeros((len(self.rows.classes),))
        for part in parts:
            total = total.accumulate(self.weights[part])
        return total

    def _model(self, schema: Schema, weight: ExactArray, parts: list[Statistics]) -> Model:
        """A model of these sums."""
        return Model(schema, Prior(), self.rows.classes, weight, schema.statistics(parts))

    def _scored(self, model: Model, parts: list[Any], codes: Int64) -> Predicted:
        """Predict rows of these classes."""
        n, classes = len(codes), len(model.classes)
        posterior = model.posterior(self.workers)
        parts = silenced(model.schema, parts, unvaried_in(posterior))
        tally, losses, errors = Tally(model.classes), np.empty(n), np.empty(n)
        for rows in np.array_split(np.arange(n), 1 + n * classes // CELLS):
            log_proba = np.broadcast_to(posterior.log_prior, (len(rows), classes))
            if parts:
                block = slice(rows[0], rows[-1] + 1)
                X = model.schema.rows([part[block] for part in parts], len(rows))
                log_proba = posterior.log_proba(X, self.workers)
            losses[rows], errors[rows] = tally.add(codes[rows], log_proba)
        return Predicted(tally, losses, errors)


def _too_many(rung: Rung) -> str:
    """Why a model is not tried, if its covariance has too many parameters; else empty."""
    if rung.free is None or rung.free <= MOST or not rung.blocks[0].family.may_be_singular:
        return ""
    return f"not tried: more than {MOST:,} parameters"
