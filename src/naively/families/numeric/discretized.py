"""Cut numeric features into bins chosen from the data: p(x_α in bin b | y = c) = θ_bc."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from naively.core.exact import ExactArray, Float64, Int64
from naively.families.base import Family, Listed, Parameters, Section, labelled
from naively.families.linear import counts_of, log, valid_alpha
from naively.pooling.duplicates import of_values
from naively.statistics.base import Data, dense, is_sparse
from naively.statistics.grid import GridCells, GridStatistics, numbers

Method = Literal["mdl", "frequency"]


@dataclass(frozen=True)
class Discretized(Family[GridStatistics, "DiscretizedParameters"]):
    """Numeric features by bins, each bin a category with a smoothed count.

    θ_bc = (n_bc + l) / (n_c + l B), as in `Categorical`, for the B bins of a feature. The
    statistics, `GridStatistics`, do not depend on cuts: these are chosen at each estimate, so that
    training remains addition. A feature without cuts has one bin and is no evidence.

    Sources: Fayyad & Irani 1993, "Multi-interval discretization of continuous-valued attributes";
    Dougherty, Kohavi & Sahami 1995, "Supervised and unsupervised discretization", who found it
    the best for naive Bayes.

    Parameters
    ----------
    method : "mdl" or "frequency"
        How to cut: "mdl" splits where the entropy of the classes falls most, recursively, as
        long as that shortens the description of the classes; "frequency" makes bins of about
        equal weight.
    bins : int
        The number of bins of "frequency", if values allow it.
    alpha : float
        l: 0 for maximum likelihood, 1 for Laplace.
    """

    method: Method = "mdl"
    bins: int = 10
    alpha: float = 1.0

    name = "discretized"
    summary = GridCells()
    curve = "P(range | class)"
    is_density = False  # probabilities of bins; the outer bins are unbounded and have no density

    def __post_init__(self) -> None:
        if self.method not in ("mdl", "frequency"):
            raise ValueError(f'method must be "mdl" or "frequency", not {self.method!r}')
        is_integer = isinstance(self.bins, int | np.integer) and not isinstance(self.bins, bool)
        if not is_integer or self.bins < 1:
            raise ValueError(f"bins must be a whole number >= 1, not {self.bins!r}")
        if valid_alpha(self.alpha).ndim:
            raise ValueError(f"alpha must be one number, not {self.alpha!r}")

    def estimate(
        self, statistics: GridStatistics, class_weight: ExactArray
    ) -> DiscretizedParameters:
        """Choose the cuts, and estimate [θ_bc]_α."""
        return DiscretizedParameters(statistics, self)


class DiscretizedParameters(Parameters):
    """Cuts, and the logarithms of the probabilities of the bins between them.

    cuts : list of d sorted float64 arrays; a value equal to a cut is in the bin above it.
    log_theta : list of d arrays (C, B + 1); the last column is 0, for a missing value.
    extremes : (d, 2) float64, the ends of the outer bins when values are drawn.
    n_free : C (B - 1) a feature: the probabilities. The cuts are not counted.
    """

    claims_least = True
    not_linear = "the log-odds are linear in indicators of the bins, not in the values x"

    def __init__(self, statistics: GridStatistics, family: Discretized) -> None:
        statistics = statistics.canonical()
        counts = counts_of(statistics.tables["count"])
        if counts.sum(axis=0).max(initial=0.0) > 2.0**1000:  # avoid overflow of the sums below
            counts = counts * 2.0**-64
        offsets = statistics.offsets
        self.cuts: list[Float64] = []
        self.log_theta: list[Float64] = []
        self.extremes = np.zeros((len(statistics.levels), 2))
        for j, edges in enumerate(statistics.levels):
            cells = of_values(counts[:, offsets[j] : offsets[j + 1]]).T
            starts = _starts(cells, family)
            self.cuts.append(_between(edges, statistics.width(j), starts))
            self.log_theta.append(_log_theta(cells, starts, float(family.alpha)))
            if len(edges):
                centres = statistics.centres(j)
                self.extremes[j] = centres[0], centres[-1]
        self.n_free = sum(theta.shape[0] * (theta.shape[1] - 2) for theta in self.log_theta)

    def _bins(self, X: npt.NDArray[Any], column: int, first: int) -> Int64:
        """Return the bin of each value of a column; the number of bins where it is missing."""
        x, cuts = numbers(X, column, first), self.cuts[column]
        return np.where(np.isnan(x), len(cuts) + 1, np.searchsorted(cuts, x, side="right"))

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Compute Σ_α log [θ_bc]_α for the bins b of the row."""
        rows = dense(X[start:stop]) if is_sparse(X) else X[start:stop]
        out[:] = 0.0
        for j, theta in enumerate(self.log_theta):
            bins = self._bins(rows, j, start)
            if len(self.cuts[j]):
                for scores, class_theta in zip(out, theta, strict=True):
                    scores += class_theta.take(bins)

    def contributions(self, X: Data) -> Float64:
        """Compute log [θ_bc]_α of each feature; 0 where it is missing."""
        X = dense(X)
        classes = len(self.log_theta[0]) if self.log_theta else 0
        out = np.empty((len(X), classes, len(self.cuts)))
        for j, theta in enumerate(self.log_theta):
            out[:, :, j] = theta[:, self._bins(X, j, 0)].T
        return out

    def sample(self, codes: Int64, generator: np.random.Generator) -> Float64:
        """Draw rows of independent values, uniform in their bin; outer bins end at the extremes.

        An outer bin without training values beyond its cut has all its values at the cut.
        """
        out = np.zeros((len(codes), len(self.cuts)))
        for j, (cuts, theta) in enumerate(zip(self.cuts, self.log_theta, strict=True)):
            low, high = self.extremes[j]
            edges = np.array([low, *cuts, max(high, cuts[-1] if len(cuts) else low)])
            sums = np.cumsum(np.exp(theta[:, :-1]), axis=1)
            draw = generator.random(len(codes))[:, np.newaxis] * sums[codes, -1:]
            bins = np.minimum((draw >= sums[codes]).sum(axis=1), len(cuts))
            uniform = generator.random(len(codes))
            x = (1.0 - uniform) * edges[bins] + uniform * edges[bins + 1]
            upper = np.nextafter(np.append(cuts, np.inf), -np.inf)[bins]  # rounding may reach it
            out[:, j] = np.minimum(x, upper)
        return out

    def described(self, names: Sequence[str]) -> Section:
        """Describe the probability of each range."""
        rows, words = {}, {}
        for name, cuts, theta in zip(names, self.cuts, self.log_theta, strict=True):
            ranges = [f"{name}{label}" for label in _ranges(cuts)]
            rows[name], words[name] = labelled(ranges, np.exp(theta[:, :-1])), _cut_at(cuts)
        return Section("probability of the range in %", rows=rows, words=words)

    def listed(self) -> list[Listed]:
        """List the probability of each range."""
        ranges = [_ranges(cuts) for cuts in self.cuts]
        features = np.repeat(np.arange(len(ranges)), [len(column) for column in ranges])
        levels = [label.lstrip(": ") for column in ranges for label in column]
        p = np.exp(np.concatenate([column[:, :-1] for column in self.log_theta], axis=1))
        return [Listed("p", features, levels, p)]


