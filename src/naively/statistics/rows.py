"""Encode rows of categories as numbers, to look them up, and as text, to store them."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import ExactArray, Int64
from naively.core.hashing import GOLDEN, UInt64, mixed
from naively.core.hashing import hashed as hash_of
from naively.core.issues import Categories
from naively.core.workers import Workers
from naively.statistics.base import FORGOTTEN, NOT_LEARNED, Arrays, Batch, Data, Summary, dense
from naively.statistics.levels import (
    Encoded,
    Levels,
    LevelStatistics,
    count_levels,
    find,
    read_levels,
    spelled_as,
)
from naively.statistics.levels import union as same_union

TEXT = np.dtypes.StringDType()
IN_FULL = 1e21  # whole numbers below are written with all their digits
READ = 1 << 14  # rows of text that are parsed at a time

Codes = npt.NDArray[np.int32]
"""(n, d) positions of the values of rows in the categories of their columns."""


def encoded(X: Data) -> Encoded:
    """Encode columns as categories; those of an array are its distinct numbers."""
    if isinstance(X, Encoded):
        return X
    x = dense(X)
    codes, levels = np.empty(x.shape, np.int32), []
    for k in range(x.shape[1]):
        values, codes[:, k] = np.unique(x[:, k] + 0, return_inverse=True)  # without -0.0
        levels.append(values[values == values])  # NaN, sorted last, is the missing value
    return Encoded(codes, levels)


def categories(
    model_levels: Sequence[Levels], X: Encoded, but: Container[int]
) -> dict[int, Categories]:
    """Compare the values of rows with the categories of text columns in the model, except `but`."""
    compared = {}
    pairs = zip(model_levels, X.levels, strict=True)
    for j, (model_categories, row_categories) in enumerate(pairs):
        if j in but or model_categories.dtype.kind != "T" or not len(model_categories):
            continue
        weights = np.bincount(X.codes[:, j], minlength=len(row_categories) + 1)[:-1]
        present = texts(row_categories)[weights > 0]
        if len(present):
            recognised = find(model_categories, spelled_as(model_categories, present))[1].any()
            examples = [*map(str, model_categories[:2])]
            n = int(weights.sum())
            compared[j] = Categories(n, bool(recognised), str(present[0]), examples)
    return compared


def texts(levels: Levels) -> Levels:
    """Return categories as text; numbers as tables show them, 3.0 as 3."""
    if levels.dtype.kind == "T":
        return levels
    return np.array([number_text(float(level)) for level in levels.tolist()], TEXT)


def number_text(value: float) -> str:
    """Return a number as a category: 3.0 as 3, whole numbers below 1e21 with all their digits."""
    return str(int(value)) if value.is_integer() and abs(value) < IN_FULL else repr(value)


# ---- as numbers ----------------------------------------------------------------------------------


def runs(bounds: Sequence[int], rows: int) -> list[list[int]]:
    """Group columns so that a number up to `rows` and the codes of a group fit into an int64."""
    groups: list[list[int]] = [[]]
    span = 1
    for k, bound in enumerate(bounds):
        if groups[-1] and span * bound >= 1 << 62:
            groups.append([])
            span = rows + 1
        groups[-1].append(k)
        span *= bound
    return groups


def numbered(
    number: Int64, codes: npt.NDArray[Any], columns: Sequence[int], bounds: Sequence[int]
) -> Int64:
    """Combine the number of each row with its codes in some columns into a new number."""
    for k in columns:
        number = number * bounds[k] + codes[:, k]
    return number


def place(sorted_numbers: Int64, numbers: Int64) -> Int64:
    """Return the positions of numbers among the sorted ones; the count of these if absent."""
    at, size = np.searchsorted(sorted_numbers, numbers), len(sorted_numbers)
    return np.where(sorted_numbers[np.minimum(at, size - 1)] == numbers, at, size)


def distinct(codes: npt.NDArray[Any], bounds: Sequence[int]) -> tuple[Int64, Int64]:
    """Return (the first row of each kind, the kind of each row) of codes below the bounds."""
    first_rows = kind = np.zeros(len(codes), np.int64)
    for run in runs(bounds, len(codes)):
        numbers = numbered(kind, codes, run, bounds)
        _, first_rows, kind = np.unique(numbers, return_index=True, return_inverse=True)
    return first_rows, kind


# ---- as text -------------------------------------------------------------------------------------


def to_text(codes: npt.NDArray[Any], levels: Sequence[Levels]) -> list[str]:
    """Return rows as JSON lists, so that different rows have different texts."""
    columns = []
    for k, categories in enumerate(levels):
        quoted = [json.dumps(text, ensure_ascii=False) for text in texts(categories).tolist()]
        columns.append([quoted[code] for code in codes[:, k].tolist()])
    return [f"[{','.join(row)}]" for row in zip(*columns, strict=True)]


def sorted_rows(rows: list[str]) -> tuple[Levels, Int64]:
    """Return (the rows as sorted categories, their previous positions)."""
    unsorted = np.array(rows, TEXT)
    order = np.argsort(unsorted, kind="stable")
    return unsorted[order], order


def from_text(rows: Levels, d: int) -> tuple[Codes, list[Levels]]:
    """Return (codes (R, d) of rows of text, sorted categories of each column)."""
    codes = np.empty((len(rows), d), np.int32, order="F")
    places: list[dict[str, int]] = [{} for _ in range(d)]
    for start in range(0, len(rows), READ):
        chunk = slice(start, start + READ)
        columns = zip(*json.loads(f"[{','.join(rows[chunk].tolist())}]"), strict=True)
        for k, (numbers, column) in enumerate(zip(places, columns, strict=True)):
            codes[chunk, k] = [numbers.setdefault(text, len(numbers)) for text in column]
    levels = []
    for k, numbers in enumerate(places):
        ordered = sorted(numbers)
        rank = np.empty(len(ordered), np.int32)
        rank[[numbers[text] for text in ordered]] = np.arange(len(ordered))
        codes[:, k] = rank[codes[:, k]]
        levels.append(np.array(ordered, TEXT))
    return codes, levels


# ---- mixed ---------------------------------------------------------------------------------------


SHORT = 32  # length up to which texts do not count towards the room; numbers are shorter


def union(a: Levels, b: Levels) -> tuple[Levels, Int64, Int64]:
    """Return (union of categories, positions of a in it, of b); as text if one of them is text."""
    if a.dtype.kind == b.dtype.kind or len(a) == 0 or len(b) == 0:
        return same_union(a, b)
    (a, from_a), (b, from_b) = _as_text(a), _as_text(b)
    merged, from_merged_a, from_merged_b = same_union(a, b)
    return merged, from_merged_a[from_a], from_merged_b[from_b]


def _as_text(levels: Levels) -> tuple[Levels, Int64]:
    """Return (the categories as sorted text, the position of each there)."""
    spelled = texts(levels)
    order = np.argsort(spelled, kind="stable")
    return spelled[order], np.argsort(order, kind="stable")


def used(codes: npt.NDArray[Any], levels: Levels) -> tuple[Codes, Levels]:
    """Return (codes, categories) without unused categories; as numbers, if all of them are."""
    is_used = np.zeros(len(levels) + 1, bool)
    is_used[codes] = True
    is_used[-1] = True  # the missing value follows the last category
    places, categories = (np.cumsum(is_used) - 1).astype(np.int32), levels[is_used[:-1]]
    if len(categories) == 0:
        return places[codes], np.empty(0, np.float64)
    numbers = _as_numbers(categories)
    if numbers is None and is_used.all():
        return codes, levels
    if numbers is not None:
        order = np.argsort(numbers, kind="stable")
        rank = np.append(np.argsort(order, kind="stable"), len(order))
        places, categories = rank[places].astype(np.int32), numbers[order]
    return places[codes], categories


def _as_numbers(levels: Levels) -> npt.NDArray[np.float64] | None:
    """Return text categories as numbers, if all are written as numbers are; else None."""
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
    """Return the length of each category, 0 for short ones."""
    if levels.dtype.kind != "T":
        return np.zeros(len(levels), np.int64)
    lengths = np.strings.str_len(levels)
    return np.where(lengths > SHORT, lengths, 0).astype(np.int64)


def hashed(levels: Levels) -> UInt64:
    """Return a hash of each category; a number has the same hash as text."""
    if levels.dtype.kind != "T":
        return mixed((levels.astype(np.float64) + 0.0).view(np.uint64) + np.uint64(GOLDEN))
    hashes = np.empty(len(levels), np.uint64)
    for k, level in enumerate(levels.tolist()):
        number = _as_numbers(np.array([level], TEXT)) if len(level) <= SHORT else None
        hashes[k] = hash_of(level.encode()) if number is None else hashed(number)[0]
    return hashes


# ---- rows ----------------------------------------------------------------------------------------


class RowStatistics(LevelStatistics):
    """Counts of the distinct rows that have a value in each of d columns.

    tables : ``count`` (C, R), and ``missing`` (C, d), the weight of the rows in which each column
        is missing.
    levels : list of one sorted array: the R distinct rows, each the JSON list of its categories.
    """

    def reindex_columns(self, sources: Int64, positions: Int64, n_features: int) -> Self:
        """Reorder the columns: own[k] becomes positions[k].

        Raises ValueError unless these are all of them.
        """
        d = self.tables["missing"].shape[1]
        if not len(sources) == d == n_features:
            raise ValueError(
                f"a joint table of {d} columns and one of {n_features} cannot be added: each row "
                "of a joint table must have all of its columns"
            )
        order = sources[np.argsort(positions)]
        codes, levels = from_text(self.levels[0], d)
        rows, ranks = sorted_rows(to_text(codes[:, order], [levels[k] for k in order]))
        count, missing = self.tables["count"].gather(1, ranks), self.tables["missing"]
        return type(self)({"count": count, "missing": missing.gather(1, order)}, [rows])

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Return why no data can have these counts; a row is in a cell, or has missing values."""
        count, missing = self.tables["count"], self.tables["missing"]
        if count.any_negative() or missing.any_negative():
            return FORGOTTEN
        incomplete = class_weight - count.summed(1)
        spare = incomplete.repeated(missing.shape[1]).accumulate(missing, sign=-1)
        excess = missing.summed(1) - incomplete
        if spare.below_zero(self.observed(class_weight)) or excess.below_zero(class_weight):
            return NOT_LEARNED
        return None


