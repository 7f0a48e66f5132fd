"""Sum x and x * x exactly by class and feature, with the fastest kernel for the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import KEPT_BITS, LARGEST, ExactArray, Float64, Int64
from naively.core.workers import SERIAL, Workers
from naively.kernels import scores as kernel
from naively.kernels import sums as summing
from naively.kernels import tables as table_kernel
from naively.statistics.base import (
    FORGOTTEN,
    NOT_LEARNED,
    Batch,
    Data,
    InvalidValueError,
    Statistics,
    Summary,
    is_sparse,
    shown,
)

FEW = 4  # rows per class, up to which single deposits are faster
MOST = 1 << 26  # rows that lazy limbs have room for
SMALL = 1024  # cells, up to which single deposits are faster than the set-up of the partial sums


Window = tuple[int, int]
"""(lowest, highest) exponent of the bits that limbs must hold, before adding up."""


class Limbs:
    """Limbs to which kernels add; none without a window."""

    def __init__(self, cells: int, window: Window | None) -> None:
        self.first = self.size = 0
        if window is not None:
            self.first = window[0] // 32
            self.size = summing.needed(32 * self.first, window[1])
        self.flat = np.zeros(cells * self.size, np.int64)

    @property
    def low(self) -> int:
        """Exponent of the lowest bit."""
        return 32 * self.first

    @property
    def arguments(self) -> tuple[Int64, int, int]:
        """The arguments that kernels take."""
        return self.flat, self.size, self.low

    def exact(self, shape: tuple[int, ...]) -> ExactArray:
        """Return the sums as an exact array."""
        if self.size == 0:
            return ExactArray.zeros(shape)
        return ExactArray.from_lazy(self.flat.reshape(*shape, self.size), self.first)


def window(smallest: float, largest: float) -> Window | None:
    """Return the bits of all floats between two magnitudes; None if these are 0."""
    if largest == 0.0:
        return None
    return max(math.frexp(smallest)[1] - 53, -1074), math.frexp(largest)[1]


def product(*windows: Window | None) -> Window | None:
    """Return the bits of the products of numbers from each window."""
    if any(w is None for w in windows):
        return None
    return sum(w[0] for w in windows if w), sum(w[1] for w in windows if w)


def slabs(n: int, parts: int) -> list[slice]:
    """Split n rows into consecutive slices of about the same size."""
    return [slice(n * k // parts, n * (k + 1) // parts) for k in range(parts)]


@dataclass(frozen=True)
class Bounds:
    """What to sum, and which values are valid."""

    squares: bool
    threshold: float
    minimum: float
    maximum: float


def sum_powers(
    X: Data, batch: Batch, workers: Workers, *, squares: bool = False,
    threshold: float = math.nan, minimum: float = -LARGEST, maximum: float = LARGEST,
) -> dict[str, ExactArray]:  # fmt: skip
    """Return exact tables ``sum``, ``missing`` and, if requested, ``square``, each (C, d).

    With a threshold, a value counts as 1 above it and as 0 otherwise. ``missing`` is the weight of
    the rows in which the feature is NaN.
    """
    return _sum(X, batch, workers, Bounds(squares, threshold, minimum, maximum)).tables


def _sum(X: Data, batch: Batch, workers: Workers, bounds: Bounds) -> Statistics:
    n, d = X.shape
    all_classes = np.arange(batch.n_classes)
    if n > MOST:
        total = _sum(X[:MOST], batch.part(slice(MOST)), workers, bounds)
        try:
            rest = _sum(X[MOST:], batch.part(slice(MOST, n)), workers, bounds)
        except InvalidValueError as error:
            error.row += MOST
            raise
        total.accumulate(rest, all_classes)
        return total
    large = n > FEW * batch.n_classes and n * d > SMALL
    if not large or is_sparse(X) or len(batch.weights) > 0:
        return _by_deposits(X, batch, workers, bounds)
    count = max(1, min(workers.count, n * d // 2**17, n // (FEW * batch.n_classes)))
    sums = workers.map(lambda rows: _by_pieces(X, batch, rows, bounds), slabs(n, count))
    for slab_sums in sums[1:]:
        sums[0].accumulate(slab_sums, all_classes)
    return sums[0]


def refuse_beyond(X: Data, start: int, stop: int, most: float) -> None:
    """Raise the error for the first value of some rows that is below 0 or above `most`."""
    sparse = is_sparse(X)
    values = X.data[X.indptr[start] : X.indptr[stop]] if sparse else X[start:stop]
    invalid = (values < 0) | (values > most)
    if not invalid.any():
        return
    if sparse:
        place = X.indptr[start] + invalid.argmax()
        row, column = np.searchsorted(X.indptr, place, side="right") - 1, X.indices[place]
    else:
        row, column = np.argwhere(invalid)[0]
        row += start
    raise out_of_bounds(X, int(row), int(column), 0.0)


def out_of_bounds(X: Data, row: int, column: int, minimum: float) -> InvalidValueError:
    """Return the error for a value that is infinite, negative or too large."""
    value = float(X[row, column])
    if math.isinf(value):
        return InvalidValueError(row, column, f"Input X contains infinity: {{where}} is {value}")
    if value < 0 <= minimum:
        return InvalidValueError(row, column, f"Negative values in data: {{where}} is {value:g}")
    return InvalidValueError(row, column, f"{{where}} is {value:g}, not in [0, 1]; set `binarize`")


def _by_pieces(X: npt.NDArray[Any], batch: Batch, rows: slice, bounds: Bounds) -> Statistics:
    """Sum dense rows with `naively.kernels.sums.dense_sums`, handling its interruptions."""
    X = shown(X)
    d, classes = X.shape[1], batch.n_classes
    squares = bounds.squares
    tiles = -(-d // summing.LANES)
    stride = (9 if squares else 3) * summing.LANES
    partial = np.zeros(classes * tiles * stride)
    since = np.zeros(classes, np.int64)
    grid = np.full(d, 10_000, np.int64)
    constants = np.zeros(tiles * 3 * summing.LANES)
    missing = np.zeros((0, 0), np.int64)
    room = 2 * max(summing.CELLS, d)
    spilled = np.empty(room), np.empty(room), np.empty(room, np.int64)
    report = np.zeros(3, np.int64)
    span: Window | None = None
    sums, sums2 = Limbs(classes * d, None), Limbs(classes * d, None)
    zeros = ExactArray.zeros((classes, d))
    total = _finished(sums, sums2 if squares else None, zeros)
    all_classes = np.arange(classes)
    row = rows.start
    while True:
        status, row = summing.dense_sums(
            X, batch.codes, row, rows.stop, bounds.minimum, bounds.maximum, bounds.threshold,
            partial, since, grid, constants, *sums.arguments, *sums2.arguments,
            missing, *spilled, report,
        )  # fmt: skip
        if status == summing.OUT_OF_BOUNDS:
            raise out_of_bounds(X, report[1], report[2], bounds.minimum)
        if report[0] > 0:
            summing.complete(*spilled, report[0], *sums.arguments, *sums2.arguments)
        if status == summing.HAS_MISSING:
            missing = np.zeros((classes, d), np.int64)
        summing.flush_all(partial, since, tiles, stride, d, *sums.arguments, *sums2.arguments)
        if status == summing.DONE:
            break
        if status == summing.EXTREME:
            block = slice(row, int(report[1]))
            block_sums = _by_deposits(X[block], batch.part(block), SERIAL, bounds)
            total.accumulate(block_sums, all_classes)
            row = block.stop
        elif status == summing.WIDEN:
            total.accumulate(_finished(sums, sums2 if squares else None, zeros), all_classes)
            needed = int(report[1]), int(report[2])
            span = needed if span is None else (min(span[0], needed[0]), max(span[1], needed[1]))
            sums = Limbs(classes * d, span)
            sums2 = Limbs(classes * d, product(span, span) if squares else None)
    absent = ExactArray.from_integers(missing) if missing.size else zeros
    total.accumulate(_finished(sums, sums2 if squares else None, absent), all_classes)
    return total.canonical()


def _finished(sums: Limbs, squares: Limbs | None, missing: ExactArray) -> Statistics:
    """Return the tables of finished sums."""
    tables = {"sum": sums.exact(missing.shape), "missing": missing}
    if squares is not None:
        tables["square"] = squares.exact(missing.shape)
    return Statistics(tables)


def _by_deposits(X: Data, batch: Batch, workers: Workers, bounds: Bounds) -> Statistics:
    """Sum any rows with the deposit kernels of `naively.kernels.sums`, classes in parallel."""
    d, classes = X.shape[1], batch.n_classes
    squares, threshold = bounds.squares, bounds.threshold
    sparse = is_sparse(X)
    weights = shown(batch.weights)
    values = [shown(array) for array in ((X.data, X.indices, X.indptr) if sparse else (X,))]
    rows, ends = table_kernel.rows_by_class(batch.codes, classes)
    groups = [rows[ends[c] : ends[c + 1]] for c in range(classes)]
    if len(rows) < 1000:
        groups, workers = [rows], SERIAL

    if sparse and not squares:
        counts = np.zeros((classes, d), np.int64)

        def count(rows: Int64) -> bool:
            return summing.sparse_counts(*values, batch.codes, weights, rows, threshold, counts)

        if all(workers.map(count, groups)):
            summed = ExactArray.from_integers(counts, X.nnz << 31)
            return Statistics({"sum": summed, "missing": ExactArray.zeros((classes, d))})
        del counts

    smallest, largest, any_missing = _measure(X, workers, bounds)
    if largest > 0.0 or threshold < 0.0:  # with a negative threshold, even a 0 counts as 1
        smallest, largest = (smallest, largest) if math.isnan(threshold) else (1.0, 1.0)
    of_weights = window(weights.min(), weights.max()) if len(weights) else (0, 1)
    of_x = window(smallest, largest)
    sums = Limbs(classes * d, product(of_x, of_weights))
    sums2 = Limbs(classes * d, product(of_x, of_x, of_weights) if squares else None)
    missing = Limbs(classes * d, of_weights if any_missing else None)
    cells = (*sums.arguments, *sums2.arguments, *missing.arguments)

    def deposit(rows: Int64) -> object:
        arguments = batch.codes, weights, rows, threshold, *cells
        if sparse:
            return summing.sparse_deposits(*values, d, *arguments)
        return summing.dense_deposits(*values, *arguments)

    workers.map(deposit, groups)
    return _finished(sums, sums2 if squares else None, missing.exact((classes, d)))


def _measure(X: Data, workers: Workers, bounds: Bounds) -> tuple[float, float, bool]:
    """Return (smallest non-zero magnitude, largest, any NaN), after checking the values."""
    values = shown(X.data.reshape(-1, 1) if is_sparse(X) else X)
    row_slices = slabs(len(values), workers.count if values.size > 2**17 else 1)
    reports = workers.map(
        lambda rows: summing.measure(values[rows], bounds.minimum, bounds.maximum), row_slices
    )
    for rows, (status, row, column, *_) in zip(row_slices, reports, strict=True):
        if status == summing.INVALID:
            row += rows.start
            if is_sparse(X):
                row, column = np.searchsorted(X.indptr, row, side="right") - 1, X.indices[row]
            raise out_of_bounds(X, row, column, bounds.minimum)
    *_, smallest, largest, missing = zip(*reports, strict=True)
    return min(smallest), max(largest), any(missing)


def class_weights(batch: Batch) -> ExactArray:
    """Return the total weight of each class, (C,)."""
    if len(batch.weights) == 0:
        return ExactArray.from_integers(table_kernel.class_sizes(batch.codes, batch.n_classes))
    totals = Limbs(batch.n_classes, window(batch.weights.min(), batch.weights.max()))
    summing.total_weights(batch.codes, shown(batch.weights), *totals.arguments)
    return ExactArray.from_lazy(totals.flat.reshape(batch.n_classes, -1), totals.first)


# ---- powers --------------------------------------------------------------------------------------


class PowerStatistics(Statistics):
    """Tables ``sum``, ``square`` and ``missing``, (C, d) each."""

    signed = ("sum",)

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Check as the base class; also refuse sums whose variance would be negative."""
        if problem := super().impossible(class_weight):
            return problem
        return NOT_LEARNED if Moments(self.tables, class_weight).contradictory() else None


