// Evidence of cells: counts beside what was expected of them, and what the difference tells.
#include "python.hpp"

#include "elementary.hpp"

namespace naively::SET {

constexpr i64 NONE = -1;      // in place of a column of a block
constexpr f64 LEAST = 0.02;   // part of a cell's rows that counts, however sure the model is of them
constexpr f64 VIRTUAL = 1e-6; // rows that are expected of each cell, spread as the prior
constexpr f64 BESIDE = 0.5;   // rows that are expected besides of each class in a cell: no single
                              // row says much

// Add to [part, cell]: entries by class; what was expected of them; the doubt in that.
static void fill_cells(Flat<const u32> cells, Flat<const i64> parts, Flat<const i64> y,
                       Flat<const f64> weights, Matrix<const f64> hoped, Flat<const f64> unsure,
                       Cube<f64> counts, Cube<f64> expected, Matrix<f64> doubt) {
    for (i64 i = 0; i < y.size; i++) {
        const i64 cell = cells[i], part = parts[i];
        counts[part][cell][y[i]] += weights[i];
        doubt[part][cell] += unsure[i];
        f64 *own = expected[part][cell];
        for (i64 c = 0; c < hoped.columns; c++) own[c] += hoped[i][c];
    }
}

// Add the numbers of each entry, so many, to those of its cell.
//
// `told` and `sums` are float32, entry after entry and cell after cell.
static void add_rows(Flat<const u32> cells, Flat<const f32> told, i64 width, Flat<f32> sums) {
    if (width == 4) { // all at once
        for (i64 i = 0; i < cells.size; i++) {
            f32 *sum = sums.data + i64(cells[i]) * 4;
            const f32 *more = told.data + i * 4;
            for (int k = 0; k < 4; k++) sum[k] += more[k];
        }
        return;
    }
    for (i64 i = 0; i < cells.size; i++) {
        f32 *sum = sums.data + i64(cells[i]) * width;
        const f32 *more = told.data + i * width;
        for (i64 k = 0; k < width; k++) sum[k] += more[k];
    }
}

// Fill what was met of each class of a cell, and the shares q expected; false of no rows.
//
// Where the model is sure of its rows, these say little about how far it is off in the others: so
// many of them as the doubt allows count.
static bool shares(const f64 *counts, const f64 *expected, f64 doubt, Flat<const f64> prior,
                   f64 *met, f64 *q) {
    const i64 classes = prior.size;
    f64 total = 0.0, whole = 0.0, most = 0.0;
    for (i64 c = 0; c < classes; c++) {
        total += counts[c];
        q[c] = expected[c] + VIRTUAL * prior[c];
        whole += q[c];
    }
    if (total <= 1e-9) return false;
    for (i64 c = 0; c < classes; c++) {
        q[c] /= whole;
        most += q[c] * (1.0 - q[c]);
    }
    const f64 share = smaller(1.0, larger(LEAST, doubt / (whole * most + 1e-12)));
    for (i64 c = 0; c < classes; c++)
        met[c] = larger(counts[c] - (1.0 - share) * expected[c], 0.0);
    return true;
}

// What a cell tells beyond what was expected of its rows: log p(c | cell) / q(c), in nats.
//
// p are the shares of what was met, smoothed by `strength` rows that are as expected.
static void surprise(const f64 *met, const f64 *q, f64 strength, i64 classes, f64 *out) {
    f64 rows = 0.0;
    for (i64 c = 0; c < classes; c++) {
        out[c] = met[c] + strength * q[c];
        rows += out[c];
    }
    for (i64 c = 0; c < classes; c++) out[c] = log(out[c] / (rows * q[c]));
}

// out[cell, part] from all other parts; out[cell, parts] from all.
static void fill_surprises(Room &room, Cube<const f64> counts, Cube<const f64> expected,
                           Cube<const f32> others, Matrix<const f64> doubt, Flat<const f64> prior,
                           f64 strength, Cube<f32> out) {
    const i64 parts = counts.first, cells = counts.rows, classes = counts.columns;
    f64 *n = room.get<f64>(5 * classes).data;
    if (room.failed) return;
    f64 *q = n + classes, *told = q + classes, *met = told + classes, *expects = met + classes;
    for (i64 cell = 0; cell < cells; cell++) {
        for (i64 left = 0; left <= parts; left++) {
            f64 v = 0.0;
            fill(n, 3 * classes, 0.0);
            for (i64 part = 0; part < parts; part++) {
                if (part == left) continue;
                v += doubt[part][cell];
                for (i64 c = 0; c < classes; c++) {
                    n[c] += counts[part][cell][c];
                    q[c] += expected[part][cell][c];
                }
            }
            if (left < parts)
                for (i64 c = 0; c < classes; c++) q[c] = others[cell][left][c];
            if (shares(n, q, v, prior, met, expects)) surprise(met, expects, strength, classes, told);
            for (i64 c = 0; c < classes; c++) out[cell][left][c] = f32(told[c]);
        }
    }
}

// Add up how the log-likelihood of left-out rows moves with a block's weight, twice.
static void fill_slopes(Room &room, Cube<const f64> counts, Cube<const f64> expected,
                        Cube<const f32> others, Matrix<const f64> doubt, Flat<const f64> prior,
                        Flat<const f64> strengths, Flat<f64> slope, Flat<f64> bend) {
    const i64 parts = counts.first, cells = counts.rows, classes = counts.columns;
    f64 *n = room.zeros<f64>(6 * classes).data;
    if (room.failed) return;
    f64 *q = n + classes, *told = q + classes, *met = told + classes, *expects = met + classes;
    f64 *all_n = expects + classes;
    for (i64 cell = 0; cell < cells; cell++) {
        f64 all_v = 0.0;
        fill(all_n, classes, 0.0);
        for (i64 part = 0; part < parts; part++) {
            all_v += doubt[part][cell];
            for (i64 c = 0; c < classes; c++) all_n[c] += counts[part][cell][c];
        }
        for (i64 part = 0; part < parts; part++) {
            const f64 *own = expected[part][cell], *count = counts[part][cell];
            f64 rows = 0.0, most = 0.0;
            for (i64 c = 0; c < classes; c++) rows += own[c];
            if (rows <= 0.0) continue;
            for (i64 c = 0; c < classes; c++) {
                n[c] = all_n[c] - count[c];
                q[c] = others[cell][part][c];
                const f64 p = own[c] / rows;
                most += p * (1.0 - p);
            }
            if (!shares(n, q, all_v - doubt[part][cell], prior, met, expects)) continue;
            const f64 share = doubt[part][cell] / (rows * most + 1e-12);
            f64 all_met = 0.0;
            for (i64 c = 0; c < classes; c++) {
                all_met += met[c];
                met[c] /= expects[c];
            }
            for (i64 s = 0; s < strengths.size; s++) {
                const f64 scale = 1.0 / (all_met + strengths[s]);
                f64 square = 0.0, mean = 0.0;
                for (i64 c = 0; c < classes; c++) {
                    const f64 p = own[c];
                    told[c] = log(f32((met[c] + strengths[s]) * scale)); // float32 ranks as well
                    slope[s] += (count[c] - p) * told[c];
                    square += p * told[c] * told[c];
                    mean += p * told[c];
                }
                bend[s] += share * (square - mean * mean / rows);
            }
        }
    }
}

// About what `gains` finds of some blocks: from all rows, less what chance gives.
//
// To the second order in what each cell tells: for each class the square of what was met beyond what
// was expected, less its variance, over the rows expected. `told`, (n * 2 classes,) float32, has of
// each entry its weight; what was expected of each class but the first; what it is beyond that; and
// the doubt. `cells`, (n,) uint32, and `sums`, float32 for each number of each cell, are room to work
// in. Blocks are as wide as the widest, with NONE in place of columns.
static void rough_gains(Room &room, Matrix<const uint16_t> codes, Flat<const i64> sizes,
                        Matrix<const i64> blocks, Flat<const f32> told, i64 classes, f64 strength,
                        Flat<u32> cells, Flat<f32> sums, Flat<f64> out) {
    const i64 width = 2 * classes, others = classes - 1;
    for (i64 k = 0; k < out.size; k++) {
        const i64 most_cells = sums.size / width; // that there is room for
        i64 size = 1;
        fill<u32>(cells.data, cells.size, 0);
        for (i64 place = 0; place < blocks.columns; place++) {
            const i64 j = blocks[k][place];
            if (j == NONE) continue;
            size = size > most_cells ? size : size * sizes[j];
            const u32 factor = u32(sizes[j]);
            const uint16_t *own = codes[j];
            for (i64 i = 0; i < cells.size; i++) cells[i] = cells[i] * factor + own[i];
        }
        u32 last = 0;
        for (const u32 cell : cells) last = larger(last, cell);
        if (size > most_cells || (cells.size > 0 && i64(last) >= size))
            return room.refuse("codes or sizes are beyond the cells that sums has room for");
        fill(sums.data, size * width, f32(0));
        add_rows({cells.data, cells.size}, told, width, sums);
        f64 total = 0.0;
        for (i64 cell = 0; cell < size; cell++) {
            const f32 *at = sums.data + cell * width, *more = at + others;
            const f64 rows = at[0];
            if (rows <= 0.0) continue;
            const f64 part = 1.0 / rows;
            f64 first = rows, most = 0.0, beyond = 0.0;
            for (i64 c = 1; c <= others; c++) {
                const f64 q = at[c];
                first -= q;
                most += q * (1.0 - q * part);
                beyond += more[c];
            }
            first = larger(first, 0.0);
            most += first * (1.0 - first * part);
            const f64 share = smaller(1.0, larger(LEAST, at[width - 1] / (most + 1e-12)));
            const f64 each = share + strength * part;
            const auto add = [&](f64 q, f64 own) {
                const f64 chance = share * q * (1.0 - q * part);
                total += 0.5 * (own * own - chance) / (q * each + BESIDE);
            };
            add(first, beyond);
            for (i64 c = 1; c <= others; c++) add(at[c], more[c]);
        }
        out[k] = total;
    }
}

// Fill what is expected of entries: P(c | x), (n, classes), and weight times it by others.
//
// `scores`, (classes - 1, n), are relative to the first class. `moved`, (n, parts and all,
// classes - 1), is what blocks tell without each part, and in all: `others`, (n, parts, classes),
// has that of models without another part besides, 0 of the entry's own. Both may be empty.
static void expected_of(Steps2<const f32> scores, Cube<const f32> moved, Flat<const i64> parts,
                        Flat<const f64> weights, Matrix<f64> proba, Cube<f32> others) {
    const i64 classes = proba.columns;
    for (i64 i = 0; i < parts.size; i++) {
        f64 most = 0.0, whole = 0.0, *own = proba[i];
        for (i64 c = 1; c < classes; c++) most = larger(most, f64(scores(c - 1, i)));
        for (i64 c = 0; c < classes; c++) {
            const f64 score = c > 0 ? f64(scores(c - 1, i)) : 0.0;
            own[c] = exp(score - most);
            whole += own[c];
        }
        for (i64 c = 0; c < classes; c++) own[c] /= whole;
        for (i64 p = 0; p < others.rows; p++) {
            f32 *beside = others[i][p];
            if (p == parts[i]) {
                fill(beside, classes, f32(0));
                continue;
            }
            const f32 *without = moved[i][p], *all = moved[i][moved.rows - 1];
            f32 top = 0, total = 0;
            for (i64 c = 1; c < classes; c++) {
                const f32 score = scores(c - 1, i) + (without[c - 1] - all[c - 1]);
                beside[c] = score;
                top = larger(top, score);
            }
            beside[0] = 0;
            for (i64 c = 0; c < classes; c++) {
                beside[c] = exp(beside[c] - top);
                total += beside[c];
            }
            const f32 share = f32(weights[i]) / total;
            for (i64 c = 0; c < classes; c++) beside[c] *= share;
        }
    }
}

// Turn scores relative to the first class, (V, classes - 1, n), into probabilities, in place.
//
// They are by several weights: base (classes - 1, n) and the bias of each, (V, classes - 1), are
// added first. losses (V, n) is what each entry loses.
static void expect(Cube<f32> scores, Matrix<const f32> base, Matrix<const f32> bias,
                   Flat<const i64> y, Matrix<f32> losses) {
    const i64 classes = scores.rows;
    for (i64 v = 0; v < scores.first; v++) {
        const Matrix<f32> own = scores[v];
        for (i64 i = 0; i < y.size; i++) {
            f32 most = 0, hit = 0;
            for (i64 c = 0; c < classes; c++) {
                own[c][i] += base[c][i] + bias[v][c];
                most = larger(most, own[c][i]);
            }
            if (y[i] > 0) hit = own[y[i] - 1][i];
            f32 whole = most == 0 ? f32(1) : exp(-most);
            for (i64 c = 0; c < classes; c++) {
                const f32 score = own[c][i];
                own[c][i] = score == most ? f32(1) : exp(score - most);
                whole += own[c][i];
            }
            const f32 inverse = 1 / whole;
            for (i64 c = 0; c < classes; c++) own[c][i] *= inverse;
            losses[v][i] = log(whole) + most - hit;
        }
    }
}

KERNELS(evidence,
        KERNEL(fill_cells,
               "cells(n)<K parts(n)<P y(n)<C weights(n) hoped(n,C) unsure(n) counts(P,K,C) "
               "expected(P,K,C) doubt(P,K)"),
        KERNEL(add_rows, "cells(n)<s/width told(n*width) width:0..2147483647 sums(s)"),
        KERNEL(fill_surprises,
               "counts(P,K,C) expected(P,K,C) others(K,P,C) doubt(P,K) prior(C) strength "
               "out(K,P+1,C)"),
        KERNEL(fill_slopes,
               "counts(P,K,C) expected(P,K,C) others(K,P,C) doubt(P,K) prior(C) strengths(S) "
               "slope(S) bend(S)"),
        KERNEL(rough_gains,
               "codes(J,n) sizes(J):0..65536 blocks(B,W):-1..J-1 told(n*2*classes) "
               "classes:1..65536 strength cells(n) sums(s) out(B)"),
        KERNEL(expected_of,
               "scores(C-1,n) moved(q,M,C-1) parts(n) weights(n) proba(n,C) others(n,P,C) ; "
               "P*(q-n)==0 P*(M-P-1)==0"),
        KERNEL(expect, "scores(V,K,n) base(K,n) bias(V,K) y(n):0..K losses(V,n)"));

} // namespace naively::SET
