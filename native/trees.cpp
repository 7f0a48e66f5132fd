// Decision trees over bins: grown from counts of classes, and followed to their leaves.
//
// A tree is a table of nodes: (column, first, last, child). Rows whose bin of the column is from
// first to last go to the node `child`, others to the one after it. Of a leaf, the column is -1.
#include "python.hpp"

#include "elementary.hpp"

namespace naively::SET {

constexpr i64 LEAF = -1;
constexpr f64 EQUAL = 1e-9; // nats: a lower gain is rounding

struct Cut {
    f64 gain;
    i64 column, first, last;
};

static inline f64 times_log(f64 x) { return x > 0.0 ? x * log(x) : 0.0; }

constexpr i64 LOOKED_UP = 1 << 16; // numbers whose x log x is looked up

// x log x, which is looked up for whole numbers: most counts are, and logarithms take the time.
struct Logs {
    const f64 *of_whole;
    i64 size;
    f64 operator()(f64 x) const {
        const i64 k = x < f64(size) ? i64(x) : 0;
        return f64(k) == x ? of_whole[k] : times_log(x);
    }
    // Σ_c n_c log(n_c / n), the log-likelihood of rows by the shares of their classes.
    f64 likelihood(const f64 *counts, i64 classes) const {
        f64 found = 0.0, rows = 0.0;
        for (i64 c = 0; c < classes; c++) {
            found += (*this)(counts[c]);
            rows += counts[c];
        }
        return found - (*this)(rows);
    }
};

// What all cuts of one node are compared by.
struct Node {
    const Logs &logs;
    const f64 *counts; // of its rows by class
    i64 classes;
    f64 rows, found, fewest;
    f64 *others;
    Cut best;
    // Take the cut that separates rows with these counts, if it gains most.
    void consider(const f64 *some, i64 column, i64 first, i64 last) {
        const f64 own = sum_of(some, classes);
        if (own < fewest || rows - own < fewest) return;
        for (i64 c = 0; c < classes; c++) others[c] = counts[c] - some[c];
        const f64 gain = logs.likelihood(some, classes) + logs.likelihood(others, classes) - found;
        if (gain > best.gain + EQUAL) best = {gain, column, first, last};
    }
};

// Grow a tree, from the best cut of any leaf to the next one; return the number of nodes.
//
// A cut gains the log-likelihood of the rows by the shares of classes on either side. Bins of an
// `ordered` column, the last of which is that of missing values, are cut in two, with missing values
// on either side; otherwise one bin is separated from all others. At least `fewest` rows are on each
// side, and each cut gains `least` nats. Rows without weight are left out.
static i64 grow_tree(Room &room, Matrix<const uint16_t> codes, Flat<const i64> sizes,
                     Flat<const i64> ordered, Flat<const i64> y, Flat<const f64> weights,
                     i64 classes, f64 fewest, f64 least, Matrix<i64> nodes) {
    const i64 most = nodes.rows;
    i64 bins = 1, n = 0;
    for (i64 j = 0; j < codes.rows; j++) {
        uint16_t last = 0;
        for (const uint16_t code : codes.row(j)) last = larger(last, code);
        if (codes.columns > 0 && i64(last) >= sizes[j])
            return room.refuse("a code is beyond the bins of its column"), 0;
        bins = larger(bins, sizes[j]);
    }
    i64 *rows = room.get<i64>(y.size).data, *aside = room.get<i64>(y.size).data;
    i64 *start = room.get<i64>(most).data, *end = room.get<i64>(most).data;
    Cut *cuts = room.get<Cut>(most).data;
    f64 *table = room.get<f64>(bins * classes).data, *counts = room.get<f64>(3 * classes).data;
    if (room.failed) return 0;
    f64 *some = counts + classes, *others = some + classes;
    f64 total = 0.0;
    for (i64 i = 0; i < y.size; i++) total += weights[i];
    const i64 whole = total < f64(LOOKED_UP) ? i64(total) + 1 : LOOKED_UP;
    f64 *of_whole = room.get<f64>(whole).data;
    if (room.failed) return 0;
    for (i64 k = 0; k < whole; k++) of_whole[k] = times_log(f64(k));
    const Logs logs = {of_whole, whole};

    const auto best_cut = [&](i64 first_row, i64 last_row) {
        fill(counts, classes, 0.0);
        for (i64 k = first_row; k < last_row; k++) counts[y[rows[k]]] += weights[rows[k]];
        i64 met = 0;
        for (i64 c = 0; c < classes; c++) met += counts[c] > 0.0;
        Node node = {logs,   counts, classes, sum_of(counts, classes), logs.likelihood(counts, classes),
                     fewest, others, {least, LEAF, 0, 0}};
        if (met < 2 || node.rows < 2 * fewest) return node.best;
        for (i64 j = 0; j < codes.rows; j++) {
            const i64 size = sizes[j];
            const uint16_t *own = codes[j];
            fill(table, size * classes, 0.0);
            for (i64 k = first_row; k < last_row; k++)
                table[i64(own[rows[k]]) * classes + y[rows[k]]] += weights[rows[k]];
            if (!ordered[j]) {
                for (i64 b = 0; b < size; b++) node.consider(table + b * classes, j, b, b);
                continue;
            }
            const bool missing = sum_of(table + (size - 1) * classes, classes) > 0.0;
            fill(some, classes, 0.0);
            for (i64 b = 0; b < size - 1; b++) {
                const f64 *bin = table + b * classes;
                if (sum_of(bin, classes) <= 0.0) continue;
                for (i64 c = 0; c < classes; c++) some[c] += bin[c];
                node.consider(some, j, 0, b);
            }
            if (!missing) continue;
            fill(some, classes, 0.0);
            for (i64 b = size - 2; b > 0; b--) {
                const f64 *bin = table + b * classes;
                if (sum_of(bin, classes) <= 0.0) continue;
                for (i64 c = 0; c < classes; c++) some[c] += bin[c];
                node.consider(some, j, b, size - 2);
            }
        }
        return node.best;
    };

    for (i64 i = 0; i < y.size; i++)
        if (weights[i] > 0.0) rows[n++] = i;
    start[0] = 0, end[0] = n;
    cuts[0] = best_cut(0, n);
    i64 count = 1;
    fill(nodes[0], 4, LEAF);
    while (count + 2 <= most) {
        i64 chosen = LEAF;
        for (i64 k = 0; k < count; k++)
            if (nodes[k][0] == LEAF && cuts[k].column != LEAF &&
                (chosen == LEAF || cuts[k].gain > cuts[chosen].gain))
                chosen = k;
        if (chosen == LEAF) break;
        const Cut cut = cuts[chosen];
        const uint16_t *own = codes[cut.column];
        i64 left = start[chosen], apart = 0;
        for (i64 k = start[chosen]; k < end[chosen]; k++) {
            const i64 bin = own[rows[k]];
            if (cut.first <= bin && bin <= cut.last) rows[left++] = rows[k];
            else aside[apart++] = rows[k];
        }
        for (i64 k = 0; k < apart; k++) rows[left + k] = aside[k];
        i64 *node = nodes[chosen];
        node[0] = cut.column, node[1] = cut.first, node[2] = cut.last, node[3] = count;
        start[count] = start[chosen], end[count] = left;
        start[count + 1] = left, end[count + 1] = end[chosen];
        for (i64 k = count; k < count + 2; k++) {
            fill(nodes[k], 4, LEAF);
            cuts[k] = best_cut(start[k], end[k]);
        }
        count += 2;
    }
    return count;
}

// Fill the leaf of each row in each tree, whose first node is its root, by the bins of the row.
static void leaves_of(Room &room, Matrix<const uint16_t> codes, Matrix<const i64> nodes,
                      Flat<const i64> roots, Matrix<u32> leaves) {
    for (i64 k = 0; k < nodes.rows; k++) {
        const i64 *node = nodes[k]; // a child is after its parent
        if (node[0] < LEAF || node[0] >= codes.rows ||
            (node[0] != LEAF && (node[3] <= k || node[3] >= nodes.rows - 1)))
            return room.refuse("a node is of no column, or before its parent");
    }
    for (i64 t = 0; t < roots.size; t++)
        for (i64 i = 0; i < leaves.columns; i++) {
            i64 k = roots[t];
            while (nodes[k][0] != LEAF) {
                const i64 *node = nodes[k], bin = codes[node[0]][i];
                k = node[1] <= bin && bin <= node[2] ? node[3] : node[3] + 1;
            }
            leaves[t][i] = u32(k);
        }
}

KERNELS(trees,
        KERNEL(grow_tree,
               "codes(J,n) sizes(J):1..256 ordered(J):0..1 y(n):0..classes-1 weights(n) "
               "classes:1..65536 fewest least nodes(M,4) ; M>0"),
        KERNEL(leaves_of, "codes(J,n) nodes(M,4) roots(T):0..M-1 leaves(T,n) ; M>0"));

} // namespace naively::SET
