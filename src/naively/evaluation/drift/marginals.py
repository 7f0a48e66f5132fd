"""What is known of a column of learned rows and of new ones, whatever counted it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, singledispatch
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from naively.core.exact import ExactArray, Float64, Int64
from naively.core.model import Model
from naively.core.schema import Counted
from naively.core.workers import SERIAL, Workers
from naively.evaluation.drift.two_samples import CELLS
from naively.pooling.bins import FINE, RARE, Column, as_numbers
from naively.pooling.dates import as_dates
from naively.pooling.fixed import PlanStatistics
from naively.pooling.texts.prose import are_prose
from naively.statistics.base import Batch, Statistics, dense
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
    """A column of which it is known how many rows have each value.

    Attributes
    ----------
    name : of the column.
    levels : (k,) the values, or the lower ends of their cells.
    order : (k,) them as numbers, NaN of what is none; None if they are levels.
    counts : (C + 1, k) rows of each class, and of the new ones.
    missing : (C + 1,) rows without a value.
    codes : (m,) the value of each new row, -1 if it is missing.
    others : (2,) learned and new rows with a level that was too rare to be counted by itself: those
        that were, at most; None if there are none.
    """

    name: str
    levels: Levels
    order: Float64 | None
    counts: Float64
    missing: Float64
    codes: Int64
    others: Float64 | None = None


@dataclass(frozen=True)
class Sums:
    """A column of which the means are known.

    Attributes
    ----------
    name : of the column.
    weight, means : (C,) learned rows of each class that have a value, and the mean of these.
    present : (C,) which part of the rows of each class these are.
    mean, variance : of all learned rows; the variance is NaN if it is not known.
    missing : (2,) learned and new rows without a value.
    values : (m,) of the new rows, NaN if missing.
    of_logs : whether all this is of the logarithms of values.
    """

    name: str
    weight: Float64
    means: Float64
    present: Float64
    mean: float
    variance: float
    missing: Float64
    values: Float64
    of_logs: bool


@dataclass(frozen=True)
class Terms:
    """A column of texts.

    Attributes
    ----------
    name : of the column.
    vocabulary : the terms that were learned, then those that are new; None if they are hashed.
    learned : (V,) learned documents that have each, or a bound that may be too high.
    new : (V,) new documents that have each.
    exact : whether ``learned`` is no bound.
    documents : (2,) learned and new documents.
    missing : (2,) rows without a text.
    told : (m, C) what each new text tells for each class, in nats; None if that is not known.
    means : (C, C) the same of each learned class (first), on average.
    """

    name: str
    vocabulary: Vocabulary | None
    learned: Float64
    new: Float64
    exact: bool
    documents: Float64
    missing: Float64
    told: Float64 | None = None
    means: Float64 | None = None

    def term(self, k: int) -> str:
        """A term as people know it."""
        return f"bucket {k}" if self.vocabulary is None else self.vocabulary.term(k)


def corrected(means: Float64, free: Float64, rows: Float64) -> Float64:
    """Means of what a column tells for each class, (C, C), as they are of rows not learned.

    They are of rows that also say what a value tells: so those of the class itself are too large by
    about one for each parameter and row, and those of all classes together are right.

    Parameters
    ----------
    free : (C,) parameters of each class.
    rows : (C,) of each class.
    """
    inverse = np.divide(1.0, rows, where=rows > 0, out=np.zeros_like(rows))
    return means - free * (np.diag(inverse) - 1.0 / rows.sum())


Marginal = Cells | Sums | Terms


@dataclass(frozen=True)
class Both:
    """Some columns of learned and of new rows.

    Attributes
    ----------
    part : Counted, the columns.
    learned : Statistics
    class_weight : ExactArray (C,), rows of each class.
    rows : the new rows, as the summary takes them.
    workers : Workers
    text : names of columns that were named as text.
    """

    part: Counted
    learned: Any
    class_weight: ExactArray
    rows: Any
    workers: Workers
    text: tuple[str | int, ...] = ()

    @cached_property
    def sums(self) -> Any:
        """The statistics of both, the new rows being the last class."""
        size, n = self.class_weight.shape[0], self.rows.shape[0]
        found = self.learned.copy().scatter_classes(np.arange(size), size + 1)
        batch = Batch(np.zeros(n, np.int64), 1)
        new = self.part.summary.summarise(self.rows, batch, self.workers)
        found.accumulate(new, np.array([size]))
        return found

    @property
    def missing(self) -> Float64:
        """(C + 1, d) rows without a value, of these statistics."""
        return np.asarray(self.sums.tables["missing"].rounded())


# ---- New rows beside those that a model learned: what is known of each column of both.


AT_ONCE = 1 << 20
"""Values of new rows that are summed row by row at a time."""
NUMBERS = 0.9
"""Part of the rows whose levels are written as numbers, from which on a column is of numbers."""
PRESENCE = np.array(["absent", "present"], TEXT)


def marginals(model: Model, rows: Any, workers: Workers) -> list[Marginal]:
    """What is known of each column that can be compared, in the order of the schema.

    Parameters
    ----------
    rows : the new ones, as the model takes them.
    """
    found: dict[str, Marginal] = {}
    parts = [rows] if model.schema.is_single else rows.parts
    for part, learned, own in zip(model.schema.parts, model.parts, parts, strict=True):
        both = Both(part, learned, model.class_weight, own, workers, model.family.text)
        for one in _known(learned, both):
            found.setdefault(one.name, one)
    return [found[name] for name in model.schema.ordered if name in found]


@singledispatch
def _known(learned: Statistics, both: Both) -> Sequence[Marginal]:
    """What statistics tell of each column; nothing if they are of a kind not listed here."""
    return []


# ---- values that are counted -----------------------------------------------------------------


def _cells(name: str, levels: Levels, counts: Float64, missing: Float64, codes: Int64) -> Cells:
    """Of levels that may be numbers, or dates."""
    order = as_dates(levels)
    if order is None and levels.dtype.kind == "f":
        order = levels.astype(np.float64)
    elif order is None and levels.dtype.kind == "T" and len(levels) > CELLS:
        order = as_numbers(levels)
        known = np.isfinite(order)
        rows = counts.sum(axis=0)
        if known.sum() <= CELLS or rows[known].sum() < NUMBERS * rows.sum():
            order = None
    return Cells(name, levels, order, counts, missing, codes)


def _as_codes(X: Encoded) -> Encoded:
    """Levels of a table as the codes that an array has; missing if they are no codes."""
    codes, levels = np.empty(X.codes.shape, np.int64), []
    for k, known in enumerate(X.levels):
        numbers = as_numbers(known)
        whole = np.isfinite(numbers) & (numbers >= 0) & (numbers == np.floor(numbers))
        own, at = np.unique(numbers[whole].astype(np.int64), return_inverse=True)
        places = np.full(len(known) + 1, len(own))
        places[np.flatnonzero(whole)] = at
        codes[:, k] = places[X.codes[:, k]]
        levels.append(own)
    return Encoded(codes, levels)


def _codes(known: Levels, levels: Levels, codes: Any) -> Int64:
    """Places among other levels, -1 if missing or not there."""
    if known.dtype.kind == "T" or levels.dtype.kind == "T":
        known, levels = texts(known), texts(levels)
    if known.dtype.kind == "T":
        order = np.argsort(known, kind="stable")
        at, there = find(known[order], levels)
        at = order[np.minimum(at, max(len(order) - 1, 0))] if len(order) else at
    else:
        at, there = find(known, levels)
    return np.append(np.where(there, at, -1), -1)[codes]


@_known.register
def _(learned: LevelStatistics, both: Both) -> Sequence[Marginal]:
    X = encoded(both.rows)
    if any(known.dtype.kind == "i" for known in learned.levels):
        both = replace(both, rows=(X := _as_codes(X)))
    sums, found = both.sums, []
    counts = sums.tables["count"].rounded()
    for k, (name, levels) in enumerate(zip(both.part.names, sums.levels, strict=True)):
        own = counts[:, sums.offsets[k] : sums.offsets[k + 1]]
        codes = _codes(levels, X.levels[k], X.codes[:, k])
        found.append(_cells(name, levels, own, both.missing[:, k], codes))
    return found


@_known.register
def _(learned: GridStatistics, both: Both) -> Sequence[Marginal]:
    sums = both.sums
    X, counts, found = dense(both.rows), sums.tables["count"].rounded(), []
    for k, (name, levels) in enumerate(zip(both.part.names, sums.levels, strict=True)):
        own = counts[:, sums.offsets[k] : sums.offsets[k + 1]]
        x = numbers(X, k)
        codes = np.searchsorted(levels, cell_edges(x, int(sums.exponents[k])))
        codes = np.where(np.isnan(x), -1, codes)
        found.append(_cells(name, levels, own, both.missing[:, k], codes))
    return found


@_known.register
def _(learned: RowStatistics, both: Both) -> Sequence[Marginal]:
    sums = both.sums
    X, counts = encoded(both.rows), sums.tables["count"].rounded()
    places, known = from_text(sums.levels[0], len(both.part.names))
    found = []
    for k, (name, levels) in enumerate(zip(both.part.names, known, strict=True)):
        own = np.array([np.bincount(places[:, k], c, len(levels)) for c in counts])
        codes = _codes(levels, X.levels[k], X.codes[:, k])
        whole = (X.codes < np.array([len(one) for one in X.levels])).all(axis=1)
        found.append(_cells(name, levels, own, both.missing[:, k], np.where(whole, codes, -1)))
    return found


@_known.register
def _(learned: SampleStatistics, both: Both) -> Sequence[Marginal]:
    X, found = encoded(both.rows), []
    stand = learned.estimated()
    for k, name in enumerate(both.part.names):
        levels, *places = union(learned.levels[k], X.levels[k])
        rows, new = (np.append(place, len(levels)) for place in places)
        own = [(rows[learned.codes[:, k]], count) for count in stand]
        own.append((new[X.codes[:, k]], np.ones(len(X.codes))))
        counts = np.array([np.bincount(at, count, len(levels) + 1) for at, count in own])
        codes = np.append(places[1], -1)[X.codes[:, k]].astype(np.int64)
        cells = _cells(name, levels, counts[:, :-1], counts[:, -1], codes)
        found.append(as_texts(cells, name in both.text, both.workers) or cells)
    return found


@_known.register
def _(learned: PlanStatistics, both: Both) -> Sequence[Marginal]:
    X, sums, plan, found = encoded(both.rows), both.sums, learned.plan.plan, []
    for k, block in enumerate(learned.plan.cells):
        if len(block.columns) > 1 or block.way != FINE:
            continue
        (j,) = block.columns
        column, counts = plan.columns[j], sums.block(k).rounded()
        levels, others = _bin_names(column), None
        codes = column.bins(X.levels[j])[X.codes[:, j]]
        order = column.levels.astype(np.float64) if column.is_number else None
        own = counts[:, : len(levels)]
        if not column.is_number:
            others = _others(own[:-1].sum(axis=0), counts[:, len(levels)])
        codes = np.where(codes < len(levels), codes, -1)
        gone = both.missing[:, j]
        found.append(Cells(both.part.names[j], levels, order, own, gone, codes, others))
    return found


def _bin_names(column: Column) -> Levels:
    """What people know the bins of a column by, but for that of missing values."""
    if column.dated:
        when = [datetime.fromtimestamp(float(one), UTC) for one in column.levels]
        return np.array([one.isoformat(" ", "minutes")[:16] for one in when], TEXT)
    return column.levels


def _others(levels: Float64, rows: Float64) -> Float64:
    """(2,) learned and new rows, of levels that were too rare to be counted by themselves.

    A new row is of these if its level had less than two rows. If it is a row like any other, it is
    so with the probability that a row has a level of two rows, or one, itself included: no more
    learned rows have than are told here, whether the plan is of these rows or of others.

    Parameters
    ----------
    levels : (k,) learned rows of each of the other levels.
    rows : (C + 1,) of these.
    """
    return np.array([rows[:-1].sum() + levels[levels <= RARE].sum(), rows[-1]])


@_known.register
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


# ---- values that are summed ------------------------------------------------------------------


@_known.register
def _(learned: PowerStatistics, both: Both) -> Sequence[Marginal]:
    known = Moments(learned.tables, both.class_weight)
    return _sums(both, known.mean(), known.pooled().variance(1)[0])


@_known.register
def _(learned: ProductStatistics, both: Both) -> Sequence[Marginal]:
    means = mean(learned.tables["sum"], learned.observed(both.class_weight))
    return _sums(both, means, learned.moments(both.class_weight).pooled().variance(1)[0])


@_known.register
def _(learned: CountStatistics, both: Both) -> Sequence[Marginal]:
    return _sums(both, mean(learned.tables["sum"], learned.observed(both.class_weight)))


def _sums(both: Both, means: Float64, variances: Float64 | None = None) -> Sequence[Marginal]:
    """Of columns with these means of each class, (C, d), and variances of all rows, (d,)."""
    weight = both.learned.observed(both.class_weight).rounded()
    gone = both.learned.tables["missing"].rounded().sum(axis=0)
    values, of_logs = _by_row(both), isinstance(both.part.summary, LogPowers)
    total, whole = weight.sum(axis=0), both.class_weight.rounded()[:, np.newaxis]
    present = np.divide(weight, whole, where=whole > 0, out=np.zeros_like(weight))
    middle = np.divide((weight * means).sum(axis=0), total, where=total > 0, out=0.0 * total)
    if variances is None:
        variances = np.full(len(total), np.nan)
    return [
        Sums(
            name, weight[:, k], means[:, k], present[:, k], float(middle[k]), float(variances[k]),
            np.array([gone[k], np.isnan(values[:, k]).sum()]), values[:, k], of_logs,
        )
        for k, name in enumerate(both.part.names)
    ]  # fmt: skip


def _by_row(both: Both) -> Float64:
    """What is summed of each new row, (m, d), NaN where missing: each row as a class of its own."""
    n, d = both.rows.shape
    found = np.empty((n, d))
    step = max(1, AT_ONCE // max(1, d))
    for at in range(0, n, step):
        rows = both.rows[at : at + step]
        size = rows.shape[0]
        each = both.part.summary.summarise(rows, Batch(np.arange(size), size), SERIAL)
        gone = each.tables["missing"].rounded() > 0
        found[at : at + size] = np.where(gone, np.nan, each.tables["sum"].rounded())
    return found


# ---- Texts of new rows beside learned ones: how many documents have each term.


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
    counts = sample.counts * sample.stands
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


_known.register(TermStatistics, of_terms)
_known.register(PooledTerms, of_pooled)
