"""BLAS with one thread."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController


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
            if not self._inside:
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()


_ALL = _OneThread()
"""One for the process, as the threads of BLAS are."""


@cache
def _libraries() -> ThreadpoolController:
    """Those that are loaded, NumPy's among them; looked for once, which takes a millisecond."""
    return ThreadpoolController()
