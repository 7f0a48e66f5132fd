"""Test whether a feature has drifted, and describe its largest change in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Literal

import numpy as np

from naively.core.exact import Float64, Int64
from naively.core.markup import counted
from naively.evaluation.drift import two_samples as test
from naively.evaluation.drift.marginals import Cells, Marginal, Sums, Terms, corrected
from naively.rendering import number

Kind = Literal["categorical", "numeric", "text"]


@dataclass(frozen=True)
class WordDrift:
    """The change in the share of documents with a word.

    Attributes
    ----------
    word : str
    learned, new : share of the training and of the new documents with the word.
    at_most : whether `learned` is an upper bound: the word's occurrences were counted, not the
        documents with it.
    p_value : corrected by Holm's method for all words of the column.
    """

    word: str
    learned: float
    new: float
    at_most: bool
    p_value: float


@dataclass(frozen=True)
class ColumnDrift:
    """The drift of a feature.

    Attributes
    ----------
    name : str
    kind : "categorical", "numeric" or "text": how it was compared.
    change : the largest change, in words.
    distance : total variation, from 0 to 1: the share of rows that would have to change for both
        to be alike. If only means and variances are known, that of normal distributions;
        for text, the largest change of a word's share of documents. NaN for too few rows.
    expected : its approximate value without drift; NaN for text.
    p_value : the smallest p-value of the feature's tests, times their number; NaN if there was no
        test.
    adjusted : corrected by Holm's method for all features.
    rows_needed : rows that each sample needs, at least, to compare the distribution; 0 if both
        had enough. With fewer rows the exact tests remain: of missing values, words, and values
        that are rare or extreme.
    tests : dict of p-values: "cells", "ranks", "mean", "spread", "far", "words", "others",
        "missing"; see `naively.evaluation.drift.two_samples`.
    missing : share of the training and of the new rows with a missing value.
    unseen : dict of the most frequent unseen categories, and their rows.
    words : list of WordDrift, by decreasing change.
    """

    name: str
    kind: Kind
    change: str
    distance: float
    expected: float
    p_value: float
    adjusted: float
    rows_needed: int
    tests: dict[str, float]
    missing: tuple[float, float]
    unseen: dict[str, int]
    words: list[WordDrift]

    @property
    def untested(self) -> bool:
        """Whether there were too few rows, and no exact test had a p-value below 1."""
        return self.rows_needed > 0 and not any(p < 1.0 for p in self.tests.values())


@dataclass(frozen=True)
class Compared:
    """A feature's comparison, with what is needed of it for each new row."""

    drift: ColumnDrift
    # (m,) -log p of each new row's value, in nats above the mean of training rows, 0 if missing;
    # None if not known
    surprise: Float64 | None = None
    excess: float = 0.0  # mean of `surprise` without drift, due to the estimation of p
    # (m, C) evidence of each new value for each class, in nats; None if not known
    evidence: Float64 | None = None
    # (C, C) its mean over the training rows of each class (first axis)
    means: Float64 | None = None
    # by_class, new: (C, k) and (k,), shares of cells, or a mean in standard deviations, in the
    # training rows of each class and in the new rows: for label shift to explain
    by_class: Float64 | None = None
    new: Float64 | None = None
    # (m,) rarity of each new row's value, in nats above the mean of training rows, 0 if missing;
    # finer than `surprise`, which uses cells; None if not known
    odd: Float64 | None = None


def percent(share: float) -> str:
    """Format a share as a percentage."""
    if 0 < share < 0.0005 or 0.9995 < share < 1:
        return "<0.1%" if share < 0.5 else ">99.9%"
    return f"{share:.1%}" if share < 0.0995 or 0.9 < share < 1 else f"{share:.0%}"


def change(before: float, after: float) -> str:
    """Format two shares, with one more digit if they look equal without it."""
    texts = percent(before), percent(after)
    if texts[0] == texts[1] and before != after and not texts[0].startswith(("<", ">")):
        digits = len(texts[0].partition(".")[2]) or 1
        texts = f"{before:.{digits}%}", f"{after:.{digits}%}"
    return f"{texts[0]} → {texts[1]}"


