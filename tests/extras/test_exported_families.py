"""Which families each export supports, and which it refuses."""

import numpy as np
import pandas as pd
import pytest
from exported import fed
from node import NODE, Node
from numpy.testing import assert_allclose
from sklearn.base import clone

from naively import AutoBayes, NaiveBayes
from naively.families.registry import FAMILIES

duckdb = pytest.importorskip("duckdb", reason="needs naively[sql]")
pytest.importorskip("sqlglot", reason="needs naively[export]")
pytest.importorskip("onnx", reason="needs naively[export]")
runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

from naively.export.formulas import NotExportableError  # noqa: E402
from naively.export.js import to_js  # noqa: E402
from naively.export.onnx import to_onnx  # noqa: E402
from naively.export.sql import to_sql  # noqa: E402

EXPORTS = {
    "sql": lambda model: to_sql(model, "duckdb", "given", ["id"]),
    "js": to_js,
    "onnx": to_onnx,
}
NO_FORMULA = [
    "discretized", "gamma", "joint", "kernel_density", "lognormal", "multivariate", "student",
]  # fmt: skip
NO_WORDS = "ONNX has no operator that cuts text into words"
REFUSED = {
    **{(name, way): f"the family {name} cannot be" for name in NO_FORMULA for way in EXPORTS},
    ("pooled_text", "onnx"): NO_WORDS,
    ("text", "onnx"): NO_WORDS,
    ("weighed_text", "onnx"): NO_WORDS,
}
"""The reason, by family and export. All others work, those of families to come too."""


def learned(family):
    """(a model of rows of a family, the rows and two more: levels that are new, and nothing)."""
    draw = np.random.default_rng(3)
    y = draw.integers(0, 2, 200)
    if "text" in family:
        said = ["free now", "at noon", "see you"]  # and words that are alike, by class
        kinds = zip(draw.integers(0, 2, 200) + y, y, strict=True)
        rows = pd.DataFrame({"a": [
            f"{said[one]} {('lunch', 'prize')[label]}{k}" for k, (one, label) in enumerate(kinds)
        ]})  # fmt: skip
        new = ["a prize at last", None]
    else:
        a, b = draw.integers(0, 9, 200) * (y + 1), draw.integers(0, 2 + 3 * y)
        least = 1.0 if family in ("gamma", "lognormal") else 0.0
        rows = pd.DataFrame({"a": a + least, "b": b + least})
        new = [77.0, np.nan]
    model = NaiveBayes({tuple(rows): family}).fit(rows, y)
    more = pd.concat([rows, pd.DataFrame(dict.fromkeys(rows, new))], ignore_index=True)
    return model, more


def by_sql(query, model, rows, folder):
    with duckdb.connect() as database:
        database.register("given", rows.assign(id=range(len(rows))))
        found = sorted(database.execute(query).fetchall())
    return [row[-2:] for row in found]


def by_js(module, model, rows, folder):
    if NODE is None:
        pytest.skip("needs Node.js: apt-get install nodejs")
    with Node(model.model_, folder) as node:
        cells = rows.astype(object).where(rows.notna(), None).to_dict("records")
        return [[p for _, p in row["probabilities"]] for row in node.ask(cells)]


def by_onnx(file, model, rows, folder):
    graph = runtime.InferenceSession(file)
    return graph.run(["probabilities"], fed(graph, rows))[0]


@pytest.mark.parametrize("way", EXPORTS)
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_family_answers_as_in_python_or_is_refused(family, way, tmp_path):
    model, rows = learned(family)
    if (family, way) in REFUSED:
        with pytest.raises(NotExportableError, match=REFUSED[family, way]):
            EXPORTS[way](model.model_)
        return
    answers = {"sql": by_sql, "js": by_js, "onnx": by_onnx}[way]
    found = answers(EXPORTS[way](model.model_), model, rows, tmp_path)
    proba = model.predict_proba(rows)
    assert np.ptp(proba[:, 0]) > 0.1
    assert_allclose(np.array(found, float), proba, rtol=0, atol=1e-9)


@pytest.mark.parametrize("way", EXPORTS)
def test_a_linear_form_of_all_numbers_answers_as_in_python(way, tmp_path):
    draw = np.random.default_rng(5)
    names = [f"x{k}" for k in range(24)]
    rows = pd.DataFrame(draw.normal(size=(300, 3)) @ draw.normal(size=(3, 24)), columns=names)
    rows += draw.normal(size=rows.shape)
    y = (rows @ draw.normal(size=24) + draw.logistic(size=300) > 0).astype(int)
    model = AutoBayes(interactions=0, n_jobs=1).fit(rows, y)
    blocks = model.model_.posterior().parameters.plan.blocks
    assert "linear" in {one.tag for one in blocks}
    rows = rows.iloc[:40].reset_index(drop=True)
    rows.loc[0, "x3"], rows.loc[1, "x4"] = np.nan, 1e9
    rows.loc[2, names[1:]] = np.nan
    ask = {"sql": by_sql, "js": by_js, "onnx": by_onnx}[way]
    found = ask(EXPORTS[way](model.model_), model, rows, tmp_path)
    assert_allclose(np.array(found, float), model.predict_proba(rows), rtol=0, atol=1e-9)


TRUTHS = {
    "truth values": [True, False],
    "numbers": [1, 0],
    "floats": [1.0, 0.0],
    "text": ["True", "FALSE"],
}


@pytest.mark.parametrize("way", EXPORTS)
@pytest.mark.parametrize("learned", TRUTHS)
@pytest.mark.parametrize("model", [AutoBayes(), NaiveBayes({"x": "categorical"})], ids=str)
def test_truth_values_are_one_and_zero(model, learned, way, tmp_path):
    """SQLite has no truth values, and a form may send 1: they were levels that nobody had met."""
    model = clone(model).fit(
        {"x": TRUTHS[learned] * 20 + TRUTHS[learned][:1] * 9}, [1, 0] * 24 + [1]
    )
    export, ask = EXPORTS[way](model.model_), {"sql": by_sql, "js": by_js, "onnx": by_onnx}[way]
    numbers = isinstance(model, AutoBayes) and learned in ("numbers", "floats")
    for name, pair in TRUTHS.items():
        if name == "text" and numbers and way != "js":
            continue  # a column of numbers takes none
        rows = pd.DataFrame({"x": pair})
        expected = model.predict_proba(rows)
        assert abs(expected[0, 0] - expected[1, 0]) > 0.1
        assert_allclose(
            ask(export, model, rows, tmp_path), expected, rtol=0, atol=1e-12, err_msg=name
        )


@pytest.mark.parametrize("way", EXPORTS)
@pytest.mark.parametrize("model", [NaiveBayes(), NaiveBayes({"x": "categorical"})], ids=str)
def test_a_negative_zero_is_the_level_zero(model, way, tmp_path):
    """What rounds to 0 from below is -0.0, and was a level that nobody had met in DuckDB."""
    model = clone(model).fit({"x": [0.0, 0.0, 1.0, 2.0] * 10}, [1, 1, 0, 0] * 10)
    export, ask = EXPORTS[way](model.model_), {"sql": by_sql, "js": by_js, "onnx": by_onnx}[way]
    rows = pd.DataFrame({"x": [-0.0, 0.0, 1.0]})
    expected = model.predict_proba(rows)
    assert expected[0].tolist() == expected[1].tolist()
    assert_allclose(ask(export, model, rows, tmp_path), expected, rtol=0, atol=1e-12)
