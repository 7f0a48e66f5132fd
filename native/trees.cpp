// Decision trees over bins: grown from counts of classes, and followed to their leaves.
//
// A tree is a table of nodes: (column, first, last, child). Rows whose bin of the column is from
// first to last go to the node `child`, others to the one after it. Of a leaf, the column is -1.
#include "python.hpp"

#include "elementary.hpp"

namespace naively::SET {

constexpr i64 LEAF = -1;
constexpr i64 WIDEST = 256; // bins of a column, at most
constexpr i64 BESIDE = 4;   // columns that are counted at once
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
    inline __attribute__((always_inline)) f64 likelihood(const f64 *counts, i64 classes) const {
        f64 found = 0.0, rows = 0.0;
        for (i64 c = 0; c < classes; c++) {
            found += (*this)(counts[c]);
            rows += counts[c];
        }
        return found - (*this)(rows);
    }
};

// A row of a node: its number, class and weight.
struct Row {
    u32 at, y;
    f64 weight;
};

// The bins of a column that have rows.
struct Used {
    u64 words[WIDEST / 64] = {};
    void add(i64 bin) { words[bin >> 6] |= u64(1) << (bin & 63); }
    bool has(i64 bin) const { return words[bin >> 6] >> (bin & 63) & 1; }
    // f(bin) of each, in ascending or descending order.
    template <class F> inline __attribute__((always_inline)) void up(F f) const {
        for (i64 w = 0; w < WIDEST / 64; w++)
            for (u64 rest = words[w]; rest; rest &= rest - 1) f(w * 64 + __builtin_ctzll(rest));
    }
    template <class F> inline __attribute__((always_inline)) void down(F f) const {
        for (i64 w = WIDEST / 64; w-- > 0;)
            for (u64 rest = words[w]; rest;) {
                const i64 last = 63 - __builtin_clzll(rest);
                rest ^= u64(1) << last;
                f(w * 64 + last);
            }
    }
};

