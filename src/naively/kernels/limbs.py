"""Exact numbers as rows of 64-bit limbs, and the arithmetic on them.

A cell holds sum(limb[k] * 2**(32 * (low + k))). Between normalisations the limbs are lazy: each
deposit adds at most 2**36 to a limb, so 2**26 deposits fit. Normalised, every limb but the last
is a digit in [0, 2**32) and the last one carries the sign. After Neal (2015), "Fast exact
summation using small and large superaccumulators".
"""

import math

import numpy as np

from naively.kernels import few, few_sums, words
from naively.kernels.few import DIGIT
from naively.kernels.jit import jit, or_few

FRACTION = np.int64((1 << 52) - 1)
HIDDEN = np.int64(1 << 52)


HEADROOM = 40  # bits above the highest of a term, for the number of terms


@or_few(few_sums.needed)
@jit
def needed(low, high):
    """Limbs for sums of terms with bits from 2**low (a multiple of 32) up to 2**high."""
    return (high + HEADROOM - low) // 32 + 3


@jit
def decompose(x):
    """(mantissa with sign, exponent) of a finite float: x = mantissa * 2**exponent."""
    bits = words.float_bits(x)
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & FRACTION
    if exponent == 0:
        exponent = 1
    else:
        mantissa |= HIDDEN
    if bits < 0:
        mantissa = -mantissa
    return mantissa, exponent - 1075


@jit
def add_integer(limbs, start, bit, value):
    """Add value * 2**bit (bit counted from the cell's lowest) to the cell at `start`.

    Bits below the window are dropped: the caller's window covers every bit that is set.
    """
    if value == 0:
        return
    if bit < 0:
        value >>= min(-bit, 63)
        bit = 0
    k = start + (bit >> 5)
    shift = bit & 31
    low = (value & DIGIT) << shift
    # the sum of both halves' shifted parts, digit by digit; arithmetic shifts keep the sign
    unsigned_low = np.uint64(low)
    limbs[k] += np.int64(unsigned_low & np.uint64(0xFFFFFFFF))
    high = (value >> 32) << shift
    limbs[k + 1] += np.int64(unsigned_low >> np.uint64(32)) + (high & DIGIT)
    limbs[k + 2] += high >> 32


@jit
def add_value(limbs, start, low, x):
    """Add the float x exactly; `low` is the exponent of the cell's lowest bit."""
    mantissa, exponent = decompose(x)
    add_integer(limbs, start, exponent - low, mantissa)


@jit
def add_product(limbs, start, low, x, w):
    """Add x * w exactly."""
    m, e = decompose(x)
    v, f = decompose(w)
    bit = e + f - low
    sign = np.int64(1) if (m < 0) == (v < 0) else np.int64(-1)
    m, v = abs(m), abs(v)
    a, b = m >> 32, m & DIGIT
    c, d = v >> 32, v & DIGIT
    bd = np.uint64(b) * np.uint64(d)
    add_integer(limbs, start, bit, sign * np.int64(bd & np.uint64(0xFFFFFFFF)))
    add_integer(limbs, start, bit + 32, sign * (np.int64(bd >> np.uint64(32)) + a * d + b * c))
    add_integer(limbs, start, bit + 64, sign * (a * c))


@jit
def add_square(limbs, start, low, x, w):
    """Add x * x * w exactly (any sign of w)."""
    m, e = decompose(x)
    v, f = decompose(w)
    bit = 2 * e + f - low
    m = abs(m)
    sign = np.int64(1)
    if v < 0:
        v = -v
        sign = np.int64(-1)
    add_weighted(limbs, start, bit, m, m, v, sign)


@jit
def add_triple(limbs, start, low, x, y, w):
    """Add x * y * w exactly."""
    m, e = decompose(x)
    n, g = decompose(y)
    v, f = decompose(w)
    sign = np.int64(1) if ((m < 0) == (n < 0)) == (v >= 0) else np.int64(-1)
    add_weighted(limbs, start, e + g + f - low, abs(m), abs(n), abs(v), sign)


@jit
def add_weighted(limbs, start, bit, m, n, v, sign):
    """Add sign * m * n * v * 2**bit, for mantissas m, n, v >= 0."""
    if v == 0:
        return
    zeros = np.int64(words.trailing_zeros(np.uint64(v)))  # weights are mostly small integers
    v >>= zeros
    bit += zeros
    a, b = m >> 32, m & DIGIT
    c, d = n >> 32, n & DIGIT
    low = np.uint64(b) * np.uint64(d)
    middle = a * d + b * c
    high = a * c
    # the digits of m * n, each below 2**33
    d0 = np.int64(low & np.uint64(0xFFFFFFFF))
    d1 = np.int64(low >> np.uint64(32)) + (middle & DIGIT)
    d2 = (middle >> 32) + (high & DIGIT)
    d3 = high >> 32
    if v == 1:
        add_integer(limbs, start, bit, sign * d0)
        add_integer(limbs, start, bit + 32, sign * d1)
        add_integer(limbs, start, bit + 64, sign * d2)
        add_integer(limbs, start, bit + 96, sign * d3)
        return
    while v > 0:  # 20-bit parts keep every product below 2**54
        piece = sign * (v & 0xFFFFF)
        add_integer(limbs, start, bit, piece * d0)
        add_integer(limbs, start, bit + 32, piece * d1)
        add_integer(limbs, start, bit + 64, piece * d2)
        add_integer(limbs, start, bit + 96, piece * d3)
        v >>= 20
        bit += 20


