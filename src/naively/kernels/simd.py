"""Eight float64 as one value inside a kernel.

Kernels find what there is of it here by name. It is numba's, which is loaded when the first kernel
is.
"""

from typing import Any

from naively.kernels.sizes import LANES, TILE

__all__ = ["LANES", "TILE"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # as imports ask
        raise AttributeError(name)
    from naively.kernels import vectors

    return getattr(vectors, name)
