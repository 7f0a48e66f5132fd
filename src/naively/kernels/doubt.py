"""Scores of documents of which it is doubted that any like them was learned."""

import numpy as np

from naively.kernels.jit import jit


@jit
def raised(behind, doubt):
    """log ((1 - doubt) + doubt exp(behind)): what a class gains that is so far behind."""
    if behind > 0:
        return behind + np.log(doubt + (1.0 - doubt) * np.exp(-behind))
    return np.log((1.0 - doubt) + doubt * np.exp(behind))


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
