"""Texts of new rows beside learned ones: how many documents have each term."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from naively.evidence.prose import are_prose
from naively.exact import Float64, Int64
from naively.statistics.pooled_terms import PooledTerms
from naively.statistics.terms import TermStatistics
from naively.study.marginals import Both, Cells, Terms, corrected
from naively.text.analysis import Analysis
from naively.text.counting import rows_and_vocabulary
from naively.text.documents import Documents
from naively.workers import Workers

OFTEN = 20.0
"""How often a term is met in both samples, from which on it tells of the classes of new rows."""


def of_terms(learned: TermStatistics, both: Both) -> list[Terms]:
    """Of counts of terms: documents, if these are counted, else bounds of how many have a term."""
    summary, X = both.part.summary, both.rows
    (name,), known = both.part.names, learned.vocabulary
    rows, vocabulary = rows_and_vocabulary(X, summary.analysis, summary.buckets, both.workers)
    present = csr_matrix((np.ones(len(rows.data)), rows.indices, rows.indptr), rows.shape)
    sums = learned.tables["sum"].rounded()[:, : None if known is None else len(known)]
    at = np.arange(rows.shape[1]) if known is None else known.find(vocabulary).astype(np.int64)
    told = means = None
    if summary.reference is None:  # which are among the learned documents: new ones weigh more
        matrix = summary.matrix(rows, vocabulary)
        told, means = _told(matrix, at, sums, both.class_weight.rounded())
    exact = learned.presence or "documents" in learned.tables
    met = sums.sum(axis=0)
    if not learned.presence and exact:
        met = learned.tables["documents"].summed(0).rounded()[: len(met)]
    n = float(learned.observed(both.class_weight).summed(0).rounded()[0])
    if not exact or learned.undercount:
        met, exact = np.minimum(_at_most(met, summary) + learned.undercount, n), False
    here = 0.0 if X.valid is None else float((~X.valid).sum())
    gone = np.array([learned.tables["missing"].summed(0).rounded()[0], here])
    documents = np.array([n, len(X) - here])
    counts = np.zeros((2, len(met) + np.count_nonzero(at < 0)))
    counts[0, : len(met)], counts[0, len(met) :] = met, learned.undercount
    terms = None if known is None else known.copy()
    counts[1, at if terms is None else terms.merge(vocabulary)] = present.sum(axis=0)
    return [Terms(name, terms, counts[0], counts[1], exact, documents, gone, told, means)]


def _told(rows: Any, at: Int64, sums: Float64, weight: Float64) -> tuple[Float64, Float64]:
    """(what the terms of each document tell for each class, (m, C); (C, C) of learned ones).

    Parameters
    ----------
    rows : CSR matrix (m, W) of what each term counts.
    at : (W,) which of the learned terms each is, -1 if none.
    sums : (C, V) of the learned terms.
    weight : (C,) of the rows of each class.
    """
    own = np.zeros((sums.shape[1], 1))
    own[at[at >= 0], 0] = np.asarray(rows.sum(axis=0)).ravel()[at >= 0]
    used = sums.sum(axis=0) + own[:, 0] >= OFTEN
    classes, terms = len(weight), sums.shape[1]
    theta = (sums + 1.0) / (sums.sum(axis=1, keepdims=True) + max(terms, 1))
    whole = (sums.sum(axis=0) + classes) / (sums.sum() + classes * max(terms, 1))
    told = np.where(used, np.log(theta / whole), 0.0)
    of_rows = (
        np.where(at >= 0, told[:, np.maximum(at, 0)], 0.0)
        if terms
        else np.zeros((classes, len(at)))
    )
    means = np.divide(sums @ told.T, weight[:, np.newaxis], where=weight[:, np.newaxis] > 0,
                      out=np.zeros((classes, classes)))  # fmt: skip
    free = np.where(used, sums / (sums + 1.0), 0.0).sum(axis=1)
    return rows @ of_rows.T, corrected(means, free, weight)


def of_pooled(learned: PooledTerms, both: Both) -> list[Terms]:
    """The same of what is counted first, where documents are kept: these tell, unless all are
    counted.
    """
    part = replace(both.part, summary=both.part.summary.parts[0])
    (found,) = of_terms(learned.terms[0], replace(both, part=part, learned=learned.terms[0]))
    if found.exact or not len(learned.sample):
        return [found]
    sample = both.sums.sample
    counts = sample.tables["kept"].rounded()[:, : len(sample)]
    known = part.summary.analysis
    kept = _of_texts(found.name, sample.documents, counts, known, found.missing, both.workers)
    return [replace(kept, told=found.told, means=found.means)]


def _at_most(met: Float64, summary: Any) -> Float64:
    """In how many documents terms can be that add up to so much."""
    if summary.length_norm is not None or summary.weighting in ("tfidf", "log-tfidf"):
        return np.full(len(met), np.inf)
    return met / np.log(2.0) if summary.weighting == "log" else met


def as_texts(cells: Cells, named: bool, workers: Workers) -> Terms | None:
    """A column of levels as one of texts, if it was named as one, or holds prose."""
    whole = cells.counts.sum(axis=0)
    if cells.levels.dtype.kind != "T" or not (named or are_prose(cells.levels, whole)):
        return None
    gone = np.array([cells.missing[:-1].sum(), cells.missing[-1]])
    return _of_texts(
        cells.name, Documents.of(cells.levels.tolist()), cells.counts, Analysis(), gone, workers
    )


def _of_texts(
    name: str, texts: Documents, counts: Float64, analysis: Analysis, missing: Float64,
    workers: Workers,
) -> Terms:  # fmt: skip
    """Of texts that are in so many rows of each class, and of the new ones: (C + 1, k)."""
    rows, vocabulary = rows_and_vocabulary(texts, analysis, 0, workers)
    present = csr_matrix((np.ones(len(rows.data)), rows.indices, rows.indptr), rows.shape)
    weight = np.array([counts[:-1].sum(axis=0), counts[-1]])
    learned, new = weight @ present
    return Terms(name, vocabulary, learned, new, True, weight.sum(axis=1), missing)
