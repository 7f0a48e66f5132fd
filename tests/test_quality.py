"""`benchmarks/quality.py`: its small run, its figures against scikit-learn's, its tables."""

import importlib
import json
import runpy
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from programs import as_program
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from threadpoolctl import threadpool_limits

from naively.evaluation.calibration import Reliability

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).parent.parent / "benchmarks"
MODULES = ("measuring", "shown", "peers", "suite", "tables")


@pytest.fixture
def modules(monkeypatch):
    """What the benchmark is made of, by name; forgotten afterwards."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield {name: importlib.import_module(name) for name in MODULES}
    for name in MODULES:
        sys.modules.pop(name)


@pytest.fixture
def run(modules, monkeypatch):
    """Runs the benchmark as a program does: (exit code, standard output, standard error)."""
    monkeypatch.delenv("NAIVELY_DATA", raising=False)

    return partial(as_program, FOLDER / "quality.py")


def rows_of(printed, title):
    """The rows of a table in Markdown, by their first cell: cells by the names of columns."""
    _, _, after = printed.partition(f"\n{title}")
    lines = [line.strip() for line in after.splitlines()]
    first = next(k for k, line in enumerate(lines) if line.startswith("|"))
    block = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        block.append([cell.strip() for cell in line.strip("|").split("|")])
    header, _, *rows = block
    return {row[0]: dict(zip(header, row, strict=True)) for row in rows}


QUICK = ("NaiveBayes", "Gaussian", "LogisticRegression")


def test_small(run, modules, tmp_path):
    kept = tmp_path / "results.json"
    asked = ("--small", "--markdown", "--json", kept, "--methods", *QUICK)
    code, printed, _ = run(*asked)
    assert code == 0
    by_table = rows_of(printed, "Accuracy/log-loss")
    assert by_table.keys() == {"iris", "tumours", "wine*"}
    for row in by_table.values():
        for name in QUICK:
            accuracy, loss = map(float, row[name].split("/"))
            assert accuracy > 0.9
            assert loss < 0.7
    everything = rows_of(printed, "All tables")
    assert {row["tables"] for row in everything.values()} == {"3"}
    parts = [rows_of(printed, title) for title in ("Tables that were looked at", "Untouched")]
    for name in QUICK:
        means = [float(part[name]["accuracy"]) for part in parts]
        mean = np.average(means, weights=[2, 1])
        assert_allclose(float(everything[name]["accuracy"]), mean, atol=1e-4)
    # what is kept of others is not measured again, and ours is
    results = json.loads(kept.read_text())
    for entries in results["folds"].values():
        for entry in entries.values():
            entry["accuracy"] = 0.25
    del results["folds"]["wine"]["Gaussian"]
    kept.write_text(json.dumps(results))
    again = rows_of(run(*asked)[1], "Accuracy/log-loss")
    for table, row in again.items():
        whole = by_table[table]
        assert row["NaiveBayes"] == whole["NaiveBayes"]
        assert row["LogisticRegression"].startswith(".250/")
        assert (row["Gaussian"] == whole["Gaussian"]) == (table == "wine*")


def test_results_of_another_run_stay(modules, tmp_path):
    keep, kept = modules["measuring"].keep, modules["measuring"].kept
    file = tmp_path / "results.json"
    keep(file, "folds", "iris", {"one": {"accuracy": 0.5}})
    keep(file, "folds", "iris", {"two": {"accuracy": 0.6}})
    keep(file, "folds", "iris", {"one": {"accuracy": 0.7}})
    keep(file, "ebm", "adult", {"one": {"auc": 0.8}})
    assert kept(file) == {
        "folds": {"iris": {"one": {"accuracy": 0.7}, "two": {"accuracy": 0.6}}},
        "ebm": {"adult": {"one": {"auc": 0.8}}},
    }
    assert list(tmp_path.iterdir()) == [file]
    keep(None, "folds", "iris", {})
    assert kept(None) == kept(tmp_path / "none") == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "NAIVELY_DATA"),
        (["--data", "nowhere"], "no folder nowhere"),
        (["--small", "--only", "iris", "irises"], "'irises': there are 'iris', 'tumours', 'wine'"),
        (["--small", "--methods", "Boosting"], "'Boosting': there are 'AutoBayes', 'NaiveBayes'"),
        (["--small", "--protocol", "ebm"], "--small has no tables for this protocol"),
    ],
)
def test_wrong_options(run, arguments, said):
    code, printed, error = run(*arguments)
    assert (code, printed) == (2, "")
    assert said in error


def test_figures_are_those_of_scikit_learn(modules):
    """Accuracy, log-loss and AUC by refitting; the calibration error by its definition."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.iloc[:, :5], np.array(["yes", "no"])[y]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    method = modules["peers"].METHODS["Gaussian"]
    entry = modules["measuring"].measure(method, X, y, folds.split(X, y))
    proba = cross_val_predict(method.make(), X, y, cv=folds, method="predict_proba")
    predicted = np.array(["no", "yes"])[proba.argmax(axis=1)]
    assert entry["accuracy"] == accuracy_score(y, predicted)
    assert_allclose(entry["log_loss"], log_loss(y, proba.clip(1e-15)), rtol=1e-9)
    areas = [roc_auc_score(y[test], proba[test, 1]) for _, test in folds.split(X, y)]
    assert_allclose([entry["auc"], entry["auc_deviation"]], [np.mean(areas), np.std(areas)])
    confidence, right = proba.max(axis=1), predicted == y
    error = Reliability.of(confidence, right).error
    assert_allclose(entry["calibration_error"], error, rtol=1e-9)
    assert (entry["rows"], entry["columns"], entry["classes"]) == (569, 5, 2)


