"""What people pass to estimators of tables: tables of some kind, labels, weights, documents."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import column_or_1d

from naively.estimators.validation import refuse_masked
from naively.exact import Float64
from naively.invalid import MOST_WEIGHT
from naively.labels import check_whole
from naively.tables import values
from naively.tables.frames import SparseTable, is_named
from naively.tables.inputs import is_untyped
from naively.tables.names import no_column
from naively.tables.targets import LabelCodes, coded, label_column

MANY, FIRST = 100, 20
"""Rows that are equal to their labels, at least; and those that are looked at first."""
Kind = Literal["pandas", "polars", "dict", "numbers", "objects", "arrow"]
"""Frames, a dict of columns, arrays of numbers or of anything, and Arrow for all others."""


def apart(table: Any, y: Any) -> tuple[Any, Any]:
    """(the table without its target, the column of labels), as long as each other.

    Parameters
    ----------
    y : (n,) labels, or the name of the column that has them.

    Raises
    ------
    ValueError : if one of them has no rows, or there is no such column.
    """
    if isinstance(y, str):
        if y not in table.column_names:
            raise ValueError(
                f"y names {y!r}, which is no column of X: {no_column(y, table.column_names)}"
            )
        column = values.flat(table.column(y))
        if is_untyped(table.schema.field(y)):  # blanks about a field are none of a label
            column = values.trimmed(column)
        table = table.drop_columns([y])
    else:
        if getattr(y, "ndim", 1) == 2:
            refuse_masked("y", y)
            y = column_or_1d(y, warn=True)
        column = label_column(y)
    if len(table.column_names) == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape=({len(column)}, 0)) while a minimum of "
            "1 is required."
        )
    if len(column) != table.num_rows:
        raise ValueError(f"X has {table.num_rows} rows, y has {len(column)}")
    if table.num_rows == 0:
        raise ValueError("X has no rows: Found array with 0 sample(s)")
    return table, column


def labels_of(column: pa.Array | pa.ChunkedArray, missing: Collection[str]) -> LabelCodes:
    """The labels in a column, which may lack some.

    Raises
    ------
    ValueError : for numbers that can be no labels.
    """
    labels = coded(values.flat(column), missing)
    if labels[0].dtype.kind == "f" and np.isinf(labels[0]).any():
        raise ValueError("Input y contains infinity: no label can be infinite")
    check_whole(labels[0])
    return labels


def target_within(table: pa.Table, labels: LabelCodes, name: Any) -> str | None:
    """The column of X that holds the labels themselves, in every row; None if none does.

    Parameters
    ----------
    labels : of the rows.
    name : of y, as frames have it. Of a column of this name a few rows are enough.
    """
    if isinstance(table, SparseTable) or len(table.column_names) < 2:
        return None
    classes, codes = labels
    named = [*(values.level_text(label, ()) for label in classes.tolist()), None]
    first = [named[code] for code in codes[:FIRST].tolist()]
    for k, found in enumerate(table.column_names):
        if found != name and table.num_rows < MANY:
            continue
        column = table.column(k)
        if _texts(column.slice(0, FIRST)) == first and (
            _texts(column) == [named[code] for code in codes.tolist()]
        ):
            return found
    return None


def _texts(column: pa.Array | pa.ChunkedArray) -> list[str | None]:
    """Values as the text of levels."""
    places, texts = values.level_texts(values.flat(column), ())
    texts.append(None)  # where the code of a missing value is
    return [texts[place] for place in places.tolist()]


def check_weights_of(sample_weight: Any, rows: int) -> Float64 | None:
    """Weights of so many rows, from 0 to `MOST_WEIGHT`; or None.

    Raises
    ------
    ValueError : saying what is wrong and where.
    """
    if sample_weight is None:
        return None
    refuse_masked("sample_weight", sample_weight)
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (rows,):
        raise ValueError(f"sample_weight must be of shape ({rows},), not {weights.shape}")
    bad = ~((weights >= 0) & (weights <= MOST_WEIGHT))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"sample_weight must be from 0 to {MOST_WEIGHT:g}: row {row} weighs {weights[row]:g}"
        )
    return weights


def is_flat(X: Any) -> bool:
    """Whether something is a sequence of values rather than a table."""
    if isinstance(X, list | tuple):
        return all(isinstance(value, str | bytes | None) for value in X)
    return getattr(X, "ndim", 2) == 1 or isinstance(X, pa.Array | pa.ChunkedArray)


def kind_of(X: Any, table: pa.Table | SparseTable) -> Kind:
    """The kind of X, which is this table, so that rows drawn from a model are of the same kind."""
    package = type(X).__module__.partition(".")[0]
    if package == "pandas" or package == "polars":
        return "pandas" if package == "pandas" else "polars"
    if isinstance(X, Mapping):
        return "dict"
    if is_named(X):
        return "arrow"
    numeric = isinstance(table, SparseTable) or all(map(values.is_number, table.schema.types))
    return "numbers" if numeric else "objects"


def as_kind(table: pa.Table, kind: str) -> Any:
    """The rows of a table as another kind; the levels of an array of numbers are numbers."""
    match kind:
        case "pandas":
            return table.to_pandas()
        case "polars":
            import polars

            return polars.from_arrow(table)
        case "dict":
            return table.to_pydict()
        case "numbers":
            return np.column_stack([column.cast(pa.float64()) for column in table.columns])
        case "objects":
            return np.array([column.to_pylist() for column in table.columns], object).T
    return table
