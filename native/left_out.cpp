// What the terms of documents tell that were not counted themselves.
#include "python.hpp"

#include "bits.hpp"
#include "elementary.hpp"
#include "log_counts.hpp"

namespace naively::SET {

constexpr i64 AHEAD = 8; // terms that are fetched early
constexpr i64 SMALL = 8192, TABULATED = 1 << 15; // counts of which a table has numbers; numbers of
                                                 // a table by classes

// a log (a / p_c) with a = n_tc + d p_c, what a class adds to the sums of `sums_of`.
static inline f64 part_of(f64 count, f64 doubt, f64 share, f64 log_share) {
    const f64 a = count + doubt * share;
    return a > 0 && share > 0 ? a * (log(a) - log_share) : 0.0;
}

// compute(), from a table of what it is for small whole counts, NaN where that is not yet known.
template <class F> static inline f64 remembered(Flat<f64> table, f64 count, F compute) {
    if (!(0.0 <= count && count < f64(table.size)) || count != f64(i64(count))) return compute();
    f64 &known = table[i64(count)];
    if (is_nan(known)) known = compute();
    return known;
}

// out[j] = Σ_c a log (a / p_c), a = n_tc + d_j p_c, of a term.
//
// counts : (C,) n_tc, how often the term was met in each class.
// share, log_share : (C,) p_c, the share of each class of all terms; above 0 where n_tc is.
// doubts : (D,) d_j, how often the term seems to be met once more as all terms are.
static void sums_of(Flat<const f64> counts, const f64 *share, const f64 *log_share,
                    Flat<const f64> doubts, f64 *out) {
    for (i64 j = 0; j < doubts.size; j++) {
        const f64 doubt = doubts[j];
        f64 known = 0.0, found = 0.0;
        for (i64 k = 0; k < counts.size; k++) // most terms were met in few classes
            if (counts[k] > 0) {
                known += share[k];
                found += part_of(counts[k], doubt, share[k], log_share[k]);
            }
        out[j] = found + larger(1.0 - known, 0.0) * doubt * log(doubt);
    }
}

static f64 sum(Flat<const f64> values) {
    f64 total = 0.0;
    for (const f64 value : values) total += value;
    return total;
}

// Shares of all terms, of classes that have so many, and their logarithms.
static void shares_of(Flat<const f64> of_class, f64 *share, f64 *log_share) {
    const f64 whole = sum(of_class);
    for (i64 k = 0; k < of_class.size; k++) {
        share[k] = of_class[k] / whole;
        log_share[k] = log(share[k]);
    }
}

// out[t] = `sums_of` each term, by their counts (V, C), and those of all terms, (C,).
static void all_sums(Room &room, Matrix<const f64> counts, Flat<const f64> of_class,
                     Flat<const f64> doubts, Matrix<f64> out) {
    f64 *share = room.get<f64>(of_class.size).data, *log_share = room.get<f64>(of_class.size).data;
    if (room.failed) return;
    shares_of(of_class, share, log_share);
    for (i64 t = 0; t < counts.rows; t++) sums_of(counts.row(t), share, log_share, doubts, out[t]);
}

// What a term is weighed by: 1, its surprise, and what it tells of the classes.
//
// sums : (D,) as of `sums_of`.
// n : Σ_c n_tc, above 0.
// log_whole : log of how often all terms were met.
// logs : (1 + D, S) as of `remembered`, log n and log (n + d_j).
// out : (2 + D,) of 1, log (whole / n), and Σ_c p log (p / p_c) with p = (n_tc + d p_c) / (n + d).
static void aspects_of(const f64 *sums, f64 n, f64 log_whole, Flat<const f64> doubts,
                       Matrix<f64> logs, f64 *out) {
    out[0] = 1.0;
    out[1] = log_whole - remembered(logs.row(0), n, [&] { return log(n); });
    for (i64 j = 0; j < doubts.size; j++) {
        const f64 most = n + doubts[j];
        out[2 + j] = sums[j] / most - remembered(logs.row(1 + j), n, [&] { return log(most); });
    }
}

// out[t] = what each of some terms counts.
//
// counts : (V, C) n_tc.
// whole : Σ n_tc of all terms, these and others.
// share, doubts : (C,), (D,) as of `sums_of`.
// group : (V,) which group each term is of.
// weights : (2 + D, G) of each aspect, for terms of each group.
// least, most : (2 + D, G) between which aspects are, of the documents that weights were learned
//     from: beyond, they count as these.
static void term_weights(Room &room, Matrix<const f64> counts, f64 whole, Flat<const f64> share,
                         Flat<const f64> doubts, Flat<const i64> group, Matrix<const f64> weights,
                         Matrix<const f64> least, Matrix<const f64> most, Flat<f64> out) {
    const Flat<f64> aspects = room.get<f64>(weights.rows);
    f64 *log_share = room.get<f64>(share.size).data, *sums = room.get<f64>(doubts.size).data;
    if (room.failed) return;
    const f64 log_whole = log(whole);
    for (i64 k = 0; k < share.size; k++) log_share[k] = log(share[k]);
    for (i64 t = 0; t < out.size; t++) {
        const f64 n = sum(counts.row(t));
        fill(aspects.data, aspects.size, 0.0);
        aspects[0] = 1.0;
        if (n > 0) {
            sums_of(counts.row(t), share.data, log_share, doubts, sums);
            aspects_of(sums, n, log_whole, doubts, {nullptr, 1 + doubts.size, 0}, aspects.data);
        }
        f64 total = 0.0;
        for (i64 a = 0; a < aspects.size; a++) {
            const i64 g = group[t];
            total += weights[a][g] * between(aspects[a], least[a][g], most[a][g]);
        }
        out[t] = larger(total, 0.0); // rounding
    }
}

// told[j, i, k, c] = Σ x log θ_c of the terms of document i, by counts without the document.
//
// start, stop : of the documents i.
// first : the document that `told` and `lengths` begin with.
// indptr, terms, values : the documents as CSR rows; terms are places in the tables below.
// weights : (n, C) how many documents of each class are equal to each, all of which are left out.
// counts, totals : (V, C) n_tc, and (V,) n_t.
// sums : (V, D) as of `all_sums`.
// logs : (J, S) log (k + l) of small integers k; S is 0 if l differs from term to term.
// alpha : (J, V) l_t, each smoothing that is tried.
// whole : Σ_t Σ_c n_tc, of all terms.
// group : (V,) which group each term is of.
// alpha_whole : (J,) Σ l_t.
// of_class : (C,) n_c.
// doubts : (D,) as of `sums_of`.
// told : (J, n, A groups, C), zeros: times each aspect of the terms, which are `aspects_of` them by
//     the counts of others; of each group.
// lengths : (n,) Σ x of the terms that are known without the document.
// least, most : (A groups,) inf and -inf: between which each aspect of these terms is, by group.
static void left_out(Room &room, i64 start, i64 stop, i64 first, Indices indptr, Indices terms,
                     Flat<const f64> values, Matrix<const f64> weights, Matrix<const f64> counts,
                     Flat<const f64> totals, Matrix<const f64> sums, Matrix<const f64> logs,
                     Steps2<const f64> alpha, f64 whole, Flat<const i64> group,
                     Flat<const f64> alpha_whole, Flat<const f64> of_class,
                     Flat<const f64> doubts, Block<f64> told, Flat<f64> lengths,
                     Flat<f64> least, Flat<f64> most) {
    const i64 classes = counts.columns, size = 2 + doubts.size, tried = alpha.rows;
    const i64 rows = told.rows, groups = rows / size;
    f64 *share = room.get<f64>(classes).data, *log_share = room.get<f64>(classes).data;
    f64 *log_theta = room.get<f64>(classes).data, *left = room.get<f64>(classes).data;
    i64 *equal = room.zeros<i64>(classes + 1).data;
    f64 *met = room.get<f64>(rows).data, *aspects = room.get<f64>(size).data;
    f64 *others = room.get<f64>(doubts.size).data, *alone = room.get<f64>(tried).data;
    const i64 small = smaller(SMALL, TABULATED / larger<i64>(classes, 1));
    const Flat<f64> tables = room.get<f64>((1 + doubts.size + classes * doubts.size) * small);
    if (room.failed) return;
    fill(tables.data, tables.size, __builtin_nan(""));
    const Matrix<f64> known{tables.data, 1 + doubts.size, small};
    f64 *parts = known[1 + doubts.size];
    const f64 log_whole = log(whole);
    const i64 end = indptr[stop];
    shares_of(of_class, share, log_share);
    for (i64 i = start; i < stop; i++) {
        const i64 at = i - first;
        f64 length = 0.0;
        i64 own = 0;
        fill(met, rows, 0.0);
        fill(alone, tried, 0.0);
        for (i64 k = 0; k < classes; k++) { // those that lose something: mostly one
            equal[own] = k;
            own += weights[i][k] > 0;
        }
        for (i64 p = indptr[i]; p < indptr[i + 1]; p++) {
            const i64 later = terms[smaller(p + AHEAD, end - 1)];
            prefetch(counts[later]);
            prefetch(counts[later] + equal[0]);
            prefetch(sums[later]);
            prefetch(totals.data + later);
            const i64 t = terms[p];
            const f64 x = values[p];
            length += x;
            f64 rest = totals[t];
            for (i64 q = 0; q < own; q++) {
                const i64 k = equal[q];
                left[q] = larger(counts[t][k] - weights[i][k] * x, 0.0);
                rest -= counts[t][k] - left[q];
            }
            if (rest <= ROUNDING * totals[t]) { // nobody else has it
                for (i64 j = 0; j < tried; j++) alone[j] += alpha(j, t);
                continue;
            }
            lengths[at] += x;
            memcpy(others, sums[t], doubts.size * sizeof(f64));
            for (i64 q = 0; q < own; q++) {
                const i64 k = equal[q];
                for (i64 j = 0; j < doubts.size; j++) {
                    const auto part = [&](f64 count) {
                        const Flat<f64> table{parts + (k * doubts.size + j) * small, small};
                        return remembered(table, count, [&] {
                            return part_of(count, doubts[j], share[k], log_share[k]);
                        });
                    };
                    others[j] -= part(counts[t][k]);
                    others[j] += part(left[q]);
                }
            }
            aspects_of(others, rest, log_whole, doubts, known, aspects);
            for (i64 a = 0; a < size; a++) {
                const i64 g = a * groups + group[t];
                least[g] = smaller(least[g], aspects[a]);
                most[g] = larger(most[g], aspects[a]);
                aspects[a] *= x;
                met[g] += aspects[a];
            }
            for (i64 j = 0; j < tried; j++) {
                for (i64 k = 0; k < classes; k++)
                    log_theta[k] = f32(log_count(counts[t][k], alpha(j, t), logs.row(j)));
                for (i64 q = 0; q < own; q++)
                    log_theta[equal[q]] = log_count(left[q], alpha(j, t), logs.row(j));
                for (i64 a = 0; a < size; a++) {
                    f64 *row = told[j][at][a * groups + group[t]];
                    for (i64 k = 0; k < classes; k++) row[k] += aspects[a] * log_theta[k];
                }
            }
        }
        fill(left, classes, 0.0);
        for (i64 q = 0; q < own; q++) left[equal[q]] = weights[i][equal[q]] * length;
        for (i64 j = 0; j < tried; j++) {
            const f64 rest_alpha = larger(alpha_whole[j] - alone[j], 1e-300);
            for (i64 k = 0; k < classes; k++) {
                const f64 log_rest =
                    log(larger(of_class[k] - left[k], 0.0) + rest_alpha);
                for (i64 g = 0; g < rows; g++)
                    if (met[g] != 0.0) told[j][at][g][k] -= met[g] * log_rest;
            }
        }
    }
}

KERNELS(left_out_terms,
        KERNEL(all_sums, "counts(V,C) of_class(C) doubts(D) out(V,D)"),
        KERNEL(term_weights,
               "counts(V,C) whole share(C) doubts(D) group(V)<G weights(D+2,G) least(D+2,G) "
               "most(D+2,G) out(V)"),
        KERNEL(left_out,
               "start:0..stop stop:0..n first:0..start indptr(n+1)^m@start:stop+1 "
               "terms(m)<V@indptr[start]:indptr[stop] values(m) weights(n,C) counts(V,C) "
               "totals(V) sums(V,D) logs(J,S) alpha(J,V) whole group(V)<A/(D+2) alpha_whole(J) "
               "of_class(C) doubts(D) told(J,q,A,C) lengths(q) least(A) most(A) ; stop-first<=q"));

} // namespace naively::SET
