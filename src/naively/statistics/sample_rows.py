"""Distinct rows in the order of their keys: a key is a hash of the values of a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import Int64
from naively.hashing import GOLDEN, UInt64, mixed
from naively.statistics.levels import Levels
from naively.statistics.mixed import hashed, union, used
from naively.statistics.row_encoding import Codes

SPARE = 1.25
"""Levels of a column for each row, from which on those that no row has any more are dropped."""


@dataclass(frozen=True)
class Rows:
    """Distinct rows, in the order of their keys.

    Attributes
    ----------
    codes : (R, d) int32, places in the levels of each column, or their number if missing; each
        column is contiguous.
    levels : list of d sorted arrays, numbers or text.
    keys : (R,) a hash of each row, by its values alone: whatever their columns, order and type.
    """

    codes: Codes
    levels: list[Levels]
    keys: UInt64

    def some(self, kept: npt.NDArray[np.bool_]) -> Rows:
        """Some of the rows."""
        found = Rows(
            _by_column((own[kept] for own in self.codes.T), int(kept.sum()), self.codes.shape[1]),
            self.levels, self.keys[kept],
        )  # fmt: skip
        most = max(map(len, self.levels), default=0)
        return found.trimmed() if most > SPARE * len(found.keys) else found

    def trimmed(self) -> Rows:
        """Without the levels that no row has: those of a long stream are very many."""
        columns = [*map(used, self.codes.T, self.levels)]
        levels = [known for _, known in columns]
        if all(one is known for one, known in zip(levels, self.levels, strict=True)):
            return self
        return Rows(_by_column((own for own, _ in columns), *self.codes.shape), levels, self.keys)


def keys_of(codes: npt.NDArray[Any], levels: list[Levels]) -> UInt64:
    """A hash of each row, (n,), by its values alone."""
    keys = np.zeros(len(codes), np.uint64)
    for own, known in zip(codes.T, levels, strict=True):
        keys += np.append(hashed(known), np.uint64(0))[own]
    return mixed(keys + np.uint64(GOLDEN))


def ordered(codes: npt.NDArray[Any], levels: list[Levels]) -> tuple[Rows, npt.NDArray[np.intp]]:
    """(the rows, where each of them was); those of equal keys in the order of their codes."""
    keys = keys_of(codes, levels)
    if (keys[1:] > keys[:-1]).all():
        return Rows(np.asfortranarray(codes, np.int32), levels, keys), np.arange(len(keys))
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    tied = np.zeros(len(keys), bool)
    tied[1:] |= keys[1:] == keys[:-1]
    tied[:-1] |= tied[1:]
    few = order[tied]
    order[tied] = few[np.lexsort([*codes[few].T[::-1], keys[tied]])]
    return Rows(_by_column((own[order] for own in codes.T), *codes.shape), levels, keys), order


def merged(mine: Rows, others: Rows) -> tuple[Rows, Int64, Int64]:
    """(the rows of both, where mine are among them, where the others are)."""
    if len(mine.keys) == 0 or len(others.keys) == 0:
        own, theirs = np.arange(len(mine.keys)), np.arange(len(others.keys))
        return (mine if len(own) else others), own, theirs
    levels: list[Levels] = []
    of_mine: list[Codes] = []
    of_others: list[Codes] = []
    for known, more in zip(mine.levels, others.levels, strict=True):
        both, *places = union(known, more)
        levels.append(both)
        for found, to in zip((of_mine, of_others), places, strict=True):
            found.append(np.append(to, len(both)).astype(np.int32))
    there, new = _places(mine, others, of_mine, of_others)
    mask = np.ones(len(mine.keys) + int(new.sum()), bool)
    mask[there[new]] = False
    before = np.flatnonzero(mask)
    keys = np.empty(len(mask), np.uint64)
    keys[before], keys[there] = mine.keys, others.keys
    codes = np.empty((len(mask), len(levels)), np.int32, order="F")
    for k, (one, more) in enumerate(zip(of_mine, of_others, strict=True)):
        codes[before, k] = one[mine.codes[:, k]]
        codes[there, k] = more[others.codes[:, k]]
    return Rows(codes, levels, keys), before, there


def _places(
    mine: Rows, others: Rows, of_mine: list[Codes], of_others: list[Codes]
) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """(where each of the others is among the rows of both, whether it is none of mine).

    `of_mine` and `of_others`: which code of both each of their codes is, column by column.
    """
    at = np.searchsorted(mine.keys, others.keys)
    new = np.zeros(len(at), bool)
    rows = np.arange(len(at))
    while len(rows):  # more than once only if different rows have the same key
        beyond = at[rows] == len(mine.keys)
        beyond[~beyond] = mine.keys[at[rows[~beyond]]] != others.keys[rows[~beyond]]
        new[rows[beyond]] = True
        rows = rows[~beyond]
        differ = np.zeros(len(rows), bool)
        for k, (one, more) in enumerate(zip(of_mine, of_others, strict=True)):
            differ |= one[mine.codes[at[rows], k]] != more[others.codes[rows, k]]
        rows = rows[differ]
        at[rows] += 1
    # each is moved by the new ones that are put before it
    first = np.sort(at[new])
    there = at + np.searchsorted(first, at, side="right")
    there[np.flatnonzero(new)[np.argsort(at[new], kind="stable")]] = first + np.arange(len(first))
    return there, new


def _by_column(columns: Iterable[npt.NDArray[Any]], rows: int, size: int) -> Codes:
    """Codes (R, d) of which each column is contiguous."""
    codes = np.empty((rows, size), np.int32, order="F")
    for k, column in enumerate(columns):
        codes[:, k] = column
    return codes