def largest_change(
    name: str, kind: Kind, texts: dict[str, str], tests: dict[str, float],
    moved: tuple[float, float], missing: Float64, rows: Float64, needed: int = 0,
    unseen: dict[str, int] | None = None, words: list[WordDrift] | None = None,
) -> ColumnDrift:  # fmt: skip
    """Choose the largest change to report, given the text and the p-value of each test.

    `texts`: of each test; the first one is shown if no test found a change. `moved`: the distance,
    and its approximate value without drift. `missing, rows`: (2,) training and new rows, with a
    missing value and with a value. `needed`: rows that each sample needs to compare the
    distribution; 0 if both have enough.
    """
    shares = np.divide(missing, missing + rows, where=missing + rows > 0, out=np.zeros(2))
    tests = tests | {"missing": test.of_cells(*np.array([rows, missing]).T)}  # NaN if none is
    texts = texts | {"missing": f"missing {change(*shares.tolist())}"}
    strongest = min(texts, key=lambda key: (math.isnan(tests[key]), tests[key]))
    if not rows.all():
        strongest, needed = "missing", 0
        if not missing[rows == 0].all():
            texts["missing"] = "no row to compare"
    elif math.isnan(tests[strongest]) or tests[strongest] == 1.0:
        strongest = next(iter(texts))
        if needed:
            few = f"too few rows ({needed:,} needed)"
            texts[strongest] = few if rows.min() < needed else "values too rare to test"
    by_missing = test.moved(*np.array([rows, missing]).T)
    if needed or not rows.all():
        moved = by_missing if strongest == "missing" else (math.nan, math.nan)
    elif by_missing[0] > moved[0]:
        moved = by_missing
    return ColumnDrift(
        name, kind, texts[strongest], *moved, test.bonferroni([*tests.values()]), math.nan, needed,
        tests, (float(shares[0]), float(shares[1])), unseen or {}, words or [],
    )  # fmt: skip


def level_text(level: object) -> str:
    """Format a category or a number."""
    return number(float(level)) if isinstance(level, float | np.floating) else str(level)


WORDS = 10  # words to report, at most
LARGE = 1e60  # numbers are clipped to this size, so that their squares do not overflow


@singledispatch
def compared(marginal: Marginal, scale: float) -> Compared:
    """Compare a feature of the new rows with the training rows.

    `scale`: number of rows that a training weight of 1 counts as.
    """
    raise NotImplementedError(marginal)


# ---- cells -----------------------------------------------------------------------------------


@compared.register
def _(marginal: Cells, scale: float) -> Compared:
    by_class, new = marginal.counts[:-1] * scale, marginal.counts[-1]
    learned = by_class.sum(axis=0)
    rows = np.array([learned.sum(), new.sum()])
    missing = np.array([marginal.missing[:-1].sum() * scale, marginal.missing[-1]])
    total = learned + new
    share = float(rows.min() / max(rows.sum(), 1e-300))
    numbers = marginal.order is not None
    if marginal.order is not None:
        cell = test.cells_of_numbers(marginal.order, total, share)
    else:
        cell = test.cells_of_levels(total, share)
    size = int(cell.max(initial=-1)) + 1
    first, second = (_summed(weights, cell, size) for weights in (learned, new))
    tests = {"cells": test.of_cells(first, second)}
    if numbers:
        texts, ranks = _numbers(marginal, learned, new, cell)
        tests = tests | {"ranks": ranks if size > 1 else math.nan}
    else:
        texts = {"cells": _levels(marginal, learned, new, cell)}
    if marginal.others is not None:
        others = marginal.others * np.array([scale, 1.0])
        all_rows = rows + others
        p = test.of_words(others[:1], others[1:], all_rows[0], all_rows[1], exact=False)
        tests["others"] = float(p[0]) if all_rows.all() else math.nan
        before, after = np.divide(others, all_rows, where=all_rows > 0, out=np.zeros(2)).tolist()
        texts["others"] = f"other categories: at most {change(before, after)}"
    order = np.argsort(-new, kind="stable")
    unseen_codes = [k for k in order[:1000].tolist() if new[k] > 0 and learned[k] == 0]
    unseen_levels = [] if numbers else unseen_codes[:5]
    unseen = {level_text(marginal.levels[k]): int(new[k]) for k in unseen_levels}
    drift = largest_change(
        marginal.name, "numeric" if numbers else "categorical", texts, tests,
        test.moved(first, second), missing, rows if marginal.others is None else all_rows,
        test.rows_needed(total) if size < 2 else 0, unseen,
    )  # fmt: skip
    if not rows.all():
        return Compared(drift)
    odd = np.append(_odd(marginal.order, learned), 0.0)[marginal.codes]
    if size < 2:
        return Compared(drift, odd=odd)
    counts = np.array([_summed(weights, cell, size) for weights in by_class])
    cells = np.append(cell, -1)[marginal.codes]
    result = _row_by_row(drift, cells, counts, second, marginal.missing[:-1] * scale)
    return replace(result, odd=odd)


