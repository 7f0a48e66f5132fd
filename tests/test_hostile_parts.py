"""Merged models whose parts have constant, rare, absent or identifier columns.

`a + b`, `partial_fit`, `naively merge` and `naively update` give the model of all rows, or refuse.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import fitted, proba
from product import run

import naively
from naively import Categorical, NaiveBayes
from naively.tables.left_out import left_out

# Each makes the values of a column: all alike in the first half of the rows, or rare, or many.
COLUMNS = {
    "rare flag": lambda g, n: (g.random(n) < 0.01).astype(int).tolist(),
    "flag": lambda g, n: [0] * (n // 2) + g.integers(0, 2, n - n // 2).tolist(),
    "truth": lambda g, n: [True] * (n // 2) + (g.random(n - n // 2) < 0.5).tolist(),
    "truth text": lambda g, n: (
        ["TRUE"] * (n // 2) + np.where(g.random(n - n // 2) < 0.5, "TRUE", "False").tolist()
    ),
    "late": lambda g, n: [None] * (n // 2) + g.choice(["a", "b"], n - n // 2).tolist(),
    "late number": lambda g, n: [None] * (n // 2) + g.normal(size=n - n // 2).tolist(),
    "word": lambda g, n: ["x"] * (n // 2) + g.choice(["x", "y", "z"], n - n // 2).tolist(),
    "number": lambda g, n: [0.0] * (n // 2) + g.normal(size=n - n // 2).round(3).tolist(),
    "amount": lambda g, n: [5] * (n // 2) + g.integers(-500, 500, n - n // 2).tolist(),
    "rare word": lambda g, n: g.choice(["r", "s", None], n, p=[0.99, 0.005, 0.005]).tolist(),
    "some words": lambda g, n: [f"w{k % 1000}" for k in g.zipf(1.3, n)],
    "some whole": lambda g, n: g.integers(0, g.integers(15, 30), n).tolist(),
    "counts": lambda g, n: g.poisson(g.uniform(0.5, 12), n).tolist(),
    "tail": lambda g, n: (g.zipf(2, n) % 500).tolist(),
    "key": lambda g, n: [f"id{k}" for k in range(n)],
    "dates": lambda g, n: (
        ["2020-01-01"] * (n // 2) + [f"2021-01-{k % 28 + 1:02}" for k in range(n - n // 2)]
    ),
}


@st.composite
def halves(draw):
    """(a table, labels) of which the first half knows less."""
    g = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.sampled_from([40, 200, 400]))
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4, unique=True))
    X = {name: COLUMNS[name](g, n) for name in names}
    y = g.choice(["a", "b"], n, p=[0.7, 0.3]).tolist()
    y[:2] = y[n // 2 : n // 2 + 2] = ["a", "b"]  # each half can be fitted
    return X, y


def parts(X, y):
    half = len(y) // 2
    for rows in (slice(None, half), slice(half, None)):
        yield {name: column[rows] for name, column in X.items()}, y[rows]


def check_refusal(error):
    """It says which column, and what to do; or that there are identifiers and dates alone."""
    said = str(error)
    clear = "column '" in said and ("`columns`" in said or "--columns" in said)
    if not clear and "no column is left" not in said:
        raise error


@given(halves())
def test_sums_are_the_model_of_all_rows_or_refused(table):
    X, y = table
    try:
        whole = fitted(X, y)
    except ValueError as error:
        check_refusal(error)
        return
    try:
        a, b = (fitted(*part) for part in parts(X, y))
        both, other = a + b, b + a
    except ValueError as error:
        check_refusal(error)
        return
    expected = proba(whole, X).tolist()
    assert proba(both, X).tolist() == expected
    assert proba(other, X).tolist() == expected
    assert both.model_ == whole.model_


@given(halves(), st.sampled_from([1, 7, 50]))
def test_learning_on_is_the_model_of_all_rows(table, size):
    """Batch by batch, from the first row on."""
    X, y = table
    X = {name: column for name, column in X.items() if name not in ("key", "dates")}
    if not X:
        return
    model = NaiveBayes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        size = max(size, len(y) // 80)  # row by row, if they are few
        first = max(size, 20)  # as many as settle what is an identifier
        for start in [0, *range(first, len(y), size)]:
            rows = slice(start, first if start == 0 else start + size)
            try:
                model.partial_fit({n: c[rows] for n, c in X.items()}, y[rows])
            except ValueError as error:
                check_refusal(error)
                return
    whole = fitted(X, y)
    known, expected = model.model_.schema.family_of, whole.model_.schema.family_of
    for name in {*known} & {*expected}:  # the rule may see something else in the first rows
        if type(known[name]) is not type(expected[name]):
            return
    if {*known} == {*expected}:
        assert model.model_ == whole.model_
        assert proba(model, X).tolist() == proba(whole, X).tolist()


def test_a_flag_that_was_constant_in_one_part(tmp_path, monkeypatch, capsys):
    """The issue's example: 1,000 rows with flag = 0, then rows where it varies."""
    monkeypatch.chdir(tmp_path)
    g = np.random.default_rng(0)
    n = 1000
    y = np.where(g.random(2 * n) < 0.5, "a", "b")
    flag = np.where(np.arange(2 * n) < n, 0, (g.random(2 * n) < 0.5).astype(int))
    table = pd.DataFrame({"flag": flag, "x": g.normal(size=2 * n).round(3), "y": y})
    table[:n].to_csv("one.csv", index=False)
    table[n:].to_csv("two.csv", index=False)
    table.to_csv("both.csv", index=False)
    for name in ("one", "two", "both"):
        assert run(["fit", f"{name}.csv", "--target", "y", "-o", name]) == 0
    assert run(["merge", "one", "two", "-o", "sum"]) == 0
    assert run(["merge", "two", "one", "-o", "turned"]) == 0
    assert run(["update", "one", "two.csv"]) == 0
    assert run(["update", "two", "one.csv"]) == 0
    expected = naively.load("both")
    rows = table.drop(columns="y")
    for name in ("sum", "turned", "one", "two"):
        model = naively.load(name)
        assert model.model_ == expected.model_, name
        assert model.predict_proba(rows).tolist() == expected.predict_proba(rows).tolist(), name


