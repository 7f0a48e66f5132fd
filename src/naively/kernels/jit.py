"""The one way a kernel is compiled."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys
from numba.extending import intrinsic

Kernel = Callable[..., Any]


class _Target:
    """The compiler's target, for code that is loaded: only what such code calls is made ready."""

    def __init__(self, context):
        self._context = context

    def __getattr__(self, name):
        return getattr(self._context, name)

    def refresh(self):
        """Make memory of arrays ready."""
        rtsys.initialize(self._context)


class _Cache(FunctionCache):
    """Compiled kernels on disk, of which numba loads one without what it needs to compile others.

    Numba would prepare itself for all that it can compile, 0.3 seconds, also if there is nothing
    to compile. Where there is, it does so later, by itself.
    """

    def load_overload(self, sig, target_context):
        """The compiled kernel for a signature; None if it was never compiled."""
        return super().load_overload(sig, _Target(target_context))


def jit(function: Kernel) -> Kernel:
    """Compile on first call, without the GIL, cached on disk where a folder can be written."""
    kernel: Any = njit(function, nogil=True, error_model="numpy")
    with suppress(RuntimeError):  # numba found no folder for its cache: compile in each process
        kernel._cache = _Cache(function)
    return kernel


@intrinsic
def float_bits(typing_context, x):
    """The 64 bits of a float64, as an int64."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def bits_float(typing_context, bits):
    """The float64 of 64 bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate
