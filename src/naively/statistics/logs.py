"""Sum logarithms of positive features exactly, with the same bits on all machines."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from naively.core.exact import LARGEST, ExactArray, Float64
from naively.core.workers import SERIAL, Workers
from naively.statistics.base import NOT_LEARNED, Batch, Data, InvalidValueError, S, Summary, dense
from naively.statistics.powers import CountStatistics, PowerStatistics, mean, slabs, sum_powers

HELD = 1 << 17  # values whose logarithms each worker holds at a time
LEAST = 5e-324
TOLERANCE = 1e-12  # tolerance below 0 of log mean x - mean log x
LN2_HIGH = float.fromhex("0x1.62e42feep-1")  # 33 bits, so that its multiples are exact
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


class LogarithmSums(Summary[S]):
    """Sum logarithms of positive numbers, block by block."""

    bounds = LEAST, LARGEST

    @abstractmethod
    def _sums(self, x: Float64, batch: Batch) -> dict[str, ExactArray]:
        """Return the tables of a block of rows."""

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> S:
        """Return the exact sums by class and feature. Raises InvalidValueError for x <= 0."""
        n, d = X.shape
        all_classes = np.arange(batch.n_classes)
        size = max(HELD // max(1, d), 8 * batch.n_classes, 1)

        def part(rows: slice) -> S:
            return self.kind(self._sums(positive(X, rows), batch.part(rows)))

        def slab(rows: slice) -> S:
            middle = min(rows.start + size, rows.stop)
            total = part(slice(rows.start, middle))
            for block in blocks(middle, rows.stop, size):
                total.accumulate(part(block), all_classes)
            return total

        sums, *other_sums = workers.map(slab, slabs(n, max(1, min(workers.count, n // size))))
        for slab_sums in other_sums:
            sums.accumulate(slab_sums, all_classes)
        return sums


@dataclass(frozen=True)
class LogPowers(LogarithmSums[PowerStatistics]):
    """Σw log x and Σw (log x)² of positive numbers."""

    kind = PowerStatistics
    tables = "sum", "square", "missing"

    def _sums(self, x: Float64, batch: Batch) -> dict[str, ExactArray]:
        return sum_powers(portable_log(x), batch, SERIAL, squares=True)


class LogMeanStatistics(CountStatistics):
    """Tables ``sum``, ``log`` (Σ log x) and ``missing``, (C, d) each."""

    signed = ("log",)

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Check as for counts; also refuse a mean of logarithms above the logarithm of the mean."""
        problem = super().impossible(class_weight)
        weight = self.observed(class_weight)
        present = weight.nonzero()
        average = mean(self.tables["sum"], weight)
        excess = log_excess(average, self.tables["log"], weight)
        if problem is None and ((average == 0.0) | (excess < -TOLERANCE))[present].any():
            problem = NOT_LEARNED
        return problem


@dataclass(frozen=True)
class LogMeans(LogarithmSums[LogMeanStatistics]):
    """Σw x and Σw log x of positive numbers."""

    kind = LogMeanStatistics
    tables = "sum", "missing", "log"

    def _sums(self, x: Float64, batch: Batch) -> dict[str, ExactArray]:
        logs = sum_powers(portable_log(x), batch, SERIAL)
        return {**sum_powers(x, batch, SERIAL), "log": logs["sum"]}


def log_excess(average: Float64, logs: ExactArray, weight: ExactArray) -> Float64:
    """Return the log of the mean minus the mean of the log, from correctly rounded means."""
    return portable_log(np.clip(average, LEAST, LARGEST)) - mean(logs, weight)


def portable_log(x: Float64) -> Float64:
    """Return the natural logarithm of positive numbers, within an ulp; NaN for NaN.

    With x = 2^e (1 + f), √½ <= 1 + f < √2, and s = f / (2 + f)::

        log x = e log 2 + 2 artanh s,   2 artanh s = f - f²/2 + s (f²/2 + 2s²/3 + 2s⁴/5 + ...)

    in the arrangement of fdlibm (Sun Microsystems 1993). Sums of logarithms are part of models, so
    they must be the same everywhere, and each of these operations is rounded alike on all machines.
    `np.log` is not: its last bit depends on the processor, and on the memory layout of the array.
    """
    fraction, exponent = np.frexp(x)
    below = fraction < math.sqrt(0.5)
    e = (exponent - below).astype(np.float64)
    f = np.where(below, 2.0 * fraction, fraction) - 1.0
    s = f / (2.0 + f)
    square = s * s
    series = np.zeros_like(square)
    for odd in range(23, 1, -2):
        series += 2.0 / odd
        series *= square
    half = 0.5 * f * f
    return e * LN2_HIGH - ((half - (s * (half + series) + e * LN2_LOW)) - f)


def positive(X: Data, rows: slice = slice(None)) -> Float64:
    """Return some rows as a dense float64 array of finite numbers above 0, or NaN.

    Raises InvalidValueError naming the first other value.
    """
    x = np.array(dense(X[rows]), np.float64, order="C")
    bad = (x <= 0.0) | (x == np.inf)
    if bad.any():
        row, column = divmod(int(bad.argmax()), x.shape[1])
        value = x[row, column]
        row += rows.start or 0
        problem = f"{{where}} is {value:g}, not above 0"
        if math.isinf(value):
            problem = f"Input X contains infinity: {{where}} is {value:g}"
        raise InvalidValueError(row, column, problem)
    return x


def blocks(start: int, stop: int, rows: int) -> Iterator[slice]:
    """Yield slices of `rows` rows (at least one) that cover start:stop."""
    step = max(1, rows)
    return (slice(at, min(at + step, stop)) for at in range(start, stop, step))
