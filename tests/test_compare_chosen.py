"""`compare` and `diagnose` have `AutoBayes` and boosting; candidates are chosen and limited."""

import json
import os
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

import naively
from naively import AutoBayes, Categorical, Text, TextNB, compare, diagnose
from naively.cli.main import run
from naively.evaluation import alternatives
from naively.evaluation.alternatives import Boosting, plain_columns
from naively.evaluation.learning_curves import Splits, too_long
from naively.evaluation.metrics import margin
from naively.pooling.dates import seconds
from naively.tables.encoding import encode
from naively.tables.values import levels

DATA = os.environ.get("NAIVELY_DATA")
BOTH = ["AutoBayes", "gradient boosting"]


@pytest.fixture(autouse=True)
def _few_threads():
    """Threads that wait for each other take most of the time of fits this small."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def table():
    """A table whose class is the parity of two columns, in part, beside a number and a date."""
    rng = np.random.default_rng(0)
    n = 240
    left, right = rng.integers(0, 2, (2, n))
    y = np.where(rng.random(n) < 0.9, left ^ right, 1 - (left ^ right))
    frame = pd.DataFrame({
        "left": np.array(["no", "yes"])[left], "right": np.array(["in", "out"])[right],
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(30, 5, n).round(1)),
        "day": np.datetime64("2020-01-01") + rng.integers(0, 900, n), "empty": np.nan,
    })  # fmt: skip
    return frame, np.array(["poor", "rich"])[y]


def by_name(found):
    return {one.name: one for one in found.candidates}


# ---- the same as fitted anew ---------------------------------------------------------------------


def test_boosting_is_scikit_learn_s(table):
    X, y = table
    found = by_name(compare(X, y, splits=2, only=["gradient boosting"]))
    curve = found["gradient boosting"].curve
    assert not curve.reason
    codes = np.searchsorted(["poor", "rich"], y)
    prepared = X.drop(columns="empty")
    days = levels_as_seconds(X["day"])
    prepared = prepared.assign(
        left=X["left"].astype("category"), right=X["right"].astype("category"), day=days
    )
    for test in Splits(codes, 2, (), 0).tests:
        train = np.setdiff1d(np.arange(len(y)), test)
        peer = HistGradientBoostingClassifier(random_state=0)
        proba = peer.fit(prepared.iloc[train], codes[train]).predict_proba(prepared.iloc[test])
        expected = -np.log(proba[np.arange(len(test)), codes[test]])
        assert curve.losses[test] == pytest.approx(expected)


def levels_as_seconds(days):
    places, known = levels(pa.array(days), ())
    return seconds(known)[places]


def test_levels_beyond_what_boosting_takes_are_codes():
    rng = np.random.default_rng(0)
    many = [f"k{k:04}" for k in rng.permutation(300)]
    X = pd.DataFrame({"many": many, "few": ["a", "b", None] * 100})
    model = AutoBayes().fit(pd.concat([X, X]), np.arange(600) // 300).model_
    rows, _ = encode(model.schema, pa.Table.from_pandas(X, preserve_index=False))
    plain, categories = plain_columns(rows)
    assert categories == [0]  # of "few", which is before "many"
    assert np.array_equal(plain[:, 1], np.argsort(np.argsort(many)))
    assert np.array_equal(np.isnan(plain[:, 0]), np.arange(300) % 3 == 2)


def test_boosting_learns_tables_with_rare_classes():
    """Where scikit-learn's fails: a class of one row among more than 10,000."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_100, 2))
    y = np.append(X[:-1, 0] > 0, 2).astype(int)
    with pytest.raises(ValueError, match="least populated"):
        HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    model = Boosting([]).fit(X, y)
    proba = model.predict_proba(X[:50])
    assert proba.sum(axis=1) == pytest.approx(1)
    assert (proba[:, 2] == 1 / len(y)).all()
    assert (model.predict(X) == y).mean() > 0.99


# ---- who takes part ------------------------------------------------------------------------------


def test_both_find_what_naive_bayes_cannot(table):
    X, y = table
    found = compare(X, y, splits=2, only=[*BOTH, "naive Bayes"])
    curves = by_name(found)
    assert [*curves] == ["class prior", "naive Bayes", *BOTH]
    assert curves["AutoBayes"].error[-1] < 0.2 < 0.4 < curves["naive Bayes"].error[-1]
    assert not found.verdict["recommendation"].startswith("naive Bayes")
    assert "used by AutoBayes and gradient boosting alone: " in " ".join(str(found).split())


