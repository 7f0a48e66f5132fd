// Exact sums value by value: small batches, weighted rows, sparse rows.
//
// Slower a value than moments.cpp (about 10 ns), but with no set-up, and in place. Sums of one class
// never touch the cells of another, so classes can be summed in parallel.
#include "python.hpp"

#include "limbs.hpp"
#include "ranges.hpp"

namespace naively::SET {

constexpr f64 ROUND = 4503599627370496.0; // 2^52: adding and subtracting it rounds
constexpr i64 VALID = 0, OUT_OF_BOUNDS = 1;
constexpr i64 AHEAD = 4, LINE = 8, MOST = 32; // rows; numbers that arrive together; how often as
                                              // many, at most

struct Measured {
    i64 status, row, column;
    f64 smallest, largest;
    bool missing;
};
static PyObject *to_python(Measured x) {
    return Py_BuildValue("LLLddN", (long long)x.status, (long long)x.row, (long long)x.column,
                         x.smallest, x.largest, PyBool_FromLong(x.missing));
}

// What the limbs must hold, found before anything is added.
//
// Returns (status, row, column, smallest non-zero magnitude, largest magnitude, any NaN); row and
// column are of the first value out of [minimum, maximum].
static Measured measure(AnyMatrix X, f64 minimum, f64 maximum) {
    return X.typed([&](auto table) {
        Measured found = {VALID, 0, 0, INF, 0.0, false};
        for (i64 i = 0; i < table.rows; i++)
            for (i64 j = 0; j < table.columns; j++) {
                const f64 x = f64(table(i, j));
                if (is_nan(x)) {
                    found.missing = true;
                    continue;
                }
                if (x < minimum || x > maximum) {
                    found.status = OUT_OF_BOUNDS, found.row = i, found.column = j;
                    return found;
                }
                const f64 a = magnitude(x);
                if (a > 0.0) {
                    found.smallest = smaller(found.smallest, a);
                    found.largest = larger(found.largest, a);
                }
            }
        return found;
    });
}

// Σ x, Σ x² and the weight of the missing values.
struct Sums {
    Limbs sums, squares, missing;
};

// Add one value, with its weight, to its cell.
static inline bool deposit(f64 x, f64 w, bool weighted, f64 threshold, i64 cell, const Sums &to) {
    if (is_nan(x)) return add_value(to.missing[cell], to.missing.low, w);
    if (!is_nan(threshold)) x = x > threshold ? 1.0 : 0.0;
    if (x == 0.0) return true;
    bool fits = weighted ? add_product(to.sums[cell], to.sums.low, x, w)
                         : add_value(to.sums[cell], to.sums.low, x);
    if (to.squares.size > 0) fits &= add_square(to.squares[cell], to.squares.low, x, w);
    return fits;
}

// Add the given rows of X; `weights` is empty if all are 1.
static void dense_deposits(Room &room, AnyMatrix X, Flat<const i64> codes, Flat<const f64> weights,
                           Flat<const i64> rows, f64 threshold, Flat<i64> sums, i64 size, i64 low,
                           Flat<i64> squares, i64 size2, i64 low2, Flat<i64> missing, i64 size0,
                           i64 low0) {
    const Sums to = {{sums, size, low}, {squares, size2, low2}, {missing, size0, low0}};
    const bool weighted = weights.size > 0;
    bool fits = true;
    X.typed([&](auto table) {
        for (const i64 i : rows) {
            const f64 w = weighted ? weights[i] : 1.0;
            for (i64 j = 0; j < table.columns; j++)
                fits &= deposit(f64(table(i, j)), w, weighted, threshold,
                                codes[i] * table.columns + j, to);
        }
        return true;
    });
    if (!fits) room.refuse(TOO_WIDE);
}

// Add the given rows of a CSR matrix; `weights` is empty if all are 1.
static void sparse_deposits(Room &room, AnyFlat data, Indices indices, Indices indptr, i64 features,
                            Flat<const i64> codes, Flat<const f64> weights, Flat<const i64> rows,
                            f64 threshold, Flat<i64> sums, i64 size, i64 low, Flat<i64> squares,
                            i64 size2, i64 low2, Flat<i64> missing, i64 size0, i64 low0) {
    const Sums to = {{sums, size, low}, {squares, size2, low2}, {missing, size0, low0}};
    const bool weighted = weights.size > 0;
    bool fits = true;
    data.typed([&](auto values) {
        for (const i64 i : rows) {
            const f64 w = weighted ? weights[i] : 1.0;
            for (i64 p = indptr[i]; p < indptr[i + 1]; p++)
                fits &= deposit(f64(values[p]), w, weighted, threshold,
                                codes[i] * features + indices[p], to);
        }
        return true;
    });
    if (!fits) room.refuse(TOO_WIDE);
}

// Whether x is a whole number in [0, 2^31).
static inline bool is_count(f64 x) { return ((x + ROUND) - ROUND == x) & (x >= 0.0) & (x < 2147483648.0); }

// Add the given CSR rows to counts[class, feature], as long as they are counts; `weights` is empty
// if all are 1.
//
// Returns whether all values, weights and their products were whole numbers in [0, 2^31); with a
// threshold, whether all values were finite and all weights such numbers.
static bool sparse_counts(Room &room, AnyFlat data, Indices indices, Indices indptr, Flat<const i64> codes,
                          Flat<const f64> weights, Flat<const i64> rows, f64 threshold,
                          Matrix<i64> counts) {
    const bool binary = !is_nan(threshold);
    return data.typed([&](auto values) {
        return indices.typed([&](auto columns) {
            for (i64 r = 0; r < rows.size; r++) {
                const i64 i = rows[r];
                // which the processor would not expect
                const i64 later = rows[smaller(r + AHEAD, rows.size - 1)], start = indptr[later];
                const i64 end = smaller(indptr[later + 1], start + LINE * MOST);
                for (i64 p = start; p < end; p += LINE) {
                    prefetch(values.data + p);
                    prefetch(columns.data + p);
                }
                i64 *row = counts[codes[i]];
                const i64 first = indptr[i], last = indptr[i + 1];
                const f64 w = weights.size > 0 ? weights[i] : 1.0;
                if (!is_count(w)) return false;
                // here, while they are in the cache, and not before all
                if (!within(columns.data + first, last - first, 1, 0, counts.columns - 1)) {
                    room.refuse("indices are not of columns");
                    return false;
                }
                i64 bad = 0; // a loop of its own is vectorised, and fetches the row
                if (binary) {
                    for (i64 p = first; p < last; p++) {
                        const f64 x = f64(values[p]);
                        bad += x - x != 0.0;
                    }
                    if (bad) return false;
                    for (i64 p = first; p < last; p++)
                        row[columns[p]] += f64(values[p]) > threshold ? i64(w) : 0;
                } else {
                    for (i64 p = first; p < last; p++) {
                        const f64 x = f64(values[p]);
                        bad += !(is_count(x) & (x * w < 2147483648.0));
                    }
                    if (bad) return false;
                    for (i64 p = first; p < last; p++) row[columns[p]] += i64(values[p]) * i64(w);
                }
            }
            return true;
        });
    });
}

// Add each row's weight to its class.
static void total_weights(Room &room, Flat<const i64> codes, Flat<const f64> weights,
                          Flat<i64> totals, i64 size, i64 low) {
    const Limbs to = {totals, size, low};
    bool fits = true;
    for (i64 i = 0; i < codes.size; i++) fits &= add_value(to[codes[i]], low, weights[i]);
    if (!fits) room.refuse(TOO_WIDE);
}

// Whether a CSR row has two entries in one column; `last` is one 0 for each column.
static bool has_duplicates(Indices indices, Indices indptr, Flat<i64> last) {
    return indices.typed([&](auto columns) {
        for (i64 i = 0; i + 1 < indptr.size; i++)
            for (i64 p = indptr[i]; p < indptr[i + 1]; p++) {
                const i64 column = columns[p];
                if (last[column] == i + 1) return true;
                last[column] = i + 1;
            }
        return false;
    });
}

KERNELS(deposits,
        KERNEL(measure, "X(n,d) minimum maximum"),
        KERNEL(dense_deposits,
               "X(n,d) codes(n)<min(s/(size*d),min(s2/(size2*d),s0/(size0*d)))@rows weights(n?) "
               "rows(r)<n threshold sums(s) size:0..4096 low:-99999..99999 squares(s2) "
               "size2:0..4096 low2:-99999..99999 missing(s0) size0:0..4096 low0:-99999..99999"),
        KERNEL(sparse_deposits,
               "data(m) indices(m)<features@indptr[rows] indptr(n+1)^m@rows "
               "features:0..2147483647 "
               "codes(n)<min(s/(size*features),min(s2/(size2*features),s0/(size0*features)))@rows "
               "weights(n?) rows(r)<n threshold sums(s) size:0..4096 low:-99999..99999 "
               "squares(s2) size2:0..4096 low2:-99999..99999 missing(s0) size0:0..4096 "
               "low0:-99999..99999"),
        KERNEL(sparse_counts,
               "data(m) indices(m) indptr(n+1)^m@rows codes(n)<C@rows weights(n?) rows(r)<n "
               "threshold counts(C,d)"),
        KERNEL(total_weights,
               "codes(n)<s/size weights(n) totals(s) size:0..4096 low:-99999..99999"),
        KERNEL(has_duplicates, "indices(m)<d indptr(n+1)^m last(d)"));

} // namespace naively::SET
