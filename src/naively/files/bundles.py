"""Notes, bytes and tables in one file, whole or not at all: what a checkpoint consists of.

Its owner alone can read it, as it holds rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from safetensors import SafetensorError
from safetensors.numpy import load as tensors_of
from safetensors.numpy import save as bytes_of

from naively.files.atomic import replacing

KEY = "naively checkpoint"


class BundleError(ValueError):
    """A file that is no such bundle, or a damaged one."""


def write(path: Path, notes: dict[str, Any], parts: Mapping[str, bytes]) -> None:
    """Write a file; OSError if that cannot be, then an old one stays as it was.

    Parameters
    ----------
    notes : what JSON can hold.
    parts : bytes by name.
    """
    text = json.dumps(notes, sort_keys=True, allow_nan=False)
    arrays = {name: np.frombuffer(part, np.uint8) for name, part in parts.items()}
    content = bytes_of(arrays, {KEY: text, "checksum": _checksum(text, parts)})
    with replacing(path, private=True) as temporary:
        temporary.write_bytes(content)


def read(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """(notes, parts) of a file.

    Raises
    ------
    BundleError : if it is another file, or a damaged one.
    OSError : if it cannot be read.
    """
    content = path.read_bytes()
    try:
        parts = {name: array.tobytes() for name, array in tensors_of(content).items()}
        size = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + size]).get("__metadata__") or {}
        text, checksum = metadata[KEY], metadata["checksum"]
        if checksum != _checksum(text, parts):
            raise BundleError(f"{path} is damaged: its checksum is wrong")
        return json.loads(text), parts
    except (SafetensorError, TypeError, KeyError, AttributeError, json.JSONDecodeError) as error:
        raise BundleError(f"{path} is no checkpoint of naively, or a damaged one") from error


def _checksum(text: str, parts: Mapping[str, bytes]) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name, part in sorted(parts.items()):
        digest.update(f"{name} {len(part)}\n".encode())
        digest.update(part)
    return digest.hexdigest()


# ---- tables ----------------------------------------------------------------------------------


def table_to_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def tables_to_bytes(tables: Sequence[pa.Table]) -> tuple[list[int], list[bytes]]:
    """(rows of each table, the bytes of those that follow each other and have equal columns)."""
    found = []
    for _, group in groupby(tables, lambda one: one.schema.to_string(show_field_metadata=True)):
        found.append(table_to_bytes(pa.concat_tables(group)))
    return [table.num_rows for table in tables], found


def tables_of(sizes: Sequence[int], content: Sequence[bytes]) -> list[pa.Table]:
    """The tables that `tables_to_bytes` made bytes of."""
    found, left = [], list(sizes)
    for one in content:
        together, at = pa.ipc.open_stream(one).read_all(), 0
        while at < together.num_rows:
            found.append(together.slice(at, left[0]))
            at += left.pop(0)
    return found
