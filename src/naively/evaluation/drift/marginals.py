"""Extract the marginal of each feature, in training and new rows, from any kind of statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, singledispatch
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.workers import SERIAL, Workers
from naively.evaluation.drift.two_samples import CELLS
from naively.model.model import Model
from naively.model.schema import Counted
from naively.pooling.bins import FINE, RARE, Column, as_numbers
from naively.pooling.dates import as_dates
from naively.pooling.fixed import PlanStatistics
from naively.pooling.texts.prose import are_prose
from naively.statistics.base import Batch, Data, Statistics, dense
from naively.statistics.grid import GridStatistics, cell_edges, numbers
from naively.statistics.levels import Encoded, Levels, LevelStatistics, find
from naively.statistics.logs import LogPowers
from naively.statistics.powers import (
    CountStatistics,
    Moments,
    PowerStatistics,
    PresenceStatistics,
    mean,
)
from naively.statistics.products import ProductStatistics
from naively.statistics.rows import TEXT, RowStatistics, encoded, from_text, texts, union
from naively.statistics.sample import SampleStatistics
from naively.statistics.terms import PooledTerms, TermStatistics
from naively.text.analysis import Analysis
from naively.text.counting import rows_and_vocabulary
from naively.text.documents import Documents
from naively.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Cells:
    """A feature with counts of each value."""

    name: str  # of the feature
    levels: Levels  # (k,) the values, or the lower ends of bins
    # (k,) the values as numbers, NaN for others; None for a categorical feature
    order: Float64 | None
    counts: Float64  # (C + 1, k) training rows of each class, and new rows (last)
    missing: Float64  # (C + 1,) rows with a missing value
    codes: Int64  # (m,) the value of each new row, -1 if missing
    # (2,) training rows (an upper bound) and new rows whose category is too rare for its own count;
    # None if there are none
    others: Float64 | None = None


@dataclass(frozen=True)
class Sums:
    """A feature with means."""

    name: str  # of the feature
    # weight, means: (C,) training rows of each class with a value, and the mean of these
    weight: Float64
    means: Float64
    present: Float64  # (C,) share of the training rows of each class with a value
    # mean, variance: of all training rows; the variance is NaN if it is not known
    mean: float
    variance: float
    missing: Float64  # (2,) training and new rows with a missing value
    values: Float64  # (m,) of the new rows, NaN if missing
    of_logs: bool  # whether means, variance and values are of logarithms


@dataclass(frozen=True)
class Terms:
    """A text feature."""

    name: str  # of the feature
    # the terms of the training rows, then new ones; None if terms are hashed
    vocabulary: Vocabulary | None
    learned: Float64  # (V,) number of training documents with each term, or an upper bound
    new: Float64  # (V,) number of new documents with each term
    exact: bool  # whether `learned` is exact rather than a bound
    documents: Float64  # (2,) training and new documents
    missing: Float64  # (2,) training and new rows without text
    # (m, C) evidence of each new document for each class, in nats; None if not known
    evidence: Float64 | None = None
    # (C, C) its mean over the training rows of each class (first axis)
    means: Float64 | None = None

    def term(self, k: int) -> str:
        """The name of a term to print."""
        return f"bucket {k}" if self.vocabulary is None else self.vocabulary.term(k)


def corrected(means: Float64, free: Float64, rows: Float64) -> Float64:
    """Correct the mean evidence of training rows, (C, C), to that of rows not trained on.

    The evidence is estimated from the same rows, so that the mean for a row's class is too large
    by about parameters / rows of that class; the mean over all classes is right.

    `means`: (C, C) evidence for each class, by class of the rows (first axis). `free`: (C,)
    parameters of each class. `rows`: (C,) of each class.
    """
    inverse = np.divide(1.0, rows, where=rows > 0, out=np.zeros_like(rows))
    return means - free * (np.diag(inverse) - 1.0 / rows.sum())


Marginal = Cells | Sums | Terms


@dataclass(frozen=True)
class Both:
    """Some columns of the training rows and of the new rows."""

    part: Counted  # the columns
    learned: Any  # Statistics of the training rows
    class_weight: ExactArray  # training rows of each class
    rows: Data  # the new rows, encoded
    workers: Workers
    text: tuple[str | int, ...] = ()  # names of columns that the user declared as text

    @cached_property
    def sums(self) -> Any:
        """The statistics of both; the new rows are the last class."""
        size, n = self.class_weight.shape[0], self.rows.shape[0]
        statistics = self.learned.copy().scatter_classes(np.arange(size), size + 1)
        batch = Batch(np.zeros(n, np.int64), 1)
        new = self.part.summary.summarise(self.rows, batch, self.workers)
        statistics.accumulate(new, np.array([size]))
        return statistics

    @property
    def missing(self) -> Float64:
        """(C + 1, d) rows with a missing value."""
        return np.asarray(self.sums.tables["missing"].rounded())


# ---- the marginal of each feature ----------------------------------------------------------------


AT_ONCE = 1 << 20  # values of new rows that are summed row by row at a time
NUMBERS = 0.9  # share of rows whose category reads as a number, above which a column is numeric
PRESENCE = np.array(["absent", "present"], TEXT)


def marginals(model: Model, rows: Data, workers: Workers) -> list[Marginal]:
    """The marginals of all features that can be compared, in the order of the schema."""
    by_name: dict[str, Marginal] = {}
    parts = [rows] if model.schema.is_single else rows.parts
    for part, learned, part_rows in zip(model.schema.parts, model.parts, parts, strict=True):
        both = Both(part, learned, model.class_weight, part_rows, workers, model.family.text)
        for marginal in _marginals(learned, both):
            by_name.setdefault(marginal.name, marginal)
    return [by_name[name] for name in model.schema.ordered if name in by_name]


@singledispatch
def _marginals(learned: Statistics, both: Both) -> Sequence[Marginal]:
    """The marginals that statistics contain; none for kinds that are not registered below."""
    return []


# ---- counts of values ------------------------------------------------------------------------


def _cells(name: str, levels: Levels, counts: Float64, missing: Float64, codes: Int64) -> Cells:
    """Cells of categories, numbers or dates."""
    order = as_dates(levels)
    if order is None and levels.dtype.kind == "f":
        order = levels.astype(np.float64)
    elif order is None and levels.dtype.kind == "T" and len(levels) > CELLS:
        order = as_numbers(levels)
        finite = np.isfinite(order)
        rows = counts.sum(axis=0)
        if finite.sum() <= CELLS or rows[finite].sum() < NUMBERS * rows.sum():
            order = None
    return Cells(name, levels, order, counts, missing, codes)


def _as_codes(X: Encoded) -> Encoded:
    """Convert the categories of a table to the codes of an array; missing if they are not codes."""
    codes, levels = np.empty(X.codes.shape, np.int64), []
    for k, level_names in enumerate(X.levels):
        numbers = as_numbers(level_names)
        integers = np.isfinite(numbers) & (numbers >= 0) & (numbers == np.floor(numbers))
        distinct, inverse = np.unique(numbers[integers].astype(np.int64), return_inverse=True)
        new_codes = np.full(len(level_names) + 1, len(distinct))
        new_codes[np.flatnonzero(integers)] = inverse
        codes[:, k] = new_codes[X.codes[:, k]]
        levels.append(distinct)
    return Encoded(codes, levels)


def _codes(categories: Levels, levels: Levels, codes: Int64) -> Int64:
    """Positions among `categories`, -1 if missing or not among them."""
    if categories.dtype.kind == "T" or levels.dtype.kind == "T":
        categories, levels = texts(categories), texts(levels)
    if categories.dtype.kind == "T":
        order = np.argsort(categories, kind="stable")
        position, present = find(categories[order], levels)
        position = order[np.minimum(position, max(len(order) - 1, 0))] if len(order) else position
    else:
        position, present = find(categories, levels)
    return np.append(np.where(present, position, -1), -1)[codes]


@_marginals.register
def _(learned: LevelStatistics, both: Both) -> Sequence[Marginal]:
    X = encoded(both.rows)
    if any(level_names.dtype.kind == "i" for level_names in learned.levels):
        both = replace(both, rows=(X := _as_codes(X)))
    sums, results = both.sums, []
    counts = sums.tables["count"].rounded()
    for k, (name, levels) in enumerate(zip(both.part.names, sums.levels, strict=True)):
        feature_counts = counts[:, sums.offsets[k] : sums.offsets[k + 1]]
        codes = _codes(levels, X.levels[k], X.codes[:, k])
        results.append(_cells(name, levels, feature_counts, both.missing[:, k], codes))
    return results


@_marginals.register
def _(learned: GridStatistics, both: Both) -> Sequence[Marginal]:
    sums = both.sums
    X, counts, results = dense(both.rows), sums.tables["count"].rounded(), []
    for k, (name, levels) in enumerate(zip(both.part.names, sums.levels, strict=True)):
        feature_counts = counts[:, sums.offsets[k] : sums.offsets[k + 1]]
        x = numbers(X, k)
        codes = np.searchsorted(levels, cell_edges(x, int(sums.exponents[k])))
        codes = np.where(np.isnan(x), -1, codes)
        results.append(_cells(name, levels, feature_counts, both.missing[:, k], codes))
    return results


@_marginals.register
def _(learned: RowStatistics, both: Both) -> Sequence[Marginal]:
    sums = both.sums
    X, counts = encoded(both.rows), sums.tables["count"].rounded()
    row_codes, row_levels = from_text(sums.levels[0], len(both.part.names))
    results = []
    for k, (name, levels) in enumerate(zip(both.part.names, row_levels, strict=True)):
        feature_counts = np.array([np.bincount(row_codes[:, k], c, len(levels)) for c in counts])
        codes = _codes(levels, X.levels[k], X.codes[:, k])
        missing_codes = np.array([len(feature_levels) for feature_levels in X.levels])
        complete = (X.codes < missing_codes).all(axis=1)
        codes = np.where(complete, codes, -1)
        results.append(_cells(name, levels, feature_counts, both.missing[:, k], codes))
    return results


@_marginals.register
def _(learned: SampleStatistics, both: Both) -> Sequence[Marginal]:
    X, results = encoded(both.rows), []
    class_weights = learned.estimated()
    for k, name in enumerate(both.part.names):
        levels, *mappings = union(learned.levels[k], X.levels[k])
        rows, new = (np.append(mapping, len(levels)) for mapping in mappings)
        code_weights = [(rows[learned.codes[:, k]], count) for count in class_weights]
        code_weights.append((new[X.codes[:, k]], np.ones(len(X.codes))))
        size = len(levels) + 1
        counts = np.array([np.bincount(values, count, size) for values, count in code_weights])
        codes = np.append(mappings[1], -1)[X.codes[:, k]].astype(np.int64)
        cells = _cells(name, levels, counts[:, :-1], counts[:, -1], codes)
        results.append(as_texts(cells, name in both.text, both.workers) or cells)
    return results


@_marginals.register
def _(learned: PlanStatistics, both: Both) -> Sequence[Marginal]:
    X, sums, plan, results = encoded(both.rows), both.sums, learned.plan.plan, []
    for k, block in enumerate(learned.plan.cells):
        if len(block.columns) > 1 or block.way != FINE:
            continue
        (j,) = block.columns
        column, counts = plan.columns[j], sums.block(k).rounded()
        levels, others = _bin_names(column), None
        codes = column.bins(X.levels[j])[X.codes[:, j]]
        order = column.levels.astype(np.float64) if column.is_number else None
        bin_counts = counts[:, : len(levels)]
        if not column.is_number:
            others = _others(bin_counts[:-1].sum(axis=0), counts[:, len(levels)])
        codes = np.where(codes < len(levels), codes, -1)
        missing = both.missing[:, j]
        results.append(Cells(both.part.names[j], levels, order, bin_counts, missing, codes, others))
    return results


def _bin_names(column: Column) -> Levels:
    """The names of a column's bins to print, without that of missing values."""
    if column.dated:
        dates = [datetime.fromtimestamp(float(date), UTC) for date in column.levels]
        return np.array([date.isoformat(" ", "minutes")[:16] for date in dates], TEXT)
    return column.levels


