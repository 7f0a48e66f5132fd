"""Count the categories of each feature by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import ExactArray, Index, Int64
from naively.core.numerals import NUMBER
from naively.core.workers import Workers
from naively.kernels import tables as kernel
from naively.kernels.sums import CODES
from naively.statistics.base import (
    FORGOTTEN,
    NOT_LEARNED,
    Arrays,
    Batch,
    Data,
    InvalidValueError,
    Statistics,
    Summary,
    dense,
    shown,
)
from naively.statistics.powers import Limbs, slabs, window

Levels = npt.NDArray[Any]
"""Sorted distinct categories: codes (int64), numbers (float64) or text (StringDType)."""


@dataclass(frozen=True)
class Encoded:
    """Categorical columns as integer codes.

    codes : (n, d) integer array, positions in the categories of each column, or their number where
        the value is missing.
    levels : list of d sorted arrays of distinct categories.
    """

    codes: npt.NDArray[Any]
    levels: list[Levels]

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return self.codes.shape[0], self.codes.shape[1]

    def __getitem__(self, at: Any) -> Encoded:
        """Select rows; or all rows and some columns, as ``[:, columns]``."""
        if not isinstance(at, tuple):
            return Encoded(self.codes[at], self.levels)
        columns = np.arange(len(self.levels))[at[1]]
        return Encoded(self.codes[at], [self.levels[k] for k in columns])


@dataclass(eq=False, repr=False)
class LevelStatistics(Statistics):
    """Counts of the categories of each feature.

    tables : ``count`` (C, total number of categories), feature after feature; ``missing`` (C, d).
    levels : list of d sorted arrays, the categories of the columns of ``count``.
    """

    levels: list[Levels]

    sized_by = "missing"
    none: ClassVar[Levels] = np.empty(0, np.int64)  # the categories of a feature without values

    @property
    def offsets(self) -> Int64:
        """The start of each feature's categories in ``count``, and the end of the last."""
        return np.cumsum([0] + [len(levels) for levels in self.levels])

    def accumulate(self, other: Self, classes: Int64, sign: int = 1) -> None:
        """Add (or subtract) statistics, merging the categories by union."""
        merged, own_columns, other_columns = unions(self.levels, other.levels)
        if not all(map(_same, self.levels, merged)):
            size = sum(map(len, merged))
            self.tables["count"] = self.tables["count"].scatter(1, own_columns, size)
            self.levels = merged
        count = self.tables["count"]
        self.tables["count"] = count.accumulate(other.tables["count"], classes, other_columns, sign)
        missing = self.tables["missing"]
        self.tables["missing"] = missing.accumulate(other.tables["missing"], classes, sign=sign)

    def gather_columns(self, columns: Index) -> Self:
        """Restrict to some features."""
        features = np.arange(len(self.levels))[columns]
        tables = {
            "count": self.tables["count"].gather(1, self._cells(features)),
            "missing": self.tables["missing"].gather(1, columns),
        }
        return self._with(tables, levels=[self.levels[k] for k in features])

    def reindex_columns(self, sources: Int64, positions: Int64, n_features: int) -> Self:
        """Move feature own[k] to positions[k] of `n_features`; the others have no values."""
        statistics = self.gather_columns(sources[np.argsort(positions)])
        levels = [self.none] * n_features
        for k, position in zip(sources, positions, strict=True):
            levels[position] = self.levels[k]
        missing = self.tables["missing"].gather(1, sources)
        statistics.tables["missing"] = missing.scatter(1, positions, n_features)
        statistics.levels = levels
        return statistics

    def _cells(self, features: Int64) -> Int64:
        """Return the columns of ``count`` of some features."""
        cells = np.split(np.arange(self.offsets[-1]), self.offsets[1:-1])
        return np.concatenate([self.none.astype(np.int64), *(cells[k] for k in features)])

    def canonical(self) -> Self:
        """Return the statistics without categories of count 0."""
        nonzero = self.tables["count"].nonzero().any(axis=0)
        masks = np.split(nonzero, self.offsets[1:-1])
        tables = {
            "count": self.tables["count"].gather(1, nonzero).trimmed(),
            "missing": self.tables["missing"].trimmed(),
        }
        levels = [a[k] for a, k in zip(self.levels, masks, strict=False)]
        return self._with(tables, levels=levels)

    def impossible(self, class_weight: ExactArray) -> str | None:
        """Return why no data can have these counts: one category per row and feature, or none."""
        count, observed = self.tables["count"], self.observed(class_weight)
        if count.any_negative() or self.tables["missing"].any_negative():
            return FORGOTTEN
        for j in range(len(self.levels)):
            total = count.gather(1, slice(*self.offsets[j : j + 2])).summed(1)
            present = observed.gather(1, j)
            if (total - present).below_zero(total) or (present - total).below_zero(total):
                return NOT_LEARNED
        return None

    def shapes(self, n_classes: int, n_features: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of each table, for these numbers of classes and features."""
        return {"count": (n_classes, int(self.offsets[-1])), "missing": (n_classes, n_features)}

    def arrays(self) -> Arrays:
        """Return the categories: codes or numbers; for text, the bytes and their lengths."""
        levels = self.levels
        counts = np.array([len(categories) for categories in levels], "<i8")
        if all(categories.dtype.kind != "T" for categories in levels):
            return {"level_counts": counts, "levels": np.concatenate([self.none, *levels])}
        texts = [text.encode() for categories in levels for text in categories.tolist()]
        return {
            "level_counts": counts,
            "levels": np.frombuffer(b"".join(texts), "<u1"),
            "level_lengths": np.array([len(text) for text in texts], "<i8"),
        }

    def _agrees(self, other: Self) -> bool:
        return all(map(_same, self.levels, other.levels))


def read_levels(arrays: Arrays, n_features: int, kinds: str) -> list[Levels]:
    """Return the categories of each feature, as `LevelStatistics.arrays` stores them.

    `kinds` are the NumPy kinds to accept. Raises ValueError if they are inconsistent, saying why.
    """
    for name in ("levels", "level_counts"):
        if name not in arrays:
            raise ValueError(f"it has no tensor of {name}")
    flat, counts = arrays["levels"], arrays["level_counts"]
    if "level_lengths" in arrays:
        flat = _read_texts(flat, arrays["level_lengths"])
    if flat.ndim != 1 or flat.dtype.kind not in kinds or counts.dtype != np.int64:
        raise ValueError("its levels are no lists of codes, numbers or text")
    is_out = counts.shape != (n_features,) or (counts < 0).any() or (counts > len(flat)).any()
    if is_out or counts.sum() != len(flat):
        raise ValueError("its levels do not belong to its features")
    if flat.dtype.kind == "i" and len(flat) and (flat.min() < 0 or flat.max() >= 1 << 53):
        raise ValueError("a level is out of range")
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        raise ValueError("a level is not finite")
    levels = np.split(flat, np.cumsum(counts)[:-1])
    if any(not (categories[1:] > categories[:-1]).all() for categories in levels):
        raise ValueError("the levels of a feature are not sorted and distinct")
    return levels


def mixed_arrays(levels: list[Levels]) -> Arrays:
    """Convert categories of columns, numbers or text, to arrays for a file."""
    numbers = [categories for categories in levels if categories.dtype.kind != "T"]
    text = [level.encode() for k in levels if k.dtype.kind == "T" for level in k.tolist()]
    return {
        "is_text": np.array([categories.dtype.kind == "T" for categories in levels], "<u1"),
        "level_counts": np.array([len(categories) for categories in levels], "<i8"),
        "numbers": np.concatenate([np.empty(0), *numbers]).astype("<f8", copy=False),
        "text": np.frombuffer(b"".join(text), "<u1"),
        "text_lengths": np.array([len(content) for content in text], "<i8"),
    }


def read_mixed(arrays: Arrays, n_features: int) -> list[Levels]:
    """Return the categories of each column, as `mixed_arrays` stores them.

    Raises ValueError if they are inconsistent, saying why.
    """
    names = ("is_text", "level_counts", "numbers", "text", "text_lengths")
    if missing := [name for name in names if name not in arrays]:
        raise ValueError(f"it has no tensor of {missing[0]}")
    is_text, counts = arrays["is_text"].astype(bool), arrays["level_counts"]
    if is_text.shape != (n_features,) or counts.shape != (n_features,):
        raise ValueError("its levels do not belong to its features")
    stored = {"levels": arrays["numbers"], "level_counts": counts[~is_text]}
    numbers = iter(read_levels(stored, int((~is_text).sum()), "f"))
    stored = {"levels": arrays["text"], "level_counts": counts[is_text]}
    stored["level_lengths"] = arrays["text_lengths"]
    text = iter(read_levels(stored, int(is_text.sum()), "T"))
    return [next(text if is_text_column else numbers) for is_text_column in is_text.tolist()]


def _read_texts(flat: npt.NDArray[Any], lengths: npt.NDArray[Any]) -> Levels:
    """Return texts from their UTF-8 bytes and their lengths in bytes."""
    if flat.dtype != np.uint8 or lengths.dtype != np.int64 or lengths.ndim != 1 or flat.ndim != 1:
        raise ValueError("its levels are no text")
    if (lengths < 0).any() or (lengths > len(flat)).any() or lengths.sum() != len(flat):
        raise ValueError("the lengths of its levels do not add up")
    raw, ends = flat.tobytes(), np.cumsum(lengths).tolist()
    pieces = [raw[end - size : end].decode() for end, size in zip(ends, lengths, strict=True)]
    return np.array(pieces, np.dtypes.StringDType())


NARROW = 1.2e-38, 3.4e38
"""Between these absolute values a float32 is a normal number, with full precision."""
TRUTHS = ("false", "true")
NUMBERS = ("0", "1")
WORDS = (
    ("no", "yes"), ("No", "Yes"), ("NO", "YES"), ("n", "y"), ("N", "Y"), ("f", "t"), ("F", "T"),
)  # fmt: skip
"""Truth values as categories, and the numbers and words that stand for them."""


def joined(parts: list[ExactArray], n_classes: int) -> ExactArray:
    """Concatenate tables along the second axis."""
    ends = np.cumsum([0, *(part.shape[1] for part in parts)])
    total = ExactArray.zeros((n_classes, int(ends[-1])))
    for part, start in zip(parts, ends.tolist(), strict=False):
        total = total.accumulate(part, columns=np.arange(start, start + part.shape[1]))
    return total


def union(a: Levels, b: Levels) -> tuple[Levels, Int64, Int64]:
    """Return (sorted union of two sorted sets of categories, positions of a in it, and of b)."""
    if _same(a, b) or len(a) == 0 or len(b) == 0:
        merged = b if len(a) == 0 else a
        return merged, np.arange(len(a)), np.arange(len(b))
    if a.dtype.kind != "T":
        at, in_a = find(a, b)
        places = at + np.cumsum(~in_a) - ~in_a
        from_a = np.ones(len(a) + int((~in_a).sum()), bool)
        from_a[places[~in_a]] = False
        merged = np.empty(len(from_a), np.result_type(a, b))
        merged[from_a], merged[places] = a, b
        return merged, np.flatnonzero(from_a), places
    values = np.concatenate([a, b])
    order = np.argsort(values, kind="stable")  # a stable sort merges two sorted runs in linear time
    ordered = values[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])
    places = np.empty(len(values), np.int64)
    places[order] = np.cumsum(is_first) - 1
    return ordered[is_first], places[: len(a)], places[len(a) :]


def unions(a: list[Levels], b: list[Levels]) -> tuple[list[Levels], Int64, Int64]:
    """Return the unions of the categories of each column, and where all of a and of b are in it."""
    merged = [*map(union, a, b)]
    starts = np.cumsum([0, *(len(levels) for levels, _, _ in merged)])
    in_a, in_b = (
        np.concatenate([starts[:0], *(s + m[k] for s, m in zip(starts, merged, strict=False))])
        for k in (1, 2)
    )
    return [levels for levels, _, _ in merged], in_a, in_b


def find(sorted_levels: Levels, levels: Levels) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """Return (position of each of `levels` in `sorted_levels`, whether it is there)."""
    if len(sorted_levels) == 0 or len(levels) == 0:
        return np.zeros(len(levels), np.int64), np.zeros(len(levels), bool)
    if sorted_levels.dtype.kind != "T":
        at = np.searchsorted(sorted_levels, levels)
        return at, sorted_levels[np.minimum(at, len(sorted_levels) - 1)] == levels
    if len(levels) == 1:  # faster for a single row
        equal = sorted_levels == levels
        at = equal.argmax(keepdims=True)
        return at, equal[at]
    # NumPy's searchsorted misreads text beyond 15 bytes that belongs to another array
    order = np.argsort(levels, kind="stable")
    merged, sorted_places, level_places = union(sorted_levels, levels[order])
    position = np.full(len(merged), -1)
    position[sorted_places] = np.arange(len(sorted_levels))
    at = np.empty(len(levels), np.int64)
    at[order] = position[level_places]
    return np.maximum(at, 0), at >= 0


def spelled_as(known_levels: Levels, levels: Levels) -> Levels:
    """Rename categories to the spelling of `known_levels`, such as 1 and 0 for true and false.

    A database without truth values returns numbers for them, and others may convert a column of yes
    and no to truth values. A fraction that was rounded to float32 matches the known one before
    rounding, and vice versa.
    """
    spellings = twins(known_levels.tolist()) or _unrounded(known_levels.tolist(), levels.tolist())
    if not spellings:
        return levels
    return np.array([spellings.get(level, level) for level in levels.tolist()], known_levels.dtype)


def _unrounded(known_levels: Sequence[str], levels: Sequence[str]) -> dict[str, str]:
    """Map each unknown fraction to the known category that equals it in float32."""
    fractions = {level: _float32(level) for level in {*levels}.difference(known_levels)}
    if not any(fractions.values()):
        return {}
    place = {_float32(level): level for level in known_levels}
    return {level: place[x] for level, x in fractions.items() if x is not None and x in place}


def _float32(text: str) -> np.float32 | None:
    """Return text as a float32; None for text, whole numbers and values out of range."""
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    whole = value.is_integer()  # whole numbers are exact, or identifiers
    return None if whole or not NARROW[0] <= abs(value) <= NARROW[1] else np.float32(text)


def twins(levels: Sequence[str]) -> dict[str, str]:
    """Map other spellings to these categories, as {"1": "true", "0": "false"}, if these are binary.

    Words such as y and n are recognised if the categories are truth values, but do not replace
    other words: besides y and n, a t may be a third category.
    """
    if not 0 < len(levels) <= 2:
        return {}
    pairs = (TRUTHS, NUMBERS, *WORDS)
    binary = next((pair for pair in pairs if {*levels} <= {*pair}), None)
    others = pairs if binary == TRUTHS else (TRUTHS, NUMBERS)
    if binary is None:
        return {}
    return {
        spelling: level
        for pair in others if pair != binary for spelling, level in zip(pair, binary, strict=True)
    }  # fmt: skip


def _same(a: Levels, b: Levels) -> bool:
    return len(a) == len(b) and (len(a) == 0 or bool((a == b).all()))


# ---- level counts --------------------------------------------------------------------------------


TABLE = 1 << 22  # cells of a lookup table, beyond which categories are sorted


@dataclass(frozen=True)
class LevelCounts(Summary[LevelStatistics]):
    """Count the categories of each feature: codes 0, 1, ..., or text."""

    takes = "levels"

    def summarise(self, X: Data, batch: Batch, workers: Workers) -> LevelStatistics:
        """Return the exact weight of each category by class and feature."""
        return count_levels(X if isinstance(X, Encoded) else dense(X), batch, workers)

    def empty(self, n_classes: int, n_features: int) -> LevelStatistics:
        """Return the statistics of no rows."""
        count, missing = (ExactArray.zeros((n_classes, size)) for size in (0, n_features))
        levels = [LevelStatistics.none] * n_features
        return LevelStatistics({"count": count, "missing": missing}, levels)

    def read(
        self, tables: dict[str, ExactArray], arrays: Arrays, n_features: int
    ) -> LevelStatistics:
        """See `Summary.read`."""
        return LevelStatistics(tables, read_levels(arrays, n_features, "iT"))


def count_levels(X: npt.NDArray[Any] | Encoded, batch: Batch, workers: Workers) -> LevelStatistics:
    """Return the exact weight of each category by class and feature.

    Raises InvalidValueError for a value that is not a category code.
    """
    if len(batch.weights) == 0 and 0 not in X.shape:
        if isinstance(X, Encoded):
            return _count_encoded(X, batch, workers)
        if (statistics := _count_directly(X, batch, workers)) is not None:
            return statistics
    return _count_columns(X, batch)


def _slabs(shape: tuple[int, ...], workers: Workers) -> list[slice]:
    """Split the rows among the workers."""
    n, d = shape
    return slabs(n, min(workers.count, max(1, n * d // 2**17)))


def _count_encoded(X: Encoded, batch: Batch, workers: Workers) -> LevelStatistics:
    """Count into tables indexed by the codes, with a column for missing values."""
    sizes = np.array([len(levels) + 1 for levels in X.levels])
    offsets = np.concatenate([[0], np.cumsum(sizes)])

    def count_slice(rows: slice) -> Int64:
        counts = np.zeros((batch.n_classes, int(offsets[-1])), np.int64)
        missing = np.zeros(batch.n_classes * len(sizes), np.int64)  # remains 0: no code is -1
        kernel.count_levels(
            shown(X.codes), batch.codes, rows.start, rows.stop, offsets, counts.reshape(-1),
            missing, np.zeros(2, np.int64),
        )  # fmt: skip
        return counts

    counts = np.sum(workers.map(count_slice, _slabs(X.shape, workers)), axis=0)
    missing_columns = offsets[1:] - 1
    tables = {
        "count": ExactArray.from_integers(np.delete(counts, missing_columns, axis=1)),
        "missing": ExactArray.from_integers(counts[:, missing_columns]),
    }
    return LevelStatistics(tables, X.levels).canonical()


def no_level(X: Any, row: int, column: int, above: int = 0) -> InvalidValueError:
    """Return the error for X[row, column], or for a negative value if there is one."""
    problem = "Not a category code"
    if (negative := X < 0).any():
        problem = "Negative values in data"
        row, column = np.argwhere(negative)[0].tolist()
    value = f"{X[row, column]}, not a whole number below 2**53"
    return InvalidValueError(above + row, column, f"{problem}: {{where}} is {value}")


def _count_directly(X: npt.NDArray[Any], batch: Batch, workers: Workers) -> LevelStatistics | None:
    """Count into tables indexed by the codes; return None if these are too large."""
    d = X.shape[1]
    row_slices = _slabs(X.shape, workers)
    largest = np.fmax.reduce(X[:1000], axis=0).astype(np.float64)  # a first guess
    initial_sizes = np.clip(np.nan_to_num(largest), 0, 1000).astype(np.int64) + 1
    if initial_sizes.sum() * batch.n_classes > TABLE:
        return None

    def count_slice(rows: slice) -> LevelStatistics | None:
        sizes = initial_sizes
        missing = np.zeros((batch.n_classes, d), np.int64)
        counts = np.zeros((batch.n_classes, int(sizes.sum())), np.int64)
        report = np.zeros(2, np.int64)
        row = rows.start
        while True:
            offsets = np.concatenate([[0], np.cumsum(sizes)])
            status, row = kernel.count_levels(
                shown(X), batch.codes, row, rows.stop, offsets,
                counts.reshape(-1), missing.reshape(-1), report,
            )  # fmt: skip
            if status == kernel.DONE:
                break
            column, code = report.tolist()
            if status == kernel.REFUSED:
                raise no_level(X, row, column)
            wider = sizes.copy()
            wider[column] = max(2 * sizes[column], code + 1)
            if int(wider.sum()) * batch.n_classes > TABLE:
                return None
            moved = np.zeros((batch.n_classes, int(wider.sum())), np.int64)
            starts = np.cumsum(wider) - wider
            columns = [np.arange(start, start + n) for start, n in zip(starts, sizes, strict=True)]
            moved[:, np.concatenate(columns)] = counts
            sizes, counts = wider, moved
        named = {"count": counts, "missing": missing}
        tables = {name: ExactArray.from_integers(table) for name, table in named.items()}
        return LevelStatistics(tables, [np.arange(size) for size in sizes]).canonical()

    partials = [partial for partial in workers.map(count_slice, row_slices) if partial is not None]
    if len(partials) < len(row_slices):
        return None
    for further in partials[1:]:
        partials[0].accumulate(further, np.arange(batch.n_classes))
    return partials[0]


def _count_columns(X: npt.NDArray[Any] | Encoded, batch: Batch) -> LevelStatistics:
    """Count through the sorted categories of each feature: any codes, any weights."""
    n, d = X.shape
    classes = batch.n_classes
    weights = batch.weights if len(batch.weights) else np.ones(n)
    span = window(weights.min(), weights.max()) if n else None
    codes, counts, levels = batch.codes, [], []
    missing = Limbs(classes * d, span)
    for j in range(d):
        present, categories, positions = _column_levels(X, j)
        limbs = Limbs(classes * len(categories), span)
        kernel.weigh_columns(
            positions.astype(np.int64), codes[present], weights[present], len(categories),
            *limbs.arguments,
        )  # fmt: skip
        counts.append(limbs.exact((classes, len(categories))))
        levels.append(categories)
        kernel.weigh_columns(
            np.full((~present).sum(), j), codes[~present], weights[~present], d, *missing.arguments
        )
    tables = {"count": joined(counts, classes), "missing": missing.exact((classes, d))}
    return LevelStatistics(tables, levels).canonical()


def _column_levels(
    X: npt.NDArray[Any] | Encoded, j: int
) -> tuple[npt.NDArray[np.bool_], Levels, Int64]:
    """Return (rows that have a category, categories, position of the category of each such row)."""
    if isinstance(X, Encoded):
        column = X.codes[:, j]
        present = column < len(X.levels[j])
        return present, X.levels[j], column[present]
    x = X[:, j]
    present = x == x  # not NaN
    bad = present & ((x < 0) | (x != np.floor(x)) | (x >= CODES))
    if bad.any():
        raise no_level(X, int(bad.argmax()), j)
    categories, positions = np.unique(x[present].astype(np.int64), return_inverse=True)
    return present, categories, positions
