"""What the terms of documents tell that were not counted themselves."""

import numpy as np

from naively.kernels import words
from naively.kernels.jit import jit

ROUNDING = 1e-9  # part of a count that is no more than rounding
AHEAD = 8  # terms that are fetched early


@jit
def log_count(count, alpha, logs):
    """log (count + alpha): looked up in `logs`, where that has it."""
    k = np.int64(count) if count < logs.size else 0
    return logs[k] if count < logs.size and k == count else np.log(count + alpha)


@jit
def part_of(count, doubt, share, log_share):
    """a log (a / p_c) with a = n_tc + d p_c, what a class adds to the sums of `sums_of`."""
    a = count + doubt * share
    return a * (np.log(a) - log_share) if a > 0 and share > 0 else 0.0


@jit
def sums_of(counts, share, log_share, doubts, out):
    """out[j] = Σ_c a log (a / p_c), a = n_tc + d_j p_c, of a term.

    Parameters
    ----------
    counts : (C,) n_tc, how often the term was met in each class.
    share, log_share : (C,) p_c, the share of each class of all terms; above 0 where n_tc is.
    doubts : (D,) d_j, how often the term seems to be met once more as all terms are.
    """
    for j in range(doubts.size):
        doubt, known, found = doubts[j], 0.0, 0.0
        for k in range(counts.size):  # most terms were met in few classes
            if counts[k] > 0:
                known += share[k]
                found += part_of(counts[k], doubt, share[k], log_share[k])
        out[j] = found + max(1.0 - known, 0.0) * doubt * np.log(doubt)


@jit
def all_sums(counts, of_class, doubts, out):
    """out[t] = `sums_of` each term, by their counts (V, C), and those of all terms, (C,)."""
    share = of_class / of_class.sum()
    log_share = np.log(share)
    for t in range(len(counts)):
        sums_of(counts[t], share, log_share, doubts, out[t])


@jit
def aspects_of(sums, n, log_whole, doubts, out):
    """What a term is weighed by: 1, its surprise, and what it tells of the classes.

    Parameters
    ----------
    sums : (D,) as of `sums_of`.
    n : Σ_c n_tc, above 0.
    log_whole : log of how often all terms were met.
    doubts : (D,)
    out : (2 + D,) of 1, log (whole / n), and Σ_c p log (p / p_c) with p = (n_tc + d p_c) / (n + d).
    """
    out[0] = 1.0
    out[1] = log_whole - np.log(n)
    for j in range(doubts.size):
        out[2 + j] = sums[j] / (n + doubts[j]) - np.log(n + doubts[j])


@jit
def term_weights(counts, whole, share, doubts, group, weights, least, most, out):
    """out[t] = what each of some terms counts.

    Parameters
    ----------
    counts : (V, C) n_tc.
    whole : Σ n_tc of all terms, these and others.
    share, doubts : (C,), (D,) as of `sums_of`.
    group : (V,) which group each term is of.
    weights : (2 + D, G) of each aspect, for terms of each group.
    least, most : (2 + D, G) between which aspects are, of the documents that weights were learned
        from: beyond, they count as these.
    """
    aspects, log_whole, log_share = np.zeros(len(weights)), np.log(whole), np.log(share)
    sums = np.empty(doubts.size)
    for t in range(out.size):
        n = counts[t].sum()
        aspects[:] = 0.0
        aspects[0] = 1.0
        if n > 0:
            sums_of(counts[t], share, log_share, doubts, sums)
            aspects_of(sums, n, log_whole, doubts, aspects)
        total = 0.0
        for a in range(aspects.size):
            aspect = max(aspects[a], least[a, group[t]])
            total += weights[a, group[t]] * min(aspect, most[a, group[t]])
        out[t] = max(total, 0.0)  # rounding