def _others(levels: Float64, rows: Float64) -> Float64:
    """(2,) training and new rows with a category that is too rare for its own count.

    A new row counts if its category has fewer than two training rows. Without drift, this has the
    probability that a row has a category of at most two rows, itself included. So the number of
    training rows is an upper bound, whether or not the structure was built from these rows.

    `levels`: (k,) training rows of each category with its own count. `rows`: (C + 1,) rows of the
    rare categories.
    """
    return np.array([rows[:-1].sum() + levels[levels <= RARE].sum(), rows[-1]])


@_marginals.register
def _(learned: PresenceStatistics, both: Both) -> Sequence[Marginal]:
    present = both.sums.tables["sum"].rounded()
    if (present != np.round(present)).any():  # soft evidence
        return _sums(both, mean(learned.tables["sum"], learned.observed(both.class_weight)))
    weight = np.append(both.class_weight.rounded(), float(both.rows.shape[0]))
    absent, x = weight[:, np.newaxis] - both.missing - present, _by_row(both)
    codes = np.where(np.isnan(x), -1, x > 0).astype(np.int64)
    return [
        Cells(
            name, PRESENCE, None, np.stack([absent[:, k], present[:, k]], axis=1),
            both.missing[:, k], codes[:, k],
        )
        for k, name in enumerate(both.part.names)
    ]  # fmt: skip


