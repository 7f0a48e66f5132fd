"""The different numbers of a column, counted by class: all of them while they are few."""

import numpy as np

from naively.hashing import GOLDEN
from naively.kernels import few
from naively.kernels.jit import jit, or_few

FREE = -1
"""A slot of the table that no number has."""
PRESENT, FRACTIONAL, NEGATIVE, KNOWN, SHIFT = range(5)
"""What is reported: values that are there, no whole ones, below 0; different ones; the sample."""


@jit
def hashed(bits):
    """`hashing.mixed` of the bits of a number."""
    state = bits + np.uint64(GOLDEN)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@or_few(few.tabulate)
@jit
def tabulate(x, bits, codes, keys, counts, missing, slots, report):
    """Count the different numbers of a column by class.

    Once there are more than `keys` has room for, those are counted whose hash begins with so many
    zero bits that they fit: a sample that does not depend on the order of the rows.

    Parameters
    ----------
    x : (n,) float64, NaN where missing; without -0.0. bits : the same as uint64.
    codes : (n,) class of each row.
    keys : (limit,) the different numbers. counts : (limit, C) how often each was there.
    missing : (C,) values that are missing.
    slots : (S,) FREE; S is a power of two, at least twice the limit.
    report : (5,) PRESENT, FRACTIONAL, NEGATIVE, KNOWN, SHIFT (zero bits), in this order.
    """
    limit, mask = keys.size, np.uint64(slots.size - 1)
    known, shift = 0, np.uint64(0)
    for i in range(x.size):
        value = x[i]
        if np.isnan(value):
            missing[codes[i]] += 1
            continue
        report[0] += 1
        report[1] += value != np.floor(value)
        report[2] += value < 0.0
        state = hashed(bits[i])
        if shift and state >> (np.uint64(64) - shift):
            continue
        at = state & mask
        while slots[at] >= 0 and keys[slots[at]] != value:
            at = (at + np.uint64(1)) & mask
        if slots[at] < 0:
            while known == limit:
                shift += np.uint64(1)
                known = thinned(keys, counts, slots, mask, shift)
                if state >> (np.uint64(64) - shift):
                    break
            if shift:
                if state >> (np.uint64(64) - shift):
                    continue
                at = state & mask
                while slots[at] >= 0:
                    at = (at + np.uint64(1)) & mask
            slots[at] = known
            keys[known] = value
            known += 1
        counts[slots[at], codes[i]] += 1
    report[3], report[4] = known, np.int64(shift)


@jit
def thinned(keys, counts, slots, mask, shift):
    """Keep the numbers of a table whose hashes begin with so many zero bits: how many these are."""
    kept = 0
    slots[:] = -1
    own = keys.view(np.uint64)
    for k in range(keys.size):
        state = hashed(own[k])
        if state >> (np.uint64(64) - shift):
            counts[k, :] = 0
            continue
        if kept < k:
            keys[kept] = keys[k]
            counts[kept, :] = counts[k, :]
            counts[k, :] = 0
        at = state & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = kept
        kept += 1
    return kept
