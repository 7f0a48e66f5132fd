"""Count the distinct values of columns of unknown type by class, while they are few.

If a column has few distinct values, all are stored, and the statistics of any family can be
computed from them. If it has many, a sample of them is stored, and the family's sums are counted in
addition. Which case holds is a function of the rows, in any order and split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from naively.core.exact import ExactArray, Float64, Index, Int64
from naively.core.hashing import GOLDEN, UInt64, mixed
from naively.core.workers import SERIAL, Workers
from naively.kernels import tables
from naively.kernels.tables import DISTINCT, FREE, SHIFT, tabulate
from naively.kernels.text import hash_documents
from naively.statistics.base import FORGOTTEN, NOT_LEARNED, Arrays, Batch, Statistics, Summary
from naively.statistics.levels import (
    Encoded,
    Levels,
    count_levels,
    joined,
    mixed_arrays,
    read_mixed,
    union,
    unions,
)
from naively.statistics.rows import TEXT, number_text
from naively.text.documents import Documents

FEW_NUMBERS = 1024  # largest number of distinct numbers of a column that are all stored
ROOM, EACH = 1 << 22, 32
"""Bytes of the distinct texts of a column that are all stored, at most; bytes added per text."""
NUMBERS, FRACTIONAL, NEGATIVE, TEXTS, WORDS = range(5)
"""Columns of the tally: numbers, fractions, numbers below 0; texts; words of all values."""
TALLIES = 5
NO_NUMBERS: Levels = np.empty(0, np.float64)
NO_TEXTS: Levels = np.empty(0, TEXT)


@dataclass(frozen=True)
class Values:
    """Columns of a table as numbers and texts.

    numbers : (n, d) float64, each column contiguous; NaN where a value is not a number.
    texts : for columns with texts, (position of each value among the texts, or their number if it
        is not a text, (n,); the sorted texts). In a column that its source declares as categorical,
        numbers are texts, too.
    """

    numbers: Float64
    texts: dict[int, tuple[npt.NDArray[np.int32], Levels]]

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        n, d = self.numbers.shape
        return n, d

    def __getitem__(self, rows: Index) -> Values:
        texts = {k: (codes[rows], categories) for k, (codes, categories) in self.texts.items()}
        return Values(self.numbers[rows], texts)

    def documents(self, column: int) -> Documents:
        """Return a column as documents."""
        x, n = self.numbers[:, column], len(self.numbers)
        codes, distinct = self.texts.get(column, (np.zeros(n, np.int32), NO_TEXTS))
        values = pa.array([*distinct.tolist(), None], pa.string()).take(pa.array(codes))
        rows = np.flatnonzero(~np.isnan(x))
        if len(rows):
            distinct, places = np.unique(x[rows], return_inverse=True)
            spelled = [number_text(value) for value in distinct.tolist()]
            texts = np.array(values.to_pylist(), object)
            texts[rows] = np.array(spelled, object)[places]
            values = pa.array(texts.tolist(), pa.string())
        return Documents.of(values)


@dataclass(eq=False, repr=False)
class CandidateStatistics(Statistics):
    """The distinct values of columns, with their weights.

    tables : ``count`` (C, L), the weight of each value by class: the numbers of one column after
        the other, then the texts; ``missing`` and ``texts`` (C, d), the weight of the rows in which
        a column is missing, or is a text. And sums that do not decay, as a type does not: ``met``
        (1, L), the weight of each value, ``tally`` (1, 5 d), the tally of each column.
    levels : 2 d sorted arrays: the numbers of each column, then its texts.
    shifts : (2 d,) 0 if all values are stored; else they are the sample of those whose hash begins
        with this number of zero bits.
    limit : largest number of distinct numbers of a column that are stored.
    """

    levels: list[Levels]
    shifts: Int64
    limit: int

    sized_by = "missing"
    pooled_tables: ClassVar[tuple[str, ...]] = ("met", "tally")
    of_rows = ("missing", "texts")

    @property
    def offsets(self) -> Int64:
        """The start of the values of each column of numbers, then of texts; the end of the last."""
        return np.cumsum([0] + [len(levels) for levels in self.levels])

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.levels) // 2

    @property
    def pairs(self) -> list[tuple[Levels, Levels]]:
        """The numbers and texts of each column."""
        return [*zip(self.levels[: self.width], self.levels[self.width :], strict=True)]

    @property
    def lacking(self) -> tuple[Int64, Int64]:
        """The columns whose numbers, and whose texts, are not all stored."""
        numbers, texts = np.split(self.shifts > 0, 2)
        return np.flatnonzero(numbers), np.flatnonzero(texts)

    @property
    def tally(self) -> Float64:
        """(d, 5) the tally of each column."""
        return self.tables["tally"].rounded().reshape(self.width, TALLIES)

    @property
    def weight_of_values(self) -> list[Float64]:
        """The weight of each value of each column of numbers, then of texts, without decay."""
        return np.split(self.tables["met"].rounded()[0], self.offsets[1:-1])

    def exceeds(self, part: int, other: CandidateStatistics, place: int) -> bool:
        """Return whether a column has too many distinct values, combined with another one."""
        a, b = self.levels[part], other.levels[place]
        if self.shifts[part] or other.shifts[place]:
            return True
        if part < self.width:
            return len(a) + len(b) > self.limit and len(union(a, b)[0]) > self.limit
        return _room(a) + _room(b) > ROOM and _room(union(a, b)[0]) > ROOM

    @property
    def first_texts(self) -> list[tuple[int, str]]:
        """(number of texts, the first text) of each column."""
        columns = zip(self.levels[self.width :], self.weight_of_values[self.width :], strict=True)
        return [
            (round(float(weights.sum())), str(texts[weights != 0][0]) if weights.any() else "")
            for texts, weights in columns
        ]

    # ---- the algebra -------------------------------------------------------------------------

    def accumulate(self, other: Self, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) statistics, merging the values by union."""
        shifts = np.maximum(self.shifts, other.shifts)
        total, other = self._thinned(shifts), other._thinned(shifts)
        merged, own_places, other_places = unions(total.levels, other.levels)
        size = sum(map(len, merged))
        for name in ("count", "met"):
            rows = classes if name == "count" else None
            wide = total.tables[name].scatter(1, own_places, size)
            total.tables[name] = wide.accumulate(other.tables[name], rows, other_places, sign)
        for name in ("missing", "texts", "tally"):
            rows = None if name == "tally" else classes
            total.tables[name] = total.tables[name].accumulate(other.tables[name], rows, sign=sign)
        total.levels = merged
        vars(self).update(vars(total.cut() if sign > 0 else total))

    def cut(self) -> Self:
        """Return statistics with as many values as there is room for: a sample if too many."""
        shifts = self.shifts.copy()
        for k, values in enumerate(self.levels):
            if k < self.width:
                room, sizes = self.limit, np.ones(len(values), np.int64)
            else:
                room, sizes = ROOM, _sizes(values)
            if sizes.sum() > room:
                order = np.argsort(hashes := _hashed(values))
                last = order[np.searchsorted(np.cumsum(sizes[order]), room, side="right")]
                zeros = 64 - int(hashes[last]).bit_length()  # the first that does not fit
                shifts[k] = max(shifts[k], zeros + 1)
        return self if (shifts == self.shifts).all() else self._thinned(shifts)

    def _thinned(self, shifts: Int64) -> Self:
        """Reduce to samples of these shifts; may return a shallow copy."""
        if (shifts == self.shifts).all():
            return self._with(dict(self.tables))
        levels, masks = [], []
        columns = zip(self.levels, self.shifts.tolist(), shifts.tolist(), strict=True)
        for values, old_shift, new_shift in columns:
            keep = np.ones(len(values), bool)
            if new_shift > old_shift:
                keep = _hashed(values) >> np.uint64(64 - new_shift) == 0
            levels.append(values[keep])
            masks.append(keep)
        if all(map(np.all, masks)):
            return self._with(dict(self.tables), levels=levels, shifts=shifts)
        mask = np.concatenate(masks)
        tables = self.tables | {n: self.tables[n].gather(1, mask) for n in ("count", "met")}
        return self._with(tables, levels=levels, shifts=shifts)

    def scaled(self, gamma: float) -> Self:
        """Return the statistics times gamma, except for the sums that determine types."""
        unscaled = self.pooled_tables
        tables = self.tables.items()
        return self._with({n: t.copy() if n in unscaled else t.scaled(gamma) for n, t in tables})

    def gather_columns(self, columns: Index) -> Self:
        """Restrict to some columns."""
        features = np.arange(self.width)[columns]
        positions = np.concatenate([features, self.width + features])
        cells = np.split(np.arange(self.offsets[-1]), self.offsets[1:-1])
        value_cells = np.concatenate([self.offsets[:0], *(cells[k] for k in positions)])
        tallies = (TALLIES * features[:, np.newaxis] + np.arange(TALLIES)).ravel()
        where = {"count": value_cells, "met": value_cells, "tally": tallies}
        where |= {"missing": features, "texts": features}
        tables = {name: self.tables[name].gather(1, places) for name, places in where.items()}
        levels = [self.levels[k] for k in positions]
        return self._with(tables, levels=levels, shifts=self.shifts[positions])

    def reindex_columns(self, sources: Int64, positions: Int64, n_features: int) -> Self:
        """Move column own[k] to positions[k] of `n_features`; the others have no values."""
        order = np.argsort(positions)
        gathered, positions = self.gather_columns(sources[order]), np.asarray(positions)[order]
        levels = [NO_NUMBERS] * n_features + [NO_TEXTS] * n_features
        shifts = np.zeros(2 * n_features, np.int64)
        for k, at in enumerate(np.concatenate([positions, n_features + positions]).tolist()):
            levels[at], shifts[at] = gathered.levels[k], gathered.shifts[k]
        tallies = (TALLIES * positions[:, np.newaxis] + np.arange(TALLIES)).ravel()
        places = {"missing": (positions, n_features), "texts": (positions, n_features)}
        places["tally"] = tallies, TALLIES * n_features
        wide = {name: gathered.tables[name].scatter(1, *at) for name, at in places.items()}
        return gathered._with(gathered.tables | wide, levels=levels, shifts=shifts)

    def canonical(self) -> Self:
        """Return the statistics without values of weight 0."""
        nonzero = self.tables["met"].nonzero()[0] | self.tables["count"].nonzero().any(axis=0)
        masks = np.split(nonzero, self.offsets[1:-1])
        tables = {name: table.trimmed() for name, table in self.tables.items()}
        if not nonzero.all():
            tables |= {n: self.tables[n].gather(1, nonzero).trimmed() for n in ("count", "met")}
        levels = [values[mask] for values, mask in zip(self.levels, masks, strict=True)]
        return self._with(tables, levels=levels)

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Return why no rows can have these values, or None if some can."""
        if any(table.any_negative() for table in self.tables.values()):
            return FORGOTTEN
        present = self.observed(class_weight)
        if present.below_zero(class_weight.repeated(self.width)):
            return FORGOTTEN
        offsets = self.offsets
        for j in range(self.width):
            texts = self.tables["texts"].gather(1, j)
            for k, weight in ((j, present.gather(1, j) - texts), (self.width + j, texts)):
                total = self.tables["count"].gather(1, slice(*offsets[k : k + 2])).summed(1)
                excess = [weight - total] if self.shifts[k] else [weight - total, total - weight]
                if any(sums.below_zero(class_weight) for sums in excess):
                    return NOT_LEARNED
        return None

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of each table, for these numbers of classes and features."""
        values = int(self.offsets[-1])
        return {
            "count": (n_classes, values), "met": (1, values), "tally": (1, TALLIES * n_features),
            "missing": (n_classes, n_features), "texts": (n_classes, n_features),
        }  # fmt: skip

    def arrays(self) -> Arrays:
        """Return the values and the shifts."""
        return {"shifts": self.shifts.astype("<i8"), **mixed_arrays(self.levels)}

    def _with(self, tables: dict[str, ExactArray], **others: Any) -> Self:
        return super()._with(tables, **{"levels": list(self.levels), **others})

    def _agrees(self, other: Self) -> bool:
        same_shifts = np.array_equal(self.shifts, other.shifts)
        return same_shifts and all(map(np.array_equal, self.levels, other.levels))


