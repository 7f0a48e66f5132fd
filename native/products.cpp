// Exact sums of products of features, Σ w x_i x_j: the cells of a symmetric matrix.
//
// A value is cut into whole numbers of 22 bits, x = (a + b 2^-22 + c 2^-44) 2^u, with u fixed per
// feature. Sums of products of such numbers are exact in float64 up to 2^53, so that plain matrix
// products find them. Of three pieces five are enough, each of one plane with itself: of a, c,
// a + b + c, a - b + c and 4a + 2b + c, from which follow all terms of the product (Toom 1963, Cook
// 1966); of two or four pieces those of the pieces and of their sums by pairs (Karatsuba 1962). The
// idea is that of Ozaki et al. 2012, "Error-free transformations of matrix multiplication". What is
// left of a value below the last piece is added product by product.
//
// The cell of features i <= j is number i d - i (i - 1) / 2 + j - i of d (d + 1) / 2. Matrices are
// computed in tiles of 16 by 16 features, (p, q) for p <= q, row by row.
#include "python.hpp"

#include "limbs.hpp"
#include "rows.hpp"

namespace naively::SET {

constexpr i64 WIDTH = 2 * LANES;     // features of a panel
constexpr i64 CELLS = WIDTH * WIDTH; // of a tile
constexpr i64 BITS = 22;             // of a piece
constexpr i64 ROWS = 256;            // of a plane, so that it stays in the cache
constexpr f64 ROUND = 6755399441055744.0; // 1.5 · 2^52: adding and subtracting it rounds
constexpr f64 WHOLE = 4194304.0;          // 2^BITS

// The largest magnitude of each column's finite values, into `largest`.
//
// Returns the smallest magnitude of all that is not zero, or infinity.
static f64 column_sizes(AnyMatrix X, i64 start, i64 stop, Flat<f64> largest) {
    const Vector zero = splat(0.0), infinity = splat(INF);
    Vector smallest = infinity;
    f64 line[LANES] = {}, last[LANES];
    const Flat<const f64> given = X.flat();
    for (i64 row = start; row < stop; row += ROWS) { // which stay in the cache
        const i64 end = smaller(row + ROWS, stop);
        touch(given, row * X.columns, end * X.columns, line);
        for (i64 first = 0; first < X.columns; first += LANES) {
            const i64 some = smaller(LANES, X.columns - first);
            const bool whole = given.size > 0 && some == LANES;
            fill(line, LANES, 0.0);
            fill(last, LANES, 0.0);
            memcpy(last, largest.data + first, some * sizeof(f64));
            Vector high = load(last);
            for (i64 r = row; r < end; r++) {
                if (!whole) X.copy(r, 1, first, some, line, LANES);
                Vector a = absolute(load(whole ? given.data + r * X.columns + first : line));
                a = where_greater(infinity, a, a, zero); // neither NaN nor infinite
                high = larger(a, high);
                smallest = smaller(where_greater(a, zero, a, infinity), smallest);
            }
            store(last, high);
            memcpy(largest.data + first, last, some * sizeof(f64));
        }
    }
    store(last, smallest);
    f64 least = INF;
    for (const f64 size : last) least = smaller(least, size);
    return least;
}

// lacking[i] = whether row i has a NaN.
static void incomplete(AnyMatrix X, i64 start, i64 stop, Flat<bool> lacking) {
    X.typed([&](auto table) {
        for (i64 i = start; i < stop; i++) {
            bool found = false;
            for (i64 j = 0; j < table.columns; j++) found |= is_nan(f64(table(i, j)));
            lacking[i] = found;
        }
        return true;
    });
}

// Write eight values of a plane, and add their squares.
static INLINE void keep(f64 *at, f64 *square, Vector x) {
    store(at, x);
    store(square, fma(x, x, load(square)));
}

// Cut the values of some rows into up to four pieces, and combine them to planes.
//
// Planes have their panels of features; rows beyond the given ones are zeros. norms[s, f] is the
// square of feature f's column of plane s: products of two columns add up to no more than the
// largest. Returns the number of values that are left with a rest, whose places row * d + feature,
// counted among the given rows, and rests, in units of x, are noted, in no order.
static i64 cut(AnyMatrix X, Flat<const i64> rows, Flat<const f64> scale, i64 pieces,
               Matrix<f64> planes, Matrix<f64> norms, Flat<i64> places, Flat<f64> rests) {
    const i64 features = X.columns, size = planes.columns, width = norms.columns;
    const Flat<const f64> given = X.flat();
    f64 line[WIDTH] = {}, factor[WIDTH];
    const Vector half = splat(ROUND), whole = splat(WHOLE), zero = splat(0.0);
    const Vector two = splat(2.0), four = splat(4.0);
    fill(norms.data, norms.size(), 0.0);
    i64 noted = 0;
    for (const i64 row : rows) // reading in order first makes the rest twice as fast
        touch(given, row * features, (row + 1) * features, line);
    fill(line, WIDTH, 0.0);
    for (i64 first = 0; first < features; first += WIDTH) {
        const i64 some = smaller(WIDTH, features - first);
        fill(factor, WIDTH, 0.0);
        for (i64 lane = 0; lane < some; lane++) factor[lane] = scale[first + lane];
        for (i64 k = 0; k < ROWS; k++) {
            if (k >= rows.size) {
                fill(line, some, 0.0);
            } else if (given.size > 0 && some == WIDTH) {
                const f64 *from = given.data + rows[k] * features + first;
                store(line, load(from));
                store(line + LANES, load(from + LANES));
            } else if (given.size > 0) {
                const f64 *from = given.data + rows[k] * features + first;
                for (i64 lane = 0; lane < some; lane++) line[lane] = from[lane];
            } else {
                X.copy(rows[k], 1, first, some, line, WIDTH);
            }
            Mask left = differ(zero, zero);
            for (i64 lanes = 0; lanes < WIDTH; lanes += LANES) {
                f64 *at = planes.data + first * ROWS + k * WIDTH + lanes;
                f64 *square = norms.data + first + lanes;
                Vector y = load(line + lanes) * load(factor + lanes);
                const Vector a = (y + half) - half;
                y = (y - a) * whole;
                keep(at, square, a);
                if (pieces > 1) {
                    const Vector b = (y + half) - half;
                    y = (y - b) * whole;
                    if (pieces == 3) {
                        const Vector c = (y + half) - half;
                        y = (y - c) * whole;
                        const Vector ends = a + c;
                        keep(at + size, square + width, c);
                        keep(at + 2 * size, square + 2 * width, ends + b);
                        keep(at + 3 * size, square + 3 * width, ends - b);
                        keep(at + 4 * size, square + 4 * width,
                             add_exact(a, four, add_exact(b, two, c)));
                    } else {
                        keep(at + size, square + width, b);
                        keep(at + 2 * size, square + 2 * width, a + b);
                    }
                    if (pieces > 3) {
                        const Vector c = (y + half) - half;
                        y = (y - c) * whole;
                        const Vector d = (y + half) - half;
                        y = (y - d) * whole;
                        keep(at + 3 * size, square + 3 * width, c);
                        keep(at + 4 * size, square + 4 * width, a + c);
                        keep(at + 5 * size, square + 5 * width, b + c);
                        keep(at + 6 * size, square + 6 * width, d);
                        keep(at + 7 * size, square + 7 * width, a + d);
                        keep(at + 8 * size, square + 8 * width, b + d);
                        keep(at + 9 * size, square + 9 * width, c + d);
                    }
                }
                left = left | differ(y, zero);
            }
            if (k >= rows.size || !any(left)) continue;
            for (i64 lane = 0; lane < some; lane++) {
                f64 y = line[lane] * factor[lane], unit = 1.0 / factor[lane];
                for (i64 piece = 0; piece < pieces; piece++) {
                    y = (y - ((y + ROUND) - ROUND)) * WHOLE;
                    unit /= WHOLE;
                }
                if (y != 0.0) {
                    places[noted] = k * features + first + lane;
                    rests[noted++] = y * unit;
                }
            }
        }
    }
    return noted;
}

// For each tile first:last of so many panels: f(number - first, p, q).
template <class F> static inline void each_tile(i64 panels, i64 first, i64 last, F f) {
    i64 number = 0;
    for (i64 p = 0; p < panels; p++)
        for (i64 q = p; q < panels; q++, number++)
            if (first <= number && number < last) f(number - first, p, q);
}

// Add the products of all features' columns of a plane, for tiles first:last, to `out`.
static void square(Flat<const f64> plane, i64 panels, i64 first, i64 last, Flat<f64> out) {
    each_tile(panels, first, last, [&](i64 number, i64 p, i64 q) {
        for (i64 half = 0; half < WIDTH; half += TILE_ROWS) {
            Tile tile = zero_tile();
            const f64 *column = plane.data + p * ROWS * WIDTH + half;
            const f64 *row = plane.data + q * ROWS * WIDTH;
            for (i64 k = 0; k < ROWS; k++)
                add_outer<add_exact>(tile, column + k * WIDTH, load(row + k * WIDTH),
                                     load(row + k * WIDTH + LANES));
            add_tile(out.data + number * CELLS + half * WIDTH, tile);
        }
    });
}

// Add sums, which are whole numbers, to integer totals, and begin them again at 0.
static void add_whole(Flat<f64> sums, Flat<i64> totals) {
    for (i64 k = 0; k < sums.size; k++) {
        totals[k] += i64(sums[k]);
        sums[k] = 0.0;
    }
}

// Where features i <= j are in tiles first:last, or -1 if they are not.
static i64 cell_in_tiles(i64 i, i64 j, i64 features, i64 first, i64 last) {
    const i64 panels = (features + WIDTH - 1) / WIDTH, p = i / WIDTH, q = j / WIDTH;
    const i64 tile = p * panels - p * (p - 1) / 2 + q - p;
    if (tile < first || tile >= last) return -1;
    return (tile - first) * CELLS + (i - p * WIDTH) * WIDTH + j - q * WIDTH;
}

// Add what the pieces of the noted values left out of the products of their rows.
//
// With x = p + r: x_i x_j - p_i p_j = r_i x_j + p_i r_j. The places are sorted; `scratch` is (d,)
// zeros, and stays so.
static void add_rests(Room &room, AnyMatrix X, Flat<const i64> rows, Flat<const i64> places,
                      Flat<const f64> rests, Flat<f64> scratch, i64 first, i64 last,
                      Flat<i64> limbs, i64 size, i64 low) {
    const i64 features = X.columns, noted = places.size;
    const Limbs to = {limbs, size, low};
    bool fits = true;
    for (i64 begin = 0, end; begin < noted; begin = end) {
        const i64 k = places[begin] / features, row = rows[k];
        for (end = begin; end < noted && places[end] / features == k; end++)
            scratch[places[end] % features] = rests[end];
        for (i64 n = begin; n < end; n++) {
            const i64 i = places[n] % features;
            const f64 r = rests[n], piece = X(row, i) - r;
            for (i64 j = 0; j < features; j++) {
                const f64 other = scratch[j];
                if (other != 0.0 && j < i) continue; // done, as a pair
                const i64 cell =
                    cell_in_tiles(smaller(i, j), larger(i, j), features, first, last);
                if (cell < 0) continue;
                fits &= add_product(to[cell], low, r, X(row, j));
                if (other != 0.0) fits &= add_product(to[cell], low, piece, other);
            }
        }
        for (i64 n = begin; n < end; n++) scratch[places[n] % features] = 0.0;
    }
    if (!fits) room.refuse(TOO_WIDE);
}

// Add (a + b e + c e²)², e = 2^-22, times 2^top, from the values of (a t² + b t + c)².
static bool by_points(const i64 *total, i64 step, i64 top, Cell cell) {
    const i64 aa = total[0], cc = total[step], plus = total[2 * step], minus = total[3 * step];
    const i64 two = total[4 * step];
    const i64 ab = floor_div(two - 12 * aa + 3 * cc - 3 * plus - minus, 6);
    const i64 bc = floor_div(plus - minus, 2) - ab;
    const i64 middle = floor_div(plus + minus, 2) - aa - cc; // a c + c a + b b
    bool fits = add_integer(cell, top, aa);
    fits &= add_integer(cell, top - BITS, ab);
    fits &= add_integer(cell, top - 2 * BITS, middle);
    fits &= add_integer(cell, top - 3 * BITS, bc);
    fits &= add_integer(cell, top - 4 * BITS, cc);
    return fits;
}

// Add the same from the squares of the pieces and of their sums by pairs.
static bool by_pairs(const i64 *total, i64 step, i64 pieces, i64 top, Cell cell) {
    bool fits = true;
    for (i64 a = 0; a < pieces; a++) {
        const i64 plane = a * (a + 1) / 2, own = total[plane * step];
        fits &= add_integer(cell, top - 2 * BITS * a, own);
        for (i64 b = 0; b < a; b++) {
            const i64 both = total[(plane + 1 + b) * step] - own - total[b * (b + 1) / 2 * step];
            fits &= add_integer(cell, top - BITS * (a + b), both);
        }
    }
    return fits;
}

// Add the products that follow from the totals to the limbs of tiles first:last; clear them.
//
// unit : (d,) int64, the exponent u of each feature's first piece.
static void add_squares(Room &room, Matrix<i64> totals, i64 pieces, Flat<const i64> unit, i64 first,
                        i64 last, Flat<i64> limbs, i64 size, i64 low) {
    const i64 features = unit.size, step = totals.columns;
    const Limbs to = {limbs, size, low};
    bool fits = true;
    each_tile((features + WIDTH - 1) / WIDTH, first, last, [&](i64 number, i64 p, i64 q) {
        for (i64 i = p * WIDTH; i < smaller(p * WIDTH + WIDTH, features); i++)
            for (i64 j = larger(i, q * WIDTH); j < smaller(q * WIDTH + WIDTH, features); j++) {
                const i64 cell = number * CELLS + (i - p * WIDTH) * WIDTH + j - q * WIDTH;
                const i64 top = unit[i] + unit[j] - low;
                const i64 *at = totals.data + cell;
                fits &= pieces == 3 ? by_points(at, step, top, to[cell])
                                    : by_pairs(at, step, pieces, top, to[cell]);
            }
    });
    if (!fits) room.refuse(TOO_WIDE);
    fill<i64>(totals.data, totals.size(), 0);
}

// Write the normalised limbs of tiles first:last to their cells of `target`, (cells, L).
//
// The last limb of the target takes the rest of the number.
static void settle_tiles(Matrix<const i64> limbs, i64 features, i64 first, i64 last,
                         Matrix<i64> target) {
    const i64 size = target.columns, wide = limbs.columns;
    each_tile((features + WIDTH - 1) / WIDTH, first, last, [&](i64 number, i64 p, i64 q) {
        for (i64 i = p * WIDTH; i < smaller(p * WIDTH + WIDTH, features); i++)
            for (i64 j = larger(i, q * WIDTH); j < smaller(q * WIDTH + WIDTH, features); j++) {
                const i64 *own =
                    limbs[number * CELLS + (i - p * WIDTH) * WIDTH + j - q * WIDTH];
                i64 *to = target[i * features - i * (i - 1) / 2 - i + j];
                for (i64 k = 0; k < size; k++) to[k] = own[k];
                if (wide > size) to[size - 1] = plus(to[size - 1], left(own[size], 32));
            }
    });
}

// Add the products of features begin:end and those after, of the given rows, one by one.
//
// weights : (n,), or empty if all are 1.
// pooled : whether the classes share the cells of `products`.
// gone : limbs of (classes, d, d) cells, Σ w x_i over the rows in which x_j is missing.
// both : limbs of (classes, cells), the weight of the rows in which both are missing.
static void deposit_rows(Room &room, AnyMatrix X, Flat<const i64> codes, Flat<const f64> weights,
                         Flat<const i64> rows, i64 begin, i64 end, bool pooled, Flat<i64> products,
                         i64 size, i64 low, Flat<i64> gone, i64 size1, i64 low1, Flat<i64> both,
                         i64 size0, i64 low0) {
    const i64 features = X.columns, cells = features * (features + 1) / 2;
    const Limbs to = {products, size, low}, to_gone = {gone, size1, low1};
    const Limbs to_both = {both, size0, low0};
    bool fits = true;
    for (const i64 row : rows) {
        const f64 w = weights.size > 0 ? weights[row] : 1.0;
        const i64 code = codes[row], start = pooled ? 0 : code * cells;
        for (i64 i = begin; i < end; i++) {
            const f64 x = X(row, i);
            const bool lacks = is_nan(x);
            for (i64 j = i; j < features; j++) {
                const i64 at = i * features - i * (i - 1) / 2 + j - i;
                const f64 y = X(row, j);
                if (is_nan(y)) {
                    if (lacks) {
                        fits &= add_value(to_both[code * cells + at], low0, w);
                    } else {
                        const i64 place = (code * features + i) * features + j;
                        fits &= add_product(to_gone[place], low1, x, w);
                    }
                } else if (lacks) {
                    const i64 place = (code * features + j) * features + i;
                    fits &= add_product(to_gone[place], low1, y, w);
                } else if (x != 0.0 && y != 0.0) {
                    fits &= add_triple(to[start + at], low, x, y, w);
                }
            }
        }
    }
    if (!fits) room.refuse(TOO_WIDE);
}

KERNELS(products,
        KERNEL(column_sizes, "X(n,d) start:0..stop stop:0..n largest(d)"),
        KERNEL(incomplete, "X(n,d) start:0..stop stop:0..n lacking(n)"),
        KERNEL(cut,
               "X(n,d) rows(r)<n scale(d) pieces:1..4 "
               "planes(pieces*(pieces+1)/2-pieces/3*(pieces&1),(d+15)/16*4096) "
               "norms(pieces*(pieces+1)/2-pieces/3*(pieces&1),(d+15)/16*16) places(v) rests(v) ; "
               "r<=256 v>=r*d"),
        KERNEL(square,
               "plane(panels*4096) panels:0..32767 first:0..last last:0..panels*(panels+1)/2 "
               "out(s) ; s>=(last-first)*256"),
        KERNEL(add_whole, "sums(n) totals(n)"),
        KERNEL(add_rests,
               "X(n,d) rows(r)<n places(v)<r*d rests(v) scratch(d) first:0..last "
               "last:0..(d+15)/16*((d+15)/16+1)/2 limbs(s) size:0..4096 low:-99999..99999 ; "
               "s>=(last-first)*256*size"),
        KERNEL(add_squares,
               "totals(pieces*(pieces+1)/2-pieces/3*(pieces&1),t) pieces:1..4 unit(d) "
               "first:0..last last:0..(d+15)/16*((d+15)/16+1)/2 limbs(s) size:0..4096 "
               "low:-99999..99999 ; t>=(last-first)*256 s>=(last-first)*256*size"),
        KERNEL(settle_tiles,
               "limbs(s,W) d:0..2147483647 first:0..last last:0..(d+15)/16*((d+15)/16+1)/2 "
               "target(d*(d+1)/2,L) ; s>=(last-first)*256 L>=1 W>=L"),
        KERNEL(deposit_rows,
               "X(n,d) "
               "codes(n)<min(s/(size*(d*(d+1)/2)*(1-pooled)),min(s1/(size1*d*d),s0/(size0*(d*(d+1)/2))))@rows "
               "weights(n?) rows(r)<n begin:0..end end:0..d pooled products(s) size:0..4096 "
               "low:-99999..99999 gone(s1) size1:0..4096 low1:-99999..99999 both(s0) "
               "size0:0..4096 low0:-99999..99999 ; s>=size*(d*(d+1)/2)*pooled"));

} // namespace naively::SET
