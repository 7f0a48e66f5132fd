"""Tables of mails: subject, body, sender and size have weights."""

import json
import lzma
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from forging import forge, parts
from kit import said
from numpy.testing import assert_allclose, assert_array_equal

import naively
from naively import AutoBayes
from naively.cli.main import run
from naively.statistics import sample
from naively.storage.model_files import ModelFileError
from naively.tables import encoding

DATA = os.environ.get("NAIVELY_DATA")
COMMON = [
    "the", "of", "and", "to", "in", "is", "you", "that", "it", "was", "for", "on",
    "are", "as", "with", "his", "they", "at", "be", "this",
]  # fmt: skip
SPAM = ["free", "money", "winner", "prize", "cash", "click", "offer"]
HAM = ["meeting", "report", "budget", "gas", "contract", "schedule", "desk"]


def mails(n, seed=0):
    """Subjects, bodies, domains of senders and sizes; some subjects and bodies are missing."""
    draw = np.random.default_rng(seed)
    y = np.where(draw.random(n) < 0.4, "spam", "ham")

    def texts(words):
        return [
            " ".join(draw.choice(COMMON + (SPAM if label == "spam" else HAM), words)) for label in y
        ]

    sender = np.where((y == "spam") & (draw.random(n) < 0.3), "win.biz", "firm.com")
    found = pd.DataFrame({"subject": texts(7), "body": texts(14), "sender": sender})
    found["size"] = draw.integers(100, 2000, n)
    found.loc[::31, "body"] = None
    found.loc[7::53, "subject"] = None
    return found.assign(label=y)


