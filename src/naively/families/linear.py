"""Score rows by linear forms of x: compute, cache and look up the weights of all columns."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from naively.core.exact import LARGEST, ExactArray, Float64, Int64
from naively.core.workers import SERIAL, Workers
from naively.families.base import Parameters
from naively.formula import Formula, Line
from naively.kernels import scores as kernel
from naively.kernels.sums import LANES
from naively.statistics.base import Data, dense, is_sparse, raise_infinite, shown
from naively.statistics.logs import blocks

Ids = npt.NDArray[np.int32]

NONE = np.empty(0)


class WeightCache:
    """A cache of weights by column, each computed when a row with this column is first scored.

    Columns with equal sums share one entry. Most terms occur once or twice, so that millions of
    columns have few different weights, which stay in the processor's cache. Several threads may
    score at once.

    inner : parameters whose weights depend on the sums of a column alone, are finite, and
        contribute nothing for a value of 0.
    zero_is_unknown : whether columns whose sums are all 0 count as unknown, with weight 0.
    weight : (d, C, padded) the distinct weights, in the first rows.
    """

    def __init__(
        self, inner: LinearParameters, sums: ExactArray, zero_is_unknown: bool = False
    ) -> None:
        self.inner = inner
        self.zero_is_unknown = zero_is_unknown
        self.sums = sums.limbs
        self.width = -(-inner.n_classes // LANES) * LANES
        self.base = np.zeros(self.width)
        columns = inner.n_features  # allocated lazily by the system: untouched pages cost no memory
        self.places = np.zeros(columns, np.int32)
        self.weight = aligned((columns, self.width))
        self._slots = np.zeros(2 << columns.bit_length(), np.int32)
        self._distinct_sums = np.zeros((columns, len(self.sums) * self.sums.shape[2]), np.int64)
        self._first = np.zeros(columns, np.int32)
        self._count = np.zeros(1, np.int64)
        self._weighed = 0
        self._lock = Lock()

    def score(self, data: Float64, indices: Ids, indptr: Int64, out: Float64) -> None:
        """Compute the scores of CSR rows of finite values into `out`; overwrites `indices`."""
        if not kernel.places_of(indices, self.places, indices):
            with self._lock:
                self._look_up(indices)
        kernel.linear_sparse(
            data, indices, indptr, 0, len(indptr) - 1, self.weight.reshape(-1), NONE, self.width,
            self.base, math.nan, out,
        )  # fmt: skip

    def _look_up(self, indices: Ids) -> None:
        """Replace columns by their places in `weight`; a new column is encoded as -1 - column."""
        new = np.flatnonzero(indices < 0)
        columns = -1 - indices[new]
        places = np.empty_like(columns)
        kernel.place_columns(
            columns, self.sums, self._slots, self._distinct_sums, self._first, self._count, places
        )
        rows = slice(self._weighed, int(self._count[0]))
        if rows.start < rows.stop:
            slope = self.inner.terms(self._first[rows]).slope  # type: ignore[arg-type]
            if self.zero_is_unknown:  # an unknown column changes no score
                slope[:, ~self._distinct_sums[rows].any(axis=1)] = 0.0
            self.weight[rows, : self.inner.n_classes] = slope.T
            self._weighed = rows.stop
        self.places[columns] = places + 1  # written last: other threads read it without the lock
        indices[new] = places


def with_group(total: ExactArray, group: Int64, n_groups: int) -> ExactArray:
    """Append the group of each term to its sums, (C + 1, V), if there are several groups."""
    if n_groups == 1 or not total.limbs.size:
        return total
    limbs = np.zeros((1, *total.limbs.shape[1:]), np.int64)
    limbs[0, :, 0] = group
    return ExactArray(np.concatenate([total.limbs, limbs]), total.low)


# ---- linear --------------------------------------------------------------------------------------


Alpha = float | Float64
WIDTH = 8192  # columns at a time, so that temporaries are smaller than a table
IMPOSSIBLE = "some probabilities are 0, whose logarithm no weight can hold; use alpha > 0"


class Terms:
    """log p(x_α | c) = zero + x · slope for a block of columns, (C, b) each.

    Infinite terms, where a probability is 0, are stored apart: the finite part has 0 there, and
    `impossible`, if not None, has 1. A row is impossible under a class if the zero + x · slope of
    `impossible` is above 0. So 0 · (-inf) is 0.
    """

    def __init__(self, slope: Float64, zero: Float64 | None = None) -> None:
        self.slope = slope
        self.zero = zero
        self.impossible: Terms | None = None
        if min(part.min(initial=0.0) for part in (slope, zero) if part is not None) > -np.inf:
            return
        self.impossible = Terms(np.isneginf(slope).astype(np.float64))
        self.slope = np.where(np.isneginf(slope), 0.0, slope)
        if zero is not None:
            self.impossible.zero = np.isneginf(zero).astype(np.float64)
            self.zero = np.where(np.isneginf(zero), 0.0, zero)


class Scorer:
    """The arguments of the linear kernels: slopes and zero terms of all columns.

    Weights are 0 before they are `set`; with `filled=False` they are uninitialized.
    """

    def __init__(
        self, n_classes: int, n_features: int, sparse: bool, zeros: bool, filled: bool = True
    ) -> None:
        self.sparse = sparse
        self.n_classes = n_classes
        self.width = -(-n_classes // LANES) * LANES
        self.shape = (n_features, self.width) if sparse else (n_classes, n_features)
        self.weight = aligned(self.shape, np.zeros if filled else np.empty)
        self.zero = aligned(self.shape if zeros or not sparse else (0, 0))
        self.base = np.zeros(self.width if sparse else n_classes)

    def set(self, columns: slice, terms: Terms) -> None:
        """Set the terms of a block of columns."""
        index = (columns, slice(self.n_classes)) if self.sparse else (slice(None), columns)
        self.weight[index] = terms.slope.T if self.sparse else terms.slope
        if terms.zero is not None:
            self.zero[index] = terms.zero.T if self.sparse else terms.zero

    def rest(self, bases: list[Float64 | None]) -> None:
        """Add up the scores of a row of zeros over the blocks."""
        for base in bases:
            if base is not None:
                self.base[: self.n_classes] += base

    def score(self, X: Data, start: int, stop: int, threshold: float, out: Float64) -> None:
        """Compute the scores of rows start:stop into `out`."""
        if self.sparse:
            infinite = kernel.linear_sparse(
                X.data, X.indices, X.indptr, start, stop, self.weight.reshape(-1),
                self.zero.reshape(-1), self.width, self.base, threshold, out,
            )  # fmt: skip
        else:
            infinite = kernel.linear_dense(
                shown(X), start, stop, self.weight, self.zero, self.base, threshold, out
            )
        raise_infinite(infinite, X.shape[1])


class LinearParameters(Parameters):
    """Parameters of a family with log p(x | c) = Σ_α zero_αc + x_α · slope_αc."""

    threshold: float = math.nan
    has_zero: ClassVar[bool] = True  # whether a value of 0 contributes

    def __init__(self, n_classes: int, n_features: int) -> None:
        self.n_classes = n_classes
        self.n_features = n_features
        self._scorers: dict[bool, tuple[Scorer, Scorer | None]] = {}

    @abstractmethod
    def terms(self, columns: slice) -> Terms:
        """Compute the terms of a block of columns."""

    def prepare(self, X: Data, workers: Workers) -> None:
        """Compute the scorers for dense or sparse rows, blocks of columns in parallel."""
        sparse = is_sparse(X)
        if sparse not in self._scorers:
            self._scorers[sparse] = self._scorer_pair(sparse, workers)

    def _scorer_pair(self, sparse: bool, workers: Workers) -> tuple[Scorer, Scorer | None]:
        """Make the scorer of the finite terms, and that of the impossible ones if there are any."""
        finite = Scorer(self.n_classes, self.n_features, sparse, self.has_zero)

        def set_block(columns: slice) -> tuple[Float64 | None, Terms | None]:
            terms = self.terms(columns)
            finite.set(columns, terms)
            return None if terms.zero is None else terms.zero.sum(axis=1), terms.impossible

        column_blocks = list(blocks(0, self.n_features, WIDTH))
        parts = workers.map(set_block, column_blocks)
        finite.rest([base for base, _ in parts])
        if all(impossible is None for _, impossible in parts):
            return finite, None
        impossible_scorer = Scorer(self.n_classes, self.n_features, sparse, self.has_zero)
        for columns, (_, terms) in zip(column_blocks, parts, strict=True):
            if terms is not None:
                impossible_scorer.set(columns, terms)
                impossible_scorer.rest([None if terms.zero is None else terms.zero.sum(axis=1)])
        return finite, impossible_scorer

    def log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Compute Σ_α zero_αc + x_α · slope_αc; -inf where a class cannot produce the row."""
        self.prepare(X, SERIAL)
        finite, impossible = self._scorers[is_sparse(X)]
        finite.score(X, start, stop, self.threshold, out)
        with np.errstate(over="ignore", invalid="ignore"):
            overflow = not math.isfinite(out.sum())
        if overflow:
            self._settle(finite, X, start, out)
        if impossible is not None:
            count = np.empty(out.shape)
            impossible.score(X, start, stop, self.threshold, count)
            out[count > 0.0] = -np.inf

    def _settle(self, finite: Scorer, X: Data, start: int, out: Float64) -> None:
        """Give rows whose scores overflow to the class that wins when x is scaled down."""
        rows = np.flatnonzero(~np.isfinite(out).all(axis=0))
        if len(rows) == 0:
            return
        scaled = np.empty((self.n_classes, len(rows)))
        finite.score(X[start + rows] * 2.0**-100, 0, len(rows), self.threshold, scaled)
        best = scaled.max(axis=0)
        largest = np.copysign(LARGEST, best)
        out[:, rows] = np.where(scaled == best, largest, -np.inf)

    def contributions(self, X: Data) -> Float64:
        """Compute zero_αc + x_α · slope_αc of each feature; 0 where it is missing."""
        x = dense(X).astype(np.float64)
        missing = np.isnan(x)
        if not math.isnan(self.threshold):
            x = (x > self.threshold).astype(np.float64)
        x = np.where(missing, 0.0, x)[:, np.newaxis, :]
        out = self.evaluated(slice(0, self.n_features), x)
        return np.where(missing[:, np.newaxis, :], 0.0, out)

    def evaluated(self, columns: Any, x: Float64) -> Float64:
        """Compute zero_αc + x_α · slope_αc for (n, 1, b) values of some columns, (n, C, b)."""
        terms = self.terms(columns)
        with np.errstate(over="ignore"):
            out = _evaluate(terms, x)
        if terms.impossible is not None:
            out[_evaluate(terms.impossible, x) > 0.0] = -np.inf
        return out

    def feature_log_prob(self) -> Float64:
        """Return the slopes, (C, d), as scikit-learn's ``feature_log_prob_``."""
        return self.terms(slice(0, self.n_features)).slope

    weighted = False  # whether scores are weights, not logarithms of probabilities

    def presence(self) -> Float64 | None:
        """Return P(feature is present), (C, d); None if absence is no evidence."""
        return None

    def formula(self, names: Sequence[str]) -> Formula:
        """Return zero + slope · x of each column."""
        terms = self.terms(slice(0, self.n_features))
        if terms.impossible is not None:
            raise ValueError(IMPOSSIBLE)
        zero = np.zeros_like(terms.slope) if terms.zero is None else terms.zero
        threshold = None if math.isnan(self.threshold) else self.threshold
        columns = zip(names, zero.T, terms.slope.T, strict=True)
        return Formula(np.zeros(self.n_classes), [Line(*column, threshold) for column in columns])

    def linear(self) -> tuple[Float64, Float64]:
        """Return W, the slopes, and b, the sum of the zero terms (lectures 1 and 3)."""
        terms = self.terms(slice(0, self.n_features))
        if terms.impossible is not None:
            raise ValueError(IMPOSSIBLE)
        if terms.zero is None:
            return terms.slope, np.zeros(self.n_classes)
        return terms.slope, terms.zero.sum(axis=1)


