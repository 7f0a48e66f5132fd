"""What `naively.kernels.simd` has: eight float64 as one value inside a kernel.

LLVM's vectoriser loses most of the speed of the exact sums (short rows, many accumulators), so
these kernels name their vectors. LLVM lowers the eight lanes to whatever the processor has.
All operations are plain IEEE arithmetic, lane by lane: nothing is reassociated or contracted.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from naively.kernels.sizes import LANES, TILE

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INDEX = ir.IntType(32)


class Float64x8(types.Type):
    """Numba type of eight float64 lanes."""

    def __init__(self) -> None:
        super().__init__(name="float64x8")


float64x8 = Float64x8()


@register_model(Float64x8)
class _Float64x8Model(models.PrimitiveModel):
    def __init__(self, manager, numba_type):
        super().__init__(manager, numba_type, _VECTOR)


def _pointer(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


@intrinsic
def load(typing_context, array, index):
    """Lanes ``array[index : index + 8]`` of a contiguous 1-d float64 array."""

    def generate(context, builder, signature, arguments):
        value = builder.load(_pointer(context, builder, signature.args[0], *arguments))
        value.align = 8
        return value

    return float64x8(array, types.intp), generate


@intrinsic
def store(typing_context, array, index, value):
    """Write the lanes to ``array[index : index + 8]``."""

    def generate(context, builder, signature, arguments):
        target = _pointer(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], target).align = 8
        return context.get_dummy_value()

    return types.void(array, types.intp, float64x8), generate


@intrinsic
def splat(typing_context, x):
    """All lanes equal to ``x``."""

    def generate(context, builder, signature, arguments):
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(undefined, arguments[0], ir.Constant(_INDEX, 0))
        lanes = ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES)
        return builder.shuffle_vector(first, undefined, lanes)

    return float64x8(types.float64), generate


def _lanewise(name, operands):
    """A lane-by-lane operation: an IR instruction, or an LLVM intrinsic if `name` has a dot."""

    def generate(context, builder, signature, arguments):
        if "." not in name:
            return getattr(builder, name)(*arguments)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * operands), name
        )
        return builder.call(function, arguments)

    return float64x8(*[float64x8] * operands), generate


@intrinsic
def add(typing_context, x, y):
    """``x + y``."""
    return _lanewise("fadd", 2)


@intrinsic
def sub(typing_context, x, y):
    """``x - y``."""
    return _lanewise("fsub", 2)


@intrinsic
def mul(typing_context, x, y):
    """``x * y``."""
    return _lanewise("fmul", 2)


@intrinsic
def neg(typing_context, x):
    """``-x``."""
    return _lanewise("fneg", 1)


@intrinsic
def fma(typing_context, x, y, z):
    """``x * y + z``, rounded once."""
    return _lanewise("llvm.fma.v8f64", 3)


@intrinsic
def absolute(typing_context, x):
    """``|x|``."""
    return _lanewise("llvm.fabs.v8f64", 1)


@intrinsic
def where_greater(typing_context, x, y, yes, no):
    """``yes`` in lanes where ``x > y``, else ``no``; NaN is never greater."""

    def generate(context, builder, signature, arguments):
        x, y, yes, no = arguments
        return builder.select(builder.fcmp_ordered(">", x, y), yes, no)

    return float64x8(*[float64x8] * 4), generate


@intrinsic
def differ(typing_context, x, y):
    """Non-zero where any lane has ``x != y`` (NaN differs from everything), as a bit a lane."""

    def generate(context, builder, signature, arguments):
        lanes = builder.bitcast(builder.fcmp_unordered("!=", *arguments), ir.IntType(LANES))
        return builder.zext(lanes, ir.IntType(64))

    return types.intp(float64x8, float64x8), generate


@intrinsic
def transpose(typing_context, rows):
    """Eight vectors of eight lanes, rows for columns; takes and returns a tuple."""

    def generate(context, builder, signature, arguments):
        def shuffle(x, y, lanes):
            mask = ir.Constant(ir.VectorType(_INDEX, LANES), lanes)
            return builder.shuffle_vector(x, y, mask)

        vectors = cgutils.unpack_tuple(builder, arguments[0], LANES)
        for step in (1, 2, 4):  # swap blocks of 1, 2, then 4 lanes between rows `step` apart
            low = [k if k & step == 0 else k - step + LANES for k in range(LANES)]
            high = [k + step if k & step == 0 else k + LANES for k in range(LANES)]
            swapped = list(vectors)
            for k in range(LANES):
                if k & step == 0:
                    swapped[k] = shuffle(vectors[k], vectors[k + step], low)
                    swapped[k + step] = shuffle(vectors[k], vectors[k + step], high)
            vectors = swapped
        return context.make_tuple(builder, signature.return_type, vectors)

    square = types.UniTuple(float64x8, LANES)
    return square(square), generate


_tile = types.UniTuple(float64x8, 2 * TILE)


@intrinsic
def zero_tile(typing_context):
    """A tile of zeros."""

    def generate(context, builder, signature, arguments):
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        return context.make_tuple(builder, signature.return_type, [zero] * (2 * TILE))

    return _tile(), generate


@intrinsic
def add_outer(typing_context, tile, column, index, x, y):
    """The tile plus the outer product of ``column[index : index + 8]`` with the lanes of x, y."""

    def generate(context, builder, signature, arguments):
        tile, column, index, x, y = arguments
        data = context.make_array(signature.args[1])(context, builder, column).data
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES)
        fma = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), "llvm.fma.v8f64"
        )
        total = cgutils.unpack_tuple(builder, tile, 2 * TILE)
        for k in range(TILE):
            place = builder.add(index, ir.Constant(index.type, k))
            value = builder.load(builder.gep(data, [place]))
            lanes = builder.insert_element(undefined, value, ir.Constant(_INDEX, 0))
            lanes = builder.shuffle_vector(lanes, undefined, first)
            for half, other in enumerate((x, y)):
                total[2 * k + half] = builder.call(fma, [lanes, other, total[2 * k + half]])
        return context.make_tuple(builder, signature.return_type, total)

    return _tile(_tile, column, types.intp, float64x8, float64x8), generate


@intrinsic
def add_tile(typing_context, array, index, tile):
    """``array[index : index + 128] += tile``, row after row."""

    def generate(context, builder, signature, arguments):
        array, index, tile = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        for k, vector in enumerate(cgutils.unpack_tuple(builder, tile, 2 * TILE)):
            place = builder.add(index, ir.Constant(index.type, LANES * k))
            target = builder.bitcast(builder.gep(data, [place]), _VECTOR.as_pointer())
            before = builder.load(target)
            before.align = 8
            builder.store(builder.fadd(before, vector), target).align = 8
        return context.get_dummy_value()

    return types.void(array, types.intp, _tile), generate


def flat_view(X):
    """X as a flat array if it is C-contiguous float64, else an empty one."""


@overload(flat_view)
def _flat_view(X):
    if X.dtype == types.float64 and X.layout == "C":
        return lambda X: X.reshape(-1)
    return lambda X: np.empty(0)