def test_neither_is_there_where_families_are_given_or_text(table):
    X, y = table
    given = compare(X, y, splits=2, columns={"age": "gamma", "day": "skip"}, only=["naive Bayes"])
    assert [one.name for one in given.candidates] == ["class prior", "naive Bayes"]
    with pytest.raises(ValueError, match="there is no model 'AutoBayes' to compare"):
        compare(X, y, splits=2, columns={"left": Categorical()}, only=["AutoBayes"])
    texts = [f"{text} word{k}" for k in range(9) for text in ("one two", "two three")]
    with pytest.raises(ValueError, match="there is no model"):
        compare(texts, ["a", "b"] * 9, splits=2, only=BOTH)
    with pytest.raises(ValueError, match="all rows of each class are duplicates"):
        compare(["one two", "two three"] * 9, ["a", "b"] * 9, splits=2, only=BOTH)
    skipped = compare(X, y, splits=2, columns={"left": "skip"}, only=["AutoBayes"])
    assert by_name(skipped)["AutoBayes"].error[-1] > 0.35


def test_why_they_were_not_tried(table, capsys, tmp_path):
    """Nobody takes the best of the others for the best there is."""
    X, y = table
    noted = X.assign(note=[f"{k} green bottles hanging on the wall" for k in range(len(X))])
    absent = "gradient boosting was not tried, as 'note' is text"
    found = compare(noted, y, splits=2, sizes=[50])
    assert absent in str(found)
    assert "AutoBayes" in by_name(found)  # the default model, which weighs the words
    with pytest.raises(ValueError, match=f"'Gradient Boosting' to compare: {absent}; choose from"):
        compare(noted, y, splits=2, only=["Gradient Boosting"])
    given = compare(X, y, splits=2, columns={"age": "gamma"}, sizes=[50])
    absent = "AutoBayes and gradient boosting were not tried, as 'age' was given a family"
    assert absent in str(given)
    wide = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (60, 201))).add_prefix("x")
    found = compare(wide, np.arange(60) % 2, splits=2, only=["naive Bayes"])
    assert found.apart == ""  # nobody asked
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    options = ["--columns", "age=gamma", "--splits", "2", "--sizes", "50"]
    assert run(["compare", str(tmp_path / "t.csv"), "-t", "y", *options]) == 0
    assert absent in " ".join(capsys.readouterr().out.split())
    assert "not tried" not in diagnose(noted, y).recommendation
    assert "not tried" not in str(compare(X, y, splits=2, sizes=[10]))


def test_documents_have_their_default_model(capsys, tmp_path):
    """`TextNB` is recommended by a name and a command that give this model."""
    rng = np.random.default_rng(0)
    words = np.array(["cash", "win", "now", "free", "meeting", "noon", "lunch", "minutes", "a"])
    y = np.arange(120) % 2
    texts = [" ".join(rng.choice(words[2 * k : 2 * k + 6], 9)) for k in y]
    labels = np.where(y, "ham", "spam")
    found = compare(texts, labels, splits=2, sizes=[50])
    model = by_name(found)["TextNB"]
    assert model.option == ""
    fitted = eval(model.use, {"TextNB": TextNB}).fit(texts, labels)
    for label in ("ham", "spam"):
        lines = [text + "\n" for text, own in zip(texts, labels, strict=True) if own == label]
        (tmp_path / f"{label}.txt").write_text("".join(lines))
    files = [str(tmp_path / f"{label}.txt") for label in ("ham", "spam")]
    assert run(["fit", *files, "-o", str(tmp_path / "m")]) == 0
    saved = naively.load(tmp_path / "m")
    probability = saved.predict_proba({"text": texts[:5]})
    assert np.array_equal(probability, fitted.predict_proba(texts[:5]))
    assert "TextNB" in {rung.name for rung in diagnose(texts, labels).rungs}
    capsys.readouterr()
    assert run(["compare", *files, "--splits", "2", "--sizes", "50"]) == 0
    out = capsys.readouterr().out
    assert "gradient boosting was not tried, as 'text' is text" in out
    assert "in Python           TextNB(" in out
    assert "naively fit DATA --target label" in out


def test_models_of_the_same_predictions_differ_by_nothing():
    """Of two classes, the complement of one is the other; rounding is no difference."""
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(["one", "two", "three"], 4)) + f" {k % 7}x" for k in range(90)]
    found = compare(texts, np.arange(90) % 2, splits=2, sizes=[40])
    naive, other = (by_name(found)[name] for name in ("naive Bayes", "naive Bayes, complement"))
    difference = margin(other.curve.losses, naive.curve.losses)
    assert (difference.mean, difference.error) == (0.0, 0.0)
    assert str(difference) == "0"