def test_a_column_of_one_value_is_left_out_until_it_varies(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = {"flag": [0] * 30, "x": np.arange(30) ** 2 * 0.5}
    y = ["a", "b", "b"] * 10
    model = fitted(X, y)
    assert left_out(model.model_) == {"flag": "constant"}
    alone = fitted({"x": X["x"]}, y)
    for flag in (0, 1, None, "what"):  # it tells nothing, whatever it is
        row = {"flag": [flag], "x": [3.0]}
        assert model.predict_proba(row).tolist() == alone.predict_proba({"x": [3.0]}).tolist()
    assert fitted(X, y, unseen="error").predict({"flag": [1], "x": [3.0]}).shape == (1,)
    model.partial_fit({"flag": [1, 2], "x": [1.0, 2.0]}, ["a", "b"])
    assert left_out(model.model_) == {}
    assert model.model_.schema.why["flag"] == "whole numbers, 3 different"
    model.forget({"flag": [1, 2], "x": [1.0, 2.0]}, ["a", "b"])
    assert left_out(model.model_) == {"flag": "constant"}
    assert model.predict_proba(X).tolist() == fitted(X, y).predict_proba(X).tolist()


def test_a_table_in_which_nothing_varies_is_a_shard_all_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match="no column has evidence yet .flag: constant"):
        model = NaiveBayes().fit({"flag": [0] * 9}, ["a", "b", "b"] * 3)
    assert model.predict_proba({"flag": [0]})[0] == pytest.approx([1 / 3, 2 / 3])
    (tmp_path / "t.csv").write_text("flag,y\n" + "0,a\n0,b\n0,b\n" * 3)
    assert run(["fit", "t.csv", "--target", "y", "-o", "m"]) == 0
    assert "no column has evidence yet (flag: constant)" in capsys.readouterr().err
    with pytest.raises(ValueError, match="no column is left to train on"):
        NaiveBayes().fit({"id": [f"k{i}" for i in range(40)]}, ["a", "b"] * 20)