@dataclass(frozen=True)
class RowCounts(Summary[RowStatistics]):
    """Count the distinct rows of categories; rows with a missing value are counted apart."""

    takes = "levels"
    by_column = False

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> RowStatistics:
        """Return the exact weight of each distinct row by class."""
        X = encoded(X)
        sizes = [len(categories) for categories in X.levels]
        complete = (X.codes < np.array(sizes)).all(axis=1)
        complete_codes = X.codes[complete]
        first_rows, kind = distinct(complete_codes, sizes)
        rows, order = sorted_rows(to_text(complete_codes[first_rows], X.levels))
        codes = np.full(len(complete), len(rows), np.int32)
        codes[complete] = np.argsort(order)[kind]
        counts = count_levels(Encoded(codes[:, np.newaxis], [rows]), batch, workers)
        missing = ExactArray.zeros((batch.n_classes, len(sizes)))
        if not complete.all():
            missing = count_levels(X, batch, workers).tables["missing"]
        tables = {"count": counts.tables["count"], "missing": missing}
        return RowStatistics(tables, counts.levels)

    def empty(self, n_classes: int, n_features: int) -> RowStatistics:
        """Return the statistics of no rows."""
        count, missing = (ExactArray.zeros((n_classes, size)) for size in (0, n_features))
        return RowStatistics({"count": count, "missing": missing}, [np.empty(0, TEXT)])

    def read(self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int) -> RowStatistics:
        """See `Summary.read`; each row must be the text of one category per column."""
        (rows,) = read_levels(arrays, 1, "T")
        if to_text(*from_text(rows, n_features)) != rows.tolist():
            raise ValueError("a row of its joint table is not a list of levels")
        return RowStatistics(tables, [rows])