// What all cuts of one node are compared by.
template <bool TWO> struct Node {
    const Logs &logs;
    const f64 *counts; // of its rows by class
    i64 n_classes;
    f64 rows, found, fewest;
    f64 *others;
    Cut best;
    // Take the cut that separates rows with these counts, if it gains most.
    inline __attribute__((always_inline)) void consider(const f64 *some, i64 column, i64 first, i64 last) {
        const i64 classes = TWO ? 2 : n_classes;
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
template <bool TWO>
static i64 grow(Room &room, Matrix<const uint16_t> codes, Flat<const i64> sizes,
                Flat<const i64> ordered, Flat<const i64> y, Flat<const f64> weights, i64 n_classes,
                f64 fewest, f64 least, Matrix<i64> nodes) {
    const i64 most = nodes.rows, classes = TWO ? 2 : n_classes;
    i64 bins = 1, n = 0;
    for (i64 j = 0; j < codes.rows; j++) {
        uint16_t last = 0;
        for (const uint16_t code : codes.row(j)) last = larger(last, code);
        if (codes.columns > 0 && i64(last) >= sizes[j])
            return room.refuse("a code is beyond the bins of its column"), 0;
        bins = larger(bins, sizes[j]);
    }
    Row *rows = room.get<Row>(y.size).data, *aside = room.get<Row>(y.size).data;
    i64 *start = room.get<i64>(most).data, *end = room.get<i64>(most).data;
    Cut *cuts = room.get<Cut>(most).data;
    const i64 width = bins * classes;
    f64 *tables = room.zeros<f64>(BESIDE * width).data, *counts = room.get<f64>(3 * classes).data;
    if (room.failed) return 0;
    f64 *some = counts + classes, *others = some + classes;
    f64 total = 0.0;
    for (i64 i = 0; i < y.size; i++) total += weights[i];
    const i64 whole = total < f64(LOOKED_UP) ? i64(total) + 1 : LOOKED_UP;
    f64 *of_whole = room.get<f64>(whole).data;
    if (room.failed) return 0;
    for (i64 k = 0; k < whole; k++) of_whole[k] = times_log(f64(k));
    const Logs logs = {of_whole, whole};

    // consider the cuts of a column, whose table has the weight of each class in each bin
    const auto consider_column = [&](Node<TWO> &node, i64 j, const f64 *table, const Used &used) {
        const i64 missing = sizes[j] - 1;
        const auto add = [&](i64 bin) {
            for (i64 c = 0; c < classes; c++) some[c] += table[bin * classes + c];
        };
        if (!ordered[j]) {
            used.up([&](i64 bin) { node.consider(table + bin * classes, j, bin, bin); });
            return;
        }
        fill(some, classes, 0.0);
        used.up([&](i64 bin) {
            if (bin == missing) return;
            add(bin);
            node.consider(some, j, 0, bin);
        });
        if (!used.has(missing)) return;
        fill(some, classes, 0.0);
        used.down([&](i64 bin) {
            if (bin == missing || bin == 0) return;
            add(bin);
            node.consider(some, j, bin, missing - 1);
        });
    };

    const auto best_cut = [&](i64 first_row, i64 last_row) {
        fill(counts, classes, 0.0);
        for (i64 k = first_row; k < last_row; k++) counts[rows[k].y] += rows[k].weight;
        Node<TWO> node = {logs, counts, classes, sum_of(counts, classes),
                          logs.likelihood(counts, classes), fewest, others, {least, LEAF, 0, 0}};
        // no cut gains more than what pure leaves would
        if (-node.found <= larger(least, 0.0) || node.rows < 2 * fewest) return node.best;
        for (i64 j = 0; j < codes.rows; j += BESIDE) {
            const i64 columns = smaller(BESIDE, codes.rows - j);
            const uint16_t *own[BESIDE];
            for (i64 b = 0; b < columns; b++) own[b] = codes[j + b];
            const auto count = [&](i64 many) __attribute__((always_inline)) {
                for (i64 k = first_row; k < last_row; k++) {
                    const Row row = rows[k];
                    for (i64 b = 0; b < many; b++)
                        tables[b * width + own[b][row.at] * classes + row.y] += row.weight;
                }
            };
            if (columns == BESIDE) count(BESIDE); // the loop is unrolled
            else count(columns);
            for (i64 b = 0; b < columns; b++) {
                f64 *table = tables + b * width;
                Used used;
                if (last_row - first_row < sizes[j + b] * classes)
                    for (i64 k = first_row; k < last_row; k++) used.add(own[b][rows[k].at]);
                else // each row has weight
                    for (i64 bin = 0; bin < sizes[j + b]; bin++)
                        if (sum_of(table + bin * classes, classes) > 0.0) used.add(bin);
                consider_column(node, j + b, table, used);
                used.up([&](i64 bin) { fill(table + bin * classes, classes, 0.0); });
            }
        }
        return node.best;
    };

    for (i64 i = 0; i < y.size; i++)
        if (weights[i] > 0.0) rows[n++] = {u32(i), u32(y[i]), weights[i]};
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
            const i64 bin = own[rows[k].at];
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
static i64 grow_tree(Room &room, Matrix<const uint16_t> codes, Flat<const i64> sizes,
                     Flat<const i64> ordered, Flat<const i64> y, Flat<const f64> weights,
                     i64 classes, f64 fewest, f64 least, Matrix<i64> nodes) {
    const auto grown = classes == 2 ? grow<true> : grow<false>;
    return grown(room, codes, sizes, ordered, y, weights, classes, fewest, least, nodes);
}

constexpr i64 TOGETHER = 16; // rows whose steps, which wait for one another, are taken side by side

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
        for (i64 start = 0; start < leaves.columns; start += TOGETHER) {
            const i64 size = smaller(TOGETHER, leaves.columns - start);
            i64 at[TOGETHER], moved = 1;
            fill(at, size, roots[t]);
            while (moved) {
                moved = 0;
                for (i64 i = 0; i < size; i++) {
                    const i64 *node = nodes[at[i]];
                    if (node[0] == LEAF) continue;
                    const i64 bin = codes[node[0]][start + i];
                    at[i] = node[3] + ((bin < node[1]) | (bin > node[2]));
                    moved = 1;
                }
            }
            for (i64 i = 0; i < size; i++) leaves[t][start + i] = u32(at[i]);
        }
}

KERNELS(trees,
        KERNEL(grow_tree,
               "codes(J,n) sizes(J):1..256 ordered(J):0..1 y(n):0..classes-1 weights(n) "
               "classes:1..65536 fewest least nodes(M,4) ; M>0 n<=2147483647"),
        KERNEL(leaves_of, "codes(J,n) nodes(M,4) roots(T):0..M-1 leaves(T,n) ; M>0"));

} // namespace naively::SET
