"""Log-normal features: log x_α is Gaussian, p(x_α | y = c) = N(log x_α; μ_αc, σ²_αc) / x_α."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Float64, Int64
from naively.families.base import LARGEST, Batch, Data, Family, InvalidValueError, Statistics, dense
from naively.families.gaussian import Gaussian, GaussianParameters, GaussianStatistics
from naively.families.sums import sum_powers
from naively.workers import Serial, Workers

LEARNED = 1 << 17  # cells whose logarithms are held at a time by each worker, and
SCORED = 1 << 15
LEAST = 5e-324
LN2_HIGH = float.fromhex("0x1.62e42feep-1")  # 33 bits, so that its multiples are exact
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


@dataclass(frozen=True)
class LogNormal(Family):
    """Positive features whose logarithm is normal: sizes, prices, times, concentrations.

    Johnson, Kotz & Balakrishnan 1994, "Continuous univariate distributions", volume 1, chapter 14.
    As the Gaussian family on log x, and with its answers: a class without a value of a feature
    takes the mean and variance of all classes there.

    Parameters
    ----------
    ddof : 0 or 1
        0 for the maximum likelihood variance of log x, 1 for the unbiased one.
    var_smoothing : float
        Portion of the variance of log x over all classes that is added to each variance of the
        same feature.
    """

    ddof: Literal[0, 1] = 0
    var_smoothing: float = 1e-9

    name = "lognormal"
    support = LEAST, LARGEST

    def __post_init__(self) -> None:
        _ = self._of_logarithms

    @property
    def _of_logarithms(self) -> Gaussian:
        return Gaussian(ddof=self.ddof, var_smoothing=self.var_smoothing, floor="feature")

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> GaussianStatistics:
        """Σw log x and Σw (log x)² by class and feature, exactly. Refuses x <= 0."""

        def part(rows: slice) -> Statistics:
            logs = log(positive(X, rows))
            return sum_powers(logs, batch.part(rows), Serial(), squares=True)

        return GaussianStatistics(in_parts(part, X.shape, batch.n_classes, workers).tables)

    def empty(self, n_classes: int, n_features: int) -> GaussianStatistics:
        """The statistics of no rows."""
        return self._of_logarithms.empty(n_classes, n_features)

    def estimate(self, statistics: Statistics, class_weight: ExactArray) -> LogNormalParameters:
        """The mean and variance of log x, each the correctly rounded value of the exact sums."""
        normal = self._of_logarithms.estimate(statistics, class_weight)
        return LogNormalParameters(normal.mean, normal.variance, normal.epsilon, normal.tie)


class LogNormalParameters(GaussianParameters):
    """Means μ and variances σ² of log x, (C, d) each; the term -log x is in `log_base`."""

    def prepare(self, X: Data, workers: Workers) -> None:
        """Compute what `log_prob` needs: its logarithms are dense, whatever X is."""
        _ = self._scored

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Σ_α log N(log x_α; μ_αc, σ²_αc)."""
        for rows in blocks(start, stop, SCORED // max(1, X.shape[1])):
            part = np.empty((len(out), rows.stop - rows.start))
            super().log_prob(log(positive(X, rows)), 0, part.shape[1], part)
            out[:, rows.start - start : rows.stop - start] = part

    def contributions(self, X: Data) -> Float64:
        """Log N(log x_α; μ_αc, σ²_αc) of each feature; 0 where it is missing."""
        return super().contributions(log(positive(X)))

    def log_base(self, X: Data) -> Float64:
        """-Σ_α log x_α, and the distances of features that are the same in every class."""
        logs = log(positive(X))
        return super().log_base(logs) - np.nansum(logs, axis=1)

    def sample(self, codes: Int64, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Rows of independent log-normal values, none of them 0 or infinite."""
        with np.errstate(over="ignore", under="ignore"):
            return np.clip(np.exp(super().sample(codes, generator)), LEAST, LARGEST)

    def linear(self) -> tuple[Float64, Float64]:
        """Never: log N(log x; μ, σ²) is quadratic in log x."""
        raise ValueError(self.not_linear)

    not_linear = "the log-odds are quadratic in log x"


# ---- what families of positive features share ----------------------------------------------------


def log(x: Float64) -> Float64:
    """The natural logarithm of positive numbers, within an ulp; NaN of NaN.

    With x = 2^e (1 + f), √½ <= 1 + f < √2, and s = f / (2 + f)::

        log x = e log 2 + 2 artanh s,   2 artanh s = f - f²/2 + s (f²/2 + 2s²/3 + 2s⁴/5 + ...)

    in the arrangement of fdlibm (Sun Microsystems 1993). Sums of logarithms are learned, so they
    must be the same everywhere, and each of these operations is rounded alike on all machines.
    `np.log` is not: its last bit depends on the processor, and on how the array lies in memory.
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
    """Some rows as a dense float64 array, all of it finite and above 0, or NaN.

    Raises
    ------
    InvalidValueError : naming the first value that is not.
    """
    x = np.array(dense(X[rows]), np.float64, order="C")
    bad = (x <= 0.0) | (x == np.inf)
    if bad.any():
        row, column = divmod(int(bad.argmax()), x.shape[1])
        value = x[row, column]
        row += rows.start or 0
        if math.isinf(value):
            raise InvalidValueError(
                row, column, f"Input X contains infinity: {{where}} is {value:g}"
            )
        raise InvalidValueError(row, column, f"{{where}} is {value:g}, not above 0")
    return x


def blocks(start: int, stop: int, rows: int) -> Iterator[slice]:
    """Slices of so many rows, at least one, that cover start:stop."""
    step = max(1, rows)
    return (slice(at, min(at + step, stop)) for at in range(start, stop, step))


def in_parts(
    part: Callable[[slice], Statistics], shape: tuple[int, int], classes: int, workers: Workers
) -> Statistics:
    """The sum of part(rows) over all rows, of which each worker holds a block at a time."""
    n, d = shape
    everyone = np.arange(classes)
    size = max(LEARNED // max(1, d), 8 * classes, 1)
    slabs = max(1, min(workers.count, n // size))
    edges = [n * k // slabs for k in range(slabs + 1)]

    def slab(k: int) -> Statistics:
        middle = min(edges[k] + size, edges[k + 1])
        total = part(slice(edges[k], middle))
        for rows in blocks(middle, edges[k + 1], size):
            total.add(part(rows), everyone)
        return total

    first, *others = workers.map(slab, range(slabs))
    for other in others:
        first.add(other, everyone)
    return first
