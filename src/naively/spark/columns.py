"""The columns of a Spark frame: which are learned from, and vectors as columns of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import types

from naively.tables.names import no_column

FOLDS = re.compile(r"(CrossValidator|TrainValidationSplit)_\w+_rand")
"""Columns that Spark adds while it tunes, and that are none of the data."""
NESTED = (types.ArrayType, types.MapType, types.StructType, types.UserDefinedType)
WIDEST = 4096
"""Entries of a vector, at most, that become columns."""


@dataclass(frozen=True)
class Columns:
    """The features of a frame.

    Attributes
    ----------
    names : of the columns.
    vectors : how many entries those have that are vectors, by name.
    """

    names: tuple[str, ...]
    vectors: dict[str, int]

    @property
    def features(self) -> list[str]:
        """What is learned from: the columns, with the entries of vectors in their places."""
        return [one for name in self.names for one in self._spread(name)]

    def _spread(self, name: str) -> list[str]:
        if name not in self.vectors:
            return [name]
        return [f"{name}[{k}]" for k in range(self.vectors[name])]

    def unpacked(self, batch: Any) -> Any:
        """The batch, or table, with columns of numbers in the place of vectors, and times in UTC.

        In which time zone a session shows instants does not matter then.

        Raises
        ------
        ValueError : if a vector has another number of entries than was agreed.
        """
        arrays: list[Any] = []
        names: list[str] = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name in self.vectors:
                arrays += _entries(name, column, self.vectors[name])
                names += self._spread(name)
            else:
                arrays.append(_in_utc(column))
                names.append(name)
        return type(batch).from_arrays(arrays, names=names)


class Unpacking:
    """Counts batches of a frame whose vectors are unpacked first."""

    def __init__(self, columns: Columns, count: Any) -> None:
        self.columns, self.count = columns, count

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> bytes | None:
        """What was counted."""
        found: bytes | None = self.count(map(self.columns.unpacked, batches))
        return found


def learnable(
    frame: Any, target: str, features: Sequence[str] | None, weight: str | None
) -> Columns:
    """The columns of a frame to learn from; by default all but the target and the weight.

    Raises
    ------
    ValueError : naming a column that is not there, or cannot be learned from.
    """
    for name in filter(None, (target, weight, *(features or ()))):
        if name not in frame.columns:
            raise ValueError(no_column(name, frame.columns))
    indexed = frame.schema[target].metadata.get("ml_attr", {})
    if features is None and indexed.get("type") == "nominal":
        raise ValueError(
            f"the target {target!r} was made of another column by a StringIndexer: name the "
            "`features`, so that this column is none of them"
        )
    if features is None:
        features = [
            name for name in frame.columns
            if name not in (target, weight) and not FOLDS.fullmatch(name)
        ]  # fmt: skip
    elif target in features or weight in features:
        raise ValueError("the target and the weight cannot be among the features")
    return taken(frame, features)


def taken(frame: Any, names: Sequence[str], known: dict[str, int] | None = None) -> Columns:
    """These columns of a frame.

    Parameters
    ----------
    known : how many entries vectors have, by column; what the first ones have, if None.

    Raises
    ------
    ValueError : if one is nested, or a vector too long.
    """
    vectors = []
    for name in names:
        kind = frame.schema[name].dataType
        if isinstance(kind, VectorUDT):
            vectors.append(name)
        elif isinstance(kind, NESTED) or kind.typeName() == "variant":
            raise ValueError(
                f"column {name!r} holds {kind.simpleString()}, and no plain values: select what is "
                "in it as columns of their own, or name other `features`"
            )
    if known is None:
        known = {name: _width(frame, name) for name in vectors}
    elif known.keys() != {*vectors}:
        odd = min(known.keys() ^ {*vectors})
        raise ValueError(f"column {odd!r} is of vectors either here or where it was learned")
    return Columns(tuple(names), known)


def quoted(name: str) -> str:
    """The name of a column as Spark takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _width(frame: Any, name: str) -> int:
    """How many entries the vectors of a column have."""
    own = quoted(name)
    first = frame.select(own).where(f"{own} is not null").first()
    width = 0 if first is None else len(first[0])
    if width > WIDEST:
        raise ValueError(
            f"column {name!r} holds vectors of {width:,} entries, where at most {WIDEST:,} can be "
            "columns; name the columns that they were made of as `features`, such as the text"
        )
    return width


def _entries(name: str, column: Any, width: int) -> Iterable[pa.Array]:
    """A column of numbers for each entry of vectors, which Spark stores dense or sparse."""
    table = np.full((width, len(column)), np.nan)
    for row, vector in enumerate(column.to_pylist()):
        if vector is None:
            continue
        dense = vector["type"] == 1
        if (len(vector["values"]) if dense else vector["size"]) != width:
            raise ValueError(f"column {name!r} holds vectors of different lengths")
        if dense:
            table[:, row] = vector["values"]
        else:
            table[:, row] = 0.0
            table[vector["indices"], row] = vector["values"]
    return [pa.array(entries, from_pandas=False) for entries in table]


def _in_utc(column: Any) -> Any:
    kind = column.type
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return column.cast(pa.timestamp(kind.unit, "UTC")) if zoned else column
