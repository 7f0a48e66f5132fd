"""Rows of delimited text to fields, and fields to columns: text without quotes alone.

Text is followed by eight bytes that are not of it, for words are read whole.
"""

import numpy as np

from naively.kernels import words
from naively.kernels.jit import jit
from naively.kernels.sizes import BLOCK
from naively.kernels.vocabulary import NUMBER, hash_key, same, term_key

LF, CR = np.uint8(ord("\n")), np.uint8(ord("\r"))


@jit
def split_fields(text, size, delimiter, fields, sizes):
    """Field c of row r is text[fields[r, c] + 1 : fields[r, c + 1]].

    Parameters
    ----------
    text : (size + 64 or more,) uint8, whose first `size` bytes are rows, each ended by a newline.
    delimiter : uint8
    fields : (more than rows, columns + 1) int32, where a row and its fields end.
    sizes : (columns,) int64, zeros at first: bytes in each column.

    Returns
    -------
    The number of rows, blank lines not counted; -1 if one has more or fewer fields, if a carriage
    return stands anywhere but before a newline, or if there are too many rows for `fields`.
    """
    columns = sizes.size
    r, c, before = 0, 0, -1
    fields[0, 0] = -1
    for at in range(0, size, BLOCK):
        bits = words.separators(text, at, delimiter)
        while bits != 0:
            p = at + words.trailing_zeros(bits)
            bits &= bits - np.uint64(1)
            if p >= size:
                return r
            if text[p] == delimiter:
                c += 1
                if c == columns:
                    return -1
                fields[r, c] = p
                sizes[c - 1] += p - before - 1
                before = p
            elif text[p] == LF:
                end = p - 1 if p > 0 and text[p - 1] == CR else p
                if c > 0 or end > before + 1:
                    if c + 1 != columns:
                        return -1
                    fields[r, columns] = end
                    sizes[c] += end - before - 1
                    r += 1
                    if r == fields.shape[0]:
                        return -1
                c, before = 0, p
                fields[r, 0] = p
            elif text[p + 1] != LF:
                return -1
    return r


@jit
def copy_fields(text, fields, rows, column, offsets, out):
    """out[offsets[i] : offsets[i + 1]] = field `column` of row rows[i].

    Parameters
    ----------
    offsets : (rows + 1,) int32, of which the first is known.
    out : uint8, with room for seven bytes more.
    """
    to = offsets[0]
    for i in range(rows.size):
        a, end = fields[rows[i], column] + 1, fields[rows[i], column + 1]
        length = end - a
        for k in range(0, length, 8):
            words.store_word(out, to + k, words.load_word(text, a + k))
        to += length
        offsets[i + 1] = to


@jit
def number_fields(text, fields, first, last, column, slots, known, state, codes):
    """codes = the number of the text in a column of some rows, in order of first appearance.

    Parameters
    ----------
    first, last : the rows, from the first to before the last.
    slots : a table as in `naively.kernels.vocabulary`, zeros at first.
    known : (rows,) int64, the row in which each text appeared first.
    state : [how many texts are known].
    codes : (rows,) int32

    Returns
    -------
    The row that is to be next: `last`, or an earlier one if the table lacks room.
    """
    mask = np.uint64(slots.size // 2 - 1)
    one, two = np.uint64(1), np.uint64(2)
    count, most = state[0], slots.size // 4
    for r in range(first, last):
        a = np.int64(fields[r, column]) + 1
        length = np.int64(fields[r, column + 1]) - a
        key, size = term_key(text, a, length), np.uint64(length)
        place = hash_key(key, length) & mask
        while True:
            meta = slots[two * place + one]
            number = np.int64(meta & NUMBER) - 1
            if meta == 0:
                break
            if slots[two * place] == key and meta >> np.uint64(32) == size:
                if length <= 8:
                    break
                if same(text, a, text, np.int64(fields[known[number], column]) + 1, length):
                    break
            place = (place + one) & mask
        if meta == 0:
            if count == most:
                state[0] = count
                return r
            number = count
            known[number] = r
            slots[two * place] = key
            slots[two * place + one] = size << np.uint64(32) | np.uint64(number + 1)
            count += 1
        codes[r] = number
    state[0] = count
    return last
