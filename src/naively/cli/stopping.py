"""Ending in good order when the system, or somebody at the keyboard, asks for it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class EndAskedError(Exception):
    """The end was asked for while nothing but input was waited for."""


class Stop:
    """Ctrl-C and SIGTERM ask for the end; a second one interrupts whatever is done.

    Attributes
    ----------
    asked : whether the end was asked for.
    """

    def __init__(self) -> None:
        self.asked = self._waiting = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Hear the signals until the end of the block."""
        before: dict[int, Any] = {
            one: signal.signal(one, self._hear) for one in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A block that does nothing but wait: `EndAskedError` ends it at once."""
        self._waiting = True
        try:
            if self.asked:
                raise EndAskedError
            yield
        finally:
            self._waiting = False

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if self._waiting:
            raise EndAskedError