def test_what_one_model_skips_and_the_other_learned_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    y = ["a", "b"] * 20
    x = (np.arange(40) ** 2 * 0.5).tolist()
    words = fitted({"k": ["u", "v"] * 20, "x": x}, y)
    skipped = fitted({"k": ["u", "v"] * 20, "x": x}, y, columns={"k": "skip"})
    for a, b in ((skipped, words), (words, skipped)):
        with pytest.raises(
            ValueError, match=r"'k' was left out of one model .as specified.*skip it"
        ):
            a + b
        before = a.model_.copy()
        assert a.model_ == before
    for name, model in (("skipped", skipped), ("words", words)):
        model.save(tmp_path / name)
    assert run(["merge", "skipped", "words", "-o", "m"]) == 1
    assert "column 'k' was left out of one model" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_identifiers_are_detected_from_all_rows():
    """Keys of one part and levels of another are what they are in one fit of both."""
    y = ["a", "b"] * 20
    x = (np.arange(40) ** 2 * 0.5).tolist()
    ids, levels = [f"id{i}" for i in range(40)], ["u", "v"] * 20
    keys = NaiveBayes().partial_fit({"k": ids, "x": x}, y)
    words = fitted({"k": levels, "x": x}, y)
    assert left_out(keys.model_)["k"].startswith(
        "looks like an identifier: 40 different values in 40"
    )
    for both in (keys + words, words + keys):
        whole = fitted({"k": ids + levels, "x": x + x}, y + y)
        assert both.model_ == whole.model_
        assert both.model_.schema.why == whole.model_.schema.why == {
            "k": "text, 42 categories", "x": "numbers"
        }  # fmt: skip
    gone = fitted({"k": ids, "x": x}, y)  # one fit stores nothing of what it has left out
    for a, b in ((gone, words), (words, gone)):
        with pytest.raises(ValueError, match=r"'k' was left out of one model .looks like an.*skip"):
            a + b
    for one in (keys, gone):
        both = one + fitted({"k": [None] * 40, "x": x}, y)
        assert left_out(both.model_)["k"].startswith("looks like")


def test_counts_of_levels_become_the_statistics_of_any_family():
    """Weights and missing values too, exactly: as if those rows had been of that family."""
    g = np.random.default_rng(1)
    n = 300
    y = g.choice(["a", "b"], n)
    weight = g.random(n) * 3
    x = np.where(g.random(n) < 0.1, np.nan, 2.0)
    for family in ("gaussian", "poisson", "gamma", "kernel_density", "discretized", "bernoulli"):
        v = g.integers(0, 2, n) if family == "bernoulli" else g.integers(1, 40, n)
        one = np.where(np.isnan(x), np.nan, 1.0 if family == "bernoulli" else 2.0)
        parts = []
        for column, how in ((one, {}), (v.astype(float), {"v": family})):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                model = NaiveBayes(how).fit({"v": column}, y, sample_weight=weight)
            parts.append(model)
        whole = NaiveBayes({"v": family}).fit(
            {"v": np.concatenate([one, v])}, np.concatenate([y, y]), np.concatenate([weight] * 2)
        )
        for a, b in (parts, parts[::-1]):
            assert (a + b).model_ == whole.model_, family


def test_few_whole_numbers_become_many():
    """20 different ones are levels, 21 are numbers: whichever part had how many."""
    y = ["a", "b"] * 60
    few = (np.arange(120) % 15).tolist()
    more = (np.arange(120) % 17 * 3).tolist()
    a, b = fitted({"n": few}, y), fitted({"n": more}, y)
    assert (
        a.model_.schema.family_of["n"].name == b.model_.schema.family_of["n"].name == "categorical"
    )
    both = a + b
    whole = fitted({"n": few + more}, y + y)
    assert both.model_.schema.family_of["n"].name == "gaussian"
    assert both.model_ == whole.model_
    assert both.model_.schema.why == whole.model_.schema.why


def test_parts_that_are_fitted_like_another(tmp_path, monkeypatch, capsys):
    """Shards of one class each, of whatever values: with `like` they add up."""
    monkeypatch.chdir(tmp_path)
    g = np.random.default_rng(0)
    n = 400
    y = np.sort(g.choice(["a", "b"], n))
    table = pd.DataFrame(
        {
            "k": np.where(np.arange(n) < 200, [f"id{i}" for i in range(n)], "u"),
            "n": np.where(np.arange(n) < 200, g.integers(0, 9, n), g.integers(0, 900, n)),
            "flag": np.where(y == "a", "True", "False"),
            "day": np.where(np.arange(n) < 100, "12:30", "never"),
            "y": y,
        }
    )
    table.to_csv("all.csv", index=False)
    assert run(["fit", "all.csv", "--target", "y", "-o", "all"]) == 0
    for label in "ab":
        table[y == label].to_csv(f"{label}.csv", index=False)
        assert run(["fit", f"{label}.csv", "--like", "all", "-o", label]) == 0
        assert naively.load(label).classes_.tolist() == [label]
    assert run(["merge", "a", "b", "-o", "sum"]) == 0
    whole, both = naively.load("all"), naively.load("sum")
    assert both.model_ == whole.model_
    assert both.get_params() == whole.get_params()
    rows = table.drop(columns="y")
    assert proba(both, rows).tolist() == proba(whole, rows).tolist()
    one, other = (NaiveBayes().fit(rows[y == label], y[y == label], like=whole) for label in "ab")
    assert (one + other).model_ == whole.model_
    assert "like" not in whole.get_params()
    capsys.readouterr()
    for options, said in (
        (["--columns", "n=gamma"], "leave out --columns"), (["--alpha", "2"], "--alpha"),
        (["--target", "n"], "the target of all is 'y'"),
    ):  # fmt: skip
        assert run(["fit", "a.csv", "--like", "all", "-o", "m", *options]) == 2
        assert said in capsys.readouterr().err
    (tmp_path / "other.csv").write_text("q,y\n1,a\n")
    assert run(["fit", "other.csv", "--like", "all", "-o", "m"]) == 1
    assert "none of the features of the model" in capsys.readouterr().err


