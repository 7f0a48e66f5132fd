"""BLAS with one thread."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import scipy
from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """While this is entered, BLAS adds in one order, and our threads do not wait for its own."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    """Those of NumPy and SciPy, looked for once: that takes a millisecond."""
    _ = scipy.linalg
    return ThreadpoolController()
