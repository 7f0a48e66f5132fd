// Words of eight bytes and the numbers in them.
#pragma once
#include "arrays.hpp"

namespace naively::SET {

using u128 = unsigned __int128;

// The eight bytes at a place, the first one lowest.
inline u64 load_word(const u8 *at) {
    u64 word;
    memcpy(&word, at, 8);
    return word;
}
inline void store_word(u8 *at, u64 word) { memcpy(at, &word, 8); }

// The two halves of the 128-bit product, exclusive-or: every bit of x and y matters.
inline u64 fold(u64 x, u64 y) {
    const u128 product = u128(x) * y;
    return u64(product >> 64) ^ u64(product);
}

// The number of zero bits above the highest one, or below the lowest one; 64 of zero.
inline i64 leading_zeros(u64 x) { return x ? __builtin_clzll(x) : 64; }
inline i64 trailing_zeros(u64 x) { return x ? __builtin_ctzll(x) : 64; }

inline i64 float_bits(f64 x) {
    i64 bits;
    memcpy(&bits, &x, 8);
    return bits;
}
inline f64 bits_float(i64 bits) {
    f64 x;
    memcpy(&x, &bits, 8);
    return x;
}

// Begin to fetch a place into the cache.
inline void prefetch(const void *at) { __builtin_prefetch(at, 0, 3); }

// Sums and products that wrap around, as limbs may on the way.
inline i64 plus(i64 a, i64 b) { return i64(u64(a) + u64(b)); }
inline i64 minus(i64 a, i64 b) { return i64(u64(a) - u64(b)); }
inline i64 times(i64 a, i64 b) { return i64(u64(a) * u64(b)); }
inline i64 left(i64 a, i64 bits) { return i64(u64(a) << bits); }

} // namespace naively::SET