@dataclass(frozen=True)
class Powers(Summary[PowerStatistics]):
    """Σw x and Σw x² of real numbers, for means and variances."""

    kind = PowerStatistics
    tables = "sum", "square", "missing"

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> PowerStatistics:
        """Return Σw x and Σw x² by class and feature, exactly."""
        return PowerStatistics(sum_powers(X, batch, workers, squares=True))


Ranks = tuple[Float64, npt.NDArray[np.int32]]
"""(the distinct sums, index of the sum of each column and class (d, C))."""


class CountStatistics(Statistics):
    """Tables ``sum`` (of numbers >= 0) and ``missing`` (weight of rows), (C, d) each.

    Statistics of some columns may also have ``events``, (C, 1), the sum over all columns.

    width : total number of columns, if these are some of them; else None.
    """

    width: int | None = None
    _ranked: tuple[ExactArray, Ranks | None] | None = None

    @property
    def ranks(self) -> Ranks | None:
        """Ranks of the sums of `distinct` columns, to speed up estimates; None if not small."""
        cached = self._ranked
        return cached[1] if cached and cached[0] is self.tables["sum"] else None

    def with_events(self) -> Self:
        """Return a copy that stores the sum over all columns, for `columns_and_total`."""
        events, width = self.events()
        return self._with({**self.tables, "events": events.repeated(1)}, width=width)

    def columns_and_total(self, columns: Int64) -> Self:
        """Return some columns, in this order, with the sum over all columns."""
        events, width = self.events()
        tables = {name: self.tables[name].gather(1, columns) for name in ("sum", "missing")}
        return self._with({**tables, "events": events.repeated(1)}, width=width)

    def distinct(self, often: Int64) -> tuple[Self, npt.NDArray[np.int32]]:
        """Return (the columns with distinct sums, the index of each column among these).

        Columns with the largest totals of `often` come first, for locality.
        """
        limbs = shown(self.tables["sum"].limbs)
        d = limbs.shape[1]
        slots = np.zeros(2 << d.bit_length(), np.int32)
        contents = np.empty((d, limbs.shape[0] * limbs.shape[2]), np.int64)
        representatives, group = np.empty((2, d), np.int32)
        count = np.zeros(1, np.int64)
        kernel.place_columns(
            np.arange(d, dtype=np.int32), limbs, slots, contents, representatives, count, group
        )  # fmt: skip
        representatives = representatives[: count[0]]
        order = np.argsort(-np.bincount(group, often, len(representatives)), kind="stable")
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order))
        representatives, group = representatives[order], place[group]
        tables = {name: self.tables[name].gather(1, representatives) for name in ("sum", "missing")}
        statistics = self._with({**self.tables, **tables})
        statistics._ranked = statistics.tables["sum"], _ranks(statistics.tables["sum"])
        return statistics, group

    def events(self) -> tuple[ExactArray, int]:
        """Return (the sum over all columns, (C,); the number of columns)."""
        if self.width is not None:
            return self.tables["events"].gather(1, 0), self.width
        total = self.tables["sum"]
        return total.summed(1), total.shape[1]

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Check as the base class; also refuse negative sums."""
        if self.tables["sum"].any_negative():
            return FORGOTTEN
        return super().impossible(class_weight)


def _ranks(sums: ExactArray) -> Ranks | None:
    """Return the ranks of sums; None if they are not small integers."""
    limbs = sums.limbs
    if limbs.shape[-1] != 1 or sums.low != 0 or not limbs.size:
        return None
    largest = int(limbs.max())
    if limbs.min() < 0 or largest > limbs.size:
        return None
    present = np.zeros(largest + 1, bool)
    present[limbs] = True
    ranks = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(present).astype(np.float64), np.ascontiguousarray(ranks[limbs[..., 0]].T)


@dataclass(frozen=True)
class CountSums(Summary[CountStatistics]):
    """Σw x of non-negative numbers, such as counts of events."""

    kind = CountStatistics
    tables = "sum", "missing"
    bounds = 0.0, LARGEST

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> CountStatistics:
        """Return Σw x by class and feature, exactly. Raises InvalidValueError for x < 0."""
        return CountStatistics(sum_powers(X, batch, workers, minimum=0.0))


class PresenceStatistics(CountStatistics):
    """Tables ``sum`` (weight of rows with the feature) and ``missing``, (C, d) each."""

    of_rows = "sum", "missing"

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Check as the base class; also refuse features present in more rows than there are."""
        absent = self.observed(class_weight).accumulate(self.tables["sum"], sign=-1)
        if absent.below_zero(self.tables["sum"]):
            return NOT_LEARNED
        return super().impossible(class_weight)


