"""Which files a model has learned of those that it follows: noted in its own file.

So the model and the list of its files are written at once, or neither is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from naively.cli.errors import UserError

KEY = "followed"
"""Of the note in the model file."""

Version = tuple[int, str]
"""(bytes, their digest) of a file."""


@dataclass
class Followed:
    """What a model file notes for `naively follow`.

    Attributes
    ----------
    files : by name the versions that were learned, whatever folder they were in.
    since : rows since what was learned last lost weight.
    clock : when what was learned last lost weight, in seconds since 1970; 0 if never.
    """

    files: dict[str, list[Version]] = field(default_factory=dict)
    since: int = 0
    clock: float = 0.0

    @classmethod
    def of(cls, extra: dict[str, str], path: Path) -> Followed:
        """What the notes in a model file say; UserError if that cannot be."""
        if KEY not in extra:
            return cls()
        try:
            said = json.loads(extra[KEY])
            files = {
                str(name): [(int(size), str(digest)) for size, digest in versions]
                for name, versions in said["files"].items()
            }
            return cls(files, int(said["since"]), float(said["clock"]))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(f"{path}: its list of learned files is damaged: {error}") from None

    def note(self, extra: dict[str, str]) -> None:
        """Write it to the notes of a model."""
        extra[KEY] = json.dumps(vars(self), sort_keys=True)

    def has(self, name: str, version: Version) -> bool:
        """Whether a file was learned as it is."""
        return version in self.files.get(name, [])

    def add(self, name: str, version: Version) -> None:
        """Note that a file was learned."""
        self.files.setdefault(name, []).append(version)

    def grown(self, path: Path) -> bool:
        """Whether a file begins with a shorter one of its name that was learned."""
        size = path.stat().st_size
        return any(
            known < size and version_of(path, known) == (known, digest)
            for known, digest in self.files.get(path.name, [])
        )

    def namesake(self, version: Version) -> str | None:
        """Another file of the same content that was learned."""
        return next((name for name, known in self.files.items() if version in known), None)


def version_of(path: Path, size: int | None = None) -> Version:
    """(bytes, their digest) of a file, or of its beginning."""
    digest, read = hashlib.blake2b(digest_size=16), 0
    with path.open("rb") as file:
        while size is None or read < size:
            piece = file.read(1 << 20 if size is None else min(1 << 20, size - read))
            if not piece:
                break
            digest.update(piece)
            read += len(piece)
    return read, digest.hexdigest()


def joined(extras: Iterable[dict[str, str]], paths: Iterable[Path]) -> dict[str, str]:
    """The notes of a sum of models: those of the first, with the files that any of them learned."""
    extras = list(extras)
    total: dict[str, Any] = dict(extras[0])
    if any(KEY in extra for extra in extras):
        whole = Followed.of(extras[0], Path())
        for extra, path in zip(extras, paths, strict=True):
            for name, versions in Followed.of(extra, path).files.items():
                mine = whole.files.setdefault(name, [])
                mine += [one for one in versions if one not in mine]
        whole.note(total)
    return total
