"""The calibration error, by its definition and by experiment."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_predict

from naively import GaussianNB, NaiveBayes
from naively.cli.main import run
from naively.evaluation.calibration import Reliability


def test_bins_hold_equal_numbers_of_rows_in_any_order():
    rng = np.random.default_rng(0)
    confidence, right = rng.random(1000), rng.random(1000) < 0.5
    found = Reliability.of(confidence, right)
    order = np.argsort(confidence)
    parts = np.split(order, 10)
    assert found.rows.tolist() == [100] * 10
    np.testing.assert_allclose(found.confidence, [confidence[part].mean() for part in parts])
    np.testing.assert_allclose(found.accuracy, [right[part].mean() for part in parts])
    gaps = [abs(confidence[part].mean() - right[part].mean()) for part in parts]
    assert found.error == pytest.approx(np.mean(gaps), rel=1e-12)
    mixed = rng.permutation(1000)
    again = Reliability.of(confidence[mixed], right[mixed])
    assert (again.error, again.standard_error) == (found.error, found.standard_error)


def test_a_row_of_weight_three_is_three_rows():
    rng = np.random.default_rng(2)
    confidence, right = rng.choice([0.6, 0.75, 0.8, 0.99], 300), rng.random(300) < 0.8
    weight = rng.integers(0, 4, 300)
    weighed = Reliability.of(confidence, right, weight.astype(float))
    plain = Reliability.of(np.repeat(confidence, weight), np.repeat(right, weight))
    assert weighed.error == pytest.approx(plain.error, rel=1e-12)
    assert weighed.standard_error == pytest.approx(plain.standard_error, rel=1e-12)
    assert weighed.if_calibrated == pytest.approx(plain.if_calibrated, rel=1e-12)


@given(st.lists(st.tuples(st.sampled_from([0.5, 0.7, 0.9, 1.0]), st.booleans()), min_size=1))
def test_rows_of_one_probability_are_in_one_bin(rows):
    confidence, right = (np.array(column) for column in zip(*rows, strict=True))
    found = Reliability.of(confidence, right)
    levels, counts = np.unique(confidence, return_counts=True)
    alone = sum(abs((right[confidence == p] - p).sum()) for p in levels) / len(rows)
    assert found.rows.sum() == len(rows)
    assert found.error <= alone + 1e-12
    if (10 * counts >= len(rows)).all():  # each level has a bin of its own
        assert found.confidence == pytest.approx(levels)
        assert found.error == pytest.approx(alone)


def test_the_standard_error_is_that_of_other_samples():
    rng = np.random.default_rng(1)
    errors, said = [], []
    for _ in range(400):
        p = rng.uniform(0.5, 1.0, 2000)
        found = Reliability.of(p, rng.random(2000) < p - 0.1)
        errors.append(found.error)
        said.append(found.standard_error)
    assert np.mean(errors) == pytest.approx(0.1, abs=0.003)
    assert np.mean(said) == pytest.approx(np.std(errors), rel=0.1)


@pytest.mark.parametrize("rows", [50, 500, 5000])
def test_calibrated_probabilities_have_an_error(rows):
    rng = np.random.default_rng(2)
    errors, said = [], []
    for _ in range(400):
        p = rng.uniform(0.5, 1.0, rows)
        found = Reliability.of(p, rng.random(rows) < p)
        errors.append(found.error)
        said.append(found.if_calibrated)
    assert np.mean(errors) == pytest.approx(np.mean(said), rel=0.1)


def test_calibration_of_no_row():
    found = Reliability.of(np.empty(0), np.empty(0, bool))
    assert math.isnan(found.error)
    assert len(found.rows) == 0


def evaluated(capsys, *options):
    """What `naively evaluate` prints."""
    assert run(["evaluate", "m", "data.csv", "--target", "target", *options]) == 0
    return capsys.readouterr().out


def test_calibration_is_printed_with_its_error(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    flowers = load_iris(as_frame=True)
    rows, y = flowers.data.iloc[:, :2], flowers.target
    model = NaiveBayes().fit(rows, y)
    model.save("m")
    rows.assign(target=y).to_csv("data.csv", index=False)
    found = json.loads(evaluated(capsys, "--json"))
    proba = model.predict_proba(rows)
    right = model.predict(rows) == y.to_numpy()
    expected = Reliability.of(proba.max(axis=1), right)
    for key, value in {
        "calibration_error": expected.error,
        "calibration_standard_error": expected.standard_error,
        "calibration_error_if_calibrated": expected.if_calibrated,
    }.items():
        assert found[key] == pytest.approx(value, rel=1e-9)
    out = evaluated(capsys)
    assert f"{expected.error:.1%} ± {expected.standard_error:.1%}" in out
    assert f"would have an ECE of {expected.if_calibrated:.1%} on as many rows\n" in out


def test_copies_of_columns_make_naive_bayes_too_sure():
    """Which is what the calibration error is for."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 3000)
    rows = rng.normal(y[:, np.newaxis], 1.5, (3000, 2))
    one, many = (
        Reliability.of(proba.max(axis=1), proba.argmax(axis=1) == y)
        for copies in (1, 4)
        for proba in [cross_val_predict(GaussianNB(), np.tile(rows, copies), y, cv=5,
                                        method="predict_proba")]
    )  # fmt: skip
    assert one.error < one.if_calibrated + 3 * one.standard_error
    assert many.error > 0.1
    assert (many.confidence > many.accuracy).all()
