// UTF-8: decoding, encoding, and what each character is.
//
// `properties` has a row of bits for each code point: what it is in lower case, and whether it is of
// a word, a space, of a case, or without influence on the case of its neighbours.
#pragma once
#include "arrays.hpp"

namespace naively::SET {

constexpr i64 LETTER = (1 << 21) - 1; // bits of the lower-case code point
constexpr i64 WORD = 1 << 21, SPACE = 1 << 22, CASED = 1 << 23, IGNORABLE = 1 << 24;
constexpr i64 REPLACEMENT = 0xFFFD;
// the one letter whose lower case depends on its neighbours, and the one of which it makes two
constexpr i64 SIGMA = 0x3A3, FINAL_SIGMA = 0x3C2, DOTTED_I = 0x130, DOT = 0x307;

struct Character {
    i64 point, length;
};

// The code point at data[p], and its number of bytes; what is not UTF-8 is U+FFFD.
//
// As many bytes are one U+FFFD as in Python's errors="replace". Surrogates, which Python's strings
// may have, stand for themselves.
inline Character decode(const u8 *data, i64 p, i64 stop) {
    i64 b = data[p];
    if (b < 0x80) return {b, 1};
    if (b < 0xC2 || b > 0xF4) return {REPLACEMENT, 1};
    const i64 length = b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
    if (b == 0xED && p + 1 < stop && data[p + 1] >= 0xA0) // a whole surrogate, or none
        if (p + 2 >= stop || data[p + 1] > 0xBF || (data[p + 2] & 0xC0) != 0x80)
            return {REPLACEMENT, 1};
    i64 low = b == 0xE0 ? 0xA0 : b == 0xF0 ? 0x90 : 0x80, high = b == 0xF4 ? 0x8F : 0xBF;
    i64 c = b & (0x7F >> length);
    for (i64 k = 1; k < length; k++) {
        if (p + k >= stop) return {REPLACEMENT, k};
        b = data[p + k];
        if (b < low || b > high) return {REPLACEMENT, k};
        low = 0x80, high = 0xBF;
        c = c << 6 | (b & 0x3F);
    }
    return {c, length};
}

// Write a code point to text[o]; where the next one goes.
inline i64 encode_point(i64 c, u8 *text, i64 o) {
    if (c < 0x80) {
        text[o] = u8(c);
        return o + 1;
    }
    if (c < 0x800) {
        text[o] = u8(0xC0 | c >> 6);
        text[o + 1] = u8(0x80 | (c & 0x3F));
        return o + 2;
    }
    if (c < 0x10000) {
        text[o] = u8(0xE0 | c >> 12);
        text[o + 1] = u8(0x80 | (c >> 6 & 0x3F));
        text[o + 2] = u8(0x80 | (c & 0x3F));
        return o + 3;
    }
    text[o] = u8(0xF0 | c >> 18);
    text[o + 1] = u8(0x80 | (c >> 12 & 0x3F));
    text[o + 2] = u8(0x80 | (c >> 6 & 0x3F));
    text[o + 3] = u8(0x80 | (c & 0x3F));
    return o + 4;
}

// Whether a sigma at data[p] ends a word: a cased letter is before it, and none behind.
inline bool is_final(const u8 *data, i64 p, i64 start, i64 stop, Flat<const i32> properties) {
    bool found = false;
    for (i64 q = p; q > start;) {
        const i64 end = q--;
        while (q > start && end - q < 4 && (data[q] & 0xC0) == 0x80) q--;
        const Character c = decode(data, q, end);
        if (q + c.length != end) break; // bytes that are no UTF-8
        if (!(properties[c.point] & IGNORABLE)) {
            found = (properties[c.point] & CASED) != 0;
            break;
        }
    }
    if (!found) return false;
    for (i64 q = p + 2; q < stop;) {
        const Character c = decode(data, q, stop);
        if (!(properties[c.point] & IGNORABLE)) return (properties[c.point] & CASED) == 0;
        q += c.length;
    }
    return true;
}

} // namespace naively::SET
