// Logarithms of counts of terms.
#pragma once
#include "elementary.hpp"

namespace naively::SET {

constexpr f64 ROUNDING = 1e-9; // part of a count that is no more than rounding

// log (count + alpha): looked up in `logs`, where that has it.
inline f64 log_count(f64 count, f64 alpha, Flat<const f64> logs) {
    if (0.0 <= count && count < f64(logs.size)) {
        const i64 k = i64(count);
        if (f64(k) == count) return logs[k];
    }
    return log(count + alpha);
}

} // namespace naively::SET
