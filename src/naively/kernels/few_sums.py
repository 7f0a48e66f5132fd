"""Exact sums in NumPy, of so few numbers that no kernel is compiled or loaded for them.

As `naively.kernels.few`: each function takes what its kernel takes, and returns NotImplemented,
with nothing changed, where it cannot do it.
"""

import numpy as np
import numpy.typing as npt

from naively.kernels.few import DIGIT, is_few

Int64 = npt.NDArray[np.int64]


def needed(low, high):
    """`limbs.needed`."""
    return (high + 40 - low) // 32 + 3


def normalise(limbs):
    """`limbs.normalise`."""
    if not is_few(limbs.size):
        return NotImplemented
    for k in range(limbs.shape[1] - 1):
        limbs[:, k + 1] += limbs[:, k] >> 32
        limbs[:, k] &= DIGIT
    return None


def rows_by_class(codes, classes):
    """`labels.rows_by_class`."""
    if not is_few(codes.size):
        return NotImplemented
    ends = np.zeros(classes + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=classes), out=ends[1:])
    return np.argsort(codes, kind="stable"), ends


def measure(X, minimum, maximum):
    """`deposits.measure`, of values none of which is missing or out of bounds."""
    if not is_few(X.size):
        return NotImplemented
    x = X.astype(np.float64)  # float32 would be compared with bounds that are rounded to it
    if not ((x >= minimum) & (x <= maximum)).all():
        return NotImplemented
    sizes = np.abs(x)
    sizes = sizes[sizes > 0]
    return 0, 0, 0, float(sizes.min(initial=np.inf)), float(sizes.max(initial=0.0)), False


def dense_deposits(
    X, codes, weights, rows, threshold,
    sums, size, low, squares, size2, low2, missing, size0, low0,
):  # fmt: skip
    """`deposits.dense_deposits`, of rows without weights and missing values."""
    x = X[rows].astype(np.float64)
    if weights.size > 0 or not is_few(x.size) or not np.isfinite(x).all():
        return NotImplemented
    if threshold == threshold:
        x = (x > threshold).astype(np.float64)
    cells = (codes[rows, np.newaxis] * x.shape[1] + np.arange(x.shape[1])).ravel()
    fraction, exponent = np.frexp(x.ravel())
    some = fraction != 0
    m, e = (fraction[some] * 2.0**53).astype(np.int64), exponent[some].astype(np.int64) - 53
    spare = np.maximum(-1074 - e, 0)  # of numbers below the smallest with all digits
    m, e, cells = m >> spare, e + spare, cells[some]
    _add(sums, cells * size, e - low, m)
    if size2 > 0:
        m, bit = np.abs(m), 2 * e - low2
        high, last = m >> 32, (m & DIGIT).view(np.uint64)
        square, middle, top = last * last, 2 * high * (m & DIGIT), high * high
        digits = (
            square & np.uint64(DIGIT), (square >> np.uint64(32)).view(np.int64) + (middle & DIGIT),
            (middle >> 32) + (top & DIGIT), top >> 32,
        )  # fmt: skip
        for k, digit in enumerate(digits):
            _add(squares, cells * size2, bit + 32 * k, digit.view(np.int64))
    return None


def _add(limbs: Int64, start: Int64, bit: Int64, value: Int64) -> None:
    """`limbs.add_integer`, for many cells."""
    value, bit = value >> np.clip(-bit, 0, 63), np.maximum(bit, 0)
    place, shift = start + (bit >> 5), bit & 31
    low, high = ((value & DIGIT) << shift).view(np.uint64), (value >> 32) << shift
    np.add.at(limbs, place, (low & np.uint64(DIGIT)).view(np.int64))
    np.add.at(limbs, place + 1, (low >> np.uint64(32)).view(np.int64) + (high & DIGIT))
    np.add.at(limbs, place + 2, high >> 32)
