"""The schema of a model as JSON, and back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

from naively import __version__
from naively.families.base import AnyFamily
from naively.families.inferred import Inferred
from naively.families.registry import FAMILIES
from naively.files import checks
from naively.files.encoding import encode, hyperparameters
from naively.invalid import Invalid
from naively.schema import Block, ColumnNumbers, ColumnType, Schema, Why, WhyKind
from naively.statistics.base import Arrays


def encode_schema(schema: Schema, arrays: Arrays) -> dict[str, Any]:
    """The blocks, each with its family and columns, and why."""
    reasons = schema.reasons
    return {
        "blocks": [
            {"family": encode_family(block.family, arrays), "names": _names(block)}
            for block in schema.blocks
        ],
        "columns": reasons and [[name, one.text, one.kind] for name, one in reasons.items()],
        "missing": list(schema.missing),
        "types": dict(schema.types),
    }


def _names(block: Block) -> Any:
    """The names of the columns; how many they are if they have none."""
    numbered = isinstance(block.names, ColumnNumbers)
    return len(block.names) if numbered else list(block.names)


def decode_schema(document: Any, arrays: Arrays) -> Schema:
    """The schema. Raises ValueError if it is none."""
    checks.expect(document, {"blocks": list, "missing": list, "types": dict})
    checks.texts(document["missing"], "its spellings of a missing value")
    blocks, columns = [], document.get("columns")
    for one in document["blocks"]:
        checks.expect(one, {"family": dict})
        names: Any = one.get("names")
        if columns is None and type(names) is int and len(document["blocks"]) == 1:
            names = ColumnNumbers(checks.feature_count(names))
        else:
            checks.texts(names, "its feature names")
            names = tuple(names)
            if not names or len(set(names)) < len(names):
                raise ValueError("the columns of a block are none, or not different ones")
        blocks.append(Block(_family(one["family"], arrays), names))
    if not blocks:
        raise ValueError("it has no blocks of columns")
    reasons = None if columns is None else _reasons(columns)
    types = _types(document["types"])
    schema = Schema(tuple(blocks), reasons, tuple(document["missing"]), types)
    if reasons is not None and not set(schema.names) <= reasons.keys():
        raise ValueError("the columns of its blocks are not those of its table")
    return schema


def _types(document: dict[Any, Any]) -> dict[str, ColumnType]:
    """The declared types of columns."""
    kinds = get_args(ColumnType)
    if not all(kind in kinds for kind in document.values()) or [*document] != sorted(document):
        raise ValueError("the declared types of its columns are none")
    return document


def _reasons(columns: Any) -> dict[str, Why]:
    """Why each column has its family."""
    if not isinstance(columns, list):
        raise ValueError("its columns are no list")
    found = {}
    for one in columns:
        match one:
            case [str(name), str(text), str(kind)] if kind in get_args(WhyKind):
                found[name] = Why(text, kind)  # type: ignore[arg-type]
            case _:
                raise ValueError("a column of its table has no reason")
    return found


def encode_family(family: AnyFamily, arrays: Arrays) -> dict[str, Any]:
    """The name of a family and its hyperparameters."""
    known: Any = family
    return {
        "name": family.name,
        **{one.name: encode(getattr(family, one.name), arrays) for one in fields(known)},
    }


def _family(encoded: dict[str, Any], arrays: Arrays) -> AnyFamily:
    name = str(encoded.get("name"))
    if name == Inferred.name:
        values = {key: value for key, value in encoded.items() if key != "name"}
        return hyperparameters(Inferred, values, arrays)
    if name not in FAMILIES:
        raise ValueError(f"naively {__version__} knows no family {name!r}")
    values = {key: value for key, value in encoded.items() if key != "name"}
    return hyperparameters(FAMILIES[name], values, arrays)


def encode_invalid(invalid: dict[str, Invalid]) -> list[Any]:
    """Notes on values that columns could not take."""
    return [[name, one.count, str(one.example)] for name, one in invalid.items()]


def decode_invalid(encoded: list[Any]) -> dict[str, Invalid]:
    """The same notes. Raises ValueError if they are none."""
    found = {}
    for one in encoded:
        match one:
            case [str(name), int(count), str(example)]:
                found[name] = Invalid(count, example)
            case _:
                raise ValueError("its notes on values are damaged")
    return found
