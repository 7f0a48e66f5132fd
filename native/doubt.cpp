// Scores of documents: they fall with the length, and are mixed with the prior.
#include "python.hpp"

#include "elementary.hpp"

namespace naively::SET {

// log ((1 - doubt) + doubt exp(behind)): what a class gains that is so far behind.
static f64 raised(f64 behind, f64 doubt) {
    if (behind > 0) return behind + log(doubt + (1.0 - doubt) * exp(-behind));
    return log((1.0 - doubt) + doubt * exp(behind));
}

// scores[c, i] = scores[c, i] L^-γ + b_c, in place; 0 of documents without terms.
//
// scores : (C, n)
// data, indptr : of CSR rows, what the terms of each document count: L is their sum.
// quarters : 4 γ.
// bias : (C,)
static void let_fall(Matrix<f64> scores, Flat<const f64> data, Flat<const i64> indptr, i64 quarters,
                     Flat<const f64> bias) {
    for (i64 i = 0; i < scores.columns; i++) {
        f64 length = 0.0;
        for (i64 p = indptr[i]; p < indptr[i + 1]; p++) length += data[p];
        f64 falls = 1.0;
        const f64 root = __builtin_sqrt(__builtin_sqrt(length > 0 ? length : 1.0));
        for (i64 k = 0; k < quarters; k++) falls /= root;
        const bool known = indptr[i] < indptr[i + 1];
        for (i64 c = 0; c < bias.size; c++)
            scores[c][i] = known ? scores[c][i] * falls + bias[c] : 0.0;
    }
}

// Mix p(x | c) with p(x), in place: (1 - doubt) p(x | c) + doubt Σ_k π_k p(x | k).
//
// scores : (C, n) log p(x | c), but for what all classes share.
// log_prior : (C,) log π_c; -inf of a class that has no documents.
static void doubt_scores(Matrix<f64> scores, Flat<const f64> log_prior, f64 doubt) {
    const i64 classes = log_prior.size;
    for (i64 i = 0; i < scores.columns; i++) {
        f64 most = -INF, whole = 0.0;
        for (i64 c = 0; c < classes; c++) most = larger(most, log_prior[c] + scores[c][i]);
        for (i64 c = 0; c < classes; c++) whole += exp(log_prior[c] + scores[c][i] - most);
        whole = most + log(whole);
        for (i64 c = 0; c < classes; c++) scores[c][i] += raised(whole - scores[c][i], doubt);
    }
}

// The same of labels that documents have or have not, in place.
//
// odds : (L, n) log p(x | label) / p(x | no label).
// log_prior, log_rest : (L,) log π_l and log (1 - π_l).
static void doubt_odds(Matrix<f64> odds, Flat<const f64> log_prior, Flat<const f64> log_rest,
                       f64 doubt) {
    for (i64 c = 0; c < log_prior.size; c++) {
        for (i64 i = 0; i < odds.columns; i++) {
            const f64 own = log_prior[c] + odds[c][i], rest = log_rest[c];
            const f64 most = larger(own, rest);
            const f64 whole =
                most + log(exp(own - most) + exp(rest - most));
            odds[c][i] += raised(whole - odds[c][i], doubt) - raised(whole, doubt);
        }
    }
}

KERNELS(doubt,
        KERNEL(let_fall, "scores(C,n) data(m) indptr(n+1)^m quarters:0..64 bias(C)"),
        KERNEL(doubt_scores, "scores(C,n) log_prior(C) doubt"),
        KERNEL(doubt_odds, "odds(L,n) log_prior(L) log_rest(L) doubt"));

} // namespace naively::SET
