"""Who runs independent pieces of work."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Workers(Protocol):
    """Who runs independent pieces of work, and how many at a time."""

    count: int

    def map(self, function: Callable[[T], U], items: Iterable[T]) -> list[U]:
        """The results of ``function`` on each item, in order."""


class Serial:
    """One piece of work after the other, in the caller's thread."""

    count = 1

    def map(self, function: Callable[[T], U], items: Iterable[T]) -> list[U]:
        """The results of ``function`` on each item, in order."""
        return [function(item) for item in items]


SERIAL: Workers = Serial()
