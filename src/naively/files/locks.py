"""Whose file it is just now, where the system can say so: not on Windows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform == "win32":
    fcntl = None
else:
    import fcntl

POSSIBLE = fcntl is not None


def take(file: int, wait: bool) -> None:
    """Lock an open file until it is closed, be it by the end of the process.

    Raises BlockingIOError if another process has it, and we do not wait; OSError if files cannot be
    locked here, as in some network folders.
    """
    fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


@contextmanager
def alone(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Keep others that use this too from a file until the end of the block; waits for them.

    The block may replace the file. The lock is on the file itself: nothing is left behind, whatever
    happens, and its folder may be read-only. A file that is not there yet is nobody's. `waiting` is
    called if others have it.
    """
    file = None
    if POSSIBLE and path.is_file():
        with suppress(OSError):  # no locks here: better to go on than to refuse
            try:
                file = taken(path, wait=False)
            except BlockingIOError:
                waiting()
                file = taken(path, wait=True)
    try:
        yield
    finally:
        if file is not None:
            os.close(file)


def taken(path: Path, wait: bool) -> int:
    """The file, open and locked; raises as `take` does."""
    while True:
        # some network folders lock only what is open for writing
        file = os.open(path, os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY)
        try:
            take(file, wait)
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # while we waited, another file took its place