def test_diagnose_has_it_as_a_rung(table, capsys, tmp_path):
    X, y = table
    found = diagnose(X.drop(columns=["day", "empty"]), y)
    own = next(one for one in found.rungs if one.name == "AutoBayes")
    naive = next(one for one in found.rungs if one.name == "naive Bayes")
    assert own.log_loss < naive.log_loss - 0.1
    assert own.option == ""
    assert own.use == "AutoBayes()"
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    assert run(["diagnose", str(tmp_path / "t.csv"), "-t", "y"]) == 0
    out = capsys.readouterr().out
    if "recommendation      AutoBayes" in out:
        assert out.splitlines()[-1] == "naively fit DATA --target y -o MODEL"
    assert "AutoBayes" in out


def test_diagnose_has_it_beside_text_and_not_beside_families(table):
    X, y = table
    X = X.assign(note=[f"{k} green bottles hanging on the wall" for k in range(len(X))])
    for columns, use in (
        ({"age": "gamma"}, None), ({"note": Text()}, "AutoBayes(text=['note'])"),
        (None, "AutoBayes()"),
    ):  # fmt: skip
        rungs = {one.name: one.use for one in diagnose(X, y, columns=columns).rungs}
        assert rungs.get("AutoBayes") == use


# ---- time ----------------------------------------------------------------------------------------


class Slow(ClassifierMixin, BaseEstimator):
    """Takes its time."""

    def __init__(self, each=0.05, rows=0):
        self.each, self.rows = each, rows

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        time.sleep(self.each if len(X) >= self.rows else 0)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_a_candidate_that_takes_too_long_is_not_gone_on_with(table):
    """Few rows take it no time, many more than there is, however busy the machine."""
    X, y = table
    name = "Slow(each=3.0, rows=100)"
    found = compare(X, y, splits=2, only=[name.lower()], estimators=[Slow(3.0, 100)], seconds=2.5)
    slow = by_name(found)[name].curve
    assert slow.reason == too_long(2.5) == "not finished in 2.5 seconds"
    assert np.isfinite(slow.error[:, 0]).all()
    assert np.isnan(slow.error[:, -1]).all()
    assert "not finished in 2.5 seconds" in str(found)


def test_a_rung_that_takes_too_long_is_not_gone_on_with(table):
    found = compare(*table, splits=2, only=["AutoBayes"], seconds=1e-6)
    fitted = by_name(found)["AutoBayes"].curve
    assert fitted.reason == too_long(1e-6)
    assert not np.isfinite(fitted.error[:, -1]).any()


@pytest.mark.slow
def test_a_fit_in_another_process_is_ended(table, monkeypatch):
    """It would take a minute."""
    X, y = table
    monkeypatch.setattr(alternatives, "PATIENCE", 0.0)
    start = time.perf_counter()
    slow = Slow(60.0, rows=100)
    found = compare(
        X, y, splits=2, only=["Slow(each=60.0, rows=100)"], estimators=[slow], seconds=4
    )
    assert time.perf_counter() - start < 45
    assert by_name(found)["Slow(each=60.0, rows=100)"].curve.reason == too_long(4)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_no_time_is_refused(table, seconds):
    with pytest.raises(ValueError, match="seconds must be above 0"):
        compare(*table, seconds=seconds)


def test_names_are_a_list_of_those_there_are(table):
    with pytest.raises(ValueError, match=r"as \['AutoBayes'\]"):
        compare(*table, only="AutoBayes")
    with pytest.raises(ValueError, match="choose from class prior, naive Bayes"):
        compare(*table, only=["boosting"])


