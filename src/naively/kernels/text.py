"""Compiled loops over text: bytes to words, terms and counts, and scores of documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from naively.kernels import native
from naively.kernels.native import (
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
    "GROWTH",
    "ROOM",
    "add_counts",
    "all_sums",
    "count_met",
    "count_terms",
    "distinct",
    "doubt_odds",
    "doubt_scores",
    "drop_unknown",
    "first_odds",
    "hash_documents",
    "join_words",
    "keep_others",
    "label_odds",
    "label_weights",
    "left_out",
    "let_fall",
    "normalise_rows",
    "number_grams",
    "pieces_of",
    "rehash",
    "split_characters",
    "split_words",
    "term_weights",
]

ROOM = 64  # bytes that the arrays of text have beyond their end
GROWTH = 4  # times the bytes of a text that its copy can have: no character has more


# ---- unicode -------------------------------------------------------------------------------------


LETTER = (1 << 21) - 1  # bits of the lower-case code point
WORD, SPACE, CASED, IGNORABLE = 1 << 21, 1 << 22, 1 << 23, 1 << 24
FINAL_SIGMA = 0x3C2  # of sigma, the one letter whose lower case depends on its neighbours
DOTTED_I = 0x130  # the one letter of which lower case makes two


# ---- vocabulary ----------------------------------------------------------------------------------


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
