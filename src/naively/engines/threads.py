"""Threads over kernels that release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from numbers import Integral
from queue import Empty, SimpleQueue
from typing import TypeVar

from naively.workers import Serial, Workers

T = TypeVar("T")
U = TypeVar("U")


class Threads:
    """Run independent pieces of work on `count` threads at a time."""

    def __init__(self, count: int) -> None:
        self.count = count

    def map(self, function: Callable[[T], U], items: Iterable[T]) -> list[U]:
        """The results of ``function`` on each item, in order."""
        work = list(items)
        if len(work) < 2:
            return [function(item) for item in work]
        results: list[Future[U]] = [Future() for _ in work]
        pending: SimpleQueue[int] = SimpleQueue()
        for k in range(len(work)):
            pending.put(k)

        def drain() -> None:
            with suppress(Empty):
                while True:
                    k = pending.get_nowait()
                    try:
                        results[k].set_result(function(work[k]))
                    except BaseException as error:
                        results[k].set_exception(error)

        # the calling thread works too: a sleeper's processor attracts the threads it starts
        with ThreadPoolExecutor(min(self.count, len(work)) - 1) as pool:
            for _ in range(min(self.count, len(work)) - 1):
                pool.submit(drain)
            drain()
        return [result.result() for result in results]


def workers(n_jobs: int | None) -> Workers:
    """Workers for scikit-learn's `n_jobs`, with None for all processors: the result is the same.

    Raises ValueError if n_jobs is 0 or no integer.
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral)):
        raise ValueError(f"n_jobs must be an integer or None, not {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use 1 for one thread, -1 for all processors")
    available = _processors()
    if n_jobs is None:
        count = available
    elif n_jobs > 0:
        count = int(n_jobs)
    else:
        count = max(1, available + 1 + int(n_jobs))
    return Serial() if count == 1 else Threads(count)


def _processors() -> int:
    """The processors that this process may use, or the fewer that OMP_NUM_THREADS says.

    joblib sets that variable in its worker processes, so that they share the machine.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(count or 1, int(limit)) if limit.isdigit() and int(limit) > 0 else count or 1
