"""A stream of batches over threads: each is read and counted while others are read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def in_order(function: Callable[[T], U], items: Iterable[T | None], threads: int) -> Iterator[U]:
    """The results of `function` on each item, in order, some items ahead of the consumer.

    None is no item, but a pause: all results so far are given before the next item is asked for.
    A sequence has no more threads than items, and a single item none: to start one takes longer
    than to learn a row.
    """
    if isinstance(items, Sequence):
        threads = min(threads, len(items))
    if threads <= 1:
        yield from (function(item) for item in items if item is not None)
        return
    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[U]] = deque()
        try:
            for item in chain(items, [None]):
                if item is not None:
                    pending.append(pool.submit(function, item))
                # few, so that memory stays bounded
                while len(pending) > (0 if item is None else threads):
                    yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
