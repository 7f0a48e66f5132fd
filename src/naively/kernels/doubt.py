"""Scores of documents: they fall with the length, and are doubted."""

import numpy as np

from naively.kernels.jit import jit


@jit
def raised(behind, doubt):
    """log ((1 - doubt) + doubt exp(behind)): what a class gains that is so far behind."""
    if behind > 0:
        return behind + np.log(doubt + (1.0 - doubt) * np.exp(-behind))
    return np.log((1.0 - doubt) + doubt * np.exp(behind))


@jit
def let_fall(scores, data, indptr, quarters, bias):
    """scores[c, i] = scores[c, i] L^-γ + b_c, in place; 0 of documents without terms.

    Parameters
    ----------
    scores : (C, n)
    data, indptr : of CSR rows, what the terms of each document count: L is their sum.
    quarters : 4 γ.
    bias : (C,)
    """
    for i in range(scores.shape[1]):
        length = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            length += data[p]
        falls, root = 1.0, np.sqrt(np.sqrt(length if length > 0 else 1.0))
        for _ in range(quarters):
            falls /= root
        for c in range(bias.size):
            known = indptr[i] < indptr[i + 1]
            scores[c, i] = scores[c, i] * falls + bias[c] if known else 0.0


@jit
def doubt_scores(scores, log_prior, doubt):
    """Mix p(x | c) with p(x), in place: (1 - doubt) p(x | c) + doubt Σ_k π_k p(x | k).

    Parameters
    ----------
    scores : (C, n) log p(x | c), but for what all classes share.
    log_prior : (C,) log π_c; -inf of a class that has no documents.
    """
    classes = log_prior.size
    for i in range(scores.shape[1]):
        most = -np.inf
        for c in range(classes):
            most = max(most, log_prior[c] + scores[c, i])
        whole = 0.0
        for c in range(classes):
            whole += np.exp(log_prior[c] + scores[c, i] - most)
        whole = most + np.log(whole)
        for c in range(classes):
            scores[c, i] += raised(whole - scores[c, i], doubt)


@jit
def doubt_odds(odds, log_prior, log_rest, doubt):
    """The same of labels that documents have or have not, in place.

    Parameters
    ----------
    odds : (L, n) log p(x | label) / p(x | no label).
    log_prior, log_rest : (L,) log π_l and log (1 - π_l).
    """
    for c in range(log_prior.size):
        for i in range(odds.shape[1]):
            own, rest = log_prior[c] + odds[c, i], log_rest[c]
            most = max(own, rest)
            whole = most + np.log(np.exp(own - most) + np.exp(rest - most))
            odds[c, i] += raised(whole - odds[c, i], doubt) - raised(whole, doubt)
