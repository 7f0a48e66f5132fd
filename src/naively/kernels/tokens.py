"""Documents to words or characters: spans of a copy of the text in lower case.

Documents are bytes data[offsets[i] : offsets[i + 1]]. The copy holds what terms are made of, so
that a term, be it an n-gram, is one span of it. Both have room for 64 bytes beyond their end.
"""

import numpy as np

from naively.kernels import words
from naively.kernels.jit import jit
from naively.kernels.sizes import BLOCK
from naively.kernels.unicode import (
    DOT,
    DOTTED_I,
    FINAL_SIGMA,
    LETTER,
    SIGMA,
    SPACE,
    WORD,
    decode,
    encode,
    is_final,
)

ROOM = 64  # bytes that the arrays of text have beyond their end
GROWTH = 3  # times the bytes of a text that its copy can have: U+FFFD in the place of a bad byte


@jit
def is_longer(text, a, b, shortest):
    """Whether a span has `shortest` characters, 1 or 2."""
    n = b - a
    if n > 4 or shortest == 1:
        return True
    lead = np.int64(text[a])
    return n > (1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4)


@jit
def split_words(
    data, offsets, first, last, shortest, lower, properties, text, begins, ends, groups
):
    """The words of documents first:last; returns their number.

    Word k is text[begins[k] : ends[k]]; the words of a document end at groups[document - first].
    """
    one, zero = np.uint64(1), np.uint64(0)
    units = 0
    o = 0
    for i in range(first, last):
        start, stop = offsets[i], offsets[i + 1]
        p = start
        inside = zero
        began = o
        while p < stop:
            word, high = zero, one
            size = min(stop - p, BLOCK)
            if p + BLOCK <= data.size:
                word, high = words.ascii_block(data, p, text, o, lower)
                if size < BLOCK:
                    kept = (one << np.uint64(size)) - one
                    word &= kept
                    high &= kept
            if high == zero:
                edges = word ^ (word << one | inside)
                while edges != zero:
                    at = o + words.trailing_zeros(edges)
                    edges &= edges - one
                    if inside == zero:
                        began = at
                    else:
                        begins[units], ends[units] = began, at
                        units += is_longer(text, began, at, shortest)
                    inside ^= one
                o += size
                p += size
                continue
            # the rest of this block, character by character
            until = p + size
            while p < until:
                c, n = decode(data, p, stop)
                p += n
                kind = properties[c]
                if lower:
                    if c == DOTTED_I:  # i and a dot, which is of no word
                        if inside == zero:
                            began = o
                        o = encode(np.int64(ord("i")), text, o)
                        begins[units], ends[units] = began, o
                        units += is_longer(text, began, o, shortest)
                        inside = zero
                        o = encode(np.int64(DOT), text, o)
                        continue
                    if c == SIGMA and is_final(data, p - n, start, stop, properties):
                        c = np.int64(FINAL_SIGMA)
                    else:
                        c = np.int64(kind & LETTER)
                now = one if kind & WORD else zero
                if now != inside:
                    if inside == zero:
                        began = o
                    else:
                        begins[units], ends[units] = began, o
                        units += is_longer(text, began, o, shortest)
                    inside = now
                o = encode(c, text, o)
        if inside != zero:
            begins[units], ends[units] = began, o
            units += is_longer(text, began, o, shortest)
        groups[i - first] = units
    return units


@jit
def join_words(text, begins, ends, groups):
    """Move the words of each document next to each other, with one space between them, in place."""
    o = 0
    first = 0
    for g in range(groups.size):
        for u in range(first, groups[g]):
            a, b = begins[u], ends[u]
            begins[u] = o
            if a - o >= 8:  # what is written beyond the word was read before
                for k in range(0, b - a, 8):
                    words.store_word(text, o + k, words.load_word(text, a + k))
            else:
                for k in range(b - a):
                    text[o + k] = text[a + k]
            o += b - a
            ends[u] = o
            if u + 1 < groups[g]:  # else the next document may begin here
                text[o] = 32
                o += 1
        first = groups[g]


@jit
def split_characters(data, offsets, first, last, bounded, lower, properties, text, begins, groups):
    """The characters of documents first:last; returns (their number, that of groups).

    Character k is text[begins[k] : begins[k + 1]]. Runs of spaces are one space. If `bounded`,
    the groups are the pieces between spaces, with a space on either side, else the documents;
    group g is groups[0, g], where its characters end, and groups[1, g], the document - first.
    """
    units, count, o = 0, 0, 0
    begins[0] = 0
    for i in range(first, last):
        start, stop = offsets[i], offsets[i + 1]
        p = start
        opened = False  # whether a piece has begun
        while p < stop:
            at = p
            c, n = decode(data, p, stop)
            p += n
            kind = properties[c]
            if kind & SPACE:
                run = 1
                while p < stop:
                    c2, n = decode(data, p, stop)
                    if not properties[c2] & SPACE:
                        break
                    p += n
                    run += 1
                if not bounded:
                    o = encode(c if run == 1 else np.int64(32), text, o)
                    units += 1
                    begins[units] = o
                elif opened:
                    text[o] = 32
                    o += 1
                    units += 1
                    begins[units] = o
                    groups[0, count], groups[1, count] = units, i - first
                    count += 1
                    opened = False
                continue
            if bounded and not opened:
                opened = True
                text[o] = 32
                o += 1
                units += 1
                begins[units] = o
            extra = lower and c == DOTTED_I
            if lower:
                if extra:
                    c = np.int64(ord("i"))
                elif c == SIGMA and is_final(data, at, start, stop, properties):
                    c = np.int64(FINAL_SIGMA)
                else:
                    c = np.int64(kind & LETTER)
            o = encode(c, text, o)
            units += 1
            begins[units] = o
            if extra:
                o = encode(np.int64(DOT), text, o)
                units += 1
                begins[units] = o
        if bounded and opened:
            text[o] = 32
            o += 1
            units += 1
            begins[units] = o
        if not bounded or opened:
            groups[0, count], groups[1, count] = units, i - first
            count += 1
    return units, count
