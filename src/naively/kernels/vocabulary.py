"""Terms to numbers: a hash table over spans of bytes.

A slot of the table is two words: a key, and (length << 32 | number + 1), or 0 where it is free.
The key of a term of at most eight bytes is the term; of a longer one its hash, and then the bytes
decide, which are arena[starts[number] : starts[number + 1]].
"""

import numpy as np

from naively.kernels import words
from naively.kernels.jit import jit

DONE, FULL = 0, 1
CHUNK = 64  # n-grams whose slots are fetched at once
P0, P1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
NUMBER = np.uint64(0xFFFFFFFF)


@jit
def hash_key(key, length):
    """The hash of a term from its key and length."""
    return words.fold(key ^ (np.uint64(length) * P1), P0)


@jit
def term_key(text, a, length):
    """The key of text[a : a + length]."""
    if length == 0:
        return np.uint64(0)
    if length <= 8:
        return words.load_word(text, a) & (~np.uint64(0) >> np.uint64(64 - 8 * length))
    key = np.uint64(length) * P1
    for k in range(0, length - 8, 8):
        key = words.fold(key ^ words.load_word(text, a + k), P0)
    return words.fold(key ^ words.load_word(text, a + length - 8), P0)


@jit
def same(text, a, arena, b, length):
    """Whether two spans of more than eight bytes are equal."""
    for k in range(0, length - 8, 8):
        if words.load_word(text, a + k) != words.load_word(arena, b + k):
            return False
    return words.load_word(text, a + length - 8) == words.load_word(arena, b + length - 8)


