"""A table and models of it, for tests of exports."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from naively import AutoBayes, Bernoulli, Multinomial, NaiveBayes, Poisson

GENERATOR = np.random.default_rng(0)
ROWS = 300
KIND = GENERATOR.integers(3, size=ROWS)
TABLE = pd.DataFrame({
    "size": KIND + GENERATOR.normal(size=ROWS) * 1.5 + 1e6,
    "width": GENERATOR.normal(size=ROWS) * (1 + KIND),
    "visits": GENERATOR.poisson(2 + 2 * KIND).astype(float),
    "it's": np.array(["red", "it's", "2", "green"])[(KIND + GENERATOR.integers(2, size=ROWS)) % 4],
    "grade": GENERATOR.integers(5, size=ROWS) % (2 + KIND),
    "odd name": np.array(["a", "b"])[(KIND == 1) ^ (GENERATOR.random(ROWS) < 0.2) * 1],
})  # fmt: skip
for name, part in (("size", 7), ("width", 5), ("it's", 6), ("visits", 9)):
    TABLE.loc[TABLE.index % part == 0, name] = None
LABELS = np.array(["low", "the middle's", "high"])[KIND]
MODELS = {
    "naive": NaiveBayes(),
    "counts": NaiveBayes({"visits": Poisson(), "grade": "categorical"}),
    "bernoulli": NaiveBayes({"grade": Bernoulli(), "width": "skip"}),
    "events": NaiveBayes({("visits", "grade"): Multinomial(), "size": "skip"}),
    "levels, new ones ignored": NaiveBayes(unseen="ignore"),
    "uniform": NaiveBayes(prior="uniform"),
    "auto": AutoBayes(),
    "two classes": AutoBayes(),
}


def new_rows():
    """Rows with levels and numbers that were never met, and with nothing at all."""
    rows = TABLE.sample(80, random_state=1).reset_index(drop=True)
    rows.loc[0:3, "it's"] = ["new", " red ", "?", ""]
    rows.loc[4:7, "size"] = [-1e9, 1e9, 0.0, np.nan]
    rows.loc[8] = None
    return rows.assign(id=range(len(rows)))


def fitted(name):
    rows = KIND != 2 if name == "two classes" else KIND >= 0
    return MODELS[name].fit(TABLE[rows], LABELS[rows])


def fed(graph, rows):
    """A table as the docs say that a graph takes it."""
    given = {}
    for one in graph.get_inputs():
        column = rows[one.name]
        if one.type == "tensor(string)":
            given[one.name] = np.array(["" if pd.isna(v) else str(v) for v in column], object)
        else:
            given[one.name] = column.to_numpy(float, na_value=np.nan)
    return {name: values[:, np.newaxis] for name, values in given.items()}


def check_sql(model, rows):
    """DuckDB and SQLite compute the probabilities of the model."""
    duckdb = pytest.importorskip("duckdb", reason="needs naively[sql]")
    from naively.export.sql import to_sql

    wanted, rows = model.predict_proba(rows), rows.assign(id=range(len(rows)))
    with duckdb.connect() as database:
        database.register("rows", rows)
        in_duckdb = database.execute(to_sql(model.model_, "duckdb", "rows", ["id"])).df()
    with sqlite3.connect(":memory:") as lite:
        rows.to_sql("rows", lite, index=False)
        in_sqlite = pd.read_sql(to_sql(model.model_, "sqlite", "rows", ["id"]), lite)
    for found in (in_duckdb, in_sqlite):
        found = found.sort_values("id").to_numpy()[:, 2:].astype(float)
        assert_allclose(found, wanted, atol=1e-9)


def check_onnx(model, rows):
    """The graph computes the probabilities of the model."""
    pytest.importorskip("onnx", reason="needs naively[export]")
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    from naively.export.onnx import to_onnx

    graph = runtime.InferenceSession(to_onnx(model.model_))
    _, proba = graph.run(None, fed(graph, rows))
    assert_allclose(proba, model.predict_proba(rows), atol=1e-9)


def with_endless_numbers(kind):
    """(a model of levels of which one is inf, rows with such)."""
    levels = np.array(["red", "blue", "inf", "7"])
    codes = np.arange(200) % 4
    model = kind().fit({"code": levels[codes]}, np.array(["a", "b", "a", "b"])[codes])
    given = ["inf", "-inf", "Infinity", "+INF", "NAN", "-nan", "red", "7", "new", None]
    return model, pd.DataFrame({"code": given})
