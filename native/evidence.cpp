// Evidence of cells: counts beside what was expected of them, and what the difference tells.
#include "python.hpp"

#include "elementary.hpp"

namespace naively::SET {

constexpr i64 AT_ONCE = 32;   // iterations of loops that the compiler vectorises
constexpr i64 NONE = -1;      // in place of a column of a block
constexpr f64 LEAST = 0.02;   // part of a cell's rows that counts, however sure the model is of them
constexpr f64 VIRTUAL = 1e-6; // rows that are expected of each cell, spread as the prior
constexpr f64 BESIDE = 0.5;   // rows that are expected besides of each class in a cell: no single
                              // row says much

// Add to [part, cell]: entries by class; what was expected of them; the doubt in that.
static void fill_cells(Flat<const u32> cells, Flat<const i64> parts, Flat<const i64> y,
                       Flat<const f64> weights, Matrix<const f64> means, Flat<const f64> variances,
                       Cube<f64> counts, Cube<f64> expected, Matrix<f64> doubt) {
    for (i64 i = 0; i < y.size; i++) {
        const i64 cell = cells[i], part = parts[i];
        counts[part][cell][y[i]] += weights[i];
        doubt[part][cell] += variances[i];
        f64 *cell_expected = expected[part][cell];
        for (i64 c = 0; c < means.columns; c++) cell_expected[c] += means[i][c];
    }
}

typedef f32 Four __attribute__((vector_size(16)));
typedef f32 Many __attribute__((vector_size(64)));

// Add as many numbers at once as a T holds.
template <class T> static inline void add_to(f32 *sums, const f32 *numbers) {
    T sum, term;
    memcpy(&sum, sums, sizeof sum);
    memcpy(&term, numbers, sizeof term);
    sum += term;
    memcpy(sums, &sum, sizeof sum);
}

// The same as `add_rows`, for a width that is known when this is compiled; 0 for any.
template <i64 WIDTH>
static inline void add_rows_of(Flat<const u32> cells, Flat<const f32> told, i64 any, Flat<f32> sums) {
    const i64 width = WIDTH ? WIDTH : any;
    for (i64 i = 0; i < cells.size; i++) {
        f32 *sum = sums.data + i64(cells[i]) * width;
        const f32 *more = told.data + i * width;
        i64 k = 0;
        for (; k + 16 <= width; k += 16) add_to<Many>(sum + k, more + k);
        for (; k + 4 <= width; k += 4) add_to<Four>(sum + k, more + k);
        for (; k < width; k++) sum[k] += more[k];
    }
}

// Add the `width` numbers of each entry to those of its cell.
//
// `told` and `sums` are float32, entry after entry and cell after cell. 20 numbers are two classes
// in ten folds.
static void add_rows(Flat<const u32> cells, Flat<const f32> told, i64 width, Flat<f32> sums) {
    if (width == 4) add_rows_of<4>(cells, told, width, sums);
    else if (width == 20) add_rows_of<20>(cells, told, width, sums);
    else add_rows_of<0>(cells, told, width, sums);
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
        bool is_met = false;
        for (i64 part = 0; part < parts && !is_met; part++)
            is_met = sum_of(counts[part][cell], classes) > 0.0;
        if (!is_met) {
            fill(out[cell][0], (parts + 1) * classes, f32(0));
            continue;
        }
        for (i64 left = 0; left <= parts; left++) {
            f64 v = 0.0;
            fill(n, 3 * classes, 0.0);
            for (i64 part = 0; part < parts; part++) {
                if (part == left) continue;
                v += doubt[part][cell];
                for (i64 c = 0; c < classes; c++) n[c] += counts[part][cell][c];
                if (left == parts)
                    for (i64 c = 0; c < classes; c++) q[c] += expected[part][cell][c];
            }
            if (left < parts)
                for (i64 c = 0; c < classes; c++) q[c] = others[cell][left][c];
            if (shares(n, q, v, prior, met, expects)) surprise(met, expects, strength, classes, told);
            for (i64 c = 0; c < classes; c++) out[cell][left][c] = f32(told[c]);
        }
    }
}