def aligned(shape: tuple[int, int], allocate: Callable[[int], Float64] = np.zeros) -> Float64:
    """Allocate an array at a cache line's start, so that no group of 8 cells is in two lines."""
    line = 64
    memory = allocate(math.prod(shape) + line // 8)
    offset = -memory.ctypes.data % line // 8
    return memory[offset : offset + math.prod(shape)].reshape(shape)


def _evaluate(terms: Terms, x: Float64) -> Float64:
    return x * terms.slope if terms.zero is None else terms.zero + x * terms.slope


def valid_alpha(alpha: Any) -> Float64:
    """Return the smoothing l as an array of any shape; ValueError unless in [0, 1e100]."""
    try:
        values = np.asarray(None if isinstance(alpha, str) else alpha, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"alpha must be numeric, not {alpha!r}") from None
    if not ((values >= 0) & (values <= 1e100)).all():
        raise ValueError(f"alpha must be from 0 to 1e100, not {alpha!r}")
    return values


def check_alpha(alpha: Alpha, n_classes: int, n_features: int) -> Float64:
    """Return the smoothing l as an array that broadcasts to (C, d): (), (d,), (C, 1) or (C, d).

    Raises ValueError if it has another shape, or is not finite and non-negative.
    """
    values = valid_alpha(alpha)
    shapes = {(), (n_features,), (n_classes, 1), (n_classes, n_features), (1, n_features)}
    if values.shape not in shapes:
        raise ValueError(
            f"When it is not a scalar, alpha must have one value per feature, ({n_features},), "
            f"per class, ({n_classes}, 1), or both, ({n_classes}, {n_features}); "
            f"its shape is {values.shape}"
        )
    return values


def columns_of(values: Float64, columns: slice) -> Float64:
    """Select a block of columns of an array that broadcasts to (C, d)."""
    return values[..., columns] if values.ndim and values.shape[-1] > 1 else values


def log(values: Float64) -> Float64:
    """Natural logarithm, with log 0 = -inf and no warning."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def counts_of(sums: ExactArray) -> Float64:
    """Round non-negative sums to float64; clip sums that overflow to the largest float."""
    return np.clip(sums.rounded(), 0.0, LARGEST)
