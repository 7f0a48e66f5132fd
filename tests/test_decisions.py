"""Decisions by cost, abstention, and adapted priors."""

import csv
import gzip
import io
import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import ONE_EACH, domain, new, numbers
from scipy.optimize import minimize
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB as SklearnGaussianNB

import naively
from naively import GaussianBayes, GaussianNB, JointBayes, MultinomialNB, NaiveBayes, TextNB
from naively.cli.main import run
from naively.model.prior import adapted

X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[Y]
FLOWERS = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "size": np.where(X[:, 2] > 4, "big", "small")})
MAILS = ["win a free prize", "meeting at noon", "free free prize", "lunch at noon?"]


@cache
def fitted(name):
    """(a fitted classifier, rows to predict)."""
    if name == "table":
        return NaiveBayes().fit(FLOWERS, NAMES), FLOWERS
    if name == "joint":
        return JointBayes().fit(FLOWERS[["size"]], NAMES), FLOWERS[["size"]]
    if name == "text":
        return TextNB().fit(MAILS, ["spam", "ham", "spam", "news"]), [*MAILS, "a prize at noon"]
    if name == "covariance":
        return GaussianBayes().fit(X, NAMES), X
    rows, y = numbers(domain(name), 60, 3)
    return new(name).fit(rows, y), rows


EACH = [*ONE_EACH, "table", "joint", "text", "covariance"]
COSTS = st.lists(
    st.integers(0, 40).map(lambda cost: cost / 4 - 2), min_size=9, max_size=9
).map(lambda costs: np.reshape(costs, (3, 3)))  # fmt: skip


@pytest.mark.parametrize("name", EACH)
def test_labels_and_probabilities_in_one_pass_are_those_of_two(name):
    model, rows = fitted(name)
    posterior, own = model.model_.posterior(), model._rows(rows)
    codes, proba = posterior.codes_and_proba(own)
    np.testing.assert_array_equal(codes, posterior.predict_codes(own))
    np.testing.assert_array_equal(proba, posterior.proba(own))


# ---- costs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EACH)
@given(costs=COSTS)
def test_no_other_label_costs_less(name, costs):
    model, rows = fitted(name)
    found = model.predict(rows, costs=costs)
    assert found.dtype == model.classes_.dtype
    expected = model.predict_proba(rows) @ costs
    codes = np.searchsorted(model.classes_, found)
    own = expected[np.arange(len(codes)), codes]
    assert (own <= expected.min(axis=1) + 1e-12).all()
    labels = model.classes_.tolist()
    named = {(a, b): costs[i, j] for i, a in enumerate(labels) for j, b in enumerate(labels)}
    np.testing.assert_array_equal(model.predict(rows, costs=named), found)
    np.testing.assert_array_equal(model.predict(rows, costs=(8 * costs).tolist()), found)
    one = rows[3:4]
    assert model.predict(one, costs=costs)[0] == found[3]  # whatever the rows beside it


def test_of_two_classes_costs_are_a_threshold():
    """Elkan (2001), "The foundations of cost-sensitive learning": p* = c10 / (c10 + c01)."""
    two = Y > 0
    model = GaussianNB().fit(X[two][::2], Y[two][::2])
    proba = model.predict_proba(X[two])[:, 1]
    for c10, c01 in ((1, 9), (3, 1), (1, 1), (50, 1)):
        said = model.predict(X[two], costs={(1, 2): c10, (2, 1): c01})
        np.testing.assert_array_equal(said == 2, proba > c10 / (c10 + c01))


def test_equal_costs_are_the_most_probable_class():
    for model, rows in map(fitted, EACH):
        size = len(model.classes_)
        np.testing.assert_array_equal(model.predict(rows, costs=1 - np.eye(size)),
                                      model.predict(rows))  # fmt: skip


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        (np.ones((2, 3)), r"of shape \(3, 3\), a row for each actual class .* not \(2, 3\)"),
        ([1, 2, 3], r"not \(3,\)"),
        (np.ones((3, 3, 1)), r"not \(3, 3, 1\)"),
        ([[0, 1, 2], [0, np.nan, 0], [0, 0, 0]], "'versicolor' where 'versicolor' .* not nan"),
        ({("setosa", "virginica"): np.inf}, "of 'virginica' where 'setosa' is true .* not inf"),
        ({("rose", "setosa"): 1}, "'rose', which is not one of the classes 'setosa', 'versicolor'"),
        ({"setosa": 1}, "pairs .* not 'setosa'"),
        ({("setosa", "setosa", "setosa"): 1}, "pairs"),
        ({("setosa", "virginica"): "much"}, "must be numbers, not 'much'"),
        ("free", "must be numbers, not 'free'"),
        ([[1, 2], [3]], "must be numbers"),
    ],
)
def test_costs_that_are_none(costs, said):
    model = GaussianNB().fit(X, NAMES)
    with pytest.raises(ValueError, match=said):
        model.predict(X, costs=costs)
    table, rows = fitted("table")
    with pytest.raises(ValueError, match=said):
        table.predict(rows, costs=costs)