def _odd(order: Float64 | None, learned: Float64) -> Float64:
    """The rarity of each value, (k,), in nats above the mean of training rows.

    -log of the share of training rows with the category, or with a number at least as far out.
    """
    n = float(learned.sum())
    share = (learned + 0.5) / (n + 0.5 * len(learned))
    if order is not None:
        ranks = np.argsort(order, kind="stable")
        ranks = ranks[~np.isnan(order[ranks])]
        below = np.cumsum(learned[ranks])
        tail = np.minimum(below, below[-1:] - below + learned[ranks])
        share[ranks] = np.minimum((2.0 * tail + 0.5) / (n + 1.0), 1.0)
    surprise: Float64 = -np.log(share)
    return surprise - float(learned @ surprise) / n


def _summed(rows: Float64, cell: Int64, size: int) -> Float64:
    """Sum the rows of values by cell."""
    return np.bincount(cell, rows, size).astype(np.float64)


def _row_by_row(
    drift: ColumnDrift, cells: Int64, counts: Float64, new: Float64, missing_cells: Float64
) -> Compared:
    """Add the quantities of each new row to a feature's drift.

    `cells`: (m,) the cell of each new row, -1 if its value is missing. `counts, new`: (C, k) and
    (k,), training rows of each class and new rows in each cell. `missing_cells`: (C,) training rows
    with a missing value.
    """
    classes, size = counts.shape
    total, rows = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
    p = (total + 0.5) / (total.sum() + 0.5 * size)
    surprise = np.append((total / total.sum()) @ np.log(p) - np.log(p), 0.0)[cells]
    evidence = np.log((counts + size * p) / (rows + size) / p).T
    evidence[total == 0] = 0.0  # unseen values are no evidence of a class
    class_rows = rows + missing_cells[:, np.newaxis]
    share = np.divide(counts, class_rows, where=class_rows > 0, out=np.zeros_like(counts))
    means = share @ evidence
    by_class = np.divide(counts, rows, where=rows > 0, out=np.zeros_like(counts))
    freedom = (counts / (counts + size * p) * (1.0 - by_class)).sum(axis=1)
    means = corrected(means, freedom, class_rows[:, 0])
    return Compared(
        drift, surprise, (size - 1) / total.sum(), np.vstack([evidence, np.zeros(classes)])[cells],
        means, by_class, new / new.sum(),
    )  # fmt: skip


