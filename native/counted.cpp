// Terms of documents, as numbers: sorted, and equal ones counted.
#include "python.hpp"

#include "sorting.hpp"

namespace naively::SET {

constexpr i64 FEW = 512; // ids that are compared to be sorted
constexpr i64 BITS = 11; // of ids, that are sorted by at once
constexpr i64 BUCKETS = 1 << BITS;

// Sort ids under `below`, in place: some bits of them at a time, the lowest ones first.
static void sort_ids(i32 *ids, i64 size, i64 below, i32 *spare, i64 *ends) {
    for (i64 shift = 0; shift < 32 && below >> shift != 0; shift += BITS) {
        fill<i64>(ends, BUCKETS, 0);
        for (i64 p = 0; p < size; p++) ends[ids[p] >> shift & (BUCKETS - 1)]++;
        i64 total = 0;
        for (i64 d = 0; d < BUCKETS; d++) {
            const i64 count = ends[d];
            ends[d] = total;
            total += count;
        }
        for (i64 p = 0; p < size; p++) spare[ends[ids[p] >> shift & (BUCKETS - 1)]++] = ids[p];
        memcpy(ids, spare, size * sizeof(i32));
    }
}

// As `distinct`, by the documents of each id in turn.
static i64 distinct_together(Room &room, Flat<i32> ids, Flat<i64> indptr, i64 below,
                             Flat<f64> counts) {
    const i64 size = ids.size, rows = indptr.size - 1;
    const Flat<i32> starts = room.zeros<i32>(below + 1), documents = room.get<i32>(size);
    const Flat<i64> ends = room.get<i64>(rows);
    if (room.failed) return 0;
    for (const i32 id : ids) starts[id]++;
    i32 total = 0;
    for (i32 &start : starts) {
        const i32 count = start;
        start = total;
        total += count;
    }
    for (i64 i = 0; i < rows; i++) {
        for (i64 p = indptr[i]; p < indptr[i + 1]; p++) documents[starts[ids[p]]++] = i32(i);
        ends[i] = indptr[i];
    }
    i64 first = 0;
    for (i64 t = 0; t < below; t++) {
        for (i64 q = first; q < starts[t]; q++) {
            const i64 i = documents[q], p = ends[i];
            if (p > indptr[i] && ids[p - 1] == t) {
                counts[p - 1] += 1.0;
            } else {
                ids[p] = i32(t);
                counts[p] = 1.0;
                ends[i] = p + 1;
            }
        }
        first = starts[t];
    }
    i64 kept = 0;
    first = 0;
    for (i64 i = 0; i < rows; i++) {
        for (i64 p = first; p < ends[i]; p++, kept++) ids[kept] = ids[p], counts[kept] = counts[p];
        first = indptr[i + 1];
        indptr[i + 1] = kept;
    }
    return kept;
}

// Sort the ids of each document and count equal ones, in place; returns how many are left.
//
// All ids are under `below`; those of the first document begin at 0, and there are no others.
static i64 distinct(Room &room, Flat<i32> ids, Flat<i64> indptr, i64 below, Flat<f64> counts) {
    if (below <= 4 * ids.size && ids.size < i64(1) << 31 && indptr.size > 2)
        return distinct_together(room, ids, indptr, below, counts);
    i64 kept = 0, last = 0, most = 0;
    for (i64 i = 0; i + 1 < indptr.size; i++) most = larger(most, indptr[i + 1] - indptr[i]);
    i32 *spare = room.get<i32>(most).data;
    i64 *ends = room.get<i64>(BUCKETS).data;
    if (room.failed) return 0;
    for (i64 i = 0; i + 1 < indptr.size; i++) {
        const i64 first = last;
        last = indptr[i + 1];
        if (last - first < FEW) sort(ids.data + first, last - first);
        else sort_ids(ids.data + first, last - first, below, spare, ends);
        for (i64 p = first; p < last; p++) {
            if (p > first && ids[p] == ids[kept - 1]) {
                counts[kept - 1] += 1.0;
            } else {
                ids[kept] = ids[p];
                counts[kept++] = 1.0;
            }
        }
        indptr[i + 1] = kept;
    }
    return kept;
}

KERNELS(counted,
        KERNEL(distinct,
               "ids(m)<below indptr(n+1)^m below:0..2147483647 counts(m) ; indptr[0]==0 "
               "indptr[n]==m"));

} // namespace naively::SET
