"""Sample rows in proportion to weight: threshold sampling (Duffield, Lund & Thorup 2007, JACM 54).

An item of weight w is in the sample if a hash of it, in [0, 1), is below w / t. Items heavier than
t are therefore all in it, and a lighter one represents the weight t: sums over the sample equal
those over all items, in expectation.

In a stream, the threshold of the 64-bit keys, 2^64 / t, falls as items are added. A recurring item
is dropped while it is light, and its weight until then is lost; it is included once it is frequent
enough. Without recurring items the sample does not depend on order and split.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import is_
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import ExactArray, Float64, Index, Int64
from naively.core.hashing import GOLDEN, UInt64, mixed
from naively.core.workers import Workers
from naively.statistics.base import FORGOTTEN, NOT_LEARNED, Arrays, Batch, Data, Statistics, Summary
from naively.statistics.levels import Encoded, Levels, count_levels, mixed_arrays, read_mixed
from naively.statistics.rows import Codes, distinct, encoded, hashed, sizes, union, used

ALL = np.inf  # the threshold that includes all keys
KEYS = 2.0**64  # upper bound of the keys
LIGHT = 1e-300  # smaller weights are raised to this


def below(keys: UInt64, weight: Float64, threshold: float) -> npt.NDArray[np.bool_]:
    """Return which items are in the sample of a threshold."""
    return (keys < threshold * weight) & (weight > 0)


def priorities(keys: UInt64, weight: Float64) -> Float64:
    """Return the threshold from which each item is in the sample."""
    ratios: Float64 = keys / np.maximum(weight, LIGHT)
    return ratios


def stands_for(weight: Float64, threshold: float) -> Float64:
    """Return how many times its weight each item of a sample represents: 1 or more."""
    if threshold == ALL:
        return np.ones(len(weight))
    return np.maximum(KEYS / threshold / np.maximum(weight, LIGHT), 1.0)


def sampled(weight: Float64, place: Float64, most: int) -> tuple[npt.NDArray[np.intp], Float64]:
    """Return (items of a sample of about `most`, their weights, in units of the threshold t).

    weight : (n,) positive.
    place : (n,) in [0, 1), a hash of each item.
    most : sample size, 1 or more; up to so many items are all included, with unchanged weights.
    """
    if len(weight) <= most:
        return np.arange(len(weight)), weight
    least = threshold(weight, most)
    items = np.flatnonzero(place * least < weight)
    return items, np.maximum(weight[items] / least, 1.0)


def threshold(weight: Float64, most: int) -> float:
    """Return the t for which Σ min(1, w / t) is `most`, given more weights than that."""
    weights = np.sort(weight)
    n = len(weights)
    # for the k lightest, with all others included: t = Σ w / (most - (n - k))
    k = np.arange(max(1, n - most + 1), n + 1)
    thresholds = np.cumsum(weights)[k - 1] / (most - (n - k))
    fits = thresholds <= np.append(weights, np.inf)[k]
    return float(thresholds[int(np.argmax(fits))])


# ---- sample rows ---------------------------------------------------------------------------------


SPARE = 1.25  # categories per row, from which unused ones are dropped


@dataclass(frozen=True)
class Rows:
    """Distinct rows, in the order of their keys.

    codes : (R, d) int32, positions in the categories of each column, or their number if missing;
        each column is contiguous.
    levels : list of d sorted arrays, numbers or text.
    keys : (R,) a hash of each row, by its values alone, independent of names, order and types of
        the columns.
    """

    codes: Codes
    levels: list[Levels]
    keys: UInt64

    def some(self, kept: npt.NDArray[np.bool_]) -> Rows:
        """Select some of the rows."""
        columns = (column[kept] for column in self.codes.T)
        codes = _by_column(columns, int(kept.sum()), self.codes.shape[1])
        rows = Rows(codes, self.levels, self.keys[kept])
        most = max(map(len, self.levels), default=0)
        return rows.trimmed() if most > SPARE * len(rows.keys) else rows

    def trimmed(self) -> Rows:
        """Drop unused categories, of which a long stream leaves very many."""
        columns = [*map(used, self.codes.T, self.levels)]
        levels = [categories for _, categories in columns]
        if all(map(is_, levels, self.levels)):
            return self
        codes = _by_column((column for column, _ in columns), *self.codes.shape)
        return Rows(codes, levels, self.keys)


def keys_of(codes: npt.NDArray[Any], levels: list[Levels]) -> UInt64:
    """Return a hash of each row, (n,), by its values alone."""
    keys = np.zeros(len(codes), np.uint64)
    for column, categories in zip(codes.T, levels, strict=True):
        keys += np.append(hashed(categories), np.uint64(0))[column]
    return mixed(keys + np.uint64(GOLDEN))


def ordered(codes: npt.NDArray[Any], levels: list[Levels]) -> tuple[Rows, npt.NDArray[np.intp]]:
    """Return (the rows sorted by key, then by codes; their previous positions)."""
    keys = keys_of(codes, levels)
    if (keys[1:] > keys[:-1]).all():
        return Rows(np.asfortranarray(codes, np.int32), levels, keys), np.arange(len(keys))
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    tied = np.zeros(len(keys), bool)
    tied[1:] |= keys[1:] == keys[:-1]
    tied[:-1] |= tied[1:]
    ties = order[tied]
    order[tied] = ties[np.lexsort([*codes[ties].T[::-1], keys[tied]])]
    sorted_codes = _by_column((column[order] for column in codes.T), *codes.shape)
    return Rows(sorted_codes, levels, keys), order


def merged(rows: Rows, others: Rows) -> tuple[Rows, Int64, Int64]:
    """Return (the union of the rows, positions of mine in it, of the others)."""
    if len(rows.keys) == 0 or len(others.keys) == 0:
        own_rows, other_rows = np.arange(len(rows.keys)), np.arange(len(others.keys))
        return (rows if len(own_rows) else others), own_rows, other_rows
    levels: list[Levels] = []
    of_mine: list[Codes] = []
    of_others: list[Codes] = []
    for column, other_column in zip(rows.levels, others.levels, strict=True):
        merged_levels, *places = union(column, other_column)
        levels.append(merged_levels)
        for mappings, mapping in zip((of_mine, of_others), places, strict=True):
            mappings.append(np.append(mapping, len(merged_levels)).astype(np.int32))
    other_places, is_new = _places(rows, others, of_mine, of_others)
    mask = np.ones(len(rows.keys) + int(is_new.sum()), bool)
    mask[other_places[is_new]] = False
    own_places = np.flatnonzero(mask)
    keys = np.empty(len(mask), np.uint64)
    keys[own_places], keys[other_places] = rows.keys, others.keys
    codes = np.empty((len(mask), len(levels)), np.int32, order="F")
    for k, (own_mapping, other_column) in enumerate(zip(of_mine, of_others, strict=True)):
        codes[own_places, k] = own_mapping[rows.codes[:, k]]
        codes[other_places, k] = other_column[others.codes[:, k]]
    return Rows(codes, levels, keys), own_places, other_places


def _places(
    mine: Rows, others: Rows, of_mine: list[Codes], of_others: list[Codes]
) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """Return (positions of the others in the union of the rows, whether they are not in mine).

    `of_mine` and `of_others` map their codes to those of the union, column by column.
    """
    at = np.searchsorted(mine.keys, others.keys)
    is_new = np.zeros(len(at), bool)
    rows = np.arange(len(at))
    while len(rows):  # repeated only if different rows have the same key
        beyond = at[rows] == len(mine.keys)
        beyond[~beyond] = mine.keys[at[rows[~beyond]]] != others.keys[rows[~beyond]]
        is_new[rows[beyond]] = True
        rows = rows[~beyond]
        differ = np.zeros(len(rows), bool)
        for k, (mapping, other_mapping) in enumerate(zip(of_mine, of_others, strict=True)):
            differ |= mapping[mine.codes[at[rows], k]] != other_mapping[others.codes[rows, k]]
        rows = rows[differ]
        at[rows] += 1
    # shift each by the number of new ones before it
    new_places = np.sort(at[is_new])
    places = at + np.searchsorted(new_places, at, side="right")
    new = np.flatnonzero(is_new)[np.argsort(at[is_new], kind="stable")]
    places[new] = new_places + np.arange(len(new))
    return places, is_new


def _by_column(columns: Iterable[npt.NDArray[Any]], rows: int, size: int) -> Codes:
    """Return codes (R, d) with contiguous columns."""
    codes = np.empty((rows, size), np.int32, order="F")
    for k, column in enumerate(columns):
        codes[:, k] = column
    return codes


# ---- sample --------------------------------------------------------------------------------------


ROOM = 1 << 25  # largest total length of the distinct texts of all sampled rows, in characters


@dataclass(eq=False, repr=False)
class SampleStatistics(Statistics):
    """Distinct rows whose key is below a threshold times their weight, with their weights.

    tables : ``count`` (C, R), the weight of each row by class, and ``missing`` (C, d), the weight
        of the rows in which each column is missing.
    threshold : rows with a key of this times their weight, or more, are dropped: 2^64 / t.
    """

    rows: Rows
    limit: int
    threshold: float = ALL

    sized_by = "missing"

    @property
    def codes(self) -> Codes:
        """(R, d) positions in the categories of each column, or their number if missing."""
        return self.rows.codes

    @property
    def levels(self) -> list[Levels]:
        """d sorted arrays of categories, numbers or text."""
        return self.rows.levels

    @property
    def is_complete(self) -> bool:
        """Whether the sample has every training row."""
        return self.threshold == ALL

    def varies(self, column: int) -> bool:
        """Return whether a column has several categories, counting a missing value as one."""
        return bool((self.codes[:, column] != self.codes[:1, column]).any())

    # ---- the algebra -------------------------------------------------------------------------

    def accumulate(self, other: Self, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) the rows of another sample, merging categories and rows by union.

        In a sample, rows that would have a negative weight after a subtraction are dropped.
        """
        rows, own_places, other_places = merged(self.rows, other.rows)
        count = self.tables["count"].scatter(1, own_places, len(rows.keys))
        count = count.accumulate(other.tables["count"], classes, other_places, sign)
        missing = self.tables["missing"]
        missing = missing.accumulate(other.tables["missing"], classes, sign=sign)
        vars(self).update(tables={"count": count, "missing": missing}, rows=rows)
        threshold = min(self.threshold, other.threshold)
        vars(self).update(vars(self._below(threshold).cut()))

    def scaled(self, gamma: float) -> Self:
        """Return the sample times gamma; the threshold rises by 1 / gamma, to include the same."""
        sample = super().scaled(gamma)
        return sample if self.is_complete else sample._with(sample.tables, threshold=ALL)._below(
            self.threshold / gamma if gamma > 0 else ALL
        )  # fmt: skip

    @property
    def _weight(self) -> Float64:
        """The weight of each row over all classes, (R,)."""
        return self.tables["count"].summed(0).rounded()

    @property
    def least(self) -> float:
        """t, the weight that a light row represents; 1 if the sample holds all rows."""
        return 1.0 if self.is_complete else KEYS / self.threshold

    def estimated(self) -> Float64:
        """Return the weight that each row represents, by class, (C, R)."""
        weights: Float64 = self.tables["count"].rounded() * stands_for(self._weight, self.threshold)
        return weights

    def _below(self, threshold: float) -> Self:
        """Drop the rows whose key is not below a threshold times their weight."""
        if threshold == ALL:
            return self
        included = below(self.rows.keys, self._weight, threshold)
        negative = (self.tables["count"].rounded() < 0).any(axis=0)
        return self._with(self.tables, threshold=threshold)._some(included & ~negative)

    def _some(self, kept: npt.NDArray[np.bool_]) -> Self:
        """Select some of the rows."""
        if kept.all():
            return self
        count, rows = self.tables["count"].gather(1, kept), self.rows.some(kept)
        missing = ExactArray.zeros(self.tables["missing"].shape)
        for k, categories in enumerate(rows.levels):
            absent = count.gather(1, rows.codes[:, k] == len(categories)).summed(1)
            missing = missing.accumulate(absent.repeated(1), columns=np.array([k]))
        return self._with({"count": count, "missing": missing}, rows=rows)

    def cut(self) -> Self:
        """Lower the threshold until the rows fit into the limit and the room for texts."""
        lengths = [*map(sizes, self.levels)]
        if len(self.codes) <= self.limit and sum(int(size.sum()) for size in lengths) <= ROOM:
            return self
        priority = priorities(self.rows.keys, self._weight)
        order = np.argsort(priority, kind="stable")
        needed = np.zeros(len(self.codes), np.int64)
        for codes, text_lengths in zip(self.codes.T, lengths, strict=True):
            if text_lengths.any():  # count each text once, at its first row
                column = codes[order]
                first_rows = np.unique(column, return_index=True)[1]
                needed[first_rows] += np.append(text_lengths, 0)[column[first_rows]]
        fitting = int(np.searchsorted(np.cumsum(needed), ROOM, side="right"))
        end = min(self.limit, fitting)
        return self if end >= len(self.codes) else self._below(float(priority[order[end]]))

    def gather_columns(self, columns: Index) -> Self:
        """Restrict to some columns; rows that become equal are merged."""
        features = np.arange(len(self.levels))[columns]
        levels, codes = [self.levels[k] for k in features], self.codes[:, features]
        first_rows, kind = distinct(codes, [len(categories) + 1 for categories in levels])
        rows, order = ordered(codes[first_rows], levels)
        count = _summed(self.tables["count"], kind, len(first_rows)).gather(1, order)
        tables = {"count": count, "missing": self.tables["missing"].gather(1, features)}
        return self._with(tables, rows=rows)

    def reindex_columns(self, sources: Int64, positions: Int64, n_features: int) -> Self:
        """Move column own[k] to positions[k] of `n_features`; the others have no values."""
        sample = self.gather_columns(sources)
        codes = np.zeros((len(sample.codes), n_features), np.int32, order="F")
        codes[:, positions] = sample.codes
        levels: list[Levels] = [np.empty(0, np.float64)] * n_features
        for k, position in enumerate(positions.tolist()):
            levels[position] = sample.levels[k]
        missing = sample.tables["missing"].scatter(1, positions, n_features)
        tables = {"count": sample.tables["count"], "missing": missing}
        return sample._with(tables, rows=Rows(codes, levels, sample.rows.keys))

    def canonical(self) -> Self:
        """Return the sample without unused categories and rows of weight 0."""
        count, rows = self.tables["count"], self.rows
        nonzero = count.nonzero().any(axis=0)
        if not nonzero.all():
            count = count.gather(1, nonzero)
            rows = Rows(rows.codes[nonzero], rows.levels, rows.keys[nonzero])
        rows = rows.trimmed()
        # different rows of equal keys may be in any order
        if (rows.keys[1:] == rows.keys[:-1]).any():
            rows, order = ordered(rows.codes, rows.levels)
            count = count.gather(1, order)
        tables = {"count": count.trimmed(), "missing": self.tables["missing"].trimmed()}
        return self._with(tables, rows=rows)

    # ---- what they say -----------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """The approximate memory of the rows and their weights, in bytes."""
        texts = (categories for categories in self.levels if categories.dtype.kind == "T")
        size = sum(int(np.strings.str_len(text).sum()) + 16 * len(text) for text in texts)
        return super().nbytes + self.codes.nbytes + self.rows.keys.nbytes + size

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Return why no data can give this sample, or None if some can."""
        count, missing = self.tables["count"], self.tables["missing"]
        if count.any_negative() or missing.any_negative():
            return FORGOTTEN
        rows = count.summed(1)
        if (class_weight - rows).below_zero(class_weight):
            return NOT_LEARNED
        if self.is_complete and (rows - class_weight).below_zero(class_weight):
            return NOT_LEARNED
        return None

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of each table, for these numbers of classes and features."""
        return {"count": (n_classes, len(self.codes)), "missing": (n_classes, n_features)}

    def arrays(self) -> Arrays:
        """Return the codes, row by row, the threshold and the categories."""
        return {
            "codes": np.array(self.codes, "<i4", order="C"),
            "threshold": np.array([self.threshold], "<f8"),
            **mixed_arrays(self.levels),
        }

    def _agrees(self, other: Self) -> bool:
        same_levels = [a.dtype == b.dtype and np.array_equal(a, b)
                for a, b in zip(self.levels, other.levels, strict=True)]  # fmt: skip
        same_threshold = self.threshold == other.threshold
        return same_threshold and all(same_levels) and np.array_equal(self.codes, other.codes)


