"""Principal components of `AutoBayes` in SQL, JavaScript and ONNX."""

import numpy as np
import pandas as pd
import pytest
from exported import check_onnx, check_sql
from node import NODE, Node
from numpy.testing import assert_allclose

from naively import AutoBayes
from naively.pooling.blocks.components import Components

pytest.importorskip("sqlglot", reason="needs naively[export]")


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
    check_sql(*fitted)


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
    check_onnx(*fitted)
