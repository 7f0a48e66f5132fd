"""Learning what arrives, from a folder or from standard input, until the end is asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from naively.cli import layout, progress, report
from naively.cli.amounts import Amount
from naively.cli.arguments import ChangeOptions
from naively.cli.arriving import Arriving
from naively.cli.errors import UserError
from naively.cli.followed import version_of
from naively.cli.sources import Opened, check_columns, check_known, opened_to_learn
from naively.cli.stopping import EndAskedError, Stop
from naively.cli.work import unlearnable
from naively.engines.stream import in_order
from naively.engines.threads import workers
from naively.markup import counted
from naively.tables.inputs import TableError, Task
from naively.tables.learning import LearningError, Question
from naively.tables.watching import Folder, Look, look_at

OFTEN = 10.0
"""Seconds after which the model is written, unless somebody says otherwise."""
LOOK = 1.0
"""Seconds between two looks at a folder."""
SPEAK = 1.0
"""Seconds between two lines on how rows were predicted, at least."""


class Follower:
    """Learns what arrives until there is no more, or the end is asked for.

    Parameters
    ----------
    arriving : the model.
    options : how to read.
    every : rows or time between two writings of the model.
    until_idle : seconds without anything new after which to end; None for never.
    json : whether lines are for programs.
    """

    def __init__(
        self, arriving: Arriving, options: ChangeOptions, every: Amount,
        until_idle: float | None, json: bool,
    ) -> None:  # fmt: skip
        self.arriving, self.options, self.every = arriving, options, every
        self.until_idle, self.json = until_idle, json
        self.stop = Stop()
        self.bad: dict[str, str] = {}
        self._news = self._spoken = time.monotonic()
        self._told = 0

    def run(self, folder: Path | None) -> None:
        """Learn from a folder, or from standard input."""
        source = None if folder is not None else self._opened(["-"], live=True)
        with self.stop.heard():
            try:
                with suppress(EndAskedError):
                    if folder is not None:
                        self._folder(folder)
                    elif source is not None:
                        self._input(*source)
            except Exception:
                self.arriving.write()  # what was learned before
                raise
            self._end()

    # ---- a folder ----------------------------------------------------------------------------

    def _folder(self, path: Path) -> None:
        """Learn the files of a folder, by name, and then those that appear."""
        folder = Folder(path, self.arriving.path)
        while not self.stop.asked:
            for file, look in folder.look():
                self._file(folder, file, look)
                if self.stop.asked:
                    return
                if self._due and not self.arriving.write():
                    break
            else:
                if self.arriving.write() and self._idle and not folder.waits():
                    return
                with self.stop.waiting():
                    time.sleep(LOOK)
                continue
            folder = Folder(path, self.arriving.path)

    def _file(self, folder: Folder, path: Path, look: Look) -> None:
        """Learn a file, unless it was learned, or changes."""
        notes = self.arriving.now.notes
        try:
            version = version_of(path)
            if look_at(path) != look:
                return  # somebody writes it
            if not notes.has(path.name, version):
                self._check_new(path, version)
                self.arriving.whole(path.name, version, lambda: self._learned(path, look))
                self._news = time.monotonic()
            self.bad.pop(path.name, None)
        except _ChangingError:
            return
        except (UserError, TableError, OSError, ValueError) as error:
            self._refuse(path, error)
        folder.done(path, look)

    def _check_new(self, path: Path, version: tuple[int, str]) -> None:
        """Refuse a file that has grown since; tell of one that is learned once more."""
        notes = self.arriving.now.notes
        if notes.grown(path):
            raise UserError(
                f"{path}: has grown since it was learned; its rows are not learned again: write "
                "new rows to a new file"
            )
        if path.name in notes.files:
            progress.note(f"{path} was replaced since it was learned: it counts again")
        elif (other := notes.namesake(version)) is not None:
            progress.note(f"{path} holds the bytes of {other}, which was learned: it counts again")

    def _learned(self, path: Path, look: Look) -> None:
        source, question = self._opened([str(path)])
        rows = labelled = 0
        for batch in in_order(_made, source.tasks(), workers(None).count):
            labelled += self._batch(source, question, batch)
            rows += batch.num_rows
        if look_at(path) != look:
            raise _ChangingError
        if rows and not labelled:
            raise unlearnable(source, question.target, rows)

    def _refuse(self, path: Path, error: Exception) -> None:
        self.bad[path.name] = str(error)
        said = str(error) if str(path) in str(error) else f"{path}: {error}"
        progress.note(f"not learned: {said}")

    # ---- standard input ----------------------------------------------------------------------

    def _input(self, source: Opened, question: Question) -> None:
        """Learn rows as they come."""
        for task in self._pieces(source):
            self._batch(source, question, task())
            self._news = time.monotonic()
            if self._due:
                self.arriving.write()
            if self.stop.asked:
                return

    def _pieces(self, source: Opened) -> Iterator[Task]:
        """The pieces of work as they come; the model is written while none does."""
        tasks = source.live_tasks()
        while True:
            try:
                with self.stop.waiting():
                    task = next(tasks)
            except StopIteration:
                return
            if task is not None:
                yield task
                continue
            while True:
                with self.stop.waiting():
                    if source.files.awaited(0.1):
                        break
                if time.monotonic() - self.arriving.written >= (self.every.seconds or OFTEN):
                    self.arriving.write()
                if self._idle:
                    return

    # ---- both --------------------------------------------------------------------------------

    def _opened(self, data: list[str], live: bool = False) -> tuple[Opened, Question]:
        saved = self.arriving.saved
        saved.model = self.arriving.now.model
        source, question = opened_to_learn(saved, data, self.options, live=live)
        check_columns(source, question)
        check_known(source, saved.model, question)
        return source, question

    def _batch(self, source: Opened, question: Question, batch: pa.RecordBatch) -> int:
        """Learn a batch; how many of its rows have a label."""
        try:
            labelled = self.arriving.learn(batch, question)
        except LearningError as error:
            raise UserError(f"{source.name}: {error}") from None
        self._speak()
        return labelled

    @property
    def _due(self) -> bool:
        """Whether it is time to write the model."""
        if self.every.rows is not None:
            return self.arriving.now.rows >= self.every.rows
        return time.monotonic() - self.arriving.written >= (self.every.seconds or OFTEN)

    @property
    def _idle(self) -> bool:
        """Whether nothing new came for so long that it is the end."""
        return self.until_idle is not None and time.monotonic() - self._news >= self.until_idle

    def _speak(self, last: bool = False) -> None:
        """Now and then, a line on how rows were predicted."""
        test = self.arriving.test
        if test is None or test.rows == self._told:
            return
        if not last and time.monotonic() - self._spoken < SPEAK:
            return
        self._told, self._spoken = test.rows, time.monotonic()
        said = test.as_json()
        if self.json:
            layout.print_json(said)
        else:
            print(line(said))
        sys.stdout.flush()

    def _end(self) -> None:
        """Write what was learned, and say what was done."""
        self.arriving.write()
        self._speak(last=True)
        arriving = self.arriving
        if self.json:
            done = {"learned": arriving.total, "files": arriving.files, "not_learned": self.bad}
            layout.print_json({"model": str(arriving.path), **done})
        else:
            report.changed("learned", arriving.total, arriving.saved.model, arriving.path)
        if self.bad:
            files = counted(len(self.bad), "file")
            raise UserError(f"{files} could not be learned: {', '.join(sorted(self.bad)[:5])}")


def _made(task: Task) -> pa.RecordBatch:
    return task()


class _ChangingError(Exception):
    """A file changed while it was read."""


def line(said: dict[str, Any]) -> str:
    """How rows were predicted, for people."""

    def number(name: str, form: str) -> str:
        return "·" if said[name] is None else format(said[name], form)

    parts = [
        f"{said['rows']:,} rows: accuracy {number('accuracy', '.2%')}, "
        f"log-loss {number('log_loss', '#.4g')}",
        f"last {said['recent_rows']:,}: {number('recent_accuracy', '.2%')}, "
        f"{number('recent_log_loss', '#.4g')}",
    ]
    if said["unknown"]:
        parts.append(f"{said['unknown']:,} of classes that were new")
    return "; ".join(parts)
