"""Cross-validation: `naively fit`, `inspect` and `summary()` print the same figures."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy.special import xlogy

import naively
from naively import AutoBayes, NaiveBayes, TextNB
from naively.cli import work
from naively.cli.main import run
from naively.evaluation import fitted
from naively.evaluation import samples as kept
from naively.evaluation.samples import RowSample
from naively.model.model import Model

DATA = os.environ.get("NAIVELY_DATA")


def said(capsys, *tokens):
    """(standard output, standard error) of a command."""
    found = run([str(token) for token in tokens])
    out, err = capsys.readouterr()
    assert found == 0, err
    return out, err


def asked(capsys, *tokens):
    return json.loads(said(capsys, *tokens, "--json")[0])


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A table in people.csv: numbers, levels, missing values and weights."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 300
    y = rng.integers(0, 2, n)
    age = np.where(rng.random(n) < 0.1, np.nan, rng.normal(30 + 8 * y, 5).round(1))
    table = pa.table({
        "age": pa.array(age, from_pandas=True),
        "job": np.array(["cook", "smith", "nurse"])[(rng.integers(0, 3, n) * (y + 1)) % 3].tolist(),
        "times": rng.integers(0, 4, n) / 2,
        "rich": np.array(["poor", "rich"])[y].tolist(),
    })  # fmt: skip
    pyarrow.csv.write_csv(table, "people.csv")
    return pyarrow.csv.read_csv("people.csv")


def assert_alike(found, python):
    """What the command says is what Python says."""
    own = python.calibration
    assert found["rows"] == python.weights.sum()
    assert found["accuracy"] == pytest.approx(python.accuracy)
    assert found["log_loss"] == pytest.approx(python.log_loss)
    assert found["baseline_log_loss"] == pytest.approx(python.baseline_log_loss)
    assert found["calibration_error"] == pytest.approx(own.error)
    assert found["calibration_standard_error"] == pytest.approx(own.standard_error)
    assert found["calibration_error_if_calibrated"] == pytest.approx(own.if_calibrated)
    share = np.bincount(python.codes, python.weights) / python.weights.sum()
    assert found["baseline_accuracy"] == pytest.approx(share.max())
    if found["worse_than_prior"]:
        assert python.log_loss > python.baseline_log_loss


# ---- the same as in Python -----------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--naive"]], ids=["weighed", "naive"])
def test_it_is_left_out_of_python(people, capsys, options):
    found = asked(capsys, "fit", "people.csv", "-t", "rich", "-o", "m", *options)[
        "cross_validation"
    ]
    model = NaiveBayes() if options else AutoBayes()
    assert_alike(found, model.out_of_fold(people, "rich"))
    out, _ = said(capsys, "fit", "people.csv", "-t", "rich", "-o", "m", *options)
    assert "10-fold cross-validation " in out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    accuracy, prior = found["accuracy"], found["baseline_accuracy"]
    error = np.sqrt(accuracy * (1 - accuracy) / len(people))
    assert f"accuracy {accuracy:.1%} ± {error:.1%} {prior:.1%}" in lines
    loss, prior = found["log_loss"], found["baseline_log_loss"]
    margin = f" ± {found['log_loss_standard_error']:.4f}"
    assert f"log-loss {loss:.4f}{margin} {prior:.4f}" in lines


def test_rows_with_weights(people, capsys):
    found = asked(
        capsys, "fit", "people.csv", "-t", "rich", "-o", "m", "--weight", "times", "--naive"
    )["cross_validation"]
    rows, weights = people.drop_columns("times"), people["times"].to_numpy()
    assert_alike(found, NaiveBayes().out_of_fold(rows, "rich", weights))


def test_rows_of_weight_two_are_two(people, capsys):
    times = (2 * people["times"].to_numpy()).astype(int)  # 0 to 3
    weighted = people.set_column(people.column_names.index("times"), "times", pa.array(times))
    pyarrow.csv.write_csv(weighted, "weighted.csv")
    rows = people.drop_columns("times").take(pa.array(np.arange(len(people)).repeat(times)))
    pyarrow.csv.write_csv(rows, "repeated.csv")
    found = asked(capsys, "fit", "weighted.csv", "-t", "rich", "-o", "m", "--weight", "times")
    repeated = asked(capsys, "fit", "repeated.csv", "-t", "rich", "-o", "n")["cross_validation"]
    assert found["cross_validation"] == repeated
    assert_alike(repeated, AutoBayes().out_of_fold(rows, "rich"))


def test_labels_with_blanks_and_rows_without_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=60).round(2)
    cells = [" 1", " 2 ", ""]
    Path("t.csv").write_text(
        "x,y\n" + "".join(f"{value + k % 3},{cells[k % 3]}\n" for k, value in enumerate(x))
    )
    found = asked(capsys, "fit", "t.csv", "-t", "y", "-o", "m", "--naive")["cross_validation"]
    given = np.arange(60) % 3 < 2
    table = {"x": [float(f"{value + k % 3}") for k, value in enumerate(x)]}
    table = pa.table(table).filter(pa.array(given))
    assert_alike(found, NaiveBayes().out_of_fold(table, (np.arange(60) % 3 + 1)[given]))


def test_documents(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ham, spam = ["meeting at noon", "lunch at noon?", "minutes"] * 5, ["cash now", "win cash"] * 5
    Path("ham.txt").write_text("\n".join(ham) + "\n")
    Path("spam.txt").write_text("\n".join(spam) + "\n")
    found = asked(capsys, "fit", "ham.txt", "spam.txt", "--naive", "-o", "m")["cross_validation"]
    labels = ["ham"] * len(ham) + ["spam"] * len(spam)
    assert_alike(found, naively.TextNB(weights=None).out_of_fold(ham + spam, labels))
    found = asked(capsys, "fit", "ham.txt", "spam.txt", "-o", "m")["cross_validation"]
    own = TextNB().fit(ham + spam, labels)
    assert found["log_loss"] == pytest.approx(own.scale_.out_of_fold.log_loss)
    assert found["accuracy"] == own.scale_.out_of_fold.accuracy


def test_a_column_of_text_whose_type_follows_from_all_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = np.array(
        ["cash", "win", "now", "free", "meeting", "noon", "lunch", "minutes", "agenda", "room"]
    )
    rng = np.random.default_rng(0)
    kinds = np.arange(80) % 2
    texts = [" ".join(rng.choice(words[3 * k : 3 * k + 5], 12)) for k in kinds]
    table = {"text": texts, "kind": kinds.tolist()}
    pyarrow.csv.write_csv(pa.table(table), "mails.csv")
    found = asked(capsys, "fit", "mails.csv", "-t", "kind", "--naive", "-o", "m")
    assert_alike(found["cross_validation"], NaiveBayes().out_of_fold(table, "kind"))


@pytest.mark.skipif(DATA is None, reason="NAIVELY_DATA names the folder of data sets")
def test_vote(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = Path(DATA) / "vote/vote.arff"
    found = asked(capsys, "fit", file, "-t", "Class", "-o", "m")["cross_validation"]
    assert found["rows"] == 435
    assert 0.94 < found["accuracy"] < 0.98
    assert found["log_loss"] < 0.15 < 0.6 < found["baseline_log_loss"]


# ---- the same figures everywhere -----------------------------------------------------------------


def test_the_file_has_the_figures_of_fit(people, capsys):
    """Training rows are in the file, so `inspect` and Python cross-validate as `fit` does."""
    found = asked(capsys, "fit", "people.csv", "-t", "rich", "-o", "m")["cross_validation"]
    assert found["folds"] == 10
    assert "caveat" not in found
    assert asked(capsys, "inspect", "m")["cross_validation"] == found
    loaded = naively.load("m").summary()
    assert loaded.cross_validation.as_json() == found
    assert AutoBayes().fit(people, "rich").summary().cross_validation.as_json() == found
    printed = [said(capsys, *tokens)[0] for tokens in (
        ("fit", "people.csv", "-t", "rich", "-o", "m"), ("inspect", "m"))]  # fmt: skip
    tables = [text[text.index("10-fold") :].split("\n\n")[0] for text in printed]
    assert tables[0] == tables[1].rstrip()
    assert tables[0] in str(loaded)


def test_the_figures_are_those_of_the_rows_that_are_left(people, capsys):
    """After an update or `forget`, those that `fit` prints for all rows of the model."""
    rows = np.arange(len(people)) < 200
    pyarrow.csv.write_csv(people.filter(pa.array(rows)), "first.csv")
    pyarrow.csv.write_csv(people.filter(pa.array(~rows)), "others.csv")
    first = asked(capsys, "fit", "first.csv", "-t", "rich", "-o", "m")["cross_validation"]
    whole = asked(capsys, "fit", "people.csv", "-t", "rich", "-o", "w")["cross_validation"]
    assert first != whole
    said(capsys, "update", "m", "others.csv")
    assert asked(capsys, "inspect", "m")["cross_validation"] == whole
    said(capsys, "forget", "m", "others.csv")
    assert asked(capsys, "inspect", "m")["cross_validation"] == first


def test_rows_that_recur_are_cross_validated_as_they_came(tmp_path, monkeypatch, capsys):
    """The model stores a distinct row once, with its weight."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 200)
    table = pa.table({
        "a": ((rng.random(200) < 0.3 + 0.4 * y) * 1).astype(str), "b": rng.integers(0, 3, 200),
        "y": y.astype(str),
    })  # fmt: skip
    pyarrow.csv.write_csv(table, "t.csv")
    found = asked(capsys, "fit", "t.csv", "-t", "y", "-o", "m")["cross_validation"]
    assert_alike(found, AutoBayes().out_of_fold(table, "y"))


