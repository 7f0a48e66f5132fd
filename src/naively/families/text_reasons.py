"""What the terms of a document add to its scores, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from naively.exact import Float64
from naively.text import counting
from naively.text.counting import Members
from naively.text.documents import Documents
from naively.text.explained import ExplainedTerms
from naively.text.vocabulary import Vocabulary
from naively.workers import SERIAL

ROUNDING = 1e-13
"""Part of scores that is no more than rounding."""


def rest_of(own: Any, X: Documents, i: int, added: Float64) -> Float64:
    """What the score of document i has besides the bias and what its terms add, (k, C): (C,)."""
    scores = np.empty((len(own.bias), 1))
    own.log_prob(X, i, i + 1, scores)
    terms = own.bias + added.sum(axis=0)
    rest = scores[:, 0] - terms
    small = np.abs(rest) <= ROUNDING * np.abs(terms).max(initial=0.0)
    return np.where(small, 0.0, rest)


def explained(own: Any, X: Documents, i: int) -> ExplainedTerms:
    """What each term of document i adds to the score of each class.

    Parameters
    ----------
    own : TextParameters
    """
    summary, scored = own.summary, own.known
    only = Members(np.zeros(1, np.int64))
    met = counting.count(X[i : i + 1], only, 1, summary.analysis, 0, False, False, SERIAL)
    assert met.vocabulary is not None
    vocabulary = Vocabulary() if scored.vocabulary is None else scored.vocabulary
    numbers = vocabulary.number(met.vocabulary.as_units(), buckets=summary.buckets)[0]
    known = np.flatnonzero(numbers >= 0)
    columns, first, group = np.unique(numbers[known], return_index=True, return_inverse=True)
    order = np.argsort(first)  # in which they are met
    columns, group = columns[order].astype(np.int64), np.argsort(order)[group]
    counts = np.zeros(len(columns), np.int64)
    np.add.at(counts, group, met.total[0, known])
    values = np.ones(len(counts)) if summary.once else counts.astype(np.float64)
    if summary.weighs:
        values = summary.weigh(values, columns, np.array([0, len(columns)]), own.idf)
    rest = np.zeros(scored.inner.n_classes)
    if scored.inner.has_zero and (X.valid is None or X.valid[i]):
        absent = np.setdiff1d(np.arange(scored.total.shape[1]), columns)
        rest = scored.inner.evaluated(absent, np.zeros((1, 1, len(absent))))[0].sum(axis=1)
    added = own.added(scored, columns, values)
    rest_is: Any = "absent terms"
    if X.valid is not None and not X.valid[i]:
        rest -= own.bias  # of which a missing document has none
        rest_is = "missing"
    elif own.ending is not None:
        rest_is = "doubt"
        rest = rest_of(own, X, i, added)
    names = [met.vocabulary.term(k) for k in known.tolist()]
    terms: list[list[str]] = [[] for _ in columns]  # those of one bucket together
    for name, place in zip(names, group.tolist(), strict=True):
        terms[place].append(name)
    return ExplainedTerms(
        X.text(i), [", ".join(each) for each in terms], counts,
        added, rest, rest_is,
        [met.vocabulary.term(k) for k in np.flatnonzero(numbers < 0).tolist()],
        [(summary.analysis, dict(zip(names, group.tolist(), strict=True)))],
    )  # fmt: skip