# ---- labels left open ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("unsure", [0.2, 0.6, 0.99, np.float32(0.75), 1, 1.0])
def test_labels_are_open_where_no_class_is_that_probable(name, unsure):
    model, rows = fitted(name)
    found, plain = model.predict(rows, unsure=unsure), model.predict(rows)
    assert found.dtype == object
    sure = model.predict_proba(rows).max(axis=1) >= float(unsure)
    assert [label is not None for label in found] == sure.tolist()
    assert found[sure].tolist() == plain[sure].tolist()
    costs = 1.0 + np.arange(9).reshape(3, 3) % 4
    both = model.predict(rows, costs=costs, unsure=unsure)
    np.testing.assert_array_equal(both[sure], model.predict(rows, costs=costs)[sure])
    assert [label is not None for label in both] == sure.tolist()


@pytest.mark.parametrize("unsure", [0, -0.5, 1.01, np.nan, np.inf, "0.8", [0.8]])
def test_unsure_is_a_probability(unsure):
    with pytest.raises(ValueError, match="unsure is a probability, above 0 and at most 1, not"):
        GaussianNB().fit(X, Y).predict(X, unsure=unsure)


def test_decisions_work_in_cross_validation():
    said = cross_val_predict(GaussianNB(), X, Y, cv=3)
    assert said.dtype == Y.dtype
    assert (said == Y).mean() > 0.9


# ---- another prior -------------------------------------------------------------------------------


def test_the_prior_is_that_under_which_the_rows_are_most_probable():
    """The log-likelihood, maximised by SciPy instead."""
    model = GaussianNB(priors=[0.2, 0.5, 0.3]).fit(X[::2] + 0.3, Y[::2])
    rows = X[np.r_[0:10, 60:100, 100:135]]
    odds = model.predict_log_proba(rows) - np.log(model.class_prior_)

    def loss(free):
        weights = np.exp(np.append(free, 0.0))
        return -np.log(np.exp(odds) @ (weights / weights.sum())).sum()

    best = minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-9}).x
    weights = np.exp(np.append(best, 0.0))
    found = model.adapt_prior(rows).class_prior_
    np.testing.assert_allclose(found, weights / weights.sum(), atol=1e-6)


def test_one_round_is_the_formula_of_the_paper(monkeypatch):
    """Saerens et al. (2002), equation 2.9, row by row."""
    monkeypatch.setattr("naively.model.prior.ROUNDS", 2)
    model = GaussianNB().fit(X, Y)
    rows, old = X[30:90] + 0.2, model.class_prior_
    proba, prior = model.predict_proba(rows), old
    for _ in range(2):
        scaled = proba * (prior / old)
        prior = (scaled / scaled.sum(axis=1, keepdims=True)).mean(axis=0)
    found = adapted(model.predict_log_proba(rows) - np.log(old), old)
    np.testing.assert_allclose(found, prior, rtol=1e-10)


