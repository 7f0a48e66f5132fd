"""What the terms of documents tell that were not counted themselves."""

import numpy as np

from naively.kernels.jit import jit

ROUNDING = 1e-9  # part of a count that is no more than rounding


@jit
def log_count(count, alpha, logs):
    """log (count + alpha): looked up in `logs`, where that has it."""
    k = np.int64(count) if count < logs.size else 0
    return logs[k] if count < logs.size and k == count else np.log(count + alpha)


@jit
def aspects_of(counts, n, log_whole, share, log_share, doubts, met, out):
    """What a term is weighed by: 1, its surprise, and what it tells of the classes.

    Parameters
    ----------
    counts : (C,) n_tc, how often the term was met in each class.
    n : Σ_c n_tc, above 0.
    log_whole : log of how often all terms were met.
    share, log_share : (C,) p_c, the share of each class of that; above 0 where n_tc is.
    doubts : (D,) how often the term seems to be met once more as all terms are.
    met : (C,) int64, into whose first numbers the classes go that have the term.
    out : (2 + D,) of 1, log (whole / n), and Σ_c p log (p / p_c) with p = (n_tc + d p_c) / (n + d).

    Returns
    -------
    How many classes have the term.
    """
    out[0] = 1.0
    out[1] = log_whole - np.log(n)
    classes, known = 0, 0.0
    for k in range(counts.size):  # most terms were met in few classes
        met[classes] = k
        classes += counts[k] > 0
    for q in range(classes):
        known += share[met[q]]
    for j in range(doubts.size):
        doubt, found = doubts[j], 0.0
        for q in range(classes):
            k = met[q]
            p = (counts[k] + doubt * share[k]) / (n + doubt)
            if p > 0 and share[k] > 0:  # which they are, but for the smallest of all weights
                found += p * (np.log(p) - log_share[k])
        p = doubt / (n + doubt)  # times p_c, in all classes that do not have it
        out[2 + j] = found + max(1.0 - known, 0.0) * p * np.log(p)
    return classes


@jit
def term_weights(counts, whole, share, doubts, group, weights, out):
    """out[t] = what each of some terms counts.

    Parameters
    ----------
    counts : (V, C) n_tc.
    whole : Σ n_tc of all terms, these and others.
    share : (C,) as of `aspects_of`.
    group : (V,) which group each term is of.
    weights : (2 + D, G) of each aspect, for terms of each group.
    """
    aspects, log_whole, log_share = np.zeros(len(weights)), np.log(whole), np.log(share)
    met = np.empty(share.size, np.int64)
    for t in range(out.size):
        n = counts[t].sum()
        aspects[:] = 0.0
        aspects[0] = 1.0
        if n > 0:
            aspects_of(counts[t], n, log_whole, share, log_share, doubts, met, aspects)
        total = 0.0
        for a in range(aspects.size):
            total += weights[a, group[t]] * aspects[a]
        out[t] = total


@jit
def left_out(
    indptr, terms, values, weights, counts, logs, alpha, whole, group, alpha_whole, of_class,
    doubts, told, lengths,
):  # fmt: skip
    """told[i, k, c] = Σ x log θ_c of the terms of document i, by counts without the document.

    Parameters
    ----------
    indptr, terms, values : the documents as CSR rows; terms are places in the tables below.
    weights : (n, C) how many documents of each class are equal to each, all of which are left out.
    counts : (V, C) n_tc.
    logs : log (k + l) of small integers k; empty if l differs from term to term.
    alpha : (V,) l_t.
    whole : Σ_t Σ_c n_tc, of all terms.
    group : (V,) which group each term is of.
    alpha_whole : Σ l_t.
    of_class : (C,) n_c.
    doubts : (D,) as of `aspects_of`.
    told : (n, A groups, C), zeros: times each aspect of the terms, which are `aspects_of` them by
        the counts of others; of each group.
    lengths : (n,) Σ x of the terms that are known without the document.
    """
    classes, size = counts.shape[1], 2 + doubts.size
    groups = told.shape[1] // size
    share, log_whole = of_class / of_class.sum(), np.log(whole)
    log_share, having = np.log(share), np.empty(classes, np.int64)
    log_theta = np.empty(classes)
    met, aspects = np.empty(told.shape[1]), np.empty(size)
    mine, others = np.empty(classes), np.empty(classes)
    for i in range(lengths.size):
        met[:], mine[:], alone = 0.0, 0.0, 0.0
        for p in range(indptr[i], indptr[i + 1]):
            t, x = terms[p], values[p]
            total, rest = 0.0, 0.0
            for k in range(classes):
                others[k] = max(counts[t, k] - weights[i, k] * x, 0.0)
                total += counts[t, k]
                rest += others[k]
                mine[k] += weights[i, k] * x
            if rest <= ROUNDING * total:  # nobody else has it
                alone += alpha[t]
                continue
            lengths[i] += x
            n = aspects_of(others, rest, log_whole, share, log_share, doubts, having, aspects)
            for a in range(size):
                met[a * groups + group[t]] += x * aspects[a]
            log_theta[:] = x * log_count(0.0, alpha[t], logs)
            for q in range(n):
                k = having[q]
                log_theta[k] = x * log_count(others[k], alpha[t], logs)
            for a in range(size):
                own, aspect = told[i, a * groups + group[t]], aspects[a]
                for k in range(classes):
                    own[k] += aspect * log_theta[k]
        rest_alpha = max(alpha_whole - alone, 1e-300)
        for k in range(classes):
            log_rest = np.log(max(of_class[k] - mine[k], 0.0) + rest_alpha)
            for g in range(met.size):
                if met[g] != 0.0:
                    told[i, g, k] -= met[g] * log_rest
