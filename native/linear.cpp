// Scores of rows that are linear in their features, as a (classes, rows) table; the best class.
//
// As in gaussian.cpp: a row's score does not depend on its neighbours, and each kernel returns the
// position row * d + column of the first infinite value, or -1.
#include "python.hpp"

#include "bits.hpp"
#include "ranges.hpp"
#include "rows.hpp"

namespace naively::SET {

constexpr i64 CHUNK = 64; // columns whose sums are fetched at once
constexpr i64 AHEAD = 32; // numbers, whose weights are asked for early
constexpr u64 FACTOR = 0x9E3779B97F4A7C15;

// What a value adds to the score of a row of zeros.
static f64 linear_term(f64 x, f64 weight, f64 zero, f64 threshold) {
    if (is_nan(x)) return -zero;
    if (!is_nan(threshold)) x = x > threshold ? 1.0 : 0.0;
    return x * weight;
}

// out[c, i] = base[c] + Σ_f weight[c, f] x_if, all finite.
//
// base[c] is the sum over f of zero[c, f], what a zero contributes; NaN takes that back. With a
// threshold, x counts as 1 above it and as 0 elsewhere.
static i64 linear_dense(Room &room, AnyMatrix X, i64 start, i64 stop, Matrix<const f64> weight,
                        Matrix<const f64> zero, Flat<const f64> base, f64 threshold,
                        Matrix<f64> out) {
    const i64 features = X.columns, classes = out.rows, width = out.columns;
    const i64 tile = tile_of(features);
    const Flat<const f64> flat = X.flat();
    f64 *staged = room.zeros<f64>(GROUP * tile).data;
    f64 *block = room.zeros<f64>(tile * GROUP).data;
    f64 *scores = room.zeros<f64>(classes * GROUP).data;
    if (room.failed) return -1;
    for (i64 row = start; row < stop; row += GROUP) {
        const i64 rows = smaller(GROUP, stop - row);
        const bool whole = rows == GROUP;
        f64 *target = whole ? out.data + row - start : scores;
        const i64 step = whole ? width : GROUP;
        bool any_odd = false;
        for (i64 first = 0; first < features; first += tile) {
            const i64 last = smaller(first + tile, features);
            any_odd |= load_block(X, flat, row, rows, first, last, staged, tile, block);
            if (!is_nan(threshold))
                for (i64 k = 0; k < (last - first) * GROUP; k++)
                    block[k] = block[k] > threshold ? 1.0 : 0.0;
            for (i64 c = 0; c < classes; c += 2) {
                const i64 e = smaller(c + 1, classes - 1);
                f64 *o = target + c * step, *u = target + e * step;
                const f64 *weight1 = weight[c], *weight2 = weight[e];
                Vector s1, t1, s2, t2;
                if (first == 0) {
                    s1 = t1 = splat(base[c]);
                    s2 = t2 = splat(base[e]);
                } else {
                    s1 = load(o), t1 = load(o + LANES);
                    s2 = load(u), t2 = load(u + LANES);
                }
                for (i64 f = first; f < last; f++) {
                    const Vector x = load(block + (f - first) * GROUP);
                    const Vector y = load(block + (f - first) * GROUP + LANES);
                    const Vector w1 = splat(weight1[f]), w2 = splat(weight2[f]);
                    s1 = fma(x, w1, s1);
                    t1 = fma(y, w1, t1);
                    s2 = fma(x, w2, s2);
                    t2 = fma(y, w2, t2);
                }
                store(o, s1), store(o + LANES, t1);
                store(u, s2), store(u + LANES, t2);
            }
        }
        for (i64 r = 0; any_odd && r < rows; r++) {
            const Oddities odd = oddities(X, row + r);
            if (odd.infinite >= 0) return (row + r) * features + odd.infinite;
            if (!odd.missing) continue;
            for (i64 c = 0; c < classes; c++) {
                f64 score = base[c];
                for (i64 f = 0; f < features; f++)
                    score += linear_term(X(row + r, f), weight[c][f], zero[c][f], threshold);
                target[c * step + r] = score;
            }
        }
        if (!whole) copy_group(scores, row - start, rows, out);
    }
    return -1;
}

template <class T, class I>
static i64 linear_rows(Flat<const T> data, Flat<const I> indices, Indices indptr, i64 start,
                       i64 stop, Flat<const f64> weight, Flat<const f64> zero, i64 width,
                       Flat<const f64> base, f64 threshold, Matrix<f64> out, f64 *score) {
    const bool four = width % (4 * LANES) == 0, binary = !is_nan(threshold);
    const i64 step = four ? 4 * LANES : 3 * LANES;
    const f64 *table = weight.data;
    const i64 end = indptr[stop];
    for (i64 i = start; i < stop; i++) {
        const i64 first = indptr[i], last = indptr[i + 1];
        bool odd = false;
        for (i64 p = first; p < last; p++) {
            const f64 x = f64(data[p]);
            odd |= x - x != 0.0;
        }
        // three or four blocks of classes at a time, so that a feature's weights arrive together;
        // where there are fewer the last one is repeated, which costs next to nothing
        for (i64 b = 0; b < width; b += step) {
            const i64 b1 = smaller(b + LANES, width - LANES);
            const i64 b2 = smaller(b + 2 * LANES, width - LANES);
            const i64 b3 = smaller(b + 3 * LANES, width - LANES);
            Vector s0 = load(base.data + b), s1 = load(base.data + b1);
            Vector s2 = load(base.data + b2), s3 = load(base.data + b3);
            for (i64 p = first; p < last; p++) {
                const f64 *later = table + i64(indices[smaller(p + AHEAD, end - 1)]) * width;
                prefetch(later + b);
                prefetch(later + b1);
                prefetch(later + b2);
                f64 x = f64(data[p]);
                if (binary) x = x > threshold ? 1.0 : 0.0;
                const Vector v = splat(x);
                const f64 *o = table + i64(indices[p]) * width;
                s0 = fma(v, load(o + b), s0);
                s1 = fma(v, load(o + b1), s1);
                s2 = fma(v, load(o + b2), s2);
                if (four) s3 = fma(v, load(o + b3), s3);
            }
            store(score + b, s0);
            store(score + b1, s1);
            store(score + b2, s2);
            if (four) store(score + b3, s3);
        }
        for (i64 c = 0; c < out.rows; c++) {
            if (odd) {
                score[c] = base[c];
                for (i64 p = first; p < last; p++) {
                    const f64 x = f64(data[p]);
                    if (is_inf(x)) return i * (weight.size / width) + i64(indices[p]);
                    const i64 o = i64(indices[p]) * width + c;
                    score[c] += linear_term(x, table[o], zero.size > 0 ? zero[o] : 0.0, threshold);
                }
            }
            out[c][i - start] = score[c];
        }
    }
    return -1;
}

// As `linear_dense` for CSR rows.
//
// The weights of feature f begin at weight[f * width], with width a multiple of 8; `zero` is alike,
// or empty if all are 0.
static i64 linear_sparse(Room &room, AnyFlat data, Indices indices, Indices indptr, i64 start,
                         i64 stop, Flat<const f64> weight, Flat<const f64> zero, i64 width,
                         Flat<const f64> base, f64 threshold, Matrix<f64> out) {
    f64 *score = room.get<f64>(width).data;
    if (room.failed) return -1;
    return data.typed([&](auto values) {
        return indices.typed([&](auto columns) {
            return linear_rows(values, columns, indptr, start, stop, weight, zero, width, base,
                               threshold, out, score);
        });
    });
}

// weight[f, c] = logs[counts[c, f]] - totals[c]: the weights of all features, for sparse rows.
//
// Beyond the classes they are 0. Some features at a time, as the two tables lie across each other.
static void look_up(Room &room, Steps2<const i64> counts, Flat<const f64> logs, Flat<const f64> totals,
                    Matrix<f64> weight) {
    const i64 classes = counts.rows, features = counts.columns;
    for (i64 first = 0; first < features; first += 64) {
        const i64 last = smaller(first + 64, features);
        for (i64 c = 0; c < classes; c++) {
            const f64 total = totals[c];
            // here, as in `sparse_counts`
            if (!within(&counts(c, first), last - first, counts.right, 0, logs.size - 1))
                return room.refuse("counts are beyond logs");
            for (i64 f = first; f < last; f++) weight[f][c] = logs[counts(c, f)] - total;
        }
        for (i64 f = first; f < last; f++)
            for (i64 c = classes; c < weight.columns; c++) weight[f][c] = 0.0;
    }
}

// weight[f, c] = logs[ranks[f, c]] - totals[c], and 0 beyond the classes.
static void look_up_ranks(Steps2<const i32> ranks, Flat<const f64> logs, Flat<const f64> totals,
                          Matrix<f64> weight) {
    for (i64 f = 0; f < ranks.rows; f++) {
        f64 *out = weight[f];
        for (i64 c = 0; c < ranks.columns; c++) out[c] = logs[ranks(f, c)] - totals[c];
        for (i64 c = ranks.columns; c < weight.columns; c++) out[c] = 0.0;
    }
}

// out[k] = places[columns[k]] - 1, or -1 - columns[k] where that is -1; whether none is so.
static bool places_of(Flat<const i32> columns, Flat<const i32> places, Flat<i32> out) {
    bool known = true;
    for (i64 k = 0; k < columns.size; k++) {
        const i32 j = columns[k], place = places[j];
        out[k] = place > 0 ? place - 1 : -1 - j;
        known &= place > 0;
    }
    return known;
}

// out[k] = the place of sums[:, columns[k]] in `known`, which has room for all columns.
//
// sums : (C, d, L)
// slots : a hash table: each holds a place + 1, or 0 if it is free; at least 2 d, a power of two.
// known, first : (r, C * L) sums of columns that differ, and (r,) the first column that has each.
// count : how many of these there are.
static void place_columns(Room &room, Flat<const i32> columns, Steps3<const i64> sums,
                          Flat<i32> slots, Matrix<i64> known, Flat<i32> first, Flat<i64> count,
                          Flat<i32> out) {
    const i64 width = sums.columns, mask = slots.size - 1, size = sums.first * width;
    u64 keys[CHUNK];
    const Flat<i64> own = room.get<i64>(CHUNK * size);
    if (room.failed) return;
    for (i64 at = 0; at < columns.size; at += CHUNK) {
        const i64 m = smaller(CHUNK, columns.size - at);
        u64 factor = FACTOR;
        for (i64 k = 0; k < m; k++) keys[k] = 0;
        for (i64 c = 0; c < sums.first; c++) // class by class: neighbours are fetched together
            for (i64 q = 0; q < width; q++) {
                for (i64 k = 0; k < m; k++) {
                    const i64 value = sums(c, columns[at + k], q);
                    own[k * size + c * width + q] = value;
                    keys[k] += u64(value) * factor;
                }
                factor *= FACTOR;
            }
        for (i64 k = 0; k < m; k++) {
            i64 s = i64(fold(keys[k], FACTOR)) & mask;
            const i64 *mine = own.data + k * size;
            for (i64 tried = 0; slots[s] != 0; tried++) {
                if (tried == slots.size || slots[s] < 0 || slots[s] > count[0])
                    return room.refuse("slots are full, or name columns that are not known");
                const i64 *other = known[slots[s] - 1];
                i64 differ = 0;
                for (i64 c = 0; c < size; c++) differ |= mine[c] ^ other[c];
                if (differ == 0) break;
                s = (s + 1) & mask;
            }
            if (slots[s] == 0) {
                const i64 place = count[0];
                if (place == known.rows) return room.refuse("there is no room for more columns");
                memcpy(known[place], mine, size * sizeof(i64));
                first[place] = columns[at + k];
                slots[s] = i32(place + 1);
                count[0] = place + 1;
            }
            out[at + k] = slots[s] - 1;
        }
    }
}

// out[i] = the first class with the largest joint[c, i], or `otherwise` if all are -inf; returns the
// number of rows of which all are.
static i64 best_class(Matrix<const f64> joint, i64 otherwise, Flat<i64> out) {
    i64 none = 0, i = 0;
    f64 largest[LANES], first[LANES];
    for (; i + LANES <= out.size; i += LANES) {
        Vector top = splat(-INF), best = splat(0.0);
        for (i64 c = 0; c < joint.rows; c++) {
            const Vector score = load(joint[c] + i);
            best = where_greater(score, top, splat(f64(c)), best);
            top = larger(score, top);
        }
        store(largest, top);
        store(first, best);
        for (i64 k = 0; k < LANES; k++) {
            const bool some = largest[k] > -INF;
            out[i + k] = some ? i64(first[k]) : otherwise;
            none += !some;
        }
    }
    for (; i < out.size; i++) {
        f64 top = -INF;
        out[i] = otherwise;
        for (i64 c = 0; c < joint.rows; c++)
            if (joint[c][i] > top) top = joint[c][i], out[i] = c;
        none += top == -INF;
    }
    return none;
}

KERNELS(linear,
        KERNEL(linear_dense,
               "X(n,d) start:0..stop stop:0..n weight(C,d) zero(C,d) base(C) threshold "
               "out(C,stop-start)"),
        KERNEL(linear_sparse,
               "data(m) indices(m)<s/width@indptr[start]:indptr[stop] indptr(n+1)^m@start:stop+1 "
               "start:0..stop stop:0..n weight(s) zero(s?) width:0..2147483647 base(width) "
               "threshold out(C,stop-start) ; width&7==0 width>=C"),
        KERNEL(look_up, "counts(C,d) logs(S) totals(C) weight(d,W) ; W>=C"),
        KERNEL(look_up_ranks, "ranks(d,C)<S logs(S) totals(C) weight(d,W) ; W>=C"),
        KERNEL(places_of, "columns(n)<d! places(d) out(n)"),
        KERNEL(place_columns,
               "columns(n)<d sums(C,d,L) slots(s) known(r,C*L) first(r) count(1):0..r out(n) ; "
               "s>=1 s&(s-1)==0 r<=2147483646"),
        KERNEL(best_class, "joint(C,n) otherwise out(n)"));

} // namespace naively::SET