@pytest.mark.parametrize("name", EACH)
def test_adapted_models_predict_as_if_given_the_prior(name):
    model, rows = fitted(name)
    before = model.predict_log_proba(rows)
    new = model.adapt_prior(rows[:4])
    prior = new.class_prior_
    assert type(new) is type(model)
    assert prior.sum() == pytest.approx(1.0)
    assert not np.allclose(prior, model.class_prior_)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = before + np.log(prior) - np.log(model.class_prior_)
        expected -= np.log(np.exp(expected).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(np.exp(new.predict_log_proba(rows)), np.exp(expected), atol=1e-9)
    np.testing.assert_array_equal(model.predict_log_proba(rows), before)  # as it was
    assert new.model_ == model.model_


def test_of_rows_drawn_from_the_model_the_prior_is_found():
    model = GaussianNB(priors=[0.1, 0.2, 0.7]).fit(X, Y)
    rows, _ = model.sample(20_000, random_state=0)
    found = GaussianNB().fit(X, Y).adapt_prior(rows)
    np.testing.assert_allclose(found.class_prior_, [0.1, 0.2, 0.7], atol=0.01)
    gold = SklearnGaussianNB(priors=found.class_prior_).fit(X, Y)
    np.testing.assert_allclose(found.predict_proba(X), gold.predict_proba(X), atol=1e-9)


def test_adapted_models_learn_on_and_are_saved(tmp_path):
    for model, rows in map(fitted, EACH):
        new = model.adapt_prior(rows[:4])
        prior = new.class_prior_
        new.save(tmp_path / "m")
        loaded = naively.load(tmp_path / "m")
        np.testing.assert_array_equal(loaded.class_prior_, prior)
        np.testing.assert_array_equal(loaded.predict_proba(rows), new.predict_proba(rows))
        labels = model.predict(rows)
        for one in (new, loaded):
            one.partial_fit(rows, labels)
            np.testing.assert_array_equal(one.class_prior_, prior)
        assert loaded.model_ == new.model_
        new.forget(rows, labels)
        assert new.model_ == model.model_
        np.testing.assert_array_equal((new + model).class_prior_, prior)


def test_an_adapted_prior_has_no_room_for_other_classes():
    new = GaussianNB().fit(X, Y).adapt_prior(X[:20])
    before = new.predict_proba(X)
    with pytest.raises(ValueError, match="Number of priors must match number of classes"):
        new.partial_fit(X[:2], [7, 7])
    np.testing.assert_array_equal(new.predict_proba(X), before)
    new.set_params(priors=None).partial_fit(X[:2], [7, 7])
    assert new.class_prior_.tolist() == (np.array([50, 50, 50, 2]) / 152).tolist()


def test_rows_that_say_nothing_leave_the_prior():
    model = GaussianNB().fit(X[40:], Y[40:])
    nothing = np.full((5, 4), np.nan)
    np.testing.assert_allclose(model.adapt_prior(nothing).class_prior_, model.class_prior_)
    said = model.adapt_prior(np.vstack([X[:60], nothing])).class_prior_
    np.testing.assert_allclose(said, model.adapt_prior(X[:60]).class_prior_, atol=1e-9)
    # rows that every class rules out
    counts = MultinomialNB(alpha=0).fit([[1, 0, 0], [0, 1, 0], [0, 1, 0]], [0, 1, 1])
    ruled_out = counts.adapt_prior([[0, 0, 3]])
    np.testing.assert_allclose(ruled_out.class_prior_, [1 / 3, 2 / 3])


def test_a_class_without_rows_stays_without():
    model = GaussianNB().partial_fit(X, Y, classes=[0, 1, 2, 3])
    found = model.adapt_prior(X[:70]).class_prior_
    assert found[3] == 0
    np.testing.assert_allclose(found[:3], GaussianNB().fit(X, Y).adapt_prior(X[:70]).class_prior_)


def test_hostile_rows_to_adapt_to():
    model = GaussianNB().fit(X, Y)
    for rows in (X * 1e150, X * -1e300, X[:1]):
        prior = model.adapt_prior(rows).class_prior_
        assert math.isclose(sum(prior), 1.0)
        assert (prior >= 0).all()
    with pytest.raises(ValueError, match="0 sample"):
        model.adapt_prior(X[:0])
    with pytest.raises(ValueError, match="no rows to adapt the prior to"):
        fitted("text")[0].adapt_prior([])
    with pytest.raises(ValueError, match="not fitted"):
        GaussianNB().adapt_prior(X)


def adult(folder, part):
    names = [f"c{k}" for k in range(14)] + ["income"]
    table = pd.read_csv(
        folder / "adult" / f"adult-{part}.csv.gz", names=names, comment="|", skipinitialspace=True,
        na_values="?",
    )  # fmt: skip
    return table.assign(income=table["income"].str.rstrip("."))


@pytest.mark.parametrize(("kept", "share"), [("<=50K", 0.2), (">50K", 0.2), (">50K", 0.1)])
def test_on_adult_with_another_prior_log_loss_falls(kept, share, data_folder):
    """All rows of one class of the test file, and some of the other."""
    test = adult(data_folder, "test")
    chosen = np.random.default_rng(0).random(len(test)) < share
    rows = test[chosen | (test["income"] != kept)]
    model = NaiveBayes(family="auto").fit(adult(data_folder, "train"), "income")
    new = model.adapt_prior(rows)
    before, after = (
        log_loss(rows["income"], one.predict_proba(rows), labels=one.classes_)
        for one in (model, new)
    )
    assert after < 0.9 * before
    assert new.score(rows, rows["income"]) > model.score(rows, rows["income"]) + 0.02


# ---- the command line ----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with a table and a model of it; and the model."""
    monkeypatch.chdir(tmp_path)
    table = FLOWERS.assign(kind=NAMES)
    table.to_csv("data.csv", index=False)
    model = NaiveBayes().fit(table, "kind")
    model.save("m")
    Path("costs.csv").write_text(
        "\ufefftrue,versicolor,virginica,setosa\n\nvirginica,4,0,1\nsetosa,1,1,0\n"
        'versicolor,0, 1 ,"1"\n'
    )
    return model


COSTS_OF_FILE = [[0, 1, 1], [1, 0, 1], [1, 4, 0]]


def naive(capsys, *tokens, code=0):
    assert run(tokens) == code
    return capsys.readouterr()


def test_predict_leaves_labels_empty(files, capsys):
    said = files.predict(FLOWERS, unsure=0.8).tolist()
    assert 0 < said.count(None) < 100
    out = naive(capsys, "predict", "m", "data.csv", "--unsure", "0.8", "--only").out
    assert out.splitlines() == ["prediction", *(label or "" for label in said)]
    out = naive(capsys, "predict", "m", "data.csv", "--unsure=0.8", "--json", "--only").out
    assert [json.loads(line)["prediction"] for line in out.splitlines()] == said
    naive(capsys, "predict", "m", "data.csv", "--unsure", "0.8", "-o", "p.parquet")
    assert parquet.read_table("p.parquet")["prediction"].to_pylist() == said
    out = naive(capsys, "predict", "m", "data.csv", "--unsure", "1", "--only", "--proba").out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["prediction"] for row in rows} == {""}
    assert all(row["P(setosa)"] for row in rows)