// Cells of a block, (n,): the numbers of its columns' bins, the last one fastest. Returns how many
// there are, or -1 if they are more than `most` or a code is beyond its size.
static i64 cells_of(Matrix<const uint16_t> codes, Flat<const i64> sizes, const i64 *block,
                    i64 columns, i64 most, Flat<u32> cells) {
    i64 size = 1;
    u32 last = 0;
    fill<u32>(cells.data, cells.size, 0);
    for (i64 place = 0; place < columns; place++) {
        const i64 j = block[place];
        if (j == NONE) continue;
        size = size > most ? size : size * sizes[j];
        const u32 factor = u32(sizes[j]);
        const uint16_t *own = codes[j];
        for (i64 i = 0; i < cells.size; i++) cells[i] = cells[i] * factor + own[i];
    }
    for (const u32 cell : cells) last = larger(last, cell);
    return size > most || (cells.size > 0 && i64(last) >= size) ? -1 : size;
}

// Room for AT_ONCE [part, cell] at a time. Of each class: entries in other parts (`n`) and in this one
// (`count`), what was expected in other parts (`q`) and in this one, and what the evidence tells. The
// doubts in this part and in others. And the entries of one cell in all parts, by class (`all_n`).
struct Lanes {
    f64 *n, *expected, *count, *q, *told, *doubts, *all_doubts, *all_n;

    Lanes(f64 *room, i64 classes) {
        const i64 step = classes * AT_ONCE;
        n = room, expected = n + step, count = expected + step, q = count + step, told = q + step;
        doubts = told + step, all_doubts = doubts + AT_ONCE, all_n = all_doubts + AT_ONCE;
    }
    static i64 size(i64 classes) { return (5 * classes + 2) * AT_ONCE + classes; }
};

// Add up how the log-likelihood of left-out rows moves with the weight of each block, twice.
//
// The sums of each [part, cell] are those of `fill_cells`, side by side: counts, what was expected,
// and the doubt. `others`, (n, parts, classes), may be empty: then all other parts are added up.
// Entries of each of `repeats` have cells of their own. `cells`, `sums` and `beside` are room to
// work in. Several [part, cell] at a time, so that loops are vectorised, and then added up in order.
struct Slopes {
    Flat<const i64> parts, y;
    Flat<const f64> weights;
    Matrix<const f64> means;
    Flat<const f64> variances;
    Cube<const f32> others;
    Flat<const f64> prior, strengths;
    f64 *sums, *lanes;
    f32 *beside;

    template <bool TWO> void fill_sums(Flat<const u32> cells, i64 size) {
        const i64 classes = TWO ? 2 : prior.size, width = 2 * classes + 1, n_parts = others.rows;
        fill(sums, n_parts * size * width, 0.0);
        for (i64 i = 0; i < cells.size; i++) {
            f64 *sum = sums + (parts[i] * size + cells[i]) * width, *expected = sum + classes;
            sum[y[i]] += weights[i];
            for (i64 c = 0; c < classes; c++) expected[c] += means[i][c];
            expected[classes] += variances[i];
        }
        fill(beside, size * n_parts * classes, f32(0));
        if (others.first > 0)
            return add_rows(cells, {others.data, others.first * n_parts * classes},
                            n_parts * classes, {beside, size * n_parts * classes});
        for (i64 cell = 0; cell < size; cell++)
            for (i64 c = 0; c < classes; c++) {
                f64 all = 0.0;
                const f64 *expected = sums + cell * width + classes + c;
                for (i64 p = 0; p < n_parts; p++) all += expected[p * size * width];
                for (i64 p = 0; p < n_parts; p++)
                    beside[(cell * n_parts + p) * classes + c] =
                        f32(all - expected[p * size * width]);
            }
    }

