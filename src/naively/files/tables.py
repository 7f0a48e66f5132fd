"""The schema of a table model as JSON, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from naively.families.base import Family
from naively.files import checks
from naively.model import Model

if TYPE_CHECKING:  # the room of tables is loaded for models of tables alone
    from naively.tables.model import TableModel
    from naively.tables.schema import Schema


def encode_table(table: TableModel, families: list[dict[str, Any]]) -> dict[str, Any]:
    """All but the statistics of a table model; `families` are those of its blocks."""
    schema = table.schema
    return {
        "blocks": [
            {"family": family, "names": list(block.names)}
            for family, block in zip(families, schema.blocks, strict=True)
        ],
        "columns": [[name, why] for name, why in schema.why.items()],
        "missing": list(schema.missing),
        "target": table.target,
        "rows": table.rows,
        "unlabelled": table.unlabelled,
        "unfit": [[name, one.count, str(one.example)] for name, one in table.unfit.items()],
    }


def decode_table(document: dict[str, Any], family: Callable[[Any], Family]) -> Schema:
    """The schema.

    Raises
    ------
    ValueError : if it is none.
    """
    from naively.tables.schema import Block, Schema

    checks.expect(
        document,
        {
            "blocks": list, "columns": list, "missing": list, "rows": int, "unlabelled": int,
            "unfit": list,
        },
    )  # fmt: skip
    if min(document["rows"], document["unlabelled"]) < 0:
        raise ValueError("it has a negative number of rows")
    blocks = []
    for one in document["blocks"]:
        checks.expect(one, {"family": dict, "names": list})
        _check_texts(one["names"])
        blocks.append(Block(family(one["family"]), tuple(one["names"])))
    for pair in document["columns"]:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError("a column of its table has no reason")
        _check_texts(pair)
    _check_texts(document["missing"])
    schema = Schema(tuple(blocks), dict(document["columns"]), tuple(document["missing"]))
    names = schema.names
    if len(set(names)) < len(names) or not set(names) <= schema.why.keys():
        raise ValueError("the columns of its blocks are not those of its table")
    return schema


def table_model(document: dict[str, Any], schema: Schema, model: Model) -> TableModel:
    """The table model of a schema and a model."""
    from naively.tables.model import TableModel
    from naively.tables.schema import Unfit

    unfit = {}
    for one in document["unfit"]:
        match one:
            case [str(name), int(count), str(example)]:
                unfit[name] = Unfit(count, example)
            case _:
                raise ValueError("its notes on values are damaged")
    target = document.get("target")
    if target is not None and not isinstance(target, str):
        raise ValueError("its target is no name")
    return TableModel(schema, model, document["rows"], document["unlabelled"], unfit, target)


def _check_texts(values: list[Any]) -> None:
    if not all(isinstance(value, str) for value in values):
        raise ValueError("the names in its table are not text")
