// Labels to codes.
#include "python.hpp"

namespace naively::SET {

// (smallest, largest) of a non-empty integer array.
static Pair integer_range(AnyFlat y) {
    return y.typed([](auto values) {
        i64 low = i64(values[0]), high = low;
        for (auto value : values) {
            low = smaller(low, i64(value));
            high = larger(high, i64(value));
        }
        return Pair{low, high};
    });
}

// Code each label by its rank among those met; `present` marks them on return.
static void integer_codes(Room &room, AnyFlat y, i64 low, Flat<i64> present, Flat<i64> codes) {
    const Flat<i64> ranks = room.get<i64>(present.size);
    if (room.failed) return;
    y.typed([&](auto values) {
        for (auto value : values) present[i64(value) - low] = 1;
        i64 rank = 0;
        for (i64 k = 0; k < present.size; k++) {
            ranks[k] = rank;
            rank += present[k];
        }
        for (i64 i = 0; i < values.size; i++) codes[i] = ranks[i64(values[i]) - low];
        return true;
    });
}

// The rows of class c, in their order, are order[ends[c] : ends[c + 1]].
static void sort_rows(Room &room, Flat<const i64> codes, Flat<i64> order, Flat<i64> ends) {
    const i64 classes = ends.size - 1;
    const Flat<i64> place = room.get<i64>(classes);
    if (room.failed) return;
    fill<i64>(ends.data, ends.size, 0);
    for (const i64 c : codes) ends[c + 1]++;
    for (i64 c = 0; c < classes; c++) ends[c + 1] += ends[c];
    for (i64 c = 0; c < classes; c++) place[c] = ends[c];
    for (i64 i = 0; i < codes.size; i++) order[place[codes[i]]++] = i;
}

KERNELS(labels,
        KERNEL(integer_range, "y(n) ; n>=1"),
        KERNEL(integer_codes, "y(n):low..low+p-1 low present(p) codes(n)"),
        KERNEL(sort_rows, "codes(n)<C order(n) ends(C+1)"));

} // namespace naively::SET
