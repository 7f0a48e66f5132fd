// Whether all of some whole numbers are within a range, in a loop that is vectorised.
#pragma once
#include "arrays.hpp"

namespace naively::SET {

template <class T> struct Unsigned {};
template <> struct Unsigned<int8_t> { using type = u8; };
template <> struct Unsigned<u8> { using type = u8; };
template <> struct Unsigned<int16_t> { using type = uint16_t; };
template <> struct Unsigned<uint16_t> { using type = uint16_t; };
template <> struct Unsigned<i32> { using type = u32; };
template <> struct Unsigned<u32> { using type = u32; };
template <> struct Unsigned<i64> { using type = u64; };
template <> struct Unsigned<u64> { using type = u64; };

// Whether n values, `stride` apart, are from low to high.
template <class T>
inline bool within(const T *values, i64 n, i64 stride, i64 low, i64 high) {
    using U = typename Unsigned<T>::type;
    constexpr int bits = 8 * sizeof(T);
    constexpr bool sign = T(-1) < T(0);
    constexpr i64 least = !sign ? 0 : bits == 64 ? INT64_MIN : -(i64(1) << (bits - 1) % 63);
    constexpr i64 greatest = bits == 64 ? INT64_MAX : (i64(1) << (bits - sign) % 63) - 1;
    if (n == 0) return true;
    if (low > high || high < least || low > greatest) return false;
    low = larger(low, least), high = smaller(high, greatest);
    if (low == least && high == greatest && (sign || bits < 64)) return true;
    const U base = U(low), span = U(u64(high) - u64(low));
    if (span >> (bits - 1)) { // the loop below needs a bit for the sign
        bool beyond = false;
        for (i64 i = 0; i < n; i++) beyond |= U(U(values[i * stride]) - base) > span;
        return !beyond;
    }
    U beyond = 0; // its highest bit is set by x above the span, as by a difference below 0
    const auto look = [&](T value) {
        const U x = U(U(value) - base);
        beyond = U(beyond | x | U(span - x));
    };
    if (stride == 1)
        for (i64 i = 0; i < n; i++) look(values[i]);
    else
        for (i64 i = 0; i < n; i++) look(values[i * stride]);
    return !(beyond >> (bits - 1));
}

} // namespace naively::SET
