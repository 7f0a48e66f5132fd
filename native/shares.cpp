// Bins of a number, and their class shares, smoothed over neighbouring bins.
#include "python.hpp"

#include "elementary.hpp"

namespace naively::SET {

constexpr f64 LEAST_SHARE = 1e-300;

// rows[k] += what bin k borrows of its neighbour before it in the given direction: r λ / (λ + Σ r),
// where r are the neighbour's own rows and what it borrowed.
static void borrow(Matrix<const f64> own, f64 link, bool backwards, f64 *lent, Matrix<f64> rows) {
    const i64 bins = own.rows, classes = own.columns;
    for (i64 c = 0; c < classes; c++) lent[c] = 0.0;
    for (i64 step = 1; step < bins; step++) {
        const i64 k = backwards ? bins - 1 - step : step;
        const f64 *neighbour = own[backwards ? k + 1 : k - 1];
        for (i64 c = 0; c < classes; c++) lent[c] = neighbour[c] + lent[c];
        const f64 share = link / (link + sum_of(lent, classes));
        for (i64 c = 0; c < classes; c++) {
            lent[c] *= share;
            rows[k][c] += lent[c];
        }
    }
}

// Σ n log of the shares of the rows, each left out of the shares that predict it.
static f64 left_out_likelihood(Matrix<const f64> counts, Matrix<const f64> rows) {
    f64 likelihood = 0.0;
    for (i64 k = 0; k < rows.rows; k++) {
        const f64 total = sum_of(rows[k], rows.columns);
        for (i64 c = 0; c < rows.columns; c++) {
            const f64 n = counts[k][c];
            if (n == 0.0) continue;
            const f64 one = smaller(n, 1.0);
            likelihood += n * log(larger((rows[k][c] - one) / (total - one), LEAST_SHARE));
        }
    }
    return likelihood;
}

// Smooth the counts (n, bins, C) of each of n columns or folds, with class priors π (n, C).
//
// A bin has n + `added` π rows of its own. For each link λ it borrows rows from both sides; the shares
// of the links are averaged, weighted by the likelihood of the rows that are left out of them.
static void smooth_shares(Room &room, Cube<const f64> counts, Matrix<const f64> priors,
                          Flat<const f64> links, f64 added, Cube<f64> shares) {
    const i64 bins = counts.rows, classes = counts.columns;
    if (bins == 0 || classes == 0) return;
    const Matrix<f64> own = {room.get<f64>(bins * classes).data, bins, classes};
    const Cube<f64> rows = {room.get<f64>(links.size * bins * classes).data, links.size, bins, classes};
    const Flat<f64> weights = room.get<f64>(links.size), lent = room.get<f64>(classes);
    if (room.failed) return;
    for (i64 i = 0; i < counts.first; i++) {
        for (i64 k = 0; k < bins; k++)
            for (i64 c = 0; c < classes; c++) own[k][c] = counts[i][k][c] + added * priors[i][c];
        f64 most = -INF;
        for (i64 l = 0; l < links.size; l++) {
            memcpy(rows[l].data, own.data, size_t(bins * classes) * sizeof(f64));
            const Matrix<const f64> fixed = {own.data, bins, classes};
            borrow(fixed, links[l], false, lent.data, rows[l]);
            borrow(fixed, links[l], true, lent.data, rows[l]);
            weights[l] = left_out_likelihood(counts[i], {rows[l].data, bins, classes});
            most = larger(most, weights[l]);
        }
        f64 whole = 0.0;
        for (i64 l = 0; l < links.size; l++) {
            weights[l] = exp(weights[l] - most);
            whole += weights[l];
        }
        for (i64 k = 0; k < bins; k++)
            for (i64 c = 0; c < classes; c++) shares[i][k][c] = 0.0;
        for (i64 l = 0; l < links.size; l++)
            for (i64 k = 0; k < bins; k++) {
                const f64 total = sum_of(rows[l][k], classes);
                for (i64 c = 0; c < classes; c++)
                    shares[i][k][c] += weights[l] * rows[l][k][c] / total;
            }
        for (i64 k = 0; k < bins; k++)
            for (i64 c = 0; c < classes; c++) shares[i][k][c] /= whole;
    }
}

// The first place whose value is above x; values ascend.
static i64 first_above(Flat<const f64> values, f64 x) {
    i64 low = 0, high = values.size;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (values[middle] > x) high = middle;
        else low = middle + 1;
    }
    return low;
}

// Fill the bin of each of some sorted values with these weights: `most` bins of about equal weight.
//
// The next bin starts at a value of which more than half exceeds an equal share of the rest.
static void equal_bins(Room &room, Flat<const f64> weights, i64 most, Flat<i64> bins) {
    const i64 n = weights.size;
    const Flat<f64> ends = room.get<f64>(n), middles = room.get<f64>(n);
    if (room.failed) return;
    f64 end = 0.0, before = 0.0;
    for (i64 i = 0; i < n; i++) {
        ends[i] = end += weights[i];
        middles[i] = end - weights[i] / 2;
    }
    i64 bin = 0, at = 0;
    for (i64 left = most; left > 1; left--) {
        const i64 first = larger(first_above({middles.data, n}, before + (end - before) / f64(left)),
                                 first_above({ends.data, n}, before) + 1);
        if (first >= n || first <= at) break; // weights that are negative do not ascend
        while (at < first) bins[at++] = bin;
        before = ends[first - 1];
        bin++;
    }
    while (at < n) bins[at++] = bin;
}

KERNELS(shares, KERNEL(equal_bins, "weights(n) most bins(n)"),
        KERNEL(smooth_shares, "counts(n,K,C) priors(n,C) links(L) added shares(n,K,C)"));

} // namespace naively::SET
