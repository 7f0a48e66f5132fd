"""What the terms of documents tell of labels, by counts without the documents themselves."""

import numpy as np

from naively.kernels.jit import jit
from naively.kernels.left_out import ROUNDING, log_count


@jit
def divergence(having, n, share, doubt):
    """p log (p / share) + (1 - p) log ((1 - p) / (1 - share)): what a term tells of a label.

    With p = (having + doubt share) / (n + doubt), of a term that was met n times, `having` times of
    these with the label, as `share` of all terms are.
    """
    p = (having + doubt * share) / (n + doubt)
    found = p * np.log(p / share) if p > 0.0 and share > 0.0 else 0.0
    if p < 1.0 and share < 1.0:
        found += (1.0 - p) * np.log((1.0 - p) / (1.0 - share))
    return found


@jit
def inside(aspect, least, most):
    """An aspect of a term, between these."""
    return min(max(aspect, least), most)


@jit
def label_weights(having, total, share, log_whole, doubts, group, weights, least, most, out):
    """out[l, t] = what a term counts for a label.

    Parameters
    ----------
    having, total : (L, V), (V,) how often each term was met with each label, and in all.
    share : (L,) the share of each label in all terms.
    log_whole : log of how often all terms were met.
    doubts : (D,) as of `divergence`.
    group : (V,) which group each term is of.
    weights : (2 + D, G) of 1, the surprise log_whole - log n_t and the divergences.
    least, most : (2 + D, G) between which these are, of the documents that weights were learned
        from: beyond, they count as these.
    """
    for t in range(total.size):
        g, n = group[t], total[t]
        for k in range(share.size):
            out[k, t] = weights[0, g]
            if n > 0.0:
                out[k, t] += weights[1, g] * inside(log_whole - np.log(n), least[1, g], most[1, g])
                for j in range(doubts.size):
                    told = divergence(having[k, t], n, share[k], doubts[j])
                    told = inside(told, least[2 + j, g], most[2 + j, g])
                    out[k, t] += weights[2 + j, g] * told
            out[k, t] = max(out[k, t], 0.0)  # rounding


@jit
def first_odds(counts, total, alpha, logs, share, doubts, odds, tells):
    """odds[t, l] = log (n_tl + α_t) - log (n_t - n_tl - 1 + α_t), or 0 where that is below 0.

    So terms count that a document has once, and without the label; tells[t, l] is what they tell.

    Parameters
    ----------
    counts, total : (V, L) n_tl and (V,) n_t.
    alpha, logs : (V,) α_t; log (k + α) of small integers k, or empty.
    share, doubts : (L,), (D,) as of `divergence`.
    tells : (V, L, D)
    """
    for t in range(counts.shape[0]):
        rest = max(total[t] - 1.0, 0.0)
        for k in range(counts.shape[1]):
            having = counts[t, k]
            without = max(rest - having, 0.0)
            odds[t, k] = log_count(having, alpha[t], logs) - log_count(without, alpha[t], logs)
            for j in range(doubts.size):
                tells[t, k, j] = divergence(min(having, rest), rest, share[k], doubts[j])


@jit
def label_odds(
    indptr, terms, values, whole, having, counts, total, odds, tells, logs, alpha, everything,
    of_label, doubts, group, alpha_whole, told, lengths, least, most,
):  # fmt: skip
    """told[i, k, l] = Σ x log (θ_l / θ'_l) of the terms of document i, by counts without it.

    θ_l is the share of a term in the documents that have label l, θ'_l in the others.

    Parameters
    ----------
    indptr, terms, values : the documents as CSR rows; terms are places in the tables below.
    whole, having : (n,), (n, L) how many documents equal to each are there, and have each label:
        all of them are left out.
    counts, total : (V, L) n_tl, (V,) n_t.
    odds, tells : (V, L), (V, L, D) as `first_odds` makes them.
    logs : log (k + α) of small integers k; empty if α differs from term to term.
    alpha : (V,) α_t.
    everything, of_label : Σ_t n_t and (L,) Σ_t n_tl of all terms.
    doubts : (D,) as of `divergence`.
    group : (V,) which group each term is of.
    alpha_whole : Σ α_t.
    told : (n, (2 + D) groups, L), zeros: of each group, times the surprise log (Σ n / n_t), and
        times each divergence.
    lengths : (n,) Σ x of the terms that are known without the document.
    least, most : ((2 + D) groups,) inf and -inf: between which 1, the surprise and the divergences
        are, by group.
    """
    labels, groups = counts.shape[1], told.shape[1] // (2 + doubts.size)
    met = np.empty((told.shape[1], labels))
    share, log_all = of_label / max(everything, 1e-300), np.log(everything)
    odd = np.empty(labels, np.int64)
    for i in range(lengths.size):
        met[:], alone, mine = 0.0, 0.0, 0.0
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
            least[g] = most[g] = 1.0
            least[groups + g] = min(least[groups + g], surprise)
            most[groups + g] = max(most[groups + g], surprise)
            if n_odd == labels:
                continue
            for k in range(labels):
                one = odds[t, k]
                if x != 1.0:
                    without = max(total[t] - counts[t, k] - x, 0.0)
                    one = log_count(counts[t, k], alpha[t], logs)
                    one -= log_count(without, alpha[t], logs)
                told[i, g, k] += x * one
                told[i, groups + g, k] += x * surprise * one
                met[g, k] += x
                met[groups + g, k] += x * surprise
                for j in range(doubts.size):
                    tell = tells[t, k, j]
                    if x != 1.0:
                        tell = divergence(min(counts[t, k], rest), rest, share[k], doubts[j])
                    a = (2 + j) * groups + g
                    least[a] = min(least[a], tell)
                    most[a] = max(most[a], tell)
                    told[i, a, k] += x * tell * one
                    met[a, k] += x * tell
        for m in range(n_odd):  # anew
            k = odd[m]
            told[i, :, k] = 0.0
            met[:, k] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                t, x = terms[p], values[p]
                rest = max(total[t] - whole[i] * x, 0.0)
                if rest <= ROUNDING * total[t]:
                    continue
                own = max(counts[t, k] - having[i, k] * x, 0.0)
                without = max(total[t] - counts[t, k] - (whole[i] - having[i, k]) * x, 0.0)
                one = log_count(own, alpha[t], logs) - log_count(without, alpha[t], logs)
                g, surprise = group[t], log_all - np.log(rest)
                told[i, g, k] += x * one
                told[i, groups + g, k] += x * surprise * one
                met[g, k] += x
                met[groups + g, k] += x * surprise
                for j in range(doubts.size):
                    tell = divergence(min(own, rest), rest, share[k], doubts[j])
                    a = (2 + j) * groups + g
                    least[a] = min(least[a], tell)
                    most[a] = max(most[a], tell)
                    told[i, a, k] += x * tell * one
                    met[a, k] += x * tell
        rest_alpha = max(alpha_whole - alone, 1e-300)
        for k in range(labels):
            own = max(of_label[k] - having[i, k] * mine, 0.0)
            without = max(everything - of_label[k] - (whole[i] - having[i, k]) * mine, 0.0)
            shift = np.log(own + rest_alpha) - np.log(without + rest_alpha)
            for a in range(told.shape[1]):
                told[i, a, k] -= met[a, k] * shift
