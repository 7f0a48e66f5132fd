"""Assign rows to folds by a hash of their content, each class evenly, duplicates together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from naively.evidence.repeated import recur_among
from naively.exact import Float64, Int64
from naively.hashing import GOLDEN, UInt64, hashed, mixed
from naively.pooling.duplicates import duplicated
from naively.schema import Schema
from naively.statistics.base import Data, dense, is_sparse
from naively.statistics.levels import Encoded, Levels
from naively.statistics.logs import blocks
from naively.statistics.row_encoding import TEXT, encoded
from naively.statistics.terms import keys_by_terms
from naively.workers import SERIAL

COMPARED = 200  # columns by which duplicates are told from rows that recur, at most
DECISIONS = 3
"""Folds for classifiers that only decide; more changed no probability that was measured."""
CELLS = 1 << 20  # of dense rows whose keys are made at a time


def assign_folds(
    schema: Schema, X: Data, codes: Int64, weights: Float64 | None, parts: int
) -> Int64:
    """The part of each row, (n,), from 0 to below `parts`.

    The rows of a class are sorted by a hash of what is in them, and dealt to the parts in turn. So
    the order in which rows come does not matter, nor does chance, and each part has its share of
    every class. Which of two equal rows is in which part does depend on their order. But duplicates
    (`naively.pooling.duplicates`) are in one part, and so are documents with the same terms,
    unless they recur (`naively.evidence.repeated`).

    Parameters
    ----------
    schema : of the rows.
    X : (n, ...) rows, as a model of this schema takes them.
    codes : (n,) the class of each row.
    weights : (n,) or None, by which rows that are alike are sorted.
    parts : how many.
    """
    if weights is not None and not weights.all():  # absent rows move no others
        part = np.empty(len(codes), np.int64)
        there, absent = np.flatnonzero(weights > 0), np.flatnonzero(weights == 0)
        part[there] = assign_folds(schema, X[there], codes[there], weights[there], parts)
        part[absent] = assign_folds(schema, X[absent], codes[absent], None, parts)
        return part
    order, single = _grouped(schema, X, codes, weights)
    part = np.empty(len(order), np.int64)
    part[order] = (np.cumsum(single) - 1) % parts
    return part


def alike(schema: Schema, X: Data, codes: Int64) -> Int64:
    """A number for each row, (n,): copies of a row in one class have the same, others have not.

    It is the position of the first of them.

    Parameters
    ----------
    schema, X, codes : as of `dealt`.
    """
    order, single = _grouped(schema, X, codes, None)
    found = np.empty(len(order), np.int64)
    found[order] = order[single][np.cumsum(single) - 1]
    return found


def _grouped(
    schema: Schema, X: Data, codes: Int64, weights: Float64 | None
) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """(the rows, class after class; which of these are no copies of the one before)."""
    weights = np.zeros(len(codes)) if weights is None else weights
    keys = row_keys(schema, X)
    order = np.lexsort([weights, keys, codes])
    first = np.ones(len(order), bool)  # of equal rows
    first[1:] = (np.diff(codes[order]) != 0) | (np.diff(keys[order]) != 0)
    counts = np.diff(np.append(np.flatnonzero(first), len(codes))).astype(np.float64)
    if not (counts > 1).any():
        return order, first
    kind, classes = np.cumsum(first) - 1, codes[order[first]]
    if schema.is_single and schema.family.summary.takes == "documents":
        copied = _copied_texts(keys[order[first]], classes, counts)[kind]
    else:
        copied = _copied(schema, X, keys, order[first], classes, counts)[kind]
    return order, first | ~copied


def _copied_texts(keys: UInt64, y: Int64, counts: Float64) -> npt.NDArray[np.bool_]:
    """Which documents of one class each, that are there so often, are copies: they do not recur."""
    texts, place = np.unique(keys, return_inverse=True)
    whole = np.bincount(place, counts, len(texts)).astype(np.float64)
    return ~recur_among(place, y, counts, whole)[place]


def _copied(
    schema: Schema, X: Data, keys: UInt64, rows: Int64, y: Int64, counts: Float64
) -> npt.NDArray[np.bool_]:
    """Which of some rows of one class each, that are there so often, are duplicates."""
    _, at, place = np.unique(keys[rows], return_index=True, return_inverse=True)
    columns, levels = [], list[Levels]()
    for codes, known in _columns(schema, X, rows[at]):
        columns.append(codes)
        levels.append(known)
    return duplicated(np.column_stack(columns), levels, y, place, counts, int(y.max()) + 1)


def _columns(schema: Schema, X: Data, rows: Int64) -> Iterator[tuple[Int64, Levels]]:
    """(codes, levels) of the columns of some rows; of very many columns some."""
    for part, own in zip(schema.parts, [X] if schema.is_single else X.parts, strict=True):
        few = own[rows]
        if part.summary.takes == "documents":
            keys = _document_keys(part.summary, few)
            known, codes = np.unique(keys, return_inverse=True)
            yield codes, np.arange(len(known)).astype(TEXT)
            continue
        columns = np.arange(few.shape[1])
        if len(columns) > COMPARED:
            step = -(-len(columns) // COMPARED)
            columns = _fullest(few) if is_sparse(few) else columns[::step]
        some = encoded(few[:, columns]) if not isinstance(few, Encoded) else few[:, columns]
        yield from zip(some.codes.T.astype(np.int64), some.levels, strict=True)


def _fullest(X: Any) -> Int64:
    """The columns of a CSR matrix in which most rows have something."""
    often = np.bincount(X.indices, minlength=X.shape[1])
    return np.sort(np.argsort(-often, kind="stable")[:COMPARED])


def assign_equal_rows(keys: Any, codes: Int64) -> Int64:
    """The part of each row, (n,), from 0 to below `DECISIONS`; -1 of rows that all models learn.

    Rows of a class that are alike are in one part, so that none is judged by its copy; the others
    are dealt in turn, in the order of their hashes. Whatever is left out, each class is learned.

    Parameters
    ----------
    keys : (n,) a hash of what is in each row.
    codes : (n,) its class.
    """
    different, place = np.unique(np.stack([codes.astype(np.uint64), keys]), axis=1,
                                 return_inverse=True)  # fmt: skip
    of = different[0].astype(np.int64)
    part = np.arange(len(of)) % DECISIONS
    part[np.bincount(of)[of] < 2] = -1  # the only one of its class
    return part[place.reshape(-1)]


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
