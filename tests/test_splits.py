"""Folds by group and by time: as scikit-learn splits, and as refitting without them."""

import json
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, TimeSeriesSplit

import naively
from naively import AutoBayes, GaussianNB, TextNB
from naively.cli.main import run
from naively.evaluation.learning_curves import Splits
from naively.evaluation.splits import ByGroup, ByTime


def said(capsys, *tokens, status=0):
    """(standard output, standard error) of a command."""
    found = run([str(token) for token in tokens])
    out, err = capsys.readouterr()
    assert found == status, err
    return out, err


@pytest.fixture
def customers(tmp_path, monkeypatch):
    """60 customers with 20 rows each: what a row tells is who it is, and not the class."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    customer = rng.integers(0, 60, 1200)
    buys = rng.random(60) < 0.5
    table = pd.DataFrame({
        "customer": [f"c{k:02d}" for k in customer],
        "habit": (rng.normal(size=60)[customer] + 0.02 * rng.normal(size=1200)).round(3),
        "noise": rng.normal(size=1200).round(3),
        "date": pd.date_range("2026-01-01", periods=1200, freq="h")[rng.permutation(1200)],
        "buys": np.where(buys[customer], "yes", "no"),
    })  # fmt: skip
    table.to_csv("customers.csv", index=False)
    return table


# ---- by group ------------------------------------------------------------------------------------


rows_of_groups = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), min_size=2, max_size=60)


@given(rows_of_groups, st.integers(2, 6), st.randoms())
def test_a_group_is_in_one_fold_wherever_its_rows_are(rows, count, random):
    groups, codes = np.array(rows).T
    if len(np.unique(groups)) < 2:
        with pytest.raises(ValueError, match="all rows are of one shop"):
            ByGroup(groups, "shop").folds(codes, None, count)
        return
    fold = ByGroup(groups).folds(codes, None, count)
    assert {*fold} == {*range(min(count, len(np.unique(groups))))}
    assert all(len(np.unique(fold[groups == group])) == 1 for group in np.unique(groups))
    order = np.array(random.sample(range(len(groups)), len(groups)))
    assert_array_equal(ByGroup(groups[order]).folds(codes[order], None, count), fold[order])
    learned, tests = ByGroup(groups).splits(codes, None, count)
    assert_array_equal(np.sort(np.concatenate(tests)), np.arange(len(groups)))
    for in_training, test in zip(learned, tests, strict=True):
        assert not {*groups[in_training]} & {*groups[test]}


@given(rows_of_groups, st.integers(2, 6), st.lists(st.integers(0, 3), min_size=60, max_size=60))
def test_a_row_of_weight_w_is_w_rows(rows, count, weights):
    groups, codes = np.array(rows).T
    weights = np.array(weights[: len(groups)])
    copies = np.repeat(np.arange(len(groups)), weights)
    if len(np.unique(groups[copies])) < 2:
        return
    fold = ByGroup(groups).folds(codes, weights.astype(float), count)
    repeated = ByGroup(groups[copies]).folds(codes[copies], None, count)
    assert_array_equal(repeated, fold[copies])


def test_folds_are_balanced_as_those_of_scikit_learn():
    rng = np.random.default_rng(3)
    groups = rng.choice(150, 3000, p=rng.dirichlet(np.full(150, 0.5)))
    y = (rng.random(150)[groups] < rng.random(3000)).astype(int) + (groups % 9 == 0)

    def imbalance(fold):
        counts = np.array([np.bincount(y[fold == k], minlength=3) for k in range(5)])
        return (counts**2 / counts.sum(axis=0)).sum()

    theirs = np.empty(3000, int)
    for k, (_, test) in enumerate(StratifiedGroupKFold(5).split(groups, y, groups)):
        theirs[test] = k
    assert imbalance(ByGroup(groups).folds(y, None, 5)) <= 1.001 * imbalance(theirs)


def test_missing_values_are_one_group():
    groups = ByGroup.of(pd.array(["a", None, "b", "?", "a", None]), ["?"])
    assert groups.numbers.tolist() == [0, 2, 1, 2, 0, 2]


# ---- by time -------------------------------------------------------------------------------------


@given(st.integers(3, 40), st.integers(2, 8), st.randoms())
def test_blocks_are_those_of_time_series_split(n, count, random):
    times = np.array(random.sample(range(1000), n), float)
    order = np.argsort(times)
    learned, tests = ByTime(times).splits(None, None, count)
    theirs = [*TimeSeriesSplit(min(count, n - 1)).split(order)]
    assert len(theirs) == len(tests)
    for in_training, test, (train, own) in zip(learned, tests, theirs, strict=True):
        assert_array_equal(np.flatnonzero(in_training), np.sort(order[train]))
        assert_array_equal(test, np.sort(order[own]))


times_of_rows = st.lists(st.one_of(st.integers(0, 8), st.just(np.nan)), min_size=1, max_size=40)


@given(times_of_rows, st.integers(2, 6))
def test_every_row_is_predicted_from_earlier_ones(times, count):
    times = np.array(times, float)
    if len(np.unique(times[~np.isnan(times)])) < 2:
        with pytest.raises(ValueError, match="no day is later than another"):
            ByTime(times, "day").splits(None, None, count)
        return
    learned, tests = ByTime(times).splits(None, None, count)
    assert 1 <= len(tests) <= count
    for in_training, test in zip(learned, tests, strict=True):
        assert times[in_training].max() < times[test].min()
        assert_array_equal(in_training, times < times[test].min())  # all earlier rows
    last = np.nanmax(times)
    assert_array_equal(tests[-1][times[tests[-1]] == last], np.flatnonzero(times == last))


def test_times_are_dates_or_numbers():
    dates = ByTime.of([datetime(2026, 1, 2), None, datetime(2025, 12, 31, 12)], ())
    assert np.diff(dates.times[[2, 0]]).tolist() == [36 * 3600]
    assert np.isnan(dates.times[1])
    assert dates.unused == 1
    assert ByTime.of(["10", "9", "NA"], ["NA"]).times[:2].tolist() == [10, 9]
    for column in (["2026-01-02", "soon"], ["3", "soon"], ["2026-01-02", "3"]):
        with pytest.raises(ValueError, match=r"the time column 'day' holds '.*numbers alone or"):
            ByTime.of(column, (), "day")


# ---- the law: left out is refitted without -------------------------------------------------------


@pytest.mark.parametrize("model", [AutoBayes(), GaussianNB(), TextNB()])
@pytest.mark.parametrize("kind", ["groups", "time"])
def test_out_of_fold_is_refitted_on_the_other_rows(model, kind):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(1).permutation(150)
    X, y = X[order], y[order]
    if isinstance(model, TextNB):
        X = np.array([" ".join(f"{k}{v:.0f}" for k, v in enumerate(row)) for row in X])
    by = np.random.default_rng(0).integers(0, 25, 150)
    found = model.out_of_fold(X, y, parts=4, **{kind: by})
    splits = {"groups": ByGroup, "time": ByTime}[kind].of(by, ()).splits(y, None, 4)
    assert found.method == {"groups": "cross-validation by group",
                            "time": "forward validation by time"}[kind]  # fmt: skip
    for fold, in_training, test in zip(found.folds, *splits, strict=True):
        assert_array_equal(fold.rows, test)
        alone = clone(model).fit(X[in_training], y[in_training])
        assert_array_equal(fold.log_proba, alone.predict_log_proba(X[test]))


def test_a_splitter_gets_the_groups(customers):
    X, y, groups = customers[["habit", "noise"]], customers["buys"], customers["customer"]
    found = naively.cross_validate(AutoBayes(), X, y, GroupKFold(4), groups=groups)
    splits = [*GroupKFold(4).split(X, y, groups)]
    same = naively.cross_validate(AutoBayes(), X, y, splits)
    assert_array_equal(found.log_proba, same.log_proba)
    assert str(found).startswith("4-fold cross-validation by customer ")
    named = naively.cross_validate(AutoBayes(), customers.drop(columns="date"), "buys", 4,
                                   groups="customer")  # fmt: skip
    by_int = naively.cross_validate(AutoBayes(), X, y, 4, groups=groups.to_numpy())
    assert_array_equal(named.log_proba, by_int.log_proba)
    assert "by customer" in named._repr_html_()
    assert by_int.method == "cross-validation by group"


def test_arguments_that_make_no_sense():
    X, y = load_iris(return_X_y=True)
    for model, arguments, message in (
        (AutoBayes(), {"groups": y, "time": y}, "two ways to split rows: pass one"),
        (AutoBayes(), {"groups": y[:9]}, "X has 150 rows, and there are 9 groups"),
        (GaussianNB(), {"groups": "x3"}, "pass a value for each row, not the name 'x3'"),
        (AutoBayes(), {"groups": "x7"}, "there is no column 'x7'; the columns are"),
        (AutoBayes(), {"groups": np.zeros(150)}, "all rows are of one group"),
        (AutoBayes(), {"time": ["soon"] * 150}, "the time column holds 'soon'"),
    ):
        with pytest.raises(ValueError, match=message):
            model.out_of_fold(X, y, **arguments)


# ---- the command line ----------------------------------------------------------------------------


def test_fit_measures_by_customer(customers, capsys):
    data = ("customers.csv", "--target", "buys", "-o", "m.model")
    random = json.loads(said(capsys, "fit", *data, "--skip", "customer", "--json")[0])
    assert random["cross_validation"]["accuracy"] > 0.75  # it recognises customers
    by_customer = json.loads(said(capsys, "fit", *data, "--groups", "customer", "--json")[0])
    found = by_customer["cross_validation"]
    assert found["accuracy"] < 0.6
    assert found["folds"] == 10
    assert found["method"] == "cross-validation by customer"
    python = AutoBayes().out_of_fold(customers, "buys", groups="customer")
    assert found["accuracy"] == python.accuracy
    assert found["log_loss"] == pytest.approx(python.log_loss, rel=1e-12)
    assert by_customer["left_out"]["customer"] == "--groups"

    out, _ = said(capsys, "fit", *data, "--groups", "customer")
    assert "10-fold cross-validation by customer " in out
    out, _ = said(capsys, "inspect", "m.model")
    assert "folds at random, not by customer as `naively fit` did" in out
    out, _ = said(capsys, "fit", *data, "--groups", "customer", "--categorical", "customer")
    assert "\ncustomer  60 categories" in out  # asked for as a feature
    assert "by customer" in out


def test_a_class_of_one_customer_counts_as_errors(customers, capsys):
    last = customers["customer"] == "c07"
    customers.loc[last, "buys"] = "later"
    customers.to_csv("customers.csv", index=False)
    data = ("customers.csv", "--target", "buys", "-o", "m.model", "--groups", "customer")
    out, _ = said(capsys, "fit", *data)
    assert f"{last.sum()} rows of a class without training rows: errors, without log-loss" in out
    found = json.loads(said(capsys, "fit", *data, "--json")[0])["cross_validation"]
    assert found["unknown"] == last.sum()
    assert found["accuracy"] < 1 - last.mean()


def test_fit_measures_forward(customers, capsys):
    customers.loc[:9, "date"] = None
    customers.to_csv("customers.csv", index=False)
    data = ("customers.csv", "--target", "buys", "-o", "m.model", "--skip", "customer")
    out, _ = said(capsys, "fit", *data, "--time", "date")
    assert "10-fold forward validation by date " in out
    # the first 110 are predicted by none
    assert "forward validation by date on 1,080 of 1,200 rows  " in out
    assert "10 rows without a value of date left out" in out
    assert "left out: date (--time)" in out
    assert "left out: customer (as specified)" in out
    pytest.importorskip("jinja2")
    said(capsys, "report", "m.model", "customers.csv", "-o", "r.html")
    page = Path("r.html").read_text("utf-8")
    assert "10-fold forward validation by date on 1,080 of 1,200 training rows" in page


@pytest.mark.parametrize(("tokens", "message"), [
    (["--groups", "customer", "--time", "date"], "two ways to split rows: give one of them"),
    (["--groups", "custom"], "there is no column 'custom'; did you mean 'customer'?"),
    (["--groups", "buys"], "--groups buys: it is the target"),
    (["--time", "customer"], "the time column 'customer' holds 'c00', and must hold numbers"),
    (["--groups", "customer", "--holdout", "0.2"], "--holdout draws rows at random"),
])  # fmt: skip
def test_options_that_make_no_sense(tokens, message, customers, capsys):
    data = ("fit", "customers.csv", "--target", "buys", "-o", "m.model")
    assert run([*data, *tokens])
    assert message in capsys.readouterr().err


def test_diagnose_and_compare_split_by_customer_and_date(customers, capsys):
    data = ("customers.csv", "--target", "buys", "--skip")
    out, _ = said(capsys, "diagnose", *data, "date", "--groups", "customer")
    assert "5-fold cross-validation by customer; against naive Bayes" in out
    found = naively.diagnose(customers.drop(columns="date"), "buys", groups="customer")
    loss = next(rung.log_loss for rung in found.rungs if rung.name == "AutoBayes")
    assert f" {loss:.4f} " in next(line for line in out.splitlines() if "AutoBayes" in line)
    random = naively.diagnose(customers[["habit", "noise"]], customers["buys"])
    assert loss > 2 * next(rung.log_loss for rung in random.rungs if rung.name == "AutoBayes")
    forward = naively.diagnose(customers[["habit"]], customers["buys"], time=customers["date"])
    assert forward.method == "forward validation by date"
    out, _ = said(capsys, "diagnose", *data, "customer", "--time", "date")
    assert out.splitlines()[-1] == "naively fit DATA --target buys --time date -o MODEL"

    options = ("--time", "date", "--only", "naive Bayes", "--only", "logistic regression")
    out, _ = said(capsys, "compare", *data, "customer", *options)
    assert "test rows of 5 splits of forward validation by date" in out
    assert "600 training rows on average" in " ".join(out.split())
    only = ["naive Bayes", "logistic regression"]
    found = naively.compare(
        customers.drop(columns="customer"), "buys", time="date", only=only
    ).candidates
    lines = out.splitlines()
    assert all(f" {one.log_loss[-1]:.4f} " in next(line for line in lines if one.name in line)
               for one in found)  # fmt: skip


# ---- splits of `compare` and `diagnose` ----------------------------------------------------------


@given(rows_of_groups, st.integers(2, 5), st.integers(0, 3))
def test_training_sets_have_no_group_of_the_test_rows(rows, folds, seed):
    groups, codes = np.array(rows).T
    codes = np.unique(codes, return_inverse=True)[1]
    of_class = [{*groups[codes == c]} for c in np.unique(codes)]
    bound = set.union(*(own for own in of_class if len(own) == 1), set())  # always trained on
    if bound == {*groups}:
        with pytest.raises(ValueError, match="of one group"):
            Splits(codes, folds, (4, 10), seed, by=ByGroup(groups))
        return
    splits = Splits(codes, folds, (4, 10), seed, by=ByGroup(groups))
    for test, steps in zip(splits.tests, splits.steps, strict=True):
        parts = [np.concatenate([splits.parts[k] for k in step]) for step in steps if len(step)]
        train = np.concatenate(parts)
        assert not {*groups[train]} & {*groups[test]}
        assert {*codes[train]} == {*codes}
        assert len(train) + len(test) == len(codes)


@given(rows_of_groups, st.integers(2, 5), st.integers(0, 3))
def test_training_sets_are_earlier_and_have_every_class(rows, folds, seed):
    times, codes = np.array(rows).T
    codes = np.unique(codes, return_inverse=True)[1]
    start = max(times[codes == c].min() for c in np.unique(codes))  # every class has had a row
    if start == times.max():
        with pytest.raises(ValueError, match="later than another"):
            Splits(codes, folds, (4, 10), seed, by=ByTime(times.astype(float)))
        return
    splits = Splits(codes, folds, (4, 10), seed, by=ByTime(times.astype(float)))
    for test, steps in zip(splits.tests, splits.steps, strict=True):
        parts = [np.concatenate([splits.parts[k] for k in step]) for step in steps if len(step)]
        train = np.concatenate(parts)
        assert times[train].max() < times[test].min()
        assert {*codes[train]} == {*codes}