def words_of(model):
    plan = model.model_.posterior().parameters.plan
    return [block.words for block in plan.blocks if block.reads_text]


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """(a folder with the tables and a model of one, the table)."""
    folder, table = tmp_path_factory.mktemp("mails"), mails(140)
    table[:100].to_csv(folder / "train.csv", index=False)
    table[100:].to_csv(folder / "test.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:  # as `unjudged`
        patch.setattr("naively.cli.work.cross_validated", lambda *_: None)
        assert run(["fit", f"{folder}/train.csv", "-t", "label", "-o", f"{folder}/m"]) == 0
    return folder, table


def test_a_model_of_the_command_is_python_s_and_holds_its_words(learned):
    folder, table = learned
    model = AutoBayes().fit(table[:100].drop(columns="label"), table["label"][:100])
    loaded = naively.load(folder / "m")
    kept = loaded.model_.kept()
    assert any(name.endswith("text.0.terms") for name in kept)
    assert {loaded.model_.schema.names[one.column] for one in words_of(loaded)} == {
        "subject",
        "body",
    }
    fresh = table[100:].drop(columns="label")
    assert_array_equal(loaded.predict_proba(fresh), model.predict_proba(fresh))


@pytest.mark.usefixtures("unjudged")
def test_every_format_and_a_row_alone_give_the_same(learned, capsys):
    folder, table = learned
    few = table[100:140].reset_index(drop=True)
    few.to_csv(folder / "few.csv", index=False)
    few.to_json(folder / "few.jsonl", orient="records", lines=True)
    parquet.write_table(pa.Table.from_pandas(few), folder / "few.parquet")
    feather.write_feather(few, str(folder / "few.arrow"), compression="uncompressed")
    model = naively.load(folder / "m")
    whole = model.predict_proba(few.drop(columns="label"))
    for kind in ("csv", "jsonl", "parquet", "arrow"):
        out, _ = said(
            capsys, "predict", folder / "m", folder / f"few.{kind}", "--proba", "--json", "--only"
        )
        rows = [json.loads(line)["probabilities"] for line in out.splitlines()]
        assert [[row[label] for label in model.classes_] for row in rows] == whole.tolist()
        said(capsys, "fit", folder / f"few.{kind}", "-t", "label", "-o", folder / kind)
    assert naively.load(folder / "csv").model_ == naively.load(folder / "parquet").model_
    assert naively.load(folder / "jsonl").model_ == naively.load(folder / "arrow").model_
    assert naively.load(folder / "csv").model_ == naively.load(folder / "arrow").model_
    for i in (0, 7, 31):
        alone = model.predict_proba(few.drop(columns="label")[i : i + 1])
        assert_array_equal(alone[0], whole[i])


@pytest.mark.parametrize("by_block", [False, True])
def test_words_are_explained_and_add_up_to_the_log_odds(learned, by_block):
    folder, table = learned
    rows = table[100:112].drop(columns="label").reset_index(drop=True)
    rows.loc[3, "body"] = None
    why = naively.load(folder / "m").explain(rows, by_block=by_block)
    for i, row in enumerate(why):
        parts = row.parts("spam", "ham")
        assert_allclose(sum(odds for *_, odds in parts), row.total("spam", "ham"))
        assert ("body" in row.texts) == (i != 3)
    flat = why.to_arrow("spam", "ham").to_pandas()
    assert {"subject", "body"} <= set(flat["feature"][flat["term"].notna()])
    totals = flat.groupby("row")["log_odds"].sum()
    assert_allclose(totals, [row.total("spam", "ham") for row in why])


@pytest.mark.usefixtures("unjudged")
def test_update_forget_and_merge_leave_the_model_of_the_rows_that_are_left(learned, capsys):
    folder, _ = learned
    for name in ("train", "test"):
        said(capsys, "fit", folder / f"{name}.csv", "-t", "label", "-o", folder / f"{name}.m")
    said(capsys, "fit", folder / "train.csv", folder / "test.csv", "-t", "label",
         "-o", folder / "whole.m")  # fmt: skip
    said(capsys, "merge", folder / "test.m", folder / "train.m", "-o", folder / "sum.m")
    assert (folder / "sum.m").read_bytes() == (folder / "whole.m").read_bytes()
    said(capsys, "update", folder / "train.m", folder / "test.csv", "-o", folder / "more.m")
    assert (folder / "more.m").read_bytes() == (folder / "whole.m").read_bytes()
    said(capsys, "forget", folder / "sum.m", folder / "test.csv")
    assert (folder / "sum.m").read_bytes() == (folder / "train.m").read_bytes()


@pytest.mark.parametrize(
    "cell",
    [None, 7, 2.5, True, "", "   ", "\0", "a\0b and \0", "\udcff lone", "\u202e\u200b", "é" * 9,
     "free " * 50_000, b"free money", float("nan"), pd.Timestamp("2024-05-06")],
)  # fmt: skip
def test_strange_cells_are_no_trouble(learned, cell):
    folder, table = learned
    model = naively.load(folder / "m")
    rows = table[100:106].drop(columns="label").reset_index(drop=True)
    whole = model.predict_proba(rows)
    rows["body"] = rows["body"].astype(object)
    rows.at[2, "body"] = cell
    found = model.predict_proba(rows)
    assert_allclose(found.sum(axis=1), 1)
    assert_array_equal(np.delete(found, 2, axis=0), np.delete(whole, 2, axis=0))
    assert_array_equal(model.predict_proba(rows[2:3])[0], found[2])


def test_long_texts_are_known_by_their_beginning(learned):
    folder, table = learned
    model = naively.load(folder / "m")
    rows = table[100:102].drop(columns="label").reset_index(drop=True)
    rows["body"] = ["free cash " * 7000 + "meeting", "free cash " * 7000 + "report"]
    rows["subject"], rows["sender"], rows["size"] = "a prize", "win.biz", 9
    proba = model.predict_proba(rows)
    assert_array_equal(proba[0], proba[1])
    rows["body"] = ["free cash " * 7000, ("free cash " * 7000)[: encoding.LONGEST]]
    proba = model.predict_proba(rows)
    assert_array_equal(proba[0], proba[1])


def test_stored_texts_are_bounded_whatever_their_order(monkeypatch):
    monkeypatch.setattr(sample, "ROOM", 6000)
    table = mails(110)
    X, y = table.drop(columns="label"), table["label"].to_numpy()
    whole = AutoBayes().fit(X, y)
    kept = whole.model_.statistics
    assert not kept.is_complete
    long = [text for known in kept.levels if known.dtype.kind == "T" for text in known.tolist()]
    assert 5000 < sum(len(text) for text in long if len(text) > 32) <= 6000
    assert whole.model_.rows == 110
    order = np.random.default_rng(0).permutation(110)
    parts = [AutoBayes().fit(X.iloc[some], y[some]) for some in np.array_split(order, 4)]
    total = parts[3] + parts[1] + parts[0] + parts[2]
    assert total.model_ == whole.model_
    assert_array_equal(total.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("terms", lambda one: one[::-1].copy(), "terms|character|utf"),
        ("lengths", lambda one: one + 1, "add up"),
        ("each", lambda one: one + 1, "belong"),
        ("classes", lambda one: one + 2, "not there"),
        ("counts", lambda one: -one, "cannot be true"),
        ("counts", lambda one: one * np.inf, "cannot be true"),
        ("alpha", lambda one: one + 1, "unknown way"),
        ("quarters", lambda one: one + 9, "unknown way"),
        ("weights", lambda one: one * np.nan, "none"),
        ("event", lambda one: one + 9, "unknown way"),
        ("classes", lambda one: np.array(one[0]), "does not belong"),
        ("counts", lambda one: np.array(one[0]), "does not belong"),
        ("known", lambda one: one * 0, "cannot be true"),
        ("texts", lambda one: -one, "cannot be true"),
        ("texts", lambda one: one * np.inf, "cannot be true"),
        ("texts", lambda one: one[:1], "cannot be true"),
        ("asked", lambda one: one + 9, "not there"),
        ("asked", lambda one: one[:1], "not there"),
    ],
)
def test_words_of_a_file_that_cannot_be_are_refused(learned, tmp_path, name, change, problem):
    folder, _ = learned
    document, arrays = parts(folder / "m")
    (key,) = (one for one in arrays if one.endswith(f".text.0.{name}"))
    arrays[key] = change(arrays[key])
    forge(tmp_path / "forged", document, arrays)
    with pytest.raises(ModelFileError, match=problem):
        naively.load(tmp_path / "forged").predict(pd.DataFrame({"body": ["free"]}))


