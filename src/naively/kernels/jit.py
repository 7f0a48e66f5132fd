"""The one way a kernel is compiled."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

Kernel = Callable[..., Any]


def jit(function: Kernel) -> Kernel:
    """Compile on first call, without the GIL, cached on disk where a folder can be written."""
    try:
        return njit(function, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:  # numba found no folder for its cache: compile in each process instead
        return njit(function, nogil=True, error_model="numpy")


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