def test_a_class_that_was_not_learned_costs_the_clip(modules):
    X, y = pd.DataFrame({"x": np.arange(6.0)}), np.array(["a", "b"] * 3)
    y[5] = "rare"
    method = modules["peers"].METHODS["Gaussian"]
    entry = modules["measuring"].measure(method, X, y, [(np.arange(5), np.array([5]))])
    assert_allclose(entry["log_loss"], -np.log(1e-15))
    assert entry["accuracy"] == 0.0


def test_what_fails_is_said(modules):
    method = modules["peers"].METHODS["Gaussian"]
    X, y = pd.DataFrame({"x": [1.0, np.inf] * 4}), np.array(["a", "b"] * 4)
    entry = modules["measuring"].measure(method, X, y, [(np.arange(6), np.arange(6, 8))])
    assert entry["failed"].startswith("ValueError")
    assert "accuracy" not in entry
    assert not modules["measuring"].usable(entry, X)


def test_what_takes_too_long_is_said(modules):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    method, folds = modules["peers"].METHODS["Gaussian"], StratifiedKFold(3)
    entry = modules["measuring"].measure(method, X, y.to_numpy(), folds.split(X, y), 0.0)
    assert entry["failed"].startswith("TimeoutError")
    assert "1 of 3 folds" in entry["failed"]
    assert "accuracy" not in entry


def test_ratios(modules):
    """The geometric mean of log-losses divided, tiny ones at the floor, failures left out."""
    measuring = modules["measuring"]
    own, other = {"log_loss": 0.2}, {"log_loss": 0.1}
    results = {
        "twice": {"own": own, "other": other},
        "half": {"own": other, "other": own},
        "both tiny": {"own": {"log_loss": 1e-9}, "other": {"log_loss": 5e-5}},
        "one tiny": {"own": {"log_loss": 0.004}, "other": {"log_loss": 0.0}},
        "failed": {"own": own, "other": {"failed": "ValueError"}},
        "alone": {"own": own},
    }
    found = measuring.ratios(results, "own", "other")
    assert found == {"twice": 2.0, "half": 0.5, "both tiny": 1.0, "one tiny": 4.0}
    assert_allclose(measuring.geometric_mean(found.values()), 4 ** (1 / 4))


def test_beside_autobayes(modules, monkeypatch):
    """A row of the summary, from entries that are given."""
    monkeypatch.syspath_prepend(str(FOLDER))
    quality = runpy.run_path(str(FOLDER / "quality.py"), run_name="quality")
    seconds = {"fit": 2.0, "predict": 1.0, "processor": 3.0}
    ours, theirs = (
        {"accuracy": right, "log_loss": loss, "calibration_error": 0.01, **seconds}
        for right, loss in ((0.9, 0.3), (0.8, 0.4))
    )
    found = {
        "one": {"AutoBayes": ours, "NaiveBayes": theirs},
        "two": {"AutoBayes": {**ours, "log_loss": 1.6}, "NaiveBayes": theirs},
        "three": {"NaiveBayes": theirs},
    }
    _, columns, rows = quality["summary"](found, ["AutoBayes", "NaiveBayes"], "All")
    assert [len(row) for row in rows] == [len(columns)] * 2
    ratio = np.sqrt(0.3 / 0.4 * 1.6 / 0.4)
    assert rows[1][:7] == [
        "NaiveBayes",
        "2",
        f"{ratio:.3f}",
        "50%",
        "4.00 (two)",
        "0.8000",
        "0.9000",
    ]
    assert rows[1][-3:] == ["4.0", "2.0", "6.0"]


