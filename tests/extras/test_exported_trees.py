"""Decision trees of `AutoBayes` in SQL, JavaScript and ONNX."""

import numpy as np
import pandas as pd
import pytest
from exported import check_onnx, check_sql
from node import NODE, Node
from numpy.testing import assert_allclose

from naively import AutoBayes
from naively.pooling.blocks.trees import Trees

pytest.importorskip("sqlglot", reason="needs naively[export]")


@pytest.fixture(scope="module")
def fitted():
    """(a model with a tree, rows with new categories, far numbers and missing values)."""
    rng = np.random.default_rng(0)
    kinds = np.array(["a", "b", "c"])[rng.integers(0, 3, (1200, 4))]
    X = pd.DataFrame(kinds.astype(object), columns=list("wxyz")).assign(
        size=rng.normal(size=1200).round(2), age=rng.integers(0, 90, 1200).astype(float)
    )
    X.loc[rng.random(1200) < 0.1, "age"] = np.nan
    is_b, deep = (kinds == "b").T, X["size"].gt(-0.5).to_numpy() & ~X["age"].gt(60).to_numpy()
    y = np.where(is_b[0] & ~is_b[1] & ~is_b[2] & deep, "one", np.where(is_b[3] & deep, "two", "no"))
    y = np.where(rng.random(1200) < 0.03, "no", y)
    model = AutoBayes().fit(X, y)
    assert any(isinstance(one, Trees) for one in model.model_.posterior().parameters.plan.blocks)
    rows = X.iloc[:200].reset_index(drop=True)
    rows.loc[0:2, "w"] = ["new", None, "b"]
    rows.loc[3:6, "size"] = [1e9, -1e9, np.nan, 0.0]
    return model, rows


def test_sql(fitted):
    check_sql(*fitted)


@pytest.mark.skipif(NODE is None, reason="needs Node.js")
def test_javascript_and_its_contributions(fitted, tmp_path):
    model, rows = fitted
    given = rows.astype(object).where(rows.notna(), None).to_dict("records")
    explained = model.explain(rows, by_block=True)
    with Node(model.model_, tmp_path) as node:
        answers = node.ask(given)
    for answer, wanted, reasons in zip(answers, model.predict_proba(rows), explained, strict=True):
        found = dict(answer["probabilities"])
        assert_allclose([found[label] for label in model.classes_], wanted, atol=1e-9)
        added = {}
        for one in answer["contributions"]:
            key, nats = frozenset(one["columns"]), np.array([*map(float, one["nats"])])
            added[key] = added.get(key, 0.0) + nats
        for block, nats in zip(reasons.blocks, reasons.contributions.T, strict=True):
            mine = added.get(frozenset(reasons.features[j] for j in block), 0.0)
            assert_allclose(mine - np.max(mine), nats - nats.max(), atol=1e-9)


def test_onnx(fitted):
    check_onnx(*fitted)