def _levels(marginal: Cells, learned: Float64, new: Float64, cell: Int64) -> str:
    """Describe the category whose share changed most."""
    before, after = learned / max(learned.sum(), 1e-300), new / max(new.sum(), 1e-300)
    single_bin = np.bincount(cell)[cell] == 1
    changes = np.where(single_bin, np.abs(after - before), -1.0)
    unseen = (learned == 0) & (new > 0)
    unseen_share = float(after[unseen].sum())
    if not len(changes):
        return "no values"
    k = int(changes.argmax())
    if unseen_share > changes[k]:
        levels, rare = int(unseen.sum()), np.isin(cell, cell[unseen])  # those they are tested with
        rare_before, rare_after = float(before[rare].sum()), float(after[rare].sum())
        if rare_before > 0:
            return f"rare and unseen categories: {change(rare_before, rare_after)}"
        if levels > 1:
            return f"{levels:,} unseen categories: {change(0.0, unseen_share)}"
        k = int((unseen * new).argmax())
    if changes[k] < 0 and unseen_share <= 0:
        shares = np.array([np.bincount(cell, before), np.bincount(cell, after)])
        largest = int(np.abs(shares[1] - shares[0]).argmax())
        categories = counted(int(np.count_nonzero(learned)), "category", "categories")
        members = int(np.count_nonzero(learned[cell == largest]))
        return f"{members:,} of {categories}: {change(*shares[:, largest].tolist())}"
    return f"{level_text(marginal.levels[k])}: {change(float(before[k]), float(after[k]))}"


def _numbers(
    marginal: Cells, learned: Float64, new: Float64, cell: Int64
) -> tuple[dict[str, str], float]:
    """(texts for the tests of cells and ranks, the p-value of ranks)."""
    assert marginal.order is not None
    if not len(cell):
        return {"cells": "no values", "ranks": "no values"}, math.nan
    positions = np.argsort(marginal.order, kind="stable")
    positions = positions[~np.isnan(marginal.order[positions])]
    a, b = learned[positions], new[positions]
    medians = [
        level_text(marginal.levels[positions[np.searchsorted(np.cumsum(w), w.sum() / 2.0)]])
        if w.any() else "?"
        for w in (a, b)
    ]  # fmt: skip
    texts = {"ranks": f"median {medians[0]} → {medians[1]}"}
    size = int(cell.max(initial=-1)) + 1
    first, second = (_summed(weights, cell, size) for weights in (learned, new))
    before, after = first / max(first.sum(), 1e-300), second / max(second.sum(), 1e-300)
    k = int(np.abs(after - before).argmax()) if size else 0
    in_bin = positions[(cell[positions] == k) & (a + b > 0)] if size else positions[:0]
    span = "no number"
    if len(in_bin):
        low, high = (level_text(marginal.levels[position]) for position in (in_bin[0], in_bin[-1]))
        span = low if low == high else f"{low} to {high}"
    texts["cells"] = f"{span}: {change(float(before[k]), float(after[k]))}"
    if size < 2:
        texts["cells"] = texts["ranks"]
    elif medians[0] == medians[1]:
        texts["ranks"] = texts["cells"]
    return texts, test.of_ranks(a, b)


# ---- sums ------------------------------------------------------------------------------------


