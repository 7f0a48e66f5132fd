// Exact numbers as rows of limbs: carries, sums of tables, and rounding.
#include "python.hpp"

#include "limbs.hpp"

namespace naively::SET {

// Propagate the carries of every cell of a (cells, limbs) array, in place.
static void normalise(Matrix<i64> limbs) { normalise_cells(limbs.data, limbs.rows, limbs.columns); }

// target[rows[i], columns[j]] += sign * source[i, j], digit by digit from limb `offset`.
//
// Both are (rows, columns, limbs) and normalised; the target stays so. Returns the largest magnitude
// of a top limb that changed: at most 2^62, as long as both tops were at most 2^61.
static i64 accumulate(Steps3<i64> target, Flat<const i64> rows, Flat<const i64> columns,
                      Steps3<const i64> source, i64 offset, i64 sign) {
    const i64 size = target.columns, width = source.columns;
    i64 largest = 0;
    for (i64 i = 0; i < source.first; i++) {
        for (i64 j = 0; j < source.rows; j++) {
            i64 k = 0;
            while (k < width && source(i, j, k) == 0) k++;
            if (k == width) continue; // nothing to add, as in most cells of counts of words
            const i64 r = rows[i], c = columns[j];
            i64 carry = 0;
            for (k = offset; k < size; k++) {
                i64 value = plus(target(r, c, k), carry);
                if (k - offset < width) value = plus(value, times(sign, source(i, j, k - offset)));
                else if (carry == 0) break;
                if (k < size - 1) {
                    target(r, c, k) = value & DIGIT;
                    carry = value >> 32;
                } else {
                    target(r, c, k) = value;
                }
            }
            const i64 top = target(r, c, size - 1);
            largest = larger(largest, top < 0 ? minus(0, top) : top);
        }
    }
    return largest;
}

// (first, last): the limbs that a normalised (cells, limbs) array needs.
//
// `first` is the lowest 32-bit digit in use, beyond the last limb's own if all are 0. `last` is the
// smallest index such that folding the limbs above it into it keeps every cell in [-2^61, 2^61), or
// the number of limbs if even the last one is outside.
static Pair extent(Steps2<const i64> limbs) {
    const i64 size = limbs.columns;
    i64 first = size + 1, last = 0;
    for (i64 i = 0; i < limbs.rows; i++) {
        i64 top = limbs(i, size - 1), k = 0;
        while (k < smaller(first, size - 1) && limbs(i, k) == 0) k++;
        if (k == size - 1 && (top & DIGIT) == 0) k = top == 0 ? size + 1 : size;
        first = smaller(first, k);
        k = size - 1;
        if (!(-(i64(1) << 61) <= top && top < i64(1) << 61)) last = size;
        while (k > last && -(i64(1) << 29) <= top && top < i64(1) << 29) {
            k--;
            top = plus(left(top, 32), limbs(i, k));
        }
        last = larger(last, k);
    }
    return {first, last};
}

// out = the float64 nearest to each cell of a normalised (cells, limbs) array, ties to even.
static void round_limbs(Room &room, Steps2<const i64> limbs, i64 low, Flat<f64> out) {
    const Flat<i64> digits = room.get<i64>(limbs.columns + 2);
    if (room.failed) return;
    for (i64 i = 0; i < limbs.rows; i++)
        out[i] = nearest_float(&limbs(i, 0), limbs.right, limbs.columns, low, digits.data);
}

KERNELS(limbs,
        KERNEL(normalise, "limbs(n,L)"),
        KERNEL(accumulate,
               "target(R,c,L) rows(r)<R columns(k)<c source(r,k,W) offset:0..L sign ; L>=1"),
        KERNEL(extent, "limbs(n,L) ; L>=1"),
        KERNEL(round_limbs, "limbs(n,L) low:-99999..99999 out(n)"));

} // namespace naively::SET