def _cut_at(cuts: Float64) -> str:
    """Format the first cuts."""
    if len(cuts) == 0:
        return "one range: it has no evidence"
    first_cuts = ", ".join(f"{cut:.6g}" for cut in cuts[:6].tolist())
    return f"{len(cuts) + 1:,} ranges, cut at {first_cuts}" + (", ..." if len(cuts) > 6 else "")


def _ranges(cuts: Float64) -> list[str]:
    """Format the label of each range, to follow the feature's name."""
    edges = [f"{cut:.6g}" for cut in cuts.tolist()]
    if not edges:
        return [": any"]
    inner = [f": {a} to {b}" for a, b in pairwise(edges)]
    return [f" < {edges[0]}", *inner, f" ≥ {edges[-1]}"]


def _log_theta(counts: Float64, starts: Int64, alpha: float) -> Float64:
    """Compute log [θ_bc]_α of the bins that start at these cells, (C, B), and a column of zeros."""
    bins = len(starts)
    if len(counts) == 0 or bins == 1:
        return np.zeros((counts.shape[1], 2))
    bin_counts = np.add.reduceat(counts, starts, axis=0).T
    denominator = bin_counts.sum(axis=1, keepdims=True) + alpha * bins
    theta = log(bin_counts + alpha) - log(np.where(denominator > 0, denominator, 1.0))
    theta = np.where(denominator > 0, theta, -math.log(bins))
    return np.append(theta, np.zeros((len(theta), 1)), axis=1)