@compared.register
def _(marginal: Sums, scale: float) -> Compared:
    values = np.clip(marginal.values, -LARGE, LARGE)
    x = values[~np.isnan(values)]
    weight = marginal.weight * scale
    n, m = float(weight.sum()), len(x)
    rows, missing = np.array([n, float(m)]), marginal.missing * np.array([scale, 1.0])
    mean, variance = marginal.mean, marginal.variance
    has_variance = not math.isnan(variance) and n > 1
    if not (m and n and math.isfinite(mean)) or math.isinf(variance):
        unknown = math.nan, math.nan
        return Compared(largest_change(marginal.name, "numeric", {}, {}, unknown, missing, rows))
    new_mean, new_variance = float(x.mean()), float(x.var(ddof=1)) if m > 1 else 0.0
    texts = {
        "mean": f"mean {_shown(mean, marginal.of_logs)} → {_shown(new_mean, marginal.of_logs)}"
    }
    if has_variance and variance == 0.0:  # all training values are equal: test for other values
        hits = float((x != mean).sum())
        tests = {"mean": test.of_cells(np.array([n, 0.0]), np.array([m - hits, hits]))}
        texts = {"mean": f"other than {_shown(mean, marginal.of_logs)}: {change(0.0, hits / m)}"}
        moved = hits / m, 0.0
        drift = largest_change(marginal.name, "numeric", texts, tests, moved, missing, rows)
        return Compared(drift)
    tests = {"mean": test.of_means(x, n, mean, variance if has_variance else None)}
    if has_variance:
        tests["spread"] = test.of_spreads(x, n, variance)
        texts["spread"] = (
            f"standard deviation {number(math.sqrt(variance))} → {number(math.sqrt(new_variance))}"
        )
    p_value, bound, far_share = test.of_far(x, n, mean, variance if has_variance else math.nan)
    tests["far"] = p_value
    texts["far"] = f"far from {_shown(mean, marginal.of_logs)}: at most {change(bound, far_share)}"
    old_variance = variance if has_variance else new_variance
    distance = test.moved_normal(mean, old_variance, new_mean, new_variance)
    moved = distance, math.sqrt(1.0 / n + 1.0 / m) / math.pi
    needed = test.LEAST if min(n, m) < test.LEAST else 0
    drift = largest_change(marginal.name, "numeric", texts, tests, moved, missing, rows, needed)
    within = variance if has_variance else max(new_variance, 1e-300)
    shifts = np.where(weight > 0, marginal.means - mean, 0.0)
    slope, unit = shifts / within, math.sqrt(within)
    surprise = np.nan_to_num(0.5 * (((values - mean) / unit) ** 2 - 1.0)) if has_variance else None
    evidence = np.nan_to_num((values - mean)[:, np.newaxis] * slope)
    present = marginal.present
    of_class = np.divide(weight, present, where=present > 0, out=np.zeros_like(weight))
    means = corrected(np.outer(shifts * marginal.present, slope), marginal.present, of_class)
    by_class, new = shifts[:, np.newaxis] / unit, np.array([(new_mean - mean) / unit])
    return Compared(drift, surprise, 1.0 / n, evidence, means, by_class, new, surprise)


def _shown(mean: float, of_logs: bool) -> str:
    return number(math.exp(min(mean, 709.0)) if of_logs else mean)


# ---- words -----------------------------------------------------------------------------------


@compared.register
def _(marginal: Terms, scale: float) -> Compared:
    factor = np.array([scale, 1.0])
    documents, missing = marginal.documents * factor, marginal.missing * factor
    n, m = documents.tolist()
    if not n or not m:
        unknown = math.nan, math.nan
        return Compared(largest_change(marginal.name, "text", {}, {}, unknown, missing, documents))
    learned, new = np.minimum(marginal.learned * scale, n), marginal.new
    p = test.of_words(learned, new, n, m, marginal.exact)
    share = m / (n + m)
    minimum = _fewest(min(share, 1.0 - share) if marginal.exact else share, len(p))
    frequent = learned + new >= minimum  # rarer words cannot be significant
    adjusted = test.holm(np.where(frequent, p, math.nan))
    before, after = learned / n, new / m
    changes = np.where(marginal.exact | (after > before), np.abs(after - before), 0.0)
    order = np.lexsort((-changes, np.where(frequent, p, 1.0)))[:WORDS].tolist()
    words = [
        WordDrift(
            marginal.term(k), float(before[k]), float(after[k]), not marginal.exact,
            float(adjusted[k]),
        )
        for k in order if frequent[k] and changes[k] > 0
    ]  # fmt: skip
    words.sort(key=lambda word: (word.p_value > 0.05, -abs(word.new - word.learned)))
    texts = {"words": _word(words[0]) if words else "no word changed"}
    p_value = float(np.nanmin(adjusted)) if frequent.any() else math.nan
    moved = abs(words[0].new - words[0].learned) if words else 0.0, math.nan
    needed = test.LEAST_ROWS if min(n, m) < test.LEAST_ROWS else 0
    drift = largest_change(
        marginal.name, "text", texts, {"words": p_value}, moved, missing, documents, needed,
        words=words,
    )  # fmt: skip
    return Compared(drift, evidence=marginal.evidence, means=marginal.means)


def _word(word: WordDrift) -> str:
    return f"{word.word}: {'at most ' * word.at_most}{change(word.learned, word.new)}"


def _fewest(share: float, words: int) -> float:
    """The number of documents a word needs to be significant, if all are in a sample of `share`."""
    return max(2.0, math.log(0.05 / max(words, 1)) / math.log(min(max(share, 1e-9), 0.999)))
