"""Exact sums of x (and x * x) by class and feature, of any data: which kernel, which window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import LARGEST, ExactArray, Int64
from naively.kernels import deposits, labels, limbs, moments
from naively.statistics.base import Batch, Data, InvalidValueError, Statistics, is_sparse, shown
from naively.workers import SERIAL, Workers

FEW = 4  # rows a class, and
MOST = 1 << 26  # rows that lazy limbs have room for
SMALL = 1024  # cells, up to which single deposits beat the set-up of the partial sums


Window = tuple[int, int]
"""(lowest, highest) exponent of the bits that limbs must hold, before any adding up."""


class Limbs:
    """Limbs that deposits are made to; none at all without a window."""

    def __init__(self, cells: int, window: Window | None) -> None:
        self.first = self.size = 0
        if window is not None:
            self.first = window[0] // 32
            self.size = limbs.needed(32 * self.first, window[1])
        self.flat = np.zeros(cells * self.size, np.int64)

    @property
    def low(self) -> int:
        """Exponent of the lowest bit."""
        return 32 * self.first

    @property
    def arguments(self) -> tuple[Int64, int, int]:
        """As the kernels take them."""
        return self.flat, self.size, self.low

    def exact(self, shape: tuple[int, ...]) -> ExactArray:
        """The sums."""
        if self.size == 0:
            return ExactArray.zeros(shape)
        return ExactArray.from_lazy(self.flat.reshape(*shape, self.size), self.first)


def window(smallest: float, largest: float) -> Window | None:
    """The bits of all floats between two magnitudes; None if there are none."""
    if largest == 0.0:
        return None
    return max(math.frexp(smallest)[1] - 53, -1074), math.frexp(largest)[1]


def product(*windows: Window | None) -> Window | None:
    """The bits of the products of numbers from each window."""
    if any(w is None for w in windows):
        return None
    return sum(w[0] for w in windows if w), sum(w[1] for w in windows if w)


def slabs(n: int, parts: int) -> list[slice]:
    """So many parts of n rows, one after the other, of about the same size."""
    return [slice(n * k // parts, n * (k + 1) // parts) for k in range(parts)]


@dataclass(frozen=True)
class Bounds:
    """What to sum, and which values are welcome."""

    squares: bool
    threshold: float
    minimum: float
    maximum: float


def sum_powers(
    X: Data, batch: Batch, workers: Workers, *, squares: bool = False,
    threshold: float = math.nan, minimum: float = -LARGEST, maximum: float = LARGEST,
) -> dict[str, ExactArray]:  # fmt: skip
    """Exact tables ``sum``, ``missing`` and, if asked for, ``square``, each (C, d).

    With a threshold, a value counts as 1 above it and as 0 elsewhere. ``missing`` is the weight
    of the rows in which the feature is NaN.
    """
    return _sum(X, batch, workers, Bounds(squares, threshold, minimum, maximum)).tables


def _sum(X: Data, batch: Batch, workers: Workers, bounds: Bounds) -> Statistics:
    n, d = X.shape
    everyone = np.arange(batch.n_classes)
    if n > MOST:
        total = _sum(X[:MOST], batch.part(slice(MOST)), workers, bounds)
        try:
            total.accumulate(_sum(X[MOST:], batch.part(slice(MOST, n)), workers, bounds), everyone)
        except InvalidValueError as error:
            error.row += MOST
            raise
        return total
    many = n > FEW * batch.n_classes and n * d > SMALL
    if not many or is_sparse(X) or len(batch.weights) > 0:
        return _by_deposits(X, batch, workers, bounds)
    count = max(1, min(workers.count, n * d // 2**17, n // (FEW * batch.n_classes)))
    parts = workers.map(lambda rows: _by_pieces(X, batch, rows, bounds), slabs(n, count))
    for other in parts[1:]:
        parts[0].accumulate(other, everyone)
    return parts[0]


def refuse_beyond(X: Data, start: int, stop: int, most: float) -> None:
    """Raise the error for the first value of some rows that is below 0 or above `most`, if any."""
    sparse = is_sparse(X)
    values = X.data[X.indptr[start] : X.indptr[stop]] if sparse else X[start:stop]
    wrong = (values < 0) | (values > most)
    if not wrong.any():
        return
    if sparse:
        place = X.indptr[start] + wrong.argmax()
        row, column = np.searchsorted(X.indptr, place, side="right") - 1, X.indices[place]
    else:
        row, column = np.argwhere(wrong)[0]
        row += start
    raise out_of_bounds(X, int(row), int(column), 0.0)


def out_of_bounds(X: Data, row: int, column: int, minimum: float) -> InvalidValueError:
    """The error for a value that is infinite, negative or too large."""
    value = float(X[row, column])
    if math.isinf(value):
        return InvalidValueError(row, column, f"Input X contains infinity: {{where}} is {value}")
    if value < 0 <= minimum:
        return InvalidValueError(row, column, f"Negative values in data: {{where}} is {value:g}")
    return InvalidValueError(row, column, f"{{where}} is {value:g}, not in [0, 1]; set `binarize`")


def _by_pieces(X: npt.NDArray[Any], batch: Batch, rows: slice, bounds: Bounds) -> Statistics:
    """Some dense rows by `naively.kernels.moments`, which stops for what it cannot do."""
    X = shown(X)
    d, classes = X.shape[1], batch.n_classes
    squares = bounds.squares
    tiles = -(-d // moments.LANES)
    stride = (9 if squares else 3) * moments.LANES
    partial = np.zeros(classes * tiles * stride)
    since = np.zeros(classes, np.int64)
    grid = np.full(d, 10_000, np.int64)
    constants = np.zeros(tiles * 3 * moments.LANES)
    missing = np.zeros((0, 0), np.int64)
    room = 2 * max(moments.CELLS, d)
    spilled = np.empty(room), np.empty(room), np.empty(room, np.int64)
    report = np.zeros(3, np.int64)
    held: Window | None = None
    sums, sums2 = Limbs(classes * d, None), Limbs(classes * d, None)
    nothing = ExactArray.zeros((classes, d))
    total = _finished(sums, sums2 if squares else None, nothing)
    everyone = np.arange(classes)
    row = rows.start
    while True:
        status, row = moments.dense_sums(
            X, batch.codes, row, rows.stop, bounds.minimum, bounds.maximum, bounds.threshold,
            partial, since, grid, constants, *sums.arguments, *sums2.arguments,
            missing, *spilled, report,
        )  # fmt: skip
        if status == moments.OUT_OF_BOUNDS:
            raise out_of_bounds(X, report[1], report[2], bounds.minimum)
        if report[0] > 0:
            moments.complete(*spilled, report[0], *sums.arguments, *sums2.arguments)
        if status == moments.HAS_MISSING:
            missing = np.zeros((classes, d), np.int64)
        moments.flush_all(partial, since, tiles, stride, d, *sums.arguments, *sums2.arguments)
        if status == moments.DONE:
            break
        if status == moments.EXTREME:
            some = slice(row, int(report[1]))
            part = _by_deposits(X[some], batch.part(some), SERIAL, bounds)
            total.accumulate(part, everyone)
            row = some.stop
        elif status == moments.WIDEN:
            total.accumulate(_finished(sums, sums2 if squares else None, nothing), everyone)
            needed = int(report[1]), int(report[2])
            held = needed if held is None else (min(held[0], needed[0]), max(held[1], needed[1]))
            sums = Limbs(classes * d, held)
            sums2 = Limbs(classes * d, product(held, held) if squares else None)
    absent = ExactArray.from_integers(missing) if missing.size else nothing
    total.accumulate(_finished(sums, sums2 if squares else None, absent), everyone)
    return total.canonical()


def _finished(sums: Limbs, squares: Limbs | None, missing: ExactArray) -> Statistics:
    """The tables of what was deposited."""
    tables = {"sum": sums.exact(missing.shape), "missing": missing}
    if squares is not None:
        tables["square"] = squares.exact(missing.shape)
    return Statistics(tables)


def _by_deposits(X: Data, batch: Batch, workers: Workers, bounds: Bounds) -> Statistics:
    """Any rows by `naively.kernels.deposits`, the classes in parallel."""
    d, classes = X.shape[1], batch.n_classes
    squares, threshold = bounds.squares, bounds.threshold
    sparse = is_sparse(X)
    weights = shown(batch.weights)
    values = [shown(one) for one in ((X.data, X.indices, X.indptr) if sparse else (X,))]
    rows, ends = labels.rows_by_class(batch.codes, classes)
    groups = [rows[ends[c] : ends[c + 1]] for c in range(classes)]
    if len(rows) < 1000:
        groups, workers = [rows], SERIAL

    if sparse and not squares and len(weights) == 0:
        counts = np.zeros((classes, d), np.int64)
        counted = workers.map(
            lambda rows: deposits.sparse_counts(*values, batch.codes, rows, threshold, counts),
            groups,
        )
        if all(counted):
            summed = ExactArray.from_integers(counts, X.nnz << 31)
            return Statistics({"sum": summed, "missing": ExactArray.zeros((classes, d))})
        del counts

    smallest, largest, any_missing = _measure(X, workers, bounds)
    if largest > 0.0 or threshold < 0.0:  # then even a 0 counts as 1
        smallest, largest = (smallest, largest) if math.isnan(threshold) else (1.0, 1.0)
    each = window(weights.min(), weights.max()) if len(weights) else (0, 1)
    of_x = window(smallest, largest)
    sums = Limbs(classes * d, product(of_x, each))
    sums2 = Limbs(classes * d, product(of_x, of_x, each) if squares else None)
    missing = Limbs(classes * d, each if any_missing else None)
    cells = (*sums.arguments, *sums2.arguments, *missing.arguments)

    def deposit(rows: Int64) -> object:
        if sparse:
            return deposits.sparse_deposits(
                *values, d, batch.codes, weights, rows, threshold, *cells
            )
        return deposits.dense_deposits(*values, batch.codes, weights, rows, threshold, *cells)

    workers.map(deposit, groups)
    return _finished(sums, sums2 if squares else None, missing.exact((classes, d)))


def _measure(X: Data, workers: Workers, bounds: Bounds) -> tuple[float, float, bool]:
    """(smallest non-zero magnitude, largest, any NaN) of values, checked."""
    values = shown(X.data.reshape(-1, 1) if is_sparse(X) else X)
    parts = slabs(len(values), workers.count if values.size > 2**17 else 1)
    found = workers.map(
        lambda rows: deposits.measure(values[rows], bounds.minimum, bounds.maximum), parts
    )
    for rows, (status, row, column, *_) in zip(parts, found, strict=True):
        if status == deposits.OUT_OF_BOUNDS:
            row += rows.start
            if is_sparse(X):
                row, column = np.searchsorted(X.indptr, row, side="right") - 1, X.indices[row]
            raise out_of_bounds(X, row, column, bounds.minimum)
    *_, smallest, largest, missing = zip(*found, strict=True)
    return min(smallest), max(largest), any(missing)


def class_weights(batch: Batch) -> ExactArray:
    """The total weight of each class, (C,)."""
    if len(batch.weights) == 0:
        return ExactArray.from_integers(labels.class_sizes(batch.codes, batch.n_classes))
    totals = Limbs(batch.n_classes, window(batch.weights.min(), batch.weights.max()))
    deposits.total_weights(batch.codes, shown(batch.weights), *totals.arguments)
    return ExactArray.from_lazy(totals.flat.reshape(batch.n_classes, -1), totals.first)
