// The curvature of the log-likelihood of documents, by corrections of their terms.
#include "python.hpp"

namespace naively::SET {

// out[t, c] += Σ_i x_it w_i p_ic (m_ic - Σ_k p_ik m_ik), m_ic = Σ_t x_it d_tc, in order.
//
// WIDTH is the number of classes if it is known when this is compiled; 0 for any.
template <i64 WIDTH>
static void add_curved(Indices indptr, Indices terms, Flat<const f32> values,
                       Matrix<const f32> proba, Flat<const f32> weight,
                       Matrix<const f32> direction, Matrix<f32> out, f32 *change) {
    const i64 classes = WIDTH ? WIDTH : proba.columns;
    for (i64 i = 0; i < weight.size; i++) {
        if (weight[i] == 0) continue;
        const i64 first = indptr[i], last = indptr[i + 1];
        fill(change, classes, f32(0));
        for (i64 p = first; p < last; p++) {
            const f32 x = values[p], *row = direction[terms[p]];
            for (i64 c = 0; c < classes; c++) change[c] += x * row[c];
        }
        f32 mean = 0;
        for (i64 c = 0; c < classes; c++) mean += proba[i][c] * change[c];
        for (i64 c = 0; c < classes; c++) change[c] = weight[i] * proba[i][c] * (change[c] - mean);
        for (i64 p = first; p < last; p++) {
            const f32 x = values[p];
            f32 *row = out[terms[p]];
            for (i64 c = 0; c < classes; c++) row[c] += x * change[c];
        }
    }
}

// The second derivatives of Σ w_i log p_i(y) times a direction, added to `out` in place.
//
// indptr, terms, values : x, the documents as CSR rows.
// proba : (n, C) p_ic.
// weight : (n,) w_i.
// direction, out : (V, C) d_tc.
static void add_curvature(Room &room, Indices indptr, Indices terms, Flat<const f32> values,
                          Matrix<const f32> proba, Flat<const f32> weight,
                          Matrix<const f32> direction, Matrix<f32> out) {
    f32 *change = room.get<f32>(proba.columns).data;
    if (room.failed) return;
    if (proba.columns == 2)
        add_curved<2>(indptr, terms, values, proba, weight, direction, out, change);
    else add_curved<0>(indptr, terms, values, proba, weight, direction, out, change);
}

KERNELS(corrections,
        KERNEL(add_curvature,
               "indptr(n+1)^m terms(m)<V values(m) proba(n,C) weight(n) direction(V,C) out(V,C)"));

} // namespace naively::SET
