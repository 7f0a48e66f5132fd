"""`naively fit` weighs evidence: files of `AutoBayes`, equal to Python's in every command."""

import io
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as parquet
import pytest
from kit import said, slow
from sklearn.datasets import load_wine

import naively
from naively import AutoBayes, NaiveBayes
from naively.cli.main import run

DATA = os.environ.get("NAIVELY_DATA")


def asked(capsys, *tokens):
    return json.loads(said(capsys, *tokens, "--json")[0])


def written(folder, name, table):
    pyarrow.csv.write_csv(table, folder / f"{name}.csv")
    return pyarrow.csv.read_csv(folder / f"{name}.csv")


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A table whose class is the parity of two columns, beside a number, a constant and noise."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 600
    left, right = rng.integers(0, 2, (2, n))
    rich = (left ^ right).astype(bool)
    age = np.where(rng.random(n) < 0.1, np.nan, rng.normal(30 + 5 * rich, 5).round(1))
    table = pa.table({
        "left": np.array(["no", "yes"])[left].tolist(),
        "right": np.array(["in", "out"])[right].tolist(),
        "age": pa.array(age, from_pandas=True),
        "planet": ["earth"] * n,
        "id": [f"person {k}" for k in range(n)],
        "rich": np.array(["poor", "rich"])[rich.astype(int)].tolist(),
    })  # fmt: skip
    parquet.write_table(table, "people.parquet")
    return written(tmp_path, "people", table)


def fitted(capsys, *options, data="people.csv", target="rich", output="m"):
    return said(capsys, "fit", data, "--target", target, "-o", output, *options)


def test_an_update_says_whether_the_structure_is_chosen_again(people, tmp_path, capsys):
    people = people.drop_columns(["id"])
    data = [(0, 600, "all"), (0, 40, "few"), (40, 60, "many")]
    tables = [written(tmp_path, name, people.slice(at, size)) for at, size, name in data]
    fitted(capsys, data="all.csv")
    kept, _ = said(capsys, "update", "m", "few.csv")
    line = "unchanged, as chosen on 600 rows; the next choice is above 660 rows"
    assert line in " ".join(kept.split())
    assert_same("m", AutoBayes().fit(people, "rich").partial_fit(tables[1], "rich"), people)
    chosen, _ = said(capsys, "update", "m", "many.csv")
    assert "trained anew on all 700 rows" in " ".join(chosen.split())
    assert_same("m", AutoBayes().fit(pa.concat_tables(tables), "rich"), people)
    fitted(capsys, "--naive", output="n")
    assert "structure" not in said(capsys, "update", "n", "few.csv")[0]


def assert_same(path, model, table):
    """A file holds what a model in Python learned, and says the same, bit for bit."""
    loaded = naively.load(path)
    assert type(loaded) is type(model) is AutoBayes
    assert loaded.model_ == model.model_
    assert np.array_equal(loaded.predict_proba(table), model.predict_proba(table))


# ---- the same as in Python -----------------------------------------------------------------------


@pytest.mark.parametrize("data", ["people.csv", "people.parquet", "-"])
def test_fit_is_python_s_auto_bayes(people, capsys, monkeypatch, data):
    if data == "-":
        stream = io.TextIOWrapper(io.BytesIO(Path("people.csv").read_bytes()))
        monkeypatch.setattr(sys, "stdin", stream)
    fitted(capsys, data=data)
    model = AutoBayes().fit(people, "rich")
    assert_same("m", model, people.drop_columns("rich"))
    out, _ = said(capsys, "predict", "m", "people.csv", "--proba", "--only", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["prediction"] for row in rows] == model.predict(people).tolist()
    found = [[row["probabilities"][label] for label in model.classes_] for row in rows]
    assert np.array_equal(found, model.predict_proba(people))


