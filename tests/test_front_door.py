"""The estimator in the file of `naively fit` gives the same model."""

import io
from pathlib import Path

import pandas as pd
import pytest
from sklearn.base import clone

import naively
from naively.cli.main import run
from naively.storage.model_files import Saved, to_bytes


@pytest.fixture
def folder(tmp_path, monkeypatch, data_folder, unjudged):
    """Some passengers of the Titanic, and some messages."""
    monkeypatch.chdir(tmp_path)
    table = pd.read_csv(data_folder / "titanic/titanic-seaborn-891.csv", nrows=150)
    table["weight"] = 1
    table.to_csv("titanic.csv", index=False)
    with (data_folder / "sms-spam/SMSSpamCollection").open(encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line, _ in zip(file, range(200), strict=False)]
    pd.DataFrame(rows, columns=["label", "text"]).to_csv("sms.csv", index=False)
    for label in ("ham", "spam"):
        lines = [text for one, text in rows if one == label]
        (tmp_path / f"{label}.txt").write_text("\n".join(lines), "utf-8")


TITANIC = ["titanic.csv", "--target", "survived"]
SMS = ["sms.csv", "--target", "label"]
FITS = {
    "evidence": (TITANIC, "AutoBayes"),
    "evidence of text": ([*TITANIC, "--text", "name", "--prior", "uniform"], "AutoBayes"),
    "declared": ([*TITANIC, "--categorical", "pclass", "--numeric", "age"], "AutoBayes"),
    "naive": ([*TITANIC, "--naive", "--unseen", "ignore", "--missing", "S"], "NaiveBayes"),
    "families": (
        [*TITANIC, "--family", "gamma", "--columns", "sex=categorical(alpha=2)", "--skip", "cabin",
         "--alpha", "0.5", "--prior-smoothing", "0=1"], "NaiveBayes"),
    "best families": ([*TITANIC, "--family", "auto"], "NaiveBayes"),
    "noticed text": (SMS, "NaiveBayes"),
    "named text": ([*SMS, "--text", "text"], "NaiveBayes"),
    "naive text": ([*SMS, "--naive"], "NaiveBayes"),
    "documents": (["ham.txt", "spam.txt"], "NaiveBayes"),
    "words": (["ham.txt", "spam.txt", "--naive"], "NaiveBayes"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FITS)
def test_the_estimator_in_the_file_trains_the_model_in_the_file(folder, kind):
    arguments, estimator = FITS[kind]
    assert run(["fit", *arguments, "-o", "m"]) == 0
    stored = naively.load("m")
    assert type(stored).__name__ == estimator
    files = [one for one in arguments if one.endswith((".csv", ".txt"))]
    again = clone(stored).fit(naively.scan(files), stored.model_.target)
    for model in (again.model_, stored.model_):
        model.posterior()  # bytes hold estimates that were made
    assert to_bytes(Saved(again.model_)) == to_bytes(Saved(stored.model_))


def test_labels_and_texts_are_noticed_in_a_pipe(folder, monkeypatch):
    """The first rows decide, and are trained on: a pipe can be read but once."""
    with Path("sms.csv").open("rb") as pipe:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(pipe, "utf-8"))
        assert run(["fit", "-", "--target", "label", "-o", "piped"]) == 0
    assert run(["fit", "sms.csv", "--target", "label", "-o", "read"]) == 0
    piped, read = naively.load("piped"), naively.load("read")
    assert piped.model_ == read.model_
    assert read.model_.rows == 200


def test_a_pipe_of_several_labels_needs_no_separator(folder, monkeypatch):
    table = pd.read_csv("sms.csv").assign(label=["a|b", "b"] * 100)
    table.to_csv("labels.csv", index=False)
    with Path("labels.csv").open("rb") as pipe:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(pipe, "utf-8"))
        assert run(["fit", "-", "--target", "label", "--multilabel", "-o", "m"]) == 0
    model = naively.load("m")
    assert model.classes_.tolist() == ["a", "b"]
    assert model.model_.rows == 200
