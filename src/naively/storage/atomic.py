"""Whose file it is just now, where the system can say so: not on Windows."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
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


# ---- atomic --------------------------------------------------------------------------------------


PRIVATE = stat.S_IRUSR | stat.S_IWUSR
"""The mode of files with rows of people: their owner alone reads and writes them."""
FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


@contextmanager
def replacing(
    path: str | os.PathLike[str], keep: Callable[[int], None] | None = None, private: bool = False
) -> Iterator[Path]:
    """A temporary file in the same folder, which takes the place of `path` if all goes well.

    If anything fails, the temporary file is removed and the old file stays as it was. What earlier
    writers of the same file left because they were killed is removed too.

    `keep` gets the new file, open and locked since before it was in its place, and has to close it.
    A `private` file can be read by its owner alone; others by whom the old one can be.

    Raises OSError if the file cannot be written; or if something there is no regular file.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is there already and is no regular file")
    _sweep(target)
    try:
        temporary, held = _begun(target, private)
    except OSError as error:
        raise _named(error, path) from None
    try:
        mode = (target if target.exists() and not private else temporary).stat().st_mode
        yield temporary
        with temporary.open("r+b") as written:
            os.fsync(written.fileno())
        temporary.chmod(stat.S_IMODE(mode))
        temporary.replace(target)
        if keep is not None and held is not None:
            keep(held)
            held = None
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        full = error.filename is None and error.errno in FULL
        if full or str(error.filename) == str(temporary):
            raise _named(error, path) from None
        raise
    finally:
        if held is not None:
            os.close(held)


def settle(folder: Path) -> None:
    """Wait until the names of files in a folder are on the disk, where the system can say so."""
    if os.name != "nt":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _named(error: OSError, path: str | os.PathLike[str]) -> OSError:
    """The error, of the file that was asked for."""
    return OSError(error.errno, os.strerror(error.errno or 0), str(path))


def _begun(target: Path, private: bool) -> tuple[Path, int | None]:
    """(an empty file beside the target; the same, open and locked: so we are known to live)."""
    mode = PRIVATE if private or target.exists() else 0o666  # until it is as the target is
    while True:
        temporary = target.with_name(f"{_prefix(target)}{secrets.token_hex(4)}.tmp")
        # not tempfile: its files can always be read by their owner alone
        held = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        if not POSSIBLE:
            os.close(held)  # Windows moves no open files
            return temporary, None
        with suppress(OSError):
            take(held, wait=True)
        if temporary.exists():
            return temporary, held
        os.close(held)  # another writer found it before it was locked, and swept it


def _prefix(target: Path) -> str:
    return f".{target.name[:50]}."  # at most 200 bytes of the 255 that a name may have


def _sweep(target: Path) -> None:
    """Remove the temporary files of writers of this file that live no more."""
    name = re.compile(re.escape(_prefix(target)) + "[0-9a-f]{8}[.]tmp")
    with suppress(OSError):
        for left in target.parent.iterdir():
            if name.fullmatch(left.name):
                _remove_if_dead(left)


def _remove_if_dead(left: Path) -> None:
    with suppress(OSError):  # somebody writes it; or it is not ours to remove
        if not POSSIBLE:
            left.unlink()  # which Windows refuses while it is open
            return
        file = os.open(left, os.O_RDWR)
        try:
            take(file, wait=False)
            left.unlink()
        finally:
            os.close(file)
