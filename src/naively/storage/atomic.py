"""Lock files, and replace them atomically. Windows has no locks here."""

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
    """Lock an open file until it is closed, or the process ends.

    Raises BlockingIOError if another process has the lock and `wait` is false; OSError if files
    cannot be locked here, as in some network folders.
    """
    fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


@contextmanager
def alone(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock of a file during a block; wait for other processes that hold it.

    The block may replace the file. The lock is on the file itself: no lock file remains after a
    crash, and the folder may be read-only. A file that does not exist is not locked. `waiting` is
    called if another process holds the lock.
    """
    file = None
    if POSSIBLE and path.is_file():
        with suppress(OSError):  # without locks, go on rather than fail
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


def in_use(path: Path) -> bool:
    """Return whether another process has the lock of a file."""
    if POSSIBLE and path.is_file():
        try:
            os.close(taken(path, wait=False))
        except BlockingIOError:
            return True
        except OSError:  # there are no locks here
            return False
    return False


def taken(path: Path, wait: bool) -> int:
    """Open and lock a file, and return its descriptor. Raises as `take` does."""
    while True:
        # some network folders lock only files that are open for writing
        file = os.open(path, os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY)
        try:
            take(file, wait)
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # the file was replaced while we waited: lock the new one


# ---- atomic --------------------------------------------------------------------------------------


PRIVATE = stat.S_IRUSR | stat.S_IWUSR
"""Mode of files with personal data: only the owner can read and write them."""
FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


@contextmanager
def replacing(
    path: str | os.PathLike[str], keep: Callable[[int], None] | None = None, private: bool = False
) -> Iterator[Path]:
    """Yield a temporary file in the same folder, and let it replace `path` if the block succeeds.

    If anything fails, the temporary file is removed and the old file is unchanged. Temporary files
    of writers that were killed are removed, too. Raises OSError if the file cannot be written, or
    if `path` exists and is not a regular file.

    keep : a function that gets the descriptor of the new file, locked since before the file was
        in place, and must close it.
    private : whether only the owner can read the file; else it gets the mode of the old one.
    """
    target = Path(os.path.realpath(path))  # write through a symbolic link
    if target.exists() and not target.is_file():
        raise OSError(f"{path} exists already and is not a regular file")
    _sweep(target)
    try:
        temporary, descriptor = _begun(target, private)
    except OSError as error:
        raise _named(error, path) from None
    try:
        mode = (target if target.exists() and not private else temporary).stat().st_mode
        yield temporary
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        temporary.chmod(stat.S_IMODE(mode))
        temporary.replace(target)
        if keep is not None and descriptor is not None:
            keep(descriptor)
            descriptor = None
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        is_full = error.filename is None and error.errno in FULL
        if is_full or str(error.filename) == str(temporary):
            raise _named(error, path) from None
        raise
    finally:
        if descriptor is not None:
            os.close(descriptor)


def settle(folder: Path) -> None:
    """Sync a folder, so that the names of its files are on disk. No effect on Windows."""
    if os.name != "nt":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _named(error: OSError, path: str | os.PathLike[str]) -> OSError:
    """Return the error with the path that the caller gave."""
    return OSError(error.errno, os.strerror(error.errno or 0), str(path))


def _begun(target: Path, private: bool) -> tuple[Path, int | None]:
    """Create an empty file beside the target; return (path, locked descriptor).

    The lock shows other processes that its writer is alive. Windows: the descriptor is None.
    """
    mode = PRIVATE if private or target.exists() else 0o666  # `replacing` sets the final mode
    while True:
        temporary = target.with_name(f"{_prefix(target)}{secrets.token_hex(4)}.tmp")
        # not tempfile, whose files are always private: this one follows the umask
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        if not POSSIBLE:
            os.close(descriptor)  # Windows cannot rename open files
            return temporary, None
        with suppress(OSError):
            take(descriptor, wait=True)
        if temporary.exists():
            return temporary, descriptor
        os.close(descriptor)  # another writer removed it before it was locked


def _prefix(target: Path) -> str:
    return f".{target.name[:50]}."  # at most 200 bytes in UTF-8; file names have at most 255


def _sweep(target: Path) -> None:
    """Remove temporary files of dead writers of this file."""
    name = re.compile(re.escape(_prefix(target)) + "[0-9a-f]{8}[.]tmp")
    with suppress(OSError):
        for file in target.parent.iterdir():
            if name.fullmatch(file.name):
                _remove_if_dead(file)


def _remove_if_dead(left: Path) -> None:
    with suppress(OSError):  # its writer is alive, or permission is denied
        if not POSSIBLE:
            left.unlink()  # Windows refuses while the file is open
            return
        file = os.open(left, os.O_RDWR)
        try:
            take(file, wait=False)
            left.unlink()
        finally:
            os.close(file)
