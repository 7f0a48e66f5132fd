"""Run work on threads, process streams in order, limit BLAS to one thread, release memory."""

from __future__ import annotations

import ctypes
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from functools import cache
from itertools import chain
from numbers import Integral
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TypeVar

import pyarrow as pa
from threadpoolctl import OpenBLASController, ThreadpoolController

T = TypeVar("T")
U = TypeVar("U")


class Workers:
    """Run independent pieces of work on `count` threads at a time; for one, on the caller's."""

    def __init__(self, count: int) -> None:
        self.count = count

    def map(self, function: Callable[[T], U], items: Iterable[T]) -> list[U]:
        """Return the results of ``function`` on each item, in order."""
        if self.count == 1:
            return [function(item) for item in items]
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

        # the calling thread works too: an idle one attracts new threads to its processor
        with ThreadPoolExecutor(min(self.count, len(work)) - 1) as pool:
            for _ in range(min(self.count, len(work)) - 1):
                pool.submit(drain)
            drain()
        return [result.result() for result in results]


SERIAL = Workers(1)


def workers(n_jobs: int | None) -> Workers:
    """Return workers for scikit-learn's `n_jobs`; None stands for all processors.

    Results do not depend on the number of workers. Raises ValueError if n_jobs is 0 or no integer.
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral)):
        raise ValueError(f"n_jobs must be an integer or None, not {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use 1 for one thread, -1 for all processors")
    count = _processors() if n_jobs is None else int(n_jobs)
    if count < 0:
        count = max(1, _processors() + 1 + count)
    return Workers(count)


def _processors() -> int:
    """Return how many processors this process may use, at most OMP_NUM_THREADS.

    joblib sets that variable in its worker processes, so that they share the machine.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(count or 1, int(limit)) if limit.isdigit() and int(limit) > 0 else count or 1


# ---- stream --------------------------------------------------------------------------------------


def in_order(function: Callable[[T], U], items: Iterable[T | None], threads: int) -> Iterator[U]:
    """Yield the results of `function` on each item, in order, computing some items ahead.

    None is a pause: all results so far are yielded before the next item is read. A sequence gets no
    more threads than it has items, and a single item none, since starting a thread takes longer
    than training on one row.
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
                # at most `threads` results wait, so that memory stays bounded
                while len(pending) > (0 if item is None else threads):
                    yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


# ---- memory --------------------------------------------------------------------------------------


def give_back() -> None:
    """Release the memory that allocators hold after a long stream."""
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):  # only glibc has malloc_trim
        ctypes.CDLL(None).malloc_trim(0)


# ---- blas ----------------------------------------------------------------------------------------


def one_thread() -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread.

    BLAS then adds in one order, and its threads do not compete with ours. When several threads are
    inside, the last one to leave restores the limits.
    """
    return _ALL


class _OneThread(AbstractContextManager[None]):
    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            _let_all_set()
            limit = _libraries().limit(limits=1, user_api="blas")  # some limits are per thread
            _let_all_set()
            if not self._inside:
                self._limit = limit
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                _let_all_set()
                self._limit.restore_original_limits()
            _let_all_set()  # release control: other code may set limits now


_ALL = _OneThread()  # the one context of the process, since the threads of BLAS are shared too


def _let_all_set() -> None:
    """Let any thread set limits of OpenBLAS.

    From threadpoolctl 3.8 on, only the thread that set the first limit can set others; calls from
    other threads are silently ignored.
    """
    if release := getattr(OpenBLASController, "clear_controlling_thread", None):
        release(force=True)


@cache
def _libraries() -> ThreadpoolController:
    """Return the loaded BLAS libraries, NumPy's among them; cached, as a search takes 1 ms."""
    return ThreadpoolController()
