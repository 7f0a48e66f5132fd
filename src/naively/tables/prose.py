"""Columns of text: which they are, and the documents that they hold."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from naively.tables.values import flat, is_number, is_text, level_texts, numbers
from naively.text.documents import Documents

PROSE, PROSE_ROWS = 6, 1000  # words a value on average, of the first values


def documents(column: pa.Array | pa.ChunkedArray, missing: Collection[str]) -> Documents:
    """A column as documents; those that are but a spelling of a missing value are missing."""
    kind = column.type
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if not (is_text(kind) or types.is_binary(kind) or types.is_large_binary(kind)):
        places, texts = level_texts(flat(column), ())
        column = pa.array([*texts, None], pa.string()).take(pa.array(places))
    found = Documents.of(column)
    valid = np.ones(len(found), bool) if found.valid is None else found.valid.copy()
    longest = 4 * max(map(len, missing), default=0)
    for i in np.flatnonzero(valid & (np.diff(found.offsets) <= longest)).tolist():
        valid[i] = found.text(i).strip() not in missing
    return found.where(valid)


def check_text(name: str, column: pa.Array | pa.ChunkedArray, missing: Collection[str]) -> None:
    """Raise ValueError if a column that is named as text holds something else."""
    first = flat(column.slice(0, PROSE_ROWS))
    kind = first.type.value_type if pa.types.is_dictionary(first.type) else first.type
    held = ""
    if pa.types.is_boolean(kind):
        held = "true and false"
    elif pa.types.is_temporal(kind):
        held = "dates or times"
    elif is_text(kind) or is_number(kind):
        read = numbers(first, missing)
        whole = np.isfinite(read.values).any() and not (read.invalid.any() or read.truths)
        held = "numbers" if whole else ""
    elif pa.types.is_nested(kind):
        held = str(kind)
    if held:
        raise ValueError(f"column {name!r} was named as text, and holds {held}")


def is_prose(column: pa.Array | pa.ChunkedArray, missing: Collection[str]) -> bool:
    """Whether a column holds text of some length, as its first thousand values go."""
    first = flat(column.slice(0, PROSE_ROWS))
    kind = first.type.value_type if pa.types.is_dictionary(first.type) else first.type
    if not is_text(kind):
        return False
    texts = [text for text in first.to_pylist() if text and text.strip() not in missing]
    words = sum(len(text.split()) for text in texts)
    return words >= PROSE * len(texts) > 0 and len(set(texts)) > 0.5 * len(texts)
