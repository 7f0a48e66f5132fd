"""Write-ahead log of the changes of a served model since its file was written.

The log starts with a mark that names the model file it continues. Then come frames, one for each
group of changes that is committed together. An incomplete frame at the end is dropped, because its
changes were never acknowledged::

    head:   naively log 1, newline, mark (16 bytes)
    frame:  mark (16 bytes), length of the payload (8 bytes), digest (16 bytes), payload
    payload: for each change, two lengths (4 and 8 bytes), its description as JSON, its rows

The log holds personal data: only its owner can read it.

The mark is random, so that rows do not contain it, and it starts each frame. If it occurs after a
damaged frame, that frame was not the last one, and acknowledged changes are lost.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from naively.storage.atomic import PRIVATE, replacing, settle

MAGIC = b"naively log 1\n"
MARK = 16
HEAD = len(MAGIC) + MARK
LENGTH = struct.Struct("<Q")
LENGTHS = struct.Struct("<IQ")
DIGEST = 16
FRAME = MARK + LENGTH.size + DIGEST


class LogError(ValueError):
    """A log that is damaged, or belongs to another model."""


@dataclass(frozen=True)
class Entry:
    """A change of a model."""

    description: dict[str, Any]  # its description, stored as JSON
    rows: bytes = b""  # a table as an Arrow stream; empty if there is none


def path_of(model: Path) -> Path:
    """The path of a model file's log, beside the file (links are resolved)."""
    model = Path(os.path.realpath(model))
    return model.with_name(f"{model.name}.log")


def begin(path: Path, mark: bytes, entries: Sequence[Entry] = ()) -> None:
    """Replace the log by a new one, and wait until it is on disk.

    Raises OSError if it cannot be written; then the old log stays.
    """
    with replacing(path, private=True) as temporary:
        temporary.write_bytes(MAGIC + mark + (_frame(mark, entries) if entries else b""))
    settle(path.parent)


def read(path: Path) -> tuple[bytes, list[Entry], int]:
    """(the mark of a log, its entries, the number of valid bytes: the rest is incomplete).

    Raises LogError if it is not a log, or a damaged frame is followed by others; OSError if it
    cannot be read.
    """
    data = path.read_bytes()
    if len(data) < HEAD or not data.startswith(MAGIC):
        raise LogError(f"{path} is not a log of `naively serve`")
    mark = data[len(MAGIC) : HEAD]
    entries: list[Entry] = []
    position = HEAD
    while (payload := _payload(data, position, mark)) is not None:
        entries += _entries(payload)
        position += FRAME + len(payload)
    if data.find(mark, position + 1) >= 0:
        raise LogError(
            f"{path} is damaged at byte {position + 1:,}, and more follows: the changes in it are "
            "lost. Restore the file; or move it away to continue without all of them"
        )
    return mark, entries, position


def holds_rows(model: Path) -> bool:
    """Whether there is a log beside a model file that holds rows, perhaps of an incomplete frame.

    Raises LogError if the log is damaged; OSError if it cannot be read.
    """
    path = path_of(model)
    with suppress(FileNotFoundError), path.open("rb") as file:
        if file.read(len(MAGIC)) == MAGIC:  # else a file of another program
            _, entries, size = read(path)
            return path.stat().st_size > size or any(entry.rows for entry in entries)
    return False


class Log:
    """A log that is open for writing.

    `size`: the number of its valid bytes; the rest is cut off.
    """

    def __init__(self, path: Path, mark: bytes, size: int) -> None:
        self.path, self.mark, self.size = path, mark, size
        with suppress(PermissionError):  # the file has another owner
            path.chmod(PRIVATE)
        self._file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        self._cut()

    def append(self, entries: Sequence[Entry]) -> None:
        """Add a frame, and wait until it is on disk.

        Raises OSError if it cannot be written; then nothing was added, unless `broken` is True.
        """
        frame = memoryview(_frame(self.mark, entries))
        try:
            os.lseek(self._file, self.size, os.SEEK_SET)
            written = 0
            while written < len(frame):
                written += os.write(self._file, frame[written:])
            os.fsync(self._file)
        except OSError:
            self.broken = True
            with suppress(OSError):
                self._cut()
                self.broken = False
            raise
        self.size += len(frame)

    broken = False
    """Whether the end of the file may be incomplete, so that nothing can be added any more."""

    def _cut(self) -> None:
        os.ftruncate(self._file, self.size)
        os.fsync(self._file)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _frame(mark: bytes, entries: Sequence[Entry]) -> bytes:
    parts = []
    for entry in entries:
        fields = json.dumps(entry.description, separators=(",", ":")).encode()
        parts += [LENGTHS.pack(len(fields), len(entry.rows)), fields, entry.rows]
    payload = b"".join(parts)
    length = LENGTH.pack(len(payload))
    return b"".join([mark, length, _digest(mark, length, payload), payload])


def _digest(mark: bytes, length: bytes, payload: bytes) -> bytes:
    return blake2b(length + payload, digest_size=DIGEST, key=mark).digest()


def _payload(data: bytes, at: int, mark: bytes) -> bytes | None:
    """The payload of the frame at this offset; None if there is no complete frame."""
    if len(data) - at < FRAME or data[at : at + MARK] != mark:
        return None
    length = data[at + MARK : at + MARK + LENGTH.size]
    payload = data[at + FRAME : at + FRAME + LENGTH.unpack(length)[0]]
    digest = data[at + FRAME - DIGEST : at + FRAME]
    return payload if digest == _digest(mark, length, payload) else None


def _entries(payload: bytes) -> Iterator[Entry]:
    position = 0
    while position < len(payload):
        fields_size, rows_size = LENGTHS.unpack_from(payload, position)
        position += LENGTHS.size
        yield Entry(
            json.loads(payload[position : position + fields_size]),
            payload[position + fields_size : position + fields_size + rows_size],
        )
        position += fields_size + rows_size
