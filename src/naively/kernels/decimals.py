"""Text to float64: plain decimal numbers, rounded once.

Most numbers have few digits: then one division of two float64 that are exact is the number. The
others are the highest bits of a product of 128 bits: D. Lemire, Number parsing at a gigabyte per
second, Software: Practice and Experience 51 (2021); N. Mushtak and D. Lemire, Fast number parsing
without fallback, the same 53 (2023), show that these bits are always enough.
"""

import numpy as np

from naively.kernels import words
from naively.kernels.jit import jit

LEAST, GREATEST = -300, 290  # exponents of ten; results beyond normal numbers are left to others
EXACT = np.array([10.0**k for k in range(23)])
DIGITS = 19  # so many fit 64 bits
PLUS, MINUS, POINT, ZERO, SMALL_E = (np.uint8(ord(one)) for one in "+-.0e")
# eight digits at a time, in a word whose lowest byte is the first of them
ZEROS, LOW = np.uint64(0x3030303030303030), np.uint64(0x7F7F7F7F7F7F7F7F)
NOT_NINE = np.uint64(0x7676767676767676)
PAIRS, TENS, ONES = (
    np.uint64(word) for word in (0x000000FF000000FF, 0x000F424000000064, 0x0000271000000001)
)
SHIFTS = np.array([10**k for k in range(9)], np.uint64)


def _powers() -> np.ndarray:
    """The first 128 bits of 5^q, in two words; rounded up from 5^-27 to 5^-1."""
    words = []
    for q in range(LEAST, GREATEST + 1):
        if q >= 0:
            power = 5**q
            shift = power.bit_length() - 128
            power = power >> shift if shift > 0 else power << -shift
        else:
            divisor = 5**-q
            power = (1 << (divisor.bit_length() + 127)) // divisor + (q >= -27)
        words.append([power >> 64, power & (2**64 - 1)])
    return np.array(words, np.uint64)


POWERS = _powers()


@jit
def read_decimals(data, offsets, out, others):
    """out[i] = the number that data[offsets[i] : offsets[i + 1]] is.

    Parameters
    ----------
    data : uint8, with eight bytes or more beyond the last text.
    others : (n,) bool, set where the text is no plain decimal number of 19 digits or fewer, of
        ordinary size: such are left alone.
    """
    for i in range(out.size):
        at, end = np.int64(offsets[i]), np.int64(offsets[i + 1])
        if at == end:
            others[i] = True
            continue
        negative = data[at] == MINUS
        at += np.int64(negative | (data[at] == PLUS))
        begin, whole, power, count = at, np.uint64(0), 0, 8
        while count == 8:
            word = words.load_word(data, at) ^ ZEROS
            count = min(_digits(word), end - at)
            whole = whole * SHIFTS[count] + _number(word, count)
            at += count
        digits = at - begin
        if at < end and data[at] == POINT:
            at += 1
            first, count = at, 8
            while count == 8:
                word = words.load_word(data, at) ^ ZEROS
                count = min(_digits(word), end - at)
                whole = whole * SHIFTS[count] + _number(word, count)
                at += count
            power = first - at
            digits -= power
        if digits > DIGITS:  # zeros at the start do not count
            while begin < end and (data[begin] == ZERO or data[begin] == POINT):
                digits -= data[begin] == ZERO
                begin += 1
        if at < end and digits > 0:
            exponent, at = _exponent(data, at, end)
            power += exponent
        value = -1.0
        if at == end and 0 < digits <= DIGITS:
            if whole >> np.uint64(53) == 0 and -22 <= power <= 0:
                value = np.float64(np.int64(whole)) / EXACT[-power]
            else:
                value = _rounded(whole, power)
        if value < 0:
            others[i] = True
        else:
            out[i] = -value if negative else value


@jit
def _digits(word):
    """How many digits a word begins with, from which ZEROS was taken."""
    strange = (((word & LOW) + NOT_NINE) | word) & ~LOW
    return words.trailing_zeros(strange) >> 3


@jit
def _number(word, count):
    """The number of the first digits of such a word."""
    half = np.uint64(4 * (8 - count))
    word = word << half << half  # zeros before the digits
    word = np.uint64(10) * word + (word >> np.uint64(8))
    word = (word & PAIRS) * TENS + ((word >> np.uint64(16)) & PAIRS) * ONES
    return word >> np.uint64(32)


@jit
def _exponent(data, at, end):
    """(the number after an e, where that ends); (0, at) if there is none."""
    start = at
    if data[at] | np.uint8(0x20) != SMALL_E:
        return 0, start
    at += 1
    below = at < end and data[at] == MINUS
    if at < end and (below or data[at] == PLUS):
        at += 1
    first, number = at, 0
    while at < end and at < first + 4 and np.uint8(data[at] - ZERO) <= 9:
        number = 10 * number + np.int64(data[at] - ZERO)
        at += 1
    if at == first:
        return 0, start
    return -number if below else number, at


@jit
def _rounded(whole, power):
    """whole · 10^power; -1 if it is no normal number, or out of the table."""
    if whole == 0:
        return 0.0
    if power < LEAST or power > GREATEST:
        return -1.0
    zeros = words.leading_zeros(whole)
    whole <<= np.uint64(zeros)
    high, low = words.product(whole, POWERS[power - LEAST, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # 64 bits of the power may not be enough
        more = words.product(whole, POWERS[power - LEAST, 1])[0]
        low += more
        if low < more:
            high += np.uint64(1)
    upper = np.int64(high >> np.uint64(63))
    bits = high >> np.uint64(upper + 9)
    binary = ((217706 * power) >> 16) + 1086 + upper - zeros
    between = low <= 1 and -4 <= power <= 23 and bits << np.uint64(upper + 9) == high
    if between and bits & np.uint64(3) == 1:  # two numbers: the even one
        bits ^= np.uint64(1)
    bits = (bits + (bits & np.uint64(1))) >> np.uint64(1)
    if bits >> np.uint64(53) != 0:
        bits >>= np.uint64(1)
        binary += 1
    if binary <= 0 or binary >= 2047:
        return -1.0
    return words.bits_float(np.int64(bits & np.uint64(2**52 - 1)) | np.int64(binary) << 52)
