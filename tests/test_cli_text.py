"""The `naively` command on texts: documents, lines, mails, and columns of text."""

import csv
import io
import json
import mailbox
import re
from email.message import EmailMessage
from pathlib import Path

import numpy as np
import pytest
from test_cli import asked, model_of, naive, piped, write_csv

import naively
from naively.cli import main
from naively.families.text.text import Text

HAM = ["meeting at noon", "lunch at noon?", "the agenda, of the meeting", "see you at lunch"] * 5
SPAM = ["win a free prize now", "free prize, free", "claim your prize, win", "win cash now"] * 3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Messages as a table, a folder a class, files of lines and mboxes."""
    monkeypatch.chdir(tmp_path)
    rows = [("ham", text) for text in HAM] + [("spam", text) for text in SPAM]
    np.random.default_rng(0).shuffle(rows)
    with Path("data.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("kind", "message"), *rows])
    for kind, texts in (("ham", HAM), ("spam", SPAM)):
        Path("dirs", kind).mkdir(parents=True)
        for i, text in enumerate(texts):
            Path("dirs", kind, f"{i}").write_text(text)
        Path(f"{kind}.txt").write_text("".join(f"{text}\n" for text in texts))
        box = mailbox.mbox(f"{kind}.mbox")
        for text in texts:
            mail = EmailMessage()
            mail["From"], mail["To"], mail["Subject"] = f"{kind}@x.org", "me@x.org", text[:9]
            mail.set_content(text)
            box.add(mail)
        box.close()
    return tmp_path


def fitted(capsys, *options, data="data.csv", output="m"):
    options = options or ("--target", "kind", "--text", "message")
    return naive(capsys, "fit", data, "-o", output, *options)


def rows_of(out):
    return list(csv.reader(io.StringIO(out)))


# ---- fit ---------------------------------------------------------------------------------------


def test_fit_of_a_column_of_text(folder, capsys):
    out, err = fitted(capsys)
    assert not err
    row = next(line.split() for line in out.splitlines() if line.startswith("message"))
    assert row == ["message", "text,", "16", "terms", "0"]
    assert "bits:" not in out
    whole = model_of()
    fitted(capsys, "--target", "kind", "--columns", "message=text")
    assert model_of() == whole
    texts, kinds = ([row[k] for row in rows_of(Path("data.csv").read_text())[1:]] for k in (1, 0))
    own = naively.TextNB(weights=None).fit(texts, kinds)
    assert naively.load("m").predict_joint_log_proba({"message": texts}).tolist() == (
        own.predict_joint_log_proba(texts).tolist()
    )


def test_options_of_text(folder, capsys):
    fitted(
        capsys, "--target", "kind", "--columns",
        "message=text(ngram_range=(1,2), event='binary', stop_words='english')",
    )  # fmt: skip
    family = naively.load("m").model_.schema.family_of["message"]
    assert (family.ngram_range, family.event) == ((1, 2), "binary")
    assert "the" in family.stop_words
    assert len(family.stop_words) > 300
    out, _ = naive(capsys, "inspect", "m")
    assert "ngram_range=(1, 2), stop_words=('a', 'about'," in " ".join(out.split())
    assert "lowercase" not in out
    fitted(capsys, "--target", "kind", "--columns", "message=text(stop_words=['at', 'a'])")
    assert naively.load("m").model_.schema.family_of["message"].stop_words == ("a", "at")
    fitted(capsys, "--target", "kind", "--text", "message", "--alpha", "0.5")
    assert naively.load("m").model_.schema.family_of["message"] == Text(alpha=0.5)


@pytest.mark.parametrize("data", ["dirs", "ham.txt spam.txt", "*.txt"])
def test_documents_have_a_class(data, folder, capsys):
    naive(capsys, "fit", *data.split(), "-o", "n")
    fitted(capsys)
    assert naively.load("n").model_.target == "label"
    assert naively.load("n").model_.schema.why == {"text": "as specified"}
    assert naively.load("n").model_.class_weight == model_of().class_weight
    assert naively.load("n").model_.statistics == model_of().statistics
    found = asked(capsys, "evaluate", "n", *data.split())
    assert (found["rows"], found["target"]) == (32, "label")
    assert found["accuracy"] == 1


def test_mails(folder, capsys):
    out, _ = naive(capsys, "fit", "ham.mbox", "spam.mbox", "-o", "n", "--skip", "from")
    names = [line.split()[0] for line in out.splitlines() if re.search(r"^\w+ +text, ", line)]
    assert names == ["to", "subject", "body"]
    assert "left out: from (as specified)" in out
    assert asked(capsys, "evaluate", "n", "ham.mbox", "spam.mbox")["accuracy"] == 1
    rows = rows_of(naive(capsys, "predict", "n", "spam.mbox")[0])
    assert rows[0] == ["prediction", "from", "to", "subject", "body"]
    assert {row[0] for row in rows[1:]} == {"spam"}
    out, _ = naive(capsys, "explain", "n", "spam.mbox")
    for heading in ("Text of to\n", "Text of subject\n", "Text of body\n"):
        assert heading in out
    assert "(prior)" in out.split("Text of")[0]
    assert "(prior)" not in out.split("Text of", 1)[1]
    fitted(capsys, "--columns", "body=skip", "--columns", "subject=categorical", data="*.mbox")
    families = {one["feature"]: one["family"] for one in asked(capsys, "inspect", "m")["features"]}
    assert families == {"from": "text", "to": "text", "subject": "categorical"}


def test_mistakes_of_fit(folder, capsys):
    Path("empty").mkdir()
    Path("noise").write_bytes(bytes(range(256)) * 9)
    for tokens, code, said in [
        (["data.csv"], 2, "data.csv: --target is missing: name the column with the classes; "
                          "the columns are kind, message"),
        (["ham.txt"], 2, "the classes of documents are the names of their files"),
        (["-t", "kind", "--text", "massage", "data.csv"], 1, "did you mean 'message'?"),
        (["-t", "kind", "--text", "kind", "data.csv"], 2, "'kind' is the target"),
        (["-t", "kind", "--text", "message", "--skip", "message", "data.csv"], 2, "more than once"),
        (["-t", "kind", "--format", "xls", "data.csv"], 1, "there is no format 'xls'"),
        (["-t", "kind", "--columns", "message=text(event='x')", "data.csv"], 2, "event must be"),
        (["-t", "kind", "--columns", "message=text(stop_words='x')", "data.csv"], 2, "stop_words"),
        (["-t", "kind", "--columns", "message=text(reference=1)", "data.csv"], 2, "reference"),
        (["empty"], 1, "no folder in it holds documents"),
        (["-t", "kind", "noise"], 1, "NUL"),
        (["ham.txt", "data.csv"], 1, "files read together must be of one kind"),
    ]:  # fmt: skip
        err = naive(capsys, "fit", *tokens, "-o", "n", code=code)[1]
        assert said in err
        assert err.count("\n") == 1
    assert not Path("n").exists()


def test_format(folder, capsys):
    Path("mails").mkdir()
    for kind in ("ham", "spam"):
        Path("mails", kind).write_bytes(Path(f"{kind}.mbox").read_bytes())
        Path("mails", f"{kind}.log").write_text(Path(f"{kind}.txt").read_text())
    logs = ["mails/ham.log", "mails/spam.log"]
    naive(capsys, "fit", *logs, "--format", "text", "-o", "n")
    naive(capsys, "fit", "ham.txt", "spam.txt", "-o", "m")
    assert model_of("n") == model_of("m")
    for tokens in (["evaluate", "n"], ["predict", "n"], ["explain", "n"], ["forget", "n"]):
        naive(capsys, *tokens, *logs, "--format", "text")
    naive(capsys, "update", "n", *logs, "--format", "text")
    assert model_of("n") == model_of("m")
    naive(capsys, "fit", "mails/ham", "mails/spam", "--format", "mail", "-o", "n")
    naive(capsys, "fit", "ham.mbox", "spam.mbox", "-o", "m")
    assert model_of("n") == model_of("m")


# ---- lines -------------------------------------------------------------------------------------

LINES = b"a free prize, for you\nlunch at noon\n"


def test_lines_of_standard_input(folder, capsys, monkeypatch):
    fitted(capsys)
    for tokens in (["-"], []):
        piped(monkeypatch, LINES)
        out, err = naive(capsys, "predict", "m", *tokens)
        assert rows_of(out) == [
            ["prediction", "message"], ["spam", "a free prize, for you"], ["ham", "lunch at noon"],
        ]  # fmt: skip
        assert not err
    piped(monkeypatch, LINES)
    assert naive(capsys, "predict", "m", "--only")[0] == "prediction\nspam\nham\n"
    piped(monkeypatch, LINES)
    rows = rows_of(naive(capsys, "predict", "m", "--proba")[0])
    assert rows[0] == ["prediction", "P(ham)", "P(spam)", "message"]
    proba = naively.load("m").predict_proba({"message": LINES.decode().splitlines()})
    np.testing.assert_allclose([list(map(float, row[1:3])) for row in rows[1:]], proba)
    piped(monkeypatch, LINES)
    found = [json.loads(line) for line in naive(capsys, "predict", "m", "--json")[0].splitlines()]
    assert found == [
        {"prediction": "spam", "row": {"message": "a free prize, for you"}},
        {"prediction": "ham", "row": {"message": "lunch at noon"}},
    ]
    piped(monkeypatch, LINES)
    assert "a free[" in naive(capsys, "explain", "m")[0]
    piped(monkeypatch, LINES)
    assert "prize[" not in naive(capsys, "explain", "m", "-", "--row", "2")[0]
    piped(monkeypatch, LINES)
    assert "needs the true labels" in naive(capsys, "evaluate", "m", code=1)[1]
    piped(monkeypatch, LINES)
    assert (
        "name the class of these documents with --label"
        in naive(capsys, "update", "m", "-", code=1)[1]
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"x,message\n1,win\n", [["x", "message", "prediction"], ["1", "win", "spam"]]),
        (b'"message"\nfree prize\n', [["message", "prediction"], ["free prize", "spam"]]),
        (b'{"message": "free prize"}\n', [["message", "prediction"], ["free prize", "spam"]]),
        (b"\xef\xbb\xbfmessage;x\nwin;1\n", [["message", "x", "prediction"], ["win", "1", "spam"]]),
        (b"kind,text\n", [["prediction", "message"], ["ham", "kind,text"]]),
        (b"message, win now\nhi\n", [["prediction", "message"], ["spam", "message, win now"],
                                     ["ham", "hi"]]),
        (b"win cash, message\nhi\n", [["prediction", "message"], ["spam", "win cash, message"],
                                      ["ham", "hi"]]),
        (b"message\n", [["prediction", "message"], ["ham", "message"]]),
        (b"kind,message", [["prediction", "message"], ["ham", "kind,message"]]),
        (b"message\nwin\n", [["message", "prediction"], ["win", "spam"]]),
        (b"kind, message\n,win\n", [["kind", "message", "prediction"], ["", "win", "spam"]]),
        (b"{free} prize\n", [["prediction", "message"], ["spam", "{free} prize"]]),
        (b'"free prize\n', [["prediction", "message"], ["spam", '"free prize']]),
        (b"free\r\nnoon", [["prediction", "message"], ["spam", "free"], ["ham", "noon"]]),
    ],
)  # fmt: skip
def test_a_table_is_known_by_its_first_line(content, said, folder, capsys, monkeypatch):
    fitted(capsys)
    piped(monkeypatch, content)
    assert rows_of(naive(capsys, "predict", "m", "-")[0]) == said
    Path("new").write_bytes(content)
    assert rows_of(naive(capsys, "predict", "m", "new")[0]) == said


def test_what_is_no_lines(folder, capsys, monkeypatch):
    fitted(capsys)
    for content, said in (
        (b"free\0prize\n", "NUL"),
        (b"", "is empty"),
        (b'{"text": "free"}\n', "has none of the features of the model: 'message'"),
        (b"PK\x03\x04", "a zip or Excel file"),
    ):
        piped(monkeypatch, content)
        assert said in naive(capsys, "predict", "m", "-", code=1)[1]
    Path("n.csv").write_text("a,b\n1,2\n")
    assert "it has the columns 'a', 'b'" in naive(capsys, "predict", "m", "n.csv", code=1)[1]


def test_only_models_of_text_alone_take_lines(folder, capsys, monkeypatch):
    rows = rows_of(Path("data.csv").read_text())[1:]
    with Path("two.csv").open("w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerows([("kind", "message", "size"), *((*row, len(row[1]) / 3) for row in rows)])
    fitted(capsys, "-t", "kind", "--text", "message", data="two.csv")
    piped(monkeypatch, LINES)
    assert "none of the features" in naive(capsys, "predict", "m", "-", code=1)[1]


def test_files_of_lines_and_folders_fit_any_name(folder, capsys):
    fitted(capsys)
    found = asked(capsys, "evaluate", "m", "ham.txt", "spam.txt")
    assert (found["target"], found["rows"], found["accuracy"]) == ("kind", 32, 1)
    assert asked(capsys, "evaluate", "m", "dirs")["accuracy"] == 1
    rows = rows_of(naive(capsys, "predict", "m", "dirs")[0])
    assert rows[0] == ["file", "prediction", "kind", "message"]
    assert all(row[1] == row[2] == Path(row[0]).parent.name for row in rows[1:])
    rows = rows_of(naive(capsys, "predict", "m", "spam.txt")[0])
    assert rows[:2] == [["prediction", "message"], ["spam", SPAM[0]]]


def test_update_and_forget_documents(folder, capsys):
    fitted(capsys)
    first = model_of()
    Path("more/ham").mkdir(parents=True)
    Path("more/spam").mkdir()
    Path("more/ham/1").write_text("an unheard of lunch")
    Path("more/spam/1").write_text("a million prizes")
    naive(capsys, "update", "m", "more")
    rows = rows_of(Path("data.csv").read_text())
    with Path("all.csv").open("w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerows([*rows, ("ham", "an unheard of lunch"), ("spam", "a million prizes")])
    fitted(capsys, data="all.csv", output="n")
    assert model_of() == model_of("n") != first
    assert Path("m").read_bytes() == Path("n").read_bytes()
    out, _ = naive(capsys, "forget", "m", "more")
    assert "2 rows" in out
    assert model_of() == first
    fitted(capsys, output="n")
    naive(capsys, "merge", "m", "n", "-o", "both")
    assert model_of("both").class_weight.rounded().tolist() == [40, 24]
    assert "not in the training data" in naive(capsys, "forget", "m", "more", code=1)[1]


@pytest.mark.parametrize("suffix", ["", ".txt"])
def test_a_folder_with_the_name_of_a_class_holds_documents_of_it(suffix, folder, capsys):
    fitted(capsys)
    fitted(capsys, output="n")
    Path("more/ham").mkdir(parents=True)
    for k, text in enumerate(("an unheard of lunch\nat noon", "two more")):
        Path(f"more/ham/{k}{suffix}").write_text(text)
    naive(capsys, "update", "m", "more")
    out, err = naive(capsys, "update", "n", "more/ham")
    assert "added        2 rows" in out
    assert "new to the model" not in err
    assert model_of() == model_of("n")
    assert asked(capsys, "evaluate", "m", "more/ham")["rows"] == 2
    naive(capsys, "forget", "n", "more/ham")
    if suffix:  # each of the files, too; files of lines have the names of classes
        naive(capsys, "update", "n", "more/ham/0.txt", "more/ham/1.txt")
        assert model_of() == model_of("n")
        Path("more/ham/spam.txt").write_text("a prize\na million")
        out, _ = naive(capsys, "update", "n", "more/ham/spam.txt")
        assert "added        2 rows" in out


@pytest.mark.parametrize("options", [{}, {"ngram_range": (1, 2)}, {"n_features": 64}])
def test_models_saved_in_python(options, folder, capsys, monkeypatch):
    model = naively.TextNB(**options).fit(HAM + SPAM, ["ham"] * len(HAM) + ["spam"] * len(SPAM))
    model.save("m")
    new = ["free lunch", "a prize, at noon"]
    said = model.predict(new).tolist()
    Path("new.txt").write_text("\n".join(new))
    write_csv("two.csv", naively_table(other=["x", "y"], text=new))
    write_csv("one.csv", naively_table(body=new))
    for data, names in (
        ("new.txt", ["prediction", "text"]),
        ("two.csv", ["other", "text", "prediction"]),
        ("one.csv", ["body", "prediction"]),
    ):
        rows = rows_of(naive(capsys, "predict", "m", data)[0])
        assert rows[0] == names
        assert [row[names.index("prediction")] for row in rows[1:]] == said
    piped(monkeypatch, b"text,other\nfree prize,1\n")
    assert naive(capsys, "predict", "m", "-", "--only")[0] == "prediction\nspam\n"
    assert asked(capsys, "evaluate", "m", "dirs")["accuracy"] == 1
    assert asked(capsys, "evaluate", "m", "data.csv", "-t", "kind")["accuracy"] == 1
    told = asked(capsys, "explain", "m", "new.txt", "--row", 2)
    assert told["joint"] == pytest.approx(model.predict_joint_log_proba(new)[1].tolist())
    out, _ = naive(capsys, "inspect", "m")
    names = ", ".join(f"{name}={value!r}" for name, value in options.items())
    assert out.startswith(f"TextNB({names}), trained" if names else "TextNB, trained")
    write_csv("no.csv", naively_table(a=["x"], b=["y"]))
    err = naive(capsys, "predict", "m", "no.csv", code=1)[1]
    assert "has none of the features of the model: 'text'; it has the columns 'a', 'b'" in err
    assert "--target" in naive(capsys, "evaluate", "m", "new.txt", code=2)[1]
    assert "was trained on arrays" in naive(capsys, "update", "m", "dirs", code=1)[1]


def naively_table(**columns):
    import pyarrow as pa

    return pa.table(columns)


# ---- explain -----------------------------------------------------------------------------------


def test_explain_adds_up(folder, capsys):
    fitted(capsys)
    model = naively.load("m")
    Path("new").write_text("free lunch\nWin a free prize, zebra!\n")
    log_proba = model.predict_log_proba({"message": ["Win a free prize, zebra!"]})[0]
    told = asked(capsys, "explain", "m", "new", "--row", 2)
    text = told["texts"]["message"]
    assert [one["term"] for one in text["terms"]] == ["win", "free", "prize"]
    assert text["unknown"] == ["zebra"]
    assert text["absent"] == 0
    words = sum(one["log_odds"] for one in text["terms"])
    assert words == pytest.approx(told["log_odds"]["features"]["message"])
    assert words + told["log_odds"]["prior"] == pytest.approx(log_proba[1] - log_proba[0])
    for one in text["terms"]:
        ham, spam = one["contributions"]
        assert spam - ham == pytest.approx(one["log_odds"])
    out, _ = naive(capsys, "explain", "m", "new", "--row", 2)
    assert "row 2: predicted spam, P = " in out
    assert re.search(r"Win\[\+\d\.\d\] a free\[\+\d\.\d\] prize\[\+\d\.\d\], zebra!", out)
    assert "unknown to the model: 1 term" in out
    assert re.search(rf"^total +\{log_proba[1] - log_proba[0]:+.3f}$", out, re.M)
    other, _ = naive(capsys, "explain", "m", "new", "--row", 2, "--label", "ham")
    assert re.search(r"free\[-\d\.\d\]", other)


def test_absence_is_explained(folder, capsys):
    fitted(capsys, "-t", "kind", "--columns", "message=text(event='bernoulli')")
    out, _ = naive(capsys, "explain", "m", "data.csv")
    assert "(absent terms)" in out
    told = asked(capsys, "explain", "m", "data.csv")
    text = told["texts"]["message"]
    parts = [told["log_odds"]["prior"], text["absent"], *(t["log_odds"] for t in text["terms"])]
    assert sum(parts) == pytest.approx(told["log_odds"]["total"])
    assert asked(capsys, "inspect", "m")["texts"]["message"]["terms"] == 16


def test_explain_rows_of_several_kinds_of_columns(folder, capsys):
    rows = rows_of(Path("data.csv").read_text())[1:]
    with Path("two.csv").open("w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerows([("kind", "message", "size"), *((*row, len(row[1]) / 3) for row in rows)])
        lines.writerow(("ham", "", 3.5))
    fitted(capsys, "-t", "kind", "--text", "message", data="two.csv")
    out, _ = naive(capsys, "explain", "m", "two.csv")
    table, words = out.split("Text of message\n")
    told = asked(capsys, "explain", "m", "two.csv")["log_odds"]["features"]
    assert f"{told['message']:+.3f}" in table
    assert re.search(rf"^total +\{told['message']:+.3f}$", words, re.M)
    assert "size" in table
    out, _ = naive(capsys, "explain", "m", "two.csv", "--row", 33)
    assert re.search(r"message +missing +\+0.000", out)
    out, _ = naive(capsys, "inspect", "m")
    assert out.index("\nmessage") < out.index("\nsize")
    seen = {one["feature"]: one for one in asked(capsys, "inspect", "m")["features"]}
    for key in ("mutual_information", "importance"):
        assert seen["message"][key] is None
        assert seen["size"][key] > 0


@pytest.mark.parametrize("width", [60, 80, 100])
def test_explain_and_inspect_fit_the_terminal(width, folder, capsys, monkeypatch):
    from naively.cli import terminal

    def console():
        return terminal.Plain(markup=False, highlight=False, emoji=False, width=width)

    monkeypatch.setattr(terminal, "console", console)
    label = {"ham": "a label with a rather long name", "spam": "spam"}
    long = "x" * 70
    rows = [(label[k], f"{m} {long}") for k, m in rows_of(Path("data.csv").read_text())[1:]]
    with Path("n.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("kind", "message"), *rows])
    fit, _ = fitted(capsys, data="n.csv")
    for out in (
        fit, naive(capsys, "inspect", "m")[0], naive(capsys, "explain", "m", "n.csv")[0],
        naive(capsys, "evaluate", "m", "n.csv")[0],
    ):  # fmt: skip
        assert max(map(len, out.splitlines())) <= width


def test_marks_are_colours_on_a_terminal():
    from naively.explain.rendering import AGAINST, FOR, marked

    text = "free  lunch\x1b[31m, noon\r\n\n\n\nprize\n"
    marks = [(0, 4, 4.0), (6, 11, -1.0), (18, 22, 0.1), (27, 32, -4.0)]
    shown = marked(text, marks, 4.0, colours=True)
    assert shown.plain == "free  lunch\\x1b[31m, noon\n\nprize"
    styles = {shown.plain[span.start : span.end]: span.style for span in shown.spans}
    assert styles["free"] == FOR[0]
    assert styles["lunch"] == AGAINST[1]
    assert styles["prize"] == AGAINST[0]
    assert marked(text, marks, 4.0, colours=False).plain.startswith("free[+4.0]  lunch[-1.0]\\x1b")


def test_labels_and_texts_cannot_paint_the_terminal(folder, capsys):
    Path("n.csv").write_text(
        "y,x\n\x1b[31mred,\x1b[1mbold free \x1b[2m\n[i]v[/i],[b]lunch[/b]\n\x1b[31mred,cash\n"
    )
    shown = [*naive(capsys, "fit", "n.csv", "-t", "y", "--text", "x", "-o", "m")]
    for tokens in (
        ["inspect", "m"],
        ["explain", "m", "n.csv"],
        ["explain", "m", "n.csv", "--row", 2],
    ):
        shown += naive(capsys, *tokens)
    fitted(capsys, "-t", "y", "--columns", "x=text(analyzer='char')", data="n.csv")
    for tokens in (["inspect", "m"], ["explain", "m", "n.csv"]):
        shown += naive(capsys, *tokens)
    assert "\x1b" not in "".join(shown)
    assert "\\x1b[31mred" in "".join(shown)


def test_explain_as_a_page(folder, capsys):
    evil = "<script>alert(1)</script>"
    Path("n.csv").write_text(f'y,x\n{evil},"free <b>prize {evil}"\n"""q""",lunch & noon\n')
    naive(capsys, "fit", "n.csv", "-t", "y", "--text", "x", "-o", "m")
    out, _ = naive(capsys, "explain", "m", "n.csv", "--html", "why.html")
    assert out.startswith("saved")
    page = Path("why.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "<b>prize" not in page
    assert "&lt;script&gt;" in page
    assert 'title="+' in page
    rows = rows_of(Path("n.csv").read_text())[1:]
    with Path("two.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("y", "x", evil), *((*row, i) for i, row in enumerate(rows))])
    naive(capsys, "fit", "two.csv", "-t", "y", "--text", "x", "-o", "m")
    naive(capsys, "explain", "m", "two.csv", "--html", "why.html")
    page = Path("why.html").read_text()
    assert "<script" not in page
    assert page.count("<table") == 2
    assert "<b>Text of x</b>" in page
    for tokens, code, said in (
        (["--html", "why.html", "--json"], 2, "choose one"),
        (["--html", "none/why.html"], 1, "there is no folder 'none'"),
        (["--html", "two.csv"], 2, "among the files that are read"),
    ):
        assert said in naive(capsys, "explain", "m", "two.csv", *tokens, code=code)[1]


def test_a_page_of_columns_alone(folder, capsys):
    Path("n.csv").write_text("y,x\na,1.5\nb,2.5\na,1.0\n")
    naive(capsys, "fit", "n.csv", "-t", "y", "-o", "m")
    naive(capsys, "explain", "m", "n.csv", "--html", "why.html")
    assert Path("why.html").read_text().count("<table") == 1


# ---- inspect -----------------------------------------------------------------------------------


def test_inspect_shows_informative_words(folder, capsys):
    fitted(capsys)
    out, _ = naive(capsys, "inspect", "m")
    assert "Terms of message by class" in out
    lines = out[out.index("Terms of") :].splitlines()
    numbers = ["count", "P", "log-odds", "MI"]
    assert lines[2].split() == ["ham", *numbers, "spam", *numbers]
    assert [lines[4].split()[k] for k in (0, 5)] == ["at", "free"]
    seen = asked(capsys, "inspect", "m")["texts"]["message"]
    assert (seen["terms"], seen["documents"], seen["hashed"]) == (16, 32, False)
    assert [one["class"] for one in seen["classes"]] == ["ham", "spam"]
    model = naively.load("m")
    for one, own in zip(seen["classes"], (0, 1), strict=True):
        assert one["terms"]
        for word in one["terms"]:
            told = model.explain({"message": [word["term"]]}).contributions[0, :, 0]
            assert word["log_odds"] == pytest.approx(told[own] - told[1 - own])
    out, _ = naive(capsys, "inspect", "m", "--features", 1)
    assert len(out[out.index("Terms of") :].splitlines()) == 9
    assert "Terms of" not in naive(capsys, "inspect", "m", "--features", 0)[0]


def test_plain_words_have_the_counts_and_probabilities_of_the_lecture(folder, capsys):
    texts = {"ham": "lunch at noon money for lunch", "spam": "free prize free money"}
    Path("n.csv").write_text("y,x\n" + "".join(f"{y},{text}\n" for y, text in texts.items()))
    fitted(capsys, "-t", "y", "--text", "x", "--alpha", "0.5", data="n.csv")
    (shown,) = asked(capsys, "inspect", "m", "--column", "x")["features"]
    words = {y: text.split() for y, text in texts.items()}
    size = len({word for of_class in words.values() for word in of_class})
    assert sorted(shown["terms"]) == sorted({*words["ham"], *words["spam"]})
    for c, (y, of_class) in enumerate(words.items()):
        assert shown["classes"][c] == y
        counts = [of_class.count(word) for word in shown["terms"]]
        assert shown["count"][c] == counts
        p = (np.array(counts) + 0.5) / (len(of_class) + 0.5 * size)
        assert shown["probability"][c] == pytest.approx(p)
    alone = naively.load("m").predict_proba({"x": shown["terms"]})
    assert np.transpose(shown["posterior"]) == pytest.approx(alone)
    out, _ = naive(capsys, "inspect", "m", "--column", "x", "--features", "1")
    assert "and 5 less informative terms" in out
    assert asked(capsys, "inspect", "m")["texts"]["x"]["smoothing"] == [
        {"counted": "words", "alpha": 0.5}
    ]


def test_the_chosen_smoothing_is_printed(folder, capsys):
    assert main.run(["fit", "data.csv", "-t", "kind", "--text", "message", "-o", "m"]) == 0
    out = capsys.readouterr().out
    shown = asked(capsys, "inspect", "m")["texts"]["message"]["smoothing"]
    alphas = naively.load("m").model_.posterior().blocks[0][1].alphas
    assert {one["alpha"] for one in shown} <= {*alphas}
    printed = f"alpha {shown[0]['alpha']:g}"
    for text in (out, naive(capsys, "inspect", "m")[0]):
        assert re.search(f"smoothing +{re.escape(printed)}", text)


def test_words_are_ranked_by_their_share_of_the_divergence(folder, capsys):
    texts = ["aa aa aa bb cc", "aa bb bb dd", "cc cc dd ee"]
    Path("n.csv").write_text("y,x\n" + "".join(f"{i},{text}\n" for i, text in enumerate(texts)))
    fitted(capsys, "-t", "y", "--text", "x", data="n.csv")
    seen = asked(capsys, "inspect", "m")["texts"]["x"]["classes"]
    vocabulary = sorted({word for text in texts for word in text.split()})
    counts = np.array([[text.split().count(word) for word in vocabulary] for text in texts]) + 1.0
    for c, one in enumerate(seen):
        rest = np.delete(counts, c, axis=0) - 1
        theta = counts[c] / counts[c].sum()
        other = (rest.sum(axis=0) + 1) / (rest.sum() + len(vocabulary))
        told = theta * np.log(theta / other)
        expected = [vocabulary[k] for k in np.argsort(-told, kind="stable") if told[k] > 0]
        assert [word["term"] for word in one["terms"]] == expected


def test_inspect_of_many_classes(folder, capsys):
    rows = [(f"a class with a long name, {c}", f"word{c} other{c} common") for c in range(25)]
    with Path("n.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("y", "x"), *rows, *rows[:20]])
    fitted(capsys, "-t", "y", "--text", "x", data="n.csv")
    out, _ = naive(capsys, "inspect", "m")
    assert max(map(len, out.splitlines())) <= 100
    words = out[out.index("Terms of") :]
    for c in range(20):
        assert f"word{c} " in words
    assert "word24 " not in words
    assert "and 5 classes with fewer rows" in words
    assert len(asked(capsys, "inspect", "m")["texts"]["x"]["classes"]) == 25


def test_hashed_terms_have_no_names(folder, capsys):
    out, _ = fitted(capsys, "-t", "kind", "--columns", "message=text(n_features=64)")
    assert "64 buckets" in out
    out, _ = naive(capsys, "inspect", "m")
    assert "terms are hashed: their names are not stored" in out
    seen = asked(capsys, "inspect", "m")["texts"]["message"]
    assert (seen["hashed"], seen["terms"]) == (True, 64)
    assert seen["classes"] == [{"class": "ham", "terms": []}, {"class": "spam", "terms": []}]
    out, _ = naive(capsys, "explain", "m", "data.csv")
    assert "unknown" not in out


def test_words_of_a_text_without_any(folder, capsys):
    Path("n.csv").write_text("y,x,z\na,same,u\nb,same,v\na,same,u\nb,same,v\n")
    fitted(capsys, "-t", "y", "--text", "x", data="n.csv")
    assert "no term has evidence" in naive(capsys, "inspect", "m")[0]


def test_text_is_not_drawn(folder, capsys, monkeypatch):
    from naively.families.text.parameters import TextParameters

    monkeypatch.setattr(TextParameters, "sample", None)
    fitted(capsys, "-t", "kind", "--columns", "message=text(analyzer='char', ngram_range=(2,3))")
    naive(capsys, "inspect", "m")


def test_python_names_the_estimator_of_a_file_as_inspect_does(folder, capsys):
    text = ["--text", "message"]
    alpha = ["--alpha", "3", "--prior", "uniform", "--unseen", "ignore", "--missing", "-"]
    for options in (text, [*text, *alpha], ["--columns", "message=text(alpha=2)"]):
        fitted(capsys, "--target", "kind", *options)
        heading = naive(capsys, "inspect", "m")[0].splitlines()[0]
        assert str(naively.load("m").summary()).splitlines()[0] == heading
        code = heading.partition(", trained")[0]
        assert code.startswith("TextNB")
        assert eval(code, vars(naively) | {"TextNB": naively.TextNB})  # only arguments it has
