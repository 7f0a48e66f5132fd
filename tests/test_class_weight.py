"""Class weights change the class prior alone."""

import copy
import json
import re
from pathlib import Path

import numpy as np
import pytest

import naively
from naively import AutoBayes, JointBayes, NaiveBayes, TextNB
from naively.cli.main import run

ROWS = {
    "size": [1.0, 2.5, 2.0, 4.0, 3.5, 5.0, 4.5, 6.0, 5.5, 3.0] * 4,
    "colour": ["red", "red", "blue", "red", "blue", "blue", "blue", "red", "blue", "blue"] * 4,
}
LABELS = ["a", "a", "b", "a", "b", "b", "c", "b", "b", "b"] * 4
MAILS = ["win a prize", "lunch at noon", "free prize", "at noon", "see you at noon", "noon, lunch"]
KINDS = ["spam", "ham", "spam", "ham", "ham", "ham"]
TABLES = [AutoBayes, JointBayes, NaiveBayes]


def balanced(proba, labels):
    """The probabilities of rows as if all classes were as frequent: Bayes' rule."""
    odds = proba / np.unique(labels, return_counts=True)[1]
    return odds / odds.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("kind", TABLES)
def test_balanced_divides_by_how_frequent_classes_are(kind):
    usual = kind().fit(ROWS, LABELS).predict_proba(ROWS)
    found = kind(class_weight="balanced").fit(ROWS, LABELS)
    np.testing.assert_allclose(found.predict_proba(ROWS), balanced(usual, LABELS), rtol=1e-12)
    np.testing.assert_allclose(found.class_prior_, 1 / 3)


def test_balanced_of_texts_too():
    usual = TextNB().fit(MAILS, KINDS).predict_proba(MAILS)
    found = TextNB(class_weight="balanced").fit(MAILS, KINDS).predict_proba(MAILS)
    np.testing.assert_allclose(found, balanced(usual, KINDS), rtol=1e-12)


@pytest.mark.parametrize("kind", [AutoBayes, NaiveBayes])
def test_a_dict_weighs_those_that_it_names(kind):
    found = kind(class_weight={"c": 3.0}).fit(ROWS, LABELS)
    np.testing.assert_allclose(found.class_prior_, np.array([12, 24, 12]) / 48)


def test_the_prior_is_that_of_weighted_rows():
    weight = {"a": 0.5, "b": 2.0, "c": 3.0}
    rows = [weight[label] for label in LABELS]
    by_row = NaiveBayes().fit(ROWS, LABELS, rows)
    by_class = NaiveBayes(class_weight=weight).fit(ROWS, LABELS)
    np.testing.assert_allclose(by_class.class_prior_, by_row.class_prior_)


def test_balanced_follows_what_is_learned_and_forgotten():
    part = {name: values[:7] for name, values in ROWS.items()}
    model = NaiveBayes(class_weight="balanced").fit(ROWS, LABELS)
    grown = copy.deepcopy(model).partial_fit(part, ["d"] * 7)
    np.testing.assert_allclose(grown.class_prior_, 0.25)
    back = grown.forget(part, ["d"] * 7)
    np.testing.assert_allclose(back.class_prior_, 1 / 3)
    assert back.predict_proba(ROWS).tobytes() == model.predict_proba(ROWS).tobytes()


@pytest.mark.parametrize("weight", ["balanced", {"a": 2.5}])
def test_files_hold_it(weight, tmp_path):
    model = AutoBayes(class_weight=weight).fit(ROWS, LABELS)
    model.save(tmp_path / "m")
    loaded = naively.load(tmp_path / "m")
    assert loaded.class_weight == weight
    assert loaded.predict_proba(ROWS).tobytes() == model.predict_proba(ROWS).tobytes()


def test_it_is_set_later_without_the_rows():
    model = AutoBayes().fit(ROWS, LABELS).set_params(class_weight="balanced").reestimate()
    anew = AutoBayes(class_weight="balanced").fit(ROWS, LABELS)
    assert model.predict_proba(ROWS).tobytes() == anew.predict_proba(ROWS).tobytes()


def test_parameters_by_class_have_no_nested_names():
    model = NaiveBayes(class_weight={0: 2.0}, alpha={"size": 2.0})
    assert {name for name in model.get_params() if "__" in name} == {"alpha__size"}


def test_a_prior_adapted_to_rows_replaces_it():
    model = NaiveBayes(class_weight="balanced").fit(ROWS, LABELS)
    adapted = model.adapt_prior(ROWS)
    assert adapted.class_weight is None
    np.testing.assert_allclose(adapted.class_prior_, adapted.prior)
    adapted.reestimate()


