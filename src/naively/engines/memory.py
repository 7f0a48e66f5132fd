"""Memory that is free, given back to the system."""

import ctypes
from contextlib import suppress

import pyarrow as pa


def give_back() -> None:
    """Give back what allocators keep of a long stream, so that what follows has that room."""
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):  # other C libraries than glibc have it not
        ctypes.CDLL(None).malloc_trim(0)
