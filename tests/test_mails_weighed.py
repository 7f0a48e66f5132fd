"""Files of mails: sender, subject and body have weights."""

import json
import lzma
import mailbox
import os
from email.message import EmailMessage
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import naively
from naively import AutoBayes, NaiveBayes
from naively.cli.main import run
from naively.families.text.weighed_text import WeighedText

DATA = os.environ.get("NAIVELY_DATA")
COMMON = ["the", "of", "and", "to", "in", "is", "you", "that", "it", "was"]
SAID = {"spam": ["free", "money", "winner", "prize"], "ham": ["meeting", "report", "budget"]}


def boxes(folder, first, last):
    """ham.mbox and spam.mbox of so many mails, some with subjects that are numbers, or none."""
    folder.mkdir()
    for label, words in SAID.items():
        box = mailbox.mbox(folder / f"{label}.mbox")
        for k in range(first, last):
            draw = np.random.default_rng([k, len(label)])
            mail = EmailMessage()
            mail["From"] = f"{label}{k % 5}@{'win.biz' if label == 'spam' else 'firm.com'}"
            if k % 7:
                mail["Subject"] = str(k) if k % 3 == 0 else " ".join(draw.choice(words, 3))
            mail.set_content(" ".join(draw.choice(COMMON + words, 15)))
            box.add(mail)
        box.close()
    return folder


def said(capsys, *tokens):
    assert run([str(token) for token in tokens]) == 0
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A folder with mails of two weeks, and a model of the first."""
    folder = tmp_path_factory.mktemp("mails")
    for week, span in (("one", (0, 40)), ("two", (40, 60))):
        boxes(folder / week, *span)
    with pytest.MonkeyPatch.context() as patch:  # as `unjudged`
        patch.setattr("naively.cli.work.cross_validated", lambda *_: None)
        assert run(["fit", *map(str, (folder / "one").iterdir()), "-o", f"{folder}/one.m"]) == 0
    return folder


def test_sender_subject_and_body_are_weighed(learned):
    model = naively.load(learned / "one.m")
    assert type(model) is AutoBayes
    assert set(model.text) == {"from", "to", "subject", "body"}
    plan = model.model_.posterior().parameters.plan
    names = model.model_.schema.names
    told = {names[one.columns[0]] for one in plan.blocks if one.reads_text}
    assert told == {"from", "subject", "body"}


def test_they_are_explained_word_by_word(learned, capsys):
    out = said(capsys, "explain", learned / "one.m", learned / "two" / "spam.mbox", "--row", 2,
               "--json")  # fmt: skip
    (row,) = [json.loads(line) for line in out.splitlines()]
    assert {"from", "subject", "body"} <= set(row["texts"])
    for name, text in row["texts"].items():
        added = sum(term["log_odds"] for term in text["terms"]) + text["prior_mixing"]
        assert_allclose(added, row["log_odds"]["features"][name], atol=1e-9)
    page = learned / "why.html"
    said(capsys, "explain", learned / "one.m", learned / "two" / "spam.mbox", "--row", 2,
         "--html", page)  # fmt: skip
    assert "Text of subject" in page.read_text("utf-8")


def test_words_would_make_it_another_class_and_no_subjects_of_others(learned, capsys):
    out = said(capsys, "explain", learned / "one.m", learned / "two" / "spam.mbox", "--row", 2,
               "--counterfactual", "ham", "--json")  # fmt: skip
    (row,) = [json.loads(line) for line in out.splitlines()]
    found = row
    assert found["changes"] == []
    assert found["terms"]
    model = naively.load(learned / "one.m")
    known = {
        term
        for _, texts in model.model_.posterior()
        .parameters.weighted_terms(model.model_.schema.names)
        .items()
        for term in texts.named(np.arange(texts.n_terms))
    }
    for one in found["terms"]:
        assert one["to"] in known
        assert one["log_odds"] > 0


@pytest.mark.usefixtures("unjudged")
def test_merge_update_and_forget_leave_the_model_of_the_mails_that_are_left(learned, capsys):
    weeks = {week: sorted((learned / week).iterdir()) for week in ("one", "two")}
    both = boxes(learned / "both", 0, 60)
    said(capsys, "fit", *sorted(both.iterdir()), "-o", learned / "whole")
    said(capsys, "fit", *weeks["two"], "-o", learned / "two.m")
    said(capsys, "merge", learned / "two.m", learned / "one.m", "-o", learned / "sum")
    whole = (learned / "whole").read_bytes()
    assert (learned / "sum").read_bytes() == whole
    for label, file in zip(("ham", "spam"), weeks["two"], strict=True):
        source = learned / "one.m" if label == "ham" else learned / "more"
        said(capsys, "update", source, file, "--label", label, "-o", learned / "more")
    assert (learned / "more").read_bytes() == whole
    for label, file in zip(("ham", "spam"), weeks["two"], strict=True):
        said(capsys, "forget", learned / "sum", file, "--label", label)
    assert (learned / "sum").read_bytes() == (learned / "one.m").read_bytes()


def test_subjects_that_are_numbers_are_no_error(tmp_path, capsys):
    for label in SAID:
        (tmp_path / label).mkdir()
        for k in range(12):
            text = f"From: a@b.c\nSubject: {k}\n\n{SAID[label][k % 3]} and {k}\n"
            (tmp_path / label / f"{k}.eml").write_text(text)
    said(capsys, "fit", tmp_path, "-o", tmp_path / "m")
    assert naively.load(tmp_path / "m").model_.rows == 24


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="NAIVELY_DATA is not set")
def test_that_is_no_worse_than_their_product():
    file = Path(DATA) / "enron-spam" / "enron2.jsonl.xz"
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines][::6]
    heads, _, bodies = zip(*(row["text"].partition("\n") for row in rows), strict=True)
    X = pd.DataFrame({"subject": [head[9:] for head in heads], "body": bodies})
    y = np.array([row["label"] for row in rows])
    test = np.arange(len(y)) % 3 == 0
    product = dict.fromkeys(X, WeighedText("binary", ngram_range=(1, 2)))
    losses = []
    for model in (AutoBayes(text=list(X)), NaiveBayes(columns=product)):
        proba = model.fit(X[~test], y[~test]).predict_proba(X[test])
        own = proba[np.arange(test.sum()), np.searchsorted(model.classes_, y[test])]
        losses.append(-np.log(own).mean())
    assert losses[0] < losses[1]
