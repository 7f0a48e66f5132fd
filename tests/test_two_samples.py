"""Tests of two samples: beside those of SciPy, and on samples that are equal."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from naively.evaluation.drift import two_samples as test

COUNTS = st.lists(st.integers(0, 400), min_size=2, max_size=12)


def of(*counts):
    return np.array(counts, float)


@given(COUNTS, st.floats(0.01, 0.5))
def test_cells_of_levels_have_enough_rows(counts, share):
    both = of(*counts)
    cell = test.cells_of_levels(both, share)
    rows = np.bincount(cell, both)
    assert len(rows) == 1 or (rows * share >= test.EXPECTED - 1e-9).all()
    assert set(cell) == set(range(len(rows)))
    # levels that are met equally often share a cell, or each has its own
    for size in set(counts):
        own = cell[both == size]
        assert len(set(own)) in (1, len(own))


@given(COUNTS, st.floats(0.01, 0.5), st.randoms())
def test_cells_of_numbers_follow_their_order(counts, share, shuffled):
    both, order = of(*counts), np.arange(len(counts)) * 1.5
    cell = test.cells_of_numbers(order, both, share)
    assert (np.diff(cell) >= 0).all()
    assert cell.max() < test.CELLS
    rows = np.bincount(cell, both)
    assert len(rows) == 1 or (rows * share >= test.EXPECTED - 1e-9).all()
    places = [*range(len(counts))]
    shuffled.shuffle(places)
    assert test.cells_of_numbers(order[places], both[places], share).tolist() == (
        cell[places].tolist()
    )


def test_what_is_no_number_has_a_cell_of_its_own():
    cell = test.cells_of_numbers(of(1, np.nan, 2), of(100, 100, 100), 0.5)
    assert cell[1] not in (cell[0], cell[2])


@given(st.lists(st.tuples(st.integers(5, 90), st.integers(5, 90)), min_size=3, max_size=8))
def test_cells_are_tested_as_by_scipy(pairs):
    first, second = of(*pairs).T
    theirs = stats.chi2_contingency([first, second], correction=False).pvalue
    assert test.of_cells(first, second) == pytest.approx(theirs, rel=1e-9)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 30), st.integers(1, 30))
def test_two_cells_are_tested_exactly(a, b, c, d):
    less, more = (
        stats.fisher_exact([[a, b], [c, d]], alternative=side).pvalue
        for side in ("less", "greater")
    )
    found = test.of_cells(of(a, c), of(b, d))
    if a + c and b + d and a + b:
        assert found == pytest.approx(min(1.0, 2 * min(less, more)), rel=1e-7)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=9))
def test_ranks_are_tested_as_by_scipy(pairs):
    first, second = of(*pairs).T
    x, y = (np.repeat(np.arange(len(own)), own.astype(int)) for own in (first, second))
    found = test.of_ranks(first, second)
    if min(len(x), len(y)) < 8 or len({*x, *y}) < 2:
        assert math.isnan(found)
    else:
        theirs = stats.mannwhitneyu(x, y, method="asymptotic").pvalue
        assert found == pytest.approx(theirs, rel=1e-9)


def test_means_are_tested_as_by_scipy():
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=300), generator.normal(0.2, 1.1, size=120)
    found = test.of_means(y, 300, x.mean(), x.var(ddof=1))
    assert found == pytest.approx(stats.ttest_ind(x, y).pvalue, rel=1e-9)
    assert math.isnan(test.of_means(y[:20], 300, 0.0, 1.0))
    assert math.isnan(test.of_means(np.append(y, 1e4), 300, 0.0, None))  # one value is all of it
    assert math.isnan(test.of_means(np.ones(100), 300, 0.0, None))


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_is_no_more_than_bonferroni(p):
    known = np.array(p)
    found = test.holm(known)
    # the definition: the k-th smallest p-value is significant if all up to it are, at α / (n - k)
    for level in (0.01, 0.05, 0.3):
        rejected, left = set(), len(p)
        for k in np.argsort(known, kind="stable"):
            if known[k] * left > level:
                break
            rejected.add(k)
            left -= 1
        assert rejected == {k for k in range(len(p)) if found[k] <= level}
    assert (found <= np.minimum(1.0, known * max(len(p), 1)) + 1e-15).all()


def test_holm_leaves_out_what_is_not_known():
    assert test.holm(of(0.01, np.nan, 0.04)).tolist()[::2] == [0.02, 0.04]


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 10))
def test_a_bound_of_documents_makes_words_less_significant(own, hit, more):
    n, m = 50, 40
    exact = test.of_words(of(own), of(hit), n, m, exact=False)[0]
    bound = test.of_words(of(min(own + more, n)), of(hit), n, m, exact=False)[0]
    assert bound >= exact - 1e-12


def test_words_are_tested_as_by_scipy():
    found = test.of_words(of(3, 30), of(12, 2), 100, 80, exact=True)
    for p, (a, b), side in zip(found, ((3, 12), (30, 2)), ("less", "greater"), strict=True):
        one = stats.fisher_exact([[a, 100 - a], [b, 80 - b]], alternative=side).pvalue
        assert p == pytest.approx(2 * one, rel=1e-7)
    assert test.of_words(of(30), of(2), 100, 80, exact=False)[0] == 1.0  # it may be in few texts


@given(st.floats(-3, 3), st.floats(0.2, 5))
def test_normal_distributions_move_as_integrals_say(mean, deviation):
    a, b = stats.norm(), stats.norm(mean, deviation)
    x = np.linspace(-40, 40, 80_001)
    theirs = integrate.trapezoid(np.abs(a.pdf(x) - b.pdf(x)), x) / 2
    assert test.moved_normal(0.0, 1.0, mean, deviation**2) == pytest.approx(theirs, abs=2e-3)


def test_the_expected_distance_without_drift():
    generator, share = np.random.default_rng(0), of(0.5, 0.3, 0.2)
    draws = [(generator.multinomial(500, share), generator.multinomial(200, share))
             for _ in range(400)]  # fmt: skip
    moved, chance = np.array([test.moved(a.astype(float), b.astype(float)) for a, b in draws]).T
    assert moved.mean() == pytest.approx(chance.mean(), rel=0.15)


# ---- equal samples -------------------------------------------------------------------------------


def normal(generator, n):
    return generator.normal(3.0, 2.0, n)


def skewed(generator, n):
    return generator.lognormal(0, 1, n)


def with_atoms(generator, n):
    return np.where(generator.random(n) < 0.9, 0.0, generator.exponential(5, n).round(1))


def p_of(x, y):
    """Each p-value of two samples of numbers."""
    levels, at = np.unique(np.concatenate([x, y]), return_inverse=True)
    first, second = (np.bincount(own, minlength=len(levels)).astype(float)
                     for own in np.split(at, [len(x)]))  # fmt: skip
    share = min(len(x), len(y)) / (len(x) + len(y))
    cell = test.cells_of_numbers(levels, first + second, share)
    level = test.cells_of_levels(first + second, share)
    n, mean, variance = len(x), x.mean(), x.var(ddof=1)
    return {
        "cells": test.of_cells(np.bincount(cell, first), np.bincount(cell, second)),
        "levels": test.of_cells(np.bincount(level, first), np.bincount(level, second)),
        "ranks": test.of_ranks(first, second),
        "mean": test.of_means(y, n, mean, variance),
        "mean alone": test.of_means(y, n, mean, None),
        "spread": test.of_spreads(y, n, variance),
        "far": test.of_far(y, n, mean, variance)[0],
        "far above": test.of_far(np.abs(y), n, np.abs(x).mean(), math.nan)[0],
    }


@pytest.mark.parametrize("draw", [normal, skewed, with_atoms])
@pytest.mark.parametrize(("n", "m"), [(400, 100), (150, 600), (60, 60)])
def test_p_values_hold_on_equal_samples(draw, n, m):
    generator, times = np.random.default_rng(n), 200
    found = [p_of(draw(generator, n), draw(generator, m)) for _ in range(times)]
    for name in found[0]:
        below = sum(one[name] < 0.05 for one in found)  # not those without a p-value
        assert stats.binom.sf(below - 1, times, 0.05) > 1e-3, (name, below / times)
