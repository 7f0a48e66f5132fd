"""The file of a served model, and its log: together they are what was acknowledged.

A log goes on from one model file, which bears its mark. When the log has grown, the model is
written with a new mark and beside it that of the log so far, which is in it; then a new log begins.
Whenever the process ends, the mark of the log says whether its entries are in the model file.

Somebody may put another file in the place of the model's, as `mv` and `cp` do, which know nothing
of our lock. That file is left as it is: the served model goes on in another one, beside it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from naively.core.model import Model
from naively.serve import log
from naively.serve.log import Entry, Log, LogError
from naively.storage import atomic, model_files
from naively.storage.atomic import replacing, settle
from naively.storage.model_files import SERVED, Saved

LARGE, MANY = 1 << 25, 1000
"""Bytes of a log, and changes in it, that go into the model file: to do them again takes time."""


class ReplacedError(Exception):
    """Somebody put another file in the place of the model's: the model was written beside it."""


@dataclass(frozen=True)
class Pending:
    """What there is besides a model file.

    Attributes
    ----------
    number : int, how many changes are in the model file.
    mark : bytes, that it bears; empty if none.
    own : bytes, the mark of the log; empty if there is none.
    entries : what is in the log.
    size, dropped : int, the bytes of the log that count, and those that nobody was told of.
    """

    number: int
    mark: bytes
    own: bytes = b""
    entries: Sequence[Entry] = ()
    size: int = 0
    dropped: int = 0

    @property
    def live(self) -> bool:
        """Whether the log goes on from the model file; else all of it is in there."""
        return bool(self.mark) and self.own == self.mark

    @property
    def changes(self) -> int:
        """How many changes of the log are not in the model file."""
        return sum(1 for entry in self.entries if entry.rows) if self.live else 0


def pending(path: Path, saved: Saved) -> Pending:
    """What there is besides a model file.

    Raises
    ------
    LogError : if the log is damaged, or goes on from another model.
    """
    number, mark, before = 0, b"", b""
    if noted := saved.extra.get(SERVED):
        try:
            new, old, count = noted.split()
            number, mark = int(count), bytes.fromhex(new)
            before = b"" if old == "-" else bytes.fromhex(old)
        except ValueError:
            raise LogError(f"{path}: it notes {noted[:80]!r} about its log: damaged") from None
    where = log.path_of(path)
    if not where.exists():
        return Pending(number, mark)
    own, entries, size = log.read(where)
    if own not in (mark, before) and any(entry.rows for entry in entries):
        raise LogError(
            f"{where} holds changes of another model than {path}: serve the model that they belong "
            "to, or move the log away to go on without them"
        )
    return Pending(number, mark, own, entries, size, where.stat().st_size - size)


