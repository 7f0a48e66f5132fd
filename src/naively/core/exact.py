"""Store and add arrays of exact numbers: sums that do not depend on the order of their terms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from naively.kernels import sums as kernel
from naively.kernels.sums import DIGIT

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Index = int | np.bool_ | slice | npt.NDArray[np.integer | np.bool_]
"""What selects rows or columns: a position, a slice, positions or a mask."""

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = float(np.finfo(np.float64).tiny)  # the smallest normal float64 (all digits significant)

KEPT = 8  # limbs per cell after decay, at most: 225 significant bits or more
KEPT_BITS = 150  # significant bits that sums of many decayed cells still have
LOWEST = -70  # lowest limb position after decay
AT_ONCE = 1 << 12  # columns that are rounded at a time
SLICE = 1 << 16  # terms that are summed at a time: their digits cannot overflow


class ExactArray:
    """An array of rational numbers m * 2**e, added and subtracted without rounding.

    A cell of an array of shape ``s`` is ``sum(limbs[..., k] * 2**(32 * (low + k)))``; an array of
    zeros needs no limbs. Counts take one limb, sums of float64 two or three, their squares about
    five, for any number of terms.

    limbs : (*s, L) int64. All but the last limb of a cell are digits in [0, 2**32); the last one
        carries the sign and is in [-2**61, 2**61).
    low : position of the lowest limb.
    """

    __slots__ = ("limbs", "low")

    def __init__(self, limbs: Int64, low: int = 0) -> None:
        self.limbs = limbs
        self.low = low

    def __reduce__(self) -> tuple[Any, ...]:  # protocols 0 and 1 of pickle refuse slots
        return type(self), (self.limbs, self.low)

    @classmethod
    def zeros(cls, shape: tuple[int, ...]) -> ExactArray:
        """Return an array of zeros."""
        return cls(np.zeros((*shape, 0), np.int64))

    @classmethod
    def from_integers(cls, values: Int64, bound: int | None = None) -> ExactArray:
        """Return int64 values as an exact array; `bound` is their largest magnitude, if known."""
        if not values.any():
            return cls.zeros(values.shape)
        if bound is None:
            bound = max(-int(values.min()), int(values.max()))
        array = cls(values[..., np.newaxis])
        return array if bound < 1 << 61 else array.trimmed()

    @classmethod
    def from_lazy(cls, limbs: Int64, low: int) -> ExactArray:
        """Return an array from limbs with pending carries, which are propagated in place."""
        kernel.normalise(limbs.reshape(-1, limbs.shape[-1]))
        return cls(limbs, low).trimmed()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, without the axis of the limbs."""
        return self.limbs.shape[:-1]

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    @property
    def cells(self) -> Int64:
        """The limbs as a (cells, L) view."""
        return self.limbs.reshape(self.size, self.limbs.shape[-1])

    @property
    def digits(self) -> tuple[Int64, int]:
        """(limbs of at most 32 bits each, the last with the sign; position of the lowest limb)."""
        wide = self._widened(self.low, self.low + self.limbs.shape[-1] + 1)
        return wide.limbs, self.low

    def copy(self) -> ExactArray:
        """Return a copy that shares no memory."""
        return ExactArray(self.limbs.copy(), self.low)

    def trimmed(self) -> ExactArray:
        """Return the same numbers in as few limbs as possible: equal arrays have equal limbs."""
        if self.limbs.shape[-1] == 0 or self.size == 0:
            return ExactArray.zeros(self.shape)
        size = self.limbs.shape[-1]
        if size == 1 and 0 < max(-int(self.limbs.min()), int(self.limbs.max())) < 1 << 31:
            return self  # small whole numbers, as most counts are
        first, last = kernel.extent(self.cells)
        if first > size:
            return ExactArray.zeros(self.shape)
        if max(first, last) == size:
            return self._widened(self.low, self.low + size + 1).trimmed()
        if first == 0 and last == size - 1:
            return self
        last = max(first, last)
        limbs = self.limbs[..., first : last + 1].copy()
        for k in range(last + 1, self.limbs.shape[-1]):
            limbs[..., -1] += self.limbs[..., k] << (32 * (k - last))
        return ExactArray(limbs, self.low + first)

    def _widened(self, low: int, high: int) -> ExactArray:
        """Return the same numbers with digits from limb `low` up to limb `high`, exclusive."""
        size = self.limbs.shape[-1]
        if size == 0:
            return ExactArray(np.zeros((*self.shape, high - low), np.int64), low)
        if low >= self.low and high <= self.low + size:
            return self
        low, high = min(low, self.low), max(high, self.low + size)
        at = self.low - low
        limbs = np.zeros((*self.shape, high - low), np.int64)
        limbs[..., at : at + size] = self.limbs
        for k in range(at + size - 1, high - low - 1):  # spread the old top limb upwards
            top = limbs[..., k]
            limbs[..., k + 1] = top >> 32
            limbs[..., k] = top & DIGIT
        return ExactArray(limbs, low)

    def accumulate(
        self, other: ExactArray, rows: Int64 | None = None, columns: Int64 | None = None,
        sign: int = 1,
    ) -> ExactArray:  # fmt: skip
        """Add (or subtract) `other` to the cells [rows[i], columns[j]], in place where possible.

        Use the sum in place of self, whose limbs it may share.

        other : of shape (r, ...) or (r, c, ...)
        rows, columns : (r,) and (c,) int64, distinct positions; all by default.
        """
        width = other.limbs.shape[-1]
        if width == 0:
            return self
        target = self._widened(other.low, other.low + width)
        n_rows, n_columns = (*target.shape, 1)[0], math.prod(target.shape[1:])
        if rows is None:
            rows = np.arange(n_rows)
        if columns is None:
            columns = np.arange(n_columns)
        largest = kernel.accumulate(
            target.limbs.reshape(n_rows, n_columns, target.limbs.shape[-1]), rows, columns,
            np.ascontiguousarray(other.limbs).reshape(len(rows), len(columns), width),
            other.low - target.low, sign,
        )  # fmt: skip
        if largest >= 1 << 61:
            return target._widened(target.low, target.low + target.limbs.shape[-1] + 1)
        return target

    def __add__(self, other: ExactArray) -> ExactArray:
        return self.copy().accumulate(other)

    def __sub__(self, other: ExactArray) -> ExactArray:
        return self.copy().accumulate(other, sign=-1)

    def repeated(self, count: int, axis: int = 1) -> ExactArray:
        """Repeat the numbers `count` times along a new axis."""
        limbs = np.expand_dims(self.limbs, axis)
        return ExactArray(np.repeat(limbs, count, axis), self.low)

    def scatter(self, axis: int, positions: Int64, length: int) -> ExactArray:
        """Put cell k at positions[k] of `length` along an axis; the others are zero."""
        if length == len(positions) and np.array_equal(positions, np.arange(length)):
            return self
        shape = list(self.limbs.shape)
        shape[axis] = length
        limbs = np.zeros(shape, np.int64)
        where: Index = positions
        first = positions[0] if len(positions) else 0
        if np.array_equal(positions, np.arange(first, first + len(positions))):
            where = slice(first, first + len(positions))  # much faster
        limbs[(slice(None),) * axis + (where,)] = self.limbs
        return ExactArray(limbs, self.low)

    def gather(self, axis: int, positions: Index) -> ExactArray:
        """Return the cells at the given positions (or slice, or mask) along an axis."""
        limbs = self.limbs
        dense = limbs.flags.c_contiguous and limbs.size  # else `take` copies or counts all first
        if dense and isinstance(positions, np.ndarray) and positions.dtype.kind == "i":
            return ExactArray(np.take(limbs, positions, axis), self.low)  # faster than indexing
        return ExactArray(self.limbs[(slice(None),) * axis + (positions,)], self.low)

    def summed(self, axis: int) -> ExactArray:
        """Return the exact sums along an axis, which is dropped."""
        limbs = np.moveaxis(self.limbs, axis, 0)
        total = ExactArray.zeros(limbs.shape[1:-1])
        size = limbs.shape[-1]
        if size == 1 and limbs.size:
            bound = max(-int(limbs.min()), int(limbs.max()))
            if bound * len(limbs) < 1 << 61:  # counts: no carry is needed
                return ExactArray(limbs.sum(axis=0), self.low).trimmed()
        for start in range(0, len(limbs) if size else 0, SLICE):
            chunk = limbs[start : start + SLICE]
            lazy = np.empty((*chunk.shape[1:-1], size + 1), np.int64)
            np.sum(chunk & DIGIT, axis=0, out=lazy[..., :size])
            np.sum(chunk[..., -1] >> 32, axis=0, out=lazy[..., size])
            total = total.accumulate(ExactArray.from_lazy(lazy, self.low))
        return total.trimmed()

    def scaled(self, gamma: float) -> ExactArray:
        """Multiply every cell by gamma, rounded to 8 limbs, or to 2**-2240 if that is coarser.

        The relative error is at most 2**-225, or the absolute error 2**-2241 if that is larger:
        far finer than any float64 or its square, but repeated decay ends at 0.
        """
        numerator, denominator = gamma.as_integer_ratio()
        shift = denominator.bit_length() - 1
        numbers, low = self.integers()
        down = -(-shift // 32)
        low -= down
        numbers = numbers * (numerator << (32 * down - shift))
        flat = []
        for value in numbers.ravel().tolist():
            spare = 32 * max(-(-abs(value).bit_length() // 32) - KEPT, LOWEST - low, 0)
            half = (1 << spare) >> 1
            flat.append((value + half >> spare) << spare)
        return ExactArray.from_numbers(flat, self.shape, low)

    @classmethod
    def from_numbers(cls, numbers: list[int], shape: tuple[int, ...], low: int) -> ExactArray:
        """Return an array from Python integers, each times 2**(32 * low)."""
        bits = max((abs(value).bit_length() for value in numbers), default=0)
        size = bits // 32 + 2
        data = b"".join(value.to_bytes(4 * size, "little", signed=True) for value in numbers)
        digits = np.frombuffer(data, "<u4").astype(np.int64).reshape(*shape, size)
        digits[..., -1] = digits[..., -1].astype(np.int32)  # the top digit carries the sign
        return cls(digits, low).trimmed()

    def integers(self) -> tuple[npt.NDArray[np.object_], int]:
        """Return (integers, low): Python integers with value = integer * 2**(32 * low)."""
        size = self.limbs.shape[-1]
        numbers = np.zeros(self.shape, object)
        if size == 0:
            return numbers, self.low
        width = 4 * (size + 1)  # the top limb is 64 bits wide
        digits = np.empty((self.size, size + 1), "<u4")
        digits[:, : size - 1] = self.cells[:, :-1]
        digits[:, size - 1] = self.cells[:, -1] & DIGIT
        digits[:, size] = (self.cells[:, -1] >> 32) & DIGIT
        data = digits.tobytes()
        numbers.ravel()[:] = [
            int.from_bytes(data[at : at + width], "little", signed=True)
            for at in range(0, len(data), width)
        ]
        return numbers, self.low

    def fractions(self) -> npt.NDArray[np.object_]:
        """Return the numbers as `fractions.Fraction`."""
        numbers, low = self.integers()
        unit = Fraction(2) ** (32 * low)
        result = np.empty(self.shape, object)
        result.ravel()[:] = [value * unit for value in numbers.ravel().tolist()]
        return result

    def rounded(self) -> Float64:
        """Return the nearest float64 of each cell, ties to even."""
        if self.limbs.shape[-1] == 0:
            return np.zeros(self.shape)
        if self.limbs.shape[-1] == 1 and self.low == 0:
            return self.limbs[..., 0].astype(np.float64)
        return cast(Float64, kernel.round_nearest(self.cells, 32 * self.low)).reshape(self.shape)

    def rounded_columns(self, columns: Int64, rows: Index = slice(None)) -> Float64:
        """Return the nearest float64 of some columns of a matrix, as rows: (columns, rows)."""
        result = np.empty((len(columns), np.arange(len(self.limbs))[rows].size))
        for start in range(0, len(columns), AT_ONCE):  # so many stay in the cache
            chunk = slice(start, start + AT_ONCE)
            result[chunk] = self.gather(1, columns[chunk]).rounded()[rows].T
        return result

    def any_negative(self) -> bool:
        """Return whether any number is negative."""
        return self.limbs.shape[-1] > 0 and bool((self.limbs[..., -1] < 0).any())

    def below_zero(self, scale: ExactArray) -> bool:
        """Return whether any number is negative by more than the rounding error of decay.

        scale : sums that the rounding error is relative to.
        """
        if not self.any_negative():
            return False
        return bool((self.rounded() < -(2.0**-KEPT_BITS) * np.abs(scale.rounded())).any())

    def nonzero(self) -> npt.NDArray[np.bool_]:
        """Return which numbers are not zero."""
        return cast(npt.NDArray[np.bool_], (self.limbs != 0).any(axis=-1))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactArray):
            return NotImplemented
        a, b = self.trimmed(), other.trimmed()
        same_scale = a.low == b.low or a.limbs.shape[-1] == 0
        return same_scale and np.array_equal(a.limbs, b.limbs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ExactArray({self.rounded()!r})"
