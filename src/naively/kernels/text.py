"""Split, number, count and score documents with compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from naively.kernels import native
from naively.kernels.native import (
    add_curvature,
    all_sums,
    count_met,
    count_terms,
    distinct,
    doubt_odds,
    doubt_scores,
    drop_unknown,
    first_odds,
    hash_documents,
    join_words,
    keep_others,
    label_odds,
    label_weights,
    left_out,
    let_fall,
    normalise_rows,
    number_grams,
    rehash,
    split_characters,
    split_words,
    term_weights,
)

__all__ = [
    "GROWTH", "ROOM", "add_counts", "add_curvature", "all_sums", "count_met", "count_terms",
    "distinct", "doubt_odds", "doubt_scores", "drop_unknown", "first_odds", "hash_documents",
    "join_words", "keep_others", "label_odds", "label_weights", "left_out", "let_fall",
    "normalise_rows", "number_grams", "pieces_of", "rehash", "split_characters", "split_words",
    "term_weights",
]  # fmt: skip

ROOM = 64  # spare bytes at the end of text arrays
GROWTH = 4  # times the bytes of a text that its lower-case copy may take


# ---- unicode -------------------------------------------------------------------------------------


LETTER = (1 << 21) - 1  # bits of the lower-case code point
WORD, SPACE, CASED, IGNORABLE = 1 << 21, 1 << 22, 1 << 23, 1 << 24
FINAL_SIGMA = 0x3C2  # sigma at the end of a word: the one lower case that depends on neighbours
DOTTED_I = 0x130  # the one letter whose lower case has two characters


# ---- vocabulary ----------------------------------------------------------------------------------


Array = npt.NDArray[Any]

DONE, FULL = 0, 1
CHUNK = 64  # n-grams whose slots are prefetched together


def pieces_of(
    arena: Array, starts: Array, lengths: Array, numbers: Array, at: int
) -> npt.NDArray[np.uint64]:
    """Return eight bytes of each term from byte `at` on, as integers that sort like the bytes."""
    out = np.empty(len(numbers), np.uint64)
    native.term_pieces(arena, starts, lengths, numbers, at, out)
    return out


def add_counts(table: Array, more: Array, places: Array) -> None:
    """Add more[c, k] to table[c, places[k]]; most of it is zero."""
    native.add_counts(table.reshape(-1), more.reshape(-1), len(table), places)
