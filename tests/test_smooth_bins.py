"""Evidence of the bins of numbers: a trend where rows are few, the rows where they are many."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naively import AutoBayes
from naively.cli.results.demo import make_credit
from naively.pooling.blocks.smoothing import LINKS, PRIOR, class_shares

RISKS = {"duration": 1, "credit_amount": 1, "age": -1, "employment_years": -1, "savings": -1}
"""Whether the true log-odds of a bad loan rise or fall with a number."""


def walk(counts, prior, link):
    """Posterior means of a random walk: weighted rows, and squared steps times `link`."""
    bins = len(counts)
    steps = np.diff(np.eye(bins), axis=0)
    precision = np.diag(counts.sum(axis=1) + PRIOR) + link * steps.T @ steps
    return np.linalg.solve(precision, counts + PRIOR * prior)


def averaged(counts, prior):
    """The mean over links, weighted by the likelihood of rows that are left out one by one."""
    means, likelihoods = [], []
    for link in LINKS:
        likelihood = 0.0
        for b, c in np.argwhere(counts):
            less = counts.copy()
            less[b, c] -= 1
            likelihood += counts[b, c] * np.log(walk(less, prior, link)[b, c])
        means.append(walk(counts, prior, link))
        likelihoods.append(likelihood)
    return np.average(means, axis=0, weights=np.exp(np.array(likelihoods) - max(likelihoods)))


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(2, 4))
def test_shares_are_those_of_random_walks(seed, bins, classes):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.uniform(0.5, 8), (bins, classes)).astype(float)
    prior = rng.dirichlet(np.full(classes, 5.0))
    shares = class_shares(counts, prior)
    assert_allclose(shares, averaged(counts, prior), rtol=1e-6, atol=1e-9)
    assert_allclose(shares.sum(axis=-1), 1.0)


def test_folds_alone_have_the_bits_of_folds_together():
    rng = np.random.default_rng(0)
    counts, prior = rng.poisson(3.0, (11, 64, 3)).astype(float), rng.dirichlet(np.ones(3), 11)
    shares = class_shares(counts, prior)
    for k in range(11):
        assert_array_equal(class_shares(counts[k], prior[k]), shares[k])


@pytest.mark.parametrize("scale", [1e-9, 0.3, 1e9])
def test_any_weights_have_shares(scale):
    counts = scale * np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    shares = class_shares(counts, np.array([1e-9, 1 - 1e-9]))
    assert (shares > 0).all()
    assert_allclose(shares.sum(axis=-1), 1.0)


def own(model, name):
    """The weighted evidence of the second class against the first, by bin of a feature alone."""
    (shape,) = [shape for shape in model.evidence_ if shape.names == (name,)]
    return (shape.added[:-1, 1] - shape.added[:-1, 0])[~np.isnan(shape.bins[0].low[:-1])]


def test_a_step_stays_a_step_and_noise_is_flat():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"step": rng.random(3000), "noise": rng.random(3000)})
    y = rng.random(3000) < np.where(X["step"] < 0.5, 0.2, 0.8)
    model = AutoBayes(interactions=0).fit(X, y)
    bins, middle = own(model, "step"), 32
    assert_allclose(bins[: middle - 4], -np.log(4), atol=0.5)
    assert_allclose(bins[middle + 4 :], np.log(4), atol=0.5)
    noise = [one for one in model.evidence_ if one.names == ("noise",)]
    assert all(np.abs(one.added).max() < 0.1 for one in noise)


@pytest.fixture(scope="module")
def loans():
    return make_credit(1000)


def test_shapes_of_few_rows_a_bin_do_not_zigzag(loans):
    """1,000 rows, 16 a bin: with a tree of halves, the sum of steps was six times the range."""
    model = AutoBayes().fit(loans, "risk")
    bins = [own(model, one.names[0]) for one in model.evidence_ if one.names[0] in RISKS]
    steps, ranges = (sum(map(f, bins)) for f in (lambda x: np.abs(np.diff(x)).sum(), np.ptp))
    assert steps < 2 * ranges


def directions(model, loans):
    """Whether each changed number of refused loans lowers the true risk."""
    rows = loans.drop_columns(["risk"])
    refused = np.flatnonzero(np.abs(model.predict_proba(rows)[:, 0] - 0.6) < 0.1)
    whys = model.counterfactuals(
        rows.take(refused[:60]),
        "good",
    )
    changes = [one for why in whys for one in why.changes if one.feature in RISKS]
    return np.array([
        (float(one.to) - float(one.value)) * RISKS[one.feature] < 0
        for one in changes if one.value is not None
    ])  # fmt: skip


def test_counterfactuals_do_not_advise_what_raises_the_risk(loans):
    advice = directions(AutoBayes().fit(loans, "risk"), loans)
    assert len(advice) > 100
    assert advice.mean() > 0.95
    monotone = {name: -sign for name, sign in RISKS.items()}
    assert directions(AutoBayes(monotone=monotone).fit(loans, "risk"), loans).all()
