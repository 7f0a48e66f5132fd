"""Store a served model durably: its file and its write-ahead log hold all acknowledged changes.

A log continues one model file; both have the same mark. When the log has grown, the model file is
written with a new mark, and with that of the log whose changes it now includes; then a new log
begins. So whenever the process ends, the mark of the log shows whether the model file includes its
entries.

Another program may replace the model file, as `mv` and `cp` do, which ignore our lock. The new file
is left unchanged: the served model is then written to another file beside it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from naively.model.model import Model
from naively.serve import log
from naively.serve.log import Entry, Log, LogError
from naively.storage import atomic, model_files
from naively.storage.atomic import replacing, settle
from naively.storage.model_files import SERVED, Saved

LARGE, MANY = 1 << 25, 1000
"""Bytes and changes of a log, above which the model is written: replaying them takes time."""


class ReplacedError(Exception):
    """Another program replaced the model file, so the model was written beside it."""


@dataclass(frozen=True)
class Pending:
    """What the log adds to a model file."""

    number: int  # the number of changes in the model file since it was first served
    mark: bytes  # of the model file; empty if it has none
    log_mark: bytes = b""  # the mark of the log; empty if there is no log
    entries: Sequence[Entry] = ()  # of the log
    # size, dropped: valid bytes of the log, and bytes of an incomplete frame
    size: int = 0
    dropped: int = 0

    @property
    def live(self) -> bool:
        """Whether the log continues the model file; otherwise the file includes all of it."""
        return bool(self.mark) and self.log_mark == self.mark

    @property
    def changes(self) -> int:
        """The number of changes in the log that are not in the model file."""
        return sum(1 for entry in self.entries if entry.rows) if self.live else 0


def pending(path: Path, saved: Saved) -> Pending:
    """Read the log of a model file.

    Raises LogError if the log is damaged, or belongs to another model.
    """
    number, mark, previous_mark = 0, b"", b""
    if note := saved.extra.get(SERVED):
        try:
            new_mark, old_mark, count = note.split()
            number, mark = int(count), bytes.fromhex(new_mark)
            previous_mark = b"" if old_mark == "-" else bytes.fromhex(old_mark)
        except ValueError:
            raise LogError(f"{path}: it notes {note[:80]!r} about its log: damaged") from None
    log_path = log.path_of(path)
    if not log_path.exists():
        return Pending(number, mark)
    log_mark, entries, size = log.read(log_path)
    if log_mark not in (mark, previous_mark) and any(entry.rows for entry in entries):
        raise LogError(
            f"{log_path} holds changes of another model than {path}: serve the model that they "
            "belong to, or move the log away to go on without them"
        )
    return Pending(number, mark, log_mark, entries, size, log_path.stat().st_size - size)


def with_a_change(saved: Saved) -> Saved:
    """Count a change by another command, so that no two models have the same state number."""
    marks, _, number = saved.extra.get(SERVED, "").rpartition(" ")
    if not number.isdecimal():
        return saved
    return replace(saved, extra={**saved.extra, SERVED: f"{marks} {int(number) + 1}"})


class Store:
    """A locked model file, and its log.

    `saved`: the file as it was read; its `model` is not updated. `pending`: entries to replay
    before `begin`. Raises BlockingIOError if another process has locked the file; LogError if the
    log is damaged, or belongs to another model.
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
        self._mark, self._stamp = self.pending.log_mark, self.saved.stamp

    def begin(self, model: Model, number: int, first_entries: Iterable[Entry]) -> None:
        """Open the log for appending, after `pending` was replayed: its changes are now written.

        `model, number`: the state after the replay. `first_entries`: of a new log.
        """
        pending_log, log_path = self.pending, log.path_of(self.path)
        if pending_log.live and not pending_log.changes:
            self._log = Log(log_path, pending_log.log_mark, pending_log.size)
        elif pending_log.mark and not pending_log.log_mark:
            self._begin_log(pending_log.mark, first_entries)
        else:
            self.compact(model, number, first_entries)

    def _begin_log(self, mark: bytes, first_entries: Iterable[Entry]) -> None:
        log_path = log.path_of(self.path)
        log.begin(log_path, mark, list(first_entries))
        self._mark, self._log = mark, Log(log_path, mark, log_path.stat().st_size)

    @property
    def broken(self) -> bool:
        """Whether nothing can be appended any more."""
        return self._log is None or self._log.broken

    @property
    def size(self) -> int:
        """Bytes of the log's entries."""
        return 0 if self._log is None else self._log.size - log.HEAD

    @property
    def due(self) -> bool:
        """Whether to compact now: soon after forgetting, because the log still holds those rows."""
        large = self._unsaved >= MANY or self.size > LARGE
        return self._unsaved > 0 and (large or self._forgot or self._replaced())

    def _replaced(self) -> bool:
        """Whether the file is not the one that was last read or written."""
        try:
            return model_files.stamp_of(self.path) != self._stamp
        except FileNotFoundError:
            return False  # no file would be overwritten

    def append(self, entries: Sequence[Entry]) -> None:
        """Add changes to the log, and wait for the disk; OSError if that fails."""
        if self._log is None or self._log.broken:
            raise OSError("the log cannot be written to since an error: start the service again")
        self._log.append(entries)
        self._unsaved += len(entries)
        self._forgot |= any(entry.description["what"] == "forget" for entry in entries)

    def compact(self, model: Model, number: int, first_entries: Iterable[Entry]) -> None:
        """Write the model file with all changes of the log, and begin a new log.

        Raises OSError if that fails; all acknowledged changes are still on disk; ReplacedError if
        the model file had been replaced, so that another file was written, which is used from now
        on.
        """
        if self._replaced():
            old_path, self.path = self.path, _beside(self.path)
            try:
                self._write(model, number, first_entries)
            except OSError:
                self.path.unlink()
                self.path = old_path
                raise
            log.path_of(old_path).unlink(missing_ok=True)
            self._moved = (
                f"{old_path} was replaced while it was served, and is left as it is: what is "
                f"served goes into {self.path}"
            )
            raise ReplacedError(self._moved)
        self._write(model, number, first_entries)

    def _write(self, model: Model, number: int, first_entries: Iterable[Entry]) -> None:
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
            self._log = None  # changes appended to the old log would be lost
        settle(self.path.parent)
        self._begin_log(mark, first_entries)
        self._unsaved, self._forgot = 0, False

    def _keep(self, locked: int) -> None:
        """Hold the lock of the new file instead of the old one's."""
        if self._locked is not None:
            os.close(self._locked)
        self._locked = locked

    def finish(self, model: Model, number: int, first_entries: Iterable[Entry]) -> None:
        """Write all changes to the model file, and delete the log if it has no entries.

        Raises OSError as in `compact`; ReplacedError if the model was written to another file than
        at the beginning.
        """
        try:
            if self._unsaved:
                self.compact(model, number, first_entries)
        finally:
            if not self.broken and not self._unsaved and not self.size:
                log.path_of(self.path).unlink()
        if self._moved:
            raise ReplacedError(self._moved)

    def close(self) -> None:
        """Close and unlock the files."""
        if self._log is not None:
            self._log.close()
            self._log = None
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None


def _beside(path: Path) -> Path:
    """Create an empty file beside one that was replaced, with the same permissions."""
    for k in count(1):
        candidate = path.with_name(f"{path.name}.served{'' if k == 1 else k}")
        with suppress(FileExistsError):
            os.close(os.open(candidate, os.O_CREAT | os.O_EXCL | os.O_WRONLY, path.stat().st_mode))
            return candidate
    raise AssertionError


def _taken(path: Path) -> int | None:
    """Open and lock a file; None if its file system has no locks."""
    try:
        return atomic.taken(path, wait=False) if atomic.POSSIBLE else None
    except (BlockingIOError, FileNotFoundError):
        raise
    except OSError:  # as in `atomic.alone`: serving without a lock is better than refusing
        return None
