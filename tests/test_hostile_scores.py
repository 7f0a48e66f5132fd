"""What is said of how good a model is: rows held out, ranks and thresholds, leaks."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_cli import asked, fitted, naive

from naively.tables.holdout import Draw
from naively.tables.inference import Wishes
from naively.tables.learning import Question, learn
from naively.tables.readers import open_source
from naively.tables.values import labels


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(name, **columns):
    """A table in a file."""
    columns = {key: pa.array(np.asarray(value).tolist()) for key, value in columns.items()}
    pyarrow.csv.write_csv(pa.table(columns), name)


# ---- rows held out ----------------------------------------------------------------------------


def drawn(y, cuts, part, seed=0):
    """The draws of rows that come in batches."""
    draw = Draw(part, seed)
    pieces = np.split(np.array(y, object), sorted(cuts))
    return np.concatenate([draw.of(labels(pa.array(piece.tolist()))) for piece in pieces])


PARTS = st.one_of(st.sampled_from([0.2, 0.25, 0.5, 1 / 3, 0.1, 0.7, 0.9]),
                  st.floats(1e-6, 1 - 1e-6))  # fmt: skip


@given(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=120),
       st.lists(st.integers(0, 120), max_size=5), PARTS, st.integers(0, 9))  # fmt: skip
def test_each_class_keeps_its_part_wherever_the_rows_are_cut(y, cuts, part, seed):
    draws = drawn(y, [], part, seed)
    assert drawn(y, cuts, part, seed).tolist() == draws.tolist()
    held = draws < 1
    assert (held == np.isfinite(draws)).all()
    for label in "abc":
        own = np.array([one == label for one in y], bool)
        n = int(own.sum())
        share = Fraction(part).limit_denominator(10**9) * n
        assert math.floor(share) <= held[own].sum() <= math.ceil(share)
        assert n == 0 or not held[own][0]  # a class of one row is learned
    assert not held[np.array([one is None for one in y], bool)].any()


def test_any_row_but_the_first_may_be_held_out():
    y = ["a"] * 20
    often = np.mean([drawn(y, [], 0.2, seed) < 1 for seed in range(2000)], axis=0)
    assert often[0] == 0
    assert often[1:5] == pytest.approx(0.25, abs=0.05)
    assert often[5:] == pytest.approx(0.2, abs=0.05)
    pairs = np.mean([(drawn(y, [], 0.2, seed) < 1)[[7, 12]].all() for seed in range(2000)])
    assert pairs == pytest.approx(0.04, abs=0.02)  # groups are drawn each on its own


def test_few_of_those_that_are_drawn_are_a_sample_of_each_class():
    y = np.where(np.arange(40_000) % 100 == 0, "rare", "usual")
    draws = drawn(y, [], 0.5)
    for part in (0.5, 0.1, 0.013):
        for label, n in (("rare", 200), ("usual", 19_800)):
            assert (draws[y == label] < part).sum() == pytest.approx(part * n, abs=3)


def test_labels_that_turn_to_text_are_the_same_classes():
    draw = Draw(0.5, 0)
    numbers = draw.of(labels(pa.array([1, 2] * 20)))
    text = draw.of(labels(pa.array(["1", "2"] * 20)))
    whole = drawn(["1", "2"] * 40, [], 0.5)
    assert [*numbers, *text] == whole.tolist()


def rows_of(table, size):
    """Pieces of work that make batches of so many rows."""
    return [lambda one=one: one for one in table.to_batches(max_chunksize=size)]


def test_what_is_held_out_depends_on_no_batch_and_no_thread(monkeypatch):
    generator = np.random.default_rng(5)
    table = pa.table({
        "x": generator.normal(size=3000), "row": np.arange(3000) * 1.5,
        "y": np.where(generator.random(3000) < 0.02, "rare", "usual").tolist(),
    })  # fmt: skip
    for most in (100_000, 50):
        monkeypatch.setattr("naively.tables.learning.MOST", most)
        found = []
        for size, threads in ((3000, 1), (700, 2), (64, 3)):
            model, held = learn(
                rows_of(table, size), Question("y", Wishes({}), holdout=0.3), threads
            )
            assert model.rows + held.rows == 3000
            found.append((pa.concat_tables(held.tables).combine_chunks(), model.model))
        for rows, model in found[1:]:
            assert rows.equals(found[0][0])
            assert model == found[0][1]


def test_rows_held_out_are_not_those_of_a_seed_that_made_the_data(capsys):
    """The same generator of random numbers may well have made the table."""
    x = np.random.default_rng(0).random(1000)
    written("t.csv", x=x, row=np.arange(1000) + 0.5, y=np.where(x < 0.2, "low", "high"))
    _, held = learn(open_source("t.csv").tasks(), Question("y", Wishes({}), holdout=0.2), 1)
    rows = pa.concat_tables(held.tables)
    assert np.mean(rows["x"].to_numpy()) == pytest.approx(0.5, abs=0.06)
    assert sorted(rows["y"].to_pylist()).count("low") == round((x < 0.2).sum() / 5)


def test_holdout_of_a_table_with_rare_classes(capsys):
    y = ["usual"] * 90 + ["rare"] * 9 + ["once"]
    written("t.csv", x=np.arange(100) * 1.7 % 1, y=np.array(y))
    found = asked(capsys, "fit", "t.csv", "-t", "y", "-o", "m", "--holdout", "0.34")["held_out"]
    own = dict(zip(found["classes"], np.sum(found["confusion"], axis=1).tolist(), strict=True))
    assert own["once"] == 0
    assert own["rare"] in (3, 4)
    assert own["usual"] in (30, 31)
    assert found["strangers"] == 0  # each class was learned
    assert Path("m").exists()
    out, _ = fitted(capsys, "--holdout", "0.999", data="t.csv", target="y")
    assert "On 97 rows held out" in out
    assert naive(capsys, "inspect", "m")
