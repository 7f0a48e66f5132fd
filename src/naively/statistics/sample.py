"""The rows themselves, each distinct one with its weight by class: from them anything follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from naively.exact import ExactArray, Int64
from naively.hashing import GOLDEN, UInt64, mixed
from naively.statistics.base import FORGOTTEN, NOT_LEARNED, Arrays, Batch, Data, Statistics, Summary
from naively.statistics.level_counts import count_levels
from naively.statistics.levels import Encoded, Levels, mixed_arrays, read_mixed
from naively.statistics.mixed import hashed, sizes, union, used
from naively.statistics.row_encoding import Codes, distinct, encoded
from naively.workers import Workers

ALL = (1 << 64) - 1
"""The threshold below which all hashes are."""
ROOM = 1 << 25
"""Characters of the different texts of all rows that are kept, at most."""


@dataclass(eq=False, repr=False)
class SampleStatistics(Statistics):
    """Distinct rows, those whose hash is below a threshold, with their weights.

    Attributes
    ----------
    tables : ``count`` (C, R), the weight of each row by class, and ``missing`` (C, d), the weight
        of the rows in which each column is missing.
    codes : (R, d) int32, places in the levels of each column, or their number if missing.
    levels : list of d sorted arrays, numbers or text.
    limit : how many rows are kept at most.
    threshold : rows with a hash from here on were not kept.
    """

    codes: Codes
    levels: list[Levels]
    limit: int
    threshold: int = ALL

    sized_by = "missing"

    @property
    def is_complete(self) -> bool:
        """Whether every row that was met is here."""
        return self.threshold == ALL

    def varies(self, column: int) -> bool:
        """Whether a column has several levels, a missing value being one."""
        return bool((self.codes[:, column] != self.codes[:1, column]).any())

    # ---- the algebra -------------------------------------------------------------------------

    def accumulate(self, other: Self, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) the rows of another sample; levels and rows merge by union."""
        other = other._below(self.threshold)
        mine = self._below(other.threshold)
        unions = [*map(union, mine.levels, other.levels)]
        codes = np.concatenate([
            _translated(mine.codes, [(to, len(known)) for known, to, _ in unions]),
            _translated(other.codes, [(to, len(known)) for known, _, to in unions]),
        ])  # fmt: skip
        levels = [known for known, _, _ in unions]
        first, kind = distinct(codes, [len(known) + 1 for known in levels])
        own, theirs = np.split(kind, [len(mine.codes)])
        count = mine.tables["count"].scatter(1, own, len(first))
        count = count.accumulate(other.tables["count"], classes, theirs, sign)
        missing = mine.tables["missing"]
        missing = missing.accumulate(other.tables["missing"], classes, sign=sign)
        vars(self).update(
            tables={"count": count, "missing": missing}, codes=codes[first], levels=levels,
            threshold=mine.threshold,
        )  # fmt: skip
        vars(self).update(vars(self.cut()))

    def _below(self, threshold: int) -> Self:
        """The rows whose hash is below a threshold."""
        if threshold >= self.threshold:
            return self
        return self._kept(self.hashes() < np.uint64(threshold), threshold)

    def _kept(self, rows: Any, threshold: int) -> Self:
        """Some of the rows, and the levels that these have."""
        count, codes = self.tables["count"].gather(1, rows), self.codes[rows]
        missing = ExactArray.zeros(self.tables["missing"].shape)
        for k, known in enumerate(self.levels):
            own = count.gather(1, codes[:, k] == len(known)).summed(1)
            missing = missing.accumulate(own.repeated(1), columns=np.array([k]))
        met = [*map(used, codes.T, self.levels)]  # the levels of a long stream are very many
        codes = np.array([own for own, _ in met], np.int32).T.reshape(codes.shape)
        return self._with(
            {"count": count, "missing": missing}, codes=codes, levels=[known for _, known in met],
            threshold=threshold,
        )  # fmt: skip

    def cut(self) -> Self:
        """The rows of the smallest hashes, as many as the limit and the room for texts allow."""
        lengths = [*map(sizes, self.levels)]
        if len(self.codes) <= self.limit and sum(int(one.sum()) for one in lengths) <= ROOM:
            return self
        hashes = self.hashes()
        order = np.argsort(hashes, kind="stable")
        needed = np.zeros(len(order), np.int64)
        for own, known in zip(self.codes.T, lengths, strict=True):
            if known.any():  # each text once, where it is first met
                first = np.unique(own[order], return_index=True)[1]
                needed[first] += np.append(known, 0)[own[order[first]]]
        fitting = int(np.searchsorted(np.cumsum(needed), ROOM, side="right"))
        if min(self.limit, fitting) >= len(order):
            return self
        return self._below(int(hashes[order[min(self.limit, fitting)]]))

    def gather_columns(self, columns: Any) -> Self:
        """Of some columns only; rows that are equal in these become one."""
        own = np.arange(len(self.levels))[columns]
        levels, codes = [self.levels[k] for k in own], self.codes[:, own]
        first, kind = distinct(codes, [len(known) + 1 for known in levels])
        count = _summed(self.tables["count"], kind, len(first))
        tables = {"count": count, "missing": self.tables["missing"].gather(1, own)}
        return self._with(tables, codes=codes[first], levels=levels)

    def reindex_columns(self, own: Int64, positions: Int64, n_features: int) -> Self:
        """Some of the columns among others, which have no values: own[k] is positions[k]."""
        found = self.gather_columns(own)
        codes = np.zeros((len(found.codes), n_features), np.int32)
        codes[:, positions] = found.codes
        levels: list[Levels] = [np.empty(0, np.float64)] * n_features
        for k, position in enumerate(positions.tolist()):
            levels[position] = found.levels[k]
        missing = found.tables["missing"].scatter(1, positions, n_features)
        tables = {"count": found.tables["count"], "missing": missing}
        return found._with(tables, codes=codes, levels=levels)

    def canonical(self) -> Self:
        """The same rows in the order of their hashes, without levels and rows of weight 0."""
        kept = self.tables["count"].nonzero().any(axis=0)
        count, codes = self.tables["count"].gather(1, kept), self.codes[kept]
        columns = [*map(used, codes.T, self.levels)]
        codes = np.array([own for own, _ in columns], np.int32).T.reshape(codes.shape)
        found = self._with({}, codes=codes, levels=[known for _, known in columns])
        order = _order(found.hashes(), codes)
        missing = self.tables["missing"].trimmed()
        return found._with(
            {"count": count.gather(1, order).trimmed(), "missing": missing}, codes=codes[order]
        )

    # ---- what they say -----------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """The memory that the rows and their weights take, about."""
        texts = (known for known in self.levels if known.dtype.kind == "T")
        size = sum(int(np.strings.str_len(known).sum()) + 16 * len(known) for known in texts)
        return super().nbytes + self.codes.nbytes + size

    def hashes(self) -> UInt64:
        """A hash of each row, by its values alone: whatever their columns, order and type."""
        total = np.zeros(len(self.codes), np.uint64)
        for codes, known in zip(self.codes.T, self.levels, strict=True):
            total += np.append(hashed(known), np.uint64(0))[codes]
        return mixed(total + np.uint64(GOLDEN))

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Why no data can have these rows: each row that was met is one of them."""
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
        """The shape of each table, for so many classes and features."""
        return {"count": (n_classes, len(self.codes)), "missing": (n_classes, n_features)}

    def arrays(self) -> Arrays:
        """The codes, row after row, and the levels."""
        return {
            "codes": np.array(self.codes, "<i4"),
            "threshold": np.array([self.threshold], "<u8"),
            **mixed_arrays(self.levels),
        }

    def _agrees(self, other: Self) -> bool:
        same = [a.dtype == b.dtype and np.array_equal(a, b)
                for a, b in zip(self.levels, other.levels, strict=True)]  # fmt: skip
        kept = self.threshold == other.threshold
        return kept and all(same) and np.array_equal(self.codes, other.codes)


@dataclass(frozen=True)
class Sample(Summary[SampleStatistics]):
    """The rows, each distinct one once, with its weight by class.

    Parameters
    ----------
    limit : how many distinct rows are kept at most: those of the smallest hashes, which are a
        random sample, the same whatever the order and split of the rows. Fewer of rows whose texts
        have more than 32 million characters together.
    """

    limit: int = 1_000_000

    takes = "cells"
    by_column = False

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> SampleStatistics:
        """The distinct rows of a batch and their weights, exactly."""
        X = encoded(X)
        sizes = [len(known) + 1 for known in X.levels]
        first, kind = distinct(X.codes, sizes)
        rows = np.arange(len(first))
        counted = count_levels(
            Encoded(kind[:, np.newaxis].astype(np.int32), [rows]), batch, workers
        )
        bounds = np.array(sizes, np.int64) - 1
        there = Encoded((X.codes == bounds).astype(np.int32), [np.arange(1)] * len(sizes))
        missing = count_levels(there, batch, workers).tables["missing"]
        codes = np.array(X.codes[first], np.int32)
        tables = {"count": counted.tables["count"], "missing": missing}
        return SampleStatistics(tables, codes, list(X.levels), self.limit).cut()

    def empty(self, n_classes: int, n_features: int) -> SampleStatistics:
        """The statistics of no rows."""
        count, missing = (ExactArray.zeros((n_classes, size)) for size in (0, n_features))
        levels: list[Levels] = [np.empty(0, np.float64)] * n_features
        codes = np.empty((0, n_features), np.int32)
        return SampleStatistics({"count": count, "missing": missing}, codes, levels, self.limit)

    def read(
        self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int
    ) -> SampleStatistics:
        """As the base class; codes must be places in the levels, and no row there twice."""
        if missing := [name for name in ("codes", "threshold") if name not in arrays]:
            raise ValueError(f"it has no tensor of {missing[0]}")
        levels = read_mixed(arrays, n_features)
        codes, threshold = arrays["codes"], arrays["threshold"]
        bounds = np.array([len(known) + 1 for known in levels])
        if codes.dtype != np.int32 or codes.shape != (tables["count"].shape[1], n_features):
            raise ValueError("its rows do not belong to its features")
        if (codes < 0).any() or (codes >= bounds).any():
            raise ValueError("a value of a row is none of its levels")
        if len(distinct(codes, bounds.tolist())[0]) < len(codes):
            raise ValueError("a row is there twice")
        if threshold.dtype != np.uint64 or threshold.shape != (1,):
            raise ValueError("its threshold is no number")
        found = SampleStatistics(tables, codes, levels, self.limit, int(threshold[0]))
        if (found.hashes() >= np.uint64(found.threshold)).any() and not found.is_complete:
            raise ValueError("a row is beyond its threshold")
        return found


# ---- rows ----------------------------------------------------------------------------------------


def _order(hashes: UInt64, codes: Codes) -> npt.NDArray[np.intp]:
    """The order of rows by their hashes, and by their codes where these are equal."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    same = ordered[1:] == ordered[:-1]
    tied = np.zeros(len(order), bool)
    tied[1:] |= same
    tied[:-1] |= same
    few = order[tied]
    order[tied] = few[np.lexsort([*codes[few].T[::-1], hashes[few]])]
    return order


def _translated(codes: Codes, places: list[tuple[Int64, int]]) -> Codes:
    """Codes of levels that have other places now, among so many; the missing value is the last."""
    out = np.empty_like(codes)
    for k, (to, size) in enumerate(places):
        out[:, k] = np.append(to, size)[codes[:, k]]
    return out


def _summed(count: ExactArray, kind: Int64, kinds: int) -> ExactArray:
    """The weights (C, R) of rows summed by their kind, (C, kinds)."""
    total = ExactArray.zeros((count.shape[0], kinds))
    order = np.argsort(kind, kind="stable")
    nth = np.arange(len(kind)) - np.searchsorted(kind[order], kind[order])
    for turn in range(int(nth.max(initial=-1)) + 1):  # one row of each kind at a time
        rows = order[nth == turn]
        total = total.accumulate(count.gather(1, rows), columns=kind[rows])
    return total