def _between(edges: Float64, width: float, starts: Int64) -> Float64:
    """Place cuts half-way between the cells before each start and the start; none before the first.

    A value equal to a cut belongs to the bin above it. So a cut is above all values of the
    lower cell, and at most the edge of the upper one.
    """
    below, above = edges[starts[1:] - 1], edges[starts[1:]]
    half = 0.5 * width
    middle = 0.5 * (below + half) + 0.5 * (above + half)
    least = np.maximum(np.nextafter(below, np.inf), below + width)
    return np.clip(middle, np.minimum(least, above), above)


def _starts(counts: Float64, family: Discretized) -> Int64:
    """Return the first cell of each bin, for weights (cells, C)."""
    if len(counts) == 0:
        return np.zeros(1, np.int64)
    starts = mdl_starts(counts) if family.method == "mdl" else even_starts(counts, family.bins)
    return np.array([0, *starts], np.int64)


def even_starts(counts: Float64, bins: int) -> list[int]:
    """Split the cells into bins of about equal weight; return the starts of all but the first."""
    if bins >= len(counts):
        return list(range(1, len(counts)))
    weight = np.cumsum(counts.sum(axis=1))
    cumulative, targets = weight[:-1], weight[-1] * (np.arange(1, bins) / bins)
    right = np.minimum(np.searchsorted(cumulative, targets), len(cumulative) - 1)
    left = np.maximum(right - 1, 0)
    nearest = np.where(targets - cumulative[left] <= cumulative[right] - targets, left, right)
    return [int(cell) + 1 for cell in np.unique(nearest)]


def mdl_starts(counts: Float64) -> list[int]:
    """Split the cells by Fayyad & Irani's criterion; return the first cells of bins, ascending.

    A set S of weight N with k classes is split in two, S1 and S2, where the mean entropy of the
    two is least, if the gain is more than log2(N - 1) / N + Δ / N, with
    Δ = log2(3^k - 2) - (k H(S) - k1 H(S1) - k2 H(S2)); then each of the two likewise.

    counts : (cells, C) weights, in the order of the values.
    """
    sums = np.concatenate([np.zeros((1, counts.shape[1])), np.cumsum(counts, axis=0)])
    splits: list[int] = []
    parts = [(0, len(counts))]
    while parts:
        start, stop = parts.pop()
        split = _best_split(sums[start : stop + 1])
        if split is not None:
            splits.append(start + split)
            parts += [(start, start + split), (start + split, stop)]
    return sorted(splits)


def _best_split(sums: Float64) -> int | None:
    """Return the split with the largest gain, by cumulative weights; None if it is too small."""
    total = sums[-1] - sums[0]
    n = total.sum()
    if len(sums) < 3 or not n > 1.0 or np.count_nonzero(total) < 2:
        return None
    left, right = sums[1:-1] - sums[0], sums[-1] - sums[1:-1]
    # the weight of each side times its entropy, in bits
    bits = _bits(left) + _bits(right)
    best = int(bits.argmin())
    if not left[best].any() or not right[best].any():  # lost by rounding beside larger weights
        return None
    k = np.count_nonzero([total, left[best], right[best]], axis=1)
    entropies = [_bits(weights) / weights.sum() for weights in (total, left[best], right[best])]
    gain = entropies[0] - bits[best] / n
    powers = k[0] * math.log2(3.0) + math.log1p(-2.0 * 3.0 ** -float(k[0])) / math.log(2.0)
    delta = powers - (k[0] * entropies[0] - k[1] * entropies[1] - k[2] * entropies[2])
    return best + 1 if gain > (math.log2(n - 1.0) + delta) / n else None


def _bits(weights: Float64) -> Any:
    """Compute N H = N log2 N - Σ_c n_c log2 n_c, along the last axis."""
    total = weights.sum(axis=-1, keepdims=True)
    portion = weights / np.where(total > 0, total, 1.0)
    logs = np.log2(np.where(portion > 0, portion, 1.0))
    return -(weights * logs).sum(axis=-1)
