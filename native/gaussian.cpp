// Log-densities of rows with independent normal features, as a (classes, rows) table.
//
// The same instructions are run for one row and for a million: a row's score does not depend on its
// neighbours. Each kernel returns the position row * d + column of the first infinite value, or -1.
#include "python.hpp"

#include "elementary.hpp"
#include "rows.hpp"

namespace naively::SET {

constexpr i64 AHEAD = 256; // rows brought into the cache at a time, if scoring them takes long
constexpr i64 MANY = 4;    // classes from which it does
constexpr f64 FARTHEST = -1e300; // of the score of a value in sparse rows
constexpr f64 LOWEST = -1.7976931348623157e308;

// The log-density of one row with missing values under one class.
static f64 gaussian_row(const AnyMatrix &X, i64 i, const f64 *mean, const f64 *scale,
                        const f64 *norm) {
    f64 score = 0.0;
    for (i64 f = 0; f < X.columns; f++) {
        const f64 x = X(i, f);
        if (is_nan(x)) continue;
        const f64 z = scale[f] > 0.0 ? (x - mean[f]) * scale[f] : 0.0;
        score += norm[f] - z * z;
    }
    return score;
}

// Rank the classes of a row whose squared distances overflow, by their logarithms.
static void nearest(const AnyMatrix &X, i64 i, Matrix<const f64> mean, Matrix<const f64> scale,
                    f64 *scores, i64 step) {
    f64 best = INF;
    for (i64 c = 0; c < mean.rows; c++) {
        f64 top = -INF, total = 0.0; // of log distance, of squares relative to the largest
        for (i64 f = 0; f < mean.columns; f++) {
            const f64 x = X(i, f);
            if (is_nan(x) || x == mean[c][f]) continue;
            const f64 half = magnitude(x / 2 - mean[c][f] / 2);
            if (half == 0.0 || scale[c][f] == 0.0) continue;
            const f64 distance = log(half) + log(scale[c][f]);
            if (distance > top) {
                total *= exp(2.0 * (top - distance));
                top = distance;
            }
            total += exp(2.0 * (distance - top));
        }
        scores[c * step] = total > 0.0 ? top + 0.5 * log(total) : -INF;
        best = smaller(best, scores[c * step]);
    }
    for (i64 c = 0; c < mean.rows; c++) scores[c * step] = scores[c * step] == best ? LOWEST : -INF;
}

// out[c, i] = Σ_f log N(x_if; mean_cf, 1 / (2 scale_cf²)).
//
// base[c] is the sum over f of norm[c, f], the logarithm of the density at the mean. NaN drops its
// feature. Where every density underflows the range of float64, the class nearest in the metric of
// its variances gets the lowest finite number and the others -inf.
static i64 gaussian_dense(Room &room, AnyMatrix X, i64 start, i64 stop, Matrix<const f64> mean,
                          Matrix<const f64> scale, Flat<const f64> base, Matrix<const f64> norm,
                          Matrix<f64> out) {
    const i64 features = X.columns, classes = out.rows, width = out.columns;
    const i64 tile = tile_of(features);
    const Flat<const f64> flat = X.flat();
    f64 *staged = room.zeros<f64>(GROUP * tile).data;
    f64 *block = room.zeros<f64>(tile * GROUP).data;
    f64 *scores = room.zeros<f64>(larger<i64>(classes * GROUP, LANES)).data;
    if (room.failed) return -1;
    for (i64 row = start; row < stop; row += GROUP) {
        const i64 rows = smaller(GROUP, stop - row);
        if ((row - start) % AHEAD == 0 && classes >= MANY)
            touch(flat, row * features, (row + AHEAD) * features, scores);
        const bool whole = rows == GROUP; // score in place; else aside, in the same way
        f64 *target = whole ? out.data + row - start : scores;
        const i64 step = whole ? width : GROUP;
        bool any_odd = false;
        for (i64 first = 0; first < features; first += tile) {
            const i64 last = smaller(first + tile, features);
            any_odd |= load_block(X, flat, row, rows, first, last, staged, tile, block);
            for (i64 c = 0; c < classes; c += 2) { // two classes hide each other's latency
                const i64 e = smaller(c + 1, classes - 1);
                f64 *o = target + c * step, *u = target + e * step;
                const f64 *mean1 = mean[c], *mean2 = mean[e], *scale1 = scale[c], *scale2 = scale[e];
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
                    Vector m = splat(mean1[f]), h = splat(scale1[f]);
                    Vector z = (x - m) * h;
                    s1 = fma(-z, z, s1);
                    z = (y - m) * h;
                    t1 = fma(-z, z, t1);
                    m = splat(mean2[f]), h = splat(scale2[f]);
                    z = (x - m) * h;
                    s2 = fma(-z, z, s2);
                    z = (y - m) * h;
                    t2 = fma(-z, z, t2);
                }
                store(o, s1), store(o + LANES, t1);
                store(u, s2), store(u + LANES, t2);
            }
        }
        for (i64 r = 0; r < rows; r++) {
            if (any_odd) {
                const Oddities odd = oddities(X, row + r);
                if (odd.infinite >= 0) return (row + r) * features + odd.infinite;
                if (odd.missing)
                    for (i64 c = 0; c < classes; c++)
                        target[c * step + r] =
                            gaussian_row(X, row + r, mean[c], scale[c], norm[c]);
            }
            f64 best = -INF;
            for (i64 c = 0; c < classes && !(best > -INF); c++)
                best = larger(best, target[c * step + r]);
            if (best == -INF) nearest(X, row + r, mean, scale, target + r, step);
        }
        if (!whole) copy_group(scores, row - start, rows, out);
    }
    return -1;
}

