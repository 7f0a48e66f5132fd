// Sorting numbers of which equal ones cannot be told from each other.
#pragma once
#include "arrays.hpp"

namespace naively::SET {

// Sort in place: by comparisons of numbers far apart, then nearer (Shell 1959, gaps of Ciura 2001).
template <class T> inline void sort(T *data, i64 size) {
    const i64 GAPS[] = {701, 301, 132, 57, 23, 10, 4, 1};
    i64 gap = 701;
    while (gap * 9 / 4 < size) gap = gap * 9 / 4;
    for (int k = 0;; gap = gap > 701 ? larger<i64>(gap * 4 / 9, 701) : GAPS[++k]) {
        for (i64 i = gap; i < size; i++) {
            const T value = data[i];
            i64 j = i;
            for (; j >= gap && value < data[j - gap]; j -= gap) data[j] = data[j - gap];
            data[j] = value;
        }
        if (gap == 1) break;
    }
}

} // namespace naively::SET
