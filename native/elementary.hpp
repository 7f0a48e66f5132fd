// Exponentials and logarithms: the same bits on every processor and system.
//
// The methods are those of Arm's optimized routines (S. Nagy), and of glibc since 2.28; each product
// that is added is rounded once, so that the bits are those of glibc on processors with FMA. Errors
// are below 0.52 units in the last place, 0.82 of the logarithm of float32.
#pragma once
#include "elementary_tables.hpp"
#include "fused.hpp"

namespace naively::SET {

constexpr f64 WHOLE = 0x1.8p52; // beside it, float64 has whole numbers only: the last bits of the sum
constexpr f64 PER_LOG_2 = 0x1.71547652b82fep0;

// exp x = 2^(k / 128) exp r with k = 128 x / log 2, rounded: a table, and a polynomial of |r| < 0.0028.
inline f64 exp(f64 x) {
    const f64 size = magnitude(x);
    if (!(size < 1024.0)) return x > 0.0 ? INF : x < 0.0 ? 0.0 : x;
    const f64 shifted = fma_near(128 * PER_LOG_2, x, WHOLE), k = shifted - WHOLE;
    f64 r = fma_near(k, -0x1.62e42fefa0000p-8, x); // log 2 / 128 in two parts
    r = fma_near(k, -0x1.cf79abc9e3b3ap-47, r);
    const u64 last = u64(float_bits(shifted));
    const Power power = POWERS[last % 128];
    const u64 bits = power.bits + (last << 45); // of 2^(k / 128), if that is a normal number
    const f64 r2 = r * r;
    f64 rest = fma_near(0x1.555555555543cp-3, r, 0x1.ffffffffffdbdp-2);
    rest = fma_near(rest, r2, r + bits_float(i64(power.tail)));
    rest = fma_near(r2 * r2, fma_near(0x1.1111167a4d017p-7, r, 0x1.55555cf172b91p-5), rest);
    if (size < 512.0) {
        const f64 scale = bits_float(i64(bits));
        return fma_near(scale, rest, scale);
    }
    if (x > 0.0) { // the scale may be too large, and the product infinite
        const f64 scale = bits_float(i64(bits - (u64(1009) << 52)));
        return 0x1p1009 * fma_near(scale, rest, scale);
    }
    const f64 scale = bits_float(i64(bits + (u64(1022) << 52)));
    f64 y = scale + scale * rest;
    if (y < 1.0) { // a subnormal number is to be rounded once: at its own last bit
        const f64 low = scale - y + scale * rest, high = 1.0 + y;
        y = high + (1.0 - high + y + low) - 1.0;
    }
    return 0x1p-1022 * y;
}

// log x for 1 - 2^-4 <= x < 1 + 2^-4: r - r²/2 in two parts, and a polynomial, r = x - 1.
inline f64 log_near_1(f64 x) {
    const f64 r = x - 1.0, r2 = r * r, r3 = r * r2;
    f64 first = fma_near(-0x1.ffffffffffdcbp-3, r, 0x1.5555555555577p-2);
    first = fma_near(r2, 0x1.999999995dd0cp-3, first);
    f64 second = fma_near(0x1.24924a344de3p-3, r, -0x1.55555556745a7p-3);
    second = fma_near(r2, -0x1.fffffa4423d65p-4, second);
    f64 third = fma_near(-0x1.999eb43b068ffp-4, r, 0x1.c7184282ad6cap-4);
    third = fma_near(r2, 0x1.78182f7afd085p-4, third);
    third = fma_near(r3, -0x1.5521375d145cdp-4, third);
    const f64 rest = fma_near(fma_near(third, r3, second), r3, first);
    const f64 top = fma_near(-0x1p27, r, fma_near(0x1p27, r, r)); // r to 26 bits
    const f64 square = top * top, high = fma_near(square, -0.5, r);
    f64 low = fma_near(square, -0.5, r - high);
    low = fma_near(-0.5 * (r - top), r + top, low);
    return high + fma_near(rest, r3, low);
}

// log x = k log 2 + log c + log (z / c), x = 2^k z: 1 / c and log c are in a table, for c near z.
inline f64 log(f64 x) {
    u64 bits = u64(float_bits(x));
    if (bits - 0x3FEE000000000000 < 0x3090000000000) return log_near_1(x);
    if (bits - 0x0010000000000000 >= 0x7FE0000000000000) { // not a normal number above 0
        if (x == 0.0) return -INF;
        if (!(x > 0.0)) return __builtin_nan("");
        if (x == INF) return x;
        bits = u64(float_bits(x * 0x1p52)) - (u64(52) << 52);
    }
    const u64 beyond = bits - 0x3FE6000000000000; // z is in [0.6875, 1.375)
    const Reciprocal near = RECIPROCALS[beyond >> 45 & 127];
    const f64 k = f64(i64(beyond) >> 52);
    const f64 z = bits_float(i64(bits - (beyond & 0xFFF0000000000000)));
    const f64 r = fma_near(z, near.inverse, -1.0), r2 = r * r;
    const f64 whole = fma_near(k, 0x1.62e42fefa3800p-1, near.log), high = whole + r;
    f64 low = fma_near(k, 0x1.ef35793c76730p-45, whole - high + r);
    low = fma_near(r2, -0x1.0000000000001p-1, low);
    f64 rest = fma_near(r, -0x1.55575e506c89fp-3, 0x1.999b324f10111p-3);
    rest = fma_near(rest, r2, fma_near(-0x1.fffffffeb459p-3, r, 0x1.555555551305bp-2));
    return fma_near(r * r2, rest, low) + high;
}

// The same of float32, in float64: a table of 32 powers. No branches, so that loops are vectorised.
inline f32 exp(f32 x) {
    const f64 shifted = fma_near(32 * PER_LOG_2, f64(x), WHOLE), k = shifted - WHOLE;
    const f64 r = fma_near(32 * PER_LOG_2, f64(x), -k), r2 = r * r; // 32 of what is left
    const u64 last = u64(float_bits(shifted));
    const f64 scale = bits_float(i64(POWERS[last % 32 * 4].bits + (last << 47)));
    const f64 cubic = fma_near(0x1.c6af84b912394p-20, r, 0x1.ebfce50fac4f3p-13);
    const f64 found = fma_near(cubic, r2, fma_near(0x1.62e42ff0c52d6p-6, r, 1.0)) * scale;
    const f32 bounded = x < -0x1.9fe368p6f ? f32(0) : f32(found); // half of the smallest number
    return x <= 0x1.62e42ep6f ? bounded : x > 0 ? f32(INF) : x;   // log of the largest, or NaN
}

// The same of float32, in float64: a table of 16 numbers.
inline f32 log(f32 x) {
    const bool tiny = x < 0x1p-126f; // a subnormal number, or none above 0
    const f32 normal = tiny ? x * 0x1p23f : x;
    u32 bits;
    memcpy(&bits, &normal, 4);
    const u32 beyond = bits - 0x3F330000; // z is in [0.699, 1.398)
    const Reciprocal near = SHORT_RECIPROCALS[beyond >> 19 & 15];
    const u32 of_z = bits - (beyond & 0xFF800000);
    f32 z;
    memcpy(&z, &of_z, 4);
    const f64 r = fma_near(f64(z), near.inverse, -1.0), r2 = r * r;
    const f64 k = f64((i32(beyond) >> 23) - (tiny ? 23 : 0));
    const f64 high = fma_near(k, 0x1.62e42fefa39efp-1, near.log);
    f64 rest = fma_near(0x1.5575b0be00b6ap-2, r, -0x1.ffffef20a4123p-2);
    rest = fma_near(-0x1.00ea348b88334p-2, r2, rest);
    const f32 found = f32(fma_near(r2, rest, high + r));
    const f32 odd = x == 0 ? f32(-INF) : x > 0 ? x : __builtin_nanf(""); // 0, infinite, or no log
    return x > 0 && x < f32(INF) ? found : odd;
}

} // namespace naively::SET
