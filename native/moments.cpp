// Exact sums of x and x x for each class and feature of dense rows, at memory speed.
//
// Each value is cut into three 23-bit pieces on a grid fixed per feature, x = p0 + p1 + p2. The
// pieces and the products of two pieces are integers of at most 44 bits on their grids, so 512 of
// them add up exactly in float64; then the nine partial sums of a class and feature go to its limbs.
// A value with bits below the grid (at most 2^-16 of the largest) is completed limb by limb. After
// Demmel & Nguyen (2015), "Parallel reproducible summation".
#include "python.hpp"

#include "limbs.hpp"
#include "vector.hpp"

namespace naively::SET {

constexpr i64 FLUSH = 512;   // rows a class may add up before its partial sums must be flushed
constexpr i64 RUN = 32;      // rows added at a time, while they are in the level-1 cache
constexpr i64 CELLS = 32768; // cells of a chunk: 256 KiB, half a level-2 cache
constexpr i64 SAFE = 400;    // rows with magnitudes beyond 2^±SAFE are left to deposits.cpp
enum Status : i64 { DONE, OUT_OF_BOUNDS, WIDEN, HAS_MISSING, RESCALE, EXTREME, SPILLED };

// Limbs of sums and of squares.
struct Sums {
    Limbs sums, squares;
};

// Move the partial sums of one class into their limbs; returns whether these have room for them.
static bool flush_class(f64 *partial, i64 code, i64 tiles, i64 stride, i64 features,
                        const Sums &to) {
    bool fits = true;
    for (i64 tile = 0; tile < tiles; tile++) {
        f64 *at = partial + (code * tiles + tile) * stride;
        const i64 lanes = smaller(LANES, features - tile * LANES);
        for (i64 lane = 0; lane < lanes; lane++) {
            const i64 cell = code * features + tile * LANES + lane;
            for (i64 k = 0; k < stride / LANES; k++) {
                const f64 value = at[k * LANES + lane];
                if (k < 3) {
                    fits &= add_value(to.sums[cell], to.sums.low, value);
                } else { // the products p0p0, p0p1, p0p2, p1p1, p1p2, p2p2
                    const f64 twice = k == 3 || k == 6 || k == 8 ? 1.0 : 2.0;
                    fits &= add_value(to.squares[cell], to.squares.low, twice * value);
                }
            }
        }
        fill(at, stride, 0.0);
    }
    return fits;
}

// Move all partial sums into their limbs.
static void flush_all(Room &room, Flat<f64> partial, Flat<i64> since, i64 tiles, i64 stride,
                      i64 features, Flat<i64> sums, i64 size, i64 low, Flat<i64> squares, i64 size2,
                      i64 low2) {
    const Sums to = {{sums, size, low}, {squares, size2, low2}};
    bool fits = true;
    for (i64 c = 0; c < since.size; c++)
        if (since[c] > 0) {
            fits &= flush_class(partial.data, c, tiles, stride, features, to);
            since[c] = 0;
        }
    if (!fits) room.refuse(TOO_WIDE);
}

struct Scanned {
    f64 smallest, bottom, top;
    bool missing;
};

// Largest and smallest non-zero magnitude of each column of the buffer; and of all: the smallest
// value, the smallest non-zero magnitude, the largest one, whether any is NaN.
static Scanned scan(const f64 *buffer, i64 rows, i64 tiles, f64 *highest, f64 *lowest) {
    const i64 width = tiles * LANES;
    const Vector zero = splat(0.0), infinity = splat(INF);
    Vector minimum = infinity;
    Mask missing = differ(zero, zero);
    for (i64 tile = 0; tile < tiles; tile++) {
        Vector high = zero, low = infinity;
        for (i64 r = 0; r < rows; r++) {
            const Vector x = load(buffer + r * width + tile * LANES);
            missing = missing | differ(x, x);
            const Vector a = absolute(x);
            high = larger(a, high);
            const Vector nonzero = where_greater(a, zero, a, infinity);
            low = smaller(nonzero, low);
            minimum = smaller(x, minimum);
        }
        store(highest + tile * LANES, high);
        store(lowest + tile * LANES, low);
    }
    Scanned found = {INF, INF, 0.0, any(missing)};
    f64 last[LANES];
    store(last, minimum);
    for (const f64 x : last) found.smallest = smaller(found.smallest, x);
    for (i64 f = 0; f < width; f++) {
        found.bottom = smaller(found.bottom, lowest[f]);
        found.top = larger(found.top, highest[f]);
    }
    return found;
}

// Stable counting sort of the rows by class: rows of class c are order[ends[c - 1] : ends[c]].
static void group_rows(const i64 *codes, i64 rows, i64 *order, Flat<i64> ends) {
    fill<i64>(ends.data, ends.size, 0);
    for (i64 r = 0; r < rows; r++) ends[codes[r]]++;
    i64 total = 0;
    for (i64 &end : ends) {
        const i64 count = end;
        end = total;
        total += count;
    }
    for (i64 r = 0; r < rows; r++) order[ends[codes[r]]++] = r;
}

// Add rows order[first:last], all of one class, to its partial sums.
//
// Returns the lowest tile with values that have bits below the grid, else `tiles`.
template <bool SQUARES>
static i64 add_rows(const f64 *buffer, const i64 *order, i64 first, i64 last, f64 *partial,
                    i64 stride, const f64 *constants, i64 tiles) {
    const i64 width = tiles * LANES;
    i64 inexact = tiles;
    for (i64 tile = 0; tile < tiles; tile++) {
        const f64 *k = constants + tile * 3 * LANES;
        const Vector k0 = load(k), k1 = load(k + LANES), k2 = load(k + 2 * LANES);
        f64 *o = partial + tile * stride;
        Vector s[3], q[6];
        for (int a = 0; a < 3; a++) s[a] = load(o + a * LANES);
        if constexpr (SQUARES)
            for (int a = 0; a < 6; a++) q[a] = load(o + (3 + a) * LANES);
        Mask rest = differ(k0, k0);
        for (i64 j = first; j < last; j++) {
            const Vector x = load(buffer + order[j] * width + tile * LANES);
            const Vector p0 = (x + k0) - k0;
            Vector r = x - p0;
            const Vector p1 = (r + k1) - k1;
            r = r - p1;
            const Vector p2 = (r + k2) - k2;
            rest = rest | differ(r, p2);
            s[0] = s[0] + p0;
            s[1] = s[1] + p1;
            s[2] = s[2] + p2;
            if constexpr (SQUARES) {
                q[0] = add_exact(p0, p0, q[0]);
                q[1] = add_exact(p0, p1, q[1]);
                q[2] = add_exact(p0, p2, q[2]);
                q[3] = add_exact(p1, p1, q[3]);
                q[4] = add_exact(p1, p2, q[4]);
                q[5] = add_exact(p2, p2, q[5]);
            }
        }
        if constexpr (SQUARES)
            for (int a = 0; a < 6; a++) store(o + (3 + a) * LANES, q[a]);
        for (int a = 0; a < 3; a++) store(o + a * LANES, s[a]);
        if (any(rest)) inexact = smaller(inexact, tile);
    }
    return inexact;
}

// Note the values of rows order[first:last], from a tile on, that have bits below the grid. Returns
// how many are noted.
static i64 spill_rows(const f64 *buffer, const i64 *order, i64 first, i64 last, i64 tile, i64 tiles,
                      const f64 *constants, i64 code, i64 features, Flat<f64> values,
                      Flat<f64> rests, Flat<i64> cells, i64 count) {
    const i64 width = tiles * LANES;
    for (i64 j = first; j < last; j++)
        for (i64 f = tile * LANES; f < features; f++) {
            const f64 x = buffer[order[j] * width + f];
            const f64 *k = constants + (f / LANES) * 3 * LANES + f % LANES;
            f64 r = x;
            for (int piece = 0; piece < 3; piece++)
                r = r - ((r + k[piece * LANES]) - k[piece * LANES]);
            if (r != 0.0) {
                values[count] = x, rests[count] = r, cells[count] = code * features + f;
                count++;
            }
        }
    return count;
}

// Add what the pieces of the noted values left out: x = pieces + rest.
static void complete(Room &room, Flat<const f64> values, Flat<const f64> rests,
                     Flat<const i64> cells, i64 count, Flat<i64> sums, i64 size, i64 low,
                     Flat<i64> squares, i64 size2, i64 low2) {
    const Sums to = {{sums, size, low}, {squares, size2, low2}};
    bool fits = true;
    for (i64 i = 0; i < count; i++) {
        fits &= add_value(to.sums[cells[i]], low, rests[i]);
        if (size2 > 0) { // the pieces' part has been squared already
            fits &= add_square(to.squares[cells[i]], low2, values[i], 1.0);
            fits &= add_square(to.squares[cells[i]], low2, values[i] - rests[i], -1.0);
        }
    }
    if (!fits) room.refuse(TOO_WIDE);
}

// The smallest e with x < 2^e; 0 of 0 and of infinity.
static i64 exponent_above(f64 x) {
    int e = 0;
    if (x != 0.0 && x - x == 0.0) (void)__builtin_frexp(x, &e);
    return e;
}

// Add rows start:stop of X to the exact sums; resumable.
//
// X : (n, d) array of any real type and layout.
// codes : (n,) the class of each row.
// minimum, maximum : bounds of valid values.
// threshold : if not NaN, each value counts as 1.0 where above it, else 0.0.
// partial, since, grid, constants : state between calls (see naively.statistics.sums).
// sums, squares : `size` and `size2` limbs for each of classes * d cells, with the exponents `low`,
//     `low2` of their lowest bits; `squares` is empty if not wanted.
// missing : (classes, d) counts of NaN, or (0, 0) while none was met.
// values, rests, cells : values that are left to `complete`, with room for two chunks.
// report : (3,) out: the number of values noted; and for OUT_OF_BOUNDS (row, column), for WIDEN the
//     exponents (lowest bit, highest bit) that the limbs must hold, for EXTREME the row after those
//     to sum otherwise.
//
// Returns (status, row): what stopped it and the row to resume at. Partial sums are left to
// `flush_all`.
static Pair dense_sums(Room &room, AnyMatrix X, Flat<const i64> codes, i64 start, i64 stop,
                       f64 minimum, f64 maximum, f64 threshold, Flat<f64> partial, Flat<i64> since,
                       Flat<i64> grid, Flat<f64> constants, Flat<i64> sums, i64 size, i64 low,
                       Flat<i64> squares, i64 size2, i64 low2, Matrix<i64> missing,
                       Flat<f64> values, Flat<f64> rests, Flat<i64> cells, Flat<i64> report) {
    const i64 features = X.columns, classes = since.size;
    const i64 tiles = (features + LANES - 1) / LANES, width = tiles * LANES;
    const Sums to = {{sums, size, low}, {squares, size2, low2}};
    report[0] = 0;
    if (width == 0 || classes == 0) return {DONE, stop};
    const i64 stride = partial.size / (classes * tiles);
    const i64 chunk = smaller<i64>(4096, larger<i64>(1, CELLS / width));
    f64 *buffer = room.zeros<f64>(chunk * width).data;
    f64 *highest = room.get<f64>(width).data, *lowest = room.get<f64>(width).data;
    i64 *order = room.get<i64>(chunk).data;
    const Flat<i64> ends = room.get<i64>(classes);
    if (room.failed) return {DONE, start};
    const bool binary = !is_nan(threshold);

    for (i64 row = start, rows; row < stop; row += rows) {
        rows = smaller(chunk, stop - row);
        if (report[0] + rows * features > values.size) return {SPILLED, row};
        X.copy(row, rows, 0, features, buffer, width);
        Scanned found = scan(buffer, rows, tiles, highest, lowest);
        if (found.smallest < minimum || found.top > maximum)
            for (i64 r = 0; r < rows; r++)
                for (i64 f = 0; f < features; f++) {
                    const f64 x = buffer[r * width + f];
                    if (x < minimum || x > maximum) {
                        report[1] = row + r, report[2] = f;
                        return {OUT_OF_BOUNDS, row};
                    }
                }
        if (binary) {
            fill(highest, features, 1.0);
            found.bottom = found.top = 1.0;
        }

        if (found.top > 0.0) {
            const i64 high = exponent_above(found.top), bottom = exponent_above(found.bottom);
            if (high > SAFE || bottom < -SAFE) {
                report[1] = row + rows;
                return {EXTREME, row};
            }
            if (bottom - 53 < low || limbs_needed(low, high) > size) {
                report[1] = bottom - 53, report[2] = high;
                return {WIDEN, row};
            }
        }
        for (i64 f = 0; f < features; f++) {
            const i64 e = exponent_above(highest[f]);
            if (!(highest[f] > 0.0 && (e > grid[f] || e < grid[f] - 6))) continue;
            for (i64 c = 0; c < classes; c++)
                if (since[c] > 0) return {RESCALE, row};
            grid[f] = e + 1;
            const i64 o = f / LANES * 3 * LANES + f % LANES;
            for (i64 piece = 0; piece < 3; piece++) // multiples of 2^(grid - 22, - 45, - 68)
                constants[o + piece * LANES] = __builtin_ldexp(1.5, int(e + 31 - 23 * piece));
        }

        if (found.missing) {
            if (missing.size() == 0) return {HAS_MISSING, row};
            for (i64 r = 0; r < rows; r++)
                for (i64 f = 0; f < features; f++)
                    if (is_nan(buffer[r * width + f])) {
                        buffer[r * width + f] = binary ? -INF : 0.0;
                        missing[codes[row + r]][f]++;
                    }
        }
        if (binary)
            for (i64 r = 0; r < rows; r++)
                for (i64 f = 0; f < width; f++) {
                    f64 &x = buffer[r * width + f];
                    x = x > threshold && f < features ? 1.0 : 0.0;
                }

        group_rows(codes.data + row, rows, order, ends);
        i64 first = 0;
        for (i64 c = 0; c < classes; c++)
            while (first < ends[c]) {
                const i64 last = smaller(ends[c], first + smaller(FLUSH - since[c], RUN));
                f64 *at = partial.data + c * tiles * stride;
                const auto add = stride > 3 * LANES ? add_rows<true> : add_rows<false>;
                const i64 tile =
                    add(buffer, order, first, last, at, stride, constants.data, tiles);
                if (tile < tiles)
                    report[0] = spill_rows(buffer, order, first, last, tile, tiles, constants.data,
                                           c, features, values, rests, cells, report[0]);
                since[c] += last - first;
                first = last;
                if (since[c] == FLUSH) {
                    if (!flush_class(partial.data, c, tiles, stride, features, to))
                        room.refuse(TOO_WIDE);
                    since[c] = 0;
                }
            }
    }
    return {DONE, stop};
}

KERNELS(moments,
        KERNEL(flush_all,
               "partial(C*tiles*stride) since(C) tiles:0..2147483647 stride:8..72 "
               "features:0..2147483647 sums(C*features*size) size:0..4096 low:-99999..99999 "
               "squares(C*features*size2) size2:0..4096 low2:-99999..99999 ; stride&7==0"),
        KERNEL(complete,
               "values(v) rests(v) cells(v)<min(s/size,s2/size2)@0:count count:0..v sums(s) "
               "size:0..4096 low:-99999..99999 squares(s2) size2:0..4096 low2:-99999..99999"),
        KERNEL(dense_sums,
               "X(n,d) codes(n)<C@start:stop start:0..stop stop:0..n minimum maximum threshold "
               "partial(s) since(C):0..511 grid(d) constants((d+7)/8*24) sums(C*d*size) "
               "size:0..4096 low:-99999..99999 squares(C*d*size2) size2:0..4096 "
               "low2:-99999..99999 missing(C?,d?) values(v) rests(v) cells(v) report(3) ; "
               "(s-C*((d+7)/8)*24)*(s-C*((d+7)/8)*72)==0"));

} // namespace naively::SET
