"""The `naively` command on mails: files, classes, and detection of mails."""

import csv
import io
import json
from email.message import EmailMessage
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from test_cli import asked, model_of, naive, piped

import naively
from naively.io.sources import open_source

HAM = ["meeting at noon", "lunch at noon?", "the agenda, of the meeting", "see you at lunch"]
SPAM = ["win a free prize now", "free prize, free", "claim your prize, win", "win cash now"]


def mail(text, sent=True):
    """A mail as it is kept."""
    found = EmailMessage()
    found["Subject"] = text[:9]
    found.set_content(text)
    head = b"Received: from there\n\tby here\nFrom: someone@x.org\n" if sent else b""
    return head + bytes(found)


def write(folder, texts=None, suffix="", sent=True):
    """A mail a file: 0.spam, 1.spam, ... in a folder for each class, or in this one."""
    for kind, own in (("ham", HAM), ("spam", SPAM)) if texts is None else ((".", texts),):
        Path(folder, kind).mkdir(parents=True, exist_ok=True)
        for i, text in enumerate(own):
            Path(folder, kind, f"{i}{suffix}").write_bytes(mail(text, sent))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Mails as files without a suffix, a folder a class; .eml files; files of lines."""
    monkeypatch.chdir(tmp_path)
    write("mails")
    write("inbox", SPAM[:2] + HAM[:2])
    write("eml", suffix=".eml")
    for kind, texts in (("ham", HAM), ("spam", SPAM)):
        Path(f"{kind}.txt").write_text("".join(f"{text}\n" for text in texts))
    return tmp_path


def rows_of(out):
    return list(csv.reader(io.StringIO(out)))


def names(model="m"):
    return list(naively.load(model).model_.schema.names)


# ---- which file --------------------------------------------------------------------------------


def test_predictions_name_their_files(folder, capsys):
    naive(capsys, "fit", "eml", "-o", "m")
    header, *rows = rows_of(naive(capsys, "predict", "m", "eml/spam", "eml/ham/0.eml")[0])
    assert header == ["file", "prediction", "label", "from", "to", "subject", "body"]
    assert [row[:2] for row in rows] == [
        *([f"eml/spam/{i}.eml", "spam"] for i in range(4)), ["eml/ham/0.eml", "ham"],
    ]  # fmt: skip
    assert naive(capsys, "predict", "m", "eml/spam/0.eml", "--only")[0] == (
        "file,prediction\neml/spam/0.eml,spam\n"
    )
    (told,) = naive(capsys, "predict", "m", "eml/ham/1.eml", "--json", "--proba")[0].splitlines()
    assert list(json.loads(told)) == ["file", "prediction", "probabilities", "row"]
    assert json.loads(told)["file"] == "eml/ham/1.eml"
    naive(capsys, "predict", "m", "eml", "-o", "p.parquet")
    table = parquet.read_table("p.parquet")
    assert table.column_names[:3] == ["file", "prediction", "label"]
    assert table["file"].to_pylist() == [
        f"eml/{kind}/{i}.eml" for kind in ("ham", "spam") for i in range(4)
    ]


def test_files_of_text_and_of_a_maildir_are_named(folder, capsys):
    for inner in ("cur", "new", "tmp"):
        Path("Maildir", inner).mkdir(parents=True)
    Path("Maildir/cur/1:2,S").write_bytes(mail(SPAM[0]))
    naive(capsys, "fit", "eml", "-o", "m")
    rows = rows_of(naive(capsys, "predict", "m", "Maildir")[0])
    assert rows[1][:2] == ["Maildir/cur/1:2,S", "spam"]
    Path("texts/new").mkdir(parents=True)
    Path("texts/new/a").write_text("free prize")
    naive(capsys, "fit", "ham.txt", "spam.txt", "-o", "m")
    assert naive(capsys, "predict", "m", "texts", "--only")[0] == (
        "file,prediction\ntexts/new/a,spam\n"
    )
    assert rows_of(naive(capsys, "predict", "m", "spam.txt")[0])[0] == ["prediction", "text"]


def test_names_of_files_are_nothing_to_learn(folder, capsys):
    naive(capsys, "fit", "eml", "-o", "m")
    assert names() == ["from", "to", "subject", "body"]
    for tokens in (["update", "m", "eml"], ["evaluate", "m", "eml"], ["forget", "m", "eml"]):
        assert not naive(capsys, *tokens)[1]
    Path("t.csv").write_text("file,y\nlunch at noon,ham\nfree prize,spam\n")
    naive(capsys, "fit", "t.csv", "-t", "y", "--text", "file", "-o", "m")
    header, *rows = rows_of(naive(capsys, "predict", "m", "mails", "--format", "text")[0])
    assert header == ["file_", "prediction", "y", "file"]
    assert {row[0] for row in rows} >= {"mails/ham/0"}


# ---- a flat folder -----------------------------------------------------------------------------


def test_a_flat_folder_of_mails(folder, capsys):
    err = naive(capsys, "fit", "inbox", "-o", "m", code=1)[1]
    assert "if they are mails, name the format mail" in err
    naive(capsys, "fit", "eml", "-o", "m")
    assert naive(capsys, "predict", "m", "inbox", "--format", "mail", "--only")[0] == (
        "file,prediction\ninbox/0,spam\ninbox/1,spam\ninbox/2,ham\ninbox/3,ham\n"
    )
    Path("inbox/old").mkdir()
    Path("inbox/old/9").write_bytes(mail("one of old"))
    source = open_source("inbox", format="mail")
    assert [row for batch in source.batches() for row in batch["body"].to_pylist()] == [
        f"{text}\n" for text in SPAM[:2] + HAM[:2]
    ], "mails beside a folder are no description of it"
    Path("mails/README").write_text("These are mails.")
    assert open_source("mails", format="mail").names[0] == "label"


# ---- which class -------------------------------------------------------------------------------


def test_one_mail_has_the_class_that_is_said(folder, capsys):
    naive(capsys, "fit", "mails", "-o", "whole")
    one = Path("mails/spam/3").rename("new.eml")
    naive(capsys, "fit", "mails", "-o", "m")
    before = model_of("m")
    assert (
        "name the class of these documents with --label"
        in naive(capsys, "update", "m", one, code=1)[1]
    )
    assert not naive(capsys, "update", "m", "--label", "spam", one)[1]
    assert model_of("m") == model_of("whole") != before
    naive(capsys, "forget", "m", one, "--label", "spam")
    assert model_of("m") == before
    assert (
        "not in the training data" in naive(capsys, "forget", "m", one, "--label", "ham", code=1)[1]
    )
    _, err = naive(capsys, "update", "m", one, "--label", "spma")
    assert "class 'spma' is new to the model, which has ham, spam" in err
    naive(capsys, "update", "m", "inbox", "--label", "ham")
    assert naively.load("m").model_.class_weight.rounded().tolist() == [8, 3, 1]


def test_a_mail_in_a_pipe_is_learned(folder, capsys, monkeypatch):
    naive(capsys, "fit", "mails", "-o", "m")
    naive(capsys, "update", "m", "mails/spam/0", "--label", "spam", "-o", "n")
    piped(monkeypatch, Path("mails/spam/0").read_bytes())
    naive(capsys, "update", "m", "--label", "spam")
    assert model_of("m") == model_of("n")
    piped(monkeypatch, Path("mails/spam/0").read_bytes())
    assert naive(capsys, "predict", "m", "--only")[0] == "prediction\nspam\n"


def test_a_file_is_called_as_its_class(folder, capsys):
    naive(capsys, "fit", "ham.txt", "spam.txt", "-o", "m")
    first = model_of()
    naive(capsys, "update", "m", "spam.txt")
    assert naively.load("m").model_.class_weight.rounded().tolist() == [4, 8]
    naive(capsys, "forget", "m", "spam.txt")
    assert model_of() == first
    assert asked(capsys, "evaluate", "m", "spam.txt")["accuracy"] == 1
    Path("spam.txt").rename("junk.txt")
    for command in ("update", "forget"):
        err = naive(capsys, command, "m", "junk.txt", code=1)[1]
        assert "junk.txt: name the class of these documents with --label; " in err
        assert "the model has ham, spam" in err
    naive(capsys, "forget", "m", "junk.txt", "--label", "spam")
    assert naively.load("m").classes_.tolist() == ["ham"]
    naive(capsys, "fit", "eml", "-o", "m")
    naive(capsys, "update", "m", "eml/spam")
    assert naively.load("m").model_.class_weight.rounded().tolist() == [4, 8]


def test_classes_may_be_numbers(folder, capsys):
    lines = [f'{y},"{text}"\n' for y, own in ((0, HAM), (1, SPAM)) for text in own]
    Path("t.csv").write_text("".join(["y,body\n", *lines]))
    naive(capsys, "fit", "t.csv", "-t", "y", "--text", "body", "-o", "m")
    naive(capsys, "fit", "t.csv", "t.csv", "-t", "y", "--text", "body", "-o", "twice")
    naive(capsys, "update", "m", "ham.txt", "--label", "0")
    Path("spam.txt").rename("1.txt")
    naive(capsys, "update", "m", "1.txt")
    assert model_of("m") == model_of("twice")
    assert naively.load("m").classes_.tolist() == [0, 1]


def test_classes_are_fitted_one_by_one(folder, capsys):
    naive(capsys, "fit", "ham.txt", "spam.txt", "-o", "whole")
    Path("spam.txt").rename("junk.txt")
    out, err = naive(capsys, "fit", "ham.txt", "--label", "ham", "-o", "m")
    assert "ham 4" in out
    assert "the model has one class: `naively update m --label` adds others" in err
    naive(capsys, "update", "m", "junk.txt", "--label", "spam")
    assert model_of("m") == model_of("whole")
    Path("t.csv").write_text("text,label\nwin,spam\n")
    for command in (["update", "m", "t.csv"], ["fit", "t.csv", "-t", "label", "-o", "n"]):
        said = naive(capsys, *command, "--label", "spam", code=2)[1]
        assert "--label is for documents; a table has its classes in a column" in said


# ---- mails that no name tells ------------------------------------------------------------------


def test_a_model_of_mails_reads_mails(folder, capsys, monkeypatch):
    write("plain", suffix=".txt", sent=False)
    naive(capsys, "fit", "plain", "--format", "mail", "-o", "m")
    assert names() == ["from", "to", "subject", "body"]
    first = model_of()
    assert asked(capsys, "evaluate", "m", "plain")["accuracy"] == 1
    assert naive(capsys, "predict", "m", "inbox", "--only")[0].count("spam") == 2
    assert naive(capsys, "predict", "m", "plain/spam/0.txt", "inbox/0", "--only")[0] == (
        "file,prediction\nplain/spam/0.txt,spam\ninbox/0,spam\n"
    )
    assert "Text of body" in naive(capsys, "explain", "m", "plain/spam/0.txt")[0]
    naive(capsys, "update", "m", "plain")
    naive(capsys, "forget", "m", "plain")
    assert model_of() == first
    for content in (b"from,body\nme,free prize\n", b'{"body": "free prize"}\n'):
        piped(monkeypatch, content)
        assert naive(capsys, "predict", "m", "--only")[0] == "prediction\nspam\n"
    piped(monkeypatch, b"Subject: a free prize, body\n\nWin!\0\n")
    assert naive(capsys, "predict", "m", "--only")[0] == "prediction\nspam\n"
    naive(capsys, "merge", "m", "m", "-o", "two")
    assert asked(capsys, "evaluate", "two", "plain")["accuracy"] == 1


def test_a_model_of_texts_reads_texts(folder, capsys):
    naive(capsys, "fit", "mails", "--format", "text", "-o", "m")
    assert names() == ["text"]
    assert asked(capsys, "evaluate", "m", "mails")["accuracy"] == 1
    naive(capsys, "fit", "eml", "--format", "text", "-o", "m")
    assert asked(capsys, "evaluate", "m", "eml")["accuracy"] == 1
    lines = [f'{y},"{text}"\n' for y, own in (("ham", HAM), ("spam", SPAM)) for text in own]
    Path("t.csv").write_text("".join(["y,body\n", *lines]))
    naive(capsys, "fit", "t.csv", "-t", "y", "--text", "body", "-o", "m")
    assert asked(capsys, "evaluate", "m", "eml")["accuracy"] == 1, "it may know the body of mails"
    assert asked(capsys, "evaluate", "m", "mails")["accuracy"] == 1


def test_mails_are_known_by_their_headers(folder, capsys):
    """Where nearly all have those of mails that were sent; those of news are others."""
    out, err = naive(capsys, "fit", "mails", "-o", "m")
    assert names() == ["from", "to", "subject", "body"]
    assert "subject" in out
    assert not err
    assert asked(capsys, "evaluate", "m", "mails")["accuracy"] == 1
    write("many", SPAM * 4)
    Path("many").rename("mails/more")
    Path("mails/more/cmds").write_text("mv a b")
    assert open_source("mails").kind == "mail"
    for i in range(12):
        Path("mails/more", f"note{i}").write_text("no mail")
    assert open_source("mails").kind == "text"


@pytest.mark.parametrize(
    ("head", "kind", "hinted"),
    [
        ("From x\nReceived: here\nFrom: x\n\n", "mail", False),
        ("Return-Path: x\nFROM: x\n", "mail", False),
        ("From: x\nSubject: y\n\n", "text", True),
        ("Subject: y\nFrom: x\n more\nNewsgroups: z\nMessage-ID: 1\n\n", "text", False),
        ("Subject: y\n\nReceived: x\nFrom: x\n\n", "text", False),
        ("Dear you,\nFrom: x\nReceived: here\n\n", "text", False),
        ("", "text", False),
    ],
)
def test_headers_of_mails(head, kind, hinted, folder):
    for label in ("a", "b"):
        Path("in", label).mkdir(parents=True)
        Path("in", label, "1").write_text(head + "hello\n")
    source = open_source("in")
    assert source.kind == kind
    assert ("the format mail separates" in source.hint) == hinted
    assert open_source("in", format="text").hint == ""
    for label in ("a", "b"):
        Path("in", label, "1").rename(Path("in", label, "1.txt"))
    assert open_source("in").kind == "text", "the name tells"
    assert bool(open_source("in").hint) == (hinted or kind == "mail")


def test_a_hint_is_said_once(folder, capsys):
    write("in", sent=True, suffix=".txt")
    _, err = naive(capsys, "fit", "in", "-o", "m")
    assert err.count("\n") == 1
    assert "naively: note: in: the files begin with headers, as mails do" in err
    assert "headers" not in naive(capsys, "evaluate", "m", "in")[1]


def test_mails_in_pipes(folder, capsys, monkeypatch):
    """As a filter of mails does it: a mail on standard input, its class on standard output."""
    naive(capsys, "fit", "mails", "-o", "m")
    for kind in ("ham", "spam"):
        piped(monkeypatch, Path("mails", kind, "2").read_bytes())
        assert json.loads(naive(capsys, "predict", "m", "--json")[0])["prediction"] == kind