# ---- sums of values --------------------------------------------------------------------------


@_marginals.register
def _(learned: PowerStatistics, both: Both) -> Sequence[Marginal]:
    moments = Moments(learned.tables, both.class_weight)
    return _sums(both, moments.mean(), moments.pooled().variance(1)[0])


@_marginals.register
def _(learned: ProductStatistics, both: Both) -> Sequence[Marginal]:
    means = mean(learned.tables["sum"], learned.observed(both.class_weight))
    return _sums(both, means, learned.moments(both.class_weight).pooled().variance(1)[0])


@_marginals.register
def _(learned: CountStatistics, both: Both) -> Sequence[Marginal]:
    return _sums(both, mean(learned.tables["sum"], learned.observed(both.class_weight)))


def _sums(both: Both, means: Float64, variances: Float64 | None = None) -> Sequence[Marginal]:
    """Marginals with these means of each class, (C, d), and variances of all rows, (d,)."""
    weight = both.learned.observed(both.class_weight).rounded()
    missing = both.learned.tables["missing"].rounded().sum(axis=0)
    values, of_logs = _by_row(both), isinstance(both.part.summary, LogPowers)
    total, class_rows = weight.sum(axis=0), both.class_weight.rounded()[:, np.newaxis]
    present = np.divide(weight, class_rows, where=class_rows > 0, out=np.zeros_like(weight))
    middle = np.divide((weight * means).sum(axis=0), total, where=total > 0, out=0.0 * total)
    if variances is None:
        variances = np.full(len(total), np.nan)
    return [
        Sums(
            name, weight[:, k], means[:, k], present[:, k], float(middle[k]), float(variances[k]),
            np.array([missing[k], np.isnan(values[:, k]).sum()]), values[:, k], of_logs,
        )
        for k, name in enumerate(both.part.names)
    ]  # fmt: skip


