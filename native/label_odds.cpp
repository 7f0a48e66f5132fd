// What the terms of documents tell of labels, by counts without the documents themselves.
#include "python.hpp"

#include "elementary.hpp"
#include "log_counts.hpp"

namespace naively::SET {

// p log (p / share) + (1 - p) log ((1 - p) / (1 - share)): what a term tells of a label.
//
// With p = (having + doubt share) / (n + doubt), of a term that was met n times, `having` times of
// these with the label, as `share` of all terms are.
static f64 divergence(f64 having, f64 n, f64 share, f64 doubt) {
    const f64 p = (having + doubt * share) / (n + doubt);
    f64 found = p > 0.0 && share > 0.0 ? p * log(p / share) : 0.0;
    if (p < 1.0 && share < 1.0) found += (1.0 - p) * log((1.0 - p) / (1.0 - share));
    return found;
}

// out[l, t] = what a term counts for a label.
//
// having, total : (L, V), (V,) how often each term was met with each label, and in all.
// share : (L,) the share of each label in all terms.
// log_whole : log of how often all terms were met.
// doubts : (D,) as of `divergence`.
// group : (V,) which group each term is of.
// weights : (2 + D, G) of 1, the surprise log_whole - log n_t and the divergences.
// least, most : (2 + D, G) between which these are, of the documents that weights were learned from:
//     beyond, they count as these.
static void label_weights(Matrix<const f64> having, Flat<const f64> total, Flat<const f64> share,
                          f64 log_whole, Flat<const f64> doubts, Flat<const i64> group,
                          Matrix<const f64> weights, Matrix<const f64> least,
                          Matrix<const f64> most, Matrix<f64> out) {
    for (i64 t = 0; t < total.size; t++) {
        const i64 g = group[t];
        const f64 n = total[t];
        for (i64 k = 0; k < share.size; k++) {
            f64 found = weights[0][g];
            if (n > 0.0) {
                const f64 surprise = log_whole - log(n);
                found += weights[1][g] * between(surprise, least[1][g], most[1][g]);
                for (i64 j = 0; j < doubts.size; j++) {
                    const f64 tell = divergence(having[k][t], n, share[k], doubts[j]);
                    const i64 a = 2 + j;
                    found += weights[a][g] * between(tell, least[a][g], most[a][g]);
                }
            }
            out[k][t] = larger(found, 0.0); // rounding
        }
    }
}

// odds[t, l] = log (n_tl + α_t) - log (n_t - n_tl - 1 + α_t), or 0 where that is below 0.
//
// So terms count that a document has once, and without the label; tells[t, l] is what they tell.
//
// counts, total : (V, L) n_tl and (V,) n_t.
// alpha, logs : (V,) α_t; log (k + α) of small integers k, or empty.
// share, doubts : (L,), (D,) as of `divergence`.
// tells : (V, L, D)
static void first_odds(Matrix<const f64> counts, Flat<const f64> total, Flat<const f64> alpha,
                       Flat<const f64> logs, Flat<const f64> share, Flat<const f64> doubts,
                       Matrix<f64> odds, Cube<f64> tells) {
    for (i64 t = 0; t < counts.rows; t++) {
        const f64 rest = larger(total[t] - 1.0, 0.0);
        for (i64 k = 0; k < counts.columns; k++) {
            const f64 having = counts[t][k], without = larger(rest - having, 0.0);
            odds[t][k] = log_count(having, alpha[t], logs) - log_count(without, alpha[t], logs);
            for (i64 j = 0; j < doubts.size; j++)
                tells[t][k][j] = divergence(smaller(having, rest), rest, share[k], doubts[j]);
        }
    }
}

// told[i, k, l] = Σ x log (θ_l / θ'_l) of the terms of document i, by counts without it.
//
// θ_l is the share of a term in the documents that have label l, θ'_l in the others.
//
// indptr, terms, values : the documents as CSR rows; terms are places in the tables below.
// whole, having : (n,), (n, L) how many documents equal to each are there, and have each label: all
//     of them are left out.
// counts, total : (V, L) n_tl, (V,) n_t.
// odds, tells : (V, L), (V, L, D) as `first_odds` makes them.
// logs : log (k + α) of small integers k; empty if α differs from term to term.
// alpha : (V,) α_t.
// everything, of_label : Σ_t n_t and (L,) Σ_t n_tl of all terms.
// doubts : (D,) as of `divergence`.
// group : (V,) which group each term is of.
// alpha_whole : Σ α_t.
// told : (n, (2 + D) groups, L), zeros: of each group, times the surprise log (Σ n / n_t), and times
//     each divergence.
// lengths : (n,) Σ x of the terms that are known without the document.
// least, most : ((2 + D) groups,) inf and -inf: between which 1, the surprise and the divergences are,
//     by group.
static void label_odds(Room &room, Indices indptr, Indices terms, Flat<const f64> values,
                       Flat<const f64> whole, Matrix<const f64> having, Matrix<const f64> counts,
                       Flat<const f64> total, Matrix<const f64> odds, Cube<const f64> tells,
                       Flat<const f64> logs, Flat<const f64> alpha, f64 everything,
                       Flat<const f64> of_label, Flat<const f64> doubts, Flat<const i64> group,
                       f64 alpha_whole, Cube<f64> told, Flat<f64> lengths, Flat<f64> least,
                       Flat<f64> most) {
    const i64 labels = counts.columns, rows = told.rows, groups = rows / (2 + doubts.size);
    const Matrix<f64> met = {room.get<f64>(rows * labels).data, rows, labels};
    f64 *share = room.get<f64>(labels).data;
    bool *odd = room.get<bool>(labels).data; // loses something else than one document
    if (room.failed) return;
    for (i64 k = 0; k < labels; k++) share[k] = of_label[k] / larger(everything, 1e-300);
    const f64 log_all = log(everything);
    for (i64 i = 0; i < lengths.size; i++) {
        const Matrix<f64> own_told = told[i];
        fill(met.data, met.size(), 0.0);
        f64 alone = 0.0, mine = 0.0;
        for (i64 k = 0; k < labels; k++) odd[k] = having[i][k] != 0.0 || whole[i] != 1.0;
        const auto meet = [&](i64 a, f64 aspect) {
            least[a] = smaller(least[a], aspect);
            most[a] = larger(most[a], aspect);
        };
        // Add x times one, times the surprise and the divergences `tell`, to what is told of a label.
        const auto add = [&](i64 g, i64 k, f64 x, f64 one, f64 surprise, auto tell) {
            own_told[g][k] += x * one;
            own_told[groups + g][k] += x * surprise * one;
            met[g][k] += x;
            met[groups + g][k] += x * surprise;
            for (i64 j = 0; j < doubts.size; j++) {
                const f64 found = tell(j);
                const i64 a = (2 + j) * groups + g;
                meet(a, found);
                own_told[a][k] += x * found * one;
                met[a][k] += x * found;
            }
        };
        for (i64 p = indptr[i]; p < indptr[i + 1]; p++) {
            const i64 t = terms[p];
            const f64 x = values[p];
            mine += x;
            const f64 rest = larger(total[t] - whole[i] * x, 0.0);
            if (rest <= ROUNDING * total[t]) { // nobody else has it
                alone += alpha[t];
                continue;
            }
            const f64 surprise = log_all - log(rest);
            lengths[i] += x;
            least[group[t]] = most[group[t]] = 1.0;
            meet(groups + group[t], surprise);
            for (i64 k = 0; k < labels; k++) {
                if (odd[k]) continue;
                f64 one = odds[t][k];
                if (x != 1.0) {
                    const f64 without = larger(total[t] - counts[t][k] - x, 0.0);
                    one = log_count(counts[t][k], alpha[t], logs);
                    one -= log_count(without, alpha[t], logs);
                }
                add(group[t], k, x, one, surprise, [&](i64 j) {
                    if (x == 1.0) return f64(tells[t][k][j]);
                    return divergence(smaller(counts[t][k], rest), rest, share[k], doubts[j]);
                });
            }
        }
        for (i64 k = 0; k < labels; k++) {
            if (!odd[k]) continue;
            for (i64 p = indptr[i]; p < indptr[i + 1]; p++) {
                const i64 t = terms[p];
                const f64 x = values[p], rest = larger(total[t] - whole[i] * x, 0.0);
                if (rest <= ROUNDING * total[t]) continue;
                const f64 own = larger(counts[t][k] - having[i][k] * x, 0.0);
                const f64 without =
                    larger(total[t] - counts[t][k] - (whole[i] - having[i][k]) * x, 0.0);
                const f64 one =
                    log_count(own, alpha[t], logs) - log_count(without, alpha[t], logs);
                add(group[t], k, x, one, log_all - log(rest), [&](i64 j) {
                    return divergence(smaller(own, rest), rest, share[k], doubts[j]);
                });
            }
        }
        const f64 rest_alpha = larger(alpha_whole - alone, 1e-300);
        for (i64 k = 0; k < labels; k++) {
            const f64 own = larger(of_label[k] - having[i][k] * mine, 0.0);
            const f64 without =
                larger(everything - of_label[k] - (whole[i] - having[i][k]) * mine, 0.0);
            const f64 shift = log(own + rest_alpha) - log(without + rest_alpha);
            for (i64 a = 0; a < rows; a++) own_told[a][k] -= met[a][k] * shift;
        }
    }
}

KERNELS(label_odds_of,
        KERNEL(label_weights,
               "having(L,V) total(V) share(L) log_whole doubts(D) group(V)<G weights(D+2,G) "
               "least(D+2,G) most(D+2,G) out(L,V)"),
        KERNEL(first_odds,
               "counts(V,L) total(V) alpha(V) logs(S) share(L) doubts(D) odds(V,L) tells(V,L,D)"),
        KERNEL(label_odds,
               "indptr(n+1)^m terms(m)<V values(m) whole(n) having(n,L) counts(V,L) total(V) "
               "odds(V,L) tells(V,L,D) logs(S) alpha(V) everything of_label(L) doubts(D) "
               "group(V)<A/(D+2) alpha_whole told(n,A,L) lengths(n) least(A) most(A)"));

} // namespace naively::SET