def test_one_column_of_text_alone_is_as_documents_are(learned, capsys, monkeypatch):
    folder, table = learned
    table[["body", "label"]].to_csv(folder / "one.csv", index=False)
    said(capsys, "fit", folder / "one.csv", "-t", "label", "-o", folder / "one.m")
    said(capsys, "fit", folder / "one.csv", "-t", "label", "--text", "body",
         "-o", folder / "named.m")  # fmt: skip
    one, named = (naively.load(folder / f"{name}.m") for name in ("one", "named"))
    assert one.model_ == named.model_
    assert one.columns == named.columns


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="NAIVELY_DATA is not set")
def test_subject_and_size_help_the_body_of_real_mails():
    file = Path(DATA) / "enron-spam" / "enron1.jsonl.xz"
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines][::4]
    heads, _, bodies = zip(*(row["text"].partition("\n") for row in rows), strict=True)
    X = pd.DataFrame({"subject": [head[9:] for head in heads], "body": bodies})
    X["size"] = X["body"].str.len()
    y = np.array([row["label"] for row in rows])
    test = np.arange(len(y)) % 3 == 0

    def log_loss(columns):
        model = AutoBayes().fit(X.loc[~test, columns], y[~test])
        proba = model.predict_proba(X.loc[test, columns])
        own = proba[np.arange(test.sum()), np.searchsorted(model.classes_, y[test])]
        return -np.log(own).mean()

    whole = log_loss(["subject", "body", "size"])
    assert whole < log_loss(["body", "size"])
    assert whole < 0.12