# ---- large tables --------------------------------------------------------------------------------


def test_of_large_tables_the_plan_says_it(people, capsys, monkeypatch):
    monkeypatch.setattr(fitted, "SMALL", 0)
    found = asked(capsys, "fit", "people.csv", "-t", "rich", "-o", "m")
    plan = AutoBayes().fit(people, "rich").model_.posterior().parameters.plan
    own = found["cross_validation"]
    assert own["log_loss"] == plan.out_of_fold.log_loss
    assert own["rows"] == 300
    honest = AutoBayes().out_of_fold(people, "rich")
    assert own["accuracy"] == pytest.approx(honest.accuracy, abs=0.03)
    assert own["log_loss"] == pytest.approx(honest.log_loss, abs=0.05)
    assert own["baseline_log_loss"] == pytest.approx(honest.baseline_log_loss, abs=0.001)
    assert (
        "interactions were selected on all rows"
        in said(capsys, "fit", "people.csv", "-t", "rich", "-o", "m")[0]
    )


def test_columns_without_evidence_are_evaluated_as_the_prior(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fitted, "SMALL", 0)
    Path("t.csv").write_text("x,y\n" + "1,a\n" * 300 + "1,b\n" * 100)
    found = asked(capsys, "fit", "t.csv", "-t", "y", "-o", "m")["cross_validation"]
    assert found["accuracy"] == found["baseline_accuracy"] == 0.75
    entropy = -xlogy([0.75, 0.25], [0.75, 0.25]).sum()
    assert found["log_loss"] == pytest.approx(entropy, abs=1e-3)
    assert found["calibration_error"] == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("pace", [1, -1], ids=["in order", "the last first"])
