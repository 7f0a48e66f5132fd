"""Declared text columns: `AutoBayes(text=...)`, `--text` beside other columns."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from test_cli import asked, naive

import naively
from naively import AutoBayes, NaiveBayes, Text, TextNB
from naively.cli.main import run

COMMON = ["the", "of", "a", "in", "for"]
WORDS = {
    "spam": ["free", "win", "cash", "offer", *COMMON],
    "ham": ["meeting", "report", "gas", "desk", *COMMON],
}


def titles(n, seed=0):
    """Short titles, some of them numerals, empty or missing; a number and a level; labels."""
    draw = np.random.default_rng(seed)
    y = np.where(draw.random(n) < 0.4, "spam", "ham")
    short = [" ".join(draw.choice(WORDS[one], draw.integers(2, 6))) for one in y]
    table = pd.DataFrame({"title": pd.Series(short, dtype=object), "size": draw.normal(size=n)})
    table["shop"] = draw.choice(["north", "south"], n)
    table.loc[::13, "title"] = [str(1900 + k) for k in range(len(table[::13]))]
    table.loc[3::17, "title"] = None
    table.loc[5::19, "title"] = ""
    return table, y


def blocks(model):
    plan = model.model_.posterior().parameters.plan
    return {one.columns[0] for one in plan.blocks if one.reads_text}


def named(**params):
    return AutoBayes(text=["title"], **params)


@pytest.fixture(scope="module")
def learned():
    table, y = titles(160)
    return table, y, named().fit(table, y)


def test_words_of_a_named_column_are_evidence(learned):
    table, y, model = learned
    fresh, truth = titles(200, seed=1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        plain = AutoBayes().fit(table, y)
    (one,) = said
    assert "name it: AutoBayes(text=['title'])" in str(one.message)
    assert (blocks(plain), blocks(model)) == (set(), {2})  # after shop and size
    assert model.score(fresh, truth) > plain.score(fresh, truth) + 0.1
    AutoBayes(text=[]).fit(table, y)  # who says that there is none is not told of any


def test_the_hint_says_nothing_of_what_is_no_text(learned):
    table, y, _ = learned
    others = pd.DataFrame({
        "url": [f"https://shop.org/items/{k}?from=list" for k in range(len(y))],
        "sku": [f"AB-{k:05d} XL {k % 7} piece" for k in range(len(y))],
        "who": [f"Ann{k} van der Berg{k}" for k in range(len(y))],
        "kind": ["a kind of thing", "another kind of thing that is"] * (len(y) // 2),
        "body": [f"{k} the report of a meeting in the north" for k in range(len(y))],
        "size": table["size"],
    })  # fmt: skip
    AutoBayes().fit(others, y)  # a warning is an error here


def test_any_order_split_merge_and_forgetting_give_the_same_bits(learned):
    table, y, model = learned
    order = np.random.default_rng(1).permutation(len(y))
    first, second = order[:90], order[90:]
    numerals = table.index[::13][:4]  # a batch whose titles are all numbers
    rest = np.setdiff1d(second, numerals)
    parts = [named(n_jobs=1).fit(table.iloc[first], y[first])]
    for rows in (np.intersect1d(second, numerals), rest):
        parts[0].partial_fit(table.iloc[rows], y[rows])
    total = named().fit(table.iloc[second], y[second]) + named().fit(table.iloc[first], y[first])
    whole = model.predict_proba(table)
    for one in (parts[0], total):
        assert one.model_ == model.model_
        assert_array_equal(one.predict_proba(table), whole)
    less = total.forget(table.iloc[first], y[first])
    assert_array_equal(
        less.predict_proba(table),
        named().fit(table.iloc[second], y[second]).predict_proba(table),
    )


def test_a_row_alone_and_a_file_give_the_same_bits(learned, tmp_path):
    table, _, model = learned
    whole = model.predict_proba(table)
    for i in (0, 1, 3, 5, 13):
        assert_array_equal(model.predict_proba(table[i : i + 1])[0], whole[i])
    numerals = table[::13]  # all of them numbers, as a table of their own has them
    assert_array_equal(model.predict_proba(numerals), whole[::13])
    as_numbers = numerals.assign(title=pd.to_numeric(numerals["title"]))
    assert_array_equal(model.predict_proba(as_numbers.fillna({"title": np.nan})), whole[::13])
    model.save(tmp_path / "m")
    loaded = naively.load(tmp_path / "m")
    assert loaded.text == ["title"]
    assert_array_equal(loaded.predict_proba(table), whole)
    assert (loaded + loaded).text == ["title"]


def test_every_holder_gives_the_same_bits(learned, tmp_path):
    table, y, model = learned
    table = table.replace({"title": {"": None}})  # an empty cell of a file is a missing one
    rows = table.to_dict("records")
    table.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    with (tmp_path / "t.jsonl").open("w") as lines:
        lines.writelines(json.dumps({**row, "y": label}) + "\n"
                         for row, label in zip(rows, y.tolist(), strict=True))  # fmt: skip
    whole, again = model.predict_proba(table), named().fit(table, y)
    holders = [
        pl.from_pandas(table),
        pa.Table.from_pandas(table),
        table.to_dict("list"),
        table.astype({"title": "category"}),
        table.assign(title=[one and one.encode() for one in table["title"].to_list()]),
    ]
    for one in holders:
        assert_array_equal(model.predict_proba(one), whole)
        assert named().fit(one, y).model_ == again.model_
    for kind in ("csv", "jsonl"):
        read = named().fit(naively.scan(tmp_path / f"t.{kind}"), "y")
        assert_array_equal(read.predict_proba(table), again.predict_proba(table))
        tokens = ["fit", tmp_path / f"t.{kind}", "-t", "y", "--text", "title", "-o", tmp_path / "m"]
        assert run([str(token) for token in tokens]) == 0
        loaded = naively.load(tmp_path / "m")
        assert (type(loaded), loaded.text) == (AutoBayes, ["title"])
        assert_array_equal(loaded.predict_proba(table), read.predict_proba(table))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (["titel"], "no column 'titel'; did you mean 'title'"),
        (["size"], "'size' was named as text, and holds numbers"),
        (["day"], "'day' was named as text, and holds dates"),
        (["new"], "'new' was named as text, and holds true and false"),
        (["tags"], "'tags' was named as text, and holds list"),
        (["y"], "'y' was named as text, and is the target"),
        ("title", r"as \['title'\], not 'title'"),
        ([0], "list of names"),
        (7, "list of names"),
    ],
)
def test_what_is_no_text_is_refused(learned, text, problem):
    table, y, _ = learned
    table = table.assign(
        y=y, day=pd.Timestamp("2026-01-02"), new=table["size"] > 0, tags=[["a", "b"]] * len(y)
    )
    table = pa.Table.from_pandas(table)
    with pytest.raises(ValueError, match=problem):
        AutoBayes(text=text).fit(table, "y")


@pytest.mark.parametrize(
    ("more", "code", "problem"),
    [
        (["--text", "titel"], 1, "did you mean 'title'"),
        (["--text", "size"], 1, "'size' was named as text, and holds numbers"),
        (["--text", "y"], 2, "'y' is the target"),
        (["--text", "title", "--skip", "title"], 2, "more than once"),
    ],
)
def test_the_command_refuses_it_too(learned, tmp_path, capsys, more, code, problem):
    table, y, _ = learned
    table.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    assert (
        run(["fit", str(tmp_path / "t.csv"), "-t", "y", "-o", str(tmp_path / "m"), *more]) == code
    )
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_what_is_named_can_change_without_learning_again(learned):
    table, y, model = learned
    other = AutoBayes(text=[]).fit(table, y)
    plain = other.predict_proba(table)
    other.set_params(text=["title"]).reestimate()
    assert_array_equal(other.predict_proba(table), model.predict_proba(table))
    other.set_params(text=[]).reestimate()
    assert_array_equal(other.predict_proba(table), plain)
    for name, problem in (("size", "holds numbers"), ("titel", "did you mean")):
        with pytest.raises(ValueError, match=problem):
            other.set_params(text=[name]).reestimate()


def test_a_column_that_nothing_stands_beside_is_a_document(learned, tmp_path):
    table, y, _ = learned
    table.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    table[["title"]].assign(y=y).to_csv(tmp_path / "one.csv", index=False)
    for name, more in (("t", ["--skip", "size", "--skip", "shop"]), ("one", [])):
        tokens = ["fit", str(tmp_path / f"{name}.csv"), "-t", "y", "--text", "title", *more]
        assert run([*tokens, "-o", str(tmp_path / name)]) == 0
    skipped, alone = naively.load(tmp_path / "t"), naively.load(tmp_path / "one")
    assert skipped.model_.schema.family_of["title"].name == "weighed_text"
    assert_array_equal(
        skipped.predict_proba(table[["title"]]), alone.predict_proba(table[["title"]])
    )


@pytest.mark.parametrize("empty", ["", None, "?!", "7"])
def test_classes_without_text_and_columns_without_any_are_no_trouble(learned, empty):
    table, y, _ = learned
    table = table.assign(title=table["title"].where(y == "ham", empty))
    model = named().fit(table, y)
    assert np.isfinite(model.predict_proba(table)).all()
    nothing = table.assign(title="a b" if empty == "7" else empty)
    model = named().fit(nothing, y)
    assert blocks(model) == set()
    assert np.isfinite(model.predict_proba(table)).all()


# ---- documents without a term --------------------------------------------------------------------


SIZES = [1.5, 2.5, 7.25, 8.0, 9.5, 1.0]
Y = ["a", "a", "b", "b", "b", "a"]
SILENT = ["", ".", None, "x", "?!", " "]
EVENTS = ("multinomial", "binary", "bernoulli", "complement")


def table(texts, rows=slice(None)):
    return {"size": SIZES[rows], "text": texts[rows]}


@pytest.mark.parametrize("event", EVENTS)
def test_text_without_terms_is_no_evidence(event):
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