def test_boosting_learns_beside_a_rare_class(modules):
    """Scikit-learn's own fails or diverges above 10,000 rows."""
    generator = np.random.default_rng(0)
    X = pd.DataFrame({"x": generator.normal(size=10_500)})
    y = (X["x"].to_numpy() > 0).astype(int)
    y[:2] = 2
    with threadpool_limits(1):
        proba = modules["peers"].Boosting().fit(X, y).predict_proba(X)
    assert proba.shape == (10_500, 3)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_allclose(proba[:, 2], 2 / 10_500)
    assert (proba.argmax(axis=1) == y).mean() > 0.99


def test_columns_of_the_boosted(modules):
    X = pd.DataFrame({
        "few": ["a", np.nan] * 200,
        "many": [*(f"level{k}" for k in range(300)), *[np.nan] * 100],
        "number": np.arange(400.0),
        "empty": np.full(400, np.nan),
    }).astype({"few": object, "many": object})  # fmt: skip
    found = modules["peers"].categories(X)
    assert list(found) == ["c0", "c1", "c2"]
    assert list(found["c0"].cat.categories) == ["a"]
    assert found["c0"].isna().sum() == 200
    assert found["c1"].nunique() == 300
    assert found["c1"].isna().sum() == 100
    assert_allclose(found["c2"], X["number"])


PUBLISHED = {  # rows, columns, classes, missing values
    "adult": (48842, 14, 2, 6465),
    "breast-cancer": (286, 9, 2, 9),
    "bupa": (345, 6, 2, 0),
    "car": (1728, 6, 4, 0),
    "covtype": (581012, 54, 7, 0),
    "glass": (214, 9, 6, 0),
    "haxby-25mm": (1452, 129, 9, 0),
    "ionosphere": (351, 34, 2, 0),
    "iris": (150, 4, 3, 0),
    "letter": (20000, 16, 26, 0),
    "lymphography": (148, 18, 4, 0),
    "mnist-40": (70000, 40, 10, 0),
    "mushroom": (8124, 22, 2, 2480),
    "nursery": (12960, 8, 5, 0),
    "optdigits": (5620, 64, 10, 0),
    "pima": (768, 8, 2, 0),
    "promoters": (106, 57, 2, 0),
    "sick": (3772, 29, 2, 6064),
    "sonar": (208, 60, 2, 0),
    "soybean": (683, 35, 19, 2337),
    "stream-elec": (45312, 6, 2, 0),
    "titanic-2201": (2201, 3, 2, 0),
    "titanic-891": (891, 10, 2, 866),
    "vote": (435, 16, 2, 392),
    "wine": (178, 13, 3, 0),
    "zoo": (101, 16, 7, 0),
}
NUMBERS = {"adult": 6, "titanic-891": 5, "stream-elec": 6, "bupa": 6, "promoters": 0, "sick": 7}
SLOW = {"covtype", "mnist-40"}


def test_tables_are_as_published(modules, data_folder):
    suite = modules["suite"]
    assert suite.TABLES.keys() == PUBLISHED.keys()
    assert PUBLISHED.keys() > suite.UNTOUCHED
    for name in PUBLISHED.keys() - SLOW:
        X, y = suite.TABLES[name](data_folder)
        found = (*X.shape, len(np.unique(y)), int(X.isna().sum().sum()))
        assert found == PUBLISHED[name], name
        assert len(X) == len(y)
        assert X.index.equals(pd.RangeIndex(len(X)))
        numbers, text = (X.select_dtypes(kind).shape[1] for kind in ("number", object))
        assert numbers + text == X.shape[1], name
        if name in NUMBERS:
            assert numbers == NUMBERS[name], name