def test_which_rows_are_sampled_depends_on_no_pace(people, monkeypatch, pace):
    monkeypatch.setattr(kept, "ROWS", 30)
    monkeypatch.setattr(kept, "most_rows", lambda batch: 30)
    batches = people.to_batches(max_chunksize=17)

    def keys(order):
        found = RowSample(5)
        tasks = [*found.passing([lambda batch=batch: batch for batch in batches])]
        for task in tasks[::order]:
            task()
        model = NaiveBayes().fit(people, "rich").model_
        spec = naively.tables.learning.TrainingSpec(
            "rich", naively.tables.inference.ColumnOptions({})
        )
        own = found.learnable(model, spec)
        assert isinstance(own.blank, Model)
        return sorted(map(str, zip(own.labels, own.X.parts[0][:, 0], strict=True)))

    whole = keys(1)
    assert len(whole) == 30
    assert keys(pace) == whole


# ---- where there is nothing to say ---------------------------------------------------------------


def test_held_out_rows_are_evaluated_instead(people, capsys):
    found = asked(capsys, "fit", "people.csv", "-t", "rich", "-o", "m", "--holdout", "0.2")
    assert found["cross_validation"] is None
    assert found["held_out"]["rows"] > 0


def test_shards_are_not_evaluated(people, capsys):
    said(capsys, "fit", "people.csv", "-t", "rich", "-o", "m")
    found = asked(capsys, "fit", "people.csv", "-o", "n", "--like", "m")
    assert found["cross_validation"] is None


