"""Evaluate mixtures of normal densities of one width by tables of their logarithm."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from naively.core.exact import LARGEST, Float64
from naively.families.linear import log
from naively.statistics.logs import blocks

REACH = 8.0  # bandwidths of a table beyond the extreme values
STEPS = 8.0  # steps of a table per bandwidth
KNOTS = 1 << 16  # the most steps of a table
NEGLIGIBLE = 37.0  # nats below the largest term at which a term is lost in float64


class Mixture:
    """Σ_j w_j N(x; v_j, h²), with its logarithm in a table.

    values : (k,) float64, sorted, times `scale`.
    log_weights : (k,) float64, log w_j; the weights sum to 1.
    h : float, the bandwidth times `scale`.
    scale : float, a power of two that brings the values near 1.
    """

    def __init__(self, values: Float64, log_weights: Float64, h: float, scale: float) -> None:
        self.values = values
        self.log_weights = log_weights
        self.h = h
        self.scale = scale
        self.heights = log_weights - 0.5 * math.log(2.0 * math.pi) - math.log(h) + math.log(scale)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Mixture)
            and (self.h, self.scale) == (other.h, other.scale)
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.log_weights, other.log_weights)
        )

    __hash__ = None  # type: ignore[assignment]

    def log_density(self, x: Float64) -> Float64:
        """Compute log p(x), (n,); 0 where x is missing."""
        missing = np.isnan(x)
        if missing.any():
            return np.where(missing, 0.0, self.table(self._scaled(np.where(missing, 0.0, x))))
        return self.table(self._scaled(x))

    def log_distance(self, x: Float64) -> Float64:
        """Compute the log-distance to the nearest value, in bandwidths; -inf if missing."""
        x = self._scaled(x)
        last = len(self.values) - 1
        right = np.minimum(np.searchsorted(self.values, x), last)
        places = right, np.maximum(right - 1, 0)
        distances = [abs(0.5 * x - 0.5 * self.values[place]) for place in places]
        log_distance = log(np.minimum(*distances)) - math.log(self.h)
        return np.where(np.isnan(x), -np.inf, log_distance)

    def sample(self, n: int, generator: np.random.Generator) -> Float64:
        """Draw training values plus normal noise."""
        p = np.exp(self.log_weights)
        v = generator.choice(self.values, size=n, p=p / p.sum())
        with np.errstate(over="ignore"):
            x = generator.normal(v, self.h) / self.scale
        return np.clip(x, -LARGEST, LARGEST)

    def moments(self) -> tuple[float, float]:
        """Return (mean, standard deviation)."""
        weights = np.exp(self.log_weights)
        middle = float(weights @ self.values)
        variance = float(weights @ (self.values - middle) ** 2) + self.h**2
        return middle / self.scale, math.sqrt(variance) / self.scale

    def _scaled(self, x: Float64) -> Float64:
        if self.scale == 1.0:
            return x
        with np.errstate(over="ignore", under="ignore"):
            return np.clip(x * self.scale, -LARGEST, LARGEST)

    @cached_property
    def table(self) -> Table:
        """The table of the log-density."""
        return Table(self.values, self.heights, self.h)


class Table:
    """log Σ_j exp(a_j - (x - v_j)² / 2h²) by cubic Hermite interpolation between even knots.

    The values are split into runs at gaps so wide that the kernels of one side do not matter on
    the other. A table extends `REACH` bandwidths beyond the values of its run. Farther out, the
    density is the kernel of the run's last value plus one kernel for all its others, with their
    density and slope at the end of the table. Between two runs the two tails add.
    """

    def __init__(self, values: Float64, heights: Float64, h: float) -> None:
        tolerance = 2.0 * (NEGLIGIBLE + float(np.ptp(heights)))
        gap = REACH + math.sqrt(REACH**2 + tolerance)  # bandwidths
        reach = math.sqrt((gap / 2) ** 2 + tolerance)  # reach of values at a knot inside a run
        bounds = [0, *np.flatnonzero(np.diff(values) > gap * h) + 1, len(values)]
        firsts, ends = np.array(bounds[:-1]), np.array(bounds[1:])
        is_single = ends - firsts == 1
        margin = np.where(is_single, 0.0, REACH * h)
        self.h = h
        self.low, self.high = values[firsts] - margin, values[ends - 1] + margin
        length = self.high - self.low
        step = max(h / STEPS, float(length.sum()) / KNOTS)
        steps = np.maximum(np.ceil(length / step), 1.0)
        self.per_unit = np.where(is_single, 0.0, steps / np.where(is_single, 1.0, length))
        self.last = (steps - 1.0).astype(np.int64)  # step of each run
        self.offset = np.cumsum(steps).astype(np.int64) - self.last - 1
        self.last_value = np.array([values[firsts], values[ends - 1]])
        self.last_height = np.array([heights[firsts], heights[ends - 1]])
        self.centre, self.peak = self.last_value.copy(), np.full((2, len(firsts)), -np.inf)
        rows = np.empty((4, int(steps.sum())))
        for r, (first, end) in enumerate(zip(firsts, ends, strict=True)):
            start = self.offset[r]
            if is_single[r]:
                rows[:, start] = heights[first], 0.0, 0.0, 0.0
                continue
            knots = np.linspace(self.low[r], self.high[r], int(steps[r]) + 1)
            f, slope = log_sums(knots, values[first:end], heights[first:end], h, reach * h)
            rows[:, start : start + int(steps[r])] = _hermite(f, slope * (length[r] / steps[r] / h))
            for side, others in enumerate([slice(first + 1, end), slice(first, end - 1)]):
                knot = knots[[-side]]
                f, slope = log_sums(knot, values[others], heights[others], h, np.inf)
                self.centre[side, r] = (knot + slope * h)[0]
                self.peak[side, r] = (f + 0.5 * slope**2)[0]
        self.rows = rows

    def __call__(self, x: Float64) -> Float64:
        """Compute the logarithms at finite values, (n,)."""
        run: Any = 0
        if len(self.low) > 1:
            run = np.maximum(np.searchsorted(self.low, x, side="right") - 1, 0)
        low = self.low[run]
        clipped = np.clip(x, low, self.high[run])
        t = clipped - low
        t *= self.per_unit[run]
        index = t.astype(np.int64)
        np.minimum(index, self.last[run], out=index)
        t -= index
        index += self.offset[run]
        c0, c1, c2, out = self.rows
        out = out.take(index)
        for c in (c2, c1, c0):
            out *= t
            out += c.take(index)
        outside = np.flatnonzero(clipped != x)
        if len(outside):
            out[outside] = self._tails(x[outside], run[outside] if len(self.low) > 1 else 0)
        return out

    def _tails(self, x: Float64, run: Any) -> Float64:
        """Compute logarithms below the first run, above the last one, or between two."""
        left = x < self.low[run]
        out = self._tail(x, run, np.where(left, 0, 1))
        if len(self.low) > 1:
            gap = np.flatnonzero(~left & (run < len(self.low) - 1))
            upper = self._tail(x[gap], run[gap] + 1, 0)
            out[gap] = np.logaddexp(out[gap], upper)
        return out

    def _tail(self, x: Float64, run: Any, side: Any) -> Float64:
        with np.errstate(over="ignore"):
            z = (x - self.centre[side, run]) / self.h
            main = self.peak[side, run] - 0.5 * z * z
            z = (x - self.last_value[side, run]) / self.h
            return np.logaddexp(main, self.last_height[side, run] - 0.5 * z * z)


def log_sums(
    x: Float64, values: Float64, heights: Float64, h: float, around: float
) -> tuple[Float64, Float64]:
    """Return (log Σ_j exp(a_j - (x - v_j)² / 2h²), its slope times h) at sorted x, (m,) each.

    Only values within `around` are summed.
    """
    f, slope = np.empty(len(x)), np.empty(len(x))
    for rows in blocks(0, len(x), 32):
        window = slice(*np.searchsorted(values, [x[rows][0] - around, x[rows][-1] + around]))
        z = (values[window] - x[rows, np.newaxis]) / h
        terms = heights[window] - 0.5 * z * z
        maximum = terms.max(axis=1)
        terms = np.exp(terms - maximum[:, np.newaxis])
        total = terms.sum(axis=1)
        f[rows] = maximum + np.log(total)
        slope[rows] = (terms * z).sum(axis=1) / total
    return f, slope


def _hermite(f: Float64, slope: Float64) -> tuple[Float64, ...]:
    """Return coefficients of 1, t, t² and t³ between knots, for t in [0, 1]; slopes per step."""
    f0, f1, s0, s1 = f[:-1], f[1:], slope[:-1], slope[1:]
    return f0, s0, 3.0 * (f1 - f0) - 2.0 * s0 - s1, 2.0 * (f0 - f1) + s0 + s1