def test_options_that_rows_and_columns_have(people, capsys):
    fitted(capsys, "--skip", "id", "--prior", "uniform", "--missing", "out", "--holdout", "0.2")
    rest = people.drop_columns("id")
    model = AutoBayes(prior="uniform", missing=["", "out"]).fit(rest, "rich")
    assert naively.load("m").model_.statistics == model.model_.statistics.canonical()
    assert np.array_equal(naively.load("m").predict_proba(people), model.predict_proba(rest))
    loaded = naively.load(
        "m"
    )  # a column that was skipped stays so, where rows are learned in Python
    loaded.partial_fit(people, "rich")
    assert "id" not in loaded.model_.schema.names


def test_weights_are_rows(people, capsys):
    weights = np.arange(people.num_rows) % 3
    table = people.append_column("w", pa.array(weights))
    pyarrow.csv.write_csv(table, "weighted.csv")
    fitted(capsys, "--weight", "w", data="weighted.csv")
    model = AutoBayes().fit(people, "rich", sample_weight=weights)
    assert_same("m", model, people)


def test_update_forget_and_merge_are_the_model_of_the_rows_that_are_left(people, capsys):
    for name, part in (("a", people.slice(0, 250)), ("b", people.slice(250))):
        pyarrow.csv.write_csv(part, f"{name}.csv")
        fitted(capsys, data=f"{name}.csv", output=name)
    whole = AutoBayes().fit(people, "rich")
    said(capsys, "merge", "b", "a", "-o", "both")
    assert_same("both", whole, people)
    said(capsys, "update", "a", "b.csv", "-o", "more")
    assert_same("more", whole, people)
    said(capsys, "forget", "both", "b.csv")
    assert Path("both").read_bytes() == Path("a").read_bytes()


def test_like_gives_the_plan_to_the_next_shard(people, capsys):
    for name, part in (("a", people.slice(0, 250)), ("b", people.slice(250))):
        pyarrow.csv.write_csv(part, f"{name}.csv")
    fitted(capsys, data="a.csv", output="a")
    said(capsys, "fit", "b.csv", "--like", "a", "-o", "like")
    shown = said(capsys, "inspect", "like")[0]
    assert "no cross-validation: the structure is that of another model" in shown
    assert "without interactions: the training rows are not stored" in " ".join(shown.split())
    first = AutoBayes().fit(people.slice(0, 250), "rich")
    assert_same("like", AutoBayes().fit(people.slice(250), "rich", like=first), people)
    said(capsys, "merge", "a", "like", "-o", "sum")
    assert_same("sum", AutoBayes().fit(people, "rich", like=first), people)
    said(capsys, "forget", "sum", "a.csv")
    assert Path("sum").read_bytes() == Path("like").read_bytes()
    fitted(capsys, data="b.csv", output="other")
    said(capsys, "fit", "a.csv", "--like", "other", "-o", "apart")
    err = said(capsys, "merge", "like", "apart", "-o", "none", code=1)[1]
    assert "different structures" in err
    assert not Path("none").exists()


def test_forgetting_what_was_never_learned_changes_nothing(people, capsys):
    pyarrow.csv.write_csv(people.slice(0, 300), "a.csv")
    pyarrow.csv.write_csv(people.slice(299), "b.csv")
    fitted(capsys, data="a.csv")
    before = Path("m").read_bytes()
    assert "not in the training data" in said(capsys, "forget", "m", "b.csv", code=1)[1]
    assert Path("m").read_bytes() == before


def test_everything_can_be_forgotten(people, capsys):
    fitted(capsys)
    assert "all training rows were forgotten" in said(capsys, "forget", "m", "people.csv")[0]
    assert "has no class" in said(capsys, "inspect", "m")[0]
    assert "no class" in said(capsys, "predict", "m", "people.csv", code=1)[1]
    said(capsys, "update", "m", "people.csv")
    assert_same("m", AutoBayes().fit(people, "rich"), people)


def test_columns_of_either_model_are_in_the_sum(people, capsys):
    pyarrow.csv.write_csv(people.drop_columns("age"), "a.csv")
    pyarrow.csv.write_csv(people.drop_columns(["id", "left"]), "b.csv")
    fitted(capsys, data="a.csv", output="a")
    fitted(capsys, data="b.csv", output="b")
    said(capsys, "merge", "a", "b", "-o", "both")
    model = AutoBayes().fit(people.drop_columns("age"), "rich")
    model.partial_fit(people.drop_columns(["id", "left"]), "rich")
    assert_same("both", model, people)
    fitted(capsys, "--skip", "age", data="people.csv", output="without")
    assert "left out of one model" in said(capsys, "merge", "without", "b", "-o", "n", code=1)[1]
    assert not Path("n").exists()


