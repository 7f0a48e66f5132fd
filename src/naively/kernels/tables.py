"""Parse fields and numbers, and encode and count categories and labels, with compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from naively.kernels import native
from naively.kernels.native import (
    copy_fields,
    copy_strings,
    count_levels,
    encode,
    integer_codes,
    integer_range,
    number_fields,
    score_levels,
    sort_rows,
    split_fields,
    split_objects,
    tabulate,
    weigh_columns,
)
from naively.kernels.sums import LANES

__all__ = [
    "DISTINCT", "FRACTIONAL", "FREE", "LANES", "NEGATIVE", "PRESENT", "SHIFT", "class_sizes",
    "copy_fields", "copy_strings", "count_levels", "encode", "integer_codes", "integer_range",
    "number_fields", "rows_by_class", "score_levels", "split_fields", "split_objects", "tabulate",
    "weigh_columns",
]  # fmt: skip

LEAST, GREATEST = -300, 290  # exponents of ten; Python handles results beyond normal numbers


def _powers() -> npt.NDArray[np.uint64]:
    """Return the first 128 bits of 5^q, in two words; rounded up from 5^-27 to 5^-1."""
    words = []
    for q in range(LEAST, GREATEST + 1):
        if q >= 0:
            power = 5**q
            shift = power.bit_length() - 128
            power = power >> shift if shift > 0 else power << -shift
        else:
            divisor = 5**-q
            power = (1 << (divisor.bit_length() + 127)) // divisor + (q >= -27)
        words.append([power >> 64, power & (2**64 - 1)])
    return np.array(words, np.uint64)


POWERS = _powers()


def read_decimals(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[Any],
    out: npt.NDArray[np.float64],
    others: npt.NDArray[np.bool_],
) -> None:
    """Parse out[i] from the text data[offsets[i] : offsets[i + 1]].

    `data`: uint8, with at least eight bytes after the last text. `offsets`: (n + 1,) int64. `out`:
    (n,) float64. `others`: (n,) bool, set where the text is not a plain decimal number of 19 digits
    or fewer, of ordinary magnitude; out is not written there.
    """
    native.read_decimals(data, offsets, out, others, POWERS, LEAST)


Int64 = npt.NDArray[np.int64]


def rows_by_class(codes: Int64, classes: int) -> tuple[Int64, Int64]:
    """Return (order, ends): the rows of class c, in order, are order[ends[c]:ends[c + 1]]."""
    order, ends = np.empty(codes.size, np.int64), np.empty(classes + 1, np.int64)
    sort_rows(codes, order, ends)
    return order, ends


def class_sizes(codes: Int64, classes: int) -> Int64:
    """Return the number of rows of each class."""
    return np.bincount(codes, minlength=classes)


DONE, WIDEN, REFUSED = 0, 1, 2
FREE = -1  # an empty slot of the hash table
PRESENT, FRACTIONAL, NEGATIVE, DISTINCT, SHIFT = range(5)
"""Positions in the report: number of values, of fractions, of negatives, of distinct; the shift."""
