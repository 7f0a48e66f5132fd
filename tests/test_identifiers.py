"""Text columns with a different value in each row: `fit` leaves them out, unstored."""

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest

import naively
from naively import AutoBayes, NaiveBayes
from naively.cli.main import run

RNG = np.random.default_rng(0)
LABELS = np.where(RNG.random(240) < 0.3, "yes", "no")
ROWS = pd.DataFrame({
    "mail": [f"user{k:03}@example.org" for k in RNG.permutation(240)],
    "a": RNG.normal(LABELS == "yes").round(2),
    "kind": RNG.choice(["u", "v", "w"], 240),
    "code": [f"0{k}" for k in RNG.permutation(240)],
})  # fmt: skip
OTHERS = ROWS.drop(columns=["mail", "code"])


@pytest.mark.parametrize("kind", [AutoBayes, lambda: NaiveBayes(weights="auto"), NaiveBayes])
def test_identifiers_are_in_no_file_and_have_no_influence(kind, tmp_path):
    """All of them were in the file, and probabilities were others than without the column."""
    model, without = kind().fit(ROWS, LABELS), kind().fit(OTHERS, LABELS)
    np.testing.assert_array_equal(model.predict_proba(ROWS), without.predict_proba(OTHERS))
    np.testing.assert_array_equal(
        model.out_of_fold(ROWS, LABELS).log_proba, without.out_of_fold(OTHERS, LABELS).log_proba
    )
    folds = naively.cross_validate(kind(), ROWS, LABELS, cv=3, settings={"prior": ["uniform"]})
    others = naively.cross_validate(kind(), OTHERS, LABELS, cv=3, settings={"prior": ["uniform"]})
    np.testing.assert_array_equal(folds[0].log_proba, others[0].log_proba)
    assert list(model.model_.schema.skipped) == ["mail", "code"]
    assert model.feature_names_in_.tolist() == [*ROWS]
    explanation = model.explain(ROWS[:9])  # has no contribution of them: it names the others
    assert explanation.features == [*OTHERS]
    for row, odds in zip(explanation, explanation.log_odds("yes", against="no")[1], strict=True):
        lines = [line for line in row.lines("yes", against="no") if line[0] in ROWS]
        assert {name: nats for name, _, nats in lines} == dict(zip(OTHERS, odds, strict=True))
    model.save(tmp_path / "m")
    assert b"user003" not in (tmp_path / "m").read_bytes()
    expected = model.model_.copy()
    model.partial_fit(ROWS, LABELS).forget(ROWS, LABELS)
    assert model.model_ == expected
    assert (model + kind().fit(ROWS, LABELS)).model_.rows == 480


def test_dates_texts_and_growing_columns_stay():
    days = np.datetime_as_string(np.datetime64("2020-01-01") + np.arange(240))
    texts = [f"some words of text {k}" for k in range(240)]
    prose = [f"more than six words in a text of number {k}" for k in range(240)]
    rows = OTHERS.assign(day=days, text=texts, prose=prose)
    model = AutoBayes(text=["text"]).fit(rows, LABELS)
    assert not model.model_.schema.skipped
    twice = AutoBayes().fit(ROWS, LABELS, sample_weight=np.where(np.arange(240) < 9, 2, 1))
    assert not twice.model_.schema.skipped  # as if nine rows came twice
    learning = AutoBayes().partial_fit(ROWS, LABELS)  # later rows may have the same values
    assert not learning.model_.schema.skipped


def test_batches_keep_what_may_recur():
    """The type is that of all rows; what a fit has left out adds to nothing that was stored."""
    half, rest = ROWS[:120], ROWS[120:]
    batches = NaiveBayes().partial_fit(half, LABELS[:120]).partial_fit(rest, LABELS[120:])
    assert [*batches.model_.schema.skipped] == ["mail", "code"]
    twice = NaiveBayes().partial_fit(ROWS, LABELS).partial_fit(ROWS, LABELS)
    assert twice.model_.schema.family_of["mail"].name == "categorical"
    parts = [NaiveBayes().fit(half, LABELS[:120]), NaiveBayes().fit(rest, LABELS[120:])]
    total, expected = parts[0] + parts[1], NaiveBayes().fit(OTHERS, LABELS)
    assert [*total.model_.schema.skipped] == ["mail", "code"]
    np.testing.assert_array_equal(total.predict_proba(ROWS), expected.predict_proba(OTHERS))
    with pytest.raises(
        ValueError, match=r"'mail' was left out of one model .looks like an identifier"
    ):
        parts[0] + NaiveBayes().partial_fit(rest, LABELS[120:])


def test_the_command_leaves_out_what_python_does(tmp_path, capsys):
    pyarrow.csv.write_csv(pyarrow.Table.from_pandas(ROWS.assign(y=LABELS)), tmp_path / "t.csv")
    fit = ["fit", str(tmp_path / "t.csv"), "-t", "y", "-o"]
    assert run([*fit, str(tmp_path / "m")]) == 0
    assert "left out: mail and code (looks like an identifier: a different value in each row)" in (
        capsys.readouterr().out)  # fmt: skip
    assert run([*fit, str(tmp_path / "n"), "--skip", "mail", "--skip", "code"]) == 0
    for name in "mn":
        assert b"user003" not in (tmp_path / name).read_bytes()
    found, skipped = (naively.load(tmp_path / name).predict_proba(ROWS) for name in "mn")
    np.testing.assert_array_equal(found, skipped)
    np.testing.assert_array_equal(found, AutoBayes().fit(ROWS, LABELS).predict_proba(ROWS))
