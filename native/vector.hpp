// Eight float64 as one value: one, two or four registers of the processor. All operations are plain
// IEEE arithmetic, lane by lane: nothing is reassociated or contracted.
#pragma once
#include "fused.hpp"
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace naively::SET {

constexpr i64 LANES = 8;
constexpr i64 TILE_ROWS = 8; // of a tile of 8 by 16 numbers: sixteen vectors, two a row

#if defined(__AVX512F__)
constexpr int WIDE = 8;
#elif defined(__AVX__)
constexpr int WIDE = 4;
#else
constexpr int WIDE = 2;
#endif
constexpr int PARTS = LANES / WIDE;
typedef f64 Part __attribute__((vector_size(8 * WIDE)));
typedef i64 Bits __attribute__((vector_size(8 * WIDE)));

struct Vector {
    Part part[PARTS];
};
// Lanes in which something holds: a bit each, or all ones.
struct Mask {
#if defined(__AVX512F__)
    u32 bits;
#else
    Bits part[PARTS];
#endif
};

#define EACH for (int k = 0; k < PARTS; k++)
#define INLINE inline __attribute__((always_inline))

INLINE Vector load(const f64 *at) {
    Vector x; // part by part: what is copied whole would be kept in memory
    EACH memcpy(&x.part[k], at + k * WIDE, sizeof(Part));
    return x;
}
INLINE void store(f64 *at, Vector x) { EACH memcpy(at + k * WIDE, &x.part[k], sizeof(Part)); }
INLINE Vector splat(f64 value) {
    Vector x;
    EACH x.part[k] = value - Part{}; // + 0.0 would lose the sign of a zero
    return x;
}
INLINE Vector operator+(Vector x, Vector y) {
    EACH x.part[k] += y.part[k];
    return x;
}
INLINE Vector operator-(Vector x, Vector y) {
    EACH x.part[k] -= y.part[k];
    return x;
}
INLINE Vector operator*(Vector x, Vector y) {
    EACH x.part[k] *= y.part[k];
    return x;
}
INLINE Vector operator-(Vector x) {
    EACH x.part[k] = -x.part[k];
    return x;
}
INLINE Part fma_part(Part x, Part y, Part z) {
#if defined(__AVX512F__)
    return _mm512_fmadd_pd(x, y, z);
#elif defined(__FMA__)
    return _mm256_fmadd_pd(x, y, z);
#elif defined(__aarch64__)
    return (Part)vfmaq_f64((float64x2_t)z, (float64x2_t)x, (float64x2_t)y);
#else
    return fused(x, y, z);
#endif
}
// x * y + z, rounded once.
INLINE Vector fma(Vector x, Vector y, Vector z) {
    EACH z.part[k] = fma_part(x.part[k], y.part[k], z.part[k]);
    return z;
}
// The same where neither the product nor the sum is rounded.
INLINE Vector add_exact(Vector x, Vector y, Vector z) {
#if defined(__FMA__) || defined(__aarch64__)
    return fma(x, y, z);
#else
    return x * y + z;
#endif
}
INLINE Vector absolute(Vector x) {
    EACH x.part[k] = (Part)((Bits)x.part[k] & INT64_MAX);
    return x;
}
// `yes` in lanes where x > y, else `no`; NaN is never greater.
INLINE Vector where_greater(Vector x, Vector y, Vector yes, Vector no) {
    EACH no.part[k] = x.part[k] > y.part[k] ? yes.part[k] : no.part[k];
    return no;
}
// x > y ? x : y, lane by lane, which is y where one is NaN: one instruction, if it is named.
INLINE Vector larger(Vector x, Vector y) {
#if defined(__AVX512F__)
    EACH y.part[k] = _mm512_max_pd(x.part[k], y.part[k]);
#elif defined(__AVX__)
    EACH y.part[k] = _mm256_max_pd(x.part[k], y.part[k]);
#else
    EACH y.part[k] = x.part[k] > y.part[k] ? x.part[k] : y.part[k];
#endif
    return y;
}
// x < y ? x : y, likewise.
INLINE Vector smaller(Vector x, Vector y) {
#if defined(__AVX512F__)
    EACH y.part[k] = _mm512_min_pd(x.part[k], y.part[k]);
#elif defined(__AVX__)
    EACH y.part[k] = _mm256_min_pd(x.part[k], y.part[k]);
#else
    EACH y.part[k] = x.part[k] < y.part[k] ? x.part[k] : y.part[k];
#endif
    return y;
}
// Where x != y; NaN differs from everything.
INLINE Mask differ(Vector x, Vector y) {
#if defined(__AVX512F__)
    return {_mm512_cmp_pd_mask(x.part[0], y.part[0], _CMP_NEQ_UQ)};
#else
    Mask found;
    EACH found.part[k] = x.part[k] != y.part[k];
    return found;
#endif
}
INLINE Mask operator|(Mask x, Mask y) {
#if defined(__AVX512F__)
    return {x.bits | y.bits};
#else
    EACH x.part[k] |= y.part[k];
    return x;
#endif
}
INLINE bool any(Mask x) {
#if defined(__AVX512F__)
    return x.bits != 0;
#else
    for (int k = 1; k < PARTS; k++) x.part[0] |= x.part[k];
    i64 found = 0;
    for (int k = 0; k < WIDE; k++) found |= x.part[0][k];
    return found != 0;
#endif
}

// Eight vectors of eight lanes, rows for columns.
INLINE void transpose(Vector *rows) {
    // swap blocks of 1, 2, then 4 lanes between rows that are as far apart
#define SWAP(STEP, LOW, HIGH)                                                                      \
    if constexpr (STEP < WIDE) {                                                                   \
        for (int r = 0; r < 8; r++)                                                                \
            if ((r & STEP) == 0) EACH {                                                            \
                    const Part x = rows[r].part[k], y = rows[r + STEP].part[k];                    \
                    rows[r].part[k] = LOW;                                                         \
                    rows[r + STEP].part[k] = HIGH;                                                 \
                }                                                                                  \
    } else {                                                                                       \
        for (int r = 0; r < 8; r++)                                                                \
            if ((r & STEP) == 0) EACH if ((k & STEP / WIDE) == 0) {                                \
                    const Part x = rows[r].part[k + STEP / WIDE];                                  \
                    rows[r].part[k + STEP / WIDE] = rows[r + STEP].part[k];                        \
                    rows[r + STEP].part[k] = x;                                                    \
                }                                                                                  \
    }
#if defined(__AVX512F__)
    SWAP(1, (Part)_mm512_unpacklo_pd(x, y), (Part)_mm512_unpackhi_pd(x, y))
    const __m512i low2 = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0);
    const __m512i high2 = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
    SWAP(2, (Part)_mm512_permutex2var_pd(x, low2, y), (Part)_mm512_permutex2var_pd(x, high2, y))
    SWAP(4, (Part)_mm512_shuffle_f64x2(x, y, 0x44), (Part)_mm512_shuffle_f64x2(x, y, 0xEE))
#elif defined(__AVX__)
    SWAP(1, (Part)_mm256_unpacklo_pd(x, y), (Part)_mm256_unpackhi_pd(x, y))
    SWAP(2, (Part)_mm256_permute2f128_pd(x, y, 0x20), (Part)_mm256_permute2f128_pd(x, y, 0x31))
    SWAP(4, x, y)
#else
    SWAP(1, (Part{x[0], y[0]}), (Part{x[1], y[1]}))
    SWAP(2, x, y)
    SWAP(4, x, y)
#endif
#undef SWAP
}

// A tile of 8 by 16 numbers: of each row, two vectors.
struct Tile {
    Vector half[TILE_ROWS][2];
};
INLINE Tile zero_tile() {
    Tile tile;
    for (int r = 0; r < TILE_ROWS; r++) tile.half[r][0] = tile.half[r][1] = splat(0.0);
    return tile;
}
// The tile plus the outer product of column[:8] with the lanes of x, y; `add` is fma or add_exact.
template <Vector add(Vector, Vector, Vector)>
INLINE void add_outer(Tile &tile, const f64 *column, Vector x, Vector y) {
    for (int r = 0; r < TILE_ROWS; r++) {
        const Vector value = splat(column[r]);
        tile.half[r][0] = add(value, x, tile.half[r][0]);
        tile.half[r][1] = add(value, y, tile.half[r][1]);
    }
}
// at[:128] += tile, row after row.
INLINE void add_tile(f64 *at, const Tile &tile) {
    for (int r = 0; r < TILE_ROWS; r++)
        for (int h = 0; h < 2; h++) {
            f64 *place = at + (2 * r + h) * LANES;
            store(place, load(place) + tile.half[r][h]);
        }
}

} // namespace naively::SET