def test_cross_validation_is_that_of_the_weighted_model():
    weighted = AutoBayes(class_weight="balanced").fit(ROWS, LABELS)
    shown = weighted.summary().cross_validation
    left_out = AutoBayes(class_weight="balanced").out_of_fold(ROWS, LABELS)
    assert shown.log_loss == pytest.approx(left_out.log_loss)
    assert shown.log_loss != AutoBayes().fit(ROWS, LABELS).summary().cross_validation.log_loss


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"class_weight": "even"}, "class_weight must be \"balanced\", a dict or None, not 'even'"),
        ({"class_weight": {"x": 2}}, "class weights: no training row has the class 'x'"),
        ({"class_weight": {"a": -1}}, "must be finite and non-negative, not -1 of class 'a'"),
        ({"class_weight": "balanced", "prior": "uniform"}, "another prior is given"),
    ],
)
def test_what_makes_no_sense_is_refused(options, problem):
    with pytest.raises(ValueError, match=problem):
        NaiveBayes(**options).fit(ROWS, LABELS)


@pytest.fixture
def table(tmp_path):
    lines = [f"{s},{c},{y}" for s, c, y in zip(*ROWS.values(), LABELS, strict=True)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["size,colour,kind", *lines, ""]))
    return path


def test_on_the_command_line(table, tmp_path):
    output = tmp_path / "m"
    fit = ["fit", str(table), "--target", "kind", "--output", str(output)]
    assert not run([*fit, "--class-weight", "balanced"])
    loaded = naively.load(output)
    assert loaded.class_weight == "balanced"
    np.testing.assert_allclose(loaded.class_prior_, 1 / 3)
    assert not run([*fit, "--naive", "--class-weight", "a=2", "--class-weight", "b=0.5"])
    np.testing.assert_allclose(naively.load(output).class_prior_, np.array([24, 12, 4]) / 40)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (["--class-weight", "even"], "--class-weight is balanced, or"),
        (["--class-weight", "a=x"], "--class-weight a=x"),
        (["--class-weight", "balanced", "--prior", "uniform"], "leave out --prior"),
    ],
)
def test_the_command_line_says_what_is_wrong(said, problem, table, tmp_path, capsys):
    fit = ["fit", str(table), "--target", "kind", "--output", str(tmp_path / "m")]
    assert run([*fit, *said]) == 2
    assert problem in capsys.readouterr().err


def test_the_baseline_is_the_class_frequencies_whatever_the_prior(tmp_path, monkeypatch, capsys):
    """Of new rows it was the class prior: `balanced` made it worse, and the model look better."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{k % 7},{'ab'[k % 5 == 0]}" for k in range(100)]
    Path("t.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    fit = ["fit", "t.csv", "-t", "y", "-o", "m", "--naive"]
    for options in ([], ["--class-weight", "balanced"], ["--prior", "uniform"]):
        for command in ([*fit, *options], ["evaluate", "m", "t.csv"]):
            assert run(command) == 0
            said = " ".join(capsys.readouterr().out.split())
            assert "always predict a, with the class frequencies as probabilities" in said
            assert re.search(r"log-loss [0-9.]+ ± [0-9.]+ 0\.5004", said)  # entropy of 80 and 20
        assert run([*fit, *options, "--holdout", "0.2", "--json"]) == 0
        held_out = json.loads(capsys.readouterr().out)["held_out"]
        assert held_out["baseline_log_loss"] == pytest.approx(0.5004, abs=1e-4)


def test_the_baseline_counts_rows_by_their_weights(tmp_path, monkeypatch, capsys):
    """A row of weight 4 is four rows of the training data."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{k % 7},{'ab'[k % 5 == 0]},{4 if k % 5 == 0 else 1}" for k in range(100)]
    Path("t.csv").write_text("\n".join(["x,y,w", *lines]) + "\n")
    fit = ["fit", "t.csv", "-t", "y", "-o", "m", "--naive", "--weight", "w", "--json"]
    assert run([*fit, "--class-weight", "a=9"]) == 0
    trained = json.loads(capsys.readouterr().out)["cross_validation"]
    assert run(["evaluate", "m", "t.csv", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert trained["baseline_log_loss"] == pytest.approx(np.log(2))  # 80 and 20 * 4
    assert scores["baseline_log_loss"] == pytest.approx(np.log(2))
