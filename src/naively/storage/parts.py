"""Encode and decode the named parts of a model, which a file stores beside their sum."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from naively.statistics.base import Arrays

REST = ""  # name of the part of all rows without a named part
WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True)
class Part:
    """A part of a model, stored as bytes. `naively.storage.named_parts.model_of` reads it.

    content : the model of its rows alone, from `naively.storage.model_files.to_bytes`.
    changed : UTC time of the last change, such as 2026-11-22T23:42:40Z.
    """

    content: bytes
    rows: int
    changed: str


def utc_now() -> str:
    """Return the current UTC time in the format of model files."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def encode_parts(parts: Mapping[str, Part], arrays: Arrays) -> list[Any]:
    """Return the parts as JSON, and add their contents to `arrays`."""
    names = sorted(parts)
    for k, name in enumerate(names):
        arrays[f"part.{k}"] = np.frombuffer(parts[name].content, np.uint8)
    return [[name, parts[name].rows, parts[name].changed] for name in names]


def decode_parts(encoded: Any, arrays: Arrays, rows: int) -> dict[str, Part]:
    """Decode the parts of a model with `rows` rows. Their contents are not read yet.

    Raises ValueError if the parts are invalid; the message says why.
    """
    if not isinstance(encoded, list):
        raise ValueError("its parts are no list")
    parts: dict[str, Part] = {}
    for k, entry in enumerate(encoded):
        match entry:
            case [str(name), n_rows, str(changed)] if (
                type(n_rows) is int and n_rows >= 0 and WHEN.fullmatch(changed)
            ):
                content = arrays.get(f"part.{k}")
            case _:
                raise ValueError("a part of it has no name, rows and time")
        if content is None or content.dtype != np.uint8 or content.ndim != 1:
            raise ValueError(f"there is nothing that its part {name!r} learned")
        parts[name] = Part(content.tobytes(), n_rows, changed)
    if list(parts) != sorted(parts) or len(parts) < len(encoded):
        raise ValueError("the names of its parts are not sorted and distinct")
    if parts and sum(part.rows for part in parts.values()) != rows:
        raise ValueError("the rows of its parts do not add up to those of the model")
    return parts
