"""Progress bars and notes on standard error, the bars only in a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from naively.cli.errors import printable
from naively.io.sources import Source

PATIENCE = 1.0  # seconds of work before a bar is shown


def note(text: str) -> None:
    """Print one line on standard error."""
    print(f"naively: note: {printable(text)}", file=sys.stderr)


@contextmanager
def bar(what: str, source: Source) -> Iterator[None]:
    """Show how much of a source has been read, if it takes long."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(what, source, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


@contextmanager
def steps(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show progress in steps, if it takes long; yields a function to call after each step."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    display = _bar_with(MofNCompleteColumn())
    task = display.add_task(what, total=total)
    late = threading.Timer(PATIENCE, display.start)
    late.start()
    try:
        yield lambda: display.update(task, advance=1)
    finally:
        late.cancel()
        late.join()
        if display.live.is_started:
            display.stop()


@contextmanager
def doing() -> Iterator[Callable[[str], None]]:
    """Show the current task in a terminal; yields a function to name it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with Console(stderr=True).status("") as status:
        yield lambda what: status.update(f"{what} ...")


def _bar_with(*counts: ProgressColumn) -> Progress:
    """A progress bar with `counts` before the remaining time."""
    columns = (TextColumn("{task.description}"), BarColumn(), *counts, TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _watch(what: str, source: Source, done: threading.Event) -> None:
    if done.wait(PATIENCE):
        return
    with _bar_with(DownloadColumn(), TransferSpeedColumn()) as display:
        task = display.add_task(what, total=source.size)
        while not done.wait(0.1):
            display.update(task, completed=source.read_bytes())
