// x * y + z, rounded once: an instruction, and where a set has none the same bits by other ones.
#pragma once
#include "bits.hpp"

namespace naively::SET {

#if defined(__FMA__) || defined(__aarch64__)

inline f64 fma(f64 x, f64 y, f64 z) { return __builtin_fma(x, y, z); }
inline f64 fma_near(f64 x, f64 y, f64 z) { return __builtin_fma(x, y, z); }

#else

typedef f64 Two __attribute__((vector_size(16)));
typedef i64 TwoBits __attribute__((vector_size(16)));
typedef u64 TwoWords __attribute__((vector_size(16)));

// x + y = sum + error, exactly (Knuth 1969).
struct TwoSum {
    Two sum, error;
};
inline TwoSum two_sum(Two x, Two y) {
    const Two sum = x + y, rest = sum - x;
    return {sum, (x - (sum - rest)) + (y - rest)};
}
inline Two absolute(Two x) { return (Two)((TwoBits)x & INT64_MAX); }

// Where a product underflows, or something is huge or not finite.
inline __attribute__((noinline)) Two fused_far(Two x, Two y, Two z) {
    for (int k = 0; k < 2; k++) {
        const f64 product = x[k] * y[k];
        if ((x[k] - x[k]) + (y[k] - y[k]) != 0.0 || x[k] == 0.0 || y[k] == 0.0) z[k] += product;
        else if (z[k] - z[k] == 0.0) z[k] = __builtin_fma(x[k], y[k], z[k]);
    }
    return z;
}

// Of the exact product (Dekker 1971) and z, the lower parts are added with the last bit set where
// that is inexact, so that the last sum alone rounds (Boldo and Melquiond 2008).
inline Two fused_near(Two x, Two y, Two z) {
    const Two product = x * y;
    const Two x_part = x * 0x8000001p0, x_high = x_part - (x_part - x), x_low = x - x_high;
    const Two y_part = y * 0x8000001p0, y_high = y_part - (y_part - y), y_low = y - y_high;
    const Two error =
        ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low;
    const TwoSum low = two_sum(z, error), high = two_sum(product, low.sum);
    const TwoSum rest = two_sum(high.error, low.error);
    const TwoWords inexact = (TwoWords)(rest.error != 0.0);
    TwoWords bits = (TwoWords)rest.sum;
    bits -= (bits ^ (TwoWords)rest.error) >> 63 & inexact; // towards 0: the last bit is set next
    bits |= inexact & 1;
    return high.sum + (Two)bits;
}
inline Two fused(Two x, Two y, Two z) {
    const Two product = x * y, size = absolute(product);
    const TwoBits none = (x == 0.0) | (y == 0.0); // the product is exact, but for its sign
    const TwoBits near = (absolute(x) < 0x1p960) & (absolute(y) < 0x1p960) &
                          (absolute(z) < 0x1p960) & (size < 0x1p960) & ((size > 0x1p-960) | none);
    if ((near[0] & near[1]) == 0) return fused_far(x, y, z);
    const Two found = fused_near(x, y, z), plain = product + z;
    return (Two)(((TwoBits)plain & none) | ((TwoBits)found & ~none));
}
inline f64 fma(f64 x, f64 y, f64 z) { return fused(Two{x}, Two{y}, Two{z})[0]; }
inline f64 fma_near(f64 x, f64 y, f64 z) { return fused_near(Two{x}, Two{y}, Two{z})[0]; }

#endif

} // namespace naively::SET
