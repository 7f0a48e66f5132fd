// Exact numbers as rows of 64-bit limbs, and the arithmetic on them.
//
// A cell holds Σ limb[k] 2^(32 (low + k)). Between normalisations the limbs are lazy: each deposit
// adds at most 2^36 to a limb, so 2^26 deposits fit. Normalised, every limb but the last is a digit
// in [0, 2^32) and the last one carries the sign. After Neal (2015), "Fast exact summation using
// small and large superaccumulators".
#pragma once
#include "bits.hpp"

namespace naively::SET {

constexpr i64 DIGIT = 0xFFFFFFFF;
constexpr i64 HEADROOM = 40; // bits above the highest of a term, for the number of terms

// The whole number below a / b, for b > 0.
inline i64 floor_div(i64 a, i64 b) { return a / b - (a % b < 0); }

// Limbs for sums of terms with bits from 2^low (a multiple of 32) up to 2^high.
inline i64 limbs_needed(i64 low, i64 high) { return floor_div(high + HEADROOM - low, 32) + 3; }

// A finite float as mantissa · 2^exponent; the mantissa has the sign.
struct Parts2 {
    i64 mantissa, exponent;
};
inline Parts2 decompose(f64 x) {
    const i64 bits = float_bits(x);
    i64 exponent = (bits >> 52) & 0x7FF;
    i64 mantissa = bits & ((i64(1) << 52) - 1);
    if (exponent == 0) exponent = 1;
    else mantissa |= i64(1) << 52;
    return {bits < 0 ? -mantissa : mantissa, exponent - 1075};
}

// The limbs of a number, and the bit below which additions begin: they change three limbs each.
struct Cell {
    i64 *limbs, top;
    Cell(i64 *limbs, i64 size) : limbs(limbs), top(larger<i64>(0, 32 * (size - 2))) {}
};

// Cells of so many limbs, whose lowest bit is 2^low.
struct Limbs {
    i64 *data, size, low;
    Limbs(Flat<i64> limbs, i64 size, i64 low) : data(limbs.data), size(size), low(low) {}
    Cell operator[](i64 cell) const { return {data + cell * size, size}; }
};
constexpr const char *TOO_WIDE = "a number has bits beyond its limbs"; // what is wrong then

// Add value · 2^bit, bit counted from the cell's lowest. Bits below the cell are dropped: its lowest
// one is below every bit that is set. Returns whether there is room for it, as of all that follow.
inline bool add_integer(Cell cell, i64 bit, i64 value) {
    if (value == 0) return true;
    if (u64(bit) >= u64(cell.top)) {
        if (bit >= 0 || cell.top == 0) return false;
        value >>= bit < -63 ? 63 : -bit;
        bit = 0;
    }
    i64 *limb = cell.limbs + (bit >> 5);
    const i64 shift = bit & 31;
    const u64 low = u64(value & DIGIT) << shift;
    // the sum of both halves' shifted parts, digit by digit; arithmetic shifts keep the sign
    const i64 high = left(value >> 32, shift);
    limb[0] = plus(limb[0], i64(low & DIGIT));
    limb[1] = plus(limb[1], i64(low >> 32) + (high & DIGIT));
    limb[2] = plus(limb[2], high >> 32);
    return true;
}

// Add x exactly; `low` is the exponent of the cell's lowest bit.
inline bool add_value(Cell cell, i64 low, f64 x) {
    const Parts2 p = decompose(x);
    return add_integer(cell, p.exponent - low, p.mantissa);
}

// Add x w exactly.
inline bool add_product(Cell cell, i64 low, f64 x, f64 w) {
    const Parts2 p = decompose(x), q = decompose(w);
    const i64 bit = p.exponent + q.exponent - low;
    const i64 sign = (p.mantissa < 0) == (q.mantissa < 0) ? 1 : -1;
    const i64 m = magnitude(p.mantissa), v = magnitude(q.mantissa);
    const i64 a = m >> 32, b = m & DIGIT, c = v >> 32, d = v & DIGIT;
    const u64 bd = u64(b) * u64(d);
    bool fits = add_integer(cell, bit, sign * i64(bd & DIGIT));
    fits &= add_integer(cell, bit + 32, sign * (i64(bd >> 32) + a * d + b * c));
    fits &= add_integer(cell, bit + 64, sign * (a * c));
    return fits;
}

// Add sign · m n v 2^bit, for mantissas m, n, v >= 0.
inline bool add_weighted(Cell cell, i64 bit, i64 m, i64 n, i64 v, i64 sign) {
    if (v == 0) return true;
    const i64 zeros = trailing_zeros(u64(v)); // weights are mostly small integers
    v >>= zeros;
    bit += zeros;
    const i64 a = m >> 32, b = m & DIGIT, c = n >> 32, d = n & DIGIT;
    const u64 low = u64(b) * u64(d);
    const i64 middle = a * d + b * c, high = a * c;
    // the digits of m n, each below 2^33
    const i64 d0 = i64(low & DIGIT), d1 = i64(low >> 32) + (middle & DIGIT);
    const i64 d2 = (middle >> 32) + (high & DIGIT), d3 = high >> 32;
    bool fits = true;
    for (; v > 0; v >>= 20, bit += 20) { // 20-bit parts keep every product below 2^54
        const i64 piece = sign * (v & 0xFFFFF);
        fits &= add_integer(cell, bit, piece * d0);
        fits &= add_integer(cell, bit + 32, piece * d1);
        fits &= add_integer(cell, bit + 64, piece * d2);
        fits &= add_integer(cell, bit + 96, piece * d3);
    }
    return fits;
}

// Add x x w exactly (any sign of w).
inline bool add_square(Cell cell, i64 low, f64 x, f64 w) {
    const Parts2 p = decompose(x), q = decompose(w);
    const i64 m = magnitude(p.mantissa);
    return add_weighted(cell, 2 * p.exponent + q.exponent - low, m, m, magnitude(q.mantissa),
                        q.mantissa < 0 ? -1 : 1);
}

// Add x y w exactly.
inline bool add_triple(Cell cell, i64 low, f64 x, f64 y, f64 w) {
    const Parts2 p = decompose(x), q = decompose(y), r = decompose(w);
    const i64 sign = ((p.mantissa < 0) == (q.mantissa < 0)) == (r.mantissa >= 0) ? 1 : -1;
    return add_weighted(cell, p.exponent + q.exponent + r.exponent - low, magnitude(p.mantissa),
                        magnitude(q.mantissa), magnitude(r.mantissa), sign);
}

// Propagate the carries of cells of so many limbs, in place.
inline void normalise_cells(i64 *limbs, i64 cells, i64 size) {
    for (i64 i = 0; i < cells; i++, limbs += size) {
        i64 carry = 0;
        for (i64 k = 0; k < size - 1; k++) {
            const i64 value = plus(limbs[k], carry);
            limbs[k] = value & DIGIT;
            carry = value >> 32;
        }
        if (size > 0) limbs[size - 1] = plus(limbs[size - 1], carry);
    }
}

// The float64 nearest to a normalised cell, ties to even. `digits` has room for two more.
inline f64 nearest_float(const i64 *limbs, i64 step, i64 size, i64 low, i64 *digits) {
    const bool negative = size > 0 && limbs[(size - 1) * step] < 0;
    i64 carry = 0;
    for (i64 k = 0; k < size; k++) {
        const i64 limb = limbs[k * step];
        const i64 value = plus(negative ? minus(0, limb) : limb, carry);
        digits[k] = value & DIGIT;
        carry = value >> 32;
    }
    digits[size] = carry;
    i64 k = size;
    while (k >= 0 && digits[k] == 0) k--;
    if (k < 0) return 0.0;
    i64 length = 0; // bits of the leading digit
    while (length < 63 && digits[k] >> length != 0) length++;
    const i64 exponent = larger<i64>(low + 32 * k + length - 53, -1074); // of the last bit kept
    const i64 cut = exponent - low; // bits below it are rounded
    i64 mantissa = 0;
    for (i64 j = k; j >= 0; j--) {
        const i64 place = 32 * j - cut;
        if (place >= 0) mantissa = plus(mantissa, left(digits[j], place));
        else if (place > -32) mantissa += digits[j] >> -place;
    }
    i64 half = 0;
    bool rest = false;
    if (cut > 0) {
        const i64 j = (cut - 1) >> 5;
        if (j <= size) {
            half = (digits[j] >> ((cut - 1) & 31)) & 1;
            rest = (digits[j] & ((i64(1) << ((cut - 1) & 31)) - 1)) != 0;
            for (i64 m = 0; m < j; m++) rest = rest || digits[m] != 0;
        } else {
            rest = true;
        }
    }
    if (half == 1 && (rest || (mantissa & 1) == 1)) mantissa++;
    const f64 value = __builtin_ldexp(f64(mantissa), int(exponent));
    return negative ? -value : value;
}

} // namespace naively::SET
