// Hashes of spans of bytes, which are followed by seven bytes or more that are not of them.
//
// The key of a term of at most eight bytes is the term; of a longer one its hash, and then the bytes
// decide.
#pragma once
#include "bits.hpp"

namespace naively::SET {

constexpr u64 P0 = 0x9E3779B97F4A7C15, P1 = 0xD6E8FEB86659FD93;
constexpr u64 NUMBER = 0xFFFFFFFF; // bits of a slot's second word that are number + 1

// The hash of a term from its key and length.
inline u64 hash_key(u64 key, i64 length) { return fold(key ^ (u64(length) * P1), P0); }

// The key of so many bytes.
inline u64 term_key(const u8 *text, i64 length) {
    if (length == 0) return 0;
    if (length <= 8) return load_word(text) & (~u64(0) >> (64 - 8 * length));
    u64 key = u64(length) * P1;
    for (i64 k = 0; k < length - 8; k += 8) key = fold(key ^ load_word(text + k), P0);
    return fold(key ^ load_word(text + length - 8), P0);
}

// Whether two spans of more than eight bytes are equal.
inline bool same(const u8 *a, const u8 *b, i64 length) {
    for (i64 k = 0; k < length - 8; k += 8)
        if (load_word(a + k) != load_word(b + k)) return false;
    return load_word(a + length - 8) == load_word(b + length - 8);
}

// Write a span, and up to seven bytes beyond.
inline void copy_span(const u8 *from, i64 length, u8 *to) {
    for (i64 k = 0; k < length; k += 8) store_word(to + k, load_word(from + k));
}

} // namespace naively::SET
