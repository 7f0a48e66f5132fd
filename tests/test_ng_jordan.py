"""Data, splits and models of the experiments with Ng & Jordan's sets."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.neighbors import NearestCentroid

from naively import GaussianNB

FOLDER = Path(__file__).parent.parent / "experiments"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("ng_jordan")


@pytest.mark.slow
def test_planes_are_drawn_uniformly(script):
    """One example (1, 1) leaves a triangle of weights, whose centroid is (1/3, 1/3)."""
    rng = np.random.default_rng(0)
    sided = np.ones((2, 1))
    planes = np.array(
        [script.drawn(sided, np.array([1.0, 0.5]), rng.random((30, 2))) for _ in range(4000)]
    )
    assert (planes.sum(axis=1) > 0).all()
    assert abs(planes).max() <= 1
    assert planes.mean(axis=0) == pytest.approx([1 / 3, 1 / 3], abs=0.04)
    assert (planes.min(axis=1) > 0).mean() == pytest.approx(1 / 2, abs=0.04)  # of its area


def test_planes_separate_many_examples(script):
    rng = np.random.default_rng(1)
    points, start = rng.standard_normal((20, 60)), rng.standard_normal(20)
    sided = np.ascontiguousarray(points * np.sign(start @ points))
    plane = script.drawn(sided, start / abs(start).max(), rng.random((50, 20)))
    assert (plane @ sided > 0).all()
    assert abs(plane).max() <= 1
    assert abs(plane - start / abs(start).max()).max() > 0.1


def test_splits_hold_both_classes_and_are_fair(script):
    """The number of rare rows among the first m is that of random rows, none and all excluded."""
    y = np.repeat([0, 1], [90, 10])
    these = script.Rows(np.zeros((100, 1)), y, None, [2, 10])
    rare = []
    for seed in range(3000):
        for m, order, _ in script.orders(these, seed):
            assert sorted(order) == list(range(100))
            assert set(y[order[:m]]) == {0, 1}
        rare.append(y[order[:10]].sum())
    none = np.prod((90.0 - np.arange(10)) / (100 - np.arange(10)))
    assert np.mean(rare) == pytest.approx(1 / (1 - none), abs=0.06)


def test_no_sweeps_leave_the_plane(script):
    plane = np.array([1.0, 0.5])
    assert script.drawn(np.ones((2, 1)), plane.copy(), np.empty((0, 2))).tolist() == plane.tolist()


def test_learning_on_errs_like_learning_at_once(script):
    """The error of the last size is that of a model of those rows, by the paper's formulas."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 300)
    X = (rng.random((300, 6)) < 0.3 + 0.3 * y[:, np.newaxis]).astype(int)
    these = script.Rows(X, y, np.full(6, 2), [4, 40])
    for seed in range(20):
        *_, error = script.bayes(lambda: script.described(these), these, seed)
        *_, (m, order, _) = script.orders(these, seed)
        learned, judged = order[:m], order[m : m + script.JUDGED]
        score = np.zeros(len(judged))
        for label, sign in ((1, 1), (0, -1)):
            own = X[learned][y[learned] == label]
            one = (own.sum(axis=0) + 1) / (len(own) + 2)
            score += sign * np.log(np.where(X[judged], one, 1 - one)).sum(axis=1)
            score += sign * np.log(len(own) + 1)
        assert error == pytest.approx(((score >= -1e-9) != y[judged]).mean())


def test_one_of_two_counts_no_levels(monkeypatch):
    """(n + 1) / (N + 2), whatever the number of levels."""
    monkeypatch.syspath_prepend(FOLDER)
    choices = importlib.import_module("ng_jordan_choices")
    X, y = np.array([[0, 2], [1, 2], [0, 0], [0, 1]]), np.array([0, 0, 0, 1])
    model = choices.OneOfTwo(min_categories=[2, 3], prior_smoothing=1.0).fit(X, y)
    expected = np.log([[3 / 5 * 3 / 5 * 4 / 6, 2 / 3 * 1 / 3 * 2 / 6]])
    np.testing.assert_allclose(model.predict_joint_log_proba([[0, 2]]), expected)


def test_one_variance_and_equal_priors_are_the_nearest_mean():
    wine = load_wine()
    X = (wine.data - wine.data.min(axis=0)) / np.ptp(wine.data, axis=0)
    model = GaussianNB(tie="both", priors="uniform").fit(X[::2], wine.target[::2])
    centroid = NearestCentroid().fit(X[::2], wine.target[::2])
    np.testing.assert_array_equal(model.predict(X), centroid.predict(X))


@pytest.mark.parametrize(
    ("name", "rows", "inputs", "positive"),
    [
        ("breast cancer (d)", 277, 9, 81),
        ("lymphography (d)", 142, 18, 81),
        ("lenses hard/soft (d)", 24, 4, 9),
        ("promoters (d)", 106, 57, 53),
        ("voting (d)", 232, 16, 124),
        ("ionosphere (c)", 351, 34, 225),
        ("pima (c)", 768, 8, 268),
    ],
)
def test_sets_are_those_the_uci_describes(script, data_folder, name, rows, inputs, positive):
    these = script.read(data_folder, name, [2])
    assert these.X.shape == (rows, inputs)
    assert these.y.sum() == positive
    assert (these.levels is None) == name.endswith("(c)")
    assert these.X.min() == 0
