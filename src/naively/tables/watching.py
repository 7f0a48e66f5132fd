"""A folder in which files appear: which of them are whole."""

from __future__ import annotations

import os
import re
from pathlib import Path

UNFINISHED = re.compile(
    r"-|[._].*|.*(~|\.(tmp|temp|part|partial|crdownload|download|swp|filepart))", re.I
)
"""Names of files that somebody is still writing, or that are none of the data."""

Look = tuple[int, int, int]
"""(inode, bytes, time of the last change) of a file: equal as long as nobody writes it."""


class Folder:
    """The files of a folder that are not being written any more.

    A file is whole once two looks at it, some time apart, found it the same. Files that are hidden,
    empty or have a temporary name are no data, and neither are folders.

    Parameters
    ----------
    path : of the folder.
    other : a file that may be there and is no data.
    """

    def __init__(self, path: Path, other: Path) -> None:
        self.path, self.other = path, other
        self._looks: dict[str, Look] = {}
        self._done: dict[str, Look] = {}

    def look(self) -> list[tuple[Path, Look]]:
        """Files that did not change since the last look, and are not done, by name."""
        before, self._looks = self._looks, self._now()
        return [
            (self.path / name, look)
            for name, look in sorted(self._looks.items())
            if before.get(name) == look and self._done.get(name) != look
        ]

    def done(self, path: Path, look: Look) -> None:
        """Leave a file alone until it changes."""
        self._done[path.name] = look

    def waits(self) -> bool:
        """Whether the last look found files that may not be whole yet."""
        return any(self._done.get(name) != look for name, look in self._looks.items())

    def _now(self) -> dict[str, Look]:
        found = {}
        with os.scandir(self.path) as inside:
            for one in inside:
                if UNFINISHED.fullmatch(one.name):
                    continue
                path = Path(one.path)
                look = look_at(path)
                if look is None or look[1] == 0:
                    continue
                if not (self.other.exists() and self.other.samefile(path)):
                    found[one.name] = look
        return found


def look_at(path: Path) -> Look | None:
    """How a file is now; None if there is no file."""
    try:
        if not path.is_file():
            return None
        info = path.stat()
    except OSError:  # it went away, or may not be looked at
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns
