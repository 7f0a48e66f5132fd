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
def left_out(
    indptr, terms, values, weights, counts, logs, alpha, whole, group, alpha_whole, of_class,
    told, lengths,
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
    told : (n, 2 groups, C), zeros: of each group, and times the surprise log (whole / n_t).
    lengths : (n,) Σ x of the terms that are known without the document.
    """
    classes = counts.shape[1]
    groups = told.shape[1] // 2
    met, surprised, log_all = np.empty(groups), np.empty(groups), np.log(whole)
    mine = np.empty(classes)
    for i in range(lengths.size):
        met[:], surprised[:], mine[:], alone = 0.0, 0.0, 0.0, 0.0
        for p in range(indptr[i], indptr[i + 1]):
            t, x = terms[p], values[p]
            total, rest = 0.0, 0.0
            for k in range(classes):
                total += counts[t, k]
                rest += max(counts[t, k] - weights[i, k] * x, 0.0)
                mine[k] += weights[i, k] * x
            if rest <= ROUNDING * total:  # nobody else has it
                alone += alpha[t]
                continue
            g, surprise = group[t], log_all - np.log(rest)
            lengths[i] += x
            met[g] += x
            surprised[g] += x * surprise
            for k in range(classes):
                count = max(counts[t, k] - weights[i, k] * x, 0.0)
                log_theta = x * log_count(count, alpha[t], logs)
                told[i, g, k] += log_theta
                told[i, groups + g, k] += surprise * log_theta
        rest_alpha = max(alpha_whole - alone, 1e-300)
        for k in range(classes):
            log_rest = np.log(max(of_class[k] - mine[k], 0.0) + rest_alpha)
            for g in range(groups):
                if met[g] != 0.0:
                    told[i, g, k] -= met[g] * log_rest
                    told[i, groups + g, k] -= surprised[g] * log_rest