def test_two_rows(tmp_path, monkeypatch, capsys):
    """Each without the other knows one class, which is not its own: an error, in no log-loss."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,y\n1,a\n2,b\n")
    for options in ([], ["--naive"]):
        found = asked(capsys, "fit", "t.csv", "-t", "y", "-o", "m", *options)["cross_validation"]
        assert found["accuracy"] == 0
        assert found["log_loss"] is None
        assert not found["worse_than_prior"]
        said(capsys, "fit", "t.csv", "-t", "y", "-o", "m", *options)


def test_what_cannot_be_estimated_without_a_part_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{'uv'[k % 2]}" for k, (a, b) in enumerate(rng.normal(size=(6, 2)))]
    Path("t.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    tokens = "fit", "t.csv", "-t", "y", "-o", "m", "--family", "multivariate"
    out, err = said(capsys, *tokens)
    assert "cross-validation" not in out
    assert "no cross-validation: " in err


def test_models_that_take_much_memory_are_not_made_ten_times(people, capsys, monkeypatch):
    monkeypatch.setattr(work, "HEAVY", 1 << 20)
    found = asked(capsys, "fit", "people.csv", "-t", "rich", "-o", "m", "--naive")
    assert found["cross_validation"]["rows"] == 300
    monkeypatch.setattr(work, "HEAVY", 0)
    out, err = said(capsys, "fit", "people.csv", "-t", "rich", "-o", "m", "--naive")
    assert "cross-validation" not in out
    assert "no cross-validation: the model takes more than 0 MB" in err


def test_worse_than_the_prior_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 40)
    noise = rng.normal(size=(12, 40)).round(2)
    table = {f"x{k}": own for k, own in enumerate(noise)}
    pyarrow.csv.write_csv(pa.table({**table, "y": np.array(["a", "b"])[y].tolist()}), "t.csv")
    worse = "its probabilities are worse than the baseline's: "
    out, _ = said(capsys, "fit", "t.csv", "-t", "y", "-o", "m", "--naive")
    assert f"{worse}`AutoBayes()`, with weights, may do better" in out
    out, _ = said(capsys, "fit", "t.csv", "-t", "y", "-o", "m")
    found = asked(capsys, "fit", "t.csv", "-t", "y", "-o", "m")["cross_validation"]
    assert (f"{worse}it is too confident on these rows" in out) == found["worse_than_prior"]


def test_naive_words_beside_columns_are_not_to_be_trusted_for_labels(tmp_path, monkeypatch, capsys):
    """They err more than who always says the same: what helps is to weigh."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.05, "b", "a")
    words = np.array(
        ["slow", "rude", "quick", "late", "never", "always", "phone", "card", "help", "thanks"]
    )
    table = {f"x{k}": x for k, x in enumerate(rng.normal(size=(30, 300)))}
    table["note"] = [" ".join(rng.choice(words, 12)) for _ in y]
    pyarrow.csv.write_csv(pa.table({**table, "y": y.tolist()}), "t.csv")
    out, _ = said(capsys, "fit", "t.csv", "-t", "y", "-o", "m", "--naive")
    worse = "its probabilities are worse than the baseline's"
    assert f"{worse}: `AutoBayes()`, with weights, may do better" in out


# ---- columns that number the rows ----------------------------------------------------------------


def test_a_column_of_row_numbers_has_a_warning(tmp_path, monkeypatch, capsys):
    """Rows that are sorted by class: their numbers tell it, until others come."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=200).round(2)
    for name, own in (("i", np.arange(200)), ("f", np.arange(200) / 2), ("k", np.arange(200) % 99)):
        table = pa.table({name: own, "x": x, "y": np.repeat(["a", "b"], 100).tolist()})
        pyarrow.csv.write_csv(table, f"{name}.csv")
        out, _ = said(capsys, "fit", f"{name}.csv", "-t", "y", "-o", "m")
        counts = f"feature {name} has a different whole number in each row: if it is a row number"
        assert (counts in out) == (name == "i")
    out, _ = said(capsys, "fit", "i.csv", "-t", "y", "-o", "m", "--skip", "i")
    assert "whole number" not in out


@pytest.mark.slow
def test_of_fewer_rows_than_columns_the_figure_is_little_too_good(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    printed, refitted = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 60)
        X = rng.normal(size=(60, 400)) + np.outer(y, np.arange(400) < 5)
        table = {f"c{k}": own for k, own in enumerate(X.T)} | {"y": y}
        pyarrow.csv.write_csv(pa.table(table), "wide.csv")
        found = asked(capsys, "fit", "wide.csv", "-t", "y", "-o", "m")["cross_validation"]
        printed.append(found["log_loss"])
        assert "optimistic: there are fewer rows than features" in found["caveat"]
        honest = naively.cross_validate(AutoBayes(), pa.table(table).drop_columns(["y"]), y)
        refitted.append(honest.log_loss)
    assert 0.75 * np.mean(refitted) < np.mean(printed) < np.mean(refitted)


@pytest.mark.parametrize("options", [[], ["--naive"]])
def test_a_prior_by_class_is_that_of_the_rows_left_out(options, people, capsys):
    fit = ["fit", "people.csv", "--target", "rich", "--prior", "rich=0.9", *options]
    found = asked(capsys, *fit, "-o", "m")["cross_validation"]
    model = (NaiveBayes if options else AutoBayes)(prior=[0.1, 0.9])
    assert_alike(found, model.out_of_fold(people, "rich"))
