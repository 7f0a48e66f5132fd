"""Detect duplicate rows: copies by resampling, joins or exports, or rows that truly recur.

Independent rows are equal by coincidence, too. The expected number of such pairs follows from the
pairs of rows that are *not* equal: from how many of them agree in the most varied column, how many
of these in the next, and so on. With a column of many values hardly any are expected, and equal
rows are copies.

In tables of few categories many are expected. Rows recur where they are dense, but are copied
anywhere: so the rows with the fewest neighbours (rows that differ in few columns) decide. If they
occur more than once more often than rows would that are all equally probable, rows were copied. If
rows are equal less often than by coincidence, the table was made without repetition, and its
repeated rows are copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from naively.core.exact import Float64, Int64
from naively.statistics.levels import Levels
from naively.statistics.rows import TEXT

MOST = 1e6  # largest weight, as a multiple of the least, for weights to be multiples of a unit
KINDS = 10
"""Distinct rows, at least: the weights of ten are rarely multiples of one number by chance."""
USUAL = 0.9
"""Share of distinct rows that must have the least weight for it to be the unit, unless it is above
1."""
DEVIATIONS = 3.0  # standard errors by which counts of duplicates are more even than random ones
COUNTED = 1e15  # weights above this are not numbers of rows
DESIGNED = 30
"""Distinct rows of a class, at least, for even counts to be evidence of duplicates: fewer may be
those of a designed experiment."""
ONCE, TWICE, SEVERAL = 1.1, 2.0, 10
"""Rows per distinct row: at most in a class with hardly a repeated row, at least in one that was
oversampled. Distinct rows of the latter, at least."""
FEWEST = 5  # repeated rows, at least, for a test
VARIED = 20.0  # values of a column from which on the number of repeated rows alone decides:
SURPRISING = 5.0  # they are duplicates if they are this many times the expected number
SATURATED = 5.0
"""Rows per distinct row, on average, beyond which the distinct rows may be all possible rows, if
they are so in all classes. What copies add to their counts is then little; what a class would lose
without its counts is much."""
COMPARISONS = 5e7  # cells of rows that are compared to find neighbours, about, at most
SPARSE = 3  # one of so many distinct rows of a class is among those with the fewest neighbours
COPIED, CERTAIN, FILLED = 2.0, 4.0, 0.6
"""Rows of a class were copied if sparse rows are drawn at this many times the rate of coincidences,
by this many standard errors, unless this share of all possible rows was drawn."""
SIGNIFICANT, UNREPEATED = 5.0, 0.5
"""A table is without repetition if pairs of equal rows are fewer than by coincidence: by this many
standard errors, and by this share."""
RECURS = 3.0
"""If frequent rows have more neighbours (by this many standard errors), rows recur that are this
many times as frequent as sparse rows."""
RECURRING = 30.0
"""A row this many times as frequent as the median repeated row of its class recurs, and so does one
this frequent with different labels: these are not duplicates."""
SEEN = 100_000  # distinct rows that are compared, at most
INDICATORS, EXAMINED = 2000, 10_000
"""Columns of two values among which those of one category are searched, and rows, at most."""


def duplicated(
    codes: npt.NDArray[np.integer], levels: list[Levels], y: Int64, row: Int64, count: Float64,
    n_classes: int,
) -> npt.NDArray[np.bool_]:  # fmt: skip
    """Which entries (a row with a class) are repeated because of duplicates, (n,).

    `codes`: (R, d) the distinct rows, in arbitrary order, as indices into the values. `levels`:
    list of d sorted arrays of numbers or text, the distinct values of each column. `y`, `row`: (n,)
    class and row of each entry. `count`: (n,) its frequency. `n_classes`: C.
    """
    repeated = count >= 2
    if not repeated.any():
        return repeated
    is_even = repeated & even(y, count, n_classes)[y]
    median_count = np.ones(n_classes)
    for c in np.unique(y[repeated]):
        median_count[c] = np.median(count[repeated & (y == c)])
    candidates = repeated & (count < RECURRING * median_count[y])
    # a state that recurs with different labels
    mixed_labels = np.bincount(row[repeated], minlength=len(codes)) > 1
    candidates &= ~(mixed_labels & (np.bincount(row, count, len(codes)) >= RECURRING))[row]
    is_known = candidates | ~repeated
    frequency = np.bincount(row, np.where(is_known, count, 1.0), len(codes)).astype(np.float64)
    if (frequency >= 2).sum() < FEWEST:
        return is_even
    uneven = _Counts.of(y[is_known], count[is_known], n_classes).uneven
    exhausted = float(frequency.sum()) > SATURATED * len(codes)
    expected, values = coincidences(codes[:SEEN], levels, not (uneven.any() or exhausted))
    if values < VARIED:
        even_classes = np.bincount(y, is_even, n_classes) > 0
        max_count = _max_copies(codes, levels, y, row, count, is_known, even_classes)
        return is_even | (candidates & (count < max_count[y]))
    pairs, n_sampled = float((frequency >= 2).sum()), min(len(codes), SEEN)
    is_surprising = pairs >= SURPRISING * expected * (len(codes) / n_sampled) ** 2
    if is_surprising and (not exhausted or values >= len(codes) / SATURATED):
        return is_even | candidates
    return is_even


# ---- tables of few categories --------------------------------------------------------------------


def _max_copies(
    codes: npt.NDArray[np.integer], levels: list[Levels], y: Int64, row: Int64, count: Float64,
    is_known: npt.NDArray[np.bool_], even_classes: npt.NDArray[np.bool_],
) -> Float64:  # fmt: skip
    """The frequency from which on rows of each class recur, (C,); 0 if none were copied.

    Pairs of equal rows are counted among the entries `is_known`: few states may make up most pairs.
    """
    n_classes = len(even_classes)
    max_count, recurs = np.zeros(n_classes), np.zeros(n_classes, bool)
    n_repeated = np.bincount(y, count >= 2, n_classes)
    n_rows = np.bincount(y, minlength=n_classes)
    is_open = (n_rows >= SEVERAL) & (np.bincount(y, count, n_classes) < TWICE * n_rows)
    limit = np.inf if is_open.any() else SATURATED
    for c in np.flatnonzero(n_rows >= SEVERAL):
        in_class = y == c
        class_codes, class_count = codes[row[in_class]], count[in_class]
        frequency = count[is_known & in_class]
        n, total = min(len(class_codes), SEEN), frequency.sum()
        share = coincidences(class_codes[:n], levels)[0] / (n * (n - 1) / 2)
        expected_pairs = share * total * (total - 1) / 2
        pairs = float((frequency * (frequency - 1)).sum() / 2)
        certain_difference = max(SIGNIFICANT * np.sqrt(expected_pairs), UNREPEATED * expected_pairs)
        if pairs < expected_pairs - certain_difference:
            return np.full(n_classes, np.inf)
        if n_repeated[c] >= FEWEST and total <= limit * len(frequency):
            max_count[c], recurs[c] = _copied(class_codes, class_count, share)
    copied = (max_count > 0) | even_classes
    if n_repeated[copied].sum() > n_repeated.sum() / 2:
        max_count[~copied & ~recurs] = np.inf
    return max_count


def _copied(codes: npt.NDArray[np.integer], count: Float64, share: float) -> tuple[float, bool]:
    """The frequency from which on rows of a class recur; 0 if none were copied. Whether any recur.

    `codes`, `count`: (R, d) and (R,) the distinct rows and their frequencies. `share`: of pairs of
    independent rows that are equal.
    """
    neighbours = _neighbours(codes, count)
    n_compared = len(neighbours)
    frequency = count[:n_compared]
    place = (n_compared - 1) // SPARSE
    sparse = neighbours <= np.partition(neighbours, place)[place]
    # the rate at which 1 / share equally probable rows are drawn if these rows were
    filled = share * len(codes)
    rate = -np.log1p(-min(filled, FILLED))
    expected, most = _singles(rate * np.array([1.0, COPIED]))
    singles = float((frequency[sparse] < 2).mean())
    error = np.sqrt(expected * (1 - expected) / sparse.sum())
    is_copied = filled < FILLED and singles < min(expected - CERTAIN * error, most)
    log_frequency, density = np.log(np.maximum(frequency, 1.0)), np.log1p(neighbours)
    correlation = 0.0
    if np.ptp(log_frequency) and np.ptp(density):
        correlation = float(np.corrcoef(log_frequency, density)[0, 1]) * np.sqrt(n_compared - 1)
    recurs = correlation > RECURS
    if not is_copied:
        return 0.0, recurs
    return RECURS * float(frequency[sparse].mean()) if recurs else np.inf, recurs


def _neighbours(codes: npt.NDArray[np.integer], count: Float64) -> Float64:
    """The frequency of the other rows that are close to each of the first rows, (n,).

    Close rows differ in few columns: in one, or in so many that most rows have neighbours.
    """
    n = min(len(codes), max(int(COMPARISONS / codes.size), SEVERAL))
    distances = np.zeros((n, len(codes)), np.int32)
    for column in codes.T:
        distances += column[:n, np.newaxis] != column
    np.fill_diagonal(distances, codes.shape[1] + 1)  # no row is a neighbour of itself
    nearest = np.sort(distances.min(axis=1))
    neighbours: Float64 = (distances <= nearest[n - 1 - n // SPARSE]) @ count
    return neighbours


# ---- coincidences --------------------------------------------------------------------------------


def coincidences(
    codes: npt.NDArray[np.integer], levels: list[Levels], named: bool = False
) -> tuple[float, float]:
    """Expected pairs of equal rows if R rows are independent, and values of the most varied column.

    The number of values is the inverse of the share of pairs of rows that agree in the column.
    Names that each belong to one row may be all possible names, and recur: so the other columns
    are also examined alone. If rows are `named`, the names are not all possible ones.
    """
    n = len(codes)
    codes, levels = _without_indicators(codes, levels)
    pairs = max(n * (n - 1) / 2, 1.0)
    observed = np.array([_agreeing(column.astype(np.int64)) / pairs for column in codes.T])
    text = np.array([values.dtype.kind == "T" for values in levels])
    chance = np.array([*map(_by_chance, levels)])
    probabilities = np.maximum(observed, np.where(text & named, 0.0, chance))
    order = np.argsort(probabilities, kind="stable")
    others = order[~(text & (observed * pairs < FEWEST))[order]]
    used = [columns for columns in (order, others) if len(columns)]
    share = min(_equal(codes, levels, columns, probabilities, pairs) for columns in used)
    return pairs * share, 1 / max(float(probabilities.min()), 1e-300)


def _equal(
    codes: npt.NDArray[np.integer], levels: list[Levels], columns: Int64, each: Float64,
    pairs: float,
) -> float:  # fmt: skip
    """The probability that two rows agree in some columns, from one column after the other.

    `each` is the probability for each column, `pairs` the number of all pairs.
    """
    first_column = columns[0]
    key, rows = codes[:, first_column].astype(np.int64), np.arange(len(codes))
    share, n_pairs = max(float(each[first_column]), 1 / (pairs + 1)), _agreeing(key)
    for j in columns[1:]:
        if not n_pairs:
            break
        _, groups, sizes = np.unique(key, return_inverse=True, return_counts=True)
        is_repeated = sizes[groups] > 1
        rows, key = rows[is_repeated], groups[is_repeated].astype(np.int64)
        key = key * (len(levels[j]) + 1) + codes[rows, j]
        n_agreeing = _agreeing(key)
        share *= max((n_agreeing + 1) / (n_pairs + 1), float(each[j]))
        n_pairs = n_agreeing
    return share


def _without_indicators(
    codes: npt.NDArray[np.integer], levels: list[Levels]
) -> tuple[npt.NDArray[np.integer], list[Levels]]:
    """Merge columns of two values that exclude each other: the indicators of one category."""
    low, high = codes.min(axis=0), codes.max(axis=0)
    binary = np.flatnonzero(((codes == low) | (codes == high)).all(axis=0) & (low < high))
    if not 2 <= len(binary) <= INDICATORS:
        return codes, levels
    is_common = 2 * (codes[:, binary] == high[binary]).sum(axis=0) > len(codes)
    rare = np.where(is_common, low[binary], high[binary])
    indicators = (codes[:EXAMINED, binary] == rare).astype(np.float32)
    frequency = indicators.sum(axis=0)
    expected = np.outer(frequency, frequency) / len(indicators)
    excluded = (indicators.T @ indicators == 0) & (expected >= FEWEST)
    if not excluded.any():
        return codes, levels
    from scipy.sparse.csgraph import connected_components  # slow to load, and rarely needed

    _, group = connected_components(excluded, directed=False)
    merged, others = [], np.ones(codes.shape[1], bool)
    for number in np.flatnonzero(np.bincount(group) > 1):
        columns = binary[group == number]
        is_rare = codes[:, columns] == rare[group == number]
        if is_rare.sum(axis=1).max() <= 1:
            others[columns] = False
            merged.append(is_rare @ np.arange(1, len(columns) + 1, dtype=codes.dtype))
    if not merged:
        return codes, levels
    categories = [np.arange(column.max() + 1).astype(str).astype(TEXT) for column in merged]
    levels = [values for values, is_other in zip(levels, others, strict=True) if is_other]
    return np.column_stack([codes[:, others], *merged]), levels + categories


def _agreeing(keys: Int64) -> float:
    """The number of pairs of equal keys."""
    is_dense = keys.max(initial=0) < 4 * len(keys)
    sizes = np.bincount(keys) if is_dense else np.unique(keys, return_counts=True)[1]
    sizes = sizes.astype(np.float64)
    return float((sizes * (sizes - 1) / 2).sum())


def _by_chance(levels: Levels) -> float:
    """The least probability that two rows agree in a column, if each value was in one row.

    For numbers it follows from how densely they fill their grid; names are taken for all possible
    names.
    """
    size = len(levels)
    if size < 3 or levels.dtype.kind == "T":
        return 1 / max(size, 1)
    with np.errstate(over="ignore"):
        gaps = np.diff(levels.astype(np.float64))
        min_gap = float(gaps.min())
        mean_gaps = np.concatenate([gaps[:1], (gaps[1:] + gaps[:-1]) / 2, gaps[-1:]])
        return float((min_gap / mean_gaps).sum()) / (size * size)


# ---- counts --------------------------------------------------------------------------------------


def _rate(mean: Float64) -> Float64:
    """The rate of Poisson distributions that have these means without their zeros.

    It solves mean = rate / (1 - exp(-rate)).
    """
    rate = np.maximum(mean, 1.0)
    for _ in range(50):  # Newton's steps
        slope = np.maximum(1 - mean * np.exp(-rate), 1e-9)
        rate = rate - np.minimum((rate + mean * np.expm1(-rate)) / slope, rate / 2)
    return rate


def _singles(rate: Float64) -> Float64:
    """The share of ones in Poisson distributions without their zeros."""
    shares: Float64 = rate / np.expm1(rate)
    return shares


@dataclass(frozen=True)
class _Counts:
    """Frequencies of the distinct rows of each class, (C,) each, tested for evenness.

    They are compared with a Poisson distribution truncated to values above 0, by χ² and the
    approximation of Wilson and Hilferty (1931).
    """

    # rows, mean: number of distinct rows, and their mean frequency
    rows: Int64
    mean: Float64
    # even, uneven: whether frequencies vary less, or more, than random ones
    even: npt.NDArray[np.bool_]
    uneven: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, y: Int64, count: Float64, n_classes: int) -> Self:
        """Test the frequencies, (n,), of distinct rows of these classes."""
        rows = np.maximum(np.bincount(y, minlength=n_classes), 1)
        mean = np.bincount(y, count, n_classes) / rows
        variance = np.bincount(y, (count - mean[y]) ** 2, n_classes) / np.maximum(rows - 1, 1)
        rate = _rate(mean)
        expected_variance = mean * np.maximum(1 + rate - mean, 1e-9)
        error = 2 / (9 * np.maximum(rows - 1, 1))
        lower = np.maximum(1 - error - DEVIATIONS * np.sqrt(error), 0.0) ** 3
        upper = (1 - error + DEVIATIONS * np.sqrt(error)) ** 3
        repeated = mean > 1
        even = repeated & (variance < expected_variance * lower)
        return cls(rows, mean, even, repeated & (variance > expected_variance * upper))


def even(y: Int64, count: Float64, n_classes: int) -> npt.NDArray[np.bool_]:
    """Which classes have rows with suspiciously even frequencies, (C,).

    The frequencies of rows that recur by chance vary: if they are more even than by chance, the
    rows are duplicates. If another class has hardly a repeated row, frequencies as even as by
    chance suffice in a class of repeated rows, which was oversampled.

    `y`: (n,) the class of each distinct row. `count`: (n,) its frequency or weight. `n_classes`: C.
    """
    tests = _Counts.of(y, count, n_classes)
    is_testable = tests.rows >= DESIGNED
    is_even = is_testable & tests.even
    if (is_testable & (tests.mean < ONCE)).any():
        is_even |= (tests.rows >= SEVERAL) & (tests.mean > TWICE) & ~tests.uneven
    return is_even


def unit(weight: Float64) -> float:
    """The least weight of a class, if all its weights are multiples of it; else 1.

    It makes rows that are all repeated equally often, and rows with class weights, count as one
    row each. A least weight below 1 has to be that of most rows.
    """
    least = weight.min(initial=np.inf)
    if len(weight) < KINDS or weight.max() > MOST * least:
        return 1.0
    times = weight / least
    multiples = np.abs(times - np.round(times)) < 1e-9 * times
    is_common = least > 1 or (times < 1.5).mean() > USUAL
    return float(least) if multiples.all() and is_common else 1.0


def once(count: Float64, copied: npt.NDArray[np.bool_]) -> Float64:
    """The weights (C, R) of rows without duplicates.

    Numbers of rows become 1, shared by the classes of a row. Weights that are not numbers of rows
    are relative importances: they, and rows that recur, are divided by the mean weight of a row
    in their class.
    """
    total = np.where(copied, count, 0.0).sum(axis=0)
    weights = count.copy()
    for class_weights, is_duplicate in zip(weights, copied, strict=True):
        if is_duplicate.any():
            is_single = is_duplicate | ((class_weights > 0) & (class_weights < 2))
            is_integer = (class_weights[is_single] == np.round(class_weights[is_single])).all()
            share = class_weights[is_duplicate] / total[is_duplicate]
            class_weights /= class_weights[is_single].mean()
            if is_integer:
                class_weights[is_single] = 1.0
                class_weights[is_duplicate] = share
    return weights


def of_values(count: Float64) -> Float64:
    """The weights (C, R) of the distinct values of a numeric column, without duplicates.

    Only the evenness of their frequencies is tested, because values of one column may recur.
    """
    if not (count >= 2).any() or count.max() > COUNTED:
        return count
    count = count / np.array([[unit(class_count[class_count > 0])] for class_count in count])
    y, row = np.nonzero(count > 0)
    weight = count[y, row]
    is_duplicate = np.zeros(count.shape, bool)
    is_duplicate[y, row] = (weight >= 2) & even(y, weight, len(count))[y]
    return once(count, is_duplicate)
