"""Normal densities of principal components in `AutoBayes`: many correlated numeric features."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

import naively
from naively import AutoBayes
from naively.pooling.blocks.components import SIZES, Components

CLASSES, WIDTH, ROWS = 3, 60, 900


def drawn(seed=0, n=2000, width=WIDTH, factors=8):
    """Rows of smooth curves; each class has means and variances of its own in a few factors."""
    rng, places = np.random.default_rng(seed), np.linspace(0, 1, width)
    curves = np.exp(-(((places - rng.random((factors, 1))) / 0.2) ** 2))
    means, spreads = rng.normal(size=(2, CLASSES, factors))
    y = rng.integers(0, CLASSES, n)
    drawn = 0.5 * means[y] + np.exp(0.5 * spreads[y]) * rng.normal(size=(n, factors))
    return drawn @ curves + 0.2 * rng.normal(size=(n, width)), y


@pytest.fixture(scope="module")
def fitted():
    X, y = drawn()
    X[np.random.default_rng(1).random(X.shape) < 0.002] = np.nan
    return AutoBayes(interactions=0, n_jobs=1).fit(X[:ROWS], y[:ROWS]), X, y


def components(model):
    plan = model.model_.posterior().parameters.plan
    return [one for one in plan.blocks if isinstance(one, Components)]


def log_loss(model, X, y):
    return -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()


def test_classes_that_vary_differently_are_told_apart(fitted):
    model, X, y = fitted
    known = np.nan_to_num((X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0))
    peers = [LogisticRegression(C=C, max_iter=500).fit(known[:ROWS], y[:ROWS]) for C in (0.01, 1)]
    best = min(log_loss(one, known[ROWS:], y[ROWS:]) for one in peers)
    assert log_loss(model, X[ROWS:], y[ROWS:]) < 0.85 * best


def test_it_is_the_density_of_principal_components(fitted):
    """SciPy's densities, of scikit-learn's components."""
    model, X, _ = fitted
    (block,) = components(model)
    X = X[:, np.argsort([f"x{j}" for j in range(WIDTH)])]  # as models order them
    Z = (X[:ROWS] - block.scale.centre) / block.scale.spread
    Z = np.nan_to_num(Z).clip(-6, 6)
    U = Z @ block.projection.T
    density = np.array([
        multivariate_normal(mean, factor @ factor.T).logpdf(U)
        for mean, factor in zip(block.means, block.factors, strict=True)
    ]).T  # fmt: skip
    wanted = np.maximum(density - density.max(axis=1, keepdims=True), -60)
    np.testing.assert_allclose(block.evidence(Z), wanted, atol=1e-7)
    width = np.ptp(Z, axis=0)
    axes = PCA(3).fit(Z / width).components_
    found = (block.projection * width)[:3]
    assert len(block.projection) in SIZES
    assert np.rad2deg(subspace_angles(axes.T, found.T)).max() < 2


def test_labels_of_chance_have_no_such_evidence():
    X, _ = drawn(3)
    y = np.random.default_rng(3).integers(0, CLASSES, len(X))
    assert not components(AutoBayes(interactions=0, n_jobs=1).fit(X[:ROWS], y[:ROWS]))


def test_more_columns_than_rows():
    X, y = drawn(4, 400, 300)
    model = AutoBayes(n_jobs=1).fit(X[:100], y[:100])
    assert components(model)
    assert log_loss(model, X[100:], y[100:]) < 0.8 * np.log(CLASSES)


def test_contributions_add_up_and_are_of_each_feature(fitted):
    model, X, _ = fitted
    rows = X[ROWS : ROWS + 20]
    told = model.explain(rows)
    total = told.contributions.sum(axis=2) + told.prior
    log_proba = model.predict_log_proba(rows)
    np.testing.assert_allclose(
        total - total[:, :1], log_proba - log_proba[:, :1], atol=1e-9
    )  # fmt: skip
    assert (np.abs(told.contributions).mean(axis=(0, 1)) > 0).all()


def test_files_have_it(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "components.model")
    again = naively.load(tmp_path / "components.model")
    assert len(components(again)) == 1
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_units_orders_threads_batches_and_constants_do_not_matter(fitted):
    model, X, y = fitted
    order = np.random.default_rng(6).permutation(X.shape[1])
    moved = 2.0 ** (np.arange(X.shape[1]) % 40 - 20) * X
    other = AutoBayes(interactions=0, n_jobs=2).fit(moved[:ROWS][::-1, order], 2 - y[:ROWS][::-1])
    proba = other.predict_proba(moved[:, order])[:, ::-1]
    np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-12)
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(constant=1.5)
    batches = AutoBayes(interactions=0, n_jobs=1)
    for start in range(0, ROWS, 300):
        batches.partial_fit(frame[start : start + 300], y[start : start + 300])
    np.testing.assert_allclose(batches.predict_proba(frame), model.predict_proba(X), atol=1e-12)


def test_forgotten_rows_leave_the_model_of_the_others(fitted):
    _, X, y = fitted
    model = AutoBayes(interactions=0, n_jobs=1).fit(X[: ROWS + 100], y[: ROWS + 100])
    model.forget(X[ROWS : ROWS + 100], y[ROWS : ROWS + 100])
    refit = AutoBayes(interactions=0, n_jobs=1).fit(X[:ROWS], y[:ROWS])
    np.testing.assert_array_equal(model.predict_proba(X), refit.predict_proba(X))


def test_missing_cells_are_the_mean_and_most_of_them_leave_it_out(fitted):
    model, X, _ = fitted
    rows = X[ROWS : ROWS + 5].copy()
    rows[:, 5:] = np.nan
    told = model.explain(rows)
    assert np.isfinite(told.contributions).all()
    rows[:] = np.nan
    np.testing.assert_allclose(
        model.predict_proba(rows), np.tile(model.class_prior_, (5, 1)), atol=1e-12
    )
