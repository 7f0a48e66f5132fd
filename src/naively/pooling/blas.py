"""BLAS with one thread."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from threading import Lock

from threadpoolctl import OpenBLASController, ThreadpoolController


def one_thread() -> AbstractContextManager[None]:
    """While this is entered, BLAS adds in one order, and our threads do not wait for its own.

    Of several threads that are inside, the last to leave gives BLAS its threads back.
    """
    return _ALL


class _OneThread(AbstractContextManager[None]):
    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            _let_all_set()
            limit = _libraries().limit(limits=1, user_api="blas")  # some are of each thread alone
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
            _let_all_set()  # others may set limits now


_ALL = _OneThread()
"""One for the process, as the threads of BLAS are."""


def _let_all_set() -> None:
    """Let any thread set limits of OpenBLAS.

    From threadpoolctl 3.8 on only the thread that set the first can set others: what other threads
    ask for is ignored, in silence.
    """
    if release := getattr(OpenBLASController, "clear_controlling_thread", None):
        release(force=True)


@cache
def _libraries() -> ThreadpoolController:
    """Those that are loaded, NumPy's among them; looked for once, which takes a millisecond."""
    return ThreadpoolController()