@jit
def left_out(
    start, stop, first, indptr, terms, values, weights, counts, totals, sums, logs, alpha, whole,
    group, alpha_whole, of_class, doubts, told, lengths, least, most,
):  # fmt: skip
    """told[j, i, k, c] = Σ x log θ_c of the terms of document i, by counts without the document.

    Parameters
    ----------
    start, stop : of the documents i.
    first : the document that `told` and `lengths` begin with.
    indptr, terms, values : the documents as CSR rows; terms are places in the tables below.
    weights : (n, C) how many documents of each class are equal to each, all of which are left out.
    counts, totals : (V, C) n_tc, and (V,) n_t.
    sums : (V, D) as of `all_sums`.
    logs : (J, S) log (k + l) of small integers k; S is 0 if l differs from term to term.
    alpha : (J, V) l_t, each smoothing that is tried.
    whole : Σ_t Σ_c n_tc, of all terms.
    group : (V,) which group each term is of.
    alpha_whole : (J,) Σ l_t.
    of_class : (C,) n_c.
    doubts : (D,) as of `sums_of`.
    told : (J, n, A groups, C), zeros: times each aspect of the terms, which are
        `aspects_of` them by the counts of others; of each group.
    lengths : (n,) Σ x of the terms that are known without the document.
    least, most : (A groups,) inf and -inf: between which each aspect of these terms is, by group.
    """
    classes, size, tried = counts.shape[1], 2 + doubts.size, len(alpha)
    groups = told.shape[2] // size
    share, log_whole = of_class / of_class.sum(), np.log(whole)
    log_share, log_theta = np.log(share), np.empty(classes)
    equal, left = np.empty(classes, np.int64), np.empty(classes)
    met, aspects, others = np.empty(told.shape[2]), np.empty(size), np.empty(doubts.size)
    alone = np.empty(tried)
    for i in range(start, stop):
        met[:], alone[:], length, own, at = 0.0, 0.0, 0.0, 0, i - first
        for k in range(classes):  # those that lose something: mostly one
            equal[own] = k
            own += weights[i, k] > 0
        for p in range(indptr[i], indptr[i + 1]):
            later = terms[min(p + AHEAD, terms.size - 1)]
            words.prefetch(counts, np.int64(later) * classes)
            words.prefetch(counts, np.int64(later) * classes + equal[0])
            words.prefetch(sums, np.int64(later) * doubts.size)
            words.prefetch(totals, np.int64(later))
            t, x = terms[p], values[p]
            length += x
            rest = totals[t]
            for q in range(own):
                k = equal[q]
                left[q] = max(counts[t, k] - weights[i, k] * x, 0.0)
                rest -= counts[t, k] - left[q]
            if rest <= ROUNDING * totals[t]:  # nobody else has it
                for j in range(tried):
                    alone[j] += alpha[j, t]
                continue
            lengths[at] += x
            others[:] = sums[t]
            for q in range(own):
                k = equal[q]
                for j in range(doubts.size):
                    others[j] -= part_of(counts[t, k], doubts[j], share[k], log_share[k])
                    others[j] += part_of(left[q], doubts[j], share[k], log_share[k])
            aspects_of(others, rest, log_whole, doubts, aspects)
            for a in range(size):
                at_group = a * groups + group[t]
                least[at_group] = min(least[at_group], aspects[a])
                most[at_group] = max(most[at_group], aspects[a])
                aspects[a] *= x
                met[at_group] += aspects[a]
            for j in range(tried):
                for k in range(classes):
                    log_theta[k] = np.float32(log_count(counts[t, k], alpha[j, t], logs[j]))
                for q in range(own):
                    log_theta[equal[q]] = log_count(left[q], alpha[j, t], logs[j])
                for a in range(size):
                    row = told[j, at, a * groups + group[t]]
                    for k in range(classes):
                        row[k] += aspects[a] * log_theta[k]
        left[:] = 0.0
        for q in range(own):
            left[equal[q]] = weights[i, equal[q]] * length
        for j in range(tried):
            rest_alpha = max(alpha_whole[j] - alone[j], 1e-300)
            for k in range(classes):
                log_rest = np.log(max(of_class[k] - left[k], 0.0) + rest_alpha)
                for g in range(met.size):
                    if met[g] != 0.0:
                        told[j, at, g, k] -= met[g] * log_rest