def test_open_labels_that_are_numbers(files, capsys):
    """A column of whole numbers stays one, though all its cells may be empty."""
    GaussianNB().fit(X[:, :2], Y).save("n")
    pd.DataFrame(X[:, :2], columns=["a", "b"]).to_csv("n.csv", index=False)
    for unsure, open_ in ((0.8, 50), (1.0, 150)):
        naive(capsys, "predict", "n", "n.csv", "--unsure", str(unsure), "-o", "n.parquet")
        column = parquet.read_table("n.parquet")["prediction"]
        assert column.type == pa.int64()
        assert column.null_count >= open_
    said = GaussianNB().fit(X[:, :2], Y).predict(X[:, :2], unsure=1.0)
    assert column.to_pylist() == said.tolist()


def test_predict_by_costs(files, capsys):
    said = files.predict(FLOWERS, costs=COSTS_OF_FILE)
    assert (said != files.predict(FLOWERS)).any()
    out = naive(capsys, "predict", "m", "data.csv", "--costs", "costs.csv", "--only").out
    assert out.splitlines()[1:] == said.tolist()
    Path("costs.tsv").write_text(Path("costs.csv").read_text().replace(",", "\t"))
    out = naive(capsys, "predict", "m", "data.csv", "--costs", "costs.tsv", "--only").out
    assert out.splitlines()[1:] == said.tolist()