@dataclass(frozen=True)
class Presence(Summary[PresenceStatistics]):
    """Count the rows in which each feature is present.

    threshold : values above it are present. None: the values are 0 and 1, or between as soft
        evidence.
    """

    threshold: float | None

    kind = PresenceStatistics
    tables = "sum", "missing"
    takes = "truths"

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """The least and the greatest number that can be counted."""
        return (0.0, 1.0) if self.threshold is None else (-LARGEST, LARGEST)

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> PresenceStatistics:
        """Return the exact weight of the rows in which each feature is present."""
        if self.threshold is None:
            return PresenceStatistics(sum_powers(X, batch, workers, minimum=0.0, maximum=1.0))
        refuse_sparse(X, self.threshold)
        return PresenceStatistics(sum_powers(X, batch, workers, threshold=float(self.threshold)))


def refuse_sparse(X: Data, threshold: float) -> None:
    """Raise ValueError if the zeros of a sparse matrix would be above the threshold."""
    if is_sparse(X) and threshold < 0:
        raise ValueError("Cannot binarize a sparse matrix with threshold < 0: 0 is above it")


# ---- means and variances, each rounded once ------------------------------------------------------


class Moments:
    """n, Σx and Σx² of each class and feature as Python integers on a common grid.

    The grid is 2**(32 low) for n and Σx and its square for Σx²; Python divides integers of any
    size with one correct rounding.

    tables : ``sum``, ``square`` and ``missing``, (C, d) each.
    """

    def __init__(self, tables: dict[str, ExactArray], class_weight: ExactArray) -> None:
        n, n_low = class_weight.integers()
        missing, missing_low = tables["missing"].integers()
        sums, sum_low = tables["sum"].integers()
        squares, square_low = tables["square"].integers()
        low = min(n_low, missing_low, sum_low, square_low // 2, 0)
        self.low = low
        self.weight = n[:, None] * _power(n_low - low) - missing * _power(missing_low - low)
        self.sums = sums * _power(sum_low - low)
        self.squares = squares * _power(square_low - 2 * low)
        self.shape = sums.shape

    def pooled(self) -> Moments:
        """Return the sums over all classes."""
        total = object.__new__(Moments)
        total.low = self.low
        total.weight = self.weight.sum(axis=0, keepdims=True)
        total.sums = self.sums.sum(axis=0, keepdims=True)
        total.squares = self.squares.sum(axis=0, keepdims=True)
        total.shape = total.sums.shape
        return total

    def _numerator(self) -> npt.NDArray[np.object_]:
        """Return n Σx² - (Σx)², n² times the variance, in units of the third power of the grid."""
        return self.weight * self.squares - self.sums * self.sums * _power(-self.low)

    def mean(self) -> Float64:
        """Return Σx / n."""
        return ratio(self.sums, self.weight)

    def variance(self, ddof: int) -> Float64:
        """Return (Σx² - (Σx)² / n) / (n - ddof)."""
        scaled_ddof = ddof * _power(-self.low)
        below = self.weight * (self.weight - scaled_ddof)
        return np.maximum(ratio(self._numerator(), below * _power(-self.low)), 0.0)

    def scatter(self) -> Float64:
        """Return Σx² - (Σx)² / n."""
        return np.maximum(ratio(self._numerator(), self.weight * _power(-2 * self.low)), 0.0)

    def freedom(self, ddof: int) -> Float64:
        """Return n - ddof, at least 0."""
        unit = _power(-self.low)
        return np.maximum(ratio(self.weight - ddof * unit, np.full(self.shape, unit, object)), 0.0)

    def contradictory(self) -> bool:
        """Return whether no data can have these sums."""
        # tolerate the rounding of decay
        rounding = self.sums * self.sums * _power(-self.low) >> KEPT_BITS
        infinite_mean = abs(self.sums) > self.weight << 1024  # a mean beyond float64 is impossible
        negative_square = (self._numerator() < -rounding) | (self.squares < 0)
        return bool((infinite_mean & (self.weight > 0) | negative_square).any())


def _power(limbs: int) -> int:
    return 1 << (32 * limbs)


def _divide(numerator: int, denominator: int) -> float:
    if denominator <= 0:
        return 0.0
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf


def ratio(numerators: Any, denominators: Any) -> Float64:
    """Return the correctly rounded quotients; 0 where the denominator is 0."""
    values = map(_divide, numerators.ravel().tolist(), denominators.ravel().tolist())
    return np.fromiter(values, np.float64, numerators.size).reshape(numerators.shape)


def mean(sums: ExactArray, weight: ExactArray) -> Float64:
    """Return Σ / n, correctly rounded; 0 where n is 0."""
    numerators, low = sums.integers()
    denominators, other_low = weight.integers()
    shift = 32 * (low - other_low)
    return ratio(numerators * (1 << max(shift, 0)), denominators * (1 << max(-shift, 0)))
