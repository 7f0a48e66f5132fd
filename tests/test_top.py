"""The most probable labels of each row: in Python, and `naively predict --top`."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from kit import CLASSIFIERS, domain, new, numbers
from numpy.testing import assert_array_equal
from test_cli import folder, naive

from naively import AutoBayes, GaussianNB, NaiveBayes, TextNB, load

__all__ = ["folder"]  # a fixture


def check(model, X, k):
    labels, p = model.predict_top(X, k)
    proba = model.predict_proba(X)
    kept = min(k, len(model.classes_))
    assert labels.shape == p.shape == (len(proba), kept)
    assert labels.dtype == model.classes_.dtype
    assert_array_equal(labels[:, 0], model.predict(X))
    assert_array_equal(p, -np.sort(-proba, axis=1)[:, :kept])
    for own, probabilities, all_of_row in zip(labels, p, proba, strict=True):
        places = np.searchsorted(model.classes_, own)
        assert len(set(places)) == kept
        assert_array_equal(all_of_row[places], probabilities)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("k", [1, 2, 7])
def test_the_first_are_those_of_the_probabilities(name, k):
    X, y = numbers(domain(name), 60, 3)
    check(new(name).fit(X, np.array(["b", "ab", "c"])[y]), X, k)


@pytest.mark.parametrize("kind", [AutoBayes, NaiveBayes])
def test_of_tables(kind):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, 200)
    X = {
        "size": rng.normal(y),
        "colour": np.array(["red", "blue"])[(y + rng.integers(0, 2, 200)) % 2],
    }
    check(kind().fit(X, y), X, 3)
    labels, p = kind().fit(X, y).predict_top({name: column[:0] for name, column in X.items()}, 2)
    assert labels.shape == p.shape == (0, 2)


def test_of_texts_and_of_ties():
    model = TextNB().fit(["one two", "three", "four"], [3, 1, 2])
    check(model, ["one", "", None, "unknown", "three four"], 2)
    labels, p = model.predict_top([""], 3)
    assert labels.tolist() == [[1, 2, 3]]  # of equals the first
    assert p == pytest.approx(1 / 3)


@pytest.mark.parametrize("k", [0, -1, 1.0, "2", True, None])
def test_what_is_refused(k):
    model = GaussianNB().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="must be 1 or more"):
        model.predict_top([[0.0]], k)


def test_columns_and_objects(folder, capsys):
    naive(capsys, "fit", "data.csv", "--target", "species", "-o", "m")
    model = load("m")
    with Path("data.csv").open() as file:
        table = list(csv.DictReader(file))
    columns = {name: [row[name] for row in table] for name in model.feature_names_in_}
    labels, p = model.predict_top(columns, 2)
    rows = list(
        csv.DictReader(naive(capsys, "predict", "m", "data.csv", "--top", 2)[0].splitlines())
    )
    assert [*rows[0]] == [*table[0], "prediction", "top_1", "P(top_1)", "top_2", "P(top_2)"]
    for k in range(2):
        assert [row[f"top_{k + 1}"] for row in rows] == labels[:, k].tolist()
        assert [float(row[f"P(top_{k + 1})"]) for row in rows] == p[:, k].tolist()
    assert [row["prediction"] for row in rows] == labels[:, 0].tolist()
    out, _ = naive(capsys, "predict", "m", "data.csv", "--top", 9, "--only", "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert [*found[0]] == ["prediction", "top"]
    assert [[one["label"] for one in row["top"]][:2] for row in found] == labels.tolist()
    assert len(found[0]["top"]) == 3
    unsure = naive(capsys, "predict", "m", "data.csv", "--top", 1, "--unsure", "0.9", "--proba")[0]
    for row in csv.DictReader(unsure.splitlines()):
        assert row["prediction"] == (row["top_1"] if float(row["P(top_1)"]) >= 0.9 else "")
    naive(capsys, "predict", "m", "data.csv", "--top", 2, "-o", "p.parquet")
    assert parquet.read_table("p.parquet")["top_2"].to_pylist() == labels[:, 1].tolist()


def test_no_rows_and_names_that_are_taken(folder, capsys):
    Path("t.csv").write_text("a,b,c d,top_1,species\n1,2,3,x,ada\n0,0,0,y,cat\n")
    naive(capsys, "fit", "t.csv", "--target", "species", "--skip", "top_1", "-o", "m")
    out, _ = naive(capsys, "predict", "m", "t.csv", "--top", 1)
    assert out.splitlines()[0] == "a,b,c d,top_1,species,prediction,top_1_,P(top_1)"
    Path("none.csv").write_text("a,b,c d\n")
    out, _ = naive(capsys, "predict", "m", "none.csv", "--top", 3)
    assert out == "a,b,c d,prediction,top_1,P(top_1),top_2,P(top_2)\n"
    for top in ("0", "-2"):
        err = naive(capsys, "predict", "m", "t.csv", "--top", top, code=2)[1]
        assert f"--top is a number of labels, 1 or more, not {top}" in err
