"""Terms to numbers: a hash table over spans of bytes.

A slot of the table is two words: a key, and (length << 32 | number + 1), or 0 where it is free.
The key of a term of at most eight bytes is the term; of a longer one its hash, and then the bytes
decide, which are arena[starts[number] : starts[number + 1]].
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from naively.kernels import native
from naively.kernels.native import (
    count_met,
    count_terms,
    drop_unknown,
    keep_others,
    normalise_rows,
    number_grams,
    rehash,
)

__all__ = [
    "add_counts", "count_met", "count_terms", "drop_unknown", "keep_others", "normalise_rows",
    "number_grams", "pieces_of", "rehash",
]  # fmt: skip

Array = npt.NDArray[Any]

DONE, FULL = 0, 1
CHUNK = 64  # n-grams whose slots are fetched at once


def pieces_of(
    arena: Array, starts: Array, lengths: Array, numbers: Array, at: int
) -> npt.NDArray[np.uint64]:
    """Eight bytes of each of some terms from byte `at` on, as a number that sorts as they do."""
    out = np.empty(len(numbers), np.uint64)
    native.term_pieces(arena, starts, lengths, numbers, at, out)
    return out


def add_counts(table: Array, more: Array, places: Array) -> None:
    """table[c, places[k]] += more[c, k], where most are zero."""
    native.add_counts(table.reshape(-1), more.reshape(-1), len(table), places)
