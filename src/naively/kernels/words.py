"""Words of eight bytes and blocks of sixty-four, as one value inside a kernel.

Kernels find them here by name. They are numba's, which is loaded when the first kernel is.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # as imports ask
        raise AttributeError(name)
    from naively.kernels import instructions

    return getattr(instructions, name)
