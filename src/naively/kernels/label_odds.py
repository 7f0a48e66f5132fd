"""What the terms of documents tell of labels, by counts without the documents themselves."""

import numpy as np

from naively.kernels.jit import jit
from naively.kernels.left_out import ROUNDING, log_count


@jit
def first_odds(counts, total, alpha, logs, odds):
    """odds[t, l] = log (n_tl + α_t) - log (n_t - n_tl - 1 + α_t), or 0 where that is below 0.

    So terms count that a document has once, and without the label.

    Parameters
    ----------
    counts, total : (V, L) n_tl and (V,) n_t.
    alpha, logs : (V,) α_t; log (k + α) of small integers k, or empty.
    """
    for t in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            having = counts[t, k]
            without = max(total[t] - having - 1.0, 0.0)
            odds[t, k] = log_count(having, alpha[t], logs) - log_count(without, alpha[t], logs)


@jit
def label_odds(
    indptr, terms, values, whole, having, counts, total, odds, logs, alpha, everything, of_label,
    group, alpha_whole, told, lengths,
):  # fmt: skip
    """told[i, k, l] = Σ x log (θ_l / θ'_l) of the terms of document i, by counts without it.

    θ_l is the share of a term in the documents that have label l, θ'_l in the others.

    Parameters
    ----------
    indptr, terms, values : the documents as CSR rows; terms are places in the tables below.
    whole, having : (n,), (n, L) how many documents equal to each are there, and have each label:
        all of them are left out.
    counts, total, odds : (V, L) n_tl, (V,) n_t, (V, L) as `first_odds` makes them.
    logs : log (k + α) of small integers k; empty if α differs from term to term.
    alpha : (V,) α_t.
    everything, of_label : Σ_t n_t and (L,) Σ_t n_tl of all terms.
    group : (V,) which group each term is of.
    alpha_whole : Σ α_t.
    told : (n, 2 groups, L), zeros: of each group, and times the surprise log (Σ n / n_t).
    lengths : (n,) Σ x of the terms that are known without the document.
    """
    labels, groups = counts.shape[1], told.shape[1] // 2
    met, surprised, log_all = np.empty(groups), np.empty(groups), np.log(everything)
    odd = np.empty(labels, np.int64)
    for i in range(lengths.size):
        met[:], surprised[:], alone, mine = 0.0, 0.0, 0.0, 0.0
        n_odd = 0  # labels for which counts lose something else than one document without it
        for k in range(labels):
            if having[i, k] != 0.0 or whole[i] != 1.0:
                odd[n_odd] = k
                n_odd += 1
        for p in range(indptr[i], indptr[i + 1]):
            t, x = terms[p], values[p]
            mine += x
            rest = max(total[t] - whole[i] * x, 0.0)
            if rest <= ROUNDING * total[t]:  # nobody else has it
                alone += alpha[t]
                continue
            g, surprise = group[t], log_all - np.log(rest)
            lengths[i] += x
            met[g] += x
            surprised[g] += x * surprise
            flat, weighed = told[i, g], told[i, groups + g]
            if x == 1.0:
                for k in range(labels):
                    flat[k] += odds[t, k]
                    weighed[k] += surprise * odds[t, k]
            elif n_odd < labels:
                for k in range(labels):
                    without = max(total[t] - counts[t, k] - x, 0.0)
                    one = log_count(counts[t, k], alpha[t], logs)
                    one = x * (one - log_count(without, alpha[t], logs))
                    flat[k] += one
                    weighed[k] += surprise * one
        for j in range(n_odd):  # anew
            k = odd[j]
            told[i, :, k] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                t, x = terms[p], values[p]
                rest = max(total[t] - whole[i] * x, 0.0)
                if rest <= ROUNDING * total[t]:
                    continue
                own = max(counts[t, k] - having[i, k] * x, 0.0)
                without = max(total[t] - counts[t, k] - (whole[i] - having[i, k]) * x, 0.0)
                one = log_count(own, alpha[t], logs) - log_count(without, alpha[t], logs)
                g = group[t]
                told[i, g, k] += x * one
                told[i, groups + g, k] += (log_all - np.log(rest)) * x * one
        rest_alpha = max(alpha_whole - alone, 1e-300)
        for k in range(labels):
            own = max(of_label[k] - having[i, k] * mine, 0.0)
            without = max(everything - of_label[k] - (whole[i] - having[i, k]) * mine, 0.0)
            shift = np.log(own + rest_alpha) - np.log(without + rest_alpha)
            for g in range(groups):
                told[i, g, k] -= met[g] * shift
                told[i, groups + g, k] -= surprised[g] * shift