@dataclass(frozen=True)
class Candidates(Summary[CandidateStatistics]):
    """Count the distinct values of columns without a declared type.

    limit : largest number of distinct numbers of a column that are all stored.
    """

    limit: int = FEW_NUMBERS

    takes = "values"
    kind: type[CandidateStatistics] = field(default=CandidateStatistics, init=False, compare=False)

    def summarise(self, X: Values, batch: Batch, workers: Workers) -> CandidateStatistics:
        """Return the exact weight of each value by class."""
        classes, (_, d) = batch.n_classes, X.shape
        numbers = self._weighed(X, batch) if len(batch.weights) else self._counted(X, batch)
        text_columns = sorted(X.texts)
        encoded = _encoded([X.texts[k] for k in text_columns], len(X.numbers))
        texts = count_levels(encoded, batch, SERIAL)
        count, starts = texts.tables["count"], texts.offsets
        text, tally = ExactArray.zeros((classes, d)), numbers.tally
        for k, values, start in zip(text_columns, texts.levels, starts.tolist(), strict=False):
            cells = count.gather(1, slice(start, start + len(values)))
            text = text.accumulate(cells.summed(1).repeated(1), columns=np.array([k]))
            weights, words = cells.summed(0), [len(value.split()) for value in values.tolist()]
            plain = [not endless(value) for value in values.tolist()]
            for measure, factors in ((TEXTS, plain), (WORDS, words)):
                total = _times(weights, np.array(factors, np.int64))
                tally = tally.accumulate(total, columns=np.array([TALLIES * k + measure]))
        missing = numbers.missing - text
        levels = [NO_TEXTS] * d
        for k, values in zip(text_columns, texts.levels, strict=True):
            levels[k] = values
        counts = joined([numbers.count, count], classes)
        tables = {
            "count": counts, "met": counts.summed(0).repeated(1, 0), "missing": missing,
            "texts": text, "tally": tally,
        }  # fmt: skip
        shifts = np.array([*numbers.shifts, *[0] * d], np.int64)
        return CandidateStatistics(tables, numbers.levels + levels, shifts, self.limit).cut()

    def _counted(self, X: Values, batch: Batch) -> _Numbers:
        """Count the numbers of each column, for rows of weight 1."""
        limit = min(self.limit, max(len(X.numbers), 1))
        slots = np.empty(1 << (2 * limit).bit_length(), np.int32)
        levels, value_counts, missing, tallies = [], [], [], []
        for k in range(X.shape[1]):
            x = np.ascontiguousarray(X.numbers[:, k]) + 0.0  # without -0.0
            keys, counts = np.zeros(limit), np.zeros((limit, batch.n_classes), np.int64)
            n_missing, report = np.zeros(batch.n_classes, np.int64), np.zeros(5, np.int64)
            slots[:] = FREE
            tabulate(x, batch.codes, keys, counts, n_missing, slots, report)
            order = np.argsort(keys[: report[DISTINCT]])
            levels.append(keys[order])
            value_counts.append(counts[order])
            missing.append(n_missing)
            tallies.append(report)
        tally = np.zeros((X.shape[1], TALLIES), np.int64)
        measures = [tables.PRESENT, tables.FRACTIONAL, tables.NEGATIVE]
        tally[:, :TEXTS] = np.array(tallies)[:, measures]
        tally[:, WORDS] = tally[:, NUMBERS]
        return _Numbers(
            levels, [int(column_tally[SHIFT]) for column_tally in tallies],
            ExactArray.from_integers(np.ascontiguousarray(np.concatenate(value_counts).T)),
            ExactArray.from_integers(np.array(missing).T.copy()),
            ExactArray.from_integers(tally.reshape(1, -1)),
        )  # fmt: skip

    def _weighed(self, X: Values, batch: Batch) -> _Numbers:
        """Count the numbers of each column, for weighted rows."""
        columns = []
        for k in range(X.shape[1]):
            values, codes = np.unique(X.numbers[:, k] + 0.0, return_inverse=True)
            columns.append((codes.astype(np.int32), values[: np.searchsorted(values, np.inf)]))
        counts = count_levels(_encoded(columns, len(X.numbers)), batch, SERIAL)
        totals, starts = counts.tables["count"].summed(0), counts.offsets
        tallies = []
        for values, start in zip(counts.levels, starts.tolist(), strict=False):
            weights = totals.gather(0, slice(start, start + len(values)))
            masks = {NUMBERS: np.ones(len(values), bool), FRACTIONAL: values != np.floor(values),
                     NEGATIVE: values < 0, WORDS: np.ones(len(values), bool)}  # fmt: skip
            none = np.zeros(len(values), bool)
            tallies += [_times(weights, masks.get(k, none).astype(int)) for k in range(TALLIES)]
        levels = [values.astype(np.float64) for values in counts.levels]
        count, missing = counts.tables["count"], counts.tables["missing"]
        return _Numbers(levels, [0] * X.shape[1], count, missing, joined(tallies, 1))

    def empty(self, n_classes: int, n_features: int) -> CandidateStatistics:
        """Return the statistics of no rows."""
        levels = [NO_NUMBERS] * n_features + [NO_TEXTS] * n_features
        statistics = CandidateStatistics({}, levels, np.zeros(2 * n_features, np.int64), self.limit)
        shapes = statistics.shapes(n_classes, n_features).items()
        statistics.tables = {name: ExactArray.zeros(shape) for name, shape in shapes}
        return statistics

    def read(
        self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int
    ) -> CandidateStatistics:
        """See `Summary.read`."""
        levels, shifts = read_mixed(arrays, 2 * n_features), arrays.get("shifts")
        if shifts is None or shifts.dtype != np.int64 or shifts.shape != (2 * n_features,):
            raise ValueError("it does not say of which columns all values are there")
        if (shifts < 0).any() or (shifts > 63).any():
            raise ValueError("a sample of values is out of range")
        empty = [NO_NUMBERS] * n_features + [NO_TEXTS] * n_features
        for k, (values, none) in enumerate(zip(levels, empty, strict=True)):
            if len(values) and values.dtype.kind != none.dtype.kind:
                raise ValueError("numbers and texts of a column are in the wrong place")
            levels[k] = values if len(values) else none
            if shifts[k] and (_hashed(values) >> np.uint64(64 - int(shifts[k])) > 0).any():
                raise ValueError("a value is none of its sample")
        return CandidateStatistics(tables, levels, shifts.copy(), self.limit)


