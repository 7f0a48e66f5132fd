"""BLAS with one thread."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """While this is entered, BLAS adds in one order, and our threads do not wait for its own."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    """Those that are loaded, NumPy's among them; looked for once, which takes a millisecond."""
    return ThreadpoolController()