def test_numbers_that_turn_out_to_be_text_are_text_from_the_first_row(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rows = [f"{k % 7}.50,{'ab'[k % 2]}" for k in range(60)]
    for name, lines in (("a", rows), ("b", [*rows, "seven,a"]), ("ab", [*rows, *rows, "seven,a"])):
        Path(f"{name}.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    fitted(capsys, data="a.csv", target="y", output="a")
    said(capsys, "update", "a", "b.csv")
    said(capsys, "fit", "a.csv", "b.csv", "-t", "y", "-o", "both")
    fitted(capsys, data="ab.csv", target="y", output="whole")
    whole = naively.load("whole").model_
    assert naively.load("a").model_ == whole == naively.load("both").model_


# ---- what is said --------------------------------------------------------------------------------


def test_fit_and_inspect_say_what_matters(people, capsys):
    out, err = fitted(capsys)
    assert not err
    shown, _ = said(capsys, "inspect", "m")
    for text in (out, shown):
        assert "left × right" in text
        assert "left out: planet (constant)" in text
    loss = re.search(r"^log-loss +(\S+) ", shown, re.MULTILINE)
    assert loss
    assert loss[0] in out
    assert shown.startswith("AutoBayes, trained on 600 rows\n")


def test_json_has_features_and_interactions(people, capsys):
    found = asked(capsys, "fit", "people.csv", "-t", "rich", "-o", "m")
    model = AutoBayes().fit(people, "rich").model_
    plan = model.posterior().parameters.plan
    features, interactions = found["features"], found["interactions"]
    weights = [one["weight"] for one in [*features, *interactions] if one["weight"] is not None]
    assert sorted(weights) == sorted(plan.weights.tolist())
    assert interactions[0]["features"] == ["left", "right"]
    for listed in (features, interactions):
        importance = [one["importance"] for one in listed]
        assert importance == sorted(importance, reverse=True)
    assert found["left_out"]["planet"] == "constant"
    used = {one["feature"] for one in features}
    assert {*found["left_out"]} == {"left", "right", "age", "planet", "id"} - used
    inspected = asked(capsys, "inspect", "m")
    for key in ("features", "interactions", "left_out"):
        assert inspected[key] == found[key]
    assert inspected["estimator"] == "AutoBayes"
    assert inspected["cross_validation"] == found["cross_validation"]


def test_importance_is_the_mean_distance_of_contributions_from_their_mean(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    job = np.array(["cook", "smith", None])[np.where(rng.random(400) < 0.7, y, 2)].tolist()
    written(tmp_path, "jobs", pa.table({"job": job, "y": np.array(["a", "b"])[y].tolist()}))
    (feature,) = asked(capsys, "fit", "jobs.csv", "-t", "y", "-o", "m")["features"]
    lines = said(capsys, "explain", "m", "jobs.csv", "--row", "all", "--json")[0].splitlines()
    added = np.array([json.loads(line)["contributions"]["job"] for line in lines])
    assert added.shape == (400, 2)
    odds = added[:, 1] - added[:, 0]
    assert feature["importance"] == pytest.approx(np.abs(odds - odds.mean()).mean())
    assert feature["importance"] > 0.1


def test_importance_includes_interactions_as_explanations_share_them(people, capsys):
    features = asked(capsys, "fit", "people.csv", "-t", "rich", "-o", "m")["features"]
    found = {one["feature"]: one["importance"] for one in features}
    added = AutoBayes().fit(people, "rich").explain(people.drop_columns("rich"))
    expected = {}
    for name, own in zip(added.features, np.moveaxis(added.contributions, -1, 0), strict=True):
        odds = own[:, 1] - own[:, 0]
        expected[name] = np.abs(odds - odds.mean()).mean()
    assert found == pytest.approx({name: expected[name] for name in found})
    assert expected["planet"] == 0
    out = said(capsys, "inspect", "m")[0]
    assert "importance includes its interactions" in out
    assert max(map(out.index, ("left ", "right "))) < min(map(out.index, ("age ", "id ")))


def test_explanations_add_up(people, capsys):
    fitted(capsys)
    found = asked(capsys, "explain", "m", "people.csv", "--row", "7")
    log = found["log_odds"]
    assert log["prior"] + sum(log["features"].values()) == pytest.approx(log["total"])
    p = dict(zip(found["classes"], found["probabilities"], strict=True))
    assert np.log(p[found["label"]] / p[found["against"]]) == pytest.approx(log["total"])


def test_evaluate_is_the_log_loss_of_python(people, capsys):
    pyarrow.csv.write_csv(people.slice(0, 300), "a.csv")
    pyarrow.csv.write_csv(people.slice(300), "b.csv")
    fitted(capsys, data="a.csv")
    found = asked(capsys, "evaluate", "m", "b.csv")
    model = AutoBayes().fit(people.slice(0, 300), "rich")
    proba = model.predict_proba(people.slice(300))
    truth = people["rich"].slice(300).to_numpy(zero_copy_only=False)
    own = proba[np.arange(300), np.searchsorted(model.classes_, truth)]
    assert found["log_loss"] == pytest.approx(-np.log(own).mean())


def test_a_leak_is_reported(people, capsys):
    table = people.append_column("paid", people["rich"])
    pyarrow.csv.write_csv(table, "leak.csv")
    out, _ = fitted(capsys, data="leak.csv")
    assert "feature paid alone almost determines the class" in out
    assert "almost determines" not in fitted(capsys)[0]
    # filled for one class only: that it is missing tells it
    reason = [
        None if one == people["rich"][0].as_py() else "moved" for one in people["rich"].to_pylist()
    ]
    table = people.append_column("why", pa.array(reason))
    pyarrow.csv.write_csv(table, "leak.csv")
    out, _ = fitted(capsys, data="leak.csv")
    assert "feature why alone almost determines the class" in out


def test_models_that_keep_fewer_rows_add_to_no_others(people):
    one = AutoBayes(limit=100).fit(people, "rich")
    for table in (people, people.rename_columns(["a", "b", "c", "d", "e", "rich"])):
        other = AutoBayes(limit=200).fit(table, "rich")
        before = one.model_.copy()
        with pytest.raises(ValueError, match="limit"):
            one += other
        assert one.model_ == before


def test_columns_without_evidence_give_the_prior(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,y\n" + "1,a\n" * 30 + "1,b\n" * 10)
    out, err = fitted(capsys, data="t.csv", target="y")
    assert "no feature has evidence" in out
    assert "predictions are the class prior" in err
    assert np.allclose(naively.load("m").predict_proba({"x": [1]}), [[0.75, 0.25]])


def test_long_names_leave_room_for_the_numbers(people, capsys):
    long = people.rename_columns([f"{name} of a person in the table" if name != "rich" else name
                                  for name in people.column_names])  # fmt: skip
    pyarrow.csv.write_csv(long, "long.csv")
    out, _ = fitted(capsys, data="long.csv")
    assert max(map(len, out.splitlines())) <= 100
    assert all(line[-1].isdigit() for line in out.splitlines() if line.startswith("left of a"))


# ---- the plain product ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [["--naive"], ["--family", "gaussian"], ["--columns", "age=gaussian"], ["--alpha", "0.5"],
     ["--alpha", "1"], ["--unseen", "ignore"]],
)  # fmt: skip
def test_what_only_a_product_has_makes_one(people, capsys, options):
    _, err = fitted(capsys, *options)
    implied = f"{options[0]} implies --naive: the model is plain naive Bayes, with no weights"
    assert (implied in err) == (options != ["--naive"])
    assert type(naively.load("m")) is NaiveBayes
    _, err = said(capsys, "fit", "people.csv", "--like", "m", "-o", "n")
    assert type(naively.load("n")) is NaiveBayes


def test_a_product_and_evidence_are_not_merged(people, capsys):
    fitted(capsys, "--naive")
    fitted(capsys, output="auto")
    assert "AutoBayes" in said(capsys, "merge", "m", "auto", "-o", "sum", code=1)[1]
    assert not Path("sum").exists()


def test_like_leaves_naive_to_the_model(people, capsys):
    fitted(capsys)
    err = said(capsys, "fit", "people.csv", "--like", "m", "--naive", "-o", "n", code=2)[1]
    assert "--naive" in err


def test_a_column_of_text_is_evidence_beside_the_others(people, capsys):
    draw = np.random.default_rng(1)
    words = [" ".join(draw.choice(list("abcdefgh"), 9)) + f" person {age}" for age in range(600)]
    table = people.append_column("story", pa.array(words))
    pyarrow.csv.write_csv(table, "story.csv")
    out, err = fitted(capsys, data="story.csv")
    assert not err
    assert "words and pairs" in out
    assert_same("m", AutoBayes().fit(table, "rich"), table)
    fitted(capsys, "--naive", data="story.csv", output="product")
    assert type(naively.load("product")) is NaiveBayes
    fitted(capsys, "--skip", "story", data="story.csv")
    assert_same("m", AutoBayes().fit(people, "rich"), people)


def test_documents_are_a_product_without_a_word(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("ham.txt").write_text("the meeting is on monday\nsee you at lunch\n")
    Path("spam.txt").write_text("buy pills now\nwin money now\n")
    assert not said(capsys, "fit", "ham.txt", "spam.txt", "-o", "m")[1]
    assert type(naively.load("m")) is NaiveBayes


# ---- other tables --------------------------------------------------------------------------------


def test_three_wines(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = load_wine(return_X_y=True, as_frame=True)
    table = pa.Table.from_pandas(X.assign(wine=np.array(["a", "b", "c"])[y]), preserve_index=False)
    pyarrow.csv.write_csv(table, "wine.csv")
    out, _ = fitted(capsys, data="wine.csv", target="wine")
    assert "13 features" in out
    assert_same("m", AutoBayes().fit(table, "wine"), table)


@pytest.mark.skipif(DATA is None, reason="NAIVELY_DATA names the folder of data sets")
@pytest.mark.parametrize(
    ("path", "target"),
    [("zoo/zoo.arff", "type"), *slow(("titanic/titanic-seaborn-891.csv", "survived"),
                                     ("vote/vote.arff", "Class"))],
)  # fmt: skip
def test_real_tables(tmp_path, monkeypatch, capsys, path, target):
    monkeypatch.chdir(tmp_path)
    file = Path(DATA) / path
    fitted(capsys, data=file, target=target)
    said(capsys, "predict", "m", file, "-o", "p.parquet", "--only", "--proba")
    model = naively.load("m")
    again = AutoBayes().fit(*_rows(file, target))
    assert again.model_.statistics.canonical() == model.model_.statistics
    found = parquet.read_table("p.parquet")
    proba = np.column_stack([found[f"P({label})"].to_numpy() for label in model.classes_])
    assert np.array_equal(proba, again.predict_proba(_rows(file, target)[0]))


def _rows(file, target):
    """(columns, labels) of a file as the command line reads it, but whole."""
    from naively.io.sources import open_source

    table = pa.Table.from_batches([task() for task in open_source([str(file)]).tasks()])
    return table.drop_columns(target), table[target]


def test_one_of_something_is_no_plural(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{k * 0.37 % 2 + k % 2:.2f},{'r' * (k % 4 > 0)},{'pq'[k % 2]}" for k in range(200)]
    Path("few.csv").write_text("\n".join(["x,c,y", *rows]) + "\n")
    Path("new.csv").write_text("x,c\nabc,r\n")
    assert run(["fit", "few.csv", "-t", "y", "-o", "m"]) == 0
    assert re.search(r"^c +1 category ", capsys.readouterr().out, re.M)
    assert run(["predict", "m", "new.csv"]) == 0
    err = capsys.readouterr().err
    assert "1 value such as 'abc' cannot be read and counts as missing" in " ".join(err.split())