class Store:
    """A model file that this process alone writes, and its log.

    Parameters
    ----------
    path : Path of the model file.
    read : what reads it.

    Attributes
    ----------
    saved : Saved, as the file was; its `model` is not followed.
    pending : Pending, what is to be done again before `begin`.

    Raises
    ------
    BlockingIOError : if another program has the file.
    LogError : if the log is damaged, or goes on from another model.
    """

    def __init__(self, path: Path, read: Callable[[Path], Saved]) -> None:
        self.path = Path(os.path.realpath(path))
        self._log: Log | None = None
        self._unsaved, self._forgot, self._moved = 0, False, ""
        self._locked = _taken(self.path)
        try:
            self.saved = read(path)
            self.pending = pending(self.path, self.saved)
        except BaseException:
            self.close()
            raise
        self._mark, self._stamp = self.pending.own, self.saved.stamp

    def begin(self, model: Model, number: int, known: Iterable[Entry]) -> None:
        """Be ready to append, after all entries were done again: now they go into the model file.

        Parameters
        ----------
        model, number : as after the entries.
        known : what a new log is to begin with.
        """
        found, where = self.pending, log.path_of(self.path)
        if found.live and not found.changes:
            self._log = Log(where, found.own, found.size)
        elif found.mark and not found.own:
            self._begin_log(found.mark, known)
        else:
            self.compact(model, number, known)

    def _begin_log(self, mark: bytes, known: Iterable[Entry]) -> None:
        where = log.path_of(self.path)
        log.begin(where, mark, list(known))
        self._mark, self._log = mark, Log(where, mark, where.stat().st_size)

    @property
    def broken(self) -> bool:
        """Whether nothing can be appended any more."""
        return self._log is None or self._log.broken

    @property
    def size(self) -> int:
        """Bytes of the log."""
        return 0 if self._log is None else self._log.size - log.HEAD

    @property
    def due(self) -> bool:
        """Whether it is time to compact; soon if rows were forgotten, as the log still has them."""
        large = self._unsaved >= MANY or self.size > LARGE
        return self._unsaved > 0 and (large or self._forgot or self._replaced())

    def _replaced(self) -> bool:
        """Whether another file is in the place of the one that was read or written last."""
        try:
            return model_files.stamp_of(self.path) != self._stamp
        except FileNotFoundError:
            return False  # nothing would be written over

    def append(self, entries: Sequence[Entry]) -> None:
        """Put changes on the disk; OSError if that cannot be."""
        if self._log is None or self._log.broken:
            raise OSError("the log cannot be written to since an error: start the service again")
        self._log.append(entries)
        self._unsaved += len(entries)
        self._forgot |= any(entry.said["what"] == "forget" for entry in entries)

    def compact(self, model: Model, number: int, known: Iterable[Entry]) -> None:
        """Write all that is in the log into the model file, and begin a new log.

        Raises
        ------
        OSError : if that cannot be; all that was acknowledged is on the disk all the same.
        ReplacedError : if it was written to another file, and goes on there, as somebody else had
            replaced the model file.
        """
        if self._replaced():
            old, self.path = self.path, _beside(self.path)
            try:
                self._write(model, number, known)
            except OSError:
                self.path.unlink()
                self.path = old
                raise
            log.path_of(old).unlink(missing_ok=True)
            self._moved = (
                f"{old} was replaced while it was served, and is left as it is: what is served "
                f"goes into {self.path}"
            )
            raise ReplacedError(self._moved)
        self._write(model, number, known)

    def _write(self, model: Model, number: int, known: Iterable[Entry]) -> None:
        mark = secrets.token_bytes(log.MARK)
        served = f"{mark.hex()} {self._mark.hex() or '-'} {number}"
        saved = replace(self.saved, model=model, extra={**self.saved.extra, SERVED: served})
        content = model_files.to_bytes(saved)
        with replacing(self.path, self._keep) as temporary:
            temporary.write_bytes(content)
            stamp = model_files.stamp_of(temporary)
        self._stamp = stamp
        if self._log is not None:
            self._log.close()
            self._log = None  # what is appended to the old log would not count any more
        settle(self.path.parent)
        self._begin_log(mark, known)
        self._unsaved, self._forgot = 0, False

    def _keep(self, locked: int) -> None:
        """Hold the lock of the new file in the place of the old one's."""
        if self._locked is not None:
            os.close(self._locked)
        self._locked = locked

    def finish(self, model: Model, number: int, known: Iterable[Entry]) -> None:
        """Leave all in the model file, and no log unless it has something for later.

        Raises
        ------
        OSError : as `compact` does.
        ReplacedError : if that is another file than at the beginning.
        """
        try:
            if self._unsaved:
                self.compact(model, number, known)
        finally:
            if not self.broken and not self._unsaved and not self.size:
                log.path_of(self.path).unlink()
        if self._moved:
            raise ReplacedError(self._moved)

    def close(self) -> None:
        """Let go of the files."""
        if self._log is not None:
            self._log.close()
            self._log = None
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None


def _beside(path: Path) -> Path:
    """An empty file for the model of one that is another's now; the same people may read it."""
    for k in count(1):
        found = path.with_name(f"{path.name}.served{'' if k == 1 else k}")
        with suppress(FileExistsError):
            os.close(os.open(found, os.O_CREAT | os.O_EXCL | os.O_WRONLY, path.stat().st_mode))
            return found
    raise AssertionError


def _taken(path: Path) -> int | None:
    """The file, open and locked; None where files cannot be locked."""
    try:
        return atomic.taken(path, wait=False) if atomic.POSSIBLE else None
    except (BlockingIOError, FileNotFoundError):
        raise
    except OSError:  # as `locks.alone`: better to go on than to refuse
        return None
