"""The type of a column is a function of the training rows, and does not depend on its unit."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss

import naively
from naively import Categorical, Gaussian, GaussianNB, NaiveBayes
from naively.clusters import Counting, added, learned
from naively.core.workers import SERIAL
from naively.families.product import Inferred
from naively.model.column_types import columns, decide
from naively.statistics.base import Batch
from naively.statistics.candidates import Candidates, Values
from naively.tables.inference import ColumnOptions
from naively.tables.learning import TrainingSpec, plan

CELLS = {
    "whole": st.integers(-3, 30),
    "fractions": st.sampled_from([0.5, -1.25, 2.0, 1e-3, 7.0]) | st.floats(-9, 9).map(lambda x: x),
    "texts": st.sampled_from(["a", "b", "c d", "007", "true", "2020-01-02"]),
    "odd": st.sampled_from(["1", "2.5", "x", "inf", "9007199254740993", "1e400", "12:30"]),
    "words": st.sampled_from(["a b c d e f g", "h i j k l m n", "o p q r s t u", "v"]),
    "truths": st.booleans(),
    "nothing": st.none(),
}
NUMBER = pa.float64()


@st.composite
def rows(draw, most=60):
    """Columns of cells, and labels: some kinds of cells in one column, missing ones among them."""
    n = draw(st.integers(2, most))
    table = {}
    for k in range(draw(st.integers(1, 3))):
        kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=2))
        cells = st.one_of([CELLS[kind] for kind in kinds] + [st.none()])
        values = draw(st.lists(cells, min_size=n, max_size=n))
        if any(isinstance(value, str) for value in values):
            values = [None if v is None else str(v) for v in values]
            table[f"c{k}"] = pa.array(values, pa.string())
        elif kinds == ["truths"]:
            table[f"c{k}"] = pa.array(values, pa.bool_())
        else:
            table[f"c{k}"] = pa.array([None if v is None else float(v) for v in values], NUMBER)
    table["steady"] = pa.array(np.arange(n) % 2 * 1.0)  # so that there is always one to learn from
    labels = draw(st.lists(st.sampled_from(["u", "v"]), min_size=n, max_size=n))
    return pa.table(table), np.array(labels)


def same(a, b):
    assert a.model_.canonical() == b.model_.canonical()
    assert a.model_.schema.why == b.model_.schema.why
    assert a.model_.schema.blocks == b.model_.schema.blocks
    assert naively.digest(a) == naively.digest(b)


@pytest.mark.parametrize("limit", [None, 6], ids=["all values", "few values"])
@pytest.mark.filterwarnings("ignore::UserWarning")
@given(own=rows(), data=st.data())
def test_types_are_a_function_of_the_rows(limit, own, data):
    """Batches, sums, weights and any order give the bits of one fit; so does forgetting."""
    with pytest.MonkeyPatch.context() as patch:
        if limit is not None:  # of different values that are kept: most columns have more
            patch.setattr("naively.families.product.FEW_NUMBERS", limit)
            patch.setattr("naively.statistics.candidates.ROOM", 40 * limit)
        check(*own, data, limit is None)


def check(table, y, data, complete):
    n = len(y)
    fit = NaiveBayes().fit(table, y)
    order = np.array(data.draw(st.permutations(range(n))))
    table, y = table.take(pa.array(order)), y[order]
    cuts = sorted({0, n, *data.draw(st.lists(st.integers(0, n), max_size=3))})
    parts = [(table.slice(a, b - a), y[a:b]) for a, b in pairwise(cuts)]
    batches = NaiveBayes()
    for X, labels in parts:
        batches.partial_fit(X, labels)
    same(batches, fit)
    assert np.array_equal(batches.predict_proba(table), fit.predict_proba(table))
    same(sum(NaiveBayes().fit(X, labels) for X, labels in parts), fit)
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    repeated = table.take(pa.array(np.repeat(np.arange(n), times)))
    same(NaiveBayes().fit(table, y, times), NaiveBayes().fit(repeated, np.repeat(y, times)))
    if len(parts) > 1:
        (X, labels), rest = parts[0], table.slice(cuts[1])
        if complete:
            same(batches.forget(X, labels), NaiveBayes().fit(rest, y[cuts[1] :]))
        else:  # what was too much to keep does not come back; the same rows learned again do
            whole = naively.digest(batches)
            assert naively.digest(batches.forget(X, labels).partial_fit(X, labels)) == whole


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "left", [["true"], ["true", "false"], ["1"], [None, "2020-01-02"]], ids=str
)
def test_of_texts_that_were_too_many_to_keep_nothing_is_made_up(left, monkeypatch):
    """Forgetting leaves few of them; what these are is not known of all."""
    monkeypatch.setattr("naively.statistics.candidates.ROOM", 240)
    many = [f"text {k}" for k in range(100)]
    y = np.arange(100) % 2
    steady = np.arange(100) % 3 * 1.0
    model = NaiveBayes().partial_fit({"c": many, "s": steady}, y)
    model.partial_fit({"c": left * 4, "s": np.resize(steady, 4 * len(left))}, y[: 4 * len(left)])
    model.forget({"c": many, "s": steady}, y)
    why = model.model_.schema.why["c"]
    assert model.model_.schema.family_of.keys() == {"s"} or "text" not in why
    assert len(model.predict({"c": left, "s": steady[: len(left)]})) == len(left)


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(own=rows(), gamma=st.sampled_from([0.5, 0.1, 1e-6]))
def test_decay_changes_no_type(own, gamma):
    table, y = own
    model = NaiveBayes().fit(table, y)
    why = model.model_.schema.why
    assert model.decay(gamma).model_.schema.why == why
    half = NaiveBayes().fit(table, y).decay(0.5)
    both = NaiveBayes().partial_fit(table, y).partial_fit(table, y).decay(0.5)
    same(half + half, both)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_and_streams(tmp_path, monkeypatch, kind):
    """Fractions and texts that come late, in blocks of any size, give the model of one fit."""
    monkeypatch.setattr("naively.families.product.FEW_NUMBERS", 50)
    monkeypatch.setattr("naively.io.inputs.BLOCK", 2000)
    monkeypatch.setattr("naively.tables.inference.ROWS", 10)
    r = np.random.default_rng(0)
    n, late = 2000, np.arange(2000) > 1500
    table = pa.table({
        "counts": np.where(late, r.normal(30, 3, n), r.poisson(30, n)),
        "few": np.where(late, r.integers(0, 5, n) / 4, r.integers(0, 2, n)),
        "text": np.array([f"t{k % 9}" if k > 1500 else str(k % 3) for k in range(n)]),
        "id": r.permutation(n),
        "y": np.array(["no", "yes"])[r.integers(0, 2, n)],
    })  # fmt: skip
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path, row_group_size=100)
    fit = NaiveBayes().fit(table, "y")
    why = fit.model_.schema.why
    assert why["counts"] == "numbers"
    assert why["few"] == "numbers, 5 different"
    assert why["text"] == "text, 12 categories"
    assert why["id"] == "looks like an identifier: whole numbers, each once"
    same(NaiveBayes().fit(naively.scan(path), "y"), fit)
    stream = NaiveBayes()
    for batch in table.to_batches(max_chunksize=7):
        stream.partial_fit(batch, "y")
    same(stream, fit)


UNITS = {"eighth": (0.125, 0), "eight": (8, 0), "inches": (2.54, 0), "plus": (1, 1000.5)}


@pytest.mark.parametrize("unit", UNITS)
def test_the_unit_of_a_column_is_no_matter(unit):
    """Counts, few values, a rare indicator, normal numbers, a grid: the same log-loss."""
    r = np.random.default_rng(0)
    n = 600
    y = r.integers(0, 2, n)
    X = np.column_stack([
        r.poisson(30 + 4 * y), r.integers(0, 4, n) * (1 - y), (r.random(n) < 0.1) & (y == 1),
        r.normal(y, 1), (np.argsort(np.argsort(r.normal(y, 1))) + 0.5) * 5,
        r.integers(0, 9, n) * 10.0, np.round(r.normal(y, 2), 1),
    ])  # fmt: skip
    train, test = np.arange(n) < 300, np.arange(n) >= 300

    def proba(factor, more):
        Z = X * factor + more
        return NaiveBayes().fit(Z[train], y[train]).predict_proba(Z[test])

    plain, other = proba(1, 0), proba(*UNITS[unit])
    assert log_loss(y[test], other) == pytest.approx(log_loss(y[test], plain), rel=0.02)
    if unit in ("eighth", "eight"):
        assert np.abs(other - plain).max() < 1e-12


@pytest.mark.parametrize(("start", "step"), [(0, 0.1), (0, 1 / 499), (-20, 0.25), (5, 5)])
@pytest.mark.parametrize("shuffled", [False, True])
def test_a_measured_grid_is_a_feature(start, step, shuffled):
    """Evenly spaced fractions, or every fifth number, each once: what they say counts."""
    r = np.random.default_rng(0)
    n = 500
    grid = start + np.arange(n) * step
    y = (r.random(n) < np.linspace(0.05, 0.95, n)).astype(int)
    order = r.permutation(n) if shuffled else np.arange(n)
    model = NaiveBayes().fit(grid[order][:, np.newaxis], y[order])
    assert model.model_.schema.family_of["x0"].name == "gaussian"
    known = GaussianNB().fit(grid[:, np.newaxis], y)
    expected = known.predict_proba(grid[:, np.newaxis])
    assert log_loss(y, model.predict_proba(grid[:, np.newaxis])) == pytest.approx(
        log_loss(y, expected), rel=1e-3
    )
    counter = NaiveBayes().fit(pa.table({"row": order, "x": grid[order]}), y[order])
    assert counter.model_.schema.why["row"] == "looks like an identifier: whole numbers, each once"
    assert counter.model_.schema.family_of["x"].name == "gaussian"


def test_a_rare_indicator_in_any_unit():
    """As 0 and 1, or halved, or standardised by a pipeline: categories (issue 37)."""
    r = np.random.default_rng(0)
    y = r.integers(0, 2, 1000)
    X = np.column_stack([r.normal(y * 0.5, 1), (r.random(1000) < 0.05) & (y == 1)]).astype(float)
    scores = set()
    for column in (X[:, 1], X[:, 1] / 2, (X[:, 1] - X[:, 1].mean()) / X[:, 1].std()):
        Z = np.column_stack([X[:, 0], column])
        model = NaiveBayes().fit(Z[:700], y[:700])
        assert model.model_.schema.family_of["x1"].name == "categorical"
        scores.add(model.score(Z[700:], y[700:]))
    assert len(scores) == 1


def test_narrow_numbers_are_the_same_categories():
    """A column of few numbers is learned as float32 and asked as float64, or the other way."""
    x, y = np.tile([0.1, 0.3, 0.7], 20)[:, np.newaxis], np.arange(60) % 3
    wide, narrow = NaiveBayes().fit(x, y), NaiveBayes().fit(x.astype(np.float32), y)
    for model in (wide, narrow):
        assert model.score(x, y) == 1.0
        assert model.score(x.astype(np.float32), y) == 1.0
        assert model.score({"x0": x[:, 0].astype(str)}, y) == 1.0


def test_strays_among_numbers():
    """A text in ten counts as missing; a code, or more texts, make categories of all."""
    x = [str(k * k / 7) for k in range(60)]
    y = np.arange(60) % 2
    with pytest.warns(UserWarning, match="'x' .gaussian.: 2 values such as 'n.a.' cannot be"):
        model = NaiveBayes().fit({"x": [*x[:-2], "n.a.", "none?"]}, y)
    assert model.model_.schema.family_of["x"].name == "gaussian"
    with pytest.raises(ValueError, match="looks like an identifier: 60 different values"):
        NaiveBayes().fit({"x": [*x[:-1], "007"]}, y)


@given(
    st.lists(st.integers(0, 40).map(float) | st.floats(-3, 3) | st.just(np.nan), max_size=80),
    st.integers(1, 12), st.data(),
)  # fmt: skip
def test_the_sample_of_numbers_depends_on_no_order(values, limit, data):
    """By the kernel, by NumPy with weights, and in two parts: the same different numbers."""
    x = np.array(values, float)[:, np.newaxis]
    codes = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(x), max_size=len(x))), int)
    summary = Candidates(limit)

    def counted(some, weights=()):
        batch = Batch(codes[some], 2, np.array(weights, float))
        return summary.summarise(Values(x[some], {}), batch, SERIAL)

    whole = counted(slice(None)).canonical()
    assert counted(slice(None), np.ones(len(x))).canonical() == whole
    cut = data.draw(st.integers(0, len(x)))
    parts = counted(slice(cut))
    parts.accumulate(counted(slice(cut, None)), np.arange(2))
    assert parts.canonical() == whole
    there = Counter(x[~np.isnan(x)].tolist())
    known = dict(zip(whole.levels[0].tolist(), whole.weight_of_values[0].tolist(), strict=True))
    assert known.items() <= there.items()
    assert (len(known) == len(there)) == (whole.shifts[0] == 0) == (len(there) <= limit)


def test_the_rule_of_a_sample():
    """Identifiers are known by a sample of their values; amounts of many steps are none."""
    r = np.random.default_rng(0)
    n = 20_000
    X = np.column_stack([
        r.permutation(n) + 7, r.permutation(n) * 2.54, r.integers(0, n, n), r.normal(size=n),
    ]).astype(float)  # fmt: skip
    counted = Candidates().summarise(Values(X, {}), Batch(np.zeros(n, int), 1), SERIAL)
    assert (counted.shifts[:4] > 0).all()
    whys = [decide(Inferred(), column)[1].text for column in columns(counted)]
    assert whys == [
        "looks like an identifier: whole numbers, each once",
        "numbers", "whole numbers", "numbers",
    ]  # fmt: skip


def test_what_is_declared_holds():
    """A dictionary or `columns` says what a column is, in every batch and sum."""
    codes = pa.array([1, 2, 1, 2] * 10).dictionary_encode()
    y = np.arange(40) % 2
    plain = NaiveBayes().fit({"x": np.arange(40) ** 2.0}, y)
    declared = NaiveBayes({"x": Categorical()}).fit({"x": [1, 2] * 20}, y)
    assert NaiveBayes().fit(pa.table({"x": codes}), y).model_.schema.why["x"] == (
        "declared categorical"
    )
    for total in (plain + declared, declared + plain):
        assert total.model_.schema.family_of["x"].name == "categorical"
    assert (NaiveBayes({"x": Gaussian()}).fit({"x": [1, 2] * 20}, y) + plain).model_.rows == 80


def test_workers_of_a_cluster_count_what_they_have():
    """Counts of shares, each of which takes the keys for identifiers, add up to one fit."""
    n = 300
    y = np.array(["a", "b"])[np.random.default_rng(0).integers(0, 2, n)]
    table = pa.table({"id": np.arange(n), "u": [f"u{k % 150}" for k in range(n)], "y": y})
    made = plan([table.slice(0, 50)], TrainingSpec("y", ColumnOptions({})))
    counts = [Counting(made)(table.slice(at, 100).to_batches()) for at in (0, 100, 200)]
    fit = NaiveBayes().fit(table, "y")
    assert fit.model_.schema.why["u"] == "text, 150 categories"
    assert learned(made, [added(counts[:2]), counts[2]]) == fit.model_