// As `gaussian_dense` for CSR rows; the parameters are (d, C).
//
// base[c] + rest[c] is the score of a row of zeros, whose terms zero[f, c] are exchanged for those of
// the values. The sums carry their rounding errors along (Neumaier 1974), because the terms of zeros
// cancel, and are huge where the means are far from 0.
static i64 gaussian_sparse(Room &room, AnyFlat data, Indices indices, Indices indptr, i64 start,
                           i64 stop, Matrix<const f64> mean, Matrix<const f64> scale,
                           Matrix<const f64> norm, Matrix<const f64> zero, Flat<const f64> base,
                           Flat<const f64> rest, Matrix<f64> out) {
    const i64 classes = base.size;
    f64 *score = room.get<f64>(2 * classes).data, *error = score + classes;
    if (room.failed) return -1;
    return data.typed([&](auto values) {
        for (i64 i = start; i < stop; i++) {
            memcpy(score, base.data, classes * sizeof(f64));
            memcpy(error, rest.data, classes * sizeof(f64));
            for (i64 p = indptr[i]; p < indptr[i + 1]; p++) {
                const f64 x = f64(values[p]);
                const i64 f = indices[p];
                if (is_inf(x)) return i * mean.rows + f;
                for (i64 c = 0; c < classes; c++)
                    for (int exchange = 1; exchange >= 0; exchange--) {
                        f64 term = -zero[f][c];
                        if (!exchange) {
                            if (is_nan(x)) continue;
                            // the difference may be infinite, which 0 times is not a number
                            const f64 h = scale[f][c];
                            const f64 z = h > 0.0 ? (x - mean[f][c]) * h : 0.0;
                            term = larger(norm[f][c] - z * z, FARTHEST);
                        }
                        const f64 total = score[c] + term;
                        if (magnitude(score[c]) >= magnitude(term))
                            error[c] += (score[c] - total) + term;
                        else error[c] += (term - total) + score[c];
                        score[c] = total;
                    }
            }
            for (i64 c = 0; c < classes; c++) out[c][i - start] = score[c] + error[c];
        }
        return i64(-1);
    });
}

KERNELS(gaussian,
        KERNEL(gaussian_dense,
               "X(n,d) start:0..stop stop:0..n mean(C,d) scale(C,d) base(C) norm(C,d) "
               "out(C,stop-start)"),
        KERNEL(gaussian_sparse,
               "data(m) indices(m)<d@indptr[start]:indptr[stop] indptr(n+1)^m@start:stop+1 "
               "start:0..stop stop:0..n mean(d,C) scale(d,C) norm(d,C) zero(d,C) base(C) rest(C) "
               "out(C,stop-start)"));

} // namespace naively::SET
