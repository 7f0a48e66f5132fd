"""Tables of many columns take time in proportion to their columns."""

import time
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import naively
from naively import AutoBayes, NaiveBayes
from naively.cli.main import run
from naively.io.arrow import together
from naively.io.inputs import UNTYPED

ROWS, FEW, MANY = 20, 500, 4000
GROWTH = 1.8
"""Times the growth of the columns that time may grow: caches, and other work on the machine."""


def table(columns):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, ROWS)
    numbers = rng.normal(size=(ROWS, columns)) + labels[:, None]
    return pd.DataFrame(numbers, columns=[f"c{k}" for k in range(columns)]), labels


def seconds(work, times=2):
    """The least time of a processor that some work takes."""

    def once():
        begun = time.process_time()
        work()
        return time.process_time() - begun

    return min(once() for _ in range(times))


def check_linear(work):
    """Work on a table of so many columns takes time in proportion to these."""
    few = max(seconds(partial(work, FEW)), 0.01)
    many = seconds(partial(work, MANY), 1)
    assert many < GROWTH * MANY / FEW * few


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [NaiveBayes, AutoBayes])
def test_time_is_linear_in_columns(estimator, tmp_path):
    def whole(columns):
        X, y = table(columns)
        model = estimator().fit(X, y)
        model.predict_proba(X)
        str(model.explain(X[:2]))
        model.explain(X[:2]).to_arrow()
        model.save(tmp_path / "a.model")
        loaded = naively.load(tmp_path / "a.model")
        loaded.partial_fit(X[:3], y[:3]).forget(X[:3], y[:3])
        assert (loaded.predict(X) == model.predict(X)).all()

    check_linear(whole)


@pytest.mark.slow
def test_time_of_a_file_is_linear_in_columns(tmp_path):
    for columns in FEW, MANY:
        X, y = table(columns)
        csv.write_csv(pa.table({**X.round(4), "y": y}), tmp_path / f"{columns}.csv")

    def whole(columns):
        path, model = str(tmp_path / f"{columns}.csv"), str(tmp_path / f"{columns}.model")
        assert run(["fit", path, "--target", "y", "--naive", "-o", model]) == 0
        assert run(["update", model, path]) == 0

    check_linear(whole)


def test_blocks_of_a_wide_file_have_many_rows(tmp_path):
    # a batch costs the same for each column, however few rows it has
    columns, rows = 20_000, 80
    line = ",".join(["0.123456"] * columns) + "\n"
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{k}" for k in range(columns)) + "\n" + line * rows)
    sizes = [batch.num_rows for batch in naively.scan(str(path)).batches()]
    assert sizes == [rows]


def test_tables_are_joined_as_column_after_column():
    typed = pa.table({"a": [1, 2], "b": ["x", "y"], "c": [True, False]})
    text = pa.schema([pa.field("b", pa.string(), metadata=UNTYPED), pa.field("d", pa.float64()),
                      pa.field("a", pa.string())])  # fmt: skip
    other = pa.table([["z"], [0.5], ["w"]], schema=text)
    found = together([typed, other])
    assert found.column_names == ["a", "b", "c", "d"]
    assert found.to_pydict() == {
        "a": ["1", "2", "w"],
        "b": ["x", "y", "z"],
        "c": [True, False, None],
        "d": [None, None, 0.5],
    }
    assert all(field.metadata is None for field in found.schema)
    assert together([other]).schema.field("b").metadata == UNTYPED
