"""What the families whose log-probability is linear in x share."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property

import numpy as np

from naively.exact import ExactArray, Float64
from naively.families.base import Data, Parameters, column_blocks, dense, is_sparse
from naively.families.gaussian import raise_infinite
from naively.kernels import scores

Alpha = float | Float64


class Terms:
    """log p(x_α | c) = zero + x · slope for a block of columns, (C, b) each.

    Where a probability is 0, the finite part holds no term for it and `impossible` counts it: a
    row is impossible under a class if zero + x · slope is above 0 there. So 0 · (-inf) is 0.
    """

    def __init__(self, slope: Float64, zero: Float64 | None = None) -> None:
        self.impossible_slope = np.isneginf(slope).astype(np.float64)
        self.impossible_zero = np.zeros_like(slope)
        if zero is not None:
            self.impossible_zero = np.isneginf(zero).astype(np.float64)
        self.slope = np.where(np.isneginf(slope), 0.0, slope)
        self.zero = zero if zero is None else np.where(np.isneginf(zero), 0.0, zero)


class Scorer:
    """The arguments of the linear kernels: weight and zero terms, (C, d) or for CSR (d, C)."""

    def __init__(self, n_classes: int, n_features: int, sparse: bool) -> None:
        self.sparse = sparse
        self.shape = (n_features, n_classes) if sparse else (n_classes, n_features)
        self.weight = np.zeros(self.shape)
        self.zero = np.zeros((0, 0) if sparse else self.shape)
        self.base = np.zeros(n_classes)

    def set(self, columns: slice, weight: Float64, zero: Float64 | None) -> None:
        """Fill in a block of columns, given as (C, b)."""
        where = (columns, slice(None)) if self.sparse else (slice(None), columns)
        self.weight[where] = weight.T if self.sparse else weight
        if zero is not None:
            if self.zero.size == 0:
                self.zero = np.zeros(self.shape)
            self.zero[where] = zero.T if self.sparse else zero
            self.base += zero.sum(axis=1)

    def add(self, X: Data, start: int, stop: int, threshold: float, out: Float64) -> None:
        """Add the scores of rows start:stop to `out`."""
        if self.sparse:
            bad = scores.linear_sparse(
                X.data, X.indices, X.indptr, start, stop,
                self.weight, self.zero, self.base, threshold, out,
            )  # fmt: skip
        else:
            bad = scores.linear_dense(
                X, start, stop, self.weight, self.zero, self.base, threshold, out
            )
        raise_infinite(bad, X.shape[1])


class LinearParameters(Parameters):
    """Parameters of a family with log p(x | c) = Σ_α zero_αc + x_α · slope_αc."""

    threshold: float = math.nan

    def __init__(self, n_classes: int, n_features: int) -> None:
        self.n_classes = n_classes
        self.n_features = n_features

    @abstractmethod
    def terms(self, columns: slice) -> Terms:
        """The terms of a block of columns."""

    @cached_property
    def _dense(self) -> tuple[Scorer, Scorer | None]:
        return self._scorers(False)

    @cached_property
    def _sparse(self) -> tuple[Scorer, Scorer | None]:
        return self._scorers(True)

    def _scorers(self, sparse: bool) -> tuple[Scorer, Scorer | None]:
        """The scorer of the finite terms, and that of the impossible ones if there are any."""
        finite = Scorer(self.n_classes, self.n_features, sparse)
        impossible = None
        for columns in column_blocks(self.n_features):
            terms = self.terms(columns)
            finite.set(columns, terms.slope, terms.zero)
            if terms.impossible_slope.any() or terms.impossible_zero.any():
                if impossible is None:
                    impossible = Scorer(self.n_classes, self.n_features, sparse)
                impossible.set(columns, terms.impossible_slope, terms.impossible_zero)
        return finite, impossible

    def add_log_prob(self, X: Data, start: int, stop: int, out: Float64) -> None:
        """Add Σ_α zero_αc + x_α · slope_αc; -inf where a class cannot produce the row."""
        finite, impossible = self._sparse if is_sparse(X) else self._dense
        finite.add(X, start, stop, self.threshold, out)
        if impossible is not None:
            count = np.zeros_like(out)
            impossible.add(X, start, stop, self.threshold, count)
            out[count > 0.0] = -np.inf

    def contributions(self, X: Data) -> Float64:
        """zero_αc + x_α · slope_αc of each feature; 0 where it is missing."""
        x = dense(X).astype(np.float64)
        missing = np.isnan(x)
        if not math.isnan(self.threshold):
            x = (x > self.threshold).astype(np.float64)
        x = np.where(missing, 0.0, x)[:, np.newaxis, :]
        terms = self.terms(slice(0, self.n_features))
        out = x * terms.slope
        impossible = x * terms.impossible_slope + terms.impossible_zero > 0.0
        if terms.zero is not None:
            out += terms.zero
        out[impossible] = -np.inf
        return np.where(missing[:, np.newaxis, :], 0.0, out)

    def linear(self) -> tuple[Float64, Float64]:
        """W = the slopes, b = the sum of the zero terms (lectures 1 and 3)."""
        terms = self.terms(slice(0, self.n_features))
        if terms.impossible_slope.any() or terms.impossible_zero.any():
            raise ValueError(
                "some probabilities are 0, whose logarithm no weight can hold; use alpha > 0"
            )
        if terms.zero is None:
            return terms.slope, np.zeros(self.n_classes)
        return terms.slope, terms.zero.sum(axis=1)


def check_alpha(alpha: Alpha, n_classes: int, n_features: int) -> Float64:
    """The smoothing l as an array that broadcasts to (C, d): scalar, (d,), (C, 1) or (C, d).

    Raises
    ------
    ValueError : if it has another shape, or is not finite and non-negative.
    """
    values = np.asarray(alpha, np.float64)
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(f"alpha must be finite and >= 0, not {alpha!r}")
    shapes = {(), (n_features,), (n_classes, 1), (n_classes, n_features), (1, n_features)}
    if values.shape not in shapes:
        raise ValueError(
            f"When it is not a scalar, alpha should contain one value a feature, ({n_features},), "
            f"a class, ({n_classes}, 1), or both, ({n_classes}, {n_features}); "
            f"its shape is {values.shape}"
        )
    return values


def columns_of(values: Float64, columns: slice) -> Float64:
    """The block of columns of something that broadcasts to (C, d)."""
    return values[..., columns] if values.ndim and values.shape[-1] > 1 else values


def log(values: Float64) -> Float64:
    """The natural logarithm, with log 0 = -inf and no warning."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def observed_rows(class_weight: ExactArray, missing: ExactArray, columns: slice) -> ExactArray:
    """The weight of the rows in which each feature was seen, (C, b)."""
    gone = missing.taken(1, columns)
    limbs = np.repeat(class_weight.limbs[:, np.newaxis, :], gone.shape[1], axis=1)
    return ExactArray(limbs, class_weight.low).add(gone, sign=-1)
