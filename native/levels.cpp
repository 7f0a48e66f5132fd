// Counting and scoring the levels of categorical features.
#include "python.hpp"

#include "limbs.hpp"
#include "vector.hpp"

namespace naively::SET {

constexpr i64 MISSING = -1, INVALID = -2; // in place of the code of a level
constexpr i64 CODES = i64(1) << 53;       // codes are below: floats hold them exactly
constexpr i64 MOST = 65535;               // rows that 16-bit counters have room for
constexpr i64 DONE = 0, WIDEN = 1, REFUSED = 2;

// The level code of a value: non-negative, or MISSING, or INVALID.
template <class T> static inline i64 as_level(T x) {
    if constexpr (T(0.5) != 0) {
        if (is_nan(x)) return MISSING;
        if (x < 0 || x >= CODES || x != __builtin_floor(x)) return INVALID;
        return i64(x);
    } else {
        const i64 k = i64(x);
        return 0 <= k && k < CODES ? k : INVALID;
    }
}

// `count_levels` for at most MOST rows.
template <class T>
static Pair count_few(Steps2<const T> X, Flat<const i64> codes, i64 start, i64 stop,
                      Flat<const i64> offsets, Flat<uint16_t> counts, Flat<i64> missing,
                      Flat<i64> report) {
    const i64 features = X.columns, width = offsets[features];
    for (i64 i = start; i < stop; i++) {
        const i64 first = codes[i] * width;
        uint16_t *at = counts.data + first;
        i64 next = offsets[0];
        for (i64 j = 0; j < features; j++) {
            const i64 k = as_level(X(i, j)), o = next;
            next = offsets[j + 1];
            if (__builtin_expect(u64(k) < u64(next - o), 1)) {
                at[o + k]++;
            } else if (k == MISSING) {
                missing[codes[i] * features + j]++;
            } else {
                for (i64 u = 0; u < j; u++) { // undo this row: it is counted again when resumed
                    const i64 level = as_level(X(i, u));
                    if (level == MISSING) missing[codes[i] * features + u]--;
                    else counts[first + offsets[u] + level]--;
                }
                report[0] = j;
                report[1] = k;
                return {k >= 0 ? WIDEN : REFUSED, i};
            }
        }
    }
    return {DONE, stop};
}

// Count the levels of rows start:stop; resumable.
//
// counts is (classes, offsets[-1]), missing (classes, d), both flat int64. Returns (status, row),
// with (column, level) in `report` where a level is beyond its table or no level at all.
static Pair count_levels(Room &room, AnyMatrix X, Flat<const i64> codes, i64 start, i64 stop,
                         Flat<const i64> offsets, Flat<i64> counts, Flat<i64> missing,
                         Flat<i64> report) {
    // a quarter of the memory: it stays in the cache
    const Flat<uint16_t> small = room.zeros<uint16_t>(counts.size);
    Pair found = {DONE, start};
    if (room.failed) return found;
    X.typed([&](auto table) {
        while (found.second < stop && found.first == DONE) {
            const i64 row = found.second, last = smaller(row + MOST, stop);
            found = count_few(table, codes, row, last, offsets, small, missing, report);
            for (i64 k = 0; k < small.size; k++) {
                counts[k] += small[k];
                small[k] = 0;
            }
        }
        return true;
    });
    return found;
}

// Add each row's weight, exactly, to the cell [class, column] of each row.
static void weigh_columns(Room &room, Flat<const i64> columns, Flat<const i64> codes,
                          Flat<const f64> weights, i64 width, Flat<i64> sums, i64 size, i64 low) {
    const Limbs to = {sums, size, low};
    bool fits = true;
    for (i64 i = 0; i < columns.size; i++)
        fits &= add_value(to[codes[i] * width + columns[i]], low, weights[i]);
    if (!fits) room.refuse(TOO_WIDE);
}

// out[j] = the table's row for each value: beyond + j if unseen, beyond + d if missing.
//
// Returns the column of the first value that is no level, or -1.
template <class T>
static i64 encode_row(Steps2<const T> X, i64 i, Flat<const i64> offsets, Flat<const i64> lookup,
                      i64 beyond, i64 *out) {
    for (i64 j = 0; j < X.columns; j++) {
        const i64 k = as_level(X(i, j)), o = offsets[j];
        if (u64(k) < u64(offsets[j + 1] - o)) out[j] = lookup[o + k];
        else if (k == MISSING) out[j] = beyond + X.columns;
        else if (k >= 0) out[j] = beyond + j;
        else return j;
    }
    return -1;
}

// `encode_row` for rows start:stop; returns (row, column) of the first bad value or -1s.
static Pair encode(AnyMatrix X, i64 start, i64 stop, Flat<const i64> offsets,
                   Flat<const i64> lookup, i64 beyond, Matrix<i64> out) {
    return X.typed([&](auto table) {
        for (i64 i = start; i < stop; i++) {
            const i64 j = encode_row(table, i, offsets, lookup, beyond, out[i - start]);
            if (j >= 0) return Pair{i, j};
        }
        return Pair{-1, -1};
    });
}

// out[c, i] = Σ_j table[row of X[i, j], c].
//
// The table is flat, with its rows padded to `width`, a multiple of 8. Returns (row, column) of the
// first value that is no level, or -1s.
static Pair score_levels(Room &room, AnyMatrix X, i64 start, i64 stop, Flat<const i64> offsets,
                         Flat<const i64> lookup, i64 beyond, Flat<const f64> table, i64 width,
                         Matrix<f64> out) {
    const u64 most = u64(table.size / width); // rows of the table
    const Flat<i64> rows = room.get<i64>(X.columns);
    const Flat<f64> score = room.get<f64>(width);
    if (room.failed) return {-1, -1};
    return X.typed([&](auto values) {
        for (i64 i = start; i < stop; i++) {
            const i64 bad = encode_row(values, i, offsets, lookup, beyond, rows.data);
            if (bad >= 0) return Pair{i, bad};
            u64 last = 0;
            for (const i64 row : rows) last = larger(last, u64(row));
            if (last >= most) {
                room.refuse("lookup names rows that the table lacks");
                return Pair{-1, -1};
            }
            for (i64 b = 0; b < width; b += LANES) {
                Vector total = splat(0.0);
                for (i64 j = 0; j < X.columns; j++)
                    total = total + load(table.data + rows[j] * width + b);
                store(score.data + b, total);
            }
            for (i64 c = 0; c < out.rows; c++) out[c][i - start] = score[c];
        }
        return Pair{-1, -1};
    });
}

KERNELS(levels,
        KERNEL(count_levels,
               "X(n,d) codes(n)<min(s/offsets[d],s0/d)@start:stop start:0..stop stop:0..n "
               "offsets(d+1)^s counts(s) missing(s0) report(2)"),
        KERNEL(weigh_columns,
               "columns(n)<width codes(n)<s/(width*size) weights(n) width:0..2147483647 sums(s) "
               "size:0..4096 low:-99999..99999"),
        KERNEL(encode,
               "X(n,d) start:0..stop stop:0..n offsets(d+1)^K lookup(K) beyond out(stop-start,d)"),
        KERNEL(score_levels,
               "X(n,d) start:0..stop stop:0..n offsets(d+1)^K lookup(K) beyond table(s) "
               "width:8..2147483647 out(C,stop-start) ; width&7==0 width>=C"));

} // namespace naively::SET
