"""What `experiments/ng_jordan.py` stands on: its planes, its splits, and its second model."""

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
    these = script.Rows(np.zeros((100, 1)), y, True, [2, 10])
    rare = []
    for seed in range(3000):
        for m, order, _ in script.orders(these, seed):
            assert sorted(order) == list(range(100))
            assert set(y[order[:m]]) == {0, 1}
        rare.append(y[order[:10]].sum())
    none = np.prod((90.0 - np.arange(10)) / (100 - np.arange(10)))
    assert np.mean(rare) == pytest.approx(1 / (1 - none), abs=0.06)


def test_one_variance_and_equal_priors_are_the_nearest_mean():
    wine = load_wine()
    X = (wine.data - wine.data.min(axis=0)) / np.ptp(wine.data, axis=0)
    model = GaussianNB(tie="both", priors="uniform").fit(X[::2], wine.target[::2])
    centroid = NearestCentroid().fit(X[::2], wine.target[::2])
    np.testing.assert_array_equal(model.predict(X), centroid.predict(X))
