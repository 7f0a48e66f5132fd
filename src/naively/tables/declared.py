"""What the source of a table declares of its columns, and what becomes of it in a model.

Arrow's dictionaries declare a column categorical, whatever its values look like: so do pandas'
categories, the Enum and Categorical of polars, the ENUM of a database and nominal columns of ARFF.
In a model, declared once is declared: whichever of its batches or files declares a column, in
whatever order they are learned, the column is categorical.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from naively.schema import ColumnType, Schema
from naively.tables import prose
from naively.tables.frames import SparseTable
from naively.tables.inputs import is_declared


def declared_types(
    table: pa.Table | SparseTable, names: Collection[str], missing: Collection[str]
) -> dict[str, ColumnType]:
    """The declared types of some columns; those of a matrix have none.

    Long texts, mostly different, are text: their dictionary is a compression, and no category.
    """
    if isinstance(table, SparseTable):
        return {}
    return {
        field.name: "categorical"
        for k, field in enumerate(table.schema)
        if is_declared(field) and field.name in names
        and not prose.is_prose(table.column(k), missing)
    }  # fmt: skip


def declared_by_user(
    categorical: Collection[str], numeric: Collection[str]
) -> dict[str, ColumnType]:
    """The types of columns that are named.

    Raises
    ------
    ValueError : if these are no lists of names, or a column is in both.
    """
    found: dict[str, ColumnType] = {}
    kinds: tuple[tuple[ColumnType, Collection[str]], ...] = (
        ("categorical", categorical), ("numeric", numeric)
    )  # fmt: skip
    for kind, names in kinds:
        listed = isinstance(names, Collection) and not isinstance(names, str)
        if not listed or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{kind} is a list of names of columns, as ['zip'], not {names!r}")
        for name in names:
            if found.setdefault(name, kind) != kind:
                raise ValueError(f"column {name!r} cannot be both categorical and numeric")
    return found


def declaring(schema: Schema, table: pa.Table | SparseTable) -> Schema:
    """The schema of a model that learns these rows: with what they declare.

    Raises
    ------
    ValueError : if a column was counted as numbers before, which no categories can be had from.
    """
    types: dict[str, ColumnType] = {}
    for name, kind in declared_types(table, schema.known, schema.missing).items():
        family, why = schema.known[name], schema.reason(name).kind
        takes = family.summary.takes
        if name in schema.types or why in ("asked", "array") or takes == "documents":
            continue  # the user said otherwise
        if takes == "numbers":
            raise ValueError(
                f"column {name!r} is declared categorical here, and was learned as {family.name}: "
                f"declare it in the first rows too, or name it: categorical=[{name!r}], "
                f"--categorical {name}"
            )
        types[name] = kind
    return schema.declaring(types)