@or_few(few_sums.normalise)
@jit
def normalise(limbs):
    """Propagate the carries of every cell of a (cells, limbs) array, in place."""
    cells, size = limbs.shape
    for i in range(cells):
        carry = np.int64(0)
        for k in range(size - 1):
            value = limbs[i, k] + carry
            limbs[i, k] = value & DIGIT
            carry = value >> 32
        if size > 0:
            limbs[i, size - 1] += carry


@or_few(few.accumulate)
@jit
def accumulate(target, rows, columns, source, offset, sign):
    """target[rows[i], columns[j]] += sign * source[i, j], digit by digit from limb `offset`.

    Both are (rows, columns, limbs) and normalised; the target stays so. Returns the largest
    magnitude of a top limb that changed: at most 2**62, as long as both tops were at most 2**61.
    """
    size = target.shape[2]
    width = source.shape[2]
    largest = np.int64(0)
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            k = 0
            while k < width and source[i, j, k] == 0:
                k += 1
            if k == width:  # nothing to add, as in most cells of counts of words
                continue
            r, c = rows[i], columns[j]
            carry = np.int64(0)
            for k in range(offset, size):
                value = target[r, c, k] + carry
                if k - offset < width:
                    value += sign * source[i, j, k - offset]
                elif carry == 0:
                    break
                if k < size - 1:
                    target[r, c, k] = value & DIGIT
                    carry = value >> 32
                else:
                    target[r, c, k] = value
            largest = max(largest, abs(target[r, c, size - 1]))
    return largest


@or_few(few.extent)
@jit
def extent(limbs):
    """(first, last): the limbs that a normalised (cells, limbs) array needs.

    `first` is the lowest 32-bit digit in use, beyond the last limb's own if all are 0. `last` is
    the smallest index such that folding the limbs above it into it keeps every cell in
    [-2**61, 2**61), or the number of limbs if even the last one is outside.
    """
    cells, size = limbs.shape
    first, last = size + 1, 0
    for i in range(cells):
        top = limbs[i, size - 1]
        k = 0
        while k < min(first, size - 1) and limbs[i, k] == 0:
            k += 1
        if k == size - 1 and top & DIGIT == 0:
            k = size + 1 if top == 0 else size
        first = min(first, k)
        k = size - 1
        if not -(1 << 61) <= top < (1 << 61):
            last = size
        while k > last and -(1 << 29) <= top < (1 << 29):
            k -= 1
            top = (top << 32) + limbs[i, k]
        last = max(last, k)
    return first, last


@jit
def round_nearest(limbs, low):
    """The float64 nearest to each cell of a normalised (cells, limbs) array, ties to even."""
    cells, size = limbs.shape
    out = np.zeros(cells)
    digits = np.zeros(size + 2, np.int64)
    for i in range(cells):
        negative = limbs[i, size - 1] < 0
        carry = np.int64(0)
        for k in range(size):
            value = (-limbs[i, k] if negative else limbs[i, k]) + carry
            digits[k] = value & DIGIT
            carry = value >> 32
        digits[size] = carry
        k = size
        while k >= 0 and digits[k] == 0:
            k -= 1
        if k < 0:
            continue
        length = np.int64(0)  # bits of the leading digit
        while digits[k] >> length != 0:
            length += 1
        exponent = low + 32 * k + length - 53  # of the last bit kept
        exponent = max(exponent, -1074)
        cut = exponent - low  # bits below it are rounded
        mantissa = np.int64(0)
        for j in range(k, -1, -1):
            place = 32 * j - cut
            if place >= 0:
                mantissa += digits[j] << place
            elif place > -32:
                mantissa += digits[j] >> -place
        half = np.int64(0)
        rest = False
        if cut > 0:
            j = (cut - 1) >> 5
            if j <= size:
                half = (digits[j] >> ((cut - 1) & 31)) & 1
                rest = (digits[j] & ((np.int64(1) << ((cut - 1) & 31)) - 1)) != 0
                for m in range(j):
                    rest = rest or digits[m] != 0
            else:
                rest = True
        if half == 1 and (rest or (mantissa & 1) == 1):
            mantissa += 1
        value = math.ldexp(float(mantissa), exponent)
        out[i] = -value if negative else value
    return out