def _by_row(both: Both) -> Float64:
    """The summand of each new row, (m, d), NaN where missing: each row is summed as a class."""
    n, d = both.rows.shape
    summands = np.empty((n, d))
    step = max(1, AT_ONCE // max(1, d))
    for start in range(0, n, step):
        rows = both.rows[start : start + step]
        size = rows.shape[0]
        statistics = both.part.summary.summarise(rows, Batch(np.arange(size), size), SERIAL)
        missing = statistics.tables["missing"].rounded() > 0
        rounded = statistics.tables["sum"].rounded()
        summands[start : start + size] = np.where(missing, np.nan, rounded)
    return summands


# ---- terms of text: number of documents with each ------------------------------------------------


OFTEN = 20.0  # number of occurrences in both samples, from which a term's evidence is used


def of_terms(learned: TermStatistics, both: Both) -> list[Terms]:
    """Terms with the number of documents that contain each, or a bound, from counts of terms."""
    summary, X = both.part.summary, both.rows
    (name,), learned_terms = both.part.names, learned.vocabulary
    rows, vocabulary = rows_and_vocabulary(X, summary.analysis, summary.buckets, both.workers)
    present = csr_matrix((np.ones(len(rows.data)), rows.indices, rows.indptr), rows.shape)
    size = None if learned_terms is None else len(learned_terms)
    sums = learned.tables["sum"].rounded()[:, :size]
    positions = np.arange(rows.shape[1])
    if learned_terms is not None:
        positions = learned_terms.find(vocabulary).astype(np.int64)
    evidence = means = None
    if summary.reference is None:  # with a reference, terms weigh more in new documents
        matrix = summary.matrix(rows, vocabulary)
        evidence, means = _document_evidence(matrix, positions, sums, both.class_weight.rounded())
    exact = learned.presence or "documents" in learned.tables
    term_counts = sums.sum(axis=0)
    if not learned.presence and exact:
        term_counts = learned.tables["documents"].summed(0).rounded()[: len(term_counts)]
    n = float(learned.observed(both.class_weight).summed(0).rounded()[0])
    if not exact or learned.undercount:
        term_counts, exact = (
            np.minimum(_at_most(term_counts, summary) + learned.undercount, n), False
        )  # fmt: skip
    n_missing = 0.0 if X.valid is None else float((~X.valid).sum())
    missing = np.array([learned.tables["missing"].summed(0).rounded()[0], n_missing])
    documents = np.array([n, len(X) - n_missing])
    counts = np.zeros((2, len(term_counts) + np.count_nonzero(positions < 0)))
    counts[0, : len(term_counts)], counts[0, len(term_counts) :] = term_counts, learned.undercount
    terms = None if learned_terms is None else learned_terms.copy()
    counts[1, positions if terms is None else terms.merge(vocabulary)] = present.sum(axis=0)
    return [Terms(name, terms, counts[0], counts[1], exact, documents, missing, evidence, means)]


def _document_evidence(
    rows: Any, at: Int64, sums: Float64, weight: Float64
) -> tuple[Float64, Float64]:
    """(evidence of each document's terms for each class, (m, C); its mean in training, (C, C)).

    `rows`: CSR matrix (m, W), the counts of terms. `at`: (W,) position among the training terms, -1
    if a term is new. `sums`: (C, V) of the training terms. `weight`: (C,) training rows of each
    class.
    """
    new_counts = np.zeros((sums.shape[1], 1))
    new_counts[at[at >= 0], 0] = np.asarray(rows.sum(axis=0)).ravel()[at >= 0]
    frequent = sums.sum(axis=0) + new_counts[:, 0] >= OFTEN
    classes, terms = len(weight), sums.shape[1]
    theta = (sums + 1.0) / (sums.sum(axis=1, keepdims=True) + max(terms, 1))
    pooled = (sums.sum(axis=0) + classes) / (sums.sum() + classes * max(terms, 1))
    evidence = np.where(frequent, np.log(theta / pooled), 0.0)
    of_rows = np.zeros((classes, len(at)))
    if terms:
        of_rows = np.where(at >= 0, evidence[:, np.maximum(at, 0)], 0.0)
    means = np.divide(sums @ evidence.T, weight[:, np.newaxis], where=weight[:, np.newaxis] > 0,
                      out=np.zeros((classes, classes)))  # fmt: skip
    freedom = np.where(frequent, sums / (sums + 1.0), 0.0).sum(axis=1)
    return rows @ of_rows.T, corrected(means, freedom, weight)


def of_pooled(learned: PooledTerms, both: Both) -> list[Terms]:
    """As `of_terms`, from the first counts. If these only give bounds, use the sampled documents,
    if there are any.
    """
    part = replace(both.part, summary=both.part.summary.parts[0])
    (terms,) = of_terms(learned.terms[0], replace(both, part=part, learned=learned.terms[0]))
    if terms.exact or not len(learned.sample):
        return [terms]
    sample = both.sums.sample
    counts = sample.counts * sample.stands
    analysis = part.summary.analysis
    sampled = _of_texts(terms.name, sample.documents, counts, analysis, terms.missing, both.workers)
    return [replace(sampled, evidence=terms.evidence, means=terms.means)]


def _at_most(sums: Float64, summary: Any) -> Float64:
    """An upper bound on the number of documents, from the sum of a term's counts."""
    if summary.length_norm is not None or summary.weighting in ("tfidf", "log-tfidf"):
        return np.full(len(sums), np.inf)
    return sums / np.log(2.0) if summary.weighting == "log" else sums


def as_texts(cells: Cells, named: bool, workers: Workers) -> Terms | None:
    """Treat a categorical column as text, if it was declared as text, or holds prose; else None."""
    totals = cells.counts.sum(axis=0)
    if cells.levels.dtype.kind != "T" or not (named or are_prose(cells.levels, totals)):
        return None
    missing = np.array([cells.missing[:-1].sum(), cells.missing[-1]])
    return _of_texts(
        cells.name, Documents.of(cells.levels.tolist()), cells.counts, Analysis(), missing, workers
    )


def _of_texts(
    name: str, texts: Documents, counts: Float64, analysis: Analysis, missing: Float64,
    workers: Workers,
) -> Terms:  # fmt: skip
    """Terms of texts with counts (C + 1, k): training rows of each class, and new rows."""
    rows, vocabulary = rows_and_vocabulary(texts, analysis, 0, workers)
    present = csr_matrix((np.ones(len(rows.data)), rows.indices, rows.indptr), rows.shape)
    weight = np.array([counts[:-1].sum(axis=0), counts[-1]])
    learned, new = weight @ present
    return Terms(name, vocabulary, learned, new, True, weight.sum(axis=1), missing)


_marginals.register(TermStatistics, of_terms)
_marginals.register(PooledTerms, of_pooled)
