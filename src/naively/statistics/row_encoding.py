"""Row encoding: each row of levels as a number, to look it up; as a text, to keep it."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.exact import Int64
from naively.remarks import Categories
from naively.statistics.base import Data, dense
from naively.statistics.levels import Encoded, Levels, find, spelled_as

TEXT = np.dtypes.StringDType()
IN_FULL = 1e21  # whole numbers below are written with all their digits
READ = 1 << 14  # rows of text that are read at a time

Codes = npt.NDArray[np.int32]
"""(n, d) places of the values of rows in the levels of their columns."""


def encoded(X: Data) -> Encoded:
    """Columns of levels; those of an array are its distinct numbers."""
    if isinstance(X, Encoded):
        return X
    x = dense(X)
    codes, levels = np.empty(x.shape, np.int32), []
    for k in range(x.shape[1]):
        known, codes[:, k] = np.unique(x[:, k] + 0, return_inverse=True)  # without -0.0
        levels.append(known[known == known])  # NaN, which is the last, is a missing value
    return Encoded(codes, levels)


def categories(known: Sequence[Levels], X: Encoded, but: Container[int]) -> dict[int, Categories]:
    """What rows have in the columns of which text is known, but for some of these."""
    found = {}
    for j, (own, given) in enumerate(zip(known, X.levels, strict=True)):
        if j in but or own.dtype.kind != "T" or not len(own):
            continue
        weights = np.bincount(X.codes[:, j], minlength=len(given) + 1)[:-1]
        there = texts(given)[weights > 0]
        if len(there):
            hit = find(own, spelled_as(own, there))[1].any()
            some = str(own[0]), *map(str, own[1:2])
            found[j] = Categories(int(weights.sum()), bool(hit), str(there[0]), some)
    return found


def texts(levels: Levels) -> Levels:
    """Levels as text; numbers as tables have them, 3.0 as 3."""
    if levels.dtype.kind == "T":
        return levels
    return np.array([number_text(float(level)) for level in levels.tolist()], TEXT)


def number_text(value: float) -> str:
    """A number as a level: 3.0 as 3, whole numbers below 1e21 with all their digits."""
    return str(int(value)) if value.is_integer() and abs(value) < IN_FULL else repr(value)


# ---- as numbers ----------------------------------------------------------------------------------


def runs(bounds: Sequence[int], rows: int) -> list[list[int]]:
    """Columns in runs: a number up to `rows` and the codes of a run fit in an int64 together."""
    found: list[list[int]] = [[]]
    span = 1
    for k, bound in enumerate(bounds):
        if found[-1] and span * bound >= 1 << 62:
            found.append([])
            span = rows + 1
        found[-1].append(k)
        span *= bound
    return found


def numbered(
    number: Int64, codes: npt.NDArray[Any], columns: Sequence[int], bounds: Sequence[int]
) -> Int64:
    """A number for the number that a row had before and its codes in these columns."""
    for k in columns:
        number = number * bounds[k] + codes[:, k]
    return number


def place(known: Int64, numbers: Int64) -> Int64:
    """Where each number is among the sorted known ones; how many they are, if it is not there."""
    at = np.searchsorted(known, numbers)
    return np.where(known[np.minimum(at, len(known) - 1)] == numbers, at, len(known))


def distinct(codes: npt.NDArray[Any], bounds: Sequence[int]) -> tuple[Int64, Int64]:
    """(the first row of each kind, the kind of each row) of codes below the bounds."""
    first = kind = np.zeros(len(codes), np.int64)
    for run in runs(bounds, len(codes)):
        _, first, kind = np.unique(
            numbered(kind, codes, run, bounds), return_index=True, return_inverse=True
        )
    return first, kind


# ---- as text -------------------------------------------------------------------------------------


def to_text(codes: npt.NDArray[Any], levels: Sequence[Levels]) -> list[str]:
    """Rows as JSON lists: no two rows have the same text, whatever is in their levels."""
    columns = []
    for k, known in enumerate(levels):
        quoted = [json.dumps(text, ensure_ascii=False) for text in texts(known).tolist()]
        columns.append([quoted[code] for code in codes[:, k].tolist()])
    return [f"[{','.join(row)}]" for row in zip(*columns, strict=True)]


def sorted_rows(rows: list[str]) -> tuple[Levels, Int64]:
    """(the rows as sorted levels, where each of these was before)."""
    unsorted = np.array(rows, TEXT)
    order = np.argsort(unsorted, kind="stable")
    return unsorted[order], order


def from_text(rows: Levels, d: int) -> tuple[Codes, list[Levels]]:
    """(codes (R, d) of rows of text, sorted levels of each column)."""
    codes = np.empty((len(rows), d), np.int32, order="F")
    places: list[dict[str, int]] = [{} for _ in range(d)]
    for at in range(0, len(rows), READ):
        part = slice(at, at + READ)
        columns = zip(*json.loads(f"[{','.join(rows[part].tolist())}]"), strict=True)
        for k, (known, column) in enumerate(zip(places, columns, strict=True)):
            codes[part, k] = [known.setdefault(text, len(known)) for text in column]
    levels = []
    for k, known in enumerate(places):
        ordered = sorted(known)
        rank = np.empty(len(ordered), np.int32)
        rank[[known[text] for text in ordered]] = np.arange(len(ordered))
        codes[:, k] = rank[codes[:, k]]
        levels.append(np.array(ordered, TEXT))
    return codes, levels
