"""New rows beside those that a model learned: what is known of each column of both.

The new rows are counted as the model counts, as if they were one more class. So their sums have
the same levels, cells and terms, and what a column says of the learned rows is the sum over the
other classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import singledispatch
from typing import Any

import numpy as np

from naively.exact import Float64, Int64
from naively.model import Model
from naively.pooling.bins import FINE, RARE, Column, as_numbers
from naively.pooling.dates import as_dates
from naively.pooling.fixed import PlanStatistics
from naively.statistics.base import Batch, Statistics, dense
from naively.statistics.grid import GridStatistics, cell_edges, numbers
from naively.statistics.levels import Encoded, Levels, LevelStatistics, find
from naively.statistics.logs import LogPowers
from naively.statistics.pooled_terms import PooledTerms
from naively.statistics.powers import (
    CountStatistics,
    Moments,
    PowerStatistics,
    PresenceStatistics,
    mean,
)
from naively.statistics.products import ProductStatistics
from naively.statistics.row_encoding import TEXT, encoded, from_text, texts
from naively.statistics.rows import RowStatistics
from naively.statistics.sample import SampleStatistics
from naively.statistics.terms import SampledTerms, TermStatistics
from naively.study.marginals import Both, Cells, Marginal, Sums
from naively.study.texts_beside import as_texts, of_pooled, of_sampled, of_terms
from naively.study.two_samples import CELLS
from naively.workers import SERIAL, Workers

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


_known.register(TermStatistics, of_terms)
_known.register(SampledTerms, of_sampled)
_known.register(PooledTerms, of_pooled)


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
    sums = both.sums
    X, counts, found = encoded(both.rows), sums.tables["count"].rounded(), []
    for k, (name, levels) in enumerate(zip(both.part.names, sums.levels, strict=True)):
        own = np.array([np.bincount(sums.codes[:, k], c, len(levels) + 1) for c in counts])
        codes = _codes(levels, X.levels[k], X.codes[:, k])
        cells = _cells(name, levels, own[:, :-1], own[:, -1], codes)
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
