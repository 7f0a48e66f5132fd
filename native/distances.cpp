// Log-densities of rows under normal distributions with any covariance.
//
// Rows are scored sixteen at a time, a tile of eight outputs by sixteen rows of A (x - m): the same
// instructions for one row and for a million, so that no row's score depends on its neighbours.
#include "python.hpp"

#include "rows.hpp"

namespace naively::SET {

constexpr i64 GROUPS = 4; // of sixteen rows, which share what is read of A

// The room that the rows before one take of a packed lower triangular matrix.
static i64 packed_size(i64 features) {
    i64 size = 0;
    for (i64 first = 0; first < features; first += TILE_ROWS)
        size += smaller(features, first + TILE_ROWS) * TILE_ROWS;
    return size;
}

// Write the lower triangular matrix that was packed to A, whose rest is left alone.
static void unpack(Flat<const f64> packed, Matrix<f64> A) {
    const f64 *at = packed.data;
    for (i64 first = 0; first < A.rows; first += TILE_ROWS)
        for (i64 f = 0; f < smaller(A.rows, first + TILE_ROWS); f++, at += TILE_ROWS)
            for (i64 k = larger<i64>(0, f - first); k < smaller(TILE_ROWS, A.rows - first); k++)
                A[first + k][f] = at[k];
}

// Raw minus the mean of each feature, sixteen rows.
static void centred(const f64 *raw, const f64 *mean, i64 features, f64 *out) {
    for (i64 f = 0; f < features; f++) {
        const Vector m = splat(mean[f]);
        for (i64 lanes = 0; lanes < GROUP; lanes += LANES)
            store(out + f * GROUP + lanes, load(raw + f * GROUP + lanes) - m);
    }
}

// out[f, r] = X[row + r, f] - mean[f] of up to sixteen rows, feature after feature.
static void load_rows(const AnyMatrix &X, Flat<const f64> flat, i64 row, i64 rows, const f64 *mean,
                      f64 *staged, f64 *block, f64 *out) {
    const i64 features = X.columns;
    touch(flat, row * features, (row + rows) * features, block);
    for (i64 first = 0; first < features; first += SIDE) {
        const i64 last = smaller(first + SIDE, features);
        load_block(X, flat, row, rows, first, last, staged, SIDE, block);
        centred(block, mean + first, last - first, out + first * GROUP);
    }
}

// Eight rows of A times the sixteen columns of x.
static inline Tile band(const f64 *packed, i64 columns, const f64 *x) {
    Tile tile = zero_tile();
    for (i64 f = 0; f < columns; f++)
        add_outer<fma>(tile, packed + f * TILE_ROWS, load(x + f * GROUP),
                       load(x + f * GROUP + LANES));
    return tile;
}

// out[c, i] += |A_c (x_i - mean_c)|² over rows first:last of A, for rows start:stop of X.
//
// packed : (C, size) bands of lower triangular matrices; `first` is a multiple of eight. NaN and
// infinite values give NaN or infinite distances.
static void add_distances(Room &room, AnyMatrix X, i64 start, i64 stop, Steps2<const f64> mean,
                          Matrix<const f64> packed, i64 first, i64 last, Matrix<f64> out) {
    const i64 features = X.columns, size = features * GROUP;
    const Flat<const f64> flat = X.flat();
    f64 *staged = room.zeros<f64>(GROUP * SIDE).data, *block = room.zeros<f64>(SIDE * GROUP).data;
    f64 *raw = room.get<f64>(GROUPS * size).data, *moved = room.get<f64>(GROUPS * size).data;
    f64 *origin = room.zeros<f64>(features).data, *centre = room.get<f64>(features).data;
    if (room.failed) return;
    f64 lengths[GROUPS * GROUP] = {};
    for (i64 begin = start; begin < stop; begin += GROUPS * GROUP) {
        const i64 some = smaller(GROUPS * GROUP, stop - begin), groups = (some + GROUP - 1) / GROUP;
        for (i64 g = 0; g < groups; g++) {
            const i64 row = begin + g * GROUP;
            load_rows(X, flat, row, smaller(GROUP, stop - row), origin, staged, block,
                      raw + g * size);
        }
        for (i64 c = 0; c < out.rows; c++) {
            f64 *own = out[c] + begin - start;
            for (i64 f = 0; f < features; f++) centre[f] = mean(c, f);
            for (i64 g = 0; g < groups; g++)
                centred(raw + g * size, centre, features, moved + g * size);
            for (i64 r = 0; r < some; r++) lengths[r] = own[r];
            const f64 *at = packed[c] + packed_size(first);
            for (i64 k = first; k < last; k += TILE_ROWS) {
                const i64 columns = smaller(features, k + TILE_ROWS);
                for (i64 g = 0; g < groups; g++) {
                    const Tile tile = band(at, columns, moved + g * size);
                    for (i64 h = 0; h < 2; h++) {
                        f64 *place = lengths + g * GROUP + h * LANES;
                        Vector total = load(place);
                        for (i64 t = 0; t < TILE_ROWS; t++) {
                            const Vector z = tile.half[t][h];
                            total = fma(z, z, total);
                        }
                        store(place, total);
                    }
                }
                at += columns * TILE_ROWS;
            }
            for (i64 r = 0; r < some; r++) own[r] = lengths[r];
        }
    }
}

// out[c, i] = w_c · (x_i - centre) + bias[c] for rows start:stop; `packed` are bands of w.
static void projections(Room &room, AnyMatrix X, i64 start, i64 stop, Flat<const f64> centre,
                        Flat<const f64> packed, Flat<const f64> bias, Matrix<f64> out) {
    const i64 features = X.columns, classes = out.rows;
    const Flat<const f64> flat = X.flat();
    f64 *staged = room.zeros<f64>(GROUP * SIDE).data, *block = room.zeros<f64>(SIDE * GROUP).data;
    f64 *moved = room.get<f64>(features * GROUP).data;
    if (room.failed) return;
    f64 tiles[TILE_ROWS * GROUP];
    for (i64 row = start; row < stop; row += GROUP) {
        const i64 rows = smaller(GROUP, stop - row);
        load_rows(X, flat, row, rows, centre.data, staged, block, moved);
        for (i64 first = 0; first < classes; first += TILE_ROWS) {
            fill(tiles, TILE_ROWS * GROUP, 0.0);
            add_tile(tiles, band(packed.data + first * features, features, moved));
            for (i64 t = 0; t < smaller(TILE_ROWS, classes - first); t++)
                for (i64 r = 0; r < rows; r++)
                    out[first + t][row - start + r] = tiles[t * GROUP + r] + bias[first + t];
        }
    }
}

KERNELS(distances,
        KERNEL(unpack, "packed(32*(d/8)*(d/8+1)+((d+7)/8-d/8)*8*d) A(d,d)"),
        KERNEL(add_distances,
               "X(n,d) start:0..stop stop:0..n mean(C,d) "
               "packed(C,32*(d/8)*(d/8+1)+((d+7)/8-d/8)*8*d) first:0..last last:0..d "
               "out(C,stop-start) ; first&7==0"),
        KERNEL(projections,
               "X(n,d) start:0..stop stop:0..n centre(d) packed((C+7)/8*8*d) bias(C) "
               "out(C,stop-start)"));

} // namespace naively::SET
