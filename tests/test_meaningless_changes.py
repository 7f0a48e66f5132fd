"""Meaningless changes of a table change nothing (law 12), for every estimator of tables."""

import string

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real import TABLES, real
from test_duplicates import DATA

from naively import AutoBayes, GaussianNB

ROUNDING = 1e-6
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of small tables much is said


def columns(kind, rng, n, y):
    """A column of a kind, that the class may move."""
    shift = rng.normal() * y
    return {
        "normal": lambda: rng.normal(size=n) + shift,
        "tenths": lambda: (rng.normal(size=n) * 3 + shift).round(1),
        "counts": lambda: rng.poisson(3 + 2 * y).astype(float),
        "indicator": lambda: (rng.random(n) < 0.2 + 0.5 * y * rng.random()).astype(float),
        "skewed": lambda: np.exp(2 * rng.normal(size=n) + shift) * (rng.random(n) < 0.6),
        "category": lambda: rng.choice(np.array([*"pqrstu"], object), n, p=_shares(rng, 6)),
        "rare": lambda: pd.Series([f"n{k}" for k in rng.geometric(0.05, n)], dtype=object),
        "gaps": lambda: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n) + shift),
    }[kind]()  # fmt: skip


def _shares(rng, size):
    found = rng.random(size) + 0.05
    return found / found.sum()


KINDS = ["normal", "tenths", "counts", "indicator", "skewed", "category", "rare", "gaps"]


@st.composite
def tables(draw):
    """A table, its labels, and which rows are learned."""
    seed = draw(st.integers(0, 10_000))
    n, classes = draw(st.sampled_from([40, 150, 400])), draw(st.integers(2, 4))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5))
    rng = np.random.default_rng(seed)
    y = rng.choice(classes, n, p=_shares(rng, classes))
    names = [
        f"{letter}_{kind}" for letter, kind in zip(string.ascii_lowercase, kinds, strict=False)
    ]
    X = pd.DataFrame(
        {name: columns(kind, rng, n, y) for name, kind in zip(names, kinds, strict=True)}
    )
    return X, np.array([f"class {k}" for k in y]), np.arange(n) % 3 > 0


def numbers(X):
    return [name for name in X if pd.api.types.is_numeric_dtype(X[name])]


def scaled(factor):
    def change(X, y, rng):
        return X.assign(**{name: X[name] * factor for name in numbers(X)}), y

    return change


def with_a_constant(X, y, rng):
    return X.assign(**{"0 constant": rng.choice(["always", 7])}), y


def with_names_of_rows(X, y, rng):
    return X.assign(**{"b name": [f"row {k}" for k in rng.permutation(len(X))]}), y


def other_names(X, y, rng):
    return X.rename(
        columns=dict(zip(X, rng.permutation([f"k{j}" for j in range(X.shape[1])]), strict=True))
    ), y


def other_order(X, y, rng):
    return X[rng.permutation(X.columns)], y


def other_rows(X, y, rng):
    return X, y


def other_labels(X, y, rng):
    """The classes are named in another order."""
    names = np.unique(y)
    others = np.array([f"label {k:02d}" for k in rng.permutation(len(names))])
    return X, others[np.searchsorted(names, y)]


def translated(X, y, rng):
    """Categories have other names; where some are as frequent as each other, names may matter."""
    X = X.copy()
    for name in X:
        if name not in numbers(X):
            known = X[name].value_counts()
            if known.is_unique:
                others = rng.permutation(len(known))
                X[name] = X[name].map(
                    {one: f"word {k}" for one, k in zip(known.index, others, strict=True)}
                )
    return X, y


EXACT = [scaled(8.0), scaled(0.125), with_a_constant, other_names, other_order, other_labels]
NEARLY = [translated, with_names_of_rows]


def moved(model, X, y, learned, change, rng):
    """By how much a change moves a probability of rows that were not learned, at most."""
    before = model().fit(X[learned], y[learned])
    Z, t = change(X, y, rng)
    after = model().fit(Z[learned], t[learned])
    order = [np.flatnonzero(after.classes_ == t[y == label][0])[0] for label in before.classes_]
    proba = after.predict_proba(Z[~learned])[:, order]
    return np.abs(proba - before.predict_proba(X[~learned])).max()


@settings(max_examples=2 * settings.default.max_examples)
@given(tables(), st.sampled_from(EXACT + NEARLY), st.integers(0, 99))
def test_auto_bayes_is_not_moved(table, change, seed):
    X, y, learned = table
    assert moved(AutoBayes, X, y, learned, change, np.random.default_rng(seed)) < ROUNDING


@given(tables(), st.floats(0.01, 100.0), st.integers(0, 99))
def test_any_unit_will_do(table, factor, seed):
    """But that rounding may decide about numbers that are where a bin starts."""
    X, y, learned = table
    X = X[[name for name in numbers(X) if "normal" in name] or list(X.columns)]
    change = scaled(factor)
    assert moved(AutoBayes, X, y, learned, change, np.random.default_rng(seed)) < ROUNDING


@given(tables(), st.sampled_from([*EXACT[:2], other_labels]), st.integers(0, 99))
def test_gaussians_are_not_moved(table, change, seed):
    X, y, learned = table
    X = X[numbers(X)]
    if X.shape[1]:
        X = X.fillna(0.0)
        rng = np.random.default_rng(seed)
        assert moved(GaussianNB, X, y, learned, change, rng) < ROUNDING


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="NAIVELY_DATA is not set")
@pytest.mark.parametrize(
    "name", [one for one in TABLES if one not in ("letter", "optdigits", "mushroom")]
)
def test_real_tables_are_not_moved(name):
    X, y = real(name)
    X, y = X[:600], y[:600]
    learned = np.arange(len(X)) % 2 > 0
    learned |= ~np.isin(y, y[learned])
    for change in EXACT:
        rng = np.random.default_rng(0)
        assert moved(AutoBayes, X, y, learned, change, rng) < ROUNDING, change.__name__
