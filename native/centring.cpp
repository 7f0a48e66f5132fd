// Covariances from exact sums of products: centred in the limbs, rounded once.
#include "python.hpp"

#include "limbs.hpp"

namespace naively::SET {

// out[i, j] = Σ (x_i - μ_i)(x_j - μ_j) / freedom from sums of products; symmetric.
//
// Computed about centres r near the means, with r = Σ mantissa 2^exponent for each class c and
// feature, where Σ (x_i - r_i)(x_j - r_j) = Σ x_i x_j - Σ_c r_i s_j + r_j (s_i - n r_i) is rounded
// once. s_j is Σ x_j over the rows that have i too. What the centres are off costs
// Σ_c (s_i - n r_i)(s_j - n r_j) / n.
//
// products : (cells, L) limbs of Σ x_i x_j, the lowest at position `start` of the result's.
// sums : (c, w, d, L') digits of s_j for feature i; about : those of s_j - n r_j. Their lowest bit is
//     2^bit. w is 1 if no value is missing, else d.
// mantissa, exponent : (p, c, d), the mantissas up to 2^30.
// low, size : the exponent of the lowest bit, and the number, of the limbs to compute with.
// unit : the exponent of the unit of `rest`, `weight` and `freedom`.
// rest : (c, w, d), s_j - n r_j, rounded.
// weight : (c, w, d), n, infinity in the place of 0.
// freedom : (w, d), degrees of freedom, infinity in the place of 0.
// first, last : the features i to compute, with all j >= i.
//
// Returns whether the centres are so near the means that no digits were lost.
static bool centre(Room &room, Matrix<const i64> products, i64 start, Block<const i64> sums,
                   Block<const i64> about, i64 bit, Cube<const i64> mantissa,
                   Cube<const i64> exponent, i64 low, i64 size, i64 unit, Cube<const f64> rest,
                   Cube<const f64> weight, Matrix<const f64> freedom, i64 first, i64 last,
                   Matrix<f64> out) {
    const i64 features = out.rows, digits = sums.columns, wide = sums.second;
    i64 *table = room.zeros<i64>(features * size).data;
    i64 *scratch = room.get<i64>(size + 2).data;
    if (room.failed) return false;
    i64 at = first * features - first * (first - 1) / 2;
    bool near = true, fits = true;
    for (i64 i = first; i < last; i++) {
        const i64 given_i = smaller(i, wide - 1);
        fill<i64>(table + i * size, (features - i) * size, 0);
        for (i64 j = i; j < features; j++, at++) {
            const i64 given_j = smaller(j, wide - 1);
            i64 *cell = table + j * size;
            for (i64 k = 0; k < products.columns; k++)
                cell[start + k] = plus(cell[start + k], products[at][k]);
            for (i64 c = 0; c < sums.first; c++)
                for (i64 p = 0; p < mantissa.first; p++)
                    for (i64 k = 0; k < digits; k++) {
                        const i64 place = bit + 32 * k - low;
                        const i64 *m = mantissa[p][c], *e = exponent[p][c];
                        fits &= add_integer({cell, size}, place + e[i],
                                            times(-m[i], sums[c][given_i][j][k]));
                        fits &= add_integer({cell, size}, place + e[j],
                                            times(-m[j], about[c][given_j][i][k]));
                    }
        }
        normalise_cells(table + i * size, features - i, size);
        f64 own = 0.0; // of i itself
        for (i64 j = i; j < features; j++) {
            const i64 given_j = smaller(j, wide - 1);
            f64 value = nearest_float(table + j * size, 1, size, low - unit, scratch);
            if (i == j) own = value;
            for (i64 c = 0; c < sums.first; c++)
                value -= rest[c][given_i][j] * (rest[c][given_j][i] / weight[c][given_i][j]);
            if (i == j) {
                near = near && value >= 0.5 * own;
                value = larger(value, 0.0);
            }
            value /= freedom[given_i][j];
            out[i][j] = out[j][i] = value;
        }
    }
    if (!fits) room.refuse(TOO_WIDE);
    return near;
}

KERNELS(centring,
        KERNEL(centre,
               "products(d*(d+1)/2,L) start:0..size-L sums(C,w,d,D) about(C,w,d,D) "
               "bit:-99999..99999 mantissa(p,C,d) exponent(p,C,d) low:-99999..99999 size:2..4096 "
               "unit:-99999..99999 rest(C,w,d) weight(C,w,d) freedom(w,d) first:0..last last:0..d "
               "out(d,d) ; w>=1"));

} // namespace naively::SET
