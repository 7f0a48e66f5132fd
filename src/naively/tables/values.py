"""The values of an Arrow column, as families take them: numbers or levels."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from naively.exact import Float64
from naively.families.levels import Levels
from naively.text.documents import Documents

Codes = npt.NDArray[np.int32]
TEXT = np.dtypes.StringDType()
NUMBER = re.compile(r"[-+]?(?!0[0-9])([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
PROSE, PROSE_ROWS = 6, 1000  # words a value on average, of the first values
TRUTH = {"True", "TRUE", "False", "FALSE"}


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column in one piece, and of a type that all functions here take."""
    if isinstance(column, pa.ChunkedArray):
        if pa.types.is_dictionary(column.type):
            column = column.unify_dictionaries()
        column = column.combine_chunks()
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_string_view(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    return column


def numbers(column: pa.Array, missing: Collection[str]) -> tuple[Float64, list[Any]]:
    """(float64 values, NaN where missing or no number; distinct values that are no numbers)."""
    kind = column.type
    if pa.types.is_dictionary(kind) or is_text(kind):
        return _parsed(column, missing)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif pa.types.is_date32(kind) or pa.types.is_time32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_temporal(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_null(kind):
        return np.full(len(column), np.nan), []
    elif not is_number(kind):
        strangers = column.drop_null().slice(0, 1).to_pylist()
        return np.full(len(column), np.nan), strangers
    return column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False), []


def _parsed(column: pa.Array, missing: Collection[str]) -> tuple[Float64, list[Any]]:
    indices, values = dictionary(column)
    parsed = np.full(len(values) + 1, np.nan)
    strangers = []
    for k, value in enumerate(values):
        text = level_text(value, missing)
        if text is None:
            continue
        try:
            parsed[k] = float(text)
        except ValueError:
            strangers.append(text)
    return parsed[indices], strangers


def dictionary(column: pa.Array) -> tuple[npt.NDArray[Any], list[Any]]:
    """(position of each value in the list, the distinct values); null is beyond the list."""
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    if len(column.dictionary) > len(column):  # a slice of a column with more values
        column = pc.dictionary_encode(pa.array(column.to_pylist(), column.type.value_type))
    values = column.dictionary.to_pylist()
    indices = column.indices
    if indices.null_count:
        indices = pc.fill_null(indices.cast(pa.int32()), len(values))
    return indices.to_numpy(zero_copy_only=False), values


def level_text(value: Any, missing: Collection[str]) -> str | None:
    """A value as the text of a level, the same from whatever source; None if it is missing."""
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        return None if text in missing else _canonical(text)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value)


def _canonical(text: str) -> str:
    """1.50 as 1.5 and True as true, as they are where a column of them is read as such."""
    if NUMBER.fullmatch(text):
        if text.isdigit():
            return text
        value = float(text)
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return text.lower() if text in TRUTH else text


def levels(column: pa.Array, missing: Collection[str]) -> tuple[Codes, Levels]:
    """(position of each value among the levels, or their number if missing; sorted levels)."""
    indices, values = dictionary(column)
    texts = [level_text(value, missing) for value in values]
    known = np.array([text for text in texts if text is not None], TEXT)
    found, places = np.unique(known, return_inverse=True)
    remap = np.full(len(values) + 1, len(found), np.int32)
    remap[[k for k, text in enumerate(texts) if text is not None]] = places
    return remap[indices], found


def documents(column: pa.Array | pa.ChunkedArray, missing: Collection[str]) -> Documents:
    """A column as documents; those that are but a spelling of a missing value are missing."""
    kind = column.type
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if not (is_text(kind) or types.is_binary(kind) or types.is_large_binary(kind)):
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        column = pa.array([level_text(value, ()) for value in column.to_pylist()], pa.string())
    found = Documents.of(column)
    valid = np.ones(len(found), bool) if found.valid is None else found.valid.copy()
    longest = 4 * max(map(len, missing), default=0)
    for i in np.flatnonzero(valid & (np.diff(found.offsets) <= longest)).tolist():
        valid[i] = found.text(i).strip() not in missing
    return found.where(valid)


def prose(column: pa.Array) -> bool:
    """Whether a column holds text of some length, as its first thousand values go."""
    first = column.slice(0, PROSE_ROWS)
    kind = first.type.value_type if pa.types.is_dictionary(first.type) else first.type
    if not is_text(kind):
        return False
    texts = [text for text in first.to_pylist() if text is not None]
    words = sum(len(text.split()) for text in texts)
    return words >= PROSE * len(texts) > 0 and len(set(texts)) > 0.5 * len(texts)


def labels(column: pa.Array) -> tuple[npt.NDArray[Any], Codes]:
    """(sorted class labels with their type; code of each row, or their number if missing).

    Labels stay as they are written; null, NaN and empty text are missing.
    """
    indices, values = dictionary(column)
    if values and not isinstance(values[0], str | bool | int | float):
        values = [None if value is None else str(value) for value in values]
    present = [k for k, value in enumerate(values) if value not in (None, "") and value == value]
    found, places = np.unique(np.array([values[k] for k in present]), return_inverse=True)
    remap = np.full(len(values) + 1, len(found), np.int32)
    remap[present] = places
    return found, remap[indices]
