"""Labels as people hold them: lists for each row, or a matrix of 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_matrix, issparse

from naively.estimators.validation import refuse_masked
from naively.label_sets import LabelSets


def label_sets(y: Any, n_rows: int) -> tuple[LabelSets, bool]:
    """(the labels of each row, whether they were a matrix).

    Raises
    ------
    ValueError : saying what is wrong with y and where.
    """
    if y is None:
        raise ValueError("MultilabelNB requires y to be passed, but the target y is None")
    refuse_masked("y", y)
    if issparse(y) or len(getattr(y, "shape", ())) == 2:
        found = _of_matrix(y)
        if hasattr(y, "columns"):
            found = _named(found, [*y.columns])
    else:
        found = LabelSets.of_lists(_cells(y))
    if len(found) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} "
            f"documents, y has {len(found)}"
        )
    return found, issparse(y) or len(getattr(y, "shape", ())) == 2


def _of_matrix(y: Any) -> LabelSets:
    """What an indicator matrix says."""
    sparse = issparse(y)
    matrix: Any = csr_matrix(y) if sparse else np.asarray(y)
    values: Any = matrix.data if sparse else matrix
    try:
        strange = ~np.isin(values.astype(np.float64), (0.0, 1.0))
    except (TypeError, ValueError):
        strange = np.ones(values.shape, np.bool_)
    if strange.any():
        where = ""
        if not sparse:
            row, column = np.argwhere(strange)[0].tolist()
            where = f" in row {row}, column {column}"
        first = values[strange].ravel()[0]
        raise ValueError(f"y holds {first!r}{where}, where an indicator matrix is of 0 and 1")
    labels = np.arange(matrix.shape[1], dtype=np.int64)
    if not sparse:
        return LabelSets.of_indicator(labels, values.astype(np.float64) == 1.0)
    matrix = matrix.astype(np.float64)  # a copy
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return LabelSets(labels, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64))


def _named(sets: LabelSets, columns: list[Any]) -> LabelSets:
    """The labels of a matrix whose columns have names, which are the labels; ValueError if not."""
    if len({*columns}) < len(columns) or len({isinstance(name, str) for name in columns}) > 1:
        raise ValueError(f"the columns of y are labels, and must be different: {columns}")
    labels = LabelSets.of_lists([columns], "the frame y").labels
    place = {name: k for k, name in enumerate(columns)}
    order = [place[label] for label in labels.tolist()]
    return LabelSets.of_indicator(labels, sets.indicator()[:, order])


def _cells(y: Any) -> list[Any]:
    """A list of labels for each row."""
    if isinstance(y, pa.Array | pa.ChunkedArray):
        y = y.to_pylist()
    elif hasattr(y, "to_list"):
        y = y.to_list()
    elif isinstance(y, str | bytes | Mapping) or not hasattr(y, "__iter__"):
        raise ValueError(f"y must hold a list of labels for each document, not {y!r}")
    rows = list(y)
    for row, own in enumerate(rows):
        if isinstance(own, list | tuple | set | frozenset):
            continue
        if isinstance(own, np.ndarray) and own.ndim == 1:
            continue
        missing = own is None or (isinstance(own, float) and own != own)
        if missing:
            raise ValueError(
                f"the labels of row {row} are missing: write [] for a document that has none"
            )
        raise ValueError(
            f"row {row} of y is {own!r}, where each document has a list of labels, as "
            '["grain", "trade"]; text is to be split before'
        )
    return rows
