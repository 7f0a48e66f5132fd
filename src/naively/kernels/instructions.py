"""What `naively.kernels.words` has: words of eight bytes and blocks of sixty-four, as one value."""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from naively.kernels.sizes import BLOCK, CODES, INVALID, MISSING

_BYTES = ir.VectorType(ir.IntType(8), BLOCK)
_WORD = ir.IntType(64)
_DOUBLE = ir.IntType(128)


def _pointer(context, builder, array_type, array, index, kind):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


@intrinsic
def load_word(typing_context, array, index):
    """The eight bytes from array[index] on, the first one lowest."""

    def generate(context, builder, signature, arguments):
        value = builder.load(_pointer(context, builder, signature.args[0], *arguments, _WORD))
        value.align = 1
        return value

    return types.uint64(array, types.int64), generate


@intrinsic
def store_word(typing_context, array, index, value):
    """Write eight bytes from array[index] on."""

    def generate(context, builder, signature, arguments):
        target = _pointer(context, builder, signature.args[0], *arguments[:2], _WORD)
        builder.store(arguments[2], target).align = 1
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), generate


@intrinsic
def fold(typing_context, x, y):
    """The two halves of the 128-bit product, exclusive-or: every bit of x and y matters."""

    def generate(context, builder, signature, arguments):
        x, y = (builder.zext(value, _DOUBLE) for value in arguments)
        product = builder.mul(x, y)
        high = builder.lshr(product, ir.Constant(_DOUBLE, 64))
        return builder.trunc(builder.xor(product, high), _WORD)

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def product(typing_context, x, y):
    """The 128 bits of x · y: (the high half, the low half)."""

    def generate(context, builder, signature, arguments):
        x, y = (builder.zext(value, _DOUBLE) for value in arguments)
        whole = builder.mul(x, y)
        high = builder.trunc(builder.lshr(whole, ir.Constant(_DOUBLE, 64)), _WORD)
        return cgutils.pack_array(builder, [high, builder.trunc(whole, _WORD)])

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), generate


@intrinsic
def leading_zeros(typing_context, x):
    """The number of zero bits above the highest one; 64 of zero."""

    def generate(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def trailing_zeros(typing_context, x):
    """The number of zero bits below the lowest one; 64 of zero."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def ascii_block(typing_context, array, index, target, at, lower):
    """Copy 64 bytes of ASCII, lower-cased if `lower`; (bit of each that is a letter, digit or _,
    bit of each that is no ASCII).
    """

    def generate(context, builder, signature, arguments):
        array, index, target, at, lower = arguments

        def all_of(byte):
            return ir.Constant(_BYTES, [byte] * BLOCK)

        def among(values, first, count):
            return builder.icmp_unsigned("<", builder.sub(values, all_of(first)), all_of(count))

        def bits(mask):
            return builder.bitcast(mask, _WORD)

        value = builder.load(_pointer(context, builder, signature.args[0], array, index, _BYTES))
        value.align = 1
        small = builder.or_(value, all_of(0x20))
        word = builder.or_(among(small, ord("a"), 26), among(value, ord("0"), 10))
        word = builder.or_(word, builder.icmp_unsigned("==", value, all_of(ord("_"))))
        high = builder.icmp_signed("<", value, all_of(0))
        capital = among(value, ord("A"), 26)
        wanted = builder.trunc(lower, ir.IntType(1))
        undefined = ir.Constant(ir.VectorType(ir.IntType(1), BLOCK), ir.Undefined)
        one = builder.insert_element(undefined, wanted, ir.Constant(ir.IntType(32), 0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
        capital = builder.and_(capital, builder.shuffle_vector(one, undefined, lanes))
        out = builder.select(capital, small, value)
        place = _pointer(context, builder, signature.args[2], target, at, _BYTES)
        builder.store(out, place).align = 1
        return cgutils.pack_array(builder, [bits(word), bits(high)])

    pair = types.UniTuple(types.uint64, 2)
    return pair(array, types.int64, target, types.int64, types.boolean), generate


@intrinsic
def separators(typing_context, array, index, delimiter):
    """Of 64 bytes from array[index] on, a bit of each that is the delimiter or ends a line."""

    def generate(context, builder, signature, arguments):
        array, index, delimiter = arguments

        def equals(byte):
            return builder.icmp_unsigned("==", value, ir.Constant(_BYTES, [byte] * BLOCK))

        value = builder.load(_pointer(context, builder, signature.args[0], array, index, _BYTES))
        value.align = 1
        undefined = ir.Constant(_BYTES, ir.Undefined)
        one = builder.insert_element(undefined, delimiter, ir.Constant(ir.IntType(32), 0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
        found = builder.icmp_unsigned("==", value, builder.shuffle_vector(one, undefined, lanes))
        found = builder.or_(found, builder.or_(equals(ord("\n")), equals(ord("\r"))))
        return builder.bitcast(found, _WORD)

    return types.uint64(array, types.int64, types.uint8), generate


@intrinsic
def breaks(typing_context, array, index):
    r"""Of 64 bytes from array[index] on, a bit of each that is ", \ or a control character."""

    def generate(context, builder, signature, arguments):
        def all_of(byte):
            return ir.Constant(_BYTES, [byte] * BLOCK)

        value = builder.load(_pointer(context, builder, signature.args[0], *arguments, _BYTES))
        value.align = 1
        found = builder.icmp_unsigned("<", value, all_of(0x20))
        for byte in (ord('"'), ord("\\")):
            found = builder.or_(found, builder.icmp_unsigned("==", value, all_of(byte)))
        return builder.bitcast(found, _WORD)

    return types.uint64(array, types.int64), generate


@intrinsic
def prefetch(typing_context, array, index):
    """Begin to fetch array[index] into the cache."""

    def generate(context, builder, signature, arguments):
        kind = ir.IntType(8)
        address = _pointer(context, builder, signature.args[0], *arguments, kind)
        number = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [kind.as_pointer(), number, number, number]),
            "llvm.prefetch.p0",
        )
        builder.call(function, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic
def float_bits(typing_context, x):
    """The 64 bits of a float64, as an int64."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _WORD)

    return types.int64(types.float64), generate


@intrinsic
def bits_float(typing_context, bits):
    """The float64 of 64 bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


def as_level(x):
    """The level code of a value: non-negative, or MISSING, or INVALID."""


@overload(as_level)
def _as_level(x):
    if isinstance(x, types.Float):

        def from_float(x):
            if math.isnan(x):
                return np.int64(MISSING)
            if x < 0 or x >= CODES or x != math.floor(x):
                return np.int64(INVALID)
            return np.int64(x)

        return from_float

    def from_integer(x):
        k = np.int64(x)
        return k if 0 <= k < CODES else np.int64(INVALID)

    return from_integer