def test_on_the_command_line(table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = table
    X.assign(y=y).to_csv("t.csv", index=False)
    tokens = ["compare", "t.csv", "-t", "y", "--splits", "2"]
    assert run([*tokens, "--only", "autobayes", "--seconds", "60"]) == 0
    assert "logistic regression" not in capsys.readouterr().out
    assert run([*tokens, "--only", "autobayes", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found["candidates"]] == ["class prior", "AutoBayes"]
    assert run([*tokens, "--seconds", "0"]) == 2
    assert "--seconds" in capsys.readouterr().err
    assert run([*tokens, "--only", "khiops"]) == 1
    err = capsys.readouterr().err
    assert "there is no model 'khiops' to compare" in err


# ---- sizes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[20, 50], np.array([50, 20, 20])])
def test_sizes_are_chosen_and_their_errors_are_those_of_the_whole_curve(table, sizes):
    X, y = table
    names = ["naive Bayes", "logistic regression"]
    every, some = (compare(X, y, splits=3, only=names, **own) for own in ({}, {"sizes": sizes}))
    assert some.sizes == (20, 50)
    where = [every.sizes.index(size) for size in some.sizes]
    for one, other in zip(every.candidates, some.candidates, strict=True):
        np.testing.assert_array_equal(one.curve.error[:, where], other.curve.error)
        near = 0.0 if one.kind != "scikit-learn" else 1e-3  # it depends on the order of the rows
        np.testing.assert_allclose(one.curve.log_loss[:, where], other.curve.log_loss, near)
    assert "with 50 training rows" in str(some).replace("\n", " ")


def test_all_rows_are_a_size_that_may_be_chosen(table):
    X, y = table
    whole = compare(X, y, splits=3, only=["naive Bayes"])
    last = compare(X, y, splits=3, only=["naive Bayes"], sizes=[whole.sizes[-1]])
    for one, other in zip(whole.candidates, last.candidates, strict=True):
        np.testing.assert_array_equal(one.curve.losses, other.curve.losses)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([1], "from 2, a row of each class, to 160, the training rows of the smallest split; 1 is"),
        ([10, 161], "161 is not"),
        ([2.5], "whole numbers of rows, as 100, not 2.5"),
        ([0], "whole numbers"),
        ([True], "whole numbers"),
        ("100", "whole numbers"),
    ],
)
def test_sizes_that_there_are_not(table, sizes, said):
    with pytest.raises(ValueError, match=said):
        compare(*table, splits=3, sizes=sizes)


def test_sizes_on_the_command_line(table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = table
    X.assign(y=y).to_csv("t.csv", index=False)
    tokens = ["compare", "t.csv", "-t", "y", "--splits", "2", "--only", "naive Bayes"]
    assert run([*tokens, "--sizes", "10,100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sizes"] == [10, 100]
    assert run([*tokens, "--sizes", "10,100", "--accuracy", "--plot", "c.png"]) == 0
    out = capsys.readouterr().out
    right = 100 - 100 * compare(X, y, splits=2, sizes=[10, 100]).candidates[0].error
    line = next(one for one in out.splitlines() if one.startswith("class prior"))
    assert line.split()[2:4] == [f"{one:.1f}" for one in right]
    assert "accuracy in %" in out
    for wrong in ("10;100", "", "1e3", "0"):
        assert run([*tokens, "--sizes", wrong]) == 2
        assert "--sizes: " in capsys.readouterr().err
    assert run([*tokens, "--sizes", "1000"]) == 1
    assert "1,000 is not" in capsys.readouterr().err


# ---- files ---------------------------------------------------------------------------------------


def test_diagnose_of_a_path_knows_its_documents(tmp_path):
    """As `compare` does, and `naively diagnose`: lines of a text file are texts, however short."""
    lines = {"ham": ["at noon", "lunch", "notes"], "spam": ["cash", "win", "free"]}
    for name, texts in lines.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(texts * 10) + "\n")
    found = diagnose([str(tmp_path / "ham.txt"), str(tmp_path / "spam.txt")], "label")
    assert "words" in found.columns.values()


def test_what_follows_from_another_column_is_said_in_words():
    rng = np.random.default_rng(0)
    shop = rng.integers(0, 40, 400)
    X = pd.DataFrame({"shop": [f"s{k}" for k in shop], "rent": shop * 1.25 + 0.5})
    y = np.where(rng.random(400) < 0.5, "a", "b")
    assert "∞" not in str(diagnose(X, y))
    numbers = str(diagnose(X[["rent"]].assign(double=X["rent"] * 2 + rng.random() / 9), y))
    assert "∞: one of two numeric features is a function of the other" in numbers


@pytest.mark.skipif(DATA is None, reason="NAIVELY_DATA names the folder of data sets")
def test_car():
    found = by_name(compare(f"{DATA}/car/car.arff", "class", splits=2, only=[*BOTH, "naive Bayes"]))
    assert found["AutoBayes"].log_loss[-1] < 0.6 * found["naive Bayes"].log_loss[-1]
    assert found["gradient boosting"].error[-1] < 0.05