    // Add the slopes and bends of some lanes.
    template <bool TWO> void add_lanes(i64 used, f64 *slope, f64 *bend) {
        const i64 classes = TWO ? 2 : prior.size;
        const auto [n, expected, count, q, told, doubts, all_doubts, _] = Lanes(lanes, classes);
        f64 rows[AT_ONCE] = {}, most[AT_ONCE] = {}, whole[AT_ONCE] = {}, share_variance[AT_ONCE] = {};
        f64 all_met[AT_ONCE] = {}, share[AT_ONCE];
        for (i64 c = 0; c < classes; c++)
            for (i64 l = 0; l < AT_ONCE; l++) {
                rows[l] += expected[c * AT_ONCE + l];
                whole[l] += q[c * AT_ONCE + l] + VIRTUAL * prior[c];
            }
        for (i64 c = 0; c < classes; c++)
            for (i64 l = 0; l < AT_ONCE; l++) {
                const f64 p = expected[c * AT_ONCE + l] / rows[l];
                most[l] += p * (1.0 - p);
                const f64 expected_share = (q[c * AT_ONCE + l] + VIRTUAL * prior[c]) / whole[l];
                share_variance[l] += expected_share * (1.0 - expected_share);
                told[c * AT_ONCE + l] = expected_share;
            }
        for (i64 l = 0; l < AT_ONCE; l++) {
            const f64 counted = all_doubts[l] / (whole[l] * share_variance[l] + 1e-12);
            share[l] = smaller(1.0, larger(LEAST, counted));
        }
        for (i64 c = 0; c < classes; c++)
            for (i64 l = 0; l < AT_ONCE; l++) {
                const i64 k = c * AT_ONCE + l;
                const f64 met = larger(n[k] - (1.0 - share[l]) * q[k], 0.0);
                all_met[l] += met;
                n[k] = met / told[k];
            }
        for (i64 l = 0; l < AT_ONCE; l++) share[l] = doubts[l] / (rows[l] * most[l] + 1e-12);
        for (i64 s = 0; s < strengths.size; s++) {
            f64 scale[AT_ONCE], square[AT_ONCE] = {}, mean[AT_ONCE] = {};
            for (i64 l = 0; l < AT_ONCE; l++) scale[l] = 1.0 / (all_met[l] + strengths[s]);
            for (i64 c = 0; c < classes; c++) {
                f32 logs[AT_ONCE]; // float32 ranks as well
                for (i64 l = 0; l < AT_ONCE; l++)
                    logs[l] = log(f32((n[c * AT_ONCE + l] + strengths[s]) * scale[l]));
                for (i64 l = 0; l < AT_ONCE; l++) {
                    const f64 p = expected[c * AT_ONCE + l], tells = logs[l];
                    told[c * AT_ONCE + l] = (count[c * AT_ONCE + l] - p) * tells;
                    square[l] += p * tells * tells;
                    mean[l] += p * tells;
                }
            }
            for (i64 l = 0; l < AT_ONCE; l++)
                square[l] = share[l] * (square[l] - mean[l] * mean[l] / rows[l]);
            for (i64 l = 0; l < used; l++) {
                for (i64 c = 0; c < classes; c++) slope[s] += told[c * AT_ONCE + l];
                bend[s] += square[l];
            }
        }
    }

    template <bool TWO> void of_block(Flat<const u32> cells, i64 size, f64 *slope, f64 *bend) {
        const i64 classes = TWO ? 2 : prior.size, width = 2 * classes + 1, n_parts = others.rows;
        fill_sums<TWO>(cells, size);
        const auto [n, expected, count, q, _, doubts, all_doubts, all_n] = Lanes(lanes, classes);
        i64 l = 0;
        for (i64 cell = 0; cell < size; cell++) {
            const f64 *sum = sums + cell * width;
            const i64 step = size * width;
            f64 all_v = 0.0, all_rows = 0.0;
            fill(all_n, classes, 0.0);
            for (i64 p = 0; p < n_parts; p++) {
                all_v += sum[p * step + 2 * classes];
                for (i64 c = 0; c < classes; c++) all_n[c] += sum[p * step + c];
            }
            for (i64 c = 0; c < classes; c++) all_rows += all_n[c];
            if (all_rows <= 1e-9) continue;
            for (i64 p = 0; p < n_parts; p++, sum += step) {
                const f32 *expected_beside = beside + (cell * n_parts + p) * classes;
                f64 rows = 0.0, total = 0.0;
                for (i64 c = 0; c < classes; c++) {
                    rows += sum[classes + c];
                    total += all_n[c] - sum[c];
                }
                if (rows <= 0.0 || total <= 1e-9) continue;
                for (i64 c = 0; c < classes; c++) {
                    const i64 k = c * AT_ONCE + l;
                    n[k] = all_n[c] - sum[c], expected[k] = sum[classes + c], count[k] = sum[c];
                    q[k] = expected_beside[c];
                }
                doubts[l] = sum[2 * classes], all_doubts[l] = all_v - sum[2 * classes];
                if (++l < AT_ONCE) continue;
                add_lanes<TWO>(AT_ONCE, slope, bend);
                l = 0;
            }
        }
        if (l > 0) add_lanes<TWO>(l, slope, bend);
    }
};
static void slopes_of(Room &room, Matrix<const uint16_t> codes, Flat<const i64> sizes,
                      Matrix<const i64> blocks, Flat<const i64> repeat, i64 repeats,
                      Flat<const i64> parts, Flat<const i64> y, Flat<const f64> weights,
                      Matrix<const f64> means, Flat<const f64> variances, Cube<const f32> others,
                      Flat<const f64> prior, Flat<const f64> strengths, Flat<u32> cells,
                      Flat<f64> sums, Flat<f32> beside, Matrix<f64> slope, Matrix<f64> bend) {
    const i64 classes = prior.size, n_parts = others.rows;
    const Flat<f64> lanes = room.zeros<f64>(Lanes::size(classes));
    if (room.failed || classes * n_parts == 0) return;
    fill(lanes.data, lanes.size, 1.0); // lanes that are not used are divided by, too
    const i64 most = smaller(sums.size / (2 * classes + 1), beside.size / classes) / (n_parts * repeats);
    Slopes all = {parts,  y,         weights,   means,      variances,  others,
                  prior,  strengths, sums.data, lanes.data, beside.data};
    for (i64 k = 0; k < blocks.rows; k++) {
        const i64 size = cells_of(codes, sizes, blocks[k], blocks.columns, most, cells);
        if (size < 0)
            return room.refuse("codes or sizes are beyond the cells that sums has room for");
        if (repeats > 1)
            for (i64 i = 0; i < cells.size; i++) cells[i] += u32(repeat[i] * size);
        const Flat<const u32> block_cells = {cells.data, cells.size};
        if (classes == 2) all.of_block<true>(block_cells, size * repeats, slope[k], bend[k]);
        else all.of_block<false>(block_cells, size * repeats, slope[k], bend[k]);
    }
}

