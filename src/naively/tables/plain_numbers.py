"""Text of plain decimal numbers as numbers, many at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.exact import Float64
from naively.text.documents import Documents

MANY = 4096
"""Values from which on it pays to load the kernel."""
AFTER = 8


def plain_numbers(column: pa.Array) -> tuple[Float64, npt.NDArray[np.bool_]]:
    """(the values of a column of text as float64; those that are to be read in another way).

    The others are 0 so far: missing ones, text that is no number, numbers of more than 19 digits,
    and those near the least and the greatest of float64. The rest are what Python's `float` makes
    of them, bit by bit.
    """
    from naively.kernels.decimals import read_decimals

    texts = Documents.of(column)
    data = texts.data
    if len(data) < texts.offsets[-1] + AFTER:
        data = np.append(data, np.zeros(AFTER, np.uint8))
    found = np.zeros(len(column))
    others = np.zeros(len(column), bool) if texts.valid is None else ~texts.valid
    read_decimals(data, texts.offsets, found, others)
    return found, others
