"""Terms of documents, as numbers: sorted, and equal ones counted."""

import numpy as np

from naively.kernels.jit import jit

FEW, DIGIT = 512, 11  # ids that are compared to be sorted; bits of ids that are sorted by at once


@jit
def sort_ids(ids, below, spare, ends):
    """Sort ids under `below`, in place: some bits of them at a time, the lowest ones first."""
    for shift in range(0, 32, DIGIT):
        if below >> shift == 0:
            break
        ends[:] = 0
        for p in range(ids.size):
            ends[ids[p] >> shift & (ends.size - 1)] += 1
        total = 0
        for d in range(ends.size):
            total, ends[d] = total + ends[d], total
        for p in range(ids.size):
            d = ids[p] >> shift & (ends.size - 1)
            spare[ends[d]] = ids[p]
            ends[d] += 1
        ids[:] = spare[: ids.size]


@jit
def distinct(ids, indptr, below, counts):
    """Sort the ids of each document and count equal ones, in place; returns how many are left.

    All ids are under `below`; those of the first document begin at 0, and there are no others.
    """
    if below <= 4 * ids.size and ids.size < 1 << 31 and indptr.size > 2:
        return distinct_together(ids, indptr, below, counts)
    kept, last, most = 0, 0, 0
    for i in range(indptr.size - 1):
        most = max(most, indptr[i + 1] - indptr[i])
    spare, ends = np.empty(most, ids.dtype), np.empty(1 << DIGIT, np.int64)
    for i in range(indptr.size - 1):
        first, last = last, indptr[i + 1]
        if last - first < FEW:
            ids[first:last].sort()
        else:
            sort_ids(ids[first:last], below, spare, ends)
        for p in range(first, last):
            if p > first and ids[p] == ids[kept - 1]:
                counts[kept - 1] += 1.0
            else:
                ids[kept] = ids[p]
                counts[kept] = 1.0
                kept += 1
        indptr[i + 1] = kept
    return kept


@jit
def distinct_together(ids, indptr, below, counts):
    """As `distinct`, by the documents of each id in turn."""
    starts, size = np.zeros(below + 1, np.int32), ids.size
    for p in range(size):
        starts[ids[p]] += 1
    total = np.int32(0)
    for t in range(below + 1):
        total, starts[t] = total + starts[t], total
    documents = np.empty(size, np.int32)
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            documents[starts[ids[p]]] = i
            starts[ids[p]] += 1
    ends, first = indptr[:-1].copy(), 0
    for t in range(below):
        for q in range(first, starts[t]):
            i = documents[q]
            p = ends[i]
            if p > indptr[i] and ids[p - 1] == t:
                counts[p - 1] += 1.0
            else:
                ids[p] = t
                counts[p] = 1.0
                ends[i] = p + 1
        first = starts[t]
    kept, first = 0, 0
    for i in range(indptr.size - 1):
        for p in range(first, ends[i]):
            ids[kept], counts[kept] = ids[p], counts[p]
            kept += 1
        first = indptr[i + 1]
        indptr[i + 1] = kept
    return kept
