"""Levels that are numbers in one batch and text in another: unions, hashes, lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import Int64
from naively.hashing import GOLDEN, UInt64, mixed
from naively.hashing import hashed as hash_of
from naively.statistics.levels import Levels
from naively.statistics.levels import union as same_union
from naively.statistics.row_encoding import TEXT, Codes, texts

SHORT = 32
"""Characters of texts that take no room: all numbers are as short."""


def union(a: Levels, b: Levels) -> tuple[Levels, Int64, Int64]:
    """(levels of both, where those of a are, those of b); as text if one of them is text."""
    if a.dtype.kind == b.dtype.kind or len(a) == 0 or len(b) == 0:
        return same_union(a, b)
    (a, from_a), (b, from_b) = _as_text(a), _as_text(b)
    merged, own, others = same_union(a, b)
    return merged, own[from_a], others[from_b]


def _as_text(levels: Levels) -> tuple[Levels, Int64]:
    """(the levels as sorted text, where each of them is there)."""
    written = texts(levels)
    order = np.argsort(written, kind="stable")
    return written[order], np.argsort(order, kind="stable")


def used(codes: npt.NDArray[Any], levels: Levels) -> tuple[Codes, Levels]:
    """(codes of the levels that are met, these): numbers, if all of them are."""
    met = np.zeros(len(levels) + 1, bool)
    met[codes] = True
    met[-1] = True  # the missing value comes after the last
    places, known = (np.cumsum(met) - 1).astype(np.int32), levels[met[:-1]]
    if len(known) == 0:
        return places[codes], np.empty(0, np.float64)
    numbers = _as_numbers(known)
    if numbers is None and met.all():
        return codes, levels
    if numbers is not None:
        order = np.argsort(numbers, kind="stable")
        rank = np.append(np.argsort(order, kind="stable"), len(order))
        places, known = rank[places].astype(np.int32), numbers[order]
    return places[codes], known


def _as_numbers(levels: Levels) -> npt.NDArray[np.float64] | None:
    """Levels of text as the numbers that are written so; None if they are none, or are numbers."""
    if levels.dtype.kind != "T":
        return None
    try:
        numbers = levels.astype(np.float64)
    except ValueError:
        return None
    if not np.isfinite(numbers).all() or not (texts(numbers) == levels).all():
        return None
    return numbers


def sizes(levels: Levels) -> Int64:
    """Characters of each level, 0 of short ones."""
    if levels.dtype.kind != "T":
        return np.zeros(len(levels), np.int64)
    found = np.strings.str_len(levels)
    return np.where(found > SHORT, found, 0).astype(np.int64)


def hashed(levels: Levels) -> UInt64:
    """A hash of each level; a number has the same as a number and as text."""
    if levels.dtype.kind != "T":
        return mixed((levels.astype(np.float64) + 0.0).view(np.uint64) + np.uint64(GOLDEN))
    found = np.empty(len(levels), np.uint64)
    for k, level in enumerate(levels.tolist()):
        number = _as_numbers(np.array([level], TEXT)) if len(level) <= SHORT else None
        if number is None:
            found[k] = hash_of(level.encode())
        else:
            found[k] = hashed(number)[0]
    return found
