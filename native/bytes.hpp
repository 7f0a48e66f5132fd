// Sixty-four bytes as one value: one, two or four registers of the processor.
#pragma once
#include "bits.hpp"
#include "vector.hpp"

namespace naively::SET {

constexpr i64 BLOCK = 64;
#if defined(__AVX512BW__)
constexpr int BYTES = 64;
#elif defined(__AVX2__)
constexpr int BYTES = 32;
#else
constexpr int BYTES = 16;
#endif
constexpr int PIECES = BLOCK / BYTES;
typedef u8 Bytes __attribute__((vector_size(BYTES)));
typedef int8_t Signs __attribute__((vector_size(BYTES)));

struct Bytes64 {
    Bytes piece[PIECES];
};

INLINE Bytes64 load_bytes(const u8 *at) {
    Bytes64 x;
    for (int k = 0; k < PIECES; k++) memcpy(&x.piece[k], at + k * BYTES, BYTES);
    return x;
}

// The bits of bytes that are all ones or zero.
INLINE u64 bits_of(const Bytes64 &x) {
#if defined(__AVX512BW__)
    return _mm512_movepi8_mask((__m512i)x.piece[0]);
#elif defined(__AVX2__)
    return u64(u32(_mm256_movemask_epi8((__m256i)x.piece[0]))) |
           u64(u32(_mm256_movemask_epi8((__m256i)x.piece[1]))) << 32;
#elif defined(__SSE2__)
    u64 bits = 0;
    for (int k = 0; k < PIECES; k++)
        bits |= u64(u32(_mm_movemask_epi8((__m128i)x.piece[k]))) << (16 * k);
    return bits;
#elif defined(__aarch64__)
    const Bytes place = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t sums[PIECES];
    for (int k = 0; k < PIECES; k++) sums[k] = (uint8x16_t)(x.piece[k] & place);
    uint8x16_t sum = vpaddq_u8(vpaddq_u8(sums[0], sums[1]), vpaddq_u8(sums[2], sums[3]));
    sum = vpaddq_u8(sum, sum);
    return vgetq_lane_u64(vreinterpretq_u64_u8(sum), 0);
#else
    u64 bits = 0;
    for (int k = 0; k < BLOCK; k++) bits |= u64(x.piece[k / BYTES][k % BYTES] & 1) << k;
    return bits;
#endif
}

// Which bytes are as f says of a piece.
template <class F> INLINE u64 bits_where(const Bytes64 &x, F f) {
    Bytes64 found;
    for (int k = 0; k < PIECES; k++) found.piece[k] = (Bytes)f(x.piece[k]);
    return bits_of(found);
}

INLINE Bytes among(Bytes values, u8 first, u8 count) { return (Bytes)(values - first < count); }

// A bit of each byte that is `delimiter` or ends a line.
INLINE u64 separators(const u8 *at, u8 delimiter) {
    return bits_where(load_bytes(at), [&](Bytes x) {
        return (Bytes)(x == delimiter) | (Bytes)(x == u8('\n')) | (Bytes)(x == u8('\r'));
    });
}

// A bit of each byte that is ", \ or a control character.
INLINE u64 breaks(const u8 *at) {
    return bits_where(load_bytes(at), [](Bytes x) {
        return (Bytes)(x < u8(0x20)) | (Bytes)(x == u8('"')) | (Bytes)(x == u8('\\'));
    });
}

} // namespace naively::SET
