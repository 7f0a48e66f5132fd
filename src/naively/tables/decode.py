"""Rows of a model's blocks as the columns that people know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from naively.families.bernoulli import Bernoulli
from naively.families.levels import Encoded
from naively.families.product import Blocks
from naively.tables.schema import Schema
from naively.text.documents import Documents


def to_columns(rows: Blocks, schema: Schema) -> pa.Table:
    """A table of these rows, with its columns in the order of the schema."""
    columns: dict[str, Any] = {}
    for block, part in zip(schema.blocks, rows.parts, strict=True):
        for k, name in enumerate(block.names):
            if isinstance(part, Encoded):
                known = [*part.levels[k].tolist(), None]
                columns[name] = pa.array([known[code] for code in part.codes[:, k]], pa.string())
            elif isinstance(part, Documents):
                columns[name] = pa.array(list(part.texts()), pa.string())
            elif isinstance(block.family, Bernoulli) and schema.why[name] == "true or false":
                columns[name] = pa.array(np.asarray(part)[:, k] > 0)
            else:
                columns[name] = pa.array(np.asarray(part)[:, k], from_pandas=True)
    return pa.table({name: columns[name] for name in schema.ordered})
