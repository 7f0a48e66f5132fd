"""Principal components of `AutoBayes` in SQL, JavaScript and ONNX."""

import numpy as np
import pandas as pd
import pytest
from exported import fed
from node import NODE, Node
from numpy.testing import assert_allclose

from naively import AutoBayes
from naively.pooling.blocks.components import Components

pytest.importorskip("sqlglot", reason="needs naively[export]")

from naively.export.sql import to_sql


@pytest.fixture(scope="module")
def fitted():
    """(a model with such a block, rows with far and missing numbers)."""
    rng = np.random.default_rng(0)
    y, curves = rng.integers(0, 3, 800), rng.normal(size=(6, 26))
    spreads = np.exp(0.7 * rng.normal(size=(3, 6)))
    X = (spreads[y] * rng.normal(size=(800, 6))) @ curves + 0.3 * rng.normal(size=(800, 26))
    X = pd.DataFrame(X.round(3)).add_prefix("x")
    model = AutoBayes(interactions=0).fit(X, y.astype(str))
    blocks = model.model_.posterior().parameters.plan.blocks
    assert any(isinstance(one, Components) for one in blocks)
    rows = X.iloc[:60].reset_index(drop=True)
    rows.loc[0:3, "x3"] = [1e9, -1e9, np.nan, 0.0]
    rows.loc[4, "x0":"x9"] = np.nan
    return model, rows


def test_sql(fitted):
    model, rows = fitted
    duckdb = pytest.importorskip("duckdb", reason="needs naively[sql]")
    wanted, rows = model.predict_proba(rows), rows.assign(id=range(len(rows)))
    with duckdb.connect() as database:
        database.register("rows", rows)
        found = database.execute(to_sql(model.model_, "duckdb", "rows", ["id"])).df()
    assert_allclose(found.sort_values("id").to_numpy()[:, 2:].astype(float), wanted, atol=1e-9)


@pytest.mark.skipif(NODE is None, reason="needs Node.js")
def test_javascript(fitted, tmp_path):
    model, rows = fitted
    given = rows.astype(object).where(rows.notna(), None).to_dict("records")
    with Node(model.model_, tmp_path) as node:
        answers = node.ask(given)
    for answer, wanted in zip(answers, model.predict_proba(rows), strict=True):
        found = dict(answer["probabilities"])
        assert_allclose([found[label] for label in model.classes_], wanted, atol=1e-9)


def test_onnx(fitted):
    model, rows = fitted
    pytest.importorskip("onnx", reason="needs naively[export]")
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    from naively.export.onnx import to_onnx

    graph = runtime.InferenceSession(to_onnx(model.model_))
    _, proba = graph.run(None, fed(graph, rows))
    assert_allclose(proba, model.predict_proba(rows), atol=1e-9)
