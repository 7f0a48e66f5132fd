"""What the terms of documents tell that were not counted themselves."""

import numpy as np

from naively.kernels.jit import jit

ROUNDING = 1e-9  # part of a count that is no more than rounding


@jit
def left_out(
    indptr, terms, counts, y, weights, log_theta, own, total, whole, alpha, group, log_whole,
    alpha_whole, of_class, told, lengths,
):  # fmt: skip
    """told[i, k, c] = Σ x log θ_c of the terms of document i, by counts without the document.

    Parameters
    ----------
    indptr, terms, counts : the documents as CSR rows; terms are places in the tables below.
    y, weights : (n,) the class of each document, and how many it stands for.
    log_theta : (V, C) log (n_tc + l_t).
    own : (V, C) n_tc.
    total : (V,) Σ_c n_tc.
    whole : Σ_t Σ_c n_tc.
    alpha : (V,) l_t.
    group : (V,) which group each term is of.
    log_whole : (C,) log (n_c + Σ l_t).
    alpha_whole : Σ l_t.
    of_class : (C,) n_c.
    told : (n, 2 groups, C), zeros: of each group, and times the surprise, log whole - log total.
    lengths : (n,) Σ x of the terms that are known without the document.
    """
    classes = log_theta.shape[1]
    groups = told.shape[1] // 2
    met, surprised, log_all = np.empty(groups), np.empty(groups), np.log(whole)
    for i in range(y.size):
        c, weight = y[i], weights[i]
        met[:], surprised[:] = 0.0, 0.0
        mine, alone = 0.0, 0.0
        for p in range(indptr[i], indptr[i + 1]):
            t, x = terms[p], counts[p]
            mine += weight * x
            rest = total[t] - weight * x
            if rest <= ROUNDING * total[t]:  # nobody else has it
                alone += alpha[t]
                continue
            g, surprise = group[t], log_all - np.log(rest)
            lengths[i] += x
            met[g] += x
            surprised[g] += x * surprise
            for k in range(classes):
                told[i, g, k] += x * log_theta[t, k]
                told[i, groups + g, k] += x * surprise * log_theta[t, k]
            less = np.log(max(own[t, c] - weight * x, 0.0) + alpha[t]) - log_theta[t, c]
            told[i, g, c] += x * less
            told[i, groups + g, c] += x * surprise * less
        rest_whole = np.log(max(of_class[c] - mine, 0.0) + alpha_whole - alone)
        for g in range(groups):
            for k in range(classes):
                one = rest_whole if k == c else log_whole[k]
                told[i, g, k] -= met[g] * one
                told[i, groups + g, k] -= surprised[g] * one
