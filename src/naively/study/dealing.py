"""Which part a row is in: by what is in the row, each class evenly."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from naively.evidence.copies import as_copies
from naively.evidence.repeated import recur_among
from naively.exact import Float64, Int64
from naively.hashing import GOLDEN, UInt64, hashed, mixed
from naively.schema import Schema
from naively.statistics.base import Data, dense, is_sparse
from naively.statistics.levels import Encoded
from naively.statistics.logs import blocks
from naively.statistics.term_keys import keys_by_terms
from naively.workers import SERIAL

DIFFERENT = 3  # rows of a class for each part, at least, where copies are told from equal rows
CELLS = 1 << 20  # of dense rows whose keys are made at a time


def dealt(schema: Schema, X: Data, codes: Int64, weights: Float64 | None, parts: int) -> Int64:
    """The part of each row, (n,), from 0 to below `parts`.

    The rows of a class are sorted by a hash of what is in them, and dealt to the parts in turn. So
    the order in which rows come does not matter, nor does chance, and each part has its share of
    every class. Which of two equal rows is in which part does depend on their order. But where the
    rows of a class were copied (`as_copies`), all copies of a row are in one part; of few different
    rows that cannot be told. Documents with the same terms are in one part, unless they recur
    (`naively.evidence.repeated`).

    Parameters
    ----------
    schema : of the rows.
    X : (n, ...) rows, as a model of this schema takes them.
    codes : (n,) the class of each row.
    weights : (n,) or None, by which rows that are alike are sorted.
    parts : how many.
    """
    if not len(codes):
        return np.empty(0, np.int64)
    weights = np.zeros(len(codes)) if weights is None else weights
    keys = row_keys(schema, X)
    order = np.lexsort([weights, keys, codes])
    same = (np.diff(codes[order]) == 0) & (np.diff(keys[order]) == 0)
    first = np.append(True, ~same)  # of equal rows
    counts = np.diff(np.append(np.flatnonzero(first), len(codes))).astype(np.float64)
    classes, n_classes = codes[order][first], int(codes.max()) + 1
    few = np.bincount(classes, minlength=n_classes) < DIFFERENT * parts
    if schema.is_single and schema.family.summary.takes == "documents":
        texts, place = np.unique(keys[order][first], return_inverse=True)
        recurs = recur_among(
            place, classes, counts, np.bincount(place, counts, len(texts)).astype(float)
        )
        copied = ~recurs[place][np.cumsum(first) - 1]
    else:
        copied = (as_copies(classes, counts, n_classes) & ~few)[codes[order]]
    part = np.empty(len(order), np.int64)
    part[order] = (np.cumsum(first | ~copied) - 1) % parts
    return part


def left_out_in_turn(part: Int64) -> tuple[npt.NDArray[np.bool_], list[Int64]]:
    """(whether the model without each part learns each row, (P, n); the rows of each part)."""
    learned = np.arange(part.max(initial=-1) + 1)[:, np.newaxis] != part
    return learned, [np.flatnonzero(~own) for own in learned]


def row_keys(schema: Schema, X: Data) -> UInt64:
    """64 bits that stand for what is in each row, (n,): equal rows have equal ones.

    The same numbers have the same keys as any type of number, dense or sparse; -0 is 0.
    """
    rows = [X] if schema.is_single else X.parts
    keys = np.zeros(X.shape[0], np.uint64)
    for number, (part, own) in enumerate(zip(schema.parts, rows, strict=True)):
        if part.summary.takes == "documents":
            found = _document_keys(part.summary, own)
        elif isinstance(own, Encoded):
            found = _level_keys(own)
        else:
            found = _sparse_keys(own) if is_sparse(own) else _dense_keys(own)
        keys = mixed(keys + found + np.uint64(number))
    return keys


def _dense_keys(X: npt.NDArray[Any]) -> UInt64:
    keys = np.empty(len(X), np.uint64)
    columns = np.arange(X.shape[1])
    for rows in blocks(0, len(X), CELLS // max(1, X.shape[1])):
        cells = dense(X[rows])
        keys[rows] = (
            _cell_keys(cells.ravel(), np.tile(columns, len(cells)))
            .reshape(cells.shape)
            .sum(axis=1, dtype=np.uint64)
        )
    return keys


def _sparse_keys(X: Any) -> UInt64:
    sums = np.append(np.uint64(0), np.cumsum(_cell_keys(X.data, X.indices), dtype=np.uint64))
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]  # modulo 2^64


def _cell_keys(values: npt.NDArray[Any], columns: npt.NDArray[Any]) -> UInt64:
    """A key of each number and its column; 0 of zeros, so that they add nothing."""
    numbers = values.astype(np.float64)
    numbers[np.isnan(numbers)] = np.nan  # of which there are many
    keys = mixed(numbers.view(np.uint64) + _steps(columns))
    keys[numbers == 0.0] = 0
    return keys


def _level_keys(X: Encoded) -> UInt64:
    keys = np.zeros(X.shape[0], np.uint64)
    for column, levels in enumerate(X.levels):
        own = [hashed(str(level).encode("utf-8", "surrogatepass")) for level in levels.tolist()]
        known = np.array([*own, 0], np.uint64)  # the last one of a missing value
        keys += mixed(known[X.codes[:, column]] + _steps(np.array([column])))
    return keys


def _document_keys(summary: Any, X: Any) -> UInt64:
    """By the terms of documents, as they are counted: whatever else their bytes are."""
    keys = keys_by_terms(getattr(summary, "parts", (summary,)), X, SERIAL)
    return keys if X.valid is None else np.where(X.valid, keys, np.uint64(0))


def _steps(numbers: npt.NDArray[Any]) -> UInt64:
    """What tells the columns of these numbers apart."""
    return (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)
