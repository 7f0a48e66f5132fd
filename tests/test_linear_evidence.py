"""The linear block of `AutoBayes`: correlated numeric features."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import naively
from naively import AutoBayes
from naively.core.workers import SERIAL, one_thread
from naively.pooling.blocks.linear import RIDGES, Axes, Folded, Linear
from naively.pooling.weights import Piece

FOLDS = 10


def drawn(seed, n, width, classes):
    """Rows whose classes follow a linear form of correlated columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, width)) + rng.normal(size=(n, width))
    scores = X @ rng.normal(size=(width, classes)) / np.sqrt(width)
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def folded(seed, n, width, classes):
    X, y = drawn(seed, n, width, classes)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    part, prior = np.arange(n) % FOLDS, np.bincount(y, minlength=classes) / n
    priors = np.repeat(prior[np.newaxis], FOLDS + 1, axis=0)
    return Z, y, Folded(Axes.of(Z, np.ones(n)), y, np.ones(n), part, priors, SERIAL)


@pytest.mark.parametrize(("n", "width", "classes"), [(300, 12, 2), (400, 20, 5), (80, 200, 3)])
def test_slopes_are_those_of_scikit_learn(n, width, classes):
    Z, y, problem = folded(1, n, width, classes)
    start = np.zeros((1, classes, len(problem.axes.spread)))
    with one_thread():
        found = problem.solved(10.0, np.array([FOLDS]), start).lines[0]
    # scikit-learn has one slope of two classes, which has half the ridge of two opposite ones
    peer = LogisticRegression(C=0.1 * (2 if classes == 2 else 1), tol=1e-8, max_iter=5000)
    peer.fit(Z, y)
    slopes = found[:, :-1] @ problem.axes.back
    scores = Z @ slopes.T + found[:, -1] + np.log(problem.priors[0])
    scores -= np.logaddexp.reduce(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(scores), peer.predict_proba(Z), atol=0.004)


@pytest.mark.parametrize(("n", "width"), [(300, 20), (80, 200)])
def test_labels_of_a_fold_do_not_matter_without_it(n, width):
    _, y, problem = folded(2, n, width, 3)
    other = y.copy()
    other[problem.part == 4] = (other[problem.part == 4] + 1) % 3
    changed = Folded(problem.axes, other, problem.weight, problem.part, problem.priors, SERIAL)
    start, which = np.zeros((1, 3, len(problem.axes.spread))), np.array([4])
    with one_thread():
        own, same = (one.solved(1.0, which, start) for one in (problem, changed))
    np.testing.assert_array_equal(own.lines, same.lines)
    assert own.left_out[0] != same.left_out[0]


def test_left_out_rows_choose_the_ridge():
    """Slopes of labels of chance are as small as by the strongest; those of a truth are not."""
    _, y, problem = folded(3, 300, 60, 2)
    chance = np.random.default_rng(0).permutation(y)
    noise = Folded(problem.axes, chance, problem.weight, problem.part, problem.priors, SERIAL)
    start, which = np.zeros((1, 2, len(problem.axes.spread))), np.array([FOLDS])
    with one_thread():
        chosen, strongest = (
            [np.abs(lines[..., :-1]).sum() for lines in each]
            for each in zip(*(
                (one.best()[FOLDS], one.solved(RIDGES[0], which, start).lines[0])
                for one in (problem, noise)
            ), strict=True)
        )  # fmt: skip
    assert chosen[0] > 1.5 * strongest[0]
    assert chosen[1] == pytest.approx(strongest[1], rel=0.05)


@pytest.fixture(scope="module")
def fitted():
    X, y = drawn(4, 1600, 60, 3)
    X[np.random.default_rng(0).random(X.shape) < 0.002] = np.nan
    return AutoBayes(interactions=0, n_jobs=1).fit(X[:900], y[:900]), X, y


def linear(model):
    plan = model.model_.posterior().parameters.plan
    return [one for one in plan.blocks if isinstance(one, Linear)]


def log_loss(model, X, y):
    return -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()


def test_it_is_at_the_level_of_logistic_regression(fitted):
    model, X, y = fitted
    assert len(linear(model)) == 1
    known = np.nan_to_num((X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0))
    peers = [LogisticRegression(C=C).fit(known[:900], y[:900]) for C in (0.003, 0.03, 0.3, 3.0)]
    best = min(log_loss(one, known[900:], y[900:]) for one in peers)
    assert log_loss(model, X[900:], y[900:]) < 1.05 * best


def test_what_has_no_linear_evidence_has_no_such_block():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1200, 24))
    y = (np.abs(X[:, 0]) > 0.7).astype(int)
    assert not linear(AutoBayes(interactions=0, n_jobs=1).fit(X, y))


def test_few_numbers_have_no_such_block():
    X, y = drawn(6, 900, 19, 2)
    assert not linear(AutoBayes(interactions=0, n_jobs=1).fit(X, y))


def test_contributions_add_up_and_are_of_each_feature(fitted):
    model, X, _ = fitted
    rows = X[900:920]
    told = model.explain(rows)
    total = told.contributions.sum(axis=2) + told.prior
    log_proba = model.predict_log_proba(rows)
    odds = log_proba - log_proba[:, :1]
    np.testing.assert_allclose(total - total[:, :1], odds, atol=1e-9)
    assert (np.abs(told.contributions).mean(axis=(0, 1)) > 0).all()


def test_files_have_it(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "linear.model")
    again = naively.load(tmp_path / "linear.model")
    assert len(linear(again)) == 1
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_other_rows_are_learned_like_it(fitted):
    model, X, y = fitted
    other = AutoBayes(n_jobs=1).fit(X[:900], y[:900], like=model)
    assert len(linear(other)) == 1
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_units_orders_and_threads_do_not_matter(fitted):
    model, X, y = fitted
    order = np.random.default_rng(6).permutation(X.shape[1])
    moved = 2.0 ** np.arange(X.shape[1]) * X
    other = AutoBayes(interactions=0, n_jobs=2).fit(moved[:900][::-1, order], 2 - y[:900][::-1])
    proba = other.predict_proba(moved[:, order])[:, ::-1]
    np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-12)


def test_curvature_is_computed_from_every_third_entry_of_many():
    """Wide tables failed: the labels of every third entry were no contiguous array."""
    rng = np.random.default_rng(7)
    evidence = rng.normal(size=(4, 2, 30)).astype(np.float32)
    piece = Piece(
        evidence, np.zeros((2, 30), np.float32), rng.integers(0, 3, 30),
        np.ones(30, np.float32),
    )  # fmt: skip
    x = rng.normal(size=7)
    np.testing.assert_array_equal(
        piece.take(slice(None, None, 3)).curvature(x), piece.take(np.arange(0, 30, 3)).curvature(x)
    )