def endless(text: str) -> bool:
    """Return whether text spells infinity or NaN."""
    word = text.lstrip("+-").lower()
    return word in ("inf", "infinity", "nan") and len(text) - len(word) < 2


def weighed_cells(count: ExactArray) -> tuple[Int64, Int64, Float64]:
    """Return (column, row, weight) of each non-zero cell, its weight split into exact float64."""
    digits, low = count.digits
    row, column, digit = digits.nonzero()
    weights = digits[row, column, digit].astype(np.float64)
    return column, row, np.ldexp(weights, 32 * (low + digit))


@dataclass(frozen=True)
class _Numbers:
    """The numbers of columns, as in `CandidateStatistics`, without texts."""

    levels: list[Levels]
    shifts: list[int]
    count: ExactArray
    missing: ExactArray
    tally: ExactArray


def _sizes(texts: Levels) -> Int64:
    """Return the size of each text, in bytes."""
    if not len(texts):
        return np.zeros(0, np.int64)
    return EACH + np.strings.str_len(texts).astype(np.int64)


def _room(texts: Levels) -> int:
    """Return the total size of texts, in bytes."""
    return int(_sizes(texts).sum())


def _encoded(columns: Sequence[tuple[npt.NDArray[np.int32], Levels]], n: int) -> Encoded:
    """Combine columns of categories."""
    codes = np.empty((len(columns), n), np.int32)
    for column, (column_codes, _) in zip(codes, columns, strict=True):
        column[:] = column_codes
    return Encoded(codes.T, [categories for _, categories in columns])


def _times(weights: ExactArray, factors: Int64) -> ExactArray:
    """Return the exact sum of weights times non-negative integers, (1, 1)."""
    total = ExactArray.zeros((1, 1))
    for bit in range(int(factors.max(initial=0)).bit_length()):
        power = weights.gather(0, np.flatnonzero(factors >> bit & 1)).summed(0)
        for _ in range(bit):
            power = power + power
        total = total + ExactArray(power.limbs.reshape(1, 1, -1), power.low)
    return total


def _hashed(levels: Levels) -> UInt64:
    """Return a 64-bit hash of each number or text."""
    if levels.dtype.kind != "T":
        return mixed(levels.view(np.uint64) + np.uint64(GOLDEN))
    documents = Documents.of(pa.array(levels.tolist(), pa.string()))
    hashes = np.empty(len(levels), np.uint64)
    hash_documents(documents.data, documents.offsets, hashes)
    return mixed(hashes)
