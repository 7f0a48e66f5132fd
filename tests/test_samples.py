"""Samples are in proportion to weights; duplicates of a row are not separate draws."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

from naively import AutoBayes, NaiveBayes, TextNB, drift
from naively.evaluation import samples as kept_rows
from naively.evaluation.learning_curves import Splits, alike_of
from naively.evaluation.samples import kept_of
from naively.pooling import entries
from naively.pooling.texts import words
from naively.tables.inference import ColumnOptions, infer
from naively.tables.learning import TrainingSpec, plan


def numbers(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 5)) + 0.5 * y[:, np.newaxis] + shift
    return {f"x{k}": own for k, own in enumerate(X.T)}, y


def taken(columns, rows):
    return {name: own[rows] for name, own in columns.items()}


# ---- rows that are kept to be left out -----------------------------------------------------------


def test_rows_are_sampled_in_proportion_to_their_weights(monkeypatch):
    monkeypatch.setattr(kept_rows, "ROWS", 1000)
    n = 20_000
    columns, y = numbers(n, 0)
    weight = np.where(np.arange(n) % 400 == 0, 300.0, 1.0)
    weight[1::400] = 0.0
    table = pa.table({**columns, "w": weight, "place": np.arange(n) * 1.0, "y": y})
    spec = TrainingSpec("y", ColumnOptions({}), weight="w")
    kept = kept_of(spec)
    batches = table.to_batches(max_chunksize=700)
    for task in kept.passing([lambda batch=batch: batch for batch in batches]):
        task()
    made = plan([batches[0]], spec)
    rows = kept.learnable(made.blank, spec)
    place = np.concatenate([own["place"].to_numpy() for own in kept.sample.held.tables]).astype(int)
    assert 900 <= len(place) <= 1000
    assert {*range(0, n, 400)} <= {*place.tolist()}
    assert not (weight[place] == 0).any()
    heavy = weight[place] > 1
    assert rows.weights.min() == 1.0
    share = rows.weights[heavy].sum() / rows.weights.sum()
    assert share == pytest.approx(weight[weight > 1].sum() / weight.sum(), rel=0.1)


# ---- splits --------------------------------------------------------------------------------------


def test_copies_are_in_one_fold_of_a_comparison():
    columns, y = numbers(300, 1)
    rows = np.random.default_rng(2).permutation(np.tile(np.arange(300), 3))

    class Rows:
        table, codes, classes = pa.table(taken(columns, rows)), y[rows], np.array([0, 1])

    rule = infer(ColumnOptions({}), Rows.table, (Rows.classes, Rows.codes))
    alike = alike_of(rule, Rows)
    assert len(np.unique(alike)) == 300
    splits = Splits(y[rows], 5, (20, 100), alike=alike)
    fold = np.full(300, -1)
    for k, test in enumerate(splits.tests):
        fold[rows[test]] = k
    assert all((fold[rows[test]] == k).all() for k, test in enumerate(splits.tests))
    assert np.ptp(np.bincount(fold)) <= 2
    plain, same = Splits(y, 5, (20,)), Splits(y, 5, (20,), alike=np.arange(300))
    assert all(map(np.array_equal, plain.tests, same.tests))  # without copies nothing changes


# ---- drift ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [NaiveBayes, AutoBayes])
def test_copies_of_new_rows_are_no_evidence_of_drift(kind):
    columns, y = numbers(1000, 3)
    model = kind().fit(columns, y)
    few = numbers(40, 4)[0]
    rows = np.random.default_rng(5).permutation(np.tile(np.arange(40), 30))
    found, single = drift(model, taken(few, rows)), drift(model, few)
    assert found.rows == 1200
    assert found.duplicates == 1160
    assert found.has_drift == single.has_drift
    assert {one.name: one.p_value for one in found.columns} == pytest.approx(
        {one.name: one.p_value for one in single.columns}, nan_ok=True
    )
    assert "1,160 duplicate new rows" in str(found)
    assert drift(model, taken(numbers(40, 4, 3.0)[0], rows)).has_drift


def test_copies_of_learned_rows_count_once_where_rows_are_stored():
    columns, y = numbers(100, 6)
    rows = np.tile(np.arange(100), 20)
    new = numbers(1000, 7)[0]
    found = drift(AutoBayes().fit(taken(columns, rows), y[rows]), new)
    assert found.counted_as == pytest.approx(100)
    assert not found.has_drift


def test_a_sample_of_learned_rows_is_compared_in_proportion():
    rng = np.random.default_rng(8)
    n = 6000
    idle = rng.random(n) < 0.5

    def table():
        return {
            "a": np.where(idle, 0.0, rng.normal(size=n)),
            "b": np.where(idle, 0.0, rng.normal(size=n)),
        }

    model = AutoBayes(limit=500).fit(table(), rng.integers(0, 2, n))
    assert not model.model_.sums.is_complete
    assert not drift(model, table()).has_drift


# ---- words ---------------------------------------------------------------------------------------


def texts(n, seed):
    rng = np.random.default_rng(seed)
    names = np.array([f"w{k}" for k in range(80)])
    y = (rng.random(n) < 0.3).astype(int)
    shares = np.array([np.r_[np.full(40, 2.0), np.ones(40)], np.r_[np.ones(40), np.full(40, 2.0)]])
    shares /= shares.sum(axis=1, keepdims=True)
    return [" ".join(rng.choice(names, 10, p=shares[c])) for c in y], y


def test_texts_of_all_classes_teach_weights(monkeypatch):
    """Where there are more than are looked at, those of a sample do, and not of one class alone."""
    own, y = texts(900, 9)
    new, z = texts(2000, 10)

    def loss():
        model = AutoBayes(text=["t"]).fit({"t": own, "k": [1.0] * len(own)}, y)
        proba = model.predict_proba({"t": new, "k": [1.0] * len(new)})
        return -np.log(proba[np.arange(len(z)), z]).mean()

    whole = loss()
    monkeypatch.setattr(words, "WEIGHED", 300)
    monkeypatch.setattr(words, "FEWEST", 100)
    assert loss() < 1.05 * whole


def test_decay_reaches_the_samples_of_all_columns():
    columns, y = numbers(3000, 11)
    model = NaiveBayes().fit(columns, y)
    before = [own.tables["met"].rounded().sum() for own in _candidates(model)]
    model.decay(0.5)
    assert [own.tables["met"].rounded().sum() for own in _candidates(model)] == before
    text = TextNB().fit(*texts(300, 12))
    known = text.model_.statistics.sample.counts.sum()
    text.decay(0.25)
    assert text.model_.statistics.sample.counts.sum() == pytest.approx(known / 4)


def _candidates(model):
    sums = model.model_.sums
    parts = getattr(sums, "parts", [sums])
    return [own for own in parts if "met" in own.tables]


# ---- a state that is a third of all rows ---------------------------------------------------------


def idle_beside(n, seed):
    """Numbers, each row another, and one idle state in three of ten rows, of one class mostly."""
    rng = np.random.default_rng(seed)
    X, idle = rng.normal(size=(n, 4)).round(6), rng.random(n) < 0.3
    X[idle] = 0.0
    y = rng.random(n) < np.where(idle, 0.02, 1 / (1 + np.exp(-X[:, 0] - X[:, 1])))
    return X, y.astype(int)


def test_light_rows_of_a_sample_are_no_duplicates():
    X, y = idle_beside(20_000, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AutoBayes(limit=2000, n_jobs=1).fit(X, y)
    assert not model.model_.statistics.is_complete
    assert model.predict_proba(np.zeros((1, 4)))[0, 1] == pytest.approx(0.02, abs=0.01)


@pytest.mark.parametrize("most", [10_000, 1_000_000])
def test_a_frequent_row_is_in_several_folds(monkeypatch, most):
    """Also where entries would be too many: else no other fold knows it."""
    monkeypatch.setattr(entries, "MOST", most)
    (X, y), (Z, t) = idle_beside(20_000, 0), idle_beside(20_000, 1)
    model = AutoBayes(n_jobs=1).fit(X, y)
    proba = model.predict_proba(Z)
    assert -np.log(proba[np.arange(len(t)), t]).mean() < 0.43
    assert model.predict_proba(np.zeros((1, 4)))[0, 1] == pytest.approx(0.02, abs=0.01)
