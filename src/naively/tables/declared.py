"""Determine which columns a user or a source declares, and which hold long text."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from naively.io.frames import SparseTable
from naively.io.inputs import is_declared
from naively.model.schema import ColumnType, Schema
from naively.tables.values import flat, is_number, is_text, level_texts, numbers
from naively.text.documents import Documents


def declared_types(
    table: pa.Table | SparseTable, names: Collection[str], missing: Collection[str]
) -> dict[str, ColumnType]:
    """Return the types that a table declares for some columns; none for a sparse matrix.

    A dictionary of long, mostly different texts is a compression, and does not declare categories.
    """
    if isinstance(table, SparseTable):
        return {}
    return {
        field.name: "categorical"
        for k, field in enumerate(table.schema)
        if is_declared(field) and field.name in names
        and not is_prose(table.column(k), missing)
    }  # fmt: skip


def declared_by_user(
    categorical: Collection[str], numeric: Collection[str]
) -> dict[str, ColumnType]:
    """Return the types that a user declares.

    Raises ValueError if an argument is not a list of names, or a column is in both.
    """
    types: dict[str, ColumnType] = {}
    kinds: dict[ColumnType, Collection[str]] = {"categorical": categorical, "numeric": numeric}
    for kind, names in kinds.items():
        is_list = isinstance(names, Collection) and not isinstance(names, str)
        if not is_list or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{kind} is a list of names of columns, as ['zip'], not {names!r}")
        for name in names:
            if types.setdefault(name, kind) != kind:
                raise ValueError(f"column {name!r} cannot be both categorical and numeric")
    return types


def declaring(schema: Schema, table: pa.Table | SparseTable) -> Schema:
    """Return the schema with the types that these rows declare.

    Raises ValueError if a column was counted as numeric before: its sums have no categories.
    """
    types: dict[str, ColumnType] = {}
    for name, kind in declared_types(table, schema.family_of, schema.missing).items():
        family, reason_kind = schema.family_of[name], schema.reason(name).kind
        takes = family.summary.takes
        if name in schema.types or reason_kind in ("asked", "array") or family.summary.of_texts:
            continue  # the user's options take precedence
        if takes == "numbers":
            raise ValueError(
                f"column {name!r} is declared categorical here, and was trained as {family.name}: "
                f"declare it in the first rows too, or name it: categorical=[{name!r}], "
                f"--categorical {name}"
            )
        types[name] = kind
    return schema.declaring(types)


# ---- text columns --------------------------------------------------------------------------------


PROSE, PROSE_ROWS = 6, 1000  # minimum mean words per value, over the first 1000 values


def documents(column: pa.Array | pa.ChunkedArray, missing: Collection[str]) -> Documents:
    """Return a column as documents. Spellings of a missing value are missing documents."""
    types = pa.types
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if not (is_text(kind) or types.is_binary(kind) or types.is_large_binary(kind)):
        places, texts = level_texts(flat(column), ())
        column = pa.array([*texts, None], pa.string()).take(pa.array(places))
    texts_read = Documents.of(column)
    valid = np.ones(len(texts_read), bool) if texts_read.valid is None else texts_read.valid.copy()
    longest = 4 * max(map(len, missing), default=0)
    for i in np.flatnonzero(valid & (np.diff(texts_read.offsets) <= longest)).tolist():
        valid[i] = texts_read.text(i).strip() not in missing
    return texts_read.where(valid)


def check_text(name: str, column: pa.Array | pa.ChunkedArray, missing: Collection[str]) -> None:
    """Raise ValueError if a column that is named as text holds other values."""
    first = flat(column.slice(0, PROSE_ROWS))
    kind = first.type.value_type if pa.types.is_dictionary(first.type) else first.type
    content = ""
    if pa.types.is_boolean(kind):
        content = "true and false"
    elif pa.types.is_temporal(kind):
        content = "dates or times"
    elif is_text(kind) or is_number(kind):
        parsed = numbers(first, missing)
        is_invalid = parsed.invalid.any() or parsed.truths
        content = "numbers" if np.isfinite(parsed.values).any() and not is_invalid else ""
    elif pa.types.is_nested(kind):
        content = str(kind)
    if content:
        raise ValueError(f"column {name!r} was named as text, and holds {content}")


def is_prose(column: pa.Array | pa.ChunkedArray, missing: Collection[str]) -> bool:
    """Return whether a column holds long, mostly different texts, from its first 1000 values."""
    first = flat(column.slice(0, PROSE_ROWS))
    kind = first.type.value_type if pa.types.is_dictionary(first.type) else first.type
    if not is_text(kind):
        return False
    texts = [text for text in first.to_pylist() if text and text.strip() not in missing]
    words = sum(len(text.split()) for text in texts)
    return words >= PROSE * len(texts) > 0 and len(set(texts)) > 0.5 * len(texts)