@dataclass(frozen=True)
class Sample(Summary[SampleStatistics]):
    """Sample the distinct rows, with their weights by class.

    limit : largest number of distinct rows; beyond it, a random sample, in which the probability of
        a row is proportional to its weight. Fewer if the texts of the rows have more than 32
        million characters in total.
    """

    limit: int = 1_000_000

    takes = "cells"
    by_column = False

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> SampleStatistics:
        """Return the distinct rows of a batch and their exact weights."""
        X = encoded(X)
        sizes = [len(categories) + 1 for categories in X.levels]
        first_rows, kind = distinct(X.codes, sizes)
        rows = np.arange(len(first_rows))
        counts = count_levels(Encoded(kind[:, np.newaxis].astype(np.int32), [rows]), batch, workers)
        bounds = np.array(sizes, np.int64) - 1
        missing_values = Encoded((X.codes == bounds).astype(np.int32), [np.arange(1)] * len(sizes))
        missing = count_levels(missing_values, batch, workers).tables["missing"]
        sample_rows, order = ordered(X.codes[first_rows], [*X.levels])
        tables = {"count": counts.tables["count"].gather(1, order), "missing": missing}
        return SampleStatistics(tables, sample_rows, self.limit).cut()

    def empty(self, n_classes: int, n_features: int) -> SampleStatistics:
        """Return the statistics of no rows."""
        count, missing = (ExactArray.zeros((n_classes, size)) for size in (0, n_features))
        levels: list[Levels] = [np.empty(0, np.float64)] * n_features
        rows, _ = ordered(np.empty((0, n_features), np.int32), levels)
        return SampleStatistics({"count": count, "missing": missing}, rows, self.limit)

    def read(
        self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int
    ) -> SampleStatistics:
        """See `Summary.read`; codes must be positions in the categories, rows must be distinct."""
        if missing := [name for name in ("codes", "threshold") if name not in arrays]:
            raise ValueError(f"it has no tensor of {missing[0]}")
        levels = read_mixed(arrays, n_features)
        codes, threshold = arrays["codes"], arrays["threshold"]
        bounds = np.array([len(categories) + 1 for categories in levels])
        if codes.dtype != np.int32 or codes.shape != (tables["count"].shape[1], n_features):
            raise ValueError("its rows do not belong to its features")
        if (codes < 0).any() or (codes >= bounds).any():
            raise ValueError("a value of a row is none of its levels")
        if len(distinct(codes, bounds.tolist())[0]) < len(codes):
            raise ValueError("a row is there twice")
        if threshold.dtype != np.float64 or threshold.shape != (1,) or not threshold[0] > 0:
            raise ValueError("its threshold is no number")
        rows, order = ordered(codes, levels)
        tables = tables | {"count": tables["count"].gather(1, order)}
        sample = SampleStatistics(tables, rows, self.limit, float(threshold[0]))
        if not sample.is_complete and (rows.keys >= sample.threshold * sample._weight).any():
            raise ValueError("a row is beyond its threshold")
        return sample


def _summed(count: ExactArray, kind: Int64, kinds: int) -> ExactArray:
    """Return the weights (C, R) of rows summed by their kind, (C, kinds)."""
    total = ExactArray.zeros((count.shape[0], kinds))
    order = np.argsort(kind, kind="stable")
    nth = np.arange(len(kind)) - np.searchsorted(kind[order], kind[order])
    for turn in range(int(nth.max(initial=-1)) + 1):  # one row of each kind at a time
        rows = order[nth == turn]
        total = total.accumulate(count.gather(1, rows), columns=kind[rows])
    return total