def test_evaluate_prints_abstentions_accuracy_and_cost(files, capsys):
    costs = np.array(COSTS_OF_FILE)
    tokens = ["evaluate", "m", "data.csv", "--costs", "costs.csv", "--unsure", "0.8"]
    said = files.predict(FLOWERS, costs=costs, unsure=0.8)
    given = said != None  # noqa: E711
    paid = costs[Y[given], np.searchsorted(files.classes_, said[given].astype(str))]
    found = json.loads(naive(capsys, *tokens, "--json").out)["decisions"]
    assert found["by_rule"] == {
        "share_open": pytest.approx(1 - given.mean()),
        "accuracy": pytest.approx((said[given] == NAMES[given]).mean()),
        "mean_cost": pytest.approx(paid.mean()),
    }
    plain = np.searchsorted(files.classes_, files.predict(FLOWERS))
    assert found["as_predicted"]["share_open"] == 0
    by_cost = naive(capsys, "evaluate", "m", "data.csv", "--costs", "costs.csv", "--json").out
    assert found["by_cost"] == json.loads(by_cost)["decisions"]["by_rule"]
    assert found["as_predicted"]["mean_cost"] == pytest.approx(costs[Y, plain].mean())
    shown = naive(capsys, *tokens).out
    line = next(line for line in shown.splitlines() if line.startswith("least expected cost, "))
    assert line.split("0.8")[1].split()[0] == f"{1 - given.mean():.1%}"
    assert "abstain below P = 0.8" in line
    assert f"{paid.mean():.4g}" in shown
    out = naive(capsys, "evaluate", "m", "data.csv", "--unsure", "0.8").out
    assert "abstain below P = 0.8" in out
    assert "mean cost" not in out
    alone = json.loads(naive(capsys, "evaluate", "m", "data.csv", "--unsure=1", "--json").out)
    assert alone["decisions"]["by_rule"] == {"share_open": 1, "accuracy": None, "mean_cost": None}
    assert "decisions" not in json.loads(naive(capsys, "evaluate", "m", "data.csv", "--json").out)


def test_unseen_labels_are_wrong_but_cost_nothing_known(files, capsys):
    FLOWERS.assign(kind=["rose", *NAMES[1:]]).to_csv("new.csv", index=False)
    tokens = ["evaluate", "m", "new.csv", "--costs", "costs.csv", "--json"]
    found = json.loads(naive(capsys, *tokens).out)["decisions"]["by_rule"]
    said = files.predict(FLOWERS, costs=COSTS_OF_FILE)
    paid = np.array(COSTS_OF_FILE)[Y, np.searchsorted(files.classes_, said)]
    assert found["accuracy"] == pytest.approx((said[1:] == NAMES[1:]).sum() / 150)
    assert found["mean_cost"] == pytest.approx(paid[1:].mean())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("true,setosa,versicolor\nsetosa,0,1\n", "its first line does not name 'virginica'"),
        (
            "t,setosa,versicolor,virginica\nsetosa,0,1,1\n",
            "its first column does not name 'versicolor'",
        ),
        (
            "t,setosa,rose,virginica\n",
            "its first line names 'rose', which is not one of the classes",
        ),
        ("t,setosa,versicolor,virginica,setosa\n", "names 'setosa' twice"),
        ("t,setosa,versicolor,virginica\nsetosa,0,1\n", "line 2 has 3 cells, the first 4"),
        (
            "t,setosa,versicolor,virginica\nsetosa,0,,1\nversicolor,1,0,1\nvirginica,1,1,0\n",
            "the cost of 'versicolor' where 'setosa' is true must be a number, not ''",
        ),
        (
            "t,setosa,versicolor,virginica\nsetosa,0,nan,1\nversicolor,1,0,1\nvirginica,1,1,0\n",
            "the cost of 'versicolor' where 'setosa' is true must be finite, not nan",
        ),
    ],
)
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_files_of_costs_that_are_none(command, text, said, files, capsys):
    Path("bad.csv").write_text(text)
    error = naive(capsys, command, "m", "data.csv", "--costs", "bad.csv", code=1).err
    assert error.startswith("naively: bad.csv: ")
    assert said in error


def test_other_mistakes(files, capsys):
    Path("bad.csv").write_bytes(gzip.compress(b"true"))
    assert "not text in UTF-8" in naive(
        capsys, "predict", "m", "data.csv", "--costs", "bad.csv", code=1
    ).err  # fmt: skip
    error = naive(capsys, "predict", "m", "data.csv", "--costs", "none.csv", code=1).err
    assert error == "naively: none.csv: cannot be read: No such file or directory\n"
    for command in ("predict", "evaluate"):
        for unsure in ("0", "1.5", "nan"):
            error = naive(capsys, command, "m", "data.csv", "--unsure", unsure, code=2).err
            assert "--unsure is a probability, above 0 and at most 1" in error