// About what `gains` finds of some blocks: from all rows, less what chance gives.
//
// To the second order in what each cell tells: for each class the square of what was met beyond what
// was expected, less its variance, over the rows expected. `told`, (n * 2 classes,) float32, has of
// each entry its weight; what was expected of each class but the first; what it is beyond that; and
// the doubt. `cells`, (n,) uint32, and `sums`, float32 for each number of each cell, are room to work
// in. Blocks are as wide as the widest, with NONE in place of columns.
template <bool TWO> static f64 rough_gain(const f32 *sums, i64 size, i64 n_classes, f64 strength,
                                          f64 *lanes) {
    const i64 classes = TWO ? 2 : n_classes, width = 2 * classes, others = classes - 1;
    f64 total = 0.0, *terms = lanes + width * AT_ONCE;
    i64 used = 0;
    const auto add_lanes = [&] {
        f64 part[AT_ONCE], first[AT_ONCE], most[AT_ONCE] = {}, beyond[AT_ONCE] = {}, share[AT_ONCE];
        for (i64 l = 0; l < AT_ONCE; l++) first[l] = lanes[l], part[l] = 1.0 / first[l];
        for (i64 c = 1; c <= others; c++)
            for (i64 l = 0; l < AT_ONCE; l++) {
                const f64 q = lanes[c * AT_ONCE + l];
                first[l] -= q;
                most[l] += q * (1.0 - q * part[l]);
                beyond[l] += lanes[(others + c) * AT_ONCE + l];
            }
        for (i64 l = 0; l < AT_ONCE; l++) {
            first[l] = larger(first[l], 0.0);
            most[l] += first[l] * (1.0 - first[l] * part[l]);
            const f64 counted = lanes[(width - 1) * AT_ONCE + l] / (most[l] + 1e-12);
            share[l] = smaller(1.0, larger(LEAST, counted));
        }
        for (i64 c = 0; c <= others; c++) {
            const f64 *expected = c ? lanes + c * AT_ONCE : first;
            const f64 *differences = c ? lanes + (others + c) * AT_ONCE : beyond;
            for (i64 l = 0; l < AT_ONCE; l++) {
                const f64 q = expected[l], chance = share[l] * q * (1.0 - q * part[l]);
                const f64 each = share[l] + strength * part[l];
                const f64 square = differences[l] * differences[l];
                terms[c * AT_ONCE + l] = 0.5 * (square - chance) / (q * each + BESIDE);
            }
        }
        for (i64 l = 0; l < used; l++)
            for (i64 c = 0; c <= others; c++) total += terms[c * AT_ONCE + l];
        used = 0;
    };
    for (i64 cell = 0; cell < size; cell++, sums += width) {
        if (sums[0] <= 0) continue;
        for (i64 k = 0; k < width; k++) lanes[k * AT_ONCE + used] = sums[k];
        if (++used == AT_ONCE) add_lanes();
    }
    if (used > 0) add_lanes();
    return total;
}
static void rough_gains(Room &room, Matrix<const uint16_t> codes, Flat<const i64> sizes,
                        Matrix<const i64> blocks, Flat<const f32> told, i64 classes, f64 strength,
                        Flat<u32> cells, Flat<f32> sums, Flat<f64> out) {
    const i64 width = 2 * classes;
    f64 *lanes = room.get<f64>(3 * classes * AT_ONCE).data;
    if (room.failed) return;
    fill(lanes, 3 * classes * AT_ONCE, 1.0); // lanes that are not used are divided by, too
    for (i64 k = 0; k < out.size; k++) {
        const i64 size = cells_of(codes, sizes, blocks[k], blocks.columns, sums.size / width, cells);
        if (size < 0)
            return room.refuse("codes or sizes are beyond the cells that sums has room for");
        fill(sums.data, size * width, f32(0));
        add_rows({cells.data, cells.size}, told, width, sums);
        out[k] = classes == 2 ? rough_gain<true>(sums.data, size, 2, strength, lanes)
                              : rough_gain<false>(sums.data, size, classes, strength, lanes);
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
    const i64 classes = scores.rows, n = y.size;
    for (i64 v = 0; v < scores.first; v++) {
        const Matrix<f32> own = scores[v];
        for (i64 start = 0; start < n; start += AT_ONCE) {
            const i64 size = smaller(AT_ONCE, n - start);
            f32 most[AT_ONCE] = {}, whole[AT_ONCE], hit[AT_ONCE] = {};
            for (i64 c = 0; c < classes; c++) {
                f32 *score = own[c] + start;
                const f32 *prior = base[c] + start;
                for (i64 i = 0; i < size; i++) {
                    score[i] += prior[i] + bias[v][c];
                    most[i] = larger(most[i], score[i]);
                }
            }
            for (i64 i = 0; i < size; i++) {
                if (y[start + i] > 0) hit[i] = own[y[start + i] - 1][start + i];
                whole[i] = exp(-most[i]);
            }
            for (i64 c = 0; c < classes; c++) {
                f32 *score = own[c] + start;
                for (i64 i = 0; i < size; i++) {
                    score[i] = score[i] == most[i] ? f32(1) : exp(score[i] - most[i]);
                    whole[i] += score[i];
                }
            }
            for (i64 c = 0; c < classes; c++) {
                f32 *score = own[c] + start;
                for (i64 i = 0; i < size; i++) score[i] *= 1 / whole[i];
            }
            for (i64 i = 0; i < size; i++)
                losses[v][start + i] = log(whole[i]) + most[i] - hit[i];
        }
    }
}

KERNELS(evidence,
        KERNEL(fill_cells,
               "cells(n)<K parts(n)<P y(n)<C weights(n) means(n,C) variances(n) counts(P,K,C) "
               "expected(P,K,C) doubt(P,K)"),
        KERNEL(add_rows, "cells(n)<s/width told(n*width) width:0..2147483647 sums(s)"),
        KERNEL(fill_surprises,
               "counts(P,K,C) expected(P,K,C) others(K,P,C) doubt(P,K) prior(C) strength "
               "out(K,P+1,C)"),
        KERNEL(slopes_of,
               "codes(J,n) sizes(J):0..65536 blocks(B,W):-1..J-1 repeat(n)<repeats "
               "repeats:1..65536 parts(n)<P y(n)<C weights(n) means(n,C) variances(n) others(q,P,C) "
               "prior(C) strengths(S) cells(n) sums(s) beside(b) slope(B,S) bend(B,S) ; "
               "q*(q-n)==0 P*repeats<=s"),
        KERNEL(rough_gains,
               "codes(J,n) sizes(J):0..65536 blocks(B,W):-1..J-1 told(n*2*classes) "
               "classes:1..65536 strength cells(n) sums(s) out(B)"),
        KERNEL(expected_of,
               "scores(C-1,n) moved(q,M,C-1) parts(n) weights(n) proba(n,C) others(n,P,C) ; "
               "P*(q-n)==0 P*(M-P-1)==0"),
        KERNEL(expect, "scores(V,K,n) base(K,n) bias(V,K) y(n):0..K losses(V,n)"));

} // namespace naively::SET
