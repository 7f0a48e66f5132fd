"""Hashes of documents."""

import numpy as np

from naively.kernels import words
from naively.kernels.jit import jit
from naively.kernels.vocabulary import P0, P1


@jit
def hash_documents(data, offsets, out):
    """out[i] = a hash of the bytes of document i, data[offsets[i] : offsets[i + 1]]."""
    for i in range(out.size):
        at, stop = offsets[i], offsets[i + 1]
        key = np.uint64(stop - at) * P1
        while at + 8 <= stop:
            key = words.fold(key ^ words.load_word(data, at), P0)
            at += 8
        rest = np.uint64(0)
        for k in range(at, stop):
            rest |= np.uint64(data[k]) << np.uint64(8 * (k - at))
        out[i] = words.fold(words.fold(key ^ rest, P0) ^ P1, P0)
