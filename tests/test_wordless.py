"""Columns of text in which no document has a term: they tell nothing, and are no error."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from test_cli import asked, naive

import naively
from naively import NaiveBayes, Text, TextNB

SIZES = [1.5, 2.5, 7.25, 8.0, 9.5, 1.0]
Y = ["a", "a", "b", "b", "b", "a"]
SILENT = ["", ".", None, "x", "?!", " "]
EVENTS = ("multinomial", "binary", "bernoulli", "complement")


def table(texts, rows=slice(None)):
    return {"size": SIZES[rows], "text": texts[rows]}


@pytest.mark.parametrize("event", EVENTS)
def test_text_without_terms_tells_nothing(event):
    model = NaiveBayes(columns={"text": Text(event)}).fit(table(SILENT), Y)
    plain = NaiveBayes().fit({"size": SIZES}, Y)
    new = {"size": [1.0, 8.0], "text": ["words that nobody knows", None]}
    sizes = {"size": new["size"]}
    assert_array_equal(model.predict_joint_log_proba(new), plain.predict_joint_log_proba(sizes))
    assert_array_equal(model.explain(new).contributions[:, :, 1], 0.0)


@pytest.mark.parametrize("event", EVENTS)
def test_terms_that_come_later_count(event, tmp_path):
    words = ["red", "red hat", "blue", "blue hat", None, "blue"]
    columns = {"text": Text(event), "size": "gaussian"}
    both = {"size": SIZES * 2, "text": SILENT + words}
    whole = NaiveBayes(columns=columns).fit(both, Y * 2)
    model = NaiveBayes(columns=columns).fit(table(SILENT), Y)
    model.save(tmp_path / "m")
    for one in (model, naively.load(tmp_path / "m")):
        one.partial_fit(table(words), Y)
        assert one.model_ == whole.model_
        odds = one.explain({"size": [None], "text": ["red"]}).log_odds("a", against="b")[1]
        assert odds.any()
        one.forget(table(words), Y)
        assert one.model_ == NaiveBayes(columns=columns).fit(table(SILENT), Y).model_


def test_nothing_but_silent_text_is_refused():
    for texts in (SILENT, [None] * 6):
        with pytest.raises(ValueError, match="column 'text': the documents hold no terms"):
            NaiveBayes(columns={"text": "text"}).fit({"text": texts}, Y)
        with pytest.raises(ValueError, match=r"^the documents hold no terms.*token_pattern"):
            TextNB().fit(texts, Y)
    with pytest.raises(ValueError, match="column 'text': no terms remain of 1: try a lower min_df"):
        NaiveBayes(columns={"text": Text(min_df=2)}).fit(table(["word", *SILENT[1:]]), Y)


def test_mails_without_a_header(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for kind, text in (("ham", "lunch at noon"), ("spam", "free prize")):
        Path("mails", kind).mkdir(parents=True)
        for i in range(4):
            Path("mails", kind, f"{i}.eml").write_text(f"Subject: {text[:i]}\n\n{text} {i}")
    out, err = naive(capsys, "fit", "mails", "-o", "m")
    assert "left out: from and to (no terms in it so far)" in out
    assert not err
    told = asked(capsys, "fit", "mails", "-o", "m")
    assert sorted((one["feature"] for one in told["features"]), reverse=True) == ["subject", "body"]
    assert list(told["left_out"]) == ["from", "to"]
    assert asked(capsys, "evaluate", "m", "mails")["accuracy"] == 1
    assert "to" not in json.dumps(asked(capsys, "explain", "m", "mails")["texts"]["body"]["terms"])
    Path("mails/spam/0.eml").write_text("To: all of you\nSubject: free prize\n\nfree")
    naive(capsys, "update", "m", "mails")
    out, _ = naive(capsys, "inspect", "m")
    assert "left out: from (no terms in it so far)" in out
    assert "left out: to" not in out
    weights = naively.load("m").model_.class_weight.rounded()
    assert np.array_equal(weights, [8, 8])
