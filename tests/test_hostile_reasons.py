"""Explanations of wide tables, long texts and many rows, in Python and by the command."""

import csv
import html
import io
import json
import pickle
import re
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from scipy.sparse import csr_matrix
from test_cli import naive
from test_explanation import KINDS, MAILS, VARIANTS, Page, fitted

import naively
from naively import CategoricalNB, GaussianNB, JointBayes, MultinomialNB, NaiveBayes, TextNB
from naively.cli.results.explanations import RowRanges
from naively.explain import text as explained
from naively.explain.explanation import RowExplanation
from naively.explain.text import MARKED

FLAT = ["row", "predicted", "probability", "label", "against", "feature", "value", "log_odds"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def people(n=40, seed=0):
    """A table of all kinds of cells, and labels of three classes that depend on them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    age = np.round(30 + 9 * y + rng.normal(size=n), 2)
    jobs = np.array(["clerk", "boss", None], object)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "job": jobs[(y + rng.integers(0, 2, n)) % 3],
            "sunny": rng.random(n) < 0.3 + 0.2 * y,
            "kind": np.array(["ham", "list", "spam"])[y],
        }
    )  # fmt: skip


def mixed():
    """(a model of text beside numbers, rows for it)."""
    table = {"body": MAILS, "size": [len(mail) + 0.5 for mail in MAILS]}
    return NaiveBayes(columns={"body": "text"}).fit(table, KINDS), table


def jsons(capsys, *tokens):
    out, _ = naive(capsys, "explain", *tokens, "--json")
    return [json.loads(line) for line in out.splitlines()]


def learned(capsys):
    """The model and the rows of `people`, in files."""
    table = people()
    table.to_csv("people.csv", index=False)
    naive(capsys, "fit", "people.csv", "-t", "kind", "-o", "m")
    return naively.load("m"), table


# ---- of what size they may be ------------------------------------------------------------------


@pytest.mark.slow
def test_a_wide_row_takes_time_in_proportion_to_its_columns(folder, capsys):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 6000)), ["a", "b"] * 3
    names = [f"c{k}" for k in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    frame.to_csv("wide.csv", index=False)
    NaiveBayes(family="gaussian").fit(frame, y).save("m")
    spent = []
    for command in ("predict", "explain"):
        start = time.process_time()
        out, _ = naive(capsys, command, "m", "wide.csv")
        spent.append(time.process_time() - start)
    assert "(5,970 more features)" in out
    assert spent[1] < 8 * spent[0] + 1  # 30 times, when each cell was looked for by its name
    naive(capsys, "explain", "m", "wide.csv", "--html", "why.html")
    assert Path("why.html").stat().st_size < 50_000


@pytest.fixture(scope="module")
def long():
    """A text of 1.5 MB, whose first words are its own."""
    rng = np.random.default_rng(0)
    words = np.array(["free", "prize", "noon", "lunch", "zebra", "Agenda:", "now\n"])
    return "win a meeting, " + " ".join(rng.choice(words, 250_000))


def test_a_long_text_is_explained_in_full_and_shown_in_part(folder, capsys, long):
    Path("ham.txt").write_text("".join(f"{m}\n" for m in MAILS[1::2]))
    Path("spam.txt").write_text("".join(f"{m}\n" for m in MAILS[::2]))
    naive(capsys, "fit", "ham.txt", "spam.txt", "-o", "m")
    Path("long.txt").write_text(long.replace("\n", " ") + "\n")
    counts = Counter(re.findall(r"\w\w+", long.lower()))
    (told,) = jsons(capsys, "m", "long.txt")
    terms = {one["term"]: one["count"] for one in told["texts"]["text"]["terms"]}
    assert terms == {term: n for term, n in counts.items() if term != "zebra"}
    assert told["texts"]["text"]["unknown"] == ["zebra"]
    out, _ = naive(capsys, "explain", "m", "long.txt")
    assert len(out) < 20_000
    said = f"of {len(long):,} characters; the terms are those of all of it"
    assert f"the first 10,000 {said}" in out
    assert re.search(rf"^prize +{counts['prize']} ", out, re.M)
    naive(capsys, "explain", "m", "long.txt", "--html", "why.html")
    page = Path("why.html").read_text()
    assert len(page) < 30 * MARKED
    assert f"the first 100,000 {said}" in page


@pytest.mark.parametrize("variant", VARIANTS)
def test_marks_of_a_long_text_have_their_part_of_the_log_odds(variant, long, monkeypatch):
    """Cut or not, a word that is met has its share of what its term adds."""
    most = 10_000  # of 100,000 characters, which take long
    monkeypatch.setattr(explained, "MARKED", most)
    model = fitted(**VARIANTS[variant])
    (whole,) = model.explain([long[: most - 7]])  # all of it is marked
    (cut,) = model.explain([long[: most + 500]])
    assert cut.marked == long[:most]
    for one, text in ((whole, long[: most - 7]), (cut, long[: most + 500])):
        assert sum(one.counts) == sum(
            term in places for cut, places in one.cuts for term in cut.terms(text)
        )
    marks = cut.marks("spam", "ham")
    assert all(end <= most for _, end, _ in marks)
    assert cut.marked[marks[-1][0] : marks[-1][1]]
    odds = cut.log_odds("spam", "ham")[1]
    if "unsmoothed" in variant or "char" in VARIANTS[variant].get("analyzer", ""):
        return
    shown = [len(met) for met in cut.spans]
    expected = sum(o * n / c for o, n, c in zip(odds, shown, cut.counts, strict=True))
    assert sum(mark[2] for mark in marks) == pytest.approx(expected, rel=1e-9)
    assert 0.9 < sum(shown) / sum(cut.counts) < 1


def test_a_word_that_is_cut_is_not_taken_for_another():
    model = TextNB().fit(["free", "freedom", "a"], ["x", "y", "y"])
    text = ("." * (MARKED - 4)) + "freedom of choice"
    (one,) = model.explain([text])
    assert one.terms == ["freedom"]
    assert one.marks() == []
    assert one.counts.tolist() == [1]


# ---- which rows --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "spans"),
    [
        (["3"], ((2, 3),)),
        (["7", "3"], ((2, 3), (6, 7))),
        (["1-300"], ((0, 300),)),
        (["1-3", "2", "4-5", "9"], ((0, 5), (8, 9))),
        (["all"], ((0, None),)),
        (["5", "all", "7"], ((0, None),)),
        (["5-5"], ((4, 5),)),
        (["2-9", "3-4"], ((1, 9),)),
    ],
)
def test_rows_as_they_are_requested(rows, spans):
    asked = RowRanges.of(rows)
    assert asked.spans == spans
    assert asked.is_single == (spans in (((2, 3),), ((4, 5),)))


@pytest.mark.parametrize(
    ("tokens", "code", "says"),
    [
        (["--row", "41"], 1, "people.csv: there is no row 41; it has 40 rows"),
        (["--row", "2", "--row", "38-99"], 1, "there is no row 41; it has 40 rows"),
        (["--row", "99", "--row", "50-60"], 1, "there is no row 50; it has 40 rows"),
        (["--row", "0"], 2, "--row counts from 1, but is 0"),
        (["--row", "0-3"], 2, "--row counts from 1, but is 0-3"),
        (["--row", "9-3"], 2, "--row 9-3 ends before it begins"),
        (["--row=-3"], 2, "--row -3: write one row as 3, several as 1-300, or all"),
        (["--row", "1.5"], 2, "--row 1.5: write one row as 3, several as 1-300, or all"),
        (["--row", "first"], 2, "--row first: write one row"),
        (["--row", "٣"], 2, "--row ٣: write one row"),
        (["--json", "-o", "why.csv"], 2, "choose one"),
        (["--html", "why.html", "-o", "why.csv"], 2, "choose one"),
        (["-o", "why.txt"], 2, "name it .csv, .csv.gz, .tsv or .parquet"),
        (["-o", "none/why.csv"], 1, "there is no folder 'none'"),
        (["-o", "people.csv"], 2, "among the files that are read"),
    ],
)
def test_rows_that_are_not_there_and_other_mistakes(folder, capsys, tokens, code, says):
    learned(capsys)
    assert says in naive(capsys, "explain", "m", "people.csv", *tokens, code=code)[1]
    assert not Path("why.csv").exists()


def test_a_file_is_written_whole_or_not_at_all(folder, capsys):
    learned(capsys)
    for tokens in (["-o", "why.csv"], ["--html", "why.html"]):
        Path(tokens[1]).write_text("before")
        naive(capsys, "explain", "m", "people.csv", "--row", "39-41", *tokens, code=1)
        assert Path(tokens[1]).read_text() == "before"
    Path("none.csv").write_text("age,job,sunny\n")
    assert (
        "there are no rows" in naive(capsys, "explain", "m", "none.csv", "-o", "w.csv", code=1)[1]
    )


def test_a_value_that_is_refused_is_found_in_the_file(folder, capsys):
    Path("t.csv").write_text("x,y\na,1\nb,0\n" * 3)
    columns = ["--columns", "x=categorical(unseen='error')"]
    naive(capsys, "fit", "t.csv", "-t", "y", "-o", "m", *columns)
    Path("n.csv").write_text("x\n" + "a\n" * 6 + "zebra\n")
    _, err = naive(capsys, "explain", "m", "n.csv", "--row", "5-7", code=1)
    assert "n.csv: " in err
    assert re.search(r"row 7\b", err)


# ---- many rows in one go -----------------------------------------------------------------------


def test_every_row_as_it_would_be_alone(folder, capsys):
    model, table = learned(capsys)
    whole = jsons(capsys, "m", "people.csv", "--row", "all")
    assert [one["row"] for one in whole] == list(range(1, 41))
    some = jsons(capsys, "m", "people.csv", "--row", "7", "--row", "2-3")
    assert some == [whole[1], whole[2], whole[6]]
    assert jsons(capsys, "m", "people.csv") == whole[:1]
    log_proba = model.predict_log_proba(table.drop(columns="kind"))
    for one, own in zip(whole, log_proba, strict=True):
        best, other = np.argsort(-own)[:2]
        assert one["predicted"] == one["label"] == model.classes_[best]
        assert one["against"] == model.classes_[other]
        odds = one["log_odds"]
        assert odds["prior"] + sum(odds["features"].values()) == pytest.approx(odds["total"])
        assert odds["total"] == pytest.approx(own[best] - own[other])
    out, _ = naive(capsys, "explain", "m", "people.csv", "--row", "2-3", "--row", "7")
    assert re.findall(r"^row (\d+): predicted", out, re.M) == ["2", "3", "7"]
    for one in some:
        total = re.escape(f"{one['log_odds']['total']:+.3f}")
        assert re.search(rf"^total +{total}$", out, re.M)


@pytest.mark.slow
def test_rows_of_several_batches(folder, capsys, monkeypatch):
    """A file of 7 MB is read in two blocks or more, and explained a few rows at a time."""
    from naively.cli.results import explanations

    learned(capsys)
    monkeypatch.setattr(explanations, "CELLS", 100)  # of 4 million: a file to explain in many parts
    lines = Path("people.csv").read_text().splitlines(keepends=True)
    Path("many.csv").write_text(lines[0] + "".join(lines[1:]) * 9000)
    found = jsons(capsys, "m", "many.csv", "--row", "359990-360000", "--row", "1", "--row", "1003")
    assert [one["row"] for one in found] == [1, 1003, *range(359990, 360001)]
    once = jsons(capsys, "m", "people.csv", "--row", "all")
    for one in found:
        assert {**one, "row": 0} == {**once[(one["row"] - 1) % 40], "row": 0}


def read(path):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_flat_table_of_all_rows(folder, capsys):
    model, table = learned(capsys)
    out, _ = naive(capsys, "explain", "m", "people.csv", "-o", "why.csv")
    assert re.search(r"^rows +40$", out, re.M)
    lines = read("why.csv")
    assert list(lines[0]) == FLAT
    rows = list(csv.DictReader(io.StringIO(Path("people.csv").read_text())))
    log_proba = model.predict_log_proba(table.drop(columns="kind"))
    for number, (cells, own) in enumerate(zip(rows, log_proba, strict=True), 1):
        mine = [line for line in lines if line["row"] == str(number)]
        assert sorted(line["feature"] for line in mine) == ["(prior)", "age", "job", "sunny"]
        best, other = np.argsort(-own)[:2]
        odds = [float(line["log_odds"]) for line in mine]
        assert mine[-1]["feature"] == "(prior)"
        assert odds[:-1] == sorted(odds[:-1], key=lambda one: -abs(one))
        assert sum(odds) == pytest.approx(own[best] - own[other])
        for line in mine:
            assert line["predicted"] == line["label"] == model.classes_[best]
            assert line["against"] == model.classes_[other]
            assert float(line["probability"]) == pytest.approx(np.exp(own[best]))
            name = line["feature"]
            assert line["value"] == cells.get(name, "")
    naive(capsys, "explain", "m", "people.csv", "-o", "why.parquet", "--label", "ham")
    found = parquet.read_table("why.parquet")
    assert found.column_names == FLAT
    assert set(found["label"].to_pylist()) == {"ham"}
    assert set(found["predicted"].to_pylist()) == {"ham", "list", "spam"}


def test_a_flat_table_of_text_beside_numbers(folder, capsys):
    model, table = mixed()
    table = {"body": [*MAILS, None, "zebra"], "size": [*table["size"], 12.5, None]}
    frame = pd.DataFrame(table)
    frame.to_json("t.jsonl", orient="records", lines=True)
    model.save("m")
    naive(capsys, "explain", "m", "t.jsonl", "-o", "why.csv", "--label", "ham", "--against", "spam")
    lines = read("why.csv")
    assert list(lines[0]) == [*FLAT[:6], "term", *FLAT[6:]]
    own = model.predict_log_proba(frame)
    for number in range(1, 11):
        mine = [line for line in lines if line["row"] == str(number)]
        total = sum(float(line["log_odds"]) for line in mine)
        assert total == pytest.approx(own[number - 1, 0] - own[number - 1, 2])
        assert {line["feature"] for line in mine} == {"(prior)", "body", "size"}
        words = Counter(re.findall(r"\w\w+", (table["body"][number - 1] or "").lower()))
        told = {line["term"]: int(line["value"]) for line in mine if line["term"]}
        assert told == {term: n for term, n in words.items() if term != "zebra"}


EVIL = '<script>alert("1")</script> & \'</div> \x1b[31m'


def test_a_page_of_many_rows(folder, capsys):
    labels = ["<i>x</i>", '"><b onclick="y">']
    frame = pd.DataFrame(
        {"y": labels * 8, EVIL: ["a<b>", "c & d"] * 8, "text": [f"win {EVIL}", f"lunch {EVIL}"] * 8}
    )
    frame.to_csv("t.csv", index=False)
    naive(capsys, "fit", "t.csv", "-t", "y", "--text", "text", "-o", "m")
    out, _ = naive(capsys, "explain", "m", "t.csv", "--html", "why.html", "--row", "all")
    assert re.search(r"^rows +16$", out, re.M)
    page = Path("why.html").read_text()
    assert page.count("<details") == page.count("</details>") == 16
    assert page.count("<details open>") == 1
    titles = re.findall(r"<summary[^>]*>(.*?)</summary>", page)
    assert [title.split(":")[0] for title in titles] == [f"row {k}" for k in range(1, 17)]
    assert all(html.escape(labels[k % 2]) in title for k, title in enumerate(titles))
    for wrong in ("<script>", "<i>", "<b onclick", "<b>"):
        assert wrong not in re.sub(r"<b>(Text of text|total|[-+.0-9]+)</b>", "", page)
    naive(capsys, "explain", "m", "t.csv", "--html", "why.html", "--row", "3")
    assert "<details" not in Path("why.html").read_text()


def test_the_next_best_class_where_only_one_has_a_probability(folder, capsys):
    """The others all have probability 0, but one is much nearer."""
    X = np.array([[0.0], [1.0], [500.0], [501.0], [900.0], [901.0]])
    table = {"x": X[:, 0], "y": ["far"] * 2 + ["near"] * 2 + ["own"] * 2}
    pd.DataFrame(table).to_csv("t.csv", index=False)
    naive(capsys, "fit", "t.csv", "-t", "y", "-o", "m", "--columns", "x=gaussian")
    (told,) = jsons(capsys, "m", "t.csv", "--row", "5")
    assert told["probabilities"] == [0, 0, 1]
    assert (told["label"], told["against"]) == ("own", "near")


def test_cells_are_shown_as_they_are_written(folder, capsys):
    Path("t.jsonl").write_text(
        "".join(
            json.dumps({"zip": z, "flag": f, "n": n, "y": y}) + "\n"
            for z, f, n, y in [("007", "TRUE", 1, "a"), ("1.50", "no", 2, "b")] * 9
        )
    )
    naive(capsys, "fit", "t.jsonl", "-t", "y", "-o", "m", "--columns", "zip=categorical")
    (told,) = jsons(capsys, "m", "t.jsonl", "--row", "1")
    assert told["values"] == {"zip": "007", "flag": "TRUE", "n": "1"}
    out, _ = naive(capsys, "explain", "m", "t.jsonl", "--row", "2")
    assert re.search(r"^zip +1\.50 ", out, re.M)
    Path("n.jsonl").write_text('{"zip": "?", "flag": null, "n": "many"}\n')
    (told,) = jsons(capsys, "m", "n.jsonl")
    assert told["values"] == {"zip": None, "flag": None, "n": "many"}
    assert told["log_odds"]["features"]["n"] == 0


# ---- in Python ---------------------------------------------------------------------------------


def test_an_explanation_is_a_sequence_of_rows():
    table = people()
    X = table.drop(columns="kind")
    model = NaiveBayes().fit(table, "kind")
    told = model.explain(X)
    assert len(told) == 40
    assert repr(told) == "<Explanation: 40 rows, 3 classes, 3 features>"
    assert told.predicted.tolist() == model.predict(X).tolist()
    joint, proba = model.predict_joint_log_proba(X), model.predict_proba(X)
    rows = list(told)
    assert len(rows) == 40
    for i, one in enumerate(rows):
        assert isinstance(one, RowExplanation)
        np.testing.assert_allclose(one.joint, joint[i], rtol=1e-12)
        np.testing.assert_array_equal(one.proba, proba[i])
        assert one.predicted == told.predicted[i]
        again = told[i - 40]
        assert again.values == one.values
        assert again.parts() == one.parts()
        expected = X.iloc[i]
        assert one.values[2] == str(expected.sunny).lower()
        assert one.values[1] == (expected.job if isinstance(expected.job, str) else None)
        assert (one.values[0] is None) == np.isnan(expected.age)
    for wrong in (40, -41):
        with pytest.raises(IndexError):
            told[wrong]
    for rows in (slice(3, 9), slice(None, None, -7), slice(9, 3)):
        part = told[rows]
        assert [one.values for one in part] == [told[i].values for i in range(40)[rows]]
        again = part[::-2]
        expected = [told[i].parts() for i in range(40)[rows][::-2]]
        assert [one.parts() for one in again] == expected
    assert pickle.loads(pickle.dumps(told))[7].parts() == told[7].parts()


def test_rows_are_printed():
    table = people()
    told = NaiveBayes().fit(table, "kind").explain(table.drop(columns="kind"))
    one = told[4]
    lines = str(one).splitlines()
    assert lines[0] == one.head()
    total = sum(part[3] for part in one.parts())
    a, b = one.pair()
    assert lines[0].startswith(f"predicted {one.classes[a]}, P = {one.proba[a]:.4f} (")
    assert lines[-3].split() == ["total", f"{total:+.3f}"]
    assert repr(one) == f"<RowExplanation: {one.classes[a]} rather than {one.classes[b]}>"
    assert {line.split()[0] for line in lines[4:-4]} == {"(prior)", "age", "job", "sunny"}
    assert lines[-5].startswith("(prior)")
    whole = str(told)
    assert whole.startswith(f"row 0: {told[0]}")
    assert f"\nrow 9: {told[9].head()}\n" in whole
    assert "row 10:" not in whole
    assert whole.endswith("and 30 more: [i] is the explanation of row i")
    assert str(told[:1]) == f"row 0: {told[0]}"


def test_rows_of_text_are_printed_with_their_words():
    model, _ = mixed()
    told = model.explain({"body": ["free prize, zebra", None], "size": [3.5, None]})
    said = str(told[0])
    assert "Text of body" in said
    assert re.search(r"^free +[-+]", said, re.M)
    assert "unknown to the model: 1 term\n" in said
    assert re.search(r"^body +missing +[-+]0\.000$", str(told[1]), re.M)
    assert "Text of" not in str(told[1])
    page = Page(told[0].to_html())
    assert "free" in page.text
    assert page.titles
    assert told.to_html().count("<details") == 2
    odd = model.explain(pa.table({"body": pa.array([b"free \xff"]), "size": [3.5]}))[0]
    assert odd.values == ["free \ufffd", "3.5"]
    assert "<details" not in told[:1].to_html()


def test_a_notebook_shows_the_first_rows():
    table = people()
    told = NaiveBayes().fit(table, "kind").explain(table.drop(columns="kind"))
    assert told._repr_html_().count("<details") == 10
    assert "and 30 more" in told._repr_html_()
    assert told.to_html().count("<details") == 40
    assert told.to_html().startswith("<details open>")  # the first row is open
    assert told.to_html().count("<details open>") == 1
    assert Page(told[0]._repr_html_()).text.startswith(told[0].head())
    wide = GaussianNB().fit(np.eye(50), [0, 1] * 25).explain(np.eye(50)[:1])
    assert "(20 more features)" in str(wide)
    assert "(20 more features)" in wide.to_html()
    assert wide.to_html().count("<tr>") == 33  # with the head, the others and the total


@pytest.mark.parametrize("rows", [slice(None), slice(0, 1), slice(0, 0)])
def test_to_arrow(rows):
    table = people()
    X = table.drop(columns="kind")
    model = NaiveBayes().fit(table, "kind")
    told = model.explain(X)[rows]
    flat = told.to_arrow()
    assert flat.column_names == FLAT
    assert flat.schema.field("log_odds").type == pa.float64()
    frame = flat.to_pandas()
    assert len(frame) == 4 * len(told)
    sums = frame.groupby("row")["log_odds"].sum()
    prior, odds, _ = told.log_odds()
    np.testing.assert_allclose(sums, prior + odds.sum(axis=1))
    for label, against in (("ham", None), (None, "ham"), ("spam", "list")):
        frame = told.to_arrow(label, against).to_pandas()
        prior, odds, _ = told.log_odds(label, against)
        sums = frame.groupby("row")["log_odds"].sum()
        np.testing.assert_allclose(sums, prior + odds.sum(axis=1), atol=1e-12)


def test_texts_become_a_flat_table_too():
    told = fitted().explain(["free free lunch", None, "\ud800 zebra", "noon"])
    assert repr(told) == "<TextExplanations: 4 texts, 3 classes>"
    assert len(told[1:]) == 3
    assert str(told).startswith("row 0: predicted spam, P = ")
    flat = told.to_arrow().to_pandas()
    assert list(flat) == [*FLAT[:6], "term", *FLAT[6:]]
    sums = flat.groupby("row")["log_odds"].sum()
    for i, one in enumerate(told):
        prior, terms, rest = one.log_odds()
        assert sums[i] == pytest.approx(prior + terms.sum() + rest)
    assert flat[flat.term == "free"].value.tolist() == ["2"]
    odd = TextNB(analyzer="char").fit(["\ud800", "b"], ["\ud800", "y"]).explain(["\ud800"])
    assert odd.to_arrow()["term"].to_pylist().count("?") == 1
    assert odd.to_html().encode()


@pytest.mark.parametrize("text", [False, True])
def test_two_classes_are_always_compared_in_the_same_way(text):
    """The most probable one, unless it is named, and the most probable of the others."""
    if text:
        model = fitted()
        told, X = model.explain(MAILS), MAILS
    else:
        table = people()
        X = table.drop(columns="kind")
        model = NaiveBayes().fit(table, "kind")
        told = model.explain(X)
    log_proba = model.predict_log_proba(X)
    for one, own in zip(told, log_proba, strict=True):
        first, second = np.argsort(-own, kind="stable")[:2]
        for label, against in ((None, None), *((k, None) for k in model.classes_),
                               *((None, k) for k in model.classes_)):  # fmt: skip
            codes = [None if k is None else list(model.classes_).index(k) for k in (label, against)]
            a = codes[0] if label else (second if codes[1] == first else first)
            b = codes[1] if against else (second if a == first else first)
            total = sum(map(np.sum, one.log_odds(label, against)))
            assert total == pytest.approx(own[a] - own[b], abs=1e-9)
        with pytest.raises(ValueError, match="'dog' is not one of the classes"):
            one.log_odds("dog")
        with pytest.raises(ValueError, match="'dog' is not one of the classes"):
            one.log_odds("ham", against="dog")


def test_one_number_a_row_for_the_prior():
    X, y = np.array([[0.0], [1.0], [5.0], [6.0], [9.0], [10.0]]), [0, 0, 1, 1, 2, 2]
    told = GaussianNB().fit(X, y).explain(X)
    prior, odds, _ = told.log_odds(0)
    assert prior.shape == (6,)
    assert odds.shape == (6, 1)
    log_proba = GaussianNB().fit(X, y).predict_log_proba(X)
    others = log_proba[:, 1:].max(axis=1)
    np.testing.assert_allclose(prior + odds[:, 0], log_proba[:, 0] - others)
    with pytest.raises(ValueError, match=r"3 is not one of the classes 0, 1, 2"):
        told.log_odds(3)


def test_cells_of_arrays_and_of_what_has_no_names():
    X = np.array([[1, 0, 2.5], [0, 3, np.nan]])
    counts = MultinomialNB().fit([[1, 0, 2], [0, 3, 1]], ["a", "b"])
    for rows in (X, csr_matrix(X)):
        told = counts.explain(rows)
        assert [one.values for one in told] == [["1", "0", "2.5"], ["0", "3", None]]
        assert {name for name, _, _ in told[0].lines()} == {"(prior)", "x0", "x1", "x2"}
    sparse = csr_matrix([[1, 0, 2], [0, 3, 1]])
    told = NaiveBayes(family="poisson").fit(sparse, ["a", "b"]).explain(sparse)
    assert [one.values for one in told[::-1]] == [["0", "3", "1"], ["1", "0", "2"]]
    frame = pd.DataFrame({"u": [0, 1], "v": [1, 1]})
    told = CategoricalNB().fit(frame, ["a", "b"]).explain(frame)
    assert [line[:2] for line in told[0].lines() if line[0] == "u"] == [("u", "0")]
    joint = JointBayes().fit({"x": ["p", "q", "p"], "y": [1, 2, 3]}, ["a", "b", "a"])
    assert joint.explain({"y": [2], "x": ["zebra"]})[0].values == ["zebra", "2"]
    with pytest.warns(UserWarning, match="has no column"):
        assert joint.explain({"y": [2]})[0].values == [None, "2"]
    assert counts.model_.posterior().explain(X)[0].values == ["", "", ""]


def test_a_table_of_one_text_reads_as_a_text():
    model = NaiveBayes(columns={"body": "text"}).fit({"body": MAILS}, KINDS)
    own = TextNB(weights=None).fit(MAILS, KINDS).explain(MAILS[:2])
    told = model.explain(MAILS[:2])
    for one, other in zip(told, own, strict=True):
        assert str(one) == str(other)
        assert other.to_html(heading=False) in one.to_html()
        renamed = [(name.replace("text", "body"), *rest) for name, *rest in other.parts()]
        assert one.parts() == renamed
    assert told.to_arrow().num_rows == own.to_arrow().num_rows


def test_what_each_class_rules_out():
    table = {"x": ["u", "u", "v", "w"], "z": ["p", "p", "q", "r"]}
    model = NaiveBayes(columns=dict.fromkeys(table, "categorical"), alpha=0)
    model = model.set_params(
        columns={"x": naively.Categorical(alpha=0), "z": naively.Categorical(alpha=0)}
    )
    told = model.fit(table, ["a", "a", "b", "c"]).explain({"x": ["u", "u"], "z": ["q", "r"]})
    assert "no estimate" in str(told[0])
    assert told[0].predicted == "a"
    odds = told.to_arrow("a", "b").to_pandas()
    assert odds[odds.row == 0].log_odds.tolist()[:2] == [np.inf, -np.inf]
    assert odds[(odds.row == 1) & (odds.feature == "z")].log_odds.tolist() == [0.0]


def test_a_width_of_eighty_has_room_for_bars(folder, capsys, monkeypatch):
    from naively.cli import terminal

    values = ["a value that is long too", "a value that is as long"] * 10
    frame = pd.DataFrame({"a column with a rather long name indeed": values, "y": ["p", "q"] * 10})
    frame.to_csv("t.csv", index=False)
    columns = ["--columns", "a column with a rather long name indeed=categorical"]
    naive(capsys, "fit", "t.csv", "-t", "y", "-o", "m", *columns)
    for width in (60, 80, 100):
        monkeypatch.setattr(
            terminal, "console",
            lambda width=width: terminal.Plain(markup=False, highlight=False, width=width),
        )  # fmt: skip
        out, _ = naive(capsys, "explain", "m", "t.csv")
        (line,) = [line for line in out.splitlines() if "a column with" in line]
        assert len(line) <= width
        assert line.count("█") >= 12
        assert re.search(r"\+\d\.\d{3} ", line)
