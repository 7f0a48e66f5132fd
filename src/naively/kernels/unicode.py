"""UTF-8 in a kernel: decoding, encoding, and what each character is.

`properties` has a row of bits for each code point: what it is in lower case, and whether it is of
a word, a space, of a case, or without influence on the case of its neighbours.
"""

import numpy as np

from naively.kernels.jit import jit

LETTER = (1 << 21) - 1  # bits of the lower-case code point
WORD, SPACE, CASED, IGNORABLE = 1 << 21, 1 << 22, 1 << 23, 1 << 24
REPLACEMENT = 0xFFFD
SIGMA, FINAL_SIGMA = 0x3A3, 0x3C2  # the one letter whose lower case depends on its neighbours
DOTTED_I, DOT = 0x130, 0x307  # the one letter of which lower case makes two


@jit
def decode(data, p, stop):
    """(code point at data[p], its number of bytes); what is not UTF-8 is U+FFFD.

    As many bytes are one U+FFFD as in Python's ``errors="replace"``. Surrogates, which Python's
    strings may have, stand for themselves.
    """
    b = np.int64(data[p])
    if b < 0x80:
        return b, 1
    if b < 0xC2 or b > 0xF4:
        return REPLACEMENT, 1
    length = 2 if b < 0xE0 else 3 if b < 0xF0 else 4
    if b == 0xED and p + 1 < stop and data[p + 1] >= 0xA0:  # a whole surrogate, or none
        if p + 2 >= stop or data[p + 1] > 0xBF or data[p + 2] & 0xC0 != 0x80:
            return REPLACEMENT, 1
    low = 0xA0 if b == 0xE0 else 0x90 if b == 0xF0 else 0x80
    high = 0x8F if b == 0xF4 else 0xBF
    c = b & (0x7F >> length)
    for k in range(1, length):
        if p + k >= stop:
            return REPLACEMENT, k
        b = np.int64(data[p + k])
        if b < low or b > high:
            return REPLACEMENT, k
        low, high = 0x80, 0xBF
        c = c << 6 | (b & 0x3F)
    return c, length


@jit
def encode(c, text, o):
    """Write a code point to text[o]; where the next one goes."""
    if c < 0x80:
        text[o] = c
        return o + 1
    if c < 0x800:
        text[o] = 0xC0 | c >> 6
        text[o + 1] = 0x80 | (c & 0x3F)
        return o + 2
    if c < 0x10000:
        text[o] = 0xE0 | c >> 12
        text[o + 1] = 0x80 | (c >> 6 & 0x3F)
        text[o + 2] = 0x80 | (c & 0x3F)
        return o + 3
    text[o] = 0xF0 | c >> 18
    text[o + 1] = 0x80 | (c >> 12 & 0x3F)
    text[o + 2] = 0x80 | (c >> 6 & 0x3F)
    text[o + 3] = 0x80 | (c & 0x3F)
    return o + 4


@jit
def is_final(data, p, start, stop, properties):
    """Whether a sigma at data[p] ends a word: a cased letter is before it, and none behind."""
    q = p
    found = False
    while q > start:
        end = q
        q -= 1
        while q > start and end - q < 4 and data[q] & 0xC0 == 0x80:
            q -= 1
        c, n = decode(data, q, end)
        if q + n != end:
            break  # bytes that are no UTF-8
        if not properties[c] & IGNORABLE:
            found = properties[c] & CASED != 0
            break
    if not found:
        return False
    q = p + 2
    while q < stop:
        c, n = decode(data, q, stop)
        if not properties[c] & IGNORABLE:
            return properties[c] & CASED == 0
        q += n
    return True
