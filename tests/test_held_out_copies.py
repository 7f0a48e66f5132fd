"""Held-out rows of a stream with duplicates."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from naively import NaiveBayes
from naively.cli.main import run
from naively.tables.one_pass import Copies, Draw
from naively.tables.targets import coded

NAMES = [f"x{k}" for k in range(6)]


def table(n, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.2).astype(int)
    X = rng.normal(size=(n, 6)) + (np.arange(6) < 3) * y[:, np.newaxis] * 0.8
    return X.round(4), y


def copied(kind, y):
    """The rows of a table whose rows were repeated."""
    rng = np.random.default_rng(1)
    if kind == "each four times":
        rows = np.tile(np.arange(len(y)), 4)
    elif kind == "oversampled":
        few = np.flatnonzero(y == 1)
        rows = np.append(np.arange(len(y)), rng.choice(few, len(y) - 2 * len(few)))
    else:
        rows = np.repeat(np.arange(len(y)), rng.integers(1, 6, len(y)))
    return rng.permutation(rows)


def as_table(X, y):
    return pa.table(dict(zip(NAMES, X.T, strict=True)) | {"y": y})


KINDS = ["each four times", "oversampled", "one to five times"]


@pytest.mark.parametrize("kind", KINDS)
def test_copies_of_held_out_rows_are_held_out(tmp_path, capsys, kind):
    X, y = table(4000, 0)
    rows = copied(kind, y)
    pyarrow.csv.write_csv(as_table(X[rows], y[rows]), tmp_path / "a.csv")
    options = ["--target", "y", "--naive", "--family", "discretized", "--holdout", "0.3", "--json"]
    assert run(["fit", str(tmp_path / "a.csv"), "-o", str(tmp_path / "m"), *options]) == 0
    found = json.loads(capsys.readouterr().out)["held_out"]
    model = NaiveBayes(family="discretized").fit(X[rows], y[rows])
    Z, z = table(20_000, 2)
    share = y[rows].mean()
    weight = np.where(z == 1, share / z.mean(), (1 - share) / (1 - z.mean()))
    loss = -np.log(model.predict_proba(Z)[np.arange(len(z)), z])
    assert found["log_loss"] == pytest.approx(np.average(loss, weights=weight), rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_and_its_copies_are_on_one_side(kind):
    X, y = table(1000, 0)
    rows = copied(kind, y)
    held = held_out(as_table(X[rows], y[rows]), 0.25)
    of_row = np.full(1000, -1)
    of_row[rows] = held
    assert (of_row[rows] == held).all()
    for c in (0, 1):  # of the different rows of each class a quarter
        assert held_share(of_row, y, c) == pytest.approx(0.25, abs=0.01)


def held_share(held, y, c):
    return held[y == c].mean()


def held_out(rows, part):
    labels = coded(rows["y"].combine_chunks(), ())
    draw, copies = Draw(part, 0), Copies.among(rows, labels, NAMES, ())
    assert copies is not None
    draw.bound(labels, copies.keys(rows))
    parts = []
    for start in range(0, rows.num_rows, 333):  # in any batches
        some = rows.slice(start, 333)
        parts.append(draw.of(coded(some["y"].combine_chunks(), ()), copies.keys(some)))
    return np.isfinite(np.concatenate(parts))


def test_rows_that_recur_are_draws():
    rng = np.random.default_rng(0)
    rows = pa.table({name: rng.choice(["a", "b", "c"], 2000) for name in NAMES[:3]})
    labels = coded(pa.array(rng.integers(0, 2, 2000)), ())
    assert Copies.among(rows, labels, NAMES[:3], ()) is None
    X, y = table(1000, 0)
    twice = np.append(np.tile(np.arange(1000), 2), np.full(400, 7))  # an idle state besides
    many = as_table(X[twice], y[twice])
    held = held_out(many, 0.25)
    assert 80 <= held[2000:].sum() <= 120  # as any other rows