@jit
def number_grams(
    text, begins, ends, groups, documents, low, high, short, grow, buckets,
    slots, arena, starts, sizes, state, ids, indptr,
):  # fmt: skip
    """ids = the numbers of all n-grams, those of document i at ids[indptr[i] : indptr[i + 1]].

    Parameters
    ----------
    begins, ends : units, of which each n-gram is the span of n in a row within its group.
    groups, documents : where the units of each group end, and the document it belongs to.
    low, high : least and greatest n.
    short : whether a group of fewer than n units counts as one n-gram, for the least such n.
    grow : whether new terms get the next number; else theirs is -1.
    buckets : 0, or the number of buckets, a power of two: then the number is that of the hash.
    slots, arena, starts : the table.
    sizes : [number of terms], and where the next one's bytes go.
    state : [group, n, first unit, number of ids] to go on from; and the bytes of terms to come.
    indptr : zeros at first.

    Returns
    -------
    DONE, or FULL if the table may lack room for the next terms: enlarge it and call again.
    """
    one, two = np.uint64(1), np.uint64(2)
    froms, lengths = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
    keys, places = np.empty(CHUNK, np.uint64), np.empty(CHUNK, np.uint64)
    numbers = np.empty(CHUNK, np.int64)
    mask = np.uint64(slots.size // 2 - 1)
    g, n, u, filled = state[0], state[1], state[2], state[3]
    while True:
        # the next few spans
        m, total = 0, 0
        while g < groups.size and m < CHUNK:
            first = groups[g - 1] if g > 0 else 0
            size = groups[g] - first
            if n > high or (n > size and not (short and size > 0)):
                indptr[documents[g] + 1] = filled + m
                g, n, u = g + 1, low, 0
                continue
            width = min(n, size)
            until = min(size - width + 1, u + CHUNK - m)
            for k in range(u, until):
                a = np.int64(begins[first + k])
                length = np.int64(ends[first + k + width - 1]) - a
                froms[m], lengths[m] = a, length
                total += length + 8
                m += 1
            u = until
            if u > size - width:
                n, u = (high + 1 if short and width == size else n + 1), 0
        if m == 0:
            break
        if grow and (
            sizes[0] + m > slots.size // 4
            or sizes[0] + m >= starts.size
            or starts[sizes[0]] + total > arena.size
        ):
            state[4] = total
            return FULL
        state[0], state[1], state[2], state[3] = g, n, u, filled + m
        # their keys; the table is far away, so it is asked for early
        for k in range(m):
            keys[k] = term_key(text, froms[k], lengths[k])
            hashed = hash_key(keys[k], lengths[k])
            if buckets > 0:
                ids[filled + k] = np.int64(hashed & np.uint64(buckets - 1))
            else:
                places[k] = hashed & mask
                words.prefetch(slots, np.int64(two * places[k]))
        if buckets == 0:
            if total > 16 * m:  # of long terms the bytes decide, which are further away
                for k in range(m):
                    meta = slots[two * places[k] + one]
                    numbers[k] = np.int64(meta & NUMBER) - 1
                    if meta != 0:
                        words.prefetch(starts, numbers[k])
                for k in range(m):
                    if numbers[k] >= 0 and lengths[k] > 8:
                        words.prefetch(arena, starts[numbers[k]])
            for k in range(m):
                key, s, length = keys[k], places[k], np.uint64(lengths[k])
                while True:
                    meta = slots[two * s + one]
                    number = np.int64(meta & NUMBER) - 1
                    if meta != 0 and slots[two * s] == key and meta >> np.uint64(32) == length:
                        if lengths[k] <= 8:
                            break
                        if same(text, froms[k], arena, starts[number], lengths[k]):
                            break
                    if meta == 0:
                        if grow:
                            number = sizes[0]
                            end = starts[number]
                            for q in range(0, lengths[k], 8):
                                words.store_word(
                                    arena, end + q, words.load_word(text, froms[k] + q)
                                )
                            starts[number + 1] = end + lengths[k]
                            sizes[0] = number + 1
                            slots[two * s] = key
                            slots[two * s + one] = length << np.uint64(32) | np.uint64(number + 1)
                        break
                    s = (s + one) & mask
                ids[filled + k] = number
        filled += m
    for i in range(1, indptr.size):
        indptr[i] = max(indptr[i], indptr[i - 1])
    state[3] = filled
    return DONE


@jit
def drop_unknown(ids, indptr):
    """Close the gaps of ids that are -1, in place; returns how many are left."""
    kept, first = 0, 0
    for i in range(indptr.size - 1):
        last = indptr[i + 1]
        for p in range(first, last):
            ids[kept] = ids[p]
            kept += ids[p] >= 0
        first = last
        indptr[i + 1] = kept
    return kept


@jit
def rehash(old, new):
    """Put all that is in a table into a larger one."""
    mask = new.size // 2 - 1
    for s in range(old.size // 2):
        meta = old[2 * s + 1]
        if meta == 0:
            continue
        key = old[2 * s]
        t = np.int64(hash_key(key, np.int64(meta >> np.uint64(32)))) & mask
        while new[2 * t + 1] != 0:
            t = (t + 1) & mask
        new[2 * t], new[2 * t + 1] = key, meta


@jit
def count_terms(ids, indptr, classes, first, stride, counts, once, seen, stamp, documents):
    """Count the terms of each document in the row of its class; returns the next stamp.

    Parameters
    ----------
    ids, indptr : as `number_grams` makes them.
    classes : class of each document, of which document 0 here is number `first`; those of -1 are
        not counted.
    counts : flat, `stride` numbers a class.
    once : whether a term counts once a document.
    seen : of each term the stamp of the last document that had it; empty if nothing asks for it.
    stamp : of the first document.
    documents : as counts, how many documents have the term; or empty.
    """
    for i in range(indptr.size - 1):
        base = classes[first + i] * stride
        if base < 0:
            continue
        if not once:
            for p in range(indptr[i], indptr[i + 1]):
                counts[np.uint64(base + ids[p])] += 1
        if seen.size > 0:
            for p in range(indptr[i], indptr[i + 1]):
                t = ids[p]
                if seen[t] != stamp:
                    seen[t] = stamp
                    if once:
                        counts[base + t] += 1
                    if documents.size > 0:
                        documents[base + t] += 1
            stamp += 1
    return stamp


@jit
def keep_others(ids, begins, ends, groups):
    """Drop the units whose id is 0 or more, in place; returns how many are left."""
    kept, first = 0, 0
    for g in range(groups.size):
        last = groups[g]
        for u in range(first, last):
            begins[kept], ends[kept] = begins[u], ends[u]
            kept += ids[u] < 0
        groups[g] = kept
        first = last
    return kept


@jit
def pieces_of(arena, starts, lengths, numbers, at):
    """Eight bytes of each of some terms from byte `at` on, as a number that sorts as they do."""
    out = np.empty(numbers.size, np.uint64)
    for k in range(numbers.size):
        value = np.uint64(0)
        first = starts[numbers[k]] + at
        for q in range(min(lengths[numbers[k]] - at, 8)):
            value |= np.uint64(arena[first + q]) << np.uint64(56 - 8 * q)
        out[k] = value
    return out


@jit
def add_counts(table, more, places):
    """table[c, places[k]] += more[c, k], where most are zero."""
    for c in range(table.shape[0]):
        row, other = table[c], more[c]
        for k in range(places.size):
            if other[k] != 0:
                row[places[k]] += other[k]


@jit
def count_met(sums, size):
    """How many of the first columns of sums, (C, d, L), have a number that is not 0."""
    step = 512
    met = np.empty(step, np.int64)
    count = 0
    for first in range(0, size, step):
        last = min(first + step, size)
        met[: last - first] = 0
        for c in range(sums.shape[0]):
            for k in range(sums.shape[2]):
                for j in range(first, last):
                    met[j - first] |= sums[c, j, k]
        for j in range(last - first):
            count += met[j] != 0
    return count


@jit
def normalise(values, indptr, squares):
    """Divide each document's values by their norm, in place; a document of zeros stays.

    Values are added up by size, so that their order is no matter.
    """
    for i in range(indptr.size - 1):
        part = values[indptr[i] : indptr[i + 1]]
        ordered = np.sort(part)
        total = 0.0
        for k in range(ordered.size):
            total += ordered[k] * ordered[k] if squares else ordered[k]
        if squares:
            total = np.sqrt(total)
        if total > 0.0:
            for k in range(part.size):
                part[k] /= total
