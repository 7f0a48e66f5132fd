"""JSON lines whose values are all strings, to columns of text.

Text is followed by 64 newlines that are not of it, for blocks are read whole.
"""

import numpy as np

from naively.kernels import words
from naively.kernels.jit import jit
from naively.kernels.sizes import BLOCK
from naively.kernels.unicode import encode

LF, QUOTE, ESCAPE = np.uint8(ord("\n")), np.uint8(ord('"')), np.uint8(ord("\\"))
COMMA, COLON = np.uint8(ord(",")), np.uint8(ord(":"))
OPENING, CLOSING = np.uint8(ord("{")), np.uint8(ord("}"))
SHORT = np.zeros(256, np.uint8)
"""What a character after a backslash stands for; 0 if it is no short escape."""
for _escape, _meant in zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True):
    SHORT[ord(_escape)] = ord(_meant)
HIGH, LOW, SURROGATES = 0xD800, 0xDC00, 0x400


@jit
def after_spaces(text, p):
    """The place of the first character from p on that is no space of JSON within a line."""
    while text[p] == 32 or text[p] == 9 or text[p] == 13:
        p += 1
    return p


@jit
def after_string(text, p):
    """The place of the quote that ends a string which goes on at p; -1 if none does."""
    while True:
        bits = words.breaks(text, p)
        if bits == 0:
            p += BLOCK
            continue
        p += words.trailing_zeros(bits)
        if text[p] == QUOTE:
            return p
        if text[p] != ESCAPE:  # a control character, such as the newline at the end
            return -1
        if text[p + 1] < 32:
            return -1
        p += 2


@jit
def split_objects(text, size, keys, ends, spans, sizes):
    """The value of key c of object r is text[spans[r, 2 c] : spans[r, 2 c + 1]], escapes and all.

    Parameters
    ----------
    text : (size + 64 or more,) uint8
    keys, ends : the keys in their quotes one after the other, uint8, and where each ends.
    spans : (more than objects, 2 · keys) int32
    sizes : (keys,) int64, zeros at first: bytes in each column.

    Returns
    -------
    The number of objects, one a line, blank lines not counted; -1 if one has other keys, or the
    same in another order, or a value that is no string; if there is anything that is no JSON; or if
    there are too many for `spans`.
    """
    p, r = 0, 0
    while True:
        p = after_spaces(text, p)
        if p >= size:
            return r
        if text[p] == LF:
            p += 1
            continue
        if r == spans.shape[0] or text[p] != OPENING:
            return -1
        p += 1
        first = 0
        for c in range(ends.size):
            p = after_spaces(text, p)
            for k in range(first, ends[c]):
                if text[p] != keys[k]:
                    return -1
                p += 1
            first = ends[c]
            p = after_spaces(text, p)
            if text[p] != COLON:
                return -1
            p = after_spaces(text, p + 1)
            if text[p] != QUOTE:
                return -1
            end = after_string(text, p + 1)
            if end < 0:
                return -1
            spans[r, 2 * c], spans[r, 2 * c + 1] = p + 1, end
            sizes[c] += end - p - 1
            p = after_spaces(text, end + 1)
            if text[p] != (COMMA if c + 1 < ends.size else CLOSING):
                return -1
            p += 1
        p = after_spaces(text, p)
        if text[p] != LF:
            return -1
        r += 1


@jit
def four_digits(text, p):
    """The number that four hexadecimal digits are; -1 if these are none."""
    value = 0
    for k in range(p, p + 4):
        c = np.int64(text[k])
        if 48 <= c <= 57:
            value = 16 * value + c - 48
        elif 65 <= (c & ~32) <= 70:
            value = 16 * value + (c & ~32) - 55
        else:
            return -1
    return value


@jit
def copy_strings(text, spans, column, rows, offsets, out):
    """out[offsets[r] : offsets[r + 1]] = the value of a key, with the characters that escapes mean.

    Parameters
    ----------
    spans : as `split_objects` makes them.
    offsets : (rows + 1,) int32, of which the first is 0.
    out : uint8, with room for 64 bytes more.

    Returns
    -------
    Whether all escapes mean a character; NUL is none, nor is half of a pair of surrogates.
    """
    o = 0
    for r in range(rows):
        p, end = np.int64(spans[r, 2 * column]), np.int64(spans[r, 2 * column + 1])
        while p < end:
            bits = words.breaks(text, p)
            n = min(end - p, words.trailing_zeros(bits) if bits != 0 else BLOCK)
            for k in range(0, BLOCK, 8):
                words.store_word(out, o + k, words.load_word(text, p + k))
            o += n
            p += n
            if p == end or n == BLOCK:
                continue
            kind = text[p + 1]
            if SHORT[kind] != 0:
                out[o] = SHORT[kind]
                o += 1
                p += 2
                continue
            if kind != ord("u"):
                return False
            c = four_digits(text, p + 2)
            p += 6
            if HIGH <= c < LOW:
                low = four_digits(text, p + 2) - LOW
                if text[p] != ESCAPE or text[p + 1] != ord("u") or not 0 <= low < SURROGATES:
                    return False
                c = 0x10000 + (c - HIGH) * SURROGATES + low
                p += 6
            elif c <= 0 or LOW <= c < LOW + SURROGATES:
                return False
            o = encode(np.int64(c), out, o)
        offsets[r + 1] = o
    return True
