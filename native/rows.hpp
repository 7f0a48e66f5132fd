// Rows of dense arrays, brought into the cache in groups, their features side by side.
#pragma once
#include "vector.hpp"

namespace naively::SET {

constexpr i64 GROUP = 2 * LANES; // rows scored together
constexpr i64 SIDE = 64;         // most features transposed at a time: 8 KiB

// block[f, r] = X[row + r, first + f]; returns whether any value may not be finite.
//
// Eight rows by eight columns at a time, straight from `flat`, which X is if it is float64, where
// that stays inside it (columns beyond `last` are garbage that nobody reads), else by way of
// `staged`, (16, stride).
inline bool load_block(const AnyMatrix &X, Flat<const f64> flat, i64 row, i64 rows, i64 first,
                       i64 last, f64 *staged, i64 stride, f64 *block) {
    const i64 features = X.columns, width = last - first;
    const f64 *lines = flat.data + row * features + first;
    if ((row + larger(rows, LANES)) * features + LANES > flat.size || rows % LANES != 0) {
        X.copy(row, rows, first, width, staged, stride);
        lines = staged;
    } else {
        stride = features;
    }
    const Vector zero = splat(0.0);
    Mask odd = differ(zero, zero);
    for (i64 r = 0; r < rows; r++) // reading in order first makes the transposition twice as fast
        for (i64 f = 0; f < width; f += LANES) {
            const Vector x = load(lines + r * stride + f);
            odd = odd | differ(x - x, zero);
        }
    for (i64 r = 0; r < rows; r += LANES)
        for (i64 f = 0; f < width; f += LANES) {
            Vector square[LANES];
            for (i64 k = 0; k < LANES; k++) square[k] = load(lines + (r + k) * stride + f);
            transpose(square);
            for (i64 k = 0; k < LANES; k++) store(block + (f + k) * GROUP + r, square[k]);
        }
    return any(odd);
}

// The column of the first infinite value of a row or -1, and whether any before it is NaN.
struct Oddities {
    i64 infinite;
    bool missing;
};
inline Oddities oddities(const AnyMatrix &X, i64 row) {
    bool missing = false;
    for (i64 f = 0; f < X.columns; f++) {
        const f64 x = X(row, f);
        if (is_inf(x)) return {f, missing};
        missing = missing || is_nan(x);
    }
    return {-1, missing};
}

// Read part of X in order, which brings it into the cache at the full speed of the memory.
inline void touch(Flat<const f64> flat, i64 start, i64 stop, f64 *scratch) {
    Vector total = splat(0.0);
    stop = smaller(stop, flat.size - LANES);
    for (i64 k = start; k < stop; k += LANES) total = total + load(flat.data + k);
    store(scratch, total);
}

// out[c, at + r] = scores[c, r] for an incomplete group of rows.
inline void copy_group(const f64 *scores, i64 at, i64 rows, Matrix<f64> out) {
    for (i64 c = 0; c < out.rows; c++)
        for (i64 r = 0; r < rows; r++) out[c][at + r] = scores[c * GROUP + r];
}

inline i64 tile_of(i64 features) { return smaller(SIDE, (features + LANES - 1) / LANES * LANES); }

} // namespace naively::SET