SUMS = {  # one part, the other, what all of it is
    "an identifier": (["x"] * 100, [f"id{i}" for i in range(100)], "text, 101 categories"),
    "a key of whole numbers": ([5] * 100, list(range(1000, 1100)), "whole numbers"),
    "counts": ([1000] * 100, [*range(30, 55)] * 4, "whole numbers"),
    "a code": (["007"] * 100, [str(k * k / 7) for k in range(100)], "text, 101 categories"),
    "a truth value": (["true"] * 100, [str(k * k / 7) for k in range(100)], "text, 101 categories"),
}


@pytest.mark.parametrize("name", SUMS)
def test_a_sum_is_what_all_rows_are(name):
    """The rule sees something else in all rows than in either part: the sum is one fit of all."""
    one, other, why = SUMS[name]
    z, y = (np.arange(100) ** 2 * 0.5).tolist(), ["a", "b"] * 50
    a, b = (NaiveBayes().partial_fit({"x": x, "z": z}, y) for x in (one, other))
    whole = fitted({"x": one + other, "z": z + z}, y + y)
    for both in (a + b, b + a):
        assert both.model_ == whole.model_
        assert both.model_.schema.why["x"] == why


def test_a_sum_has_the_hyperparameters_of_the_left_model():
    z, y = (np.arange(40) ** 2 * 0.5).tolist(), ["a", "b"] * 20
    a = fitted({"x": ["u"] * 40, "z": z}, y)
    b = fitted({"x": ["u", "v"] * 20, "z": z}, y, alpha=7.0, unseen="ignore")
    with pytest.warns(UserWarning, match="alpha=1.0, not 7.0, unseen='smooth', not 'ignore'"):
        assert (a + b).model_.schema.family_of["x"] == Categorical(alpha=1.0, unseen="smooth")
    assert (b + a).model_.schema.family_of["x"] == Categorical(alpha=7.0, unseen="ignore")


def test_an_invalid_value_stops_no_training():
    model = fitted({"x": [5.0] * 40}, ["a", "b"] * 20)
    model.partial_fit({"x": [1.5, np.inf, 2.5]}, ["a", "b", "b"])
    assert model.model_.schema.why["x"] == "numbers, 3 different"
    numbers = [k * k / 7 for k in range(40)]
    with pytest.warns(UserWarning, match="1 value such as 'inf' .*cannot be used"):
        model = NaiveBayes().fit({"x": [*numbers, np.inf]}, ["a", "b"] * 20 + ["a"])
    assert model.model_.schema.family_of["x"].name == "gaussian"
    with pytest.warns(UserWarning, match="1 value such as 'inf' .*cannot be used"):
        model.partial_fit({"x": [np.inf]}, ["a"])


def test_parts_like_a_model_in_which_a_column_was_constant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    g = np.random.default_rng(0)
    frames = {
        "one": pd.DataFrame({"x": [1000] * 100, "z": g.normal(size=100), "y": ["a", "b"] * 50}),
        "two": pd.DataFrame(
            {"x": g.poisson(40, 100), "z": g.normal(size=100), "y": ["a", "b"] * 50}
        ),
        "three": pd.DataFrame(
            {"x": g.integers(0, 900, 100), "z": g.normal(size=100), "y": ["a", "b"] * 50}
        ),
    }
    for name, frame in frames.items():
        frame.to_csv(f"{name}.csv", index=False)
    pd.concat(frames.values()).to_csv("all.csv", index=False)
    assert run(["fit", "one.csv", "--target", "y", "-o", "one"]) == 0
    assert run(["fit", "all.csv", "--target", "y", "-o", "all"]) == 0
    for name in ("two", "three"):
        assert run(["fit", f"{name}.csv", "--like", "one", "-o", name]) == 0
    assert run(["merge", "one", "two", "three", "-o", "sum"]) == 0
    for name in ("two", "three"):
        assert run(["update", "one", f"{name}.csv"]) == 0
    expected = naively.load("all").model_
    assert naively.load("sum").model_ == expected
    assert naively.load("one").model_ == expected
    assert run(["forget", "one", "three.csv"]) == 0
